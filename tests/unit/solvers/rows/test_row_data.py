import numpy as np
import pytest
import scipy.sparse as sp

from mercer.solvers.rows import row_data as module
from mercer.solvers.rows.row_data import Rows

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 7)) * (rng.random((30, 7)) < 0.5)
X[4] = 0.0
F = np.column_stack([X, np.full(30, 0.5)])
FORMS = {
    "dense": X,
    "float32": X.astype(np.float32),
    "sparse": sp.csr_array(X),
    "sparse float32": sp.csr_array(X.astype(np.float32)),
    "long indices": sp.csr_array(
        (sp.csr_array(X).data, sp.csr_array(X).indices.astype(np.int64), sp.csr_array(X).indptr)
    ),
}
forms = pytest.mark.parametrize("form", FORMS)


def tolerance(form):
    return 1e-6 if "float32" in form else 1e-13


@forms
def test_products(form):
    rows, tol = Rows.of(FORMS[form], 0.5), tolerance(form)
    w, beta = rng.normal(size=8), rng.normal(size=30)
    np.testing.assert_allclose(rows.scores(w), F @ w, atol=tol)
    np.testing.assert_allclose(rows.combine(beta), F.T @ beta, atol=10 * tol)
    np.testing.assert_allclose(rows.squares, (F**2).sum(axis=1), atol=tol)
    every, some = np.arange(30), np.array([3, 4, 11, 29])
    np.testing.assert_allclose(rows.normal(every, np.abs(beta)), F.T @ (np.abs(beta)[:, None] * F), atol=20 * tol)
    np.testing.assert_allclose(rows.normal(some, beta**2), F[some].T @ (beta[some, None] ** 2 * F[some]), atol=20 * tol)
    np.testing.assert_allclose(rows.dense(slice(3, 9)), F[3:9], atol=tol)
    assert len(rows) == 30 and rows.is_sparse == ("dense" not in form and form != "float32")


@forms
def test_take(form):
    index = np.array([5, 0, 4, 29])
    part = Rows.of(FORMS[form], 0.5).take(index)
    np.testing.assert_allclose(part.dense(), F[index], atol=tolerance(form))
    assert part.data.dtype == np.float64


def test_products_of_pairs_entry_by_entry():
    # columns in any order, one of them twice in a row, a row without entries
    data, indices = np.array([1.0, -2.0, 3.0, 4.0, 5.0]), np.array([7, 2, 7, 39, 0])
    sparse = sp.csr_array((data, indices, np.array([0, 3, 3, 5])), shape=(3, 40))
    rows, weight = Rows.of(sparse, 0.5), np.array([2.0, 1.0, 3.0])
    assert rows.is_scattered and not Rows.of(FORMS["sparse"]).is_scattered
    dense = np.column_stack([sparse.toarray(), np.full(3, 0.5)])
    np.testing.assert_allclose(rows.normal(np.arange(3), weight), dense.T @ (weight[:, None] * dense), rtol=1e-14)
    np.testing.assert_allclose(rows.normal(np.array([2]), weight), 3.0 * dense[2:].T @ dense[2:], rtol=1e-14)


def test_nothing_is_copied():
    for form in ("dense", "float32"):
        assert np.shares_memory(Rows.of(FORMS[form]).data, FORMS[form])
    assert np.shares_memory(Rows.of(FORMS["sparse"]).data, FORMS["sparse"].data)
    rows = Rows.of(X)
    assert Rows.of(rows) is rows


def test_only_zeros():
    rows = Rows.of(sp.csr_array((3, 2)), 2.0)
    np.testing.assert_array_equal(rows.scores(np.array([1.0, 1.0, 0.5])), np.ones(3))
    np.testing.assert_array_equal(rows.combine(np.ones(3)), [0.0, 0.0, 6.0])
    np.testing.assert_array_equal(rows.take(np.array([1])).dense(), [[0.0, 0.0, 2.0]])


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_python_originals(form):
    rows = Rows.of(FORMS[form], 0.5)
    w, beta, out, back = rng.normal(size=8), rng.normal(size=30), np.empty(30), np.zeros(8)
    beta[3] = 0.0
    module._multiply.py_func(*rows.arrays, w, 0.5, out)
    np.testing.assert_allclose(out, F @ w, atol=1e-13)
    module._combine.py_func(*rows.arrays, beta, 0.5, back)
    np.testing.assert_allclose(back, F.T @ beta, atol=1e-12)
    module._square.py_func(rows.data, rows.offsets, 0.5, out)
    np.testing.assert_allclose(out, (F**2).sum(axis=1), atol=1e-13)
