"""How the directional constraint learns: the past direction and the belief give the next one.

Notation: past = (theta_t, kappa_t), belief = (theta_hat, kappa_hat), both `Direction` in d
dimensions; y = sqrt(kappa_t^2 + kappa_hat^2); c_d and A_d as in `vmf`. Li and Yao's integral for
the next direction (their eq. `posterior`), with g_t ~ vMF(past), g* ~ vMF(belief) and
g ~ vMF(g*, kappa_t):

    p(g) = P(g.g_t >= 0) c_d(|kappa_t g + kappa_hat theta_hat|) / const

A rule is any callable (past, belief) -> Direction, or None where it has no answer, which means a
neutral term. `RULES` names the built-in ones; `sampled` is no such rule but a density of its own.

- `printed`:    the paper's eq. `est`, which diverges (docs/paper-notes.md);
- `printed_2d`: the paper's eq. `approx:dim2`, which often takes the root of a negative number;
- `exact`:      the paper's derivation without its Taylor series and with the norm of the sum;
- `projected`:  the vMF with the mean of p(g), by quadrature: no approximation but the family.

A past kappa of 0 is absorbing under every rule.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from headway.arrays import Array, Ints
from headway.direction.vmf import (
    R_MAX,
    Direction,
    concentration,
    concentration_of_gap,
    gauss_legendre,
    log_acute_probability,
    log_partition,
    mean_length,
    resultant,
)
from headway.errors import InvalidInput

Law: TypeAlias = tuple[float, float, float, int]
"""kappa_t, kappa_hat, the angle between the two thetas, and d: p(g) up to a rotation."""

Rule: TypeAlias = Callable[[Direction, Direction], Direction | None]

# The printed rule's kappa is stopped here: fourth powers of it still fit a float, and long before
# it the constraint is a ray.
PRINTED_LIMIT = 1e75
# A vMF this concentrated lies within 1e-4 of its mean; beyond, rounding in c_d(y) is all there is.
_PROJECTED_LIMIT = 1e9
# In d = 2 the two directions at one angle from theta_t.
_POLES = np.array([0.0, math.pi])
# What is left out of the quadrature is below exp(-38), 3e-17, of the peak.
_DEPTH = 38.0
# Below this kappa_t the limit of small kappa_t errs by less than the quadrature.
_PROJECTED_SMALL = 1e-7


class DivergenceWarning(UserWarning):
    """The printed update rule has left the region in which it converges."""


def _same_dimension(past: Direction, belief: Direction) -> int:
    if past.d != belief.d:
        raise InvalidInput(
            f"the past direction has {past.d} coordinates and the belief {belief.d}: they must "
            "be directions in one space."
        )
    return past.d


def _length(vector: Array) -> float:
    """The norm, without squares that overflow or vanish."""
    top = float(np.max(np.abs(vector)))
    return top * float(np.linalg.norm(vector / top)) if top > 0.0 else 0.0


def _along(vector: Array, past: Direction, kappa: float | None = None) -> Direction:
    """The vector's direction with its length as kappa, or another; a zero vector keeps theta_t."""
    length = _length(vector)
    theta = vector / length if length > 0.0 else past.theta
    return Direction(theta, length if kappa is None else kappa)


def printed_weight(kappa_t: float, kappa_hat: float, d: int) -> float:
    """k_1 of the paper's eq. `est`: a Taylor series about y = 0, negative for y^2 > d (d + 2)."""
    excess = kappa_hat * kappa_hat + kappa_t * kappa_t - d * (d + 2)
    return -kappa_hat * kappa_t * excess / (d * d * (d + 2))


def exact_weight(kappa_t: float, kappa_hat: float, d: int) -> float:
    """k_1 = kappa_hat kappa_t A_d(y) / y, which lies in [0, min(kappa_t, kappa_hat))."""
    y = math.hypot(kappa_t, kappa_hat)
    if y < 1e-8:
        return kappa_hat * kappa_t / d
    return kappa_hat / y * kappa_t * float(mean_length(y, d))


