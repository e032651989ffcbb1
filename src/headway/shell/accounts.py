"""What an Optuna study has spent and found, read from its trials.

A trial spends an evaluation unless it carries the attribute OVER: it was made beyond the budget, or
its worker died or was stopped and the point is evaluated again. Trials are numbered by the storage,
without a gap and without a race, so every process comes to the same verdict: a trial is beyond the
budget if as many earlier ones spend as the budget holds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from optuna.trial import FrozenTrial, TrialState

from headway import budget as ledger
from headway.budget import Budget, Spent
from headway.history import Direction
from headway.optuna_trials import ERROR, OVER, WHY, Times, constraints_of, cost_of, mean_cost

OVER_BUDGET = "over budget"
LIMITS = "limits"  # user attribute: how far each limit is passed, by name


def spends(trial: FrozenTrial) -> bool:
    """Whether the trial uses an evaluation of the budget."""
    return OVER not in trial.system_attrs


def is_beyond(number: int, trials: Iterable[FrozenTrial], budget: Budget) -> bool:
    """Whether the budget was used up by the trials before this one."""
    if budget.evaluations is None:
        return False
    earlier = sum(spends(trial) for trial in trials if trial.number < number)
    return earlier >= budget.evaluations


def excesses(trial: FrozenTrial) -> Mapping[str, float]:
    """How far each constraint is passed; met when <= 0."""
    named = trial.user_attrs.get(LIMITS)
    return dict(named) if isinstance(named, Mapping) else constraints_of(trial)


@dataclass(frozen=True, slots=True)
class Account:
    """Where a study stands, in the user's sign."""

    budget: Budget | None
    goal: Direction
    trials: tuple[FrozenTrial, ...]  # that spend, by number
    unspent: tuple[FrozenTrial, ...]
    now: float  # active seconds when it was drawn up, with running trials and without void ones

    @classmethod
    def of(
        cls, trials: Sequence[FrozenTrial], *, budget: Budget | None, goal: Direction
    ) -> Account:
        spending = tuple(trial for trial in trials if spends(trial))
        unspent = tuple(trial for trial in trials if not spends(trial))
        # A void trial seemed to run until somebody saw that its worker was dead: a night, perhaps.
        begun = [trial for trial in spending if trial.state != TrialState.WAITING]
        return cls(budget, goal, spending, unspent, Times.of(begun, now=datetime.now()).total)

    def of_state(self, *states: TrialState) -> list[FrozenTrial]:
        return [trial for trial in self.trials if trial.state in states]

    @property
    def finished(self) -> list[FrozenTrial]:
        return [trial for trial in self.trials if trial.state.is_finished()]

    @property
    def told(self) -> list[FrozenTrial]:
        return self.of_state(TrialState.COMPLETE)

    @property
    def failed(self) -> list[FrozenTrial]:
        return self.of_state(TrialState.FAIL)

    @property
    def running(self) -> list[FrozenTrial]:
        return self.of_state(TrialState.RUNNING)

    @property
    def waiting(self) -> list[FrozenTrial]:
        return self.of_state(TrialState.WAITING)

    @property
    def used(self) -> Spent:
        running = len(self.running)
        return Spent(len(self.finished) + running, running, self.now, self.cost)

    @property
    def cost(self) -> float:
        """What was paid; a finished trial whose cost is unknown is charged the mean of the rest."""
        return mean_cost(self.finished) * len(self.finished)

    @property
    def is_overdrawn(self) -> bool:
        """Whether time or cost is used up."""
        return self.budget is not None and ledger.is_overdrawn(
            self.budget, self.used, seconds=self.now
        )

    @property
    def is_spent(self) -> bool:
        """Whether nothing more may be begun, waiting trials aside."""
        if self.budget is None:
            return False
        limit = self.budget.evaluations
        return self.is_overdrawn or (limit is not None and len(self.trials) >= limit)

    @property
    def best(self) -> FrozenTrial | None:
        """The best trial that meets the constraints; the earliest if several are equal."""
        met = [t for t in self.told if all(c <= 0 for c in excesses(t).values())]
        sign = -1.0 if self.goal == "maximize" else 1.0
        return min(met, key=lambda t: (sign * _value(t), t.number), default=None)

    @property
    def nearest(self) -> FrozenTrial | None:
        """`best`, or the told trial that passes its limits least in sum."""
        return self.best or min(
            self.told, key=lambda t: sum(max(c, 0.0) for c in excesses(t).values()), default=None
        )

    def describe(self) -> str:
        """The ledger in words."""
        if self.budget is None:
            return f"{len(self.finished)} trials finished"
        return ledger.describe(self.budget, self.used, seconds=self.now)

    @property
    def progress(self) -> float:
        return 0.0 if self.budget is None else ledger.progress(self.budget, self.used)

    @property
    def seconds_left(self) -> float | None:
        if self.budget is None:
            return None
        return ledger.seconds_left(self.budget, self.used, seconds=self.now)


def error_of(trial: FrozenTrial) -> str:
    """Why a trial has no value."""
    return str(trial.user_attrs.get(ERROR, ""))


def state_of(trial: FrozenTrial) -> str:
    """told, failed, running, waiting, pruned; or void: it spent nothing and says nothing."""
    state = trial.state.name.lower()
    return {"complete": "told", "fail": "failed"}.get(state, state) if spends(trial) else "void"


def as_json(trial: FrozenTrial) -> dict[str, Any]:
    """A trial as plain JSON, for --json and export."""
    entry: dict[str, Any] = {
        "number": trial.number,
        "state": state_of(trial),
        "value": trial.value,
        "params": trial.params,
        "constraints": dict(excesses(trial)),
        "cost": cost_of(trial),
        "why": trial.user_attrs.get(WHY),
        "error": error_of(trial) or None,
        "began": trial.datetime_start and trial.datetime_start.isoformat(),
        "ended": trial.datetime_complete and trial.datetime_complete.isoformat(),
    }
    return {name: value for name, value in entry.items() if value is not None}


def _value(trial: FrozenTrial) -> float:
    return math.inf if trial.value is None else float(trial.value)
