"""The four kinds of parameter: values, codes, and each error's text."""

from __future__ import annotations

import dataclasses
import json
import math
import pickle
from enum import Enum

import numpy as np
import pytest

from headway.errors import SpaceError
from headway.parameters import (
    Categorical,
    Integer,
    Ordinal,
    Parameter,
    Real,
    parameter_from_json,
)

EACH_KIND = [
    Real(0, 1),
    Real(1e-5, 0.1, log=True, when=("kernel", "rbf")),
    Real(-1, 2, step=0.5),
    Integer(1, 8, when=("kernel", ["rbf", "poly"])),
    Integer(1, 10**6, log=True),
    Integer(0, 100, step=20),
    Categorical(["relu", True, 1, 1.0, None, [1, 2], {"a": 1}]),
    Ordinal(["low", "high"]),
]


class Color(Enum):
    RED = 1


@pytest.mark.parametrize("parameter", EACH_KIND, ids=repr)
def test_survives_json_pickle_and_its_own_repr(parameter: Parameter) -> None:
    assert parameter_from_json(json.loads(json.dumps(parameter.to_json()))) == parameter
    assert pickle.loads(pickle.dumps(parameter)) == parameter
    assert dataclasses.replace(parameter) == parameter
    assert eval(repr(parameter)) == parameter
    assert hash(eval(repr(parameter))) == hash(parameter)


@pytest.mark.parametrize("parameter", EACH_KIND, ids=repr)
def test_every_code_comes_back_from_its_value(parameter: Parameter) -> None:
    codes = np.linspace(0, 1, 11) if parameter.count is None else range(min(parameter.count, 500))
    for code in codes:
        assert parameter.code(parameter.value(float(code))) == pytest.approx(code, abs=1e-14)


def test_bounds_are_met_exactly() -> None:
    for parameter in (Real(0.1, 0.3), Real(1e-7, 0.3, log=True), Real(-1e308, 7e307)):
        assert parameter.value(0.0) == parameter.low
        assert parameter.value(1.0) == parameter.high
        assert parameter.code(parameter.low) == 0.0
        assert parameter.code(parameter.high) == 1.0


def test_log_is_even_in_ratios() -> None:
    assert Real(1e-4, 1.0, log=True).value(0.25) == pytest.approx(1e-3, rel=1e-14)
    assert Real(1e-4, 1.0, log=True).code(1e-1) == pytest.approx(0.75, rel=1e-14)


def test_a_stepped_real_has_the_decimals_its_user_would_write() -> None:
    grid = Real(0, 1, step=0.1)
    assert [grid.value(i) for i in range(11)] == [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1]
    assert grid.code(0.1 + 0.2) == 3.0
    assert Real(0, 1, step=1 / 3).value(3) == 1.0
    assert Real(0, 1, step=1).count == 2


def test_values_moved_by_rounding_are_taken() -> None:
    assert Real(0, 0.3).code(0.1 + 0.2) == 1.0
    assert Real(1e-5, 1, log=True).code(1e-5 * (1 - 1e-12)) == 0.0
    assert Integer(0, 10).code(3.0000000001) == 3.0
    assert Integer(0, 10).code(np.int64(3)) == 3.0
    assert Real(0, 1).code(np.float32(0.5)) == 0.5
    assert Integer(1, 1e3) == Integer(1, 1000)


def test_choices_are_told_apart_by_type_and_value() -> None:
    parameter = Categorical([True, 1, 1.0, "1"])
    assert [parameter.code(value) for value in (True, 1, 1.0, "1")] == [0, 1, 2, 3]
    assert parameter.value(0.0) is True
    assert Categorical([True]) != Categorical([1])
    assert Categorical([0.0]).code(-0.0) == 0
    assert Categorical(np.array([16, 32])).choices == (16, 32)
    assert type(Categorical(np.array([16, 32])).value(1.0)) is int
    assert Categorical([1]) != Ordinal([1])
    assert Categorical([1]) != 1


def test_a_choice_is_kept_as_it_was_given() -> None:
    layers = [64, 64]
    choices = Categorical([layers])
    layers.append(8)
    assert choices.value(0.0) == [64, 64] and choices.code([64, 64]) == 0.0


