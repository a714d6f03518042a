"""Tensors: the forms in which they may be given, what is refused, unfoldings."""

import numpy as np
import pytest

from mercer import KernelRidge
from mercer.domains.tensors import Tensors
from mercer.errors import DomainError, ModelError
from mercer.io.model_file import load, save
from mercer.kernels.sets.tensor_subspaces import Grassmann
from mercer.testing import check_domain

X = np.random.default_rng(0).normal(size=(5, 2, 3, 4))


def as_objects(arrays):
    out = np.empty(len(arrays), dtype=object)
    out[:] = list(arrays)
    return out


@pytest.mark.parametrize("form", [np.asarray, list, tuple, np.ndarray.tolist, np.asfortranarray, as_objects])
def test_all_forms_give_the_same_tensors(form):
    S = Tensors.pack(form(X))
    np.testing.assert_array_equal(S.array, X)
    assert S.array.flags.c_contiguous and S.sides == (2, 3, 4) and len(S) == 5
    assert repr(S) == "<Tensors: 5 samples, 2 x 3 x 4>"


def test_numbers_of_all_kinds_become_float64():
    for dtype in (np.int8, np.float32, bool, object):
        assert Tensors.pack(np.ones((1, 2, 2), dtype=dtype)).array.dtype == np.float64
    assert Tensors.pack(X).array is X


def test_slices_and_joins():
    check_domain(Tensors, X)
    S = Tensors.pack(X)
    np.testing.assert_array_equal(S[[3, 1]].concat(S[:1]).array, X[[3, 1, 0]])
    with pytest.raises(DomainError, match=r"shape \(2, 3, 4\).*shape \(2, 2\).*one shape"):
        S.concat(Tensors.pack(np.zeros((1, 2, 2))))


def test_unfoldings_have_one_axis_as_rows():
    S = Tensors.pack(X)
    for mode, side in enumerate(S.sides):
        unfolded = S.unfolding(mode)
        assert unfolded.shape == (5, side, 24 // side)
        for i in range(side):
            np.testing.assert_array_equal(unfolded[3, i], np.take(X[3], i, axis=mode).ravel())


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (np.empty((0, 2, 2)), "0 sample"),
        ([], "0 sample"),
        (np.zeros((2, 3)), r"shape \(2, 3\).*kernel on vectors"),
        ([[1.0, 2.0]], r"shape \(1, 2\)"),
        (np.zeros((2, 0, 3)), "empty"),
        ([np.zeros((2, 2)), np.zeros((2, 3))], r"Sample 1 has the shape \(2, 3\), sample 0 has the shape \(2, 2\)"),
        ([np.zeros((2, 2)), None], "Sample 1 is not an array"),
        ([[[1.0], [1.0, 2.0]]], "Sample 0 is not an array"),
        (np.array([[["a"]]]), "array of text"),
        (np.array([[[1j]]]), "complex"),
        (np.array([[[object()]]]), "not numbers"),
        ([[["a", 1.0]]], "text"),
        ("abc", "str was given"),
        (None, "None was given"),
        (np.ma.array(np.zeros((1, 2, 2)), mask=True), "masked"),
        (np.array([[[0.0, 1.0]], [[np.nan, 0.0]]]), r"Sample 1 has a missing value \(NaN\) at \(0, 0\)"),
        (np.array([[[0.0, np.inf]]]), r"an infinite value at \(0, 1\)"),
    ],
)
def test_what_is_refused_is_told_with_its_place(given, told):
    with pytest.raises(DomainError, match=told) as caught:
        Tensors.pack(given)
    assert "Tensors are an array" in str(caught.value)


def test_a_model_of_tensors_is_saved_and_read(tmp_path):
    model = KernelRidge(Grassmann(2.0, rank=1), alpha=0.1).fit(X, np.arange(5.0))
    save(model, tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.predict(X).tobytes() == model.predict(X).tobytes()
    assert isinstance(again.expansion_.samples, Tensors)


def test_an_array_of_a_file_must_be_one_of_finite_numbers():
    Tensors(X).check()
    for wrong in (X.astype(np.float32), X[:, 0, 0], np.full((1, 2, 2), np.nan), X[:, :0], X.T):
        with pytest.raises(ModelError, match="tensors"):
            Tensors(wrong).check()
