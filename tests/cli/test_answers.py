"""best, status, export, report and init; and errors at the door with their exit codes."""

import csv
import importlib.util
import io
import json
import subprocess
import sys

import pytest

from tests.cli.desk import PYTHON, SRC


@pytest.fixture
def ran(desk):
    desk.write(budget=5)
    assert desk.call("run", "-q").code == 0
    return desk


def test_best_and_status(ran):
    done = ran.call("status")
    assert done.code == 0 and done.out.startswith(
        "The budget is spent: 5 of 5 evaluations.\nBest: "
    )
    status = ran.call("status", "--json").json
    assert (status["done"], status["told"], status["failed"]) == (True, 5, 0)
    assert status["budget"] == {"evaluations": 5} and status["goal"] == "minimize"
    best = ran.call("best", "--json").json
    assert best == status["best"] and best["state"] == "told"


def test_before_anything_ran(desk):
    desk.write()
    done = desk.call("best")
    assert done.code == 4 and "there is no study yet" in done.err and "headway run" in done.err
    assert not (desk.folder / "study.journal").exists()
    desk.call("ask")
    done = desk.call("best", "--json")
    assert done.code == 6 and done.json == {}
    assert "No trial has a value." in desk.call("best").out
    assert "Running: trial 0" in desk.call("status").out


def test_export(ran):
    text = ran.call("export").out
    rows = list(csv.DictReader(io.StringIO(text)))
    trials = ran.trials()
    assert [int(row["number"]) for row in rows] == [0, 1, 2, 3, 4]
    assert [float(row["value"]) for row in rows] == [t["value"] for t in trials]
    assert [float(row["x"]) for row in rows] == [t["params"]["x"] for t in trials]
    assert rows[0]["why"] == "initial design"
    done = ran.call("export", "-o", "t.csv")
    assert done.out == "Wrote t.csv.\n" and (ran.folder / "t.csv").read_text() == text
    ran.call("export", "-o", "t.json")
    assert json.loads((ran.folder / "t.json").read_text()) == trials
    done = ran.call("export", "-o", "t.xls")
    assert done.code == 3 and "Allowed: .csv or .json" in done.err
    done = ran.call("export", "-o", "no/t.csv")
    assert done.code == 3 and "cannot be written: No such file" in done.err


def test_report(ran):
    done = ran.call("report", "-o", "page.html")
    assert done.code == 0 and done.out == "Wrote page.html.\n"
    assert "<h1>study</h1>" in (ran.folder / "page.html").read_text()


def test_any_study_of_optunas_can_be_looked_at(desk):
    import optuna

    storage = f"sqlite:///{desk.folder}/s.db"
    study = optuna.create_study(study_name="theirs", storage=storage, direction="maximize")
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=5)
    where = ("--storage", "sqlite:///s.db")
    best = desk.call("best", *where, "--json").json
    assert best["params"]["x"] == study.best_params["x"]
    assert desk.call("status", *where).out.startswith("So far: 5 trials finished.")
    assert desk.call("report", *where).code == 0
    done = desk.call("work", *where)
    assert done.code == 3 and "was not begun with a study file" in done.err
    done = desk.call("best", *where, "--study", "ours")
    assert done.code == 4 and "no study 'ours': the studies are 'theirs'" in done.err


@pytest.mark.parametrize("command", ["run", "work", "ask", "best", "status", "report", "export"])
def test_doors_without_a_study(desk, command):
    done = desk.call(command)
    assert done.code == 3
    assert "there is no 'study.toml' here" in done.err and "headway init" in done.err
    done = desk.call(command, "wing.toml")
    assert done.code == 3 and "'wing.toml' cannot be read: No such file" in done.err
    done = desk.call(command, "wing.journal")
    assert done.code == 3 and "is no study file" in done.err


def test_an_error_is_one_line_and_json_where_json_is_wanted(desk):
    desk.write(budget="0")
    done = desk.call("run", "--json")
    assert (
        done.code == 3 and done.err.count("\n") == 1 and done.err.startswith("headway: study.toml,")
    )
    error = done.json["error"]
    assert (error["kind"], error["exit"]) == ("StudyError", 3)
    assert error["message"].startswith("study.toml, line 1, budget: budget is 0 evaluations.")


