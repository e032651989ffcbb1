"""The helpers of `headway.botorch`: constraints from a fitted model's posterior samples."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("botorch")

from botorch.acquisition.objective import ScalarizedPosteriorTransform  # noqa: E402
from botorch.models import ModelListGP, SingleTaskGP  # noqa: E402
from botorch.models.transforms import Normalize, Standardize  # noqa: E402
from botorch.models.transforms.outcome import Log  # noqa: E402
from gpytorch.kernels import MaternKernel, RBFKernel, ScaleKernel  # noqa: E402

from headway.acquisition import local  # noqa: E402
from headway.botorch import Heading, heading_of, nearness_of  # noqa: E402
from headway.direction import vmf  # noqa: E402
from headway.direction.belief import Belief  # noqa: E402
from headway.direction.heading import advance, directions  # noqa: E402
from headway.direction.updates import RULES, sampled  # noqa: E402
from headway.errors import SettingError  # noqa: E402
from headway.policy import Policy  # noqa: E402
from headway.space import Space  # noqa: E402
from headway.surrogate.gp import GP, Kernel  # noqa: E402

pytestmark = pytest.mark.torch

D = 2
LOW, HIGH = np.array([-5.0, 100.0]), np.array([10.0, 101.0])
BOUNDS = torch.as_tensor(np.array([LOW, HIGH]))
SCALES, NOISE = np.array([0.25, 0.6]), 1e-4
OPTIMUM = np.array([0.7, 0.3])


def told(n=10):
    Z = np.random.default_rng(0).random((n, D))
    y = -np.sum((Z - OPTIMUM) ** 2 / SCALES, axis=1)
    return Z, (y - y.mean()) / y.std(ddof=1)


def model_of(Z, y, *, kernel="matern52", transformed=True):
    """BoTorch's model of values to maximise, its length-scales those of the cube."""
    X = torch.as_tensor(LOW + Z * (HIGH - LOW))
    stationary = MaternKernel(nu=2.5, ard_num_dims=D) if kernel == "matern52" else RBFKernel(D)
    model = SingleTaskGP(
        X,
        torch.as_tensor(y)[:, None],
        train_Yvar=torch.full((len(y), 1), NOISE, dtype=torch.double),
        covar_module=ScaleKernel(stationary),
        input_transform=Normalize(D, bounds=BOUNDS) if transformed else None,
        outcome_transform=None,
    ).double()
    stationary.lengthscale = torch.as_tensor(SCALES * (1.0 if transformed else HIGH - LOW))
    model.covar_module.outputscale = 1.3
    return X, model


@pytest.fixture
def scene():
    Z, y = told()
    X, model = model_of(Z, y)
    return Z, X, model


@pytest.mark.filterwarnings("ignore::headway.direction.updates.DivergenceWarning")
@pytest.mark.parametrize("rule", ["exact", "projected", "printed"])
def test_the_direction_is_carried_on_by_the_rule(scene, rule):
    Z, X, model = scene
    state, heading = {}, None
    for n in (6, 7, 8, 8, 10):
        heading = heading_of(model, X[:n], BOUNDS, past=heading, rule=rule, seed=n)
        G = directions(heading.belief.minimisers, Z[n - 1])
        found, state = advance(RULES[rule], state, Z[:n], G)
        np.testing.assert_allclose(heading.thetas[0].numpy(), found.theta, atol=1e-12)
        assert heading.kappa == pytest.approx(found.kappa, rel=1e-9)
        assert heading.state["n"] == n
    assert heading.offset.origin.numpy() == pytest.approx(Z[-1])


def test_the_first_direction_is_that_of_the_last_two_points(scene):
    Z, X, model = scene
    first = heading_of(model, X, BOUNDS, rule=lambda past, belief: past, seed=0)
    step = Z[-1] - Z[-2]
    np.testing.assert_allclose(first.thetas[0].numpy(), step / np.linalg.norm(step))
    assert first.kappa == 1.0


