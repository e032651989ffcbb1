"""A study file is read whole or refused with the line and key; nothing in it is ignored."""

import re
import tomllib
from pathlib import Path

import pytest

import headway
from headway.errors import StudyError, TellError
from headway.shell.reading import Reading
from headway.study import Study, load, require_same

SHORT = """\
budget = 60
command = "python sim.py --x {x} --n {n}"

[parameters]
x = [-5.0, 10.0]
n = {type = "integer", low = 1, high = 8}
"""
FULL = """\
name = "beam"
goal = "maximize"
budget = {evaluations = 60, time = "8 h", cost = 200}
command = ["python", "sim.py", "{x}", "{n}", "{trial}", ["--t", "{t}"], "{alloy}", "{mesh}"]
stdin = "json"
value = "last number"
cost = {json = "seconds"}
timeout = "20 min"
retries = 2
workers = 3
storage = "sqlite:///beam.db"
seed = 7
noise = 0.5
design = 9
start = [{x = 1.0, n = 2, alloy = "steel", mesh = 5}]

[parameters]
x = {low = 1e-3, high = 10.0, log = true}
n = {type = "integer", low = 0, high = 8, step = 2}
alloy = {choices = ["steel", "alu"]}
t = {low = 1.0, high = 2.0, step = 0.25, when = {alloy = "alu"}}
mesh = {values = [1, 2, 5]}

[constraints]
stress = {regex = 'stress = (\\S+)', max = 250}
life = {read = "last number", min = 1e6}
"""


def read(text):
    return Study.of(tomllib.loads(text), file="study.toml", text=text, name="study")


def refusal(text):
    with pytest.raises(StudyError) as caught:
        read(text)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_the_shortest_file():
    study = read(SHORT)
    assert study.budget == headway.Budget(evaluations=60)
    space = {"x": (-5.0, 10.0), "n": headway.Integer(1, 8)}
    assert study.space == headway.Space.of(space)
    assert (study.name, study.goal, study.value) == ("study", "minimize", Reading("number"))
    assert (study.workers, study.retries, study.timeout, study.storage) == (1, 0, None, None)
    assert study.arguments({"x": 0.5, "n": 2}, 0) == ["python", "sim.py", "--x", "0.5", "--n", "2"]


def test_every_key():
    study = read(FULL)
    assert study.budget == headway.Budget(evaluations=60, seconds=8 * 3600.0, cost=200.0)
    assert (study.name, study.goal, study.stdin) == ("beam", "maximize", "json")
    assert (study.value, study.cost) == (Reading("last number"), Reading("json", "seconds"))
    assert (study.timeout, study.retries, study.workers) == (1200.0, 2, 3)
    assert (study.seed, study.noise, study.design) == (7, 0.5, 9)
    assert study.start == ({"x": 1.0, "n": 2, "alloy": "steel", "mesh": 5},)
    assert study.space.parameters == (
        headway.Real(1e-3, 10.0, log=True),
        headway.Integer(0, 8, step=2),
        headway.Categorical(["steel", "alu"]),
        headway.Real(1.0, 2.0, step=0.25, when=("alloy", "alu")),
        headway.Ordinal([1, 2, 5]),
    )
    assert [(c.name, c.most, c.least) for c in study.constraints] == [
        ("stress", 250.0, None),
        ("life", None, 1e6),
    ]
    assert study.input({"x": 1.0}) == '{"x": 1.0}'


HEATED = """\
budget = 9
command = COMMAND

[parameters]
alloy = {choices = ["steel", "alu"]}
temper = {low = 1.0, high = 2.0, when = {alloy = "alu"}}
"""


@pytest.mark.parametrize(
    "command",
    [
        '"sim --temper {temper} --alloy {alloy}"',
        '"sim -t {temper}C --alloy {alloy}"',
        '["sim", "--alloy", "{alloy}", "--temper", "{temper}"]',
        '["sim", "{alloy}", "--temper", ["{temper}"]]',
        '["sim", ["-a", "{alloy}", "--set"], "temper={temper}"]',
    ],
)
def test_an_option_that_would_stay_without_its_value_is_refused(command):
    message = refusal(HEATED.replace("COMMAND", command))
    assert re.match(
        r"study.toml, line 2, command: 'temper' does not exist in every trial \(it has `when`\): "
        r"where it is left out, '(--temper|-t|--set)' would stay without its value '.*temper",
        message,
    )
    written = message.partition("Write command = ")[2]
    study = read(HEATED.replace("COMMAND", written))  # the way out is one
    without = study.arguments({"alloy": "steel"}, 0)
    assert not {"--temper", "-t", "--set"} & set(without)
    assert "1.5" in " ".join(study.arguments({"alloy": "alu", "temper": 1.5}, 0))


