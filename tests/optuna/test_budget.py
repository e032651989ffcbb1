"""One budget for the study: where it ends, what is refused, what a study without one has used."""

from __future__ import annotations

import time
from datetime import datetime, timedelta

import optuna
import pytest
from optuna.distributions import FloatDistribution
from optuna.trial import TrialState, create_trial

import headway
from headway.errors import BudgetError, BudgetSpent, TellError
from headway.optuna import HeadwaySampler, optimizer_of

SPACE = {"x": FloatDistribution(0, 1)}
START = datetime(2026, 3, 1, 12)


def line(trial):
    return (trial.suggest_float("x", 0, 1) - 0.3) ** 2


def study_of(budget, **kwargs):
    return optuna.create_study(sampler=HeadwaySampler(budget, **kwargs))


def states(study):
    return [trial.state.name for trial in study.trials]


def timed(study, *spans):
    """Finished trials that ran from and to these minutes."""
    for i, (start, end) in enumerate(spans):
        trial = create_trial(params={"x": i / 10}, distributions=SPACE, value=float(i))
        trial.datetime_start = START + timedelta(minutes=start)
        trial.datetime_complete = START + timedelta(minutes=end)
        study.add_trial(trial)


def test_the_study_stops_by_itself():
    study = study_of(9)
    study.optimize(line)
    assert states(study) == ["COMPLETE"] * 9


def test_failed_and_pruned_trials_count():
    def f(trial):
        value = line(trial)
        if trial.number % 3 == 1:
            raise ValueError("mesh")
        if trial.number % 3 == 2:
            raise optuna.TrialPruned
        return value

    study = study_of(9)
    study.optimize(f, catch=(ValueError,))
    assert states(study) == ["COMPLETE", "FAIL", "PRUNED"] * 3


def test_n_jobs_may_overrun_by_the_other_threads():
    def slow(trial):
        time.sleep(0.01)
        return line(trial)

    study = study_of(12)
    study.optimize(slow, n_jobs=4)
    assert 12 <= len(study.trials) <= 12 + 3
    assert set(states(study)) == {"COMPLETE"}


def test_a_smaller_n_trials_ends_earlier_and_the_rest_is_for_later():
    study = study_of(9)
    study.optimize(line, n_trials=4)
    study.optimize(line)
    assert len(study.trials) == 9


def test_another_optimize_after_the_end_is_refused_in_a_sentence():
    study = study_of(5)
    study.optimize(line)
    with pytest.raises(BudgetSpent, match=r"nothing is left to ask for .*: 5 of 5 evaluations\. "):
        study.optimize(line)
    assert states(study) == ["COMPLETE"] * 5 + ["FAIL"]
    assert study.trials[-1].user_attrs == {"error": "over budget"}
    study.sampler = HeadwaySampler(8)  # the refused trial spent nothing
    study.optimize(line)
    assert states(study) == ["COMPLETE"] * 5 + ["FAIL"] + ["COMPLETE"] * 3
    assert len(optimizer_of(study).history) == 8


def test_a_sampler_that_comes_to_a_spent_study_is_refused():
    study = study_of(5)
    study.optimize(line)
    study.sampler = HeadwaySampler(5)
    with pytest.raises(BudgetSpent, match="Give HeadwaySampler a larger budget to continue"):
        study.optimize(line)


def test_a_budget_smaller_than_the_trials_already_there():
    study = study_of(7)
    study.optimize(line)
    study.sampler = HeadwaySampler(5)
    message = r"has 7 finished trials and the budget is 5 evaluations in all\. .* Give budget=12"
    with pytest.raises(BudgetError, match=message) as caught:
        study.optimize(line)
    assert "\n" not in str(caught.value)
    assert states(study)[:7] == ["COMPLETE"] * 7


def test_asking_beyond_the_budget_is_refused():
    study = study_of(3)
    trials = [study.ask(SPACE) for _ in range(3)]
    with pytest.raises(BudgetSpent, match=r"3 of 3 evaluations \(3 of them still running\)"):
        study.ask(SPACE)
    for trial in trials:
        study.tell(trial, trial.params["x"])
    assert states(study) == ["COMPLETE"] * 3 + ["FAIL"]


def test_a_trial_before_one_that_was_refused_still_counts_as_within():
    """By number: of two that begin at the same moment the first is the last of the budget."""
    study = study_of(2)
    study.tell(study.ask(SPACE), 1.0)
    sampler, storage = study.sampler, study._storage
    first = storage.get_trial(storage.create_new_trial(study._study_id))
    second = storage.get_trial(storage.create_new_trial(study._study_id))
    with pytest.raises(BudgetSpent):
        sampler.before_trial(study, second)
    sampler.before_trial(study, first)
    assert states(study) == ["COMPLETE", "RUNNING", "FAIL"]


