"""scikit-learn's words for kernels."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import pairwise_kernels

from mercer.errors import ParameterError
from mercer.estimators.words import WORDS, kernel_from_word
from mercer.kernels import Precomputed

X = np.random.default_rng(0).normal(size=(10, 4))


@pytest.mark.parametrize("word", sorted(set(WORDS) - {"precomputed"}))
@pytest.mark.parametrize("params", [{}, {"gamma": 0.3, "degree": 2, "coef0": 0.5}], ids=["defaults", "given"])
def test_the_matrices_are_those_of_scikit_learn(word, params):
    ours = kernel_from_word(word, 4, **params)(X)
    assert np.allclose(ours, pairwise_kernels(X, metric=word, filter_params=True, **params))


def test_precomputed():
    assert kernel_from_word("precomputed", 4) == Precomputed()


def test_an_unknown_word_lists_the_known_ones():
    with pytest.raises(ParameterError, match=r"'rfb'.*rbf.*Gaussian\(1\.0\)"):
        kernel_from_word("rfb", 4)
