"""SMO: against a general QP solver and LIBSVM, on random and on degenerate problems."""

import numpy as np
import pytest
import sklearn.svm
from hypothesis import given
from hypothesis import strategies as st

from mercer.budget import Resources
from mercer.domains import Vectors
from mercer.errors import CapabilityError, ParameterError
from mercer.gram import Dense, Tiles
from mercer.kernels import Gaussian, Linear, Multiquadric, NegativeDistance, Polynomial
from mercer.problems import BoxQP, LinearSystem, Status
from mercer.runtime.tiling import kept_by
from mercer.solvers import SMO, InteriorPoint
from mercer.solvers.box import smo, two_variables
from tests.unit.solvers.machines import (
    INF,
    by_class,
    classifier,
    dense,
    enclosing_ball,
    huber,
    matrix_of,
    nu_regression,
    objective,
    one_class,
    regression,
    require_feasible,
    require_honest,
    residual,
    squared_hinge,
)
from tests.unit.solvers.matrices import Products

rng = np.random.default_rng(0)
N = 60
X = rng.normal(size=(N, 3))
Y = np.where(X[:, 0] + 0.5 * rng.normal(size=N) > 0, 1.0, -1.0)
Z = X[:, 1] ** 2 + 0.1 * rng.normal(size=N)
K = dense(X)
W = rng.uniform(0.2, 3.0, N) * (rng.random(N) < 0.8)  # some weights are zero

MACHINES = {
    "C-SVC": lambda K: classifier(K, Y, 1.0),
    "C-SVC, weights": lambda K: classifier(K, Y, 2.0 * W),
    "squared hinge": lambda K: squared_hinge(K, Y, 2.0),
    "nu-SVC": lambda K: by_class(K, Y, np.ones(N), 0.2 * N),
    "bound": lambda K: by_class(K, Y, np.full(N, 0.1), 0.5),
    "SVR": lambda K: regression(K, Z, 3.0, 0.1),
    "LAD": lambda K: regression(K, Z, 3.0, 0.0),
    "nu-SVR": lambda K: nu_regression(K, Z, 2.0, 0.4),
    "Huber": lambda K: huber(K, Z, 2.0, 0.5),
    "quantile": lambda K: BoxQP(K, -Z, np.full(N, -0.2), np.full(N, 1.8)),
    "one class": lambda K: one_class(K, 0.3),
    "SVDD": lambda K: enclosing_ball(K, 0.2),
    "ball": lambda K: enclosing_ball(K, 1.0),
    "three groups": lambda K: BoxQP(K, -Z, -np.ones(N), np.ones(N), np.arange(N) % 3, np.array([1.0, -2.0, 0.0])),
}
machines = pytest.mark.parametrize("name", MACHINES)


def check(problem, solution, tol=1e-3, close=1e-6):
    """Honest, optimal to the tolerance, and as good as the interior-point method."""
    require_honest(problem, solution)
    assert solution.status is Status.CONVERGED and solution.residual <= tol
    best = InteriorPoint().solve(problem)
    value, least = objective(problem, solution.coef), objective(problem, best.coef)
    size = max(1.0, abs(least))
    assert value <= least + close * size
    assert solution.gap >= value - least - 1e-8 * size
    return best


@machines
def test_every_machine_against_a_general_solver(name):
    problem = MACHINES[name](K)
    solution = SMO().solve(problem)
    best = check(problem, solution)
    M = matrix_of(problem)
    np.testing.assert_allclose(M @ solution.coef, M @ best.coef, atol=1e-6)
    np.testing.assert_allclose(solution.multipliers, best.multipliers, atol=1e-6)


@machines
def test_small_problems_are_exact_at_the_default_tolerance(name):
    problem = MACHINES[name](K)
    assert residual(problem, SMO().solve(problem).coef) <= 1e-9
    loose = SMO(tol=0.5).solve(problem)
    require_honest(problem, loose)
    assert loose.residual <= 0.5


