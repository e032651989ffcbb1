"""minimize(): it spends the budget, survives its function, and says how it ended."""

import logging
import math
import pickle
import time
from datetime import timedelta

import numpy as np
import pytest

import headway
import headway.optimizer
from headway import Budget, Categorical, EveryTrialFailed, Integer, Outcome
from headway.errors import BudgetError, SettingError, TellError

SPACE = {"a": (0.0, 1.0), "k": Integer(1, 4)}
QUICK = {"design": 999}  # every point is one of the initial design


def bowl(p):
    return (p["a"] - 0.3) ** 2 + p["k"]


# What comes out


def test_a_dict_space_gives_dicts_and_a_result_with_scipys_names():
    result = headway.minimize(bowl, SPACE, budget=12, seed=3)
    assert result.x == result.params and set(result.x) == {"a", "k"}
    assert result.fun == bowl(result.x) == min(r.value for r in result.history)
    assert result.nfev == 12 == len(result.history)
    assert result.success and result.message == "The budget is spent: 12 of 12 evaluations."
    assert result.seed == 3 and "history" not in repr(result)


def test_bounds_give_arrays():
    def f(x):
        assert isinstance(x, np.ndarray) and x.shape == (2,)
        return float(np.sum((x - 1) ** 2))

    result = headway.minimize(f, [(-5, 10), (0, 15)], budget=6, **QUICK)
    assert isinstance(result.x, np.ndarray) and result.fun == f(result.x)


def test_a_result_can_be_pickled():
    result = headway.minimize(bowl, SPACE, budget=3, **QUICK)
    again = pickle.loads(pickle.dumps(result))
    assert again.x == result.x and again.history == result.history


def test_it_finds_the_minimum():
    result = headway.minimize(lambda x: float(np.sum((x - 1) ** 2)), [(-5, 10)] * 2, budget=20)
    assert result.fun < 1e-3


def test_the_same_seed_gives_the_same_run():
    runs = [headway.minimize(bowl, SPACE, budget=10, seed=s) for s in (5, 5, 6)]
    params = [[r.params for r in run.history] for run in runs]
    assert params[0] == params[1] != params[2]


def test_the_maximum():
    result = headway.minimize(lambda p: -bowl(p), SPACE, budget=10, direction="maximize", **QUICK)
    assert result.fun == max(r.value for r in result.history) < 0


def test_f_may_change_what_it_is_given():
    def f(p):
        p["a"] += 1
        return p.pop("k")

    result = headway.minimize(f, SPACE, budget=3, **QUICK)
    assert all(0 <= r.params["a"] <= 1 and "k" in r.params for r in result.history)


def test_outcomes():
    def f(p):
        return Outcome(p["a"], constraints=(0.5 - p["a"], -1), cost=2.5, variance=0.01)

    result = headway.minimize(f, SPACE, budget=Budget(cost=20), constraints=2, **QUICK)
    assert result.nfev == 8 and result.params["a"] >= 0.5 and result.constraints[0] <= 0
    assert result.message == "The budget is spent: cost 20 of 20."


def test_nothing_feasible():
    result = headway.minimize(
        lambda p: Outcome(p["a"], [1 + p["a"]]), SPACE, budget=4, constraints=1, **QUICK
    )
    assert not result.success and "No trial met the constraints; x violates them" in result.message
    assert result.constraints == (min(r.constraints[0] for r in result.history),)


def test_start_points_come_first_and_spend():
    seen = []
    result = headway.minimize(
        lambda p: seen.append(p) or 1.0, SPACE, budget=2, x0={"a": 0.25, "k": 3}, **QUICK
    )
    assert seen[0] == {"a": 0.25, "k": 3} and result.nfev == 2


# Budgets


def test_never_one_over_and_none_unused():
    for budget in (1, 2, 5):
        calls = []
        headway.minimize(lambda p, c=calls: c.append(1) or 0.0, SPACE, budget=budget, **QUICK)
        assert len(calls) == budget


def test_a_time_budget():
    start = time.monotonic()
    result = headway.minimize(
        lambda p: time.sleep(0.05) or 1.0, SPACE, budget=timedelta(seconds=0.3), **QUICK
    )
    assert 1 <= result.nfev <= 6 and time.monotonic() - start < 5
    assert result.message.startswith("The budget is spent: ") and "of 300 ms" in result.message


def test_several_budgets_at_once():
    f = {"cost": 3}
    result = headway.minimize(
        lambda p: Outcome(1.0, **f), SPACE, budget=Budget(evaluations=10, cost=7), **QUICK
    )
    assert result.nfev == 3


