"""Random fields with few terms: the greedy choice, the optimum over the terms, and all terms as the limit."""

import numpy as np
import pytest
from scipy.optimize import minimize

from mercer import KernelCRF, LabelSequences, SparseKernelCRF
from mercer.kernels import Gaussian, Linear

RNG = np.random.default_rng(0)
X = RNG.normal(size=(14, 2))
Y = np.digitize(X[:, 0] + 0.2 * RNG.normal(size=14), [-0.5, 0.5])


def log_loss(F):
    return float(np.sum(np.log(np.exp(F).sum(axis=1)) - F[np.arange(14), Y]))


def test_the_first_term_has_the_largest_gradient_and_the_best_coefficient():
    model = SparseKernelCRF(Gaussian(1.0), n_terms=1, per_round=1).fit(X, Y)
    K = Gaussian(1.0)(X)
    zero = np.zeros((14, 3))
    slopes = np.zeros((14, 3))
    for s in range(14):
        for d in range(3):
            step = zero.copy()
            step[:, d] = 1e-5 * K[s]
            slopes[s, d] = abs(log_loss(zero + step) - log_loss(zero - step)) / 2e-5  # k(x, x) = 1
    s, d = model.terms_[0]
    assert slopes[s, d] == pytest.approx(slopes.max(), rel=1e-6)

    def objective(beta):
        F = zero.copy()
        F[:, d] = beta[0] * K[s]
        return 0.5 * beta[0] ** 2 + log_loss(F)

    assert model.objective_ == pytest.approx(minimize(objective, [0.0]).fun, abs=1e-7)


def test_with_all_terms_it_is_the_whole_field():
    whole = KernelCRF(Gaussian(1.0)).fit(X, Y)
    model = SparseKernelCRF(Gaussian(1.0), n_terms=42, per_round=6, tol=1e-9).fit(X, Y)
    assert model.objective_ == pytest.approx(whole.objective_, rel=1e-5)  # L-BFGS on coefficients, badly conditioned
    assert np.all(np.diff(model.objectives_) <= 1e-9)
    np.testing.assert_array_equal(model.predict(X), whole.predict(X))


def test_sequences_with_few_terms():
    words = [X[:5], X[5:9], X[9:]]
    tags = [Y[:5], Y[5:9], Y[9:]]
    whole = KernelCRF(Linear(), outputs=LabelSequences()).fit(words, tags)
    few = SparseKernelCRF(Linear(), outputs=LabelSequences(), n_terms=8, per_round=2).fit(words, tags)
    assert whole.objective_ <= few.objective_ + 1e-8
    assert few.objective_ <= 1.02 * whole.objective_  # three labels in two columns: six terms can say all


def test_weights_are_repetitions():
    words, tags, again = [X[:5], X[5:9], X[9:]], [Y[:5], Y[5:9], Y[9:]], [0, 0, 1]
    every = SparseKernelCRF(Linear(), outputs=LabelSequences(), n_terms=42, per_round=42, tol=1e-9)
    a = every.fit(words, tags, sample_weight=[2, 1, 0]).objective_
    b = every.fit([words[i] for i in again], [tags[i] for i in again]).objective_
    assert a == pytest.approx(b, rel=1e-6)
