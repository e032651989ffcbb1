"""HeadwaySearchCV as its user sees it."""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings
from datetime import timedelta

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_classification
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.model_selection import KFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC

import headway
from headway.errors import SettingError, SpaceError
from headway.sklearn import EveryCandidateFailed, HeadwaySearchCV

X, y = make_classification(60, 4, random_state=0)
SPACE = {"C": headway.Real(1e-2, 1e2, log=True), "gamma": headway.Real(1e-3, 10, log=True)}


class Landscape(ClassifierMixin, BaseEstimator):
    """Scores what `x` says, costs nothing; fails where it is told to."""

    def __init__(self, x=0.0, fails=False, breaks_off=False):
        self.x = x
        self.fails = fails
        self.breaks_off = breaks_off

    def fit(self, X, y):
        if self.breaks_off:
            raise KeyboardInterrupt
        if self.fails is True or (self.fails == "first fold" and 0 not in X[:, 0]):
            raise RuntimeError(f"no fit at {self.x:.3f}")
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])

    def score(self, X, y):
        return 1.0 - (self.x - 0.7) ** 2


NUMBERS = np.arange(8.0)[:, None], np.array([0, 1] * 4)


def search(space=None, **settings):
    settings = {"n_iter": 8, "cv": 2, "random_state": 0} | settings
    return HeadwaySearchCV(Landscape(), space or {"x": (0.0, 1.0)}, **settings)


def trials(fitted):
    """Everything of the trials but the time."""
    return [(r.params, r.status, r.value, str(r.why)) for r in fitted.optimizer_.history]


def test_a_pipeline_is_searched_and_refitted():
    pipe = Pipeline([("scale", StandardScaler()), ("model", SVC())])
    space = {f"model__{name}": parameter for name, parameter in SPACE.items()}
    space["scale"] = [StandardScaler(), MinMaxScaler(), "passthrough"]
    fitted = HeadwaySearchCV(pipe, space, n_iter=8, cv=3, random_state=0).fit(X, y)
    table = fitted.cv_results_
    assert len(table["params"]) == 8
    assert table["params"][fitted.best_index_] == fitted.best_params_
    assert fitted.best_score_ == table["mean_test_score"].max()
    assert fitted.best_estimator_.get_params()["model__C"] == fitted.best_params_["model__C"]
    assert fitted.score(X, y) == accuracy_score(y, fitted.predict(X))
    assert {"param_scale", "split2_test_score", "std_test_score", "mean_fit_time"} <= table.keys()
    assert set(fitted.best_params_) == set(space)


def test_the_optimizer_holds_the_same_as_the_table():
    fitted = search().fit(*NUMBERS)
    records = fitted.optimizer_.history.records
    assert [r.params for r in records] == fitted.cv_results_["params"]
    assert [r.value for r in records] == fitted.cv_results_["mean_test_score"].tolist()
    assert [str(r.why) for r in records] == fitted.cv_results_["why"].tolist()
    assert fitted.optimizer_.best.params == fitted.best_params_
    seconds = 2 * (fitted.cv_results_["mean_fit_time"] + fitted.cv_results_["mean_score_time"])
    assert [r.cost for r in records] == pytest.approx(seconds)
    assert headway.Optimizer.from_json(fitted.optimizer_.to_json()).done


def test_scores_are_maximised():
    fitted = search(n_iter=14).fit(*NUMBERS)
    assert fitted.best_params_["x"] == pytest.approx(0.7, abs=0.02)


@pytest.mark.parametrize("batch_size", [1, 3])
def test_jobs_change_nothing(batch_size):
    given = {"n_iter": 7, "cv": 2, "random_state": 3, "batch_size": batch_size}
    alone = HeadwaySearchCV(SVC(), SPACE, **given).fit(X, y)
    two = HeadwaySearchCV(SVC(), SPACE, n_jobs=2, **given).fit(X, y)
    assert trials(alone) == trials(two)


def test_a_batch_is_proposed_at_once():
    one, three = search(random_state=1).fit(*NUMBERS), search(batch_size=3).fit(*NUMBERS)
    asked = [record.asked_at for record in three.optimizer_.history]
    ended = [record.ended_at for record in three.optimizer_.history]
    assert asked[2] < ended[0] <= asked[3]
    assert len(three.cv_results_["params"]) == len(one.cv_results_["params"]) == 8


