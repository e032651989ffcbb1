"""Several processes on one storage share one budget."""

from __future__ import annotations

import subprocess
import sys
import time
from itertools import combinations

import optuna
import pytest
from optuna.trial import TrialState

WORKER = """
import sys, time
from pathlib import Path
import optuna
import headway
from headway.optuna import HeadwaySampler

folder, way, me = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
optuna.logging.set_verbosity(optuna.logging.ERROR)
backend = optuna.storages.journal.JournalFileBackend(str(folder / "study.log"))
storage = optuna.storages.JournalStorage(backend)
study = optuna.load_study(study_name="s", storage=storage, sampler=HeadwaySampler(24))
(folder / f"ready-{me}").touch()
while not (folder / "go").exists():
    time.sleep(0.01)


def f(trial):
    x, y = trial.suggest_float("x", -1, 1), trial.suggest_float("y", -1, 1)
    time.sleep(0.03)
    return (x - 0.3) ** 2 + (y + 0.2) ** 2


if way == "optimize":
    study.optimize(f)
else:
    while True:
        try:
            trial = study.ask()
        except headway.BudgetSpent:
            break
        study.tell(trial, f(trial))
"""
WORKERS = 3


@pytest.mark.parametrize("way", ["optimize", "ask"])
def test_workers_share_one_budget(way, tmp_path):
    backend = optuna.storages.journal.JournalFileBackend(str(tmp_path / "study.log"))
    storage = optuna.storages.JournalStorage(backend)
    study = optuna.create_study(study_name="s", storage=storage)
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(tmp_path), way, str(i)],
            stderr=subprocess.PIPE,
            text=True,
        )
        for i in range(WORKERS)
    ]
    try:
        deadline = time.monotonic() + 120
        while len(list(tmp_path.glob("ready-*"))) < WORKERS and time.monotonic() < deadline:
            time.sleep(0.02)
        (tmp_path / "go").touch()
        said = [process.communicate(timeout=120)[1] for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert [process.returncode for process in processes] == [0] * WORKERS, said
    complete = [t for t in study.trials if t.state == TrialState.COMPLETE]
    if way == "ask":
        assert len(complete) == 24, "with our own loop the budget is exact"
        refused = [t for t in study.trials if t.state == TrialState.FAIL]
        assert len(refused) <= WORKERS
        assert all(t.user_attrs["error"] == "over budget" for t in refused)
    else:
        assert 24 <= len(complete) <= 24 + WORKERS - 1, "Optuna has no way to give a trial back"
    points = [(t.params["x"], t.params["y"]) for t in complete]
    nearest = min(max(abs(a - c), abs(b - d)) for (a, b), (c, d) in combinations(points, 2))
    assert nearest > 1e-9
    assert study.best_value < 1e-3
