"""The proposal: a pure function of facts, on every space, under every policy, in any trouble."""

from __future__ import annotations

import copy
import json
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist, pdist

from headway.budget import Clock
from headway.closeup import Closeup
from headway.direction.updates import DivergenceWarning, exact
from headway.direction.vmf import Direction
from headway.errors import SettingError, SpaceExhausted
from headway.parameters import Integer, Ordinal
from headway.policy import Policy
from headway.proposal import GREEDY, REOPENED, Settings
from headway.propose import propose
from headway.scoring import Locality, base_term, greedy_score, score_of
from headway.search.design import COPY
from headway.situation import assess
from headway.space import Space
from headway.surrogate import Surrogate, fit_model
from headway.surrogate.model import Data
from tests.cases import SPACES, Run, bowl, make_facts, points, value

BELIEF = Policy(local="belief", schedule="linear")
PRESETS = {
    "default": Policy.default(),
    "belief": BELIEF,
    "adaptive": Policy(schedule="adaptive"),
    "adaptive belief": replace(BELIEF, schedule="adaptive"),
    "paper": Policy.paper(),
    "paper poi": Policy.paper("poi", rule="projected"),
    "paper ucb": Policy.paper("ucb", anchor="best"),
    "paper mes": Policy.paper("mes", rho="late"),
    "sampled": Policy.paper(rule="sampled", rho="adaptive"),
    "ei": Policy.ei(),
    "poi": Policy.poi(),
    "ucb": Policy.ucb(),
    "mes": Policy.mes(),
    "greedy": Policy.greedy(),
}
NOTHING = ("finite", "categorical")  # spaces that may run out


def assert_point(z, space):
    """A point of the space in its one canonical form."""
    assert z.shape == (space.d,)
    np.testing.assert_array_equal(z, space.snap(z[None])[0])
    np.testing.assert_allclose(space.encode(space.decode(z)), z, atol=1e-12)


def assert_same(one, other):
    """Two proposals, bit for bit."""
    np.testing.assert_array_equal(one.z, other.z)
    assert one.why == other.why
    assert json.dumps(one.state) == json.dumps(other.state)


def started(name="continuous", policy=None, *, n=10, budget=30, **kind):
    run = Run(SPACES[name], budget, policy or Policy(), **kind)
    run.steps(n, value)
    return run


def valley(z):
    """Steep enough to be seen through noise; its floor is at 0.3, 0.35, ..."""
    return float(4.0 * np.sum((z - 0.3 - 0.05 * np.arange(len(z))) ** 2))


# A pure function


@pytest.mark.parametrize("policy", PRESETS)
def test_the_same_inputs_give_the_same_proposal(policy):
    run = started("mixed", PRESETS[policy])
    again = copy.deepcopy(run)
    np.random.seed(1)  # nobody's business
    run.ask()
    np.random.seed(2)
    again.ask()
    assert_same(run.last, again.last)


def test_what_is_handed_in_is_not_changed():
    run = started()
    facts, state = run.facts(), json.dumps(run.state)
    before = copy.deepcopy(facts)
    run.ask()
    assert json.dumps(facts.state) == state
    for name in ("Z", "y", "failed", "constraints", "Zp"):
        np.testing.assert_array_equal(getattr(facts, name), getattr(before, name))


def test_a_program_that_has_numpy_raise_gets_its_points_too():
    run = Run(SPACES["mixed"], 12, PRESETS["mes"])
    with np.errstate(all="raise"):
        Z = run.steps(12, value)
    np.testing.assert_array_equal(Z, Run(SPACES["mixed"], 12, PRESETS["mes"]).steps(12, value))


def test_the_seed_and_the_trial_decide_on_the_random_numbers():
    run = started(policy=BELIEF)
    settings_ = Settings(run.policy, run.surrogate, 0, 4)
    clock = Clock(0.3, 0.1)

    def z(settings_, trial_id):
        return propose(
            run.facts(), run.space, settings_, clock=clock, trial_id=trial_id, cache={}
        ).z

    assert not np.array_equal(z(settings_, 10), z(settings_, 11))
    assert not np.array_equal(z(settings_, 10), z(replace(settings_, seed=1), 10))
    np.testing.assert_array_equal(z(settings_, 10), z(settings_, 10))


@pytest.mark.parametrize("name", ["continuous", "conditional"])
@pytest.mark.parametrize("policy", ["default", "paper", "mes"])
def test_a_deleted_cache_changes_no_proposal(name, policy):
    kept, deleted = (
        Run(SPACES[name], 30, PRESETS[policy], cached=cached) for cached in (True, False)
    )
    for _ in range(12):
        assert_same(*(run.steps(1, value) is not None and run.last for run in (kept, deleted)))


