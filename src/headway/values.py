"""What a value must be: finite numbers, whole numbers, and choices that JSON brings back unchanged.

Choices are told apart by their canonical JSON text, hence by type and value. The errors here begin
with the value; the caller puts the name of what it is in front.
"""

from __future__ import annotations

import json
import math
import numbers
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from difflib import get_close_matches

import numpy as np

from headway.errors import SpaceError


def canonical(value: object) -> str:
    """The JSON text that equals another's just when type and value do."""
    if isinstance(value, float):
        value += 0.0  # -0.0 becomes 0.0
    return json.dumps(value, sort_keys=True, allow_nan=False)


def plain(value: object) -> object:
    """A numpy scalar as the Python value it stands for; anything else as it is."""
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        return value.item()
    return value


def listed(values: Iterable[object], most: int = 8) -> str:
    """Values for an error message, cut short if they are many."""
    texts = [repr(value) for value in values]
    shown = ", ".join(texts[:most])
    return shown if len(texts) <= most else f"{shown}, ... ({len(texts)} in all)"


def suggestion(name: object, names: Iterable[str]) -> str:
    """' Did you mean ...?' for a misspelt name, or nothing."""
    close = get_close_matches(name, list(names), n=1) if isinstance(name, str) else []
    return f" Did you mean {close[0]!r}?" if close else ""


def finite(value: object) -> float:
    """A value as a finite float, or a SpaceError that begins with it."""
    number = plain(value)
    if isinstance(number, bool):
        raise SpaceError(
            f"{number} is a bool, not a number. For a switch use Categorical([False, True])."
        )
    if not isinstance(number, numbers.Real):
        raise SpaceError(
            f"{value!r} is of type {type(value).__name__}, not a number. Give an int or a float; "
            "for names use Categorical([...])."
        )
    try:
        as_float = float(number)
    except OverflowError:
        raise SpaceError("an int too large for a float. Search its logarithm.") from None
    if not math.isfinite(as_float):
        raise SpaceError(
            f"{number!r} is not finite. Give a finite number; where no bound is known, the most "
            "extreme value worth trying."
        )
    return as_float


def whole(value: object) -> int:
    """A value as an int, or a SpaceError that begins with it."""
    number = plain(value)
    if isinstance(number, int) and not isinstance(number, bool):
        return number
    as_float = finite(number)
    if not as_float.is_integer():
        raise SpaceError(
            f"{number!r} is not a whole number. Round it, or use Real for a continuous parameter."
        )
    return int(as_float)


def flag(value: object) -> bool:
    """A value as a bool, or a SpaceError that begins with it."""
    switch = plain(value)
    if not isinstance(switch, bool):
        raise SpaceError(f"{value!r} is of type {type(value).__name__}. Give True or False.")
    return switch


def items(given: object) -> tuple[object, ...]:
    """The elements of anything that has an order."""
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        raise SpaceError(f"{given!r} is of type {type(given).__name__}. Give a list: [1, 2].")
    if isinstance(given, (set, frozenset)):
        raise SpaceError(f"{given!r} is a set, whose order changes from run to run. Give a list.")
    elements = tuple(deepcopy(plain(element)) for element in given)  # a list may change later
    if not elements:
        raise SpaceError(f"{given!r} is empty. Give at least one, or leave out the parameter.")
    return elements


def distinct(elements: Sequence[object]) -> dict[str, int]:
    """The place of each element by its canonical text; each must survive JSON and none repeat."""
    index: dict[str, int] = {}
    for place, element in enumerate(elements):
        text = _json_text(element)
        if text is None:
            raise SpaceError(
                f"[{listed(elements)}] has {element!r}, of type {type(element).__name__}, which "
                "JSON does not bring back unchanged. Give a str, int, finite float, bool, None, or "
                "a list or dict of these; for any other object give a name, and look it up in f."
            )
        if text in index:
            raise SpaceError(f"[{listed(elements)}] has {element!r} twice. Leave one out.")
        index[text] = place
    return index


def look_up(value: object, elements: Sequence[object], index: Mapping[str, int]) -> int:
    """The place of a value among the elements that `distinct` indexed."""
    value = plain(value)
    place = index.get(_json_text(value) or "")
    if place is None:
        hint = suggestion(value, [element for element in elements if isinstance(element, str)])
        for element in elements:
            if isinstance(value, (bool, int, float)) and element == value:
                hint = f" It is of type {type(value).__name__}, not {type(element).__name__}."
        raise SpaceError(f"{value!r} is not one of {listed(elements)}.{hint}")
    return place


def _json_text(value: object) -> str | None:
    """The canonical text, or None if the value cannot be had back from it."""
    try:
        text = canonical(value)
    except (TypeError, ValueError, RecursionError):
        return None
    return text if _identical(json.loads(text), value) else None


def _identical(one: object, other: object) -> bool:
    if type(one) is not type(other):
        return False
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_identical, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_identical(one[key], other[key]) for key in one)
    return one == other
