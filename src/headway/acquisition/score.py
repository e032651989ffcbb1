"""The score of a point, w_base log alpha(x) + w_local log H(x), with its gradient.

Notation: Z (m, d) encoded points, F = embed(Z) features, (mu, sigma) the model's moments at F.
alpha is a function of (mu, sigma) that returns its log and both derivatives; constraints add
log P(c <= 0) each (Gardner et al. 2014). The chain rule to Z is here and nowhere else: the first
features are the number columns as they are, so gradients in F are gradients in Z.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from headway.acquisition.local import LocalTerm
from headway.arrays import Array
from headway.space import Space
from headway.surrogate.gp import GP

Term = Callable[[Array, Array], tuple[Array, Array, Array]]  # mu, sigma -> value, d/dmu, d/dsigma

# A climb takes dozens of steps, each O(n^2) a start. With more data than this it is led by the
# nearest ones; where it ends is judged by all of them.
NEAR = 1000


@dataclass(frozen=True, slots=True)
class Score:
    """A sum of log-terms; each part is a GP with the function of its moments."""

    space: Space
    parts: tuple[tuple[GP, Term], ...]
    local: LocalTerm | None = None
    base_weight: float = 1.0
    local_weight: float = 1.0

    def value(self, Z: Array) -> Array:  # (m, d) -> (m,)
        F = self.space.embed(Z)
        total = np.zeros(len(Z))
        for gp, term in self.parts:
            total += term(*gp.predict(F))[0]
        total = self.base_weight * total
        if self.local is not None and self.local_weight:
            total = total + self.local_weight * self.local(Z)[0]
        return total

    def local_share(self, z: Array) -> float | None:  # (d,)
        """What the weighted local term adds at a point; None without one."""
        if self.local is None:
            return None
        return float(self.local_weight * self.local(z[None])[0][0])

    def near(self, Z: Array) -> Score:  # (m, d)
        """A score to climb with from these points: past NEAR data, on those nearest to them."""
        F = self.space.embed(Z)
        parts = tuple((gp.near(F, NEAR), term) for gp, term in self.parts)
        same = all(a[0] is b[0] for a, b in zip(parts, self.parts, strict=True))
        return self if same else replace(self, parts=parts)

    def with_gradient(self, Z: Array) -> tuple[Array, Array]:  # (m, d) -> (m,), (m, d)
        F, columns = self.space.embed(Z), list(self.space.number_columns)
        total, gradient = np.zeros(len(Z)), np.zeros_like(Z)
        for gp, term in self.parts:
            mu, sigma, d_mu, d_sigma = gp.predict_with_gradient(F, len(columns))
            value, by_mu, by_sigma = term(mu, sigma)
            total += value
            gradient[:, columns] += by_mu[:, None] * d_mu + by_sigma[:, None] * d_sigma
        total, gradient = self.base_weight * total, self.base_weight * gradient
        if self.local is not None and self.local_weight:
            value, slope = self.local(Z)
            total, gradient = (
                total + self.local_weight * value,
                gradient + self.local_weight * slope,
            )
        return total, gradient
