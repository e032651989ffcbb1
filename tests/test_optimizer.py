"""Optimizer.ask and tell: the ledger, what it refuses, and that a reloaded one goes on alike."""

import hashlib
import json
import math
from dataclasses import replace

import numpy as np
import pytest

import headway.optimizer
from headway.budget import Budget
from headway.errors import (
    BudgetError,
    BudgetSpent,
    CheckpointError,
    SettingError,
    SpaceError,
    SpaceExhausted,
    TellError,
)
from headway.optimizer import Optimizer
from headway.outcome import Outcome
from headway.parameters import Categorical, Integer, Real
from headway.policy import Policy
from headway.propose import Proposal
from headway.surrogate import Surrogate
from headway.trial import Trial
from headway.why import Why

SPACE = {"a": (0.0, 1.0), "k": Integer(1, 4), "c": Categorical(["u", "v"])}
PAIRS = [(0, 1), (-2, 2)]


@pytest.fixture(autouse=True)
def proposals(monkeypatch):
    """Proposals that are a hash of all that a proposal may depend on."""

    def propose(facts, space, settings, *, clock, trial_id, cache):
        arrays = (facts.Z, facts.y, facts.failed, facts.constraints, facts.Zp, facts.ids)
        seen = [a.tobytes() for a in arrays]
        seen += [repr((facts.variance, facts.state, facts.n_asked, clock, trial_id)).encode()]
        seen += [repr((settings.seed, settings.design)).encode()]
        digest = hashlib.sha256(b"".join(seen)).digest()
        rng = np.random.default_rng(list(digest))
        z = space.from_unit(rng.random((1, space.d)))[0]
        cache["last"] = trial_id
        return Proposal(z, Why("stub", mean=1.5, log_ei=-math.inf), {"drawn": float(rng.random())})

    monkeypatch.setattr(headway.optimizer, "propose", propose)


@pytest.fixture
def clock(monkeypatch):
    class Clock:
        now = 1000.0

    monkeypatch.setattr(headway.optimizer, "monotonic", lambda: Clock.now)
    return Clock


# Asking


def test_ask_returns_a_trial_in_the_users_form():
    trial = Optimizer(SPACE, budget=5).ask()
    assert isinstance(trial, Trial) and trial.id == 0 and trial.x == trial.params
    assert list(trial.params) == ["a", "k", "c"] and trial.why.decided == "stub"
    trial = Optimizer(PAIRS, budget=5).ask()
    assert list(trial.params) == ["x0", "x1"]
    np.testing.assert_array_equal(trial.x, list(trial.params.values()))
    trial.x[0] = 99.0
    assert trial.params["x0"] != 99.0
    assert repr(trial) == f"Trial(id=0, params={trial.params})"


def test_ask_for_several_returns_what_the_budget_holds():
    opt = Optimizer(SPACE, budget=5)
    assert [trial.id for trial in opt.ask(3)] == [0, 1, 2]
    assert [trial.id for trial in opt.ask(9)] == [3, 4]
    assert opt.done
    with pytest.raises(BudgetSpent, match=r"5 of 5 evaluations \(5 of them still running\)"):
        opt.ask(1)
    with pytest.raises(BudgetSpent, match=r"`done` tells beforehand\. extend\(budget\)"):
        opt.ask()
    assert [trial.id for trial in opt.pending] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("n", [0, -1, 1.5, True, "2"])
def test_ask_for_a_number_that_is_none(n):
    with pytest.raises(SettingError, match=r"n is .*Allowed: a whole number of at least 1"):
        Optimizer(SPACE, budget=5).ask(n)


def test_a_trial_held_by_the_user_cannot_change_the_record():
    opt = Optimizer(SPACE, budget=5)
    trial = opt.ask()
    before = dict(trial.params)
    trial.params["a"] = 77.0
    trial.params.pop("c")
    opt.history[0].params["a"] = 77.0
    assert trial.params == trial.x == opt.history[0].params == before
    with pytest.raises(TellError, match="trial 0 is of another optimizer"):
        opt.tell(Optimizer(SPACE, budget=5, seed=1).ask(), 1.0)
    opt.tell(trial, 1.0)


