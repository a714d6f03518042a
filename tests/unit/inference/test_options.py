"""What all measures and tests may use: memory, threads, somebody who watches, Ctrl-C."""

import time

import numpy as np
import pytest

from mercer.budget import Resources
from mercer.choosing import tuned_kernel
from mercer.errors import MemoryBudgetError, ParameterError, TimeBudgetError
from mercer.inference import (
    aggregated_test,
    coco,
    conditional_independence_test,
    dhsic,
    dhsic_test,
    held_out_test,
    hsic,
    hsic_power,
    hsic_test,
    kcc,
    mmd,
    mmd_power,
    mmd_test,
    nocco,
    relative_hsic_test,
    relative_mmd_test,
    stein_discrepancy,
    stein_test,
)
from mercer.inference.options import limits_of, part_of, require_matrices, resources_of, tell
from mercer.kernels import Gaussian
from tests.clock import allowed, answers

RNG = np.random.default_rng(0)
X, Y, Z = RNG.normal(size=(3, 150, 2))
ONE = Gaussian(1.0)

CALLS = {
    "mmd": lambda **limits: mmd(X, Y, **limits),
    "mmd, blocks": lambda **limits: mmd(X, Y, estimator="block", **limits),
    "hsic": lambda **limits: hsic(X, Y, **limits),
    "hsic, blocks": lambda **limits: hsic(X, Y, estimator="block", **limits),
    "dhsic": lambda **limits: dhsic((X, Y, Z), **limits),
    "coco": lambda **limits: coco(X, Y, **limits),
    "kcc": lambda **limits: kcc(X, Y, **limits),
    "nocco": lambda **limits: nocco(X, Y, **limits),
    "mmd_test": lambda **limits: mmd_test(X, Y, None, 99, 0, **limits),
    "mmd_test, wild": lambda **limits: mmd_test(X, Y, None, 99, 0, null="wild", **limits),
    "mmd_test, spectral": lambda **limits: mmd_test(X, Y, None, 99, 0, null="spectral", **limits),
    "hsic_test": lambda **limits: hsic_test(X, Y, None, 99, 0, **limits),
    "hsic_test, low rank": lambda **limits: hsic_test(X, Y, None, 99, 0, gram=20, **limits),
    "hsic_test, wild": lambda **limits: hsic_test(X, Y, None, 99, 0, null="wild", **limits),
    "hsic_test, spectral": lambda **limits: hsic_test(X, Y, None, 99, 0, null="spectral", **limits),
    "dhsic_test": lambda **limits: dhsic_test((X, Y, Z), None, 30, 0, **limits),
    "conditional": lambda **limits: conditional_independence_test(X, Y, Z, None, 99, 0, **limits),
    "relative mmd": lambda **limits: relative_mmd_test(X, Y, Z, **limits),
    "relative hsic": lambda **limits: relative_hsic_test(X, Y, Z, **limits),
    "stein": lambda **limits: stein_discrepancy(X, lambda x: -x, **limits),
    "stein_test": lambda **limits: stein_test(X, lambda x: -x, None, 99, 0, **limits),
    "held out": lambda **limits: held_out_test(X, Y, None, 99, 0, **limits),
    "aggregated": lambda **limits: aggregated_test(X, Y, None, 99, 0, **limits),
    "aggregated hsic": lambda **limits: aggregated_test(X, Y, None, 30, 0, statistic="hsic", **limits),
    "mmd_power": lambda **limits: mmd_power(X, Y, **limits),
    "hsic_power": lambda **limits: hsic_power(X, Y, **limits),
    "dhsic_test, low rank": lambda **limits: dhsic_test((X, Y, Z), None, 30, 0, gram=5, **limits),
    "conditional, low rank": lambda **limits: conditional_independence_test(X, Y, Z, None, 99, 0, gram=20, **limits),
    "relative hsic, low rank": lambda **limits: relative_hsic_test(X, Y, Z, gram=20, **limits),
    "tuned hsic": lambda **limits: tuned_kernel(X, Y, (ONE, ONE), statistic="hsic", max_iter=3, **limits),
    "tuned": lambda **limits: tuned_kernel(X, Y, Gaussian(1.0), max_iter=3, **limits),
}
STREAMED = ("mmd, blocks", "hsic, blocks")
SMALL = (*STREAMED, *(name for name in CALLS if "low rank" in name))


def plain(result):
    return result[:2] if isinstance(result, tuple) else result


@pytest.mark.parametrize("name", CALLS)
def test_watching_and_threads_change_nothing(name):
    told = []
    watched = CALLS[name](n_threads=2, monitor=told.append)  # append returns None: go on
    assert plain(watched) == plain(CALLS[name](n_threads=1))
    if name != "stein":  # one part only
        assert told and told == sorted(told) and 0.0 < told[-1] <= 1.0


@pytest.mark.timing
@pytest.mark.parametrize("name", [name for name in CALLS if name not in SMALL])
def test_what_does_not_fit_is_refused_before_it_is_computed(name):
    began = time.perf_counter()
    with pytest.raises(MemoryBudgetError, match="Options"):
        CALLS[name](memory="20kB")
    assert time.perf_counter() - began < allowed(5.0)


@pytest.mark.parametrize("name", STREAMED)
def test_blocks_need_no_matrix(name):
    CALLS[name](memory="20kB")


@pytest.mark.parametrize("name", ["mmd_test", "hsic_test", "dhsic_test", "held out", "aggregated"])
def test_a_monitor_stops_a_test(name):
    with pytest.raises(TimeBudgetError, match="monitor"):
        CALLS[name](monitor=lambda fraction: fraction > 0.05)


LONG = {
    "two samples": lambda: mmd_test(X, Y, ONE, 2_000_000, 0),
    "two samples, wild": lambda: mmd_test(X, Y, ONE, 2_000_000, 0, null="wild"),
    "independence": lambda: hsic_test(X, Y, (ONE, ONE), 2_000_000, 0),
    "low rank": lambda: hsic_test(X, Y, (ONE, ONE), 2_000_000, 0, gram=30),
    "joint": lambda: dhsic_test((X, Y, Z), None, 1_000_000, 0),
    "spectral": lambda: hsic_test(X, Y, (ONE, ONE), 500_000, 0, null="spectral"),
    "simulation": lambda: stein_test(X, lambda x: -x, ONE, 500_000, 0, sampler=lambda g, n: g.normal(size=(n, 2))),
}


@pytest.mark.timing
@pytest.mark.parametrize("name", LONG)
def test_an_interrupt_is_answered_at_once(name):
    assert max(answers(LONG[name], (0.15,), 1)) < allowed(0.5)


def test_parts():
    told = []
    half = part_of(Resources(monitor=told.append), 0.5, 1.0)
    tell(half, 0.5)
    tell(Resources(), 0.5)
    assert told == [0.75]
    given = Resources("1GB", 2)
    assert resources_of(limits_of(given), "mmd") == given == part_of(given, 0.0, 0.5)
    require_matrices("mmd", 10, 1, Resources(memory=800))


def test_doors():
    for wrong in ({"memory": "much"}, {"memory": -1}, {"n_threads": 0}, {"n_threads": True}, {"monitor": 3}):
        with pytest.raises(ParameterError):
            resources_of(wrong, "mmd")
    with pytest.raises(TypeError, match="unexpected keyword argument 'threads'"):
        mmd(X, Y, threads=2)
