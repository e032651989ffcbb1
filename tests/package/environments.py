"""Clean environments, and the package built and installed in them as a user would."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
VERSIONS = ("3.11", "3.12", "3.13")
RUNNING = f"{sys.version_info.major}.{sys.version_info.minor}"


def call(*command, cwd, **more):
    """A finished process that nothing of this checkout or of the caller's settings reaches."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "HEADWAY", "COV_"))}
    env["PIP_DISABLE_PIP_VERSION_CHECK"] = "1"
    return subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**env, "PIP_CONSTRAINT": str(ROOT / "constraints.txt")},
        capture_output=True,
        text=True,
        timeout=150,
        **more,
    )


def checked(*command, cwd):
    done = call(*command, cwd=cwd)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@dataclass(frozen=True)
class Environment:
    """A virtual environment that holds what was installed, and not even pip."""

    folder: Path

    @classmethod
    def made(cls, folder: Path, python: str = sys.executable) -> Environment:
        checked(python, "-m", "venv", "--without-pip", folder, cwd=folder.parent)
        return cls(folder)

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    @property
    def command(self) -> Path:
        return self.folder / "bin" / "headway"

    def pip(self, *arguments):
        pip = (sys.executable, "-m", "pip", "--python", self.python)
        return checked(*pip, *arguments, cwd=self.folder)

    def install(self, *what):
        self.pip("install", "-qq", "--no-compile", *what)

    @property
    def installed(self) -> dict[str, str]:
        listed = json.loads(self.pip("list", "--format=json"))
        return {item["name"].lower(): item["version"] for item in listed}

    def run(self, code: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        return call(self.python, "-I", "-c", code, cwd=cwd)


def build(source: Path, target: Path, *formats: str) -> None:
    """By the build backend, as `python -m build` would."""
    wanted = [word for name in formats for word in ("-t", name)]
    checked(sys.executable, "-m", "hatchling", "build", *wanted, "-d", target, cwd=source)


def other_pythons() -> dict[str, str]:
    """The interpreters of the declared versions that this machine has, the running one apart."""
    found = {}
    homes = [Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"]
    for version in VERSIONS:
        if version == RUNNING:
            continue
        places = [shutil.which(f"python{version}")]
        places += [str(p) for home in homes for p in home.glob(f"{version}.*/bin/python")]
        for place in filter(None, places):
            asked = subprocess.run(
                [place, "-c", "import sys, venv; print('%d.%d' % sys.version_info[:2])"],
                capture_output=True,
                text=True,
            )
            if asked.returncode == 0 and asked.stdout.strip() == version:
                found[version] = place
                break
    return found
