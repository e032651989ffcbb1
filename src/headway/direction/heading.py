"""The direction that a run carries on: where it starts, and how the belief turns it at each step.

Notation: columns c the number columns of the encoded points, x_t the anchor, x*_i the sampled
minimisers, g_i = (x*_i - x_t) / |x*_i - x_t| (draws at x_t itself have no direction and are left
out). The first (theta, kappa) is the direction between the last two told points with kappa = 1, as
in the paper's first simulation; later ones come from an update rule (`updates`). One step is one
new told point: asks of a batch share it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from headway.arrays import Array
from headway.direction import vmf
from headway.direction.updates import Rule
from headway.direction.vmf import Direction

FIRST_KAPPA = 1.0
# Closer than this to the anchor (in the cube) a point has no direction but rounding.
_AT_ANCHOR = 1e-9


def directions(points: Array, anchor: Array) -> Array:  # (N, c), (c,) -> (<= N, c)
    """Unit vectors from the anchor to the points that lie elsewhere."""
    away = points - anchor
    length = np.linalg.norm(away, axis=1)
    moved = length > _AT_ANCHOR
    return np.asarray(away[moved] / length[moved, None])


def past(state: Mapping[str, Any], told: Array) -> Direction | None:  # (n, c)
    """The direction carried on, or the first one; None before two different points are told."""
    if "theta" in state:
        return Direction(np.array(state["theta"]), float(state["kappa"]))
    for row in range(len(told) - 2, -1, -1):
        step = directions(told[-1:], told[row])
        if len(step):
            return Direction(step[0], FIRST_KAPPA)
    return None


def advance(
    rule: Rule,
    state: Mapping[str, Any],
    told: Array,  # (n, c)
    G: Array,  # (N, c) directions of the sampled minimisers
) -> tuple[Direction | None, dict[str, Any]]:
    """The direction of this step and what to hand on; None: the term is neutral."""
    if state.get("n") == len(told):
        return past(state, told), dict(state)
    before, belief = past(state, told), vmf.fit(G)
    if before is None or belief is None:
        return None, dict(state)
    now = rule(before, belief)
    if now is None:
        return None, dict(state)
    return now, {"theta": now.theta.tolist(), "kappa": now.kappa, "n": len(told)}
