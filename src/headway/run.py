"""minimize(): the loop of ask, evaluate and tell, with executors, a checkpoint and a Result.

Nothing told is lost: an exception of f is a failed trial; every event is on the disk before the run
goes on; what ends the run in another way carries the result so far.
"""

from __future__ import annotations

import logging
import math
import os
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from headway import budget as ledger
from headway.budget import Budget
from headway.checkpoint import Checkpoint, difference
from headway.errors import (
    BudgetSpent,
    CheckpointError,
    EveryTrialFailed,
    ExecutorFailed,
    SettingError,
    SpaceExhausted,
    TellError,
)
from headway.evaluation import Failure, evaluate, failure
from headway.executors import Here, is_unsendable, require_sendable, unsendable, workers_of
from headway.history import Direction, History
from headway.inputs import Point
from headway.optimizer import Optimizer
from headway.outcome import Outcome
from headway.policy import Policy
from headway.progress import Mode, ProgressLine
from headway.space import Space
from headway.surrogate import Surrogate
from headway.trial import Trial

logger = logging.getLogger("headway")

# A design of two or three points may be unlucky; five failures and no value are the function's.
_FAILURES = 5
# Waits are cut into pieces, since some systems hear Ctrl-C only between them.
_POLL = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """What a run found, in the user's sign and with scipy's names.

    `x` is the best point that meets the constraints, in the form that f takes; where none does,
    the one that violates them least, and then `success` is False. `nfev` counts told and failed
    trials, those of earlier sessions included. `optimizer` is the run itself: for `headway.report`,
    or to go on by asking and telling, which the checkpoint does not follow.
    """

    x: Any
    fun: float  # nan if nothing has a value
    nfev: int
    message: str
    success: bool
    params: dict[str, Any] | None
    constraints: tuple[float, ...]
    seed: int
    history: History = field(repr=False)
    optimizer: Optimizer = field(repr=False)

    @classmethod
    def of(cls, optimizer: Optimizer, *, message: str | None = None) -> Result:
        """The result so far; a message of its own stands for an end before the budget's."""
        history = optimizer.history
        best = history.nearest_feasible(optimizer.direction)
        used = ledger.spent(history)
        parts = [optimizer.message if message is None else message]
        failed = sum(r.status == "failed" for r in history)
        if failed:
            parts.append(f"{failed} failed.")
        if best is None:
            parts.append("Nothing has a value.")
        elif not best.feasible:
            parts.append("No trial met the constraints; x violates them least.")
        return cls(
            x=None if best is None else Trial(0, best.point, form=optimizer.space.form).x,
            fun=math.nan if best is None or best.value is None else best.value,
            nfev=used.evaluations - used.running,
            message=" ".join(parts),
            success=message is None and best is not None and best.feasible,
            params=None if best is None else best.params,
            constraints=() if best is None else best.constraints,
            seed=optimizer.seed,
            history=history,
            optimizer=optimizer,
        )


def minimize(
    f: Callable[[Any], Any],
    space: object,
    *,
    budget: object,
    seed: int | None = 0,
    policy: Policy | None = None,
    surrogate: Surrogate | None = None,
    noise: float | Literal["auto"] | None = None,
    constraints: int = 0,
    direction: Direction = "minimize",
    x0: Point | Iterable[Point] | None = None,
    design: int | None = None,
    executor: Executor | None = None,
    workers: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    callback: Callable[[Result], object] | None = None,
    progress: Mode = "auto",
) -> Result:
    """Spend the budget on f and return the best that was found.

    f takes a dict of parameters, or an array if the space is given as bounds, and returns a float
    or an `Outcome`. An exception, a nan or an infinity of f is a failed trial, and the run goes on.

    executor: any concurrent.futures.Executor; `workers` trials are kept in flight.
    checkpoint: a file that gets a line per event; started again with it, the run resumes. Trials
        that were in flight are then evaluated first, with the same ids and parameters. The
        settings must be the same but for the budget, which may change. seed=None takes the file's.
    callback: called with the `Result` so far after each evaluation; StopIteration ends the run.
    progress: "auto" shows a line on a terminal, True anywhere, False nowhere.
    The other arguments are those of `Optimizer`.
    """
    _check_callable(f, callback)
    in_flight = workers_of(executor, workers)
    require_sendable(f, executor)
    line = ProgressLine(progress)
    begin = partial(
        Optimizer,
        space,
        budget,
        policy=policy,
        surrogate=surrogate,
        noise=noise,
        constraints=constraints,
        direction=direction,
        design=design,
    )
    optimizer = begin(seed=seed, x0=x0)
    with ExitStack() as stack:
        file = None
        if checkpoint is not None:
            file = stack.enter_context(Checkpoint(checkpoint))
            if seed is None and file.header is not None:
                optimizer = begin(seed=file.header.get("seed"), x0=optimizer.header()["x0"])
            _resume(optimizer, file)
        stack.callback(line.close)
        stack.callback(optimizer.follow, None)
        loop = _Loop(optimizer, f, executor or Here(), in_flight, callback, line)
        return loop.run(file)