def test_nor_past_a_hundred_points_with_some_pending():
    runs = [Run(SPACES["continuous"], 130, cached=cached) for cached in (True, False)]
    Z = points(SPACES["continuous"], 97)
    for run in runs:
        run.Z, run.y, run.asked = list(Z), bowl(Z).tolist(), 97
    for step in range(12):  # fits at 97 ... 100 and 105, factors extended between
        trials = [run.ask() for run in runs]
        assert_same(runs[0].last, runs[1].last)
        for run, (trial, z) in zip(runs, trials, strict=True):
            if step % 4 != 3:  # every fourth stays in flight
                run.tell(trial, value(z))


def test_nor_past_five_hundred():
    Z = points(SPACES["continuous"], 508)
    plain = Surrogate(compress=False, noise=0.0)
    space = SPACES["continuous"]
    few = fit_model(plain, Data(space.embed(Z[:40]), space.groups, bowl(Z[:40]), None)).state
    runs = [Run(space, 600, surrogate=plain, cached=cached) for cached in (True, False)]
    for run in runs:
        run.Z, run.y, run.asked = list(Z), bowl(Z).tolist(), 508
        run.state = {"fits": [{**few, "n": 505}]}
    for _ in range(3):
        for run in runs:
            run.steps(1, value)
        assert_same(runs[0].last, runs[1].last)
    assert run.state["fits"][0]["n"] == 505  # and so no fit in between


# The composition


@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("acquisition", ["ei", "poi", "ucb", "mes"])
def test_with_no_weight_and_no_finish_the_paper_is_its_acquisition_bit_for_bit(name, acquisition):
    def never(progress):
        return 0.0

    plain = getattr(Policy, acquisition)()
    runs = [Run(SPACES[name], 12, p) for p in (Policy.paper(acquisition, rho=never), plain)]
    Z = [run.steps(8, value) for run in runs]
    np.testing.assert_array_equal(Z[0], Z[1])


@pytest.mark.parametrize("acquisition", ["ei", "poi", "ucb"])
@pytest.mark.parametrize("rule", ["exact", "projected", "sampled"])
def test_with_weight_the_direction_decides_something(acquisition, rule):
    plain = getattr(Policy, acquisition)()
    policy = Policy.paper(acquisition, rule=rule, rho=lambda p: 0.9)
    runs = [Run(SPACES["continuous"], 20, p) for p in (policy, plain)]
    Z = [run.steps(10, value) for run in runs]
    assert not np.array_equal(Z[0], Z[1])


@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("policy", PRESETS)
def test_every_preset_runs_on_every_space(name, policy):
    run = Run(SPACES[name], 11, PRESETS[policy])
    for _ in range(11):
        trial, z = run.ask()
        assert_point(z, run.space)
        if run.Z:
            assert cdist(z[None], np.array(run.Z), "chebyshev").min() > COPY
        assert str(run.last.why)
        run.tell(trial, value(z))


def test_a_schedule_from_outside():
    seen = []

    def steps(progress):
        seen.append(progress)
        return 0.25 if progress < 0.5 else 0.75

    run = Run(SPACES["continuous"], 20, Policy.paper(rho=steps))
    run.steps(7, value)
    assert seen == [0.2, 0.25, 0.3]  # of the whole budget, one for each proposal by the model
    assert run.policy.weights(0.3) == (0.75, 0.25) and run.policy.weights(0.6) == (0.25, 0.75)


def test_a_schedule_of_the_annealed_term_is_of_the_budget_left_by_the_design():
    seen = []

    def steps(tau):
        seen.append(tau)
        return tau

    Run(SPACES["continuous"], 20, Policy(schedule=steps, finish=0.0)).steps(20, value)
    np.testing.assert_allclose(seen, np.arange(16) / 16)


def test_an_update_rule_from_outside():
    seen = []

    def halfway(past, belief):
        seen.append((past, belief))
        turned = past.theta + belief.theta
        return Direction(turned / np.linalg.norm(turned), 4.0)

    run = Run(SPACES["continuous"], 20, Policy.paper(rule=halfway))
    run.steps(4, value)
    first = run.Z[-1] - run.Z[-2]
    run.steps(1, value)
    ((past, belief),) = seen
    np.testing.assert_allclose(past.theta, first / np.linalg.norm(first))
    assert past.kappa == 1.0 and belief.kappa > 0.0
    assert run.last.why.kappa == 4.0 and 0.0 <= run.last.why.angle <= 180.0
    handed_on = run.state["direction"]
    run.steps(1, value)
    np.testing.assert_array_equal(seen[1][0].theta, handed_on["theta"])


def test_a_rule_without_an_answer_leaves_the_acquisition():
    silent = started(policy=Policy.paper(rule=lambda past, belief: None))
    np.testing.assert_array_equal(silent.Z, started(policy=Policy.ei()).Z)
    assert "no direction: the local term is neutral" in silent.last.why.notes


