"""The paper's plug-in module: a local term for any acquisition function of BoTorch.

    heading = heading_of(model, X, bounds, past=heading)
    acqf = DirectionalAcquisition(acqf, heading, rho=step / budget)

    acqf = AnnealedAcquisition(acqf, nearness_of(model, X, bounds, tau=step / budget))

The result is an acquisition function, for `optimize_acqf` or whatever takes one. Li and Yao
maximise H^rho alpha^(1 - rho); here it is in logs, as in `headway.acquisition.score`:

    DirectionalAcquisition  (1 - rho) log alpha(X) + rho log H(X),  H a density of directions,
    AnnealedAcquisition     log alpha(X) + log H(X),  H a Gaussian about the best point.

In a batch alpha is what each point adds to those before it and to the pending ones, so that the
score of q points is a sum of q such terms, and sequential=True maximises them one after another:

    sum_i (w_base log(alpha(x_1 .. x_i) - alpha(x_1 .. x_i-1)) + w_local log H(x_i)).

Signs. BoTorch maximises, Headway minimises. An acquisition is maximised in both, and the local
terms are the same numbers; only the helpers look at the outcome, and `maximize` says whether the
model's largest value is wanted (as in most of BoTorch) or its smallest.

Units. Directions and distances are taken in the unit cube that `bounds` (2, d) span. Shapes: X
(..., q, d), log H (..., q), told points (n, d) in the order in which they were told, c columns.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

try:
    import torch
    from botorch.acquisition import monte_carlo
    from botorch.acquisition.acquisition import AcquisitionFunction, OneShotAcquisitionFunction
    from botorch.utils.safe_math import log_fatplus, logmeanexp
    from botorch.utils.transforms import is_ensemble, match_batch_shape
    from torch import Tensor
    from torch.nn import Module
except ImportError as error:
    raise ImportError(
        f"headway.botorch needs BoTorch 0.14 or later, which could not be imported ({error}). "
        f'Install it: pip install "headway[botorch]"'
    ) from error

from headway.arrays import Array
from headway.botorch_reading import FORMS, Scene, columns_of, form_of, one_of, spread_of
from headway.direction.belief import Belief
from headway.direction.heading import advance, directions
from headway.direction.heading import past as past_direction
from headway.direction.updates import RULES, Rule, sampled
from headway.errors import SettingError
from headway.policy import ANCHORS, Policy

__all__ = [
    "AnnealedAcquisition",
    "DirectionalAcquisition",
    "Heading",
    "Nearness",
    "heading_of",
    "nearness_of",
]

# What a point adds to others is smoothed over this share of theirs, so that a copy has a slope too.
_SMOOTH_GAIN = 1e-4
_FAR_AHEAD = 30.0  # in logs: by then what the others have does not count
# As in `headway.policy`: at rho = 1 the acquisition would not count at all.
_MOST_RHO = 0.999
# As in `headway.scoring`: within this share of a length-scale of its origin a direction fades.
_SMOOTHING = 0.1


class Cube(Module):  # type: ignore[misc]  # torch is of an environment of its own
    """Columns of X as displacements from a point of the unit cube."""

    def __init__(self, bounds: Tensor, origin: Any, columns: Sequence[int] | None) -> None:
        super().__init__()
        bounds = torch.as_tensor(bounds).detach()
        self.columns = columns_of(bounds, columns)
        at = torch.as_tensor(origin, dtype=torch.double).detach()[self.columns]
        self.register_buffer("low", bounds[0, self.columns].double())
        self.register_buffer("span", (bounds[1] - bounds[0])[self.columns].double())
        self.register_buffer("origin", at)

    def forward(self, X: Tensor) -> Tensor:  # (..., d) -> (..., c)
        at, low, span = (buffer.to(X) for buffer in (self.origin, self.low, self.span))
        return (X[..., self.columns] - low) / span - at


class Heading(Module):  # type: ignore[misc]
    """log H of directions from the origin: a von Mises-Fisher density, or a mean of several.

    origin (d,) lies in the unit cube of `bounds`; theta is a unit vector (c,), or several (k, c);
    columns are those that count, all by default. The density fades within `smoothing` of the
    origin. With kappa = 0 it is neutral. `state` is what the next step starts from.
    """

    def __init__(
        self,
        bounds: Tensor,
        origin: Any,
        theta: Any,
        kappa: float,
        *,
        smoothing: float,
        columns: Sequence[int] | None = None,
        state: dict[str, Any] | None = None,
        belief: Belief | None = None,
    ) -> None:
        super().__init__()
        self.offset = Cube(bounds, origin, columns)
        thetas = torch.atleast_2d(torch.as_tensor(np.array(theta, dtype=float)))
        self.register_buffer("thetas", thetas)
        self.kappa, self.smoothing = float(kappa), float(smoothing)
        self.state, self.belief = dict(state or {}), belief

    def forward(self, X: Tensor) -> Tensor:  # (..., d) -> (...)
        u = self.offset(X)
        g = u / (u.square().sum(dim=-1, keepdim=True) + self.smoothing**2).sqrt()
        exponent = self.kappa * (g @ self.thetas.to(X).T - 1.0)
        return exponent.logsumexp(dim=-1) - math.log(len(self.thetas))


class Nearness(Module):  # type: ignore[misc]
    """log H = -1/2 u^T P u, u the displacement from the centre in the unit cube, P (c, c)."""

    def __init__(
        self,
        bounds: Tensor,
        centre: Any,
        precision: Any,
        *,
        columns: Sequence[int] | None = None,
        belief: Belief | None = None,
    ) -> None:
        super().__init__()
        self.offset = Cube(bounds, centre, columns)
        self.register_buffer("precision", torch.as_tensor(np.array(precision, dtype=float)))
        self.belief = belief

    def forward(self, X: Tensor) -> Tensor:  # (..., d) -> (...)
        u = self.offset(X)
        return -0.5 * ((u @ self.precision.to(X)) * u).sum(dim=-1)


class LocalAcquisition(AcquisitionFunction):  # type: ignore[misc]
    """A weighted sum of log alpha and of the log H of each point.

    form says what the base returns: "log" a log; "positive" a positive number, of which the log is
    taken; "linear" anything in the units of the outcome, such as a confidence bound, which divided
    by `scale` stands for its log. None: what is known of BoTorch's own classes; `scale` then is the
    spread of the model's training outcomes.
    """

    _log = True  # BoTorch's mark of what returns a log, so that one may be the base of another

    def __init__(
        self,
        base: Any,
        term: Module,
        weights: tuple[float, float],
        *,
        form: str | None = None,
        scale: float | None = None,
    ) -> None:
        super().__init__(model=getattr(base, "model", None))
        if isinstance(base, OneShotAcquisitionFunction):
            raise SettingError(
                f"the base is a {type(base).__name__}, whose batches hold fantasies that have no "
                f"direction. Allowed: an acquisition of the points alone. Take qLogEI or UCB."
            )
        self.base, self.term, self.weights = base, term, weights
        self.form = form_of(base) if form is None else one_of("form", form, FORMS)
        self.scale = 1.0
        if self.form == "linear":
            self.scale = spread_of(self.model) if scale is None else float(scale)
        if not 0.0 < self.scale < math.inf:
            raise SettingError(
                f"scale is {scale!r}. Allowed: a positive number, the outcomes' spread. Leave "
                f"it out where the base has a model."
            )

    def forward(self, X: Tensor) -> Tensor:  # (..., q, d) -> (...)
        X = X if X.ndim > 2 else X.unsqueeze(0)
        w_base, w_local = self.weights
        averages = isinstance(self.base, monte_carlo.SampleReducingMCAcquisitionFunction)
        if averages and (X.shape[-2] > 1 or self.X_pending is not None):
            value = self._added(X)
        elif X.shape[-2] == 1:
            value = self._log_of(self.base(X))
        else:
            raise SettingError(
                f"q is {X.shape[-2]}, and the base is a {type(self.base).__name__}, whose value of "
                f"a batch does not say what each point adds. Allowed: q = 1. Call optimize_acqf "
                f"with sequential=True, or take qLogEI, qLogNEI, qUCB or a relative of theirs."
            )
        return w_base * value + w_local * self.term(X).sum(dim=-1)

    def _added(self, X: Tensor) -> Tensor:  # (..., q, d) -> (...)
        """The sum over the points of the log of what each adds to the ones before it.

        By sample: (a_i - max_j<i a_j)+, as incremental as the improvement of BoTorch's qLogNEI.
        """
        pending = 0 if self.X_pending is None else len(self.X_pending)
        if pending:
            X = torch.cat([match_batch_shape(self.X_pending, X), X], dim=-2)
        values = self._log_of(self.base._non_reduced_forward(X))  # (samples, ..., pending + q)
        before = values.cummax(dim=-1).values[..., :-1]
        ahead = values[..., 1:] - before
        gain = log_fatplus(ahead.clamp_max(_FAR_AHEAD).expm1(), tau=_SMOOTH_GAIN)
        gain = before + torch.where(ahead > _FAR_AHEAD, ahead, gain)
        dims = [*range(len(self.base.sample_shape)), *([-2] if is_ensemble(self.model) else [])]
        added = logmeanexp(gain, dim=dims)[..., max(pending - 1, 0) :].sum(dim=-1)
        if pending:
            return added
        first = values[..., :1]
        first = first.mean(dim=dims) if self.form == "linear" else logmeanexp(first, dim=dims)
        return first[..., 0] + added

    def _log_of(self, value: Tensor) -> Tensor:
        """What stands for log alpha."""
        if self.form == "positive":  # where it has underflown, the local term alone leads
            return value.clamp_min(torch.finfo(value.dtype).tiny).log()
        return value / self.scale

    @property
    def X_pending(self) -> Tensor | None:
        """The base's."""
        return getattr(self.base, "X_pending", None)

    def set_X_pending(self, X_pending: Tensor | None = None) -> None:
        self.base.set_X_pending(X_pending)


