"""Losses of many samples, in chunks: the numbers of all samples at once, and derivatives by differences."""

import numpy as np
import pytest

from mercer.domains import Vectors
from mercer.gram import Dense
from mercer.kernels import Linear
from mercer.losses import Absolute, Hinge, Logistic, Multinomial, Poisson, SquaredHinge
from mercer.problems import ConvexRisk, Status
from mercer.solvers import primal_terms as module
from mercer.solvers.primal_terms import Terms, at_once, handles, is_bent, part_of, settled, some

rng = np.random.default_rng(0)
N = 50
Y = np.where(rng.normal(size=N) > 0.0, 1.0, -1.0)
W = rng.uniform(0.5, 2.0, size=N)
F = rng.normal(size=(N, 1))
B = np.column_stack([np.ones(N), rng.normal(size=N)])
GRAM = Dense().build(Linear(), Vectors.pack(rng.normal(size=(N, 3))))


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr(module, "CHUNK", 7)


def terms(loss, y=Y):
    return Terms(ConvexRisk(GRAM, loss, y, W, 1.0))


def test_which_losses_are_handled():
    assert all(handles(loss) for loss in (Logistic(), SquaredHinge(), Hinge(), Absolute()))
    assert is_bent(SquaredHinge()) and not is_bent(Hinge())


@pytest.mark.parametrize("loss", [Logistic(), SquaredHinge()])
def test_sums_and_slopes_are_those_of_the_loss(loss):
    found = terms(loss)
    assert np.isclose(found.total(F), W @ loss.value(Y, F[:, 0]))
    assert np.allclose(found.slopes(F), loss.gradient(Y, F[:, 0]))
    total, sums = found.along(B, F)
    assert np.isclose(total, found.total(F))
    assert np.allclose(sums[:, 0], B.T @ (W * loss.gradient(Y, F[:, 0])))
    assert found.judged(F)[0] == pytest.approx(total) and found.judged(F)[1] < 1e-10  # Young's equality at the slopes


@pytest.mark.parametrize("loss", [Logistic(), SquaredHinge()])
def test_derivatives_are_those_by_differences(loss):
    found, step, change = terms(loss), 1e-6, rng.normal(size=(N, 1))
    slope = (found.total(F + step * change) - found.total(F - step * change)) / (2.0 * step)
    assert np.isclose(found.across(F, change, 0.0), slope, rtol=1e-6)
    bend = (found.across(F + step * change, change, 0.0) - found.across(F - step * change, change, 0.0)) / (2.0 * step)
    assert np.isclose(float(np.sum(found.bend(F) * change**2)), bend, rtol=1e-5)


def test_outputs_that_are_joined():
    codes = np.eye(3)[rng.integers(0, 3, N)]
    found, values, change = terms(Multinomial(), codes), rng.normal(size=(N, 3)), rng.normal(size=(N, 3))
    step = 1e-6
    both = [found.slope(slice(0, N), values + s * change) for s in (step, -step)]
    assert np.allclose(found.bent(slice(0, N), values, change), (both[0] - both[1]) / (2.0 * step), atol=1e-6)


@pytest.mark.parametrize("loss", [Logistic(), Poisson(), SquaredHinge()])
def test_the_best_border_leaves_no_slope(loss):
    y = rng.poisson(2.0, N).astype(float) if isinstance(loss, Poisson) else Y
    found = terms(loss, y)
    best = settled(found, B, F)
    slope = found.along(B, F + B @ best)[1]
    assert best.shape == (2, 1) and np.abs(slope).max() < 1e-4
    assert settled(found, np.empty((N, 0)), F).shape == (0, 1)


def test_a_part_stands_for_all():
    problem = ConvexRisk(GRAM, Logistic(), Y, W, 1.0, B)
    part, index = part_of(problem, 20), some(N, 20)
    assert len(part.y) == len(np.unique(index)) == 20 and np.array_equal(part.y, Y[index])
    assert np.isclose(part.weight.sum(), W.sum()) and np.array_equal(part.border, B[index])
    assert np.allclose(part.gram @ np.ones((20, 1)), (GRAM.to_dense()[np.ix_(index, index)]).sum(axis=1)[:, None])


def test_a_monitor_that_ends_a_run():
    assert at_once(Status.TIME)(0, 1.0) is Status.TIME
