"""The all-together multi-class machine: against a general QP, LIBLINEAR, and its own optimality conditions."""

import math

import numpy as np
import piqp
import pytest
from sklearn.svm import LinearSVC

from mercer.budget import Resources
from mercer.domains import Vectors
from mercer.errors import CapabilityError, ParameterError
from mercer.gram import Dense, Features, Tiles
from mercer.kernels import Gaussian, Linear
from mercer.problems import LinearSystem, MulticlassQP, Status
from mercer.solvers import SequentialDual
from mercer.solvers.box import multiclass_descent, working_sets
from tests.unit.solvers.matrices import Products


def blobs(n, classes, width=3, spread=1.0, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    return spread * rng.normal(size=(classes, width))[y] + rng.normal(size=(n, width)), y


def gram(X, kernel=None, spec=None):
    return (spec or Dense()).build(kernel or Gaussian(1.5), Vectors.pack(X))


def problem(X, y, C=1.0, weight=None, **kwargs):
    weight = np.ones(len(y)) if weight is None else weight
    return MulticlassQP(gram(X, **kwargs), y, C * weight, int(y.max()) + 1)


def by_quadratic_programming(K, codes, upper, classes):
    """Coefficients (n, c) by an interior point method on all variables at once."""
    n = len(K)
    P = np.kron(K, np.eye(classes))
    right = np.eye(classes)[codes]
    solver = piqp.DenseSolver()
    for name in ("eps_abs", "eps_rel", "eps_duality_gap_abs", "eps_duality_gap_rel"):
        setattr(solver.settings, name, 1e-11)
    solver.setup(
        P + 1e-13 * np.eye(n * classes), -right.ravel(), np.kron(np.eye(n), np.ones((1, classes))), np.zeros(n),
        x_u=(right * upper[:, None]).ravel(),
    )  # fmt: skip
    assert solver.solve() == piqp.PIQP_SOLVED
    return solver.result.x.reshape(n, classes)


def objective(K, B, codes):
    return 0.5 * np.einsum("ic,ij,jc->", B, K, B) - B[np.arange(len(B)), codes].sum()


@pytest.mark.parametrize("C", [1e-6, 0.1, 1.0, 30.0, 1e4])
@pytest.mark.parametrize("classes", [2, 3, 5])
def test_equals_a_quadratic_program(C, classes):
    X, y = blobs(45, classes)
    weight = np.random.default_rng(1).choice([0.5, 1.0, 3.0], size=45)
    given = problem(X, y, C, weight)
    solution = SequentialDual().solve(given)
    K = given.gram.to_dense()
    expected = by_quadratic_programming(K, y, given.upper, classes)
    assert solution.status is Status.CONVERGED
    assert np.isclose(objective(K, solution.coef, y), objective(K, expected, y), rtol=1e-7)
    np.testing.assert_allclose(K @ solution.coef, K @ expected, atol=5e-5 * min(C, 1.0))
    assert solution.residual < 1e-9 and solution.gap < 1e-7 * max(1.0, abs(objective(K, expected, y)))


@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-6])
def test_gap_and_violation_are_those_of_the_coefficients(tol):
    X, y = blobs(120, 4)
    given = problem(X, y, 5.0)
    solution = SequentialDual(tol, polish=False).solve(given)
    K, B = given.gram.to_dense(), solution.coef
    f = K @ B
    rows = np.arange(len(y))
    np.testing.assert_allclose(B.sum(axis=1), 0.0, atol=1e-12)
    assert np.all(5.0 * np.eye(4)[y] >= B)
    G = f - np.eye(4)[y]
    below = np.eye(4)[y] * 5.0 > B
    violation = (G.max(axis=1) - np.min(G, axis=1, where=below, initial=np.inf)).max()
    assert np.isclose(solution.residual, max(violation, 0.0), rtol=1e-6, atol=1e-12) and solution.residual <= tol
    slack = (f + 1.0 - np.eye(4)[y]).max(axis=1) - f[rows, y]
    primal = 0.5 * np.sum(f * B) + 5.0 * slack.sum()
    assert np.isclose(solution.gap, primal + objective(K, B, y), rtol=1e-6)
    best = objective(K, SequentialDual(1e-9).solve(given).coef, y)
    assert 0.0 <= objective(K, B, y) - best <= solution.gap + 1e-9


