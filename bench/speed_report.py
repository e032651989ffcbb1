"""The tables of `make bench-speed`, as Markdown that also reads well on a terminal."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections import Counter
from statistics import median
from typing import Any

from bench.peers import PEERS, environment
from bench.speed_rows import ROOT, THREADS, Plan, installed

# What we promise ourselves.
TARGET_RATIO = 0.25  # of the fastest peer's time, at n = 60, d = 6, one thread
TARGET_GROWTH = {1000: 0.5, 5000: 1.0}  # seconds
TARGET_IMPORT = 0.4  # seconds
TARGET_THREADS = 1.25  # default threads over one thread
# Faster than what `pip install optuna` gives, so that the target is judged with it and without.
GREENLET = "optuna+greenlet"


def table(head: list[str], body: list[list[str]]) -> str:
    """A Markdown table, padded so that it also reads well on a terminal."""
    lines = [head, *body]
    widths = [max(3, *(len(line[i]) for line in lines)) for i in range(len(head))]
    text = ["| " + " | ".join(c.rjust(w) for c, w in zip(line, widths, strict=True)) + " |"
            for line in lines]  # fmt: skip
    text.insert(1, "| " + " | ".join("-" * (w - 1) + ":" for w in widths) + " |")
    return "\n".join(text)


class Rows:
    """The rows of one report, with the lookups that the tables need."""

    def __init__(self, plan: Plan, rows: list[dict[str, Any]], clock: str) -> None:
        self.clock = clock  # "wall" or "cpu"
        self.plan, self.good = plan, [row for row in rows if "error" not in row]
        self.peers = [peer for peer in plan.peers if peer != "headway"]

    def times(self, part: str, peer: str, threads: str, *, n: int, d: int) -> list[float]:
        """Seconds of each suggestion; empty where there is no measurement."""
        place = {"part": part, "peer": peer, "threads": threads, "n": n, "d": d}
        row = next((r for r in self.good if place.items() <= r["job"].items()), {})
        return list(row.get(self.clock, []))

    def growth(self, threads: str, n: int) -> dict[str, Any]:
        place = {"part": "growth", "threads": threads, "n": n}
        return next((r for r in self.good if place.items() <= r["job"].items()), {})

    def imports(self, peer: str) -> list[dict[str, Any]]:
        place = {"part": "import", "peer": peer}
        return [row for row in self.good if place.items() <= row["job"].items()]

    def fastest(
        self, threads: str, *, n: int, d: int, without: str = ""
    ) -> tuple[str, float] | None:
        peers = [peer for peer in self.peers if peer != without]
        times = {p: self.times("suggest", p, threads, n=n, d=d) for p in peers}
        medians = {p: median(t) for p, t in times.items() if t}
        return min(medians.items(), key=lambda item: item[1]) if medians else None

    def ratio(self, threads: str, *, n: int, d: int, without: str = "") -> float | None:
        """Our median over the fastest peer's."""
        ours = self.times("suggest", "headway", threads, n=n, d=d)
        best = self.fastest(threads, n=n, d=d, without=without)
        return median(ours) / best[1] if ours and best else None


def number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def milliseconds(seconds: list[float]) -> str:
    return f"{1e3 * median(seconds):.1f}" if seconds else "-"


def suggest_table(rows: Rows, threads: str) -> str:
    body = []
    for d in rows.plan.dimensions:
        for n in rows.plan.sizes:
            times = [rows.times("suggest", p, threads, n=n, d=d) for p in rows.plan.peers]
            best, ratio = rows.fastest(threads, n=n, d=d), rows.ratio(threads, n=n, d=d)
            tail = [number(ratio), best[0] if best else "-"]
            body.append([str(d), str(n), *map(milliseconds, times), *tail])
    return table(["d", "n", *rows.plan.peers, "headway / fastest", "fastest peer"], body)


def threads_table(rows: Rows) -> str:
    """Each peer's time with the default threads over its time with one."""
    body = []
    for d in rows.plan.dimensions:
        for n in rows.plan.sizes:
            line = [str(d), str(n)]
            for peer in rows.plan.peers:
                one, many = (rows.times("suggest", peer, t, n=n, d=d) for t in THREADS)
                quotient = median(many) / median(one) if one and many else None
                line.append(number(quotient))
            body.append(line)
    return table(["d", "n", *rows.plan.peers], body)


def growth_table(rows: Rows) -> str:
    body = []
    for n in rows.plan.growth:
        line = [str(n)]
        for threads in THREADS:
            row = rows.growth(threads, n)
            times = row.get(rows.clock, [])
            line += [milliseconds(times), f"{1e3 * max(times):.0f}" if times else "-"]
        row = rows.growth("one", n)
        if row:
            line += [f"{row['peak']:.0f}", f"{row['peak'] - row['base']:.0f}", f"{row['told']:.1f}"]
        body.append([*line, *["-"] * (8 - len(line))])
    head = ["n", "one thread", "slowest", "default threads", "slowest", "peak MiB",
            "of it for asking", "s to tell n"]  # fmt: skip
    return table(head, body)


