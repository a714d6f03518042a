"""What all elements share."""

import numpy as np
import pytest

from mercer.domains import Strings, Vectors
from mercer.errors import CapabilityError, DomainError, ParameterError
from mercer.gram import Expansion
from mercer.gram.element import as_factor, contracted, is_balanced, plain, scaled, unbalanced_error
from mercer.kernels import Gaussian, NegativeDistance, ThinPlate

X = np.random.default_rng(0).normal(size=(5, 2))
F = Expansion(Gaussian(1.0), Vectors.pack(X), np.arange(1.0, 6.0), np.asarray(1.0))


@pytest.mark.parametrize("number", ["two", np.nan, np.inf, np.ones((2, 2)), None, [1.0, None]])
def test_factors_that_are_no_numbers_are_refused(number):
    with pytest.raises(ParameterError, match="a finite number"):
        F * number


def test_factors_have_one_number_per_output():
    assert as_factor(2, ()).shape == () and as_factor([1.0, 2.0], ()).shape == (2,)
    with pytest.raises(ParameterError, match="one finite number per output"):
        as_factor([1.0, 2.0], (3,))
    assert np.array_equal(scaled(np.array([1.0, 2.0]), np.array([3.0, 4.0]), ()), [[3.0, 4.0], [6.0, 8.0]])
    assert np.array_equal(scaled(np.ones((1, 2)), np.array([3.0, 4.0]), (2,)), [[3.0, 4.0]])


def test_numbers_of_numpy_multiply_from_the_left():
    for two in (2, 2.0, np.float64(2.0), np.float32(2.0), np.array(2.0)):
        assert np.array_equal((two * F).coef, 2.0 * F.coef)
        assert np.array_equal((F * two).coef, 2.0 * F.coef)


def test_division_by_zero_and_directions_of_nothing_are_refused():
    with pytest.raises(ParameterError, match="divided by 0"):
        F / 0
    with pytest.raises(ParameterError, match="norm zero"):
        (0.0 * F).normalized()


def test_sums_begin_at_zero_and_with_nothing_else():
    assert sum([F]) is F
    for wrong in (1.0, "f", None):
        with pytest.raises(TypeError):
            wrong + F
        with pytest.raises(TypeError):
            F + wrong
        with pytest.raises(TypeError):
            F - wrong


def test_contractions_per_output():
    A, B = np.arange(6.0).reshape(3, 2), np.arange(3.0)
    assert contracted(B, B) == 5.0
    assert np.array_equal(contracted(A, B), A.T @ B)
    assert np.array_equal(contracted(A, A), (A * A).sum(axis=0))
    with pytest.raises(DomainError, match="2 and 3 outputs"):
        contracted(A, np.ones((3, 3)))
    assert isinstance(plain(np.array(1.0)), float) and plain(np.ones(2)).shape == (2,)


def test_balance_is_asked_of_conditionally_definite_kernels_alone():
    c, S = np.ones(5), Vectors.pack(X)
    assert is_balanced(Gaussian(1.0), S, c)
    assert not is_balanced(NegativeDistance(), S, c)
    assert is_balanced(NegativeDistance(), S, np.array([1.0, -1.0, 2.0, -1.5, -0.5]))
    null = np.linalg.svd(np.column_stack([np.ones(5), X]).T)[2][-1]
    assert is_balanced(ThinPlate(), S, null)
    assert not is_balanced(ThinPlate(), S, np.array([1.0, -1.0, 0.0, 0.0, 0.0]))
    assert isinstance(unbalanced_error(ThinPlate()), CapabilityError)


def test_balance_of_strings_is_their_sum():
    class Negative(Gaussian):
        order = 1

    words = Strings.pack(["a", "b"])
    assert not is_balanced(Negative(), words, np.ones(2))
    assert is_balanced(Negative(), words, np.array([1.0, -1.0]))


def test_what_is_left_of_balanced_functions_is_balanced():
    """Coefficients that cancel leave rounding, which balances nothing; sums of balanced functions are balanced."""
    k, S = NegativeDistance(), Vectors.pack(X[:2])
    f = Expansion(k, S, np.array([1.0, -1.0]), np.asarray(0.0))
    g = f * (1.0 / 3.0)
    left = f - g - g - g
    assert 0.0 <= left.norm() < 1e-14
    assert not is_balanced(k, S, np.array([1e-16, 2e-16]))
