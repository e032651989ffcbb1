"""One call of the user's function: a value in plain floats, or why there is none."""

import math
import pickle
import sys

import numpy as np
import pytest

from headway.evaluation import Failure, evaluate
from headway.outcome import Outcome


class Awkward(Exception):
    """An exception that pickle cannot bring back."""

    def __init__(self, a, b):
        super().__init__(f"{a} and {b}")


class Unprintable(Exception):
    def __str__(self):
        raise RuntimeError("no text")


def raising(error):
    def f(x):
        raise error

    return f


def test_a_value_comes_back_in_plain_floats():
    report = evaluate(lambda x: np.float32(2 * x), 1.0)
    assert report == Outcome(2.0) and type(report.value) is float
    given = Outcome(np.array([3.0]), np.array([1, 2]), cost=np.int64(4))
    assert evaluate(lambda x: given, None) == Outcome(3.0, (1.0, 2.0), 4.0)


def test_an_exception_comes_back_as_text_with_its_place():
    report = evaluate(lambda x: 1 / x, 0)
    assert report.kind == "ZeroDivisionError"
    assert report.text.startswith("ZeroDivisionError: division by zero (test_evaluation.py, line ")
    assert report.text.endswith("in <lambda>)") and "Traceback" in report.trace


@pytest.mark.parametrize("error", [Awkward("a", "b"), Unprintable(), SystemExit(3), MemoryError()])
def test_every_kind_of_exception_can_be_sent_back(error):
    report = evaluate(raising(error), 0)
    assert report.kind == type(error).__name__
    assert pickle.loads(pickle.dumps(report)) == report


def test_sys_exit_in_a_solver_is_a_failure():
    assert evaluate(lambda x: sys.exit("no licence"), 0).text.startswith("SystemExit: no licence")


def test_an_interruption_passes_through():
    with pytest.raises(KeyboardInterrupt):
        evaluate(raising(KeyboardInterrupt()), 0)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, np.float64("nan")])
def test_values_that_are_not_finite(value):
    for given in (value, Outcome(value)):
        report = evaluate(lambda x, given=given: given, 0)
        assert report == Failure(str(float(value)), f"f returned {float(value)}")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "the value of f is None: is a return missing?"),
        ("1", "the value of f is '1', of type str"),
        (np.ones(2), "the value of f is an array of 2 values"),
        (np.array([math.nan]), "the value of f is nan"),
        (Outcome(1.0, [math.nan]), "constraint 0 of f is nan"),
        (Outcome(1.0, cost=-1), "the cost of f is -1.0"),
    ],
)
def test_values_that_are_none(value, text):
    report = evaluate(lambda x: value, 0)
    assert report.kind == "TellError" and report.text.startswith(text)


def test_a_long_text_is_cut():
    assert len(evaluate(raising(ValueError("x" * 10**6)), 0).text) < 2200
