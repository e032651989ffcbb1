"""Hyper-parameters by maximum evidence, with hand-written gradients.

Notation: p parameters of the space with a length-scale each (or one for all), n observations;
theta = (log l_1 .. log l_p or one log l, log s2[, log noise]);
P (p, n(n-1)/2) squared differences of every pair, by parameter;
W = alpha alpha^T - K^-1.

Evidence: Rasmussen and Williams (2006), eqs. 5.8 and 5.9, d log p / d theta = 1/2 tr(W dK). The
mean m is the generalised least squares one at every theta, so by the envelope theorem it adds
nothing to the gradient. Priors: log l ~ N(log 0.8 + 1/2 log(max(d, 3) / 3), 1.2^2): distances grow
with the square root of the dimension, and so does the scale (Hvarfner, Hellsten and Nardi 2024);
m ~ N(0, 1) in standardised units, which only matters when the data leave the mean open.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import lapack
from scipy.spatial.distance import pdist, squareform

from headway.arrays import Array, Ints
from headway.ascent import climb
from headway.surrogate.kernels import PROFILES
from headway.surrogate.linalg import cholesky, inverse, product

logger = logging.getLogger("headway")

# Wide, and rather long: maximum evidence shortens a length-scale readily where the data say so.
PRIOR_MEDIAN, PRIOR_WIDTH = 0.8, 1.2
# Four widths of the prior to each side; without priors, from a thousandth of the cube to a
# function that is flat in that direction.
_PRIOR_REACH = 4.0 * PRIOR_WIDTH
_FREE_LENGTHSCALES = (np.log(1e-3), np.log(1e3))
SCALES = (np.log(1e-3), np.log(1e6))
NOISES = (np.log(1e-6), np.log(2.0))
_NOISE_START = 0.1  # where a fitted noise starts: from much less, climbs end in short length-scales
# A gain of evidence below this changes no decision; the last digits cost half the time.
_STALL = 1e-4
# Fisher's information costs as much as p evaluations, and grows with n^3 as they do.
_INFORMED = 200
_LEAST_INFORMATION = 1e-3
STRIDE = 4.0  # in log units: length-scales differ by orders of magnitude
# Evidence of a matrix that cannot be factorised: worse than any other, still a number for the
# line search.
HOPELESS = 1e10
FAILED = -0.5 * HOPELESS  # evidence below this is of no fit, whatever its Jacobian


@dataclass(frozen=True, slots=True)
class Hyper:
    """What maximum evidence finds, in plain numbers (they are stored with each trial)."""

    lengthscales: tuple[float, ...]  # (p,), or one for all
    scale: float
    noise: float  # variance in standardised units, the floor included
    metric: tuple[tuple[float, ...], ...] = ()  # (c, c) A of `metric.py`; empty: the axes alone

    def to_json(self) -> dict[str, Any]:
        data = {"l": list(self.lengthscales), "s2": self.scale, "noise": self.noise}
        return {**data, "A": [list(row) for row in self.metric]} if self.metric else data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Hyper:
        metric = tuple(tuple(row) for row in data.get("A", ()))
        return cls(tuple(data["l"]), float(data["s2"]), float(data["noise"]), metric)


@dataclass(frozen=True, slots=True)
class Evidence:
    """log p(z | theta) plus the log priors, as a function of theta with its gradient."""

    kernel: str
    P: Array  # (p, pairs)
    z: Array  # (n,)
    noise: Array | None  # (n,) known variances, or None: fitted
    prior: float | None  # the prior's mean of log l, None without priors
    flat: Ints  # (pairs,) where each pair (i < j) stands in a raveled (n, n)

    @classmethod
    def of(
        cls,
        kernel: str,
        F: Array,  # (n, D)
        z: Array,  # (n,)
        *,
        groups: tuple[int, ...],  # (D,) the parameter of each feature
        ard: bool,
        priors: bool,
        noise: Array | None,
    ) -> Evidence:
        n, p = len(z), max(groups) + 1
        by_feature = [pdist(F[:, [j]], "sqeuclidean") for j in range(F.shape[1])]
        P = np.zeros((p if ard else 1, n * (n - 1) // 2))
        for j, group in enumerate(groups):
            P[group if ard else 0] += by_feature[j]
        row, column = np.triu_indices(n, 1)
        prior = prior_mean(p) if priors else None
        return cls(kernel, P, z, noise, prior, np.asarray(row * n + column, dtype=np.intp))

    @property
    def tau(self) -> float:
        """Precision of the prior on the mean."""
        return 0.0 if self.prior is None else 1.0

    def bounds(self) -> list[tuple[float, float]]:
        lengthscales = _FREE_LENGTHSCALES
        if self.prior is not None:
            lengthscales = (self.prior - _PRIOR_REACH, self.prior + _PRIOR_REACH)
        tail = [SCALES] if self.noise is not None else [SCALES, NOISES]
        return [lengthscales] * len(self.P) + tail

    def value(self, theta: Array) -> tuple[float, Array]:
        """Evidence and its gradient; one factorisation, O(n^3)."""
        p = len(self.P)
        weights, scale, noise = self._read(theta)
        found = self.weighed(scale, weights @ self.P, noise)
        if found is None:
            return -HOPELESS, np.zeros(len(theta))
        value, pull, by_logs = found
        gradient = np.concatenate([-2.0 * weights * (self.P @ pull), by_logs])
        if self.prior is not None:
            away = (theta[:p] - self.prior) / PRIOR_WIDTH
            value -= 0.5 * float(away @ away)
            gradient[:p] -= away / PRIOR_WIDTH
        return value, gradient

    def weighed(
        self, scale: float, r2: Array, noise: Array
    ) -> tuple[float, Array, Array] | None:  # r2 (pairs,), noise (n,)
        """Evidence without the prior, its slope by each pair's r2, and by log s2[, log noise]."""
        n = len(self.z)
        phi, slope = PROFILES[self.kernel](r2)
        L = self._factor(scale, phi, noise)
        if L is None:
            return None
        both, _ = lapack.dpotrs(L, np.column_stack([self.z, np.ones(n)]), lower=1)
        mean = float(np.sum(both[:, 0])) / (float(np.sum(both[:, 1])) + self.tau)
        alpha = both[:, 0] - mean * both[:, 1]
        log_det = 2.0 * float(np.sum(np.log(np.diagonal(L))))
        value = -0.5 * float((self.z - mean) @ alpha) - 0.5 * log_det - 0.5 * n * np.log(2 * np.pi)
        value -= 0.5 * self.tau * mean**2

        full = np.outer(alpha, alpha) - inverse(L)
        W, W_diagonal = full.ravel()[self.flat], np.diagonal(full)
        by_logs = [scale * (float(W @ phi) + 0.5 * float(np.sum(W_diagonal)))]
        if self.noise is None:
            by_logs.append(0.5 * noise[0] * float(np.sum(W_diagonal)))
        return value, scale * W * slope, np.array(by_logs)

    def _read(self, theta: Array) -> tuple[Array, float, Array]:
        """1 / l^2 (p,), s2 and the noise (n,) of theta."""
        n, p = len(self.z), len(self.P)
        noise = np.full(n, np.exp(theta[p + 1])) if self.noise is None else self.noise
        return np.exp(-2.0 * theta[:p]), float(np.exp(theta[p])), noise

    def _factor(self, scale: float, phi: Array, noise: Array) -> Array | None:
        """The Cholesky factor of K, or None."""
        n = len(self.z)
        K = np.empty((n, n))
        K.ravel()[self.flat] = scale * phi
        K.ravel()[:: n + 1] = scale + noise
        # Row order with the upper half filled is Fortran order with the lower half filled.
        return cholesky(K.T)

    def information(self, theta: Array) -> Array:  # (q,) -> (q, q)
        """Fisher's information 1/2 tr(K^-1 dK_i K^-1 dK_j), plus the priors' precision.

        The expected curvature of -evidence (Rasmussen and Williams 2006, eq. 5.10 without its
        first term): climbs that start with it take a third of the steps.
        """
        n, p = len(self.z), len(self.P)
        weights, scale, noise = self._read(theta)
        phi, slope = PROFILES[self.kernel](weights @ self.P)
        L = self._factor(scale, phi, noise)
        if L is None:
            return np.eye(len(theta))
        changes = [squareform(-2.0 * scale * weights[j] * self.P[j] * slope) for j in range(p)]
        changes.append(squareform(scale * phi) + scale * np.eye(n))
        if self.noise is None:
            changes.append(np.diag(noise))
        inverted = inverse(L)
        M = np.stack([product(inverted, change) for change in changes])
        flat, turned = M.reshape(len(M), -1), M.transpose(0, 2, 1).reshape(len(M), -1)
        found = 0.5 * product(flat, turned.T)
        found[np.diag_indices(p)] += 1.0 / PRIOR_WIDTH**2
        return found + _LEAST_INFORMATION * np.eye(len(found))

    def theta(self, hyper: Hyper) -> Array:
        """theta of stored hyper-parameters."""
        values = [*hyper.lengthscales, hyper.scale]
        if self.noise is None:
            values.append(hyper.noise or _NOISE_START)
        low, high = np.array(self.bounds()).T
        return np.clip(np.log(values), low, high)

    def starts(self, warm: Hyper | None, *, thorough: bool) -> list[Array]:
        """Where to climb from: the last fit, the prior's mean, and shorter scales when thorough."""
        p, tail = len(self.P), [0.0] if self.noise is not None else [0.0, np.log(_NOISE_START)]
        middle = self.prior if self.prior is not None else np.log(0.3)
        fresh = [np.array([middle + shift] * p + tail) for shift in (0.0, -1.0)]
        if warm is None:
            return fresh
        return [self.theta(warm), *(fresh[:1] if thorough else [])]


