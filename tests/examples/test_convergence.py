"""The picture of convergence: well-formed, and everything in it where it belongs."""

import math
import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from examples.convergence import HEIGHT, WIDTH, Curve, draw, ticks_for

SVG = "{http://www.w3.org/2000/svg}"


def picture(*curves):
    return ElementTree.fromstring(draw(curves, title="A < B & C", unit="loss"))


def test_the_best_so_far_skips_failures():
    assert Curve("a", [None, 3.0, 5.0, None, 1.0]).best == [math.inf, 3.0, 3.0, 3.0, 1.0]


def test_every_evaluation_has_a_mark_and_every_curve_a_line_and_a_name():
    root = picture(Curve("one", [3.0, None, 2.0]), Curve("two", [4.0, 2.5, None, None]))
    kinds = [element.get("class") or "" for element in root.iter()]
    assert sum(kind.startswith("ring") for kind in kinds) == 4
    assert sum(kind.startswith("cross") for kind in kinds) == 3
    assert sum(kind.startswith("line") for kind in kinds) == 2
    texts = [element.text for element in root.iter(f"{SVG}text")]
    assert {"A < B & C", "one", "two"} <= set(texts)


def test_everything_lies_in_the_picture_also_when_values_are_far_apart():
    root = picture(Curve("one", [1e6, None, 2e-3]), Curve("two", [-4.0, 2.5e3]))
    for element in root.iter():
        for name, limit in (("x", WIDTH), ("cx", WIDTH), ("y", HEIGHT), ("cy", HEIGHT)):
            if element.get(name) is not None:
                assert 0 <= float(element.get(name)) <= limit
        for number in re.findall(r"[MHV]([\d.-]+)", element.get("d", "")):
            assert 0 <= float(number) <= WIDTH


def test_names_do_not_overlap_where_curves_end_together():
    root = picture(Curve("one", [3.0, 2.0]), Curve("two", [4.0, 2.0]))
    ends = [float(e.get("y")) for e in root.iter(f"{SVG}text") if "name" in (e.get("class") or "")]
    assert abs(ends[0] - ends[1]) >= 30


def test_it_has_colours_for_light_and_dark():
    assert "prefers-color-scheme: dark" in draw([Curve("one", [1.0])], title="t", unit="u")


@pytest.mark.parametrize(
    ("low", "high"), [(0, 1), (423.7, 851.2), (-3e-5, 2e-5), (5, 5), (0, 0), (-2e9, 7)]
)
def test_ticks_are_round_and_enclose(low, high):
    ticks = ticks_for(low, high)
    assert ticks[0] <= low and ticks[-1] >= high
    assert 2 <= len(ticks) <= 8
    assert all(b > a for a, b in pairwise(ticks))


def test_nothing_to_draw_is_an_error():
    with pytest.raises(ValueError, match="no curve has a value"):
        draw([Curve("one", [None, None])], title="t", unit="u")
    with pytest.raises(ValueError, match="0 curves"):
        draw([], title="t", unit="u")
