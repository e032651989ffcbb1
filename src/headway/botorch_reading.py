"""What is read from BoTorch's objects: the told points in the unit cube, the belief about
the optimum, and in which form an acquisition returns its value.

Notation: X (n, d) told points in the user's units, bounds (2, d), Z (n, d) the same points in the
cube, c the columns that count as numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from botorch.acquisition import analytic, monte_carlo
from botorch.acquisition.joint_entropy_search import qJointEntropySearch
from botorch.acquisition.max_value_entropy_search import MaxValueBase
from botorch.posteriors.gpytorch import GPyTorchPosterior
from botorch.utils.sampling import manual_seed
from torch import Tensor

from headway.arrays import Array
from headway.direction.belief import Belief
from headway.errors import SettingError
from headway.search.maximize import Search, candidates
from headway.space import Space
from headway.surrogate.factor import factorise

FORMS = ("log", "positive", "linear")
_POSITIVE = (
    analytic.ExpectedImprovement,
    analytic.ConstrainedExpectedImprovement,
    analytic.ProbabilityOfImprovement,
    analytic.qAnalyticProbabilityOfImprovement,
    analytic.PosteriorStandardDeviation,
    monte_carlo.qExpectedImprovement,
    monte_carlo.qNoisyExpectedImprovement,
    monte_carlo.qProbabilityOfImprovement,
    monte_carlo.qPosteriorStandardDeviation,
    MaxValueBase,
    qJointEntropySearch,
)
_LINEAR = (
    analytic.UpperConfidenceBound,
    analytic.PosteriorMean,
    analytic.ScalarizedPosteriorMean,
    monte_carlo.qUpperConfidenceBound,
    monte_carlo.qSimpleRegret,
)


@dataclass(frozen=True, slots=True)
class Scene:
    """A fitted model and the told points, in the unit cube."""

    model: Any
    X: Tensor  # (n, d)
    bounds: Tensor  # (2, d)
    columns: list[int]
    Z: Array  # (n, d) X in the cube, in the columns that count
    lengthscales: Array  # (c,)
    best: int  # the told point with the best posterior mean
    transform: Any
    maximize: bool

    @classmethod
    def of(
        cls,
        model: Any,
        X: Tensor,
        bounds: Tensor,
        *,
        columns: Sequence[int] | None,
        lengthscales: Any,
        transform: Any,
        maximize: bool,
    ) -> Scene:
        if X.ndim != 2 or bounds.shape != (2, X.shape[-1]) or not len(X):
            raise SettingError(
                f"X is of shape {tuple(X.shape)} and bounds of {tuple(bounds.shape)}. Allowed: "
                f"(n, d) with n >= 1, and (2, d). Give the told points, and optimize_acqf's bounds."
            )
        chosen = columns_of(bounds, columns)
        low, span = bounds[0].double(), (bounds[1] - bounds[0]).double()
        scales = _model_lengthscales(model, bounds) if lengthscales is None else lengthscales
        Z = _array((X.double() - low) / torch.where(span > 0, span, 1.0))
        scaled = _array(torch.as_tensor(scales).double().expand(len(span)) / span)[chosen]
        with torch.no_grad():
            mean = _array(_outcome(model, X, transform).mean)[:, 0]
        best = int(np.argmax(mean) if maximize else np.argmin(mean))
        return cls(model, X, bounds, chosen, Z, scaled, best, transform, maximize)

    def belief(self, draws: int, places: int, seed: int | None) -> Belief:
        """Where joint samples have their best; the other columns are those of told points."""
        seed = int(torch.randint(2**31 - 1, ())) if seed is None else seed
        rng = np.random.default_rng(seed)
        c, told = len(self.columns), self.Z[:, self.columns]
        search = Search(
            Space.of([(0.0, 1.0)] * c),
            np.clip(told[self.best], 0.0, 1.0),
            np.clip(self.lengthscales, 1e-3, 1.0),
            told,
            np.zeros(c),
            np.ones(c),
            raw=places,
            starts=1,
            iterations=1,
        )
        Z = np.concatenate([told[self.best : self.best + 1], candidates(search, rng, places - 1)])
        rows = rng.integers(len(told), size=len(Z))
        rows[0] = self.best
        points = self.X[rows].clone()
        low, high = self.bounds[:, self.columns].to(points)
        points[:, self.columns] = low + torch.as_tensor(Z).to(points) * (high - low)
        with torch.no_grad():
            S = _sample(_outcome(self.model, points, self.transform), draws, seed)
        return Belief.of(Z, -S if self.maximize else S)


def _sample(posterior: Any, draws: int, seed: int) -> Array:  # (draws, m)
    """Joint samples. Candidates beside data have almost no variance left, of which BoTorch would
    warn at each step, so a Gaussian is factorised here, as Headway's own is."""
    if isinstance(posterior, GPyTorchPosterior):
        covariance = _array(posterior.distribution.covariance_matrix)
        L = factorise(covariance, float(np.max(np.diag(covariance)))).A
        normals = np.random.default_rng([seed, 1]).standard_normal((draws, len(L)))
        return np.asarray(_array(posterior.mean)[:, 0] + normals @ L.T)
    with manual_seed(seed):
        return _array(posterior.rsample(torch.Size([draws])))[..., 0]


