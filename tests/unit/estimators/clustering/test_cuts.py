"""Normalised cuts against their definition and their trace form."""

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

from mercer.domains import Similarities, Vectors
from mercer.errors import DegenerateWarning, DomainError
from mercer.estimators.clustering.cuts import checked_weights, first_met, normalized_cut, tied, times
from mercer.gram import Dense, Tiles
from mercer.kernels import Gaussian, Precomputed

rng = np.random.default_rng(0)
X = rng.normal(size=(24, 2))
A = Gaussian(0.7)(X)
LABELS = rng.integers(0, 3, size=24)


def by_definition(A, labels):
    total = 0.0
    for t in np.unique(labels):
        inside = labels == t
        total += A[inside][:, ~inside].sum() / A[inside].sum()
    return total


def test_it_is_the_sum_of_what_is_cut_off_over_what_is_there():
    assert normalized_cut(A, LABELS) == pytest.approx(by_definition(A, LABELS), rel=1e-12)
    names = np.array(["x", "y", "z"])[LABELS]
    assert normalized_cut(A.tolist(), names) == pytest.approx(normalized_cut(A, LABELS), rel=1e-12)
    assert normalized_cut(A, np.zeros(24)) == pytest.approx(0.0, abs=1e-12)


def test_the_trace_form_and_its_relaxation():
    d = A.sum(axis=1)
    H = (LABELS[:, None] == np.arange(3)).astype(float)
    Z = H / np.sqrt(H.T @ d)
    L = np.diag(d) - A
    np.testing.assert_allclose(Z.T @ (d[:, None] * Z), np.eye(3), atol=1e-12)
    assert np.trace(Z.T @ L @ Z) == pytest.approx(normalized_cut(A, LABELS), rel=1e-12)
    least = scipy.linalg.eigh(L, np.diag(d), eigvals_only=True)[:3].sum()
    assert all(normalized_cut(A, rng.permutation(LABELS)) >= least for _ in range(50))


@pytest.mark.parametrize("form", [sp.csr_array, lambda A: Dense().build(Gaussian(0.7), Vectors.pack(X)),
                                  lambda A: Tiles().build(Gaussian(0.7), Vectors.pack(X))])  # fmt: skip
def test_affinities_in_other_forms(form):
    assert normalized_cut(form(A), LABELS) == pytest.approx(by_definition(A, LABELS), rel=1e-10)


def test_weights_are_repetitions():
    w = rng.integers(0, 4, size=24)
    again = np.repeat(np.arange(24), w)
    assert normalized_cut(A, LABELS, w) == pytest.approx(by_definition(A[again][:, again], LABELS[again]), rel=1e-12)


def test_what_is_refused():
    with pytest.raises(DomainError, match="one label per sample"):
        normalized_cut(A, LABELS[:-1])
    with pytest.raises(DomainError, match="sample 2 sum to 0"):
        normalized_cut(np.diag([1.0, 1.0, 0.0]), [0, 0, 1])
    assert normalized_cut(np.diag([1.0, 1.0, 0.0]), [0, 1, 1], [1, 1, 0]) == 0.0
    for directed in (np.triu(A), sp.csr_array(np.triu(A))):
        with pytest.raises(DomainError, match="not symmetric"):
            normalized_cut(directed, LABELS)
    for weights in ([1.0, 1e-200], [1e200, 1.0]):
        with pytest.raises(DomainError, match="Divide them by the largest"):
            checked_weights(np.array(weights))


def test_samples_that_are_tied_to_nothing_are_left_out():
    B = np.zeros((4, 4))
    B[:2, :2] = B[2, 2] = 1.0
    gram, used = Dense().build(Precomputed(), Similarities.pack(B)), np.array([0, 2, 5, 7])
    with pytest.warns(DegenerateWarning, match="1 samples, sample 7"):
        rest, s, degrees, places = tied(gram, np.array([1.0, 2.0, 3.0, 4.0]), used, 2)
    assert rest.shape == (3, 3) and list(s) == [1, 2, 3] and list(degrees) == [3, 3, 3] and list(places) == [0, 2, 5]
    with pytest.raises(DomainError, match="sum to 0"):
        tied(gram, np.ones(4), used, 4)


def test_clusters_are_numbered_by_their_first_member():
    assert np.array_equal(first_met(np.array([2, 0, 2]), np.array([1, 0, 2]), 4), [0, 2, 1, 3])


@pytest.mark.parametrize("threads", [1, 2])
def test_products_by_rows_are_products(threads, monkeypatch):
    monkeypatch.setattr("mercer.estimators.clustering.cuts._ROWS", 7)
    V = rng.normal(size=(24, 3))
    for spec in (Dense(), Tiles()):
        gram = spec.build(Gaussian(0.7), Vectors.pack(X))
        np.testing.assert_allclose(times(gram, V, threads), A @ V, rtol=1e-12, atol=1e-12)
