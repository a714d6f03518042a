"""Machines fitted elsewhere: votes, ties, shapes, and no second fit."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from mercer.domains import Strings, Vectors
from mercer.errors import CapabilityError, ParameterError
from mercer.estimators.imported import ImportedClassifier, ImportedDetector, ImportedRegressor
from mercer.gram import Expansion, FeatureExpansion
from mercer.kernels import Gaussian, Linear, Spectrum
from mercer.selection import couple

X = np.random.default_rng(0).normal(size=(12, 2))
S = Vectors.pack(X[:5])
NEW = X[5:]


def machine(columns, seed=0):
    rng = np.random.default_rng(seed)
    shape = (5,) if columns is None else (5, columns)
    return Expansion(Gaussian(1.0), S, rng.normal(size=shape), rng.normal(size=shape[1:]))


def linear(weights, intercept=0.0):
    weights = np.asarray(weights, dtype=float)
    return FeatureExpansion(Linear(), None, weights, np.broadcast_to(intercept, weights.shape[1:]).astype(float))


CLASSES = np.array(["a", "b", "c"])
MACHINES = [
    ImportedRegressor(machine(None)),
    ImportedDetector(machine(None)),
    ImportedClassifier(machine(3), CLASSES),
    ImportedClassifier(machine(None), CLASSES[:2]),
    ImportedClassifier(machine(3), CLASSES, strategy="one-versus-rest"),
]


@pytest.mark.parametrize("model", MACHINES, ids=lambda m: type(m).__name__)
def test_they_are_fitted_and_cannot_be_fitted(model):
    check_is_fitted(model)
    with pytest.raises(CapabilityError, match="fitted by another library"):
        model.fit(X, X[:, 0])
    assert np.array_equal(clone(model).predict(NEW), model.predict(NEW))
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(NEW), model.predict(NEW))
    assert model.n_features_in_ == 2
    assert model.kernel_ == Gaussian(1.0)
    with pytest.raises(AttributeError):
        model.feature_names_in_  # noqa: B018
    with pytest.raises(ValueError, match="3 features"):
        model.predict(np.ones((2, 3)))


def test_regressor_and_detector_are_the_function():
    f = machine(None)
    values = f(Vectors.pack(NEW))
    assert np.array_equal(ImportedRegressor(f).predict(NEW), values)
    detector = ImportedDetector(f)
    assert np.array_equal(detector.decision_function(NEW), values)
    assert np.array_equal(detector.predict(NEW), np.where(values > 0, 1, -1))
    assert np.allclose(detector.score_samples(NEW) - detector.offset_, values)


def test_votes_and_their_order():
    # f_ab = x, f_ac = 1, f_bc = -1 for the classes in sorted order
    f = linear([[1.0, 0.0, 0.0]], [0.0, 1.0, -1.0])
    model = ImportedClassifier(f, CLASSES, decision_function_shape="ovo")
    assert model.predict([[2.0], [-2.0]]).tolist() == ["a", "a"]  # one vote each at -2: the first wins
    order = ImportedClassifier(f, CLASSES, order=[2, 1, 0], decision_function_shape="ovo")
    # the columns are now of (c, b), (c, a), (b, a)
    assert order.predict([[2.0], [-2.0]]).tolist() == ["c", "c"]
    assert order.decision_function([[2.0]]).tolist() == [[1.0, -1.0, -2.0]]


def test_two_classes_have_a_sign():
    f = linear([1.0])
    plain = ImportedClassifier(f, CLASSES[:2])
    assert plain.decision_function([[2.0]]).tolist() == [-2.0]  # positive is for the second
    assert plain.predict([[2.0], [-2.0], [0.0]]).tolist() == ["a", "b", "b"]
    turned = ImportedClassifier(f, CLASSES[:2], order=[1, 0])
    assert turned.decision_function([[2.0]]).tolist() == [2.0]
    assert turned.predict([[2.0], [-2.0], [0.0]]).tolist() == ["b", "a", "a"]
    rest = ImportedClassifier(f, CLASSES[:2], strategy="one-versus-rest")
    assert rest.predict([[2.0], [-2.0]]).tolist() == ["b", "a"]


def test_ties_may_be_broken_by_values():
    f = linear([[0.0, 0.0, 0.0]], [0.5, -1.0, 3.0])  # a beats b, c beats a, b beats c
    assert ImportedClassifier(f, CLASSES).predict([[0.0]]).tolist() == ["a"]
    assert ImportedClassifier(f, CLASSES, break_ties=True).predict([[0.0]]).tolist() == ["b"]
    by_class = ImportedClassifier(f, CLASSES).decision_function([[0.0]])
    assert by_class.shape == (1, 3)
    assert np.argmax(by_class) == 1


def test_one_block_and_one_product():
    calls = []

    class Counted(Gaussian):
        def tile(self, view):
            calls.append(view.shape)
            return super().tile(view)

    f = Expansion(Counted(1.0), S, np.ones((5, 6)), np.zeros(6))
    ImportedClassifier(f, np.arange(4)).predict(NEW)
    assert calls == [(len(NEW), 5)]


def test_other_domains():
    kernel = Spectrum(2)
    f = Expansion(kernel, kernel.prepare(Strings.pack(["abab", "ba"])), np.ones(2), np.asarray(0.0))
    model = ImportedRegressor(f)
    assert model.predict(["ab"]).tolist() == [2.0]
    with pytest.raises(AttributeError):
        model.n_features_in_  # noqa: B018


@pytest.mark.parametrize(
    ("params", "words"),
    [
        (dict(classes=CLASSES[:1]), "1 classes"),
        (dict(classes=np.arange(4)), "4 classes"),
        (dict(classes=CLASSES[:2]), "2 classes"),
        (dict(strategy="votes"), "strategy='votes'"),
        (dict(decision_function_shape="all"), "decision_function_shape='all'"),
        (dict(break_ties="yes"), "break_ties='yes'"),
        (dict(break_ties=True, decision_function_shape="ovo"), "ovo"),
        (dict(order=[0, 0, 1]), "order"),
        (dict(order=[0, 1]), "order"),
        (dict(expansion=None), "Expansion"),
        (dict(probability=(np.ones(2), np.ones(3))), "3 pairs"),
        (dict(probability=(np.ones(3), np.ones(3)), strategy="one-versus-rest"), "one-versus-one"),
    ],
)
def test_parameters_that_do_not_fit(params, words):
    model = ImportedClassifier(**{"expansion": machine(3), "classes": CLASSES, **params})
    with pytest.raises(ParameterError, match=words):
        model.predict(NEW)


def test_one_function_is_one_function():
    for kind in (ImportedRegressor, ImportedDetector):
        with pytest.raises(ParameterError, match="3 outputs"):
            kind(machine(3))._check_parameters()


def test_probabilities_are_kept():
    model = ImportedClassifier(machine(None), CLASSES[:2], probability=(np.array([-1.0]), np.array([0.5])))
    assert (model.probA_.tolist(), model.probB_.tolist()) == ([-1.0], [0.5])
    with pytest.raises(AttributeError):
        MACHINES[2].probB_  # noqa: B018


def test_probabilities_of_several_classes_are_near_the_exact_ones():
    model = ImportedClassifier(machine(3), CLASSES, probability=(np.full(3, -2.0), np.zeros(3)))
    pairs = 1.0 / (1.0 + np.exp(-2.0 * machine(3)(Vectors.pack(NEW))))
    P = model.predict_proba(NEW)
    assert np.allclose(P.sum(axis=1), 1.0)
    assert np.abs(P - couple(pairs)).max() < 0.01
    turned = ImportedClassifier(machine(3), CLASSES, order=[2, 0, 1], probability=model.probability)
    assert np.array_equal(turned.predict_proba(NEW), P[:, [2, 0, 1]])
