"""Tables of the benchmark's rows: regret against one policy, in pairs, losses first.

Per run: r the final regret, floored at 1e-8; R the regret of a random point. Two scores, lower is
better: log10 r, and the share log10 max(r / R, 1e-3), which says what an engineer gains. Both are
averaged over runs; a policy is compared with the reference on the runs that both have (same
problem, seed and budget), and the interval is the 95 % percentile bootstrap of the mean of the
paired differences over these runs. "Solved" on the deceptive family means that the deep basin was
found; its p-value is the exact two-sided test of the pairs in which only one policy found it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import binomtest

from bench.functions import DECEPTIVE_SOLVED, MULTIMODAL, REGRET_FLOOR
from bench.policy_rows import Row, pair_of

Array = npt.NDArray[np.float64]
Pair = tuple[Any, ...]
Runs = dict[str, dict[Pair, Row]]  # policy -> pair -> row

SHARE_FLOOR = 1e-3
RESAMPLES = 4000
LARGE_RATIO = 10.0  # a function on which the regret is worse by more is named among the losses


@dataclass(frozen=True, slots=True)
class Difference:
    """A paired mean difference with its 95 % interval; below 0 is better than the reference."""

    mean: float
    low: float
    high: float
    n: int

    def __str__(self) -> str:
        return f"{self.mean:+.2f} [{self.low:+.2f}, {self.high:+.2f}]" if self.n else "-"


def final(row: Row) -> float:
    """The regret at the end of a run, floored."""
    return max(float(row["trace"][-1][1]), REGRET_FLOOR)


def log_regret(row: Row) -> float:
    """log10 of the final regret."""
    return float(np.log10(final(row)))


def share(row: Row) -> float:
    """log10 of the final regret as a share of a random point's, floored."""
    return float(np.log10(max(final(row) / row["random"], SHARE_FLOOR)))


def bootstrap(differences: Array) -> Difference:  # (n,)
    """The mean of paired differences and its percentile interval."""
    n = len(differences)
    if n == 0:
        return Difference(np.nan, np.nan, np.nan, 0)
    picks = np.random.default_rng(n).integers(0, n, (RESAMPLES, n))
    low, high = np.percentile(differences[picks].mean(axis=1), [2.5, 97.5])
    return Difference(float(differences.mean()), float(low), float(high), n)


def report(rows: Sequence[Row], *, against: str) -> str:
    """The whole report: what is wrong with the rows, the losses, then a table a cell."""
    if not rows:
        return "no rows yet"
    good = [row for row in rows if "error" not in row and row["evaluations"] == row["T"]]
    cells = _cells(good)
    lines = [*_remarks(rows, good, against), "", f"LOSSES against {against}", ""]
    lines += [line for cell, runs in cells.items() for line in _losses(cell, runs, against)]
    for cell, runs in cells.items():
        lines += ["", *_table(cell, runs, against)]
    return "\n".join(lines)


# --- groups of rows -------------------------------------------------------------------------


def _cells(rows: Sequence[Row]) -> dict[str, Runs]:
    cells: dict[str, Runs] = defaultdict(lambda: defaultdict(dict))
    for row in rows:
        d = "" if row["suite"] == "classics" else f"-{row['d']}"
        cells[f"{row['suite']}{d}-{row['T']}"][row["policy"]][pair_of(row)] = row
    return {cell: dict(runs) for cell, runs in cells.items()}


def is_multimodal(row: Row) -> bool:
    """Whether a bbob function is one of the multimodal ones."""
    return int(row["problem"].removeprefix("f")) in MULTIMODAL


def _groups(cell: str, runs: dict[Pair, Row]) -> Iterator[tuple[str, dict[Pair, Row]]]:
    """All rows, and for bbob the two halves."""
    yield "all", runs
    if cell.startswith("bbob"):
        yield "multimodal", {key: row for key, row in runs.items() if is_multimodal(row)}
        yield "rest", {key: row for key, row in runs.items() if not is_multimodal(row)}


def _against(runs: dict[Pair, Row], base: dict[Pair, Row], score: Any) -> Difference:
    both = [key for key in runs if key in base]
    return bootstrap(np.array([score(runs[key]) - score(base[key]) for key in both]))


def ratios(runs: dict[Pair, Row], base: dict[Pair, Row]) -> list[tuple[float, str]]:
    """(geometric mean ratio of the regrets, function), the worst function first."""
    by_function: dict[str, list[float]] = defaultdict(list)
    for key in runs:
        if key in base:
            name = str(runs[key]["problem"])
            by_function[name].append(log_regret(runs[key]) - log_regret(base[key]))
    return sorted(((10 ** float(np.mean(v)), k) for k, v in by_function.items()), reverse=True)


