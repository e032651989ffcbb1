"""What a fit chooses by evidence, when it fits anew, and that its cache only saves time."""

from __future__ import annotations

import json
import logging
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from scipy.stats import multivariate_normal

import headway.surrogate.gp as gp_module
import headway.surrogate.model as model_module
from headway.errors import SettingError
from headway.surrogate import Data, Model, Surrogate, fit_model
from headway.surrogate.evidence import PRIOR_WIDTH, Evidence, Hyper, maximise, prior_mean
from headway.surrogate.factor import NotPositiveDefinite
from headway.surrogate.gp import GP, Kernel
from headway.surrogate.kernels import PROFILES
from headway.surrogate.model import NOISE_FLOOR, SUBSET, _due, _subset
from headway.surrogate.warping import Warp
from tests.cases import SPACES, bowl, points

PLAIN = Surrogate(compress=False, noise=0.0)


def made(n=30, d=2, seed=0, function=bowl, noise=0.0):
    rng = np.random.default_rng(seed)
    F = rng.random((n, d))
    return Data(F, tuple(range(d)), function(F) + noise * rng.standard_normal(n), None)


def heavy(F):
    """A valley with walls that rise a thousandfold: what compression is for."""
    return np.exp(8.0 * bowl(F))


def plain(state):
    """As the next step is handed it."""
    return json.loads(json.dumps(state, allow_nan=False))


# What is chosen


def test_values_with_high_walls_are_compressed_and_smooth_ones_are_not():
    assert fit_model(Surrogate(), made(40, function=heavy)).state["compress"]
    F = made(40).F
    wave = np.sin(5.0 * F[:, 0]) + np.cos(4.0 * F[:, 1])
    assert not fit_model(Surrogate(), Data(F, (0, 1), wave, None)).state["compress"]


@pytest.mark.parametrize("compress", [True, False])
def test_compression_that_is_asked_for_is_not_chosen(compress):
    for data in (made(40, function=heavy), made(40)):
        assert fit_model(Surrogate(compress=compress), data).state["compress"] is compress


def test_the_evidence_that_chooses_is_of_the_values_themselves():
    """With the Jacobian it is the density of y, whatever the warp: a change of units shifts it."""
    data = made(20)
    for compress in (True, False):
        surrogate = replace(PLAIN, compress=compress)
        state = fit_model(surrogate, data).state
        warp = Warp.of(data.y, compress=compress)
        z, hyper = warp.forward(data.y), Hyper.from_json(state["hyper"])
        K = Kernel("matern52", np.array(hyper.lengthscales), hyper.scale)(data.F, data.F)
        K[np.diag_indices(20)] += NOISE_FLOOR
        law = multivariate_normal(np.zeros(20), K + 1.0)  # the constant mean integrated, tau = 1
        mean = np.sum(np.linalg.solve(K, z)) / (np.sum(np.linalg.inv(K)) + 1.0)
        at_mean = multivariate_normal(np.full(20, mean), K).logpdf(z) - 0.5 * mean**2
        away = (np.log(hyper.lengthscales) - prior_mean(2)) / PRIOR_WIDTH
        slope = np.sum(warp.log_slope(data.y))
        assert state["evidence"] == pytest.approx(at_mean + slope - 0.5 * away @ away, rel=1e-6)
        # The mean at its optimum or integrated: they differ by a log-determinant, not by more.
        assert law.logpdf(z) == pytest.approx(at_mean, abs=10.0)
    half = fit_model(PLAIN, replace(data, y=0.5 * data.y)).state["evidence"]
    assert half - fit_model(PLAIN, data).state["evidence"] == pytest.approx(20 * np.log(2.0))


def test_noise_is_found_where_it_is_and_not_where_it_is_not():
    noisy = fit_model(Surrogate(compress=False), made(40, noise=0.3))
    assert noisy.state["noisy"]
    deviation = np.sqrt(noisy.state["hyper"]["noise"]) * noisy.warp.scale
    assert deviation == pytest.approx(0.3, rel=0.4)
    assert not fit_model(Surrogate(), made(40)).state["noisy"]


