"""Estimates of left-out errors from one fit, against their formulas written out and against refits."""

import numpy as np
import pytest
from scipy.optimize import minimize

from mercer import SVC
from mercer.kernels import Gaussian, Precomputed
from mercer.selection.bounds.approximate_cv import _span, generalized_approximate_cv, span_bound, span_rule


def fitted(C=2.0, n=24, seed=0, width=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)
    K = Gaussian(width)(X)
    model = SVC(Precomputed(), C=C, tol=1e-10).fit(K, y)
    beta = np.zeros(n)
    beta[model.support_] = model.dual_coef_[0]
    return K, y, beta, model.decision_function(K)


def test_generalised_approximate_cross_validation():
    K, y, beta, f = fitted()
    total = 0.0
    for i in range(len(y)):
        margin = y[i] * f[i]
        total += max(0.0, 1.0 - margin)
        if margin < -1.0:
            total += 2.0 * abs(beta[i]) * K[i, i]
        elif margin <= 1.0 + 1e-9:
            total += abs(beta[i]) * K[i, i]
    np.testing.assert_allclose(generalized_approximate_cv(np.diagonal(K), beta, y * f), total / len(y))
    assert total / len(y) >= np.mean(np.maximum(0.0, 1.0 - y * f))


def span(K, p, others):
    """Squared distance of the image of p from the affine span of others, by least squares."""
    q = len(others)
    A = np.block([[K[np.ix_(others, others)], np.ones((q, 1))], [np.ones((1, q)), np.zeros((1, 1))]])
    c = np.linalg.lstsq(A, np.append(K[others, p], 1.0), rcond=None)[0][:q]
    return K[p, p] - 2.0 * c @ K[others, p] + c @ K[np.ix_(others, others)] @ c


def test_spans_are_distances():
    K, y, beta, f = fitted()
    box = 2.0 * y
    lower, upper = np.minimum(box, 0.0), np.maximum(box, 0.0)
    found = span_rule(K, beta, lower, upper, f)
    free = np.flatnonzero((beta > lower) & (beta < upper))
    assert 1 < len(free) < np.count_nonzero(beta)
    for p in np.flatnonzero(beta):
        expected = f[p] - beta[p] * span(K, p, np.setdiff1d(free, [p]))
        # the diagonal is blurred by 1e-9 of its size, and spans of near samples are short
        np.testing.assert_allclose(found[p], expected, atol=1e-5)
    rest = np.flatnonzero(beta == 0.0)
    assert np.array_equal(found[rest], f[rest])


def test_it_is_exact_where_roles_stay():
    """With a large diagonal all samples are free support vectors, with and without any one of them."""
    K, y, _, _ = fitted()
    K = K + 4.0 * np.eye(len(y))
    model = SVC(Precomputed(), C=100.0, tol=1e-10).fit(K, y)
    assert len(model.support_) == len(y)
    beta = np.zeros(len(y))
    beta[model.support_] = model.dual_coef_[0]
    box = 100.0 * y
    found = span_rule(K, beta, np.minimum(box, 0.0), np.maximum(box, 0.0), model.decision_function(K))
    for i in range(0, len(y), 5):
        rest = np.delete(np.arange(len(y)), i)
        other = SVC(Precomputed(), C=100.0, tol=1e-10).fit(K[np.ix_(rest, rest)], y[rest])
        np.testing.assert_allclose(found[i], other.decision_function(K[i : i + 1, rest])[0], atol=1e-6)


def test_spans_within_what_coefficients_allow():
    C = 3.0
    K, y, beta, _ = fitted(C, n=14, seed=3)
    a = np.abs(beta)
    free = np.flatnonzero((a > 1e-8) & (a < C - 1e-8))
    assert len(free) > 2
    for p in free:
        rest = free[free != p]
        turn = y[rest] * y[p] * a[p]
        quadratic = minimize(
            lambda w, p=p, rest=rest: K[p, p] - 2.0 * w @ K[rest, p] + w @ K[np.ix_(rest, rest)] @ w,
            np.full(len(rest), 1.0 / len(rest)), method="SLSQP", options={"ftol": 1e-14, "maxiter": 500},
            constraints=[
                {"type": "eq", "fun": lambda w: w.sum() - 1.0},
                {"type": "ineq", "fun": lambda w, turn=turn, rest=rest: a[rest] + turn * w},
                {"type": "ineq", "fun": lambda w, turn=turn, rest=rest: C - a[rest] - turn * w},
            ],
        )  # fmt: skip
        assert quadratic.success
        assert _span(K, y, a, C, int(p), rest) == pytest.approx(quadratic.fun, abs=1e-5)  # of SLSQP
    found = span_bound(K, y, beta, C)
    assert found[a >= C - 1e-8].all() and not found[a <= 1e-8].any()
