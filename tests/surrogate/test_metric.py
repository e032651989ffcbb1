"""The full metric: gradients, invariances, when evidence turns the axes and when it leaves them."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from headway.surrogate import Data, Surrogate, fit_model
from headway.surrogate.evidence import Evidence, Hyper
from headway.surrogate.gp import GP, Kernel
from headway.surrogate.metric import (
    Turned,
    categories,
    fresh_starts,
    is_worth_trying,
    maximise,
    numbers,
)

QUIET = Surrogate(noise=0.0)
GROUPS = (0, 2, 1, 1, 1)  # two numbers, and a category of three choices between them


def rotation(d, seed=0):
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((d, d)))[0]


def valley(F, axes, steepness=1e4):
    """A quadratic that is steep along the first axis."""
    W = (F - 0.4) @ axes.T
    weights = np.ones(F.shape[1])
    weights[0] = steepness
    return W**2 @ weights


def made(n, d, seed=0, axes=None, steepness=1e4):
    F = np.random.default_rng(seed).random((n, d))
    y = valley(F, np.eye(d) if axes is None else axes, steepness)
    return Data(F, tuple(range(d)), y, None)


def mixed(n=14, noise=None, seed=1):
    rng = np.random.default_rng(seed)
    F = np.column_stack([rng.random((n, 2)), np.eye(3)[rng.integers(3, size=n)] / np.sqrt(2)])
    z = rng.standard_normal(n)
    base = Evidence.of("matern52", F, z, groups=GROUPS, ard=True, priors=True, noise=noise)
    return Turned.of(base, F, GROUPS), F


@pytest.mark.parametrize("noise", [None, np.full(14, 1e-4)])
def test_slopes_are_those_of_differences(noise):
    turned, _ = mixed(noise=noise)
    A = np.array([[3.0, 1.0], [-0.5, 1.5]])
    tail = np.array([0.2, 0.3] if noise is not None else [0.2, 0.3, np.log(0.05)])
    _, by_A, by_tail = turned.value(A, tail)
    h = 1e-6
    for i, j in np.ndindex(2, 2):
        step = np.zeros((2, 2))
        step[i, j] = h
        slope = (turned.value(A + step, tail)[0] - turned.value(A - step, tail)[0]) / (2 * h)
        assert by_A[i, j] == pytest.approx(slope, rel=1e-5, abs=1e-6)
    for i in range(len(tail)):
        step = np.zeros(len(tail))
        step[i] = h
        slope = (turned.value(A, tail + step)[0] - turned.value(A, tail - step)[0]) / (2 * h)
        assert by_tail[i] == pytest.approx(slope, rel=1e-5, abs=1e-6)


def test_a_diagonal_metric_has_the_evidence_of_its_length_scales():
    turned, _ = mixed(noise=np.full(14, 1e-4))
    theta = np.log([0.4, 2.0, 0.7, 1.3])  # the two numbers, the category, s2
    straight = turned.base.value(theta[[0, 2, 1, 3]])[0]  # parameters 0, 1 (category), 2
    value, _, _ = turned.value(np.diag(np.exp(-theta[:2])), theta[2:])
    assert value == pytest.approx(straight, rel=1e-12)


def test_evidence_does_not_change_when_the_axes_turn():
    n, d = 15, 3
    rng = np.random.default_rng(2)
    F, z, A = rng.random((n, d)), rng.standard_normal(n), rng.standard_normal((d, d))
    Q, R = rotation(d, 1), rotation(d, 2)
    groups, tail = tuple(range(d)), np.array([0.1])
    values = []
    for G, B in ((F, A), (F @ Q.T, A @ Q.T), (F, R @ A)):
        base = Evidence.of(
            "matern52", G, z, groups=groups, ard=True, priors=True, noise=np.full(n, 1e-6)
        )
        values.append(Turned.of(base, G, groups).value(B, tail)[0])
    np.testing.assert_allclose(values, values[0], rtol=1e-10)


def test_features_are_told_apart():
    assert numbers(GROUPS) == 2
    assert categories(GROUPS) == [1]
    assert numbers((0, 1, 2)) == 3
    assert categories((0, 1, 2)) == []


def test_fresh_starts_find_the_axes_of_a_quadratic():
    axes = rotation(3, 4)
    F = np.random.default_rng(0).random((40, 3)) - 0.4
    gradients = 2.0 * (F @ axes.T * np.array([1e4, 1.0, 1.0])) @ axes
    straight, steep = fresh_starts(np.full(3, 0.5), gradients)
    np.testing.assert_allclose(straight, np.eye(3) / 0.5)
    longest = steep[np.argmax(np.linalg.norm(steep, axis=1))]
    assert abs(longest @ axes[0]) / np.linalg.norm(longest) == pytest.approx(1.0, abs=1e-6)


def fitted(data, surrogate=QUIET):
    """As a run fits: point by point, each fit handed the last one's plain numbers."""
    state = None
    for n in range(4, len(data.y) + 1):
        part = replace(data, F=data.F[:n], y=data.y[:n])
        model = fit_model(surrogate, part, state=state)
        state = json.loads(json.dumps(model.state, allow_nan=False))
    return model