def test_a_finite_space_ends_early_and_says_so():
    seen = []
    space = {"k": Integer(1, 3), "c": headway.Categorical(["u", "v"])}
    result = headway.minimize(lambda p: seen.append(tuple(p.values())) or p["k"], space, budget=50)
    assert len(seen) == 6 == len(set(seen))
    assert result.message == "Every point of the space is evaluated, all 6: 6 of 50 evaluations."
    assert result.success


# Failures of f


def test_failures_of_each_kind_are_recorded_and_logged_once_per_kind(caplog):
    bad = [
        lambda: 3.0,
        divide,
        divide,
        lambda: math.nan,
        lambda: math.inf,
        lambda: None,
        lambda: "1",
        exit_now,
        lambda: Outcome(1.0, [1.0]),  # a constraint that was not announced
    ]
    todo = iter(bad)

    def f(p):
        one = next(todo, None)
        return one() if one else 2.5

    with caplog.at_level(logging.WARNING, logger="headway"):
        result = headway.minimize(f, SPACE, budget=10, **QUICK)
    assert result.success and result.nfev == 10 and result.fun == 2.5
    assert result.message == "The budget is spent: 10 of 10 evaluations. 8 failed."
    errors = [r.error for r in result.history][1:9]
    assert errors[0] == errors[1] and errors[0].startswith("ZeroDivisionError: division by zero (")
    assert errors[2:4] == ["f returned nan", "f returned inf"]
    assert errors[4].startswith("the value of f is None: is a return missing?")
    assert errors[5].startswith("the value of f is '1', of type str")
    assert errors[6].startswith("SystemExit: 3")
    assert errors[7].startswith("trial 8 was told 1 constraints. Allowed: 0")
    assert len(caplog.records) == 5  # ZeroDivisionError, nan, inf, TellError, SystemExit
    assert "trial 1 failed: ZeroDivisionError" in caplog.text and "Traceback" in caplog.text


def divide():
    return 1 / 0


def exit_now():
    raise SystemExit(3)


def test_a_cost_budget_and_an_f_that_says_no_cost():
    with pytest.raises(TellError, match=r"without its cost.*, cost=\.\.\.\)\. Mend f"):
        headway.minimize(bowl, SPACE, budget=Budget(cost=10))


@pytest.mark.parametrize("value", [None, "1", Outcome(1.0, [1.0])])
def test_an_f_that_answers_in_the_wrong_form_ends_the_run_at_once(value, tmp_path):
    """Nothing of it is the simulation's fault, and the first evaluation shows it."""
    path, seen = tmp_path / "run.jsonl", []

    def f(p):
        seen.append(p)
        return value if len(seen) == 1 else 2.5

    with pytest.raises(TellError, match=r"trial 0: .* Mend f and call again") as caught:
        headway.minimize(f, SPACE, budget=8, checkpoint=path)
    assert len(seen) == 1 and caught.value.result.nfev == 0
    result = headway.minimize(f, SPACE, budget=8, checkpoint=path)
    assert result.nfev == 8 and seen[0] == seen[1] and "failed" not in result.message


@pytest.mark.parametrize(("budget", "design", "calls"), [(50, None, 5), (50, 7, 7), (2, 7, 2)])
def test_every_trial_failed(budget, design, calls):
    seen = []

    def f(p):
        seen.append(p)
        raise ValueError(f"no mesh for number {len(seen)}")

    with pytest.raises(EveryTrialFailed, match="no mesh for number 1 ") as caught:
        headway.minimize(f, SPACE, budget=budget, design=design)
    assert len(seen) == calls
    message = str(caught.value)
    assert message.startswith(f"the run stopped early: each of the first {calls} trials failed, so")
    assert f"trial 0 at {seen[0]}" in message and ".." not in message
    result = caught.value.result
    assert result.x is None and math.isnan(result.fun) and not result.success
    assert result.nfev == calls and "Nothing has a value." in result.message


def test_one_value_after_the_design_failed_in_part():
    values = iter([ValueError, ValueError, 1.0] + [ValueError] * 20)

    def f(p):
        value = next(values)
        if value is ValueError:
            raise ValueError
        return value

    assert headway.minimize(f, SPACE, budget=6).nfev == 6


def test_a_mended_f_gets_another_initial_design(tmp_path):
    def broken(p):
        raise ValueError("broken")

    settings = {"budget": 12, "checkpoint": tmp_path / "run.jsonl"}
    for _ in range(2):
        with pytest.raises(EveryTrialFailed, match="trial 0"):
            headway.minimize(broken, SPACE, **settings)
    result = headway.minimize(bowl, SPACE, **settings)
    assert result.nfev == 12 and "10 failed." in result.message


