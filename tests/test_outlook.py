"""What the model says at the end of a run."""

from __future__ import annotations

import numpy as np
import pytest

import headway
from headway.outlook import Outlook
from headway.situation import assess


def outlook_of(optimizer):
    return Outlook.of(
        optimizer.history.facts(optimizer.direction),
        optimizer.space,
        optimizer.settings,
        direction=optimizer.direction,
    )


def run(f, space, budget, **settings):
    optimizer = headway.Optimizer(space, budget, **settings)
    while not optimizer.done:
        trial = optimizer.ask()
        optimizer.tell(trial, f(trial.params))
    return optimizer


def bowl(p):
    return (p["x"] - 0.3) ** 2 + 2.0 * (p["y"] - 0.6) ** 2


SQUARE = {"x": (0.0, 1.0), "y": (0.0, 1.0)}


def test_without_a_value_there_is_none():
    optimizer = headway.Optimizer(SQUARE, 3)
    assert outlook_of(optimizer) is None
    optimizer.tell(optimizer.ask(), failed=True)
    assert outlook_of(optimizer) is None


def test_the_recommended_trial_is_the_best_and_is_predicted():
    optimizer = run(bowl, SQUARE, 15)
    found = outlook_of(optimizer)
    assert found.trial == optimizer.best.id and not found.noisy
    there = found.predict(found.centre[None])
    assert there.mean[0] == pytest.approx(optimizer.best.value, abs=1e-3)
    assert there.low[0] <= there.mean[0] <= there.high[0] and there.sd[0] < 1e-2
    Z = np.array([o.z for o in optimizer.history])
    values = np.array([o.value for o in optimizer.history])
    assert found.predict(Z).mean == pytest.approx(values, abs=2e-2)


def test_maximising_is_the_mirror_image():
    one = run(bowl, SQUARE, 12)
    two = run(lambda p: -bowl(p), SQUARE, 12, direction="maximize")
    Z = np.random.default_rng(0).random((20, 2))
    a, b = outlook_of(one), outlook_of(two)
    assert a.trial == b.trial
    assert b.predict(Z).mean == pytest.approx(-a.predict(Z).mean)
    assert b.predict(Z).low == pytest.approx(-a.predict(Z).high)
    assert b.predict(Z).sd == pytest.approx(a.predict(Z).sd)
    assert b.optima().gains == pytest.approx(a.optima().gains)


def test_trials_in_flight_are_not_believed():
    optimizer = run(bowl, SQUARE, 10)
    before = outlook_of(optimizer)
    optimizer.extend(14)
    optimizer.ask(3)
    after = outlook_of(optimizer)
    Z = np.random.default_rng(0).random((20, 2))
    assert len(after.situation.taken) == 10
    assert after.predict(Z).sd == pytest.approx(before.predict(Z).sd, rel=1e-6)


def test_under_noise_the_lucky_value_is_not_recommended():
    """One value far below its neighbours, which were told to be as noisy as it is."""
    optimizer = headway.Optimizer({"x": (0.0, 1.0)}, 60, noise=0.25)
    for x in np.linspace(0.0, 1.0, 25):
        optimizer.tell_known({"x": float(x)}, 4.0 * (x - 0.25) ** 2)
    optimizer.tell_known({"x": 0.9}, -0.4)  # three deviations below its own mean of 1.7
    found = outlook_of(optimizer)
    assert optimizer.best.value == -0.4
    assert found.noisy and found.noise == pytest.approx(0.5)
    assert dict(optimizer.history[found.trial].point)["x"] < 0.5


def test_the_belief_narrows_and_its_gains_hold_the_truth():
    early, late = run(bowl, SQUARE, 5, seed=1), run(bowl, SQUARE, 25, seed=1)
    first, last = outlook_of(early).optima(), outlook_of(late).optima()
    assert np.all(first.gains >= 0.0) and np.all(last.gains >= 0.0)
    assert last.gain(0.95) < 0.05 * first.gain(0.95)
    assert late.best.value <= last.gain(0.95) + 1e-3  # the minimum is 0
    target = np.array([0.3, 0.6])
    assert np.mean(np.abs(last.places - target)) < np.mean(np.abs(first.places - target))


def test_optima_meet_the_constraints():
    def f(p):
        return headway.Outcome(p["x"] + p["y"], constraints=[0.5 - p["x"]])

    found = outlook_of(run(f, SQUARE, 20, constraints=1))
    assert np.mean(found.optima().places[:, 0] >= 0.49) > 0.95
    Z = np.array([[0.1, 0.5], [0.9, 0.5]])
    assert found.feasible(Z) == pytest.approx([0.0, 1.0], abs=0.02)
    assert found.breach(Z)[0] > 0.0 > found.breach(Z)[1]


def test_without_a_feasible_trial_nothing_is_said_of_a_gain():
    def f(p):
        return headway.Outcome(p["x"], constraints=[1.0 + p["y"]])

    found = outlook_of(run(f, SQUARE, 8, constraints=1))
    assert found.optima() is None
    assert found.trial in range(8)


def test_without_constraints_everything_is_feasible():
    found = outlook_of(run(bowl, SQUARE, 6))
    Z = np.random.default_rng(0).random((5, 2))
    assert np.all(found.feasible(Z) == 1.0) and np.all(found.breach(Z) == -np.inf)


def test_it_is_the_model_of_the_proposals():
    """The same facts give the model that the next ask would be made with."""
    optimizer = run(bowl, SQUARE, 12)
    facts = optimizer.history.facts("minimize")
    same = assess(facts, optimizer.space, optimizer.settings.surrogate, {})
    Z = np.random.default_rng(0).random((20, 2))
    mu, _ = same.objective.gp.predict(optimizer.space.embed(Z))
    assert outlook_of(optimizer).predict(Z).mean == pytest.approx(same.objective.warp.backward(mu))


def test_it_is_a_function_of_the_run():
    optimizer = run(bowl, SQUARE, 9)
    again = headway.Optimizer.from_json(optimizer.to_json())
    one, two = outlook_of(optimizer).optima(), outlook_of(again).optima()
    assert np.array_equal(one.places, two.places)


def test_importance_of_the_model_is_that_of_the_function():
    optimizer = run(lambda p: 10.0 * p["x"] + p["y"], {**SQUARE, "z": (0.0, 1.0)}, 20)
    found = outlook_of(optimizer).importance()
    assert found.order[0] == "x"
    assert found.total == pytest.approx([100 / 101, 1 / 101, 0.0], abs=0.05)


def test_importance_of_the_largest_floats():
    """1.8e308 is a usual penalty; the difference of two such values is none."""
    optimizer = run(lambda p: 1.7e308 if p["x"] > 0.5 else -1.7e308, SQUARE, 10)
    found = outlook_of(optimizer).importance()
    assert np.all(np.isfinite(found.total))
