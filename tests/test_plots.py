"""The pictures: well-formed, complete, and with every mark where its value is."""

from __future__ import annotations

import math
import re
from collections import Counter
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headway
from headway import plots
from headway.errors import NothingToShow, SettingError
from headway.plots.axes import Axis
from headway.plots.hindsight import predictions
from headway.plots.landscape import contour
from headway.plots.svg import WIDTH, Scale, clean, number, tick_labels
from headway.plots.timeline import timeline
from headway.space import Space
from tests.cases import drive

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = '<script>alert(1)</script>"&\x00\ud800'
MIXED = {
    HOSTILE: (-1.0, 1.0),
    "n": headway.Integer(1, 64, log=True),
    "kind": headway.Categorical(["p", HOSTILE, None]),
    "extra": headway.Real(0.0, 2.0, when=("kind", "p")),
    "size": headway.Ordinal([1, 10, 100]),
}


def mixed(p):
    if p[HOSTILE] < -0.8:
        raise RuntimeError(f"{HOSTILE} too small")
    value = p[HOSTILE] ** 2 + math.log(p["n"] / 8) ** 2 + p.get("extra", 1.0)
    return headway.Outcome(value, constraints=[p[HOSTILE] - 0.9], cost=1.0 + p["n"] / 64)


@pytest.fixture(scope="module")
def run():
    return drive(mixed, MIXED, headway.Budget(evaluations=30, cost=100), constraints=1)


def plane_bowl(p):
    return (p["x"] - 0.3) ** 2 + 2.0 * (p["y"] - 0.6) ** 2


@pytest.fixture(scope="module")
def flat():
    return drive(plane_bowl, {"x": (0.0, 1.0), "y": (0.0, 1.0)}, 16)


ALL = [getattr(plots, name) for name in plots.__all__ if name != "Figure"]


def root(figure):
    return ElementTree.fromstring(figure.svg)


def kinds(figure):
    return Counter(element.get("class") for element in root(figure).iter())


@pytest.mark.parametrize("draw", ALL)
def test_every_picture_is_well_formed_and_names_are_harmless(run, draw):
    figure = draw(run)
    tree = root(figure)  # XML: neither markup nor control characters came through
    assert not [element for element in tree.iter() if element.tag.endswith("script")]
    assert "nan" not in figure.svg and "inf" not in re.sub(r"[A-Za-z]inf|inf[a-z]", "", figure.svg)
    assert tree.get("role") == "img" and tree.find(f"{SVG}title").text == figure.title
    assert tree.find(f"{SVG}desc").text == figure.words and figure.words.endswith(".")
    assert "prefers-color-scheme:dark" in figure.svg
    assert figure._repr_svg_() == figure.svg
    assert 'aria-label="' in figure.inline() and "<style>" not in figure.inline()


@pytest.mark.parametrize("draw", ALL)
def test_everything_lies_in_the_picture(run, draw):
    figure = draw(run)
    for element in root(figure).iter():
        for name, limit in (("x", WIDTH), ("cx", WIDTH), ("y", figure.height + 34)):
            if element.get(name) and element.tag != f"{SVG}svg":
                assert -1 <= float(element.get(name)) <= limit + 1, element.attrib


@pytest.mark.parametrize("draw", ALL)
def test_a_run_must_be_given(draw):
    with pytest.raises(SettingError, match=r"the run is 'run.json'.*headway\.load\(path\)"):
        draw("run.json")


@pytest.mark.parametrize("draw", ALL)
def test_an_empty_run_has_nothing_to_show(draw):
    with pytest.raises(NothingToShow, match=r"no(thing| \w+) to show"):
        draw(headway.Optimizer({"x": (0.0, 1.0)}, 5))


def test_every_trial_is_in_the_picture_of_convergence(run):
    seen = kinds(plots.convergence(run))
    records = run.history.finished
    failed = sum(record.status == "failed" for record in records)
    infeasible = sum(r.status == "told" and not r.feasible for r in records)
    assert failed > 0
    assert seen["cross"] == failed and seen["open"] == infeasible
    # the star is a mark too, of the best trial, which has a dot of its own
    assert seen["dot"] == sum(record.feasible for record in records) and seen["best"] == 1
    assert seen["band"] >= 1


