"""Workers on machines of their own: network namespaces, joined by a bridge, and one database."""

import os
import shutil
import subprocess
import sys
import uuid
from contextlib import ExitStack

import pytest

from tests.cli.desk import PYTHON, SRC, Desk
from tests.doors.postgres import PASSWORD, server

HOST = "10.213.77.1"


def ip(*arguments):
    return subprocess.run(["ip", *arguments], capture_output=True, text=True)


def require_namespaces():
    """Skip where a namespace cannot be made, and say why."""
    if shutil.which("ip") is None:
        pytest.skip("there is no `ip` (Debian: apt-get install iproute2)")
    if not hasattr(os, "getuid") or os.getuid() != 0:
        pytest.skip("network namespaces are made by root only")
    name = f"hw-try-{uuid.uuid4().hex[:6]}"
    made = ip("netns", "add", name)
    if made.returncode != 0:
        pytest.skip(f"no network namespace can be made here: {made.stderr.strip()}")
    ip("netns", "delete", name)


@pytest.fixture
def hosts():
    """Three namespaces with addresses of their own, that reach each other by a bridge only."""
    require_namespaces()
    tag = uuid.uuid4().hex[:6]
    bridge = f"hwb{tag}"
    names = [f"hw{tag}-{i}" for i in range(3)]
    with ExitStack() as stack:

        def do(*arguments):
            done = ip(*arguments)
            if done.returncode != 0:
                pytest.skip(
                    f"`ip {' '.join(arguments)}` is not allowed here: {done.stderr.strip()}"
                )

        do("link", "add", bridge, "type", "bridge")
        stack.callback(ip, "link", "delete", bridge)
        do("addr", "add", f"{HOST}/24", "dev", bridge)
        do("link", "set", bridge, "up")
        for i, name in enumerate(names):
            do("netns", "add", name)
            stack.callback(ip, "netns", "delete", name)
            outside, inside = f"hv{tag}{i}", f"hn{tag}{i}"
            do("link", "add", outside, "type", "veth", "peer", "name", inside)
            do("link", "set", outside, "master", bridge, "up")
            do("link", "set", inside, "netns", name)
            do("-n", name, "addr", "add", f"10.213.77.{i + 2}/24", "dev", inside)
            do("-n", name, "link", "set", inside, "up")
        yield names


def test_workers_of_three_hosts_share_one_budget(hosts, tmp_path, monkeypatch):
    with server(listen=HOST + ",127.0.0.1") as port:
        desk = Desk(tmp_path, monkeypatch)
        url = f"postgresql://lab@{HOST}:{port}/studies"
        monkeypatch.setenv("HEADWAY_STORAGE", url)
        monkeypatch.setenv("PGPASSWORD", PASSWORD)
        # What a host sees of its addresses says where the trial ran.
        desk.simulate(
            """
            import os, sys, time
            number = os.environ["HEADWAY_TRIAL"]
            lines = open("/proc/net/fib_trie").read().split()
            own = {word for word in lines if word.startswith("10.213.77.")} - {"10.213.77.0"}
            open(f"ran-{number}", "w").write(" ".join(sorted(own)))
            time.sleep(0.1)
            print(float(sys.argv[1]) ** 2)
            """
        )
        (tmp_path / "study.toml").write_text(
            f'name = "far"\nbudget = 30\ncommand = "{PYTHON} sim.py {{x}}"\n'
            "[parameters]\nx = [-5.0, 10.0]\n"
        )
        assert desk.call("ask").code == 0
        assert desk.call("tell", "study.toml", "0", "9").code == 0
        command = [sys.executable, "-m", "headway", "work", "--study", "far", "-q"]
        environment = {**os.environ, "PYTHONPATH": str(SRC), "OMP_NUM_THREADS": "1"}
        workers = [
            subprocess.Popen(
                ["ip", "netns", "exec", name, *command],
                cwd=tmp_path,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for name in hosts
        ]
        ends = [(*worker.communicate(timeout=120), worker.returncode) for worker in workers]
        assert [end[2] for end in ends] == [0, 0, 0], ends
        assert desk.states().count("told") == 30
        places = {tuple(path.read_text().split()) for path in tmp_path.glob("ran-*")}
        assert {address for place in places for address in place} >= {
            "10.213.77.2",
            "10.213.77.3",
            "10.213.77.4",
        }
        # From a host that the database does not listen to, it is out of reach, and says so.
        far = subprocess.run(
            [*command, "--storage", url.replace(HOST, "10.213.77.99")],
            capture_output=True, text=True, env=environment, cwd=tmp_path,
        )  # fmt: skip
        assert far.returncode == 4 and "cannot be used" in far.stderr
        assert PASSWORD not in far.stderr
