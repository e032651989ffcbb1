"""The line on the terminal: best value, budget left, time per evaluation, and when it will end."""

from __future__ import annotations

import shutil
import sys
import time
from typing import Literal, TextIO

from headway import budget as ledger
from headway.errors import SettingError
from headway.optimizer import Optimizer

Mode = bool | Literal["auto"]


class ProgressLine:
    """Rewrites one line of a terminal; elsewhere, if asked to, writes a line per evaluation."""

    def __init__(self, mode: Mode = "auto", stream: TextIO | None = None) -> None:
        if mode != "auto" and not isinstance(mode, bool):
            raise SettingError(
                f"progress is {mode!r}. Allowed: 'auto', True or False. Choose one of them."
            )
        self._stream = sys.stderr if stream is None else stream
        # Without a console (pythonw) there is no stream at all.
        self._terminal = _is_terminal(self._stream)
        self._on = self._stream is not None and (self._terminal if mode == "auto" else mode)
        self._open = False

    def update(self, optimizer: Optimizer) -> None:
        """Show where the run stands."""
        if not self._on:
            return
        text = summary(optimizer)
        if self._terminal:
            text = "\r" + text[: shutil.get_terminal_size().columns - 1] + "\x1b[K"
        self._write(text if self._terminal else text + "\n")
        self._open = self._terminal

    def close(self) -> None:
        """Leave the last state standing on a line of its own."""
        if self._open:
            self._write("\n")
            self._open = False

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):  # the terminal was closed: the run goes on without it
            self._on = self._open = False


def _is_terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # closed
        return False


def summary(optimizer: Optimizer) -> str:
    """The line: "headway: 12 of 50 evaluations, best 0.39 (trial 9), ends about 14:32, 9 s each".

    What is wanted most comes first, as a narrow terminal cuts the end off.
    """
    history, seconds = optimizer.history, optimizer.seconds
    used = ledger.spent(history)
    parts = [ledger.describe(optimizer.budget, used, seconds=seconds)]
    best = optimizer.best
    parts.append("no value yet" if best is None else f"best {best.value:.6g} (trial {best.id})")
    finished = used.evaluations - used.running
    if finished and seconds > 0:
        each = seconds / finished
        left = ledger.seconds_left(optimizer.budget, used, seconds=seconds)
        if left is not None and left > 0:
            form = "%H:%M" if left < 43200 else "%a %H:%M" if left < 518400 else "%Y-%m-%d"
            parts.append(f"ends about {time.strftime(form, time.localtime(time.time() + left))}")
        parts.append(f"{ledger.duration(each)} each")
    return "headway: " + ", ".join(parts)
