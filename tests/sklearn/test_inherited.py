"""scikit-learn's own tests of its searches and of metadata routing, run unchanged on ours.

A test of theirs applies unless it is about a grid's order, about a warning that speaks of all
candidates at once, or about what we refuse on purpose (an empty space, a value twice, several
metrics with none to optimise).
"""

from __future__ import annotations

import inspect
import itertools
import warnings

import numpy as np
import pytest

from headway.sklearn import HeadwaySearchCV

searches = pytest.importorskip("sklearn.model_selection.tests.test_search")
routing = pytest.importorskip("sklearn.tests.test_metaestimators_metadata_routing")

COMMON = {
    "scoring": None,
    "n_jobs": None,
    "refit": True,
    "cv": None,
    "verbose": 0,
    "pre_dispatch": "2*n_jobs",
    "error_score": np.nan,
    "return_train_score": False,
}


class AsGrid(HeadwaySearchCV):
    """Ours with the arguments of GridSearchCV; the budget is enough for each of their grids."""

    def __init__(
        self,
        estimator,
        param_grid,
        *,
        scoring=None,
        n_jobs=None,
        refit=True,
        cv=None,
        verbose=0,
        pre_dispatch="2*n_jobs",
        error_score=np.nan,
        return_train_score=False,
    ):
        given = {name: value for name, value in locals().items() if name in COMMON}
        super().__init__(estimator, param_grid, n_iter=100, random_state=0, **given)
        self.param_grid = param_grid


class AsRandomized(HeadwaySearchCV):
    """Ours with the arguments of RandomizedSearchCV."""

    def __init__(
        self,
        estimator,
        param_distributions,
        *,
        n_iter=10,
        scoring=None,
        n_jobs=None,
        refit=True,
        cv=None,
        verbose=0,
        pre_dispatch="2*n_jobs",
        random_state=None,
        error_score=np.nan,
        return_train_score=False,
    ):
        given = {name: value for name, value in locals().items() if name in COMMON}
        super().__init__(
            estimator, param_distributions, n_iter=n_iter, random_state=random_state, **given
        )
        self.param_distributions = param_distributions


OURS = {searches.GridSearchCV: AsGrid, searches.RandomizedSearchCV: AsRandomized}

NAMES = [
    "test_SearchCV_with_fit_params",
    "test_X_as_list",
    "test_callable_multimetric_confusion_matrix",
    "test_callable_multimetric_error_on_invalid_key",
    "test_callable_multimetric_same_as_list_of_strings",
    "test_callable_single_metric_same_as_single_string",
    "test_classes__property",
    "test_cv_results_dtype_issue_29074",
    "test_cv_results_multi_size_array",
    "test_empty_cv_iterator_error",
    "test_grid_search_allows_nans",
    "test_grid_search_error",
    "test_grid_search_failing_classifier_raise",
    "test_grid_search_groups",
    "test_grid_search_no_score",
    "test_grid_search_one_grid_point",
    "test_grid_search_pipeline_steps",
    "test_grid_search_precomputed_kernel",
    "test_grid_search_precomputed_kernel_error_nonsquare",
    "test_grid_search_score_method",
    "test_grid_search_sparse",
    "test_grid_search_sparse_scoring",
    "test_grid_search_when_param_grid_includes_range",
    "test_grid_search_with_multioutput_data",
    "test_gridsearch_nd",
    "test_gridsearch_no_predict",
    "test_multi_metric_search_forwards_metadata",
    "test_n_features_in",
    "test_no_refit",
    "test_pandas_input",
    "test_pickle",
    "test_random_search_bad_cv",
    "test_refit",
    "test_refit_callable_invalid_type",
    "test_refit_callable_out_bound",
    "test_scalar_fit_param",
    "test_scalar_fit_param_compat",
    "test_score_rejects_params_with_no_routing_enabled",
    "test_search_callbacks_receive_sample_weight",
    "test_search_cv__pairwise_property_delegated_to_base_estimator",
    "test_search_cv_pairwise_property_delegated_to_base_estimator",
    "test_search_cv_pairwise_property_equivalence_of_precomputed",
    "test_search_cv_sample_weight_equivalence",
    "test_search_cv_score_samples_error",
    "test_search_cv_score_samples_method",
    "test_search_cv_using_minimal_compatible_estimator",
    "test_search_estimator_param",
    "test_search_html_repr",
    "test_search_train_scores_set_to_false",
    "test_searchcv_raise_warning_with_non_finite_score",
    "test_stochastic_gradient_loss_param",
    "test_transform_inverse_transform_round_trip",
    "test_trivial_cv_results_attr",
    "test_unsupervised_grid_search",
    "test_y_as_list",
]


def ours(value):
    """A search of theirs, or its class, as ours."""
    if isinstance(value, type):
        return OURS.get(value, value)
    if type(value) in OURS:
        return OURS[type(value)](**value.get_params(deep=False))
    return value


def arguments(test):
    """Each combination of the test's parameters, with our searches in the place of theirs."""
    tables = []
    for mark in getattr(test, "pytestmark", []):
        if mark.name == "parametrize":
            names, rows = mark.args[:2]
            names = [n.strip() for n in names.split(",")] if isinstance(names, str) else names
            rows = [row if len(names) > 1 else (row,) for row in rows]
            tables.append([dict(zip(names, map(ours, row), strict=True)) for row in rows])
    for rows in itertools.product(*tables):
        yield {name: value for row in rows for name, value in row.items()}


@pytest.mark.parametrize("name", NAMES)
def test_of_theirs(name, monkeypatch):
    test = getattr(searches, name, None)
    if test is None:
        pytest.skip("this version of scikit-learn has no such test")
    for theirs, replacement in OURS.items():
        monkeypatch.setattr(searches, theirs.__name__, replacement)
    for given in arguments(test):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they choose their own filters
            test(**given)


ROUTING = {
    "metaestimator": HeadwaySearchCV,
    "estimator_name": "estimator",
    "estimator": "classifier",
    "init_args": {"space": {"alpha": [0.1, 0.2]}, "n_iter": 2},
    "X": routing.X,
    "y": routing.y,
    "estimator_routing_methods": ["fit"],
    "preserves_metadata": "subset",
    "scorer_name": "scoring",
    "scorer_routing_methods": ["fit", "score"],
    "cv_name": "cv",
    "cv_routing_methods": ["fit"],
}


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, test in inspect.getmembers(routing, inspect.isfunction)
        if name.startswith("test_") and "metaestimator" in inspect.signature(test).parameters
    ],
)
def test_metadata_routing(name):
    getattr(routing, name)(ROUTING)
