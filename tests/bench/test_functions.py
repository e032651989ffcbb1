"""The benchmark functions: their minima are what we say, and lie nowhere special."""

import importlib.util
import math

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import qmc

from bench import functions

needs_coco = pytest.mark.skipif(
    importlib.util.find_spec("cocoex") is None, reason="coco-experiment is not installed"
)


def polish(problem, start):
    """Nelder-Mead from `start`, with smaller and smaller simplices."""
    x, fun = np.asarray(start, dtype=float), math.inf
    options = {"xatol": 1e-12, "fatol": 0, "maxiter": 5000, "maxfev": 5000}
    for step in (1e-3, 1e-5, 1e-7):
        corners = np.vstack([x, x + step * np.diag(problem.high - problem.low)])
        result = minimize(
            problem, x, method="Nelder-Mead", options={**options, "initial_simplex": corners}
        )
        x, fun = result.x, result.fun
    return x, fun


def unit(problem, x):
    return (x - problem.low) / (problem.high - problem.low)


def test_there_are_fourteen_classics_under_their_names():
    dimensions = [functions.classic(name).d for name in functions.CLASSICS]
    assert len(functions.CLASSICS) == 14
    assert dimensions == [2, 2, 2, 2, 3, 6, 4, 4, 5, 4, 5, 6, 4, 1]
    assert functions.names("classics", 2) == [
        "branin",
        "six-hump-camel",
        "goldstein-price",
        "michalewicz-2",
    ]


@pytest.mark.parametrize("name", functions.CLASSICS)
def test_the_minimum_of_a_classic_is_the_value_at_each_argmin_and_cannot_be_polished(name):
    problem = functions.classic(name)
    scale = max(1.0, abs(problem.minimum))
    for argmin in problem.argmins:
        x, fun = polish(problem, argmin)
        assert problem(argmin) == pytest.approx(problem.minimum, abs=1e-9 * scale)
        assert fun == pytest.approx(problem.minimum, abs=1e-12 * scale)
        assert np.max(np.abs(unit(problem, x) - unit(problem, argmin))) < 1e-6


@pytest.mark.parametrize("name", functions.CLASSICS)
def test_nothing_in_the_box_of_a_classic_is_below_its_minimum(name):
    problem = functions.classic(name)
    box = problem.low + qmc.Sobol(problem.d, seed=1).random(2**12) * (problem.high - problem.low)
    starts = sorted(box, key=problem)[:10]
    polished = [minimize(problem, x, bounds=problem.bounds).fun for x in starts]
    assert min(problem(x) for x in starts) >= problem.minimum
    assert min(polished) >= problem.minimum - 1e-9 * max(1.0, abs(problem.minimum))


@pytest.mark.parametrize("name", functions.CLASSICS)
def test_no_argmin_of_a_classic_lies_in_the_centre_at_a_corner_or_at_the_edge(name):
    problem = functions.classic(name)
    for u in unit(problem, problem.argmins):
        assert np.all(u > 0.02) and np.all(u < 0.98)
        assert np.max(np.abs(u - 0.5)) > 0.08
        assert np.any(np.abs(u - 0.5) < 0.4)


def test_known_values_of_the_formulas():
    # values of the textbook forms, worked by hand or exact at these points
    assert functions.branin(np.array([0.0, 0.0])) == pytest.approx(
        36 + 10 * (1 - 1 / (8 * math.pi)) + 10
    )
    assert functions.six_hump_camel(np.array([1.0, 1.0])) == pytest.approx(4 - 2.1 + 1 / 3 + 1)
    assert functions.goldstein_price(np.array([0.0, 0.0])) == 600.0
    assert functions.rosenbrock(np.zeros(4)) == 3.0
    assert functions.rastrigin(np.full(4, 0.5)) == pytest.approx(4 * 20.25)
    assert functions.styblinski_tang(np.ones(5)) == -25.0
    assert functions.levy(np.full(4, 5.0)) == pytest.approx(
        3 * (1 + 10 * math.sin(2 * math.pi + 1) ** 2) + 1
    )
    assert functions.griewank(np.zeros(6)) == 0.0
    assert functions.ackley(np.full(5, 0.5)) == pytest.approx(
        -20 * math.exp(-0.1) - math.exp(-1) + 20 + math.e
    )


