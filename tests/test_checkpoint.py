"""The checkpoint: whole lines or none, one run at a time, and nothing told is lost."""

import errno
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

import headway
from headway.checkpoint import Checkpoint, difference
from headway.errors import BudgetError, CheckpointError, SpaceError

SPACE = {"a": (0.0, 1.0), "k": headway.Integer(1, 4)}
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="POSIX only")


class Counted:
    """A function that knows how often it was called."""

    def __init__(self):
        self.calls = []

    def __call__(self, p):
        self.calls.append(p)
        return (p["a"] - 0.3) ** 2 + p["k"]


def run(path, f, *, budget=4, design=99, **settings):
    """A run whose points are all of the initial design, hence quick."""
    return headway.minimize(f, SPACE, budget=budget, design=design, checkpoint=path, **settings)


def lines_of(path):
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def script(body, *args):
    """A Python process of its own with the body as its program."""
    code = textwrap.dedent(body)
    env = {**os.environ, "PYTHONPATH": str(Path(headway.__file__).parents[1])}
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, args)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=env,
    )


# What is in the file


def test_a_line_per_event(tmp_path):
    path = tmp_path / "run.jsonl"
    run(path, Counted(), budget=2)
    header, *events = lines_of(path)
    assert header["headway"] == 1 and header["seed"] == 0 and "events" not in header
    assert [e["event"] for e in events] == ["asked", "told", "asked", "told"]


def test_every_line_is_on_the_disk_before_f_goes_on(tmp_path, monkeypatch):
    path = tmp_path / "run.jsonl"
    synced, real = [], os.fsync

    def fsync(fd):
        real(fd)
        synced.append(len(path.read_text().splitlines()))

    monkeypatch.setattr(os, "fsync", fsync)
    seen = []

    def f(p):
        seen.append(synced[-1])
        return 1.0

    run(path, f, budget=3)
    assert seen == [2, 4, 6]  # the header and the asked event, then two more each
    assert synced[-1] == 7


# Resuming


def test_a_finished_run_is_read_not_run(tmp_path):
    path = tmp_path / "run.jsonl"
    first = run(path, Counted())
    before = path.read_bytes()
    f = Counted()
    again = run(path, f)
    assert not f.calls and path.read_bytes() == before
    assert again.history == first.history and again.x == first.x and again.nfev == 4


def test_a_larger_budget_goes_on_and_a_smaller_one_is_refused(tmp_path):
    path = tmp_path / "run.jsonl"
    run(path, Counted())
    f = Counted()
    result = run(path, f, budget=6)
    assert len(f.calls) == 2 and result.nfev == 6
    whole = run(tmp_path / "other.jsonl", Counted(), budget=6)
    assert [r.params for r in result.history] == [r.params for r in whole.history]
    with pytest.raises(BudgetError, match="the new budget of 5 evaluations is smaller than the 6"):
        run(path, f, budget=5)
    assert [e.get("event") for e in lines_of(path)].count("budget") == 1
    assert run(path, f, budget=6).nfev == 6 and len(f.calls) == 2


def test_what_was_in_flight_is_evaluated_first_with_the_same_parameters(tmp_path):
    path = tmp_path / "run.jsonl"

    def interrupt(p):
        if len(seen) == 2:
            raise KeyboardInterrupt
        seen.append(p)
        return 1.0

    seen = []
    first = run(path, interrupt)
    assert not first.success and first.nfev == 2
    assert first.message.startswith(
        "The run was interrupted. Budget is left; used so far: 3 of 4 evaluations"
    )
    assert first.message.endswith("Left in flight: 2.")
    f = Counted()
    result = run(path, f)
    assert f.calls[0] == first.history[2].params and len(f.calls) == 2
    assert result.success and result.nfev == 4 and len(result.history) == 4


