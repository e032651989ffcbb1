"""What the pages show is what happens: their code runs, their commands and links are there."""

from __future__ import annotations

import importlib.util
import re
import shlex
from pathlib import Path
from urllib.parse import unquote

import pytest
import typer

from headway.cli import app
from tests.pages import (
    PEERS,
    ROOT,
    blocks,
    first_number,
    pages,
    python_blocks,
    run_python,
    run_shell,
    shape,
)

BLOCKS = python_blocks()
STORIES = [page for page in pages() if any(b.language == "sh" for b in blocks(page))]
TEXTS = {page: page.read_text("utf-8") for page in [*pages(), *ROOT.glob("*.md")]}
_LINK = re.compile(r"\]\(([^()\s]+)\)")
_COMMAND = re.compile(r"(?:^|`)headway ([a-z][a-z-]*)([^`\n#]*)", re.MULTILINE)


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_each_block_of_python_runs(block, tmp_path):
    for name in block.imports & PEERS:
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed")
    printed = run_python(block, tmp_path)
    if block.shown is not None:
        same_output(printed, block)


@pytest.mark.parametrize("page", STORIES, ids=lambda page: page.name)
def test_the_commands_of_a_page_run_one_after_another(page, tmp_path):
    for block in blocks(page):
        if block.file:
            (tmp_path / block.file).write_text(block.text, "utf-8")
        elif block.language == "sh":
            printed = run_shell(block, tmp_path)
            if block.shown is not None:
                same_output(printed, block)


def same_output(printed, block):
    """The same words, and the first number within 5 %: the later ones may be times."""
    assert shape(printed) == shape(block.shown), block
    shown = first_number(block.shown)
    if shown is not None:
        assert first_number(printed) == pytest.approx(shown, rel=0.05), block


def test_a_page_with_a_number_of_another_program_is_refused():
    block = next(b for b in BLOCKS if b.page == "docs/start.md" and b.shown)
    same_output(block.shown, block)
    with pytest.raises(AssertionError):
        same_output(block.shown.replace("908", "420"), block)


def test_the_value_in_the_readme_is_found(tmp_path):
    """Its digits, that is, but for those that rounding on another machine decides."""
    first = next(block for block in BLOCKS if block.page == "README.md")
    shown, printed = (
        float(re.search(r"(\S+) after 30 evaluations", text)[1])
        for text in (first.shown, run_python(first, tmp_path))
    )
    assert printed == pytest.approx(shown, abs=1e-5)


def test_blocks_are_found_and_none_is_of_two_kinds():
    found = {block.page for block in BLOCKS}
    assert {"README.md", "docs/optuna.md", "docs/sklearn.md", "docs/report.md"} <= found
    assert not any("botorch" in block.imports for block in BLOCKS)
    kinds = {block.language for page in pages() for block in blocks(page)}
    assert kinds <= {"python", "sh", "toml", "diff", "text", ""}, "a block that nobody runs"


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page):
    text = re.sub(r"```.*?```", "", TEXTS[page], flags=re.DOTALL)
    for link in _LINK.findall(text):
        if re.match(r"https?:|mailto:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / unquote(path)).resolve() if path else page
        assert target.exists(), f"{link} leads nowhere"
        if anchor:
            assert anchor in anchors(target.read_text("utf-8")), f"{link}: no such heading"


def anchors(text: str) -> set[str]:
    """The headings, as GitHub names them."""
    heads = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def test_every_page_is_in_the_table_of_contents():
    index = ROOT / "docs" / "README.md"
    linked = {(index.parent / link).resolve() for link in _LINK.findall(TEXTS[index])}
    wanted = set((ROOT / "docs").glob("*.md")) - {index} | {ROOT / "docs/decisions/README.md"}
    assert wanted <= linked, f"not in docs/README.md: {wanted - linked}"


def test_commands_that_pages_show_have_these_options():
    group = typer.main.get_command(app)
    seen = set()
    for page, text in TEXTS.items():
        for name, rest in _COMMAND.findall(text):
            command = group.commands.get(name)
            assert command is not None, f"{page.name}: headway {name}"
            options = {"--help"} | {o for p in command.params for o in (*p.opts, *p.secondary_opts)}
            words = shlex.split(rest.replace("\\|", "|"), comments=True)
            given = {w.partition("=")[0] for w in words if re.match(r"--?[a-z]", w)}
            assert given <= options, f"{page.name}: headway {name}{rest}"
            seen.add(name)
    assert seen == set(group.commands)


def test_every_example_is_run_by_a_test():
    tests = "".join(p.read_text("utf-8") for p in Path(__file__).parent.rglob("test_*.py"))
    examples = [p for p in (ROOT / "examples").iterdir() if p.name != "__pycache__"]
    assert examples
    for example in examples:
        assert re.search(rf"examples[./ \"]+(import )?\"?{example.stem}\b", tests), example