@machines
def test_a_start_at_the_solution_is_kept(name):
    problem = MACHINES[name](K)
    first = SMO().solve(problem)
    again = SMO().solve(problem, start=first.coef)
    require_honest(problem, again)
    assert again.details["pairs moved"] <= 2
    np.testing.assert_allclose(matrix_of(problem) @ again.coef, first.state, atol=1e-7)


@machines
@given(seed=st.integers(0, 2**32 - 1))
def test_any_start_leads_to_the_optimum(name, seed):
    """A start outside the box or with other sums is moved first."""
    problem = MACHINES[name](K)
    start = np.random.default_rng(seed).normal(size=len(problem.linear))
    solution = SMO().solve(problem, start=start)
    require_honest(problem, solution)
    assert objective(problem, solution.coef) == pytest.approx(objective(problem, SMO().solve(problem).coef), abs=1e-6)


def test_a_start_that_is_moved_stays_inside():
    problem = MACHINES["quantile"](K)
    require_feasible(problem, SMO().solve(problem, start=np.random.default_rng(0).normal(size=N)).coef)


def test_starts_in_infinite_boxes():
    problem = squared_hinge(K, Y, 2.0)
    best = SMO().solve(problem)
    for start in (best.coef, 2.0 * best.coef + 0.1, rng.normal(size=N)):
        again = SMO().solve(problem, start=start)
        require_honest(problem, again)
        np.testing.assert_allclose(again.coef, best.coef, atol=1e-5)


@pytest.mark.parametrize("total", [1.0, 0.25])
def test_a_sum_that_is_not_zero_in_infinite_boxes(total):
    """The smallest enclosing ball without a bound, and one that must go down."""
    problem = BoxQP(K, -0.5 * K.diag(), np.zeros(N), np.full(N, INF), total=np.array([total]))
    check(problem, SMO().solve(problem))
    problem = BoxQP(K, np.zeros(N), np.full(N, -INF), np.zeros(N), total=np.array([-total]))
    check(problem, SMO().solve(problem))


