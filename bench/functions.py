"""Test functions with known minima: shifted classics, a deceptive family, and bbob.

Notation: x: (d,) a point of the box [low, high]; u: (d,) the same point in the unit cube; f* the
minimum. The regret of a value y is y - f*, floored at 1e-8 where it is compared.
Each classic is moved inside its usual box, x -> f(x - s), so that no minimum lies in the centre or
at a corner, where a design or a guess would find it for nothing. Values of f* are those of the
formulas as written here, to 14 digits; the tests polish them again.
The deceptive family has a broad, shallow basin and a narrow, deep one, after the function of
Wang and de Freitas (2014, "Theoretical analysis of Bayesian optimisation with unknown Gaussian
process hyper-parameters"). bbob is read from `coco-experiment` (Hansen et al. 2021).
"""

from __future__ import annotations

import contextlib
import math
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.stats import qmc

Array = npt.NDArray[np.float64]

REGRET_FLOOR = 1e-8  # below it a difference says more about rounding than about a search
RANDOM_POINTS = 4096  # a power of two, as Sobol points want it
MULTIMODAL = (3, 4, *range(15, 25))  # bbob's multimodal functions
BBOB_INSTANCES = range(1, 16)  # the instances for development; the rest are kept unseen
DECEPTIVE_SOLVED = 1.0  # half of the gap between the two basins: only the deep one is below it


@dataclass(frozen=True, slots=True)
class Problem:
    """A function on a box whose minimum is known."""

    suite: str  # "classics", "deceptive" or "bbob"
    name: str
    instance: int
    low: Array  # (d,)
    high: Array  # (d,)
    minimum: float
    function: Callable[[Array], float]
    argmins: Array | None = None  # (k, d) all global minima, where they are known

    @property
    def d(self) -> int:
        """The number of inputs."""
        return len(self.low)

    @property
    def bounds(self) -> list[tuple[float, float]]:
        """The box as (low, high) pairs."""
        return [(float(a), float(b)) for a, b in zip(self.low, self.high, strict=True)]

    def __call__(self, x: npt.ArrayLike) -> float:
        """The function's value at x: (d,)."""
        return float(self.function(np.asarray(x, dtype=float)))


def random_regret(problem: Problem) -> float:
    """The regret of a random point: the median over scrambled Sobol points."""
    points = qmc.Sobol(problem.d, seed=0).random(RANDOM_POINTS)
    box = problem.low + points * (problem.high - problem.low)
    return float(np.median([problem(x) for x in box])) - problem.minimum


# --- the classics ---------------------------------------------------------------------------


def branin(x: Array) -> float:  # (2,)
    """Branin: three equal minima in a curved valley."""
    a = x[1] - 5.1 / (4 * math.pi**2) * x[0] ** 2 + 5 / math.pi * x[0] - 6
    return float(a**2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x[0]) + 10)


def six_hump_camel(x: Array) -> float:  # (2,)
    """Six-hump camel: six minima, two of them global."""
    a, b = x
    return float((4 - 2.1 * a**2 + a**4 / 3) * a**2 + a * b + (4 * b**2 - 4) * b**2)


def goldstein_price(x: Array) -> float:  # (2,)
    """Goldstein-Price: values over six orders of magnitude."""
    a, b = x
    inner = 19 - 14 * a + 3 * a**2 - 14 * b + 6 * a * b + 3 * b**2
    outer = 18 - 32 * a + 12 * a**2 + 48 * b - 36 * a * b + 27 * b**2
    return float((1 + (a + b + 1) ** 2 * inner) * (30 + (2 * a - 3 * b) ** 2 * outer))


def michalewicz(x: Array) -> float:  # (d,)
    """Michalewicz: steep valleys between plateaus (m = 10)."""
    i = np.arange(1, len(x) + 1)
    return float(-np.sum(np.sin(x) * np.sin(i * x**2 / math.pi) ** 20))


