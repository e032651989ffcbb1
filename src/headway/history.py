"""The facts: what was asked, told, failed and cancelled. Events are the only stored truth.

An event is a plain JSON object; events are only ever appended. Applying them in order gives the
records. In both the value keeps the user's sign; `facts` turns it.

    {"event": "asked" | "x0", "id", "t", "params", "why", "state", "index" (x0 only)}
    {"event": "told", "id", "t", "value", "constraints", "cost", "variance"}
    {"event": "failed", "id", "t", "error", "cost"}      {"event": "cancelled", "id", "t"}
    {"event": "known", "id", "t", "params", and the fields of told, or "error" for a failure}
    {"event": "budget", "t", "budget"}

An opening event may bring "number": how the trial is called where it came from, if not by its id.

t is in active seconds. Absent fields are None. Ids count from 0 in the order of asking.
Shapes: n finished and known trials, p running ones, d parameters, k constraints.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Literal

import numpy as np

from headway.arrays import Array, Bools, Ints
from headway.errors import CheckpointError

VERSION = 1  # of the stored format

Event = dict[str, Any]
Status = Literal["running", "told", "failed", "cancelled"]
Source = Literal["asked", "x0", "known"]
Direction = Literal["minimize", "maximize"]

STATUS: dict[str, Status] = {"told": "told", "failed": "failed", "cancelled": "cancelled"}


@dataclass(frozen=True, slots=True)
class Record:
    """One trial or known point, as far as it has come."""

    id: int
    point: tuple[tuple[str, Any], ...]  # the active parameters and their values
    z: tuple[float, ...]  # (d,) the same, encoded
    status: Status
    source: Source
    asked_at: float
    value: float | None = None
    constraints: tuple[float, ...] = ()
    cost: float | None = None
    variance: float | None = None
    error: str | None = None
    why: Any = None
    state: Mapping[str, Any] | None = None
    ended_at: float | None = None
    given_number: int | None = None  # where it came from, if that is not the id

    @property
    def number(self) -> int:
        """The trial's number for its user: the id, or Optuna's number."""
        return self.id if self.given_number is None else self.given_number

    @property
    def params(self) -> dict[str, Any]:
        """The active parameters and their values; new at each call, so they may be changed."""
        return deepcopy(dict(self.point))

    @property
    def spends(self) -> bool:
        """Whether it uses an evaluation of the budget."""
        return self.source != "known" and self.status != "cancelled"

    @property
    def feasible(self) -> bool:
        """Whether it has a value and meets every constraint."""
        return self.status == "told" and all(c <= 0 for c in self.constraints)


@dataclass(frozen=True, slots=True)
class Facts:
    """What a proposal knows of the trials; the arrays are read-only."""

    Z: Array  # (n, d) finished and known points, in the order in which they finished
    y: Array  # (n,) to minimise; nan where failed
    failed: Bools  # (n,)
    constraints: Array  # (n, k); nan where failed
    variance: Array | None  # (n,) None if none was told; where one is missing, the others' mean
    Zp: Array  # (p, d) running points, in the order in which they were asked
    ids: Ints  # (n,) the trial of each row of Z
    state: Mapping[str, Any]  # of the newest asked trial that carries one; else empty
    greedy: bool  # whether a running trial minimises the posterior mean
    n_asked: int  # trials asked so far, x0 and cancelled ones included, known points not


@dataclass(frozen=True, slots=True)
class History:
    """An immutable snapshot of the records by id, and of the order in which they finished."""

    records: tuple[Record, ...] = ()
    order: tuple[int, ...] = ()
    d: int = 0  # columns of Z
    k: int = 0  # constraints

    def __len__(self) -> int:
        return len(self.records)

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records)

    def __getitem__(self, index: int) -> Record:
        return self.records[index]

    def __repr__(self) -> str:
        states = ("told", "failed", "running", "cancelled")
        counts = ((sum(r.status == s for r in self.records), s) for s in states)
        return f"History({', '.join(f'{count} {s}' for count, s in counts if count) or 'empty'})"

    @property
    def finished(self) -> tuple[Record, ...]:
        """Told, failed and known records in the order in which they finished."""
        return tuple(self.records[i] for i in self.order)

    @property
    def running(self) -> tuple[Record, ...]:
        """Records that were asked and are neither told, failed nor cancelled."""
        return tuple(record for record in self.records if record.status == "running")

    def best(self, direction: Direction) -> Record | None:
        """The best feasible record; the earliest to finish if several are equal."""
        return self._first((r for r in self.finished if r.feasible), direction)

    def nearest_feasible(self, direction: Direction) -> Record | None:
        """`best`, or where nothing is feasible the told record that violates least in sum."""
        best = self.best(direction)
        told = [record for record in self.finished if record.status == "told"]
        return best or min(told, key=violation, default=None)

    def facts(self, direction: Direction) -> Facts:
        """The arrays that a proposal works on, with the sign turned so that it minimises."""
        sign = _sign(direction)
        done, running = self.finished, self.running
        missing = (np.nan,) * self.k
        rows = (r.constraints if r.status == "told" else missing for r in done)
        return Facts(
            Z=_matrix((r.z for r in done), len(done), self.d),
            y=_fixed(np.array([np.nan if r.value is None else sign * r.value for r in done])),
            failed=_fixed(np.array([r.status == "failed" for r in done], dtype=bool)),
            constraints=_matrix(rows, len(done), self.k),
            variance=_variances(done),
            Zp=_matrix((r.z for r in running), len(running), self.d),
            ids=_fixed(np.array([r.id for r in done], dtype=np.intp)),
            state=next((r.state for r in reversed(self.records) if r.state), {}),
            greedy=any((r.state or {}).get("greedy", False) for r in running),
            n_asked=sum(r.source != "known" for r in self.records),
        )

    def _first(self, records: Iterable[Record], direction: Direction) -> Record | None:
        sign = _sign(direction)
        return min(records, key=lambda r: sign * (r.value or 0.0), default=None)


def violation(record: Record) -> float:
    """How far the record is from meeting its constraints, in sum."""
    return sum(max(c, 0.0) for c in record.constraints)


def apply(
    event: Event,
    records: list[Record],
    order: list[int],
    *,
    encode: Callable[[Mapping[str, Any]], Array],
    why: Any = None,
) -> Record | None:
    """Append one event to the records; the record that it made or changed."""
    name = event["event"]
    if name == "budget":
        return None
    if name in ("asked", "x0", "known"):
        records.append(_opened(event, len(records), encode, why))
        if name == "known":
            order.append(event["id"])
        return records[-1]
    if name not in STATUS:
        raise ValueError(f"the event {name!r} is not one of this version")
    if event["id"] < 0:
        raise IndexError(f"the id is {event['id']}")
    record = records[event["id"]]
    if record.status in ("told", "failed") or (record.status, name) == ("cancelled",) * 2:
        raise ValueError(f"trial {record.id} is {record.status} and cannot be {name}")
    records[record.id] = _closed(record, event)
    if name != "cancelled":
        order.append(record.id)
    return records[record.id]


def parse(text: str | bytes, what: str) -> dict[str, Any]:
    """The JSON object that a stored run begins with, of this version."""
    try:
        data = parse_line(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise CheckpointError(
            f"{what} is not JSON ({error}). Allowed: what Headway wrote. Use the unchanged text."
        ) from error
    if "headway" not in data:
        raise CheckpointError(
            f"{what} is not Headway's: it names no version. Allowed: what Headway wrote. "
            f"Give another."
        )
    if data["headway"] != VERSION:
        raise CheckpointError(
            f"{what} is of version {data['headway']!r}. Allowed: {VERSION}. "
            f"Use the Headway that wrote it."
        )
    return data


def parse_line(text: str | bytes) -> dict[str, Any]:
    """One JSON object without nan or infinity, or a ValueError."""
    data = json.loads(text, parse_constant=_refuse_constant)
    if not isinstance(data, dict):
        raise ValueError(f"an object was expected, not a {type(data).__name__}")
    return data


def replay(
    events: Iterable[Event],
    *,
    encode: Callable[[Mapping[str, Any]], Array],
    read: Callable[[Event], Any],
) -> tuple[list[Record], list[int]]:
    """The records and the finishing order that the events lead to; `read` returns the reasons."""
    records: list[Record] = []
    order: list[int] = []
    for number, event in enumerate(events):
        try:
            apply(event, records, order, encode=encode, why=read(event))
        except (AttributeError, KeyError, IndexError, TypeError, ValueError) as error:
            raise CheckpointError(
                f"event {number} of the stored run cannot be read ({type(error).__name__}: "
                f"{error}): {str(event)[:200]}. Allowed: events as Headway wrote them. "
                f"Remove what was changed by hand, or begin anew."
            ) from error
    return records, order


def _opened(
    event: Event, expected: int, encode: Callable[[Mapping[str, Any]], Array], why: Any
) -> Record:
    if event["id"] != expected:
        raise ValueError(f"the id is {event['id']} where {expected} comes next")
    params: dict[str, Any] = event["params"]
    record = Record(
        id=expected,
        point=tuple(params.items()),
        z=tuple(encode(params).tolist()),
        status="running",
        source=event["event"],
        asked_at=float(event["t"]),
        why=why,
        state=event.get("state"),
        given_number=event.get("number"),
    )
    return _closed(record, event) if record.source == "known" else record


def _closed(record: Record, event: Event) -> Record:
    status = STATUS.get(event["event"]) or ("told" if "value" in event else "failed")
    return replace(
        record,
        status=status,
        value=float(event["value"]) if status == "told" else None,
        constraints=tuple(map(float, event.get("constraints", ()))),
        cost=event.get("cost"),
        variance=event.get("variance"),
        error=event.get("error"),
        ended_at=float(event["t"]),
    )


def _variances(done: tuple[Record, ...]) -> Array | None:  # (n,)
    if all(record.variance is None for record in done):
        return None
    told = np.array([np.nan if r.variance is None else r.variance for r in done])
    variances: Array = _fixed(np.where(np.isnan(told), np.nanmean(told), told))
    return variances


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number of JSON")


def _sign(direction: Direction) -> float:
    return -1.0 if direction == "maximize" else 1.0


def _matrix(rows: Iterable[tuple[float, ...]], n: int, columns: int) -> Array:  # (n, columns)
    """The rows as a matrix; four times as fast as np.array for many of them."""
    flat = np.fromiter(chain.from_iterable(rows), dtype=np.float64, count=n * columns)
    matrix: Array = _fixed(flat.reshape(n, columns))
    return matrix


def _fixed(array: Any) -> Any:
    array.setflags(write=False)
    return array
