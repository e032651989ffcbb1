"""Imports go only to the right: doors -> run -> optimizer -> propose -> policy -> ... -> errors."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import headway

ROOT = Path(headway.__file__).parent

# From left to right; a module may import from its own layer and from those after it. A folder
# stands for every module in it.
LAYERS = (
    {"cli", "report", "plots", "study", "optuna", "sklearn", "botorch"}
    | {"optuna_replay", "optuna_space", "optuna_study", "optuna_trials", "shell", "__main__"}
    | {"sklearn_space", "botorch_reading"},
    {"run", "checkpoint", "evaluation", "executors", "progress"},
    {"optimizer", "inputs", "outcome", "trial"},
    {"propose", "outlook", "importance"},
    {"proposal"},
    {"scoring"},
    {"closeup"},
    {"situation"},
    {"policy", "why"},
    {"search", "acquisition", "direction"},
    {"surrogate"},
    {"history", "budget"},
    {"space", "columns", "parameters", "values"},
    {"errors", "arrays", "ascent"},
)
# Within a layer, who may see whom; doors not named here see no other door.
DOORS = {
    "__main__": {"cli"},
    "cli": {"study", "report", "optuna", "shell"},
    # Studies that the command line runs; a study file says how commands are put together and read.
    "shell": {"study", "optuna", "optuna_trials"},
    "study": {"shell"},
    "report": {"plots"},
    "sklearn": {"sklearn_space"},
    "botorch": {"botorch_reading"},
    # One plug-in in five files: the sampler, and what it knows of studies, spaces and trials.
    "optuna": {"optuna_replay", "optuna_space", "optuna_study", "optuna_trials"},
    "optuna_study": {"optuna_trials"},
    "optuna_replay": {"optuna_space", "optuna_trials"},
    "optuna_trials": {"optuna_space"},
}
INSIDE = {
    "search": set(),  # knows no acquisition by name
    "direction": set(),  # knows nothing of the process but samples
    "acquisition": set(),
}


def modules():
    return {
        path.relative_to(ROOT).with_suffix("").as_posix().replace("/", "."): path
        for path in sorted(ROOT.rglob("*.py"))
        if path != ROOT / "__init__.py"
    }


def unit(module):
    """The name that stands in LAYERS."""
    return module.split(".")[0]


def layer(module):
    return next((i for i, names in enumerate(LAYERS) if unit(module) in names), None)


def imports(path):
    """Every module of the package that a file imports, inside functions too."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            # `from headway import budget` names a module, `from headway.budget import clock` not.
            found.add(node.module or "")
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
    known = set(modules()) | {name.removesuffix(".__init__") for name in modules()}
    return {name.removeprefix("headway.") for name in found if name.startswith("headway.")} & known


def test_what_is_read_here_is_read_right():
    known = modules()
    assert {"situation", "scoring", "search.maximize"} <= imports(known["propose"])
    assert "surrogate.gp" in imports(known["acquisition.score"])
    assert "direction.vmf" in imports(
        known["direction.heading"]
    )  # from headway.direction import vmf
    assert layer("errors") > layer("surrogate.gp") > layer("propose") > layer("run")


def test_every_module_has_its_layer():
    homeless = [name for name in modules() if layer(name) is None]
    assert not homeless, (
        f"say in tests/contracts/test_layers.py which layer they are of: {homeless}"
    )


@pytest.mark.parametrize("module", modules())
def test_imports_go_only_to_the_right(module):
    for other in imports(modules()[module]):
        assert layer(other) is not None, other
        assert layer(module) <= layer(other), f"{module} imports {other}"
        if unit(other) != unit(module):
            if layer(module) == 0 == layer(other):
                assert unit(other) in DOORS.get(unit(module), set()), f"{module} imports {other}"
            if unit(module) in INSIDE and layer(other) == layer(module):
                assert unit(other) in INSIDE[unit(module)], f"{module} imports {other}"


def test_search_and_direction_know_nothing_of_the_model():
    for module, path in modules().items():
        if unit(module) in ("search", "direction"):
            assert not {name for name in imports(path) if unit(name) == "surrogate"}, module


def test_no_two_modules_import_each_other():
    graph = {name.removesuffix(".__init__"): imports(path) for name, path in modules().items()}
    done: set[str] = set()

    def visit(name, trail):
        assert name not in trail, " -> ".join([*trail, name])
        if name not in done:
            for other in graph[name] - {name}:
                visit(other, [*trail, name])
            done.add(name)

    for name in graph:
        visit(name, [])


def test_foreign_libraries_stay_in_their_plug_in():
    foreign = {
        "optuna",
        "botorch",
        "torch",
        "gpytorch",
        "sklearn",
        "pandas",
        "plotly",
        "rich",
        "typer",
    }
    for module, path in modules().items():
        if layer(module) == 0:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            assert not {name.split(".")[0] for name in names} & foreign, module


def test_the_core_is_loaded_without_what_costs():
    """`scipy.stats` takes half a second: it is loaded when the first design point is asked."""
    code = (
        "import sys, headway, headway.propose, headway.run\n"
        "heavy = {'scipy.stats', 'pandas', 'plotly', 'torch', 'optuna', 'sklearn'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_no_module_or_function_is_longer_than_a_reader_bears():
    for module, path in modules().items():
        text = path.read_text()
        assert text.count("\n") <= 400, f"{module} has {text.count(chr(10))} lines"
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                told = node.body[0] if ast.get_docstring(node) else None
                prose = told.end_lineno - told.lineno + 1 if told else 0
                length = node.end_lineno - node.lineno + 1 - prose
                assert length <= 50, f"{module}.{node.name} has {length} lines"


def test_the_straight_line_is_at_most_forty_lines():
    """The straight line stays one that is read in a minute."""
    tree = ast.parse((ROOT / "propose.py").read_text())
    line = next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "propose")
    assert line.end_lineno - line.lineno + 1 <= 40
