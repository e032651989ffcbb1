"""Prints every number of docs/paper-notes.md, note by note: `python experiments/paper_notes.py`.

The notes are about Li and Yao, Bayesian Optimization with Directionally Constrained Search. Names
follow `headway.direction`: past (theta_t, kappa_t), belief (theta_hat, kappa_hat). Takes seconds;
needs mpmath for the notes on Bessel functions.
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Callable, Iterator

import mpmath as mp
import numpy as np
from scipy.special import ive
from scipy.stats import norm, vonmises_fisher

from headway.arrays import keyed_rng
from headway.direction.updates import (
    DivergenceWarning,
    Rule,
    acute_slope,
    exact,
    exact_weight,
    printed,
    printed_2d,
    printed_weight,
    projected,
    sampled,
)
from headway.direction.vmf import (
    Direction,
    banerjee,
    concentration,
    fit,
    log_acute_probability,
    log_partition,
    mean_length,
    resultant,
)

Lines = Iterator[str]


def pair(d: int, degrees: float, kappa_t: float, kappa_hat: float) -> tuple[Direction, Direction]:
    towards = np.zeros(d)
    towards[0] = math.cos(math.radians(degrees))
    if d > 1:
        towards[1] = math.sin(math.radians(degrees))
    return Direction(np.eye(d)[0], kappa_t), Direction(towards, kappa_hat)


def answer(rule: Rule, d: int, degrees: float, kappa_t: float, kappa_hat: float) -> str:
    now = rule(*pair(d, degrees, kappa_t, kappa_hat))
    if now is None:
        return "none"
    return f"{math.degrees(math.atan2(now.theta[1], now.theta[0])):.2f} deg, kappa {now.kappa:.3f}"


def divergence() -> Lines:
    for d, kappa_hat in ((2, 3.0), (6, 20.0), (6, 3.0)):
        edge = d * (d + 2) - kappa_hat**2
        yield f"d = {d}, kappa_hat = {kappa_hat}: d(d+2) - kappa_hat^2 = {edge}, from kappa = 1:"
        kappa, step = 1.0, 0
        while kappa < 1e154 and step < 100_000:
            kappa = math.hypot(printed_weight(kappa, kappa_hat, d), kappa)
            step += 1
            if kappa >= 1e154:
                yield f"    passes 1e154 at step {step}"
            elif step in (100, 1000, 100_000):
                yield f"    kappa = {kappa:.4f} at step {step}, edge {math.sqrt(edge):.4f}"


def two_dimensions() -> Lines:
    for kappa_t, kappa_hat in ((1.0, 2.0), (1.0, 3.0), (0.3, 1.0)):
        k1 = printed_weight(kappa_t, kappa_hat, 2)
        inside = kappa_hat**2 + kappa_t**2 - 8.0
        under_k, under = kappa_hat * kappa_t * inside, inside + 16.0 * kappa_t**2
        yield (
            f"kappa_t = {kappa_t}, kappa_hat = {kappa_hat}: k_1 = {k1:.4f}, "
            f"general kappa = {math.hypot(k1, kappa_t):.4f}; under the root of k {under_k:.2f}, "
            f"of kappa {kappa_hat * kappa_t * under:.2f}; "
            f"rule printed-2d: {answer(printed_2d, 2, 60.0, kappa_t, kappa_hat)}"
        )
    grid = np.linspace(0.01, 6.0, 600)
    a, b = np.meshgrid(grid, grid)
    yield (
        f"on kappa_t, kappa_hat in (0, 6]: k imaginary on {np.mean(a**2 + b**2 < 8.0):.1%}, "
        f"kappa on {np.mean(b**2 + 17.0 * a**2 < 8.0):.1%}"
    )


def hemisphere() -> Lines:
    yield "a_d at d = 2, 3, 6, 10: " + ", ".join(f"{acute_slope(d):.4f}" for d in (2, 3, 6, 10))
    for d in (2, 3, 6):
        p = np.exp(log_acute_probability(np.array([0.0, math.pi]), 5.0, d))
        yield (
            f"d = {d}, kappa_t = 5: P ahead / P behind = {p[0] / p[1]:.4g}, "
            f"exp(kappa_t theta.g) says {math.exp(10.0):.4g}"
        )
        slope = (log_acute_probability(1.5, 1e-3, d) - log_acute_probability(1.6, 1e-3, d)) / (
            1e-3 * (math.cos(1.5) - math.cos(1.6))
        )
        yield f"d = {d}: log-slope of P at kappa_t = 0.001 is {float(slope):.4f}"
        now = projected(*pair(d, 0.0, 1e-4, 0.1))
        formula = acute_slope(d) + 0.1 / d
        growth = now.kappa * 1e4
        yield f"    projected, kappa_hat = 0.1: kappa/kappa_t {growth:.4f}, limit {formula:.4f}"
    for d in (2, 3, 6):
        rules = (projected, exact, printed)
        found = "; ".join(f"{r.__name__} {answer(r, d, 60.0, 1.0, 2.0)}" for r in rules)
        yield f"d = {d}, kappa_t = 1, kappa_hat = 2, 60 deg: {found}"


def ratchet() -> Lines:
    for degrees in (0.0, 60.0, 90.0, 120.0, 180.0):
        past, belief = pair(3, degrees, 2.0, 2.0)
        k1 = printed_weight(2.0, 2.0, 3)
        theta = (k1 * belief.theta + 2.0 * past.theta) / math.hypot(k1, 2.0)
        yield (
            f"d = 3, kappa_t = kappa_hat = 2, {degrees:.0f} deg: |theta_t+1| as printed "
            f"{np.linalg.norm(theta):.3f}; kappa printed {math.hypot(k1, 2.0):.3f}, "
            f"norm of the sum {np.linalg.norm(k1 * belief.theta + 2.0 * past.theta):.3f}, "
            f"exact {exact(past, belief).kappa:.3f}, projected {projected(past, belief).kappa:.3f}"
        )
    past, belief = pair(2, 0.0, 1.0, 3.0)
    other = past
    for _ in range(10):
        past, other = exact(past, belief), projected(other, belief)
    ends = f"exact {past.kappa:.2f}, projected {other.kappa:.3f}"
    yield f"d = 2, kappa_hat = 3, aligned, ten steps from 1: {ends}"
    k1 = exact_weight(2.0, 3.0, 3)
    edge = math.degrees(math.acos(-k1 / 4.0))
    yield f"d = 3, kappa_t = 2, kappa_hat = 3: exact falls beyond {edge:.1f} deg"
    for d in (2, 3, 6, 10):
        threshold = concentration(1.0 - acute_slope(d), d)
        yield f"d = {d}: aligned, projected grows from small kappa for kappa_hat > {threshold:.2f}"


def normalisers() -> Lines:
    for d in (2, 3, 6):
        integral = math.exp(float(log_partition(1.0, d)))
        as_printed = integral / (2.0 * math.pi)
        yield (
            f"d = {d}, kappa = 1: the integral is {integral:.4f}, C_d as printed {as_printed:.4f}; "
            f"C_d exp(..) integrates to {as_printed * integral:.4f}"
        )
    past, belief = pair(3, 60.0, 1.0, 2.0)
    for sign, name in ((1.0, "integral"), (-1.0, "reciprocal")):
        yield f"d = 3, kappa_t = 1, kappa_hat = 2, c_d as {name}: E g.theta_hat = " + (
            f"{_mean_along(past, belief, sign):.3f}"
        )


def _mean_along(past: Direction, belief: Direction, sign: float) -> float:
    """E g.theta_hat under c_d(|kappa_t g + kappa_hat theta_hat|)^sign alone, d = 3."""
    x, w = np.polynomial.legendre.leggauss(80)
    y = np.sqrt(past.kappa**2 + belief.kappa**2 + 2.0 * past.kappa * belief.kappa * x)
    mass = w * np.exp(sign * log_partition(y, 3))
    return float(np.sum(mass * x) / np.sum(mass))


def expansion_point() -> Lines:
    for d, kappa_t, kappa_hat in ((2, 1.0, 2.0), (6, 1.0, 2.0), (2, 3.0, 3.0)):
        row = []
        for name, y in (
            ("g = theta_hat", kappa_t + kappa_hat),
            ("g orthogonal", math.hypot(kappa_t, kappa_hat)),
            ("g = -theta_hat", abs(kappa_t - kappa_hat)),
        ):
            ratio = float(mean_length(y, d)) / y if y else 1.0 / d
            row.append(f"{name} {kappa_t * kappa_hat * ratio:.3f}")
        other = kappa_t * float(mean_length(kappa_hat, d))
        yield (
            f"d = {d}, kappa_t = {kappa_t}, kappa_hat = {kappa_hat}: the slope along theta_hat at "
            + ", ".join(row)
            + f"; at g = 0 with |g|^2 kept {other:.3f}"
            + f"; printed {printed_weight(kappa_t, kappa_hat, d):.3f}"
        )


def taylor() -> Lines:
    for d in (2, 6):
        for y in (0.1, 0.5, 1.0, 2.0, 4.0):
            ours = exact_weight(y * math.sqrt(0.5), y * math.sqrt(0.5), d)
            theirs = printed_weight(y * math.sqrt(0.5), y * math.sqrt(0.5), d)
            leading = 2.0 * y**4 / (d**2 * (d + 2) * (d + 4))
            yield (
                f"d = {d}, y = {y}: exact k_1 {ours:.5f}, printed {theirs:.5f}, relative "
                f"difference {ours / theirs - 1:.3g}, leading term {leading:.3g}"
            )


def not_normalised() -> Lines:
    x, w = np.polynomial.legendre.leggauss(200)
    alpha, w = 0.5 * math.pi * (x + 1.0), 0.5 * math.pi * w
    for degrees in (0.0, 60.0, 120.0, 180.0):
        total = 0.0
        for sign in (1.0, -1.0):  # both halves of the circle
            cos = np.cos(alpha - sign * math.radians(degrees))
            log_c = log_partition(np.sqrt(1.0 + 4.0 + 4.0 * cos), 2)
            log_c = log_c - log_partition(1.0, 2) - log_partition(2.0, 2)
            total += float(np.sum(w * np.exp(log_c + log_acute_probability(alpha, 1.0, 2))))
        yield f"d = 2, kappa_t = 1, kappa_hat = 2, {degrees:.0f} deg: the integral is {total:.3f}"


def unit_vectors() -> Lines:
    rng = keyed_rng(0)
    x = np.array([1.0, 1.0]) + math.sqrt(1.5) * rng.standard_normal((10_000, 2))
    raw = float(np.linalg.norm(x.mean(axis=0)))
    G = x / np.linalg.norm(x, axis=1, keepdims=True)
    theta, R = resultant(G)
    formula = raw * (2 - raw**2) / (1 - raw**2)
    at = math.degrees(math.atan2(theta[1], theta[0]))
    yield f"Simulation 1: R of the points {raw:.3f}, its R(d - R^2)/(1 - R^2) = {formula:.3f}"
    yield f"    R of the unit vectors {R:.3f}, kappa_hat {banerjee(R, 2):.3f}, at {at:.1f} deg"
    yield f"    |mu / R| with mu the mean point: {raw / R:.3f}"
    moved = x + 10.0  # the same cloud about x_t = (10, 10)
    from_origin = moved / np.linalg.norm(moved, axis=1, keepdims=True)
    yield (
        f"    the same cloud about x_t = (10, 10): R of x*/|x*| {resultant(from_origin)[1]:.4f}, "
        f"of (x* - x_t)/|x* - x_t| {R:.4f}"
    )


def simulation_one() -> Lines:
    """The paper's check of its update, with the density itself instead of a histogram."""
    rng = keyed_rng(0)
    x = np.array([1.0, 1.0]) + math.sqrt(1.5) * rng.standard_normal((10_000, 2))
    theta, R = resultant(x / np.linalg.norm(x, axis=1, keepdims=True))
    belief = Direction(theta, banerjee(R, 2))
    past = Direction(np.array([math.cos(1.0), math.sin(1.0)]), 1.0)
    angle = 2.0 * math.pi * np.arange(20_000) / 20_000
    G = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    y = np.linalg.norm(past.kappa * G + belief.kappa * belief.theta, axis=1)
    true = np.exp(
        log_partition(y, 2)
        + log_acute_probability(np.arccos(np.clip(G @ past.theta, -1.0, 1.0)), past.kappa, 2)
    )
    true /= np.sum(true)
    for rule in (printed, exact, projected):
        now = rule(past, belief)
        if now is None:
            continue
        density = np.exp(now.log_pdf(G))
        distance = 0.5 * np.sum(np.abs(density / np.sum(density) - true))
        at = math.degrees(math.atan2(now.theta[1], now.theta[0]))
        yield f"{rule.__name__}: {at:.1f} deg, kappa {now.kappa:.3f}, variation {distance:.3f}"
    mean = true @ G
    yield (
        f"true: {math.degrees(math.atan2(mean[1], mean[0])):.1f} deg, "
        f"A^-1(R) = {concentration(float(np.linalg.norm(mean)), 2):.3f}"
    )