def test_asks_of_a_batch_share_a_direction(scene):
    _, X, model = scene
    first = heading_of(model, X, BOUNDS, seed=0)
    again = heading_of(model, X, BOUNDS, past=first, seed=1)
    assert again.state == first.state
    assert torch.equal(again.thetas, first.thetas)


def test_the_rule_without_a_family(scene):
    Z, X, model = scene
    heading = heading_of(model, X, BOUNDS, rule="sampled", seed=0)
    step = (Z[-1] - Z[-2]) / np.linalg.norm(Z[-1] - Z[-2])
    density = sampled(step, directions(heading.belief.minimisers, Z[-1]))
    np.testing.assert_allclose(heading.thetas.numpy(), density.points, atol=1e-12)
    points = np.random.default_rng(1).random((20, D))
    ours = local.Heading(
        Space.of([(0.0, 1.0)] * D),
        Z[-1],
        np.arange(D),
        density.log_density,
        0.1 * float(np.exp(np.mean(np.log(SCALES)))),
    )
    theirs = heading(torch.as_tensor(LOW + points * (HIGH - LOW)))
    np.testing.assert_allclose(theirs.numpy(), ours(points)[0], rtol=1e-9, atol=1e-9)


def test_the_belief_is_headway_s_own(scene):
    """The same posterior under both: where samples have their best, by mean and spread.

    1000 draws each: a mean's standard error is a thirtieth of the spread; four of them, twice."""
    Z, X, model = scene
    _, y = told()
    gp = GP.given(Kernel("matern52", SCALES, 1.3), Z, -y, noise=np.full(len(y), NOISE))
    model.mean_module.constant = torch.tensor(-gp.mean)
    theirs = nearness_of(model, X, BOUNDS, tau=0.5, draws=1000, seed=0).belief
    rng = np.random.default_rng(3)
    places = np.concatenate([theirs.minimisers, rng.random((200, D))])
    ours = Belief.of(places, gp.sample(places, 1000, rng))
    spread = ours.minimisers.std(axis=0)
    gap = np.abs(theirs.minimisers.mean(axis=0) - ours.minimisers.mean(axis=0))
    assert np.all(gap < 8 * spread / np.sqrt(1000) + 0.02), (theirs, ours)
    np.testing.assert_allclose(theirs.minimisers.std(axis=0), spread, rtol=0.25, atol=0.02)


@pytest.mark.parametrize("tau", [0.0, 0.4, 1.0])
def test_nearness_has_the_shape_of_the_belief_and_the_size_of_the_budget(scene, tau):
    Z, X, model = scene
    near = nearness_of(model, X, BOUNDS, tau=tau, seed=0)
    with torch.no_grad():
        best = int(model.posterior(X).mean.argmax())
    np.testing.assert_allclose(near.offset.origin.numpy(), Z[best])
    shape = near.belief.shape(Z[best], np.arange(D), SCALES)
    size = Policy(local="belief", schedule="linear").annealed_size(tau)
    np.testing.assert_allclose(near.precision.numpy(), size * np.linalg.inv(shape), rtol=1e-6)
    wider = nearness_of(model, X, BOUNDS, tau=tau, size=(1.0, 10.0), seed=0)
    assert torch.linalg.det(wider.precision) < torch.linalg.det(near.precision)


def test_the_sign_is_said_by_maximize():
    """A model of -y to minimise has the same best point and the same belief, draws apart."""
    Z, y = told()
    X, up = model_of(Z, y)
    _, down = model_of(Z, -y)
    wanted = nearness_of(up, X, BOUNDS, tau=0.5, draws=1000, seed=0)
    mirrored = nearness_of(down, X, BOUNDS, tau=0.5, maximize=False, draws=1000, seed=0)
    torch.testing.assert_close(wanted.offset.origin, mirrored.offset.origin)
    centres = [near.belief.minimisers.mean(axis=0) for near in (wanted, mirrored)]
    np.testing.assert_allclose(*centres, atol=0.05)
    assert np.linalg.norm(centres[0] - OPTIMUM) < 0.15
    opposite = nearness_of(up, X, BOUNDS, tau=0.5, maximize=False, seed=0)
    assert np.linalg.norm(opposite.belief.minimisers.mean(axis=0) - OPTIMUM) > 0.3