def test_a_choice_that_is_a_list_can_be_changed_by_nobody():
    choices = [[1], [2, 3]]
    opt = Optimizer({"layers": Categorical(choices), "a": (0.0, 1.0)}, budget=9)
    choices[0].append(99)
    for _ in range(9):
        trial = opt.ask()
        trial.params["layers"].append(99)
        trial.x["layers"].append(99)
        opt.tell(trial, 1.0).params["layers"].append(99)
    assert all(r.params["layers"] in ([1], [2, 3]) for r in opt.history)
    assert Optimizer.from_json(opt.to_json()).history == opt.history


def test_trials_can_be_keys():
    opt = Optimizer({"layers": Categorical([[1], [2, 3]]), "a": (0.0, 1.0)}, budget=4)
    trials = opt.ask(4)
    assert {trial: trial.id for trial in trials}[opt.pending[2]] == 2


# Telling


def test_tell_by_trial_or_id_in_any_order():
    opt = Optimizer(SPACE, budget=5)
    trials = opt.ask(3)
    assert opt.tell(trials[2], 3.0).status == "told"
    opt.tell(0, 1.0)
    opt.tell(np.int64(1), 2.0)
    assert opt.history.order == (2, 0, 1) and not opt.pending
    assert opt.best.id == 0 and opt.best.value == 1.0


def test_the_maximum_keeps_its_sign():
    opt = Optimizer(SPACE, budget=5, direction="maximize")
    opt.tell(opt.ask(), 1.0)
    opt.tell(opt.ask(), 2.0)
    assert opt.best.value == 2.0
    assert opt.history.facts("maximize").y.tolist() == [-1.0, -2.0]
    assert opt.ask().why.mean == -1.5
    assert json.loads(opt.to_json())["events"][1]["value"] == 1.0


def test_a_trial_told_twice_or_unknown_or_of_another_kind():
    opt = Optimizer(SPACE, budget=5)
    with pytest.raises(TellError, match=r"trial 0 is unknown\. Allowed: none, as nothing was ask"):
        opt.tell(0, 1.0)
    trial = opt.ask()
    opt.tell(trial, 1.25)
    with pytest.raises(TellError, match=r"trial 0 was already told 1\.25\. Allowed: a trial that"):
        opt.tell(trial, 1.0)
    with pytest.raises(TellError, match=r"trial 7 is unknown\. Allowed: 0 to 0"):
        opt.tell(7, 1.0)
    with pytest.raises(TellError, match=r"trial -1 is unknown"):
        opt.tell(-1, 1.0)
    with pytest.raises(TellError, match=r"trial True is unknown"):
        opt.tell(True, 1.0)
    with pytest.raises(TellError, match=r"the trial is 'a', of type str\. Allowed: a Trial or its"):
        opt.tell("a", 1.0)
    with pytest.raises(TellError, match="trial 0 was already told"):
        opt.cancel(trial)
    opt.tell_known({"a": 0.0, "k": 1, "c": "u"}, 3.0)
    with pytest.raises(TellError, match="1 is a known point, not a trial"):
        opt.tell(1, 1.0)


@pytest.mark.parametrize("value", ["1", None, 1j, [1.0], np.ones(2), math.nan, math.inf])
def test_a_bad_value_changes_nothing(value):
    opt = Optimizer(SPACE, budget=5)
    trial = opt.ask()
    with pytest.raises(TellError, match="the value of trial 0 is"):
        opt.tell(trial, value)
    assert opt.history[0].status == "running" and len(opt.events) == 1


def test_failures():
    opt = Optimizer(SPACE, budget=5)
    record = opt.tell(opt.ask(), failed=True, error="no mesh")
    assert (record.status, record.error, record.value) == ("failed", "no mesh", None)
    assert opt.tell(opt.ask(), failed=True).error is None
    trial = opt.ask()
    with pytest.raises(TellError, match="trial 2 was told failed=True and value as well"):
        opt.tell(trial, 1.0, failed=True)
    with pytest.raises(TellError, match="told the error 'x' without failed=True"):
        opt.tell(trial, 1.0, error="x")
    assert opt.best is None


