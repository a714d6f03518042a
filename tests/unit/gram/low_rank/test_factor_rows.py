"""Sums over rows that are read tile by tile."""

import itertools

import numpy as np
import pytest

from mercer.budget import Resources
from mercer.domains import Vectors
from mercer.gram import Nystrom, RandomFeatures
from mercer.gram.low_rank.factor_rows import (
    SHARE,
    add_triangle,
    backward,
    divided,
    factor_plan,
    forward,
    held_bytes,
    large_directions,
    mirror_lower,
    row_ranges,
    sandwiched,
    working,
)
from mercer.kernels import Gaussian

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 3))


def test_large_directions_are_those_of_the_largest_rows():
    assert large_directions(np.zeros((3, 4))).shape == (4, 0)
    C = np.ones((200, 300)) + 1e-3 * rng.normal(size=(200, 300))
    U = large_directions(C)
    assert U.shape == (300, 1) and np.abs(C - (C @ U) @ U.T).max() < 0.01
    few = large_directions(Gaussian(1.5)(X, X[:20]))
    assert few.shape[1] > 10 and np.allclose(few.T @ few, np.eye(few.shape[1]))


def test_compiled_sums():
    C, U = rng.normal(size=(7, 5)).astype(np.float32), rng.normal(size=(7, 2))
    for f in (forward, forward.py_func):
        out = np.empty((7, 2))
        f(C, U[:2, :1].repeat(5, 1) * 1.0, out)
        assert np.allclose(out, C @ (U[:2, :1].repeat(5, 1)).T)
    for f in (backward, backward.py_func):
        total = np.ones((2, 5))
        f(C, U, total)
        assert np.allclose(total, 1.0 + U.T @ C)
    for add, mirror in ((add_triangle, mirror_lower), (add_triangle.py_func, mirror_lower.py_func)):
        square, part = np.zeros((4, 4)), np.ones((4, 4), dtype=np.float32)
        add(square, part)
        assert square.sum() == 10
        mirror(square)
        assert square.sum() == 16


def test_rows_are_divided_and_their_sums_put_together():
    C, w = Gaussian(3.0)(X, X[:20]), rng.uniform(size=300)
    U = large_directions(C)
    B = np.empty((300, U.shape[1] + 20))
    divided(C, U, np.sqrt(w), B)
    T = np.vstack([U.T, np.eye(20)])
    square = sandwiched(B.T @ B, T)
    assert np.allclose(square, (C.T * w) @ C) and np.array_equal(square, square.T)
    largest_left = np.linalg.eigvalsh(C.T @ C)[::-1][U.shape[1]] ** 0.5  # no entry of the rest is larger
    assert np.abs(B[:, U.shape[1] :]).max() <= largest_left * (1.0 + 1e-6) < 0.1 * np.abs(C).max()
    divided(C, None, np.sqrt(w), B[:, :20])
    assert np.allclose(B[:, :20], np.sqrt(w)[:, None] * C)


KERNEL = Gaussian(1.0)


def test_ranges_cover_all_rows_whatever_the_sums():
    for size in (1, 10_000, 10**8):
        ranges = row_ranges(5000, size)
        assert ranges[0].start == 0 and ranges[-1].stop == 5000
        assert all(a.stop == b.start for a, b in itertools.pairwise(ranges))


def test_a_factor_is_held_in_its_share_of_the_budget():
    n, rank = 20_000, 100
    size = 8 * n * rank
    assert held_bytes(KERNEL, n, rank, rank, 8, size / SHARE, True)[0] == size
    assert held_bytes(KERNEL, n, rank, rank, 8, size / SHARE - 1000, True)[0] == 0


def test_without_a_factor_there_are_more_rows_to_compute():
    held, streamed = (sum(working(KERNEL, 20_000, 100, held=held).values()) for held in (True, False))
    assert streamed > held


def test_what_is_gone_before_the_factor_is_there_is_not_added_to_it():
    small, large = ({"candidates": size} for size in (10, 10**9))
    plans = [factor_plan(Nystrom(50), KERNEL, 5000, 50, "1GB", base={}, build=build) for build in (None, small, large)]
    assert plans[0].total == plans[1].total < plans[2].total == 10**9


@pytest.mark.parametrize("spec", [Nystrom(50), Nystrom(50, precision="mixed"), RandomFeatures(50)], ids=repr)
@pytest.mark.parametrize("memory", ["200MB", "12MB"])
def test_the_plan_says_what_is_held(spec, memory):
    S = Vectors.pack(np.random.default_rng(0).normal(size=(9000, 2)))
    plan = spec.plan(KERNEL, len(S), 2, memory)
    gram = spec.build(KERNEL, S, Resources(memory=memory))
    assert ("factor" in plan.buffers) == (gram._held is not None)
    assert ("columns of the factor" in plan.buffers) == (gram._kept is not None)
