"""``mercer gram``: a Gram matrix on disk, block by block, resumable.

The blocks of the upper half are computed in a fixed order, each from the samples alone, and each is written
with its mirror image. After some seconds, and when the run is interrupted, the number of finished blocks is
noted in a small file beside the unfinished matrix. A later run skips these blocks; since a block does not
depend on the others, the result is the same to the bit. Workers of a Dask cluster may compute the blocks; they are
written here, in the same order.
"""

from __future__ import annotations

import collections
import contextlib
import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
from threadpoolctl import threadpool_limits

import mercer
from mercer.arrays import Floats
from mercer.budget import Clock, budget, format_bytes
from mercer.cli.failures import UsageFault
from mercer.cli.inputs import Reading, column_kinds, open_data, pose, samples
from mercer.cli.outputs import require_writable
from mercer.cli.terminal import Terminal, pairs
from mercer.domains import Frames, Pairs, Samples
from mercer.errors import MemoryBudgetError, TimeBudgetError
from mercer.gram import Distributed
from mercer.io.atomic import require_replaceable, write_atomically
from mercer.io.limits import FileError
from mercer.io.tables import Table
from mercer.kernels import Kernel
from mercer.kernels.comparison import Comparison
from mercer.kernels.kernel import fill
from mercer.language import parse
from mercer.runtime.tiling import spans
from mercer.runtime.workers import Crew

__all__ = ["run"]

SIDE = 1024  # rows and columns of a block: 8 MB, whatever n is
SECONDS = 2.0  # between two notes of progress
AHEAD = 16  # blocks that workers compute before they are asked for


@dataclass(frozen=True, kw_only=True)
class Request(Reading):
    """The arguments and options of the command."""

    data: Path
    kernel: str
    output: Path
    target: str | None
    dtype: str
    restart: bool
    dask: str | None
    force: bool
    max_time: float | None
    threads: int | None


def run(terminal: Terminal, **options: Any) -> None:
    """Compute the Gram matrix of a file's samples."""
    request = Request(**options)
    clock = Clock.start(request.max_time)
    require_writable(request.output, request.force)
    kernel = parse(request.kernel)
    if not isinstance(kernel, Kernel):
        raise UsageFault(
            f"--kernel {request.kernel!r} is a {type(kernel).__name__}; a kernel is needed, such as Gaussian()."
        )
    data = open_data(request.data, request, column_kinds(kernel))
    rest = data.drop(request.target) if isinstance(data, Table) and request.target else data
    problem = pose(rest, None, None, samples(rest, kernel)[1], drop=False) if isinstance(rest, Table) else None
    S = kernel.pack(samples(problem.data if problem else rest, kernel)[0])
    kernel = kernel.learn(S)
    work = _Work(kernel, kernel.prepare(S), request)
    with (
        _workers(request) as crew,
        threadpool_limits(1, user_api="blas"),
        terminal.progress("Gram matrix") as bar,
    ):
        _interruptible(work, f"Interrupted; give the same command again to resume. So far: {work.part}")
        resumed = work.begin()
        if resumed:
            terminal.say(f"Going on after {resumed} of {len(work.blocks)} blocks.")
        work.go_on(clock, bar, crew)
    work.finish()
    _write_names(request.output, data.ids, terminal)
    result = {
        "file": request.output,
        "shape": [work.n, work.n],
        "dtype": request.dtype,
        "kernel": repr(kernel),
        "blocks": len(work.blocks),
        "resumed": resumed,
        "seconds": round(clock.seconds, 3),
    }
    rows = [
        ("matrix", f"{request.output}: {work.n} x {work.n} {request.dtype}, {format_bytes(work.bytes)}"),
        ("kernel", repr(kernel)),
        ("time", f"{clock.seconds:.2f} s"),
    ]
    terminal.result(result, pairs(rows))


def _workers(request: Request) -> Any:
    """The workers of --dask while the matrix is computed, or None."""
    if request.dask is None:
        return contextlib.nullcontext()
    return Distributed(None if request.dask == "local" else request.dask, workers=request.threads).open()


def _interruptible(work: _Work, message: str) -> None:
    with contextlib.suppress(RuntimeError):
        click.get_current_context().meta["mercer.interrupted"] = message