def last_step() -> Lines:
    law = Direction(np.array([1.0, 0.0]), 5.0)
    for u in ([[0.01, 0.0]], [[1.0, 0.0]]):
        value = law.log_density(np.array(u) / np.linalg.norm(u))[0][0]
        yield f"rho = 1: log H at x - x_t = {u[0]}: {value:.3f}, and EI^0 = 1"


def improvement() -> Lines:
    def printed_ei(mu: float, variance: float, best: float) -> float:
        z = (mu - best) / variance
        return variance * (z * float(norm.cdf(z)) + float(norm.pdf(z)))

    best, sigma = 0.5, 2.0
    f = sigma * norm.ppf((np.arange(1_000_000) + 0.5) / 1_000_000)
    z = best / sigma
    yield f"mu = 0, sigma = 2, best = 0.5: {np.mean(np.maximum(0.0, best - f)):.4f} by quadrature"
    yield f"    with z = (best - mu)/sigma: {sigma * (z * norm.cdf(z) + norm.pdf(z)):.4f}"
    yield f"    as printed: {printed_ei(0.0, sigma**2, best):.4f} f(x)"
    for mu in (-1.0, 1.0):
        yield f"mu = {mu}, sigma = 1, best = 0: as printed {printed_ei(mu, 1.0, 0.0):.4f} f(x)"


