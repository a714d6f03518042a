"""The kernel adatron: against a general QP without a bias."""

import math

import numpy as np
import piqp
import pytest

from mercer.budget import Resources
from mercer.domains import Vectors
from mercer.errors import CapabilityError, ParameterError
from mercer.gram import Dense, Features, Tiles
from mercer.kernels import Gaussian, Linear
from mercer.problems import BoxQP, Status
from mercer.solvers.box import adatron_descent as adatron
from mercer.solvers.box import working_sets
from mercer.solvers.box.adatron_descent import Adatron
from tests.unit.solvers.matrices import Products


def two(n, spread=1.0, width=3, seed=0):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    return rng.normal(size=(n, width)) + spread * y[:, None], y


def problem(X, y, C=1.0, weight=1.0, kernel=None, spec=None, ridge=0.0, threads=None):
    K = (spec or Dense()).build(kernel or Gaussian(1.5), Vectors.pack(X), Resources(n_threads=threads))
    box = np.broadcast_to(np.asarray(C * weight, dtype=float), y.shape)
    return BoxQP(K, -y, np.where(y > 0, 0.0, -box), np.where(y > 0, box, 0.0), total=np.zeros(0), ridge=ridge)


def by_quadratic_programming(given):
    n = len(given.linear)
    K = given.gram.to_dense() + np.diag(np.broadcast_to(given.ridge, (n,)))
    solver = piqp.DenseSolver()
    for name in ("eps_abs", "eps_rel", "eps_duality_gap_abs", "eps_duality_gap_rel"):
        setattr(solver.settings, name, 1e-12 if np.max(given.upper) < 1e5 else 1e-8)
    solver.setup(K + 1e-13 * np.eye(n), given.linear, x_l=given.lower, x_u=given.upper)
    assert solver.solve() == piqp.PIQP_SOLVED
    return solver.result.x


def objective(given, beta):
    H = given.gram @ beta + given.ridge * beta
    return 0.5 * beta @ H + given.linear @ beta


@pytest.mark.parametrize("C", [1e-6, 0.1, 1.0, 30.0, 1e6])
@pytest.mark.parametrize("spread", [0.1, 1.0])
@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_equals_a_quadratic_program(C, spread, ridge):
    X, y = two(60, spread)
    weight = np.random.default_rng(1).choice([0.5, 1.0, 3.0], size=60)
    given = problem(X, y, C, weight, ridge=ridge)
    solution, expected = Adatron().solve(given), by_quadratic_programming(given)
    assert solution.status is Status.CONVERGED and solution.residual < 1e-8
    np.testing.assert_allclose(
        given.gram @ solution.coef, given.gram @ expected, atol=1e-6 * min(C, 1.0) * max(1.0, C / 1e5)
    )
    assert np.isclose(objective(given, solution.coef), objective(given, expected), rtol=1e-8)
    assert solution.gap <= 1e-8 * max(1.0, -objective(given, expected)) + 1e-11 * C


@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-6])
def test_gap_and_violation_are_those_of_the_coefficients(tol):
    X, y = two(150, 0.3)
    given = problem(X, y, 5.0)
    solution = Adatron(tol, polish=False).solve(given)
    f, beta = given.gram @ solution.coef, solution.coef
    primal = 0.5 * beta @ f + 5.0 * np.maximum(1.0 - y * f, 0.0).sum()
    assert np.isclose(solution.gap, primal + objective(given, beta), rtol=1e-6) and solution.residual <= tol
    best = objective(given, Adatron(1e-9).solve(given).coef)
    assert 0.0 <= objective(given, beta) - best <= solution.gap + 1e-9
    assert np.all((given.lower <= beta) & (beta <= given.upper))


@pytest.mark.parametrize("spec", [Dense(), Tiles(), Features()], ids=repr)
def test_every_gram_gives_the_same(spec):
    X, y = two(200, 0.3)
    solution = Adatron().solve(problem(X, y, kernel=Linear(), spec=spec))
    expected = Adatron().solve(problem(X, y, kernel=Linear()))
    np.testing.assert_allclose(X.T @ solution.coef, X.T @ expected.coef, atol=1e-9)


def test_weights_are_repetitions_at_the_default_tolerance():
    X, y = two(50, 0.3)
    weight = np.random.default_rng(0).integers(1, 4, size=50)
    repeated = np.repeat(np.arange(50), weight)
    once = Adatron().solve(problem(X, y, 10.0, weight)).coef
    often = Adatron().solve(problem(X[repeated], y[repeated], 10.0)).coef
    np.testing.assert_allclose(Gaussian(1.5)(X) @ once, Gaussian(1.5)(X, X[repeated]) @ often, atol=1e-8)


def test_degenerate_samples():
    X = np.array([[1.0, 2.0]] * 4 + [[0.0, 0.0]] * 2 + [[5.0, -1.0]])
    y = np.array([1.0, -1.0, 1.0, 1.0, 1.0, -1.0, -1.0])
    given = problem(X, y, 2.0, kernel=Linear())
    solution, expected = Adatron().solve(given), by_quadratic_programming(given)
    assert solution.status is Status.CONVERGED and solution.gap < 1e-8
    np.testing.assert_allclose(X.T @ solution.coef, X.T @ expected, atol=1e-5)
    assert np.array_equal(solution.coef[4:6], [2.0, -2.0])  # at the origin the loss is 1 whatever the function is


def test_the_hard_margin():
    X, y = np.array([[1.0, 1.0], [2.0, 0.5], [-1.0, -0.5], [-3.0, 1.0]]), np.array([1.0, 1.0, -1.0, -1.0])
    hard = Adatron().solve(problem(X, y, math.inf, kernel=Linear()))
    soft = Adatron().solve(problem(X, y, 1e6, kernel=Linear()))
    assert hard.status is Status.CONVERGED
    np.testing.assert_allclose(X.T @ hard.coef, X.T @ soft.coef, atol=1e-9)