@pytest.mark.parametrize("state", [5, np.int64(5), lambda: np.random.RandomState(5)])
def test_the_same_state_gives_the_same_search(state):
    first, second = (
        search(random_state=state() if callable(state) else state).fit(*NUMBERS) for _ in range(2)
    )
    assert trials(first) == trials(second)


def test_without_a_state_the_seed_is_drawn_and_kept():
    first = search(random_state=None).fit(*NUMBERS)
    assert trials(search(random_state=first.optimizer_.seed).fit(*NUMBERS)) == trials(first)
    assert trials(search(random_state=None).fit(*NUMBERS)) != trials(first)


def test_a_space_is_looked_at_once():
    fitted = search({"x": [0.1, 0.2, 0.3]}, n_iter=50).fit(*NUMBERS)
    assert sorted(p["x"] for p in fitted.cv_results_["params"]) == [0.1, 0.2, 0.3]


def test_policy_and_surrogate_are_the_optimizer_s():
    policy, surrogate = headway.Policy.ei(), headway.Surrogate(kernel="rbf")
    fitted = search(policy=policy, surrogate=surrogate, n_iter=3).fit(*NUMBERS)
    assert fitted.optimizer_.settings.policy == policy
    assert fitted.optimizer_.settings.surrogate == surrogate


# Candidates that fail

HALF = {"x": (0.0, 1.0), "fails": [False, True]}


def rows(fitted):
    """Whether each candidate was to fail, its mean score, and its trial."""
    table = fitted.cv_results_
    return list(
        zip(table["param_fails"], table["mean_test_score"], fitted.optimizer_.history, strict=True)
    )


@pytest.mark.parametrize("batch_size", [1, 3])
@pytest.mark.parametrize("error_score", [np.nan, -5.0])
@pytest.mark.parametrize("seed", range(3))
def test_a_candidate_whose_folds_fail_is_a_failed_trial(batch_size, error_score, seed):
    given = {"batch_size": batch_size, "error_score": error_score, "random_state": seed}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted = search(HALF, return_train_score=True, **given).fit(*NUMBERS)
    found = rows(fitted)
    assert {fails for fails, _, _ in found} == {False, True}
    for fails, score, record in found:
        assert record.params["fails"] == fails
        if fails:
            assert record.status == "failed"
            error = f"RuntimeError: no fit at {record.params['x']:.3f}"
            assert record.error == f"2 of 2 folds failed: {error}"
            assert record.cost > 0
            np.testing.assert_equal(score, error_score)
        else:
            assert record.value == score
    table = fitted.cv_results_
    assert {len(column) for column in table.values()} == {8}
    assert np.all(table["mean_fit_time"] > 0)
    np.testing.assert_equal(table["mean_train_score"], table["mean_test_score"])
    assert not fitted.best_params_["fails"]
    assert any(issubclass(w.category, FitFailedWarning) for w in caught)
    # Not once for every batch.
    assert sum("non-finite" in str(w.message) for w in caught) == 2 * np.isnan(error_score)


def test_failures_before_the_first_score_and_after_the_last():
    fitted, seeds = [], iter(range(100))
    wanted = {(True, False), (False, True)}  # what the first and the last candidate do
    while wanted and (seed := next(seeds)) is not None:
        with pytest.warns(FitFailedWarning), warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            warnings.simplefilter("always", FitFailedWarning)
            # No model: the space is small, so that its end is as random as its beginning.
            space = {"x": [0.1, 0.4, 0.8], "fails": [False, True]}
            fitted.append(search(space, random_state=seed, n_iter=6).fit(*NUMBERS))
        found = [fails for fails, _, _ in rows(fitted[-1])]
        assert sorted(found) == [False] * 3 + [True] * 3
        assert np.isnan(fitted[-1].cv_results_["mean_test_score"]).tolist() == found
        wanted.discard((found[0], found[-1]))


def test_several_metrics_of_a_candidate_that_fails():
    with pytest.warns(FitFailedWarning), pytest.warns(UserWarning, match="non-finite"):
        fitted = search(HALF, scoring=["accuracy", "balanced_accuracy"], refit="accuracy").fit(
            *NUMBERS
        )
    for name in ("accuracy", "balanced_accuracy"):
        scores = fitted.cv_results_[f"mean_test_{name}"]
        assert np.isnan(scores).tolist() == fitted.cv_results_["param_fails"].tolist()


