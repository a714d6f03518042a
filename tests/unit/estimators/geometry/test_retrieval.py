"""Ranks of partners against a sort."""

import numpy as np
import pytest

from mercer.errors import DomainError
from mercer.estimators.geometry.retrieval import retrieval_ranks

rng = np.random.default_rng(0)
X, Y = rng.normal(size=(12, 3)), rng.normal(size=(12, 2))


def test_retrieval_ranks_are_those_of_a_sort():
    A, B = rng.normal(size=(30, 4)), rng.normal(size=(30, 4))
    cosine = (A / np.linalg.norm(A, axis=1)[:, None]) @ (B / np.linalg.norm(B, axis=1)[:, None]).T
    want = [1 + list(np.argsort(-cosine[i])).index(i) for i in range(30)]
    assert np.array_equal(retrieval_ranks(A, B), want)
    assert np.array_equal(retrieval_ranks(np.zeros((3, 1)), np.ones((3, 1))), [3, 3, 3])


def test_scores_must_be_pairs_of_numbers():
    for A, B in ((X, Y[:, :1]), (X[0], X[0]), (X * np.nan, X)):
        with pytest.raises(DomainError, match=r"scores of shapes|A has shape|A\[0, 0\] = nan"):
            retrieval_ranks(A, B)
