"""The space: encoding, activity, moves, counting, and each error's text."""

from __future__ import annotations

import itertools
import json
import math
import pickle

import numpy as np
import pytest
from scipy.optimize import Bounds

from headway.errors import SpaceError
from headway.space import Categorical, Integer, Ordinal, Real, Space

# Two levels of conditions, and one of each kind of column.
TREE = Space.of(
    {
        "kernel": Categorical(["rbf", "poly", "lin"]),
        "gamma": Real(1e-4, 10, log=True, when=("kernel", ["rbf", "poly"])),
        "degree": Integer(2, 6, when=("kernel", "poly")),
        "C": (0, 15),
        "width": Integer(16, 1024, log=True),
        "level": Ordinal(["lo", "mid", "hi"], when=("degree", [3, 4])),
    }
)
# The child stands before its parent, and everything is finite: 3 * (2 + 1 * 4) = 18 points.
FINITE = Space.of(
    {
        "momentum": Real(0.0, 0.9, step=0.3, when=("optimizer", "sgd")),
        "optimizer": Categorical(["adam", "sgd", "none"]),
        "layers": Integer(1, 3),
    }
)


def uniform(space: Space, m: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).random((m, space.d))


# --- making one --------------------------------------------------------------------------------


def test_tuples_are_reals_and_a_space_is_itself() -> None:
    assert TREE.parameters[3] == Real(0.0, 15.0)
    assert TREE.form == "dict"
    assert Space.of(TREE) is TREE


@pytest.mark.parametrize(
    "given",
    [
        [(-5, 10), (0, 15)],
        ([-5, 10], [0, 15]),
        np.array([[-5, 10], [0, 15]]),
        Bounds([-5, 0], [10, 15]),
        zip([-5, 0], [10, 15], strict=True),
    ],
    ids=["pairs", "lists", "array", "Bounds", "zip"],
)
def test_bounds_make_an_array_space(given: object) -> None:
    space = Space.of(given)
    assert space == Space(("x0", "x1"), (Real(-5, 10), Real(0, 15)), "array")
    z = space.encode(space.params_of(np.array([2.5, 15.0])))
    np.testing.assert_array_equal(z, [0.5, 1.0])
    np.testing.assert_array_equal(space.point(z), [2.5, 15.0])
    assert space.params_of([2.5, 3]) == {"x0": 2.5, "x1": 3}
    assert space.decode(z) == {"x0": 2.5, "x1": 15.0}


def test_scalar_bounds_broadcast() -> None:
    assert Space.of(Bounds(0, [1, 2])) == Space.of([(0, 1), (0, 2)])


REFUSED = [
    ({}, r"The space is empty\. Give at least one parameter"),
    ([], r"The space is empty"),
    (None, r"None, of type NoneType, is no space\. Give a dict of parameters, or a list of pairs"),
    ("x", r"'x', of type str, is no space"),
    (5, r"5, of type int, is no space"),
    ((0, 1), r"0 is not a pair \(low, high\)\. Give one pair per parameter: \[\(0, 1\)"),
    ([(0, 1, 2)], r"\(0, 1, 2\) is not a pair"),
    ([Integer(0, 3)], r"Integer\(0, 3\) is not a pair .* for integers and categories give a dict"),
    (np.zeros((2, 3)), r"Bounds of shape \(2, 3\) cannot be used\. .* shape \(d, 2\)"),
    ([(0, 1), (2, 2)], r"'x1': Real: low = 2\.0 must be less than high"),
    (Bounds(0, math.inf), r"'x0': Real: high = inf is not finite"),
    ({"x": (1, 0)}, r"'x': Real: low = 1\.0 must be less than high = 0\.0"),
    ({"x": ["a", "b"]}, r"'x' = \['a', 'b'\] is of type list\. Give a tuple .*Categorical"),
    ({"x": (1, 2, 3)}, r"'x' = \(1, 2, 3\) is of type tuple"),
    ({1: (0, 1)}, r"The name 1, of type int, cannot be used\. .* '1'"),
    ({"": (0, 1)}, r"The name '', of type str, cannot be used"),
    (
        {"kernel": Categorical(["rbf"]), "g": Real(0, 1, when=("kernl", "rbf"))},
        r"'g': when = \('kernl', \.\.\.\) names an unknown parameter.*Did you mean 'kernel'",
    ),
    (
        {"x": (0, 1), "y": Real(0, 1, when=("x", 0.5))},
        r"'y': when = \('x', \.\.\.\) names a Real.*Let it depend on a Categorical, Ordinal or",
    ),
    (
        {"k": Categorical(["a", "b"]), "y": Real(0, 1, when=("k", ["a", "c"]))},
        r"'y': .* asks for a value that 'k' cannot take: 'c' is not one of 'a', 'b'",
    ),
    (
        {"n": Integer(1, 3), "y": Real(0, 1, when=("n", 4))},
        r"'y': .* asks for a value that 'n' cannot take: 4\.0 lies outside \[1, 3\]",
    ),
    (
        {
            "a": Categorical([1, 2], when=("b", 1)),
            "b": Categorical([1, 2], when=("c", 1)),
            "c": Categorical([1, 2], when=("b", 1)),
        },
        r"The conditions go in a circle: 'b' -> 'c' -> 'b'\. Take `when` off one of them",
    ),
    ({"a": Categorical([1, 2], when=("a", 1))}, r"in a circle: 'a' -> 'a'"),
]


