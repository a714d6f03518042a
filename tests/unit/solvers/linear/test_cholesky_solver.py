import tracemalloc

import numpy as np
import pytest

from mercer.errors import JitterWarning, NotPositiveDefinite, ParameterError
from mercer.problems import LinearSystem, Status
from mercer.solvers import Cholesky
from tests.unit.solvers.matrices import Matrix, Releasing, gaussian, reference, saddle

N = 90
rng = np.random.default_rng(0)
X = rng.normal(size=(N, 2))
K = gaussian(X)
BORDERS = {
    "none": None,
    "empty": np.zeros((N, 0)),
    "ones": np.ones((N, 1)),
    "plane": np.column_stack([np.ones(N), X]),
}
SHIFTS = {"scalar": 0.3, "vector": np.exp(rng.normal(size=N))}
SIDES = {"vector": rng.normal(size=N), "matrix": rng.normal(size=(N, 3)), "column": rng.normal(size=(N, 1))}


@pytest.mark.parametrize("border", BORDERS.values(), ids=BORDERS)
@pytest.mark.parametrize("shift", SHIFTS.values(), ids=SHIFTS)
@pytest.mark.parametrize("rhs", SIDES.values(), ids=SIDES)
def test_equals_elimination_on_the_whole_matrix(border, shift, rhs):
    solution = Cholesky().solve(LinearSystem(Matrix(K), shift, rhs, border))
    coef, multipliers = reference(K, shift, rhs, border)
    np.testing.assert_allclose(solution.coef, coef, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(solution.multipliers, multipliers, rtol=1e-9, atol=1e-11)
    assert solution.coef.shape == rhs.shape
    assert solution.multipliers.shape == (multipliers.shape[0], *rhs.shape[1:])
    assert solution.status is Status.CONVERGED
    assert solution.jitter == 0.0
    assert solution.weights is None
    assert 0.0 <= solution.residual < 1e-13
    assert len(solution.trace) == 1
    assert solution.trace.residual[0] == solution.residual
    assert solution.trace.objective[0] == pytest.approx(-0.5 * np.sum(rhs * coef))


def radial(X, function):
    d = np.sqrt(((X[:, None] - X[None]) ** 2).sum(-1))
    return function(d)


@pytest.mark.parametrize(
    "kernel, border",
    [
        (radial(X, lambda d: -d), BORDERS["ones"]),
        (radial(X, lambda d: -(d**2)), BORDERS["ones"]),
        (radial(X, lambda d: d**2 * np.log(np.where(d > 0, d, 1.0))), BORDERS["plane"]),
    ],
    ids=["distance", "squared distance", "thin plate"],
)
@pytest.mark.parametrize("shift", [1e-3, 1.0])
def test_kernels_positive_definite_only_orthogonally_to_the_border(kernel, border, shift):
    assert np.linalg.eigvalsh(kernel).min() < -1.0
    y = np.sin(X[:, 0])
    solution = Cholesky().solve(LinearSystem(Matrix(kernel), shift, y, border))
    coef, multipliers = reference(kernel, shift, y, border)
    np.testing.assert_allclose(solution.coef, coef, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(solution.multipliers, multipliers, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(border.T @ solution.coef, 0.0, atol=1e-11 * np.abs(coef).sum())
    assert solution.jitter == 0.0


def test_polynomials_of_the_border_are_reproduced():
    y = 3.0 - 2.0 * X[:, 0] + 0.5 * X[:, 1]
    solution = Cholesky().solve(LinearSystem(Matrix(K), 0.1, y, BORDERS["plane"]))
    np.testing.assert_allclose(solution.multipliers, [3.0, -2.0, 0.5], rtol=1e-12)
    np.testing.assert_allclose(solution.coef, 0.0, atol=1e-12)


def test_as_many_functions_as_samples():
    solution = Cholesky().solve(LinearSystem(Matrix(np.eye(2)), 1.0, np.array([1.0, 3.0]), np.eye(2)))
    np.testing.assert_allclose(solution.coef, 0.0, atol=1e-15)
    np.testing.assert_allclose(solution.multipliers, [1.0, 3.0])


def test_the_array_of_a_gram_that_releases_it_is_used():
    matrix = K.copy()
    solution = Cholesky().solve(LinearSystem(Releasing(matrix), 0.3, SIDES["vector"]))
    assert solution.state.factor.array is matrix
    np.testing.assert_allclose(solution.coef, reference(K, 0.3, SIDES["vector"])[0], rtol=1e-9)


def test_float32_is_widened():
    solution = Cholesky().solve(LinearSystem(Matrix(K.astype(np.float32)), 0.3, SIDES["vector"]))
    np.testing.assert_allclose(solution.coef, reference(K, 0.3, SIDES["vector"])[0], rtol=1e-4, atol=1e-5)
    assert solution.coef.dtype == np.float64


@pytest.mark.parametrize("border", [None, BORDERS["plane"]], ids=["none", "plane"])
def test_right_hand_sides_of_any_size(border):
    y = SIDES["vector"]
    solve = lambda rhs: Cholesky().solve(LinearSystem(Matrix(K), 0.3, rhs, border))  # noqa: E731
    once = solve(y)
    for power in (-600, 600):
        scaled = solve(np.ldexp(y, power))
        np.testing.assert_array_equal(scaled.coef, np.ldexp(once.coef, power))
        np.testing.assert_array_equal(scaled.multipliers, np.ldexp(once.multipliers, power))
        assert scaled.residual == once.residual
    zero = solve(np.zeros(N))
    assert not zero.coef.any()
    assert zero.residual == 0.0


def test_repeated_samples_need_jitter_and_the_residual_is_that_of_the_given_system():
    twice = np.vstack([X, X])
    matrix = gaussian(twice) - 5e-12 * np.eye(2 * N)
    y = np.concatenate([np.sin(X[:, 0])] * 2)
    with pytest.warns(JitterWarning):
        solution = Cholesky().solve(LinearSystem(Matrix(matrix), 0.0, y))
    assert solution.jitter > 0.0
    left = np.linalg.norm(y - matrix @ solution.coef) / np.linalg.norm(y)
    assert solution.residual == pytest.approx(left, rel=0.1, abs=1e-12)
    with pytest.warns(JitterWarning):
        odd = Cholesky().solve(LinearSystem(Matrix(matrix), 0.0, np.concatenate([y[:N], y[:N] + 1.0])))
    assert odd.residual > 0.1  # two values at one sample: no solution, and none is pretended


def test_indefinite_is_refused():
    with pytest.raises(NotPositiveDefinite, match="Raise the shift"):
        Cholesky().solve(LinearSystem(Matrix(-K), 0.1, SIDES["vector"]))
    with pytest.raises(NotPositiveDefinite, match="Raise the shift"):
        Cholesky().solve(LinearSystem(Matrix(-K), 0.1, SIDES["vector"], BORDERS["ones"]))


@pytest.mark.parametrize("border", [None, np.ones((N, 1))], ids=["none", "ones"])
def test_an_entry_that_is_not_finite_is_named(border):
    bad = K.copy()
    bad[3, 5] = bad[5, 3] = np.inf
    with pytest.raises(NotPositiveDefinite, match="row 3, column 5"):
        Cholesky().solve(LinearSystem(Matrix(bad), 0.1, SIDES["vector"], border))


def test_dependent_border_is_refused():
    with pytest.raises(ParameterError, match="rank 1"):
        Cholesky().solve(LinearSystem(Matrix(K), 0.1, SIDES["vector"], np.ones((N, 2))))


@pytest.mark.parametrize("border", [None, BORDERS["ones"], BORDERS["plane"]], ids=["none", "ones", "plane"])
@pytest.mark.parametrize("shift", SHIFTS.values(), ids=SHIFTS)
def test_state_serves_again(border, shift):
    state = Cholesky().solve(LinearSystem(Matrix(K), shift, SIDES["vector"], border)).state
    for rhs in SIDES.values():
        coef, multipliers = state.solve(rhs)
        expected = reference(K, shift, rhs, border)
        np.testing.assert_allclose(coef, expected[0], rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(multipliers, expected[1], rtol=1e-9, atol=1e-11)
    whole = saddle(K, shift, border)
    np.testing.assert_allclose(state.inverse_diagonal(), np.diagonal(np.linalg.inv(whole))[:N], rtol=1e-9)
    if border is None:
        assert state.logdet() == pytest.approx(np.linalg.slogdet(whole)[1])
    else:
        null = np.linalg.svd(border.T)[2][border.shape[1] :].T
        assert state.logdet() == pytest.approx(np.linalg.slogdet(null.T @ saddle(K, shift) @ null)[1])


@pytest.mark.parametrize("s", [0, 2])
def test_memory_is_one_matrix(s):
    n = 1000
    generator = np.random.default_rng(1)
    matrix = gaussian(generator.normal(size=(n, 2)))
    gram, rhs = Releasing(matrix), generator.normal(size=(n, 2))
    border = generator.normal(size=(n, s)) if s else None
    Cholesky().solve(LinearSystem(Matrix(K), 0.3, SIDES["vector"], BORDERS["ones"]))  # allocated once
    tracemalloc.start()
    try:
        Cholesky().solve(LinearSystem(gram, 0.5, rhs, border))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.05 * 8 * n**2 + 8 * n * 40 * (s > 0)


@pytest.mark.parametrize("border", BORDERS.values(), ids=BORDERS)
@pytest.mark.parametrize("shift", SHIFTS.values(), ids=SHIFTS)
@pytest.mark.parametrize("rhs", SIDES.values(), ids=SIDES)
def test_mixed_precision_has_the_solution_of_float64(border, shift, rhs):
    # a step leaves a share of at most n cond eps32, here 2e-5: four of them suffice whatever the order of the sums
    shift = 100.0 * shift
    double = Cholesky().solve(LinearSystem(Matrix(K), shift, rhs, border))
    mixed = Cholesky("mixed").solve(LinearSystem(Matrix(K), shift, rhs, border))
    np.testing.assert_allclose(mixed.coef, double.coef, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(mixed.multipliers, double.multipliers, rtol=1e-10, atol=1e-12)
    assert mixed.residual < 1e-14 and mixed.status is Status.CONVERGED and mixed.state is None
    assert mixed.details["factor"] == "float32" and 1 <= mixed.details["refinements"] <= 4
    assert double.details == {"factor": "float64"}


@pytest.mark.parametrize("border", [None, BORDERS["plane"]], ids=["none", "plane"])
@pytest.mark.parametrize(("shift", "reason"), [(1e-9, "not positive definite"), (1e-6, "not accurate after 4")])
def test_mixed_precision_falls_back_to_float64_and_tells(border, shift, reason):
    rhs = SIDES["vector"]
    double = Cholesky().solve(LinearSystem(Matrix(K), shift, rhs, border))
    mixed = Cholesky("mixed").solve(LinearSystem(Matrix(K), shift, rhs, border))
    assert mixed.details["factor"] == "float64" and mixed.details["float32"].startswith(reason)
    np.testing.assert_allclose(mixed.coef, double.coef, rtol=1e-4, atol=1e-4 * np.abs(double.coef).max())
    assert mixed.state is not None and mixed.jitter == double.jitter == 0.0
    assert mixed.residual == pytest.approx(double.residual, rel=10.0, abs=1e-14)


def test_precision_is_a_known_word():
    with pytest.raises(ParameterError, match="precision"):
        Cholesky("single").solve(LinearSystem(Matrix(K), 0.1, SIDES["vector"]))


@pytest.mark.parametrize("border", BORDERS.values(), ids=BORDERS)
def test_blocks_of_the_inverse(border):
    P = np.linalg.inv(saddle(K, SHIFTS["vector"], border))[:N, :N]
    state = Cholesky().solve(LinearSystem(Matrix(K), SHIFTS["vector"], SIDES["vector"], border)).state
    index = np.array([7, 3, 50])
    np.testing.assert_allclose(state.inverse_block(index), P[np.ix_(index, index)], rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(state.release_inverse(), P, rtol=1e-8, atol=1e-10)
