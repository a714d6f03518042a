import builtins

import numpy as np
import pytest
from sklearn.svm import SVC, SVR, NuSVC, OneClassSVM

from mercer.budget import Resources
from mercer.errors import CapabilityError, MemoryBudgetError, ParameterError
from mercer.problems import BoxQP, LinearSystem, Status
from mercer.solvers import InteriorPoint
from mercer.solvers.box.optimality import violation
from tests.unit.solvers.matrices import Matrix, Products

INF = np.inf
rng = np.random.default_rng(0)
X = rng.normal(size=(50, 3))
Y = np.where(X[:, 0] + 0.5 * rng.normal(size=50) > 0, 1.0, -1.0)
Z = X[:, 1] ** 2 + 0.1 * rng.normal(size=50)
N = len(Y)


def gaussian(A, gamma=0.5):
    return np.exp(-gamma * ((A[:, None] - A[None]) ** 2).sum(-1))


K = gaussian(X)
TIGHT = dict(gamma=0.5, tol=1e-10)


def classifier(K, y, C, **more):
    return BoxQP(Matrix(K), -y, np.minimum(0.0, C * y), np.maximum(0.0, C * y), **more)


def check(problem, solution, tol=1e-8):
    """Feasible, optimal, with multipliers of the right sign and its numbers true."""
    beta, K = solution.coef, problem.gram.K
    assert solution.status is Status.CONVERGED
    assert np.all((beta >= problem.lower) & (beta <= problem.upper))
    group = np.zeros(len(beta), int) if problem.group is None else problem.group
    count = len(problem.total)
    if count:
        size = max(1.0, np.abs(beta).sum())
        np.testing.assert_allclose(np.bincount(group, weights=beta, minlength=count), problem.total, atol=1e-13 * size)
    g = K @ beta + problem.ridge * beta + problem.linear
    assert solution.residual == pytest.approx(violation(problem, beta, g), abs=1e-12)
    assert solution.residual <= tol
    assert 0.0 <= solution.gap <= tol * max(1.0, np.abs(beta).sum())
    slope = g - (solution.multipliers[group] if count else 0.0)
    assert np.all(slope[beta > problem.lower] <= tol)
    assert np.all(slope[beta < problem.upper] >= -tol)
    objective = 0.5 * beta @ K @ beta + 0.5 * np.sum(problem.ridge * beta**2) + problem.linear @ beta
    assert solution.trace.objective[0] == pytest.approx(objective)


@pytest.mark.parametrize("C", [1e-6, 1e-2, 1.0, 100.0, 1e6])
def test_svc_is_that_of_libsvm(C):
    problem = classifier(K, Y, C)
    solution = InteriorPoint().solve(problem)
    check(problem, solution)
    other = SVC(C=C, **TIGHT).fit(X, Y)
    f = K @ solution.coef - solution.multipliers[0]
    free = (np.abs(solution.coef) > 0) & (np.abs(solution.coef) < C)
    offset = 0.0 if free.any() else f[0] - other.decision_function(X)[0]  # the bias is then a convention
    # LIBSVM holds K in single precision
    np.testing.assert_allclose(f - offset, other.decision_function(X), atol=1e-4, rtol=1e-4)


def test_nu_svc_has_two_groups():
    nu = 0.4
    problem = BoxQP(
        Matrix(K), np.zeros(N), np.minimum(0, Y), np.maximum(0, Y), (Y < 0).astype(int), nu * N / 2 * np.array([1, -1])
    )
    solution = InteriorPoint().solve(problem)
    check(problem, solution)
    first, second = solution.multipliers
    f = (K @ solution.coef - (first + second) / 2) / ((first - second) / 2)
    np.testing.assert_allclose(f, NuSVC(nu=nu, **TIGHT).fit(X, Y).decision_function(X), atol=1e-5)


def test_one_class():
    nu = 0.3
    problem = BoxQP(Matrix(K), np.zeros(N), np.zeros(N), np.ones(N), None, np.array([nu * N]))
    solution = InteriorPoint().solve(problem)
    check(problem, solution)
    f = K @ solution.coef - solution.multipliers[0]
    np.testing.assert_allclose(f, OneClassSVM(nu=nu, **TIGHT).fit(X).decision_function(X), atol=1e-5)


def test_svr_with_doubled_variables():
    zero, one = np.zeros(N), np.ones(N)
    problem = BoxQP(
        Matrix(np.tile(K, (2, 2))), np.r_[0.1 - Z, -0.1 - Z], np.r_[zero, -one], np.r_[one, zero], ridge=0.0
    )
    solution = InteriorPoint().solve(problem)
    check(problem, solution)
    f = K @ (solution.coef[:N] + solution.coef[N:]) - solution.multipliers[0]
    np.testing.assert_allclose(f, SVR(epsilon=0.1, **TIGHT).fit(X, Z).predict(X), atol=1e-5)


