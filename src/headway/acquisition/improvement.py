"""The base acquisitions as functions of the posterior mean and deviation, with derivatives.

Notation: mu and sigma, shape (...), are the posterior mean and standard deviation of the
objective, which is minimised. best is the incumbent value and z = (best - mu) / sigma; sigma > 0
is so large that z^2/sigma is a double. phi and Phi are the standard normal density and
distribution function. Every function returns (value, d value / d mu, d value / d sigma), each of
shape (...), and a larger value is better.

- expected improvement, Jones et al. (1998) eq. 15, in logs as in Ament et al. (2023) eq. 9;
- probability of improvement, Kushner (1964), in logs;
- confidence bound, Srinivas et al. (2010) eq. 6, turned to minimisation;
- max-value entropy search, Wang and Jegelka (2017) eq. 6, turned to minimisation, in logs.

In the tail, z = -a < 0, all of them are written with h_n(a) = int_0^inf t^n exp(-a t - t^2/2) dt,
n = 0, 1, 2: h_0 = Phi(z)/phi(z) is Mills' ratio and h_1 = EI/(sigma phi(z)). The textbook forms,
such as h_1 = 1 - a h_0, subtract nearly equal numbers; products of the ratios h_n/h_{n-1} do not.
"""

import math
from typing import Final, TypeAlias

import numpy as np
from scipy.special import erfcx

from headway.arrays import Array

WithSlopes: TypeAlias = tuple[Array, Array, Array]
"""A value, its derivative in mu, and its derivative in sigma."""

_SQRT_HALF: Final = math.sqrt(0.5)
_SQRT_HALF_PI: Final = math.sqrt(0.5 * math.pi)
_LOG_SQRT_2PI: Final = 0.5 * math.log(2.0 * math.pi)

# Below this argument the ratios come from erfcx, at a loss of about a^4/2 ulp in h_2/h_1; above it
# from the continued fraction, of which this many levels leave as much: 8e-14 on either side.
_FAR: Final = 6.0
_LEVELS: Final = 12

# phi(z) underflows past z = 38.6; a ratio of two such numbers is taken at this floor instead.
_SMALLEST: Final = 1e-300

# Entropies are taken so many at a time: temporaries of larger arrays go back to the system after
# each operation, and getting them again takes longer than the arithmetic.
_BLOCK: Final = 2048


def log_ei(
    mu: Array,  # (...)
    sigma: Array,  # (...)
    *,
    best: float,
) -> WithSlopes:
    """Log of the expected improvement below `best`.

    With EI = sigma h(z), h(z) = phi(z) + z Phi(z): h(-a) = phi(a) h_1(a), h(a) = a + h(-a).
    """
    z = (best - mu) / sigma
    h0, ratio1, _ = _tail_ratios(np.abs(z))
    h1 = h0 * ratio1
    density = _density(z)
    above = z > 0.0
    # EI / sigma where z > 0, and EI / (sigma phi(z)) elsewhere: both keep all their digits.
    scaled = np.where(above, z + density * h1, h1)
    value = np.log(sigma * scaled) - np.where(above, 0.0, 0.5 * z * z + _LOG_SQRT_2PI)
    d_mu = -np.where(above, 1.0 - density * h0, h0) / scaled / sigma
    d_sigma = np.where(above, density, 1.0) / scaled / sigma
    return value, d_mu, d_sigma


def log_poi(
    mu: Array,  # (...)
    sigma: Array,  # (...)
    *,
    best: float,
) -> WithSlopes:
    """Log of the probability of a value below `best`, log Phi(z)."""
    z = (best - mu) / sigma
    h0, _, _ = _tail_ratios(np.abs(z))
    density = _density(z)
    above = z > 0.0
    upper = density * h0  # 1 - Phi(|z|)
    value = np.where(above, np.log1p(-upper), np.log(h0) - 0.5 * z * z - _LOG_SQRT_2PI)
    hazard = np.where(above, density / (1.0 - upper), 1.0 / h0)  # phi(z) / Phi(z)
    return value, -hazard / sigma, -z * hazard / sigma


def ucb(
    mu: Array,  # (...)
    sigma: Array,  # (...)
    *,
    kappa: float,
) -> WithSlopes:
    """The optimistic bound -(mu - kappa sigma), which stands for its own log."""
    value = kappa * sigma - mu
    return value, np.full_like(value, -1.0), np.full_like(value, kappa)


def posterior_mean(
    mu: Array,  # (...)
    sigma: Array,  # (...)
) -> WithSlopes:
    """The greedy term -mu; sigma only gives its shape."""
    value = -mu + np.zeros_like(sigma)
    return value, np.full_like(value, -1.0), np.zeros_like(value)


