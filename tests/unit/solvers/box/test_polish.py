"""From a near optimum to the exact one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.domains import Vectors
from mercer.gram import Repeated, Tiles
from mercer.kernels import Gaussian, Linear, NegativeDistance
from mercer.problems import BoxQP
from mercer.solvers import SMO
from mercer.solvers.box import face, smo
from mercer.solvers.box import polish as module
from mercer.solvers.box.polish import polish
from tests.unit.solvers.machines import (
    by_class,
    classifier,
    dense,
    gradient,
    huber,
    regression,
    require_feasible,
    residual,
    squared_hinge,
)

rng = np.random.default_rng(0)
N = 80
X = rng.normal(size=(N, 2))
Y = np.where(X[:, 0] + 0.6 * rng.normal(size=N) > 0, 1.0, -1.0)
Z = np.sin(X[:, 0]) + 0.1 * rng.normal(size=N)
K = dense(X)

PROBLEMS = {
    "C-SVC": lambda: classifier(K, Y, 3.0),
    "squared hinge": lambda: squared_hinge(K, Y, 3.0),
    "nu-SVC": lambda: by_class(K, Y, np.ones(N), 20.0),
    "SVR": lambda: regression(K, Z, 2.0, 0.05),
    "Huber": lambda: huber(K, Z, 2.0, 0.2),
    "linear": lambda: classifier(dense(X, Linear()), Y, 1.0),
    "conditional": lambda: classifier(dense(X, NegativeDistance(1.0)), Y, 1.0),
    "twins": lambda: classifier(dense(np.repeat(X[:40], 2, axis=0)), Y, 3.0),
}


@pytest.fixture
def rough(monkeypatch):
    """Solve without the polish, to a loose tolerance."""
    monkeypatch.setattr(smo, "polish", lambda *_: False)
    return lambda problem, tol=1e-2: SMO(tol=tol).solve(problem).coef.copy()


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_optimum_becomes_exact(name, rough):
    problem = PROBLEMS[name]()
    beta = rough(problem)
    g = gradient(problem, beta)
    before = residual(problem, beta)
    assert 1e-6 < before <= 1e-2
    assert polish(problem, beta, g, 2000)
    require_feasible(problem, beta)
    np.testing.assert_allclose(g, gradient(problem, beta), atol=1e-9)
    assert residual(problem, beta) <= 1e-9
    assert not polish(problem, beta.copy(), g.copy(), 2000)  # nothing left to do


@given(seed=st.integers(0, 2**32 - 1))
def test_it_never_makes_it_worse(seed):
    """From any feasible point, however far from the optimum; what it does not improve it does not touch."""
    own = np.random.default_rng(seed)
    problem = classifier(K, Y, 3.0) if seed % 2 else by_class(K, Y, np.ones(N), 20.0)
    beta = np.clip(own.normal(size=N), problem.lower, problem.upper)
    beta = SMO(max_iter=int(own.integers(1, 60))).solve(problem, start=beta).coef
    g = gradient(problem, beta)
    old, was = beta.copy(), g.copy()
    better = polish(problem, beta, g, 2000)
    if better:
        assert residual(problem, beta) < residual(problem, old) + 1e-12
        require_feasible(problem, beta)
        np.testing.assert_allclose(g, gradient(problem, beta), atol=1e-8)
    else:
        assert np.array_equal(beta, old) and np.array_equal(g, was)


def test_too_many_free_variables_are_left(rough):
    problem = PROBLEMS["C-SVC"]()
    beta = rough(problem)
    old, g = beta.copy(), gradient(problem, beta)
    assert not polish(problem, beta, g, 3) and np.array_equal(beta, old)


def test_only_the_free_ones_where_their_neighbours_are_too_many(rough):
    """The limit lies between the free variables and those near the margin."""
    problem = PROBLEMS["C-SVC"]()
    beta = rough(problem, 0.3)
    free = int(np.count_nonzero((beta > problem.lower) & (beta < problem.upper)))
    old, before = beta.copy(), residual(problem, beta)
    better = polish(problem, beta, gradient(problem, beta), free)
    require_feasible(problem, beta)
    assert residual(problem, beta) < before if better else np.array_equal(beta, old)


def test_a_float32_gram_is_polished_in_float64(rough):
    S = Vectors.pack(X)
    problem = classifier(Tiles(precision="mixed").build(Gaussian(1.0), S), Y, 3.0)
    exact = classifier(K, Y, 3.0)
    beta = rough(exact)
    assert polish(problem, beta, gradient(exact, beta), 2000)
    assert residual(exact, beta) <= 1e-9
    both = np.r_[np.arange(N), np.arange(N)]
    doubled = regression(K, Z, 2.0, 0.05)
    tiled = BoxQP(Repeated(problem.gram, both), doubled.linear, doubled.lower, doubled.upper)
    beta = rough(doubled)
    assert polish(tiled, beta, gradient(doubled, beta), 2000)
    assert residual(doubled, beta) <= 1e-9


def test_many_variables_far_from_the_margin_are_not_recomputed(rough):
    """More than twice the limit: only gradients that may matter are brought up to date, the violation is still true."""
    problem = PROBLEMS["C-SVC"]()
    beta = rough(problem, 1e-3)
    free = np.count_nonzero((beta > problem.lower) & (beta < problem.upper))
    most = int(free) + 2
    assert most < N / 2
    g = gradient(problem, beta)
    if polish(problem, beta, g, most):
        assert residual(problem, beta) <= 1e-3
        up, down = beta < problem.upper, beta > problem.lower
        assert residual(problem, beta) == pytest.approx(max(0.0, g[down].max() - g[up].min()), abs=1e-8)


def test_a_singular_block_gets_a_little_jitter_or_is_left(monkeypatch, rough):
    problem = PROBLEMS["twins"]()
    beta = rough(problem)
    monkeypatch.setattr(face, "_JITTER", (0.0,))
    old = beta.copy()
    better = polish(problem, beta, gradient(problem, beta), 2000)
    assert residual(problem, beta) <= 1e-2 if better else np.array_equal(beta, old)


def test_little_work_is_done_where_it_is_limited(monkeypatch, rough):
    monkeypatch.setattr(module, "_WORK", 0.0)
    problem = PROBLEMS["SVR"]()
    beta = rough(problem)
    before = residual(problem, beta)
    polish(problem, beta, gradient(problem, beta), 2000)
    require_feasible(problem, beta)
    assert residual(problem, beta) <= before + 1e-12


def test_nothing_free_and_too_many_near_the_margin_is_nothing_to_do():
    """All variables at their ends, which a large tolerance is satisfied with."""
    K = dense(np.arange(4.0)[:, None])
    problem = BoxQP(K, np.zeros(4), np.zeros(4), np.ones(4), total=np.array([2.0]))
    beta = np.array([1.0, 1.0, 0.0, 0.0])
    g = np.array([5.0, 5.0, -5.0, -5.0])
    assert not polish(problem, beta, g, 2)
    assert beta.tolist() == [1.0, 1.0, 0.0, 0.0]
