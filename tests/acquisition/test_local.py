"""The local terms: what they prefer, that they are smooth, and where they say nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.acquisition.local import Heading, Nearness
from headway.direction.vmf import Direction
from headway.space import Space
from tests.cases import SPACES, points

PLANE = Space.of([(0.0, 1.0)] * 2)
BOTH = np.array([0, 1])
CENTRE = np.array([0.4, 0.6])


def heading(theta=(1.0, 0.0), kappa=3.0, smoothing=0.05):
    direction = Direction(np.array(theta), kappa)
    return Heading(PLANE, CENTRE, BOTH, direction.log_density, smoothing)


def test_nearness_is_the_log_of_a_gaussian():
    precision = np.array([[4.0, 1.0], [1.0, 9.0]])
    term = Nearness(PLANE, CENTRE, BOTH, precision)
    Z = points(PLANE, 20)
    value, gradient = term(Z)
    for z, v, g in zip(Z, value, gradient, strict=True):
        u = z - CENTRE
        assert v == pytest.approx(-0.5 * u @ precision @ u)
        np.testing.assert_allclose(g, -precision @ u)
    at_centre, flat = term(CENTRE[None])
    assert at_centre[0] == 0.0 and np.all(flat == 0.0) and np.all(value <= 0.0)


def test_nearness_lets_categories_change_freely():
    space = SPACES["mixed"]
    term = Nearness(space, np.array([0.5, 0.5, 0.0]), BOTH, np.eye(2))
    Z = np.column_stack([np.full((3, 2), 0.5), np.arange(3.0)])
    np.testing.assert_array_equal(term(Z)[0], 0.0)
    np.testing.assert_array_equal(term(Z)[1], 0.0)


@pytest.mark.parametrize("seed", range(5))
def test_columns_inactive_on_either_side_add_nothing(seed):
    space = SPACES["conditional"]
    columns = np.array(space.number_columns)
    centre = points(space, 1, seed=seed)[0]
    term = Nearness(space, centre, columns, np.eye(len(columns)))
    Z = points(space, 30, seed=50)
    both = (space.active(Z) & space.active(centre[None]))[:, columns]
    u = np.where(both, (Z - centre)[:, columns], 0.0)
    np.testing.assert_allclose(term(Z)[0], -0.5 * np.sum(u**2, axis=1))


def test_heading_prefers_its_direction_at_any_distance():
    term = heading()
    angles = np.linspace(0.0, np.pi, 9)
    ray = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    for length in (0.3, 1e3):
        value, _ = term(CENTRE + length * ray)
        assert np.all(np.diff(value) < 0.0)
    # Far from the smoothed origin it is the paper's: log density of the direction alone.
    np.testing.assert_allclose(value, 3.0 * (np.cos(angles) - 1.0), atol=1e-3)


def test_heading_is_smooth_where_there_is_no_direction():
    term = heading()
    value, gradient = term(CENTRE[None])
    assert value[0] == -3.0
    np.testing.assert_allclose(gradient[0], [3.0 / 0.05, 0.0])
    h = 1e-6
    slope = (term(CENTRE[None] + [[h, 0.0]])[0] - term(CENTRE[None] - [[h, 0.0]])[0]) / (2 * h)
    assert slope[0] == pytest.approx(gradient[0, 0], rel=1e-6)


def test_a_concentration_of_zero_is_neutral():
    value, gradient = heading(kappa=0.0)(points(PLANE, 10))
    np.testing.assert_array_equal(value, 0.0)
    np.testing.assert_array_equal(gradient, 0.0)


@settings(max_examples=40, deadline=None)
@given(st.floats(0, 2 * np.pi), st.floats(0, 2 * np.pi), st.floats(0.0, 50.0), st.integers(0, 99))
def test_heading_turns_with_its_direction(angle, turn, kappa, seed):
    """A rotation of everything about the origin changes no value, and rotates the gradient."""
    R = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    theta = np.array([np.cos(angle), np.sin(angle)])
    Z = points(PLANE, 6, seed=seed)
    value, gradient = heading(theta, kappa)(Z)
    turned, turned_gradient = heading(R @ theta, kappa)(CENTRE + (Z - CENTRE) @ R.T)
    np.testing.assert_allclose(turned, value, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(turned_gradient, gradient @ R.T, rtol=1e-6, atol=1e-6)


def test_only_categories_leave_nothing_to_be_near_to():
    space = SPACES["categorical"]
    none = np.array([], dtype=np.intp)
    Z = points(space, 5)
    value, gradient = Nearness(space, Z[0], none, np.empty((0, 0)))(Z)
    np.testing.assert_array_equal(value, 0.0)
    np.testing.assert_array_equal(gradient, 0.0)