_HARTMANN_ALPHA = np.array([1.0, 1.2, 3.0, 3.2])
_HARTMANN3_A = np.array([[3.0, 10, 30], [0.1, 10, 35], [3.0, 10, 30], [0.1, 10, 35]])
_HARTMANN3_P = 1e-4 * np.array(
    [[3689, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381, 5743, 8828]]
)
_HARTMANN6_A = np.array(
    [
        [10, 3, 17, 3.5, 1.7, 8],
        [0.05, 10, 17, 0.1, 8, 14],
        [3, 3.5, 1.7, 10, 17, 8],
        [17, 8, 0.05, 10, 0.1, 14],
    ]
)
_HARTMANN6_P = 1e-4 * np.array(
    [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
)


def hartmann3(x: Array) -> float:  # (3,)
    """Hartmann-3: four Gaussian wells."""
    wells = np.exp(-np.sum(_HARTMANN3_A * (x - _HARTMANN3_P) ** 2, axis=1))
    return float(-_HARTMANN_ALPHA @ wells)


def hartmann6(x: Array) -> float:  # (6,)
    """Hartmann-6: four Gaussian wells."""
    wells = np.exp(-np.sum(_HARTMANN6_A * (x - _HARTMANN6_P) ** 2, axis=1))
    return float(-_HARTMANN_ALPHA @ wells)


def rosenbrock(x: Array) -> float:  # (d,)
    """Rosenbrock: a long curved valley with a flat floor."""
    return float(np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2))


def levy(x: Array) -> float:  # (d,)
    """Levy: a wavy bowl."""
    w = 1 + (x - 1) / 4
    first = math.sin(math.pi * w[0]) ** 2
    middle = np.sum((w[:-1] - 1) ** 2 * (1 + 10 * np.sin(math.pi * w[:-1] + 1) ** 2))
    last = (w[-1] - 1) ** 2 * (1 + math.sin(2 * math.pi * w[-1]) ** 2)
    return float(first + middle + last)


def ackley(x: Array) -> float:  # (d,)
    """Ackley: a flat, rippled plain with one funnel."""
    root = math.sqrt(float(np.mean(x**2)))
    ripple = math.exp(float(np.mean(np.cos(2 * math.pi * x))))
    # expm1 keeps the digits of 20 - 20 exp(-0.2 root) near the minimum
    return -20 * math.expm1(-0.2 * root) + (math.e - ripple)


def rastrigin(x: Array) -> float:  # (d,)
    """Rastrigin: a bowl with a regular lattice of local minima."""
    return float(np.sum(x**2 - 10 * np.cos(2 * math.pi * x) + 10))


def styblinski_tang(x: Array) -> float:  # (d,)
    """Styblinski-Tang: 2^d minima of unequal depth."""
    return float(np.sum(x**4 - 16 * x**2 + 5 * x) / 2)


def griewank(x: Array) -> float:  # (d,)
    """Griewank: a wide bowl under fine ripples."""
    i = np.arange(1, len(x) + 1)
    return float(1 + np.sum(x**2) / 4000 - np.prod(np.cos(x / np.sqrt(i))))


_SHEKEL_BETA = np.array([1, 2, 2, 4, 4, 6, 3, 7, 5, 5]) / 10
_SHEKEL_C = np.array(
    [
        [4, 1, 8, 6, 3, 2, 5, 8, 6, 7],
        [4, 1, 8, 6, 7, 9, 3, 1, 2, 3.6],
        [4, 1, 8, 6, 3, 2, 5, 8, 6, 7],
        [4, 1, 8, 6, 7, 9, 3, 1, 2, 3.6],
    ]
).T


def shekel(x: Array) -> float:  # (4,)
    """Shekel (m = 10): ten narrow wells on a plain."""
    return float(-np.sum(1 / (np.sum((x - _SHEKEL_C) ** 2, axis=1) + _SHEKEL_BETA)))


def deceptive(x: Array) -> float:  # (1,)
    """A slope that leads away from the narrow global minimum."""
    (a,) = x
    wide = 0.7 * math.exp(-(((a - 0.25) / 0.25) ** 2))
    deep = math.exp(-(((a - 0.8) / 0.03) ** 2))
    return float(-wide - deep)


@dataclass(frozen=True, slots=True)
class _Classic:
    function: Callable[[Array], float]
    low: float | tuple[float, ...]
    high: float | tuple[float, ...]
    shift: tuple[float, ...]  # (d,) in shares of the box's width
    minimum: float
    argmins: tuple[tuple[float, ...], ...]  # before the shift


