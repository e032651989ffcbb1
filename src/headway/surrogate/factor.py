"""The Cholesky factor of a kernel matrix, in two blocks, so that adding a point costs O(n^2).

Notation: K (n, n) = L L^T,
    L = [[A, 0], [B, C]],  A (n0, n0) the factor at the last fit, B (b, n0), C (b, b) all that came
since. A is never copied: an extended factor shares it with the factor that it extends, and both
stay valid. Points are added one at a time, so the digits of a factor depend on the order of the
points and on n0 alone, not on how many came at once.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

import numpy as np

from headway.arrays import Array
from headway.surrogate.linalg import cholesky, product, triangle

logger = logging.getLogger("headway")

# Each step of the ladder loses a digit of the smallest eigenvalues; past 1e-4 the model is wrong.
_LADDER = (0.0, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4)


class NotPositiveDefinite(ArithmeticError):
    """A kernel matrix that no jitter of the ladder mends: the hyper-parameters are not usable."""


@dataclass(frozen=True, slots=True)
class Factor:
    """L in two blocks, and the jitter that was added to the diagonal of K to get it."""

    A: Array  # (n0, n0) lower, Fortran order
    B: Array  # (b, n0)
    C: Array  # (b, b) lower, Fortran order
    jitter: float

    @property
    def n(self) -> int:
        return len(self.A) + len(self.C)

    @property
    def log_det(self) -> float:
        """log det K."""
        diagonal = np.concatenate([np.diagonal(self.A), np.diagonal(self.C)])
        return 2.0 * float(np.sum(np.log(diagonal)))

    def lower(self, R: Array) -> Array:  # (n, m) -> (n, m)
        """L^-1 R."""
        n0 = len(self.A)
        if not len(self.C):
            return triangle(self.A, R)
        top = triangle(self.A, R[:n0])
        return np.concatenate([top, triangle(self.C, R[n0:] - product(self.B, top))])

    def upper(self, R: Array) -> Array:  # (n, m) -> (n, m)
        """L^-T R."""
        n0 = len(self.A)
        if not len(self.C):
            return triangle(self.A, R, transposed=True)
        bottom = triangle(self.C, R[n0:], transposed=True)
        return np.concatenate(
            [triangle(self.A, R[:n0] - product(self.B.T, bottom), transposed=True), bottom]
        )

    def solve(self, R: Array) -> Array:  # (n, m) -> (n, m)
        """K^-1 R."""
        return self.upper(self.lower(R))

    def extended(
        self,
        k: Array,  # (n,) covariance of the new point with the old ones
        kk: float,  # its own variance, noise included
    ) -> Factor:
        """The factor with one more point."""
        n0, b = len(self.A), len(self.C)
        row = self.lower(k[:, None])[:, 0]
        left = kk + self.jitter - float(row @ row)
        least = 1e-12 * kk
        jitter = self.jitter
        if left < least:  # the new point is a near-copy: its row is exact, its pivot is not
            logger.info("near-copy added to the factor: pivot %.1e raised to %.1e", left, least)
            left, jitter = least, max(jitter, least)
        C = np.zeros((b + 1, b + 1), order="F")
        C[:b, :b] = self.C
        C[b, :b] = row[n0:]
        C[b, b] = np.sqrt(left)
        return Factor(self.A, np.vstack([self.B, row[None, :n0]]), C, jitter)


def factorise(
    K: Array,  # (n, n) symmetric, noise on the diagonal
    scale: float,  # what the jitter is measured in: the outputscale
) -> Factor:
    """The factor of K, with the least jitter of the ladder that gives one."""
    n = len(K)
    for jitter in _LADDER:
        M = np.array(K.T, order="F")  # symmetric, and so a plain copy of the rows
        M[np.diag_indices(n)] += jitter * scale
        L = cholesky(M)
        if L is not None:
            if jitter:
                logger.info("kernel matrix of %d points needed jitter %.0e", n, jitter)
            return Factor(L, np.empty((0, n)), np.empty((0, 0), order="F"), jitter * scale)
    raise NotPositiveDefinite(f"kernel matrix of {n} points, outputscale {scale:.3g}")
