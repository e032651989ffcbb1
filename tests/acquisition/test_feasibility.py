"""The log-probability of feasibility against mpmath, closed forms and differences."""

import mpmath as mp
import numpy as np
import pytest

from headway.acquisition.feasibility import log_feasible


@pytest.mark.parametrize("sigma", [1e-9, 0.37, 250.0])
def test_values_and_slopes_are_exact_from_hopeless_to_certain(sigma):
    zs = np.concatenate([-np.geomspace(1e5, 0.1, 40), [0.0], np.linspace(0.2, 37.0, 40)])
    mus = -zs * sigma
    values, d_mus, d_sigmas = log_feasible(mus, np.full_like(mus, sigma))
    with mp.workdps(50):
        for mu, value, d_mu, d_sigma in zip(mus, values, d_mus, d_sigmas, strict=True):
            z = -mp.mpf(float(mu)) / mp.mpf(sigma)
            below, above = (mp.erfc(s * z / mp.sqrt(2)) / 2 for s in (-1, 1))
            exact = mp.log1p(-above) if z > 0 else mp.log(below)
            hazard = mp.npdf(z) / below
            rtol = 2e-14 + (2.3e-16 * float(z) ** 2 if z > 0 else 0.0)
            assert abs(mp.mpf(float(value)) - exact) <= rtol * abs(exact)
            assert abs(mp.mpf(float(d_mu)) + hazard / sigma) <= rtol * hazard / sigma
            slack = rtol * abs(z) * hazard / sigma
            assert abs(mp.mpf(float(d_sigma)) + z * hazard / sigma) <= slack


def test_a_constraint_on_its_limit_is_even_odds():
    value, d_mu, d_sigma = log_feasible(np.zeros(1), np.array([2.0]))
    assert value[0] == pytest.approx(np.log(0.5), rel=1e-15)
    assert d_mu[0] == pytest.approx(-np.sqrt(2.0 / np.pi) / 2.0, rel=1e-15)
    assert d_sigma[0] == 0.0


def test_met_and_broken_add_up_to_one():
    mu, sigma = np.linspace(-5.0, 5.0, 41), np.full(41, 1.3)
    met, broken = log_feasible(mu, sigma)[0], log_feasible(-mu, sigma)[0]
    np.testing.assert_allclose(np.exp(met) + np.exp(broken), 1.0, rtol=1e-15)


def test_slopes_agree_with_differences():
    rng = np.random.default_rng(0)
    sigma = np.exp(rng.normal(size=100))
    mu = 2.0 * rng.normal(size=100) * sigma
    _, d_mu, d_sigma = log_feasible(mu, sigma)
    step = 1e-5 * sigma
    by_mu = log_feasible(mu + step, sigma)[0] - log_feasible(mu - step, sigma)[0]
    by_sigma = log_feasible(mu, sigma + step)[0] - log_feasible(mu, sigma - step)[0]
    np.testing.assert_allclose(d_mu, by_mu / (2 * step), rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(d_sigma, by_sigma / (2 * step), rtol=1e-7, atol=1e-8)
