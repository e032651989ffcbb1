"""The von Mises-Fisher (vMF) family of directions, in logs where a plain value would overflow.

Notation: g (d,) a unit vector; theta (d,) the mean direction; kappa >= 0 the concentration; G
(m, d) directions, one a row; R in [0, 1] the length of a mean of unit vectors; nu = d/2 - 1.

    density(g) = exp(kappa theta.g) / c_d(kappa),   c_d(y) = (2 pi)^(d/2) I_nu(y) / y^nu
    E g = A_d(kappa) theta,                         A_d = (log c_d)' = I_{d/2} / I_{d/2-1}
    A_d^-1(R) ~ R (d - R^2) / (1 - R^2)             Banerjee et al. (2005), eq. 4.4

In d = 1 the sphere is {-1, +1}, c_1 = 2 cosh, A_1 = tanh.

How the Bessel functions are found: I_nu underflows in high d, and the continued fraction of A_d
takes about kappa steps. So there are two ranges of s = sqrt(nu^2 + y^2), each good to about 1e-14:
s < 30: the power series, c_d(y)/c_d(0) = sum_k (y^2/4)^k / (k! (nu+1)_k), all terms positive;
else:   the uniform expansion (Olver 1954; NIST DLMF 10.41.3) written in 1/s, good for every nu:
        log c_d = (d-1)/2 log 2 pi + s - nu log(nu + s) - 1/2 log s + log(1 + U(1/s)).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from headway.arrays import Array
from headway.errors import InvalidInput

_LOG_2PI = math.log(2.0 * math.pi)
# The uniform expansion's first term left out is below 1e-15 from here on (at nu = 0, its worst).
_SERIES_UP_TO = 30.0
_OLVER_TERMS = 13
# The elevation's window holds a bell or an exponential decay of up to 60 e-folds.
_TAIL_NODES = 32
# Sampled minimisers on few candidates often all agree, which would make kappa infinite. At this R
# kappa is about 5e5 (d - 1): the density falls by e within a tenth of a degree, a ray for any use.
R_MAX = 1.0 - 1e-6


Numbers: TypeAlias = Array | float


def _check_dimension(d: int) -> None:
    if d < 1:
        raise InvalidInput(f"dimension d = {d}: a sphere of directions needs d >= 1.")


def _log_area(d: int) -> float:
    """log c_d(0), the surface of the sphere."""
    return math.log(2.0) + 0.5 * d * math.log(math.pi) - math.lgamma(0.5 * d)


@functools.cache
def _series_coefficients(d: int, largest: float) -> tuple[float, ...]:
    """1 / (k! (d/2)_k) for k = 1, 2, ... until a term at q = largest is below rounding."""
    terms: list[float] = []
    coefficient, term, total = 1.0, 1.0, 1.0
    while not terms or term > 1e-17 * total:
        k = len(terms) + 1
        coefficient /= k * (0.5 * d + k - 1.0)
        term *= largest / (k * (0.5 * d + k - 1.0))
        total += term
        terms.append(coefficient)
    return tuple(terms)


@functools.cache
def _olver_coefficients(d: int) -> tuple[float, tuple[float, ...]]:
    """(scale, a): U(1/s) = sum_k a_k (scale/s)^(k+1), from u_k of DLMF 10.41.9 at p = nu/s."""
    nu = 0.5 * d - 1.0
    scale = max(nu, _SERIES_UP_TO)
    total = np.zeros(3 * _OLVER_TERMS + 1)
    u = np.array([1.0])
    for k in range(1, _OLVER_TERMS + 1):
        following = np.zeros(len(u) + 3)
        n = np.arange(len(u), dtype=float)
        following[1:-2] += u * (0.5 * n + 0.125 / (n + 1.0))
        following[3:] -= u * (0.5 * n + 0.625 / (n + 3.0))
        u = following
        powers = np.arange(k, len(u))  # u_k(p) / nu^k: the power p^n gives nu^(n-k) s^-n
        total[powers] += u[powers] * (nu / scale) ** (powers - k) * scale ** (-float(k))
    keep = np.nonzero(np.abs(total) > 1e-18)[0][-1] + 1
    return scale, tuple(total[1:keep].tolist())


def _horner(coefficients: tuple[float, ...], x: Numbers) -> Numbers:
    """sum_k coefficients_k x^k; a plain float stays one, which is ten times as fast."""
    total = coefficients[-1] + 0.0 * x
    for c in coefficients[-2::-1]:
        total = total * x + c
    return total


def _bucket(q: Numbers) -> float:
    """A power of four above every q, so that few series lengths are ever needed."""
    largest = max(float(np.max(q)), 0.25)
    return float(4.0 ** math.ceil(0.5 * math.log2(largest)))


def _log_c_series(y: Numbers, d: int) -> Array:
    q = 0.25 * y * y
    rest = q * _horner(_series_coefficients(d, _bucket(q)), q)
    return np.asarray(_log_area(d) + np.log1p(rest))


def _log_c_olver(y: Numbers, d: int) -> Array:
    nu = 0.5 * d - 1.0
    s = np.hypot(nu, y)
    scale, a = _olver_coefficients(d)
    w = scale / s
    tail = np.log1p(w * _horner(a, w))
    return np.asarray(0.5 * (d - 1) * _LOG_2PI + s - nu * np.log(nu + s) - 0.5 * np.log(s) + tail)


def _mean_series(y: Numbers, d: int) -> Array:
    q = 0.25 * y * y
    top = _horner(_series_coefficients(d + 2, _bucket(q)), q)
    bottom = _horner(_series_coefficients(d, _bucket(q)), q)
    return np.asarray(y / d * (1.0 + q * top) / (1.0 + q * bottom))


def _mean_olver(y: Numbers, d: int) -> Array:
    nu = 0.5 * d - 1.0
    s = np.hypot(nu, y)
    scale, a = _olver_coefficients(d)
    w = scale / s
    slope = _horner(tuple(k * c for k, c in enumerate(a, 1)), w)  # scale^-1 dU/d(1/s)
    tail = w * w * slope / (scale * (1.0 + w * _horner(a, w)))
    return np.asarray((y / s) * (s / (nu + s) - 0.5 / s - tail))


def _in_range(
    series: Callable[[Numbers, int], Array],
    olver: Callable[[Numbers, int], Array],
    kappa: Array | float,
    d: int,
) -> Array:
    """Each value by the expansion that is good for it."""
    y = np.asarray(kappa, dtype=float)
    near = np.hypot(0.5 * d - 1.0, y) < _SERIES_UP_TO
    if y.ndim == 0:
        return (series if near else olver)(float(y), d)
    if near.all():
        return series(y, d) if y.size else np.zeros(y.shape)
    if not near.any():
        return olver(y, d)
    out = np.empty_like(y)
    out[near] = series(y[near], d)
    out[~near] = olver(y[~near], d)
    return out


def log_partition(kappa: Array | float, d: int) -> Array:
    """log c_d(kappa) = log of the integral of exp(kappa theta.g) over the sphere."""
    _check_dimension(d)
    if d == 1:
        return np.asarray(np.logaddexp(kappa, np.negative(kappa)))
    return _in_range(_log_c_series, _log_c_olver, kappa, d)


def mean_length(kappa: Array | float, d: int) -> Array:
    """A_d(kappa), the length of the mean of a vMF direction; its relative error is small too."""
    _check_dimension(d)
    if d == 1:
        return np.asarray(np.tanh(kappa))
    return _in_range(_mean_series, _mean_olver, kappa, d)


def log_normaliser(kappa: Array | float, d: int) -> Array:
    """Log of the factor that makes exp(kappa theta.g) a density: -log c_d(kappa)."""
    return np.asarray(-log_partition(kappa, d))


def _mean_length_slope(kappa: float, length: float, d: int) -> float:
    """A_d'(kappa) = 1 - A^2 - (d - 1) A / kappa, or an approximation where that cancels."""
    if kappa < 1e-4:
        return 1.0 / d
    if kappa < 1e4:
        return 1.0 - length * length - (d - 1) * length / kappa
    a = 0.5 * (d - 1)
    s = math.sqrt(a * (a + 1.0) + kappa * kappa)
    return (a + a * (a + 1.0) / s) / (a + s) ** 2


