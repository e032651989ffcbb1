"""What is learned from failed, pruned and constrained trials."""

from __future__ import annotations

import math

import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution
from optuna.trial import TrialState, create_trial

import headway
from headway import report
from headway.errors import SpaceError
from headway.optuna import HeadwaySampler, optimizer_of
from headway.optuna_trials import OVER

SPACE = {"x": FloatDistribution(0, 1)}


def study_with(*trials, direction="minimize"):
    """A study of (x, value or state, keywords)."""
    study = optuna.create_study(direction=direction, sampler=HeadwaySampler(50))
    for x, outcome, *more in trials:
        outcome = {"state": outcome} if isinstance(outcome, TrialState) else {"value": outcome}
        keywords = more[0] if more else {}
        study.add_trial(create_trial(params={"x": x}, distributions=SPACE, **outcome, **keywords))
    return study


def records(study):
    return list(optimizer_of(study).history)


PRUNED = TrialState.PRUNED


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_a_pruned_trial_is_never_better_than_the_middle(direction):
    sign = 1 if direction == "minimize" else -1
    study = study_with(
        (0.1, 1.0 * sign),
        (0.2, 2.0 * sign),
        (0.3, 3.0 * sign),
        (0.4, PRUNED, {"intermediate_values": {0: 0.1 * sign}, "value": 0.1 * sign}),
        (0.5, PRUNED, {"intermediate_values": {0: 2.5 * sign}, "value": 2.5 * sign}),
        (0.6, PRUNED),
        direction=direction,
    )
    *_, better, worse, silent = records(study)
    assert (better.value, worse.value, silent.value) == (2.0 * sign, 2.5 * sign, None)
    assert (silent.status, silent.error) == ("failed", "pruned")
    assert optimizer_of(study).best.value == 1.0 * sign


def test_a_pruned_trial_would_have_gained_what_the_others_did():
    curves = [{0: 3.0, 1: 1.0}, {0: 4.0, 1: 2.5}, {0: 9.0, 1: 3.0}]
    study = study_with(
        *((0.1 * i, c[1], {"intermediate_values": c}) for i, c in enumerate(curves)),
        (0.5, PRUNED, {"intermediate_values": {0: 8.0}, "value": 8.0}),
        (0.6, PRUNED, {"intermediate_values": {0: 4.0}, "value": 4.0}),
        (0.7, PRUNED, {"intermediate_values": {5: 8.0}, "value": 8.0}),  # nobody else came there
    )
    assert [r.value for r in records(study)][3:] == [6.0, 2.5, 8.0]


def test_a_pruned_trial_has_no_value_before_there_is_a_middle():
    study = study_with(
        (0.1, 1.0),
        (0.4, PRUNED, {"intermediate_values": {7: 0.1}, "value": 0.1}),
    )
    assert [r.value for r in records(study)] == [1.0, None]
    assert records(study)[1].error == "pruned at step 7"


def test_values_that_are_not_finite_are_failures():
    study = study_with((0.1, 1.0), (0.2, math.inf), (0.3, -math.inf))
    assert [(r.status, r.error) for r in records(study)] == [
        ("told", None),
        ("failed", "the value is inf"),
        ("failed", "the value is -inf"),
    ]
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=5)


def test_failures_are_learned_from():
    """Optuna's own samplers forget them, and try the same again."""

    def f(trial):
        x = trial.suggest_float("x", 0, 1)
        if x > 0.5:
            raise ArithmeticError
        return (x - 0.4) ** 2

    study = optuna.create_study(sampler=HeadwaySampler(30))
    study.optimize(f, catch=(ArithmeticError,))
    late = [t.state for t in study.trials[10:]]
    assert late.count(TrialState.FAIL) <= 3
    assert study.best_value < 1e-6


def test_the_reason_of_a_failure_is_kept_where_it_is_told():
    study = optuna.create_study(sampler=HeadwaySampler(9))

    def f(trial):
        x = trial.suggest_float("x", 0, 1)
        if trial.number == 1:
            trial.set_user_attr("error", "exit status 3")
            raise ValueError
        return x

    study.optimize(f, n_trials=3, catch=(ValueError,))
    assert [r.error for r in records(study)] == [None, "exit status 3", None]


def test_a_trial_that_failed_before_its_parameters_counts_and_says_nothing():
    study = optuna.create_study(sampler=HeadwaySampler(6))

    def f(trial):
        if trial.number == 1:
            raise ValueError
        return trial.suggest_float("x", 0, 1)

    study.optimize(f, catch=(ValueError,))
    assert len(study.trials) == 6
    assert len(records(study)) == 5


def by_name(trial):
    x = trial.suggest_float("x", 0, 1)
    trial.set_constraint("floor", 0.6 - x)
    trial.set_constraint("ceiling", x - 0.9)
    return x


def by_function(trial):
    return trial.suggest_float("x", 0, 1)


def constraints_func(trial):
    return (trial.params["x"] - 0.9, 0.6 - trial.params["x"])


@pytest.mark.parametrize("way", ["named", "function"])
def test_constraints_are_met(way):
    if way == "named":
        if not hasattr(optuna.trial.Trial, "set_constraint"):
            pytest.skip("Trial.set_constraint came with Optuna 5")
        study = optuna.create_study(sampler=HeadwaySampler(20))
        study.optimize(by_name)
    else:
        study = optuna.create_study(sampler=HeadwaySampler(20, constraints_func=constraints_func))
        study.optimize(by_function)
    optimizer = optimizer_of(study)
    assert len(study.trials) == 20
    assert 0.6 <= optimizer.best.value < 0.605
    for record in optimizer.history:
        x = record.params["x"]
        assert record.constraints == pytest.approx((x - 0.9, 0.6 - x))
    assert headway.Optimizer.from_json(optimizer.to_json()).best.value == optimizer.best.value


