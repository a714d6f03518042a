"""Maps: unbiased, of the law that their kernel has, equal when their numbers are."""

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.domains import Strings, Vectors
from mercer.errors import CapabilityError, DomainError, ParameterError
from mercer.gram.low_rank.feature_maps import (
    ExactFeatures,
    FoldedFeatures,
    Joined,
    Mapped,
    Multiplied,
    PolynomialSketch,
    Waves,
    draw_map,
    orthogonal_directions,
)
from mercer.kernels import (
    Cauchy,
    Constant,
    Exponential,
    ExponentialDot,
    Gaussian,
    InverseMultiquadric,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    RationalQuadratic,
    Spectrum,
)
from mercer.testing import check_kernel

rng = np.random.default_rng(0)
X = rng.normal(size=(10, 3))
RADIAL = [
    Gaussian(2.0),
    Gaussian((1.0, 2.0, 3.0)),
    Matern(1.5, 2.0),
    Exponential(3.0),
    RationalQuadratic(0.8, 2.0),
    Cauchy((2.0, 3.0, 4.0)),
    InverseMultiquadric(2.0),
    Gaussian(2.0) * Matern(2.5, 4.0),
    Gaussian(4.0) ** 2,
]
OTHERS = [
    Laplacian(4.0),
    Periodic(3.0, 2.0),
    0.5 * Gaussian(2.0) + 2.0 * Laplacian(3.0),
    Polynomial(2, offset=0.5, scale=0.3),
    Polynomial(3, offset=0.0).normalized(),
    Gaussian(2.0) * Polynomial(2, offset=2.0),
    Gaussian(1.5).on([0, 1]) * Linear().on([2]) + 1.0,
]
CASES = [(k, m) for k in RADIAL for m in ("independent", "orthogonal", "quasi", "hadamard")]
CASES += [(k, "independent") for k in OTHERS] + [(OTHERS[0], "quasi"), (OTHERS[1], "quasi"), (OTHERS[2], "quasi")]


def matrices(kernel, method, count, draws, data=X):
    """Approximate matrices of several draws."""
    S = kernel.prepare(kernel.pack(data))
    generator = np.random.default_rng(1)
    for _ in range(draws):
        F = draw_map(kernel, S, count, generator, method)(S)
        yield F @ F.T


@pytest.mark.parametrize(("kernel", "method"), CASES, ids=str)
def test_the_mean_over_draws_is_the_kernel(kernel, method):
    """With few features: each wave alone has the right law, also those that depend on each other."""
    found = np.array(list(matrices(kernel, method, 8, 150)))
    exact = kernel(X)
    error = found.std(axis=0, ddof=1) / np.sqrt(len(found))
    assert np.all(np.abs(found.mean(axis=0) - exact) <= 5.0 * error + 1e-9 * np.abs(exact).max())


@pytest.mark.parametrize("width", [1, 5, 8, 13])
def test_hadamard_takes_any_number_of_columns(width):
    """The lengths are those of the padded space: its projection on fewer columns has their law."""
    data = rng.normal(size=(6, width)) / np.sqrt(width)
    for kernel in (Gaussian(0.8), Matern(0.7, 0.8)):
        found = np.array(list(matrices(kernel, "hadamard", 16, 120, data)))
        error = found.std(axis=0, ddof=1) / np.sqrt(len(found))
        assert np.all(np.abs(found.mean(axis=0) - kernel(data)) <= 5.0 * error + 1e-9)


def test_orthogonal_directions():
    U = orthogonal_directions(np.random.default_rng(0), 10, 4)
    assert np.allclose(U[:4] @ U[:4].T, np.eye(4)) and np.allclose(U[8:] @ U[8:].T, np.eye(2))
    many = np.concatenate([orthogonal_directions(np.random.default_rng(s), 3, 3) for s in range(600)])
    assert np.abs(many.mean(axis=0)).max() < 0.08 and np.abs(many.T @ many / 1800 - np.eye(3) / 3).max() < 1e-12


def test_waves_by_hand():
    S = Vectors.pack(X)
    drawn = draw_map(2.25 * Gaussian(2.0), S, 6, np.random.default_rng(3))
    omega = np.random.default_rng(3).normal(size=(3, 3)) / 2.0
    turn = (X - X.mean(axis=0)) @ omega.T
    assert np.allclose(drawn(S), 1.5 * np.hstack([np.cos(turn), np.sin(turn)]) / np.sqrt(3.0))
    assert drawn.count == 6 and drawn(S, np.float32).dtype == np.float32
    assert np.allclose(drawn(S, np.float32), drawn(S), atol=1e-5)


def test_tensor_sketch_by_hand():
    S = Vectors.pack(X)
    kernel = Polynomial(2, offset=0.5, scale=0.3)
    drawn = draw_map(kernel, S, 7, np.random.default_rng(4))
    assert isinstance(drawn, PolynomialSketch)
    Y = np.hstack([np.sqrt(0.3) * X, np.full((10, 1), np.sqrt(0.5))])
    expected = np.zeros((10, 7))
    a, b = drawn.sketches
    for i in range(4):
        for j in range(4):
            sign = int(a.signs[i]) * int(b.signs[j])
            expected[:, (int(a.places[i]) + int(b.places[j])) % 7] += sign * Y[:, i] * Y[:, j]
    assert np.allclose(drawn(S), expected)
    assert np.allclose(drawn(Vectors.pack(sp.csr_array(X))), expected)


