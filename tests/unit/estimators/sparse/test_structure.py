"""Graphs of variables, and which of them have changed."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import multivariate_normal, norm
from sklearn.covariance import GraphicalLasso
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso as Reference
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer.errors import DomainError, ParameterError
from mercer.estimators.sparse.structure import GraphicalStructure, conditional_divergence

rng = np.random.default_rng(0)
CHAIN = np.eye(6) + 0.4 * (np.eye(6, k=1) + np.eye(6, k=-1))
X = rng.multivariate_normal(np.arange(6), np.linalg.inv(CHAIN), size=400)


@pytest.mark.slow  # the default is looked at in tests/contract
@parametrize_with_checks([GraphicalStructure(method="neighbourhood")])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("alpha", [0.02, 0.1])
def test_scikit_learn(alpha):
    ours = GraphicalStructure(alpha).fit(X)
    theirs = GraphicalLasso(alpha=alpha, tol=1e-8, enet_tol=1e-9, max_iter=1000).fit(X)
    assert np.allclose(ours.precision_, theirs.precision_, atol=1e-4)
    assert np.allclose(ours.location_, theirs.location_) and ours.residual_ <= 1e-10


def test_one_lasso_for_each_variable():
    model = GraphicalStructure(0.1, method="neighbourhood").fit(X)
    for j in range(6):
        others = np.delete(np.arange(6), j)
        lasso = Reference(alpha=0.1, tol=1e-12, max_iter=100_000).fit(X[:, others], X[:, j])
        assert np.allclose(model.coef_[others, j], lasso.coef_, atol=1e-8) and model.coef_[j, j] == 0.0
    assert model.residual_ < 1e-10


@pytest.mark.parametrize("method", ["graphical_lasso", "neighbourhood"])
def test_a_chain_is_found(method):
    many = np.random.default_rng(2).multivariate_normal(np.zeros(6), np.linalg.inv(CHAIN), size=20_000)
    model = GraphicalStructure(0.05, method=method, rule="and").fit(many)
    chain = [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5]]
    # the penalised likelihood adds edges between second neighbours of so strong a chain, however many samples there are
    assert all(edge in model.edges_.tolist() for edge in chain) and (method[0] == "g" or len(model.edges_) == 5)
    P, root = model.partial_correlations_, np.sqrt(np.diag(model.precision_))
    assert np.allclose(P, -model.precision_ / np.outer(root, root) + 2 * np.eye(6))
    assert (P[np.arange(5), np.arange(1, 6)] < -0.1).all() and np.linalg.eigvalsh(model.precision_)[0] > 0
    assert np.allclose(model.covariance_ @ model.precision_, np.eye(6), atol=1e-8)


def test_rules():
    both = GraphicalStructure(0.06, method="neighbourhood", rule="and").fit(X)
    either = GraphicalStructure(0.06, method="neighbourhood", rule="or").fit(X)
    used = both.coef_ != 0.0
    assert len(both.edges_) == np.triu(used & used.T).sum() < len(either.edges_) == np.triu(used | used.T).sum()


@pytest.mark.parametrize("method", ["graphical_lasso", "neighbourhood"])
def test_weights_sparse_rows_and_threads(method):
    w = rng.integers(0, 4, 400)
    again = np.repeat(np.arange(400), w)
    one = GraphicalStructure(0.05, method=method).fit(X, sample_weight=w)
    many = GraphicalStructure(0.05, method=method).fit(X[again])
    assert np.allclose(one.precision_, many.precision_, atol=1e-6) and np.array_equal(one.edges_, many.edges_)
    thin = GraphicalStructure(0.05, method=method).fit(sp.csr_array(X))
    dense = GraphicalStructure(0.05, method=method, n_threads=1).fit(X)
    assert np.allclose(thin.precision_, dense.precision_, atol=1e-6)
    two = GraphicalStructure(0.05, method=method, n_threads=2).fit(X)
    assert np.array_equal(two.precision_, dense.precision_)


def test_standardised_columns():
    scale = np.array([1.0, 10.0, 0.1, 5.0, 1e3, 1.0])
    a = GraphicalStructure(0.1, standardize=True).fit(X)
    b = GraphicalStructure(0.1, standardize=True).fit(X * scale)
    assert np.array_equal(a.edges_, b.edges_) and np.allclose(a.precision_, b.precision_ * np.outer(scale, scale))
    assert np.allclose(a.partial_correlations_, b.partial_correlations_)
    c = GraphicalStructure(0.1, standardize=True, method="neighbourhood").fit(X * scale)
    d = GraphicalStructure(0.1, standardize=True, method="neighbourhood").fit(X)
    assert np.allclose(c.coef_ * np.outer(scale, 1 / scale), d.coef_, atol=1e-8)


def test_densities():
    model = GraphicalStructure(0.05).fit(X)
    joint = multivariate_normal(model.location_, model.covariance_)
    assert np.allclose(model.score_samples(X[:9]), joint.logpdf(X[:9])) and np.isclose(
        model.score(X), joint.logpdf(X).mean()
    )
    x, C, m = X[3], model.covariance_, model.location_
    for i in range(6):
        o = np.delete(np.arange(6), i)
        gain = C[i, o] @ np.linalg.inv(C[np.ix_(o, o)])
        given = norm(m[i] + gain @ (x[o] - m[o]), np.sqrt(C[i, i] - gain @ C[o, i]))
        assert np.isclose(model.variable_scores(X[3:4])[0, i], -given.logpdf(x[i]))


def test_a_variable_out_of_place_stands_out():
    model = GraphicalStructure(0.05).fit(X)
    odd = X[:1].copy()
    odd[0, 2] += 8.0
    assert np.argmax(model.variable_scores(odd)[0]) == 2
    assert model.score_samples(odd)[0] < model.score_samples(X).min()


def test_the_divergence_of_conditionals_is_an_expectation():
    A, B = CHAIN, np.linalg.inv(np.diag([1.0, 2.0, 1.0, 1.0, 0.5, 1.0]) + 0.2)
    C = np.linalg.inv(A)
    found = conditional_divergence(C, A, B)
    x = np.random.default_rng(1).multivariate_normal(np.zeros(6), C, size=200_000)
    pulls = [(x @ M) ** 2 / np.diag(M) - np.log(np.diag(M)) for M in (A, B)]
    sampled = 0.5 * (pulls[1] - pulls[0]).mean(0)  # the mean of log p_A - log p_B of a variable given the others
    assert np.allclose(found, sampled, atol=0.02) and (found >= 0).all()
    assert np.allclose(conditional_divergence(C, A, A), 0.0, atol=1e-12)


@pytest.mark.parametrize("method", ["graphical_lasso", "neighbourhood"])
def test_the_variable_that_has_changed_has_the_largest_score(method):
    model = GraphicalStructure(0.05, method=method).fit(X)
    other = rng.multivariate_normal(np.zeros(6), np.linalg.inv(CHAIN), size=400)
    quiet = model.anomaly_score(other)
    other[:, 0] = rng.normal(size=400)  # no longer depends on its neighbour
    scores = model.anomaly_score(other)
    assert scores.shape == (6,) and scores[0] > 3 * quiet.max() and set(np.argsort(scores)[-2:]) <= {0, 1}
    assert model.anomaly_score(X).max() < 1e-6
    with pytest.raises(ValueError, match="features"):
        model.anomaly_score(X[:, :3])


def test_warm_starts_and_the_best_so_far():
    model = GraphicalStructure(0.05, warm_start=True).fit(X)
    first = model.n_iter_
    assert model.fit(X).n_iter_ <= first
    with pytest.warns(ConvergenceWarning, match="gap"):
        rough = GraphicalStructure(0.001, tol=1e-14, max_iter=1).fit(X)
    assert rough.residual_ > 1e-14 and np.isfinite(rough.precision_).all()
    with pytest.warns(ConvergenceWarning, match="time ran out"):
        late = GraphicalStructure(0.01, method="neighbourhood", max_time=1e-9, n_threads=1).fit(X)
    assert not late.coef_[:, -1].any() and late.residual_ > 0


def test_columns_that_do_not_vary():
    still = X.copy()
    still[:, 2] = 5.0
    with pytest.raises(DomainError, match="column 2 does not vary"):
        GraphicalStructure().fit(still)
    with pytest.raises(ParameterError):
        GraphicalStructure(alpha=0.0).fit(X)


def test_more_variables_than_samples():
    wide = rng.normal(size=(15, 30))
    for method in ("graphical_lasso", "neighbourhood"):
        model = GraphicalStructure(0.3, method=method).fit(wide)
        assert np.linalg.eigvalsh(model.precision_)[0] > 0