def kernel() -> Lines:
    for r in (1e-1, 1e-2, 1e-3):
        bare, squared = (-math.expm1(-0.5 * v) / r**2 for v in (r, r * r))
        yield f"theta = 1, r = {r}: (1 - k)/r^2 printed {bare:.4g}, with the square {squared:.4g}"


def second_order() -> Lines:
    for b in (0.1, 0.3):
        kappa_t, kappa_hat = 1.0, 2.0
        y = math.sqrt(5.0 + 2.0 * kappa_t * kappa_hat * b)
        first = math.sqrt(5.0) + 2.0 * b / math.sqrt(5.0)
        second = (2.0 * b) ** 2 / (2.0 * 5.0**1.5)
        plus, minus = first + second, first - second
        yield f"theta_hat.g = {b}: y = {y:.6f}, printed {plus:.6f}, with minus {minus:.6f}"


def banerjee_bias() -> Lines:
    grid = [i / 1000 for i in range(1, 1000)]
    for d in (2, 3, 6):
        ratio = [banerjee(R, d) / concentration(R, d) for R in grid]
        top = int(np.argmax(ratio))
        yield (
            f"d = {d}: {banerjee(0.9, d) / concentration(0.9, d) - 1:+.1%} at R = 0.9, most "
            f"{ratio[top] - 1:+.1%} at R = {grid[top]}, least {min(ratio) - 1:+.2%}"
        )
    for d in (2, 6):
        noise = Direction(np.eye(d)[0], 0.0)
        found = [fit(noise.sample(256, keyed_rng(2, d, i))) for i in range(400)]
        mean = np.mean([law.kappa for law in found if law is not None])
        yield f"d = {d}: mean kappa_hat of 256 uniform directions {mean:.3f}"