def prior_mean(d: int) -> float:
    """Mean of log l under the prior, for d parameters."""
    return float(np.log(PRIOR_MEDIAN) + 0.5 * np.log(max(d, 3) / 3.0))


def maximise(evidence: Evidence, starts: list[Array]) -> tuple[Hyper, float]:
    """The best of the climbs from every start, and its evidence."""

    def function(theta: Array, _: Ints) -> tuple[Array, Array]:
        pairs = [evidence.value(row) for row in theta]
        return np.array([value for value, _ in pairs]), np.array([slope for _, slope in pairs])

    low, high = np.array(evidence.bounds()).T
    theta, values = climb(
        function,
        np.array(starts),
        low=low,
        high=high,
        metric=np.full(len(low), STRIDE),
        iterations=60,
        stall=_STALL,
        curvature=np.stack([evidence.information(start) for start in starts])
        if len(evidence.z) <= _INFORMED
        else None,
    )
    best = int(np.argmax(values))
    value, theta = float(values[best]), theta[best]
    if value <= -HOPELESS:
        logger.warning("no start of the evidence could be factorised; taking the prior's mean")
        middle = evidence.prior if evidence.prior is not None else np.log(0.3)
        hyper = Hyper((float(np.exp(middle)),) * len(evidence.P), 1.0, 1e-6)
        return hyper, -HOPELESS
    p = len(evidence.P)
    noise = float(np.exp(theta[p + 1])) if evidence.noise is None else 0.0
    return Hyper(tuple(np.exp(theta[:p]).tolist()), float(np.exp(theta[p])), noise), value
