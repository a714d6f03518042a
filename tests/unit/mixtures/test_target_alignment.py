"""Weights by alignment, against the quotient they are to make largest."""

import numpy as np
from scipy.optimize import minimize

from mercer.mixtures import Alignment
from mercer.mixtures.target_alignment import inner_products
from mercer.solvers.mixtures.stack import Matrix

rng = np.random.default_rng(3)
X = rng.normal(size=(25, 4))
Y = np.sign(X[:, :1] + 0.3 * X[:, 1:2])
GRAMS = [Matrix(np.exp(-0.5 * (X[:, [j]] - X[:, j]) ** 2)) for j in range(4)]


def centred(K):
    P = np.eye(len(K)) - 1.0 / len(K)
    return P @ K @ P


def alignment(d, grams=GRAMS, targets=Y):
    K = centred(sum(a * gram.array for a, gram in zip(d, grams, strict=True)))
    T = centred(targets @ targets.T)
    return np.sum(K * T) / np.linalg.norm(K)


def test_the_alignment_is_the_largest():
    d = Alignment().of(GRAMS, Y, np.ones(25))
    assert np.isclose(d.sum(), 1.0) and d.min() >= 0.0
    found = minimize(lambda v: -alignment(np.abs(v)), np.ones(4), method="Nelder-Mead", options={"maxiter": 4000})
    assert alignment(d) >= -found.fun * (1.0 - 1e-9)


def test_inner_products_are_those_of_centred_matrices():
    M, a = inner_products(GRAMS, np.ones(25), Y)
    assert np.isclose(M[0, 2], np.sum(centred(GRAMS[0].array) * centred(GRAMS[2].array)))
    assert np.isclose(a[1], np.sum(centred(GRAMS[1].array) * centred(Y @ Y.T)))


def test_weights_of_samples_are_repetitions():
    w = rng.integers(1, 4, size=25).astype(float)
    index = np.repeat(np.arange(25), w.astype(int))
    repeated = [gram.take(index) for gram in GRAMS]
    once = Alignment().of(GRAMS, Y, w)
    assert np.allclose(once, Alignment().of(repeated, Y[index], np.ones(len(index))), rtol=1e-8, atol=1e-10)


def test_twins_share_and_nothing_aligned_is_equal():
    d = Alignment().of([GRAMS[0], GRAMS[0]], Y, np.ones(25))
    assert np.allclose(d, 0.5, atol=1e-6)
    against = Matrix(-centred(Y @ Y.T))
    assert np.allclose(Alignment().of([against, against], Y, np.ones(25)), 0.5)
