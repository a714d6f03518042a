"""The signature kernel beside iterated integrals, written out as tensors."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.special import i0, j0

from mercer import KernelRidge
from mercer.domains.sequences import Sequences
from mercer.errors import CapabilityError, DomainError, ParameterError
from mercer.gram import Dense, Features
from mercer.kernels.series import signature as module
from mercer.kernels.series.signature import Signature
from mercer.kernels.vectors.pointwise import Gaussian
from mercer.testing import check_kernel

RNG = np.random.default_rng(0)
SHORT = [0.5 * RNG.normal(size=(length, 2)) for length in (1, 2, 3, 4, 6)]


def integrals(x, depth):
    """Iterated integrals by Chen's identity: a straight piece has dx^p / p!, and pieces are multiplied as tensors."""
    S = [np.array(1.0), *(np.zeros((x.shape[1],) * p) for p in range(1, depth + 1))]
    for dx in np.diff(x, axis=0):
        E = [np.array(1.0)]
        for p in range(1, depth + 1):
            E.append(np.multiply.outer(E[-1], dx) / p)
        S = [sum(np.multiply.outer(S[k], E[p - k]) for k in range(p + 1)) for p in range(depth + 1)]
    return S


def naive(X, Y, depth):
    left, right = ([integrals(x, depth) for x in side] for side in (X, Y))
    return np.array([[sum(np.vdot(s, t) for s, t in zip(S, T, strict=True)) for T in right] for S in left])


def by_quadrature(x, order, steps=400):
    """Iterated integrals from their definition: sums over increasing times, by the trapezoidal rule."""
    times = np.linspace(0.0, len(x) - 1.0, steps * (len(x) - 1) + 1)
    path = np.column_stack([np.interp(times, np.arange(len(x)), channel) for channel in x.T])
    inner = np.ones((len(path),))
    for _ in range(order):
        flat = inner.reshape(len(path), -1)
        middle = (flat[1:] + flat[:-1]) / 2.0
        steps_ = middle[:, :, None] * np.diff(path, axis=0)[:, None, :]
        inner = np.concatenate(
            [np.zeros((1, steps_.shape[1] * x.shape[1])), np.cumsum(steps_.reshape(len(path) - 1, -1), 0)]
        )
    return inner[-1]


@pytest.fixture
def without_features(monkeypatch):
    monkeypatch.setattr(module, "_WIDE", 0)


def test_tensors_are_iterated_integrals():
    x = SHORT[3]
    for order in (1, 2, 3):
        np.testing.assert_allclose(by_quadrature(x, order), integrals(x, order)[order].ravel(), atol=1e-5)


@pytest.mark.parametrize("depth", [1, 2, 3, 5])
def test_truncated_by_features(depth):
    np.testing.assert_allclose(Signature(depth)(SHORT), naive(SHORT, SHORT, depth), rtol=1e-13, atol=1e-15)
    F, _ = Signature(depth).features(Sequences.pack(SHORT))
    expected = [np.concatenate([level.ravel() for level in integrals(x, depth)]) for x in SHORT]
    np.testing.assert_allclose(F, expected, rtol=1e-12, atol=1e-15)
    assert Signature(depth).feature_count(Sequences.pack(SHORT)) == F.shape[1] == 2 ** (depth + 1) - 1


@pytest.mark.parametrize("depth", [1, 2, 3, 5])
def test_truncated_by_cells(without_features, depth):
    np.testing.assert_allclose(Signature(depth)(SHORT), naive(SHORT, SHORT, depth), rtol=1e-13, atol=1e-15)
    S = Sequences.pack(SHORT)
    np.testing.assert_allclose(Signature(depth).diag(S), np.diag(naive(SHORT, SHORT, depth)), rtol=1e-13)


def test_orders_add_up_to_the_untruncated_kernel(without_features):
    X = [2.0 * x for x in SHORT]
    K = Signature()(X)
    errors = [np.abs(Signature(depth)(X) - K).max() / K.max() for depth in (2, 4, 8, 16, 24)]
    assert all(before > after for before, after in pairwise(errors[:4]))
    assert errors[0] > 1e-2 and errors[-1] < 1e-14
    np.testing.assert_allclose(Signature()(SHORT), naive(SHORT, SHORT, 13), rtol=1e-12)
    lifted = Signature(None, "gaussian", 0.7)(X)
    np.testing.assert_allclose(Signature(28, "gaussian", 0.7)(X), lifted, rtol=1e-12)


