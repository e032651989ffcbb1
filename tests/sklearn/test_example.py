"""The example on scikit-learn runs as it stands."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples/sklearn_search.py"


def test_the_example_runs(tmp_path):
    done = subprocess.run(
        [sys.executable, EXAMPLE, "--quick"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    names = re.findall(r"^(Headway|\w+SearchCV) +-?\d\.\d{4}", done.stdout, re.M)
    assert {"Headway", "RandomizedSearchCV", "HalvingRandomSearchCV"} <= set(names)
