"""Proposals in a study: those of headway.Optimizer, whatever is kept in memory."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
import time

import numpy as np
import optuna
import pytest
from optuna.distributions import FloatDistribution, IntDistribution
from optuna.trial import TrialState, create_trial

import headway
from headway.errors import SettingError
from headway.optuna import HeadwaySampler, distributions_of, optimizer_of
from headway.parameters import Categorical, Integer, Real

SPACE = {
    "c": Categorical(["a", "b", None]),
    "n": Integer(1, 9),
    "s": Real(0, 2, step=0.25),
    "x": Real(-5, 10),
    "y": Real(1e-3, 15, log=True),
}


def value_of(params, sign=1.0):
    x, y = params["x"], params["y"]
    bowl = (y - 0.129 * x**2 + 1.6 * x - 6) ** 2 + 9.6 * (1 - 0.04 * (x + 2) ** 2) ** 2 + x
    return sign * (bowl + (params["c"] == "b") + 0.1 * params["n"] + (params["s"] - 1) ** 2)


def objective(trial, sign=1.0):
    params = {
        "x": trial.suggest_float("x", -5, 10),
        "y": trial.suggest_float("y", 1e-3, 15, log=True),
        "n": trial.suggest_int("n", 1, 9),
        "s": trial.suggest_float("s", 0, 2, step=0.25),
        "c": trial.suggest_categorical("c", ["a", "b", None]),
    }
    return value_of(params, sign)


def line(trial):
    return (trial.suggest_float("x", 0, 1) - 0.3) ** 2


def study_of(sampler, **kwargs):
    return optuna.create_study(sampler=sampler, **kwargs)


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_proposals_are_those_of_the_optimizer(direction):
    sign = 1.0 if direction == "minimize" else -1.0
    study = study_of(HeadwaySampler(24, seed=3), direction=direction)
    study.optimize(lambda trial: objective(trial, sign))
    first, *others = study.trials  # of the first one no sampler knows the space
    optimizer = headway.Optimizer(
        SPACE, 24, seed=3, direction=direction, x0=dict(sorted(first.params.items()))
    )
    optimizer.tell(optimizer.ask(), first.value)
    for theirs in others:
        ours = optimizer.ask()
        assert theirs.params == ours.params
        assert theirs.user_attrs["why"] == str(ours.why)
        optimizer.tell(ours, value_of(ours.params, sign))
    assert optimizer.done
    again = optimizer_of(study)
    mine, theirs = optimizer.history.facts(direction), again.history.facts(direction)
    np.testing.assert_array_equal(mine.Z, theirs.Z)
    np.testing.assert_array_equal(mine.y, theirs.y)
    assert mine.state == theirs.state


def test_a_space_known_beforehand_makes_even_the_first_trial_the_optimizers():
    study = study_of(HeadwaySampler(8, seed=1, space=SPACE))
    study.optimize(objective)
    optimizer = headway.Optimizer(SPACE, 8, seed=1)
    for theirs in study.trials:
        ours = optimizer.ask()
        assert theirs.params == ours.params
        optimizer.tell(ours, value_of(ours.params))


def test_a_conditional_space_known_beforehand():
    space = {
        "kernel": Categorical(["rbf", "poly"]),
        "gamma": Real(1e-3, 1, log=True, when=("kernel", "rbf")),
        "degree": Integer(2, 5, when=("kernel", "poly")),
    }
    known = distributions_of(space)

    def f(trial):
        kernel = trial._suggest("kernel", known["kernel"])
        if kernel == "rbf":
            return abs(np.log10(trial._suggest("gamma", known["gamma"])) + 1)
        return 1.0 + trial._suggest("degree", known["degree"])

    def told(params):
        if params["kernel"] == "rbf":
            return abs(np.log10(params["gamma"]) + 1)
        return 1.0 + params["degree"]

    study = study_of(HeadwaySampler(15, space=space))
    study.optimize(f)
    optimizer = headway.Optimizer(space, 15)
    for theirs in study.trials:
        ours = optimizer.ask()
        assert theirs.params == ours.params
        optimizer.tell(ours, told(ours.params))


def test_what_is_in_memory_changes_nothing():
    kept = study_of(HeadwaySampler(16))
    kept.optimize(objective)
    lost = study_of(HeadwaySampler(16))
    for _ in range(16):
        lost.sampler = pickle.loads(pickle.dumps(lost.sampler))
        lost.sampler._forget()
        lost.optimize(objective, n_trials=1)
    assert [t.params for t in lost.trials] == [t.params for t in kept.trials]


@pytest.mark.parametrize("kind", ["sqlite", "journal"])
def test_a_study_goes_on_from_the_disk(kind, tmp_path):
    def storage():
        if kind == "sqlite":
            return f"sqlite:///{tmp_path}/study.db"
        backend = optuna.storages.journal.JournalFileBackend(str(tmp_path / "study.log"))
        return optuna.storages.JournalStorage(backend)

    whole = study_of(HeadwaySampler(14))
    whole.optimize(objective)
    for _ in range(2):
        study = study_of(HeadwaySampler(14), study_name="s", storage=storage(), load_if_exists=True)
        study.optimize(objective, n_trials=7)
    assert [t.params for t in study.trials] == [t.params for t in whole.trials]
    loaded = optuna.load_study(study_name="s", storage=storage())
    assert [t.user_attrs.get("why") for t in loaded.trials[1:]] == [
        str(record.why) for record in optimizer_of(loaded, budget=14).history.records[1:]
    ]


def test_what_is_stored_are_plain_numbers_and_texts():
    study = study_of(HeadwaySampler(12))
    study.optimize(objective)

    def plain(value):
        if isinstance(value, dict):
            return all(isinstance(key, str) and plain(v) for key, v in value.items())
        if isinstance(value, list):
            return all(map(plain, value))
        return value is None or type(value) in (int, float, str, bool)

    for trial in study.trials[1:]:
        assert set(trial.system_attrs) == {"headway:asked", "headway:proposing"}
        assert plain(trial.system_attrs["headway:asked"])
        assert isinstance(trial.user_attrs["why"], str)
    assert not study.trials[0].system_attrs


def test_two_studies_of_one_sampler_do_not_mix():
    sampler = HeadwaySampler(12)
    first, second = study_of(sampler), study_of(sampler)
    for _ in range(12):
        first.optimize(objective, n_trials=1)
        second.optimize(line, n_trials=1)
    alone = study_of(HeadwaySampler(12))
    alone.optimize(objective)
    assert [t.params for t in first.trials] == [t.params for t in alone.trials]


def test_another_study_of_the_same_name_is_another_study(tmp_path):
    url, sampler = f"sqlite:///{tmp_path}/study.db", HeadwaySampler(30)
    runs = []
    for _ in range(2):
        study = study_of(sampler, storage=url, study_name="s")
        study.optimize(line, n_trials=6)
        runs.append([t.params for t in study.trials])
        optuna.delete_study(study_name="s", storage=url)
    assert runs[0] == runs[1]


def test_several_objectives_are_refused_and_leave_nothing_running():
    study = optuna.create_study(directions=["minimize", "maximize"], sampler=HeadwaySampler(5))
    with pytest.raises(SettingError, match=r"has 2 objectives\. Allowed: one\. Weigh them"):
        study.optimize(lambda trial: (1.0, 2.0))
    assert [t.state for t in study.trials] == [TrialState.FAIL]
    with pytest.raises(SettingError, match="has 2 objectives"):
        optimizer_of(study)


@pytest.mark.parametrize(
    ("kwargs", "text"),
    [
        ({"budget": 0}, "budget is 0 evaluations"),
        ({"budget": "60"}, "budget is '60', of type str"),
        ({"budget": 10, "seed": -1}, "seed is -1"),
        ({"budget": 10, "design": 0}, "design is 0"),
        ({"budget": 10, "noise": -1.0}, "noise is -1.0"),
        ({"budget": 10, "policy": "ei"}, "policy is 'ei'"),
        ({"budget": 10, "space": {}}, "The space is empty"),
    ],
)
def test_bad_settings_are_refused_at_the_door(kwargs, text):
    with pytest.raises(ValueError, match=text):
        HeadwaySampler(**kwargs)


def test_none_draws_a_seed():
    assert HeadwaySampler(5, seed=None).seed != HeadwaySampler(5, seed=None).seed


def test_threads_do_not_repeat_each_other():
    study = study_of(HeadwaySampler(24))
    study.optimize(objective, n_trials=24, n_jobs=4)
    assert all(t.state == TrialState.COMPLETE for t in study.trials)
    points = {tuple(sorted(t.params.items(), key=str)) for t in study.trials}
    assert len(points) == len(study.trials)


def test_a_running_trial_is_pending():
    """The first of two proposals at the same facts moves the second away."""
    study = study_of(HeadwaySampler(40, seed=2))
    study.optimize(line, n_trials=12)
    space = {"x": FloatDistribution(0, 1)}
    first, second = study.ask(space), study.ask(space)
    running = optimizer_of(study).pending
    assert [trial.params for trial in running] == [first.params, second.params]
    assert abs(first.params["x"] - second.params["x"]) > 1e-6


def test_a_trial_is_pending_before_its_parameters_are_suggested():
    study = study_of(HeadwaySampler(40))
    study.optimize(objective, n_trials=8)
    trial = study.ask()
    trial.suggest_float("x", -5, 10)  # the objective has not come to the others yet
    (pending,) = optimizer_of(study).pending
    assert pending.params["x"] == trial.params["x"]
    assert pending.params.keys() == SPACE.keys()


def test_a_conditional_study_is_modelled_and_the_notices_end(notices):
    def f(trial):
        if trial.suggest_categorical("kernel", ["rbf", "poly"]) == "rbf":
            return (trial.suggest_float("gamma", 0, 1) - 0.3) ** 2
        return 1.0 + abs(trial.suggest_int("degree", 1, 5) - 3)

    study = study_of(HeadwaySampler(30))
    study.optimize(f)
    assert study.best_value < 1e-4
    said = notices()
    assert 1 <= len(said) <= 2
    assert all("sampled independently using `RandomSampler`" in text for text in said)
    best = study.best_trial
    assert "expected" in best.user_attrs["why"]
    names = optimizer_of(study).space.names
    assert names == ("degree", "gamma", "kernel")


def test_the_notices_can_be_silenced(notices):
    study = study_of(HeadwaySampler(10, warn_independent_sampling=False))
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1 + trial.number))
    assert notices() == []


def test_groups_have_each_their_model(notices):
    def f(trial):
        x = trial.suggest_float("x", 0, 1)
        if x > 0.5:
            return (trial.suggest_float("a", 0, 1) - 0.25) ** 2
        return 1 + x

    study = study_of(HeadwaySampler(40))
    study.optimize(f)
    groups = study.trials[-1].system_attrs["headway:asked"]["groups"]
    assert [sorted(group["params"]) for group in groups] == [["x"], ["a"]]
    assert "a: " in study.trials[-1].user_attrs["why"]
    assert study.best_value < 1e-3
    notices()  # Optuna's, until `a` was there twice
    optimizer = optimizer_of(study)
    assert optimizer.space.names == ("x",)
    assert "Left out of the optimizer" in notices()[-1]


def test_a_range_that_cannot_be_modelled_is_said_to_be_one(notices):
    study = study_of(HeadwaySampler(3))
    study.optimize(lambda t: t.suggest_int("n", 1, 10**15, log=True) + t.suggest_float("x", 0, 1))
    assert notices()
    assert all("none that can be modelled (Integer: 10" in text for text in notices())


def test_independent_values_are_keyed_by_seed_trial_and_name():
    def f(trial):
        a = trial.suggest_float("a", 0, 1 + trial.number)
        return a + trial.suggest_int("b", 0, 1000 + trial.number)

    one, two = (study_of(HeadwaySampler(5, warn_independent_sampling=False)) for _ in range(2))
    one.optimize(f)
    two.sampler.reseed_rng()
    two.optimize(f)
    assert [t.params for t in one.trials] == [t.params for t in two.trials]
    assert len({t.params["a"] / (1 + t.number) for t in one.trials}) == 5
    other = study_of(HeadwaySampler(5, seed=1, warn_independent_sampling=False))
    other.optimize(f)
    assert other.trials[0].params != one.trials[0].params


def test_enqueued_points_are_tried_and_learned_from():
    study = study_of(HeadwaySampler(12))
    whole = {"x": 3.0, "y": 2.0, "n": 2, "s": 1.0, "c": None}
    study.enqueue_trial(whole)
    study.enqueue_trial({"x": 4.0})
    study.optimize(objective)
    assert study.trials[0].params == whole
    assert study.trials[1].params["x"] == 4.0
    assert study.trials[1].user_attrs["why"].endswith("enqueued: x")
    optimizer = optimizer_of(study)
    assert [record.params for record in optimizer.history][:2] == [
        study.trials[0].params,
        study.trials[1].params,
    ]
    assert str(optimizer.history[0].why) == "enqueued"
    assert len(study.trials) == 12


def test_added_trials_are_facts_and_count():
    study = study_of(HeadwaySampler(10))
    space = {"x": FloatDistribution(0, 1)}
    for x in (0.1, 0.2, 0.35, 0.8):
        study.add_trial(create_trial(params={"x": x}, distributions=space, value=(x - 0.3) ** 2))
    study.optimize(line)
    assert len(study.trials) == 10
    assert study.trials[4].user_attrs["why"].startswith("ei + box")
    assert [r.why for r in optimizer_of(study).history][:4] == [None] * 4


def test_a_finite_space_comes_round_again():
    study = study_of(HeadwaySampler(8))
    study.optimize(lambda trial: trial.suggest_int("n", 0, 4))
    assert len(study.trials) == 8
    assert {t.params["n"] for t in study.trials} == set(range(5))
    assert study.trials[-1].user_attrs["why"] == "at random: all 5 points of the space were tried"


def test_the_partial_fixed_sampler_may_wrap_it():
    study = study_of(HeadwaySampler(30))
    study.optimize(objective, n_trials=8)
    fixed = {"c": "b", "x": 1.0}
    with pytest.warns(optuna.exceptions.ExperimentalWarning):
        study.sampler = optuna.samplers.PartialFixedSampler(fixed, study.sampler)
    study.optimize(objective, n_trials=4)
    for trial in study.trials[8:]:
        assert {name: trial.params[name] for name in fixed} == fixed
        assert "expected" in trial.user_attrs["why"]


def test_a_hyperband_bracket_sees_every_trial():
    """Optuna hands samplers a study of the bracket; the budget is of the whole."""
    pruner = optuna.pruners.HyperbandPruner(min_resource=1, max_resource=9)

    def f(trial):
        value = line(trial)
        for step in range(1, 10):
            trial.report(value + 1 / step, step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return value

    study = study_of(HeadwaySampler(20), pruner=pruner, study_name="brackets go by the name")
    study.optimize(f)
    assert len(study.trials) == 20
    assert study.best_value < 1e-3


def test_a_range_that_changes_in_the_middle_is_followed():
    study = study_of(HeadwaySampler(20, warn_independent_sampling=False))
    study.optimize(lambda t: t.suggest_float("x", 0, 1) + t.suggest_int("n", 0, 9), n_trials=6)
    study.optimize(lambda t: t.suggest_float("x", 2, 3) + t.suggest_int("n", 0, 9), n_trials=6)
    assert all(2 <= t.params["x"] <= 3 for t in study.trials[6:])
    assert optimizer_of(study).space.names == ("n",)


def test_the_policy_and_surrogate_are_used():
    policy, surrogate = headway.Policy.paper(), headway.Surrogate.paper()
    study = study_of(HeadwaySampler(12, policy=policy, surrogate=surrogate, design=4))
    study.optimize(objective)
    whys = [t.user_attrs.get("why", "") for t in study.trials]
    assert [why for why in whys if why == "initial design"] == ["initial design"] * 3
    assert whys[-1].startswith("ei + direction")
    settings = optimizer_of(study).settings
    assert (settings.policy, settings.surrogate, settings.design) == (policy, surrogate, 4)


def test_other_settings_do_not_start_from_the_state_of_the_first():
    """A state of six length-scales would be no start for a surrogate of one."""
    study = study_of(HeadwaySampler(20))
    study.optimize(objective, n_trials=10)
    study.sampler = HeadwaySampler(20, surrogate=headway.Surrogate.paper())
    study.optimize(objective, n_trials=5)
    assert len(study.trials) == 15


def test_int_distributions_of_the_same_width_are_told_apart():
    study = study_of(HeadwaySampler(10))
    space = {"n": IntDistribution(3, 11, step=4), "m": IntDistribution(-1, 1)}
    for _ in range(6):
        trial = study.ask(space)
        assert trial.params["n"] in (3, 7, 11)
        study.tell(trial, trial.params["n"] + trial.params["m"])


def test_an_ask_waits_for_the_point_of_one_that_has_just_begun():
    study = study_of(HeadwaySampler(40))
    study.optimize(line, n_trials=8)
    storage, space = study._storage, {"x": FloatDistribution(0, 1)}
    earlier = storage.create_new_trial(study._study_id)  # as another process would

    def settle():
        entry = {"key": 0, "params": {"x": 0.25}, "state": None, "why": {"decided": "theirs"}}
        storage.set_trial_system_attr(earlier, "headway:asked", {"groups": [entry]})

    timer = threading.Timer(0.2, settle)
    timer.start()
    began = time.monotonic()
    trial = study.ask(space)
    waited = time.monotonic() - began
    timer.join()
    assert 0.15 < waited < 2.0
    assert "expected" in trial.user_attrs["why"]


def test_an_ask_does_not_wait_for_ever():
    study = study_of(HeadwaySampler(40))
    study.optimize(line, n_trials=8)
    study._storage.create_new_trial(study._study_id)  # it never says its point
    began = time.monotonic()
    study.ask({"x": FloatDistribution(0, 1)})
    assert 1.0 < time.monotonic() - began < 10.0


def test_without_optuna_the_error_names_the_extra():
    code = "import sys; sys.modules['optuna'] = None\nimport headway\nheadway.optuna"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert 'ImportError: headway.optuna needs Optuna 4.8 or later. Install it: pip install "' in (
        done.stderr
    )
