"""The system of the elbow against one that is solved from scratch."""

import numpy as np
import pytest

from mercer.domains import Vectors
from mercer.errors import MemoryBudgetError
from mercer.gram import Dense
from mercer.kernels import Gaussian, Linear, NegativeDistance
from mercer.selection import margin_system as module
from mercer.selection.margin_system import Elbow, Rows

rng = np.random.default_rng(0)
X = rng.normal(size=(90, 3))


def source_of(kernel, conditional=False):
    return Rows(Dense().build(kernel, Vectors.pack(X)), conditional)


def bordered(K, members, R, S):
    m = len(members)
    A = np.zeros((m + 1, m + 1))
    A[:m, :m] = K[np.ix_(members, members)]
    A[:m, m] = A[m, :m] = 1.0
    solution = np.linalg.solve(A, np.append(R, S))
    return solution[:m], solution[m]


@pytest.mark.parametrize("compiled", [True, False])
def test_members_come_and_go(monkeypatch, compiled):
    if not compiled:
        for name in ("_forward", "_backward", "_solve_both", "_delete", "_combine"):
            monkeypatch.setattr(module, name, getattr(module, name).py_func)
    K, elbow = Gaussian(1.0)(X), Elbow(source_of(Gaussian(1.0)))
    generator, members = np.random.default_rng(1), []
    for _ in range(150):
        if len(members) > 5 and generator.random() < 0.4:
            place = int(generator.integers(len(members)))
            elbow.remove(place)
            del members[place]
        else:
            i = int(generator.choice(np.setdiff1d(np.arange(90), members)))
            elbow.append(i, *elbow.project(i))
            members.append(i)
    assert elbow.members.tolist() == members
    assert elbow.peak >= len(members)
    R = generator.normal(size=len(members))
    d, delta = elbow.solve(R, 0.7)
    wanted, level = bordered(K, members, R, 0.7)
    assert np.allclose(d, wanted) and np.isclose(delta, level)
    out = np.ones(90)
    elbow.combine(d, out)
    assert np.allclose(out, 1.0 + d @ K[members])
    assert np.allclose(elbow.row(3), K[members[3]])


def test_there_is_room_for_all():
    elbow = Elbow(source_of(Gaussian(0.3)))
    for i in range(90):
        elbow.append(i, *elbow.project(i))
    assert elbow.size == 90
    elbow.clear()
    assert elbow.size == 0


def test_dependent_samples_are_recognised():
    elbow = Elbow(source_of(Linear()))
    for i in range(4):
        elbow.append(i, *elbow.project(i))  # three columns and the bias
    _, reach, pivot = elbow.project(7)
    assert abs(pivot) <= 1e-13
    c = elbow.dependence(reach)
    assert np.allclose(c @ X[:4], X[7]) and np.isclose(c.sum(), 1.0)


def test_conditional_kernels_are_seen_from_a_sample():
    K, source = NegativeDistance()(X), source_of(NegativeDistance(), conditional=True)
    seen = K - K[:, :1] - K[:1] + K[0, 0]
    assert np.allclose(source.row(5), seen[5])
    assert np.allclose(source.diagonal, np.diag(seen))
    V = rng.normal(size=(90, 2))
    assert np.allclose(source.product(V), seen @ V)
    beta = V[:, 0] - V[:, 0].mean()
    assert np.allclose(seen @ beta - (K @ beta - source.shift(beta)), 0.0)
    assert np.min(np.linalg.eigvalsh(seen)) > -1e-9
    assert source_of(Linear()).shift(beta) == 0.0


def test_products_look_at_what_is_not_zero():
    V = np.zeros((90, 2))
    source = source_of(Gaussian(1.0))
    assert not source.product(V).any()
    V[4] = 1.0
    assert np.allclose(source.product(V)[:, 0], Gaussian(1.0)(X)[4])


def test_room_is_planned():
    with pytest.raises(MemoryBudgetError, match=r"rows of the elbow.*C_max"):
        Elbow(source_of(Linear()), memory=1000)
