"""The argmax: against brute force, away from what is taken, inside its region, and repeatable."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from headway.errors import SpaceExhausted
from headway.parameters import Categorical, Integer, Ordinal, Real
from headway.search.design import COPY
from headway.search.maximize import Search, candidates, maximize
from headway.space import Space
from tests.cases import SPACES, points


class Height:
    """A score from a function of rows; gradients by differences, as nothing here needs digits."""

    def __init__(self, function):
        self.function = function
        self.calls = []

    def near(self, Z):
        return self

    def value(self, Z):
        self.calls.append(len(Z))
        return self.function(Z)

    def with_gradient(self, Z):
        h, gradient = 1e-6, np.zeros_like(Z)
        for j in range(Z.shape[1]):
            step = h * np.eye(Z.shape[1])[j]
            with np.errstate(invalid="ignore"):  # inf - inf, where a test wants it
                gradient[:, j] = (self.function(Z + step) - self.function(Z - step)) / (2 * h)
        return self.function(Z), gradient


def peak(centre, width=0.3):
    return Height(lambda Z: -np.sum(((Z - centre) / width) ** 2, axis=1))


def search_of(space, **changes):
    search = Search(
        space,
        centre=space.snap(np.full((1, space.d), 0.5))[0],
        metric=np.full(space.d, 0.3),
        taken=np.empty((0, space.d)),
        low=np.zeros(space.d),
        high=np.ones(space.d),
        raw=500,
        starts=6,
        iterations=60,
    )
    return replace(search, **changes)


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("d", [1, 2, 6, 12])
def test_a_peak_in_the_continuum_is_found(d):
    space = Space.of([(0.0, 1.0)] * d)
    top = np.linspace(0.15, 0.85, d)
    found = maximize(peak(top), search_of(space), rng())
    np.testing.assert_allclose(found.z, top, atol=1e-3)
    assert found.value == pytest.approx(0.0, abs=1e-5)


def test_a_needle_beside_the_centre_is_found():
    """What the end of a run looks like: a peak of 1e-4 next to the best point, plains elsewhere."""
    centre = np.full(6, 0.4)
    top = centre + 3e-5 * np.array([1, -1, 1, 1, -1, 1])
    score = Height(lambda Z: -np.log1p(np.sum(((Z - top) / 1e-5) ** 2, axis=1)))
    found = maximize(score, search_of(Space.of([(0.0, 1.0)] * 6), centre=centre), rng())
    np.testing.assert_allclose(found.z, top, atol=1e-7)


def test_a_top_in_the_corner_is_reached_exactly():
    space = Space.of([(0.0, 1.0)] * 4)
    found = maximize(peak(np.array([-1.0, 2.0, -0.5, 1.5])), search_of(space), rng())
    np.testing.assert_array_equal(found.z, [0.0, 1.0, 0.0, 1.0])


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["finite", "categorical"]), st.floats(0, 0.95))
def test_a_finite_space_is_searched_whole(seed, name, share):
    space = SPACES[name]
    everything = space.enumerate(100)
    heights = {
        tuple(z): h for z, h in zip(everything, rng(seed).random(len(everything)), strict=True)
    }
    score = Height(lambda Z: np.array([heights[tuple(z)] for z in Z]))
    taken = everything[rng(seed + 1).random(len(everything)) < share]
    open_ = [tuple(z) for z in everything if not (taken == z).all(axis=1).any()]
    if not open_:
        return
    found = maximize(score, search_of(space, taken=taken), rng(seed))
    assert tuple(found.z) == max(open_, key=heights.__getitem__)
    assert found.value == heights[tuple(found.z)]


def test_a_finite_space_with_nothing_left_says_so():
    space = SPACES["finite"]
    with pytest.raises(SpaceExhausted, match="every point"):
        maximize(peak(np.zeros(2)), search_of(space, taken=space.enumerate(100)), rng())


def test_a_noisy_objective_may_be_asked_the_best_point_again():
    space = SPACES["finite"]
    search = search_of(space, taken=space.enumerate(100), repeats=True)
    found = maximize(peak(np.array([0.4, 0.5])), search, rng())
    np.testing.assert_allclose(found.z, [0.4, 0.5])


LARGE = Space.of(
    {
        "i": Integer(0, 60),
        "j": Integer(1, 4096, log=True),
        "o": Ordinal(list(range(7))),
        "c": Categorical(list("abcde")),
        "s": Real(0.0, 1.0, step=0.05),
    }
)


@pytest.mark.parametrize("seed", range(4))
def test_a_large_grid_is_climbed_to_its_top_by_neighbours(seed):
    """Additive and with one top in each column, so greedy moves must end at the global one."""
    top = points(LARGE, 1, seed=seed)[0]
    weight = np.array([3.0, 2.0, 1.0, 1.0, 2.0])
    score = Height(lambda Z: -np.abs(np.where([0, 0, 0, 1, 0], top != Z, Z - top)) @ weight)
    found = maximize(score, search_of(LARGE, centre=points(LARGE, 1, seed=99)[0]), rng(seed))
    np.testing.assert_allclose(found.z, top, atol=1e-12)


def test_a_mixed_space_is_climbed_in_both_kinds_of_columns():
    space = SPACES["mixed"]
    # Where the best x lies depends on the category: neither kind can be settled first.
    best_x = np.array([0.2, 0.9, 0.55])

    def height(Z):
        c = np.clip(np.rint(Z[:, 2]), 0, 2).astype(int)
        return np.array([0.0, 1.0, 0.5])[c] - 9 * (Z[:, 0] - best_x[c]) ** 2 - (Z[:, 1] - 0.75) ** 2

    found = maximize(Height(height), search_of(space, centre=np.array([0.2, 0.0, 0.0])), rng())
    np.testing.assert_allclose(found.z, [0.9, 0.75, 1.0], atol=1e-3)


def test_a_conditional_space_yields_a_point_of_the_space():
    space = SPACES["conditional"]
    score = Height(lambda Z: 2.0 * (Z[:, 0] == 1) - (Z[:, 2] - 1.0) ** 2 - (Z[:, 4] - 0.3) ** 2)
    found = maximize(score, search_of(space, centre=points(space, 1)[0]), rng())
    np.testing.assert_array_equal(found.z, space.snap(found.z[None])[0])
    params = space.decode(found.z)
    assert params["kernel"] == "poly" and params["degree"] == 5 and "gamma" not in params
    assert params["c"] == pytest.approx(0.6, abs=1e-2)


@pytest.mark.parametrize("name", ["continuous", "mixed", "wide", "conditional"])
def test_the_top_is_left_alone_when_it_is_taken(name):
    space = SPACES[name]
    top = points(space, 1, seed=3)[0]
    found = maximize(peak(top), search_of(space, centre=top, taken=top[None]), rng())
    assert cdist(found.z[None], top[None], "chebyshev")[0, 0] > COPY
    np.testing.assert_array_equal(found.z, space.snap(found.z[None])[0])


@pytest.mark.parametrize("d", [3, 10])
def test_on_a_large_grid_the_best_neighbour_stands_in_for_a_taken_top(d):
    """A greedy finish: the posterior mean is lowest at a point that is told already."""
    space = Space.of({f"i{j}": Integer(0, 200) for j in range(d)})
    top = space.snap(np.full((1, d), 0.5))[0]
    score = Height(lambda Z: -np.abs(Z - top) @ np.arange(d, 0.0, -1.0))
    found = maximize(score, search_of(space, centre=top, taken=top[None]), rng())
    assert found.value == pytest.approx(-1.0 / 200.0)


def test_a_region_holds_the_numbers_and_lets_categories_move():
    space = SPACES["mixed"]
    low, high = np.array([0.1, 0.25, 0.0]), np.array([0.3, 0.5, 0.0])
    search = search_of(space, centre=np.array([0.2, 0.375, 0.0])).within((low, high))
    found = maximize(Height(lambda Z: Z[:, 0] + Z[:, 1] + Z[:, 2]), search, rng())
    np.testing.assert_allclose(found.z, [0.3, 0.5, 2.0], atol=1e-9)


def test_an_empty_region_of_a_finite_space_falls_back_to_what_is_left():
    space = SPACES["finite"]
    taken = space.enumerate(100)
    taken = taken[~((taken[:, 0] == 1.0) & (taken[:, 1] == 1.0))]
    search = search_of(space, taken=taken).within((np.zeros(2), np.full(2, 0.1)))
    np.testing.assert_array_equal(maximize(peak(np.zeros(2)), search, rng()).z, [1.0, 1.0])


@pytest.mark.parametrize("name", ["continuous", "integer", "mixed", "conditional"])
def test_the_same_generator_gives_the_same_point(name):
    space = SPACES[name]
    score = Height(lambda Z: np.sum(np.sin(9.0 * Z), axis=1))
    search = search_of(space, centre=points(space, 1)[0], taken=points(space, 5, seed=1))
    first, second = (maximize(score, search, rng(7)) for _ in range(2))
    np.testing.assert_array_equal(first.z, second.z)
    assert first.value == second.value


@pytest.mark.parametrize("bad", [np.nan, -np.inf])
def test_points_without_a_value_are_never_chosen(bad):
    space = SPACES["continuous"]
    score = Height(lambda Z: np.where(Z[:, 0] > 0.5, bad, Z[:, 0]))
    found = maximize(score, search_of(space), rng())
    assert found.z[0] <= 0.5 and found.value > 0.49
    nowhere = Height(lambda Z: np.full(len(Z), bad))
    assert np.all(np.isfinite(maximize(nowhere, search_of(space), rng()).z))


def test_the_raw_points_are_looked_at_in_one_call():
    score = peak(np.full(2, 0.3))
    maximize(score, search_of(SPACES["continuous"], raw=500), rng())
    assert score.calls[0] == 500


@pytest.mark.parametrize("name", ["continuous", "integer", "mixed", "conditional", "line", "wide"])
def test_candidates_are_points_of_the_region_around_the_centre_and_all_over(name):
    space = SPACES[name]
    low, high = np.full(space.d, 0.125), np.full(space.d, 0.875)
    centre = space.snap(points(space, 1, seed=2) * 0.5 + 0.25)[0]
    search = search_of(space, centre=centre, low=low, high=high)
    Z = candidates(search, rng(), 256)
    assert len(Z) == 256
    np.testing.assert_array_equal(Z, space.snap(Z))
    continuous = np.flatnonzero(space.continuous)
    active = space.active(Z)
    for j in continuous:
        column = Z[active[:, j], j]
        assert np.all((column >= 0.125 - 1e-12) & (column <= 0.875 + 1e-12))
        assert np.min(column) < 0.2 and np.max(column) > 0.8
        if space.active(centre[None])[0, j]:
            near = np.abs(column - centre[j])
            assert np.min(near[near > 0]) < 1e-3
    moved = np.mean(np.any(centre != Z, axis=1))
    assert moved > 0.4


def test_few_coordinates_move_in_half_of_the_points_around_the_centre():
    space = SPACES["wide"]
    Z = candidates(search_of(space, centre=np.full(12, 0.5)), rng(), 1000)[500:]
    moved = np.sum(Z != 0.5, axis=1)
    assert np.mean(moved == 12) == pytest.approx(0.5, abs=0.02)
    assert 1.0 <= np.mean(moved[moved < 12]) <= 4.0
