"""Trials that a person makes: asked for now, told hours or days later."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import optuna
from optuna.exceptions import UpdateFinishedTrialError
from optuna.trial import FrozenTrial, TrialState

from headway.errors import BudgetSpent, TellError
from headway.optuna_trials import WHY
from headway.outcome import Outcome, finite, positive
from headway.shell.accounts import OVER_BUDGET, as_json, is_beyond, state_of
from headway.shell.console import brief
from headway.shell.liveness import BY_HAND, OWNER, is_run
from headway.shell.places import Open
from headway.shell.storage import reaching
from headway.shell.telling import Failure, close, suggest
from headway.shell.telling import tell as record
from headway.study import Study
from headway.values import listed, suggestion


@dataclass(frozen=True, slots=True)
class Told:
    """What the command line says about a trial's end."""

    value: float | None
    constraints: tuple[str, ...]
    cost: float | None
    failed: str | None
    cancel: bool


def ask(opened: Open, count: int) -> list[dict[str, Any]]:
    """The next points, fewer than wanted where the budget holds no more."""
    definition = opened.require_definition()
    asked: list[dict[str, Any]] = []
    for _ in range(count):
        account = opened.account
        if account.is_spent and not account.waiting:
            if asked:
                break
            raise BudgetSpent(
                f"nothing is left to ask for: {account.describe()}. Allowed: as many trials as the "
                f"budget holds. Tell those that run, or raise `budget` in the study file."
            )
        with reaching(opened.storage.shown):
            entry = _ask(opened.study, definition)
        if entry is not None:
            asked.append(entry)
    return asked


def _ask(study: optuna.Study, definition: Study) -> dict[str, Any] | None:
    trial = study.ask()
    trial.set_user_attr(OWNER, BY_HAND)
    if is_beyond(trial.number, study.get_trials(deepcopy=False), definition.budget):
        close(study, trial._trial_id, OVER_BUDGET)
        return None
    params = suggest(definition.space, trial)
    why = str(trial.user_attrs.get(WHY, ""))
    return {"number": trial.number, "params": params, "why": why}


def shown(entry: Mapping[str, Any]) -> str:
    """An asked trial with every digit."""
    width = max(map(len, entry["params"]))
    lines = [f"trial {entry['number']}: {entry['why']}"]
    lines += [f"  {name:<{width}}  {value}" for name, value in entry["params"].items()]
    return "\n".join(lines)


def tell(opened: Open, number: int, told: Told) -> dict[str, Any]:
    """Record the end of a trial; the trial as it then is."""
    definition = opened.require_definition()
    with reaching(opened.storage.shown):
        trial = _open_trial(opened.study, number)
        ways = (told.value is not None, told.failed is not None, told.cancel)
        if sum(ways) != 1:
            raise TellError(
                f"trial {number} was told {'nothing' if not any(ways) else 'several ends'}. "
                f"Allowed: a value, --failed REASON or --cancel. Give one of them."
            )
        try:
            if told.cancel:
                close(opened.study, trial._trial_id, "it was cancelled")
            else:
                names = [limit.name for limit in definition.constraints]
                record(
                    opened.study, trial._trial_id, _result(definition, number, told), names=names
                )
        except UpdateFinishedTrialError:
            raise TellError(
                f"trial {number} was ended by another process a moment ago. Allowed: a trial that "
                f"is running. `headway status` lists them."
            ) from None
        storage = opened.study._storage
        return as_json(storage.get_trial(trial._trial_id))


def recorded(opened: Open, number: int) -> str:
    """What was recorded, and where the study stands now."""
    trial = opened.study.get_trials(deepcopy=False)[number]
    account = opened.account
    value = "" if trial.value is None else f" {trial.value:.10g}"
    best = account.best
    found = "" if best is None else f" Best: {best.value:.10g} (trial {best.number})."
    end = f"{state_of(trial)}{value}"
    return f"Trial {number} ({brief(trial.params)}): {end}. {account.describe()}.{found}"


def _open_trial(study: optuna.Study, number: int) -> FrozenTrial:
    trials = study.get_trials(deepcopy=False)
    running = [t.number for t in trials if t.state == TrialState.RUNNING and not is_run(t)]
    way_out = f"Running by hand: {listed(running)}." if running else "Ask for one: headway ask."
    if number >= len(trials):
        raise TellError(
            f"trial {number} is unknown. Allowed: a trial that `headway ask` gave. {way_out}"
        )
    trial = trials[number]
    if trial.state != TrialState.RUNNING:
        value = "" if trial.value is None else f" {trial.value:.10g}"
        raise TellError(
            f"trial {number} was already {state_of(trial)}{value}. Allowed: a trial that runs. "
            f"{way_out}"
        )
    return trial


def _result(definition: Study, number: int, told: Told) -> Outcome | Failure:
    if told.failed is not None:
        return Failure("told", told.failed)
    value = finite(told.value, f"the value of trial {number}", otherwise="Else use --failed REASON")
    excesses = _excesses(definition, number, told.constraints)
    cost = positive(told.cost, f"the cost of trial {number}")
    if cost is None and definition.budget.cost is not None:
        raise TellError(
            f"trial {number} was told without its cost, and the budget is "
            f"{definition.budget.cost:g} of cost. Allowed: a number >= 0. Add --cost."
        )
    return Outcome(value, excesses, cost)


def _excesses(definition: Study, number: int, given: tuple[str, ...]) -> list[float]:
    """How far each limit is passed, from the measured numbers."""
    names = [limit.name for limit in definition.constraints]
    measured: dict[str, float] = {}
    for text in given:
        name, equals, number_text = text.partition("=")
        try:
            measured[name] = float(number_text)
        except ValueError:
            equals = ""
        if not equals or not math.isfinite(measured.get(name, math.nan)):
            raise TellError(f"{text!r} is no constraint. Allowed: NAME=NUMBER. Write stress=180.")
        if name not in names:
            raise TellError(
                f"the constraint {name!r} is unknown. Allowed: {listed(names) or 'none'}."
                f"{suggestion(name, names)}"
            )
    missing = [name for name in names if name not in measured]
    if missing:
        raise TellError(
            f"trial {number} was told without {listed(missing)}. Allowed: every constraint. Add "
            f"-c {missing[0]}=NUMBER, or --failed REASON."
        )
    return [limit.past(measured[limit.name]) for limit in definition.constraints]
