"""Support vector machines: the same optimum by working sets in float32 tiles, from a cache, shrunk, and stored."""

import time
import tracemalloc

import numpy as np
import pytest

from mercer.budget import Resources
from mercer.domains import Strings, Vectors
from mercer.gram import Dense, Tiles
from mercer.kernels import Gaussian, Laplacian, Linear, NegativeDistance, Spectrum
from mercer.problems import BoxQP, Status
from mercer.solvers import SMO
from mercer.solvers.box import smo
from tests.clock import allowed, interrupted
from tests.unit.solvers.machines import (
    by_class,
    classifier,
    huber,
    nu_regression,
    one_class,
    regression,
    require_feasible,
    residual,
    squared_hinge,
)

N = 2300
rng = np.random.default_rng(0)
X = rng.normal(size=(N, 6))
SCORE = np.sin(2.0 * X[:, 0]) + X[:, 1]
Y = np.where(SCORE + 0.7 * rng.normal(size=N) > 0, 1.0, -1.0)
Z = SCORE + 0.2 * rng.normal(size=N)
S = Vectors.pack(X)
KERNEL = Gaussian(2.0)
STORED = Dense().build(KERNEL, S)

WIDE = rng.normal(size=(1000, 300))  # so many columns that rows are worth keeping
WIDE_Y = np.where(WIDE[:, 0] + 0.5 * rng.normal(size=1000) > 0, 1.0, -1.0)
WIDE_KERNEL = Gaussian(20.0)

MACHINES = {
    "C = 1": lambda K: classifier(K, Y, 1.0),
    "C = 100": lambda K: classifier(K, Y, 100.0),
    "weights": lambda K: classifier(K, Y, np.where(np.arange(N) % 5 == 0, 0.0, 2.0)),
    "squared hinge": lambda K: squared_hinge(K, Y, 1.0),
    "nu": lambda K: by_class(K, Y, np.ones(N), 0.2 * N),
    "SVR": lambda K: regression(K, Z, 1.0, 0.2),
    "nu-SVR": lambda K: nu_regression(K, Z, 1.0, 0.3),
    "Huber": lambda K: huber(K, Z, 1.0, 0.3),
    "one class": lambda K: one_class(K, 0.1),
}


def tiles(precision="mixed", threads=None, kernel=KERNEL, samples=S):
    return Tiles(precision=precision).build(kernel, samples, Resources(n_threads=threads))


def reference(problem, K):
    """K of the problem as an array, with its repetitions."""
    index = getattr(problem.gram, "index", None)
    return K if index is None else K[np.ix_(index, index)]


def rough(monkeypatch):
    """No polish at the end: what the working sets themselves reach."""
    monkeypatch.setattr(smo, "polish", lambda *_: False)


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("polished", [True, False])
def test_tiles_in_float32_reach_the_optimum_of_the_stored_matrix(name, polished, monkeypatch):
    exact = SMO().solve(MACHINES[name](STORED))
    if not polished:
        rough(monkeypatch)
    problem = MACHINES[name](tiles())
    solution = SMO().solve(problem)
    K = reference(problem, STORED.array)
    require_feasible(problem, solution.coef)
    true = residual(problem, solution.coef, K)
    assert solution.status is Status.CONVERGED
    assert true <= 1e-3 and solution.residual == pytest.approx(true, abs=1e-6)
    close = 1e-5 if polished else 2e-2
    np.testing.assert_allclose(K @ solution.coef, K @ exact.coef, atol=close)
    # far from the margin K beta is that of entries in float32
    np.testing.assert_allclose(solution.state, K @ solution.coef, atol=4e-7 * np.abs(solution.coef).sum())
    np.testing.assert_allclose(solution.multipliers, exact.multipliers, atol=close)


@pytest.mark.parametrize("kernel", [Laplacian(2.0), NegativeDistance(1.0), Linear()], ids=repr)
def test_other_kernels_in_tiles(kernel, monkeypatch):
    """Conditionally definite ones have a diagonal of zero, from which no error can be read."""
    rough(monkeypatch)
    problem = classifier(tiles(kernel=kernel), Y, 1.0)
    solution = SMO().solve(problem)
    K = Dense().build(kernel, S).array
    assert solution.status is Status.CONVERGED
    assert residual(problem, solution.coef, K) <= 1e-3
    assert solution.residual == pytest.approx(residual(problem, solution.coef, K), abs=1e-5)


