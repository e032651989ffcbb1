"""Commands: put together without a shell, ended in time, and told from each other."""

import os
import sys
import threading
import time
from pathlib import Path

import pytest

from headway.errors import CommandFailed, StudyError
from headway.shell import command
from headway.shell.command import Stop, Template, require_program

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="process groups are POSIX's")
HERE = Path(__file__).parent


def template(*arguments):
    return Template(tuple((a,) if isinstance(a, str) else tuple(a) for a in arguments))


def python(code, *arguments):
    return [sys.executable, "-c", code, *arguments]


def is_alive(pid):
    """Whether a process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until(condition, seconds=10.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def test_values_stand_in_their_arguments_as_they_are():
    given = template("sim", "--x={x}", "{name}", "{{x}}", "{on}", "run-{trial}")
    params = {"x": 0.1 + 0.2, "name": "a b; rm -rf $HOME", "on": True}
    assert given.fill(params, 7) == [
        "sim",
        "--x=0.30000000000000004",
        "a b; rm -rf $HOME",
        "{x}",
        "true",
        "run-7",
    ]


def test_what_names_an_inactive_parameter_is_left_out():
    given = template("sim", ("--temper", "{temper}"), "--t={temper}", "{alloy}")
    assert given.fill({"alloy": "steel"}, 0) == ["sim", "steel"]
    full = given.fill({"alloy": "alu", "temper": 2}, 0)
    assert full == ["sim", "--temper", "2", "--t=2", "alu"]


def test_placeholders_and_parameters_must_meet():
    with pytest.raises(StudyError, match=r"\{hight\} names no parameter.*Did you mean 'height'"):
        template("sim", "{hight}").check(["height"], all_used=True)
    with pytest.raises(StudyError, match=r"no placeholder for 'ribs'.*Add \{ribs\}"):
        template("sim", "{height}").check(["height", "ribs"], all_used=True)
    template("sim", "{height}").check(["height", "ribs"], all_used=False)


@pytest.mark.parametrize(
    ("argument", "message"),
    [("{", "brace that is no placeholder"), ("{x:.3f}", "with a format"), ("{}", "empty place")],
)
def test_braces(argument, message):
    with pytest.raises(StudyError, match=message):
        template("sim", argument).check(["x"], all_used=False)


def test_an_empty_command():
    with pytest.raises(StudyError, match=r"the command is empty"):
        Template(())


def test_an_empty_group():
    with pytest.raises(StudyError, match=r"the command has an empty group \[\]"):
        Template(((), ("echo",)))


def test_a_null_byte_is_no_argument():
    with pytest.raises(CommandFailed, match=r"'echo' cannot be started: embedded null byte"):
        command.run(["echo", "a\0b"])


def test_a_time_out_beyond_what_the_clock_holds():
    assert (
        command.run([sys.executable, "-c", "import time; time.sleep(0.2)"], timeout=1e12).status
        == 0
    )


def test_output_status_and_last_words():
    output = command.run(
        python("import sys; print(1); sys.stderr.write('x\\nno mesh\\n'); exit(3)")
    )
    assert (output.status, output.stdout) == (3, "1\n")
    assert output.problem == "it ended with exit status 3: no mesh"
    assert command.run(python("print(2)")).problem == ""


@POSIX
def test_a_signal_is_named():
    output = command.run(python("import os; os.kill(os.getpid(), 11)"))
    assert output.problem == "it was ended by SIGSEGV"


def test_standard_input_directory_and_environment(tmp_path):
    code = "import os, sys; print(sys.stdin.read(), os.getcwd(), os.environ['HEADWAY_TRIAL'])"
    output = command.run(
        python(code), stdin='{"x": 1}', directory=tmp_path, environment={"HEADWAY_TRIAL": "3"}
    )
    assert output.stdout.split() == ['{"x":', "1}", str(tmp_path), "3"]


def test_without_input_it_is_empty_and_not_our_terminal():
    assert command.run(python("import sys; print(repr(sys.stdin.read()))")).stdout == "''\n"


def test_only_the_end_of_a_long_output_is_kept(monkeypatch):
    monkeypatch.setattr(command, "_LONGEST", 10)
    assert command.run(python("print('x' * 1000 + 'end')")).stdout == "xxxxxxend\n"


def test_bytes_that_are_no_text():
    code = "import sys; sys.stdout.buffer.write(b'\\xff 1.5')"
    assert command.run(python(code)).stdout.endswith("1.5")


def test_a_time_out_ends_it():
    began = time.monotonic()
    output = command.run(
        python("import time; print('on', flush=True); time.sleep(60)"), timeout=0.5
    )
    assert time.monotonic() - began < 10
    assert output.status is None and output.stdout == "on\n"
    assert output.problem == "it took longer than the time-out of 0.5 s and was ended"


@POSIX
def test_a_time_out_ends_the_children_too(tmp_path):
    """Also those that outlive their parent, and those that do not want to end."""
    code = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c",
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"])
print(os.getpid(), child.pid, flush=True)
time.sleep(60)
"""
    before = command.GRACE
    command.GRACE = 0.3
    try:
        output = command.run(python(code), timeout=1.0)
    finally:
        command.GRACE = before
    pids = [int(pid) for pid in output.stdout.split()]
    assert len(pids) == 2
    wait_until(lambda: not any(map(is_alive, pids)))


@POSIX
def test_a_process_left_behind_does_not_keep_us():
    """It holds the output open; a pipe would be waited for."""
    code = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(30)"])
print(child.pid)
"""
    began = time.monotonic()
    output = command.run(python(code))
    assert time.monotonic() - began < 20
    os.kill(int(output.stdout), 9)


def test_stop_ends_what_runs_and_what_begins_later():
    stop = Stop()
    outputs = []
    sleep = python("import time; time.sleep(60)")
    thread = threading.Thread(target=lambda: outputs.append(command.run(sleep, stop=stop)))
    thread.start()
    wait_until(lambda: stop._running)
    stop.end_all()
    thread.join(10)
    assert outputs and outputs[0].problem
    began = time.monotonic()
    assert command.run(sleep, stop=stop).problem
    assert time.monotonic() - began < 10


def test_a_program_that_is_not_there():
    with pytest.raises(CommandFailed, match=r"'no-such-program' cannot be started: No such"):
        command.run(["no-such-program"])
    with pytest.raises(CommandFailed, match=r"cannot be started: No such program.*on the PATH"):
        require_program(template("no-such-program", "{x}"), HERE)
    with pytest.raises(CommandFailed, match=r"cannot be started: is not executable"):
        require_program(template("./test_command.py", "{x}"), HERE)
    require_program(template(sys.executable), HERE)
    require_program(template("{program}"), HERE)  # known only with the point
