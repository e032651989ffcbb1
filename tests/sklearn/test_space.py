"""Spaces as scikit-learn's users write them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC

import headway
from headway.errors import SpaceError
from headway.sklearn_space import Domain


def only(entry):
    """The parameter that an entry becomes."""
    return Domain.of({"C": entry}, SVC()).space.parameters[0]


@pytest.mark.parametrize(
    ("entry", "parameter"),
    [
        (headway.Real(1, 2), headway.Real(1, 2)),
        ((0.5, 2.5), headway.Real(0.5, 2.5)),
        (stats.uniform(2, 3), headway.Real(2, 5)),
        (stats.uniform(loc=2, scale=3), headway.Real(2, 5)),
        (stats.loguniform(1e-3, 1e2), headway.Real(1e-3, 1e2, log=True)),
        (stats.reciprocal(1e-3, 1e2), headway.Real(1e-3, 1e2, log=True)),
        (stats.loguniform(1e-3, 1e2, scale=10), headway.Real(1e-2, 1e3, log=True)),
        (stats.randint(1, 9), headway.Integer(1, 8)),
        (stats.randint(1, 9, loc=2), headway.Integer(3, 10)),
        (stats.randint(4, 5), headway.Ordinal([4])),
        ([10, 1, 100], headway.Ordinal([1, 10, 100])),
        (range(3), headway.Ordinal([0, 1, 2])),
        (np.logspace(0, 2, 3), headway.Ordinal([1.0, 10.0, 100.0])),
        (["rbf", "poly"], headway.Categorical(["rbf", "poly"])),
        (("rbf", "poly"), headway.Categorical(["rbf", "poly"])),
        ([True, False], headway.Categorical([True, False])),
        ([None, 3], headway.Categorical([None, 3])),
        ([1.0], headway.Ordinal([1.0])),
    ],
)
def test_each_entry_has_its_parameter(entry, parameter):
    assert only(entry) == parameter


def test_objects_go_by_name_and_come_back():
    choices = [(50,), (50, 50)]
    domain = Domain.of({"hidden_layer_sizes": choices}, MLPClassifier())
    assert domain.space.parameters[0] == headway.Categorical(["(50,)", "(50, 50)"])
    back = domain.candidate({"hidden_layer_sizes": "(50, 50)"})
    assert back["hidden_layer_sizes"] is choices[1]


def test_objects_of_one_name_are_told_apart_and_keep_it_from_run_to_run():
    def kernel(a, b):
        return a @ b.T

    def other(a, b):
        return 2 * a @ b.T

    other.__name__ = "kernel"
    domain = Domain.of({"kernel": ["rbf", kernel, other]}, SVC())
    assert domain.space.parameters[0] == headway.Categorical(["rbf", "kernel", "kernel #2"])
    assert domain.candidate({"kernel": "kernel #2"})["kernel"] is other


def test_a_number_comes_back_as_the_object_that_was_given():
    domain = Domain.of({"C": np.array([3, 1], dtype=np.int32)}, SVC())
    assert isinstance(domain.candidate({"C": 3})["C"], np.int32)


def test_true_one_and_a_float_are_three_choices():
    domain = Domain.of({"shrinking": [True, 1, 1.0, "1"]}, SVC())
    back = [domain.candidate({"shrinking": v})["shrinking"] for v in (True, 1, 1.0, "1")]
    assert [type(v) for v in back] == [bool, int, float, str]


def test_of_several_dicts_each_is_a_space_of_its_own():
    domain = Domain.of(
        [
            {"kernel": ["linear"], "C": (0.1, 1.0)},
            {"kernel": ["rbf", "poly"], "gamma": headway.Real(1, 2, when=("kernel", "rbf"))},
        ],
        SVC(),
    )
    rng = np.random.default_rng(0)
    found = [
        domain.candidate(domain.space.decode(z))
        for z in domain.space.from_unit(rng.random((50, domain.space.d)))
    ]
    assert {(c["kernel"], *sorted(c.keys() - {"kernel"})) for c in found} == {
        ("linear", "C"),
        ("rbf", "gamma"),
        ("poly",),
    }


def test_parameters_of_an_estimator_that_is_itself_a_choice():
    pipe = Pipeline([("reduce", PCA()), ("model", LogisticRegression())])
    Domain.of({"model": [SVC(), RandomForestClassifier()], "model__max_depth": [2, 3]}, pipe)
    with pytest.raises(SpaceError, match=r"names 'model__max_depth', which is no parameter of"):
        Domain.of({"model": [SVC()], "model__max_depth": [2, 3]}, pipe)


def test_an_estimator_that_names_only_what_was_set():
    class Reticent:
        """As CatBoost's: `get_params` is empty at first, `set_params` takes anything."""

        def __init__(self):
            self.given = {}

        def get_params(self, deep=True):
            return dict(self.given)

        def set_params(self, **params):
            self.given |= params
            return self

    reticent = Reticent()
    assert Domain.of({"depth": [1, 2]}, reticent).space.names == ("depth",)
    assert reticent.given == {}


@pytest.mark.parametrize(
    ("space", "text"),
    [
        (
            {"gama": [1, 2]},
            r"the space names 'gama', which is no parameter of SVC\. Allowed: C, break_ties, "
            r".*, verbose\. Did you mean 'gamma'\?$",
        ),
        ({}, r"the space is \{\}\. Allowed: a dict of parameter names"),
        ([], r"the space is \[\]"),
        ([{"C": [1]}, {}], r"Give at least one parameter"),
        (None, r"the space is None"),
        ({"C": 3}, r"parameter 'C' is 3, of type int\. Allowed: .* For a constant, set it in the"),
        ({"C": "rbf"}, r"parameter 'C' is 'rbf', of type str"),
        ({"C": []}, r"parameter 'C': the list of choices is empty"),
        ({"C": {1, 2}}, r"parameter 'C': \{1, 2\} is a set, whose order changes"),
        ({"C": [1, 1]}, r"parameter 'C': Ordinal: values = \[1, 1\] has 1 twice"),
        ({"C": (2.0, 1.0)}, r"parameter 'C': Real: low = 2\.0 must be less than high = 1\.0"),
        (
            {"C": stats.norm(0, 1)},
            r"parameter 'C': the distribution 'norm' is not uniform, .* headway\.Real\(low, high\)",
        ),
        ({"C": stats.beta(2, 3)}, r"'beta' is not uniform, .* headway\.Real\(0, 1\)\.$"),
        ({"C": stats.loguniform(1, 9, loc=1)}, r"loguniform with a loc is not uniform in log"),
        ({"C": stats.gaussian_kde([1.0, 2.0])}, r"parameter 'C' is <scipy.* of type gaussian_kde"),
    ],
)
def test_what_cannot_be_a_space(space, text):
    with pytest.raises(SpaceError, match=text) as caught:
        Domain.of(space, SVC())
    assert "\n" not in str(caught.value)
