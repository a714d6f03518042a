import numpy as np
import pytest

from mercer.errors import ParameterError
from mercer.io.columns import (
    boolean_column,
    checked_kinds,
    names_identifiers,
    not_boolean,
    number_column,
    numbers_identify,
    parse_numbers,
    text_column,
)


def kind_of(values, name="a"):
    return text_column(name, values).kind


@pytest.mark.parametrize(
    ("fields", "numbers"),
    [
        (["1", "-2.5", "+.5", "3.", "1e3", "1E-2"], [1, -2.5, 0.5, 3, 1000, 0.01]),
        ([" 1", "2 ", "\t3"], [1, 2, 3]),
        (["1e400", "-1e400"], [np.inf, -np.inf]),
        (["", "NA", "nan", "?", "2", " null "], [np.nan, np.nan, np.nan, np.nan, 2, np.nan]),
    ],
)
def test_numbers(fields, numbers):
    assert np.array_equal(parse_numbers(fields), numbers, equal_nan=True)


@pytest.mark.parametrize(
    "text",
    [
        "x",
        "inf",
        "Infinity",
        "1_0",
        "0x1",
        "1,5",
        "1 2",
        "--1",
        "1e",
        "e5",
        ".",
        "-",
        "+",
        "\u0661",
        "1\x1c",
        "1\u00a0",
        "1d5",
    ],
)
def test_what_is_no_number(text):
    assert parse_numbers(["1", text]) is None
    assert parse_numbers(["", text]) is None


def test_every_accepted_number_is_the_nearest_double():
    random = np.random.default_rng(0)
    values = random.normal(size=200) * 10.0 ** random.integers(-300, 300, size=200)
    assert np.array_equal(parse_numbers([repr(float(v)) for v in values]), values)


@pytest.mark.parametrize(
    "name",
    [
        "id",
        "ID",
        "ids",
        "idx",
        "index",
        "sample_id",
        "sample id",
        "patientId",
        "userID",
        "uuid",
        "Unnamed: 0",
        "rownames",
        "row_number",
        "gene.id",
    ],
)
def test_names_of_identifiers(name):
    assert names_identifiers(name)


@pytest.mark.parametrize("name", ["width", "COVID", "paid", "grid", "idea", "acid", "hybrid", "arrow", "monkey"])
def test_names_of_other_columns(name):
    assert not names_identifiers(name)


def test_numbers_that_identify():
    assert numbers_identify("id", np.array([3.0, 1.0, 2.0]))
    assert not numbers_identify("a", np.array([3.0, 1.0, 2.0]))
    assert not numbers_identify("id", np.array([3.0, 1.0, 1.0]))
    assert not numbers_identify("id", np.array([3.0, 1.5]))
    assert not numbers_identify("id", np.array([3.0, np.nan]))
    assert not numbers_identify("id", np.array([3.0]))


@pytest.mark.parametrize("n", [3, 50])
def test_kinds_of_numbers(n):
    values = np.arange(n, dtype=float)
    values[0] = np.nan
    assert (number_column(values).kind, number_column(values).missing) == ("number", 1)
    assert number_column(np.full(n, 2.0)).kind == "constant"
    assert number_column(np.full(n, np.nan)).kind == "constant"
    assert number_column(np.full(n, np.nan)).missing == n


def test_kinds_of_texts():
    assert kind_of(["x", "x", "x"]) == kind_of(["x", None, "x"]) == kind_of([None]) == kind_of(["", ""]) == "constant"
    assert kind_of(["x", "y", "x"]) == kind_of(["x", " y", "x "]) == "category"
    assert kind_of(["x", "y", "z"]) == kind_of(["x", "y", None]) == "text"
    assert kind_of(["x" * 101, "y", "y"]) == "text"
    assert kind_of([str(i % 21) + "x" for i in range(42)]) == "text"
    assert kind_of([str(i % 21) + "x" for i in range(210)]) == "category"
    assert kind_of(["GAT", "TAG"], "sample_id") == "identifier"
    assert kind_of(["GAT", "GAT", "T"], "sample_id") == "category"


def test_identifiers_by_their_pattern():
    assert kind_of([f"P{i:03}" for i in range(10)]) == "identifier"
    assert kind_of([f"P{i:03}" for i in range(9)]) == "text"
    assert kind_of([f"{'PQ'[i % 2]}{i:03}" for i in range(10)]) == "text"
    assert kind_of([f"{i:08x}-0000-4000-8000-0123456789AB" for i in range(10)]) == "identifier"
    assert kind_of(["GATTACA"[: i % 7 + 1] * (i + 1) for i in range(10)]) == "text"


def test_missing_texts():
    column = text_column("a", ["x", "NA", "", None, "x", "y"])
    assert column.values == ["x", None, None, None, "x", "y"] and column.missing == 3
    column = text_column("a", ["NA", "", " b ", None], "text")
    assert column.values == ["NA", None, " b ", None] and column.missing == 2


def test_truth_values():
    column = text_column("a", ["Yes", "no", "", "YES", " No"])
    assert column.kind == "boolean" and column.words == ("no", "Yes") and column.missing == 1
    assert np.array_equal(column.values, [1, 0, np.nan, 1, 0], equal_nan=True)
    assert kind_of(["yes", "true", "yes"]) == "category" and kind_of(["yes", "yes"]) == "constant"
    forced = text_column("a", ["t", ""], "boolean")
    assert forced.kind == "boolean" and forced.words == ("f", "t") and forced.values[0] == 1
    assert text_column("a", ["", None], "boolean").missing == 2
    assert boolean_column([True, None, False]).kind == "boolean" and boolean_column([True]).kind == "constant"


def test_first_value_that_is_no_truth_value():
    assert not_boolean(["yes", None, "", "NO"]) is None
    assert not_boolean(["yes", "maybe"]) == 1
    assert not_boolean(["yes", "true"]) == 1
    assert not_boolean(["7"]) == 0


def test_kinds_asked_for_are_checked():
    assert checked_kinds(None) == {} and checked_kinds({"a": "text"}) == {"a": "text"}
    with pytest.raises(ParameterError, match=r"not a kind of column; number, category"):
        checked_kinds({"a": "float"})
