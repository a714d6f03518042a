"""Probes in a process of their own: a crash, a hang or a hunger for memory ends the probe, not the run.

One forked worker goes through many probes and tells its findings through a pipe. When it dies or is silent for
too long, the parent ends it, notes the probe that did it, and forks another worker for the rest. A probe that took
too long is tried once more with twice the time, so that a busy machine is not taken for a hang.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import json
import os
import resource
import select
import signal
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

__all__ = ["Finding", "run_isolated"]

SECONDS = 20.0
MEMORY = 3 * 2**30  # bytes beyond what the worker has at its start


@dataclass(frozen=True)
class Finding:
    """What came of one probe: a verdict, and what was seen."""

    verdict: str
    detail: str = ""


def run_isolated(jobs: Sequence[Callable[[], Finding]], seconds: float = SECONDS) -> list[Finding]:
    """Run every job in a forked worker and return the findings in the order of the jobs."""
    found: dict[int, Finding] = {}
    again: set[int] = set()
    while len(found) < len(jobs):
        rest = [i for i in range(len(jobs)) if i not in found]
        victim, reason = _one_worker(jobs, rest, found, lambda i: seconds * (2.0 if i in again else 1.0))
        if victim is None:
            continue
        if reason == "hang" and victim not in again:
            again.add(victim)
        else:
            told = f"no end within {2 * seconds:g} s" if reason == "hang" else f"the process died ({reason})"
            found[victim] = Finding("hang" if reason == "hang" else "crash", told)
    return [found[i] for i in range(len(jobs))]


def _one_worker(
    jobs: Sequence[Callable[[], Finding]],
    rest: list[int],
    found: dict[int, Finding],
    limit: Callable[[int], float],
) -> tuple[int | None, str]:
    """Fork a worker for the rest of the jobs; return the job it did not survive, if any, and why."""
    gc.collect()
    gc.freeze()  # the worker's collector leaves the parent's objects, and so their pages, alone
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns where threads run; ours have ended
        child = os.fork()
    if child == 0:
        os.close(reading)
        _work(jobs, rest, writing)
    with contextlib.suppress(OSError):  # both do it, so that neither is too late; the child may be gone by now
        os.setpgid(child, child)
    os.close(writing)
    reason, pending = _listen(reading, rest, found, limit)
    os.close(reading)
    if reason == "hang":
        _end_group(child)
    _, status = os.waitpid(child, 0)
    _end_group(child)  # what the worker started, such as workers of its own
    if pending is None:
        return None, ""
    if reason != "hang":
        reason = (
            f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"exit {os.waitstatus_to_exitcode(status)}"
        )
    return pending, reason


def _end_group(leader: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)


def _listen(
    reading: int, rest: list[int], found: dict[int, Finding], limit: Callable[[int], float]
) -> tuple[str, int | None]:
    """Collect findings until the worker is done, dies or hangs; the job that is open then is returned."""
    text, queue = b"", list(rest)
    began = time.monotonic()
    while queue:
        left = limit(queue[0]) - (time.monotonic() - began)
        if left <= 0 or not select.select([reading], [], [], left)[0]:
            return "hang", queue[0]
        chunk = os.read(reading, 1 << 16)
        if not chunk:
            return "died", queue[0]
        *lines, text = (text + chunk).split(b"\n")
        for line in lines:
            found[queue.pop(0)] = Finding(**json.loads(line))
            began = time.monotonic()
    return "done", None


def _work(jobs: Sequence[Callable[[], Finding]], rest: list[int], writing: int) -> None:
    """Be the worker: never returns."""
    status = 1
    try:
        os.setpgid(0, 0)
        faulthandler.disable()  # a crash is a finding, told by the parent
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with open("/proc/self/statm", encoding="ascii") as held:
            pages = int(held.read().split()[0])
        most = pages * resource.getpagesize() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        for i in rest:
            line = json.dumps(asdict(jobs[i]())).encode() + b"\n"
            while line:
                line = line[os.write(writing, line) :]
        status = 0
    finally:
        os._exit(status)
