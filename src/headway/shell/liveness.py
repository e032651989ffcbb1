"""Which running trials have nobody left who runs them.

Beside a journal file each worker holds a kernel lock on a file of its own. The lock ends with the
process, however that ends, so no clock is compared; a worker on another machine is seen as far as
the file system's locks reach. In a database Optuna's heartbeat table is used, by the database's
clock: a worker is dead when it gave no sign of life for `patience` seconds.
"""

from __future__ import annotations

import errno
import os
import socket
import threading
import time
import uuid
import warnings
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from optuna.exceptions import ExperimentalWarning, OptunaError, StorageInternalError
from optuna.storages import RDBStorage
from optuna.trial import FrozenTrial

from headway.checkpoint import lock
from headway.errors import StorageError
from headway.optuna_trials import WHY

AGAIN = "headway:again"  # the attribute of a trial that says whose point it repeats
OWNER = "headway:owner"  # the attribute of a trial that says who runs it
BY_HAND = "by hand"  # the owner of a trial that a person asked for
BEATS = 6  # signs of life within the patience
_HELD = (errno.EAGAIN, errno.EACCES, errno.EDEADLK)


class Liveness(Protocol):
    """What a worker needs to know of the others, and what it lets them know."""

    owner: str

    def begin(self, trial_id: int) -> None:
        """This worker runs the trial."""

    def finish(self, trial_id: int) -> None:
        """It does no longer."""

    def lost(self, study_id: int, running: Sequence[FrozenTrial]) -> list[FrozenTrial]:
        """Those of the running trials whose worker is dead."""

    def close(self) -> None:
        """Leave."""


class Locks:
    """Workers of a journal: a locked file for each."""

    def __init__(self, journal: Path) -> None:
        self.owner = f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        self._journal = journal
        self._path = self._file(self.owner)
        try:
            self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
            lock(self._fd)
        except OSError as error:
            raise StorageError(
                f"the file {str(self._path)!r} cannot be made and locked: {error.strerror}. "
                f"Allowed: a folder to write in, on a file system with locks. Put the study "
                f"there, or use a database: storage = 'postgresql://host/name'."
            ) from error

    def begin(self, trial_id: int) -> None:
        """The lock speaks for all trials of this worker."""

    def finish(self, trial_id: int) -> None:
        """Likewise."""

    def lost(self, study_id: int, running: Sequence[FrozenTrial]) -> list[FrozenTrial]:
        return [t for t in running if is_run(t) and not self._is_alive(t.user_attrs[OWNER])]

    def close(self) -> None:
        with suppress(OSError):
            os.unlink(self._path)
        os.close(self._fd)

    def _file(self, owner: str) -> Path:
        return self._journal.with_name(f"{self._journal.name}.worker-{owner}")

    def _is_alive(self, owner: str) -> bool:
        if owner == self.owner:
            return True
        path = self._file(owner)
        try:
            fd = os.open(path, os.O_RDWR)
        except FileNotFoundError:
            return False
        try:
            lock(fd)
        except OSError as error:
            if error.errno in _HELD:
                return True
            raise
        else:
            with suppress(OSError):
                os.unlink(path)
            return False
        finally:
            os.close(fd)


class Heartbeats:
    """Workers of a database: a row for each running trial, renewed by a thread."""

    def __init__(self, url: str, *, patience: int, options: dict[str, Any]) -> None:
        self.owner = f"{socket.gethostname()}-{os.getpid()}"
        self._patience = patience
        self._running: set[int] = set()
        self._stop = threading.Event()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExperimentalWarning)
            # A storage of its own: Optuna's study.ask warns of one with heartbeats, and threads
            # do not share a connection.
            self._storage = RDBStorage(
                url,
                engine_kwargs=options,
                heartbeat_interval=max(1, patience // BEATS),
                grace_period=patience,
                skip_table_creation=True,
                skip_compatibility_check=True,
            )
        self._thread = threading.Thread(target=self._beat, daemon=True)
        self._thread.start()

    def begin(self, trial_id: int) -> None:
        self._storage.record_heartbeat(trial_id)
        self._running.add(trial_id)

    def finish(self, trial_id: int) -> None:
        self._running.discard(trial_id)

    def lost(self, study_id: int, running: Sequence[FrozenTrial]) -> list[FrozenTrial]:
        stale = set(self._storage._get_stale_trial_ids(study_id)) - self._running
        return [trial for trial in running if trial._trial_id in stale]

    def close(self) -> None:
        self._stop.set()
        self._thread.join()
        self._storage.engine.dispose()

    def _beat(self) -> None:
        while not self._stop.wait(self._patience / BEATS):
            for trial_id in list(self._running):
                try:
                    self._storage.record_heartbeat(trial_id)
                except Exception as error:
                    # A server that restarts is there again at one of the next beats, and a trial
                    # that has just ended needs none.
                    if not is_storage_error(error) and not isinstance(error, OptunaError):
                        raise


class Orphans:
    """Trials whose worker died between making them and saying that it runs them."""

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._since: dict[int, float] = {}

    def among(self, running: Sequence[FrozenTrial]) -> list[FrozenTrial]:
        """Those that have been bare for longer than the patience, as far as we have watched."""
        now = time.monotonic()
        bare = {t._trial_id: t for t in running if is_bare(t)}
        self._since = {id: self._since.get(id, now) for id in bare}
        return [t for id, t in bare.items() if now - self._since[id] > self._patience]


def is_run(trial: FrozenTrial) -> bool:
    """Whether a process of ours runs the trial, and not a person or another program."""
    return bool(trial.user_attrs.get(OWNER, BY_HAND) != BY_HAND)


def is_bare(trial: FrozenTrial) -> bool:
    """Whether it has what making a trial gives it, and no more: no owner and no parameters."""
    return not trial.params and trial.user_attrs.keys() <= {WHY, AGAIN}


def is_storage_error(error: Exception) -> bool:
    """Whether a storage does not answer; SQLAlchemy, which takes long to load, is not loaded."""
    ours = isinstance(error, (StorageInternalError, OSError))
    return ours or any(c.__module__ == "sqlalchemy.exc" for c in type(error).__mro__)
