"""All C at the price of one."""

import numpy as np
import pytest

from mercer.domains import Vectors
from mercer.errors import ParameterError
from mercer.gram import Dense, Features, Nystrom
from mercer.kernels import Gaussian, Linear, NegativeDistance
from mercer.selection import lssvm_path
from mercer.selection.least_squares_path import best_cost, spectrum

rng = np.random.default_rng(0)
X = rng.normal(size=(25, 2))
Y = np.stack([np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=25), X[:, 1] + 3.0], axis=1)
W = rng.integers(1, 4, size=25).astype(float)
C = np.array([0.05, 1.0, 300.0])


def naive(K, y, cost, w):
    """The bordered system, solved."""
    n = len(y)
    A = np.block([[K + np.diag(1.0 / (cost * w)), np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
    solved = np.linalg.solve(A, np.concatenate([y, np.zeros((1, y.shape[1]))]))
    return solved[:n], solved[n]


@pytest.mark.parametrize("kernel", [Gaussian(1.0), NegativeDistance()], ids=repr)
@pytest.mark.parametrize("w", [np.ones(25), W], ids=["equal", "weighted"])
def test_every_machine_of_the_path_is_the_one_fitted_alone(kernel, w):
    K = kernel(X)
    path = lssvm_path(K, Y, C, w)
    for place, cost in enumerate(C):
        coef, bias = naive(K, Y, cost, w)
        assert np.allclose(path.coef[place], coef, rtol=1e-8, atol=1e-9)
        assert np.allclose(path.intercept[place], bias, rtol=1e-9)
        for i in range(25):
            rest = np.delete(np.arange(25), i)
            coef, bias = naive(K[np.ix_(rest, rest)], Y[rest], cost, w[rest])
            assert np.allclose(path.left_out[place, i], K[i, rest] @ coef + bias, rtol=1e-9, atol=1e-9)
    assert np.allclose(path.press, (w[:, None] * (Y - path.left_out) ** 2).sum(axis=1))


@pytest.mark.parametrize("w", [np.ones(25), W], ids=["equal", "weighted"])
def test_the_evidence_is_the_density_of_all_copies_with_a_bias_that_may_be_anything(w):
    again = np.repeat(np.arange(25), w.astype(int))
    K, N = Gaussian(1.0)(X[again]), len(again)
    wide = 1e7  # variance of the bias: its density at zero is taken off
    for place, cost in enumerate(C):
        path = lssvm_path(Gaussian(1.0)(X), Y, C, w)
        for column in range(2):
            y = Y[again, column]
            coef, _ = naive(K, y[:, None], cost, np.ones(N))
            s2 = float(y @ coef[:, 0]) / (N - 1)
            covariance = s2 * (K + np.eye(N) / cost) + wide
            density = -0.5 * (np.linalg.slogdet(2 * np.pi * covariance)[1] + y @ np.linalg.solve(covariance, y))
            value = density + 0.5 * np.log(2 * np.pi * wide)
            assert np.isclose(path.log_evidence[place, column], value, atol=1e-3)


@pytest.mark.parametrize("w", [np.ones(25), W], ids=["equal", "weighted"])
@pytest.mark.parametrize(
    ("spec", "kernel"), [(Features(), Linear()), (Nystrom(6), Gaussian(1.0)), (Nystrom(25), Gaussian(1.0))], ids=str
)
def test_low_rank_gives_the_same(spec, kernel, w):
    gram = spec.build(kernel, Vectors.pack(X + 5.0))
    low, full = spectrum(gram, Y, w), lssvm_path(gram.to_dense(), Y, C, w)
    assert np.allclose(low.at(C).press, full.press, rtol=1e-7)
    assert np.allclose(low.at(C).log_evidence, full.log_evidence, rtol=1e-7, atol=1e-6)
    assert np.isclose(low.unit, spectrum(Dense().build(kernel, Vectors.pack(X + 5.0)), Y, w).unit, rtol=0.5)


def test_the_best_cost_is_that_of_a_long_grid():
    gram = Dense().build(Gaussian(1.0), Vectors.pack(X))
    found, grid, values = best_cost([spectrum(gram, Y[:, :1], np.ones(25))], lambda path: path.press)
    assert np.all(np.diff(grid) >= 0) and values.min() == values[np.searchsorted(grid, found)]
    many = np.logspace(-3, 6, 2000)
    press = lssvm_path(gram.to_dense(), Y[:, :1], many).press[:, 0]
    assert values.min() <= press.min() * (1 + 1e-3)


def test_costs_must_be_positive():
    with pytest.raises(ParameterError, match="positive"):
        lssvm_path(np.eye(3), np.ones(3), [1.0, 0.0])


def test_a_sample_that_alone_decides_has_no_left_out_value():
    path = lssvm_path(np.ones((1, 1)), np.ones(1), [1.0])
    assert np.isnan(path.left_out).all()
