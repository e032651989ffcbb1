"""The surrogate: a setting that the user chooses, and the model that it makes of the data.

Notation: F (n, D) features, y (n,) values to minimise, z = warp(y) (n,) what the GP sees.

One fit decides in this order: the warp (compressed or not), the noise (none or fitted) and the
metric (along the axes or turned), each by evidence with its Jacobian; the hyper-parameters, on at
most SUBSET points; then one exact factor of all points. Between refits a fit keeps its warp,
hyper-parameters and factor, and new points extend the factor. What it hands on is plain numbers
(`Model.state`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from numbers import Real
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

from headway.arrays import Array, Bools, Ints
from headway.errors import SettingError
from headway.surrogate.evidence import FAILED, Evidence, Hyper, maximise, prior_mean
from headway.surrogate.factor import NotPositiveDefinite
from headway.surrogate.gp import GP, Kernel
from headway.surrogate.kernels import PROFILES
from headway.surrogate.metric import fit_turned, is_worth_trying
from headway.surrogate.warping import Warp

logger = logging.getLogger("headway")

# 1e-6 costs digits at the end of a run; below 1e-8 the factorisation fails now and then.
NOISE_FLOOR = 1e-8
# Noise a million times the spread of the values hides all of them; more is only a larger number.
_LOG_MOST_NOISE = float(np.log(1e12))
# So many standard deviations away a value would hide all others, so the fit does not wait its turn.
_FAR = 100.0
# Evidence of 500 points takes about 0.02 s; its maximum moves little with more of them.
SUBSET = 500
_SUBSET_BEST, _SUBSET_NEWEST = 200, 100
# A made-up value is believed loosely (a variance in units of z): taken at its word, the cliff
# beside it would bend every prediction nearby.
_IMPUTED_NOISE = 0.1
# With fewer values there is nothing to tell compression or noise by.
_ENOUGH_TO_CHOOSE = 8
# A fitted nugget also absorbs ruggedness, which costs regret; it must win by this much evidence.
_NOISE_MARGIN = 8.0


@dataclass(frozen=True, slots=True)
class Surrogate:
    """How the objective is modelled.

    `noise`: 0 for a deterministic objective, a variance (in units of y squared) where it is
    known, "auto" to let the evidence decide. `compress`: "evidence", True or False. `turn`:
    whether evidence may turn the length-scales away from the axes (`metric`).
    """

    kernel: str = "matern52"
    ard: bool = True
    priors: bool = True
    compress: bool | Literal["evidence"] = "evidence"
    noise: float | Literal["auto"] = "auto"
    turn: bool = True

    def __post_init__(self) -> None:
        if self.kernel not in PROFILES:
            raise SettingError(f"kernel is {self.kernel!r}; it can be one of {', '.join(PROFILES)}")
        for name in ("ard", "priors", "turn"):
            if not isinstance(getattr(self, name), bool):
                raise SettingError(f"{name} is {getattr(self, name)!r}; it is True or False")
        if not isinstance(self.compress, bool) and self.compress != "evidence":
            raise SettingError(f"compress is {self.compress!r}; it is True, False or 'evidence'")
        if self.noise != "auto":
            number = isinstance(self.noise, Real) and not isinstance(self.noise, bool)
            if not (number and np.isfinite(self.noise) and self.noise >= 0):
                raise SettingError(
                    f"noise is {self.noise!r}; it is a variance >= 0 (0: deterministic) or 'auto'"
                )

    @classmethod
    def paper(cls) -> Surrogate:
        """Isotropic squared exponential by evidence alone, as Li and Yao have it."""
        return cls(kernel="rbf", ard=False, priors=False, compress=False, noise=0.0, turn=False)

    def for_constraint(self) -> Surrogate:
        """The same without compression: a constraint matters where it changes sign.

        A noise variance is in units of y, so it says of a constraint only that it may be noisy.
        """
        return replace(self, compress=False, noise=0.0 if self.noise == 0 else "auto")

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Surrogate:
        return cls(**data)


@dataclass(frozen=True, slots=True)
class Model:
    """A fitted surrogate: the GP of the warped values, and how it came about."""

    gp: GP
    warp: Warp
    lengthscales: Array  # (p,) of each parameter
    state: dict[str, Any]
    notes: tuple[str, ...]

    def believing(self, F: Array) -> Model:  # (b, D)
        """The model when the points in flight return what it expects."""
        if not len(F):
            return self
        return replace(self, gp=self.gp.extended(F, noise=np.full(len(F), self.state["floor"])))

    def in_units(self, mu: float, sigma: float) -> tuple[float, float]:
        """Mean and spread of y for those of z: the images of mu and of mu -+ sigma."""
        low, mean, high = self.warp.backward(np.array([mu - sigma, mu, mu + sigma]))
        return float(mean), float(high - low) / 2.0


@dataclass(frozen=True, slots=True)
class Data:
    """What is modelled: features, the parameter of each, values and known noise variances."""

    F: Array  # (n, D)
    groups: tuple[int, ...]  # (D,)
    y: Array  # (n,)
    variance: Array | None  # (n,) or None
    imputed: Bools | None = None  # (n,) rows whose value is made up, for a trial that failed

    @property
    def made_up(self) -> bool:
        """Whether some rows' values are."""
        return self.imputed is not None and bool(np.any(self.imputed))

    def noise(self, warp: Warp, setting: float) -> Array:  # (n,)
        """Known noise in units of z, never below the floor."""
        known = np.broadcast_to(setting, self.y.shape)
        known = known if self.variance is None else known + self.variance
        noisy = known > 0.0
        # In logs: squares of values near 1e300 or 1e-300 would leave the range of floats.
        log_noise = np.log(known[noisy]) + 2.0 * warp.log_slope(self.y[noisy])
        noise = np.full(self.y.shape, NOISE_FLOOR)
        noise[noisy] = np.maximum(np.exp(np.minimum(log_noise, _LOG_MOST_NOISE)), NOISE_FLOOR)
        return noise if self.imputed is None else np.where(self.imputed, _IMPUTED_NOISE, noise)


