"""Eight workers on a real PostgreSQL server: the budget exactly, also when some of them die."""

import os
import re
import signal
import subprocess
import sys
import time

import psycopg
import pytest

from tests.cli.desk import PYTHON, SRC, Desk, ended
from tests.doors.postgres import PASSWORD, QUOTED, server

STUDY = """
name = "{name}"
budget = {budget}
command = "{python} sim.py {{x}} {{y}}"
[parameters]
x = [-5.0, 10.0]
y = [0.0, 15.0]
"""
BRIEF = (
    "import random, sys, time; time.sleep(0.2 * random.random()); print(float(sys.argv[1]) ** 2)"
)


@pytest.fixture(scope="module")
def port():
    with server() as port:
        yield port


@pytest.fixture
def desk(tmp_path, monkeypatch, port):
    """A desk whose storage is the server; the password comes from the environment."""
    desk = Desk(tmp_path, monkeypatch)
    monkeypatch.setenv("HEADWAY_STORAGE", f"postgresql://lab@127.0.0.1:{port}/studies")
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    return desk


def begin(desk, name, *, budget, code=BRIEF):
    """A study with its first trial told, so that workers can join."""
    desk.simulate(code)
    text = STUDY.format(name=name, budget=budget, python=PYTHON)
    (desk.folder / "study.toml").write_text(text)
    asked = desk.call("ask")
    assert asked.code == 0, asked.err
    assert desk.call("tell", "study.toml", "0", "3.5").code == 0


def test_eight_workers_end_with_exactly_the_budget(desk):
    begin(desk, "eight", budget=60)
    workers = [desk.start("work", "--study", "eight", "--json") for _ in range(8)]
    done = [ended(worker, seconds=120) for worker in workers]
    assert [d.code for d in done] == [0] * 8, [d.err for d in done]
    status = desk.call("status", "--json").json
    assert (status["told"], status["finished"], status["running"]) == (60, 60, 0)
    states = desk.states()
    assert states.count("told") == 60 and set(states) <= {"told", "void"}
    told = [event["number"] for d in done for event in d.lines if event["event"] == "told"]
    assert len(told) == len(set(told)) == 59  # each by one worker, and one by hand
    trials = [trial for trial in desk.trials() if trial["state"] == "void"]
    assert all(trial["error"] == "over budget" and not trial["params"] for trial in trials)
    points = [str(trial["params"]) for trial in desk.trials() if trial["state"] == "told"]
    assert len(set(points)) == 60


def test_the_trials_of_killed_workers_are_evaluated_by_the_others(desk):
    code = """
    import os, sys, time
    open(f"begun-{os.environ['HEADWAY_TRIAL']}", "w")
    # The first trials of the workers hang, until their worker is killed.
    while os.environ.get("HANG") and not os.path.exists("go"): time.sleep(0.05)
    print(float(sys.argv[1]) ** 2)
    """
    begin(desk, "killed", budget=12, code=code)
    os.environ["HANG"] = "1"
    try:
        doomed = [desk.start("work", "--study", "killed", "--patience", "3") for _ in range(3)]
        desk.wait_for_files("begun-*", 3)
    finally:
        del os.environ["HANG"]
    for worker in doomed:
        ended(worker, signal.SIGKILL)
    assert desk.states().count("running") == 3
    done = desk.call("run", "-j", "2", "--patience", "3")
    (desk.folder / "go").touch()  # ends what the killed workers left behind
    assert done.code == 0
    assert done.err.count("is evaluated again: its worker died") == 3
    states = desk.states()
    assert states.count("told") == 12 and states.count("void") == 3


def test_a_server_that_restarts_costs_no_result(desk, port):
    """Every connection is cut in the middle of a run."""
    begin(desk, "cut", budget=14, code="import time; time.sleep(0.3); print(1.5)")
    worker = desk.start("work", "--study", "cut", "-j", "2", "--json")
    desk.wait_for(lambda: desk.states().count("told") >= 4)
    for _ in range(3):
        with psycopg.connect(
            host="127.0.0.1", port=port, user="lab", password=PASSWORD, dbname="studies"
        ) as connection:
            connection.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity "
                "where pid <> pg_backend_pid() and datname = 'studies'"
            )
        time.sleep(0.3)
    done = ended(worker, seconds=90)
    assert done.code == 0, done.err
    assert desk.call("status", "--json").json["told"] == 14


def test_a_wrong_password_is_not_shown(desk, port, monkeypatch):
    begin(desk, "secret", budget=3)
    monkeypatch.delenv("PGPASSWORD")
    url = f"postgresql://lab:not{QUOTED}@127.0.0.1:{port}/studies"
    done = desk.call("status", "study.toml", "--storage", url)
    assert done.code == 4
    assert re.search(r"lab:\*\*\*@.*cannot be used: .*password authentication failed", done.err)
    for secret in (QUOTED, PASSWORD):
        assert secret not in done.out + done.err
    url = f"postgresql://lab:{QUOTED}@127.0.0.1:{port}/studies"
    assert desk.call("status", "study.toml", "--storage", url).code == 0
    # The definition that workers read holds no address.
    with psycopg.connect(
        host="127.0.0.1", port=port, user="lab", password=PASSWORD, dbname="studies"
    ) as connection:
        stored = connection.execute("select value_json from study_user_attributes").fetchall()
    assert stored and QUOTED not in str(stored)


def test_no_traceback_shows_the_password(desk, port):
    """Not even of a bug of ours: the command line prints no local variables."""
    url = f"postgresql://lab:{QUOTED}@127.0.0.1:{port}/studies"
    code = (
        "import sys; import headway.shell.places as p; sys.argv = ['headway', 'status', "
        "'study.toml', '--storage', sys.argv[1]]\n"
        "def broken(place): raise RuntimeError('a bug')\n"
        "p.find = broken\n"
        "from headway.__main__ import main; main()"
    )
    begin(desk, "bug", budget=3)
    done = subprocess.run(
        [sys.executable, "-c", code, url],
        capture_output=True,
        text=True,
        cwd=desk.folder,
        env={**os.environ, "PYTHONPATH": str(SRC)},
    )
    assert done.returncode == 1 and "RuntimeError: a bug" in done.stderr
    assert QUOTED not in done.stderr
