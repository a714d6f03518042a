"""Iterative scaling: the minimum of other methods, from above and without a rise."""

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp

from mercer.gram.low_rank.features import FeatureGram
from mercer.kernels import Linear
from mercer.problems import Status
from mercer.solvers.smooth.iterative_scaling import _step, scale_iteratively

RNG = np.random.default_rng(0)
X, Y = RNG.uniform(size=(30, 3)), RNG.integers(0, 3, size=30)
SEEN = np.eye(3)[Y]


def risk(F, w):
    """Three classes, whose own features are their indicators."""
    scores = F + w
    p = np.exp(scores - logsumexp(scores, axis=1)[:, None])
    value = float(np.sum(logsumexp(scores, axis=1)) - np.sum(scores[np.arange(30), Y]))
    return value, p - SEEN, (p - SEEN).sum(axis=0)


def test_the_minimum():
    gram = FeatureGram(Linear(), Linear().pack(X), X, None)
    seen = X.T @ SEEN, SEEN.sum(axis=0)
    found = scale_iteratively(gram, risk, seen, float(X.sum(axis=1).max()) + 1.0, 1e-6, 5000)

    def objective(v):
        V, w = v[:9].reshape(3, 3), v[9:]
        return risk(X @ V, w)[0] + 0.5 * v @ v

    best = minimize(objective, np.zeros(12), method="BFGS", options={"gtol": 1e-8})
    assert found.status is Status.CONVERGED
    assert best.fun - 1e-9 <= found.objective <= best.fun + found.gap + 1e-9
    values = [row[0] for row in found.rows]
    assert np.all(np.diff(values) <= 1e-12 * np.abs(values[0]))
    short = scale_iteratively(gram, risk, seen, 5.0, 1e-6, 3)
    assert short.status is Status.MAX_ITER and len(short.rows) == 4
    assert scale_iteratively(gram, risk, seen, 5.0, 1e-6, 9, lambda i, r: i == 2).status is Status.STOPPED


def test_each_step_solves_its_equation():
    e, s, v, M = RNG.uniform(size=20), RNG.uniform(size=20), RNG.normal(size=20), 40.0
    e[0] = 0.0
    d = _step(e - s, s, v, M)
    np.testing.assert_allclose(e * np.exp(M * d) + v + d, s, atol=1e-9)
