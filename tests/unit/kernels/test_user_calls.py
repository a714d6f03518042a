"""Functions of users: what they return, and what they raise."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.domains import Vectors
from mercer.domains.samples import sample_count
from mercer.errors import DomainError, MercerError
from mercer.kernels import (
    Basis,
    Convolution,
    Fisher,
    LaplacianFunction,
    Linear,
    Marginalization,
    RadialFunction,
    RankOne,
    SpectralDensity,
    Substrings,
)
from mercer.kernels.user_calls import numbers_at, real_values, rows_of
from mercer.models import ExponentialFamily
from mercer.models.given import as_model


@pytest.mark.parametrize("values", [[1, 2], [True, False], ["1", "2"], np.array([1.0, 2.0], dtype=object)], ids=str)
def test_numbers_become_float64(values):
    assert real_values(values, Linear()).dtype == np.float64


def test_sparse_values_stay_sparse():
    assert sp.issparse(real_values(sp.csr_array(np.eye(2)), Linear()))


@pytest.mark.parametrize(
    "values",
    [None, [1j], ["a"], [[1.0], [1.0, 2.0]], [10**400], np.ma.masked_array([1.0, 2.0], [True, False])],
    ids=str,
)
def test_what_is_no_number_is_refused(values):
    with pytest.raises(DomainError, match="not an array of real numbers"):
        real_values(values, Linear())


@pytest.mark.parametrize(
    ("data", "count"),
    [
        ([1, 2, 3], 3),
        (np.ones((2, 5)), 2),
        (sp.csr_array(np.ones((4, 1))), 4),
        ({"a": [1, 2], "b": [3, 4]}, 2),
        (iter("ab"), 7),
        (np.array(1.0), 7),
    ],
    ids=["list", "array", "sparse", "columns", "iterator", "number"],
)
def test_count_of_samples(data, count):
    assert sample_count(data, 7) == count


X = np.random.default_rng(0).normal(size=(30, 3))


def test_a_row_for_each_sample():
    assert rows_of(lambda A: A[:, 0], X, Linear()).shape == (30, 1)
    assert rows_of(lambda A: A[:, :2], X, Linear()).shape == (30, 2)
    assert rows_of(lambda A: sp.csr_array(A[:, :1]), X, Linear(), single=True).shape == (30, 1)
    for function in (lambda A: A.T, lambda A: 1.0, lambda A: A[0], lambda A: A[None], lambda A: A[:0]):
        with pytest.raises(DomainError, match="for 30 samples"):
            rows_of(function, X, Linear())
    with pytest.raises(DomainError, match="returned nan for sample 4"):
        rows_of(lambda A: np.where(np.arange(30) == 4, np.nan, 1.0), X, Linear())


def test_a_number_for_each_entry():
    r = np.array([[0.0, 1.0], [np.inf, 2.0]])
    np.testing.assert_array_equal(numbers_at(np.sqrt, r, "k"), np.sqrt(r))  # infinite where the entry is
    with np.errstate(divide="ignore"), pytest.raises(DomainError, match="returned -inf at 0"):
        numbers_at(np.log, r, "k")


def test_rank_one_gives_one_number_per_sample():
    for function, data in ((len, ["ab", "abc"]), (lambda A: A**2, X), (lambda A: A.sum(), X)):
        with pytest.raises(DomainError, match="one number per sample"):
            RankOne(function)(data)
    np.testing.assert_array_equal(RankOne(lambda A: A[:, :1])(X), X[:, :1] @ X[:, :1].T)


WORDS = ["ab", "abc", "b"]
NAMED = {  # how a kernel is made of a function, and data for it
    "RankOne": (RankOne, X),
    "Basis": (Basis, X),
    "Basis of several": (lambda f: Basis((f, lambda A: A[:, 0])), X),
    "Composed": (lambda f: Linear().of(f), X),
    "RadialFunction": (RadialFunction, X),
    "SpectralDensity": (SpectralDensity, X[:, :1]),
    "LaplacianFunction": (lambda f: LaplacianFunction([(0, 1), (1, 2)], f), [0, 1, 2]),
    "Convolution": (lambda f: Convolution(f, (Linear(),)), X),
    "Substrings": (lambda f: Substrings(weights=f), WORDS),
    "Fisher": (lambda f: Fisher(ExponentialFamily(f), kind="practical"), X),
}
BAD = {
    "a number": lambda A: 1.0,
    "nothing": lambda A: None,
    "too few": lambda A: np.ones(max(len(A) - 1, 0) if hasattr(A, "__len__") else 0),
    "transposed": lambda A: np.ones((7, 5, 2)),
    "NaN": lambda A: np.full(np.shape(A)[:1] if np.ndim(A) != 2 else np.shape(A), np.nan),
    "infinite": lambda A: np.full(np.shape(A)[:1] if np.ndim(A) != 2 else np.shape(A), np.inf),
    "complex": lambda A: 1j * np.ones(np.shape(A)),
    "text": lambda A: ["x"] * 3,
    "an error": lambda A: 1 / 0,
}


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("name", NAMED)
def test_every_kernel_looks_at_what_a_function_returns(name, bad):
    make, data = NAMED[name]
    with np.errstate(all="ignore"), pytest.raises(MercerError):
        kernel = make(BAD[bad])
        kernel.learn(kernel.pack(data))(data)


@pytest.mark.parametrize("values", [lambda S: 0.0, lambda S: np.zeros(len(S) + 1), lambda S: np.full(len(S), np.nan)])
def test_likelihoods_are_one_number_per_sample(values):
    class Given:
        def log_likelihood(self, S):
            return values(S)

        def scores(self, S):
            return np.ones((len(S), 2))

    with pytest.raises(DomainError, match="log"):
        Marginalization((Given(),))(WORDS)
    with pytest.raises(DomainError, match="log-likelihoods"):
        as_model(Given()).log_likelihood(Vectors.pack(X))
