"""A command: how it is put together from a point, run without a shell, ended, and read.

A `Template` is a list of arguments with `{name}` placeholders. An argument, or a group of them,
that names an inactive parameter is left out. The output goes to files, not pipes: a process that
the command left behind cannot keep us waiting for the end of a pipe.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import string
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from headway.errors import CommandFailed, StudyError
from headway.values import listed, suggestion

Argument = tuple[str, ...]  # one argument, or several that stay or go together

TRIAL = "trial"  # the placeholder of the trial's number
# Seconds that a process has to end by itself before it is killed.
GRACE = 5.0
# The end of an output that is looked at, in bytes: a solver's log may fill a disk.
_LONGEST = 4_000_000
# The end of an error output that is kept, in characters.
_TAIL = 300
_MOST_WAIT = threading.TIMEOUT_MAX  # centuries
_KILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # Windows has the one only


@dataclass(frozen=True, slots=True)
class Template:
    """The arguments of a command, placeholders included."""

    arguments: tuple[Argument, ...]

    def __post_init__(self) -> None:
        if not self.arguments or not all(self.arguments):
            what = "has an empty group []" if any(self.arguments) else "is empty"
            raise StudyError(f"the command {what}. Give the program and its arguments.")
        for name in self.names:
            if not name:
                raise StudyError(
                    "the command has an empty placeholder {}. Write {name}, or {{}} for braces."
                )

    @property
    def names(self) -> tuple[str, ...]:
        """The placeholders, in the order of their first use."""
        found = (name for group in self.arguments for text in group for name in _fields(text))
        return tuple(dict.fromkeys(found))

    def check(self, parameters: Iterable[str], *, all_used: bool) -> None:
        """Refuse placeholders of no parameter, and parameters that the command never sees."""
        known = list(parameters)
        for name in self.names:
            if name not in known and name != TRIAL:
                raise StudyError(
                    f"the placeholder {{{name}}} names no parameter. Allowed: {listed(known)} and "
                    f"'{TRIAL}', the trial's number.{suggestion(name, known)} For braces that are "
                    f"no placeholder write {{{{ and }}}}."
                )
        unused = [name for name in known if name not in self.names]
        if all_used and unused:
            raise StudyError(
                f"the command has no placeholder for {listed(unused)}, so it would never see the "
                f'value. Add {{{unused[0]}}} to the command, or stdin = "json", or remove the '
                f"parameter."
            )

    def check_flags(self, conditional: Iterable[str]) -> None:
        """Refuse an option whose value is left out without it, where a parameter is inactive."""
        absent, arguments = set(conditional), list(self.arguments)
        torn = None
        for i in range(len(arguments) - 1, 0, -1):
            flag, value = arguments[i - 1], arguments[i]
            missing = absent.intersection(_fields(value[0])).difference(*map(_fields, flag))
            if missing and _awaits_value(flag[-1]) and not _is_option(value[0]):
                torn = (flag[-1], value[0], min(missing))
                arguments[i - 1 : i + 1] = [(*flag, *value)]
        if torn is None:
            return
        option, text, name = torn
        whole = [part[0] if len(part) == 1 else part for part in arguments]
        raise StudyError(
            f"{name!r} does not exist in every trial (it has `when`): where it is left out, "
            f"{option!r} would stay without its value {text!r}. Allowed: both in a list within a "
            f"list, which go together. Write command = {json.dumps(whole, ensure_ascii=False)}"
        )

    def fill(self, params: Mapping[str, Any], number: int) -> list[str]:
        """The arguments of one trial."""
        values = {TRIAL: str(number), **{name: as_text(params[name]) for name in params}}
        return [
            "".join(lit + (values[name] if name is not None else "") for lit, name in _parts(text))
            for group in self.arguments
            if all(name in values for text in group for name in _fields(text))
            for text in group
        ]


@dataclass(frozen=True, slots=True)
class Output:
    """What a command left behind: its exit status, or why there is none, and what it wrote."""

    status: int | None
    stdout: str
    stderr: str
    problem: str = ""  # "" for a command that ended by itself with status 0


@dataclass(slots=True)
class Stop:
    """Ends every command of a run at once, and those that are begun afterwards."""

    requested: bool = False
    _running: set[subprocess.Popen[bytes]] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, process: subprocess.Popen[bytes]) -> None:
        with self._lock:
            self._running.add(process)
            late = self.requested
        if late:
            end(process)

    def discard(self, process: subprocess.Popen[bytes]) -> None:
        with self._lock:
            self._running.discard(process)

    def end_all(self) -> None:
        """Ask all to end, and kill those that have not after the grace period."""
        with self._lock:
            self.requested = True
            running = list(self._running)
        for process in running:
            end(process)


def run(
    arguments: Sequence[str],
    *,
    stdin: str | None = None,
    directory: Path | None = None,
    environment: Mapping[str, str] | None = None,
    timeout: float | None = None,
    stop: Stop | None = None,
) -> Output:
    """Run a command to its end, or to the end that the time-out or `stop` makes."""
    with (
        tempfile.TemporaryFile() as given,
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
    ):
        given.write((stdin or "").encode())
        given.seek(0)
        try:
            process = subprocess.Popen(
                arguments,
                stdin=given,
                stdout=out,
                stderr=err,
                cwd=directory,
                env={**os.environ, **(environment or {})},
                **_apart(),
            )
        except (OSError, ValueError) as error:  # of a value: a null byte
            reason = getattr(error, "strerror", None) or str(error)
            raise not_startable(arguments[0], reason) from error
        overdue = threading.Event()
        timer = threading.Timer(min(timeout or 0, _MOST_WAIT), _end_late, (process, overdue))
        timer.daemon = True
        if timeout is not None:
            timer.start()
        if stop is not None:
            stop.add(process)
        try:
            status = process.wait()
        finally:
            timer.cancel()
            if overdue.is_set() or (stop is not None and stop.requested):
                _sweep(process)
            if stop is not None:
                stop.discard(process)
        stdout, stderr = _end_of(out), _end_of(err)
    if overdue.is_set():
        text = f"it took longer than the time-out of {timeout:g} s and was ended"
        return Output(None, stdout, stderr, text)
    problem = "" if status == 0 else _ended(status) + _last_words(stderr or stdout)
    return Output(status, stdout, stderr, problem)


def end(process: subprocess.Popen[bytes]) -> None:
    """Ask a process and its children to end; after the grace period they are killed."""
    _signal(process, signal.SIGTERM)
    killer = threading.Timer(GRACE, _signal, (process, _KILL))
    killer.daemon = True
    killer.start()


def _end_late(process: subprocess.Popen[bytes], overdue: threading.Event) -> None:
    overdue.set()
    end(process)


def require_program(template: Template, directory: Path) -> None:
    """Refuse, before anything is spent, a program that is not there."""
    program = template.arguments[0][0]
    if _fields(program):
        return  # which program it is depends on the point
    beside = directory / program  # a path is looked up where the command will run
    has_folder = os.path.dirname(program) != ""
    if shutil.which(str(beside) if has_folder else program) is None:
        there = has_folder and beside.exists()
        raise not_startable(program, "is not executable" if there else "No such program")


def not_startable(program: str, reason: str) -> CommandFailed:
    """The error for a program that cannot be started."""
    return CommandFailed(
        f"the command {program!r} cannot be started: {reason}. Allowed: an executable on the PATH, "
        f"or a path from the folder of the study file. Correct `command`; scripts need their "
        f'interpreter: ["python", "simulate.py"].'
    )


def as_text(value: object) -> str:
    """A value as a command sees it: numbers with all their digits, true and false in lower case."""
    return value if isinstance(value, str) else json.dumps(value)


def _is_option(text: str) -> bool:
    return re.match(r"--?[A-Za-z_]", text) is not None


def _awaits_value(text: str) -> bool:
    """Whether the next argument may be this one's value: `--temper`, but not `--temper=3`."""
    return _is_option(text) and "=" not in text