def test_a_function_may_take_its_parameters_apart():
    def f(p):
        p["layers"].append(p.pop("a"))
        return float(len(p["layers"]))

    space = {"a": (0.0, 1.0), "layers": Categorical([[1], [2, 3]])}
    result = headway.minimize(f, space, budget=8, **QUICK)
    assert result.fun == 2.0 and result.x["layers"] == [1] and "a" in result.x


def test_a_space_of_one_noisy_point_spends_the_budget():
    result = headway.minimize(lambda p: 1.0, {"a": Categorical(["u"])}, budget=5, noise=0.1)
    assert result.nfev == 5 and result.message == "The budget is spent: 5 of 5 evaluations."


# Other ends


def test_ctrl_c_ends_the_run_with_what_is_known():
    calls = []

    def f(p):
        calls.append(p)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return float(len(calls))

    result = headway.minimize(f, SPACE, budget=9, **QUICK)
    assert not result.success and result.fun == 1.0 and result.nfev == 3
    assert result.message.startswith(
        "The run was interrupted. Budget is left; used so far: 4 of 9 evaluations"
    )
    assert result.history[3].status == "running"


def test_ctrl_c_before_the_first_value():
    def f(p):
        raise KeyboardInterrupt

    result = headway.minimize(f, SPACE, budget=9)
    assert result.x is None and result.message.startswith("The run was interrupted.")


def test_the_callback_sees_each_result_and_may_stop():
    seen = []

    def callback(result):
        seen.append((result.nfev, result.fun, result.success))
        if result.nfev == 3:
            raise StopIteration

    result = headway.minimize(bowl, SPACE, budget=9, callback=callback, **QUICK)
    assert [nfev for nfev, _, _ in seen] == [1, 2, 3]
    assert [fun for _, fun, _ in seen] == sorted((fun for _, fun, _ in seen), reverse=True)
    assert result.nfev == 3 and result.message == "The callback stopped the run."
    assert not result.success


def test_an_error_of_the_callback_carries_the_result():
    def callback(result):
        raise OSError("no mail server")

    with pytest.raises(OSError, match="no mail server") as caught:
        headway.minimize(bowl, SPACE, budget=9, callback=callback, **QUICK)
    assert caught.value.result.nfev == 1
    assert "in the `result` of this exception" in caught.value.__notes__[0]


def test_an_error_of_a_proposal_carries_the_result(monkeypatch):
    real = headway.optimizer.propose

    def propose(facts, *args, **kwargs):
        if len(facts.y) == 3:
            raise np.linalg.LinAlgError("not positive definite")
        return real(facts, *args, **kwargs)

    monkeypatch.setattr(headway.optimizer, "propose", propose)
    with pytest.raises(np.linalg.LinAlgError) as caught:
        headway.minimize(bowl, SPACE, budget=9, **QUICK)
    assert caught.value.result.nfev == 3
    assert (
        caught.value.result.message
        == "The run broke off. Budget is left; used so far: 3 of 9 evaluations."
    )


def test_progress_on_request(capsys):
    headway.minimize(bowl, SPACE, budget=2, progress=True, **QUICK)
    headway.minimize(bowl, SPACE, budget=2, **QUICK)  # not a terminal
    captured = capsys.readouterr()
    lines = captured.err.splitlines()
    assert captured.out == "" and len(lines) == 3
    assert lines[0] == "headway: 0 of 2 evaluations, no value yet"
    assert lines[2].startswith("headway: 2 of 2 evaluations, best ")


# Bad settings


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"budget": 0}, BudgetError, "budget is 0 evaluations"),
        ({"budget": None}, BudgetError, "budget is None, of type NoneType"),
        ({"callback": 3}, SettingError, r"callback is 3, of type int\. Allowed: a function"),
        ({"workers": 4}, SettingError, r"workers is 4 without an executor.*ThreadPoolExecutor\(4"),
        ({"workers": 0}, SettingError, "workers is 0. Allowed: a whole number of at least 1"),
        ({"executor": 3}, SettingError, r"executor is 3\. Allowed: a concurrent\.futures"),
        ({"progress": "on"}, SettingError, "progress is 'on'"),
        ({"checkpoint": 5}, SettingError, "checkpoint is 5, of type int. Allowed: a file name"),
    ],
)
def test_bad_settings_are_found_before_f_is_called(change, error, message):
    with pytest.raises(error, match=message):
        headway.minimize(pytest.fail, SPACE, **{"budget": 5, **change})


def test_an_f_that_is_no_function():
    with pytest.raises(
        SettingError, match=r"f is 1\.0, of type float\. Allowed: a function of one"
    ):
        headway.minimize(1.0, SPACE, budget=5)
