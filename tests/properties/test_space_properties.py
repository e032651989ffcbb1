"""Any space, any value: to the cube and back, and the same answer by every route."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headway.space import Categorical, Integer, Ordinal, Parameter, Real, Space

CHOICES = st.lists(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-9, 9) | st.text("ab é", max_size=3),
    min_size=1,
    max_size=5,
    unique_by=lambda choice: (type(choice), choice),
)
UNIT = st.floats(0, 1, exclude_max=True)


@st.composite
def parameters(
    draw: st.DrawFn, when: tuple[str, Any] | None = None, few: bool = False
) -> Parameter:
    """Any parameter, or one with few values."""
    if few:
        kind = draw(st.sampled_from(["few", "few log", "list"]))
    else:
        kind = draw(st.sampled_from(["real", "log real", "grid", "integer", "log integer", "list"]))
    if kind.startswith("few"):
        low, steps = draw(st.integers(1, 9)), draw(st.integers(1, 3))
        return Integer(low, low + steps, log=kind == "few log", when=when)
    if kind == "real":
        low, width = draw(st.floats(-1e6, 1e6)), draw(st.floats(1e-3, 1e9))
        return Real(low, low + width, when=when)
    if kind == "log real":
        low, ratio = draw(st.floats(1e-12, 1e6)), draw(st.floats(1.01, 1e12))
        return Real(low, low * ratio, log=True, when=when)
    if kind == "grid":
        low, steps = draw(st.integers(-50, 50)), draw(st.integers(1, 200))
        step = draw(st.sampled_from([0.1, 0.25, 0.3, 1.0, 7.0]))
        return Real(low, low + float(f"{steps * step:.9g}"), step=step, when=when)
    if kind == "integer":
        low, steps = draw(st.integers(-(2**40), 2**40)), draw(st.integers(1, 2**40))
        step = draw(st.sampled_from([None, 1, 3]))
        return Integer(low, low + steps * (step or 1), step=step, when=when)
    if kind == "log integer":
        low, steps = draw(st.integers(1, 2**20)), draw(st.integers(1, 2**40))
        return Integer(low, low + steps, log=True, when=when)
    return draw(st.sampled_from([Categorical, Ordinal]))(draw(CHOICES), when=when)


@st.composite
def spaces(draw: st.DrawFn, most: int = 6, few: bool = False) -> Space:
    given: dict[str, Parameter] = {}
    for j in range(draw(st.integers(1, most))):
        parents = [n for n, p in given.items() if not isinstance(p, Real)]
        when = None
        if parents and draw(st.booleans()):
            parent = draw(st.sampled_from(parents))
            codes = st.integers(0, (given[parent].count or 1) - 1)
            chosen = draw(st.sets(codes, min_size=1, max_size=3))
            when = (parent, [given[parent].value(code) for code in sorted(chosen)])
        given[f"p{j}"] = draw(parameters(when=when, few=few))
    order = draw(st.permutations(list(given)))
    return Space.of({name: given[name] for name in order})


def same(one: dict[str, Any], two: dict[str, Any], space: Space) -> bool:
    """Equal in names, types and values, but for the rounding of a continuum."""
    for name, parameter in zip(space.names, space.parameters, strict=True):
        if (name in one) != (name in two):
            return False
        if name in one and parameter.count is None:
            width = one[name] if parameter.log else max(abs(parameter.low), abs(parameter.high))
            if abs(one[name] - two[name]) > 1e-13 * width:
                return False
        elif name in one and (type(one[name]), one[name]) != (type(two[name]), two[name]):
            return False
    return True


@given(st.data())
def test_value_to_cube_to_value(data: st.DataObject) -> None:
    space = data.draw(spaces())
    u = data.draw(st.lists(UNIT, min_size=space.d, max_size=space.d))
    params = space.decode(space.from_unit(np.array([u]))[0])
    z = space.encode(params)
    assert same(space.decode(z), params, space)
    number = np.array([not isinstance(p, Categorical) for p in space.parameters])
    assert ((z[number] >= 0) & (z[number] <= 1)).all()


@given(parameters(), st.data())
def test_any_value_of_a_parameter(parameter: Parameter, data: st.DataObject) -> None:
    if isinstance(parameter, Real) and parameter.step is None:
        value = data.draw(st.floats(parameter.low, parameter.high))
    elif isinstance(parameter, Real | Integer):
        value = parameter.value(data.draw(st.integers(0, (parameter.count or 1) - 1)))
    else:
        value = data.draw(
            st.sampled_from([parameter.value(i) for i in range(parameter.count or 0)])
        )
    space = Space.of({"p": parameter})
    assert same(space.decode(space.encode({"p": value})), {"p": value}, space)


@given(st.data())
def test_snap_is_idempotent_and_agrees_with_encode(data: st.DataObject) -> None:
    space = data.draw(spaces())
    anywhere = st.floats(-2, 6)
    row = st.lists(anywhere, min_size=space.d, max_size=space.d)
    Z = space.snap(np.array(data.draw(st.lists(row, min_size=1, max_size=4))))
    np.testing.assert_array_equal(space.snap(Z), Z)
    for z, active in zip(Z, space.active(Z), strict=True):
        params = space.decode(z)
        assert set(params) == {n for n, on in zip(space.names, active, strict=True) if on}
        again = space.encode(params)
        discrete = ~space.continuous
        np.testing.assert_array_equal(again[discrete], z[discrete])
        assert same(space.decode(again), params, space)


@given(st.data())
def test_neighbours_are_distinct_points_other_than_their_origin(data: st.DataObject) -> None:
    space = data.draw(spaces())
    u = data.draw(st.lists(UNIT, min_size=space.d, max_size=space.d))
    z = space.from_unit(np.array([u]))[0]
    N = space.neighbours(z)
    np.testing.assert_array_equal(space.snap(N), N)
    assert len(np.unique(np.vstack([N, z]), axis=0)) == len(N) + 1


@given(st.data())
def test_features_tell_apart_what_is_different(data: st.DataObject) -> None:
    space = data.draw(spaces())
    rows = st.lists(UNIT, min_size=space.d, max_size=space.d)
    Z = space.from_unit(np.array(data.draw(st.lists(rows, min_size=2, max_size=5))))
    F = space.embed(Z)
    assert F.shape == (len(Z), len(space.groups))
    for i, z in enumerate(Z):
        for j, other in enumerate(Z):
            assert (z == other).all() == (F[i] == F[j]).all()


@given(spaces(most=4, few=True))
def test_enumerate_lists_size_points(space: Space) -> None:
    Z = space.enumerate(5**4)
    assert len(np.unique(Z, axis=0)) == len(Z) == space.size
    np.testing.assert_array_equal(space.snap(Z), Z)


@given(spaces())
def test_json(space: Space) -> None:
    loaded = Space.from_json(json.loads(json.dumps(space.to_json())))
    assert loaded == space
    assert loaded.difference(space) is None
