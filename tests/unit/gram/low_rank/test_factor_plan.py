"""What a Gram of low rank takes: the factor is held where it fits, and the plan says whether it is."""

import itertools

import numpy as np
import pytest

from mercer.budget import Resources
from mercer.domains import Vectors
from mercer.gram import Nystrom, RandomFeatures
from mercer.gram.low_rank.factor_plan import SHARE, factor_plan, held_bytes, row_ranges, working
from mercer.kernels import Gaussian

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