def test_conditions_are_kept_as_parent_and_values() -> None:
    assert Real(0, 1, when=("kernel", "rbf")).when == ("kernel", ("rbf",))
    assert Real(0, 1, when=("depth", range(2, 4))).when == ("depth", (2, 3))
    assert Real(0, 1, when=("layers", [[64, 64]])).when == ("layers", ([64, 64],))


def test_parameters_do_not_change() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Real(0, 1).low = 2.0  # type: ignore[misc]


REFUSED = [
    (lambda: Real(3, 1), r"Real: low = 3\.0 must be less than high = 1\.0\. Swap them"),
    (lambda: Integer(2, 2), r"Integer: low = 2 must be less than high = 2\. A constant"),
    (lambda: Real(math.nan, 1), r"Real: low = nan is not finite\. Give a finite number"),
    (lambda: Real(0, math.inf), r"Real: high = inf is not finite"),
    (lambda: Real(0, 10**400), r"Real: high = an int too large for a float"),
    (lambda: Real(-1.5e308, 1.5e308), r"Real: high - low = .* is too large.*Narrow the range"),
    (lambda: Real("0", 1), r"Real: low = '0' is of type str, not a number\. Give an int or"),
    (lambda: Real(0, 1j), r"Real: high = 1j is of type complex, not a number"),
    (lambda: Real(None, 1), r"Real: low = None is of type NoneType, not a number"),
    (lambda: Real(False, True), r"Real: low = False is a bool.*Categorical\(\[False, True\]\)"),
    (lambda: Real(0, 1, log=True), r"Real: log=True needs low > 0, but low = 0\.0\. Raise low"),
    (lambda: Integer(-1, 9, log=True), r"Integer: log=True needs low > 0, but low = -1"),
    (lambda: Real(1e-308, 1e300, log=True), r"Real: high / low = .* is too large\. Raise low"),
    (lambda: Real(1, 9, log="yes"), r"Real: log = 'yes' is of type str\. Give True or False"),
    (lambda: Real(1, 9, log=True, step=1), r"log=True and step = 1 exclude each other.*Ordinal"),
    (lambda: Integer(1, 9, log=True, step=2), r"log=True and step = 2 exclude each other"),
    (lambda: Real(0, 1, step=0), r"Real: step = 0\.0 must be greater than 0"),
    (lambda: Real(0, 1, step=-0.1), r"Real: step = -0\.1 must be greater than 0"),
    (lambda: Real(0, 1, step="a"), r"Real: step = 'a' is of type str, not a number"),
    (
        lambda: Real(0, 1, step=0.3),
        r"step = 0\.3 does not divide high - low = 1\.0\. Use high = 0\.9 or 1\.2, or step = 0\.33",
    ),
    (lambda: Real(0, 1, step=3), r"step = 3\.0 does not divide .* Use high = 3\.0, or step = 1\.0"),
    (lambda: Real(0, 1e13, step=1), r"step = 1\.0 makes 10000000000000 steps.*Leave out step"),
    (lambda: Integer(0, 10, step=3), r"step = 3 does not divide high - low = 10\. Use high = 9 or"),
    (lambda: Integer(0, 10, step=20), r"step = 20 does not divide .* Use high = 20, or another"),
    (lambda: Integer(0, 10, step=0), r"Integer: step = 0 must be at least 1"),
    (lambda: Integer(0, 10, step=2.5), r"Integer: step = 2\.5 is not a whole number"),
    (lambda: Integer(0.5, 3), r"Integer: low = 0\.5 is not a whole number\. Round it, or use Real"),
    (lambda: Integer(0, math.nan), r"Integer: high = nan is not finite"),
    (lambda: Integer(True, 3), r"Integer: low = True is a bool"),
    (lambda: Integer(0, 2**60), r"Integer: the bounds 0 and \d+ must lie within ±2\*\*53"),
    (lambda: Integer(0, 2**50), r"Integer: \d+ values from 0 to \d+ are too many.*larger step"),
    (lambda: Categorical([]), r"Categorical: choices = \[\] is empty\. Give at least one"),
    (lambda: Ordinal(()), r"Ordinal: values = \(\) is empty"),
    (lambda: Categorical("abc"), r"Categorical: choices = 'abc' is of type str\. Give a list"),
    (lambda: Categorical(3), r"Categorical: choices = 3 is of type int\. Give a list"),
    (lambda: Categorical({"a"}), r"choices = {'a'} is a set, whose order changes.*Give a list"),
    (lambda: Categorical(["a", "b", "a"]), r"choices = \['a', 'b', 'a'\] has 'a' twice\. Leave"),
    (lambda: Ordinal([0.0, -0.0]), r"Ordinal: values = .* has -0\.0 twice"),
    (lambda: Categorical([1, math.nan]), r"has nan, of type float, which JSON does not bring back"),
    (lambda: Categorical([(1, 2)]), r"has \(1, 2\), of type tuple, which JSON does not bring"),
    (lambda: Categorical([{1: 2}]), r"has {1: 2}, of type dict, which JSON does not bring"),
    (lambda: Categorical([[1, (2,)]]), r"has \[1, \(2,\)\], of type list, which JSON does not"),
    (lambda: Categorical(Color), r"of type Color, which JSON .* give a name, and look it up in f"),
    (lambda: Real(0, 1, when="kernel"), r"Real: when = 'kernel' must be the name of a parameter"),
    (lambda: Real(0, 1, when=(1, 2)), r"Real: when = \(1, 2\) must be the name of a parameter"),
    (lambda: Real(0, 1, when=("k", [])), r"Real: when = \('k', \[\]\) lists no value"),
    (lambda: Real(0, 1, when=("k", [1, 1])), r"when = \('k', \.\.\.\): \[1, 1\] has 1 twice"),
    (lambda: Real(0, 1, when=("k", {1})), r"\[\{1\}\] has \{1\}, of type set, which JSON"),
]


