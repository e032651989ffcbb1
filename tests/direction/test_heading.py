"""The direction of a run: where it starts, when it turns, and when there is none."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.direction import vmf
from headway.direction.heading import FIRST_KAPPA, advance, directions, past
from headway.direction.updates import RULES, exact
from headway.direction.vmf import Direction

TOLD = np.array([[0.1, 0.1], [0.5, 0.1], [0.5, 0.4]])


def draws(seed=0, n=64, d=2, towards=(1.0, 0.0), spread=0.5):
    G = np.asarray(towards) + spread * np.random.default_rng(seed).standard_normal((n, d))
    return G / np.linalg.norm(G, axis=1, keepdims=True)


def test_directions_are_unit_vectors_from_the_anchor():
    G = directions(np.array([[1.0, 0.5], [0.5, 1.5], [0.2, 0.1]]), np.array([0.5, 0.5]))
    np.testing.assert_allclose(G[:2], [[1.0, 0.0], [0.0, 1.0]])
    np.testing.assert_allclose(G[2], [-0.6, -0.8])


def test_draws_at_the_anchor_have_no_direction():
    anchor = np.array([0.5, 0.5])
    G = directions(anchor + np.array([[0.0, 0.0], [1e-12, 0.0], [0.0, 0.1]]), anchor)
    np.testing.assert_allclose(G, [[0.0, 1.0]])
    assert directions(anchor[None], anchor).shape == (0, 2)
    assert directions(np.empty((4, 0)), np.empty(0)).shape == (0, 0)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 9999), st.integers(1, 20))
def test_directions_have_length_one_however_near(seed, d):
    rng = np.random.default_rng(seed)
    anchor = rng.random(d)
    G = directions(anchor + rng.standard_normal((8, d)) * 10.0 ** rng.uniform(-8, 0), anchor)
    np.testing.assert_allclose(np.linalg.norm(G, axis=1), 1.0)


def test_the_first_direction_is_between_the_last_two_told_points_with_kappa_one():
    first = past({}, TOLD)
    np.testing.assert_allclose(first.theta, [0.0, 1.0])
    assert first.kappa == FIRST_KAPPA == 1.0


def test_a_point_told_twice_is_passed_over():
    first = past({}, np.vstack([TOLD, TOLD[-1:], TOLD[-1:]]))
    np.testing.assert_allclose(first.theta, [0.0, 1.0])


@pytest.mark.parametrize("told", [TOLD[:0], TOLD[:1], np.tile(TOLD[:1], (4, 1))])
def test_before_two_points_there_is_none(told):
    assert past({}, told) is None
    assert advance(exact, {}, told, draws()) == (None, {})


def test_a_direction_that_was_handed_on_is_taken():
    carried = past({"theta": [0.6, 0.8], "kappa": 2.5, "n": 3}, TOLD)
    np.testing.assert_allclose(carried.theta, [0.6, 0.8])
    assert carried.kappa == 2.5


@pytest.mark.parametrize("name", ["exact", "projected", "printed"])
def test_a_step_applies_the_rule_to_the_past_and_the_belief(name):
    G = draws(spread=3.0)  # so spread out that `printed` is inside its sphere
    now, state = advance(RULES[name], {}, TOLD, G)
    expected = RULES[name](past({}, TOLD), vmf.fit(G))
    np.testing.assert_array_equal(now.theta, expected.theta)
    assert now.kappa == expected.kappa
    assert state == {"theta": expected.theta.tolist(), "kappa": expected.kappa, "n": 3}


def test_steps_follow_each_other_through_json():
    _, state = advance(exact, {}, TOLD[:2], draws(0))
    state = json.loads(json.dumps(state, allow_nan=False))
    now, after = advance(exact, state, TOLD, draws(1))
    expected = exact(Direction(np.array(state["theta"]), state["kappa"]), vmf.fit(draws(1)))
    np.testing.assert_array_equal(now.theta, expected.theta)
    assert after["n"] == 3


def test_asks_of_one_batch_share_one_update():
    now, state = advance(exact, {}, TOLD, draws(0))
    again, same = advance(exact, state, TOLD, draws(1))
    np.testing.assert_array_equal(again.theta, now.theta)
    assert again.kappa == now.kappa and same == state
    other, _ = advance(exact, state, np.vstack([TOLD, [[0.9, 0.9]]]), draws(1))
    assert other.kappa != now.kappa


def test_a_belief_without_a_direction_is_neutral_and_keeps_the_past():
    state = {"theta": [1.0, 0.0], "kappa": 2.0, "n": 2}
    for G in (np.empty((0, 2)), np.array([[1.0, 0.0], [-1.0, 0.0]])):
        assert advance(exact, state, TOLD, G) == (None, state)


def test_a_rule_without_an_answer_is_neutral():
    assert advance(lambda before, belief: None, {}, TOLD, draws()) == (None, {})


def test_a_rule_from_outside_is_a_callable_of_two_directions():
    def half_way(before, belief):
        theta = before.theta + belief.theta
        return Direction(theta / np.linalg.norm(theta), 0.5 * (before.kappa + belief.kappa))

    now, _ = advance(half_way, {}, TOLD, draws())
    np.testing.assert_allclose(now.theta, [2**-0.5, 2**-0.5], atol=0.15)


@pytest.mark.parametrize("name", ["exact", "projected", "printed"])
def test_on_a_line_there_are_two_directions(name):
    told = np.array([[0.2], [0.5]])
    for side in (1.0, -1.0):
        G = np.where(np.arange(16)[:, None] < 10, side, -side)
        now, _ = advance(RULES[name], {}, told, G)
        assert abs(now.theta[0]) == 1.0 and now.kappa >= 0.0


def test_nothing_that_is_handed_in_is_changed():
    state = {"theta": [1.0, 0.0], "kappa": 2.0, "n": 2}
    G, before = draws(), draws()
    advance(exact, state, TOLD, G)
    assert state == {"theta": [1.0, 0.0], "kappa": 2.0, "n": 2}
    np.testing.assert_array_equal(G, before)
