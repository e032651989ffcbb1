"""Headway's own policies side by side on functions with known minima.

    python -m bench.policies run --policies ei default "default:finish=0.2" --cells bbob-5-50
    python -m bench.policies table bench/rows/policies.jsonl

A cell is a suite, a dimension and a budget: bbob-5-50, deceptive-1-50, classics-50 (all their
dimensions), with the replicates after a colon: bbob-5-50:1-3. A replicate is an instance and a
seed. All policies get the same seed and so the same initial design; the objective itself counts
the evaluations. Each run adds one JSON line as soon as it ends; started again with the same file,
`run` does only what is missing. It takes turns by problem, with all policies on it, so that what
is there at any moment can be compared in pairs.
"""

from __future__ import annotations

import argparse
import hashlib
import logging
import os
import re
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import qmc

import headway
from bench import functions, policy_specs, policy_table
from bench.functions import Problem
from bench.policy_rows import Row, append, key_of, read

Array = npt.NDArray[np.float64]

# Set before a worker imports numpy: two workers with two threads each would wait for each other.
ONE_THREAD = {
    name: "1"
    for name in (
        "OPENBLAS_NUM_THREADS",
        "OMP_NUM_THREADS",
        "MKL_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
    )
}
REPLICATES = {"bbob": 3, "classics": 3, "deceptive": 30}
# The cells that decide the default come first.
CELLS = (
    "bbob-5-50",
    "bbob-2-50",
    "bbob-10-80",
    "classics-50",
    "deceptive-1-50",
    "deceptive-2-50",
    "bbob-5-25",
    "bbob-2-25",
    "bbob-10-25",
    "bbob-5-100",
    "bbob-2-100",
    "bbob-10-100",
)
OUT = Path("bench/rows/policies.jsonl")


# --- what is to be run ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Job:
    """One run: a policy on a problem with a seed and a budget."""

    spec: str
    label: str
    suite: str
    problem: str
    d: int
    instance: int
    seed: int
    T: int

    @property
    def key(self) -> tuple[Any, ...]:
        """What makes two runs the same run."""
        return (self.label, self.suite, self.problem, self.d, self.instance, self.seed, self.T)


@dataclass(frozen=True, slots=True)
class Cell:
    """A suite, a dimension (None: all of them), a budget, and the replicates."""

    suite: str
    d: int | None
    T: int
    replicates: tuple[int, ...]

    @classmethod
    def parse(cls, text: str) -> Cell:
        """`suite-d-T[:replicates]`; the classics have no d."""
        match = re.fullmatch(r"([a-z]+)(?:-(\d+))?-(\d+)(?::(\d+)(?:-(\d+))?)?", text)
        if (
            match is None
            or match[1] not in REPLICATES
            or (match[2] is None) != (match[1] == "classics")
        ):
            raise ValueError(f"{text!r} is no cell; one is bbob-5-50:1-3 or classics-50")
        suite, d, T, first, last = match.groups()
        start = int(first or 1)
        end = int(last or first or REPLICATES[suite])
        return cls(suite, int(d) if d else None, int(T), tuple(range(start, end + 1)))

    def jobs(self, chosen: list[policy_specs.Spec]) -> Iterator[Job]:
        """By replicate, by problem, all policies on it."""
        for replicate in self.replicates:
            for number, name in enumerate(functions.names(self.suite)):
                d = functions.classic(name).d if self.d is None else self.d
                instance = 0 if self.suite == "classics" else replicate
                # no two functions of a cell share an initial design
                seed = 100 * replicate + number
                for spec in chosen:
                    yield Job(spec.text, spec.label, self.suite, name, d, instance, seed, self.T)


# --- one run --------------------------------------------------------------------------------


@dataclass(slots=True)
class Counted:
    """The objective, which keeps the account itself."""

    problem: Problem
    limit: int
    points: list[Array] = field(default_factory=list)
    values: list[float] = field(default_factory=list)

    def __call__(self, x: npt.ArrayLike) -> float:
        if len(self.values) == self.limit:
            raise RuntimeError(f"evaluation {self.limit + 1} of a budget of {self.limit}")
        self.points.append(np.asarray(x, dtype=float).copy())
        self.values.append(self.problem(x))
        return self.values[-1]

    def trace(self) -> list[tuple[int, float]]:
        """(evaluation, best regret so far) at each improvement: nothing is lost by it."""
        best, kept = np.inf, []
        for n, value in enumerate(self.values, start=1):
            if value < best:
                best = value
                kept.append((n, float(f"{value - self.problem.minimum:.6g}")))
        return kept

    def start(self, n: int) -> str:
        """A fingerprint of the first n points, to see that designs are the same."""
        return hashlib.sha256(np.array(self.points[:n]).round(9).tobytes()).hexdigest()[:12]


@cache
def _problem(suite: str, name: str, d: int, instance: int) -> tuple[Problem, float]:
    problem = functions.problem(suite, name, d, instance)
    return problem, functions.random_regret(problem)


@contextmanager
def _listening() -> Iterator[list[str]]:
    """What is warned of or logged meanwhile."""
    heard: list[str] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: heard.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("headway")
    logger.addHandler(handler)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield heard
    finally:
        logger.removeHandler(handler)
    heard.extend(str(warning.message) for warning in caught)


