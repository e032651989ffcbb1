"""A picture of convergence as an SVG, without a plot library: the best so far, by evaluations.

Notation: a curve is the values of n evaluations in order, None for one that failed; its line is
the best so far, a step at each improvement; a ring is one evaluation, a cross one that failed.
The picture follows the reader's light or dark setting.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import accumulate

Values = Sequence[float | None]

WIDTH, HEIGHT = 720, 400
LEFT, RIGHT, TOP, BOTTOM = 64, 132, 64, 84  # the right margin holds the curves' names
STRIP = 32  # below the curves: a row a curve for the evaluations that failed
LINE_HEIGHT = 34  # what a name at a curve's end, of two lines, takes
COLOURS = 2

STYLE = """
  .card { fill: #ffffff; stroke: #d8dee4 } .grid { stroke: #e6eaee } .axis { stroke: #8b949e }
  text { font: 13px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #57606a }
  .title { font-size: 16px; font-weight: 600; fill: #1f2328 } .name { font-weight: 600 }
  .line { fill: none; stroke-width: 2.5; stroke-linejoin: round }
  .ring { fill: none; stroke-width: 1.2; opacity: 0.55 } .cross { stroke-width: 1.5; opacity: 0.7 }
  .c0 { stroke: #0969da } text.c0 { stroke: none; fill: #0969da }
  .c1 { stroke: #bc4c00 } text.c1 { stroke: none; fill: #bc4c00 }
  @media (prefers-color-scheme: dark) {
    .card { fill: #0d1117; stroke: #30363d } .grid { stroke: #21262d } .axis { stroke: #6e7681 }
    text { fill: #9198a1 } .title { fill: #f0f6fc }
    .c0 { stroke: #58a6ff } text.c0 { fill: #58a6ff }
    .c1 { stroke: #f0883e } text.c1 { fill: #f0883e }
  }
"""


@dataclass(frozen=True, slots=True)
class Curve:
    """A search: its name and its values in order."""

    name: str
    values: Values

    @property
    def best(self) -> list[float]:
        """The best so far; inf until something has a value."""
        plain = (math.inf if value is None else value for value in self.values)
        return list(accumulate(plain, min))


@dataclass(frozen=True, slots=True)
class _Frame:
    """From evaluations and values to the picture's units."""

    n: int
    low: float
    high: float

    def x(self, evaluation: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * evaluation / self.n

    def y(self, value: float) -> float:
        return (
            HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (value - self.low) / (self.high - self.low)
        )


def draw(curves: Sequence[Curve], *, title: str, unit: str) -> str:
    """The SVG's text, for one or two curves of which one at least has a value."""
    if not 1 <= len(curves) <= COLOURS:
        raise ValueError(f"{len(curves)} curves; the picture has colours for 1 or {COLOURS}")
    bests = [value for curve in curves for value in curve.best if math.isfinite(value)]
    if not bests:
        raise ValueError("no curve has a value: every evaluation failed")
    ticks = ticks_for(min(bests), max(bests))
    frame = _Frame(max(len(curve.values) for curve in curves), ticks[0], ticks[-1])
    body = [*_axes(frame, ticks, title, unit)]
    for colour, curve in enumerate(curves):
        body += _marks(frame, curve, colour)
    for colour, curve in enumerate(curves):
        body.append(_line(frame, curve, colour))
    body += _names(frame, curves)
    card = f'<rect class="card" x="0.5" y="0.5" width="{WIDTH - 1}" height="{HEIGHT - 1}" rx="8"/>'
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
        f'height="{HEIGHT}" role="img">\n<title>{escape(title)}</title>\n<style>{STYLE}</style>'
    )
    return "\n".join([head, card, *body, "</svg>\n"])


def ticks_for(low: float, high: float) -> list[float]:
    """Round numbers, about five, that enclose low and high."""
    span = (high - low) or abs(high) or 1.0
    power = 10.0 ** math.floor(math.log10(span / 5))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= span / 5)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [round(i * step, 12) for i in range(first, max(last, first + 1) + 1)]


def _axes(frame: _Frame, ticks: Sequence[float], title: str, unit: str) -> list[str]:
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM + STRIP
    out = [_text(24, 28, title, "title"), _text(24, 48, unit)]
    for tick in ticks:
        y = frame.y(tick)
        out.append(f'<path class="grid" d="M{LEFT} {y:.1f}H{right}"/>')
        out.append(_text(LEFT - 8, y + 4, f"{tick:g}", anchor="end"))
    out.append(f'<path class="axis" d="M{LEFT} {bottom}H{right}"/>')
    for tick in ticks_for(0, frame.n):
        if tick <= frame.n:
            out.append(_text(frame.x(tick), bottom + 20, f"{tick:g}", anchor="middle"))
    middle = (LEFT + right) / 2
    out.append(_text(middle, HEIGHT - 14, "evaluations", anchor="middle"))
    out.append(_text(LEFT - 8, bottom - STRIP / 2 + 4, "× failed", anchor="end"))
    return out


def _marks(frame: _Frame, curve: Curve, colour: int) -> list[str]:
    """A ring where an evaluation lies within the picture, a cross at the foot where it failed."""
    out = []
    foot = HEIGHT - BOTTOM + 10 + 12 * colour
    for n, value in enumerate(curve.values, start=1):
        x = frame.x(n)
        if value is None:
            arms = f"M{x - 3:.1f} {foot - 3}l6 6m0-6l-6 6"
            out.append(f'<path class="cross c{colour}" d="{arms}"/>')
        elif value <= frame.high:
            out.append(
                f'<circle class="ring c{colour}" cx="{x:.1f}" cy="{frame.y(value):.1f}" r="2.5"/>'
            )
    return out


def _line(frame: _Frame, curve: Curve, colour: int) -> str:
    points = [(n, v) for n, v in enumerate(curve.best, start=1) if math.isfinite(v)]
    if not points:
        return ""
    first, *rest = points
    path = f"M{frame.x(first[0]):.1f} {frame.y(first[1]):.1f}"
    path += "".join(f"H{frame.x(n):.1f}V{frame.y(v):.1f}" for n, v in rest)
    return f'<path class="line c{colour}" d="{path}"/>'


def _names(frame: _Frame, curves: Sequence[Curve]) -> list[str]:
    """Each curve's name and last value at its end, moved apart where they would overlap."""
    out = []
    ends: list[tuple[float, int]] = sorted(
        (frame.y(min(curve.best[-1], frame.high)), colour) for colour, curve in enumerate(curves)
    )
    lowest = -math.inf
    for y, colour in ends:
        lowest = max(y, lowest + LINE_HEIGHT)
        curve, x = curves[colour], WIDTH - RIGHT + 10
        last = curve.best[-1]
        out.append(_text(x, lowest - 1, curve.name, f"name c{colour}"))
        out.append(_text(x, lowest + 14, f"{last:.4g}" if math.isfinite(last) else "no value"))
    return out


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> str:
    style = f' class="{kind}"' if kind else ""
    return f'<text{style} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
