"""The greedy choice against all choices there are."""

import itertools

import numpy as np
import pytest

from mercer.domains import Strings, Vectors
from mercer.errors import MemoryBudgetError
from mercer.gram import Tiles
from mercer.hilbert.reduced_selection import Selection, Watch
from mercer.kernels import Gaussian, Polynomial, Spectrum
from mercer.problems import Status


def made(kernel, S, coef, **options):
    gram = Tiles().build(kernel, S)
    return Selection(gram, coef, gram @ coef, **options), gram.to_dense()


def left(K, coef, chosen):
    """||f - g||^2 of the best g in the span of some kernels."""
    z = list(chosen)
    if not z:
        return float(np.vdot(coef, K @ coef))
    beta = np.linalg.solve(K[np.ix_(z, z)], K[z] @ coef)
    c = coef.copy()
    c[z] -= beta
    return float(np.vdot(c, K @ c))


VECTORS = Vectors.pack(np.random.default_rng(0).normal(size=(7, 2)))
WORDS = Strings.pack(["abab", "bbba", "aaab", "abba", "baab", "babb", "aabb"])
CASES = [(Gaussian(0.7), VECTORS), (Polynomial(3, offset=1.0), VECTORS), (Spectrum(2) + Spectrum(3), WORDS)]


@pytest.mark.parametrize(("kernel", "S"), CASES)
@pytest.mark.parametrize("outputs", [1, 3])
def test_each_step_is_the_best_of_all(kernel, S, outputs):
    coef = np.random.default_rng(1).normal(size=(7, outputs))
    selection, K = made(kernel, S, coef)
    for _ in range(4):
        before = list(selection.pivots)
        assert selection.step()
        trials = {p: left(K, coef, [*before, p]) for p in range(7) if p not in before}
        best = min(trials.values())
        assert trials[selection.pivots[-1]] <= best * (1 + 1e-8) + 1e-12
        np.testing.assert_allclose(selection.left, left(K, coef, selection.pivots), rtol=1e-7, atol=1e-12)


def test_greedy_beside_all_subsets():
    coef = np.random.default_rng(2).normal(size=(7, 1))
    selection, K = made(Gaussian(0.7), VECTORS, coef)
    selection.run(7, 0.0, Watch())
    errors = selection.errors()
    for m in range(8):
        best = min(left(K, coef, chosen) for chosen in itertools.combinations(range(7), m))
        assert errors[m] ** 2 >= best - 1e-10
        if m in (0, 1, 7):
            np.testing.assert_allclose(errors[m] ** 2, best, rtol=1e-10, atol=1e-12)


def test_coefficients_are_those_of_the_projection():
    coef = np.random.default_rng(3).normal(size=(7, 2))
    selection, K = made(Gaussian(0.7), VECTORS, coef)
    selection.run(4, 0.0, Watch())
    z, beta = selection.solution()
    np.testing.assert_allclose(beta, np.linalg.solve(K[np.ix_(z, z)], K[z] @ coef), rtol=1e-9)


def test_path_falls_and_ends_in_nothing():
    rng = np.random.default_rng(4)
    S = Vectors.pack(rng.normal(size=(60, 3)))
    selection, K = made(Gaussian(1.0), S, coef := rng.normal(size=(60, 2)))
    assert selection.run(60, 0.0, Watch()) is Status.CONVERGED
    errors = selection.errors()
    assert (np.diff(errors) <= 0).all()
    assert errors[-1] == 0.0
    np.testing.assert_allclose(errors[0] ** 2, np.vdot(coef, K @ coef), rtol=1e-12)
    np.testing.assert_allclose(selection.solution()[1], coef[selection.pivots], rtol=1e-6)


def test_kernels_that_are_there_already_are_not_taken_again():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(8, 2))
    S = Vectors.pack(np.vstack([x, x]))
    selection, _ = made(Gaussian(1.0), S, rng.normal(size=(16, 1)))
    assert selection.run(16, 0.0, Watch()) is Status.STALLED
    assert len(selection.pivots) == 8
    assert len({p % 8 for p in selection.pivots}) == 8
    assert selection.errors()[-1] < 1e-7 * selection.errors()[0]


def test_a_basis_that_is_there_already():
    coef = np.random.default_rng(6).normal(size=(7, 1))
    one, K = made(Gaussian(0.7), VECTORS, coef)
    one.run(5, 0.0, Watch())
    L = np.linalg.cholesky(K[:2, :2])
    span = np.linalg.solve(L, K[:2])
    more, _ = made(Gaussian(0.7), VECTORS, coef, given=(span, np.linalg.solve(L, (K @ coef)[:2])))
    np.testing.assert_allclose(more.left, left(K, coef, [0, 1]), rtol=1e-9)
    more.run(4, 0.0, Watch())
    assert len(more.pivots) == 2
    np.testing.assert_allclose(more.left, left(K, coef, [0, 1, *more.pivots]), rtol=1e-8)


def test_tolerance_time_and_monitor():
    rng = np.random.default_rng(7)
    S, coef = Vectors.pack(rng.normal(size=(50, 2))), rng.normal(size=(50, 1))
    selection, _ = made(Gaussian(1.0), S, coef)
    assert selection.run(50, 0.1, Watch()) is Status.CONVERGED
    errors = selection.errors() / selection.errors()[0]
    assert errors[-1] <= 0.1 < errors[-2]
    selection, _ = made(Gaussian(1.0), S, coef)
    assert selection.run(50, 0.0, Watch(max_time=1e-9)) is Status.TIME
    told = []
    selection, _ = made(Gaussian(1.0), S, coef)
    assert selection.run(50, 0.0, Watch(monitor=lambda x: told.append(x) or x >= 0.2)) is Status.STOPPED
    assert len(selection.pivots) == 10
    assert told == sorted(told)


def test_memory_is_asked_for_before_it_is_taken():
    selection, _ = made(Gaussian(1.0), VECTORS, np.ones((7, 1)), memory=100)
    with pytest.raises(MemoryBudgetError, match="orthonormal basis"):
        selection.step()