def test_enqueued_trials_have_a_place_in_the_budget():
    study = study_of(3)
    for x in (0.1, 0.2, 0.4, 0.5):
        study.enqueue_trial({"x": x})
    study.optimize(line)
    assert states(study) == ["COMPLETE"] * 3 + ["WAITING"]


@pytest.mark.parametrize("budget", [1, 3])
def test_a_trial_that_optuna_began_again_is_given_back(budget):
    study = study_of(budget)
    died = study.ask(SPACE)
    study.tell(died, state=TrialState.FAIL)
    with pytest.warns(optuna.exceptions.ExperimentalWarning):
        callback = _retry()
    callback(study, study.trials[0])
    study.optimize(line)
    assert states(study) == ["FAIL"] + ["COMPLETE"] * budget
    assert study.trials[1].params == study.trials[0].params


def _retry():
    storages = optuna.storages
    if hasattr(storages, "RetryHeartbeatStaleTrialCallback"):
        return storages.RetryHeartbeatStaleTrialCallback()
    return storages.RetryFailedTrialCallback()


def test_a_budget_of_time_counts_when_something_ran():
    study = study_of(timedelta(minutes=60))
    timed(study, (0, 10), (5, 20), (100, 110), (102, 104))
    optimizer = optimizer_of(study)
    assert optimizer.seconds == 30 * 60  # 0 to 20 and 100 to 110
    assert [r.asked_at / 60 for r in optimizer.history] == [0, 5, 20, 22]
    assert [r.ended_at / 60 for r in optimizer.history] == [10, 20, 30, 24]
    assert "30 min of 1 h" in optimizer.message


def test_a_budget_of_time_ends_the_study():
    def slow(trial):
        time.sleep(0.06)
        return line(trial)

    study = study_of(headway.Budget(seconds=0.2))
    study.optimize(slow, n_trials=50)
    assert 2 <= len(study.trials) <= 4
    with pytest.raises(BudgetSpent, match=r"of 200 ms"):
        study.ask()


def test_a_trial_whose_process_died_does_not_use_up_the_time():
    study = study_of(timedelta(minutes=60))
    timed(study, (0, 10))
    zombie = create_trial(params={"x": 0.5}, distributions=SPACE, state=TrialState.RUNNING)
    zombie.datetime_start = START
    study.add_trial(zombie)
    study.optimize(line, n_trials=3)
    assert states(study).count("COMPLETE") == 4


def test_a_budget_of_cost_is_what_the_trials_say():
    def f(trial):
        trial.set_user_attr("cost", 2.0 + trial.number)
        return line(trial)

    study = study_of(headway.Budget(cost=13))
    study.optimize(f)
    assert len(study.trials) == 4  # 2 + 3 + 4 + 5 = 14
    optimizer = optimizer_of(study)
    assert [record.cost for record in optimizer.history] == [2, 3, 4, 5]
    assert "cost 14 of 13" in optimizer.message


def test_a_failure_of_unknown_cost_is_charged_the_mean():
    def f(trial):
        value = line(trial)
        if trial.number % 2:
            raise ValueError
        trial.set_user_attr("cost", 2.0)
        return value

    study = study_of(headway.Budget(cost=9))
    study.optimize(f, catch=(ValueError,))
    assert len(study.trials) in (5, 6)
    assert [record.cost for record in optimizer_of(study).history] == [2.0] * len(study.trials)


def test_a_value_without_its_cost_is_stored_and_then_said():
    study = study_of(headway.Budget(cost=13))
    with pytest.raises(TellError, match=r"trial 0 ended without its cost.*set_user_attr\('cost'"):
        study.optimize(line)
    assert states(study) == ["COMPLETE"]


def test_progress_is_that_of_the_whole_study():
    """What others evaluated brings the end nearer too: the last tenth is greedy."""
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(line, n_trials=18)
    study.sampler = HeadwaySampler(20)
    study.optimize(line)
    assert len(study.trials) == 20
    assert study.trials[18].user_attrs["why"].startswith("posterior mean")


def test_without_a_budget_the_optimizer_has_that_of_the_trials():
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(line, n_trials=6)
    optimizer = optimizer_of(study)
    assert (optimizer.done, optimizer.budget.evaluations) == (True, 6)
    assert [record.why for record in optimizer.history] == [None] * 6
    assert optimizer_of(study, budget=8).ask().id == 6
    with pytest.raises(BudgetError, match="6 trials of its own and the budget is 4 evaluations"):
        optimizer_of(study, budget=4)