def test_the_seed_of_the_file(tmp_path):
    path = tmp_path / "run.jsonl"
    first = run(path, Counted(), budget=2, seed=None)
    again = run(path, Counted(), budget=3, seed=None)
    assert again.seed == first.seed
    with pytest.raises(CheckpointError, match=f"seed is {first.seed} in the file and 0 in this"):
        run(path, Counted())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": 7}, "of another run: seed is 0 in the file and 7 in this run"),
        ({"direction": "maximize"}, "direction is 'minimize' in the file and 'maximize'"),
        ({"constraints": 1}, "constraints is 0 in the file and 1"),
        ({"design": 5}, "design is 99 in the file and 5"),
        ({"x0": {"a": 0.5, "k": 1}}, r"x0 is \[\] in the file and \[\{'a': 0\.5, 'k': 1\}\]"),
        ({"noise": 0.0}, "surrogate noise is 'auto' in the file and 0"),
        ({"policy": headway.Policy.ei()}, r"policy \w+ is .* in the file and .* in this run"),
    ],
)
def test_a_file_of_other_settings(tmp_path, change, message):
    path = tmp_path / "run.jsonl"
    run(path, Counted(), budget=2)
    before = path.read_bytes()
    with pytest.raises(CheckpointError, match=message):
        run(path, Counted(), **change)
    with pytest.raises(CheckpointError, match="Give those settings, or another file"):
        run(path, Counted(), **change)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("space", "message"),
    [
        ({"a": (0.0, 1.0)}, "'k'"),
        ({"a": (0.0, 2.0), "k": headway.Integer(1, 4)}, "'a' has high = 2"),
        ([(0, 1), (1, 4)], "another run: .*given as"),
    ],
)
def test_a_file_of_another_space(tmp_path, space, message):
    path = tmp_path / "run.jsonl"
    run(path, Counted(), budget=2)
    with pytest.raises(CheckpointError, match=message):
        headway.minimize(Counted(), space, budget=2, design=99, checkpoint=path)


def test_difference_goes_into_the_settings():
    keys = ("seed", "direction", "constraints", "design", "x0", "surrogate")
    ours = {**dict.fromkeys(keys, 0), "policy": {"local": {"size": 1}}}
    assert difference(ours, ours) is None
    theirs = {**ours, "policy": {"local": {"size": 2}}}
    assert difference(theirs, ours) == "policy local size is 2 in the file and 1 in this run"
    assert difference({**ours, "policy": {}}, ours).startswith("policy local is None in the file")


# Torn files


def test_cut_at_every_byte_of_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda fd: None)  # thousands of runs
    path, cut = tmp_path / "run.jsonl", tmp_path / "cut.jsonl"
    whole = run(path, Counted(), budget=3)
    content = path.read_bytes()
    ends = [i + 1 for i, byte in enumerate(content) if byte == ord("\n")]
    events = lines_of(path)[1:]
    for length in range(len(content) + 1):
        cut.write_bytes(content[:length])
        kept = sum(end <= length for end in ends)  # whole lines
        complete = length + 1 in ends and kept > 0  # all but the end of the line
        torn = length > 0 and length not in ends and not complete
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with Checkpoint(cut) as file:
                assert (file.header is None) == (kept == 0)
                assert file.events == events[: max(0, kept - 1 + complete)]
        assert len(caught) == torn
        if torn:
            text = str(caught[0].message)
            assert f"line {kept + 1} of the checkpoint" in text and "is dropped" in text
            assert cut.read_bytes() == content[: ends[kept - 1] if kept else 0]
        if length >= ends[-3] or length < 40:  # and the run goes on to the same end
            cut.write_bytes(content[:length])
            f = Counted()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = run(cut, f, budget=3)
            assert [r.params for r in result.history] == [r.params for r in whole.history]
            assert len(f.calls) == 3 - sum(
                e["event"] == "told" for e in events[: max(0, kept - 1 + complete)]
            )
            assert len(lines_of(cut)) == len(events) + 1


@pytest.mark.parametrize("garbage", [b"\x00" * 20, b"\xff\xfe{", b"[1]\n", b"\x00\x00\n", b"{}x\n"])
def test_rubbish_at_the_end_is_dropped_with_a_warning(tmp_path, garbage):
    path = tmp_path / "run.jsonl"
    whole = run(path, Counted(), budget=2)
    content = path.read_bytes()
    path.write_bytes(content + garbage)
    with pytest.warns(RuntimeWarning, match=r"line 6 of the checkpoint .* the last, is torn"):
        again = run(path, Counted(), budget=2)
    assert again.history == whole.history and path.read_bytes() == content


def test_rubbish_in_the_middle_is_an_error(tmp_path):
    path = tmp_path / "run.jsonl"
    run(path, Counted(), budget=2)
    lines = path.read_bytes().splitlines(keepends=True)
    lines[2] = lines[2][:10] + b"\n"
    path.write_bytes(b"".join(lines))
    with pytest.raises(CheckpointError, match=r"line 3 of the checkpoint .* cannot be read"):
        run(path, Counted())
    assert path.read_bytes() == b"".join(lines)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"my thesis", "line 1 of the checkpoint .* cannot be read: it is no line of Headway's"),
        (b"my thesis\n", "line 1 of the checkpoint .* cannot be read"),
        (b"\n\n", "line 1 of the checkpoint .* cannot be read"),
        (b'{"a": 1}\n', "the first line of the checkpoint .* names no version"),
        (b'{"headway": 2}\n', "of version 2. Allowed: 1. Use the Headway that wrote it"),
        (
            b'{"headway": 1}\n',
            "the first line of the checkpoint .* cannot be read: KeyError: 'space'",
        ),
    ],
)
def test_a_file_that_is_not_ours_is_left_alone(tmp_path, content, message):
    path = tmp_path / "thesis.txt"
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match=message):
        run(path, Counted())
    assert path.read_bytes() == content


