"""`headway.botorch` beside Headway's own scores, and in the hands of BoTorch's optimizer."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("botorch")

import gpytorch  # noqa: E402
from botorch.acquisition import (  # noqa: E402
    ExpectedImprovement,
    LogExpectedImprovement,
    PosteriorMean,
    ProbabilityOfImprovement,
    UpperConfidenceBound,
    qExpectedImprovement,
    qKnowledgeGradient,
    qLogExpectedImprovement,
    qLogNoisyExpectedImprovement,
    qNoisyExpectedImprovement,
    qProbabilityOfImprovement,
    qUpperConfidenceBound,
)
from botorch.acquisition.analytic import (  # noqa: E402
    LogProbabilityOfImprovement,
    qAnalyticProbabilityOfImprovement,
)
from botorch.acquisition.fixed_feature import FixedFeatureAcquisitionFunction  # noqa: E402
from botorch.acquisition.max_value_entropy_search import qMaxValueEntropy  # noqa: E402
from botorch.exceptions import UnsupportedError  # noqa: E402
from botorch.models import SingleTaskGP  # noqa: E402
from botorch.models.transforms import Standardize  # noqa: E402
from botorch.optim import optimize_acqf, optimize_acqf_mixed  # noqa: E402
from botorch.sampling import SobolQMCNormalSampler  # noqa: E402
from gpytorch.kernels import MaternKernel, ScaleKernel  # noqa: E402

from headway.acquisition import local  # noqa: E402
from headway.acquisition.improvement import log_ei, log_poi, ucb  # noqa: E402
from headway.acquisition.score import Score  # noqa: E402
from headway.botorch import (  # noqa: E402
    AnnealedAcquisition,
    DirectionalAcquisition,
    Heading,
    Nearness,
)
from headway.direction.updates import SampledDirections  # noqa: E402
from headway.direction.vmf import Direction  # noqa: E402
from headway.errors import SettingError  # noqa: E402
from headway.space import Space  # noqa: E402
from headway.surrogate.gp import GP, Kernel  # noqa: E402

pytestmark = [
    pytest.mark.torch,
    # Of BoTorch: EI's own advice, line searches that end at rounding errors, and points of a batch
    # that meet in a corner on the way.
    pytest.mark.filterwarnings("ignore:A not p.d., added jitter"),
    pytest.mark.filterwarnings("ignore:.*numerical issues.*"),
    pytest.mark.filterwarnings("ignore:Optimization failed:RuntimeWarning"),
]

D = 3
SCALES, OUTPUT, NOISE = np.array([0.3, 0.5, 0.9]), 1.3, 1e-4
BOUNDS = torch.tensor([[-5.0, 0.0, 100.0], [10.0, 2.0, 101.0]], dtype=torch.double)
BEST = -0.75  # BoTorch keeps it in single precision, which this is exactly


def told(n=12):
    rng = np.random.default_rng(0)
    Z = rng.random((n, D))
    z = np.sin(5 * Z).sum(axis=1) + Z[:, 0]
    return Z, (z - z.mean()) / z.std()


def users(Z):
    """Points of the cube in the users' units."""
    return BOUNDS[0] + torch.as_tensor(Z, dtype=torch.double) * (BOUNDS[1] - BOUNDS[0])


def pair():
    """Headway's Gaussian process on the cube, and BoTorch's in the user's units: the same one."""
    Z, z = told()
    gp = GP.given(Kernel("matern52", SCALES, OUTPUT), Z, z, noise=np.full(len(z), NOISE))
    span = (BOUNDS[1] - BOUNDS[0]).numpy()
    kernel = ScaleKernel(MaternKernel(nu=2.5, ard_num_dims=D))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the inputs are not in the unit cube: that is the point
        model = SingleTaskGP(
            users(Z),
            torch.as_tensor(z)[:, None],
            train_Yvar=torch.full((len(z), 1), NOISE, dtype=torch.double),
            covar_module=kernel,
            outcome_transform=None,
        )
    model.double()
    kernel.base_kernel.lengthscale = torch.as_tensor(SCALES * span)
    kernel.outputscale = OUTPUT
    model.mean_module.constant = torch.tensor(gp.mean)
    model.eval()
    return gp, model


