"""Draw the pictures of how-it-decides.md: python docs/pictures.py [--quick] [-o FOLDER]

Nothing in them is made up: each is a run of the default policy, or a step of one.
"""

from __future__ import annotations

import argparse
import math
import statistics
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import headway
import headway.plots
import headway.plots.svg as svg
from headway.acquisition.improvement import log_ei
from headway.arrays import Array
from headway.budget import clock
from headway.outlook import Outlook
from headway.plots.svg import Figure, Scale
from headway.scoring import locality, share_used
from headway.situation import Situation, assess

FOLDER = Path(__file__).parent / "pictures"
LINE = {"x": (0.0, 1.0)}
SEEN = (0.01, 0.34, 0.64, 0.76, 0.78, 0.87)
_LEFT, _RIGHT = 40.0, svg.WIDTH - 12
_GRID = np.linspace(0.0, 1.0, 241)
_FEW = 10  # points in the valley: too few for length-scales along the axes


def hills(x: float) -> float:
    """A function of one parameter with two basins; the left one is deeper."""
    return math.cos(3.6 * math.pi * (x + 0.05)) * (1.15 - 0.5 * x)


def seen(budget: int) -> headway.Optimizer:
    """Six values of `hills` are told; so many evaluations can be afforded in all."""
    start = [{"x": x} for x in SEEN]
    opt = headway.Optimizer(LINE, budget, x0=start, design=3, noise=0, seed=0)
    for _ in SEEN:
        trial = opt.ask()
        opt.tell(trial, hills(trial.params["x"]))
    return opt


def situation_of(opt: headway.Optimizer) -> Situation:
    return assess(opt.history.facts("minimize"), opt.space, opt.settings.surrogate, {})


def ei_of(situation: Situation) -> Array:  # (g,)
    """Expected improvement along the line, its maximum being 1."""
    moments = situation.objective.gp.predict(situation.space.embed(_GRID[:, None]))
    value = log_ei(*moments, best=situation.best)[0]
    return np.exp(value - np.max(value))