def test_evidence_turns_the_axes_where_a_valley_runs_aslant():
    axes = rotation(2, 3)
    data = made(24, 2, axes=axes)
    model, straight = fitted(data), fitted(data, replace(QUIET, turn=False))
    assert model.state["turned"] and not straight.state["turned"]
    assert model.state["evidence"] > straight.state["evidence"] + 5.0
    fresh = np.random.default_rng(9).random((200, 2))
    truth = model.warp.forward(valley(fresh, axes))
    error = np.median(np.abs(model.gp.posterior_mean(fresh) - truth))
    z = straight.warp.forward(valley(fresh, axes))
    assert error < 0.5 * np.median(np.abs(straight.gp.posterior_mean(fresh) - z))


def test_axes_that_are_right_are_left_alone():
    turned = [fitted(made(20, 3, seed=seed)).state["turned"] for seed in range(3)]
    assert turned == [False] * 3


def test_many_angles_need_many_points():
    """The price of the angles grows with their number, and with few points outweighs all gain."""
    assert is_worth_trying(10, (0, 1)) and not is_worth_trying(10, (0, 1, 2, 3, 4, 5))
    assert is_worth_trying(120, tuple(range(10))) and not is_worth_trying(400, tuple(range(10)))
    assert not is_worth_trying(100, (0,)) and not is_worth_trying(100, (0, 1, 1, 1))
    state = fitted(made(12, 6, axes=rotation(6))).state
    assert not state["turned"]


@pytest.mark.parametrize("off", [{"turn": False}, {"ard": False}])
def test_it_can_be_switched_off(off):
    model = fitted(made(24, 2, axes=rotation(2, 3)), replace(QUIET, **off))
    assert model.gp.kernel.metric is None
    assert not any("turned" in kind for kind in model.state["kinds"])


def test_the_hyper_parameters_survive_json():
    hyper = Hyper((0.5, 0.25), 1.5, 0.0, ((2.0, 0.1), (0.0, 4.0)))
    assert Hyper.from_json(json.loads(json.dumps(hyper.to_json()))) == hyper
    assert "A" not in Hyper((0.5,), 1.0, 0.0).to_json()


def test_the_metric_found_is_handed_on_as_singular_values_and_axes():
    data = made(20, 2, axes=rotation(2, 3), steepness=100.0)
    z = (data.y - np.mean(data.y)) / np.std(data.y)
    base = Evidence.of(
        "matern52", data.F, z, groups=(0, 1), ard=True, priors=True, noise=np.full(20, 1e-8)
    )
    turned = Turned.of(base, data.F, (0, 1))
    A, _, value = maximise(turned, [(np.diag([2.0, 2.0]), np.array([0.0]))])
    rows = A @ A.T
    assert abs(rows[0, 1]) < 1e-9 * np.trace(rows)
    assert rows[0, 0] > rows[1, 1]
    assert value > turned.value(np.diag([2.0, 2.0]), np.array([0.0]))[0] - 0.5 * np.log(
        20
    )  # one angle


@pytest.mark.parametrize("kernel", ["matern52", "matern32", "rbf"])
def test_a_process_with_a_metric_is_one_of_turned_features(kernel):
    rng = np.random.default_rng(5)
    F, X, z = rng.random((12, 3)), rng.random((7, 3)), rng.standard_normal(12)
    A = rng.standard_normal((3, 3)) * 2.0
    noise = np.full(12, 1e-6)
    metric = Kernel(kernel, 1.0 / np.linalg.norm(A, axis=0), 1.3, A)
    plain = Kernel(kernel, np.ones(3), 1.3)
    one = GP.given(metric, F, z, noise=noise, tau=1.0)
    other = GP.given(plain, F @ A.T, z, noise=noise, tau=1.0)
    np.testing.assert_allclose(one.predict(X), other.predict(X @ A.T), rtol=1e-8, atol=1e-8)
    _, _, d_mu, d_sigma = one.predict_with_gradient(X, 3)
    h = 1e-6
    for j in range(3):
        step = h * np.eye(3)[j]
        up, down = one.predict(X + step), one.predict(X - step)
        np.testing.assert_allclose(d_mu[:, j], (up[0] - down[0]) / (2 * h), rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(d_sigma[:, j], (up[1] - down[1]) / (2 * h), rtol=1e-4, atol=1e-5)
