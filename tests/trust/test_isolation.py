"""A probe that crashes, hangs or eats memory is found out, and the others go on."""

import os
import signal
import time

from tests.trust.isolation import Finding, run_isolated


def test_the_others_go_on():
    def good():
        return Finding("finite", "1.0")

    def dies():
        os.kill(os.getpid(), signal.SIGSEGV)
        return Finding("finite")

    def leaves():
        os._exit(3)

    def hangs():
        time.sleep(60)
        return Finding("finite")

    found = run_isolated([good, dies, good, leaves, hangs, good], seconds=0.5)
    assert [f.verdict for f in found] == ["finite", "crash", "finite", "crash", "hang", "finite"]
    assert "signal 11" in found[1].detail and "exit 3" in found[3].detail


def test_memory_is_limited():
    def hungry():
        try:
            bytearray(2**40)
        except MemoryError:
            return Finding("refused")
        return Finding("finite")

    assert run_isolated([hungry]) == [Finding("refused")]
