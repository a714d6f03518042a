"""One run of fit: progress, time, and an estimator left whole."""

import pytest

from mercer.errors import TimeBudgetError
from mercer.estimators.fits import STEPS, Run, _share, whole
from mercer.problems import Status
from mercer.runtime.tiling import Stopped


class Context:
    def __init__(self, answers=()):
        self.told, self.answers = 0, list(answers)

    def subcontext(self, task_name):
        return self

    def call_on_fit_task_begin(self, estimator, **data):
        pass

    def call_on_fit_task_end(self, estimator, **data):
        self.told += 1
        return self.told in self.answers


class Estimator:
    memory = n_threads = None

    def __init__(self, max_time=None, answers=(), listened=True):
        self.max_time, self.context = max_time, Context(answers)
        if listened:
            self._skl_callbacks = [object()]

    def _init_callback_context(self, max_subtasks):
        assert max_subtasks == STEPS
        return self.context


def test_stages_fill_the_hundred_steps_once():
    estimator = Estimator()
    run = Run(estimator)
    with run.stage("first", 0.5):
        assert not run.monitor(0.5)
        assert run.done == 25
        assert not run.monitor(0.4)  # progress never goes back
        assert run.done == 25
    assert run.done == 50
    run.end(None)
    assert run.done == STEPS and estimator.context.told == STEPS + 1


def test_a_callback_stops_a_stage():
    run = Run(Estimator(answers=[3]))
    assert not run.monitor(0.02) and run.monitor(0.05)
    with pytest.raises(TimeBudgetError, match="stopped by a callback"), run.stage("Gram matrix", 1.0):
        raise Stopped


def test_time_runs_out():
    run = Run(Estimator(max_time=1e-9, listened=False))
    assert run.monitor(0.1) and run.solver_monitor(1e-6)(1, 0.5) is Status.TIME
    with pytest.raises(TimeBudgetError, match="max_time"), run.stage("Gram matrix", 1.0):
        raise TimeoutError


def test_nobody_watching_costs_nothing():
    assert Run(Estimator(listened=False)).resources().monitor is None
    assert Run(Estimator()).resources().monitor is not None


def test_share_is_logarithmic():
    assert _share(1.0, 1.0, 1e-8) == 0.0 and _share(1.0, 2.0, 1e-8) == 0.0
    assert _share(1.0, 1e-4, 1e-8) == pytest.approx(0.5) and _share(1.0, 1e-9, 1e-8) == 1.0
    assert _share(1.0, 0.0, 1e-8) == 1.0


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_failed_fit_leaves_no_trace(error):
    estimator = Estimator()
    estimator.kept_ = before = object()
    with pytest.raises(error), whole(estimator):
        estimator.kept_, estimator.new_ = None, 1
        estimator._callback_fit_ctx = "needed by scikit-learn's teardown"
        raise error
    assert estimator.kept_ is before and not hasattr(estimator, "new_")
    assert estimator._callback_fit_ctx == "needed by scikit-learn's teardown"
