"""Ctrl-C at random moments of long fits is answered within a second, and leaves the estimator whole (TRUST row 11)."""

import os
import signal
import threading
import time

import numpy as np
import pytest

from mercer import KernelMeanClassifier, KernelRidge, ParzenDensity
from mercer.gram import Dense, Tiles
from mercer.kernels import Gaussian
from mercer.solvers import ConjugateGradient

rng = np.random.default_rng(0)
X = rng.normal(size=(3500, 20))
Y = np.sin(X[:, 0])

LONG = {
    "cholesky": (lambda: KernelRidge(Gaussian(3.0), alpha=1e-3, gram=Dense()), "fit"),
    "leave one out": (lambda: KernelRidge(Gaussian(3.0), alpha=1e-3, gram=Dense(), leave_one_out=True), "fit"),
    "conjugate gradients": (
        lambda: KernelRidge(Gaussian(3.0), alpha=1e-3, gram=Tiles(), solver=ConjugateGradient(max_iter=20)),
        "fit",
    ),
    "means": (lambda: KernelMeanClassifier(Gaussian(3.0), gram=Tiles()), "fit"),
    "one thread": (lambda: KernelRidge(Gaussian(3.0), alpha=1e-3, gram=Dense(), n_threads=1), "fit"),
    "density": (lambda: ParzenDensity(Gaussian(3.0)), "score_samples"),
}
HITS = 10


@pytest.mark.filterwarnings("ignore:ConjugateGradient stopped")
@pytest.mark.parametrize("name", LONG)
def test_an_interrupt_is_answered_and_leaves_the_estimator_whole(name):
    make, method = LONG[name]
    labels = (Y > 0).astype(float)
    model = make().fit(X, labels)
    args = (X, labels) if method == "fit" else (np.tile(X, (10, 1)),)
    began = time.perf_counter()
    getattr(model, method)(*args)  # how long it takes here, so that signals come while it runs
    length = time.perf_counter() - began
    before = {key: id(value) for key, value in vars(model).items()}
    answered = []
    for moment in np.random.default_rng(1).uniform(0.02, 0.7, size=HITS) * length:
        late = _interrupted(lambda: getattr(model, method)(*args), moment)
        if late is None:  # it was done before the signal came: this is another fit now
            before = {key: id(value) for key, value in vars(model).items()}
        else:
            answered.append(late)
            assert {key: id(value) for key, value in vars(model).items()} == before
    assert len(answered) >= HITS // 2
    assert max(answered) <= 1.0
    assert np.all(np.isfinite(model.predict(X[:5]) if hasattr(model, "predict") else model.score_samples(X[:5])))


def _interrupted(call, moment):
    """Run a call, send SIGINT after `moment` seconds, and return the seconds until it was answered (None: too late)."""
    sent = []
    over = threading.Event()

    def send():
        if not over.wait(moment):
            sent.append(time.perf_counter())
            os.kill(os.getpid(), signal.SIGINT)

    sender = threading.Thread(target=send)
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
