"""Kernel ridge regression."""

import time
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge as Reference

from mercer import KernelRidge
from mercer.errors import CapabilityError, DomainError, IndefiniteWarning, ParameterError, TimeBudgetError
from mercer.gram import Dense, Features, Tiles
from mercer.kernels import Gaussian, Linear, Logarithmic, Multiquadric, NegativeDistance, Polynomial, Sigmoid
from mercer.solvers import Cholesky, ConjugateGradient

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 4))
Y = np.sin(X[:, 0]) + X[:, 1] ** 2
T = rng.normal(size=(15, 4))


@pytest.mark.parametrize(
    "params",
    [
        {"kernel": "linear"},
        {"kernel": "rbf"},
        {"kernel": "rbf", "gamma": 0.2},
        {"kernel": "poly"},
        {"kernel": "poly", "degree": 2, "coef0": 0.5, "gamma": 0.3},
        {"kernel": "laplacian", "gamma": 0.4},
    ],
    ids=str,
)
def test_words_mean_what_they_mean_in_scikit_learn(params):
    ours, theirs = KernelRidge(alpha=0.3, **params).fit(X, Y), Reference(alpha=0.3, **params).fit(X, Y)
    assert np.allclose(ours.predict(T), theirs.predict(T), rtol=1e-6, atol=1e-8)


def test_several_outputs_are_several_fits():
    both = np.stack([Y, Y**2], axis=1)
    model = KernelRidge(Gaussian(2.0), alpha=0.1).fit(X, both)
    for column in range(2):
        single = KernelRidge(Gaussian(2.0), alpha=0.1).fit(X, both[:, column])
        assert np.allclose(model.predict(T)[:, column], single.predict(T), rtol=1e-9)
    assert KernelRidge().fit(X, Y[:, None]).predict(T).shape == (15, 1)


def test_fitted_attributes_say_what_was_done():
    model = KernelRidge(alpha=0.1).fit(X, Y)
    assert isinstance(model.kernel_, Gaussian) and model.gram_ == Dense() and model.solver_ == Cholesky()
    assert model.solution_.residual < 1e-10 and model.solution_.jitter == 0.0 and model.solution_.state is None
    assert KernelRidge(Linear()).fit(X, Y).gram_ == Features()
    assert KernelRidge(Gaussian(1.0), memory=20_000).fit(X, Y).gram_ == Tiles()


def test_the_default_widths_are_standard_deviations():
    scales = np.geomspace(1e-3, 1e3, X.shape[1])
    lengths = KernelRidge().fit(X * scales, Y).kernel_.length_scale
    np.testing.assert_allclose(lengths, scales * X.std(axis=0) * np.sqrt(X.shape[1] / 2.0))


def test_zero_weights_leave_samples_out():
    w = np.ones(80)
    w[::3] = 0.0
    model = KernelRidge(Gaussian(2.0), leave_one_out=True).fit(X, Y, sample_weight=w)
    assert np.all(model.dual_coef_[::3] == 0.0) and len(model.expansion_.samples) == np.sum(w > 0)
    assert np.allclose(model.loo_predictions_[::3], model.predict(X[::3]))


@pytest.mark.parametrize(
    ("weight", "text"),
    [
        (-np.ones(80), "not negative"),
        (np.full(80, np.nan), "finite"),
        (np.zeros(80), "zero for all"),
        (np.ones(79), "one weight per sample"),
        (["a"] * 80, "one real number per sample"),
    ],
)
def test_bad_weights(weight, text):
    with pytest.raises(DomainError, match=text):
        KernelRidge().fit(X, Y, sample_weight=weight)


@pytest.mark.parametrize(
    "params",
    [
        {"alpha": 0.0},
        {"alpha": -1.0},
        {"alpha": np.nan},
        {"alpha": "big"},
        {"kernel": "rfb"},
        {"kernel": 3},
        {"kernel": Gaussian(-1.0)},
        {"kernel": Gaussian(1.0), "gamma": 1.0},
        {"gamma": 1.0},
        {"kernel": "rbf", "gamma": -1.0},
        {"gram": "dense"},
        {"solver": 3},
        {"memory": "lots"},
        {"max_time": 0},
        {"n_threads": 0},
        {"leave_one_out": "yes"},
    ],
    ids=str,
)
def test_bad_parameters(params):
    with pytest.raises(ParameterError):
        KernelRidge(**params).fit(X, Y)