def test_what_has_few_features_keeps_them():
    S = Vectors.pack(X)
    for kernel, size in ((Linear(), 3), (Polynomial(2), 10), (Constant(2.0), 1)):
        drawn = draw_map(kernel, S, 10, np.random.default_rng(0))
        assert isinstance(drawn, ExactFeatures) and drawn.count == size
        assert np.allclose(drawn(S) @ drawn(S).T, kernel(X))
    both = draw_map(Linear() + Gaussian(1.0) + 2.0, S, 50, np.random.default_rng(0))
    assert isinstance(both, Joined) and [type(part) for part in both.maps] == [ExactFeatures, Waves, ExactFeatures]
    assert 48 <= both.count <= 50
    large = draw_map(9.0 * Gaussian(1.0) + Laplacian(1.0), S, 100, np.random.default_rng(0))
    assert large.maps[0].count == pytest.approx(90, abs=2) and large.count <= 100


def test_other_domains_are_folded():
    words = ["abab", "ab", "bab", "bbba", "abba", "cab"]
    kernel = Spectrum(2)
    found = np.array(list(matrices(kernel, "independent", 3, 200, words)))
    error = found.std(axis=0, ddof=1) / np.sqrt(len(found))
    assert np.all(np.abs(found.mean(axis=0) - kernel(words)) <= 5.0 * error + 1e-9)
    S = kernel.prepare(Strings.pack(words))
    drawn = draw_map(kernel, S, 3, np.random.default_rng(0))
    assert isinstance(drawn, FoldedFeatures)
    assert np.allclose(drawn(kernel.prepare(Strings.pack(["bab", "zz"])))[0], drawn(S)[2])
    product = draw_map(Spectrum(1) * Spectrum(2), S, 4, np.random.default_rng(0))
    assert isinstance(product, Multiplied) and product(S).shape == (6, 4)


def test_sparse_data_and_far_data():
    dense, sparse = (Vectors.pack(part) for part in (X, sp.csr_array(X)))
    for method in ("independent", "hadamard"):
        F, G = (draw_map(Gaussian(2.0), S, 20, np.random.default_rng(0), method)(S) for S in (dense, sparse))
        assert np.allclose(F @ F.T, G @ G.T)  # their origins differ
    far = Vectors.pack((X + 1e4).astype(np.float32))
    drawn = draw_map(Gaussian(2.0), far, 2000, np.random.default_rng(0))
    single, double = drawn(far, np.float32), drawn(far)
    assert np.abs(single - double).max() < 1e-5  # angles are small, since the mean is taken away first


def test_maps_are_compared_by_value():
    S = Vectors.pack(X)
    kernel = Gaussian(2.0) + Polynomial(4)
    one, two, other = (draw_map(kernel, S, 30, np.random.default_rng(seed)) for seed in (0, 0, 1))
    assert one == two and one != other and one != 3
    assert Mapped(kernel, one) == Mapped(kernel, two) and Mapped(kernel, one) != Mapped(kernel, other)
    assert repr(one) == f"<Joined: {one.count} features>" and 28 <= one.count <= 30


def test_the_kernel_of_a_map_is_a_kernel():
    kernel = Gaussian(1.0) + 0.5 * Linear().on([0])
    S = kernel.prepare(kernel.pack(X))
    near = Mapped(kernel, draw_map(kernel, S, 40, np.random.default_rng(0)))
    F = near.features(S)[0]
    assert np.allclose(near(X), F @ F.T) and near.feature_count(S) == F.shape[1]
    vectors = Mapped(Gaussian(1.0), draw_map(Gaussian(1.0), Vectors.pack(X), 40, np.random.default_rng(0)))
    check_kernel(vectors, X)


def test_what_is_refused():
    S = Vectors.pack(X)
    draw = np.random.default_rng(0)
    with pytest.raises(CapabilityError, match="Nystrom"):
        draw_map(ExponentialDot(), S, 10, draw)
    for method in ("orthogonal", "hadamard"):
        for kernel in (Laplacian(1.0), Periodic(1.0), Gaussian(1.0) * Laplacian(1.0)):
            with pytest.raises(CapabilityError, match="uniform directions"):
                draw_map(kernel, S, 10, draw, method)
    with pytest.raises(ParameterError, match="count=6"):
        draw_map(Gaussian(1.0) + Gaussian(2.0) + Laplacian(1.0), S, 5, draw)
    with pytest.raises(DomainError, match="map of vectors"):
        draw_map(Gaussian(1.0), S, 10, draw)(Strings.pack(["a"]))


def test_numbers_that_do_not_fit_are_refused():
    drawn = draw_map(Gaussian(1.0), Vectors.pack(X), 10, np.random.default_rng(0), "hadamard")
    drawn.check()
    for change in ({"origin": np.zeros(2)}, {"frequencies": np.zeros((4, 3))}, {"units": ()}):
        with pytest.raises(ParameterError, match="fit together"):
            dataclasses.replace(drawn, **change).check()
