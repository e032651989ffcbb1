"""The demo's simulation: physically sane, repeatable, and it fails where it should."""

from dataclasses import asdict, replace

import numpy as np
import pytest

from examples import reactor
from examples.reactor import Design

GOOD = Design(
    set_point=363.4,
    gain=0.83,
    integral_time=0.81,
    derivative_time=1.08,
    coils=7,
    structure="single",
)


def test_the_losses_add_up_and_none_is_negative():
    lost = reactor.losses(GOOD)
    assert lost.total == pytest.approx(sum(asdict(lost).values()))
    assert min(asdict(lost).values()) >= 0
    assert lost.coils == 7 * reactor.COIL_PRICE
    assert 400 < lost.total < 460


def test_the_same_design_costs_the_same_again():
    assert reactor.loss(asdict(GOOD)) == reactor.loss(asdict(GOOD))


def test_a_good_controller_holds_the_set_point():
    minutes, states = reactor.simulate(GOOD)
    settled = minutes > 40
    assert np.all(np.abs(states[2, settled] - GOOD.set_point) < 4)
    assert np.mean(np.abs(states[2, settled] - GOOD.set_point)) < 1


def test_states_stay_physical():
    _, (a, b, t, m, j, v, _) = reactor.simulate(GOOD)
    assert min(a.min(), b.min()) > -1e-6
    assert np.max(a + b) < 1.2  # no more than was fed
    assert t.min() > 280 and t.max() < reactor.RELIEF
    assert m.min() > 280 and j.min() > 280
    assert v.min() > -1e-6 and v.max() < 1 + 1e-6


def test_too_little_cooling_runs_away():
    with pytest.raises(reactor.Runaway, match=r"runaway: 405 K after \d+\.\d min"):
        reactor.simulate(replace(GOOD, set_point=378.0, gain=0.3, integral_time=60.0, coils=3))


def test_too_much_gain_costs_more_than_the_right_gain():
    rough = reactor.losses(replace(GOOD, gain=40.0, coils=8))
    assert rough.off_spec > 10 * reactor.losses(GOOD).off_spec


def test_hotter_uses_more_of_a_and_burns_more_of_b():
    cool, hot = (reactor.losses(replace(GOOD, set_point=t)) for t in (358.0, 368.0))
    assert hot.unused < cool.unused
    assert hot.burnt > cool.burnt


def test_the_structure_matters():
    single, cascade = (reactor.losses(replace(GOOD, structure=s)) for s in ("single", "cascade"))
    assert single.total != pytest.approx(cascade.total, rel=1e-3)


def test_a_solver_that_gives_up_is_an_error(monkeypatch):
    class Failed:
        success = False
        message = "step size too small"

    monkeypatch.setattr(reactor, "solve_ivp", lambda *args, **kwargs: Failed())
    with pytest.raises(RuntimeError, match="the solver gave up: step size too small"):
        reactor.simulate(GOOD)
