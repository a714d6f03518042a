"""Type aliases: names for the arrays that functions take."""

import numpy as np
import pytest

import mercer
from mercer import arrays
from mercer.arrays import shape_of
from mercer.errors import ParameterError, TargetError


def test_every_alias_names_arrays_of_its_kind():
    kinds = {"Floats": np.floating, "Indices": np.intp, "Bools": np.bool_}
    for name, kind in kinds.items():
        assert kind.__name__ in str(getattr(arrays, name)) or "bool" in str(getattr(arrays, name))
    assert set(kinds) <= set(arrays.__all__)


@pytest.mark.parametrize(
    "given",
    [
        np.array(["2020-01-01"], dtype="M8[D]"),
        np.array([3], dtype="m8[s]"),
        [np.timedelta64(3, "s")],
        np.array([np.timedelta64(3, "s")], dtype=object),
        ["1"],
        [b"1"],
        [1j],
        np.array([1j], dtype=object),
        np.ma.masked_array([1.0, 2.0], [True, False]),
        [[1.0], [1.0, 2.0]],
        ...,
        {0: 1.0},
        [10**400],
    ],
    ids=repr,
)
def test_what_is_no_real_number_is_refused(given):
    with pytest.raises(ParameterError, match=r"^w .* was given; real numbers are accepted. Convert w"):
        arrays.real_numbers(given, "w")


@pytest.mark.parametrize("given", [[1, 2], (1.0, 2), np.array([1, 2], dtype=object), np.float32([1, 2]), [True, 2]])
def test_real_numbers_become_float64(given):
    found = arrays.real_numbers(given, "w")
    assert found.dtype == np.float64
    assert found.tolist() == [1.0, 2.0]


def test_rows_of_different_lengths_have_no_shape():
    assert shape_of([[1, 2], [3, 4]]) == (2, 2) and shape_of([[1, 2], [3]]) == shape_of(3.0) == ()


@pytest.mark.parametrize("model", [mercer.MultiTaskSVR(), mercer.KernelGLM(family="binomial")], ids=repr)
def test_targets_of_different_lengths_are_refused(model):
    with pytest.raises(TargetError, match="y has entries of different lengths"):
        model.fit(np.zeros((4, 1)), [[1.0], [0.0, 1.0], [1.0], [0.0]])
