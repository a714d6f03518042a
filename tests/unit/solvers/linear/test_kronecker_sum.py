"""The system of a table of pairs, against the same system written out."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.numerics.laplacians import laplacian
from mercer.problems import Status
from mercer.solvers.linear.kronecker_sum import solve_kronecker_sum

RNG = np.random.default_rng(0)


def graph(n):
    A = np.triu(RNG.random((n, n)) < 0.5, 1).astype(float)
    return laplacian(sp.csr_array(A + A.T), False)


@pytest.mark.parametrize("shape", [(6, 4), (5, 1)])
def test_against_the_kronecker_sum(shape):
    n, m = shape
    A, B = graph(n), graph(m) if m > 1 else sp.csr_array((1, 1))
    seen, Y = RNG.random(shape) < 0.4, RNG.normal(size=shape)
    seen[0, 0] = True
    whole = np.kron(A.toarray(), np.eye(m)) + np.kron(np.eye(n), B.toarray())
    system = np.diag(seen.ravel().astype(float)) + 0.1 * np.eye(n * m) + 0.7 * whole
    expected = np.linalg.solve(system, (seen * Y).ravel()).reshape(shape)
    found = solve_kronecker_sum((A, B), seen, np.where(seen, Y, 0.0), 0.1, 0.7, tol=1e-12)
    assert found.status is Status.CONVERGED and np.allclose(found.coef, expected, atol=1e-9)


def test_nothing_known_is_zero_and_it_stops_when_asked():
    A, none = graph(5), np.zeros((5, 5), dtype=bool)
    assert not solve_kronecker_sum((A, A), none, np.zeros((5, 5)), 0.1, 1.0).coef.any()
    all_seen = ~none
    found = solve_kronecker_sum((A, A), all_seen, RNG.normal(size=(5, 5)), 0.1, 1.0, monitor=lambda i, _: i >= 1)
    assert found.status is Status.STOPPED


@pytest.mark.parametrize("power", [-1000, -500, 500, 1000])
def test_units_change_no_bit(power):
    A, seen, Y = graph(6), RNG.random((6, 6)) < 0.4, RNG.normal(size=(6, 6))
    seen[0, 0] = True
    small, large = (solve_kronecker_sum((A, A), seen, u * np.where(seen, Y, 0.0), 0.1, 0.7) for u in (1.0, 2.0**power))
    assert np.array_equal(small.coef * 2.0**power, large.coef)
    assert small.status is large.status is Status.CONVERGED and small.residual == large.residual
