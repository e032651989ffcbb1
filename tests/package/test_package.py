"""What a user installs: wheel and sdist, in clean environments, alone and with extras."""

from __future__ import annotations

import email
import json
import re
import subprocess
import tarfile
import tomllib
import zipfile
from pathlib import Path, PurePosixPath

import pytest

import headway
from tests.package.environments import (
    ROOT,
    RUNNING,
    VERSIONS,
    Environment,
    build,
    call,
    other_pythons,
)

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
OTHERS = other_pythons()
# These share environments, so one process takes them all.
core = pytest.mark.xdist_group("core")
# Runs with the core alone, and with any extra.
CORE = """
import sys, headway
assert "site-packages" in headway.__file__, headway.__file__
from headway import Categorical, Integer, Real
space = {"x": (-2.0, 3.0), "n": Integer(1, 4), "c": Categorical(["a", "b"])}
f = lambda p: (p["x"] - 1) ** 2 + p["n"] + (p["c"] == "a")
result = headway.minimize(f, space, budget=12, seed=0, noise=0, checkpoint="run.jsonl")
assert result.nfev == 12 and result.fun < 4, result
again = headway.minimize(f, space, budget=15, seed=0, noise=0, checkpoint="run.jsonl")
assert again.nfev == 15 and again.history[11].params == result.history[11].params
import headway.plots, headway.report
headway.report.write(headway.load("run.jsonl"), "report.html")
headway.plots.path(again.optimizer).save("path.svg")
foreign = {"optuna", "sklearn", "torch", "typer", "rich"} & set(sys.modules)
assert not foreign, foreign
print(headway.__version__)
"""
OPTUNA = """
import optuna, headway
study = optuna.create_study(sampler=headway.optuna.HeadwaySampler(budget=8, seed=0))
study.optimize(lambda trial: (trial.suggest_float("x", 0, 1) - 0.3) ** 2)
assert len(study.trials) == 8 and study.trials[-1].user_attrs["why"]
print(headway.optuna.optimizer_of(study).best.value)
"""
SKLEARN = """
from scipy.stats import loguniform
from sklearn.datasets import load_iris
from sklearn.svm import SVC
from headway.sklearn import HeadwaySearchCV
X, y = load_iris(return_X_y=True)
space = {"C": loguniform(1e-2, 1e3), "gamma": loguniform(1e-4, 1e1)}
search = HeadwaySearchCV(SVC(), space, n_iter=8, cv=3, random_state=0).fit(X, y)
assert search.best_score_ > 0.9 and len(search.cv_results_["why"]) == 8
"""
STUDY = """
budget = 8
command = ["{python}", "-S", "-E", "-c", "print((float('{{x}}') - 2) ** 2)"]

[parameters]
x = [-5.0, 10.0]
"""


@pytest.fixture(scope="session")
def artefacts(tmp_path_factory):
    """Wheel and sdist, built from the files that a commit would have."""
    here = tmp_path_factory.mktemp("built")
    build(ROOT, here, "wheel", "sdist")
    (wheel,), (sdist,) = here.glob("*.whl"), here.glob("*.tar.gz")
    return wheel, sdist


@pytest.fixture(scope="session")
def environment(artefacts, tmp_path_factory):
    """A function: the environment with some extras, each made once."""
    made: dict[str, Environment] = {}

    def of(extras: str) -> Environment:
        if extras not in made:
            made[extras] = Environment.made(tmp_path_factory.mktemp("clean") / "env")
            made[extras].install(f"{artefacts[0]}[{extras}]" if extras else artefacts[0])
        return made[extras]

    return of