def bessel() -> Lines:
    d = np.arange(2, 2000)
    for kappa in (1.0, 1e-8):
        with np.errstate(all="ignore"):
            ratio = ive(0.5 * d, kappa) / ive(0.5 * d - 1.0, kappa)
        zero, nan = d[np.argmax(ratio == 0.0)], d[np.argmax(np.isnan(ratio))]
        yield f"kappa = {kappa:g}: ive/ive is 0 from d = {zero}, nan from d = {nan}"
    with mp.workdps(40):
        true = mp.besseli(500, 1) / mp.besseli(499, 1)
    ours = float(mean_length(1.0, 1000))
    yield f"d = 1000, kappa = 1: A_d = {ours:.16g}, mpmath {mp.nstr(true, 16)}"
    with np.errstate(all="ignore"):
        density = vonmises_fisher(np.eye(500)[0], 1.0).logpdf(np.eye(500)[:1])
    theirs = float(np.ravel(density)[0])
    ours = float(Direction(np.eye(500)[0], 1.0).log_pdf(np.eye(500)[:1])[0])
    yield f"d = 500, kappa = 1: scipy's logpdf at the mean {theirs}, ours {ours:.6f}"
    try:
        vonmises_fisher(np.array([1.0]), 1.0)
        yield "d = 1: scipy takes it"
    except ValueError as error:
        yield f"d = 1: scipy says {error}"


