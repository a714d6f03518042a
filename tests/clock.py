"""What tests may say about time.

A busy machine is slow. `make test` therefore allows ten times what is promised, and `make timing`, which runs the tests
marked ``timing`` alone, holds mercer to the promise.
"""

import gc
import os
import signal
import threading
import time

STRICT = os.environ.get("MERCER_TIMING") == "1"
MARGIN = 1.0 if STRICT else 10.0


def allowed(promise: float) -> float:
    """Seconds, or a ratio of seconds, that a test accepts where so many are promised."""
    return MARGIN * promise


def interrupted(call, moment: float) -> float | None:
    """Run a call, send SIGINT after `moment` seconds, and return the seconds until it was answered (None: too late)."""
    sent = []
    over = threading.Event()

    def send():
        if not over.wait(moment):
            sent.append(time.perf_counter())
            os.kill(os.getpid(), signal.SIGINT)

    sender = threading.Thread(target=send)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever the process was started with
    watchers, gc.callbacks[:] = gc.callbacks[:], []  # of Hypothesis: what is raised in one is printed and lost
    try:
        sender.start()  # from here on the signal may come
        call()
        over.set()
        sender.join()
        if sent:
            time.sleep(0.05)  # the signal came in the last instant and is delivered here
        return None
    except KeyboardInterrupt:
        return time.perf_counter() - sent[0]
    finally:
        over.set()
        sender.join()
        gc.callbacks[:] = watchers
        signal.signal(signal.SIGINT, before)


def answers(call, moments, least: int, unharmed=lambda: None) -> list[float]:
    """Seconds until each of some interrupts was answered, at moments that come sooner while calls end before them.

    `unharmed` is called after each call that was interrupted. At least `least` calls must have been.
    """
    found: list[float] = []
    sooner = 1.0
    for moment in [*moments] * 10:
        late = interrupted(call, sooner * moment)
        if late is None:
            sooner *= 0.7
            continue
        unharmed()
        found.append(late)
        if len(found) >= len(moments):
            break
    assert len(found) >= least, f"only {len(found)} of the calls were interrupted before they ended"
    return found