@pytest.mark.parity
def test_the_linear_kernel_is_liblinear():
    X, y = blobs(200, 4, width=5, seed=3)
    theirs = LinearSVC(multi_class="crammer_singer", C=0.7, fit_intercept=False, tol=1e-9, max_iter=100_000).fit(X, y)
    for spec in (Dense(), Features(), Tiles()):
        solution = SequentialDual().solve(problem(X, y, 0.7, kernel=Linear(), spec=spec))
        np.testing.assert_allclose(X @ (X.T @ solution.coef), X @ theirs.coef_.T, atol=1e-4)


def test_two_classes_are_the_binary_machine_without_a_bias():
    X, y = blobs(60, 2)
    solution = SequentialDual().solve(problem(X, y, 2.0))
    np.testing.assert_allclose(solution.coef[:, 0], -solution.coef[:, 1], atol=1e-12)
    K = gram(X).to_dense()
    # f_1 - f_0 = g with hinge(y g) and |f_0|^2 + |f_1|^2 = |g|^2 / 2: the binary machine at twice the bound
    s = 2.0 * y - 1.0
    g = K @ (solution.coef[:, 1] - solution.coef[:, 0])
    alpha = s * (solution.coef[:, 1] - solution.coef[:, 0]) / 2.0
    assert np.all((alpha >= 0.0) & (alpha <= 2.0))
    assert np.all(s * g >= 1.0 - 1e-6, where=alpha < 1e-9) and np.all(s * g <= 1.0 + 1e-6, where=alpha > 2.0 - 1e-9)


def test_weights_are_repetitions_at_the_default_tolerance():
    X, y = blobs(50, 3)
    weight = np.random.default_rng(0).integers(1, 4, size=50)
    repeated = np.repeat(np.arange(50), weight)
    once = SequentialDual().solve(problem(X, y, 10.0, weight.astype(float)))
    often = SequentialDual().solve(problem(X[repeated], y[repeated], 10.0))
    f = Gaussian(1.5)(X) @ once.coef
    np.testing.assert_allclose(Gaussian(1.5)(X, X[repeated]) @ often.coef, f, atol=1e-7)


def test_degenerate_samples():
    X = np.array([[1.0, 2.0]] * 6 + [[0.0, 0.0]] * 4 + [[5.0, -1.0]])  # duplicates, the origin, a class of one
    y = np.array([0, 1, 2, 0, 0, 0, 0, 1, 2, 2, 3])
    given = problem(X, y, 1.0, kernel=Linear())
    solution = SequentialDual().solve(given)
    K = given.gram.to_dense()
    expected = by_quadratic_programming(K, y, given.upper, 4)
    assert solution.status is Status.CONVERGED and solution.gap < 1e-8
    np.testing.assert_allclose(K @ solution.coef, K @ expected, atol=1e-5)
    origin = solution.coef[6:10]
    np.testing.assert_allclose(origin[np.arange(4), y[6:10]], 1.0)  # their loss is 1 whatever the function is


def test_the_hard_margin():
    X = np.array([[0.0, 3.0], [3.0, 0.0], [-2.0, -2.0], [0.5, 4.0], [4.0, 0.0], [-3.0, -2.0]])
    y = np.array([0, 1, 2, 0, 1, 2])
    hard = SequentialDual().solve(problem(X, y, math.inf, kernel=Linear()))
    soft = SequentialDual().solve(problem(X, y, 1e6, kernel=Linear()))
    assert hard.status is Status.CONVERGED and hard.gap < 1e-8
    np.testing.assert_allclose(X.T @ hard.coef, X.T @ soft.coef, atol=1e-9)
    loose = SequentialDual(0.3, polish=False).solve(problem(X, y, math.inf, kernel=Linear()))
    value = 0.5 * np.sum((X.T @ hard.coef) ** 2)
    assert value - (loose.coef[np.arange(6), y].sum() - 0.5 * np.sum((X.T @ loose.coef) ** 2)) <= loose.gap + 1e-12


@pytest.mark.parametrize("X", [[[1.0], [2.0], [3.0]], [[1.0, 1.0], [1.0, 1.0], [0.0, 1.0]], [[0.0], [0.0], [1.0]]])
def test_the_hard_margin_of_samples_that_cannot_be_separated_ends(X):
    solution = SequentialDual().solve(problem(np.array(X), np.array([0, 1, 0]), math.inf, kernel=Linear()))
    assert solution.status is Status.STALLED and solution.gap == math.inf


