"""The package for OptunaHub: the folder has what the hub asks for; tests/doors has its loader."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

ROOT = Path(__file__).parents[2] / "optunahub" / "package"
PACKAGE = ROOT / "samplers" / "headway"


def front_matter():
    text = (PACKAGE / "README.md").read_text()
    _, head, _ = text.split("---\n", 2)
    return yaml.safe_load(head)


def test_the_front_matter_is_complete():
    head = front_matter()
    assert set(head) == {"author", "title", "description", "tags", "optuna_versions", "license"}
    assert "sampler" in head["tags"]
    assert all(isinstance(version, str) for version in head["optuna_versions"])
    assert head["license"] == "MIT License"


def test_the_files_are_there():
    names = {path.name for path in PACKAGE.iterdir()} - {"__pycache__"}
    assert names == {"LICENSE", "README.md", "__init__.py", "example.py", "requirements.txt"}
    assert (PACKAGE / "LICENSE").read_text() == (ROOT.parents[1] / "LICENSE").read_text()
    for heading in ("Abstract", "Class or Function Names", "Installation", "Example"):
        assert f"\n## {heading}\n" in (PACKAGE / "README.md").read_text()


@pytest.mark.parametrize("where", ["example.py", "README.md"])
def test_the_examples_run(where, monkeypatch, capsys):
    """With the loader's answer in the place of a download."""
    loader = SimpleNamespace(load_module=lambda package: SimpleNamespace(**hub(package)))
    monkeypatch.setitem(sys.modules, "optunahub", loader)
    text = (PACKAGE / where).read_text()
    if where == "example.py":
        runpy.run_path(str(PACKAGE / where), run_name="__main__")
    else:
        (block,) = re.findall(r"```python\n(.*?)```", text, re.S)
        exec(compile(block, where, "exec"), {"__name__": "__main__"})
    assert "'x': " in capsys.readouterr().out


def hub(package):
    return runpy.run_path(str(ROOT / package / "__init__.py"))
