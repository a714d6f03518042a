"""Bayesian inference of least squares machines."""

import numpy as np
import pytest

from mercer import free_parameters
from mercer.domains import Vectors
from mercer.gram import Dense, Features, Nystrom
from mercer.kernels import Gaussian, Linear, NegativeDistance
from mercer.problems import LinearSystem
from mercer.selection import Search, lssvm_path, tune
from mercer.selection.least_squares_evidence import (
    LeastSquaresCriterion,
    Moderation,
    log_evidence_of,
    posterior_of,
)
from mercer.solvers import Cholesky, Woodbury

rng = np.random.default_rng(0)
X = rng.normal(size=(22, 2))
Y = np.stack([np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=22), X[:, 1] + 3.0], axis=1)
W = rng.integers(1, 4, size=22).astype(float)
T = rng.normal(size=(6, 2))
S = Vectors.pack(X)
ALL = [(np.arange(22), Y)]
KERNEL = 1.3 * Gaussian((0.8, 1.7)) + 0.2 * Linear()


def solved(spec, kernel, w, C):
    gram = spec.build(kernel, S)
    shift = 1.0 / (C * w)
    total = float((gram @ np.ones(22)).sum() + shift.sum())
    solver = Cholesky() if isinstance(spec, Dense) else Woodbury()
    return gram, solver.solve(LinearSystem(gram, shift, Y, np.ones((22, 1)))), total


