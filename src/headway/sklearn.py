"""HeadwaySearchCV: scikit-learn's search over parameters, proposed by a Headway optimizer.

It is scikit-learn's own `BaseSearchCV` with another way of choosing candidates, so folds, scorers,
refitting, metadata routing and `cv_results_` are scikit-learn's. A candidate is a trial, its mean
test score is the value (scores are maximised), its cost the seconds of fitting and scoring, summed
over the folds.

scikit-learn keeps no candidate of which every fit failed when it was evaluated alone: it raises.
Here such a candidate is a failed trial, and `Ledger` puts its row into the table.
"""

from __future__ import annotations

import math
import numbers
import re
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any

import numpy as np

from headway.budget import Budget
from headway.errors import BudgetSpent, EveryTrialFailed, SettingError, SpaceExhausted
from headway.optimizer import Optimizer
from headway.policy import Policy
from headway.run import Result
from headway.sklearn_space import Domain
from headway.surrogate import Surrogate
from headway.trial import Trial

try:
    from sklearn.exceptions import FitFailedWarning
    from sklearn.model_selection._search import BaseSearchCV
    from sklearn.utils import check_random_state
    from sklearn.utils._param_validation import Interval
except ImportError as error:
    raise ImportError(
        f"headway.sklearn needs scikit-learn 1.6 or later, which could not be imported ({error}). "
        f'Install it: pip install "headway[sklearn]"'
    ) from error

__all__ = ["EveryCandidateFailed", "HeadwaySearchCV"]

# As for `minimize`: so many failures and no score are not the candidates' fault.
_FAILURES = 5
_ALL_FAILED = re.compile(r"\s*All the (\d+) fits failed")  # scikit-learn's words


class EveryCandidateFailed(EveryTrialFailed, ValueError):
    """No candidate has a score; a ValueError too, as in scikit-learn's own searches."""


