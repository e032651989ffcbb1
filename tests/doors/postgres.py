"""A PostgreSQL server of a test's own, from Debian's package, on a free loopback port."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from contextlib import contextmanager
from glob import glob
from pathlib import Path

import pytest

PASSWORD = "s3cret/word"  # with a character that a URL must escape
QUOTED = "s3cret%2Fword"


def programs():
    """The folder of initdb and postgres, or None."""
    found = shutil.which("initdb")
    folders = sorted(glob("/usr/lib/postgresql/*/bin"), reverse=True)
    return Path(folders[0]) if folders else Path(found).resolve().parent if found else None


@contextmanager
def server(listen="127.0.0.1"):
    """The port of a running server with a user `lab`, a password and a database `studies`."""
    folder = programs()
    if folder is None:
        pytest.skip("PostgreSQL is not installed (Debian: apt-get install postgresql)")
    root = os.getuid() == 0
    if root and shutil.which("runuser") is None:
        pytest.skip("PostgreSQL does not run as root, and there is no runuser")
    # Not pytest's tmp_path: the server's user may not enter root's folders.
    home = Path(tempfile.mkdtemp(prefix="headway-postgres-"))
    home.chmod(0o755)
    (home / "password").write_text(PASSWORD)
    if root:
        subprocess.run(["chown", "-R", "postgres", home], check=True)
    # `env -i`-like: PGHOST and its kin of the developer are not the test's.
    as_user = ["runuser", "-u", "postgres", "--"] if root else []
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PG")}

    def run(*arguments):
        done = subprocess.run(
            [*as_user, *map(str, arguments)], capture_output=True, text=True, env=environment
        )
        assert done.returncode == 0, done.stderr
        return done

    data = home / "data"
    run(folder / "initdb", "-D", data, "-U", "lab", "-A", "scram-sha-256",
        f"--pwfile={home / 'password'}", "--no-sync", "-E", "UTF8", "--locale=C")  # fmt: skip
    with (data / "pg_hba.conf").open("a") as file:
        file.write("host all all 10.0.0.0/8 scram-sha-256\n")
    port = free_port()
    options = (
        f"-c listen_addresses={listen} -c port={port} -c unix_socket_directories= -c fsync=off"
    )
    # 32 workers hold two connections each.
    options += " -c max_connections=200"
    try:
        run(folder / "pg_ctl", "-D", data, "-o", options, "-l", home / "log", "-w", "start")
        run("env", f"PGPASSWORD={PASSWORD}", folder / "createdb",
            "-h", "127.0.0.1", "-p", port, "-U", "lab", "studies")  # fmt: skip
        yield port
    finally:
        subprocess.run(
            [*as_user, folder / "pg_ctl", "-D", data, "-m", "immediate", "-w", "stop"],
            capture_output=True,
            env=environment,
        )
        shutil.rmtree(home, ignore_errors=True)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]
