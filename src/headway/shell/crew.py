"""A worker in its surroundings: signals, the terminal, and the exit code."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from rich.console import Console

from headway.shell import console
from headway.shell.accounts import Account, error_of
from headway.shell.command import Stop, require_program
from headway.shell.places import Open
from headway.shell.worker import Setting, Worker, every_trial_failed
from headway.study import Study

NOTHING = 6


@dataclass(frozen=True, slots=True)
class Plan:
    """What the command line says about a worker."""

    workers: int | None
    patience: int
    waits: bool = True
    takes_over: bool = False
    as_json: bool = False
    quiet: bool = False
    directory: Path | None = None


@dataclass(slots=True)
class Signals:
    """The signal that asked us to end, if one did."""

    stop: Stop
    received: int | None = None

    def hear(self, number: int, frame: FrameType | None) -> None:
        """The first ends the run in order, a second at once."""
        if self.received is not None:
            raise KeyboardInterrupt
        self.received = number
        self.stop.requested = True


def work(opened: Open, plan: Plan) -> int:
    """Run a worker to its end, print the answer, and return the exit code."""
    definition = opened.require_definition()
    directory = plan.directory or opened.folder
    definition.arguments({}, 0)  # there is a command
    if definition.command is not None:
        require_program(definition.command, directory)
    setting = Setting(
        directory=directory,
        slots=plan.workers or definition.workers,
        patience=plan.patience,
        waits=plan.waits,
        takes_over=plan.takes_over,
    )
    liveness = opened.storage.join(patience=plan.patience)
    try:
        with _view(definition, plan) as view:
            worker = Worker(definition, opened.study, opened.storage, liveness, view, setting)
            with _hearing(worker.stop) as signals:
                account = worker.run()
    finally:
        liveness.close()
    return _end(account, definition, signals.received, plan)


def _end(account: Account, definition: Study, received: int | None, plan: Plan) -> int:
    code = 128 + received if received is not None else 0
    if code == 0 and account.is_spent and not account.told and account.failed:
        raise every_trial_failed([f"trial {t.number}: {error_of(t)}" for t in account.failed])
    if code == 0 and account.is_spent and account.best is None:
        code = NOTHING
    if plan.as_json:
        entry = {"event": "end", **console.summary(account), "exit": code}
        sys.stdout.write(json.dumps(entry) + "\n")
    else:
        if received is not None:
            sys.stderr.write(
                f"headway: ended by {signal.Signals(received).name}; running commands were "
                f"stopped and will be evaluated again. The same command goes on.\n"
            )
        sys.stdout.write(console.answer(account, definition) + "\n")
        if account.is_spent and sys.stderr.isatty() and not plan.quiet:
            sys.stderr.write(
                "\nTo see what happened: headway report. To go on: raise the budget, run again.\n"
            )
    sys.stdout.flush()
    return code


def _view(definition: Study, plan: Plan) -> console.Picture | console.Lines | console.Events:
    if plan.as_json:
        return console.Events(sys.stdout)
    screen = Console(stderr=True)
    if plan.quiet or not screen.is_terminal:
        return console.Lines(screen, definition, quiet=plan.quiet)
    return console.Picture(screen, definition)


@contextmanager
def _hearing(stop: Stop) -> Iterator[Signals]:
    """Ctrl-C, SIGTERM and a closed terminal end the run in order; nohup stays nohup."""
    signals = Signals(stop)
    before = {}
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            before[number] = signal.signal(number, signals.hear)
    try:
        yield signals
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