@pytest.mark.parametrize("X", [[[1.0], [2.0], [3.0]], [[1.0, 1.0], [1.0, 1.0], [0.0, 1.0]], [[0.0], [0.0], [1.0]]])
def test_the_hard_margin_of_samples_that_cannot_be_separated_ends(X):
    solution = Adatron().solve(problem(np.array(X), np.array([1.0, -1.0, 1.0]), math.inf, kernel=Linear()))
    assert solution.status is Status.STALLED and solution.residual > 0.1


def test_from_a_start():
    X, y = two(300, 0.2)
    given = problem(X, y, 3.0)
    cold = Adatron(1e-4, polish=False).solve(given)
    warm = Adatron(1e-4, polish=False).solve(given, start=cold.coef)
    assert len(warm.trace) == 1 and np.array_equal(warm.coef, cold.coef)
    less = Adatron().solve(problem(X, y, 1.0), start=cold.coef)  # outside the new box
    np.testing.assert_allclose(given.gram @ less.coef, given.gram @ Adatron().solve(problem(X, y)).coef, atol=1e-8)


def test_a_working_set_smaller_than_the_free_variables(monkeypatch):
    X, y = two(150, 0.2)
    expected = Adatron().solve(problem(X, y, 10.0))
    monkeypatch.setattr(working_sets, "_LARGEST_SET", 8)
    monkeypatch.setattr(adatron, "WORK", 200)
    monkeypatch.setattr(adatron, "POLISHED", 0)
    given = problem(X, y, 10.0)
    solution = Adatron(1e-6, max_iter=20_000).solve(given)
    assert solution.status is Status.CONVERGED and len(solution.trace) > 20
    np.testing.assert_allclose(given.gram @ solution.coef, given.gram @ expected.coef, atol=1e-4)
    assert np.all(np.diff(solution.trace.objective) <= 1e-12)


def test_limits_and_monitors():
    X, y = two(3000, 0.05, width=6)
    given = problem(X, y, 100.0, spec=Tiles())
    few = Adatron(max_iter=1).solve(given)
    assert few.status is Status.MAX_ITER and few.residual > 1e-3 and len(few.trace) == 2
    seen = []
    stopped = Adatron().solve(given, monitor=lambda *state: seen.append(state) or len(seen) == 2)
    assert stopped.status is Status.STOPPED and len(seen) == 2 and len(stopped.trace) <= 3
    assert Adatron().solve(given, monitor=lambda *_: Status.TIME).status is Status.TIME


def test_polishing_can_be_stopped_too():
    given, seen = problem(*two(100, 0.2), 10.0), []
    plain = Adatron(0.1, polish=False).solve(given)
    stopped = Adatron(0.1).solve(given, monitor=lambda *_: seen.append(0) or len(seen) >= len(plain.trace))
    assert stopped.status is Status.CONVERGED and len(seen) == len(plain.trace)


@pytest.mark.parametrize("spec", [Tiles(), Dense()], ids=repr)
def test_the_same_bits_for_any_number_of_threads(spec):
    X, y = two(2500, 0.3, width=6)
    one, both = (Adatron().solve(problem(X, y, spec=spec, threads=threads)).coef for threads in (1, 2))
    assert np.array_equal(one, both)


@pytest.mark.parametrize("polish", [True, False])
@pytest.mark.parametrize("tol", [1e-3, 1e-7])
def test_single_precision_tiles_end_in_double(tol, polish):
    X, y = two(400, 0.3)
    given = problem(X, y)
    solution = Adatron(tol, polish=polish).solve(problem(X, y, spec=Tiles(precision="mixed")))
    assert solution.status is Status.CONVERGED and solution.residual <= tol
    f = given.gram @ solution.coef
    np.testing.assert_allclose(f, given.gram @ Adatron().solve(given).coef, atol=1e-8 if polish else 50 * tol)


def test_rounding_can_keep_the_tolerance_out_of_reach():
    X, y = two(60, 0.2)

    class Noisy(Products):
        def rows(self, index, columns=slice(None), out=None):
            return self.K[index][:, columns] + 3.0 * np.eye(60)[index][:, columns]

        def update(self, index, V, out):
            out += (self.K + 3.0 * np.eye(60))[:, index] @ V

    given = problem(X, y)
    noisy = BoxQP(Noisy(given.gram.to_dense()), -y, given.lower, given.upper, total=np.zeros(0))
    solution = Adatron(1e-6, polish=False).solve(noisy)
    assert solution.status is Status.STALLED and solution.residual > 1e-6


def test_what_cannot_be_solved():
    X, y = two(6)
    given = problem(X, y)
    with pytest.raises(CapabilityError, match="1 sum"):
        Adatron().solve(BoxQP(given.gram, -y, given.lower, given.upper))
    with pytest.raises(CapabilityError, match=r"Gram\.rows"):
        Adatron().solve(BoxQP(Products(np.eye(6)), -y, given.lower, given.upper, total=np.zeros(0)))
    with pytest.raises(ParameterError, match="tol"):
        Adatron(tol=0.0).solve(given)


def test_the_loop_in_python_is_the_same():
    X, y = two(20)
    X[3] = X[4] = 0.0
    K = X @ X.T
    lower, upper = np.where(y > 0, 0.0, -2.0), np.where(y > 0, 2.0, 0.0)
    upper[3] = np.inf
    results = []
    for call in (adatron._descend, adatron._descend.py_func):
        beta, g = np.zeros(20), -y
        call(K, g, beta, lower, upper, 1e-3, 10_000)
        results.append(beta)
    np.testing.assert_allclose(*results, atol=1e-12)
