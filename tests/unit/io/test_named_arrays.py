"""Named arrays in one file: the layout of safetensors, and every lie about sizes refused."""

import json
import os
import pickle

import numpy as np
import pytest

from mercer.errors import MemoryBudgetError, ModelError
from mercer.io import named_arrays as tensors
from mercer.io.named_arrays import DTYPES, open_ordinary, pieces, read_header, read_tensors

ARRAYS = {
    "b": np.arange(6, dtype="<f8").reshape(2, 3),
    "a": np.array([True, False]),
    "empty": np.empty((0, 3), dtype="<i4"),
    "point": np.array(2.5),
    **{f"of {name}": np.arange(3).astype(dtype) for name, dtype in DTYPES.items()},
}
TEXTS = {"mercer": "a text — with signs"}


def written(tmp_path, content=None, name="arrays.mercer"):
    path = tmp_path / name
    path.write_bytes(b"".join(pieces(ARRAYS, TEXTS, "sha256")) if content is None else content)
    return path


def read(path):
    with open(path, "rb") as stream:
        texts, table = read_header(stream, path)
        return texts, read_tensors(stream, path, texts, table, "sha256")


def forged(header, data=b"", pad=b""):
    encoded = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(encoded).to_bytes(8, "little") + encoded + data + pad


def test_what_is_written_is_read(tmp_path):
    texts, found = read(written(tmp_path))
    assert texts["mercer"] == TEXTS["mercer"]
    assert set(found) == set(ARRAYS)
    for name, array in ARRAYS.items():
        assert found[name].dtype == array.dtype
        assert found[name].shape == array.shape
        assert np.array_equal(found[name], array)


def test_the_library_of_the_format_reads_it_too(tmp_path):
    safetensors = pytest.importorskip("safetensors.numpy")
    found = safetensors.load_file(written(tmp_path))
    assert all(np.array_equal(found[name], array) for name, array in ARRAYS.items())


def test_files_of_that_library_are_read(tmp_path):
    safetensors = pytest.importorskip("safetensors.numpy")
    path = tmp_path / "theirs.safetensors"
    safetensors.save_file({"x": np.arange(3.0)}, path, metadata={"mercer": "{}"})
    with open(path, "rb") as stream:
        texts, table = read_header(stream, path)
        assert (texts, list(table)) == ({"mercer": "{}"}, ["x"])
        with pytest.raises(ModelError, match="SHA-256"):
            read_tensors(stream, path, texts, table, "sha256")


def test_data_begin_at_a_multiple_of_eight(tmp_path):
    content = written(tmp_path).read_bytes()
    assert int.from_bytes(content[:8], "little") % 8 == 0