def test_from_a_start():
    X, y = blobs(300, 5, spread=0.5)
    given = problem(X, y, 3.0)
    cold = SequentialDual(1e-4, polish=False).solve(given)
    warm = SequentialDual(1e-4, polish=False).solve(given, start=cold.coef)
    assert len(warm.trace) == 1 and np.allclose(warm.coef, cold.coef, atol=1e-12)
    less = SequentialDual(1e-4).solve(problem(X, y, 1.0), start=cold.coef)  # outside the new box
    direct = SequentialDual(1e-4).solve(problem(X, y, 1.0))
    np.testing.assert_allclose(given.gram @ less.coef, given.gram @ direct.coef, atol=1e-8)
    strange = SequentialDual(1e-4).solve(given, start=np.random.default_rng(0).normal(size=(300, 5)))
    np.testing.assert_allclose(
        given.gram @ strange.coef, given.gram @ SequentialDual(1e-4).solve(given).coef, atol=1e-8
    )


def test_the_order_of_samples_and_classes_does_not_matter():
    X, y = blobs(90, 3)
    order = np.random.default_rng(0).permutation(90)
    first, second = SequentialDual().solve(problem(X, y)), SequentialDual().solve(problem(X[order], y[order]))
    np.testing.assert_allclose(second.coef, first.coef[order], atol=1e-8)
    np.testing.assert_allclose(SequentialDual().solve(problem(X, 2 - y)).coef, first.coef[:, ::-1], atol=1e-8)


def test_a_working_set_smaller_than_the_free_samples(monkeypatch):
    X, y = blobs(150, 4, spread=0.3)
    expected = SequentialDual().solve(problem(X, y, 10.0))
    monkeypatch.setattr(working_sets, "_LARGEST_SET", 24)
    monkeypatch.setattr(multiclass_descent, "WORK", 2000)
    monkeypatch.setattr(multiclass_descent, "POLISHED", 0)
    solution = SequentialDual(1e-5).solve(problem(X, y, 10.0))
    assert solution.status is Status.CONVERGED and len(solution.trace) > 20
    np.testing.assert_allclose(gram(X) @ solution.coef, gram(X) @ expected.coef, atol=1e-4)
    assert np.all(np.diff(solution.trace.objective) <= 1e-12)


def test_limits_and_monitors():
    X, y = blobs(3000, 6, width=8, spread=0.4)
    given = problem(X, y, 100.0, spec=Tiles())
    few = SequentialDual(max_iter=1).solve(given)
    assert few.status is Status.MAX_ITER and few.residual > 1e-3 and len(few.trace) == 2
    seen = []
    stopped = SequentialDual().solve(given, monitor=lambda *state: seen.append(state) or len(seen) == 2)
    assert stopped.status is Status.STOPPED and len(seen) == 2 and len(stopped.trace) <= 3
    late = SequentialDual().solve(given, monitor=lambda *_: Status.TIME)
    assert late.status is Status.TIME and np.isfinite(late.gap)
    assert few.trace.seconds[-1] < 5.0


def test_polishing_can_be_stopped_too():
    given, seen = problem(*blobs(100, 3), 10.0), []
    plain = SequentialDual(0.1, polish=False).solve(given)
    stopped = SequentialDual(0.1).solve(given, monitor=lambda *_: seen.append(0) or len(seen) >= len(plain.trace))
    assert stopped.status is Status.CONVERGED and len(seen) == len(plain.trace)
    assert len(stopped.trace) == len(plain.trace) + 1 and stopped.residual == stopped.trace.residual[-1]


def test_the_same_bits_for_any_number_of_threads():
    X, y = blobs(2500, 4, width=6)
    found = []
    for spec in (Tiles(), Dense()):
        for threads in (1, 2):
            K = spec.build(Gaussian(2.0), Vectors.pack(X), Resources(n_threads=threads))
            found.append(SequentialDual().solve(MulticlassQP(K, y, np.ones(len(y)), 4)).coef)
        assert np.array_equal(found[-1], found[-2])
    np.testing.assert_allclose(found[0], found[2], atol=1e-7)


