"""Raw or packed data, everywhere a user can hand data in: both give the same numbers, and junk is refused."""

import numpy as np
import pytest

from mercer.domains import Samples, Vectors
from mercer.errors import DomainError
from mercer.gram import Auto, Dense, Features, IncompleteCholesky, Nystrom, RandomFeatures, Tiles
from mercer.kernels import Constant, Fisher, Gaussian, Linear, Spectrum
from mercer.models import MarkovChain, Normal
from tests.laws.test_kernels import ENTRIES

X = np.random.default_rng(0).normal(size=(12, 2))
JUNK = [["junk"], "junk", 3.5, None, [[1.0, 2.0], [3.0]]]


def equal(a, b):
    return np.array_equal(a, b, equal_nan=True)


@pytest.mark.filterwarnings("ignore::mercer.errors.DegenerateWarning")
@pytest.mark.parametrize("name", ENTRIES)
def test_methods_of_kernels_take_raw_data(name):
    for kernel in ENTRIES[name].kernels:
        raw = ENTRIES[name].data.sample
        kernel = kernel.learn(raw)
        S = kernel.prepare(raw)
        assert isinstance(S, Samples)
        np.testing.assert_allclose(kernel.diag(raw), kernel.diag(S), rtol=1e-12, atol=1e-300)
        np.testing.assert_allclose(kernel.block(raw, raw), kernel.block(S, S), rtol=1e-12, atol=1e-300)
        if "features" in kernel.capabilities:
            assert kernel.features(raw)[0].shape == kernel.features(S)[0].shape
            assert kernel.feature_count(raw) == kernel.feature_count(S)
        if "pullback" in kernel.capabilities:
            W = np.ones((len(S), len(S)))
            np.testing.assert_allclose(kernel.pullback(raw, raw, W), kernel.pullback(S, S, W), rtol=1e-9, atol=1e-12)


def test_learning_takes_raw_data():
    assert Gaussian("median").learn(X) == Gaussian("median").learn(Vectors.pack(X))
    assert Fisher(Normal()).learn(X) == Fisher(Normal()).learn(Vectors.pack(X))


@pytest.mark.parametrize("junk", JUNK, ids=str)
@pytest.mark.parametrize("kernel", [Gaussian(), Linear(), Gaussian() + Constant(1.0), 2.0 * Gaussian()], ids=str)
def test_junk_is_refused(kernel, junk):
    for call in (kernel.diag, kernel.prepare, kernel.learn, lambda A: kernel.block(A, A), lambda A: kernel.block(X, A)):
        with pytest.raises(DomainError):
            call(junk)
    for spec in (Dense(), Tiles(), Nystrom(2), Auto()):
        with pytest.raises(DomainError):
            spec.build(kernel, junk)


@pytest.mark.filterwarnings("ignore:IncompleteCholesky")  # of low rank
@pytest.mark.parametrize(
    "spec",
    [Dense(), Tiles(), Nystrom(5, random_state=0), IncompleteCholesky(5), RandomFeatures(8, random_state=0), Auto()],
    ids=str,
)
def test_grams_take_raw_data(spec):
    S, v = Vectors.pack(X), np.arange(12.0)
    raw, packed = spec.build(Gaussian(1.0), X), spec.build(Gaussian(1.0), S)
    assert equal(raw @ v, packed @ v)
    assert equal(raw.cross(X[:3]) @ v, packed.cross(S[:3]) @ v)
    words = ["ab", "abc", "b"]
    assert (Features().build(Spectrum(1), words) @ np.ones(3)).shape == (3,)


def test_models_take_raw_data():
    chain, words = MarkovChain(1), ["abab", "aab"]
    learned = chain.learn(words)
    assert equal(learned.transitions, chain.learn(chain.pack(words)).transitions)
    assert equal(learned.log_likelihood(words), learned.log_likelihood(learned.pack(words)))
    assert equal(learned.scores(words), learned.scores(learned.pack(words)))
