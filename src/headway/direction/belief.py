"""The belief about the optimum: where joint posterior samples have their minima.

Notation: Z (m, d) candidates, S (N, m) joint posterior samples of the objective on them,
x*_i = Z[argmin_j S_ij] (N, d) the sampled minimisers. Knows nothing of the model but its samples.

Two summaries: the direction of x*_i - x_t (the paper's theta-hat, kappa-hat; `vmf`), and the second
moment about the best point, which keeps the distance as well:
    C = mean (x*_i - x_best)(x*_i - x_best)^T + diag((0.1 l)^2),   shape = C / det(C)^(1/d).
The shape says along which directions the optimum may still lie; how far to look is the budget's
business. The floor of a tenth of a length-scale keeps C regular when few draws move.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headway.arrays import Array, Ints

_FLOOR = 0.1
_MINIMA = 16
_NEAR = 0.5  # of a length-scale: beyond it, points tell little of each other


@dataclass(frozen=True, slots=True)
class Belief:
    """The sampled minimisers, and the sampled minima with them."""

    minimisers: Array  # (N, d)
    minima: Array  # (N,)

    @classmethod
    def of(cls, Z: Array, S: Array) -> Belief:  # (m, d), (N, m)
        rows = np.argmin(S, axis=1)
        return cls(Z[rows], S[np.arange(len(S)), rows])

    def thinned_minima(self) -> Array:  # (<= 16,)
        """Evenly spaced quantiles of the minima: entropy search costs time for each."""
        levels = (np.arange(_MINIMA) + 0.5) / _MINIMA
        return np.asarray(np.unique(np.quantile(self.minima, levels)))

    def concentration(self, centre: Array, lengthscales: Array) -> float:
        """Share of the minimisers within half a length-scale of the centre in every column."""
        away = np.abs(self.minimisers - centre) / lengthscales
        return float(np.mean(np.max(away, axis=1) <= _NEAR))

    def shape(self, centre: Array, columns: Ints, lengthscales: Array) -> Array:
        """Second moment about the centre in these columns, with determinant 1: (c, c)."""
        away = self.minimisers[:, columns] - centre[columns]
        moment = away.T @ away / len(away) + np.diag((_FLOOR * lengthscales[columns]) ** 2)
        _, log_det = np.linalg.slogdet(moment)
        return np.asarray(moment * np.exp(-log_det / len(columns)))
