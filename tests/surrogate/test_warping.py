"""The warp of values: monotone, invertible, at any scale, with the right Jacobian."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.surrogate.model import NOISE_FLOOR, Data
from headway.surrogate.warping import Warp

VALUES = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30).map(np.array)


def spread_values(n=40, seed=0):
    rng = np.random.default_rng(seed)
    return np.exp(2.0 * rng.standard_normal(n)) - 1.0


@pytest.mark.parametrize("compress", [True, False])
def test_what_it_makes_is_standardised(compress):
    y = spread_values()
    z = Warp.of(y, compress=compress).forward(y)
    assert np.mean(z) == pytest.approx(0.0, abs=1e-12)
    assert np.std(z) == pytest.approx(1.0)


def test_the_better_half_keeps_its_shape_and_the_worse_is_squeezed():
    y = np.sort(spread_values())
    z = Warp.of(y, compress=True).forward(y)
    better = y <= np.median(y)
    steps = np.diff(z[better]) / np.diff(y[better])
    np.testing.assert_allclose(steps, steps[0])
    slopes = np.diff(z[~better]) / np.diff(y[~better])
    assert np.all(np.diff(slopes) < 0.0) and np.all(slopes < steps[0])


@settings(max_examples=60, deadline=None)
@given(VALUES, st.booleans())
def test_monotone_and_inverted(y, compress):
    warp = Warp.of(y, compress=compress)
    z = warp.forward(y)
    assert np.all(np.isfinite(z))
    assert np.all(np.diff(z[np.argsort(y, kind="stable")]) >= 0.0)
    size = np.ptp(y) + np.max(np.abs(y)) * 1e-3
    np.testing.assert_allclose(warp.backward(z), y, atol=1e-9 * size + 1e-300, rtol=1e-9)


@pytest.mark.parametrize("compress", [True, False])
def test_the_log_slope_equals_differences(compress):
    y = spread_values()
    warp = Warp.of(y, compress=compress)
    # Not across the knee, where only the first derivative goes on.
    x = np.sort(np.concatenate([y, np.linspace(-3.0, 30.0, 50)]))
    x = x[np.abs(x - warp.knee) > 1e-3]
    h = 1e-6
    slope = (warp.forward(x + h) - warp.forward(x - h)) / (2 * h)
    np.testing.assert_allclose(warp.log_slope(x), np.log(slope), atol=1e-6)
    assert warp.log_slope(np.array([warp.knee])) == pytest.approx(-np.log(warp.scale))


def test_the_slope_goes_on_at_the_knee():
    warp = Warp.of(spread_values(), compress=True)
    h = 1e-7
    left = (warp.forward(np.array([warp.knee])) - warp.forward(np.array([warp.knee - h]))) / h
    right = (warp.forward(np.array([warp.knee + h])) - warp.forward(np.array([warp.knee]))) / h
    assert left[0] == pytest.approx(right[0], rel=1e-5)


@pytest.mark.parametrize("compress", [True, False])
@pytest.mark.parametrize("y", [0.0, 0.1, -7.3, 1e300, 1e-300])
@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_equal_values_have_scale_one(compress, y, n):
    """Also 0.1, whose mean of three is not 0.1 in floats."""
    warp = Warp.of(np.full(n, y), compress=compress)
    assert warp.scale == 1.0
    np.testing.assert_allclose(warp.forward(np.full(n, y)), 0.0, atol=1e-15 * max(1.0, abs(y)))


def test_a_better_half_of_one_value_is_not_compressed_by_its_spread_of_zero():
    y = np.array([1.0, 1.0, 1.0, 1.0, 5.0, 9.0])
    warp = Warp.of(y, compress=True)
    assert warp.spread == np.inf
    np.testing.assert_allclose(warp.backward(warp.forward(y)), y)


@pytest.mark.parametrize("compress", [True, False])
@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e-10, 1e10, 1e200, 1e300])
def test_the_scale_of_the_values_changes_nothing(compress, scale):
    y = spread_values()
    warp, same = Warp.of(scale * y, compress=compress), Warp.of(y, compress=compress)
    z = same.forward(y)
    np.testing.assert_allclose(warp.forward(scale * y), z, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(warp.backward(z), scale * y, rtol=1e-9)
    np.testing.assert_allclose(
        warp.log_slope(scale * y), same.log_slope(y) - np.log(scale), rtol=1e-9
    )


def test_nor_by_the_rounding_of_that_value():
    rng = np.random.default_rng(0)
    y = np.append(1e-17 * rng.standard_normal(20), rng.random(19) + 1.0)
    assert Warp.of(y, compress=True).spread == np.inf


def test_one_value_far_above_the_others_leaves_them_their_shape():
    y = np.append(spread_values(41), 1e200)
    z = Warp.of(y, compress=True).forward(y)
    better = y <= np.median(y)
    assert np.corrcoef(z[better], y[better])[0, 1] == pytest.approx(1.0)
    assert np.std(z[better]) > 1e-3


@pytest.mark.parametrize("scale", [1.0, 1e290, 1e300])
def test_far_above_all_that_was_seen_backward_stays_finite(scale):
    warp = Warp.of(scale * spread_values(), compress=True)
    above = warp.backward(np.array([3.0, 50.0, 1e4, 1e8]))
    assert np.all(np.isfinite(above))
    assert np.all(np.diff(above) >= 0.0)


@pytest.mark.parametrize("scale", [1e-310, 1e-300, 1e-160, 1e150, 1e300])
def test_no_noise_stays_no_noise_at_any_scale(scale):
    y = scale * spread_values()
    data = Data(np.zeros((len(y), 1)), (0,), y, None)
    noise = data.noise(Warp.of(y, compress=True), 0.0)
    np.testing.assert_array_equal(noise, NOISE_FLOOR)


def test_known_noise_is_turned_into_units_of_z():
    y = spread_values()
    warp = Warp.of(y, compress=True)
    variance = np.linspace(0.1, 0.4, len(y))
    noise = Data(np.zeros((len(y), 1)), (0,), y, variance).noise(warp, 0.05)
    h = 1e-6
    slope = (warp.forward(y + h) - warp.forward(y - h)) / (2 * h)
    np.testing.assert_allclose(noise, (variance + 0.05) * slope**2, rtol=1e-4)


@settings(max_examples=30, deadline=None)
@given(st.floats(1e-300, 1e300), st.floats(1e-300, 1e300))
def test_known_noise_of_any_size_is_a_number(scale, known):
    y = scale * np.array([0.1, 0.3, 0.2, 0.9])
    noise = Data(np.zeros((4, 1)), (0,), y, None).noise(Warp.of(y, compress=True), known)
    assert np.all(np.isfinite(noise)) and np.all(noise >= NOISE_FLOOR)