class HeadwaySearchCV(BaseSearchCV):  # type: ignore[misc]  # scikit-learn ships no types
    """Search over the parameters of an estimator within a budget of candidates.

    Parameters
    ----------
    estimator : estimator object
    space : dict, list of dicts, or headway.Space
        For each parameter name, ``step__name`` in a pipeline: a Headway parameter (`Real`,
        `Integer`, `Categorical`, `Ordinal`, or a pair (low, high) for a real); a list of choices,
        whatever they are (choices that are all numbers are taken in their order); or one of
        scipy's ``uniform``, ``loguniform`` and ``randint``, frozen. Of several dicts each is a
        space of its own.
    n_iter : int, timedelta or headway.Budget, default=50
        How many candidates are tried, or another budget; its ``cost`` is in seconds of fitting
        and scoring, summed over the folds.
    batch_size : int, default=1
        Candidates proposed at once. Their folds run in parallel, ``batch_size`` times the number
        of folds. Larger ones use more cores and learn later. It decides what is proposed;
        ``n_jobs`` does not.
    metric : str, default=None
        With several metrics, the one to optimise. None: the one that ``refit`` names.
    random_state : int, RandomState instance or None, default=None
        The seed. None draws one, which is then in ``optimizer_.seed``.
    policy : headway.Policy, default=None
    surrogate : headway.Surrogate, default=None
    scoring, n_jobs, refit, cv, verbose, pre_dispatch, error_score, return_train_score
        As in ``RandomizedSearchCV``. A candidate of which every fold fails is a failed trial.

    Attributes
    ----------
    optimizer_ : headway.Optimizer
        Every trial with its value, cost, error and the reason why it was proposed; also there after
        a search that broke off.
    cv_results_, best_params_, best_score_, best_index_, best_estimator_, ...
        As in ``RandomizedSearchCV``; ``cv_results_["why"]`` has the reasons too.
    """

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012  # scikit-learn's own form
        **BaseSearchCV._parameter_constraints,
        "space": "no_validation",  # `Domain.of` says more
        "n_iter": [Interval(numbers.Integral, 1, None, closed="left"), timedelta, Budget],
        "batch_size": [Interval(numbers.Integral, 1, None, closed="left")],
        "metric": [str, None],
        "random_state": ["random_state"],
        "policy": [Policy, None],
        "surrogate": [Surrogate, None],
    }

    def __init__(
        self,
        estimator: Any,
        space: Any,
        *,
        n_iter: Any = 50,
        batch_size: int = 1,
        scoring: Any = None,
        metric: str | None = None,
        n_jobs: int | None = None,
        refit: Any = True,
        cv: Any = None,
        verbose: int = 0,
        pre_dispatch: Any = "2*n_jobs",
        random_state: Any = None,
        error_score: Any = np.nan,
        return_train_score: bool = False,
        policy: Policy | None = None,
        surrogate: Surrogate | None = None,
    ) -> None:
        super().__init__(
            estimator=estimator,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,
            error_score=error_score,
            return_train_score=return_train_score,
        )
        self.space, self.n_iter, self.batch_size = space, n_iter, batch_size
        self.metric, self.random_state = metric, random_state
        self.policy, self.surrogate = policy, surrogate

    def _run_search(
        self, evaluate_candidates: Callable[..., dict[str, Any]], *, callback_ctx: Any = None
    ) -> None:
        domain = Domain.of(self.space, self.estimator)
        if isinstance(self.scoring, (list, tuple, dict, set)):  # before anything is fitted
            self._optimised({f"mean_test_{name}": None for name in self.scoring})
        seed = self.random_state
        if not isinstance(seed, numbers.Integral):
            seed = check_random_state(seed).randint(2**31 - 1)
        optimizer = Optimizer(
            domain.space,
            self.n_iter,
            seed=seed,
            policy=self.policy,
            surrogate=self.surrogate,
            direction="maximize",
        )
        self._ledger = Ledger(self.error_score)
        # Of an int, None or an iterable scikit-learn makes the same folds each time.
        folds = SameFolds(self.cv) if hasattr(self.cv, "split") else None
        try:
            with _task(self, callback_ctx, "search") as task:
                while trials := _ask(optimizer, self.batch_size):
                    candidates = [domain.candidate(trial.params) for trial in trials]
                    reasons = [str(trial.why) for trial in trials]
                    fits = 0 if task is None else len(trials) * self.n_splits_
                    with _settled(optimizer), _task(self, task, "batch", fits) as own:
                        known = {} if own is None else {"callback_ctx": own}
                        evaluate = partial(evaluate_candidates, cv=folds, **known)
                        self._evaluate(evaluate, candidates, reasons)
                        self._tell(optimizer, trials)
                    _require_hope(optimizer, self._ledger)
            self._renew_table(quiet=False)  # one warning of scores that are not finite, for all
        finally:
            self.optimizer_ = optimizer
            del self._ledger

    def _evaluate(
        self,
        evaluate_candidates: Callable[..., dict[str, Any]],
        candidates: Sequence[dict[str, Any]],
        reasons: Sequence[str],
    ) -> None:
        """Fit and score them all; their rows are then in the ledger."""
        began = time.perf_counter()
        try:
            table = evaluate_candidates(candidates, more_results={"why": reasons})
        except ValueError as error:
            fits = _ALL_FAILED.match(str(error))
            if self.error_score == "raise" or fits is None:
                raise
            folds = int(fits[1]) // len(candidates)
            seconds = (time.perf_counter() - began) / len(candidates)
            self._ledger.lose(candidates, reasons, folds, error=error, seconds=seconds)
            self._renew_table(quiet=True)
            return
        self._ledger.table = table

    def _format_results(
        self,
        candidate_params: Sequence[dict[str, Any]],
        n_splits: int,
        out: Sequence[Mapping[str, Any]],
        more_results: Mapping[str, Sequence[str]] | None = None,
    ) -> dict[str, Any]:
        """scikit-learn's table, with the rows that it lost; it is made after each batch."""
        self._ledger.keep(candidate_params, (more_results or {})["why"], out, n_splits)
        return self._table(quiet=True)

    def _table(self, *, quiet: bool) -> dict[str, Any]:
        with warnings.catch_warnings():
            if quiet:  # it is said once, when the search is over
                warnings.filterwarnings("ignore", "One or more of the", UserWarning)
            table: dict[str, Any] = super()._format_results(*self._ledger.arguments())
        return table

    def _renew_table(self, *, quiet: bool) -> None:
        """In place: `fit` goes on with the object that `evaluate_candidates` returned last."""
        if self._ledger.table is not None:
            table = self._table(quiet=quiet)
            self._ledger.table.clear()
            self._ledger.table.update(table)

    def _tell(self, optimizer: Optimizer, trials: Sequence[Trial]) -> None:
        """The mean test score of each trial, or that it failed, and its cost."""
        table, rows = self._ledger.table, self._ledger.rows
        scores = None if table is None else table[f"mean_test_{self._optimised(table)}"]
        for index, trial in enumerate(trials, len(rows) - len(trials)):
            row = rows[index]
            score = math.nan if scores is None else float(scores[index])
            if math.isfinite(score) and len(row.errors) < row.splits:
                optimizer.tell(trial, score, cost=row.seconds)
            else:
                count = f"{len(row.errors)} of {row.splits} folds failed: "
                text = count + row.errors[0] if row.errors else f"the mean test score is {score}"
                optimizer.tell(trial, failed=True, error=text, cost=row.seconds)

    def _optimised(self, table: Mapping[str, Any]) -> str:
        """The metric whose mean is maximised."""
        prefix = "mean_test_"
        names = [key.removeprefix(prefix) for key in table if key.startswith(prefix)]
        wanted = self.refit if self.metric is None else self.metric
        if names == ["score"] or (len(names) == 1 and self.metric is None):
            return names[0]
        if not isinstance(wanted, str) or wanted not in names:
            given = "refit" if self.metric is None else "metric"
            raise SettingError(
                f"{given} is {wanted!r}, and there are several metrics. Allowed: "
                f"{', '.join(map(repr, names))}. Give metric= the one to optimise."
            )
        return wanted


