"""Ranking: the optimum, groups that are not compared."""

import numpy as np
import pytest
from sklearn.metrics import ndcg_score
from sklearn.model_selection import GroupKFold, cross_val_score

from mercer import RankSVM
from mercer.errors import ConvergenceWarning, ParameterError, TargetError
from mercer.estimators.structured.rank_svm import mean_ndcg, pair_agreement
from mercer.gram import Nystrom, Tiles
from mercer.kernels import Constant, Gaussian, Linear, Match, Spectrum, Tensor

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
GROUPS = np.repeat([3, 1, 2, 7], 10)
Y = np.digitize(X[:, 0] + 0.3 * RNG.normal(size=40), [-0.5, 0.5]) + GROUPS % 2  # relevances of groups differ


def all_pairs(y, groups):
    same = groups[:, None] == groups
    return np.argwhere(same & (y[:, None] > y))


@pytest.mark.parametrize("margin", ["equal", "difference"])
@pytest.mark.parametrize("share", ["pairs", "samples"])
@pytest.mark.parametrize("gain", ["equal", "linear", "exponential"])
def test_the_optimum_of_a_linear_ranking(gain, share, margin):
    model = RankSVM(Linear(), C=0.1, gain=gain, share=share, margin=margin).fit(X, Y, GROUPS)
    pairs = all_pairs(Y, GROUPS)
    D = np.array([X[i] - X[j] for i, j in pairs])
    G = {"equal": None, "linear": Y, "exponential": 2.0**Y}[gain]
    c = np.ones(len(D)) if G is None else G[pairs[:, 0]] - G[pairs[:, 1]]
    c = c / 10.0 if share == "samples" else c  # groups of ten
    wide = Y[pairs[:, 0]] - Y[pairs[:, 1]] if margin == "difference" else 1.0
    w = model.predict(np.eye(3))
    slack = np.maximum(wide - D @ w, 0.0)
    # the derivative is zero, to what rounding leaves of it at the least value that can be told from others
    first = np.linalg.norm(2.0 * 0.1 * (c * wide) @ D)
    np.testing.assert_allclose(w, 2.0 * 0.1 * (c * slack) @ D, atol=10.0 * np.sqrt(np.finfo(float).eps) * first)
    assert model.objective_ == pytest.approx(0.5 * w @ w + 0.1 * (c * slack**2).sum())
    assert model.n_pairs_ == len(D)


@pytest.mark.parametrize("share", ["pairs", "samples"])
def test_least_squares_of_differences(share):
    model = RankSVM(Linear(), C=0.1, margin="exact", share=share).fit(X, Y, GROUPS)
    pairs = np.argwhere((GROUPS[:, None] == GROUPS) & np.tri(40, k=-1, dtype=bool))
    D, z = X[pairs[:, 0]] - X[pairs[:, 1]], Y[pairs[:, 0]] - Y[pairs[:, 1]]
    C = 0.2 / (10.0 if share == "samples" else 1.0)  # groups of ten
    wanted = np.linalg.solve(np.eye(3) + C * D.T @ D, C * D.T @ z)
    np.testing.assert_allclose(model.predict(np.eye(3)), wanted, atol=1e-6)
    assert model.n_pairs_ == len(pairs)
    with pytest.raises(ParameterError, match="margin='difference'"):
        RankSVM(margin="exact", gain="linear").fit(X, Y, GROUPS)


def test_groups_are_not_compared_and_go_through_model_selection():
    inside = RankSVM(Linear()).fit(X, Y, GROUPS)
    across = RankSVM(Linear()).fit(X, Y)
    assert inside.n_pairs_ < across.n_pairs_
    assert inside.score(X, Y, GROUPS) > 0.8
    shifted = RankSVM(Linear()).fit(X, Y + 10 * GROUPS, GROUPS)
    np.testing.assert_allclose(shifted.predict(X), inside.predict(X))
    found = cross_val_score(RankSVM(Linear()), X, Y, cv=GroupKFold(4).split(X, Y, GROUPS))
    assert len(found) == 4 and np.all(found > 0.5)


