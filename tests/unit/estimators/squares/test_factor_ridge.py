"""The errors of left-out samples from a factor, and their derivative on landmarks."""

import numpy as np
import pytest

from mercer.budget import Resources
from mercer.domains import Vectors
from mercer.estimators.squares.factor_ridge import FactorSpectrum, LandmarkCriterion, left_out_errors_of
from mercer.estimators.squares.ridge import Weighted
from mercer.gram import Nystrom
from mercer.kernels import Gaussian
from mercer.selection.path import RidgeSpectrum

rng = np.random.default_rng(0)
X = rng.uniform(-2, 2, size=(60, 2))
BOTH = np.column_stack([np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=60), X[:, 1]])
THREES = [np.arange(i, 60, 20) for i in range(20)]
FOURS = [np.arange(i, 60, 15) for i in range(15)]


@pytest.mark.parametrize("folds", ["loo", "gcv", THREES, FOURS])
@pytest.mark.parametrize("intercept", [False, True])
def test_the_derivative_on_landmarks_is_that_of_differences(folds, intercept):
    w = rng.uniform(0.3, 3.0, size=60)
    data = Weighted(60, Vectors.pack(X), BOTH, w, np.arange(60))
    criterion = LandmarkCriterion(data, np.arange(0, 60, 4), intercept, folds, Resources())

    def value(raw):
        return criterion(Gaussian(tuple(raw[:2])), {"alpha": np.array(raw[2])})[0]

    at, steps = np.array([0.7, 0.9, 0.03]), np.diag([1e-5, 1e-5, 1e-6])
    got, slope, beside = criterion(Gaussian((0.7, 0.9)), {"alpha": np.array(0.03)})
    expected = [(value(at + step) - value(at - step)) / (2.0 * step.sum()) for step in steps]
    np.testing.assert_allclose([*slope, beside["alpha"]], expected, rtol=1e-6)
    gram = Nystrom(15, landmarks=tuple(range(0, 60, 4))).build(Gaussian((0.7, 0.9)), Vectors.pack(X))
    errors = FactorSpectrum.of(gram, w, intercept, 0.0).errors(BOTH, np.array([0.03]), folds)  # nothing is held
    assert got == pytest.approx(np.log(np.sum(w[:, None] * errors[0] ** 2) / w.sum()), abs=1e-9)


@pytest.mark.parametrize("folds", ["loo", THREES])
@pytest.mark.parametrize("intercept", [False, True])
def test_a_factor_gives_the_errors_of_its_matrix(folds, intercept):
    w, alphas = rng.uniform(0.3, 3.0, size=60), np.array([0.01, 1.0])
    gram = Nystrom(15, landmarks=tuple(range(0, 60, 4))).build(Gaussian(0.8), Vectors.pack(X))
    whole = RidgeSpectrum.of(gram.to_dense(), w, np.ones((60, 1)) if intercept else None)
    expected = left_out_errors_of(whole, BOTH, alphas, folds)
    for allowed in (0.0, np.inf):
        low = FactorSpectrum.of(gram, w, intercept, allowed)
        np.testing.assert_allclose(left_out_errors_of(low, BOTH, alphas, folds), expected, rtol=1e-6, atol=1e-9)
