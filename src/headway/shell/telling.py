"""The steps of a trial in an Optuna study: its parameters, its end, and its repetition.

Attributes are written before the state, which is the last thing that may change: what is torn by a
crash is a running trial, and running trials of dead workers are evaluated again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import optuna
from optuna.exceptions import UpdateFinishedTrialError
from optuna.trial import FrozenTrial, TrialState

from headway.optuna_trials import COST, ERROR, OVER, WHY
from headway.outcome import Outcome
from headway.parameters import Categorical, Integer, Ordinal, Parameter, Real
from headway.shell.accounts import LIMITS
from headway.shell.liveness import AGAIN
from headway.space import Space


@dataclass(frozen=True, slots=True)
class Failure:
    """Why there is no value; `kind` is exit, time-out, output, ambiguous, told or stopped."""

    kind: str
    text: str


def suggest(space: Space, trial: optuna.Trial) -> dict[str, Any]:
    """The values of the active parameters, parents first."""
    params: dict[str, Any] = {}
    waiting = dict(zip(space.names, space.parameters, strict=True))
    while waiting:
        for name, parameter in list(waiting.items()):
            parent, values = parameter.when or (None, ())
            if parent in waiting:
                continue
            del waiting[name]
            if parent is None or (parent in params and _is_one_of(params[parent], values)):
                params[name] = _suggest(trial, name, parameter)
    return {name: params[name] for name in space.names if name in params}


def limits_of(trial: FrozenTrial) -> Sequence[float]:
    """The constraints of a trial, for the sampler."""
    return list(trial.user_attrs.get(LIMITS, {}).values())


def tell(
    study: optuna.Study, trial_id: int, result: Outcome | Failure, *, names: Sequence[str]
) -> None:
    """Record a result; UpdateFinishedTrialError if the trial was closed without one."""
    storage = study._storage
    try:
        _write(study, trial_id, result, names)
    except (ValueError, UpdateFinishedTrialError) as error:
        frozen = storage.get_trial(trial_id)
        if not frozen.state.is_finished():
            raise
        # Complete: a first attempt reached the storage, and its answer did not reach us.
        if frozen.state != TrialState.COMPLETE:
            raise UpdateFinishedTrialError(f"trial {frozen.number} is finished") from error


def _write(
    study: optuna.Study, trial_id: int, result: Outcome | Failure, names: Sequence[str]
) -> None:
    storage = study._storage
    number = storage.get_trial_number_from_id(trial_id)
    if isinstance(result, Failure):
        storage.set_trial_user_attr(trial_id, ERROR, result.text)
        study.tell(number, state=TrialState.FAIL)
        return
    if names:
        limits = dict(zip(names, result.constraints, strict=True))
        storage.set_trial_user_attr(trial_id, LIMITS, limits)
    if result.cost is not None:
        storage.set_trial_user_attr(trial_id, COST, result.cost)
    study.tell(number, result.value)


def close(study: optuna.Study, trial_id: int, reason: str) -> None:
    """End a trial so that it spends nothing."""
    study._storage.set_trial_system_attr(trial_id, OVER, True)
    study._storage.set_trial_user_attr(trial_id, ERROR, reason)
    study._storage.set_trial_state_values(trial_id, TrialState.FAIL)


def repeat(study: optuna.Study, number: int, params: Mapping[str, Any], reason: str) -> None:
    """Queue the point of a closed trial."""
    why = f"the point of trial {number} again: {reason}"
    study.enqueue_trial(dict(params), user_attrs={WHY: why, AGAIN: number})


def repeats(trial: FrozenTrial) -> int | None:
    """The trial that this one repeats, if it has not begun."""
    return trial.user_attrs.get(AGAIN) if trial.state == TrialState.WAITING else None


def claim(study: optuna.Study, trial: FrozenTrial) -> bool:
    """Take a waiting trial; False if another process was faster."""
    taken: bool = study._storage.set_trial_state_values(trial._trial_id, TrialState.RUNNING)
    return taken


def _is_one_of(value: Any, values: Sequence[Any]) -> bool:
    return any(type(value) is type(one) and value == one for one in values)


def _suggest(trial: optuna.Trial, name: str, parameter: Parameter) -> Any:
    if isinstance(parameter, Real):
        low, high = parameter.low, parameter.high
        return trial.suggest_float(name, low, high, log=parameter.log, step=parameter.step)
    if isinstance(parameter, Integer):
        step = parameter.step or 1
        return trial.suggest_int(name, parameter.low, parameter.high, log=parameter.log, step=step)
    if isinstance(parameter, Ordinal):
        return trial.suggest_categorical(name, parameter.values)
    if isinstance(parameter, Categorical):
        return trial.suggest_categorical(name, parameter.choices)
    raise TypeError(f"{name!r} is of type {type(parameter).__name__}")
