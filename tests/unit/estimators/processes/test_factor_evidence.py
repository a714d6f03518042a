"""Evidence of latent factor models."""

import numpy as np
import pytest

from mercer.domains import Vectors
from mercer.estimators.processes.factor_evidence import FactorData, ManyFactors, OneFactor, factor_posterior
from mercer.kernels import Gaussian, Matern

rng = np.random.default_rng(0)
N = 9
X = rng.normal(size=(N, 1))
W = rng.integers(1, 3, N).astype(float)
Y = rng.normal(size=(N, 3))
HOLES = Y.copy()
HOLES[2, 1] = HOLES[4, 0] = HOLES[4, 2] = np.nan
KERNELS = [Gaussian(0.5), Gaussian(1.0), Matern(1.5)]
A = rng.normal(size=(3, 3))
NOISE = np.array([0.1, 0.2, 0.3])
CASES = [(1, Y, OneFactor), (1, HOLES, ManyFactors), (2, Y, ManyFactors), (3, HOLES, ManyFactors)]


@pytest.mark.parametrize(("factors", "y", "kind"), CASES)
def test_the_value_is_that_of_the_sum_of_kronecker_products_on_copies(factors, y, kind):
    found = factor_posterior(FactorData(Vectors.pack(X), y, W), KERNELS[:factors], A[:, :factors], NOISE)
    copies = np.repeat(np.arange(N), W.astype(int))
    terms = [np.kron(np.outer(A[:, q], A[:, q]), KERNELS[q](X[copies])) for q in range(factors)]
    C = sum(terms) + np.kron(np.diag(NOISE), np.eye(len(copies)))
    v = y[copies].T.ravel()
    seen = ~np.isnan(v)
    C, v = C[np.ix_(seen, seen)], v[seen]
    assert isinstance(found, kind)
    assert np.isclose(found.value, -0.5 * (np.linalg.slogdet(2 * np.pi * C)[1] + v @ np.linalg.solve(C, v)))


@pytest.mark.parametrize(("factors", "y", "kind"), CASES)
def test_gradients_are_finite_differences(factors, y, kind):
    data, e = FactorData(Vectors.pack(X), y, W), 1e-6
    kernels, mixing = KERNELS[:factors], A[:, :factors]
    weights, by_mixing, by_noise = factor_posterior(data, kernels, mixing, NOISE).slope()

    def slope(step_length, step_mixing, step_noise):
        first = [Gaussian(0.5 + s * step_length) for s in (e, -e)]
        ends = [
            factor_posterior(data, [k, *kernels[1:]], mixing + s * step_mixing, NOISE + s * step_noise).value
            for k, s in zip(first, (e, -e), strict=True)
        ]
        return (ends[0] - ends[1]) / (2 * e)

    S = data.samples
    assert np.isclose(kernels[0].pullback(S, S, weights[0])[0], slope(1.0, 0.0, 0.0), rtol=1e-6, atol=1e-6)
    for place in np.ndindex(*mixing.shape):
        unit = np.zeros_like(mixing)
        unit[place] = 1.0
        assert np.isclose(by_mixing[place], slope(0.0, unit, 0.0), rtol=1e-6, atol=1e-5)
    for j, unit in enumerate(np.eye(3)):
        assert np.isclose(by_noise[j], slope(0.0, 0.0, unit), rtol=1e-6, atol=1e-5)


def test_a_mixing_of_zeros_is_noise_alone():
    found = factor_posterior(FactorData(Vectors.pack(X), Y, np.ones(N)), KERNELS[:1], np.zeros((3, 1)), NOISE)
    assert np.isclose(found.value, -0.5 * np.sum(Y**2 / NOISE + np.log(2 * np.pi * NOISE)))
    assert np.all(found.coef == 0.0)
