"""Lasso on columns."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso as Reference
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer.errors import DomainError, MemoryBudgetError, ParameterError
from mercer.estimators.sparse.lasso import SOLVERS, Lasso, lasso_path

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 15)) + rng.normal(size=(60, 1))
Y = X[:, :3] @ [1.0, -2.0, 0.5] + 0.3 * rng.normal(size=60) + 4.0
every_solver = pytest.mark.parametrize("solver", SOLVERS)


@pytest.mark.slow  # the default is looked at in tests/contract
@parametrize_with_checks([Lasso(solver="lars"), Lasso(solver="linear_program")])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@every_solver
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_scikit_learn_with_its_alpha_times_the_number_of_samples(solver, fit_intercept):
    ours = Lasso(alpha=6.0, solver=solver, fit_intercept=fit_intercept).fit(X, Y)
    theirs = Reference(alpha=0.1, fit_intercept=fit_intercept, tol=1e-13, max_iter=100_000).fit(X, Y)
    assert np.allclose(ours.coef_, theirs.coef_, atol=1e-8) and np.isclose(ours.intercept_, theirs.intercept_)
    assert np.allclose(ours.predict(X), theirs.predict(X), atol=1e-8) and ours.dual_gap_ < 1e-8


def test_the_three_solvers_agree():
    models = [Lasso(alpha=2.0, solver=solver).fit(X, Y) for solver in SOLVERS]
    for other in models[1:]:
        assert np.abs(other.coef_ - models[0].coef_).max() < 1e-8
    assert 0 < np.count_nonzero(models[0].coef_) < 15


@every_solver
def test_weights_are_repetition_and_zero_is_left_out(solver):
    w = rng.integers(0, 4, 60)
    again = np.repeat(np.arange(60), w)
    one, many = Lasso(2.0, solver=solver).fit(X, Y, sample_weight=w), Lasso(2.0, solver=solver).fit(X[again], Y[again])
    assert np.allclose(one.coef_, many.coef_, atol=1e-9) and np.isclose(one.intercept_, many.intercept_)


@every_solver
def test_sparse_columns(solver):
    S = np.where(np.abs(X) > 1.0, X, 0.0)
    dense, thin = Lasso(2.0, solver=solver).fit(S, Y), Lasso(2.0, solver=solver).fit(sp.csr_matrix(S), Y)
    assert np.allclose(dense.coef_, thin.coef_, atol=1e-9) and np.allclose(dense.predict(S), thin.predict(S))


def test_several_outputs_are_several_fits():
    both = np.column_stack([Y, Y**2])
    model = Lasso(2.0).fit(X, both)
    assert model.coef_.shape == (2, 15) and model.intercept_.shape == (2,) and model.sparse_coef_.shape == (2, 15)
    for k in range(2):
        single = Lasso(2.0).fit(X, both[:, k])
        assert np.allclose(model.coef_[k], single.coef_) and np.allclose(model.predict(X)[:, k], single.predict(X))


def test_the_scale_of_y_does_not_matter():
    small = Lasso(2.0).fit(X, Y)
    large = Lasso(2.0 * 2.0**600).fit(X, Y * 2.0**600)
    assert np.array_equal(large.coef_, small.coef_ * 2.0**600)


def test_the_whole_path():
    path = lasso_path(X, Y, method="lars")
    assert path.exact and path.alphas[-1] == 0.0 and not path.coefs[0].any()
    for alpha in (0.5, 3.0, 20.0):
        coef, intercept = path.at(alpha)
        model = Lasso(alpha).fit(X, Y)
        assert np.allclose(coef, model.coef_, atol=1e-8) and np.isclose(intercept, model.intercept_)


def test_a_path_on_a_grid():
    w = rng.uniform(0.5, 2.0, 60)
    path = lasso_path(X, Y, [1.0, 10.0, 4.0], sample_weight=w)
    assert path.alphas.tolist() == [10.0, 4.0, 1.0] and path.gaps.max() < 1e-6
    lars = lasso_path(X, Y, [1.0, 10.0, 4.0], sample_weight=w, method="lars")
    assert np.allclose(path.coefs, lars.coefs, atol=1e-8) and np.allclose(path.intercepts, lars.intercepts)
    with pytest.raises(ParameterError, match="grid"):
        path.at(2.0)
    usual = lasso_path(X, Y)
    assert len(usual.alphas) == 100 and np.count_nonzero(usual.coefs[0]) <= 1 < np.count_nonzero(usual.coefs[-1])


@pytest.mark.parametrize("alphas", [[], [0.0, 1.0], [-1.0], [np.nan]])
def test_bad_alphas(alphas):
    with pytest.raises(ParameterError, match="positive"):
        lasso_path(X, Y, alphas)


@pytest.mark.parametrize(
    "params",
    [{"alpha": 0.0}, {"alpha": -1}, {"solver": "cd"}, {"tol": 0}, {"max_iter": 0}, {"fit_intercept": 2}],
    ids=str,
)
def test_bad_parameters(params):
    with pytest.raises(ParameterError):
        Lasso(**params).fit(X, Y)


def test_numbers_that_are_too_large():
    with pytest.raises(DomainError):
        Lasso().fit(X * 1e200, Y)
    with pytest.raises(MemoryBudgetError):
        Lasso(memory=1000).fit(X, Y)


def test_the_best_so_far_is_kept_with_its_gap():
    with pytest.warns(ConvergenceWarning, match="duality gap"):
        model = Lasso(1e-3, solver="lars", max_iter=2).fit(X, Y)
    assert np.count_nonzero(model.coef_) <= 3 and model.dual_gap_ > 0 and not model.solution_.status.converged
    with pytest.warns(ConvergenceWarning, match="time ran out"):
        late = Lasso(1e-3, max_time=1e-9).fit(X, Y)
    assert np.isfinite(late.dual_gap_) and late.predict(X).shape == (60,)


def test_progress_and_a_failed_fit():
    class Watch:
        seen = 0

        def setup(self, estimator, context):
            pass

        def teardown(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context):
            Watch.seen += context.task_name == "step"
            return False

    model = Lasso().set_callbacks(Watch()).fit(X, Y)
    before = model.predict(X)
    assert Watch.seen == 100
    with pytest.raises(ValueError, match="NaN"):
        model.fit(X * np.nan, Y)
    assert np.array_equal(model.predict(X), before)
