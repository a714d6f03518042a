"""Floats and the integers of the same bits, in Python and in compiled code."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.numerics.bits import from_bits, to_bits
from mercer.runtime.compiled import compiled

SPECIAL = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, 1e-45, 1e-300, 3.4e38]


@compiled
def there(x):
    return to_bits(x)


@compiled
def back(i):
    return from_bits(i)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("value", SPECIAL)
def test_compiled_and_plain_agree_and_go_back(kind, value):
    x = kind(value)
    width = np.int32 if kind is np.float32 else np.int64
    assert there(x) == to_bits(x) == x.view(width)
    again = from_bits(to_bits(x))
    assert again == x and np.signbit(again) == np.signbit(x)
    assert back(width(there(x))) == x and np.signbit(back(width(there(x)))) == np.signbit(x)
    assert type(to_bits(x)) is width and type(from_bits(to_bits(x))) is kind


@given(st.floats(allow_nan=False), st.floats(allow_nan=False))
def test_bits_of_positive_floats_are_ordered_as_the_floats(a, b):
    """What the searches of SMO rest on."""
    a, b = abs(a), abs(b)
    assert (there(np.float64(a)) < there(np.float64(b))) == (a < b)


def test_no_other_types_are_reinterpreted():
    with pytest.raises(Exception, match=r"int8|uint8|KeyError|resolve"):
        there(np.int8(1))
