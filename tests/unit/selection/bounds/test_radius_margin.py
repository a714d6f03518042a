"""The radius-margin bound: its factors by hand, its gradient by differences, the theorem by refitting."""

import numpy as np
import pytest

from mercer import SVC
from mercer.domains import Vectors
from mercer.errors import TargetError
from mercer.kernels import Gaussian, Precomputed
from mercer.selection.bounds.radius_margin import RadiusMarginCriterion, radius_margin, smallest_ball


def data(n=16, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = np.where(X[:, 0] + 0.7 * rng.normal(size=n) > 0, 1.0, -1.0)
    y[:2] = [1.0, -1.0]
    return X, y


def test_the_ball_holds_all_samples_and_touches_some():
    X, _ = data()
    K = Gaussian(1.0)(X)
    radius2, b = smallest_ball(K)
    distance = np.diagonal(K) - 2.0 * K @ b + b @ K @ b
    assert (b >= 0).all() and abs(b.sum() - 1.0) < 1e-12
    assert distance.max() <= radius2 * (1.0 + 1e-7)
    np.testing.assert_allclose(distance[b > 1e-6], radius2, rtol=1e-6)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_gradient(loss):
    X, y = data()
    criterion = RadiusMarginCriterion(Vectors.pack(X), y, loss)
    _, slope, beside = criterion(Gaussian(1.2), {"C": np.array(2.0)})
    h = 1e-5
    width = [criterion(Gaussian(1.2 + s * h), {"C": np.array(2.0)})[0] for s in (1, -1)]
    cost = [criterion(Gaussian(1.2), {"C": np.array(2.0 + s * h)})[0] for s in (1, -1)]
    # the programs are solved to 1e-9, so that differences over 2e-5 have about 1e-4
    np.testing.assert_allclose(slope, [(width[0] - width[1]) / (2 * h)], rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(beside["C"], (cost[0] - cost[1]) / (2 * h), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("seed", range(4))
def test_no_more_errors_than_the_bound_says(seed):
    """Refit without each sample: the squared hinge is the hard margin of K + I / C."""
    X, y = data(14, seed)
    K = Gaussian(0.8)(X) + np.eye(14) / 3.0
    errors = 0
    for i in range(14):
        rest = np.delete(np.arange(14), i)
        model = SVC(Precomputed(), C=np.inf, tol=1e-8).fit(K[np.ix_(rest, rest)], y[rest])
        errors += y[i] * model.decision_function(K[i : i + 1, rest])[0] <= 0
    assert errors <= radius_margin(K, y, np.inf).value + 1e-6
    np.testing.assert_allclose(radius_margin(Gaussian(0.8)(X), y, 3.0).value, radius_margin(K, y, np.inf).value)


def test_the_modified_form_for_the_hinge():
    X, y = data()
    K = Gaussian(1.0)(X)
    model = SVC(Precomputed(), C=2.0, tol=1e-9).fit(K, y)
    f = model.decision_function(K)
    w2 = model.dual_coef_[0] @ K[np.ix_(model.support_, model.support_)] @ model.dual_coef_[0]
    xi = np.maximum(0.0, 1.0 - y * f).sum()
    expected = (smallest_ball(K).radius2 + 0.5) * (w2 + 4.0 * xi)
    np.testing.assert_allclose(radius_margin(K, y, 2.0, loss="hinge").value, expected, rtol=1e-5)


def test_targets_that_are_not_signs():
    with pytest.raises(TargetError, match="-1"):
        radius_margin(np.eye(3), [0.0, 1.0, 2.0])
