"""Space-filling points in the unit cube: the initial design, and what a search starts from."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.spatial.distance import cdist

from headway.arrays import Array
from headway.errors import SpaceExhausted
from headway.space import Space

ENUMERABLE = 2000  # a space of at most so many points is looked at whole
# Closer than this to a told or pending point (largest difference in the cube) is a copy of it.
COPY = 1e-8


def sobol(count: int, d: int, rng: np.random.Generator) -> Array:  # (count, d) in [0, 1)
    """The first points of a scrambled Sobol sequence (Owen 1998)."""
    from scipy.stats import qmc  # half a second to load, so only when the first point is asked

    power = int(np.ceil(np.log2(max(count, 2))))
    # `seed` is what scipy before 1.15 calls `rng`; the later ones take both.
    return np.asarray(qmc.Sobol(d, scramble=True, seed=rng).random_base2(power)[:count])


@lru_cache(maxsize=8)
def _lattice(power: int, d: int) -> Array:
    from scipy.stats import qmc

    return np.asarray(qmc.Sobol(d, scramble=False).random_base2(power))


def shifted_sobol(count: int, d: int, rng: np.random.Generator) -> Array:  # (count, d) in [0, 1)
    """Sobol points shifted at random, modulo 1 (Cranley and Patterson 1976).

    As even as scrambled ones and a hundred times cheaper, since the points are made once.
    """
    points = _lattice(int(np.ceil(np.log2(max(count, 2)))), d)[:count]
    return np.asarray((points + rng.random(d)) % 1.0)


def first_points(space: Space, rng: np.random.Generator, taken: Array, *, start: int) -> Array:
    """The next point of the initial design that no told or pending point copies: (d,)."""
    count = max(64, 2 * (start + 1))
    Z = space.from_unit(sobol(count, space.d, rng))
    order = np.roll(np.arange(count), -start)
    if len(taken):
        order = order[cdist(Z[order], taken, "chebyshev").min(axis=1) > COPY]
    if len(order):
        return np.asarray(Z[order[0]])
    return np.asarray(untaken(space, taken, rng)[0])


def untaken(space: Space, taken: Array, rng: np.random.Generator) -> Array:  # (m, d)
    """Points of the space that are no copies of taken ones; all of them if the space is small."""
    limit = max(ENUMERABLE, 4 * len(taken))
    if space.size is not None and space.size <= limit:
        Z = space.enumerate(limit)
    else:
        Z = space.from_unit(rng.random((limit, space.d)))
    if len(taken):
        Z = Z[cdist(Z, taken, "chebyshev").min(axis=1) > COPY]
    if not len(Z):
        raise SpaceExhausted("every point of the space has been proposed")
    return Z
