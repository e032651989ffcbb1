"""The path over a two-dimensional slice: the model, the feasible side, and the steps to the best.

Notation: the slice goes through the recommended point along two numbers of the space; V (r, r) the
model's median on a raster of it, rows from the bottom.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Literal

import numpy as np

import headway.plots.svg as svg
from headway.arrays import Array
from headway.errors import NothingToShow, SettingError
from headway.history import Record
from headway.importance import Importance
from headway.optimizer import Optimizer
from headway.outlook import Outlook
from headway.plots.axes import Axis
from headway.plots.subject import known_name, outlook_of, require_run
from headway.plots.svg import Figure, Scale, number

Steps = Literal["best", "all"]
_SIDE = 48  # of the raster
_LEVELS = (0.02, 0.06, 0.13, 0.25, 0.4, 0.6, 0.8)
_TOP, _BOTTOM = 26.0, 306.0
_TINT = "2f81f7"  # of the raster: seen on a light and on a dark card


def path(
    optimizer: Optimizer,
    *,
    names: tuple[str, str] | None = None,
    steps: Steps = "best",
    outlook: Outlook | None = None,
    indices: Importance | None = None,
) -> Figure:
    """Trials and the steps between them over the model's slice through the recommended point.

    names: the two numbers that are drawn; by default the two that matter most. steps: "best"
    draws an arrow to each trial that was the best so far, "all" one to every trial. outlook,
    indices: the model and its importance, if they are there already.
    """
    require_run(optimizer)
    if steps not in ("best", "all"):
        raise SettingError(f"steps is {steps!r}. Allowed: 'best' or 'all'. Choose one of the two.")
    model = outlook or outlook_of(optimizer)
    ax, ay = (Axis.of(optimizer.space, name) for name in _two(optimizer, model, names, indices))
    y = ay.scale(_BOTTOM, _TOP)
    x = ax.scale(svg.margin([y.low, y.high], _BOTTOM, log=y.log), svg.WIDTH - 12)
    Z = _raster(model, ax, ay)
    V = model.predict(Z).mean.reshape(_SIDE, _SIDE)
    better = V if optimizer.direction == "minimize" else -V
    body = [_tinted(better, x, y), *svg.frame(x, y, xlabel=svg.cut(ax.name, 40))]
    body.append(svg.write(4, _TOP - 10, svg.cut(ay.name, 40)))
    for level in _LEVELS:
        lines = contour(better, float(np.quantile(better, level)))
        body.append(_drawn("level", lines, x, y))
    if optimizer.history.k:
        body += _infeasible(model.breach(Z).reshape(_SIDE, _SIDE), x, y)
    body += _trials(optimizer, model, (ax, x), (ay, y), steps)
    words = _words(optimizer, steps)
    return Figure("path", "The path to the best", words, tuple(b for b in body if b), _BOTTOM + 40)


def _two(
    optimizer: Optimizer,
    model: Outlook,
    names: tuple[str, str] | None,
    indices: Importance | None,
) -> tuple[str, str]:
    """The names of the two axes."""
    space = optimizer.space
    active = space.decode(model.centre)
    usable = [n for n in space.names if n in active and Axis.of(space, n).is_number]
    if names is None:
        if len(usable) < 2:
            raise NothingToShow(
                f"there is no plane to show: it needs two parameters that are numbers and active "
                f"at the recommended point, and there {'is 1' if usable else 'are none'}. Allowed: "
                f"a run with two. See the slices."
            )
        order = (indices or model.importance()).order
        first, second = [name for name in order if name in usable][:2]
        return first, second
    first, second = (known_name(optimizer, name) for name in names)
    wrong = [name for name in (first, second) if name not in usable]
    if wrong or first == second:
        raise SettingError(
            f"names is {names!r}. Allowed: two different numbers that are active at the "
            f"recommended point: {', '.join(usable)}. Choose two of them."
        )
    return first, second


def _raster(model: Outlook, ax: Axis, ay: Axis) -> Array:  # (r * r, d)
    """The points of the slice, row by row from the bottom."""
    U = (np.arange(_SIDE) + 0.5) / _SIDE
    Z = np.repeat(model.centre[None], _SIDE * _SIDE, axis=0)
    Z[:, ax.column] = np.tile(U, _SIDE)
    Z[:, ay.column] = np.repeat(U, _SIDE)
    return model.space.snap(Z)


def _tinted(V: Array, x: Scale, y: Scale) -> str:
    """The deeper the better: by rank, so that a cliff far away leaves something to see."""
    rank = np.argsort(np.argsort(V, axis=None)).reshape(V.shape) / max(V.size - 1, 1)
    alpha = np.round(150 * (1.0 - rank) ** 1.5).astype(np.uint8)
    return svg.image(alpha[::-1], (x.start, y.end, x.end - x.start, y.start - y.end), _TINT)


Segment = tuple[tuple[float, float], tuple[float, float]]


def contour(V: Array, level: float) -> list[Segment]:  # (r, c)
    """Where V crosses the level: pieces of lines, in shares of width and height.

    Each square of four neighbouring values is looked at by itself (marching squares); a square
    with two crossings of each kind (a saddle) is cut at both corners that lie below the level.
    """
    rows, columns = V.shape
    below = level > V
    code = below[:-1, :-1] + 2 * below[:-1, 1:] + 4 * below[1:, 1:] + 8 * below[1:, :-1]
    pieces: list[Segment] = []
    for i, j in zip(*np.nonzero((code > 0) & (code < 15)), strict=True):
        corners = ((i, j), (i, j + 1), (i + 1, j + 1), (i + 1, j))
        cuts = []
        for a, b in zip(corners, corners[1:] + corners[:1], strict=True):
            if below[a] != below[b]:
                t = float((level - V[a]) / (V[b] - V[a]))
                row, column = a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1])
                cuts.append(((column + 0.5) / columns, (row + 0.5) / rows))
        if len(cuts) == 4 and below[corners[0]]:
            cuts = [cuts[3], *cuts[:3]]
        pieces += list(zip(cuts[::2], cuts[1::2], strict=True))
    return pieces


def _drawn(kind: str, pieces: list[Segment], x: Scale, y: Scale) -> str:
    def at(place: tuple[float, float]) -> str:
        across = x.start + (x.end - x.start) * place[0]
        return f"{across:.1f} {y.start + (y.end - y.start) * place[1]:.1f}"

    return svg.path(kind, "".join(f"M{at(a)}L{at(b)}" for a, b in pieces)) if pieces else ""


def _infeasible(breach: Array, x: Scale, y: Scale) -> list[str]:
    """Hatching where a constraint is more likely broken than met, and the line between."""
    wide, tall = (x.end - x.start) / _SIDE, (y.start - y.end) / _SIDE
    boxes = ""
    for row in range(_SIDE):
        broken = np.flatnonzero(np.diff(np.concatenate([[0], breach[row] > 0.0, [0]]).astype(int)))
        for begin, end in zip(broken[::2].tolist(), broken[1::2].tolist(), strict=True):
            left, top = x.start + begin * wide, y.start - (row + 1) * tall
            boxes += f"M{left:.1f} {top:.1f}h{(end - begin) * wide:.1f}v{tall:.1f}H{left:.1f}z"
    if not boxes:
        return []
    pattern = (
        '<defs><pattern id="hw-hatch" width="7" height="7" patternUnits="userSpaceOnUse" '
        'patternTransform="rotate(45)"><path class="hatch" d="M0 0V7"/></pattern></defs>'
    )
    area = f'<path fill="url(#hw-hatch)" d="{boxes}"/>'
    return [pattern, area, _drawn("edge", contour(breach, 0.0), x, y)]


def _trials(
    optimizer: Optimizer,
    model: Outlook,
    across: tuple[Axis, Scale],
    up: tuple[Axis, Scale],
    steps: Steps,
) -> list[str]:
    """Every trial that has both numbers, faint where it lies far from the slice; and the arrows."""
    (ax, x), (ay, y) = across, up
    others = [j for j in range(optimizer.space.d) if j not in (ax.column, ay.column)]
    scales = np.maximum(np.minimum(model.situation.lengthscales, 1.0)[others], 1e-9)
    body, ends = [], []
    sign, best = (-1.0 if optimizer.direction == "maximize" else 1.0), math.inf
    for record in optimizer.history.finished:
        params = dict(record.point)
        if ax.name not in params or ay.name not in params:
            continue
        away = np.abs(np.array(record.z) - model.centre)[others] / scales
        near = math.exp(-0.5 * float(np.mean(away**2))) if others else 1.0
        place = x(float(params[ax.name])), y(float(params[ay.name]))
        body.append(f'<g opacity="{0.25 + 0.75 * near:.2f}">{_mark(record, place)}</g>')
        better = record.feasible and sign * (record.value or 0.0) < best
        if better:
            best = sign * (record.value or 0.0)
        if better or steps == "all":
            ends.append(place)
    body += [_arrow(a, b) for a, b in pairwise(ends)]
    point = optimizer.space.decode(model.centre)
    body.append(svg.star(x(float(point[ax.name])), y(float(point[ay.name])), "recommended"))
    return body


def _mark(record: Record, place: tuple[float, float]) -> str:
    if record.value is None:
        return svg.cross(*place, f"trial {record.number}: failed")
    tip = f"trial {record.number}: {number(record.value)}"
    return svg.dot("dot", *place, 3, tip) if record.feasible else svg.diamond(*place, tip)


def _arrow(a: tuple[float, float], b: tuple[float, float]) -> str:
    length = math.hypot(b[0] - a[0], b[1] - a[1])
    if length < 3:
        return ""
    ux, uy = (b[0] - a[0]) / length, (b[1] - a[1]) / length
    size = min(7.0, 0.6 * length)
    bx, by = b[0] - size * ux, b[1] - size * uy
    head = (
        f"M{b[0]:.1f} {b[1]:.1f}L{bx - 0.45 * size * uy:.1f} {by + 0.45 * size * ux:.1f}"
        f"L{bx + 0.45 * size * uy:.1f} {by - 0.45 * size * ux:.1f}z"
    )
    return svg.path("arrow", f"M{a[0]:.1f} {a[1]:.1f}L{bx:.1f} {by:.1f}") + svg.path("head", head)


def _words(optimizer: Optimizer, steps: Steps) -> str:
    text = "The deeper the blue, the better the model expects the value to be"
    if optimizer.space.d > 2:
        text += "; the other parameters are as recommended, and trials far from them are pale"
    arrows = "one best to the next" if steps == "best" else "each trial to the next"
    text += f". Arrows lead from {arrows}; the star is what is recommended."
    if optimizer.history.k:
        text += " Hatched: a constraint is more likely broken than met (diamonds broke one)."
    return text
