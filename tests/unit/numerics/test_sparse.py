"""The structure of sparse matrices: every part that compiled code trusts is looked at, in every format."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.domains import Frames, Graphs, Sets, Vectors
from mercer.domains.nodes import Network
from mercer.errors import DomainError
from mercer.estimators.cuts import normalized_cut
from mercer.numerics.sparse import compressed_fault, sparse_fault

DENSE = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0], [2.0, 0.0, 1.0]])


def spoiled(form, part, value):
    """A matrix with one of its parts exchanged behind SciPy's back."""
    A = sp.csr_array(DENSE).asformat(form)
    vars(A)[part] = np.array(value)
    return A


BROKEN = [
    ("csr", "indptr", [0, 2, 3, 0]),  # SciPy takes it for empty
    ("csr", "indptr", [0, 4, 3, 5]),
    ("csr", "indptr", [1, 2, 3, 5]),
    ("csr", "indptr", [0, 2, 3, 9]),
    ("csr", "indptr", [-1, 2, 3, 5]),
    ("csr", "indptr", [0, 2, 3]),
    ("csr", "indptr", [0.0, 2.0, 3.0, 5.0]),
    ("csr", "indptr", [[0, 2, 3, 5]]),
    ("csr", "indices", [0, 2, 1, 0, 3]),
    ("csr", "indices", [0, 2, 1, -1, 2]),
    ("csr", "indices", [0, 2]),
    ("csr", "data", [1.0, 2.0]),
    ("csr", "data", [[1.0, 2.0, 3.0, 2.0, 1.0]]),
    ("csc", "indptr", [0, 2, 3, 0]),
    ("csc", "indices", [0, 2, 1, 0, 7]),
    ("bsr", "indptr", [0, 9, 9, 9]),
    ("bsr", "data", [1.0, 2.0, 3.0, 2.0, 1.0]),
    ("coo", "coords", None),
    ("dia", "offsets", [0]),
    ("lil", "rows", None),
]


def broken(form, part, value):
    if form == "coo":
        A = sp.coo_array(DENSE)
        A.coords = (np.array([0, 9, 1, 2, 2], dtype=np.int32), A.coords[1])
        return A
    if form == "lil":
        A = sp.lil_array(DENSE)
        A.rows[0] = [0, 9]
        return A
    return spoiled(form, part, value)


@pytest.mark.parametrize("case", BROKEN, ids=str)
def test_every_fault_is_found(case):
    assert sparse_fault(broken(*case)) is not None


@pytest.mark.parametrize("form", ["csr", "csc", "bsr", "coo", "lil", "dok", "dia"])
def test_sound_matrices_pass(form):
    A = sp.csr_array(DENSE).asformat(form)
    assert sparse_fault(A) is None
    assert sparse_fault(sp.csr_array((3, 0)).asformat(form)) is None
    assert np.array_equal(Vectors.pack(A).X.toarray(), DENSE)


def test_room_behind_the_last_entry_is_accepted():
    assert compressed_fault(np.array([0, 1]), np.array([0, 99]), 2, 1, 1) is None  # as SciPy does


@pytest.mark.parametrize("case", BROKEN, ids=str)
def test_no_door_lets_a_damaged_matrix_in(case):
    doors = [
        Vectors.pack,
        lambda A: Frames.pack(A, {(0, 1): Vectors.pack}),
        lambda A: Graphs.pack([A]),
        lambda A: Sets.pack([A, A]),
        Network.of,
        lambda A: normalized_cut(A, [0, 0, 1]),
    ]
    for door in doors:
        with pytest.raises(DomainError):
            door(broken(*case))
