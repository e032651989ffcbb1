"""What the command line costs a trial, and what 1 to 32 workers bring: `make bench-scale`.

    --parts overhead,throughput   --storages journal,sqlite,postgresql   --modes work,run
    --workers 1,2,8,32   --seconds 1   --reps 3   --quick

Overhead: `headway run` beside a program of Optuna's with its RandomSampler, on the same storage,
with the same command and the same parameters, each a process of its own, turn by turn; wall clock,
and processor time, which is the fairer figure on a busy machine. Throughput: Hartmann-6, an
evaluation of which sleeps, by as many processes of `headway work` on PostgreSQL, and by one
`headway run -j` on a journal.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from bench import functions
from tests.doors.postgres import PASSWORD, QUOTED, server

SRC = Path(__file__).parents[1] / "src"
HEADWAY = [sys.executable, "-m", "headway"]
# -S -E: an interpreter that starts in 10 ms, so that the machine waits and does not start programs.
FAST = f"{sys.executable} -S -E"
OPTIMUM = -3.3223680114155152  # of Hartmann-6
AWK = ["awk", "-v", "x={x}", "-v", "y={y}", "-v", "z={z}", "BEGIN{{print (x-2)^2+y+z}}"]
RANDOM = """
import subprocess, sys, time
began = time.perf_counter()
import optuna
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend

optuna.logging.set_verbosity(optuna.logging.ERROR)
place, budget = sys.argv[1], int(sys.argv[2])
storage = place if "://" in place else JournalStorage(JournalFileBackend(place))
study = optuna.create_study(
    storage=storage, study_name=sys.argv[3], sampler=optuna.samplers.RandomSampler(seed=0)
)


def f(trial):
    x = trial.suggest_float("x", -5.0, 10.0)
    y = trial.suggest_float("y", 0.0, 1.0)
    z = trial.suggest_float("z", 0.0, 1.0)
    command = ["awk", "-v", f"x={x}", "-v", f"y={y}", "-v", f"z={z}", "BEGIN{print (x-2)^2+y+z}"]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


study.optimize(f, n_trials=budget)
"""
SLEEPER = """
import math, sys, time
A, P, ALPHA = {A}, {P}, {alpha}
x = [float(text) for text in sys.argv[2:]]
time.sleep(float(sys.argv[1]))
print(-sum(a * math.exp(-sum(c * (u - p) ** 2 for c, u, p in zip(row, x, at)))
           for a, row, at in zip(ALPHA, A, P)))
