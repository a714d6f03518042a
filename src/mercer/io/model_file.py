"""The model file: one file, data only, that restores a fitted estimator to the bit.

It is a safetensors file: arrays, and one JSON text that says which classes of a closed list they belong to.
Nothing in it is code, and nothing of it is run.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Callable, Iterable
from typing import Any, BinaryIO

import numpy as np
import scipy
import sklearn
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

import mercer
from mercer.budget import format_bytes
from mercer.domains import Samples
from mercer.errors import MemoryBudgetError, ModelError, ParameterError
from mercer.io.atomic import PathLike, require_replaceable, write_atomically
from mercer.io.named_arrays import bytes_of, open_ordinary, pieces, read_header, read_tensors
from mercer.io.plain_values import Reader, Writer
from mercer.io.registry import id_of, user_classes

__all__ = ["describe", "load", "save"]

SCHEMA = 1
UPGRADES: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {}
"""What turns a document of schema n into one of schema n + 1."""

_TEXT, _DIGEST = "mercer", "sha256"
_MOST_PARTS = 400_000  # lists and objects in the text: each takes some hundred bytes once it is read
_LONGEST_NAMES = 1_000_000  # characters of column names that are listed in the header


def save(estimator: BaseEstimator, path: PathLike, *, force: bool = False) -> None:
    """Write a fitted estimator to one file that holds data only.

    Parameters
    ----------
    estimator : estimator
        Of mercer, or of your own with Specs, numbers, texts and arrays as parameters and fitted attributes.
    path : str or path
        By custom ``something.mercer``.
    force : bool, default False
        Whether a file that is there already may be replaced.

    Raises
    ------
    ParameterError
        Something in the estimator is not data: a function, an object of another library. The message says
        where it is and what to do.
    OverwriteError
        There is a file of that name, and ``force`` is false; or a pipe, a device or a folder.

    Notes
    -----
    The file is a safetensors file: any reader of that format shows its arrays. The same model gives the same
    bytes. The file appears whole or not at all, whatever happens while it is written. Parameters, fitted
    attributes and the samples that predictions need are stored; callbacks, random number generators and what
    can be computed again are not. Classes of your own (kernels and other Specs, estimators, samples) are
    stored by name, and have to be given to `load`.

    Examples
    --------
    >>> import tempfile
    >>> from mercer import KernelRidge
    >>> from mercer.kernels import Gaussian
    >>> model = KernelRidge(Gaussian(1.0), alpha=0.1).fit([[0.0], [1.0]], [0.0, 1.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, f"{folder}/line.mercer")
    ...     again = load(f"{folder}/line.mercer")
    >>> again
    KernelRidge(alpha=0.1, kernel=Gaussian(1.0))
    >>> bool(again.predict([[0.3]]) == model.predict([[0.3]]))
    True
    """
    _require_savable(estimator)
    require_replaceable(path, force=force)  # before the work
    writer = Writer(type(estimator).__name__)
    tree = writer.value(estimator, "model")
    document = {
        "schema": SCHEMA,
        "written_by": versions(),
        "features": _features(estimator),
        "training": _fingerprint(estimator),
        "model": tree,
    }
    text = json.dumps(document, allow_nan=False, separators=(",", ":"))
    write_atomically(path, pieces(writer.tensors, {_TEXT: text}, _DIGEST), force=force)


def load(path: PathLike, *, classes: Iterable[type] = ()) -> Any:
    """Read a fitted estimator from a file written by `save`.

    Parameters
    ----------
    path : str or path
    classes : iterable of classes, optional
        Classes of your own that the model uses: kernels and other Specs, estimators, samples.

    Returns
    -------
    estimator
        Its predictions are those of the one saved, to the bit.

    Raises
    ------
    ModelError
        The file is not a model file, is damaged, uses a class that is not known, or is too new.
    MemoryBudgetError
        The arrays do not fit in memory.

    Notes
    -----
    A file from a stranger is safe to read: no code is in it, none is looked up by name outside a closed list,
    sizes are checked before anything is allocated, and every array is compared with what points into it. A
    change of a single byte is detected by a SHA-256 over everything; it shows damage, not who wrote the file.
    Pickles are never read.
    """
    own = user_classes(classes)
    with open_ordinary(path) as stream:
        document, tensors = _read(stream, path)
    writer = _writer(document)
    try:
        estimator = Reader(tensors, own, writer).value(document["model"])
        if not isinstance(estimator, BaseEstimator):
            raise ModelError(f"{os.fspath(path)} holds no estimator, but a {type(estimator).__name__}.")
        check_is_fitted(estimator)
    except (ModelError, MemoryBudgetError) as error:
        raise type(error)(f"{os.fspath(path)}: {error}") from error
    except Exception as error:
        # Constructors are given what a file says. Whatever they object to is the file's fault.
        raise ModelError(
            f"{os.fspath(path)} is not a model that this version of mercer understands ({type(error).__name__}: "
            f"{str(error)[:200]}); it was written by mercer {writer}. Save the model again."
        ) from error
    return estimator


def describe(path: PathLike) -> dict[str, Any]:
    """What a model file says about itself, without loading the model.

    Only the header is read, so it is quick for any model; `load` checks whether the arrays are whole.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    dict
        ``schema``, ``written_by`` (versions), ``features`` (count and names), ``training`` (numbers of samples,
        SHA-256 of those kept), ``class`` (id of the estimator) and ``bytes`` of all arrays.
    """
    with open_ordinary(path) as stream:
        texts, table = read_header(stream, path)
    document = _document(texts, path)
    kept = {name: document.get(name) for name in ("schema", "written_by", "features", "training")}
    model = document.get("model")
    size = sum(entry["data_offsets"][1] - entry["data_offsets"][0] for entry in table.values())
    return {**kept, "class": model.get("class") if isinstance(model, dict) else None, "bytes": format_bytes(size)}


def _read(stream: BinaryIO, path: PathLike) -> tuple[dict[str, Any], dict[str, Any]]:
    texts, table = read_header(stream, path)
    document = _document(texts, path)
    return document, read_tensors(stream, path, texts, table, _DIGEST)


def _document(texts: dict[str, str], path: PathLike) -> dict[str, Any]:
    """The JSON text of a file, brought up to the current schema."""
    if set(texts) != {_TEXT, _DIGEST}:
        raise ModelError(
            f"{os.fspath(path)} is a safetensors file, but not one of mercer: it says nothing about a model. "
            "Give a file that mercer.save has written."
        )
    try:
        if (count := texts[_TEXT].count("{") + texts[_TEXT].count("[")) > _MOST_PARTS:
            raise ValueError(f"{count} parts, more than {_MOST_PARTS}")
        document = json.loads(texts[_TEXT])
        schema = document["schema"]
        if type(schema) is not int or schema < 1:
            raise ValueError(f"schema {schema!r}")
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ModelError(f"{os.fspath(path)} describes its model in a way that is not understood ({error}).") from None
    if schema > SCHEMA:
        raise ModelError(
            f"{os.fspath(path)} has schema {schema}, written by mercer {_writer(document)}; this is mercer "
            f"{mercer.__version__}, which reads schemas up to {SCHEMA}. Install a newer mercer."
        )
    try:
        for number in range(schema, SCHEMA):
            document = UPGRADES[number](document)
    except Exception as error:  # an old document is what a file says: whatever is wrong with it is the file's fault
        raise ModelError(
            f"{os.fspath(path)} has schema {schema} and cannot be brought up to schema {SCHEMA} "
            f"({type(error).__name__}: {str(error)[:200]}). Save the model again with the mercer that wrote it."
        ) from error
    if "model" not in document:
        raise ModelError(f"{os.fspath(path)} has no model in it. Save the model again.")
    return document


def _writer(document: dict[str, Any]) -> str:
    versions = document.get("written_by")
    return str(versions.get("mercer", "?"))[:40] if isinstance(versions, dict) else "?"


def _require_savable(estimator: Any) -> None:
    if not isinstance(estimator, BaseEstimator) or id_of(type(estimator)) is None:
        inner = "best_estimator_" if hasattr(estimator, "best_estimator_") else "the estimator of mercer in it"
        raise ParameterError(
            f"save was given a {type(estimator).__name__}; fitted estimators of mercer, or of your own, are accepted. "
            f"Save {inner}, and keep other libraries' parts in their own formats."
        )
    check_is_fitted(estimator)


def versions() -> dict[str, str]:
    """Versions of mercer and of what its numbers depend on."""
    return {
        "mercer": mercer.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }


def _features(estimator: Any) -> dict[str, Any]:
    """Number and names of the columns that the model was fitted on, for readers of the header alone."""
    names = getattr(estimator, "feature_names_in_", None)
    listed = None if names is None else [str(name) for name in names]
    if listed is not None and sum(map(len, listed)) > _LONGEST_NAMES:
        listed = None
    count = getattr(estimator, "n_features_in_", None)
    return {"count": None if count is None else int(count), "names": listed}


def _fingerprint(estimator: Any) -> dict[str, Any]:
    """Numbers of training samples and of those kept, and the SHA-256 of the latter."""
    samples = getattr(getattr(estimator, "expansion_", None), "samples", None)
    coef = getattr(estimator, "dual_coef_", None)
    if not isinstance(samples, Samples):
        return {"samples": None if coef is None else len(coef), "kept": None, "sha256": None}
    digest = hashlib.sha256()
    for array in samples.arrays:
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(bytes_of(np.ascontiguousarray(array)))
    n = len(samples) if coef is None else len(coef)
    return {"samples": n, "kept": len(samples), "sha256": digest.hexdigest()}
