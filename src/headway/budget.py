"""What may be spent, what is spent, and how far along the run is: the sole reader of the budget.

Progress p is in [0, 1]: the largest of the fractions used. Evaluations count when they are asked
(told, failed and running alike). Seconds and cost count only what finished trials recorded, so that
progress is a function of the history and a replay proposes the same points. p0 is p at the ask that
first had the whole initial design behind it.
"""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from headway.errors import BudgetError
from headway.history import History, Record

WAY_OUT = "Give an int (evaluations), a timedelta, or headway.Budget(evaluations=, seconds=, cost=)"


@dataclass(frozen=True, slots=True)
class Budget:
    """How much may be spent: evaluations, seconds of active wall time, cost, or several at once.

    The run ends when the first of them is used up.
    """

    evaluations: int | None = None
    seconds: float | None = None
    cost: float | None = None

    def __post_init__(self) -> None:
        if self.evaluations is None and self.seconds is None and self.cost is None:
            raise BudgetError(f"a budget with nothing in it would never end. {WAY_OUT}.")
        if self.evaluations is not None:
            object.__setattr__(self, "evaluations", _whole(self.evaluations))
        for name in ("seconds", "cost"):
            given = getattr(self, name)
            if given is not None:
                object.__setattr__(self, name, _amount(name, given))

    @classmethod
    def of(cls, budget: object) -> Budget:
        """The budget that an int (evaluations), a timedelta or a Budget stands for."""
        if isinstance(budget, cls):
            return budget
        if isinstance(budget, timedelta):
            return cls(seconds=budget.total_seconds())
        if isinstance(budget, numbers.Number):
            return cls(evaluations=budget)  # type: ignore[arg-type]  # validated there
        raise BudgetError(
            f"budget is {budget!r}, of type {type(budget).__name__}. Allowed: a whole number of "
            f"evaluations, a timedelta or a Budget. {WAY_OUT}."
        )

    def to_json(self) -> dict[str, Any]:
        """The limits that are set, as plain JSON."""
        limits = (("evaluations", self.evaluations), ("seconds", self.seconds), ("cost", self.cost))
        return {name: limit for name, limit in limits if limit is not None}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Budget:
        """The budget that `to_json` wrote."""
        return cls(**data)


@dataclass(frozen=True, slots=True)
class Spent:
    """What a history has used: `evaluations` counts told, failed and running trials."""

    evaluations: int
    running: int
    seconds: float
    cost: float


@dataclass(frozen=True, slots=True)
class Clock:
    """What a proposal may know of the budget."""

    progress: float  # p, the trial being proposed not included
    design_progress: float  # p0, equal to p while the design lasts


def spent(history: History) -> Spent:
    """What the trials of a history have used; known points and cancelled trials use nothing."""
    ledger = [record for record in history.records if record.spends]
    return _sum(ledger, sum(record.status == "running" for record in ledger))


def progress(budget: Budget, used: Spent) -> float:
    """The largest of the fractions used, in [0, 1]."""
    shares = (
        0.0 if limit is None else amount / limit
        for limit, amount in (
            (budget.evaluations, used.evaluations),
            (budget.seconds, used.seconds),
            (budget.cost, used.cost),
        )
    )
    return min(1.0, max(shares))


def evaluations_left(budget: Budget, used: Spent) -> int | None:
    """Evaluations that may still be asked for; None when they are not limited."""
    return None if budget.evaluations is None else max(0, budget.evaluations - used.evaluations)


def is_spent(budget: Budget, used: Spent, *, seconds: float) -> bool:
    """Whether nothing may be asked for any more; seconds is the active time until now."""
    return evaluations_left(budget, used) == 0 or is_overdrawn(budget, used, seconds=seconds)


def is_overdrawn(budget: Budget, used: Spent, *, seconds: float) -> bool:
    """Whether time or cost is used up, so that not even a reserved trial should be begun."""
    late = budget.seconds is not None and seconds >= budget.seconds
    return late or (budget.cost is not None and used.cost >= budget.cost)


