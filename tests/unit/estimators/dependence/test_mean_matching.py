"""Mean matching against a general solver of quadratic programs and a shift that is known."""

import numpy as np
import pytest
from scipy.optimize import minimize

from mercer import KernelRidge
from mercer.errors import CapabilityError, DomainError, ParameterError
from mercer.estimators.dependence.mean_matching import mean_matching
from mercer.gram import Dense, Tiles
from mercer.inference.dependence_measures import mmd
from mercer.kernels import Gaussian, NegativeDistance, Spectrum
from mercer.solvers import SMO

rng = np.random.default_rng(0)
X, Z = rng.normal(size=(25, 2)), rng.normal(size=(40, 2)) * 0.6 + 0.5


def by_scipy(K, kappa, upper, epsilon):
    n = len(K)
    total = [
        {"type": "ineq", "fun": lambda b: n * (1 + epsilon) - b.sum(), "jac": lambda b: -np.ones(n)},
        {"type": "ineq", "fun": lambda b: b.sum() - n * (1 - epsilon), "jac": lambda b: np.ones(n)},
    ]
    return minimize(
        lambda b: (0.5 * b @ K @ b - kappa @ b) / n,
        np.ones(n),
        jac=lambda b: (K @ b - kappa) / n,
        bounds=[(0.0, upper)] * n,
        constraints=total,
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-13},
    ).x


@pytest.mark.parametrize("upper", [1000.0, 2.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.02, 0.9])
def test_the_weights_are_those_of_a_general_solver(upper, epsilon):
    kernel = Gaussian(0.5)
    K, kappa = kernel(X), 25 * kernel(X, Z).mean(axis=1)
    expected = by_scipy(K, kappa, upper, epsilon)
    found = mean_matching(X, Z, kernel, upper=upper, epsilon=epsilon, solver=SMO(tol=1e-8))

    def value(b):
        return 0.5 * b @ K @ b - kappa @ b

    assert value(found.weights) <= value(expected) + 1e-7 * abs(value(expected))
    np.testing.assert_allclose(found.weights, expected, atol=2e-3)
    assert found.weights.min() >= 0.0 and found.weights.max() <= upper
    assert abs(found.weights.sum() - 25) <= 25 * epsilon + 1e-6


def test_distances_are_discrepancies():
    found = mean_matching(X, Z, Gaussian(0.5))
    assert found.before**2 == pytest.approx(mmd(X, Z, Gaussian(0.5), estimator="biased"), rel=1e-9)
    b = found.weights / found.weights.sum()
    k = Gaussian(0.5)
    square = b @ k(X) @ b - 2 * b @ k(X, Z).mean(axis=1) + k(Z).mean()
    assert found.after**2 == pytest.approx(square, rel=1e-6) and found.after < found.before
    assert found.effective_size == pytest.approx(found.weights.sum() ** 2 / np.sum(found.weights**2))


def test_equal_samples_need_no_weights():
    found = mean_matching(X, X, Gaussian(0.5))
    np.testing.assert_allclose(found.weights, 1.0, atol=1e-3)
    assert found.after == pytest.approx(0.0, abs=1e-4)


def test_weights_are_repetitions():
    w, v = rng.integers(0, 3, size=25), rng.integers(0, 3, size=40)
    a = mean_matching(X, Z, Gaussian(0.5), upper=3.0, weights=(w, v), solver=SMO(tol=1e-9))
    b = mean_matching(np.repeat(X, w, axis=0), np.repeat(Z, v, axis=0), Gaussian(0.5), upper=3.0, solver=SMO(tol=1e-9))
    totals = np.bincount(np.repeat(np.arange(25), w), weights=b.weights, minlength=25)
    np.testing.assert_allclose(w * a.weights, totals, atol=1e-4)
    assert a.after == pytest.approx(b.after, rel=1e-5) and np.all(a.weights[w == 0] == 0.0)


def test_any_gram_and_other_domains():
    np.testing.assert_allclose(
        mean_matching(X, Z, Gaussian(0.5), gram=Tiles()).weights,
        mean_matching(X, Z, Gaussian(0.5), gram=Dense()).weights,
        atol=1e-4,
    )
    texts = mean_matching(["aab", "bba", "bbb"], ["aab", "aab", "bbb"], Spectrum(1))
    assert texts.weights[0] > 1.0 and texts.after < texts.before
    energy = mean_matching(X, Z, NegativeDistance())
    assert energy.after < energy.before and energy.weights.sum() == pytest.approx(25.0)


def test_covariate_shift_is_taken_back():
    x, z = rng.normal(0.5, 0.5, size=(200, 1)), rng.normal(0.0, 0.3, size=(200, 1))
    y = (-x + x**3)[:, 0] + 0.3 * rng.normal(size=200)
    truth = (-z + z**3)[:, 0]
    weights = mean_matching(x, z, upper=50.0).weights
    line = np.polyfit(x[:, 0], y, 1)  # a model that cannot follow the curve, so that it matters where it is fitted
    matched = np.polyfit(x[:, 0], y, 1, w=np.sqrt(weights))
    errors = [np.mean((np.polyval(p, z[:, 0]) - truth) ** 2) for p in (line, matched)]
    assert errors[1] < 0.3 * errors[0]
    KernelRidge().fit(x, y, sample_weight=weights)


def test_what_cannot_be_done_is_told():
    with pytest.raises(ParameterError, match="upper"):
        mean_matching(X, Z, upper=0.5)
    with pytest.raises(CapabilityError, match="epsilon=0"):
        mean_matching(X, Z, NegativeDistance(), epsilon=0.1)
    with pytest.raises(DomainError):
        mean_matching(X, np.ones((3, 4)))
