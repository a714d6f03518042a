"""Classification with several kernels: against the machine itself, and against the optimality conditions."""

import numpy as np
import pytest

import mercer
from mercer import MultipleKernelClassifier
from mercer.errors import ParameterError
from mercer.kernels import Gaussian, Linear
from mercer.mixtures import LpBall, Simplex

rng = np.random.default_rng(1)
X = rng.normal(size=(70, 3))
Y = np.where(X[:, 0] * X[:, 1] + 0.3 * X[:, 2] > 0, "b", "a")
THREE = np.digitize(X[:, 0] + 0.5 * X[:, 1], [-0.5, 0.5])
T = rng.normal(size=(11, 3))


@pytest.mark.parametrize("mixture", [Simplex(), LpBall(1.5)], ids=repr)
@pytest.mark.parametrize("machine", ["hinge", "squared_hinge", "squared"])
def test_one_kernel_is_the_machine_itself(mixture, machine):
    model = MultipleKernelClassifier([Gaussian(1.0)], 2.0, mixture=mixture, machine=machine).fit(X, Y)
    assert model.weights_.tolist() == [1.0]
    if machine == "squared":
        single = mercer.LSSVC(Gaussian(1.0), C=2.0).fit(X, Y)
    else:
        single = mercer.SVC(Gaussian(1.0), 2.0, loss=machine).fit(X, Y)
    assert np.allclose(model.decision_function(T), single.decision_function(T), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("machine", ["hinge", "squared_hinge", "squared"])
@pytest.mark.parametrize("y", [Y, THREE], ids=["two", "three"])
def test_lengths_are_equal_on_the_support_and_nowhere_larger(machine, y):
    model = MultipleKernelClassifier(machine=machine).fit(X, y)
    s = model.squares_
    assert np.all(s[model.weights_ > 0.0] >= s.max() * (1.0 - 1e-6))
    assert np.isclose(model.weights_.sum(), 1.0)


def test_classes_together_and_each_against_the_rest():
    for scheme in ("ovr", "together"):
        model = MultipleKernelClassifier(multi_class=scheme, C=10.0).fit(X, THREE)
        assert model.solution_.residual <= 1e-3
        assert model.decision_function(T).shape == (11, 3) and model.contributions(T).shape == (11, 5, 3)
        assert np.array_equal(model.predict(T), model.decision_function(T).argmax(axis=1))
        assert model.score(X, THREE) > 0.9
    reference = mercer.SVC(model.kernel_, 10.0, multi_class="crammer_singer", tol=1e-6).fit(X, THREE)
    # both are within their tolerances of the optimum of one program
    assert np.mean(model.predict(T) == reference.predict(T)) > 0.9


def test_two_classes_together_are_two_classes():
    a, b = (MultipleKernelClassifier(multi_class=scheme).fit(X, Y) for scheme in ("ovr", "together"))
    assert np.array_equal(a.decision_function(T), b.decision_function(T))


def test_weights_of_classes():
    y = np.where(X[:, 0] > 1.0, 1, 0)
    plain, balanced = (MultipleKernelClassifier(class_weight=w).fit(X, y) for w in (None, "balanced"))
    assert np.mean(balanced.predict(T)) >= np.mean(plain.predict(T))
    given = MultipleKernelClassifier(class_weight={0: 0.5, 1: 2.0}).fit(X, y)
    weighted = MultipleKernelClassifier(C=0.5).fit(X, y, sample_weight=np.where(y == 1, 4.0, 1.0))
    assert np.allclose(given.class_weight_, [0.5, 2.0])
    # costs are the same; the median distance alone counts samples by their weights
    assert given.weights_.shape == weighted.weights_.shape


def test_what_scikit_learn_users_look_for():
    model = MultipleKernelClassifier([Gaussian(1.0), Linear()], normalization="trace").fit(X, Y)
    assert model.classes_.tolist() == ["a", "b"] and model.n_features_in_ == 3
    assert model.n_support_.sum() == len(model.support_) == model.dual_coef_.shape[1]
    rebuilt = model.kernel_(T, model.support_vectors_) @ model.dual_coef_[0] + model.intercept_[0]
    assert np.allclose(rebuilt, model.decision_function(T))


def test_all_classes_together_need_the_hinge():
    with pytest.raises(ParameterError, match="multi_class='ovr'"):
        MultipleKernelClassifier(multi_class="together", machine="squared").fit(X, THREE)


def test_kernels_of_columns_without_a_weight_are_left_out_of_the_function():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = X[:, 0] > 0
    model = MultipleKernelClassifier([Gaussian(0.7), 2.0 * Gaussian(2.0), Gaussian(1.0).on([1])], C=3.0).fit(X, y)
    assert model.weights_[2] == 0.0
    values = model.kernel_(X, X[model.support_]) @ model.dual_coef_[0] + model.intercept_[0]
    assert model.decision_function(X) == pytest.approx(values, rel=1e-9)
