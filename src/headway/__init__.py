"""Headway: a Bayesian optimizer that knows its budget.

The public names are loaded when they are first used, so that importing the package costs little.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headway import errors as errors
    from headway.budget import Budget as Budget
    from headway.checkpoint import load as load
    from headway.errors import BudgetSpent as BudgetSpent
    from headway.errors import EveryTrialFailed as EveryTrialFailed
    from headway.history import History as History
    from headway.history import Record as Record
    from headway.optimizer import Optimizer as Optimizer
    from headway.outcome import Outcome as Outcome
    from headway.parameters import Categorical as Categorical
    from headway.parameters import Integer as Integer
    from headway.parameters import Ordinal as Ordinal
    from headway.parameters import Real as Real
    from headway.policy import Policy as Policy
    from headway.run import Result as Result
    from headway.run import minimize as minimize
    from headway.space import Space as Space
    from headway.surrogate import Surrogate as Surrogate
    from headway.trial import Trial as Trial
    from headway.why import Why as Why

__version__ = "0.1.0"

_HOME = {
    "Budget": "budget",
    "BudgetSpent": "errors",
    "Categorical": "parameters",
    "EveryTrialFailed": "errors",
    "History": "history",
    "Integer": "parameters",
    "Optimizer": "optimizer",
    "Ordinal": "parameters",
    "Outcome": "outcome",
    "Policy": "policy",
    "Real": "parameters",
    "Record": "history",
    "Result": "run",
    "Space": "space",
    "Surrogate": "surrogate",
    "Trial": "trial",
    "Why": "why",
    "load": "checkpoint",
    "minimize": "run",
}

__all__ = [  # noqa: RUF022  # the doors first
    "minimize",
    "Optimizer",
    "load",
    "Budget",
    "Real",
    "Integer",
    "Categorical",
    "Ordinal",
    "Space",
    "Policy",
    "Surrogate",
    "Outcome",
    "Trial",
    "Result",
    "History",
    "Record",
    "Why",
    "BudgetSpent",
    "EveryTrialFailed",
    "errors",
]


# Submodules that are reached as attributes: `headway.sklearn` loads scikit-learn, and so on.
_MODULES = ("botorch", "errors", "optuna", "plots", "report", "sklearn")


def __getattr__(name: str) -> Any:
    """Load a public name, or a submodule that is a door of its own, at its first use."""
    if name in _MODULES:
        return import_module(f"headway.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'headway' has no attribute {name!r}; see headway.__all__")
    value = getattr(import_module(f"headway.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