def test_the_line_of_convergence_ends_at_the_best(flat):
    figure = plots.convergence(flat)
    line = next(e for e in root(figure).iter() if e.get("class") == "line").get("d")
    star = next(e for e in root(figure).iter() if e.get("class") == "best").get("d")
    last = float(re.findall(r"V([\d.]+)", line)[-1])
    middle = np.mean([float(y) for _, y in re.findall(r"([\d.]+) ([\d.]+)", star)])
    assert last == pytest.approx(middle, abs=1.5)
    heights = [float(y) for y in re.findall(r"V([\d.]+)", line)]
    assert heights == sorted(heights)  # y points down: it only falls


def test_maximising_turns_the_picture(flat):
    up = drive(
        lambda p: -((p["x"] - 0.3) ** 2) - 2.0 * (p["y"] - 0.6) ** 2,
        {"x": (0.0, 1.0), "y": (0.0, 1.0)},
        16,
        direction="maximize",
    )
    line = next(e for e in root(plots.convergence(up)).iter() if e.get("class") == "line")
    heights = [float(y) for y in re.findall(r"V([\d.]+)", line.get("d"))]
    assert heights == sorted(heights, reverse=True)
    assert "rose" in plots.convergence(up).words and "fell" in plots.convergence(flat).words


def test_the_axis_of_convergence_is_the_budget_used_most(run):
    assert "evaluations" in plots.convergence(run).svg
    assert ">cost<" in plots.convergence(run, over="cost").svg
    with pytest.raises(SettingError, match=r"over is 'days'\. Allowed: 'auto'"):
        plots.convergence(run, over="days")


def test_the_paper_s_schedule():
    run = drive(
        lambda p: p["x"] ** 2 + p["y"],
        {"x": (-1.0, 1.0), "y": (0.0, 1.0)},
        14,
        policy=headway.Policy.paper(),
    )
    figure = plots.schedule(run)
    assert "ρ: weight" in figure.svg and "κ: how sure" in figure.svg and "degrees" in figure.svg
    local = [step for step in timeline(run) if step.phase == "model"]
    assert [step.progress for step in local] == pytest.approx([i / 14 for i in range(3, 14)])
    tips = [e.text for e in root(figure).iter(f"{SVG}title") if "trial" in (e.text or "")]
    kappas = [r.why.kappa for r in run.history if r.why.kappa is not None]
    assert f"trial 3: {kappas[0]:.3g}" in tips


def test_the_timeline_is_what_proposals_knew(flat):
    """Progress at each ask, and tau from the end of the design on."""
    steps = timeline(flat)
    assert [step.progress for step in steps] == pytest.approx([i / 16 for i in range(16)])
    taus = [step.tau for step in steps if step.phase == "model"]
    assert taus == pytest.approx([(i - 3) / 13 for i in range(3, 3 + len(taus))])
    assert [step.phase for step in steps[:3]] == ["design"] * 3
    assert steps[-1].phase in ("finish", "model")


def test_other_policies_have_what_they_have(flat):
    assert "side of the box" in plots.schedule(flat).svg
    belief = drive(
        lambda p: p["x"], {"x": (0.0, 1.0)}, 6, policy=headway.Policy(local="belief", finish=0.0)
    )
    assert "radius of the local term" in plots.schedule(belief).svg
    plain = drive(lambda p: p["x"], {"x": (0.0, 1.0)}, 6, policy=headway.Policy.ei())
    figure = plots.schedule(plain)
    assert "radius" not in figure.svg and "no local term" in figure.words


def test_slices_follow_the_model():
    from headway.plots.subject import outlook_of

    run = drive(plane_bowl, {"x": (0.0, 1.0), "y": (0.0, 1.0)}, 16, noise=0, design=12)
    model = outlook_of(run)
    Z, values = Axis.of(run.space, "x").sweep(run.space, model.centre)
    mean = model.predict(Z).mean
    assert values[int(np.argmin(mean))] == pytest.approx(0.3, abs=0.05)
    offset = 2.0 * (model.centre[1] - 0.6) ** 2
    assert mean == pytest.approx([(x - 0.3) ** 2 + offset for x in values], abs=0.05)