@pytest.mark.parametrize("polish", [True, False])
@pytest.mark.parametrize("tol", [1e-3, 1e-7])
def test_single_precision_tiles_end_in_double(tol, polish):
    X, y = blobs(400, 4)
    given = problem(X, y, 3.0)
    expected = SequentialDual().solve(given)
    solution = SequentialDual(tol, polish=polish).solve(problem(X, y, 3.0, spec=Tiles(precision="mixed")))
    assert solution.status is Status.CONVERGED and solution.residual <= tol
    f = given.gram @ solution.coef
    np.testing.assert_allclose(f, given.gram @ expected.coef, atol=1e-8 if polish else 50 * tol)
    G = f - np.eye(4)[y]
    below = np.eye(4)[y] * 3.0 > solution.coef
    violation = (G.max(axis=1) - np.min(G, axis=1, where=below, initial=np.inf)).max()
    assert np.isclose(violation, solution.residual, atol=1e-10)


def test_rounding_can_keep_the_tolerance_out_of_reach(monkeypatch):
    X, y = blobs(60, 3)

    class Noisy(Products):
        def rows(self, index, columns=slice(None), out=None):
            return self.K[index][:, columns] + 0.05 * np.eye(60)[index][:, columns]

        def update(self, index, V, out):
            out += (self.K + 0.05 * np.eye(60))[:, index] @ V

    noisy = Noisy(gram(X).to_dense())
    solution = SequentialDual(1e-6, polish=False).solve(MulticlassQP(noisy, y, np.ones(60), 3))
    assert solution.status is Status.STALLED and solution.residual > 1e-6


def test_what_cannot_be_solved():
    with pytest.raises(CapabilityError, match=r"Gram\.rows"):
        SequentialDual().solve(MulticlassQP(Products(np.eye(2)), np.array([0, 1]), np.ones(2), 2))
    with pytest.raises(CapabilityError, match="MulticlassQP"):
        SequentialDual().solve(LinearSystem(Products(np.eye(2)), 1.0, np.ones(2)))
    with pytest.raises(ParameterError, match="tol"):
        SequentialDual(tol=0.0).solve(problem(*blobs(6, 2)))


class TestCompiled:
    """The loops as Python runs them."""

    def test_one_sample_is_solved_exactly(self):
        rng = np.random.default_rng(0)
        for trial in range(60):
            count = 2 + trial % 5
            y, a, u = trial % count, 0.5 + rng.random(), [0.1, 1.0, 5.0, np.inf][trial % 4]
            d = rng.normal(size=count) * 3
            results = []
            for call in (multiclass_descent._solve_sample, multiclass_descent._solve_sample.py_func):
                b = np.empty(count)
                call(a, d, y, u, b, np.arange(count))
                results.append(b)
            assert np.array_equal(*results)
            b, bound = results[0], np.where(np.arange(count) == y, u, 0.0)
            assert np.isclose(b.sum(), 0.0, atol=1e-12) and np.all(b <= bound)
            assert multiclass_descent._violation.py_func(d + a * b, b, y, u)[0] < 1e-12

    def test_descent_in_python_is_the_same(self):
        X, y = blobs(20, 3)
        X[3] = X[4] = 0.0
        K, upper = X @ X.T, np.ones(20)
        upper[4] = np.inf
        results = []
        for call in (multiclass_descent._descend, multiclass_descent._descend.py_func):
            B, G = np.zeros((3, 20)), -np.ascontiguousarray(np.eye(3)[y].T)
            call(K, G, B, y, upper, 1e-3, 20_000)
            results.append(B)
        np.testing.assert_allclose(*results, atol=1e-12)

    def test_violations_in_python_are_the_same(self):
        X, y = blobs(20, 3)
        B = SequentialDual().solve(problem(X, y)).coef
        G = np.random.default_rng(0).normal(size=(20, 3))
        results = []
        for call in (multiclass_descent._violations, multiclass_descent._violations.py_func):
            v, free = np.empty(20), np.empty(20, dtype=bool)
            call(G, B, y, np.ones(20), v, free)
            results.append(np.concatenate([v, free]))
        assert np.array_equal(*results)

    def test_giving_up_in_python_is_the_same(self):
        for y in range(3):
            for g in (np.array([0.0, -1.0, 2.0]), np.zeros(3)):
                results = [np.empty(3), np.empty(3)]
                multiclass_descent._give_up(g, y, 2.0, results[0])
                multiclass_descent._give_up.py_func(g, y, 2.0, results[1])
                assert np.array_equal(*results) and results[0].sum() == 0.0 and results[0][y] in (0.0, 2.0)