DEGENERATE = {
    "duplicates with opposite labels": (gaussian(np.repeat(X[:10], 4, axis=0)), np.tile([1.0, -1.0, 1.0, 1.0], 10)),
    "all rows equal": (np.ones((20, 20)), np.tile([1.0, -1.0, 1.0, 1.0], 5)),
    "nothing similar to anything": (np.zeros((20, 20)), np.tile([1.0, -1.0, 1.0, 1.0], 5)),
    "one class of one point": (K[:20, :20], np.r_[1.0, -np.ones(19)]),
    "low rank": (X @ X.T, Y),
    "conditionally definite": (-np.sqrt(-2 * np.log(K)), Y),
    "two points": (np.eye(2), np.array([1.0, -1.0])),
}


@pytest.mark.parametrize("name", DEGENERATE)
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
def test_degenerate_problems(name, C):
    matrix, y = DEGENERATE[name]
    problem = classifier(matrix, y, C)
    check(problem, InteriorPoint().solve(problem))


@pytest.mark.parametrize("groups", [0, 1, 5])
@pytest.mark.parametrize("ridge", [0.0, 0.5, "each"])
def test_random_boxes_groups_and_ridges(groups, ridge):
    random = np.random.default_rng(groups)
    ridge = random.random(N) if ridge == "each" else ridge
    lower, upper = -random.random(N), random.random(N)
    lower[:5] = upper[:5] = 0.25  # fixed
    lower[5:8], upper[8:11] = -INF, INF
    group = None if groups < 2 else random.integers(groups - 1, size=N)  # the last group is empty
    labels = np.zeros(N, int) if group is None else group
    inside = np.clip(random.normal(size=N), lower, upper)
    total = np.bincount(labels, weights=inside, minlength=groups)[:groups]
    problem = BoxQP(Matrix(K), random.normal(size=N), lower, upper, group, total, ridge)
    check(problem, InteriorPoint().solve(problem))


def test_no_box_is_a_linear_system():
    far = np.full(N, INF)
    problem = BoxQP(Matrix(K), -Z, -far, far, ridge=0.7)
    solution = InteriorPoint().solve(problem)
    bordered = np.block([[K + 0.7 * np.eye(N), np.ones((N, 1))], [np.ones((1, N)), np.zeros((1, 1))]])
    expected = np.linalg.solve(bordered, np.r_[Z, 0.0])
    np.testing.assert_allclose(solution.coef, expected[:N], atol=1e-8)
    np.testing.assert_allclose(solution.multipliers, [-expected[N]], atol=1e-8)


def test_everything_fixed():
    solution = InteriorPoint().solve(BoxQP(Matrix(K), -Y, np.zeros(N), np.zeros(N)))
    assert solution.status is Status.CONVERGED
    assert not solution.coef.any()
    assert solution.gap == 0.0


def test_a_sum_out_of_reach_is_an_error():
    with pytest.raises(ParameterError, match="group 0 must sum to 99"):
        InteriorPoint().solve(BoxQP(Matrix(K), -Y, np.zeros(N), np.ones(N), total=np.array([99.0])))


@pytest.mark.parametrize("matrix", [X @ X.T, np.ones((N, N))], ids=["linear", "all equal"])
def test_a_hard_margin_without_separation_has_no_minimum(matrix):
    far = np.full(N, INF)
    problem = BoxQP(Matrix(matrix), -Y, np.where(Y > 0, 0.0, -far), np.where(Y > 0, far, 0.0))
    solution = InteriorPoint().solve(problem)
    assert solution.status is Status.UNBOUNDED
    assert np.isfinite(solution.coef).all()


def test_too_few_iterations_are_told():
    solution = InteriorPoint(max_iter=1).solve(classifier(K, Y, 1.0))
    assert solution.status in (Status.MAX_ITER, Status.CONVERGED)  # the polish may do the rest
    assert np.all(np.abs(solution.coef) <= 1.0)
    assert abs(solution.coef.sum()) < 1e-12


def test_the_problem_is_left_as_it_was():
    problem = classifier(K.copy(), Y.copy(), 1.0, ridge=0.5)
    InteriorPoint().solve(problem)
    np.testing.assert_array_equal(problem.gram.K, K)
    np.testing.assert_array_equal(problem.linear, -Y)


def test_what_it_needs_is_told(monkeypatch):
    with pytest.raises(CapabilityError, match="to_dense"):
        InteriorPoint().solve(BoxQP(Products(K), -Y, np.zeros(N), np.ones(N)))
    with pytest.raises(CapabilityError, match="LinearSystem"):
        InteriorPoint().solve(LinearSystem(Matrix(K), 1.0, Y))
    with pytest.raises(ParameterError, match="tol"):
        InteriorPoint(tol=0.0).solve(classifier(K, Y, 1.0))
    budgeted = Matrix(K)
    budgeted.resources = Resources(memory="10kB")
    with pytest.raises(MemoryBudgetError, match="SMO"):
        InteriorPoint().solve(BoxQP(budgeted, -Y, np.zeros(N), np.ones(N)))
    found = builtins.__import__

    def missing(name, *args, **options):
        if name == "piqp":
            raise ImportError(name)
        return found(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(CapabilityError, match=r"pip install 'mercer\[qp\]'"):
        InteriorPoint().solve(classifier(K, Y, 1.0))
