"""Policies by a line of text, so that a variant is tried without editing.

    spec    = [label "="] name [":" field "=" value {"," field "=" value}]
    default            ei:compress=false            fin2=default:finish=0.2,size=4/400
    ucb:kappa=1        paper:acquisition=poi,rule=projected,rho=late      paper:surrogate=paper
`name` is a preset of `headway.Policy`, or "random" or "sobol", which need no model. A field is an
argument of the preset, a field of `Policy`, of `Surrogate` or of a value within them, or `design`.
A value is a number, true, false, none, a word, or a tuple of numbers joined by "/".
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import headway

PRESETS = ("default", "ei", "poi", "ucb", "mes", "greedy", "paper")
MODEL_FREE = ("random", "sobol")
_WORDS = {"true": True, "false": False, "none": None}

# What `run` takes when no policy is named: what the default's parts bring, then every policy of
# the paper.
STANDARD = (
    "ei",
    "default",
    "ei:finish=0.1",
    "ei:compress=false",
    "default:compress=false",
    "box=default:local=box,size=2/0.02",
    "poi",
    "ucb",
    "mes",
    "greedy",
    "paper",
    "paper:rule=projected",
    "paper:rule=sampled",
    "paper:rule=printed",
    "paper:anchor=best",
    "paper:rho=late",
    "paper:acquisition=poi",
    "paper:acquisition=ucb",
    "paper:acquisition=mes",
    "paper:surrogate=paper",
    "sobol",
)


@dataclass(frozen=True, slots=True)
class Spec:
    """What one spec means; `policy` is None for a model-free one."""

    label: str
    text: str
    name: str
    policy: headway.Policy | None
    surrogate: headway.Surrogate
    design: int | None


def parse(text: str) -> Spec:
    """The policy, the surrogate and the design that a spec asks for."""
    head, _, tail = text.partition(":")
    label, equals, name = head.rpartition("=")
    label = label if equals else text
    settings = _settings(tail, text)
    # The functions are deterministic, and the optimizer may know it.
    surrogate = headway.Surrogate(noise=0.0)
    if name in MODEL_FREE:
        if settings:
            raise ValueError(f"{text!r}: {name} takes no fields")
        return Spec(label, text, name, None, surrogate, None)
    if name not in PRESETS:
        allowed = ", ".join((*PRESETS, *MODEL_FREE))
        raise ValueError(f"{text!r}: no policy is called {name!r}; there are {allowed}")
    if settings.pop("surrogate", None) == "paper":
        surrogate = headway.Surrogate.paper()
    design = settings.pop("design", None)
    preset = getattr(headway.Policy, name)
    taken = inspect.signature(preset).parameters
    policy = preset(**{key: settings.pop(key) for key in list(settings) if key in taken})
    policy = _replaced(policy, settings)
    surrogate = _replaced(surrogate, settings)
    if settings:
        known = sorted({*taken, *_names(policy), *_names(surrogate), "surrogate", "design"})
        raise ValueError(
            f"{text!r}: no field is called {next(iter(settings))!r}; there are {known}"
        )
    return Spec(label, text, name, policy, surrogate, design)


def _settings(tail: str, text: str) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    for part in filter(None, tail.split(",")):
        key, equals, value = part.partition("=")
        if not equals:
            raise ValueError(f"{text!r}: {part!r} is not field=value")
        settings[key.strip()] = _value(value.strip())
    return settings


def _value(text: str) -> Any:
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if "/" in text:
        return tuple(_value(part) for part in text.split("/"))
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _names(value: Any) -> list[str]:
    return [item.name for item in fields(value)]


def _replaced(value: Any, settings: dict[str, Any]) -> Any:
    """`value` with the fields that `settings` names, which are taken out of it; inner ones too."""
    inner: Mapping[str, Any] = {
        name: _replaced(getattr(value, name), settings)
        for name in _names(value)
        if is_dataclass(getattr(value, name)) and name not in settings
    }
    own = {name: settings.pop(name) for name in _names(value) if name in settings}
    return replace(value, **{**inner, **own})
