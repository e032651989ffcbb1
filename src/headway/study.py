"""The study file: TOML read into a frozen value, every error with the line and key it is about.

    budget = 60                                       # or "8 h", or [budget] with several limits
    command = "python simulate.py --x {x} --n {n}"    # or a list; run without a shell
    value = "last number"

    [parameters]
    x = [-5.0, 10.0]
    n = {type = "integer", low = 1, high = 8}

docs/command-line.md explains every key. The data as parsed are kept, without the storage, since
they go with the study into the storage, where workers of other machines find them.
"""

from __future__ import annotations

import json
import math
import shlex
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from headway import inputs
from headway.budget import Budget
from headway.errors import BudgetError, SpaceError, StudyError
from headway.history import Direction
from headway.outcome import Outcome, positive
from headway.parameters import Categorical, Integer, Ordinal, Parameter, Real
from headway.shell.command import Template, as_text
from headway.shell.entries import Table, seconds
from headway.shell.lines import locate
from headway.shell.reading import Reading
from headway.space import Space
from headway.surrogate import Surrogate
from headway.values import listed

_ONE_NUMBER = Reading("number")


@dataclass(frozen=True, slots=True)
class Limit:
    """A constraint: a number that was read must be at most `most`, or at least `least`."""

    name: str
    reading: Reading
    most: float | None = None
    least: float | None = None

    def excess(self, output: str) -> float:
        """How far the limit is passed in what a command printed."""
        return self.past(self.reading.read(output))

    def past(self, number: float) -> float:
        """How far a number passes the limit; met when <= 0."""
        return number - self.most if self.most is not None else (self.least or 0.0) - number


@dataclass(frozen=True, slots=True)
class Study:
    """What is to be optimised, with what, and how far."""

    name: str
    space: Space
    budget: Budget
    goal: Direction = "minimize"
    command: Template | None = None
    stdin: Literal["nothing", "json"] = "nothing"
    value: Reading = _ONE_NUMBER
    constraints: tuple[Limit, ...] = ()
    cost: Reading | None = None
    timeout: float | None = None  # seconds, for each attempt
    retries: int = 0
    workers: int = 1
    storage: str | None = None  # None: a journal beside the file
    seed: int = 0
    noise: float | Literal["auto"] = "auto"
    design: int | None = None
    start: tuple[Mapping[str, Any], ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict, repr=False)  # as parsed, storage left out

    @classmethod
    def of(cls, data: Mapping[str, Any], *, file: str, text: str = "", name: str = "") -> Study:
        """The study that parsed data describe; `file` and `text` are for the errors alone."""
        return _study(Table(data, file, locate(text)), name)

    def read(self, output: str) -> Outcome:
        """The outcome in what the command printed, or a TellError."""
        limits = [limit.excess(output) for limit in self.constraints]
        cost = self.cost.read(output) if self.cost else None
        return Outcome(self.value.read(output), limits, positive(cost, "the cost"))

    def arguments(self, params: Mapping[str, Any], number: int) -> list[str]:
        """The command of one trial."""
        if self.command is None:
            raise StudyError(
                "the study file has no command. Allowed: command = [...] to run, or `headway ask` "
                "and `headway tell` by hand. Add the command."
            )
        return self.command.fill(params, number)

    def input(self, params: Mapping[str, Any]) -> str | None:
        """What a command reads on its standard input."""
        return json.dumps(dict(params)) if self.stdin == "json" else None


def load(path: Path) -> Study:
    """The study of a file."""
    try:
        text = path.read_bytes().decode()
    except OSError as error:
        raise StudyError(
            f"the study file {str(path)!r} cannot be read: {error.strerror}. Give the path of one, "
            f"or write one with `headway init`."
        ) from error
    except UnicodeDecodeError as error:
        raise StudyError(
            f"the study file {str(path)!r} is not UTF-8: {error}. Save it so."
        ) from None
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise StudyError(
            f"{path.name} is not TOML: {error}. Texts need quotes, and a table such as "
            f"[parameters] comes after the keys before it."
        ) from None
    return Study.of(data, file=path.name, text=text, name=path.stem)


