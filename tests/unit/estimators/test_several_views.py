"""Several views of the same samples, as they are given."""

import numpy as np
import pytest

from mercer.domains import Strings
from mercer.errors import ParameterError, TargetError
from mercer.estimators.several_views import as_views, column, per_view, reads_other_things, require_pairs
from mercer.kernels import Gaussian, Precomputed, Spectrum

X = np.arange(6.0).reshape(3, 2)


@pytest.mark.parametrize("y", [[1, 2, 3], (1.0, 2.0, 3.0), np.array([1, 2, 3]), np.array([1, 2, 3], dtype=object)])
def test_a_vector_of_numbers_is_a_column(y):
    assert column(y).shape == (3, 1)


@pytest.mark.parametrize("y", [["a", "b"], np.array(["a", "b"]), X, Strings.pack(["a", "b"]), [[1.0], [2.0]], None])
def test_anything_else_stays_as_it_is(y):
    assert column(y) is y


def test_views_are_a_pair_or_a_list():
    assert [np.shape(view) for view in as_views(None, X, [1.0, 2.0, 3.0])] == [(3, 2), (3, 1)]
    assert [np.shape(view) for view in as_views(None, [X, X[:, 0], X], None)] == [(3, 2), (3, 1), (3, 2)]
    assert as_views(None, [["a", "b"], ["c", "d"]], None) == [["a", "b"], ["c", "d"]]
    for one in (X, [X], [1.0, 2.0], [[1.0, 2.0], [3.0, 4.0]]):  # one table, however it is written
        with pytest.raises(TargetError, match="requires y"):
            as_views(None, one, None)


def test_one_for_all_or_one_for_each():
    assert per_view("tau", np.array([0.1, 0.2]), 2) == (0.1, 0.2)
    assert per_view("kernel", None, 3) == (None, None, None)
    with pytest.raises(ParameterError, match="3 views"):
        per_view("tau", [0.1, 0.2], 3)


def test_which_kernels_compare_rows_of_numbers():
    assert not any(map(reads_other_things, (None, "rbf", Gaussian(1.0), 2.0 * Gaussian(1.0) + 1.0)))
    assert all(map(reads_other_things, ("precomputed", Precomputed(), Spectrum(2), Gaussian(1.0).on("age"))))


def test_views_have_the_same_samples():
    require_pairs((X, X[:, :1]))
    with pytest.raises(TargetError, match=r"\[3, 2\]"):
        require_pairs((X, X[:2]))
