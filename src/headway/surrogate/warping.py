"""Warps of the observed values: monotone, invertible, with the Jacobian that evidence needs.

Notation: y (n,) values to minimise, z = (w(y) - centre) / scale what the Gaussian process sees.

The compression leaves the better half as it is and squeezes the worse half, which matters little
for finding a minimum but would set the outputscale: above the median m,
w(y) = m + s log1p((y - m) / s), s the spread of the better half about m. w' = 1 at m from both
sides. Evidence of different warps is comparable only with their log Jacobians (Snelson,
Rasmussen and Ghahramani 2004, eq. 6): log p(y) = log p(z) + sum_i log dz_i/dy_i.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headway.arrays import Array

_LOG_LARGEST = float(np.log(1e308))
# Of the largest value. Quotients by subnormal numbers overflow, or seem to in vectorised loops.
_LEAST_SPREAD = 1e-290


@dataclass(frozen=True, slots=True)
class Warp:
    """Compression above `knee` with spread `spread` (inf: none), then standardisation."""

    centre: float
    scale: float
    knee: float = 0.0
    spread: float = np.inf

    @classmethod
    def of(cls, y: Array, *, compress: bool) -> Warp:
        """The warp of these values; values that are all equal get scale 1."""
        # In units of a power of two, which changes no digit: sums of 1e308 would be infinite.
        exponent = int(np.frexp(np.max(np.abs(y)))[1])
        y = np.ldexp(y, -exponent)
        knee, spread = float(np.median(y)), np.inf
        if np.ptp(y) == 0.0:
            return cls(float(np.ldexp(knee, exponent)), 1.0)
        if compress:
            better = y[y <= knee] - knee
            spread = _root_mean_square(better)
            # The better half is one value, but for rounding, or lost beside the largest: no unit.
            if not spread > max(1e-12 * float(np.quantile(y, 0.75) - knee), _LEAST_SPREAD):
                spread = np.inf
        raw = cls(0.0, 1.0, knee, spread).forward(y)
        centre = float(np.mean(raw))
        fields = np.array([centre, _root_mean_square(raw - centre), knee, spread])
        centre, scale, knee, spread = np.ldexp(fields, exponent).tolist()
        # Below the smallest normal number a quotient has no digits: such values count as equal.
        least = float(np.finfo(float).tiny)
        if min(scale, spread) < least:
            return cls(centre, 1.0)
        return cls(centre, scale, knee, spread)

    def forward(self, y: Array) -> Array:
        """z of y."""
        if np.isfinite(self.spread):
            excess = self._excess(y)
            y = np.where(y > self.knee, self.knee + self.spread * np.log1p(excess), y)
        return (y - self.centre) / self.scale

    def backward(self, z: Array) -> Array:
        """y of z."""
        y = np.asarray(z) * self.scale + self.centre
        if np.isfinite(self.spread):
            # Values far above all that was seen would overflow; no answer depends on them.
            most = min(_LOG_LARGEST - float(np.log(self.spread)), 700.0)
            excess = np.clip((y - self.knee) / self.spread, 0.0, most)
            y = np.where(y > self.knee, self.knee + self.spread * np.expm1(excess), y)
        return np.asarray(y)

    def log_slope(self, y: Array) -> Array:
        """log dz/dy at each value: the Jacobian, and what turns noise in y to noise in z."""
        slope = np.full(y.shape, -np.log(self.scale))
        if np.isfinite(self.spread):
            slope -= np.log1p(self._excess(y))
        return slope

    def _excess(self, y: Array) -> Array:
        """How far above the knee, in spreads; never more than a float holds."""
        return np.clip(y - self.knee, 0.0, 1e308 * min(self.spread, 1.0)) / self.spread


def _root_mean_square(x: Array) -> float:
    """In units of a power of two: squares of 1e200 or 1e-200 would leave the range of floats."""
    exponent = int(np.frexp(np.max(np.abs(x)))[1])
    return float(np.ldexp(np.sqrt(np.mean(np.ldexp(x, -exponent) ** 2)), exponent))
