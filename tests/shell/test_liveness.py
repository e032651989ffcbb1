"""Trials that nobody runs any more, as far as their attributes say."""

import optuna
import pytest
from optuna.trial import TrialState

from headway.optuna_trials import WHY
from headway.shell.liveness import AGAIN, BY_HAND, OWNER, Orphans, is_bare


def running(params=False, **attributes):
    space = {"x": optuna.distributions.FloatDistribution(0, 1)} if params else {}
    return optuna.trial.create_trial(
        state=TrialState.RUNNING,
        params={"x": 0.5} if params else {},
        distributions=space,
        user_attrs=attributes,
    )


@pytest.mark.parametrize("made", [{}, {WHY: "design"}, {WHY: "trial 3 again", AGAIN: 3}])
def test_a_trial_whose_worker_died_before_it_signed_is_found(made):
    """The sampler and the queue write their reasons before the worker can sign."""
    trial = running(**made)
    assert is_bare(trial)
    assert Orphans(-1.0).among([trial]) == [trial]
    assert Orphans(60.0).among([trial]) == []


@pytest.mark.parametrize("owner", [BY_HAND, "host-1"])
def test_a_trial_with_an_owner_or_parameters_is_none(owner):
    for trial in (running(**{OWNER: owner}), running(params=True, **{WHY: "design"})):
        assert not is_bare(trial)
        assert Orphans(-1.0).among([trial]) == []
