"""Every trial of a study as a table: CSV with a column for each parameter, or JSON."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

from headway.errors import SettingError
from headway.shell.accounts import Account, as_json


def write(account: Account, output: Path | None, *, as_json: bool) -> str:
    """The text, also written to the file if one is named."""
    kind = "json" if as_json else "csv"
    if output is not None:
        kind = output.suffix.removeprefix(".").lower()
        if kind not in ("csv", "json"):
            raise SettingError(
                f"{str(output)!r} has no known ending. Allowed: .csv or .json. Rename it."
            )
    rows = entries(account)
    text = json.dumps(rows, indent=1) if kind == "json" else _csv(rows)
    if output is not None:
        try:
            output.write_text(text if text.endswith("\n") else text + "\n", encoding="utf-8")
        except OSError as error:
            raise SettingError(
                f"{str(output)!r} cannot be written: {error.strerror}. Allowed: a file in a folder "
                f"that exists. Give another name."
            ) from error
    return text.rstrip("\n")


def entries(account: Account) -> list[dict[str, Any]]:
    """The trials by number, those that spent nothing included."""
    trials = sorted((*account.trials, *account.unspent), key=lambda trial: trial.number)
    return [as_json(trial) for trial in trials]


def _csv(rows: list[dict[str, Any]]) -> str:
    params = list(dict.fromkeys(name for row in rows for name in row["params"]))
    limits = list(dict.fromkeys(name for row in rows for name in row["constraints"]))
    plain = ("cost", "began", "ended", "why", "error")
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    header = ["number", "state", "value", *params, *(f"limit {name}" for name in limits), *plain]
    writer.writerow(header)
    for row in rows:
        writer.writerow(
            [
                *(row.get(name) for name in ("number", "state", "value")),
                *(row["params"].get(name) for name in params),
                *(row["constraints"].get(name) for name in limits),
                *(row.get(name) for name in plain),
            ]
        )
    return out.getvalue()
