import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import DataConversionWarning

from mercer.errors import TargetError
from mercer.targets import Binary

LABELS = {
    "integers": np.array([3, -1, 3, 3]),
    "floats": np.array([2.0, 1.0, 2.0, 2.0]),
    "booleans": np.array([True, False, True, True]),
    "texts": np.array(["spam", "ham", "spam", "spam"]),
    "objects": np.array(["spam", "ham", "spam", "spam"], dtype=object),
    "series": pd.Series(["spam", "ham", "spam", "spam"]),
    "categories": pd.Series(["spam", "ham", "spam", "spam"], dtype="category"),
}


@pytest.mark.parametrize("y", LABELS.values(), ids=LABELS)
def test_the_first_class_is_minus_one(y):
    target = Binary().learn(y)
    np.testing.assert_array_equal(target.encode(y), [1.0, -1.0, 1.0, 1.0])
    np.testing.assert_array_equal(target.decode(np.array([0.1, -0.1, 5.0, 1e-9])), np.asarray(y))
    assert list(target.classes) == sorted(set(np.asarray(y).tolist()))
    np.testing.assert_array_equal(target.encode(y[:1]), [1.0])


def test_types_of_labels_are_kept():
    assert Binary().learn(LABELS["texts"]).decode(np.ones(1)).dtype == LABELS["texts"].dtype
    assert Binary().learn(LABELS["booleans"]).decode(np.ones(1)).dtype == bool


def test_on_the_border_the_first_class_wins_as_in_scikit_learn():
    target = Binary().learn([0, 1])
    np.testing.assert_array_equal(target.decode(np.array([0.0, -0.0])), [0, 0])
    np.testing.assert_array_equal(target.decode(np.array([[2.0], [-2.0]])), [1, 0])


def test_one_class_only():
    with pytest.raises(TargetError, match=r"only one class is present: all of y is .*needed\. Add samples"):
        Binary().learn([1.0, 1.0])


def test_three_classes():
    with pytest.raises(TargetError, match=r"Only binary classification is supported\. .* 3 classes; two are accepted"):
        Binary().learn([0, 1, 2])


def test_continuous():
    with pytest.raises(TargetError, match=r"Unknown label type: [\s\S]*class labels[\s\S]*regressor"):
        Binary().learn([0.1, 0.7])


def test_mixed_types():
    for odd, name in [(1, "int"), (None, "NoneType"), (b"a", "bytes")]:
        with pytest.raises(TargetError, match=f"types .*{name}.* be sorted. Targets of a classifier"):
            Binary().learn(np.array(["a", odd, "a"], dtype=object))
    with pytest.raises(TargetError, match=r"contains NaN\. Targets of"):
        Binary().learn(np.array(["a", np.nan, "a"], dtype=object))
    texts = np.array(["a", np.str_("b"), "a"], dtype=object)  # of one kind
    np.testing.assert_array_equal(Binary().learn(texts).encode(texts), [-1.0, 1.0, -1.0])


def test_column_vector():
    with pytest.warns(DataConversionWarning, match="A column-vector y was passed when a 1d array was expected"):
        target = Binary().learn(np.array([[0], [1]]))
    assert target.encode([0, 1]).shape == (2,)
    with pytest.raises(TargetError, match="1d array"):
        Binary().learn(np.array([[0, 1], [1, 0]]))


@pytest.mark.parametrize("y", [["eggs"], ["spam", "eggs"], ["a"], ["z"], [1, 2]], ids=str)
@pytest.mark.parametrize("kind", ["texts", "objects"])
def test_labels_never_seen(y, kind):
    target = Binary().learn(LABELS[kind])
    with pytest.raises(TargetError, match=r"has the label .* not among the classes learned: 'ham', 'spam'\. Give"):
        target.encode(y)


def test_before_learning():
    with pytest.raises(TargetError, match="learn"):
        Binary().encode([0, 1])