def test_kernels_that_are_not_positive_definite():
    with pytest.raises(CapabilityError, match="order 1"):
        KernelRidge(NegativeDistance()).fit(X, Y)
    with pytest.warns(IndefiniteWarning):
        KernelRidge(Sigmoid(scale=0.01), alpha=10.0).fit(X, Y)


def test_leave_one_out_needs_a_factor():
    with pytest.raises(CapabilityError, match="Cholesky"):
        KernelRidge(Gaussian(1.0), gram=Tiles(), leave_one_out=True).fit(X, Y)


def test_a_solver_that_does_not_fit_the_gram():
    with pytest.raises(CapabilityError):
        KernelRidge(Gaussian(1.0), gram=Tiles(), solver=__import__("mercer.solvers").solvers.Woodbury()).fit(X, Y)


def test_no_convergence_is_told():
    solver = ConjugateGradient(tol=1e-12, max_iter=2)
    with pytest.warns(ConvergenceWarning, match="residual"):
        KernelRidge(Gaussian(3.0), alpha=1e-6, gram=Tiles(), solver=solver).fit(X, Y)


def test_time_over_in_the_gram_matrix_has_no_result():
    big = rng.normal(size=(4000, 5))
    model = KernelRidge(Gaussian(1.0), gram=Dense(), max_time=1e-3)
    with pytest.raises(TimeBudgetError, match="max_time"):
        model.fit(big, big[:, 0])
    assert not hasattr(model, "expansion_")


def test_time_over_in_a_factorisation_has_no_result(monkeypatch):
    monkeypatch.setattr(Cholesky, "solve", lambda self, problem: time.sleep(30))  # a long call that cannot be asked
    model = KernelRidge(Gaussian(1.0), gram=Dense(), max_time=0.3)
    began = time.perf_counter()
    with pytest.raises(TimeBudgetError, match=r"max_time=0\.3 s during the solver"):
        model.fit(X, Y)
    assert time.perf_counter() - began < 25.0 and not hasattr(model, "expansion_")


def test_time_over_in_the_solver_returns_the_best_so_far():
    big = rng.normal(size=(1500, 5))
    model = KernelRidge(Gaussian(2.0), alpha=1e-9, gram=Tiles(), solver=ConjugateGradient(tol=1e-14), max_time=0.5)
    with pytest.warns(ConvergenceWarning, match="time ran out"):
        model.fit(big, np.sin(big[:, 0]))
    assert np.all(np.isfinite(model.predict(big[:5])))


def test_a_failed_fit_leaves_the_former_one():
    model = KernelRidge(Gaussian(2.0)).fit(X, Y)
    before = model.predict(T)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.full((5, 9), np.nan), np.ones(5))
    assert np.array_equal(model.predict(T), before) and model.n_features_in_ == 4


def test_progress_reaches_callbacks_and_they_can_stop():
    seen = []

    class Watch:
        def setup(self, estimator, context):
            seen.append("setup")

        def teardown(self, estimator, context):
            seen.append("teardown")

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context):
            seen.append(context.task_name)
            return False

    KernelRidge(Gaussian(2.0)).set_callbacks(Watch()).fit(X, Y)
    assert seen[0] == "setup" and seen[-1] == "teardown" and seen.count("step") == 100 and seen[-2] == "fit"

    class Stop(Watch):
        def on_fit_task_end(self, estimator, context):
            return True

    stopped = KernelRidge(Gaussian(2.0), gram=Tiles(), solver=ConjugateGradient(tol=1e-12)).set_callbacks(Stop())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        stopped.fit(X, Y)
    assert stopped.solution_.status.name == "STOPPED"


