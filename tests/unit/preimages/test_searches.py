"""Pre-images that are tried: against all strings, and all sets of labels."""

from itertools import product

import numpy as np
import pytest

from mercer.domains import Strings, Vectors
from mercer.errors import ParameterError
from mercer.kernels import Gaussian, Linear, Spectrum
from mercer.preimages import BeamSearch, LabelFlips
from mercer.preimages.methods import Images

RNG = np.random.default_rng(0)


def images_of(kernel, samples, count):
    return Images(kernel, kernel.prepare(samples), RNG.normal(size=(len(samples), 2)), RNG.normal(size=(count, 2)))


def distances(images, outputs):
    """|Phi(z) - P|^2 without |P|^2, (m, t)."""
    kernel = images.kernel
    return np.diag(kernel(outputs, outputs)) - 2.0 * images.weights @ images.coef.T @ kernel(images.samples, outputs)


@pytest.mark.parametrize("length", [1, 2])
def test_a_wide_beam_finds_the_nearest_of_all_strings(length):
    images = images_of(Spectrum(length), Strings.pack(["abca", "bb", "cab", "acc"]), 6)
    every = ["".join(s) for t in range(5) for s in product("abc", repeat=t)]
    best = distances(images, every).min(axis=1)
    found = BeamSearch(3**4).solve(images)
    np.testing.assert_allclose(np.diag(distances(images, found)), best, atol=1e-12)


def test_a_narrow_beam_is_never_further_than_the_training_strings():
    images = images_of(Spectrum(3), Strings.pack(["abcab", "bbabc", "cab", "accba"]), 8)
    found = BeamSearch(2).solve(images)
    assert np.all(np.diag(distances(images, found)) <= distances(images, images.samples).min(axis=1) + 1e-12)


def test_alphabet_and_length_are_kept_to():
    images = images_of(Spectrum(1), Strings.pack(["ab", "ba"]), 5)
    found = BeamSearch(4, max_length=3, alphabet="xy").solve(images)
    assert found.lengths.max() <= 3
    with pytest.raises(ParameterError, match="alphabet"):
        BeamSearch(alphabet="").check()


def test_sets_of_a_linear_kernel_are_thresholds():
    known = RNG.integers(0, 2, size=(10, 6)).astype(float)
    images = images_of(Linear(), Vectors.pack(known), 20)
    found = LabelFlips().solve(images)
    np.testing.assert_array_equal(found.X, images.weights @ images.coef.T @ known > 0.5)


def test_no_label_that_is_changed_comes_nearer():
    known = RNG.integers(0, 2, size=(10, 5)).astype(float)
    images = images_of(Gaussian(1.5), Vectors.pack(known), 12)
    every = np.array(list(product([0.0, 1.0], repeat=5)))
    table, found = distances(images, every), LabelFlips().solve(images).X
    codes = found @ (2.0 ** np.arange(5)[::-1])
    for p, code in enumerate(codes.astype(int)):
        assert all(table[p, code] <= table[p, code ^ (1 << bit)] + 1e-9 for bit in range(5))
        assert table[p, code] <= distances(images, known)[p].min() + 1e-9
    stopped = LabelFlips(max_flips=0).solve(images).X
    assert all(any(np.array_equal(row, one) for one in known) for row in stopped)
