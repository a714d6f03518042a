"""The server's end of a child: ask, wait, stop, start anew."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

__all__ = ["Child", "ChildError"]

LONGEST = 64 * 2**20  # bytes of an answer
LEFT = 5.0  # seconds that are left to work nobody waits for any more: a new process would take about as long
STARTING = 270.0  # seconds more for the first answer: libraries are loaded and loops compiled, on a busy machine slowly
# Matrices of some hundred rows are solved sooner by one thread than by several that wait for each other.
SERIAL = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


class ChildError(Exception):
    """What a child could not do, in words for the user."""

    def __init__(self, message: str, kind: str = "ChildError", code: int = 1) -> None:
        super().__init__(message)
        self.message, self.kind, self.code = message, kind, code


class Child:
    """A process that computes, started when it is first needed, and again after it has ended.

    Parameters
    ----------
    kind : "live" or "file"
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.process: asyncio.subprocess.Process | None = None
        self.busy = asyncio.Lock()
        self.numbers = itertools.count()
        self.stopped = self.closed = False
        self.working: asyncio.Task[Any] | None = None  # whose question is being answered
        self.limit: asyncio.Timeout | None = None  # until when it may be
        self.starting = 0.0  # and what it was given for the start of the process

    @property
    def pid(self) -> int | None:
        """Number of the process; None while there is none."""
        return None if self.process is None or self.process.returncode is not None else self.process.pid

    async def _started(self) -> asyncio.subprocess.Process:
        if self.pid is None:
            # -P: a file numpy.py in the user's folder must not be imported as numpy
            command = (sys.executable, "-P", "-m", "mercer.studio.child_work", self.kind)
            pipe, nowhere = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
            self.process = await asyncio.create_subprocess_exec(
                *command,
                stdin=pipe,
                stdout=pipe,
                stderr=nowhere,
                limit=LONGEST,
                start_new_session=True,
                env={**os.environ, **(SERIAL if self.kind == "live" else {})},
            )
        assert self.process is not None
        return self.process

    async def ask(
        self, do: str, fields: Any, seconds: float, tell: Callable[[dict[str, Any]], None] | None = None
    ) -> dict[str, Any]:
        """Return the answer; a child that takes longer than allowed is ended."""
        async with self.busy:
            if self.closed:
                raise ChildError("Stopped.", "Stopped", 130)
            self.stopped, self.working = False, asyncio.current_task()
            self.starting = STARTING if self.pid is None else 0.0
            seconds += self.starting
            try:
                async with asyncio.timeout(seconds) as self.limit:
                    process, number = await self._started(), next(self.numbers)
                    assert process.stdin is not None
                    process.stdin.write(json.dumps({"id": number, "do": do, "with": fields}).encode() + b"\n")
                    return await self._answer(process, number, tell)
            except TimeoutError:
                await self.end()
                raise ChildError(
                    f"This took longer than {seconds:g} seconds and was stopped. Use fewer points or a simpler kernel.",
                    "TimeBudgetError",
                    4,
                ) from None
            except asyncio.CancelledError:
                await self.end()
                raise
            except (OSError, EOFError, ValueError):
                await self.end()
                if self.stopped:
                    raise ChildError("Stopped.", "Stopped", 130) from None
                raise ChildError(
                    "The computation ended on its own, for lack of memory or time. Use fewer points or rows.",
                    "MemoryBudgetError",
                    4,
                ) from None
            finally:
                self.working = self.limit = None

    def forget(self, asking: asyncio.Task[Any]) -> None:
        """Drop a question that nobody waits for any more: at once in the queue, soon if it is being answered."""
        if asking is not self.working:
            asking.cancel()
        elif self.limit is not None and (last := self.limit.when()) is not None:
            soon = asyncio.get_running_loop().time() + LEFT + self.starting
            with contextlib.suppress(RuntimeError):  # it has ended this moment
                self.limit.reschedule(min(last, soon))

    async def _answer(self, process: Any, number: int, tell: Callable[[dict[str, Any]], None] | None) -> dict[str, Any]:
        while line := await process.stdout.readline():
            said = json.loads(line)
            if said["id"] != number:
                continue
            if "told" in said:
                if tell is not None:
                    tell(said["told"])
                continue
            if "error" in said:
                raise ChildError(**said["error"])
            return said["done"]
        raise EOFError

    def stop(self) -> None:
        """End the child's work at once; whoever waits for it gets an error that says so."""
        self.stopped = True
        self._kill()

    def _kill(self) -> None:
        if self.pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)  # the session was made for it: nothing else is in the group

    async def end(self) -> None:
        """End the process and wait until it has ended."""
        self._kill()
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                await self.process.wait()
            self.process = None

    async def close(self) -> None:
        """End the process for good, and refuse whatever still waits for it."""
        self.closed = True
        if self.working is not None:
            self.working.cancel()
        async with self.busy:  # behind all who wait
            await self.end()
