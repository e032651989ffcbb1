"""Print constraints.txt with what a user's environment needs at the lower bounds of pyproject.toml.

Those of the core, and of the extras that `make test-lowest` runs the tests of.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXTRAS = ("optuna", "sklearn", "cli")
# Releases of about their time: later ones warn of what typer 0.20 imports, and of how scikit-learn
# 1.6 parametrises its checks; in the tests a warning is an error.
COMPANIONS = {"click": "8.3.1", "pytest": "8.4.2"}


def lower_bounds(pyproject: Path) -> dict[str, str]:
    """Each dependency's name and lower bound; anything but `name>=version` is an error."""
    project = tomllib.loads(pyproject.read_text())["project"]
    extras = project["optional-dependencies"]
    bounds: dict[str, str] = {}
    for requirement in sum((extras[name] for name in EXTRAS), project["dependencies"]):
        match = re.fullmatch(r"([\w.-]+)>=([\w.]+)", requirement)
        if match is None:
            raise SystemExit(f"{requirement!r} is not of the form name>=version")
        if bounds.setdefault(match[1], match[2]) != match[2]:
            raise SystemExit(f"{match[1]} has two lower bounds: {bounds[match[1]]} and {match[2]}")
    return bounds


def main() -> None:
    bounds = lower_bounds(ROOT / "pyproject.toml") | COMPANIONS
    for line in (ROOT / "constraints.txt").read_text().splitlines():
        if line.partition("==")[0] not in bounds:
            print(line)
    for name, version in bounds.items():
        print(f"{name}=={version}")


if __name__ == "__main__":
    main()