def test_a_fixed_direction_is_followed():
    """A rule that knows the way: with nearly all the weight, proposals lie that way."""
    way = np.array([0.6, 0.8])
    policy = Policy.paper(rule=lambda past, belief: Direction(way, 50.0), rho=lambda p: 0.98)
    run = Run(SPACES["continuous"], 30, policy)
    run.Z = list(np.array([[0.8, 0.9], [0.2, 0.9], [0.9, 0.2], [0.3, 0.2]]))
    run.y = bowl(np.array(run.Z)).tolist()
    _, z = run.ask()
    step = z - run.Z[-1]
    assert step @ way / np.linalg.norm(step) > 0.95


# The initial design


def test_the_design_depends_on_the_seed_alone():
    runs = [Run(SPACES["mixed"], 20, p, design=6) for p in (Policy(), Policy.ei())]
    first = runs[0].steps(6, value)
    second = runs[1].steps(6, lambda z: -value(z))
    np.testing.assert_array_equal(first, second)
    assert runs[0].last.why.decided == "initial design"
    other = Run(SPACES["mixed"], 20, seed=1, design=6).steps(6, value)
    assert not np.array_equal(first, other)


def test_the_design_goes_on_until_something_has_a_value():
    run = Run(SPACES["continuous"], 20, design=3)
    run.steps(6, lambda z: float("nan"))
    assert run.last.why.decided == "initial design"
    assert len({tuple(z) for z in run.Z}) == 6
    run.steps(2, value)
    assert run.last.why.decided != "initial design"


def test_pending_points_count_as_design_and_are_not_repeated():
    run = Run(SPACES["continuous"], 20, design=4)
    Z = np.array([run.ask()[1] for _ in range(6)])
    assert pdist(Z, "chebyshev").min() > 0.01
    assert run.last.why.decided == "initial design"  # no value to model


# Finite spaces


@pytest.mark.parametrize("noise", ["auto", 0.0])
@pytest.mark.parametrize("name", NOTHING)
@pytest.mark.parametrize("policy", ["default", "belief", "paper", "mes", "greedy", "poi"])
def test_a_finite_space_is_asked_point_by_point_and_then_is_exhausted(name, policy, noise):
    space = SPACES[name]
    run = Run(space, 50, PRESETS[policy], Surrogate(noise=noise))
    Z = run.steps(space.size, value)
    assert len({tuple(z) for z in Z}) == space.size
    with pytest.raises(SpaceExhausted, match="every point of the space has been proposed"):
        run.ask()


def test_so_are_its_pending_points():
    space = SPACES["finite"]
    run = Run(space, 50)
    run.steps(6, value)
    for _ in range(space.size - 6):
        run.ask()
    assert (
        len({tuple(z) for z, _ in run.pending.values()} | {tuple(z) for z in run.Z}) == space.size
    )
    with pytest.raises(SpaceExhausted, match="every point"):
        run.ask()


@pytest.mark.parametrize("seed", range(3))
def test_a_rugged_function_that_looks_noisy_is_not_asked_twice(seed):
    space = Space.of({"i": Integer(0, 9), "j": Integer(0, 9)})
    table = 0.3 * np.random.default_rng(seed).standard_normal((10, 10))
    looked_noisy = False
    run = Run(space, 100, seed=seed)
    for _ in range(80):
        trial, z = run.ask()
        i, j = np.rint(9 * z).astype(int)
        run.tell(trial, valley(z) + table[i, j])
        looked_noisy |= any(fit["noisy"] for fit in run.state.get("fits", ()))
    assert len({tuple(z) for z in run.Z}) == 80
    assert looked_noisy or seed  # so that the question is put at all


@pytest.mark.parametrize("space", [{"o": Ordinal([7])}, {"i": Integer(0, 2)}])
def test_with_noise_a_design_larger_than_its_space_goes_round_again(space):
    space = Space.of(space)
    run = Run(space, 12, surrogate=Surrogate(noise=0.1), design=3 * space.size)
    for turn in range(1, 4):
        run.steps(space.size, value)
        assert np.all(np.unique(run.Z, axis=0, return_counts=True)[1] == turn)
    run.steps(3, value)


def test_with_noise_a_finite_space_may_be_asked_again():
    space, rng = SPACES["finite"], np.random.default_rng(0)
    run = Run(space, 60, Policy(), Surrogate(noise=0.04))
    Z = run.steps(40, lambda z: valley(z) + 0.2 * rng.standard_normal())
    assert len({tuple(z) for z in Z}) < 40
    # What is asked again is what is good.
    best = min(space.enumerate(100), key=valley)
    assert np.mean(np.max(np.abs(Z[-10:] - best), axis=1) <= 0.2) > 0.5


# Batches


