"""The representer theorem: kernels at other points than the data are of no use.

[HSS] Theorem 11: over all functions of the space, those with kernels at the samples alone are the best.
"""

import numpy as np
import pytest
from scipy.optimize import minimize

from mercer.estimators.squares.kernel_machine import KernelMachine, KernelMachineClassifier
from mercer.hilbert.regularizers import NormPower
from mercer.kernels import Exponential, Gaussian, Matern, Polynomial, RationalQuadratic, Spectrum
from mercer.losses import Huber, Linex, Logistic, Poisson, Squared

KERNELS = [Gaussian(0.8), Matern(1.5, 1.0), Exponential(1.0), RationalQuadratic(1.0), Polynomial(3)]
LOSSES = [Squared(), Huber(0.4), Linex(0.7), Logistic(), Poisson()]


def case(loss, seed):
    random = np.random.default_rng(seed)
    X, extra = random.uniform(-1, 1, size=(12, 2)), random.uniform(-1.5, 1.5, size=(6, 2))
    y = np.sin(3 * X[:, 0]) + X[:, 1]
    y = np.where(y > 0, 1.0, -1.0) if isinstance(loss, Logistic) else random.poisson(np.exp(y)) + 0.0 * y
    return X, extra, y if isinstance(loss, (Logistic, Poisson)) else np.sin(3 * X[:, 0])


def fitted(kernel, loss, X, y, **options):
    cls = KernelMachineClassifier if isinstance(loss, Logistic) else KernelMachine
    return cls(kernel, loss=loss, tol=1e-9, **options).fit(X, y)


def over_all_centres(kernel, loss, X, extra, y, cost):
    """Least objective over functions with kernels at the samples and at other points, in orthonormal coordinates."""
    G = kernel(np.vstack([X, extra]))
    values, vectors = np.linalg.eigh(G)
    kept = values > 1e-10 * values.max()
    root = vectors[:, kept] * np.sqrt(values[kept])  # f at all centres = root z, |f| = |z|
    F = root[: len(X)]

    def objective(z):
        return loss.value(y, F @ z).sum() + cost.value(z @ z)

    def gradient(z):
        return F.T @ loss.gradient(y, F @ z) + 2.0 * cost.derivative(z @ z) * z

    start = np.full(F.shape[1], 0.1)
    return minimize(objective, start, jac=gradient, method="BFGS", options={"gtol": 1e-9, "maxiter": 3000}), root


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_other_centres_do_not_lower_the_objective(kernel, loss):
    X, extra, y = case(loss, 0)
    model = fitted(kernel, loss, X, y, alpha=0.5)
    found, root = over_all_centres(kernel, loss, X, extra, y, cost=HalfSquare())
    assert model.objective_ == pytest.approx(found.fun, rel=1e-6)
    assert model.objective_ <= found.fun + 1e-8 * abs(found.fun)
    # the minimiser over more functions is the same function: also at the other centres
    centres = np.vstack([X, extra])
    f = model.decision_function(centres) if isinstance(loss, Logistic) else model.linear_predictor(centres)
    np.testing.assert_allclose(root @ found.x, f, atol=2e-3)


class HalfSquare:
    """0.5 times half the squared length."""

    def value(self, s):
        return 0.25 * s

    def derivative(self, s):
        return 0.25


@pytest.mark.parametrize("exponent", [1.5, 3.0])
def test_nor_do_they_with_other_regularisers(exponent):
    loss = Squared()
    X, extra, y = case(loss, 1)
    cost = NormPower(exponent)
    model = fitted(Gaussian(0.8), loss, X, y, alpha=1.0, regularizer=cost)
    found, _ = over_all_centres(Gaussian(0.8), loss, X, extra, y, cost)
    assert model.objective_ == pytest.approx(found.fun, rel=1e-6)


def test_a_part_orthogonal_to_the_data_changes_no_value_and_costs():
    """Eqs. (51)-(53): the part of a function that the kernels at the samples do not see."""
    X, extra, _ = case(Squared(), 2)
    kernel = Gaussian(0.8)
    G, C = kernel(X), kernel(X, extra)
    random = np.random.default_rng(3)
    for _ in range(20):
        a, c = random.normal(size=12), random.normal(size=6)
        back = -np.linalg.solve(G, C @ c)  # kernels at the extra points less their projection
        values = G @ (a + back) + C @ c
        np.testing.assert_allclose(values, G @ a, atol=1e-8)
        part = c @ kernel(extra) @ c + 2 * back @ C @ c + back @ G @ back
        whole = (a + back) @ G @ (a + back) + 2 * (a + back) @ C @ c + c @ kernel(extra) @ c
        assert part >= -1e-9 and whole == pytest.approx(a @ G @ a + part, rel=1e-6)


def test_weights_of_zero_are_other_centres():
    """Samples that do not count are centres that the theorem says are not needed: their coefficients vanish."""
    words = ["aab", "aba", "bbb", "bba", "abab", "bbbb"]
    y, weight = np.array([2.0, 1.0, -3.0, -1.0, 7.0, 7.0]), np.array([1.0, 1.0, 1.0, 1.0, 0.0, 0.0])
    model = KernelMachine(Spectrum(2), loss="absolute", alpha=0.1).fit(words, y, sample_weight=weight)
    alone = KernelMachine(Spectrum(2), loss="absolute", alpha=0.1).fit(words[:4], y[:4])
    assert not model.dual_coef_[4:].any()
    np.testing.assert_allclose(model.predict(words), alone.predict(words), atol=1e-9)
