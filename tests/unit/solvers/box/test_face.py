"""Steps over all free variables of a working set at once."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.solvers.box import face as module
from mercer.solvers.box.face import Face


def block(rng, q, rank=None):
    A = rng.normal(size=(q, q if rank is None else rank))
    return np.ascontiguousarray(A @ A.T)


def value(K, p, beta):
    return 0.5 * beta @ K @ beta + p @ beta


def inside(rng, q):
    """A box, and a point in it of which some variables are at an end."""
    lower, upper = -rng.random(q), rng.random(q)
    beta = np.clip(rng.normal(size=q), lower, upper)
    return beta, (lower, upper)


@pytest.mark.parametrize("groups", [1, 2, 7])
def test_without_ends_it_is_the_minimum_of_the_free_variables(groups):
    """The naive twin is the system of equations with one row for each sum."""
    rng = np.random.default_rng(groups)
    q = 30
    K, p, beta, group = block(rng, q), rng.normal(size=q), np.zeros(q), np.arange(q) % groups
    fixed = rng.random(q) < 0.3
    box = np.where(fixed, 0.0, -1e6), np.where(fixed, 0.0, 1e6)
    F = np.flatnonzero(~fixed)
    B = (group[F][:, None] == np.arange(groups)).astype(float)
    system = np.block([[K[np.ix_(F, F)], B], [B.T, np.zeros((groups, groups))]])
    expected = np.linalg.solve(system, np.concatenate([-p[F], np.zeros(groups)]))[: len(F)]
    g = p.copy()
    found = Face(K, beta, g, box, group)
    assert found.step() == (True, 0)
    np.testing.assert_allclose(beta[F], expected, rtol=1e-7, atol=1e-7)
    assert not beta[fixed].any()
    np.testing.assert_allclose(g, K @ beta + p, atol=1e-8)


@given(st.integers(0, 10**6))
def test_it_stays_inside_keeps_the_sums_and_never_makes_it_worse(seed):
    rng = np.random.default_rng(seed)
    q, groups = int(rng.integers(2, 25)), int(rng.integers(1, 7))
    rank = int(rng.integers(1, q + 1))
    K, p, group = block(rng, q, rank), rng.normal(size=q), rng.integers(groups, size=q)
    beta, box = inside(rng, q)
    sums, before = np.bincount(group, weights=beta), value(K, p, beta)
    g = K @ beta + p
    found = Face(K, beta, g, box, group)
    free = found.free.copy()
    _, blocked = found.step()
    assert (beta >= box[0]).all() and (beta <= box[1]).all()
    np.testing.assert_allclose(np.bincount(group, weights=beta), sums, atol=1e-10)
    assert value(K, p, beta) <= before + 1e-10 * (1.0 + abs(before))
    np.testing.assert_allclose(g, K @ beta + p, atol=1e-9 * (1.0 + np.abs(K).max()))
    ended = (beta == box[0]) | (beta == box[1])
    assert ended[free & ~found.free].all() and np.count_nonzero(free & ~found.free) == blocked


def test_steps_in_a_row_end_where_no_free_variable_gains():
    rng = np.random.default_rng(0)
    q = 40
    K, p, group = block(rng, q), 5.0 * rng.normal(size=q), np.zeros(q, np.intp)
    beta, box = np.zeros(q), (np.full(q, -0.1), np.full(q, 0.1))
    g = p.copy()
    found = Face(K, beta, g, box, group)
    ends = sum(found.step()[1] for _ in range(20))
    assert ends > 5  # the path was bent
    left = g[found.free]
    assert left.max() - left.min() <= 1e-9 * np.abs(g).max()


def test_a_block_that_is_definite_on_sums_of_zero_only():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 2))
    K = -np.linalg.norm(X[:, None] - X, axis=2)
    beta, g = np.zeros(20), rng.normal(size=20)
    found = Face(K, beta, g, (np.full(20, -1e3), np.full(20, 1e3)), np.zeros(20, np.intp))
    assert found.step() == (True, 0) and not found.definite
    assert np.ptp(g) <= 1e-8


def test_no_factor_no_step(monkeypatch):
    monkeypatch.setattr(module, "_JITTER", (0.0,))
    K = -np.eye(4)  # not definite on sums of zero either
    beta, g = np.zeros(4), np.arange(4.0)
    assert Face(K, beta, g, (np.full(4, -1.0), np.full(4, 1.0)), np.zeros(4, np.intp)).step() == (False, 0)
    assert not beta.any()


def test_nothing_free_nothing_done():
    beta = np.ones(3)
    found = Face(np.eye(3), beta, np.arange(3.0), (np.zeros(3), np.ones(3)), np.zeros(3, np.intp))
    assert found.step() == (False, 0) and beta.all()


def test_an_objective_without_end_is_left():
    """K is zero and the box infinite: there is no minimum along the line, and nothing moves."""
    beta, g = np.zeros(2), np.array([-1.0, 1.0])
    found = Face(np.zeros((2, 2)), beta, g, (np.full(2, -np.inf), np.full(2, np.inf)), np.zeros(2, np.intp))
    assert found.step()[0] is False and not beta.any()


@pytest.mark.parametrize("held", [True, False])
def test_the_path_as_source(held):
    """Compiled and as source it is the same path, whether the sums of columns are held or added up."""
    rng = np.random.default_rng(3)
    q = 12
    K, group = block(rng, q), np.arange(q) % 2
    paths = []
    for run in (module._bend, module._bend.py_func):
        g, beta, free = np.linspace(-1.0, 1.0, q), np.zeros(q), np.ones(q, bool)
        d = -np.linspace(-1.0, 1.0, q)
        d -= np.array([d[::2].mean(), d[1::2].mean()])[group]
        sums = np.array([K @ (group == s) for s in range(2)]) if held else np.zeros((0, q))
        ended = run(K, g, beta, (np.full(q, -0.02), np.full(q, 0.02)), free, (group, np.zeros(2)), (d, K @ d, sums))
        paths.append((*ended, *beta, *g))
    assert paths[0][1] > 0
    np.testing.assert_allclose(paths[0], paths[1], rtol=1e-12, atol=1e-12)