"""


def overhead(storages: Sequence[str], reps: int, budget: int) -> list[dict[str, Any]]:
    """Seconds of whole processes, and what they say per trial."""
    rows = []
    with tempfile.TemporaryDirectory() as text, _storages(storages, Path(text)) as places:
        folder = Path(text)
        (folder / "plain.py").write_text(RANDOM)
        for name, place in places.items():
            ours, theirs, empty = [], [], []
            for rep in range(reps):
                study = f"{name}-{rep}"
                _study(folder / "study.toml", f"ours-{study}", budget, AWK, ("x", "y", "z"))
                at = place.format(f"ours-{rep}")
                ours.append(_timed([*HEADWAY, "run", "study.toml", "-q", "--storage", at], folder))
                # Nothing is left to do: what starting and ending takes.
                empty.append(_timed([*HEADWAY, "run", "study.toml", "-q", "--storage", at], folder))
                at = place.format(f"theirs-{rep}")
                command = [sys.executable, "plain.py", at, str(budget), f"theirs-{study}"]
                theirs.append(_timed(command, folder))
            pairs = list(zip(ours, theirs, strict=True))
            rows.append(
                {
                    "storage": name,
                    "trials": budget,
                    "headway_s": statistics.median(a[0] for a in ours),
                    "random_s": statistics.median(b[0] for b in theirs),
                    "start_s": statistics.median(e[0] for e in empty),
                    "more_ms": [1000 * (a[0] - b[0]) / budget for a, b in pairs],
                    "more_cpu_ms": [1000 * (a[1] - b[1]) / budget for a, b in pairs],
                }
            )
            print(json.dumps(rows[-1]), flush=True)
    return rows


def throughput(
    modes: Sequence[str], workers: Sequence[int], size: tuple[int, int, float]
) -> list[dict[str, Any]]:
    """Trials per second, copies and regret, by the number of workers."""
    rows = []
    with tempfile.TemporaryDirectory() as text, _storages(("postgresql",), Path(text)) as places:
        folder = Path(text)
        arrays = {"A": functions._HARTMANN6_A, "P": functions._HARTMANN6_P}
        constants = {key: np.asarray(value).tolist() for key, value in arrays.items()}
        alpha = np.asarray(functions._HARTMANN_ALPHA).tolist()
        (folder / "sleep.py").write_text(SLEEPER.format(**constants, alpha=alpha))
        for mode in modes:
            for count in workers:
                row = _many(mode, count, folder, places["postgresql"], size)
                rows.append(row)
                print(json.dumps(row), flush=True)
    return rows


def _many(
    mode: str, count: int, folder: Path, url: str, size: tuple[int, int, float]
) -> dict[str, Any]:
    seeds, budget, seconds = size
    names = tuple(f"x{j}" for j in range(6))
    found: list[dict[str, float]] = []
    for seed in range(seeds):
        name = f"{mode}-{count}-{seed}"
        path = folder / f"{name}.toml"
        command = [*FAST.split(), "sleep.py", str(seconds), *(f"{{{n}}}" for n in names)]
        _study(path, name, budget, command, names, more=f"seed = {seed}")
        storage = url if mode == "work" else f"{name}.journal"
        here = [str(path), "--storage", storage]
        if mode == "work":
            # The study begins before its workers do; the first point is given back at once.
            _do([*HEADWAY, "ask", *here], folder)
            _do([*HEADWAY, "tell", here[0], "0", "--cancel", *here[1:]], folder)
            runs = [
                subprocess.Popen([*HEADWAY, "work", *here, "-q"], cwd=folder, **_quiet())
                for _ in range(count)
            ]
            assert [run.wait() for run in runs] == [0] * count
        else:
            _do([*HEADWAY, "run", *here, "-q", "-j", str(count)], folder)
        text = _do([*HEADWAY, "export", *here, "--json"], folder)
        found.append(_figures(json.loads(text), seconds))
    figures = {key: statistics.median(one[key] for one in found) for key in found[0]}
    return {"mode": mode, "workers": count, "budget": budget, "sleep_s": seconds, **figures}


def _figures(trials: list[dict[str, Any]], seconds: float) -> dict[str, float]:
    from datetime import datetime

    told = [trial for trial in trials if trial["state"] == "told"]
    ends = sorted(datetime.fromisoformat(trial["ended"]) for trial in told)
    first = min(datetime.fromisoformat(trial["began"]) for trial in told)
    points = [tuple(trial["params"].values()) for trial in told]
    ordered = sorted(told, key=lambda trial: trial["ended"])
    regrets = np.minimum.accumulate([trial["value"] - OPTIMUM for trial in ordered])
    # The middle half: without the start of the processes and the last stragglers.
    low, high = len(ends) // 4, 3 * len(ends) // 4
    return {
        "finished": len(told),
        "per_s": len(told) / (ends[-1] - first).total_seconds(),
        "steady_per_s": (high - low) / (ends[high] - ends[low]).total_seconds(),
        "copies": len(points) - len(set(points)),
        "beyond": sum(trial.get("error") == "over budget" for trial in trials),
        "regret_half": float(regrets[len(regrets) // 2]),
        "regret": float(regrets[-1]),
    }


@contextmanager
def _storages(names: Sequence[str], folder: Path) -> Iterator[dict[str, str]]:
    """Where to put a study, by the kind of storage; {} stands for a name."""
    with ExitStack() as stack:
        places = {}
        for name in names:
            if name == "postgresql":
                port = stack.enter_context(server())
                places[name] = f"postgresql+psycopg://lab:{QUOTED}@127.0.0.1:{port}/studies"
            else:
                end = f"{folder}/{{}}"
                places[name] = f"sqlite:///{end}.db" if name == "sqlite" else f"{end}.journal"
        yield places


def _study(
    path: Path,
    name: str,
    budget: int,
    command: Sequence[str],
    parameters: Sequence[str],
    *,
    more: str = "",
) -> None:
    ranges = {"x": "[-5.0, 10.0]"}
    lines = [
        f'name = "{name}"',
        f"budget = {budget}",
        f"command = {json.dumps(list(command))}",
        more,
        "[parameters]",
        *(f"{parameter} = {ranges.get(parameter, '[0.0, 1.0]')}" for parameter in parameters),
    ]
    path.write_text("\n".join(lines))


def _timed(command: Sequence[str], folder: Path) -> tuple[float, float]:
    """Wall clock and processor time of a process and its children, in seconds."""
    began, used = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    _do(command, folder)
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
    return time.perf_counter() - began, processor


def _do(command: Sequence[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, env=_environment(), capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout


def _quiet() -> dict[str, Any]:
    return {"stdout": subprocess.DEVNULL, "env": _environment()}


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(SRC), "PGPASSWORD": PASSWORD}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", default="overhead,throughput")
    parser.add_argument("--storages", default="journal,sqlite,postgresql")
    parser.add_argument("--workers", default="1,2,8,32")
    parser.add_argument("--modes", default="work,run")
    parser.add_argument("--reps", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    if "overhead" in given.parts:
        budget = 20 if given.quick else 60
        rows = overhead(given.storages.split(","), given.reps, budget)
        print("\n| storage | headway run | RandomSampler | more a trial | in processor time |")
        print("|---|---|---|---|---|")
        for r in rows:
            more, cpu = (
                f"{statistics.median(r[key]):.0f} ms ({min(r[key]):.0f} to {max(r[key]):.0f})"
                for key in ("more_ms", "more_cpu_ms")
            )
            times = f"{r['headway_s']:.1f} s | {r['random_s']:.1f} s"
            print(f"| {r['storage']} | {times} | {more} | {cpu} |")
        print(f"With nothing left to do, headway run takes {rows[0]['start_s']:.1f} s.")
    if "throughput" in given.parts:
        workers = [int(text) for text in given.workers.split(",")]
        seconds = 0.2 if given.quick else given.seconds
        size = (1 if given.quick else given.reps, 96, seconds)
        rows = throughput(given.modes.split(","), workers, size)
        print("\n| workers | trials a second | steady | copies | beyond | regret at 48 | at 96 |")
        print("|---|---|---|---|---|---|---|")
        for r in rows:
            kind = "run -j" if r["mode"] == "run" else "work"
            print(
                f"| {r['workers']} ({kind}) | {r['per_s']:.2f} | {r['steady_per_s']:.2f} | "
                f"{r['copies']:.0f} | {r['beyond']:.0f} | {r['regret_half']:.2g} | "
                f"{r['regret']:.2g} |"
            )
    print(f"\nload average {os.getloadavg()[0]:.1f} at the end")


if __name__ == "__main__":
    main()
