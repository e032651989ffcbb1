"""The Gaussian process beside GPyTorch's, on the same hyper-parameters."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")
gpytorch = pytest.importorskip("gpytorch")

from headway.surrogate.evidence import Evidence, Hyper  # noqa: E402
from headway.surrogate.gp import GP, Kernel  # noqa: E402

pytestmark = pytest.mark.torch

NU = {"matern52": 2.5, "matern32": 1.5, "matern12": 0.5}
SCALE = 1.7
ARD, ISOTROPIC = (0.3, 0.7, 1.5), (0.4, 0.4, 0.4)

# GPyTorch's ARD distances come from an expanded square: one of zero can be 1.5e-8. Matern-1/2,
# whose slope there is not zero, is off by as much.
LOOSE = {"matern12": 100.0}

kernels = pytest.mark.parametrize("name", [*NU, "rbf"])
lengths = pytest.mark.parametrize("lengthscales", [ARD, ISOTROPIC], ids=["ard", "isotropic"])


def data(n=25, d=3):
    rng = np.random.default_rng(0)
    F = rng.random((n, d))
    z = np.sin(4 * F).sum(axis=1) + 0.3 * rng.standard_normal(n)
    # A thousandfold range of noise; GPyTorch takes none below 1e-6.
    return F, (z - z.mean()) / z.std(), 10.0 ** rng.uniform(-5, -2, n)


def tensor(array):
    return torch.tensor(np.asarray(array), dtype=torch.double)


class Peer(gpytorch.models.ExactGP):
    """GPyTorch's exact GP with a constant mean, hyper-parameters given."""

    def __init__(self, likelihood, F, z, kernel, mean):
        super().__init__(tensor(F), tensor(z), likelihood)
        ard = None if kernel.lengthscales[0] == kernel.lengthscales[-1] else F.shape[1]
        if kernel.name == "rbf":
            stationary = gpytorch.kernels.RBFKernel(ard_num_dims=ard)
        else:
            stationary = gpytorch.kernels.MaternKernel(nu=NU[kernel.name], ard_num_dims=ard)
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(stationary)
        self.double()
        stationary.lengthscale = tensor(kernel.lengthscales[: ard or 1])
        self.covar_module.outputscale = tensor(kernel.scale)
        self.mean_module.constant = tensor(mean)

    def forward(self, X):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(X), self.covar_module(X))

    def slope(self, value, module, raw):
        """d value / d log of a positive parameter, from its raw form under softplus."""
        parameter = getattr(module, f"raw_{raw}")
        (slope,) = torch.autograd.grad(value, parameter, retain_graph=True)
        by_parameter = slope / torch.sigmoid(parameter)
        return (by_parameter * getattr(module, raw)).detach().numpy().ravel()


@pytest.fixture(autouse=True)
def _exact():
    """Cholesky factors throughout, no iterations."""
    with (
        gpytorch.settings.fast_computations(False, False, False),
        gpytorch.settings.fast_pred_var(False),
        gpytorch.settings.max_cholesky_size(10_000),
    ):
        yield


def pair(name, lengthscales):
    F, z, noise = data()
    gp = GP.given(Kernel(name, np.array(lengthscales), SCALE), F, z, noise=noise)
    likelihood = gpytorch.likelihoods.FixedNoiseGaussianLikelihood(tensor(noise))
    return gp, Peer(likelihood, F, z, gp.kernel, gp.mean)


@kernels
@lengths
def test_mean_deviation_and_their_gradients(name, lengthscales):
    gp, peer = pair(name, lengthscales)
    peer.eval()
    X = np.random.default_rng(1).random((20, 3))
    mu, sigma, d_mu, d_sigma = gp.predict_with_gradient(X, 3)
    x = tensor(X).requires_grad_()
    loose = LOOSE.get(name, 1.0)
    # One point at a time: gradients of a batch's variances would need its whole covariance.
    for i in range(len(X)):
        at = peer(x[i : i + 1])
        mean, deviation = at.mean.sum(), at.variance.sqrt().sum()
        (by_mean,) = torch.autograd.grad(mean, x, retain_graph=True)
        (by_deviation,) = torch.autograd.grad(deviation, x)
        assert mu[i] == pytest.approx(mean.item(), abs=loose * 1e-9)
        assert sigma[i] == pytest.approx(deviation.item(), rel=loose * 1e-8)
        tolerance = {"rtol": loose * 1e-8, "atol": loose * 1e-9}
        np.testing.assert_allclose(d_mu[i], by_mean[i].numpy(), **tolerance)
        np.testing.assert_allclose(d_sigma[i], by_deviation[i].numpy(), **tolerance)


