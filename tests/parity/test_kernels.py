"""Kernels against those of scikit-learn."""

import numpy as np
import pytest
from sklearn.gaussian_process import kernels as gp
from sklearn.metrics import pairwise

from mercer.domains import Vectors
from mercer.free_parameters import free_values
from mercer.kernels import (
    AdditiveChiSquared,
    ChiSquared,
    Constant,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
)

pytestmark = pytest.mark.parity

X = np.random.default_rng(0).normal(size=(40, 3))
Z = np.random.default_rng(1).normal(size=(25, 3))
H, J = np.abs(X), np.abs(Z)
SCALES = (0.5, 1.0, 3.0)

PAIRWISE = {
    "rbf": (Gaussian.from_gamma(0.7), lambda A, B: pairwise.rbf_kernel(A, B, gamma=0.7)),
    "laplacian": (Laplacian(1 / 0.7), lambda A, B: pairwise.laplacian_kernel(A, B, gamma=0.7)),
    "linear": (Linear(), pairwise.linear_kernel),
    "cosine": (Linear().normalized(), pairwise.cosine_similarity),
    "polynomial": (
        Polynomial(3, offset=1.5, scale=0.3),
        lambda A, B: pairwise.polynomial_kernel(A, B, degree=3, gamma=0.3, coef0=1.5),
    ),
    "sigmoid": (Sigmoid(0.3, offset=0.2), lambda A, B: pairwise.sigmoid_kernel(A, B, gamma=0.3, coef0=0.2)),
}
PROCESSES = {
    "RBF": (Gaussian(0.8), gp.RBF(0.8)),
    "RBF per column": (Gaussian(SCALES), gp.RBF(SCALES)),
    "RationalQuadratic": (RationalQuadratic(0.6, length_scale=1.4), gp.RationalQuadratic(1.4, alpha=0.6)),
    "ExpSineSquared": (
        Periodic(1.3, length_scale=2 * 0.9 / 2),
        gp.ExpSineSquared(length_scale=0.9, periodicity=1.3),
    ),
    "sum": (0.5 * Gaussian(0.8) + Constant(2.0), 0.5 * gp.RBF(0.8) + gp.ConstantKernel(2.0)),
    "product": (Gaussian(0.8) * Matern(1.5), gp.RBF(0.8) * gp.Matern(nu=1.5)),
    "power": (RationalQuadratic(1.0) ** 2, gp.Exponentiation(gp.RationalQuadratic(), 2)),
    **{
        f"Matern {nu} {length}": (Matern(nu, length_scale=length), gp.Matern(length_scale=length, nu=nu))
        for nu in (0.3, 0.5, 1.0, 1.5, 2.2, 2.5, 3.5, 7.0)
        for length in (1.3, SCALES)
    },
}


@pytest.mark.parametrize("name", PAIRWISE)
def test_pairwise_kernels(name):
    ours, theirs = PAIRWISE[name]
    np.testing.assert_allclose(ours(X, Z), theirs(X, Z), rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(ours(X), theirs(X, X), rtol=1e-10, atol=1e-13)


def test_chi_squared_kernels():
    np.testing.assert_allclose(ChiSquared(0.7)(H, J), pairwise.chi2_kernel(H, J, gamma=0.7), rtol=1e-12)
    # scikit-learn's additive kernel is the negative distance that belongs to ours
    theirs = pairwise.additive_chi2_kernel(H, J)
    ours = 2 * AdditiveChiSquared()(H, J) - H.sum(axis=1)[:, None] - J.sum(axis=1)
    np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", PROCESSES)
def test_gaussian_process_kernels(name):
    ours, theirs = PROCESSES[name]
    A, B = (X[:, :1], Z[:, :1]) if name == "ExpSineSquared" else (X, Z)
    np.testing.assert_allclose(ours(A, B), theirs(A, B), rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(ours(A), theirs(A), rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("name", [name for name in PROCESSES if " 0.3 " not in name and name != "ExpSineSquared"])
def test_gradients_of_gaussian_process_kernels(name):
    # theirs are in the logarithm of each parameter, sorted by name, which for these is the order of ours
    ours, theirs = PROCESSES[name]
    _, gradient = theirs(X, eval_gradient=True)
    S, W = Vectors.pack(X), np.random.default_rng(2).normal(size=(40, 40))
    got = ours.pullback(S, S, W) * free_values(ours)
    expected = np.einsum("ij,ijp->p", W, gradient)
    np.testing.assert_allclose(got, expected, rtol=2e-4, atol=1e-4)
