"""CCA in the columns against scikit-learn and the generalised eigenproblem; the primal-dual form against its dual."""

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
from sklearn.cross_decomposition import CCA as TheirCCA
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer.errors import ParameterError
from mercer.estimators.geometry.correlation import CCA, LeastSquaresCCA
from mercer.estimators.geometry.kernel_cca import KernelCCA
from mercer.kernels import Gaussian, Linear

rng = np.random.default_rng(0)
n = 50
t = rng.normal(size=(n, 2))
X = np.c_[t, rng.normal(size=(n, 2))] @ rng.normal(size=(4, 4)) + 3.0
Y = np.c_[t + 0.5 * rng.normal(size=(n, 2)), rng.normal(size=(n, 1))] @ rng.normal(size=(3, 3))


@pytest.mark.slow  # the default is looked at in tests/contract
@parametrize_with_checks([LeastSquaresCCA(Linear(), nu=1.0)])
def test_scikit_learn(estimator, check):
    check(estimator)


def covariances(tau=0.0, s=(1.0, 1.0)):
    C = np.cov(np.c_[X, Y].T, bias=True)
    A, B = np.zeros_like(C), np.zeros_like(C)
    A[:4, 4:], A[4:, :4] = C[:4, 4:], C[4:, :4]
    B[:4, :4] = (1 - tau) * C[:4, :4] + tau * s[0] * np.eye(4)
    B[4:, 4:] = (1 - tau) * C[4:, 4:] + tau * s[1] * np.eye(3)
    return A, B


@pytest.mark.parametrize("tau", [0.0, 0.3, 1.0])
def test_generalised_eigenproblem(tau):
    """[STS] Eqs. (43), (48): the eigenvalues in pairs, and each direction solves the equation."""
    model = CCA(3, tau=tau, norm_scale="covariance").fit(X, Y)
    A, B = covariances(tau)
    want = scipy.linalg.eigh(A, B, eigvals_only=True)[::-1]
    assert np.allclose(model.eigenvalues_, np.r_[want[:3], want[-3:]], atol=1e-10)
    for j, rho in enumerate(model.eigenvalues_[:3]):
        w = np.r_[model.x_rotations_[:, j], model.y_rotations_[:, j]]
        assert np.allclose(A @ w, rho * (B @ w), atol=1e-8)
        turned = np.r_[model.x_rotations_[:, j], -model.y_rotations_[:, j]]
        assert np.allclose(A @ turned, -rho * (B @ turned), atol=1e-8)


def test_scikit_learn_has_the_same_correlations():
    model = CCA(3).fit(X, Y)
    a, b = TheirCCA(3, max_iter=5000, tol=1e-12).fit_transform(X, Y)
    want = [np.corrcoef(a[:, j], b[:, j])[0, 1] for j in range(3)]
    assert np.allclose(model.canonical_correlations_, want, atol=1e-5)
    x, y = model.transform(X, Y)
    assert np.allclose(x.T @ x / n, np.eye(3), atol=1e-9)  # uncorrelated, of variance one
    assert np.allclose(x.T @ y / n, np.diag(model.canonical_correlations_), atol=1e-9)


def test_transform_is_the_rotation_and_loadings_rebuild():
    model = CCA(3).fit(X, Y)
    x, y = model.fit_transform(X, Y)
    assert np.allclose(x, (X - X.mean(axis=0)) @ model.x_rotations_)
    centred = Y - Y.mean(axis=0)
    want = np.linalg.lstsq(y, centred, rcond=None)[0].T
    assert np.allclose(model.y_loadings_, want)
    assert np.allclose(y @ model.y_loadings_.T, centred)  # three directions are all there are


def test_units_of_the_columns_do_not_matter():
    one, other = CCA().fit(X, Y), CCA().fit(X * [1e-3, 1.0, 50.0, 1e3], Y)
    assert np.allclose(one.canonical_correlations_, other.canonical_correlations_)
    assert np.allclose(one.scores_[0], other.scores_[0], atol=1e-6)


