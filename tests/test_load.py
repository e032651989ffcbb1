"""A run on the disk as an Optimizer, to look at: checkpoints, also while they are written."""

from __future__ import annotations

import pytest

import headway
from headway.errors import CheckpointError

SPACE = {"x": (-1.0, 1.0), "c": headway.Categorical(["p", "q"])}


def f(p):
    return (p["x"] - 0.3) ** 2 + (p["c"] == "q")


@pytest.fixture
def finished(tmp_path):
    file = tmp_path / "run.jsonl"
    return file, headway.minimize(f, SPACE, budget=8, seed=3, checkpoint=file, progress=False)


def test_a_checkpoint_is_the_run_that_wrote_it(finished):
    file, result = finished
    before = file.read_bytes()
    loaded = headway.load(file)
    assert loaded.history.records == result.history.records
    assert loaded.header() == result.optimizer.header()
    assert file.read_bytes() == before


def test_it_is_read_while_a_run_writes_it(tmp_path):
    file, seen = tmp_path / "run.jsonl", []

    def look(result):
        seen.append(len(headway.load(file).history.finished))

    headway.minimize(f, SPACE, budget=5, checkpoint=file, callback=look, progress=False)
    assert seen == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("kept", [1, 40])
def test_a_line_that_is_being_written_is_left_out(finished, kept):
    file, _ = finished
    *lines, last = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines) + last[:kept])
    assert len(headway.load(file).history.finished) == 7


def test_a_whole_last_line_counts_without_its_end(finished):
    file, result = finished
    file.write_bytes(file.read_bytes().rstrip(b"\n"))
    assert headway.load(file).history.records == result.history.records


def test_the_text_of_to_json_is_read_too(tmp_path, finished):
    _, result = finished
    text = tmp_path / "run.json"
    text.write_text(result.optimizer.to_json())
    assert headway.load(text).history.records == result.history.records


def test_what_cannot_be_read(tmp_path, finished):
    with pytest.raises(CheckpointError, match=r"nowhere.*cannot be read: No such file"):
        headway.load(tmp_path / "nowhere")
    with pytest.raises(CheckpointError, match=r"the run '7.5' cannot be read.*Give its name"):
        headway.load(7.5)
    other = tmp_path / "other"
    other.write_text("x = 1\n")
    with pytest.raises(CheckpointError, match="is not JSON"):
        headway.load(other)
    file, _ = finished
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join([*lines[:3], b"{torn\n", *lines[3:]]))
    with pytest.raises(CheckpointError, match=r"line 4 of .*run.jsonl.* cannot be read"):
        headway.load(file)


def test_the_optimizer_of_a_result_no_longer_writes(finished):
    file, result = finished
    before = file.read_bytes()
    result.optimizer.extend(9)
    result.optimizer.tell(result.optimizer.ask(), 1.0)
    assert file.read_bytes() == before
    assert len(result.history) == 8  # a snapshot stays what it was