def test_a_trial_without_a_constraint_that_others_have_is_no_success():
    attrs = {"system_attrs": {"constraints": [-1.0]}}
    study = study_with((0.1, 1.0), (0.2, 2.0, attrs), (0.3, 3.0, attrs))
    first, second, _ = records(study)
    assert (first.status, first.error) == ("failed", "the constraint '0' has no value")
    assert second.constraints == (-1.0,)
    study.optimize(
        lambda trial: trial.suggest_float("x", 0, 1),
        n_trials=4,
    )
    assert len(study.trials) == 7


def test_a_violation_without_end_is_a_large_one():
    attrs = [{"system_attrs": {"constraints": [c]}} for c in (math.inf, -math.inf, 0.5)]
    study = study_with(*((0.1 * i, float(i), attr) for i, attr in enumerate(attrs)))
    assert [np.sign(r.constraints[0]) for r in records(study)] == [1, -1, 1]
    assert optimizer_of(study).best.value == 1.0


def test_a_constraint_that_appears_later_does_not_break_the_run():
    study = optuna.create_study(sampler=HeadwaySampler(30))
    study.optimize(by_function, n_trials=8)
    study.sampler = HeadwaySampler(30, constraints_func=constraints_func)
    study.optimize(by_function, n_trials=8)
    assert optimizer_of(study).history.k == 2


def test_a_study_whose_space_is_not_known_says_so():
    study = optuna.create_study(sampler=HeadwaySampler(5))
    with pytest.raises(SpaceError, match=r"0 of 0 are complete.*Give space="):
        optimizer_of(study)
    optimizer = optimizer_of(study, space={"x": (0.0, 1.0)})
    assert optimizer.ask().params.keys() == {"x"}


def test_a_space_may_be_given_and_has_its_own_order():
    study = optuna.create_study(sampler=HeadwaySampler(9))
    study.optimize(lambda t: t.suggest_float("b", 0, 1) + t.suggest_int("a", 0, 9))
    assert optimizer_of(study).space.names == ("a", "b")
    space = {"b": (0.0, 1.0), "a": headway.Integer(0, 9)}
    optimizer = optimizer_of(study, space=space)
    assert optimizer.space.names == ("b", "a")
    assert [r.params for r in optimizer.history] == [t.params for t in study.trials]


@pytest.mark.filterwarnings("ignore:Choices for a categorical distribution")
def test_choices_that_json_cannot_hold_are_shown_as_text():
    study = optuna.create_study(sampler=HeadwaySampler(8))
    choices = [(1, 2), (3, 4)]
    study.optimize(lambda t: float(sum(t.suggest_categorical("size", choices))))
    assert study.best_params == {"size": (1, 2)}
    optimizer = optimizer_of(study)
    assert optimizer.best.params == {"size": "(1, 2)"}
    optimizer.to_json()


def test_the_optimizer_of_a_study_of_another_sampler():
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=0))

    def f(trial):
        x = trial.suggest_float("x", 0, 1)
        kind = trial.suggest_categorical("kind", ["a", "b"])
        return x if kind == "a" else -x

    study.optimize(f, n_trials=15)
    optimizer = optimizer_of(study, budget=20, seed=4)
    assert optimizer.best.value == study.best_value
    assert optimizer.seed == 4
    trial = optimizer.ask()
    assert (trial.id, trial.params.keys()) == (15, {"x", "kind"})
    assert isinstance(study.trials[0].distributions["kind"], CategoricalDistribution)


def test_ids_are_trial_numbers_where_trials_spent_nothing():
    """A trial that was given back is a cancelled record, with the point that it was asked with."""
    study = optuna.create_study(sampler=HeadwaySampler(9, space={"x": (0.0, 1.0)}))
    given_back = study.ask()
    x = given_back.suggest_float("x", 0, 1)
    store = study._storage
    store.set_trial_system_attr(given_back._trial_id, OVER, True)
    study.tell(given_back, state=TrialState.FAIL)
    study.optimize(lambda trial: (trial.suggest_float("x", 0, 1) - 0.3) ** 2, n_trials=5)
    optimizer = optimizer_of(study)
    first = optimizer.history[0]
    assert (first.status, first.spends, first.cost) == ("cancelled", False, None)
    assert first.params == {"x": x}
    assert str(first.why) == "initial design"
    assert optimizer.best.id == optimizer.best.number == study.best_trial.number
    assert "5 of 9 evaluations" in optimizer.message
    again = headway.Optimizer.from_json(optimizer.to_json())
    assert again.history == optimizer.history
    assert optimizer.ask().id == 6


def test_a_trial_without_a_point_shifts_ids_and_not_numbers():
    study = study_with((0.1, 1.0), (0.2, TrialState.FAIL))
    study.add_trial(create_trial(state=TrialState.FAIL, system_attrs={OVER: True}))  # no point
    study.add_trial(create_trial(params={"x": 0.4}, distributions=SPACE, value=0.5))
    optimizer = optimizer_of(study)
    assert [(r.id, r.number) for r in optimizer.history] == [(0, 0), (1, 1), (2, 3)]
    assert optimizer.best.number == study.best_trial.number == 3
    again = headway.Optimizer.from_json(optimizer.to_json())
    assert again.best.number == 3
    page = report.render(again)
    assert "Use trial 3" in page
