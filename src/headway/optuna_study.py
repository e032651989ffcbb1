"""What a sampler does to a study beside sampling: read it, stop it, refuse a trial."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from headway.errors import BudgetError, BudgetSpent, SettingError
from headway.optuna_trials import ASKED, ERROR, OVER, PROPOSING

# A trial may be made long before its parameters are asked for: an objective that loads its data
# first costs the others no more than this.
SETTLING = timedelta(seconds=2)
# One that is being proposed for (it says so) is waited for longer: on a busy machine a proposal of
# hundredths of a second takes many seconds. Only a process that died costs the others all of it.
PATIENCE = timedelta(seconds=30)
TURN = timedelta(seconds=2)  # more for each trial before it: they do not all give up at once
POLL = 0.01


def trials_of(study: Study) -> list[FrozenTrial]:
    """Every trial: `study.get_trials` of a Hyperband bracket has those of the bracket only."""
    return study._storage.get_all_trials(study._study_id, deepcopy=False)


def is_settled(trials: Iterable[FrozenTrial], *, before: FrozenTrial) -> bool:
    """Whether the points of all earlier trials are known, so that they count as pending.

    Where one has just begun in another process, its point will be there in a moment. Those that
    waited with this one for a process that died take turns.
    """
    now, turns = datetime.now(), 0
    for trial in sorted(trials, key=lambda trial: trial.number):
        if trial.number >= before.number:
            break
        if not _is_bare(trial) or trial.datetime_start is None:
            continue
        age = abs(now - trial.datetime_start)
        limit = PATIENCE if _is_proposed_for(trial) else SETTLING
        if age < limit + turns * TURN:
            return False
        turns += age < 2 * limit
    return True


def stop(study: Study) -> bool:
    """Begin no more trials; False where no loop of `optimize` runs that could be stopped."""
    try:
        study.stop()
    except RuntimeError:
        return False
    return True


def refuse(study: Study, trial: FrozenTrial, error: Exception) -> None:
    """Close a trial that never begins: Optuna created it before it asked."""
    store, spent = study._storage, isinstance(error, BudgetSpent | BudgetError)
    store.set_trial_system_attr(trial._trial_id, OVER, True)
    store.set_trial_user_attr(trial._trial_id, ERROR, "over budget" if spent else str(error))
    store.set_trial_state_values(trial._trial_id, TrialState.FAIL)


def require_one_objective(study: Study) -> None:
    if study._is_multi_objective():
        raise SettingError(
            f"the study {study.study_name!r} has {len(study.directions)} objectives. Allowed: one. "
            f"Weigh them into one value, or make all but one constraints (trial.set_constraint)."
        )


def _is_bare(trial: FrozenTrial) -> bool:
    """Whether the trial has begun, and nobody can know its point yet."""
    return (
        trial.state == TrialState.RUNNING and ASKED not in trial.system_attrs and not trial.params
    )


def _is_proposed_for(trial: FrozenTrial) -> bool:
    """Whether its process computes a point, or will at once: that is so on the command line."""
    marked = any(name.startswith("headway:") for name in trial.user_attrs)
    return PROPOSING in trial.system_attrs or marked
