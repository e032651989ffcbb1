"""Tune a reactor in 50 simulations, and see what a design of experiments finds with as many.

make demo                               or, with the package installed:
python examples/demo.py --evaluations 50 --seed 0 --svg demo.svg
"""

from __future__ import annotations

import argparse
import logging
import math
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from convergence import Curve, Values, draw
from reactor import Design, loss, losses
from scipy.stats import qmc

import headway

SPACE = headway.Space.of(
    {
        "set_point": headway.Real(345.0, 380.0),
        "gain": headway.Real(0.3, 60.0, log=True),
        "integral_time": headway.Real(0.5, 60.0, log=True),
        "derivative_time": headway.Real(0.0, 2.0),
        "coils": headway.Integer(3, 8),
        "structure": headway.Categorical(["single", "cascade"]),
    }
)
STRUCTURES = {
    "single": "one controller moves the valve",
    "cascade": "one controller asks a second one for a coil temperature",
}


class Timed:
    """The simulation, with the time that it takes."""

    def __init__(self, f: Callable[[dict[str, Any]], float]) -> None:
        self.f = f
        self.seconds = 0.0

    def __call__(self, params: dict[str, Any]) -> float:
        began = time.perf_counter()
        try:
            return self.f(params)
        finally:
            self.seconds += time.perf_counter() - began


def sobol(
    f: Callable[[dict[str, Any]], float], n: int, seed: int
) -> tuple[Values, dict[str, Any] | None]:
    """The values of a scrambled Sobol design (None: failed) and its best point, if there is one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # n need not be a power of two
        points = qmc.Sobol(SPACE.d, seed=seed).random(n)
    values: list[float | None] = []
    best, best_design = math.inf, None
    for z in SPACE.from_unit(points):
        design = SPACE.decode(z)
        try:
            value = f(design)
        except RuntimeError:
            values.append(None)
            continue
        values.append(value)
        if value < best:
            best, best_design = value, design
    return values, best_design


def describe(params: dict[str, Any]) -> str:
    """A design in an engineer's words."""
    return "\n".join(
        [
            f"  set point          {params['set_point']:.1f} K",
            f"  controller gain    {params['gain']:.2f} %/%",
            f"  integral time      {params['integral_time']:.2f} min",
            f"  derivative time    {params['derivative_time']:.2f} min",
            f"  cooling coils      {params['coils']}",
            f"  structure          {params['structure']}: {STRUCTURES[params['structure']]}",
        ]
    )


def account(name: str, params: dict[str, Any] | None) -> str:
    """Where the money goes, as a row of the table under `HEADER`."""
    if params is None:
        return f"  {name:<10} every simulation failed"
    lost = losses(Design(**params))
    parts = (lost.total, lost.unused, lost.burnt, lost.off_spec, lost.water, lost.coils, lost.valve)
    return f"  {name:<10}" + "".join(f"{part:9.1f}" for part in parts)


def verdict(found: Curve, known: Curve) -> str:
    """What Headway gained on the design of the same size."""
    n, ours, theirs = len(found.values), found.best[-1], known.best[-1]
    if math.isinf(theirs):
        comparison = "every one failed"
    elif ours < theirs:
        comparison = f"{theirs - ours:.1f} EUR/h, or {1 - ours / theirs:.0%}, saved"
    else:
        comparison = "nothing gained this time"
    return (
        f"Headway's best loses {ours:.1f} EUR/h, that of {n} Sobol points {theirs:.1f}: "
        f"{comparison}.\n"
        f"Runaways: {found.values.count(None)} of {n} for Headway, "
        f"{known.values.count(None)} of {n} for Sobol."
    )


HEADER = f"  {'EUR/h':<10}" + "".join(
    f"{name:>9}" for name in ("loss", "unused", "burnt", "off-spec", "water", "coils", "valve")
)


def main() -> None:
    """Run both searches on the same simulation and print what they found."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--evaluations", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--svg", type=Path, default=Path("demo.svg"))
    options = parser.parse_args()
    n, seed = options.evaluations, options.seed
    # a runaway is part of the problem; it is counted below
    logging.getLogger("headway").setLevel(logging.ERROR)

    print(f"A stirred tank reactor: {SPACE.d} choices, a budget of {n} simulations.\n", flush=True)
    began = time.perf_counter()
    simulation = Timed(loss)
    result = headway.minimize(simulation, SPACE, budget=n, seed=seed, progress=True)
    simulated, searched = simulation.seconds, time.perf_counter() - began
    print(f"\nNow a scrambled Sobol design of {n}, the same simulation ...", flush=True)
    rival, rival_params = sobol(simulation, n, seed)

    found = Curve("Headway", [record.value for record in result.history])
    known = Curve("Sobol design", rival)
    print(f"\nThe best design that Headway found:\n{describe(result.x)}\n\n{HEADER}")
    print(account("Headway", result.x))
    print(account("Sobol", rival_params))
    print(f"\n{verdict(found, known)}")
    svg = draw([found, known], title="Tuning a reactor", unit="best loss so far, EUR/h")
    options.svg.write_text(svg, encoding="utf-8")
    print(
        f"Wrote {options.svg}. It took {time.perf_counter() - began:.0f} s: Headway's simulations "
        f"{simulated:.0f}, its thinking {searched - simulated:.1f}, "
        f"the Sobol design's simulations {simulation.seconds - simulated:.0f}."
    )


if __name__ == "__main__":
    main()
