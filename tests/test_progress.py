"""The line on the terminal."""

import io
import re
import time

import pytest

import headway.optimizer
from headway.budget import Budget
from headway.errors import SettingError
from headway.optimizer import Optimizer
from headway.progress import ProgressLine, summary

SPACE = [(0, 1)]


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Closed(Terminal):
    def write(self, text):
        raise OSError(5, "Input/output error")


@pytest.fixture
def optimizer(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(headway.optimizer, "monotonic", lambda: now[0])
    opt = Optimizer(SPACE, Budget(evaluations=50, seconds=1e6), design=50)
    for value in (0.5, 0.25):
        trial = opt.ask()
        now[0] += 90.0
        opt.tell(trial, value)
    return opt


def test_best_budget_time_per_evaluation_and_the_end(optimizer):
    ends = time.strftime("%H:%M", time.localtime(time.time() + 48 * 90))
    soon = time.strftime("%H:%M", time.localtime(time.time() + 48 * 90 + 60))
    text = summary(optimizer)
    start = "headway: 2 of 50 evaluations, 3 min of 11.6 d, best 0.25 (trial 1), ends about"
    assert text in (f"{start} {ends}, 90 s each", f"{start} {soon}, 90 s each")


def test_the_day_when_it_is_not_today(optimizer):
    optimizer.extend(Budget(evaluations=1000))
    assert re.search(r"ends about \w{3} \d\d:\d\d, ", summary(optimizer))
    optimizer.extend(Budget(evaluations=10**6))
    assert re.search(r"ends about \d{4}-\d\d-\d\d, ", summary(optimizer))


def test_before_the_first_value():
    assert summary(Optimizer(SPACE, 9)) == "headway: 0 of 9 evaluations, no value yet"


def test_a_terminal_has_one_line_that_is_rewritten(optimizer):
    stream = Terminal()
    line = ProgressLine("auto", stream)
    line.update(optimizer)
    line.update(optimizer)
    line.close()
    line.close()
    first, second = stream.getvalue().split("\r")[1:]
    assert first.endswith("\x1b[K") and second.endswith("\x1b[K\n")


def test_the_line_fits_a_narrow_terminal(optimizer, monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    stream = Terminal()
    ProgressLine("auto", stream).update(optimizer)
    assert stream.getvalue() == "\rheadway: 2 of 50 ev\x1b[K"


def test_the_usual_terminal_shows_when_the_run_will_end(optimizer, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    stream = Terminal()
    optimizer.extend(50)
    optimizer.tell(optimizer.ask(), 0.00284782)
    ProgressLine("auto", stream).update(optimizer)
    assert re.search(r"ends about \d\d:\d\d", stream.getvalue())


def test_elsewhere_nothing_unless_asked_for(optimizer):
    for mode, lines in (("auto", 0), (False, 0), (True, 2)):
        stream = io.StringIO()
        line = ProgressLine(mode, stream)
        line.update(optimizer)
        line.update(optimizer)
        line.close()
        assert stream.getvalue().count("\n") == lines and "\r" not in stream.getvalue()
    stream = Terminal()
    ProgressLine(False, stream).update(optimizer)
    assert stream.getvalue() == ""


def test_a_terminal_that_was_closed_does_not_end_the_run(optimizer):
    line = ProgressLine(True, Closed())
    line.update(optimizer)
    line.close()


def test_a_stream_that_was_closed_before(optimizer):
    stream = io.StringIO()
    stream.close()
    for mode in ("auto", True):
        line = ProgressLine(mode, stream)
        line.update(optimizer)
        line.close()


def test_no_terminal_at_all(optimizer, monkeypatch):
    monkeypatch.setattr("sys.stderr", None)
    ProgressLine(True).update(optimizer)


@pytest.mark.parametrize("mode", ["yes", None, 1, "AUTO"])
def test_a_bad_mode(mode):
    with pytest.raises(SettingError, match=r"progress is .* Allowed: 'auto', True or False"):
        ProgressLine(mode)
