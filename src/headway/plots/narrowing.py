"""How the search narrowed: rho, kappa and the angle of the paper, or the size of the annealed term.

Notation: rho the weight of the direction, kappa its concentration, tau the share of the budget used
after the design.
"""

from __future__ import annotations

from dataclasses import dataclass

import headway.plots.svg as svg
from headway.errors import NothingToShow
from headway.optimizer import Optimizer
from headway.plots.subject import require_run
from headway.plots.svg import Figure, Scale
from headway.plots.timeline import Step, timeline
from headway.policy import ADAPTIVE, Policy
from headway.why import Why

_PANEL, _GAP = 92.0, 34.0
# A distance of less is a copy, but for rounding.
_LEAST = 1e-4


@dataclass(frozen=True, slots=True)
class _Row:
    """One panel: a name, its points (trial, value), and a line through them or dots."""

    name: str
    points: list[tuple[float, float]]
    log: bool = False
    line: bool = False


def schedule(optimizer: Optimizer) -> Figure:
    """The panels that the run's policy has: what held the search near, and how near it stayed."""
    require_run(optimizer)
    steps = [step for step in timeline(optimizer) if step.phase in ("model", "finish")]
    rows = [row for row in _rows(optimizer.settings.policy, steps) if row.points]
    if not rows:
        raise NothingToShow(
            "there is no schedule to show: no trial was chosen by a model. Allowed: a run that is "
            f"past its initial design of {optimizer.settings.design} trials. Go on with it first."
        )
    left = max(svg.margin((v for _, v in row.points), 0.0, log=row.log) for row in rows)
    x = Scale.of([p for row in rows for p, _ in row.points], left, svg.WIDTH - 12, pad=0.02)
    body: list[str] = []
    top = 24.0
    for row in rows:
        y = Scale.of((v for _, v in row.points), top + _PANEL, top, log=row.log, pad=0.06)
        body += svg.frame(x, y, ylabel=row.name)
        if row.line:
            body.append(svg.polyline("line", ((x(a), y(b)) for a, b in row.points)))
        else:
            body += [
                svg.dot(
                    "dot",
                    x(trial),
                    y(value),
                    2.6 if len(row.points) <= svg.MANY else 1.6,
                    f"trial {trial:g}: {value:.3g}",
                )
                for trial, value in row.points
            ]
        top += _PANEL + _GAP + 10
    body.append(svg.write((x.start + x.end) / 2, top - 10, "trial", anchor="middle"))
    return Figure("schedule", "How the search narrowed", _words(optimizer), tuple(body), top)


def _rows(policy: Policy, steps: list[Step]) -> list[_Row]:
    rows = []
    local = [step for step in steps if step.phase == "model"]
    if policy.local == "direction":
        if policy.schedule != ADAPTIVE:
            weights = [(float(s.record.number), policy.weights(s.progress)[1]) for s in local]
            rows.append(_Row("ρ: weight of the direction", weights, line=True))
        rows.append(_Row("κ: how sure the direction is", _noted(local, "kappa"), log=True))
        rows.append(_Row("degrees between step and direction", _noted(local, "angle")))
    elif policy.local in ("belief", "box") and policy.schedule != ADAPTIVE:
        sizes = [(float(s.record.number), _size(policy, s.tau)) for s in local]
        name = (
            "radius of the local term, share of the ranges"
            if policy.local == "belief"
            else "side of the box, share of the ranges"
        )
        rows.append(_Row(name, sizes, log=True, line=True))
    far = [(trial, max(value, _LEAST)) for trial, value in _noted(steps, "distance")]
    rows.append(_Row("distance from the best, in length-scales", far, log=True))
    return rows


def _size(policy: Policy, tau: float) -> float:
    """A length: the belief's size is a precision, the box's a side."""
    size = policy.annealed_size(tau)
    return float(size**-0.5) if policy.local == "belief" else size


def _noted(steps: list[Step], name: str) -> list[tuple[float, float]]:
    """A number that the trials' reasons hold, where they do and a panel can show it."""
    found = []
    for step in steps:
        value = getattr(step.record.why, name) if isinstance(step.record.why, Why) else None
        if value is not None and (value > 0 or name != "kappa"):
            found.append((float(step.record.number), float(value)))
    return found


def _words(optimizer: Optimizer) -> str:
    policy = optimizer.settings.policy
    if policy.local == "direction":
        text = (
            "The direction gains weight as the budget is used; a high κ means that the model is "
            "sure in which direction the optimum lies."
        )
    elif policy.local is not None:
        text = (
            "The local term shrinks as the budget is used. A step far from the best later on is "
            "one that looked everywhere again, since nothing near promised a gain."
        )
    else:
        text = "This policy has no local term; the model alone decides how far a step goes."
    if policy.schedule == ADAPTIVE and policy.local is not None:
        text += " Its adaptive size depends on the belief at each step and is not recorded."
    return text
