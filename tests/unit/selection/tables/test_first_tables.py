"""Kernels for tables whose lengths are learned."""

import numpy as np
import pytest

from mercer.selection.tables.first_tables import Learned, is_encoded, learn_lengths, rows_of_columns

rng = np.random.default_rng(0)
ALL = np.arange(24)
PAIRS = [(ALL[::2], ALL[1::2]), (ALL[1::2], ALL[::2])]


def learned(columns, kinds, y, weight=None):
    return learn_lengths(columns, kinds, y, "regression", ALL, PAIRS, weight, lambda share: None)


def test_what_has_lengths():
    assert is_encoded({"a": "number"}, 20) and not is_encoded({"a": "number"}, 19)
    assert not is_encoded({"a": "text"}, 100) and is_encoded({"a": "text", "b": "date"}, 100)


def test_rows():
    some = rows_of_columns({"a": np.arange(4.0), "b": ["x", "y", None, "z"]}, np.array([3, 2]))
    assert some["a"].tolist() == [3.0, 2.0] and some["b"] == ["z", None]


def test_texts_are_joined_at_several_shares():
    columns = {"x": rng.normal(size=24), "note": ["a red door", "the blue door", "one red wall"] * 8}
    kinds = {"x": "number", "note": "text"}
    found = learned(columns, kinds, rng.normal(size=24))
    kernels = list(found.kernels(columns, kinds).values())
    assert len(kernels) == 3 and all("TfIdf" in repr(kernel) for kernel in kernels) and len(found.tried) == 6
    assert kernels[0].learn(kernels[0].pack(columns))(columns).shape == (24, 24)


def test_weights_count():
    columns, kinds = {"x": rng.normal(size=24), "z": rng.normal(size=24)}, {"x": "number", "z": "number"}
    y = np.where(ALL % 4 < 2, columns["x"], columns["z"])
    plain, even = learned(columns, kinds, y), learned(columns, kinds, y, np.full(24, 7.0))
    assert plain.tried[0].error == pytest.approx(even.tried[0].error, rel=1e-6)
    one, other = (learned(columns, kinds, y, np.where(ALL % 4 < 2, *w)) for w in ((1.0, 1e-6), (1e-6, 1.0)))
    lengths = [found.tried[0].lengths.log_lengths for found in (one, other)]
    assert lengths[0][0] <= lengths[0][1] and lengths[1][1] <= lengths[1][0]


def test_categories_of_rows_that_come_later():
    columns, kinds = {"x": rng.normal(size=24), "g": ["a", "b"] * 12}, {"x": "number", "g": "category"}
    found = learned(columns, kinds, columns["x"] + (ALL % 2))
    later = {"x": np.append(columns["x"], np.nan), "g": [*columns["g"], "c"]}
    (kernel,) = found.kernels(later, kinds).values()
    K = kernel.learn(kernel.pack(later))(later)
    assert K.shape == (25, 25) and np.linalg.eigvalsh(K)[0] > -1e-9 * np.trace(K)
    assert isinstance(found, Learned) and "is best of" in found.described()


def test_classes_have_more_kernels_to_choose_from():
    columns, kinds = {"x": rng.normal(size=24), "z": rng.normal(size=24)}, {"x": "number", "z": "number"}
    y = np.where(columns["x"] > 0.0, "a", "b")
    found = learn_lengths(columns, kinds, y, "classification", ALL, PAIRS, None, lambda share: None)
    kernels = found.kernels(columns, kinds)
    assert list(kernels) == ["mean of three kinds", "mean of the best", "mean of more"]
    np.testing.assert_allclose(np.diag(kernels["mean of more"](columns)), 1.0, rtol=1e-3)  # shares of four digits
    parts = [part for part in ("Laplacian", "Linear", "Matern") if part in repr(kernels["mean of three kinds"])]
    assert {"Laplacian", "Linear"} <= set(parts)
    assert np.mean(np.diag(kernels["mean of three kinds"](columns))) == pytest.approx(1.0, rel=1e-3)


def test_numbers_have_a_laplacian_beside_the_best():
    columns, kinds = {"x": rng.normal(size=24), "z": rng.normal(size=24)}, {"x": "number", "z": "number"}
    ((name, kernel),) = learned(columns, kinds, columns["x"]).kernels(columns, kinds).items()
    assert name == "mean of two kinds" and "Laplacian(2.0)" in repr(kernel) and "Linear" not in repr(kernel)
    np.testing.assert_allclose(np.diag(kernel(columns)), 1.0, rtol=1e-3)
