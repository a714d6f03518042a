"""scikit-learn's words for kernels."""

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge as ReferenceRidge
from sklearn.metrics.pairwise import KERNEL_PARAMS, pairwise_kernels
from sklearn.svm import SVC as ReferenceSVC

from mercer import SVC, KernelRidge
from mercer.errors import ParameterError
from mercer.kernels import Precomputed
from mercer.kernels.kernel_names import WORDS, kernel_from_word

X = np.random.default_rng(0).normal(size=(10, 4))
COUNTS = np.abs(X)  # for kernels on histograms


@pytest.mark.parametrize("word", sorted(set(WORDS) - {"precomputed"}))
@pytest.mark.parametrize("params", [{}, {"gamma": 0.3, "degree": 2, "coef0": 0.5}], ids=["defaults", "given"])
def test_the_matrices_are_those_of_scikit_learn(word, params):
    data = COUNTS if "chi2" in word else X
    ours = kernel_from_word(word, 4, **params)(data)
    assert np.allclose(ours, pairwise_kernels(data, metric=word, filter_params=True, **params))


def test_every_word_of_scikit_learn_is_understood():
    assert set(WORDS) == {*KERNEL_PARAMS, "precomputed"}


@pytest.mark.parametrize("word", ["cosine", "chi2", "additive_chi2"])
def test_a_machine_takes_the_word(word):
    y = np.where(COUNTS[:, 0] > np.median(COUNTS[:, 0]), 1, -1)
    ours = SVC(word, C=10.0).fit(COUNTS, y)
    matrix = pairwise_kernels(COUNTS, metric=word)
    theirs = ReferenceSVC(kernel="precomputed", C=10.0, tol=1e-8).fit(matrix, y)
    assert np.allclose(ours.decision_function(COUNTS), theirs.decision_function(matrix), atol=1e-5)


def test_gamma_of_chi2_in_a_ridge():
    ours = KernelRidge("chi2", gamma=0.3).fit(COUNTS, X[:, 0])
    theirs = ReferenceRidge(kernel="chi2", gamma=0.3).fit(COUNTS, X[:, 0])
    assert np.allclose(ours.predict(COUNTS), theirs.predict(COUNTS))


def test_precomputed():
    assert kernel_from_word("precomputed", 4) == Precomputed()


def test_an_unknown_word_lists_the_known_ones():
    with pytest.raises(ParameterError, match=r"'rfb'.*rbf.*Gaussian\(1\.0\)"):
        kernel_from_word("rfb", 4)
