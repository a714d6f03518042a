import dataclasses
import datetime
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import DataConversionWarning

from mercer.errors import TargetError
from mercer.targets import Real


@pytest.mark.parametrize("dtype", [np.int8, np.uint64, np.float16, np.float32, np.float64, np.longdouble, bool, object])
def test_numbers_of_all_kinds_become_float64(dtype):
    y = np.array([0, 1, 1], dtype=dtype)
    encoded = Real().learn(y).encode(y)
    assert encoded.dtype == np.float64
    np.testing.assert_array_equal(encoded, [0.0, 1.0, 1.0])


@pytest.mark.parametrize("shape", [(4,), (4, 1), (4, 3)])
def test_predictions_have_the_shape_of_y(shape):
    y = np.arange(np.prod(shape), dtype=float).reshape(shape)
    target = Real().learn(y)
    assert target.columns == (None if len(shape) == 1 else shape[1])
    np.testing.assert_array_equal(target.encode(y), y)
    np.testing.assert_array_equal(target.decode(y), y)
    flat = np.arange(2.0)
    if shape == (4,):
        assert target.decode(flat[:, None]).shape == (2,)
    if shape == (4, 1):
        assert target.decode(flat).shape == (2, 1)


def test_a_single_output_takes_a_column_with_a_warning():
    y = np.arange(4.0)[:, None]
    with pytest.warns(DataConversionWarning, match="A column-vector y was passed when a 1d array was expected"):
        target = Real(several=False).learn(y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # said once
        assert target.encode(y).shape == (4,)
        Real().learn(y)
    with pytest.raises(TargetError, match=r"1d array[\s\S]*one per sample"):
        Real(several=False).learn(np.ones((4, 2)))


@pytest.mark.parametrize(
    "y",
    [
        ["a", "b"],
        np.array(["1.5", "2"]),
        [10**400, 1],
        np.array([np.longdouble("1e4000"), 1.0]),
        np.array(["2020-01-01"], dtype="datetime64[D]"),
        [datetime.date(2020, 1, 1)],
        np.ones((3, 0)),
        pd.Series([1.0, None]),
        pd.array([1, None], dtype="Int64"),
    ],
    ids=lambda y: str(getattr(y, "dtype", type(y[0]).__name__)),
)
def test_what_is_not_a_finite_number(y):
    with pytest.raises(TargetError, match="Targets of a regression are finite real numbers"):
        Real().learn(y)


def test_another_shape_than_learned():
    target = Real().learn(np.ones((3, 2)))
    with pytest.raises(TargetError, match=r"y is a vector; .* was a matrix of 2 columns\. Give"):
        target.encode(np.ones(3))
    with pytest.raises(TargetError, match="matrix of 3 columns"):
        target.encode(np.ones((3, 3)))


def test_frames_and_immutability():
    frame = pd.DataFrame({"a": [1, 2], "b": [3.0, 4.0]})
    target = Real().learn(frame)
    np.testing.assert_array_equal(target.encode(frame), [[1.0, 3.0], [2.0, 4.0]])
    with pytest.raises(dataclasses.FrozenInstanceError):
        target.columns = 3
    assert Real().columns is None
    assert Real().learn([1.0]) == Real().learn([2.0])


def test_y_is_not_changed_or_kept():
    y = np.arange(3.0)
    encoded = Real().learn(y).encode(y)
    np.testing.assert_array_equal(y, np.arange(3.0))
    np.testing.assert_array_equal(encoded, y)
