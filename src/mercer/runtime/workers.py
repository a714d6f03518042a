"""Where work is done: in this process, or by the workers of a Dask cluster; the same tasks and the same sums in both.

A computation is cut into tasks over fixed blocks of samples, whatever the number of workers, and what tasks return is
added in the order of a fixed binary tree. Inside a task BLAS has one thread. So the numbers are the same to the bit in
this process, on one worker and on many, and even if workers die in the middle: whatever was lost with them is computed
again from how it was made, which the scheduler remembers.

Only this file imports Dask.
"""

from __future__ import annotations

import atexit
import importlib.util
import logging
import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
import uuid
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Protocol, runtime_checkable

from mercer.errors import CapabilityError, MercerError, ParameterError, TimeBudgetError, warn_caller
from mercer.runtime.tiling import serial_blas, thread_count

__all__ = [
    "Cluster",
    "ClusterError",
    "DaskClient",
    "Crew",
    "Here",
    "dismiss",
    "hire",
    "leave",
    "send_home",
    "share",
    "users",
]

HERE = "here"
_GONE = ("closed", "failed")  # states of a worker's keeper
_FAILURES = 20  # workers that may die with a task before the task is blamed
_AGAIN = 3  # times that a task that was blamed is tried again
_PATIENCE = 60.0  # seconds to wait for a scheduler to have a worker, at the start and when all of them are gone
_SILENT = 5.0  # seconds of that after which a warning says so
_GRACE = 30.0  # seconds beyond the end of the time in which some task must end
_LOOK = 0.5  # seconds between two looks at the workers
_RETRIES = 2  # of a task that fails, as when a disk does not answer


class ClusterError(MercerError, ConnectionError):
    """A cluster cannot be reached, or has lost what it cannot make again."""


class LonelyError(ClusterError):
    """A cluster has no worker left."""


@runtime_checkable
class DaskClient(Protocol):
    """A Client or a cluster of Dask."""

    scheduler_info: Any
    dashboard_link: Any


class Crew(ABC):
    """The workers that run tasks.

    Attributes
    ----------
    threads : int or None
        Threads that one task may use; None is every core.
    """

    threads: int | None = 1

    @abstractmethod
    def submit(self, function: Callable[..., Any], *args: Any) -> Any:
        """Schedule a call of a function; return a handle of the result, which may be among the arguments of others."""

    @abstractmethod
    def gather(self, handles: Sequence[Any], deadline: float | None = None) -> list[Any]:
        """Return the results of handles once they are there; there is no waiting beyond the deadline."""

    def hold(self, value: Any) -> Any:
        """Return a handle of a value, which is sent once to each worker that needs it."""
        return self.submit(_itself, value)

    def close(self) -> None:
        """Send everybody home."""
        return


class Here(Crew):
    """The calling process: each task is run when it is submitted.

    Examples
    --------
    >>> crew = Here()
    >>> crew.gather([crew.submit(abs, -2), crew.submit(max, 1, crew.hold(3))])
    [2, 3]
    """

    def __init__(self, threads: int | None = None) -> None:
        self.threads = threads

    def submit(self, function: Callable[..., Any], *args: Any) -> Any:
        return _serially(function, *args)

    def hold(self, value: Any) -> Any:
        return value

    def gather(self, handles: Sequence[Any], deadline: float | None = None) -> list[Any]:
        return list(handles)


