"""The columns of a space as arrays: codes <-> encoded points, and which columns are active.

  C (m, d)  codes: the place in [0, 1] of a continuum, else the index of the value (`parameters`).
  Z (m, d)  encoded points: numbers and ordinals in [0, 1], a category its index.
  A (m, d)  whether a column is active: it has no condition, or its parent is active and has one of
            the values of the condition.

An index i of n + 1 grid points is at z = i / n; of an integer with log=True, at
z = log(1 + i / low) / log(1 + n / low).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from headway.arrays import Array, Bools, Ints
from headway.errors import SpaceError
from headway.parameters import Categorical, Integer, Parameter, Real
from headway.values import listed, suggestion


class Link(NamedTuple):
    """A condition: the child is active where the parent is and has one of these codes."""

    child: int
    parent: int
    codes: Array  # (k,)


@dataclass(frozen=True, slots=True)
class Columns:
    """What the vectorised conversions need to know of the parameters. `Columns.of` makes it."""

    discrete: Bools  # (d,)
    count: Array  # (d,) how many codes; 1 for a continuum
    upper: Array  # (d,) largest encoded value
    scale: Array  # (d,) code = z * scale, but for the columns in `log` and `single`
    neutral: Array  # (d,) what an inactive column holds
    single: Ints  # columns with one value that is no category: always at 0.5
    log: Ints  # (l,) columns of logarithmic integers
    low: Array  # (l,) their lower bounds
    span: Array  # (l,) their log(high / low)
    numbers: Ints  # (a,) columns that are features as they are
    categories: Ints  # (b,) the category column of each remaining feature
    levels: Array  # (b,) the code for which that feature is on
    links: tuple[Link, ...]  # parents before children
    order: tuple[int, ...]  # all columns, parents before children
    size: int | None  # the number of distinct points

    @staticmethod
    def of(names: Sequence[str], parameters: Sequence[Parameter]) -> Columns:
        links = _links(names, parameters)
        order = _order(names, links)
        counts = [p.count for p in parameters]
        category = np.array([isinstance(p, Categorical) for p in parameters])
        count = np.array([1 if k is None else k for k in counts], dtype=np.float64)
        logs = {j: p for j, p in enumerate(parameters) if isinstance(p, Integer) and p.log}
        log, low = np.array(list(logs), dtype=np.intp), np.array([p.low for p in logs.values()])
        scale = np.where(category, 1.0, np.maximum(count - 1.0, 1.0))
        scale[log] = 1.0
        categories = np.repeat(np.arange(len(names)), np.where(category, count, 0).astype(np.intp))
        levels = [np.arange(count[j]) for j in np.flatnonzero(category)]
        discrete = np.array([k is not None for k in counts])
        return Columns(
            discrete=discrete,
            count=count,
            upper=np.where(category, count - 1.0, 1.0),
            scale=scale,
            neutral=np.where(category, -1.0, 0.5),
            single=np.flatnonzero(discrete & ~category & (count == 1.0)),
            log=log,
            low=low.astype(np.float64),
            span=np.log1p((count[log] - 1.0) / low),
            numbers=np.flatnonzero(~category),
            categories=categories,
            levels=np.concatenate([np.zeros(0), *levels]),
            links=tuple(links[j] for j in order if j in links),
            order=order,
            size=_size(counts, links, order),
        )

    def codes(self, Z: Array) -> Array:  # (m, d) -> (m, d)
        """The codes of the nearest points, as if every column were active."""
        z = np.clip(Z, 0.0, self.upper)
        C = z * self.scale
        if self.log.size:
            C[:, self.log] = self.low * np.expm1(z[:, self.log] * self.span)
        if self.single.size:
            C[:, self.single] = 0.0
        return np.where(self.discrete, np.rint(C), C)

    def points(self, C: Array) -> Array:  # (m, d) -> (m, d)
        """The encoded points, inactive columns neutral whatever their code."""
        Z = C / self.scale
        if self.log.size:
            Z[:, self.log] = np.log1p(C[:, self.log] / self.low) / self.span
        if self.single.size:
            Z[:, self.single] = 0.5
        if self.links:
            return np.where(self.active(C), Z, self.neutral)
        return Z

    def active(self, C: Array) -> Bools:  # (m, d) -> (m, d)
        A = np.ones(C.shape, dtype=np.bool_)
        for child, parent, codes in self.links:
            met = (C[:, parent] == codes[:, None]).any(axis=0)
            A[:, child] = met & A[:, parent]
        return A


def _links(names: Sequence[str], parameters: Sequence[Parameter]) -> dict[int, Link]:
    """The condition of each conditional column."""
    links: dict[int, Link] = {}
    for child, (name, parameter) in enumerate(zip(names, parameters, strict=True)):
        if parameter.when is None:
            continue
        on, values = parameter.when
        where = f"{name!r}: when = ({on!r}, ...)"
        if on not in names:
            raise SpaceError(
                f"{where} names an unknown parameter; the parameters are {listed(names)}."
                f"{suggestion(on, names)}"
            )
        parent = names.index(on)
        if isinstance(parameters[parent], Real):
            raise SpaceError(
                f"{where} names a Real, which has no values to compare with. Let it depend on a "
                f"Categorical, Ordinal or Integer, or make {on!r} one of these."
            )
        try:
            codes = np.array([parameters[parent].code(value) for value in values])
        except SpaceError as error:
            raise SpaceError(f"{where} asks for a value that {on!r} cannot take: {error}") from None
        links[child] = Link(child, parent, codes)
    return links


def _order(names: Sequence[str], links: dict[int, Link]) -> tuple[int, ...]:
    """The columns by their number of ancestors, so that parents come before children."""
    depth = []
    for j in range(len(names)):
        path = [j]
        while path[-1] in links:
            path.append(links[path[-1]].parent)
            if path[-1] in path[:-1]:
                circle = " -> ".join(repr(names[i]) for i in path[path.index(path[-1]) :])
                raise SpaceError(
                    f"The conditions go in a circle: {circle}. Take `when` off one of them."
                )
        depth.append(len(path))
    return tuple(sorted(range(len(names)), key=depth.__getitem__))


def _size(counts: Sequence[int | None], links: dict[int, Link], order: Sequence[int]) -> int | None:
    """The number of distinct points, by the points below every column when it is active."""
    below: dict[int, int] = {}
    for j in reversed(order):
        count = counts[j]
        if count is None:
            return None
        by_code: dict[float, int] = {}  # the points below a value that has children
        for child, parent, codes in links.values():
            if parent == j:
                for code in codes.tolist():
                    by_code[code] = by_code.get(code, 1) * below[child]
        below[j] = count - len(by_code) + sum(by_code.values())
    return math.prod(below[j] for j in order if j not in links)
