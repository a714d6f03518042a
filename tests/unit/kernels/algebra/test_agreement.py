"""Kernels of views that agree, against the formula over all views, machines of several views, and their limits."""

import pickle

import numpy as np
import pytest

import mercer
from mercer import SVC, CoRegularizedRidge, KernelRidge
from mercer.errors import ParameterError
from mercer.kernels import CoRegularized, Gaussian, Linear, NegativeDistance, Spectrum
from mercer.testing import check_kernel

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 4))
U = rng.normal(size=(9, 4))
POINTS = tuple(map(tuple, U.tolist()))
VIEWS = [
    (Gaussian(1.0).on([0, 1]), Linear().on([2, 3])),
    (Gaussian(1.0).on([0]), Linear().on([1]), Gaussian(2.0).on([2, 3])),
    (Gaussian(1.0), Gaussian(3.0)),
]


def naive(views, U, d, A, B):
    """The kernel of the mean of all views, with d sum_{v < w} sum_i (f_v(u_i) - f_w(u_i))^2 added to the norm."""
    V, m = len(views), len(U)
    Q = np.kron(d * (V * np.eye(V) - np.ones((V, V))), np.eye(m))
    K = np.zeros((V * m, V * m))
    for v, k in enumerate(views):
        K[v * m : (v + 1) * m, v * m : (v + 1) * m] = k(U)
    left, right = np.vstack([k(U, A) for k in views]), np.vstack([k(U, B) for k in views])
    return (sum(k(A, B) for k in views) - left.T @ Q @ np.linalg.solve(np.eye(V * m) + K @ Q, right)) / V**2


@pytest.mark.parametrize("views", VIEWS)
@pytest.mark.parametrize("d", [0.01, 1.0, 100.0])
def test_values_follow_the_formula(views, d):
    k = CoRegularized(views, U, d)
    expected = naive(views, U, d, X[:12], X[12:])
    size = np.abs(sum(view(X) for view in views)).max()
    # solving with a condition number of at most 1 + 3 d (trace of K), in both ways
    assert np.allclose(k(X[:12], X[12:]), expected, rtol=0.0, atol=1e-11 * size * (1.0 + d))
    assert np.allclose(k.diag(X), np.diagonal(k(X)), rtol=0.0, atol=1e-13 * size)
    check_kernel(k, X)


@pytest.mark.parametrize("views", VIEWS)
def test_ridge_regression_is_that_of_several_views(views):
    y = np.sin(X[:, 0])
    known = np.arange(30) < 8
    expected = CoRegularizedRidge(views, alpha=0.1, agreement=2.0).fit(X, np.where(known, y, np.nan))
    model = KernelRidge(CoRegularized(views, X, 2.0), alpha=0.1, fit_intercept=False).fit(X[known], y[known])
    new = rng.normal(size=(7, 4))
    assert np.allclose(model.predict(new), expected.predict(new), atol=1e-9)


def test_without_agreement_it_is_the_sum_of_the_kernels():
    views = VIEWS[0]
    total = (views[0] + views[1])(X) / 4.0
    # the norm of what is taken away is at most d V |c|^2
    assert np.allclose(CoRegularized(views, U, 1e-9)(X), total, atol=1e-9 * 2.0 * 9 * np.abs(total).max() ** 2 * 16)


def test_with_all_agreement_functions_of_the_views_are_one():
    views = Linear().on([0]), Linear().on([1])
    Z = np.array([[1.0, 1.0], [2.0, 2.0]])  # a x_0 and b x_1 agree if a = b: f = a (x_0 + x_1) / 2, of norm 2 a^2
    total = X[:, 0] + X[:, 1]
    # 1 / (d V) is left in the matrix, whose largest eigenvalue is 5
    assert np.allclose(CoRegularized(views, Z, 1e8)(X), np.outer(total, total) / 8.0, atol=1e-6)
    huge = CoRegularized(views, Z, 1e300)(X)
    assert np.allclose(huge, np.outer(total, total) / 8.0, atol=1e-6)


def test_strings_and_numbers_are_views_of_one_table():
    table = {"word": ["ab", "abba", "bab", "aa"], "size": [0.1, 0.9, 0.5, 0.2]}
    k = CoRegularized((Spectrum(2).on("word"), Gaussian(0.5).on("size")), table, 3.0)
    K = k(table)
    one, two = Spectrum(2)(table["word"]), Gaussian(0.5)(np.array(table["size"])[:, None])
    C = (one - two) / np.sqrt(2.0)
    expected = (one + two - C @ np.linalg.solve(np.eye(4) / 6.0 + (one + two) / 2.0, C)) / 4.0
    assert np.allclose(K, expected, atol=1e-12)


def test_it_is_saved_copied_and_learned(tmp_path):
    k = CoRegularized((Gaussian("median").on([0, 1]), Linear().on([2, 3])), POINTS, 2.0)
    y = np.sign(X[:, 0])
    model = SVC(k).fit(X, y)
    assert isinstance(model.kernel_.terms[0].kernel.length_scale, float)
    again = pickle.loads(pickle.dumps(model.kernel_))
    assert again == model.kernel_ and np.array_equal(again(X), model.kernel_(X))
    mercer.save(model, tmp_path / "model")
    assert np.array_equal(mercer.load(tmp_path / "model").predict(X), model.predict(X))


@pytest.mark.parametrize("terms", [(Gaussian(1.0),), (Gaussian(1.0), NegativeDistance())])
def test_views_are_two_definite_kernels(terms):
    with pytest.raises(ParameterError, match="two positive definite kernels"):
        CoRegularized(terms, POINTS).check()
