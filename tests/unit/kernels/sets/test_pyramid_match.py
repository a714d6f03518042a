"""Pyramid match: against histograms of grids, and what is learned and refused."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mercer
from mercer import KernelRidge
from mercer.domains.sets import Sets
from mercer.errors import DomainError, ModelError, ParameterError
from mercer.gram import Features
from mercer.kernels import Gaussian
from mercer.kernels.sets.mean_map import MeanMap
from mercer.kernels.sets.pyramid_match import Cells, PyramidMatch
from mercer.testing import check_kernel

BAGS = [np.random.default_rng(i).normal(size=(m, 2)) for i, m in enumerate((3, 1, 0, 5, 2, 4, 1, 7, 2))]


def pyramid(X, Z, levels, width, origin=0.0):
    """New matches of each grid, counted with 2^-level."""
    found, last = 0.0, 0
    for level in range(levels):
        grids = [Counter(tuple(np.floor((x - origin) / (width * 2.0**level))) for x in side) for side in (X, Z)]
        matches = sum((grids[0] & grids[1]).values())
        found += 2.0**-level * (matches - last)
        last = matches
    return found


@given(seed=st.integers(0, 10**6), levels=st.integers(1, 5), d=st.integers(1, 3))
def test_histograms_of_grids(seed, levels, d):
    rng = np.random.default_rng(seed)
    X = [np.round(4.0 * rng.normal(size=(m, d)), 1) for m in (2, *rng.integers(0, 6, 5))]
    k = PyramidMatch(levels, width=0.5, origin=0.25)
    expected = np.array([[pyramid(x, z, levels, 0.5, 0.25) for z in X] for x in X])
    np.testing.assert_array_equal(k(X), expected)
    np.testing.assert_array_equal(k(X[:3], X[2:]), expected[:3, 2:])
    np.testing.assert_array_equal(k.diag(k.pack(X)), np.diag(expected))


@pytest.mark.parametrize(
    "kernel",
    [
        PyramidMatch(3, width=0.3),
        PyramidMatch(),
        PyramidMatch(1, width=2.0),
        PyramidMatch(4, width=1.0, origin=(0.1, 0.2)) + MeanMap(Gaussian(1.0)),
    ],
)
def test_laws(kernel):
    check_kernel(kernel, BAGS)


def test_what_is_learned():
    k = PyramidMatch(4)
    with pytest.raises(ParameterError, match="is not fitted: the width of the cells"):
        k(BAGS)
    assert k.feature_count(k.pack(BAGS)) is None
    learned = k.learn(k.pack(BAGS))
    X = np.concatenate(BAGS)
    assert np.isclose(learned.width * 8, np.ptp(X, axis=0).max()) and np.array_equal(learned.origin, X.min(axis=0))
    assert learned.learn(k.pack(BAGS)) == learned
    K = learned(BAGS)
    assert (K[3:6, 3:6] >= 2.0**-3).all()  # the coarsest cell holds all
    weight = np.array([1.0] * 8 + [0.0])
    some = k.learn(k.pack(BAGS), None, weight)
    assert some == k.learn(k.pack(BAGS[:-1]))
    assert PyramidMatch(4).learn(k.pack([[[1.0, 1.0]]])).width == 1 / 8


def test_linear_time_learning_and_model_files(tmp_path):
    k, y = PyramidMatch(3, width=0.5), np.arange(9.0)
    model = KernelRidge(k, alpha=0.1).fit(BAGS, y)
    linear = KernelRidge(k, alpha=0.1, gram=Features()).fit(BAGS, y)
    new = [np.random.default_rng(9).normal(size=(4, 2)), np.full((1, 2), 50.0), np.empty((0, 2)), BAGS[3][[0, 0, 0]]]
    np.testing.assert_allclose(linear.predict(new), model.predict(new), rtol=1e-8, atol=1e-9)
    for name, fitted in (("kernel", model), ("features", linear)):
        mercer.save(fitted, tmp_path / name)
        np.testing.assert_array_equal(mercer.load(tmp_path / name).predict(new), fitted.predict(new))


def test_refused():
    k = PyramidMatch(2, width=1e-300)
    with pytest.raises(DomainError, match=r"too many cells of width 1e-300.*give wider cells"):
        k(BAGS)
    with pytest.raises(DomainError, match=r"Set 0 has weights other than 1.*use MeanMap"):
        PyramidMatch(2, width=1.0)([{"members": [[1.0]], "weights": [2.0]}])
    with pytest.raises(DomainError, match=r"The origin has 3 entries for vectors with 2 columns"):
        PyramidMatch(2, width=1.0, origin=(0.0, 0.0, 0.0))(BAGS)
    with pytest.raises(DomainError, match=r"with 2 and with 1 columns were compared"):
        PyramidMatch(2, width=1.0)(BAGS, [[[1.0]]])
    with pytest.raises(DomainError, match="Sets of Strings were given to PyramidMatch"):
        PyramidMatch()(Sets.pack([["a"]], mercer.kernels.Spectrum(1).pack))
    with pytest.raises(ParameterError, match="levels must be"):
        PyramidMatch(0, width=1.0)(BAGS)


def test_cells():
    cells = Cells(np.array([[0, 3], [1, 1]]), np.array([2, 1]))
    cells.check()
    assert len(cells) == 3 and cells.levels.tolist() == [0, 0, 1]
    other = Cells(np.array([[1, 1], [0, 3], [0, 4]]), np.array([2, 1, 1]))
    assert cells.find(other).tolist() == [2, -1, 0, -1] and cells.find(cells).tolist() == [0, 1, 2]
    with pytest.raises(ModelError, match="cells whose parts do not fit"):
        Cells(np.array([[0, 3]]), np.array([0])).check()
