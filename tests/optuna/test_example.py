"""The example of an Optuna study runs, and prints who found what."""

from __future__ import annotations

import re
import sys

from examples import optuna_study


def test_the_example_prints_who_found_what(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["optuna_study.py", "--budget", "6", "--seeds", "1"])
    optuna_study.main()
    lines = capsys.readouterr().out.splitlines()
    assert re.match(r"\d+\.\d{4} after 6 trainings", lines[0])
    for line, name in zip(
        lines[-3:], ("HeadwaySampler", "TPESampler", "RandomSampler"), strict=True
    ):
        assert re.match(rf"  {name} +(\d+\.\d{{4}})   mean \1$", line)