def import_table(rows: Rows) -> str:
    body = []
    for peer in rows.plan.peers:
        mine = rows.imports(peer)
        if mine:
            times = [f"{median(row[what] for row in mine):.3f}" for what in ("alone", "door")]
            heavy = [", ".join(mine[-1][what]) or "none" for what in ("heavy", "heavy_door")]
            body.append([PEERS[peer].door, times[0], heavy[0], times[1], heavy[1]])
    return table(["module:name", "import", "heavy modules", "with name", "heavy modules"], body)


def targets(rows: Rows) -> list[str]:
    """One line per target, met or missed; nothing about what was not measured."""
    lines = []

    def judge(text: str, value: float | None, limit: float) -> None:
        if value is not None:
            word = "met   " if value <= limit else "MISSED"
            lines.append(f"{word} {text}: {value:.3g} (at most {limit:g})")

    for without, which in (("", "the fastest"), (GREENLET, "the fastest without greenlet")):
        best = rows.fastest("one", n=60, d=6, without=without)
        ratio = rows.ratio("one", n=60, d=6, without=without)
        who = f"{best[0]}, {which}" if best else which
        judge(f"headway over {who}, n = 60, d = 6, one thread", ratio, TARGET_RATIO)
    for n, limit in TARGET_GROWTH.items():
        for threads in THREADS:
            times = rows.growth(threads, n).get(rows.clock, [])
            text = f"seconds per suggestion at n = {n}, {threads} thread(s)"
            judge(text, median(times) if times else None, limit)
    one, many = (rows.times("suggest", "headway", t, n=60, d=6) for t in THREADS)
    both = median(many) / median(one) if one and many else None
    judge("default threads over one thread, n = 60, d = 6", both, TARGET_THREADS)
    imports = rows.imports("headway")
    for what, text in (("alone", "import headway"), ("door", "that and headway.Optimizer")):
        seconds = median(row[what] for row in imports) if imports else None
        judge(f"seconds of {text}", seconds, TARGET_IMPORT)
    if imports:
        heavy = imports[-1]["heavy_door"]
        word = "MISSED" if heavy else "met   "
        lines.append(f"{word} heavy modules loaded by both: {', '.join(heavy) or 'none'}")
    return lines


def import_costs(statement: str) -> dict[str, int]:
    """Microseconds that each module takes by itself, by `python -X importtime`."""
    command = [sys.executable, "-X", "importtime", "-c", statement]
    variables = environment("default")
    child = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True)
    costs = {}
    for line in child.stderr.splitlines():
        fields = line.removeprefix("import time:").split("|")
        if len(fields) == 3 and fields[0].strip().isdigit():
            costs[fields[2].strip()] = int(fields[0])
    return costs


def import_line(door: str) -> list[str]:
    """What costs most in an import, Python's own start taken out, for whoever mends it."""
    start = import_costs("import pkgutil")
    costs = import_costs(f"import pkgutil; pkgutil.resolve_name({door!r})")
    own = {name: cost for name, cost in costs.items() if name not in start}
    if not any(name.startswith(door.partition(":")[0]) for name in own):
        return []
    most = sorted(own.items(), key=lambda item: -item[1])[:5]
    total = (
        f"-X importtime of {door}: {sum(own.values()) / 1e3:.0f} ms in all; most by themselves: "
    )
    return [total + ", ".join(f"{name} {cost / 1e3:.0f} ms" for name, cost in most)]


def failures(results: list[dict[str, Any]]) -> list[str]:
    """Who could not be measured, why, and how often."""
    counts = Counter((r["job"]["peer"], r["error"]) for r in results if "error" in r)
    return [f"not measured ({k} times): {peer}: {why}" for (peer, why), k in counts.items()]


def report(plan: Plan, results: list[dict[str, Any]], *, reused: int, clock: str) -> str:
    rows = Rows(plan, results, clock)
    parts = {row["job"]["part"] for row in results}
    loads = [row["load"] for row in results]
    used = {peer: installed(PEERS[peer].distribution) for peer in plan.peers}
    text = [
        f"{os.cpu_count()} CPUs, {platform.machine()}, Python {platform.python_version()}, "
        f"numpy {installed('numpy')}, scipy {installed('scipy')}, torch {installed('torch')}",
        ", ".join(f"{peer} {number}" for peer, number in used.items()),
        f"load average {min(loads):.1f} to {max(loads):.1f} while measuring; "
        f"{reused} of {len(results)} measurements from an earlier sitting",
    ]
    text += failures(results)
    if "suggest" in parts:
        for threads in THREADS:
            text.append(
                f"\n## Median {clock} milliseconds per suggestion, {threads} BLAS thread(s)\n"
            )
            text.append(suggest_table(rows, threads))
        text += ["\n## Default threads over one thread\n", threads_table(rows)]
    if "growth" in parts:
        what = f"median of {plan.growth_steps} consecutive, d = {plan.growth_dimension}"
        text.append(f"\n## Growth of headway: {clock} milliseconds per suggestion, {what}\n")
        text.append(growth_table(rows))
    if "import" in parts:
        text += [
            "\n## Import, median seconds\n",
            import_table(rows),
            *import_line(PEERS["headway"].door),
        ]
    return "\n".join([*text, "\n## Targets\n", *targets(rows)])
