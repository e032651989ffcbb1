"""From a policy and a situation to the score that is maximised: the trade-off, put together.

Notation: p progress of the budget, tau = (p - p0) / (1 - p0) its share used after the design.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from headway.acquisition.feasibility import log_feasible
from headway.acquisition.improvement import log_ei, log_mes, log_poi, posterior_mean, ucb
from headway.acquisition.local import LocalTerm, Nearness
from headway.acquisition.score import Score, Term
from headway.arrays import Array
from headway.direction.belief import Belief
from headway.policy import Policy
from headway.search.maximize import Search
from headway.situation import Situation
from headway.space import Space

# The standard deviation that a grid column keeps, in steps: so the nearest value stays in reach
# to the end, at a price of about 2 in log-acquisition.
_GRID_REACH = 0.5


def base_term(policy: Policy, situation: Situation, minima: Array | None) -> Term:
    """The acquisition as a function of the objective's moments."""
    name = policy.acquisition
    if name == "ei":
        return partial(log_ei, best=situation.best)
    if name == "poi":
        return partial(log_poi, best=situation.best)
    if name == "ucb":
        return partial(ucb, kappa=policy.kappa)
    if name == "mes" and minima is not None:
        return partial(log_mes, minima=minima)
    return posterior_mean


def score_of(situation: Situation, term: Term, local: LocalTerm | None) -> Score:
    """Acquisition, feasibility and local term; before a feasible point, feasibility alone."""
    parts = [(model.gp, log_feasible) for model in situation.constraints]
    if situation.feasible:
        parts.insert(0, (situation.objective.gp, term))
    return Score(situation.space, tuple(parts), local)


def nearness(policy: Policy, situation: Situation, belief: Belief, tau: float) -> Nearness:
    """The annealed belief about the best point: shape by the belief, size by the budget."""
    space, centre = situation.space, situation.centre
    columns = np.array(space.number_columns, dtype=np.intp)
    precision = np.empty((0, 0))
    if len(columns):
        shape = belief.shape(centre, columns, np.minimum(situation.lengthscales, 1.0))
        spread = shape / policy.annealed_size(tau)
        spread += np.diag((_GRID_REACH * grid_steps(space)[columns]) ** 2)
        precision = np.linalg.inv(spread)
    odds = tuple(
        (column, _odds(belief, space, column, int(centre[column]), tau))
        for column in range(space.d)
        if column not in space.number_columns
    )
    return Nearness(space, centre, columns, precision, odds)


def _odds(belief: Belief, space: Space, column: int, own: int, tau: float) -> Array:
    """Log odds of each choice against the centre's, never above 0, growing with tau."""
    shares = belief.shares(column, space.parameters[column].count or 1)
    return (1.0 + 3.0 * tau) * np.minimum(np.log(shares / shares[max(own, 0)]), 0.0)


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


def boxed(policy: Policy, situation: Situation, search: Search, tau: float) -> Search:
    """The annealed box: the search held to a box about the best point, shaped by length-scales."""
    lengthscales = np.minimum(situation.lengthscales, 1.0)
    shape = lengthscales / np.exp(np.mean(np.log(lengthscales)))
    half = np.maximum(0.5 * policy.annealed_size(tau) * shape, grid_steps(situation.space))
    low = np.clip(situation.centre - half, 0.0, 1.0)
    high = np.clip(situation.centre + half, 0.0, 1.0)
    return replace(search, low=low, high=high)


