"""What the doors accept: whole numbers, directions and points, each checked with its own text."""

from __future__ import annotations

import numbers
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, cast, get_args

import numpy as np

from headway.arrays import Array
from headway.errors import SettingError, SpaceError
from headway.history import Direction
from headway.policy import Policy
from headway.proposal import Settings
from headway.space import Space
from headway.surrogate import Surrogate

Point = Mapping[str, Any] | Sequence[float] | Array


def whole(name: str, given: object, least: int) -> int:
    """A whole number of at least `least`."""
    if isinstance(given, bool) or not isinstance(given, numbers.Integral) or given < least:
        raise SettingError(
            f"{name} is {given!r}. Allowed: a whole number of at least {least}. Give an int."
        )
    return int(given)


def settings(
    d: int,
    *,
    seed: int | None,
    policy: Policy | None,
    surrogate: Surrogate | None,
    noise: float | Literal["auto"] | None,
    design: int | None,
) -> Settings:
    """The settings of a run, defaults filled in."""
    surrogate = Surrogate() if surrogate is None else surrogate
    policy = Policy.default() if policy is None else policy
    for name, given, kind in (("policy", policy, Policy), ("surrogate", surrogate, Surrogate)):
        if not isinstance(given, kind):
            raise SettingError(
                f"{name} is {given!r}, of type {type(given).__name__}. Allowed: a headway."
                f"{kind.__name__}. Leave it out for the default."
            )
    return Settings(
        policy=policy,
        surrogate=surrogate if noise is None else replace(surrogate, noise=noise),
        seed=secrets.randbits(32) if seed is None else whole("seed", seed, 0),
        design=max(2, d + 1) if design is None else whole("design", design, 1),
    )


def direction(given: object) -> Direction:
    """Which way is better."""
    if isinstance(given, str) and given in get_args(Direction):
        return cast(Direction, given)
    raise SettingError(
        f"direction is {given!r}. Allowed: 'minimize' or 'maximize'. Choose one of the two."
    )


def points(x0: object, space: Space) -> list[dict[str, Any]]:
    """The start points as dicts; a single point stands for a list of one."""
    if x0 is None:
        return []
    if isinstance(x0, Mapping) or _is_vector(x0):
        x0 = [x0]
    scalar = isinstance(x0, np.ndarray) and x0.ndim == 0  # says it is iterable and is not
    if isinstance(x0, (str, bytes)) or not isinstance(x0, Iterable) or scalar:
        raise SpaceError(
            f"x0 is {x0!r}. Allowed: a point of the space, or a list of points. Give a list."
        )
    return [point(given, space, name=f"x0[{index}]") for index, given in enumerate(x0)]


def point(given: object, space: Space, *, name: str) -> dict[str, Any]:
    """The parameters of a point in plain Python values, each as the space has it."""
    try:
        params = space.params_of(given)
        snapped = space.decode(space.encode(params))
    except SpaceError as error:
        raise SpaceError(f"{name} is {given!r}, not a point of the space: {error}") from error
    return {key: _own(params[key], value) for key, value in snapped.items()}


def _own(given: object, snapped: Any) -> Any:
    """The user's own number where decoding moved a real by a rounding error."""
    if isinstance(snapped, float) and isinstance(given, numbers.Real):
        return float(given) if abs(float(given) - snapped) <= 1e-9 * abs(snapped) else snapped
    return snapped


def _is_vector(x0: object) -> bool:
    if isinstance(x0, np.ndarray):
        return x0.ndim == 1
    return isinstance(x0, Sequence) and len(x0) > 0 and isinstance(x0[0], numbers.Real)
