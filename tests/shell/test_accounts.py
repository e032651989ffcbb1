"""What a study has spent, from its trials alone: every process must come to the same verdict."""

import random
from datetime import datetime, timedelta

import optuna
import pytest
from hypothesis import given
from hypothesis import strategies as st
from optuna.trial import TrialState

from headway.budget import Budget
from headway.optuna_trials import OVER
from headway.shell.accounts import Account, is_beyond, spends, state_of

START = datetime(2026, 1, 1)
STATES = {
    "told": TrialState.COMPLETE,
    "failed": TrialState.FAIL,
    "running": TrialState.RUNNING,
    "waiting": TrialState.WAITING,
    "void": TrialState.FAIL,
}


def trial_of(number, state="told", *, value=1.0, began=0.0, took=1.0, cost=None, limits=None):
    finished = STATES[state].is_finished()
    start = START + timedelta(seconds=began)
    trial = optuna.trial.create_trial(
        state=STATES[state],
        value=value if state == "told" else None,
        user_attrs={k: v for k, v in (("cost", cost), ("limits", limits)) if v is not None},
        system_attrs={OVER: True} if state == "void" else {},
    )
    trial.number = number
    trial.datetime_start = None if state == "waiting" else start
    trial.datetime_complete = start + timedelta(seconds=took) if finished else None
    return trial


def account(*trials, budget=None, goal="minimize"):
    return Account.of(trials, budget=budget, goal=goal)


@given(st.lists(st.sampled_from(list(STATES)), max_size=30), st.integers(1, 12))
def test_at_most_as_many_are_within_the_budget_as_it_holds(states, evaluations):
    """Whatever becomes of the others, and in whatever order the trials are read."""
    trials = [trial_of(number, state) for number, state in enumerate(states)]
    shuffled = random.Random(0).sample(trials, len(trials))
    budget = Budget(evaluations=evaluations)
    within = [t for t in trials if spends(t) and not is_beyond(t.number, shuffled, budget)]
    spending = [t for t in trials if spends(t)]
    assert within == spending[:evaluations]
    assert account(*shuffled, budget=budget).is_spent == (len(spending) >= evaluations)


def test_the_night_after_a_crash_is_not_active_time():
    """A trial whose worker died is told void when somebody looks, which may be hours later."""
    trials = [trial_of(0, took=2.0), trial_of(1, "void", began=2.0, took=40_000.0)]
    night = account(*trials, trial_of(2, "waiting"), budget=Budget(seconds=60.0))
    assert night.used.seconds == 2.0
    assert not night.is_spent


def test_without_a_limit_of_evaluations_nothing_is_beyond_it():
    assert not is_beyond(99, [trial_of(i) for i in range(99)], Budget(seconds=1.0))


def test_states_and_counts():
    found = account(*(trial_of(i, state) for i, state in enumerate(STATES)))
    assert [state_of(t) for t in (*found.trials, *found.unspent)] == list(STATES)
    used = found.used
    assert (used.evaluations, used.running) == (3, 1)
    assert [len(x) for x in (found.told, found.failed, found.waiting)] == [1, 1, 1]


def test_active_seconds_leave_out_the_nights():
    found = account(
        trial_of(0, began=0, took=10),
        trial_of(1, began=5, took=10),
        trial_of(2, "void", began=12, took=8),
        trial_of(3, began=3600, took=5),
        trial_of(4, "waiting"),
    )
    assert found.now == pytest.approx(20.0)


def test_a_failure_of_unknown_cost_is_charged_the_mean():
    trials = [trial_of(0, cost=2.0), trial_of(1, cost=4.0), trial_of(2, "failed")]
    found = account(*trials, budget=Budget(cost=9.0))
    assert found.cost == 9.0 and found.is_overdrawn
    assert account(trial_of(0)).cost == 0.0


def test_the_best_meets_its_constraints_and_is_the_first_of_equals():
    trials = [
        trial_of(0, value=1.0, limits={"s": 0.5}),
        trial_of(1, value=3.0, limits={"s": -0.5}),
        trial_of(2, value=2.0, limits={"s": 0.0}),
        trial_of(3, value=2.0, limits={"s": -1.0}),
    ]
    assert account(*trials).best.number == 2
    assert account(*trials, goal="maximize").best.number == 1
    assert account(trials[0]).best is None and account(trials[0]).nearest.number == 0
    assert account().nearest is None
