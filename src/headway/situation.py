"""What is known when a point is proposed: the models, the best point, the points in flight.

Notation: Z (n, d) finished points, y (n,) to minimise, c (n, k) constraints, met when c <= 0,
Zp (p, d) pending points. Failed trials count as the worst value seen. Pending points are believed
to return the model's mean, which takes their variance away and moves nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from headway.arrays import Array, Bools
from headway.direction.belief import Belief
from headway.history import Facts
from headway.policy import Policy
from headway.search.maximize import Search, candidates
from headway.space import Space
from headway.surrogate import Data, Model, Surrogate, fit_model

# What looking at the raw points may cost, in multiplications: about half a second.
_MULTIPLICATIONS = 2e9
# A value beyond it is taken as this one; nothing below it is changed.
_LARGEST = 1e307


@dataclass(frozen=True, slots=True)
class Situation:
    """The models with pending points believed, and the point to improve on."""

    space: Space
    objective: Model
    constraints: tuple[Model, ...]
    told: Array  # (n, d) in the order in which they finished
    taken: Array  # (n + p, d)
    feasible: bool  # whether some told point meets every constraint
    centre: Array  # (d,) the best point, or the least infeasible one
    best: float  # z to improve on: the best feasible value, believed ones included
    repeats: bool  # whether asking a told point again may teach something
    handed_on: Mapping[str, Any]  # by the step before

    @property
    def state(self) -> dict[str, Any]:
        """What the next fits start from."""
        models = (self.objective, *self.constraints)
        return {"fits": [model.state for model in models]}

    @property
    def lengthscales(self) -> Array:  # (d,)
        return self.objective.lengthscales


def assess(
    facts: Facts, space: Space, surrogate: Surrogate, cache: MutableMapping[str, Any]
) -> Situation:
    """Fit every model to the facts and find the point to improve on."""
    F, groups = space.embed(facts.Z), space.groups
    told = ~facts.failed
    y = values_of(facts)
    C = _bounded(facts.constraints)
    fits = facts.state.get("fits", [None] * (1 + facts.constraints.shape[1]))
    caches = [cache.setdefault(f"model {i}", {}) for i in range(len(fits))]
    Fp = space.embed(facts.Zp)
    objective = fit_model(
        surrogate, Data(F, groups, y, facts.variance, facts.failed), state=fits[0], cache=caches[0]
    )
    constraints = tuple(
        fit_model(
            surrogate.for_constraint(),
            Data(F[told], groups, C[told, i], None),
            state=fits[i + 1],
            cache=caches[i + 1],
        )
        for i in range(facts.constraints.shape[1])
    )
    feasible = told & np.all(facts.constraints <= 0.0, axis=1)
    # Noise that is only guessed from the values decides on the best point, not on asking again.
    known = may_repeat(facts, surrogate)
    noisy = known or bool(objective.state["noisy"])
    row = _best_row(objective, F, feasible, noisy=noisy)
    if row is None:
        row = _least_infeasible(C, told)
    best = objective.gp.posterior_mean(F[row : row + 1])[0] if noisy else objective.gp.z[row]
    # A pending point that is believed to improve leaves its copies nothing to gain.
    best = min(best, *believed_values(objective, constraints, Fp))
    return Situation(
        space,
        objective.believing(Fp),
        tuple(model.believing(Fp) for model in constraints),
        facts.Z,
        np.concatenate([facts.Z, facts.Zp]),
        bool(np.any(feasible)),
        facts.Z[row],
        float(best),
        known,
        facts.state,
    )


def search_of(situation: Situation) -> Search:
    """Where and how hard to look; the work is bounded as data grow."""
    d, n = situation.space.d, len(situation.taken)
    return Search(
        situation.space,
        situation.centre,
        np.clip(situation.lengthscales, 1e-3, 1.0),
        situation.taken,
        np.zeros(d),
        np.ones(d),
        # A triangular solve for each point looked at.
        raw=int(np.clip(_MULTIPLICATIONS / n**2, 64, 1000)),
        starts=int(np.clip(4 + d // 2, 4, 12)),
        iterations=60,
        repeats=situation.repeats,
    )


def believe(
    policy: Policy, situation: Situation, search: Search, rng: np.random.Generator
) -> Belief | None:
    """The belief about the optimum, where the policy wants one."""
    if not policy.needs_belief:
        return None
    count = min(policy.places, search.raw)
    Z = np.concatenate([situation.centre[None], candidates(search, rng, count - 1)])
    gp = situation.objective.gp
    return Belief.of(Z, gp.sample(situation.space.embed(Z), policy.draws, rng))


def may_repeat(facts: Facts, surrogate: Surrogate) -> bool:
    """Whether the values are known to be noisy, so that a point may be asked again."""
    return facts.variance is not None or (surrogate.noise != "auto" and surrogate.noise > 0)


def values_of(facts: Facts) -> Array:  # (n,)
    """What is modelled: the told values, and the worst of them for failed trials."""
    told = ~facts.failed
    return _bounded(np.where(told, facts.y, np.max(facts.y[told])))


def believed_values(objective: Model, constraints: tuple[Model, ...], Fp: Array) -> list[float]:
    """The values z that pending points are believed to return, where they are feasible."""
    met = np.ones(len(Fp), dtype=bool)
    for model in constraints:
        met &= model.gp.posterior_mean(Fp) <= model.warp.forward(np.zeros(1))
    return [np.inf, *objective.gp.posterior_mean(Fp)[met].tolist()]


def _bounded(y: Array) -> Array:
    """Values that leave their sums and differences room in a float: 1.8e308 is a usual penalty."""
    return np.clip(y, -_LARGEST, _LARGEST)


def _best_row(objective: Model, F: Array, feasible: Bools, *, noisy: bool) -> int | None:
    """The best feasible point: by value, or by posterior mean where values are noisy."""
    rows = np.flatnonzero(feasible)
    if not len(rows):
        return None
    value = objective.gp.posterior_mean(F[rows]) if noisy else objective.gp.z[rows]
    return int(rows[int(np.argmin(value))])


def _least_infeasible(constraints: Array, told: Bools) -> int:
    """The told point with the smallest violation, each constraint in units of its own spread."""
    violation = np.maximum(constraints[told], 0.0)
    spread = np.ptp(constraints[told], axis=0)
    total = np.sum(violation / np.where(spread > 0, spread, 1.0), axis=1)
    return int(np.flatnonzero(told)[int(np.argmin(total))])
