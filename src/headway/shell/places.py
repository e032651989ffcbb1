"""The studies of a storage: begun, found, and held to what they were begun with.

A study's definition, as its file has it but for the storage, is an attribute of the study: a worker
on another machine needs the storage and the name alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import optuna

from headway import budget as ledger
from headway.budget import Budget
from headway.errors import StorageError, StudyError
from headway.history import Direction
from headway.optuna import HeadwaySampler
from headway.shell.accounts import Account
from headway.shell.storage import Storage, open_storage, reaching
from headway.shell.telling import limits_of
from headway.study import Study, load, require_same
from headway.values import listed

DEFINITION = "headway:study"  # user attribute of the study
DEFAULT = Path("study.toml")


@dataclass(frozen=True, slots=True)
class Place:
    """What a command line says about which study is meant."""

    definition: Study | None  # of the study file, where there is one
    storage: str
    name: str | None
    folder: Path  # where relative paths and commands begin


@dataclass(frozen=True, slots=True)
class Open:
    """A study in its storage, with its definition if a study file began it."""

    study: optuna.Study
    storage: Storage
    definition: Study | None
    folder: Path

    @property
    def goal(self) -> Direction:
        maximize = self.study.direction == optuna.study.StudyDirection.MAXIMIZE
        return "maximize" if maximize else "minimize"

    @property
    def account(self) -> Account:
        budget = self.definition.budget if self.definition else None
        with reaching(self.storage.shown):
            trials = self.study.get_trials(deepcopy=False)
        return Account.of(trials, budget=budget, goal=self.goal)

    def close(self) -> None:
        """Close the connections to the storage."""
        self.storage.close()

    def require_definition(self) -> Study:
        """The definition, or an error for a study that came about in another way."""
        if self.definition is None:
            raise StudyError(
                f"the study {self.study.study_name!r} was not begun with a study file, so its "
                f"command and its space are not known. Allowed: best, status, report and export. "
                f"Begin one with `headway run study.toml`."
            )
        return self.definition


def place_of(file: Path | None, storage: str | None, name: str | None) -> Place:
    """Which study is meant: a study file, a journal, or a storage and a name."""
    if file is None and (name is None or storage is None) and DEFAULT.exists():
        file = DEFAULT
    if file is None and storage is None:
        raise StudyError(
            f"no study is named, and there is no {str(DEFAULT)!r} here. Allowed: a study file, "
            f"or --storage and --study. Write one with `headway init`."
        )
    if file is not None and file.suffix != ".toml":
        if storage is not None or not file.exists():
            raise StudyError(
                f"{str(file)!r} is no study file. Allowed: a file whose name ends in .toml, or a "
                f"journal that exists. Give one of them, or --storage and --study."
            )
        return Place(None, str(file.resolve()), name, Path.cwd())
    if file is None:
        return Place(None, storage or "", name, Path.cwd())
    definition = load(file)
    folder = file.resolve().parent
    kept = storage or definition.storage or f"{file.stem}.journal"
    # A storage on the command line is where the person is, one in the file is where the file is.
    base = Path.cwd() if storage else folder
    located = kept if "://" in kept else str(base / kept)
    return Place(definition, located, name or definition.name, folder)


def begin(place: Place) -> Open:
    """The study of a study file, made if it is not there."""
    definition = place.definition
    if definition is None:
        return find(place)
    if place.name is not None:
        definition = replace(definition, name=place.name)
    optuna.logging.set_verbosity(optuna.logging.ERROR)  # what is new, the terminal shows
    storage = open_storage(place.storage, folder=place.folder)
    with _closed_on_error(storage):
        if definition.name not in optuna.get_all_study_names(storage.optuna):
            optuna.create_study(
                study_name=definition.name,
                storage=storage.optuna,
                direction=definition.goal,
                load_if_exists=True,  # another process may begin it at the same moment
            )
        sampler = sampler_of(definition)
        study = optuna.load_study(
            study_name=definition.name, storage=storage.optuna, sampler=sampler
        )
        opened = Open(study, storage, definition, place.folder)
        _settle(opened, definition)
    return opened


def find(place: Place) -> Open:
    """A study that is there already."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    storage = open_storage(place.storage, folder=place.folder, must_exist=True)
    with _closed_on_error(storage):
        names = optuna.get_all_study_names(storage.optuna)
        name = place.name or (names[0] if len(names) == 1 else None)
        if name is None or name not in names:
            there = f"the studies are {listed(names)}" if names else "there is no study"
            wanted = f"no study {name!r}" if name else "no single study"
            raise StorageError(
                f"the storage {storage.shown} has {wanted}: {there}. Allowed: the name of one "
                f"that was begun. Give --study, or begin it with `headway run` or `headway ask`."
            )
        study = optuna.load_study(study_name=name, storage=storage.optuna)
        stored = _stored(study)
        definition = place.definition or stored
        if definition is not None:
            study.sampler = sampler_of(definition)
            if place.definition is not None and stored is not None:
                require_same(place.definition, stored)
    return Open(study, storage, definition, place.folder)


@contextmanager
def _closed_on_error(storage: Storage) -> Iterator[None]:
    try:
        with reaching(storage.shown):
            yield
    except BaseException:
        storage.close()
        raise


def sampler_of(definition: Study) -> HeadwaySampler:
    """The sampler that the definition asks for: the same in every process."""
    return HeadwaySampler(
        definition.budget,
        seed=definition.seed,
        noise=definition.noise,
        design=definition.design,
        constraints_func=limits_of if definition.constraints else None,
        space=definition.space,
        warn_independent_sampling=False,
    )


def _settle(opened: Open, definition: Study) -> None:
    """Hold an old study to what it was; give a new one its definition and first points."""
    study = opened.study
    stored = _stored(study)
    if stored is None and study.get_trials(deepcopy=False):
        raise StudyError(
            f"the study {study.study_name!r} in {opened.storage.shown} has trials, and was not "
            f"begun with a study file. Allowed: a name of its own. Set name = ... in the file."
        )
    if stored is None and opened.goal != definition.goal:
        raise StudyError(
            f"the study {study.study_name!r} in {opened.storage.shown} is to {opened.goal}, the "
            f"file says {definition.goal!r}. Allowed: the same. Give the study another name."
        )
    if stored is not None:
        require_same(definition, stored)
        _require_covered(definition.budget, opened.account)
    if stored is None or stored.data != definition.data:
        study.set_user_attr(DEFINITION, dict(definition.data))
    if stored is None:
        for point in definition.start:
            study.enqueue_trial(dict(point), user_attrs={"why": "a point to start with"})


def _require_covered(budget: Budget, account: Account) -> None:
    """Refuse a budget that is smaller than what finished trials have spent."""
    used = replace(account.used, evaluations=len(account.finished), running=0)
    ledger.require_covered(budget, used, seconds=0.0)


def _stored(study: optuna.Study) -> Study | None:
    data: Mapping[str, Any] | None = study.user_attrs.get(DEFINITION)
    if data is None:
        return None
    where = f"the definition stored with {study.study_name!r}"
    return Study.of(data, file=where, name=study.study_name)
