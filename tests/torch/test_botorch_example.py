"""The page and the example on BoTorch run as they stand."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("botorch")

pytestmark = pytest.mark.torch

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples/botorch_loop.py"
BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "docs/botorch.md").read_text("utf-8"), re.S)


def run(script, cwd):
    done = subprocess.run(
        [sys.executable, script], cwd=cwd, capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_each_block_of_the_page_runs(number, tmp_path):
    script = tmp_path / "block.py"
    script.write_text(BLOCKS[number], "utf-8")
    run(script, tmp_path)


def test_the_example_runs_and_finds_something(tmp_path):
    shown = run(EXAMPLE, tmp_path)
    # The global optimum of Hartmann-6, or its best local one, is 3.32 or 3.20; a random design of
    # 40 has about 2.
    assert float(re.search(r"40 evaluations: (\S+),", shown)[1]) > 2.8


def test_the_example_is_short_and_gains_it_in_two_lines():
    lines = EXAMPLE.read_text("utf-8").splitlines()
    assert sum("# <- Headway" in line for line in lines) == 2
    assert len([line for line in lines if line.strip()]) <= 31  # its title apart, 30