def works(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_wheel_has_the_package_and_nothing_else(artefacts):
    names = set(zipfile.ZipFile(artefacts[0]).namelist())
    info = f"headway-{headway.__version__}.dist-info/"
    told = {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE"}
    source = {
        "headway/" + path.relative_to(ROOT / "src/headway").as_posix()
        for path in (ROOT / "src/headway").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert "headway/py.typed" in names
    assert names == source | {info + name for name in told}
    assert {PurePosixPath(name).suffix for name in source} == {".py", ".typed"}


def test_the_wheel_says_what_pyproject_says(artefacts):
    wheel = zipfile.ZipFile(artefacts[0])
    info = f"headway-{headway.__version__}.dist-info/"
    told = email.message_from_bytes(wheel.read(info + "METADATA"))
    assert (told["Name"], told["Version"]) == ("headway", headway.__version__)
    assert told["Requires-Python"] == ">=3.11" and told["License-Expression"] == "MIT"
    required = told.get_all("Requires-Dist")
    assert {r for r in required if "extra ==" not in r} == set(PROJECT["dependencies"])
    assert {re.split("[<>=]", r)[0] for r in PROJECT["dependencies"]} == {"numpy", "scipy"}
    versions = {c.rpartition(" ")[2] for c in told.get_all("Classifier") if "3." in c}
    assert versions == set(VERSIONS)
    assert "headway = headway.__main__:main" in wheel.read(info + "entry_points.txt").decode()


def test_the_sdist_builds_the_same_wheel(artefacts, tmp_path):
    wheel, sdist = artefacts
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()
    assert {path.name for path in source.iterdir()} == {
        ".gitignore",  # hatchling's rule
        "CHANGELOG.md",
        "LICENSE",
        "PKG-INFO",
        "README.md",
        "docs",
        "examples",
        "pyproject.toml",
        "src",
    }
    build(source, tmp_path / "dist", "wheel")
    (again,) = (tmp_path / "dist").glob("*.whl")
    first, second = zipfile.ZipFile(wheel), zipfile.ZipFile(again)
    assert {i.filename: i.CRC for i in first.infolist()} == {
        i.filename: i.CRC for i in second.infolist()
    }


@core
def test_the_core_alone(environment, tmp_path):
    core = environment("")
    assert set(core.installed) == {"headway", "numpy", "scipy"}
    assert works(core.run(CORE, tmp_path)).strip() == headway.__version__
    assert "<!doctype html>" in (tmp_path / "report.html").read_text("utf-8").lower()


@core
@pytest.mark.parametrize("door", ["optuna", "sklearn", "botorch"])
@pytest.mark.parametrize("way", ["import headway.{0}", "import headway; headway.{0}"])
def test_without_its_extra_a_door_says_what_to_install(environment, tmp_path, door, way):
    done = environment("").run(way.format(door), tmp_path)
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: ") and f'pip install "headway[{door}]"' in last


@core
@pytest.mark.parametrize("extras", ["", "optuna"])
def test_without_its_extra_the_command_line_says_what_to_install(environment, tmp_path, extras):
    done = call(environment(extras).command, "--version", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1 and 'pip install "headway[cli]"' in done.stderr


def test_the_sdist_installs_and_works(artefacts, tmp_path):
    env = Environment.made(tmp_path / "env")
    env.install(artefacts[1])
    assert set(env.installed) == {"headway", "numpy", "scipy"}
    assert works(env.run(CORE, tmp_path)).strip() == headway.__version__


@pytest.mark.parametrize(
    ("extra", "code"),
    [pytest.param("optuna", OPTUNA, marks=core), ("sklearn", SKLEARN)],
)
def test_with_an_extra(environment, tmp_path, extra, code):
    env = environment(extra)
    assert "torch" not in env.installed
    env.pip("check")
    works(env.run(code, tmp_path))
    works(env.run(CORE, tmp_path))


def test_the_command_line(environment, tmp_path):
    env = environment("cli")
    assert "torch" not in env.installed
    env.pip("check")

    def headway_(*arguments: str) -> str:
        return works(call(env.command, *arguments, cwd=tmp_path))

    assert headway.__version__ in headway_("--version")
    (tmp_path / "study.toml").write_text(STUDY.format(python=env.python), "utf-8")
    headway_("run", "study.toml", "-j", "2")
    best = json.loads(headway_("best", "--json"))
    assert abs(best["params"]["x"] - 2) < 3
    headway_("report", "-o", "report.html")
    headway_("export", "-o", "trials.csv")
    assert len((tmp_path / "trials.csv").read_text().splitlines()) == 9
    assert "budget" in headway_("status")
    works(env.run(OPTUNA, tmp_path))
    # `python -m headway` is the same program.
    done = call(env.python, "-I", "-m", "headway", "--version", cwd=tmp_path)
    assert works(done) == headway_("--version")


@pytest.mark.parametrize("version", [v for v in VERSIONS if v != RUNNING])
def test_the_other_pythons(artefacts, tmp_path, version):
    """The running one is tested above."""
    if version not in OTHERS:
        pytest.skip(f"Python {version} is not on this machine")
    env = Environment.made(tmp_path / "env", OTHERS[version])
    env.install(f"{artefacts[0]}[cli]")
    assert works(env.run("import sys; print('%d.%d' % sys.version_info[:2])", tmp_path)) == (
        version + "\n"
    )
    works(env.run(CORE, Path(tmp_path)))
    works(env.run(OPTUNA, tmp_path))
    assert headway.__version__ in works(call(env.command, "--version", cwd=tmp_path))
