"""What a sampler does to a study beside sampling: read it, stop it, refuse a trial, wait."""

from __future__ import annotations

from datetime import datetime, timedelta
from time import monotonic, sleep

from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from headway.errors import BudgetError, BudgetSpent, SettingError
from headway.optuna_trials import ASKED, ERROR, OVER

# A proposal takes some hundredths of a second; when 32 processes begin at once, the last waits this
# long. An objective that loads its data before it asks for parameters costs the others no more.
_SETTLING = 2.0
_POLL = 0.01


def trials_of(study: Study) -> list[FrozenTrial]:
    """Every trial: `study.get_trials` of a Hyperband bracket has those of the bracket only."""
    return study._storage.get_all_trials(study._study_id, deepcopy=False)


def wait_for_earlier(study: Study, trial: FrozenTrial) -> None:
    """Let trials that another process began a moment ago store their points: they are pending."""
    deadline = monotonic() + _SETTLING
    while monotonic() < deadline:
        known = trials_of(study)
        if not any(other.number < trial.number and _is_unsettled(other) for other in known):
            return
        sleep(_POLL)


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
        and abs(datetime.now() - began) < timedelta(seconds=_SETTLING)
        and ASKED not in trial.system_attrs
        and not trial.params
    )
