import gzip
import json

import numpy as np
import pytest

from mercer.io.gram_file import _check_symmetric, read_gram, read_gram_rows
from mercer.io.limits import FileError, FileTimeError, Limits
from mercer.io.source import Source
from mercer.kernels import Precomputed
from tests.broken_files import npy_header

K = np.array([[2.0, 1.0, 0.5], [1.0, 2.0, 1.0], [0.5, 1.0, 2.0]])


@pytest.fixture
def gram(tmp_path):
    def make(matrix, reader=read_gram, limits=None):
        np.save(tmp_path / "k.npy", matrix)
        return reader(Source.open(tmp_path / "k.npy", limits or Limits()))

    return make


def test_a_matrix_stays_on_disk_and_kernels_take_it(gram):
    found = gram(K)
    assert isinstance(found.matrix, np.memmap) and not found.X.flags.writeable and found.is_square
    assert np.array_equal(Precomputed()(found.X), K)
    assert found.ids is None and found.y is None and repr(found) == "<GramMatrix of k.npy: 3 samples, 3 x 3 float64>"
    assert json.loads(json.dumps(found.describe()))["shape"] == [3, 3]
    with pytest.raises(FileError, match="gram files hold samples only"):
        found.split_target("y")


def test_taking_samples_takes_rows_and_columns(gram, tmp_path):
    (tmp_path / "k.ids").write_text("a\nb\nc\n")
    found = gram(K).take([2, 0])
    assert found.X.tolist() == [[2.0, 0.5], [0.5, 2.0]] and found.ids == ("c", "a")
    rows = gram(K[:, :2], read_gram_rows).take([2])
    assert rows.X.tolist() == [[0.5, 1.0]] and rows.ids == ("c",) and not rows.is_square


def test_rows_of_new_samples(gram):
    found = gram(K[:2], read_gram_rows)
    assert found.n == 2 and found.format == "gram-rows"
    with pytest.raises(FileError, match="row 1, column 2: The similarity is nan"):
        gram(np.array([[1.0, np.nan]]), read_gram_rows)


def test_names_are_looked_for_in_this_order(gram, tmp_path):
    (tmp_path / "k.txt").write_text("t\nu\nv")
    assert gram(K).ids == ("t", "u", "v")
    (tmp_path / "k.ids.txt").write_text("d\ne\nf\n")
    assert gram(K).ids == ("d", "e", "f")
    (tmp_path / "k.ids").write_text("a\nb\nc\n")
    assert gram(K).ids == ("a", "b", "c")


def test_faults_in_large_matrices_are_located(gram):
    large = np.eye(1200)
    large[1100, 30] = 1e-3
    with pytest.raises(FileError, match=r"row 1101, column 31: The matrix is not symmetric: .* row 31 and column 1101"):
        gram(large)
    large[1100, 30] = np.inf
    with pytest.raises(FileError, match=r"row 1101, column 31: The similarity is inf"):
        gram(large)
    large[1100, 30] = 1e-9
    assert gram(large).n == 1200


def test_differences_beyond_the_largest_number(gram):
    with pytest.raises(FileError, match="not symmetric"):
        gram(np.array([[0.0, 1.7e308], [-1.7e308, 0.0]]))


def test_zero_is_a_gram_matrix(gram):
    assert gram(np.zeros((2, 2))).n == 2


def test_time_is_over(gram, tmp_path):
    with pytest.raises(FileTimeError):
        gram(K, limits=Limits(seconds=1e-9))
    source = Source.open(tmp_path / "k.npy", Limits(seconds=1e-9))
    with pytest.raises(FileTimeError):
        _check_symmetric(source, K)


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1), 'descr': '|O', }",
        "z'descr': '<f8', 'fortran_order': False, 'shape': (1, 1), }",
        "{'descr': '<f1', 'fortran_order': False, 'shape': (1, 1), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1 1), }",
        "{'descr': '<f8', 'fortran_order': 0, 'shape': (1, 1), }",
    ],
)
def test_headers_of_another_form_are_refused(tmp_path, header):
    path = tmp_path / "k.npy"
    path.write_bytes(npy_header(header, bytes(8)))
    with pytest.raises(FileError, match="The header is not that of a matrix of real numbers"):
        read_gram(Source.open(path, Limits()))


@pytest.mark.parametrize("dtype", ["<f8", ">f8", "<f4", "<f2", "<i8", ">i2", "|u1", "<u4"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_types_and_orders_agree_with_numpy(gram, tmp_path, dtype, order):
    matrix = np.asarray(np.arange(12).reshape(3, 4), dtype=dtype, order=order)
    found = gram(matrix, read_gram_rows).X
    assert found.dtype == matrix.dtype and np.array_equal(found, np.load(tmp_path / "k.npy"))


def test_what_is_no_square_matrix_of_the_size_it_says(gram, tmp_path):
    with pytest.raises(FileError, match="The matrix is 2 x 3; similarities"):
        gram(K[:2])
    for shape in ((3,), (0, 3), (1, 1, 1)):
        with pytest.raises(FileError, match="a matrix with at least one row and column is accepted"):
            gram(np.ones(shape))
    path = tmp_path / "k.npy"
    gram(K)
    whole = path.read_bytes()
    for content, message in (
        (whole[:-1], "The header announces 200 bytes .3 x 3 float64., the file has 199"),
        (whole + b"x", "the file has 201"),
        (whole[:20], "The header announces a length of 128 bytes"),
        (whole[:7], "not of NumPy's .npy format"),
        (whole[:6] + b"\x09\x00" + whole[8:], "not of NumPy's .npy format"),
        (b"PK" + whole[2:], "not of NumPy's .npy format"),
        (gzip.compress(whole), "cannot be mapped"),
    ):
        path.write_bytes(content)
        with pytest.raises(FileError, match=message):
            read_gram(Source.open(path, Limits()))


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("a\n\nc\n", "line 2: The line is empty"),
        ("a\nb\na\n", "line 3: The name 'a' is that of line 1, too"),
        ("a\nb\n", "fewer names than the 3 samples"),
        ("a\nb\nc\nd\n", "more names than the 3 samples"),
    ],
)
def test_names_that_do_not_fit(gram, tmp_path, names, message):
    (tmp_path / "k.ids").write_text(names)
    with pytest.raises(FileError, match=message):
        gram(K)
