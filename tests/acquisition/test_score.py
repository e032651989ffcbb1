"""The score's gradient against differences: acquisitions x local terms x constraints x spaces."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from headway.acquisition.feasibility import log_feasible
from headway.acquisition.improvement import log_ei, log_mes, log_poi, posterior_mean, ucb
from headway.acquisition.local import Heading, Nearness
from headway.acquisition.score import NEAR, Score
from headway.direction.updates import sampled
from headway.direction.vmf import Direction
from headway.space import Space
from headway.surrogate.gp import GP, Kernel
from tests.cases import SPACES, bowl, points

TERMS = {
    "ei": partial(log_ei, best=-0.5),
    "poi": partial(log_poi, best=-0.5),
    "ucb": partial(ucb, kappa=2.0),
    "mes": partial(log_mes, minima=np.array([-1.4, -1.1, -0.8])),
    "mean": posterior_mean,
}
LOCALS = ["none", "nearness", "heading", "sampled"]
WITH_REALS = ["continuous", "line", "wide", "mixed", "conditional"]


def gp_of(space, *, seed=0, n=15, kernel="matern52", noise=1e-6):
    F = space.embed(points(space, n, seed=seed))
    y = np.sin(3.0 * F).sum(axis=1) + bowl(F)
    lengthscales = np.linspace(0.4, 0.9, space.d)[list(space.groups)]
    return GP.given(
        Kernel(kernel, lengthscales, 1.3),
        F,
        (y - y.mean()) / y.std(),
        noise=np.full(n, noise),
        tau=1.0,
    )


def local_of(space, kind, *, seed=3):
    if kind == "none":
        return None
    rng = np.random.default_rng(seed)
    centre = points(space, 1, seed=seed)[0]
    columns = np.array(space.number_columns, dtype=np.intp)
    c = len(columns)
    if kind == "nearness":
        B = rng.standard_normal((c, c))
        return Nearness(space, centre, columns, 3.0 * (B @ B.T + np.eye(c)))
    G = rng.standard_normal((40, c))
    G /= np.linalg.norm(G, axis=1, keepdims=True)
    density = Direction(G[0], 2.5) if kind == "heading" else sampled(G[0], G)
    return Heading(space, centre, columns, density.log_density, 0.05)


def score_of(space, term, local, constraints, weights=(1.0, 1.0), **kind):
    parts = [(gp_of(space, **kind), TERMS[term])] if term else []
    parts += [(gp_of(space, seed=10 + i, **kind), log_feasible) for i in range(constraints)]
    return Score(space, tuple(parts), local_of(space, local), *weights)


def assert_gradient(score, Z, *, h=1e-6, rtol=2e-4):
    """At the active continuous columns, where gradients count."""
    value, gradient = score.with_gradient(Z)
    np.testing.assert_allclose(value, score.value(Z), rtol=1e-9, atol=1e-9)
    use = score.space.active(Z) & score.space.continuous
    assert use.any()
    for j in np.flatnonzero(score.space.continuous):
        step = h * np.eye(score.space.d)[j]
        slope = (score.value(Z + step) - score.value(Z - step)) / (2 * h)
        rows = use[:, j]
        size = 1.0 + np.abs(value[rows])
        np.testing.assert_allclose(
            gradient[rows, j] / size, slope[rows] / size, rtol=rtol, atol=1e-5
        )


@pytest.mark.parametrize("space", WITH_REALS)
@pytest.mark.parametrize("constraints", [0, 2])
@pytest.mark.parametrize("local", LOCALS)
@pytest.mark.parametrize("term", TERMS)
def test_the_gradient_equals_differences(space, constraints, local, term):
    space = SPACES[space]
    score = score_of(space, term, local, constraints, weights=(0.7, 0.4))
    Z = np.clip(points(space, 12, seed=8), np.where(space.continuous, 1e-3, -1.0), None)
    assert_gradient(score, Z)


@pytest.mark.parametrize("space", WITH_REALS)
@pytest.mark.parametrize("local", LOCALS)
def test_also_when_only_feasibility_is_known(space, local):
    space = SPACES[space]
    assert_gradient(score_of(space, None, local, 2), points(space, 9, seed=8))


@pytest.mark.parametrize("kernel", ["matern32", "matern12", "rbf"])
@pytest.mark.parametrize("space", ["continuous", "mixed"])
def test_also_with_the_other_kernels(kernel, space):
    space = SPACES[space]
    assert_gradient(score_of(space, "ei", "nearness", 1, kernel=kernel), points(space, 9, seed=8))


@pytest.mark.parametrize("term", TERMS)
def test_also_with_pending_points_believed(term):
    space = SPACES["continuous"]
    gp = gp_of(space).extended(space.embed(points(space, 3, seed=20)), noise=np.full(3, 1e-6))
    assert_gradient(Score(space, ((gp, TERMS[term]),)), points(space, 9, seed=8))


@pytest.mark.parametrize("local", ["nearness", "heading", "sampled"])
@pytest.mark.parametrize("seed", range(6))
def test_where_the_centre_has_other_parameters_active_than_the_point(local, seed):
    """A column that is inactive at the centre pulls nowhere."""
    space = SPACES["conditional"]
    score = Score(space, (), local_of(space, local, seed=seed), 1.0, 1.0)
    Z = points(space, 40, seed=8)
    _, gradient = score.with_gradient(Z)
    anchor = score.local.centre if local == "nearness" else score.local.origin
    both = space.active(Z) & space.active(anchor[None])
    np.testing.assert_array_equal(gradient[~both], 0.0)
    assert_gradient(score, Z)


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("local", LOCALS)
def test_the_score_is_the_weighted_sum_of_its_terms(space, local):
    space = SPACES[space]
    if local in ("heading", "sampled") and not space.number_columns:
        pytest.skip("no direction among categories")
    score = score_of(space, "ei", local, 1, weights=(0.3, 0.6))
    Z = points(space, 7, seed=8)
    F = space.embed(Z)
    expected = 0.3 * sum(term(*gp.predict(F))[0] for gp, term in score.parts)
    if score.local is not None:
        expected = expected + 0.6 * score.local(Z)[0]
    np.testing.assert_allclose(score.value(Z), expected, rtol=1e-12)
    np.testing.assert_allclose(score.with_gradient(Z)[0], expected, rtol=1e-9)


def test_a_weight_of_zero_leaves_the_acquisition_bit_for_bit():
    space = SPACES["mixed"]
    Z = points(space, 9, seed=8)
    plain, weighted = (
        score_of(space, "ei", "none", 1),
        score_of(space, "ei", "heading", 1, (1.0, 0.0)),
    )
    np.testing.assert_array_equal(plain.value(Z), weighted.value(Z))
    for ours, theirs in zip(plain.with_gradient(Z), weighted.with_gradient(Z), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_the_share_of_the_local_term():
    space = SPACES["continuous"]
    z = points(space, 1, seed=8)[0]
    score = score_of(space, "ei", "nearness", 0, (1.0, 0.25))
    assert score.local_share(z) == pytest.approx(0.25 * score.local(z[None])[0][0])
    base = score_of(space, "ei", "none", 0).value(z[None])[0]
    assert score.value(z[None])[0] == pytest.approx(base + score.local_share(z))
    assert score_of(space, "ei", "none", 0).local_share(z) is None


@pytest.mark.parametrize("term", TERMS)
def test_on_top_of_the_data_and_far_from_them_all_is_finite(term):
    space = SPACES["continuous"]
    score = score_of(space, term, "nearness", 1, noise=1e-8)
    Z = np.vstack([points(space, 15), points(space, 15) + 1e-9, [[0.0, 0.0], [1.0, 1.0]]])
    value, gradient = score.with_gradient(Z)
    assert np.all(np.isfinite(value)) and np.all(np.isfinite(gradient))


def test_few_data_are_all_near():
    score = score_of(SPACES["continuous"], "ei", "none", 1)
    assert score.near(points(SPACES["continuous"], 4)) is score


def test_past_a_thousand_data_a_climb_is_led_by_the_near_ones():
    space = Space.of([(0.0, 1.0)] * 2)
    rng = np.random.default_rng(0)
    F = rng.random((NEAR + 200, 2))
    z = np.sin(5.0 * F).sum(axis=1)
    gp = GP.given(Kernel("matern52", np.full(2, 0.1), 1.0), F, z, noise=np.full(len(z), 1e-4))
    score = Score(space, ((gp, TERMS["ei"]),))
    Z = 0.4 + 0.1 * rng.random((6, 2))
    near = score.near(Z)
    assert len(near.parts[0][0].z) == NEAR
    for ours, exact in zip(near.with_gradient(Z), score.with_gradient(Z), strict=True):
        np.testing.assert_allclose(ours, exact, rtol=1e-3, atol=1e-3)
