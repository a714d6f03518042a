"""Losses of many samples, in chunks: the numbers of all samples at once, derivatives by differences, dense matrices."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from mercer.domains import Vectors
from mercer.gram import Dense, Nystrom
from mercer.kernels import Linear
from mercer.losses import (
    Absolute,
    Hinge,
    Huber,
    Logistic,
    Multinomial,
    Poisson,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)
from mercer.problems import ConvexRisk, Status
from mercer.solvers.smooth import primal_terms as module
from mercer.solvers.smooth.primal_terms import (
    Terms,
    at_once,
    conjugate,
    curved_product,
    decomposed,
    drawn,
    handles,
    is_bent,
    lowest,
    part_of,
    rows_of,
    settled,
    some,
    summed,
    to_come,
    unkept,
)

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
    assert np.allclose(found.pull(F)[:, 0], W * loss.gradient(Y, F[:, 0]))
    total, sums = found.along(B, F)
    assert np.isclose(total, found.total(F))
    assert np.allclose(sums[:, 0], B.T @ (W * loss.gradient(Y, F[:, 0])))
    assert found.judged(F)[0] == pytest.approx(total) and found.judged(F)[1] < 1e-10  # Young's equality at the slopes


@pytest.mark.parametrize("loss", [Logistic(), SquaredHinge()])
def test_derivatives_are_those_by_differences(loss):
    found, step, change = terms(loss), 1e-6, rng.normal(size=(N, 1))
    slope = (found.total(F + step * change) - found.total(F - step * change)) / (2.0 * step)
    assert np.isclose(found.turning(F, change, 0.0)[0], slope, rtol=1e-6)
    bend = (found.turning(F + step * change, change, 0.0)[0] - found.turning(F - step * change, change, 0.0)[0]) / (
        2.0 * step
    )
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


@pytest.mark.parametrize("loss", [SquaredHinge(), Huber(0.3), SquaredEpsilonInsensitive(0.7)])
def test_the_lowest_point_along_a_line_is_that_of_all_its_pieces(loss):
    y = rng.normal(size=N) if loss != SquaredHinge() else Y
    found = terms(loss, y)
    for scale in (1e-3, 1.0, 1e3):  # the minimum is far, near, close by
        change = scale * rng.normal(size=(N, 1))
        change *= -np.sign(found.turning(F, change, 0.0)[0])
        size = lowest(lambda t, change=change: found.turning(F, change, t))
        brute = minimize_scalar(lambda t, c=change: found.total(F + t * c), bounds=(0, 20 / scale), method="bounded")
        assert found.total(F + size * change) <= brute.fun * (1.0 + 1e-12)
        assert abs(found.turning(F, change, size)[0]) <= 1e-8 * abs(found.turning(F, change, 0.0)[0])


def test_the_lowest_point_of_other_functions():
    assert lowest(lambda t: (np.exp(t) - 40.0, np.exp(t))) == pytest.approx(np.log(40.0))
    with np.errstate(over="ignore", invalid="ignore"):  # too far it is not a number
        wall = lowest(lambda t: (np.exp(2000.0 * t) - 3.0, 2e3 * np.exp(2000.0 * t)) if t < 0.5 else (np.nan, np.nan))
    assert wall == pytest.approx(np.log(3.0) / 2000.0)
    assert lowest(lambda t: (-1.0 if t < 3.0 else 1.0, 0.0)) == pytest.approx(3.0)  # no second derivative
    assert np.isfinite(lowest(lambda t: (-1.0, 0.0)))


@pytest.mark.parametrize("loss", [SquaredHinge(), Huber(0.3), SquaredEpsilonInsensitive(0.7)])
def test_the_distance_to_where_a_loss_is_curved(loss):
    y = rng.normal(size=N) if loss != SquaredHinge() else Y
    found = terms(loss, y)
    distance = found.distance(F)
    assert np.array_equal(distance == 0.0, found.bend(F)[:, 0] > 0.0) and 0 < np.sum(distance > 0.0) < N
    sides = [found.bend(F + side * (distance + 1e-9)[:, None])[:, 0] > 0.0 for side in (-1.0, 1.0)]
    short = [found.bend(F + side * (distance * (1.0 - 1e-9))[:, None])[:, 0] > 0.0 for side in (-1.0, 1.0)]
    flat = distance > 0.0
    assert np.all((sides[0] | sides[1])[flat]) and not np.any((short[0] | short[1])[flat])
    near = found.nearest(F, 30)
    assert len(near) == max(30, np.sum(~flat)) and distance[near].max() <= np.delete(distance, near).min()


def test_products_and_sums_of_curved_samples_are_those_of_the_matrix():
    K = Nystrom(5).build(Linear(), Vectors.pack(rng.normal(size=(N, 5))))
    P, found, values = np.column_stack([K.factor(), B]), terms(SquaredHinge()), F + Y[:, None]
    bend = found.bend(values)
    H = (P.T * bend[:, 0]) @ P
    product, share = curved_product(K, found, B, values, bend)
    p = rng.normal(size=(P.shape[1], 1))
    assert np.allclose(product(p), H @ p) and share == np.mean(bend > 0.0)
    straight = curved_product(K, found, B, values, np.zeros_like(bend))
    assert not straight[0](p).any() and straight[1] == 0.0
    index, weight = drawn(found.single(bend), N)
    assert np.array_equal(index, np.flatnonzero(bend)) and np.allclose(summed(K, B, index, weight), H)
    few = drawn(found.single(bend), 10)
    assert len(few[0]) == 10 and few[1].sum() == pytest.approx(bend.sum(), rel=0.2)
    assert np.allclose(decomposed(H.copy(), 0.1).solve((H + 0.1 * np.eye(len(H))) @ p), p)
    assert np.all(np.isfinite(decomposed(-np.eye(3), 0.1).solve(np.ones(3))))


def test_conjugate_gradients_solve_and_can_be_ended():
    A = rng.normal(size=(8, 8))
    H, left = A @ A.T + np.eye(8), rng.normal(size=(8, 1))
    step, count = conjugate(H.__matmul__, lambda v: v / np.diag(H)[:, None], left, 1e-10, lambda: False)
    assert np.allclose(step, np.linalg.solve(H, left)) and count <= 10
    assert conjugate(H.__matmul__, lambda v: np.linalg.solve(H, v), left, 1e-6, lambda: False)[1] == 1
    assert conjugate(H.__matmul__, np.array, left, 1e-10, lambda: True)[1] == 1
    assert np.array_equal(conjugate(np.zeros_like, np.array, left, 0.1, lambda: False)[0], left)  # no curvature


def test_rows_of_a_risk_and_monitors_without_a_place():
    part = rows_of(ConvexRisk(GRAM, Logistic(), Y, 2.0, 1.0), np.arange(5))
    assert len(part.gram.samples) == 5 and np.array_equal(part.weight, np.full(5, 2.0)) and part.border is None
    assert unkept(None) is None
    told = unkept(at_once(Status.STOPPED))
    assert told is not None and told(1, 0.5) is Status.STOPPED and not hasattr(told, "keeping")


def test_what_is_to_come_of_gains():
    gains = 3.0 * 0.6 ** np.arange(20)
    objective = 10.0 - np.cumsum(gains)
    assert to_come(objective[:6].tolist()) == pytest.approx(gains[6:].sum(), rel=1e-3)
    assert to_come([3.0, 3.0, 3.0]) == 0.0 and to_come([5.0]) == 0.0
