"""What every solver of linear systems, and of box-constrained programs, obeys on every Gram it accepts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer import catalogue
from mercer.domains import Vectors
from mercer.gram import Dense, HasEigen, HasFactor, Repeated, Tiles
from mercer.kernels import Gaussian
from mercer.problems import BoxQP, LinearSystem, Status
from mercer.solvers import SMO, Cholesky, ConjugateGradient, InteriorPoint, Woodbury
from mercer.testing.members import member
from tests.unit.solvers.machines import objective, require_feasible, residual
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


def _by_itself(cls):
    """The row of a solver that is not in the table: as exact as it can be, on a matrix that offers what it needs."""
    solver, holder = member(cls), LowRank if HasFactor in cls.needs else Matrix
    return solver.replace(tol=EXACT) if hasattr(solver, "tol") else solver, holder


PAIRS |= {
    row.name: _by_itself(row.cls)
    for row in catalogue.solvers()
    if row.cls.solves is LinearSystem
    and HasEigen not in row.cls.needs  # whose shift is one number
    and not any(row.name == pair.partition(",")[0].split()[0] for pair in PAIRS)
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


# box-constrained programs -------------------------------------------------------------------------------

BOXED = {
    "SMO, Dense": (SMO(), Dense()),
    "SMO, Tiles": (SMO(), Tiles()),
    "SMO, mixed Tiles": (SMO(), Tiles(precision="mixed")),
    "SMO without shrinking, Tiles": (SMO(shrinking=False), Tiles()),
    "InteriorPoint, Dense": (InteriorPoint(), Dense()),
}
boxed = pytest.mark.parametrize("pair", BOXED)


@st.composite
def programs(draw):
    """Samples, linear term, box, groups, totals and ridge; totals are those of a point inside the box."""
    n, groups = draw(st.integers(4, 30)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.normal(size=(n, 2))
    lower, upper = -rng.uniform(0.0, 2.0, n), rng.uniform(0.0, 2.0, n)
    group = rng.integers(0, groups, size=n)
    inside = lower + rng.uniform(0.2, 0.8, n) * (upper - lower)
    total = np.bincount(group, weights=inside, minlength=groups)
    ridge = draw(st.sampled_from([0.0, 0.1])) * rng.uniform(0.5, 2.0, n)
    return X, rng.normal(size=n), (lower, upper), group, total, ridge


def boxqp(pair, program):
    X, p, (lower, upper), group, total, ridge = program
    gram = BOXED[pair][1].build(Gaussian(1.0), Vectors.pack(X))
    return BoxQP(gram, p, lower, upper, group, total, ridge)


def least(pair, program):
    """The value that a solver reaches."""
    problem = boxqp(pair, program)
    return objective(problem, BOXED[pair][0].solve(problem).coef)


@boxed
@given(programs())
def test_the_optimality_conditions_hold(pair, program):
    problem = boxqp(pair, program)
    solution = BOXED[pair][0].solve(problem)
    require_feasible(problem, solution.coef)
    assert solution.status is Status.CONVERGED
    assert residual(problem, solution.coef) <= 1e-3 + 1e-9
    assert solution.residual == pytest.approx(residual(problem, solution.coef), abs=1e-7)


@boxed
@given(programs())
def test_no_feasible_point_is_better_than_the_gap_says(pair, program):
    problem = boxqp(pair, program)
    solution = BOXED[pair][0].solve(problem)
    difference = objective(problem, solution.coef) - least("InteriorPoint, Dense", program)
    assert -1e-7 <= difference <= solution.gap + 1e-7


@boxed
@given(programs(), st.randoms(use_true_random=False))
def test_order_of_variables_does_not_matter(pair, program, random):
    X, p, (lower, upper), group, total, ridge = program
    order = np.array(random.sample(range(len(X)), len(X)))
    mixed = (X[order], p[order], (lower[order], upper[order]), group[order], total, ridge[order])
    assert least(pair, mixed) == pytest.approx(least(pair, program), abs=1e-6)


@boxed
@given(programs(), st.floats(-3.0, 3.0))
def test_a_constant_in_the_gradient_of_a_group_moves_its_multiplier_alone(pair, program, shift):
    X, p, box, group, total, ridge = program
    moved = (X, p + shift * (group == 0), box, group, total, ridge)
    assert least(pair, moved) == pytest.approx(least(pair, program) + shift * total[0], abs=1e-6)


@boxed
@given(programs())
def test_a_variable_twice_is_a_box_twice_as_wide(pair, program):
    """Two variables for one sample share its work: their sum is the solution with both boxes added."""
    X, p, (lower, upper), group, total, _ = program
    both = np.r_[np.arange(len(X)), np.arange(len(X))]
    gram = Repeated(BOXED[pair][1].build(Gaussian(1.0), Vectors.pack(X)), both)
    twice = BoxQP(gram, p[both], lower[both], upper[both], group[both], 2 * total)
    found = BOXED[pair][0].solve(twice)
    require_feasible(twice, found.coef)
    wide = (X, p, (2 * lower, 2 * upper), group, 2 * total, np.zeros(len(X)))
    assert objective(twice, found.coef) == pytest.approx(least(pair, wide), abs=1e-6)