def seconds_left(budget: Budget, used: Spent, *, seconds: float) -> float | None:
    """When the first limit will be reached at the rate so far; None without a rate."""
    finished = used.evaluations - used.running
    estimates = []
    if budget.seconds is not None:
        estimates.append(budget.seconds - seconds)
    if budget.evaluations is not None and finished:
        estimates.append((budget.evaluations - finished) * seconds / finished)
    if budget.cost is not None and used.cost > 0:
        estimates.append((budget.cost - used.cost) * seconds / used.cost)
    return max(0.0, min(estimates)) if estimates else None


def clock(budget: Budget, history: History, *, design: int) -> Clock:
    """The clock of the next ask, as a function of the budget and the history alone."""
    used = spent(history)
    now = progress(budget, used)
    last = _first_after_design(history, design)
    began = now if last is None else progress(budget, _spent_before(history, last))
    return Clock(now, min(now, began))


def describe(budget: Budget, used: Spent, *, seconds: float) -> str:
    """The ledger in words: "37 of 50 evaluations, 12 min of 1 h"."""
    parts = []
    if budget.evaluations is not None:
        running = f" ({used.running} of them still running)" if used.running else ""
        parts.append(f"{used.evaluations} of {budget.evaluations} evaluations{running}")
    if budget.seconds is not None:
        parts.append(f"{duration(seconds)} of {duration(budget.seconds)}")
    if budget.cost is not None:
        parts.append(f"cost {used.cost:.6g} of {budget.cost:.6g}")
    return ", ".join(parts)


def require_covered(budget: Budget, used: Spent, *, seconds: float) -> None:
    """Refuse a new budget that is smaller than what is spent."""
    limits = (
        ("evaluations", budget.evaluations, used.evaluations),
        ("seconds", budget.seconds, seconds),
        ("cost", budget.cost, used.cost),
    )
    for name, limit, amount in limits:
        if limit is not None and limit < amount:
            raise BudgetError(
                f"the new budget of {limit:.10g} {name} is smaller than the {amount:.10g} already "
                f"spent. Allowed: at least what is spent. Give a larger budget."
            )


def duration(seconds: float) -> str:
    """A time in the unit a person would use."""
    for unit, size in (("d", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * size or (seconds >= size and seconds % size == 0):
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s" if seconds >= 1 or seconds == 0 else f"{1000 * seconds:.3g} ms"


def _first_after_design(history: History, design: int) -> Record | None:
    """The first asked record with `design` earlier ones that were not given back."""
    counted = 0
    for record in history.records:
        if counted >= design and record.source != "known":
            return record
        counted += record.status != "cancelled"
    return None


def _spent_before(history: History, asked: Record) -> Spent:
    earlier = [record for record in history.records[: asked.id] if record.spends]
    ended = [r for r in earlier if r.ended_at is not None and r.ended_at <= asked.asked_at]
    at_the_time = _sum(ended, 0)
    return Spent(len(earlier), 0, at_the_time.seconds, at_the_time.cost)


def _sum(ledger: list[Record], running: int) -> Spent:
    ends = [record.ended_at for record in ledger if record.ended_at is not None]
    cost = math.fsum(record.cost for record in ledger if record.cost is not None)
    return Spent(len(ledger), running, max(ends, default=0.0), cost)


def _whole(given: object) -> int:
    if isinstance(given, bool) or not isinstance(given, numbers.Integral) or given < 1:
        raise BudgetError(
            f"budget is {given!r} evaluations. Allowed: a whole number of at least 1. {WAY_OUT}."
        )
    return int(given)


def _amount(name: str, given: object) -> float:
    if isinstance(given, timedelta) and name == "seconds":
        given = given.total_seconds()
    number = isinstance(given, numbers.Real) and not isinstance(given, bool)
    try:
        amount = float(given) if number else math.nan  # type: ignore[arg-type]
    except OverflowError:
        amount = math.inf
    if not math.isfinite(amount) or amount <= 0:
        raise BudgetError(
            f"budget is {name}={given!r}. Allowed: a finite number above 0. "
            f"Leave {name} out for no limit. {WAY_OUT}."
        )
    return amount
