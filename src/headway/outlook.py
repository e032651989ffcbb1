"""What the model knows when asked: what to use, how sure it is, what more budget could buy.

Notation: z (d,) encoded points, y the objective in the user's sign and units, c the constraints,
met when c <= 0; x*_i the minimiser of the i-th joint posterior sample among the candidates that
meet its sampled constraints.

The models are those of `situation`, fitted to all that is told; trials in flight are left out,
since a believed value is no knowledge. Everything here is a statement of the model: it is as right
as the model is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from headway.acquisition.feasibility import log_feasible
from headway.arrays import Array, keyed_rng
from headway.history import Direction, Facts
from headway.importance import Importance, sobol_indices
from headway.proposal import Settings
from headway.search.maximize import candidates
from headway.situation import Situation, assess, search_of, values_of
from headway.space import Space
from headway.surrogate import Data, fit_model

# What the random numbers are for; proposals use the keys 0 to 4.
_BELIEF, _IMPORTANCE = 5, 6
# Two standard deviations: 95 % of a normal distribution.
_TWO_SIDED = 1.96
# Kernel values that the indices may cost: about a second.
_VALUES = 3e7
DRAWS, PLACES = 512, 1024
# Five standard deviations of the noise floor, in units of z: a smaller gain is the floor's.
_CLEARLY = 5e-4


@dataclass(frozen=True, slots=True)
class Prediction:
    """The model's y at m points: the median, the spread of one standard deviation, 95 %."""

    mean: Array  # (m,)
    sd: Array  # (m,) half the width of the image of mean -+ one standard deviation
    low: Array  # (m,)
    high: Array  # (m,)


@dataclass(frozen=True, slots=True)
class Optima:
    """Where the optimum is in each of N plausible functions, and by how much it is better."""

    places: Array  # (N, d) x*_i, encoded
    gains: Array  # (N,) at least 0: the best so far against x*_i, in the user's units

    def gain(self, level: float) -> float:
        """A quantile of the gains."""
        return float(np.quantile(self.gains, level))


