"""Replay with the real proposals: saved at any point, a run goes on with the same trials."""

from dataclasses import replace

import numpy as np
import pytest

from headway import Budget, Categorical, Integer, Optimizer, Policy, Real

SPACES = {
    "mixed": {
        "lr": Real(1e-5, 1e-1, log=True),
        "layers": Integer(1, 8),
        "act": Categorical(["relu", "gelu", None]),
        "slope": Real(0, 1, when=("act", "relu")),
    },
    "array": [(-5, 10), (0, 15)],
}
# Few samples: the same code, in less time.
QUICK = replace(Policy.default(), draws=16, places=32)


def value(trial, rng):
    numbers = [v for v in trial.params.values() if isinstance(v, float)]
    return float(np.sum(np.square(numbers))) + 0.1 * rng.random()


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
@pytest.mark.parametrize("form", SPACES)
def test_saved_at_any_point(form, direction):
    rng = np.random.default_rng(0)
    opt = Optimizer(
        SPACES[form],
        Budget(evaluations=14, cost=100),
        seed=7,
        policy=QUICK,
        direction=direction,
        constraints=1,
    )
    for step in range(12):
        again = Optimizer.from_json(opt.to_json())
        trial, same = opt.ask(), again.ask()
        assert trial == same and trial.why == same.why
        assert opt.history == replace(again.history, records=_timed(again.history, opt.history))
        if step == 4:
            opt.tell(trial, failed=True)
        elif step != 7:  # stays in flight
            opt.tell(trial, value(trial, rng), constraints=[rng.normal()], cost=1)


def _timed(records, like):
    """The records with the times of others: two sessions never ask at the same instant."""
    return tuple(
        replace(one, asked_at=two.asked_at, ended_at=two.ended_at)
        for one, two in zip(records, like, strict=True)
    )


def test_what_is_kept_in_memory_changes_no_proposal():
    rng = np.random.default_rng(1)
    kept, emptied = (Optimizer(SPACES["array"], 12, policy=QUICK) for _ in range(2))
    for _ in range(12):
        emptied._cache.clear()
        trial, same = kept.ask(), emptied.ask()
        assert trial == same
        told = value(trial, rng)
        kept.tell(trial, told)
        emptied.tell(same, told)
