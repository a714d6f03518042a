"""Functions of users: what they return, and what they raise."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.errors import DomainError
from mercer.kernels import Linear
from mercer.kernels.calls import called, real_values, sample_count


def test_results_are_given_on():
    assert called(len, "abc", Linear()) == 3


def test_errors_name_the_kernel_and_keep_the_cause():
    with pytest.raises(DomainError, match=r"Linear\(\) failed on data of type None, \"TypeError") as found:
        called(len, None, Linear())
    assert isinstance(found.value.__cause__, TypeError)


def test_our_own_errors_are_left_alone():
    def refuse(data):
        raise DomainError("X is refused")

    with pytest.raises(DomainError, match=r"^X is refused$"):
        called(refuse, 1, Linear())


@pytest.mark.parametrize("values", [[1, 2], [True, False], ["1", "2"], np.array([1.0, 2.0], dtype=object)], ids=str)
def test_numbers_become_float64(values):
    assert real_values(values, Linear()).dtype == np.float64


def test_sparse_values_stay_sparse():
    assert sp.issparse(real_values(sp.csr_array(np.eye(2)), Linear()))


@pytest.mark.parametrize(
    "values",
    [None, [1j], ["a"], [[1.0], [1.0, 2.0]], [10**400], np.ma.masked_array([1.0, 2.0], [True, False])],
    ids=str,
)
def test_what_is_no_number_is_refused(values):
    with pytest.raises(DomainError, match="no array of real numbers"):
        real_values(values, Linear())


@pytest.mark.parametrize(
    ("data", "count"),
    [
        ([1, 2, 3], 3),
        (np.ones((2, 5)), 2),
        (sp.csr_array(np.ones((4, 1))), 4),
        ({"a": [1, 2], "b": [3, 4]}, 2),
        (iter("ab"), 7),
        (np.array(1.0), 7),
    ],
    ids=["list", "array", "sparse", "columns", "iterator", "number"],
)
def test_count_of_samples(data, count):
    assert sample_count(data, 7) == count
