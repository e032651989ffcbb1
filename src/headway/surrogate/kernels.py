"""Stationary kernels as profiles of the squared scaled distance, with their first derivative.

Notation: r2 = sum_j (a_j - b_j)^2 / l_j^2 (any shape); a profile returns (k, dk/dr2), both of the
shape of r2, with k(0) = 1. A category enters as its one-hot code over sqrt(2), so that it adds
[a != b] / l^2: the Hamming distance inside a kernel that stays positive definite.

Matern kernels: Rasmussen and Williams (2006), eq. 4.17 with nu = 5/2, 3/2, 1/2; squared
exponential: their eq. 4.9.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
from scipy.spatial.distance import cdist

from headway.arrays import Array

Profile = Callable[[Array], tuple[Array, Array]]

# Below this distance sqrt(r2) would divide by zero in the derivative of Matern-1/2. Its product
# with the squared difference, which is what is used, is zero there either way.
_SMALLEST = 1e-150


def matern52(r2: Array) -> tuple[Array, Array]:
    s = np.sqrt(5.0 * r2)
    e = np.exp(-s)
    slope = (1.0 + s) * e
    return slope + (5.0 / 3.0) * r2 * e, (-5.0 / 6.0) * slope


def matern32(r2: Array) -> tuple[Array, Array]:
    s = np.sqrt(3.0 * r2)
    e = np.exp(-s)
    return (1.0 + s) * e, -1.5 * e


def matern12(r2: Array) -> tuple[Array, Array]:
    r = np.sqrt(r2)
    e = np.exp(-r)
    return e, -0.5 * e / np.maximum(r, _SMALLEST)


def rbf(r2: Array) -> tuple[Array, Array]:
    k = np.exp(-0.5 * r2)
    return k, -0.5 * k


PROFILES: Mapping[str, Profile] = MappingProxyType(
    {"matern52": matern52, "matern32": matern32, "matern12": matern12, "rbf": rbf}
)


def scaled_distances(
    A: Array,  # (m, D)
    B: Array,  # (n, D)
    lengthscales: Array,  # (D,)
) -> Array:  # (m, n)
    """Squared scaled distances, by differences: an expanded square loses digits of near points."""
    return np.asarray(cdist(A / lengthscales, B / lengthscales, "sqeuclidean"))
