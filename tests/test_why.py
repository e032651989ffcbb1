"""Why a point: a small frozen value that prints as a sentence."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.why import Why

NUMBER = st.none() | st.floats(allow_nan=False, allow_infinity=False)
WHYS = st.builds(
    Why,
    st.text(min_size=1),
    mean=NUMBER,
    sd=NUMBER,
    log_ei=NUMBER,
    local=NUMBER,
    distance=NUMBER,
    kappa=NUMBER,
    angle=NUMBER,
    notes=st.lists(st.text(), max_size=3).map(tuple),
)


@given(WHYS)
def test_json_and_back_is_the_same(why):
    again = Why.from_json(json.loads(json.dumps(why.to_json(), allow_nan=False)))
    assert again == why and hash(again) == hash(why)


@given(WHYS)
def test_it_always_prints_and_begins_with_what_decided(why):
    assert str(why).startswith(why.decided)
    assert "None" not in str(why).replace(why.decided, "", 1) or "None" in "".join(why.notes)


def test_a_proposal_by_the_model_reads_as_a_sentence():
    why = Why("ei + belief", mean=1.25, sd=0.031, log_ei=-4.567, local=-0.25, distance=0.4)
    assert str(why) == (
        "ei + belief; expected 1.25 ± 0.031; log EI -4.57; local term -0.25; "
        "0.4 length-scales from the best"
    )


def test_a_direction_is_named_by_its_concentration_and_angle():
    why = Why("ei + direction", kappa=2.5, angle=31.6)
    assert str(why) == "ei + direction; direction κ = 2.5, 32° off"
    assert str(Why("ei + direction", kappa=2.5)) == "ei + direction"


def test_notes_come_last():
    why = Why("ei", mean=0.0, sd=1.0, notes=("jitter 1e-10", "fit failed"))
    assert str(why) == "ei; expected 0 ± 1; jitter 1e-10; fit failed"


def test_only_what_applies_is_stored():
    assert Why("initial design").to_json() == {"decided": "initial design"}
    assert Why("ei", mean=0.0, local=-0.0).to_json() == {
        "decided": "ei",
        "mean": 0.0,
        "local": -0.0,
    }


def test_a_mean_of_zero_is_a_mean():
    assert "expected 0 ±" in str(Why("ei", mean=0.0, sd=0.1))


def test_frozen_and_comparable():
    assert Why("ei", mean=1.0) == Why("ei", mean=1.0) != Why("ei", mean=2.0)
    with pytest.raises(FrozenInstanceError):
        Why("ei").mean = 1.0
