"""Projected BFGS from many starts at once, every step one call of the function.

Notation: X (m, c) points in a box, h = -f to minimise, g (m, c) its gradient, H (m, c, c) inverse
Hessians, one per start. scipy's L-BFGS-B climbs from one start at a time, each call paying the
price of a batch; here all starts share each evaluation, whatever stage they are in.

The method is projected quasi-Newton (Bertsekas 1982): coordinates at a bound with the gradient
pointing out are held; the others move along -H g, clipped to the box, with Armijo's condition on
the clipped step; BFGS updates where the curvature is positive (Nocedal and Wright 2006, eq. 6.17,
scaled at first by eq. 6.20).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from headway.arrays import Array, Bools, Ints

Function = Callable[[Array, Ints], tuple[Array, Array]]  # (k, c), (k,) starts -> (k,), (k, c)

_ARMIJO = 1e-4
_LONGEST = 1.0  # no step is longer than this many units of the metric in any coordinate
_FIRST = 0.25  # and the first, blind one, not longer than this
_SHORTEST = 1e-6  # so does a line search that has come down to this share of its step


@dataclass(slots=True)
class _State:
    """The starts still climbing."""

    rows: Ints  # which start each row is
    x: Array
    h: Array
    g: Array
    H: Array
    t: Array  # step length of the line search under way
    fresh: Bools  # H has not seen a step yet

    def keep(self, mask: Bools) -> None:
        for name in self.__slots__:
            setattr(self, name, getattr(self, name)[mask])


def climb(
    function: Function,  # value and gradient of f, to maximise
    X: Array,  # (m, c)
    *,
    low: Array,  # (c,)
    high: Array,  # (c,)
    metric: Array,  # (c,) natural length of each coordinate
    iterations: int,
    stall: float = 1e-7,  # a gain below this ends a climb
    curvature: Array | None = None,  # (m, c, c) guesses of -f'' at the starts, positive definite
) -> tuple[Array, Array]:  # (m, c), (m,)
    """Climb from every row of X; returns where each start ended and its value."""
    m, c = X.shape
    X = np.clip(X, low, high)
    value, gradient = function(X, np.arange(m))
    best_x, best_h = X.copy(), -value
    if curvature is None:
        H = np.broadcast_to(np.diag(metric**2), (m, c, c)).copy()
    else:
        H = np.asarray(np.linalg.inv(curvature))
    fresh = np.full(m, curvature is None)
    state = _State(np.arange(m), X, -value, -gradient, H, np.ones(m), fresh)
    state.keep(np.isfinite(value) & np.all(np.isfinite(gradient), axis=1))
    for _ in range(iterations):
        if not len(state.rows):
            break
        step, slope = _direction(state, low, high, metric)
        trial = np.clip(state.x + state.t[:, None] * step, low, high)
        value, gradient = function(trial, state.rows)
        moved = trial - state.x
        gain = state.h + value  # h - h_new
        ok = np.isfinite(value) & (gain >= -_ARMIJO * np.einsum("mc,mc->m", state.g, moved))
        ok &= np.all(np.isfinite(gradient), axis=1)
        ended = ok & (gain < stall)
        _accept(state, ok, trial, -value, -gradient)
        _shrink(state, ~ok, gain, slope)
        ended |= (state.t < _SHORTEST) | (slope > -stall)
        best_x[state.rows], best_h[state.rows] = state.x, state.h
        state.keep(~ended)
    return best_x, -best_h


def _direction(state: _State, low: Array, high: Array, metric: Array) -> tuple[Array, Array]:
    """The step of each start and its slope; a step that does not descend restarts its H."""
    held = ((state.x <= low) & (state.g > 0)) | ((state.x >= high) & (state.g < 0))
    g = np.where(held, 0.0, state.g)
    step = -np.einsum("mij,mj->mi", state.H, g)
    step[held] = 0.0
    slope = np.einsum("mc,mc->m", step, g)
    lost = slope >= 0.0
    if np.any(lost):
        state.H[lost] = np.diag(metric**2)
        state.fresh[lost] = True
        step[lost] = -(metric**2) * g[lost]
        slope[lost] = np.einsum("mc,mc->m", step[lost], g[lost])
    longest = np.max(np.abs(step) / metric, axis=1)
    limit = np.where(state.fresh, _FIRST, _LONGEST)
    shrink = np.minimum(1.0, limit / np.maximum(longest, 1e-300))
    return step * shrink[:, None], slope * shrink


def _accept(state: _State, ok: Bools, x: Array, h: Array, g: Array) -> None:
    """Move the starts whose step did, and learn the curvature along it."""
    if not np.any(ok):
        return
    s, y = (x - state.x)[ok], (g - state.g)[ok]
    sy = np.einsum("mc,mc->m", s, y)
    curved = sy > 1e-10 * np.sqrt(np.sum(s**2, axis=1) * np.sum(y**2, axis=1))
    rows = np.flatnonzero(ok)[curved]
    if len(rows):
        s, y, sy = s[curved], y[curved], sy[curved]
        H = state.H[rows]
        Hy = np.einsum("mij,mj->mi", H, y)
        yHy = np.einsum("mc,mc->m", y, Hy)
        first = np.where(state.fresh[rows], sy / yHy, 1.0)
        H, Hy, yHy = H * first[:, None, None], Hy * first[:, None], yHy * first
        cross = s[:, :, None] * Hy[:, None, :] / sy[:, None, None]
        outer = s[:, :, None] * s[:, None, :] * ((1.0 + yHy / sy) / sy)[:, None, None]
        state.H[rows] = H + outer - cross - cross.transpose(0, 2, 1)
        state.fresh[rows] = False
    state.x[ok], state.h[ok], state.g[ok], state.t[ok] = x[ok], h[ok], g[ok], 1.0


def _shrink(state: _State, failed: Bools, gain: Array, slope: Array) -> None:
    """Shorten the step of the others to the minimum of the parabola through what is known."""
    if not np.any(failed):
        return
    t, expected = state.t[failed], -slope[failed] * state.t[failed]
    short = expected - gain[failed]  # how far the gain fell short of the slope's promise
    factor = np.where(
        np.isfinite(short) & (short > 0), 0.5 * expected / np.maximum(short, 1e-300), 0.1
    )
    state.t[failed] = t * np.clip(factor, 0.1, 0.5)
