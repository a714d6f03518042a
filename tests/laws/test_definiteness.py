"""What the seeds say about positive definite and conditionally positive definite kernels, as laws.

[HSS] Definitions 2 and 3, Proposition 4, Eq. (20), Schoenberg's theorem, Lemma 13; [STS] Definition 2 and Theorem 3.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import mercer
from mercer.domains import Samples
from mercer.gram import Centered, Dense
from mercer.hilbert.definiteness import definiteness
from mercer.hilbert.violation import find_violation
from mercer.kernels import (
    Anchored,
    Brownian,
    Epanechnikov,
    FeatureDistance,
    Gaussian,
    Intersection,
    Kernel,
    Laplacian,
    Linear,
    Logarithmic,
    Matern,
    Multiquadric,
    NegativeDistance,
    Polynomial,
    Precomputed,
    Sigmoid,
    Spectrum,
    Tanimoto,
)
from tests.laws.test_kernels import ENTRIES

DEFINITE = [
    (name, kernel, entry.data) for name, entry in ENTRIES.items() for kernel in entry.kernels if kernel.order == 0
]
FEW = settings(max_examples=3 * settings.default.max_examples // 5)
CONDITIONAL = [NegativeDistance(), NegativeDistance(0.3), Logarithmic(1.5), Multiquadric(0.7), Gaussian(1.0), Linear()]


@st.composite
def matrices(draw, square=False):
    n = draw(st.integers(1, 6))
    m = n if square else draw(st.integers(1, 6))
    return draw(arrays(np.float64, (n, m), elements=st.integers(-8, 8).map(float))) / 4.0


@st.composite
def samples(draw, width=2):
    n = draw(st.integers(2, 7))
    return draw(arrays(np.float64, (n, width), elements=st.integers(-32, 32).map(float))) / 8.0


# ------------------------------------------------------------------------- matrices: [STS] Theorem 3


@given(matrices())
def test_inner_products_make_a_positive_matrix(F):
    """[STS] Theorem 3, one way: F F^T is positive; [HSS] after Definition 3."""
    assert definiteness(F @ F.T)


@given(matrices(square=True))
def test_a_positive_matrix_is_one_of_inner_products(A):
    """The other way: if no vector violates it there are features, if one does there are none."""
    K = A + A.T
    found = definiteness(K)
    values, U = np.linalg.eigh(K)
    F = U * np.sqrt(np.maximum(values, 0.0))
    if found:
        np.testing.assert_allclose(F @ F.T, K, atol=1e-9 * (1.0 + np.abs(K).max()))
    else:
        c = found.vector
        assert c @ K @ c < 0.0  # where |F^T c|^2 would not be
        assert np.linalg.norm(F @ F.T - K) >= 0.99 * abs(found.smallest)
    assert found.n_negative == np.sum(values < -found.bound)


@given(matrices(), st.floats(0.1, 5.0))
def test_a_violation_survives_in_larger_matrices(F, size):
    """Definition 3 asks for all finite sets: what some samples show, more of them show as well."""
    K = F @ F.T
    n = len(K)
    whole = np.block([[K, np.zeros((n, 1))], [np.zeros((1, n)), np.array([[-size]])]])
    found = definiteness(whole)
    assert not found and found.smallest <= -size + found.bound and found.n_negative == 1


@pytest.mark.parametrize(("name", "kernel", "data"), DEFINITE, ids=lambda case: case if isinstance(case, str) else "")
def test_kernels_of_order_0(name, kernel, data):
    """[HSS] Definition 3 and Proposition 4, on the samples that show which laws a kernel claims."""
    S = kernel.pack(data.sample)
    K = np.asarray(kernel.learn(S)(S), dtype=float)
    assert definiteness(K)
    d = np.diagonal(K)
    assert np.all(np.outer(d, d) * (1.0 + 1e-10) + 1e-12 * np.abs(K).max() ** 2 >= K**2)
    assert definiteness(K, order=1)  # positive definite kernels are conditionally so


@given(samples())
@FEW
def test_cauchy_schwarz_is_the_determinant(X):
    """[HSS] Eqs. (10), (11): two points violate definiteness exactly where Cauchy-Schwarz fails or k(x, x) < 0."""
    for kernel in (Sigmoid(1.0, offset=-0.2), Gaussian(1.0), Epanechnikov(1.0)):
        K = kernel(X[:2])
        ok = K[0, 0] >= 0 and K[1, 1] >= 0 and K[0, 1] ** 2 <= K[0, 0] * K[1, 1]
        margin = abs(K[0, 0] * K[1, 1] - K[0, 1] ** 2)
        if margin > 1e-8:
            assert definiteness(K).positive == ok


# ------------------------------------------------------------------ conditionally definite: Eq. (20)


@given(samples())
@example(np.array([[0.0, -2.25], [0.75, -2.375]]))  # the centred matrix of the sigmoid is a millionth of its own
@FEW
def test_order_1_is_definiteness_of_the_centred_matrix(X):
    for kernel in (*CONDITIONAL, Sigmoid(1.0, offset=-0.2)):
        gram = Dense().build(kernel, kernel.pack(X))
        centred = Centered(gram).to_dense()
        worst = definiteness(gram.array, 1)
        if kernel.order is not None:
            assert worst
        if abs(worst.smallest) > 1e-8:  # centring rounds to the digits of the matrix, as the bound does
            smallest = definiteness(0.5 * (centred + centred.T)).smallest
            assert worst.positive == (smallest >= -worst.bound)


@given(samples())
@example(np.array([[0.125, 0.0], [0.125, 0.0]]))  # one point
@FEW
def test_order_1_is_definiteness_seen_from_a_point(X):
    """k is of order 1 if and only if <Phi(x) - Phi(o), Phi(z) - Phi(o)> is positive definite."""
    for kernel in CONDITIONAL:
        assert definiteness(Anchored(kernel, X[:1])(X))
        assert definiteness(Anchored(kernel, [[5.0, -1.0]])(X))
    K = -NegativeDistance()(X)  # the wrong sign, and so seen from a point
    seen = K - K[:, :1] - K[:1] + K[0, 0]
    if np.ptp(X, axis=0).any():
        assert not definiteness(K, 1) and not definiteness(0.5 * (seen + seen.T))


@given(samples(), st.floats(0.05, 5.0))
@FEW
def test_schoenberg(X, t):
    """k is conditionally positive definite if and only if exp(t k) is positive definite for all t > 0."""
    for kernel in CONDITIONAL:
        assert definiteness(np.exp(t * (kernel(X) - kernel(X).max())))
    if np.unique(X, axis=0).shape[0] > 2:
        K = -NegativeDistance()(X)  # not of order 1: some t shows it
        assert not all(definiteness(np.exp(s * (K - K.max()))) for s in np.geomspace(1e-3, 10.0, 9))


@given(samples())
@FEW
def test_induced_distances(X):
    """d^2 = k(x, x) + k(z, z) - 2 k(x, z) is a squared distance in a Hilbert space: -d^2 / 2 is of order 1."""
    for kernel in CONDITIONAL:
        D = kernel.distance(X)
        assert definiteness(-0.5 * D**2, 1)
        np.testing.assert_allclose(Anchored(kernel, X[:1]).distance(X), D, atol=1e-6)
        detour = (D[:, :, None] + D[None]).min(axis=1)
        assert np.all(detour >= D - 1e-6)
        # the images are points of a Euclidean space, found from the distances alone
        n = len(X)
        P = np.eye(n) - 1.0 / n
        values, U = np.linalg.eigh(-0.5 * P @ D**2 @ P)
        images = U * np.sqrt(np.maximum(values, 0.0))
        np.testing.assert_allclose(np.linalg.norm(images[:, None] - images[None], axis=-1), D, atol=1e-5)


def test_the_logarithm_of_a_kernel_need_not_be_of_order_1():
    """log k is of order 1 if and only if all powers k^t, t > 0, are kernels (k is infinitely divisible)."""
    X = np.random.default_rng(0).normal(size=(30, 3))
    for kernel in (Gaussian(1.0), Laplacian(1.0), Matern(0.5)):
        assert definiteness(np.log(kernel(X)), 1)
        assert all(definiteness(kernel(X) ** t) for t in (0.1, 0.37, 1.5))
    # <x, z>^2 + 0.1 is a kernel, but its root is not
    K = (Linear() ** 2 + 0.1)(X)
    assert definiteness(K) and not definiteness(np.log(K), 1)
    assert not all(definiteness(K**t) for t in (0.1, 0.2, 0.5))


# ------------------------------------------------------- no accusation of what is a kernel (rounding)


@pytest.mark.parametrize(
    "kernel",
    [Gaussian(0.1), Gaussian(30.0), Polynomial(5), Matern(3.5), Tanimoto(), Intersection(), Brownian(),
     FeatureDistance(Gaussian(1.0)), Linear().normalized()],
    ids=repr,
)  # fmt: skip
def test_the_search_accuses_no_kernel(kernel):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert not find_violation(kernel, restarts=1, random_state=5, max_time=3.0)
        assert not find_violation(kernel, np.abs(1e3 + np.random.default_rng(1).normal(size=(12, 2))), restarts=1,
                                  max_time=3.0)  # fmt: skip


# --------------------------------------------------------- translations in feature space: Lemma 13


class Translated(Kernel):
    """k(x, z) + f(x) + f(z) + c: all images moved by the same vector, where f belongs to the space."""

    def __init__(self, kernel, function, constant):
        self.kernel, self.function, self.constant = kernel, function, constant

    @property
    def domain(self):
        return self.kernel.domain

    @property
    def order(self):
        return 1 if self.kernel.order in (0, 1) else None

    def prepare(self, A: Samples) -> Samples:
        return self.kernel.prepare(A)

    def block(self, A, B):
        return self.kernel.block(A, B) + self.function(A)[:, None] + self.function(B)[None] + self.constant


def slanted(S):
    return np.sin(S.X[:, 0]) - 0.3 * S.X[:, 1] ** 2


rng = np.random.default_rng(3)
X = rng.normal(size=(60, 2))
NEW = rng.normal(size=(20, 2))
TWO = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=60) > 0, 1, -1)
THREE = np.digitize(X[:, 0] + 0.2 * rng.normal(size=60), [-0.5, 0.5])
REAL = np.sin(2.0 * X[:, 0]) + X[:, 1]
TIGHT = {"tol": 1e-9}
INVARIANT = [
    (mercer.SVC(**TIGHT), TWO),
    (mercer.SVC(**TIGHT), THREE),
    (mercer.SVC(loss="squared_hinge", **TIGHT), TWO),
    (mercer.NuSVC(nu=0.3, **TIGHT), TWO),
    (mercer.SVR(**TIGHT), REAL),
    (mercer.NuSVR(**TIGHT), REAL),
    (mercer.QuantileSVR(**TIGHT), REAL),
    (mercer.HuberSVR(**TIGHT), REAL),
    (mercer.LSSVC(C=3.0), TWO),
    (mercer.LSSVR(C=3.0), REAL),
]


def decision(model, Z):
    return model.decision_function(Z) if hasattr(model, "decision_function") else model.predict(Z)


def fitted(model, kernel, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return type(model)(**{**model.get_params(deep=False), "kernel": kernel}).fit(X, y)


@pytest.mark.parametrize("kernel", [Gaussian(1.0), NegativeDistance()], ids=repr)
@pytest.mark.parametrize(("model", "y"), INVARIANT, ids=lambda case: type(case).__name__)
def test_machines_with_a_bias_do_not_see_translations(model, y, kernel):
    """[HSS] Lemma 13: k + f(x) + f(z) + c yields the same estimates; so does k seen from a point."""
    expected = decision(fitted(model, kernel, y), NEW)
    scale = np.abs(expected).max()
    for other in (Translated(kernel, slanted, 0.7), Translated(kernel, slanted, -2.0), Anchored(kernel, [[1.0, -2.0]])):
        np.testing.assert_allclose(decision(fitted(model, other, y), NEW), expected, atol=1e-6 * scale)


def test_the_constant_of_a_power_series_does_not_matter():
    """The remark on a_0 before Lemma 13: k + a_0 is the same machine for every a_0 >= 0."""
    expected = mercer.SVC(Polynomial(3), **TIGHT).fit(X, TWO).decision_function(NEW)
    for a in (0.5, 10.0):
        moved = mercer.SVC(Polynomial(3) + a, **TIGHT).fit(X, TWO).decision_function(NEW)
        np.testing.assert_allclose(moved, expected, atol=1e-6 * np.abs(expected).max())


CENTRED = [  # by a bias, by means, or by centring: any point may be the origin
    (mercer.MarginBoundSVC(**TIGHT), TWO),
    (mercer.RelativeMarginMachine(**TIGHT), TWO),
    (mercer.KernelLogisticRegression(**TIGHT), TWO),
    (mercer.KernelGLM(**TIGHT), THREE),
    (mercer.KernelFisherDiscriminant(), TWO),
    (mercer.KernelFisherDiscriminant(), THREE),
    (mercer.KernelMeanClassifier(), TWO),
    (mercer.KernelPLS(), REAL),
    (mercer.KernelPCR(), REAL),
    (mercer.SVDD(**TIGHT), TWO),
]


@pytest.mark.parametrize(("model", "y"), CENTRED, ids=lambda case: type(case).__name__)
def test_the_origin_does_not_matter(model, y):
    kernel = Gaussian(1.0)
    expected = decision(fitted(model, kernel, y), NEW)
    for other in (kernel + 3.0, Anchored(kernel, [[1.0, -2.0]])):
        found = decision(fitted(model, other, y), NEW)
        np.testing.assert_allclose(found, expected, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (mercer.KernelRidge(alpha=0.5), REAL),
        (mercer.KernelAdatron(), TWO),
        (mercer.OneClassSVM(**TIGHT), TWO),
        (mercer.SVC(multi_class="crammer_singer"), THREE),
    ],
    ids=lambda case: type(case).__name__,
)
def test_machines_without_a_bias_depend_on_the_origin(model, y):
    kernel = Gaussian(1.0)
    expected = decision(fitted(model, kernel, y), NEW)
    scale = np.abs(expected).max()
    assert np.abs(decision(fitted(model, Anchored(kernel, [[1.0, -2.0]]), y), NEW) - expected).max() > 0.05 * scale
    raised = np.abs(decision(fitted(model, kernel + 3.0, y), NEW) - expected).max()
    if isinstance(model, mercer.OneClassSVM):  # its coefficients sum to one, so a constant goes into the offset
        assert raised < 1e-6 * scale
    else:
        assert raised > 1e-3 * scale


def test_a_ridge_with_an_intercept_does_not():
    kernel, model = Gaussian(1.0), mercer.KernelRidge(alpha=0.5, fit_intercept=True)
    expected = model.set_params(kernel=kernel).fit(X, REAL).predict(NEW)
    np.testing.assert_allclose(model.set_params(kernel=kernel + 3.0).fit(X, REAL).predict(NEW), expected, atol=1e-8)


def test_strings_and_matrices():
    words, y = ["ab", "ba", "aab", "bba", "abab", "b", "a", "bbb"], np.array([0, 1, 0, 1, 0, 1, 0, 1])
    kernel = Spectrum(1)
    expected = mercer.SVC(kernel, **TIGHT).fit(words, y).decision_function(words)
    seen = mercer.SVC(Anchored(kernel, ["abb"]), **TIGHT).fit(words, y).decision_function(words)
    np.testing.assert_allclose(seen, expected, atol=1e-6)
    K = kernel(words)
    f = np.arange(8.0)
    moved = K + f + f[:, None] + 2.0
    matrix = mercer.SVC(Precomputed(), **TIGHT).fit(moved, y).decision_function(moved)
    np.testing.assert_allclose(matrix, expected, atol=1e-6)
