"""The checkpoint of a run: its settings and then its events, one JSON object per line.

Every line is on the disk (fsync) before the run goes on. A line is whole or it is not there: what a
full disk left of one is cut off at once, and what a crash left is dropped with a warning when the
run resumes. The file is locked while it is open. The lock is the kernel's, so it ends with the
process, however that ends; on Windows it is a lock of one byte far behind the end.
"""

from __future__ import annotations

import errno
import json
import os
import stat
import sys
import warnings
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from headway.errors import CheckpointError, SettingError
from headway.history import Event, parse, parse_line
from headway.optimizer import Optimizer

_BEGINS = b'{"headway": '
_IN_USE = (errno.EAGAIN, errno.EACCES, errno.EDEADLK)


def load(
    path: str | os.PathLike[str], callables: Mapping[str, Callable[..., Any]] | None = None
) -> Optimizer:
    """The run in a checkpoint of `minimize`, or in a file with the text of `Optimizer.to_json`.

    The file is only read, so it may be one that a run is writing; what is told to the optimizer
    later is not in it. Custom callables must be given again, by name.
    """
    try:
        data = Path(path).read_bytes()
    except (OSError, TypeError) as error:
        raise CheckpointError(
            f"the run {str(path)!r} cannot be read: {getattr(error, 'strerror', None) or error}. "
            f"Allowed: a checkpoint of minimize, or a file with the text of to_json. Give its name."
        ) from error
    first, *lines = data.split(b"\n")
    header = parse(first if lines else data, f"the first line of {str(path)!r}")
    if "events" in header:
        return Optimizer.from_json(data.decode(), callables)
    events: list[Event] = []
    for number, line in enumerate(lines, start=2):
        try:
            events.append(parse_line(line))
        except ValueError as error:
            if number == len(lines) + 1:  # being written just now, or nothing after the last line
                break
            raise CheckpointError(
                f"line {number} of {str(path)!r} cannot be read: {error}. Allowed: what Headway "
                f"wrote. Use the unchanged file."
            ) from error
    return Optimizer.from_json(json.dumps({**header, "events": events}), callables)


