"""The space of a study: the user's values <-> columns of the unit cube. It alone knows units.

A point has one column per parameter, in the order given; d columns in all.

  Z (m, d)  encoded points. Numbers and ordinals lie in [0, 1], a category is its index 0..k-1.
  F (m, D)  features for a kernel of squared distances.

An inactive column holds 0.5, or -1 for a category, so inactive parameters tell no points apart.
Integers and categories are always at one of their values: the kernel sees the point that is
evaluated (Garrido-Merchán and Hernández-Lobato 2020).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from headway.arrays import Array, Bools
from headway.columns import Columns
from headway.errors import SpaceError
from headway.parameters import (
    Categorical,
    Integer,
    Ordinal,
    Parameter,
    Real,
    parameter_from_json,
)
from headway.values import canonical, listed, suggestion

__all__ = ["Categorical", "Integer", "Ordinal", "Parameter", "Real", "Space"]


@dataclass(frozen=True, slots=True)
class Space:
    """Named parameters, some of them conditional on others. `Space.of` makes one.

    A point is given and received as a dict without its inactive parameters, or, with
    form "array", as an array of numbers.
    """

    names: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    form: Literal["dict", "array"] = "dict"
    _columns: Columns = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(self.names))
        object.__setattr__(self, "parameters", tuple(self.parameters))
        _check(self)
        object.__setattr__(self, "_columns", Columns.of(self.names, self.parameters))

    @classmethod
    def of(cls, given: object) -> Space:
        """A space from what the user wrote.

        A dict maps names to parameters; there a tuple (low, high) is a Real, even of two ints.
        Pairs (low, high), an array of shape (d, 2) or a scipy.optimize.Bounds make a space of
        reals named x0, x1, ... for functions of an array.
        """
        if isinstance(given, Space):
            return given
        if isinstance(given, Mapping):
            parameters = tuple(_parameter(name, entry) for name, entry in given.items())
            return cls(tuple(given), parameters)
        pairs = _pairs(given)
        names = tuple(f"x{j}" for j in range(len(pairs)))
        return cls(names, tuple(map(_parameter, names, pairs)), "array")

    @property
    def d(self) -> int:
        """The number of parameters, which is that of the columns."""
        return len(self.names)

    @property
    def continuous(self) -> Bools:  # (d,)
        """The columns along which a gradient makes sense: reals without a step."""
        return ~self._columns.discrete

    @property
    def size(self) -> int | None:
        """The number of distinct points; None if infinite."""
        return self._columns.size

    @property
    def number_columns(self) -> tuple[int, ...]:
        """The column of Z that each of the leading features is."""
        return tuple(self._columns.numbers.tolist())

    @property
    def groups(self) -> tuple[int, ...]:  # length D
        """Which parameter each feature belongs to."""
        return self.number_columns + tuple(self._columns.categories.tolist())

    def encode(self, params: Mapping[str, Any]) -> Array:  # (d,)
        """The column values of a point; one SpaceError names all that is wrong with it."""
        if not isinstance(params, Mapping):
            raise SpaceError(
                f"A point is a dict with the names {listed(self.names)}, but this one is "
                f"{params!r}, of type {type(params).__name__}."
            )
        C = np.zeros((1, self.d))
        wrong: dict[str, str] = {}
        unsure: set[int] = set()  # columns whose parent is wrong or unsure
        links = {link.child: link for link in self._columns.links}
        for j in self._columns.order:  # parents first
            name, link = self.names[j], links.get(j)
            if link and (link.parent in unsure or self.names[link.parent] in wrong):
                unsure.add(j)
            active = self._columns.active(C)[0, j] if j not in unsure else name in params
            if active and name not in params:
                wrong[name] = f"is missing; it is {self.parameters[j]!r}."
            elif active:
                try:
                    C[0, j] = self.parameters[j].code(params[name])
                except SpaceError as error:
                    wrong[name] = f"= {error}"
            elif name in params:
                wrong[name] = (
                    f"is inactive here and must be left out; it is {self.parameters[j]!r}."
                )
        for name in params:
            if name not in self.names:
                hint = suggestion(name, self.names)
                wrong[name] = f"is unknown; the parameters are {listed(self.names)}.{hint}"
        if wrong:
            texts = (f"{name!r} {text}" for name, text in wrong.items())
            raise SpaceError("\n  ".join(["The point is not in the space:", *texts]))
        z: Array = self._columns.points(C)[0]
        return z

    def decode(self, z: Array) -> dict[str, Any]:  # z: (d,)
        """The values of the active parameters by name."""
        C = self._columns.codes(np.asarray(z, dtype=np.float64)[None])
        rows = zip(self.names, self.parameters, C[0], self._columns.active(C)[0], strict=True)
        return {name: p.value(float(code)) for name, p, code, active in rows if active}

    def point(self, z: Array) -> dict[str, Any] | Array:  # z: (d,)
        """The point in the user's form."""
        params = self.decode(z)
        return params if self.form == "dict" else np.array(list(params.values()), dtype=np.float64)

    def params_of(self, x: Any) -> dict[str, Any]:
        """A point in the user's form, or a dict in any case, as a dict; `encode` checks values."""
        if isinstance(x, Mapping):
            return dict(x)
        try:
            values = list(x)
        except TypeError:
            values = [x]
        if self.form == "dict" or len(values) != self.d:
            form = "a dict with the names" if self.form == "dict" else f"{self.d} numbers, for"
            raise SpaceError(
                f"{x!r} is of type {type(x).__name__} and length {len(values)}, but a point of "
                f"this space is {form} {listed(self.names)}."
            )
        return dict(zip(self.names, values, strict=True))

    def from_unit(self, U: Array) -> Array:  # (m, d) in [0, 1) -> (m, d)
        """Points uniform over the real choices, from uniform numbers.

        Each value of a grid or a category gets an equal share of [0, 1); a logarithmic integer v
        gets the share of (v - 1/2, v + 1/2) in logarithms.
        """
        columns = self._columns
        C = U * columns.count
        if columns.log.size:
            first = columns.low - 0.5
            span = np.log1p(columns.count[columns.log] / first)
            C[:, columns.log] = first * np.expm1(U[:, columns.log] * span)
        # A u just below 1 may have been rounded up into a bin that is not there.
        bins = np.minimum(np.floor(C), columns.count - 1.0)
        return columns.points(np.where(columns.discrete, bins, C))

    def snap(self, Z: Array) -> Array:  # (m, d) -> (m, d)
        """The nearest points of the space, inactive columns neutral."""
        return self._columns.points(self._columns.codes(Z))

    def active(self, Z: Array) -> Bools:  # (m, d) -> (m, d)
        """Which columns are active."""
        return self._columns.active(self._columns.codes(Z))

    def embed(self, Z: Array) -> Array:  # (m, d) -> (m, D)
        """Features: the numbers as they are, then every category as one-hot / sqrt(2).

        So two categories are at squared distance 1, and an inactive one, all zeros, at 1/2 from
        each.
        """
        columns, split = self._columns, len(self._columns.numbers)
        F = np.empty((len(Z), split + len(columns.categories)))
        F[:, :split] = Z[:, columns.numbers]
        F[:, split:] = Z[:, columns.categories] == columns.levels
        F[:, split:] *= math.sqrt(0.5)
        return F

    def neighbours(self, z: Array) -> Array:  # (d,) -> (k, d)
        """All points one discrete move away: ±1, ±2, ±4, ... on a grid, any other category.

        Only active columns move; a column that becomes active starts at its neutral value.
        """
        C = self._columns.codes(np.asarray(z, dtype=np.float64)[None])
        moving: list[int] = []
        targets: list[int] = []
        for j in np.flatnonzero(self._columns.discrete & self._columns.active(C)[0]).tolist():
            reached = _moves(self.parameters[j], int(C[0, j]))
            moving += [j] * len(reached)
            targets += reached
        # No two are equal: a move keeps its own column active, and no other move changes that
        # column, but for one that makes it inactive.
        N = np.repeat(C, len(moving), axis=0)
        N[np.arange(len(moving)), moving] = targets
        return self._columns.points(N)

    def enumerate(self, limit: int) -> Array:  # (size, d)
        """All distinct points, if there are at most `limit`."""
        columns = self._columns
        if self.size is None:
            name = self.names[int(np.argmax(self.continuous))]
            raise SpaceError(
                f"The points cannot be listed, for {name!r} is a continuum. Give it a step."
            )
        if self.size > limit:
            raise SpaceError(
                f"The space has {self.size} points, more than the limit {limit}. Raise the limit, "
                "or give the parameters fewer values."
            )
        C = columns.codes(columns.neutral[None])
        for j in columns.order:  # parents first: a row becomes as many as column j has values in it
            copies = np.where(columns.active(C)[:, j], int(columns.count[j]), 1)
            place = np.arange(copies.sum()) - np.repeat(np.cumsum(copies) - copies, copies)
            C = np.repeat(C, copies, axis=0)
            C[:, j] = place  # 0 where the column is inactive
        return columns.points(C)

    def to_json(self) -> dict[str, Any]:
        """The space as plain values."""
        parts = zip(self.names, self.parameters, strict=True)
        return {"form": self.form, "parameters": [{"name": n, **p.to_json()} for n, p in parts]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Space:
        """The space that `to_json` wrote."""
        try:
            form, entries = data["form"], [dict(entry) for entry in data["parameters"]]
            names = tuple(entry.pop("name") for entry in entries)
        except (KeyError, TypeError, ValueError) as error:
            raise SpaceError(
                f"{data!r} is not what Space.to_json writes ({error!r}). Was it cut or edited?"
            ) from None
        return cls(names, tuple(map(parameter_from_json, entries)), form)

    def difference(self, other: Space) -> str | None:
        """The first difference from another space in words, or None."""
        if self.form != other.form:
            return f"a point is given as {self.form} in this space, as {other.form} in the other"
        for name in [*self.names, *other.names]:
            if name not in other.names:
                return f"{name!r} is in this space but not in the other"
            if name not in self.names:
                return f"{name!r} is in the other space but not in this one"
        if self.names != other.names:
            return f"the order is {listed(self.names)} here, {listed(other.names)} in the other"
        for name, mine, theirs in zip(self.names, self.parameters, other.parameters, strict=True):
            if type(mine) is not type(theirs):
                return f"{name!r} is {mine!r} in this space, {theirs!r} in the other"
            here, there = mine.to_json(), theirs.to_json()
            for key in here:
                if canonical(here[key]) != canonical(there[key]):
                    pair = f"{here[key]!r} in this space, {there[key]!r} in the other"
                    return f"{name!r} has {key} = {pair}"
        return None


def _check(space: Space) -> None:
    """What a space needs before its conditions are looked at."""
    if not space.names:
        raise SpaceError('The space is empty. Give at least one parameter: {"x": (0.0, 1.0)}.')
    for j, name in enumerate(space.names):
        if not isinstance(name, str) or not name:
            raise SpaceError(
                f"The name {name!r}, of type {type(name).__name__}, cannot be used. Names are "
                f"strings with at least one character: {str(name) or 'x'!r}."
            )
        if name in space.names[:j]:
            raise SpaceError(f"The name {name!r} is given twice. Rename one of the parameters.")
    if len(space.names) != len(space.parameters):
        raise SpaceError(
            f"There are {len(space.names)} names but {len(space.parameters)} parameters. "
            "Give one for each."
        )
    for name, parameter in zip(space.names, space.parameters, strict=True):
        if not isinstance(parameter, Parameter):
            raise SpaceError(
                f"{name!r} = {parameter!r} is of type {type(parameter).__name__}. Give a tuple "
                "(low, high), Real, Integer, Categorical or Ordinal."
            )
        plain_number = isinstance(parameter, Real | Integer) and parameter.when is None
        if space.form == "array" and not plain_number:
            raise SpaceError(
                f"{name!r} = {parameter!r} does not fit an array of numbers. Give the space as a "
                "dict; f then takes a dict too."
            )
    if space.form not in ("dict", "array"):
        raise SpaceError(f"form = {space.form!r} must be 'dict' or 'array'.")


def _parameter(name: object, given: Any) -> Any:
    """(low, high) as a Real, anything else as it is, for `_check` to look at."""
    if not isinstance(given, tuple) or len(given) != 2:
        return given
    try:
        return Real(*given)
    except SpaceError as error:
        raise SpaceError(f"{name!r}: {error}") from None


def _pairs(given: Any) -> list[tuple[object, object]]:
    """The (low, high) of every axis, from pairs, an array or a scipy.optimize.Bounds."""
    if hasattr(given, "lb") and hasattr(given, "ub"):
        given = np.column_stack(np.broadcast_arrays(given.lb, given.ub))
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise SpaceError(
            f"{given!r}, of type {type(given).__name__}, is no space. Give a dict of parameters, "
            "or a list of pairs (low, high)."
        )
    if isinstance(given, np.ndarray) and (given.ndim != 2 or given.shape[1] != 2):
        raise SpaceError(
            f"Bounds of shape {given.shape} cannot be used. Give one row (low, high) per "
            "parameter: shape (d, 2)."
        )
    pairs = list(given)
    for pair in pairs:
        if not isinstance(pair, tuple | list | np.ndarray) or len(pair) != 2:
            raise SpaceError(
                f"{pair!r} is not a pair (low, high). Give one pair per parameter: [(0, 1), "
                "(0, 1)]; for integers and categories give a dict."
            )
    return [(low, high) for low, high in pairs]


def _moves(parameter: Parameter, code: int) -> list[int]:
    """The codes one move away, the near ones first."""
    count = parameter.count or 1
    if isinstance(parameter, Categorical):
        return [other for other in range(count) if other != code]
    strides = [2**n for n in range((count - 1).bit_length())]
    steps = [code + sign * stride for stride in strides for sign in (-1, 1)]
    return [other for other in steps if 0 <= other < count]
