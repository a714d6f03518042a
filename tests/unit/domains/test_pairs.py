import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given

from mercer.domains import Pairs, Similarities, Strings, Vectors
from mercer.errors import DomainError
from tests.strategies import pairs

X = [("ab", "x"), ("ab", "y"), ("c", "x")]


def texts(S):
    left, right = S.unzip()
    return [("".join(left.symbols(i)), "".join(right.symbols(i))) for i in range(len(S))]


@given(X=pairs())
def test_each_object_is_packed_once(X):
    S = Pairs.pack(X, Strings.pack)
    assert texts(S) == X
    assert len(S.left) == len({left for left, _ in X}) and len(S.right) == len({right for _, right in X})
    assert S.index.shape == (len(X), 2) and S.index.dtype == np.intp and S.index.flags.c_contiguous
    assert texts(S.landmarks()) == X


@pytest.mark.parametrize(
    "given",
    [
        X,
        tuple(map(list, X)),
        np.array(X),
        np.array(X, dtype=object),
        pd.DataFrame(X),
        pl.DataFrame(X, orient="row"),
    ],
)
def test_every_container_gives_the_same(given):
    S = Pairs.pack(given, Strings.pack)
    assert texts(S) == X and (len(S.left), len(S.right)) == (2, 2)


def test_two_domains():
    S = Pairs.pack([("a", (1.0, 2.0)), ("b", (1.0, 2.0))], Strings.pack, Vectors.pack)
    assert S.left.vocabulary == ("a", "b") and S.right.X.tolist() == [[1.0, 2.0]]
    assert S.index.tolist() == [[0, 0], [1, 0]]


def test_objects_that_cannot_be_hashed():
    row = [1.0, 2.0]
    S = Pairs.pack([(row, "a"), (row, "b"), ([1.0, 2.0], "c"), (([3],), "d")][:3], Vectors.pack, Strings.pack)
    assert S.index[:, 0].tolist() == [0, 0, 1] and S.left.X.shape == (2, 2)
    assert len(Pairs.pack([(([3],), "d")], lambda x: Strings.pack(["a"] * len(x)), Strings.pack)) == 1
    cube = np.arange(12.0).reshape(3, 2, 2)
    T = Pairs.pack(cube, Vectors.pack)
    assert T.left.X.tolist() == cube[:, 0].tolist() and T.right.X.tolist() == cube[:, 1].tolist()


def test_zip_pairs_first_with_first():
    left, right = Strings.pack(["a", "b"]), Vectors.pack([[1.0], [2.0]])
    S = Pairs.zip(left, right)
    assert S.left is left and S.right is right and S.index.tolist() == [[0, 0], [1, 1]]
    assert Pairs.pack(S) is Pairs.pack(S, Strings.pack, Vectors.pack) is S
    for wrong in (right[:1], [[1.0], [2.0]], None):
        with pytest.raises(DomainError, match=r"were given; two packed collections of one length"):
            Pairs.zip(left, wrong)


def test_take_slices_the_index_only():
    S = Pairs.pack(X, Strings.pack)
    part = S[[2, 0]]
    assert part.left is S.left and part.right is S.right and texts(part) == [X[2], X[0]]
    assert np.shares_memory(S[1:].index, S.index)


def test_members_are_exchanged():
    S = Pairs.pack(X, Strings.pack).with_derived("row", np.arange(3))
    left = S.left.with_derived("length", S.left.lengths)
    T = S.with_members(left, S.right)
    assert T.left is left and T.derived["row"].tolist() == [0, 1, 2] and texts(T) == X
    assert T.with_members(left, S.right) is T


def test_landmarks_keep_the_objects_that_occur():
    S = Pairs.pack(X, Strings.pack)[[1]].with_derived("row", np.array([7]))
    kept = S.landmarks()
    assert (len(kept.left), len(kept.right)) == (1, 1) and texts(kept) == [("ab", "y")]
    assert kept.derived["row"].tolist() == [7]
    similar = Similarities.pack(np.eye(3))
    assert Pairs.zip(similar, similar).landmarks().left.matrix is None


