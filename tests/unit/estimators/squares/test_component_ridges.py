"""Ridges of components: a factor of full rank and the matrix agree, and coefficients solve the system."""

import numpy as np

from mercer.domains import Vectors
from mercer.estimators.squares.component_ridges import ComponentRidges
from mercer.gram import Dense, Features
from mercer.kernels import Linear


def test_coefficients_solve_the_system_of_their_ridge():
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(20, 3)), rng.uniform(0.5, 2.0, size=20)
    Z = np.column_stack([X[:, 0] + 0.1 * rng.normal(size=20), rng.normal(size=20)])
    Z -= w @ Z / w.sum()
    found = [ComponentRidges.of(spec.build(Linear(), Vectors.pack(X)), Z, w) for spec in (Dense(), Features())]
    for one in found:
        left = Z - X @ X.T @ one.coef - one.intercept - one.alphas * one.coef / w[:, None]
        assert np.abs(left).max() < 1e-9
        assert np.abs(one.coef.sum(axis=0)).max() < 1e-9
        np.testing.assert_allclose(one.alphas, found[0].alphas)
        np.testing.assert_allclose(one.errors, found[0].errors)
    assert found[0].alphas[0] < found[0].alphas[1]  # what is a function of X needs less
    np.testing.assert_allclose(found[1].weights, X.T @ found[1].coef, atol=1e-8)
