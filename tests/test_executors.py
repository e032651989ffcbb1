"""Executors: trials kept in flight, told as they end, and what happens when a worker dies."""

import multiprocessing
import os
import signal
import sys
import threading
import time
from concurrent.futures import (
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
)

import numpy as np
import pytest

import headway
from headway import EveryTrialFailed, Integer, Outcome
from headway.checkpoint import Checkpoint
from headway.errors import CheckpointError, ExecutorFailed, SettingError

SPACE = {"a": (0.0, 1.0), "k": Integer(1, 4)}
QUICK = {"design": 999}


def bowl(p):
    return (p["a"] - 0.3) ** 2 + p["k"]


def fails_sometimes(p):
    if p["k"] == 2:
        raise ValueError("no mesh")
    return Outcome(np.float64(p["a"]), cost=1)


def dies(p):
    if p["k"] == 3:
        os._exit(1)
    return p["a"]


def interrupted(p):
    if p["k"] == 3:
        raise KeyboardInterrupt
    return p["a"]


@pytest.fixture
def processes():
    # Not forked: threads of this process would go along.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        yield pool


class Immediate(Executor):
    """A foreign executor that evaluates at once and may break some futures."""

    def __init__(self, breaks=(), refuses=None):
        self.count, self.breaks, self.refuses = 0, breaks, refuses

    def submit(self, fn, *args):
        self.count += 1
        if self.refuses is not None and self.count > self.refuses:
            raise RuntimeError("cannot schedule new futures after shutdown")
        future = Future()
        if self.count in self.breaks:
            future.set_exception(self.breaks[self.count])
        else:
            future.set_result(fn(*args))
        return future


def test_threads_keep_so_many_in_flight_and_never_one_more():
    lock, now, most = threading.Lock(), [0], [0]

    def f(p):
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        time.sleep(0.02)
        with lock:
            now[0] -= 1
        return bowl(p)

    with ThreadPoolExecutor(8) as pool:
        result = headway.minimize(f, SPACE, budget=20, executor=pool, workers=3, **QUICK)
    assert result.nfev == 20 == len(result.history) and most[0] == 3


def test_workers_are_those_of_the_executor():
    barrier = threading.Barrier(4, timeout=10)
    with ThreadPoolExecutor(4) as pool:
        result = headway.minimize(
            lambda p: barrier.wait() * 0.0, SPACE, budget=8, executor=pool, **QUICK
        )
    assert result.nfev == 8 and "failed" not in result.message


def test_unequal_times_are_told_as_they_end():
    release = threading.Event()

    def f(p):
        if p["x0"] == first:
            assert release.wait(10)
        return p["x0"]

    first = None
    space = {"x0": (0.0, 1.0)}
    first = headway.Optimizer(space, 9, **QUICK).ask().params["x0"]

    def callback(result):
        if result.nfev == 8:
            release.set()

    with ThreadPoolExecutor(2) as pool:
        result = headway.minimize(
            f, space, budget=9, executor=pool, workers=2, callback=callback, **QUICK
        )
    assert result.history.order[-1] == 0 and sorted(result.history.order) == list(range(9))


def test_the_model_knows_what_is_in_flight():
    points = []

    def f(x):
        points.append(tuple(x))
        time.sleep(0.01)
        return float(np.sum(x**2))

    with ThreadPoolExecutor(4) as pool:
        headway.minimize(f, [(-1, 1)] * 2, budget=16, executor=pool)
    gaps = [np.linalg.norm(np.subtract(a, b)) for i, a in enumerate(points) for b in points[:i]]
    assert min(gaps) > 1e-7


def test_processes(processes):
    result = headway.minimize(fails_sometimes, SPACE, budget=12, executor=processes, **QUICK)
    assert result.nfev == 12 and result.success
    failed = [r for r in result.history if r.status == "failed"]
    assert failed and all(r.error.startswith("ValueError: no mesh (test_exec") for r in failed)
    assert all((r.params["k"] == 2) == (r.status == "failed") for r in result.history)
    assert {r.cost for r in result.history} == {1.0, None}


def test_a_worker_that_dies(processes, tmp_path):
    path = tmp_path / "run.jsonl"
    settings = {"budget": 40, "checkpoint": path, **QUICK}
    with pytest.raises(ExecutorFailed, match="takes no more trials: BrokenProcessPool") as caught:
        headway.minimize(dies, SPACE, executor=processes, **settings)
    assert "The first failure, trial " in str(caught.value)
    assert "a worker died while this trial was in flight" in str(caught.value)
    result = caught.value.result
    states = [r.status for r in result.history]
    assert states.count("failed") in (1, 2) and "running" not in states
    assert not result.success
    # With the checkpoint it goes on where it was.
    again = headway.minimize(bowl, SPACE, **settings)
    assert again.nfev == 40 and again.history[0] == result.history[0]


def test_an_executor_that_goes_on_after_a_worker_died():
    breaks = {3: BrokenExecutor("worker 7 was killed"), 5: OSError("connection lost")}
    executor = Immediate(breaks)
    result = headway.minimize(bowl, SPACE, budget=8, executor=executor, workers=1, **QUICK)
    assert result.nfev == 8 and result.message.endswith("2 failed.")
    errors = [r.error for r in result.history if r.status == "failed"]
    start = "a worker died while this trial was in flight: concurrent.futures"
    assert errors[0].startswith(start) and "worker 7 was killed" in errors[0]
    assert errors[1].startswith("OSError: connection lost")


