import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from mercer.errors import TargetError
from mercer.targets import Binary, Multiclass, Real, Target

ALL = [Real(), Binary(), Multiclass()]


def test_a_target_is_two_directions_and_a_lesson():
    assert Target.__abstractmethods__ == {"learn", "encode", "decode"}


@pytest.mark.parametrize("target", ALL, ids=repr)
def test_y_must_be_given(target):
    # scikit-learn's common checks look for these words
    with pytest.raises(TargetError, match=r"requires y to be passed, but the target y is None\. .* Call fit"):
        target.learn(None)


@pytest.mark.parametrize("target", ALL, ids=repr)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_y_must_be_finite(target, bad):
    with pytest.raises(TargetError, match=r"Input y contains (NaN|infinity)[\s\S]*Targets of"):
        target.learn(np.array([0.0, 1.0, bad]))


@pytest.mark.parametrize("target", ALL, ids=repr)
def test_masks_are_not_ignored(target):
    y = np.ma.masked_array([0, 1, 1], mask=[False, True, False])
    with pytest.raises(TargetError, match=r"1 values are masked.*Drop the samples"):
        target.learn(y)
    target.learn(np.ma.masked_array([0, 1, 1], mask=False))


@pytest.mark.parametrize("target", ALL, ids=repr)
@pytest.mark.parametrize(
    "y", [[], np.zeros((2, 2, 2)), 3.0, sp.csr_array([[0.0], [1.0]]), [1 + 2j, 0j], [[1, 2], [3]]], ids=repr
)
def test_what_no_target_takes(target, y):
    with pytest.raises(TargetError, match="Targets of"):
        target.learn(y)


@pytest.mark.parametrize("target", ALL, ids=repr)
@pytest.mark.parametrize("container", [list, tuple, np.array, pd.Series, lambda y: pd.Series(y, index=[7, 3, 9, 1])])
def test_containers(target, container):
    y = container([0, 1, 1, 0])
    learned = target.learn(y)
    assert learned is not target
    encoded = learned.encode(y)
    assert encoded.dtype == np.float64
    assert encoded.flags.c_contiguous
    np.testing.assert_array_equal(learned.decode(encoded), [0, 1, 1, 0])
