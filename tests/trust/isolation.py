"""Probes in processes of their own: a crash, a hang or a hunger for memory ends the probe, not the run.

A forked worker is given one probe after another through a pipe and tells its findings through a second one. When it
dies, computes for too long or is silent for very long, the parent ends it, notes the probe that did it, and forks
another worker for the rest. What a probe may take is seconds of its own processor time, so that a busy machine is not
taken for a hang.
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
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field

__all__ = ["Finding", "findings", "run_isolated"]

SECONDS = 20.0  # of processor time
PATIENCE = 30.0  # times as many on the clock, for what waits for ever
MEMORY = 3 * 2**30  # bytes beyond what the worker has at its start


@dataclass(frozen=True)
class Finding:
    """What came of one probe: a verdict, what was seen, and seconds of processor time."""

    verdict: str
    detail: str = ""
    seconds: float = field(default=0.0, compare=False)


@dataclass
class _Worker:
    """A forked process, the pipes to and from it, and the job that it is at."""

    process: int
    orders: int
    answers: int
    job: int | None = None
    began: float = 0.0
    used: float = 0.0
    text: bytes = b""

    def give(self, job: int) -> None:
        """Have it do a job."""
        self.job, self.began, self.used = job, time.monotonic(), _processor_time(self.process)
        with contextlib.suppress(BrokenPipeError):  # it has died since, which its answers will tell
            os.write(self.orders, b"%d\n" % job)

    def late(self, limits: tuple[float, float]) -> float:
        """Return the seconds within which it should have ended, or 0."""
        if _processor_time(self.process) - self.used > limits[0]:
            return limits[0]
        return limits[1] if time.monotonic() - self.began > limits[1] else 0.0

    def end(self) -> int:
        """End it and what it started; return its status."""
        os.close(self.orders)
        os.close(self.answers)
        _end_group(self.process)
        _, status = os.waitpid(self.process, 0)
        _end_group(self.process)  # what it started meanwhile
        return status


Job = Callable[[], Finding]


def run_isolated(
    jobs: Sequence[Job], seconds: float = SECONDS, patience: float = PATIENCE, processes: int = 1
) -> list[Finding]:
    """Run every job in a forked worker and return the findings in the order of the jobs."""
    found = dict(findings(jobs, seconds, patience, processes))
    return [found[i] for i in range(len(jobs))]


def findings(
    jobs: Sequence[Job], seconds: float = SECONDS, patience: float = PATIENCE, processes: int = 1
) -> Iterator[tuple[int, Finding]]:
    """Yield the number of each job and what came of it, as they end."""
    limits = seconds, patience * seconds
    waiting = deque(range(len(jobs)))
    workers: list[_Worker] = []
    try:
        while waiting or workers:
            while waiting and len(workers) < processes:
                workers.append(_fork(jobs, workers))
                workers[-1].give(waiting.popleft())
            ready = select.select([worker.answers for worker in workers], [], [], min(1.0, 0.1 * seconds))[0]
            for worker in list(workers):
                finding = _news(worker, worker.answers in ready, limits)
                if finding is None:
                    continue
                job, ended = worker.job, finding.verdict in ("hang", "crash")
                if not ended and waiting:
                    worker.give(waiting.popleft())
                else:
                    workers.remove(worker)
                    status = worker.end()
                    if finding.verdict == "crash":
                        finding = Finding("crash", f"the process died ({_told(status)})")
                assert job is not None
                yield job, finding
    finally:
        for worker in workers:
            worker.end()


def _news(worker: _Worker, ready: bool, limits: tuple[float, float]) -> Finding | None:
    """Return what came of a worker's job, if that is known."""
    if not ready:
        late = worker.late(limits)
        return Finding("hang", f"no end within {late:g} s") if late else None
    chunk = os.read(worker.answers, 1 << 16)
    if not chunk:
        return Finding("crash")
    worker.text += chunk
    if not worker.text.endswith(b"\n"):
        return None
    line, worker.text = worker.text, b""
    return Finding(**json.loads(line))


def _told(status: int) -> str:
    return f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"exit {os.waitstatus_to_exitcode(status)}"


def _fork(jobs: Sequence[Job], others: list[_Worker]) -> _Worker:
    gc.collect()
    gc.freeze()  # the worker's collector leaves the parent's objects, and so their pages, alone
    orders, answers = os.pipe(), os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns where threads run; ours have ended
        child = os.fork()
    if child == 0:
        for unused in (orders[1], answers[0], *(end for other in others for end in (other.orders, other.answers))):
            os.close(unused)
        _work(jobs, orders[0], answers[1])
    with contextlib.suppress(OSError):  # both do it, so that neither is too late; the child may be gone by now
        os.setpgid(child, child)
    os.close(orders[0])
    os.close(answers[1])
    return _Worker(child, orders[1], answers[0])


def _end_group(leader: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)


def _processor_time(process: int) -> float:
    """Seconds that a process has computed, with those of its children that have ended."""
    try:
        with open(f"/proc/{process}/stat", encoding="ascii", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def _work(jobs: Sequence[Job], orders: int, answers: int) -> None:
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
        with open(orders, encoding="ascii") as lines:
            for line in lines:
                began = time.process_time()
                told = asdict(jobs[int(line)]()) | {"seconds": round(time.process_time() - began, 4)}
                answer = json.dumps(told).encode() + b"\n"
                while answer:
                    answer = answer[os.write(answers, answer) :]
        status = 0
    finally:
        os._exit(status)
