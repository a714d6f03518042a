"""Conjugate gradients that remember their steps, against dense algebra."""

import numpy as np
import pytest

from mercer.errors import NotPositiveDefinite
from mercer.kernels import Gaussian
from mercer.numerics.krylov import krylov_solve, stochastic_logdet
from mercer.numerics.pivoting import Preconditioner, pivoted_cholesky

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 3))
K = Gaussian(1.5)(X)
shift = rng.uniform(0.05, 0.2, size=80)
G = K + np.diag(shift)
P = Preconditioner.of(pivoted_cholesky(np.diag(K), lambda i: K[i], 15).array, shift)
R = rng.normal(size=(80, 4))


def times(V):
    return G @ V


@pytest.mark.parametrize("precondition", [None, P.solve])
def test_solutions(precondition):
    found = krylov_solve(times, R, precondition, tol=1e-10)
    assert np.allclose(found.solutions, np.linalg.solve(G, R), atol=1e-8)
    assert found.residuals.max() <= 1e-10 and not found.stopped


def test_the_preconditioner_saves_iterations():
    assert krylov_solve(times, R, P.solve).iterations < 0.6 * krylov_solve(times, R).iterations


@pytest.mark.parametrize("precondition", [None, P.solve])
def test_quadrature_is_the_logarithm_of_the_matrix(precondition):
    M = np.eye(80) if precondition is None else P.array @ P.array.T + np.diag(shift)
    L = np.linalg.cholesky(M)
    inner = np.linalg.solve(L, np.linalg.solve(L, G).T)
    values, vectors = np.linalg.eigh(0.5 * (inner + inner.T))
    half = vectors.T @ np.linalg.solve(L, R)
    exact = np.log(values) @ half**2
    found = krylov_solve(times, R, precondition, tol=1e-12)
    assert np.allclose(found.logarithms(), exact, rtol=1e-8)
    assert np.allclose(found.logarithms(slice(-1, None)), exact[-1:], rtol=1e-8)


def test_columns_end_by_themselves():
    both = np.stack([R[:, 0], np.zeros(80), G[:, 0]], axis=1)
    found = krylov_solve(times, both, tol=1e-9)
    assert np.allclose(found.solutions[:, 1], 0.0) and np.allclose(found.solutions[:, 2], np.eye(80)[0], atol=1e-7)
    assert found.logarithms()[1] == 0.0
    single = krylov_solve(times, R[:, :1], tol=1e-9)
    assert np.allclose(found.solutions[:, 0], single.solutions[:, 0], atol=1e-10)


def test_iterations_and_monitors_are_obeyed():
    assert krylov_solve(times, R, max_iter=3).iterations == 3
    seen = []
    found = krylov_solve(times, R, monitor=lambda i, r: seen.append((i, r)) or i >= 2)
    assert found.stopped and [i for i, _ in seen] == [1, 2]


def test_an_indefinite_matrix_is_refused():
    with pytest.raises(NotPositiveDefinite, match="curvature"):
        krylov_solve(lambda V: -V, R)


@pytest.mark.parametrize("preconditioner", [None, P])
def test_the_determinant_is_within_its_error(preconditioner):
    exact = np.linalg.slogdet(G)[1]
    found = [stochastic_logdet(times, 80, preconditioner, probes=20, random_state=seed) for seed in range(20)]
    gaps = np.array([(run.value - exact) / run.error for run in found])
    assert np.abs(gaps).max() < 5.0 and np.sqrt(np.mean(gaps**2)) < 2.0
    assert found[0].value == stochastic_logdet(times, 80, preconditioner, probes=20, random_state=0).value


def test_a_preconditioner_leaves_less_to_chance():
    plain, better = stochastic_logdet(times, 80), stochastic_logdet(times, 80, P)
    assert better.error < 0.6 * plain.error and better.iterations < plain.iterations
    assert stochastic_logdet(times, 80, probes=1).error == np.inf
