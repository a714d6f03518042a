import dataclasses
import datetime
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn.svm
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import _ovr_decision_function

from mercer.errors import DomainError, ParameterError, TargetError
from mercer.targets import Binary, Multiclass, Real, Target
from mercer.targets.target import Reduction, class_weights, sample_weights

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
def test_labels_of_two_classes_never_seen(y, kind):
    target = Binary().learn(LABELS[kind])
    with pytest.raises(TargetError, match=r"has the label .* not among the classes learned: 'ham', 'spam'\. Give"):
        target.encode(y)


def test_two_classes_before_learning():
    with pytest.raises(TargetError, match="learn"):
        Binary().encode([0, 1])


@pytest.mark.parametrize("dtype", [np.int8, np.uint64, np.float16, np.float32, np.float64, np.longdouble, bool, object])
def test_numbers_of_all_kinds_become_float64(dtype):
    y = np.array([0, 1, 1], dtype=dtype)
    encoded = Real().learn(y).encode(y)
    assert encoded.dtype == np.float64
    np.testing.assert_array_equal(encoded, [0.0, 1.0, 1.0])


@pytest.mark.parametrize("shape", [(4,), (4, 1), (4, 3)])
def test_predictions_have_the_shape_of_y(shape):
    y = np.arange(np.prod(shape), dtype=float).reshape(shape)
    target = Real().learn(y)
    assert target.columns == (None if len(shape) == 1 else shape[1])
    np.testing.assert_array_equal(target.encode(y), y)
    np.testing.assert_array_equal(target.decode(y), y)
    flat = np.arange(2.0)
    if shape == (4,):
        assert target.decode(flat[:, None]).shape == (2,)
    if shape == (4, 1):
        assert target.decode(flat).shape == (2, 1)


def test_a_single_output_takes_a_column_with_a_warning():
    y = np.arange(4.0)[:, None]
    with pytest.warns(DataConversionWarning, match="A column-vector y was passed when a 1d array was expected"):
        target = Real(several=False).learn(y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # said once
        assert target.encode(y).shape == (4,)
        Real().learn(y)
    with pytest.raises(TargetError, match=r"1d array[\s\S]*one per sample"):
        Real(several=False).learn(np.ones((4, 2)))


@pytest.mark.parametrize(
    "y",
    [
        ["a", "b"],
        np.array(["1.5", "2"]),
        [10**400, 1],
        np.array([np.longdouble("1e4000"), 1.0]),
        np.array(["2020-01-01"], dtype="datetime64[D]"),
        [datetime.date(2020, 1, 1)],
        np.ones((3, 0)),
        pd.Series([1.0, None]),
        pd.array([1, None], dtype="Int64"),
    ],
    ids=lambda y: str(getattr(y, "dtype", type(y[0]).__name__)),
)
def test_what_is_not_a_finite_number(y):
    with pytest.raises(TargetError, match="Targets of a regression are finite real numbers"):
        Real().learn(y)


def test_another_shape_than_learned():
    target = Real().learn(np.ones((3, 2)))
    with pytest.raises(TargetError, match=r"y is a vector; .* was a matrix of 2 columns\. Give"):
        target.encode(np.ones(3))
    with pytest.raises(TargetError, match="matrix of 3 columns"):
        target.encode(np.ones((3, 3)))


def test_frames_and_immutability():
    frame = pd.DataFrame({"a": [1, 2], "b": [3.0, 4.0]})
    target = Real().learn(frame)
    np.testing.assert_array_equal(target.encode(frame), [[1.0, 3.0], [2.0, 4.0]])
    with pytest.raises(dataclasses.FrozenInstanceError):
        target.columns = 3
    assert Real().columns is None
    assert Real().learn([1.0]) == Real().learn([2.0])


def test_y_is_not_changed_or_kept():
    y = np.arange(3.0)
    encoded = Real().learn(y).encode(y)
    np.testing.assert_array_equal(y, np.arange(3.0))
    np.testing.assert_array_equal(encoded, y)


class Seen(np.ndarray):
    """An array of another class, which is looked at in full."""


@pytest.mark.parametrize("kind", [np.int64, np.int8, np.uint8, np.uint64, bool])
def test_plain_labels_are_read_as_all_others(kind):
    y = np.array([0, 1, 1, 0, 1, 0, 0, 0]).astype(kind)
    for raw in (y, y[::2], np.repeat(y, 5)):
        expected, codes = Multiclass().read(raw.view(Seen))
        learned, found = Multiclass().read(raw)
        assert learned.classes.dtype == expected.classes.dtype == y.dtype
        np.testing.assert_array_equal(learned.classes, expected.classes)
        np.testing.assert_array_equal(found, codes)


@pytest.mark.parametrize("count", [20, 21, 22, 23, 40])
@pytest.mark.parametrize("most", [9, 10, 11, 12])
def test_many_labels_are_warned_of_as_before(count, most):
    y = np.arange(count) % most
    caught = []
    for raw in (y, y.view(Seen)):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            Multiclass().learn(raw)
        caught.append([str(one.message) for one in seen])
    assert caught[0] == caught[1]


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.float16, np.int32, bool, ">f8"])
@pytest.mark.parametrize("shape", [(6,), (6, 1), (3, 2)])
def test_plain_numbers_are_read_as_all_others(kind, shape):
    y = np.array([0.0, 1.0, 1.0, 3.0, 0.0, 5.0]).reshape(shape).astype(kind)
    (target, values), (expected, others) = Real().read(y), Real().read(y.view(Seen))
    assert target.columns == expected.columns and values.dtype == others.dtype == np.float64
    np.testing.assert_array_equal(values, others)


