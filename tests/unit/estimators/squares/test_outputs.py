"""Outputs of any kind are read by their kernel, and given back as they came."""

import numpy as np
import pytest

from mercer.domains import Strings, Vectors
from mercer.errors import TargetError
from mercer.estimators.squares.outputs import Outputs
from mercer.kernels import Linear, Spectrum


def test_numbers_keep_their_shape():
    for y in ([1.0, 2.0], [[1.0], [2.0]], [[1.0, 3.0], [2.0, 4.0]]):
        target, packed = Outputs(Linear()).read(y)
        np.testing.assert_array_equal(target.decode(packed.X), y)
    target, packed = Outputs(Linear()).read(Vectors.pack([[1.0, 2.0]]))
    assert target.decode(packed.X).shape == (1, 2)


def test_texts_and_symbols():
    target, packed = Outputs(Spectrum(2)).read(["ab", "", "ba"])
    assert target.decode(packed) == ["ab", "", "ba"]
    target, packed = Outputs(Spectrum(2)).read([(1, 2), (3,)])
    assert target.decode(packed) == [(1, 2), (3,)]
    assert isinstance(target.encode(["ab"]), Strings)


@pytest.mark.parametrize("y", [None, [1.5, 2.5], np.eye(2)])
def test_what_the_kernel_cannot_read(y):
    with pytest.raises(TargetError):
        Outputs(Spectrum(2)).read(y)
    with pytest.raises(TargetError):
        Outputs(Linear()).read(None if y is None else ["a", "b"])
