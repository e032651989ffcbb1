"""A Gaussian process that has seen data: an immutable value with moments, gradients and samples.

Notation: F (n, D) features, z (n,) standardised values, l (D,) length-scales, s2 outputscale,
k(a, b) = s2 phi(|A (a - b)|^2) with A = diag(1 / l) or a full metric,
K (n, n) = k(F, F) + diag(noise), alpha = K^-1 (z - m). Rasmussen and Williams (2006), eqs. 2.25 and
2.26 with a constant mean m, taken by generalised least squares (their eq. 2.42), under the prior
m ~ N(0, 1/tau):
m = 1^T K^-1 z / (1^T K^-1 1 + tau).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from headway.arrays import Array
from headway.surrogate.factor import Factor, factorise
from headway.surrogate.kernels import PROFILES, scaled_distances
from headway.surrogate.linalg import product


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel with its hyper-parameters."""

    name: str
    lengthscales: Array  # (D,) along each axis, the others held
    scale: float  # s2
    metric: Array | None = None  # (D, D) A; None: diag(1 / l)

    def __call__(self, F: Array, G: Array) -> Array:  # (m, D), (n, D) -> (m, n)
        return self.scale * PROFILES[self.name](self.squared_distances(F, G))[0]

    def with_slope(self, F: Array, G: Array) -> tuple[Array, Array]:
        """k and 2 dk/dr2, both (m, n): dk/df = (2 dk/dr2) A^T A (f - g)."""
        k, slope = PROFILES[self.name](self.squared_distances(F, G))
        return self.scale * k, (2.0 * self.scale) * slope

    def squared_distances(self, F: Array, G: Array) -> Array:  # (m, D), (n, D) -> (m, n)
        """r2."""
        if self.metric is None:
            return scaled_distances(F, G, self.lengthscales)
        A = self.metric
        return scaled_distances(product(F, A.T), product(G, A.T), np.ones(len(A)))

    def stretched(self, X: Array, columns: int) -> Array:  # (m, columns) -> (m, columns)
        """X A^T A in the first columns, which no other column mixes with."""
        if self.metric is None:
            return X / self.lengthscales[:columns] ** 2
        A = self.metric[:, :columns]
        return product(X, A.T @ A)

    def same_as(self, other: Kernel) -> bool:
        """Whether both give the same covariances, to the digit."""
        if (self.name, self.scale) != (other.name, other.scale):
            return False
        if self.metric is None or other.metric is None:
            straight = self.metric is other.metric
            return straight and np.array_equal(self.lengthscales, other.lengthscales)
        return np.array_equal(self.metric, other.metric)


