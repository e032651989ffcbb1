"""What an evaluation returned: the one place where a told value is checked.

A value is one finite real number in the user's sign. A constraint c is met when c <= 0.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Any

import numpy as np

from headway.errors import TellError

WITHOUT_VALUE = "Without a value: tell(trial, failed=True), or raise an exception in f"
UNKNOWN = "Leave it out if unknown"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What f may return instead of a float.

    `variance` is the known noise variance of the value, `cost` what the evaluation used up of
    `Budget(cost=)`. It is checked when it is told, so that a nan is a failed trial, not an
    exception inside f.
    """

    value: Any
    constraints: Any = ()
    cost: Any = None
    variance: Any = None


def checked(given: object, trial: str) -> Outcome:
    """The outcome in plain floats, or a TellError that names the trial."""
    outcome = given if isinstance(given, Outcome) else Outcome(given)
    return Outcome(
        finite(outcome.value, f"the value of {trial}"),
        _constraints(outcome.constraints, trial),
        positive(outcome.cost, f"the cost of {trial}"),
        positive(outcome.variance, f"the variance of {trial}"),
    )


def told(
    name: str,
    value: object,
    *,
    constraints: object = None,
    cost: object = None,
    variance: object = None,
    k: int = 0,
) -> Outcome:
    """The outcome that a tell of k constraints gives, checked."""
    if isinstance(value, Outcome):
        if any(given is not None for given in (constraints, cost, variance)):
            raise TellError(
                f"{name} was told an Outcome and constraints, cost or variance besides. "
                f"Allowed: either. Put them into the Outcome."
            )
    else:
        value = Outcome(value, constraints, cost, variance)
    outcome = checked(value, name)
    if len(outcome.constraints) != k:
        raise TellError(
            f"{name} was told {len(outcome.constraints)} constraints. Allowed: {k}, as "
            f"constraints={k} says. Tell {k}, or set constraints= when you begin."
        )
    return outcome


def check_stored(event: Mapping[str, Any], *, x0: int, k: int) -> None:
    """Refuse a stored event that no optimizer with x0 start points and k constraints wrote."""
    kind = event["event"]
    if kind == "x0" and event["index"] not in range(x0):
        raise ValueError(f"x0 has no point {event['index']!r}")
    name = f"{'the known point' if kind == 'known' else 'trial'} {event.get('id')}"
    besides = {key: event.get(key) for key in ("constraints", "cost", "variance")}
    if kind == "told" or "value" in event:
        told(name, event["value"], **besides, k=k)
    elif kind == "failed":
        positive(besides["cost"], f"the cost of {name}")


def failed(name: str, **given: object) -> None:
    """Refuse a failure that is told a value as well."""
    besides = [key for key, value in given.items() if value is not None]
    if besides:
        raise TellError(
            f"{name} was told failed=True and {', '.join(besides)} as well. Allowed: a failure, "
            f"or a value. Leave one of them out."
        )


def fields(outcome: Outcome) -> dict[str, Any]:
    """The fields of the event that records the outcome."""
    return {
        "value": outcome.value,
        "constraints": list(outcome.constraints) or None,
        "cost": outcome.cost,
        "variance": outcome.variance,
    }


def finite(given: object, what: str, *, otherwise: str = WITHOUT_VALUE) -> float:
    """One finite real number as a float; `otherwise` is the way out of having none."""
    number = _number(given, what, otherwise)
    if not math.isfinite(number):
        raise TellError(f"{what} is {number}. Allowed: a finite number. {otherwise}.")
    return number


def positive(given: object, what: str) -> float | None:
    """A finite number of at least 0, or None."""
    if given is None:
        return None
    number = finite(given, what, otherwise=UNKNOWN)
    if number < 0:
        raise TellError(f"{what} is {number}. Allowed: at least 0. {UNKNOWN}.")
    return number


def _constraints(given: object, trial: str) -> tuple[float, ...]:
    if given is None:
        return ()
    if isinstance(given, (str, bytes, Set)) or not isinstance(given, Iterable):
        raise TellError(
            f"the constraints of {trial} are {given!r}. Allowed: a sequence of numbers, each met "
            f"when <= 0. For a single one write [c]."
        )
    try:
        items = list(given)
    except TypeError as error:  # an array of no dimension says it is iterable and is not
        raise TellError(
            f"the constraints of {trial} are {given!r}. Allowed: a sequence of numbers. "
            f"For a single one write [c]."
        ) from error
    return tuple(finite(c, f"constraint {i} of {trial}") for i, c in enumerate(items))


def _number(given: object, what: str, otherwise: str) -> float:
    advice = f"Allowed: one real number. Give a float, or an Outcome. {otherwise}."
    if isinstance(given, np.ndarray):
        if given.size != 1:
            raise TellError(f"{what} is an array of {given.size} values. {advice}")
        if np.ma.is_masked(given):  # its item would be whatever lies under the mask
            raise TellError(f"{what} is masked. {advice}")
        given = given.item()
    if given is None:
        raise TellError(f"{what} is None: is a return missing? {advice}")
    refused = isinstance(given, (str, bytes, bool, np.bool_))
    real = isinstance(given, numbers.Real) or (
        hasattr(given, "__float__") and not isinstance(given, numbers.Complex)
    )
    if refused or not real:
        raise TellError(f"{what} is {_short(given)}, of type {type(given).__name__}. {advice}")
    try:
        return float(given)  # type: ignore[arg-type]  # Decimal, a tensor of one value
    except (TypeError, ValueError, RuntimeError) as error:
        raise TellError(f"{what} is {_short(given)}: {error}. {advice}") from error
    except OverflowError:  # an int or a fraction beyond the largest float
        return math.inf


def _short(given: object) -> str:
    text = repr(given)
    return text if len(text) <= 80 else text[:77] + "..."