def test_an_executor_that_is_shut_down():
    executor = Immediate(refuses=3)
    with pytest.raises(ExecutorFailed, match="RuntimeError: cannot schedule new futures") as caught:
        headway.minimize(bowl, SPACE, budget=8, executor=executor, workers=1, **QUICK)
    assert caught.value.result.nfev == 3
    assert [r.status for r in caught.value.result.history] == ["told"] * 3 + ["cancelled"]
    assert getattr(caught.value, "__notes__", []) == []


def test_workers_must_be_given_where_the_executor_does_not_say():
    with pytest.raises(SettingError, match="Immediate does not say how many it has"):
        headway.minimize(bowl, SPACE, budget=8, executor=Immediate())
    with pytest.raises(SettingError, match="Give one, such as ThreadPoolExecutor"):
        headway.minimize(bowl, SPACE, budget=8, executor=ThreadPoolExecutor)


def test_an_f_that_cannot_be_sent_to_processes(processes, tmp_path):
    path = tmp_path / "run.jsonl"
    with pytest.raises(SettingError, match=r"cannot be sent to the executor's processes.*Define f"):
        headway.minimize(lambda p: 1.0, SPACE, budget=8, executor=processes, checkpoint=path)
    assert not path.exists()


def test_an_f_that_another_executor_cannot_send():
    unsent = TypeError("cannot pickle '_thread' object")
    with pytest.raises(SettingError, match="cannot pickle '_thread'") as caught:
        headway.minimize(bowl, SPACE, budget=8, executor=Immediate({1: unsent}), workers=1)
    assert caught.value.result.history[0].status == "cancelled"


def test_every_trial_failed_waits_for_those_in_flight():
    slow = threading.Event()

    def f(p):
        if p == first:  # the only one that works is the last to end
            assert slow.wait(10)
            return 1.0
        if len(seen) == 5:
            slow.set()
        seen.append(p)
        raise ValueError("no mesh")

    seen = []
    first = headway.Optimizer(SPACE, 9).ask().params
    with ThreadPoolExecutor(6) as pool:
        threading.Timer(0.5, slow.set).start()
        result = headway.minimize(f, SPACE, budget=9, executor=pool, design=3)
    assert result.success and result.fun == 1.0 and result.nfev == 9

    def g(p):
        raise ValueError("no mesh")

    with ThreadPoolExecutor(6) as pool, pytest.raises(EveryTrialFailed, match="no mesh"):
        headway.minimize(g, SPACE, budget=50, executor=pool)


def test_the_callback_stops_and_what_is_in_flight_is_told():
    def callback(result):
        raise StopIteration

    with ThreadPoolExecutor(3) as pool:
        result = headway.minimize(
            lambda p: time.sleep(0.02) or 1.0,
            SPACE,
            budget=50,
            executor=pool,
            callback=callback,
            **QUICK,
        )
    assert 1 <= result.nfev <= 3 and not [r for r in result.history if r.status == "running"]


def test_an_interruption_in_a_worker_ends_the_run(processes):
    result = headway.minimize(interrupted, SPACE, budget=40, executor=processes, **QUICK)
    assert not result.success and result.message.startswith("The run was interrupted")
    assert any(r.status == "running" for r in result.history)


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_with_threads_keeps_what_has_ended(tmp_path):
    path = tmp_path / "run.jsonl"
    release = threading.Event()

    def f(p):
        with counting:  # two threads that both see four would otherwise step over the fifth
            done.append(p)
            last = len(done) == 6
        if last:
            os.kill(os.getpid(), signal.SIGINT)
            release.wait(10)
        return 1.0

    done, counting = [], threading.Lock()
    # A shell that starts the tests in the background has them ignore the signal.
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with ThreadPoolExecutor(2) as pool:
            result = headway.minimize(f, SPACE, budget=30, executor=pool, checkpoint=path, **QUICK)
            release.set()
    finally:
        signal.signal(signal.SIGINT, usual)
    assert result.nfev >= 4 and "interrupted" in result.message
    left = [r.id for r in result.history if r.status == "running"]
    assert left and f"Left in flight: {', '.join(map(str, left))}." in result.message
    again = headway.minimize(bowl, SPACE, budget=30, checkpoint=path, **QUICK)
    assert again.nfev == 30 and len(again.history) == 30


def test_what_is_in_flight_when_the_disk_is_full_is_in_the_error(tmp_path, monkeypatch):
    real, failing = os.fsync, threading.Event()

    def fsync(fd):
        if failing.is_set():
            raise OSError(28, "No space left on device")
        real(fd)

    def f(p):
        time.sleep(0.05 if failing.is_set() else 0.0)
        return 1.0

    monkeypatch.setattr(os, "fsync", fsync)
    path = tmp_path / "run.jsonl"
    with ThreadPoolExecutor(4) as pool, pytest.raises(CheckpointError) as caught:
        headway.minimize(
            f,
            SPACE,
            budget=30,
            executor=pool,
            checkpoint=path,
            callback=lambda r: failing.set() if r.nfev >= 4 else None,
            **QUICK,
        )
    states = [r.status for r in caught.value.history]
    assert states.count("told") == caught.value.result.nfev >= 5
    assert states.count("running") <= 1  # asked for when the disk was full: never begun


def test_a_resumed_run_with_workers(tmp_path):
    path = tmp_path / "run.jsonl"
    opt = headway.Optimizer(SPACE, 12, **QUICK)
    with Checkpoint(path) as file:
        file.begin(opt.header())
        opt.follow(file.sync)
        trials = opt.ask(5)
    seen = []
    with ThreadPoolExecutor(2) as pool:
        result = headway.minimize(
            lambda p: seen.append(p) or 1.0,
            SPACE,
            budget=12,
            executor=pool,
            checkpoint=path,
            **QUICK,
        )
    assert result.nfev == 12 and len(seen) == 12
    assert [t.params for t in trials] == [r.params for r in result.history][:5]
