"""Small problems over several Grams, degenerate ones among them, and what solutions must obey."""

from __future__ import annotations

import numpy as np

from mercer.losses import EpsilonInsensitive, Hinge, Squared, SquaredHinge
from mercer.mixtures import Simplex
from mercer.problems import Status
from mercer.solvers.mixtures.mixture_problem import MixtureMulticlass, MixtureQP, Program
from mercer.solvers.mixtures.stack import Matrix

LOSSES = {
    "hinge": Hinge(),
    "squared hinge": SquaredHinge(),
    "squared": Squared(),
    "tube": EpsilonInsensitive(0.1),
}


def samples(n=40, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)


def gaussian(X, width):
    squares = ((X[:, None] - X[None]) ** 2).sum(-1)
    return np.exp(-squares / (2.0 * width**2))


def family(X):
    """Gaussian kernels of several widths on all columns and on each of the first two."""
    return [gaussian(X[:, c], s) for s in (0.5, 1.0, 3.0) for c in (slice(None), slice(0, 1), slice(1, 2))]


def program(loss, y, C=1.0, weight=1.0):
    dual = LOSSES[loss].box_dual(y, C * weight * np.ones(len(y)))
    return Program(dual.linear, dual.lower, dual.upper, ridge=dual.ridge, index=dual.index)


def one_class(n, nu=0.3):
    return Program(np.zeros(n), np.zeros(n), np.ones(n), total=np.array([nu * n]))


def problem(loss="hinge", n=40, C=2.0, kernels=None, weights=None, seed=0):
    X, y = samples(n, seed=seed)
    matrices = family(X) if kernels is None else kernels(X, y)
    target = np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1] if loss in ("squared", "tube") else y
    part = one_class(n) if loss == "one class" else program(loss, target, C)
    return MixtureQP([Matrix(K) for K in matrices], Simplex() if weights is None else weights, (part,))


def several(n=40, C=2.0):
    """Three classes, each against the rest."""
    X, _ = samples(n)
    codes = np.digitize(X[:, 0] + 0.5 * X[:, 1], [-0.5, 0.5])
    parts = tuple(program("hinge", np.where(codes == c, 1.0, -1.0), C) for c in range(3))
    return MixtureQP([Matrix(K) for K in family(X)], Simplex(), parts)


def together(n=40, C=1.0):
    """Three classes in one program."""
    X, _ = samples(n)
    codes = np.digitize(X[:, 0] + 0.5 * X[:, 1], [-0.5, 0.5])
    return MixtureMulticlass([Matrix(K) for K in family(X)], Simplex(), codes, C * np.ones(n), 3)


def _small_class(X, y):
    y[:] = -1.0
    y[:3] = 1.0
    return family(X)


DEGENERATE = {
    "duplicates": lambda X, y: [*family(X)[:3], *family(X)[:3]],
    "a kernel of zeros": lambda X, y: [np.zeros((len(X), len(X))), *family(X)[:4]],
    "one that separates": lambda X, y: [np.outer(y, y), *family(X)[:3]],
    "one kernel": lambda X, y: family(X)[:1],
    "a small class": _small_class,
    "low rank": lambda X, y: [np.outer(X[:, j], X[:, j]) for j in range(4)],
    "scales": lambda X, y: [1e4 * family(X)[0], 1e-4 * family(X)[1], family(X)[2]],
}


def require_solved(solution, tol):
    """The weights are of the simplex, and the gap is what was asked for."""
    d = solution.state.weights
    assert np.isclose(d.sum(), 1.0, rtol=1e-9) and d.min() >= 0.0
    assert solution.status is Status.CONVERGED and solution.residual <= tol


def require_optimal(solution, tol):
    """N_t is equal on the support and nowhere larger: of small problems, which are solved to rounding."""
    require_solved(solution, tol)
    s, d = solution.state.squares, solution.state.weights
    assert np.all(s[d > 0.0] >= s.max() * (1.0 - 1e-6))