@pytest.mark.skipif(importlib.util.find_spec("psycopg") is None, reason="no driver is installed")
@pytest.mark.parametrize("command", ["run", "work", "best"])
def test_a_storage_out_of_reach(desk, command, caplog):
    desk.write()
    url = "postgresql://lab:s3cret@127.0.0.1:9/studies"
    done = desk.call(command, "study.toml", "--storage", url)
    assert done.code == 4
    assert "postgresql://lab:***@127.0.0.1:9/studies cannot be used" in done.err
    assert "s3cret" not in done.out + done.err + caplog.text


def test_a_wrong_command_line(desk):
    assert desk.call("frobnicate").code == 2
    assert desk.call("run", "-j", "0").code == 2
    assert desk.call("tell", "study.toml").code == 2


def test_help_teaches_by_example(desk):
    for command in ("run", "work", "ask", "tell", "best", "status", "report", "export", "init"):
        done = desk.call(command, "--help")
        assert done.code == 0 and f"headway {command}" in " ".join(done.out.split()), command
    assert "Exit codes" in desk.call("--help").out
    assert desk.call("--version").out.startswith("headway ")


def test_completion():
    """The shell asks for what may follow."""
    done = subprocess.run(
        [sys.executable, "-m", "headway"],
        env={"PYTHONPATH": str(SRC), "_HEADWAY_COMPLETE": "complete_bash",
             "COMP_WORDS": "headway st", "COMP_CWORD": "1"},
        capture_output=True,
        text=True,
    )  # fmt: skip
    assert done.stdout.split() == ["status"] or "status" in done.stdout


@pytest.mark.parametrize("missing", ["typer", "optuna", "rich"])
def test_without_the_extra(missing):
    code = (
        f"import sys; sys.modules[{missing!r}] = None; sys.argv = ['headway', 'best', 'x.toml']; "
        "from headway.__main__ import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 2
    assert f"needs {missing}, which is not installed" in done.stderr
    assert 'pip install "headway[cli]"' in done.stderr and "Traceback" not in done.stderr


# init


def test_two_commands_from_nothing_to_the_answer(desk):
    answers = [
        f"{PYTHON} sim.py {{x}} {{n}}",
        "-5 to 10",
        "1 to 4 integer",
        "min",
        "8",
        "last number",
        "1 min",
    ]
    done = desk.call("init", input="\n".join(answers) + "\n")
    assert done.code == 0 and done.out == "Wrote study.toml. Next: headway run study.toml\n"
    done = desk.call("run", "study.toml")
    assert done.code == 0 and "8 of 8 evaluations" in done.out
    for trial in desk.trials():
        assert -5 <= trial["params"]["x"] <= 10 and trial["params"]["n"] in (1, 2, 3, 4)


def test_an_answer_that_cannot_be_read_is_asked_again(desk):
    answers = [
        *("python sim.py", "python sim.py {a} {b} {c}"),
        *("wide", "0 to 1"),
        "steel, aluminium",
        "1, 2, 5",
        *("sideways", "maximize"),
        *("many", "8 h"),
        *("first", "regex mass = (\\S+)"),
        "none",
    ]
    done = desk.call("init", "wing.toml", input="\n".join(answers) + "\n")
    assert done.code == 0, done.err
    for complaint in ("no placeholder", "'wide' is neither", "'sideways'", "'many' is no duration"):
        assert complaint in done.err
    from headway.study import load

    study = load(desk.folder / "wing.toml")
    assert study.goal == "maximize" and study.budget.seconds == 8 * 3600
    assert [p.count for p in study.space.parameters] == [None, 2, 3]
    assert study.value.pattern == r"mass = (\S+)" and study.timeout is None


def test_init_replaces_nothing_and_leaves_nothing_half_done(desk):
    desk.write()
    before = (desk.folder / "study.toml").read_text()
    done = desk.call("init", "--defaults")
    assert done.code == 3 and "'study.toml' exists" in done.err
    done = desk.call("init", "--force", input="python x.py {a}\n")
    assert done.code == 3 and "there is nobody to answer" in done.err
    assert (desk.folder / "study.toml").read_text() == before
    assert desk.call("init", "--defaults", "--force", "--json").json == {"study": "study.toml"}
    done = desk.call("init", "study.yaml", "--defaults")
    assert done.code == 3 and "a name ending in .toml" in done.err
