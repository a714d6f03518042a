"""Parts that do not fit together are found before compiled code sees them."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.domains import Frames, Pairs, Similarities, Strings, Vectors
from mercer.errors import ModelError
from mercer.gram import Expansion, FeatureExpansion
from mercer.io.checks import check_record, check_sparse
from mercer.kernels import Gaussian, Linear, Spectrum
from mercer.numerics.ragged import Ragged
from mercer.selection import Sigmoid
from mercer.targets import Binary, Multiclass, Real
from mercer.targets.target import Reduction

INDEX = np.arange(2)
K = np.array([[2.0, 1.0], [1.0, 2.0]])
V = Vectors.pack(K)
S = Strings.pack(["ab", "ba"])
KEYS = Spectrum(2).features(Spectrum(2).prepare(S))[1]
F = Expansion(Gaussian(1.0), V, np.ones(2), np.asarray(0.5))
G = FeatureExpansion(Linear(), None, np.ones(2), np.asarray(0.5))
SIMILAR = Similarities.pack(K)


def csr(indices, data=(1.0, 2.0), indptr=(0, 1, 2), shape=(2, 2)):
    matrix = sp.csr_array(shape)
    matrix.data, matrix.indices, matrix.indptr = np.array(data), np.array(indices, np.int32), np.array(indptr, np.int32)
    return matrix


GOOD = [V, Vectors(csr([0, 1])), S, S.ragged, KEYS, Pairs(V, V, np.zeros((3, 2), np.intp)), SIMILAR,
        SIMILAR.landmarks(), Frames({"a": V, "b": S}), F, G, Binary(np.array(["a", "b"])), Multiclass(np.arange(3)),
        Real(), Real(columns=2), replace(F, coef=np.ones((2, 3)), intercept=np.ones(3)),
        replace(F, intercept=0.5), replace(SIMILAR, position=None), Reduction.of("ovo", 3), Reduction.of("ovr", 3),
        Reduction.of("ovo", 2), Sigmoid(1.0, -3.0)]  # fmt: skip


@pytest.mark.parametrize("record", GOOD, ids=lambda r: type(r).__name__)
def test_good_records_pass(record):
    assert check_record(record) is record


BAD = {
    "one axis": Vectors(np.ones(2)),
    "integers": Vectors(np.ones((2, 2), dtype=int)),
    "not finite": Vectors(np.array([[np.nan]])),
    "no array": Vectors([[1.0]]),
    "names too few": Vectors(K, ("a",)),
    "names of numbers": Vectors(K, (1, 2)),
    "coo": Vectors(sp.coo_array(K)),
    "csc": Vectors(sp.csc_array(K)),
    "sparse beyond": Vectors(csr([0, 9])),
    "sparse before": Vectors(csr([0, -9])),
    "sparse pointers": Vectors(csr([0, 1], indptr=(0, 9, 2))),
    "sparse unsorted": Vectors(csr([1, 0], indptr=(0, 2, 2))),
    "sparse not finite": Vectors(csr([0, 1], data=(np.inf, 1.0))),
    "offsets not whole": Ragged(INDEX, np.array([0.0, 2.0])),
    "offsets empty": Ragged(INDEX, np.array([], dtype=np.intp)),
    "offsets back": Ragged(INDEX, np.array([0, 2, 1, 2])),
    "offsets beyond": Ragged(INDEX, np.array([0, 9])),
    "offsets short": Ragged(INDEX, np.array([0, 1])),
    "offsets late": Ragged(INDEX, np.array([1, 2])),
    "codes of text": Ragged(np.array(["a", "b"]), np.array([0, 2])),
    "no rows": Strings(None, ("a",)),
    "list of symbols": Strings(S.ragged, ["a", "b"]),
    "symbol twice": Strings(S.ragged, ("a", "a")),
    "codes beyond": Strings(S.ragged, ("a",)),
    "codes below": Strings(Ragged(np.array([-1], np.int32), np.array([0, 1])), ("a",)),
    "wide codes": Strings(Ragged(np.array([0], np.int64), np.array([0, 1])), ("a",)),
    "k-mers of no length": replace(KEYS, length=0),
    "k-mers of a true length": replace(KEYS, length=True),
    "k-mers beyond": replace(KEYS, length=99),
    "k-mers before": replace(KEYS, starts=KEYS.starts - 1),
    "k-mers without symbols": replace(KEYS, vocabulary=()),
    "k-mers with a list": replace(KEYS, vocabulary=["a", "b"]),
    "k-mers of floats": replace(KEYS, codes=KEYS.codes.astype(float)),
    "pairs of nothing": Pairs(None, V, np.zeros((3, 2), np.intp)),
    "pairs beyond": Pairs(V, V, np.full((3, 2), 2, np.intp)),
    "pairs before": Pairs(V, V, np.full((3, 2), -1, np.intp)),
    "triples": Pairs(V, V, np.zeros((3, 3), np.intp)),
    "width of text": replace(SIMILAR, width="2"),
    "rows beyond": replace(SIMILAR, rows=INDEX + 1),
    "columns beyond": replace(SIMILAR, position=INDEX + 1),
    "columns too few": replace(SIMILAR, position=INDEX[:1]),
    "another width": replace(SIMILAR, width=3),
    "no matrix": replace(SIMILAR, matrix=[[1.0]]),
    "diagonal too long": replace(SIMILAR, diagonal=np.ones(3)),
    "landmarks beyond": replace(SIMILAR.landmarks(), rows=INDEX + 7),
    "no parts": Frames({}),
    "list of parts": Frames([V]),
    "parts of nothing": Frames({"a": 1}),
    "parts of other lengths": Frames({"a": V, "b": S[:1]}),
    "no kernel": replace(F, kernel=None),
    "no samples": replace(F, samples=None),
    "another domain": replace(F, samples=S),
    "too few coefficients": replace(F, coef=np.ones(1)),
    "no coefficients": replace(F, coef=None),
    "coefficients of text": replace(F, coef=np.array(["a", "b"])),
    "cube of coefficients": replace(F, coef=np.ones((2, 1, 1))),
    "intercept of text": replace(F, intercept="a"),
    "too many intercepts": replace(F, intercept=np.ones(2)),
    "diagonal of text": replace(F, diagonal="a"),
    "primal without kernel": replace(G, kernel=None),
    "primal without weights": replace(G, weights=[1.0]),
    "primal intercepts": replace(G, intercept=np.ones(2)),
    "classes of lists": Binary(["a", "b"]),
    "table of classes": Multiclass(np.ones((2, 2))),
    "columns of text": Real(columns="a"),
    "no columns": Real(columns=0),
    "code of one class": Reduction(np.ones((1, 3)), "ovr"),
    "code of integers": Reduction(np.ones((3, 3), dtype=int), "ovr"),
    "code of halves": Reduction(np.full((3, 3), 0.5), "code"),
    "code of no kind": Reduction(np.ones((3, 3)), "votes"),
    "falling sigmoid": Sigmoid(-1.0, 0.0),
    "endless sigmoid": Sigmoid(1.0, np.inf),
    "sigmoid of text": Sigmoid("1", 0.0),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_records_are_refused(name):
    with pytest.raises(ModelError):
        check_record(BAD[name])


def test_a_record_of_a_user_may_check_itself():
    @dataclass
    class Own:
        number: int

        def check(self):
            if self.number < 0:
                raise ValueError("negative")

    assert check_record(Own(1)).number == 1
    with pytest.raises(ValueError, match="negative"):
        check_record(Own(-1))


def test_sparse_matrices():
    check_sparse(csr([0, 1]))
    with pytest.raises(ModelError, match="sparse"):
        check_sparse(csr([0, 5]))
