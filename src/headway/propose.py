"""READ THIS FIRST. How the next point is chosen, as one straight line.

History -> Space.encode -> Budget.progress -> GP.fit -> Belief -> score -> maximize -> Space.decode.
`Facts` come encoded from the history and the clock from the budget; the optimizer decodes the
point, the user evaluates it and tells the value, which becomes a fact. No step reaches back. A
proposal is a pure function of (facts, space, settings, clock, trial id): randomness is keyed by the
seed and the trial id, what a step hands on is plain numbers, and the cache only saves time.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from functools import partial
from typing import Any

import numpy as np

from headway.arrays import keyed_rng
from headway.budget import Clock
from headway.closeup import Closeup, close_up
from headway.history import Facts
from headway.proposal import (
    BELIEF,
    CLOSE,
    CLOSER,
    FINISH,
    GREEDY,
    REOPEN,
    REOPENED,
    SEARCH,
    Proposal,
    Settings,
    design_proposal,
    explained,
    lacks_data,
)
from headway.scoring import (
    Locality,
    base_term,
    greedy_score,
    is_finish,
    is_worn_out,
    locality,
    score_of,
)
from headway.search.maximize import maximize
from headway.situation import assess, believe, search_of
from headway.space import Space


@np.errstate(all="warn", under="ignore")  # as numpy has it, whatever the user's program set
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
    if lacks_data(facts, settings.design):
        return design_proposal(facts, space, settings)
    policy, rng = settings.policy, partial(keyed_rng, settings.seed, trial_id)
    situation = assess(facts, space, settings.surrogate, cache)
    search = search_of(situation)
    if is_finish(policy, clock, facts):
        closeup = close_up(policy, facts, situation, settings.surrogate) or Closeup(situation)
        score = greedy_score(closeup)
        found = maximize(score, closeup.search(search), rng(FINISH))
        if closeup.is_new(found.z):
            return explained(found.z, score, closeup.situation, Locality(), GREEDY)
    belief = believe(policy, situation, search, rng(BELIEF))
    local = locality(policy, situation, belief, clock)
    term = base_term(policy, situation, belief)
    score = score_of(situation, term, local)
    found = maximize(score, search.within(local.region), rng(SEARCH))
    if not is_worn_out(policy, situation, found.z):
        return explained(found.z, score, situation, local, str(policy))
    nearer = close_up(policy, facts, situation, settings.surrogate)
    if nearer is not None and not facts.greedy:
        closer = greedy_score(nearer)
        close = maximize(closer, nearer.search(search), rng(CLOSER))
        if nearer.is_new(close.z) and not is_worn_out(policy, nearer.situation, close.z):
            return explained(close.z, closer, nearer.situation, Locality(), CLOSE)
    if not facts.state.get("reopened", False):
        local = Locality()
        score = score_of(situation, term, local)
        found = maximize(score, search, rng(REOPEN))
        return explained(found.z, score, situation, local, REOPENED)
    return explained(found.z, score, situation, local, str(policy))
