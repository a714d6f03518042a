"""Expected features: against quadrature in one column, matrices in several, samples, and drawn points."""

import itertools

import numpy as np
import pytest

import mercer
from mercer import SVC, KernelRidge
from mercer.domains.distributions import Distributions
from mercer.errors import CapabilityError, DomainError, ParameterError
from mercer.gram import Features
from mercer.kernels import Constant, Gaussian, Laplacian, Linear, NegativeDistance, Polynomial, Spectrum
from mercer.kernels.sets import expected_features as module
from mercer.kernels.sets.expected_features import ExpectedFeatures
from mercer.kernels.sets.mean_map import MeanMap
from mercer.testing import check_kernel

NAN = float("nan")
RNG = np.random.default_rng(0)


def covariance(d):
    B = RNG.normal(size=(d, d))
    return B @ B.T / d


NORMALS = [(RNG.normal(size=2), covariance(2)) for _ in range(5)]
HOLES = [(RNG.normal(size=2), RNG.random(2)) for _ in range(4)] + [[0.3, NAN], [NAN, 1.0]]
SAMPLES = [RNG.normal(size=(m, 2)) for m in (1, 3, 2, 5)]
MIXTURE = {"means": RNG.normal(size=(3, 2)), "covariances": RNG.random((3, 2)), "weights": [1.0, 2.0, 3.0]}
MIXED = [*NORMALS[:3], HOLES[0], SAMPLES[3], MIXTURE]


def gauss(m, S, n, T, scale):
    """The Gaussian kernel between two Gaussians, by the matrices of the formula."""
    L = np.diag(np.broadcast_to(scale, len(m)) ** 2)
    G = L + S + T
    return np.sqrt(np.linalg.det(L) / np.linalg.det(G)) * np.exp(-0.5 * (m - n) @ np.linalg.solve(G, m - n))


def square(m, S, n, T, c, s):
    """(s x.z + c)^2 between two Gaussians: moments of products, entry by entry."""
    M, N = S + np.outer(m, m), T + np.outer(n, n)
    second = sum(M[a, b] * N[a, b] for a in range(len(m)) for b in range(len(m)))
    return c**2 + 2.0 * s * c * m @ n + s**2 * second


def components(S, i):
    means, spread, weights = S.component(i)
    d = means.shape[1]
    full = (
        np.zeros((len(means), d, d)) if S.extent == 0 else spread if S.extent == 2 else spread[:, :, None] * np.eye(d)
    )
    return list(zip(means, full, weights, strict=True))


def expected(S, value):
    """Double sums over components."""
    n = len(S)
    return np.array(
        [
            [
                sum(
                    w * v * value(m, C, z, D)
                    for (m, C, w), (z, D, v) in itertools.product(components(S, i), components(S, j))
                )
                for j in range(n)
            ]
            for i in range(n)
        ]
    )