@pytest.mark.parametrize("name", ["continuous", "mixed", "conditional", "wide"])
@pytest.mark.parametrize("policy", PRESETS)
def test_asks_of_a_batch_are_no_near_copies(name, policy):
    """Spread by what is pending; PoI alone may stay within a hundredth of a length-scale."""
    run = Run(SPACES[name], 40, PRESETS[policy])
    run.steps(8, value)
    Z = np.array([run.ask()[1] for _ in range(4)])
    told = cdist(Z, np.array(run.Z), "chebyshev").min()
    least = 1e-6 if "poi" in policy else 1e-3
    assert pdist(Z, "chebyshev").min() > least
    assert told > 1e-6


def test_a_batch_of_asks_waits_for_no_tell_and_a_late_tell_is_taken():
    run = started()
    asked = [run.ask() for _ in range(3)]
    for trial, z in reversed(asked):
        run.tell(trial, value(z))
    _, z = run.ask()
    assert_point(z, run.space)


def test_a_pending_point_that_should_improve_is_what_must_be_improved_on():
    run = Run(SPACES["continuous"], 30)
    run.steps(5, valley)
    situation = assess(run.facts(), run.space, run.surrogate, {})
    looked_at = points(run.space, 2000)
    good = looked_at[np.argmin(situation.objective.gp.posterior_mean(run.space.embed(looked_at)))]
    pending = replace(run.facts(), Zp=good[None])
    believed = assess(pending, run.space, run.surrogate, {})
    mean = situation.objective.gp.posterior_mean(run.space.embed(good[None]))[0]
    assert mean < situation.best
    assert believed.best == pytest.approx(mean)
    np.testing.assert_array_equal(believed.centre, situation.centre)


# The finish


def test_the_last_tenth_minimises_the_posterior_mean():
    run = Run(SPACES["wide"], 20, Policy(reopen=-1e300), design=5)
    run.steps(18, value)
    assert run.last.why.decided == "ei + box" and not run.last.state["greedy"]
    facts = run.facts()
    trial, z = run.ask()
    assert run.last.why.decided == GREEDY and run.last.state["greedy"]
    model = assess(facts, run.space, run.surrogate, {}).objective
    others = points(run.space, 2000, seed=5)
    assert model.gp.posterior_mean(z[None])[0] <= model.gp.posterior_mean(others).min()
    # With one such in flight the next is not greedy.
    run.ask()
    assert run.last.why.decided == "ei + box"
    run.tell(trial, value(z))
    run.ask()
    assert run.last.why.decided == GREEDY


def test_a_greedy_point_that_is_told_already_teaches_nothing():
    """On a bowl seen exactly, the lowest mean is at the best point: the local score goes on."""
    run = Run(SPACES["line"], 40)
    Z = run.steps(40, value)
    assert pdist(Z, "chebyshev").min() > COPY
    greedy = run.last.why.decided == GREEDY
    gap = np.abs(Z[-1] - Z[:-1]).min()
    assert gap >= 1e-9 or not greedy


def test_a_greedy_step_hands_the_direction_on():
    run = Run(SPACES["wide"], 20, Policy(local="direction", finish=0.3), design=5)
    run.steps(14, value)
    direction = run.state["direction"]
    assert direction
    run.steps(1, value)
    assert run.last.why.decided == GREEDY
    assert run.state["direction"] == direction


def test_a_greedy_finish_heeds_the_constraints():
    run = constrained(budget=20, n=18)
    _, z = run.ask()
    assert run.last.why.decided == GREEDY
    assert circle(z) < 0.1


# Keeping near


def test_a_box_holds_the_numbers():
    policy = Policy(local="box", size=(0.1, 0.1), finish=0.0, reopen=-1e300)
    run = Run(SPACES["continuous"], 40, policy)
    run.steps(6, value)
    for _ in range(6):
        situation = assess(run.facts(), run.space, run.surrogate, {})
        scales = np.minimum(situation.lengthscales, 1.0)
        half = 0.05 * scales / np.exp(np.mean(np.log(scales)))
        trial, z = run.ask()
        assert np.all(np.abs(z - situation.centre) <= half + 1e-12)
        run.tell(trial, value(z))


@pytest.mark.parametrize("policy", [Policy(finish=0.0), replace(BELIEF, finish=0.0)])
def test_the_search_narrows_as_the_budget_is_used(policy):
    distances = []
    for seed in range(4):
        run = Run(SPACES["wide"], 40, policy, seed=seed, design=5)
        for _ in range(40):
            centre = run.Z[int(np.argmin(run.y))] if run.y else np.zeros(12)
            trial, z = run.ask()
            distances.append(np.linalg.norm(z - centre))
            run.tell(trial, value(z))
    steps = np.array(distances).reshape(4, 40)
    assert np.median(steps[:, 30:]) < 0.5 * np.median(steps[:, 5:12])