def test_length_scales_are_read_through_the_input_transform():
    Z, y = told()
    smoothing = []
    for transformed in (True, False):
        X, model = model_of(Z, y, transformed=transformed)
        smoothing.append(heading_of(model, X, BOUNDS, seed=0).smoothing)
    X, model = model_of(Z, y)
    given = torch.as_tensor(SCALES * (HIGH - LOW))
    smoothing.append(heading_of(model, X, BOUNDS, lengthscales=given, seed=0).smoothing)
    X, model = model_of(Z, y, kernel="rbf")
    smoothing.append(heading_of(model, X, BOUNDS, seed=0).smoothing)
    assert smoothing == pytest.approx([0.1 * np.sqrt(SCALES[0] * SCALES[1])] * 4)


def test_the_default_model_of_botorch():
    """A squared-exponential kernel without a scale, whose samples are next to singular."""
    Z, y = told(30)
    X = torch.as_tensor(LOW + Z * (HIGH - LOW))
    model = SingleTaskGP(
        X,
        torch.as_tensor(1e3 * y)[:, None],
        input_transform=Normalize(D, bounds=BOUNDS),
        outcome_transform=Standardize(1),
    )
    near = nearness_of(model, X, BOUNDS, tau=1.0, seed=0)
    assert np.linalg.norm(near.belief.minimisers.mean(axis=0) - OPTIMUM) < 0.15


@pytest.mark.filterwarnings("ignore:A not p.d.")  # BoTorch draws these samples
def test_a_posterior_that_is_not_gaussian():
    Z, y = told()
    X = torch.as_tensor(LOW + Z * (HIGH - LOW))
    model = SingleTaskGP(
        X,
        torch.as_tensor(np.exp(y))[:, None],
        input_transform=Normalize(D, bounds=BOUNDS),
        outcome_transform=Log(),
    )
    model.likelihood.noise = NOISE
    near = nearness_of(model, X, BOUNDS, tau=0.5, places=32, seed=0)
    assert np.linalg.norm(near.belief.minimisers.mean(axis=0) - OPTIMUM) < 0.35


def test_seeds(scene):
    _, X, model = scene
    first, second, other = (
        nearness_of(model, X, BOUNDS, tau=0.5, seed=seed).precision for seed in (1, 1, 2)
    )
    assert torch.equal(first, second)
    assert not torch.equal(first, other)
    torch.manual_seed(7)
    one = nearness_of(model, X, BOUNDS, tau=0.5).precision
    state = torch.random.get_rng_state()
    torch.manual_seed(7)
    assert torch.equal(nearness_of(model, X, BOUNDS, tau=0.5).precision, one)
    nearness_of(model, X, BOUNDS, tau=0.5, seed=3)  # leaves torch's own numbers alone
    assert torch.equal(torch.random.get_rng_state(), state)


def test_columns_that_are_no_numbers_keep_told_values():
    """The second column is a code of which only 100 and 101 exist."""
    Z, y = told()
    Z[:, 1] = np.round(Z[:, 1])
    X, model = model_of(Z, y)
    for make in (
        lambda **given: heading_of(model, X, BOUNDS, columns=[0], seed=0, **given),
        lambda **given: nearness_of(model, X, BOUNDS, tau=0.5, columns=[0], seed=0, **given),
    ):
        seen = []
        model.posterior, kept = watch(model.posterior, seen), model.posterior
        term = make()
        model.posterior = kept
        assert {v for X_ in seen for v in X_[:, 1].tolist()} == {100.0, 101.0}
        here = torch.tensor([[0.0, 100.0], [0.0, 101.0]], dtype=torch.double)
        assert len(set(term(here).tolist())) == 1
        assert term.belief.minimisers.shape[1] == 1


