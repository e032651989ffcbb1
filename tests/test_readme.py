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
    if number == 0:  # the last digits belong to the machine, and so does what the model expected
        shown = TEXT.partition(BLOCKS[0])[2].split("```")[2].strip()
        assert _shape(done.stdout) == _shape(shown)
        assert _value(done.stdout) == pytest.approx(_value(shown), abs=1e-5)


def _shape(text: str) -> str:
    """The text with every number replaced by one sign."""
    return re.sub(r"-?\d[\d.e+-]*", "#", text).strip()


def _value(text: str) -> float:
    return float(re.search(r"(\S+) after 30 evaluations", text).group(1))
