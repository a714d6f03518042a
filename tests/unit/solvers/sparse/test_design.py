"""Weighted, centred columns, however they are held."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.domains import Vectors
from mercer.gram import Nystrom, Tiles
from mercer.kernels import Gaussian
from mercer.solvers.sparse.design import PenalisedLeastSquares, design_of, power_of_two

rng = np.random.default_rng(0)
X = rng.normal(size=(12, 12)) * (rng.random((12, 12)) < 0.6)
w = rng.uniform(0.5, 3.0, 12)
y = rng.normal(size=12)
rows = rng.normal(size=(12, 2))
K = Gaussian(1.0)(rows)


def naive(M, centred):
    means = w @ M / w.sum() if centred else 0.0
    return np.sqrt(w)[:, None] * (M - means)


@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("kind", ["dense", "sparse", "kernel", "factor"])
def test_every_kind_is_the_same_matrix(kind, centred):
    low = Nystrom(5, random_state=0).build(Gaussian(1.0), Vectors.pack(rows))
    M = {"kernel": K, "factor": low.to_dense()}.get(kind, X)
    tiles = Tiles().build(Gaussian(1.0), Vectors.pack(rows))
    given = {"dense": X, "sparse": sp.csr_array(X), "kernel": tiles, "factor": low}[kind]
    A, design = naive(M, centred), design_of(given, w, centred)
    b, r = np.where(np.arange(12) % 3, 0.0, rng.normal(size=12)), rng.normal(size=12)
    some, others = np.array([1, 4, 7]), np.array([0, 7, 11])
    assert design.shape == (12, 12)
    assert np.allclose(design.product(b), A @ b, atol=1e-13)
    assert np.allclose(design.product(b + 1.0), A @ (b + 1.0), atol=1e-13)
    assert np.allclose(design.correlations(r), A.T @ r, atol=1e-12)
    assert np.allclose(design.normal(some, others), (A.T @ A)[np.ix_(some, others)], atol=1e-12)
    assert np.allclose(design.normal(others, some), (A.T @ A)[np.ix_(others, some)], atol=1e-12)
    assert np.allclose(design.squares(), np.diag(A.T @ A), atol=1e-12)
    assert design.rank == (5 if kind == "factor" else 12)


def test_the_intercept_is_eliminated_exactly():
    design = design_of(X, w)
    z, mean = design.target(y)
    b = rng.normal(size=12)
    b0 = design.intercept(mean, b)
    direct = np.sqrt(w) * (y - X @ b - b0)
    assert np.allclose(direct, z - design.product(b), atol=1e-12)
    assert abs(w @ (y - X @ b - b0)) < 1e-12  # the best intercept: residuals of weighted mean zero


def test_the_gap_bounds_the_distance_from_the_minimum():
    design = design_of(X, w)
    problem = PenalisedLeastSquares(design, design.target(y)[0], 0.3)
    A, z = naive(X, True), design.target(y)[0]
    b = rng.normal(size=12)
    gap = problem.gap(b, problem.left(b), A.T @ problem.left(b))
    best = min(problem.objective(b * t, problem.left(b * t)) for t in np.linspace(0, 1, 50))
    assert gap >= problem.objective(b, problem.left(b)) - best > 0
    r = problem.left(b)
    scale = min(max(z @ r / (r @ r), -0.3 / abs(A.T @ r).max()), 0.3 / abs(A.T @ r).max())
    dual = z @ (scale * r) - 0.5 * scale**2 * r @ r
    assert np.isclose(gap, problem.objective(b, r) - dual)


def test_zero_residual_and_zero_target():
    problem = PenalisedLeastSquares(design_of(np.eye(2), np.ones(2), False), np.array([1.0, 0.0]), 0.5)
    b = np.array([1.0, 0.0])
    assert problem.gap(b, problem.left(b), np.zeros(2)) == 0.5
    assert PenalisedLeastSquares(problem.design, np.zeros(2), 0.5).largest_alpha == 0.0


def test_powers_of_two():
    assert power_of_two(np.zeros(3)) == 1.0 and power_of_two(np.array([-1e300])) == 2.0 ** np.floor(np.log2(1e300))
