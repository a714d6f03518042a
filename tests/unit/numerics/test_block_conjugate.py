"""Block conjugate gradients against dense solves, and against columns on their own."""

import numpy as np
import pytest

from mercer.errors import NotPositiveDefinite
from mercer.kernels import Gaussian
from mercer.numerics.block_conjugate import block_solve
from mercer.numerics.krylov import krylov_solve
from mercer.numerics.pivoting import Preconditioner, pivoted_cholesky
from mercer.numerics.sketches import nystrom_sketch

rng = np.random.default_rng(0)
X = rng.normal(size=(250, 2))
K = Gaussian(0.7)(X)
SHIFT = rng.uniform(0.5e-3, 2e-3, size=250)
G = K + np.diag(SHIFT)
B = rng.normal(size=(250, 8))
PIVOTED = Preconditioner.of(pivoted_cholesky(np.diag(K), lambda i: K[i], 30).array, SHIFT)
SKETCHED = Preconditioner.of(nystrom_sketch(lambda V: K @ V, 250, 30), SHIFT)


def times(V):
    return G @ V


@pytest.mark.parametrize("precondition", [None, PIVOTED.solve, SKETCHED.solve], ids=["none", "pivoted", "nystrom"])
@pytest.mark.parametrize("start", [None, rng.normal(size=(250, 8))], ids=["zero", "warm"])
def test_solutions(precondition, start):
    found = block_solve(times, B, precondition, start=start, tol=1e-10)
    assert found.converged and found.residuals.max() <= 1e-10
    assert np.allclose(found.solutions, np.linalg.solve(G, B), rtol=1e-6, atol=1e-6)
    assert np.allclose(np.linalg.norm(B - G @ found.solutions, axis=0) / np.linalg.norm(B, axis=0), found.residuals)


@pytest.mark.parametrize("precondition", [None, PIVOTED.solve], ids=["none", "pivoted"])
def test_columns_help_each_other(precondition):
    alone = krylov_solve(times, B, precondition, tol=1e-8).iterations
    assert block_solve(times, B, precondition, tol=1e-8).iterations < 0.7 * alone


def test_preconditioners_save_iterations():
    plain = block_solve(times, B).iterations
    assert block_solve(times, B, PIVOTED.solve).iterations < 0.6 * plain
    assert block_solve(times, B, SKETCHED.solve).iterations < 0.6 * plain


def test_equal_zero_and_dependent_columns():
    b = B[:, 0]
    rhs = np.stack([b, b, np.zeros(250), 1e8 * b, B[:, 1] + b], axis=1)
    found = block_solve(times, rhs, tol=1e-9)
    assert found.converged
    exact = np.linalg.solve(G, rhs)
    assert np.allclose(found.solutions, exact, rtol=0.0, atol=1e-6 * np.abs(exact).max(axis=0))
    assert np.all(found.solutions[:, 2] == 0.0)
    nothing = block_solve(times, np.zeros((250, 3)))
    assert nothing.converged and nothing.iterations == 0


def test_one_column_is_conjugate_gradients():
    one, many = krylov_solve(times, B[:, :1], tol=1e-8), block_solve(times, B[:, :1], tol=1e-8)
    assert abs(one.iterations - many.iterations) <= 0.1 * one.iterations
    assert np.allclose(one.solutions, many.solutions, rtol=1e-4, atol=1e-3)


def test_ends():
    assert block_solve(times, B, max_iter=3).iterations == 3
    assert not block_solve(times, B, max_iter=3).converged
    found = block_solve(times, B, monitor=lambda i, r: i >= 2)
    assert found.stopped and found.iterations == 2
    # a tolerance below rounding: it ends, and says what it reached
    least = block_solve(times, B, tol=1e-18, max_iter=500)
    assert not least.converged and least.residuals.max() < 1e-11


def test_an_indefinite_matrix_is_refused():
    with pytest.raises(NotPositiveDefinite, match="curvature"):
        block_solve(lambda V: -V, B)
    with pytest.raises(NotPositiveDefinite, match="curvature"):
        block_solve(lambda V: V * np.nan, B)
