"""Every trial as a line through its parameters: parallel coordinates, one row a parameter."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import headway.plots.svg as svg
from headway.errors import NothingToShow
from headway.history import Record
from headway.optimizer import Optimizer
from headway.plots.axes import Axis
from headway.plots.subject import known_name, require_run
from headway.plots.svg import Figure, number

_ROW, _TOP = 46.0, 20.0
_START, _END = 16.0, svg.WIDTH - 40.0
_OFF = svg.WIDTH - 14.0  # where a line passes a parameter that is inactive
# The best tenth stand out; of the others no more than an eye can follow.
_BEST_SHARE = 0.1


def parallel(optimizer: Optimizer, *, names: Sequence[str] | None = None) -> Figure:
    """The best tenth of the trials in colour, the others faint, the failed in red.

    names: which parameters, in which order.
    """
    require_run(optimizer)
    space, sign = optimizer.space, -1.0 if optimizer.direction == "maximize" else 1.0
    done = optimizer.history.finished
    if not done:
        raise NothingToShow(
            "there is nothing to show: no trial has finished. Allowed: a run with a finished "
            "trial. Tell one first."
        )
    axes = [Axis.of(space, known_name(optimizer, name)) for name in names or space.names]
    ranked = sorted((r for r in done if r.feasible), key=lambda r: sign * (r.value or 0.0))
    best = ranked[: max(1, round(_BEST_SHARE * len(ranked)))] if ranked else []
    chosen = {record.id for record in best}
    others = [record for record in done if record.id not in chosen]
    kept = [others[i] for i in _spread(len(others), svg.MANY)]
    body: list[str] = []
    for record in kept:
        kind = "faint" if record.status == "told" else "cross faint"
        body.append(_line(kind, axes, record))
    for record in reversed(best):
        body.append(_line("line", axes, record))
    for row, axis in enumerate(axes):
        body += _axis(axis, _TOP + row * _ROW)
    for record in best[:1]:
        body += [svg.star(x, y) for x, y in _points(axes, record)]
    words = "A line is a trial."
    if best:
        words = (
            f"A line is a trial; blue: the best {len(best)} of {len(done)}; stars: the best one."
        )
    if any(record.status == "failed" for record in kept):
        words += " Red ones failed."
    if len(kept) < len(others):
        words += f" Of the other {len(others)}, {len(kept)} are drawn, evenly chosen."
    if any(axis.parameter.when is not None for axis in axes):
        words += " A line at the right edge passes a parameter that is inactive."
    height = _TOP + _ROW * len(axes)
    return Figure("parallel", "Every trial", words, tuple(body), height)


def _spread(n: int, most: int) -> list[int]:
    return list(range(n)) if n <= most else np.linspace(0, n - 1, most).astype(int).tolist()


def _points(axes: Sequence[Axis], record: Record) -> list[tuple[float, float]]:
    """Where the line passes each axis."""
    params = dict(record.point)
    points = []
    for row, axis in enumerate(axes):
        active = axis.name in params
        x = _START + (_END - _START) * axis.place(params[axis.name]) if active else _OFF
        points.append((x, _TOP + row * _ROW))
    return points


def _line(kind: str, axes: Sequence[Axis], record: Record) -> str:
    points = _points(axes, record)
    if len(points) == 1:  # a line through one axis is a mark on it
        points = [(points[0][0], points[0][1] + end) for end in (-5.0, 5.0)]
    return svg.polyline(kind, points, _tip(record))


def _axis(axis: Axis, y: float) -> list[str]:
    body = [svg.path("axis", f"M{_START} {y}H{_END}")]
    body.append(svg.write(_START, y - 6, svg.cut(axis.name, 40), "strong halo"))
    ticks = axis.ticks(4)
    room = max(6, int((_END - _START) / max(len(ticks), 1) / 7.0))
    cut = ((place, svg.cut(text, room)) for place, text in ticks)
    return body + svg.labels(cut, (_START, _END), y + 13, "small halo")


def _tip(record: Record) -> str:
    if record.value is None:
        return f"trial {record.number}: failed"
    return f"trial {record.number}: {number(record.value)}"
