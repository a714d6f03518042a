"""What every solver of linear systems obeys, on every Gram it accepts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.problems import LinearSystem, Status
from mercer.solvers import Cholesky, ConjugateGradient, Woodbury
from tests.unit.solvers.matrices import LowRank, Matrix, Products

EXACT = 1e-12
PAIRS = {
    "Cholesky, Matrix": (Cholesky(), Matrix),
    "Cholesky, LowRank": (Cholesky(), LowRank),
    "Woodbury, LowRank": (Woodbury(), LowRank),
    "ConjugateGradient, Products": (ConjugateGradient(tol=EXACT), Products),
    "ConjugateGradient diagonal, Products": (
        ConjugateGradient(tol=EXACT, preconditioner="diagonal"),
        Products,
    ),
    "ConjugateGradient, LowRank": (ConjugateGradient(tol=EXACT), LowRank),
}


@st.composite
def systems(draw):
    """Factor, shift, right-hand side and border, well conditioned."""
    n, r, k, s = draw(st.tuples(st.integers(4, 20), st.integers(1, 25), st.integers(1, 3), st.integers(0, 3)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    size = 10.0 ** draw(st.integers(-3, 3))
    F = rng.normal(size=(n, r)) * np.sqrt(size)
    uniform = draw(st.booleans())
    shift = size * (0.5 if uniform else rng.uniform(0.2, 2.0, size=n))
    border = rng.normal(size=(n, s)) if s else None
    return F, shift, rng.normal(size=(n, k)), border


def run(pair, F, shift, rhs, border, start=None):
    solver, holder = PAIRS[pair]
    gram = holder(F) if holder is LowRank else holder(F @ F.T)
    return solver.solve(LinearSystem(gram, shift, rhs, border), start=start)


def left_of(solution, F, shift, rhs, border):
    left = rhs - F @ (F.T @ solution.coef) - (np.broadcast_to(shift, len(F)) * solution.coef.T).T
    return left if border is None else left - border @ solution.multipliers


def close(a, b, tolerance=1e-7):
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * max(1e-300, np.abs(b).max(initial=0.0)))


pairs = pytest.mark.parametrize("pair", PAIRS)


@pairs
@given(systems())
def test_both_equations_hold(pair, system):
    F, shift, rhs, border = system
    solution = run(pair, F, shift, rhs, border)
    assert solution.status is Status.CONVERGED
    assert np.all(np.linalg.norm(left_of(solution, *system), axis=0) <= 1e-9 * np.linalg.norm(rhs, axis=0))
    if border is not None:
        assert np.abs(border.T @ solution.coef).max() <= 1e-9 * max(1e-300, np.abs(solution.coef).sum())
    assert solution.residual <= 1e-9


@pairs
@given(systems(), st.randoms(use_true_random=False))
def test_order_of_samples_does_not_matter(pair, system, random):
    F, shift, rhs, border = system
    order = np.array(random.sample(range(len(F)), len(F)))
    solution = run(pair, F, shift, rhs, border)
    shift = shift if np.ndim(shift) == 0 else shift[order]
    mixed = run(pair, F[order], shift, rhs[order], None if border is None else border[order])
    close(mixed.coef, solution.coef[order])
    close(mixed.multipliers, solution.multipliers)


@pairs
@given(systems(), st.floats(-5.0, 5.0))
def test_linear_in_the_right_hand_side(pair, system, factor):
    F, shift, rhs, border = system
    combined = factor * rhs[:, :1] + 1.0
    whole = run(pair, F, shift, np.hstack([rhs[:, :1], np.ones((len(F), 1)), combined]), border)
    size = max(1.0, abs(factor)) * np.abs(whole.coef).max()
    expected = factor * whole.coef[:, 0] + whole.coef[:, 1]
    np.testing.assert_allclose(whole.coef[:, 2], expected, atol=1e-7 * size)


@pairs
@given(systems())
def test_a_vector_is_a_matrix_of_one_column(pair, system):
    F, shift, rhs, border = system
    flat, table = run(pair, F, shift, rhs[:, 0], border), run(pair, F, shift, rhs[:, :1], border)
    np.testing.assert_array_equal(flat.coef, table.coef[:, 0])
    np.testing.assert_array_equal(flat.multipliers, table.multipliers[:, 0])
    assert flat.coef.ndim == flat.multipliers.ndim == 1


@pairs
@given(systems(), st.integers(-3, 3))
def test_kernel_and_shift_scale_together(pair, system, power):
    F, shift, rhs, border = system
    solution = run(pair, F, shift, rhs, border)
    scaled = run(pair, F * 2.0**power, shift * 4.0**power, rhs, border)
    close(scaled.coef * 4.0**power, solution.coef)
    close(scaled.multipliers, solution.multipliers)


@pairs
@given(systems())
def test_functions_of_the_border_cost_nothing(pair, system):
    F, shift, rhs, border = system
    if border is None:
        return
    m = np.arange(1.0, 1.0 + border.shape[1])[:, None]
    plain, moved = run(pair, F, shift, rhs, border), run(pair, F, shift, rhs + border @ m, border)
    size = max(np.abs(plain.coef).max(), 1.0 / np.min(shift))
    np.testing.assert_allclose(moved.coef, plain.coef, atol=1e-7 * size)
    np.testing.assert_allclose(moved.multipliers - m, plain.multipliers, atol=1e-6 * np.abs(moved.multipliers).max())


@pairs
@given(systems())
def test_a_start_does_not_change_the_solution(pair, system):
    F, shift, rhs, border = system
    solution = run(pair, F, shift, rhs, border)
    start = solution.coef + 0.1 * np.abs(solution.coef).max()
    again = run(pair, F, shift, rhs, border, start=start)
    close(again.coef, solution.coef)


@pairs
@given(systems())
def test_the_solution_is_the_minimum(pair, system):
    """Of sum (y - f)^2 / shift + a^T K a over functions whose second part is free."""
    F, shift, rhs, border = system
    solution = run(pair, F, shift, rhs, border)
    B = np.zeros((len(F), 0)) if border is None else border

    def cost(v, m):
        f = F @ v + B @ m
        return np.sum((rhs - f) ** 2 / np.broadcast_to(shift, len(F))[:, None]) + np.sum(v**2)

    rng = np.random.default_rng(0)
    v = F.T @ solution.coef
    least = cost(v, solution.multipliers)
    for size in (1e-3, 1e-1, 1.0):
        dv, dm = size * rng.normal(size=v.shape), size * rng.normal(size=solution.multipliers.shape)
        assert cost(v + dv, solution.multipliers + dm) >= least * (1.0 - 1e-9)
