"""The public names, pinned; and what importing them costs."""

import subprocess
import sys
from pathlib import Path

import pytest

import headway

NAMES = [
    "Budget",
    "BudgetSpent",
    "Categorical",
    "EveryTrialFailed",
    "History",
    "Integer",
    "Optimizer",
    "Ordinal",
    "Outcome",
    "Policy",
    "Real",
    "Record",
    "Result",
    "Space",
    "Surrogate",
    "Trial",
    "Why",
    "errors",
    "load",
    "minimize",
]
HEAVY = ("scipy.stats", "pandas", "plotly", "torch", "optuna", "matplotlib", "sklearn")


def test_the_names_are_these():
    assert sorted(headway.__all__) == NAMES
    assert dir(headway) == sorted([*NAMES, "__version__"])


@pytest.mark.parametrize("name", NAMES)
def test_each_name_is_there(name):
    assert getattr(headway, name).__name__.split(".")[-1] == name


def test_a_name_that_is_not():
    with pytest.raises(AttributeError, match=r"module 'headway' has no attribute 'maximize'"):
        headway.maximize  # noqa: B018


def test_star_import():
    names = {}
    exec("from headway import *", names)
    assert set(NAMES) <= set(names)


@pytest.mark.parametrize(
    "use", ["", "headway.minimize", "[getattr(headway, n) for n in dir(headway)]"]
)
def test_importing_loads_nothing_heavy(use):
    code = f"import sys, headway\n{use}\nprint(*[m for m in {HEAVY} if m in sys.modules])"
    env = {"PYTHONPATH": str(Path(headway.__file__).parents[1])}
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env
    )
    assert out.stdout.strip() == ""
