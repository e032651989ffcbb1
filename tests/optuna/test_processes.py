"""Several processes on one storage share one budget."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from datetime import datetime, timedelta
from itertools import combinations

import optuna
import pytest
from optuna.distributions import FloatDistribution
from optuna.trial import TrialState, create_trial

from headway.optuna import HeadwaySampler, optimizer_of
from headway.optuna_study import is_settled
from headway.optuna_trials import PROPOSING

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


def line(trial):
    return trial.suggest_float("x", -1, 1)


def begun(study, *, ago, **attrs):
    """A trial that another process has made so many seconds ago and has not proposed for yet."""
    trial = create_trial(state=TrialState.RUNNING, **attrs)
    trial.datetime_start = datetime.now() - timedelta(seconds=ago)
    study.add_trial(trial)
    return study.trials[-1]


SLOW = {"system_attrs": {PROPOSING: True}}
BY_HAND = {"user_attrs": {"headway:owner": "by hand"}}


@pytest.mark.parametrize("attrs", [SLOW, BY_HAND], ids=["library", "command line"])
def test_the_point_of_a_slow_process_is_waited_for(attrs):
    """On a busy machine seconds pass between making a trial and proposing for it."""
    study = optuna.create_study(sampler=HeadwaySampler(40, space={"x": (-1.0, 1.0)}))
    study.optimize(line, n_trials=4)
    slow = begun(study, ago=5, **attrs)
    points = {}

    def propose():
        time.sleep(0.3)
        sampler = HeadwaySampler(40, space={"x": (-1.0, 1.0)})
        points.update(sampler.sample_relative(study, slow, {"x": FloatDistribution(-1, 1)}))

    thread = threading.Thread(target=propose)
    start = time.monotonic()
    thread.start()
    x = line(study.ask())
    assert time.monotonic() - start > 0.3, "it did not wait"
    thread.join()
    assert [trial.params["x"] for trial in optimizer_of(study).pending] == [points["x"], x]
    assert abs(points["x"] - x) > 1e-6


def test_a_proposal_says_that_it_is_being_made(monkeypatch):
    study = optuna.create_study(sampler=HeadwaySampler(40, space={"x": (-1.0, 1.0)}))
    seen = []
    sampled = HeadwaySampler._sampled

    def spy(self, study, trial, *rest):
        seen.append(study.trials[trial.number].system_attrs)
        return sampled(self, study, trial, *rest)

    monkeypatch.setattr(HeadwaySampler, "_sampled", spy)
    line(study.ask())
    assert seen == [{PROPOSING: True}]


def test_an_objective_that_loads_data_first_delays_the_others_little():
    study = optuna.create_study()
    begun(study, ago=1)
    after = begun(study, ago=0)
    assert not is_settled(study.trials, before=after)
    loading = optuna.create_study()
    begun(loading, ago=3)
    assert is_settled(loading.trials, before=begun(loading, ago=0))


def test_those_who_waited_for_a_dead_process_take_turns():
    study = optuna.create_study()
    for ago in (31.0, 30.5, 30.4):
        begun(study, ago=ago, **SLOW)
    _, first, second = study.trials
    assert is_settled(study.trials, before=first)
    assert not is_settled(study.trials, before=second)
    yesterday = optuna.create_study()
    for _ in range(3):
        begun(yesterday, ago=86400, **SLOW)
    assert is_settled(yesterday.trials, before=begun(yesterday, ago=0))
