"""The ledger: what of the budget is used, and what each trial took of time and of cost."""

from __future__ import annotations

import headway.plots.svg as svg
from headway import budget as accounts
from headway.errors import NothingToShow
from headway.history import Record
from headway.optimizer import Optimizer
from headway.plots.subject import require_run
from headway.plots.svg import Figure, Scale, number

_START, _END = 12.0, svg.WIDTH - 12.0
_PANEL = 84.0


def ledger(optimizer: Optimizer) -> Figure:
    """A bar for each limit of the budget, and a panel each for time and cost by trial."""
    require_run(optimizer)
    if not len(optimizer.history):
        raise NothingToShow(
            "there is nothing to show: nothing was asked. Allowed: a run with a trial. Ask first."
        )
    body: list[str] = []
    top = 20.0
    for name, used, limit in _limits(optimizer):
        share = min(used / limit, 1.0)
        amount = accounts.duration if name == "time" else number
        body.append(svg.write(_START, top, name, "strong"))
        body.append(svg.write(_END, top, f"{amount(used)} of {amount(limit)}", "", "end"))
        body.append(svg.rect("rest", _START, top + 7, _END - _START, 9))
        body.append(svg.rect("bar", _START, top + 7, share * (_END - _START), 9, f"{share:.0%}"))
        top += 42
    done = [r for r in optimizer.history.finished if r.spends]
    times = [(r, (r.ended_at or 0.0) - r.asked_at) for r in done]
    unit, size = _unit(max((took for _, took in times), default=0.0))
    rows = [(f"{unit} from asked to told, by trial", [(r, took / size) for r, took in times])]
    costs = [(r, r.cost) for r in done if r.cost is not None]
    if costs:
        rows.append(("cost by trial", costs))
    for name, amounts in rows:
        if any(amount > 0 for _, amount in amounts):
            body += _panel(name, amounts, top + 14)
            top += _PANEL + 58
    return Figure("ledger", "What was spent", _words(optimizer), tuple(body), top)


def _limits(optimizer: Optimizer) -> list[tuple[str, float, float]]:
    """Each limit of the budget: its name, what is used, and the limit."""
    used, budget = accounts.spent(optimizer.history), optimizer.budget
    rows = (
        ("evaluations", float(used.evaluations), budget.evaluations),
        ("time", used.seconds, budget.seconds),
        ("cost", used.cost, budget.cost),
    )
    return [(name, spent, float(limit)) for name, spent, limit in rows if limit is not None]


def _unit(seconds: float) -> tuple[str, float]:
    for unit, size in (("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0), ("seconds", 1.0)):
        if seconds >= 2 * size:
            return unit, size
    return "milliseconds", 1e-3


def _panel(name: str, amounts: list[tuple[Record, float]], top: float) -> list[str]:
    """A bar a trial; red where it failed."""
    values = [amount for _, amount in amounts]
    left = svg.margin([0.0, *values], top + _PANEL)
    y = Scale(0.0, max(values), top + _PANEL, top)
    last = max(record.number for record, _ in amounts)
    x = Scale(-0.5, last + 0.5, left, svg.WIDTH - 12)
    body = svg.frame(x, y, xlabel="trial", ylabel=name)
    width = min((x.end - x.start) / (last + 1) * 0.8, 12.0)
    for record, amount in amounts:
        kind = "wrong" if record.status == "failed" else "bar"
        tip = f"trial {record.number}{', failed' if kind == 'wrong' else ''}: {number(amount, 3)}"
        at = x(record.number) - width / 2
        body.append(svg.rect(kind, at, y(amount), width, y.start - y(amount), tip))
    return body


def _words(optimizer: Optimizer) -> str:
    history = optimizer.history
    used = accounts.spent(history)
    account = accounts.describe(optimizer.budget, used, seconds=used.seconds)
    failed = [r for r in history.finished if r.status == "failed" and r.spends]
    text = f"Used: {account}."
    if failed:
        lost = sum((r.ended_at or 0.0) - r.asked_at for r in failed)
        text += f" Red: {len(failed)} that failed, {accounts.duration(lost)} of them in all."
    known = sum(r.source == "known" for r in history)
    if known:
        text += f" {known} known point{'s' if known > 1 else ''} cost nothing."
    return text
