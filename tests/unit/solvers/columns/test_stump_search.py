import numpy as np
import pytest

from mercer.solvers.columns import stump_search
from mercer.solvers.columns.stump_search import best_cuts, sort_columns


def brute(column, r):
    """The largest edge of one column, over the constant and every threshold and sign."""
    cuts = [-np.inf, *np.unique(column)]
    return max(abs(np.where(column > cut, 1.0, -1.0) @ r) for cut in cuts)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("levels", [2, 5, 1000])
def test_the_best_cut_of_all(levels, compiled, monkeypatch):
    if not compiled:
        monkeypatch.setattr(stump_search, "_pass", stump_search._pass.py_func)
    rng = np.random.default_rng(levels)
    X, r = rng.integers(0, levels, size=(60, 4)).astype(float), rng.normal(size=60)
    columns = sort_columns(X)
    cuts = best_cuts(columns, r)
    for j in range(4):
        assert cuts.edges[j] == pytest.approx(brute(X[:, j], r), rel=1e-12)
        h = np.full(60, cuts.signs[j])
        h[columns.order[j, : cuts.places[j]]] *= -1.0
        assert h @ r == pytest.approx(cuts.edges[j], rel=1e-12)


def test_a_constant_column_has_the_constant_function():
    cuts = best_cuts(sort_columns(np.ones((3, 1))), np.array([1.0, -4.0, 1.0]))
    assert (cuts.edges[0], cuts.places[0], cuts.signs[0]) == (2.0, 0, -1.0)
