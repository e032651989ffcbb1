"""What the trials of a study say about its space."""

from __future__ import annotations

import json

import numpy as np
import optuna
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from headway.optuna_space import Catalogue, Group, distributions_of, group_of
from headway.parameters import Categorical, Integer, Real
from headway.space import Space
from tests.cases import SPACES


def catalogue(objective, count=12, seed=0):
    """What `count` random trials of an objective leave behind."""
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=seed))
    study.optimize(objective, n_trials=count)
    found = Catalogue()
    for trial in study.trials:
        found.add(trial.params, trial.distributions)
    return found, study.trials


def parameters(group: Group):
    return dict(zip(group.space.names, group.space.parameters, strict=True))


def test_a_static_space_is_one_group_sorted_by_name():
    def f(trial):
        trial.suggest_float("z", 1e-3, 10, log=True)
        trial.suggest_float("y", -1, 1, step=0.25)
        trial.suggest_int("n", 0, 10, step=2)
        trial.suggest_int("m", 1, 64, log=True)
        trial.suggest_categorical("c", [None, True, "x", 2.5])
        trial.suggest_float("fixed", 3.0, 3.0)  # Optuna does not ask a sampler for it
        return 0.0

    (group,) = catalogue(f)[0].groups()
    assert parameters(group) == {
        "c": Categorical([None, True, "x", 2.5]),
        "m": Integer(1, 64, log=True),
        "n": Integer(0, 10, step=2),
        "y": Real(-1, 1, step=0.25),
        "z": Real(1e-3, 10, log=True),
    }
    assert group.space.names == tuple("cmnyz")


def test_what_a_category_decides_on_is_conditional():
    def f(trial):
        if trial.suggest_categorical("kernel", ["rbf", "poly", "linear"]) == "rbf":
            trial.suggest_float("gamma", 0, 1)
        elif trial.params["kernel"] == "poly":
            trial.suggest_int("degree", 2, 5)
            if trial.suggest_categorical("coef", [False, True]):
                trial.suggest_float("coef0", 0, 1)
        return 0.0

    (group,) = catalogue(f, 40)[0].groups()
    found = parameters(group)
    assert found["gamma"] == Real(0, 1, when=("kernel", "rbf"))
    assert found["degree"] == Integer(2, 5, when=("kernel", "poly"))
    assert found["coef0"] == Real(0, 1, when=("coef", True))
    assert found["coef"].when == ("kernel", ("poly",))


def test_layers_are_there_from_some_number_on():
    def f(trial):
        for i in range(trial.suggest_int("layers", 1, 6)):
            trial.suggest_int(f"units{i}", 8, 512, log=True)
        return 0.0

    found, _ = catalogue(f, 3, seed=1)
    (group,) = found.groups()
    seen = sorted({int(value) for value in found.taken["layers"]})
    assert len(seen) < 6  # some counts were never tried
    for name, parameter in parameters(group).items():
        if parameter.when is not None:
            index = int(name.removeprefix("units"))
            assert parameter.when[1][-1] == 6, "what lies beyond the numbers seen is active too"
            assert min(n for n in seen if n > index) in parameter.when[1]
            assert max(n for n in seen if n <= index) not in parameter.when[1]


def test_what_nothing_decides_on_is_a_group_of_its_own():
    def f(trial):
        x = trial.suggest_float("x", 0, 1)
        if x > 0.5:
            trial.suggest_float("a", 0, 1)
            trial.suggest_float("b", 0, 1)
        return 0.0

    groups = catalogue(f, 20)[0].groups()
    assert [group.space.names for group in groups] == [("x",), ("a", "b")]


def test_a_range_that_changes_and_what_headway_has_no_parameter_for_are_left_out():
    def f(trial):
        trial.suggest_float("x", 0, 1)
        trial.suggest_float("changes", 0, 1 + trial.number % 2)
        trial.suggest_float("fine", 0, 1, step=1e-14)
        trial.suggest_int("wide", 0, 2**60)
        return 0.0

    (group,) = catalogue(f)[0].groups()
    assert group.space.names == ("x",)


def test_a_parameter_of_one_trial_is_no_group():
    def f(trial):
        trial.suggest_float("x", 0, 1)
        trial.suggest_float(f"x{trial.number}", 0, 1)
        return 0.0

    (group,) = catalogue(f)[0].groups()
    assert group.space.names == ("x",)


