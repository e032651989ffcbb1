"""The README's examples run as they stand, and print what the README says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
TEXT = README.read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_each_example_runs(number, tmp_path):
    script = tmp_path / "example.py"
    script.write_text(BLOCKS[number], encoding="utf-8")
    done = subprocess.run(
        [sys.executable, script], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    if number == 0:
        shown = TEXT.partition(BLOCKS[0])[2].split("```")[2].strip()
        # Digits behind the eighth belong to the machine.
        assert re.sub(r"(\d\.\d{7})\d+", r"\1", done.stdout.strip()) == re.sub(
            r"(\d\.\d{7})\d+", r"\1", shown
        )
