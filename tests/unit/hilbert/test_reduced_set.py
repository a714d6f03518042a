"""Laws of reduced sets, over kernels and domains."""

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from mercer.budget import Resources
from mercer.domains import Vectors
from mercer.errors import CapabilityError, MemoryBudgetError, ParameterError, TimeBudgetError
from mercer.gram import Expansion, FeatureExpansion
from mercer.hilbert.reduced_set import reduced_set
from mercer.kernels import (
    Gaussian,
    Linear,
    Matern,
    NegativeDistance,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
    Spectrum,
    Tanimoto,
)
from mercer.problems import Status

WORDS = ["abab", "bbba", "aaab", "abba", "baab", "babb", "aabb", "abbb", "bab", "aba"]
KERNELS = [
    Gaussian(0.8),
    Gaussian((0.5, 1.5)),
    Matern(1.5, 1.0),
    RationalQuadratic(1.0),
    Polynomial(3),
    0.5 * Gaussian(1.0) + Linear(),
    Tanimoto(),
]


def expansion(kernel, n=25, outputs=None, seed=0):
    rng = np.random.default_rng(seed)
    S = kernel.prepare(kernel.pack(rng.normal(size=(n, 2))))
    coef = rng.normal(size=len(S) if outputs is None else (len(S), outputs))
    return Expansion(kernel, S, coef, np.zeros(() if outputs is None else outputs) + 0.3)


def norm(f, g):
    """||f - g|| by all kernel values, in the plain way."""
    a, b = (e.coef.reshape(len(e.samples), -1) for e in (f, g))
    k = f.kernel
    square = np.vdot(a, k(f.samples) @ a) + np.vdot(b, k(g.samples) @ b) - 2 * np.vdot(a, k(f.samples, g.samples) @ b)
    return np.sqrt(max(square, 0.0))


