"""Partial least squares in products with K."""

import numpy as np
import pytest
from sklearn.cross_decomposition import PLSRegression

from mercer.problems import Status
from mercer.solvers.linear.krylov_pls import Centring, degrees_of_freedom, lanczos, nipals

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 6)) @ rng.normal(size=(6, 6))
Y = np.column_stack([X[:, 0] + rng.normal(size=40), X[:, 1] - X[:, 2] + 0.3 * rng.normal(size=40)])
GAUSS = np.exp(-((X[:, None] - X) ** 2).sum(-1) / 40)
ONES = np.ones(40)


def fitted(operator, found):
    return operator @ (found.directions @ found.loadings)


def textbook(K, Y, count, passes=3000):
    """NIPALS as it is written: power iterations, and the matrix deflated in the open."""
    n = len(K)
    T, U = [], []
    K, Y = K.copy(), Y.copy()
    for _ in range(count):
        u = Y[:, 0].copy()
        for _ in range(passes):
            t = K @ u
            t /= np.linalg.norm(t)
            u = Y @ (Y.T @ t)
            u /= np.linalg.norm(u)
        T.append(t)
        U.append(u)
        P = np.eye(n) - np.outer(t, t)
        K, Y = P @ K @ P, P @ Y
    return np.array(T).T, np.array(U).T


@pytest.mark.parametrize("count", [1, 3, 6])
def test_a_linear_kernel_is_scikit_learn(count):
    operator = Centring(X @ X.T, ONES)
    y, mean = operator.centred(Y[:, :1])
    ours = fitted(operator, nipals(operator, y, count)) + mean
    theirs = PLSRegression(count, scale=False).fit(X, Y[:, 0]).predict(X)
    assert np.allclose(ours[:, 0], theirs.ravel(), atol=1e-9)


@pytest.mark.parametrize("count", [1, 2, 5, 12])
def test_both_forms_agree_for_one_target(count):
    operator = Centring(GAUSS, ONES)
    y, _ = operator.centred(Y[:, :1])
    a, b = nipals(operator, y, count), lanczos(operator, y, count)
    assert a.scores.shape == (40, count)
    assert np.abs(fitted(operator, a) - fitted(operator, b)).max() < 1e-10
    assert np.abs(a.directions @ a.loadings - b.directions @ b.loadings).max() < 1e-10
    assert np.abs(np.abs(a.scores.T @ b.scores) - np.eye(count)).max() < 1e-8


def test_the_textbook_for_several_targets():
    operator = Centring(GAUSS, ONES)
    y, _ = operator.centred(Y)
    T, _ = textbook(operator @ np.eye(40), y, 4)
    found = nipals(operator, y, 4)
    assert np.allclose(np.abs(found.scores.T @ T), np.eye(4), atol=1e-8)
    assert np.allclose(operator @ found.directions, found.scores, atol=1e-10)
    assert np.allclose(found.scores.T @ found.scores, np.eye(4), atol=1e-12)


def test_the_span_is_the_krylov_space():
    operator = Centring(GAUSS, ONES)
    y, _ = operator.centred(Y[:, :1])
    K = operator @ np.eye(40)
    space = np.linalg.qr(np.column_stack([K @ y, K @ K @ y, K @ K @ K @ y]))[0]
    found = lanczos(operator, y, 3)
    assert np.allclose(space @ (space.T @ found.scores), found.scores, atol=1e-8)
    assert np.allclose(fitted(operator, found), space @ (space.T @ y), atol=1e-8)


def test_plain_conjugate_gradients_on_the_squared_matrix_is_not_pls():
    operator = Centring(GAUSS, ONES)
    y, _ = operator.centred(Y[:, :1])
    K, y = operator @ np.eye(40), y[:, 0]
    rhs = K @ y
    a = rhs * (rhs @ rhs) / (rhs @ K @ K @ rhs)  # one step of CG on K^2 a = K y
    one = fitted(operator, lanczos(operator, y[:, None], 1))[:, 0]
    assert np.linalg.norm(y - one) < np.linalg.norm(y - K @ a) - 1e-3


def test_all_components_are_least_squares():
    operator = Centring(X @ X.T, ONES)
    y, _ = operator.centred(Y)
    found = nipals(operator, y, 40)
    Q = np.linalg.qr(X - X.mean(0))[0]
    assert found.scores.shape[1] == 6  # no more exist
    assert np.allclose(fitted(operator, found), Q @ (Q.T @ y), atol=1e-8)


def test_weights_are_repetition():
    w = rng.integers(1, 4, 40).astype(float)
    again = np.repeat(np.arange(40), w.astype(int))
    one, many = Centring(GAUSS, w), Centring(GAUSS[np.ix_(again, again)], np.ones(len(again)))
    a, _ = one.centred(Y)
    b, _ = many.centred(Y[again])
    f, g = fitted(one, nipals(one, a, 3)) / np.sqrt(w)[:, None], fitted(many, nipals(many, b, 3))
    assert np.allclose(f[again], g, atol=1e-10)


@pytest.mark.parametrize("count", [1, 2, 4, 7])
def test_degrees_of_freedom_are_the_trace_of_the_derivative(count):
    operator = Centring(GAUSS, ONES)

    def fit(y):
        z, mean = operator.centred(y[:, None])
        return fitted(operator, lanczos(operator, z, count))[:, 0] + mean

    y, h = Y[:, 0], 1e-5
    trace = sum((fit(y + h * e) - fit(y - h * e))[i] / (2 * h) for i, e in enumerate(np.eye(40)))
    values, V = np.linalg.eigh(operator @ np.eye(40))
    z, _ = operator.centred(y[:, None])
    dof, rest = degrees_of_freedom(np.maximum(values, 0.0), V.T @ z[:, 0], count)
    assert np.isclose(dof[-1], trace, rtol=1e-5)
    assert np.isclose(rest[-1], np.sum((y - fit(y)) ** 2), rtol=1e-8)
    assert dof[-1] > count + 1  # the directions were chosen by looking at y


def test_it_can_be_stopped():
    operator = Centring(GAUSS, ONES)
    y, _ = operator.centred(Y[:, :1])
    for algorithm in (nipals, lanczos):
        seen = []
        found = algorithm(operator, y, 10, monitor=lambda done, rest: seen.append(rest) or done == 3)  # noqa: B023
        assert found.status is Status.STOPPED and found.scores.shape[1] == 3 and seen == sorted(seen)[::-1]


def test_nothing_to_fit():
    operator = Centring(GAUSS, ONES)
    assert nipals(operator, np.zeros((40, 1)), 3).scores.shape == (40, 0)
    assert lanczos(operator, np.zeros((40, 1)), 3).scores.shape == (40, 0)
