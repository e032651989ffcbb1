"""The vMF family against mpmath, scipy, quadrature and closed forms."""

import math
import subprocess
import sys

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import vonmises_fisher

from headway.arrays import keyed_rng
from headway.direction.vmf import (
    R_MAX,
    Direction,
    banerjee,
    concentration,
    concentration_of_gap,
    fit,
    log_acute_probability,
    log_normaliser,
    log_partition,
    mean_length,
    resultant,
)
from headway.errors import InvalidInput

DIMENSIONS = [1, 2, 3, 4, 6, 10, 31, 61, 62, 65, 100, 297, 500, 1000]
KAPPAS = [1e-12, 1e-8, 1e-3, 0.1, 1.0, 3.0, 10.0, 29.9, 30.1, 100.0, 1e3, 1e4, 1e5, 1e6]


def mp_log_partition(kappa: float, d: int) -> mp.mpf:
    with mp.workdps(40):
        nu, y = mp.mpf(d) / 2 - 1, mp.mpf(kappa)
        return mp.log((2 * mp.pi) ** (mp.mpf(d) / 2) * mp.besseli(nu, y) / y**nu)


def mp_mean_length(kappa: float, d: int) -> mp.mpf:
    with mp.workdps(40):
        nu, y = mp.mpf(d) / 2 - 1, mp.mpf(kappa)
        return mp.besseli(nu + 1, y) / mp.besseli(nu, y)


def lentz(kappa: float, d: int) -> float:
    """A_d by its continued fraction 1/(d/y + 1/((d+2)/y + ...)), modified Lentz."""
    b = d / kappa
    f, c, e = b, b, 0.0
    for k in range(1, 100_000):
        b = (d + 2 * k) / kappa
        e, c = 1.0 / (b + e), b + 1.0 / c
        f *= c * e
        if abs(c * e - 1.0) < 1e-16:
            break
    return 1.0 / f


@pytest.mark.parametrize("d", DIMENSIONS)
def test_log_partition_against_mpmath(d: int) -> None:
    found = log_partition(np.array(KAPPAS), d)
    wanted = np.array([float(mp_log_partition(k, d)) for k in KAPPAS])
    np.testing.assert_allclose(found, wanted, rtol=2e-14, atol=2e-14)
    np.testing.assert_array_equal(log_normaliser(np.array(KAPPAS), d), -found)
    alone = [float(log_partition(k, d)) for k in KAPPAS]
    np.testing.assert_allclose(alone, found, rtol=1e-15, atol=1e-15)


@pytest.mark.parametrize("d", DIMENSIONS)
def test_mean_length_against_mpmath(d: int) -> None:
    found = mean_length(np.array(KAPPAS), d)
    wanted = np.array([float(mp_mean_length(k, d)) for k in KAPPAS])
    np.testing.assert_allclose(found, wanted, rtol=3e-15)
    for kappa in KAPPAS:
        assert float(mean_length(kappa, d)) == pytest.approx(
            float(mp_mean_length(kappa, d)), rel=3e-15
        )


@pytest.mark.parametrize("d", [2, 5, 65, 297, 1000])
@pytest.mark.parametrize("kappa", [1e-8, 1.0, 40.0, 900.0])
def test_mean_length_is_the_continued_fraction(d: int, kappa: float) -> None:
    assert float(mean_length(kappa, d)) == pytest.approx(lentz(kappa, d), rel=3e-15)


def test_zero_concentration_is_uniform() -> None:
    for d in DIMENSIONS:
        area = math.log(2.0) + 0.5 * d * math.log(math.pi) - math.lgamma(0.5 * d)
        assert float(log_partition(0.0, d)) == pytest.approx(area, rel=1e-13, abs=1e-13)
        assert float(mean_length(0.0, d)) == 0.0


def test_far_beyond_the_promised_range() -> None:
    kappa = np.array([1e9, 1e75, 1e150])
    for d in (1, 2, 6, 1000):
        np.testing.assert_allclose(log_partition(kappa, d), kappa, rtol=1e-4)
        np.testing.assert_allclose(mean_length(kappa, d), 1.0, rtol=1e-6)