@pytest.mark.parametrize(("given", "text"), REFUSED, ids=[text for _, text in REFUSED])
def test_refused(given: object, text: str) -> None:
    with pytest.raises(SpaceError, match=text):
        Space.of(given)


def test_refused_when_made_by_hand() -> None:
    with pytest.raises(SpaceError, match=r"The name 'x' is given twice\. Rename one"):
        Space(("x", "x"), (Real(0, 1), Real(0, 1)))
    with pytest.raises(SpaceError, match=r"There are 1 names but 2 parameters"):
        Space(("x",), (Real(0, 1), Real(0, 1)))
    with pytest.raises(SpaceError, match=r"form = 'list' must be 'dict' or 'array'"):
        Space(("x",), (Real(0, 1),), "list")
    with pytest.raises(SpaceError, match=r"'x' = Categorical\(\['a'\]\) does not fit an array"):
        Space(("x",), (Categorical(["a"]),), "array")


# --- encoding ----------------------------------------------------------------------------------


def test_encodes_each_kind() -> None:
    z = TREE.encode(
        {"kernel": "poly", "gamma": 1e-4, "degree": 3, "C": 15, "width": 1024, "level": "mid"}
    )
    np.testing.assert_array_equal(z, [1, 0, 0.25, 1, 1, 0.5])
    z = TREE.encode({"kernel": "lin", "C": 3, "width": 128})
    np.testing.assert_allclose(z, [2, 0.5, 0.5, 0.2, 0.5, 0.5], rtol=1e-15)


def test_inactive_parameters_are_absent_and_neutral() -> None:
    z = FINITE.encode({"optimizer": "adam", "layers": 3})
    np.testing.assert_array_equal(z, [0.5, 0, 1])
    assert FINITE.decode(z) == {"optimizer": "adam", "layers": 3}
    below = Space.of({"n": Integer(1, 2), "act": Categorical(["relu", "gelu"], when=("n", 2))})
    np.testing.assert_array_equal(below.encode({"n": 1}), [0, -1])
    np.testing.assert_array_equal(below.snap(np.array([[0.9, -1.0]])), [[1, 0]])


def test_decodes_to_plain_types() -> None:
    params = TREE.decode(np.array([1.0, 0.5, 0.25, 0.1, 0.5, 1.0]))
    assert {name: type(value) for name, value in params.items()} == {
        "kernel": str, "gamma": float, "degree": int, "C": float, "width": int, "level": str,
    }  # fmt: skip
    assert params["width"] == 128


def test_a_single_ordinal_value_is_at_one_half() -> None:
    space = Space.of({"only": Ordinal(["a"]), "choice": Categorical(["b"])})
    np.testing.assert_array_equal(space.encode({"only": "a", "choice": "b"}), [0.5, 0])
    np.testing.assert_array_equal(space.from_unit(np.array([[0.9, 0.9]])), [[0.5, 0]])
    assert space.size == 1
    assert space.neighbours(np.array([0.5, 0])).shape == (0, 2)