@dataclass(frozen=True, slots=True)
class Outlook:
    """The models, and the trial that they recommend."""

    situation: Situation
    facts: Facts
    settings: Settings
    sign: float  # -1 where the user maximises
    trial: int  # its id
    noisy: bool  # whether values are taken as noisy, so that the best told value may be luck
    worst: float  # y to minimise: what is worse is only bad, however bad it is

    @classmethod
    def of(
        cls, facts: Facts, space: Space, settings: Settings, *, direction: Direction
    ) -> Outlook | None:
        """None where nothing has a value to model."""
        if not len(facts.Z) or bool(np.all(facts.failed)):
            return None
        told = replace(facts, Zp=facts.Zp[:0])
        situation = assess(told, space, settings.surrogate, {})
        sign = -1.0 if direction == "maximize" else 1.0
        trial = int(facts.ids[_row(facts, situation)])
        noisy = situation.repeats or bool(situation.objective.state["noisy"])
        return cls(situation, told, settings, sign, trial, noisy, _worst(facts, settings.design))

    @property
    def space(self) -> Space:
        return self.situation.space

    @property
    def centre(self) -> Array:  # (d,)
        """The recommended point, encoded."""
        return self.situation.centre

    @property
    def noise(self) -> float:
        """The standard deviation of the noise of a told value, near the middle of the values."""
        model, known = self.situation.objective, self.settings.surrogate.noise
        if model.state["noisy"]:
            return float(np.sqrt(model.state["floor"])) * model.warp.scale
        return 0.0 if known == "auto" else float(np.sqrt(known))

    @property
    def doubtful(self) -> bool:
        """Whether constraints are noisy, so that a told one may have been met by luck."""
        return any(bool(model.state["noisy"]) for model in self.situation.constraints)

    def predict(self, Z: Array) -> Prediction:  # (m, d)
        """y without noise."""
        model = self.situation.objective
        mu, sigma = model.gp.predict(self.space.embed(Z))
        steps = np.array([-_TWO_SIDED, -1.0, 0.0, 1.0, _TWO_SIDED])
        y = model.warp.backward(mu + steps[:, None] * sigma)
        ends = np.sort(self.sign * y[[0, 4]], axis=0)
        return Prediction(self.sign * y[2], (y[3] - y[1]) / 2.0, ends[0], ends[1])

    def feasible(self, Z: Array) -> Array:  # (m, d) -> (m,)
        """The probability that every constraint is met; 1 without constraints."""
        F, log_p = self.space.embed(Z), np.zeros(len(Z))
        for model in self.situation.constraints:
            mu, sigma = model.gp.predict(F)
            level = float(model.warp.forward(np.zeros(1))[0])
            log_p += log_feasible(mu - level, sigma)[0]
        return np.asarray(np.exp(log_p))

    def breach(self, Z: Array) -> Array:  # (m, d) -> (m,)
        """How far the worst constraint is expected beyond its limit, in its own spread.

        Above 0 where some constraint is more likely broken than met; -inf without constraints.
        """
        F, worst = self.space.embed(Z), np.full(len(Z), -np.inf)
        for model in self.situation.constraints:
            level = float(model.warp.forward(np.zeros(1))[0])
            worst = np.maximum(worst, model.gp.posterior_mean(F) - level)
        return worst

    def optima(self, draws: int = DRAWS, places: int = PLACES) -> Optima | None:
        """The belief about the optimum; None before a trial meets every constraint."""
        situation = self.situation
        if not situation.feasible:
            return None
        rng = keyed_rng(self.settings.seed, len(situation.told), _BELIEF)
        Z = candidates(search_of(situation), rng, places)
        Z = np.concatenate([situation.centre[None], Z])
        F, model = self.space.embed(Z), situation.objective
        S = model.gp.sample(F, draws, rng)
        for constraint in situation.constraints:
            level = float(constraint.warp.forward(np.zeros(1))[0])
            S[constraint.gp.sample(F, draws, rng) > level] = np.inf
        # The recommended point was told and meets its constraints: no sample is without a place.
        S[:, 0] = np.where(np.isfinite(S[:, 0]), S[:, 0], situation.best)
        rows = np.argmin(S, axis=1)
        each = np.arange(draws)
        # Against the same function's value there: noise and luck are in both.
        here, minima = model.warp.backward(np.stack([S[:, 0], S[each, rows]]))
        clear = S[:, 0] - S[each, rows] > _CLEARLY
        return Optima(Z[rows], np.where(clear, here - minima, 0.0))

    def importance(self) -> Importance:
        """Sobol indices of a surrogate's mean over the whole space.

        It is a surrogate of its own, without compression and with what is worse than `worst`
        counted as that: the one that proposals are made with spends its detail on the good values,
        and may be flat where the others lie; and a cliff would else be all that matters.
        """
        facts, space = self.facts, self.space
        told = ~facts.failed
        data = Data(
            space.embed(facts.Z[told]),
            space.groups,
            np.minimum(values_of(facts)[told], self.worst),
            None if facts.variance is None else facts.variance[told],
        )
        gp = fit_model(replace(self.settings.surrogate, compress=False), data).gp
        count = _VALUES / (len(gp.z) * (space.d + 2))
        return sobol_indices(
            lambda Z: gp.posterior_mean(space.embed(Z)),
            space,
            count=int(2 ** np.floor(np.log2(np.clip(count, 256, 2048)))),
            rng=keyed_rng(self.settings.seed, len(self.situation.told), _IMPORTANCE),
        )


def _worst(facts: Facts, design: int) -> float:
    """Of the told values nine tenths are better, or half of the initial design, which is spread
    evenly: later trials crowd where values are good."""
    y = facts.y[~facts.failed]
    first = facts.y[:design][~facts.failed[:design]]
    return float(max(np.quantile(y, 0.9), np.median(first if len(first) else y)))


def _row(facts: Facts, situation: Situation) -> int:
    """The row of the recommended point; of copies, the one with the best value."""
    same = ~facts.failed & np.all(situation.centre == facts.Z, axis=1)
    if situation.feasible:
        same &= np.all(facts.constraints <= 0.0, axis=1)
    rows = np.flatnonzero(same)
    return int(rows[int(np.argmin(facts.y[rows]))])