def test_columns_that_repeat_others_are_no_trouble():
    one, other = CCA().fit(X, Y), CCA().fit(np.c_[X, X[:, :2], np.ones(n)], Y)
    assert np.allclose(one.canonical_correlations_, other.canonical_correlations_)


def test_it_is_the_kernel_form_with_a_linear_kernel():
    one, other = CCA(tau=0.2).fit(X, Y), KernelCCA(Linear(), tau=0.2).fit(X, Y)
    assert np.allclose(one.transform(X), other.transform(X))


def test_weights_and_sparse_tables():
    w = rng.integers(0, 3, size=n)
    one = CCA().fit(X, Y, sample_weight=w)
    other = CCA().fit(np.repeat(X, w, axis=0), np.repeat(Y, w, axis=0))
    assert np.allclose(one.x_rotations_, other.x_rotations_, atol=1e-8)
    assert np.allclose(CCA().fit(sp.csr_array(X), Y).x_rotations_, CCA().fit(X, Y).x_rotations_)


def test_two_views_only():
    with pytest.raises(ParameterError, match="two are accepted"):
        CCA().fit([X, Y, X])


# least squares support vector machines ----------------------------------------------------------------------


def test_dual_system_is_solved():
    """The multipliers solve the eigenproblem of the conditions of optimality, whose spectrum has the same top."""
    kernel, nu = Gaussian(3.0), (2.0, 5.0)
    model = LeastSquaresCCA(kernel, 2, nu=nu).fit(X, Y)
    P, I = np.eye(n) - 1 / n, np.eye(n)
    Kx, Ky = (P @ kernel(one) @ P for one in (X, Y))
    left = np.block([[0 * I, Ky], [Kx, 0 * I]])
    right = scipy.linalg.block_diag(nu[0] * Kx + I, nu[1] * Ky + I)
    values = np.sort(np.real(np.linalg.eigvals(np.linalg.solve(right, left))))[::-1]
    assert np.allclose(model.lambdas_, values[:2], rtol=1e-8)
    for j, value in enumerate(model.lambdas_):
        alpha, beta = (coef[:, j] for coef in model.dual_coefs_)
        beta = beta * np.sqrt(model.tau_[1] / model.tau_[0])  # the constraint gives each view its own length
        both = np.r_[alpha, beta]
        assert np.allclose(left @ both, value * (right @ both), atol=1e-6 * np.abs(both).max())


def test_it_agrees_with_the_kernel_form():
    model = LeastSquaresCCA(Gaussian(3.0), nu=4.0).fit(X, Y)
    other = KernelCCA(Gaussian(3.0), tau=0.2, norm_scale="gram").fit(X, Y)
    assert np.array_equal(model.transform(X), other.transform(X))
    assert np.allclose(model.lambdas_, 0.2 * other.eigenvalues_[:2])


@pytest.mark.parametrize("nu", [0.0, 0.1, 10.0])
def test_least_squares_correlations_are_correlations(nu):
    model = LeastSquaresCCA(Gaussian(3.0), nu=nu).fit(X, Y)
    want = [np.corrcoef(model.scores_[0][:, j], model.scores_[1][:, j])[0, 1] for j in range(2)]
    assert np.allclose(model.canonical_correlations_, want, rtol=1e-9)
    assert np.all(np.abs(model.canonical_correlations_) <= 1.0)


def test_without_variance_it_is_the_norm_constrained_correlation():
    model = LeastSquaresCCA(Gaussian(3.0), 1, nu=0.0).fit(X, Y)
    P = np.eye(n) - 1 / n
    product = P @ Gaussian(3.0)(X) @ P @ Gaussian(3.0)(Y) @ P
    assert model.lambdas_[0] ** 2 == pytest.approx(np.max(np.linalg.eigvals(product).real), rel=1e-9)


def test_costs_are_checked():
    with pytest.raises(ParameterError, match="nu"):
        LeastSquaresCCA(nu=-0.5).fit(X, Y)
