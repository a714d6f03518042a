"""Minima over frames against eigenvectors."""

import numpy as np
import pytest

from mercer.errors import DomainError
from mercer.problems import Status
from mercer.solvers.smooth.rotations import minimize_frame, projected, random_frame, require_squares

rng = np.random.default_rng(0)
C = np.diag([5.0, 4.0, 3.0, 2.0, 1.0])
Q = np.linalg.qr(rng.normal(size=(5, 5)))[0]
SYMMETRIC = Q @ C @ Q.T


def trace(V):
    return float(np.trace(V @ SYMMETRIC @ V.T)), 2.0 * V @ SYMMETRIC


@pytest.mark.parametrize("m", [1, 2, 4])
def test_the_smallest_trace_is_that_of_the_last_eigenvectors(m):
    # steps are judged by values, whose rounding hides gradients below the root of eps
    found = minimize_frame(trace, random_frame(np.random.RandomState(1), m, 5), tol=1e-7)
    assert found.status is Status.CONVERGED and found.residual <= 1e-7
    assert found.value == pytest.approx(np.sum(np.arange(1, m + 1)), rel=1e-12)
    np.testing.assert_allclose(found.frame @ found.frame.T, np.eye(m), atol=1e-13)
    space = Q[:, -m:]
    np.testing.assert_allclose(found.frame.T @ found.frame, space @ space.T, atol=1e-6)


def test_a_rotation_of_the_whole_space_stays_one():
    target = random_frame(np.random.RandomState(2), 4, 4)
    target *= np.linalg.det(target)  # of four rows, one sign does not matter for the determinant of -R
    target[0] *= np.sign(np.linalg.det(target))
    found = minimize_frame(lambda V: (5.0 - np.vdot(V, target), -target), np.eye(4), tol=1e-9)
    np.testing.assert_allclose(found.frame, target / np.linalg.norm(target, axis=1)[:, None], atol=1e-6)
    assert np.linalg.det(found.frame) == pytest.approx(1.0)


def test_the_value_never_rises_and_the_end_is_told():
    values = []

    def watched(V):
        value, slope = trace(V)
        values.append(value)
        return value, slope

    start = random_frame(np.random.RandomState(1), 2, 5)
    short = minimize_frame(watched, start, tol=1e-12, max_iter=2)
    assert short.status is Status.MAX_ITER and short.iterations == 2 and short.value <= values[0]
    assert minimize_frame(trace, start, monitor=lambda i, r: i == 1).status is Status.STOPPED
    assert minimize_frame(trace, start, monitor=lambda i, r: Status.TIME).status is Status.TIME
    wrong = minimize_frame(lambda V: (trace(V)[0], -trace(V)[1]), start)  # a slope that misleads
    assert wrong.status is Status.STALLED and wrong.value == trace(start)[0]


def test_random_frames_are_orthonormal_and_the_same_for_the_same_seed():
    V = random_frame(np.random.RandomState(3), 3, 7)
    np.testing.assert_allclose(V @ V.T, np.eye(3), atol=1e-14)
    np.testing.assert_array_equal(V, random_frame(np.random.RandomState(3), 3, 7))


def test_what_overflows_is_refused():
    far = np.array([[1.0, 1.0], [1e308, 1e308]])
    with pytest.raises(DomainError, match="Sample 1"):
        projected(far, np.zeros(2), np.ones((1, 2)))
    with pytest.raises(DomainError, match="squares overflow"):
        require_squares(np.eye(2), far)
    require_squares(np.eye(2))
