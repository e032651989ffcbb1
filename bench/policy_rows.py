"""The benchmark's rows: one JSON line a run, appended as they come."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

Row = dict[str, Any]

KEY = ("policy", "suite", "problem", "d", "instance", "seed", "T")


def key_of(row: Row) -> tuple[Any, ...]:
    """What makes two rows the same run."""
    return tuple(row[name] for name in KEY)


def pair_of(row: Row) -> tuple[Any, ...]:
    """What two policies must share to be compared."""
    return key_of(row)[1:]


def append(path: Path, row: Row) -> None:
    """One line, written at once, so that a kill leaves whole lines but for the last."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(row, allow_nan=False)
    with path.open("a+b") as file:
        if file.tell() > 0:
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":  # torn by a kill
                file.write(b"\n")
        file.write(text.encode() + b"\n")


def read(paths: Iterable[Path]) -> list[Row]:
    """The rows of these files; of two of the same run the later one; a torn line is left out."""
    rows: dict[tuple[Any, ...], Row] = {}
    for path in paths:
        if not path.exists():
            continue
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                row = json.loads(line)
            except json.JSONDecodeError:
                continue
            rows[key_of(row)] = row
    return list(rows.values())