@pytest.mark.parametrize("offset", [100.0, 1e5])
@pytest.mark.parametrize("C", [1.0, 100.0])
def test_data_far_from_the_origin(offset, C):
    """Years, time stamps, map coordinates: float32 must not round away what distinguishes the samples."""
    samples = Vectors.pack(X + offset)
    kernel = Gaussian(1.0)
    problem = classifier(tiles(kernel=kernel, samples=samples), Y, C)
    solution = SMO().solve(problem)
    K = Dense().build(kernel, samples).array
    assert solution.status is Status.CONVERGED
    assert residual(problem, solution.coef, K) <= 1e-3


@pytest.mark.parametrize("distance", [5.0, 7.9, 40.0, 300.0])
def test_clusters_far_apart(distance, monkeypatch):
    """Exponents at their least exact: two clusters, each with both classes, many length scales apart."""
    rough(monkeypatch)
    A = 0.5 * X.copy()
    A[:, 5] += distance * np.where(np.arange(N) % 2, 1.0, -1.0)
    samples = Vectors.pack(A)
    kernel = Gaussian(1.0)
    problem = classifier(tiles(kernel=kernel, samples=samples), Y, 10.0)
    solution = SMO().solve(problem)
    true = residual(problem, solution.coef, Dense().build(kernel, samples).array)
    assert solution.status is Status.CONVERGED and true <= 1e-3
    assert solution.residual == pytest.approx(true, abs=2e-5)


@pytest.mark.parametrize("shrinking", [True, False])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_shrinking_changes_the_way_and_not_the_end(shrinking, C):
    problem = classifier(tiles(), Y, C)
    solution = SMO(shrinking=shrinking).solve(problem)
    exact = SMO().solve(classifier(STORED, Y, C))
    assert residual(problem, solution.coef, STORED.array) <= 1e-3
    np.testing.assert_allclose(STORED.array @ solution.coef, exact.state, atol=1e-5)


def test_small_working_sets(monkeypatch):
    """Many rounds instead of one: shrinking, sets that do not hold all free variables, recent members."""
    monkeypatch.setattr(smo, "_SMALL", 32)
    monkeypatch.setattr(smo, "_LARGE", 128)
    exact = SMO().solve(classifier(STORED, Y, 1.0))
    for options in ({}, {"shrinking": False}, {"cache": 4 * 128 * 128}):
        for precision in ("mixed", "double"):
            problem = classifier(tiles(precision), Y, 1.0)
            solution = SMO(**options).solve(problem)
            assert solution.status is Status.CONVERGED and solution.details["rounds"] > 10
            assert residual(problem, solution.coef, STORED.array) <= 1e-3
            np.testing.assert_allclose(STORED.array @ solution.coef, exact.state, atol=1e-5)
    # groups: none may be forgotten in a small set
    problem = by_class(tiles(), Y, np.ones(N), 0.2 * N)
    solution = SMO().solve(problem)
    assert residual(problem, solution.coef, STORED.array) <= 1e-3


@pytest.mark.parametrize("memory", ["512MB", 2 * 4 * 1000, 4 * 1000 * 100])
@pytest.mark.parametrize("precision", ["mixed", "double"])
def test_rows_from_a_cache(memory, precision):
    """From all rows down to two."""
    samples = Vectors.pack(WIDE)
    stored = Dense().build(WIDE_KERNEL, samples)
    for make in (lambda K: classifier(K, WIDE_Y, 1.0), lambda K: by_class(K, WIDE_Y, np.ones(1000), 200.0)):
        problem = make(tiles(precision, kernel=WIDE_KERNEL, samples=samples))
        solution = SMO(cache=memory).solve(problem)
        assert solution.status is Status.CONVERGED
        assert residual(problem, solution.coef, stored.array) <= 1e-3
        np.testing.assert_allclose(stored.array @ solution.coef, SMO().solve(make(stored)).state, atol=1e-5)
        assert 0.0 <= solution.details["row cache, hit rate"] <= 1.0
        size = 512 * 10**6 if isinstance(memory, str) else max(memory, 2 * 8 * 1000)
        assert 0 < solution.details["row cache, bytes"] <= size * 1.05