def test_a_budget_that_is_raised_opens_the_region_again():
    run = Run(SPACES["wide"], 24, Policy(finish=0.0), design=5)
    run.steps(23, value)
    shares = []
    for budget in (24, 200):
        later = copy.deepcopy(run)
        later.budget = budget
        later.ask()
        shares.append(later.last.why.distance)
    assert shares[1] > 1.5 * shares[0]


def test_a_region_that_holds_nothing_is_left_at_every_other_step():
    run = Run(SPACES["continuous"], 30, Policy(finish=0.0, reopen=1e3))  # never enough for it
    run.steps(4, value)
    decided = [run.steps(1, value) is not None and run.last.why.decided for _ in range(6)]
    assert decided == [REOPENED, "ei + box"] * 3
    quiet = Run(SPACES["continuous"], 30, Policy(finish=0.0, reopen=-1e300))
    quiet.steps(8, value)
    assert quiet.last.why.decided == "ei + box"


def test_where_all_draws_agree_the_adaptive_schedule_is_the_linear_one():
    policy = Policy(local="belief", schedule="adaptive")
    assert policy.annealed_size(0.5, 1.0) == BELIEF.annealed_size(0.5)
    assert policy.annealed_size(0.5, 0.0) == BELIEF.annealed_size(0.0)


def test_draws_in_another_category_are_not_near():
    """Codes are names: the distance between two of them is no number of length-scales."""
    from headway.direction.belief import Belief
    from headway.scoring import locality

    run = started("mixed", Policy(local="belief", schedule="adaptive", finish=0.0))
    situation = assess(run.facts(), run.space, run.surrogate, {})
    smooth = replace(situation.objective, lengthscales=np.array([0.4, 0.4, 9.0]))
    situation = replace(situation, objective=smooth)
    away = situation.centre.copy()
    away[2] = (away[2] + 1) % 3
    clock = Clock(0.6, 0.2)
    spread = locality(run.policy, situation, Belief(np.tile(away, (9, 1)), np.zeros(9)), clock)
    here = np.tile(situation.centre, (9, 1))
    sure = locality(run.policy, situation, Belief(here, np.zeros(9)), clock)
    np.testing.assert_array_less(
        np.diagonal(spread.term.precision)[0], np.diagonal(sure.term.precision)[0]
    )


# Constraints


def circle(z):
    """At most 0 in a disk of radius 0.15 about (0.8, 0.7)."""
    return float(np.linalg.norm(z[:2] - [0.8, 0.7]) - 0.15)


def constrained(policy=None, *, budget=30, n=0, scale=1.0, seed=0, function=value):
    run = Run(SPACES["continuous"], budget, policy or Policy(), seed=seed)
    for _ in range(n):
        trial, z = run.ask()
        run.tell(trial, function(z), constraints=(scale * circle(z), -1.0))
    return run


@pytest.mark.parametrize("policy", ["default", "belief", "paper", "ei", "mes", "ucb", "greedy"])
def test_feasibility_is_sought_first_and_the_best_feasible_point_later(policy):
    run = constrained(PRESETS[policy])
    before, after = [], []
    for _ in range(24):
        known = any(max(c) <= 0 for c in run.constraints)
        trial, z = run.ask()
        if run.last.why.decided != "initial design":
            assert (run.last.why.log_ei is None) == (not known)
            (after if known else before).append(z)
        run.tell(trial, value(z), constraints=(circle(z), -1.0))
    feasible = [y for y, c in zip(run.y, run.constraints, strict=True) if max(c) <= 0]
    assert len(before) <= 8, "the disk is not found"
    disk = np.array([0.8, 0.7]) + 0.15 * np.stack(
        [f(np.linspace(0, 2 * np.pi, 200)) for f in (np.cos, np.sin)], axis=1
    )
    assert min(feasible) < bowl(disk).min() + 0.05
    assert np.mean([circle(z) <= 0.05 for z in after]) > 0.5


def test_before_a_feasible_point_the_objective_does_not_count():
    run = constrained(Policy.ei(), n=5)
    assert all(max(c) > 0 for c in run.constraints)
    other = copy.deepcopy(run)
    other.y = [-100.0 * y for y in run.y]
    situation = assess(run.facts(), run.space, Surrogate(), {})
    run.ask()
    other.ask()
    # Only where it looks may differ; what it finds is as likely to be feasible.
    score = greedy_score(Closeup(situation))
    ours, theirs = score.value(np.stack([run.last.z, other.last.z]))
    assert ours == pytest.approx(theirs, abs=0.1)


