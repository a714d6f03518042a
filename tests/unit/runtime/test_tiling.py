"""The driver of tiles: order, threads, interruption, monitors, buffers."""

import math
import os
import signal
import threading
import time

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from mercer.numerics.cholesky import lapack
from mercer.runtime import tiling
from mercer.runtime.compiled import compiled
from mercer.runtime.tiling import (
    Scratch,
    Stopped,
    in_background,
    raising_interrupts,
    run_tasks,
    serial_blas,
    spans,
    thread_count,
    tile_grid,
    tile_side,
)
from tests.clock import allowed, interrupted


@pytest.mark.parametrize("threads", [1, 2, 5, None])
def test_every_task_is_done_once(threads):
    done, lock = [], threading.Lock()

    def work(task):
        with lock:
            done.append(task)

    run_tasks(range(100), work, n_threads=threads)
    assert sorted(done) == list(range(100))
    run_tasks([], work, n_threads=threads)


@pytest.mark.parametrize("threads", [1, 2])
def test_an_error_of_a_task_is_raised_and_ends_the_run(threads):
    done = []

    def work(task):
        if task == 3:
            raise ZeroDivisionError("task 3")
        time.sleep(0.001)
        done.append(task)

    with pytest.raises(ZeroDivisionError, match="task 3"):
        run_tasks(range(1000), work, n_threads=threads)
    assert len(done) < 1000
    assert everybody_rests()


@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_is_answered_at_once_and_leaves_no_thread(threads):
    done = []

    def work(task):
        time.sleep(0.005)
        done.append(task)

    assert interrupted(lambda: run_tasks(range(5000), work, n_threads=threads), 0.1) is not None
    assert everybody_rests() and len(done) < 2500


@pytest.mark.parametrize("threads", [1, 2])
def test_a_monitor_stops_the_run(threads):
    done = []
    with pytest.raises(Stopped):
        run_tasks(
            range(2000),
            lambda task: done.append(task) or time.sleep(0.001),
            n_threads=threads,
            monitor=lambda fraction: fraction > 0.01,
        )
    assert 20 <= len(done) < 2000


@pytest.mark.parametrize("threads", [1, 2])
def test_a_monitor_sees_the_end_and_cannot_stop_what_is_done(threads):
    seen = []
    run_tasks(range(5), lambda task: None, n_threads=threads, monitor=lambda p: seen.append(p) or p == 1.0)
    assert seen[-1] == 1.0 and seen == sorted(seen)


@pytest.mark.parametrize("threads", [1, 2])
def test_an_error_of_the_monitor_ends_the_run(threads):
    def monitor(fraction):
        raise OSError("no progress bar")

    with pytest.raises(OSError, match="no progress bar"):
        run_tasks(range(2000), lambda task: time.sleep(0.001), n_threads=threads, monitor=monitor)
    assert everybody_rests()


def test_thread_counts():
    assert thread_count(3) == 3 and thread_count(0) == 1 and thread_count(None) >= 1


def test_thread_count_without_affinity(monkeypatch):
    monkeypatch.delattr(tiling.os, "sched_getaffinity", raising=False)
    assert thread_count(None) >= 1


def _blas_threads():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def test_blas_is_serial_inside_and_as_before_after():
    before = _blas_threads()
    with serial_blas():
        with serial_blas():
            assert all(count == 1 for count in _blas_threads())
        assert all(count == 1 for count in _blas_threads())
    assert _blas_threads() == before
    with pytest.raises(ValueError, match="inside"), serial_blas():
        raise ValueError("inside")
    assert _blas_threads() == before


def test_spans_and_grids():
    assert spans(5, 2) == [slice(0, 2), slice(2, 4), slice(4, 5)]
    assert spans(0, 2) == []
    side = tile_side(8)
    n = 2 * side + 1
    assert len(tile_grid(n, n, 8)) == 9
    half = tile_grid(n, n, 8, symmetric=True)
    assert len(half) == 6 and all(c.start >= r.start for r, c in half)
    assert tile_side(4) > tile_side(8)
    assert len(tile_grid(7, 7, 8, side=4)) == 4 and len(tile_grid(n, n, 8, side=10 * n)) == 9
    covered = np.zeros((7, n), dtype=int)
    for rows, columns in tile_grid(7, n, 8):
        covered[rows, columns] += 1
    assert (covered == 1).all()