@pytest.fixture(autouse=True)
def _exact():
    with gpytorch.settings.fast_computations(False, False, False):
        yield


def directions(rng, k):
    G = rng.standard_normal((k, D))
    return G / np.linalg.norm(G, axis=1, keepdims=True)


COLUMNS = {"all": None, "some": [0, 2]}


def heading_pair(columns, k=1, kappa=2.5):
    rng = np.random.default_rng(3)
    chosen = list(range(D)) if columns is None else columns
    origin, thetas = rng.random(D), directions(rng, k)[:, chosen]
    thetas /= np.linalg.norm(thetas, axis=1, keepdims=True)
    density = Direction(thetas[0], kappa) if k == 1 else SampledDirections(thetas, kappa, 1.0)
    ours = local.Heading(
        Space.of([(0.0, 1.0)] * D), origin, np.array(chosen), density.log_density, 0.03
    )
    theta = thetas[0] if k == 1 else thetas
    return ours, Heading(BOUNDS, origin, theta, kappa, smoothing=0.03, columns=columns)


def nearness_pair(columns):
    rng = np.random.default_rng(4)
    chosen = list(range(D)) if columns is None else columns
    root, centre = rng.standard_normal((len(chosen), len(chosen))), rng.random(D)
    precision = 30.0 * (root @ root.T + np.eye(len(chosen)))
    ours = local.Nearness(Space.of([(0.0, 1.0)] * D), centre, np.array(chosen), precision)
    return ours, Nearness(BOUNDS, centre, precision, columns=columns)


def by_torch(function, Z):
    """Values of a function of (m, 1, d) users' points, and gradients in the cube."""
    X = users(Z)[:, None].requires_grad_()
    value = function(X)
    (slope,) = torch.autograd.grad(value.sum(), X)
    return value.detach().numpy().ravel(), (slope[:, 0] * (BOUNDS[1] - BOUNDS[0])).numpy()


POINTS = np.random.default_rng(5).random((40, D))