def printed(past: Direction, belief: Direction) -> Direction:
    """The paper's rule as it stands, theta scaled to length 1 and kappa stopped at 1e75."""
    d = _same_dimension(past, belief)
    kappa_t, kappa_hat = min(past.kappa, PRINTED_LIMIT), min(belief.kappa, PRINTED_LIMIT)
    k1 = printed_weight(kappa_t, kappa_hat, d)
    if k1 < 0.0:
        # The text has no numbers in it so that Python's filter shows it once, not at each step.
        warnings.warn(
            "the update rule 'printed' has passed kappa_hat^2 + kappa_t^2 = d (d + 2): from here "
            "on it points away from the belief and its kappa grows without limit. Use the rule "
            "'exact' or 'projected'.",
            DivergenceWarning,
            stacklevel=2,
        )
    kappa = min(math.hypot(k1, kappa_t), PRINTED_LIMIT)
    return _along(k1 * belief.theta + kappa_t * past.theta, past, kappa)


def printed_2d(past: Direction, belief: Direction) -> Direction | None:
    """The paper's special case of two parameters, or None where it has a negative root.

    That is for kappa_hat^2 + kappa_t^2 < 8, wherever the general rule's k_1 is positive.
    """
    if _same_dimension(past, belief) != 2:
        raise InvalidInput(
            f"the rule 'printed-2d' is for 2 parameters, not {past.d}: use 'printed', 'exact' or "
            "'projected'."
        )
    kappa_t, kappa_hat = min(past.kappa, PRINTED_LIMIT), min(belief.kappa, PRINTED_LIMIT)
    if kappa_t == 0.0:
        return Direction(past.theta, 0.0)
    excess = kappa_hat * kappa_hat + kappa_t * kappa_t - 8.0
    product = kappa_hat * kappa_t
    if product * excess < 0.0:
        return None
    k = math.sqrt(product * excess) / (4.0 * kappa_t)
    kappa = 0.25 * math.sqrt(product * (excess + 16.0 * kappa_t * kappa_t))
    vector = (k * belief.theta + past.theta) / math.hypot(1.0, k)
    return _along(vector, past, min(kappa, PRINTED_LIMIT))


def exact(past: Direction, belief: Direction) -> Direction:
    """k_1 theta_hat + kappa_t theta_t: its length is kappa, which can fall."""
    k1 = exact_weight(past.kappa, belief.kappa, _same_dimension(past, belief))
    return _along(k1 * belief.theta + past.kappa * past.theta, past)


def projected(past: Direction, belief: Direction) -> Direction:
    """The vMF whose mean is the mean of p(g), found by quadrature in the plane of the two thetas.

    Concentrations above 1e9 count as 1e9. As kappa_t -> 0 the answer is
    kappa_t (a_d theta_t + A_d(kappa_hat) theta_hat), a_d = Gamma(d/2) / (sqrt(pi) Gamma((d+1)/2)).
    """
    d = _same_dimension(past, belief)
    kappa_t = min(past.kappa, _PROJECTED_LIMIT)
    kappa_hat = min(belief.kappa, _PROJECTED_LIMIT)
    if kappa_t < _PROJECTED_SMALL:
        pull = float(mean_length(kappa_hat, d))
        return _along(kappa_t * (acute_slope(d) * past.theta + pull * belief.theta), past)
    along = float(past.theta @ belief.theta)
    if d == 1:
        return _projected_on_line(past, kappa_t, kappa_hat * along)
    across = belief.theta - along * past.theta
    sine = float(np.linalg.norm(across))
    angle = math.atan2(sine, along)
    turn, length, gap = _plane_mean(kappa_t, kappa_hat, angle, d)
    if length == 0.0:
        return Direction(past.theta, 0.0)
    kappa = concentration(length, d) if length < 0.5 else concentration_of_gap(gap, d)
    vector = math.cos(turn) * past.theta
    if sine > 0.0:
        vector = vector + math.sin(turn) * across / sine
    return _along(vector, past, kappa)


RULES: Mapping[str, Rule] = MappingProxyType(
    {"printed": printed, "printed-2d": printed_2d, "exact": exact, "projected": projected}
)


def acute_slope(d: int) -> float:
    """a_d: the slope of log P(g.g_t >= 0) in kappa_t theta_t.g, as kappa_t -> 0."""
    return math.exp(math.lgamma(0.5 * d) - math.lgamma(0.5 * (d + 1))) / math.sqrt(math.pi)


def _projected_on_line(past: Direction, kappa_t: float, kappa_hat: float) -> Direction:
    """d = 1: half the log odds of the two directions is theta's share of kappa, with its sign."""
    odds = log_partition(np.array([kappa_t + kappa_hat, kappa_t - kappa_hat]), 1)
    kappa = kappa_t + 0.5 * float(odds[0] - odds[1])
    return Direction(past.theta if kappa >= 0.0 else -past.theta, abs(kappa))