@pytest.mark.parametrize("kind", ["evidence", "loo"])
@pytest.mark.parametrize("w", [np.ones(22), W], ids=["equal", "weighted"])
@pytest.mark.parametrize("guard", [False, True])
def test_derivatives_are_those_of_finite_differences(kind, w, guard):
    parts = [(np.arange(22), Y), (np.arange(3, 17), np.sign(Y[3:17, :1]))]
    criterion = LeastSquaresCriterion(
        kind, S, parts, w, start=2.0 * Gaussian((1.0, 1.0)) + 0.5 * Linear() if guard else None, moving=4
    )
    free, C, step = free_parameters.free_values(KERNEL), 3.0, 1e-6
    _, raw, beside = criterion(KERNEL, {"C": np.array(C)})
    for j in range(len(free)):
        ends = []
        for sign in (1, -1):
            moved = free.copy()
            moved[j] += sign * step
            ends.append(criterion(free_parameters.with_free(KERNEL, moved), {"C": np.array(C)})[0])
        assert np.isclose(raw[j], (ends[0] - ends[1]) / (2 * step), rtol=1e-5, atol=1e-6)
    ends = [criterion(KERNEL, {"C": np.array(C + sign * step)})[0] for sign in (1, -1)]
    assert np.isclose(float(beside["C"]), (ends[0] - ends[1]) / (2 * step), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("w", [np.ones(22), W], ids=["equal", "weighted"])
def test_values_are_those_of_the_path(w):
    path = lssvm_path(Gaussian(1.0)(X), Y, [2.0], w)
    value, _, _ = LeastSquaresCriterion("evidence", S, ALL, w)(Gaussian(1.0), {"C": np.array(2.0)})
    assert np.isclose(-value, path.log_evidence.sum())
    value, _, _ = LeastSquaresCriterion("loo", S, ALL, w)(Gaussian(1.0), {"C": np.array(2.0)})
    assert np.isclose(value, 0.5 * w.sum() * np.log(path.press.sum() / w.sum()))


@pytest.mark.parametrize("w", [np.ones(22), W], ids=["equal", "weighted"])
@pytest.mark.parametrize(
    ("spec", "kernel"), [(Dense(), Gaussian(1.0)), (Features(), Linear()), (Nystrom(7), Gaussian(1.0))], ids=str
)
def test_the_evidence_of_a_solved_system(spec, kernel, w):
    K = spec.build(kernel, S).to_dense()
    _, solution, _ = solved(spec, kernel, w, 2.0)
    quadratic = np.einsum("ik,ik->k", Y, solution.coef)
    assert np.allclose(log_evidence_of(solution.state, quadratic, w, 2.0), lssvm_path(K, Y, [2.0], w).log_evidence[0])


def test_the_evidence_has_its_maximum_where_the_search_ends():
    parts = [(np.arange(22), Y[:, :1])]
    criterion = LeastSquaresCriterion("evidence", S, parts, np.ones(22))
    found = tune(criterion, Gaussian(1.0), {"C": 1.0}, search=Search(tol=1e-7))
    best = -found.value
    for kernel, C in ((1.02, 1.0), (0.98, 1.0), (1.0, 1.05), (1.0, 0.95)):
        moved = Gaussian(found.kernel.length_scale * kernel)
        assert lssvm_path(moved(X), Y[:, 0], [float(found.beside["C"]) * C]).log_evidence.sum() < best


def test_the_guard_keeps_length_scales_near_their_start():
    noise = np.random.default_rng(3)
    wide = noise.normal(size=(20, 8))
    y = noise.normal(size=(20, 1))  # nothing to learn: what leaving out seems to find is chance
    S, parts = Vectors.pack(wide), [(np.arange(20), y)]
    start = Gaussian((3.0,) * 8)
    away, errors = [], []
    for guard in (None, start):
        criterion = LeastSquaresCriterion("loo", S, parts, np.ones(20), start=guard, moving=8)
        found = tune(criterion, start, {"C": 1.0})
        away.append(np.linalg.norm(np.log(np.asarray(found.kernel.length_scale) / 3.0)))
        bare = LeastSquaresCriterion("loo", S, parts, np.ones(20))
        errors.append(bare(found.kernel, found.beside)[0])
    assert away[1] < 0.5 * away[0] and errors[0] < errors[1]


def naive_variance(K, cross, own, w, C):
    """A Gaussian process with a constant whose prior variance is huge."""
    wide = 1e6
    G = K + wide + np.diag(1.0 / (C * w))
    return own + wide - np.einsum("ij,ji->i", cross + wide, np.linalg.solve(G, (cross + wide).T))


@pytest.mark.parametrize("w", [np.ones(22), W], ids=["equal", "weighted"])
@pytest.mark.parametrize(
    ("spec", "kernel"), [(Dense(), Gaussian(1.0)), (Features(), Linear()), (Nystrom(7), Gaussian(1.0))], ids=str
)
def test_the_posterior_is_that_of_a_gaussian_process_with_a_constant(spec, kernel, w):
    gram, solution, total = solved(spec, kernel, w, 2.0)
    posterior = posterior_of(gram, solution.state, total)
    fresh = spec.build(kernel, S)
    cross = fresh.cross(Vectors.pack(T)).to_dense()
    own = kernel.diag(Vectors.pack(T))  # with landmarks, what they do not see of a new sample is not known
    expected = naive_variance(fresh.to_dense(), cross, own, w, 2.0)
    variance = posterior.variance(Vectors.pack(T))
    assert np.allclose(variance, expected, rtol=1e-4, atol=1e-5)
    covariance = posterior.covariance(Vectors.pack(T))
    assert np.array_equal(np.diagonal(covariance), variance)
    assert np.linalg.eigvalsh(covariance).min() > -1e-10
    samples = 2.0 * rng.normal(size=(3, 6))  # var of a contrast is a quadratic form of the covariance
    contrast = samples - samples.mean(axis=1, keepdims=True)
    G = fresh.to_dense() + 1e6 + np.diag(1.0 / (2.0 * w))
    full = kernel(T) - (cross + 1e6) @ np.linalg.solve(G, (cross + 1e6).T) + 1e6
    assert np.allclose(contrast @ covariance @ contrast.T, contrast @ full @ contrast.T, atol=1e-4)


def test_the_posterior_of_a_conditionally_definite_kernel():
    gram, solution, total = solved(Dense(), NegativeDistance(), np.ones(22), 2.0)
    variance = posterior_of(gram, solution.state, total).variance(Vectors.pack(T))
    K, cross = NegativeDistance()(X), NegativeDistance()(T, X)
    A = np.block([[K + np.eye(22) / 2.0, np.ones((22, 1))], [np.ones((1, 22)), np.zeros((1, 1))]])
    h = np.column_stack([cross, np.ones(6)])
    assert np.allclose(variance, -np.einsum("ij,ji->i", h, np.linalg.solve(A, h.T)))
    assert (variance > 0).all()


def test_variances_are_never_negative_and_vanish_at_samples_that_are_believed():
    gram, solution, total = solved(Dense(), Gaussian(3.0), np.ones(22), 1e9)
    variance = posterior_of(gram, solution.state, total).variance(S)
    assert (variance >= 0).all() and variance.max() < 1e-8


def test_moderation_is_bayes_rule_for_normal_classes():
    rng = np.random.default_rng(1)
    sign = np.where(rng.random(20000) < 0.3, 1, -1)
    f = 0.6 * sign + 0.5 * rng.normal(size=20000)
    found = Moderation.of(f, sign, np.ones(20000), np.zeros(20000), 1.0)
    assert np.allclose(found.means, (-0.6, 0.6), atol=0.03) and np.isclose(found.variance, 0.25, rtol=0.05)
    exact = 0.3 * np.exp(-2 * (0.1 - 0.6) ** 2) / (0.3 * np.exp(-2 * (0.1 - 0.6) ** 2) + 0.7 * np.exp(-2 * 0.7**2))
    assert np.isclose(found(np.array([0.1]), np.zeros(1))[0], exact, atol=0.02)
    assert np.isclose(found(np.array([5.0]), np.array([1e9]))[0], 0.3, atol=0.01)
