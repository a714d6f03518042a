"""Probes in a process of their own: a crash, a hang or a hunger for memory ends the probe, not the run.

One forked worker goes through many probes and tells its findings through a pipe. When it dies, computes for too long
or is silent for very long, the parent ends it, notes the probe that did it, and forks another worker for the rest. What
a probe may take is seconds of its own processor time, so that a busy machine is not taken for a hang.
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

SECONDS = 20.0  # of processor time
PATIENCE = 30.0  # times as many on the clock, for what waits for ever
MEMORY = 3 * 2**30  # bytes beyond what the worker has at its start


@dataclass(frozen=True)
class Finding:
    """What came of one probe: a verdict, and what was seen."""

    verdict: str
    detail: str = ""


def run_isolated(
    jobs: Sequence[Callable[[], Finding]], seconds: float = SECONDS, patience: float = PATIENCE
) -> list[Finding]:
    """Run every job in a forked worker and return the findings in the order of the jobs."""
    found: dict[int, Finding] = {}
    while len(found) < len(jobs):
        rest = [i for i in range(len(jobs)) if i not in found]
        victim, reason = _one_worker(jobs, rest, found, (seconds, patience * seconds))
        if victim is not None:
            told = f"no end within {reason}" if reason.endswith(" s") else f"the process died ({reason})"
            found[victim] = Finding("hang" if reason.endswith(" s") else "crash", told)
    return [found[i] for i in range(len(jobs))]


def _one_worker(
    jobs: Sequence[Callable[[], Finding]],
    rest: list[int],
    found: dict[int, Finding],
    limits: tuple[float, float],
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
    reason, pending = _listen(reading, rest, found, limits, child)
    os.close(reading)
    if reason:
        _end_group(child)
    _, status = os.waitpid(child, 0)
    _end_group(child)  # what the worker started, such as workers of its own
    if pending is None:
        return None, ""
    if not reason:
        reason = (
            f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"exit {os.waitstatus_to_exitcode(status)}"
        )
    return pending, reason


def _end_group(leader: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)


def _listen(
    reading: int, rest: list[int], found: dict[int, Finding], limits: tuple[float, float], child: int
) -> tuple[str, int | None]:
    """Collect findings until the worker is done, dies or hangs; return why it hangs, and the job that is open."""
    text, queue = b"", list(rest)
    began, used = time.monotonic(), 0.0
    while queue:
        if not select.select([reading], [], [], min(1.0, 0.1 * limits[0]))[0]:
            if _processor_time(child) - used > limits[0]:
                return f"{limits[0]:g} s", queue[0]
            if time.monotonic() - began > limits[1]:
                return f"{limits[1]:g} s", queue[0]
            continue
        chunk = os.read(reading, 1 << 16)
        if not chunk:
            return "", queue[0]
        *lines, text = (text + chunk).split(b"\n")
        for line in lines:
            found[queue.pop(0)] = Finding(**json.loads(line))
        began, used = time.monotonic(), _processor_time(child)
    return "", None


def _processor_time(process: int) -> float:
    """Seconds that a process has computed, with those of its children that have ended."""
    try:
        with open(f"/proc/{process}/stat", encoding="ascii", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


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
