"""The course of a run: the phase of each trial, and how far the budget was used when it was asked.

Notation: p progress of the budget, tau its share used after the initial design, both as the
proposal knew them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from headway import budget as ledger
from headway.budget import Budget, Clock, Spent
from headway.history import Record
from headway.optimizer import Optimizer
from headway.proposal import GREEDY
from headway.scoring import share_used
from headway.why import Why

Phase = Literal["known", "given", "design", "model", "finish"]
PHASES: tuple[Phase, ...] = ("known", "given", "design", "model", "finish")


@dataclass(frozen=True, slots=True)
class Step:
    """A trial as it was asked."""

    record: Record
    phase: Phase
    progress: float
    tau: float


def phase(record: Record) -> Phase:
    """What decided on a trial; a point of the user's own is given."""
    if record.source == "known":
        return "known"
    why = record.why
    if record.source == "x0" or not isinstance(why, Why):
        return "given"
    if why.decided == GREEDY:
        return "finish"
    return "design" if why.mean is None else "model"


def timeline(optimizer: Optimizer) -> list[Step]:
    """Every trial that was asked, in order."""
    records, design = optimizer.history.records, optimizer.settings.design
    steps: list[Step] = []
    began: float | None = None
    for record, counted, p in _asked(optimizer, records):
        if began is None and counted >= design:
            began = p
        clock = Clock(p, p if began is None else min(p, began))
        steps.append(Step(record, phase(record), p, share_used(clock) if p < 1 else 1.0))
    return steps


def _asked(
    optimizer: Optimizer, records: tuple[Record, ...]
) -> Iterator[tuple[Record, int, float]]:
    """Each asked trial, how many were there before it, and the progress that it was asked at."""
    budget = Budget.from_json(optimizer.header()["budget"])
    evaluations = counted = 0
    given_back: set[int] = set()
    seconds = cost = 0.0
    for event in optimizer.events:
        name = event["event"]
        if name == "budget":
            budget = Budget.from_json(event["budget"])
            continue
        record = records[event["id"]]
        if name in ("asked", "x0"):
            yield record, counted, ledger.progress(budget, Spent(evaluations, 0, seconds, cost))
            evaluations += 1
        elif name == "cancelled":
            evaluations -= 1
            given_back.add(record.id)
        elif name in ("told", "failed"):
            evaluations += record.id in given_back  # told late, a cancelled trial spends after all
            seconds = max(seconds, float(event["t"]))
            cost += event.get("cost") or 0.0
        if name in ("asked", "x0", "known"):
            counted += record.status != "cancelled"
