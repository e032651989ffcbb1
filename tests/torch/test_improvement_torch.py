"""The acquisitions beside BoTorch's, on the same posterior moments."""

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("botorch")

from botorch.acquisition.analytic import (  # noqa: E402
    LogConstrainedExpectedImprovement,
    LogExpectedImprovement,
    LogProbabilityOfImprovement,
    UpperConfidenceBound,
)
from botorch.acquisition.max_value_entropy_search import qMaxValueEntropy  # noqa: E402
from botorch.models import SingleTaskGP  # noqa: E402
from botorch.utils.testing import MockModel, MockPosterior  # noqa: E402

from headway.acquisition.feasibility import log_feasible  # noqa: E402
from headway.acquisition.improvement import log_ei, log_mes, log_poi, ucb  # noqa: E402

pytestmark = pytest.mark.torch

BEST = -0.25  # BoTorch keeps a float of single precision, which this is exactly


def moments(zs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means and deviations with (BEST - mu) / sigma = zs."""
    sigma = np.exp(np.random.default_rng(0).normal(size=zs.shape))
    return BEST - zs * sigma, sigma


def theirs(make, mu: np.ndarray, sigma: np.ndarray) -> tuple[np.ndarray, ...]:
    """Value, slope in mu and slope in sigma of a BoTorch acquisition, by its own autograd."""
    mean = torch.tensor(mu, dtype=torch.double).reshape(-1, 1, 1).requires_grad_()
    deviation = torch.tensor(sigma, dtype=torch.double).reshape(-1, 1, 1).requires_grad_()
    model = MockModel(MockPosterior(mean=mean, variance=deviation.square()))
    value = make(model)(torch.zeros(len(mu), 1, 1, dtype=torch.double))
    slopes = torch.autograd.grad(value.sum(), (mean, deviation))
    return tuple(t.detach().numpy().ravel() for t in (value, *slopes))


def assert_same(ours, others, rtol: float) -> None:
    for mine, other in zip(ours, others, strict=True):
        np.testing.assert_allclose(mine, other, rtol=rtol, atol=1e-13)


# BoTorch's log EI loses digits to log(1 - x) as x nears 1, about z^2 ulp, and past z = -1e6 goes
# over to an asymptote; near z = -1 it changes branch.
@pytest.mark.parametrize(
    ("zs", "rtol"),
    [
        (np.linspace(-5.0, 35.0, 161), 1e-12),
        (-np.geomspace(5.0, 100.0, 30), 1e-11),
        (-np.geomspace(100.0, 1e5, 30), 1e-5),
    ],
    ids=["near", "far", "farther"],
)
def test_log_ei(zs, rtol):
    mu, sigma = moments(zs)
    others = theirs(lambda m: LogExpectedImprovement(m, best_f=BEST, maximize=False), mu, sigma)
    ours = log_ei(mu, sigma, best=BEST)
    np.testing.assert_allclose(ours[0], others[0], rtol=1e-12, atol=1e-14)
    assert_same(ours[1:], others[1:], rtol)


@pytest.mark.parametrize(
    "zs", [np.linspace(-5.0, 5.0, 81), -np.geomspace(5.0, 1e5, 60)], ids=["near", "far"]
)
def test_log_poi(zs):
    mu, sigma = moments(zs)
    others = theirs(
        lambda m: LogProbabilityOfImprovement(m, best_f=BEST, maximize=False), mu, sigma
    )
    assert_same(log_poi(mu, sigma, best=BEST), others, 1e-9)


def test_ucb():
    mu, sigma = moments(np.linspace(-3.0, 3.0, 13))
    others = theirs(lambda m: UpperConfidenceBound(m, beta=4.0, maximize=False), mu, sigma)
    assert_same(ucb(mu, sigma, kappa=2.0), others, 1e-14)


def test_constrained_log_ei_is_the_sum_of_our_terms():
    rng = np.random.default_rng(1)
    mu, sigma = moments(np.linspace(-6.0, 6.0, 49))
    c, s = 3.0 * rng.normal(size=49), np.exp(rng.normal(size=49))
    mean = torch.tensor(np.stack([mu, c], axis=1)).unsqueeze(1)
    variance = torch.tensor(np.stack([sigma, s], axis=1)).square().unsqueeze(1)
    acquisition = LogConstrainedExpectedImprovement(
        MockModel(MockPosterior(mean=mean, variance=variance)),
        best_f=BEST,
        objective_index=0,
        constraints={1: (None, 0.0)},
        maximize=False,
    )
    others = acquisition(torch.zeros(49, 1, 1, dtype=torch.double)).numpy()
    ours = log_ei(mu, sigma, best=BEST)[0] + log_feasible(c, s)[0]
    np.testing.assert_allclose(ours, others, rtol=1e-10, atol=1e-12)


def test_max_value_entropy_within_monte_carlo_error():
    """BoTorch draws the observation, which we integrate out; the minima are the same.

    Twenty independent runs at each of 9 points. Under the null a mean differs from ours by more
    than 5 standard errors with probability below 1e-4 (Student, 19 degrees of freedom), so this
    fails by chance with alpha < 1e-3. 2e-3 is let go for what its estimate has of its own: an
    observation noise that cannot be zero, and a control variate whose weight is fitted.
    """
    torch.manual_seed(0)
    X = torch.tensor([[0.2], [0.7]], dtype=torch.double)
    y = torch.tensor([[0.5], [-0.5]], dtype=torch.double).mul(math.sqrt(2.0))
    model = SingleTaskGP(X, y, train_Yvar=torch.full_like(y, 1e-6), outcome_transform=None)
    model.covar_module.lengthscale = 0.3
    # Its draws miss what matters where a minimum lies several deviations above the mean: the
    # points keep away from x = 0.7, where the mean is low and certain.
    at = torch.tensor([0.0, 0.08, 0.13, 0.27, 0.33, 0.45, 0.5, 0.92, 1.0], dtype=torch.double)
    at = at.reshape(-1, 1, 1)
    minima = np.linspace(-1.5, -0.3, 12)
    with torch.no_grad():
        posterior = model.posterior(at)
        mu = posterior.mean.numpy().ravel()
        sigma = posterior.variance.sqrt().numpy().ravel()
        ours = np.exp(log_mes(mu, sigma, minima=minima)[0])
        runs = []
        for _ in range(20):
            acquisition = qMaxValueEntropy(model, at[:, 0], num_y_samples=1024, maximize=False)
            acquisition.posterior_max_values = -torch.tensor(minima).unsqueeze(1)
            runs.append(acquisition(at).numpy())
    error = np.std(runs, axis=0, ddof=1) / math.sqrt(len(runs))
    difference = np.mean(runs, axis=0) - ours
    assert np.all(np.abs(difference) < 5.0 * error + 2e-3), (ours, difference, error)
    assert np.max(error) < 2e-3 < 0.01 * np.max(ours)  # else the comparison says nothing
