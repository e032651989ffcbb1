"""HeadwaySampler beside Optuna's GPSampler and RandomSampler: `python -m bench.sampler`.

A suggestion is one `study.tell` and one `study.ask`, storage included: what a run pays between two
evaluations. Each sampler is measured in a process of its own with one BLAS thread; it is given n
Sobol points, asks once untimed, and is then timed over suggestions of its own choice. The samplers
take turns, round after round, so that whatever else the machine does meets all of them.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

from bench.peers import environment
from bench.timing import objective

SAMPLERS = ("headway", "gp", "gp+greenlet", "random")


def sampler_of(name: str, n: int) -> Any:
    import optuna

    if name == "headway":
        from headway.optuna import HeadwaySampler

        return HeadwaySampler(2 * n)  # half of the budget used: every part of it is at work
    if name == "random":
        return optuna.samplers.RandomSampler(seed=0)
    return optuna.samplers.GPSampler(seed=0, deterministic_objective=True)


def storage_of(name: str, folder: str) -> Any:
    import optuna

    if name == "memory":
        return None
    if name == "sqlite":
        return f"sqlite:///{folder}/study.db"
    backend = optuna.storages.journal.JournalFileBackend(f"{folder}/study.log")
    return optuna.storages.JournalStorage(backend)


def measure(job: dict[str, Any], folder: str) -> dict[str, Any]:
    """The wall seconds of each suggestion."""
    if job["sampler"] == "gp":
        sys.modules["greenlet"] = None  # type: ignore[assignment]
    elif job["sampler"] == "gp+greenlet":
        import greenlet  # noqa: F401  # its absence is a reason to print, not a silent fall-back
    import numpy as np
    import optuna
    from scipy.stats import qmc

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    n, d = job["n"], job["d"]
    space = {f"x{i}": optuna.distributions.FloatDistribution(0.0, 1.0) for i in range(d)}
    study = optuna.create_study(
        storage=storage_of(job["storage"], folder), sampler=sampler_of(job["sampler"], n)
    )
    for x in qmc.Sobol(d, seed=n).random(n):
        params = dict(zip(space, x.tolist(), strict=True))
        study.add_trial(optuna.create_trial(params=params, distributions=space, value=objective(x)))

    def ask() -> tuple[Any, float]:
        trial = study.ask(space)
        return trial, objective(np.array([trial.params[name] for name in space]))

    trial, value = ask()
    wall = []
    for _ in range(job["steps"]):
        started = time.perf_counter()
        study.tell(trial, value)
        trial = study.ask(space)
        wall.append(time.perf_counter() - started)
        value = objective(np.array([trial.params[name] for name in space]))
    return {"wall": wall}


def child(job: dict[str, Any]) -> dict[str, Any]:
    command = [sys.executable, "-m", "bench.sampler", "--job", json.dumps(job)]
    done = subprocess.run(
        command, env=environment("one"), stdout=subprocess.PIPE, text=True, check=False
    )
    lines = done.stdout.strip().splitlines()
    found = json.loads(lines[-1]) if lines else {"error": f"ended with {done.returncode}"}
    return dict(found)


def compare(arguments: argparse.Namespace) -> None:
    walls: dict[str, list[float]] = {name: [] for name in SAMPLERS}
    failed: dict[str, str] = {}
    for _ in range(arguments.rounds):
        for name in SAMPLERS:
            if name in failed:
                continue
            job = {key: getattr(arguments, key) for key in ("n", "d", "steps", "storage")}
            found = child({**job, "sampler": name})
            if "error" in found:
                failed[name] = found["error"]
            else:
                walls[name] += found["wall"]
    print(f"n = {arguments.n}, d = {arguments.d}, {arguments.storage}: ms per tell and ask")
    ours = statistics.median(walls["headway"]) if walls["headway"] else float("nan")
    for name in SAMPLERS:
        if name in failed:
            print(f"  {name:12}  {failed[name]}")
            continue
        cuts = statistics.quantiles(walls[name], n=4)
        line = f"  {name:12}  {1e3 * cuts[1]:7.1f}  ({1e3 * cuts[0]:.1f} to {1e3 * cuts[2]:.1f})"
        print(line + (f"   headway / this: {ours / cuts[1]:.2f}" if "gp" in name else ""))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=60)
    parser.add_argument("--d", type=int, default=6)
    parser.add_argument("--steps", type=int, default=15)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--storage", choices=("memory", "journal", "sqlite"), default="memory")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.job is None:
        return compare(arguments)
    try:
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # experimental options, and n is no power of two
            found = measure(json.loads(arguments.job), str(Path(folder)))
    except Exception as error:  # a sampler that fails is listed with its reason
        found = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