class _Work:
    """The unfinished matrix on disk and its progress."""

    def __init__(self, kernel: Kernel, S: Samples, request: Request) -> None:
        self.kernel, self.S, self.request = kernel, S, request
        self.n, self.dtype = len(S), np.dtype(request.dtype)
        self.output = request.output.resolve() if request.output.is_symlink() else request.output
        self.part = self.output.with_name(self.output.name + ".part")
        self.notes = self.output.with_name(self.output.name + ".progress")
        cuts = spans(self.n, SIDE)
        self.blocks = [(r, c) for r in cuts for c in cuts if c.start >= r.start]
        self.header = _header(self.n, self.dtype)
        self.bytes = len(self.header) + self.n * self.n * self.dtype.itemsize
        self.done = 0
        self.computed: Iterator[Floats] | None = None  # the blocks that are left, if workers compute them
        self.identity = {
            "mercer": mercer.__version__,
            "kernel": repr(kernel),
            "samples": self.n,
            "data": fingerprint(S),
            "dtype": request.dtype,
            "side": SIDE,
        }

    def begin(self) -> int:
        """Find an interrupted run, or make room for a new one; return the number of finished blocks."""
        needed = 4 * SIDE * SIDE * 8
        if needed > budget(self.request.memory):
            raise MemoryBudgetError(
                f"Blocks of the Gram matrix need {format_bytes(needed)}, the budget is "
                f"{format_bytes(budget(self.request.memory))}. Allow more with --memory."
            )
        for path in (self.part, self.notes):
            require_replaceable(path, force=True)
            if self.request.restart:
                path.unlink(missing_ok=True)
        if self.notes.exists() and self.part.exists():
            self.done = self._resumable()
            return self.done
        free = shutil.disk_usage(self.part.resolve().parent).free
        if self.bytes > free:
            raise MemoryBudgetError(
                f"{self.request.output} would have {format_bytes(self.bytes)}; the disk has {format_bytes(free)} free. "
                "Make room, choose another disk with -o, or use --dtype float32."
            )
        with self.part.open("wb") as stream:
            stream.write(self.header)
            stream.truncate(self.bytes)
        self._note()
        return 0

    def _resumable(self) -> int:
        """The finished blocks of an interrupted run; refuse those of another run."""
        try:
            notes = json.loads(self.notes.read_text(encoding="utf-8"))
            done, identity = int(notes["done"]), dict(notes["identity"])
        except (ValueError, KeyError, TypeError) as error:
            raise FileError(
                self.notes, f"The notes of an interrupted run are damaged ({error}).", "Begin again with --restart."
            ) from None
        for name, value in self.identity.items():
            if identity.get(name) != value:
                raise FileError(
                    self.notes,
                    f"An interrupted run is there, but of another {name}: {str(identity.get(name))[:80]}, now "
                    f"{str(value)[:80]}.",
                    "Begin again with --restart, or choose another name with -o.",
                )
        if self.part.stat().st_size != self.bytes or not 0 <= done <= len(self.blocks):
            raise FileError(
                self.part, "The unfinished matrix has another size than noted.", "Begin again with --restart."
            )
        return done

    def go_on(self, clock: Clock, bar: Any, crew: Crew | None = None) -> None:
        """Compute the blocks that are left, here or by workers; what is finished is noted whatever happens."""
        noted = time.monotonic()
        if crew is not None:
            self.computed = _ahead(crew, self.kernel, self.S, self.blocks[self.done :], self.dtype)
        descriptor = os.open(self.part, os.O_WRONLY)
        try:
            for place in range(self.done, len(self.blocks)):
                if clock.expired:
                    raise TimeBudgetError(
                        f"The {clock.max_time:g} seconds of --max-time are over after {self.done} of "
                        f"{len(self.blocks)} blocks. Give the same command again to resume."
                    )
                self._block(descriptor, *self.blocks[place])
                self.done = place + 1
                if time.monotonic() - noted > SECONDS:
                    os.fsync(descriptor)
                    self._note()
                    noted = time.monotonic()
                bar(self.done / len(self.blocks))
        finally:
            # a note is true only of what is on the disk
            os.fsync(descriptor)
            os.close(descriptor)
            self._note()

    def _block(self, descriptor: int, rows: slice, columns: slice) -> None:
        if self.computed is None:
            out = _values(self.kernel, self.S, rows, columns, self.dtype, self.request.threads)
        else:
            out = next(self.computed)
        self._write(descriptor, out, rows, columns)
        if rows != columns:
            self._write(descriptor, np.ascontiguousarray(out.T), columns, rows)

    def _write(self, descriptor: int, block: Floats, rows: slice, columns: slice) -> None:
        # written, not mapped: pages of a mapping would count as memory of this process
        size = self.dtype.itemsize
        for i, row in enumerate(block):
            data, offset = (
                memoryview(row).cast("B"),
                len(self.header) + ((rows.start + i) * self.n + columns.start) * size,
            )
            while data:
                count = os.pwrite(descriptor, data, offset)
                data, offset = data[count:], offset + count

    def _note(self) -> None:
        text = json.dumps({"done": self.done, "blocks": len(self.blocks), "identity": self.identity})
        write_atomically(self.notes, [text.encode()], force=True)

    def finish(self) -> None:
        """Give the finished matrix its name."""
        require_replaceable(self.output, force=self.request.force)
        os.replace(self.part, self.output)
        self.notes.unlink(missing_ok=True)


