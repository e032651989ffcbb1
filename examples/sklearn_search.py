"""HeadwaySearchCV beside RandomizedSearchCV, HalvingRandomSearchCV and Optuna's OptunaSearchCV.

Each search gets the same number of fits: 40 candidates of 3 folds (halving begins with 27 on part
of the data and ends with 1 on all of it, 40 in all). What it chose is then scored on the same folds
of the same data. Optuna's search takes part where `optuna-integration` and `pandas` are installed.

    python examples/sklearn_search.py             all tasks, 5 seeds: some minutes
    python examples/sklearn_search.py --seeds 10
    python examples/sklearn_search.py --quick     one small task, to see that it runs
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy.stats import loguniform, randint, uniform
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_breast_cancer, load_diabetes, make_friedman1
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import (
    HalvingRandomSearchCV,
    KFold,
    RandomizedSearchCV,
    cross_val_score,
)
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from headway.sklearn import HeadwaySearchCV

CANDIDATES, FIRST_RUNG, FACTOR = 40, 27, 3  # 27 + 9 + 3 + 1 = 40


@dataclass(frozen=True)
class Task:
    """An estimator, its space, and the data; the scores are better the larger they are."""

    name: str
    estimator: BaseEstimator
    space: dict[str, Any]
    data: Callable[[], tuple[np.ndarray, np.ndarray]]
    scoring: str


TASKS = (
    Task(
        "support vector regression, diabetes, 3 parameters",
        Pipeline([("scale", StandardScaler()), ("model", SVR())]),
        {
            "model__C": loguniform(1e-1, 1e4),
            "model__gamma": loguniform(1e-5, 1e1),
            "model__epsilon": loguniform(1e-1, 1e2),
        },
        lambda: load_diabetes(return_X_y=True),
        "r2",
    ),
    Task(
        "gradient boosting, Friedman's function, 6 parameters",
        GradientBoostingRegressor(random_state=0),
        {
            "learning_rate": loguniform(1e-3, 1.0),
            "n_estimators": randint(10, 201),
            "max_depth": randint(1, 9),
            "subsample": uniform(0.3, 0.7),
            "min_samples_leaf": randint(1, 31),
            "max_features": uniform(0.2, 0.8),
        },
        lambda: make_friedman1(250, 10, noise=1.0, random_state=0),
        "r2",
    ),
    Task(
        "support vector classifier with a choice of kernel, breast cancer, 4 parameters",
        Pipeline([("scale", StandardScaler()), ("model", SVC(max_iter=20_000))]),
        {
            "model__kernel": ["rbf", "poly", "sigmoid"],
            "model__C": loguniform(1e-3, 1e3),
            "model__gamma": loguniform(1e-5, 1e1),
            "model__degree": [2, 3, 4, 5],
        },
        lambda: load_breast_cancer(return_X_y=True),
        "accuracy",
    ),
)


def headway_search(task: Task, cv: KFold, seed: int) -> Any:
    return HeadwaySearchCV(
        task.estimator,
        task.space,
        n_iter=CANDIDATES,
        scoring=task.scoring,
        cv=cv,
        random_state=seed,
        refit=False,
    )


def randomized_search(task: Task, cv: KFold, seed: int) -> Any:
    return RandomizedSearchCV(
        task.estimator,
        task.space,
        n_iter=CANDIDATES,
        scoring=task.scoring,
        cv=cv,
        random_state=seed,
        refit=False,
    )


def halving_search(task: Task, cv: KFold, seed: int) -> Any:
    return HalvingRandomSearchCV(
        task.estimator,
        task.space,
        n_candidates=FIRST_RUNG,
        factor=FACTOR,
        min_resources="exhaust",
        scoring=task.scoring,
        cv=cv,
        random_state=seed,
        refit=False,
    )


def optuna_search(task: Task, cv: KFold, seed: int) -> Any:
    import optuna
    from optuna_integration import OptunaSearchCV

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return OptunaSearchCV(
        task.estimator,
        {name: optuna_distribution(entry) for name, entry in task.space.items()},
        n_trials=CANDIDATES,
        scoring=task.scoring,
        cv=cv,
        random_state=seed,
        refit=False,
    )


def optuna_distribution(entry: Any) -> Any:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if isinstance(entry, list):
        return CategoricalDistribution(entry)
    low, high = entry.support()
    if entry.dist.name == "randint":
        return IntDistribution(int(low), int(high))
    return FloatDistribution(float(low), float(high), log=entry.dist.name != "uniform")


SEARCHES = {
    "Headway": headway_search,
    "RandomizedSearchCV": randomized_search,
    "HalvingRandomSearchCV": halving_search,
}
if find_spec("optuna_integration") and find_spec("pandas"):
    SEARCHES["OptunaSearchCV"] = optuna_search


def compare(task: Task, seeds: int) -> None:
    X, y = task.data()
    scores: dict[str, list[float]] = {name: [] for name in SEARCHES}
    seconds = dict.fromkeys(SEARCHES, 0.0)
    for seed in range(seeds):
        cv = KFold(3, shuffle=True, random_state=seed)
        for name, make in SEARCHES.items():
            began = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # SVC's limit of iterations, Optuna's experiments
                search = make(task, cv, seed).fit(X, y)
            seconds[name] += time.perf_counter() - began
            chosen = clone(task.estimator).set_params(**search.best_params_)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = cross_val_score(chosen, X, y, cv=cv, scoring=task.scoring)
            scores[name].append(float(np.mean(found)))
    report(task, scores, seconds)


def report(task: Task, scores: dict[str, list[float]], seconds: dict[str, float]) -> None:
    """Means and every seed's score; wins, ties and losses of Headway over the seeds."""
    ours = np.array(scores["Headway"])
    seeds = len(ours)
    print(f"\n{task.name}: {task.scoring}, the larger the better")
    print(f"{'':23}{'mean':>8}  {'won-lost':>9}  {'s/search':>8}  each seed")
    for name, found in scores.items():
        theirs = np.array(found)
        won, lost = np.sum(ours > theirs + 1e-12), np.sum(ours < theirs - 1e-12)
        record = "" if name == "Headway" else f"{won}-{lost}"
        each = " ".join(f"{score:.4f}" for score in found)
        mean, took = theirs.mean(), seconds[name] / seeds
        print(f"{name:23}{mean:8.4f}  {record:>9}  {took:8.1f}  {each}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="the first task, one seed")
    given = parser.parse_args()
    for task in TASKS[:1] if given.quick else TASKS:
        compare(task, 1 if given.quick else given.seeds)


if __name__ == "__main__":
    main()
