"""A commented study file, written from the answers to a few questions.

The command comes first: its placeholders are the parameters that the next questions are about. What
is written is read back as a study file before it is left on the disk.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from headway.errors import InvalidInput, SettingError, StudyError
from headway.shell.command import TRIAL, Template
from headway.shell.entries import seconds
from headway.study import Study, split

T = TypeVar("T")

_EXAMPLE = "python simulate.py --height {height} --ribs {ribs}"
_RANGE = re.compile(r"\s*(?P<low>\S+?)\s*(?:to|\.\.|\s)\s*(?P<high>\S+?)(?P<whole>\s+integer)?\s*")


@dataclass(frozen=True, slots=True)
class Answers:
    """What a study file is written from."""

    command: str = _EXAMPLE
    parameters: tuple[tuple[str, str], ...] = (
        ("height", "[10.0, 80.0]"),
        ("ribs", '{type = "integer", low = 0, high = 6}'),
    )
    goal: str = "minimize"
    budget: str = "60"
    value: str = '"number"'
    timeout: str | None = None


def write(path: Path, *, ask: bool, force: bool) -> None:
    """Ask, and write the study file."""
    if path.suffix != ".toml":
        raise SettingError(f"{str(path)!r} is no study file. Allowed: a name ending in .toml.")
    if path.exists() and not force:
        raise SettingError(
            f"{str(path)!r} exists. Allowed: a new name, or --force to replace it. Nothing was "
            f"written."
        )
    text = render(questions(_prompt) if ask else Answers())
    Study.of(tomllib.loads(text), file=path.name, text=text, name=path.stem)  # it can be run
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SettingError(
            f"{str(path)!r} cannot be written: {error.strerror}. Allowed: a file in a folder that "
            f"exists. Give another name."
        ) from error


def questions(prompt: Callable[[str, str], str]) -> Answers:
    """The dialogue; `prompt` shows a question and a default and returns the answer."""
    command = _until(
        prompt,
        "The command to run, with {name} where a value goes",
        _EXAMPLE,
        lambda text: (_template(text), text)[1],
    )
    names = [name for name in _template(command).names if name != TRIAL]
    parameters = []
    for name in names:
        question = f"{name}: a range (10 to 80, or 0 to 6 integer), or choices (steel, aluminium)"
        parameters.append((name, _until(prompt, question, "0 to 1", _parameter)))
    goal = _until(prompt, "Minimize or maximize its result?", "minimize", _goal)
    budget = _until(prompt, "How many runs can you afford (60), or how long (8 h)?", "60", _budget)
    question = (
        "How is the result read? number (the only one printed), last number, json KEY, or regex "
        "PATTERN"
    )
    value = _until(prompt, question, "number", _value)
    timeout = _until(prompt, "When is a run taken for hung (20 min)? Never: none", "none", _timeout)
    return Answers(command, tuple(parameters), goal, budget, value, timeout)


def render(answers: Answers) -> str:
    """The study file."""
    width = max(len(_key(name)) for name, _ in answers.parameters)
    parameters = "\n".join(f"{_key(name):<{width}} = {entry}" for name, entry in answers.parameters)
    timeout = (
        '# timeout = "20 min"  # a run that takes longer is ended and has failed'
        if answers.timeout is None
        else f"timeout = {answers.timeout}  # a run that takes longer is ended and has failed"
    )
    return f"""\
# A study. To run it: headway run THIS_FILE. To look at it: headway status THIS_FILE.

budget = {answers.budget}  # runs; or a time such as "8 h"
goal = {_text(answers.goal)}

# Run without a shell, in the folder of this file. {{name}} stands for a parameter's value,
# {{trial}} for the number of the run. A list of arguments does as well: ["python", "{{a}}"].
command = {_text(answers.command)}

# How the result is read from what the command prints: "number" (the only one), "last number",
# {{json = "mass"}} or {{regex = 'mass = (\\S+)'}}.
value = {answers.value}

