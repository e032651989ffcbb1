"""What may be told, and what each wrong value is answered with."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from headway import outcome
from headway.errors import TellError
from headway.outcome import Outcome, checked


class Tensor:
    def __init__(self, *values):
        self.values = values

    def __float__(self):
        if len(self.values) > 1:
            raise RuntimeError("a Tensor with 2 elements cannot be converted to Scalar")
        return float(self.values[0])


@pytest.mark.parametrize(
    "value",
    [
        2.0,
        2,
        np.float32(2),
        np.int8(2),
        np.array(2.0),
        np.array([[2.0]]),
        Decimal(2),
        Fraction(4, 2),
        Tensor(2.0),
    ],
)
def test_one_real_number_in_any_dress(value):
    told = checked(value, "trial 0")
    assert told == Outcome(2.0) and type(told.value) is float


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, r"the value of trial 3 is None: is a return missing\? Allowed: one real number"),
        ("1.0", r"is '1\.0', of type str"),
        (1j, r"is 1j, of type complex"),
        (np.complex128(1), r"of type complex128"),
        (np.array([1j]), r"of type complex"),
        (np.array([1.0, 2.0]), r"is an array of 2 values"),
        (np.array([]), r"is an array of 0 values"),
        ([1.0], r"is \[1\.0\], of type list"),
        ({"loss": 1.0}, r"of type dict"),
        (True, r"is True, of type bool"),
        (np.bool_(True), r"of type bool"),
        (np.array(["a"]), r"of type str"),
        (np.ma.masked, r"is masked\. Allowed: one real number"),
        (np.ma.array([1.0], mask=[True]), r"is masked"),
        (Tensor(1.0, 2.0), r"cannot be converted to Scalar"),
        (
            math.nan,
            r"is nan\. Allowed: a finite number\. Without a value: tell\(trial, failed=True",
        ),
        (-math.inf, r"is -inf\. Allowed: a finite number"),
        (10**400, r"is inf\. Allowed: a finite number"),
    ],
)
def test_a_value_that_is_none(value, message):
    with pytest.raises(TellError, match=message):
        checked(value, "trial 3")


def test_constraints_are_a_sequence_of_numbers():
    assert checked(Outcome(1, np.array([1, -2])), "f").constraints == (1.0, -2.0)
    assert checked(Outcome(1, None), "f").constraints == ()
    with pytest.raises(TellError, match=r"the constraints of f are 1\.0.*write \[c\]"):
        checked(Outcome(1, 1.0), "f")
    with pytest.raises(TellError, match=r"the constraints of f are array.*write \[c\]"):
        checked(Outcome(1, np.array(1.0)), "f")
    with pytest.raises(TellError, match="the constraints of f are '12'"):
        checked(Outcome(1, "12"), "f")
    with pytest.raises(TellError, match=r"the constraints of f are \{.*a sequence of numbers"):
        checked(Outcome(1, {-1.0, 2.0}), "f")
    with pytest.raises(TellError, match="constraint 1 of f is nan"):
        checked(Outcome(1, [0.0, math.nan]), "f")


@pytest.mark.parametrize("name", ["cost", "variance"])
def test_cost_and_variance_are_at_least_zero(name):
    assert getattr(checked(Outcome(1, **{name: 0}), "f"), name) == 0.0
    with pytest.raises(TellError, match=f"the {name} of f is -1.0. Allowed: at least 0"):
        checked(Outcome(1, **{name: -1}), "f")
    with pytest.raises(TellError, match=f"the {name} of f is inf.*Leave it out if unknown"):
        checked(Outcome(1, **{name: math.inf}), "f")


def test_the_number_of_constraints():
    assert outcome.told("f", 1.0, constraints=[1, 2], k=2).constraints == (1.0, 2.0)
    with pytest.raises(TellError, match=r"f was told 1 constraints\. Allowed: 2, as constraints=2"):
        outcome.told("f", 1.0, constraints=[1], k=2)
    with pytest.raises(TellError, match=r"f was told 1 constraints\. Allowed: 0"):
        outcome.told("f", Outcome(1.0, [1]))


def test_an_outcome_stands_alone():
    with pytest.raises(TellError, match=r"an Outcome and constraints, cost or variance besides"):
        outcome.told("f", Outcome(1.0), cost=3)
    with pytest.raises(TellError, match="an Outcome and constraints"):
        outcome.told("f", Outcome(1.0), constraints=np.array([1.0, 2.0]), k=2)


def test_a_failure_has_no_value():
    outcome.failed("trial 1", value=None, constraints=None)
    with pytest.raises(TellError, match="trial 1 was told failed=True and value as well"):
        outcome.failed("trial 1", value=1.0)
