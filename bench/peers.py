"""Optimizers behind one small interface, so that one loop can time or compare them.

Every peer minimises over the unit cube. X: (n, d) points that others chose, y: (n,) their values.
`Peer(X, y, seed=)` tells it those points; then `tell(x, value)` and `ask() -> x` follow in turn.
Each is used as its own documentation shows; libraries are imported where they are used, so that a
process loads the one it measures and no other.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


class Peer(Protocol):
    """An optimizer in the middle of a run."""

    def ask(self) -> Array: ...

    def tell(self, x: Array, value: float) -> None: ...


class Headway:
    """Our default policy, half of its budget used: belief, samples and acquisition all at work."""

    def __init__(self, X: Array, y: Array, *, seed: int) -> None:
        import headway

        n, d = X.shape
        self.trial: Any = None
        self.optimizer = headway.Optimizer([(0.0, 1.0)] * d, budget=2 * n, seed=seed, x0=list(X))
        for x, value in zip(X, y, strict=True):
            trial = self.optimizer.ask()
            if not np.allclose(trial.x, x):
                raise RuntimeError(f"asked {trial.x} where x0 has {x}")
            self.optimizer.tell(trial, float(value))

    def ask(self) -> Array:
        self.trial = self.optimizer.ask()
        return np.asarray(self.trial.x, dtype=float)

    def tell(self, x: Array, value: float) -> None:
        self.optimizer.tell(self.trial, value)


class OptunaGP:
    """GPSampler(deterministic_objective=True).

    From 5.0 Optuna runs its L-BFGS-B starts side by side when greenlet is there, which
    `pip install optuna` does not bring. Both are measured: `greenlet=False` hides it.
    """

    def __init__(self, X: Array, y: Array, *, seed: int, greenlet: bool) -> None:
        if greenlet:
            import_module("greenlet")  # its absence is a reason to list, not a silent fall-back
        else:
            sys.modules["greenlet"] = None  # type: ignore[assignment]
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self.names = [f"x{i}" for i in range(X.shape[1])]
        self.space = {name: optuna.distributions.FloatDistribution(0.0, 1.0) for name in self.names}
        sampler = optuna.samplers.GPSampler(seed=seed, deterministic_objective=True)
        self.study = optuna.create_study(sampler=sampler)
        self.trial: Any = None
        for x, value in zip(X, y, strict=True):
            params = dict(zip(self.names, x.tolist(), strict=True))
            self.study.add_trial(
                optuna.trial.create_trial(
                    params=params, distributions=self.space, value=float(value)
                )
            )

    def ask(self) -> Array:
        self.trial = self.study.ask(self.space)
        return np.array([self.trial.params[name] for name in self.names])

    def tell(self, x: Array, value: float) -> None:
        self.study.tell(self.trial, value)


class ScikitOptimize:
    """The Optimizer that gp_minimize runs, with its defaults (GP, gp_hedge, L-BFGS)."""

    def __init__(self, X: Array, y: Array, *, seed: int) -> None:
        import skopt

        bounds = [(0.0, 1.0)] * X.shape[1]
        self.optimizer = skopt.Optimizer(bounds, base_estimator="GP", random_state=seed)
        self.optimizer.tell(X.tolist(), y.tolist())

    def ask(self) -> Array:
        return np.array(self.optimizer.ask())

    def tell(self, x: Array, value: float) -> None:
        self.optimizer.tell(x.tolist(), value)


class BayesianOptimization:
    """bayesian-optimization's suggest/register with its defaults. It maximises."""

    def __init__(self, X: Array, y: Array, *, seed: int) -> None:
        from bayes_opt import BayesianOptimization as Library

        # Names with leading zeros: the library sorts them in some versions.
        self.names = [f"x{i:03d}" for i in range(X.shape[1])]
        # A repeated point is an error by default and would end the measurement.
        self.library = Library(
            None,
            {name: (0.0, 1.0) for name in self.names},
            random_state=seed,
            verbose=0,
            allow_duplicate_points=True,
        )
        for x, value in zip(X, y, strict=True):
            self.tell(x, float(value))

    def ask(self) -> Array:
        params = self.library.suggest()
        return np.array([params[name] for name in self.names])

    def tell(self, x: Array, value: float) -> None:
        self.library.register(dict(zip(self.names, x.tolist(), strict=True)), -value)


class BoTorch:
    """SingleTaskGP, LogExpectedImprovement, optimize_acqf, with the first tutorial's settings."""

    def __init__(self, X: Array, y: Array, *, seed: int) -> None:
        import torch

        import_module("botorch")  # a missing library is found here, before the clock starts
        torch.manual_seed(seed)
        self.X, self.y = X.copy(), y.copy()

    def ask(self) -> Array:
        import torch
        from botorch.acquisition import LogExpectedImprovement
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import SingleTaskGP
        from botorch.optim import optimize_acqf
        from gpytorch.mlls import ExactMarginalLogLikelihood

        X, Y = torch.from_numpy(self.X), -torch.from_numpy(self.y)[:, None]
        model = SingleTaskGP(X, Y)
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        acquisition = LogExpectedImprovement(model=model, best_f=Y.max())
        bounds = torch.stack([torch.zeros(X.shape[1]), torch.ones(X.shape[1])]).to(X)
        candidate, _ = optimize_acqf(
            acquisition, bounds=bounds, q=1, num_restarts=5, raw_samples=20
        )
        return np.asarray(candidate.detach().numpy()[0], dtype=float)

    def tell(self, x: Array, value: float) -> None:
        self.X = np.vstack([self.X, x])
        self.y = np.append(self.y, value)


@dataclass(frozen=True, slots=True)
class Entry:
    """How a peer is made, whose version it has, and the first name a user takes from it."""

    make: Callable[..., Peer]
    distribution: str
    door: str  # module:name
    options: tuple[tuple[str, Any], ...] = ()

    def start(self, X: Array, y: Array, *, seed: int) -> Peer:
        return self.make(X, y, seed=seed, **dict(self.options))


PEERS = {
    "headway": Entry(Headway, "headway", "headway:Optimizer"),
    "optuna": Entry(OptunaGP, "optuna", "optuna:samplers.GPSampler", (("greenlet", False),)),
    "optuna+greenlet": Entry(
        OptunaGP, "optuna", "optuna:samplers.GPSampler", (("greenlet", True),)
    ),
    "scikit-optimize": Entry(ScikitOptimize, "scikit-optimize", "skopt:Optimizer"),
    "bayesian-optimization": Entry(
        BayesianOptimization, "bayesian-optimization", "bayes_opt:BayesianOptimization"
    ),
    "botorch": Entry(BoTorch, "botorch", "botorch:models.SingleTaskGP"),
}

THREAD_VARIABLES = (
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


def environment(threads: str) -> dict[str, str]:
    """The variables of a child process with "one" BLAS thread, or the libraries' "default"."""
    variables = {key: v for key, v in os.environ.items() if key not in THREAD_VARIABLES}
    if threads == "one":
        variables |= dict.fromkeys(THREAD_VARIABLES, "1")
    return variables
