"""A closer look: a model of the nearest points alone, where that of all has run out of digits.

Notation: F (n, D) features, c the centre (the best point), A_0 the metric of the model of all
points, no axis longer than the cube; w = A_0 (F - c), r the length of w at the m-th nearest point,
E the 4 D + 2 nearest points.

The values of all points set the units z in which a model sees them. Once the best of them differ
by less than 1e-4 of these units, its noise floor hides what is left to gain, although the objective
is smooth there. The m nearest points have smaller units. Their model is fitted in w / r, for
m = n / 2, n / 4, ... down to |E|, and that one is taken, the model of all points included, which
predicts the values of E best when each is left out (Rasmussen and Williams 2006, eqs. 5.10 to 5.12,
with the log Jacobian of the warp: the models see different units). The search stays in a Gaussian
of standard deviation r / 2 in w, where the model's points are, and to the best point's categories;
a new point there is a nearest one next time, so no error of this model is made twice.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from headway.acquisition.local import Nearness, SameChoices
from headway.arrays import Array, Ints
from headway.history import Facts
from headway.policy import Policy
from headway.search.maximize import Search
from headway.situation import Situation, believed_values, values_of
from headway.surrogate import Data, Model, Surrogate, fit_model
from headway.surrogate.gp import GP, Kernel
from headway.surrogate.linalg import product

# Twice what a slope in each direction takes, and some for the curvature.
_LEAST_PER_FEATURE, _LEAST_MORE = 4, 2
# Of the nearest points no more are of use, and these cost a tenth of a second.
_MOST = 256
_SIZE = 4.0  # precision of the Gaussian, in 1 / r^2
# Of the axes to each other: more would leave the squares in their precision no digits.
_MOST_STRETCH = 1e6
# Below the distances at which a smooth function still differs by a digit.
_SHORTEST = 1e-9
_ROUNDING = 1e-12  # of the values: less is what their last digits do


@dataclass(frozen=True, slots=True)
class Closeup:
    """The situation as a model has it, and where that model holds."""

    situation: Situation
    term: SameChoices | None = None
    box: tuple[Array, Array] | None = None  # (d,) low and high, around the Gaussian
    gap: float = 1e-6  # nearer than this to a told point (in the cube) a new one teaches nothing

    def search(self, search: Search) -> Search:
        """The search held to where the model holds, with the model's own lengths."""
        if self.box is None:
            return search
        metric = np.clip(self.situation.lengthscales, _SHORTEST, 1.0)
        return replace(search, metric=metric).within(self.box)

    def is_new(self, z: Array) -> bool:  # (d,)
        """Whether a greedy point teaches anything: the model holds there, and it is no near-copy
        of a taken one."""
        if self.term is not None and not self.term.hold(z[None])[0]:
            return False
        return float(np.min(np.max(np.abs(self.situation.taken - z), axis=1))) >= self.gap


def close_up(
    policy: Policy, facts: Facts, situation: Situation, surrogate: Surrogate
) -> Closeup | None:
    """The closer look that predicts better than the model of all points; None without one.

    Values that are noisy differ by their noise, however close one looks.
    """
    space, model = situation.space, situation.objective
    F, centre = space.embed(facts.Z), space.embed(situation.centre[None])
    n, least = len(F), _LEAST_PER_FEATURE * F.shape[1] + _LEAST_MORE
    if (
        not policy.closer
        or n <= least
        or situation.repeats
        or model.state["noisy"]
        or not np.any(space.continuous)
    ):
        return None
    A_0 = _metric(model.gp.kernel)
    W = product(F - centre, A_0.T)
    length = np.sqrt(np.einsum("nd,nd->n", W, W))
    order = np.argsort(length, kind="stable")
    y, E = values_of(facts), order[:least]
    # Of the kind that the model of all points is; A_0 has turned the axes already.
    kind = replace(surrogate, noise=0.0, compress=bool(model.state["compress"]), turn=False)
    best = float(np.sum(_left_out(_reduced(model, order), y, E)))
    found: tuple[Ints, float, Model] | None = None
    for m in _sizes(n, least):
        rows, r = np.sort(order[:m]), float(length[order[m - 1]])
        local = _fit(kind, situation, facts, y, rows, W / r) if r > 0 else None
        if local is None:
            continue
        score = float(np.sum(_left_out((local, rows), y, E)))
        if score > best:
            best, found = score, (rows, r, local)
    if found is None:
        return None
    rows, r, local = found
    local = _in_space(local, F[rows], A_0 / r, space.groups, model)
    return _of(facts, situation, local, A_0 / r)


