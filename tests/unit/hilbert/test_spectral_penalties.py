"""Costs of singular values: proximal maps and conjugates against their definitions."""

import numpy as np
import pytest

from mercer import parse
from mercer.hilbert import ElasticNuclear, Nuclear, Rank, Schatten

PENALTIES = [Nuclear(), Schatten(1.0), Schatten(1.5), Schatten(3.0), ElasticNuclear(0.3), ElasticNuclear(1.0)]
GRID = np.linspace(0.0, 6.0, 60_001)


@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
def test_against_a_grid(penalty):
    omega = np.array([penalty.value(np.array([u])) for u in GRID[::100]])
    grid = GRID[::100]
    for s in (0.0, 0.4, 2.5, 5.0):
        for step in (0.1, 1.0):
            found = penalty.proximal(np.array([s]), step)[0]
            best = grid[np.argmin(step * omega + 0.5 * (grid - s) ** 2)]
            assert abs(found - best) <= 0.011  # the width of the grid
    for z in (0.1, 0.4, 1.2):
        conjugate = penalty.conjugate(np.array([z]), 0.5)
        sup = np.max(z * grid - 0.5 * omega)
        assert (np.isinf(conjugate) and sup > 1.0) or np.isclose(conjugate, sup, atol=1e-4)
    c = penalty.allowed(2.0, 0.5)
    assert np.isfinite(penalty.conjugate(np.array([2.0 * c]), 0.5))


def test_rank_is_declared_as_not_convex():
    assert not Rank(2).convex and np.isnan(Rank(1).conjugate(np.ones(2), 1.0))
    assert Rank(1).value(np.array([1.0, 1.0])) == np.inf and Rank(2).value(np.array([1.0, 1.0])) == 0.0


@pytest.mark.parametrize("penalty", [*PENALTIES, Rank(2)], ids=repr)
def test_parse(penalty):
    assert parse(repr(penalty)) == penalty
