"""Smoothing splines in O(n) against the dense linear system of their kernel."""

from math import factorial

import numpy as np
import pytest

from mercer.estimators.squares import spline_states
from mercer.estimators.squares.spline_states import evaluate_states, smooth_states

rng = np.random.default_rng(0)


def dense(x, y, w, alpha, m, new):
    """Values at new places and leverages from the bordered system of (-1)^m |x - z|^(2m-1) / (2 (2m-1)!)."""
    n = len(x)

    def kernel(a, b):
        return (-1) ** m * np.abs(a[:, None] - b) ** (2 * m - 1) / (2 * factorial(2 * m - 1))

    T = np.vander(x, m)
    M = np.block([[kernel(x, x) + alpha * np.diag(1 / w), T], [T.T, np.zeros((m, m))]])
    solved = np.linalg.solve(M, np.vstack([y, np.zeros((m, y.shape[1]))]))
    P = np.linalg.inv(M)[:n, :n]
    return kernel(new, x) @ solved[:n] + np.vander(new, m) @ solved[n:], 1 - alpha * np.diag(P) / w


@pytest.mark.parametrize("m", [1, 2, 3])
@pytest.mark.parametrize("alpha", [1e-3, 0.7, 50.0])
def test_equals_the_dense_system(m, alpha):
    x = np.sort(rng.uniform(0, 10, 14))
    y, w = rng.normal(size=(14, 2)), rng.uniform(0.5, 2.0, 14)
    new = np.concatenate([np.linspace(-3, 13, 40), x])
    states, leverage = smooth_states(x, y, w, alpha, m)
    f, h = dense(x, y, w, alpha, m, new)
    np.testing.assert_allclose(evaluate_states(x, states, new), f, atol=1e-9 * 10**m)
    np.testing.assert_allclose(leverage, h, atol=1e-10 * 10**m)
    assert states.shape == (14, m, 2)


def test_the_states_are_derivatives():
    x = np.sort(rng.uniform(0, 5, 10))
    states, _ = smooth_states(x, np.sin(x)[:, None], np.ones(10), 1e-3, 3)
    h = 1e-4
    for i in range(1, 9):
        f = evaluate_states(x, states, x[i] + h * np.array([-1.0, 0.0, 1.0]))[:, 0]
        assert states[i, 1, 0] == pytest.approx((f[2] - f[0]) / (2 * h), rel=1e-5, abs=1e-6)
        assert states[i, 2, 0] == pytest.approx((f[2] - 2 * f[1] + f[0]) / h**2, rel=1e-3, abs=1e-3)


@pytest.mark.parametrize("m", [1, 2, 3])
def test_limits(m):
    x = np.sort(rng.uniform(0, 1, 30))
    y = rng.normal(size=(30, 1))
    states, leverage = smooth_states(x, y, np.ones(30), 1e12, m)
    line = np.polynomial.Polynomial.fit(x, y[:, 0], m - 1)(x)
    np.testing.assert_allclose(states[:, 0, 0], line, atol=1e-6)
    assert leverage.sum() == pytest.approx(m, abs=1e-6)
    states, leverage = smooth_states(x, y, np.ones(30), 1e-24, m)
    np.testing.assert_allclose(states[:, 0], y, atol=1e-6)
    assert leverage.sum() == pytest.approx(30, rel=1e-4)


def test_places_that_nearly_coincide():
    """Two samples at almost one place count as one of their mean and twice the weight."""
    x = np.linspace(0, 1, 20)
    y = np.sin(5 * x)
    near = np.sort(np.concatenate([x, x + 1e-13]))
    states, leverage = smooth_states(near, np.repeat(y, 2)[:, None], np.ones(40), 1e-4, 2)
    once, h = smooth_states(x, y[:, None], np.full(20, 2.0), 1e-4, 2)
    np.testing.assert_allclose(states[::2, 0], once[:, 0], atol=1e-9)
    np.testing.assert_allclose(leverage[::2] + leverage[1::2], h, rtol=1e-6)


def test_as_few_places_as_the_order():
    states, leverage = smooth_states(np.array([0.0, 1.0]), np.array([[1.0], [3.0]]), np.ones(2), 5.0, 2)
    np.testing.assert_allclose(states[:, :, 0], [[1.0, 2.0], [3.0, 2.0]])
    np.testing.assert_allclose(leverage, 1.0)
    states, _ = smooth_states(np.array([2.0]), np.array([[4.0]]), np.ones(1), 5.0, 1)
    np.testing.assert_allclose(evaluate_states(np.array([2.0]), states, np.array([1.0, 2.0, 3.0]))[:, 0], 4.0)


def test_the_functions_as_python(monkeypatch):
    x, y = np.arange(6.0), rng.normal(size=(6, 2))
    expected = smooth_states(x, y, np.ones(6), 0.3, 2)
    for name in ("_triangularise", "_reflect", "_solve_back"):
        monkeypatch.setattr(spline_states, name, getattr(spline_states, name).py_func)
    for found, known in zip(smooth_states(x, y, np.ones(6), 0.3, 2), expected, strict=True):
        np.testing.assert_allclose(found, known, rtol=1e-12)