def test_scratch_hands_the_same_memory_out_again():
    scratch = Scratch()
    first, second = scratch.empty((3, 4), np.dtype(float)), scratch.empty((3, 4), np.dtype(float))
    first[...], second[...] = 1.0, 2.0
    assert first.shape == (3, 4) and not np.shares_memory(first, second) and first.flags.c_contiguous
    scratch.reset()
    again = scratch.empty((2, 2), np.dtype(np.float32))
    assert np.shares_memory(again, first) and again.dtype == np.float32
    large = scratch.empty((600, 600), np.dtype(float))
    assert large.shape == (600, 600)
    scratch.reset()
    larger = scratch.empty((700, 700), np.dtype(float))
    assert larger.nbytes == 700 * 700 * 8


def test_scratch_belongs_to_a_thread():
    scratch, other = Scratch(), []
    mine = scratch.empty((2, 2), np.dtype(float))
    thread = threading.Thread(target=lambda: other.append(scratch.empty((2, 2), np.dtype(float))))
    thread.start()
    thread.join()
    assert not np.shares_memory(mine, other[0])


def everybody_rests():
    """Whether the workers are back from their work within a second."""
    until = time.perf_counter() + allowed(1.0)
    while tiling._workers.busy and time.perf_counter() < until:
        time.sleep(0.001)
    return tiling._workers.busy == 0


def test_runs_inside_tasks_and_from_several_threads():
    counts = []

    def outer(task):
        run_tasks(range(5), lambda inner: counts.append((task, inner)), n_threads=2)

    threads = [threading.Thread(target=run_tasks, args=(range(4), outer), kwargs={"n_threads": 3}) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10.0)
    assert len(counts) == 3 * 4 * 5
    assert everybody_rests()


def test_threads_wait_for_the_next_run():
    run_tasks(range(10), lambda task: None, n_threads=2)
    before = sum(thread.name == "mercer-tile" for thread in threading.enumerate())
    for _ in range(20):
        run_tasks(range(10), lambda task: None, n_threads=2)
        assert everybody_rests()
    assert sum(thread.name == "mercer-tile" for thread in threading.enumerate()) == before


