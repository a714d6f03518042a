"""Checkpoints of long fits: a callback that keeps the states of solvers in a file, and resumes from them.

The file is a safetensors file as that of a model: one array of bytes, and one JSON text that says what is in it. It
says for which fit it was written; another fit is refused, and the message names what differs.
"""

from __future__ import annotations

import contextlib
import glob
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.budget import parse_seconds
from mercer.errors import CheckpointError, ModelError, ParameterError, warn_caller
from mercer.io.atomic import OverwriteError, PathLike, require_replaceable, write_atomically
from mercer.io.model_file import versions
from mercer.io.named_arrays import DTYPES, bytes_of, open_ordinary, pieces, read_header, read_tensors
from mercer.runtime.checkpoints import Store, digest

__all__ = ["Checkpoint"]
__public__ = __all__

SCHEMA = 1
_TEXT, _DIGEST, _NUMBERS = "mercer-checkpoint", "sha256", "numbers"
_BUDGETS = ("memory", "max_time", "n_threads", "verbose")  # parameters that no number depends on
_WORDS = {dtype: word for word, dtype in DTYPES.items()}


class Checkpoint:
    """Write the state of a fit to a file from time to time, and resume from there if the fit was killed.

    The resumed fit ends with the same bits as one that was never interrupted.

    Parameters
    ----------
    path : str or path
        The file. If it exists, the fit resumes from it; before it is replaced it is renamed to ``path.previous``,
        so that one whole file exists at every moment.
    every : float or str, default "60s"
        Time between two writes: seconds, or text such as "5min".
    keep : bool, default False
        Whether the files stay after a fit that has come to its end. They always do after one that has not: when it was
        interrupted, out of time (`max_time`), or stopped by a callback.

    Attributes
    ----------
    resumed : bool
        Whether the last fit resumed from a file.

    Raises
    ------
    CheckpointError
        At the beginning of a fit: the files are damaged, or were written by a fit of other data, other parameters
        (budgets aside) or another version. The message names what differs.

    Notes
    -----
    It is given to any estimator as one of scikit-learn's callbacks, ``estimator.set_callbacks(Checkpoint(path))``, and
    is not a parameter of the estimator: where a fit keeps its state has nothing to do with the model, and a copy of the
    estimator that a grid search makes must not write to the same file at the same time. States of `SMO`,
    `ConjugateGradient`, `PrimalGradient`, `PrimalNewton`, `Newton`, `DualDescent`, of eigenvectors by products
    (`KernelPCA`, `SpectralClustering`, manifolds), of restarts of k-means and of searches over hyper-parameters are
    kept; other methods start again. The state is copied at most twice a second and for at most one
    fiftieth of the time; on Ctrl-C the last copy is written. A fit that draws random numbers needs an integer as its
    `random_state`.

    Examples
    --------
    >>> import tempfile
    >>> from mercer import KernelRidge
    >>> from mercer.gram import Tiles
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     saved = Checkpoint(f"{folder}/line.checkpoint", every="60s")
    ...     model = KernelRidge(alpha=0.1, gram=Tiles()).set_callbacks(saved).fit([[0.0], [1.0]], [0.0, 1.0])
    >>> saved.resumed
    False
    """

    def __init__(self, path: PathLike, every: float | str = "60s", keep: bool = False) -> None:
        self.path = path
        self.every = every
        self.keep = keep
        self.resumed = False
        self.store: Store | None = None
        self._seconds = parse_seconds(every)
        self._fit: dict[str, Any] = {}
        self._context: Any = None
        self._whole = False  # whether the file of that name may become the previous one

    def __repr__(self) -> str:
        return f"Checkpoint({os.fspath(self.path)!r}, every={self.every!r})"

    @property
    def previous(self) -> str:
        """Where the file before the last is."""
        return f"{self._file}.previous"

    @property
    def _file(self) -> str:
        """The file itself, where the path is a link to it."""
        return os.path.realpath(self.path) if os.path.islink(self.path) else os.fspath(self.path)

    @property
    def found(self) -> bool:
        """Whether there is a file to resume from."""
        return any(map(os.path.exists, (self.path, self.previous)))

    # what scikit-learn calls ---------------------------------------------------------------------------

    def setup(self, estimator: Any, context: Any) -> None:
        """Begin with a fit."""
        if self.store is not None:
            raise CheckpointError(
                f"{self!r} is in use by another fit; one fit at a time can be kept in a file. Give each estimator a "
                "Checkpoint of its own."
            )
        folder = os.path.dirname(os.path.abspath(os.fspath(self.path)))
        if not (os.path.isdir(folder) and os.access(folder, os.W_OK)):  # not after a minute of work
            raise CheckpointError(
                f"{self!r} was given; {folder} is not a folder in which files can be written. Make it, or give another "
                "path."
            )
        for path in (self.path, self.previous):
            try:
                require_replaceable(path, force=True)
            except (OverwriteError, ParameterError) as error:
                raise CheckpointError(f"{self!r} was given: {error}") from None
        self._context = context

    def on_fit_task_begin(self, estimator: Any, context: Any, *, X: Any = None, y: Any = None) -> None:
        """Look for a state to resume from."""
        if context is not self._context or self.store is not None:
            return
        self._fit = _description(estimator, X, y)
        former = self._read()
        self.resumed = former is not None
        self.store = Store(former, self._write, self._seconds)

    def on_fit_task_end(self, estimator: Any, context: Any) -> bool:
        """Remove the files of a fit that is done."""
        if context is self._context and self.store is not None:
            store, self.store = self.store, None
            if self.keep or store.unfinished:
                store.flush()
            else:
                self.remove()
        return False

    def teardown(self, estimator: Any, context: Any) -> None:
        """Write the last state of a fit that has not come to its end."""
        store, self.store, self._context = self.store, None, None
        if store is not None:
            store.flush()

    # the files -----------------------------------------------------------------------------------------

    def remove(self) -> None:
        """Remove both files, if they are there."""
        for path in (self.path, self.previous):
            if os.path.isfile(path):
                os.unlink(path)
        self._clear()

    def _clear(self) -> None:
        """Remove what a process killed while writing has left behind."""
        folder, name = os.path.split(os.path.realpath(self.path))
        for path in Path(folder).glob(f".{glob.escape(name[:100])}.*.tmp"):
            with contextlib.suppress(OSError):
                path.unlink()

    def _read(self) -> dict[str, Any] | None:
        """Return what the newest whole file holds, or None if there is no file."""
        self._clear()
        self._whole, damage = False, None
        for path in (os.fspath(self.path), self.previous):
            if not os.path.exists(path):
                continue
            try:
                document, numbers = _contents(path)
            except (ModelError, CheckpointError) as error:
                damage = damage or CheckpointError(
                    f"{path} is not a checkpoint that can be resumed ({error}) Remove it to start again."
                )
                continue
            _require_same(document["fit"], self._fit, path)
            self._whole = path == os.fspath(self.path)
            if damage is not None:
                warn_caller(f"{os.fspath(self.path)} is damaged; the fit resumes from the earlier {path}.", UserWarning)
            return _decoded(document["entries"], numbers)
        if damage is not None:
            raise damage
        return None

    def _write(self, entries: dict[str, Any]) -> None:
        """Replace the file; warn if it cannot be written, and let the fit go on."""
        encoder = _Encoder()
        tree = encoder.value(entries)
        text = json.dumps({"schema": SCHEMA, "fit": self._fit, "entries": tree}, separators=(",", ":"))
        try:
            if self._whole:
                os.replace(self._file, self.previous)
            write_atomically(self.path, pieces({_NUMBERS: encoder.numbers()}, {_TEXT: text}, _DIGEST), force=True)
            self._whole = True
        except OSError as error:
            self._whole = False
            warn_caller(
                f"The checkpoint {os.fspath(self.path)} could not be written ({error}); the fit goes on, and the one "
                "before is kept. Make room on the disk, or give another path.",
                UserWarning,
            )