def test_one_fold_that_fails():
    space = {"x": (0.0, 1.0), "fails": [False, "first fold"]}
    with pytest.warns(FitFailedWarning), pytest.warns(UserWarning, match="non-finite"):
        fitted = search(space, cv=KFold(2)).fit(*NUMBERS)
    for fails, _, record in rows(fitted):
        assert record.status == ("failed" if fails else "told")
        assert not fails or record.error.startswith("1 of 2 folds failed: RuntimeError: no fit at")
    with pytest.warns(FitFailedWarning):
        fitted = search(space, cv=KFold(2), error_score=0.25).fit(*NUMBERS)
    for fails, score, record in rows(fitted):
        expected = 1 - (record.params["x"] - 0.7) ** 2
        assert score == record.value == pytest.approx((expected + 0.25) / 2 if fails else expected)


def test_every_candidate_fails():
    with (
        pytest.warns(FitFailedWarning),
        pytest.raises(
            EveryCandidateFailed,
            match=r"each of the first 5 candidates failed, .* The first, \{'x': 0\.\d+, "
            r"'fails': True\}: 2 of 2 folds failed: RuntimeError: no fit at 0\.\d+\. Mend the est",
        ) as caught,
    ):
        search({"x": (0.0, 1.0), "fails": [True]}).fit(*NUMBERS)
    assert isinstance(caught.value, ValueError)  # as scikit-learn's
    assert isinstance(caught.value, headway.EveryTrialFailed)
    assert caught.value.result.nfev == 5


def test_scores_that_are_never_finite():
    with pytest.raises(EveryCandidateFailed, match=r"the mean test score is nan\. Mend the est"):
        search(scoring=lambda estimator, X, y: np.nan).fit(*NUMBERS)


def test_an_error_that_is_to_be_raised_leaves_nothing_in_flight():
    broken = search(HALF, error_score="raise")
    with pytest.raises(RuntimeError, match="no fit at"):
        broken.fit(*NUMBERS)
    history = broken.optimizer_.history
    assert [r.status for r in history][-1] == "failed"
    assert history.records[-1].error.startswith("RuntimeError: no fit at")
    assert not history.running


def test_ctrl_c_keeps_what_was_told():
    space = {"x": [0.1, 0.2, 0.3], "breaks_off": [False, True]}
    broken = search(space, random_state=1)
    with pytest.raises(KeyboardInterrupt):
        broken.fit(*NUMBERS)
    statuses = [r.status for r in broken.optimizer_.history]
    assert statuses[-1] == "cancelled"
    assert set(statuses[:-1]) == {"told"}


# Metrics


def test_the_metric_that_refit_names_is_optimised():
    scoring = {"up": lambda e, X, y: e.x, "down": lambda e, X, y: -e.x}
    for name, best in (("up", 1.0), ("down", 0.0)):
        fitted = search(scoring=scoring, refit=name, n_iter=12).fit(*NUMBERS)
        assert fitted.best_params_["x"] == pytest.approx(best, abs=0.05)
        assert fitted.best_score_ == fitted.cv_results_[f"mean_test_{name}"].max()
        assert fitted.optimizer_.best.value == fitted.best_score_


@pytest.mark.parametrize("refit", [False, lambda table: 0, "up"])
def test_the_metric_can_be_another_than_refit_s(refit):
    scoring = {"up": lambda e, X, y: e.x, "down": lambda e, X, y: -e.x}
    fitted = search(scoring=scoring, refit=refit, metric="down", n_iter=12).fit(*NUMBERS)
    assert fitted.optimizer_.best.params["x"] == pytest.approx(0.0, abs=0.05)
    assert hasattr(fitted, "best_estimator_") == (refit is not False)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"refit": False}, r"refit is False, and there are several metrics\. Allowed: 'a', 'b'\."),
        ({"refit": "a", "metric": "c"}, r"metric is 'c', .* Give metric= the one to optimise"),
    ],
)
def test_without_a_metric_nothing_is_fitted(given, text):
    scoring = {"a": "accuracy", "b": "balanced_accuracy"}
    broken = search({"x": (0.0, 1.0), "breaks_off": [True]}, scoring=scoring, **given)
    with pytest.raises(SettingError, match=text):
        broken.fit(*NUMBERS)


def test_metrics_of_a_function_are_known_when_it_was_called():
    def scores(estimator, X, y):
        return {"a": estimator.x, "b": 0.0}

    with pytest.raises(SettingError, match=r"metric is None|refit is False"):
        search(scoring=scores, refit=False).fit(*NUMBERS)
    fitted = search(scoring=scores, refit="a", n_iter=12).fit(*NUMBERS)
    assert fitted.best_params_["x"] == pytest.approx(1.0, abs=0.05)


