"""Storages by path and URL, whose password is nowhere to be seen."""

import traceback

import optuna
import pytest

from headway.errors import StorageError
from headway.shell import storage
from headway.shell.storage import hide, open_storage


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://lab:s3cret@db:5432/x", "postgresql://lab:***@db:5432/x"),
        ("postgresql://lab@db/x", "postgresql://lab@db/x"),
        ("postgresql://db/x?user=lab&password=s3cret&a=b", "postgresql://db/x?user=lab&password=***&a=b"),
        ("mysql+pymysql://lab:s3:c@ret@db/x", "mysql+pymysql://lab:***@db/x"),
        ("sqlite:///a.db", "sqlite:///a.db"),
    ],
)  # fmt: skip
def test_a_url_is_shown_without_its_password(url, shown):
    assert hide(url) == shown


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://lab:s3cret@127.0.0.1:9/x",
        "postgresql://lab:s3cret%2Fw@127.0.0.1:9/x",
        "postgresql://lab:s3cret@127.0.0.1:9/x?sslpassword=s3cret",
        "postgresql://lab:s3@cret@127.0.0.1:9/x",
        "postgresql://lab:s3cret@host.invalid/x",
        "mysql+nodriver://lab:s3cret@127.0.0.1:9/x",
        "postgresql://lab:s3cret@[::1/x",
        "postgresql://lab:s3cret@db:port/x",
    ],
)
def test_a_storage_out_of_reach(url, tmp_path, caplog):
    pytest.importorskip("psycopg")
    with pytest.raises(StorageError, match=r"the storage .*\*\*\*.* Allowed: ") as caught:
        open_storage(url, folder=tmp_path)
    seen = "".join(traceback.format_exception(caught.value)) + repr(caught.value) + caplog.text
    assert "s3cret" not in seen and "cret" not in seen.replace("s3cret", "").replace("***", "")
    assert "\n" not in str(caught.value)


def test_without_a_driver(tmp_path, monkeypatch):
    monkeypatch.setattr(storage, "find_spec", lambda name: None)
    with pytest.raises(StorageError, match=r'pip install "headway\[postgresql\]"'):
        open_storage("postgresql://lab:s3cret@db/x", folder=tmp_path)


def test_a_storage_shows_no_secret_of_its_own(tmp_path):
    opened = open_storage("sqlite:///s3cret.db", folder=tmp_path)
    assert repr(opened) == f"Storage(shown={opened.shown!r})"


def test_relative_paths_begin_at_the_folder(tmp_path):
    open_storage("sqlite:///a.db", folder=tmp_path)
    assert (tmp_path / "a.db").is_file()
    journal = open_storage("a.journal", folder=tmp_path)
    assert (tmp_path / "a.journal").is_file() and journal.is_journal


@pytest.mark.parametrize("place", ["a.journal", "sqlite:///a.db"])
def test_what_must_exist(place, tmp_path):
    with pytest.raises(StorageError, match=r"there is no study yet: the file .*headway run"):
        open_storage(place, folder=tmp_path, must_exist=True)
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_no_journal(tmp_path):
    (tmp_path / "notes.txt").write_text("dear diary\nit rained\n")
    with pytest.raises(StorageError, match=r"is not a journal of Optuna's, or it is damaged"):
        open_storage("notes.txt", folder=tmp_path)
    with pytest.raises(StorageError, match=r"cannot be used: .*No such file"):
        open_storage("no/such/folder/a.journal", folder=tmp_path)
    assert (tmp_path / "notes.txt").read_text() == "dear diary\nit rained\n"


def test_a_file_that_is_no_database(tmp_path):
    (tmp_path / "notes.db").write_text("dear diary\n" * 100)
    with pytest.raises(StorageError, match=r"cannot be used: file is not a database"):
        open_storage("sqlite:///notes.db", folder=tmp_path)


def test_an_optuna_journal_is_ours_too(tmp_path):
    backend = optuna.storages.journal.JournalFileBackend(str(tmp_path / "a.journal"))
    optuna.create_study(storage=optuna.storages.JournalStorage(backend), study_name="s")
    opened = open_storage("a.journal", folder=tmp_path)
    assert optuna.get_all_study_names(opened.optuna) == ["s"]


@pytest.mark.parametrize("tail", [b'{"op_code":4,"worker', b"{", b'{"op_code":4}'])
def test_a_torn_last_line_is_taken_off_and_nothing_else(tail, tmp_path):
    path = tmp_path / "a.journal"
    study = optuna.create_study(storage=open_storage("a.journal", folder=tmp_path).optuna)
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=2)
    whole = path.read_bytes()
    path.write_bytes(whole + tail)
    opened = open_storage("a.journal", folder=tmp_path)
    assert path.read_bytes() == whole
    again = optuna.load_study(study_name=study.study_name, storage=opened.optuna)
    again.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=2)
    last = open_storage("a.journal", folder=tmp_path).optuna
    trials = optuna.load_study(study_name=study.study_name, storage=last).trials
    assert [t.state.name for t in trials] == ["COMPLETE"] * 4


def test_a_file_of_somebody_elses_is_not_mended(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("dear diary\nit rain")
    with pytest.raises(StorageError, match=r"is not a journal"):
        open_storage("notes.txt", folder=tmp_path)
    assert path.read_text() == "dear diary\nit rain"
