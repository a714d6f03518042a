"""Lasso on groups of columns."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from mercer.errors import ParameterError
from mercer.estimators.sparse.group_lasso import GroupLasso
from mercer.estimators.sparse.lasso import Lasso

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 9)) + 0.5 * rng.normal(size=(80, 1))
Y = X[:, :3] @ [1.0, -1.0, 2.0] + 0.5 * X[:, 3] + rng.normal(size=80) + 2.0
LABELS = np.repeat([0, 1, 2], 3)


def objective(b, b0, alpha, penalty):
    return 0.5 * np.sum((Y - X @ b - b0) ** 2) + alpha * penalty(b)


def group_penalty(b, l1=0.0):
    return (1 - l1) * sum(np.sqrt(3) * np.linalg.norm(b[g == LABELS]) for g in range(3)) + l1 * np.abs(b).sum()


@pytest.mark.parametrize("l1_ratio", [0.0, 0.3])
def test_no_point_nearby_is_better(l1_ratio):
    model = GroupLasso(LABELS, 12.0, l1_ratio=l1_ratio).fit(X, Y)
    best = objective(model.coef_, model.intercept_, 12.0, lambda b: group_penalty(b, l1_ratio))
    for size in (1.0, 1e-2, 1e-4):
        for d in rng.normal(size=(50, 10)):
            near = objective(
                model.coef_ + size * d[1:], model.intercept_ + size * d[0], 12.0, lambda b: group_penalty(b, l1_ratio)
            )
            assert near > best
    assert model.solution_.residual < 1e-10


def test_groups_come_and_go_together():
    for alpha in (5.0, 20.0, 40.0):
        model = GroupLasso(LABELS, alpha).fit(X, Y)
        used = [(model.coef_[g == LABELS] != 0).tolist() for g in range(3)]
        assert all(all(one) or not any(one) for one in used)
        assert model.active_groups_.tolist() == [g for g in range(3) if all(used[g])]
    assert model.active_groups_.tolist() == [0]


def test_single_columns_are_the_lasso():
    lasso = Lasso(10.0).fit(X, Y)
    assert np.allclose(GroupLasso(alpha=10.0).fit(X, Y).coef_, lasso.coef_, atol=1e-9)
    assert np.allclose(GroupLasso(LABELS, 10.0, l1_ratio=1.0).fit(X, Y).coef_, lasso.coef_, atol=1e-9)


def test_a_hierarchy():
    def penalty(b):
        return sum(np.sqrt(len(g)) * np.linalg.norm(b[g]) for g in (np.arange(9), np.arange(3, 9), np.arange(6, 9)))

    model = GroupLasso(LABELS, 15.0, hierarchy=[-1, 0, 1]).fit(X, Y)
    best = objective(model.coef_, model.intercept_, 15.0, penalty)
    for d in rng.normal(size=(100, 9)):
        assert objective(model.coef_ + 1e-3 * d, model.intercept_, 15.0, penalty) > best
    for alpha in np.geomspace(1, 80, 8):
        used = GroupLasso(LABELS, alpha, hierarchy=[-1, 0, 1]).fit(X, Y).active_groups_.tolist()
        assert used in ([], [0], [0, 1], [0, 1, 2])


def test_names_of_groups_and_lists():
    names = np.array(["c", "c", "c", "a", "a", "a", "b", "b", "b"])
    a = GroupLasso(names, 20.0).fit(X, Y)
    b = GroupLasso([[3, 4, 5], [6, 7, 8], [0, 1, 2]], 20.0).fit(X, Y)
    assert np.array_equal(a.coef_, b.coef_) and a.groups_.tolist() == [2, 2, 2, 0, 0, 0, 1, 1, 1]
    partly = GroupLasso([[0, 1, 2]], 20.0).fit(X, Y)
    assert partly.groups_.tolist() == [0, 0, 0, 1, 2, 3, 4, 5, 6]
    heavy = GroupLasso(LABELS, 20.0, group_weights=[100.0, 1.0, 1.0]).fit(X, Y)
    assert 0 not in heavy.active_groups_


def test_weights_are_repetition_and_sparse_columns():
    w = rng.integers(0, 4, 80)
    again = np.repeat(np.arange(80), w)
    one, many = GroupLasso(LABELS, 9.0).fit(X, Y, sample_weight=w), GroupLasso(LABELS, 9.0).fit(X[again], Y[again])
    assert np.allclose(one.coef_, many.coef_, atol=1e-8) and np.isclose(one.intercept_, many.intercept_)
    S = np.where(np.abs(X) > 1.0, X, 0.0)
    thin = GroupLasso(LABELS, 9.0).fit(sp.csr_array(S), Y)
    assert np.allclose(thin.coef_, GroupLasso(LABELS, 9.0).fit(S, Y).coef_, atol=1e-8)


def test_several_outputs():
    model = GroupLasso(LABELS, 9.0).fit(X, np.column_stack([Y, -Y]))
    assert np.allclose(model.coef_[0], -model.coef_[1], atol=1e-9) and model.predict(X).shape == (80, 2)


@pytest.mark.parametrize(
    "params",
    [{"groups": [0, 1]}, {"groups": [[0, 1], [1, 2]]}, {"groups": [[0], []]}, {"groups": [[99]]}, {"l1_ratio": 2.0},
     {"groups": LABELS, "hierarchy": [0, 1]}, {"groups": LABELS, "hierarchy": [1, 2, 0]},
     {"groups": LABELS, "hierarchy": [-1, 0, 3]}, {"groups": LABELS, "group_weights": [1.0, -1.0, 1.0]}, {"alpha": 0}],
    ids=str,
)  # fmt: skip
def test_bad_parameters(params):
    with pytest.raises(ParameterError):
        GroupLasso(**params).fit(X, Y)


def test_the_best_so_far():
    with pytest.warns(ConvergenceWarning, match="duality gap"):
        model = GroupLasso(LABELS, 1.0, max_time=1e-9).fit(X, Y)
    assert np.isfinite(model.dual_gap_) and model.dual_gap_ > 0