def test_the_order_of_the_trials_does_not_matter():
    def f(trial):
        if trial.suggest_categorical("c", ["a", "b"]) == "a":
            trial.suggest_float("x", 0, 1)
        return 0.0

    found, trials = catalogue(f)
    other = Catalogue()
    for trial in reversed(trials):
        other.add(trial.params, trial.distributions)
    assert [g.space for g in other.groups()] == [g.space for g in found.groups()]


@pytest.mark.filterwarnings("ignore:Choices for a categorical distribution")
@pytest.mark.parametrize(
    "choices",
    [
        [None, 1, 2],
        [True, False],
        [(1, 2), (3,)],
        [float("nan"), 0.5],
        [{"a": (1,)}, object()],
        ["x", "x"],
        [float("inf"), -1.0],
    ],
)
def test_any_choice_that_optuna_takes(choices):
    distribution = CategoricalDistribution(choices)
    found = Catalogue()
    found.add({"c": choices[0]}, {"c": distribution})
    (group,) = found.groups()
    json.dumps(group.space.to_json(), allow_nan=False)
    for index, choice in enumerate(choices):
        chosen = group.decode(np.array([float(index)]))["c"]
        assert chosen is choice or chosen == choice
        values = group.values({"c": choice})
        assert values is not None
        assert group.space.encode(values)[0] == distribution.to_internal_repr(choice)


def test_values_outside_or_missing_are_no_point():
    group = group_of({"x": (0.0, 1.0), "c": Categorical(["a", "b"]), "n": Integer(0, 4, step=2)})
    point = {"x": 0.5, "c": "a", "n": 2}
    assert group.values(point) == point
    assert group.values({**point, "more": 3}) == point
    for wrong in ({"x": 1.5}, {"c": "z"}, {"n": 1}):
        assert group.values({**point, **wrong}) is None
    assert group.values({"x": 0.5, "c": "a"}) is None


def test_inactive_values_are_dropped():
    space = {"c": Categorical(["a", "b"]), "x": Real(0, 1, when=("c", "a"))}
    group = group_of(space)
    assert group.values({"c": "b", "x": 0.3}) == {"c": "b"}
    assert group.values({"c": "a"}) is None


@settings(max_examples=60, deadline=None)
@given(name=st.sampled_from(sorted(SPACES)), seed=st.integers(0, 2**32 - 1))
def test_points_survive_the_way_through_optuna(name, seed):
    space = SPACES[name]
    group = group_of(space)
    Z = space.from_unit(np.random.default_rng(seed).random((5, space.d)))
    for z in Z:
        params = group.decode(z)
        stored = {
            key: group.distributions[key].to_external_repr(
                float(group.distributions[key].to_internal_repr(value))
            )
            for key, value in params.items()
            # Optuna's own index does not tell True from 1.
            if name != "categorical"
        } or params
        for key, value in stored.items():
            distribution = group.distributions[key]
            assert distribution._contains(distribution.to_internal_repr(value))
        values = group.values(stored)
        assert values is not None
        if name != "categorical":
            np.testing.assert_allclose(space.encode(values), z, atol=1e-12)


def test_distributions_of_a_headway_space():
    from headway.parameters import Ordinal

    space = Space.of(
        {
            "x": Real(1e-3, 1, log=True),
            "s": Real(0, 1, step=0.25),
            "n": Integer(0, 8, step=4),
            "m": Integer(1, 8, log=True),
            "c": Categorical(["a", None]),
            "o": Ordinal([1, 10, 100]),
        }
    )
    assert distributions_of(space) == {
        "x": FloatDistribution(1e-3, 1, log=True),
        "s": FloatDistribution(0, 1, step=0.25),
        "n": IntDistribution(0, 8, step=4),
        "m": IntDistribution(1, 8, log=True),
        "c": CategoricalDistribution(["a", None]),
        "o": CategoricalDistribution([1, 10, 100]),
    }


def test_without_a_parent_its_children_are_always_there():
    space = {"c": Categorical(["a", "b"]), "x": Real(0, 1, when=("c", "a")), "y": (0.0, 1.0)}
    group = group_of(space).restricted({"x", "y"})
    assert parameters(group) == {"x": Real(0, 1), "y": Real(0, 1)}