def banerjee(R: float, d: int) -> float:
    """The paper's approximation of A_d^-1(R): at most 6 % high at d = 2, closer as d grows."""
    _check_length(R)
    return R * (d - R * R) / ((1.0 - R) * (1.0 + R))


def concentration(R: float, d: int) -> float:
    """A_d^-1(R) to the precision that R allows (1 - R is known to 1e-16, kappa ~ d/2 / (1 - R))."""
    _check_length(R)
    _check_dimension(d)
    if R > 0.5:
        return concentration_of_gap(1.0 - R, d)
    return math.atanh(R) if d == 1 else _newton(R, d)


def concentration_of_gap(gap: float, d: int) -> float:
    """A_d^-1(1 - gap), for a gap that may be far below 1e-16."""
    if not 0.0 < gap <= 1.0:
        raise InvalidInput(f"gap = {gap!r}: 1 minus a mean length lies in (0, 1].")
    if d == 1:
        return 0.5 * math.log((2.0 - gap) / gap)
    if gap > 3e-6:  # below, what follows errs by less than rounding of R does
        return _newton(1.0 - gap, d)
    # kappa / (a + sqrt(a (a + 1) + kappa^2)), a = (d - 1)/2, equals A_d up to O((d/kappa)^3)
    # (Amos 1974 has bounds of this form); solved for kappa, it errs by O(gap^2) relatively.
    a = 0.5 * (d - 1)
    rest = gap * (2.0 - gap)  # 1 - R^2
    return (1.0 - gap) * (a + math.sqrt(a * a + rest * a)) / rest


