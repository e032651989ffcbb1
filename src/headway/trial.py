"""A trial as the user holds it, and the record that a told trial or id means."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from headway.errors import TellError
from headway.history import Record, Status


@dataclass(frozen=True, slots=True, repr=False)
class Trial:
    """One evaluation to be made: `params` by name, `x` as f takes it, and `why` this point."""

    id: int
    point: tuple[tuple[str, Any], ...] = field(hash=False)  # a choice may be a list
    why: Any = field(default=None, compare=False)
    form: str = field(default="dict", compare=False)

    @property
    def params(self) -> dict[str, Any]:
        """The active parameters and their values; new at each call, so f may change them."""
        return deepcopy(dict(self.point))

    @property
    def x(self) -> Any:
        """The parameters as a dict, or as an array (d,) for a space given as bounds; new too."""
        return self.params if self.form == "dict" else np.array(list(self.params.values()))

    def __repr__(self) -> str:
        return f"Trial(id={self.id}, params={self.params})"


def find(trial: Trial | int, records: Sequence[Record], states: tuple[Status, ...]) -> Record:
    """The record of a trial or id that is in one of the states, or an error that names it."""
    given = trial.id if isinstance(trial, Trial) else trial
    try:
        id = operator.index(given)
    except TypeError:
        raise TellError(
            f"the trial is {trial!r}, of type {type(trial).__name__}. Allowed: a Trial or its id. "
            f"Pass what ask() returned."
        ) from None
    if isinstance(given, bool) or not 0 <= id < len(records):
        asked = f"0 to {len(records) - 1}" if records else "none, as nothing was asked"
        raise TellError(f"trial {given!r} is unknown. Allowed: {asked}. Pass what ask() returned.")
    record = records[id]
    if isinstance(trial, Trial) and trial.point != record.point:
        raise TellError(
            f"trial {id} is of another optimizer: its parameters are {trial.params}, and here "
            f"{record.params}. Pass it to the optimizer that asked for it."
        )
    if record.source == "known":
        raise TellError(f"{id} is a known point, not a trial. Pass what ask() returned.")
    if record.status not in states:
        result = "" if record.value is None else f" {record.value}"
        raise TellError(
            f"trial {id} was already {record.status}{result}. Allowed: a trial that is "
            f"{' or '.join(states)}. Pass another, or ask for a new one."
        )
    return record
