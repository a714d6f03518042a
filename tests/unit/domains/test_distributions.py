"""Distributions: the forms they are given in, slices, joining, filling of missing entries, and what is refused."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from mercer.domains.distributions import Distributions
from mercer.errors import DomainError, ModelError
from mercer.testing.domains import check_domain

NAN = float("nan")
COV = np.array([[2.0, 0.5], [0.5, 1.0]])
MIXED = [
    [[0.0, 1.0], [2.0, 1.0]],
    ([1.0, 2.0], COV),
    [3.0, NAN],
    {"means": [[0.0, 0.0], [1.0, 1.0], [2.0, 0.0]], "covariances": [0.5, 1.0], "weights": [1.0, 2.0, 1.0]},
]


def test_forms():
    S = Distributions.pack(MIXED)
    S.check()
    assert S.sizes.tolist() == [2, 1, 1, 3] and S.extent == 2
    assert S.weights.tolist() == [0.5, 0.5, 1.0, 1.0, 0.25, 0.5, 0.25]
    np.testing.assert_array_equal(S.covariances[:4], [np.zeros((2, 2)), np.zeros((2, 2)), COV, np.zeros((2, 2))])
    np.testing.assert_array_equal(S.covariances[4:], [np.diag([0.5, 1.0])] * 3)
    assert S.missing.tolist() == [[False] * 2] * 3 + [[False, True]] + [[False] * 2] * 3
    same = [
        Distributions.pack([form])
        for form in (
            ([1.0, 2.0], COV),
            SimpleNamespace(mean=np.array([1.0, 2.0]), cov=COV),
            {"mean": [1.0, 2.0], "cov": COV},
            {"means": [[1.0, 2.0]], "covariances": [COV]},
        )
    ]
    assert all(map(np.array_equal, same[0].arrays, one.arrays) for one in same)
    assert Distributions.pack([([1.0, 2.0], 3.0)]).covariances.tolist() == [[3.0, 3.0]]
    assert Distributions.pack([([1.0], [[3.0]])]).covariances.ravel().tolist() == [3.0]
    assert Distributions.pack(S) is S


def test_tables_of_points():
    table = [[1.0, NAN], [3.0, 4.0]]
    masked = np.ma.masked_invalid(np.array(table))
    for form in (
        np.array(table),
        table,
        pd.DataFrame(table),
        [np.array([1.0, None]), [3.0, 4.0]],
        [masked[0], masked[1]],
    ):
        S = Distributions.pack(form)
        assert S.extent == 0 and S.means.tolist() == [[1.0, 0.0], [3.0, 4.0]]
        assert S.missing.tolist() == [[False, True], [False, False]]
    assert Distributions.pack(np.zeros((2, 3, 4))).sizes.tolist() == [3, 3]


def test_the_laws_of_domains_hold():
    check_domain(Distributions, MIXED)


def test_rows_and_joined_collections():
    S = Distributions.pack(MIXED)
    means, covariances, weights = S[np.array([3, 0])].component(0)
    assert np.array_equal(means, MIXED[3]["means"]) and weights.tolist() == [0.25, 0.5, 0.25]
    assert np.array_equal(covariances, S.covariances[4:])
    points = Distributions.pack([[5.0, 6.0]])
    joined = points.concat(S[1:3])
    joined.check()
    assert joined.extent == 2 and joined.missing.tolist() == [[False] * 2, [False] * 2, [False, True]]
    assert points.concat(points).missing.shape == (2, 0)
    with pytest.raises(DomainError, match="on 2 columns are compared with distributions on 1"):
        S.concat(Distributions.pack([[1.0]]))


def test_what_is_told_of_a_collection():
    assert repr(Distributions.pack(MIXED)) == (
        "<Distributions: 4 samples, 7 components, 2 columns, covariances, 1 missing entry>"
    )
    assert repr(Distributions.pack([[1.0]])) == "<Distributions: 1 sample, 1 components, 1 columns, points>"


def test_missing_entries_filled_by_columns_or_by_conditioning():
    mean, S = np.array([1.0, -1.0]), Distributions.pack([[3.0, NAN], [NAN, NAN], [1.0, 2.0]])
    plain = S.filled(mean, np.array([4.0, 9.0]))
    assert plain.means.tolist() == [[3.0, -1.0], [1.0, -1.0], [1.0, 2.0]] and not plain.has_missing
    assert plain.covariances.tolist() == [[0.0, 9.0], [4.0, 9.0], [0.0, 0.0]]
    full = S.filled(mean, COV)
    np.testing.assert_allclose(full.means, [[3.0, -1.0 + 0.25 * 2.0], [1.0, -1.0], [1.0, 2.0]])
    np.testing.assert_allclose(full.covariances, [np.diag([0.0, 1.0 - 0.125]), COV, np.zeros((2, 2))])
    assert plain.filled(mean, COV) is plain
    mixed = Distributions.pack([([0.0, 0.0], COV), [NAN, 1.0]]).filled(mean, np.array([4.0, 9.0]))
    np.testing.assert_array_equal(mixed.covariances, [COV, np.diag([4.0, 0.0])])


def test_conditioning_is_that_of_a_joint_gaussian():
    """The precision of what is missing is the block of the precision matrix."""
    rng = np.random.default_rng(0)
    B = rng.normal(size=(5, 5))
    C, mean, x = B @ B.T, rng.normal(size=5), rng.normal(size=5)
    lost = np.array([True, False, True, False, True])
    S = Distributions.pack([np.where(lost, NAN, x)]).filled(mean, C)
    P = np.linalg.inv(C)
    inner = np.linalg.inv(P[np.ix_(lost, lost)])
    np.testing.assert_allclose(S.covariances[0][np.ix_(lost, lost)], inner, rtol=1e-8)
    expected = mean[lost] - inner @ P[np.ix_(lost, ~lost)] @ (x - mean)[~lost]
    np.testing.assert_allclose(S.means[0][lost], expected, rtol=1e-8)


@pytest.mark.parametrize(
    ("X", "told"),
    [
        ("ab", "str was given"),
        ([], "0 sample"),
        (np.zeros(3), r"An array of shape \(3,\).*Wrap a single one"),
        ([[1.0], None], "Sample 1 is of type None"),
        ([[1.0], ["a"]], "Sample 1 has values that are not a rectangle of real numbers"),
        ([[[1.0], [1.0, 2.0]]], "Sample 0 has values that are not a rectangle"),
        ([[1.0, 2.0], [1.0]], "Sample 0 has 2 columns, sample 1 has 1"),
        ([[np.inf]], "Sample 0 has an infinite value"),
        ([[]], r"Sample 0 has values of shape \(0,\)"),
        ([{"mu": [1.0]}], "Sample 0 is a dict with.*Name its means"),
        ([([1.0, 2.0], [1.0, -1.0])], "Sample 0 has covariances that are not symmetric and positive semi-definite"),
        ([([1.0, 2.0], [[1.0, 2.0], [2.0, 1.0]])], "not symmetric and positive semi-definite"),
        ([([1.0, 2.0], [[1.0, 0.5], [0.0, 1.0]])], "not symmetric and positive semi-definite"),
        ([([1.0, 2.0], [1.0, 2.0, 3.0])], r"Sample 0 has 1 means of 2 columns and covariances of shape \(3,\)"),
        ([([1.0, NAN], [1.0, 2.0])], "Sample 0 has missing entries and covariances"),
        ([{"means": np.eye(2), "covariances": np.eye(2)}], r"which may be one matrix or variances.*\(m, d, d\)"),
        ([{"means": [[1.0]], "weights": [0.0]}], "Sample 0 has 1 components and the weights"),
    ],
)
def test_refused(X, told):
    with pytest.raises(DomainError, match=f"(?s){told}"):
        Distributions.pack(X)


def test_a_damaged_file_is_found_out():
    S = Distributions.pack(MIXED)
    for bad in (
        replace(S, offsets=S.offsets[:-1]),
        replace(S, covariances=S.covariances[:, :1]),
        replace(S, weights=-S.weights),
        replace(S, means=S.means * NAN),
        replace(S, missing=S.missing[:2]),
        replace(S, means=S.means.astype(np.float32)),
    ):
        with pytest.raises(ModelError, match="distributions whose parts do not fit"):
            bad.check()
