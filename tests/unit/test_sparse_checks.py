"""The structure of sparse matrices: every part that compiled code trusts is looked at, in every format."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer import LinearSVC
from mercer.domains import Frames, Graphs, Sets, Vectors
from mercer.domains.structures.nodes import Network
from mercer.errors import DomainError, MemoryBudgetError
from mercer.estimators.clustering.cuts import normalized_cut
from mercer.kernels import ArcCosine, Gaussian, Laplacian, Linear, Polynomial, Tanimoto
from mercer.sparse_checks import _FEW, compressed_fault, sparse_fault, used_columns

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


def test_each_part_alone_is_enough_for_a_fault():
    for shape in ((5, 1, 2), (5, 2, 1), (5, 0, 1), (5, 1, 0)):  # of blocks, for 3 x 3
        assert sparse_fault(spoiled("bsr", "data", np.ones(shape))) is not None
    for row in ([0.0, 0.0, 1.0, 2.0, 2.0], [0, 0, 1, 2], [[0, 0, 1, 2, 2]]):
        A = sp.coo_array(DENSE)
        A.coords = (np.array(row), A.coords[1])
        assert sparse_fault(A) == "the coordinates are not a pair of whole numbers for each entry"
    for part in ("rows", "data"):
        A = sp.lil_array(DENSE)
        vars(A)[part] = getattr(A, part)[:-1]
        assert "for 3 rows" in sparse_fault(A)
    A = sp.lil_array(DENSE)
    A.data[1] = []
    assert sparse_fault(A) == "a row has 1 indices for 0 entries"


@pytest.mark.parametrize("form", ["csr", "coo"])
def test_lists_of_numbers_have_one_line(form):
    a = sp.coo_array(np.array([1.0, 0.0, 2.0])).asformat(form)
    assert sparse_fault(a) is None
    if form == "csr":
        a.indices[1] = 3
        assert sparse_fault(a) == "an index is 3, outside of 0 to 2"


def test_columns_are_kept_unless_most_are_unused():
    def entries(count, width):
        return sp.csr_array((np.ones(count), (np.zeros(count, int), np.arange(count))), shape=(1, width))

    most = 4 * 2 * _FEW
    assert used_columns(entries(_FEW, most), entries(_FEW, most))[2] is None
    assert len(used_columns(entries(_FEW, most + 1), entries(_FEW, most + 1))[2]) == _FEW


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


WIDE = 2 * 10**9  # columns, of which a pointer each would take 16 GB
ENTRIES = np.array([[0.5, 1.0], [2.0, -1.0], [1.5, 3.0]])
PLACES = np.array([[0, WIDE - 1], [0, WIDE - 2], [7, WIDE - 1]])


def wide():
    return sp.csr_array((ENTRIES.ravel(), PLACES.ravel(), [0, 2, 4, 6]), shape=(3, WIDE))


def narrow():
    return np.array([[0.5, 0.0, 0.0, 1.0], [2.0, 0.0, -1.0, 0.0], [0.0, 1.5, 0.0, 3.0]])


def test_unused_columns_are_left_out():
    X = wide()
    left, right, columns = used_columns(X[:2], X[2:])
    assert columns.tolist() == [0, 7, WIDE - 2, WIDE - 1]
    np.testing.assert_array_equal(sp.vstack([left, right]).toarray(), narrow())
    small = sp.csr_array(np.eye(3))
    assert used_columns(small, small) == (small, small, None)


@pytest.mark.parametrize(
    "kernel", [Linear(), Gaussian(1.5), Polynomial(2), Laplacian(2.0), Tanimoto(), ArcCosine()], ids=repr
)
def test_kernels_of_wide_samples_take_no_memory_for_unused_columns(kernel):
    np.testing.assert_allclose(kernel(wide()), kernel(narrow()), rtol=1e-13)
    np.testing.assert_allclose(kernel(wide(), wide()[:2]), kernel(narrow(), narrow()[:2]), rtol=1e-13)


def test_length_scales_of_the_columns_that_are_used():
    width = 10**6
    places = np.array([0, width - 1, 0, width - 2, 7, width - 1])
    X = sp.csr_array((ENTRIES.ravel(), places, [0, 2, 4, 6]), shape=(3, width))
    scales = np.linspace(1.0, 2.0, width)
    expected = Gaussian(scales[[0, 7, width - 2, width - 1]])(narrow())
    np.testing.assert_allclose(Gaussian(scales)(X), expected, rtol=1e-12)


def test_machines_that_need_a_weight_for_each_column_say_so():
    with pytest.raises(MemoryBudgetError, match=r"LinearSVC on 2000000000 columns needs 60 GiB for the weights"):
        LinearSVC(memory="1GB").fit(wide(), [0, 1, 0])