def _description(estimator: Any, X: Any, y: Any) -> dict[str, Any]:
    """What a state belongs to: class, versions, parameters and data."""
    parameters = {name: value for name, value in estimator.get_params(deep=False).items() if name not in _BUDGETS}
    return {
        "estimator": type(estimator).__name__,
        "versions": versions(),
        "parameters": {name: [repr(value)[:200], digest(value)] for name, value in parameters.items()},
        "X": digest(X),
        "y": digest(y),
    }


def _require_same(then: Mapping[str, Any], now: Mapping[str, Any], path: str) -> None:
    """Raise CheckpointError, naming the first field that differs."""
    advice = "Remove it, or choose another path, to start again."
    if then["estimator"] != now["estimator"]:
        raise CheckpointError(f"{path} was written by {then['estimator']}, this is {now['estimator']}. {advice}")
    for name in {**then["versions"], **now["versions"]}:
        before, after = (side["versions"].get(name) for side in (then, now))
        if before != after:
            raise CheckpointError(
                f"{path} was written with {name} {before}, this is {name} {after}; the same bits are promised for "
                f"equal versions only. {advice}"
            )
    for name in {**then["parameters"], **now["parameters"]}:
        before, after = (side["parameters"].get(name, ["nothing", ""]) for side in (then, now))
        if before[1] != after[1]:
            raise CheckpointError(
                f"{path} was written with {name}={before[0]}, this fit has {name}={after[0]}. {advice}"
            )
    for name in ("X", "y"):
        if then[name] != now[name]:
            raise CheckpointError(f"{path} was written by a fit to another {name}. Fit to the same data. {advice}")


def _contents(path: PathLike) -> tuple[dict[str, Any], NDArray[Any]]:
    with open_ordinary(path) as stream:
        texts, table = read_header(stream, path)
        if set(texts) != {_TEXT, _DIGEST} or set(table) != {_NUMBERS}:
            raise CheckpointError("it is another kind of file.")
        tensors = read_tensors(stream, path, texts, table, _DIGEST)
    document = json.loads(texts[_TEXT])
    if document["schema"] != SCHEMA:
        raise CheckpointError(f"it has schema {document['schema']}; this version reads schema {SCHEMA}.")
    return document, tensors[_NUMBERS]


class _Encoder:
    """States as JSON, their arrays in one array of bytes."""

    def __init__(self) -> None:
        self._parts: list[memoryview] = []
        self._size = 0

    def value(self, value: Any) -> Any:
        if isinstance(value, np.ndarray):
            array = np.ascontiguousarray(value)
            begin = self._size
            self._parts.append(bytes_of(array))
            self._size += array.nbytes
            return {"array": [_WORDS[array.dtype], list(value.shape), begin, self._size]}
        if isinstance(value, Mapping):
            return {"map": {name: self.value(part) for name, part in value.items()}}
        if isinstance(value, (list, tuple)):
            return [self.value(part) for part in value]
        return value

    def numbers(self) -> NDArray[Any]:
        return np.frombuffer(b"".join(self._parts), dtype=np.uint8)


def _decoded(tree: Any, numbers: NDArray[Any]) -> Any:
    if isinstance(tree, list):
        return [_decoded(part, numbers) for part in tree]
    if not isinstance(tree, dict):
        return tree
    if "map" in tree:
        return {name: _decoded(part, numbers) for name, part in tree["map"].items()}
    word, shape, begin, end = tree["array"]
    return numbers[begin:end].copy().view(DTYPES[word]).reshape(shape)