def knowledge(quick: bool) -> Figure:
    """What six values say, and what they leave open."""
    opt = seen(40)
    outlook = Outlook.of(
        opt.history.facts("minimize"), opt.space, opt.settings, direction="minimize"
    )
    assert outlook is not None
    band, x = outlook.predict(_GRID[:, None]), Scale(0.0, 1.0, _LEFT, _RIGHT)
    truth = [hills(float(u)) for u in _GRID]
    y = Scale.of([*band.low, *band.high, *truth], 176.0, 26.0, pad=0.03)
    body = svg.frame(x, y, ylabel="value")
    edge = [(x(u), y(v)) for u, v in zip(_GRID, band.high, strict=True)]
    edge += [(x(u), y(v)) for u, v in zip(_GRID[::-1], band.low[::-1], strict=True)]
    body.append(svg.path("shade", "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in edge) + "z"))
    body.append(svg.polyline("axis", _places(x, y, truth)))
    body.append(svg.polyline("line", _places(x, y, band.mean)))
    body += [svg.dot("dot", x(u), y(hills(u)), 4.0) for u in SEEN]
    e = Scale(0.0, 1.0, 300.0, 222.0)
    body += svg.frame(x, e, xlabel="x", ylabel="improvement to expect", bare=True)
    values = ei_of(situation_of(opt))
    body.append(svg.polyline("line", _places(x, e, values)))
    body += _chosen(x(float(_GRID[np.argmax(values)])), 26.0, 300.0)
    words = (
        "Dots: six values. Line and shade: what the model expects, and where it is 95 % sure the "
        "function is. Grey: the function, which it does not know. Below: the improvement to expect "
        "of a seventh value. Marked: its peak, where the function may be low and little is known."
    )
    return Figure("knowledge", "What six values say", words, tuple(body), 336.0)


def budget(quick: bool) -> Figure:
    """The same six values, and the seventh trial for three budgets."""
    x, body, top = Scale(0.0, 1.0, _LEFT, _RIGHT), [], 26.0
    for total in (60, 12, 7):
        opt = seen(total)
        now = clock(opt.budget, opt.history, design=opt.settings.design)
        situation = situation_of(opt)
        region = locality(opt.settings.policy, situation, None, now).region
        assert region is not None
        e = Scale(0.0, 1.0, top + 62.0, top)
        last = total == 7
        label = f"{total} evaluations: {100 * share_used(now):.0f} % of them used"
        body += svg.frame(x, e, xlabel="x" if last else "", ylabel=label, bare=True)
        low, high = x(float(region[0][0])), x(float(region[1][0]))
        body.append(svg.rect("shade", low, top, high - low, 62.0))
        body.append(svg.polyline("line", _places(x, e, ei_of(situation))))
        body += [svg.path("faint", f"M{x(u):.1f} {top + 56:.1f}v6") for u in SEEN]
        body += _chosen(x(float(opt.ask().params["x"])), top, top + 62.0)
        top += 62.0 + 44.0
    words = (
        "The line is the improvement to expect, the same in all three. The shade is the box that "
        "the budget leaves to search in; marked is the trial that Headway asks for."
    )
    return Figure("budget", "One knowledge, three budgets", words, tuple(body), top + 2)


def _places(x: Scale, y: Scale, values: Sequence[float] | Array) -> list[tuple[float, float]]:
    return [(x(float(u)), y(float(v))) for u, v in zip(_GRID, values, strict=True)]


def _chosen(x: float, top: float, bottom: float) -> list[str]:
    return [svg.path("mark", f"M{x:.1f} {top:.1f}V{bottom:.1f}"), svg.star(x, top)]


def branin(p: dict[str, Any]) -> float:
    u, v = p["x"], p["y"]
    return float(
        (v - 0.1292 * u**2 + 1.5915 * u - 6) ** 2 + 9.6021 * (1 - 0.04 * (u + 2) ** 2) ** 2
    )


def run_of(quick: bool) -> headway.Optimizer:
    space = {"x": (-5.0, 10.0), "y": (0.0, 15.0)}
    result = headway.minimize(branin, space, budget=12 if quick else 40, noise=0, seed=1)
    return result.optimizer


def path(quick: bool) -> Figure:
    return headway.plots.path(run_of(quick))


def schedule(quick: bool) -> Figure:
    return headway.plots.schedule(run_of(quick))


def valley(p: dict[str, Any]) -> float:
    """Steep across a line that lies aslant, flat along it."""
    across, along = p["x"] - p["y"] - 0.05, p["x"] + p["y"] - 1.1
    return 150.0 * across**2 + along**2


def aslant(turn: bool, quick: bool) -> Figure:
    """The model of the same points, its length-scales along the axes or turned."""
    space = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
    opt = headway.Optimizer(space, 99, surrogate=headway.Surrogate(turn=turn, noise=0), seed=0)
    for trial in headway.Optimizer(space, _FEW, design=_FEW, seed=3).ask(_FEW):
        opt.tell_known(dict(trial.params), valley(trial.params))
    drawn = headway.plots.path(opt, names=("x", "y"))
    # These points were not a search, so there are no steps between them.
    body = tuple(mark for mark in drawn.body if 'class="arrow"' not in mark)
    name = "turned" if turn else "axes"
    title = "Length-scales turned" if turn else "Length-scales along the axes"
    words = f"A model of the same {_FEW} values of a steep valley that lies aslant: contour lines."
    return Figure(f"valley-{name}", title, words, body, drawn.height)


def closer(quick: bool) -> Figure:
    """What is left to gain, with and without closer looks, on a smooth function."""
    seeds, total = (2, 12) if quick else (9, 40)
    space = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
    curves = {}
    for look in (True, False):
        runs = []
        for seed in range(seeds):
            policy = headway.Policy(closer=look)
            result = headway.minimize(
                smooth, space, budget=total, policy=policy, noise=0, seed=seed
            )
            told = [record.value for record in result.history]
            runs.append(np.minimum.accumulate(np.array(told, dtype=float)))
        curves[look] = [max(statistics.median(run[i] for run in runs), 1e-16) for i in range(total)]
    x = Scale(1.0, float(total), _LEFT + 8, _RIGHT)
    y = Scale.of([v for c in curves.values() for v in c], 230.0, 26.0, log=True, pad=0.04)
    body = svg.frame(x, y, xlabel="evaluations", ylabel="above the minimum, median")
    for look, kind in ((False, "arrow"), (True, "line")):
        points = [(x(i + 1.0), y(v)) for i, v in enumerate(curves[look])]
        body.append(svg.polyline(kind, points))
        middle = points[2 * total // 3]
        body.append(
            svg.write(
                middle[0],
                middle[1] + (16 if look else -8),
                _CALLED[look],
                "strong",
                "end" if look else "start",
            )
        )
    words = f"Median of {seeds} runs on a smooth function of two parameters."
    return Figure("closer", "With and without closer looks", words, tuple(body), 268.0)


_CALLED = {True: "with closer looks", False: "without"}


def smooth(p: dict[str, Any]) -> float:
    u, v = p["x"] - 0.37, p["y"] - 0.61
    return math.expm1(3.0 * u * u + 8.0 * (v - u * u) ** 2)


PICTURES: dict[str, Callable[[bool], Figure]] = {
    "knowledge": knowledge,
    "budget": budget,
    "path": path,
    "schedule": schedule,
    "valley-axes": partial(aslant, False),
    "valley-turned": partial(aslant, True),
    "closer": closer,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="short runs, for the tests")
    parser.add_argument("-o", "--output", type=Path, default=FOLDER)
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    for name, draw in PICTURES.items():
        draw(options.quick).save(options.output / f"{name}.svg")


if __name__ == "__main__":
    main()
