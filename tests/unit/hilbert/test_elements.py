"""Images of samples and their means."""

import numpy as np
import pytest

from mercer.errors import DomainError, ParameterError
from mercer.gram import Expansion
from mercer.hilbert.elements import mean_element, representer
from mercer.kernels import Gaussian, NegativeDistance, Spectrum
from mercer.targets.target import sample_weights

rng = np.random.default_rng(0)
X, Y = rng.normal(size=(12, 2)), rng.normal(0.7, 1.5, size=(9, 2))


def test_representers_reproduce():
    f = Expansion(Gaussian(0.8), Gaussian(0.8).pack(X), rng.normal(size=12), np.asarray(0.0))
    for x in Y:
        assert f.inner(representer(Gaussian(0.8), [x])) == pytest.approx(f([x])[0], rel=1e-13)
    a, b = representer(Spectrum(1), ["aab"]), representer(Spectrum(1), ["abc"])
    assert a.inner(b) == 3.0
    assert a.distance(b) == pytest.approx(np.sqrt(Spectrum(1)(["aab", "abc"]).trace() - 6.0))


def test_the_distance_of_two_means_is_the_maximum_mean_discrepancy():
    def brute(k, A, B):
        total = np.mean([[k([a], [b])[0, 0] for a in A] for b in A])
        total += np.mean([[k([a], [b])[0, 0] for a in B] for b in B])
        return np.sqrt(total - 2.0 * np.mean([[k([a], [b])[0, 0] for a in A] for b in B]))

    words = ["ab", "abb", "b"], ["ca", "bb"]
    for k, (A, B) in ((Gaussian(1.0), (X, Y)), (Spectrum(1), words), (NegativeDistance(), (X, Y))):
        assert mean_element(k, A).distance(mean_element(k, B)) == pytest.approx(brute(k, A, B), rel=1e-10)


def test_weights_are_copies_and_weight_zero_leaves_out():
    w = np.array([2.0, 0.0, 1.0])
    weighted, repeated = mean_element(Gaussian(1.0), X[:3], w), mean_element(Gaussian(1.0), X[[0, 0, 2]])
    assert len(weighted.samples) == 2
    assert np.allclose(weighted(Y), repeated(Y), rtol=1e-14)
    for bad in ([1.0], [-1.0, 1.0, 1.0], [0.0, 0.0, 0.0], [np.nan, 1.0, 1.0]):
        with pytest.raises(DomainError, match="sample_weight"):
            sample_weights(bad, 3)
    assert np.array_equal(sample_weights(None, 3), np.ones(3))


def test_what_is_refused():
    with pytest.raises(DomainError, match="2 samples"):
        representer(Gaussian(1.0), X[:2])
    with pytest.raises(ParameterError):
        mean_element(Gaussian(-1.0), X)
