"""How the best value came down as the budget was used, and what every trial gave."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

import headway.plots.svg as svg
from headway import budget as ledger
from headway.errors import NothingToShow, SettingError
from headway.history import Record
from headway.optimizer import Optimizer
from headway.plots.subject import require_run
from headway.plots.svg import Figure, Scale, number
from headway.plots.timeline import Phase, phase

Over = Literal["auto", "evaluations", "seconds", "cost"]
_TOP, _BOTTOM = 44.0, 226.0
_STRIP = 18.0  # below the axis, for what failed
# From so many times the best value on, a logarithm shows more of a run.
_RATIO = 50.0


@dataclass(frozen=True, slots=True)
class _Place:
    """A finished trial and where it lies along the budget."""

    record: Record
    at: float
    phase: Phase


def convergence(optimizer: Optimizer, *, over: Over = "auto") -> Figure:
    """The best value so far and every trial, along the budget; phases are marked.

    over: what the budget is counted in; "auto" takes the limit that is used up most.
    """
    require_run(optimizer)
    resource = _resource(optimizer, over)
    places = _places(optimizer, resource)
    if not places:
        raise NothingToShow(
            "there is nothing to show: no trial has finished. Allowed: a run with a finished "
            "trial. Tell one first."
        )
    values = [p.record.value for p in places if p.record.value is not None]
    best = _best_so_far(optimizer, places)
    shown = _window(values, [value for _, value in best])
    log = min(shown, default=0.0) > 0 and max(shown) > _RATIO * min(shown)
    left = svg.margin(shown, _BOTTOM, log=log)
    # Without a value there is only the strip at the foot.
    y = Scale.of(shown, _BOTTOM, _TOP, log=log, pad=0.04)
    limit = getattr(optimizer.budget, resource)
    last = max(place.at for place in places)
    x = Scale(0.0, max(float(limit or 0.0), last) or 1.0, left, svg.WIDTH - 12)
    units = {"evaluations": "evaluations", "seconds": "seconds of active time", "cost": "cost"}
    scale = "value, logarithmic" if log else "value"
    strip = _STRIP if any(place.record.status == "failed" for place in places) else 0.0
    body = _bands(places, x, strip)
    body += svg.frame(x, y, xlabel=units[resource], drop=strip, bare=not values)
    body.append(svg.write(4, 12, scale if values else "", "small"))
    body += _marks(places, x, y)
    if best:
        line = f"M{x(best[0][0]):.1f} {y(best[0][1]):.1f}"
        line += "".join(f"H{x(at):.1f}V{y(value):.1f}" for at, value in best[1:])
        body.append(svg.path("line", line + f"H{x(last):.1f}"))
        body.append(svg.star(x(best[-1][0]), y(best[-1][1]), f"best: {number(best[-1][1])}"))
    if strip:
        body.append(svg.write(left - 6, _BOTTOM + 15, "failed", "small", "end"))
    title = "Best value so far" if best else "Nothing to use so far"
    return Figure(
        "convergence", title, _words(optimizer, places, best, y), tuple(body), _BOTTOM + strip + 38
    )


def _resource(optimizer: Optimizer, over: Over) -> str:
    budget, used = optimizer.budget, ledger.spent(optimizer.history)
    if over != "auto":
        if over not in ("evaluations", "seconds", "cost"):
            raise SettingError(
                f"over is {over!r}. Allowed: 'auto', 'evaluations', 'seconds' or 'cost'. "
                f"Choose one of them."
            )
        return over
    shares = {
        name: getattr(used, name) / getattr(budget, name)
        for name in ("evaluations", "seconds", "cost")
        if getattr(budget, name) is not None
    }
    return max(shares, key=shares.__getitem__)


def _places(optimizer: Optimizer, resource: str) -> list[_Place]:
    """Finished trials in the order in which they finished; known points spend nothing."""
    evaluations, cost = 0, 0.0
    places = []
    for record in optimizer.history.finished:
        evaluations += record.spends
        cost += record.cost or 0.0
        at = {"evaluations": float(evaluations), "cost": cost, "seconds": record.ended_at or 0.0}
        places.append(_Place(record, at[resource], phase(record)))
    return places


def _best_so_far(optimizer: Optimizer, places: list[_Place]) -> list[tuple[float, float]]:
    """Where the best value that meets the constraints changed."""
    sign = -1.0 if optimizer.direction == "maximize" else 1.0
    steps: list[tuple[float, float]] = []
    for place in places:
        value = place.record.value
        if value is None or not place.record.feasible:
            continue
        if not steps or sign * value < sign * steps[-1][1]:
            steps.append((place.at, value))
    return steps


def _window(values: list[float], best: list[float]) -> list[float]:
    """The values that the axis shows: all of the best, and of the others all but the far ones."""
    if len(values) < 5 or not best:
        return values + best
    away = np.abs(np.array(values) / 2 - best[-1] / 2)
    steps = [abs(b / 2 - best[-1] / 2) for b in best[1:]]
    reach = max([2.0 * float(np.quantile(away, 0.7)), *steps])
    near = [v for v, gap in zip(values, away.tolist(), strict=True) if gap <= 1.2 * reach]
    return near + best[1:] + best[-1:]


def _bands(places: list[_Place], x: Scale, strip: float) -> list[str]:
    """The design and the finish as shaded stretches, with the model between them."""
    spent = [place for place in places if place.phase != "known"]
    design = max((p.at for p in spent if p.phase == "design"), default=0.0)
    finish = min((p.at for p in spent if p.phase == "finish"), default=math.inf)
    count = sum(p.phase != "known" for p in places)
    half = (x.high / max(count, 1)) / 2
    body = []
    y, height = _TOP - 14, _BOTTOM - _TOP + 14 + strip
    stretches = (
        ("design", 0.0, design + half if design else 0.0),
        ("finish", finish - half, x.high),
    )
    for name, start, end in stretches:
        if start < end and math.isfinite(start):
            body.append(svg.rect("band", x(start), y, x(end) - x(start), height))
            middle = (x(start) + x(end)) / 2
            anchor = "middle" if svg.wide([name]) < 2 * (svg.WIDTH - middle) else "end"
            at = middle if anchor == "middle" else svg.WIDTH - 2
            if name == "design" and middle - svg.wide([name]) / 2 < x.start:
                at, anchor = x.start, "start"
            body.append(svg.write(at, y - 4, name, "small", anchor))
    gap = (design, min(finish, max(p.at for p in places)))
    if any(p.phase == "model" for p in places) and x(gap[1]) - x(gap[0]) > 90:
        body.append(svg.write((x(gap[0]) + x(gap[1])) / 2, y - 4, "model", "small", "middle"))
    return body


def _marks(places: list[_Place], x: Scale, y: Scale) -> list[str]:
    body, size = [], 3.0 if len(places) <= svg.MANY else 1.8
    for place in places:
        record, at = place.record, x(place.at)
        tip = f"trial {record.number}, {place.phase}"
        if record.value is None:
            body.append(svg.cross(at, _BOTTOM + 11, f"{tip}: failed: {svg.cut(record.error, 80)}"))
            continue
        tip += f": {number(record.value)}"
        if not y.low <= record.value <= y.high:
            up = record.value > y.high
            edge, tall = (y.end, -5) if up else (y.start, 5)
            kind = "dot" if record.feasible else "open"
            body.append(svg.path(kind, f"M{at - 3:.1f} {edge:.1f}h6l-3 {tall}z", tip))
        elif record.feasible:
            body.append(svg.dot("dot", at, y(record.value), size, tip))
        else:
            body.append(svg.diamond(at, y(record.value), tip + ", breaks a constraint"))
    return body


def _words(
    optimizer: Optimizer, places: list[_Place], best: list[tuple[float, float]], y: Scale
) -> str:
    records = [place.record for place in places]
    failed = sum(r.status == "failed" for r in records)
    broke = sum(r.status == "told" and not r.feasible for r in records)
    beyond = any(r.value is not None and not y.low <= r.value <= y.high for r in records)
    parts = []
    if len(best) > 1:
        verb = "rose" if optimizer.direction == "maximize" else "fell"
        parts.append(
            f"The best value {verb} from {number(best[0][1])} to {number(best[-1][1])} in "
            f"{len(best) - 1} step{'s' if len(best) > 2 else ''}."
        )
    elif best:
        parts.append(f"The first value was the best: {number(best[0][1])}.")
    if failed < len(records):
        parts.append("A dot is a trial.")
    if best:
        parts.append("The line is the best so far, the star where it stands.")
    if broke:
        parts.append(f"A diamond is one that broke a constraint: {broke}.")
    if failed:
        parts.append(f"A cross at the foot is one that failed: {failed}.")
    if beyond:
        parts.append("Triangles lie beyond the edge.")
    return " ".join(parts)
