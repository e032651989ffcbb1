"""Space-filling points: even, keyed, and never a copy of what is taken."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from scipy.stats import qmc

from headway.arrays import keyed_rng
from headway.errors import SpaceExhausted
from headway.parameters import Categorical, Integer
from headway.search.design import COPY, first_points, shifted_sobol, sobol, untaken
from headway.space import Space
from tests.cases import SPACES

NOTHING = np.empty((0, 2))


@pytest.mark.parametrize("make", [sobol, shifted_sobol])
@pytest.mark.parametrize(("count", "d"), [(1, 1), (2, 3), (33, 2), (64, 6), (1000, 20)])
def test_points_lie_in_the_half_open_cube(make, count, d):
    points = make(count, d, np.random.default_rng(0))
    assert points.shape == (count, d)
    assert np.all((points >= 0.0) & (points < 1.0))


@pytest.mark.parametrize("make", [sobol, shifted_sobol])
def test_points_are_more_even_than_random_ones(make):
    rng = np.random.default_rng(1)
    ours = [qmc.discrepancy(make(128, 4, rng)) for _ in range(10)]
    random = [qmc.discrepancy(rng.random((128, 4))) for _ in range(10)]
    assert np.mean(ours) < 0.25 * np.mean(random)


def test_more_points_begin_with_the_same_ones():
    few, many = sobol(16, 3, keyed_rng(5)), sobol(200, 3, keyed_rng(5))
    np.testing.assert_array_equal(few, many[:16])


def ask(space, count, *, seed=0, taken=None):
    taken = np.empty((0, space.d)) if taken is None else taken
    Z = []
    for start in range(count):
        Z.append(first_points(space, keyed_rng(seed, 0), taken, start=start))
        taken = np.vstack([taken, Z[-1]])
    return np.array(Z)


@pytest.mark.parametrize("name", ["continuous", "mixed", "conditional", "line", "wide"])
def test_a_design_is_keyed_by_its_seed_and_has_no_copies(name):
    space = SPACES[name]
    Z = ask(space, 20)
    np.testing.assert_array_equal(Z, ask(space, 20))
    assert not np.array_equal(Z, ask(space, 20, seed=1))
    np.testing.assert_array_equal(Z, space.snap(Z))
    distance = cdist(Z, Z, "chebyshev") + np.eye(20)
    assert distance.min() > COPY


def test_a_design_goes_on_evenly_past_its_first_sixty_four_points():
    Z = ask(SPACES["continuous"], 70)
    np.testing.assert_array_equal(Z, SPACES["continuous"].from_unit(sobol(70, 2, keyed_rng(0, 0))))


def test_a_taken_point_is_passed_over():
    space = SPACES["continuous"]
    Z = ask(space, 5)
    other = first_points(space, keyed_rng(0, 0), Z[:1], start=0)
    np.testing.assert_array_equal(other, Z[1])


@pytest.mark.parametrize("name", ["finite", "categorical"])
def test_a_finite_space_is_used_up_and_then_says_so(name):
    space = SPACES[name]
    Z = ask(space, space.size)
    assert len({tuple(z) for z in Z}) == space.size
    with pytest.raises(SpaceExhausted, match="every point of the space has been proposed"):
        first_points(space, keyed_rng(0, 0), Z, start=len(Z))


def test_categories_get_equal_shares_of_a_design():
    space = Space.of({"a": Categorical(["p", "q", "r", "s"]), "x": (0.0, 1.0)})
    codes = ask(space, 64)[:, 0].astype(int)
    np.testing.assert_array_equal(np.bincount(codes), [16, 16, 16, 16])


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1000), st.integers(1, 6), st.integers(1, 5), st.data())
def test_untaken_points_are_the_complement_in_a_small_space(seed, i, j, data):
    space = Space.of({"i": Integer(0, i), "c": Categorical(list(range(j)))})
    everything = space.enumerate(100)
    kept = np.array(data.draw(st.lists(st.booleans(), min_size=space.size, max_size=space.size)))
    if kept.all():
        with pytest.raises(SpaceExhausted):
            untaken(space, everything, np.random.default_rng(seed))
        return
    rest = untaken(space, everything[kept], np.random.default_rng(seed))
    np.testing.assert_array_equal(rest, everything[~kept])


def test_a_large_space_with_much_taken_still_has_points():
    space = Space.of({"i": Integer(1, 3000)})
    everything = space.enumerate(3000)
    taken = np.delete(everything, 1234, axis=0)
    np.testing.assert_array_equal(
        untaken(space, taken, np.random.default_rng(0)), everything[1234:1235]
    )