def _study(table: Table, name: str) -> Study:
    table.only(*_TOP)
    space = _space(table)
    command, stdin = _command(table, space)
    limits = _limits(table, by_hand=command is None)
    study = Study(
        name=table.take("name", name, kind=str) or name,
        space=space,
        budget=_budget(table),
        goal=table.read("goal", _goal, "minimize"),
        command=command,
        stdin=stdin,
        value=table.read("value", Reading.of, _ONE_NUMBER),
        constraints=limits,
        cost=table.read("cost", Reading.of),
        timeout=table.read("timeout", seconds),
        retries=table.read("retries", lambda given: inputs.whole("retries", given, 0), 0),
        workers=table.read("workers", lambda given: inputs.whole("workers", given, 1), 1),
        storage=table.take("storage", kind=str),
        seed=table.read("seed", lambda given: inputs.whole("seed", given, 0), 0),
        noise=table.read("noise", lambda given: Surrogate(noise=given).noise, "auto"),
        design=table.read("design", lambda given: inputs.whole("design", given, 1)),
        start=tuple(table.read("start", lambda given: inputs.points(given, space), [])),
        data={key: value for key, value in table.data.items() if key != "storage"},
    )
    if study.budget.cost is not None and study.cost is None and command is not None:
        table.refuse("a budget of cost needs the cost of each run. Add cost = ...", "budget")
    evaluations = study.budget.evaluations
    if evaluations is not None and len(study.start) > evaluations:
        table.refuse(
            f"{len(study.start)} points to start with are more than the {evaluations} evaluations "
            f"of the budget. Remove some, or raise the budget",
            "start",
        )
    return study


def _goal(given: Any) -> Direction:
    if given not in ("minimize", "maximize"):
        raise StudyError(
            f'goal is {given!r}. Allowed: "minimize" or "maximize". Write one of them.'
        )
    return inputs.direction(given)


def _budget(table: Table) -> Budget:
    given = table.take("budget")
    if given is None:
        table.refuse(
            "the key 'budget' is missing: how many evaluations you can afford. Write budget = 60, "
            'or budget = "8 h"'
        )
    if isinstance(given, dict):
        inner = table.within("budget", given)
        inner.only("evaluations", "time", "cost")
        limits = {
            "evaluations": inner.take("evaluations"),
            "seconds": inner.read("time", seconds),
            "cost": inner.take("cost"),
        }
        with _budgeted(table):
            return Budget(**limits)
    if isinstance(given, str):
        return Budget(seconds=table.read("budget", seconds))
    with _budgeted(table):
        return Budget.of(given)


@contextmanager
def _budgeted(table: Table) -> Iterator[None]:
    """The same refusals, with the way out that a file has."""
    try:
        yield
    except BudgetError as error:
        text = str(error).partition(" Allowed:")[0]
        table.refuse(
            f"{text} Allowed: evaluations as a whole number of at least 1, a time, a cost, or "
            f'several. Write budget = 60, budget = "8 h", or budget = {{evaluations = 60, '
            f'time = "8 h", cost = 200}}',
            "budget",
        )


def _command(table: Table, space: Space) -> tuple[Template | None, Literal["nothing", "json"]]:
    stdin = table.take("stdin", "nothing", kind=str)
    if stdin not in ("nothing", "json"):
        table.refuse(f'{stdin!r} is unknown. Allowed: "nothing" or "json"', "stdin")
    given = table.take("command", kind=(str, list))
    if given is None:
        return None, stdin
    with table.at("command"):
        template = Template(split(given))
        template.check(space.names, all_used=stdin == "nothing")
        pairs = zip(space.names, space.parameters, strict=True)
        template.check_flags(name for name, parameter in pairs if parameter.when is not None)
    return template, stdin


def split(given: str | list[Any]) -> tuple[tuple[str, ...], ...]:
    """A text as a shell would split it; in a list, a list within is a group."""
    if isinstance(given, str):
        try:
            return tuple((part,) for part in shlex.split(given))
        except ValueError as error:
            raise StudyError(
                f"{given!r} cannot be split into arguments: {error}. Close the quotes, or write "
                f'a list: ["python", "simulate.py", "{{x}}"].'
            ) from None
    groups = [entry if isinstance(entry, list) else [entry] for entry in given]
    for group in groups:
        for argument in group:
            if not isinstance(argument, str | int | float) or isinstance(argument, bool):
                raise StudyError(f"the argument {argument!r} is no text. Write it in quotes.")
    return tuple(tuple(as_text(argument) for argument in group) for group in groups)


def _space(table: Table) -> Space:
    inner = table.table("parameters")
    if inner is None:
        table.refuse(
            "the table [parameters] is missing. Write [parameters], and below it a line such as "
            "x = [0.0, 1.0] for each"
        )
    for name in inner.data:
        if set(name) & set("{}:!"):
            inner.refuse("a name cannot have braces, ':' or '!' in it. Choose another", name)
    parameters = {name: _parameter(inner, name) for name in inner.data}
    try:
        return Space.of(parameters)
    except SpaceError as error:  # of a condition; it begins with the parameter's name
        guilty = (name for name in inner.data if str(error).startswith(repr(name)))
        return inner.refuse(str(error), next(guilty, None))