def _newton(R: float, d: int) -> float:
    kappa = R * (d - R * R) / (1.0 - R * R)
    for _ in range(50):  # four or five from Banerjee's start
        length = float(mean_length(kappa, d))
        step = (length - R) / _mean_length_slope(kappa, length, d)
        kappa = max(kappa - step, 0.1 * kappa)
        if abs(step) <= 4e-16 * kappa:
            break
    return kappa


def _check_length(R: float) -> None:
    if not 0.0 <= R < 1.0:
        raise InvalidInput(f"R = {R!r}: the mean length of unit vectors lies in [0, 1) here.")


def log_acute_probability(alpha: Array | float, kappa: float, d: int) -> Array:
    """log P(g.g_t >= 0) for g at angle alpha to theta and g_t ~ vMF(theta, kappa).

    For alpha >= 90 degrees by Gauss-Legendre over the elevation tau of g_t above the plane
    orthogonal to g, on which the mass is exp(kappa sin tau cos alpha) c_{d-1}(kappa sin alpha
    cos tau) cos^(d-2) tau; its logarithm falls at least as fast as the window below assumes.
    For alpha < 90 degrees as 1 - P(180 degrees - alpha).
    """
    _check_dimension(d)
    angle = np.atleast_1d(np.asarray(alpha, dtype=float))
    if d == 1:
        return np.asarray(-np.logaddexp(0.0, -2.0 * kappa * np.cos(alpha)))
    blunt = np.maximum(angle, math.pi - angle)[:, None]
    down, across = kappa * -np.cos(blunt), kappa * np.sin(blunt)
    linear = down * (2.0 / math.pi)
    # A_{d-1} from below (Amos 1974): z / (nu + 1/2 + sqrt((nu + 3/2)^2 + z^2)), nu = (d - 3)/2
    square = (d - 2) + 0.6 * across**2 / (0.5 * d - 1.0 + np.hypot(0.5 * d, across))
    depth = 36.0  # exp(-36) of the largest value is left out
    window = np.minimum(
        2.0 * depth / (linear + np.sqrt(linear**2 + 2.0 * depth * square) + 1e-300),
        0.5 * math.pi,
    )
    nodes, weights = gauss_legendre(_TAIL_NODES)
    tau = window * nodes
    log_mass = log_partition(across * np.cos(tau), d - 1) - down * np.sin(tau)
    if d > 2:
        log_mass += (d - 2) * np.log(np.cos(tau))
    top = np.max(log_mass, axis=1)
    total = np.exp(log_mass - top[:, None]) @ weights * window[:, 0]
    tail = np.minimum(np.log(total) + top - log_partition(kappa, d), math.log(0.5))
    out = np.where(angle >= 0.5 * math.pi, tail, np.log1p(-np.exp(tail)))
    return np.asarray(out.reshape(np.shape(alpha)))