# Folds and budgets


def test_folds_are_the_same_for_every_candidate():
    class Seen(Landscape):
        folds = []  # noqa: RUF012

        def fit(self, X, y):
            type(self).folds.append(X[:, 0].tolist())
            return super().fit(X, y)

    given = {"n_iter": 4, "cv": KFold(2, shuffle=True), "random_state": 0, "refit": False}
    HeadwaySearchCV(Seen(), {"x": (0.0, 1.0)}, **given).fit(*NUMBERS)
    assert len(Seen.folds) == 8
    assert len({tuple(fold) for fold in Seen.folds}) == 2


def test_folds_that_can_be_had_once():
    class Once:
        left = 1

        def split(self, X, y=None, groups=None):
            self.left -= 1
            return KFold(2).split(X) if self.left == 0 else iter(())

        def get_n_splits(self, X=None, y=None, groups=None):
            return 2

    assert len(search(cv=Once()).fit(*NUMBERS).cv_results_["params"]) == 8


def test_a_budget_of_fitting_time():
    class Slow(Landscape):
        def fit(self, X, y):
            import time

            time.sleep(0.02)
            return super().fit(X, y)

    budget = headway.Budget(cost=0.2)  # 5 candidates of two folds, or 4 on a slow machine
    fitted = HeadwaySearchCV(Slow(), {"x": (0.0, 1.0)}, n_iter=budget, cv=2, random_state=0).fit(
        *NUMBERS
    )
    assert 1 <= len(fitted.cv_results_["params"]) <= 5
    assert sum(r.cost for r in fitted.optimizer_.history) >= 0.2


def test_a_budget_of_time():
    fitted = search(n_iter=timedelta(seconds=0.5)).fit(*NUMBERS)
    assert fitted.optimizer_.budget == headway.Budget(seconds=0.5)
    assert len(fitted.cv_results_["params"]) >= 1


# Bad input, and what surrounds a search


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"n_iter": 0}, "The 'n_iter' parameter of HeadwaySearchCV must be"),
        ({"batch_size": 0}, "The 'batch_size' parameter of HeadwaySearchCV must be an int in the"),
        ({"policy": "ei"}, "The 'policy' parameter of HeadwaySearchCV must be"),
        ({"random_state": -1}, "The 'random_state' parameter"),
    ],
)
def test_bad_settings(given, text):
    with pytest.raises(ValueError, match=text):
        search(**given).fit(*NUMBERS)


def test_a_space_of_another_estimator():
    with pytest.raises(SpaceError, match=r"names 'alpha', which is no parameter of SVC\. Allowed"):
        HeadwaySearchCV(SVC(), {"alpha": (0.0, 1.0)}).fit(X, y)


def test_it_can_be_cloned_copied_and_printed():
    given = search(HALF, policy=headway.Policy.ei(), n_iter=headway.Budget(evaluations=4))
    again = clone(given)
    assert again.get_params()["policy"] == given.policy
    assert "Policy" in repr(given)
    fitted = search().fit(*NUMBERS)
    loaded = pickle.loads(pickle.dumps(fitted))
    assert trials(loaded) == trials(fitted)
    assert loaded.predict(NUMBERS[0]).tolist() == fitted.predict(NUMBERS[0]).tolist()


def test_a_search_within_a_search():
    from sklearn.model_selection import cross_val_score

    nested = HeadwaySearchCV(
        LogisticRegression(), {"C": headway.Real(0.1, 10, log=True)}, n_iter=3, cv=2
    )
    assert len(cross_val_score(nested, X, y, cv=2)) == 2


@pytest.mark.skipif(
    tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 9), reason="callbacks came with 1.9"
)
def test_callbacks_hear_of_each_batch():
    from sklearn.callback.tests._utils import RecordingCallback

    recorder = RecordingCallback()
    search(n_iter=5, batch_size=2).set_callbacks(recorder).fit(*NUMBERS)
    # the search, its two parts, three batches and ten fits
    assert recorder.count_hooks("on_fit_task_begin") == 1 + 2 + 3 + 10
    assert recorder.count_hooks("on_fit_task_end") == 1 + 2 + 3 + 10


def test_without_scikit_learn_the_error_names_the_extra():
    code = (
        "import sys\nsys.modules['sklearn'] = None\nimport headway\n"
        "try:\n    headway.sklearn\nexcept ImportError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 'pip install "headway[sklearn]"' in done.stdout
