"""The acquisitions against mpmath, quadrature and differences, also far out in the tails."""

import math
from collections.abc import Callable

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import trapezoid

from headway.acquisition.improvement import log_ei, log_mes, log_poi, posterior_mean, ucb

# Both sides of every switch in the code: z = 0, and |z| = 6, where the continued fraction starts.
ZS = np.concatenate(
    [
        -np.geomspace(1e5, 8.0, 25),
        np.linspace(-8.0, 8.0, 65),
        [-6.000001, -5.999999, -1e-9, 1e-9, 5.999999, 6.000001],
        np.linspace(9.0, 40.0, 12),
    ]
)
SIGMAS = (1e-9, 0.37, 250.0)

LogTerm = Callable[[mp.mpf, mp.mpf], mp.mpf]


@pytest.fixture(autouse=True)
def _digits():
    with mp.workdps(60):
        yield


def cdf(z: mp.mpf) -> mp.mpf:
    return mp.erfc(-z / mp.sqrt(2)) / 2


def log_cdf(z: mp.mpf) -> mp.mpf:
    # The complement keeps its digits where the probability is nearly one.
    return mp.log1p(-cdf(-z)) if z > 0 else mp.log(cdf(z))


def exact_log_ei(best: float) -> LogTerm:
    def term(mu, sigma):
        z = (best - mu) / sigma
        return mp.log(sigma * (z * cdf(z) + mp.npdf(z)))

    return term


def exact_log_poi(best: float) -> LogTerm:
    return lambda mu, sigma: log_cdf((best - mu) / sigma)


def exact_log_mes(minima: np.ndarray) -> LogTerm:
    def term(mu, sigma):
        gammas = [(mu - mp.mpf(float(y))) / sigma for y in minima]
        drops = [g * mp.npdf(g) / (2 * cdf(g)) - log_cdf(g) for g in gammas]
        return mp.log(mp.fsum(drops) / len(drops))

    return term


