"""Which parameters matter: Sobol indices of a function over the whole space.

Notation: u (d,) independent uniform numbers, f(Space.from_unit(u)) the function, V its variance;
A, B (n, d) two independent samples, AB_j the sample A with column j from B.

    first_j = mean f(B) (f(AB_j) - f(A)) / V          Saltelli et al. (2010), table 2 (b)
    total_j = mean (f(A) - f(AB_j))^2 / (2 V)         Jansen (1999)

first_j is the share of V that parameter j explains alone, total_j the share that goes when all
others are known: the two differ by its interactions. Categories count as any parameter does, since
`from_unit` gives each its share of u. A conditional parameter has a u of its own, without effect
where it is inactive; switching it on and off is an effect of its parent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from headway.arrays import Array
from headway.search.design import shifted_sobol
from headway.space import Space

# Below this share of the largest square a variance is rounding.
_FLAT = 1e-24


@dataclass(frozen=True, slots=True)
class Importance:
    """The indices of each parameter, in the order of the space; zeros where f is constant."""

    names: tuple[str, ...]
    first: Array  # (d,)
    total: Array  # (d,)
    error: Array  # (d,) standard error of `total`, as if the sample were random

    @property
    def order(self) -> list[str]:
        """The names, those that matter most first."""
        rows = np.argsort(-self.total, kind="stable")
        return [self.names[row] for row in rows]


def sobol_indices(
    f: Callable[[Array], Array],  # (m, d) encoded points -> (m,)
    space: Space,
    *,
    count: int,
    rng: np.random.Generator,
) -> Importance:
    """The indices from count * (d + 2) values of f."""
    d = space.d
    U = shifted_sobol(count, 2 * d, rng)
    A, B = U[:, :d], U[:, d:]
    a, b = f(space.from_unit(A)), f(space.from_unit(B))
    centre = np.mean(np.concatenate([a, b]))
    a, b = a - centre, b - centre
    variance = float(np.mean(np.concatenate([a, b]) ** 2))
    first, total, error = np.zeros(d), np.zeros(d), np.zeros(d)
    if variance > _FLAT * max(centre**2, 1e-300):
        for j in range(d):
            mixed = A.copy()
            mixed[:, j] = B[:, j]
            m = f(space.from_unit(mixed)) - centre
            halves = (a - m) ** 2 / (2.0 * variance)
            first[j] = np.mean(b * (m - a)) / variance
            total[j] = np.mean(halves)
            error[j] = np.std(halves) / np.sqrt(count)
    return Importance(space.names, first, total, error)
