import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from mercer import SVC
from mercer.domains import Similarities
from mercer.errors import DomainError, MemoryBudgetError
from tests.strategies import similarities

K = np.array([[2.0, 1.0, 0.0], [1.0, 3.0, 0.5], [0.0, 0.5, 4.0]])


@given(matrix=similarities(square=True), data=st.data())
def test_blocks_are_those_of_the_matrix(matrix, data):
    S = Similarities.pack(matrix)
    index = st.lists(st.integers(0, len(S) - 1), max_size=6).map(lambda i: np.array(i, dtype=np.intp))
    left, right = data.draw(index), data.draw(index)
    block = S.take(left).against(S.take(right))
    assert block.flags.c_contiguous and (block == matrix[np.ix_(left, right)]).all()
    assert (S.take(left).against(S.take(right).landmarks()) == block).all()
    assert (S.take(left).self_similarities() == matrix[left, left]).all()
    assert (S.take(left).landmarks().self_similarities() == matrix[left, left]).all()
    piece = data.draw(st.slices(len(S)))
    assert (S[piece].against(S) == matrix[piece]).all()
    assert (S.against(S[piece]) == matrix[:, piece]).all()


def test_rows_of_new_samples():
    S, new = Similarities.pack(K), Similarities.pack(K[:2] / 2)
    assert new.position is None and S.position.tolist() == [0, 1, 2]
    assert new.shape == (2, 3) and S.shape == (3, 3) and S[1:].shape == (2, 2) and new[1:].shape == (1, 3)
    assert (new.against(S) == K[:2] / 2).all()
    assert (new[[1]].against(S[[2, 0]].landmarks()) == [[0.25, 0.5]]).all()
    with pytest.raises(DomainError, match="have no column"):
        S.against(new)
    with pytest.raises(DomainError, match="diagonal="):
        new.self_similarities()
    told = Similarities.pack(K[:2], diagonal=[5.0, 6.0])
    assert told.self_similarities().tolist() == [5.0, 6.0] and told[1:].self_similarities().tolist() == [6.0]
    assert Similarities.pack(new, diagonal=[1, 2]).self_similarities().tolist() == [1.0, 2.0]


def test_a_square_matrix_of_new_samples_does_no_harm():
    S, new = Similarities.pack(K), Similarities.pack(K + np.triu(K))
    assert (new.against(S.landmarks()) == K + np.triu(K)).all()


def test_the_expected_shape_is_told():
    S = Similarities.pack(K)
    with pytest.raises(DomainError, match=r"2 columns was given, 3 are expected.*shape \(4, 3\)"):
        Similarities.pack(np.ones((4, 2))).against(S)
    with pytest.raises(DomainError, match="Training needs the square matrix"):
        Similarities.pack(K[:2]).landmarks()
    with pytest.raises(DomainError, match="rows were not kept"):
        S.landmarks().against(S)


def test_nothing_large_is_copied():
    n = 1000
    matrix = np.ones((n, n))
    S = Similarities.pack(matrix)
    tracemalloc.start()
    S.take(np.arange(0, n, 2)).take(np.arange(100)).landmarks()
    whole = S.against(S)
    rows = S[10:20].against(S)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200_000
    assert np.shares_memory(whole, matrix) and np.shares_memory(rows, matrix)
    assert S.landmarks().matrix is None and S.landmarks().nbytes < 25 * n
    assert S.nbytes == matrix.nbytes + 16 * n and S[:10].nbytes == 10 * (8 * n + 16)


def test_views_of_the_given_matrix_cannot_be_written():
    matrix = K.copy()
    S = Similarities.pack(matrix)
    with pytest.raises(ValueError, match="read-only"):
        S.against(S)[0, 0] = 9.0
    block = S.against(S[[0, 2]])
    block[:] = 9.0
    assert (matrix == K).all() and matrix.flags.writeable


def test_asymmetry_names_the_worst_pair():
    Similarities.pack(K).check_symmetric()
    Similarities.pack(K + 1e-9 * np.triu(K)).check_symmetric()
    bad = K.copy()
    bad[0, 1], bad[2, 0] = 1.1, 7.0
    S = Similarities.pack(bad)
    with pytest.raises(DomainError, match=r"entry \(0, 2\) is 0, entry \(2, 0\) is 7\..*\(K \+ K\.T\) / 2"):
        S.check_symmetric()
    with pytest.raises(DomainError, match=r"entry \(0, 1\) is 1\.1, entry \(1, 0\) is 1\."):
        S[:2].check_symmetric()
    S[1:].check_symmetric()
    S[:0].check_symmetric()
    with pytest.raises(DomainError, match="have no column"):
        Similarities.pack(K[:2]).check_symmetric()


