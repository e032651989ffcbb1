"""What a sampler does to a study beside sampling: read it, stop it, refuse a trial."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from headway.errors import BudgetError, BudgetSpent, SettingError
from headway.optuna_trials import ASKED, ERROR, OVER

# A proposal takes some hundredths of a second; when 32 processes begin at once, the last waits this
# long. An objective that loads its data before it asks for parameters costs the others no more.
SETTLING = 2.0
POLL = 0.01


def trials_of(study: Study) -> list[FrozenTrial]:
    """Every trial: `study.get_trials` of a Hyperband bracket has those of the bracket only."""
    return study._storage.get_all_trials(study._study_id, deepcopy=False)


def is_settled(trials: Iterable[FrozenTrial], *, before: FrozenTrial) -> bool:
    """Whether the points of all earlier trials are known, so that they count as pending.

    Where one has just begun in another process, its point will be there in a moment.
    """
    return not any(trial.number < before.number and _is_unsettled(trial) for trial in trials)


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


def _is_unsettled(trial: FrozenTrial) -> bool:
    """Whether the trial has just begun, and nobody can know its point yet."""
    began = trial.datetime_start
    return (
        trial.state == TrialState.RUNNING
        and began is not None
        and abs(datetime.now() - began) < timedelta(seconds=SETTLING)
        and ASKED not in trial.system_attrs
        and not trial.params
    )
