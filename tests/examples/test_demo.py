"""The demo runs from end to end and says what it found."""

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parents[2]


def test_a_small_demo(tmp_path):
    picture = tmp_path / "demo.svg"
    paths = [str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [sys.executable, "examples/demo.py", "--evaluations", "12", "--svg", str(picture)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert "headway: 12 of 12 evaluations, best " in done.stderr
    assert "Traceback" not in done.stderr
    for text in ("set point", "cooling coils", "Runaways: ", "It took "):
        assert text in done.stdout
    assert "that of 12 Sobol points " in done.stdout
    assert ElementTree.parse(picture).getroot().tag.endswith("svg")