@dataclass(frozen=True, slots=True)
class GP:
    """A Gaussian process conditioned on (F, z); `given` and `extended` make them."""

    kernel: Kernel
    F: Array  # (n, D)
    z: Array  # (n,)
    noise: Array  # (n,) variances
    tau: float
    factor: Factor
    mean: float
    alpha: Array  # (n,)

    @classmethod
    def given(
        cls,
        kernel: Kernel,
        F: Array,  # (n, D)
        z: Array,  # (n,)
        *,
        noise: Array,  # (n,)
        tau: float = 0.0,
    ) -> GP:
        """Condition on data, from nothing: O(n^3)."""
        K = kernel(F, F)
        K[np.diag_indices(len(K))] += noise
        return cls._of(kernel, F, z, noise, tau, factorise(K, kernel.scale))

    @classmethod
    def _of(
        cls, kernel: Kernel, F: Array, z: Array, noise: Array, tau: float, factor: Factor
    ) -> GP:
        solved = factor.solve(np.column_stack([z, np.ones(len(z))]))
        mean = float(np.sum(solved[:, 0])) / (float(np.sum(solved[:, 1])) + tau)
        alpha = solved[:, 0] - mean * solved[:, 1]
        return cls(kernel, F, z, noise, tau, factor, mean, alpha)

    def extended(
        self,
        F: Array,  # (b, D)
        *,
        noise: Array,  # (b,)
        z: Array | None = None,  # (n + b,) all values anew; None: believe the mean at F
    ) -> GP:
        """Condition on more points: O(b n^2). Believed values move no mean (Ginsbourger 2010)."""
        factor, seen = self.factor, self.F
        k = self.kernel(F, np.concatenate([self.F, F]))
        for i in range(len(F)):
            factor = factor.extended(k[i, : len(seen)], self.kernel.scale + float(noise[i]))
            seen = np.concatenate([seen, F[i : i + 1]])
        noise = np.concatenate([self.noise, noise])
        if z is not None:
            return GP._of(self.kernel, seen, z, noise, self.tau, factor)
        z = np.concatenate([self.z, self.predict(F)[0]])
        # A believed value has no residual left: alpha is zero there, and m stays what it was.
        alpha = np.concatenate([self.alpha, np.zeros(len(F))])
        return GP(self.kernel, seen, z, noise, self.tau, factor, self.mean, alpha)

    def with_values(self, z: Array) -> GP:  # (n,)
        """The same points with other values: O(n^2)."""
        return GP._of(self.kernel, self.F, z, self.noise, self.tau, self.factor)

    def near(self, F: Array, count: int) -> GP:  # (m, D)
        """Conditioned on the `count` points nearest to any of F alone, with the same mean."""
        if len(self.z) <= count:
            return self
        distance = self.kernel.squared_distances(F, self.F).min(axis=0)
        rows = np.sort(np.argpartition(distance, count)[:count])
        kept = GP.given(self.kernel, self.F[rows], self.z[rows], noise=self.noise[rows])
        alpha = kept.factor.solve((kept.z - self.mean)[:, None])[:, 0]
        return replace(kept, tau=self.tau, mean=self.mean, alpha=alpha)

    def posterior_mean(self, F: Array) -> Array:  # (m, D) -> (m,)
        """The mean alone, O(m n)."""
        return np.asarray(self.mean + self.kernel(F, self.F) @ self.alpha)

    def predict(self, F: Array) -> tuple[Array, Array]:  # (m, D) -> (m,), (m,)
        """Mean and standard deviation of f (without noise)."""
        k = self.kernel(F, self.F)
        V = self.factor.lower(k.T)
        return self.mean + k @ self.alpha, self._deviation(V)

    def predict_with_gradient(
        self,
        F: Array,  # (m, D)
        columns: int,  # gradients for the first so many features
    ) -> tuple[Array, Array, Array, Array]:  # (m,), (m,), (m, columns), (m, columns)
        """Mean, standard deviation, and their gradients."""
        k, slope = self.kernel.with_slope(F, self.F)
        V = self.factor.lower(k.T)
        beta = self.factor.upper(V).T  # (m, n) = k K^-1
        # Sums of slope_i w_i (x - X_i) as x sum(w) - w X keep their digits if the origin is near
        # the points that weigh most: those at the best value.
        origin = self.F[int(np.argmin(self.z)), :columns]
        X, x = self.F[:, :columns] - origin, F[:, :columns] - origin
        w = slope * self.alpha
        d_mu = self.kernel.stretched(x * np.sum(w, axis=1, keepdims=True) - w @ X, columns)
        w = slope * beta
        along = self.kernel.stretched(x * np.sum(w, axis=1, keepdims=True) - w @ X, columns)
        d_variance = -2.0 * along
        sigma = self._deviation(V)
        return self.mean + k @ self.alpha, sigma, d_mu, d_variance / (2.0 * sigma[:, None])

    def _deviation(self, V: Array) -> Array:  # (n, m) -> (m,)
        # The floor keeps log sigma finite where rounding ate the variance: eps times the prior's.
        variance = self.kernel.scale - np.einsum("nm,nm->m", V, V)
        return np.asarray(np.sqrt(np.maximum(variance, 1e-16 * self.kernel.scale)))

    def joint(self, F: Array) -> tuple[Array, Array]:  # (m, D) -> (m,), (m, m)
        """Mean and covariance of f at F together."""
        k = self.kernel(F, self.F)
        V = self.factor.lower(k.T)
        return self.mean + k @ self.alpha, self.kernel(F, F) - product(V.T, V)

    def sample(self, F: Array, count: int, rng: np.random.Generator) -> Array:  # -> (count, m)
        """Joint draws of f at F."""
        mean, covariance = self.joint(F)
        # Candidates beside data have almost no variance left; the ladder takes care of them.
        L = factorise(covariance, self.kernel.scale).A
        return np.asarray(mean + product(rng.standard_normal((count, len(F))), L.T))
