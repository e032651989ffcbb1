"""The command line: which commands there are, what they take, and the exit codes.

    0  done                       4  the storage cannot be used
    1  a bug of Headway's         5  the command cannot be run, or no trial has a value
    2  a wrong command line       6  nothing to give: no trial meets the constraints, nothing left
    3  bad input                128 + n  ended by signal n: 130 Ctrl-C, 143 SIGTERM

Answers go to standard output, everything else to standard error. Libraries that cost are imported
by the command that needs them.
"""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand

import headway
from headway.errors import (
    BudgetSpent,
    CommandFailed,
    EveryTrialFailed,
    InvalidInput,
    SpaceExhausted,
    StorageError,
)

BAD_INPUT, STORAGE, COMMAND, NOTHING = 3, 4, 5, 6

app = typer.Typer(
    name="headway",
    help="Spend a budget of expensive runs well: `headway init`, then `headway run study.toml`.",
    epilog="Exit codes: 0 done, 2 wrong command line, 3 bad input, 4 storage, 5 command or every "
    "trial failed, 6 nothing to give, 130 Ctrl-C. `run` again goes on where it ended.",
    no_args_is_help=True,
    invoke_without_command=True,
    pretty_exceptions_enable=False,  # they would show local variables, and so passwords
    rich_markup_mode="markdown",
)

File = Annotated[
    Path | None,
    typer.Argument(
        help="Study file (study.toml by default), or a journal.",
        show_default=False,
        metavar="STUDY",
    ),
]
StorageOption = Annotated[
    str | None,
    typer.Option(
        "--storage",
        envvar="HEADWAY_STORAGE",
        show_envvar=True,
        help="Journal file, sqlite:///file.db or postgresql://user@host/name; the study file's by "
        "default. The password may come from PGPASSWORD or ~/.pgpass.",
    ),
]
NameOption = Annotated[str | None, typer.Option("--study", help="Name of the study.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Jobs = Annotated[int | None, typer.Option("--workers", "-j", min=1, help="Commands at a time.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show the answer only.")]
TakeOver = Annotated[
    bool,
    typer.Option(
        "--take-over",
        help="Evaluate again what other workers left running. Only if you know they are dead.",
    ),
]
Patience = Annotated[
    int,
    typer.Option(
        min=2, help="Seconds without a sign of life after which a database's worker is dead."
    ),
]


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and leave.")
    ] = False,
) -> None:
    if version:
        say(f"headway {headway.__version__}")
        raise typer.Exit()


def guarded(command: Callable[..., None]) -> Callable[..., None]:
    """Turn what is raised on purpose into one line and an exit code."""

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        try:
            command(*args, **kwargs)
        except StorageError as error:
            fail(error, STORAGE, as_json=kwargs.get("as_json", False))
        except (CommandFailed, EveryTrialFailed) as error:
            fail(error, COMMAND, as_json=kwargs.get("as_json", False))
        except (BudgetSpent, SpaceExhausted) as error:
            fail(error, NOTHING, as_json=kwargs.get("as_json", False))
        except InvalidInput as error:
            fail(error, BAD_INPUT, as_json=kwargs.get("as_json", False))
        except BrokenPipeError:  # the reader of our output, such as head, has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        except KeyboardInterrupt:
            raise typer.Exit(130) from None

    return run


def fail(error: Exception, code: int, *, as_json: bool) -> NoReturn:
    """Say what is wrong in one line and leave."""
    text = " ".join(str(error).split())
    if as_json:
        kind = type(error).__name__
        say({"error": {"kind": kind, "message": text, "exit": code}})
    sys.stderr.write(f"headway: {text}\n")
    raise typer.Exit(code)


def say(what: str | dict[str, Any] | list[Any]) -> None:
    """The answer, on standard output."""
    sys.stdout.write((what if isinstance(what, str) else json.dumps(what)) + "\n")
    sys.stdout.flush()


@app.command()
@guarded
def run(
    study: File = None,
    workers: Jobs = None,
    storage: StorageOption = None,
    name: NameOption = None,
    as_json: JsonOption = False,
    quiet: Quiet = False,
    take_over: TakeOver = False,
    patience: Patience = 60,
) -> None:
    """Spend the budget of a study file on its command.

    Ctrl-C ends the running commands; `run` again goes on where it ended, as does a larger budget.

    Examples:

    * `headway run study.toml`
    * `headway run study.toml -j 4` runs four at a time
    * `headway run study.toml --storage postgresql://lab@db/studies` lets other machines join
    * `headway run study.toml --json | tee log.jsonl`
    """
    from headway.shell import crew, places

    plan = crew.Plan(workers, patience, takes_over=take_over, as_json=as_json, quiet=quiet)
    with closing(places.begin(places.place_of(study, storage, name))) as opened:
        raise typer.Exit(crew.work(opened, plan))


@app.command()
@guarded
def work(
    study: File = None,
    workers: Jobs = None,
    storage: StorageOption = None,
    name: NameOption = None,
    directory: Annotated[
        Path | None, typer.Option(help="Where commands run; here, or where the study file is.")
    ] = None,
    wait: Annotated[
        bool, typer.Option(help="Stay until the others' trials are over, in case one dies.")
    ] = True,
    as_json: JsonOption = False,
    quiet: Quiet = False,
    patience: Patience = 60,
) -> None:
    """Join a study that was begun, here or on another machine.

    Examples:

    * `headway work --storage postgresql://lab@db/studies --study wing`
    * `headway work --storage postgresql://lab@db/studies --study wing -j 8 --no-wait`
    """
    from headway.shell import crew, places

    plan = crew.Plan(
        workers, patience, waits=wait, as_json=as_json, quiet=quiet, directory=directory
    )
    with closing(places.find(places.place_of(study, storage, name))) as opened:
        raise typer.Exit(crew.work(opened, plan))


