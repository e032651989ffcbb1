"""From a policy and a situation to the score that is maximised: the trade-off, put together.

Notation: p progress of the budget, tau = (p - p0) / (1 - p0) its share used after the design.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from headway.acquisition.feasibility import log_feasible
from headway.acquisition.improvement import log_ei, log_mes, log_poi, posterior_mean, ucb
from headway.acquisition.local import Heading, LocalTerm, Nearness
from headway.acquisition.score import Score, Term
from headway.arrays import Array
from headway.budget import Clock
from headway.closeup import Closeup
from headway.direction.belief import Belief
from headway.direction.heading import advance, directions, past
from headway.direction.updates import RULES, sampled
from headway.direction.vmf import Direction, resultant
from headway.history import Facts
from headway.policy import Policy
from headway.situation import Situation
from headway.space import Space
from headway.surrogate import Model
from headway.surrogate.gp import GP

# The standard deviation that a grid column keeps, in steps: so the nearest value stays in reach
# to the end, at a price of about 2 in log-acquisition.
_GRID_REACH = 0.5
# Within this share of a length-scale of its anchor a direction fades.
_SMOOTHING = 0.1
# Five standard deviations of the noise floor, which is what a believed point has left.
_CLEARLY = 5e-4
_NEUTRAL = "no direction: the local term is neutral"


def base_term(policy: Policy, situation: Situation, belief: Belief | None) -> Term:
    """The acquisition as a function of the objective's moments."""
    name = policy.acquisition
    if not isinstance(name, str):
        return partial(name, best=situation.best)
    if name == "ei":
        return partial(log_ei, best=situation.best)
    if name == "poi":
        return partial(log_poi, best=situation.best)
    if name == "ucb":
        return partial(ucb, kappa=policy.kappa)
    if name == "mes" and belief is not None:
        minima = belief.thinned_minima()
        if len(situation.taken) > len(situation.told):
            # A minimum above what points in flight are believed to return would make their copies
            # look worth asking.
            minima = np.minimum(minima, situation.best - _CLEARLY)
        return partial(log_mes, minima=minima)
    return posterior_mean


@dataclass(frozen=True, slots=True)
class Locality:
    """The local term of one step: a term of the score, or a region, and what is handed on."""

    term: LocalTerm | None = None
    weights: tuple[float, float] = (1.0, 1.0)
    region: tuple[Array, Array] | None = None  # low and high, (d,) each
    direction: Direction | None = None
    state: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def kappa_and_angle(self, z: Array) -> tuple[float | None, float | None]:  # (d,)
        """Of the direction, and how many degrees a point lies off it; None without one."""
        if self.direction is None or not isinstance(self.term, Heading):
            return None, None
        G = directions(z[None, self.term.columns], self.term.origin[self.term.columns])
        if not len(G):
            return self.direction.kappa, None
        cosine = float(np.clip(G[0] @ self.direction.theta, -1.0, 1.0))
        return self.direction.kappa, float(np.degrees(np.arccos(cosine)))


def feasibility_term(constraint: Model) -> Term:
    """log P(c <= 0): the level 0 of c, as the constraint's model sees it."""
    level = float(constraint.warp.forward(np.zeros(1))[0])
    return lambda mu, sigma: log_feasible(mu - level, sigma)


def score_of(situation: Situation, term: Term, locality: Locality) -> Score:
    """Acquisition, feasibility and local term; before a feasible point, feasibility alone."""
    parts: list[tuple[GP, Term]] = [(m.gp, feasibility_term(m)) for m in situation.constraints]
    if situation.feasible:
        parts.insert(0, (situation.objective.gp, term))
    return Score(situation.space, tuple(parts), locality.term, *locality.weights)


def is_finish(policy: Policy, clock: Clock, facts: Facts) -> bool:
    """In the last share of the budget, with no other greedy trial in flight."""
    return policy.finish > 0 and clock.progress >= 1.0 - policy.finish - 1e-12 and not facts.greedy


def greedy_score(closeup: Closeup) -> Score:
    """The posterior mean and feasibility, where the model holds."""
    return score_of(closeup.situation, posterior_mean, Locality(closeup.term))


