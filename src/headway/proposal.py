"""What a proposal is made of and with: the settings of a run, the point, its reasons, its state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from headway.acquisition.improvement import log_ei
from headway.acquisition.score import Score
from headway.arrays import Array, keyed_rng
from headway.history import Facts
from headway.policy import Policy
from headway.scoring import Locality
from headway.search.design import first_points
from headway.situation import Situation, may_repeat
from headway.space import Space
from headway.surrogate import Surrogate
from headway.why import Why

# What a trial's random numbers are for; each use has its own, so that none shifts another's.
DESIGN, BELIEF, SEARCH, FINISH, REOPEN, CLOSER = range(6)
GREEDY = "posterior mean"
CLOSE = "closer look: the model of all points holds no improvement, that of the nearest does"
REOPENED = "re-opened: the region holds no improvement"


@dataclass(frozen=True, slots=True)
class Settings:
    """What does not change during a run."""

    policy: Policy
    surrogate: Surrogate
    seed: int
    design: int  # points of the initial design


@dataclass(frozen=True, slots=True)
class Proposal:
    """The next point, why it is that one, and what the next step is handed in plain numbers."""

    z: Array  # (d,)
    why: Why
    state: dict[str, Any]


def lacks_data(facts: Facts, design: int) -> bool:
    """The design is not asked yet, or nothing has a value to model."""
    return len(facts.Z) + len(facts.Zp) < design or bool(np.all(facts.failed))


def design_proposal(facts: Facts, space: Space, settings: Settings) -> Proposal:
    """The next point of the initial design: a Sobol sequence keyed by the seed alone."""
    taken = np.concatenate([facts.Z, facts.Zp])
    if may_repeat(facts, settings.surrogate) and space.size is not None:
        # Noisy values of a small space: each point as often as the others, and then once more.
        points, counts = np.unique(taken, axis=0, return_counts=True)
        taken = points[counts > len(taken) // space.size]
    z = first_points(space, keyed_rng(settings.seed, DESIGN), taken, start=facts.n_asked)
    state = {name: facts.state[name] for name in ("fits", "direction") if name in facts.state}
    return Proposal(z, Why("initial design"), state)


def explained(
    z: Array,  # (d,)
    score: Score,
    situation: Situation,
    locality: Locality,
    decided: str,
) -> Proposal:
    """The point with its reasons and the state to hand on."""
    model, space = situation.objective, situation.space
    mu, sigma = model.gp.predict(space.embed(z[None]))
    mean, sd = model.in_units(float(mu[0]), float(sigma[0]))
    F = space.embed(np.stack([z, situation.centre]))
    kappa, angle = locality.kappa_and_angle(z)
    why = Why(
        decided,
        mean=mean,
        sd=sd,
        log_ei=float(log_ei(mu, sigma, best=situation.best)[0][0]) if situation.feasible else None,
        local=score.local_share(z),
        distance=float(np.linalg.norm((F[0] - F[1]) / model.gp.kernel.lengthscales)),
        kappa=kappa,
        angle=angle,
        notes=model.notes + locality.notes,
    )
    state = {
        **situation.state,
        # A step without a direction of its own, such as a greedy one, passes it on.
        "direction": dict(locality.state or situation.handed_on.get("direction", {})),
        "greedy": decided in (GREEDY, CLOSE),
        "reopened": decided == REOPENED,
    }
    return Proposal(z, why, state)