def test_failures_of_a_quiet_function_are_not_taken_for_noise():
    data = made(60, seed=3)
    imputed = data.F[:, 0] + data.F[:, 1] > 1.3
    y = np.where(imputed, data.y.max() + 2.0 * np.ptp(data.y), data.y)
    assert 10 < imputed.sum() < 30
    state = None
    for n in range(10, 61, 5):
        part = replace(data, F=data.F[:n], y=y[:n], imputed=imputed[:n])
        state = plain(fit_model(Surrogate(), part, state=state).state)
        assert not state["noisy"]


def test_noise_once_found_is_given_up_when_the_data_speak_against_it():
    data = made(40)
    state = fit_model(Surrogate(compress=False), made(40, noise=0.3)).state
    after = fit_model(Surrogate(compress=False), data, state={**state, "n": 39})
    assert not after.state["noisy"]


def test_noise_that_is_known_is_not_fitted():
    data = replace(made(40, noise=0.3), variance=np.full(40, 0.09))
    model = fit_model(Surrogate(), data)
    assert not model.state["noisy"]
    told = fit_model(Surrogate(noise=0.09), made(40, noise=0.3))
    assert not told.state["noisy"]
    np.testing.assert_allclose(model.gp.noise, told.gp.noise)
    assert np.median(np.sqrt(told.gp.noise) * told.warp.scale) == pytest.approx(0.3, rel=0.3)


def test_noise_is_looked_for_whatever_the_number_told_at_a_time():
    """Four at a time from five on: no count of them is a multiple of four."""
    data, state = made(41, noise=0.3), None
    for n in range(5, 42, 4):
        part = replace(data, F=data.F[:n], y=data.y[:n])
        state = plain(fit_model(Surrogate(compress=False), part, state=state).state)
    assert state["noisy"]


def test_noise_that_is_told_after_all_is_not_fitted_any_more():
    state = fit_model(Surrogate(compress=False), made(40, noise=0.3)).state
    assert state["noisy"]
    data = replace(made(41, noise=0.3), variance=np.full(41, 0.09))
    assert not fit_model(Surrogate(compress=False), data, state=plain(state)).state["noisy"]


@pytest.mark.parametrize("n", range(1, 8))
def test_with_few_values_nothing_is_chosen(n):
    state = fit_model(Surrogate(), made(n, noise=0.3)).state
    assert state["compress"] and not state["noisy"]


@pytest.mark.parametrize("name", sorted(PROFILES))
@pytest.mark.parametrize("priors", [True, False])
def test_the_fit_predicts_points_it_has_not_seen(name, priors):
    data, new = made(40), made(200, seed=1)
    model = fit_model(Surrogate(kernel=name, priors=priors), data)
    y = model.warp.backward(model.gp.predict(new.F)[0])
    assert np.sqrt(np.mean((y - new.y) ** 2)) < (0.15 if name == "matern12" else 0.03)


def test_each_parameter_has_its_own_length_scale_or_all_have_one():
    F = np.random.default_rng(0).random((40, 3))
    data = Data(F, (0, 1, 2), np.sin(9.0 * F[:, 0]) + 0.1 * F[:, 1], None)
    ard = fit_model(PLAIN, data).lengthscales
    assert ard[0] < 0.5 * ard[1] and ard[1] < ard[2]
    assert len(set(fit_model(replace(PLAIN, ard=False), data).lengthscales.tolist())) == 1


def test_a_category_has_one_length_scale_for_all_its_choices():
    space = SPACES["mixed"]
    Z = points(space, 30)
    model = fit_model(Surrogate(), Data(space.embed(Z), space.groups, bowl(Z), None))
    assert len(model.lengthscales) == 3
    np.testing.assert_array_equal(model.gp.kernel.lengthscales[2:], model.lengthscales[2])


def test_the_paper_has_one_length_scale_and_no_prior():
    paper = Surrogate.paper()
    assert (paper.kernel, paper.ard, paper.priors, paper.compress, paper.noise) == (
        "rbf",
        False,
        False,
        False,
        0.0,
    )
    assert fit_model(paper, made(20)).gp.tau == 0.0


def test_a_constraint_is_not_compressed_and_has_noise_of_its_own():
    assert Surrogate(kernel="rbf").for_constraint() == Surrogate(kernel="rbf", compress=False)
    assert Surrogate(noise=0.5).for_constraint().noise == "auto"
    assert Surrogate(noise=0).for_constraint().noise == 0


# The hyper-parameters