def test_the_centre_is_the_best_feasible_point_or_the_least_infeasible_one():
    Z = points(SPACES["continuous"], 4)
    c = np.array([[1.0, 5.0], [0.5, 4.0], [0.1, 900.0], [2.0, 0.0]])
    situation = assess(
        make_facts(Z, np.arange(4.0), constraints=c.copy()), SPACES["continuous"], Surrogate(), {}
    )
    # In units of each one's range: 0.53, 0.27, 1.05, 1.05.
    np.testing.assert_array_equal(situation.centre, Z[1])
    assert not situation.feasible
    c[2:] = -1.0
    situation = assess(
        make_facts(Z, np.arange(4.0), constraints=c), SPACES["continuous"], Surrogate(), {}
    )
    np.testing.assert_array_equal(situation.centre, Z[2])
    assert situation.feasible and situation.best == situation.objective.gp.z[2]


@pytest.mark.parametrize("scale", [0.0, 1e-300, 1e300])
def test_constraints_of_any_scale(scale):
    run = constrained(n=12, scale=scale)
    assert np.all(np.isfinite(run.last.z))


def test_the_noise_of_the_objective_does_not_blur_a_constraint():
    """A variance of 0.01 is nothing beside the one and everything beside the other."""
    run = Run(SPACES["continuous"], 30, surrogate=Surrogate(noise=0.01))
    for _ in range(12):
        trial, z = run.ask()
        run.tell(trial, 10.0 * value(z), constraints=(1e-4 * circle(z),))
    situation = assess(run.facts(), run.space, run.surrogate, {})
    Z = points(run.space, 200)
    model = situation.constraints[0]
    mean = model.warp.backward(model.gp.predict(Z)[0])
    assert np.ptp(mean) > 0.5e-4 * np.ptp([circle(z) for z in Z])


def test_failed_trials_have_no_constraints():
    run = Run(SPACES["continuous"], 30)
    for i in range(14):
        trial, z = run.ask()
        if i % 3 == 0:
            run.tell(trial, float("nan"), constraints=(float("nan"),))
        else:
            run.tell(trial, value(z), constraints=(circle(z),))
    assert_point(run.last.z, run.space)
    assert len(run.state["fits"]) == 2


def test_a_feasible_pending_point_is_believed_and_an_infeasible_one_is_not():
    run = constrained(Policy.ei(), n=14, function=valley)
    assert any(max(c) <= 0 for c in run.constraints)
    told = assess(run.facts(), run.space, run.surrogate, {})
    looked_at = points(run.space, 4000)
    mean = told.objective.gp.posterior_mean(looked_at)
    inside = np.array([circle(z) < -0.02 for z in looked_at])
    seen = []
    for rows, believed in ((np.flatnonzero(inside), True), (np.flatnonzero(~inside), False)):
        lowest = looked_at[rows[np.argmin(mean[rows])]]
        pending = assess(replace(run.facts(), Zp=lowest[None]), run.space, run.surrogate, {})
        if np.min(mean[rows]) < told.best:
            seen.append(believed)
            assert (pending.best < told.best) == believed
    assert False in seen


# Trouble


def test_failures_are_avoided():
    """The left third fails: it is seen as the worst and left alone."""
    run = Run(SPACES["continuous"], 40)
    Z = run.steps(30, lambda z: float("nan") if z[0] < 0.35 else value(z))
    assert np.mean(Z[:10, 0] < 0.35) > 0.0
    assert np.mean(Z[15:, 0] < 0.3) < 0.25


@pytest.mark.parametrize("policy", PRESETS)
@pytest.mark.parametrize("name", ["continuous", "conditional"])
def test_values_that_are_all_equal(policy, name):
    run = Run(SPACES[name], 12, PRESETS[policy])
    Z = run.steps(10, lambda z: 0.1)
    assert len({tuple(z) for z in Z}) == 10


@pytest.mark.parametrize("policy", ["default", "paper", "mes", "greedy", "ucb"])
@pytest.mark.parametrize("scale", [1e300, -1e300, 1e-300, 1e150, 1e-160])
def test_values_of_any_scale(policy, scale):
    run = Run(SPACES["continuous"], 16, PRESETS[policy])
    run.steps(13, lambda z: scale * value(z))
    why = run.last.why
    assert np.isfinite(why.mean) and np.isfinite(why.sd) and why.sd >= 0
    assert abs(why.mean) < 10 * abs(scale)


@pytest.mark.parametrize("penalty", [np.finfo(float).max, -np.finfo(float).max])
def test_the_largest_float_as_a_penalty(penalty):
    run = Run(SPACES["continuous"], 16)
    run.steps(13, lambda z: penalty if z[0] < 0.5 else value(z))
    both = Run(SPACES["continuous"], 16)
    both.steps(13, lambda z: penalty if z[0] < 0.5 else -penalty)
    for last in (run.last, both.last):
        assert_point(last.z, SPACES["continuous"])


def test_values_below_the_smallest_normal_number_count_as_equal():
    run = Run(SPACES["continuous"], 16)
    run.steps(13, lambda z: 1e-310 * value(z))
    assert_point(run.last.z, run.space)