def test_constraints_cost_and_variance():
    opt = Optimizer(SPACE, budget=5, constraints=2)
    opt.tell(opt.ask(), 1.0, constraints=[0.5, -1], cost=3.1, variance=0.01)
    opt.tell(opt.ask(), Outcome(2.0, (-1, -1), cost=1))
    first, second = opt.history
    assert first.constraints == (0.5, -1.0) and first.cost == 3.1 and first.variance == 0.01
    assert opt.best == second
    with pytest.raises(TellError, match=r"trial 2 was told 0 constraints\. Allowed: 2"):
        opt.tell(opt.ask(), 1.0)


# The ledger


def test_cancel_gives_back_and_a_late_tell_spends():
    opt = Optimizer(SPACE, budget=2)
    first, second = opt.ask(2)
    opt.cancel(first)
    assert not opt.done
    third = opt.ask()
    assert third.id == 2 and opt.done
    opt.tell(first, 5.0)  # late: accepted, and spends
    opt.tell(second, 1.0)
    opt.tell(third, 2.0)
    assert opt.message == "The budget is spent: 3 of 2 evaluations."
    with pytest.raises(TellError, match="trial 0 was already told 5"):
        opt.tell(first, 5.0)


def test_a_trial_cancelled_twice():
    opt = Optimizer(SPACE, budget=2)
    trial = opt.ask()
    opt.cancel(trial)
    with pytest.raises(TellError, match=r"trial 0 was already cancelled\. Allowed: .* running"):
        opt.cancel(trial)


def test_known_points_cost_nothing_and_start_points_spend():
    x0 = [{"a": 0.3, "k": 2, "c": "v"}, {"a": 1, "k": np.int64(4), "c": "u"}]
    opt = Optimizer(SPACE, budget=3, x0=x0)
    opt.tell_known({"a": 0.5, "k": 1, "c": "u"}, 0.5)
    opt.tell_known({"a": 0.6, "k": 1, "c": "u"}, failed=True, error="no mesh")
    trials = opt.ask(9)
    assert [t.id for t in trials] == [2, 3, 4]
    assert trials[0].params == {"a": 0.3, "k": 2, "c": "v"}
    assert trials[1].params == {"a": 1.0, "k": 4, "c": "u"}
    assert type(trials[1].params["k"]) is int and type(trials[1].params["a"]) is float
    assert str(trials[0].why) == "a point to try first (x0)"
    assert opt.best.value == 0.5 and opt.best.source == "known"
    assert [r.source for r in opt.history] == ["known", "known", "x0", "x0", "asked"]


def test_start_points_of_an_array():
    for x0 in ([0.5, 1.0], np.array([0.5, 1.0]), [[0.5, 1.0]], np.array([[0.5, 1.0]])):
        np.testing.assert_array_equal(Optimizer(PAIRS, 3, x0=x0).ask().x, [0.5, 1.0])


@pytest.mark.parametrize(
    ("x0", "message"),
    [
        ([[0.5, 1.0], [0.5, 3.0]], r"x0\[1\] is \[0\.5, 3\.0\], not a point of the space"),
        ([0.5], r"x0\[0\] is \[0\.5\], not a point"),
        ([[0.5, math.nan]], r"x0\[0\] is .* not a point"),
        ("ab", "x0 is 'ab'. Allowed: a point of the space, or a list"),
        (3, "x0 is 3. Allowed: a point"),
        (np.array(3.0), r"x0 is array\(3\.\)\. Allowed: a point"),
    ],
)
def test_x0_outside_the_space(x0, message):
    with pytest.raises(SpaceError, match=message):
        Optimizer(PAIRS, 3, x0=x0)


def test_more_start_points_than_budget():
    with pytest.raises(SettingError, match=r"x0 has 2 points and the budget 1 evaluations"):
        Optimizer(PAIRS, 1, x0=[[0, 0], [1, 1]])


