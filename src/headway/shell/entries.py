"""A table of a study file that knows where each of its keys stands, and what it may hold.

`only` refuses keys that are not expected, before anything else is said of the table.
Errors begin with the place: "study.toml, line 7, parameters.height: ...".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NoReturn

from headway.errors import InvalidInput, StudyError
from headway.shell.lines import Path, line_of
from headway.values import listed, suggestion

_UNITS = {"ms": 0.001, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(rf"\s*(\d+\.?\d*|\.\d+)\s*({'|'.join(_UNITS)})\s*")


class Table:
    """One table of a parsed TOML text."""

    def __init__(
        self, data: Mapping[str, Any], file: str, lines: Mapping[Path, int], path: Path = ()
    ) -> None:
        self.data, self.path = data, path
        self._file, self._lines = file, lines

    def __contains__(self, key: str) -> bool:
        return key in self.data

    def take(self, key: str, default: Any = None, *, kind: type | tuple[type, ...] = object) -> Any:
        """The value of a key, of the kind that it must be; the default where it is missing."""
        if key not in self.data:
            return default
        value = self.data[key]
        kinds = kind if isinstance(kind, tuple) else (kind,)
        if not isinstance(value, kind) or (isinstance(value, bool) and object not in kinds):
            names = " or ".join(_NAMES[one] for one in kinds)
            self.refuse(f"{value!r} is no {names}. Write {names}", key)
        return value

    def table(self, key: str) -> Table | None:
        """The table of a key, None where it is missing."""
        data = self.take(key, kind=dict)
        return None if data is None else self.within(key, data)

    def within(self, key: str, data: Mapping[str, Any]) -> Table:
        return Table(data, self._file, self._lines, (*self.path, key))

    def only(self, *keys: str) -> None:
        """Refuse the keys that are not expected."""
        for key in self.data:
            if key not in keys:
                self.refuse(
                    f"the key {key!r} is unknown. Allowed: {listed(keys, most=20)}."
                    f"{suggestion(key, keys)}",
                    key,
                )

    def refuse(self, message: str, key: str | None = None) -> NoReturn:
        end = "" if message.endswith((".", "?")) else "."
        raise StudyError(f"{self.place(key)}: {message}{end}")

    def place(self, key: str | None = None) -> str:
        """Where a key stands, or where the table begins."""
        path = self.path if key is None else (*self.path, key)
        line = line_of(path, self._lines)
        parts = [self._file, f"line {line}" if line else "", ".".join(path)]
        return ", ".join(part for part in parts if part)

    @contextmanager
    def at(self, key: str | None = None) -> Iterator[None]:
        """Name the place in what the library refuses."""
        try:
            yield
        except InvalidInput as error:
            if isinstance(error, StudyError) and str(error).startswith(self._file):
                raise  # it has its place already
            text = " ".join(str(error).split())  # a point's errors are a list
            raise StudyError(f"{self.place(key)}: {text}") from error

    def read(self, key: str, convert: Callable[[Any], Any], default: Any = None) -> Any:
        """The value of a key, converted; what the conversion refuses gets its place."""
        value = self.take(key)
        if key not in self.data:
            return default
        with self.at(key):
            return convert(value)


def seconds(given: Any) -> float:
    """A duration: a number of seconds, or a text such as "90 s", "20 min", "8 h", "2 d"."""
    match = _DURATION.fullmatch(given) if isinstance(given, str) else None
    if match:
        amount = float(match[1]) * _UNITS[match[2]]
    else:
        number = isinstance(given, int | float) and not isinstance(given, bool)
        amount = float(given) if number else 0.0
    if not 0 < amount < float("inf"):
        raise StudyError(
            f"{given!r} is no duration above 0. Allowed: seconds as a number, or a text with a "
            f'unit. Write 90, "90 s", "20 min", "8 h" or "2 d".'
        )
    return amount


_NAMES: dict[type, str] = {
    str: "text in quotes",
    int: "whole number",
    float: "number",
    dict: "table",
    list: "list in [ ]",
    bool: "true or false",
}
