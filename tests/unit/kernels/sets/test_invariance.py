"""Kernels averaged over transformations."""

import numpy as np
import pytest

from mercer import SVC, KernelRidge
from mercer.errors import DomainError, ParameterError
from mercer.kernels import Gaussian, Invariant, Linear, NegativeDistance, Spectrum
from mercer.testing import check_kernel

rng = np.random.default_rng(0)
X = rng.normal(size=(9, 4))


def turned(steps):
    """Columns moved around a circle."""
    return lambda X: np.roll(np.asarray(X), steps, axis=1)


GROUP = tuple(turned(steps) for steps in (1, 2, 3))


def test_is_the_average_over_both_orbits():
    k = Gaussian(1.2)
    versions = [X, *(g(X) for g in GROUP)]
    expected = np.mean([k(a, b) for a in versions for b in versions], axis=0)
    np.testing.assert_allclose(Invariant(k, GROUP)(X), expected, rtol=1e-12)
    np.testing.assert_allclose(Invariant(k, GROUP).diag(X), np.diag(expected), rtol=1e-12)
    np.testing.assert_allclose(Invariant(k, GROUP)(X[:3], X[3:]), expected[:3, 3:], rtol=1e-12)


def test_is_invariant_under_a_group():
    k = Invariant(Gaussian("median"), GROUP).learn(X)
    np.testing.assert_allclose(k(turned(2)(X), X), k(X), rtol=1e-12)
    np.testing.assert_allclose(k(turned(1)(X), turned(3)(X)), k(X), rtol=1e-12)


@pytest.mark.parametrize("k", [Invariant(Gaussian(0.9), (np.negative,)), Invariant(Linear(), GROUP[:1])], ids=str)
def test_obeys_the_laws(k):
    check_kernel(k, X)
    assert k.order == 0 and Invariant(NegativeDistance(), GROUP).order == 1


def test_of_strings_in_a_sum():
    k = Invariant(Spectrum(2), (lambda words: [word[::-1] for word in words],))
    words = ["abc", "cba", "bac"]
    K = k(words)
    np.testing.assert_allclose(K[0], K[1])
    np.testing.assert_allclose((k + Spectrum(1))(words), K + Spectrum(1)(words))


def test_learns_what_does_not_depend_on_the_transformations():
    y = np.sign(X).prod(axis=1)
    model = KernelRidge(Invariant(Gaussian(1.0), GROUP), alpha=1e-6).fit(X, y)
    np.testing.assert_allclose(model.predict(turned(1)(X)), model.predict(X), rtol=1e-8)
    assert SVC(Invariant(Gaussian(1.0), (np.negative,))).fit([[1.0], [3.0]], [0, 1]).predict([[-1.0]])[0] == 0


def test_what_is_no_transformation_is_refused():
    for wrong in (np.negative, (2.0,), "abc"):
        with pytest.raises(ParameterError, match="transformations"):
            Invariant(Linear(), wrong).check()
    with pytest.raises(DomainError, match="keep their number"):
        Invariant(Linear(), (lambda X: X[:2],))(X)
