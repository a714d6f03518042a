"""Ctrl-C at random moments of long fits is answered within a second, and leaves the estimator whole (TRUST row 11)."""

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from mercer import KernelMeanClassifier, KernelRidge, ParzenDensity
from mercer.gram import Dense, Tiles
from mercer.kernels import Gaussian
from mercer.solvers import ConjugateGradient
from tests.clock import allowed, answers

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


@pytest.mark.timing
@pytest.mark.filterwarnings("ignore:ConjugateGradient stopped")
@pytest.mark.parametrize("name", LONG)
def test_an_interrupt_is_answered_and_leaves_the_estimator_whole(name):
    make, method = LONG[name]
    labels = (Y > 0).astype(float)
    model = make().fit(X, labels)
    args = (X, labels) if method == "fit" else (np.tile(X, (10, 1)),)
    before = {}

    def call():
        before.clear()
        before.update(vars(model))
        getattr(model, method)(*args)

    def changed():
        return {key for key in before.keys() | vars(model).keys() if vars(model).get(key) is not before.get(key)}

    def unharmed():
        assert changed() in (set(), fresh)  # nothing of the new fit, or all, if the signal came when it was done

    began = time.perf_counter()
    call()  # how long it takes here, so that signals come while it runs
    length = time.perf_counter() - began
    fresh = changed()
    moments = np.random.default_rng(1).uniform(0.02, 0.7, size=HITS) * length
    assert max(answers(call, moments, HITS // 2, unharmed)) <= allowed(1.0)
    assert np.all(np.isfinite(model.predict(X[:5]) if hasattr(model, "predict") else model.score_samples(X[:5])))


def test_signals_are_heard_where_the_shell_has_them_ignored():
    """A shell that runs a command in the background has it ignore Ctrl-C; the tests hear it all the same."""
    code = "import signal, tests.conftest; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    run = subprocess.run(
        [sys.executable, "-c", f"import signal, os, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); "
         f"os.execv(sys.executable, [sys.executable, '-c', {code!r}])"],
        cwd=Path(__file__).resolve().parents[2], capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert run.stdout.strip() == "True"