def is_worn_out(policy: Policy, situation: Situation, z: Array) -> bool:  # (d,)
    """Whether the best point of an annealed region promises nothing that the model could tell."""
    if policy.local not in ("belief", "box") or not situation.feasible:
        return False
    promise = score_of(situation, partial(log_ei, best=situation.best), Locality())
    return bool(promise.value(z[None])[0] < policy.reopen)


def share_used(clock: Clock) -> float:
    """tau."""
    left = 1.0 - clock.design_progress
    return (clock.progress - clock.design_progress) / left if left > 0 else 1.0


def locality(policy: Policy, situation: Situation, belief: Belief | None, clock: Clock) -> Locality:
    """What keeps this step near the best point, or in a direction."""
    if policy.local == "direction" and belief is not None:
        return heading(policy, situation, belief, clock.progress)
    concentration = 1.0
    if belief is not None:
        # Codes of categories are names: another one is not near, whatever its length-scale.
        numbers = list(situation.space.number_columns)
        scales = np.ones(situation.space.d)
        scales[numbers] = situation.lengthscales[numbers]
        concentration = belief.concentration(situation.centre, scales)
    if policy.local == "box":
        size = policy.annealed_size(share_used(clock), concentration)
        return Locality(region=box(situation, size))
    if policy.local == "belief" and belief is not None:
        size = policy.annealed_size(share_used(clock), concentration)
        return Locality(nearness(situation, belief, size))
    return Locality()


def heading(policy: Policy, situation: Situation, belief: Belief, progress: float) -> Locality:
    """The paper's constraint: the direction from the last point, turned towards the belief."""
    columns = np.array(situation.space.number_columns, dtype=np.intp)
    if not len(columns):
        return Locality(notes=(_NEUTRAL,))
    told = situation.told[:, columns]
    anchor = situation.told[-1] if policy.anchor == "last" else situation.centre
    G = directions(belief.minimisers[:, columns], anchor[columns])
    weights = policy.weights(progress, resultant(G)[1] if len(G) else 0.0)
    scales = np.minimum(situation.lengthscales[columns], 1.0)
    smoothing = _SMOOTHING * float(np.exp(np.mean(np.log(scales))))
    handed_on = situation.handed_on.get("direction", {})
    if policy.rule == "sampled":
        last = past({}, told)
        if last is None or not len(G):
            return Locality(notes=(_NEUTRAL,))
        density = sampled(last.theta, G)
        term = Heading(situation.space, anchor, columns, density.log_density, smoothing)
        return Locality(term, weights, notes=(f"{density.share:.0%} of the directions accepted",))
    rule = RULES[policy.rule] if isinstance(policy.rule, str) else policy.rule
    direction, state = advance(rule, handed_on, told, G)
    if direction is None:
        return Locality(state=state, notes=(_NEUTRAL,))
    term = Heading(situation.space, anchor, columns, direction.log_density, smoothing)
    return Locality(term, weights, direction=direction, state=state)


def nearness(situation: Situation, belief: Belief, size: float) -> Nearness:
    """The annealed belief about the best point: shape by the belief, size by the budget."""
    space, centre = situation.space, situation.centre
    columns = np.array(space.number_columns, dtype=np.intp)
    precision = np.empty((0, 0))
    if len(columns):
        shape = belief.shape(centre, columns, np.minimum(situation.lengthscales, 1.0))
        reach = np.diag((_GRID_REACH * grid_steps(space)[columns]) ** 2)
        precision = np.asarray(np.linalg.inv(shape / size + reach))
    return Nearness(space, centre, columns, precision)


def grid_steps(space: Space) -> Array:  # (d,)
    """Width of a step of each grid column in the cube; 0 for the others."""
    counts = [parameter.count for parameter in space.parameters]
    numbers = set(space.number_columns)
    return np.array(
        [
            1.0 / (count - 1) if column in numbers and count is not None and count > 1 else 0.0
            for column, count in enumerate(counts)
        ]
    )


def box(situation: Situation, size: float) -> tuple[Array, Array]:
    """The annealed box about the best point: low and high, shaped by the length-scales."""
    lengthscales = np.minimum(situation.lengthscales, 1.0)
    shape = lengthscales / np.exp(np.mean(np.log(lengthscales)))
    half = np.maximum(0.5 * size * shape, grid_steps(situation.space))
    low = np.clip(situation.centre - half, 0.0, 1.0)
    return low, np.clip(situation.centre + half, 0.0, 1.0)