class DirectionalAcquisition(LocalAcquisition):
    """Li and Yao's constraint on the direction: (1 - rho) log alpha(X) + rho log H(X).

    rho in [0, 1] grows with the share of the budget that is used (theirs is t / T); above 0.999 it
    counts as that. `constraint` is a `Heading`, or any module from X (..., q, d) to log H (..., q).
    """

    def __init__(
        self,
        base: Any,
        constraint: Module,
        rho: float,
        *,
        form: str | None = None,
        scale: float | None = None,
    ) -> None:
        share = min(_share("rho", rho), _MOST_RHO)
        super().__init__(base, constraint, (1.0 - share, share), form=form, scale=scale)


class AnnealedAcquisition(LocalAcquisition):
    """The annealed belief: log alpha(X) + log H(X), with the schedule inside H (`nearness_of`)."""

    def __init__(
        self,
        base: Any,
        nearness: Module,
        *,
        form: str | None = None,
        scale: float | None = None,
    ) -> None:
        super().__init__(base, nearness, (1.0, 1.0), form=form, scale=scale)


def heading_of(
    model: Any,
    X: Tensor,  # (n, d) told points; the direction starts at the last
    bounds: Tensor,  # (2, d)
    *,
    past: Heading | None = None,
    rule: str | Rule = "exact",
    anchor: str = "last",
    maximize: bool = True,
    columns: Sequence[int] | None = None,
    lengthscales: Any = None,
    draws: int = 128,
    places: int = 256,
    posterior_transform: Any = None,
    seed: int | None = None,
) -> Heading:
    """The direction of this step: the one before, turned towards the belief about the optimum.

    past: the heading of the step before, None at the first, which starts from the last two points.
    rule: "printed", "printed-2d", "exact", "projected", "sampled", or a callable (past, belief).
    anchor: where directions start, the "last" told point or the "best". columns: those that are
    numbers, all by default. lengthscales (d,): in the units of X, the model's own by default.
    draws, places: posterior samples, and candidates that they are taken on. With nothing to go by
    (a single point told) the heading is neutral.
    """
    if not callable(rule):
        one_of("rule", rule, (*RULES, "sampled"))
    one_of("anchor", anchor, ANCHORS)
    scene = Scene.of(
        model,
        X,
        bounds,
        columns=columns,
        lengthscales=lengthscales,
        transform=posterior_transform,
        maximize=maximize,
    )
    belief = scene.belief(draws, places, seed)
    origin = scene.Z[-1] if anchor == "last" else scene.Z[scene.best]
    told = scene.Z[:, scene.columns]
    G = directions(belief.minimisers, origin[scene.columns])
    theta, kappa, state = _turned(rule, {} if past is None else past.state, told, G)
    return Heading(
        bounds,
        origin,
        theta,
        kappa,
        smoothing=_SMOOTHING * float(np.exp(np.mean(np.log(np.minimum(scene.lengthscales, 1.0))))),
        columns=scene.columns,
        state=state,
        belief=belief,
    )