@dataclass(slots=True)
class SameFolds:
    """A splitter that splits once: each candidate is scored on the same folds, also where the
    splitter shuffles anew at each call, or can be called only once."""

    cv: Any
    folds: list[Any] | None = None

    def split(self, X: Any, y: Any = None, **params: Any) -> list[Any]:
        if self.folds is None:
            self.folds = list(self.cv.split(X, y, **params))
        return self.folds


@dataclass(frozen=True, slots=True)
class Row:
    """One candidate of the table."""

    params: dict[str, Any]
    why: str
    folds: Sequence[Mapping[str, Any]] | None  # scikit-learn's own records; None: it kept none
    errors: tuple[str, ...]  # of the folds that failed, the last line of each
    splits: int  # how many folds there are
    seconds: float  # of all folds


@dataclass(slots=True)
class Ledger:
    """Every candidate of a search in the order of its trials."""

    error_score: Any
    rows: list[Row] = field(default_factory=list)
    table: dict[str, Any] | None = None  # the newest one, None before there is any

    def keep(
        self,
        candidates: Sequence[dict[str, Any]],
        reasons: Sequence[str],
        out: Sequence[Mapping[str, Any]],
        n_splits: int,
    ) -> None:
        """Take over the candidates that are new in scikit-learn's lists."""
        known = sum(row.folds is not None for row in self.rows)
        for i in range(known, len(candidates)):
            folds = out[i * n_splits : (i + 1) * n_splits]
            errors = tuple(_last_line(f["fit_error"]) for f in folds if f["fit_error"] is not None)
            seconds = math.fsum(f["fit_time"] + f["score_time"] for f in folds)
            self.rows.append(Row(candidates[i], reasons[i], folds, errors, n_splits, seconds))

    def lose(
        self,
        candidates: Sequence[dict[str, Any]],
        reasons: Sequence[str],
        n_splits: int,
        *,
        error: ValueError,
        seconds: float,  # of each candidate
    ) -> None:
        """Note a batch of which every fit failed, and warn as scikit-learn does."""
        line = _last_line(str(error))
        self.rows += [
            Row(params, why, None, (line,) * n_splits, n_splits, seconds)
            for params, why in zip(candidates, reasons, strict=True)
        ]
        warnings.warn(
            f"all {n_splits} fits failed for {', '.join(map(str, candidates))}: {line}. The score "
            f"is set to {self.error_score} and the search goes on; error_score='raise' stops it.",
            FitFailedWarning,
            stacklevel=2,
        )

    def arguments(self) -> tuple[Any, ...]:
        """What scikit-learn makes its table of, every row in its place."""
        like = next(row.folds for row in self.rows if row.folds is not None)[0]
        out: list[Mapping[str, Any]] = []
        for row in self.rows:
            lost = _lost_fold(like, self.error_score, row.seconds / row.splits)
            out += [lost] * row.splits if row.folds is None else row.folds
        params, whys = [row.params for row in self.rows], [row.why for row in self.rows]
        return params, self.rows[0].splits, out, {"why": whys}