@pytest.mark.parametrize("bad", [np.array([1.0, np.nan]), np.array([1.0, np.inf]), np.zeros(0), np.array(1.0)])
def test_bad_arrays_are_refused_in_the_same_words(bad):
    with pytest.raises(TargetError) as plain:
        Real().learn(bad)
    with pytest.raises(TargetError) as other:
        Real().learn(bad.view(Seen))
    assert str(plain.value) == str(other.value)


# from several classes to problems of two, and back -----------------------------------------------

CODES = np.array([0, 2, 1, 0, 2, 2])


def test_two_classes_are_one_problem():
    for scheme in ("ovo", "ovr", "dense"):
        reduction = Reduction.of(scheme, 2)
        assert reduction.kind == "two" and reduction.code.tolist() == [[-1.0], [1.0]]
        ((index, sign),) = reduction.problems(np.array([0, 1, 1]))
        assert index.tolist() == [0, 1, 2] and sign.tolist() == [-1.0, 1.0, 1.0]
        assert not reduction.votes


def test_pairs():
    reduction = Reduction.of("ovo", 3)
    assert reduction.votes and reduction.code.shape == (3, 3)
    sets = reduction.problems(CODES)
    for (index, sign), (a, b) in zip(sets, [(0, 1), (0, 2), (1, 2)], strict=True):
        assert index.tolist() == np.flatnonzero(np.isin(CODES, [a, b])).tolist()
        assert np.array_equal(sign > 0, CODES[index] == a)


def test_one_against_the_rest():
    sets = Reduction.of("ovr", 3).problems(CODES)
    for own, (index, sign) in enumerate(sets):
        assert len(index) == len(CODES) and np.array_equal(sign > 0, own == CODES)


