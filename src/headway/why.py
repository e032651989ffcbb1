"""Why a point was proposed: a small frozen value that prints as a sentence."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True, slots=True)
class Why:
    """What decided, and what the model expected there.

    mean and sd are in the user's units; distance is from the best point, in length-scales; log_ei
    is in standardised units; local is the weighted local term's value, at most 0 for the annealed
    ones. None: does not apply.
    """

    decided: str
    mean: float | None = None
    sd: float | None = None
    log_ei: float | None = None
    local: float | None = None
    distance: float | None = None
    kappa: float | None = None
    angle: float | None = None
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        parts = [self.decided]
        if self.mean is not None and self.sd is not None:
            parts.append(f"expected {self.mean:.6g} ± {self.sd:.2g}")
        if self.log_ei is not None:
            parts.append(f"log EI {self.log_ei:.3g}")
        if self.local is not None:
            parts.append(f"local term {self.local:.3g}")
        if self.distance is not None:
            parts.append(f"{self.distance:.2g} length-scales from the best")
        if self.kappa is not None and self.angle is not None:
            parts.append(f"direction κ = {self.kappa:.3g}, {self.angle:.0f}° off")
        return "; ".join([*parts, *self.notes])

    def to_json(self) -> dict[str, Any]:
        """The fields that apply, as plain JSON."""
        data = {item.name: getattr(self, item.name) for item in fields(self)}
        data["notes"] = list(self.notes)
        return {name: value for name, value in data.items() if value is not None and value != []}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Why:
        return cls(**{**data, "notes": tuple(data.get("notes", ()))})


def for_user(why: Why, *, maximize: bool) -> Why:
    """The reasons of a proposal, which minimises, in the user's sign; JSON has no infinity."""
    reasons = {key: value for key, value in why.to_json().items() if _is_plain(value)}
    if maximize and "mean" in reasons:
        reasons["mean"] = -reasons["mean"]
    return Why.from_json(reasons)


def _is_plain(value: object) -> bool:
    return not isinstance(value, float) or math.isfinite(value)
