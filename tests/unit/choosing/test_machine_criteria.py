"""Criteria of machines and theoretical bounds as criteria, against their formulas and the theorems about them."""

import math

import numpy as np
import pytest

import mercer
from mercer import SVC, KernelRidge
from mercer.choosing import LeaveOneOut, PACBayes, SpanBound, VCBound
from mercer.choosing.criteria import Case
from mercer.domains import Vectors
from mercer.errors import CapabilityError
from mercer.kernels import Gaussian
from mercer.selection import smallest_ball
from mercer.theory import svm_pac_bayes, vc_bound

WIDTHS, COSTS = (0.6, 1.5), (0.5, 5.0, 100.0)


def problem(seed=0, n=24, count=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    score = X[:, 0] + 0.5 * rng.normal(size=n)
    return X, np.digitize(score, np.quantile(score, np.arange(1, count) / count))


def fitted(X, y, C, width):
    """The matrix of a machine, its decision values, norm and bias."""
    model = SVC(Gaussian(width), C=C, tol=1e-8).fit(X, y)
    beta = np.zeros(len(y))
    beta[model.support_] = np.ravel(model.dual_coef_)
    K = Gaussian(width)(X)
    return K, model.decision_function(X), math.sqrt(beta @ K @ beta), float(np.ravel(model.intercept_)[0])


@pytest.mark.parametrize("seed", range(12))
def test_the_span_bound_is_not_below_leave_one_out(seed):
    X, y = problem(seed)
    grid = {"C": list(COSTS), "kernel__length_scale": list(WIDTHS)}
    model = SVC(Gaussian(1.0), tol=1e-8)
    bound = mercer.search(model, X, y, grid, criterion=SpanBound(), refit=False).values
    exact = mercer.search(model, X, y, grid, criterion=LeaveOneOut(), refit=False).values
    assert np.all(bound >= exact) and bound.min() < 1.0


def test_the_vc_bound_is_the_formula():
    X, y = problem()
    grid = {"C": [0.5, 5.0], "kernel__length_scale": [1.5]}
    found = mercer.search(SVC(Gaussian(1.0), tol=1e-8), X, y, grid, criterion=VCBound(), refit=False)
    for params, value in zip(found.params, found.values, strict=True):
        K, f, norm, _ = fitted(X, y, params["C"], 1.5)
        h = min(math.floor(smallest_ball(K).radius2 * norm**2), len(y)) + 1
        wrong = float(np.mean(np.where(y == 1, 1.0, -1.0) * f <= 0.0))
        assert value == pytest.approx(float(vc_bound(wrong, len(y), h, printed=True)), rel=1e-9)


def test_pac_bayes_is_that_of_the_machine():
    X, y = problem(n=60)
    grid = {"C": [0.5, 5.0], "kernel__length_scale": [1.5]}
    found = mercer.search(SVC(Gaussian(1.0), tol=1e-8), X, y, grid, criterion=PACBayes(0.1), refit=False)
    for params, value in zip(found.params, found.values, strict=True):
        K, f, norm, bias = fitted(X, y, params["C"], 1.5)
        margins, bounds = np.where(y == 1, 1.0, -1.0) * f, []
        for s in (0.01, 0.1, 1.0, 10.0, 100.0):
            t = margins / (math.hypot(norm, bias / s) * np.sqrt(np.diagonal(K) + s * s))
            bounds.append(float(svm_pac_bayes(t, 0.1, choices=5)))
        assert value == pytest.approx(min(bounds), rel=1e-5)  # machines that agree to 1e-8 of the margin


def test_pac_bayes_of_several_classes():
    X, y = problem(n=90, count=3)
    model = SVC(Gaussian(1.5), C=5.0).fit(X, y)
    grid = {"C": [5.0], "kernel__length_scale": [1.5]}
    value = mercer.search(SVC(Gaussian(1.0)), X, y, grid, criterion=PACBayes(), refit=False).best_value
    certified = model.certificate(X, y, cv=None).bounds[1]
    assert np.mean(model.predict(X) != y) < value < certified  # which shares its delta with another bound


@pytest.mark.parametrize("criterion", [PACBayes(), SpanBound(), VCBound()])
def test_other_models_are_refused(criterion):
    X, y = problem()
    with pytest.raises(CapabilityError, match="CrossValidation"):
        criterion.values(Case([KernelRidge(Gaussian(1.0))], Gaussian(1.0), Vectors.pack(X), y))