def test_an_empty_file_is_a_new_one(tmp_path):
    path = tmp_path / "run.jsonl"
    path.touch()
    assert run(path, Counted()).nfev == 4


# Files that cannot be used


def test_an_unwritable_checkpoint(tmp_path):
    with pytest.raises(CheckpointError, match=r"cannot be opened: No such file or directory"):
        run(tmp_path / "none" / "run.jsonl", Counted())
    with pytest.raises(CheckpointError, match="is not a regular file"):
        run(tmp_path, Counted())
    (tmp_path / "file").touch()
    with pytest.raises(CheckpointError, match="cannot be opened: Not a directory"):
        run(tmp_path / "file" / "run.jsonl", Counted())


def test_no_permission(tmp_path, monkeypatch):
    def refuse(*args):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(CheckpointError, match=r"cannot be opened: Permission denied\. Allowed: a"):
        run(tmp_path / "run.jsonl", Counted())


@POSIX
def test_a_device_is_not_a_checkpoint():
    with pytest.raises(CheckpointError, match="'/dev/null' is not a regular file"):
        run("/dev/null", Counted())


def test_a_checkpoint_in_use(tmp_path):
    path = tmp_path / "run.jsonl"
    with Checkpoint(path), pytest.raises(CheckpointError, match=r"in use by another run\. Allowed"):
        run(path, Counted())
    assert run(path, Counted()).nfev == 4  # free again
    # A run within the run, too: the inner one fails, and says why.
    with pytest.raises(headway.EveryTrialFailed, match="in use by another run"):
        run(tmp_path / "new.jsonl", lambda p: run(tmp_path / "new.jsonl", Counted()))


@POSIX
def test_a_checkpoint_in_use_by_another_process(tmp_path):
    path = tmp_path / "run.jsonl"
    run(path, Counted(), budget=2)
    body = """
        import sys
        from headway.checkpoint import Checkpoint
        with Checkpoint(sys.argv[1]):
            print("held", flush=True)
            sys.stdin.read()
        """
    env = {**os.environ, "PYTHONPATH": str(Path(headway.__file__).parents[1])}
    command = [sys.executable, "-c", textwrap.dedent(body), str(path)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=env) as holder:
        try:
            assert holder.stdout.readline() == "held\n"
            with pytest.raises(CheckpointError, match="in use by another run"):
                run(path, Counted())
        finally:
            holder.kill()
    assert run(path, Counted()).nfev == 4  # the lock ended with the process


@POSIX
def test_a_forked_worker_does_not_keep_the_lock(tmp_path):
    path = tmp_path / "run.jsonl"
    body = """
        import os, sys, time
        from headway.checkpoint import Checkpoint
        file = Checkpoint(sys.argv[1])
        child = os.fork()
        if child == 0:
            time.sleep(60)
            os._exit(0)
        print(child, flush=True)
        os.kill(os.getpid(), 9)
        """
    holder = script(body, path)
    child = int(holder.stdout.readline())
    holder.wait()
    try:
        os.kill(child, 0)  # it lives
        for _ in range(100):  # it closes its copy as soon as it runs
            try:
                Checkpoint(path).close()
                break
            except CheckpointError:
                time.sleep(0.05)
        else:
            pytest.fail("the worker kept the lock")
    finally:
        os.kill(child, signal.SIGKILL)
        holder.stdout.close()
        holder.stderr.close()


# Crashes and full disks


@POSIX
def test_kill_9_in_the_middle_loses_nothing_told(tmp_path):
    path, plain = tmp_path / "run.jsonl", tmp_path / "plain.jsonl"
    body = """
        import sys, time, headway
        def f(p):
            time.sleep(0.03)
            return p["a"] + p["k"]
        space = {"a": (0.0, 1.0), "k": headway.Integer(1, 4)}
        headway.minimize(f, space, budget=40, design=99, checkpoint=sys.argv[1])
        """

    def f(p):
        return p["a"] + p["k"]

    for enough in (4, 11):  # killed twice
        process = script(body, path)
        while not path.exists() or path.read_bytes().count(b"\n") < enough:
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.005)
        process.kill()
        process.communicate()
    told = [e for e in lines_of(path) if e.get("event") == "told"]
    assert len(told) >= 4
    result = run(path, f, budget=40)
    assert result.nfev == 40 and len(result.history) == 40
    assert [result.history[e["id"]].value for e in told] == [e["value"] for e in told]
    whole = run(plain, f, budget=40)
    assert [r.params for r in result.history] == [r.params for r in whole.history]


