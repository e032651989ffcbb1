"""`headway run`: the budget is spent exactly, whatever the command does."""

import json
import subprocess

import optuna
import pytest

from headway.optuna import HeadwaySampler
from headway.shell.command import as_text
from headway.study import load
from tests.cli.desk import PYTHON

SLOW = """
import os, sys, time
open(f"begun-{os.environ['HEADWAY_TRIAL']}", "w").write(str(os.getpid()))
time.sleep(0.4)
print(float(sys.argv[1]) ** 2)
"""


def test_a_run(desk):
    desk.write(budget=8)
    done = desk.call("run", "study.toml")
    assert done.code == 0
    assert "The budget is spent: 8 of 8 evaluations." in done.out
    lines = [line for line in done.err.splitlines() if line.startswith("trial ")]
    assert len(lines) == 8
    best = min(desk.trials(), key=lambda trial: trial["value"])
    assert f"Best: {best['value']:.10g} (trial {best['number']})" in done.out
    assert f"  x  {best['params']['x']}\n" in done.out
    command = f"sim.py {best['params']['x']} {best['params']['n']}"
    assert f"Its command: {PYTHON} {command}" in done.out


def test_the_study_is_optunas_with_our_sampler(desk):
    """The same trials as a study in a user's own program."""
    desk.write(budget=10, more="noise = 0\nseed = 3")
    desk.call("run")
    sampler = HeadwaySampler(10, seed=3, noise=0, space=load(desk.folder / "study.toml").space)
    study = optuna.create_study(sampler=sampler)

    def f(trial):
        x, n = trial.suggest_float("x", -5.0, 10.0), trial.suggest_int("n", 1, 4)
        return float(repr((x - 2) ** 2 + n))

    study.optimize(f, n_trials=10)
    assert [t["params"] for t in desk.trials()] == [t.params for t in study.trials]


def test_json(desk):
    desk.write(budget=3)
    done = desk.call("run", "--json")
    assert done.code == 0 and done.err == ""
    events = done.lines
    assert [e["event"] for e in events] == ["begun", "told"] * 3 + ["end"]
    assert events[0]["why"] == "initial design" and set(events[0]["params"]) == {"x", "n"}
    end = events[-1]
    assert (end["exit"], end["done"], end["finished"]) == (0, True, 3)
    assert end["best"]["value"] == min(e["value"] for e in events if e["event"] == "told")


def test_several_at_a_time(desk):
    desk.simulate(SLOW)
    desk.write(budget=6)
    assert desk.call("run", "-j", 3).code == 0
    spans = [(t["began"], t["ended"]) for t in desk.trials()]
    together = [sum(b <= begin < e for b, e in spans) for begin, _ in spans]
    assert max(together) == 3


def test_failures_are_told_with_their_reason_and_the_run_goes_on(desk):
    desk.simulate(
        """
        import sys, time
        number, x = int(sys.argv[3]), float(sys.argv[1])
        if number == 1: sys.exit("no licence")
        if number == 2: time.sleep(60)
        if number == 3: print("nothing to see")
        elif number == 4: print("nan")
        elif number == 5: print("1 2")
        elif number == 6: import os; os.kill(os.getpid(), 9)
        else: print(x)
        """
    )
    desk.write(budget=9, more="timeout = 0.7")
    path = desk.folder / "study.toml"
    path.write_text(path.read_text().replace("{n}", "{n} {trial}"))
    done = desk.call("run")
    assert done.code == 0, done.err
    trials = desk.trials()
    assert [t["state"] for t in trials] == ["told", *["failed"] * 6, "told", "told"]
    for trial, reason in zip(
        trials[1:7],
        (
            "it ended with exit status 1: no licence",
            "it took longer than the time-out of 0.7 s and was ended",
            "the command printed no number; its output ends: 'nothing to see'",
            "the command printed nan",
            "the command printed 2 numbers where one was expected (1, 2)",
            "it was ended by SIGKILL",
        ),
        strict=True,
    ):
        assert trial["error"].startswith(reason)
    assert "trial    1  failed  it ended with exit status 1: no licence" in done.err
    assert "9 of 9 evaluations. 6 failed." in done.out


def test_when_every_trial_fails_the_run_stops_and_shows_the_first(desk):
    desk.simulate("import sys; sys.exit('no licence')")
    desk.write(budget=50)
    done = desk.call("run")
    assert done.code == 5
    assert desk.states() == ["failed"] * 5
    text = (
        "headway: each of the 5 trials failed; the first was trial 0: it ended with exit status 1"
    )
    assert text in done.err and "run again" in done.err
    assert desk.call("run").code == 5  # five more chances for a mended command
    assert desk.states() == ["failed"] * 10


