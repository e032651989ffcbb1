"""READ THIS FIRST. How the next point is chosen, as one straight line.

History -> Space.encode -> Budget.progress -> GP.fit -> Belief -> score -> maximize -> Space.decode.
`Facts` come encoded from the history, the clock from the budget; the optimizer decodes the point,
the user evaluates it and tells the value, which becomes a fact. No step reaches back. A proposal is
a pure function of (facts, space, settings, clock, trial id): randomness is keyed by the seed and
the trial id, what a step hands on is plain numbers in `state`, and the cache only saves time.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from headway.acquisition.improvement import log_ei, posterior_mean
from headway.acquisition.score import Score
from headway.arrays import Array, keyed_rng
from headway.budget import Clock
from headway.direction.belief import Belief
from headway.history import Facts
from headway.policy import Policy
from headway.scoring import base_term, boxed, nearness, score_of
from headway.search.design import first_points
from headway.search.maximize import Found, Search, candidates, maximize
from headway.situation import Situation, assess
from headway.space import Space
from headway.surrogate import Surrogate
from headway.why import Why

_DESIGN, _BELIEF, _SEARCH, _FINISH = range(4)  # what a trial's random numbers are for
# A greedy point nearer than this to a told one would teach nothing.
_GREEDY_GAP = 1e-6


@dataclass(frozen=True, slots=True)
class Settings:
    """What does not change during a run."""

    policy: Policy
    surrogate: Surrogate
    seed: int
    design: int  # points of the initial design


@dataclass(frozen=True, slots=True)
class Proposal:
    z: Array  # (d,)
    why: Why
    state: dict[str, Any]


def propose(
    facts: Facts,
    space: Space,
    settings: Settings,
    *,
    clock: Clock,
    trial_id: int,
    cache: MutableMapping[str, Any],
) -> Proposal:
    """The next point."""
    if _lacks_data(facts, settings):
        return _design_point(facts, space, settings)
    policy, rng = settings.policy, lambda use: keyed_rng(settings.seed, trial_id, use)
    situation = assess(facts, space, settings.surrogate, cache)
    search = search_of(situation)
    belief = belief_of(policy, situation, search, rng(_BELIEF))
    term = base_term(policy, situation, belief.minima if belief else None)
    local = None
    if policy.local == "box":
        search = boxed(policy, situation, search, tau_of(policy, clock))
    if policy.local == "belief" and belief:
        local = nearness(policy, situation, belief, tau_of(policy, clock))
    if _is_finish(policy, clock, facts):
        score = score_of(situation, posterior_mean, None)
        found = maximize(score, search, rng(_FINISH))
        if _gap(found.z, situation.taken) >= _GREEDY_GAP:
            return _proposal(found, score, situation, "posterior mean", greedy=True)
    score = score_of(situation, term, local)
    return _proposal(maximize(score, search, rng(_SEARCH)), score, situation, _name(policy))


def _lacks_data(facts: Facts, settings: Settings) -> bool:
    """The design is not asked yet, or nothing has a value to model."""
    known = len(facts.Z) + len(facts.Zp)
    return known < settings.design or bool(np.all(facts.failed))


def _design_point(facts: Facts, space: Space, settings: Settings) -> Proposal:
    taken = np.concatenate([facts.Z, facts.Zp])
    rng = keyed_rng(settings.seed, _DESIGN)
    z = first_points(space, rng, taken, start=facts.n_asked)
    return Proposal(z, Why("initial design"), dict(facts.state))


def search_of(situation: Situation) -> Search:
    """Where and how hard to look; the work is bounded as data grow."""
    d, n = situation.space.d, len(situation.taken)
    # A triangular solve for each point looked at: at most about 2e9 multiplications in all.
    raw = int(np.clip(2e9 / n**2, 64, 1000))
    return Search(
        situation.space,
        situation.centre,
        np.clip(situation.lengthscales, 1e-3, 1.0),
        situation.taken,
        np.zeros(d),
        np.ones(d),
        raw=raw,
        starts=int(np.clip(4 + d // 2, 4, 12)),
        iterations=60,
        repeats=situation.noisy,
    )


def belief_of(
    policy: Policy, situation: Situation, search: Search, rng: np.random.Generator
) -> Belief | None:
    """The belief about the optimum, where the policy wants one."""
    if policy.local != "belief" and policy.acquisition != "mes":
        return None
    Z = np.concatenate([situation.centre[None], candidates(search, rng, policy.places - 1)])
    gp = situation.objective.gp
    return Belief.of(Z, gp.sample(situation.space.embed(Z), policy.draws, rng))


def tau_of(policy: Policy, clock: Clock) -> float:
    """The share of the budget used after the design."""
    left = 1.0 - clock.design_progress
    return (clock.progress - clock.design_progress) / left if left > 0 else 1.0


def _is_finish(policy: Policy, clock: Clock, facts: Facts) -> bool:
    """In the last share of the budget, with no other greedy trial in flight."""
    return policy.finish > 0 and clock.progress >= 1.0 - policy.finish - 1e-12


def _gap(z: Array, taken: Array) -> float:
    return float(np.min(np.max(np.abs(taken - z), axis=1)))


def _name(policy: Policy) -> str:
    return policy.acquisition if policy.local is None else f"{policy.acquisition} + {policy.local}"


def _proposal(
    found: Found, score: Score, situation: Situation, decided: str, *, greedy: bool = False
) -> Proposal:
    """The point with its reasons."""
    z, model = found.z, situation.objective
    mu, sigma = model.gp.predict(situation.space.embed(z[None]))
    mean, sd = model.in_units(float(mu[0]), float(sigma[0]))
    away = situation.space.embed(np.stack([z, situation.centre]))
    distance = np.linalg.norm((away[0] - away[1]) / model.gp.kernel.lengthscales)
    local = score.local(z[None])[0][0] if score.local is not None else None
    why = Why(
        decided,
        mean,
        sd,
        float(log_ei(mu, sigma, best=situation.best)[0][0]) if situation.feasible else None,
        None if local is None else float(score.local_weight * local),
        float(distance),
        notes=model.notes,
    )
    return Proposal(z, why, {**situation.state, "greedy": greedy})
