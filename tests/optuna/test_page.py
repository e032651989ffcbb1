"""Each block of Python in docs/optuna.md runs as it stands; the example runs too."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from examples import optuna_study

TEXT = (Path(__file__).parents[2] / "docs" / "optuna.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_each_block_runs(number, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(BLOCKS[number], f"docs/optuna.md, block {number}", "exec"), {})


def test_the_example_prints_who_found_what(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["optuna_study.py", "--budget", "6", "--seeds", "1"])
    optuna_study.main()
    lines = capsys.readouterr().out.splitlines()
    assert re.match(r"\d+\.\d{4} after 6 trainings", lines[0])
    for line, name in zip(
        lines[-3:], ("HeadwaySampler", "TPESampler", "RandomSampler"), strict=True
    ):
        assert re.match(rf"  {name} +(\d+\.\d{{4}})   mean \1$", line)
