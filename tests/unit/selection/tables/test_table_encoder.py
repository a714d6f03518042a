"""Rows of a table as vectors."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import norm

import mercer
from mercer import KernelRidge
from mercer.errors import DomainError, ParameterError
from mercer.kernels import Gaussian
from mercer.selection import TableEncoder
from mercer.selection.tables.table_encoder import with_dates

rng = np.random.default_rng(0)
TABLE = {
    "age": [20.0, None, 40.0, 60.0],
    "city": ["Oslo", "Rome", None, "Oslo"],
    "on": ["2024-01-01", "2024-07-01", None, "2026-01-01"],
}


def test_numbers_are_standardised():
    x = rng.normal(3.0, 5.0, size=(50, 2))
    np.testing.assert_allclose(TableEncoder().fit(x).transform(x), (x - x.mean(axis=0)) / x.std(axis=0), atol=1e-12)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_numbers_near_the_largest_are_standardised():
    x = rng.uniform(-1.0, 1.0, size=(50, 2))
    x[:2] = [[1.0, -1.0], [-1.0, 1.0]]
    far = 1.7e308 * x  # whose differences overflow
    np.testing.assert_allclose(TableEncoder().fit(far).transform(far), TableEncoder().fit(x).transform(x), atol=1e-12)


def test_scores_are_normal_quantiles_of_ranks():
    x = rng.permutation(40).astype(float)
    z = norm.ppf((x + 0.5) / 40)
    codes = TableEncoder("scores").fit(x[:, None]).transform(x[:, None])[:, 0]
    np.testing.assert_allclose(codes, z / z.std(), atol=1e-9)
    again = TableEncoder("scores").fit(np.exp(x / 5.0)[:, None]).transform(np.exp(x / 5.0)[:, None])[:, 0]
    np.testing.assert_allclose(again, codes, atol=1e-9)  # no increasing function of a column changes it
    beyond = TableEncoder("scores").fit(x[:, None]).transform([[-1e9], [1e9]])[:, 0]
    np.testing.assert_allclose(beyond, [codes.min(), codes.max()])


def test_different_categories_are_at_distance_one():
    encoder = TableEncoder().fit({"c": ["a", "b", "c", None]})
    E = encoder.transform({"c": ["a", "b", None, "new", "other"]})
    apart = ((E[:, None] - E) ** 2).sum(axis=2)
    np.testing.assert_allclose(apart[:3, :3], 1.0 - np.eye(3), atol=1e-15)
    np.testing.assert_allclose(apart[3, :3], 0.5)  # what was not seen is as far from one as from another
    assert apart[3, 4] == 0.0


def test_what_is_missing_takes_the_median_and_is_marked():
    encoder = TableEncoder().fit(TABLE)
    E = encoder.transform(TABLE)
    names = np.array(encoder.names_)[encoder.groups_].tolist()
    age = E[:, names.index("age")]
    assert age[1] == pytest.approx(age[2]) and age[0] < age[1] < age[3]  # 40 is the median
    np.testing.assert_array_equal(E[:, names.index("age is missing")], [0.0, 1.0, 0.0, 0.0])
    whole = {name: [value for value in values if value is not None] for name, values in TABLE.items()}
    marked = TableEncoder().fit(whole)
    assert not any("missing" in name for name in marked.names_)
    assert np.isfinite(marked.transform({"age": [np.nan], "city": [None], "on": [None]})).all()


def test_dates_have_a_trend_and_seasons():
    days = np.datetime64("2020-01-01") + np.arange(0, 1500, 3)
    texts, frame = {"on": [str(day) for day in days]}, pd.DataFrame({"on": pd.to_datetime(days)})
    encoder = TableEncoder().fit(texts)
    assert encoder.names_ == ["on", "on: year", "on: week"]
    E = encoder.transform(texts)
    np.testing.assert_allclose(E, TableEncoder().fit(frame).transform(frame), atol=1e-9)
    trend = np.arange(500.0)
    np.testing.assert_allclose(E[:, 0], (trend - trend.mean()) / trend.std(), atol=1e-9)
    np.testing.assert_allclose((E[:, 1:3] ** 2).sum(axis=1), 1.0)
    week = encoder.transform({"on": ["2021-03-01", "2021-03-08"]})[:, 3:5]
    np.testing.assert_allclose(week[0], week[1], atol=1e-9)
    hours = {"at": [f"2020-01-01 {hour:02}:30" for hour in range(24)]}
    assert TableEncoder().fit(hours).names_ == ["at", "at: day"]
    assert with_dates(texts, {"on": "text"}) == {"on": "date"} and with_dates(TABLE, {"age": "number"}) == {
        "age": "number"
    }


def test_weight_is_repetition():
    w = np.array([1, 2, 3, 0])
    again = {
        name: [value for value, count in zip(values, w, strict=True) for _ in range(count)]
        for name, values in TABLE.items()
    }
    for numbers in ("standard", "scores"):
        one, other = TableEncoder(numbers).fit(TABLE, sample_weight=w), TableEncoder(numbers).fit(again)
        assert one.names_ == other.names_
        np.testing.assert_allclose(one.transform(TABLE), other.transform(TABLE), atol=1e-12)


def test_tables_of_all_makers():
    x = {"a": rng.normal(size=30), "b": rng.choice(["u", "v"], 30), "c": rng.integers(0, 5, 30)}
    expected = TableEncoder().fit(x).transform(x)
    for frame in (pd.DataFrame(x), pl.DataFrame(x)):
        np.testing.assert_array_equal(TableEncoder().fit(frame).transform(frame), expected)
        np.testing.assert_array_equal(TableEncoder().fit(x).transform(frame[["c", "b", "a"]]), expected)


def test_ordered_categories_keep_their_order():
    sizes = pd.Categorical(["S", "L", "M", "S"], ["S", "M", "L"], ordered=True)
    E = TableEncoder().fit(pd.DataFrame({"size": sizes})).transform(pd.DataFrame({"size": sizes}))
    assert E[0, 0] == E[3, 0] < E[2, 0] < E[1, 0]


def test_constant_columns_say_nothing():
    x = {"a": [3.0, 3.0], "b": [None, None], "c": [1e300, -1e300]}
    for numbers in ("standard", "scores"):
        E = TableEncoder(numbers).fit(x).transform(x)
        np.testing.assert_allclose(E[:, :2], 0.0)
        np.testing.assert_allclose(E[:, 2], [1.0, -1.0])


def test_a_model_is_saved_with_it(tmp_path):
    x, y = {"a": rng.normal(size=30), "b": ["u", "v", None] * 10}, rng.normal(size=30)
    encoder = TableEncoder().fit(x)
    kernel = Gaussian(1.0).of(encoder) + Gaussian((1.0,) * len(encoder.groups_)).of(encoder)
    model = KernelRidge(kernel).fit(x, y)
    mercer.save(model, tmp_path / "m.mercer")
    np.testing.assert_array_equal(mercer.load(tmp_path / "m.mercer").predict(x), model.predict(x))


def test_what_cannot_be_encoded():
    encoder = TableEncoder().fit(TABLE)
    with pytest.raises(ParameterError, match="'standard' and 'scores'"):
        TableEncoder("ranks").fit(TABLE)
    with pytest.raises(DomainError, match="no column 'city'"):
        encoder.transform({"age": [1.0]})
    with pytest.raises(DomainError, match="'age' held numbers"):
        encoder.transform({**TABLE, "age": ["old"] * 4})
    with pytest.raises(DomainError, match="'on' held dates"):
        encoder.transform({**TABLE, "on": ["once"] * 4})
    with pytest.raises(DomainError, match="sample_weight must be 4"):
        TableEncoder().fit(TABLE, sample_weight=[1.0, -1.0, 1.0, 1.0])
