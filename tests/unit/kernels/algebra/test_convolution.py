"""R-convolution: against double sums over tuples, and kernels that are instances."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer import KernelRidge
from mercer.errors import ParameterError
from mercer.gram import Features
from mercer.kernels import Anova, Constant, Gaussian, Linear, Match, Spectrum
from mercer.kernels.algebra import convolution as module
from mercer.kernels.algebra.convolution import Convolution
from mercer.testing import check_kernel
from tests.naive.strings import match, spectrum

WORDS = ["ATGA", "AT", "", "TTGA", "ATG", "A"]


def halves(word):
    return [(word[:i], word[i:]) for i in range(1, len(word))]


def kmers(p):
    return lambda word: [(word[i : i + p],) for i in range(len(word) - p + 1)]


def brute(x, z, decompose, functions):
    return sum(
        np.prod([f(a, b) for f, a, b in zip(functions, left, right, strict=True)])
        for left in decompose(x)
        for right in decompose(z)
    )


STRINGS = st.lists(st.text("ab", max_size=6), min_size=1, max_size=5)


@given(X=STRINGS, Z=STRINGS)
def test_the_double_sum(X, Z):
    kernel = Convolution(halves, (Spectrum(1), Match()))
    functions = (lambda s, t: spectrum(s, t, 1), match)
    np.testing.assert_array_equal(kernel(X, Z), [[brute(x, z, halves, functions) for z in Z] for x in X])
    K = np.array([[brute(x, z, halves, functions) for z in X] for x in X])
    np.testing.assert_array_equal(kernel(X), K)
    np.testing.assert_array_equal(kernel.diag(kernel.pack(X)), np.diag(K))


@given(X=STRINGS, p=st.integers(1, 3))
def test_spectrum_is_an_instance(X, p):
    np.testing.assert_array_equal(Convolution(kmers(p), (Match(),))(X), Spectrum(p)(X))


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_anova_is_an_instance(degree):
    """[HSS] Eq. (38): the parts are coordinates with their places."""
    X = np.random.default_rng(0).normal(size=(6, 4))

    def subsets(row):
        chosen = itertools.combinations(range(4), degree)
        return [(places, *(row[[j]] for j in places)) for places in chosen]

    kernel = Convolution(subsets, (Match(), *(Gaussian(0.8),) * degree))
    np.testing.assert_allclose(kernel(X), Anova(degree, Gaussian(0.8))(X), rtol=1e-12)


def test_tiles_without_kept_matrices(monkeypatch):
    kernel = Convolution(halves, (Spectrum(1), Spectrum(2)))
    K = kernel(WORDS, WORDS[::-1])
    monkeypatch.setattr(module, "_KEPT", 0)
    monkeypatch.setattr(module, "_CHUNK", 4)
    np.testing.assert_array_equal(kernel(WORDS, WORDS[::-1]), K)
    np.testing.assert_array_equal(kernel.diag(kernel.pack(WORDS)), np.diag(kernel(WORDS)))


@pytest.mark.parametrize(
    "kernel",
    [
        Convolution(halves, (Spectrum(1), Match())),
        Convolution(kmers(2), (Match(),)) + Spectrum(1),
        Convolution(lambda word: [([float(len(word))], word)], (Gaussian(1.5), Spectrum(1))),
        Convolution(lambda word: [([float(len(word)), 1.0],)], (0.5 * Gaussian("median") + Linear(),)),
    ],
)
def test_laws(kernel):
    check_kernel(kernel, WORDS)


def test_objects_of_any_kind():
    """Bags of points: with all pairs of points, the sum of their kernels."""
    bags = [np.random.default_rng(i).normal(size=(i + 1, 2)) for i in range(4)]
    kernel = Convolution(lambda bag: [(point,) for point in bag], (Gaussian(1.0),))
    expected = [[Gaussian(1.0)(a, b).sum() for b in bags] for a in bags]
    np.testing.assert_allclose(kernel(bags), expected, rtol=1e-12)


def test_nothing_to_take_apart():
    kernel = Convolution(halves, (Spectrum(1), Match()))
    np.testing.assert_array_equal(kernel(["", "A"]), np.zeros((2, 2)))
    np.testing.assert_array_equal(kernel(["", "A"], WORDS), np.zeros((2, 6)))
    np.testing.assert_array_equal(kernel.diag(kernel.pack(["", "A"])), np.zeros(2))
    F, keys = kernel.features(kernel.pack(WORDS))
    assert kernel.features(kernel.pack(["A"]), keys)[0].shape == (1, F.shape[1])


def test_linear_time_learning_agrees():
    kernel, y = Convolution(halves, (Spectrum(1), Match())), np.arange(6.0)
    model = KernelRidge(kernel, alpha=0.1).fit(WORDS, y)
    linear = KernelRidge(kernel, alpha=0.1, gram=Features()).fit(WORDS, y)
    np.testing.assert_allclose(
        linear.predict(["GAT", "TG", ""]), model.predict(["GAT", "TG", ""]), rtol=1e-8, atol=1e-9
    )


def test_parts_of_weighted_samples():
    kernel = Convolution(lambda word: [([float(len(word))],)], (Gaussian("median"),))
    copies = kernel.learn(kernel.pack(["A", "A", "ATG", "ATGATG"]))
    weighted = kernel.learn(kernel.pack(["A", "ATG", "ATGATG", "TTTTTTTTT"]), None, np.array([2.0, 1.0, 1.0, 0.0]))
    assert weighted == copies


def test_definiteness_is_that_of_the_kernels():
    assert Convolution(halves, (Match(), Match())).order == 0
    assert Convolution(halves, (Match(), Constant(1.0))).order == 0


@pytest.mark.parametrize(
    ("decompose", "kernels", "part"),
    [("halves", (Match(),), "a function of one object"), (halves, (), "a tuple of kernels"),
     (halves, Match(), "a tuple of kernels"), (halves, (3,), "a tuple of kernels")],
)  # fmt: skip
def test_refusals(decompose, kernels, part):
    with pytest.raises(ParameterError, match=part):
        Convolution(decompose, kernels).check()
