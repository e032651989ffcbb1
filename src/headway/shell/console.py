"""What a person sees of a run: a live picture on a terminal, a line per trial elsewhere, or JSON.

The picture goes to standard error and the answer to standard output, so that the answer can be
piped. On a terminal every finished trial stays above the picture as a line.
"""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Mapping
from typing import Any, TextIO

from optuna.trial import FrozenTrial
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from headway import budget as ledger
from headway.outcome import Outcome
from headway.shell.accounts import Account, as_json, error_of, excesses
from headway.shell.telling import Failure
from headway.shell.worker import Job
from headway.study import Study

# Rows of the picture for running trials; a terminal has little more than twice as many lines.
_ROWS = 10


class Picture:
    """The live picture of a run on a terminal."""

    def __init__(self, console: Console, definition: Study) -> None:
        self._console, self._definition = console, definition
        self._best: FrozenTrial | None = None
        self._account: Account | None = None
        self._begun: set[int] = set()  # the numbers of our own trials
        self._drawn = 0.0  # when the account was drawn up
        self._live = Live(console=console, refresh_per_second=4, transient=True)

    def __enter__(self) -> Picture:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def begun(self, job: Job) -> None:
        """It appears with the next tick."""
        self._begun.add(job.number)

    def told(self, job: Job, result: Outcome | Failure) -> None:
        self._live.console.print(line_of(job, result, self._definition), highlight=False)

    def noted(self, text: str) -> None:
        self._live.console.print(f"[yellow]{escape(text)}[/]", highlight=False)

    def tick(self, account: Account, jobs: list[Job]) -> None:
        if account is not self._account:
            self._account, self._drawn = account, time.monotonic()
        self._live.update(self._draw(account, jobs))

    def _draw(self, account: Account, jobs: list[Job]) -> RenderableType:
        definition, best = self._definition, account.best
        head = Text(definition.name, style="bold")
        head.append(f"  {definition.goal}", style="dim")
        found = Text("best  ", style="dim")
        if best is None:
            nearest = account.nearest
            none = "no value yet" if nearest is None else "no trial met the constraints yet"
            found.append(none, style="default not dim")
        else:
            found.append(f"{best.value:.6g}", style="bold green not dim")
            found.append(f"  trial {best.number}  {brief(best.params)}", style="default not dim")
        bar = Table.grid(padding=(0, 1))
        bar.add_row(
            ProgressBar(total=1.0, completed=account.progress, width=24), self._ledger(account)
        )
        rows = Table.grid(padding=(0, 2))
        rows.add_column(justify="right", no_wrap=True)
        rows.add_column(justify="right", no_wrap=True, style="cyan")
        rows.add_column(no_wrap=True, overflow="ellipsis")
        for job in jobs[:_ROWS]:
            text = Text(brief(job.params))
            text.append(f"   {job.why}", style="dim")
            rows.add_row(f"trial {job.number}", _clock(time.monotonic() - job.began), text)
        if len(jobs) > _ROWS:
            rows.add_row("", "", f"and {len(jobs) - _ROWS} more")
        if not jobs and (idle := self._idle(account)):
            rows.add_row("", "", Text(idle, style="dim"))
        found.no_wrap, found.overflow = True, "ellipsis"
        return Group(Text(""), head, found, bar, rows)

    def _idle(self, account: Account) -> str:
        """What goes on while no command of ours runs."""
        if not account.is_spent:
            return "choosing the next point"
        # The account may be older than the end of our own last trial.
        others = any(trial.number not in self._begun for trial in account.running)
        return "waiting for the other workers' trials" if others else ""

    def _ledger(self, account: Account) -> Text:
        parts = [account.describe()]
        if account.failed:
            parts.append(f"{len(account.failed)} failed")
        left = account.seconds_left
        if left is not None and account.finished:
            left = max(0.0, left - (time.monotonic() - self._drawn))
            parts.append(f"about {ledger.duration(round(left))} left")
        return Text(", ".join(parts))


