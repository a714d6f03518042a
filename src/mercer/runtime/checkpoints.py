"""States of long computations: offered between iterations, kept for a while, and restored by a later run.

An iterative method opens a place for its state (`kept_by` in `mercer.runtime.tiling`), resumes what a former run has
left there, and offers its state once in every iteration. Whether it is wanted, and where it goes, is known to the
monitor alone: a `Store` is behind it while a checkpoint is written, and nothing otherwise. A method that gets back all
that it had continues to the same bits.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mercer.errors import CheckpointError
from mercer.runtime.tiling import Kept, State

__all__ = ["Store", "digest"]

_PAUSE = 0.5  # seconds between two copies of a state
_SHARE = 50.0  # times as long as a copy takes until the next one
_STREAMED = 2**15  # rows that are read together


def digest(value: Any) -> str:
    """Return a text that is the same for equal values, and different for different ones.

    Examples
    --------
    >>> digest(np.arange(3)) == digest(np.array([0, 1, 2])), digest([1.0, "a"]) == digest([1.0, "b"])
    (True, False)
    """
    found = hashlib.sha256()
    _feed(found, value)
    return found.hexdigest()


def _feed(found: Any, value: Any) -> None:
    """Add a value to a hash, with its type and its shape."""
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
        found.update(f"{type(value).__name__}:{value!r};".encode("utf-8", "surrogatepass"))
    elif isinstance(value, np.ndarray) and not value.dtype.hasobject:
        found.update(f"array:{value.dtype.str}{value.shape};".encode())
        for start in range(0, len(value) if value.ndim else 0, 4096):  # no copy of all of a strided array
            found.update(np.ascontiguousarray(value[start : start + 4096]).tobytes())
        if not value.ndim:
            found.update(value.tobytes())
    elif isinstance(value, np.random.RandomState):
        _feed(found, value.get_state(legacy=False))
    elif (csr := getattr(value, "tocsr", None)) is not None:  # a sparse matrix
        rows = csr()
        _feed(found, ("sparse", tuple(rows.shape), rows.data, rows.indices, rows.indptr))
    elif isinstance(value, Mapping):
        _feed(found, ("mapping", *(part for item in value.items() for part in item)))
    elif isinstance(value, (list, tuple, np.ndarray)):
        found.update(f"{len(value)}:[".encode())
        for part in value:
            _feed(found, part)
        found.update(b"];")
    elif hasattr(value, "columns") and hasattr(value, "__dataframe__"):
        _feed(found, ("table", [str(name) for name in value.columns], *(np.asarray(value[c]) for c in value.columns)))
    elif hasattr(value, "get_params"):
        apart = getattr(value, "immaterial", ())  # what changes no number
        material = {name: part for name, part in value.get_params(deep=False).items() if name not in apart}
        _feed(found, (type(value).__name__, material))
    elif getattr(value, "is_streamed", False):  # samples that are read in blocks
        found.update(f"{type(value).__name__}:{len(value)};".encode())
        for part in value.tiles(_STREAMED):
            _feed(found, part.arrays)
    elif isinstance(getattr(value, "arrays", None), (list, tuple)):  # packed samples
        _feed(found, (type(value).__name__, value.arrays))
    else:
        _feed_object(found, value)


def _feed_object(found: Any, value: Any) -> None:
    """Add what is known of an object of another kind: its numbers, or its fields, or how it is written."""
    if hasattr(value, "__array__"):
        _feed(found, np.asarray(value))
    elif hasattr(value, "__dict__") and not callable(value) and type(value).__repr__ is object.__repr__:
        _feed(found, (type(value).__name__, vars(value)))
    else:
        _feed(found, (type(value).__name__, repr(value)))


def _copied(value: Any) -> Any:
    """A copy of a state that later iterations do not change; tuples become lists, numbers Python's own."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, Mapping):
        return {name: _copied(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_copied(part) for part in value]
    return value.item() if isinstance(value, np.generic) else value


class Store:
    """The states of all computations of one run, with those that a former run has left.

    Parameters
    ----------
    former : mapping, optional
        Entries as `entries` returns them.
    write : callable, optional
        Called with the entries when it is time to write them.
    every : float, default 60.0
        Seconds between two calls of `write`.

    Examples
    --------
    >>> from mercer.runtime.tiling import kept_by
    >>> store = Store(every=0.0)
    >>> class Watch:
    ...     keeping = staticmethod(lambda name, fields: store.open("0", name, fields))
    >>> kept_by(Watch(), "count", upto=3).offer(lambda: {"i": 2})
    >>> later = Store(store.entries())
    >>> later.open("0", "count", {"upto": 3}).state
    {'i': 2}
    """

    def __init__(
        self,
        former: Mapping[str, Any] | None = None,
        write: Callable[[dict[str, Any]], None] | None = None,
        every: float = 60.0,
    ) -> None:
        self.former: dict[str, Any] = dict(former or {})
        self.write, self.every = write, float(every)
        self.pause = min(_PAUSE, self.every)
        self._entries: dict[str, dict[str, Any]] = {}
        self._lock = threading.Lock()
        self._written = time.monotonic()
        self.changed = False  # since the last time that it was written
        self.unfinished = False  # whether a computation was stopped before it finished

    def open(self, key: str, name: str, fields: Mapping[str, Any]) -> Kept:
        """Return the place of this name, with what a former run has left there."""
        marks = {field: digest(value) for field, value in fields.items()}
        former = self.former.get(key)
        if former is not None:
            _compare(former, name, marks)
        with self._lock:
            self._entries[key] = former or {"name": name, "fields": marks, "seconds": 0.0, "state": None}
        return _Place(self, key, self._entries[key])

    def put(self, key: str, entry: dict[str, Any], quickly: bool) -> None:
        """Replace an entry; write all of them, if it is time and not to be done quickly."""
        with self._lock:
            self._entries[key], self.changed = entry, True
            if not quickly and time.monotonic() - self._written >= self.every:
                self._flush()

    def flush(self) -> None:
        """Write the entries, unless they have been written."""
        with self._lock:
            if self.changed:
                self._flush()

    def _flush(self) -> None:
        if self.write is not None:
            self.write(self.entries())
        self._written, self.changed = time.monotonic(), False

    def entries(self) -> dict[str, Any]:
        """Return a mapping from places to what is kept there: name, fields (digests), seconds and state."""
        both = {**self.former, **self._entries}  # what was left by computations that this run has not reached yet
        return {key: entry for key, entry in both.items() if entry["state"] is not None}


def _compare(former: Mapping[str, Any], name: str, marks: Mapping[str, str]) -> None:
    """Raise CheckpointError unless a state belongs to this computation."""
    if former["name"] != name:
        raise CheckpointError(
            f"The checkpoint has a state of {former['name']} where this fit uses {name}; it can be resumed only by "
            "the fit that wrote it. Fit with the same solver, or choose another file."
        )
    for field in {**former["fields"], **marks}:
        if former["fields"].get(field) != marks.get(field):
            raise CheckpointError(
                f"The checkpoint has a state of {name} with another {field}; it can be resumed only by the fit that "
                f"wrote it. Fit with the same data, weights and parameters, or choose another file."
            )


class _Place(Kept):
    """A place in a store."""

    def __init__(self, store: Store, key: str, entry: dict[str, Any]) -> None:
        self.store, self.key, self.entry = store, key, entry
        self.state = _copied(entry["state"])
        self.seconds = float(entry["seconds"])
        self._began = time.monotonic() - self.seconds
        self._next = time.monotonic() + store.pause
        self._beside: Callable[[], State] | None = None
        self._calls: list[State] = list((self.state or {}).get("calls", ()))
        self._place = 0

    def offer(self, make: Callable[[], State]) -> None:
        if time.monotonic() >= self._next:
            self._keep(make, False)

    def close(self, make: Callable[[], State]) -> None:
        self._keep(make, True)

    def beside(self, make: Callable[[], State]) -> Kept:
        self._beside = make
        return self

    def recall(self, compute: Callable[[], State], **given: Any) -> State:
        mark, place = digest(given), self._place
        self._place += 1
        if place < len(self._calls) and self._calls[place]["given"] == mark:
            return _copied(self._calls[place]["result"])
        del self._calls[place:]
        result = compute()
        self._calls.append({"given": mark, "result": _copied(result)})
        self.store.put(self.key, self._entry({"calls": list(self._calls)}), False)  # records are never changed
        return result

    def _keep(self, make: Callable[[], State], quickly: bool) -> None:
        before = time.monotonic()
        state = make()
        if self._beside is not None:
            state = {**state, "beside": self._beside()}
        copied = _copied(state)
        now = time.monotonic()
        self._next = now + max(self.store.pause, min(_SHARE * (now - before), self.store.every))
        self.store.put(self.key, self._entry(copied), quickly)

    def _entry(self, state: State) -> dict[str, Any]:
        return {**self.entry, "seconds": time.monotonic() - self._began, "state": state}
