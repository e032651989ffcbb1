"""Optuna's distributions <-> a headway Space: what belongs together, and when each exists.

Optuna learns a space from the trials, one suggestion at a time. What the complete trials suggested
says which parameters are there in which trials (a bit mask per parameter, bit i for the i-th
complete trial). Parameters with the same mask form a block. A block that is there for some values
of a category, or from some value of an integer on, and for no other, becomes conditional on it;
every other block begins a group. A group is one space and has one model. What has no fixed
distribution, or appears in too few trials, is in no group and left to independent sampling.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from headway.arrays import Array
from headway.errors import SpaceError
from headway.parameters import Categorical, Integer, Ordinal, Parameter, Real
from headway.space import Space
from headway.values import canonical

# Each group is a model of its own; more than these would cost more time than they save trials.
MOST_GROUPS = 8
# A wider integer tells trials apart by chance.
_WIDEST_PARENT = 64

When = tuple[str, tuple[Any, ...]] | None


@dataclass(frozen=True)
class Group:
    """Parameters that are modelled together: their space, and how Optuna writes their values."""

    space: Space
    distributions: Mapping[str, BaseDistribution]

    def values(self, params: Mapping[str, Any]) -> dict[str, Any] | None:
        """The point as the space has it; None where an active parameter is missing or outside."""
        values: dict[str, Any] = {}
        codes: dict[str, float] = {}
        for name, parameter, parent, active in self._parents_first:
            if parent is not None and codes.get(parent) not in active:
                continue
            if name not in params:
                return None
            distribution, value = self.distributions[name], params[name]
            try:
                if isinstance(distribution, CategoricalDistribution):
                    value = parameter.value(float(distribution.to_internal_repr(value)))
                codes[name] = parameter.code(value)
            except ValueError:  # SpaceError is one
                return None
            values[name] = value
        return values

    def restricted(self, wanted: Collection[str]) -> Group:
        """The same without the other parameters; what depended on one of them is always there."""
        parameters = {
            name: replace(parameter, when=None)
            if parameter.when and parameter.when[0] not in wanted
            else parameter
            for name, parameter in self._parameters.items()
            if name in wanted
        }
        return Group(Space.of(parameters), {name: self.distributions[name] for name in parameters})

    def decode(self, z: Array) -> dict[str, Any]:  # (d,)
        """The point as Optuna's values, without its inactive parameters."""
        params = self.space.decode(z)
        for name, value in params.items():
            distribution = self.distributions[name]
            if isinstance(distribution, CategoricalDistribution):
                params[name] = distribution.choices[int(self._parameters[name].code(value))]
        return params

    @cached_property
    def _parameters(self) -> dict[str, Parameter]:
        return dict(zip(self.space.names, self.space.parameters, strict=True))

    @cached_property
    def _parents_first(self) -> list[tuple[str, Parameter, str | None, frozenset[float]]]:
        known: dict[str, tuple[str, Parameter, str | None, frozenset[float]]] = {}
        waiting = dict(self._parameters)
        while waiting:
            for name, parameter in list(waiting.items()):
                parent, values = parameter.when or (None, ())
                if parent is None or parent in known:
                    codes = (self._parameters[parent].code(v) for v in values) if parent else ()
                    known[name] = (name, waiting.pop(name), parent, frozenset(codes))
        return list(known.values())


def distributions_of(space: object) -> dict[str, BaseDistribution]:
    """Optuna's distribution of each parameter of a headway space, conditional ones included."""
    given = Space.of(space)
    pairs = zip(given.names, given.parameters, strict=True)
    return {name: _distribution_of(parameter) for name, parameter in pairs}


def group_of(space: object) -> Group:
    """The group of a space that is known before the first trial."""
    return Group(Space.of(space), distributions_of(space))