def search(spec: policy_specs.Spec, objective: Counted, seed: int) -> int:
    """Spend the budget as the spec says; how many points its initial design had."""
    problem, T = objective.problem, objective.limit
    if spec.policy is None:
        sobol = spec.name == "sobol"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # T need not be a power of two
            unit = (
                qmc.Sobol(problem.d, seed=seed).random(T)
                if sobol
                else np.random.default_rng(seed).random((T, problem.d))
            )
        for u in unit:
            objective(problem.low + u * (problem.high - problem.low))
        return 0
    optimizer = headway.Optimizer(
        problem.bounds,
        T,
        seed=seed,
        policy=spec.policy,
        surrogate=spec.surrogate,
        design=spec.design,
    )
    while not optimizer.done:
        trial = optimizer.ask()
        optimizer.tell(trial, objective(trial.x))
    return optimizer.settings.design


def run_one(job: Job, code: str = "") -> Row:
    """One run as a row; what goes wrong in it is written into the row."""
    problem, random = _problem(job.suite, job.problem, job.d, job.instance)
    row: Row = {
        "policy": job.label,
        "spec": job.spec,
        "suite": job.suite,
        "problem": job.problem,
        "d": job.d,
        "instance": job.instance,
        "seed": job.seed,
        "T": job.T,
        "random": float(f"{random:.8g}"),
        "code": code,
    }
    objective = Counted(problem, job.T)
    began = time.process_time()  # other load on the machine does not count
    try:
        with _listening() as heard:
            design = search(policy_specs.parse(job.spec), objective, job.seed)
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        row["error"] = (
            f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})"
        )
        heard, design = [], 0
    row["seconds"] = round(time.process_time() - began, 3)
    row["evaluations"] = len(objective.values)
    row["trace"] = objective.trace()
    row["start"] = objective.start(design) if design else None
    if heard:
        row["notes"] = sorted({text[:100] for text in heard})[:5]
    return row


# --- all of them ----------------------------------------------------------------------------


def code_digest() -> str:
    """A fingerprint of the package's source, so that rows of different code are told apart."""
    digest = hashlib.sha256()
    for path in sorted(Path(headway.__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:10]


def run(
    jobs: list[Job],
    out: Path,
    *,
    processes: int,
    hours: float | None,
    say: Callable[[str], object],
) -> int:
    """Do what is missing from `out`, in order, until it is done or the hours are up."""
    done = {key_of(row) for row in read([out]) if "error" not in row}
    missing = [job for job in jobs if job.key not in done]
    say(f"{len(jobs) - len(missing)} of {len(jobs)} runs are in {out}, {len(missing)} to do")
    if not missing:
        return 0
    os.environ.update(ONE_THREAD)
    code, began, count, failed = code_digest(), time.monotonic(), 0, 0
    queue, flying = iter(missing), set[Future[Row]]()
    # spawn: a fresh interpreter, so that numpy there is loaded after the variables are set
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        while True:
            while len(flying) < 2 * processes and not _late(began, hours):
                job = next(queue, None)
                if job is None:
                    break
                flying.add(pool.submit(run_one, job, code))
            if not flying:
                break
            finished, flying = wait(flying, return_when=FIRST_COMPLETED)
            for future in finished:
                row = future.result()
                append(out, row)
                count += 1
                if "error" in row:
                    failed += 1
                    say(f"{row['policy']} on {row['problem']}, {row['d']}-d: {row['error']}")
                if count % 50 == 0:
                    left = (time.monotonic() - began) / count * (len(missing) - count) / 60
                    say(f"{count} of {len(missing)} runs, {left:.0f} min to go")
    say(f"{count} runs in {(time.monotonic() - began) / 60:.1f} min, {failed} of them failed")
    return count


def _late(began: float, hours: float | None) -> bool:
    return hours is not None and time.monotonic() - began > hours * 3600


def main(arguments: Iterable[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.policies", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    commands = parser.add_subparsers(dest="command", required=True)
    go = commands.add_parser("run", help="run what is missing, then print the table")
    go.add_argument("--policies", nargs="+", default=policy_specs.STANDARD, metavar="SPEC")
    go.add_argument("--cells", nargs="+", default=CELLS, metavar="CELL")
    go.add_argument("--out", type=Path, default=OUT)
    go.add_argument("--processes", type=int, default=2)
    go.add_argument("--budget-hours", type=float, default=None)
    show = commands.add_parser("table", help="compare the rows of one or more files")
    show.add_argument("files", nargs="*", type=Path, default=[OUT])
    for command in (go, show):
        command.add_argument("--against", default="ei", help="the policy to compare with")
    asked = list(sys.argv[1:] if arguments is None else arguments)
    options = parser.parse_args(asked or ["run"])
    try:
        if options.command == "run":
            chosen = [policy_specs.parse(text) for text in options.policies]
            jobs = [job for c in options.cells for job in Cell.parse(c).jobs(chosen)]
            run(
                jobs,
                options.out,
                processes=options.processes,
                hours=options.budget_hours,
                say=lambda text: print(text, flush=True),
            )
        files = [options.out] if options.command == "run" else options.files
        print(policy_table.report(read(files), against=options.against))
    except ValueError as error:
        parser.error(str(error))
    return 0


if __name__ == "__main__":
    sys.exit(main())
