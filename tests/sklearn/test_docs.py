"""The page and the example on scikit-learn run as they stand."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "docs/sklearn.md").read_text("utf-8"), re.S)


def run(script, cwd, *arguments):
    done = subprocess.run(
        [sys.executable, script, *arguments], cwd=cwd, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_each_block_of_the_page_runs(number, tmp_path):
    script = tmp_path / "block.py"
    script.write_text(BLOCKS[number], "utf-8")
    run(script, tmp_path)


def test_the_example_runs(tmp_path):
    shown = run(ROOT / "examples/sklearn_search.py", tmp_path, "--quick")
    names = re.findall(r"^(Headway|\w+SearchCV) +-?\d\.\d{4}", shown, re.M)
    assert {"Headway", "RandomizedSearchCV", "HalvingRandomSearchCV"} <= set(names)
