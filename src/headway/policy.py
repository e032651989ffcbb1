"""The policy: how a proposal trades off exploring against staying near, as the budget is used.

One rule composes every policy (notation: p progress of the budget, tau its share used after the
initial design):
    score(x) = w_base(p) log alpha(x) + w_local(p) log H(x; p).
The paper's weights are (1 - rho, rho), rho = schedule(p); the annealed terms' are (1, 1), with the
schedule inside H: its size is s(tau) = s0 (s1 / s0)^tau. From p >= 1 - finish on, the posterior
mean is minimised.

A policy is a frozen value. A callable in it is stored by name, and given again on loading.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from headway.arrays import Array
from headway.direction.updates import RULES, Rule
from headway.errors import SettingError

Schedule = Callable[[float], float]
# (mu, sigma, best=) -> log alpha and its slopes by mu and sigma, (m,) each, in units z.
Acquisition = Callable[..., tuple[Array, Array, Array]]

ACQUISITIONS = ("ei", "poi", "ucb", "mes", "mean")
LOCAL_TERMS = ("belief", "box", "direction")
ANCHORS = ("last", "best")
# From a belief as wide as half the cube to a hundredth of it; sides in length-scales.
SIZES = {"belief": (4.0, 4000.0), "box": (2.0, 0.02)}
# rho stays below 1 while evaluations remain: at 1 the distance would not count at all.
_MOST = 0.999


def linear(progress: float) -> float:
    """The paper's: rho = t / T."""
    return progress


def late(progress: float) -> float:
    """Little weight in the first half, most of it in the last quarter."""
    return progress**3


SCHEDULES: Mapping[str, Schedule] = {"linear": linear, "late": late}
# As linear, times the concentration of the belief in [0, 1]: of its directions (their mean
# resultant length) for "direction", of its places (the share within half a length-scale of the
# best point) for the annealed terms. A belief that is spread out keeps the search open.
ADAPTIVE = "adaptive"


