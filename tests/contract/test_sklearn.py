"""scikit-learn's own checks, all of them, with no expected failure (TRUST row 1)."""

import importlib

import numpy as np
import pytest
from sklearn.utils.estimator_checks import check_estimator

import mercer
import mercer.estimators
from mercer.kernels import Gaussian, Linear, Polynomial

ESTIMATORS = [
    value
    for name in mercer.estimators.__all__
    if isinstance(value := getattr(mercer.estimators, name), type) and hasattr(value, "fit")
]


FEWER = {  # what is searched for takes long, many times over, and their own tests look at it
    mercer.GaussianProcessMixture: {"n_components": 2, "max_iter": 3},
    mercer.GaussianProcessRegressor: {"max_iter": 1},
    mercer.GaussianProcessClassifier: {"max_iter": 1},
    mercer.SparseGaussianProcessRegressor: {"max_iter": 3, "inducing": 20},
    mercer.SemiparametricLatentFactor: {"max_iter": 3},
    mercer.KernelRidgeCV: {"max_iter": 3},
    mercer.LPBoostRegressor: {"max_iter": 20},
    mercer.StructuredSVC: {"tol": 1e-2},
    mercer.ExponentialDensity: {"n_nodes": 50},
    mercer.KernelICA: {"n_init": 1, "max_iter": 1, "rank": 5},
    mercer.KernelDimensionReduction: {"n_init": 1, "tol": 0.1},
    mercer.NuclearNormRegressor: {"tol": 0.05},
    mercer.NuclearNormClassifier: {"tol": 0.05},
    mercer.SparseLaplacianRegressor: {"n_neighbors": 2},
    # scikit-learn excepts its own classifiers of few labels, by name, from the classes -1 and 1
    mercer.LaplacianSVC: {"unlabelled": None},
    mercer.MultiViewLaplacianSVC: {"unlabelled": None},
    mercer.TransductiveSVC: {"unlabelled": None},
    mercer.TransductiveLSSVC: {"unlabelled": None},
}


SUBJECTS = [
    *(estimator(**FEWER.get(estimator, {})) for estimator in ESTIMATORS),
    mercer.KernelRidge(Linear(), alpha=0.1),
    mercer.KernelRidge(0.5 * Gaussian(2.0) + Polynomial(2), leave_one_out=True),
    mercer.KernelRidge("rbf"),
    mercer.KernelMeanClassifier(Linear()),
    pytest.param(mercer.GaussianProcessRegressor(), marks=pytest.mark.slow),
]


def unpassed(estimator) -> list[str]:
    """scikit-learn's checks that an estimator does not pass, each with its reason; a skipped one is not passed."""
    results = check_estimator(estimator, on_skip=None, on_fail=None)
    assert len(results) > 30
    return [f"{r['check_name']}: {r['status']}: {r['exception']!r}" for r in results if r["status"] != "passed"]


@pytest.mark.parametrize("estimator", SUBJECTS, ids=repr)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:the margin rho:mercer.errors.DegenerateWarning")  # random labels have none
@pytest.mark.filterwarnings("ignore:The graph of:mercer.errors.DegenerateWarning")  # clouds that are far apart
@pytest.mark.filterwarnings("ignore:.*are not penalised:mercer.errors.DegenerateWarning")  # few samples, many columns
def test_scikit_learn(estimator):
    assert not (found := unpassed(estimator)), "\n".join(found)


class Forgetful(mercer.KernelRidge):
    """No estimator: it predicts nothing that depends on the samples' order."""

    def predict(self, X):
        return np.sort(super().predict(X), axis=0)


def test_a_check_that_fails_is_named():
    assert any("check_methods_sample_order_invariance: failed" in line for line in unpassed(Forgetful()))


def test_nothing_is_skipped():
    """The packages that some checks need are installed, so that none is skipped for want of them."""
    for package in ("pandas", "polars", "pyarrow", "array_api_strict"):
        importlib.import_module(package)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda cls: cls.__name__)
def test_fit_leaves_the_parameters_alone(estimator):
    model = estimator()
    before = {name: id(value) for name, value in model.get_params().items()}
    X = np.random.default_rng(0).normal(size=(20, 3))
    model.fit(X, np.arange(20) % 2)
    assert {name: id(value) for name, value in model.get_params().items()} == before
