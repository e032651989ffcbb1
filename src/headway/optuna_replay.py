"""A study as a headway.Optimizer: the events that its trials stand for, replayed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import optuna
from optuna.trial import FrozenTrial, TrialState

from headway.budget import Budget
from headway.errors import BudgetError, SpaceError
from headway.history import Event, Record
from headway.optimizer import Optimizer
from headway.optuna_space import Catalogue, Group
from headway.optuna_trials import ASKED, Encoded, Reading, asked_of, key_of, record_of
from headway.proposal import Settings
from headway.why import Why

logger = optuna.logging.get_logger("optuna.headway")


def largest(name: str, trials: Sequence[FrozenTrial]) -> Group:
    """The group of the most trials; what is in no group or another one is named in a warning."""
    catalogue = Catalogue()
    for trial in trials:
        if trial.state == TrialState.COMPLETE:
            catalogue.add(trial.params, trial.distributions)
    groups = catalogue.groups()
    if not groups:
        raise SpaceError(
            f"the study {name!r} has no space that could be read off its trials: "
            f"{sum(t.state == TrialState.COMPLETE for t in trials)} of {len(trials)} are complete, "
            f"and no parameter is the same in several of them. Give space=."
        )
    left = [
        parameter
        for parameter, known in catalogue.distributions.items()
        if parameter not in groups[0].distributions and not known.single()
    ]
    if left:
        logger.warning(
            f"Left out of the optimizer of study {name!r}, because other trials than "
            f"those of {', '.join(groups[0].space.names)} have them: {', '.join(left)}."
        )
    return groups[0]


def void_of(trials: Sequence[FrozenTrial], known: Sequence[FrozenTrial]) -> list[FrozenTrial]:
    """The trials that have ended and spent nothing: none of those that are known to count."""
    counted = {trial.number for trial in known}
    return [t for t in trials if t.state != TrialState.WAITING and t.number not in counted]


def replayed(
    reading: Reading,
    group: Group,
    budget: Budget,
    settings: Settings,
    *,
    void: Sequence[FrozenTrial] = (),
) -> Optimizer:
    """An optimizer with the events that the trials stand for; those that are void are cancelled."""
    encoded, key = Encoded(group), key_of(group, settings)
    rows: list[tuple[FrozenTrial, Record, dict[str, Any]]] = []
    spent_nothing = {trial.number for trial in void}
    for trial in sorted([*reading.trials, *void], key=lambda trial: trial.number):
        asked = asked_of(trial, key)
        cancelled = trial.number in spent_nothing
        params = encoded.values(trial, asked, begun=cancelled or trial.state == TrialState.RUNNING)
        if params is not None:
            z = tuple(group.space.encode(params).tolist())
            record = record_of(reading, trial, len(rows), z, asked)
            rows.append((trial, _cancelled(record) if cancelled else record, params))
    others = [params for _, record, params in rows if record.source == "x0"]
    if budget.evaluations is not None and len(others) > budget.evaluations:
        raise BudgetError(
            f"the study has {len(others)} trials of its own and the budget is "
            f"{budget.evaluations} evaluations. Allowed: at least as many. Give a larger budget."
        )
    optimizer = Optimizer(
        group.space,
        budget,
        seed=settings.seed,
        policy=settings.policy,
        surrogate=settings.surrogate,
        constraints=len(reading.names),
        direction="minimize" if reading.minimize else "maximize",
        x0=others,
        design=settings.design,
    )
    optimizer.replay(_events(rows))
    return optimizer


def _cancelled(record: Record) -> Record:
    """The record of a trial that was given back; the study's sampler reads nothing off it."""
    return replace(
        record,
        status="cancelled",
        source="asked",
        value=None,
        constraints=(),
        cost=None,
        error=None,
        state=None,
    )


def _events(rows: Sequence[tuple[FrozenTrial, Record, dict[str, Any]]]) -> list[Event]:
    """What was asked by id, and in between what had ended by then."""
    events: list[Event] = []
    closings = sorted(
        (trial.datetime_complete or datetime.min, record.id, record)
        for trial, record, _ in rows
        if record.status != "running"
    )
    index = 0
    for trial, record, params in rows:
        began = trial.datetime_start or datetime.min
        while closings and closings[0][0] <= began and closings[0][1] < record.id:
            events.append(_closing(closings.pop(0)[2]))
        opened: Event = {
            "event": record.source,
            "id": record.id,
            "t": record.asked_at,
            "params": params,
        }
        if trial.number != record.id:
            opened["number"] = trial.number
        if record.source == "x0":
            opened["index"], index = index, index + 1
            if "fixed_params" in trial.system_attrs:
                opened["why"] = Why("enqueued").to_json()
        elif ASKED in trial.system_attrs:
            opened["why"] = trial.system_attrs[ASKED]["groups"][0]["why"]
            if record.state:
                opened["state"] = record.state
        events.append(opened)
    return events + [_closing(record) for _, _, record in closings]


def _closing(record: Record) -> Event:
    event: Event = {"event": record.status, "id": record.id, "t": record.ended_at}
    if record.status == "told":
        event |= {"value": record.value, "constraints": list(record.constraints)}
    fields = {"error": record.error, "cost": record.cost}
    return event | {name: value for name, value in fields.items() if value is not None}
