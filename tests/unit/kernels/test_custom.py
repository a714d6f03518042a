"""Functions of users as kernels: what they return is checked."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.domains import Objects, Vectors
from mercer.errors import DomainError, ParameterError
from mercer.gram import Dense
from mercer.kernels import Custom, Gaussian, Linear
from mercer.testing import check_kernel

X = np.random.default_rng(0).normal(size=(150, 3))


def dot(A, B):
    return A @ B.T


def dot_of_two(a, b):
    return float(a @ b)


@pytest.mark.parametrize("function", [dot, dot_of_two])
@pytest.mark.parametrize("pairs", [None, True, False])
def test_the_numbers_are_those_of_the_function(function, pairs):
    if pairs is not None and pairs is not (function is dot_of_two):
        return
    k = Custom(function, pairs)
    np.testing.assert_allclose(k(X), X @ X.T, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(k(X[:7], X), X[:7] @ X.T, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(k.diag(X), (X * X).sum(axis=1), rtol=1e-12)
    assert k.learn(X).pairs is (function is dot_of_two)


def test_it_is_a_kernel():
    check_kernel(Custom(dot, False), X[:15])


def test_it_adds_and_multiplies_like_others():
    np.testing.assert_allclose(
        (Custom(dot) * Gaussian(2.0) + Linear())(X[:20]),
        (Linear() * Gaussian(2.0) + Linear())(X[:20]),
        rtol=1e-12,
        atol=1e-12,
    )


def test_the_data_are_given_as_they_are():
    seen = []

    def size(A, B):
        seen.append(type(A))
        return np.array([[float(len(a & b)) for b in B] for a in A])

    sets = [{1, 2}, {2}, {3, 4}]
    assert isinstance(Custom(size).pack(sets), Objects)
    np.testing.assert_array_equal(Custom(size)(sets), [[2, 1, 0], [1, 1, 0], [0, 0, 2]])
    assert set(seen) == {list}
    assert isinstance(Custom(dot).pack(X.tolist()), Vectors)
    sparse = sp.random_array((9, 4), density=0.5, random_state=1, format="csr")
    np.testing.assert_allclose(Custom(dot)(sparse), (sparse @ sparse.T).toarray())


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda A, B: (A @ B.T)[:-1], "shape"),
        (lambda A, B: np.full((len(A), len(B)), np.nan), "nan.*finite"),
        (lambda A, B: [["a"] * len(B)] * len(A), "not an array of real numbers"),
        (lambda A, B: (A @ B.T).astype(complex), "not an array of real numbers"),
        (lambda A, B: A[:, :1] - B[:, 0], "symmetric"),
        (lambda a, b: float(a[0] - b[1]), "symmetric"),
        (lambda A, B: A @ B.T / len(A), "depend on the others"),
        (lambda A, B: 1 / 0, "ZeroDivisionError"),
    ],
)
def test_what_no_kernel_returns_is_refused(function, message):
    with pytest.raises(DomainError, match=message):
        Custom(function).learn(X)


def test_values_are_looked_at_wherever_they_are_computed():
    def wrong_far_away(A, B):
        return np.where(np.abs(A[:, :1] - B[:, 0]) > 2.0, np.inf, 1.0)

    near = X[np.abs(X[:, 0]) < 0.9]
    kernel = Custom(wrong_far_away).learn(near)
    with pytest.raises(DomainError, match="finite"):
        Dense().build(kernel, kernel.pack(X))


def test_a_function_is_needed():
    with pytest.raises(ParameterError, match="function"):
        Custom(3.0).check()