def test_one_error_says_all_that_is_wrong() -> None:
    with pytest.raises(SpaceError) as caught:
        TREE.encode({"kernel": "rfb", "gamma": 100, "zeta": 1, "gama": 1, "C": True})
    assert str(caught.value).split("\n  ") == [
        "The point is not in the space:",
        "'kernel' = 'rfb' is not one of 'rbf', 'poly', 'lin'. Did you mean 'rbf'?",
        "'C' = True is a bool, not a number. For a switch use Categorical([False, True]).",
        "'width' is missing; it is Integer(16, 1024, log=True).",
        "'gamma' = 100.0 lies outside [0.0001, 10.0]. Give a value inside, or widen the range.",
        "'zeta' is unknown; the parameters are 'kernel', 'gamma', 'degree', 'C', 'width', 'level'.",
        "'gama' is unknown; the parameters are 'kernel', 'gamma', 'degree', 'C', 'width', 'level'. "
        "Did you mean 'gamma'?",
    ]


@pytest.mark.parametrize(
    ("params", "text"),
    [
        (
            {"kernel": "lin", "gamma": 1, "C": 1, "width": 16},
            r"'gamma' is inactive here and must be",
        ),
        ({"kernel": "rbf", "C": 1, "width": 16}, r"'gamma' is missing; it is Real\(0\.0001, 10"),
        ({"kernel": "lin", "C": 1, "width": 16.5}, r"'width' = 16\.5 is not a whole number"),
        ({"kernel": "lin", "C": 16, "width": 16}, r"'C' = 16\.0 lies outside \[0\.0, 15\.0\]"),
        ([1, 2], r"A point is a dict with the names .* but this one is \[1, 2\], of type list"),
    ],
)
def test_points_refused(params: object, text: str) -> None:
    with pytest.raises(SpaceError, match=text):
        TREE.encode(params)  # type: ignore[arg-type]


def test_points_of_another_form_refused() -> None:
    with pytest.raises(
        SpaceError, match=r"of type list and length 2, but .* a dict with the names"
    ):
        TREE.params_of([1, 2])
    with pytest.raises(SpaceError, match=r"length 3, but a point of this space is 2 numbers, for"):
        Space.of([(0, 1)] * 2).params_of([1, 2, 3])
    with pytest.raises(SpaceError, match=r"0\.5 is of type float and length 1, but .* 2 numbers"):
        Space.of([(0, 1)] * 2).params_of(0.5)
    with pytest.raises(SpaceError, match=r"'x1' = nan is not finite"):
        box = Space.of([(0, 1)] * 2)
        box.encode(box.params_of(np.array([0.5, math.nan])))


# --- many points at once -----------------------------------------------------------------------


