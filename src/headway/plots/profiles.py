"""One-dimensional slices of the model through the recommended point, with its uncertainty."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import headway.plots.svg as svg
from headway.arrays import Bools
from headway.optimizer import Optimizer
from headway.outlook import Outlook, Prediction
from headway.plots.axes import Axis, shown
from headway.plots.subject import known_name, outlook_of, require_run
from headway.plots.svg import Figure, Scale

_COLUMNS, _PANEL, _ROW, _GUTTER = 2, 96.0, 146.0, 14.0
_MOST_LABELS = 6


def slices(
    optimizer: Optimizer, *, names: Sequence[str] | None = None, outlook: Outlook | None = None
) -> Figure:
    """The model along each parameter, the others kept as recommended.

    names: which parameters, in which order; all by default. A parameter that is inactive at the
    recommended point has no slice. outlook: the model, if it is there already.
    """
    require_run(optimizer)
    space = optimizer.space
    model = outlook or outlook_of(optimizer)
    chosen = [known_name(optimizer, name) for name in names or space.names]
    point = space.decode(model.centre)
    axes = [Axis.of(space, name) for name in chosen if name in point]
    swept = [axis.sweep(space, model.centre) for axis in axes]
    bands = [model.predict(Z) for Z, _ in swept]
    window = _window(model, bands)
    left = svg.margin(window, 0.0)
    width = (svg.WIDTH - 8 - left - _GUTTER * (_COLUMNS - 1)) / _COLUMNS
    body: list[str] = []
    for number, (axis, (Z, values), band) in enumerate(zip(axes, swept, bands, strict=True)):
        row, column = divmod(number, _COLUMNS)
        start, top = left + column * (width + _GUTTER), 26 + row * _ROW
        y = Scale.of(window, top + _PANEL, top, pad=0.04)
        broken = model.breach(Z) > 0.0
        body += _panel(axis, values, (start, start + width), y, first=column == 0)
        body += _curve(axis, values, band, (start, start + width), y, broken)
        at = start + width * axis.place(point[axis.name])
        body.append(svg.path("mark", f"M{at:.1f} {top}V{top + _PANEL}", shown(point[axis.name])))
    rows = math.ceil(len(axes) / _COLUMNS)
    left_out = [name for name in chosen if name not in point]
    words = (
        "The line is what the model expects when one parameter changes and the others stay as "
        "recommended (green line); the shade holds 95 % of what it thinks possible."
    )
    if optimizer.history.k:
        words += " Red below: where a constraint is more likely broken than met."
    if left_out:
        words += f" Inactive at the recommended point, so without a slice: {', '.join(left_out)}."
    return Figure("slices", "One parameter at a time", words, tuple(body), 4 + rows * _ROW)


def _window(model: Outlook, bands: Sequence[Prediction]) -> list[float]:
    """The range of y that all panels share: from the best to where bad trials begin.

    What is worse leaves the panel: a cliff far from the best would else leave a flat line of it.
    """
    sign = model.sign
    means = sign * np.concatenate([band.mean for band in bands])
    best, worst = float(np.min(means)), min(float(np.max(means)), model.worst)
    if not worst / 2 - best / 2 > 1e-9 * abs(best):
        worst = float(np.max(means))
    low = min(float(np.min(sign * (band.low if sign > 0 else band.high))) for band in bands)
    reach = worst / 2 - best / 2 or abs(best) / 20 or 0.5
    return [sign * max(low, best - reach), sign * (worst + 0.4 * reach)]


def _panel(
    axis: Axis, values: list[Any], ends: tuple[float, float], y: Scale, *, first: bool
) -> list[str]:
    start, end = ends
    body = []
    ticks = y.ticks(3)
    for tick, text in zip(ticks, svg.tick_labels(ticks), strict=True):
        body.append(svg.path("grid", f"M{start:.1f} {y(tick):.1f}H{end:.1f}"))
        if first:
            body.append(svg.write(start - 6, y(tick) + 4, text, "small", "end"))
    body.append(svg.path("axis", f"M{start:.1f} {y.start:.1f}H{end:.1f}"))
    body.append(svg.write(start, y.end - 8, svg.cut(axis.name, 22), "strong"))
    if axis.is_number:
        return body + svg.labels(axis.ticks(3), ends, y.start + 14)
    labels = axis.ticks(0)
    room = int((end - start) / len(labels) / 6.3)
    if len(labels) <= _MOST_LABELS and room >= 3:
        for place, text in labels:
            x = start + place * (end - start)
            body.append(svg.write(x, y.start + 14, svg.cut(text, room), "small", "middle"))
    else:
        body.append(svg.write(start, y.start + 14, f"{len(labels)} choices in order", "small"))
    return body


def _curve(
    axis: Axis,
    values: list[Any],
    band: Prediction,
    ends: tuple[float, float],
    y: Scale,
    broken: Bools,  # (m,)
) -> list[str]:
    start, end = ends
    x = [start + axis.place(value) * (end - start) for value in values]
    mean, low, high = (
        [y.far(v) for v in part.tolist()] for part in (band.mean, band.low, band.high)
    )
    body: list[str] = []
    if axis.is_number:
        edge = [*zip(x, high, strict=True), *reversed([*zip(x, low, strict=True)])]
        body.append(svg.polyline("shade", edge))
        body.append(svg.polyline("line", zip(x, mean, strict=True)))
    else:
        for at, middle, top, bottom, value in zip(x, mean, high, low, values, strict=True):
            body.append(svg.path("line", f"M{at:.1f} {bottom:.1f}V{top:.1f}"))
            body.append(svg.dot("dot", at, middle, 4, shown(value)))
    body = [svg.window(start, y.end, end - start, y.start - y.end, body)]
    half = (end - start) / (2 * len(values))
    for at, wrong in zip(x, broken.tolist(), strict=True):
        if wrong:
            body.append(svg.rect("wrong", at - half, y.start + 1, 2 * half, 3))
    return body
