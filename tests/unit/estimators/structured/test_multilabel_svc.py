"""Sets of labels by ranking: the objective over all pairs, its optimum, and the forms of y."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize

from mercer import MultilabelSVC
from mercer.errors import TargetError
from mercer.kernels import Constant, Gaussian, Linear

RNG = np.random.default_rng(0)
X = RNG.normal(size=(15, 2))
Y = (X @ RNG.normal(size=(2, 3)) + 0.3 * RNG.normal(size=(15, 3)) > 0.2).astype(int)
Y[0], Y[1] = 0, 1  # no label, and all


def objective(W, C):
    """The objective of linear functions, from its formula, pair by pair."""
    total = 0.5 * (W**2).sum()
    for x, y in zip(X, Y, strict=True):
        f, place = W @ x, np.append(y, 0.5)
        share = 1.0 / max(y.sum(), 3 - y.sum())
        for u in range(4):
            for v in range(4):
                if place[u] > place[v]:
                    total += C * share * max(0.0, 1.0 - f[u] + f[v]) ** 2
    return total


def test_the_optimum_of_linear_functions():
    model = MultilabelSVC(Linear(), C=0.5, tol=1e-8).fit(X, Y)
    found = minimize(lambda w: objective(w.reshape(4, 2), 0.5), np.zeros(8), method="BFGS", options={"gtol": 1e-6})
    assert model.objective_ == pytest.approx(found.fun, rel=1e-8)
    assert model.gap_ < 1e-8
    f = X @ found.x.reshape(4, 2).T
    # derivatives by differences: half the digits
    np.testing.assert_allclose(model.decision_function(X), f[:, :3] - f[:, 3:], atol=1e-4)
    np.testing.assert_array_equal(model.predict(X), (model.decision_function(X) > 0.0).astype(int))


def test_weights_are_repetitions_and_tables_may_be_sparse():
    w = RNG.integers(0, 3, 15)
    again = np.repeat(np.arange(15), w)
    a = MultilabelSVC(Gaussian(1.0), tol=1e-8).fit(X, Y, sample_weight=w)
    b = MultilabelSVC(Gaussian(1.0), tol=1e-8).fit(X[again], sp.csr_matrix(Y[again]))
    np.testing.assert_allclose(a.decision_function(X), b.decision_function(X), atol=1e-6)


def test_one_label_per_sample():
    names = np.array(["low", "middle", "high"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    model = MultilabelSVC(Gaussian(0.5) + Constant(1.0), C=100.0).fit(X, names)
    np.testing.assert_array_equal(model.predict(X), names)
    two = MultilabelSVC(Linear(), C=10.0).fit(X, names == "low")
    np.testing.assert_array_equal(two.predict(X), two.decision_function(X) > 0.0)


def test_bad_tables():
    with pytest.raises(TargetError, match="zeros and ones"):
        MultilabelSVC().fit(X, 2 * Y)
    model = MultilabelSVC().fit(X, Y)
    with pytest.raises(TargetError, match="3 labels were learned"):
        model.target_.encode(Y[:, :2])
