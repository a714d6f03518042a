"""Kernel maps with a reference point against a minimum found by least squares over all variables."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer.errors import ParameterError
from mercer.estimators.geometry.manifolds import LaplacianEigenmap
from mercer.estimators.geometry.reference_map import ReferencePointMap
from mercer.gram import Dense, IncompleteCholesky, Nystrom, Tiles
from mercer.kernels import Gaussian, Spectrum

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 3))
T = rng.normal(size=(6, 3))


@pytest.mark.slow  # the default is looked at in tests/contract
@parametrize_with_checks([ReferencePointMap(reference=(2.0,), scales=(1.05,), n_neighbors=None)])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def means(n_neighbors, kernel):
    if n_neighbors is None:
        A = kernel(X) - np.diag(np.diag(kernel(X)))
    else:
        A = LaplacianEigenmap(kernel, n_neighbors=n_neighbors).fit(X).affinity_.toarray()
    return A / A.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("n_neighbors", [5, None])
@pytest.mark.parametrize("r", [0, 7])
def test_the_objective_is_minimal_over_all_variables(n_neighbors, r):
    kernel, eta, nu = Gaussian(1.0), 2.0, 0.1
    model = ReferencePointMap(
        kernel, (1.0, -2.0), scales=(1.1, 0.8), reference_index=r, eta=eta, nu=nu, n_neighbors=n_neighbors
    ).fit(X)
    S, n = means(n_neighbors, kernel), 40
    others = np.delete(np.arange(n), r)
    root = np.linalg.cholesky(kernel(X[others]) + 1e-12 * np.eye(n - 1))
    for column, (t, s) in enumerate(((1.0, 1.1), (-2.0, 0.8))):
        # one least-squares problem in z, the coordinates g of f (with values root g and length g) and b
        rows = np.zeros((3 * n - 1, 2 * n))
        right = np.zeros(3 * n - 1)
        rows[:n, :n] = np.eye(n) - s * S
        rows[n : 2 * n - 1, n : 2 * n - 1] = np.sqrt(nu) * np.eye(n - 1)
        rows[2 * n - 1 : 3 * n - 2][np.arange(n - 1), others] = np.sqrt(eta)
        rows[2 * n - 1 : 3 * n - 2, n : 2 * n - 1] = -np.sqrt(eta) * root
        rows[2 * n - 1 : 3 * n - 2, -1] = -np.sqrt(eta)
        rows[-1, r], right[-1] = np.sqrt(eta), np.sqrt(eta) * t
        found = np.linalg.lstsq(rows, right, rcond=None)[0]
        f = root @ found[n : 2 * n - 1] + found[-1]
        np.testing.assert_allclose(model.embedding_[:, column], found[:n], atol=1e-7)
        np.testing.assert_allclose(model.transform(X[others])[:, column], f, atol=1e-6)
        np.testing.assert_allclose(model.errors_[others, column], found[:n][others] - f, atol=1e-6)
    np.testing.assert_allclose(model.errors_[r], model.embedding_[r] - [1.0, -2.0])
    np.testing.assert_allclose(model.dual_coef_[others], eta / nu * model.errors_[others], atol=1e-6)
    assert np.all(model.dual_coef_[r] == 0.0)


@pytest.mark.parametrize("n_neighbors", [5, None])
def test_a_gram_of_low_rank_needs_only_products(n_neighbors):
    options = {"scales": (1.1, 0.8), "n_neighbors": n_neighbors, "reference_index": 3}
    whole = ReferencePointMap(Gaussian(1.0), gram=Dense(), **options).fit(X)
    parts = ReferencePointMap(Gaussian(1.0), gram=IncompleteCholesky(40, tol=0.0), **options).fit(X)
    for name in ("embedding_", "errors_", "dual_coef_"):
        np.testing.assert_allclose(getattr(parts, name), getattr(whole, name), atol=1e-8)
    np.testing.assert_allclose(parts.transform(T), whole.transform(T), atol=1e-8)
    with pytest.raises(ParameterError, match="repulsion"):
        ReferencePointMap(Gaussian(1.0), gram=Nystrom(10), repulsion=10.0).fit(X)
    assert parts.memory_plan(10**5).total < ReferencePointMap(gram=Dense()).memory_plan(10**5).total / 100


def test_the_map_is_linear_in_the_reference_point():
    a = ReferencePointMap(Gaussian(1.0), (1.0, -1.0)).fit(X)
    b = ReferencePointMap(Gaussian(1.0), (3.0, 2.0)).fit(X)
    np.testing.assert_allclose(b.transform(T), a.transform(T) * [3.0, -2.0], atol=1e-9)


def test_repulsion_enters_the_system_until_there_is_no_minimum():
    kernel = Gaussian(1.0)
    plain = ReferencePointMap(kernel, (1.0,), scales=(1.1,), n_neighbors=5).fit(X)
    pushed = ReferencePointMap(kernel, (1.0,), scales=(1.1,), n_neighbors=5, repulsion=1e-3).fit(X)
    assert np.linalg.norm(pushed.embedding_) > np.linalg.norm(plain.embedding_)
    with pytest.raises(ParameterError, match="repulsion"):
        ReferencePointMap(kernel, repulsion=10.0).fit(X)


def test_parameters_other_domains_and_grams():
    for bad in ({"reference": (1.0,)}, {"reference": (0.0, 1.0)}, {"scales": (1.0, -1.0)}, {"reference_index": 40}):
        with pytest.raises(ParameterError, match="reference"):
            ReferencePointMap(**bad).fit(X)
    a, b = (ReferencePointMap(Gaussian(1.0), gram=gram).fit(X) for gram in (None, Tiles()))
    np.testing.assert_allclose(a.transform(T), b.transform(T), atol=1e-9)
    given = ReferencePointMap("precomputed").fit(Gaussian(1.0)(X))
    np.testing.assert_allclose(given.transform(Gaussian(1.0)(T, X)), a.transform(T), atol=1e-8)
    words = ["abab", "abba", "baba", "zzab", "zbab", "bbbb"]
    assert ReferencePointMap(Spectrum(2), n_neighbors=2).fit(words).transform(["ab"]).shape == (1, 2)