@dataclass(slots=True)
class _Loop:
    """The state of one call of minimize."""

    optimizer: Optimizer
    f: Callable[[Any], Any]
    executor: Executor
    workers: int
    callback: Callable[[Result], object] | None
    line: ProgressLine
    flying: dict[Future[Any], Trial] = field(default_factory=dict)
    kinds: set[str] = field(default_factory=set)  # of failures that were logged
    failures: int = 0  # of this session: a mended f gets another initial design
    stopped: bool = False

    def run(self, file: Checkpoint | None) -> Result:
        """Until the budget is spent, or whatever else ends the run."""
        try:
            self._spend()
        except KeyboardInterrupt:
            return self._interrupted(file)
        except CheckpointError as error:
            # The results in flight would be lost with the process: wait for them.
            self.optimizer.follow(None)
            with suppress(KeyboardInterrupt):  # whoever will not wait still gets what is known
                self._collect(wait_for_all=True)
            error.result, error.history = self._so_far(), self.optimizer.history
            raise
        except BaseException as error:
            for future in self.flying:
                future.cancel()
            if getattr(error, "result", None) is None and len(self.optimizer.history):
                error.result = self._so_far()  # type: ignore[attr-defined]
                error.add_note("Headway: what the run knew is in the `result` of this exception.")
            raise
        if self.stopped:
            return Result.of(self.optimizer, message="The callback stopped the run.")
        result = Result.of(self.optimizer)
        statuses = {record.status for record in result.history}
        if "failed" in statuses and "told" not in statuses:
            raise _every_trial_failed(self.optimizer)
        return result

    def _spend(self) -> None:
        waiting = deque(self.optimizer.pending)  # in flight when the last session ended
        self.line.update(self.optimizer)
        while True:
            while len(self.flying) < self.workers:
                trial = self._next(waiting)
                if trial is None:
                    break
                self._submit(trial)
            if not self.flying:
                return
            done = wait(self.flying, timeout=_POLL, return_when=FIRST_COMPLETED).done
            for future in sorted(done, key=lambda future: self.flying[future].id):
                self._record(future)
                del self.flying[future]  # only now: an interruption must find what is not told
                self.line.update(self.optimizer)
                self._call_back()

    def _next(self, waiting: deque[Trial]) -> Trial | None:
        """The next trial to begin, or None if there is none for now."""
        optimizer = self.optimizer
        if self.stopped or self._hopeless():
            return None
        while waiting:
            trial = waiting.popleft()
            used = ledger.spent(optimizer.history)
            if not ledger.is_overdrawn(optimizer.budget, used, seconds=optimizer.seconds):
                return trial
            optimizer.cancel(trial)
        if optimizer.done:
            return None
        try:
            return optimizer.ask()
        except (BudgetSpent, SpaceExhausted):  # time may run out between the two lines
            return None

    def _submit(self, trial: Trial) -> None:
        try:
            future = self.executor.submit(evaluate, self.f, trial.x)
        except Exception as error:
            self.optimizer.cancel(trial)
            if is_unsendable(error):
                raise unsendable(self.f, error) from error
            self._collect(wait_for_all=not isinstance(error, BrokenExecutor))
            raise ExecutorFailed(
                f"the executor takes no more trials: {type(error).__name__}: {error}. "
                f"{_first_error(self.optimizer)}{self.optimizer.message} What was recorded is in "
                f"this error's result. Start again with a new executor, and with checkpoint= "
                f"to continue.",
                result=self._so_far(),
            ) from error
        self.flying[future] = trial

    def _record(self, future: Future[Any]) -> None:
        """Tell what came of one trial."""
        trial = self.flying[future]
        try:
            report = future.result()
        except Exception as error:  # of the executor: those of f come back as a Failure
            if is_unsendable(error):
                self.optimizer.cancel(trial)
                raise unsendable(self.f, error) from error
            report = failure(error)
            if isinstance(error, BrokenExecutor):
                text = f"a worker died while this trial was in flight: {report.text}"
                report = Failure(report.kind, text, report.trace)
        if isinstance(report, Outcome):
            try:
                self.optimizer.tell(trial, report)
                return
            except TellError as error:  # constraints or a cost are missing
                report = Failure("TellError", str(error))
        if report.kind == "TellError" and not self._has_value():
            # No simulation failed: f answers in a form that none of its trials could be told in.
            raise TellError(
                f"trial {trial.id}: {report.text} Mend f and call again; with checkpoint= this "
                f"trial is then evaluated first."
            )
        self.failures += 1
        if report.kind not in self.kinds:
            self.kinds.add(report.kind)
            logger.warning(
                "trial %d failed: %s; further failures of this kind are not logged\n%s",
                trial.id,
                report.text,
                report.trace,
            )
        self.optimizer.tell(trial, failed=True, error=report.text)

    def _collect(self, *, wait_for_all: bool) -> None:
        """Tell what has finished, or all that is in flight, and begin nothing."""
        running = {trial.id for trial in self.optimizer.pending}
        for future, trial in self.flying.items():
            future.cancel()
            ready = wait_for_all or future.done()
            if future.cancelled() or not ready or trial.id not in running:
                continue
            if not isinstance(future.exception(), KeyboardInterrupt):  # Ctrl-C reaches workers too
                self._record(future)

    def _interrupted(self, file: Checkpoint | None) -> Result:
        self.optimizer.follow(None)
        self._collect(wait_for_all=False)
        try:
            if file is not None:
                file.sync(self.optimizer.events)
        except CheckpointError as error:
            error.result, error.history = self._so_far(), self.optimizer.history
            raise
        running = self.optimizer.pending
        account = self.optimizer.message
        left = f" Left in flight: {', '.join(str(t.id) for t in running)}." if running else ""
        return Result.of(self.optimizer, message=f"The run was interrupted. {account}{left}")

    def _so_far(self) -> Result:
        return Result.of(self.optimizer, message=f"The run broke off. {self.optimizer.message}")

    def _hopeless(self) -> bool:
        """Whether the initial design is over, and then some, and nothing has a value."""
        if self.failures < max(self.optimizer.settings.design, _FAILURES):
            return False
        return not self._has_value()

    def _has_value(self) -> bool:
        return any(record.status == "told" for record in self.optimizer.history)

    def _call_back(self) -> None:
        if self.callback is None or self.stopped:
            return
        message = f"The run goes on. {self.optimizer.message}"
        try:
            self.callback(Result.of(self.optimizer, message=message))
        except StopIteration:
            self.stopped = True