class Cluster(Crew):
    """The workers of a Dask cluster: an existing one, or one of processes on this machine, which ends with this crew.

    Parameters
    ----------
    address : str, Client, cluster or None
        Address of the scheduler, or what knows it; None starts workers on this machine.
    workers : int
        Number of workers to start.
    deadline : float, optional
        Moment of the monotonic clock until which a first worker is waited for.
    """

    def __init__(self, address: Any, workers: int, deadline: float | None = None) -> None:
        _require_dask()
        self.address, self.workers = address, workers
        self.closed = self.borrowed = False
        self.cluster: Any = None
        self.client: Any = None
        self._folder: str | None = None
        self._process = os.getpid()
        self._lock, self._over = threading.Lock(), threading.Event()
        if address is None:
            self._start(workers)
        else:
            self._connect(address, deadline)

    def _start(self, workers: int) -> None:
        """Start processes that listen on this machine alone; what they write goes to a folder of their own."""
        import dask.config
        import distributed

        local: Any = distributed.LocalCluster
        if getattr(multiprocessing.current_process(), "_inheriting", False):
            raise ClusterError(
                "Distributed() was reached while a worker was starting: a worker imports the program that started it, "
                "and its main part must not run again there. Put that part under: if __name__ == '__main__':",
            )
        settings = {
            "distributed.scheduler.allowed-failures": _FAILURES,
            "distributed.scheduler.active-memory-manager.start": False,  # copies of blocks are wanted
            "distributed.admin.tick.limit": "1 h",
        }
        self._folder = tempfile.mkdtemp(prefix="mercer-workers-")
        _silence.begin()
        try:
            with dask.config.set(settings):
                self.cluster = local(
                    n_workers=workers,
                    threads_per_worker=1,
                    processes=True,
                    host="127.0.0.1",
                    dashboard_address=None,
                    local_directory=self._folder,
                    silence_logs=logging.CRITICAL,
                    preload=[__name__],
                )
            self.client = distributed.Client(self.cluster, set_as_default=False)
        except BaseException:
            self.close()
            raise
        threading.Thread(target=self._keep, daemon=True, name="mercer-keeper").start()

    def _keep(self) -> None:
        """Replace workers that Dask has given up, as it does with those that die while they start."""
        while not self._over.wait(_LOOK):
            with suppress(Exception):
                cluster = self.cluster
                gone = [name for name, nanny in list(cluster.workers.items()) if nanny.status.name in _GONE]
                for name in gone:
                    cluster.worker_spec.pop(name, None)
                if gone or set(cluster.worker_spec) - set(cluster.workers):
                    cluster.scale(self.workers)

    def _connect(self, address: Any, deadline: float | None) -> None:
        import distributed

        if isinstance(address, distributed.Client):
            if address.asynchronous:
                raise ParameterError(
                    "address=Client(asynchronous=True) was given; a client that answers at once is needed. Give "
                    "Client(address), or the address itself."
                )
            self.client, self.borrowed = address, True
        else:
            self._call(address, deadline)
        try:
            self._check_workers(deadline)
        except BaseException:
            self.close()
            raise

    def _call(self, address: Any, deadline: float | None) -> None:
        """Make a client of our own."""
        import distributed

        try:
            self.client = distributed.Client(address, set_as_default=False, timeout=_until(deadline, 10.0))
        except (OSError, ValueError, TimeoutError) as error:
            reason = str(error).partition("\n")[0].rstrip(".")
            raise ClusterError(
                f"address={address!r} was given, and no scheduler of Dask answers there ({reason}). Give the address "
                "that `dask scheduler` prints, or address=None for workers on this machine.",
            ) from error

    def _check_workers(self, deadline: float | None) -> None:
        """Raise ClusterError unless there are workers, and all have this version of mercer."""
        lonely = _Lonely(self, deadline)
        while not self._worker_count():
            lonely.tell()
            time.sleep(min(_LOOK, 0.1))
        address, own, found = self.place, _version(), self.client.run(_version)
        other = sorted({str(version) for version in found.values() if version != own})
        if other:
            raise ClusterError(
                f"address={address!r} was given, where workers have mercer {', '.join(other)}; this process has "
                f"{own}, and the same version everywhere is needed. Make them equal.",
            )

    @property
    def place(self) -> str:
        """The address of the scheduler."""
        return str(self.client.scheduler.address)

    def _worker_count(self) -> int:
        """Return how many workers the scheduler has; 1 if it does not say."""
        try:
            return len(self.client.nthreads())
        except (OSError, TimeoutError, ValueError):
            return 1

    def _await(self, handles: list[Any], deadline: float | None) -> None:
        """Wait until tasks have ended, as long as there are workers to run them and, in the end, time."""
        import distributed

        lonely, done, since = _Lonely(self, deadline), -1, time.monotonic()
        while True:
            with suppress(TimeoutError), self.client.as_current():
                distributed.wait(handles, timeout=_LOOK)
                return
            now, ended = time.monotonic(), sum(handle.done() for handle in handles)
            if ended > done:
                done, since = ended, now
            if not self._worker_count():
                lonely.tell()
                since = now
                continue
            lonely = _Lonely(self, deadline)
            if deadline is not None and now > max(deadline, since) + _GRACE:
                raise TimeBudgetError(
                    f"max_time ran out, and no worker at address={self.place!r} has ended a task within "
                    f"{_GRACE:.0f} s since; {len(handles) - ended} were waited for. Raise "
                    "max_time, or use smaller blocks, Distributed(block=...)."
                )

    def submit(self, function: Callable[..., Any], *args: Any) -> Any:
        self._require_open()
        name = f"{function.__name__.strip('_')}-{uuid.uuid4().hex}"
        return self.client.submit(_serially, function, *args, key=name, pure=False, retries=_RETRIES)

    def hold(self, value: Any) -> Any:
        self._require_open()
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Sending large graph")
            return self.submit(_itself, value)

    def gather(self, handles: Sequence[Any], deadline: float | None = None) -> list[Any]:
        import distributed
        import distributed.client

        self._require_open()
        handles = list(handles)
        try:
            for _ in range(_AGAIN):
                try:
                    return self._gathered(handles, deadline)
                except distributed.KilledWorker:
                    self.client.retry([handle for handle in handles if handle.status == "error"])
            return self._gathered(handles, deadline)
        except distributed.KilledWorker as error:
            raise ClusterError(
                f"{(_FAILURES + 1) * (_AGAIN + 1)} workers died with one task, most likely for want of memory; a task "
                "has to fit one worker. Use smaller blocks, Distributed(block=...), or larger workers.",
            ) from error
        except (distributed.client.FuturesCancelledError, distributed.CancelledError) as error:
            raise ClusterError(
                "The scheduler of Distributed() is gone, and with it what was computed; it has to live to the end. "
                "Build the Gram again.",
            ) from error
        except (KeyboardInterrupt, LonelyError, TimeBudgetError):
            self._abandon(handles)
            raise

    def _gathered(self, handles: list[Any], deadline: float | None) -> list[Any]:
        self._await(handles, deadline)
        return self.client.gather(handles)

    def _abandon(self, handles: list[Any]) -> None:
        """Stop at once: processes that were started here are ended, tasks of others are taken back."""
        if self.address is None:
            self.kill_workers()
            self.close()
        else:
            with suppress(Exception):
                self.client.cancel(handles, force=True)

    def pids(self) -> list[int]:
        """Return the process ids of the workers that were started here."""
        found = [] if self.cluster is None else list(self.cluster.workers.values())
        running = [getattr(getattr(nanny, "process", None), "process", None) for nanny in found]
        return [process.pid for process in running if process is not None and process.pid is not None]

    def kill_workers(self) -> None:
        """End the workers that were started here, without waiting for what they are doing."""
        for pid in self.pids():
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)

    def _require_open(self) -> None:
        if self.closed or self._process != os.getpid():
            raise ClusterError(
                "The workers of Distributed() were sent home (by Ctrl-C, or by another process), and the samples with "
                "them; they are needed to the end. Build the Gram again.",
            )

    def close(self) -> None:
        """End the workers that were started here, remove their folder, and disconnect; safe to call twice."""
        with self._lock:
            if self.closed or self._process != os.getpid():
                return
            self.closed = True
        self._over.set()
        if self.client is not None and not self.borrowed:
            with suppress(Exception):
                self.client.close(timeout=5)
        if self.cluster is not None:
            with suppress(Exception):
                self.cluster.close(timeout=5)
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            _silence.end()


class _Lonely:
    """How long there has been no worker: a warning after some seconds, an error in the end."""

    def __init__(self, crew: Cluster, deadline: float | None) -> None:
        self.crew, self.deadline, self.began, self.warned = crew, deadline, time.monotonic(), False

    def tell(self) -> None:
        now = time.monotonic()
        waited, place = now - self.began, self.crew.place
        if self.deadline is not None and now >= self.deadline:
            raise TimeBudgetError(
                f"max_time ran out while there was no worker at address={place!r}; at least one is needed. "
                f"Add some: dask worker {place}; and fit again, with the same Checkpoint to go on from "
                "where this fit was."
            )
        if waited >= _PATIENCE:
            raise LonelyError(
                f"There was no worker at address={place!r} for {_PATIENCE:.0f} s; at least one is needed. "
                f"Add some: dask worker {place}; and fit again, with the same Checkpoint to go on from "
                "where this fit was."
            )
        if waited >= _SILENT and not self.warned:
            self.warned = True
            warn_caller(
                f"There is no worker at {place}; one is waited for, for up to {_PATIENCE:.0f} s. Add some: dask worker "
                f"{place}.",
                UserWarning,
            )


def _until(deadline: float | None, most: float) -> float:
    """Return the seconds that may be waited, at most this many."""
    return most if deadline is None else min(most, max(deadline - time.monotonic(), 0.1))


class _Silence:
    """Keep what Dask logs from the terminal while workers that were started here live: they come and go."""

    def __init__(self) -> None:
        self.depth, self.levels, self.lock = 0, [], threading.Lock()

    def begin(self) -> None:
        with self.lock:
            self.depth += 1
            if self.depth == 1:
                self.levels = [(handler, handler.level) for handler in logging.getLogger("distributed").handlers]
                for handler, _ in self.levels:
                    handler.setLevel(logging.CRITICAL)

    def end(self) -> None:
        with self.lock:
            self.depth -= 1
            if self.depth == 0:
                for handler, level in self.levels:
                    handler.setLevel(level)


_silence = _Silence()


# hiring -----------------------------------------------------------------------------------------------------


_guard = threading.RLock()
_hired: list[list[Any]] = []  # [crew, how many use it]


def hire(
    address: Any,
    workers: int | None = None,
    trusted: bool = False,
    threads: int | None = None,
    deadline: float | None = None,
) -> Crew:
    """Return a crew that runs tasks; every caller also calls `dismiss`.

    Parameters
    ----------
    address : str, Client, cluster or None
        Address of a scheduler of Dask, or what knows it; None is workers on this machine, "here" is this process.
    workers : int, optional
        Number of workers on this machine; None is as many as there are cores, or as were hired before.
    trusted : bool, default False
        Whether a scheduler on another machine may be contacted without encryption.
    threads : int, optional
        Threads of this process, if it does the tasks.
    deadline : float, optional
        Moment of the monotonic clock until which a first worker is waited for.

    Notes
    -----
    A crew is shared by all who hire the same, and closed with the last of them.
    """
    if isinstance(address, str) and address == HERE:
        return Here(threads)
    if isinstance(address, str):  # a client or a cluster is a connection that its owner has made
        require_safe(address, trusted)
    with _guard:
        for entry in _hired:
            crew = entry[0]
            same = (
                type(crew.address) is type(address)
                and crew.address == address
                and not crew.closed
                and crew._process == os.getpid()
            )
            if same and (address is not None or workers in (None, crew.workers)):
                entry[1] += 1
                return crew
        crew = Cluster(address, thread_count(workers), deadline)
        _hired.append([crew, 1])
        return crew


def dismiss(crew: Crew) -> None:
    """Release a crew for one of its users; the last one closes it."""
    with _guard:
        for place, entry in enumerate(_hired):
            if entry[0] is crew:
                entry[1] -= 1
                if entry[1] > 0:
                    return
                del _hired[place]
                break
    crew.close()


def send_home(crew: Crew) -> None:
    """Close a crew, whoever else has hired it."""
    with _guard:
        _hired[:] = [entry for entry in _hired if entry[0] is not crew]
    crew.close()


def users(crew: Crew) -> int:
    """Return how many users a crew has."""
    return sum(count for hired, count in list(_hired) if hired is crew)


def leave(crew: Crew) -> None:
    """Dismiss a crew when an object that used it is gone; whichever thread noticed that must not wait for others."""
    if not isinstance(crew, Cluster):
        return
    if threading.current_thread() is threading.main_thread():
        dismiss(crew)
    else:
        threading.Thread(target=dismiss, args=(crew,), daemon=True, name="mercer-dismiss").start()


def share(crew: Crew) -> Crew:
    """Count one more user of a crew."""
    with _guard:
        for entry in _hired:
            if entry[0] is crew:
                entry[1] += 1
    return crew


def _close_all() -> None:
    """Leave no process behind when the interpreter ends."""
    with _guard:
        for crew, _ in _hired:
            crew.close()
        _hired.clear()


atexit.register(_close_all)


def require_safe(address: str, trusted: bool) -> None:
    """Raise ParameterError for an address that would be contacted without encryption over a network.

    Examples
    --------
    >>> require_safe("tcp://127.0.0.1:8786", False)
    >>> require_safe("tls://scheduler.example:8786", False)
    """
    scheme, mark, rest = address.partition("://")
    if not mark:
        scheme, rest = "tcp", address
    host = rest.rpartition(":")[0] or rest
    near = scheme == "inproc" or host.strip("[]") in ("127.0.0.1", "localhost", "::1")
    if scheme in ("tls", "wss") or near or trusted:
        return
    raise ParameterError(
        f"address={address!r} was given: anybody on the network between can read what is sent, and run programs on "
        "the workers. Addresses on this machine or with encryption (tls://) are accepted. Use tls://, or say "
        "trusted=True if the network is yours alone.",
    )


def _require_dask() -> None:
    if importlib.util.find_spec("dask") is None or importlib.util.find_spec("distributed") is None:
        raise CapabilityError(
            "Distributed() needs Dask, which is not installed. Run: pip install 'mercer[dask]'; or use "
            "Distributed('here') or Tiles(), which need nothing.",
        )


# tasks ------------------------------------------------------------------------------------------------------


def _itself(value: Any) -> Any:
    return value


def _serially(function: Callable[..., Any], *args: Any) -> Any:
    with serial_blas():
        return function(*args)


def _version() -> str:
    return str(getattr(sys.modules["mercer"], "__version__", ""))


def dask_setup(worker: Any) -> None:
    """Leave Ctrl-C to the process that the user started; Dask calls this when a worker starts."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