def test_uniform_numbers_give_each_value_an_equal_share() -> None:
    space = Space.of(
        {
            "act": Categorical(["a", "b", "c"]),
            "n": Integer(0, 4),
            "rank": Ordinal(["x", "y"]),
            "step": Real(0, 1, step=0.5),
            "real": (0, 1),
        }
    )
    u = (np.arange(600) + 0.5) / 600
    Z = space.from_unit(np.column_stack([u] * space.d))
    for column, levels in enumerate([[0, 1, 2], np.arange(5) / 4, [0, 1], [0, 0.5, 1]]):
        values, counts = np.unique(Z[:, column], return_counts=True)
        np.testing.assert_array_equal(values, levels)
        assert set(counts) == {600 // len(levels)}
    np.testing.assert_array_equal(Z[:, 4], u)


def test_a_logarithmic_integer_gets_its_share_of_the_logarithm() -> None:
    space = Space.of({"n": Integer(1, 20, log=True)})
    u = (np.arange(100_000) + 0.5) / 100_000
    values = np.array(
        [space.decode(z)["n"] for z in np.unique(space.from_unit(u[:, None]), axis=0)]
    )
    np.testing.assert_array_equal(values, np.arange(1, 21))
    counts = np.unique(space.from_unit(u[:, None]), return_counts=True)[1]
    share = np.log((values + 0.5) / (values - 0.5)) / np.log(20.5 / 0.5)
    np.testing.assert_allclose(counts / 100_000, share, atol=2e-5)


def test_the_ends_of_the_unit_interval_are_values() -> None:
    for space in (TREE, FINITE):
        for u in (0.0, math.nextafter(1.0, 0.0)):
            Z = space.from_unit(np.full((1, space.d), u))
            np.testing.assert_array_equal(space.snap(Z), Z)
            assert not np.signbit(Z[Z == 0]).any()  # -0.0 would look odd in a file


def test_snap_takes_the_nearest_point() -> None:
    Z = np.array([[1.4, -0.1, 0.3, 1.1, 0.5001, 0.8], [2.6, 0.3, 0.3, 0.3, 0.3, 0.3]])
    snapped = TREE.snap(Z)
    np.testing.assert_allclose(snapped[0], [1, 0, 0.25, 1, 0.5, 1], atol=1e-15)
    np.testing.assert_allclose(snapped[1, [0, 1, 2, 3, 5]], [2, 0.5, 0.5, 0.3, 0.5])
    assert snapped[1, 4] == pytest.approx(math.log(56 / 16) / math.log(64))  # 16 * 64**0.3 = 55.7


def test_every_snapped_point_is_one_that_encode_gives() -> None:
    for space in (TREE, FINITE):
        Z = space.from_unit(uniform(space, 200))
        for z in Z:
            np.testing.assert_allclose(space.encode(space.decode(z)), z, rtol=0, atol=1e-14)


def test_active_follows_the_conditions_down_the_tree() -> None:
    Z = TREE.from_unit(uniform(TREE, 300))
    A = TREE.active(Z)
    for z, a in zip(Z, A, strict=True):
        params = TREE.decode(z)
        assert [name in params for name in TREE.names] == a.tolist()
        assert ("gamma" in params) == (params["kernel"] != "lin")
        assert ("degree" in params) == (params["kernel"] == "poly")
        assert ("level" in params) == (params.get("degree") in (3, 4))


def test_features_are_numbers_then_categories_at_distance_one() -> None:
    space = Space.of(
        {
            "act": Categorical(["a", "b", "c"]),
            "x": (0, 1),
            "n": Integer(0, 4),
            "sub": Categorical([1, 2], when=("act", ["a", "b"])),
        }
    )
    assert space.number_columns == (1, 2)
    assert space.groups == (1, 2, 0, 0, 0, 3, 3)
    Z = space.from_unit(uniform(space, 100))
    F = space.embed(Z)
    assert F.shape == (100, 7)
    np.testing.assert_array_equal(F[:, :2], Z[:, 1:3])
    act = F[:, 2:5]
    apart = ((act[:, None] - act[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(apart, Z[:, None, 0] != Z[None, :, 0], atol=1e-15)
    inactive = Z[:, 3] == -1
    assert inactive.any()
    assert (F[inactive, 5:] == 0).all()
    np.testing.assert_allclose((F[~inactive, 5:] ** 2).sum(axis=1), 0.5)


def test_the_arguments_are_left_as_they_are() -> None:
    U = uniform(TREE, 20)
    kept = U.copy()
    for method in (TREE.from_unit, TREE.snap, TREE.active, TREE.embed):
        method(U)
    np.testing.assert_array_equal(U, kept)


def test_no_rows_are_no_rows() -> None:
    for space in (TREE, FINITE, Space.of([(0, 1)])):
        none = np.zeros((0, space.d))
        assert space.from_unit(none).shape == space.snap(none).shape == (0, space.d)
        assert space.embed(none).shape == (0, len(space.groups))


def test_gradients_belong_to_reals_without_a_step() -> None:
    np.testing.assert_array_equal(TREE.continuous, [False, True, False, True, False, False])
    assert not FINITE.continuous.any()


# --- moves and counting ------------------------------------------------------------------------


def test_neighbours_are_one_discrete_move_away() -> None:
    z = TREE.encode({"kernel": "rbf", "gamma": 1, "C": 3, "width": 1000})
    moved = [TREE.decode(n) for n in TREE.neighbours(z)]
    rest = {"gamma": pytest.approx(1), "C": 3, "width": 1000}
    poly = {"kernel": "poly", "gamma": pytest.approx(1), "degree": 4, "level": "mid"}
    assert moved[0] == {**poly, "C": 3, "width": 1000}  # what becomes active is in the middle
    assert moved[1] == {"kernel": "lin", "C": 3, "width": 1000}
    widths = [999, 1001, 998, 1002, 996, 1004, 992, 1008, 984, 1016, 968, 936, 872, 744, 488]
    assert moved[2:] == [{"kernel": "rbf", **rest, "width": width} for width in widths]


def test_neighbours_of_a_space_without_discrete_columns() -> None:
    assert Space.of([(0, 1)] * 3).neighbours(np.full(3, 0.5)).shape == (0, 3)


def brute_force(space: Space) -> set[tuple[tuple[str, object], ...]]:
    """All points of a finite space, from the product of all values with the inactive dropped."""
    values = [[p.value(i) for i in range(p.count or 0)] for p in space.parameters]
    found = set()
    for row in itertools.product(*values):
        params = dict(zip(space.names, row, strict=True))
        for _ in space.names:  # once per level of conditions is enough
            for name, p in zip(space.names, space.parameters, strict=True):
                if p.when and params.get(p.when[0], object) not in p.when[1]:
                    params.pop(name, None)
        found.add(tuple(params.items()))
    return found


NESTED = Space.of(
    {
        "c": Categorical(["x", "y"], when=("b", [2, 3])),
        "b": Integer(1, 4, when=("a", ["p", "q"])),
        "a": Categorical(["p", "q", "r"]),
        "e": Real(0, 1, step=0.5, when=("b", [3, 4])),
        "f": Ordinal([1, 2], when=("a", "r")),
    }
)


@pytest.mark.parametrize("space", [FINITE, NESTED], ids=["finite", "nested"])
def test_counts_and_lists_every_point_once(space: Space) -> None:
    points = brute_force(space)
    assert space.size == len(points)
    Z = space.enumerate(len(points))
    assert len(np.unique(Z, axis=0)) == len(Z) == space.size
    np.testing.assert_array_equal(space.snap(Z), Z)
    assert {tuple(space.decode(z).items()) for z in Z} == points


def test_size_of_infinite_and_of_large_spaces() -> None:
    assert TREE.size is None
    assert FINITE.size == 18
    assert Space.of({f"n{j}": Integer(1, 10**9) for j in range(4)}).size == 10**36


def test_points_that_cannot_be_listed() -> None:
    with pytest.raises(SpaceError, match=r"cannot be listed, for 'gamma' is a continuum\. Give it"):
        TREE.enumerate(10)
    with pytest.raises(
        SpaceError, match=r"has 18 points, more than the limit 17\. Raise the limit"
    ):
        FINITE.enumerate(17)


# --- storing and comparing ---------------------------------------------------------------------


@pytest.mark.parametrize("space", [TREE, FINITE, NESTED, Space.of([(0, 1)])])
def test_survives_json_and_pickle(space: Space) -> None:
    loaded = Space.from_json(json.loads(json.dumps(space.to_json())))
    assert loaded == space == pickle.loads(pickle.dumps(space))
    assert hash(loaded) == hash(space)
    assert space.difference(loaded) is None
    U = uniform(space, 50)
    np.testing.assert_array_equal(loaded.from_unit(U), space.from_unit(U))


def test_json_that_is_no_space() -> None:
    with pytest.raises(SpaceError, match=r"is not what Space\.to_json writes \(KeyError\('param"):
        Space.from_json({"form": "dict"})
    with pytest.raises(SpaceError, match=r"is not what Space\.to_json writes"):
        Space.from_json([])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("one", "two", "text"),
    [
        (
            [(0, 1)],
            {"x0": (0, 1)},
            r"^a point is given as array in this space, as dict in the other",
        ),
        ({"a": (0, 1), "b": (0, 1)}, {"a": (0, 1)}, r"^'b' is in this space but not in the other"),
        ({"a": (0, 1)}, {"a": (0, 1), "b": (0, 1)}, r"^'b' is in the other space but not in this"),
        (
            {"a": (0, 1), "b": (0, 1)},
            {"b": (0, 1), "a": (0, 1)},
            r"^the order is 'a', 'b' here, 'b', 'a' in the other",
        ),
        ({"a": (0, 1)}, {"a": (0, 2)}, r"^'a' has high = 1\.0 in this space, 2\.0 in the other"),
        (
            {"a": Integer(0, 1)},
            {"a": (0, 1)},
            r"^'a' is Integer\(0, 1\) in this space, Real\(0\.0, 1\.0\) in the other",
        ),
        (
            {"a": Categorical([True])},
            {"a": Categorical([1])},
            r"^'a' has choices = \[True\] in this space, \[1\] in the other",
        ),
    ],
)
def test_the_first_difference_is_named(one: object, two: object, text: str) -> None:
    difference = Space.of(one).difference(Space.of(two))
    assert difference is not None
    with pytest.raises(SpaceError, match=text):
        raise SpaceError(difference)
    assert Space.of(one) != Space.of(two)