@pytest.mark.parametrize("X", [NORMALS, HOLES[:4], SAMPLES, MIXED])
def test_the_closed_forms(X):
    S = Distributions.pack(X)
    for scale in (0.7, (0.5, 2.0)):
        K = expected(S, lambda m, C, z, D, scale=scale: gauss(m, C, z, D, scale))
        np.testing.assert_allclose(ExpectedFeatures(Gaussian(scale))(X), K, rtol=1e-10)
    K = expected(S, lambda m, C, z, D: square(m, C, z, D, 0.5, 0.3))
    np.testing.assert_allclose(ExpectedFeatures(Polynomial(2, offset=0.5, scale=0.3))(X), K, rtol=1e-10)
    L = expected(S, lambda m, C, z, D: m @ z)
    np.testing.assert_allclose(ExpectedFeatures(Linear())(X), L, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(ExpectedFeatures(2.0 * Polynomial(2, 0.5, 0.3) + Linear() + 3.0)(X), 2 * K + L + 3)


@pytest.mark.parametrize(("m", "v", "n", "w"), [(0.3, 0.5, -1.0, 2.0), (0.0, 0.01, 4.0, 0.3)])
def test_integrals(m, v, n, w):
    """The definition itself: E E k, by the quadrature of Gauss and Hermite in two variables."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(120)
    weights = weights / weights.sum()
    x, z = m + np.sqrt(v) * nodes[:, None], n + np.sqrt(w) * nodes
    for k, values in (
        (Gaussian(0.8), np.exp(-((x - z) ** 2) / 1.28)),
        (Polynomial(2, 0.5, 0.3), (0.3 * x * z + 0.5) ** 2),
    ):
        value = weights @ values @ weights
        np.testing.assert_allclose(ExpectedFeatures(k)([([m], [v])], [([n], [w])]), [[value]], rtol=1e-8)


def test_gaussians_beside_points():
    """One side without extent: matrices are factorised once for all points, with the same values."""
    S, P = Distributions.pack(NORMALS), Distributions.pack(SAMPLES)
    K = ExpectedFeatures(Gaussian(0.7))(NORMALS, SAMPLES)
    both = expected(S.concat(P), lambda m, C, z, D: gauss(m, C, z, D, 0.7))
    np.testing.assert_allclose(K, both[: len(S), len(S) :], rtol=1e-10)
    np.testing.assert_allclose(ExpectedFeatures(Gaussian(0.7))(SAMPLES, NORMALS), K.T, rtol=1e-12)


def test_samples_are_a_mean_map():
    for k in (Gaussian(1.0), Laplacian(1.0), Polynomial(3)):
        np.testing.assert_allclose(ExpectedFeatures(k)(SAMPLES), MeanMap(k)(SAMPLES), rtol=1e-12)


def test_many_columns_and_large_variances():
    """Products of variances that overflow are added as logarithms."""
    m, v = RNG.normal(size=(2, 70)), np.full((2, 70), 1e12)
    K = ExpectedFeatures(Gaussian(1.0))([(m[0], v[0])], [(m[1], v[1])])
    d = m[0] - m[1]
    log = -0.5 * np.sum(np.log1p(2e12) + d**2 / (1 + 2e12))
    assert K[0, 0] == 0.0 if log < -745 else np.isclose(np.log(K[0, 0]), log)
    v = np.full((2, 40), 1e12)
    K = ExpectedFeatures(Gaussian(1.0))([(m[0, :40], v[0])], [(m[1, :40], v[1])])
    log = -0.5 * np.sum(np.log1p(2e12) + d[:40] ** 2 / (1 + 2e12))
    np.testing.assert_allclose(np.log(K[0, 0]), log, rtol=1e-12)


@pytest.mark.parametrize(
    ("kernel", "X"),
    [
        (ExpectedFeatures(Gaussian(0.7)), MIXED),
        (ExpectedFeatures(Gaussian((0.5, 2.0))), HOLES),
        (ExpectedFeatures(Gaussian(0.7), mean=(0.1, 0.2), covariance=((1.0, 0.5), (0.5, 2.0))), HOLES),
        (ExpectedFeatures(Linear()), MIXED),
        (ExpectedFeatures(Polynomial(2, offset=0.5, scale=0.3)), HOLES),
        (ExpectedFeatures(Polynomial(1, offset=0.5)), MIXED),
        (ExpectedFeatures(0.5 * Gaussian("median") + Polynomial(2) + 2.0), MIXED),
        (ExpectedFeatures(NegativeDistance()), SAMPLES),
    ],
)
def test_laws(kernel, X):
    check_kernel(kernel, X)


def test_missing_entries_are_learned():
    X = np.array([[1.0, 2.0], [3.0, NAN], [5.0, 6.0], [NAN, 1.0]])
    k = ExpectedFeatures(Gaussian(1.0))
    with pytest.raises(ParameterError, match="is not fitted: what missing entries may be"):
        k(X)
    learned = k.learn(k.pack(X))
    np.testing.assert_allclose(learned.mean, [3.0, 3.0])
    np.testing.assert_allclose(learned.covariance, [8 / 3, 14 / 3])
    filled = [(X[0], [0, 0]), ([3.0, 3.0], [0, 14 / 3]), (X[2], [0, 0]), ([3.0, 1.0], [8 / 3, 0])]
    np.testing.assert_allclose(learned(X), ExpectedFeatures(Gaussian(1.0))(filled), rtol=1e-12)
    weighted = k.learn(k.pack(X), None, np.array([2.0, 1.0, 0.0, 1.0]))
    copies = k.learn(k.pack(X[[0, 0, 1, 3]]))
    np.testing.assert_allclose(weighted.mean, copies.mean)
    np.testing.assert_allclose(weighted.covariance, copies.covariance)
    given = ExpectedFeatures(Gaussian(1.0), mean=(0.0, 0.0))
    np.testing.assert_allclose(given.learn(k.pack(X)).covariance, [35 / 3, 41 / 3])
    with pytest.raises(DomainError, match="Column 1 is missing in all samples"):
        k.learn(k.pack(X[[1]]))


def test_missing_pixels_help_where_filled_means_do_not():
    """The shape of the answer: with more missing, distributions are less similar to all points."""
    k = ExpectedFeatures(Gaussian(1.0), mean=(0.0, 0.0), covariance=(1.0, 1.0))
    K = k([[0.0, 0.0], [0.0, NAN], [NAN, NAN]], [[0.0, 0.0]])[:, 0]
    np.testing.assert_allclose(K, [1.0, 2**-0.5, 0.5])


@pytest.mark.parametrize("k", [Linear(), Polynomial(2, 0.5, 0.3), Polynomial(1, 0.5)])
def test_linear_time_learning_agrees(k):
    y = np.arange(6.0)
    model = KernelRidge(ExpectedFeatures(k), alpha=0.1).fit(MIXED, y)
    linear = KernelRidge(ExpectedFeatures(k), alpha=0.1, gram=Features()).fit(MIXED, y)
    np.testing.assert_allclose(linear.predict(NORMALS), model.predict(NORMALS), rtol=1e-6, atol=1e-8)


def test_a_model_file_gives_the_same_predictions(tmp_path):
    y = np.arange(len(HOLES)) % 2
    model = SVC(ExpectedFeatures(Gaussian(1.0))).fit(HOLES, y)
    mercer.save(model, tmp_path / "model.mercer")
    again = mercer.load(tmp_path / "model.mercer")
    assert isinstance(again.expansion_.samples, Distributions)
    np.testing.assert_array_equal(again.decision_function(HOLES), model.decision_function(HOLES))


def test_refused():
    with pytest.raises(CapabilityError, match=r"Laplacian.*has no closed form.*draw samples"):
        ExpectedFeatures(Laplacian(1.0))(NORMALS)
    with pytest.raises(ParameterError, match=r"a kernel on whole vectors is accepted.*MeanMap"):
        ExpectedFeatures(Spectrum(1))(NORMALS)
    with pytest.raises(ParameterError, match="covariance must be None, variances"):
        ExpectedFeatures(Linear(), mean=(0.0, 0.0), covariance=((1.0, 2.0),))(NORMALS)
    for bad in ((1.0, -1.0), "a", ((1.0, 2.0), (2.0, 1.0))):
        with pytest.raises(ParameterError, match="covariance must be None, variances"):
            ExpectedFeatures(Linear(), covariance=bad).check()
    with pytest.raises(DomainError, match=r"A mean of 3 and a covariance of 3 columns were given.*on 2"):
        ExpectedFeatures(Linear(), mean=(0.0,) * 3, covariance=(1.0,) * 3)(HOLES)
    with pytest.raises(DomainError, match=r"3 length scales were given for distributions on 2 columns"):
        ExpectedFeatures(Gaussian((1.0,) * 3))(NORMALS)
    with pytest.raises(ParameterError, match="is not fitted: its length scale is learned"):
        ExpectedFeatures(Gaussian("median"))(NORMALS)
    with pytest.raises(DomainError, match="on 2 columns are compared with distributions on 1"):
        ExpectedFeatures(Linear())(NORMALS, [[1.0]])
    assert ExpectedFeatures(Polynomial(3)).order == 0 and ExpectedFeatures(Constant(1.0) * Linear()).order == 0


def test_the_compiled_loops_in_python():
    m, v, z, w = RNG.normal(size=(2, 3)), RNG.random((2, 3)), RNG.normal(size=(2, 3)), RNG.random((2, 3))
    outs = np.empty((2, 2, 2))
    module._with_variances.py_func(m, v, z, w, outs[0])
    full = [x[:, :, None] * np.eye(3) for x in (v, w)]
    module._with_covariances.py_func(m, full[0], z, full[1], np.empty((3, 3)), np.empty(3), outs[1])
    np.testing.assert_allclose(outs[0], outs[1], rtol=1e-12)
    np.testing.assert_allclose(
        outs[0],
        [
            [gauss(a, np.diag(b), c, np.diag(e), 1.0) for c, e in zip(z, w, strict=True)]
            for a, b in zip(m, v, strict=True)
        ],
    )
