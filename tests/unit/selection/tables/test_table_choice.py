"""Kernels for tables, by nested folds."""

import numpy as np
import pytest

from mercer import KernelRidge
from mercer.kernels import Laplacian
from mercer.selection import TableEncoder
from mercer.selection.tables.column_lengths import Rows
from mercer.selection.tables.table_choice import codes_of, compare_lengths, encoded_kernel, fold_numbers

rng = np.random.default_rng(0)


def coded(X, y):
    encoders = {numbers: TableEncoder(numbers).fit(X) for numbers in ("standard", "scores")}
    Y, w = codes_of(y, "regression"), np.ones(len(y))
    return encoders, {name: Rows(encoder.transform(X), Y, encoder.groups_, w) for name, encoder in encoders.items()}


def pairs_of(y):
    fold = fold_numbers(y, "regression", 3)
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(3)]


def test_codes():
    three = codes_of(np.array([2, 0, 1, 2]), "classification")
    np.testing.assert_allclose(three, np.eye(3)[[2, 0, 1, 2]] - [0.25, 0.25, 0.5])
    np.testing.assert_allclose(codes_of([1.0, 3.0], "regression"), [[-1.0], [1.0]])
    assert np.all(codes_of([5.0, 5.0], "regression") == 0.0)


def test_folds_have_all_classes():
    y = np.array(["a"] * 9 + ["b"] * 6)
    fold = fold_numbers(y, "classification", 3)
    assert [np.sum(fold[y == "a"] == k) for k in range(3)] == [3, 3, 3]
    assert [np.sum(fold[y == "b"] == k) for k in range(3)] == [2, 2, 2]
    np.testing.assert_array_equal(fold, fold_numbers(y, "classification", 3))


def test_columns_of_noise_are_stretched():
    X = rng.normal(size=(120, 6))
    y = np.sin(2.0 * X[:, 0]) + X[:, 1]
    encoders, tables = coded(X, y)
    shares = []
    found = compare_lengths(tables, pairs_of(y), shares.append)
    assert len(found) == 10 and shares[-1] == 1.0 and shares == sorted(shares)
    assert [candidate.error for candidate in found] == sorted(candidate.error for candidate in found)
    lengths = found[0].lengths.log_lengths
    assert found[0].weight is not None and lengths[:2].max() < lengths[2:].min()
    kernel = encoded_kernel(found, encoders)
    errors = [
        np.mean((model.fit(X[:80], y[:80]).predict(X[80:]) - y[80:]) ** 2)
        for model in (KernelRidge(kernel, 0.1), KernelRidge())
    ]
    assert errors[0] < 0.5 * errors[1]


def test_kernels_beside_the_mean_count_as_much():
    X = rng.normal(size=(40, 2))
    y = X[:, 0]
    encoders, tables = coded(X, y)
    found = compare_lengths(tables, pairs_of(y), lambda share: None)[:3]
    K, other = encoded_kernel(found, encoders)(X), 5.0 * Laplacian(2.0).of(encoders["scores"])
    both = encoded_kernel(found, encoders, others=[(5.0, other)])(X)
    np.testing.assert_allclose(both, 0.5 * (K / K[0, 0] + other(X) / 5.0), atol=2e-3)  # shares have four digits


def test_pure_noise_keeps_one_length():
    X, y = rng.normal(size=(60, 30)), rng.normal(size=60)
    _, tables = coded(X, y)
    found = compare_lengths(tables, pairs_of(y), lambda share: None)
    # whatever is best, it is judged by rows that took no part: no better than the mean, but for their own scatter
    assert found[0].error > 0.6 * np.mean(codes_of(y, "regression") ** 2)


def test_errors_are_those_of_rows_left_out():
    X, y = rng.normal(size=(45, 2)), rng.normal(size=45)
    encoders, tables = coded(X, y)
    Y = codes_of(y, "regression")
    found = compare_lengths(tables, pairs_of(y), lambda share: None)
    one = next(candidate for candidate in found if candidate.weight is None)
    kernel = one.profile.kernel(float(np.exp(one.lengths.log_lengths[0])))
    E, squares = encoders[one.numbers].transform(X), 0.0
    for kept, out in pairs_of(y):
        model = KernelRidge(kernel, float(np.exp(one.lengths.log_noise)), fit_intercept=False)
        squares += np.sum((model.fit(E[kept], Y[kept, 0]).predict(E[out]) - Y[out, 0]) ** 2)
    assert one.error == pytest.approx(squares / 45, rel=1e-7)
