"""Named arrays in one file, in the layout of safetensors: a JSON header, then the numbers.

Eight bytes hold the length of the header; the header lists name, type, shape and place of each array, and
carries texts; nothing in such a file is code. It is written and read here, in the few lines that it takes,
so that arrays go to the disk without a second copy in memory and every size is compared with the file and
with the memory budget before anything is allocated.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import stat
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from mercer.budget import Plan, format_bytes
from mercer.errors import ModelError
from mercer.io.atomic import PathLike, Piece

__all__ = ["DTYPES", "bytes_of", "open_ordinary", "pieces", "read_header", "read_tensors"]

LONGEST_HEADER = 8_000_000
MOST_TENSORS = 10_000
MOST_AXES = 8
LONGEST_NAME = 1000

DTYPES: dict[str, np.dtype[Any]] = {
    "BOOL": np.dtype(np.bool_),
    "U8": np.dtype("u1"),
    "I8": np.dtype("i1"),
    "U16": np.dtype("<u2"),
    "I16": np.dtype("<i2"),
    "U32": np.dtype("<u4"),
    "I32": np.dtype("<i4"),
    "U64": np.dtype("<u8"),
    "I64": np.dtype("<i8"),
    "F16": np.dtype("<f2"),
    "F32": np.dtype("<f4"),
    "F64": np.dtype("<f8"),
}
_WORDS = {dtype: word for word, dtype in DTYPES.items()}
_CHUNK = 1 << 22

# what may be mistaken for a model file: first bytes, what it is, what to do
_STRANGERS = (
    (
        b"\x80",
        "a pickle",
        "Pickles can run code when they are read, so they never are. Save the model with mercer.save.",
    ),
    (b"PK\x03\x04", "a zip archive (as of torch, skops, Keras or .npz)", "Save the model with mercer.save."),
    (b"\x1f\x8b", "a gzip file (perhaps of joblib)", "Pickles can run code when they are read, so they never are."),
    (b"x\x9c", "a zlib file (perhaps of joblib)", "Pickles can run code when they are read, so they never are."),
    (b"\x93NUMPY", "a NumPy array", "Read it with numpy.load(path, allow_pickle=False)."),
    (b"\x89HDF", "an HDF5 file", "Save the model with mercer.save."),
    (b"svm_type", "a LIBSVM model", "Read it with mercer.io.from_libsvm."),
    (b"PAR1", "a Parquet file", "It holds data, not a model: fit one with mercer fit."),
)


def pieces(tensors: Mapping[str, NDArray[Any]], texts: Mapping[str, str], digest: str) -> Iterator[Piece]:
    """Yield the content of a file, one piece after another.

    Parameters
    ----------
    tensors : mapping from names to C-contiguous arrays of the types in ``DTYPES``
    texts : mapping from str to str
    digest : str
        Name under which the SHA-256 of all the rest is added to the texts.
    """
    table, begin = {}, 0
    for name, tensor in tensors.items():
        end = begin + tensor.nbytes
        table[name] = {"dtype": _WORDS[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [begin, end]}
        begin = end
    seal = _Seal(texts, table)
    for tensor in tensors.values():
        seal.update(bytes_of(tensor))
    header = json.dumps({"__metadata__": {**texts, digest: seal.hexdigest()}, **table}, separators=(",", ":"))
    encoded = header.encode("ascii")
    encoded += b" " * (-len(encoded) % 8)
    if len(encoded) > LONGEST_HEADER or len(table) > MOST_TENSORS:
        raise ModelError(
            f"A model file with {len(table)} arrays and a header of {format_bytes(len(encoded))} would be needed; at "
            f"most {MOST_TENSORS} and {format_bytes(LONGEST_HEADER)} are read back. Give long lists as arrays."
        )
    yield len(encoded).to_bytes(8, "little")
    yield encoded
    for tensor in tensors.values():
        yield bytes_of(tensor)


def open_ordinary(path: PathLike) -> BinaryIO:
    """Open a file to read; ModelError for anything else: opening a pipe would wait for a writer."""
    if os.path.exists(path) and not os.path.isfile(path):
        raise _error(path, "is not an ordinary file")
    return open(path, "rb")


def read_header(stream: BinaryIO, path: PathLike) -> tuple[dict[str, str], dict[str, Any]]:
    """Return the texts and the table of arrays of an open file, after comparing all sizes with the file's."""
    status = os.fstat(stream.fileno())
    if not stat.S_ISREG(status.st_mode):
        raise _error(path, "is not an ordinary file")
    first = stream.read(8)
    if len(first) < 8:
        raise _error(path, f"has {len(first)} bytes, fewer than any model file")
    length = int.from_bytes(first, "little")
    if not 2 <= length <= min(LONGEST_HEADER, status.st_size - 8):
        raise _stranger(path, first, f"announces a header of {length} bytes in a file of {status.st_size}")
    header = _parsed(stream.read(length), path)
    texts = header.pop("__metadata__", None)
    if not isinstance(texts, dict) or not all(isinstance(text, str) for text in texts.values()):
        raise _error(path, "has no texts about the model in its header")
    if len(header) > MOST_TENSORS:
        raise _error(path, f"has {len(header)} arrays, more than the {MOST_TENSORS} that are read")
    _check_table(header, status.st_size - 8 - length, path)
    return texts, header