def _values(kernel: Kernel, S: Samples, rows: slice, columns: slice, dtype: Any, threads: int | None) -> Floats:
    """Return a block of the matrix; the same bits for any number of threads."""
    A = S[rows]
    B = A if rows == columns else S[columns]
    out = np.empty((len(A), len(B)))
    fill(kernel, Comparison(kernel, A, B, np.dtype(float)), out, n_threads=threads)
    return out.astype(dtype, copy=False)


def _ahead(
    crew: Crew, kernel: Kernel, S: Samples, blocks: list[tuple[slice, slice]], dtype: np.dtype
) -> Iterator[Floats]:
    """Yield the blocks in their order; workers have the samples, and compute some blocks ahead."""
    known, samples = crew.hold(kernel), crew.hold(S)
    waiting: collections.deque[Any] = collections.deque()
    for block in blocks:
        waiting.append(crew.submit(_values, known, samples, *block, dtype, crew.threads))
        if len(waiting) == AHEAD:
            yield crew.gather([waiting.popleft()])[0]
    while waiting:
        yield crew.gather([waiting.popleft()])[0]


def _header(n: int, dtype: np.dtype) -> bytes:
    """The first bytes of a .npy file, version 1.0."""
    text = f"{{'descr': '{dtype.newbyteorder('<').str}', 'fortran_order': False, 'shape': ({n}, {n}), }}"
    padding = -(10 + len(text) + 1) % 64
    body = (text + " " * padding + "\n").encode("latin-1")
    return b"\x93NUMPY\x01\x00" + len(body).to_bytes(2, "little") + body


def fingerprint(S: Samples) -> str:
    """Return the SHA-256 of packed samples: equal for the same samples in the same order."""
    digest = hashlib.sha256()

    def add(part: Samples) -> None:
        digest.update(type(part).__name__.encode())
        if isinstance(part, Frames):
            for columns, inner in part.parts.items():
                digest.update(repr(columns).encode())
                add(inner)
            return
        if isinstance(part, Pairs):
            add(part.left)
            add(part.right)
        for words in ("vocabulary", "edge_vocabulary"):  # what the codes among the arrays stand for
            if hasattr(part, words):
                digest.update(repr(getattr(part, words)).encode("utf-8", "backslashreplace"))
        for array in part.arrays:
            digest.update(f"{array.dtype.str}{array.shape}".encode())
            digest.update(np.ascontiguousarray(array).data)

    add(S)
    return digest.hexdigest()


def _write_names(output: Path, ids: tuple[str, ...] | None, terminal: Terminal) -> None:
    """Write the names of the samples beside the matrix, where `mercer fit` finds them."""
    if ids is None or any("\n" in name or not name.strip() for name in ids) or len(set(ids)) < len(ids):
        return
    path = output.with_suffix(".ids")
    write_atomically(path, ["".join(f"{name}\n" for name in ids).encode()], force=True)
    terminal.say(f"Names of the samples were written to {path}.")
