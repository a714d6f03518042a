"""The fast Gauss transform as a Gram."""

import pickle
import tracemalloc
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import mercer
from mercer import KernelPLS, KernelRidge, parse
from mercer.budget import Resources
from mercer.domains import Vectors
from mercer.errors import CapabilityError, DomainError, MemoryBudgetError, ParameterError
from mercer.gram import Dense, Expansion, FastGauss, HasFactor, HasRows, Tiles
from mercer.gram.gauss.fast_gauss import FastGaussExpansion
from mercer.kernels import Gaussian, Laplacian, Spectrum
from mercer.problems import Solution, Status
from mercer.solvers import Cholesky, ConjugateGradient, Woodbury
from mercer.testing import check_gram

RNG = np.random.default_rng(0)
X = RNG.normal(size=(1600, 2))
Y = np.sin(3.0 * X[:, 0]) + X[:, 1] ** 2
T = RNG.normal(size=(40, 2))
METHODS = ("hermite", "taylor", "tree")


@pytest.mark.parametrize("method", ("auto", *METHODS))
@pytest.mark.parametrize("kernel", [Gaussian(0.8), 3.0 * Gaussian((0.5, 2.0)), 2.0 * (0.5 * Gaussian(1.0))], ids=repr)
def test_everything_is_one_matrix(method, kernel):
    check_gram(FastGauss(1e-7, method), kernel, X[:120], tol=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_the_bound_of_a_scaled_kernel_with_length_scales_per_column(method):
    kernel, v = 5.0 * Gaussian((0.3, 1.5)), np.abs(RNG.normal(size=1600))
    gram = FastGauss(1e-4, method).build(kernel, Vectors.pack(X))
    exact = Tiles().build(kernel, Vectors.pack(X)) @ v
    error = np.max(np.abs(gram @ v - exact)) / (5.0 * v.sum())
    assert gram.method == method
    assert 0.0 < error <= gram.bound <= 1e-4
    assert gram.measured(v, count=1600) == pytest.approx(error)
    assert gram.entry_error == gram.bound


def test_the_choice_is_told():
    gram = FastGauss().build(Gaussian(0.5), Vectors.pack(X))
    assert gram.method == "hermite" and gram.costs["hermite"] < gram.costs["direct"]
    few = gram.take(np.arange(0, 1600, 20))
    assert few.method == "direct" and few.bound < 1e-13
    assert np.array_equal(few @ np.eye(80), Tiles().build(Gaussian(0.5), few.samples) @ np.eye(80))


def test_sparse_float32_and_far_away_samples():
    v = RNG.normal(size=1600)
    exact = Tiles().build(Gaussian(0.7), Vectors.pack(X)) @ v
    size = 1e-6 * np.abs(v).sum()
    assert np.max(np.abs(FastGauss().build(Gaussian(0.7), Vectors.pack(sp.csr_array(X))) @ v - exact)) <= size
    single = X.astype(np.float32)
    exact32 = Tiles().build(Gaussian(0.7), Vectors.pack(single.astype(float))) @ v
    assert np.max(np.abs(FastGauss().build(Gaussian(0.7), Vectors.pack(single)) @ v - exact32)) <= size
    shifted = FastGauss().build(Gaussian(0.7), Vectors.pack(X + 2.0**20))
    assert np.max(np.abs(shifted @ v - exact)) <= size
    outlier = np.concatenate([X, [[1e14, 0.0]]])  # coordinates are no longer exact enough: all pairs
    gram = FastGauss(method="hermite").build(Gaussian(0.7), Vectors.pack(outlier))
    assert gram.method == "direct"
    assert np.allclose((gram @ np.append(v, 1.0))[:-1], exact)


@pytest.mark.parametrize("method", METHODS)
def test_ridge_regression_by_products_and_its_predictions(method):
    options = {"gram": FastGauss(1e-8, method), "solver": ConjugateGradient(1e-7)}
    fast = KernelRidge(Gaussian(0.8), alpha=0.5, **options).fit(X[:600], Y[:600])
    full = KernelRidge(Gaussian(0.8), alpha=0.5, gram=Dense()).fit(X[:600], Y[:600])
    assert isinstance(fast.expansion_, FastGaussExpansion)
    assert fast.solution_.status is Status.CONVERGED
    assert np.allclose(fast.predict(T), full.predict(T), atol=1e-4)
    two = KernelRidge(Gaussian(0.8), alpha=0.5, fit_intercept=True, **options).fit(
        X[:600], np.stack([Y, -Y], axis=1)[:600]
    )
    assert two.predict(T).shape == (40, 2) and np.allclose(two.predict(T)[:, 0], -two.predict(T)[:, 1])


def test_conjugate_gradients_are_the_default_for_it():
    model = KernelRidge(Gaussian(0.5), alpha=1.0, gram=FastGauss()).fit(X, Y)
    assert isinstance(model.solver_, ConjugateGradient)


def test_spectral_methods_by_products():
    for make in (
        lambda gram: mercer.KernelPCA(Gaussian(0.8), 3, gram=gram),
        lambda gram: mercer.DiffusionMap(Gaussian(0.8), 2, gram=gram),
    ):
        fast, full = (make(gram).fit(X[:300]).transform(T) for gram in (FastGauss(1e-10, "hermite"), Dense()))
        assert np.allclose(np.abs(fast), np.abs(full), atol=1e-6)


def test_partial_least_squares_by_products():
    fast = KernelPLS(Gaussian(0.8), 4, gram=FastGauss(1e-9, "hermite")).fit(X[:400], Y[:400])
    full = KernelPLS(Gaussian(0.8), 4, gram=Dense()).fit(X[:400], Y[:400])
    assert np.allclose(fast.predict(T), full.predict(T), atol=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_functions_are_computed_by_the_transform(method):
    gram = FastGauss(1e-5, method).build(2.0 * Gaussian(0.8), Vectors.pack(X))
    coef = RNG.random((1600, 2))
    coef[::3] = 0.0
    f = gram.expand(Solution(coef, Status.CONVERGED, 0.0), intercept=np.array([1.0, 2.0]))
    g = Expansion(f.kernel, f.samples, f.coef, f.intercept)
    allowed = 2e-5 * coef.sum(axis=0)
    assert len(f.samples) < 1600
    error = np.abs(f(T) - g(T))
    assert np.all(error <= allowed) and error.max() > 0.0
    far = np.array([[1e3, 0.0], [1e12, 1.0]])
    assert np.allclose(f(far), [[1.0, 2.0], [1.0, 2.0]])
    if method != "tree":
        assert np.array_equal(f(T)[3:4], f(T[3:4]))
    again = pickle.loads(pickle.dumps(f))
    assert "_fast" not in vars(again) and np.array_equal(again(T), f(T))
    assert np.all(np.abs((3.0 * f)(T) - 3.0 * g(T)) <= 3.0 * allowed)
    assert np.allclose((f + f)(T), 2.0 * g(T)) and np.allclose(f.norm(), g.norm())
    with pytest.raises(DomainError, match="columns"):
        f(np.zeros((2, 3)))


def test_saved_models_come_back_to_the_bit(tmp_path):
    model = KernelRidge(Gaussian(0.5), alpha=1.0, gram=FastGauss(1e-5, "taylor")).fit(X, Y)
    mercer.save(model, tmp_path / "fast.mercer")
    again = mercer.load(tmp_path / "fast.mercer")
    assert again.gram_ == FastGauss(1e-5, "taylor") and isinstance(again.expansion_, FastGaussExpansion)
    assert np.array_equal(again.predict(T), model.predict(T))


def test_threads_do_not_change_a_bit():
    S, v = Vectors.pack(X), RNG.normal(size=1600)
    for method in METHODS:
        one, two = (FastGauss(1e-6, method).build(Gaussian(0.3), S, Resources(n_threads=t)) @ v for t in (1, 2))
        assert np.array_equal(one, two)


def test_nothing_of_the_size_of_the_matrix_is_allocated():
    n = 20_000
    S = Vectors.pack(np.random.default_rng(0).normal(size=(n, 2)))
    FastGauss().build(Gaussian(0.5), S) @ np.ones(n)  # compile first
    tracemalloc.start()
    FastGauss().build(Gaussian(0.5), S) @ np.ones(n)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    planned = FastGauss().plan(Gaussian(0.5), n, 2).total
    assert peak < planned < 4.0 * peak < 0.02 * 8 * n * n


def test_what_is_refused():
    S = Vectors.pack(X)
    for kernel in (Laplacian(1.0), Gaussian(1.0) + Gaussian(2.0), Gaussian(1.0) ** 2):
        with pytest.raises(CapabilityError, match="Gaussian"):
            FastGauss().build(kernel, S)
    with pytest.raises(CapabilityError, match="Gaussian"):
        FastGauss().build(Spectrum(2), Spectrum(2).pack(["ab", "ba"]))
    with pytest.raises(DomainError, match="length scales"):
        FastGauss().build(Gaussian((1.0, 2.0, 3.0)), S)
    with pytest.raises(ParameterError, match="not fitted"):
        FastGauss().build(Gaussian("median"), S)
    with pytest.raises(MemoryBudgetError, match="Tiles"):
        FastGauss().build(Gaussian(1.0), S, Resources(memory=1000))
    for bad in (FastGauss(0.0), FastGauss(1e-11), FastGauss(1.0), FastGauss(method="best")):
        with pytest.raises(ParameterError):
            bad.check()
    with pytest.raises(CapabilityError, match="auto"):
        FastGauss(method="taylor").build(Gaussian(1e-6), S)
    with pytest.raises(ValueError, match="rows"):
        FastGauss(method="hermite").build(Gaussian(1.0), S) @ np.ones(3)


def test_solvers_that_need_more_than_products_say_so():
    with pytest.raises(CapabilityError, match=r"needs Gram\.factor"):
        KernelRidge(Gaussian(1.0), gram=FastGauss(), solver=Woodbury()).fit(X, Y)
    with pytest.raises(CapabilityError, match="only products"):
        KernelRidge(Gaussian(1.0), gram=FastGauss(), solver=ConjugateGradient(preconditioner="pivoted")).fit(X, Y)
    with pytest.raises(CapabilityError, match="only products"):
        mercer.RelevanceVectorRegressor(Gaussian(1.0), gram=FastGauss()).fit(X[:50], Y[:50])
    gram = FastGauss().build(Gaussian(1.0), Vectors.pack(X[:9]))
    assert not hasattr(gram, "rows") and not isinstance(gram, HasRows) and not isinstance(gram, HasFactor)
    with pytest.raises(AttributeError, match="color"):
        _ = gram.color
    with pytest.raises(CapabilityError):
        mercer.SVC(Gaussian(1.0), gram=FastGauss()).fit(X[:50], Y[:50] > 0.5)


def test_a_dense_solver_takes_the_exact_matrix_or_refuses():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            model = KernelRidge(Gaussian(1.0), alpha=0.1, gram=FastGauss(), solver=Cholesky()).fit(X[:50], Y[:50])
        except CapabilityError:
            return
    full = KernelRidge(Gaussian(1.0), alpha=0.1, gram=Dense()).fit(X[:50], Y[:50])
    assert np.allclose(model.predict(T), full.predict(T))


def test_it_is_part_of_the_language():
    for spec in (FastGauss(), FastGauss(1e-4), FastGauss(1e-4, method="tree")):
        assert parse(repr(spec)) == spec