class Lines:
    """A line per finished trial, where there is no terminal."""

    def __init__(self, console: Console, definition: Study, *, quiet: bool = False) -> None:
        self._console, self._definition, self._quiet = console, definition, quiet

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is open."""

    def begun(self, job: Job) -> None:
        """Its end is a line."""

    def told(self, job: Job, result: Outcome | Failure) -> None:
        if not self._quiet:
            self._print(line_of(job, result, self._definition))

    def noted(self, text: str) -> None:
        self._print(escape(text))

    def tick(self, account: Account, jobs: list[Job]) -> None:
        """Nothing to redraw."""

    def _print(self, text: str) -> None:
        self._console.print(text, highlight=False, soft_wrap=True)


class Events:
    """A JSON object per event on a stream of their own line."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __enter__(self) -> Events:
        return self

    def __exit__(self, *_: object) -> None:
        """The stream is not ours to close."""

    def begun(self, job: Job) -> None:
        params = dict(job.params)
        self._write({"event": "begun", "number": job.number, "params": params, "why": job.why})

    def told(self, job: Job, result: Outcome | Failure) -> None:
        entry: dict[str, Any] = {"event": "told", "number": job.number}
        if isinstance(result, Failure):
            entry["event"] = "stopped" if result.kind == "stopped" else "failed"
            entry["error"] = result.text
        else:
            entry.update(value=result.value, constraints=list(result.constraints))
            if result.cost is not None:
                entry["cost"] = result.cost
        self._write(entry)

    def noted(self, text: str) -> None:
        self._write({"event": "note", "text": text})

    def tick(self, account: Account, jobs: list[Job]) -> None:
        """An event is written when it happens."""

    def _write(self, entry: Mapping[str, Any]) -> None:
        self._stream.write(json.dumps(entry) + "\n")
        self._stream.flush()


def line_of(job: Job, result: Outcome | Failure, definition: Study) -> str:
    """A finished trial in one line of rich's markup."""
    took = _clock(time.monotonic() - job.began)
    start = f"trial {job.number:>4}"
    if isinstance(result, Failure):
        stopped = result.kind == "stopped"
        word = "[yellow]stopped[/]" if stopped else "[red]failed[/]"
        text = "its point will be evaluated again" if stopped else escape(result.text)
        return f"{start}  {word}  {text}  [dim]{escape(brief(job.params))}[/]"
    names = [limit.name for limit in definition.constraints]
    passed = [
        f"{name} {c:+.3g}" for name, c in zip(names, result.constraints, strict=True) if c > 0
    ]
    over = f"  [yellow]over its limits: {escape(', '.join(passed))}[/]" if passed else ""
    value = f"[bold]{result.value:<12.6g}[/]"
    return f"{start}  {value}{over}  [dim]{escape(brief(job.params))}  {took}[/]"


def answer(account: Account, definition: Study | None) -> str:
    """What was found, in plain words and with every digit that is needed to use it."""
    lines = [_sentence(account)]
    best = account.best or account.nearest
    if best is None:
        lines.append("No trial has a value.")
        return "\n".join(lines)
    if account.best is None:
        lines.append("No trial met the constraints; this one passes its limits least:")
    lines.append(f"Best: {best.value:.10g} (trial {best.number})")
    width = max((len(name) for name in best.params), default=0)
    lines += [f"  {name:<{width}}  {value}" for name, value in best.params.items()]
    for name, c in excesses(best).items():
        lines.append(f"  {name}: {'met' if c <= 0 else 'passed'}, {abs(c):.4g} from its limit")
    if definition is not None and definition.command is not None:
        arguments = definition.arguments(best.params, best.number)
        lines.append(f"Its command: {shlex.join(arguments)}")
    return "\n".join(lines)


def summary(account: Account) -> dict[str, Any]:
    """The same as plain JSON."""
    best, nearest = account.best, account.nearest
    entry: dict[str, Any] = {
        "goal": account.goal,
        "budget": account.budget.to_json() if account.budget else None,
        "done": account.is_spent and not account.running and not account.waiting,
        "finished": len(account.finished),
        "told": len(account.told),
        "failed": len(account.failed),
        "running": len(account.running),
        "waiting": len(account.waiting),
        "seconds": account.now,
        "cost": account.cost,
        "best": best and as_json(best),
    }
    if best is None and nearest is not None:
        entry["nearest"] = as_json(nearest)
    return entry


def status(account: Account) -> str:
    """Where a study stands: the ledger, the best, what runs, the last failures."""
    lines = [_sentence(account)]
    best = account.best
    lines.append(
        "No value yet."
        if account.nearest is None
        else "No trial met the constraints yet."
        if best is None
        else f"Best: {best.value:.10g} (trial {best.number})  {brief(best.params)}"
    )
    for trial in account.running:
        lines.append(f"Running: trial {trial.number}  {brief(trial.params)}")
    for trial in account.waiting:
        lines.append(f"Waiting: trial {trial.number}")
    for trial in account.failed[-3:]:
        lines.append(f"Failed: trial {trial.number}  {error_of(trial)}")
    return "\n".join(lines)


def brief(params: Mapping[str, Any]) -> str:
    """A point in few characters."""
    texts = (f"{v:.4g}" if isinstance(v, float) else str(v) for v in params.values())
    return " ".join(f"{name}={text}" for name, text in zip(params, texts, strict=True))


def _sentence(account: Account) -> str:
    state = "The budget is spent" if account.is_spent else "Budget is left; used so far"
    if account.budget is None:
        state = "So far"
    failed = f" {len(account.failed)} failed." if account.failed else ""
    return f"{state}: {account.describe()}.{failed}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes else f"{seconds:.1f} s"