def _log_p(alpha: Array, psi: Array, law: Law) -> Array:
    """log p(g) with its surface element, alpha (n,) by psi (k,): (n, k).

    g = cos alpha theta_t + sin alpha (cos psi e + sin psi ...), e the unit vector towards theta_hat
    orthogonal to theta_t. The element is sin^(d-2) alpha sin^(d-3) psi; for d = 2, psi is 0 or pi.
    """
    kappa_t, kappa_hat, angle, d = law
    rows = log_acute_probability(alpha, kappa_t, d)
    if d > 2:
        rows = rows + (d - 2) * np.log(np.sin(alpha))
    # 1 - g.theta_hat, without cancellation where both kappas are large
    short = (2.0 * np.sin(0.5 * (alpha - angle)) ** 2)[:, None] + np.outer(
        math.sin(angle) * np.sin(alpha), 2.0 * np.sin(0.5 * psi) ** 2
    )
    square = (kappa_t + kappa_hat) ** 2 - 2.0 * kappa_t * kappa_hat * short
    out = rows[:, None] + log_partition(np.sqrt(np.maximum(square, 0.0)), d)
    if d > 3:
        out += (d - 3) * np.log(np.sin(psi))
    return np.asarray(out)


def _midpoints(low: float, high: float, cells: int) -> Array:
    return low + (high - low) / cells * (np.arange(cells, dtype=np.float64) + 0.5)


def _refit(low: float, high: float, kept: Ints, cells: int) -> tuple[float, float]:
    """The kept cells and a neighbour each side; further out where they reach the old edge."""
    first, last = int(kept[0]), int(kept[-1])
    step = (high - low) / cells
    below = first - 1 if first > 0 else -cells // 4
    above = last + 2 if last < cells - 1 else cells + cells // 4
    return max(low + below * step, 0.0), min(low + above * step, math.pi)


def _window(law: Law) -> tuple[float, float, float, float]:
    """A box (alpha from, to, psi from, to) outside of which p(g) is below exp(-38) of its peak.

    The peak may be a millionth of a degree wide, so look on a coarse grid, keep the cells where the
    logarithm is near the largest and their neighbours, and look again until little is cut off and
    no edge is touched.
    """
    kappa_t, kappa_hat, _, d = law
    a0, a1, p0, p1 = 0.0, math.pi, 0.0, math.pi
    if kappa_t * kappa_hat / (kappa_t + kappa_hat) + d < 25.0:
        return a0, a1, p0, p1  # so blunt that the whole sphere counts: saves half the time
    n, k = 24, 16
    for _ in range(40):  # each pass divides the box by up to 60; 9 passes at kappa = 1e9
        alpha = _midpoints(a0, a1, n)
        psi = _POLES if d == 2 else _midpoints(p0, p1, k)
        log_p = _log_p(alpha, psi, law)
        near = log_p > np.max(log_p) - _DEPTH
        old = (a1 - a0) * (p1 - p0)
        a0, a1 = _refit(a0, a1, np.nonzero(near.any(axis=1))[0], n)
        if d > 2:
            p0, p1 = _refit(p0, p1, np.nonzero(near.any(axis=0))[0], k)
        if 0.5 * old < (a1 - a0) * (p1 - p0) <= old:
            break
    return a0, a1, p0, p1


