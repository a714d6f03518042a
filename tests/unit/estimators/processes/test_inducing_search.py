"""What moves in the search of a sparse process."""

import numpy as np

from mercer import SparseGaussianProcessRegressor
from mercer.domains import Vectors
from mercer.estimators.processes.inducing_search import spread_of, stand_for_all

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 2)) * [1.0, 100.0]


def test_every_sample_may_be_an_inducing_point():
    S = Vectors.pack(X)
    assert stand_for_all(S, S) and not stand_for_all(S, S.take(np.arange(10)))


def test_points_move_in_units_of_their_columns():
    assert np.allclose(spread_of(Vectors.pack(X)), X.std(axis=0))
    assert np.array_equal(spread_of(Vectors.pack(np.ones((3, 1)))), [1.0])


def test_the_search_is_told_in_raw_units():
    y = np.sin(X[:, 0]) + 0.01 * X[:, 1] + 0.1 * rng.normal(size=30)
    model = SparseGaussianProcessRegressor(inducing=8, max_iter=20, tol=1.0).fit(X, 1e3 * y)
    assert np.isclose(model.tuned_.value, -model.bound_)
    assert np.allclose(model.tuned_.path[-1][-16:], model.inducing_.X.ravel())