@app.command()
@guarded
def ask(
    study: File = None,
    count: Annotated[int, typer.Option("-n", min=1, help="How many points.")] = 1,
    storage: StorageOption = None,
    name: NameOption = None,
    as_json: JsonOption = False,
) -> None:
    """Ask what to try next, and tell the result later: for experiments made by hand.

    Examples:

    * `headway ask study.toml`
    * `headway ask study.toml -n 4`, then `headway tell study.toml 3 1.25`
    """
    from headway.shell import bench, places

    with closing(places.begin(places.place_of(study, storage, name))) as opened:
        asked = bench.ask(opened, count)
    say(asked if as_json else "\n".join(bench.shown(entry) for entry in asked))


class _Measured(TyperCommand):
    """A command whose arguments may be negative numbers, which look like options."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        ctx.ignore_unknown_options = any(map(_is_negative, args))
        return super().parse_args(ctx, args)


def _is_negative(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text.startswith("-")


@app.command(cls=_Measured)
@guarded
def tell(
    study: Annotated[Path, typer.Argument(help="Study file or journal.", metavar="STUDY")],
    number: Annotated[int, typer.Argument(min=0, help="The trial's number, as ask printed it.")],
    value: Annotated[float | None, typer.Argument(help="What came out.")] = None,
    constraint: Annotated[
        list[str] | None,
        typer.Option("--constraint", "-c", help="NAME=NUMBER, as measured, for each constraint."),
    ] = None,
    cost: Annotated[float | None, typer.Option(help="What it cost.")] = None,
    failed: Annotated[
        str | None, typer.Option(help="It failed, and why.", metavar="REASON")
    ] = None,
    cancel: Annotated[bool, typer.Option(help="It was not made: give the trial back.")] = False,
    storage: StorageOption = None,
    name: NameOption = None,
    as_json: JsonOption = False,
) -> None:
    """Tell what came of a trial.

    Examples:

    * `headway tell study.toml 3 1.25`
    * `headway tell study.toml 3 1.25 -c stress=180 --cost 2`
    * `headway tell study.toml 3 --failed "the glue did not hold"`
    * `headway tell study.toml 3 --cancel`
    * `headway tell study.toml 3 -1.25`
    """
    from headway.shell import bench, places

    told = bench.Told(value, tuple(constraint or ()), cost, failed, cancel)
    with closing(places.find(places.place_of(study, storage, name))) as opened:
        entry = bench.tell(opened, number, told)
        say(entry if as_json else bench.recorded(opened, number))


@app.command()
@guarded
def best(
    study: File = None,
    storage: StorageOption = None,
    name: NameOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print the best point so far.

    Examples:

    * `headway best study.toml`
    * `headway best study.toml --json | jq .params`
    """
    from headway.shell import accounts, console, places

    with closing(places.find(places.place_of(study, storage, name))) as opened:
        account = opened.account
    found = account.best or account.nearest
    if as_json:
        say(accounts.as_json(found) if found else {})
    else:
        say(console.answer(account, opened.definition))
    raise typer.Exit(0 if account.best else NOTHING)


@app.command()
@guarded
def status(
    study: File = None,
    storage: StorageOption = None,
    name: NameOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print where a study stands.

    Examples:

    * `headway status study.toml`
    * `headway status --storage postgresql://lab@db/studies --study wing`
    """
    from headway.shell import console, places

    with closing(places.find(places.place_of(study, storage, name))) as opened:
        account = opened.account
    say(console.summary(account) if as_json else console.status(account))


@app.command()
@guarded
def report(
    study: File = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="The page.")] = Path("report.html"),
    storage: StorageOption = None,
    name: NameOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write a page with the answer in words, pictures, and every trial.

    Example:

    * `headway report study.toml -o report.html`
    """
    from headway import report as page
    from headway.optuna import optimizer_of
    from headway.shell import places

    with closing(places.find(places.place_of(study, storage, name))) as opened:
        title = opened.study.study_name
        path = page.write(optimizer_of(opened.study), output, title=title)
    say({"report": str(path)} if as_json else f"Wrote {path}.")


@app.command()
@guarded
def export(
    study: File = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="File; its ending says the format. Else CSV printed."),
    ] = None,
    storage: StorageOption = None,
    name: NameOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write every trial as CSV or JSON.

    Examples:

    * `headway export study.toml -o trials.csv`
    * `headway export study.toml --json > trials.json`
    """
    from headway.shell import places, tables

    with closing(places.find(places.place_of(study, storage, name))) as opened:
        text = tables.write(opened.account, output, as_json=as_json)
    say(text if output is None else {"export": str(output)} if as_json else f"Wrote {output}.")


@app.command()
@guarded
def init(
    file: Annotated[Path, typer.Argument(help="The study file to write.")] = Path("study.toml"),
    defaults: Annotated[
        bool, typer.Option("--defaults", help="Ask nothing; write an example to edit.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Write a commented study file after a few questions.

    Examples:

    * `headway init`, then `headway run study.toml`
    * `headway init wing.toml --defaults`
    """
    from headway.shell import draft

    draft.write(file, ask=not defaults, force=force)
    say({"study": str(file)} if as_json else f"Wrote {file}. Next: headway run {file}")
