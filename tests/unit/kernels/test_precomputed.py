"""A given Gram matrix as a kernel."""

import numpy as np
import pytest

from mercer.domains import Similarities
from mercer.errors import CapabilityError, DomainError
from mercer.kernels.precomputed import Precomputed
from mercer.language import parse

X = np.random.default_rng(0).normal(size=(9, 4))
K = X @ X.T


def test_it_returns_the_matrix():
    kernel = Precomputed()
    np.testing.assert_array_equal(kernel(K), K)
    np.testing.assert_array_equal(kernel(K[:3], K), K[:3])
    np.testing.assert_array_equal(kernel.diag(Similarities.pack(K)), np.diag(K))


def test_folds():
    kernel = Precomputed()
    S = kernel.pack(K)
    train, test = np.array([0, 2, 5, 7]), np.array([1, 3])
    np.testing.assert_array_equal(kernel(S[train]), K[np.ix_(train, train)])
    np.testing.assert_array_equal(kernel(S[test], S[train]), K[np.ix_(test, train)])
    np.testing.assert_array_equal(kernel(S[test], S[train].landmarks()), K[np.ix_(test, train)])
    np.testing.assert_array_equal(kernel.diag(S[train].landmarks()), np.diag(K)[train])


def test_what_is_returned_may_be_overwritten():
    given = K.copy()
    S = Similarities.pack(given)
    Precomputed().block(S, S)[:] = 0.0
    Precomputed()(S)[:] = 0.0
    np.testing.assert_array_equal(given, K)


def test_many_tiles():
    large = np.random.default_rng(1).normal(size=(900, 3))
    large = large @ large.T
    np.testing.assert_allclose(Precomputed()(large), large, rtol=1e-12)


def test_in_the_algebra():
    kernel = 0.5 * Precomputed() + Precomputed() ** 2
    np.testing.assert_allclose(kernel(K), 0.5 * K + K**2)
    np.testing.assert_allclose(np.diag(Precomputed().normalized()(K)), 1.0)


def test_training_needs_symmetry():
    skew = K.copy()
    skew[1, 2] += 1.0
    S = Precomputed().pack(skew)
    with pytest.raises(DomainError, match="not symmetric"):
        Precomputed().learn(S)
    with pytest.raises(DomainError, match="not symmetric"):
        Precomputed()(skew)
    assert Precomputed().learn(Similarities.pack(K)) == Precomputed()


def test_as_many_new_samples_as_training_samples():
    """A square matrix of new samples need not be symmetric."""
    new = np.random.default_rng(2).normal(size=K.shape)
    np.testing.assert_array_equal(Precomputed()(new, K), new)


def test_new_samples_know_nothing_of_themselves():
    with pytest.raises(DomainError, match="themselves"):
        Precomputed().diag(Similarities.pack(K[:2]))
    given = Similarities.pack(K[:2], diagonal=[1.0, 2.0])
    np.testing.assert_array_equal(Precomputed().diag(given), [1.0, 2.0])
    with pytest.raises(DomainError):
        Precomputed()(K[:2])


def test_wrong_columns():
    with pytest.raises(DomainError, match="columns"):
        Precomputed()(K[:2, :4], K)


def test_declared_properties():
    kernel = Precomputed()
    assert kernel.order == 0 and kernel.domain is Similarities
    flags = (kernel.strict, kernel.universal, kernel.stationary, kernel.normalised, kernel.bounded)
    assert not any(flags) and not kernel.capabilities
    with pytest.raises(CapabilityError):
        kernel.features(Similarities.pack(K))
    assert parse(repr(kernel), names={"Precomputed": Precomputed}) == kernel