def log_mes(
    mu: Array,  # (...)
    sigma: Array,  # (...)
    *,
    minima: Array,  # (k,), k >= 1
) -> WithSlopes:
    """Log of the entropy (nats) that an observation is expected to take from the minimum.

    The mean over the sampled minima of t(g) = g phi(g) / (2 Phi(g)) - log Phi(g), where
    g = (mu - minimum) / sigma. A sample may lie on either side of mu.
    """
    mu, sigma = np.broadcast_arrays(mu, sigma)
    gamma = (mu - minima.reshape(-1, *[1] * mu.ndim)) / sigma  # (k, ...)
    flat = gamma.ravel()
    drops = np.empty((2, flat.size))
    for i in range(0, flat.size, _BLOCK):
        drops[:, i : i + _BLOCK] = _log_entropy_drop(flat[i : i + _BLOCK])
    log_t, slope = drops.reshape(2, *gamma.shape)
    top = log_t.max(axis=0)
    weight = np.exp(log_t - top)
    total = weight.sum(axis=0)
    value = top + np.log(total / len(minima))
    weight *= slope
    d_mu = weight.sum(axis=0) / total / sigma
    weight *= gamma
    d_sigma = -weight.sum(axis=0) / total / sigma
    return value, d_mu, d_sigma


def _log_entropy_drop(
    gamma: Array,  # (b,)
) -> tuple[Array, Array]:
    """log t(g), as in `log_mes`, and its derivative.

    With hazard = phi/Phi, t' = -hazard (1 + g (g + hazard)) / 2. For g = -a <= 0 the hazard is
    1/h_0 = a + h_1/h_0, so that a^2/2 cancels from t, and t' = -h_2 / (2 h_0^2). For g > 0 the
    factor phi(g), which underflows, is taken out of t.
    """
    a = np.abs(gamma)
    h0, ratio1, ratio2 = _tail_ratios(a)
    density = _density(a)
    upper = density * h0  # 1 - Phi(a)
    phi_over = 1.0 / (1.0 - upper)  # 1 / Phi(a)
    floored = np.maximum(upper, _SMALLEST)
    # t / phi for g > 0: the second term is -log Phi(a) / phi(a).
    right = 0.5 * a * phi_over - h0 * np.log1p(-floored) / floored
    right_slope = -0.5 * phi_over * (1.0 + a * (a + density * phi_over))
    left = _LOG_SQRT_2PI - np.log(h0) - 0.5 * a * ratio1
    left_slope = -0.5 * ratio1 * ratio2 / h0
    above = gamma > 0.0
    t = np.where(above, right, left)
    value = np.log(t) - np.where(above, 0.5 * a * a + _LOG_SQRT_2PI, 0.0)
    return value, np.where(above, right_slope, left_slope) / t


def _tail_ratios(
    a: Array,  # (...), a >= 0
) -> tuple[Array, Array, Array]:
    """h_0, h_1/h_0 and h_2/h_1 at a, to full relative accuracy.

    h_{n+1} = n h_{n-1} - a h_n (by parts, with h_1 = 1 - a h_0), and h_n is its minimal solution,
    so the ratios r_n = h_n / h_{n-1} = n / (a + r_{n+1}) are stable downwards (Gautschi 1967).
    They start from r_{n+1} = r_n + d, d = 1 / sqrt(a^2 + 4 n), right to the second order in 1/n.
    """
    near = np.asarray(np.minimum(a, _FAR))
    h0 = np.asarray(_SQRT_HALF_PI * erfcx(_SQRT_HALF * near))
    ratio1 = np.asarray(1.0 / h0 - near)
    ratio2 = np.asarray(1.0 / ratio1 - near)
    far = a > _FAR
    if np.any(far):
        b = a[far]
        n = _LEVELS + 1
        shifted = b + 1.0 / np.sqrt(b * b + 4.0 * n)
        # The root of r (shifted + r) = n, written without a difference.
        ratio = 2.0 * n / (shifted + np.sqrt(shifted * shifted + 4.0 * n))
        for n in range(_LEVELS, 1, -1):
            ratio += b
            np.divide(n, ratio, out=ratio)
        ratio2[far] = ratio
        ratio1[far] = ratio = 1.0 / (b + ratio)
        h0[far] = 1.0 / (b + ratio)
    return h0, ratio1, ratio2


def _density(
    z: Array,  # (...)
) -> Array:
    """The standard normal density."""
    return np.exp(-0.5 * z * z - _LOG_SQRT_2PI)