def test_the_maximum_of_evidence_is_one():
    data = made(30, d=3)
    z = Warp.of(data.y, compress=False).forward(data.y)
    evidence = Evidence.of(
        "matern52", data.F, z, groups=(0, 1, 2), ard=True, priors=True, noise=np.full(30, 1e-8)
    )
    hyper, value = maximise(evidence, evidence.starts(None, thorough=True))
    theta = evidence.theta(hyper)
    assert evidence.value(theta)[0] == pytest.approx(value)
    rng = np.random.default_rng(0)
    for size in (0.1, 0.5, 2.0):
        for _ in range(10):
            other = np.clip(theta + size * rng.standard_normal(4), *np.array(evidence.bounds()).T)
            assert evidence.value(other)[0] <= value + 0.01


def test_hyper_parameters_survive_json():
    hyper = Hyper((0.1, 1 / 3), 2.5, 1e-6)
    assert Hyper.from_json(plain(hyper.to_json())) == hyper


def test_a_warm_start_ends_no_lower_than_a_cold_one_by_much():
    before = fit_model(PLAIN, made(29))
    data = made(30)
    warm = fit_model(PLAIN, data, state=plain(before.state))
    cold = fit_model(PLAIN, data)
    assert warm.state["evidence"] >= cold.state["evidence"] - 0.1


# Past 500 points


def test_few_points_are_all_used():
    data = made(SUBSET, d=3)
    np.testing.assert_array_equal(_subset(data.F, data.y), np.arange(SUBSET))


def test_a_subset_holds_the_best_and_the_newest_and_fills_the_space():
    data = made(900, d=2)
    rows = _subset(data.F, data.y)
    assert len(rows) == len(set(rows.tolist())) == SUBSET
    assert set(np.argsort(data.y)[:200]) <= set(rows.tolist())
    assert set(range(800, 900)) <= set(rows.tolist())
    # The rest lies so that no point is far from all that were chosen.
    chosen = cdist(data.F, data.F[rows]).min(axis=1).max()
    drawn = [
        cdist(data.F, data.F[np.random.default_rng(seed).choice(900, SUBSET, False)])
        .min(axis=1)
        .max()
        for seed in range(5)
    ]
    assert chosen < min(drawn)


def test_a_subset_of_points_told_again_and_again_has_no_row_twice():
    F = np.random.default_rng(0).integers(0, 5, (700, 1)) / 4.0
    rows = _subset(F, np.random.default_rng(1).standard_normal(700))
    assert len(rows) == len(set(rows.tolist()))


def test_the_hyper_parameters_come_from_the_subset_and_the_moments_from_all(monkeypatch):
    monkeypatch.setattr(model_module, "SUBSET", 60)
    monkeypatch.setattr(model_module, "_SUBSET_BEST", 20)
    monkeypatch.setattr(model_module, "_SUBSET_NEWEST", 10)
    data = made(150)
    model = fit_model(PLAIN, data)
    rows = _subset(data.F, data.y)
    assert len(rows) == 60
    z = model.warp.forward(data.y)
    evidence = Evidence.of(
        "matern52",
        data.F[rows],
        z[rows],
        groups=(0, 1),
        ard=True,
        priors=True,
        noise=np.full(60, NOISE_FLOOR),
    )
    hyper, _ = maximise(evidence, evidence.starts(None, thorough=True))
    np.testing.assert_allclose(model.lengthscales, hyper.lengthscales, rtol=1e-12)
    assert len(model.gp.z) == 150
    np.testing.assert_allclose(model.gp.predict(data.F)[0], z, atol=1e-5)


# When it fits anew, and the chain of factors


def test_it_fits_at_every_point_up_to_a_hundred_and_then_at_every_twentieth_part():
    fitted, fits = 0, []
    for n in range(1, 300):
        if _due(n, fitted):
            fitted = n
            fits.append(n)
    assert fits[:100] == list(range(1, 101))
    later = [105, 110, 115, 120, 126, 132, 138, 144, 151, 158, 165, 173, 181, 190, 199]
    assert fits[100:] == [*later, 208, 218, 228, 239, 250, 262, 275, 288]
    assert not _due(50, 50)


