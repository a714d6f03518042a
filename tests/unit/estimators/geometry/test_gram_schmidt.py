"""Gram-Schmidt in feature space against its definition in coordinates and against Cholesky."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer.errors import CapabilityError, DegenerateWarning, ParameterError
from mercer.estimators.geometry.gram_schmidt import KernelGramSchmidt, row_of
from mercer.gram import Dense, Features, Nystrom, Tiles
from mercer.kernels import Gaussian, Linear, NegativeDistance, Polynomial, Spectrum

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 4)) * [3.0, 2.0, 1.0, 0.5]
T = rng.normal(size=(7, 4))


def naive(points, count):
    """The basis by the definition, on plain vectors."""
    left, chosen, basis = points.copy(), [], []
    for _ in range(count):
        i = int(np.argmax(np.sum(left**2, axis=1)))
        q = left[i] / np.linalg.norm(left[i])
        chosen.append(i)
        basis.append(q)
        left = left - np.outer(left @ q, q)
    return chosen, np.array(basis)


@pytest.mark.parametrize("gram", [Dense(), Tiles(), Features(), Nystrom(40)])
def test_it_is_gram_schmidt(gram):
    chosen, Q = naive(X, 4)
    model = KernelGramSchmidt(Linear(), gram=gram).fit(X)
    assert list(model.support_) == chosen
    np.testing.assert_allclose(model.transform(T), T @ Q.T, atol=1e-8)
    assert len(model.expansion_.samples) == 4
    for r in range(5):
        left = X - X @ Q[:r].T @ Q[:r]
        assert model.reconstruction_errors_[r] == pytest.approx(np.mean(np.sum(left**2, axis=1)), abs=1e-9)


def test_coordinates_give_the_kernel_back():
    for kernel in (Gaussian(2.0), Polynomial(2)):
        model = KernelGramSchmidt(kernel, tol=1e-12).fit(X)
        Z = model.transform(X)
        np.testing.assert_allclose(Z @ Z.T, kernel(X), atol=1e-5 * kernel(X).max())
        part = KernelGramSchmidt(kernel, 6).fit(X)
        np.testing.assert_allclose(
            part.transform(T), KernelGramSchmidt(kernel, 9).fit(X).transform(T)[:, :6], atol=1e-9
        )
        Z = part.transform(X[part.support_])
        np.testing.assert_allclose(Z, np.tril(Z), atol=1e-8)
        np.testing.assert_allclose(Z @ Z.T, kernel(X[part.support_]), atol=1e-8 * kernel(X).max())


def test_strings_and_names():
    words = ["abab", "aabb", "bbab", "ccab"]
    model = KernelGramSchmidt(Spectrum(2), 3).fit(words)
    assert model.transform(words).shape == (4, 3)
    assert model.get_feature_names_out()[0] == "kernelgramschmidt0"


def test_what_is_refused():
    for params in ({"n_components": 0}, {"tol": -1.0}, {"tol": 1.0}):
        with pytest.raises(ParameterError):
            KernelGramSchmidt(**params).fit(X)
    with pytest.raises(CapabilityError, match="order 1"):
        KernelGramSchmidt(NegativeDistance()).fit(X)
    with pytest.warns(DegenerateWarning):
        model = KernelGramSchmidt(Linear()).fit(np.zeros((3, 2)))
    assert model.transform(T[:, :2]).shape == (7, 0)
    with pytest.raises(CapabilityError, match="no rows"):
        row_of(object(), "KernelGramSchmidt")
    assert KernelGramSchmidt(n_components=5).memory_plan(1000, 2).total > 8 * 1000**2


@pytest.mark.slow  # the default is looked at in tests/contract
@parametrize_with_checks([KernelGramSchmidt(n_components=3, gram=Tiles())])
def test_scikit_learn(estimator, check):
    check(estimator)
