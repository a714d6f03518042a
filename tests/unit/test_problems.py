import dataclasses

import numpy as np
import pytest

from mercer.problems import LinearSystem, Solution, Status, Trace


def test_each_status_is_a_sentence_of_advice():
    for status in Status:
        assert status.value[0].isupper()
        assert status.value.endswith(".")
        if not status.converged:
            assert ": " in status.value, "what happened, then what to do"
    assert [status.name for status in Status if status.converged] == ["CONVERGED"]
    assert len({status.value for status in Status}) == len(Status) == 6


def test_trace_is_three_arrays():
    trace = Trace.of([(3.0, 0.5, 0.0), (2.0, 0.25, 0.1)])
    np.testing.assert_array_equal(trace.objective, [3.0, 2.0])
    np.testing.assert_array_equal(trace.residual, [0.5, 0.25])
    np.testing.assert_array_equal(trace.seconds, [0.0, 0.1])
    assert all(column.flags.c_contiguous for column in (trace.objective, trace.residual, trace.seconds))
    assert len(trace) == 2
    assert len(Trace.of([])) == 0


def test_records_do_not_change():
    system = LinearSystem(gram=None, shift=1.0, rhs=np.ones(2))
    assert system.border is None
    with pytest.raises(dataclasses.FrozenInstanceError):
        system.shift = 2.0
    solution = Solution(coef=np.ones(2), status=Status.CONVERGED, residual=0.0)
    assert solution.weights is None
    assert solution.state is None
    assert solution.jitter == 0.0
    assert solution.multipliers.shape == (0,)
    assert len(solution.trace) == 0
    with pytest.raises(dataclasses.FrozenInstanceError):
        solution.residual = 1.0


def test_defaults_are_not_shared():
    first, second = (Solution(coef=np.ones(1), status=Status.TIME, residual=1.0) for _ in range(2))
    assert first.multipliers is not second.multipliers
    assert first.trace is not second.trace