@dataclass(frozen=True, slots=True)
class Policy:
    """Base acquisition, local term, schedule and finish.

    acquisition: "ei", "poi", "ucb" (with `kappa`), "mes", "mean" (greedy), or a callable
        (mu, sigma, *, best) -> (log alpha, its slope by mu, its slope by sigma).
    local: None, "belief" (annealed, shaped by the belief), "box" (annealed, hard) or "direction"
        (the paper's), with its update `rule` (a name of `direction.updates.RULES`, "sampled", or a
        callable (past, belief) -> Direction or None) and its `anchor`: "last" told point or "best".
    size: the annealed term's size at the start and the end of the budget; for "belief" the
        precision s, for "box" the sides in length-scales; None: as `SIZES` has it.
    schedule: "linear", "late", "adaptive", or a callable of tau that returns the tau used in its
        place.
    finish: the last share of the budget that minimises the posterior mean.
    reopen: where the best point of the annealed region has a log EI below this (in standardised
        units), the region is worn out: a closer look refines the best point, if a model of the
        nearest points alone sees something to gain; else every other step drops the local term and
        looks everywhere.
    draws, places: how many posterior samples the belief takes, and on how many candidates.
    closer: whether closer looks are taken, there and in the finish.
    """

    acquisition: str | Acquisition = "ei"
    kappa: float = 2.0
    local: str | None = "box"
    rule: str | Rule = "exact"
    anchor: str = "last"
    size: tuple[float, float] | None = None
    schedule: str | Schedule = "late"
    finish: float = 0.1
    reopen: float = -9.0
    draws: int = 128
    places: int = 256
    closer: bool = True

    def __post_init__(self) -> None:
        if not callable(self.acquisition):
            _one_of("acquisition", self.acquisition, ACQUISITIONS)
        if self.local is not None:
            _one_of("local", self.local, LOCAL_TERMS)
        if not callable(self.rule):
            _one_of("rule", self.rule, (*RULES, "sampled"))
        _one_of("anchor", self.anchor, ANCHORS)
        if not callable(self.schedule):
            _one_of("schedule", self.schedule, (*SCHEDULES, ADAPTIVE))
        _number("kappa", self.kappa, low=0.0)
        _number("finish", self.finish, low=0.0, high=1.0)
        _number("reopen", self.reopen, low=-math.inf)
        if self.size is not None:
            if not isinstance(self.size, Sequence) or len(self.size) != 2:
                raise SettingError(
                    f"size is {self.size!r}; it is a pair, at the start and at the end"
                )
            object.__setattr__(self, "size", tuple(self.size))
            for end in self.size:
                _number("size", end, low=0.0, open_low=True)
        if not isinstance(self.closer, bool):
            raise SettingError(f"closer is {self.closer!r}; it is True or False")
        for name in ("draws", "places"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 2:
                raise SettingError(f"{name} is {value!r}; it is a whole number of at least 2")

    @classmethod
    def default(cls) -> Policy:
        """Log EI in a box that is annealed late and re-opens, closer looks, a greedy finish."""
        return cls()

    @classmethod
    def paper(
        cls,
        acquisition: str | Acquisition = "ei",
        *,
        rule: str | Rule = "exact",
        rho: str | Schedule = "linear",
        anchor: str = "last",
    ) -> Policy:
        """The directional constraint of Li and Yao over any acquisition."""
        return cls(
            acquisition, local="direction", rule=rule, schedule=rho, anchor=anchor, finish=0.0
        )

    @classmethod
    def ei(cls) -> Policy:
        """Expected improvement, nothing else."""
        return cls(acquisition="ei", local=None, finish=0.0)

    @classmethod
    def poi(cls) -> Policy:
        """Probability of improvement."""
        return cls(acquisition="poi", local=None, finish=0.0)

    @classmethod
    def ucb(cls, kappa: float = 2.0) -> Policy:
        """The optimistic confidence bound."""
        return cls(acquisition="ucb", kappa=kappa, local=None, finish=0.0)

    @classmethod
    def mes(cls) -> Policy:
        """Max-value entropy search."""
        return cls(acquisition="mes", local=None, finish=0.0)

    @classmethod
    def greedy(cls) -> Policy:
        """The posterior mean from the first model on; with one such point in flight, log EI."""
        return cls(acquisition="ei", local=None, finish=1.0)

    @property
    def needs_belief(self) -> bool:
        """Whether posterior samples are drawn."""
        if self.local in ("belief", "direction") or self.acquisition == "mes":
            return True
        return self.local == "box" and self.schedule == ADAPTIVE

    def __str__(self) -> str:
        base = self.acquisition
        name = base if isinstance(base, str) else _name_of("acquisition", base)
        return name if self.local is None else f"{name} + {self.local}"

    def weights(self, progress: float, concentration: float = 1.0) -> tuple[float, float]:
        """(w_base, w_local)."""
        if self.local != "direction":
            return 1.0, 1.0
        rho = min(self.at(progress, concentration), _MOST)
        return 1.0 - rho, rho

    def annealed_size(self, tau: float, concentration: float = 1.0) -> float:
        """s(tau)."""
        first, last = self.size or SIZES.get(self.local or "", (1.0, 1.0))
        return float(first * (last / first) ** self.at(tau, concentration))

    def at(self, progress: float, concentration: float = 1.0) -> float:
        """The schedule's value, held within [0, 1]."""
        if self.schedule == ADAPTIVE:
            return progress * concentration
        schedule = SCHEDULES[self.schedule] if isinstance(self.schedule, str) else self.schedule
        value = float(schedule(progress))
        if not math.isfinite(value):
            name = getattr(schedule, "__name__", repr(schedule))
            raise SettingError(f"schedule {name}({progress:.3g}) is {value!r}; it must be a number")
        return min(max(value, 0.0), 1.0)

    def to_json(self) -> dict[str, Any]:
        """Plain values; a callable as {"callable": its name}."""
        data = {item.name: getattr(self, item.name) for item in fields(self)}
        data["size"] = None if self.size is None else list(self.size)
        for name in ("acquisition", "schedule", "rule"):
            if not isinstance(data[name], str):
                data[name] = {"callable": _name_of(name, data[name])}
        return data

    @classmethod
    def from_json(
        cls, data: Mapping[str, Any], callables: Mapping[str, Callable[..., Any]] | None = None
    ) -> Policy:
        """The policy that `to_json` wrote; callables are looked up by their stored names."""
        values = dict(data)
        for name, value in data.items():
            if isinstance(value, Mapping):
                known = callables or {}
                if value["callable"] not in known:
                    raise SettingError(
                        f"{name} was the callable {value['callable']!r}, which is stored by name "
                        f"only. Give it again: callables={{{value['callable']!r}: ...}}."
                    )
                values[name] = known[value["callable"]]
        return cls(**values)


def _name_of(name: str, function: Callable[..., Any]) -> str:
    known_as = getattr(function, "__name__", None)
    if not isinstance(known_as, str):
        raise SettingError(
            f"{name} is {function!r}, which has no name to be stored by. Use a function made by def"
        )
    return known_as


def _one_of(name: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise SettingError(f"{name} is {value!r}; it can be one of {', '.join(allowed)}")


def _number(
    name: str, value: object, *, low: float, high: float = math.inf, open_low: bool = False
) -> None:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        inside = low < value <= high or (value == low and not open_low)
        if inside and math.isfinite(value):
            return
    bound = f"above {low:g}" if open_low else f"at least {low:g}"
    if low == -math.inf:
        bound = "that is finite"
    upper = "" if high == math.inf else f" and at most {high:g}"
    raise SettingError(f"{name} is {value!r}; it is a number {bound}{upper}")