@pytest.mark.parametrize("count", [3, 4, 7])
@given(seed=st.integers(0, 2**32 - 1))
def test_votes_and_confidences_are_those_of_scikit_learn(count, seed):
    """Against its own function, and votes counted one by one; among equals the first class wins."""
    values = np.random.default_rng(seed).normal(size=(5, count * (count - 1) // 2))
    reduction = Reduction.of("ovo", count)
    theirs = _ovr_decision_function(values < 0, -values, count)
    np.testing.assert_allclose(reduction.confidences(values), theirs, atol=1e-12)
    for row, won in zip(values, reduction.decode(values), strict=True):
        votes, column = np.zeros(count, int), 0
        for a in range(count):
            for b in range(a + 1, count):
                votes[a if row[column] > 0 else b] += 1
                column += 1
        assert won == np.argmax(votes)


def test_values_of_zero_count_for_the_second_class_of_a_pair():
    """As in LIBSVM."""
    assert Reduction.of("ovo", 3).decode(np.zeros((1, 3))).tolist() == [2]


def test_one_against_the_rest_takes_the_largest():
    values = np.array([[-3.0, -1.0, -2.0], [0.5, 0.5, 0.1]])
    reduction = Reduction.of("ovr", 3)
    assert reduction.confidences(values) is values
    assert reduction.decode(values).tolist() == [1, 0]


def test_a_code_takes_the_row_that_loses_least():
    code = np.array([[1, 1, 1], [-1, 1, -1], [1, -1, -1], [-1, -1, 1]])
    reduction = Reduction.of(code, 4)
    assert reduction.kind == "code" and np.array_equal(reduction.decode(5.0 * code), np.arange(4))
    assert np.argmax(reduction.confidences(2.0 * code.astype(float)), axis=1).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("bad", ["all", [[1, -1]], [[1, 1], [1, 1], [1, 1]], [[3, 1], [1, -1], [-1, 1]]])
def test_codes_that_tell_nothing_apart_are_refused(bad):
    with pytest.raises(ParameterError):
        Reduction.of(bad, 3)


@pytest.mark.parametrize("scheme", ["ovo", "ovr", "exhaustive"])
def test_likelihoods_favour_the_class_that_all_problems_favour(scheme):
    reduction = Reduction.of(scheme, 4)
    P = np.where(reduction.code > 0, 0.9, np.where(reduction.code < 0, 0.1, 0.5))
    likely = reduction.likelihoods(P)
    assert likely.shape == (4, 4) and np.array_equal(np.argmax(likely, axis=1), np.arange(4))
    assert np.all(likely >= 0) and np.isfinite(likely).all()
    sure = reduction.likelihoods(np.where(reduction.code > 0, 1.0, 0.0))
    assert not np.isnan(sure).any()


def test_layout_of_coefficients_is_that_of_scikit_learn():
    own = np.random.default_rng(0)
    X, codes = own.normal(size=(40, 2)), np.sort(own.integers(0, 4, size=40))
    model = sklearn.svm.SVC(C=1.0, gamma=1.0, tol=1e-9).fit(X, codes)
    reduction = Reduction.of("ovo", 4)
    coef = np.zeros((40, 6))  # in columns of problems
    for column, (index, sign) in enumerate(reduction.problems(codes)):
        pair = sklearn.svm.SVC(C=1.0, gamma=1.0, tol=1e-9).fit(X[index], sign)
        coef[index[pair.support_], column] = pair.dual_coef_[0]
    chosen = np.flatnonzero(coef.any(axis=1))
    assert np.array_equal(chosen, model.support_)
    np.testing.assert_allclose(reduction.dual_coef(coef[chosen], codes[chosen]), model.dual_coef_, atol=1e-5)
    flat = Reduction.of("ovo", 2).dual_coef(np.array([1.0, -1.0]), np.array([1, 0]))
    assert flat.shape == (1, 2)
    rest = Reduction.of("ovr", 3).dual_coef(np.ones((5, 3)), CODES[:5])
    assert rest.shape == (3, 5)


def test_class_weights():
    classes, codes = np.array(["a", "b", "c"]), CODES
    ones = np.ones(6)
    assert class_weights(None, classes, codes, ones).tolist() == [1.0, 1.0, 1.0]
    balanced = class_weights("balanced", classes, codes, ones)
    np.testing.assert_allclose(balanced, compute_class_weight("balanced", classes=np.arange(3), y=codes))
    assert class_weights({"b": 3}, classes, codes, ones).tolist() == [1.0, 3.0, 1.0]
    w = np.array([1.0, 2.0, 4.0, 1.0, 0.5, 0.5])
    mass = np.bincount(codes, weights=w)
    factors = class_weights("balanced", classes, codes, w)
    np.testing.assert_allclose(factors * mass, mass.sum() / 3)  # each class weighs the same
    np.testing.assert_allclose(factors, class_weights("balanced", classes, codes, 7.0 * w))


@pytest.mark.parametrize(
    "bad", [{"z": 1.0}, {"a": 0.0}, {"a": -1}, {"a": np.inf}, {"a": np.nan}, {"a": True}, {"a": "1"}]
)
def test_bad_class_weights(bad):
    with pytest.raises(ParameterError, match="class_weight"):
        class_weights(bad, np.array(["a", "b", "c"]), CODES, np.ones(6))


def test_a_class_that_weighs_nothing():
    with pytest.raises(TargetError, match="'b'"):
        class_weights(None, np.array(["a", "b", "c"]), CODES, np.where(CODES == 1, 0.0, 1.0))


def test_integer_labels_as_keys():
    assert class_weights({1: 2.0}, np.array([0, 1]), np.array([0, 1]), np.ones(2)).tolist() == [1.0, 2.0]
    assert class_weights({np.int64(1): 2.0}, np.array([0, 1]), np.array([0, 1]), np.ones(2)).tolist() == [1.0, 2.0]


def test_weights_of_samples():
    np.testing.assert_array_equal(sample_weights(None, 2), [1.0, 1.0])
    np.testing.assert_array_equal(sample_weights(3, 2), [3.0, 3.0])
    np.testing.assert_array_equal(sample_weights([0, 2], 2), [0.0, 2.0])


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1.0], r"shape \(1,\) for 2 samples"),
        ([[1.0, 2.0]], r"shape \(1, 2\) for 2 samples"),
        ([1.0, -1.0], r"sample_weight\[1\] = -1.0"),
        ([np.nan, 1.0], r"sample_weight\[0\] = nan"),
        ([np.inf, 1.0], r"sample_weight\[0\] = inf"),
        ([0.0, 0.0], "zero for all samples"),
        ([1.7e308, 1.7e308], "sums to inf"),
        (["a", "b"], "of type list was given"),
        (np.array(["a", "b"]), "of type ndarray of <U1 was given"),
        (np.ma.masked_array([1.0, 2.0], [False, True]), "1 masked values"),
    ],
)
def test_weights_that_are_none(weight, message):
    with pytest.raises(DomainError, match=message):
        sample_weights(weight, 2)


def test_reading_is_learning_and_encoding():
    class Halves(Target):
        def learn(self, y):
            return self

        def encode(self, y):
            return np.asarray(y) / 2.0

        def decode(self, f):
            return 2.0 * f

    target = Halves()
    learned, values = target.read([2.0, 4.0])
    assert learned is target and values.tolist() == [1.0, 2.0]
