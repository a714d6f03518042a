"""A fitted model as a tree of plain values and a table of arrays, and back.

A plain value (None, true, a finite number, a text, a list of values) is stored as it is. Everything else is an
object with one word that says what it is::

    {"float": "inf"}                              a float that JSON has no number for
    {"scalar": ["float32", 0.5]}                  a NumPy scalar
    {"bytes": "00ff"}                             bytes
    {"tuple": [...]}   {"dict": [[key, value], ...]}
    {"array": "name"}  {"array": "name", "order": "F"}
    {"texts": ["bytes", "offsets"], "as": "tuple", "shape": [3]}     texts, as UTF-8 and where each one begins
    {"numbers": "name", "as": "list"}             a long list or tuple of integers or of floats
    {"objects": [...], "shape": [2]}              an array of Python objects
    {"sparse": "csr_array", "shape": [2, 3], "parts": [data, indices, indptr]}
    {"class": "kernel:Gaussian", "params": {...}}                    what its parameters describe
    {"class": "estimator:KernelRidge", "params": {...}, "state": {...}}
    {"class": "samples:Vectors", "fields": {...}}                    a record
    {"choice": "choice:Status", "name": "CONVERGED"}                 a member of an enumeration
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import math
import re
from collections.abc import Callable, Mapping
from enum import Enum
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from mercer.domains import Samples
from mercer.errors import ModelError, ParameterError
from mercer.estimators.fits import seal_computed
from mercer.io.named_arrays import DTYPES
from mercer.io.registry import find_class, id_of
from mercer.kernels import Kernel
from mercer.kernels.kernel import is_scikit_learn
from mercer.numerics.ragged import Ragged
from mercer.problems import Solution
from mercer.runtime.workers import DaskClient
from mercer.sparse_checks import compressed_fault
from mercer.spec import Spec

__all__ = ["Reader", "Writer"]

DEEPEST = 100
_LONG = 16  # longer lists of numbers or texts become arrays
_LARGEST_INTEGER = 10**300
_GROWTH, _SPARE = 12, 2**24  # bytes of Python objects that a file may become, for each of its own and besides
_STATE = re.compile(r"[A-Za-z][A-Za-z0-9_]*_")
_SPARSE = {name: getattr(sp, name) for name in ("csr_array", "csr_matrix", "csc_array", "csc_matrix")}
_SCALARS = {np.dtype(dtype).name: np.dtype(dtype) for dtype in DTYPES.values()}


class Writer:
    """Values into a tree; arrays are put aside, under names that say where they belong.

    Parameters
    ----------
    what : str
        What is written, for messages.

    Attributes
    ----------
    tensors : dict from names to C-contiguous little-endian arrays

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> Writer("a kernel").value(Gaussian(2.0), "kernel")
    {'class': 'kernel:Gaussian', 'params': {'length_scale': 2.0}}
    """

    def __init__(self, what: str) -> None:
        self.what = what
        self.tensors: dict[str, NDArray[Any]] = {}
        self._known: dict[tuple[int, str], tuple[str, Any]] = {}

    def value(self, value: Any, path: str, depth: int = 0) -> Any:
        """The tree of a value at `path`; ParameterError if a file cannot hold it."""
        if depth > DEEPEST:
            raise self._refusal(path, "nested too deeply", f"Use at most {DEEPEST} levels.")
        if value is None or isinstance(value, (bool, str)):
            return str(value) if isinstance(value, str) else value
        if isinstance(value, np.generic):
            return self._scalar(value, path)
        if isinstance(value, Enum):
            return {"choice": self._id(value, path), "name": value.name}
        if isinstance(value, int):
            if abs(value) >= _LARGEST_INTEGER:
                raise self._refusal(path, "an integer of more than 300 digits", "Use a float.")
            return int(value)
        if isinstance(value, float):
            return float(value) if math.isfinite(value) else {"float": repr(float(value))}
        if isinstance(value, bytes):
            return {"bytes": value.hex()}
        if type(value) in (list, tuple):
            return self._sequence(value, path, depth)
        if isinstance(value, dict):
            pairs = [
                [self.value(key, f"{path}.key{i}", depth + 1), self.value(held, f"{path}.{i}", depth + 1)]
                for i, (key, held) in enumerate(value.items())
            ]
            return {"dict": pairs}
        if isinstance(value, np.ndarray):
            return self._array(value, path, depth)
        if sp.issparse(value):
            return self._sparse(value, path)
        if isinstance(value, (np.random.Generator, np.random.RandomState, np.random.BitGenerator)):
            return None  # random state is not part of a fitted model
        if isinstance(value, DaskClient):
            return None  # nor is a connection
        return self._object(value, path, depth)

    def _object(self, value: Any, path: str, depth: int) -> Any:
        name = self._id(value, path)

        def inner(values: Mapping[str, Any]) -> dict[str, Any]:
            return {key: self.value(held, f"{path}.{key}", depth + 1) for key, held in values.items()}

        if isinstance(value, Spec):
            return {"class": name, "params": inner(value.get_params(deep=False))}
        if isinstance(value, BaseEstimator):
            params = value.get_params(deep=False)
            state = {key: held for key, held in vars(value).items() if key not in params and _STATE.fullmatch(key)}
            return {"class": name, "params": inner(params), "state": inner(state)}
        if isinstance(value, Ragged):
            value = value.take(slice(None))  # offsets from 0, and no codes of other rows
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.init}
        if isinstance(value, Solution):
            fields["state"] = None  # factors serve further solving, not prediction
        return {"class": name, "fields": inner(fields)}

    def _id(self, value: Any, path: str) -> str:
        name = None if isinstance(value, type) else id_of(type(value))
        if name is not None:
            return name
        if inspect.isroutine(value) or isinstance(value, (type, np.ufunc)):
            raise self._refusal(
                path,
                f"the function {getattr(value, '__name__', value)!r}",
                "Apply the function to the data before they are given to the model, or write a kernel class of your "
                "own that has the function in its code, and read the file with load(path, classes=[...]).",
            )
        kind = f"{type(value).__module__}.{type(value).__qualname__}"
        raise self._refusal(path, f"an object of the class {kind}", _remedy(value))

    def _refusal(self, path: str, found: str, remedy: str) -> ParameterError:
        return ParameterError(
            f"{self.what} cannot be saved: {path} is {found}; a model file holds data only, never code. {remedy}"
        )

    def _sequence(self, values: list[Any] | tuple[Any, ...], path: str, depth: int) -> Any:
        """A list or a tuple; a long one of texts or numbers as arrays."""
        kind = type(values).__name__
        types = set(map(type, values)) if len(values) > _LONG else set()
        if types == {str}:
            return self._texts(list(values), path, {"as": kind})
        if types == {float} or (types == {int} and all(-(2**63) <= value < 2**63 for value in values)):
            array = np.array(values, dtype=np.float64 if types == {float} else np.int64)
            return {"numbers": self._tensor(array, path), "as": kind}
        members = [self.value(member, f"{path}.{i}", depth + 1) for i, member in enumerate(values)]
        return members if kind == "list" else {"tuple": members}

    def _scalar(self, value: np.generic, path: str) -> Any:
        if isinstance(value, (np.str_, np.bytes_)):
            return self.value(value.item(), path)
        if value.dtype.name not in _SCALARS:
            raise self._refusal(path, f"a number of the type {value.dtype}", "Convert it to float.")
        plain = value.item()
        return {"scalar": [value.dtype.name, plain if math.isfinite(plain) else repr(plain)]}

    def _array(self, value: NDArray[Any], path: str, depth: int) -> Any:
        if isinstance(value, np.ma.MaskedArray):
            raise self._refusal(path, "a masked array", "Fill the masked values.")
        value = np.asarray(value)
        kind = value.dtype.kind
        if kind in "US" or (kind in "OT" and all(type(member) is str for member in value.ravel().tolist())):
            members = value.ravel().tolist()
            word = "object" if kind == "O" else "text" if kind == "T" else value.dtype.str
            return self._texts(members, path, {"as": word, "shape": list(value.shape)})
        if kind in "OT":
            members = [self.value(member, f"{path}.{i}", depth + 1) for i, member in enumerate(value.flat)]
            return {"objects": members, "shape": list(value.shape)}
        if value.dtype.newbyteorder("<") not in DTYPES.values():
            raise self._refusal(path, f"an array of the type {value.dtype}", "Convert it to float64.")
        if value.ndim > 1 and value.flags.f_contiguous and not value.flags.c_contiguous:
            # products of the transposed layout may differ in their last digit
            return {"array": self._tensor(value.T, path, value), "order": "F"}
        return {"array": self._tensor(value, path, value)}

    def _tensor(self, array: NDArray[Any], path: str, original: Any = None) -> str:
        """Put an array aside; one that appears in several places is stored once."""
        original = array if original is None else original
        key = (id(original), array.dtype.str)
        if key not in self._known:
            self.tensors[path] = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).reshape(array.shape)
            self._known[key] = (path, original)  # kept alive, so that no other object gets its id
        return self._known[key][0]

    def _texts(self, members: list[str] | list[bytes], path: str, rest: dict[str, Any]) -> Any:
        encoded = [m if isinstance(m, bytes) else m.encode("utf-8", "surrogatepass") for m in members]
        offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
        np.cumsum([len(one) for one in encoded], out=offsets[1:])
        joined = np.frombuffer(b"".join(encoded), dtype=np.uint8)
        return {"texts": [self._tensor(joined, f"{path}.bytes"), self._tensor(offsets, f"{path}.offsets")], **rest}

    def _sparse(self, value: Any, path: str) -> Any:
        name = type(value).__name__
        if name not in _SPARSE or value.dtype.newbyteorder("<") not in DTYPES.values():
            raise self._refusal(path, f"a sparse {name} of {value.dtype}", "Convert it to scipy.sparse.csr_array.")
        parts = [self._tensor(getattr(value, part), f"{path}.{part}") for part in ("data", "indices", "indptr")]
        return {"sparse": name, "shape": list(value.shape), "parts": parts}


class Reader:
    """A tree into values.

    Parameters
    ----------
    tensors : mapping from names to arrays
    classes : mapping from ids to classes
        Those of a user.
    writer : str
        The version of mercer that wrote the tree, for messages.

    Examples
    --------
    >>> Reader({}, {}, "1.0").value({"class": "kernel:Gaussian", "params": {"length_scale": 2.0}})
    Gaussian(2.0)
    """

    def __init__(self, tensors: Mapping[str, NDArray[Any]], classes: Mapping[str, type], writer: str) -> None:
        self.tensors, self.classes, self.writer = tensors, classes, writer
        self._left = _SPARE + _GROWTH * sum(tensor.nbytes for tensor in tensors.values())
        self._within = 0  # how many Specs the current place is nested in
        self._makers: dict[str, Callable[[dict[str, Any], int], Any]] = {
            "float": self._float,
            "scalar": self._scalar,
            "bytes": lambda node, depth: bytes.fromhex(node["bytes"]),
            "tuple": lambda node, depth: tuple(self._list(node["tuple"], depth)),
            "dict": self._dict,
            "array": self._array,
            "texts": self._texts,
            "numbers": self._numbers,
            "objects": self._objects,
            "sparse": self._sparse,
            "class": self._object,
            "choice": self._choice,
        }

    def value(self, node: Any, depth: int = 0) -> Any:
        """The value of a tree; ModelError if it is not one that a Writer makes."""
        if depth > DEEPEST:
            raise ModelError(f"The model is nested more than {DEEPEST} levels deep, so it is not read.")
        if isinstance(node, list):
            return self._list(node, depth)
        if not isinstance(node, dict):
            return node
        maker = self._makers.get(next(iter(node), ""))
        if maker is None:
            raise ModelError(f"The model has a part {str(sorted(node))[:80]}, which is not understood.")
        return maker(node, depth)

    def _list(self, nodes: Any, depth: int) -> list[Any]:
        if not isinstance(nodes, list):
            raise ModelError("The model has no list where one is expected.")
        return [self.value(node, depth + 1) for node in nodes]

    def _dict(self, node: dict[str, Any], depth: int) -> dict[Any, Any]:
        return {self.value(key, depth + 1): self.value(held, depth + 1) for key, held in node["dict"]}

    def _named(self, nodes: Any, depth: int) -> dict[str, Any]:
        if not isinstance(nodes, dict):
            raise ModelError("The model has no names where some are expected.")
        return {name: self.value(held, depth + 1) for name, held in nodes.items()}

    # numbers and arrays -----------------------------------------------------------------------------

    def _float(self, node: dict[str, Any], depth: int) -> float:
        return {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}[node["float"]]

    def _scalar(self, node: dict[str, Any], depth: int) -> np.generic:
        name, value = node["scalar"]
        if type(value) not in (bool, int, float) and value not in ("inf", "-inf", "nan"):
            raise ModelError(f"The model has the number {str(value)[:40]!r}, which is not one.")
        return _SCALARS[name].type(value)

    def _array(self, node: dict[str, Any], depth: int) -> NDArray[Any]:
        tensor = self.tensors[node["array"]]
        return tensor.T if node.get("order") == "F" else tensor

    def _texts(self, node: dict[str, Any], depth: int) -> Any:
        joined, offsets = (self.tensors[name] for name in node["texts"])
        _check_record(Ragged(joined, offsets.astype(np.intp)))
        self._claim(len(joined) + 64 * len(offsets))
        data, ends, word = joined.tobytes(), offsets.tolist(), node["as"]
        if match := re.fullmatch(r"\|S(\d{1,9})", str(word)):
            encoded = [data[begin:end] for begin, end in pairwise(ends)]
            self._check_width(int(match[1]), encoded, 1)
            return np.array(encoded, dtype=match[0]).reshape(node["shape"])
        texts = [data[begin:end].decode("utf-8", "surrogatepass") for begin, end in pairwise(ends)]
        if word in ("list", "tuple"):
            return texts if word == "list" else tuple(texts)
        if word == "object":
            return _objects(texts, node["shape"])
        if word == "text":
            return np.array(texts, dtype=np.dtypes.StringDType()).reshape(node["shape"])
        match = re.fullmatch(r"[<>]U(\d{1,9})", str(word))
        if match is None:
            raise ModelError(f"The model has texts of the type {str(word)[:40]!r}, which is not understood.")
        self._check_width(int(match[1]), texts, 4)
        return np.array(texts, dtype=f"<U{match[1]}").reshape(node["shape"])

    def _numbers(self, node: dict[str, Any], depth: int) -> Any:
        numbers = self.tensors[node["numbers"]]
        self._claim(40 * numbers.size)
        members = numbers.tolist()
        return members if node["as"] == "list" else tuple(members)

    def _objects(self, node: dict[str, Any], depth: int) -> NDArray[Any]:
        return _objects(self._list(node["objects"], depth), node["shape"])

    def _sparse(self, node: dict[str, Any], depth: int) -> Any:
        data, indices, indptr = (self.tensors[name] for name in node["parts"])
        if any(part.ndim != 1 for part in (data, indices, indptr)) or {indices.dtype.kind, indptr.dtype.kind} != {"i"}:
            raise ModelError("The model has a sparse matrix whose parts are not lists. Save the model again.")
        rows, columns = node["shape"]
        if not all(type(side) is int and 0 <= side < 2**62 for side in (rows, columns)):
            raise ModelError("The model has a sparse matrix without a shape. Save the model again.")
        kind = _SPARSE[node["sparse"]]
        lines, width = (rows, columns) if node["sparse"].startswith("csr") else (columns, rows)
        # before SciPy sees the parts: it cuts off what it takes for superfluous
        fault = compressed_fault(indptr, indices, len(data), lines, width)
        if fault is not None or len(data) != len(indices) or int(indptr[-1]) != len(data):
            damage = fault or f"{int(indptr[-1])} entries are announced, {len(indices)} indices are there"
            raise ModelError(f"A sparse matrix of the model is damaged: {damage}. Save the model again.")
        return kind((data, indices, indptr), shape=(rows, columns))

    def _check_width(self, width: int, members: list[Any], itemsize: int) -> None:
        """A type wide enough for its texts, and not so wide that a small file asks for much memory."""
        if width < max(map(len, members), default=0):
            raise ModelError(f"The model has texts of a type for {width} letters, which are longer.")
        self._claim(itemsize * width * len(members))

    def _claim(self, size: int) -> None:
        """Count memory for what is made of the file; one that names a part many times cannot have it many times."""
        self._left -= size
        if self._left < 0:
            raise ModelError("The model asks for far more memory than its file has numbers. Save the model again.")

    # objects ----------------------------------------------------------------------------------------

    def _choice(self, node: dict[str, Any], depth: int) -> Any:
        member = find_class(node["choice"], self.classes, self.writer)
        if not issubclass(member, Enum):
            raise ModelError(f"The model takes {member.__name__} for a list of choices.")
        return member[node["name"]]

    def _object(self, node: dict[str, Any], depth: int) -> Any:
        member = find_class(node["class"], self.classes, self.writer)
        if issubclass(member, Spec):
            return self._spec(member, node, depth)
        if issubclass(member, BaseEstimator):
            return self._estimator(member, node, depth)
        if issubclass(member, Enum):
            raise ModelError(f"The model takes {member.__name__} for an object.")
        fields = self._named(node["fields"], depth)
        self._check_names(member, fields, [field.name for field in dataclasses.fields(member) if field.init])
        return _prepared(_check_record(member(**_shared(fields))))

    def _spec(self, member: type[Spec], node: dict[str, Any], depth: int) -> Spec:
        self._within += 1
        params = self._named(node["params"], depth)
        self._within -= 1
        self._check_names(member, params, list(inspect.signature(member.__init__).parameters)[1:])
        spec = member(**params)
        return spec if self._within else spec.check()  # which looks at nested ones, too

    def _estimator(self, member: type[BaseEstimator], node: dict[str, Any], depth: int) -> BaseEstimator:
        params, state = self._named(node["params"], depth), self._named(node["state"], depth)
        self._check_names(member, params, list(inspect.signature(member.__init__).parameters)[1:])
        estimator = member(**params)
        check = getattr(estimator, "_check_parameters", None)
        if callable(check):
            check()
        for name, held in state.items():
            if not _STATE.fullmatch(name) or hasattr(member, name):
                raise ModelError(f"The model has {name[:60]!r} among what {member.__name__} has learned, which is not.")
            setattr(estimator, name, held)
        seal_computed(estimator)
        return estimator

    def _check_names(self, member: type, given: Mapping[str, Any], known: list[str]) -> None:
        strange = [name for name in given if name not in known]
        if strange:
            raise ModelError(
                f"The model gives {member.__name__} the parameter {strange[0][:60]!r}, which this version of mercer "
                f"does not know; it was written by mercer {self.writer}. Read it with that version, or a newer one."
            )


def _check_record(record: Any) -> Any:
    """Return a record that was read, if its parts fit together; what is only written needs no check."""
    return importlib.import_module("mercer.io.checks").check_record(record)


def _remedy(value: Any) -> str:
    """What to do about an object of another library."""
    if is_scikit_learn(value):
        kernel = importlib.import_module("mercer.kernels.foreign").translated(value).kernel
        return f"Use mercer's kernel instead: {kernel!r}." if kernel is not None else "Leave it out."
    if isinstance(value, Samples):
        return "Samples of any kind are not stored; use a kernel of mercer, whose samples are arrays."
    if hasattr(value, "transform"):
        return "Transform the data before the model sees them, as a Pipeline does, and keep the transformer separately."
    return "Use numbers, texts, arrays, and classes of mercer."


def _objects(members: list[Any], shape: Any) -> NDArray[Any]:
    array = np.empty(len(members), dtype=object)
    array[:] = members
    return array.reshape(shape)


def _shared(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields, samples of the same arrays being one object again: pairs of one collection are compared as such."""
    kept: list[Samples] = []
    for name, value in fields.items():
        if isinstance(value, Samples) and value.arrays:
            fields[name] = next((other for other in kept if _are_same(other, value)), value)
            kept.append(fields[name])
    return fields


def _are_same(a: Samples, b: Samples) -> bool:
    return (
        type(a) is type(b)
        and len(a.arrays) == len(b.arrays)
        and all(
            x.ctypes.data == y.ctypes.data and x.shape == y.shape and x.strides == y.strides and x.dtype == y.dtype
            for x, y in zip(a.arrays, b.arrays, strict=True)
        )
    )


def _prepared(record: Any) -> Any:
    """The record with its samples prepared by its kernel: what is derived from them is not stored."""
    kernel = getattr(record, "kernel", None)
    if not isinstance(kernel, Kernel):
        return record
    held = {field.name: getattr(record, field.name) for field in dataclasses.fields(record) if field.init}
    samples = {name: kernel.prepare(value) for name, value in held.items() if isinstance(value, Samples)}
    return dataclasses.replace(record, **samples) if samples else record
