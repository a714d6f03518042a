"""The quadratic programs of the support vector machines, written out, and what their solutions must obey."""

from __future__ import annotations

import numpy as np

from mercer.domains import Vectors
from mercer.gram import Dense, Repeated
from mercer.kernels import Gaussian
from mercer.problems import BoxQP

INF = np.inf


def dense(X, kernel=None):
    return Dense().build(Gaussian(1.0) if kernel is None else kernel, Vectors.pack(X))


def classifier(K, y, C, **more):
    """C-SVC; C may be a number or one per sample."""
    box = C * y
    return BoxQP(K, -y, np.minimum(box, 0.0), np.maximum(box, 0.0), **more)


def squared_hinge(K, y, C):
    return BoxQP(K, -y, np.where(y < 0, -INF, 0.0), np.where(y > 0, INF, 0.0), ridge=1.0 / (C * np.ones(len(y))))


def by_class(K, y, weight, half):
    """nu-SVC: coefficients sum to plus and minus half in the two classes."""
    box = weight * y
    total = np.array([half, -half])
    group = (y < 0).astype(np.intp)
    return BoxQP(K, np.zeros(len(y)), np.minimum(box, 0.0), np.maximum(box, 0.0), group, total)


def regression(K, z, C, epsilon):
    """epsilon-SVR, two variables a sample."""
    n = len(z)
    both = np.r_[np.arange(n), np.arange(n)]
    zero, top = np.zeros(n), np.full(n, C)
    return BoxQP(Repeated(K, both), np.r_[epsilon - z, -epsilon - z], np.r_[zero, -top], np.r_[top, zero])


def nu_regression(K, z, C, nu):
    n = len(z)
    both = np.r_[np.arange(n), np.arange(n)]
    zero, top, half = np.zeros(n), np.full(n, C), 0.5 * C * nu * n
    group, total = np.repeat([0, 1], n), np.array([half, -half])
    return BoxQP(Repeated(K, both), np.r_[-z, -z], np.r_[zero, -top], np.r_[top, zero], group, total)


def huber(K, z, C, sigma):
    n = len(z)
    return BoxQP(K, -z, np.full(n, -C), np.full(n, C), ridge=sigma / C)


def one_class(K, nu):
    n = K.shape[0]
    return BoxQP(K, np.zeros(n), np.zeros(n), np.ones(n), total=np.array([nu * n]))


def enclosing_ball(K, C):
    n = K.shape[0]
    return BoxQP(K, -0.5 * K.diag(), np.zeros(n), np.full(n, C), total=np.ones(1))


def matrix_of(problem):
    """K in float64, whatever holds it."""
    gram = problem.gram
    return np.asarray(gram.K) if hasattr(gram, "K") else gram.refined().to_dense()


def gradient(problem, beta, K=None):
    K = matrix_of(problem) if K is None else K
    return K @ beta + np.asarray(problem.ridge) * beta + problem.linear


def objective(problem, beta, K=None):
    return 0.5 * float(beta @ (gradient(problem, beta, K) + problem.linear))


def residual(problem, beta, K=None):
    """The violation by its definition, in float64 from scratch."""
    g = gradient(problem, beta, K)
    group = np.zeros(len(beta), int) if problem.group is None else problem.group
    worst = 0.0
    for s in range(len(problem.total)):
        up, down = (beta < problem.upper) & (group == s), (beta > problem.lower) & (group == s)
        if up.any() and down.any():
            worst = max(worst, float(g[down].max() - g[up].min()))
    return worst


def require_feasible(problem, beta):
    assert np.isfinite(beta).all()
    assert np.all((beta >= problem.lower) & (beta <= problem.upper))
    group = np.zeros(len(beta), int) if problem.group is None else problem.group
    sums = np.bincount(group, weights=beta, minlength=len(problem.total))
    np.testing.assert_allclose(sums, problem.total, atol=1e-11 * max(1.0, np.abs(beta).sum()))


def require_honest(problem, solution, slack=1e-9):
    """Feasible, and every figure of the solution is what the definition says."""
    beta, K = solution.coef, matrix_of(problem)
    require_feasible(problem, beta)
    size = max(1.0, np.abs(beta).sum() * np.abs(K).max())
    assert solution.residual >= 0.0 and solution.gap >= 0.0
    assert abs(solution.residual - residual(problem, beta, K)) <= slack * size
    np.testing.assert_allclose(solution.state, K @ beta, atol=slack * size)
    assert solution.trace.objective[-1] == np.float64(solution.trace.objective[-1])
    assert abs(solution.trace.objective[-1] - objective(problem, beta, K)) <= slack * size * max(
        1.0, np.abs(beta).max()
    )
    assert solution.trace.residual[-1] == solution.residual
    assert np.all(np.diff(solution.trace.seconds) >= 0.0)
    assert solution.details["support"] == np.count_nonzero(beta)