def test_empty_and_shaped_arrays() -> None:
    assert log_partition(np.empty((0, 3)), 5).shape == (0, 3)
    assert mean_length(np.full((2, 3), 4.0), 5).shape == (2, 3)
    assert log_partition(2.0, 5).shape == ()


@pytest.mark.parametrize("d", [2, 3, 6, 40])
@pytest.mark.parametrize("kappa", [0.3, 5.0, 200.0])
def test_log_pdf_is_scipys(d: int, kappa: float) -> None:
    law = Direction(np.eye(d)[0], kappa)
    G = Direction(np.eye(d)[1], 3.0).sample(20, keyed_rng(0, d))
    np.testing.assert_allclose(
        law.log_pdf(G), vonmises_fisher(law.theta, kappa).logpdf(G), rtol=1e-10, atol=1e-10
    )


def test_log_pdf_where_scipys_is_infinite() -> None:
    theta = np.eye(500)[0]
    found = Direction(theta, 1.0).log_pdf(theta[None])[0]
    assert found == pytest.approx(1.0 - float(mp_log_partition(1.0, 500)), rel=1e-13)


@pytest.mark.parametrize("kappa", [0.5, 20.0, 1e3])
def test_density_integrates_to_one_on_the_circle(kappa: float) -> None:
    angle = np.linspace(0.0, 2.0 * math.pi, 4001)[:-1]
    G = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    density = np.exp(Direction(np.array([0.6, 0.8]), kappa).log_pdf(G))
    assert np.mean(density) * 2.0 * math.pi == pytest.approx(1.0, rel=1e-10)


def test_log_density_is_the_log_pdf_without_constants() -> None:
    law = Direction(np.array([0.6, 0.0, 0.8]), 7.0)
    G = Direction(np.eye(3)[1], 1.0).sample(5, keyed_rng(1))
    value, gradient = law.log_density(G)
    shift = law.log_pdf(G) - value
    np.testing.assert_allclose(shift, shift[0], rtol=1e-13)
    assert law.log_density(law.theta[None])[0][0] == pytest.approx(0.0, abs=1e-15)
    for i in range(3):
        step = 1e-6 * np.eye(3)[i]
        slope = (law.log_density(G + step)[0] - law.log_density(G - step)[0]) / 2e-6
        np.testing.assert_allclose(gradient[:, i], slope, rtol=1e-8)


@given(st.integers(1, 1000), st.floats(-12.0, 6.0))
def test_concentration_inverts_mean_length(d: int, log_kappa: float) -> None:
    kappa = 10.0**log_kappa
    R = float(mean_length(kappa, d))
    if R == 1.0:  # d = 1: tanh rounds to 1
        return
    # R itself is known to 1e-16 only, which near 1 is 1e-16 / (1 - R) in kappa
    assert concentration(R, d) == pytest.approx(kappa, rel=5e-15 + 5e-16 / (1.0 - R))


@pytest.mark.parametrize("d", [1, 2, 3, 6, 20, 1000])
@pytest.mark.parametrize("kappa", [0.5, 5.0, 1e3, 1e5, 1e7, 1e12])
def test_concentration_of_gap_needs_no_digits_of_R(d: int, kappa: float) -> None:
    with mp.workdps(60):
        if d == 1:
            kappa = min(kappa, 300.0)  # beyond, the gap exp(-2 kappa) is below the smallest float
            gap = float(2 / (mp.exp(2 * mp.mpf(kappa)) + 1))
        elif kappa > 1e6:
            a = mp.mpf(d - 1)  # Hankel's expansion: two terms are plenty here
            gap = float(a / (2 * kappa) - a * (d - 3) / (8 * mp.mpf(kappa) ** 2))
        else:
            gap = float(1 - mp_mean_length(kappa, d))
    assert concentration_of_gap(gap, d) == pytest.approx(kappa, rel=2e-10)


