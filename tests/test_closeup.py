"""The closer look: what it sees, when it is taken, and when it is not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from headway.closeup import Closeup, _left_out, close_up
from headway.parameters import Categorical
from headway.policy import Policy
from headway.proposal import CLOSE, GREEDY
from headway.scoring import greedy_score
from headway.search.maximize import maximize
from headway.situation import assess, search_of
from headway.space import Space
from headway.surrogate import Surrogate
from headway.surrogate.gp import GP
from tests.cases import SPACES, Run, make_facts, points

QUIET = Surrogate(noise=0.0)
DEFAULT = Policy.default()
PLANE = Space.of([(0.0, 1.0)] * 2)
LOW = np.array([0.35, 0.62])  # where `deep` has its minimum


def deep(Z):
    """A quadratic over nine decades: far from its minimum it is 1e6, close to it 1e-3."""
    return 1e6 * (Z[:, 0] - LOW[0]) ** 2 + 10.0 * (Z[:, 1] - LOW[1]) ** 2


def zoomed(n=30, seed=0, **keywords):
    """Half the points anywhere, the others near the minimum, as a run has them."""
    rng = np.random.default_rng(seed)
    near = LOW + 10.0 ** -rng.uniform(1.0, 4.0, (n // 2, 1)) * rng.standard_normal((n // 2, 2))
    Z = np.concatenate([rng.random((n - n // 2, 2)), np.clip(near, 0.0, 1.0)])
    return make_facts(Z, keywords.pop("y", deep(Z)), **keywords)


def look(facts, space=PLANE, surrogate=QUIET, policy=DEFAULT):
    situation = assess(facts, space, surrogate, {})
    return situation, close_up(policy, facts, situation, surrogate)


def test_it_sees_what_the_model_of_all_points_cannot():
    facts = zoomed()
    situation, closeup = look(facts)
    assert closeup is not None
    fresh = LOW + 1e-3 * np.random.default_rng(3).standard_normal((50, 2))
    truth = deep(fresh)

    def error(model):
        return np.median(np.abs(model.warp.backward(model.gp.posterior_mean(fresh)) - truth))

    assert error(closeup.situation.objective) < 0.5 * error(situation.objective)
    found = maximize(
        greedy_score(closeup), closeup.search(search_of(situation)), np.random.default_rng(0)
    )
    assert closeup.is_new(found.z)
    assert deep(found.z[None])[0] < 0.3 * np.min(facts.y)


def test_the_left_out_densities_are_those_of_leaving_out():
    facts = zoomed(16)
    model = assess(facts, PLANE, QUIET, {}).objective
    gp = replace(model.gp, tau=0.0)
    rows = np.arange(len(gp.z))
    log_p = _left_out((replace(model, gp=gp), rows), facts.y, rows)
    for i in (0, 5, 15):
        others = rows != i
        kept = GP.given(gp.kernel, gp.F[others], gp.z[others], noise=gp.noise[others])
        # With the mean of all: leaving it at that is the formula's one liberty.
        alpha = kept.factor.solve((kept.z - gp.mean)[:, None])[:, 0]
        mu = gp.mean + gp.kernel(gp.F[i : i + 1], kept.F)[0] @ alpha
        variance = kept.predict(gp.F[i : i + 1])[1][0] ** 2 + gp.noise[i]
        expected = -0.5 * (np.log(2 * np.pi * variance) + (gp.z[i] - mu) ** 2 / variance)
        expected += model.warp.log_slope(facts.y[i : i + 1])[0]
        assert log_p[i] == pytest.approx(expected, rel=1e-3, abs=1e-3)


def test_the_search_stays_where_the_model_has_points():
    situation, closeup = look(zoomed())
    low, high = closeup.box
    assert np.all(low <= situation.centre) and np.all(situation.centre <= high)
    search = closeup.search(search_of(situation))
    np.testing.assert_array_equal(search.low, low)
    F = closeup.situation.objective.gp.F
    assert np.all(low - 1e-9 <= F) and np.all(high + 1e-9 >= F)
    assert closeup.term(situation.centre[None])[0][0] == 0.0
    assert closeup.term(F)[0].min() >= -2.0 - 1e-6  # r lies two standard deviations out


def test_without_one_the_search_is_everywhere():
    situation = assess(zoomed(), PLANE, QUIET, {})
    whole = Closeup(situation)
    search = search_of(situation)
    assert whole.search(search) is search
    assert not whole.is_new(situation.taken[0] + 1e-7)
    assert whole.is_new(np.array([0.123456, 0.98765]))


@pytest.mark.parametrize(
    ("facts", "surrogate", "policy"),
    [
        (zoomed(), QUIET, replace(DEFAULT, closer=False)),
        (zoomed(10), QUIET, DEFAULT),  # no more points than one closer look needs
        (zoomed(), Surrogate(noise=0.01), DEFAULT),
        (zoomed(variance=np.full(30, 0.01)), QUIET, DEFAULT),
        (zoomed(y=np.full(30, 2.0)), QUIET, DEFAULT),
    ],
    ids=["switched off", "few points", "noise", "told noise", "one value"],
)
def test_it_is_not_taken_where_it_would_see_nothing(facts, surrogate, policy):
    assert look(facts, surrogate=surrogate, policy=policy)[1] is None


@pytest.mark.parametrize("steep", [1e4, 1e8, 1e12])
def test_a_metric_of_any_steepness_can_be_looked_through(steep):
    """The values that noise=0 calls free of noise and are not make one axis as short as can be."""
    facts = zoomed()
    situation = assess(facts, PLANE, QUIET, {})
    aslant = np.diag([steep, 0.5]) @ np.array([[0.6, -0.8], [0.8, 0.6]])
    kernel = replace(situation.objective.gp.kernel, metric=aslant)
    gp = situation.objective.gp
    gp = GP.given(kernel, gp.F, gp.z, noise=gp.noise, tau=gp.tau)
    situation = replace(situation, objective=replace(situation.objective, gp=gp))
    closeup = close_up(DEFAULT, facts, situation, QUIET)
    assert closeup is not None
    low, high = closeup.box
    assert np.all(low < situation.centre) and np.all(situation.centre < high)
    assert closeup.term(facts.Z)[0].max() <= 0.0


def test_failed_trials_near_the_best_count_as_bad_ones():
    facts = zoomed()
    y = facts.y.copy()
    nearest = np.argsort(np.linalg.norm(facts.Z - LOW, axis=1))
    y[nearest[3:6]] = np.nan
    situation, closeup = look(zoomed(y=y))
    assert closeup is not None
    gp = closeup.situation.objective.gp
    failed = situation.taken[nearest[3:6]]
    at = [int(np.argmin(np.linalg.norm(gp.F - z, axis=1))) for z in failed]
    np.testing.assert_allclose(gp.F[at], failed)
    assert np.all(gp.z[at] >= np.max(gp.z) - 1e-12)


def test_pending_points_leave_nothing_to_gain_at_them():
    facts = zoomed()
    _, closeup = look(facts)
    best = maximize(
        greedy_score(closeup),
        closeup.search(search_of(closeup.situation)),
        np.random.default_rng(0),
    ).z
    _, with_pending = look(zoomed(pending=best[None]))
    assert with_pending is not None
    assert not with_pending.is_new(best)
    mu, sigma = with_pending.situation.objective.gp.predict(best[None])
    assert with_pending.situation.best <= mu[0] + 1e-9
    assert sigma[0] < closeup.situation.objective.gp.predict(best[None])[1][0] + 1e-12


def test_what_is_handed_on_is_the_state_of_the_model_of_all_points():
    situation, closeup = look(zoomed())
    assert closeup.situation.state == situation.state
    assert any("a closer look at" in note for note in closeup.situation.objective.notes)


@pytest.mark.parametrize("name", sorted(SPACES))
def test_every_space_can_be_looked_at(name):
    space = SPACES[name]
    Z = points(space, 60, seed=2)
    facts = make_facts(Z, 1e5 * np.sum((space.embed(Z) - 0.3) ** 2, axis=1) ** 3)
    situation, closeup = look(facts, space=space)
    if closeup is None:
        return
    assert np.any(space.continuous)
    found = maximize(
        greedy_score(closeup), closeup.search(search_of(situation)), np.random.default_rng(0)
    )
    np.testing.assert_array_equal(found.z, space.snap(found.z[None])[0])


def test_a_run_goes_on_where_the_digits_of_one_model_end():
    """Plain annealing stays at what is left of 1e6 in a model's noise floor."""
    ends = {}
    for closer in (True, False):
        run = Run(PLANE, 40, replace(DEFAULT, closer=closer), QUIET, design=3)
        decided = set()
        for _ in range(40):
            trial, z = run.ask()
            decided.add(run.last.why.decided)
            run.tell(trial, float(deep(z[None])[0]))
        ends[closer] = float(np.min(run.facts().y))
        assert (CLOSE in decided) == closer
        assert GREEDY in decided
    assert ends[True] < 1e-3 * ends[False]


def test_a_closer_look_stays_with_the_best_points_categories():
    """Its model knows one alloy; of another it would promise its own mean."""
    space = Space.of({"h": (10.0, 80.0), "a": Categorical(["steel", "aluminium"])})

    def mass(z):
        return (10.0 + 70.0 * z[0]) * (7.8 if z[1] == 0 else 2.7)

    for seed in (2, 6):
        run = Run(space, 40, DEFAULT, QUIET, seed=seed, design=3)
        for _ in range(40):
            trial, z = run.ask()
            looked = any("closer look" in note for note in run.last.why.notes)
            best = run.Z[int(np.argmin(run.y))] if looked else z
            assert z[1] == best[1]
            run.tell(trial, mass(z))