@pytest.mark.parametrize(("make", "text"), REFUSED, ids=[text for _, text in REFUSED])
def test_refused_on_construction(make, text: str) -> None:
    with pytest.raises(SpaceError, match=text):
        make()


NOT_A_VALUE = [
    (Real(0, 1), 1.1, r"1\.1 lies outside \[0\.0, 1\.0\]\. Give a value inside, or widen"),
    (Real(1e-9, 1, log=True), 0.0, r"0\.0 lies outside"),
    (Real(1e9, 1e9 + 1), 1e9 + 1.5, r"lies outside"),
    (Real(0, 1), math.nan, r"nan is not finite"),
    (Real(0, 1), "0.5", r"'0\.5' is of type str, not a number"),
    (Real(0, 1), np.array([0.5]), r"of type ndarray, not a number"),
    (Real(0, 1), True, r"True is a bool, not a number"),
    (
        Real(0, 1, step=0.1),
        0.34,
        r"0\.34 is not low plus a multiple of step = 0\.1\. The nearest value is 0\.3",
    ),
    (Integer(0, 10), 2.6, r"2\.6 is not a whole number\. The nearest value is 3"),
    (Integer(0, 10, step=5), 4, r"4\.0 is not low plus a multiple of step = 5\. .* is 5"),
    (Integer(0, 10**12), 10**12 + 500, r"lies outside"),
    (Integer(0, 7 * 10**11, step=7), 7 * 10**10 + 3, r"is not low plus a multiple of step = 7"),
    (Integer(0, 10), 11, r"11\.0 lies outside \[0, 10\]"),
    (
        Categorical(["relu", "gelu"]),
        "rel",
        r"'rel' is not one of 'relu', 'gelu'\. Did you .*'relu'",
    ),
    (Categorical(["relu", 1]), True, r"True is not one of 'relu', 1\. It is of type bool, not int"),
    (Ordinal([16, 32]), 16.0, r"16\.0 is not one of 16, 32\. It is of type float, not int"),
    (Ordinal(range(40)), np.array([1, 2]), r"is not one of 0, 1, 2, .*, \.\.\. \(40 in all\)"),
    (Categorical([1]), object, r"<class 'object'> is not one of 1"),
]


@pytest.mark.parametrize(
    ("parameter", "value", "text"), NOT_A_VALUE, ids=[r[2] for r in NOT_A_VALUE]
)
def test_values_refused(parameter: Parameter, value: object, text: str) -> None:
    with pytest.raises(SpaceError, match=text):
        parameter.code(value)


def test_stored_parameters_that_cannot_be_read() -> None:
    entry = Real(0, 1).to_json()
    with pytest.raises(SpaceError, match=r"type = 'complex' is no kind of parameter.*'real'"):
        parameter_from_json(entry | {"type": "complex"})
    with pytest.raises(SpaceError, match=r"A stored Real has the keys 'low', .*another version"):
        parameter_from_json(entry | {"unit": "m"})
