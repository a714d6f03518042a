"""A probe that crashes, hangs or eats memory is found out, and the others go on."""

import os
import signal
import subprocess
import time
from pathlib import Path

from tests.trust.isolation import Finding, run_isolated


def test_the_others_go_on():
    def good():
        return Finding("finite", "1.0")

    def dies():
        os.kill(os.getpid(), signal.SIGSEGV)
        return Finding("finite")

    def leaves():
        os._exit(3)

    def computes():
        while True:
            pass

    def waits():
        time.sleep(1000)
        return Finding("finite")

    found = run_isolated([good, dies, good, leaves, computes, good], seconds=1.0)
    assert [f.verdict for f in found] == ["finite", "crash", "finite", "crash", "hang", "finite"]
    assert run_isolated([waits], seconds=0.2, patience=5.0)[0].verdict == "hang"
    assert "signal 11" in found[1].detail and "exit 3" in found[3].detail


def test_memory_is_limited():
    def hungry():
        try:
            bytearray(2**40)
        except MemoryError:
            return Finding("refused")
        return Finding("finite")

    assert run_isolated([hungry]) == [Finding("refused")]


def test_nothing_is_left_behind(tmp_path):
    def starts_another():
        process = subprocess.Popen(["sleep", "1000"])
        (tmp_path / "pid").write_text(str(process.pid))
        return Finding("finite")

    assert run_isolated([starts_another]) == [Finding("finite")]
    status = Path(f"/proc/{(tmp_path / 'pid').read_text()}/stat")
    for _ in range(200):  # until its new parent has taken note
        if not status.exists() or status.read_text().rpartition(")")[2].split()[0] == "Z":
            return
        time.sleep(0.05)
    raise AssertionError("a process outlived the probe that started it")


def test_several_at_a_time_keep_their_places():
    jobs = [lambda i=i: Finding("finite", str(i)) for i in range(20)]
    jobs[7] = lambda: os._exit(3)
    found = run_isolated(jobs, processes=3)
    assert [f.detail for i, f in enumerate(found) if i != 7] == [str(i) for i in range(20) if i != 7]
    assert found[7].verdict == "crash" and "exit 3" in found[7].detail