def _resume(optimizer: Optimizer, file: Checkpoint) -> None:
    """Take over what the file holds and write on, or begin it."""
    budget = optimizer.budget
    if file.header is None:
        file.begin(optimizer.header())
    else:
        try:
            stored = Space.from_json(file.header["space"])
            first_budget = Budget.from_json(file.header["budget"])
        except (KeyError, TypeError, ValueError) as error:
            raise CheckpointError(
                f"the first line of the checkpoint {str(file.path)!r} cannot be read: "
                f"{type(error).__name__}: {error}. Allowed: what Headway wrote. Use the unchanged "
                f"file, or another."
            ) from error
        found = optimizer.space.difference(stored)
        found = found and f"{found} (this space: this run's; the other: the file's)"
        found = found or difference(file.header, optimizer.header())
        if found is not None:
            raise CheckpointError(
                f"the checkpoint {str(file.path)!r} is of another run: {found}. Allowed: the "
                f"settings it was begun with; only the budget may change. Give those settings, "
                f"or another file."
            )
        optimizer.replay(file.events, budget=first_budget)
    optimizer.follow(file.sync)
    file.sync(optimizer.events)
    if optimizer.budget != budget:
        optimizer.extend(budget)


def _every_trial_failed(optimizer: Optimizer) -> EveryTrialFailed:
    records = [record for record in optimizer.history if record.status == "failed"]
    return EveryTrialFailed(
        f"the run stopped early: each of the first {len(records)} trials failed, so there is "
        f"nothing to go by. "
        f"{_first_error(optimizer)}Mend f, or leave out of the space where it cannot work; "
        f"what was recorded is in this error's result.",
        result=Result.of(optimizer),
    )


def _first_error(optimizer: Optimizer) -> str:
    failed = (r for r in optimizer.history.finished if r.status == "failed")
    first = next(failed, None)
    if first is None:
        return ""
    text = str(first.error).rstrip(".")
    return f"The first failure, trial {first.id} at {first.params}: {text}. "


def _check_callable(f: object, callback: object) -> None:
    for name, given in (("f", f), ("callback", callback)):
        if not callable(given) and (name == "f" or given is not None):
            raise SettingError(
                f"{name} is {given!r}, of type {type(given).__name__}. Allowed: a function of one "
                f"argument. Pass the function itself, not what it returns."
            )