def test_a_small_budget_whose_trials_all_fail(desk):
    desk.simulate("")
    desk.write(budget=2)
    done = desk.call("run", "--json")
    assert done.code == 5 and "printed no number" in done.err
    assert done.lines[-1]["error"]["exit"] == 5
    assert desk.call("run").code == 5  # nothing is left, and it says so again


def test_two_numbers_at_the_first_trial_stop_the_run(desk):
    desk.simulate("print(1, 2)")
    desk.write(budget=50)
    done = desk.call("run")
    assert done.code == 5 and desk.states() == ["failed"]
    assert "headway: trial 0: the command printed 2 numbers" in done.err
    desk.write(budget=50, more='value = "last number"')
    assert desk.call("run", "-j", 2).code == 0
    assert desk.states() == ["failed"] + ["told"] * 49


def test_a_command_that_is_not_there_spends_nothing(desk):
    desk.write()
    path = desk.folder / "study.toml"
    text = path.read_text()
    path.write_text(text.replace(PYTHON, "./no-such-solver"))
    done = desk.call("run")
    assert done.code == 5 and desk.states() == []
    assert done.err.startswith("headway: the command './no-such-solver' cannot be started: No such")
    path.write_text(text)
    assert desk.call("run").code == 0


def test_a_command_that_goes_away_during_the_run(desk):
    tool = desk.folder / "tool"
    tool.write_text('#!/bin/sh\necho 1$1\n[ "$2" = 2 ] && rm -f tool\nexit 0\n')
    tool.chmod(0o755)
    desk.write(budget=6)
    path = desk.folder / "study.toml"
    command = f'"{PYTHON} sim.py {{x}} {{n}}"'
    text = path.read_text().replace(command, '["./tool", "{n}", "{trial}", "{x}"]')
    path.write_text(text)
    done = desk.call("run")
    assert done.code == 5 and "'./tool' cannot be started" in done.err
    # The trial that could not begin spends nothing, and its point waits.
    assert desk.states() == ["told"] * 3 + ["void", "waiting"]
    path.write_text(text.replace("./tool", "echo"))
    desk.write(budget=6)
    assert desk.call("run").code == 0
    trials = desk.trials()
    assert [t["state"] for t in trials].count("told") == 6
    assert trials[4]["params"] == trials[3]["params"] and trials[4]["state"] == "told"
    assert trials[4]["why"].startswith("the point of trial 3 again")


def test_retries(desk):
    desk.simulate(
        """
        import os, sys
        mark = f"tried-{os.environ['HEADWAY_TRIAL']}"
        if not os.path.exists(mark):
            open(mark, "w"); sys.exit("once")
        print(1)
        """
    )
    desk.write(budget=3, more="retries = 1")
    desk.call("run")
    assert desk.states() == ["told"] * 3


def test_more_budget_goes_on_and_less_is_refused(desk):
    desk.write(budget=4)
    desk.call("run")
    before = desk.trials()
    desk.write(budget=7)
    assert desk.call("run").code == 0
    assert desk.trials()[:4] == before and len(desk.trials()) == 7
    desk.write(budget=5)
    done = desk.call("run")
    assert done.code == 3
    assert "the new budget of 5 evaluations is smaller than the 7 already spent" in done.err
    assert len(desk.trials("study.journal")) == 7


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("10.0]", "11.0]", "'x' has high = 11.0 in this space, 10.0 in the other"),
        ("budget", 'goal = "maximize"\nbudget', "goal is 'maximize' here"),
    ],
)
def test_a_study_of_another_space_is_refused_and_kept(desk, old, new, message):
    desk.write(budget=3)
    desk.call("run")
    before = (desk.folder / "study.journal").read_bytes()
    path = desk.folder / "study.toml"
    path.write_text(path.read_text().replace(old, new))
    for command in ("run", "ask"):
        done = desk.call(command)
        assert done.code == 3 and message in done.err and "a new name" in done.err
    assert (desk.folder / "study.journal").read_bytes() == before
    path.write_text('name = "other"\n' + path.read_text())
    assert desk.call("run").code == 0  # side by side in the same journal
    assert len(desk.trials("study.journal", "--study", "study")) == 3


def test_a_study_that_somebody_else_began_is_left_alone(desk):
    storage = f"sqlite:///{desk.folder}/s.db"
    optuna.create_study(study_name="study", storage=storage).optimize(lambda t: 1.0, n_trials=1)
    desk.write(more='storage = "sqlite:///s.db"')
    done = desk.call("run")
    assert done.code == 3 and "was not begun with a study file" in done.err
    assert desk.call("best", "--storage", "sqlite:///s.db").code == 0  # looking is fine


@pytest.mark.parametrize("storage", ["sqlite:///s.db", "other.journal"])
def test_other_storages(desk, storage):
    desk.write(more=f"storage = {json.dumps(storage)}")
    assert desk.call("run", "-j", 2).code == 0
    assert desk.states() == ["told"] * 6
    assert (desk.folder / storage.removeprefix("sqlite:///")).exists()