@kernels
@lengths
def test_joint_covariance(name, lengthscales):
    gp, peer = pair(name, lengthscales)
    peer.eval()
    X = np.random.default_rng(2).random((15, 3))
    mean, covariance = gp.joint(X)
    with torch.no_grad():
        theirs = peer(tensor(X))
        loose = LOOSE.get(name, 1.0)
        np.testing.assert_allclose(mean, theirs.mean.numpy(), rtol=0, atol=loose * 1e-9)
        theirs_covariance = theirs.covariance_matrix.numpy()
        np.testing.assert_allclose(covariance, theirs_covariance, rtol=0, atol=loose * 1e-9)


@kernels
@lengths
def test_evidence_and_its_gradient_with_noise_known_at_each_point(name, lengthscales):
    F, z, noise = data()
    _, peer = pair(name, lengthscales)
    peer.train()
    value = peer.likelihood(peer(tensor(F))).log_prob(tensor(z))
    theirs = np.concatenate(
        [
            peer.slope(value, peer.covar_module.base_kernel, "lengthscale"),
            peer.slope(value, peer.covar_module, "outputscale"),
        ]
    )
    ard = lengthscales is ARD
    evidence = Evidence.of(name, F, z, groups=(0, 1, 2), ard=ard, priors=False, noise=noise)
    hyper = Hyper(lengthscales if ard else lengthscales[:1], SCALE, 0.0)
    ours, gradient = evidence.value(evidence.theta(hyper))
    assert ours == pytest.approx(value.item(), rel=LOOSE.get(name, 1.0) * 1e-10)
    np.testing.assert_allclose(gradient, theirs, rtol=1e-7, atol=1e-8)
    # The constant mean is the one of most evidence.
    (by_mean,) = torch.autograd.grad(value, peer.mean_module.raw_constant)
    assert by_mean.item() == pytest.approx(0.0, abs=1e-8)


@kernels
@lengths
def test_evidence_and_its_gradient_with_noise_fitted(name, lengthscales):
    F, z, _ = data()
    noise = 0.02
    kernel = Kernel(name, np.array(lengthscales), SCALE)
    gp = GP.given(kernel, F, z, noise=np.full(len(z), noise))
    likelihood = gpytorch.likelihoods.GaussianLikelihood().double()
    likelihood.noise = tensor(noise)
    peer = Peer(likelihood, F, z, kernel, gp.mean)
    peer.train()
    value = likelihood(peer(tensor(F))).log_prob(tensor(z))
    theirs = np.concatenate(
        [
            peer.slope(value, peer.covar_module.base_kernel, "lengthscale"),
            peer.slope(value, peer.covar_module, "outputscale"),
        ]
    )
    ard = lengthscales is ARD
    evidence = Evidence.of(name, F, z, groups=(0, 1, 2), ard=ard, priors=False, noise=None)
    hyper = Hyper(lengthscales if ard else lengthscales[:1], SCALE, noise)
    ours, gradient = evidence.value(evidence.theta(hyper))
    assert ours == pytest.approx(value.item(), rel=LOOSE.get(name, 1.0) * 1e-10)
    np.testing.assert_allclose(gradient[:-1], theirs, rtol=1e-7, atol=1e-8)
    raw = likelihood.noise_covar.raw_noise
    (by_raw,) = torch.autograd.grad(value, raw)
    by_log_noise = (by_raw / torch.sigmoid(raw) * likelihood.noise).item()
    assert gradient[-1] == pytest.approx(by_log_noise, rel=1e-7)


@kernels
def test_extended_factor(name):
    """Points added one by one give what GPyTorch has from all of them at once."""
    F, z, noise = data()
    whole, peer = pair(name, ARD)
    peer.eval()
    first = GP.given(whole.kernel, F[:15], z[:15], noise=noise[:15])
    grown = first.extended(F[15:], noise=noise[15:], z=z)
    X = np.random.default_rng(3).random((15, 3))
    mu, sigma = grown.predict(X)
    with torch.no_grad():
        theirs = peer(tensor(X))
        np.testing.assert_allclose(mu, theirs.mean.numpy(), rtol=0, atol=1e-8)
        np.testing.assert_allclose(sigma, theirs.variance.sqrt().numpy(), rtol=1e-7)
