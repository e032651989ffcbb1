"""What a picture is of: the run that is given, and the model that it leads to."""

from __future__ import annotations

from headway.errors import NothingToShow, SettingError
from headway.optimizer import Optimizer
from headway.outlook import Outlook


def require_run(given: object) -> Optimizer:
    """An optimizer, or an error that says how to come by one."""
    if isinstance(given, Optimizer):
        return given
    raise SettingError(
        f"the run is {given!r:.80}, of type {type(given).__name__}. Allowed: a headway.Optimizer. "
        f"Give result.optimizer of a minimize(), headway.load(path) of a checkpoint, or "
        f"headway.optuna.optimizer_of(study)."
    )


def outlook_of(optimizer: Optimizer) -> Outlook:
    """The model at the end of the run, or an error where nothing has a value."""
    found = Outlook.of(
        optimizer.history.facts(optimizer.direction),
        optimizer.space,
        optimizer.settings,
        direction=optimizer.direction,
    )
    if found is None:
        raise NothingToShow(
            f"there is no model to show: none of the {len(optimizer.history.finished)} finished "
            f"trials has a value. Allowed: a run with one value at least. Tell a value first."
        )
    return found


def known_name(optimizer: Optimizer, name: str) -> str:
    """The name of a parameter, or an error that lists them."""
    if name in optimizer.space.names:
        return name
    raise SettingError(
        f"{name!r} is no parameter of this run. Allowed: {', '.join(optimizer.space.names)}. "
        f"Choose one of them."
    )