def _outcome(model: Any, X: Tensor, transform: Any) -> Any:
    """The posterior of the one outcome that is optimised."""
    posterior = model.posterior(X, posterior_transform=transform)
    if posterior.mean.shape != (len(X), 1):
        raise SettingError(
            f"the model's posterior at {len(X)} points has the shape "
            f"{tuple(posterior.mean.shape)}. Allowed: ({len(X)}, 1), one outcome and no batch. "
            f"Give posterior_transform=, such as BoTorch's ScalarizedPosteriorTransform."
        )
    return posterior


def _model_lengthscales(model: Any, bounds: Tensor) -> Tensor:  # (d,)
    """The kernel's length-scales in the units of X, as the model's input transform has them."""
    kernel: Any = getattr(model, "covar_module", None)
    while getattr(kernel, "lengthscale", None) is None and hasattr(kernel, "base_kernel"):
        kernel = kernel.base_kernel
    found = getattr(kernel, "lengthscale", None)
    d = bounds.shape[1]
    if found is None or found.numel() not in (1, d):
        shape = "none" if found is None else f"of shape {tuple(found.shape)}"
        raise SettingError(
            f"the length-scales of {type(model).__name__} are {shape}, where {d} are needed. "
            f"Allowed: any positive numbers. Give lengthscales= (d,), in the units of X."
        )
    model.eval()  # in training an input transform would learn from the bounds
    ends = model.transform_inputs(bounds.to(found)).double()
    if ends.shape != bounds.shape:
        raise SettingError(
            f"the model's input transform makes {ends.shape[-1]} columns of {d}. Allowed: a "
            f"transform of each column. Give lengthscales= (d,), in the units of X."
        )
    width = (ends[1] - ends[0]).abs()
    span = (bounds[1] - bounds[0]).double()
    return found.detach().double().reshape(-1) * span / torch.where(width > 0, width, 1.0)


def spread_of(model: Any) -> float:
    """The standard deviation of the outcomes that the model was trained on, in their own units."""
    targets = getattr(model, "train_targets", None)
    if targets is None or targets.ndim != 1 or len(targets) < 2:
        raise SettingError(
            "the base is in the units of the outcome, and the spread of the outcomes is not to be "
            "had from its model. Give scale= their standard deviation."
        )
    values = targets.detach().unsqueeze(-1)
    transform = getattr(model, "outcome_transform", None)
    if transform is not None:
        values, _ = transform.untransform(values)
    spread = float(values.std(correction=0))
    return spread if spread > 0 else 1.0


def form_of(base: Any) -> str:
    """What is known of BoTorch's own acquisition functions."""
    if getattr(base, "_log", False):
        return "log"
    for form, classes in (("positive", _POSITIVE), ("linear", _LINEAR)):
        if isinstance(base, classes):
            return form
    raise SettingError(
        f"whether {type(base).__name__} is a log, a positive number or in the units of the outcome "
        f"is not known here. Allowed: {', '.join(map(repr, FORMS))}. Give form= one of them."
    )


def one_of(name: str, given: str, allowed: Sequence[str]) -> str:
    if given not in allowed:
        raise SettingError(
            f"{name} is {given!r}. Allowed: {', '.join(map(repr, allowed))}. Choose one of them."
        )
    return given


def columns_of(bounds: Tensor, columns: Sequence[int] | None) -> list[int]:
    """The columns that count, each with a width."""
    d = bounds.shape[-1]
    chosen = list(range(d)) if columns is None else [int(column) for column in columns]
    if not chosen or len(set(chosen)) < len(chosen) or not all(0 <= c < d for c in chosen):
        raise SettingError(
            f"columns are {columns!r}. Allowed: different ones of 0 to {d - 1}, at least one. "
            f"Leave them out for all."
        )
    flat = [c for c in chosen if not bounds[1, c] > bounds[0, c]]
    if flat:
        raise SettingError(
            f"the bounds of column {flat[0]} are {bounds[0, flat[0]]:g} and "
            f"{bounds[1, flat[0]]:g}. Allowed: the first below the second. Leave a column that is "
            f"fixed out of columns=."
        )
    return chosen


def _array(tensor: Tensor) -> Array:
    return np.asarray(tensor.detach().cpu().double().numpy())
