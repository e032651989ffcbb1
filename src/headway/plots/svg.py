"""Drawing by hand: scales, ticks and marks as SVG text, in the reader's light or dark setting.

Notation: a figure is WIDTH units wide, about the width of a phone, so that its letters are as large
as the text around it; x goes to the right and y down. Whatever comes from the user passes `clean`.
"""

from __future__ import annotations

import base64
import math
import os
import struct
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

WIDTH = 360.0
MANY = 150  # marks of which each is smaller, or some left out
_LARGEST = 8e307  # leaves a range room for its margins
_TITLE = 34.0  # what the title of a figure that stands alone takes
_CHARACTER = 6.3  # mean width of a letter of the small text

# Text on the card has a contrast of at least 4.5 in both settings (WCAG 2.1, AA).
_LIGHT = (
    "--card:#fff;--ink:#1f2328;--soft:#59636e;--grid:#e8ebee;--axis:#818b98;"
    "--a:#0b63ce;--b:#b34700;--bad:#c21d2b;--good:#1a7f37"
)
_DARK = (
    "--card:#151b23;--ink:#f0f6fc;--soft:#9aa4af;--grid:#262d36;--axis:#7d8590;"
    "--a:#6cb0ff;--b:#f0a04b;--bad:#ff7b72;--good:#56d364"
)
COLOURS = f":root,svg.hw{{{_LIGHT}}}@media (prefers-color-scheme:dark){{:root,svg.hw{{{_DARK}}}}}"
STYLE = """
.hw text{font:12px system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;fill:var(--soft)}
.hw .small{font-size:11px}.hw .title{font-size:15px;font-weight:600;fill:var(--ink)}
.hw .strong{fill:var(--ink);font-weight:600}.hw text.a{fill:var(--a)}.hw text.b{fill:var(--b)}
.hw .card{fill:var(--card)}.hw .grid{stroke:var(--grid);fill:none}
.hw .axis{stroke:var(--axis);fill:none}.hw .band{fill:var(--ink);opacity:.045}
.hw .line{fill:none;stroke:var(--a);stroke-width:2;stroke-linejoin:round;stroke-linecap:round}
.hw .faint{fill:none;stroke:var(--axis);stroke-width:1;opacity:.35}
.hw .shade{fill:var(--a);opacity:.2}.hw .bar{fill:var(--a)}.hw .bar2{fill:var(--a);opacity:.35}
.hw .rest{fill:var(--grid)}.hw .dot{fill:var(--a);stroke:var(--card);stroke-width:.8}
.hw .open{fill:var(--card);stroke:var(--b);stroke-width:1.6}
.hw .cross{stroke:var(--bad);stroke-width:1.7;fill:none}.hw .wrong{fill:var(--bad)}
.hw .best{fill:var(--good);stroke:var(--card);stroke-width:1}
.hw .mark{stroke:var(--good);stroke-width:1.8;fill:none}
.hw .arrow{stroke:var(--ink);stroke-width:1.3;fill:none}.hw .head{fill:var(--ink)}
.hw .level{stroke:var(--a);stroke-width:.9;fill:none;opacity:.8}
.hw .edge{stroke:var(--bad);stroke-width:1.4;fill:none;stroke-dasharray:5 3}
.hw .hatch{stroke:var(--bad);stroke-width:1.1;opacity:.55}
.hw .halo{paint-order:stroke;stroke:var(--card);stroke-width:3px;stroke-linejoin:round}
"""


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture with its title and what it shows in words; a notebook draws it by itself."""

    name: str  # what it is called in a page
    title: str
    words: str  # its caption, and its text for who cannot see it
    body: tuple[str, ...]
    height: float

    def inline(self) -> str:
        """The SVG for a page that has the style, the title and the words beside it."""
        box = f"0 0 {WIDTH:g} {self.height:.0f}"
        label = escape(clean(f"{self.title}. {self.words}"))
        inner = "\n".join(self.body)
        return f'<svg class="hw" viewBox="{box}" role="img" aria-label="{label}">\n{inner}\n</svg>'

    @property
    def svg(self) -> str:
        """The SVG as a file of its own, title included."""
        height, title = self.height + _TITLE, escape(clean(self.title))
        label = escape(clean(self.words))
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" class="hw" role="img" '
                f'viewBox="0 0 {WIDTH:g} {height:.0f}" width="{1.5 * WIDTH:.0f}" '
                f'height="{1.5 * height:.0f}">',
                f"<title>{title}</title><desc>{label}</desc>",
                f"<style>{COLOURS}{STYLE}</style>",
                f'<rect class="card" width="{WIDTH:g}" height="{height:.0f}" rx="6"/>',
                f'<text class="title" x="10" y="22">{title}</text>',
                f'<g transform="translate(0 {_TITLE:g})">',
                *self.body,
                "</g>\n</svg>\n",
            ]
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the SVG to a file."""
        Path(path).write_text(self.svg, encoding="utf-8")

    def _repr_svg_(self) -> str:
        return self.svg


