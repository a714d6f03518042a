import math
import signal
import threading
import time

import numpy as np
import pytest

from mercer.runtime import interrupts as background
from mercer.runtime.compiled import compiled
from mercer.runtime.interrupts import in_background, lapack, raising_interrupts
from tests.clock import interrupted


def here():
    return threading.current_thread()


def test_a_long_call_runs_in_another_thread_and_a_short_one_does_not():
    assert in_background(here) is not here()
    assert in_background(here, work=background.WORTH_A_THREAD) is not here()
    assert in_background(here, work=background.WORTH_A_THREAD / 2) is here()


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


def test_lapack_releases_the_lock():
    n = 2500
    A = np.full((n, n), 0.5)
    np.fill_diagonal(A, 1.0)
    done = threading.Event()

    def factor():
        lapack("dpotrf")("L", n, A, n, np.zeros(1, np.intc))
        done.set()

    threading.Thread(target=factor).start()
    turns = 0
    while not done.wait(0.002):
        turns += 1
    assert turns > 3  # of the interpreter while the call ran; none if it held the lock


def test_lapack_computes_where_the_array_lies():
    rng = np.random.default_rng(0)
    large = np.zeros((7, 9))
    X = rng.normal(size=(4, 4))
    G = X @ X.T + np.eye(4)
    large[2:6, 3:7] = G
    info = np.zeros(1, np.intc)
    lapack("dpotrf")("L", 4, large[2:6, 3:7], 9, info)
    assert info[0] == 0
    np.testing.assert_allclose(np.triu(large[2:6, 3:7]), np.linalg.cholesky(G).T, rtol=1e-12)
    outside = np.ones((7, 9), dtype=bool)
    outside[2:6, 3:7] = False
    assert not large[outside].any()


def test_blas_is_found_too():
    T, X = np.array([[2.0, 1.0], [0.0, 4.0]]), np.array([[2.0, 9.0]])
    lapack("dtrsm")("L", "L", "N", "N", 2, 1, 1.0, T, 2, X, 2)
    np.testing.assert_allclose(X, [[1.0, 2.0]])


def test_lapack_refuses_what_would_crash():
    info = np.zeros(1, np.intc)
    with pytest.raises(TypeError, match="5 arguments"):
        lapack("dpotrf")("L", 2, np.eye(2))
    with pytest.raises(TypeError, match="float32"):
        lapack("dpotrf")("L", 2, np.eye(2, dtype=np.float32), 2, info)
    with pytest.raises(TypeError, match="int64"):
        lapack("dpotrf")("L", 2, np.eye(2), 2, np.zeros(1, np.int64))
    with pytest.raises(TypeError, match="not among those"):
        lapack("zpotrf")
    with pytest.raises(KeyError):
        lapack("dnothing")


def test_routines_of_float32():
    A, info = np.array([[4.0, 2.0], [2.0, 5.0]], dtype=np.float32), np.zeros(1, np.intc)
    lapack("spotrf")("L", 2, A, 2, info)
    assert np.array_equal(np.triu(A), [[2.0, 1.0], [0.0, 2.0]]) and info[0] == 0
    with pytest.raises(TypeError, match="float32"):
        lapack("spotrf")("L", 2, A.astype(float), 2, info)


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
