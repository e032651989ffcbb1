"""The policy as a value: validated, frozen, comparable, printable, and the same again from JSON."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError, replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.direction.updates import RULES, exact
from headway.errors import SettingError
from headway.policy import ACQUISITIONS, ADAPTIVE, ANCHORS, LOCAL_TERMS, SCHEDULES, Policy

POLICIES = st.builds(
    Policy,
    acquisition=st.sampled_from(ACQUISITIONS),
    kappa=st.floats(0, 100),
    local=st.sampled_from([None, *LOCAL_TERMS]),
    rule=st.sampled_from([*RULES, "sampled"]),
    anchor=st.sampled_from(ANCHORS),
    size=st.tuples(st.floats(1e-6, 1e6), st.floats(1e-6, 1e6)),
    schedule=st.sampled_from([*SCHEDULES, ADAPTIVE]),
    finish=st.floats(0, 1),
    reopen=st.floats(-1e300, 0),
    draws=st.integers(2, 999),
    places=st.integers(2, 999),
)


def slow(progress):
    return 0.5 * progress


def keep(past, belief):
    return past


def read(policy, callables=None):
    return Policy.from_json(json.loads(json.dumps(policy.to_json(), allow_nan=False)), callables)


# Presets


def test_the_presets_are_what_their_names_say():
    assert Policy.default() == Policy()
    assert (Policy().acquisition, Policy().local, Policy().finish) == ("ei", "box", 0.1)
    assert Policy.ei() == Policy("ei", local=None, finish=0.0)
    assert Policy.poi() == Policy("poi", local=None, finish=0.0)
    assert Policy.ucb(0.5) == Policy("ucb", kappa=0.5, local=None, finish=0.0)
    assert Policy.mes() == Policy("mes", local=None, finish=0.0)
    assert Policy.greedy().local is None


def test_the_paper_has_its_defaults():
    paper = Policy.paper()
    same = Policy("ei", local="direction", rule="exact", anchor="last", schedule="linear", finish=0)
    assert paper == same
    assert paper.schedule == "linear"
    other = Policy.paper("poi", rule="projected", rho="late", anchor="best")
    assert (other.acquisition, other.rule, other.schedule, other.anchor) == (
        "poi",
        "projected",
        "late",
        "best",
    )


def test_samples_are_drawn_only_where_they_are_used():
    assert (
        Policy(local="belief").needs_belief
        and Policy.paper().needs_belief
        and Policy.mes().needs_belief
    )
    assert not Policy.ei().needs_belief and not Policy().needs_belief
    assert Policy(local="box", schedule=ADAPTIVE).needs_belief


# The trade-off


def test_the_weights_of_the_paper_are_one_minus_rho_and_rho():
    for progress in (0.0, 0.25, 0.9):
        assert Policy.paper().weights(progress) == (1.0 - progress, progress)
        assert Policy().weights(progress) == (1.0, 1.0)
        assert Policy.ei().weights(progress) == (1.0, 1.0)


def test_rho_stays_below_one():
    """At 1 the acquisition would not count at all."""
    for policy in (Policy.paper(), Policy.paper(rho=lambda p: 7.0)):
        base, local = policy.weights(1.0)
        assert 0.0 < base < 0.01 and local < 1.0
    assert Policy.paper(rho=lambda p: -3.0).weights(0.5) == (1.0, 0.0)


def test_the_annealed_size_runs_from_its_first_to_its_last_value():
    policy = Policy(local="belief", size=(4.0, 4000.0), schedule="linear")
    assert policy.annealed_size(0.0) == pytest.approx(4.0)
    assert policy.annealed_size(0.5) == pytest.approx(4.0 * 1000**0.5)
    assert policy.annealed_size(1.0) == pytest.approx(4000.0)
    assert Policy(local="belief", schedule="late").annealed_size(0.5) == pytest.approx(
        4.0 * 1000**0.125
    )


@pytest.mark.parametrize("schedule", [*SCHEDULES, ADAPTIVE])
def test_every_schedule_grows_from_nothing_to_all(schedule):
    policy = Policy(schedule=schedule)
    values = [policy.at(p) for p in np.linspace(0, 1, 21)]
    assert values[0] == 0.0 and values[-1] == 1.0
    assert np.all(np.diff(values) >= 0.0)


def test_the_adaptive_schedule_is_linear_times_the_concentration_of_the_belief():
    policy = Policy.paper(rho=ADAPTIVE)
    assert policy.weights(0.5, 1.0) == (0.5, 0.5)
    assert policy.weights(0.5, 0.2) == pytest.approx((0.9, 0.1))
    assert policy.weights(0.5, 0.0) == (1.0, 0.0)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_schedule_that_returns_no_number_is_named(bad):
    def broken(progress):
        return bad

    with pytest.raises(
        SettingError, match=r"schedule broken\(0.5\) is (nan|inf); it must be a number"
    ):
        Policy(schedule=broken).at(0.5)
    with pytest.raises(SettingError, match=r"functools.partial"):
        Policy(schedule=partial(broken)).at(0.5)


# Validation


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"acquisition": "lcb"}, r"acquisition is 'lcb'; it can be one of ei, poi, ucb, mes, mean"),
        ({"acquisition": None}, r"acquisition is None"),
        ({"local": "ball"}, r"local is 'ball'; it can be one of belief, box, direction"),
        ({"rule": "taylor"}, r"rule is 'taylor'; it can be one of printed, .*projected, sampled"),
        ({"anchor": "first"}, r"anchor is 'first'; it can be one of last, best"),
        ({"schedule": "never"}, r"schedule is 'never'; it can be one of linear, late, adaptive"),
        ({"schedule": 0.5}, r"schedule is 0.5"),
        ({"kappa": -1.0}, r"kappa is -1.0; it is a number at least 0"),
        ({"kappa": float("nan")}, r"kappa is nan"),
        ({"kappa": "2"}, r"kappa is '2'"),
        ({"kappa": True}, r"kappa is True"),
        ({"finish": 1.5}, r"finish is 1.5; it is a number at least 0 and at most 1"),
        ({"finish": -0.1}, r"finish is -0.1"),
        ({"reopen": float("nan")}, r"reopen is nan; it is a number that is finite"),
        ({"size": (4.0,)}, r"size is \(4.0,\); it is a pair, at the start and at the end"),
        ({"size": (1.0, 2.0, 3.0)}, r"it is a pair"),
        ({"size": 4.0}, r"size is 4.0; it is a pair, at the start and at the end"),
        ({"size": (4.0, 0.0)}, r"size is 0.0; it is a number above 0"),
        ({"size": (float("inf"), 1.0)}, r"size is inf"),
        ({"size": "ab"}, r"size is 'a'; it is a number above 0"),
        ({"draws": 1}, r"draws is 1; it is a whole number of at least 2"),
        ({"draws": 64.0}, r"draws is 64.0"),
        ({"places": True}, r"places is True"),
    ],
)
def test_bad_settings_say_what_is_allowed(change, text):
    with pytest.raises(SettingError, match=text):
        Policy(**change)


def test_a_setting_error_is_a_value_error():
    assert issubclass(SettingError, ValueError)


@pytest.mark.parametrize("make", [Policy.paper, Policy.ucb])
def test_presets_are_validated_too(make):
    with pytest.raises(SettingError, match="is 'nonsense'"):
        make("nonsense")


# A value


@given(POLICIES)
def test_json_and_back_is_the_same_policy(policy):
    again = read(policy)
    assert again == policy and hash(again) == hash(policy)
    assert eval(repr(policy)) == policy


def test_frozen():
    with pytest.raises(FrozenInstanceError):
        Policy().kappa = 3.0
    with pytest.raises((AttributeError, TypeError)):
        Policy().other = 3.0


def test_policies_differ_where_a_setting_differs():
    assert Policy.ei() != Policy.poi() and Policy.paper() != Policy.paper(rule="projected")
    assert Policy() != replace(Policy(), finish=0.2)
    assert len({Policy(), Policy.default(), Policy.ei()}) == 2


def test_a_list_of_sizes_is_as_good_as_a_tuple():
    assert Policy(size=[2.0, 0.02]) == Policy(size=(2.0, 0.02))


def test_it_prints_as_what_it_does():
    assert str(Policy()) == "ei + box"
    assert str(Policy.ucb()) == "ucb"
    assert str(Policy.paper("mes")) == "mes + direction"


# Callables


def test_a_callable_is_stored_by_name_and_given_again():
    policy = Policy.paper(rule=keep, rho=slow)
    data = policy.to_json()
    assert data["schedule"] == {"callable": "slow"} and data["rule"] == {"callable": "keep"}
    assert read(policy, {"slow": slow, "keep": keep}) == policy


@pytest.mark.parametrize("callables", [None, {}, {"fast": slow}])
def test_a_callable_that_is_not_given_again_is_named(callables):
    with pytest.raises(
        SettingError,
        match=r"schedule was the callable 'slow', which is stored by name only. "
        r"Give it again: callables=\{'slow': ...\}",
    ):
        read(Policy(schedule=slow), callables)


def test_a_callable_without_a_name_says_so_when_it_is_stored():
    policy = Policy(schedule=partial(pow, 2.0))
    with pytest.raises(SettingError, match=r"schedule is functools.partial.* no name"):
        policy.to_json()


def test_a_built_in_rule_may_be_given_as_the_function():
    assert read(Policy.paper(rule=exact), {"exact": exact}).rule is exact


def test_a_box_shrinks_by_default():
    box = Policy(local="box")
    assert box.annealed_size(1.0) < box.annealed_size(0.0)
