"""The Gram matrix of random features: one matrix, at the Monte-Carlo rate, in every estimator, saved to the bit."""

import tracemalloc

import numpy as np
import pytest

from mercer import SVC, KernelGLM, KernelLogisticRegression, KernelPCA, KernelRidge, load, parse, save
from mercer.budget import Resources
from mercer.domains import Vectors
from mercer.errors import CapabilityError, MemoryBudgetError, ParameterError
from mercer.gram import Dense, RandomFeatures
from mercer.kernels import Gaussian, Laplacian, Linear, Matern, NegativeDistance, Polynomial, Spectrum
from mercer.testing import check_gram

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 4))
Y = np.sin(X[:, 0]) + X[:, 1]
METHODS = ("independent", "orthogonal", "quasi", "hadamard")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("memory", [None, 600_000], ids=["held", "streamed"])
def test_everything_is_one_matrix(method, memory):
    spec = RandomFeatures(100, method)
    check_gram(spec, Matern(1.5, 2.0), X, exact=False)
    gram = spec.build(Matern(1.5, 2.0), Vectors.pack(X), Resources(memory=memory))
    F = gram.map(Vectors.pack(X))
    assert np.allclose(gram.to_dense(), F @ F.T) and gram.rank == 100


@pytest.mark.parametrize(
    "kernel", [Gaussian(1.0) + Linear().on([0]), Polynomial(5), Gaussian(2.0) * Polynomial(2)], ids=repr
)
def test_algebra_and_precision(kernel):
    check_gram(RandomFeatures(64), kernel, X, exact=False)
    check_gram(RandomFeatures(64, precision="mixed"), kernel, X, exact=False, tol=1e-4)
    S = kernel.pack(X)
    single = RandomFeatures(64, precision="mixed").build(kernel, S).to_dense()
    double = RandomFeatures(64).build(kernel, S).to_dense()
    size = np.sqrt(np.outer(np.diag(double), np.diag(double)))  # |f||f'|, which entries may be far below
    assert np.all(np.abs(single - double) <= 1e-5 * size)  # about a hundred roundings of 6e-8 each


def test_a_finite_map_is_exact():
    check_gram(RandomFeatures(100), Polynomial(2), X)
    check_gram(RandomFeatures(500), Spectrum(2), ["abab", "ab", "bab", "bbb", "abba"])
    gram = RandomFeatures(100).build(Polynomial(2), Vectors.pack(X))
    assert gram.residual.entries < 1e-14 and abs(gram.residual_trace) < 1e-14


def errors(kernel, method, counts, seeds=6):
    K, S = kernel(X), Vectors.pack(X)
    return np.array(
        [
            np.sqrt(np.mean([np.mean((RandomFeatures(c, method, s).build(kernel, S).to_dense() - K) ** 2)
                             for s in range(seeds)]))
            for c in counts
        ]
    )  # fmt: skip


@pytest.mark.parametrize(
    ("kernel", "method"),
    [(Gaussian(2.0), m) for m in METHODS]
    + [(Laplacian(4.0), "independent"), (Matern(0.8, 2.0), "hadamard"), (Polynomial(9, 1.0, 0.01), "independent")],
    ids=str,
)
def test_the_error_falls_at_the_monte_carlo_rate(kernel, method):
    counts = 2 ** np.arange(4, 9)  # of 330 monomials of the polynomial
    found = errors(kernel, method, counts, 24 if isinstance(kernel, Polynomial) else 6)
    slope = np.polyfit(np.log(counts), np.log(found), 1)[0]
    assert -0.65 < slope < -0.35 if method != "quasi" else slope < -0.6
    if kernel == Gaussian(2.0) and method == "independent":  # var cos(w t) = (1 + k(2 t)) / 2 - k(t)^2, over q draws
        k, k2 = kernel(X), kernel(2.0 * X)
        exact = np.sqrt(np.mean((1.0 + k2) / 2.0 - k**2) / (counts / 2))
        assert np.allclose(found, exact, rtol=0.35)


def test_orthogonal_and_quasi_are_better_than_independent():
    plain, orthogonal, quasi, hadamard = (errors(Gaussian(2.0), m, [128], 12)[0] for m in METHODS)
    assert orthogonal < 0.95 * plain and quasi < 0.6 * plain and hadamard < 1.5 * plain


def test_the_error_is_estimated():
    big = np.random.default_rng(1).normal(size=(600, 4))
    kernel = Gaussian(2.0)
    gram = RandomFeatures(200).build(kernel, Vectors.pack(big))
    K = kernel(big)
    real = np.linalg.norm(gram.to_dense() - K) / np.linalg.norm(K)
    assert gram.residual.entries == pytest.approx(real, rel=0.2)
    assert abs(gram.residual_trace) < 1e-12  # cos^2 + sin^2 = 1


