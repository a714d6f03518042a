"""Weighted dot products: matrices, sites of sequences, basis functions."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.domains import Vectors
from mercer.errors import DomainError, ParameterError
from mercer.free_parameters import free_names
from mercer.kernels import Basis, Gaussian, Linear, LocalityImproved, Mahalanobis, Polynomial
from mercer.language import parse
from mercer.testing import check_kernel
from tests.naive import dot as naive

rng = np.random.default_rng(4)
X, Z = rng.normal(size=(9, 6)), rng.normal(size=(7, 6))
SPARSE = sp.csr_array(np.where(np.abs(X) > 0.5, X, 0.0))
ROOT = rng.normal(size=(6, 3))
B = ROOT @ ROOT.T


def test_mahalanobis_agrees_with_the_formula():
    expected = naive.gram(lambda x, z: naive.mahalanobis(x, z, B), X, Z)
    k = Mahalanobis(B)
    np.testing.assert_allclose(k(X, Z), expected, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(k(SPARSE, Z), SPARSE.toarray() @ B @ Z.T, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(k(X, SPARSE), X @ B @ SPARSE.toarray().T, rtol=1e-11, atol=1e-12)
    assert k(X.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(Mahalanobis(np.eye(6))(X), Linear()(X), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("data", [X, SPARSE], ids=["dense", "sparse"])
def test_obey_the_laws(data):
    check_kernel(Mahalanobis(B), data)
    check_kernel(LocalityImproved(1, length_scale=0.8, letters=2, degree=2, offset=0.5), data)
    check_kernel(LocalityImproved(2.5), data)
    check_kernel(Basis(first_two, np.array([[2.0, 1.0], [1.0, 1.0]])), data)
    check_kernel(Basis(first_two), data)


def first_two(data):
    """Two basis functions of dense or sparse rows."""
    return (data.toarray() if sp.issparse(data) else np.asarray(data))[:, :2]


def test_mahalanobis_features_have_the_rank():
    F, _ = Mahalanobis(B).features(Vectors.pack(X))
    assert F.shape == (9, 3)
    assert Mahalanobis(B).feature_count(Vectors.pack(X)) == 3
    np.testing.assert_allclose(F @ F.T, X @ B @ X.T, rtol=1e-11, atol=1e-12)


def test_mahalanobis_reads_tuples():
    k = Mahalanobis(((2.0, 1.0), (1.0, 2.0)))
    assert parse(repr(k)) == k
    assert k([[1.0, 1.0]])[0, 0] == 6.0


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.diag([1.0, -0.5]), "eigenvalue -0.5"),
        (np.array([[1.0, 2.0], [0.0, 1.0]]), "differs from its transpose by 2"),
        (np.ones((2, 3)), r"shape \(2, 3\)"),
        (np.array([1.0]), r"shape \(1,\)"),
        (np.array([[np.nan]]), "finite"),
        ("B", "matrix"),
    ],
)
def test_bad_matrices_are_refused(matrix, message):
    with pytest.raises(ParameterError, match=message):
        Mahalanobis(matrix).check()
    if np.ndim(matrix) == 2:
        with pytest.raises(ParameterError, match=r"Basis was given a? ?covariance"):
            Basis(first_two, matrix).check()


def test_semidefinite_matrices_are_not_refused():
    for matrix in (np.zeros((2, 2)), np.ones((2, 2)), 1e-200 * np.eye(2), 1e200 * np.ones((3, 3))):
        Mahalanobis(matrix).check()
    assert Mahalanobis(np.zeros((2, 2))).features(Vectors.pack([[1.0, 2.0]]))[0].shape == (1, 0)


def test_width_must_fit():
    with pytest.raises(DomainError, match=r"X has 6 columns.*matrix of 2 rows"):
        Mahalanobis(np.eye(2))(X)
    with pytest.raises(DomainError, match="multiple of letters"):
        LocalityImproved(1, letters=4)(X)


def test_locality_improved_agrees_with_the_formula():
    k = LocalityImproved(1, length_scale=0.8, letters=2, degree=3, offset=0.5)
    assert parse(repr(k)) == k
    expected = naive.gram(lambda x, z: naive.locality_improved(x, z, 1, 0.8, 2, 3, 0.5), X, Z)
    np.testing.assert_allclose(k(X, Z), expected, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(k(X.astype(np.float32), Z.astype(np.float32)), expected, rtol=1e-3, atol=1e-3)
    assert free_names(k) == ("length_scale", "offset")


def test_locality_improved_compares_two_sequences():
    """[HSS] prints x' Omega x, which would not depend on the second argument."""
    k = LocalityImproved(1)
    assert k([[1.0, 1.0, 1.0]], [[0.0, 1.0, 0.0]])[0, 0] == 1.0
    assert k([[1.0, 1.0, 1.0]], [[0.0, 0.0, 0.0]])[0, 0] == 0.0


def test_locality_improved_is_largest_at_the_site():
    w = LocalityImproved(3, length_scale=2.0).weights(8)
    assert np.argmax(w) == 3
    assert w[3] == 1.0
    assert w[5] == pytest.approx(np.exp(-0.5))
    assert LocalityImproved(0, length_scale=1e-300).weights(3).tolist() == [1.0, 0.0, 0.0]


def test_locality_improved_limits():
    wide = LocalityImproved(0, length_scale=1e9, degree=2, offset=1.0)
    np.testing.assert_allclose(wide(X), Polynomial(2)(X), rtol=1e-12)
    w = LocalityImproved(2, length_scale=1.5).weights(6)
    h = LocalityImproved(2, length_scale=1.5).distance(X)
    np.testing.assert_allclose(np.exp(-0.5 * h**2), Gaussian(1 / np.sqrt(w))(X), rtol=1e-7)


def test_basis_is_the_covariance_of_a_linear_model():
    """[SS] Eq. (87): phi(x)' Sigma phi(z); a tuple of functions is a map too."""
    functions = (lambda x: np.ones(len(x)), lambda x: np.asarray(x)[:, 0], lambda x: np.asarray(x)[:, 0] ** 2)
    Phi = np.column_stack([f(X) for f in functions])
    S = ROOT[:3] @ ROOT[:3].T
    np.testing.assert_allclose(Basis(functions, S)(X), Phi @ S @ Phi.T, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(Basis(functions, (1.0, 2.0, 3.0))(X), Phi @ np.diag([1, 2, 3]) @ Phi.T, rtol=1e-12)
    np.testing.assert_allclose(Basis(functions)(X, Z[:2]).shape, (9, 2))


def test_basis_reads_any_domain():
    k = Basis(lambda words: np.array([[len(word), word.count("a")] for word in words], float))
    np.testing.assert_array_equal(k(["abc", "aa"]), [[10.0, 8.0], [8.0, 8.0]])


def test_basis_stands_beside_other_kernels():
    k = Basis(first_two) + Linear()
    np.testing.assert_allclose(k(X), X[:, :2] @ X[:, :2].T + X @ X.T, rtol=1e-12, atol=1e-13)


def test_basis_refuses_what_does_not_fit():
    with pytest.raises(ParameterError, match="functions"):
        Basis(3)(X)
    with pytest.raises(ParameterError, match="functions"):
        Basis(())(X)
    with pytest.raises(DomainError, match="3 columns, as the covariance has"):
        Basis(first_two, np.eye(3))(X)
    with pytest.raises(DomainError, match="row of numbers per sample"):
        Basis(lambda data: np.ones((2, 2)))(X)