def test_predictions_on_float32_keep_float64_accuracy():
    single = X.astype(np.float32)
    a = KernelRidge(Polynomial(3), alpha=1e-6, gram=Dense()).fit(single, Y).predict(single)
    b = KernelRidge(Polynomial(3), alpha=1e-6, gram=Dense()).fit(single.astype(float), Y).predict(single.astype(float))
    assert a.dtype == np.float64 and np.allclose(a, b, rtol=1e-8)


def test_coef_is_for_the_linear_kernel():
    assert KernelRidge(Linear()).fit(X, Y).coef_.shape == (4,)
    assert not hasattr(KernelRidge(Gaussian(1.0)).fit(X, Y), "coef_")


def test_many_samples_are_factored_in_float32_and_solved_in_float64():
    big = rng.normal(size=(2100, 5))
    values = np.sin(big[:, 0])
    model = KernelRidge(Gaussian(2.0), alpha=0.1).fit(big, values)
    exact = KernelRidge(Gaussian(2.0), alpha=0.1, solver=Cholesky()).fit(big, values)
    assert model.solver_ == Cholesky("mixed") and model.solution_.details["factor"] == "float32"
    assert model.solution_.residual < 3 * exact.solution_.residual + 1e-15
    assert np.allclose(model.dual_coef_, exact.dual_coef_, rtol=1e-9, atol=1e-11)
    left_out = KernelRidge(Gaussian(2.0), alpha=0.1, leave_one_out=True).fit(big[:2001], values[:2001])
    assert left_out.solver_ == Cholesky()


def test_leave_one_out_needs_the_digits_of_float64():
    with pytest.raises(CapabilityError, match=r"solver=Cholesky\(\)"):
        KernelRidge(Gaussian(2.0), solver=Cholesky("mixed"), leave_one_out=True).fit(X, Y)


def test_low_rank_and_matrix_free_solvers_are_reached():
    dense = KernelRidge(Polynomial(2), alpha=0.3, gram=Dense()).fit(X, Y).predict(T)
    primal = KernelRidge(Polynomial(2), alpha=0.3, gram=Features()).fit(X, Y)
    free = KernelRidge(Polynomial(2), alpha=0.3, gram=Tiles(), solver=ConjugateGradient(tol=1e-12)).fit(X, Y)
    assert type(primal.solver_).__name__ == "Woodbury"
    assert type(KernelRidge(Gaussian(1.0), gram=Tiles()).fit(X, Y).solver_) is ConjugateGradient
    assert np.allclose(primal.predict(T), dense, rtol=1e-7) and np.allclose(free.predict(T), dense, rtol=1e-7)


@pytest.mark.parametrize(
    "kernel", [NegativeDistance(), NegativeDistance(1.7), Multiquadric(0.8), Logarithmic(1.0)], ids=repr
)
def test_conditionally_definite_kernels_with_an_intercept(kernel):
    rng = np.random.default_rng(3)
    data, y, new = rng.normal(size=(30, 2)), rng.normal(size=(30, 2)) + 7.0, rng.normal(size=(4, 2))
    ones, n = np.ones((30, 1)), 30
    bordered = np.block([[kernel(data) + 0.3 * np.eye(n), ones], [ones.T, np.zeros((1, 1))]])
    solution = np.linalg.solve(bordered, np.vstack([y, np.zeros((1, 2))]))
    model = KernelRidge(kernel, alpha=0.3, fit_intercept=True, leave_one_out=True).fit(data, y)
    np.testing.assert_allclose(model.dual_coef_, solution[:n], rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(model.intercept_, solution[n], rtol=1e-8)
    np.testing.assert_allclose(model.predict(new), kernel(new, data) @ solution[:n] + solution[n], rtol=1e-8)
    assert model.solution_.jitter == 0.0
    rest = np.arange(n) != 5
    left_out = KernelRidge(kernel, alpha=0.3, fit_intercept=True).fit(data[rest], y[rest]).predict(data[5:6])
    np.testing.assert_allclose(model.loo_predictions_[5:6], left_out, rtol=1e-8)


def test_without_an_intercept_they_are_refused_with_the_remedy():
    with pytest.raises(CapabilityError, match=r"order 1.*fit_intercept=True"):
        KernelRidge(NegativeDistance()).fit(X, Y)