@dataclass(frozen=True, slots=True)
class Scale:
    """From values in [low, high] to places in [start, end]; values outside stay at the edge."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    @classmethod
    def of(
        cls, values: Iterable[float], start: float, end: float, *, log: bool = False, pad: float = 0
    ) -> Scale:
        """One that holds the values, with `pad` of the range left free at each end."""
        given = [min(max(float(v), -_LARGEST), _LARGEST) for v in values if math.isfinite(v)]
        low, high = (min(given), max(given)) if given else (0.0, 1.0)
        if log:
            if high / low < 1.0 + 1e-9:  # one value, but for rounding
                low, high = low / 2, high * 2
            span = math.log(high / low) if math.isfinite(high / low) else 700.0
            return cls(
                max(low * math.exp(-pad * span), 1e-307),
                min(high * math.exp(pad * span), 1e307),
                start,
                end,
                True,
            )
        if high / 2 - low / 2 <= 1e-12 * max(abs(low), abs(high)):  # one value, but for rounding
            margin = max(abs(low) / 10, abs(high) / 10) or 0.5
            low, high = low - margin, high + margin
        span = high / 2 - low / 2  # in halves: 1e308 - -1e308 is no float
        return cls(low - 2 * pad * span, high + 2 * pad * span, start, end)

    def share(self, value: float, beyond: float = 0.0) -> float:
        """Where the value lies between low and high, at most `beyond` ranges outside."""
        if self.log:
            least = 1e-300 if beyond else self.low
            span = math.log(self.high) - math.log(self.low)
            share = (math.log(max(value, least)) - math.log(self.low)) / span
        else:
            share = (value / 2 - self.low / 2) / (self.high / 2 - self.low / 2)
        return min(max(share, -beyond), 1.0 + beyond)

    def __call__(self, value: float) -> float:
        return self.start + (self.end - self.start) * self.share(value)

    def far(self, value: float) -> float:
        """The place of a value that may lie outside; for what a `window` cuts off."""
        return self.start + (self.end - self.start) * self.share(value, 20.0)

    def ticks(self, count: int = 5) -> list[float]:
        """About so many round numbers within the range."""
        if self.log and self.high / self.low >= 8:
            return _log_ticks(self.low, self.high, count)
        span = self.high / 2 - self.low / 2
        step = _round_step(2 * span / count) if math.isfinite(2 * span) else span
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [i * step for i in range(first, last + 1)]


def _round_step(raw: float) -> float:
    power = 10.0 ** math.floor(math.log10(raw))
    return next(m * power for m in (1.0, 2.0, 5.0, 10.0) if m * power >= raw * (1 - 1e-9))


def _log_ticks(low: float, high: float, count: int) -> list[float]:
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    if last - first >= 2:
        return [10.0**k for k in range(first, last + 1, max(1, math.ceil((last - first) / count)))]
    each = [m * 10.0**k for k in range(first - 1, last + 1) for m in (1, 2, 5)]
    return [tick for tick in each if low * (1 - 1e-9) <= tick <= high * (1 + 1e-9)]


def tick_labels(ticks: Sequence[float]) -> list[str]:
    """The shortest numbers that tell the ticks apart."""
    gaps = [abs(b - a) for a, b in pairwise(ticks)]
    near = min(gaps, default=abs(ticks[0]) if ticks else 1.0) * 1e-3
    for digits in range(2, 17):
        texts = [f"{tick + 0.0:.{digits}g}" for tick in ticks]
        if all(abs(float(text) - tick) <= near for text, tick in zip(texts, ticks, strict=True)):
            break
    return [_plain(text, tick) for text, tick in zip(texts, ticks, strict=True)]


def _plain(text: str, tick: float) -> str:
    """Without an exponent where the number is short without it."""
    if "e" in text and 1e-3 <= abs(tick) < 1e6:
        text = f"{float(text):.10g}"
    return typeset(text)


def number(value: float, digits: int = 5) -> str:
    """A number for a reader."""
    text = f"{value + 0.0:.{digits}g}"
    if "e" in text and abs(value) < 1e7 and abs(value) >= 1:
        text = f"{value:.0f}"
    return typeset(text)


def typeset(text: str) -> str:
    """With a minus sign, and a power of ten without padding."""
    mantissa, _, exponent = text.partition("e")
    if exponent:
        mantissa += f"e{int(exponent)}"
    return mantissa.replace("-", "−")


def clean(text: object) -> str:
    """A text that any page can hold: what XML or UTF-8 refuses is replaced."""
    return "".join(c if _allowed(ord(c)) else "�" for c in str(text))


def _allowed(code: int) -> bool:
    control = code < 0x20 and code not in (0x9, 0xA, 0xD)
    return not (control or 0x7F <= code <= 0x9F or 0xD800 <= code <= 0xDFFF or code & ~1 == 0xFFFE)


def cut(text: object, most: int) -> str:
    """At most so many characters."""
    whole = " ".join(clean(text).split())
    return whole if len(whole) <= most else whole[: most - 1] + "…"


def wide(texts: Iterable[str]) -> float:
    """About how much room the longest of the texts takes."""
    return max((_CHARACTER * len(text) for text in texts), default=0.0)


def write(x: float, y: float, text: object, kind: str = "", anchor: str = "start") -> str:
    style = f' class="{kind}"' if kind else ""
    place = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text{style} x="{x:.1f}" y="{y:.1f}"{place}>{escape(clean(text))}</text>'


def _tipped(tag: str, attributes: str, tip: str) -> str:
    if not tip:
        return f"<{tag} {attributes}/>"
    return f"<{tag} {attributes}><title>{escape(clean(tip))}</title></{tag}>"


def path(kind: str, d: str, tip: str = "") -> str:
    return _tipped("path", f'class="{kind}" d="{d}"', tip)


def polyline(kind: str, points: Iterable[tuple[float, float]], tip: str = "") -> str:
    """A line through the points; nothing for fewer than two."""
    texts = [f"{x:.1f} {y:.1f}" for x, y in points]
    return path(kind, "M" + "L".join(texts), tip) if len(texts) > 1 else ""


def rect(kind: str, x: float, y: float, width: float, height: float, tip: str = "") -> str:
    size = f'width="{max(width, 0):.1f}" height="{max(height, 0):.1f}"'
    return _tipped("rect", f'class="{kind}" x="{x:.1f}" y="{y:.1f}" {size}', tip)


def dot(kind: str, x: float, y: float, r: float = 3.0, tip: str = "") -> str:
    return _tipped("circle", f'class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{r:g}"', tip)


def cross(x: float, y: float, tip: str = "") -> str:
    return path("cross", f"M{x - 3:.1f} {y - 3:.1f}l6 6m0-6l-6 6", tip)


def diamond(x: float, y: float, tip: str = "") -> str:
    return path("open", f"M{x:.1f} {y - 4:.1f}l4 4l-4 4l-4-4z", tip)


def star(x: float, y: float, tip: str = "") -> str:
    """The mark of the best point."""
    corners = []
    for k in range(10):
        r, angle = (7.5, 3.2)[k % 2], math.pi * (k / 5 - 0.5)
        corners.append(f"{x + r * math.cos(angle):.1f} {y + r * math.sin(angle):.1f}")
    return path("best", "M" + "L".join(corners) + "z", tip)


def window(x: float, y: float, width: float, height: float, body: Iterable[str]) -> str:
    """Marks of which only what lies in the box is seen."""
    size = f'width="{width:.1f}" height="{height:.1f}"'
    box = f'viewBox="{x:.1f} {y:.1f} {width:.1f} {height:.1f}"'
    return f'<svg x="{x:.1f}" y="{y:.1f}" {size} {box}>{"".join(body)}</svg>'


def frame(
    x: Scale,
    y: Scale,
    *,
    xlabel: str = "",
    ylabel: str = "",
    drop: float = 0.0,
    bare: bool = False,
) -> list[str]:
    """Grid lines, tick labels and names of two axes; y.start is the bottom.

    drop: how much lower than usual the labels of x stand. bare: y has nothing to measure.
    """
    body: list[str] = []
    ticks = [] if bare else y.ticks(4)
    for tick, text in zip(ticks, tick_labels(ticks), strict=True):
        at = y(tick)
        body.append(path("grid", f"M{x.start:.1f} {at:.1f}H{x.end:.1f}"))
        body.append(write(x.start - 6, at + 4, text, "small", "end"))
    body.append(path("axis", f"M{x.start:.1f} {y.start:.1f}H{x.end:.1f}"))
    ticks = x.ticks(5)
    places = zip((x.share(tick) for tick in ticks), tick_labels(ticks), strict=True)
    body += labels(places, (x.start, x.end), y.start + 15 + drop)
    if xlabel:
        body.append(write((x.start + x.end) / 2, y.start + 31 + drop, xlabel, anchor="middle"))
    if ylabel:
        body.append(write(4, y.end - 10, ylabel))
    return body


def labels(
    texts: Iterable[tuple[float, str]], ends: tuple[float, float], y: float, kind: str = "small"
) -> list[str]:
    """Labels at shares of the stretch from end to end, without those that would touch another."""
    body, taken = [], -math.inf
    for share, text in texts:
        room, x = wide([text]), ends[0] + share * (ends[1] - ends[0])
        left = min(max(x - room / 2, ends[0] - 8.0), ends[1] + 8.0 - room)
        if left < taken:
            continue
        taken = left + room + _CHARACTER
        body.append(write(left + room / 2, y, text, kind, "middle"))
    return body


def margin(values: Iterable[float], start: float, *, log: bool = False) -> float:
    """Where the y axis stands, so that its labels have room beside it."""
    ticks = Scale.of(values, start, 0.0, log=log).ticks(4)
    return max(36.0, wide(tick_labels(ticks)) + 12)


def image(alpha: npt.NDArray[np.uint8], box: tuple[float, float, float, float], rgb: str) -> str:
    """A raster of one colour whose opacity is given (rows, columns), as a PNG inside the SVG."""
    rows, columns = alpha.shape
    colour = bytes.fromhex(rgb)
    pixels = np.empty((rows, columns, 4), dtype=np.uint8)
    pixels[..., :3] = np.frombuffer(colour, dtype=np.uint8)
    pixels[..., 3] = alpha
    raw = b"".join(b"\0" + pixels[row].tobytes() for row in range(rows))
    header = struct.pack(">IIBBBBB", columns, rows, 8, 6, 0, 0, 0)
    data = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        for kind, body in ((b"IHDR", header), (b"IDAT", zlib.compress(raw, 9)), (b"IEND", b""))
    )
    x, y, width, height = box
    return (
        f'<image x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" '
        f'preserveAspectRatio="none" '
        f'href="data:image/png;base64,{base64.b64encode(data).decode()}"/>'
    )
