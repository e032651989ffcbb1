"""A run as one page: the answer in words, the pictures, every trial.

    import headway.report

    headway.report.write(optimizer, "report.html")

The page holds everything it needs, runs nothing and fetches nothing. It is read as well on a phone
as on a desk, in light and in dark, and with the eyes closed.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import headway
from headway import budget as ledger
from headway import plots
from headway.errors import NothingToShow, SettingError
from headway.history import Record
from headway.optimizer import Optimizer
from headway.outlook import Optima, Outlook
from headway.plots.axes import shown
from headway.plots.subject import require_run
from headway.plots.svg import Figure, number
from headway.plots.timeline import phase
from headway.report import page
from headway.report.answer import Answer, answer, parameters

__all__ = ["render", "write"]

# A table of more rows is no longer read, and a phone takes long to show it.
_MOST_ROWS = 1000


def write(optimizer: Optimizer, path: str | os.PathLike[str], *, title: str | None = None) -> Path:
    """Write the report of a run as it stands; the path of the page.

    The file is replaced as a whole, so that whoever reads it during a run never sees half of it.
    """
    text = render(optimizer, title=title)
    try:
        target = Path(path)
    except TypeError:
        raise SettingError(
            f"the path is {path!r}, of type {type(path).__name__}. Allowed: a file name. Give a "
            f"str or a Path."
        ) from None
    try:
        _replace(target, text)
    except OSError as error:
        raise SettingError(
            f"the report cannot be written to {str(target)!r}: {error.strerror or error}. Allowed: "
            f"a file in a directory that exists and can be written. Give another name."
        ) from error
    return target


def render(optimizer: Optimizer, *, title: str | None = None) -> str:
    """The page as HTML text."""
    require_run(optimizer)
    name = title or "Headway report"
    history = optimizer.history
    outlook = Outlook.of(
        history.facts(optimizer.direction),
        optimizer.space,
        optimizer.settings,
        direction=optimizer.direction,
    )
    optima = None if outlook is None else outlook.optima()
    found = answer(optimizer, outlook, optima)
    body = [
        f"<header><h1>{page.text(name)}</h1>",
        f'<p class="headline">{page.text(found.headline)}</p></header>',
        f'<div class="top">{_use(found)}{_words(found)}</div>',
        *_sections(optimizer, outlook, optima),
        "<h2>Everything</h2>",
        _trials(optimizer),
        _settings(optimizer),
        f'<p class="quiet">Made by Headway {page.text(headway.__version__)}, {_account(optimizer)}.'
        " Hold the pointer over a mark to see its trial.</p>",
    ]
    return page.document(f"{name}: {found.headline}", body)


def _sections(optimizer: Optimizer, outlook: Outlook | None, optima: Optima | None) -> list[str]:
    run = [
        _drawn("Best value so far", partial(plots.convergence, optimizer)),
        _drawn("How the search narrowed", partial(plots.schedule, optimizer)),
        _drawn("What was spent", partial(plots.ledger, optimizer)),
    ]
    if outlook is None:
        return [page.section("How the run went", run)]
    indices = outlook.importance()
    order = indices.order  # what matters little comes last
    profile = partial(plots.slices, optimizer, names=order, outlook=outlook)
    spread = partial(plots.belief, optimizer, names=order, outlook=outlook, optima=optima)
    model = [
        _drawn("One parameter at a time", profile),
        _drawn("Where the optimum may be", spread),
        _drawn(
            "The path to the best", partial(plots.path, optimizer, outlook=outlook, indices=indices)
        ),
        _drawn("What matters", partial(plots.importance, optimizer, indices=indices)),
        _drawn("Was the model right?", partial(plots.calibration, optimizer, outlook=outlook)),
        _drawn("Every trial", partial(plots.parallel, optimizer)),
    ]
    return [page.section("How the run went", run), page.section("What the model knows", model)]


def _drawn(title: str, draw: Callable[[], Figure]) -> str:
    """A picture, or in its place why there is none."""
    try:
        return page.figure(draw())
    except NothingToShow as error:
        reason = str(error).partition(" Allowed:")[0]
        return page.note(title, f"{reason[:1].upper()}{reason[1:]}")


def _use(found: Answer) -> str:
    """What to use, to read and to copy."""
    if found.record is None:
        return ""
    table = page.pairs("use", "", parameters(found.record))
    copy = json.dumps(found.record.params, indent=1, ensure_ascii=False)
    plain = f"<details><summary>As JSON, all digits</summary><pre>{page.text(copy)}</pre></details>"
    return f'<section class="card" aria-label="what to use">{table}{plain}</section>'


def _words(found: Answer) -> str:
    rows = [(paragraph.heading, paragraph.text) for paragraph in found.paragraphs]
    return f'<section class="card" aria-label="in words">{page.definitions(rows)}</section>'


def _trials(optimizer: Optimizer) -> str:
    """The table of all trials, the newest first where they are too many."""
    history, names = optimizer.history, optimizer.space.names
    if not len(history):
        return ""
    records = history.records[-_MOST_ROWS:]
    bounds = [f"c{i}" for i in range(history.k)]
    costs = any(record.cost is not None for record in records)
    heads = ["trial", "status", "phase", "value", *bounds, *(["cost"] if costs else []), *names]
    rows = (_row(record, names, history.k, costs=costs) for record in records)
    summary = f"All {len(history)} trials"
    if len(records) < len(history):
        summary = f"The last {len(records)} of {len(history)} trials"
    return page.details(summary, page.grid([*heads, "why, or what went wrong"], rows))


def _row(record: Record, names: tuple[str, ...], k: int, *, costs: bool) -> list[str]:
    point = dict(record.point)
    status = "broke a constraint" if record.status == "told" and not record.feasible else None
    bounds = [number(c, 4) for c in record.constraints] or [""] * k
    cost = [] if not costs else ["" if record.cost is None else number(record.cost, 4)]
    return [
        str(record.number),
        status or record.status,
        phase(record),
        "" if record.value is None else number(record.value, 6),
        *bounds,
        *cost,
        *("" if name not in point else shown(point[name], 40) for name in names),
        record.error or ("" if record.why is None else str(record.why)),
    ]


def _settings(optimizer: Optimizer) -> str:
    header = {k: v for k, v in optimizer.header().items() if k not in ("space", "x0", "headway")}
    header["budget"] = optimizer.budget.to_json()
    space = [
        (name, repr(parameter))
        for name, parameter in zip(optimizer.space.names, optimizer.space.parameters, strict=True)
    ]
    rows = [(name, json.dumps(value, ensure_ascii=False)) for name, value in header.items()]
    return page.details("Settings", page.pairs("", "Space", space) + page.pairs("", "Run", rows))


def _account(optimizer: Optimizer) -> str:
    used = ledger.spent(optimizer.history)
    return page.text(ledger.describe(optimizer.budget, used, seconds=used.seconds))


def _replace(target: Path, text: str) -> None:
    """Write beside the target, then move into its place."""
    fd, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp")
    try:
        with os.fdopen(fd, "w", encoding="utf-8") as file:
            file.write(text)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(name, 0o666 & ~umask)  # a temporary file is its owner's alone
        os.replace(name, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise
