"""The one driver of tiles: threads, symmetric half, Ctrl-C, progress; and where a long computation keeps its state.

A large computation is cut into tasks that each last some milliseconds. Tasks are shared among a few
Python threads which call code that releases the interpreter lock; BLAS runs on one thread inside, so
that each thread owns its tiles in cache and results do not depend on the number of threads. The main
thread only waits, so Ctrl-C is answered at once.

Python answers a signal in the main thread, and only between two of its own instructions: a factorisation of half a
minute called there is deaf for half a minute. `in_background` runs it in a helper thread on which the main thread
waits. A signal may also arrive while a compiled function hands over its result, in a few lines of Python of Numba that
do not expect it: what comes out is a SystemError that hides the KeyboardInterrupt, which `raising_interrupts` finds.
"""

from __future__ import annotations

import contextvars
import functools
import math
import os
import queue
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

from mercer.arrays import Floats
from mercer.runtime.compiled import compiled

Result = TypeVar("Result")
Task = TypeVar("Task")
Monitor = Callable[[float], bool]  # fraction done -> whether to stop
State = dict[str, Any]  # of arrays, numbers, texts, None, and lists and mappings of them

# About a megabyte: small enough to stay in cache between the product and the passes over it, large enough that
# handing the interpreter lock from thread to thread (some 30 microseconds a tile) does not show.
TILE_BYTES = 2**20

WORTH_A_THREAD = 2e9  # floating-point operations: some 50 ms, unnoticed after Ctrl-C
_STEP = 0.05  # seconds; where a wait cannot be interrupted, as on Windows, signals are seen at this pace


class Stopped(Exception):
    """A monitor asked to stop; what was computed so far is incomplete."""


def thread_count(n_threads: int | None) -> int:
    """Return the number of threads to use; None means all the cores this process may run on."""
    if n_threads is not None:
        return max(1, int(n_threads))
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


_SMALL = 1200  # order of matrices whose factorisations are short calls


class _SerialBlas:
    """Hold BLAS at one thread while at least one region needs it, from whichever threads they come."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._depth = 0
        self._libraries: list[Any] | None = None  # those of NumPy and SciPy, and others that were loaded by then
        self._before: list[tuple[Any, int]] = []

    def enter(self) -> None:
        with self._lock:
            if self._depth == 0:
                if self._libraries is None:
                    found = ThreadpoolController().lib_controllers
                    self._libraries = [library for library in found if library.user_api == "blas"]
                # threadpoolctl's own limit describes all libraries at each call, which takes longer than a prediction
                self._before = [(library, library.get_num_threads()) for library in self._libraries]
                self._set([(library, 1) for library, threads in self._before if threads != 1])
            self._depth += 1

    def leave(self) -> None:
        with self._lock:
            self._depth -= 1
            if self._depth == 0:
                self._set([(library, threads) for library, threads in self._before if threads != 1])

    def __enter__(self) -> None:
        self.enter()

    def __exit__(self, *raised: object) -> None:
        self.leave()

    @staticmethod
    def _set(wanted: list[tuple[Any, int]]) -> None:
        for library, threads in wanted:
            library.set_num_threads(threads)


_blas = _SerialBlas()


def serial_blas() -> AbstractContextManager[None]:
    """Run a block of code with BLAS on one thread."""
    return _blas


def blas_for(order: int) -> AbstractContextManager[None]:
    """Return a region in which BLAS has threads of its own only if matrices of this order are large enough for them.

    Between short calls its threads wait for each other, and take the cores from ours.
    """
    return serial_blas() if order < _SMALL else nullcontext()


class _Workers:
    """Threads that wait for work: starting one takes longer than many a small run of tasks.

    A run that starts while all are busy, as one inside a task does, gets new ones; they stay for the next.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._queue: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._idle = 0
        self.busy = 0  # threads that have work now

    def start(self, work: Callable[[], None], count: int) -> None:
        """Let this many threads do the work, each once."""
        with self._lock:
            for _ in range(count - self._idle):
                threading.Thread(target=self._serve, args=(self._queue,), daemon=True, name="mercer-tile").start()
                self._idle += 1
            self._idle -= count
            self.busy += count
        for _ in range(count):  # what is known where the run was started, as NumPy's error state, is known in threads
            self._queue.put(functools.partial(contextvars.copy_context().run, work))

    def _serve(self, jobs: queue.SimpleQueue[Callable[[], None]]) -> None:
        while True:
            jobs.get()()
            with self._lock:
                self._idle += 1
                self.busy -= 1


_workers = _Workers()


def _forget_workers() -> None:
    """Start afresh in a forked process, which has none of its parent's threads."""
    global _workers
    _workers = _Workers()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_workers)


def run_tasks(
    tasks: Sequence[Task],
    work: Callable[[Task], None],
    *,
    n_threads: int | None = None,
    monitor: Monitor | None = None,
    stop: threading.Event | None = None,
) -> None:
    """Do all tasks, a few at a time; raise Stopped if the monitor asks to stop.

    Parameters
    ----------
    tasks : sequence
        What to do; each should last at most about 50 milliseconds.
    work : callable
        Called once per task, from several threads.
    n_threads : int, optional
        None uses every core that this process may use.
    monitor : callable, optional
        Called from the calling thread with the fraction done; a true answer stops the run.
    stop : Event, optional
        Set when the run ends early, by Ctrl-C for instance: a long task checks it and ends.

    Examples
    --------
    >>> seen = []
    >>> run_tasks([1, 2, 3], seen.append, n_threads=1)
    >>> seen
    [1, 2, 3]
    """
    count = min(thread_count(n_threads), len(tasks))
    with raising_interrupts(), serial_blas():
        if count <= 1:
            for done, task in enumerate(tasks, 1):
                work(task)
                if monitor is not None and monitor(done / len(tasks)) and done < len(tasks):
                    raise Stopped
        else:
            _run_threads(tasks, work, count, monitor, threading.Event() if stop is None else stop)


def _run_threads(
    tasks: Sequence[Task],
    work: Callable[[Task], None],
    count: int,
    monitor: Monitor | None,
    stop: threading.Event,
) -> None:
    rest = iter(tasks)
    lock, tick = threading.Lock(), threading.Event()
    state = {"done": 0, "running": count}
    failures: list[BaseException] = []

    def worker() -> None:
        try:
            while not stop.is_set():
                with lock:
                    task = next(rest, None)
                if task is None:
                    break
                work(task)
                with lock:
                    state["done"] += 1
        except BaseException as failure:
            failures.append(failure)
            stop.set()
        finally:
            with lock:
                state["running"] -= 1
                if state["running"] == 0:
                    tick.set()

    _workers.start(worker, count)
    stopped = False
    try:
        # the last worker wakes the main thread; between ticks it only looks at progress and signals
        while not tick.wait(0.05):
            if monitor is not None and monitor(state["done"] / len(tasks)):
                stopped = True
                stop.set()
                break
    finally:
        if not tick.is_set():
            stop.set()
            while not tick.wait(0.05):
                pass
    if failures:
        raise failures[0]
    if stopped:
        raise Stopped
    if monitor is not None:
        monitor(1.0)


def spans(length: int, step: int) -> list[slice]:
    """Cut ``range(length)`` into consecutive slices of at most `step`."""
    return [slice(start, min(start + step, length)) for start in range(0, length, step)]


def tile_side(itemsize: int) -> int:
    """Return the rows (and columns) of a tile that stays in cache."""
    return 512 if itemsize <= 4 else 384


def tile_grid(
    rows: int, columns: int, itemsize: int, *, symmetric: bool = False, side: int | None = None
) -> list[tuple[slice, slice]]:
    """Return the tiles that cover a matrix, or its upper half if it is symmetric.

    Tiles are square and the grid depends on the shape, and on the side that may be asked for, alone, never on the
    number of threads.
    """
    side = tile_side(itemsize) if side is None else min(side, tile_side(itemsize))
    return [(r, c) for r in spans(rows, side) for c in spans(columns, side) if not symmetric or c.start >= r.start]


class Scratch(threading.local):
    """Buffers of one thread, handed out during a tile and all taken back at its end.

    Fresh memory is slow to touch; a thread that works through a thousand tiles needs the same few
    buffers a thousand times.
    """

    def __init__(self) -> None:
        self.buffers: list[np.ndarray] = []
        self.used = 0

    def reset(self) -> None:
        """Take all buffers back: nothing handed out before may be read any more."""
        self.used = 0

    def empty(self, shape: tuple[int, int], dtype: np.dtype) -> np.ndarray:
        """Return an uninitialised array that stays valid until the next `reset`."""
        size = shape[0] * shape[1] * dtype.itemsize
        if self.used == len(self.buffers):
            self.buffers.append(np.empty(max(size, TILE_BYTES), np.uint8))  # as plans of memory count it
        elif self.buffers[self.used].nbytes < size:
            self.buffers[self.used] = np.empty(size, np.uint8)
        raw = self.buffers[self.used][:size]
        self.used += 1
        return raw.view(dtype).reshape(shape)


class _RaisingInterrupts:
    # a class, not a generator: it is entered at every prediction, and a generator takes four times as long
    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if not isinstance(error, SystemError):
            return
        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, KeyboardInterrupt):
                raise KeyboardInterrupt from error
            cause = cause.__cause__


_raising = _RaisingInterrupts()


def raising_interrupts() -> AbstractContextManager[None]:
    """Raise KeyboardInterrupt where the code inside hid one behind a SystemError.

    Examples
    --------
    >>> try:
    ...     with raising_interrupts():
    ...         raise SystemError("a result with an exception set") from KeyboardInterrupt()
    ... except KeyboardInterrupt:
    ...     print("stopped")
    stopped
    """
    return _raising


def in_background(
    function: Callable[..., Result], *args: Any, work: float = math.inf, deadline: float | None = None
) -> Result:
    """Call a function so that the main thread answers Ctrl-C while it runs.

    Parameters
    ----------
    function : callable
        It must give up the interpreter's lock while it computes, as NumPy's functions and
        `mercer.numerics.cholesky.lapack` do.
    *args
        Its arguments.
    work : float, default inf
        About how many floating-point operations it does; a short call is made directly.
    deadline : float, optional
        Moment of ``time.monotonic()`` after which to give up with TimeoutError.

    Returns
    -------
    result : object
        What the function returns; what it raises is raised here.

    Notes
    -----
    After KeyboardInterrupt or TimeoutError the abandoned call continues in the background until it ends by
    itself, with the memory and the processor time it needs, and its result is dropped. Whatever array it
    writes to must therefore not be used again. Outside the main thread, where no signal arrives, a call
    without a deadline is made directly.

    Examples
    --------
    >>> in_background(sum, [1, 2, 3])
    6
    """
    if work < WORTH_A_THREAD:
        return function(*args)
    if deadline is None and threading.current_thread() is not threading.main_thread():
        return function(*args)
    outcome: list[Result] = []
    failure: list[BaseException] = []
    done = threading.Event()
    context = contextvars.copy_context()  # NumPy keeps its error state there

    def run() -> None:
        try:
            outcome.append(context.run(function, *args))
        except BaseException as error:  # raised again below, in the thread that asked
            failure.append(error)
        finally:
            done.set()

    threading.Thread(target=run, daemon=True, name="mercer-background").start()
    while not done.wait(_STEP):
        if deadline is not None and time.monotonic() > deadline:
            raise TimeoutError(f"{getattr(function, '__name__', 'a call')} did not end before its deadline")
    if failure:
        try:
            raise failure[0]
        finally:
            failure.clear()  # the traceback holds this frame: without the cycle it is freed at once
    return outcome[0]


def flat(tile: Floats) -> Floats:
    """Return a C-contiguous tile as one line over the same memory."""
    if not tile.flags.c_contiguous:
        raise ValueError(
            f"a tile of shape {tile.shape} and strides {tile.strides} was given; profiles work in place on "
            "C-contiguous tiles. Compute into a contiguous buffer and copy."
        )
    return tile.reshape(-1)


def scalar(tile: Floats, number: float) -> np.floating:
    """Return a number in the tile's width; one too large for it becomes the largest finite number.

    An infinite scale would turn the distance 0 into NaN.
    """
    largest = float(np.finfo(tile.dtype).max)
    return tile.dtype.type(min(max(number, -largest), largest))


def fresh_copy(tile: Floats, out: Floats | None) -> Floats:
    """Return ``out`` holding the tile's numbers: a fresh array for None, the tile itself for the tile."""
    if out is None:
        return tile.copy(order="C")
    if out is not tile:
        np.copyto(out, tile)
    return out


@compiled
def _transpose(source, target):
    # Squares of 8 by 8 go through a buffer in first-level cache: both the reads of the source and the writes of the
    # target are then whole cache lines, twice as fast as writing single numbers far apart. The squares follow
    # the rows of the target, which is in main memory; the source is a tile in cache.
    rows, columns = source.shape
    square = np.empty((8, 8), source.dtype)
    for left in range(0, columns - 7, 8):
        for top in range(0, rows - 7, 8):
            for i in range(8):
                for j in range(8):
                    square[j, i] = source[top + i, left + j]
            for j in range(8):
                for i in range(8):
                    target[left + j, top + i] = square[j, i]
    for i in range(rows):  # what the squares leave: the last columns, and all of the last rows
        for j in range(0 if i >= rows - rows % 8 else columns - columns % 8, columns):
            target[j, i] = source[i, j]


# "reassoc" lets the sum run in lanes; the sum is 0 or NaN whatever the order.
@compiled(fastmath={"contract", "reassoc"})
def _sum_of_zeros(tile):
    zero = tile.dtype.type(0)
    total = zero
    for i in range(tile.size):
        total += zero * tile[i]
    return total


def transpose_into(source: Floats, target: Floats) -> None:
    """Copy the transpose of a tile (m, n) into another (n, m); either may be a view."""
    if source.shape != target.shape[::-1]:
        raise ValueError(
            f"source {source.shape} and target {target.shape} were given; the target of a transpose has the "
            "reversed shape. Give a target of that shape."
        )
    _transpose(source, target)


def all_finite(tile: Floats) -> bool:
    """Return whether a C-contiguous tile holds no NaN and no infinity."""
    return not math.isnan(_sum_of_zeros(flat(tile)))


# the states of long computations; a store for them is in `mercer.runtime.checkpoints` ------------------


class Kept:
    """The place of one computation among the states of a run; this one keeps nothing.

    Attributes
    ----------
    state : dict or None
        What a former run offered last; None at a fresh start.
    seconds : float
        Time that the former run had taken until then.
    """

    state: State | None = None
    seconds: float = 0.0

    def offer(self, make: Callable[[], State]) -> None:
        """Take a copy of the state if one is due; `make` returns the arrays themselves and is called only then."""

    def close(self, make: Callable[[], State]) -> None:
        """Take a copy of the last state, for runs that are resumed after this computation has ended."""

    def beside(self, make: Callable[[], State]) -> Kept:
        """Return the same place, whose states carry what `make` returns besides, under the name "beside"."""
        return self

    def recall(self, compute: Callable[[], State], **given: Any) -> State:
        """Return the result of the same call, with the same arguments, in an earlier run; otherwise compute it."""
        return compute()


_NOTHING = Kept()


def kept_by(monitor: Any, name: str, **fields: Any) -> Kept:
    """Return the place for the state of a computation.

    Parameters
    ----------
    monitor : callable or None
        What receives the progress of the computation. If it has an attribute ``keeping``, that is asked for the place.
    name : str
        Name of the method.
    **fields : arrays, numbers, texts, None
        What the computation is about, to distinguish it from others.

    Returns
    -------
    Kept

    Raises
    ------
    CheckpointError
        A former run has left a state of another computation at this place.

    Examples
    --------
    >>> kept_by(None, "Newton").state is None
    True
    """
    keeping = getattr(monitor, "keeping", None)
    return _NOTHING if keeping is None else keeping(name, fields)