def watch(function, seen):
    def watched(X, **given):
        seen.append(X)
        return function(X, **given)

    return watched


def test_with_one_point_told_the_heading_is_neutral(scene):
    _, X, model = scene
    heading = heading_of(model, X[:1], BOUNDS, seed=0)
    assert heading.kappa == 0.0
    assert torch.all(heading(X) == 0.0)
    later = heading_of(model, X[:2], BOUNDS, past=heading, seed=0)
    assert later.kappa > 0.0


def test_outcomes_that_are_made_one_by_a_transform():
    Z, y = told()
    X, _ = model_of(Z, y)
    Y = torch.as_tensor(np.stack([y, y[::-1]], axis=1).copy())
    model = SingleTaskGP(X, Y, input_transform=Normalize(D, bounds=BOUNDS), outcome_transform=None)
    with pytest.raises(
        SettingError, match=r"has the shape \(10, 2\)\. Allowed: \(10, 1\), one out"
    ):
        nearness_of(model, X, BOUNDS, tau=0.5, lengthscales=[3.0, 0.5])
    first = ScalarizedPosteriorTransform(torch.tensor([1.0, 0.0], dtype=torch.double))
    given = {"posterior_transform": first, "lengthscales": [3.0, 0.5]}
    near = nearness_of(model, X, BOUNDS, tau=0.5, seed=0, **given)
    assert np.linalg.norm(near.belief.minimisers.mean(axis=0) - OPTIMUM) < 0.3


# Bad input


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"rule": "exakt"}, r"rule is 'exakt'\. Allowed: 'printed', 'printed-2d', 'exact'"),
        ({"anchor": "first"}, r"anchor is 'first'\. Allowed: 'last', 'best'"),
        ({"columns": [2]}, r"columns are \[2\]\. Allowed: different ones of 0 to 1"),
    ],
)
def test_bad_settings_of_a_heading(scene, given, text):
    _, X, model = scene
    with pytest.raises(SettingError, match=text):
        heading_of(model, X, BOUNDS, **given)


def test_bad_points_and_models(scene):
    _, X, model = scene
    with pytest.raises(SettingError, match=r"tau is 1\.1\. Allowed: 0 to 1, the share of the bud"):
        nearness_of(model, X, BOUNDS, tau=1.1)
    with pytest.raises(
        SettingError, match=r"X is of shape \(2,\) and bounds of \(2, 2\)\. Allowed"
    ):
        nearness_of(model, X[0], BOUNDS, tau=0.5)
    with pytest.raises(SettingError, match=r"X is of shape \(10, 2\) and bounds of \(2, 3\)"):
        nearness_of(model, X, torch.ones(2, 3), tau=0.5)
    several = ModelListGP(model)
    with pytest.raises(SettingError, match=r"length-scales of ModelListGP are none, where 2 are n"):
        nearness_of(several, X, BOUNDS, tau=0.5)
    assert nearness_of(several, X, BOUNDS, tau=0.5, lengthscales=[3.0, 0.5]).belief is not None


def test_a_heading_of_one_s_own():
    heading = Heading(BOUNDS, [0.5, 0.5], [0.0, 1.0], 2.0, smoothing=0.0)
    ahead = torch.tensor([[2.5, 100.9]], dtype=torch.double)
    behind = torch.tensor([[2.5, 100.1]], dtype=torch.double)
    assert heading(ahead).item() == pytest.approx(0.0)
    assert heading(behind).item() == pytest.approx(-4.0)
    direction = vmf.Direction(np.array([0.0, 1.0]), 2.0)
    difference = direction.log_pdf(np.array([[0.0, 1.0], [0.0, -1.0]]))
    assert heading(ahead) - heading(behind) == pytest.approx(difference[0] - difference[1])


def test_without_botorch_the_error_names_the_extra():
    code = (
        "import sys\nsys.modules['torch'] = None\nimport headway\n"
        "try:\n    headway.botorch\nexcept ImportError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 'pip install "headway[botorch]"' in done.stdout
