"""What must hold for the parts of a model before compiled code may see them.

``pack`` checks raw data; what comes from a file did not come through that door. Compiled loops trust the
offsets and positions that they are given, so these are compared here with the arrays they point into.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.domains import Frames, Pairs, Samples, Similarities, Strings, Vectors
from mercer.errors import ModelError
from mercer.gram import Expansion, FeatureExpansion
from mercer.kernels import Kernel
from mercer.kernels.kmers import Kmers
from mercer.numerics.ragged import Ragged
from mercer.selection import Sigmoid
from mercer.sparse_checks import sparse_fault
from mercer.targets import Binary, Multiclass, Real
from mercer.targets.target import Reduction

__all__ = ["check_record", "check_sparse"]

_FLOATS = (np.dtype(np.float64), np.dtype(np.float32))


def check_record(record: Any) -> Any:
    """Return the record; ModelError unless its parts fit together. Its `check`, if it has one, is called, too."""
    for member in type(record).__mro__:
        check = _CHECKS.get(member) or _CHECKS.get(f"{member.__module__}.{member.__qualname__}")
        if check is not None:
            check(record)
            break
    else:
        if callable(getattr(record, "check", None)):
            record.check()
    return record


def check_sparse(matrix: Any) -> None:
    """ModelError unless the parts of a sparse matrix fit together."""
    if (fault := sparse_fault(matrix)) is not None:
        raise ModelError(f"A sparse matrix of the model is damaged: {fault}. Save the model again.")


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise ModelError(f"The model has {what}, so its parts do not fit together. Save the model again.")


def _is_array(array: Any, ndim: int, *dtypes: Any) -> bool:
    return isinstance(array, np.ndarray) and array.ndim == ndim and array.dtype in dtypes


def _are_positions(array: Any, ndim: int, below: int) -> bool:
    return _is_array(array, ndim, np.intp) and (not array.size or (array.min() >= 0 and int(array.max()) < below))


def _vectors(S: Vectors) -> None:
    X: Any = S.X
    if sp.issparse(X):
        _require(isinstance(X, sp.csr_array) and X.dtype in _FLOATS, "sparse vectors of another kind than CSR")
        check_sparse(X)
        _require(X.has_canonical_format, "sparse vectors whose entries are not in order")
        values = X.data
    else:
        _require(_is_array(X, 2, *_FLOATS), "vectors that are not a table of numbers")
        values = X
    _require(bool(np.isfinite(values).all()), "vectors with values that are not finite")
    if S.names is not None:
        texts = isinstance(S.names, tuple) and all(isinstance(name, str) for name in S.names)
        _require(texts and len(S.names) == S.width, "names of columns that are not one per column")


def _ragged(rows: Ragged) -> None:
    offsets, codes = rows.offsets, rows.codes
    _require(_is_array(offsets, 1, np.intp) and len(offsets) > 0, "rows without offsets")
    _require(isinstance(codes, np.ndarray) and codes.ndim in (1, 2) and codes.dtype.kind in "iuf", "rows of no numbers")
    ordered = offsets[0] == 0 and offsets[-1] == len(codes) and bool(np.all(np.diff(offsets) >= 0))
    _require(ordered, "offsets that are not in order")


def _strings(S: Strings) -> None:
    _require(isinstance(S.ragged, Ragged) and isinstance(S.vocabulary, tuple), "strings without rows or vocabulary")
    _require(len(set(S.vocabulary)) == len(S.vocabulary), "a vocabulary with a symbol that comes twice")
    codes = S.ragged.codes
    _require(_is_array(codes, 1, np.int32), "strings whose codes are not integers")
    inside = not len(codes) or (codes.min() >= 0 and int(codes.max()) < len(S.vocabulary))
    _require(bool(inside), "strings with codes beyond their vocabulary")


def _kmers(keys: Kmers) -> None:
    _require(type(keys.length) is int and keys.length >= 1, "substrings without a length")
    _require(isinstance(keys.vocabulary, tuple), "substrings without a vocabulary")
    _require(_is_array(keys.codes, 1, np.int32, np.int64), "substrings without a text")
    _require(_are_positions(keys.starts, 1, len(keys.codes) - keys.length + 1), "substrings beyond their text")
    inside = not len(keys.codes) or (keys.codes.min() >= -1 and int(keys.codes.max()) < len(keys.vocabulary))
    _require(bool(inside), "substrings with codes beyond their vocabulary")


def _suffix_nodes(keys: Any) -> None:
    _require(isinstance(keys.vocabulary, tuple), "a suffix tree without a vocabulary")
    _require(keys.longest is None or (type(keys.longest) is int and keys.longest >= 1), "a suffix tree without depth")
    _require(_is_array(keys.codes, 1, np.int32), "a suffix tree without a text")
    _ragged(Ragged(keys.codes, keys.offsets))
    inside = not len(keys.codes) or (keys.codes.min() >= 0 and int(keys.codes.max()) < len(keys.vocabulary))
    _require(bool(inside), "a suffix tree with codes beyond its vocabulary")


def _pairs(S: Pairs) -> None:
    _require(isinstance(S.left, Samples) and isinstance(S.right, Samples), "pairs without members")
    index = S.index
    _require(_is_array(index, 2, np.intp) and index.shape[1] == 2, "pairs without an index")
    good = _are_positions(index[:, 0], 1, len(S.left)) and _are_positions(index[:, 1], 1, len(S.right))
    _require(good, "pairs of members that are not there")


def _similarities(S: Similarities) -> None:
    _require(type(S.width) is int and S.width >= 0, "similarities without a width")
    matrix = S.matrix
    height = S.width if matrix is None else len(matrix)
    _require(_are_positions(S.rows, 1, max(height, S.width)), "similarities of rows that are not there")
    if matrix is not None:
        _require(_is_array(matrix, 2, *_FLOATS) and matrix.shape[1] == S.width, "similarities without a matrix")
        _require(_are_positions(S.rows, 1, height), "similarities of rows that are not there")
    if S.position is not None:
        good = _are_positions(S.position, 1, S.width) and len(S.position) == len(S.rows)
        _require(good, "similarities of columns that are not there")
    if S.diagonal is not None:
        _require(_is_array(S.diagonal, 1, *_FLOATS) and len(S.diagonal) == len(S.rows), "a diagonal of another length")


def _frames(S: Frames) -> None:
    good = isinstance(S.parts, dict) and S.parts and all(isinstance(part, Samples) for part in S.parts.values())
    _require(bool(good), "a table without parts")
    _require(len({len(part) for part in S.parts.values()}) == 1, "a table whose parts differ in length")


def _expansion(f: Expansion) -> None:
    _require(isinstance(f.kernel, Kernel) and isinstance(f.samples, Samples), "a function without kernel or samples")
    domains = (f.kernel.domain, *f.kernel.other_domains)
    _require(isinstance(f.samples, domains), f"{type(f.samples).__name__} for the kernel {f.kernel!r:.80}")
    good = _is_array(f.coef, 1, *_FLOATS) or _is_array(f.coef, 2, *_FLOATS)
    _require(good and len(f.coef) == len(f.samples), "coefficients that are not one row per sample")
    intercept = np.asarray(f.intercept)
    _require(intercept.dtype.kind == "f", "an intercept that is not a number")
    _require(intercept.shape in ((), f.coef.shape[1:]), "an intercept that is not one per output")
    _require(isinstance(f.diagonal, (int, float)), "a multiple of the diagonal that is not a number")


def _feature_expansion(f: FeatureExpansion) -> None:
    _require(isinstance(f.kernel, Kernel), "a function without a kernel")
    good = isinstance(f.weights, np.ndarray) and f.weights.ndim in (1, 2) and f.weights.dtype in _FLOATS
    _require(good, "weights that are not one row per feature")
    intercept = np.asarray(f.intercept)
    good = intercept.dtype.kind == "f" and intercept.shape in ((), f.weights.shape[1:])
    _require(good, "an intercept that is not one per output")


def _classes(target: Binary | Multiclass) -> None:
    _require(
        isinstance(target.classes, np.ndarray) and target.classes.ndim == 1, "classes that are not a list of labels"
    )


def _real(target: Real) -> None:
    columns = target.columns
    _require(columns is None or (type(columns) is int and columns >= 1), "targets with a strange number of columns")


def _reduction(reduction: Reduction) -> None:
    code = reduction.code
    _require(_is_array(code, 2, np.dtype(np.float64)) and len(code) >= 2, "classes without a code")
    _require(bool(np.isin(code, (-1.0, 0.0, 1.0)).all()), "a code of other numbers than -1, 0 and 1")
    _require(reduction.kind in ("two", "ovo", "ovr", "code"), "a code of an unknown kind")


def _sigmoid(sigmoid: Sigmoid) -> None:
    numbers = [sigmoid.slope, sigmoid.offset]
    good = all(isinstance(value, (int, float)) and np.isfinite(value) for value in numbers) and sigmoid.slope > 0
    _require(bool(good), "a sigmoid that does not increase")


_CHECKS: dict[type | str, Callable[[Any], None]] = {
    Vectors: _vectors,
    Ragged: _ragged,
    Strings: _strings,
    Kmers: _kmers,
    "mercer.kernels.strings.substrings.SuffixNodes": _suffix_nodes,  # named, so that tables need not load it
    Pairs: _pairs,
    Similarities: _similarities,
    Frames: _frames,
    Expansion: _expansion,
    FeatureExpansion: _feature_expansion,
    Binary: _classes,
    Multiclass: _classes,
    Real: _real,
    Reduction: _reduction,
    Sigmoid: _sigmoid,
}
