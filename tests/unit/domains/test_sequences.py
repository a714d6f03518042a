"""Time series: the forms in which they may be given, what is refused, and what is held."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from mercer import KernelRidge
from mercer.domains.sequences import Sequences
from mercer.domains.strings import Strings
from mercer.errors import DomainError, ModelError
from mercer.io.model_file import load, save
from mercer.kernels.series.global_alignment import GlobalAlignmentSeries
from mercer.numerics.ragged import Ragged
from mercer.testing import check_domain


@pytest.mark.parametrize(
    "given",
    [
        [[1.0, 2.0, 3.0], [4.0, 5.0]],
        ([1, 2, 3], (4, 5)),
        [np.array([1, 2, 3]), np.array([4.0, 5.0], dtype=np.float32)],
        [np.array([[1.0], [2.0], [3.0]]), [[4], [5]]],
        [pd.Series([1.0, 2.0, 3.0]), pl.Series([4.0, 5.0])],
        [pd.DataFrame({"a": [1, 2, 3]}), np.array([4, 5])],
        np.array([[1.0, 2.0, 3.0], [4.0, 5.0]], dtype=object),
        pd.Series([[1.0, 2.0, 3.0], [4.0, 5.0]], index=[7, 3]),
        pl.Series([[1.0, 2.0, 3.0], [4.0, 5.0]]),
        pa.array([[1.0, 2.0, 3.0], [4.0, 5.0]]),
        pd.DataFrame({"x": [[1.0, 2.0, 3.0], [4.0, 5.0]]}),
        [np.ma.array([1, 2, 3]), [4, 5]],
        [[True, 2.0, 3.0], [4.0, 5.0]],
    ],
)
def test_all_forms_give_the_same_series(given):
    S = Sequences.pack(given)
    np.testing.assert_array_equal(S.values, [[1.0], [2.0], [3.0], [4.0], [5.0]])
    assert S.values.dtype == np.float64 and S.values.flags.c_contiguous and S.offsets.dtype == np.intp
    assert S.offsets.tolist() == [0, 3, 5] and S.lengths.tolist() == [3, 2] and S.width == 1 and len(S) == 2


def test_arrays_have_time_second_and_channels_last():
    X = np.arange(24.0).reshape(2, 4, 3)
    S = Sequences.pack(X.astype(np.float32))
    assert S.width == 3 and repr(S) == "<Sequences: 2 samples, 3 channels, lengths 4 to 4>"
    np.testing.assert_array_equal(S.series(1), X[1])
    np.testing.assert_array_equal(Sequences.pack(X.transpose(2, 1, 0)).series(2), X[:, :, 2].T)
    assert Sequences.pack(X[:, :, 0]).width == 1 and Sequences.pack(pd.DataFrame(X[0])).lengths.tolist() == [3] * 4
    np.testing.assert_array_equal(Sequences.pack(list(X)).values, S.values)


def test_slices_and_joins():
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(length, 2)) for length in (3, 1, 4, 2, 6)]
    check_domain(Sequences, X)
    S = Sequences.pack(X)
    for index in (slice(1, 4), [4, 0, 0], np.array([True, False, True, False, True])):
        part, expected = S[index], [X[i] for i in np.arange(5)[index]]
        assert all(np.array_equal(part.series(i), x) for i, x in enumerate(expected))
        assert part.values.flags.c_contiguous
    joined = S[3:].concat(S[:2])
    np.testing.assert_array_equal(joined.values, np.concatenate([X[i] for i in (3, 4, 0, 1)]))
    with pytest.raises(DomainError, match=r"2 channels are compared with series of 1.*same channels"):
        S.concat(Sequences.pack([[1.0]]))
    assert pickle.loads(pickle.dumps(S)).values.tobytes() == S.values.tobytes()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ([], "0 sample"),
        (np.empty((0, 3)), "0 sample"),
        (np.empty((2, 0)), "are empty"),
        ([[1.0], []], r"Sample 1 has the shape \(0,\): it is empty"),
        ([[[1.0, 2.0]], [[1.0, 2.0, 3.0]]], "Sample 0 has 2 channels, sample 1 has 3"),
        ([[[1.0, 2.0], [3.0]]], "Sample 0 has points with different numbers of channels"),
        ([[1.0], np.zeros((2, 2, 2))], r"Sample 1 has the shape \(2, 2, 2\)"),
        ([1.0, 2.0], r"Sample 0 has the shape \(\)"),
        (np.array([1.0, 2.0]), r"shape \(2,\).*Wrap a single series"),
        (np.zeros((2, 2, 2, 2)), "Reshape"),
        ([[1.0, 2.0], None], "Sample 1 is of type None"),
        (["abc"], "Sample 0 is of type str"),
        ([["a", "b"]], "Sample 0 holds text.*kernel on strings"),
        ([[1.0, "b"]], "holds text"),
        ([[1.0j]], "complex numbers"),
        ([np.array(["2020-01-01"], dtype="M8[D]")], "dates"),
        ([[object()]], "not numbers"),
        ("abc", "str was given"),
        ({1.0: [2.0]}, "dict was given"),
        (3.0, "float was given"),
        ([[0.0, 1.0], [1.0, np.nan]], "Sample 1 has a missing value .* at time 1, channel 0.*missing=True"),
        ([[0.0, None]], "Sample 0 has a missing value"),
        ([np.ma.array([1.0, 2.0], mask=[False, True])], "missing value"),
        ([[[0.0, 1.0], [1.0, -np.inf]]], "an infinite value at time 1, channel 1.*clip"),
        (np.array([[[0.0, np.nan]]]), "time 0, channel 1"),
    ],
)
def test_what_is_refused_is_told_with_its_place(given, told):
    with pytest.raises(DomainError, match=told) as caught:
        Sequences.pack(given)
    assert "Sequences are a list of series" in str(caught.value)


def test_missing_values_are_held_if_asked_for():
    S = Sequences.pack([[0.0, None, 2.0], np.ma.array([1, 2], mask=[True, False])], missing=True)
    np.testing.assert_array_equal(S.values[:, 0], [0.0, np.nan, 2.0, np.nan, 2.0])
    assert S.has_missing and Sequences.pack(S, missing=True) is S
    with pytest.raises(DomainError, match="Sample 0 has a missing value"):
        GlobalAlignmentSeries()(S)
    with pytest.raises(DomainError, match="infinite"):
        Sequences.pack([[np.inf, np.nan]], missing=True)


def test_other_collections_are_refused():
    with pytest.raises(DomainError, match="Strings were given where Sequences"):
        Sequences.pack(Strings.pack(["ab"]))


def test_a_model_of_series_is_saved_and_read(tmp_path):
    rng = np.random.default_rng(1)
    X = [rng.normal(size=(length, 2)) for length in (3, 5, 4, 7)]
    model = KernelRidge(GlobalAlignmentSeries("median", band=6), alpha=0.1).fit(X, [0.0, 1.0, 2.0, 3.0])
    save(model, tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.predict(X).tobytes() == model.predict(X).tobytes()
    assert isinstance(again.expansion_.samples, Sequences)


def test_parts_of_a_file_must_fit_together():
    good = np.zeros((3, 2)), np.array([0, 1, 3])
    Sequences(Ragged(*good)).check()
    for values, offsets in (
        (np.zeros(3), good[1]),
        (np.zeros((3, 2), dtype=np.float32), good[1]),
        (np.full((3, 2), np.inf), good[1]),
        (np.zeros((2, 3)).T, good[1]),
        (np.zeros((3, 0)), good[1]),
        (good[0], np.array([0, 0, 3])),
    ):
        with pytest.raises(ModelError, match="time series"):
            Sequences(Ragged(values, offsets)).check()
