"""Sobol indices against closed forms, with categories and conditional parameters."""

from __future__ import annotations

import numpy as np
import pytest

from headway.importance import sobol_indices
from headway.parameters import Categorical, Integer, Real
from headway.space import Space


def indices(space, f, count=2048):
    return sobol_indices(f, Space.of(space), count=count, rng=np.random.default_rng(0))


def test_ishigami():
    """f = sin a + 7 sin² b + 0.1 c⁴ sin a on [-π, π]³ (Ishigami and Homma 1990)."""
    a, b = 7.0, 0.1

    def f(Z):
        X = np.pi * (2.0 * Z - 1.0)
        return np.sin(X[:, 0]) * (1.0 + b * X[:, 2] ** 4) + a * np.sin(X[:, 1]) ** 2

    v1 = 0.5 * (1.0 + b * np.pi**4 / 5.0) ** 2
    v2, v13 = a**2 / 8.0, b**2 * np.pi**8 * (1.0 / 18.0 - 1.0 / 50.0)
    v = v1 + v2 + v13
    found = indices([(0.0, 1.0)] * 3, f)
    assert found.first == pytest.approx(np.array([v1, v2, 0.0]) / v, abs=0.03)
    assert found.total == pytest.approx(np.array([v1 + v13, v2, v13]) / v, abs=0.03)
    assert found.order == ["x0", "x1", "x2"]
    assert np.all(found.error < 0.05)


def test_a_category_counts_as_any_parameter():
    """f = i + 3 [c = "w"]: variances of a uniform integer and of three equal shares."""
    space = {"i": Integer(1, 4), "c": Categorical(["u", "v", "w"])}

    def f(Z):
        return 1.0 + 3.0 * Z[:, 0] + 3.0 * (Z[:, 1] == 2.0)

    vi, vc = 15.0 / 12.0, 9.0 * (1 / 3) * (2 / 3)
    found = indices(space, f)
    assert found.first == pytest.approx(np.array([vi, vc]) / (vi + vc), abs=0.02)
    assert found.total == pytest.approx(found.first, abs=0.02)


def test_a_conditional_parameter_counts_where_it_is_active():
    """f = g for c = "on" and 0 else, g uniform on [0, 1]: V = 1/6 - 1/16.

    First-order of c: var of E[f | c] = 1/16; of g: var of E[f | u_g] = var(u_g / 2) = 1/48.
    """
    space = {"c": Categorical(["on", "off"]), "g": Real(0.0, 1.0, when=("c", "on"))}

    def f(Z):
        return np.where(Z[:, 0] == 0.0, Z[:, 1], 0.0)

    v = 1 / 6 - 1 / 16
    found = indices(space, f)
    assert found.first == pytest.approx(np.array([1 / 16, 1 / 48]) / v, abs=0.02)
    assert found.total == pytest.approx(1.0 - np.array([1 / 48, 1 / 16]) / v, abs=0.02)


def test_a_constant_has_no_shares():
    found = indices([(0.0, 1.0)] * 2, lambda Z: np.full(len(Z), 1e9))
    assert np.all(found.total == 0.0) and np.all(found.first == 0.0)


def test_one_parameter_explains_all():
    found = indices([(0.0, 1.0)], lambda Z: np.exp(Z[:, 0]))
    assert found.total == pytest.approx(1.0, abs=0.05)
