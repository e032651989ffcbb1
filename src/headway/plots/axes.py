"""One parameter as an axis: where each of its values lies, and what is written beside it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from headway.arrays import Array
from headway.parameters import Categorical, Integer, Parameter, Real
from headway.plots.svg import Scale, cut, number, tick_labels
from headway.space import Space

# A curve is drawn through so many points.
_FINE = 49


@dataclass(frozen=True, slots=True)
class Axis:
    """A parameter of a space; places are in [0, 1]."""

    name: str
    column: int
    parameter: Parameter

    @classmethod
    def of(cls, space: Space, name: str) -> Axis:
        column = space.names.index(name)
        return cls(name, column, space.parameters[column])

    @property
    def is_number(self) -> bool:
        return isinstance(self.parameter, Real | Integer)

    def scale(self, start: float = 0.0, end: float = 1.0) -> Scale:
        """Of a number."""
        parameter = self.parameter
        if not isinstance(parameter, Real | Integer):
            raise TypeError(f"{self.name!r} is not a number")
        return Scale(float(parameter.low), float(parameter.high), start, end, parameter.log)

    def place(self, value: Any) -> float:
        """Numbers by their scale; each choice has an equal share of the axis."""
        if self.is_number:
            return self.scale().share(float(value))
        return (self.parameter.code(value) + 0.5) / (self.parameter.count or 1)

    def ticks(self, count: int) -> list[tuple[float, str]]:
        """Places and labels."""
        if self.is_number:
            ticks = self.scale().ticks(count)
            return [(self.place(t), x) for t, x in zip(ticks, tick_labels(ticks), strict=True)]
        choices = range(self.parameter.count or 1)
        return [((i + 0.5) / len(choices), choice(self.parameter.value(i))) for i in choices]

    def sweep(self, space: Space, z: Array) -> tuple[Array, list[Any]]:  # (m, d), m values
        """The point moved along this axis: evenly for numbers, through every choice."""
        count = self.parameter.count
        steps = _FINE if count is None or (self.is_number and count > _FINE) else count
        codes = np.linspace(0.0, 1.0, steps) if count is None else _indices(count, steps)
        values = [self.parameter.value(float(code)) for code in codes]
        Z = np.repeat(z[None], len(values), axis=0)
        Z[:, self.column] = [encoded(self, value) for value in values]
        return space.snap(Z), values


def encoded(axis: Axis, value: Any) -> float:
    """The column's entry of a value."""
    if axis.is_number:
        return axis.scale().share(float(value))
    code, count = axis.parameter.code(value), axis.parameter.count or 1
    return code if isinstance(axis.parameter, Categorical) else code / max(1, count - 1)


def _indices(count: int, steps: int) -> Array:
    return np.unique(np.round(np.linspace(0, count - 1, steps)))


def choice(value: Any) -> str:
    """A choice as it is written beside an axis."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def shown(value: Any, most: int = 60) -> str:
    """A value of a parameter for a reader."""
    if isinstance(value, float):
        return number(value, 6)
    return cut(choice(value), most)
