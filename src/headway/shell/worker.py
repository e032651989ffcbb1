"""The loop of a worker: ask the study for a trial, run the command, tell what came of it.

Any number of workers share a study. Each makes trials until the budget is used up; a trial made
beyond it, by its number, is told FAIL with the reason "over budget" before its command runs. A
trial whose worker died, or was stopped, is told FAIL without spending anything, and its point is
evaluated again. So the finished trials reach the budget exactly.

All asking and telling is done by one thread; the commands run in a pool of others.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

import optuna
from optuna.exceptions import UpdateFinishedTrialError
from optuna.trial import FrozenTrial

from headway.errors import BudgetSpent, CommandFailed, EveryTrialFailed, StorageError, TellError
from headway.optuna_trials import WHY
from headway.outcome import Outcome
from headway.shell import command
from headway.shell.accounts import OVER_BUDGET, Account, is_beyond
from headway.shell.command import Stop
from headway.shell.liveness import OWNER, Liveness, Orphans, is_bare, is_run, is_storage_error
from headway.shell.reading import Ambiguous
from headway.shell.storage import Storage
from headway.shell.telling import Failure, claim, close, repeat, repeats, suggest, tell
from headway.study import Study

# As in `minimize`: a design of two or three points may be unlucky.
_FAILURES = 5
# How often the wait for a command is interrupted, to draw and to hear a signal; seconds.
_TICK = 0.2
# How often the others' trials are looked at while there is nothing to do.
_POLL = 1.0
# How old the account may be that is shown while commands end in quick succession; seconds.
_LAG = 0.25
# A database that restarts is waited for before a result is given up; seconds.
_OUTAGE = 120.0
# The sampler may see the budget used up a moment before we do; after so many it is no moment.
_REFUSALS = 10

T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """A trial in the hands of this worker."""

    trial: optuna.Trial
    params: Mapping[str, Any]
    why: str
    began: float  # time.monotonic()

    @property
    def number(self) -> int:
        return self.trial.number


class Observer(Protocol):
    """Who watches a worker: the terminal, or nobody."""

    def begun(self, job: Job) -> None: ...
    def told(self, job: Job, result: Outcome | Failure) -> None: ...
    def noted(self, text: str) -> None: ...
    def tick(self, account: Account, jobs: list[Job]) -> None: ...


@dataclass(frozen=True, slots=True)
class Setting:
    """How a worker works, besides what the study says."""

    directory: Path
    slots: int = 1
    patience: int = 60  # seconds
    waits: bool = True  # for the trials of others, before it leaves
    takes_over: bool = False  # what others left running


@dataclass(slots=True)
class Worker:
    """One process at work on a study."""

    definition: Study
    study: optuna.Study
    storage: Storage
    liveness: Liveness
    observer: Observer
    setting: Setting
    stop: Stop = field(default_factory=Stop)
    jobs: dict[Future[Outcome | Failure], Job] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)  # of this session
    draining: Exception | None = None  # nothing is begun any more, and then this is raised
    refusals: int = 0
    _took_over: bool = False
    _broken: bool = False  # the storage was waited for in vain
    _orphans: Orphans = field(init=False)
    _account: Account = field(init=False)
    _looked: float = field(init=False)  # when the account was drawn up

    def __post_init__(self) -> None:
        self._orphans = Orphans(self.setting.patience)
        self._look()

    def run(self) -> Account:
        """Until the budget is spent, or `stop` is requested; what stood then."""
        with ThreadPoolExecutor(self.setting.slots) as pool:
            try:
                self._loop(pool)
            except BaseException:
                self.stop.requested = True
                raise
            finally:
                if self.stop.requested:
                    self.stop.end_all()
                while self.jobs:  # told if they finished in time, else given back
                    with suppress(StorageError):  # each is noted; the last look raises it again
                        self._record_some()
        if self.draining is not None:
            raise self.draining
        return self._look()

    def _loop(self, pool: ThreadPoolExecutor) -> None:
        checked = -math.inf
        while not self.stop.requested:
            if time.monotonic() - checked >= _POLL:
                self._rescue()
                checked = time.monotonic()
            while len(self.jobs) < self.setting.slots and self._may_begin():
                if not self._begin(pool):
                    break
            if self.jobs:
                self._record_some()
            elif self.draining is not None or not self._is_awaited():
                return
            else:
                self._pause()

    def _record_some(self) -> None:
        done = wait(self.jobs, timeout=_TICK, return_when=FIRST_COMPLETED).done
        for future in sorted(done, key=lambda future: self.jobs[future].number):
            self._record(future)
        self.observer.tick(self._account, list(self.jobs.values()))

    # Beginning

    def _may_begin(self) -> bool:
        if self.draining is not None or self.stop.requested:
            return False
        # What others did within the last moments shows when the trial has its number.
        account = self._account if self._age < _POLL else self._look()
        if account.is_overdrawn:
            return False
        return not account.is_spent or bool(account.waiting)

    def _begin(self, pool: ThreadPoolExecutor) -> bool:
        """Make a trial, or take a waiting one, and begin its command unless it is one too many."""
        try:
            trial = self._patiently(self.study.ask)
        except BudgetSpent:  # another process was faster, and the sampler has closed the trial
            self.refusals += 1
            self._look()
            if self.refusals >= _REFUSALS:
                raise
            return False
        self.refusals = 0
        id = trial._trial_id
        self._patiently(lambda: self.liveness.begin(id))
        self._patiently(lambda: trial.set_user_attr(OWNER, self.liveness.owner))
        self._look()
        if is_beyond(trial.number, self._account.trials, self.definition.budget):
            self._close(id, OVER_BUDGET)
            return True
        params = self._patiently(lambda: suggest(self.definition.space, trial))
        job = Job(trial, params, str(trial.user_attrs.get(WHY, "")), time.monotonic())
        self.jobs[pool.submit(self._evaluate, job)] = job
        self.observer.begun(job)
        return True

    def _evaluate(self, job: Job) -> Outcome | Failure:
        """In a thread of the pool: run the command, again if it may, and read it."""
        definition = self.definition
        arguments = definition.arguments(job.params, job.number)
        environment = {"HEADWAY_STUDY": definition.name, "HEADWAY_TRIAL": str(job.number)}
        for _ in range(1 + definition.retries):
            if self.stop.requested:
                return _STOPPED
            output = command.run(
                arguments,
                stdin=definition.input(job.params),
                directory=self.setting.directory,
                environment=environment,
                timeout=definition.timeout,
                stop=self.stop,
            )
            if not output.problem:
                break
        if output.problem:
            kind = "time-out" if output.status is None else "exit"
            return _STOPPED if self.stop.requested else Failure(kind, output.problem)
        try:
            return definition.read(output.stdout)
        except TellError as error:
            return Failure("ambiguous" if isinstance(error, Ambiguous) else "output", str(error))

    # Telling

    def _record(self, future: Future[Outcome | Failure]) -> None:
        """Tell what came of one trial; it stays among the jobs until it is told."""
        job = self.jobs[future]
        try:
            result = future.result()
        except CommandFailed as error:
            self.draining = self.draining or error
            result = _STOPPED
        try:
            if result is _STOPPED:
                self._give_back(job.trial._trial_id, job.number, job.params, "it was stopped")
            else:
                self._tell(job, result)
        finally:
            del self.jobs[future]
        self.liveness.finish(job.trial._trial_id)
        failed = isinstance(result, Failure) and result is not _STOPPED
        limits = self.definition.budget
        # A told value does not change how many trials are made; time and cost it may use up.
        if failed or limits.seconds or limits.cost or self._age > _LAG:
            self._look()
        if isinstance(result, Failure) and failed:
            self._count(job, result)
        self.observer.told(job, result)

    def _tell(self, job: Job, result: Outcome | Failure) -> None:
        id, names = job.trial._trial_id, [limit.name for limit in self.definition.constraints]
        try:
            self._patiently(lambda: tell(self.study, id, result, names=names))
        except UpdateFinishedTrialError:
            # We were taken for dead, and the point waits to be evaluated again, or already is.
            for other in self._trials():
                if repeats(other) == job.number and claim(self.study, other):
                    tell(self.study, other._trial_id, result, names=names)
                    return
            self.observer.noted(f"trial {job.number} was taken for dead; it {_told(result)}")
        except StorageError:
            self.observer.noted(f"trial {job.number} could not be stored; it {_told(result)}")
            raise

    def _count(self, job: Job, failure: Failure) -> None:
        """End a run whose trials all fail: the command is wrong, not the points."""
        self.failures.append(f"trial {job.number}: {failure.text}")
        if self._account.told or self.draining is not None:
            return
        if failure.kind == "ambiguous":
            self.draining = CommandFailed(f"trial {job.number}: {failure.text}.")
        elif len(self.failures) >= max(_FAILURES, self.definition.design or 0):
            self.draining = every_trial_failed(self.failures)

    # Trials that nobody runs any more

    def _rescue(self) -> None:
        """Give back the trials of dead workers."""
        takes_over = self.setting.takes_over and not self._took_over
        self._took_over = True  # what others begin from now on is theirs
        mine = {job.number for job in self.jobs.values()}
        others = [trial for trial in self._look().running if trial.number not in mine]
        if not others:
            return
        if takes_over:
            lost, reason = [t for t in others if is_run(t)], "it was taken over"
        else:
            lost = self._patiently(lambda: self.liveness.lost(self.study._study_id, others))
            lost, reason = [*lost, *self._orphans.among(others)], "its worker died"
        for trial in lost:
            # One that was queued and has not come to its parameters has them fixed.
            params = trial.params or trial.system_attrs.get("fixed_params", {})
            if self._give_back(trial._trial_id, trial.number, params, reason):
                self.observer.noted(f"trial {trial.number} is evaluated again: {reason}")

    def _give_back(self, id: int, number: int, params: Mapping[str, Any], reason: str) -> bool:
        """Close a trial so that it spends nothing, and queue its point; whether it was us."""
        if not self._close(id, reason):
            return False
        if params:
            self._patiently(lambda: repeat(self.study, number, params, reason))
            self._look()
        return True

    def _close(self, id: int, reason: str) -> bool:
        """Tell FAIL without spending; False if another process was faster."""
        try:
            self._patiently(lambda: close(self.study, id, reason))
        except UpdateFinishedTrialError:
            return False
        finally:
            self.liveness.finish(id)
            self._look()
        return True

    def _is_awaited(self) -> bool:
        """Whether something runs elsewhere that may yet fall back to us."""
        account = self._look()
        if not self.setting.waits or account.is_overdrawn:
            return False
        return any(is_run(t) or is_bare(t) for t in account.running) or (
            bool(account.waiting) or not account.is_spent
        )

    def _pause(self) -> None:
        end = time.monotonic() + _POLL
        while not self.stop.requested and time.monotonic() < end:
            time.sleep(_TICK)
            self.observer.tick(self._account, [])

    # The storage

    def _trials(self) -> list[FrozenTrial]:
        return self._patiently(lambda: self.study.get_trials(deepcopy=False))

    @property
    def _age(self) -> float:
        """Seconds since the account was drawn up."""
        return time.monotonic() - self._looked

    def _look(self) -> Account:
        definition = self.definition
        trials = self._trials()
        self._account = Account.of(trials, budget=definition.budget, goal=definition.goal)
        self._looked = time.monotonic()
        return self._account

    def _patiently(self, call: Callable[[], T]) -> T:
        """Call until the storage answers: a restart of the server must not end a night's run."""
        began: float | None = None
        while True:
            try:
                return call()
            except Exception as error:
                if not is_storage_error(error):
                    raise
                if began is None:
                    began = time.monotonic()
                    self.observer.noted("the storage does not answer; waiting for it")
                if self._broken or self.stop.requested or time.monotonic() - began > _OUTAGE:
                    self._broken = True
                    raise self.storage.failure(error) from None
                time.sleep(_POLL)


_STOPPED = Failure("stopped", "it was stopped")


def every_trial_failed(failures: list[str]) -> EveryTrialFailed:
    """The error for a study without a value."""
    count = "the only trial" if len(failures) == 1 else f"each of the {len(failures)} trials"
    return EveryTrialFailed(
        f"{count} failed; the first was {failures[0].rstrip('.')}. Mend the command, or how it is "
        f"read, and run again."
    )


def _told(result: Outcome | Failure) -> str:
    if isinstance(result, Failure):
        return f"failed: {result.text}"
    return f"returned {result.value:.17g}"
