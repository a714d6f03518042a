import warnings

import numpy as np
import pytest

from mercer.domains import Vectors
from mercer.errors import CapabilityError, NotPositiveDefinite, ParameterError
from mercer.gram import Dense, Tiles
from mercer.kernels import Gaussian
from mercer.problems import LinearSystem, Status
from mercer.solvers import ConjugateGradient
from mercer.solvers.linear import conjugate_gradient as module
from tests.unit.solvers.matrices import Products, gaussian, reference

N = 80
rng = np.random.default_rng(0)
X = rng.normal(size=(N, 2))
K = gaussian(X)
BORDERS = {
    "none": None,
    "empty": np.zeros((N, 0)),
    "ones": np.ones((N, 1)),
    "plane": np.column_stack([np.ones(N), X]),
}
SHIFTS = {"scalar": 0.3, "vector": np.exp(2.0 * rng.normal(size=N))}
SIDES = {"vector": rng.normal(size=N), "matrix": rng.normal(size=(N, 3))}


def rotated(eigenvalues, seed=1):
    Q = np.linalg.qr(np.random.default_rng(seed).normal(size=(len(eigenvalues),) * 2))[0]
    return (Q * eigenvalues) @ Q.T


@pytest.mark.parametrize("border", BORDERS.values(), ids=BORDERS)
@pytest.mark.parametrize("shift", SHIFTS.values(), ids=SHIFTS)
@pytest.mark.parametrize("rhs", SIDES.values(), ids=SIDES)
@pytest.mark.parametrize("preconditioner", [None, "diagonal"])
def test_equals_elimination_on_the_whole_matrix(border, shift, rhs, preconditioner):
    solver = ConjugateGradient(tol=1e-11, preconditioner=preconditioner)
    solution = solver.solve(LinearSystem(Products(K), shift, rhs, border))
    coef, multipliers = reference(K, shift, rhs, border)
    assert solution.status is Status.CONVERGED
    np.testing.assert_allclose(solution.coef, coef, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(solution.multipliers, multipliers, rtol=1e-6, atol=1e-8)
    assert solution.coef.shape == rhs.shape
    assert solution.multipliers.shape == (multipliers.shape[0], *rhs.shape[1:])
    assert solution.jitter == 0.0
    left = rhs - K @ solution.coef - (np.broadcast_to(shift, N) * solution.coef.T).T
    if border is not None:
        left = left - border @ solution.multipliers
        np.testing.assert_allclose(border.T @ solution.coef, 0.0, atol=1e-11)
    worst = np.max(np.linalg.norm(left, axis=0) / np.linalg.norm(rhs, axis=0))
    assert solution.residual == pytest.approx(worst, rel=1e-2, abs=1e-14)
    assert solution.residual <= 1e-11


@pytest.mark.parametrize("preconditioner", [None, "diagonal"])
def test_conditionally_positive_definite(preconditioner):
    distance = -np.sqrt(((X[:, None] - X[None]) ** 2).sum(-1))
    assert np.linalg.eigvalsh(distance + 0.5 * np.eye(N)).min() < -1.0
    y = np.sin(X[:, 0])
    problem = LinearSystem(Products(distance), 0.5, y, np.ones((N, 1)))
    solution = ConjugateGradient(tol=1e-12, preconditioner=preconditioner).solve(problem)
    coef, multipliers = reference(distance, 0.5, y, np.ones((N, 1)))
    np.testing.assert_allclose(solution.coef, coef, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(solution.multipliers, multipliers, rtol=1e-7)


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_as_many_iterations_as_there_are_eigenvalues(count):
    # Fails with the seed's sign of beta: without conjugate directions the ending is not finite.
    G = rotated(np.repeat(np.arange(1.0, count + 1.0), 12))
    solution = ConjugateGradient(tol=1e-10).solve(LinearSystem(Products(G), 0.0, np.ones(12 * count)))
    assert len(solution.trace) - 1 == count
    np.testing.assert_allclose(solution.coef, np.linalg.solve(G, np.ones(12 * count)), rtol=1e-7, atol=1e-9)


def test_objective_falls_and_time_rises():
    y = SIDES["matrix"]
    solution = ConjugateGradient(tol=1e-10).solve(LinearSystem(Products(K), 0.01, y))
    trace = solution.trace
    assert len(trace) > 10
    assert np.all(np.diff(trace.objective) < 1e-12 * abs(trace.objective[-1]))
    assert np.all(np.diff(trace.seconds) >= 0.0)
    assert trace.objective[0] == 0.0
    assert trace.residual[0] == pytest.approx(1.0)
    assert trace.objective[-1] == pytest.approx(-0.5 * np.sum(y * reference(K, 0.01, y)[0]), rel=1e-9)
    assert trace.residual[-1] <= 1e-10


def test_columns_are_independent_runs_that_end_by_themselves():
    eigenvalues = np.repeat([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 10)
    G, vectors = rotated(eigenvalues), np.linalg.qr(np.random.default_rng(1).normal(size=(60, 60)))[0]
    y = np.column_stack([vectors[:, 0], vectors.sum(axis=1), vectors[:, [0, 59]].sum(axis=1), np.zeros(60)])
    gram = Products(G)
    together = ConjugateGradient(tol=1e-10).solve(LinearSystem(gram, 0.0, y))
    # one product per iteration with those still running, and one at the end to believe the residuals
    assert gram.widths == [3, 2, 1, 1, 1, 1, 3]
    for j in range(4):
        alone = ConjugateGradient(tol=1e-10).solve(LinearSystem(Products(G), 0.0, y[:, j]))
        np.testing.assert_allclose(together.coef[:, j], alone.coef, rtol=1e-12, atol=1e-14)
    assert not together.coef[:, 3].any()


def test_warm_start():
    y, border = SIDES["matrix"], BORDERS["ones"]
    solver = ConjugateGradient(tol=1e-8)
    first = solver.solve(LinearSystem(Products(K), 0.01, y, border))
    again = solver.solve(LinearSystem(Products(K), 0.01, y, border), start=first.coef)
    assert len(again.trace) == 1
    np.testing.assert_allclose(again.coef, first.coef, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(again.multipliers, first.multipliers, rtol=1e-9)
    near = solver.solve(LinearSystem(Products(K), 0.0101, y, border), start=first.coef)
    cold = solver.solve(LinearSystem(Products(K), 0.0101, y, border))
    assert len(near.trace) < len(cold.trace)
    np.testing.assert_allclose(near.coef, cold.coef, rtol=1e-4, atol=1e-4)


def test_a_start_that_violates_the_border_is_corrected():
    y, border = SIDES["vector"], BORDERS["plane"]
    solution = ConjugateGradient(tol=1e-10).solve(LinearSystem(Products(K), 0.3, y, border), start=np.ones(N))
    np.testing.assert_allclose(solution.coef, reference(K, 0.3, y, border)[0], rtol=1e-6, atol=1e-8)


def test_iterations_run_out():
    y = SIDES["vector"]
    solution = ConjugateGradient(tol=1e-10, max_iter=4).solve(LinearSystem(Products(K), 1e-4, y))
    assert solution.status is Status.MAX_ITER
    assert len(solution.trace) == 5
    left = np.linalg.norm(y - K @ solution.coef - 1e-4 * solution.coef) / np.linalg.norm(y)
    assert solution.residual == pytest.approx(left)
    assert left > 1e-3
    more = ConjugateGradient(tol=1e-10, max_iter=4).solve(LinearSystem(Products(K), 1e-4, y), start=solution.coef)
    assert more.trace.objective[-1] < solution.trace.objective[-1]


def test_default_number_of_iterations_is_bounded(monkeypatch):
    monkeypatch.setattr(module, "_MOST_ITERATIONS", 7)
    solution = ConjugateGradient(tol=1e-12).solve(LinearSystem(Products(K), 1e-6, SIDES["vector"]))
    assert solution.status is Status.MAX_ITER
    assert len(solution.trace) - 1 == 7
    tiny = ConjugateGradient(tol=1e-300).solve(LinearSystem(Products(np.eye(1)), 0.1, np.ones(1)))
    assert len(tiny.trace) - 1 <= 10


@pytest.mark.parametrize("answer, status", [(True, Status.STOPPED), (Status.TIME, Status.TIME)])
def test_monitor_stops(answer, status):
    seen = []

    def monitor(iteration, residual):
        seen.append((iteration, residual))
        return answer if iteration == 3 else False

    solution = ConjugateGradient().solve(LinearSystem(Products(K), 1e-3, SIDES["vector"]), monitor=monitor)
    assert solution.status is status
    assert [iteration for iteration, _ in seen] == [1, 2, 3]
    np.testing.assert_array_equal([residual for _, residual in seen], solution.trace.residual[1:])


def test_what_a_monitor_raises_comes_through():
    def monitor(iteration, residual):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ConjugateGradient().solve(LinearSystem(Products(K), 1e-3, SIDES["vector"]), monitor=monitor)


def test_a_tolerance_below_rounding_stalls_and_says_so():
    G = rotated(np.logspace(-9, 0, 60))
    solution = ConjugateGradient(tol=1e-15, max_iter=100_000).solve(LinearSystem(Products(G), 0.0, np.ones(60)))
    assert solution.status is Status.STALLED
    left = np.linalg.norm(np.ones(60) - G @ solution.coef) / np.sqrt(60)
    assert solution.residual > 1e-15
    assert solution.residual == pytest.approx(left, rel=0.5)


def test_no_progress_for_long_is_a_stall(monkeypatch):
    monkeypatch.setattr(module, "_PATIENCE", 5)
    G = rotated(np.logspace(-12, 0, 200))
    solution = ConjugateGradient(tol=1e-14).solve(LinearSystem(Products(G), 0.0, np.ones(200)))
    assert solution.status is Status.STALLED
    assert len(solution.trace) < 2000


class Coarse(Products):
    """A product in single precision: the recurrence goes on to fall when the residual does not."""

    def __matmul__(self, V):
        return super().__matmul__(V).astype(np.float32)


def test_a_residual_is_believed_only_when_computed_anew():
    y = SIDES["vector"]
    solution = ConjugateGradient(tol=1e-12).solve(LinearSystem(Coarse(K), 1.0, y))
    assert solution.trace.residual.min() <= 1e-12
    left = np.linalg.norm(y - K @ solution.coef - solution.coef) / np.linalg.norm(y)
    assert left > 1e-9
    assert solution.status is Status.STALLED
    assert 1e-9 < solution.residual < 1e-5
    assert len(solution.trace) < 400


@pytest.mark.parametrize(
    "matrix",
    [-K, rotated(np.linspace(-0.5, 1.0, N)), np.zeros((N, N))],
    ids=["negative", "indefinite", "zero"],
)
def test_indefinite_is_refused(matrix):
    with pytest.raises(NotPositiveDefinite, match=r"curvature .* positive definite .* Raise the shift"):
        ConjugateGradient().solve(LinearSystem(Products(matrix), 0.0, SIDES["vector"]))


def test_semidefinite_but_consistent_is_solved():
    F = rng.normal(size=(N, 5))
    y = F @ np.arange(5.0)
    solution = ConjugateGradient(tol=1e-9).solve(LinearSystem(Products(F @ F.T), 0.0, y))
    assert solution.status is Status.CONVERGED
    np.testing.assert_allclose(F @ (F.T @ solution.coef), y, rtol=1e-6, atol=1e-7)


def test_not_finite():
    bad = K.copy()
    bad[2, 3] = bad[3, 2] = np.nan
    with pytest.raises(NotPositiveDefinite, match="not finite"):
        ConjugateGradient().solve(LinearSystem(Products(bad), 1.0, SIDES["vector"]))


def test_preconditioner_helps_where_weights_differ():
    shift = 10.0 ** np.linspace(-1, 3, N)
    problem = LinearSystem(Products(K), shift, SIDES["vector"])
    plain = ConjugateGradient().solve(problem)
    helped = ConjugateGradient(preconditioner="diagonal").solve(problem)
    assert helped.status is plain.status is Status.CONVERGED
    assert len(helped.trace) < 0.5 * len(plain.trace)


def test_preconditioner_needs_a_positive_diagonal():
    matrix = K - np.eye(N)
    with pytest.raises(CapabilityError, match=r"which is 0 at sample 0; positive .* preconditioner=None"):
        ConjugateGradient(preconditioner="diagonal").solve(LinearSystem(Products(matrix), 0.0, SIDES["vector"]))


def test_right_hand_sides_of_any_size():
    problem = lambda y: LinearSystem(Products(K), 0.3, y, BORDERS["ones"])  # noqa: E731
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        once = ConjugateGradient().solve(problem(SIDES["vector"]))
        for power in (-600, 600):
            scaled = ConjugateGradient().solve(problem(np.ldexp(SIDES["vector"], power)))
            np.testing.assert_array_equal(scaled.coef, np.ldexp(once.coef, power))
            np.testing.assert_array_equal(scaled.multipliers, np.ldexp(once.multipliers, power))
        zero = ConjugateGradient().solve(problem(np.zeros(N)))
    assert zero.status is Status.CONVERGED
    assert not zero.coef.any()
    assert not zero.multipliers.any()


def test_a_right_hand_side_in_the_border():
    solution = ConjugateGradient().solve(LinearSystem(Products(K), 0.3, np.full(N, 7.0), BORDERS["ones"]))
    np.testing.assert_allclose(solution.multipliers, [7.0])
    np.testing.assert_allclose(solution.coef, 0.0, atol=1e-12)


@pytest.mark.parametrize(
    "parameters",
    [{"tol": 0.0}, {"tol": 1.0}, {"max_iter": 0}, {"max_iter": 2.0}, {"preconditioner": "jacobi"}],
)
def test_parameters_are_checked(parameters):
    with pytest.raises(ParameterError, match=next(iter(parameters))):
        ConjugateGradient(**parameters).check()


@pytest.mark.parametrize("border", [None, np.ones((120, 1))], ids=["free", "bordered"])
def test_pivoted_preconditioner(border):
    rng = np.random.default_rng(0)
    S = Vectors.pack(rng.normal(size=(120, 2)))
    y, shift = rng.normal(size=(120, 2)), rng.uniform(1e-4, 1e-3, size=120)
    for spec in (Dense(), Tiles()):
        problem = LinearSystem(spec.build(Gaussian(1.5), S), shift, y, border)
        plain = ConjugateGradient(tol=1e-10).solve(problem)
        helped = ConjugateGradient(tol=1e-10, preconditioner="pivoted", rank=40).solve(problem)
        assert helped.status is Status.CONVERGED and len(helped.trace) < 0.3 * len(plain.trace)
        assert np.allclose(helped.coef, plain.coef, rtol=1e-5, atol=1e-5 * np.abs(plain.coef).max())
        assert np.allclose(helped.multipliers, plain.multipliers, rtol=1e-5)


def test_pivoted_preconditioner_needs_rows_and_a_shift():
    S = Vectors.pack(np.random.default_rng(0).normal(size=(10, 2)))
    solver = ConjugateGradient(preconditioner="pivoted")
    with pytest.raises(ParameterError, match="positive"):
        solver.solve(LinearSystem(Dense().build(Gaussian(1.0), S), 0.0, np.ones(10)))
    with pytest.raises(CapabilityError, match=r"Gram\.rows"):
        solver.solve(LinearSystem(Products(np.eye(10)), 1.0, np.ones(10)))
    with pytest.raises(ParameterError):
        ConjugateGradient(rank=0).check()


@pytest.mark.parametrize("border", BORDERS.values(), ids=BORDERS)
@pytest.mark.parametrize("preconditioner", [None, "diagonal", "nystrom"])
def test_blocks_equal_elimination(border, preconditioner):
    solver = ConjugateGradient(tol=1e-11, preconditioner=preconditioner, rank=20, block=True)
    for shift in SHIFTS.values():
        rhs = SIDES["matrix"]
        solution = solver.solve(LinearSystem(Products(K), shift, rhs, border))
        coef, multipliers = reference(K, shift, rhs, border)
        assert solution.status is Status.CONVERGED and solution.residual <= 1e-10
        np.testing.assert_allclose(solution.coef, coef, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(solution.multipliers, multipliers, rtol=1e-6, atol=1e-8)
        warm = solver.solve(LinearSystem(Products(K), shift, rhs, border), start=coef)
        assert len(warm.trace) <= 4


def test_blocks_need_fewer_products_and_obey():
    y = rng.normal(size=(N, 6))
    problem = LinearSystem(Products(K), 1e-3, y)
    together, apart = ConjugateGradient(block=True).solve(problem), ConjugateGradient().solve(problem)
    assert len(together.trace) < 0.7 * len(apart.trace)
    assert together.trace.objective[-1] == pytest.approx(apart.trace.objective[-1], rel=1e-6)
    short = ConjugateGradient(block=True, max_iter=2).solve(problem)
    assert short.status is Status.MAX_ITER and short.residual > 1e-8
    ended = ConjugateGradient(block=True).solve(problem, monitor=lambda i, r: Status.TIME if i == 3 else False)
    assert ended.status is Status.TIME
    assert ConjugateGradient(block=True).solve(problem, monitor=lambda i, r: i == 3).status is Status.STOPPED


def test_the_nystrom_preconditioner_needs_products_alone():
    problem = LinearSystem(Products(K), 1e-4, rng.normal(size=N))
    plain = ConjugateGradient().solve(problem)
    better = ConjugateGradient(preconditioner="nystrom", rank=40).solve(problem)
    assert better.status is Status.CONVERGED and len(better.trace) < 0.5 * len(plain.trace)
    np.testing.assert_allclose(better.coef, plain.coef, rtol=1e-3, atol=1e-3 * np.abs(plain.coef).max())
