"""Equal objects are equal in whatever collection they are."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.domains import Frames, Network, Nodes, Pairs, Similarities, Strings, Tensors, Texts, Trees, Vectors
from mercer.domains.identity import distinct, identities, matches
from mercer.errors import DomainError

X = np.array([[0.0, 1.5], [2.0, 0.0], [0.0, 1.5], [0.0, -1.5]])


def same(A, B):
    return (identities(A)[:, None] == identities(B)).all(axis=2)


@pytest.mark.parametrize(
    "other", [X, sp.csr_array(X), X.astype(np.float32), sp.csr_array((X.ravel(), np.tile([0, 1], 4), [0, 2, 4, 6, 8]))]
)
def test_vectors_are_equal_by_value_however_they_are_stored(other):
    expected = (X[:, None] == X).all(axis=2)
    assert np.array_equal(same(Vectors.pack(X), Vectors.pack(other)), expected)


def test_width_and_sign_of_zero():
    assert not same(Vectors.pack([[1.0]]), Vectors.pack([[1.0, 0.0]])).any()
    assert same(Vectors.pack([[0.0, 1.0]]), Vectors.pack([[-0.0, 1.0]])).all()


def test_strings_with_other_vocabularies():
    a, b = Strings.pack(["ab", "", "b"]), Strings.pack(["xb", "b", "ab", ""])
    assert matches(a, b).tolist() == [2, 3, 1]
    assert not same(Strings.pack([("ab",)]), Strings.pack([("a", "b")])).any()
    assert matches(Texts.pack(["a b", "b"]), Texts.pack(["b"])).tolist() == [-1, 0]


def test_nodes_similarities_tensors_and_tables():
    assert matches(Nodes.pack([3, 1]), Nodes.pack([1, 1, 3])).tolist() == [2, 0]
    K = Similarities.pack(np.eye(3))
    assert matches(K[[2, 0]], K).tolist() == [2, 0]
    new = Similarities.pack(np.ones((2, 3)))
    assert matches(new, K).tolist() == [-1, -1] and matches(new, new).tolist() == [0, 1]
    T = np.arange(16.0).reshape(2, 2, 2, 2)
    assert matches(Tensors.pack(T), Tensors.pack(T[::-1])).tolist() == [1, 0]
    table = {"size": [1.0, 2.0, 1.0], "name": ["a", "a", "b"]}
    frame = Frames.pack(table, {"name": Strings.pack, "size": lambda x: Vectors.pack(np.asarray(x).reshape(-1, 1))})
    assert matches(frame[[2, 1]], frame).tolist() == [2, 1]


def test_distinct_keeps_the_order():
    first, group = distinct(Strings.pack(["b", "a", "b", "c", "a"]))
    assert first.tolist() == [0, 1, 3] and group.tolist() == [0, 1, 0, 2, 1]


def test_what_is_not_known():
    trees = Trees.pack([("a", "b"), ("a", "b")])
    assert identities(trees) is None and distinct(trees)[0].tolist() == [0, 1]
    assert identities(Frames.pack({"t": [("a",)]}, {"t": Trees.pack})) is None
    with pytest.raises(DomainError, match=r"domain Trees.*is known of vectors.*Use a kernel"):
        matches(trees, trees)
    assert len(Network.of([(0, 1)])) == 2 and len(Pairs.grid(trees)) == 4