@pytest.mark.parametrize("product", [1.0, 10.0, 100.0, 390.0, 1500.0, -1.0, -3.0, -20.0])
def test_two_straight_lines_have_a_bessel_function(product):
    K = Signature()([[0.0, 1.0]], [[5.0, 5.0 + product]])
    expected = i0(2.0 * np.sqrt(product)) if product > 0 else j0(2.0 * np.sqrt(-product))
    size = i0(2.0 * np.sqrt(abs(product)))
    assert K[0, 0] == pytest.approx(expected, rel=1e-12, abs=1e-15 * size)


def test_what_the_kernel_does_not_see():
    x, y = RNG.normal(size=(5, 3)), RNG.normal(size=(4, 3))
    value = Signature()([x], [y])
    halves = np.repeat(x, 2, axis=0)[:-1]
    halves[1::2] = (x[1:] + x[:-1]) / 2.0
    aside = np.concatenate([x[:3], [[9.0, 1.0, -2.0]], x[2:]])  # some way, and back again
    for same in (x + 7.0, halves, np.repeat(x, 3, axis=0), aside):
        np.testing.assert_allclose(Signature()([same], [y]), value, rtol=1e-11)
        np.testing.assert_allclose(Signature(3)([same], [y]), Signature(3)([x], [y]), rtol=1e-11)
    np.testing.assert_array_equal(Signature()([y[:1]], [x, y]), 1.0)
    assert abs(Signature()([x[::-1]], [y])[0, 0] - value[0, 0]) > 1e-3 * abs(value[0, 0])


def test_the_length_scale_divides_the_points():
    np.testing.assert_allclose(Signature(None, "linear", 2.0)(SHORT), Signature()([x / 2 for x in SHORT]), rtol=1e-14)
    np.testing.assert_allclose(Signature(3, "linear", 2.0)(SHORT), Signature(3)([x / 2 for x in SHORT]), rtol=1e-14)


def test_the_gaussian_lift_is_the_signature_of_images():
    X = [RNG.normal(size=(length, 2)) for length in (3, 4, 2)]
    points = np.concatenate(X)
    values, vectors = np.linalg.eigh(Gaussian(0.9)(points))
    images = np.split(vectors * np.sqrt(np.maximum(values, 0.0)), np.cumsum([3, 4]))
    np.testing.assert_allclose(Signature(None, "gaussian", 0.9)(X), Signature()(images), rtol=1e-12)
    np.testing.assert_allclose(Signature(2, "gaussian", 0.9)(X), Signature(2)(images), rtol=1e-12)


@pytest.mark.parametrize(
    "kernel", [Signature(), Signature(3), Signature(2, "gaussian"), Signature(None, "gaussian", 2.0)]
)
def test_laws(kernel):
    check_kernel(kernel, SHORT)


def test_features_learn_as_the_kernel_does():
    X, y = [RNG.normal(size=(length, 2)) for length in RNG.integers(2, 9, size=20)], RNG.normal(size=20)
    kernel = Signature(3, length_scale=3.0)
    primal, dual = (KernelRidge(kernel, alpha=0.1, gram=gram).fit(X, y) for gram in (Features(), Dense()))
    np.testing.assert_allclose(primal.predict(X), dual.predict(X), rtol=1e-8)
    for other in (Signature(), Signature(2, "gaussian")):
        assert "features" not in other.capabilities
        with pytest.raises(CapabilityError, match="feature map"):
            other.features(Sequences.pack(X))
    with pytest.raises(CapabilityError, match="features on these samples"):
        Signature(40).features(Sequences.pack(X))


def test_threads_and_tiles_change_nothing():
    X = [0.2 * RNG.normal(size=(length, 2)) for length in RNG.integers(1, 60, size=25)]
    K = Signature()(X)
    np.testing.assert_array_equal(K, Signature()(X, n_threads=1))
    np.testing.assert_allclose(Signature()([X[3]], [X[17]])[0, 0], K[3, 17], rtol=1e-12)


def test_wrong_things_are_refused():
    for wrong in ({"depth": 0}, {"depth": 2.0}, {"base": "cubic"}, {"length_scale": -1.0}):
        with pytest.raises(ParameterError, match=next(iter(wrong))):
            Signature(**wrong)(SHORT)
    with pytest.raises(DomainError, match="2 channels are compared with series of 1"):
        Signature()(SHORT, [[1.0]])
    for huge in (1e3, 1e200):
        with pytest.raises(DomainError, match="too large"):
            Signature()([[0.0, huge]])
