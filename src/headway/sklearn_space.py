"""Spaces as people write them for scikit-learn's searches, and candidates back from them.

A parameter's entry is one of Headway's parameters, a list of choices, or a frozen distribution of
scipy. A space holds plain values only, so a choice that is an object (an estimator, a function, a
tuple) goes by its name there, and `Domain.candidate` puts the object back.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

from headway.errors import SpaceError
from headway.parameters import Categorical, Integer, Ordinal, Parameter, Real
from headway.space import Space
from headway.values import canonical, plain, suggestion

_GRID = "(dict)"  # the parameter that says which of several dicts a candidate is of
_LONGEST = 60  # of an object's name
_ALLOWED = (
    "Allowed: a headway Real, Integer, Categorical or Ordinal, a pair (low, high) for a real, a "
    "list of choices, or scipy.stats' uniform, loguniform or randint"
)


@dataclass(frozen=True, slots=True)
class Domain:
    """A space, the estimator's name for each of its parameters, and the objects of its choices."""

    space: Space
    names: Mapping[str, str]
    objects: Mapping[str, Mapping[str, Any]]  # by parameter, by the value's canonical text

    @classmethod
    def of(cls, given: object, estimator: Any) -> Domain:
        """The domain of a dict, a Space, or a list of dicts of which each is a space of its own."""
        if isinstance(given, Space):
            given = dict(zip(given.names, given.parameters, strict=True))
        several = isinstance(given, (list, tuple))
        dicts: list[Any] = list(given) if isinstance(given, (list, tuple)) else [given]
        if not dicts or not all(isinstance(one, Mapping) and one for one in dicts):
            raise SpaceError(
                f"the space is {given!r}. Allowed: a dict of parameter names, a list of such "
                f"dicts, or a headway.Space. Give at least one parameter."
            )
        parameters: dict[str, Any] = {_GRID: Categorical(range(len(dicts)))} if several else {}
        names: dict[str, str] = {}
        objects: dict[str, Mapping[str, Any]] = {}
        for number, one in enumerate(dicts):
            _require_known(one, estimator)
            for name, entry in one.items():
                key = f"{name} ({number})" if several else name
                parameter, objects[key] = _parameter(name, entry)
                parameters[key] = _held_to(number, parameter) if several else parameter
                names[key] = name
        return cls(Space.of(parameters), names, objects)

    def candidate(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters as the estimator takes them."""
        return {
            name: self.objects[key].get(canonical(params[key]), params[key])
            for key, name in self.names.items()
            if key in params
        }


def _held_to(number: int, parameter: Parameter) -> Parameter:
    """The parameter as it is in one of several dicts: it exists only there."""
    if parameter.when is None:
        return replace(parameter, when=(_GRID, number))
    parent, values = parameter.when
    return replace(parameter, when=(f"{parent} ({number})", values))


def _parameter(name: str, entry: Any) -> tuple[Parameter, Mapping[str, Any]]:
    """The parameter of an entry, and the objects that its values stand for."""
    if isinstance(entry, Parameter):
        return entry, {}
    try:
        if hasattr(entry, "dist") and hasattr(entry, "support"):
            return _of_distribution(entry), {}
        if isinstance(entry, tuple) and len(entry) == 2 and all(map(_is_number, entry)):
            return Real(*entry), {}
        if isinstance(entry, Iterable) and not isinstance(entry, (str, bytes, Mapping)):
            return _of_choices(entry)
    except SpaceError as error:
        raise SpaceError(f"parameter {name!r}: {error}") from None
    raise SpaceError(
        f"parameter {name!r} is {entry!r}, of type {type(entry).__name__}. {_ALLOWED}. "
        f"For a constant, set it in the estimator."
    )


def _of_distribution(frozen: Any) -> Parameter:
    """A uniform distribution of scipy as the range that it is uniform on."""
    kind = frozen.dist.name
    low, high = (float(end) for end in frozen.support())
    if kind == "uniform":
        return Real(low, high)
    # With a loc it is not uniform in logarithms.
    if kind in ("loguniform", "reciprocal") and low > 0:
        middle = math.sqrt(low) * math.sqrt(high)
        if math.isclose(float(frozen.median()), middle, rel_tol=1e-6):
            return Real(low, high, log=True)
        raise SpaceError(
            f"{kind} with a loc is not uniform in logarithms. Leave out loc, or give "
            f"headway.Real({low:g}, {high:g}, log=True)."
        )
    if kind == "randint":
        return Ordinal([int(low)]) if low == high else Integer(int(low), int(high))
    ends = f"{low:g}, {high:g}" if math.isfinite(low) and math.isfinite(high) else "low, high"
    raise SpaceError(
        f"the distribution {kind!r} is not uniform, and a search has no use for its shape. "
        f"{_ALLOWED}. Give the range worth searching: headway.Real({ends})."
    )


def _of_choices(entry: Iterable[Any]) -> tuple[Parameter, Mapping[str, Any]]:
    """Choices in a list: numbers in their order, anything else without one."""
    if isinstance(entry, (set, frozenset)):
        raise SpaceError(f"{entry!r} is a set, whose order changes from run to run. Give a list.")
    values = list(entry)
    if not values:
        raise SpaceError("the list of choices is empty. Give one, or leave out the parameter.")
    if all(_is_number(value) and math.isfinite(value) for value in values):
        values.sort()
        labels: list[Any] = [plain(value) for value in values]
        parameter: Parameter = Ordinal(labels)
    else:
        labels = _labels(values)
        parameter = Categorical(labels)
    return parameter, dict(zip(map(canonical, labels), values, strict=True))


def _labels(values: Sequence[Any]) -> list[Any]:
    """Plain values as they are, other objects by name, numbered where two have the same."""
    labels: list[Any] = []
    for given in values:
        value: Any = plain(given)
        number = _is_number(value) and math.isfinite(value)
        if not (value is None or number or isinstance(value, (bool, str))):
            value = _name(value)
            same = sum(str(label).partition(" #")[0] == value for label in labels)
            value = f"{value} #{same + 1}" if same else value
        labels.append(value)
    return labels


def _name(value: object) -> str:
    """A short name of an object that does not change from run to run."""
    name = getattr(value, "__name__", None)  # the repr of a function has an address
    text = " ".join(repr(value).split()) if name is None else str(name)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def _is_number(value: object) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _require_known(entries: Mapping[str, Any], estimator: Any) -> None:
    """Refuse a name that is no parameter of the estimator, nor of one that is a choice here."""
    known = dict.fromkeys(estimator.get_params(deep=True))
    for name, entry in entries.items():
        for choice in entry if isinstance(entry, (list, tuple)) else ():
            if hasattr(choice, "get_params") and not isinstance(choice, type):
                known |= dict.fromkeys(f"{name}__{inner}" for inner in choice.get_params())
    for name in entries:
        if name not in known and not _takes(estimator, name):
            raise SpaceError(
                f"the space names {name!r}, which is no parameter of {type(estimator).__name__}. "
                f"Allowed: {', '.join(map(str, known))}.{suggestion(name, known)}"
            )


def _takes(estimator: Any, name: str) -> bool:
    """Whether it can be set all the same: some estimators name only what was set before."""
    try:
        deepcopy(estimator).set_params(**{name: None})
    except (AttributeError, KeyError, TypeError, ValueError):
        return False
    return True