@pytest.mark.parametrize(
    "command",
    [
        '"sim {alloy} --temper={temper}"',
        '"sim -v --temper={temper} --alloy {alloy}"',
        '"sim --alloy {alloy} {temper}"',
        '"sim --alloy={alloy} {temper}"',
        '"sim {alloy} -5 {temper}"',
        '"sim {alloy} -- {temper}"',
        '["sim", "{alloy}", ["--temper", "{temper}"]]',
        '["sim", "-v", ["--temper", "{temper}"], "{alloy}"]',
    ],
)
def test_an_option_that_goes_with_its_value_is_not_refused(command):
    study = read(HEATED.replace("COMMAND", command))
    assert "--temper" not in study.arguments({"alloy": "steel"}, 0)


def test_what_goes_into_the_storage_comes_back_and_holds_no_address():
    study = read(FULL)
    assert "storage" not in study.data
    again = Study.of(study.data, file="stored", name=study.name)
    assert (again.space, again.budget, again.constraints) == (
        study.space,
        study.budget,
        study.constraints,
    )


def test_an_output_is_read_as_the_file_says():
    study = read(FULL)
    outcome = study.read('stress = 300\nlife 1\n{"seconds": 2.5}\n2000000.0')
    assert outcome == headway.Outcome(2e6, [50.0, -1e6], 2.5)
    with pytest.raises(TellError, match=r"the cost is -1.0. Allowed: at least 0"):
        study.read('stress = 1\n{"seconds": -1}\n1')


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("budget = 60", "budgett = 60", r"line 1, budgett: the key .*Did you mean 'budget'\?$"),
        ("budget = 60", "", "study.toml: the key 'budget' is missing.*Write budget = 60"),
        ("budget = 60", "budget = 0", "line 1, budget: budget is 0 evaluations.*at least 1"),
        ("budget = 60", "budget = 1.5", "line 1, budget: budget is 1.5 evaluations"),
        ("budget = 60", 'budget = "8 hours"', "line 1, budget: '8 hours' is no duration"),
        ("budget = 60", "budget = {time = 5, runs = 3}", "line 1, budget.runs: the key 'runs'"),
        ("budget = 60", "budget = {}", "line 1, budget: .*would never end"),
        ("budget = 60", "budget = {cost = 5}", "line 1, budget: .*needs the cost.*Add cost"),
        ("{x}", "{y}", r"line 2, command: the placeholder \{y\} names no parameter"),
        ("--x {x}", "", r"line 2, command: .*no placeholder for 'x'"),
        ('{n}"', "{n} 'a\"", "line 2, command: .*cannot be split.*Close the quotes"),
        ('"python sim.py --x {x} --n {n}"', "3", "line 2, command: 3 is no text in quotes or list"),
        ('"python sim.py --x {x} --n {n}"', '[["a", true]]', "line 2, command: .*True is no text"),
        ("[-5.0, 10.0]", "[-5, 10]", r"line 5, parameters.x: \[-5, 10\] may mean whole numbers"),
        ("[-5.0, 10.0]", "[10.0, -5.0]", "line 5, parameters.x: .*Swap them"),
        ("[-5.0, 10.0]", "[1.0, 2.0, 3.0]", "line 5, parameters.x: .*is no range"),
        ("[-5.0, 10.0]", "1.0", "line 5, parameters.x: 1.0 is no list .* or table"),
        ("low = 1", "lo = 1", "line 6, parameters.n.lo: the key 'lo' .*Did you mean 'low'"),
        ("low = 1,", "", "line 6, parameters.n: the key 'low' is missing"),
        ('"integer"', '"int"', "line 6, parameters.n.type: 'int' is no kind of parameter"),
        ('type = "integer", ', "", 'line 6, parameters.n: the type cannot be told.*Add type ='),
        ("high = 8", "high = 8, when = {k = 1}", "line 6, parameters.n: 'n': when = .*unknown"),
        ("high = 8", "high = 8, when = {}", "line 6, parameters.n.when: one parameter decides"),
        ("[parameters]", "[params]", "line 4, params: the key .*Did you mean 'parameters'"),
        ("x = [-5", '"x:y" = [-5', "line 5, parameters.x:y: a name cannot have"),
        ("budget = 60", 'budget = 60\ngoal = "min"', "line 2, goal: goal is 'min'. Allowed"),
        ("budget = 60", 'budget = 60\nvalue = "first"', "line 2, value: 'first' is no way"),
        ("budget = 60", "budget = 60\ntimeout = -1", "line 2, timeout: -1 is no duration"),
        ("budget = 60", "budget = 60\nretries = -1", "line 2, retries: retries is -1"),
        ("budget = 60", "budget = 60\nworkers = 0", "line 2, workers: workers is 0"),
        ("budget = 60", "budget = 60\nnoise = -1", "line 2, noise: noise is -1"),
        ("budget = 60", "budget = 60\nseed = 1.5", "line 2, seed: seed is 1.5"),
        ("budget = 60", "budget = 60\nstdin = 'yaml'", "line 2, stdin: 'yaml' is unknown"),
        ("budget = 60", "budget = 60\nstorage = 3", "line 2, storage: 3 is no text in quotes"),
        ("budget = 60", "budget = 60\nstart = [{x = 1.0}]", "line 2, start: .*'n' is missing"),
        ("budget = 60", "budget = 1\nstart = [{x=1.0,n=1},{x=2.0,n=1}]", "line 2, start: 2 points"),
    ],
)  # fmt: skip
def test_refusals_name_the_line_and_the_key(old, new, message):
    assert old in SHORT
    text = refusal(SHORT.replace(old, new, 1))
    assert re.search(message, text), text
    assert text.startswith("study.toml")


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        ("{max = 3}", "is no way to read a number"),
        ('{json = "a"}', r"has one limit. Write s = \{json = 's', max = 250\}"),
        ('{json = "a", max = 1, min = 0}', "has one limit"),
        ('{json = "a", max = nan}', "nan is no limit. Write a finite number"),
        ('{json = "a", regex = "b", max = 1}', "is no way to read a number"),
        ('{json = "a", maks = 1}', "the key 'maks' is unknown. Allowed: 'max', 'min'"),
        ('{json = "a", max = "1"}', "'1' is no whole number or number"),
        ("3", "3 is no table"),
    ],
)
def test_constraints_that_are_none(limit, message):
    text = refusal(SHORT + f"[constraints]\ns = {limit}\n")
    assert re.search(rf"line 8, constraints.s.*: .*{message}", text), text