def _turned(
    rule: str | Rule,
    state: dict[str, Any],
    told: Array,  # (n, c)
    G: Array,  # (N, c) directions of the sampled optima
) -> tuple[Array, float, dict[str, Any]]:
    """theta, kappa and what the next step is handed; kappa = 0 where there is no direction."""
    neutral = np.eye(1, told.shape[1])[0]
    if rule == "sampled":
        last = past_direction({}, told)
        density = None if last is None or not len(G) else sampled(last.theta, G)
        if density is None or not len(density.points):
            return neutral, 0.0, state
        return density.points, density.kappa, state
    found, state = advance(RULES[rule] if isinstance(rule, str) else rule, state, told, G)
    return (neutral, 0.0, state) if found is None else (found.theta, found.kappa, state)


def nearness_of(
    model: Any,
    X: Tensor,  # (n, d) told points
    bounds: Tensor,  # (2, d)
    *,
    tau: float,
    size: tuple[float, float] | None = None,
    maximize: bool = True,
    columns: Sequence[int] | None = None,
    lengthscales: Any = None,
    draws: int = 128,
    places: int = 256,
    posterior_transform: Any = None,
    seed: int | None = None,
) -> Nearness:
    """The annealed belief about the best point, as `Policy(local="belief")` has it, on a linear
    schedule.

    tau: the share of the budget used after the initial design, in [0, 1]. size: of the precision at
    tau = 0 and tau = 1, as in `Policy`. The best point is the told one with the best posterior
    mean. The others as in `heading_of`.
    """
    share = _share("tau", tau)
    scene = Scene.of(
        model,
        X,
        bounds,
        columns=columns,
        lengthscales=lengthscales,
        transform=posterior_transform,
        maximize=maximize,
    )
    belief = scene.belief(draws, places, seed)
    centre = scene.Z[scene.best]
    shape = belief.shape(
        centre[scene.columns], np.arange(len(scene.columns)), np.minimum(scene.lengthscales, 1.0)
    )
    s = Policy(local="belief", schedule="linear", size=size).annealed_size(share)
    precision = s * np.linalg.inv(shape)
    return Nearness(bounds, centre, precision, columns=scene.columns, belief=belief)


def _share(name: str, given: float) -> float:
    if not 0.0 <= float(given) <= 1.0:
        raise SettingError(
            f"{name} is {given!r}. Allowed: 0 to 1, the share of the budget used. Divide the "
            f"evaluations used by those that there are."
        )
    return float(given)