def test_constraints(desk):
    desk.simulate("import sys; x = float(sys.argv[1]); print(f'mass {x + 6}\\nstress {4 - x}')")
    readings = "value = {regex = 'mass (.*)'}"
    desk.write(budget=15, more=readings, end="[constraints]\ns = {regex='stress (.*)', max = 3}")
    done = desk.call("run")
    assert done.code == 0
    best = desk.call("best", "--json").json
    assert best["params"]["x"] >= 1 and best["value"] < 8
    assert best["constraints"] == {"s": 1 - best["params"]["x"]}
    assert "s: met, " in done.out and "over its limits: s +" in done.err


def test_when_nothing_meets_the_constraints(desk):
    desk.simulate("print('mass 1\\nstress 4')")
    readings = "value = {regex = 'mass (.*)'}"
    desk.write(budget=3, more=readings, end="[constraints]\ns = {regex='stress (.*)', max = 3}")
    done = desk.call("run")
    assert done.code == 6
    assert "No trial met the constraints; this one passes its limits least:" in done.out
    assert "s: passed, 1 from its limit" in done.out


def test_maximize(desk):
    desk.simulate("import sys; print(-(float(sys.argv[1]) - 2) ** 2)")
    desk.write(budget=12, more='goal = "maximize"')
    desk.call("run")
    assert desk.call("best", "--json").json["value"] > -0.5


def test_a_budget_of_cost(desk):
    desk.simulate('import sys; print(\'{"v": 1.5, "c": 2.0}\')')
    desk.write(budget="{cost = 7}", more='value = {json = "v"}\ncost = {json = "c"}')
    done = desk.call("run")
    assert done.code == 0 and desk.states() == ["told"] * 4  # the last one may overrun
    assert "cost 8 of 7" in done.out


def test_a_budget_of_time(desk):
    desk.simulate("import time; time.sleep(0.3); print(1)")
    desk.write(budget='"1 s"')
    assert desk.call("run").code == 0
    assert 2 <= len(desk.trials()) <= 4
    assert desk.call("run").code == 0 and len(desk.trials()) <= 4  # time is used up


def test_points_to_start_with(desk):
    desk.write(more="start = [{x = 2.0, n = 1}, {x = 3.0, n = 2}]")
    desk.call("run")
    desk.call("run")
    trials = desk.trials()
    assert len(trials) == 6
    assert [t["params"] for t in trials[:2]] == [{"x": 2.0, "n": 1}, {"x": 3.0, "n": 2}]
    assert trials[0]["why"] == "a point to start with"


def test_every_kind_of_parameter_on_standard_input(desk):
    desk.simulate(
        """
        import json, sys
        given = json.load(sys.stdin)
        open("seen.jsonl", "a").write(json.dumps(given) + "\\n")
        print(given["a"] + given["mesh"] + given.get("t", 0))
        """
    )
    desk.write(
        budget=12,
        text="""
budget = {budget}
command = "{python} sim.py"
stdin = "json"
[parameters]
t = {{low = 1.0, high = 2.0, step = 0.25, when = {{alloy = ["alu", "ti"]}}}}
alloy = {{choices = ["steel", "alu", "ti"]}}
a = {{low = 1e-3, high = 10.0, log = true}}
mesh = {{values = [1, 2.5, 5]}}
on = {{choices = [true, false]}}
{more}{end}""",
    )
    assert desk.call("run").code == 0
    seen = [json.loads(line) for line in (desk.folder / "seen.jsonl").read_text().splitlines()]
    assert seen == [t["params"] for t in desk.trials()]
    for given in seen:
        assert ("t" in given) == (given["alloy"] != "steel")
        assert given["mesh"] in (1, 2.5, 5) and type(given["on"]) is bool
    assert {g["alloy"] for g in seen} >= {"steel", "alu"}


def test_the_best_command_can_be_pasted(desk):
    desk.write(
        budget=2,
        text="""
budget = {budget}
command = ["echo", "it's {{name}}", "3"]
value = "last number"
[parameters]
name = {{choices = ["a b", "c;d"]}}
{more}{end}""",
    )
    done = desk.call("run")
    line = next(line for line in done.out.splitlines() if line.startswith("Its command: "))
    name = desk.call("best", "--json").json["params"]["name"]
    pasted = subprocess.run(line.removeprefix("Its command: "), shell=True, capture_output=True)
    assert pasted.stdout.decode() == f"it's {name} 3\n"


def test_values_as_text():
    assert [as_text(v) for v in ("a", 1, 0.1, True, 1e-7)] == ["a", "1", "0.1", "true", "1e-07"]


def test_quiet(desk):
    desk.write(budget=2)
    done = desk.call("run", "-q")
    assert done.err == "" and "Best: " in done.out