def test_between_fits_the_hyper_parameters_and_the_warp_stay():
    data = made(124, function=heavy)
    first = fit_model(Surrogate(), replace(data, F=data.F[:120], y=data.y[:120]))
    later = fit_model(Surrogate(), data, state=plain(first.state))
    assert later.state == first.state and later.warp == first.warp
    assert later.gp.kernel.scale == first.gp.kernel.scale
    assert len(later.gp.factor.A) == 120 and later.gp.factor.n == 124
    np.testing.assert_allclose(later.gp.predict(data.F)[0], later.warp.forward(data.y), atol=1e-3)


@pytest.mark.parametrize("y", [-1e5, 1e200])
def test_a_value_far_out_does_not_wait_for_the_next_fit(y):
    data = made(122)
    first = fit_model(PLAIN, replace(data, F=data.F[:120], y=data.y[:120]))
    later = fit_model(PLAIN, replace(data, y=np.append(data.y[:121], y)), state=first.state)
    assert later.state["n"] == 122
    assert np.all(np.isfinite(later.gp.predict(data.F)[0]))
    compressed = replace(PLAIN, compress=True)
    first = fit_model(compressed, replace(data, F=data.F[:120], y=data.y[:120]))
    later = fit_model(compressed, replace(data, y=np.append(data.y[:121], y)), state=first.state)
    assert later.state["n"] == (122 if y < 0 else 120)  # a huge value is squeezed as it is
    assert np.all(np.isfinite(later.gp.predict(data.F)[0]))


def same(one: Model, other: Model, F):
    """Bit for bit."""
    for ours, theirs in zip(
        one.gp.predict_with_gradient(F, 2), other.gp.predict_with_gradient(F, 2), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)
    assert one.state == other.state and one.notes == other.notes


@pytest.mark.parametrize("start", [92, 118])
@pytest.mark.parametrize("jumps", [(1,), (3, 1, 2)])
def test_without_its_cache_a_chain_of_fits_is_the_same_bit_for_bit(start, jumps):
    data = made(start + 18, function=heavy, noise=0.01)
    X = np.random.default_rng(5).random((9, 2))
    cache, state, n, step = {}, None, start, 0
    while n <= start + 18:
        part = replace(data, F=data.F[:n], y=data.y[:n])
        kept = fit_model(Surrogate(), part, state=state, cache=cache)
        same(kept, fit_model(Surrogate(), part, state=state), X)
        same(kept, fit_model(Surrogate(), part, state=state, cache={"gp": None}), X)
        state = plain(kept.state)
        n, step = n + jumps[step % len(jumps)], step + 1


def test_past_five_hundred_points_too():
    data = made(545)
    hyper = fit_model(PLAIN, replace(data, F=data.F[:60], y=data.y[:60])).state["hyper"]
    state = {"hyper": hyper, "compress": False, "noisy": False, "n": 530, "evidence": 0.0}
    X, cache = np.random.default_rng(5).random((9, 2)), {}
    for n in (530, 531, 540, 545):
        part = replace(data, F=data.F[:n], y=data.y[:n])
        kept = fit_model(PLAIN, part, state=state, cache=cache)
        assert len(kept.gp.factor.A) == 530
        same(kept, fit_model(PLAIN, part, state=state), X)


def test_a_cache_of_other_data_is_not_believed():
    data, other = made(110), made(110, seed=7)
    cache: dict = {}
    fit_model(PLAIN, other, cache=cache)
    X = np.random.default_rng(5).random((9, 2))
    state = plain(fit_model(PLAIN, replace(data, F=data.F[:108], y=data.y[:108])).state)
    same(fit_model(PLAIN, data, state=state, cache=cache), fit_model(PLAIN, data, state=state), X)


def test_a_value_that_changes_is_seen_through_the_cache():
    """Failed trials count as the worst value, which a later trial may change."""
    data = made(112)
    cache: dict = {}
    part = replace(data, F=data.F[:110], y=data.y[:110])
    state = plain(fit_model(PLAIN, part, cache=cache).state)
    changed = data.y.copy()
    changed[3] += 5.0
    data = replace(data, y=changed)
    X = np.random.default_rng(5).random((9, 2))
    same(fit_model(PLAIN, data, state=state, cache=cache), fit_model(PLAIN, data, state=state), X)


def test_the_arguments_are_not_changed():
    data, state = made(20), plain(fit_model(PLAIN, made(19)).state)
    before = json.dumps(state), data.F.copy(), data.y.copy()
    fit_model(Surrogate(), data, state=state, cache={})
    assert json.dumps(state) == before[0]
    np.testing.assert_array_equal(data.F, before[1])
    np.testing.assert_array_equal(data.y, before[2])


