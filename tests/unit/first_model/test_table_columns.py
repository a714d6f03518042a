"""What the columns of a table hold."""

import numpy as np
import pandas as pd
import pytest

from mercer.errors import DomainError
from mercer.first_model.table_columns import columns_by_kind, filled_said, left_out_said, varying_columns

N = 24
TABLE = {
    "id": np.arange(N),
    "one": np.ones(N),
    "age": np.where(np.arange(N) == 3, np.nan, np.arange(N) % 7),
    "city": ["Oslo", "Rome", None] * 8,
    "on": [f"2024-01-{day:02}" for day in range(1, N + 1)],
}


def test_kinds():
    found = {name: column.kind for name, column in columns_by_kind(pd.DataFrame(TABLE)).items()}
    assert found["id"] == "identifier" and found["one"] == "constant" and found["age"] == "number"
    assert columns_by_kind(["a text", "another"]) is None
    assert [column.kind for column in columns_by_kind(np.column_stack([np.arange(3.0), np.ones(3)])).values()] == [
        "number",
        "constant",
    ]


def test_what_varies_and_what_is_said_of_the_rest():
    columns = columns_by_kind(TABLE)
    values, kinds = varying_columns(TABLE, columns, N)
    assert kinds == {"age": "number", "city": "category", "on": "date"} and list(values) == list(kinds)
    assert left_out_said(columns) == ["left out, being constant or naming the rows: id, one"]
    assert filled_said(columns)[0].startswith("missing in age, city: ")
    assert varying_columns(TABLE, columns, 19) is None  # too few rows to learn lengths from
    assert left_out_said({}) == filled_said({}) == []


def test_dates_of_frames():
    frame = pd.DataFrame({"on": pd.to_datetime(TABLE["on"]), "x": np.arange(N) % 5})
    assert varying_columns(frame, columns_by_kind(frame), N)[1] == {"on": "date", "x": "number"}


def test_a_matrix_may_have_holes():
    X = np.array([[1.0, np.nan], [2.0, 3.0], [3.0, 5.0]])
    for given in (X, X.tolist()):
        assert [column.missing for column in columns_by_kind(given).values()] == [0, 1]
    with pytest.raises(DomainError, match="infinity"):
        columns_by_kind(np.array([[1.0, np.nan], [np.inf, 3.0]]))


def test_columns_that_cannot_be_read():
    with pytest.raises(DomainError, match="different lengths"):
        columns_by_kind({"a": [1.0, 2.0], "b": [1.0]})
    with pytest.raises(DomainError, match="infinity"):
        columns_by_kind({"x": [1.0, np.inf]})
    with pytest.raises(DomainError, match="columns of numbers"):
        columns_by_kind({"x": np.array([1j, 2j])})