def _metric(kernel: Kernel) -> Array:  # (D, D)
    """A_0."""
    A = np.diag(1.0 / kernel.lengthscales) if kernel.metric is None else kernel.metric
    _, singular, right = np.linalg.svd(A)
    least = max(1.0, float(singular[0]) / _MOST_STRETCH)
    return np.asarray(np.maximum(singular, least)[:, None] * right)


def _sizes(n: int, least: int) -> list[int]:
    sizes = []
    m = min(n // 2, _MOST)
    while m > least:
        sizes.append(m)
        m //= 2
    return [*sizes, least]


def _reduced(model: Model, order: Ints) -> tuple[Model, Ints]:
    """The model of all points on the nearest ones, without those in flight."""
    gp, rows = model.gp, np.sort(order[:_MOST])
    fewer = GP.given(gp.kernel, gp.F[rows], gp.z[rows], noise=gp.noise[rows], tau=gp.tau)
    return replace(model, gp=fewer), rows


def _left_out(found: tuple[Model, Ints], y: Array, E: Ints) -> Array:  # (e,)
    """log p(y_i | the others) of the points E."""
    model, rows = found
    gp, at = model.gp, np.searchsorted(rows, E)
    precision = np.diagonal(gp.factor.solve(np.eye(len(rows))))
    log_p = 0.5 * (np.log(precision / (2.0 * np.pi)) - gp.alpha**2 / precision)
    return np.asarray((log_p + model.warp.log_slope(y[rows]))[at])


def _fit(
    surrogate: Surrogate, situation: Situation, facts: Facts, y: Array, rows: Ints, W: Array
) -> Model | None:
    """A model of some rows; None where their values differ by rounding alone."""
    failed = facts.failed[rows]
    values = np.where(failed, np.max(y[rows][~failed]), y[rows])
    if np.ptp(values) <= _ROUNDING * np.max(np.abs(values)):
        return None
    data = Data(W[rows], situation.space.groups, values, None, failed)
    return fit_model(surrogate, data)


def _in_space(local: Model, F: Array, A: Array, groups: tuple[int, ...], model: Model) -> Model:
    """A model of features w / r = A (F - c) as one of the features F; it hands on the state of the
    model of all points."""
    gp, kernel = local.gp, local.gp.kernel
    B = np.diag(1.0 / kernel.lengthscales) if kernel.metric is None else kernel.metric
    metric = B @ A
    by_feature = 1.0 / np.sqrt(np.einsum("ij,ij->j", metric, metric))
    kernel = Kernel(kernel.name, by_feature, kernel.scale, metric)
    turned = GP.given(kernel, F, gp.z, noise=gp.noise, tau=gp.tau)
    lengthscales = np.empty(max(groups) + 1)
    lengthscales[list(groups)] = by_feature
    notes = (*model.notes, *local.notes, f"a closer look at {len(F)} points")
    return Model(turned, local.warp, lengthscales, model.state, notes)


def _of(facts: Facts, situation: Situation, local: Model, A: Array) -> Closeup:
    space, centre = situation.space, situation.centre
    Fp, columns = space.embed(facts.Zp), np.array(space.number_columns, dtype=np.intp)
    choices = np.setdiff1d(np.arange(space.d), columns)
    nearest = local.gp.kernel.squared_distances(space.embed(centre[None]), local.gp.F)[0]
    best = float(np.min(local.gp.z[nearest == np.min(nearest)]))
    best = min(best, *believed_values(local, situation.constraints, Fp))
    precision = _SIZE * (A.T @ A)[: len(columns), : len(columns)]
    # Beyond two standard deviations, that is r, the Gaussian is small.
    half = np.zeros(space.d)
    half[columns] = 2.0 * np.sqrt(np.diagonal(np.linalg.inv(precision)))
    return Closeup(
        replace(situation, objective=local.believing(Fp), best=best),
        SameChoices(Nearness(space, centre, columns, precision), centre, choices),
        (np.clip(centre - half, 0.0, 1.0), np.clip(centre + half, 0.0, 1.0)),
        _SHORTEST,
    )