def test_a_cache_is_used_again(monkeypatch):
    monkeypatch.setattr(smo, "_SMALL", 64)
    monkeypatch.setattr(smo, "_LARGE", 128)
    problem = classifier(tiles(kernel=WIDE_KERNEL, samples=Vectors.pack(WIDE)), WIDE_Y, 10.0)
    solution = SMO().solve(problem)
    assert solution.details["rounds"] > 3 and solution.details["row cache, hit rate"] > 0.2


def test_strings_are_kept_in_rows():
    """Objects whose kernel values have no known cost: always from the cache above 512 samples."""
    letters = np.random.default_rng(1).integers(0, 3, size=(600, 30))
    texts = ["".join("abc"[c] for c in row) for row in letters]
    y = np.array([1.0 if text.count("ab") > text.count("bc") else -1.0 for text in texts])
    kernel = Spectrum(2).normalized()
    samples = Strings.pack(texts)
    stored = Dense().build(kernel, samples)
    problem = classifier(Tiles().build(kernel, samples), y, 1.0)
    solution = SMO().solve(problem)
    assert residual(problem, solution.coef, stored.array) <= 1e-3
    assert "row cache, hit rate" in solution.details
    np.testing.assert_allclose(stored.array @ solution.coef, SMO().solve(classifier(stored, y, 1.0)).state, atol=1e-5)


