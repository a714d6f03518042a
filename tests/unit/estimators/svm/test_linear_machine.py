"""What linear machines share: threads, interruption, progress, plans."""

import threading
import time

import numpy as np
import pytest
from sklearn.datasets import make_classification

from mercer.errors import MemoryBudgetError
from mercer.estimators.svm import linear_machine as module
from mercer.estimators.svm.linear import LinearSVC, LinearSVR
from mercer.solvers import DualDescent
from tests.clock import allowed, answers

A, B = make_classification(20_000, 60, n_informative=20, n_classes=4, flip_y=0.2, random_state=0)


@pytest.mark.timing
@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupt_is_answered_and_leaves_the_estimator_whole(threads):
    small = slice(0, 200)
    model = LinearSVC(100.0, loss="hinge", solver=DualDescent(polish=False, max_iter=5000), n_threads=threads)
    model.set_params(C=1e-4).fit(A[small], B[small]).set_params(C=100.0)
    before = {key: id(value) for key, value in vars(model).items()}

    def unharmed():
        assert {key: id(value) for key, value in vars(model).items()} == before

    assert max(answers(lambda: model.fit(A, B), (0.3,), 1, unharmed)) <= allowed(1.0)
    deadline = time.perf_counter() + allowed(5.0)
    while any(t.name == "mercer-linear" for t in threading.enumerate()):  # the threads end by themselves
        assert time.perf_counter() < deadline
        time.sleep(0.02)


def test_a_failure_in_a_thread_is_raised():
    def work(place):
        if place == 2:
            raise RuntimeError("in a thread")

    with pytest.raises(RuntimeError, match="in a thread"):
        module._in_threads(4, work, 2, lambda: None)


def test_the_watcher_is_called_while_threads_work():
    seen = []
    module._in_threads(2, lambda place: time.sleep(0.2), 2, lambda: seen.append(1))
    assert seen


def test_the_plan_names_its_buffers():
    plan = LinearSVC().memory_plan(1000, 20, 3)
    assert plan.buffers["packed samples"] == 160_000 and plan.total > 160_000
    with pytest.raises(MemoryBudgetError, match="n_threads=1"):
        plan.require("1kB")
    assert LinearSVR(n_threads=1).memory_plan(1000, 2000).buffers["normal equations"] == 0


def test_seeds():
    assert LinearSVC()._seed() == LinearSVC(random_state=0)._seed() == 0
    assert LinearSVC(random_state=7)._seed() == 7
    states = [LinearSVC(random_state=np.random.RandomState(3))._seed() for _ in range(2)]
    assert states[0] == states[1] > 0
