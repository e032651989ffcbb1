"""Whether the model could be believed: what it expected of each trial, and what came.

Every prediction was written down before its value was told, so nothing here is fitted after the
fact. The spread of a prediction is of the function alone; that of a told value has the noise in it
too, which is the value's own where it was told, else what the model now takes it to be.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import headway.plots.svg as svg
from headway.errors import NothingToShow
from headway.optimizer import Optimizer
from headway.outlook import Outlook
from headway.plots.subject import outlook_of, require_run
from headway.plots.svg import Figure, Scale, number
from headway.why import Why

_TOP, _BOTTOM = 26.0, 236.0


@dataclass(frozen=True, slots=True)
class Expected:
    """One trial: what was expected, with which spread, and what was told."""

    trial: int
    mean: float
    sd: float
    value: float

    def within(self, deviations: float) -> bool:
        """Whether the value lay so many standard deviations or less from what was expected."""
        return abs(self.value - self.mean) <= deviations * self.sd


def predictions(optimizer: Optimizer, outlook: Outlook | None) -> list[Expected]:
    """Of every told trial that a model chose; `outlook` knows the noise."""
    assumed = 0.0 if outlook is None else outlook.noise
    found = []
    for record in optimizer.history.finished:
        why = record.why
        if not isinstance(why, Why) or record.value is None:
            continue
        if why.mean is not None and why.sd is not None:
            noise = assumed if record.variance is None else math.sqrt(record.variance)
            sd = math.hypot(why.sd, noise)
            found.append(Expected(record.number, why.mean, sd, record.value))
    return found


def calibration(optimizer: Optimizer, *, outlook: Outlook | None = None) -> Figure:
    """Expected against told, with one standard deviation, noise included.

    outlook: the model, if it is there already.
    """
    require_run(optimizer)
    made = predictions(optimizer, None)
    if made:
        made = predictions(optimizer, outlook or outlook_of(optimizer))
    if not made:
        raise NothingToShow(
            "there are no predictions to show: no told trial was chosen by a model. Allowed: a run "
            f"past its initial design of {optimizer.settings.design} trials. Go on with it first."
        )
    window = _window(made)
    left = svg.margin(window, _BOTTOM)
    x = Scale.of(window, left, svg.WIDTH - 14, pad=0.04)
    y = Scale.of(window, _BOTTOM, _TOP, pad=0.04)
    body = svg.frame(x, y, xlabel="expected, ± one standard deviation", ylabel="told")
    body.append(svg.path("axis", f"M{x(x.low):.1f} {y(y.low):.1f}L{x(x.high):.1f} {y(y.high):.1f}"))
    for one in made if len(made) <= svg.MANY else []:
        start, end = x(one.mean - one.sd), x(one.mean + one.sd)
        body.append(svg.path("faint", f"M{start:.1f} {y(one.value):.1f}H{end:.1f}"))
    for one in made:
        tip = f"trial {one.trial}: expected {number(one.mean)} ± {number(one.sd, 2)}, "
        tip += f"told {number(one.value)}"
        body.append(svg.dot("dot", x(one.mean), y(one.value), 2.8, tip))
    return Figure("calibration", "Was the model right?", words(made), tuple(body), _BOTTOM + 40)


def words(made: list[Expected]) -> str:
    """How many of the predictions held."""
    one, two = (sum(p.within(k) for p in made) for k in (1, 2))
    n = len(made)
    return (
        f"Each prediction was made before its value was known. Of {n}, {one} ({one / n:.0%}) came "
        f"within one standard deviation and {two} ({two / n:.0%}) within two; a model that is "
        f"right has about 68 % and 95 %. On the line, expected and told are equal."
    )


def _window(made: list[Expected]) -> list[float]:
    """The middle of what was told and expected; the rest stays at the edge."""
    values = sorted([p.value for p in made] + [p.mean for p in made])
    cut = len(values) // 20
    return values[cut : len(values) - cut]