{timeout}
# retries = 1    # a run that fails is tried so often again
# workers = 2    # runs at a time
# noise = 0      # the same input gives the same result; leave it out if unsure
# cost = {{json = "seconds"}}    # what a run cost, for budget = {{cost = 200}}
# storage = "postgresql://user@host/name"    # for workers on several machines

[parameters]
# real: [10.0, 80.0], or {{type = "real", low = 1e-5, high = 0.1, log = true}}
# whole numbers: {{type = "integer", low = 0, high = 6}}    in an order: {{values = [1, 2, 5, 10]}}
# names: {{choices = ["steel", "aluminium"]}}    only with: {{..., when = {{alloy = "steel"}}}}
{parameters}

# [constraints]    # what must hold besides; a run that breaks one is not the answer
# stress = {{json = "stress", max = 250}}
"""


def _until(
    prompt: Callable[[str, str], str], question: str, default: str, read: Callable[[str], T]
) -> T:
    """Ask until the answer can be read."""
    while True:
        answer = prompt(question, default)
        try:
            return read(answer)
        except InvalidInput as error:
            sys.stderr.write(f"  {' '.join(str(error).split())}\n")


def _prompt(question: str, default: str) -> str:
    sys.stderr.write(f"{question}\n  [{default}] ")
    sys.stderr.flush()
    answer = sys.stdin.readline()
    if not answer:
        raise SettingError(
            "there is nobody to answer: the input has ended. Allowed: a terminal, or --defaults to "
            "write an example. Nothing was written."
        )
    return answer.strip() or default


def _template(text: str) -> Template:
    template = Template(split(text))
    if not any(name != TRIAL for name in template.names):
        raise StudyError(
            "the command has no placeholder, so nothing could be tried. Write {name} where a "
            "value goes: python simulate.py {height}."
        )
    return template


def _parameter(text: str) -> str:
    if "," in text:
        choices = [part.strip() for part in text.split(",") if part.strip()]
        numbers = [_number(part) for part in choices]
        if all(number is not None for number in numbers):
            return f"{{values = [{', '.join(map(str, numbers))}]}}"
        return f"{{choices = [{', '.join(map(_text, choices))}]}}"
    match = _RANGE.fullmatch(text)
    ends = [_number(match[end]) for end in ("low", "high")] if match else []
    if match is None or None in ends:
        raise StudyError(
            f"{text!r} is neither a range nor choices. Write 10 to 80, 0 to 6 integer, or steel, "
            f"aluminium."
        )
    low, high = ends
    if match["whole"]:
        return f'{{type = "integer", low = {low}, high = {high}}}'
    return f"[{float(low or 0)!r}, {float(high or 0)!r}]"


def _number(text: str) -> int | float | None:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return None


def _goal(text: str) -> str:
    for goal in ("minimize", "maximize"):
        if text and goal.startswith(text.lower()):
            return goal
    raise StudyError(f"{text!r} is neither. Write minimize or maximize.")


def _budget(text: str) -> str:
    if text.isdigit() and int(text) > 0:
        return text
    seconds(text)
    return _text(text)


def _value(text: str) -> str:
    kind, _, pattern = text.partition(" ")
    if text in ("number", "last number"):
        return _text(text)
    if kind in ("json", "regex") and pattern:
        quoted = f"'{pattern}'" if "'" not in pattern else _text(pattern)
        return f"{{{kind} = {quoted}}}"
    raise StudyError(f"{text!r} is no way to read. Write number, last number, json mass, ...")


def _timeout(text: str) -> str | None:
    if text == "none":
        return None
    number = _number(text)
    seconds(text if number is None else number)
    return _text(text) if number is None else text


def _text(text: str) -> str:
    """A TOML text; JSON's escapes are TOML's."""
    return json.dumps(text, ensure_ascii=False)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _text(name)
