"""Where the optimum may be: the belief, parameter by parameter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import headway.plots.svg as svg
from headway.errors import NothingToShow
from headway.optimizer import Optimizer
from headway.outlook import Optima, Outlook
from headway.plots.axes import Axis, shown
from headway.plots.subject import known_name, outlook_of, require_run
from headway.plots.svg import Figure

_BINS = 36
_ROW, _TALL = 60.0, 22.0
_START, _END = 12.0, svg.WIDTH - 12.0


def belief(
    optimizer: Optimizer,
    *,
    names: Sequence[str] | None = None,
    outlook: Outlook | None = None,
    optima: Optima | None = None,
) -> Figure:
    """How the optima of plausible functions spread over each parameter.

    names: which parameters, in which order. outlook, optima: the model and the sampled optima, if
    they are there already.
    """
    require_run(optimizer)
    space = optimizer.space
    chosen = [known_name(optimizer, name) for name in names or space.names]
    model = outlook or outlook_of(optimizer)
    sampled = optima or model.optima()
    if sampled is None:
        raise NothingToShow(
            "there is no belief about the optimum to show: no trial has met every constraint. "
            "Allowed: a run with one that has. Go on with it first."
        )
    points = [space.decode(z) for z in sampled.places]
    best = space.decode(model.centre)
    body: list[str] = []
    for row, name in enumerate(chosen):
        axis = Axis.of(space, name)
        body += _row(axis, [p[name] for p in points if name in p], best.get(name), 20 + row * _ROW)
    words = (
        f"The model draws {len(points)} functions that agree with everything told. The bars say "
        f"where their optima lie, the green line what is recommended: one narrow peak means that "
        f"the parameter is settled, a wide spread that its value matters little or is not known."
    )
    height = 8 + _ROW * len(chosen)
    return Figure("belief", "Where the optimum may be", words, tuple(body), height)


def _row(axis: Axis, values: list[Any], best: Any, top: float) -> list[str]:
    """A small histogram over the range of one parameter."""
    places = np.array([axis.place(value) for value in values])
    count = axis.parameter.count
    bins = _BINS if count is None or (axis.is_number and count > _BINS) else count
    if axis.is_number and bins == count and count > 1:
        # Grid values lie at i / (count - 1): each has a bin of its own, half of it at the ends.
        places = (places * (count - 1) + 0.5) / count if not axis.scale().log else places
    heights = np.histogram(places, bins=bins, range=(0.0, 1.0))[0]
    bottom, width = top + _TALL, (_END - _START) / bins
    body = [svg.write(_START, top - 4, svg.cut(axis.name, 34), "strong")]
    body.append(svg.path("axis", f"M{_START} {bottom}H{_END}"))
    most = max(int(heights.max()), 1)
    for number, height in enumerate(heights.tolist()):
        if height:
            tall = _TALL * height / most
            body.append(svg.rect("bar2", _START + number * width, bottom - tall, width, tall))
    if best is not None:
        place = axis.place(best)
        if axis.is_number and bins == count and count > 1 and not axis.scale().log:
            place = (place * (count - 1) + 0.5) / count
        at = _START + place * (_END - _START)
        body.append(svg.path("mark", f"M{at:.1f} {top - 1}V{bottom}", shown(best)))
        body.append(svg.write(_END, top - 4, shown(best, 18), "small", "end"))
    else:
        body.append(svg.write(_END, top - 4, "inactive at the best", "small", "end"))
    low, high = _ends(axis)
    body.append(svg.write(_START, bottom + 12, low, "small"))
    body.append(svg.write(_END, bottom + 12, high, "small", "end"))
    return body


def _ends(axis: Axis) -> tuple[str, str]:
    """What is written at the ends of the axis."""
    if axis.is_number:
        scale = axis.scale()
        return svg.number(scale.low), svg.number(scale.high)
    labels = [text for _, text in axis.ticks(0)]
    return svg.cut(labels[0], 22), svg.cut(labels[-1], 22) if len(labels) > 1 else ""
