"""The four kinds of parameter: which values each may take, and the code of every value.

A code is a float: the place z in [0, 1] of a value in a continuum, and otherwise the index
0..count-1 of the value in its grid or list. `code` and `value` are each other's inverse; how codes
become columns of the unit cube is the business of `headway.space`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, MISSING, dataclass, field, fields
from fractions import Fraction
from typing import Any

import numpy as np

from headway.errors import SpaceError
from headway.values import canonical, distinct, finite, flag, items, listed, look_up, plain, whole

# The parent's name and the values of the parent at which the child is active.
Condition = tuple[str, Any]

# How far rounding may carry a value off its bound (relative to the range; with log, to the bound)
# or off its grid (relative to the value), but never further than SHARE of a step.
TOLERANCE = 1e-9
SHARE = 1e-3
# A step divides a range if the number of steps is whole to this; step = 1/3 is not exact either.
WHOLE = 1e-6
# The most steps of a grid: its points stay apart as floats, in the logarithm too.
MAX_STEPS = 2**40
# Beyond it not every whole number is a float.
MAX_INTEGER = 2**53


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Parameter(ABC):
    """One coordinate of a space: its allowed values and the condition on which it exists."""

    when: Condition | None = field(default=None, kw_only=True)

    @property
    @abstractmethod
    def count(self) -> int | None:
        """How many values there are; None for a continuum."""

    @abstractmethod
    def code(self, value: object) -> float:
        """The code of a value, or a SpaceError that says why it has none."""

    @abstractmethod
    def value(self, code: float) -> Any:
        """The value of a code."""

    def to_json(self) -> dict[str, Any]:
        """The parameter as plain values, complete enough for `parameter_from_json`."""
        entry: dict[str, Any] = {"type": type(self).__name__.lower()}
        for name in _arguments(type(self)):
            value = getattr(self, name)
            entry[name] = list(value) if isinstance(value, tuple) else value
        if self.when is not None:
            entry["when"] = [self.when[0], list(self.when[1])]
        return entry

    def __repr__(self) -> str:
        """As the user would write it."""
        entry, texts = self.to_json(), []
        if self.when is not None:
            parent, values = entry["when"]
            alone = len(values) == 1 and not isinstance(values[0], list)
            entry["when"] = (parent, values[0] if alone else values)
        for name, default in _arguments(type(self)).items():
            if default is MISSING:
                texts.append(repr(entry[name]))
            elif entry[name] != default:
                texts.append(f"{name}={entry[name]!r}")
        return f"{type(self).__name__}({', '.join(texts)})"

    # Compared as text: True, 1 and 1.0 are equal in Python and three choices here.
    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Parameter):
            return NotImplemented
        return canonical(self.to_json()) == canonical(other.to_json())

    def __hash__(self) -> int:
        return hash(canonical(self.to_json()))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Real(Parameter):
    """A real number from low to high, both included.

    `log=True` makes equal ratios equally wide; it needs low > 0. With `step` the values are low,
    low + step, ..., high. `when=("kernel", "rbf")` makes the parameter exist only where "kernel"
    is "rbf"; a list of values stands for any of them.
    """

    low: float
    high: float
    _: KW_ONLY
    log: bool = False
    step: float | None = None

    def __post_init__(self) -> None:
        _settle(self, "low", finite)
        _settle(self, "high", finite)
        _settle(self, "log", flag)
        _check_range(self)
        if not math.isfinite(self.high - self.low):
            raise SpaceError(
                f"Real: high - low = {self.high!r} - {self.low!r} is too large for a float. "
                "Narrow the range, or search the exponent."
            )
        if self.step is not None:
            _settle(self, "step", finite)
            _check_real_step(self.low, self.high, self.step)
        _settle(self, "when", _condition)

    @property
    def count(self) -> int | None:
        return None if self.step is None else round((self.high - self.low) / self.step) + 1

    def code(self, value: object) -> float:
        number = _inside(finite(value), self)
        if self.step is not None:
            index = round((number - self.low) / self.step)
            _check_on_grid(number, self.value(index), self)
            return float(index)
        if self.log:
            return min(math.log1p((number - self.low) / self.low) / self._log_span, 1.0)
        return (number - self.low) / (self.high - self.low)

    def value(self, code: float) -> float:
        if self.step is not None:
            # In decimals, so that 0.1 + 2 * 0.1 is the 0.3 that the user would write. The last one
            # is high itself, even if step is rounded.
            number = float(_decimal(self.low) + int(code) * _decimal(self.step))
            return self.high if code + 1 == self.count else number
        # Counted from the nearer end, so that both bounds are met exactly.
        near, sign, share = (self.low, 1, code) if code < 0.5 else (self.high, -1, 1.0 - code)
        if self.log:
            number = near * math.exp(sign * share * self._log_span)
        else:
            number = near + sign * share * (self.high - self.low)
        return min(max(number, self.low), self.high)

    @property
    def _log_span(self) -> float:
        return math.log1p((self.high - self.low) / self.low)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Integer(Parameter):
    """A whole number from low to high, both included.

    `log=True` makes equal ratios equally wide; it needs low >= 1. With `step` the values are low,
    low + step, ..., high. `when` as for `Real`.
    """

    low: int
    high: int
    _: KW_ONLY
    log: bool = False
    step: int | None = None

    def __post_init__(self) -> None:
        _settle(self, "low", whole)
        _settle(self, "high", whole)
        _settle(self, "log", flag)
        _check_range(self)
        if max(abs(self.low), abs(self.high)) > MAX_INTEGER:
            raise SpaceError(
                f"Integer: the bounds {self.low} and {self.high} must lie within ±2**53, where "
                "every whole number is a float. Search the exponent, or an index into a list."
            )
        if self.step is not None:
            _settle(self, "step", whole)
            _check_integer_step(self.low, self.high, self.step)
        if self.count > MAX_STEPS + 1:
            raise SpaceError(
                f"Integer: {self.count} values from {self.low} to {self.high} are too many to be "
                "told apart; at most 2**40 are. Give a larger step, or take a Real and round."
            )
        _settle(self, "when", _condition)

    @property
    def count(self) -> int:
        return (self.high - self.low) // (self.step or 1) + 1

    def code(self, value: object) -> float:
        number = _inside(finite(value), self)
        index = round((number - self.low) / (self.step or 1))
        _check_on_grid(number, self.value(index), self)
        return float(index)

    def value(self, code: float) -> int:
        return self.low + int(code) * (self.step or 1)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Categorical(Parameter):
    """One of several choices without an order.

    A choice is a str, int, float, bool or None, or a list or dict of these. Choices are told apart
    by type and value: True, 1 and 1.0 are three. `when` as for `Real`.
    """

    choices: Sequence[Any]  # kept as a tuple
    _index: Mapping[str, int] = field(init=False)

    def __post_init__(self) -> None:
        _settle(self, "choices", items)
        _settle(self, "choices", distinct, into="_index")
        _settle(self, "when", _condition)

    @property
    def count(self) -> int:
        return len(self.choices)

    def code(self, value: object) -> float:
        return look_up(value, self.choices, self._index)

    def value(self, code: float) -> Any:
        return self.choices[int(code)]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Ordinal(Parameter):
    """One of several values in the order given, neighbours being alike.

    A value is whatever a choice of a `Categorical` may be. `when` as for `Real`.
    """

    values: Sequence[Any]  # kept as a tuple
    _index: Mapping[str, int] = field(init=False)

    def __post_init__(self) -> None:
        _settle(self, "values", items)
        _settle(self, "values", distinct, into="_index")
        _settle(self, "when", _condition)

    @property
    def count(self) -> int:
        return len(self.values)

    def code(self, value: object) -> float:
        return look_up(value, self.values, self._index)

    def value(self, code: float) -> Any:
        return self.values[int(code)]


def parameter_from_json(entry: Mapping[str, Any]) -> Parameter:
    """The parameter that `Parameter.to_json` wrote."""
    kinds = {kind.__name__.lower(): kind for kind in (Real, Integer, Categorical, Ordinal)}
    arguments = dict(entry)
    kind = kinds.get(str(arguments.pop("type", None)))
    if kind is None:
        raise SpaceError(
            f"type = {entry.get('type')!r} is no kind of parameter; the kinds are {listed(kinds)}."
        )
    if arguments.keys() != _arguments(kind).keys():
        raise SpaceError(
            f"A stored {kind.__name__} has the keys {listed(_arguments(kind))}, "
            f"but this one has {listed(arguments)}. Was it written by another version?"
        )
    return kind(**arguments)


def _arguments(kind: type[Parameter]) -> dict[str, Any]:
    """The arguments of a kind of parameter and their defaults, `when` last."""
    given = [item for item in fields(kind) if item.init]
    return {item.name: item.default for item in sorted(given, key=lambda item: item.name == "when")}


def _settle(
    parameter: Parameter, name: str, convert: Callable[[Any], object], *, into: str | None = None
) -> None:
    """Replace an argument by what the parameter keeps of it; only __post_init__ may."""
    try:
        kept = convert(getattr(parameter, name))
    except SpaceError as error:
        raise SpaceError(f"{type(parameter).__name__}: {name} = {error}") from None
    object.__setattr__(parameter, into or name, kept)


def _check_range(parameter: Real | Integer) -> None:
    """low < high, and all that log asks for."""
    kind, low, high = type(parameter).__name__, parameter.low, parameter.high
    if low >= high:
        raise SpaceError(
            f"{kind}: low = {low!r} must be less than high = {high!r}. "
            + ("Swap them." if low > high else "A constant is no parameter: fix it in f.")
        )
    if parameter.log and low <= 0:
        raise SpaceError(
            f"{kind}: log=True needs low > 0, but low = {low!r}. Raise low to the smallest value "
            "worth telling apart, or leave out log."
        )
    if parameter.log and not math.isfinite(high / low):
        raise SpaceError(f"{kind}: high / low = {high!r} / {low!r} is too large. Raise low.")
    if parameter.log and parameter.step is not None:
        raise SpaceError(
            f"{kind}: log=True and step = {parameter.step!r} exclude each other. Leave one out; "
            "for a few values on a log scale use Ordinal([1, 10, 100])."
        )


def _check_integer_step(low: int, high: int, step: int) -> None:
    if step <= 0:
        raise SpaceError(f"Integer: step = {step} must be at least 1.")
    if (high - low) % step:
        below = low + (high - low) // step * step
        ends = [end for end in (below, below + step) if end > low]
        raise SpaceError(
            f"Integer: step = {step} does not divide high - low = {high - low}. "
            f"Use high = {' or '.join(map(str, ends))}, or another step."
        )


def _check_real_step(low: float, high: float, step: float) -> None:
    if step <= 0:
        raise SpaceError(f"Real: step = {step!r} must be greater than 0.")
    first, last, stride = _decimal(low), _decimal(high), _decimal(step)
    exact = (last - first) / stride
    steps = round(exact)
    if steps > MAX_STEPS:
        raise SpaceError(
            f"Real: step = {step!r} makes {steps} steps from {low!r} to {high!r}; at most 2**40 "
            "can be told apart. Leave out step."
        )
    if steps < 1 or abs(exact - steps) > WHOLE:
        ends = [float(first + n * stride) for n in (int(exact), int(exact) + 1) if n > 0]
        raise SpaceError(
            f"Real: step = {step!r} does not divide high - low = {float(last - first)!r}. Use "
            f"high = {' or '.join(map(repr, ends))}, or "
            f"step = {float((last - first) / max(steps, 1))!r}."
        )


def _decimal(number: float) -> Fraction:
    """The decimal number that the user wrote, exactly: 0.1 divides 0.3."""
    return Fraction(repr(number))


def _inside(number: float, parameter: Real | Integer) -> float:
    """The number, moved onto a bound that it passes by rounding only."""
    low, high = parameter.low, parameter.high
    nearest = min(max(number, low), high)
    slack = TOLERANCE * (nearest if parameter.log else high - low)
    if isinstance(parameter, Integer) or parameter.step is not None:
        slack = min(slack, SHARE * (parameter.step or 1))
    if abs(number - nearest) > slack:
        raise SpaceError(
            f"{number!r} lies outside [{low!r}, {high!r}]. Give a value inside, or widen the range."
        )
    return nearest


def _check_on_grid(number: float, nearest: float, parameter: Real | Integer) -> None:
    step = parameter.step or 1
    if abs(number - nearest) > min(TOLERANCE * max(abs(number), step), SHARE * step):
        grid = f"low plus a multiple of step = {step!r}" if parameter.step else "a whole number"
        raise SpaceError(f"{number!r} is not {grid}. The nearest value is {nearest!r}.")


def _condition(when: Any) -> tuple[str, tuple[object, ...]] | None:
    """`when` as the parent's name and a tuple of values."""
    if when is None:
        return None
    if not isinstance(when, (tuple, list)) or len(when) != 2 or not isinstance(when[0], str):
        raise SpaceError(
            f"{when!r} must be the name of a parameter and a value or a list of values of it: "
            '("kernel", "rbf") or ("kernel", ["rbf", "poly"]).'
        )
    given = when[1] if isinstance(when[1], (tuple, list, range, np.ndarray)) else (when[1],)
    values = tuple(plain(value) for value in given)
    if not values:
        raise SpaceError(
            f"{when!r} lists no value, so it would never be active. Name one at least."
        )
    try:
        distinct(values)
    except SpaceError as error:
        raise SpaceError(f"({when[0]!r}, ...): {error}") from None
    return when[0], values
