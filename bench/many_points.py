"""Whether bounding the cost past a thousand points costs regret.

    python -m bench.many_points

Each run is told 1200 random points of a bbob function and asks for 30 more: once as the package
does it (climbs led by the nearest 1000 points, hyper-parameters from 500), once with climbs led by
all.
The two differ in nothing else. Prints both regrets for each function, and the time per suggestion.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

import headway
from bench.functions import Problem, bbob
from headway.acquisition import score

FUNCTIONS = (1, 6, 8, 13, 15, 20, 21, 24)


@contextmanager
def led_by(count: int) -> Iterator[None]:
    """Climbs led by so many points."""
    usual = score.NEAR
    score.NEAR = count
    try:
        yield
    finally:
        score.NEAR = usual


def run(problem: Problem, known: int, budget: int) -> tuple[float, float]:
    """The regret after the budget, and the median seconds of a suggestion."""
    optimizer = headway.Optimizer(problem.bounds, budget, seed=0, noise=0)
    box = np.array(problem.bounds)
    for u in np.random.default_rng(1).random((known, problem.d)):
        x = box[:, 0] + u * (box[:, 1] - box[:, 0])
        optimizer.tell_known(x, problem(x))
    seconds = []
    while not optimizer.done:
        began = time.perf_counter()
        trial = optimizer.ask()
        seconds.append(time.perf_counter() - began)
        optimizer.tell(trial, problem(trial.x))
    best = optimizer.best
    assert best is not None and best.value is not None
    return best.value - problem.minimum, float(np.median(seconds))


def main() -> None:
    """Print a row for each function, and the mean difference."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--known", type=int, default=1200)
    parser.add_argument("--budget", type=int, default=30)
    parser.add_argument("--dimension", type=int, default=5)
    options = parser.parse_args()
    print(f"{'function':<10}{'near':>12}{'all':>12}{'s near':>9}{'s all':>9}")
    differences = []
    for function in FUNCTIONS:
        problem = bbob(function, options.dimension, 1)
        near, seconds_near = run(problem, options.known, options.budget)
        with led_by(10**9):
            whole, seconds_whole = run(problem, options.known, options.budget)
        differences.append(np.log10(max(near, 1e-8)) - np.log10(max(whole, 1e-8)))
        print(
            f"f{function:<9}{near:>12.4g}{whole:>12.4g}{seconds_near:>9.2f}{seconds_whole:>9.2f}",
            flush=True,
        )
    error = np.std(differences, ddof=1) / np.sqrt(len(differences))
    print(f"log10 regret, near - all: {np.mean(differences):+.3f} ± {error:.3f}")


if __name__ == "__main__":
    main()
