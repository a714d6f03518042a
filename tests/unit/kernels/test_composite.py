"""Nodes of the algebra: packing for all terms, learning, parameters by name."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from mercer.domains import Frames, Strings, Vectors
from mercer.errors import DomainError, ParameterError
from mercer.kernels import Constant, Gaussian, Laplacian, Linear, Product, Spectrum, Sum
from mercer.kernels.composite import row_products

X = np.random.default_rng(0).normal(size=(6, 3))
TABLE = {"gene": ["ab", "ba", "aab"], "age": [1.0, 2.0, 4.0], "dose": [0.5, 0.0, 1.0]}


def test_terms_on_the_same_data_are_packed_once():
    assert isinstance((Gaussian(1.0) + Linear()).pack(X), Vectors)
    assert (Gaussian(1.0) + Linear()).domain is Vectors
    assert isinstance((Spectrum(1) + 1.0).pack(["a"]), Strings)
    assert (Spectrum(1) * 2.0 + 1.0).domain is Strings
    assert (Constant(1.0) + 2.0).domain is Vectors
    assert (Constant(1.0) + 2.0)(X)[0, 0] == 3.0


def test_terms_on_columns_give_frames():
    kernel = Gaussian(1.0).on("age") + Spectrum(1).on("gene")
    assert kernel.domain is Frames
    S = kernel.pack(TABLE)
    assert set(S.parts) == {"age", "gene"}
    assert kernel.pack(S) is S


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame], ids=["dict", "pandas", "polars"])
def test_tables_of_any_kind(make):
    kernel = Spectrum(1).on("gene") * Gaussian(2.0).on(["age", "dose"]) + Linear().on("age")
    table = make(TABLE)
    numbers = np.column_stack([TABLE["age"], TABLE["dose"]])
    expected = Spectrum(1)(TABLE["gene"]) * Gaussian(2.0)(numbers) + np.outer(TABLE["age"], TABLE["age"])
    np.testing.assert_allclose(kernel(table), expected, rtol=1e-13)
    np.testing.assert_allclose(kernel(table, make({k: v[:1] for k, v in TABLE.items()})), expected[:, :1])


def test_whole_and_columns_together():
    kernel = Gaussian(1.0).on([0]) + Linear()
    np.testing.assert_allclose(kernel(X), Gaussian(1.0)(X[:, :1]) + X @ X.T, rtol=1e-13)
    np.testing.assert_allclose((kernel * 2.0 + kernel)(X), 3.0 * kernel(X), rtol=1e-13)


def test_terms_of_two_domains_must_name_columns():
    with pytest.raises(DomainError, match=r"Strings and Vectors.*\.on\(columns\)"):
        (Gaussian(1.0) + Spectrum(1))(X)


def test_one_column_is_read_in_one_way():
    with pytest.raises(DomainError, match="in columns 'age'"):
        (Gaussian(1.0).on("age") + Spectrum(1).on("age"))(TABLE)
    with pytest.raises(DomainError, match="Pairs of"):
        (Gaussian(1.0).tensor(Linear()) + Spectrum(1).tensor(Linear()))([([1.0], [2.0])])


def test_a_missing_column_is_named():
    with pytest.raises(DomainError, match="agee"):
        (Gaussian(1.0).on("agee") + Linear().on("age"))(TABLE)


def test_terms_must_be_kernels():
    with pytest.raises(ParameterError, match="terms must be a tuple of kernels"):
        Sum((Gaussian(1.0), "a")).check()
    for terms in ((), None, "ab"):
        with pytest.raises(ParameterError):
            Product(terms).check()


def test_learning_goes_to_the_terms():
    kernel = 2.0 * Gaussian("median") + Laplacian("median").on([0]) * Linear().normalized()
    S = kernel.pack(X)
    learned = kernel.learn(S)
    assert isinstance(learned.terms[0].kernel.length_scale, float)
    assert isinstance(learned.terms[1].terms[0].kernel.length_scale, float)
    assert learned.terms[1].terms[1] is kernel.terms[1].terms[1]
    assert learned.learn(S) == learned
    assert kernel.terms[0].kernel.length_scale == "median"
    np.testing.assert_allclose(learned(S), learned(X))


def test_parameters_by_name_as_a_grid_search_sets_them():
    kernel = 0.5 * Gaussian(1.0) + Linear() * Laplacian(2.0)
    shared = kernel.terms[0]
    kernel.set_params(**{"0__scale": 2.0, "0__kernel__length_scale": 3.0, "1__1__length_scale": 4.0})
    assert kernel == 2.0 * Gaussian(3.0) + Linear() * Laplacian(4.0)
    assert shared == 0.5 * Gaussian(1.0)  # a kernel held elsewhere does not change
    kernel.set_params(**{"0": Linear()})
    assert kernel == Linear() + Linear() * Laplacian(4.0)
    with pytest.raises(ParameterError, match="7"):
        kernel.set_params(**{"7__scale": 1.0})


def test_capabilities_are_those_of_all_terms():
    assert "features" in (Linear() + 1.0).capabilities
    assert "features" not in (Linear() + Gaussian(1.0)).capabilities
    assert "pullback_inputs" in (Linear() * Gaussian(1.0)).capabilities
    assert "pullback_inputs" not in (Linear().on([0]) * Gaussian(1.0)).capabilities


def test_row_products_dense_and_sparse():
    A, B = np.arange(6.0).reshape(2, 3), np.array([[1.0, 2.0], [0.0, 3.0]])
    expected = [np.kron(a, b) for a, b in zip(A, B, strict=True)]
    np.testing.assert_allclose(row_products(A, B), expected)
    np.testing.assert_allclose(row_products(sp.csr_array(A), B).toarray(), expected)
    assert row_products(sp.csr_array((0, 3)), sp.csr_array((0, 2))).shape == (0, 6)