def read_tensors(
    stream: BinaryIO, path: PathLike, texts: Mapping[str, str], table: Mapping[str, Any], digest: str
) -> dict[str, NDArray[Any]]:
    """Return the arrays of an open file whose header was just read; ModelError unless the digest agrees."""
    size = sum(entry["data_offsets"][1] - entry["data_offsets"][0] for entry in table.values())
    Plan(f"The model in {os.fspath(path)}", {"arrays": max(size, 1)}).require(None)
    rest = {name: text for name, text in texts.items() if name != digest}
    seal = _Seal(rest, table)
    tensors = {}
    for name, entry in sorted(table.items(), key=lambda item: item[1]["data_offsets"]):
        tensor = np.empty(entry["shape"], DTYPES[entry["dtype"]])
        target = bytes_of(tensor)
        if stream.readinto(target) != len(target):  # pyright: ignore[reportAttributeAccessIssue]
            raise _error(path, f"ends within the array {name!r}")
        seal.update(target)
        tensors[name] = tensor
    if texts.get(digest) != seal.hexdigest():
        raise _error(path, "was changed or damaged after it was written: its SHA-256 differs from the one recorded")
    return tensors


class _Seal:
    """SHA-256 of everything in a file, independent of how the header is laid out."""

    def __init__(self, texts: Mapping[str, str], table: Mapping[str, Any]) -> None:
        self._hash = hashlib.sha256()
        text = json.dumps([sorted(texts.items()), sorted(table.items())], sort_keys=True, separators=(",", ":"))
        self._hash.update(text.encode("ascii") + b"\n")

    def update(self, data: memoryview) -> None:
        for start in range(0, len(data), _CHUNK):
            self._hash.update(data[start : start + _CHUNK])

    def hexdigest(self) -> str:
        return self._hash.hexdigest()


def bytes_of(tensor: NDArray[Any]) -> memoryview:
    """The bytes of a C-contiguous array, without a copy."""
    flat: Any = tensor.reshape(-1).view(np.uint8)
    return memoryview(flat)


def _parsed(encoded: bytes, path: PathLike) -> dict[str, Any]:
    """The header as a dictionary; names that come twice are refused."""
    try:
        header = json.loads(encoded.decode("utf-8"), object_pairs_hook=_distinct, parse_constant=_no_constant)
    except RecursionError:
        raise _error(path, "has a header that is nested too deeply") from None
    except ValueError as error:
        raise _stranger(path, encoded[:8], f"has a header that is not JSON ({error})") from None
    if not isinstance(header, dict):
        raise _error(path, "has a header that is not a table of arrays")
    return header


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name comes twice")
    return found


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is not a number in JSON")


def _check_table(table: Mapping[str, Any], size: int, path: PathLike) -> None:
    """Every array has a known type and a shape that fits its place, and the places fill the file."""
    places = []
    for name, entry in table.items():
        if len(name) > LONGEST_NAME or not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
            raise _error(path, f"describes the array {name[:60]!r} in a way that is not understood")
        shape, place, dtype = entry["shape"], entry["data_offsets"], entry["dtype"]
        if not isinstance(dtype, str) or dtype not in DTYPES:
            raise _error(path, f"has an array {name!r} of the type {str(dtype)[:60]!r}, which is not read")
        if not _are_counts(shape) or not _are_counts(place) or len(shape) > MOST_AXES or len(place) != 2:
            raise _error(path, f"gives the array {name!r} a shape or a place that is not valid")
        if place[1] - place[0] != math.prod(shape) * DTYPES[dtype].itemsize:
            raise _error(path, f"gives the array {name!r} of shape {shape} {place[1] - place[0]} bytes")
        places.append(place)
    end = 0
    for place in sorted(places):
        if place[0] != end:
            raise _error(path, "has arrays that overlap or leave gaps")
        end = place[1]
    if end != size:
        raise _error(path, f"has {size} bytes of numbers where its header announces {end}")


def _are_counts(values: Any) -> bool:
    return isinstance(values, list) and all(type(value) is int and 0 <= value < 2**53 for value in values)


def _stranger(path: PathLike, first: bytes, otherwise: str) -> ModelError:
    for magic, what, advice in _STRANGERS:
        if first.startswith(magic):
            return ModelError(f"{os.fspath(path)} is {what}, not a model file of mercer. {advice}")
    return _error(path, otherwise)


def _error(path: PathLike, what: str) -> ModelError:
    return ModelError(
        f"{os.fspath(path)} {what}; a model file is one that mercer.save has written. Save the model again."
    )