def with_slopes(
    term: LogTerm, mu: float, sigma: float, *, digits: int = 180
) -> tuple[mp.mpf, mp.mpf, mp.mpf]:
    """The value and its derivatives, by differences of a step that takes a third of the digits."""
    with mp.workdps(digits):
        m, s = mp.mpf(float(mu)), mp.mpf(float(sigma))
        step = s * mp.mpf(10) ** (-digits // 3)
        d_mu = (term(m + step, s) - term(m - step, s)) / (2 * step)
        d_sigma = (term(m, s + step) - term(m, s - step)) / (2 * step)
        return term(m, s), d_mu, d_sigma


def assert_close(got: float, exact: mp.mpf, rtol: float, atol: float = 0.0) -> None:
    assert abs(mp.mpf(float(got)) - exact) <= rtol * abs(exact) + atol, (got, mp.nstr(exact, 20))


def assert_slopes_by_differences(term, mu: np.ndarray, sigma: np.ndarray) -> None:
    _, d_mu, d_sigma = term(mu, sigma)
    step = 1e-5 * sigma
    by_mu = (term(mu + step, sigma)[0] - term(mu - step, sigma)[0]) / (2 * step)
    by_sigma = (term(mu, sigma + step)[0] - term(mu, sigma - step)[0]) / (2 * step)
    np.testing.assert_allclose(d_mu * sigma, by_mu * sigma, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(d_sigma * sigma, by_sigma * sigma, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("sigma", SIGMAS)
@pytest.mark.parametrize(
    ("term", "exact"), [(log_ei, exact_log_ei), (log_poi, exact_log_poi)], ids=["ei", "poi"]
)
def test_values_and_slopes_are_exact(term, exact, sigma):
    # best = 0, so that z = -mu / sigma has no rounding of its own to be blamed for.
    mus = -ZS * sigma
    values, d_mus, d_sigmas = term(mus, np.full_like(mus, sigma), best=0.0)
    for mu, value, d_mu, d_sigma in zip(mus, values, d_mus, d_sigmas, strict=True):
        # A density of 1e-350 is what the slope consists of where an improvement is certain.
        digits = 800 if mu < -8.0 * sigma else 180
        reference = with_slopes(exact(0.0), mu, sigma, digits=digits)
        # Where the density counts, its exponent z^2 / 2 is rounded; past 38.6 it underflows.
        rtol = 5e-14 + (2.3e-16 * (mu / sigma) ** 2 if mu < 0 else 0.0)
        assert_close(value, reference[0], rtol=rtol, atol=1e-300)
        assert_close(d_mu, reference[1], rtol=rtol, atol=1e-300 / sigma)
        assert_close(d_sigma, reference[2], rtol=rtol, atol=1e-300 / sigma)


@pytest.mark.parametrize("term", [log_ei, log_poi])
def test_slopes_agree_with_differences(term):
    rng = np.random.default_rng(0)
    sigma = np.exp(rng.normal(size=200))
    mu = 3.0 * rng.normal(size=200) * sigma
    assert_slopes_by_differences(lambda m, s: term(m, s, best=-0.4), mu, sigma)


def test_log_ei_is_the_log_of_the_textbook_form_where_that_is_exact():
    mu, sigma = np.array([-2.0, 0.0, 0.7]), np.array([0.5, 1.0, 2.0])
    z = (0.3 - mu) / sigma
    cdfs = np.array([0.5 * math.erfc(-v / math.sqrt(2.0)) for v in z])
    density = np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
    expected = np.log((0.3 - mu) * cdfs + sigma * density)
    np.testing.assert_allclose(log_ei(mu, sigma, best=0.3)[0], expected, rtol=1e-14)


@pytest.mark.parametrize(
    "term",
    [
        lambda m, s: log_ei(m, s, best=0.0),
        lambda m, s: log_poi(m, s, best=0.0),
        lambda m, s: log_mes(m, s, minima=np.array([-1.0, 0.0, 1e-3])),
    ],
    ids=["ei", "poi", "mes"],
)
def test_finite_at_any_distance_a_double_can_hold(term):
    far = np.array([1e5, 1e8, 1e16, 1e100, 1e149])
    mu = np.concatenate([-far, [0.0], far])
    for array in term(mu, np.ones_like(mu)):
        assert np.all(np.isfinite(array))
    for array in term(np.ones(4), np.array([1e-3, 1e-9, 1e-30, 1e-90])):
        assert np.all(np.isfinite(array))


@pytest.mark.parametrize(
    "term",
    [
        lambda m, s: log_ei(m, s, best=0.0),
        lambda m, s: log_poi(m, s, best=0.0),
        lambda m, s: ucb(m, s, kappa=1.5),
        posterior_mean,
        lambda m, s: log_mes(m, s, minima=np.array([-1.0, 0.5])),
    ],
    ids=["ei", "poi", "ucb", "mean", "mes"],
)
@pytest.mark.parametrize("shape", [(), (1,), (7,), (3, 4), (0,), (2, 1, 5)])
def test_any_shape_gives_that_shape_and_the_same_numbers(term, shape):
    rng = np.random.default_rng(1)
    mu, sigma = rng.normal(size=shape), np.exp(rng.normal(size=shape))
    results = term(mu, sigma)
    assert all(np.shape(array) == shape for array in results)
    one_by_one = [term(m, s) for m, s in zip(mu.ravel(), sigma.ravel(), strict=True)]
    for array, alone in zip(results, zip(*one_by_one, strict=True), strict=False):
        np.testing.assert_allclose(np.ravel(array), np.ravel(alone), rtol=1e-14)


def test_arrays_in_any_memory_order_broadcast():
    rng = np.random.default_rng(2)
    mu, sigma = np.asfortranarray(rng.normal(size=(40, 30))), np.exp(rng.normal(size=30))
    minima = rng.normal(size=5) - 2.0
    whole = log_mes(mu, sigma, minima=minima)  # 6000 entropies: several blocks
    rows = [log_mes(row, sigma, minima=minima) for row in mu]
    for array, parts in zip(whole, zip(*rows, strict=True), strict=True):
        np.testing.assert_allclose(array, np.stack(parts), rtol=1e-13)


@given(
    mu=st.floats(-1e3, 1e3),
    sigma=st.floats(1e-3, 1e3),
    best=st.floats(-1e3, 1e3),
    more=st.floats(1e-3, 10.0),
)
def test_more_promise_is_never_worth_less(mu, sigma, best, more):
    slack = 1e-12 * (1.0 + abs(float(log_ei(mu, sigma, best=best)[0])))
    assert log_ei(mu - more, sigma, best=best)[0] >= log_ei(mu, sigma, best=best)[0] - slack
    assert log_ei(mu, sigma + more, best=best)[0] >= log_ei(mu, sigma, best=best)[0] - slack
    assert log_poi(mu - more, sigma, best=best)[0] >= log_poi(mu, sigma, best=best)[0] - slack
    minima = np.array([best, best + 0.1])
    slack = 1e-12 * (1.0 + abs(float(log_mes(mu, sigma, minima=minima)[0])))
    nearer = log_mes(mu - more, sigma, minima=minima)[0]
    assert nearer >= log_mes(mu, sigma, minima=minima)[0] - slack


@given(shift=st.floats(-50.0, 50.0), scale=st.floats(0.01, 100.0))
def test_units_do_not_matter(shift, scale):
    mu, sigma = np.array([-1.0, 0.3, 2.0]), np.array([0.2, 1.0, 3.0])
    minima = np.array([-2.5, -0.4, 0.8])
    moved = {"mu": scale * mu + shift, "sigma": scale * sigma}
    tolerance = {"rtol": 1e-8, "atol": 1e-8}  # cancellation of a shift 5000 times sigma
    ei, poi = log_ei(**moved, best=shift), log_poi(**moved, best=shift)
    np.testing.assert_allclose(ei[0], math.log(scale) + log_ei(mu, sigma, best=0.0)[0], **tolerance)
    np.testing.assert_allclose(poi[0], log_poi(mu, sigma, best=0.0)[0], **tolerance)
    mes = log_mes(**moved, minima=scale * minima + shift)
    np.testing.assert_allclose(mes[0], log_mes(mu, sigma, minima=minima)[0], **tolerance)


def test_ucb_and_posterior_mean_are_what_they_say():
    mu, sigma = np.array([1.0, -2.0]), np.array([0.5, 3.0])
    value, d_mu, d_sigma = ucb(mu, sigma, kappa=2.0)
    np.testing.assert_array_equal(value, [0.0, 8.0])
    np.testing.assert_array_equal(d_mu, [-1.0, -1.0])
    np.testing.assert_array_equal(d_sigma, [2.0, 2.0])
    value, d_mu, d_sigma = posterior_mean(mu, sigma)
    np.testing.assert_array_equal(value, -mu)
    np.testing.assert_array_equal(d_mu, [-1.0, -1.0])
    np.testing.assert_array_equal(d_sigma, [0.0, 0.0])


@pytest.mark.parametrize("sigma", SIGMAS)
def test_entropy_search_of_one_minimum_is_exact_on_both_sides(sigma):
    gammas = np.concatenate([-ZS, [-1e12, 1e12]])
    mus = gammas * sigma
    values, d_mus, d_sigmas = log_mes(mus, np.full_like(mus, sigma), minima=np.zeros(1))
    for gamma, mu, value, d_mu, d_sigma in zip(gammas, mus, values, d_mus, d_sigmas, strict=True):
        reference = with_slopes(exact_log_mes(np.zeros(1)), mu, sigma)
        assert_close(value, reference[0], rtol=5e-14)
        # The slope falls as 2 / a^2 of terms of order one where the minimum lies above mu.
        rtol = 1e-12 if abs(gamma) < 10 else 1e-13
        assert_close(d_mu, reference[1], rtol=rtol)
        assert_close(d_sigma, reference[2], rtol=rtol)


@pytest.mark.parametrize("mu", [-1e4, -30.0, -1.0, 0.0, 2.5, 40.0, 1e4])
@pytest.mark.parametrize("sigma", [1e-6, 0.3, 20.0])
def test_entropy_search_averages_minima_near_and_far(mu, sigma):
    minima = np.array([-1e3, -3.0, -2.9, -1.0, 0.5, 1e3])
    got = log_mes(np.array([mu]), np.array([sigma]), minima=minima)
    reference = with_slopes(exact_log_mes(minima), mu, sigma)
    for array, exact, rtol in zip(got, reference, (1e-13, 1e-12, 1e-12), strict=True):
        assert_close(array[0], exact, rtol=rtol)


def test_slopes_of_entropy_search_agree_with_differences():
    rng = np.random.default_rng(3)
    sigma = np.exp(rng.normal(size=200))
    mu = 3.0 * rng.normal(size=200) * sigma
    minima = 2.0 * rng.normal(size=8)
    assert_slopes_by_differences(lambda m, s: log_mes(m, s, minima=minima), mu, sigma)


@pytest.mark.parametrize("mu", [-4.0, -0.5, 0.0, 1.0, 3.0])
@pytest.mark.parametrize("sigma", [0.5, 2.0])
def test_entropy_search_is_the_entropy_that_truncation_takes_away(mu, sigma):
    """Brute force: H[N(mu, sigma^2)] less H of that density cut off below each minimum."""
    minima = np.array([-2.0, -0.7, 0.4])
    drops = []
    for minimum in minima:
        top = max(mu, minimum) + 12.0 * sigma
        y = np.linspace(minimum, top, 2_000_001)
        log_p = -0.5 * ((y - mu) / sigma) ** 2
        log_p -= math.log(trapezoid(np.exp(log_p), y))
        entropy = -trapezoid(np.exp(log_p) * log_p, y)
        drops.append(0.5 * math.log(2.0 * math.pi * math.e * sigma**2) - entropy)
    got = log_mes(np.array([mu]), np.array([sigma]), minima=minima)[0][0]
    assert got == pytest.approx(math.log(np.mean(drops)), abs=1e-8)
