"""One measurement in a process of its own: `python -m bench.timing JSON` prints one JSON line.

    {"kind": "suggest", "peer": ..., "n": ..., "d": ..., "steps": ..., "limit": seconds}
    {"kind": "import", "door": "module:name"}

A suggestion is one `tell` and one `ask`: what a run pays between two evaluations. The peer is told
n Sobol points first, asks once untimed (late imports, the first fit from nothing), and is then
timed over consecutive suggestions of its own choice, which end early at the time limit.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from importlib import import_module
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

# What `import headway` must not load: each costs more than the rest of the import together.
HEAVY = ("scipy.stats", "pandas", "plotly", "torch", "optuna", "sklearn", "matplotlib")

# A median of fewer than three says nothing.
FEWEST_STEPS = 3


def peak_mebibytes() -> float:
    """Peak resident memory of this process."""
    status = Path("/proc/self/status")
    if status.exists():  # getrusage's figure on Linux also covers the process that started us
        line = next(s for s in status.read_text().splitlines() if s.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20


def objective(x: Any) -> float:
    """A bowl, steeper from coordinate to coordinate, with waves: ARD has something to learn."""
    import numpy as np

    d = len(x)
    centre = 0.5 + 0.35 * np.cos(np.arange(1, d + 1))
    gap = x - centre
    return float(np.sum(np.geomspace(1, 20, d) * gap**2) + 0.2 * np.sum(1 - np.cos(12 * gap)))


def suggest(job: dict[str, Any]) -> dict[str, Any]:
    import numpy as np
    from scipy.stats import qmc

    from bench.peers import PEERS

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # n need not be a power of two; peers warn of what they do
        X = qmc.Sobol(job["d"], seed=job["n"]).random(job["n"])
        y = np.array([objective(x) for x in X])
        started = time.perf_counter()
        peer = PEERS[job["peer"]].start(X, y, seed=0)
        told = time.perf_counter() - started
        base = peak_mebibytes()
        x = peer.ask()
        wall, cpu = [], []
        deadline = time.perf_counter() + job["limit"]
        while len(wall) < job["steps"]:
            value = objective(x)
            w, c = time.perf_counter(), time.process_time()
            peer.tell(x, value)
            x = peer.ask()
            wall.append(time.perf_counter() - w)
            cpu.append(time.process_time() - c)
            if len(wall) >= FEWEST_STEPS and time.perf_counter() > deadline:
                break
    return {"wall": wall, "cpu": cpu, "told": told, "base": base, "peak": peak_mebibytes()}


def import_time(job: dict[str, Any]) -> dict[str, Any]:
    """The import alone, then with the first name a user takes: a lazy package pays only there."""
    module = job["door"].partition(":")[0]
    started = time.perf_counter()
    import_module(module)
    alone = time.perf_counter() - started
    heavy = [name for name in HEAVY if name in sys.modules]
    resolve_name(job["door"])
    door = time.perf_counter() - started
    heavy_door = [name for name in HEAVY if name in sys.modules]
    return {"alone": alone, "heavy": heavy, "door": door, "heavy_door": heavy_door}


def main() -> None:
    job = json.loads(sys.argv[1])
    # Whatever a library prints while it works goes to stderr: stdout carries one line of JSON.
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    try:
        found = {"suggest": suggest, "import": import_time}[job["kind"]](job)
    except Exception as error:  # a peer that fails is listed with its reason
        found = {"error": f"{type(error).__name__}: {error}"}
    answer.write(json.dumps(found) + "\n")
    answer.flush()


if __name__ == "__main__":
    main()