# What can go wrong


@pytest.mark.parametrize("surrogate", [Surrogate(), Surrogate.paper(), Surrogate(noise=0.1)])
@pytest.mark.parametrize(
    "y",
    [
        [3.0],
        [3.0, 3.0],
        [0.1] * 12,
        [0.0] * 9 + [1.0],
        [1e300, -1e300, 3e299, 2e300],
        [1e-300, 2e-300, 5e-300],
        [1.0, 1.0 + 1e-15, 1.0 - 1e-15, 1.0],
        [-1e9, 0.0, 1e-9],
    ],
    ids=["one", "two equal", "equal", "a step", "huge", "tiny", "rounding", "far apart"],
)
def test_values_of_every_kind_give_a_model(surrogate, y):
    y = np.array(y)
    F = np.random.default_rng(0).random((len(y), 2))
    model = fit_model(surrogate, Data(F, (0, 1), y, None))
    mu, sigma, d_mu, d_sigma = model.gp.predict_with_gradient(
        np.random.default_rng(1).random((5, 2)), 2
    )
    for moments in (mu, sigma, d_mu, d_sigma):
        assert np.all(np.isfinite(moments))
    mean, sd = model.in_units(float(mu[0]), float(sigma[0]))
    assert np.isfinite(mean) and sd >= 0.0
    plain(model.state)


def test_points_told_twice_give_a_model_and_their_mean():
    F = np.repeat(np.linspace(0, 1, 6)[:, None], 2, axis=0)
    y = np.sin(3 * F[:, 0]) + np.tile([0.1, -0.1], 6)
    model = fit_model(Surrogate(compress=False), Data(F, (0,), y, None))
    mu, _ = model.gp.predict(F[::2])
    np.testing.assert_allclose(model.warp.backward(mu), y.reshape(6, 2).mean(axis=1), atol=0.05)


def refuse_all(*args):
    raise NotPositiveDefinite("kernel matrix of 20 points, outputscale 1")


def refuse_first(monkeypatch):
    """A kernel matrix that no jitter mends, once."""
    real, calls = gp_module.factorise, []

    def factorise(K, scale):
        calls.append(len(K))
        return refuse_all() if len(calls) == 1 else real(K, scale)

    monkeypatch.setattr(gp_module, "factorise", factorise)


def test_a_fit_that_fails_is_logged_and_noted_and_replaced(monkeypatch, caplog):
    data = made(20)
    refuse_first(monkeypatch)
    with caplog.at_level(logging.WARNING, logger="headway"):
        model = fit_model(Surrogate(turn=False), data)
    assert "the fit failed (kernel matrix of 20 points" in caplog.text
    assert model.notes[0].startswith("fit failed: kernel matrix of 20 points")
    # What is reported is what is used.
    np.testing.assert_array_equal(model.gp.kernel.lengthscales, model.lengthscales)
    np.testing.assert_allclose(model.lengthscales, np.exp(prior_mean(2)))
    mu, sigma = model.gp.predict(data.F)
    assert np.all(np.isfinite(mu)) and np.corrcoef(mu, model.warp.forward(data.y))[0, 1] > 0.9
    assert np.all(sigma > 0)


def test_evidence_that_no_start_can_factorise_is_logged_and_noted(monkeypatch, caplog):
    hopeless = lambda self, theta: (-1e10, np.zeros(len(theta)))  # noqa: E731
    monkeypatch.setattr(Evidence, "value", hopeless)
    with caplog.at_level(logging.WARNING, logger="headway"):
        model = fit_model(replace(PLAIN, turn=False), made(20))
    assert "no start of the evidence could be factorised" in caplog.text
    assert any("prior" in note for note in model.notes)
    np.testing.assert_allclose(model.lengthscales, np.exp(prior_mean(2)))


def test_jitter_is_logged_and_noted(monkeypatch, caplog):
    data = made(20)
    data = replace(data, F=np.repeat(data.F[:10], 2, axis=0), y=np.repeat(data.y[:10], 2))
    state = fit_model(PLAIN, made(20)).state  # no evidence is needed, only a factor
    monkeypatch.setattr(model_module, "NOISE_FLOOR", 1e-30)
    with caplog.at_level(logging.INFO, logger="headway"):
        model = fit_model(PLAIN, data, state=state)
    assert "needed jitter" in caplog.text
    assert model.gp.factor.jitter > 0
    assert model.notes == (f"jitter {model.gp.factor.jitter:.0e}",)


