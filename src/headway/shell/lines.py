"""Where each key of a TOML text stands, which the parser of the standard library does not say.

Only what a person looks for is found: table headers and the keys at their level. A key inside an
inline table or a list stands where the key that holds it stands.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

Path = tuple[str, ...]

_BARE = r"[A-Za-z0-9_-]+"
_QUOTED = r'"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\''
_KEY = rf"(?:{_BARE}|{_QUOTED})(?:[ \t]*\.[ \t]*(?:{_BARE}|{_QUOTED}))*"
_HEADER = re.compile(rf"\[\[?[ \t]*({_KEY})[ \t]*\]\]?")
_ENTRY = re.compile(rf"({_KEY})[ \t]*=")
_PART = re.compile(rf"{_QUOTED}|{_BARE}")
# What may hold a bracket or a newline that does not count, the longest quotes first.
_SKIPPED = re.compile(
    r'"""(?:\\.|(?!""").)*"{3,5}' + r"|'''(?:(?!''').)*'{3,5}" + rf"|{_QUOTED}|#[^\n]*", re.DOTALL
)


def locate(text: str) -> dict[Path, int]:
    """The line, from 1, of every table and key of a text that is valid TOML."""
    found: dict[Path, int] = {}
    table: Path = ()
    place, depth, fresh = 0, 0, True  # fresh: nothing but blanks since the line began
    while place < len(text):
        if fresh and depth == 0:
            line = text.count("\n", 0, place) + 1
            header, entry = _HEADER.match(text, place), _ENTRY.match(text, place)
            if header:
                table = _parts(header[1])
                _add(found, table, 0, line)
            elif entry:
                _add(found, (*table, *_parts(entry[1])), len(table), line)
            if header or entry:
                place, fresh = (header or entry).end(), False  # type: ignore[union-attr]
                continue
        skipped = _SKIPPED.match(text, place)
        if skipped:
            place, fresh = skipped.end(), False
            continue
        character = text[place]
        depth += (character in "[{") - (character in "]}")
        fresh = character == "\n" or (fresh and character in " \t\r")
        place += 1
    return found


def line_of(path: Sequence[str], lines: Mapping[Path, int]) -> int | None:
    """The line of a key, or of the nearest table or key that holds it."""
    for length in range(len(path), 0, -1):
        if tuple(path[:length]) in lines:
            return lines[tuple(path[:length])]
    return None


def _add(found: dict[Path, int], path: Path, known: int, line: int) -> None:
    """A dotted key makes the tables that it passes through."""
    for length in range(known + 1, len(path) + 1):
        found.setdefault(path[:length], line)


def _parts(key: str) -> Path:
    return tuple(part[1:-1] if part[0] in "\"'" else part for part in _PART.findall(key))
