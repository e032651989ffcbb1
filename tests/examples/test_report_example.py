"""The example that writes a report."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "report.py"


def test_the_example_writes_its_page(tmp_path):
    done = subprocess.run(
        [sys.executable, EXAMPLE, "--evaluations", "20", "-o", "beam.html"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "Wrote beam.html." in done.stdout
    page = (tmp_path / "beam.html").read_text(encoding="utf-8")
    assert "A box beam" in page and page.count("<figure") == 9