def test_same_seed_same_bits_whatever_the_threads():
    S = Vectors.pack(np.random.default_rng(2).normal(size=(12_000, 3)))
    V = rng.normal(size=12_000)
    for method in METHODS:
        for precision in ("double", "mixed"):
            spec = RandomFeatures(50, method, 3, precision)
            one = spec.build(Gaussian(1.0), S, Resources(memory=2_200_000, n_threads=1))
            two = spec.build(Gaussian(1.0), S, Resources(memory=2_200_000, n_threads=2))
            assert one._held is None
            assert np.array_equal(one @ V, two @ V)
            assert all(map(np.array_equal, one.normal(1.0, V), two.normal(1.0, V)))
    other = RandomFeatures(50, random_state=4).build(Gaussian(1.0), S)
    assert not np.array_equal(other.map.frequencies, one.map.frequencies)


def test_a_ridge_regression_is_the_one_in_features():
    model = KernelRidge(Gaussian(2.0), alpha=0.1, gram=RandomFeatures(60)).fit(X, Y)
    F = RandomFeatures(60).build(Gaussian(2.0), Vectors.pack(X)).factor()
    w = np.linalg.solve(F.T @ F + 0.1 * np.eye(60), F.T @ Y)
    assert np.allclose(model.predict(X), F @ w)
    full = KernelRidge(Gaussian(2.0), alpha=0.1, gram=Dense()).fit(X, Y).predict(X)
    gaps = [
        np.abs(KernelRidge(Gaussian(2.0), alpha=0.1, gram=RandomFeatures(c)).fit(X, Y).predict(X) - full).max()
        for c in (50, 1200)
    ]
    assert gaps[1] < 0.5 * gaps[0] and gaps[1] < 0.1


KERNEL = 2.0 * Gaussian(2.0) + Polynomial(3).on([0, 1])


@pytest.mark.parametrize(
    "model",
    [
        KernelRidge(KERNEL, gram=RandomFeatures(80, "orthogonal")),
        KernelRidge(Gaussian(2.0), gram=RandomFeatures(80, "hadamard", precision="mixed")),
        SVC(Gaussian(2.0), gram=RandomFeatures(80, "quasi")),
        KernelLogisticRegression(KERNEL, gram=RandomFeatures(80)),
        KernelPCA(Gaussian(2.0) * Polynomial(2), 3, gram=RandomFeatures(80)),
        KernelGLM(KERNEL, gram=RandomFeatures(80)),
    ],
    ids=lambda model: type(model).__name__,
)
def test_estimators_and_their_files(model, tmp_path):
    y = Y if isinstance(model, KernelRidge) else (Y > 0).astype(int)
    model.fit(X, y)
    call = "transform" if isinstance(model, KernelPCA) else "predict"
    found = getattr(model, call)(X + 0.1)
    save(model, tmp_path / "model.mercer")
    again = load(tmp_path / "model.mercer")
    assert np.array_equal(getattr(again, call)(X + 0.1), found)
    assert again.expansion_.kernel == model.expansion_.kernel
    if isinstance(model, KernelGLM):
        assert np.allclose(model.components(X).sum(axis=1), model.linear_predictor(X))


def test_no_matrix_is_ever_in_memory():
    n, count = 40_000, 60
    data, y = rng.normal(size=(n, 3)), rng.normal(size=n)
    model = KernelRidge(Gaussian(1.0), gram=RandomFeatures(count), memory="20MB")
    model.fit(data[:2000], y[:2000])
    tracemalloc.start()
    model.fit(data, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20e6 < 8 * n * count + 8 * n * 6


def test_what_is_refused():
    S = Vectors.pack(X)
    with pytest.raises(CapabilityError, match="conditionally"):
        RandomFeatures(10).build(NegativeDistance(), S)
    with pytest.raises(MemoryBudgetError, match="smaller count"):
        RandomFeatures(10_000).build(Gaussian(1.0), S, Resources(memory=100_000))
    for bad in (
        RandomFeatures(1), RandomFeatures(2.5), RandomFeatures(10, "fourier"), RandomFeatures(10, random_state=-1),
        RandomFeatures(10, precision="half"),
    ):  # fmt: skip
        with pytest.raises(ParameterError):
            bad.check()


def test_it_is_part_of_the_language():
    spec = RandomFeatures(500, method="hadamard", random_state=7, precision="mixed")
    assert parse(repr(spec)) == spec