@pytest.mark.parametrize("columns", COLUMNS.values(), ids=COLUMNS)
@pytest.mark.parametrize(
    "pair_of",
    [heading_pair, lambda columns: heading_pair(columns, k=7), nearness_pair],
    ids=["heading", "sampled directions", "nearness"],
)
def test_local_terms_are_headway_s_own(pair_of, columns):
    ours, theirs = pair_of(columns)
    Z = np.concatenate([POINTS, ours.origin[None] if hasattr(ours, "origin") else POINTS[:1]])
    value, slope = ours(Z)
    found, gradient = by_torch(theirs, Z)
    np.testing.assert_allclose(found, value, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(gradient, slope, rtol=1e-9, atol=1e-9)


BASES = {
    "log ei": (LogExpectedImprovement, {"best_f": BEST}, log_ei, {"best": BEST}, {}),
    "ei": (ExpectedImprovement, {"best_f": BEST}, log_ei, {"best": BEST}, {}),
    "log poi": (LogProbabilityOfImprovement, {"best_f": BEST}, log_poi, {"best": BEST}, {}),
    "poi": (ProbabilityOfImprovement, {"best_f": BEST}, log_poi, {"best": BEST}, {}),
    "ucb": (UpperConfidenceBound, {"beta": 4.0}, ucb, {"kappa": 2.0}, {"scale": 1.0}),
}


def near_the_data(*, largest=False):
    """Points at which EI has not underflown: nothing is left of the plain forms where it has."""
    Z, z = told()
    z = -z if largest else z
    rng = np.random.default_rng(6)
    return np.clip(
        Z[np.argsort(z)[:4]].repeat(8, axis=0) + 0.1 * rng.standard_normal((32, D)), 0, 1
    )


@pytest.mark.parametrize("rho", [0.0, 0.3, 0.9, 1.0])
@pytest.mark.parametrize("name", BASES)
def test_directional_scores_are_headway_s_own(name, rho):
    """Headway minimises the very outcome that BoTorch is told to minimise by maximize=False."""
    gp, model = pair()
    make, given, term, settings, form = BASES[name]
    ours, heading = heading_pair(None)
    share = min(rho, 0.999)
    score = Score(
        Space.of([(0.0, 1.0)] * D),
        ((gp, lambda mu, sigma: term(mu, sigma, **settings)),),
        ours,
        1.0 - share,
        share,
    )
    acqf = DirectionalAcquisition(make(model, maximize=False, **given), heading, rho, **form)
    assert_same(score, acqf, near_the_data())


@pytest.mark.parametrize("name", BASES)
def test_annealed_scores_are_headway_s_own(name):
    gp, model = pair()
    make, given, term, settings, form = BASES[name]
    ours, nearness = nearness_pair(None)
    score = Score(
        Space.of([(0.0, 1.0)] * D), ((gp, lambda mu, sigma: term(mu, sigma, **settings)),), ours
    )
    acqf = AnnealedAcquisition(make(model, maximize=False, **given), nearness, **form)
    assert_same(score, acqf, near_the_data())


def assert_same(score, acqf, Z):
    value, slope = score.with_gradient(Z)
    found, gradient = by_torch(acqf, Z)
    np.testing.assert_allclose(found, value, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(gradient, slope, rtol=1e-5, atol=1e-5)


def test_gradients_by_differences():
    X = users(POINTS[:5])[:, None].requires_grad_()
    for term in (heading_pair(None, k=3)[1], nearness_pair([0, 2])[1]):
        assert torch.autograd.gradcheck(term, (X,), eps=1e-6, atol=1e-5)


# Monte Carlo bases, and batches


def mc_bases(model):
    sampler = SobolQMCNormalSampler(torch.Size([64]), seed=0)
    X = users(told()[0])
    best = model.train_targets.max()
    return {
        "qLogEI": (qLogExpectedImprovement(model, best - 1.0, sampler), "log"),
        "qLogNEI": (qLogNoisyExpectedImprovement(model, X, sampler), "log"),
        "qEI": (qExpectedImprovement(model, best - 1.0, sampler), "positive"),
        "qNEI": (qNoisyExpectedImprovement(model, X, sampler), "positive"),
        "qPI": (qProbabilityOfImprovement(model, best - 0.3, sampler), "positive"),
        "qUCB": (qUpperConfidenceBound(model, 4.0, sampler), "linear"),
        "qMES": (qMaxValueEntropy(model, X), "positive"),
    }


MC = ("qLogEI", "qLogNEI", "qEI", "qNEI", "qPI", "qUCB", "qMES")


@pytest.mark.parametrize("name", MC)
def test_one_point_is_the_sum_of_logs(name):
    _, model = pair()
    base, form = mc_bases(model)[name]
    heading, nearness = heading_pair(None)[1], nearness_pair(None)[1]
    X = users(near_the_data(largest=True))[:, None]
    with torch.no_grad():
        value = base(X)
        if form == "positive":
            value = value.clamp_min(torch.finfo(torch.double).tiny).log()
        if form == "linear":
            value = value / model.train_targets.std(correction=0)
        found = DirectionalAcquisition(base, heading, 0.25)(X)
        torch.testing.assert_close(found, 0.75 * value + 0.25 * heading(X)[:, 0])
        found = AnnealedAcquisition(base, nearness)(X)
        torch.testing.assert_close(found, value + nearness(X)[:, 0])


# Beside nothing, qNEI's improvement on all the data is all but 0 at these points.
@pytest.mark.parametrize(
    ("name", "pending"),
    [*((name, p) for name in ("qLogEI", "qEI", "qPI", "qUCB") for p in (0, 2)), ("qNEI", 2)],
)
def test_a_batch_is_the_sum_of_what_each_point_adds(name, pending):
    """On the same samples: the mean of the best so far, less that of the best before."""
    _, model = pair()
    base, form = mc_bases(model)[name]
    nearness = nearness_pair(None)[1]
    rng = np.random.default_rng(8)
    # The worst first, so that each has something to add.
    X = near_the_data(largest=True).reshape(4, 8, D)[::-1].swapaxes(0, 1)
    X = users(np.clip(X + 0.15 * rng.standard_normal(X.shape), 0, 1))
    others = users(rng.random((pending, D)))
    whole = torch.cat([others.expand(8, pending, D), X], dim=1)
    acqf = DirectionalAcquisition(base, nearness, 0.25)
    with torch.no_grad():
        samples = base._non_reduced_forward(whole)
        spread = model.train_targets.std(correction=0)
        alpha = {"log": samples.exp(), "positive": samples, "linear": (samples / spread).exp()}
        mean = alpha[form].cummax(dim=-1).values.mean(dim=0)
        added = mean[:, 1:] - mean[:, :-1]
        # BoTorch's qUCB is a mean, of which there is no logarithm to take.
        first = mean[:, :1] if form != "linear" else (samples[..., :1] / spread).mean(dim=0).exp()
        added = (added if pending else torch.cat([first, added], dim=1))[:, -4:]
        by_hand = 0.75 * added.log().sum(dim=-1) + 0.25 * nearness(X).sum(dim=-1)
        if pending:
            acqf.set_X_pending(others)
            assert torch.equal(acqf.X_pending, others)
        found = acqf(X)
    # Smoothing counts where little is added.
    enough = torch.all(added > 1e-2 * mean[:, -4:], dim=-1)
    assert enough.sum() >= 2
    torch.testing.assert_close(found[enough], by_hand[enough], rtol=0, atol=0.05)


@pytest.mark.parametrize("name", ["qLogEI", "qLogNEI", "qEI", "qUCB"])
def test_a_copy_of_a_pending_point_adds_next_to_nothing(name):
    _, model = pair()
    acqf = AnnealedAcquisition(mc_bases(model)[name][0], heading_pair(None, kappa=0.0)[1])
    X = users(near_the_data(largest=True)[::4])
    acqf.set_X_pending(X[:1])
    with torch.no_grad():
        copy, others = acqf(X[:1][:, None]), acqf(X[1:][:, None])
    assert torch.all(copy < others.max() - 2.0)


class Ensemble(SingleTaskGP):
    """Several models at once, as BoTorch's fully Bayesian ones are (those need JAX)."""

    _is_ensemble = True

    def posterior(self, X, **given):
        return super().posterior(X.unsqueeze(-3), **given)


def test_a_batch_under_a_model_that_is_an_ensemble():
    Z, z = told()
    z = z / z.std(ddof=1)
    X, Y = torch.as_tensor(Z).repeat(2, 1, 1), torch.as_tensor(z)[:, None].repeat(2, 1, 1)
    model = Ensemble(X, Y, outcome_transform=None).eval()
    bounds = torch.tensor([[0.0] * D, [1.0] * D], dtype=torch.double)
    nearness = Nearness(bounds, Z[0], 10 * np.eye(D))
    points = torch.as_tensor(np.random.default_rng(0).random((5, 3, D)))
    one = SingleTaskGP(X[0], Y[0], outcome_transform=None).eval()
    values = []
    for each in (model, one):
        base = qLogExpectedImprovement(each, 0.5, SobolQMCNormalSampler(torch.Size([512]), seed=0))
        with torch.no_grad():
            values.append(AnnealedAcquisition(base, nearness)(points))
    torch.testing.assert_close(*values, rtol=0.05, atol=0.2)  # two equal models are as good as one


def test_a_batch_of_a_base_that_does_not_tell_its_points_apart():
    _, model = pair()
    base = qAnalyticProbabilityOfImprovement(model, best_f=BEST)
    acqf = AnnealedAcquisition(base, nearness_pair(None)[1])
    assert acqf(users(POINTS)[:, None]).shape == (40,)
    with pytest.raises(
        SettingError, match=r"q is 2, and the base is a qAnalytic.* sequential=True"
    ):
        acqf(users(POINTS).view(20, 2, D))


def test_where_a_positive_base_has_underflown_the_local_term_leads():
    _, model = pair()
    heading = heading_pair(None)[1]
    base = ExpectedImprovement(model, best_f=1e6)
    acqf = DirectionalAcquisition(base, heading, 0.5)
    X = users(POINTS)[:, None].requires_grad_()
    value = acqf(X)
    (slope,) = torch.autograd.grad(value.sum(), X)
    assert torch.isfinite(value).all() and torch.isfinite(slope).all()
    (alone,) = torch.autograd.grad(heading(X).sum(), X)
    torch.testing.assert_close(slope, 0.5 * alone)


def test_a_confidence_bound_is_taken_in_units_of_the_outcomes():
    """A factor on the outcomes changes nothing in the balance of the two terms."""
    Z, z = told()
    values = []
    for factor in (1.0, 1e4):
        Y = torch.as_tensor(factor * z)[:, None]
        model = SingleTaskGP(torch.as_tensor(Z), Y, outcome_transform=Standardize(1))
        model.eval()
        bounds = torch.tensor([[0.0] * D, [1.0] * D], dtype=torch.double)
        heading = Heading(bounds, Z[-1], [1.0, 0.0, 0.0], 3.0, smoothing=0.03)
        acqf = DirectionalAcquisition(UpperConfidenceBound(model, 4.0), heading, 0.5)
        with torch.no_grad():
            values.append(acqf(torch.as_tensor(POINTS)[:, None]))
    torch.testing.assert_close(values[0] - values[0][0], values[1] - values[1][0])


def test_both_terms_one_over_the_other():
    _, model = pair()
    base = LogExpectedImprovement(model, best_f=BEST, maximize=False)
    heading, nearness = heading_pair(None)[1], nearness_pair(None)[1]
    X = users(POINTS)[:, None]
    with torch.no_grad():
        found = DirectionalAcquisition(AnnealedAcquisition(base, nearness), heading, 0.5)(X)
        by_hand = 0.5 * (base(X) + nearness(X)[:, 0]) + 0.5 * heading(X)[:, 0]
    torch.testing.assert_close(found, by_hand)


def test_single_precision():
    _, model = pair()
    acqf = AnnealedAcquisition(PosteriorMean(model.float()), nearness_pair(None)[1], scale=1.0)
    assert acqf(users(POINTS).float()[:, None]).dtype == torch.float


# optimize_acqf


def annealed(name="qLogEI", centre=(0.9, 0.2, 0.5), size=400.0):
    _, model = pair()
    nearness = Nearness(BOUNDS, np.array(centre), size * np.eye(D))
    return AnnealedAcquisition(mc_bases(model)[name][0], nearness)


GIVEN = {"bounds": BOUNDS, "num_restarts": 3, "raw_samples": 32}


def cube(X):
    return ((X - BOUNDS[0]) / (BOUNDS[1] - BOUNDS[0])).numpy()


def test_optimize_one_point_finds_the_best_of_many():
    _, model = pair()
    base = LogExpectedImprovement(model, best_f=BEST, maximize=False)
    acqf = AnnealedAcquisition(base, nearness_pair(None)[1])
    torch.manual_seed(0)
    X, value = optimize_acqf(acqf, q=1, **GIVEN)
    with torch.no_grad():
        many = acqf(users(np.random.default_rng(1).random((5000, D)))[:, None])
    assert value >= many.max()
    assert np.all(cube(X) >= 0) and np.all(cube(X) <= 1)


@pytest.mark.parametrize("sequential", [False, True])
@pytest.mark.parametrize("name", ["qLogEI", "qEI", "qUCB"])
def test_optimize_a_batch(name, sequential):
    torch.manual_seed(0)
    acqf = annealed(name)
    X, value = optimize_acqf(acqf, q=3, sequential=sequential, **GIVEN)
    assert X.shape == (3, D)
    assert torch.isfinite(value).all()
    assert np.all(np.linalg.norm(cube(X) - [0.9, 0.2, 0.5], axis=1) < 0.5)  # all of them near
    apart = torch.pdist(torch.as_tensor(cube(X)))
    assert torch.all(apart > 1e-3), apart
    assert acqf.X_pending is None


def test_one_after_another_where_the_base_conditions_on_pending_points():
    torch.manual_seed(0)
    X, _ = optimize_acqf(annealed("qMES"), q=2, sequential=True, **GIVEN)
    assert torch.pdist(torch.as_tensor(cube(X))).item() > 1e-3


def test_an_analytic_base_says_itself_that_it_knows_no_pending_points():
    _, model = pair()
    base = LogExpectedImprovement(model, best_f=BEST)
    acqf = AnnealedAcquisition(base, nearness_pair(None)[1])
    with pytest.raises(UnsupportedError, match="do not account for X_pending"):
        optimize_acqf(acqf, q=2, sequential=True, **GIVEN)


def test_optimize_with_fixed_features():
    torch.manual_seed(0)
    X, _ = optimize_acqf(annealed(), q=2, fixed_features={1: 1.5}, **GIVEN)
    assert X[:, 1].tolist() == [1.5, 1.5]
    X, _ = optimize_acqf_mixed(
        annealed(), q=1, fixed_features_list=[{2: 100.0}, {2: 100.5}, {2: 101.0}], **GIVEN
    )
    assert X[0, 2] == 100.5  # the one at the centre
    fixed = FixedFeatureAcquisitionFunction(annealed(), D, [1], [1.5])
    assert torch.isfinite(fixed(X[:, [0, 2]]))


def test_optimize_under_inequality_constraints():
    torch.manual_seed(0)
    both = (torch.tensor([0, 1]), torch.tensor([-1.0, -1.0], dtype=torch.double), -5.0)
    X, _ = optimize_acqf(annealed(), q=2, inequality_constraints=[both], **GIVEN)
    assert torch.all(X[:, 0] + X[:, 1] <= 5.0 + 1e-6)
    assert torch.all(X[:, 0] + X[:, 1] >= 4.0)  # its edge, since the centre lies beyond


# Bad input


def test_a_one_shot_base():
    _, model = pair()
    with pytest.raises(SettingError, match=r"the base is a qKnowledgeGradient, whose batches hold"):
        AnnealedAcquisition(qKnowledgeGradient(model, num_fantasies=2), nearness_pair(None)[1])


class Unknown(torch.nn.Module):
    def forward(self, X):
        return torch.ones(X.shape[:-2], dtype=X.dtype)


def test_a_base_that_nothing_is_known_of():
    nearness = nearness_pair(None)[1]
    with pytest.raises(SettingError, match=r"whether Unknown is a log, .* Give form= one of them"):
        AnnealedAcquisition(Unknown(), nearness)
    X = users(POINTS)[:, None]
    for form, value in (("log", 1.0), ("positive", 0.0)):
        found = AnnealedAcquisition(Unknown(), nearness, form=form)(X)
        torch.testing.assert_close(found, value + nearness(X)[:, 0])
    found = AnnealedAcquisition(Unknown(), nearness, form="linear", scale=4.0)(X)
    torch.testing.assert_close(found, 0.25 + nearness(X)[:, 0])
    with pytest.raises(SettingError, match=r"units of the outcome, .* Give scale= their standard"):
        AnnealedAcquisition(Unknown(), nearness, form="linear")


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"rho": 1.5}, r"rho is 1\.5\. Allowed: 0 to 1, the share of the budget used"),
        ({"rho": math.nan}, r"rho is nan\."),
        ({"rho": 0.5, "form": "logs"}, r"form is 'logs'\. Allowed: 'log', 'positive', 'linear'"),
        ({"rho": 0.5, "form": "linear", "scale": 0.0}, r"scale is 0\.0\. Allowed: a positive"),
    ],
)
def test_bad_settings(given, text):
    _, model = pair()
    base = LogExpectedImprovement(model, best_f=BEST)
    with pytest.raises(SettingError, match=text):
        DirectionalAcquisition(base, heading_pair(None)[1], **given)


def test_columns_without_width():
    flat = torch.tensor([[0.0, 1.0], [1.0, 1.0]])
    with pytest.raises(SettingError, match=r"bounds of column 1 are 1 and 1\. .* out of columns="):
        Nearness(flat, [0.5, 0.5], np.eye(2))
    assert Nearness(flat, [0.5, 0.5], np.eye(1), columns=[0])(torch.ones(1, 2)) == -0.125
    for columns in ([], [0, 0], [2], [-1]):
        with pytest.raises(SettingError, match=r"Allowed: different ones of 0 to 1, at least one"):
            Nearness(flat, [0.5, 0.5], np.eye(1), columns=columns)
