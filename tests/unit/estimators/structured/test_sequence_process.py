"""Gaussian processes of sequences, against all label sequences, differences of the objective, and quadrature."""

import warnings
from itertools import pairwise, product

import numpy as np
import pytest

from mercer import (
    GaussianProcessClassifier,
    GaussianProcessSequenceClassifier,
    KernelCRF,
    LabelSequences,
    NetworkLabels,
)
from mercer.errors import CapabilityError, ConvergenceWarning, MemoryBudgetError
from mercer.estimators.structured.sequence_process import _precision
from mercer.free_parameters import free_names
from mercer.kernels import Gaussian

RNG = np.random.default_rng(0)
LENGTHS = [3, 1, 2]
X = [RNG.normal(size=(m, 1)) for m in LENGTHS]
Y = [(x[:, 0] > 0.0).astype(int) for x in X]
NEW = RNG.normal(size=(3, 1))
KERNEL, WEIGHT = 2.0 * Gaussian(0.7), np.array([1.0, 2.0, 0.5])


def fitted(window, **options):
    outputs = LabelSequences(window, transition_scale=1.5)
    return GaussianProcessSequenceClassifier(KERNEL, outputs=outputs, tol=1e-10, **options).fit(X, Y, WEIGHT)


def covariance(A, B, window):
    """Prior covariance of the scores of two lists of sequences, position by position."""
    out = []
    for a in A:
        for s in range(len(a)):
            row = []
            for b in B:
                for t in range(len(b)):
                    both = [d for d in range(-window, window + 1) if 0 <= s + d < len(a) and 0 <= t + d < len(b)]
                    row.append(sum(KERNEL(a[s + d : s + d + 1], b[t + d : t + d + 1])[0, 0] for d in both))
            out.append(row)
    return np.array(out)


def prior(A, B, window):
    """The same of all labels and of the weights of pairs of labels."""
    scores = np.kron(covariance(A, B, window), np.eye(2))
    out = np.zeros((len(scores) + 4, scores.shape[1] + 4))
    out[:-4, :-4], out[-4:, -4:] = scores, np.eye(4)
    return out


def log_likelihood(z):
    """log p(y | scores, weights), by all label sequences."""
    U, W, total, offsets = z[:-4].reshape(-1, 2), np.sqrt(1.5) * z[-4:].reshape(2, 2), 0.0, np.cumsum([0, *LENGTHS])
    for (a, b), y, c in zip(pairwise(offsets), Y, WEIGHT, strict=True):
        score = {
            path: U[np.arange(a, b), list(path)].sum() + sum(W[i, j] for i, j in pairwise(path))
            for path in product((0, 1), repeat=b - a)
        }
        total += c * (score[tuple(y)] - np.log(np.exp(list(score.values())).sum()))
    return total


def second_derivatives(function, z, h=1e-3):
    """By central differences of fourth order in pairs of directions; errors about h^4 and 1e-16 / h^2."""
    n, out = len(z), np.zeros((len(z), len(z)))
    weights = {1: 8.0 / 12.0, -1: -8.0 / 12.0, 2: -1.0 / 12.0, -2: 1.0 / 12.0}
    for i in range(n):
        for j in range(i + 1):
            value = 0.0
            for (a, p), (b, q) in product(weights.items(), repeat=2):
                move = np.zeros(n)
                move[i] += a * h
                move[j] += b * h
                value += p * q * function(z + move)
            out[i, j] = out[j, i] = value / h**2
    return out


@pytest.mark.parametrize("window", [0, 1])
def test_mode_evidence_and_variances(window):
    model = fitted(window)
    F, offsets, _ = model._values(X)
    U = model.target_._chains(F, offsets, model.weights_).scores
    z, S = np.concatenate([U.ravel(), model.weights_]), prior(X, X, window)
    slope = np.array([log_likelihood(z + h) - log_likelihood(z - h) for h in 1e-5 * np.eye(len(z))]) / 2e-5
    np.testing.assert_allclose(z, S @ slope, atol=1e-8)  # the mode
    H = -second_derivatives(log_likelihood, z)
    objective = 0.5 * z @ np.linalg.solve(S, z) - log_likelihood(z)
    assert model.objective_ == pytest.approx(objective, rel=1e-8)
    evidence = -objective - 0.5 * np.linalg.slogdet(np.eye(len(z)) + H @ S)[1]
    assert model.log_marginal_likelihood_ == pytest.approx(evidence, abs=1e-6)
    cross = prior(X, [NEW], window)
    cov = prior([NEW], [NEW], window) - cross.T @ np.linalg.solve(np.linalg.inv(H + 1e-9 * np.eye(len(z))) + S, cross)
    mean, spread = model.predict_latent([NEW])[0]
    np.testing.assert_allclose(mean.ravel(), (cross.T @ slope)[:-4], atol=1e-7)
    np.testing.assert_allclose(spread.ravel(), np.diag(cov)[:-4], atol=1e-5)


