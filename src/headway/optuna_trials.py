"""A study's trials as Headway's records: what was asked, what came of it, what it used.

The trials are the facts. What a proposal hands on is in the system attribute ASKED of its trial:

    {"groups": [{"key": of the space and settings, "params": {name: Optuna's number},
                 "state": what the next step starts from, "why": the reasons}]}

Times are in active seconds: the time in which at least one finished trial was running, so that a
night between two sessions counts for nothing.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from zlib import crc32

import numpy as np
from optuna.trial import FrozenTrial, TrialState

from headway import budget as ledger
from headway.arrays import Array
from headway.budget import Budget
from headway.history import History, Record
from headway.optuna_space import Catalogue, Group
from headway.proposal import Settings

ASKED = "headway:asked"  # system attribute
OVER = "headway:over_budget"  # system attribute: failed before it began, and spends nothing
PROPOSING = "headway:proposing"  # system attribute: its process computes a point, or waits to
COST = "cost"  # user attribute: what the trial used of Budget(cost=)
ERROR = "error"  # user attribute: why a trial failed
WHY = "why"  # user attribute: why this point, in a sentence

_ENDLESS = 1e300  # for a violation that is infinite


def counted(trials: Iterable[FrozenTrial]) -> list[FrozenTrial]:
    """The trials that use an evaluation: finished or running, and begun only once.

    A trial that Optuna began again under another number, since its process had died, is given back.
    """
    every = list(trials)
    again = {number for t in every for number in t.system_attrs.get("retry_history", ())}
    return [
        trial
        for trial in every
        if trial.state != TrialState.WAITING
        and OVER not in trial.system_attrs
        and trial.number not in again
    ]


def constraints_of(trial: FrozenTrial) -> dict[str, float]:
    """The constraints by name; those of `constraints_func` are named by their place."""
    attrs = trial.system_attrs
    found = {str(i): float(c) for i, c in enumerate(attrs.get("constraints") or ())}
    for name, value in attrs.items():
        if name.startswith("constraints:"):  # as Trial.set_constraint of Optuna 5 writes it
            found[name.partition(":")[2]] = float(value)
    return {name: min(max(value, -_ENDLESS), _ENDLESS) for name, value in found.items()}


def key_of(group: Group, settings: Settings) -> int:
    """A number that tells whether a handed-on state is of the same space, surrogate and policy."""
    parts = [group.space.to_json(), settings.surrogate.to_json(), settings.policy.to_json()]
    return crc32(json.dumps(parts, sort_keys=True).encode())


def asked_of(trial: FrozenTrial, key: int) -> Mapping[str, Any] | None:
    """What the trial was asked with for that group, if Headway proposed it."""
    entries = trial.system_attrs.get(ASKED, {}).get("groups", ())
    return next((entry for entry in entries if entry["key"] == key), None)


@dataclass(frozen=True, slots=True)
class Times:
    """Active time: the union of the finished trials' intervals, in seconds since the first."""

    starts: Array  # (k,) of the merged intervals
    ends: Array  # (k,)
    origin: datetime | None

    @classmethod
    def of(cls, trials: Iterable[FrozenTrial], *, now: datetime | None = None) -> Times:
        """`now` stands for the end of a trial that has none."""
        spans = sorted(
            (t.datetime_start, end)
            for t in trials
            if t.datetime_start is not None and (end := t.datetime_complete or now) is not None
        )
        merged: list[list[float]] = []
        for start, end in spans:
            first = (start - spans[0][0]).total_seconds()
            last = (end - spans[0][0]).total_seconds()
            if merged and first <= merged[-1][1]:
                merged[-1][1] = max(merged[-1][1], last)
            else:
                merged.append([first, last])
        table = np.array(merged).reshape(-1, 2)
        return cls(table[:, 0], table[:, 1], spans[0][0] if spans else None)

    @property
    def total(self) -> float:
        return float(np.sum(self.ends - self.starts))

    def at(self, moment: datetime | None) -> float:
        """The active seconds until then."""
        if moment is None or self.origin is None:
            return 0.0
        t = (moment - self.origin).total_seconds()
        return float(np.sum(np.clip(t - self.starts, 0.0, self.ends - self.starts)))