def solved(row: Row) -> bool:
    """Whether a run on the deceptive family found the deep basin."""
    return final(row) < DECEPTIVE_SOLVED


def _solved_test(runs: dict[Pair, Row], base: dict[Pair, Row]) -> tuple[int, int, float]:
    """Pairs that only the policy solved, that only the reference solved, p."""
    both = [(solved(runs[key]), solved(base[key])) for key in runs if key in base]
    won, lost = sum(a and not b for a, b in both), sum(b and not a for a, b in both)
    p = binomtest(won, won + lost).pvalue if won + lost else 1.0
    return won, lost, float(p)


# --- what is printed ------------------------------------------------------------------------


def _remarks(rows: Sequence[Row], good: Sequence[Row], against: str) -> list[str]:
    lines = [f"{len(good)} runs of {len({row['policy'] for row in good})} policies"]
    for row in rows:
        name = f"{row['policy']} on {row['problem']}, {row['d']}-d"
        if "error" in row:
            lines.append(f"ERROR: {name}: {row['error']}")
        elif row["evaluations"] != row["T"]:
            lines.append(f"LEFT OUT: {name} spent {row['evaluations']} of {row['T']} evaluations")
    starts: dict[Pair, set[str]] = defaultdict(set)
    for row in good:
        if row["start"] is not None:
            starts[pair_of(row)].add(row["start"])
    other = sum(len(found) > 1 for found in starts.values())
    if other:
        lines.append(f"NOTE: in {other} pairs the initial designs differ")
    code = sorted({row["code"] for row in good})
    if len(code) > 1:
        lines.append(f"NOTE: the rows come from {len(code)} states of the code: {', '.join(code)}")
    if against not in {row["policy"] for row in good}:
        lines.append(f"NOTE: no rows of {against!r} to compare with")
    return lines


def _losses(cell: str, runs: Runs, against: str) -> Iterator[str]:
    """Where a policy is behind the reference, and how surely."""
    base = runs.get(against, {})
    for policy in sorted(runs):
        if policy == against:
            continue
        found = []
        for group, part in _groups(cell, runs[policy]):
            for name, score in (("log10 regret", log_regret), ("share", share)):
                difference = _against(part, base, score)
                if difference.n and difference.mean > 0:
                    surely = "" if difference.low > 0 else " (within chance)"
                    found.append(f"{name} ({group}) {difference}{surely}")
        large = [f"{k} x{r:.0f}" for r, k in ratios(runs[policy], base) if r > LARGE_RATIO]
        if large:
            found.append("functions " + ", ".join(large))
        if cell.startswith("deceptive"):
            won, lost, p = _solved_test(runs[policy], base)
            if lost > won:
                found.append(f"solved alone {won}, {against} alone {lost}, p = {p:.3f}")
        if found:
            yield f"{cell:<16}{policy}: {'; '.join(found)}"


def _table(cell: str, runs: Runs, against: str) -> list[str]:
    base = runs.get(against, {})
    order = sorted(runs, key=lambda p: float(np.mean([log_regret(r) for r in runs[p].values()])))
    problems = {row["problem"] for part in runs.values() for row in part.values()}
    head = ["policy", "runs", "log10 regret", f"- {against}", "share", f"- {against}"]
    deceptive, bbob = cell.startswith("deceptive"), cell.startswith("bbob")
    if deceptive:
        head += ["solved", "only it : only " + against]
    if bbob:
        head += ["multimodal log", "share", "rest log", "share"]
    head += ["worst functions", "best", "s/run"]
    body = []
    for policy in order:
        part = runs[policy]
        rows = list(part.values())
        line = [policy, str(len(rows))]
        for score in (log_regret, share):
            line += [f"{np.mean([score(r) for r in rows]):.2f}", str(_against(part, base, score))]
        if deceptive:
            won, lost, p = _solved_test(part, base)
            line += [f"{sum(map(solved, rows))}/{len(rows)}", f"{won} : {lost} (p = {p:.2f})"]
        if bbob:
            for _, half in list(_groups(cell, part))[1:]:
                line += [str(_against(half, base, score)) for score in (log_regret, share)]
        ranked = [] if policy == against else ratios(part, base)
        line.append(" ".join(f"{k} x{r:.2g}" for r, k in ranked[:3]))
        line.append(" ".join(f"{k} x{r:.2g}" for r, k in ranked[-1:]))
        line.append(f"{np.median([row['seconds'] for row in rows]):.1f}")
        body.append(["-" if policy == against and "[" in cell_ else cell_ for cell_ in line])
    return [f"{cell}: {len(problems)} functions", *_aligned([head, *body])]


def _aligned(lines: list[list[str]]) -> list[str]:
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return ["  ".join(f"{x:<{w}}" for x, w in zip(line, widths, strict=True)) for line in lines]