_CLASSICS = {
    "branin": _Classic(
        branin,
        (-5.0, 0.0),
        (10.0, 15.0),
        (-0.03, 0.05),
        10 / (8 * math.pi),
        ((-math.pi, 12.275), (math.pi, 2.275), (3 * math.pi, 2.475)),
    ),
    "six-hump-camel": _Classic(
        six_hump_camel,
        (-3.0, -2.0),
        (3.0, 2.0),
        (0.11, -0.08),
        -1.0316284534898774,
        ((0.08984201, -0.71265640), (-0.08984201, 0.71265640)),
    ),
    "goldstein-price": _Classic(goldstein_price, -2.0, 2.0, (-0.13, 0.09), 3.0, ((0.0, -1.0),)),
    "michalewicz-2": _Classic(
        michalewicz, 0.0, math.pi, (-0.09, 0.13), -1.8013034100985537, ((2.2029055, math.pi / 2),)
    ),
    "hartmann-3": _Classic(
        hartmann3,
        0.0,
        1.0,
        (0.12, 0.09, -0.10),
        -3.862779787332663,
        ((0.11458888, 0.55564890, 0.85254698),),
    ),
    "hartmann-6": _Classic(
        hartmann6,
        0.0,
        1.0,
        (0.08, 0.11, 0.07, -0.06, 0.10, -0.09),
        -3.3223680114155152,
        ((0.2016895, 0.1500107, 0.4768740, 0.2753324, 0.3116516, 0.6573005),),
    ),
    "rosenbrock-4": _Classic(
        rosenbrock, -5.0, 10.0, (0.10, -0.13, 0.06, 0.21), 0.0, ((1.0, 1.0, 1.0, 1.0),)
    ),
    "levy-4": _Classic(levy, -10.0, 10.0, (-0.17, 0.12, 0.20, -0.09), 0.0, ((1.0, 1.0, 1.0, 1.0),)),
    "ackley-5": _Classic(
        ackley, -32.768, 32.768, (0.17, -0.11, 0.08, -0.21, 0.13), 0.0, ((0.0,) * 5,)
    ),
    "rastrigin-4": _Classic(rastrigin, -5.12, 5.12, (-0.14, 0.19, 0.09, -0.22), 0.0, ((0.0,) * 4,)),
    "styblinski-tang-5": _Classic(
        styblinski_tang,
        -5.0,
        5.0,
        (0.10, 0.05, 0.17, -0.06, 0.23),
        -195.83082851885706,
        ((-2.903534027771177,) * 5,),
    ),
    "griewank-6": _Classic(
        griewank, -600.0, 600.0, (0.13, -0.19, 0.07, 0.22, -0.10, 0.16), 0.0, ((0.0,) * 6,)
    ),
    "shekel-4": _Classic(
        shekel,
        0.0,
        10.0,
        (0.15, -0.12, 0.07, 0.21),
        -10.536443153483532,
        ((4.00074687, 3.99950948, 4.00074687, 3.99950948),),
    ),
    "deceptive-1": _Classic(deceptive, 0.0, 1.0, (0.04,), -1.0055370744912557, ((0.79995613,),)),
}
CLASSICS = tuple(_CLASSICS)


def classic(name: str) -> Problem:
    """One of the 14 classics, shifted."""
    if name not in _CLASSICS:
        raise ValueError(f"no classic is called {name!r}; there are {', '.join(CLASSICS)}")
    plain = _CLASSICS[name]
    d = len(plain.shift)
    low, high = np.broadcast_to(plain.low, d) * 1.0, np.broadcast_to(plain.high, d) * 1.0
    move = np.array(plain.shift) * (high - low)

    def shifted(x: Array) -> float:
        return plain.function(x - move)

    argmins = np.array(plain.argmins) + move
    return Problem("classics", name, 0, low, high, plain.minimum, shifted, argmins)


# --- the deceptive family -------------------------------------------------------------------

_BROAD_SHARE, _DEEP_SHARE = 0.5, 0.05  # of the cube, as far as 2.5 widths from each centre


