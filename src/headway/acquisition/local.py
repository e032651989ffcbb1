"""Local terms log H(x): what keeps the search near the best point, or in a direction from the last.

Notation: Z (m, d) encoded points, c the number columns, u = Z[:, c] - centre[c].

- Nearness: log H = -1/2 s u^T C^-1 u. C is the shape of the belief, s the size that the budget
  sets. A category adds nothing: held to the centre's choice, searches stayed in the wrong one.
- Heading: log H = log density of g = u / sqrt(|u|^2 + e^2) from the last point, a direction that is
  smooth at u = 0. The paper's H (Li and Yao, eq. for H_{t+1}) with e = 0 and a von Mises-Fisher
  density; its normaliser does not depend on x and stays off the path.

A column that is inactive, at the point or at the centre, adds nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from headway.arrays import Array, Bools, Ints
from headway.space import Space

# Below any log-acquisition that floats hold, and still a number.
_OUT = -1e12


class LocalTerm(Protocol):
    def __call__(self, Z: Array) -> tuple[Array, Array]:  # (m, d) -> (m,), (m, d)
        ...


def _offset(space: Space, Z: Array, centre: Array, columns: Ints) -> tuple[Array, Bools]:
    """u, and where it counts, (m, c) each: a column must be active on both sides."""
    both = space.active(Z)[:, columns] & space.active(centre[None])[:, columns]
    return np.where(both, Z[:, columns] - centre[columns], 0.0), both


@dataclass(frozen=True, slots=True)
class Nearness:
    """A Gaussian about the centre in the numbers; a change of category costs nothing by itself."""

    space: Space
    centre: Array  # (d,)
    columns: Ints  # (c,) number columns
    precision: Array  # (c, c) s C^-1

    def __call__(self, Z: Array) -> tuple[Array, Array]:
        u, both = _offset(self.space, Z, self.centre, self.columns)
        pull = u @ self.precision
        value = -0.5 * np.einsum("mc,mc->m", pull, u)
        gradient = np.zeros_like(Z)
        gradient[:, self.columns] = np.where(both, -pull, 0.0)
        return value, gradient


@dataclass(frozen=True, slots=True)
class SameChoices:
    """A local term where the categories are the centre's; elsewhere out of the question."""

    term: LocalTerm
    centre: Array  # (d,)
    columns: Ints  # (b,) category columns

    def __call__(self, Z: Array) -> tuple[Array, Array]:
        value, gradient = self.term(Z)
        return np.where(self.hold(Z), value, _OUT), gradient

    def hold(self, Z: Array) -> Bools:  # (m, d) -> (m,)
        """Which points have the centre's categories."""
        return np.asarray(np.all(Z[:, self.columns] == self.centre[self.columns], axis=1))


@dataclass(frozen=True, slots=True)
class Heading:
    """A density over directions from the origin, which fades within `smoothing` of it."""

    space: Space
    origin: Array  # (d,)
    columns: Ints  # (c,)
    log_density: Callable[[Array], tuple[Array, Array]]  # (m, c) -> (m,), (m, c)
    smoothing: float

    def __call__(self, Z: Array) -> tuple[Array, Array]:
        u, both = _offset(self.space, Z, self.origin, self.columns)
        length = np.sqrt(np.einsum("mc,mc->m", u, u) + self.smoothing**2)[:, None]
        g = u / length
        value, slope = self.log_density(g)
        gradient = np.zeros_like(Z)
        along = np.einsum("mc,mc->m", slope, g)[:, None]
        gradient[:, self.columns] = np.where(both, (slope - along * g) / length, 0.0)
        return value, gradient
