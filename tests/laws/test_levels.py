"""Levels of all tests where the hypothesis holds, over as many runs as `make levels` takes."""

import pytest

from benchmarks.real_tests import LEVELS, band, rejected

RUNS = 2000


@pytest.mark.slow
@pytest.mark.parametrize("test", [pytest.param(test, id=name) for name, _, test in LEVELS])
def test_level(test):
    low, high = band(RUNS)
    assert low <= rejected(test, RUNS) <= high
