"""A run and its page: a beam that must carry its load, as light as can be.

python examples/report.py               writes report.html, to be opened on anything with a browser
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

import headway
import headway.report

SPACE = {
    "height": headway.Real(60, 300),  # mm
    "width": headway.Real(20, 120),  # mm
    "wall": headway.Real(2, 20),  # mm
    "alloy": headway.Categorical(["steel", "aluminium"]),
}
DENSITY = {"steel": 7.85e-6, "aluminium": 2.70e-6}  # kg/mm³
STIFFNESS = {"steel": 210e3, "aluminium": 70e3}  # MPa
STRENGTH = {"steel": 235.0, "aluminium": 160.0}  # MPa
LENGTH, LOAD, SAG = 3000.0, 8000.0, 15.0  # mm, N at the free end, mm


def beam(p: dict[str, Any]) -> headway.Outcome:
    """Mass in kg of a box beam held at one end; met when its stress and its sag are allowed."""
    height, width, wall = p["height"], p["width"], p["wall"]
    if 2 * wall >= min(height, width):
        raise ValueError("the walls leave no hollow")  # a failed trial: the run goes on
    hollow = (height - 2 * wall) * (width - 2 * wall)
    inertia = (width * height**3 - (width - 2 * wall) * (height - 2 * wall) ** 3) / 12
    stress = LOAD * LENGTH * height / 2 / inertia
    sag = LOAD * LENGTH**3 / (3 * STIFFNESS[p["alloy"]] * inertia)
    mass = (height * width - hollow) * LENGTH * DENSITY[p["alloy"]]
    # As logarithms: the ratios go from 0.1 to 100, and a model of that sees only the large ones.
    limits = [math.log(stress / STRENGTH[p["alloy"]]), math.log(sag / SAG)]
    return headway.Outcome(mass, constraints=limits)


def main() -> None:
    """Run it, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--evaluations", type=int, default=50)
    parser.add_argument("-o", "--output", type=Path, default=Path("report.html"))
    options = parser.parse_args()
    result = headway.minimize(
        beam, SPACE, budget=options.evaluations, constraints=2, noise=0, progress=True
    )
    page = headway.report.write(result.optimizer, options.output, title="A box beam")
    print(f"{result.fun:.4g} kg, {result.x}\nWrote {page}.")


if __name__ == "__main__":
    main()
