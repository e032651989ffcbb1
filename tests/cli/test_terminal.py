"""What a run looks like on a terminal."""

import io
import os
import pty
import select
import subprocess
import sys
import time

import optuna
import pytest
from rich.console import Console

from headway.budget import Budget
from headway.outcome import Outcome
from headway.shell.accounts import Account
from headway.shell.console import Lines, Picture, brief, line_of
from headway.shell.telling import Failure
from headway.shell.worker import Job
from headway.study import Study
from tests.cli.desk import SRC

STUDY = Study.of(
    {
        "name": "beam",
        "budget": 4,
        "command": "sim {x} {alloy}",
        "parameters": {
            "x": {"type": "real", "low": 0, "high": 1},
            "alloy": {"choices": ["[red]steel[/]", "alu"]},
        },
        "constraints": {"stress": {"json": "stress", "max": 5}},
    },
    file="study.toml",
    name="beam",
)


def job_of(study, x=0.25, why="initial design"):
    trial = study.ask()
    params = {"x": x, "alloy": "[red]steel[/]"}
    return Job(trial, params, why, time.monotonic() - 65)


def picture(width=100):
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=width, height=40, color_system=None)
    return Picture(console, STUDY), console, stream


def drawn(width=100, *, told=()):
    """The picture with one running trial, as text."""
    study = optuna.create_study()
    for value in told:
        study.tell(study.ask({"x": optuna.distributions.FloatDistribution(0, 1)}), value)
    job = job_of(study)
    account = Account.of(study.get_trials(), budget=STUDY.budget, goal="minimize")
    view, console, stream = picture(width)
    console.print(view._draw(account, [job]))
    return stream.getvalue()


def test_the_picture_says_best_budget_and_what_runs_and_why():
    text = drawn(told=[3.5, 1.25])
    assert "beam  minimize" in text
    assert "best  1.25  trial 1  x=" in text
    assert "3 of 4 evaluations (1 of them still running), about " in text and " left" in text
    assert "trial 2  1 min 05 s  x=0.25 alloy=[red]steel[/]   initial design" in text


def idle(study, *mine, budget=3):
    """What the picture says while no command of this worker runs."""
    view, console, stream = picture()
    for job in mine:
        view.begun(job)
    account = Account.of(study.get_trials(), budget=Budget(evaluations=budget), goal="minimize")
    console.print(view._draw(account, []))
    return stream.getvalue()


def test_a_worker_waits_for_others_only_if_others_run():
    study = optuna.create_study()
    assert "choosing the next point" in idle(study) and "waiting" not in idle(study)
    jobs = [job_of(study), job_of(study)]
    assert "choosing the next point" in idle(study, *jobs)
    text = idle(study, *jobs, budget=2)  # drawn up before our own last trial was told
    assert "waiting" not in text and "choosing" not in text
    assert "waiting for the other workers' trials" in idle(study, jobs[0], budget=2)
    study.tell(1, 2.0)
    assert "waiting" not in idle(study, jobs[0], budget=2)


def test_before_the_first_value():
    text = drawn()
    assert "best  no value yet" in text and "left" not in text


@pytest.mark.parametrize("width", [40, 60, 200])
def test_it_keeps_to_the_width_of_the_terminal(width):
    assert max(map(len, drawn(width, told=[1.0]).splitlines())) <= width


def test_lines():
    study = optuna.create_study()
    text = line_of(job_of(study), Outcome(2.5, [1.5]), STUDY)
    stream = io.StringIO()
    Console(file=stream, width=200).print(text, highlight=False)
    assert stream.getvalue().startswith("trial    0  2.5 ")
    assert "over its limits: stress +1.5" in stream.getvalue()
    assert "x=0.25 alloy=[red]steel[/]" in stream.getvalue()
    stream = io.StringIO()
    lines = Lines(Console(file=stream, width=40), STUDY)
    lines.told(job_of(study), Failure("exit", "it ended with exit status 3: [bold]no mesh[/] " * 3))
    assert stream.getvalue().count("\n") == 1  # a line is a line in a log
    assert "[bold]no mesh[/]" in stream.getvalue()


def test_a_point_in_few_characters():
    assert brief({"a": 0.123456, "b": 3, "c": "x"}) == "a=0.1235 b=3 c=x"


@pytest.mark.skipif(sys.platform == "win32", reason="a pseudo-terminal is POSIX's")
def test_on_a_real_terminal(desk):
    """A run in a pseudo-terminal draws, redraws, and leaves the trials and the answer standing."""
    desk.simulate("import time; time.sleep(0.4); print(1.5)")
    desk.write(budget=3)
    terminal, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "headway", "run"],
        **dict.fromkeys(("stdin", "stdout", "stderr"), theirs),
        env={**os.environ, "PYTHONPATH": str(SRC), "TERM": "xterm", "COLUMNS": "100"},
    )
    os.close(theirs)
    shown, end = b"", time.monotonic() + 60
    while time.monotonic() < end:
        if select.select([terminal], [], [], 1.0)[0]:
            try:
                shown += os.read(terminal, 4096)
            except OSError:  # Linux: the other side is closed
                break
    assert process.wait(10) == 0
    os.close(terminal)
    text = shown.decode()
    assert "evaluations (1 of them still running)" in text  # drawn while it ran
    assert "other workers" not in text  # there are none
    assert "\x1b[?25l" in text and text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")  # cursor
    last = text[text.rindex("\x1b[?25h") :]
    assert "The budget is spent: 3 of 3 evaluations." in last and "headway report" in last
