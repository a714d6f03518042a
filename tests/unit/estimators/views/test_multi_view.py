"""Several views with few labels, against the joint optimality conditions."""

import numpy as np
import pytest

from mercer import SVC, CoRegularizedRidge, KernelRidge, LaplacianSVC, MultiViewLaplacianSVC
from mercer.gram import Dense, Nystrom, Tiles
from mercer.kernels import Gaussian, Linear

RNG = np.random.default_rng(0)
N = 24
X = RNG.normal(size=(N, 4))
KNOWN = np.arange(0, N, 3)
Y = np.full(N, np.nan)
Y[KNOWN] = np.sin(X[KNOWN, 0]) + X[KNOWN, 2]
LABELS = np.full(N, -1)
LABELS[KNOWN] = (Y[KNOWN] > 0).astype(int)
T = RNG.normal(size=(5, 4))
A, B = Gaussian(1.0).on([0, 1]), Gaussian(2.0).on([2, 3])


@pytest.mark.parametrize("spec", [Dense(), Tiles(), Nystrom(N, random_state=0)], ids=repr)
def test_ridge_is_stationary(spec):
    """alpha a_v + J (f - y) / 2 + alpha d (f_v - f_u) = 0 for both views, f their mean."""
    alpha, d = 0.4, 0.8
    model = CoRegularizedRidge((A, B), alpha, d, gram=spec).fit(X, Y)
    K = [A(X), B(X)]
    J = np.zeros(N)
    J[KNOWN] = 1.0
    y = np.where(np.isnan(Y), 0.0, Y)
    one, both = np.diag(J) / 4 + alpha * d * np.eye(N), np.diag(J) / 4 - alpha * d * np.eye(N)
    blocks = [[alpha * np.eye(N) + one @ K[0], both @ K[1]], [both @ K[0], alpha * np.eye(N) + one @ K[1]]]
    a = np.linalg.solve(np.block(blocks), np.concatenate([J * y, J * y]) / 2)
    expected = np.column_stack([A(T, X) @ a[:N], B(T, X) @ a[N:]])
    assert np.allclose(model.view_values(T), expected, atol=1e-6)
    assert np.allclose(model.predict(T), expected.mean(axis=1), atol=1e-6)
    assert np.allclose(model.transduction_, (K[0] @ a[:N] + K[1] @ a[N:]) / 2, atol=1e-6)


def test_without_agreement_the_mean_is_one_machine_of_the_sum_of_kernels():
    model = CoRegularizedRidge((A, B), 0.4, 0.0).fit(X, Y)
    expected = KernelRidge(0.25 * A + 0.25 * B, 0.4).fit(X[KNOWN], Y[KNOWN]).predict(T)
    assert np.allclose(model.predict(T), expected, atol=1e-8)
    svc = MultiViewLaplacianSVC((A, B), 2.0, 0.0, 0.0, tol=1e-8).fit(X, LABELS)
    expected = SVC(0.25 * A + 0.25 * B, 2.0, tol=1e-8).fit(X[KNOWN], LABELS[KNOWN]).decision_function(T)
    assert np.allclose(svc.decision_function(T), expected, atol=1e-6)


def test_leaving_out_a_target():
    model = CoRegularizedRidge((A, B), 0.4, fit_intercept=True).fit(X, Y)
    without = Y.copy()
    without[KNOWN[2]] = np.nan
    again = CoRegularizedRidge((A, B), 0.4, fit_intercept=True).fit(X, without)
    assert np.isclose(again.transduction_[KNOWN[2]], model.loo_predictions_[2], atol=1e-8)


def test_equal_views_are_one_view():
    """Equal functions of equal views have twice the norm and twice the graph: half the kernel and half of both."""
    k = Gaussian(1.0)
    two = MultiViewLaplacianSVC((k, k), 2.0, 3.0, 0.4, tol=1e-8, n_neighbors=4).fit(X, LABELS)
    one = LaplacianSVC(k, 1.0, 0.4, tol=1e-8, n_neighbors=4).fit(X, LABELS)
    assert np.allclose(two.decision_function(T), one.decision_function(T), atol=1e-5)
    assert np.array_equal(two.transduction_, one.transduction_)


def test_weights_are_repetition():
    w = RNG.integers(1, 3, size=N)
    index = np.repeat(np.arange(N), w)
    a = CoRegularizedRidge((A, Linear().on([2])), manifold=0.2, n_neighbors=3).fit(X, Y, sample_weight=w)
    b = CoRegularizedRidge((A, Linear().on([2])), manifold=0.2, n_neighbors=3).fit(X[index], Y[index])
    assert np.allclose(a.predict(T), b.predict(T), atol=1e-7)


def test_probabilities_of_equal_views_are_those_of_one():
    """Of two equal views that need not agree the mean is a machine of half the kernel."""
    options = {"n_neighbors": 3, "probability": True, "tol": 1e-8}
    views = MultiViewLaplacianSVC((A, A), 2.0, 0.0, 0.0, **options).fit(X, LABELS)
    one = LaplacianSVC(0.5 * A, 2.0, 0.0, **options).fit(X, LABELS)
    assert np.allclose(views.label_distributions_, one.label_distributions_, atol=1e-5)
    assert np.allclose(views.predict_proba(T), one.predict_proba(T), atol=1e-5)