# LIBSVM -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kernel", "C"),
    [
        *((Gaussian(1.0), C) for C in (1e-6, 1e-2, 1.0, 100.0, 1e6)),
        *((kernel, C) for kernel in (Linear(), Polynomial(2)) for C in (1e-6, 1e-2, 1.0, 100.0)),
    ],
    ids=repr,
)
def test_it_is_libsvm(C, kernel):
    """Objective, decision values and bias; C from no free variable to a hard margin; Linear is of rank 3."""
    gram = dense(X, kernel)
    problem = classifier(gram, Y, C)
    solution = SMO().solve(problem)
    require_honest(problem, solution)
    other = sklearn.svm.SVC(C=C, kernel="precomputed", tol=1e-10).fit(gram.array, Y)
    beta = np.zeros(N)
    beta[other.support_] = other.dual_coef_[0]
    theirs = residual(problem, beta)  # up to 1e-4: it keeps its matrix in float32
    assert theirs <= 1e-3 and solution.residual <= theirs + 1e-8
    assert objective(problem, solution.coef) <= objective(problem, beta) + 1e-9
    assert objective(problem, solution.coef) == pytest.approx(objective(problem, beta), rel=1e-6, abs=1e-9)
    close = 1e-6 + 3.0 * theirs
    np.testing.assert_allclose(
        solution.state - solution.multipliers[0], other.decision_function(gram.array), atol=close
    )
    if np.any((np.abs(beta) > 1e-9 * C) & (np.abs(beta) < C * (1 - 1e-9))):
        assert -solution.multipliers[0] == pytest.approx(other.intercept_[0], abs=close)


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 40), power=st.integers(-3, 3), rank=st.integers(1, 6))
def test_random_classifiers(seed, n, power, rank):
    """Against both; points repeated with and without the same label, weights of zero, semi-definite matrices."""
    own = np.random.default_rng(seed)
    A = np.round(own.normal(size=(n, rank)), int(own.integers(0, 3)))  # rounding makes duplicates
    y = np.where(own.random(n) < 0.5, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    w = own.choice([0.0, 1.0, 2.5], size=n, p=[0.2, 0.5, 0.3])
    w[:2] = 1.0
    gram = dense(A, Linear() if seed % 2 else Gaussian(1.0))
    C = 10.0**power
    problem = classifier(gram, y, C * w)
    solution = SMO().solve(problem)
    check(problem, solution, close=1e-5)
    other = sklearn.svm.SVC(C=C, kernel="precomputed", tol=1e-8, max_iter=200_000)
    used = w > 0
    other.fit(gram.array[np.ix_(used, used)], y[used], sample_weight=w[used])
    if other.fit_status_ == 0:
        beta = np.zeros(n)
        beta[np.flatnonzero(used)[other.support_]] = other.dual_coef_[0]
        assert objective(problem, solution.coef) <= objective(problem, beta) + 1e-6 * max(1.0, C)


# degenerate problems ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Linear()], ids=repr)
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_every_point_twice_with_opposite_labels(kernel, C):
    """Nothing can be learned: f is constant; no curvature between twins."""
    gram = dense(np.vstack([X, X]), kernel)
    problem = classifier(gram, np.r_[Y, -Y], C)
    solution = SMO().solve(problem)
    check(problem, solution, close=1e-5)
    assert np.abs(solution.state).max() <= 1e-3


def test_all_rows_equal():
    gram = dense(np.ones((20, 2)))
    y = np.where(np.arange(20) < 13, 1.0, -1.0)
    problem = classifier(gram, y, 0.5)
    solution = SMO().solve(problem)
    check(problem, solution)
    assert -solution.multipliers[0] == pytest.approx(1.0)  # the majority


def test_one_class_has_one_point():
    y = -np.ones(N)
    y[7] = 1.0
    for C in (1e-3, 1.0, 1e4):
        problem = classifier(K, y, C)
        check(problem, SMO().solve(problem))


def test_one_class_only():
    """Nothing can move but the sum stays zero."""
    problem = classifier(K, np.ones(N), 1.0)
    solution = SMO().solve(problem)
    assert solution.status is Status.CONVERGED and not solution.coef.any() and solution.gap == 0.0


def test_no_free_variable():
    """All at the ends of their boxes: the bias is the middle of what the conditions leave, as in LIBSVM."""
    y = np.where(np.arange(N) % 2 == 0, 1.0, -1.0)
    problem = classifier(K, y, 1e-4)
    solution = SMO().solve(problem)
    check(problem, solution)
    assert set(np.abs(solution.coef)) == {1e-4}
    other = sklearn.svm.SVC(C=1e-4, kernel="precomputed", tol=1e-12).fit(K.array, y)
    assert -solution.multipliers[0] == pytest.approx(other.intercept_[0], abs=1e-9)


@pytest.mark.parametrize("C", [1e-5, 1e-3])
def test_small_problems_are_exact_even_if_nothing_is_free(C):
    w = np.random.default_rng(1).integers(1, 4, size=N)
    problem = classifier(dense(np.repeat(X, w, axis=0)), np.repeat(Y, w), C)
    assert SMO().solve(problem).residual <= 1e-9


def test_boxes_of_no_width():
    """A weight of zero is a box [0, 0], and changes nothing for the others."""
    w = np.where(np.arange(N) % 3 == 0, 0.0, 1.0)
    problem = classifier(K, Y, w)
    solution = SMO().solve(problem)
    check(problem, solution)
    assert not solution.coef[w == 0].any()
    kept = np.flatnonzero(w)
    alone = SMO().solve(classifier(dense(X[kept]), Y[kept], 1.0))
    np.testing.assert_allclose(solution.coef[kept], alone.coef, atol=1e-8)
    shut = BoxQP(K, -Y, np.full(N, 0.1) * Y, np.full(N, 0.1) * Y, total=np.array([0.1 * Y.sum()]))
    solution = SMO().solve(shut)
    assert solution.status is Status.CONVERGED and np.array_equal(solution.coef, 0.1 * Y)


@pytest.mark.parametrize("kernel", [NegativeDistance(1.0), Multiquadric(1.0)], ids=repr)
@pytest.mark.parametrize("C", [0.1, 10.0, 1000.0])
def test_conditionally_definite_kernels(kernel, C):
    gram = dense(X, kernel)
    problem = classifier(gram, Y, C)
    solution = SMO().solve(problem)
    require_honest(problem, solution)
    assert solution.status is Status.CONVERGED
    beta = solution.coef
    # on sums of zero K may be centred, which makes it positive definite
    P = np.eye(N) - 1.0 / N
    centred = dense(X, kernel)
    centred._array = P @ gram.array @ P
    best = InteriorPoint().solve(classifier(centred, Y, C))
    assert objective(problem, beta) == pytest.approx(objective(problem, best.coef), rel=1e-7, abs=1e-7)


@pytest.mark.parametrize("size", [0.0, 1.0, 10.0])
def test_adding_f_x_plus_f_z_to_the_kernel_changes_nothing(size):
    """F-TRANSL, in the program: sums of zero do not see it, nor does a constant."""
    f = size * np.random.default_rng(9).normal(size=N)
    moved = dense(X)
    moved._array = K.array + f[:, None] + f + 3.0
    plain, other = SMO().solve(classifier(K, Y, 2.0)), SMO().solve(classifier(moved, Y, 2.0))
    np.testing.assert_allclose(other.coef, plain.coef, atol=1e-7)


@pytest.mark.parametrize("scale", [1e-12, 1e-6, 1e6, 1e12])
def test_the_unit_of_the_kernel_does_not_matter(scale):
    """s K with C / s has the solution beta / s, the same function."""
    scaled = dense(X)
    scaled._array = scale * K.array
    plain, other = SMO().solve(classifier(K, Y, 2.0)), SMO().solve(classifier(scaled, Y, 2.0 / scale))
    assert other.status is Status.CONVERGED
    np.testing.assert_allclose(other.state, plain.state, atol=1e-6)


def test_kernel_of_zeros():
    zeros = dense(X)
    zeros._array = np.zeros((N, N))
    problem = classifier(zeros, Y, 0.5)
    solution = SMO().solve(problem)
    require_honest(problem, solution)
    assert solution.status is Status.CONVERGED


def test_two_samples():
    gram = dense(np.array([[0.0], [1.0]]), Linear())
    solution = SMO().solve(classifier(gram, np.array([-1.0, 1.0]), 100.0))
    np.testing.assert_allclose(solution.coef, [-2.0, 2.0])
    assert -solution.multipliers[0] == pytest.approx(-1.0)


# ends of the run ----------------------------------------------------------------------------------------


@machines
@pytest.mark.parametrize("steps", [1, 7])
def test_a_limit_returns_a_feasible_point_with_its_true_violation(name, steps):
    problem = MACHINES[name](K)
    solution = SMO(max_iter=steps).solve(problem)
    require_honest(problem, solution)
    assert solution.details["pairs moved"] <= steps
    if solution.status is Status.MAX_ITER:
        assert solution.residual > 1e-3
    else:
        assert solution.status is Status.CONVERGED


def test_a_monitor_stops_it():
    seen = []

    def monitor(iteration, violation):
        seen.append((iteration, violation))
        return True

    problem = classifier(K, Y, 10.0)
    solution = SMO().solve(problem, monitor=monitor)
    assert solution.status is Status.STOPPED and len(seen) == 1 and seen[0][1] == pytest.approx(2.0)
    require_honest(problem, solution)
    assert SMO().solve(problem, monitor=lambda i, r: Status.TIME).status is Status.TIME
    assert SMO().solve(problem, monitor=lambda i, r: False).status is Status.CONVERGED


def test_more_steps_never_make_it_worse():
    problem = classifier(K, Y, 10.0)
    values = [objective(problem, SMO(max_iter=k).solve(problem).coef) for k in (1, 2, 4, 8, 16, 32, 64)]
    assert np.all(np.diff(values) <= 1e-12)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2), Gaussian(1.0)], ids=repr)