@POSIX
def test_a_full_disk(tmp_path):
    """A limit on the size of the file stands for the disk: the last write is a partial one."""
    path = tmp_path / "run.jsonl"
    body = """
        import resource, sys, headway
        space = {"a": (0.0, 1.0), "k": headway.Integer(1, 4)}
        limit = int(sys.argv[2])
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        try:
            headway.minimize(lambda p: p["a"], space, budget=40, design=99, checkpoint=sys.argv[1])
        except headway.errors.CheckpointError as error:
            print(error)
            told = [r for r in error.history if r.status == "told"]
            print(len(error.history), len(told), error.result.nfev, error.result.fun)
        """
    run(tmp_path / "sizes.jsonl", lambda p: p["a"], budget=6)
    sizes = [len(x) for x in (tmp_path / "sizes.jsonl").read_bytes().splitlines(keepends=True)]
    for whole, into in ((4, 20), (5, 5)):  # within a told line, within an asked line
        path.unlink(missing_ok=True)
        out, err = script(body, path, sum(sizes[: whole + 1]) - 30 + into).communicate()
        message, counts = out.splitlines()
        assert "cannot be written: File too large" in message, err
        assert "Make room and start again" in message
        records, told, nfev, _ = map(float, counts.split())
        lines = lines_of(path)  # every line is whole
        in_file = sum(line.get("event") == "told" for line in lines)
        assert records >= told == nfev >= in_file >= 1
        result = run(path, lambda p: p["a"], budget=40)  # there is room again
        assert result.nfev == 40


def test_a_told_value_that_does_not_reach_the_disk_is_in_the_error(tmp_path, monkeypatch):
    path = tmp_path / "run.jsonl"
    real, calls = os.write, []

    def write(fd, data):
        calls.append(bytes(data))
        if b'"told"' in bytes(data) and len([c for c in calls if b'"told"' in c]) == 3:
            real(fd, bytes(data)[:9])
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(fd, data)

    monkeypatch.setattr(os, "write", write)
    with pytest.raises(CheckpointError, match="No space left on device") as caught:
        run(path, Counted())
    assert [r.status for r in caught.value.history] == ["told"] * 3
    assert caught.value.result.nfev == 3 and not caught.value.result.success
    assert caught.value.result.message.startswith(
        "The run broke off. Budget is left; used so far: 3 of 4"
    )
    assert len(lines_of(path)) == 6  # the half-written line was cut off
    monkeypatch.undo()
    f = Counted()
    assert run(path, f).nfev == 4 and len(f.calls) == 2


@POSIX
@pytest.mark.parametrize("replace", [False, True])
def test_a_file_that_is_deleted_during_the_run(tmp_path, replace):
    path = tmp_path / "run.jsonl"

    def f(p):
        path.unlink()
        if replace:
            path.write_text("edited")
        return p["a"]

    with pytest.raises(CheckpointError, match="was deleted or replaced during the run") as caught:
        run(path, f)
    assert caught.value.result.nfev == 1 and len(caught.value.history) == 1


def test_a_disk_that_cannot_even_cut(tmp_path, monkeypatch):
    path = tmp_path / "run.jsonl"
    with Checkpoint(path) as file:
        file.begin({"headway": 1})
        events = [{"event": "asked", "id": 0}]

        def fail(*args):
            raise OSError(errno.EIO, "Input/output error")

        monkeypatch.setattr(os, "fsync", fail)
        monkeypatch.setattr(os, "ftruncate", fail)
        with (
            pytest.warns(RuntimeWarning, match="could not be cut off"),
            pytest.raises(CheckpointError, match="Input/output error"),
        ):
            file.sync(events)
        monkeypatch.undo()
        file.sync(events)  # the disk is back: the line is there once
        file.sync(events)
    assert lines_of(path) == [{"headway": 1}, *events]


def test_arrays_of_points_in_a_checkpoint(tmp_path):
    path = tmp_path / "run.jsonl"
    pairs, x0 = [(0, 1), (-2.0, 2)], np.array([[0.1, 1 / 3]])
    settings = {"design": 99, "checkpoint": path, "x0": x0}
    headway.minimize(lambda x: float(x.sum()), pairs, budget=2, **settings)
    result = headway.minimize(lambda x: float(x.sum()), pairs, budget=4, **settings)
    np.testing.assert_array_equal(list(result.history[0].params.values()), x0[0])
    assert result.x.shape == (2,)
    with pytest.raises(SpaceError, match="x0"):
        headway.minimize(lambda x: 1.0, pairs, budget=2, x0=[3, 3], checkpoint=path)