def test_banerjee_is_six_percent_high_at_d_2() -> None:
    assert banerjee(0.9, 2) / concentration(0.9, 2) == pytest.approx(1.06, abs=0.01)
    assert banerjee(0.0, 2) == 0.0


@pytest.mark.parametrize("R", [-0.1, 1.0, 1.5, math.nan])
def test_mean_lengths_outside_of_zero_to_one(R: float) -> None:
    with pytest.raises(InvalidInput, match=r"R = .*lies in \[0, 1\)"):
        concentration(R, 3)
    with pytest.raises(InvalidInput, match=r"R = .*lies in \[0, 1\)"):
        banerjee(R, 3)
    with pytest.raises(InvalidInput, match=r"gap = 0\.0"):
        concentration_of_gap(0.0, 3)


@pytest.mark.parametrize("kappa", [0.0, 0.4, 3.0, 60.0, 1e5])
def test_moments_on_the_sphere_against_quadrature(kappa: float) -> None:
    x, w = np.polynomial.legendre.leggauss(200)
    low = max(-1.0, 1.0 - 60.0 / max(kappa, 1e-9))
    u = low + (1.0 - low) * 0.5 * (x + 1.0)  # cos of the angle: uniform on the sphere in d = 3
    weight = w * np.exp(kappa * (u - 1.0))
    weight /= weight.sum()
    law = Direction(np.array([0.0, 0.0, 1.0]), kappa)
    along = np.sum(weight * u)
    spread = np.sum(weight * (u - along) ** 2)
    across = 0.5 * np.sum(weight * (1.0 - u * u))
    np.testing.assert_allclose(law.mean(), [0.0, 0.0, along], atol=1e-12)
    np.testing.assert_allclose(
        law.covariance(), np.diag([across, across, spread]), rtol=1e-6, atol=1e-15
    )


@pytest.mark.parametrize("d", [1, 2, 3, 6])
@pytest.mark.parametrize("kappa", [0.0, 2.0])
def test_samples_have_the_mean(d: int, kappa: float) -> None:
    law = Direction(np.eye(d)[0], kappa)
    G = law.sample(20_000, keyed_rng(3, d))
    assert G.shape == (20_000, d)
    np.testing.assert_allclose(np.linalg.norm(G, axis=1), 1.0, rtol=1e-12)
    # five standard errors of a coordinate, whose deviation is at most 1
    np.testing.assert_allclose(G.mean(axis=0), law.mean(), atol=5.0 / math.sqrt(20_000))


@pytest.mark.parametrize("kappa", [1e-3, 1.0, 30.0])
@pytest.mark.parametrize("degrees", [0.0, 20.0, 89.9, 90.0, 100.0, 170.0, 180.0])
def test_acute_probability_on_the_circle(kappa: float, degrees: float) -> None:
    alpha = math.radians(degrees)
    with mp.workdps(25):
        ends = mp.linspace(alpha - mp.pi / 2, alpha + mp.pi / 2, 9)
        half = mp.quad(lambda t: mp.exp(kappa * mp.cos(t)), ends)
        wanted = float(mp.log(half / (2 * mp.pi * mp.besseli(0, kappa))))
    assert float(log_acute_probability(alpha, kappa, 2)) == pytest.approx(wanted, rel=1e-11)


@pytest.mark.parametrize("d", [2, 3, 6, 20])
@pytest.mark.parametrize("kappa", [0.1, 3.0, 50.0])
def test_acute_probability_is_the_integral_of_its_slope(d: int, kappa: float) -> None:
    """P(alpha) = 1/2 + int_alpha^90 (2 pi)^((d-1)/2) I_{(d-1)/2}(z) z^(-(d-3)/2) / c_d(kappa),
    z = kappa sin s."""
    x, w = np.polynomial.legendre.leggauss(120)
    for alpha in (0.05, 0.7, 1.4, 2.0, 3.0):
        s = alpha + (0.5 * math.pi - alpha) * 0.5 * (x + 1.0)
        z = kappa * np.sin(s)
        slope = np.exp(np.log(z / (2.0 * math.pi)) + log_partition(z, d + 1))
        slope /= np.exp(log_partition(kappa, d))
        wanted = 0.5 + 0.5 * (0.5 * math.pi - alpha) * np.sum(w * slope)
        found = math.exp(float(log_acute_probability(alpha, kappa, d)))
        assert found == pytest.approx(wanted, rel=1e-9, abs=1e-12)


