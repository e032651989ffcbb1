"""The Gaussian process against scikit-learn, differences and its own definition."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.gaussian_process import GaussianProcessRegressor, kernels

from headway.surrogate.evidence import Evidence, Hyper
from headway.surrogate.gp import GP, Kernel

NU = {"matern52": 2.5, "matern32": 1.5, "matern12": 0.5}


def sklearn_kernel(name, lengthscales, scale):
    stationary = (
        kernels.RBF(lengthscales) if name == "rbf" else kernels.Matern(lengthscales, nu=NU[name])
    )
    return kernels.ConstantKernel(scale) * stationary


def data(n=25, d=3, seed=0):
    rng = np.random.default_rng(seed)
    F = rng.random((n, d))
    z = np.sin(4 * F).sum(axis=1) + 0.3 * rng.standard_normal(n)
    return F, (z - z.mean()) / z.std(), 10.0 ** rng.uniform(-6, -2, n)


@pytest.mark.parametrize("name", ["matern52", "matern32", "matern12", "rbf"])
@pytest.mark.parametrize("lengthscales", [(0.3, 0.7, 1.5), (0.4, 0.4, 0.4)])
def test_moments_and_evidence_equal_scikit_learn(name, lengthscales):
    F, z, noise = data()
    gp = GP.given(Kernel(name, np.array(lengthscales), 1.7), F, z, noise=noise)
    peer = GaussianProcessRegressor(
        sklearn_kernel(name, lengthscales, 1.7), alpha=noise, optimizer=None
    ).fit(F, z - gp.mean)
    X = np.random.default_rng(1).random((40, 3))
    mean, sd = peer.predict(X, return_std=True)
    mu, sigma = gp.predict(X)
    np.testing.assert_allclose(mu, mean + gp.mean, rtol=0, atol=1e-9)
    np.testing.assert_allclose(sigma, sd, rtol=1e-6, atol=1e-9)

    isotropic = len(set(lengthscales)) == 1
    evidence = Evidence.of(
        name, F, z, groups=(0, 1, 2), ard=not isotropic, priors=False, noise=noise
    )
    hyper = Hyper(lengthscales[:1] if isotropic else lengthscales, 1.7, 0.0)
    value, gradient = evidence.value(evidence.theta(hyper))
    theirs, theirs_gradient = peer.log_marginal_likelihood(
        np.log([1.7, *lengthscales]), eval_gradient=True
    )
    assert value == pytest.approx(theirs, rel=1e-10)
    ours = gradient[:-1] if not isotropic else [gradient[0]]
    theirs_gradient = theirs_gradient[1:] if not isotropic else [theirs_gradient[1:].sum()]
    np.testing.assert_allclose(ours, theirs_gradient, rtol=1e-5, atol=1e-7)


def test_the_mean_is_the_generalised_least_squares_one():
    F, z, noise = data()
    kernel = Kernel("matern52", np.full(3, 0.5), 2.0)
    K = kernel(F, F) + np.diag(noise)
    ones = np.ones(len(z))
    for tau in (0.0, 1.0):
        expected = ones @ np.linalg.solve(K, z) / (ones @ np.linalg.solve(K, ones) + tau)
        assert GP.given(kernel, F, z, noise=noise, tau=tau).mean == pytest.approx(expected)


@pytest.mark.parametrize("name", ["matern52", "matern32", "matern12", "rbf"])
@pytest.mark.parametrize("ard", [True, False])
@pytest.mark.parametrize("priors", [True, False])
@pytest.mark.parametrize("fitted_noise", [True, False])
def test_the_gradient_of_evidence_equals_differences(name, ard, priors, fitted_noise):
    F, z, noise = data()
    evidence = Evidence.of(
        name,
        F,
        z,
        groups=(0, 1, 1),
        ard=ard,
        priors=priors,
        noise=None if fitted_noise else noise,
    )
    theta = evidence.starts(None, thorough=False)[0] + 0.2
    _, gradient = evidence.value(theta)
    h = 1e-5
    for j in range(len(theta)):
        step = h * np.eye(len(theta))[j]
        slope = (evidence.value(theta + step)[0] - evidence.value(theta - step)[0]) / (2 * h)
        assert gradient[j] == pytest.approx(slope, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("name", ["matern52", "matern32", "matern12", "rbf"])
def test_gradients_of_the_moments_equal_differences(name):
    F, z, noise = data()
    gp = GP.given(Kernel(name, np.array([0.3, 0.7, 1.5]), 1.7), F, z, noise=noise)
    X = np.random.default_rng(2).random((7, 3))
    mu, sigma, d_mu, d_sigma = gp.predict_with_gradient(X, 2)
    np.testing.assert_allclose(mu, gp.predict(X)[0])
    np.testing.assert_allclose(sigma, gp.predict(X)[1])
    h = 1e-6
    for j in range(2):
        up, down = gp.predict(X + h * np.eye(3)[j]), gp.predict(X - h * np.eye(3)[j])
        np.testing.assert_allclose(d_mu[:, j], (up[0] - down[0]) / (2 * h), rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(d_sigma[:, j], (up[1] - down[1]) / (2 * h), rtol=1e-4, atol=1e-5)


def test_extending_point_by_point_equals_conditioning_at_once():
    F, z, noise = data(n=40)
    kernel = Kernel("matern52", np.array([0.3, 0.7, 1.5]), 1.7)
    whole = GP.given(kernel, F, z, noise=noise)
    first = GP.given(kernel, F[:25], z[:25], noise=noise[:25])
    grown = first.extended(F[25:30], noise=noise[25:30], z=z[:30])
    grown = grown.extended(F[30:], noise=noise[30:], z=z)
    X = np.random.default_rng(3).random((9, 3))
    for ours, exact in zip(
        grown.predict_with_gradient(X, 3), whole.predict_with_gradient(X, 3), strict=True
    ):
        np.testing.assert_allclose(ours, exact, rtol=1e-8, atol=1e-10)
    assert grown.factor.log_det == pytest.approx(whole.factor.log_det)
    assert len(first.z) == 25  # the value that was extended is what it was
    at_once = first.extended(F[25:], noise=noise[25:], z=z)
    assert np.array_equal(at_once.alpha, grown.alpha)  # to the last digit


def test_believed_points_move_no_mean_and_take_the_variance_away():
    F, z, noise = data()
    gp = GP.given(Kernel("rbf", np.full(3, 0.5), 1.0), F, z, noise=noise)
    X = np.random.default_rng(4).random((5, 3))
    believing = gp.extended(X[:2], noise=np.full(2, 1e-8))
    np.testing.assert_allclose(believing.predict(X)[0], gp.predict(X)[0], atol=1e-8)
    assert np.all(believing.predict(X)[1] <= gp.predict(X)[1] + 1e-12)
    assert np.all(believing.predict(X[:2])[1] < 2e-4)


def test_joint_moments_agree_with_the_single_ones_and_samples_with_both():
    F, z, noise = data(n=8)
    gp = GP.given(Kernel("matern32", np.full(3, 0.5), 1.0), F, z, noise=noise)
    X = np.random.default_rng(5).random((6, 3))
    mean, covariance = gp.joint(X)
    np.testing.assert_allclose(mean, gp.predict(X)[0])
    np.testing.assert_allclose(np.sqrt(np.diagonal(covariance)), gp.predict(X)[1])
    draws = gp.sample(X, 40_000, np.random.default_rng(6))
    # alpha = 1e-6 per statistic: 5 standard errors.
    error = 5 * np.sqrt(np.diagonal(covariance) / len(draws))
    assert np.all(np.abs(draws.mean(axis=0) - mean) < error), (draws.mean(axis=0), mean)
    scale = np.sqrt(np.outer(np.diagonal(covariance), np.diagonal(covariance)))
    assert np.all(np.abs(np.cov(draws.T) - covariance) < 5 * 1.5 * scale / np.sqrt(len(draws)))


def test_evidence_is_the_density_of_the_data():
    F, z, noise = data(n=9)
    evidence = Evidence.of("matern52", F, z, groups=(0, 1, 2), ard=True, priors=False, noise=noise)
    theta = np.log([0.3, 0.7, 1.5, 1.7])
    kernel = Kernel("matern52", np.exp(theta[:3]), 1.7)
    gp = GP.given(kernel, F, z, noise=noise)
    K = kernel(F, F) + np.diag(noise)
    expected = multivariate_normal(np.full(9, gp.mean), K).logpdf(z)
    assert evidence.value(theta)[0] == pytest.approx(expected)


def test_a_near_copy_does_not_break_the_factor(caplog):
    F, z, _ = data(n=12)
    kernel = Kernel("rbf", np.full(3, 3.0), 1e4)
    with caplog.at_level("INFO", logger="headway"):
        gp = GP.given(kernel, np.vstack([F, F]), np.tile(z, 2), noise=np.zeros(24))
    assert gp.factor.jitter > 0
    assert "needed jitter" in caplog.text
    assert np.all(np.isfinite(gp.predict(F)[0]))
