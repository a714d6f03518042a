"""Penalties on nested and disjoint groups."""

import numpy as np
import pytest
from scipy.optimize import minimize

from mercer.errors import ParameterError
from mercer.problems import Status
from mercer.solvers.sparse.coordinate_descent import CoordinateDescent
from mercer.solvers.sparse.design import PenalisedLeastSquares, design_of
from mercer.solvers.sparse.proximal import GroupedLeastSquares, Groups, ProximalGradient, _shrink

rng = np.random.default_rng(0)
FAMILIES = {
    "disjoint": Groups.of([[0, 1, 2], [3, 4], [5]], [1.0, 0.7, 1.3], 6),
    "sparse": Groups.of([[0, 1, 2], [3, 4, 5]] + [[j] for j in range(6)], [1.0, 1.0] + [0.4] * 6, 6),
    "tree": Groups.of([[0, 1, 2, 3, 4, 5], [1, 2, 3], [4, 5], [3], [5]], [0.5, 0.8, 1.0, 0.6, 0.3], 6),
}
family = pytest.mark.parametrize("groups", FAMILIES.values(), ids=FAMILIES)


@family
def test_the_proximal_map_is_a_minimum(groups):
    for _ in range(5):
        v, scale = 2.0 * rng.normal(size=6), 0.7
        b = groups.shrunk(v, scale)

        def value(x, v=v, scale=scale):
            return 0.5 * np.sum((x - v) ** 2) + scale * groups.value(x)

        for size in (1e-1, 1e-3, 1e-5):  # a strictly convex function: no other point is as good
            assert all(value(b + size * d) > value(b) for d in rng.normal(size=(40, 6)))
        assert all(value(b) <= value(minimize(value, start, method="Nelder-Mead").x) for start in (v, np.zeros(6)))


@family
def test_the_dual_norm(groups):
    c = rng.normal(size=6)
    norm = groups.dual_norm(c)
    assert not groups.shrunk(c, norm).any() and groups.shrunk(c, 0.999 * norm).any()
    sample = rng.normal(size=(3000, 6)) * (rng.random((3000, 6)) < 0.5) + 1e-12
    assert max(abs(c @ b) / groups.value(b) for b in sample) <= norm * (1 + 1e-9)
    assert np.isclose(groups.dual_norm(1e200 * c), 1e200 * norm) and groups.dual_norm(0.0 * c) == 0.0


def test_the_dual_norm_of_disjoint_groups_is_the_largest_of_the_groups():
    c = rng.normal(size=6)
    expected = max(np.linalg.norm(c[:3]), np.linalg.norm(c[3:5]) / 0.7, abs(c[5]) / 1.3)
    assert np.isclose(FAMILIES["disjoint"].dual_norm(c), expected)


def problem_of(groups, alpha, n=40):
    local = np.random.default_rng(1)
    X = local.normal(size=(n, 6)) + local.normal(size=(n, 1))
    design = design_of(X, np.ones(n))
    z, _ = design.target(X[:, 0] - X[:, 1] + 0.5 * X[:, 4] + local.normal(size=n))
    return GroupedLeastSquares(design, z, alpha, groups)


def by_cones(problem):
    """Minimise by an interior-point method for second-order cones."""
    clarabel = pytest.importorskip("clarabel")
    sp = pytest.importorskip("scipy.sparse")
    A, groups = problem.design.transposed.T, problem.groups
    count, D = len(groups.weights), groups.D
    P = sp.block_diag([sp.csc_matrix(A.T @ A), sp.csc_matrix((count, count))], format="csc")
    q = np.concatenate([-A.T @ problem.target, problem.alpha * groups.weights])
    rows, cones = [], []
    for g in range(count):
        inside = groups.members[groups.offsets[g] : groups.offsets[g + 1]]
        block = np.zeros((len(inside) + 1, D + count))
        block[0, D + g] = -1.0
        block[np.arange(1, len(inside) + 1), inside] = -1.0
        rows.append(block)
        cones.append(clarabel.SecondOrderConeT(len(inside) + 1))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    M = sp.csc_matrix(np.vstack(rows))
    upper = sp.triu(P, format="csc")
    found = clarabel.DefaultSolver(upper, q, M, np.zeros(M.shape[0]), cones, settings).solve()
    return np.array(found.x[:D])


@family
@pytest.mark.parametrize("alpha", [1.0, 15.0, 40.0])
def test_the_solver_finds_the_minimum(groups, alpha):
    problem = problem_of(groups, alpha)
    solution = ProximalGradient().solve(problem)
    b = solution.coef
    assert solution.status is Status.CONVERGED and solution.residual <= 1e-10
    other = by_cones(problem)
    assert problem.objective(b, problem.left(b)) <= problem.objective(other, problem.left(other)) * (1 + 1e-12)
    assert np.allclose(b, other, atol=1e-4)


@family
def test_fewer_samples_than_columns(groups):
    problem = problem_of(groups, 2.0, n=5)
    solution = ProximalGradient().solve(problem)
    assert solution.status is Status.CONVERGED
    assert np.isclose(
        problem.gap(
            solution.coef, problem.left(solution.coef), problem.design.correlations(problem.left(solution.coef))
        ),
        solution.gap,
        atol=1e-12,
    )


def test_a_child_is_used_only_with_its_parent():
    groups = Groups.of([[0, 1, 2, 3, 4, 5], [1, 2, 3], [2, 3], [3]], [0.1, 0.5, 0.5, 0.5], 6)
    for alpha in np.geomspace(1, 60, 8):
        used = ProximalGradient().solve(problem_of(groups, alpha)).coef != 0.0
        assert used[[1, 2, 3]].any() <= used.any() and used[3] <= used[[1, 2, 3]].any()


def test_single_columns_are_the_lasso():
    problem = problem_of(Groups.of([[j] for j in range(6)], np.ones(6), 6), 10.0)
    lasso = CoordinateDescent().solve(PenalisedLeastSquares(problem.design, problem.target, 10.0))
    assert np.allclose(ProximalGradient().solve(problem).coef, lasso.coef, atol=1e-9)


def test_groups_that_overlap_are_refused():
    with pytest.raises(ParameterError, match="disjoint or one inside the other"):
        Groups.of([[0, 1], [1, 2]], [1.0, 1.0], 3)
    with pytest.raises(ParameterError, match="disjoint or one inside the other"):
        Groups.of([[0, 1], [0, 2, 3]], [1.0, 1.0], 4)


def test_it_can_be_stopped():
    problem = problem_of(FAMILIES["tree"], 5.0)
    assert ProximalGradient().solve(problem, monitor=lambda i, r: True).status is Status.STOPPED
    one = ProximalGradient(max_iter=1, tol=1e-15).solve(problem)
    assert one.state == 1 and np.isfinite(one.gap)


def test_the_compiled_map_is_its_python_original():
    groups, v = FAMILIES["tree"], rng.normal(size=6)
    one, two = v.copy(), v.copy()
    _shrink(one, groups.members, groups.offsets, 0.3 * groups.weights)
    _shrink.py_func(two, groups.members, groups.offsets, 0.3 * groups.weights)
    assert np.allclose(one, two, atol=1e-15)