@dataclass(frozen=True, slots=True)
class Reading:
    """The trials that count, by number, and what they say beside their points.

    Histories of different groups share it.
    """

    trials: tuple[FrozenTrial, ...]
    minimize: bool
    names: tuple[str, ...]  # of the constraints
    best: float | None  # of the complete values
    middle: float | None
    gains: Mapping[int, float]  # by step: how far complete values lie below what was reported then
    times: Times | None  # where the budget reads them
    unpriced: float | None  # the cost of a trial that has none, where the budget counts costs

    @classmethod
    def of(
        cls, trials: Sequence[FrozenTrial], budget: Budget, *, minimize: bool, timed: bool = False
    ) -> Reading:
        known = tuple(sorted(counted(trials), key=lambda trial: trial.number))
        complete = [t for t in known if t.state == TrialState.COMPLETE]
        values = sorted((float(t.values[0]) for t in complete if t.values), reverse=not minimize)
        timed = timed or budget.seconds is not None or budget.cost is not None
        return cls(
            trials=known,
            minimize=minimize,
            names=tuple(sorted({name for t in complete for name in constraints_of(t)})),
            best=values[0] if values else None,
            middle=values[len(values) // 2] if values else None,
            gains=_gains(complete, {t.last_step for t in known if t.state == TrialState.PRUNED}),
            times=Times.of(known) if timed else None,
            unpriced=None if budget.cost is None else mean_cost(known),
        )

    def value_of(self, trial: FrozenTrial) -> float | str:
        """The value of a finished trial to learn from, or why it has none.

        A pruned trial has its last intermediate value, less what complete trials gained after that
        step (the median), but is no better than their middle: it was cut short for being worse.
        """
        if trial.state == TrialState.FAIL:
            return str(trial.user_attrs.get(ERROR, "")) or "the trial failed"
        value = float(trial.values[0]) if trial.values else math.nan
        if trial.state == TrialState.PRUNED:
            if self.middle is None or not math.isfinite(value) or self.middle == self.best:
                return f"pruned at step {trial.last_step}" if trial.values else "pruned"
            value -= self.gains.get(trial.last_step or 0, 0.0)
            value = max(value, self.middle) if self.minimize else min(value, self.middle)
        if not math.isfinite(value):
            return f"the value is {value}"
        given = constraints_of(trial)
        missing = [name for name in self.names if not math.isfinite(given.get(name, math.nan))]
        return f"the constraint {missing[0]!r} has no value" if missing else value

    def cost_of(self, trial: FrozenTrial) -> float | None:
        """The cost of a finished trial; a failure whose cost is unknown is charged the mean."""
        return self.unpriced if (cost := cost_of(trial)) is None else cost


@dataclass(slots=True)
class Encoded:
    """The points of a group's finished trials: they do not change, so they are encoded once."""

    group: Group
    points: dict[int, tuple[float, ...] | None] = field(default_factory=dict)  # by trial number
    cache: dict[str, Any] = field(default_factory=dict)  # of `propose`

    def point(self, trial: FrozenTrial, asked: Mapping[str, Any] | None) -> Any:
        """The encoded point, or None where it is not of the group."""
        if trial.number in self.points:
            return self.points[trial.number]
        values = self.values(trial, asked, begun=trial.state == TrialState.RUNNING)
        point = None if values is None else tuple(self.group.space.encode(values).tolist())
        if trial.state != TrialState.RUNNING:
            self.points[trial.number] = point
        return point

    def values(
        self, trial: FrozenTrial, asked: Mapping[str, Any] | None, *, begun: bool
    ) -> dict[str, Any] | None:
        """The point as the space has it; of one only begun what it was asked with, and fixed.

        A running trial has not come to all its parameters, nor had one that was given back.
        """
        params = trial.params
        if begun:
            known = self.group.distributions
            numbers = asked["params"].items() if asked else ()
            point = {name: known[name].to_external_repr(number) for name, number in numbers}
            params = point | trial.system_attrs.get("fixed_params", {}) | params
        return self.group.values(params)


def history_of(reading: Reading, encoded: Encoded, key: int) -> History:
    """The records of every trial that counts, by position; `order` has those that are facts.

    A trial whose parameters are not those of the group uses the budget and says nothing: it is
    closed, and not in the order.
    """
    records: list[Record] = []
    ended: list[tuple[datetime, int]] = []
    for position, trial in enumerate(reading.trials):
        asked = asked_of(trial, key)
        z = encoded.point(trial, asked)
        record = record_of(reading, trial, position, z, asked)
        if record.status != "running" and z is not None:
            ended.append((trial.datetime_complete or datetime.min, position))
        records.append(record)
    order = tuple(position for _, position in sorted(ended))
    k = len(reading.names)
    return History(tuple(records), order, encoded.group.space.d, k)


def record_of(
    reading: Reading,
    trial: FrozenTrial,
    position: int,
    z: tuple[float, ...] | None,
    asked: Mapping[str, Any] | None,
) -> Record:
    """One trial as a record."""
    running = trial.state == TrialState.RUNNING
    value = reading.value_of(trial) if not running else "running"
    told = isinstance(value, float)
    given = constraints_of(trial) if told else {}
    times = reading.times
    return Record(
        id=position,
        point=(),
        z=z or (),
        status="running" if running and z is not None else "told" if told else "failed",
        source="asked" if ASKED in trial.system_attrs else "x0",
        asked_at=times.at(trial.datetime_start) if times else 0.0,
        value=value if isinstance(value, float) else None,
        constraints=tuple(given[name] for name in reading.names) if told else (),
        cost=None if running else reading.cost_of(trial),
        error=None if told or running else str(value),
        state=handed_on(asked["state"], len(reading.names)) if asked else None,
        ended_at=times.at(trial.datetime_complete) if times and not running else 0.0,
    )


def handed_on(state: Mapping[str, Any] | None, k: int) -> dict[str, Any] | None:
    """The state, with as many fits as there are models now."""
    if state is None or len(state.get("fits", ())) in (0, 1 + k):
        return dict(state) if state else None
    return {**state, "fits": [state["fits"][0], *[None] * k]}


def cost_of(trial: FrozenTrial) -> float | None:
    """The cost that the objective set, if it is a number."""
    given = trial.user_attrs.get(COST)
    if isinstance(given, bool) or not isinstance(given, int | float):
        return None
    return float(given) if math.isfinite(given) and given >= 0 else None


def _gains(complete: Iterable[FrozenTrial], steps: Iterable[int | None]) -> dict[int, float]:
    gaps: dict[int, list[float]] = {step: [] for step in steps if step is not None}
    for trial in complete if gaps else ():
        for step in gaps.keys() & trial.intermediate_values.keys():
            gap = trial.intermediate_values[step] - float(trial.values[0])  # complete: it has one
            if math.isfinite(gap):
                gaps[step].append(gap)
    return {step: float(np.median(found)) for step, found in gaps.items() if found}


def mean_cost(trials: Iterable[FrozenTrial]) -> float:
    """The mean of the costs that are known; 0 without any."""
    known = [cost for trial in trials if (cost := cost_of(trial)) is not None]
    return math.fsum(known) / len(known) if known else 0.0


def spent_of(budget: Budget, trials: Sequence[FrozenTrial], current: FrozenTrial) -> ledger.Spent:
    """What a study has used now; `current` is the trial that begins or ends in this process.

    Of trials that run elsewhere only the evaluation counts: if its process died, it runs for ever.
    """
    known = counted(trials)
    finished = [trial for trial in known if trial.state != TrialState.RUNNING]
    seconds = cost = 0.0
    if budget.seconds is not None:
        seconds = Times.of([*finished, current], now=datetime.now()).total
    if budget.cost is not None:
        mean = mean_cost(finished)
        costs = [*map(cost_of, finished), cost_of(current) or 0.0]
        cost = math.fsum(mean if paid is None else paid for paid in costs)
    return ledger.Spent(len(known), len(known) - len(finished), seconds, cost)


@dataclass(slots=True)
class Memory:
    """What is kept of a study: it only saves time, but for whether this process has met its end."""

    met: bool = False
    ended: bool = False
    catalogue: Catalogue = field(default_factory=Catalogue)
    encoded: dict[int, Encoded] = field(default_factory=dict)
    ends: dict[int, datetime | None] = field(default_factory=dict)  # of finished trials, by number

    def take(self, trials: Sequence[FrozenTrial]) -> None:
        """Take note of the trials that have finished since."""
        finished = [trial for trial in trials if trial.state.is_finished()]
        same = all(
            self.ends.get(t.number, t.datetime_complete) == t.datetime_complete for t in finished
        )
        if len(finished) < len(self.ends) or not same:  # another study of that name
            self.catalogue, self.encoded, self.ends = Catalogue(), {}, {}
        for trial in finished:
            if trial.number not in self.ends:
                self.ends[trial.number] = trial.datetime_complete
                if trial.state == TrialState.COMPLETE:
                    self.catalogue.add(trial.params, trial.distributions)
