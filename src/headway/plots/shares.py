"""Which parameters matter: bars of the surrogate's Sobol indices."""

from __future__ import annotations

import headway.plots.svg as svg
from headway.importance import Importance
from headway.optimizer import Optimizer
from headway.plots.subject import outlook_of, require_run
from headway.plots.svg import Figure

_ROW = 30.0
_START, _END = 12.0, svg.WIDTH - 56.0


def importance(optimizer: Optimizer, *, indices: Importance | None = None) -> Figure:
    """A bar for each parameter: its share alone, and with its interactions.

    indices: as `Outlook.importance` has them, if they are there already.
    """
    require_run(optimizer)
    found = indices or outlook_of(optimizer).importance()
    body: list[str] = []
    for row, name in enumerate(found.order):
        column = found.names.index(name)
        first = min(max(float(found.first[column]), 0.0), 1.0)
        total = min(max(float(found.total[column]), first), 1.0)
        y, wide = 18 + row * _ROW, _END - _START
        body.append(svg.write(_START, y - 4, svg.cut(name, 44), "strong"))
        body.append(svg.rect("rest", _START, y, wide, 9))
        tip = f"alone {first:.0%}, with interactions {total:.0%}"
        body.append(svg.rect("bar2", _START, y, wide * total, 9, tip))
        body.append(svg.rect("bar", _START, y, wide * first, 9, tip))
        body.append(svg.write(_END + 8, y + 9, f"{total:.0%}"))
    words = (
        "How much of the variation over the whole space each parameter explains, as a model of all "
        "trials has it: dark "
        "alone, light together with others (so the shares may add up to more than 100 %). "
        "Near the best point another one may matter more: see the slices."
    )
    if any(parameter.when is not None for parameter in optimizer.space.parameters):
        words += " Switching a conditional parameter on or off counts for its parent."
    height = 6 + _ROW * len(found.order)
    return Figure("importance", "What matters", words, tuple(body), height)
