"""However a run ends: nothing told is lost, children end, and `run` again reaches the budget."""

import errno
import os
import sys

import pytest
from optuna.storages.journal import JournalFileBackend

from headway.shell import worker
from tests.cli.desk import SIGINT, SIGKILL, SIGTERM, ended
from tests.shell.test_command import is_alive

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")

# The first trials are quick; the others wait for a file, so that no clock decides.
GATED = """
import os, sys, time
number = int(os.environ["HEADWAY_TRIAL"])
open(f"begun-{number}", "w").write(str(os.getpid()))
if number >= 2:
    while not os.path.exists("go"):
        time.sleep(0.02)
print(float(sys.argv[1]) ** 2)
"""


@pytest.fixture
def gated(desk):
    desk.simulate(GATED)
    desk.write(budget=6)
    return desk


def pids(desk):
    return [int(path.read_text()) for path in desk.folder.glob("begun-*")]


def let_go(desk):
    (desk.folder / "go").touch()


@pytest.mark.parametrize(("number", "code"), [(SIGINT, 130), (SIGTERM, 143)])
def test_a_signal_ends_the_run_in_order(gated, number, code):
    process = gated.start("run", "-j", "2")
    gated.wait_for_files("begun-[23]", 2)
    done = ended(process, number)
    assert done.code == code, done.err
    assert "Budget is left; used so far: 2 of 6 evaluations" in done.out
    assert "The same command goes on." in done.err
    assert not any(map(is_alive, pids(gated)))
    trials = gated.trials()
    assert [t["state"] for t in trials] == ["told", "told", "void", "void", "waiting", "waiting"]
    assert not list(gated.folder.glob("*.worker-*"))
    let_go(gated)
    assert gated.call("run").code == 0
    after = gated.trials()
    assert after[:4] == trials[:4]
    assert [t["state"] for t in after].count("told") == 6
    # What was in flight is evaluated first, at the same points.
    points = {str(t["params"]) for t in after[4:6]}
    assert points == {str(t["params"]) for t in trials[2:4]}


def test_kill_9(gated):
    process = gated.start("run", "-j", "2")
    gated.wait_for_files("begun-[23]", 2)
    done = ended(process, SIGKILL)
    assert done.code == -SIGKILL
    left = [t["state"] for t in gated.trials()]
    assert left == ["told", "told", "running", "running"]
    for pid in pids(gated):  # nobody was there to end them
        if is_alive(pid):
            os.kill(pid, SIGKILL)
    let_go(gated)
    done = gated.call("run")
    assert done.code == 0
    assert "trial 2 is evaluated again: its worker died" in done.err
    trials = gated.trials()
    states = [t["state"] for t in trials]
    assert states.count("told") == 6 and states.count("void") == 2
    assert trials[2]["state"] == "void" and trials[2]["error"] == "its worker died"
    assert not list(gated.folder.glob("*.worker-*"))


def test_two_runs_share_the_budget_and_one_of_them_dies(gated):
    first = gated.start("run", "-j", "2")
    gated.wait_for_files("begun-[23]", 2)
    second = gated.start("work", "--json")
    gated.wait_for_files("begun-4", 1)
    ended(first, SIGKILL)
    let_go(gated)
    done = ended(second)
    assert done.code == 0, done.err
    assert done.lines[-1]["finished"] == 6
    states = gated.states()
    assert states.count("told") == 6 and states.count("void") == 2


def test_a_worker_that_does_not_wait_leaves_when_nothing_is_left_to_begin(gated):
    gated.write(budget=4)
    first = gated.start("run", "-j", "2")
    gated.wait_for_files("begun-[23]", 2)
    assert gated.call("work", "--no-wait").code == 0
    assert gated.states() == ["told", "told", "running", "running"]
    let_go(gated)
    assert ended(first).code == 0
    assert gated.states() == ["told"] * 4


def test_trials_of_a_live_worker_are_left_alone_unless_taken_over(gated):
    gated.write(budget=4)
    first = gated.start("run", "-j", "2")
    gated.wait_for_files("begun-[23]", 2)
    let_go_later = gated.start("run", "--take-over")
    gated.wait_for(lambda: gated.states().count("void") == 2)
    let_go(gated)
    assert ended(let_go_later).code == 0
    assert ended(first).code == 0
    # Results that came too late went to the trials that waited for them, or are shown.
    assert gated.states().count("told") == 4


def test_a_run_whose_terminal_is_gone_ends_its_children(gated):
    import signal

    process = gated.start("run")
    gated.wait_for_files("begun-2", 1)
    assert ended(process, signal.SIGHUP).code == 128 + signal.SIGHUP
    assert not any(map(is_alive, pids(gated)))


@pytest.mark.parametrize("lasts", [2, 1000])
def test_a_disk_that_fills_up(desk, monkeypatch, lasts):
    """It is waited for; if in vain, what could not be stored is shown, and what was is there."""
    desk.simulate("import os; open('ran', 'a').write('x'); print(7.5)")
    desk.write(budget=4)
    real, refused = JournalFileBackend.append_logs, []

    def append_logs(self, logs):
        told = any(log["op_code"] == 6 and log.get("values") for log in logs)
        if told and (desk.folder / "ran").read_text() == "xx" and len(refused) < lasts:
            refused.append(1)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(self, logs)

    monkeypatch.setattr(JournalFileBackend, "append_logs", append_logs)
    monkeypatch.setattr(worker, "_OUTAGE", 2.0)
    monkeypatch.setattr(worker, "_POLL", 0.1)
    done = desk.call("run")
    assert done.err.count("the storage does not answer; waiting for it") == 1
    if lasts == 2:
        assert done.code == 0 and desk.states() == ["told"] * 4
        return
    assert done.code == 4
    assert "study.journal cannot be used: [Errno 28] No space left" in done.err
    assert "trial 1 could not be stored; it returned 7.5" in done.err
    assert desk.states() == ["told", "running"]
    monkeypatch.undo()
    monkeypatch.chdir(desk.folder)
    assert desk.call("run").code == 0  # the trial is evaluated again
    assert desk.states() == ["told", "void", "told", "told", "told"]
