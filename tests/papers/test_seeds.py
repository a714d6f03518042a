"""Numbers that the five seed texts print, and formulas where their print is wrong and mercer follows the right form.

[STS] Shawe-Taylor and Sun; [KIKS] Kashima et al.; [SS] Signoretto and Suykens; [ST] the slides; [HSS] Hofmann et al.
"""

import numpy as np
import pytest

from mercer import KernelMeanClassifier, KernelRidge, ParzenDensity
from mercer.domains import Vectors
from mercer.gram import Centered, Dense
from mercer.kernels import Gaussian, Linear, Polynomial, Spectrum

rng = np.random.default_rng(0)
X = rng.normal(size=(12, 3))
Y = rng.normal(size=12)


def test_spectrum_of_statistics_and_computation():
    """[ST] "String kernels": k_3("statistics", "computation") = 2, from "tat" and "ati"."""
    assert Spectrum(3)(["statistics"], ["computation"])[0, 0] == 2.0
    grams = [{word[i : i + 3] for i in range(len(word) - 2)} for word in ("statistics", "computation")]
    assert grams[0] & grams[1] == {"tat", "ati"}


def test_the_quadratic_kernel_is_an_inner_product_of_outer_products():
    """[STS] Eq. (16): <x, z>^2 = <vec(x x'), vec(z z')>."""
    outer = np.einsum("ni,nj->nij", X, X).reshape(12, 9)
    assert np.allclose(Polynomial(2, offset=0.0)(X), outer @ outer.T, rtol=1e-12)


@pytest.mark.parametrize("length", [0.5, 1.0, 3.0])
def test_the_two_conventions_of_the_width(length):
    """[STS] (18), [HSS] (30): exp(-d^2 / (2 s^2)); [KIKS] Sec. 2, [SS] Sec. 3.3: exp(-d^2 / s^2), s = sqrt(2) l."""
    s = np.sqrt(2.0) * length
    d2 = ((X[:, None] - X) ** 2).sum(-1)
    assert np.allclose(Gaussian(length)(X), np.exp(-d2 / s**2), rtol=1e-12)
    assert np.allclose(Gaussian.from_gamma(1 / s**2)(X), np.exp(-d2 / s**2), rtol=1e-12)


def test_primal_ridge_with_samples_as_rows():
    """[KIKS] Eq. (4) prints (X'X + l I)^-1 X'y for samples as columns; with columns it must be (X X' + l I)^-1 X y."""
    columns = X.T
    w = np.linalg.solve(columns @ columns.T + 0.4 * np.eye(3), columns @ Y)
    assert np.allclose(KernelRidge(Linear(), alpha=0.4).fit(X, Y).coef_, w)


def test_dual_ridge():
    """[STS] Eqs. (7)-(8), [KIKS] Eq. (7)."""
    K = Gaussian(1.0)(X)
    a = np.linalg.solve(K + 0.4 * np.eye(12), Y)
    model = KernelRidge(Gaussian(1.0), alpha=0.4).fit(X, Y)
    assert np.allclose(model.dual_coef_, a)
    assert np.allclose(model.predict(X), K @ a)


def test_leave_one_out_of_kernel_ridge():
    """[KIKS] Sec. 4.1.1: the leave-one-out error is |H^-1 (y - K a)|^2 with H the diagonal of I - K (K + l I)^-1."""
    K = Gaussian(1.0)(X)
    a = np.linalg.solve(K + 0.4 * np.eye(12), Y)
    H = np.diag(np.eye(12) - K @ np.linalg.inv(K + 0.4 * np.eye(12)))
    model = KernelRidge(Gaussian(1.0), alpha=0.4, leave_one_out=True).fit(X, Y)
    assert np.isclose(np.sum((Y - model.loo_predictions_) ** 2), np.sum(((Y - K @ a) / H) ** 2))


def test_centring_has_a_minus_sign():
    """[SS] Eq. (65) prints a plus before the row mean; [STS] (36) and [SS] (66) have the right sign."""
    centred = Centered(Dense().build(Linear(), Vectors.pack(X))).to_dense()
    mean = X.mean(axis=0)
    assert np.allclose(centred, (X - mean) @ (X - mean).T)


def test_projection_has_one_over_n():
    """[HSS] Sec. 3.3.1 prints P_ij = delta - n^-2; it is delta - 1/n: constants are annihilated."""
    centred = Centered(Dense().build(Gaussian(1.0), Vectors.pack(X))).to_dense()
    assert np.allclose(centred @ np.ones(12), 0.0, atol=1e-12)


def test_simple_classifier_and_its_threshold():
    """[HSS] Eqs. (4)-(6): f(x) = mean k(x, x+) - mean k(x, x-) + b, b = (|mu-|^2 - |mu+|^2) / 2."""
    labels = np.where(X[:, 0] > 0, 1, -1)
    k = Gaussian(1.0)
    plus, minus = X[labels == 1], X[labels == -1]
    b = 0.5 * (k(minus).mean() - k(plus).mean())
    new = rng.normal(size=(20, 3))
    f = k(new, plus).mean(axis=1) - k(new, minus).mean(axis=1) + b
    model = KernelMeanClassifier(k).fit(X, labels)
    assert np.allclose(model.decision_function(new), f)
    assert np.array_equal(model.predict(new), np.where(f > 0, 1, -1))


def test_parzen_windows_integrate_to_one():
    """[HSS] Eq. (7): a normalised kernel gives a density."""
    line = np.linspace(-30, 30, 20001)[:, None]
    for kernel in (Gaussian(0.7), None):
        density = np.exp(ParzenDensity(kernel).fit(X[:, :1]).score_samples(line))
        assert np.isclose(np.trapezoid(density, line[:, 0]), 1.0, atol=1e-6)