class _Kind(NamedTuple):
    """What kind of model a fit is of."""

    compress: bool
    noisy: bool
    turned: bool

    def __str__(self) -> str:
        words = "compressed" if self.compress else "plain"
        return words + " noisy" * self.noisy + " turned" * self.turned


@dataclass(frozen=True, slots=True)
class _Fit:
    kind: _Kind
    hyper: Hyper
    evidence: float  # of y itself: with the log Jacobian


def fit_model(
    surrogate: Surrogate,
    data: Data,
    *,
    state: Mapping[str, Any] | None = None,
    cache: MutableMapping[str, Any] | None = None,
) -> Model:
    """The model of the data: a pure function of all but the cache, which only saves time."""
    n = len(data.y)
    if not state or _due(n, int(state["n"])) or _outdated(data.y, state):
        state = _choose(surrogate, data, state)
    hyper, fitted = Hyper.from_json(state["hyper"]), int(state["n"])
    warp = Warp.of(data.y[:fitted], compress=bool(state["compress"]))
    p = max(data.groups) + 1
    lengthscales = np.broadcast_to(np.array(hyper.lengthscales), (p,))
    kernel = _kernel(surrogate, data.groups, hyper)
    noise = data.noise(warp, 0.0 if surrogate.noise == "auto" else float(surrogate.noise))
    noise = np.maximum(noise, hyper.noise) if state["noisy"] else noise
    failed = float(state["evidence"]) < FAILED
    notes: tuple[str, ...] = ("no fit: the prior's length-scales",) if failed else ()
    try:
        gp = _condition(kernel, data, warp.forward(data.y), noise, surrogate, fitted, cache)
    except NotPositiveDefinite as error:
        # Sound, if blunt: the prior's length-scales and enough noise to hold.
        logger.warning("the fit failed (%s); going on with the prior's length-scales", error)
        notes += (f"fit failed: {error}",)
        lengthscales = np.full(p, np.exp(prior_mean(p)))
        kernel = Kernel(surrogate.kernel, lengthscales[list(data.groups)], 1.0)
        gp = GP.given(kernel, data.F, warp.forward(data.y), noise=noise + 1e-2, tau=1.0)
    if gp.factor.jitter:
        notes += (f"jitter {gp.factor.jitter:.0e}",)
    if state["noisy"]:
        notes += (f"noise assumed: sd {np.sqrt(hyper.noise) * warp.scale:.2g}",)
    floor = max(NOISE_FLOOR, hyper.noise)
    return Model(gp, warp, np.asarray(lengthscales), {**state, "floor": floor}, notes)


