"""The paper's integral for the next direction, by drawing: g_t, then g*, then g about g*."""

import numpy as np
from scipy.stats import chi2

from headway.arrays import Array
from headway.direction.vmf import Direction


def about_each(centres: Array, kappa: float, rng: np.random.Generator) -> Array:
    """One vMF draw about each row: draws about the first axis, reflected onto the row."""
    axis = np.eye(centres.shape[1])[0]
    draws = Direction(axis, kappa).sample(len(centres), rng)
    mirror = axis - centres
    square = np.maximum(np.sum(mirror**2, axis=1, keepdims=True), 1e-300)
    return draws - 2.0 * mirror * np.sum(mirror * draws, axis=1, keepdims=True) / square


def next_directions(
    past: Direction, belief: Direction, n: int, rng: np.random.Generator
) -> Array:  # (<= n, d)
    g_t = past.sample(n, rng)
    g = about_each(belief.sample(n, rng), past.kappa, rng)
    return g[np.sum(g * g_t, axis=1) >= 0.0]


def mean_p_value(G: Array, mean: Array) -> float:
    """Hotelling's test, in its large-sample form, that the rows of G have this mean."""
    away = np.mean(G, axis=0) - mean
    statistic = len(G) * away @ np.linalg.solve(np.cov(G.T), away)
    return float(chi2.sf(statistic, G.shape[1]))


def pair(d: int, degrees: float, kappa_t: float, kappa_hat: float) -> tuple[Direction, Direction]:
    """A past direction along the first axis and a belief at this angle to it."""
    angle = np.radians(degrees)
    towards = np.zeros(d)
    towards[:2] = np.cos(angle), np.sin(angle)
    return Direction(np.eye(d)[0], kappa_t), Direction(towards, kappa_hat)
