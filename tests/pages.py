"""The fenced blocks of our Markdown pages, and how they are run.

```python            runs by itself, in an empty folder
```python sim.py     is a file, for the shell blocks of the page; so is ```toml study.toml
```sh                runs in the page's folder, after those above it
```                  directly below a block that runs: what that prints; of its numbers the first
                     holds within 5 %, the others belong to the machine
Any other block is only shown.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

ROOT = Path(__file__).parents[1]
TORCH = {"torch", "botorch", "gpytorch"}  # make test-torch has them
SERVED = {"distributed"}  # make test-doors has it
# What others wrote, beside ours in docs/migrating.md; checked where somebody installed it.
PEERS = {"skopt", "bayes_opt", "ax"}

_FENCE = re.compile(r"^```([^\n`]*)\n(.*?)^```[ ]*$", re.DOTALL | re.MULTILINE)
_NUMBER = re.compile(r"[-−]?\d[\d.e+-]*")
_VALUE = re.compile(r"[-−]?\d+(?:\.\d+)?(?:e[+-]?\d+)?")
_FILE = re.compile(r"\"([\w-]+\.(?:html|svg|jsonl|json|log|journal))\"")


@dataclass(frozen=True)
class Block:
    """A fenced block."""

    page: str  # its path in the repository
    line: int
    language: str
    file: str  # the name it is saved under, if it has one
    text: str
    shown: str | None  # what it prints, if the page says so

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def imports(self) -> set[str]:
        """The packages that a block of Python needs."""
        found = set()
        for node in ast.walk(ast.parse(self.text)):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                found.add((node.module or "").partition(".")[0])
            if isinstance(node, ast.ImportFrom) and node.module == "headway.botorch":
                found.add("botorch")
        return found


def pages() -> list[Path]:
    """The README, and everything in docs/."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: Path) -> list[Block]:
    """Of one page, from top to bottom."""
    text = page.read_text("utf-8")
    fences = list(_FENCE.finditer(text))
    found = []
    for fence, after in zip_longest(fences, fences[1:]):
        shown = None
        if after and not after[1] and not text[fence.end() : after.start()].strip():
            shown = after[2]
        language, _, file = fence[1].strip().partition(" ")
        line = text.count("\n", 0, fence.start()) + 1
        name = page.relative_to(ROOT).as_posix()
        found.append(Block(name, line, language, file, fence[2], shown))
    return found


def python_blocks(*, needing: set[str] | None = None) -> list[Block]:
    """Those that run by themselves: with no PyTorch and no server, or those that need some."""
    special = TORCH | SERVED
    every = [b for page in pages() for b in blocks(page) if b.language == "python" and not b.file]
    return [b for b in every if b.imports & special <= (needing or set()) and _wanted(b, needing)]


def _wanted(block: Block, needing: set[str] | None) -> bool:
    return needing is None or bool(block.imports & needing)


def run_python(block: Block, folder: Path) -> str:
    """What it prints; every file that it names is there afterwards.

    A warning is an error, but where large libraries have some of their own.
    """
    script = folder / "block.py"
    script.write_text(block.text, "utf-8")
    strict = [] if block.imports & (TORCH | SERVED | PEERS) else ["-W", "error"]
    shown = _run([sys.executable, *strict, str(script)], folder, str(block))
    for name in _FILE.findall(block.text):
        assert (folder / name).exists(), f"{block} writes no {name}"
    return shown


def run_shell(block: Block, folder: Path) -> str:
    """With the commands of this environment before all others."""
    return _run(["bash", "-euo", "pipefail", "-c", block.text], folder, str(block))


def _run(command: list[str], folder: Path, name: str) -> str:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    env = {key: value for key, value in os.environ.items() if not key.startswith("HEADWAY")}
    done = subprocess.run(
        command,
        cwd=folder,
        env={**env, "PATH": path, "COLUMNS": "100"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
    )
    assert done.returncode == 0, f"{name} ends with {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def shape(text: str) -> str:
    """The text with every number replaced by one sign: the last digits belong to the machine."""
    return re.sub(r"[ ]+", " ", _NUMBER.sub("#", text)).strip()


def first_number(text: str) -> float | None:
    """The number that a reader looks at; None where there is none."""
    found = _VALUE.search(text)
    return float(found[0].replace("−", "-")) if found else None
