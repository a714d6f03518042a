import numpy as np
import pytest

from mercer.errors import TargetError
from mercer.targets import Multiclass


@pytest.mark.parametrize(
    "y",
    [np.array([10, -5, 7, 10]), np.array(["c", "a", "b", "c"]), np.array(["c", "a", "b", "c"], dtype=object)],
    ids=["integers", "texts", "objects"],
)
def test_codes_indicator_and_signs(y):
    target = Multiclass().learn(y)
    np.testing.assert_array_equal(target.codes(y), [2, 0, 1, 2])
    assert target.codes(y).dtype == np.intp
    indicator = np.array([[0, 0, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=float)
    np.testing.assert_array_equal(target.indicator(y), indicator)
    np.testing.assert_array_equal(target.encode(y), 2 * indicator - 1)
    np.testing.assert_array_equal(target.decode(target.encode(y)), y)
    assert target.decode(target.encode(y)).dtype == y.dtype


def test_largest_value_wins_and_the_first_of_equals():
    target = Multiclass().learn([0, 1, 2])
    np.testing.assert_array_equal(target.decode(np.array([[-3.0, -1.0, -2.0], [5.0, 5.0, 5.0]])), [1, 0])


def test_two_classes_will_do():
    np.testing.assert_array_equal(Multiclass().learn([4, 5]).encode([5]), [[-1.0, 1.0]])


def test_one_class_will_not():
    with pytest.raises(TargetError, match="one class"):
        Multiclass().learn(["a", "a"])


def test_labels_never_seen():
    target = Multiclass().learn(np.arange(12))
    with pytest.raises(TargetError, match=r"has the label .*77.*: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, \.\.\.\. Give"):
        target.encode([0, 77])
    with pytest.raises(TargetError, match=r"has the label .*text"):
        target.encode(["text"])


def test_before_learning():
    with pytest.raises(TargetError, match="learn"):
        Multiclass().codes([0, 1])


def test_mixed_types_cannot_be_sorted():
    with pytest.raises(TargetError, match="mixes labels of the types float, int, str"):
        Multiclass().learn(np.array(["a", 1, 2.5, "b"], dtype=object))
