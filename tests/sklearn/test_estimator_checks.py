"""scikit-learn's own checks of estimators, on such instances as its own searches are checked with.

`RandomizedSearchCV` is excused from two of them (`_test_common/instance_generator.py`); here the
same two are excused where they fail, and nothing else.
"""

from __future__ import annotations

from sklearn.base import is_regressor
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import Pipeline
from sklearn.utils._testing import ignore_warnings
from sklearn.utils.estimator_checks import parametrize_with_checks

import headway
from headway.sklearn import HeadwaySearchCV

SETTINGS = {"cv": 2, "n_iter": 3, "error_score": "raise", "random_state": 0}


def excused(search):
    excuses = {"check_requires_y_none": "Doesn't fail gracefully"}
    if is_regressor(search):
        excuses["check_supervised_y_2d"] = "DataConversionWarning not caught"
    return excuses


def pipeline(name, estimator):
    return Pipeline([("pca", PCA()), (name, estimator)])


SEARCHES = [
    HeadwaySearchCV(Ridge(), {"alpha": [0.1, 1.0]}, **SETTINGS),
    HeadwaySearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, **SETTINGS),
    HeadwaySearchCV(pipeline("ridge", Ridge()), {"ridge__alpha": [0.1, 1.0]}, **SETTINGS),
    HeadwaySearchCV(
        pipeline("logistic", LogisticRegression()),
        {"logistic__C": headway.Real(0.1, 1.0, log=True)},
        batch_size=2,
        **SETTINGS,
    ),
]


@parametrize_with_checks(SEARCHES, expected_failed_checks=excused)
def test_scikit_learn_s_checks(estimator, check):
    # A check gives infinite values on purpose, and numpy warns of casting them.
    ignored = (FutureWarning, ConvergenceWarning, UserWarning, RuntimeWarning)
    with ignore_warnings(category=ignored):
        check(estimator)
