"""The kernel profiles: closed forms by mpmath, slopes, near points, categories."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.surrogate.kernels import PROFILES, scaled_distances
from tests.cases import SPACES, points

NAMES = sorted(PROFILES)
NU = {"matern52": 2.5, "matern32": 1.5, "matern12": 0.5}
R2 = np.concatenate([np.geomspace(1e-18, 1e3, 22), [0.2, 1.0, 3.7]])


def matern(name, r2):
    """Rasmussen and Williams (2006), eq. 4.14, by Bessel functions."""
    r = mp.sqrt(mp.mpf(r2))
    if name == "rbf":
        return mp.exp(-(r**2) / 2)
    nu = mp.mpf(NU[name])
    x = mp.sqrt(2 * nu) * r
    return 2 ** (1 - nu) / mp.gamma(nu) * x**nu * mp.besselk(nu, x)


@pytest.mark.parametrize("name", NAMES)
def test_values_and_slopes_equal_mpmath(name):
    value, slope = PROFILES[name](R2)
    with mp.workdps(60):
        exact = [matern(name, float(r2)) for r2 in R2]
        steps = [mp.mpf(float(r2)) * mp.mpf(10) ** -20 for r2 in R2]
        slopes = [
            (matern(name, r2 + h) - matern(name, r2 - h)) / (2 * h)
            for r2, h in zip(map(mp.mpf, R2.tolist()), steps, strict=True)
        ]
    np.testing.assert_allclose(value, np.array(exact, dtype=float), rtol=1e-12)
    np.testing.assert_allclose(slope, np.array(slopes, dtype=float), rtol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_one_at_no_distance_without_a_warning(name):
    value, slope = PROFILES[name](np.zeros(3))
    np.testing.assert_array_equal(value, 1.0)
    assert np.all(np.isfinite(slope)) and np.all(slope < 0.0)
    if name == "matern12":  # unbounded, but what is used is its product with the difference
        assert np.all(slope * 0.0 == 0.0)
    else:
        np.testing.assert_allclose(
            slope, -0.5 if name == "rbf" else {"matern52": -5 / 6, "matern32": -1.5}[name]
        )


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_left_far_away(name):
    value, slope = PROFILES[name](np.array([1e8, 1e300]))
    np.testing.assert_array_equal(value, 0.0)
    np.testing.assert_array_equal(slope, 0.0)


def test_the_digits_of_near_points_are_kept():
    """|a|^2 - 2ab + |b|^2 would return rounding for points 1e-9 apart."""
    A = np.array([[0.7, 0.3]])
    B = A + 1e-9
    apart = (B - A)[0]
    assert scaled_distances(A, B, np.array([0.5, 2.0]))[0, 0] == pytest.approx(
        (apart[0] / 0.5) ** 2 + (apart[1] / 2.0) ** 2, rel=1e-6
    )


@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from(NAMES),
    st.sampled_from(["continuous", "mixed", "conditional"]),
    st.integers(0, 999),
)
def test_kernel_matrices_are_positive_definite_on_every_kind_of_space(name, space, seed):
    F = SPACES[space].embed(points(SPACES[space], 30, seed=seed))
    K = PROFILES[name](scaled_distances(F, F, np.full(F.shape[1], 0.7)))[0]
    np.testing.assert_array_equal(K, K.T)
    assert np.linalg.eigvalsh(K).min() > -1e-12


def test_categories_enter_as_hamming_distance():
    space = SPACES["categorical"]
    Z = points(space, 40)
    F = space.embed(Z)
    lengthscales = np.array([0.5, 2.0])[list(space.groups)]
    hamming = (Z[:, None, :] != Z[None]) / np.array([0.5, 2.0]) ** 2
    np.testing.assert_allclose(
        scaled_distances(F, F, lengthscales), hamming.sum(axis=2), atol=1e-15
    )
