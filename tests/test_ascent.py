"""The batched climb: against scipy's L-BFGS-B, at bounds, and on functions that misbehave."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from headway.ascent import climb


def box(c, *, low=0.0, high=1.0, length=0.5):
    return {"low": np.full(c, low), "high": np.full(c, high), "metric": np.full(c, length)}


def quadratic(A, centre):
    """-(x - centre)^T A (x - centre) / 2 with its gradient, for every row."""

    def function(X, rows):
        u = X - centre
        return -0.5 * np.einsum("mi,ij,mj->m", u, A, u), -u @ A

    return function


def waves(X, rows):
    """A smooth function with several maxima."""
    value = np.sum(np.sin(7.0 * X), axis=1) - 3.0 * np.sum((X - 0.6) ** 2, axis=1)
    value += 0.5 * X[:, 0] * X[:, -1]
    gradient = 7.0 * np.cos(7.0 * X) - 6.0 * (X - 0.6)
    gradient[:, 0] += 0.5 * X[:, -1]
    gradient[:, -1] += 0.5 * X[:, 0]
    return value, gradient


@pytest.mark.parametrize("c", [1, 2, 6, 20])
def test_every_start_reaches_the_top_of_a_hill_inside_the_box(c):
    rng = np.random.default_rng(c)
    B = rng.standard_normal((c, c))
    A, centre = B @ B.T / c + 0.1 * np.eye(c), rng.uniform(0.2, 0.8, c)
    X, value = climb(quadratic(A, centre), rng.random((9, c)), **box(c), iterations=100)
    np.testing.assert_allclose(value, 0.0, atol=1e-6)
    np.testing.assert_allclose(X, np.tile(centre, (9, 1)), atol=5e-3)


@pytest.mark.parametrize("c", [2, 5])
def test_a_top_outside_the_box_ends_on_the_face_that_is_best(c):
    rng = np.random.default_rng(c)
    B = rng.standard_normal((c, c))
    A, centre = B @ B.T + 0.5 * np.eye(c), rng.uniform(-0.6, 1.6, c)
    function = quadratic(A, centre)
    X, value = climb(function, rng.random((8, c)), **box(c), iterations=100)
    exact = minimize(
        lambda x: -function(x[None], None)[0][0],
        np.full(c, 0.5),
        jac=lambda x: -function(x[None], None)[1][0],
        bounds=[(0.0, 1.0)] * c,
        options={"ftol": 1e-15, "gtol": 1e-10},
    )
    np.testing.assert_allclose(value, -exact.fun, atol=1e-5)
    assert np.all((X >= 0.0) & (X <= 1.0))


def test_no_worse_than_lbfgsb_on_a_hilly_function():
    starts = np.random.default_rng(3).random((40, 4))
    _, value = climb(waves, starts, **box(4, length=0.2), iterations=60)
    theirs = [
        -minimize(
            lambda x: -waves(x[None], None)[0][0],
            start,
            jac=lambda x: -waves(x[None], None)[1][0],
            bounds=[(0.0, 1.0)] * 4,
        ).fun
        for start in starts
    ]
    # Both stop at some top; which one differs from start to start, so compare what counts.
    assert np.max(value) >= np.max(theirs) - 1e-6
    assert np.mean(value) >= np.mean(theirs) - 0.1


def test_a_curved_valley_is_followed():
    def function(X, rows):
        x, y = 4.0 * X[:, 0] - 2.0, 4.0 * X[:, 1] - 2.0
        value = (1.0 - x) ** 2 + 100.0 * (y - x * x) ** 2
        slope = np.stack([2.0 * (x - 1.0) - 400.0 * x * (y - x * x), 200.0 * (y - x * x)], axis=1)
        return -value, -4.0 * slope

    X, value = climb(function, np.random.default_rng(0).random((12, 2)), **box(2), iterations=300)
    assert np.all(value > -1e-3)
    np.testing.assert_allclose(X, np.tile([0.75, 0.75], (12, 1)), atol=2e-2)


def test_starts_do_not_disturb_each_other():
    starts = np.random.default_rng(4).random((7, 3))
    together, values = climb(waves, starts, **box(3), iterations=60)
    for row, start in enumerate(starts):
        alone, value = climb(waves, start[None], **box(3), iterations=60)
        np.testing.assert_allclose(alone[0], together[row], atol=1e-9)
        assert value[0] == pytest.approx(values[row], abs=1e-12)


def test_the_function_is_told_which_start_each_row_is():
    centres = np.array([[0.2, 0.3], [0.8, 0.1], [0.5, 0.9]])

    def function(X, rows):
        u = X - centres[rows]
        return -np.sum(u**2, axis=1), -2.0 * u

    X, _ = climb(function, np.full((3, 2), 0.5), **box(2), iterations=50)
    np.testing.assert_allclose(X, centres, atol=1e-3)


def test_starts_outside_the_box_are_brought_in():
    X, _ = climb(waves, np.array([[-3.0, 0.5], [0.2, 7.0]]), **box(2), iterations=0)
    np.testing.assert_array_equal(X, [[0.0, 0.5], [0.2, 1.0]])


@pytest.mark.parametrize("bad", [np.nan, -np.inf])
def test_a_region_without_values_is_not_entered(bad):
    def function(X, rows):
        beyond = X[:, 0] > 0.5
        return np.where(beyond, bad, X[:, 0]), np.where(beyond[:, None], bad, np.ones_like(X))

    starts = np.array([[0.1, 0.2], [0.45, 0.9], [0.7, 0.7]])
    X, value = climb(function, starts, **box(2), iterations=60)
    assert np.all(X[:2, 0] <= 0.5) and np.all(value[:2] >= [0.1, 0.45])
    assert np.all(value[:2] > 0.45)
    np.testing.assert_array_equal(X[2], starts[2])  # a start without a value stays where it is
    assert not np.isfinite(value[2])


def test_a_gradient_that_lies_costs_nothing_but_the_climb():
    """Down where the gradient says up: the line search gives up, the start is returned."""

    def function(X, rows):
        return -np.sum(X, axis=1), np.ones_like(X)

    starts = np.full((2, 3), 0.4)
    X, value = climb(function, starts, **box(3), iterations=60)
    np.testing.assert_array_equal(X, starts)
    np.testing.assert_allclose(value, -1.2)


@pytest.mark.parametrize("size", [1e75, 1e-12])
def test_heights_of_any_size_leave_no_nan_and_no_warning(size):
    def function(X, rows):
        value, gradient = waves(X, rows)
        return size * value, size * gradient

    starts = np.random.default_rng(5).random((6, 3))
    X, value = climb(function, starts, **box(3), iterations=60)
    assert np.all(np.isfinite(X)) and np.all(np.isfinite(value))
    assert np.all(value >= function(starts, None)[0])


def test_a_flat_function_ends_at_once():
    calls = []

    def function(X, rows):
        calls.append(len(X))
        return np.zeros(len(X)), np.zeros_like(X)

    climb(function, np.full((4, 2), 0.5), **box(2), iterations=60)
    assert len(calls) <= 2


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(1, 6))
def test_a_climb_stays_in_the_box_and_never_ends_lower(seed, c, m):
    rng = np.random.default_rng(seed)
    B = rng.standard_normal((c, c)) * 10.0 ** rng.uniform(-3, 3)
    tilt, centre = rng.standard_normal(c), rng.uniform(-0.5, 1.5, c)
    low = rng.uniform(0.0, 0.4, c)
    high = low + rng.uniform(0.0, 0.5, c)  # a side may have no width

    def function(X, rows):
        u = (X - centre) @ B
        return np.sum(np.cos(u), axis=1) + X @ tilt, -np.sin(u) @ B.T + tilt

    starts = rng.random((m, c))
    metric = 10.0 ** rng.uniform(-3, 0, c)
    X, value = climb(function, starts, low=low, high=high, metric=metric, iterations=30)
    assert np.all((low <= X) & (high >= X))
    assert np.all(value >= function(np.clip(starts, low, high), None)[0])
    np.testing.assert_allclose(value, function(X, None)[0], rtol=1e-9, atol=1e-9)
