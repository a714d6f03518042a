"""What structured machines share: sequences of any objects, scores, and what does not fit."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer import GaussianProcessSequenceClassifier, KernelCRF, LabelSequences, StructuredPerceptron, StructuredSVC
from mercer.errors import CapabilityError, DomainError, TargetError
from mercer.estimators.structured.structured_machine import Sites
from mercer.gram import FastGauss
from mercer.kernels import Gaussian, Linear, Spectrum

WORDS = [["the", "cat", "runs"], ["a", "dog"], ["runs"], ["the", "dog", "runs"]]
TAGS = [["D", "N", "V"], ["D", "N"], ["V"], ["D", "N", "V"]]


@pytest.mark.parametrize("machine", [StructuredSVC, KernelCRF])
def test_positions_may_be_anything_that_a_kernel_compares(machine):
    model = machine(Spectrum(1), C=10.0, outputs=LabelSequences()).fit(WORDS, TAGS)
    assert model.score(WORDS, TAGS) == 1.0
    assert [list(y) for y in model.predict([["a", "cat"], [], ["runs"]])] == [["D", "N"], [], ["V"]]
    assert model.predict([[]])[0].size == 0


def test_samples_are_taken_with_their_sites():
    sites = Sites(np.arange(6), np.array([0, 2, 2, 6]))
    part = sites.take(np.array([2, 0]))
    np.testing.assert_array_equal(part.flat, [2, 3, 4, 5, 0, 1])
    np.testing.assert_array_equal(part.offsets, [0, 4, 6])


def test_weights_are_repetitions_of_sequences():
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(t, 2)) for t in (3, 2, 4, 3)]
    y = [(x[:, 0] > 0).astype(int) for x in X]
    w = [2, 0, 1, 3]
    again = np.repeat(np.arange(4), w)
    a = KernelCRF(Gaussian(1.0), outputs=LabelSequences()).fit(X, y, w)
    b = KernelCRF(Gaussian(1.0), outputs=LabelSequences()).fit([X[i] for i in again], [y[i] for i in again])
    np.testing.assert_allclose(np.concatenate(a.marginals(X)), np.concatenate(b.marginals(X)), atol=1e-6)
    a = StructuredSVC(Gaussian(1.0), outputs=LabelSequences(), tol=1e-6).fit(X, y, w)
    b = StructuredSVC(Gaussian(1.0), outputs=LabelSequences(), tol=1e-6).fit(
        [X[i] for i in again], [y[i] for i in again]
    )
    assert a.objective_ == pytest.approx(b.objective_, rel=1e-4)


def test_what_does_not_fit_is_refused():
    model = StructuredSVC(Spectrum(1), outputs=LabelSequences())
    with pytest.raises(TargetError, match="3 positions in X and 2 labels"):
        model.fit(WORDS, [["D", "N"], ["D", "N"], ["V"], ["D", "N", "V"]])
    with pytest.raises(TargetError, match="inconsistent numbers"):
        model.fit(WORDS, TAGS[:2])
    with pytest.raises(DomainError, match="list of sequences"):
        model.fit("the cat", TAGS)
    with pytest.raises(DomainError, match="without a length"):
        model.fit([1, 2, 3, 4], TAGS)
    with pytest.raises(DomainError, match="columns"):
        StructuredSVC(Linear(), outputs=LabelSequences()).fit([np.ones((3, 2)), np.ones((2, 3))], TAGS[:2])
    fitted = model.fit(WORDS, TAGS)
    with pytest.raises(TargetError, match="one output per sample"):
        fitted.score(WORDS, TAGS[:2])
    with pytest.raises(CapabilityError, match="rows"):
        StructuredSVC(Gaussian(1.0), gram=FastGauss()).fit(np.random.default_rng(0).normal(size=(9, 2)), [0, 1, 2] * 3)


def test_sparse_sentences_take_the_memory_of_what_they_store():
    rng = np.random.default_rng(0)
    rows, columns = np.repeat(np.arange(30), 5), rng.integers(0, 10**6, 150)
    whole = sp.csr_array((np.ones(150), (rows, columns)), shape=(30, 10**6))  # 240 MB as a dense array
    X, y = [whole[a : a + 5] for a in range(0, 30, 5)], [np.arange(5) % 2] * 6
    few = [part[:, np.unique(columns)].toarray() for part in X]
    for machine in (KernelCRF, StructuredSVC):
        model = machine(Linear(), outputs=LabelSequences(), memory="20 MB").fit(X, y)
        wanted = machine(Linear(), outputs=LabelSequences()).fit(few, y)
        assert model.objective_ == pytest.approx(wanted.objective_, rel=1e-6)


@pytest.mark.parametrize("machine", [GaussianProcessSequenceClassifier, KernelCRF, StructuredPerceptron, StructuredSVC])
def test_sequences_are_told_from_samples(machine):
    X, y = [[[0.0], [1.0], [0.0]], [[1.0], [1.0]]], [["a", "b", "a"], ["b", "b"]]
    with pytest.raises(TargetError, match=r"y has 3 labels for a sample.*outputs=LabelSequences\(\)"):
        machine().fit(X, y)
    with pytest.raises(TargetError, match=r"y has 4 labels for a sample.*outputs=LabelSequences\(\)"):
        machine().fit(np.zeros((3, 4, 2)), np.zeros((3, 4)))
    for empty in ([], [[], []]):
        with pytest.raises(DomainError, match=f"X has {len(empty)} sequences with 0 positions in all"):
            machine(outputs=LabelSequences()).fit(empty, empty)
    with pytest.raises(DomainError, match="Nothing was given: an empty list"):
        machine().fit([], [])
    with pytest.raises(DomainError, match="Of the positions of all sequences in X"):
        machine(outputs=LabelSequences()).fit([[0.0, 1.0], [1.0]], [["a", "b"], ["b"]])