@functools.cache
def gauss_legendre(n: int) -> tuple[Array, Array]:
    """Nodes and weights on [0, 1]."""
    x, w = np.polynomial.legendre.leggauss(n)
    return 0.5 * (x + 1.0), 0.5 * w


@dataclass(frozen=True, slots=True, eq=False)
class Direction:
    """A vMF distribution of directions. theta is stored as a read-only unit vector."""

    theta: Array  # (d,)
    kappa: float

    def __post_init__(self) -> None:
        theta = np.array(self.theta, dtype=float)
        length = float(np.linalg.norm(theta)) if theta.ndim == 1 and theta.size else math.nan
        if not abs(length - 1.0) < 1e-6:
            raise InvalidInput(
                f"theta = {self.theta!r}: a mean direction is a vector of length 1; divide it by "
                "its length."
            )
        if not (math.isfinite(self.kappa) and self.kappa >= 0.0):
            raise InvalidInput(f"kappa = {self.kappa!r}: a concentration is finite and >= 0.")
        if abs(length - 1.0) > 1e-12:  # else leave the digits: theta comes back from JSON unchanged
            theta /= length
        theta.flags.writeable = False
        object.__setattr__(self, "theta", theta)
        object.__setattr__(self, "kappa", float(self.kappa))

    @property
    def d(self) -> int:
        return len(self.theta)

    def log_density(self, G: Array) -> tuple[Array, Array]:  # (m, d) -> (m,), (m, d)
        """kappa (theta.g - 1) and its gradient in g; the normaliser, constant in g, is left off."""
        value = self.kappa * (G @ self.theta - 1.0)
        return value, np.broadcast_to(self.kappa * self.theta, G.shape)

    def log_pdf(self, G: Array) -> Array:  # (m, d) -> (m,)
        """The density of unit vectors with its normaliser."""
        return np.asarray(self.kappa * (G @ self.theta) - log_partition(self.kappa, self.d))

    def mean(self) -> Array:  # (d,)
        return np.asarray(mean_length(self.kappa, self.d) * self.theta)

    def covariance(self) -> Array:  # (d, d)
        """A/kappa across theta and A' along it."""
        length = float(mean_length(self.kappa, self.d))
        across = length / self.kappa if self.kappa > 0.0 else 1.0 / self.d
        along = _mean_length_slope(self.kappa, length, self.d)
        outer = np.outer(self.theta, self.theta)
        return np.asarray(across * (np.eye(self.d) - outer) + along * outer)

    def sample(self, n: int, rng: np.random.Generator) -> Array:  # (n, d)
        if self.d == 1:
            up = rng.random((n, 1)) < 1.0 / (1.0 + math.exp(-2.0 * self.kappa))
            return np.where(up, self.theta, -self.theta)
        from scipy.stats import uniform_direction, vonmises_fisher  # costs 0.4 s: only when drawn

        if self.kappa == 0.0:
            return np.asarray(uniform_direction(self.d).rvs(n, random_state=rng)).reshape(n, -1)
        law = vonmises_fisher(self.theta, self.kappa)
        return np.asarray(law.rvs(n, random_state=rng)).reshape(n, -1)


def resultant(
    G: Array,  # (n, d) unit vectors
    weights: Array | None = None,  # (n,) >= 0
) -> tuple[Array, float]:
    """The mean vector's direction (zeros if the vectors cancel) and its length R."""
    mean = np.asarray(np.average(G, axis=0, weights=weights))
    R = float(np.linalg.norm(mean))
    return (mean / R if R > 0.0 else np.zeros_like(mean)), min(R, 1.0)


def fit(
    G: Array,  # (n, d) unit vectors
    weights: Array | None = None,  # (n,) >= 0
    *,
    exact: bool = False,
) -> Direction | None:
    """Mean direction and kappa of samples: kappa as in the paper (Banerjee), or by A_d^-1.

    None where there is no direction: no sample of positive weight, or a mean of exactly 0. R is
    clipped to `R_MAX`. For pure noise R is about 1/sqrt(n), so kappa is about d/sqrt(n), not 0.
    """
    if len(G) == 0 or (weights is not None and not np.sum(weights) > 0.0):
        return None
    theta, R = resultant(G, weights)
    if R == 0.0:
        return None
    R = min(R, R_MAX)
    return Direction(theta, (concentration if exact else banerjee)(R, G.shape[1]))
