"""A solution that is carried along: settled from any corner, moved, brought back."""

import numpy as np
import pytest

from mercer.domains import Vectors
from mercer.gram import Dense
from mercer.kernels import Gaussian, Linear
from mercer.selection import homotopy as module
from mercer.selection import margin_system as elbow_module
from mercer.selection.homotopy import ABSENT, ELBOW, LEFT, RIGHT, Homotopy, Indefinite
from mercer.selection.margin_system import Rows

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 2))
Y = np.where(X[:, 0] + 0.5 * rng.normal(size=40) > 0.3, 1.0, -1.0)


def homotopy(C=0.1, kernel=None, X=X, y=Y, weight=None):
    gram = Dense().build(Gaussian(1.0) if kernel is None else kernel, Vectors.pack(X))
    return Homotopy(Rows(gram, False), y, np.ones(len(y)) if weight is None else weight, C, None)


def test_the_first_corner_is_feasible():
    weight = rng.integers(0, 3, size=40).astype(float)
    walk = homotopy(C=2.0, weight=weight)
    alpha = Y * walk.beta()
    assert np.all((alpha >= 0.0) & (alpha <= 2.0 * weight))
    assert abs(np.sum(walk.beta())) <= 1e-12
    assert np.all((walk.side == ABSENT) == (weight == 0.0))


@pytest.mark.parametrize("C", [1e-4, 0.1, 10.0])
def test_settling_makes_it_optimal(C):
    walk = homotopy(C=C)
    assert walk.settle(scale=1.0) <= 1e-12
    assert walk.C == C


def test_moving_and_coming_back():
    walk = homotopy(C=0.1)
    walk.settle(scale=1.0)
    saved, beta = walk.snapshot(), walk.beta()
    calls = []
    walk.before_change = lambda: calls.append(walk.C)
    assert walk.run(4.9)
    assert walk.C == 5.0 and walk.refresh() <= 1e-11
    assert calls == sorted(calls) and len(calls) > 5
    direct = homotopy(C=5.0)
    direct.settle(scale=1.0)
    assert np.allclose(walk.beta(), direct.beta(), atol=1e-9)
    walk.restore(saved)
    assert walk.C == 0.1 and np.allclose(walk.beta(), beta, atol=1e-15)


def test_a_dependent_sample_takes_the_place_of_another():
    walk = homotopy(C=0.5, kernel=Linear())
    walk.settle(scale=1.0)
    outside = np.flatnonzero(walk.side == RIGHT)
    for i in outside[:4]:  # more than the elbow has room for in two dimensions
        walk.enter(int(i))
        assert walk.elbow.size <= 3
        assert set(walk.elbow.members) == set(np.flatnonzero(walk.side == ELBOW))
        assert abs(np.sum(walk.beta())) <= 1e-12
    assert walk.disturbed
    alpha = Y * walk.beta()
    assert np.all((alpha >= 0.0) & (alpha <= 0.5))


def test_a_dependent_sample_may_cross_to_the_other_side():
    X2 = np.array([[1.0], [1.0], [-1.0], [-1.0]])
    walk = homotopy(
        C=0.3, kernel=Linear(), X=X2, y=np.array([1.0, 1.0, -1.0, -1.0]), weight=np.array([3.0, 1.0, 2.0, 2.0])
    )
    walk.settle(scale=1.0)
    f = walk.source.product(walk.beta()[:, None])
    for i in range(4):
        if walk.side[i] != ELBOW:
            walk.enter(i)
    assert np.allclose(walk.source.product(walk.beta()[:, None]), f, atol=1e-12)


def test_a_negative_pivot_is_told():
    walk = homotopy()
    walk.source.gram.array[...] = -np.eye(40)
    with pytest.raises(Indefinite):
        for i in range(40):
            walk.enter(i)


def test_circles_end(monkeypatch):
    walk = homotopy(C=0.1)
    walk.settle(scale=1.0)
    monkeypatch.setattr(module, "_first_event", lambda *args: (0.0, int(walk.elbow.members[0]), 2))
    monkeypatch.setattr(walk, "enter", lambda i: None)
    assert not walk.run(1.0)


def test_the_compiled_loops_in_python(monkeypatch):
    for name in ("_violation", "_interval", "_first_event"):
        monkeypatch.setattr(module, name, getattr(module, name).py_func)
    for name in ("_forward", "_backward", "_solve_both", "_delete", "_combine"):
        monkeypatch.setattr(elbow_module, name, getattr(elbow_module, name).py_func)
    walk = homotopy(C=0.1)
    assert walk.settle(scale=1.0) <= 1e-12
    assert walk.run(2.0) and walk.refresh() <= 1e-11


def test_of_events_that_coincide_the_fastest_or_the_first_is_taken():
    side = np.array([RIGHT, RIGHT, LEFT, ELBOW, ABSENT], dtype=np.int8)
    margin, rate = np.array([0.1, 0.2, -5.0, 0.0, 0.0]), np.array([-1.0, -2.0, 1.0, 0.0, -9.0])
    alpha, speed, weight = np.array([0.0, 0.0, 1.0, 0.5, 0.0]), np.array([0.0, 0.0, 0.0, -0.5, 0.0]), np.ones(5)
    state = np.array([1.0, 1.0, 1e-12, 1e-12, 0.0])
    for function in (module._first_event, module._first_event.py_func):
        step, i, kind = function(side, margin, rate, alpha, speed, weight, state)
        assert (round(step, 9), i, kind) == (0.1, 1, 2)
        by_number = np.append(state[:4], 1.0)
        assert function(side, margin, rate, alpha, speed, weight, by_number)[1] == 0
        assert function(side, margin, 0.0 * rate, alpha, speed, weight, state)[1:] == (3, 0)
        assert function(side, margin, 0.0 * rate, alpha, 0.0 * speed, weight, state)[1] == -1
