"""Optuna's log is silent, and what it said can be asked for."""

from __future__ import annotations

import logging

import pytest

optuna = pytest.importorskip("optuna")


@pytest.fixture(autouse=True)
def quiet():
    level = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    yield
    optuna.logging.set_verbosity(level)


@pytest.fixture
def notices(caplog):
    """The warnings of Optuna's loggers, as a function of no argument."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    optuna.logging.enable_propagation()
    optuna.logging.disable_default_handler()
    caplog.set_level(logging.WARNING)
    yield lambda: [r.getMessage() for r in caplog.records if r.name.startswith("optuna")]
    optuna.logging.disable_propagation()
    optuna.logging.enable_default_handler()
