import numpy as np
import pytest

from mercer.selection import left_out_sample as exchange

NAMES = ["_eliminate", "_respond", "_begin", "_review", "_jump", "_next_event", "_walk", "leave_out"]


@pytest.fixture
def interpreted(monkeypatch):
    """Run the loops as Python, so that their constants can be changed."""
    for name in NAMES:
        monkeypatch.setattr(exchange, name, getattr(exchange, name).py_func)
    return monkeypatch


def example(seed, p=12, q=5):
    """A table of q free samples and p - q others, all in their role, and columns of samples outside."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(p + 6, p + 6))
    G = A @ A.T / p + 0.05 * np.eye(p + 6)
    inverse = np.linalg.inv(G[:q, :q])
    W, S = inverse @ G[:q, q:], G[q:, q:] - G[q:, :q] @ inverse @ G[:q, q:]
    n = p - q
    table = np.block([[inverse, W[:, :n]], [-W[:, :n].T, S[:n, :n]]])
    columns = np.hstack([W[:, n:].T, -S[n:, :n]])
    free = np.arange(p) < q
    upper = rng.random(p) < 0.5  # at which end of its box
    low = np.where(free, -rng.random(p), np.where(upper, -1.0, 0.0))
    gradient = np.where(free, 0.0, np.where(upper, -0.3, 0.3) * rng.random(p))
    room = np.column_stack([low, low + 1.0, gradient, np.full(p, 1e-9)])
    return G, table, columns, room, free


def run(table, columns, removed, place, room, free):
    out = np.empty(len(removed))
    exchange.leave_out(np.ascontiguousarray(table), columns, removed, place, room, free, out)
    return out


def minimum(G, row, removed, room, free):
    """Projected coordinate descent on the quadratic program itself, over the change of beta; df(x_i) but -d k_ii."""
    p = len(free)
    K, k = G[:p, :p], G[:p, row]
    x = np.zeros(p)
    for _ in range(20000):
        before = x.copy()
        for j in range(p):
            x[j] = np.clip(x[j] - (K[j] @ x - removed * k[j] + room[j, 2]) / K[j, j], room[j, 0], room[j, 1])
        if np.abs(x - before).max() < 1e-13:
            break
    return k @ x


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("removed", [0.3, -2.0])
def test_finds_the_minimum(seed, removed):
    G, table, columns, room, free = example(seed)
    p, q = len(free), int(free.sum())
    d = np.full(6, removed)
    found = run(table, columns, d, np.full(6, -1), room, free)
    for k in range(6):
        explained = G[p + k, :q] @ np.linalg.solve(G[:q, :q], G[:q, p + k])  # the part of s_i that is k_ii less this
        expected = minimum(G, p + k, removed, room, free)
        assert found[k] + removed * explained == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("seed", range(4))
def test_little_by_little_arrives_at_the_same_place(interpreted, seed):
    _, table, columns, room, free = example(seed)
    place = np.array([-1, -1, -1, -1, 1, 8])  # outside, free, at an end
    columns[4:] = 0.0
    columns[5] = -table[8]
    d = np.array([0.3, 2.0, -1.0, -3.0, 0.7, 1.0])
    at_once = run(table, columns, d, place, room, free)
    interpreted.setattr(exchange, "_ROUNDS", 0)
    np.testing.assert_allclose(run(table, columns, d, place, room, free), at_once, atol=1e-9)


def test_compiled_equals_interpreted(interpreted):
    _, table, columns, room, free = example(0)
    d, place = np.linspace(-2.0, 2.0, 6), np.full(6, -1)
    slow = run(table, columns, d, place, room, free)
    interpreted.undo()
    np.testing.assert_allclose(run(table, columns, d, place, room, free), slow, rtol=1e-12)


def test_when_nothing_settles_the_free_ones_alone_react(interpreted):
    _, table, columns, room, free = example(0)
    interpreted.setattr(exchange, "_ROUNDS", 0)
    interpreted.setattr(exchange, "_ACTIVE", 0)
    place = np.array([-1, 1])
    columns[1] = 0.0
    found = run(table, columns[:2], np.array([3.0, 0.7]), place, room, free)
    np.testing.assert_allclose(found, [0.0, -0.7 / table[1, 1]])


def test_a_way_that_is_too_long_ends_straight_on(interpreted):
    _, table, columns, room, free = example(0)
    interpreted.setattr(exchange, "_ROUNDS", 0)
    d, place = np.array([2.0]), np.array([-1])
    exact = run(table, columns[:1], d, place, room, free)
    interpreted.setattr(exchange, "_EVENTS", 1)
    assert np.isfinite(run(table, columns[:1], d, place, room, free)).all()
    assert exact != 0.0


def test_nobody_is_left():
    # one free sample, no other: the sum cannot be kept
    out = run(
        np.zeros((1, 1)),
        np.zeros((1, 1)),
        np.ones(1),
        np.zeros(1, int),
        np.array([[-1.0, 0.0, 0.0, 0.0]]),
        np.ones(1, bool),
    )
    assert np.isnan(out[0])


def test_elimination():
    rng = np.random.default_rng(0)
    A, b = rng.normal(size=(6, 6)) + 3.0 * np.eye(6), rng.normal(size=6)
    A[0, 0] = 0.0
    for solve in (exchange._eliminate, exchange._eliminate.py_func):
        x = b.copy()
        assert solve(A.copy(), x, 6)
        np.testing.assert_allclose(A @ x, b)
        assert not solve(np.ones((2, 2)), np.ones(2), 2)
