"""A stand-in for a slow simulator: the mass and the peak stress of a ribbed cantilever.

    python simulate.py --height 40 --width 30 --ribs 3 --alloy steel

It takes a while, prints a log with the results in it, and crashes where the mesh gets too fine:
what real solvers do.
"""

import argparse
import sys
import time

# density in t/m^3, Young's modulus in GPa, price per t
ALLOYS = {"steel": (7.85, 210.0), "aluminium": (2.7, 70.0), "titanium": (4.43, 114.0)}
LOAD, LENGTH = 9.0, 1.2  # kN at the free end, m


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--height", type=float, required=True, help="of the web, mm")
    parser.add_argument("--width", type=float, required=True, help="of the flange, mm")
    parser.add_argument("--ribs", type=int, required=True)
    parser.add_argument("--alloy", choices=ALLOYS, required=True)
    parser.add_argument("--seconds", type=float, default=0.5, help="how long it takes")
    given = parser.parse_args()

    print(f"solver 4.2: meshing a beam of {given.height:.1f} x {given.width:.1f} mm")
    time.sleep(given.seconds)
    slenderness = given.height / given.width
    if slenderness > 2.4 and given.ribs < 4:
        print(f"error: element 1733 is inverted (aspect ratio {slenderness:.1f})", file=sys.stderr)
        sys.exit(3)

    density, modulus = ALLOYS[given.alloy]
    height, width = given.height / 1000, given.width / 1000
    area = 0.1 * height * width + 2 * 0.12 * width * height + 2e-5 * given.ribs
    inertia = area * height**2 / 6
    moment = LOAD * LENGTH
    buckling = 1 + 0.6 * max(slenderness - 2.2, 0) ** 2 / (1 + given.ribs)
    stress = moment * height / 2 / inertia / 1000 * buckling
    deflection = LOAD * LENGTH**3 / (3 * modulus * 1e6 * inertia) * 1000
    mass = density * 1000 * area * LENGTH

    for step in range(1, 4):
        print(f"iteration {step}: residual {10.0 ** -(2 * step):.1e}")
    print(f"peak stress = {stress:.3f} MPa")
    print(f"deflection = {deflection:.4f} mm")
    print(f"mass = {mass:.5f} kg")


if __name__ == "__main__":
    main()