@pytest.mark.parametrize("scale", [2.0**900, 2.0**-900])
def test_the_scale_of_the_values_changes_no_proposal(scale):
    """By a power of two, so that not a digit differs."""
    plain = Run(SPACES["continuous"], 16).steps(12, value)
    scaled = Run(SPACES["continuous"], 16).steps(12, lambda z: scale * value(z))
    np.testing.assert_allclose(scaled, plain, atol=1e-6)


@pytest.mark.parametrize("policy", PRESETS)
@pytest.mark.parametrize("name", ["continuous", "line", "categorical", "conditional"])
def test_one_point_is_enough(policy, name):
    run = Run(SPACES[name], 5, PRESETS[policy], design=1)
    run.steps(3, value)
    assert run.last.why.decided != "initial design"


def test_points_told_twice():
    run = started()
    run.Z += run.Z[:6]
    run.y += run.y[:6]
    run.steps(3, value)
    run.Z += run.Z[:3]
    run.y += [y + 0.1 for y in run.y[:3]]
    run.steps(3, value)
    assert_point(run.last.z, run.space)


@pytest.mark.parametrize("surrogate", [Surrogate(), Surrogate(noise=0.09), Surrogate.paper()])
def test_noisy_values(surrogate):
    rng = np.random.default_rng(0)
    run = Run(SPACES["continuous"], 40, Policy(), surrogate)
    Z = run.steps(40, lambda z: valley(z) + 0.3 * rng.standard_normal())
    assert np.mean([valley(z) for z in Z[30:]]) < 0.2


def test_told_variances():
    rng = np.random.default_rng(0)
    run = Run(SPACES["continuous"], 40)
    for _ in range(20):
        trial, z = run.ask()
        run.tell(trial, value(z) + 0.1 * rng.standard_normal(), variance=0.01)
    situation = assess(run.facts(), run.space, run.surrogate, {})
    assert situation.repeats
    mean = situation.objective.gp.posterior_mean(run.space.embed(np.array(run.Z)))
    np.testing.assert_array_equal(situation.centre, run.Z[int(np.argmin(mean))])
    assert situation.best == pytest.approx(mean.min())


def test_a_huge_value_past_a_hundred_points_is_survived():
    """Between two fits the warp stays; a solver that explodes must not blind the model."""
    run = Run(SPACES["continuous"], 160, Policy(schedule="linear"))
    Z = points(run.space, 101)
    run.Z, run.y, run.asked = list(Z), bowl(Z).tolist(), 101
    run.steps(1, value)
    run.steps(1, lambda z: 1e200)
    Z = run.steps(3, value)
    assert np.max(bowl(Z)) < np.quantile(bowl(points(run.space, 1000)), 0.3)


def test_printed_past_its_limit_warns_and_does_not_crash():
    run = Run(SPACES["wide"], 40, Policy.paper(rule="printed"), design=5)
    run.steps(5, value)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for kappa in (20.0, 1e10, 1e75):
            theta = np.eye(12)[0].tolist()
            run.state["direction"] = {"theta": theta, "kappa": kappa, "n": len(run.Z) - 1}
            run.steps(2, value)
            assert np.all(np.isfinite(run.last.z)) and run.last.why.kappa >= kappa
    assert {w.category for w in caught} == {DivergenceWarning}


def test_the_other_rules_stay_where_printed_leaves():
    run = Run(SPACES["wide"], 60, Policy.paper(rule="projected"), design=5)
    run.steps(12, value)
    assert run.state["direction"]["kappa"] < 100.0


@pytest.mark.parametrize("name", ["exact", "sampled"])
def test_on_categories_alone_there_is_no_direction(name):
    run = Run(SPACES["categorical"], 12, Policy.paper(rule=name))
    run.steps(7, value)
    assert "no direction: the local term is neutral" in run.last.why.notes
    plain = Run(SPACES["categorical"], 12, Policy.ei())
    np.testing.assert_array_equal(run.Z, [*plain.steps(7, value)])


def test_a_fit_that_fails_is_said_in_why(monkeypatch, caplog):
    import headway.surrogate.gp as gp_module
    from headway.surrogate.factor import NotPositiveDefinite

    run = started(n=12)
    real, calls = gp_module.factorise, []

    def factorise(K, scale):
        calls.append(len(K))
        if len(calls) == 1:
            raise NotPositiveDefinite("kernel matrix of 12 points, outputscale 1")
        return real(K, scale)

    run.cache = {}
    monkeypatch.setattr(gp_module, "factorise", factorise)
    run.steps(1, value)
    assert any(note.startswith("fit failed") for note in run.last.why.notes)
    assert "fit failed" in str(run.last.why) and "the fit failed" in caplog.text
    run.steps(1, value)
    assert run.last.why.notes == ()


# Why