def _parameter(table: Table, name: str) -> Parameter:
    given = table.take(name, kind=(list, dict))
    if isinstance(given, list):
        given = _short(table, name, given)
    inner = table.within(name, given)
    kind = inner.take("type", kind=str) or _kind(inner)
    keys = _KEYS.get(kind)
    if keys is None:
        inner.refuse(f"{kind!r} is no kind of parameter. Allowed: {listed(_KEYS)}", "type")
    inner.only("type", *keys, "when")
    taken = {key: inner.take(key) for key in keys}
    arguments = {key: value for key, value in taken.items() if key in inner}
    for value in arguments.get("choices", []) or arguments.get("values", []):
        if not isinstance(value, str | int | float):
            inner.refuse(f"{value!r} cannot be passed to a command. Write texts or numbers")
    when = inner.table("when")
    if when is not None:
        if len(when.data) != 1:
            inner.refuse('one parameter decides. Write when = {alloy = "steel"}', "when")
        arguments["when"] = next(iter(when.data.items()))
    missing = [key for key in keys if key not in ("log", "step") and key not in arguments]
    if missing:
        inner.refuse(f"the key {missing[0]!r} is missing. A parameter of type {kind!r} needs it")
    with inner.at():
        parameter: Parameter = _CLASSES[kind](**arguments)
        return parameter


def _short(table: Table, name: str, given: list[Any]) -> dict[str, Any]:
    """[low, high] in decimals is a real; anything else would be a guess."""
    if len(given) == 2 and all(isinstance(end, float) for end in given):
        return {"type": "real", "low": given[0], "high": given[1]}
    if len(given) == 2 and all(isinstance(end, int | float) for end in given):
        low, high = given
        table.refuse(
            f"[{low}, {high}] may mean whole numbers or all numbers between. Write "
            f'{{type = "integer", low = {low}, high = {high}}}, or [{float(low)}, {float(high)}]',
            name,
        )
    table.refuse(
        f"{given!r} is no range. Write [low, high] with decimals, {{choices = [...]}} for names, "
        f"or {{values = [...]}} for values in their order",
        name,
    )


def _kind(table: Table) -> str:
    """The kind where the keys say it."""
    if "choices" in table:
        return "categorical"
    if "values" in table:
        return "ordinal"
    bounds = [table.data.get(key) for key in ("low", "high")]
    if any(isinstance(end, float) for end in bounds):
        return "real"
    return table.refuse(
        'the type cannot be told from the keys. Add type = "real", "integer", "categorical" or '
        '"ordinal"'
    )


def _limits(table: Table, *, by_hand: bool) -> tuple[Limit, ...]:
    inner = table.table("constraints")
    return () if inner is None else tuple(_limit(inner, name, by_hand) for name in inner.data)


def _limit(table: Table, name: str, by_hand: bool) -> Limit:
    inner = table.within(name, table.take(name, kind=dict))
    inner.only("max", "min", "read", "regex", "json")
    ends = (("most", "max"), ("least", "min"))
    bounds = {field: inner.take(key, kind=(int, float)) for field, key in ends}
    ways = {key: inner.take(key) for key in ("read", "regex", "json") if key in inner}
    with inner.at():  # what a person tells is not read
        reading = _ONE_NUMBER if by_hand and not ways else Reading.of(ways.get("read", ways))
    for key in ("max", "min"):
        if key in inner and not math.isfinite(inner.data[key]):
            inner.refuse(f"{inner.data[key]} is no limit. Write a finite number", key)
    if sum(bound is not None for bound in bounds.values()) != 1:
        inner.refuse(f"a constraint has one limit. Write {name} = {{json = {name!r}, max = 250}}")
    return Limit(name, reading, **{k: None if v is None else float(v) for k, v in bounds.items()})


_CLASSES: dict[str, Any] = {
    "real": Real,
    "integer": Integer,
    "categorical": Categorical,
    "ordinal": Ordinal,
}
_TOP = (
    *("name", "goal", "budget", "command", "stdin", "value", "constraints", "cost", "timeout"),
    *("retries", "workers", "storage", "seed", "noise", "design", "start", "parameters"),
)
_NUMBER = ("low", "high", "log", "step")
_KEYS = {"real": _NUMBER, "integer": _NUMBER, "categorical": ("choices",), "ordinal": ("values",)}


def require_same(study: Study, other: Study) -> None:
    """Refuse to continue a study whose trials would mean something else."""
    found = study.space.difference(other.space)
    if found is None and study.goal != other.goal:
        found = f"goal is {study.goal!r} here and {other.goal!r} there"
    names = [[limit.name for limit in one.constraints] for one in (study, other)]
    if found is None and names[0] != names[1]:
        found = f"the constraints are {names[0]} here and {names[1]} there"
    if found is not None:
        raise StudyError(
            f"the study {study.name!r} in the storage is another one: {found} (this space: the "
            f"study file's; the other: the storage's). Allowed: the same parameters, goal and "
            f"constraints; all else may change. Undo the change, or give the study a new name."
        )
