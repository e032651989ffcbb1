"""OptunaHub's own loader loads our package for the hub."""

from __future__ import annotations

from pathlib import Path

import optuna
import pytest

from headway.optuna import HeadwaySampler

optunahub = pytest.importorskip("optunahub", reason="optunahub is not installed")
ROOT = Path(__file__).parents[2] / "optunahub" / "package"


def test_optunahubs_own_loader_loads_it():
    module = optunahub.load_local_module(package="samplers/headway", registry_root=str(ROOT))
    assert module.HeadwaySampler is HeadwaySampler
    study = optuna.create_study(sampler=module.HeadwaySampler(budget=6))
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1))
    assert len(study.trials) == 6