def test_a_problem_without_a_minimum_is_seen(kernel):
    """Hard margin on classes that cannot be separated (twins for the Gaussian): must end by itself, soon."""
    A, y = (np.vstack([X, X]), np.r_[Y, -Y]) if isinstance(kernel, Gaussian) else (X, np.roll(Y, 1))
    gram = dense(A, kernel)
    problem = BoxQP(gram, -y, np.where(y < 0, -INF, 0.0), np.where(y > 0, INF, 0.0))
    calls = []
    solution = SMO().solve(problem, monitor=lambda i, r: calls.append(1) or len(calls) > 10)
    assert solution.status is Status.UNBOUNDED


@pytest.mark.parametrize("C", [1e15, 1e300])
def test_a_huge_box_is_no_reason_to_go_on_for_ever(C):
    """Classes that cannot be separated: 50 chunks of 50 ms are enough to see that this leads nowhere."""
    calls = []
    problem = classifier(dense(X, Linear()), np.roll(Y, 1), C)
    solution = SMO().solve(problem, monitor=lambda i, r: calls.append(1) or len(calls) > 50)
    require_feasible(problem, solution.coef)
    assert solution.status is not Status.STOPPED


def test_tiny_sums_are_sums():
    problem = BoxQP(K, np.zeros(N), np.zeros(N), np.full(N, 1e-13), total=np.array([5e-13]))
    solution = SMO(tol=1e-16).solve(problem)
    assert solution.coef.sum() == pytest.approx(5e-13, rel=1e-6)


