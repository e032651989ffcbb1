"""The example on BoTorch, and the blocks of the pages that need PyTorch, run as they stand."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pages import TORCH, python_blocks, run_python

pytest.importorskip("torch")
pytest.importorskip("botorch")

pytestmark = pytest.mark.torch

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples/botorch_loop.py"


def run(script, cwd):
    done = subprocess.run(
        [sys.executable, script], cwd=cwd, capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("block", python_blocks(needing=TORCH), ids=str)
def test_each_block_of_the_pages_runs(block, tmp_path):
    run_python(block, tmp_path)


def test_the_example_runs_and_finds_something(tmp_path):
    shown = run(EXAMPLE, tmp_path)
    # The global optimum of Hartmann-6, or its best local one, is 3.32 or 3.20; a random design of
    # 40 has about 2.
    assert float(re.search(r"40 evaluations: (\S+),", shown)[1]) > 2.8


def test_the_example_is_short_and_gains_it_in_two_lines():
    lines = EXAMPLE.read_text("utf-8").splitlines()
    assert sum("# <- Headway" in line for line in lines) == 2
    assert len([line for line in lines if line.strip()]) <= 31  # its title apart, 30
