"""Two-variable descent: optimal on its block, in both precisions, compiled and as source."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.problems import BoxQP, Status
from mercer.solvers import InteriorPoint
from mercer.solvers.box import two_variables as pairs
from mercer.solvers.box.two_variables import descend
from tests.unit.solvers.matrices import Matrix, gaussian

INF = np.inf
KINDS = [np.float32, np.float64]


def violation(g, beta, box, starts):
    """By the definition, group by group."""
    worst = 0.0
    for s in range(len(starts) - 1):
        own = slice(starts[s], starts[s + 1])
        up, down = beta[own] < box[1][own], beta[own] > box[0][own]
        if up.any() and down.any():
            worst = max(worst, g[own][down].max() - g[own][up].min())
    return worst


@st.composite
def problems(draw):
    """K, p, box and groups; K may be singular, boxes may be closed, half open or open."""
    q, groups = draw(st.integers(2, 14)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rank = draw(st.integers(1, q + 2))
    F = rng.normal(size=(q, rank))
    K = F @ F.T + (0.1 if draw(st.booleans()) else 0.0) * np.eye(q)
    if draw(st.booleans()):  # duplicates: directions without curvature
        twin = rng.integers(0, q, size=q)
        K = K[np.ix_(twin, twin)]
    lower, upper = -rng.uniform(0, 2, q), rng.uniform(0, 2, q)
    shut = rng.random(q) < 0.15
    lower[shut] = upper[shut] = 0.0
    starts = np.r_[0, np.sort(rng.integers(0, q + 1, size=groups - 1)), q]
    return K, rng.normal(size=q), (lower, upper), starts


def run(kind, problem, tol=1e-9, steps=200_000, beta=None):
    K, p, box, starts = problem
    beta = np.zeros(len(p)) if beta is None else beta
    g = (K @ beta + p).astype(kind)
    taken, left = descend(K.astype(kind), g, beta, box, starts, tol, steps)
    return beta, g, taken, left


@given(problems())
def test_the_block_ends_at_its_optimum(problem):
    K, p, box, starts = problem
    beta, g, taken, left = run(np.float64, problem)
    assert left <= 1e-9
    assert np.all((beta >= box[0]) & (beta <= box[1]))
    for s in range(len(starts) - 1):
        assert abs(beta[starts[s] : starts[s + 1]].sum()) <= 1e-12
    np.testing.assert_allclose(g, K @ beta + p, atol=1e-9)
    assert violation(K @ beta + p, beta, box, starts) <= 1e-8
    group = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    total = np.zeros(len(starts) - 1)
    best = InteriorPoint().solve(BoxQP(Matrix(K), p, *box, group, total))
    value = 0.5 * beta @ K @ beta + p @ beta
    assert best.status is Status.CONVERGED
    assert value == pytest.approx(best.trace.objective[-1], abs=1e-7)
    if taken == 0:
        assert not beta.any()


@given(problems())
def test_single_precision_is_as_good_as_its_digits(problem):
    K, p, box, starts = problem
    beta, _, _, left = run(np.float32, problem, tol=1e-4)
    assert left <= 1e-4
    assert np.all((beta >= box[0]) & (beta <= box[1]))  # the variables are in float64, and the box is exact
    for s in range(len(starts) - 1):
        assert abs(beta[starts[s] : starts[s + 1]].sum()) <= 1e-12
    assert violation(K @ beta + p, beta, box, starts) <= 1e-4 + 1e-4 * max(1.0, np.abs(K).max())


@pytest.mark.parametrize("kind", KINDS)
@given(problems(), st.integers(1, 5))
def test_the_violation_left_is_the_true_one_and_steps_are_counted(kind, problem, steps):
    _, _, box, starts = problem
    beta, g, taken, left = run(kind, problem, tol=0.0, steps=steps)
    assert taken <= steps
    if taken < steps:  # it ended by itself: what it says is the violation of the gradient it leaves
        assert left <= violation(g, beta, box, starts) + 1e-6


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("offset", [0.0, 1e3, -1e3, 1e5])
def test_gradients_far_from_zero_are_told_apart(kind, offset):
    """A constant in every gradient changes nothing; the search must not lose the digits below it."""
    rng = np.random.default_rng(0)
    q = 300
    K = gaussian(rng.normal(size=(q, 2)))
    # numbers that float32 holds exactly beside the offset
    p = np.round(rng.normal(size=q) * 64) / 64
    starts, box = np.array([0, q]), (np.full(q, -1.0), np.full(q, 1.0))
    g = (p + offset).astype(kind)
    beta = np.zeros(q)
    taken, _ = descend(np.ascontiguousarray(K.astype(kind)), g, beta, box, starts, 0.25, 100_000)
    assert taken > 0
    assert violation(K @ beta + p, beta, box, starts) <= 0.25 + (0.05 if kind is np.float64 else 0.5 * (offset != 0))


@pytest.mark.parametrize("kind", KINDS)
def test_the_source_runs_as_the_compiled_code_does(kind):
    rng = np.random.default_rng(1)
    q = 6
    F = rng.normal(size=(q, 3))
    K = np.ascontiguousarray((F @ F.T + 0.5 * np.eye(q)).astype(kind))
    p, box, starts = rng.normal(size=q).astype(kind), (np.full(q, -0.4), np.full(q, 0.5)), np.array([0, 4, 4, 6])
    width = 32 if kind is np.float32 else 64
    compiled = getattr(pairs, f"_descend{width}")
    found = []
    for work in (compiled, compiled.py_func):
        g, beta = p.copy(), np.zeros(q)
        taken, left = work(K, np.diagonal(K).copy(), g, beta, box, starts, (kind(1e-5), 1000))
        found.append(beta)
        assert left <= 1e-5 and taken > 0
    np.testing.assert_allclose(*found, atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_searches_as_source(kind):
    rng = np.random.default_rng(1)
    q = 6
    F = rng.normal(size=(q, 3))
    K, p = np.ascontiguousarray((F @ F.T + 0.5 * np.eye(q)).astype(kind)), rng.normal(size=q).astype(kind)
    width = 32 if kind is np.float32 else 64
    mask = np.int32(7) if width == 32 else np.int64(7)
    g, lift, drop = p, np.zeros(q, kind), np.zeros(q, kind)
    lowest, partner = getattr(pairs, f"_lowest{width}"), getattr(pairs, f"_partner{width}")
    every, last = (np.uint64(0), np.uint64(q)), (np.uint64(2), np.uint64(q))
    assert lowest.py_func(g, lift, last, kind(0.0), mask) == np.argmin(g[2:])
    i = lowest.py_func(g, lift, every, kind(0.0), mask)
    assert i == lowest(g, lift, every, kind(0.0), mask) == np.argmin(g)
    diagonal = np.diagonal(K).copy()
    j, worst = partner.py_func(g, drop, K, diagonal, i, every, mask)
    assert (j, worst) == partner(g, drop, K, diagonal, i, every, mask)
    assert worst == g.max() - g.min()
    gain = (g - g[i]) ** 2 / np.maximum(diagonal[i] + diagonal - 2 * K[i], 1e-12)
    assert gain[j] == pytest.approx(float(gain.max()), rel=1e-4)


def test_small_helpers_as_source():
    beta, box = np.array([0.0, 0.0, 1.0]), (np.array([0.0, -1.0, -INF]), np.array([2.0, 0.0, INF]))
    lift, drop = np.empty(3), np.empty(3)
    for k in range(3):
        pairs._mark.py_func(k, beta, box, lift, drop)
    assert lift.tolist() == [0.0, INF, 0.0] and drop.tolist() == [-INF, 0.0, 0.0]
    assert pairs._move.py_func(0, 2, 0.5, beta, box) == 0.5 and beta.tolist() == [0.5, 0.0, 0.5]
    assert pairs._move.py_func(0, 2, 9.0, beta, box) == 1.5 and beta[0] == 2.0
    assert pairs._mask_of.py_func(np.array([0, 3, 3, 8])) == 7 and pairs._mask_of.py_func(np.array([0])) == 1
    assert pairs._mask_of.py_func(np.array([0, 9])) == 15
    K = np.array([[1.0, 1.0], [1.0, 1.0]])
    assert pairs._curvature.py_func(K, np.diagonal(K), 0, 1) == 1e-12
    g = np.zeros(2)
    pairs._follow.py_func(g, np.array([[1.0, 2.0], [0.0, 1.0]]), 0, 1, 2.0)
    assert g.tolist() == [2.0, 2.0]


@pytest.mark.parametrize("kind", KINDS)
def test_equal_points_with_opposite_labels_go_to_their_ends(kind):
    """No curvature between the two: the step is as long as the box allows, and ends are reached exactly."""
    K = np.ones((2, 2))
    beta, _, taken, left = run(kind, (K, np.array([-1.0, 1.0]), (np.array([0.0, -0.3]), np.array([0.3, 0.0])), [0, 2]))
    assert beta.tolist() == [0.3, -0.3] and taken == 1 and left == 0.0


@pytest.mark.parametrize("kind", KINDS)
def test_infinite_boxes(kind):
    K = np.array([[2.0, 0.5], [0.5, 1.0]])
    beta, _, _, left = run(kind, (K, np.array([-1.0, 1.0]), (np.full(2, -INF), np.full(2, INF)), [0, 2]), tol=1e-5)
    assert left <= 1e-5
    assert beta == pytest.approx([1.0, -1.0], abs=1e-5)  # 2 / (2 + 1 - 2 * 0.5)


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_can_move(kind):
    K = np.eye(3)
    zero = np.zeros(3)
    beta, _, taken, left = run(kind, (K, np.array([3.0, -1.0, 0.0]), (zero, zero), [0, 3]))
    assert (taken, left) == (0, 0.0) and not beta.any()
    # all at the upper end: none can go up
    top = np.full(3, 0.5)
    beta, _, taken, left = run(kind, (K, np.array([3.0, -1.0, 0.0]), (zero, top), [0, 3]), beta=top.copy())
    assert taken == 0 and left == 0.0
    # one variable a group
    beta, _, taken, left = run(kind, (K, np.array([3.0, -1.0, 0.0]), (-top, top), [0, 1, 2, 3]))
    assert taken == 0 and left == 0.0


@pytest.mark.parametrize("kind", KINDS)
def test_groups_do_not_mix(kind):
    rng = np.random.default_rng(2)
    K = gaussian(rng.normal(size=(9, 2)))
    p, box = rng.normal(size=9), (np.full(9, -1.0), np.full(9, 1.0))
    start = rng.uniform(-0.5, 0.5, 9)
    beta, *_ = run(kind, (K, p, box, np.array([0, 2, 5, 9])), tol=1e-5, beta=start.copy())
    for own in (slice(0, 2), slice(2, 5), slice(5, 9)):
        assert beta[own].sum() == pytest.approx(start[own].sum(), abs=1e-12)
    assert np.abs(beta - start).max() > 0.01


def test_the_same_bits_from_run_to_run():
    rng = np.random.default_rng(3)
    K = gaussian(rng.normal(size=(400, 3))).astype(np.float32)
    y = np.sign(rng.normal(size=400))
    box, starts = (np.minimum(y, 0.0), np.maximum(y, 0.0)), np.array([0, 400])
    found = []
    for _ in range(2):
        beta, g = np.zeros(400), -y.astype(np.float32)
        descend(K, g, beta, box, starts, 1e-3, 10**6)
        found.append((beta, g))
    assert np.array_equal(found[0][0], found[1][0]) and np.array_equal(found[0][1], found[1][1])


@pytest.mark.parametrize("offset", [100.0, 1000.0])
def test_a_small_violation_beside_a_large_bias_is_seen(offset):
    """Half of a violation is asked to go, so steps must be taken, however far the gradients are from zero."""
    q, gave_up = 3000, 0
    K = np.eye(q, dtype=np.float32)
    for seed in range(10):
        g = offset + np.round(np.random.default_rng(seed).uniform(0, 0.02, size=q) * 2**13) / 2**13
        box, beta = (np.full(q, -1.0), np.full(q, 1.0)), np.zeros(q)
        taken, _ = descend(K, g.astype(np.float32), beta, box, np.array([0, q]), 0.5 * np.ptp(g), 10)
        gave_up += taken == 0
    assert not gave_up
