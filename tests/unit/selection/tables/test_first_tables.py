"""The choice for a table, and its score of rows that took no part in it."""

import numpy as np
import pytest

from mercer import KernelRidge
from mercer.kernels import Gaussian
from mercer.selection.tables.first_tables import held_out, is_encoded, learned_kernels, rows_of_columns

rng = np.random.default_rng(0)


def test_what_has_lengths():
    assert is_encoded({"a": "number"}, 20) and not is_encoded({"a": "number"}, 19)
    assert not is_encoded({"a": "text"}, 100) and is_encoded({"a": "text", "b": "date"}, 100)


def test_rows():
    some = rows_of_columns({"a": np.arange(4.0), "b": ["x", "y", None, "z"]}, np.array([3, 2]))
    assert some["a"].tolist() == [3.0, 2.0] and some["b"] == ["z", None]


def test_texts_are_joined_at_several_shares():
    columns = {"x": rng.normal(size=24), "note": ["a red door", "the blue door", "one red wall"] * 8}
    kernels, tried = learned_kernels(
        columns, {"x": "number", "note": "text"}, rng.normal(size=24), "regression", lambda share: None
    )
    assert len(kernels) == 3 and all("TfIdf" in repr(kernel) for kernel in kernels) and len(tried) == 6
    assert kernels[0].learn(kernels[0].pack(columns))(columns).shape == (24, 24)


def test_rows_held_out_take_no_part():
    seen, shares = [], []

    def chosen(some, values, watch):
        watch(1.0)
        seen.append(set(some["row"]))
        return KernelRidge(Gaussian(1.0).on(["x"]), 0.1)

    x, y = rng.normal(size=200), rng.normal(size=200)
    held = held_out({"x": x, "row": np.arange(200.0)}, y, "regression", chosen, shares.append)
    assert shares == [0.25, 0.5, 0.75, 1.0]
    assert len(seen) == 4 and sorted(held.rows) == list(range(200)) and "4 folds" in held.method
    kept = np.setdiff1d(np.arange(200), held.rows[:50])
    assert seen[0] == set(kept)
    alone = KernelRidge(Gaussian(1.0), 0.1).fit(x[kept, None], y[kept]).predict(x[held.rows[:50], None])
    np.testing.assert_allclose(held.predictions[:50], alone, rtol=1e-9, atol=1e-10)
    many = held_out(
        {"x": rng.normal(size=400), "row": np.arange(400.0)}, rng.normal(size=400), "regression", chosen, shares.append
    )
    assert len(many.rows) == 100 and many.method.startswith("100 rows held out")


def test_one_class_cannot_be_validated():
    held = held_out({"x": np.arange(20.0)}, np.array(["a"] * 20), "classification", pytest.fail, pytest.fail)
    assert len(held.rows) == 0 and held.method == "not validated"
