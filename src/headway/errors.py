"""Every error Headway raises on purpose, so that a caller can tell them apart.

Each message says what is wrong, the value given, what is allowed, and the way out. An error in the
middle of a run carries what is known: `result` (a `headway.Result`) and `history`.
"""

from __future__ import annotations

from typing import Any


class InvalidInput(ValueError):
    """Something given at the door cannot be used."""


class SpaceError(InvalidInput):
    """A parameter, a condition or a point that the space does not allow."""


class BudgetError(InvalidInput):
    """A budget that cannot be kept: zero, negative, fractional, or below what is spent."""


class TellError(InvalidInput):
    """A told value or trial that cannot be recorded."""


class SettingError(InvalidInput):
    """A setting out of its range."""


class StudyError(InvalidInput):
    """A study file that cannot be used, or a study that it does not fit."""


class StorageError(InvalidInput):
    """A storage that cannot be reached, read or written; its password is never in the text."""


class NothingToShow(InvalidInput):
    """A picture of something that a run does not have (yet)."""


class CheckpointError(InvalidInput):
    """Stored data that cannot be read, written, locked or continued.

    `result` and `history` hold what is known in memory when the error came in the middle of a
    run, and None when it came before the run began.
    """

    def __init__(self, message: str, *, result: Any = None, history: Any = None) -> None:
        super().__init__(message)
        self.result = result
        self.history = history


class BudgetSpent(RuntimeError):
    """An ask with nothing left of the budget."""


class SpaceExhausted(RuntimeError):
    """An ask on a finite space of which every point has been proposed."""


class EveryTrialFailed(RuntimeError):
    """Every trial failed, the initial design included; `result` holds what was recorded."""

    def __init__(self, message: str, *, result: Any = None) -> None:
        super().__init__(message)
        self.result = result


class CommandFailed(RuntimeError):
    """A command that cannot be started, or whose output can never be read."""


class ExecutorFailed(RuntimeError):
    """The executor takes no more work; `result` holds what was recorded."""

    def __init__(self, message: str, *, result: Any = None) -> None:
        super().__init__(message)
        self.result = result
