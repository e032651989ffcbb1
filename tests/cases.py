"""Runs in miniature for the tests of `propose`: facts by hand, without the optimizer."""

from __future__ import annotations

import json
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from headway.budget import Clock
from headway.history import Facts
from headway.optimizer import Optimizer
from headway.parameters import Categorical, Integer, Ordinal, Real
from headway.policy import Policy
from headway.proposal import Proposal, Settings
from headway.propose import propose
from headway.space import Space
from headway.surrogate import Surrogate

SPACES = {
    "continuous": Space.of({"x": (-5.0, 10.0), "y": Real(1e-3, 1e3, log=True)}),
    "integer": Space.of({"i": Integer(0, 40), "j": Integer(1, 512, log=True)}),
    "finite": Space.of({"i": Integer(0, 5), "o": Ordinal([1, 10, 100])}),
    "categorical": Space.of(
        {"a": Categorical(["p", "q", "r"]), "b": Categorical([True, 1, None, "x"])}
    ),
    "mixed": Space.of({"x": (0.0, 1.0), "i": Integer(1, 9), "c": Categorical(["u", "v", "w"])}),
    "conditional": Space.of(
        {
            "kernel": Categorical(["rbf", "poly"]),
            "gamma": Real(1e-4, 1.0, log=True, when=("kernel", "rbf")),
            "degree": Integer(2, 5, when=("kernel", "poly")),
            "mode": Categorical(["s", "t"], when=("degree", [3, 4])),
            "c": Real(0.0, 2.0),
            "step": Real(0.0, 1.0, step=0.125),
        }
    ),
    "line": Space.of([(0.0, 1.0)]),
    "wide": Space.of([(-1.0, 1.0)] * 12),
}


def bowl(Z: np.ndarray) -> np.ndarray:  # (m, d) -> (m,)
    """A smooth function of the encoded points with its minimum off the centre; codes included."""
    target = 0.3 + 0.05 * np.arange(Z.shape[1])
    return np.sum((Z - target) ** 2, axis=1) + 0.2 * np.sum(np.sin(5.0 * Z), axis=1)


def make_facts(
    Z: np.ndarray,  # (n, d)
    y: np.ndarray,  # (n,), nan: failed
    *,
    constraints: np.ndarray | None = None,  # (n, k)
    variance: np.ndarray | None = None,  # (n,)
    pending: np.ndarray | None = None,  # (p, d)
    state: dict[str, Any] | None = None,
    greedy: bool = False,
) -> Facts:
    n, d = Z.shape
    y = np.asarray(y, dtype=float)
    Zp = np.empty((0, d)) if pending is None else pending
    facts = Facts(
        Z=Z.copy(),
        y=y,
        failed=np.isnan(y),
        constraints=np.empty((n, 0)) if constraints is None else constraints,
        variance=variance,
        Zp=Zp.copy(),
        ids=np.arange(n),
        state=state or {},
        greedy=greedy,
        n_asked=n + len(Zp),
    )
    for array in (facts.Z, facts.y, facts.failed, facts.constraints, facts.Zp, facts.ids):
        array.setflags(write=False)
    return facts


def points(space: Space, n: int, *, seed: int = 0) -> np.ndarray:  # (n, d)
    return space.from_unit(np.random.default_rng(seed).random((n, space.d)))


@dataclass
class Run:
    """ask and tell on encoded points, with what the optimizer would hand to `propose`."""

    space: Space
    budget: int
    policy: Policy = field(default_factory=Policy)
    surrogate: Surrogate = field(default_factory=Surrogate)
    seed: int = 0
    design: int = 4
    cached: bool = True
    Z: list[np.ndarray] = field(default_factory=list)
    y: list[float] = field(default_factory=list)
    constraints: list[tuple[float, ...]] = field(default_factory=list)
    variance: list[float] = field(default_factory=list)
    pending: dict[int, tuple[np.ndarray, bool]] = field(default_factory=dict)
    state: dict[str, Any] = field(default_factory=dict)
    cache: MutableMapping[str, Any] = field(default_factory=dict)
    asked: int = 0
    last: Proposal | None = None

    def facts(self) -> Facts:
        d = self.space.d
        return make_facts(
            np.array(self.Z).reshape(-1, d),
            np.array(self.y),
            constraints=np.array(self.constraints) if self.constraints else None,
            variance=np.array(self.variance) if self.variance else None,
            pending=np.array([z for z, _ in self.pending.values()]).reshape(-1, d),
            state=self.state,
            greedy=any(greedy for _, greedy in self.pending.values()),
        )

    def ask(self) -> tuple[int, np.ndarray]:
        if not self.cached:
            self.cache = {}
        used = len(self.Z) + len(self.pending)
        p, p0 = used / self.budget, self.design / self.budget
        self.last = propose(
            self.facts(),
            self.space,
            Settings(self.policy, self.surrogate, self.seed, self.design),
            clock=Clock(min(p, 1.0), min(p, p0, 1.0)),
            trial_id=self.asked,
            cache=self.cache,
        )
        trial, z = self.asked, self.last.z
        # As the optimizer stores it: what JSON cannot hold would be an error here.
        self.state = json.loads(json.dumps(self.last.state, allow_nan=False)) or self.state
        self.pending[trial] = z, bool(self.last.state.get("greedy", False))
        self.asked += 1
        return trial, z

    def tell(
        self,
        trial: int,
        value: float,
        *,
        constraints: tuple[float, ...] = (),
        variance: float | None = None,
    ) -> None:
        self.Z.append(self.pending.pop(trial)[0])
        self.y.append(value)
        if constraints:
            self.constraints.append(constraints)
        if variance is not None:
            self.variance.append(variance)

    def steps(self, count: int, function: Callable[[np.ndarray], float]) -> np.ndarray:
        """Ask and tell so many times: the points, (count, d)."""
        for _ in range(count):
            trial, z = self.ask()
            self.tell(trial, function(z))
        return np.array(self.Z[-count:])


def value(z: np.ndarray) -> float:  # (d,)
    return float(bowl(z[None])[0])


def drive(
    f: Callable[[dict[str, Any]], Any], space: Any, budget: Any, **settings: Any
) -> Optimizer:
    """A whole run through the optimizer; a RuntimeError of f is a failed trial."""
    optimizer = Optimizer(space, budget, **settings)
    while not optimizer.done:
        trial = optimizer.ask()
        try:
            optimizer.tell(trial, f(trial.params))
        except RuntimeError as error:
            optimizer.tell(trial, failed=True, error=str(error))
    return optimizer
