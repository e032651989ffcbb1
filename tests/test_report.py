"""The report: one harmless page, whose words are the run's numbers."""

from __future__ import annotations

import json
import math
import re
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pytest

import headway
from headway import report
from headway.errors import SettingError
from headway.plots.svg import COLOURS
from headway.report.answer import plus_minus
from headway.report.failures import kinds, where
from tests.cases import drive

HOSTILE = "</style></title><script>alert('x')</script><img src=x onerror=alert(1)>\"&\x00\ud800"
SQUARE = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
VOID = {"meta", "link", "img", "br", "hr", "input"}


class Page(HTMLParser):
    """What a page is made of: tags, attributes and texts, every tag closed in its place."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.open, self.texts = [], [], [], []
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, tag

    def handle_data(self, data):
        self.texts.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.texts).replace("\u00a0", " ").split())


def bowl(p):
    return (p["x"] - 0.3) ** 2 + 2.0 * (p["y"] - 0.6) ** 2


def page_of(optimizer, **options):
    return Page(report.render(optimizer, **options))


def test_the_answer_stands_at_the_top():
    run = drive(bowl, SQUARE, 20)
    page = page_of(run, title="Bowl")
    text = page.text
    assert f"Use trial {run.best.id}: " in text and "Bowl" in text
    assert text.index("Use trial") < text.index("How sure") < text.index("How the run went")
    assert "The lowest of 20 values" in text
    assert "20 of 20 evaluations. The budget is used up." in text
    assert re.search(r"The model expects \S+ ± \S+ there", text)
    assert re.search(r"Of the 17 values it predicted beforehand, \d+ % came within two", text)
    copied = json.loads(next(t for t in page.texts if t.startswith("{")))
    assert copied == run.best.params  # every digit


def test_the_pictures_are_there_with_words_for_who_cannot_see_them():
    page = page_of(drive(bowl, SQUARE, 15))
    assert page.tags.count("figure") == 9 == page.tags.count("figcaption")
    labels = [value for name, value in page.attributes if name == "aria-label"]
    assert len(labels) >= 9 and all(len(label) > 5 for label in labels)
    assert ("lang", "en") in page.attributes
    ids = [value for name, value in page.attributes if name == "id"]
    assert len(ids) == len(set(ids))


def test_what_the_user_wrote_is_harmless():
    def f(p):
        if p[HOSTILE] > 0.8:
            raise RuntimeError(HOSTILE)
        return p[HOSTILE]

    space = {HOSTILE: (0.0, 1.0), "c": headway.Categorical([HOSTILE, "b"])}
    run = drive(f, space, 15)
    text = report.render(run, title=HOSTILE)
    page = Page(text)
    assert "script" not in page.tags and "img" not in page.tags
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert "\x00" not in text and text.encode("utf-8")
    assert page.tags.count("style") == 1 and page.tags.count("title") >= 1
    assert "<script>alert('x')</script>" in page.text  # to be read, not run


def test_nothing_is_fetched_and_nothing_runs():
    text = report.render(drive(bowl, SQUARE, 10))
    page = Page(text)
    assert not {"script", "iframe", "object", "embed", "form", "base"} & set(page.tags)
    for name, value in page.attributes:
        if name in ("src", "href", "xlink:href", "action", "data"):
            assert value.startswith("data:"), (name, value)
    assert (
        "http://" not in text.replace("http://www.w3.org/2000/svg", "") and "https://" not in text
    )
    assert not re.search(r"@import|url\((?!#)", text)
    policy = next(v for _, v in page.attributes if v and v.startswith("default-src"))
    assert policy.startswith("default-src 'none'")


def _luminance(colour):
    full = colour if len(colour) == 6 else "".join(2 * c for c in colour)
    parts = [int(full[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


@pytest.mark.parametrize("dark", [False, True])
def test_text_can_be_read_in_light_and_dark(dark):
    """WCAG 2.1, 1.4.3: a contrast of at least 4.5 between text and card."""
    half = COLOURS.split("@media")[dark]
    colours = dict(re.findall(r"--(\w+):#([0-9a-f]+)", half))
    for name in ("ink", "soft", "a", "b", "bad", "good"):
        low, high = sorted(_luminance(colours[key]) for key in (name, "card"))
        assert (high + 0.05) / (low + 0.05) >= 4.5, name


def test_failures_are_told_with_their_place():
    def f(p):
        if p["x"] > 0.7:
            raise RuntimeError(f"mesh {p['x']:.3f} gave up")
        return p["y"] - p["x"]

    run = drive(f, SQUARE, 30)
    failed = sum(record.status == "failed" for record in run.history)
    text = page_of(run).text
    assert (
        f"{failed} of 30 trials failed. All for one reason, but for its numbers: “mesh 0." in text
    )
    found = re.search(r"Where: (\d+) of the \d+ failures have x above (0\.\d+), and 0 of", text)
    assert int(found[1]) == failed and float(found[2]) == pytest.approx(0.7, abs=0.1)


def test_chance_is_not_called_a_place():
    rng = np.random.default_rng(0)
    named = 0
    for seed in range(40):
        run = headway.Optimizer(
            {**SQUARE, "c": headway.Categorical(["a", "b", "c"])}, 30, seed=seed
        )
        for _ in range(30):
            x, y, c = rng.random(), rng.random(), "abc"[rng.integers(3)]
            if rng.random() < 0.3:
                run.tell_known({"x": x, "y": y, "c": c}, failed=True, error="")
            else:
                run.tell_known({"x": x, "y": y, "c": c}, 1.0)
        named += where(run.space, run.history.finished) is not None
    assert named <= 2  # at a level of 1 % before a run, 40 runs


def test_a_choice_can_be_the_place():
    run = headway.Optimizer({"c": headway.Categorical(["oil", "gas"]), "x": (0.0, 1.0)}, 30)
    for i in range(24):
        point = {"c": "gas" if i % 2 else "oil", "x": i / 24}
        failed = i % 2 == 1
        run.tell_known(point, None if failed else 1.0, failed=failed)
    place = where(run.space, run.history.finished)
    assert (place.text, place.failed_inside, place.others_inside) == ("c = gas", 12, 0)
    assert place.chance < 1e-4
    assert where(run.space, run.history.finished[::2]) is None  # nothing failed


def test_kinds_differ_by_more_than_numbers():
    run = headway.Optimizer({"x": (0.0, 1.0)}, 9)
    for i, error in enumerate(["no 12 left", "no 7.5e-3 left", "killed", "no -1 left"]):
        run.tell_known({"x": i / 9}, failed=True, error=error)
    assert kinds(run.history.finished) == [("no 12 left", 3), ("killed", 1)]


def test_maximising_has_its_words():
    run = drive(lambda p: -bowl(p), SQUARE, 15, direction="maximize")
    text = page_of(run).text
    assert "The highest of 15 values" in text and "rose" in text


def test_noise_is_said_to_be_noise():
    run = headway.Optimizer({"x": (0.0, 1.0)}, 60, noise=0.25)
    for x in np.linspace(0.0, 1.0, 25):
        run.tell_known({"x": float(x)}, 4.0 * (x - 0.25) ** 2)
    run.tell_known({"x": 0.9}, -0.4)
    text = page_of(run).text
    assert re.search(r"Use trial \d+: about \S+ ± \S+", text)
    assert "The values are noisy" in text and "that was −0.4 from trial 25" in text


def test_an_end_of_a_range_is_named():
    text = page_of(drive(lambda p: p["x"] + (p["y"] - 0.5) ** 2, SQUARE, 15)).text
    assert "x is at its lower end: where a wider range makes sense" in text


def test_without_a_value():
    def f(p):
        raise RuntimeError("no licence")

    text = page_of(drive(f, SQUARE, 5)).text
    assert "Nothing has a value: all 5 trials failed." in text
    assert "All for one reason: “no licence”." in text
    assert "There is no schedule to show" in text


def test_an_empty_run_and_one_trial():
    run = headway.Optimizer(SQUARE, 5)
    assert "No trial has finished yet." in page_of(run).text
    trial = run.ask()
    assert "No trial has finished yet." in page_of(run).text
    run.tell(trial, 1.0)
    text = page_of(run).text
    assert "Use trial 0: 1" in text and "Some of the budget is left." in text


def test_without_a_feasible_trial():
    run = drive(
        lambda p: headway.Outcome(p["x"], constraints=[1.5 + p["y"]]), SQUARE, 8, constraints=1
    )
    text = page_of(run).text
    assert "No trial met the constraints. Trial" in text and "It is no solution" in text
    assert "Nothing can be said of a gain" in text


def test_constraints_are_told():
    def f(p):
        return headway.Outcome(p["x"] + p["y"], constraints=[0.5 - p["x"], -1.0])

    run = drive(f, SQUARE, 15, constraints=2)
    text = page_of(run).text
    assert "Constraints told, met at 0 or below: " in text and ", −1." in text
    assert "the chance that all are met" not in text  # without noise what was met is met


def test_noisy_constraints_have_a_chance():
    rng = np.random.default_rng(0)
    run = headway.Optimizer({"x": (0.0, 1.0)}, 80, constraints=1)
    for x in np.linspace(0.0, 1.0, 60):
        run.tell_known({"x": float(x)}, float(x), constraints=[0.5 - x + rng.normal(0.0, 0.2)])
    # The best value that met it did so by luck: at its x the constraint is 0.3 on average.
    assert re.search(r"the chance that all are met there is (less than 1|\d) %", page_of(run).text)


def test_a_finite_space_that_is_evaluated_whole():
    run = drive(lambda p: float(len(p["c"])), {"c": headway.Categorical(["a", "bb", "ccc"])}, 9)
    assert "Every point of the space is evaluated, all 3." in page_of(run).text


def test_time_and_cost_are_told():
    def f(p):
        return headway.Outcome(p["x"], cost=2.0)

    text = page_of(drive(f, SQUARE, headway.Budget(seconds=3600, cost=20))).text
    assert "cost 20 of 20" in text and "of 1 h" in text


def test_every_trial_is_in_the_table():
    run = drive(bowl, SQUARE, 12)
    page = page_of(run)
    assert "All 12 trials" in page.text
    for record in run.history:
        assert str(record.why) in page.text


def test_a_long_table_is_cut_and_says_so(monkeypatch):
    monkeypatch.setattr(report, "_MOST_ROWS", 20)
    run = headway.Optimizer({"x": (0.0, 1.0)}, 60)
    for i in range(50):
        run.tell_known({"x": i / 50}, float((i - 20) ** 2))
    page = page_of(run)
    assert "The last 20 of 50 trials" in page.text
    body = page.tags[page.tags.index("thead") :]
    assert body[: body.index("details")].count("tr") == 21


def test_the_same_run_gives_the_same_page():
    run = drive(bowl, SQUARE, 10)
    again = headway.Optimizer.from_json(run.to_json())
    assert report.render(run) == report.render(again)


def test_write_replaces_the_whole_file(tmp_path):
    run = drive(bowl, SQUARE, 5)
    target = tmp_path / "report.html"
    target.write_text("old")
    assert report.write(run, str(target)) == target
    assert target.read_text(encoding="utf-8") == report.render(run)
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_what_cannot_be_written(tmp_path):
    run = headway.Optimizer(SQUARE, 5)
    with pytest.raises(SettingError, match=r"cannot be written to .*no/report\.html.*Give another"):
        report.write(run, tmp_path / "no" / "report.html")
    with pytest.raises(SettingError, match=r"the path is None, of type NoneType"):
        report.write(run, None)
    with pytest.raises(SettingError, match=r"the run is <class 'dict'>|the run is \{\}"):
        report.write({}, tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("mean", "sd", "text"),
    [
        (432.7057, 0.0033, "432.7057 ± 0.0033"),
        (432.7057, 12.3, "433 ± 12"),
        (-0.5, 0.25, "−0.50 ± 0.25"),
        (1e-12, 1e-13, "1e−12 ± 1e−13"),
        (3.0, 0.0, "3"),
        (1.23456e20, 1e18, "1.235e20 ± 1e18"),
        (5.0, math.inf, "5"),
    ],
)
def test_a_number_and_its_spread(mean, sd, text):
    assert plus_minus(mean, sd) == text


def test_headings_go_down_step_by_step():
    tags = [tag for tag in page_of(drive(bowl, SQUARE, 8)).tags if re.fullmatch(r"h\d", tag)]
    assert tags[0] == "h1" and tags.count("h1") == 1
    assert all(int(b[1]) <= int(a[1]) + 1 for a, b in pairwise(tags))