def test_conjoint_analysis_ranks_for_each_user():
    users = np.repeat(np.eye(4), 10, axis=0)
    pairs = list(zip(X, users, strict=True))
    # what all users have in common, and what is each one's own: Phi(x, u) = (x, x u')
    kernel = Tensor(Linear(), Linear() + Constant(1.0))
    model = RankSVM(kernel, C=0.1).fit(pairs, Y, GROUPS)
    features = np.column_stack([X, np.einsum("ni,nj->nij", X, users).reshape(40, -1)])
    plain = RankSVM(Linear(), C=0.1).fit(features, Y, GROUPS)
    assert model.objective_ == pytest.approx(plain.objective_, rel=1e-8)
    np.testing.assert_allclose(model.predict(pairs), plain.predict(features), atol=1e-5)
    named = [(x, user) for x, user in zip(X, np.repeat(list("abcd"), 10), strict=True)]
    by_name = RankSVM(Tensor(Linear(), Match() + Constant(1.0)), C=0.1).fit(named, Y, GROUPS)
    np.testing.assert_allclose(by_name.predict(named), plain.predict(features), atol=1e-5)


def test_however_the_gram_is_held_and_weights_are_repetitions():
    whole = RankSVM(Gaussian(1.0)).fit(X, Y, GROUPS)
    for gram in (Tiles(), Nystrom(40, random_state=0)):
        model = RankSVM(Gaussian(1.0), gram=gram).fit(X, Y, GROUPS)
        np.testing.assert_allclose(model.predict(X), whole.predict(X), atol=1e-5)
    w = RNG.integers(0, 3, 40)
    again = np.repeat(np.arange(40), w)
    for options in ({}, {"margin": "difference", "share": "samples"}):
        a = RankSVM(Gaussian(1.0), **options).fit(X, Y, GROUPS, sample_weight=w)
        b = RankSVM(Gaussian(1.0), **options).fit(X[again], Y[again], GROUPS[again])
        np.testing.assert_allclose(a.predict(X), b.predict(X), atol=1e-6)


def test_measures():
    scores = RNG.random(40)
    parts = [np.flatnonzero(g == GROUPS) for g in (1, 2, 3, 7)]
    wanted = np.mean([ndcg_score(2.0 ** Y[part][None] - 1.0, scores[part][None], k=5) for part in parts])
    assert mean_ndcg(Y, scores, GROUPS, k=5) == pytest.approx(wanted)
    pairs = all_pairs(Y, GROUPS)
    assert pair_agreement(Y, scores, GROUPS) == pytest.approx(np.mean([scores[i] > scores[j] for i, j in pairs]))
    assert pair_agreement([0, 1], [0.5, 0.5]) == 0.5
    with pytest.raises(TargetError, match="no two samples"):
        pair_agreement([1, 1], [0.0, 1.0])
    with pytest.raises(TargetError, match="relevant"):
        mean_ndcg([0, 0], [0.0, 1.0])


def test_bad_groups_and_an_early_end():
    for bad in (GROUPS[:3], [None] * 40):
        with pytest.raises(TargetError, match="one group per sample"):
            RankSVM().fit(X, Y, bad)
    with pytest.warns(ConvergenceWarning, match="above its minimum"):
        RankSVM(Gaussian(1.0), C=100.0, max_iter=1).fit(X, Y)
    with pytest.raises(TargetError, match="grades up to"):
        RankSVM(gain="exponential").fit(X, Y + 100.0)


@pytest.mark.parametrize("n", [1, 6])
def test_pairs_that_are_all_alike_have_no_order(n):
    """Then nothing supports the function, which is zero: a product with no pairs at all."""
    kernel = Gaussian(1.0).tensor(Spectrum(1))
    model = RankSVM(kernel).fit([((0.0,), "ab")] * n, np.arange(float(n)))
    assert model.predict([((0.0,), "ab"), ((1.0,), "b")]).tolist() == [0.0, 0.0]