def test_hard_margin_of_classes_that_can_be_separated():
    y = np.where(X[:, 0] + X[:, 1] > 0, 1.0, -1.0)
    gram = dense(X, Linear())
    problem = BoxQP(gram, -y, np.where(y < 0, -INF, 0.0), np.where(y > 0, INF, 0.0))
    solution = SMO(tol=1e-6).solve(problem)
    assert solution.status is Status.CONVERGED
    margin = y * (solution.state - solution.multipliers[0])
    assert margin.min() == pytest.approx(1.0, abs=1e-6)
    large = SMO(tol=1e-6).solve(classifier(gram, y, 1e7))
    np.testing.assert_allclose(large.state, solution.state, atol=1e-5)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_large_coefficients_are_no_sign_of_a_problem_without_a_minimum(scale):
    """Random labels that a wide Gaussian just separates: coefficients of some 1e5 over the unit of the kernel."""
    own = np.random.default_rng(0)
    A, y = own.normal(size=(40, 2)), np.sign(own.normal(size=40))
    gram = dense(A)
    gram._array = scale * gram.array
    problem = BoxQP(gram, -y, np.where(y < 0, -INF, 0.0), np.where(y > 0, INF, 0.0))
    solution = SMO().solve(problem)
    assert solution.status is Status.CONVERGED
    assert np.abs(solution.coef).max() > 1e4 / scale
    margin = y * (gram.array @ solution.coef - solution.multipliers[0])
    assert margin.min() == pytest.approx(1.0, abs=1e-3)


def test_sums_out_of_reach_are_refused():
    with pytest.raises(ParameterError, match="boxes allow sums from 0 to 60"):
        SMO().solve(one_class(K, 1.5))
    with pytest.raises(ParameterError, match="group 1"):
        SMO().solve(BoxQP(K, -Z, np.zeros(N), np.ones(N), np.arange(N) % 2, np.array([1.0, -1.0])))
    top = SMO().solve(one_class(K, 1.0))  # the only feasible point
    assert np.array_equal(top.coef, np.ones(N)) and top.status is Status.CONVERGED