@pytest.mark.parametrize("outputs", [None, 3])
@pytest.mark.parametrize("method", ["selection", "construction"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_laws(kernel, method, outputs):
    f = expansion(kernel, outputs=outputs)
    found = reduced_set(f, size=5, method=method)
    g = found.expansion
    assert len(found) == len(g.samples) <= 5
    np.testing.assert_allclose(found.error, norm(f, g), rtol=1e-5, atol=1e-6 * found.norm)
    np.testing.assert_allclose(found.norm**2, np.vdot(f.coef, kernel(f.samples) @ f.coef), rtol=1e-9)
    assert found.relative_error == found.error / found.norm < 1.0
    # the path falls, from ||f|| to the error
    assert (np.diff(found.errors) <= 1e-9 * found.norm).all()
    assert found.sizes[0] == 0
    assert found.sizes[-1] == len(g.samples)
    assert found.errors[-1] == found.error
    np.testing.assert_allclose(found.errors[0], found.norm)
    # no value differs by more than the distance times the length of k(x, .)
    T = kernel.prepare(kernel.pack(2.0 * np.random.default_rng(9).normal(size=(200, 2))))
    gap = np.sqrt(np.sum((f(T) - g(T)).reshape(200, -1) ** 2, axis=1))
    assert (gap <= found.error * np.sqrt(kernel.diag(T)) * (1 + 1e-6) + 1e-6 * found.norm).all()
    # the projection: f - g is orthogonal to every kernel of g, as far as the longest of them lets equations be solved
    longest = max(1.0, float(np.sqrt(kernel.diag(g.samples).max())))
    np.testing.assert_allclose(f(g.samples), g(g.samples), atol=1e-4 * longest * found.norm)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("size", [1, 4])
def test_construction_is_never_farther_than_selection(kernel, size):
    f = expansion(kernel, outputs=2, seed=size)
    built, chosen = reduced_set(f, size), reduced_set(f, size, method="selection")
    assert built.error <= chosen.error * (1 + 1e-9) + 1e-7 * chosen.norm
    assert built.selected is None
    np.testing.assert_array_equal(chosen.expansion.samples.X, f.samples.X[chosen.selected])


@pytest.mark.parametrize("kernel", [Spectrum(2), Spectrum(3) + Spectrum(1), Spectrum(2).normalized()])
def test_strings_are_selected(kernel):
    f = Expansion(kernel, kernel.prepare(kernel.pack(WORDS)), np.linspace(-1, 1, 10), np.array(0.0))
    found = reduced_set(f, size=3, method="selection")
    np.testing.assert_allclose(found.error, norm(f, found.expansion), rtol=1e-6, atol=1e-7)
    with pytest.raises(CapabilityError, match="method='selection'"):
        reduced_set(f, size=3)


@pytest.mark.parametrize("method", ["selection", "construction"])
@pytest.mark.parametrize("kernel", [Gaussian(0.5), Matern(1.5), Polynomial(2)])
def test_as_many_kernels_as_there_are_give_the_function_itself(kernel, method):
    f = expansion(kernel, n=8)
    for size in (8, 20):
        found = reduced_set(f, size=size, method=method)
        assert found.relative_error < 1e-7
        assert found.status is Status.CONVERGED
        assert len(found) <= 8
        np.testing.assert_allclose(found.expansion(f.samples), f(f.samples), rtol=1e-6)


@pytest.mark.parametrize("method", ["selection", "construction"])
def test_two_equal_kernels_are_one(method):
    f = Expansion(Gaussian(1.0), Vectors.pack([[0.5], [0.5]]), np.array([1.0, 2.5]), np.array(0.0))
    found = reduced_set(f, size=1, method=method)
    assert found.relative_error < 1e-7
    np.testing.assert_allclose(found.expansion.samples.X, [[0.5]], atol=1e-6)
    np.testing.assert_allclose(found.expansion.coef, [3.5], rtol=1e-8)


def test_a_linear_function_is_one_kernel():
    f = expansion(Linear())
    found = reduced_set(f, size=1)
    assert found.relative_error < 1e-6
    w = f.samples.X.T @ f.coef
    z, beta = found.expansion.samples.X[0], found.expansion.coef[0]
    np.testing.assert_allclose(beta * z, w, rtol=1e-5)


def test_a_bump_between_two_is_found():
    # two near bumps are nearly one in the middle: no sample is there
    f = Expansion(Gaussian(1.0), Vectors.pack([[-0.2], [0.2]]), np.array([1.0, 1.0]), np.array(0.0))
    found = reduced_set(f, size=1)
    np.testing.assert_allclose(found.expansion.samples.X, [[0.0]], atol=1e-4)
    # ||f||^2 = 2 + 2 exp(-0.08), f(0) = 2 exp(-0.02)
    np.testing.assert_allclose(found.error**2, 2 + 2 * np.exp(-0.08) - 4 * np.exp(-0.04), rtol=1e-6)


@pytest.mark.parametrize("method", ["selection", "construction"])
def test_tolerance(method):
    f = expansion(Gaussian(1.0), n=60, outputs=2)
    found = reduced_set(f, tol=0.05, method=method)
    assert found.relative_error <= 0.05
    assert found.errors[-2] / found.norm > 0.05
    assert reduced_set(f, size=2, tol=0.05, method=method).sizes[-1] == 2
    assert len(found) < 60


def test_construction_needs_fewer_kernels_for_a_tolerance():
    f = expansion(Gaussian(1.0), n=60)
    assert len(reduced_set(f, tol=0.05)) < len(reduced_set(f, tol=0.05, method="selection"))


def test_intercept_and_diagonal_stay():
    f = dataclasses.replace(expansion(Gaussian(1.0)), diagonal=-0.5)
    g = reduced_set(f, size=25, method="selection").expansion
    assert g.diagonal == -0.5
    np.testing.assert_array_equal(g.intercept, f.intercept)
    T = Vectors.pack(np.random.default_rng(3).normal(size=(20, 2)))
    np.testing.assert_allclose(g(T), f(T), atol=1e-6)


def test_a_sample_keeps_decisions():
    rng = np.random.default_rng(5)
    f = expansion(Gaussian(0.6), n=80)
    f = dataclasses.replace(f, coef=5.0 * f.coef)
    X, T = (rng.normal(size=(500, 2)) for _ in range(2))
    for method in ("selection", "construction"):
        plain = reduced_set(f, size=6, method=method)
        kept = reduced_set(f, size=6, method=method, sample=X)
        assert plain.disagreement is None
        T_packed = Vectors.pack(T)
        wrong = [np.mean((e.expansion(T_packed) > 0) != (f(T_packed) > 0)) for e in (plain, kept)]
        assert wrong[1] < wrong[0]
        assert kept.disagreement < 0.25
        np.testing.assert_allclose(kept.error, norm(f, kept.expansion), rtol=1e-6)
        assert kept.error >= plain.error * (1 - 1e-2)  # the plain one is the nearest


def test_sparse_and_single_precision_samples():
    rng = np.random.default_rng(6)
    M = sp.random_array((40, 12), density=0.3, random_state=0, format="csr")
    coef = rng.normal(size=40)
    f = Expansion(Gaussian(1.0), Vectors.pack(M), coef, np.array(0.0))
    dense = Expansion(Gaussian(1.0), Vectors.pack(M.toarray()), coef, np.array(0.0))
    for method in ("selection", "construction"):
        one, other = reduced_set(f, 6, method=method), reduced_set(dense, 6, method=method)
        np.testing.assert_allclose(one.error, other.error, rtol=0.02)
    single = Expansion(Gaussian(1.0), Vectors.pack(M.toarray().astype(np.float32)), coef, np.array(0.0))
    found = reduced_set(single, 6)
    np.testing.assert_allclose(found.error, norm(single, found.expansion), rtol=1e-5)


def test_the_same_bits_each_time():
    f = expansion(Gaussian(0.7), n=50, outputs=2)
    one, two = reduced_set(f, 7), reduced_set(f, 7)
    np.testing.assert_array_equal(one.expansion.samples.X, two.expansion.samples.X)
    np.testing.assert_array_equal(one.expansion.coef, two.expansion.coef)


def test_the_function_zero():
    f = dataclasses.replace(expansion(Gaussian(1.0)), coef=np.zeros(25))
    for method in ("selection", "construction"):
        found = reduced_set(f, size=3, method=method)
        assert found.error == found.relative_error == 0.0
        np.testing.assert_allclose(found.expansion(f.samples), 0.3)


def test_time_and_monitor():
    f = expansion(Gaussian(0.3), n=400)
    with pytest.raises(TimeBudgetError, match="max_time"):
        reduced_set(f, size=50, max_time=1e-9)
    told = []
    with pytest.warns(ConvergenceWarning, match="stopped with"):
        stopped = reduced_set(f, 50, resources=Resources(monitor=lambda x: told.append(x) or len(told) > 20))
    assert stopped.status is Status.STOPPED
    assert 0.0 < stopped.relative_error < 1.0
    np.testing.assert_allclose(stopped.error, norm(f, stopped.expansion), rtol=1e-5)
    assert told == sorted(told)


def test_out_of_reach():
    S = Vectors.pack(np.linspace(0, 1, 30)[:, None])
    f = Expansion(Gaussian(3.0), S, 1e6 * np.random.default_rng(0).normal(size=30), np.array(0.0))
    with pytest.warns(ConvergenceWarning, match="Rounding"):
        assert reduced_set(f, tol=0.0, method="selection").status is Status.STALLED
    # without a tolerance nothing is missed: all kernels are in the span of these few, to working precision
    found = reduced_set(f, size=30, method="selection")
    assert found.status is Status.CONVERGED
    assert len(found) < 15
    T = Vectors.pack(np.linspace(0, 1, 200)[:, None])
    assert np.abs(found.expansion(T) - f(T)).max() < 1e-3 * np.abs(f(T)).max()


def test_memory_budget():
    f = expansion(Gaussian(1.0), n=500)
    with pytest.raises(MemoryBudgetError, match="orthonormal basis"):
        reduced_set(f, size=400, resources=Resources(memory="100kB"))


def test_refusals():
    f = expansion(Gaussian(1.0))
    with pytest.raises(ParameterError, match="neither size nor tol"):
        reduced_set(f)
    for bad in ({"size": 0}, {"size": 2.5}, {"tol": -0.1}, {"tol": 1.0}, {"size": 2, "method": "magic"}):
        with pytest.raises(ParameterError, match="reduced_set"):
            reduced_set(f, **bad)
    with pytest.raises(ParameterError, match="margin"):
        reduced_set(f, 2, margin=0.0)
    with pytest.raises(CapabilityError, match="features"):
        reduced_set(FeatureExpansion(Linear(), None, np.ones(2), np.array(0.0)), 2)
    for kernel in (NegativeDistance(), Sigmoid()):
        with pytest.raises(CapabilityError, match="positive definite"):
            reduced_set(dataclasses.replace(f, kernel=kernel), 2)


def test_repr():
    f = expansion(Gaussian(1.0))
    assert repr(reduced_set(f, 3, method="selection")).startswith("<ReducedSet: 3 kernels selected, ||f - g|| = 0.")
    assert "signs differ" in repr(reduced_set(f, 3, sample=f.samples))


@pytest.mark.parametrize("calls", [3, 15])
def test_an_interruption_is_answered(calls):
    f, told = expansion(Gaussian(0.3), n=60), []

    def monitor(fraction):
        told.append(fraction)
        if len(told) == calls:
            raise KeyboardInterrupt
        return False

    with pytest.raises(KeyboardInterrupt):
        reduced_set(f, 10, resources=Resources(monitor=monitor))
    assert len(told) == calls