def test_choices_must_be_what_a_command_can_be_given():
    text = SHORT.replace('{type = "integer", low = 1, high = 8}', "{choices = [[1], 2]}")
    assert "line 6, parameters.n: [1] cannot be passed to a command" in refusal(text)


def test_files(tmp_path):
    path = tmp_path / "wing.toml"
    path.write_text(SHORT)
    assert load(path).name == "wing"
    path.write_text("budget = sixty")
    with pytest.raises(StudyError, match=r"wing.toml is not TOML: .*line 1, column 10"):
        load(path)
    path.write_bytes(b"name = '\xff'")
    with pytest.raises(StudyError, match=r"is not UTF-8"):
        load(path)
    with pytest.raises(StudyError, match=r"cannot be read: No such file.*headway init"):
        load(tmp_path / "none.toml")


def test_a_study_without_a_command_can_be_told_by_hand():
    study = read("budget = 5\n[parameters]\nx = [0.0, 1.0]\n")
    with pytest.raises(StudyError, match=r"has no command.*headway ask"):
        study.arguments({"x": 0.5}, 0)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[-5.0, 10.0]", "[-5.0, 11.0]", "'x' has high = 10.0 in this space, 11.0 in the other"),
        ("budget = 60", 'budget = 60\ngoal = "maximize"', "goal is 'minimize' here and 'maximize'"),
        ("high = 8}\n", "high = 8}\n[constraints]\ns = {json='s', max=1}", "the constraints are"),
    ],
)
def test_another_study_is_refused(old, new, message):
    with pytest.raises(StudyError, match=message):
        require_same(read(SHORT), read(SHORT.replace(old, new)))


def test_all_else_may_change():
    other = SHORT.replace(
        "budget = 60", "budget = 70\ntimeout = 5\nnoise = 0\nvalue = 'last number'"
    )
    require_same(read(SHORT), read(other.replace("sim.py", "new.py")))


@pytest.mark.parametrize("path", sorted(Path("examples").glob("*/study.toml")), ids=str)
def test_the_examples(path):
    assert load(path).command is not None