def test_joining_shares_what_is_shared():
    S = Pairs.pack(X, Strings.pack)
    assert S[:1].concat(S[2:]).left is S.left and texts(S[:1].concat(S[2:])) == [X[0], X[2]]
    other = Pairs.pack([("d", "ab")], Strings.pack)
    joined = S.concat(other)
    assert texts(joined) == [*X, ("d", "ab")] and joined.index[-1].tolist() == [2, 2]


def test_bytes():
    S = Pairs.pack(X, Strings.pack)
    assert S.nbytes == S.index.nbytes + S.left.nbytes + S.right.nbytes
    twice = Pairs(S.left, S.left, S.index)
    assert twice.nbytes == S.index.nbytes + S.left.nbytes


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([("a", "b"), ("a",)], "Sample 1 is of type tuple.*not a pair"),
        ([("a", "b", "c")], "Sample 0 is of type tuple"),
        (["ab"], "Sample 0 is of type str"),
        ([1], "Sample 0 is of type int"),
        ([], r"0 sample\(s\)"),
        (np.empty((0, 2)), r"0 sample\(s\)"),
        (np.ones((3, 3)), r"shape \(3, 3\)"),
        (np.ones(3), r"shape \(3,\)"),
        (pd.DataFrame({"a": ["x"]}), "table of 1 columns"),
        (pd.DataFrame({"a": [], "b": []}), r"0 sample\(s\)"),
        ("ab", "str was given"),
        ({"a": "b"}, "dict was given"),
        (zip("ab", "cd", strict=True), "zip was given"),
        ([("a", None)], r"The right objects of the pairs: Sample 0 is a missing value"),
        ([(1.5, "a")], r"The left objects of the pairs: Sample 0 is of type float"),
    ],
)
def test_what_is_refused_and_why(given, message):
    with pytest.raises(DomainError, match=message):
        Pairs.pack(given, Strings.pack)


def test_domains_of_the_sides_are_needed():
    with pytest.raises(DomainError, match="without the domains of their sides"):
        Pairs.pack(X)


def test_repr():
    assert repr(Pairs.pack(X, Strings.pack)) == "<Pairs: 3 samples, 2 Strings with 2 Strings>"


def test_pairs_of_one_collection_share_it():
    S = Pairs.among([("a", "b"), ("b", "a"), ("b", "c")], Strings.pack)
    assert S.left is S.right and S.index.tolist() == [[0, 1], [1, 0], [1, 2]] and S.index.flags.c_contiguous
    assert Pairs.among(S, Strings.pack) is S
    kept = S[:2].landmarks()
    assert kept.left is kept.right and len(kept.left) == 2 and texts(kept) == [("a", "b"), ("b", "a")]
    other = Pairs.among([("d", "a")], Strings.pack)
    joined = S.concat(other)
    assert joined.left is joined.right and texts(joined) == [*texts(S), ("d", "a")]
    mixed = S.concat(Pairs.pack([("d", "a")], Strings.pack))
    assert texts(mixed) == [*texts(S), ("d", "a")]
    with pytest.raises(DomainError, match="The objects of the pairs: Sample 1 is"):
        Pairs.among([("a", "b"), (None, "a")], Strings.pack)


def test_all_pairs():
    left, right = Strings.pack(["a", "b"]), Strings.pack(["x", "y", "z"])
    S = Pairs.grid(left, right)
    assert texts(S) == [(a, b) for a in "ab" for b in "xyz"]
    assert Pairs.grid(left).right is left and len(Pairs.grid(left)) == 4
    with pytest.raises(DomainError, match="two packed collections"):
        Pairs.grid(["a"], right)


def test_equal_arrays_are_one_object():
    X = np.repeat(np.arange(6.0).reshape(1, 2, 3), 4, axis=0)
    S = Pairs.pack(X, Vectors.pack)
    assert (len(S.left), len(S.right)) == (1, 1) and S.index.tolist() == [[0, 0]] * 4