def test_asymmetry_is_found_in_every_tile_and_at_any_scale():
    n = 700
    for i, j in [(699, 3), (0, 699), (300, 600)]:
        matrix = np.eye(n) * 1e300
        matrix[i, j] = 1e300
        with pytest.raises(DomainError, match="not symmetric"):
            Similarities.pack(matrix).check_symmetric()
    matrix = np.full((2, 2), 1e308)
    matrix[0, 1] = -1e308
    with pytest.raises(DomainError, match="not symmetric"):
        Similarities.pack(matrix).check_symmetric()
    Similarities.pack(np.zeros((3, 3))).check_symmetric()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (np.ones(3), "Reshape your data"),
        ([[np.nan]], "Input X contains NaN"),
        ([["a"]], "text"),
        (np.ones((0, 0)), r"0 sample\(s\)"),
        (np.ones((2, 0)), r"0 feature\(s\)"),
        (sp.csr_array([[np.nan]]), "Input X contains NaN"),
    ],
)
def test_what_is_refused_and_why(given, message):
    with pytest.raises(DomainError, match=f"(?s){message}") as caught:
        Similarities.pack(given)
    assert "comparing sample i with training sample j" in str(caught.value)


@pytest.mark.parametrize("diagonal", [[1.0, 2.0], [[1.0, 2.0, 3.0]], [1.0, 2.0, np.nan]])
def test_wrong_diagonals_are_refused(diagonal):
    with pytest.raises(DomainError, match="3 finite numbers"):
        Similarities.pack(K, diagonal=diagonal)


@pytest.mark.parametrize("form", ["csr", "coo", "dia", "lil"])
def test_sparse_matrices_are_what_they_are_with_their_zeros(form):
    matrix = np.where(np.abs(np.subtract.outer(np.arange(9.0), np.arange(9.0))) < 3, 1.0, 0.0) + 4.0 * np.eye(9)
    sparse = sp.csr_array(matrix).asformat(form)
    S, dense = Similarities.pack(sparse), Similarities.pack(matrix)
    assert S.matrix.tolist() == dense.matrix.tolist()
    assert S[[1, 4]].against(S[2:]).tolist() == dense[[1, 4]].against(dense[2:]).tolist()
    assert SVC("precomputed").fit(sparse, [0, 1, 0] * 3).dual_coef_.tolist() == (
        SVC("precomputed").fit(matrix, [0, 1, 0] * 3).dual_coef_.tolist()
    )


def test_sparse_matrices_too_large_to_hold():
    with pytest.raises(MemoryBudgetError, match=r"10000000 x 10000000 similarities needs 7.* TiB with its zeros"):
        Similarities.pack(sp.csr_array((10**7, 10**7)))


def test_tables_integers_and_float32():
    assert Similarities.pack(pd.DataFrame(K)).against(Similarities.pack(K)).tolist() == K.tolist()
    assert Similarities.pack([[2, 1], [1, 2]]).matrix.dtype == np.float64
    assert Similarities.pack(K.astype(np.float32)).matrix.dtype == np.float32


def test_joining():
    S = Similarities.pack(K)
    joined = S[:1].concat(S[2:])
    assert joined.matrix is S.matrix and joined.position.tolist() == [0, 2]
    new = Similarities.pack(2 * K[:2], diagonal=[8.0, 9.0])
    mixed = S[1:].concat(new)
    assert mixed.position is None and len(mixed) == 4
    assert (mixed.against(S) == np.vstack((K[1:], 2 * K[:2]))).all()
    assert mixed.self_similarities().tolist() == [3.0, 4.0, 8.0, 9.0]
    assert S.concat(Similarities.pack(K[:2])).diagonal is None
    kept = S[:1].landmarks().concat(S[1:].landmarks())
    assert (S.against(kept) == K).all() and kept.self_similarities().tolist() == [2.0, 3.0, 4.0]
    for wrong in (Similarities.pack(np.ones((2, 5))), S.landmarks()):
        with pytest.raises(DomainError, match="cannot be joined"):
            S.concat(wrong)


def test_pairwise_splitting_takes_rows_and_keeps_columns():
    S = Similarities.pack(K)
    test, train = np.array([1]), np.array([2, 0])
    assert (S[np.ix_(test, train)].against(S[np.ix_(train, train)]) == [[0.5, 1.0]]).all()


def test_repr():
    assert repr(Similarities.pack(K)) == "<Similarities: 3 samples, rows among 3 columns>"
    assert repr(Similarities.pack(K)[1:].landmarks()) == "<Similarities: 2 samples, landmarks among 3 columns>"
