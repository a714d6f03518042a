"""Numbers of sequences: the same for equal ones, and only for those."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mercer.kernels import interning
from mercer.kernels.interning import find_rows, find_sequences, intern_sequences

SEQUENCES = st.lists(st.lists(st.integers(-2, 3), max_size=4), max_size=12)


def flat(rows):
    codes = np.array([value for row in rows for value in row], dtype=np.int64)
    return codes, np.concatenate(([0], np.cumsum([len(row) for row in rows]))).astype(np.intp)


@given(rows=SEQUENCES)
def test_equal_sequences_have_one_number(rows):
    ids, first = intern_sequences(*flat(rows))
    seen = list(dict.fromkeys(map(tuple, rows)))
    assert ids.tolist() == [seen.index(tuple(row)) for row in rows]
    assert [tuple(rows[i]) for i in first] == seen


@given(rows=SEQUENCES, others=SEQUENCES)
def test_sequences_are_found_where_they_are(rows, others):
    ours = list(dict.fromkeys(map(tuple, rows)))
    places = find_sequences(*flat(ours), *flat(others))
    assert places.tolist() == [ours.index(tuple(row)) if tuple(row) in ours else -1 for row in others]


def test_rows_of_tables_are_found():
    rng = np.random.default_rng(0)
    table = np.unique(rng.integers(0, 4, (40, 3)), axis=0)
    others = rng.integers(0, 5, (60, 3))
    places = find_rows(table, others)
    known = {tuple(row): i for i, row in enumerate(table.tolist())}
    assert places.tolist() == [known.get(tuple(row), -1) for row in others.tolist()]
    assert find_rows(table[:0], others).tolist() == [-1] * 60


def test_sequences_with_one_hash_stay_apart(monkeypatch):
    """All sequences begin to look in the same slot; they are told apart by what they are."""
    rows = [[0, i] for i in range(50)] + [[i, 0] for i in range(50)]
    codes, offsets = flat(rows)
    ids, first = np.empty(100, np.int64), np.empty(100, np.intp)
    monkeypatch.setattr(interning, "_spread", lambda codes, start, stop, size: 0)
    monkeypatch.setattr(interning, "_same", interning._same.py_func)
    total = interning._intern.py_func(codes, offsets, np.full(256, -1), ids, first)
    assert total == 99 and len(set(ids.tolist())) == 99
