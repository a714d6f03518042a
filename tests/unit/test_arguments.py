"""Arguments of functions are checked before anything is computed."""

import inspect

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.arguments import SEED, Callback, answer_of, checked, real_array, require_squares, require_symmetric
from mercer.budget import Bytes
from mercer.constraints import Integer, Several
from mercer.errors import DomainError, ParameterError


@checked(count=Integer(1), seed=SEED)
def drawn(count, *, seed=None):
    """Return something."""
    return count, seed


def test_good_arguments_pass_by_place_and_by_name():
    assert drawn(3) == drawn(count=3) == (3, None)
    assert drawn(3, seed=5) == (3, 5)


@pytest.mark.parametrize(
    "arguments", [{"count": 0}, {"count": 2.5}, {"count": 1, "seed": "a"}, {"count": 1, "seed": -1}]
)
def test_others_are_refused_by_name(arguments):
    with pytest.raises(ParameterError, match=f"drawn was given {list(arguments)[-1]}="):
        drawn(**arguments)


def test_the_function_looks_as_it_was():
    assert drawn.__doc__ == "Return something." and list(inspect.signature(drawn).parameters) == ["count", "seed"]


def test_a_constraint_of_nothing_is_a_mistake():
    with pytest.raises(AssertionError):
        checked(other=Integer(1))(lambda count: count)


def test_functions_budgets_and_lists():
    assert Callback().accepts(len) and not Callback().accepts(int) and not Callback().accepts(3)
    assert Bytes().accepts("2GB") and not Bytes().accepts("much") and not Bytes().accepts(float("nan"))
    assert Several(list).accepts([1]) and not Several(list).accepts([])


@pytest.mark.parametrize("given", [[[1, 2]], np.array([[1.0, 2.0]]), sp.csr_array([[1.0, 2.0]]), [[True, 2]]])
def test_numbers_however_they_are_written(given):
    np.testing.assert_array_equal(real_array(given, "A", 2), [[1.0, 2.0]])


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ([1.0, np.nan], r"A\[1\] = nan"),
        ([1.0, np.inf], r"A\[1\] = inf"),
        ([1j], "complex"),
        (["1"], "A of type"),
        ([[1.0], [1.0, 2.0]], "A of type"),
        (np.ma.masked_array([1.0, 2.0], [False, True]), "masked"),
        (np.array(["2020-01-01"], dtype="datetime64[D]"), "datetime64"),
        ([], "shape"),
        (1.0, "shape"),
        (np.ones((1, 1, 1)), "shape"),
    ],
)
def test_what_is_no_list_of_numbers(given, told):
    with pytest.raises(DomainError, match=told):
        real_array(given, "A")


def test_results_of_a_users_function_are_given_on():
    assert answer_of(max, 3, 5, who="size", takes="two numbers") == 5


@pytest.mark.parametrize("error", [DomainError, ParameterError])
def test_what_fails_in_a_users_function_is_told_as_its_own_and_keeps_the_cause(error):
    told = r"^size failed on None and int, \"TypeError.*; it takes a text\. Correct"
    with pytest.raises(error, match=told) as found:
        answer_of(lambda a, b: len(a), None, 1, who="size", takes="a text", error=error)
    assert isinstance(found.value.__cause__, TypeError)


def test_a_function_without_a_name_is_told_by_its_owner():
    with pytest.raises(DomainError, match=r"The function of \[1\] failed on int"):
        answer_of(len, 1, who=[1], takes="a text")


def test_our_own_errors_in_a_users_function_are_left_alone():
    def refuse(data):
        raise DomainError("X is refused")

    with pytest.raises(DomainError, match=r"^X is refused$"):
        answer_of(refuse, 1, who="f", takes="numbers")


def test_a_damaged_sparse_matrix_is_not_converted():
    A = sp.csr_array(np.eye(3))
    A.indices = np.array([0, 10**6, 2])  # writing there would end the process
    with pytest.raises(DomainError, match="W is a sparse matrix that is damaged"):
        real_array(A, "W")


def test_symmetry_is_asked_for_up_to_rounding():
    K = np.array([[1e300, 2.0], [2.0, -1e300]])
    require_symmetric(K, "K")
    require_symmetric(np.array([[1.0, 0.5 + 1e-12], [0.5, 1.0]]), "K")
    with pytest.raises(DomainError, match=r"K\[0, 1\] = 0.7, K\[1, 0\] = 0.5"):
        require_symmetric(np.array([[1.0, 0.7], [0.5, 1.0]]), "K")


def test_functions_are_asked_for_by_name():
    @checked(f=Callback())
    def applied(f):
        """Return something."""
        return f(1)

    assert applied(abs) == 1
    for value in (3, int, "abs"):
        with pytest.raises(ParameterError, match=r"f=.*f must be a function\. Give f a function"):
            applied(value)


def test_squares_must_be_numbers():
    require_squares(np.array([-1e150, 1.0]), "y")
    require_squares(np.zeros(0), "y")
    with pytest.raises(DomainError, match=r"y has values up to 1e\+200; their squares are too large"):
        require_squares(np.array([1.0, -1e200]), "y")