def simulation_two() -> Lines:
    x = np.linspace(-5.0, 0.0, 2001)[:, None]
    y = np.linspace(-5.0, 5.0, 4001)[None, :]
    f = np.cos(2.0 * x) * np.cos(y) + np.sin(x)
    c = np.cos(x) * np.cos(y) - np.sin(x) * np.sin(y)
    for name, values in (("without", f), ("with", np.where(c <= 0.5, f, np.inf))):
        i, j = np.unravel_index(np.argmin(values), values.shape)
        at = x[i, 0], y[0, j]
        yield (
            f"{name} the constraint: min {values[i, j]:.5f} at ({at[0]:.4f}, {at[1]:.4f}), "
            f"c = {math.cos(sum(at)):.4f}"
        )
    distance = (0.5 * math.pi - math.pi / 3.0) / math.sqrt(2.0)
    yield f"distance of (-pi/2, 0) to the edge x + y = -pi/3: {distance:.4f}; f there is exactly -2"


def no_smoothing() -> Lines:
    """The data-oriented rival is another density than the paper's integral."""
    past, belief = pair(2, 60.0, 1.0, 2.0)
    G = belief.sample(20_000, keyed_rng(3))
    density = sampled(past.theta, G)
    theta, R = resultant(density.points)
    at = math.degrees(math.atan2(theta[1], theta[0]))
    yield (
        f"d = 2, kappa_t = 1, kappa_hat = 2, 60 deg: sampled has mean at {at:.1f} deg, "
        f"kappa {concentration(R, 2):.2f}, share {density.share:.2f}; "
        f"projected {answer(projected, 2, 60.0, 1.0, 2.0)}"
    )


NOTES: dict[str, Callable[[], Lines]] = {
    "1 printed diverges": divergence,
    "2 the ratchet": ratchet,
    "3 the special case of two dimensions": two_dimensions,
    "4 the hemisphere": hemisphere,
    "5 where the slope is taken": expansion_point,
    "6 the Taylor series": taylor,
    "7 the second-order term": second_order,
    "8 normalisers": normalisers,
    "9 eq. posterior": not_normalised,
    "10 unit vectors": unit_vectors,
    "11 Banerjee's approximation": banerjee_bias,
    "12 the last step": last_step,
    "13 expected improvement": improvement,
    "14 the kernel": kernel,
    "15 simulation 1": simulation_one,
    "16 simulation 2": simulation_two,
    "17 simulation 3": no_smoothing,
    "18 Bessel functions": bessel,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("note", nargs="?", help="the number of one note")
    wanted: str | None = parser.parse_args().note
    warnings.simplefilter("ignore", DivergenceWarning)
    for name, note in NOTES.items():
        if wanted is None or name.split()[0] == wanted:
            print(f"Note {name}")
            for line in note():
                print("  " + line)


if __name__ == "__main__":
    main()