def _width(share: float, d: int) -> float:
    """The Gaussian width whose ball of 2.5 widths fills this share of the unit cube."""
    ball = math.pi ** (d / 2) / math.gamma(d / 2 + 1)
    return float((share / ball) ** (1 / d)) / 2.5


def deceptive_family(d: int, instance: int) -> Problem:
    """-2 N(x; broad) - 4 N(x; deep): the shallow basin is ten times as likely to be met.

    Instance 1 in one dimension is Wang and de Freitas's own (0.1 wide at 0.1, 0.01 at 0.9). The
    others draw the two centres, well apart, and the widths within a factor 1.25.
    """
    if instance < 1:
        raise ValueError(f"instance {instance}: instances start at 1")
    widths = np.array([_width(_BROAD_SHARE, d), _width(_DEEP_SHARE, d)])
    if (d, instance) == (1, 1):
        broad, deep = np.array([0.1]), np.array([0.9])
    else:
        rng = np.random.default_rng([d, instance])
        widths = widths * 1.25 ** rng.uniform(-1, 1, 2)
        broad = deep = np.full(d, 0.5)
        # apart by 4 widths of the broad one, as far as the cube has room for it
        while math.dist(broad, deep) < min(4 * widths[0], 0.7 * math.sqrt(d)):
            broad, deep = rng.uniform(0.08, 0.92, (2, d))

    def function(x: Array) -> float:
        near = np.array([np.sum((x - broad) ** 2), np.sum((x - deep) ** 2)])
        wells = np.exp(-0.5 * near / widths**2)
        return float(-2 * wells[0] - 4 * wells[1])

    polished = minimize(function, deep, method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 0})
    box = np.zeros(d), np.ones(d)
    argmins = polished.x[None, :]
    return Problem(
        "deceptive", "wang-freitas", instance, *box, float(polished.fun), function, argmins
    )


# --- bbob -----------------------------------------------------------------------------------


@cache
def _suite() -> Any:
    import cocoex  # only the benchmark needs it

    years = f"instances: {BBOB_INSTANCES[0]}-{BBOB_INSTANCES[-1]}"
    return cocoex.Suite("bbob", years, "")


def _bbob_argmin(problem: Any) -> Array:  # (d,)
    """The suite's own minimiser; it can only be had through a file in the working directory."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        problem._best_parameter("print")
        text = Path("._bbob_problem_best_parameter.txt").read_text(encoding="utf-8")
    return np.array(text.split(), dtype=float)


def bbob(function: int, d: int, instance: int) -> Problem:
    """Function 1-24 of bbob in d of 2, 3, 5, 10, 20, 40, instance 1-15."""
    if instance not in BBOB_INSTANCES:
        raise ValueError(f"bbob instance {instance}: only 1-15 are for development")
    if not 1 <= function <= 24:
        raise ValueError(f"bbob function {function}: there are 1-24")
    if d not in (2, 3, 5, 10, 20, 40):
        raise ValueError(f"bbob in {d} dimensions: there are 2, 3, 5, 10, 20, 40")
    problem = _suite().get_problem_by_function_dimension_instance(function, d, instance)
    low, high = np.array(problem.lower_bounds), np.array(problem.upper_bounds)
    argmin = _bbob_argmin(problem)
    minimum = float(problem(argmin))
    return Problem("bbob", f"f{function}", instance, low, high, minimum, problem, argmin[None, :])


# --- by name --------------------------------------------------------------------------------


def names(suite: str, d: int | None = None) -> list[str]:
    """The suite's function names; `classics` without d are those of every dimension."""
    if suite == "bbob":
        return [f"f{i}" for i in range(1, 25)]
    if suite == "deceptive":
        return ["wang-freitas"]
    if suite == "classics":
        return [n for n in CLASSICS if d is None or len(_CLASSICS[n].shift) == d]
    raise ValueError(f"no suite is called {suite!r}; there are bbob, classics and deceptive")


def problem(suite: str, name: str, d: int, instance: int) -> Problem:
    """A problem by suite, name, dimension and instance (a classic has no instances)."""
    if suite == "bbob":
        return bbob(int(name.removeprefix("f")), d, instance)
    if suite == "deceptive":
        return deceptive_family(d, instance)
    return classic(name)
