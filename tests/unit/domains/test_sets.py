"""Sets: packing, slices, joining, weights, and what is refused."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from mercer.domains import Strings, Vectors
from mercer.domains.sets import Sets
from mercer.errors import DomainError, ModelError
from mercer.testing.domains import check_domain


def random_sets(seed, count=6, width=2):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(m, width)) for m in [2, *rng.integers(0, 4, count - 1)]]


def members(S, i) -> Any:
    return S.set(i)


def read_back(S):
    return [members(S, i).X for i in range(len(S))]


@given(seed=st.integers(0, 10**6))
def test_what_was_packed_can_be_read_back_taken_and_joined(seed):
    X, Y = random_sets(seed), random_sets(seed + 1)
    S, T = Sets.pack(X), Sets.pack(Y)
    S.check()
    index = np.random.default_rng(seed).integers(0, len(X), 9)
    for got, expected in (
        (S, X),
        (S[index], [X[i] for i in index]),
        (S[1:4], X[1:4]),
        (S.concat(T), X + Y),
        (S[::-1].concat(T[2:2]), X[::-1]),
    ):
        got.check()
        assert len(got) == len(expected)
        assert all(map(np.array_equal, read_back(got), expected))


def test_the_laws_of_domains_hold():
    check_domain(Sets, random_sets(3))


def test_members_of_other_domains_and_weights():
    S = Sets.pack([["to", "be"], {"members": ["or"], "weights": [2.0]}, []], Strings.pack)
    assert members(S, 0).symbols(1) == ("b", "e")
    assert S.weights.tolist() == [1.0, 1.0, 2.0] and S.sizes.tolist() == [2, 1, 0]
    assert S.owners.tolist() == [0, 0, 1]
    assert S.totals().toarray().tolist() == [[1.0, 1.0, 0.0], [0.0, 0.0, 2.0], [0.0, 0.0, 0.0]]
    assert S.spread(np.array([5, 6, 7])).tolist() == [5, 5, 6]
    assert members(Sets.pack([{"b", "a"}], Strings.pack), 0).symbols(0) == ("a",)


def test_forms_of_sets_of_vectors():
    X = np.arange(12.0).reshape(2, 3, 2)
    expected = [X[0], X[1]]
    frames = [pd.DataFrame(x, columns=["a", "b"]) for x in X]
    for form in (X, list(X), X.tolist(), [x.astype(np.float32) for x in X], frames, pd.Series(list(X))):
        assert all(map(np.array_equal, read_back(Sets.pack(form)), expected))
    S = Sets.pack([sp.csr_array(x) for x in X])
    assert members(S, 1).is_sparse and np.array_equal(members(S, 1).X.toarray(), X[1])
    packed = Sets.pack(X)
    assert Sets.pack(packed) is packed


def test_slices_share_members_and_landmarks_keep_them():
    S = Sets.pack(random_sets(0))
    assert np.shares_memory(members(S[1:3], 0).X, members(S, 1).X)
    assert S.landmarks() is S and S.with_members(S.members) is S
    assert S.nbytes == sum(a.nbytes for a in S.arrays)


def test_groups_become_sets():
    S = Sets.grouped(np.arange(4.0)[:, None], [7, 3, 7, 5])
    assert [x.ravel().tolist() for x in read_back(S)] == [[1.0], [3.0], [0.0, 2.0]]
    with pytest.raises(DomainError, match=r"Groups of shape \(2,\) were given for 4 members.*Give a list as long"):
        Sets.grouped(np.zeros((4, 1)), [0, 1])


def test_what_is_told_of_a_collection():
    S = Sets.pack([[[0.0]], []])
    assert repr(S) == "<Sets: 2 samples, 1 Vectors, sizes 0 to 1>" and repr(S[:0]) == "<Sets: 0 samples, 0 Vectors>"


@pytest.mark.parametrize(
    ("X", "told"),
    [
        ("abc", "str was given.*Make a list of sets"),
        ({"a": [[1.0]]}, "dict was given"),
        ([], "0 sample.*Give at least one"),
        ([[], []], "All 2 sets are empty.*Give at least one set with a member"),
        (np.zeros((3, 2)), r"An array of shape \(3, 2\) was given.*Wrap a single set in a list"),
        ([[[1.0]], None], "Set 1 is of type None.*for an empty set give"),
        ([[[1.0]], "ab"], r"Set 1 is of type str \(ab\)"),
        ([[[1.0]], np.array(3.0)], "Set 1 is a single object"),
        ([[[1.0]], {"weights": [1.0]}], "Set 1 is a dict with.*Name its members"),
        ([np.zeros((2, 2)), np.zeros((1, 3))], "Set 1 has members with 3 columns, set 0 with 2.*same columns"),
        ([[[1.0]], [[np.nan]]], "Set 1: Input X contains NaN"),
        ([[[1.0]], [1.0, 2.0]], "Set 1: "),
        ([{"members": [[1.0]], "weights": [1.0, 2.0]}], "Set 0 has 1 members and the weights.*Leave out"),
        ([{"members": [[1.0]], "weights": [0.0]}], "a positive finite number for each member"),
        ([{"members": [[1.0]], "weights": "a"}], "a positive finite number for each member"),
    ],
)
def test_refused(X, told):
    with pytest.raises(DomainError, match=f"(?s){told}"):
        Sets.pack(X)


def test_members_that_do_not_go_together():
    def pack(rows):
        if len(rows) > 1:
            raise ValueError("too many")
        return Vectors.pack(rows)

    with pytest.raises(DomainError, match=r"do not go together: too many.*in one form"):
        Sets.pack([[[1.0]], [[2.0]]], pack)


def test_a_damaged_file_is_found_out():
    S = Sets.pack([[[0.0], [1.0]], []])
    wrong = np.array([0, 3, 2])
    for bad in (
        Sets(S.members, wrong, S.weights),
        Sets(S.members, S.offsets, S.weights[:1]),
        Sets(S.members, S.offsets, -S.weights),
        Sets(S.members, S.offsets.astype(float), S.weights),
        Sets(None, S.offsets, S.weights),  # pyright: ignore[reportArgumentType]
    ):
        with pytest.raises(ModelError, match="sets whose parts do not fit"):
            bad.check()