def test_why_says_what_was_expected():
    run = started("wide", BELIEF, n=20, design=5)
    facts = run.facts()
    _, z = run.ask()
    why = run.last.why
    situation = assess(facts, run.space, run.surrogate, {})
    F = run.space.embed(z[None])
    mu, _ = situation.objective.gp.predict(F)
    assert why.mean == pytest.approx(float(situation.objective.warp.backward(mu)[0]))
    assert why.local <= 0.0 and np.isfinite(why.log_ei) and why.sd > 0
    scales = situation.objective.gp.kernel.lengthscales
    assert why.distance == pytest.approx(
        np.linalg.norm((F[0] - run.space.embed(situation.centre[None])[0]) / scales)
    )
    assert why.kappa is None and why.angle is None


def test_the_angle_is_off_the_direction_that_is_handed_on():
    run = started("wide", Policy.paper(), n=10, design=5)
    last = run.Z[-1]
    _, z = run.ask()
    theta = np.array(run.last.state["direction"]["theta"])
    cosine = (z - last) @ theta / np.linalg.norm(z - last)
    assert run.last.why.angle == pytest.approx(np.degrees(np.arccos(cosine)))
    assert run.last.why.kappa == run.last.state["direction"]["kappa"]


def test_a_batch_shares_its_direction():
    run = started("wide", Policy.paper(), n=10, design=5)
    run.ask()
    first = run.last.state["direction"]
    run.ask()
    assert run.last.state["direction"] == first
    past = Direction(np.array(first["theta"]), first["kappa"])
    assert exact(past, past).kappa > 0


# Anything at all


@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from(sorted(SPACES)),
    policy=st.sampled_from(sorted(PRESETS)),
    n=st.integers(1, 14),
    pending=st.integers(0, 3),
    seed=st.integers(0, 10**6),
    scale=st.sampled_from([1.0, 1e-12, 1e12]),
    failing=st.floats(0.0, 0.9),
    rounded=st.booleans(),
    k=st.integers(0, 2),
    progress=st.floats(0.0, 1.0),
)
def test_any_history_has_a_next_point(
    name, policy, n, pending, seed, scale, failing, rounded, k, progress
):
    space, rng = SPACES[name], np.random.default_rng(seed)
    Z = points(space, n + pending, seed=seed)
    y = scale * (bowl(Z[:n]) + 0.1 * rng.standard_normal(n))
    y = np.where(rng.random(n) < failing, np.nan, np.round(y / scale, 1) * scale if rounded else y)
    constraints = np.where(np.isnan(y)[:, None], np.nan, scale * rng.standard_normal((n, k)))
    facts = make_facts(Z[:n], y, constraints=constraints, pending=Z[n:])
    taken = {tuple(z) for z in Z}
    if space.size is not None and len(taken) >= space.size:
        return
    proposal = propose(
        facts,
        space,
        Settings(PRESETS[policy], Surrogate(noise=0.0), seed, 1),
        clock=Clock(progress, min(progress, 0.1)),
        trial_id=n + pending,
        cache={},
    )
    assert_point(proposal.z, space)
    assert tuple(proposal.z) not in taken
    json.dumps(proposal.state, allow_nan=False)
    assert str(proposal.why)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(-1e308, 1e308), min_size=1, max_size=9), st.integers(0, 99))
def test_any_finite_values_have_a_next_point(values, seed):
    space = Space.of([(0.0, 1.0)] * 2)
    facts = make_facts(points(space, len(values), seed=seed), np.array(values))
    proposal = propose(
        facts,
        space,
        Settings(Policy(), Surrogate(), seed, 1),
        clock=Clock(0.5, 0.1),
        trial_id=len(values),
        cache={},
    )
    assert_point(proposal.z, space)


def pessimist(mu, sigma, *, best):
    """An acquisition from outside the package: the bound that holds in most cases, to be low."""
    return best - mu - sigma, -np.ones_like(mu), -np.ones_like(mu)


@pytest.mark.parametrize("policy", [Policy(pessimist), Policy.paper(pessimist)])
def test_an_acquisition_from_outside_the_package(policy):
    calm = replace(policy, finish=0.0, reopen=-1e300)
    run = Run(SPACES["continuous"], 12, calm, Surrogate(noise=0.0))
    run.steps(9, value)
    assert run.last.why.decided.startswith("pessimist + ")
    situation = assess(run.facts(), run.space, run.surrogate, {})
    mu, sigma = situation.objective.gp.predict(run.space.embed(points(run.space, 5)))
    expected = pessimist(mu, sigma, best=situation.best)[0]
    score = score_of(situation, base_term(policy, situation, None), Locality())
    np.testing.assert_allclose(score.value(points(run.space, 5)), expected)
    data = json.loads(json.dumps(policy.to_json()))
    with pytest.raises(SettingError, match="acquisition was the callable 'pessimist'"):
        Policy.from_json(data)
    assert Policy.from_json(data, {"pessimist": pessimist}) == policy