def _lost_fold(like: Mapping[str, Any], error_score: Any, seconds: float) -> dict[str, Any]:
    """A fold's record in the form of another one, for a fit that failed."""
    fold = {**like, "fit_time": seconds, "score_time": 0.0}
    for scores in ("test_scores", "train_scores"):
        if scores in fold:
            several = isinstance(fold[scores], Mapping)
            fold[scores] = dict.fromkeys(fold[scores], error_score) if several else error_score
    return fold


def _last_line(text: str) -> str:
    """Of a traceback: the error itself."""
    return text.strip().rpartition("\n")[2].rstrip(".")


def _ask(optimizer: Optimizer, count: int) -> list[Trial]:
    """The next trials; none where the budget is spent or the space is looked at whole."""
    if optimizer.done:
        return []
    try:
        return optimizer.ask(count)
    except (BudgetSpent, SpaceExhausted):  # time may run out between the two lines
        return []


def _require_hope(optimizer: Optimizer, ledger: Ledger) -> None:
    """Stop where the initial design is over, and then some, and nothing has a score."""
    records = optimizer.history.records
    enough = len(records) >= max(optimizer.settings.design, _FAILURES) or optimizer.done
    if not enough or any(record.status == "told" for record in records):
        return
    raise EveryCandidateFailed(
        f"each of the first {len(records)} candidates failed, so there is nothing to go by. The "
        f"first, {ledger.rows[0].params}: {records[0].error}. Mend the estimator or the space; "
        f"error_score='raise' shows where it fails.",
        result=Result.of(optimizer),
    )


@contextmanager
def _settled(optimizer: Optimizer) -> Iterator[None]:
    """See that nothing stays in flight when an exception ends the search."""
    try:
        yield
    except BaseException as error:
        for trial in optimizer.pending:
            if isinstance(error, Exception):
                optimizer.tell(trial, failed=True, error=f"{type(error).__name__}: {error}")
            else:  # Ctrl-C says nothing of the candidate
                optimizer.cancel(trial)
        raise


@contextmanager
def _task(search: Any, parent: Any, name: str, parts: int | None = None) -> Iterator[Any]:
    """A task of scikit-learn's callbacks (1.9 and later) with parts that run in parallel, or one
    with parts that are not counted yet; None where there are no callbacks."""
    if parent is None:
        yield None
        return
    task = parent.subcontext(name, max_subtasks=parts, sequential_subtasks=parts is None)
    task = task.call_on_fit_task_begin(estimator=search)
    yield task
    task.call_on_fit_task_end(estimator=search)
