import numpy as np
import pytest

from mercer import KernelRidge
from mercer.gram.summands import function_parts, part_shares, summands
from mercer.kernels import Gaussian, Linear

X = np.random.default_rng(0).normal(size=(20, 2))


def test_sums_in_sums_are_opened():
    assert summands(Linear() + (2.0 * Gaussian(1.0) + Gaussian(2.0))) == (Linear(), 2.0 * Gaussian(1.0), Gaussian(2.0))
    assert summands(Linear() * Gaussian(1.0)) == (Linear() * Gaussian(1.0),)


@pytest.mark.parametrize("y", [X[:, 0], X], ids=["one", "several"])
def test_parts_are_those_of_the_formula(y):
    model = KernelRidge(Linear() + Gaussian(1.0), alpha=0.1).fit(X, y)
    parts = function_parts(model.expansion_, model.kernel_.pack(X))
    coef = np.linalg.solve(Linear()(X) + Gaussian(1.0)(X) + 0.1 * np.eye(20), y)
    np.testing.assert_allclose(parts["Linear()"], X @ X.T @ coef, atol=1e-9)
    np.testing.assert_allclose(sum(parts.values()), model.predict(X), atol=1e-9)


def test_shares_are_covariances():
    a, b = np.random.default_rng(1).normal(size=(2, 50))
    found = part_shares({"a": a, "b": b})
    covariance = np.cov(a, a + b)
    assert found["a"] == pytest.approx(covariance[0, 1] / covariance[1, 1]) and sum(found.values()) == pytest.approx(
        1.0
    )
    assert part_shares({"a": np.ones(3), "b": np.zeros(3)}) == {"a": 0.0, "b": 0.0}
