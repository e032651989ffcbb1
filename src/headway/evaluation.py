"""One call of the user's function, wherever it runs; what comes back can always be pickled.

It is a module of its own, so that a worker process loads little.
"""

from __future__ import annotations

import math
import os
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headway.errors import TellError
from headway.outcome import Outcome, checked

# A stored error should tell what went wrong, not fill the checkpoint.
_LONGEST = 2000


@dataclass(frozen=True, slots=True)
class Failure:
    """Why there is no value: `kind` tells failures apart, `trace` is for the log alone."""

    kind: str
    text: str
    trace: str = ""


def evaluate(f: Callable[[Any], Any], x: Any) -> Outcome | Failure:
    """f(x) in plain floats, or why there is no value. An interruption passes through."""
    try:
        given = f(x)
    except (Exception, SystemExit) as error:  # a solver that calls sys.exit has failed
        return failure(error)
    value = given.value if isinstance(given, Outcome) else given
    if isinstance(value, float) and not math.isfinite(value):
        return Failure(str(value), f"f returned {value}")
    try:
        return checked(given, "f")
    except TellError as error:
        return Failure("TellError", str(error))


def failure(error: BaseException) -> Failure:
    """An exception as text, with the place where it was raised."""
    text = "".join(traceback.format_exception_only(error)).strip()
    frames = traceback.extract_tb(error.__traceback__)[1:]  # without `evaluate` itself
    place = ""
    if frames:
        last = frames[-1]
        place = f" ({os.path.basename(last.filename)}, line {last.lineno}, in {last.name})"
    trace = "".join(traceback.format_exception(error))
    return Failure(type(error).__name__, text[:_LONGEST] + place, trace)