def test_ackley_keeps_its_digits_near_the_minimum():
    assert functions.ackley(np.full(5, 1e-9)) == pytest.approx(4e-9, rel=1e-6)


@pytest.mark.parametrize("d", [1, 2])
def test_the_deceptive_family_hides_its_minimum(d):
    for instance in range(1, 31):
        problem = functions.deceptive_family(d, instance)
        points = qmc.Sobol(d, seed=2).random(2**10)
        values = np.array([problem(x) for x in points])
        solved = values - problem.minimum < functions.DECEPTIVE_SOLVED
        assert np.all(values >= problem.minimum)
        assert np.mean(values < -1) > 0.05  # the shallow basin is met easily
        assert 0.002 < np.mean(solved) < 0.05
        assert problem.minimum == pytest.approx(-4, abs=0.05)


def test_instance_one_is_wang_and_de_freitas():
    problem = functions.deceptive_family(1, 1)
    assert problem([0.1]) == pytest.approx(-2)
    assert problem([0.9]) == pytest.approx(-4)
    assert problem([0.91]) == pytest.approx(-4 * math.exp(-0.5), rel=1e-6)


def test_the_deceptive_family_is_the_same_every_time():
    first, again = functions.deceptive_family(2, 7), functions.deceptive_family(2, 7)
    other = functions.deceptive_family(2, 8)
    assert np.array_equal(first.argmins, again.argmins)
    assert not np.array_equal(first.argmins, other.argmins)


@needs_coco
@pytest.mark.parametrize("d", [2, 5, 10])
def test_bbob_minima_come_from_the_suite(d):
    for number in range(1, 25):
        problem = functions.bbob(number, d, 1)
        # bbob rounds its minima to two digits after the point
        assert problem.minimum == pytest.approx(round(problem.minimum, 2), abs=1e-9)
        x, _ = np.split(np.random.default_rng(number).uniform(-5, 5, (64, d)), [64])
        assert min(problem(a) for a in x) > problem.minimum
        assert np.all(np.abs(problem.argmins) <= 5)


@needs_coco
def test_bbob_leaves_nothing_in_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    functions.bbob(3, 2, 2)
    assert list(tmp_path.iterdir()) == []


@needs_coco
def test_bbob_by_name():
    assert functions.names("bbob") == [f"f{i}" for i in range(1, 25)]
    problem = functions.problem("bbob", "f8", 5, 3)
    assert (problem.suite, problem.name, problem.d, problem.instance) == ("bbob", "f8", 5, 3)


def test_unknown_problems_are_refused():
    with pytest.raises(ValueError, match="instance 16: only 1-15"):
        functions.bbob(1, 2, 16)
    with pytest.raises(ValueError, match="function 25"):
        functions.bbob(25, 2, 1)
    with pytest.raises(ValueError, match="in 4 dimensions"):
        functions.bbob(1, 4, 1)
    with pytest.raises(ValueError, match="no classic is called 'sphere'; there are branin"):
        functions.classic("sphere")
    with pytest.raises(ValueError, match="no suite is called 'soup'"):
        functions.names("soup")
    with pytest.raises(ValueError, match="instances start at 1"):
        functions.deceptive_family(1, 0)


def test_the_random_regret_is_a_median_and_repeats():
    problem = functions.classic("branin")
    box = np.random.default_rng(0).uniform(problem.low, problem.high, (20000, 2))
    values = np.array([problem(x) for x in box]) - problem.minimum
    assert functions.random_regret(problem) == functions.random_regret(problem)
    assert functions.random_regret(problem) == pytest.approx(np.median(values), rel=0.05)
