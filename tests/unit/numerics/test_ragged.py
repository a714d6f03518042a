import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.numerics.ragged import Ragged

ROWS = [[1, 2], [], [3], [4, 5, 6], []]


def ragged(rows):
    return Ragged.from_rows([np.array(row, dtype=np.int32) for row in rows])


def lists(R):
    return [row.tolist() for row in R]


def test_rows_lengths_and_owners():
    R = ragged(ROWS)
    assert len(R) == 5 and lists(R) == ROWS
    assert R.lengths.tolist() == [2, 0, 1, 3, 0]
    assert R.owners.tolist() == [0, 0, 2, 3, 3, 3]
    assert R.offsets.dtype == np.intp and R.codes.dtype == np.int32
    assert R.nbytes == 6 * 4 + 6 * 8


def test_a_slice_shares_the_codes():
    R = ragged(ROWS)
    part = R.take(slice(2, 4))
    assert lists(part) == ROWS[2:4] and part.offsets[0] == 0
    assert np.shares_memory(part.codes, R.codes) and part.nbytes == 4 * 4 + 3 * 8
    assert lists(R.take(slice(3, 1))) == lists(R.take(slice(9, 12))) == []


def test_offsets_need_not_begin_at_zero():
    R = Ragged(np.arange(10), np.array([3, 5, 5, 8]))
    assert lists(R) == [[3, 4], [], [5, 6, 7]]
    assert lists(R.take(np.array([2, 0]))) == [[5, 6, 7], [3, 4]]
    assert lists(R.take(slice(1, 3))) == [[], [5, 6, 7]]
    assert lists(R.concat(R)) == 2 * lists(R)
    assert R.nbytes == 5 * 8 + 4 * 8


def test_entries_may_be_rows_themselves():
    R = Ragged.from_lengths(np.arange(8).reshape(4, 2), [1, 3])
    assert lists(R.take(np.array([1, 0]))) == [[[2, 3], [4, 5], [6, 7]], [[0, 1]]]


@given(
    rows=st.lists(st.lists(st.integers(0, 9), max_size=5), min_size=1, max_size=8),
    data=st.data(),
)
def test_take_and_concat_are_those_of_lists(rows, data):
    R = ragged(rows)
    index = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=10))
    taken = R.take(np.array(index, dtype=np.intp))
    assert lists(taken) == [rows[i] for i in index]
    assert lists(R.concat(taken)) == rows + [rows[i] for i in index]
    assert taken.codes.dtype == R.codes.dtype and taken.offsets.dtype == np.intp
    piece = data.draw(st.slices(len(rows)).filter(lambda s: s.step in (None, 1)))
    assert lists(R.take(piece)) == rows[piece]


def test_it_is_frozen():
    with pytest.raises(AttributeError):
        ragged(ROWS).codes = None  # type: ignore[misc]
