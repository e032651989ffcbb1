"""Triangular solves and products that stay on one thread while they are small.

numpy and scipy each bring a BLAS with its own pool of threads. For the small matrices of a
suggestion the pools get in each other's way: a product of a tenth of a millisecond then waits for
two, and much longer when a simulation keeps the other cores busy. Both libraries decide by the size
of a call, so small problems are done in pieces below their thresholds; large ones go whole and use
all threads. Nobody's thread count is changed. Measured by `make bench-speed`.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import blas, lapack

from headway.arrays import Array

# OpenBLAS shares out a triangular solve from 1024 right-hand elements on, a product from 2.6 * 10^5
# multiplications on.
_SOLVE_PIECE = 1_000
_PRODUCT_PIECE = 200_000
# From here on a second thread gains more than it costs: some 10 ms of one thread.
_LARGE = 50_000_000
# Pieces of fewer columns than this waste more than a second thread costs.
_NARROW = 4
# LAPACK factorises up to this size on one thread.
_BLOCK = 64


def triangle(
    L: Array,  # (n, n) lower, Fortran order
    R: Array,  # (n, m)
    *,
    transposed: bool = False,
) -> Array:  # (n, m)
    """L^-1 R, or L^-T R."""
    n, m = R.shape
    width = max(1, _SOLVE_PIECE // max(n, 1))
    if m <= width or n * n * m >= _LARGE:
        return np.asarray(blas.dtrsm(1.0, L, R, lower=1, trans_a=int(transposed)))
    out = np.array(R, order="F")
    for start in range(0, m, width):
        piece = out[:, start : start + width]
        piece[:] = blas.dtrsm(1.0, L, piece, lower=1, trans_a=int(transposed), overwrite_b=1)
    return out


def product(A: Array, B: Array) -> Array:  # (m, k), (k, n) -> (m, n)
    """A B."""
    (m, k), n = A.shape, B.shape[1]
    columns = max(1, _PRODUCT_PIECE // max(m * k, 1))
    if n <= columns:
        return np.asarray(A @ B)
    if columns < _NARROW or m * k * n >= _LARGE:
        return np.asarray(blas.dgemm(1.0, A, B))
    out = np.empty((m, n), order="F")
    for start in range(0, n, columns):
        out[:, start : start + columns] = A @ B[:, start : start + columns]
    return out


def inverse(L: Array) -> Array:  # (n, n) lower, Fortran order; may be overwritten
    """K^-1 = L^-T L^-1. LAPACK's own potri uses threads from n = 20 on."""
    n = len(L)
    if n <= _BLOCK or n**3 >= 3 * _LARGE:
        root = np.tril(lapack.dtrtri(L, lower=1, overwrite_c=1)[0])
    else:
        root = triangle(L, np.eye(n, order="F"))
    return product(root.T, root)


def cholesky(K: Array) -> Array | None:  # (n, n) lower, Fortran order; may be overwritten
    """L, lower, or None if K is not positive definite to working precision."""
    n = len(K)
    if n <= _BLOCK or n**3 >= 3 * _LARGE:
        L, info = lapack.dpotrf(K, lower=1, clean=1, overwrite_a=1)
        return None if info else np.asarray(L)
    L = np.zeros((n, n), order="F")
    for start in range(0, n, _BLOCK):
        end = min(start + _BLOCK, n)
        done = L[start:end, :start]
        corner = K[start:end, start:end] - product(done, done.T)
        corner, info = lapack.dpotrf(np.asfortranarray(corner), lower=1, clean=1, overwrite_a=1)
        if info:
            return None
        L[start:end, start:end] = corner
        if end < n:
            below = K[end:, start:end] - product(L[end:, :start], done.T)
            L[end:, start:end] = triangle(corner, below.T).T
    return L