def test_what_it_does_not_solve():
    with pytest.raises(ParameterError, match="without a sum"):
        SMO().solve(BoxQP(K, -Y, -np.ones(N), np.ones(N), total=np.zeros(0)))
    with pytest.raises(CapabilityError, match="needs"):
        SMO().solve(classifier(Products(K.array), Y, 1.0))
    with pytest.raises(CapabilityError):
        SMO().solve(LinearSystem(K, 1.0, Y))


@pytest.mark.parametrize("bad", [{"tol": 0.0}, {"tol": -1.0}, {"max_iter": 0}, {"cache": "much"}, {"shrinking": 2}])
def test_bad_options(bad):
    with pytest.raises(ParameterError):
        SMO(**bad).solve(classifier(K, Y, 1.0))


def test_an_empty_group_is_no_hindrance():
    group = np.where(Y > 0, 0, 2)
    problem = BoxQP(K, np.zeros(N), np.minimum(Y, 0.0), np.maximum(Y, 0.0), group, np.array([5.0, 0.0, -5.0]))
    solution = SMO().solve(problem)
    require_honest(problem, solution)
    pair = SMO().solve(by_class(K, Y, np.ones(N), 5.0))
    np.testing.assert_allclose(solution.state, pair.state, atol=1e-6)


def test_trace_and_details():
    problem = classifier(K, Y, 10.0)
    solution = SMO().solve(problem)
    assert {"pairs moved", "rounds", "largest working set", "support"} <= set(solution.details)
    assert solution.trace.residual[0] == pytest.approx(2.0)
    assert np.all(np.diff(solution.trace.objective) <= 1e-12)
    assert solution.details["largest working set"] == N
    assert "row cache, bytes" not in solution.details


def test_a_float32_gram_of_few_samples_is_solved_in_float64():
    problem = classifier(Tiles(precision="mixed").build(Gaussian(1.0), Vectors.pack(X)), Y, 100.0)
    solution = SMO().solve(problem)
    require_honest(problem, solution)
    np.testing.assert_allclose(solution.state, SMO().solve(classifier(K, Y, 100.0)).state, atol=1e-8)


def test_blocks_and_rows_are_kept_within_the_memory():
    X = np.random.default_rng(0).normal(size=(900, 300))
    y = np.where(X[:, 0] + np.random.default_rng(1).normal(size=900) > 0.0, 1.0, -1.0)
    found = []
    for memory in (None, 500_000):
        gram = Tiles().build(Gaussian(20.0), Vectors.pack(X), Resources(memory=memory))
        found.append(SMO(1e-6).solve(BoxQP(gram, -y, np.minimum(y, 0.0), np.maximum(y, 0.0))))
    assert found[1].details["largest working set"] <= 102 < found[0].details["largest working set"]
    assert found[1].details["row cache, bytes"] <= 125_000 < found[0].details["row cache, bytes"]
    assert np.abs(found[0].coef - found[1].coef).max() < 1e-4


@pytest.mark.parametrize("precision", ["mixed", "double"])
@pytest.mark.parametrize("C", [1e3, 1e6])
def test_large_boxes_are_no_reason_to_move_pairs_for_ever(C, precision):
    """Ten million pairs did not get there: the block of the free variables is nearly singular."""
    points = np.random.default_rng(0).normal(size=(2500, 10))
    y = np.where((points**2).sum(axis=1) > 9.3, 1.0, -1.0)
    gram = Tiles(precision=precision).build(Gaussian.from_gamma(0.01), Vectors.pack(points))
    problem = classifier(gram, y, C)
    solution = SMO(max_iter=1_000_000).solve(problem)
    require_feasible(problem, solution.coef)
    assert solution.status is Status.CONVERGED and residual(problem, solution.coef) <= 1e-3
    assert solution.details["steps on the free variables"] > 0