def test_a_task_sees_that_the_run_was_stopped():
    stop, seen = threading.Event(), []

    def work(task):
        if task == 0:
            raise OSError("no more")
        seen.append(stop.wait(10.0))

    with pytest.raises(OSError, match="no more"):
        run_tasks(range(2), work, n_threads=2, stop=stop)
    assert all(seen)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_process_has_workers_of_its_own():
    run_tasks(range(10), lambda task: None, n_threads=2)
    child = os.fork()
    if not child:
        done = []
        run_tasks(range(10), done.append, n_threads=2)
        os._exit(0 if len(done) == 10 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_blas_has_one_thread_for_small_matrices_only():
    def threads():
        return max((pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"), default=1)

    usual = threads()
    with tiling.blas_for(10):
        assert threads() == 1
    with tiling.blas_for(10**6):
        assert threads() == usual
    assert threads() == usual


def here():
    return threading.current_thread()


def test_a_long_call_runs_in_another_thread_and_a_short_one_does_not():
    assert in_background(here) is not here()
    assert in_background(here, work=tiling.WORTH_A_THREAD) is not here()
    assert in_background(here, work=tiling.WORTH_A_THREAD / 2) is here()


def test_outside_the_main_thread_the_call_is_direct():
    seen = []
    thread = threading.Thread(target=lambda: seen.append((in_background(here), here())))
    thread.start()
    thread.join()
    assert seen[0][0] is seen[0][1]


def test_arguments_and_result_pass_through():
    assert in_background(divmod, 17, 5) == (3, 2)
    assert in_background(lambda: None) is None


@pytest.mark.parametrize("error", [ValueError("no"), KeyError("x"), SystemExit(3)])
def test_what_is_raised_is_raised_again(error):
    def fail():
        raise error

    with pytest.raises(type(error)) as caught:
        in_background(fail)
    assert caught.value is error
    assert "fail" in [entry.name for entry in caught.traceback]


def test_numpy_error_state_is_that_of_the_caller():
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        in_background(np.divide, np.ones(2), np.zeros(2))
    with np.errstate(divide="ignore"):
        assert np.isinf(in_background(np.divide, np.ones(2), np.zeros(2))).all()


def test_ctrl_c_is_answered_while_the_call_goes_on():
    release = threading.Event()
    ended = threading.Event()

    def wait():
        release.wait(10)
        ended.set()

    late = interrupted(lambda: in_background(wait), 0.1)
    assert late is not None and late < 5.0  # of the ten that the call would take
    assert not ended.is_set()  # abandoned, not stopped
    release.set()
    assert ended.wait(10)


def test_ctrl_c_is_answered_during_a_factorisation():
    n = 4500
    A = np.zeros((n, n))
    A[:] = 0.5
    np.fill_diagonal(A, 1.0)
    finished = threading.Event()

    def factor():
        lapack("dpotrf")("L", n, A, n, np.zeros(1, np.intc))
        finished.set()

    late = interrupted(lambda: in_background(factor), 0.1)
    early = not finished.is_set()
    assert finished.wait(600)  # leaves the processor to the tests that follow
    assert early and late is not None


def test_a_deadline_that_passes():
    release = threading.Event()
    with pytest.raises(TimeoutError, match="deadline"):
        in_background(release.wait, 10, deadline=time.monotonic() + 0.1)
    release.set()
    assert in_background(math.sqrt, 4.0, deadline=time.monotonic() + 10) == 2.0


@compiled
def _pair(n):
    return np.zeros(n), np.ones(n)


def test_an_interrupt_while_a_compiled_function_hands_over_its_result_is_heard():
    _pair(2)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    hidden = 0
    for _ in range(30):
        try:
            signal.setitimer(signal.ITIMER_REAL, 1e-3)  # from here on the signal may come
            with raising_interrupts():
                while True:
                    _pair(2)
        except KeyboardInterrupt as answer:
            hidden += isinstance(answer.__cause__, SystemError)
    signal.signal(signal.SIGALRM, before)
    assert hidden  # otherwise this test shows nothing


def test_other_system_errors_are_left_as_they_are():
    with pytest.raises(SystemError, match="else"), raising_interrupts():
        raise SystemError("something else")


@pytest.mark.parametrize("shape", [(1, 1), (7, 9), (8, 8), (16, 17), (23, 31), (0, 3)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_transposes_of_every_shape(shape, dtype):
    source = np.random.default_rng(0).normal(size=shape).astype(dtype)
    wide = np.full((shape[1] + 2, shape[0] + 3), np.nan, dtype)
    target = wide[1 : 1 + shape[1], 2 : 2 + shape[0]]  # a view into something larger, as in a Gram matrix
    tiling.transpose_into(source, target)
    assert np.array_equal(target, source.T)
    assert np.isnan(wide).sum() == wide.size - source.size  # nothing beside it was touched
    tiling._transpose.py_func(source, again := np.empty(shape[::-1], dtype))
    assert np.array_equal(again, source.T)


def test_a_target_of_another_shape_is_refused():
    with pytest.raises(ValueError, match="reversed shape"):
        tiling.transpose_into(np.ones((2, 3)), np.ones((2, 3)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_all_finite(bad, dtype):
    tile = np.full((7, 11), np.finfo(dtype).max, dtype)
    assert tiling.all_finite(tile)
    for place in (0, 38, 76):
        spoiled = tile.copy()
        spoiled.flat[place] = bad
        assert not tiling.all_finite(spoiled)
