import dataclasses

import numpy as np
import pytest

from mercer.errors import JitterWarning, ParameterError
from mercer.problems import LinearSystem, Status
from mercer.solvers import Cholesky, Woodbury
from mercer.solvers.linear import woodbury as module
from tests.unit.solvers.matrices import LowRank, reference, saddle

N = 80
rng = np.random.default_rng(0)
FACTORS = {"tall": rng.normal(size=(N, 7)), "wide": rng.normal(size=(N, 100)), "one": rng.normal(size=(N, 1))}
BORDERS = {
    "none": None,
    "empty": np.zeros((N, 0)),
    "ones": np.ones((N, 1)),
    "plane": np.column_stack([np.ones(N), 100.0 * rng.normal(size=(N, 2))]),
}
SHIFTS = {"scalar": 0.3, "vector": np.exp(3.0 * rng.normal(size=N))}
SIDES = {"vector": rng.normal(size=N), "matrix": rng.normal(size=(N, 3))}


@pytest.mark.parametrize("factor", FACTORS.values(), ids=FACTORS)
@pytest.mark.parametrize("border", BORDERS.values(), ids=BORDERS)
@pytest.mark.parametrize("shift", SHIFTS.values(), ids=SHIFTS)
@pytest.mark.parametrize("rhs", SIDES.values(), ids=SIDES)
def test_equals_elimination_on_the_whole_matrix(factor, border, shift, rhs):
    solution = Woodbury().solve(LinearSystem(LowRank(factor), shift, rhs, border))
    coef, multipliers = reference(factor @ factor.T, shift, rhs, border)
    size = np.abs(coef).max()
    np.testing.assert_allclose(solution.coef, coef, rtol=1e-8, atol=1e-10 * size)
    np.testing.assert_allclose(solution.multipliers, multipliers, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(solution.weights, factor.T @ coef, rtol=1e-7, atol=1e-9 * size)
    assert solution.coef.shape == rhs.shape
    assert solution.weights.shape == (factor.shape[1], *rhs.shape[1:])
    assert solution.multipliers.shape == (multipliers.shape[0], *rhs.shape[1:])
    assert solution.status is Status.CONVERGED
    assert solution.jitter == 0.0
    assert 0.0 <= solution.residual < 1e-12
    assert solution.trace.residual.tolist() == [solution.residual]
    assert solution.trace.objective[0] == pytest.approx(-0.5 * np.sum(rhs * coef), rel=1e-7)


@pytest.mark.parametrize("border", [None, BORDERS["ones"], BORDERS["plane"]], ids=["none", "ones", "plane"])
@pytest.mark.parametrize("shift", SHIFTS.values(), ids=SHIFTS)
def test_leverage_and_inverse_diagonal(border, shift):
    F = FACTORS["tall"]
    state = Woodbury().solve(LinearSystem(LowRank(F), shift, SIDES["vector"], border)).state
    inverse = np.linalg.inv(saddle(F @ F.T, shift, border))[:N, :N]
    np.testing.assert_allclose(state.inverse_diagonal(), np.diagonal(inverse), rtol=1e-8)
    hat = np.eye(N) - np.diag(np.broadcast_to(shift, N)) @ inverse  # f = y - S a
    np.testing.assert_allclose(state.leverage(), np.diagonal(hat), rtol=1e-8, atol=1e-12)


def test_the_factor_is_read_tile_by_tile(monkeypatch):
    monkeypatch.setattr(module, "_TILE", 7 * 64)
    gram = LowRank(FACTORS["tall"])
    solution = Woodbury().solve(LinearSystem(gram, 0.3, SIDES["matrix"], BORDERS["ones"]))
    assert gram.reads == N  # once beyond the normal equations
    expected = reference(gram.K, 0.3, SIDES["matrix"], BORDERS["ones"])[0]
    np.testing.assert_allclose(solution.coef, expected, rtol=1e-9, atol=1e-11)
    inverse = np.linalg.inv(saddle(gram.K, 0.3, BORDERS["ones"]))
    np.testing.assert_allclose(solution.state.inverse_diagonal(), np.diagonal(inverse)[:N], rtol=1e-9)


def test_weights_keep_digits_that_coefficients_lose():
    F = FACTORS["tall"]
    v = np.arange(1.0, 8.0)
    for shift in (1e-8, 1e-200):
        solution = Woodbury().solve(LinearSystem(LowRank(F), shift, F @ v))
        np.testing.assert_allclose(solution.weights, v, rtol=1e-7)
    assert np.abs(F.T @ solution.coef - v).max() > 1.0


def test_rank_zero():
    solution = Woodbury().solve(LinearSystem(LowRank(np.zeros((N, 0))), 2.0, SIDES["vector"]))
    np.testing.assert_allclose(solution.coef, SIDES["vector"] / 2.0)
    assert solution.weights.shape == (0,)


def test_dependent_columns_of_the_factor_with_a_tiny_shift_need_jitter():
    F = np.repeat(FACTORS["tall"], 2, axis=1)
    with pytest.warns(JitterWarning):
        solution = Woodbury().solve(LinearSystem(LowRank(F), 1e-30, F.sum(axis=1)))
    assert solution.jitter > 0.0
    np.testing.assert_allclose(F @ solution.weights, F.sum(axis=1), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("bad", [0.0, -1.0, np.inf, np.nan, 1e-310])
def test_a_shift_that_cannot_be_divided_by_is_refused(bad):
    shift = np.ones(N)
    shift[5] = bad
    with pytest.raises(ParameterError, match=r"for sample 5; .* positive and finite.* use solver=Cholesky"):
        Woodbury().solve(LinearSystem(LowRank(FACTORS["tall"]), shift, SIDES["vector"]))


def test_dependent_border_is_refused():
    with pytest.raises(ParameterError, match="rank 1"):
        Woodbury().solve(LinearSystem(LowRank(FACTORS["tall"]), 1.0, SIDES["vector"], np.ones((N, 2))))


def test_a_border_that_the_factor_spans_as_well():
    F = np.column_stack([np.ones(N), FACTORS["tall"]])
    problem = LinearSystem(LowRank(F), 0.5, SIDES["vector"], np.ones((N, 1)))
    woodbury, cholesky = Woodbury().solve(problem), Cholesky().solve(problem)
    np.testing.assert_allclose(woodbury.coef, cholesky.coef, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(woodbury.multipliers, cholesky.multipliers, rtol=1e-9)


def test_residual_is_that_of_the_equations_for_the_weights(monkeypatch):
    F, y, shift = FACTORS["tall"], SIDES["matrix"], SHIFTS["vector"]
    true = module.safe_cholesky

    def spoiled(N):  # a factor of another matrix, as with jitter
        other, factor = true(1.3 * N), true(N)
        return dataclasses.replace(factor, array=np.tril(factor.array, -1) + np.triu(other.array))

    monkeypatch.setattr(module, "safe_cholesky", spoiled)
    solution = Woodbury().solve(LinearSystem(LowRank(F), shift, y))
    left = (F.T / shift) @ F @ solution.weights + solution.weights - (F.T / shift) @ y
    expected = np.max(np.linalg.norm(left, axis=0) / np.linalg.norm((F.T / shift) @ y, axis=0))
    assert expected > 1e-2
    assert solution.residual == pytest.approx(expected, rel=1e-6)


def test_float32_factor():
    F = FACTORS["tall"].astype(np.float32)
    solution = Woodbury().solve(LinearSystem(LowRank(F), 0.3, SIDES["vector"]))
    assert solution.coef.dtype == solution.weights.dtype == np.float64
    wide = F.astype(np.float64)
    np.testing.assert_allclose(solution.coef, reference(wide @ wide.T, 0.3, SIDES["vector"])[0], rtol=1e-3, atol=1e-4)


def test_right_hand_sides_of_any_size():
    problem = lambda y: LinearSystem(LowRank(FACTORS["tall"]), 0.3, y, BORDERS["ones"])  # noqa: E731
    once = Woodbury().solve(problem(SIDES["vector"]))
    large = Woodbury().solve(problem(np.ldexp(SIDES["vector"], 600)))
    np.testing.assert_array_equal(large.coef, np.ldexp(once.coef, 600))
    np.testing.assert_array_equal(large.weights, np.ldexp(once.weights, 600))
    np.testing.assert_array_equal(large.multipliers, np.ldexp(once.multipliers, 600))
    assert large.residual == once.residual


@pytest.mark.parametrize("border", [None, np.ones((N, 1))], ids=["none", "ones"])
def test_blocks_of_the_inverse(border):
    F = np.random.default_rng(5).normal(size=(N, 4))
    shift = np.exp(np.random.default_rng(6).normal(size=N))
    P = np.linalg.inv(saddle(F @ F.T, shift, border))[:N, :N]
    state = Woodbury().solve(LinearSystem(LowRank(F), shift, np.ones(N), border)).state
    index = np.array([7, 3, 11])
    np.testing.assert_allclose(state.inverse_block(index), P[np.ix_(index, index)], rtol=1e-8, atol=1e-10)
