"""From several classes to problems of two, and back."""

import numpy as np
import pytest
import sklearn.svm
from hypothesis import given
from hypothesis import strategies as st
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import _ovr_decision_function

from mercer.errors import ParameterError, TargetError
from mercer.estimators.reduction import Reduction, class_weights

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
