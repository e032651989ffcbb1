"""How a number is read from what a command printed.

"number"              the only number in the output; two are an error, not a guess
"last number"         the last of them
{regex = "mass = (.*)"}   the group, or the whole match, of the last place that matches
{json = "result.mass"}    the key, in the last line that is a JSON object or in the whole output
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Any, Literal

from headway.errors import StudyError, TellError

Kind = Literal["number", "last number", "regex", "json"]

# A number that stands by itself: not the 2 of "x2", "x-2" or "2-D", nor a part of "1.2.3" or of a
# date. Fortran writes exponents with a D, and typographers a minus of their own.
_NUMBER = re.compile(
    r"(?<![\w.])(?<!\w[-+\u2212])[-+\u2212]?"
    r"(?:(?:\d+\.?\d*|\.\d+)(?:[eEdD][-+]?\d+)?|nan|inf(?:inity)?)(?!\w|\.\d|-\w)",
    re.IGNORECASE,
)
# Whole numbers with commas between may be one number, of thousands or of decimals, or several.
_COMMAS = re.compile(
    r"(?<![\w.,])[-+\u2212]?(?:\d{1,3}(?:,\d{3})+(?:\.\d*)?|\d+,\d+)(?![\w,]|\.\d)"
)
_SHOWN = 120


class Ambiguous(TellError):
    """Several numbers where one was expected: the reading is wrong, not the trial."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One of the four ways; `pattern` is the regular expression or the JSON key."""

    kind: Kind
    pattern: str = ""

    def __post_init__(self) -> None:
        if self.kind == "regex":
            try:
                groups = re.compile(self.pattern).groups
            except re.error as error:
                raise StudyError(
                    f"regex = {self.pattern!r} is no regular expression: {error}. In TOML write it "
                    f"in single quotes, which leave backslashes alone."
                ) from None
            if groups > 1:
                raise StudyError(
                    f"regex = {self.pattern!r} has {groups} groups. Allowed: at most one, the "
                    f"number. Write (?:...) for the others."
                )

    @classmethod
    def of(cls, given: Any) -> Reading:
        """What a study file says, or a StudyError."""
        if isinstance(given, str) and given in ("number", "last number"):
            return cls(given)  # type: ignore[arg-type]  # one of the two
        if isinstance(given, dict) and len(given) == 1:
            ((kind, pattern),) = given.items()
            if kind in ("regex", "json") and isinstance(pattern, str) and pattern:
                return cls(kind, pattern)
        raise StudyError(
            f'{given!r} is no way to read a number. Allowed: "number" (the only one printed), '
            f'"last number", {{regex = \'mass = (\\S+)\'}} or {{json = "mass"}}. Write one of them.'
        )

    def read(self, output: str) -> float:
        """The finite number in an output, or a TellError that shows what was there."""
        number = _float(self._text(output))
        if not math.isfinite(number):
            raise TellError(f"the command printed {number}")
        return number

    def _text(self, output: str) -> Any:
        if self.kind == "json":
            return _at(_json_of(output), self.pattern)
        if self.kind == "regex":
            matches = list(re.finditer(self.pattern, output, re.MULTILINE))
            if not matches:
                raise TellError(
                    f"regex = {self.pattern!r} matches nothing in the output{_shown(output)}"
                )
            return matches[-1][matches[-1].re.groups]
        matches = list(_NUMBER.finditer(output))
        found = [match[0] for match in matches]
        if not found:
            raise TellError(f"the command printed no number{_shown(output)}")
        if self.kind == "number" and len(found) > 1:
            raise Ambiguous(
                f"the command printed {len(found)} numbers where one was expected "
                f"({', '.join(found[:5])}{', ...' if len(found) > 5 else ''}). Print one, or set "
                f'"last number", a regex or a JSON key in the study file'
            )
        commas = [m for m in _COMMAS.finditer(output) if m.end() == matches[-1].end()]
        if commas:
            raise Ambiguous(
                f"the command printed {commas[0][0]!r}, which may be one number or several. Print "
                f"it without commas, or set a regex or a JSON key in the study file"
            )
        return found[-1]

    def __str__(self) -> str:
        return f"{self.kind} {self.pattern}".strip()


def _float(text: Any) -> float:
    if isinstance(text, str):
        try:
            return float(re.sub("[dD](?=[-+]?[0-9])", "e", text.strip()).replace("\u2212", "-"))
        except ValueError:
            pass
    elif isinstance(text, int | float) and not isinstance(text, bool):
        return float(text)
    raise TellError(f"{text!r} was read, which is not a number")


def _json_of(output: str) -> dict[str, Any]:
    for text in (*reversed(output.splitlines()), output):
        try:
            data = json.loads(text)
        except (ValueError, RecursionError):
            continue
        if isinstance(data, dict):
            return data
    raise TellError(f"the command printed no JSON object{_shown(output)}")


def _at(data: Any, key: str) -> Any:
    """The value of a key; dots go into objects."""
    if key in data:
        return data[key]
    for part in key.split("."):
        if not isinstance(data, dict) or part not in data:
            raise TellError(f"the JSON that the command printed has no key {key!r}")
        data = data[part]
    return data


def _shown(output: str) -> str:
    """The end of an output for an error message."""
    text = " ".join(output.split())
    if not text:
        return ": it printed nothing on its standard output"
    return f"; its output ends: {text[-_SHOWN:]!r}"
