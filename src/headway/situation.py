"""What is known when a point is proposed: the models, the best point, the points in flight.

Notation: Z (n, d) finished points, y (n,) to minimise, c (n, k) constraints, met when c <= 0,
Zp (p, d) pending points. Failed trials count as the worst value seen. Pending points are believed
to return the model's mean, which takes their variance away and moves nothing else.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from headway.arrays import Array, Bools
from headway.history import Facts
from headway.space import Space
from headway.surrogate import Data, Model, Surrogate, fit_model


@dataclass(frozen=True, slots=True)
class Situation:
    """The models with pending points believed, and the point to improve on."""

    space: Space
    objective: Model
    constraints: tuple[Model, ...]
    taken: Array  # (n + p, d)
    feasible: bool  # whether some told point meets every constraint
    centre: Array  # (d,) the best point, or the least infeasible one
    best: float  # z to improve on: the best feasible value
    noisy: bool

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
    y = np.where(told, facts.y, np.max(facts.y[told]))
    fits = facts.state.get("fits", [None] * (1 + facts.constraints.shape[1]))
    caches = [cache.setdefault(f"model {i}", {}) for i in range(len(fits))]
    Fp = space.embed(facts.Zp)
    objective = fit_model(
        surrogate, Data(F, groups, y, facts.variance), state=fits[0], cache=caches[0]
    )
    constraints = tuple(
        fit_model(
            surrogate.for_constraint(),
            Data(F[told], groups, facts.constraints[told, i], None),
            state=fits[i + 1],
            cache=caches[i + 1],
        )
        for i in range(facts.constraints.shape[1])
    )
    feasible = told & np.all(facts.constraints <= 0.0, axis=1)
    noisy = bool(objective.state["noisy"]) or facts.variance is not None
    noisy |= surrogate.noise != "auto" and surrogate.noise > 0
    row = _best_row(objective, F, feasible, noisy=noisy)
    if row is None:
        row = _least_infeasible(facts.constraints, told)
    best = objective.gp.posterior_mean(F[row : row + 1])[0] if noisy else objective.gp.z[row]
    return Situation(
        space,
        objective.believing(Fp),
        tuple(model.believing(Fp) for model in constraints),
        np.concatenate([facts.Z, facts.Zp]),
        bool(np.any(feasible)),
        facts.Z[row],
        float(best),
        noisy,
    )


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
    spread = np.std(constraints[told], axis=0)
    total = np.sum(violation / np.where(spread > 0, spread, 1.0), axis=1)
    return int(np.flatnonzero(told)[int(np.argmin(total))])