def test_acute_probability_of_its_parts() -> None:
    alpha = np.linspace(0.0, math.pi, 19)
    for d in (1, 2, 3, 8, 300):
        np.testing.assert_allclose(log_acute_probability(alpha, 0.0, d), math.log(0.5), rtol=1e-10)
        for kappa in (0.2, 6.0, 500.0):
            p = np.exp(log_acute_probability(alpha, kappa, d))
            np.testing.assert_allclose(p + p[::-1], 1.0, rtol=1e-12)
            assert p[9] == pytest.approx(0.5, rel=1e-12)
            assert np.all(np.diff(p) <= 1e-15)
    far = log_acute_probability(np.array([math.pi]), 1e6, 3)
    assert np.isfinite(far).all() and far[0] < -9e5


def test_fit_finds_the_law() -> None:
    law = Direction(np.array([0.0, 0.6, 0.8]), 12.0)
    G = law.sample(20_000, keyed_rng(5))
    found = fit(G, exact=True)
    assert found is not None
    assert found.kappa == pytest.approx(12.0, rel=0.05)
    assert found.theta @ law.theta > 0.9999
    rough = fit(G)
    assert rough is not None
    assert rough.kappa == pytest.approx(banerjee(resultant(G)[1], 3))


def test_fit_takes_weights() -> None:
    G = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
    weights = np.array([2.0, 1.0, 0.0])
    found, doubled = fit(G, weights), fit(np.array([G[0], G[0], G[1]]))
    assert found is not None and doubled is not None
    np.testing.assert_allclose(found.theta, doubled.theta)
    assert found.kappa == pytest.approx(doubled.kappa)


def test_fit_without_a_direction() -> None:
    assert fit(np.empty((0, 3))) is None
    assert fit(np.eye(3), np.zeros(3)) is None
    assert fit(np.array([[1.0, 0.0], [-1.0, 0.0]])) is None


def test_fit_clips_samples_that_all_agree() -> None:
    found = fit(np.tile(np.eye(4)[2], (9, 1)))
    assert found is not None
    np.testing.assert_array_equal(found.theta, np.eye(4)[2])
    assert found.kappa == banerjee(R_MAX, 4)


@pytest.mark.parametrize(("d", "wanted"), [(2, 0.11), (6, 0.36)])
def test_fit_of_pure_noise_is_not_zero(d: int, wanted: float) -> None:
    noise = Direction(np.eye(d)[0], 0.0)
    found = [fit(noise.sample(256, keyed_rng(7, d, i))) for i in range(100)]
    kappas = [law.kappa for law in found if law is not None]
    assert np.mean(kappas) == pytest.approx(wanted, abs=0.03)


def test_direction_is_a_checked_value() -> None:
    law = Direction(np.array([3.0, 4.0]) / 5.0, 2)
    assert law.d == 2 and isinstance(law.kappa, float)
    with pytest.raises(ValueError, match="read-only"):
        law.theta[0] = 1.0
    again = Direction(np.array(law.theta.tolist()), law.kappa)
    np.testing.assert_array_equal(again.theta, law.theta)
    for theta in ([3.0, 4.0], [0.0, 0.0], [math.nan, 1.0], [[1.0]], []):
        with pytest.raises(InvalidInput, match="a mean direction is a vector of length 1"):
            Direction(np.array(theta), 1.0)
    for kappa in (-1.0, math.inf, math.nan):
        with pytest.raises(InvalidInput, match="a concentration is finite and >= 0"):
            Direction(np.array([1.0, 0.0]), kappa)
    with pytest.raises(InvalidInput, match="needs d >= 1"):
        log_partition(1.0, 0)


def test_import_leaves_scipy_stats_alone() -> None:
    code = "import sys, headway.direction.updates; sys.exit('scipy.stats' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