def _due(n: int, fitted: int) -> bool:
    """Whether to fit anew: at each point up to 100, then whenever the data grew by 5 %."""
    return n > fitted if n <= 100 else n >= fitted + max(1, fitted // 20)


def _outdated(y: Array, state: Mapping[str, Any]) -> bool:
    """Whether a value told since the last fit is so far out that its warp has lost its units."""
    warp = Warp.of(y[: int(state["n"])], compress=bool(state["compress"]))
    later = y[int(state["n"]) :]
    if np.isfinite(warp.spread):
        later = np.minimum(later, warp.knee)  # above it even a huge value is a small one
    return bool(np.any(np.abs(later - warp.centre) > _FAR * warp.scale))


def _condition(
    kernel: Kernel,
    data: Data,
    z: Array,
    noise: Array,
    surrogate: Surrogate,
    fitted: int,
    cache: MutableMapping[str, Any] | None,
) -> GP:
    """The GP of all points: the factor of the first `fitted`, extended by the others in order."""
    gp: GP | None = (cache or {}).get("gp")
    if gp is None or not _extends(gp, kernel, data.F, noise, fitted):
        tau = 1.0 if surrogate.priors else 0.0
        gp = GP.given(kernel, data.F[:fitted], z[:fitted], noise=noise[:fitted], tau=tau)
    n = len(gp.z)
    gp = gp.extended(data.F[n:], noise=noise[n:], z=z) if n < len(z) else gp.with_values(z)
    if cache is not None:
        cache["gp"] = gp
    return gp


def _extends(gp: GP, kernel: Kernel, F: Array, noise: Array, fitted: int) -> bool:
    n = len(gp.z)
    return (
        len(gp.factor.A) == fitted
        and n <= len(F)
        and gp.kernel.same_as(kernel)
        and np.array_equal(gp.F, F[:n])
        and np.array_equal(gp.noise, noise[:n])
    )


def _choose(surrogate: Surrogate, data: Data, state: Mapping[str, Any] | None) -> dict[str, Any]:
    """Fit the current kind of model and, where there is a choice, its rivals.

    Each kind starts from its own last fit, which is near; from another kind's it would be far.
    """
    n, state = len(data.y), state or {"n": 0}
    last = {kind: Hyper.from_json(hyper) for kind, hyper in state.get("kinds", {}).items()}
    fitted = int(state["n"])
    kind = _Kind(
        bool(state.get("compress", bool(surrogate.compress))),
        # Noise that is told leaves none to fit, also when it was found before.
        bool(state.get("noisy", False)) and data.variance is None,
        bool(state.get("turned", False)),
    )

    def fit(kind: _Kind, other: Hyper | None, *, thorough: bool, told: bool) -> _Fit:
        warm = last.get(str(kind), other)
        found = _fit(surrogate, data, kind, warm, thorough=thorough, told=told)
        last[str(kind)] = found.hyper
        return found

    # Every fifth point also climbs from the prior, in case the last optimum has become a side one.
    thorough = n // 5 > fitted // 5
    best = fit(kind, None, thorough=thorough, told=kind.noisy)
    if n >= _ENOUGH_TO_CHOOSE:
        # Kinds differ slowly, and a metric costs as much as all the others: some questions are put
        # at every fourth point only.
        seldom = n // 4 > fitted // 4
        if surrogate.compress == "evidence" and (seldom or not kind.turned):
            rival = kind._replace(compress=not kind.compress)
            best = _better(best, fit(rival, best.hyper, thorough=False, told=kind.noisy))
        if surrogate.noise == "auto" and data.variance is None and seldom:
            # A fit without noise explains noise by short scales, from which no climb finds back:
            # the first time and now and then, it starts afresh too.
            other = best.kind._replace(noisy=not best.kind.noisy, turned=False)
            afresh = str(other) not in last or n // 20 > fitted // 20
            question = partial(fit, other=best.hyper, thorough=afresh, told=True)
            best = _question_noise(question, best, made_up=data.made_up)
        if surrogate.turn and surrogate.ard and seldom and is_worth_trying(n, data.groups):
            rival = best.kind._replace(turned=not best.kind.turned)
            best = _better(best, fit(rival, best.hyper, thorough=thorough, told=rival.noisy))
    return {
        "hyper": best.hyper.to_json(),
        **best.kind._asdict(),
        "n": n,
        "evidence": best.evidence,
        "kinds": {kind: hyper.to_json() for kind, hyper in last.items()},
    }


def _better(best: _Fit, rival: _Fit) -> _Fit:
    return rival if rival.evidence > best.evidence else best


def _question_noise(fit: Callable[..., _Fit], best: _Fit, *, made_up: bool) -> _Fit:
    """The fit with or without noise, by the evidence of values that were told: a cliff that made-up
    values put into the data would pass for noise. Both keep to the axes, since a metric that is
    free to turn follows noise farther."""
    rival = fit(best.kind._replace(noisy=not best.kind.noisy, turned=False))
    if best.kind.noisy:
        return rival if rival.evidence > best.evidence - _NOISE_MARGIN else best
    quiet = fit(best.kind._replace(turned=False)) if made_up or best.kind.turned else best
    needed = quiet.evidence + _NOISE_MARGIN
    needed = needed if made_up else max(needed, best.evidence)
    return rival if rival.evidence > needed else best


def _fit(
    surrogate: Surrogate,
    data: Data,
    kind: _Kind,
    warm: Hyper | None,
    *,
    thorough: bool,
    told: bool,  # by told values alone, in the units of all
) -> _Fit:
    warp = Warp.of(data.y, compress=kind.compress)
    z, rows = warp.forward(data.y), _subset(data.F, data.y)
    if told and data.imputed is not None:
        rows = rows[~data.imputed[rows]]
    noise = data.noise(warp, 0.0 if surrogate.noise == "auto" else float(surrogate.noise))
    evidence = Evidence.of(
        surrogate.kernel,
        data.F[rows],
        z[rows],
        groups=data.groups,
        ard=surrogate.ard,
        priors=surrogate.priors,
        noise=None if kind.noisy else noise[rows],
    )
    if kind.turned and warm is not None:
        hyper, value = fit_turned(evidence, data.F[rows], data.groups, warm, thorough=thorough)
    else:
        hyper, value = maximise(evidence, evidence.starts(warm, thorough=thorough))
    return _Fit(kind, hyper, value + float(np.sum(warp.log_slope(data.y[rows]))))


def _kernel(surrogate: Surrogate, groups: tuple[int, ...], hyper: Hyper) -> Kernel:
    """The kernel over features of hyper-parameters over parameters."""
    lengthscales = np.broadcast_to(np.array(hyper.lengthscales), (max(groups) + 1,))[list(groups)]
    metric = None
    if hyper.metric:
        metric, c = np.diag(1.0 / lengthscales), len(hyper.metric)
        metric[:c, :c] = hyper.metric
    return Kernel(surrogate.kernel, lengthscales, hyper.scale, metric)


def _subset(F: Array, y: Array) -> Ints:
    """At most SUBSET rows: the best, the newest, and of the rest those farthest from all chosen."""
    n = len(y)
    if n <= SUBSET:
        return np.arange(n)
    chosen = np.union1d(
        np.argsort(y, kind="stable")[:_SUBSET_BEST], np.arange(n - _SUBSET_NEWEST, n)
    )
    rows = [*chosen.tolist()]
    nearest = cdist(F, F[chosen], "sqeuclidean").min(axis=1)
    nearest[chosen] = -1.0  # below 0, the distance of a copy that is not chosen
    while len(rows) < SUBSET:
        row = int(np.argmax(nearest))
        rows.append(row)
        nearest = np.minimum(nearest, cdist(F, F[row : row + 1], "sqeuclidean")[:, 0])
        nearest[row] = -1.0
    return np.sort(np.array(rows, dtype=np.intp))