def test_a_known_point_outside_the_space():
    with pytest.raises(SpaceError, match=r"the known point is \[2, 0\], not a point of the space"):
        Optimizer(PAIRS, 3).tell_known([2, 0], 1.0)


def test_a_budget_raised_in_mid_run():
    opt = Optimizer(SPACE, budget=2)
    for trial in opt.ask(2):
        opt.tell(trial, 1.0)
    with pytest.raises(BudgetError, match="the new budget of 1 evaluations is smaller than the 2"):
        opt.extend(1)
    opt.extend(4)
    assert not opt.done and opt.budget == Budget(4) and len(opt.ask(9)) == 2
    again = Optimizer.from_json(opt.to_json())
    assert again.budget == Budget(4) and again.done


def test_seconds_count_from_the_first_ask_and_over_sessions(clock):
    opt = Optimizer(SPACE, budget=Budget(seconds=100))
    clock.now += 500  # nothing is active yet
    trial = opt.ask()
    clock.now += 60
    opt.tell(trial, 1.0)
    assert opt.seconds == 60.0 and opt.history[0].ended_at == 60.0
    text = opt.to_json()
    clock.now += 1e6
    again = Optimizer.from_json(text)
    assert again.seconds == 60.0
    trial = again.ask()
    clock.now += 39
    assert not again.done
    clock.now += 2
    assert again.done
    with pytest.raises(BudgetSpent, match="101 s of 100 s"):
        again.ask()
    again.tell(trial, 1.0)  # what is running may be told


def test_a_reloaded_optimizer_with_a_running_trial_is_active_at_once(clock):
    opt = Optimizer(SPACE, budget=Budget(seconds=100))
    opt.ask()
    again = Optimizer.from_json(opt.to_json())
    clock.now += 7
    assert again.tell(0, 1.0).ended_at == 7.0


def test_a_cost_budget():
    opt = Optimizer(SPACE, budget=Budget(cost=10))
    opt.tell(opt.ask(), 1.0, cost=4)
    trial = opt.ask()
    with pytest.raises(TellError, match=r"trial 1 was told without its cost, and the budget is 10"):
        opt.tell(trial, 1.0)
    # A failure of unknown cost is charged the mean, so that the run ends.
    assert opt.tell(trial, failed=True).cost == 4.0
    assert not opt.done
    opt.tell(opt.ask(), 1.0, cost=2)
    assert opt.done and opt.message == "The budget is spent: cost 10 of 10."


# Finite spaces


def test_a_finite_space_ends_when_all_is_asked_for(monkeypatch):
    def first_free(facts, space, *args, **kwargs):
        taken = {tuple(z) for z in np.concatenate([facts.Z, facts.Zp])}
        free = [z for z in space.enumerate(100) if tuple(z) not in taken]
        return Proposal(free[0], Why("free"), {})

    monkeypatch.setattr(headway.optimizer, "propose", first_free)
    space = {"k": Integer(1, 2), "c": Categorical(["u", "v"])}
    known = {"k": 2, "c": "v"}
    opt = Optimizer(space, budget=50, x0=[known, {"k": 1, "c": "u"}])
    opt.tell_known(known, 1.0)
    trials = opt.ask(10)
    assert len(trials) == 3  # the known start point is not asked for again
    assert opt.done
    with pytest.raises(SpaceExhausted, match="all 4 points of the space have been asked for"):
        opt.ask()
    opt.cancel(trials[0])
    assert not opt.done and opt.ask().params == trials[0].params
    opt.tell(trials[0], failed=True)  # cancelled, and told late
    assert opt.done
    assert "Every point of the space is evaluated, all 4: " in opt.message
    assert Optimizer.from_json(opt.to_json()).done


def test_a_noisy_finite_space_may_be_asked_again():
    opt = Optimizer({"k": Integer(1, 2)}, budget=9, noise=0.1)
    assert len(opt.ask(9)) == 9
    opt = Optimizer({"k": Integer(1, 2)}, budget=9)
    opt.tell_known({"k": 1}, 1.0, variance=0.5)  # told variances are noise
    assert len(opt.ask(9)) == 9