def test_rows_are_held_in_float64_where_float32_is_not_enough():
    points = np.random.default_rng(0).normal(size=(1000, 300)) * np.geomspace(1.0, 1e-5, 300)
    y = np.where(points[:, 0] * points[:, 1] + 0.5 * np.random.default_rng(1).normal(size=1000) > 0.0, 1.0, -1.0)
    gram = Tiles(precision="mixed").build(Gaussian(30.0), Vectors.pack(points))
    problem = classifier(gram, y, 1e6)
    solution = SMO().solve(problem)
    assert solution.status is Status.CONVERGED and residual(problem, solution.coef) <= 1e-3
    assert solution.details["row cache, bytes"] > 8 * 1000


def test_the_violation_is_that_of_a_gradient_computed_anew():
    """Two variables for each sample nearly cancel, and a gradient kept up to date by steps loses what is left."""
    y = np.sin(2 * X[:20, 0]) + 0.3 * Z[:20]
    problem = nu_regression(dense(X[:20], NegativeDistance()), y, 1e6, 0.37)
    solution = SMO().solve(problem)
    beta = solution.coef
    per_sample = beta[:20] + beta[20:]
    distance = matrix_of(problem)[:20, :20]
    g = np.tile(distance @ per_sample, 2) + problem.linear
    up, down = beta < problem.upper, beta > problem.lower
    fresh = max(g[down & (problem.group == s)].max() - g[up & (problem.group == s)].min() for s in (0, 1))
    rounding = 4.0 * 20 * np.finfo(float).eps * (np.abs(distance) @ np.abs(per_sample) + np.abs(y)).max()
    assert abs(solution.residual - max(fresh, 0.0)) <= rounding


def test_ends_as_source():
    box, group = (np.zeros(3), np.ones(3)), np.array([0, 0, 1])
    args = np.array([3.0, 1.0, 2.0]), np.array([0.0, 1.0, 0.5]), box, group
    for every in (np.zeros(0, np.intp), np.arange(3)):
        m, M = smo.find_ends(*args, every, 2)
        assert m.tolist() == [3.0, 2.0] and M.tolist() == [1.0, 2.0]
        m, M = np.full(2, np.inf), np.full(2, -np.inf)
        two_variables._find_ends.py_func(*args, every, m, M)
        assert m.tolist() == [3.0, 2.0] and M.tolist() == [1.0, 2.0]


def test_the_problem_is_not_written_to():
    problem = squared_hinge(Dense().build(Gaussian(1.0), Vectors.pack(X)), Y, 3.0)
    before = problem.gram.array.copy()
    start = 0.01 * Y - 0.01 * Y.mean()
    kept = start.copy()
    SMO().solve(problem)
    assert np.array_equal(problem.gram.array, before) and np.array_equal(problem.linear, -Y)
    SMO().solve(classifier(K, Y, 1.0), start=start)
    assert np.array_equal(start, kept)
    require_feasible(problem, SMO().solve(problem).coef)


@pytest.mark.parametrize(
    ("n", "width", "whole"), [(500, 40, True), (700, 3, True), (1300, 40, False), (2000, 3, False)]
)
def test_all_variables_are_one_working_set_only_where_their_entries_are_cheap(n, width, whole):
    """An entry takes some operations a column: all of them in float64 take longer than a few working sets."""
    many = np.random.default_rng(5).normal(size=(n, width))
    gram = Tiles(precision="mixed").build(Gaussian(width**0.5), Vectors.pack(many))
    problem = classifier(gram, np.where(many[:, 0] > 0, 1.0, -1.0), 1.0)
    assert smo._Run(problem, SMO(), None, kept_by(None, "SMO"), n).whole is whole
    found = SMO().solve(problem)
    assert found.status is Status.CONVERGED
    require_honest(problem, found, 1e-6)  # tiles of float32


def test_nothing_is_written_down_where_no_state_is_kept(monkeypatch):
    """The texts that tell a checkpoint of one problem from that of another take a twentieth of a small fit."""
    monkeypatch.setattr(SMO, "__repr__", lambda self: pytest.fail("the options were written down"))
    assert SMO().solve(classifier(K, Y, 1.0)).status is Status.CONVERGED