def test_a_sweep_stays_in_the_space():
    space = Space.of(MIXED)
    z = space.from_unit(np.full((1, space.d), 0.1))[0]
    for name in MIXED:
        if name not in space.decode(z):
            continue
        Z, values = Axis.of(space, name).sweep(space, z)
        assert [space.decode(row)[name] for row in Z] == pytest.approx(values) or [
            space.decode(row)[name] for row in Z
        ] == values
        assert pytest.approx(space.snap(Z)) == Z


def test_inactive_parameters_are_named_as_such(run):
    active = set(dict(run.best.point))
    left_out = [name for name in MIXED if name not in active]
    for name in left_out:
        assert clean(name) in plots.slices(run).words


def test_parameters_can_be_chosen(flat):
    assert ">y<" not in plots.slices(flat, names=["x"]).svg
    assert ">y<" not in plots.belief(flat, names=["x"]).svg
    with pytest.raises(SettingError, match=r"'z' is no parameter of this run\. Allowed: x, y"):
        plots.parallel(flat, names=["z"])


def test_the_path_has_an_arrow_to_each_new_best(flat):
    best, count = math.inf, 0
    for record in flat.history.finished:
        count += record.value < best
        best = min(best, record.value)
    arrows = kinds(plots.path(flat))["arrow"]
    assert 1 <= arrows <= count - 1  # steps too short to see have none
    assert kinds(plots.path(flat, steps="all"))["arrow"] > arrows


def test_the_path_needs_two_numbers(flat):
    with pytest.raises(SettingError, match=r"names is \('x', 'x'\). Allowed: two different"):
        plots.path(flat, names=("x", "x"))
    with pytest.raises(SettingError, match="steps is 'some'"):
        plots.path(flat, steps="some")
    line = drive(lambda p: p["x"], {"x": (0.0, 1.0)}, 5)
    with pytest.raises(NothingToShow, match="needs two parameters that are numbers"):
        plots.path(line)


def test_infeasible_ground_is_hatched_where_the_constraint_breaks():
    def f(p):
        return headway.Outcome(p["x"] + p["y"], constraints=[0.5 - p["x"]])

    space = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
    figure = plots.path(drive(f, space, 20, constraints=1), names=("x", "y"))
    area = next(e for e in root(figure).iter() if "hatch" in (e.get("fill") or ""))
    rows = [float(w) for w in re.findall(r"h([\d.]+)v", area.get("d"))]
    frame = root(figure).find(f".//{SVG}image")
    assert np.mean(rows) == pytest.approx(0.5 * float(frame.get("width")), rel=0.1)


def test_contours_lie_where_the_level_is():
    side = 41
    x = (np.arange(side) + 0.5) / side
    V = (x[None] - 0.5) ** 2 + (x[:, None] - 0.5) ** 2
    pieces = contour(V, 0.09)
    ends = np.array(pieces).reshape(-1, 2)
    assert np.hypot(*(ends - 0.5).T) == pytest.approx(0.3, abs=2e-3)
    places = Counter(tuple(np.round(end, 9)) for end in ends)
    assert set(places.values()) == {2}  # a closed line: each end meets another
    assert contour(V, -1.0) == [] and contour(V, 9.0) == []


