"""What failed, and where: kinds of errors, and the one condition that tells failures apart best.

Notation: n trials of which m failed; a condition holds for K trials, for k of the failed ones. By
chance k would be hypergeometric; a condition is reported only where chance, after a correction for
all conditions that were tried (Bonferroni), would bring so many less than once in a hundred runs.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from headway.arrays import Array, Bools
from headway.history import Record
from headway.plots.axes import Axis, shown
from headway.plots.svg import number
from headway.space import Space

_CHANCE = 0.01
_NUMBER = re.compile(r"-?\d[\d.,]*(?:[eE][+-]?\d+)?")


@dataclass(frozen=True, slots=True)
class Condition:
    """A half of the space, in words, and how many failures and others lie in it."""

    text: str
    failed_inside: int
    failed: int
    others_inside: int
    others: int
    chance: float  # that as many failures lie in it by chance, corrected


def kinds(failed: Sequence[Record]) -> list[tuple[str, int]]:
    """The errors that differ by more than their numbers, most frequent first, with an example."""
    first: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for record in failed:
        text = " ".join((record.error or "no reason was told").split())
        kind = _NUMBER.sub("#", text)
        first.setdefault(kind, text)
        counts[kind] += 1
    return [(first[kind], count) for kind, count in counts.most_common()]


def where(space: Space, records: Sequence[Record]) -> Condition | None:
    """The condition on one parameter that failures meet and others do not; None: no such."""
    done = [r for r in records if r.status in ("told", "failed")]
    bad = np.array([r.status == "failed" for r in done], dtype=bool)
    if not bad.any() or bad.all():
        return None
    best: tuple[float, str, Bools] | None = None
    tried = 0
    for text, inside in _conditions(space, done):
        tried += 1
        if not np.mean(inside[bad]) > np.mean(inside[~bad]):
            continue  # the other side of it is the one to name
        gain = _gain(bad, inside)
        if best is None or gain > best[0]:
            best = gain, text, inside
    if best is None:
        return None
    _, text, inside = best
    chance = tried * _by_chance(len(bad), int(bad.sum()), int(inside.sum()), int(inside[bad].sum()))
    if chance > _CHANCE:
        return None
    counts = int(inside[bad].sum()), int(bad.sum()), int(inside[~bad].sum()), int((~bad).sum())
    return Condition(text, *counts, chance)


def _conditions(space: Space, done: Sequence[Record]) -> Iterator[tuple[str, Bools]]:
    """Each half-line of a number between two tried values, each choice of the others."""
    points = [dict(record.point) for record in done]
    for name in space.names:
        axis = Axis.of(space, name)
        given = [point.get(name) for point in points]
        active = np.array([name in point for point in points])
        if axis.is_number:
            x = np.array([float(value) if value is not None else math.nan for value in given])
            yield from _half_lines(name, x, log=axis.scale().log)
            continue
        for code in range(axis.parameter.count or 0):
            value = axis.parameter.value(code)
            same = np.array(
                [a and axis.parameter.code(v) == code for a, v in zip(active, given, strict=True)]
            )
            yield f"{name} = {shown(value)}", same


def _half_lines(name: str, x: Array, *, log: bool) -> Iterator[tuple[str, Bools]]:
    levels = np.unique(x[np.isfinite(x)])
    for low, high in zip(levels[:-1].tolist(), levels[1:].tolist(), strict=True):
        middle = math.sqrt(low) * math.sqrt(high) if log else low / 2 + high / 2
        between = number(middle, 4)
        with np.errstate(invalid="ignore"):  # inactive values are nan and lie on neither side
            yield f"{name} above {between}", x > middle
            yield f"{name} below {between}", x < middle


def _gain(bad: Bools, inside: Bools) -> float:
    """The information, in nats a trial, that the condition has about failing."""
    share = float(np.mean(inside))
    parts = [(share, bad[inside]), (1.0 - share, bad[~inside])]
    rest = sum(weight * _entropy(float(np.mean(part))) for weight, part in parts if len(part))
    return _entropy(float(np.mean(bad))) - rest


def _entropy(p: float) -> float:
    return -sum(q * math.log(q) for q in (p, 1.0 - p) if q > 0.0)


def _by_chance(n: int, m: int, K: int, k: int) -> float:
    """P(at least k of the m failures among the K)."""
    ways = sum(math.comb(m, i) * math.comb(n - m, K - i) for i in range(k, min(m, K) + 1))
    return ways / math.comb(n, K)
