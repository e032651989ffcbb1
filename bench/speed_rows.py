"""What `make bench-speed` measures, and the file of rows that keeps the results.

Every measurement is a process of its own (bench/timing.py). Its row is appended at once: started
again, only what is missing is measured. A row counts for as long as the library's version, numpy,
scipy, our sources and this bench are unchanged.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from bench.peers import PEERS, environment

ROOT = Path(__file__).resolve().parent.parent
THREADS = ("one", "default")
PARTS = ("suggest", "growth", "import")


@dataclass(frozen=True, slots=True)
class Plan:
    """What is measured: sizes, how many suggestions at each, and where the rows go."""

    peers: tuple[str, ...]
    dimensions: tuple[int, ...] = (2, 6, 20)
    sizes: tuple[int, ...] = (20, 60, 100, 200)
    steps: int = 11
    growth: tuple[int, ...] = (500, 1000, 2000, 5000)
    growth_dimension: int = 6
    growth_steps: int = 20
    import_repeats: int = 9
    limit: float = 60.0  # seconds of one measurement, after which it ends early
    rows: Path = ROOT / "bench" / "rows" / "speed.jsonl"


def quick(plan: Plan) -> Plan:
    """A smoke run: every kind of measurement, the smallest of each."""
    return Plan(
        peers=plan.peers,
        dimensions=(2, 6),
        sizes=(20, 60),
        steps=3,
        growth=(500,),
        growth_steps=3,
        import_repeats=3,
        limit=10.0,
        rows=ROOT / "bench" / "rows" / "speed-quick.jsonl",
    )


def fingerprint(*patterns: str) -> str:
    """A short hash of our files, so that rows of older code are not taken for today's."""
    digest = hashlib.sha256()
    for path in sorted(path for pattern in patterns for path in ROOT.glob(pattern)):
        digest.update(path.relative_to(ROOT).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:12]


def installed(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "not installed"


def versions(peer: str) -> str:
    """Everything a measurement of this peer depends on, as one text."""
    names = [PEERS[peer].distribution, "numpy", "scipy"]
    code = fingerprint("bench/peers.py", "bench/timing.py")
    if peer == "headway":
        code += "-" + fingerprint("src/headway/**/*.py")
    return " ".join([*(f"{name} {installed(name)}" for name in names), code])


def jobs(plan: Plan, parts: tuple[str, ...]) -> list[dict[str, Any]]:
    """Every measurement, in the order in which it is made and with all that identifies it."""
    found: list[dict[str, Any]] = []

    def add(peer: str, threads: str, **job: Any) -> None:
        found.append({**job, "peer": peer, "threads": threads, "versions": versions(peer)})

    for threads in THREADS:
        if "suggest" in parts:
            for d in plan.dimensions:
                for n in plan.sizes:
                    for peer in plan.peers:
                        size = {"n": n, "d": d, "steps": plan.steps, "limit": plan.limit}
                        add(peer, threads, part="suggest", kind="suggest", **size)
        if "growth" in parts and "headway" in plan.peers:
            for n in plan.growth:
                size = {"n": n, "d": plan.growth_dimension, "steps": plan.growth_steps}
                job = {"kind": "suggest", "limit": 10 * plan.limit, **size}
                add("headway", threads, part="growth", **job)
    if "import" in parts:
        for repeat in range(plan.import_repeats):
            for peer in plan.peers:
                if peer != "optuna+greenlet":  # the same import
                    job = {"door": PEERS[peer].door, "repeat": repeat}
                    add(peer, "default", part="import", kind="import", **job)
    return found


def key(job: dict[str, Any]) -> str:
    return json.dumps(job, sort_keys=True)


def measure(job: dict[str, Any]) -> dict[str, Any]:
    """Run one job in a child process."""
    command = [sys.executable, "-m", "bench.timing", json.dumps(job)]
    variables = environment(job["threads"])
    started = time.perf_counter()
    child = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True)
    seconds = time.perf_counter() - started
    if child.returncode != 0 or not child.stdout.strip():
        last = (child.stderr.strip().splitlines() or ["no message"])[-1]
        return {"error": f"process ended with status {child.returncode}: {last}"}
    return {**json.loads(child.stdout), "process": seconds}


def read_rows(path: Path) -> dict[str, dict[str, Any]]:
    """Rows by job. A torn last line, left by an interrupted run, is measured again."""
    rows = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            row = json.loads(line)
        except json.JSONDecodeError:
            continue
        rows[key(row["job"])] = row
    return rows


def run(plan: Plan, wanted: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], int]:
    """Measure what is missing; give back all rows wanted, and how many of them were there."""
    plan.rows.parent.mkdir(parents=True, exist_ok=True)
    rows = read_rows(plan.rows)
    missing = [job for job in wanted if key(job) not in rows]
    with plan.rows.open("a") as file:
        if plan.rows.stat().st_size and not plan.rows.read_bytes().endswith(b"\n"):
            file.write("\n")  # closes a torn line
        for i, job in enumerate(missing, start=1):
            label = f"{job['part']} {job['peer']} threads={job['threads']}"
            size = f" d={job['d']} n={job['n']}" if "n" in job else ""
            print(f"[{i}/{len(missing)}] {label}{size}", file=sys.stderr, flush=True)
            row = {"job": job, "load": os.getloadavg()[0], **measure(job)}
            rows[key(job)] = row
            if "error" not in row:  # a failure is tried again next time
                file.write(json.dumps(row) + "\n")
                file.flush()
    return [rows[key(job)] for job in wanted], len(wanted) - len(missing)