def test_a_saddle_is_cut_at_its_low_corners():
    for V in ([[0.0, 1.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]):
        pieces = contour(np.array(V), 0.5)
        assert len(pieces) == 2
        for a, b in pieces:  # each goes round one corner: its middle is nearer to it than 1/4
            assert abs(a[0] - b[0]) == pytest.approx(0.25)
            assert abs(a[1] - b[1]) == pytest.approx(0.25)


def test_predictions_have_the_noise_in_them():
    run = headway.Optimizer({"x": (0.0, 1.0)}, 12, noise=0.04)
    while not run.done:
        trial = run.ask()
        run.tell(trial, trial.params["x"])
    from headway.plots.subject import outlook_of

    for made in predictions(run, outlook_of(run)):
        assert made.sd == pytest.approx(math.hypot(run.history[made.trial].why.sd, 0.2))
    told = headway.Optimizer({"x": (0.0, 1.0)}, 6)
    while not told.done:
        told.tell(told.ask(), 1.0 * len(told.history), variance=0.09)
    assert all(made.sd >= 0.3 for made in predictions(told, outlook_of(told)))


def test_the_ledger_counts_each_limit(run):
    figure = plots.ledger(run)
    assert "30 of 30" in figure.svg and " of 100" in figure.svg and "cost by trial" in figure.svg
    assert kinds(figure)["wrong"] >= 1  # what failed is red
    assert "that failed" in figure.words


def test_many_trials_are_thinned():
    run = headway.Optimizer({"x": (0.0, 1.0)}, 400)
    for i in range(400):
        run.tell_known({"x": i / 400}, float(i))
    figure = plots.parallel(run)
    assert kinds(figure)["faint"] == 150 and "Of the other 360, 150 are drawn" in figure.words


def test_values_at_the_limits_of_floats():
    run = headway.Optimizer({"x": (0.0, 1.0), "y": (-1e308, 7e307)}, 20)
    for i, value in enumerate([1e308, -1e308, 1.0, 0.0, 1e-300, 3.0, 1e307]):
        run.tell_known({"x": i / 10, "y": i * 1e306}, value)
    for draw in (plots.convergence, plots.slices, plots.path, plots.parallel, plots.belief):
        assert "nan" not in draw(run).svg


def test_all_values_equal():
    run = drive(lambda p: 5.0, {"x": (0.0, 1.0), "y": (0.0, 1.0)}, 8)
    for draw in ALL:
        root(draw(run))


def test_a_figure_is_saved(tmp_path, flat):
    figure = plots.belief(flat)
    figure.save(tmp_path / "belief.svg")
    assert (tmp_path / "belief.svg").read_text(encoding="utf-8") == figure.svg


finite = st.floats(allow_nan=False, allow_infinity=False, width=64)


@given(finite, finite)
def test_a_scale_keeps_order_and_range(a, b):
    scale = Scale.of([a, b], 10.0, 90.0)
    assert 10.0 <= scale(a) <= 90.0 and 10.0 <= scale(b) <= 90.0
    if a < b:
        assert scale(a) <= scale(b)
    ticks = scale.ticks()
    assert len(ticks) <= 12 and all(x < y for x, y in pairwise(ticks))
    assert len(tick_labels(ticks)) == len(ticks)


@given(st.floats(1e-200, 1e200), st.floats(1.0, 1e12))
def test_ticks_of_a_logarithm(low, ratio):
    scale = Scale.of([low, low * ratio], 0.0, 1.0, log=True)
    ticks = scale.ticks()
    assert all(scale.low * 0.999 <= tick <= scale.high * 1.001 for tick in ticks)
    assert 1 <= len(ticks) <= 12
    assert len(set(tick_labels(ticks))) == len(ticks)


@pytest.mark.parametrize(
    ("ticks", "texts"),
    [
        ([0.0, 0.2, 0.4], ["0", "0.2", "0.4"]),
        ([1000.0, 1000.5], ["1000", "1000.5"]),
        ([-5e4, 0.0, 5e4], ["−50000", "0", "50000"]),
        ([1e-9, 2e-9], ["1e−9", "2e−9"]),
        ([10.0, 1000.0, 1e5], ["10", "1000", "100000"]),
        ([], []),
    ],
)
def test_tick_labels(ticks, texts):
    assert tick_labels(ticks) == texts


@pytest.mark.parametrize(
    ("value", "text"),
    [(432.7057, "432.71"), (1e-9, "1e−9"), (-0.5, "−0.5"), (1234567.0, "1234567"), (-0.0, "0")],
)
def test_numbers(value, text):
    assert number(value) == text


def test_pictures_need_no_library(tmp_path):
    import subprocess
    import sys

    code = (
        "import sys, headway\n"
        "run = headway.Optimizer({'x': (0.0, 1.0)}, 5)\n"
        "run.tell(run.ask(), 1.0)\n"
        "headway.plots.convergence(run)\n"
        "headway.report.render(run)\n"
        "print(sorted({'plotly', 'matplotlib', 'pandas', 'jinja2'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
