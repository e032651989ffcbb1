"""A folder with a study file and a simulator, and the command line called on it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import dataclass
from pathlib import Path

from typer.testing import CliRunner

from headway.cli import app

SRC = Path(__file__).parents[2] / "src"
# -S -E: no site packages, so that a simulator starts in 10 ms.
PYTHON = f"{sys.executable} -S -E"
BOWL = "import sys; x, n = float(sys.argv[1]), int(sys.argv[2]); print((x - 2) ** 2 + n)"
STUDY = """\
budget = {budget}
command = "{python} sim.py {{x}} {{n}}"
{more}
[parameters]
x = [-5.0, 10.0]
n = {{type = "integer", low = 1, high = 4}}
{end}
"""


@dataclass
class Called:
    """What a call of the command line left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)

    @property
    def lines(self):
        return [json.loads(line) for line in self.out.splitlines()]


class Desk:
    def __init__(self, folder, monkeypatch):
        self.folder = folder
        monkeypatch.chdir(folder)
        monkeypatch.delenv("HEADWAY_STORAGE", raising=False)
        self.simulate(BOWL)

    def simulate(self, code):
        (self.folder / "sim.py").write_text(textwrap.dedent(code))

    def write(self, *, budget="6", more="", end="", text=STUDY):
        filled = text.format(budget=budget, python=PYTHON, more=more, end=end)
        (self.folder / "study.toml").write_text(filled)

    def call(self, *arguments, input=None):
        """In this process."""
        done = CliRunner().invoke(app, list(map(str, arguments)), input=input)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return Called(done.exit_code, done.stdout, done.stderr)

    def start(self, *arguments):
        """In a process of its own, to be sent signals."""
        return subprocess.Popen(
            [sys.executable, "-m", "headway", *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(SRC)},
        )

    def trials(self, *where):
        return self.call("export", *where, "--json").json

    def states(self):
        return [trial["state"] for trial in self.trials()]

    def wait_for(self, condition, seconds=30.0):
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, "waited in vain"
            time.sleep(0.05)

    def wait_for_files(self, pattern, count):
        self.wait_for(lambda: len(list(self.folder.glob(pattern))) >= count)


def ended(process, number=None, seconds=30.0):
    """Send a signal, wait, and return the exit status and both outputs."""
    if number is not None:
        process.send_signal(number)
    out, err = process.communicate(timeout=seconds)
    return Called(process.returncode, out, err)


SIGKILL, SIGINT, SIGTERM = signal.SIGKILL, signal.SIGINT, signal.SIGTERM
