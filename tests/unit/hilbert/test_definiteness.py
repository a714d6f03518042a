"""Definiteness of a matrix: the sign, the vector that shows it, and how many negative squares there are."""

import importlib

import numpy as np
import pytest
import scipy.linalg

from mercer.domains import Strings, Vectors
from mercer.errors import DomainError, ParameterError
from mercer.gram import Dense, Tiles
from mercer.hilbert.definiteness import definiteness, polynomials
from mercer.kernels import Epanechnikov, Gaussian, NegativeDistance, Sigmoid, Spectrum, ThinPlate

module = importlib.import_module("mercer.hilbert.definiteness")
rng = np.random.default_rng(0)
X = rng.normal(size=(40, 2))


def with_spectrum(values, seed=1):
    Q = scipy.linalg.qr(np.random.default_rng(seed).normal(size=(len(values), len(values))))[0]
    K = (Q * values) @ Q.T
    return 0.5 * (K + K.T), Q


@pytest.mark.parametrize("negative", [0, 1, 3])
def test_known_spectra(negative):
    values = np.concatenate([-np.arange(1.0, negative + 1.0), np.arange(0.0, 7.0)])
    K, Q = with_spectrum(values)
    found = definiteness(K)
    assert found.positive == bool(found) == (negative == 0) and found.n_negative == negative and found.complete
    assert found.smallest == pytest.approx(values.min(), abs=1e-12) and found.largest == pytest.approx(6.0)
    assert found.vector @ found.vector == pytest.approx(1.0)
    assert found.vector @ K @ found.vector == pytest.approx(values.min(), abs=1e-12)
    assert abs(found.vector @ Q[:, np.argmin(values)]) == pytest.approx(1.0)
    assert 0.0 < found.bound < 1e-9


def test_rounding_is_no_violation():
    K = Gaussian(10.0)(X)  # numerically of low rank: many eigenvalues of either sign at 1e-16
    assert np.linalg.eigvalsh(K).min() < 0.0 and definiteness(K)
    K[0, 0] -= 1e-6
    assert not definiteness(K)
    single = Gaussian(10.0)(X.astype(np.float32))
    assert single.dtype == np.float32 and definiteness(single)


def test_conditional_orders():
    K = NegativeDistance()(X)
    assert not definiteness(K) and definiteness(K, 1)
    found = definiteness(-K, order=1)
    assert not found and abs(found.vector.sum()) < 1e-12 and found.vector @ K @ found.vector > 0
    assert found.n_negative == len(X) - 1  # strictly definite on its terms
    plate = Dense().build(ThinPlate(), Vectors.pack(X))
    assert definiteness(plate, 2) and not definiteness(plate, 1)
    basis = np.column_stack([np.ones(len(X)), X])
    assert definiteness(plate.array, basis=basis)
    worst = definiteness(-plate.array, basis=basis)
    np.testing.assert_allclose(basis.T @ worst.vector, 0.0, atol=1e-10)
    expected = np.linalg.eigvalsh(scipy.linalg.null_space(basis.T).T @ -plate.array @ scipy.linalg.null_space(basis.T))
    assert worst.smallest == pytest.approx(expected[0])


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Sigmoid(1.0, offset=-1.0), Epanechnikov(1.0), NegativeDistance()])
@pytest.mark.parametrize("order", [0, 1])
def test_products_alone_tell_the_same(monkeypatch, kernel, order):
    Z = np.random.default_rng(2).normal(size=(120, 2))
    expected = definiteness(kernel(Z), order)
    monkeypatch.setattr(module, "_DENSE", 10)
    for K in (Tiles().build(kernel, Vectors.pack(Z)), kernel(Z)):
        found = definiteness(K, order)
        assert found.positive == expected.positive and not found.complete
        c = found.vector
        assert c @ kernel(Z) @ c == pytest.approx(found.smallest, rel=1e-8, abs=1e-10) and c @ c == pytest.approx(1.0)
        assert found.smallest >= expected.smallest - 1e-9 and found.n_negative <= expected.n_negative
        assert order == 0 or abs(c.sum()) < 1e-9
        again = definiteness(K, order)
        np.testing.assert_array_equal(c, again.vector)


def test_lanczos_converges_to_the_ends(monkeypatch):
    K, _ = with_spectrum(np.linspace(0.5, 9.0, 150))
    monkeypatch.setattr(module, "_DENSE", 10)
    found = definiteness(K)
    assert found.smallest == pytest.approx(0.5, abs=1e-6) and found.largest == pytest.approx(9.0, abs=1e-6)
    assert found.residual < 1e-3 and "no violation found" in str(found)


def test_other_domains_and_small_matrices():
    gram = Dense().build(Spectrum(2), Strings.pack(["abab", "ab", "ba", ""]))
    assert definiteness(gram) and definiteness(gram, 1)
    assert definiteness(np.zeros((0, 0))) and definiteness([[0.0]]) and not definiteness([[-1.0]])
    assert definiteness([[-1.0]], order=1)  # there is no vector of sum zero
    assert not definiteness([[1, 2], [2, 1]])
    np.testing.assert_array_equal(polynomials(Strings.pack(["a", "b"]), 3), np.ones((2, 1)))
    assert polynomials(Vectors.pack(X), 3).shape == (40, 6)


def test_text():
    assert "2 negative eigenvalues" in str(definiteness(np.diag([-1.0, -2.0, 3.0])))
    assert str(definiteness(np.eye(2))).startswith("positive definite on 2 samples")
    assert "order 1" in str(definiteness(np.eye(3), 1))


@pytest.mark.parametrize(
    "K", [np.ones((2, 3)), np.array([[np.nan]]), np.array([[1j]]), np.array([[0.0, 1.0], [0.5, 0.0]])]
)
def test_bad_matrices(K):
    with pytest.raises(DomainError, match=r"Give|Convert"):
        definiteness(K)


@pytest.mark.parametrize(
    "options", [{"order": -1}, {"order": 0.5}, {"order": True}, {"order": 2}, {"basis": np.ones(2)}]
)
def test_bad_parameters(options):
    with pytest.raises(ParameterError, match=r"Use|Give|Try|write"):
        definiteness(np.eye(2), **options)