def test_probabilities_are_averages_over_the_posterior():
    model = fitted(0, n_draws=2000)
    nodes, shares = np.polynomial.hermite_e.hermegauss(60)
    (mean, cov) = next(iter(model._moments([NEW[:1]])))
    d, s = mean[0, 0] - mean[0, 1], np.sqrt(cov[0, 0] + cov[1, 1] - 2.0 * cov[0, 1])
    wanted = shares @ (1.0 / (1.0 + np.exp(-(d + s * nodes)))) / shares.sum()
    # of values in [0, 1] each of 1 000 pairs has a standard deviation of at most one half; five of them
    assert model.marginals([NEW[:1]])[0][0] == pytest.approx([wanted, 1.0 - wanted], abs=5 * 0.5 / np.sqrt(1000))
    (mean, cov) = next(iter(model._moments([NEW])))
    draws = np.random.default_rng(1).multivariate_normal(np.append(mean.ravel(), model.weights_), cov, 20_000)
    paths = np.array(list(product((0, 1), repeat=3)))
    U, W = draws[:, :6].reshape(-1, 3, 2), np.sqrt(1.5) * draws[:, 6:].reshape(-1, 2, 2)
    score = sum(U[:, t, paths[:, t]] for t in range(3)) + sum(W[:, paths[:, t], paths[:, t + 1]] for t in range(2))
    p = np.exp(score - score.max(axis=1, keepdims=True))
    p = (p / p.sum(axis=1, keepdims=True)).mean(axis=0)
    wanted = np.array([[p[paths[:, t] == k].sum() for k in (0, 1)] for t in range(3)])
    np.testing.assert_allclose(model.marginals([NEW])[0], wanted, atol=5 * 0.5 * np.sqrt(1 / 1000 + 1 / 20_000))
    # less is known than at the mode alone
    sure = KernelCRF(KERNEL, outputs=model.outputs).fit(X, Y, WEIGHT)
    assert np.abs(model.marginals([NEW])[0] - 0.5).sum() < np.abs(sure.marginals([NEW])[0] - 0.5).sum()
    np.testing.assert_array_equal(model.predict([NEW])[0], sure.predict([NEW])[0])


def test_far_from_the_data_nothing_is_known_and_empty_sequences_have_no_labels():
    model = fitted(0)
    (mean, spread), empty = model.predict_latent([[[1e3]], []])
    np.testing.assert_allclose(mean, 0.0, atol=1e-12)
    np.testing.assert_allclose(spread, 2.0)
    assert empty[0].shape == model.marginals([[]])[0].shape == (0, 2)


def test_what_is_refused():
    with pytest.raises(CapabilityError, match="covariances are known"):
        GaussianProcessSequenceClassifier(outputs=NetworkLabels([[0, 1]])).fit(X, Y)
    with pytest.raises(MemoryBudgetError, match="second derivatives"):
        GaussianProcessSequenceClassifier(KERNEL, outputs=LabelSequences(), memory="1 MB").fit(
            [np.zeros((200, 1))], [np.arange(200) % 3]
        )
    with pytest.warns(ConvergenceWarning, match="stopped after"):
        GaussianProcessSequenceClassifier(KERNEL, outputs=LabelSequences(), max_iter=1).fit(X, Y)


def test_classes_are_sequences_of_one_label():
    T, y = RNG.normal(size=(12, 2)), np.arange(12) % 3
    model = GaussianProcessSequenceClassifier(KERNEL, tol=1e-10, n_draws=2000).fit(T, y)
    same = GaussianProcessClassifier(KERNEL, multi_class="softmax", fixed=free_names(KERNEL)).fit(T, y)
    assert model.log_marginal_likelihood_ == pytest.approx(same.log_marginal_likelihood_, abs=1e-6)
    mean, spread = same.predict_latent(T)
    found = model.predict_latent(T)
    np.testing.assert_allclose([one.ravel() for one, _ in found], mean, atol=1e-6)
    np.testing.assert_allclose([one.ravel() for _, one in found], spread, atol=1e-6)
    # 1 000 pairs of draws, and the lattice of the other one
    np.testing.assert_allclose(np.concatenate(model.marginals(T)), same.predict_proba(T), atol=0.08)


@pytest.mark.parametrize("size", [1e-18, 1.0, 1e18])
def test_curvature_of_low_rank_meets_priors_of_any_size(size):
    rng = np.random.default_rng(3)
    h, C = (
        rng.normal(size=8),
        size * np.diag(rng.uniform(1.0, 2.0, 3)),
    )  # three positions of two labels, and two weights
    S = np.concatenate([np.repeat(np.diag(C), 2), [1.0, 1.0]])
    total = float(np.sum(S * h**2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Q, log_determinant = _precision(np.outer(h, h), C, 2)
    # by the formula of Sherman and Morrison; rounding of the factor is relative to the largest entry
    np.testing.assert_allclose(Q, np.outer(h, h) / (1.0 + total), rtol=1e-10, atol=1e-12 / (1.0 + total))
    assert log_determinant == pytest.approx(np.log1p(total), rel=1e-10)
