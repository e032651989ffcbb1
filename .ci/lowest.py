"""Print constraints.txt with every runtime dependency at the lower bound of pyproject.toml."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def lower_bounds(pyproject: Path) -> dict[str, str]:
    """Each runtime dependency's name and lower bound; anything but `name>=version` is an error."""
    bounds = {}
    for requirement in tomllib.loads(pyproject.read_text())["project"]["dependencies"]:
        match = re.fullmatch(r"([\w.-]+)>=([\w.]+)", requirement)
        if match is None:
            raise SystemExit(f"{requirement!r} is not of the form name>=version")
        bounds[match[1]] = match[2]
    return bounds


def main() -> None:
    bounds = lower_bounds(ROOT / "pyproject.toml")
    for line in (ROOT / "constraints.txt").read_text().splitlines():
        if line.partition("==")[0] not in bounds:
            print(line)
    for name, version in bounds.items():
        print(f"{name}=={version}")


if __name__ == "__main__":
    main()