# Settings


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"seed": -1}, "seed is -1. Allowed: a whole number of at least 0"),
        ({"seed": 1.0}, r"seed is 1\.0"),
        ({"design": 0}, "design is 0. Allowed: a whole number of at least 1"),
        ({"constraints": -1}, "constraints is -1"),
        ({"constraints": True}, "constraints is True"),
        ({"direction": "max"}, "direction is 'max'. Allowed: 'minimize' or 'maximize'"),
        ({"direction": np.array(["a", "b"])}, "direction is array.*Allowed: 'minimize' or"),
        ({"policy": "ei"}, r"policy is 'ei', of type str. Allowed: a headway\.Policy"),
        ({"surrogate": "rbf"}, r"surrogate is 'rbf', of type str. Allowed: a headway\.Surrogate"),
        ({"noise": -1}, "noise is -1"),
    ],
)
def test_bad_settings(setting, message):
    with pytest.raises(SettingError, match=message):
        Optimizer(SPACE, 5, **setting)


def test_defaults():
    opt = Optimizer(SPACE, 5)
    assert opt.seed == 0 and opt.settings.design == 4 and opt.settings.policy == Policy.default()
    assert Optimizer([(0, 1)], 5).settings.design == 2
    assert Optimizer(SPACE, 5, noise=0).settings.surrogate == replace(Surrogate(), noise=0)
    drawn = Optimizer(SPACE, 5, seed=None)
    assert Optimizer.from_json(drawn.to_json()).seed == drawn.seed
    assert drawn.seed != Optimizer(SPACE, 5, seed=None).seed


# Storage


def play(opt, steps, rng):
    """A history of every kind of event."""
    for _ in range(steps):
        running = [trial.id for trial in opt.pending]
        act = rng.integers(7)
        if act <= 2 and not opt.done:
            opt.ask()
        elif act == 3 and running:
            opt.tell(int(rng.choice(running)), rng.normal(), variance=rng.random())
        elif act == 4 and running:
            opt.tell(int(rng.choice(running)), failed=True, error="é\n\ud800")
        elif act == 5 and running:
            opt.cancel(int(rng.choice(running)))
        elif act == 6:
            point = {"a": rng.random(), "k": int(rng.integers(1, 5)), "c": "u"}
            opt.tell_known(point, rng.normal())
        yield


@pytest.mark.parametrize("seed", range(5))
def test_saved_at_any_point_the_next_trial_is_the_same(seed):
    x0 = [{"a": 1 / 3, "k": 2, "c": "v"}]
    space = {**SPACE, "r": Real(1e-5, 1e-1, log=True), "w": Real(0, 1, when=("c", "u"))}
    x0 = [{**x0[0], "r": 0.02}]
    opt = Optimizer(SPACE, 60, seed=seed, x0=[{"a": 1 / 3, "k": 2, "c": "v"}])
    wide = Optimizer(space, 9, seed=seed, x0=x0)
    wide.ask(3)
    assert Optimizer.from_json(wide.to_json()).ask() == wide.ask()
    for _ in play(opt, 60, np.random.default_rng(seed)):
        text = opt.to_json()
        one, two = Optimizer.from_json(text), Optimizer.from_json(text)
        assert one.history == opt.history and one.to_json() == text
        assert one.budget == opt.budget and one.done == opt.done
        if not one.done:
            first = one.ask()
            two._cache.clear()
            assert first == two.ask() and first.why == two.history[first.id].why
            assert one.history[first.id].state == two.history[first.id].state


def test_the_trial_depends_on_seed_and_id():
    trials = [Optimizer(SPACE, 5, seed=seed).ask().params for seed in (0, 1)]
    assert trials[0] != trials[1]


def test_json_is_plain_and_versioned():
    opt = Optimizer(SPACE, 5, seed=2**70)
    opt.tell(opt.ask(), 1.0)
    data = json.loads(opt.to_json(), parse_constant=pytest.fail)
    assert data["headway"] == 1 and data["seed"] == 2**70
    assert [e["event"] for e in data["events"]] == ["asked", "told"]
    # An infinite log EI has no place in JSON; memory holds what the file holds.
    assert data["events"][0]["why"] == {"decided": "stub", "mean": 1.5}
    assert opt.history[0].why == Why("stub", mean=1.5)


