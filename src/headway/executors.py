"""What minimize needs to know of executors: how many workers, and what can be sent to them."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from typing import Any

from headway import inputs
from headway.errors import SettingError


class Here(Executor):
    """Evaluates at once, in this thread."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


def workers_of(executor: object, workers: int | None) -> int:
    """How many trials to keep in flight."""
    count = None if workers is None else inputs.whole("workers", workers, 1)
    if executor is None:
        if count is not None and count > 1:
            raise SettingError(
                f"workers is {count} without an executor. Allowed: 1. Give executor=, such as "
                f"concurrent.futures.ThreadPoolExecutor({count})."
            )
        return 1
    if isinstance(executor, type) or not callable(getattr(executor, "submit", None)):
        raise SettingError(
            f"executor is {executor!r}. Allowed: a concurrent.futures.Executor. Give one, such as "
            f"ThreadPoolExecutor(4)."
        )
    if count is not None:
        return count
    own = getattr(executor, "_max_workers", None)  # the standard executors' and loky's
    if not isinstance(own, int):
        raise SettingError(
            f"workers is not given, and {type(executor).__name__} does not say how many it has. "
            f"Allowed: a whole number of at least 1. Give workers=."
        )
    return own


def require_sendable(f: object, executor: object) -> None:
    """Refuse early what a pool of processes could not be sent."""
    if isinstance(executor, ProcessPoolExecutor):
        try:
            pickle.dumps(f)
        except Exception as error:  # pickling raises whatever the object does
            raise unsendable(f, error) from error


def is_unsendable(error: BaseException) -> bool:
    """Whether an executor's error is about pickling."""
    return isinstance(error, pickle.PicklingError) or (
        isinstance(error, (TypeError, AttributeError)) and "pickle" in str(error)
    )


def unsendable(f: object, error: BaseException) -> SettingError:
    """The error for a function that stays in this process."""
    return SettingError(
        f"f is {f!r}, which cannot be sent to the executor's processes: {error}. Allowed: what can "
        f"be pickled. Define f at the top of a module, or use a ThreadPoolExecutor."
    )