def test_a_good_fit_has_no_notes():
    assert fit_model(Surrogate(), made(30)).notes == ()


def test_a_made_up_value_is_believed_loosely():
    data = made(20)
    failed = np.arange(20) == 7
    y = np.where(failed, np.max(data.y) + 1.0, data.y)
    loose = fit_model(PLAIN, replace(data, y=y, imputed=failed))
    taken = fit_model(PLAIN, replace(data, y=y), state=loose.state)
    new = made(200, seed=1)
    errors = [
        np.mean((m.warp.backward(m.gp.predict(new.F)[0]) - new.y) ** 2) for m in (loose, taken)
    ]
    assert errors[0] < errors[1]
    assert loose.gp.predict(data.F)[1][7] > 10 * taken.gp.predict(data.F)[1][7]


def test_believed_points_take_variance_and_move_no_mean():
    model = fit_model(Surrogate(), made(20))
    new, X = np.array([[0.31, 0.87], [0.5, 0.5]]), np.random.default_rng(2).random((30, 2))
    believed = model.believing(new)
    np.testing.assert_array_equal(believed.gp.predict(X)[0], model.gp.predict(X)[0])
    assert np.all(believed.gp.predict(X)[1] <= model.gp.predict(X)[1] + 1e-12)
    assert np.all(believed.gp.predict(new)[1] < 1e-3)
    assert model.believing(np.empty((0, 2))) is model


@pytest.mark.parametrize("compress", [True, False])
def test_mean_and_spread_are_given_in_units_of_the_values(compress):
    data = made(30)
    model = fit_model(Surrogate(compress=compress), data)
    row = int(np.argmin(data.y))
    mu, _ = model.gp.predict(data.F[row : row + 1])
    mean, sd = model.in_units(float(mu[0]), 0.1)
    assert mean == pytest.approx(data.y[row], abs=1e-3)
    assert sd == pytest.approx(0.1 * model.warp.scale, rel=1e-6)


# The setting


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (
            {"kernel": "matern"},
            r"kernel is 'matern'; it can be one of matern52, matern32, matern12, rbf",
        ),
        ({"ard": 1}, r"ard is 1; it is True or False"),
        ({"priors": None}, r"priors is None; it is True or False"),
        ({"compress": "always"}, r"compress is 'always'; it is True, False or 'evidence'"),
        ({"noise": -1.0}, r"noise is -1.0; it is a variance >= 0 \(0: deterministic\) or 'auto'"),
        ({"noise": float("nan")}, r"noise is nan"),
        ({"noise": float("inf")}, r"noise is inf"),
        ({"noise": True}, r"noise is True"),
        ({"noise": "none"}, r"noise is 'none'"),
        ({"noise": None}, r"noise is None"),
        ({"noise": 1j}, r"noise is 1j"),
        ({"noise": [0.1]}, r"noise is \[0.1\]"),
    ],
)
def test_bad_settings_say_what_is_allowed(change, text):
    with pytest.raises(SettingError, match=text):
        Surrogate(**change)


@settings(max_examples=30)
@given(
    st.builds(
        Surrogate,
        kernel=st.sampled_from(sorted(PROFILES)),
        ard=st.booleans(),
        priors=st.booleans(),
        compress=st.sampled_from([True, False, "evidence"]),
        noise=st.one_of(st.just("auto"), st.floats(0, 1e6)),
    )
)
def test_a_setting_survives_json_and_can_be_compared(surrogate):
    again = Surrogate.from_json(plain(surrogate.to_json()))
    assert again == surrogate and hash(again) == hash(surrogate)
    assert eval(repr(surrogate)) == surrogate
    with pytest.raises(AttributeError):
        surrogate.ard = False


def test_the_default_is_the_one_of_the_design():
    assert Surrogate() == Surrogate("matern52", True, True, "evidence", "auto")


def test_the_gp_is_immutable():
    gp = fit_model(Surrogate(), made(10)).gp
    assert isinstance(gp, GP)
    with pytest.raises(AttributeError):
        gp.mean = 0.0