def halve(progress):
    return progress / 2


def test_a_callable_must_be_given_again():
    opt = Optimizer(SPACE, 5, policy=replace(Policy.default(), schedule=halve))
    text = opt.to_json()
    with pytest.raises(SettingError, match="halve"):
        Optimizer.from_json(text)
    again = Optimizer.from_json(text, callables={"halve": halve})
    assert again.settings == opt.settings


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.pop("space"), "cannot be read: KeyError: 'space'"),
        (lambda d: d.update(events=[{"event": "told"}]), "event 0 of the stored run"),
        (lambda d: d.update(budget={"hours": 1}), "cannot be read: TypeError"),
        (lambda d: d.update(events=5), "cannot be read"),
        (lambda d: d["events"].append({"event": "budget", "t": "a"}), "event 0 of the stored"),
        (lambda d: d["events"].append({"event": "budget", "t": 0}), "event 0 of the stored"),
    ],
)
def test_text_that_was_changed_by_hand(change, message):
    data = json.loads(Optimizer(SPACE, 5).to_json())
    change(data)
    with pytest.raises(CheckpointError, match=message):
        Optimizer.from_json(json.dumps(data))


@pytest.mark.parametrize(
    ("number", "name", "value", "message"),
    [
        (0, "index", 1, "x0 has no point 1"),
        (0, "index", None, "x0 has no point None"),
        (1, "value", True, "the value of trial 0 is True"),
        (1, "constraints", [], "trial 0 was told 0 constraints"),
        (1, "constraints", [1.0, 2.0], "trial 0 was told 2 constraints"),
        (1, "variance", -1.0, "the variance of trial 0 is -1"),
        (1, "cost", "much", "the cost of trial 0 is 'much'"),
        (2, "constraints", None, "the known point 1 was told 0 constraints"),
        (4, "cost", "much", "the cost of trial 2 is 'much'"),
    ],
)
def test_a_result_that_was_changed_by_hand(number, name, value, message):
    point = {"a": 0.5, "k": 2, "c": "u"}
    opt = Optimizer(SPACE, 5, constraints=1, x0=point)
    opt.tell(opt.ask(), 1.0, constraints=[-1.0])
    opt.tell_known(point, 2.0, constraints=[-1.0])
    opt.tell(opt.ask(), failed=True)
    data = json.loads(opt.to_json())
    data["events"][number][name] = value
    with pytest.raises(CheckpointError, match=f"event {number} of the stored run.*{message}"):
        Optimizer.from_json(json.dumps(data))


def test_a_failing_proposal_changes_nothing(monkeypatch):
    opt = Optimizer(SPACE, 5)
    opt.tell(opt.ask(), 1.0)
    text = opt.to_json()

    def fail(*args, **kwargs):
        raise np.linalg.LinAlgError("not positive definite")

    monkeypatch.setattr(headway.optimizer, "propose", fail)
    with pytest.raises(np.linalg.LinAlgError):
        opt.ask()
    assert opt.to_json() == text


def test_what_follows_an_optimizer_sees_every_event():
    seen = []
    opt = Optimizer(SPACE, 5)
    opt.follow(lambda events: seen.append(len(events)))
    opt.tell(opt.ask(), 1.0)
    opt.extend(6)
    opt.follow(None)
    opt.ask()
    assert seen == [1, 2, 3]


def test_replay_needs_a_new_optimizer():
    opt = Optimizer(SPACE, 5)
    opt.ask()
    with pytest.raises(SettingError, match="replay needs a new optimizer"):
        opt.replay([])


def test_messages():
    opt = Optimizer(SPACE, 2)
    assert opt.message == "Budget is left; used so far: 0 of 2 evaluations."
    opt.ask(2)
    assert opt.message == "The budget is spent: 2 of 2 evaluations (2 of them still running)."
