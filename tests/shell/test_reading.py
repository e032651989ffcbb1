"""A number is read from an output, or an error says why not; nothing is guessed."""

import pytest

from headway.errors import StudyError, TellError
from headway.shell.reading import Ambiguous, Reading

NUMBER, LAST = Reading("number"), Reading("last number")


@pytest.mark.parametrize(
    ("output", "value"),
    [
        ("1.25\n", 1.25),
        ("mass: -3.5e-2 kg", -0.035),
        ("the mass is 3.5.", 3.5),
        ("done in step x2, solver 1.2.3, 2-D: .5", 0.5),
        ("1.5D+03", 1500.0),
        ("+7", 7.0),
        ("mass=12,", 12.0),
        ("run-7 of 2024-11-20: -4.", -4.0),
        ("mass = \u22123.5", -3.5),
    ],
)
def test_the_only_number(output, value):
    assert NUMBER.read(output) == value


def test_two_numbers_are_not_guessed():
    with pytest.raises(Ambiguous, match=r"printed 2 numbers .* \(1, 2\).*last number"):
        NUMBER.read("1\n2\n")
    assert LAST.read("1\n2\n") == 2.0


@pytest.mark.parametrize("output", ["1,234,567.8", "mass -1,234", "x = 1,5 m", "2 12,345."])
def test_commas_are_not_guessed(output):
    with pytest.raises(Ambiguous, match=r"printed '.*,.*', which may be one number or several"):
        LAST.read(output)
    with pytest.raises(Ambiguous):
        NUMBER.read(output)


@pytest.mark.parametrize("output", ["0.5,1.5,2.5", "1, 2.5", "1,2,2.5", "1,234 2.5", "1,5; 2.5"])
def test_a_line_of_numbers_with_commas_has_a_last_one(output):
    assert LAST.read(output) == 2.5


@pytest.mark.parametrize("output", ["", "no number here", "v1.2.3 x2 3kg", "2024-11-20", "x-3"])
def test_no_number(output):
    with pytest.raises(TellError, match=r"printed no number"):
        NUMBER.read(output)
    with pytest.raises(TellError, match=r"printed no number"):
        LAST.read(output)


def test_the_end_of_the_output_is_shown():
    with pytest.raises(TellError, match=r"its output ends: '.*licence server'"):
        NUMBER.read("x" * 10_000 + " no licence server")
    with pytest.raises(TellError, match=r"it printed nothing on its standard output"):
        NUMBER.read(" \n")


@pytest.mark.parametrize("word", ["nan", "inf", "-Infinity"])
def test_a_number_that_is_not_finite_is_no_value(word):
    with pytest.raises(TellError, match=r"the command printed (nan|-?inf)"):
        LAST.read(f"mass = {word}")


def test_a_regular_expression_takes_its_last_match():
    reading = Reading.of({"regex": r"^mass = (\S+)"})
    assert reading.read("mass = 1\nmass = 2.5\nmass: 3") == 2.5
    assert Reading.of({"regex": r"[0-9]+(?= kg)"}).read("12 kg of 14") == 12
    with pytest.raises(TellError, match=r"matches nothing in the output; its output ends: 'none'"):
        reading.read("none")
    with pytest.raises(TellError, match=r"'abc' was read, which is not a number"):
        reading.read("mass = abc")


def test_json():
    reading = Reading.of({"json": "result.mass"})
    assert reading.read('log 1 2\n{"result": {"mass": 2.5}}\nbye') == 2.5
    assert reading.read('{\n "result": {\n "mass": 3}}') == 3.0
    assert reading.read('{"result.mass": 4}') == 4.0
    with pytest.raises(TellError, match=r"has no key 'result.mass'"):
        reading.read('{"result": 1}')
    with pytest.raises(TellError, match=r"printed no JSON object"):
        reading.read("2.5")
    for text in ('{"result": {"mass": true}}', '{"result": {"mass": null}}'):
        with pytest.raises(TellError, match=r"which is not a number"):
            reading.read(text)
    with pytest.raises(TellError, match=r"printed nan"):
        reading.read('{"result": {"mass": NaN}}')


@pytest.mark.parametrize(
    "given", ["first number", {"regex": 3}, {"regex": "a", "json": "b"}, {}, 1, {"xml": "a"}]
)
def test_no_other_way(given):
    with pytest.raises(StudyError, match=r"is no way to read a number. Allowed: .*last number"):
        Reading.of(given)


def test_bad_patterns():
    with pytest.raises(StudyError, match=r"is no regular expression: .*single quotes"):
        Reading.of({"regex": "(a"})
    with pytest.raises(StudyError, match=r"has 2 groups. Allowed: at most one"):
        Reading.of({"regex": "(a)(b)"})
