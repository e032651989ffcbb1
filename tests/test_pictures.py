"""The pictures of docs/how-it-decides.md are those that its script draws."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

DOCS = Path(__file__).parents[1] / "docs"


def test_the_script_draws_every_picture_of_the_page(tmp_path):
    subprocess.run(
        [sys.executable, "-W", "error", DOCS / "pictures.py", "--quick", "-o", tmp_path],
        cwd=tmp_path,
        check=True,
        timeout=300,
    )
    drawn = {path.name for path in tmp_path.glob("*.svg")}
    page = (DOCS / "how-it-decides.md").read_text("utf-8")
    assert drawn == set(re.findall(r"\(pictures/([\w-]+\.svg)\)", page))
    assert drawn == {path.name for path in (DOCS / "pictures").iterdir()}
    for name in drawn:
        marks = {}
        for folder in (tmp_path, DOCS / "pictures"):
            root = ElementTree.parse(folder / name).getroot()
            assert root.tag.endswith("svg") and "nan" not in (folder / name).read_text("utf-8")
            marks[folder] = {e.tag for e in root.iter()}
        assert marks[tmp_path] == marks[DOCS / "pictures"], name  # as much is in them
