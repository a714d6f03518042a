"""Laws that every domain obeys: packing is idempotent, and a collection behaves like an array of samples."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from mercer.domains import Frames, Pairs, Samples, Similarities, Strings, Vectors
from mercer.errors import DomainError, ParameterError
from mercer.numerics.ragged import Ragged
from tests import strategies

DOMAINS = {
    "vectors": (strategies.vectors(), Vectors.pack),
    "float32": (strategies.vectors(dtype=np.float32), Vectors.pack),
    "sparse": (strategies.sparse_vectors(), Vectors.pack),
    "strings": (strategies.strings(), Strings.pack),
    "similarities": (strategies.similarities(), Similarities.pack),
    "frames": (strategies.frames(), lambda X: Frames.pack(X, strategies.FRAME_PARTS)),
    "pairs": (strategies.pairs(), lambda X: Pairs.pack(X, Strings.pack)),
}

every_domain = pytest.mark.parametrize("domain", DOMAINS)


def contents(S: Samples) -> list:
    """What each sample is, as plain Python objects."""
    match S:
        case Vectors():
            return [tuple(row) for row in (S.X.toarray() if S.is_sparse else S.X).tolist()]
        case Strings():
            return [S.symbols(i) for i in range(len(S))]
        case Similarities():
            position = [None] * len(S) if S.position is None else S.position.tolist()
            return list(zip(map(tuple, S.matrix[S.rows].tolist()), position, strict=True))
        case Frames():
            return list(zip(*(contents(part) for part in S.parts.values()), strict=True))
        case Pairs():
            left, right = contents(S.left), contents(S.right)
            return [(left[i], right[j]) for i, j in S.index]
    raise AssertionError(type(S))


def draw_packed(data, domain):
    raw, pack = DOMAINS[domain]
    return pack(data.draw(raw))


def draw_index(data, n):
    return np.array(data.draw(st.lists(st.integers(-n, n - 1), max_size=12)), dtype=np.intp)


@every_domain
@given(data=st.data())
def test_pack_is_idempotent_and_keeps_the_number_of_samples(domain, data):
    raw, pack = DOMAINS[domain]
    X = data.draw(raw)
    S = pack(X)
    assert pack(S) is S
    n = X.shape[0] if hasattr(X, "shape") else len(next(iter(X.values()))) if isinstance(X, dict) else len(X)
    assert len(S) == n == S.shape[0] == len(contents(S)) == len(list(S))
    assert isinstance(repr(S), str)


@every_domain
@given(data=st.data())
def test_take_takes(domain, data):
    S = draw_packed(data, domain)
    index = draw_index(data, len(S))
    expected = [contents(S)[i] for i in index]
    assert contents(S.take(index)) == expected
    assert contents(S[index]) == contents(S[index, ...]) == contents(S[index.tolist()]) == expected
    assert contents(_safe_indexing(S, index)) == expected


@every_domain
@given(data=st.data())
def test_takes_compose(domain, data):
    S = draw_packed(data, domain)
    first = draw_index(data, len(S))
    part = S.take(first)
    second = draw_index(data, len(part)) if len(part) else np.empty(0, dtype=np.intp)
    assert contents(part.take(second)) == contents(S.take(first[second]))


@every_domain
@given(data=st.data())
def test_slices_and_masks_equal_takes(domain, data):
    S = draw_packed(data, domain)
    every = np.arange(len(S))
    piece = data.draw(st.slices(len(S)))
    assert contents(S[piece]) == contents(S.take(every[piece]))
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(S), max_size=len(S))))
    assert contents(S[mask]) == contents(S.take(every[mask]))
    i = data.draw(st.integers(-len(S), len(S) - 1))
    assert contents(S[i]) == contents(S.take([i])) == [contents(S)[i]]
    assert S[:] is S and S[...,] is S


@every_domain
@given(data=st.data(), rows=st.integers(1, 10))
def test_tiles_joined_are_the_whole(domain, data, rows):
    S = draw_packed(data, domain)
    tiles = list(S.tiles(rows))
    assert [len(tile) for tile in tiles[:-1]] == [rows] * (len(tiles) - 1)
    joined = tiles[0]
    for tile in tiles[1:]:
        joined = joined.concat(tile)
    assert contents(joined) == contents(S)


@every_domain
@given(data=st.data())
def test_concat_joins_and_empty_is_neutral(domain, data):
    S = draw_packed(data, domain)
    T = S.take(draw_index(data, len(S)))
    assert contents(S.concat(T)) == contents(S) + contents(T)
    nothing = S.take([])
    assert len(nothing) == 0 and contents(nothing) == [] and list(nothing.tiles(3)) == []
    assert contents(S.concat(nothing)) == contents(nothing.concat(S)) == contents(S)
    assert isinstance(repr(nothing), str) and nothing.nbytes >= 0


@every_domain
@given(data=st.data())
def test_a_collection_copies_to_itself_and_pickles(domain, data):
    S = draw_packed(data, domain)
    assert copy.copy(S) is copy.deepcopy(S) is clone(S) is S
    assert copy.deepcopy({"X": [S]})["X"][0] is S
    S = S.with_derived("row", np.arange(len(S)))
    back = pickle.loads(pickle.dumps(S[: len(S) // 2 + 1]))
    assert contents(back) == contents(S)[: len(S) // 2 + 1]
    assert back.derived["row"].tolist() == list(range(len(back)))


@every_domain
@given(data=st.data())
def test_derived_rows_follow_the_samples(domain, data):
    S = draw_packed(data, domain)
    n = len(S)
    D = (
        S.with_derived("table", np.arange(2 * n).reshape(n, 2))
        .with_derived("csr", sp.csr_array(np.arange(n, dtype=float)[:, None]))
        .with_derived("ragged", Ragged.from_rows([np.full(i, i) for i in range(n)]))
    )
    assert not S.derived and len(D.derived) == 3 and contents(D) == contents(S)
    index = draw_index(data, n)
    for part, rows in ((D.take(index), index % n), (D[1:], np.arange(n)[1:])):
        assert part.derived["table"].tolist() == [[2 * i, 2 * i + 1] for i in rows]
        assert part.derived["csr"].toarray().ravel().tolist() == rows.tolist()
        assert [row.tolist() for row in part.derived["ragged"]] == [[i] * i for i in rows]
    assert not D.concat(S).derived
    with pytest.raises(DomainError, match=f"{n + 1} rows for {n} samples"):
        S.with_derived("long", np.zeros(n + 1))


@every_domain
@given(data=st.data())
def test_nbytes_counts_arrays_and_derived(domain, data):
    S = draw_packed(data, domain)
    assert S.nbytes > 0 and all(isinstance(array, np.ndarray) for array in S.arrays)
    if domain not in ("similarities", "pairs"):  # these share arrays between pieces
        assert S.nbytes == sum(array.nbytes for array in S.arrays)
        assert S.take([0]).nbytes <= S.nbytes
    assert S.with_derived("row", np.zeros(len(S))).nbytes == S.nbytes + 8 * len(S)
    rows = sp.csr_array(np.ones((len(S), 1)))
    held = rows.data.nbytes + rows.indices.nbytes + rows.indptr.nbytes
    assert S.with_derived("csr", rows).nbytes == S.nbytes + held


@every_domain
@given(data=st.data())
def test_landmarks_are_as_many_and_idempotent(domain, data):
    S = draw_packed(data, domain)
    if domain == "similarities" and S.position is None:
        with pytest.raises(DomainError, match="square matrix"):
            S.landmarks()
        return
    kept = S.with_derived("row", np.arange(len(S))).landmarks()
    assert len(kept) == len(S) and kept.derived["row"].tolist() == list(range(len(S)))
    if domain != "similarities":
        assert contents(kept) == contents(kept.landmarks()) == contents(S)


@every_domain
@given(data=st.data())
def test_a_collection_cannot_be_changed(domain, data):
    S = draw_packed(data, domain)
    for name in [*vars(S), "derived", "anything"]:
        with pytest.raises(AttributeError):
            setattr(S, name, None)


@every_domain
@given(data=st.data())
def test_wrong_indices_are_refused(domain, data):
    S = draw_packed(data, domain)
    n = len(S)
    for index in (n, -n - 1, [n], [-n - 1], [0.5], np.ones(n + 1, dtype=bool), [[0]], (0, 0), None, "a"):
        with pytest.raises(IndexError):
            S[index]
    with pytest.raises(ParameterError, match="rows=0"):
        next(S.tiles(0))


@every_domain
@given(data=st.data(), other=st.sampled_from(sorted(DOMAINS)))
def test_domains_do_not_mix(domain, data, other):
    S, T = draw_packed(data, domain), draw_packed(data, other)
    if type(S) is type(T):
        return
    with pytest.raises(DomainError, match="cannot be joined"):
        S.concat(T)
    with pytest.raises(DomainError, match=f"{type(T).__name__} were given where {type(S).__name__}"):
        DOMAINS[domain][1](T)