SETTINGS = {
    "tiles": lambda threads: classifier(tiles(threads=threads), Y, 3.0),
    "groups": lambda threads: by_class(tiles(threads=threads), Y, np.ones(N), 0.15 * N),
    "doubled": lambda threads: regression(tiles(threads=threads), Z, 1.0, 0.3),
    "cache": lambda threads: classifier(
        tiles(threads=threads, kernel=WIDE_KERNEL, samples=Vectors.pack(WIDE)), WIDE_Y, 3.0
    ),
    "stored": lambda threads: classifier(Dense().build(KERNEL, S, Resources(n_threads=threads)), Y, 3.0),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_the_same_bits_for_any_number_of_threads_and_from_run_to_run(name):
    found = [SMO().solve(SETTINGS[name](threads)) for threads in (1, 2, 2)]
    for other in found[1:]:
        assert np.array_equal(other.coef, found[0].coef)
        assert np.array_equal(other.state, found[0].state)
        assert np.array_equal(other.multipliers, found[0].multipliers)
        assert (other.residual, other.gap) == (found[0].residual, found[0].gap)
        assert {k: v for k, v in other.details.items() if k != "seconds"} == dict(found[0].details)


def test_a_start_near_the_optimum_saves_most_steps():
    problem = classifier(tiles(), Y, 10.0)
    cold = SMO().solve(problem)
    warm = SMO().solve(problem, start=cold.coef)
    assert warm.details["pairs moved"] <= 0.02 * cold.details["pairs moved"] + 2
    np.testing.assert_allclose(STORED.array @ warm.coef, STORED.array @ cold.coef, atol=1e-5)
    next_ = classifier(tiles(), Y, 12.0)
    near = SMO().solve(next_, start=cold.coef)
    assert near.details["pairs moved"] < SMO().solve(next_).details["pairs moved"]
    assert residual(next_, near.coef, STORED.array) <= 1e-3


@pytest.mark.parametrize("name", ["C = 100", "nu", "SVR", "squared hinge"])
def test_a_stopped_run_tells_its_true_violation(name):
    """By the number of steps and by a monitor; the iterate is feasible, its violation that of float64."""
    problem = MACHINES[name](tiles())
    K = reference(problem, STORED.array)
    for solver, monitor in ((SMO(max_iter=300), None), (SMO(), lambda i, r: i >= 1 and Status.TIME)):
        solution = solver.solve(problem, monitor=monitor)
        require_feasible(problem, solution.coef)
        true = residual(problem, solution.coef, K)
        if solution.status is not Status.CONVERGED:
            assert solution.residual > 1e-3
        assert solution.residual == pytest.approx(true, rel=1e-5, abs=1e-6)
        np.testing.assert_allclose(solution.state, K @ solution.coef, atol=1e-5 * max(1.0, np.abs(solution.coef).max()))


def test_a_large_c_in_float32_stays_honest():
    """Coefficients so large that float32 cannot show the tolerance: the rest is done in float64."""
    flat = np.where(SCORE > 0, 1.0, -1.0)
    problem = classifier(tiles(), flat, 1e4)
    solution = SMO().solve(problem, monitor=_after(8.0))
    true = residual(problem, solution.coef, STORED.array)
    if solution.status is Status.CONVERGED:
        assert true <= 1e-3
    assert solution.residual == pytest.approx(true, rel=1e-3, abs=1e-6)


def _after(seconds):
    began = time.monotonic()
    return lambda i, r: time.monotonic() - began > seconds


@pytest.mark.parametrize(("noise", "C"), [(0.3, 1.0), (2.0, 1.0), (2.0, 10.0)])
def test_little_memory_is_needed(noise, C):
    """64 MiB and some vectors, where the matrix would take 288 MB."""
    n = 6000
    own = np.random.default_rng(2)
    A = own.normal(size=(n, 20))
    y = np.where(A[:, 0] * A[:, 1] + noise * own.normal(size=n) > 0, 1.0, -1.0)
    gram = tiles(threads=2, kernel=Gaussian(4.0), samples=Vectors.pack(A))
    SMO(max_iter=10).solve(classifier(gram, y, C))  # compiled, operands made
    tracemalloc.start()
    SMO(max_iter=60_000).solve(classifier(gram, y, C))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64 * 2**20 + 40 * 8 * n, f"{peak / 2**20:.0f} MiB"


@pytest.mark.timing
@pytest.mark.parametrize("name", ["tiles", "stored", "cache"])
def test_an_interrupt_is_answered_within_half_a_second(name):
    """A problem that takes many seconds: random labels and a large C."""
    own = np.random.default_rng(3)
    if name == "cache":
        A = own.normal(size=(1500, 300))
        gram = tiles(kernel=WIDE_KERNEL, samples=Vectors.pack(A))
    else:
        A = own.normal(size=(2000 if name == "stored" else 4000, 4))
        samples = Vectors.pack(A)
        gram = tiles(samples=samples) if name == "tiles" else Dense().build(KERNEL, samples)
    problem = classifier(gram, np.sign(own.normal(size=len(A))), 1e5)
    SMO(max_iter=5).solve(problem)
    answered = [interrupted(lambda: SMO().solve(problem), moment) for moment in (0.1, 0.4, 0.8)]
    assert all(late is None or late <= allowed(0.5) for late in answered)
    assert any(late is not None for late in answered) or name == "cache"


def test_tiles_give_probabilities_of_pairs_the_same_program():
    """A Gram of some samples taken from tiles is the Gram of these samples."""
    index = np.flatnonzero(np.arange(N) % 3)
    whole, part = tiles(), tiles(samples=Vectors.pack(X[index]))
    one = SMO().solve(classifier(whole.take(index), Y[index], 1.0))
    two = SMO().solve(classifier(part, Y[index], 1.0))
    np.testing.assert_allclose(one.coef, two.coef, atol=1e-5)


def test_one_class_at_nu_one_is_the_sum_over_all_samples():
    """[HSS] after (84): Parzen windows."""
    problem = one_class(STORED, 1.0)
    solution = SMO().solve(problem)
    assert np.array_equal(solution.coef, np.ones(N))
    np.testing.assert_allclose(solution.state, STORED.array.sum(axis=1))


def test_the_median_by_pinball_and_by_two_variables_a_sample():
    """QuantileSVR(0.5, C = 2c) is SVR(epsilon = 0, C = c): one box [-c, c] or two."""
    single = BoxQP(STORED, -Z, np.full(N, -1.0), np.full(N, 1.0))
    double = regression(STORED, Z, 1.0, 0.0)
    one, two = SMO().solve(single), SMO().solve(double)
    np.testing.assert_allclose(one.state, two.state[:N], atol=1e-5)
    assert one.multipliers[0] == pytest.approx(two.multipliers[0], abs=1e-5)
