"""The report in a real browser: drawn, without a word on the console, at every width and setting.

The screenshots stay in `build/screenshots`, to be looked at.
"""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path

import pytest

import headway
import headway.report
from tests.cases import drive

_PATH = Path(__file__).with_name("chromium.py")
_SPEC = importlib.util.spec_from_file_location("chromium", _PATH)
chromium = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(chromium)

SCREENSHOTS = Path(__file__).parents[2] / "build" / "screenshots"
HOSTILE = (
    "</title><script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">"
)
DEVICES = [(390, 844), (1280, 900)]
pytestmark = pytest.mark.skipif(
    chromium.PROGRAM is None, reason="chromium is not installed: apt-get install chromium"
)


def mixed():
    """Every kind of parameter, failures, constraints, costs, names that would like to run."""
    space = {
        "temperature": headway.Real(300, 400),
        "catalyst": headway.Categorical(["none", "platinum", HOSTILE]),
        "amount": headway.Real(1e-4, 1.0, log=True, when=("catalyst", "platinum")),
        "stirrers": headway.Integer(1, 6),
        "size": headway.Ordinal([10, 20, 50]),
        HOSTILE: (0.0, 1.0),
    }

    def f(p):
        if p["temperature"] > 385:
            raise RuntimeError(f"{HOSTILE}: boiled over at {p['temperature']:.1f} K")
        value = ((p["temperature"] - 350) / 20) ** 2 + abs(math.log(p.get("amount", 1.0) / 0.02))
        value += 0.3 * (p["stirrers"] - 3) ** 2 + p[HOSTILE]
        return headway.Outcome(value, constraints=[p["stirrers"] - 5.5, 0.1 - p[HOSTILE]], cost=1.5)

    return drive(f, space, 40, constraints=2)


def line():
    return drive(lambda p: p["x"] * math.sin(p["x"]), {"x": (0.0, 10.0)}, 12, direction="maximize")


def hopeless():
    def f(p):
        raise RuntimeError("no licence")

    return drive(f, {"x": (0.0, 1.0), "y": (0.0, 1.0)}, 4)


def wide():
    def f(p):
        return sum(value**2 for value in p.values())

    return drive(f, {f"parameter_{i}": (-1.0, 2.0) for i in range(20)}, 40, design=20)


RUNS = {"mixed": (mixed, 9), "line": (line, 8), "hopeless": (hopeless, 2), "wide": (wide, 9)}


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    return {
        name: headway.report.write(make(), folder / f"{name}.html", title=f"The run {name}")
        for name, (make, _) in RUNS.items()
    }


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with chromium.Browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("size", DEVICES, ids=["phone", "desk"])
@pytest.mark.parametrize("name", RUNS)
def test_the_page_is_drawn_and_nothing_complains(browser, pages, name, size, dark):
    browser.troubles.clear()
    browser.asked.clear()
    browser.open(pages[name], width=size[0], height=size[1], dark=dark)
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    setting = "dark" if dark else "light"
    shot = browser.screenshot(SCREENSHOTS / f"{name}-{size[0]}-{setting}.png")
    assert shot.stat().st_size > 20_000
    assert browser.troubles == []
    outside = [url for url in browser.asked if not url.startswith(("file:", "data:"))]
    assert outside == [] and sum(url.startswith("file:") for url in browser.asked) == 1
    assert "taken" not in browser.value("document.title")

    boxes = browser.value(
        "[...document.querySelectorAll('figure > svg')].map(s => {"
        "const b = s.getBoundingClientRect(); return [b.width, b.height, "
        "s.querySelectorAll('path, circle, rect').length]})"
    )
    assert len(boxes) == RUNS[name][1]
    for width, height, marks in boxes:
        assert width > 250 and height > 30 and marks >= 3
    assert browser.value("document.documentElement.scrollWidth") <= size[0]  # no scrolling sideways
    background = browser.value("getComputedStyle(document.body).backgroundColor")
    shade = sum(int(part) for part in background[4:-1].split(","))
    assert shade < 150 if dark else shade > 600


def test_letters_are_large_enough_on_a_phone(browser, pages):
    browser.open(pages["mixed"], width=390, height=844, dark=False)
    sizes = browser.value(
        "[...document.querySelectorAll('figure svg text')].map(t => {"
        "const s = t.ownerSVGElement; const top = s.closest('figure > svg') || s;"
        "return parseFloat(getComputedStyle(t).fontSize) * "
        "top.getBoundingClientRect().width / top.viewBox.baseVal.width})"
    )
    assert len(sizes) > 50 and min(sizes) >= 9.5  # px on the screen


def test_no_text_of_a_picture_is_cut_off(browser, pages):
    browser.open(pages["mixed"], width=1280, height=900, dark=False)
    cut = browser.value(
        "[...document.querySelectorAll('figure > svg')].flatMap(s => {"
        "const box = s.getBoundingClientRect();"
        "return [...s.querySelectorAll('text')].filter(t => {"
        "const b = t.getBoundingClientRect();"
        "return b.left < box.left - 2 || b.right > box.right + 2 || b.bottom > box.bottom + 3})"
        ".map(t => t.textContent)})"
    )
    assert cut == []


def test_the_table_opens_and_scrolls_by_itself(browser, pages):
    browser.open(pages["wide"], width=390, height=844, dark=False)
    browser.value("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert browser.value("document.documentElement.scrollWidth") <= 390
    assert browser.value("document.querySelectorAll('.scroll tbody tr').length") == 40
    assert browser.value("(s => s.scrollWidth > s.clientWidth)(document.querySelector('.scroll'))")


def test_a_picture_alone_is_a_file(browser, pages, tmp_path):
    import headway.plots

    headway.plots.path(mixed()).save(tmp_path / "path.svg")
    browser.troubles.clear()
    browser.open(tmp_path / "path.svg", width=800, height=800, dark=True)
    assert browser.value("document.documentElement.tagName") == "svg"  # else it is not XML
    assert browser.troubles == []
