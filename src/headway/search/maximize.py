"""The argmax of a score over a space: where it is looked for, and how ties and copies are settled.

Notation: Z (m, d) encoded points, a score maps them to (m,) and gives gradients (m, d) that count
in the continuous columns. What is looked at: Sobol points and points around the centre at several
scales and in few coordinates, in one call; then climbs from the best and from draws in proportion
to exp(score) (the Gumbel trick, without replacement), all starts in one call a step; where there
are discrete columns, the best neighbour of each start and another climb, in turn. On a space of at
most `ENUMERABLE` points every point is looked at.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from scipy.spatial.distance import cdist

from headway.arrays import Array, Bools, Ints
from headway.ascent import climb
from headway.search.design import COPY, ENUMERABLE, shifted_sobol, untaken
from headway.space import Space

# Perturbations of the centre, in length-scales: from next door to the last digits.
_SCALES = 10.0 ** np.linspace(0.0, -4.0, 9)
_STALL = 1e-6  # a gain of log-acquisition below this ends a climb
_ROUNDS = 4  # of neighbours and climbs on mixed spaces; few need more than two


class Score(Protocol):
    """What is maximised; `near` gives one that is cheap to climb with from given points."""

    def near(self, Z: Array) -> Score:  # (m, d)
        ...

    def value(self, Z: Array) -> Array:  # (m, d) -> (m,)
        ...

    def with_gradient(self, Z: Array) -> tuple[Array, Array]:  # (m, d) -> (m,), (m, d)
        ...


@dataclass(frozen=True, slots=True)
class Search:
    """Where to look: a space, a centre, a region, points not to be copied, and how hard to look."""

    space: Space
    centre: Array  # (d,)
    metric: Array  # (d,) length-scales in the cube
    taken: Array  # (t, d) told and pending points
    low: Array  # (d,) the region, for continuous and grid columns
    high: Array  # (d,)
    raw: int  # how many points are looked at before climbing
    starts: int
    iterations: int
    repeats: bool = False  # a noisy objective may be asked the same point again

    @property
    def numbers(self) -> Bools:  # (d,)
        """The columns with a scale: all but categories."""
        mask = np.zeros(self.space.d, dtype=bool)
        mask[list(self.space.number_columns)] = True
        return mask

    def within(self, region: tuple[Array, Array] | None) -> Search:
        """The same search held to a region."""
        return self if region is None else replace(self, low=region[0], high=region[1])


@dataclass(frozen=True, slots=True)
class Found:
    z: Array  # (d,)
    value: float


def maximize(score: Score, search: Search, rng: np.random.Generator) -> Found:
    """The best point of the score that is no copy of a taken one."""
    space = search.space
    if space.size is not None and space.size <= ENUMERABLE:
        Z = space.enumerate(ENUMERABLE)
        Z = Z[_inside(search, Z) & _new(search, Z)]
        Z = Z if len(Z) else untaken(space, search.taken, rng)
        value = score.value(Z)
        best = int(np.argmax(value))
        return Found(Z[best], float(value[best]))
    Z = candidates(search, rng, search.raw)
    value = score.value(Z)
    rows = _choose_starts(value, search.starts, rng)
    X, at = _improve(score, search, Z[rows])
    # Climbs may all end on taken points; the raw points then stand in, best first.
    for points, values in ((X, at), (Z, value)):
        new = np.flatnonzero(_new(search, points) & np.isfinite(values))
        if len(new):
            best = new[int(np.argmax(values[new]))]
            return Found(points[best], float(values[best]))
    fresh = untaken(space, search.taken, rng)
    return Found(fresh[0], float(score.value(fresh[:1])[0]))


def candidates(search: Search, rng: np.random.Generator, count: int) -> Array:  # (about count, d)
    """Half spread over the region, half around the centre."""
    space = search.space
    Z = space.from_unit(shifted_sobol(count // 2, space.d, rng))
    numbers = Z >= 0.0
    Z = np.where(numbers & search.numbers, search.low + Z * (search.high - search.low), Z)
    near = _around(search, rng, count - len(Z))
    return space.snap(np.concatenate([Z, near]))


def _around(search: Search, rng: np.random.Generator, count: int) -> Array:  # (count, d)
    """Perturbations of the centre: every scale, all coordinates or a few of them."""
    d, centre = search.space.d, search.centre
    scale = _SCALES[np.arange(count) % len(_SCALES)][:, None]
    # Half move all coordinates; the others one to three on average, at least one.
    share = np.where(np.arange(count) % 2 == 0, 1.0, min(1.0, 2.0 / d))[:, None]
    moved = rng.random((count, d)) < share
    moved[np.arange(count), rng.integers(d, size=count)] = True
    numbers = search.numbers
    step = scale * search.metric * rng.standard_normal((count, d))
    Z = np.clip(centre + np.where(moved, step, 0.0), search.low, search.high)
    others = search.space.from_unit(rng.random((count, d)))
    # A category has no scale: it is drawn anew when it moves, seldom when all coordinates move.
    redrawn = moved & ((share < 1.0) | (rng.random((count, d)) < 1.0 / d))
    return np.where(numbers, Z, np.where(redrawn, others, centre))


def _choose_starts(value: Array, count: int, rng: np.random.Generator) -> Ints:
    """The best point, and draws in proportion to exp(score) among the others."""
    value = np.where(np.isfinite(value), value, -np.inf)
    keys = value + rng.gumbel(size=len(value))
    keys[int(np.argmax(value))] = np.inf
    return np.argsort(-keys, kind="stable")[:count]


def _improve(score: Score, search: Search, Z: Array) -> tuple[Array, Array]:
    """Climb in the continuous columns, step in the discrete ones, until neither gains."""
    exact, score = score, score.near(Z)
    Z, value = _climb(score, search, Z)
    if not np.all(search.space.continuous):
        Z, value = _step_and_climb(score, search, Z, value)
    return Z, value if score is exact else exact.value(Z)


def _step_and_climb(score: Score, search: Search, Z: Array, value: Array) -> tuple[Array, Array]:
    for _ in range(_ROUNDS):
        moves = [search.space.neighbours(z) for z in Z]
        counts = [len(move) for move in moves]
        if not sum(counts):
            break
        N = np.concatenate(moves)
        at = score.value(N)
        at = np.where(_inside(search, N) & _new(search, N), at, -np.inf)
        better = np.zeros(len(Z), dtype=bool)
        for row, (stop, size) in enumerate(zip(np.cumsum(counts), counts, strict=True)):
            if size and np.max(at[stop - size : stop]) > value[row]:
                Z[row] = N[stop - size + int(np.argmax(at[stop - size : stop]))]
                better[row] = True
        if not np.any(better):
            break
        Z[better], value[better] = _climb(score, search, Z[better])
    return Z, value


def _climb(score: Score, search: Search, Z: Array) -> tuple[Array, Array]:
    space = search.space
    columns = np.flatnonzero(space.continuous)
    if not len(columns):
        return Z, score.value(Z)
    active = space.active(Z)[:, columns]

    def function(X: Array, rows: Ints) -> tuple[Array, Array]:
        points = Z[rows].copy()
        points[:, columns] = X
        value, gradient = score.with_gradient(points)
        return value, np.where(active[rows], gradient[:, columns], 0.0)

    X, value = climb(
        function,
        Z[:, columns],
        low=search.low[columns],
        high=search.high[columns],
        metric=search.metric[columns],
        iterations=search.iterations,
        stall=_STALL,
    )
    points = Z.copy()
    points[:, columns] = np.where(active, X, Z[:, columns])
    return points, value


def _inside(search: Search, Z: Array) -> Bools:
    inside = (search.low - 1e-12 <= Z) & (search.high + 1e-12 >= Z)
    return np.asarray(np.all(inside | ~search.numbers | ~search.space.active(Z), axis=1))


def _new(search: Search, Z: Array) -> Bools:
    """Which points are no copies of taken ones."""
    if not len(search.taken) or (search.repeats and search.space.size is not None):
        return np.ones(len(Z), dtype=bool)
    return np.asarray(cdist(Z, search.taken, "chebyshev").min(axis=1) > COPY)