def _plane_mean(
    kappa_t: float, kappa_hat: float, angle: float, d: int
) -> tuple[float, float, float]:
    """(turn, R, 1 - R): the mean of p(g) is R long and lies at angle turn from theta_t."""
    law = (kappa_t, kappa_hat, angle, d)
    a0, a1, p0, p1 = _window(law)
    # P(g.g_t >= 0) steps from 1 to 0 about 90 degrees, in a width of 1/sqrt(kappa_t)
    half, width = 0.5 * math.pi, 8.0 / math.sqrt(kappa_t)
    ends = [a0, a1]
    if 4.0 * width < a1 - a0:
        ends = [a0, *(e for e in (half - width, half + width) if a0 < e < a1), a1]
    blunt = a1 - a0 == math.pi and p1 - p0 == math.pi
    nodes, weights = gauss_legendre(40 if blunt else 48)
    sizes = np.diff(ends)[:, None]
    alpha = (np.array(ends[:-1])[:, None] + sizes * nodes).ravel()
    alpha_weights = (sizes * weights).ravel()
    if d == 2:
        psi, psi_weights = _POLES, np.ones(2)
    else:
        nodes, weights = gauss_legendre(28 if blunt else 40)
        psi, psi_weights = p0 + (p1 - p0) * nodes, weights
    log_p = _log_p(alpha, psi, law)
    mass = np.exp(log_p - np.max(log_p)) * np.outer(alpha_weights, psi_weights)
    mass /= np.sum(mass)
    rows, across = np.sum(mass, axis=1), mass @ np.cos(psi)
    mean = float(rows @ np.cos(alpha)), float(across @ np.sin(alpha))
    turn = math.atan2(mean[1], mean[0])
    short = 2.0 * np.sin(0.5 * (alpha - turn)) ** 2 * rows
    aside = math.sin(turn) * np.sin(alpha) * (rows - across)
    return turn, math.hypot(*mean), float(np.sum(short + aside))


@dataclass(frozen=True, slots=True, eq=False)
class SampledDirections:
    """A density over directions with no family: a vMF kernel on each accepted sample.

    `share` is the share of the samples accepted; with none accepted the density is neutral.
    """

    points: Array  # (k, d) accepted unit vectors
    kappa: float  # concentration of each kernel
    share: float

    def log_density(self, G: Array) -> tuple[Array, Array]:  # (m, d) -> (m,), (m, d)
        """log of the mean of exp(kappa (x_i.g - 1)), constants left off, and its gradient in g."""
        if len(self.points) == 0:
            return np.zeros(len(G)), np.zeros(G.shape)
        exponent = self.kappa * (G @ self.points.T - 1.0)
        top = np.max(exponent, axis=1, keepdims=True)
        kernels = np.exp(exponent - top)
        total = np.sum(kernels, axis=1, keepdims=True)
        value = (top + np.log(total / len(self.points)))[:, 0]
        return value, self.kappa * (kernels / total) @ self.points

    def log_pdf(self, G: Array) -> Array:  # (m, d) -> (m,)
        """The density of unit vectors, normalised over the sphere."""
        d = self.points.shape[1]
        if len(self.points) == 0:
            return np.full(len(G), -float(log_partition(0.0, d)))
        return np.asarray(self.log_density(G)[0] + self.kappa - float(log_partition(self.kappa, d)))


def sampled(last_step: Array, G: Array) -> SampledDirections:  # (d,), (n, d)
    """The paper's Simulation 3: of the directions G of sampled minimisers, those at an acute angle
    to the direction of the last step, smoothed to a density over the sphere.

    The paper interpolates on a circle; a kernel density is the same thing in any dimension.
    """
    kept = G[G @ last_step > 0.0]
    share = len(kept) / len(G) if len(G) else 0.0
    return SampledDirections(kept, kernel_concentration(kept), share)


def kernel_concentration(G: Array) -> float:  # (k, d)
    """The kernel's kappa = 1/h^2 by the rule of thumb for a vMF of the samples' own kappa.

    h minimises the asymptotic mean integrated squared error (Garcia-Portugues 2013, prop. 2). The
    samples fill at most half a sphere, so their kappa counts as at least that of a uniform half:
    two opposite clumps would otherwise pass for noise and be smoothed away.
    """
    k, d = G.shape
    if k == 0:
        return 0.0
    if d == 1:  # the wrong side keeps the weight of one sample in k + 2
        return 0.5 * math.log(k + 1.0)
    R = min(max(resultant(G)[1], acute_slope(d)), R_MAX)
    kappa = concentration(R, d)
    log_c = float(log_partition(kappa, d))
    roughness = np.logaddexp(
        math.log(2.0 * (d - 1)) + log_partition(2.0 * kappa, d + 2),
        math.log((d + 1) * kappa * kappa / math.pi) + log_partition(2.0 * kappa, d + 4),
    )
    log_h = math.log(4.0 * math.sqrt(math.pi)) + (1.0 - 0.5 * d) * math.log(2.0 * math.pi)
    log_h -= math.log(kappa * kappa * k) + 0.5 * d * math.log(2.0)
    return math.exp(-2.0 * (log_h - float(roughness) + 2.0 * log_c) / (d + 3))
