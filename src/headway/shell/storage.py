"""Where studies live, by path or URL: an Optuna journal file, SQLite, PostgreSQL.

A password is never in a text that leaves this module: messages show the URL without it, and the
errors of the database driver are not chained to ours.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from optuna.storages import BaseStorage, JournalStorage, RDBStorage, get_storage
from optuna.storages.journal import JournalFileBackend, JournalFileSymlinkLock
from optuna.storages.journal._file import get_lock_file

from headway.errors import StorageError
from headway.shell.liveness import Heartbeats, Liveness, Locks, is_storage_error

# A host that does not answer would otherwise hold us for minutes.
_CONNECT = 10
# SQLite gives up on a locked file after 5 s by itself, which 32 workers can exceed.
_SQLITE_WAIT = 60
_AUTHORITY = re.compile(r"(?P<scheme>[^:]+://)(?P<login>.*)@(?P<rest>[^@]*)", re.DOTALL)
_IN_QUERY = re.compile(r"(?i)((?:password|passwd|pwd)=)[^&]*")
_DRIVERS = ("psycopg", "psycopg2")


@dataclass(frozen=True, slots=True)
class Storage:
    """An open storage; `shown` is its place without the password."""

    shown: str
    optuna: BaseStorage = field(repr=False)
    _url: str = field(repr=False)
    _options: dict[str, Any] = field(repr=False)
    _backend: RDBStorage | None = field(default=None, repr=False)

    @property
    def is_journal(self) -> bool:
        return isinstance(self.optuna, JournalStorage)

    def failure(self, error: Exception) -> StorageError:
        """The error for this storage."""
        return unreachable(error, self.shown, self._url)

    def close(self) -> None:
        """Close the connections; a journal has none."""
        if self._backend is not None:
            self._backend.remove_session()
            self._backend.engine.dispose()

    def join(self, *, patience: int) -> Liveness:
        """Become a worker that the others can see."""
        if self.is_journal:
            return Locks(Path(self._url))
        with reaching(self.shown, self._url):
            return Heartbeats(self._url, patience=patience, options=self._options)


def open_storage(given: str, *, folder: Path, must_exist: bool = False) -> Storage:
    """The storage of a path or URL; relative paths begin at the folder."""
    if "://" not in given:
        return _journal(folder / given, must_exist)
    shown, url = hide(given), _located(given, folder)
    if must_exist and url.startswith("sqlite:///"):
        _require_file(Path(url.removeprefix("sqlite:///")))
    url, options = _with_driver(url, shown)
    with reaching(shown, given):
        try:
            backend = RDBStorage(url, engine_kwargs={**options})
        except ValueError:  # what it shows may be a part of the password
            raise StorageError(
                f"the storage {shown} is no URL that can be read. Allowed: "
                f"postgresql://user@host:port/name, special characters written as %XX. Correct it."
            ) from None
        except ImportError:
            raise StorageError(
                f"the storage {shown} needs a driver that is not installed. Allowed: any that "
                f"SQLAlchemy knows. Install it with pip."
            ) from None
        return Storage(shown, get_storage(backend), url, options, backend)


def hide(url: str) -> str:
    """A URL without its password."""
    match = _AUTHORITY.fullmatch(url)
    if match:
        user, colon, _ = match["login"].partition(":")
        url = f"{match['scheme']}{user}{':***' if colon else ''}@{match['rest']}"
    return _IN_QUERY.sub(r"\1***", url)


@contextmanager
def reaching(shown: str, url: str = "") -> Iterator[None]:
    """Turn what a database driver says into one line without a password."""
    try:
        yield
    except Exception as error:
        if not is_storage_error(error):
            raise
        raise unreachable(error, shown, url) from None


def unreachable(error: Exception, shown: str, url: str = "") -> StorageError:
    """The error for a storage that does not answer."""
    reason = _reason(error)
    for secret in _secrets(url):
        reason = reason.replace(secret, "***")
    return StorageError(
        f"the storage {shown} cannot be used: {reason}. Allowed: a journal file, "
        f"sqlite:///file.db or postgresql://user@host/name. Check the address, the server and the "
        f"password (PGPASSWORD or ~/.pgpass keep it out of the command line). What was told before "
        f"is still there."
    )


def _journal(path: Path, must_exist: bool) -> Storage:
    if must_exist:
        _require_file(path)
    with reaching(str(path)):
        try:
            _mend(path)
            storage = JournalStorage(JournalFileBackend(str(path)))
        except (ValueError, KeyError, TypeError, AssertionError) as error:
            raise StorageError(
                f"the file {str(path)!r} is not a journal of Optuna's, or it is damaged "
                f"({type(error).__name__}: {error}). Allowed: a journal, or a name that is not "
                f"taken. Give another file, or restore this one."
            ) from error
    return Storage(str(path), storage, str(path), {})


def _mend(path: Path) -> None:
    """Take a torn last line off a journal: a full disk or a power cut leaves one.

    Optuna reads past it, but what it would append next, to the same line, could never be read.
    """
    if not path.is_file() or path.stat().st_size == 0:
        return
    with path.open("rb") as file:
        first = file.readline()
        file.seek(-1, os.SEEK_END)
        if file.read() == b"\n" or not first.startswith(b'{"op_code"'):
            return
    with get_lock_file(JournalFileSymlinkLock(str(path))), path.open("rb+") as file:
        text = file.read()
        if not text.endswith(b"\n"):  # nobody was writing just then
            file.truncate(text.rfind(b"\n") + 1)


def _require_file(path: Path) -> None:
    if not path.is_file():
        raise StorageError(
            f"there is no study yet: the file {str(path)!r} does not exist. Allowed: the storage "
            f"of a study that was begun. Begin it with `headway run` or `headway ask`, or give "
            f"the storage that it was begun in."
        )


def _located(url: str, folder: Path) -> str:
    """The file of an SQLite URL counted from the folder, not from where we happen to be."""
    name = url.removeprefix("sqlite:///")
    if name == url or name.startswith((":memory:", "file:")) or not name:
        return url
    return f"sqlite:///{folder / name}"


def _with_driver(url: str, shown: str) -> tuple[str, dict[str, Any]]:
    """The URL with the PostgreSQL driver that is installed, and what the driver is told."""
    scheme, _, rest = url.partition("://")
    if scheme == "sqlite":
        return url, {"connect_args": {"timeout": _SQLITE_WAIT}}
    match = _AUTHORITY.fullmatch(url)
    if match and "@" in match["login"]:
        raise StorageError(
            f"the storage {shown} has an '@' in its user or password. Allowed: %40 for it. Write "
            f"%40, or leave the password to PGPASSWORD or ~/.pgpass."
        )
    if not scheme.startswith("postgres"):
        return url, {}
    options = {"connect_args": {"connect_timeout": _CONNECT}, "pool_pre_ping": True}
    if "+" in scheme:
        return url, options
    driver = next((name for name in _DRIVERS if find_spec(name)), None)
    if driver is None:
        raise StorageError(
            f"the storage {shown} needs a driver for PostgreSQL, and none is installed. Allowed: "
            f'{" or ".join(_DRIVERS)}. Run: pip install "headway[postgresql]"'
        )
    return f"postgresql+{driver}://{rest}", options


def _reason(error: BaseException) -> str:
    """The first telling line of the innermost error; SQLAlchemy's own adds a web address."""
    while True:
        inner = getattr(error, "orig", None) or error.__cause__
        if inner is None or inner is error:
            break
        error = inner
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__).rstrip(".")


def _secrets(url: str) -> list[str]:
    """What a message must not show."""
    match = _AUTHORITY.fullmatch(url)
    raw = match["login"].partition(":")[2] if match else ""
    found = {raw, unquote(raw), *(m[0].partition("=")[2] for m in _IN_QUERY.finditer(url))}
    return sorted((secret for secret in found if secret), key=len, reverse=True)
