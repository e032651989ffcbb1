"""A metric that is not bound to the axes, by maximum evidence.

Notation: c number columns, u_ij (c,) the difference of two points in them, A (c, c) a metric,
    r2_ij = |A u_ij|^2 + sum over categories of [a != b] / l^2.
The length-scales of one axis each are A = diag(1 / l). A steep direction that lies across the axes
cannot be said so; A can, and where a narrow valley runs aslant its model needs far fewer points.

theta = (G, log l of each category, log s2[, log noise]), A = G A_0 from the start A_0, so that
every entry of G has about the same length. The gradient is eq. 5.9 of Rasmussen and Williams (2006)
with dr2/dA = 2 (A u) u^T. The prior is the one of the length-scales, put on the inverse singular
values of A: it does not change when the axes turn. A is known up to a rotation from the left, so it
is handed on as S V^T of its singular value decomposition.

A has c (c - 1) / 2 angles more than length-scales have; each costs 1/2 log n of evidence (Schwarz
1978), so that points too few to tell the angles leave the axes alone.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

import numpy as np

from headway.arrays import Array, Ints
from headway.ascent import climb
from headway.surrogate.evidence import HOPELESS, PRIOR_WIDTH, STRIDE, Evidence, Hyper
from headway.surrogate.factor import NotPositiveDefinite
from headway.surrogate.gp import GP, Kernel
from headway.surrogate.linalg import product

logger = logging.getLogger("headway")

# Climbs restart from where they are, with G = I again: far from it its entries differ in length.
# From the last fit it is not far.
_ROUNDS, _STEPS = 2, 40
_WARM_STEPS = 20
# More multiplications a step than n^2 c = this cost a second a fit.
_LARGEST = 2e5
# Up to here every fifth fit climbs from the axes again; with more points that, too, costs a second.
_FRESH = 100
_STALL = 1e-3
_ENTRY = 0.5  # natural length of an entry of G
_REACH = 50.0
# Of the steepest axis to the mean one, where only gradients say so yet.
_MOST_STRETCH = np.log(20.0)
_TINY = 1e-24


@dataclass(frozen=True, slots=True)
class Turned:
    """Evidence as a function of A and tail = (log l of categories, log s2[, log noise])."""

    base: Evidence
    U: Array  # (pairs, c) differences in the number columns
    Q: Array  # (b, pairs) squared differences of the categories

    @classmethod
    def of(cls, base: Evidence, F: Array, groups: tuple[int, ...]) -> Turned:  # (n, D)
        row, column = np.triu_indices(len(F), 1)
        c = numbers(groups)
        return cls(base, F[row, :c] - F[column, :c], base.P[categories(groups)])

    def value(self, A: Array, tail: Array) -> tuple[float, Array, Array]:
        """Evidence with the prior, and its slopes by A and by the tail."""
        base, b = self.base, len(self.Q)
        weights, scale = np.exp(-2.0 * tail[:b]), float(np.exp(tail[b]))
        noise = np.full(len(base.z), np.exp(tail[-1])) if base.noise is None else base.noise
        V = product(self.U, A.T)
        found = base.weighed(scale, np.einsum("pc,pc->p", V, V) + weights @ self.Q, noise)
        if found is None:
            return -HOPELESS, np.zeros_like(A), np.zeros(len(tail))
        value, pull, by_logs = found
        by_A = 2.0 * product((V * pull[:, None]).T, self.U)
        by_tail = np.concatenate([-2.0 * weights * (self.Q @ pull), by_logs])
        if base.prior is not None:
            left, singular, right = np.linalg.svd(A)
            singular = np.maximum(singular, _TINY)  # of a step that makes A singular
            away = (-np.log(singular) - base.prior) / PRIOR_WIDTH
            off = (tail[:b] - base.prior) / PRIOR_WIDTH
            value -= 0.5 * float(away @ away) + 0.5 * float(off @ off)
            by_A += (left * (away / (PRIOR_WIDTH * singular))) @ right
            by_tail[:b] -= off / PRIOR_WIDTH
        return value, by_A, by_tail


def numbers(groups: tuple[int, ...]) -> int:
    """How many features, the first ones, are a parameter of their own."""
    return sum(groups.count(group) == 1 for group in groups)


def categories(groups: tuple[int, ...]) -> list[int]:
    """The parameters that have several features."""
    return sorted(set(groups) - set(groups[: numbers(groups)]))


def is_worth_trying(n: int, groups: tuple[int, ...]) -> bool:
    """Whether a gain of one nat a point would pay for the angles, and time allows to look."""
    c = numbers(groups)
    return c > 1 and _price(n, c) <= n and n**2 * c <= _LARGEST


def _price(n: int, c: int) -> float:
    """What the angles cost."""
    return float(0.25 * c * (c - 1) * np.log(n))


def maximise(
    turned: Turned, starts: list[tuple[Array, Array]], *, rounds: int = _ROUNDS, steps: int = _STEPS
) -> tuple[Array, Array, float]:
    """The best of the climbs from every (A, tail): A, tail, and its evidence less the price."""
    found = [_climbed(turned, *start, rounds, steps) for start in starts]
    A, tail, value = max(found, key=lambda end: end[2])
    _, singular, right = np.linalg.svd(A)
    # Within the bounds of length-scales: a metric without them explains noise by its own points.
    low, high = np.exp(turned.base.bounds()[0])
    held = np.clip(singular, 1.0 / high, 1.0 / low)
    A = held[:, None] * right
    if np.any(held != singular):
        value = turned.value(A, tail)[0]
    return A, tail, value - _price(len(turned.base.z), len(A))


def _climbed(
    turned: Turned, A: Array, tail: Array, rounds: int, steps: int
) -> tuple[Array, Array, float]:
    c, value = len(A), -np.inf
    low, high, metric = (np.full(c * c, x) for x in (-_REACH, _REACH, _ENTRY))
    bounds = np.array(turned.base.bounds()[len(turned.base.P) - len(turned.Q) :]).T
    for _ in range(rounds):

        def function(theta: Array, _: Ints, A_0: Array = A) -> tuple[Array, Array]:
            values, slopes = np.empty(len(theta)), np.empty_like(theta)
            for i, row in enumerate(theta):
                G = row[: c * c].reshape(c, c)
                values[i], by_A, slopes[i, c * c :] = turned.value(G @ A_0, row[c * c :])
                slopes[i, : c * c] = product(by_A, A_0.T).ravel()
            return values, slopes

        theta, at = climb(
            function,
            np.concatenate([np.eye(c).ravel(), tail])[None],
            low=np.concatenate([low, bounds[0]]),
            high=np.concatenate([high, bounds[1]]),
            metric=np.concatenate([metric, np.full(len(tail), STRIDE)]),
            iterations=steps,
            stall=_STALL,
        )
        A, tail, value = theta[0, : c * c].reshape(c, c) @ A, theta[0, c * c :], float(at[0])
    return A, tail, value


def fresh_starts(lengthscales: Array, gradients: Array) -> list[Array]:  # (c,), (m, c)
    """Metrics to climb from: the axes' own, and the axes along which the model is steepest.

    The eigenvectors of sum grad grad^T at the data are the principal axes of a quadratic.
    """
    moment = gradients.T @ gradients
    _, axes = np.linalg.eigh(moment)
    steepness = 0.5 * np.log(np.maximum(np.einsum("ic,ij,jc->c", axes, moment, axes), _TINY))
    stretch = 0.5 * np.clip(steepness - np.mean(steepness), -_MOST_STRETCH, _MOST_STRETCH)
    scale = np.exp(stretch - np.mean(np.log(lengthscales)))
    return [np.diag(1.0 / lengthscales), scale[:, None] * axes.T]


def fit_turned(
    base: Evidence,
    F: Array,  # (n, D)
    groups: tuple[int, ...],  # (D,) the parameter of each feature
    warm: Hyper,
    *,
    thorough: bool,
) -> tuple[Hyper, float]:
    """Hyper-parameters with a metric, from the last ones and from its axes, or from the axes."""
    turned, c = Turned.of(base, F, groups), numbers(groups)
    tail, lengthscales = _tail(warm, base, groups), np.array(warm.lengthscales)
    starts = [(np.array(warm.metric), tail)] if warm.metric else []
    if (thorough and len(F) <= _FRESH) or not starts:
        try:
            steep = _straight_gp(base, F, groups, warm).predict_with_gradient(F, c)[2]
        except NotPositiveDefinite as error:
            logger.warning("no metric is tried: %s", error)
            return warm, -HOPELESS
        starts += [(A, tail) for A in fresh_starts(lengthscales[list(groups[:c])], steep)]
        A, tail, value = maximise(turned, starts)
    else:
        A, tail, value = maximise(turned, starts, rounds=1, steps=_WARM_STEPS)
    lengthscales[list(groups[:c])] = 1.0 / np.sqrt(np.einsum("ij,ij->j", A, A))
    lengthscales[categories(groups)] = np.exp(tail[: len(turned.Q)])
    noise = float(np.exp(tail[-1])) if base.noise is None else 0.0
    scale = float(np.exp(tail[len(turned.Q)]))
    metric = tuple(tuple(row) for row in A.tolist())
    return Hyper(tuple(lengthscales.tolist()), scale, noise, metric), value


def _tail(hyper: Hyper, base: Evidence, groups: tuple[int, ...]) -> Array:
    """The logs of the categories' length-scales, of s2, and of the noise if it is fitted."""
    theta = base.theta(hyper)
    return np.concatenate([theta[categories(groups)], theta[len(base.P) :]])


def _straight_gp(base: Evidence, F: Array, groups: tuple[int, ...], hyper: Hyper) -> GP:
    kernel = Kernel(base.kernel, np.array(hyper.lengthscales)[list(groups)], hyper.scale)
    noise = np.full(len(F), hyper.noise) if base.noise is None else base.noise
    return GP.given(kernel, F, base.z, noise=noise, tau=base.tau)