def _fields(text: str) -> list[str]:
    return [name for _, name in _parts(text) if name is not None]


def _parts(text: str) -> list[tuple[str, str | None]]:
    """The literal pieces of a text, each with the placeholder that follows it."""
    try:
        parsed = list(string.Formatter().parse(text))
    except ValueError as error:
        raise StudyError(
            f"{text!r} has a brace that is no placeholder ({error}). Write {{{{ or }}}} for it."
        ) from None
    for _, name, spec, conversion in parsed:
        if spec or conversion:
            raise StudyError(
                f"{text!r} has the placeholder {{{name}}} with a format. Allowed: {{{name}}} "
                f"alone, with all digits. For fewer digits give the parameter a step."
            )
    return [(literal, name) for literal, name, _, _ in parsed]


def _apart() -> dict[str, Any]:
    """A group of its own: Ctrl-C reaches us alone, and an end reaches the children's children."""
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"start_new_session": True}


def _sweep(process: subprocess.Popen[bytes]) -> None:
    """Children may outlive the process that was ended: they get the same grace."""
    deadline = time.monotonic() + GRACE
    while _signal(process, 0) and time.monotonic() < deadline:
        time.sleep(0.02)
    _signal(process, _KILL)


def _signal(process: subprocess.Popen[bytes], number: int) -> bool:
    """Send a signal to the group; whether there was anybody to get it."""
    if sys.platform == "win32":
        alive = process.poll() is None
        if alive and number:
            process.terminate()
        return alive
    try:
        os.killpg(process.pid, number)
    except (ProcessLookupError, PermissionError):  # ended; or only a zombie is left (macOS)
        return False
    return True


def _end_of(file: IO[bytes]) -> str:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _LONGEST))
    return file.read().decode("utf-8", errors="replace")


def _ended(status: int) -> str:
    if status > 0:
        return f"it ended with exit status {status}"
    try:
        return f"it was ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"it was ended by signal {-status}"


def _last_words(text: str) -> str:
    """The last line that is not blank, which in most programs says what went wrong."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return f": {lines[-1][:_TAIL]}" if lines else ""
