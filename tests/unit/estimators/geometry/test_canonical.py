"""Canonical correlations against the generalised eigenproblem as it is written."""

import numpy as np
import pytest
import scipy.linalg

from mercer.domains import Vectors
from mercer.errors import CapabilityError
from mercer.estimators.geometry.canonical import Basis, basis_of, canonical, correlations, shrinkage
from mercer.gram import Dense, Features, Nystrom, Tiles
from mercer.kernels import Gaussian, Linear

rng = np.random.default_rng(0)
n = 24
t = rng.normal(size=(n, 1))
X = np.c_[t, rng.normal(size=(n, 2))]
Y = np.c_[np.sin(t) + 0.3 * rng.normal(size=(n, 1)), rng.normal(size=(n, 1))]
Z = np.c_[t**2 + t, rng.normal(size=(n, 2))]
P = np.eye(n) - 1.0 / n


def bases(*views):
    return [basis_of(Dense().build(Gaussian(1.5), Vectors.pack(view)), np.ones(len(view))) for view in views]


def written(Ks, taus, penalties):
    """Eigenvalues of the generalised problem, in the coefficients alpha, from the matrices as printed."""
    k, size = len(Ks), len(Ks[0])
    A, B = np.zeros((k * size, k * size)), np.zeros((k * size, k * size))
    for a in range(k):
        rows = slice(a * size, (a + 1) * size)
        B[rows, rows] = (1 - taus[a]) * Ks[a] @ Ks[a] + taus[a] * penalties[a] * Ks[a]
        for b in range(k):
            if a != b:
                A[rows, b * size : (b + 1) * size] = Ks[a] @ Ks[b]
    values, vectors = np.linalg.eigh(B)
    kept = values > 1e-10 * values[-1]
    root = vectors[:, kept] / np.sqrt(values[kept])
    return np.linalg.eigvalsh(root.T @ A @ root)[::-1]


@pytest.mark.parametrize("taus", [(0.3, 0.3), (0.05, 0.8), (1.0, 0.5)])
def test_pairs_of_eigenvalues(taus):
    Ks = [P @ Gaussian(1.5)(one) @ P for one in (X, Y)]
    full = written(Ks, taus, (n, 1.0))
    found = canonical(bases(X, Y), taus, (n, 1.0), 3)
    m = 10
    assert np.allclose(found.values[:m], full[:m], atol=1e-8)
    assert np.allclose(full[:m], -full[::-1][:m], atol=1e-8)  # rho and -rho


def test_directions_satisfy_constraint_and_reach_the_value():
    taus, penalties = (0.2, 0.6), (0.7 * n, float(n))
    both = bases(X, Y)
    found = canonical(both, taus, penalties, 3)
    for basis, direction, tau, p in zip(both, found.directions, taus, penalties, strict=True):
        norm = direction / np.sqrt(basis.values)[:, None]
        constraint = (1 - tau) * direction.T @ direction + tau * p * norm.T @ norm
        assert np.allclose(constraint, np.eye(3), atol=1e-10)
    scores = [b.vectors @ d for b, d in zip(both, found.directions, strict=True)]
    assert np.allclose(scores[0].T @ scores[1], np.diag(found.values[:3]), atol=1e-10)


def test_more_views():
    taus, penalties = (0.3, 0.2, 0.5), (n, n, n)
    Ks = [P @ Gaussian(1.5)(one) @ P for one in (X, Y, Z)]
    found = canonical(bases(X, Y, Z), taus, penalties, 2)
    assert np.allclose(found.values[:8], written(Ks, taus, penalties)[:8] / 2, atol=1e-8)


def test_large_problem_by_the_smaller_square(monkeypatch):
    both = bases(X, Y)
    small = canonical(both, (0.1, 0.1), (n, n), 2)
    monkeypatch.setattr("mercer.estimators.geometry.canonical._SMALL", 3)
    for order in (1, -1):
        large = canonical(both[::order], (0.1, 0.1), (n, n), 2)
        assert np.allclose(large.values[:5], small.values[:5], atol=1e-10)
        for a, b in zip(large.directions, small.directions[::order], strict=True):
            assert np.allclose(np.abs(a), np.abs(b), atol=1e-7)


@pytest.mark.parametrize("spec", [Features(), Nystrom(n)])
def test_factor_is_the_dense_matrix(spec):
    kernel = Linear() if isinstance(spec, Features) else Gaussian(1.5)
    w = rng.integers(1, 4, size=n).astype(float)
    S = Vectors.pack(X)
    dense = basis_of(Dense().build(kernel, S), w)
    low = basis_of(spec.build(kernel, S), w)
    m = min(len(dense.values), len(low.values))
    assert np.allclose(dense.values[:m], low.values[:m], atol=1e-9 * dense.values[0])
    assert np.allclose(low.vectors.T @ low.vectors, np.eye(low.vectors.shape[1]), atol=1e-10)
    a = rng.normal(size=(3, 2))  # in the leading directions only
    for basis, spec_ in ((dense, Dense()), (low, spec)):
        full = np.vstack([a, np.zeros((len(basis.values) - 3, 2))])
        function, coef = basis.expand(spec_.build(kernel, S), full, w)
        assert np.allclose(function(S), basis.vectors @ full / np.sqrt(w)[:, None], atol=1e-8)
        assert np.allclose(coef.sum(axis=0), 0.0, atol=1e-8)


def test_more_features_than_samples():
    wide = rng.normal(size=(6, 30))
    S = Vectors.pack(wide)
    low, dense = (basis_of(spec.build(Linear(), S), np.ones(6)) for spec in (Features(), Dense()))
    assert len(low.values) == len(dense.values) == 5
    assert np.allclose(low.values, dense.values)


def test_only_products_are_refused_with_the_remedy():
    with pytest.raises(CapabilityError, match="rank=500"):
        basis_of(Tiles().build(Gaussian(1.0), Vectors.pack(X)), np.ones(n))


def test_shrinkage_and_correlations():
    assert np.array_equal(shrinkage(np.array([2.0, 0.5]), 0.0, 3.0), [1.0, 1.0])
    assert np.allclose(shrinkage(np.array([2.0]), 0.25, 3.0), np.sqrt(2.0 / (1.5 + 0.75)))
    A, B = rng.normal(size=(9, 2)), rng.normal(size=(9, 2))
    w = rng.integers(1, 4, size=9)
    want = [np.corrcoef(np.repeat(A[:, j], w), np.repeat(B[:, j], w))[0, 1] for j in range(2)]
    assert np.allclose(correlations([A, B], w.astype(float)), want)
    assert np.array_equal(correlations([np.ones((4, 1)), rng.normal(size=(4, 1))]), [0.0])


def test_norm_constrained_values_are_singular_values_of_roots():
    """[HSS] after Eq. (98): (P Kx P)^1/2 (P Ky P)^1/2."""
    roots = [np.real(scipy.linalg.sqrtm(P @ Gaussian(1.5)(one) @ P + 1e-14 * np.eye(n))) for one in (X, Y)]
    want = np.linalg.svd(roots[0] @ roots[1], compute_uv=False)
    found = canonical(bases(X, Y), (1.0, 1.0), (1.0, 1.0), 1).values
    assert np.allclose(found[:10], want[:10], atol=1e-6)


def test_empty_basis_has_no_correlations():
    empty = Basis(np.zeros((n, 0)), np.zeros(0), np.zeros(1))
    assert len(canonical([empty, bases(Y)[0]], (0.1, 0.1), (1.0, 1.0), 0).values) == 0