class Checkpoint:
    """An open, locked checkpoint; `header` is None in a new one."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        if not isinstance(path, (str, os.PathLike)):
            raise SettingError(
                f"checkpoint is {path!r}, of type {type(path).__name__}. Allowed: a file name. "
                f"Give a str or a Path."
            )
        self.path = Path(path)
        self._fd = _open(self.path)
        try:
            self._whole = 0  # bytes of whole lines
            self._written = 0  # events in them
            self._has_name = os.fstat(self._fd).st_nlink > 0  # some file systems do not count
            self.header: dict[str, Any] | None = None
            self.events: list[Event] = []
            self._read()
        except BaseException:
            os.close(self._fd)
            raise
        if hasattr(os, "register_at_fork"):
            # A forked worker inherits the descriptor and with it the lock, and may outlive us.
            os.register_at_fork(after_in_child=_closer(weakref.ref(self)))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file, which unlocks it."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def begin(self, header: Mapping[str, Any]) -> None:
        """Write the settings into a new file."""
        self._append([header])
        self.header = dict(header)
        _sync_directory(self.path)

    def sync(self, events: Sequence[Event]) -> None:
        """Write the events that are not in the file yet; calling it again does no harm."""
        new = events[self._written :]
        self._append(new)
        self._written += len(new)

    def _append(self, lines: Sequence[Mapping[str, Any]]) -> None:
        data = b"".join(json.dumps(line, allow_nan=False).encode() + b"\n" for line in lines)
        if not data:
            return
        try:
            status = os.fstat(self._fd)
            if self._has_name and status.st_nlink == 0:
                raise CheckpointError(
                    f"the checkpoint {str(self.path)!r} was deleted or replaced during the run. "
                    f"Allowed: a file that stays where it is. What the run knew is in this "
                    f"error's result and history. Start again with another name."
                )
            if status.st_size != self._whole:
                os.ftruncate(self._fd, self._whole)
            _write(self._fd, data)
            os.fsync(self._fd)
        except OSError as error:
            self._cut()
            raise CheckpointError(
                f"the checkpoint {str(self.path)!r} cannot be written: {error.strerror or error}. "
                f"Allowed: a file on a disk with room. Its last line is whole, so the run can be "
                f"resumed from it; what it lacks is in this error's result and history. "
                f"Make room and start again."
            ) from error
        self._whole += len(data)

    def _cut(self) -> None:
        """Take a half-written line off again, as far as the disk lets us."""
        try:
            os.ftruncate(self._fd, self._whole)
        except OSError as error:
            warnings.warn(
                f"the half-written last line of {str(self.path)!r} could not be cut off "
                f"({error.strerror}); it will be dropped when the run resumes",
                RuntimeWarning,
                stacklevel=2,
            )

    def _read(self) -> None:
        """Take in the whole lines; a torn last one is dropped from the file."""
        with open(self._fd, "rb", closefd=False) as file:
            file.seek(0)
            *lines, tail = file.read().split(b"\n")  # the tail is empty if the last line is whole
        for number, line in enumerate(lines, start=1):
            try:
                self._take(line, number)
            except CheckpointError:
                raise
            except ValueError as error:
                if number > 1 and number == len(lines) and not tail:
                    self._drop(line, number)
                    break
                raise self._unreadable(number, error) from error
            self._whole += len(line) + 1
        self._written = len(self.events)
        if tail:
            self._take_tail(tail, len(lines) + 1)

    def _take(self, line: bytes, number: int) -> None:
        data = parse_line(line)
        if number > 1:
            self.events.append(data)
        else:
            self.header = parse(line, self._named("the first line"))

    def _take_tail(self, tail: bytes, number: int) -> None:
        """A last line without its end: an event that is whole counts, and is written again."""
        ours = number > 1 or tail.startswith(_BEGINS) or _BEGINS.startswith(tail)
        try:
            if number > 1:
                self._take(tail, number)
                return
        except ValueError:
            pass
        if not ours:
            raise self._unreadable(number, "it is no line of Headway's")
        self._drop(tail, number)

    def _unreadable(self, number: int, error: object) -> CheckpointError:
        return CheckpointError(
            f"{self._named(f'line {number}')} cannot be read: {error}. Allowed: what Headway "
            f"wrote; only a torn last line is dropped. Use the unchanged file, or another name."
        )

    def _drop(self, line: bytes, number: int) -> None:
        warnings.warn(
            f"{self._named(f'line {number}')}, the last, is torn ({len(line)} bytes) and is "
            f"dropped: the run was stopped while writing it",
            RuntimeWarning,
            stacklevel=2,
        )
        os.ftruncate(self._fd, self._whole)

    def _named(self, what: str) -> str:
        return f"{what} of the checkpoint {str(self.path)!r}"


def _open(path: Path) -> int:
    """A locked descriptor of the file, made if it is not there."""
    shown = repr(str(path))
    try:
        if path.exists() and not stat.S_ISREG(path.stat().st_mode):
            raise CheckpointError(
                f"the checkpoint {shown} is not a regular file. Allowed: a file, or a name in a "
                f"directory that exists. Give the name of a file."
            )
        # Binary on Windows; descriptors are not inherited by new programs (PEP 446).
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
        fd = os.open(path, flags, 0o666)
    except OSError as error:
        raise CheckpointError(
            f"the checkpoint {shown} cannot be opened: {error.strerror}. Allowed: a file that can "
            f"be written, in a directory that exists. Give another name, or make the directory."
        ) from error
    try:
        lock(fd)
    except OSError as error:
        os.close(fd)
        if error.errno in _IN_USE:
            raise CheckpointError(
                f"the checkpoint {shown} is in use by another run. Allowed: one run at a time. "
                f"Wait for it or stop it, or give another name."
            ) from error
        raise CheckpointError(
            f"the checkpoint {shown} cannot be locked: {error.strerror}. Allowed: a file system "
            f"with locks, so that two runs cannot write at once. Give a file on another disk."
        ) from error
    return fd


if sys.platform == "win32":
    import msvcrt

    def lock(fd: int) -> None:
        """Lock an open file until it is closed, or raise the OSError of one that is locked."""
        os.lseek(fd, 1 << 30, os.SEEK_SET)  # a locked byte cannot be read, so none of ours
        msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        os.lseek(fd, 0, os.SEEK_SET)

    def _sync_directory(path: Path) -> None:
        """Windows has no fsync of a directory."""
else:
    import fcntl

    def lock(fd: int) -> None:
        """Lock an open file until it is closed, or raise the OSError of one that is locked."""
        # flock and not lockf, which any other close of the file in this process would undo.
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _sync_directory(path: Path) -> None:
        """Put the new name on the disk; the file itself is there already."""
        fd = os.open(path.resolve().parent, os.O_RDONLY)
        try:
            os.fsync(fd)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # file systems without it
                raise
        finally:
            os.close(fd)


def _write(fd: int, data: bytes) -> None:
    """All of the data; the kernel may take less at a time."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _closer(reference: weakref.ref[Checkpoint]) -> Callable[[], None]:
    def close() -> None:
        checkpoint = reference()
        if checkpoint is not None:
            checkpoint.close()

    return close


def difference(theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> str | None:
    """The first setting in which a stored header differs from this run's; the budget may."""
    for name in ("seed", "direction", "constraints", "design", "x0", "policy", "surrogate"):
        found = _first(name, theirs.get(name), ours[name])
        if found is not None:
            return found
    return None


def _first(name: str, theirs: Any, ours: Any) -> str | None:
    if isinstance(theirs, Mapping) and isinstance(ours, Mapping):
        inside = (_first(f"{name} {k}", theirs.get(k), ours.get(k)) for k in {**theirs, **ours})
        return next((text for text in inside if text is not None), None)
    if theirs == ours:
        return None
    return f"{name} is {theirs!r} in the file and {ours!r} in this run"
