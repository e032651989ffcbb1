"""The belief: sampled minimisers, their shape about the best point, and their concentration."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.direction.belief import Belief
from headway.surrogate.gp import GP, Kernel


def belief_of(minimisers, minima=None):
    minimisers = np.asarray(minimisers, dtype=float)
    return Belief(minimisers, np.zeros(len(minimisers)) if minima is None else minima)


def test_each_sample_has_its_minimiser_and_minimum():
    Z = np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]])
    S = np.array([[3.0, 1.0, 2.0], [0.5, 0.7, 0.6], [2.0, 2.0, -1.0], [1.0, 1.0, 1.0]])
    belief = Belief.of(Z, S)
    np.testing.assert_array_equal(belief.minimisers, Z[[1, 0, 2, 0]])  # of equal ones the first
    np.testing.assert_array_equal(belief.minima, [1.0, 0.5, -1.0, 1.0])


def test_samples_of_a_process_point_to_where_it_is_low():
    """A valley at 0.7, seen at a few points: the draws gather there."""
    F = np.linspace(0.0, 1.0, 9)[:, None]
    gp = GP.given(
        Kernel("matern52", np.array([0.3]), 1.0),
        F,
        8 * (F[:, 0] - 0.7) ** 2,
        noise=np.full(9, 1e-8),
    )
    Z = np.linspace(0.0, 1.0, 201)[:, None]
    belief = Belief.of(Z, gp.sample(Z, 256, np.random.default_rng(0)))
    assert np.mean(belief.minimisers) == pytest.approx(0.7, abs=0.02)
    assert np.std(belief.minimisers) < 0.1
    assert np.all(belief.minima <= gp.posterior_mean(Z).min() + 0.1)


def test_the_shape_is_the_second_moment_scaled_to_determinant_one():
    rng = np.random.default_rng(0)
    X, centre, scales = rng.random((200, 3)), np.array([0.2, 0.5, 0.9]), np.array([0.3, 0.6, 1.0])
    shape = belief_of(X).shape(centre, np.arange(3), scales)
    moment = (X - centre).T @ (X - centre) / 200 + np.diag((0.1 * scales) ** 2)
    np.testing.assert_allclose(shape, moment / np.linalg.det(moment) ** (1 / 3))
    assert np.linalg.det(shape) == pytest.approx(1.0)


def test_only_the_columns_asked_for_count():
    rng = np.random.default_rng(1)
    X, centre, scales = rng.random((50, 4)), np.full(4, 0.5), np.linspace(0.2, 0.8, 4)
    columns = np.array([0, 2])
    np.testing.assert_allclose(
        belief_of(X).shape(centre, columns, scales),
        belief_of(X[:, columns]).shape(centre[columns], np.arange(2), scales[columns]),
    )


@pytest.mark.parametrize("d", [1, 2, 20])
def test_when_all_draws_are_at_the_best_point_the_length_scales_give_the_shape(d):
    centre, scales = np.full(d, 0.3), np.geomspace(0.1, 1.0, d)
    shape = belief_of(np.tile(centre, (64, 1))).shape(centre, np.arange(d), scales)
    np.testing.assert_allclose(shape, np.diag(scales**2) / np.prod(scales) ** (2 / d), rtol=1e-9)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 9999), st.integers(1, 8), st.integers(1, 40))
def test_any_shape_is_symmetric_positive_and_of_determinant_one(seed, d, n):
    rng = np.random.default_rng(seed)
    X = np.round(rng.random((n, d)), 1)
    shape = belief_of(X).shape(X[0], np.arange(d), rng.uniform(0.01, 1.0, d))
    np.testing.assert_allclose(shape, shape.T, rtol=1e-12)
    assert np.all(np.linalg.eigvalsh(shape) > 0)
    assert np.linalg.slogdet(shape)[1] == pytest.approx(0.0, abs=1e-8)


def test_the_concentration_is_the_share_near_the_centre_in_every_column():
    scales = np.array([0.2, 1.0])
    X = np.array([[0.5, 0.5], [0.59, 0.95], [0.61, 0.5], [0.5, 1.01], [0.41, 0.1]])
    assert belief_of(X).concentration(np.array([0.5, 0.5]), scales) == pytest.approx(3 / 5)
    assert belief_of(X[:1]).concentration(X[0], scales) == 1.0


def test_few_minima_stand_for_many():
    minima = np.random.default_rng(0).standard_normal(512)
    thinned = belief_of(np.zeros((512, 1)), minima).thinned_minima()
    assert len(thinned) == 16 and np.all(np.diff(thinned) > 0)
    assert thinned.min() >= minima.min() and thinned.max() <= minima.max()
    assert np.mean(thinned) == pytest.approx(np.mean(minima), abs=0.05)


def test_equal_minima_are_one():
    np.testing.assert_array_equal(
        belief_of(np.zeros((9, 1)), np.full(9, 2.5)).thinned_minima(), 2.5
    )