ENTRY = {"dtype": "F64", "shape": [2], "data_offsets": [0, 16]}
TEXT = {"__metadata__": {"mercer": "{}"}}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "0 bytes"),
        (b"1234567", "7 bytes"),
        ((2**63).to_bytes(8, "little") + b"{}", "header of"),
        ((100).to_bytes(8, "little") + b"{}", "header of 100"),
        ((9_000_000).to_bytes(8, "little") + b" " * 9_000_001, "header of 9000000"),
        (forged(b"[]"), "table"),
        (forged(b"{nonsense"), "JSON"),
        (forged(b"\xff\xfe{}"), "JSON"),
        (forged(b"[" * 100_000), "deep|JSON"),
        (forged(b'{"a": 1, "a": 2}'), "twice"),
        (forged(b'{"a": NaN}'), "NaN"),
        (forged(b'{"a": ' + b"9" * 5000 + b"}"), "JSON|texts"),
        (forged({}), "texts"),
        (forged({"__metadata__": {"a": 1}}), "texts"),
        (forged({"__metadata__": [1]}), "texts"),
        (forged({**TEXT, "x": 1}), "not understood"),
        (forged({**TEXT, "x": {**ENTRY, "more": 1}}), "not understood"),
        (forged({**TEXT, "x" * 2000: ENTRY}, b"\0" * 16), "not understood"),
        (forged({**TEXT, "x": {**ENTRY, "dtype": "BF16"}}, b"\0" * 16), "BF16"),
        (forged({**TEXT, "x": {**ENTRY, "dtype": ["F64"]}}, b"\0" * 16), "type"),
        (forged({**TEXT, "x": {**ENTRY, "shape": [-2]}}, b"\0" * 16), "shape"),
        (forged({**TEXT, "x": {**ENTRY, "shape": [2.0]}}, b"\0" * 16), "shape"),
        (forged({**TEXT, "x": {**ENTRY, "shape": [True, 2]}}, b"\0" * 16), "shape"),
        (forged({**TEXT, "x": {**ENTRY, "shape": [1] * 20}}, b"\0" * 16), "shape"),
        (forged({**TEXT, "x": {**ENTRY, "data_offsets": [0, 8, 16]}}, b"\0" * 16), "place"),
        (forged({**TEXT, "x": {**ENTRY, "shape": [3]}}, b"\0" * 16), "16 bytes"),
        (forged({**TEXT, "x": {**ENTRY, "shape": [2**50], "data_offsets": [0, 2**53]}}, b""), "place|bytes"),
        (forged({**TEXT, "x": ENTRY, "y": ENTRY}, b"\0" * 32), "overlap"),
        (forged({**TEXT, "x": {**ENTRY, "data_offsets": [8, 24]}}, b"\0" * 24), "gaps"),
        (forged({**TEXT, "x": ENTRY}, b"\0" * 15), "15 bytes"),
        (forged({**TEXT, "x": ENTRY}, b"\0" * 17), "17 bytes"),
        (forged(TEXT, b"\0"), "1 bytes"),
    ],
)
def test_lies_are_refused(tmp_path, content, words):
    with pytest.raises(ModelError, match=words):
        read(written(tmp_path, content))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (pickle.dumps({"a": 1}), "pickle"),
        (pickle.dumps({"a": 1}, protocol=2), "pickle"),
        (b"PK\x03\x04" + b"\0" * 30, "zip"),
        (b"\x1f\x8b" + b"\0" * 30, "gzip"),
        (b"x\x9c" + b"\0" * 30, "zlib"),
        (b"\x93NUMPY" + b"\0" * 30, "NumPy"),
        (b"\x89HDF\r\n\x1a\n" + b"\0" * 30, "HDF5"),
        (b"svm_type c_svc\nkernel_type rbf\n", "from_libsvm"),
        (b"PAR1" + b"\0" * 30, "Parquet"),
    ],
)
def test_other_files_are_called_by_their_names(tmp_path, content, words):
    with pytest.raises(ModelError, match=words):
        read(written(tmp_path, content))


def test_too_many_arrays(tmp_path, monkeypatch):
    path = written(tmp_path)
    monkeypatch.setattr(tensors, "MOST_TENSORS", 5)
    with pytest.raises(ModelError, match="more than the 5"):
        read(path)
    with pytest.raises(ModelError, match="at most 5"):
        list(pieces(ARRAYS, TEXTS, "sha256"))


def test_a_file_larger_than_memory_is_refused_before_it_is_read(tmp_path, monkeypatch):
    path = written(tmp_path)
    monkeypatch.setattr("mercer.budget.free_memory", lambda: 100)
    with pytest.raises(MemoryBudgetError, match="arrays"):
        read(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes in the file system")
def test_what_is_not_a_file_is_refused():
    with open("/dev/null", "rb") as stream, pytest.raises(ModelError, match="ordinary"):
        read_header(stream, "null")


def test_a_file_that_shrinks_while_it_is_read(tmp_path):
    path = written(tmp_path)
    with open(path, "rb") as stream:
        texts, table = read_header(stream, path)
        stream.seek(path.stat().st_size - 3)
        with pytest.raises(ModelError, match="ends within"):
            read_tensors(stream, path, texts, table, "sha256")


@pytest.mark.parametrize("change", ["shape", "name", "text", "data"])
def test_the_digest_covers_everything(tmp_path, change):
    content = written(tmp_path).read_bytes()
    changed = {
        "shape": lambda: content.replace(b'"shape":[2,3]', b'"shape":[3,2]'),
        "name": lambda: content.replace(b'"point"', b'"paint"'),
        "text": lambda: content.replace(b"a text", b"a tent"),
        "data": lambda: content[:-1] + b"\x07",
    }[change]()
    assert changed != content
    with pytest.raises(ModelError, match="SHA-256"):
        read(written(tmp_path, changed, "changed"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes in the file system")
def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ModelError, match="is not an ordinary file"):
        open_ordinary(tmp_path / "pipe")
    (tmp_path / "file").write_bytes(b"abc")
    with open_ordinary(tmp_path / "file") as stream:
        assert stream.read() == b"abc"
    with pytest.raises(FileNotFoundError):
        open_ordinary(tmp_path / "absent")
