"""minimize on a real Dask cluster, a worker of which is killed in mid-run."""

import os
import signal
import time
from pathlib import Path

import pytest

import headway
from tests.pages import SERVED, python_blocks, run_python

distributed = pytest.importorskip("distributed", reason="Dask is not installed")

SPACE = {"x": (-5.0, 10.0), "y": (0.0, 15.0)}


@pytest.fixture
def client(tmp_path):
    with (
        distributed.LocalCluster(
            n_workers=3,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            local_directory=str(tmp_path),
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def test_a_budget_is_spent_on_the_cluster(client):
    def f(p):
        return headway.Outcome((p["x"] - 2) ** 2 + p["y"], constraints=[-p["y"]], cost=os.getpid())

    with client.get_executor() as pool:
        result = headway.minimize(f, SPACE, budget=20, constraints=1, executor=pool, workers=3)
    assert result.success and result.nfev == 20
    assert {record.status for record in result.history} == {"told"}
    workers = {record.cost for record in result.history}
    assert len(workers) > 1 and os.getpid() not in workers


def test_a_worker_that_dies_costs_nothing(client, tmp_path):
    """Dask evaluates its trial again elsewhere; the budget is spent exactly."""
    folder = str(tmp_path)

    def f(p):
        mark = Path(folder, "killed")
        if p["x"] > -9 and not mark.exists() and len(list(Path(folder).glob("call-*"))) >= 4:
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        Path(folder, f"call-{time.monotonic_ns()}").touch()
        time.sleep(0.05)
        return (p["x"] - 2) ** 2 + p["y"]

    with client.get_executor() as pool:
        result = headway.minimize(f, SPACE, budget=16, executor=pool, workers=3)
    assert (tmp_path / "killed").exists()
    assert result.nfev == 16
    assert [record.status for record in result.history] == ["told"] * 16
    assert len({record.point for record in result.history}) == 16


def test_a_trial_that_kills_every_worker_fails_and_the_run_goes_on(client):
    """Dask gives it up after a few workers; the others of the trials are told."""

    def f(p):
        if p["x"] == 7.0:
            os.kill(os.getpid(), signal.SIGKILL)
        return (p["x"] - 2) ** 2 + p["y"]

    start = [{"x": 1.0, "y": 1.0}, {"x": 7.0, "y": 1.0}]
    with client.get_executor() as pool:
        result = headway.minimize(f, SPACE, budget=8, x0=start, executor=pool, workers=2)
    assert [r.status for r in result.history].count("failed") == 1
    assert "KilledWorker" in result.history[1].error
    assert result.nfev == 8


def test_the_example_of_the_page(tmp_path):
    (block,) = python_blocks(needing=SERVED)
    assert block.page == "docs/scale.md"
    assert run_python(block, tmp_path).rstrip().endswith("20")