@dataclass(slots=True)
class Catalogue:
    """What the complete trials of a study suggested, in which of them, with which values."""

    distributions: dict[str, BaseDistribution] = field(default_factory=dict)
    changing: set[str] = field(default_factory=set)  # names with several distributions
    present: dict[str, int] = field(default_factory=dict)  # bit i: in the i-th complete trial
    taken: dict[str, dict[float, int]] = field(default_factory=dict)  # the same for each value
    rows: int = 0
    _made: dict[str, Group] = field(default_factory=dict)

    def add(self, params: Mapping[str, Any], distributions: Mapping[str, BaseDistribution]) -> None:
        """Take note of one complete trial."""
        bit = 1 << self.rows
        self.rows += 1
        for name, distribution in distributions.items():
            known = self.distributions.setdefault(name, distribution)
            if known is not distribution and known != distribution:
                self.changing.add(name)
            self.present[name] = self.present.get(name, 0) | bit
            if _may_decide(known) and name not in self.changing:
                code = float(distribution.to_internal_repr(params[name]))
                values = self.taken.setdefault(name, {})
                values[code] = values.get(code, 0) | bit

    def groups(self, wanted: Collection[str] | None = None) -> tuple[Group, ...]:
        """The groups of the wanted parameters, those of the most trials first."""
        usable = [
            name
            for name in sorted(self.distributions)
            if (wanted is None or name in wanted)
            and name not in self.changing
            and not self.distributions[name].single()
            and _parameter_of(self.distributions[name]) is not None
        ]
        whens = {name: self._when(name, usable) for name in usable}
        roots: dict[int, list[str]] = {}
        for name in usable:
            top = name
            while (when := whens[top]) is not None:
                top = when[0]
            roots.setdefault(self.present[top], []).append(name)
        every = (1 << self.rows) - 1
        lasting = [mask for mask in roots if mask == every or mask.bit_count() > 1]
        lasting.sort(key=lambda mask: (-mask.bit_count(), roots[mask]))
        return tuple(self._group(roots[mask], whens) for mask in lasting[:MOST_GROUPS])

    def chosen(
        self, given: Group | None, wanted: Mapping[str, BaseDistribution] | None
    ) -> tuple[Group, ...]:
        """The groups of what Optuna wants (None: of all); `given` is a space known beforehand."""
        if wanted is None:
            return self.groups() if given is None else (given,)
        if given is None:
            known = self.distributions
            return self.groups([name for name in wanted if known.get(name) == wanted[name]])
        if given.distributions.keys() <= wanted.keys():
            return (given,)
        return (given.restricted(wanted),) if given.distributions.keys() & wanted.keys() else ()

    def _when(self, child: str, usable: list[str]) -> When:
        """The parameter whose value decides whether the child is there, and those values."""
        mask = self.present[child]
        found: list[tuple[tuple[int, bool, str], When]] = []
        for name in usable:
            above = self.present[name]
            if above == mask or above & mask != mask or name not in self.taken:
                continue
            codes = self._deciding(name, mask)
            if codes:
                label = _parameter_of(self.distributions[name])
                values = tuple(label.value(code) for code in codes) if label else ()
                integer = isinstance(self.distributions[name], IntDistribution)
                found.append(((above.bit_count(), integer, name), (name, values)))
        return min(found, key=lambda entry: entry[0])[1] if found else None

    def _deciding(self, name: str, mask: int) -> list[float]:
        """The codes of a parameter at which the trials of the mask, and no others, are; or none."""
        inside: list[float] = []
        outside: list[float] = []
        for value, rows in self.taken[name].items():
            if rows & mask not in (0, rows):
                return []
            (inside if rows & mask else outside).append(value)
        distribution = self.distributions[name]
        if not isinstance(distribution, IntDistribution):
            return sorted(inside)
        # Of an integer only "from here on": `for i in range(n_layers)`. All its values between the
        # ones seen count as active; where that is wrong, the next trials say so.
        count = (distribution.high - distribution.low) // distribution.step + 1
        to_code = [(v - distribution.low) / distribution.step for v in outside]
        if not inside or min(inside) < max(outside):
            return []
        return [float(code) for code in range(int(max(to_code)) + 1, count)]

    def _group(self, names: list[str], whens: Mapping[str, When]) -> Group:
        key = canonical([[name, whens[name]] for name in names])
        if key not in self._made:
            parameters = {}
            for name in names:
                parameter = _parameter_of(self.distributions[name], when=whens[name])
                if parameter is not None:
                    parameters[name] = parameter
            distributions = {name: self.distributions[name] for name in parameters}
            self._made[key] = Group(Space.of(parameters), distributions)
        return self._made[key]


def _may_decide(distribution: BaseDistribution) -> bool:
    """Whether other parameters may depend on it."""
    if isinstance(distribution, IntDistribution):
        return (distribution.high - distribution.low) // distribution.step < _WIDEST_PARENT
    return isinstance(distribution, CategoricalDistribution)


def _parameter_of(distribution: BaseDistribution, *, when: When = None) -> Parameter | None:
    """The parameter that a distribution stands for; None where Headway has none."""
    try:
        return _made_of(distribution, when)
    except SpaceError:
        return None


def unknown_of(distribution: BaseDistribution) -> str:
    """Why a distribution stands for no parameter; "" where it does."""
    try:
        return "" if _made_of(distribution, None) else "it is of a kind that is unknown"
    except SpaceError as error:
        return f"its range is none that can be modelled ({error})"


def _made_of(distribution: BaseDistribution, when: When) -> Parameter | None:
    if isinstance(distribution, FloatDistribution):
        low, high = distribution.low, distribution.high
        return Real(low, high, log=distribution.log, step=distribution.step, when=when)
    if isinstance(distribution, IntDistribution):
        step = None if distribution.step == 1 else distribution.step
        low, high = distribution.low, distribution.high
        return Integer(low, high, log=distribution.log, step=step, when=when)
    if isinstance(distribution, CategoricalDistribution):
        return Categorical(_labels(distribution.choices), when=when)
    return None


def _labels(choices: tuple[Any, ...]) -> list[Any]:
    """The choices where JSON can hold them and they differ; else a text for each."""
    try:
        return list(Categorical(choices).choices)
    except SpaceError:
        texts = [repr(choice) for choice in choices]
        return [text if texts.count(text) == 1 else f"{i}: {text}" for i, text in enumerate(texts)]


def _distribution_of(parameter: Parameter) -> BaseDistribution:
    if isinstance(parameter, Real):
        return FloatDistribution(
            parameter.low, parameter.high, log=parameter.log, step=parameter.step
        )
    if isinstance(parameter, Integer):
        step = parameter.step or 1
        return IntDistribution(parameter.low, parameter.high, log=parameter.log, step=step)
    choices = parameter.choices if isinstance(parameter, Categorical) else None
    choices = parameter.values if isinstance(parameter, Ordinal) else choices
    return CategoricalDistribution(choices or ())
