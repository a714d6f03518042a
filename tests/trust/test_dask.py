"""Workers in processes of their own: the same bits for any number of them, also when some are killed; none is left."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest

from mercer.gram import Distributed
from mercer.runtime import workers as cluster
from tests.clock import allowed

pytest.importorskip("distributed")
kills = pytest.importorskip("tests.trust.dask_kills")

PROGRAM = """
import numpy as np
from mercer import KernelRidge
from mercer.gram import Distributed
from mercer.kernels import Gaussian

if __name__ == "__main__":
    X = np.random.default_rng(0).standard_normal((20_000, 3))
    gram = Distributed(workers=1)
    with gram.open() as crew:
        print(*crew.pids(), flush=True)
        KernelRidge(Gaussian(0.1), alpha=1e-9, gram=gram).fit(X, X[:, 0])
"""


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except OSError:
        return False


def folders() -> set[str]:
    return {path.name for path in Path(tempfile.gettempdir()).glob("mercer-workers-*")}


@pytest.fixture(scope="module")
def quickly():
    with kills.quick_start():
        yield


def test_one_and_two_workers_and_this_process_give_the_same_bits_and_nothing_is_left(quickly):
    expected = [kills.fitted("here", job) for job in kills.JOBS]
    before, pids = folders(), []
    for workers in (1, 2):
        with Distributed(workers=workers).open() as crew:
            pids += crew.pids()
            assert len(crew.pids()) == workers
            for job, coef in zip(kills.JOBS, expected, strict=True):
                assert np.array_equal(kills.fitted(None, job), coef)
    assert not cluster._hired
    assert len(set(pids)) == 3
    assert not [pid for pid in pids if alive(pid)]
    assert folders() <= before


def test_workers_that_are_killed_change_no_bit(quickly):
    fits, different = kills.kill_and_compare(runs=len(kills.JOBS), kills=12)
    assert fits >= len(kills.JOBS)
    assert not different


@pytest.mark.timing
@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_ends_everything_at_once(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    process = subprocess.Popen(
        [sys.executable, str(program)],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    pids = [int(text) for text in process.stdout.readline().split()]
    assert pids
    time.sleep(1.5)
    began = time.monotonic()
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the workers as well
    _, errors = process.communicate(timeout=allowed(30))
    assert time.monotonic() - began < allowed(10.0)
    assert process.returncode != 0
    assert "KeyboardInterrupt" in errors
    assert not [pid for pid in pids if alive(pid)]
    assert not list(tmp_path.glob("mercer-workers-*"))
