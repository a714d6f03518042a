import numpy as np
import pytest

from mercer.errors import DegenerateWarning
from mercer.problems import LinearSystem
from mercer.selection import leave_one_out, leave_one_out_from_hat
from mercer.solvers import Cholesky, Woodbury
from tests.unit.solvers.matrices import LowRank, Matrix, gaussian, reference

N = 25
rng = np.random.default_rng(0)
X = rng.normal(size=(N, 2))
K = gaussian(X)
F = rng.normal(size=(N, 4))
BORDERS = {"none": None, "ones": np.ones((N, 1)), "plane": np.column_stack([np.ones(N), X])}
SHIFTS = {"scalar": 0.2, "weights": 0.2 / rng.uniform(0.1, 4.0, size=N), "small": 1e-6}
SIDES = {"vector": rng.normal(size=N), "matrix": rng.normal(size=(N, 2))}


def brute_force(K, shift, y, border):
    """Fit n times without one sample each, and predict it."""
    shift = np.broadcast_to(shift, N)
    out = np.empty_like(y)
    for i in range(N):
        rest = np.delete(np.arange(N), i)
        part = None if border is None else border[rest]
        coef, multipliers = reference(K[np.ix_(rest, rest)], shift[rest], y[rest], part)
        out[i] = K[i, rest] @ coef + (0.0 if border is None else border[i] @ multipliers)
    return out


@pytest.mark.parametrize("border", BORDERS.values(), ids=BORDERS)
@pytest.mark.parametrize("shift", SHIFTS.values(), ids=SHIFTS)
@pytest.mark.parametrize("y", SIDES.values(), ids=SIDES)
def test_cholesky_equals_n_fits(border, shift, y):
    solution = Cholesky().solve(LinearSystem(Matrix(K), shift, y, border))
    found = leave_one_out(y, solution.coef, solution.state.inverse_diagonal())
    expected = brute_force(K, shift, y, border)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)
    assert found.shape == y.shape


@pytest.mark.parametrize("border", BORDERS.values(), ids=BORDERS)
@pytest.mark.parametrize("shift", SHIFTS.values(), ids=SHIFTS)
@pytest.mark.parametrize("y", SIDES.values(), ids=SIDES)
def test_woodbury_equals_n_fits(border, shift, y):
    solution = Woodbury().solve(LinearSystem(LowRank(F), shift, y, border))
    expected = brute_force(F @ F.T, shift, y, border)
    found = leave_one_out(y, solution.coef, solution.state.inverse_diagonal())
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)
    fitted = F @ solution.weights + (0.0 if border is None else border @ solution.multipliers)
    found = leave_one_out_from_hat(y, fitted, solution.state.leverage())
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)


def test_the_seeds_score():
    # [KIKS] Section 4.1.1: the squared length of H^-1 (y - K a), H the diagonal of I - K (K + lambda I)^-1
    y, ridge = SIDES["vector"], 0.2
    solution = Cholesky().solve(LinearSystem(Matrix(K), ridge, y))
    H = np.diagonal(np.eye(N) - K @ np.linalg.inv(K + ridge * np.eye(N)))
    score = np.sum(((y - K @ solution.coef) / H) ** 2)
    found = leave_one_out(y, solution.coef, solution.state.inverse_diagonal())
    assert np.sum((y - found) ** 2) == pytest.approx(score)


def test_the_mean():
    y = np.array([1.0, 2.0, 6.0])
    found = leave_one_out_from_hat(y, np.full(3, 3.0), np.full(3, 1.0 / 3.0))
    np.testing.assert_allclose(found, [4.0, 3.5, 1.5])


@pytest.mark.parametrize(
    "solver, gram", [(Cholesky(), Matrix(F @ F.T)), (Woodbury(), LowRank(F))], ids=["dense", "factor"]
)
def test_a_sample_that_alone_determines_a_function(solver, gram):
    border = np.column_stack([np.ones(N), np.zeros(N)])
    border[7, 1] = 3.0  # without sample 7 this multiplier is free
    y = SIDES["vector"]
    solution = solver.solve(LinearSystem(gram, 0.3, y, border))
    with pytest.warns(DegenerateWarning, match=r"1 samples, the first of them number 7, .* not defined"):
        found = leave_one_out(y, solution.coef, solution.state.inverse_diagonal())
    assert np.isnan(found[7])
    rest = np.delete(np.arange(N), 7)
    # the others are predicted as if sample 7 were not there
    inner = solver.solve(
        LinearSystem(
            type(gram)(F[rest] if type(gram) is LowRank else gram.K[np.ix_(rest, rest)]),
            0.3,
            y[rest],
            np.ones((N - 1, 1)),
        )
    )
    np.testing.assert_allclose(
        found[rest], leave_one_out(y[rest], inner.coef, inner.state.inverse_diagonal()), rtol=1e-7
    )


def test_leverage_of_one():
    with pytest.warns(DegenerateWarning):
        found = leave_one_out_from_hat(np.ones(2), np.ones(2), np.array([1.0, 0.5]))
    np.testing.assert_array_equal(np.isnan(found), [True, False])
