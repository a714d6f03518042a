"""Gaussian process regression: against NumPy, scikit-learn, ridge regression, repetition and brute force."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor as Reference
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

import mercer
from mercer import KernelRidge
from mercer.errors import CapabilityError, JitterWarning, ParameterError, TimeBudgetError
from mercer.estimators.processes.gaussian_process import GaussianProcessRegressor
from mercer.estimators.processes.process_evidence import DenseEvidence
from mercer.gram import Dense, FastGauss, Features, Tiles
from mercer.kernels import Gaussian, Linear, Matern, NegativeDistance, Polynomial, Spectrum
from mercer.losses import Linex, Pinball
from mercer.problems import Status
from mercer.solvers import Cholesky, ConjugateGradient, Woodbury

rng = np.random.default_rng(0)
X = rng.uniform(-3.0, 3.0, size=(60, 2))
Y = np.sin(X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.normal(size=60)
T = rng.uniform(-3.0, 3.0, size=(15, 2))
KERNEL = 1.3 * Gaussian(1.1)


def fixed(kernel=KERNEL, noise=0.1, **options):
    return GaussianProcessRegressor(kernel, noise, fixed="all", **options)


def test_the_formulas():
    model = fixed().fit(X, Y)
    G, k = KERNEL(X) + 0.1 * np.eye(60), KERNEL(X, T)
    mean, covariance = model.predict(T, return_cov=True)
    assert np.allclose(mean, k.T @ np.linalg.solve(G, Y), rtol=1e-9)
    assert np.allclose(covariance, KERNEL(T) - k.T @ np.linalg.solve(G, k), atol=1e-10)
    std = model.predict(T, return_std=True)[1]
    assert np.array_equal(std, np.sqrt(np.diag(covariance)))
    assert np.allclose(model.predict(T, return_std=True, include_noise=True)[1] ** 2, std**2 + 0.1)
    noises = np.linspace(0.1, 1.0, 15)
    assert np.allclose(np.diag(model.predict(T, return_cov=True, include_noise=noises)[1]), std**2 + noises)
    assert model.tuned_ is None and model.solution_.residual < 1e-12 and model.solution_.jitter == 0.0
    assert np.array_equal(model.alpha_, model.dual_coef_) and model.log_marginal_likelihood_error_ == 0.0


def test_the_mean_is_ridge_regression():
    ridge = KernelRidge(KERNEL, alpha=0.1).fit(X, Y)
    assert np.allclose(fixed().fit(X, Y).predict(T), ridge.predict(T), rtol=1e-10)
    bias = KernelRidge(KERNEL, alpha=0.1, fit_intercept=True).fit(X, Y)
    assert np.allclose(fixed(mean="constant").fit(X, Y).predict(T), bias.predict(T), rtol=1e-8)


def test_parity_with_scikit_learn():
    theirs = Reference(ConstantKernel(1.0) * RBF(1.0) + WhiteKernel(0.1), alpha=1e-12).fit(X, Y)
    ours = GaussianProcessRegressor(1.0 * Gaussian(1.0), noise=0.1, tol=1e-8, normalize_y=False).fit(X, Y)
    assert np.isclose(ours.log_marginal_likelihood_, theirs.log_marginal_likelihood_value_, atol=1e-5)
    assert np.isclose(ours.noise_, theirs.kernel_.k2.noise_level, rtol=1e-3)
    mean, std = theirs.predict(T, return_std=True)
    own = ours.predict(T, return_std=True, include_noise=True)
    assert np.allclose(own[0], mean, atol=1e-4) and np.allclose(own[1], std, atol=1e-4)
    value, gradient = theirs.log_marginal_likelihood(np.log([2.0, 0.7, 0.3]), eval_gradient=True)
    assert np.allclose(ours.log_marginal_likelihood(np.log([2.0, 0.7, 0.3])), value, rtol=1e-9)
    assert np.allclose(
        ours.log_marginal_likelihood(np.log([2.0, 0.7, 0.3]), eval_gradient=True)[1], gradient, rtol=1e-6
    )


def test_the_search_ends_at_a_maximum():
    model = GaussianProcessRegressor(1.0 * Gaussian(1.0)).fit(X, Y)
    value, gradient = model.log_marginal_likelihood(eval_gradient=True)
    assert np.isclose(value, model.log_marginal_likelihood_) and np.abs(gradient).max() < 1e-2
    for step in 0.1 * np.eye(3):
        assert model.log_marginal_likelihood(model.theta_ + step) < value
        assert model.log_marginal_likelihood(model.theta_ - step) < value
    tuned = model.tuned_
    assert tuned.names == ("scale", "kernel__length_scale", "noise") and tuned.status is Status.CONVERGED
    assert np.all(np.diff(tuned.values) <= 0.0) and np.isclose(-tuned.values[-1], value)
    assert model.n_iter_ == len(tuned.values) - 1


def test_held_and_bounded_parameters():
    held = GaussianProcessRegressor(1.0 * Gaussian(1.0), 0.05, fixed=("noise", "kernel__length_scale")).fit(X, Y)
    assert held.noise_ == 0.05 and held.kernel_.kernel.length_scale == 1.0 and held.kernel_.scale != 1.0
    bounded = GaussianProcessRegressor(1.0 * Gaussian(1.0), bounds={"kernel__length_scale": (0.5, 1.2)}).fit(X, Y)
    assert np.isclose(bounded.kernel_.kernel.length_scale, 1.2) and "kernel__length_scale" in bounded.tuned_.at_bounds
    with pytest.raises(ParameterError, match="hyper-parameters are"):
        GaussianProcessRegressor(1.0 * Gaussian(1.0), fixed=("width",)).fit(X, Y)


def test_restarts_find_what_one_start_misses():
    x = np.linspace(0.0, 1.0, 30)[:, None]
    y = 5.0 * x[:, 0] + 0.5 * np.sin(20.0 * x[:, 0])  # a line with noise is a hill of its own
    bounds = {"kernel__length_scale": (0.02, 60.0), "noise": (1e-4, 2.0)}
    lost = GaussianProcessRegressor(1.0 * Gaussian(1.0), 1.0, bounds=bounds).fit(x, y)
    found = GaussianProcessRegressor(1.0 * Gaussian(1.0), 1.0, restarts=6, bounds=bounds).fit(x, y)
    assert found.log_marginal_likelihood_ > lost.log_marginal_likelihood_ + 10.0
    assert len(found.tuned_.starts) == 7
    assert clone(found).fit(x, y).log_marginal_likelihood_ == found.log_marginal_likelihood_


@pytest.mark.parametrize(
    "mean",
    [None, "constant", "linear", Polynomial(2), np.atleast_2d],
    ids=["zero", "constant", "linear", "polynomial", "columns"],
)
def test_weight_is_repetition(mean):
    w = rng.integers(0, 4, size=60).astype(float)
    again = np.repeat(np.arange(60), w.astype(int))
    heavy = fixed(mean=mean).fit(X, Y, sample_weight=w)
    twice = fixed(mean=mean).fit(X[again], Y[again])
    assert np.isclose(heavy.log_marginal_likelihood_, twice.log_marginal_likelihood_, rtol=1e-9)
    for one, other in zip(heavy.predict(T, return_cov=True), twice.predict(T, return_cov=True), strict=True):
        assert np.allclose(one, other, atol=1e-8)
    assert np.all(heavy.dual_coef_[w == 0.0] == 0.0)


def test_weight_is_repetition_in_the_search():
    w = rng.integers(0, 3, size=60).astype(float)
    again = np.repeat(np.arange(60), w.astype(int))
    heavy, twice = (
        GaussianProcessRegressor().fit(X, Y, sample_weight=w),
        GaussianProcessRegressor().fit(X[again], Y[again]),
    )
    assert np.allclose(heavy.theta_, twice.theta_, atol=1e-4)
    assert np.allclose(heavy.predict(T), twice.predict(T), atol=1e-4)


def test_noise_of_each_sample():
    noise = rng.uniform(0.05, 0.5, size=60)
    model = fixed(noise=noise).fit(X, Y)
    G = KERNEL(X) + np.diag(noise)
    assert np.allclose(model.predict(T), KERNEL(T, X) @ np.linalg.solve(G, Y), rtol=1e-9)
    with pytest.raises(ParameterError, match="not known"):
        model.predict(T, return_std=True, include_noise=True)
    searched = GaussianProcessRegressor(KERNEL, noise).fit(X, Y)
    assert np.allclose(searched.noise_ / noise, searched.noise_[0] / noise[0])
    assert searched.log_marginal_likelihood_ > model.log_marginal_likelihood_
    h = np.array([0.0, 0.0, 1e-4])
    up, down = (searched.log_marginal_likelihood(searched.theta_ + step) for step in (h, -h))
    slope = searched.log_marginal_likelihood(eval_gradient=True)[1][-1]
    assert np.isclose(slope, (up - down) / 2e-4, atol=1e-3)
    with pytest.raises(ParameterError, match="one per training sample"):
        fixed(noise=noise[:5]).fit(X, Y)


def test_several_outputs_share_the_kernel():
    both = np.stack([Y, np.cos(X[:, 1])], axis=1)
    model = fixed().fit(X, both)
    singles = [fixed().fit(X, column) for column in both.T]
    assert np.isclose(model.log_marginal_likelihood_, sum(s.log_marginal_likelihood_ for s in singles))
    mean, std = model.predict(T, return_std=True)
    assert mean.shape == std.shape == (15, 2) and np.allclose(mean[:, 1], singles[1].predict(T))
    assert model.predict(T, return_cov=True)[1].shape == (15, 15, 2) and model.sample_y(T, 4).shape == (15, 2, 4)
    tuned = GaussianProcessRegressor(KERNEL).fit(X, both)
    assert tuned.log_marginal_likelihood_ > model.log_marginal_likelihood_


def test_weight_space_is_function_space():
    kernel = 0.5 * Polynomial(2)
    for mean in (None, "constant", "linear"):
        primal, dual = (fixed(kernel, mean=mean, gram=gram, leave_one_out=True).fit(X, Y) for gram in (None, Dense()))
        assert primal.gram_ == Features() and primal.solver_ == Woodbury() and dual.solver_ == Cholesky()
        for one, other in zip(primal.predict(T, return_cov=True), dual.predict(T, return_cov=True), strict=True):
            assert np.allclose(one, other, atol=1e-9)
        assert np.isclose(primal.log_marginal_likelihood_, dual.log_marginal_likelihood_, rtol=1e-9)
        assert np.allclose(primal.loo_predictions_, dual.loo_predictions_) and np.allclose(
            primal.loo_std_, dual.loo_std_
        )
    searched = [GaussianProcessRegressor(kernel, gram=gram).fit(X, Y) for gram in (Features(), Dense())]
    assert np.allclose(searched[0].theta_, searched[1].theta_, atol=1e-4)
    with pytest.raises(CapabilityError, match="Dense"):
        searched[0].log_marginal_likelihood(searched[0].theta_)


@pytest.mark.parametrize("mean", [None, "linear"])
def test_leave_one_out_is_brute_force(mean):
    w = np.ones(60)
    w[3], w[5] = 0.0, 2.5
    model = fixed(mean=mean, leave_one_out=True).fit(X, Y, sample_weight=w)
    for i in (0, 3, 5):
        others = np.where(np.arange(60) == i, 0.0, w)
        left = fixed(mean=mean).fit(X, Y, sample_weight=others)
        value, std = left.predict(X[[i]], return_std=True, include_noise=True)
        assert np.isclose(model.loo_predictions_[i], value[0], rtol=1e-9) and np.isclose(model.loo_std_[i], std[0])


def test_products_alone_give_the_same_predictions():
    exact = fixed(mean="constant").fit(X, Y)
    for options in ({"gram": Tiles()}, {"gram": Tiles(), "solver": ConjugateGradient(tol=1e-10)}):
        model = fixed(mean="constant", **options).fit(X, Y)
        for one, other in zip(model.predict(T, return_cov=True), exact.predict(T, return_cov=True), strict=True):
            assert np.allclose(one, other, atol=1e-6)
        error = model.log_marginal_likelihood_error_
        assert abs(model.log_marginal_likelihood_ - exact.log_marginal_likelihood_) <= 4.0 * error + 1e-6
        assert model.solution_.details["log determinant"] == "estimated"
    with pytest.raises(CapabilityError, match="factor"):
        fixed(gram=Tiles(), leave_one_out=True).fit(X, Y)


def test_the_search_by_products_alone():
    exact = GaussianProcessRegressor(1.0 * Gaussian(1.0)).fit(X, Y)
    solver = ConjugateGradient(preconditioner="pivoted", rank=30)
    rough = GaussianProcessRegressor(1.0 * Gaussian(1.0), gram=Tiles(), solver=solver).fit(X, Y)
    assert np.allclose(rough.theta_, exact.theta_, atol=0.3)
    assert np.array_equal(clone(rough).fit(X, Y).theta_, rough.theta_)


def test_iterations_that_run_out_are_told():
    solver = ConjugateGradient(tol=1e-12, max_iter=2)
    with pytest.warns(ConvergenceWarning, match="residual"):
        model = fixed(noise=1e-6, gram=Tiles(), solver=solver).fit(X, Y)
    assert model.solution_.status is Status.MAX_ITER


def test_sample_paths_have_the_posterior_moments():
    model = fixed().fit(X, Y)
    mean, covariance = model.predict(T, return_cov=True)
    paths = model.sample_y(T, 100_000, random_state=0)
    assert np.allclose(paths.mean(axis=1), mean, atol=0.01) and np.allclose(np.cov(paths), covariance, atol=0.02)
    noisy = model.sample_y(T, 100_000, random_state=0, include_noise=True)
    assert np.allclose(noisy.var(axis=1), np.diag(covariance) + 0.1, atol=0.02)
    assert np.array_equal(paths[:, :3], model.sample_y(T, 100_000, random_state=0)[:, :3])


def test_far_away_is_the_prior():
    model = GaussianProcessRegressor(KERNEL).fit(X, Y)
    mean, std = model.predict([[1e3, 1e3]], return_std=True)
    assert (
        mean[0] == model.intercept_ and np.isclose(mean[0], Y.mean()) and np.isclose(std[0] ** 2, model.kernel_.scale)
    )


def test_one_sample_and_equal_targets():
    model = fixed().fit([[0.0, 0.0]], [2.0])
    assert np.isclose(model.predict([[0.0, 0.0]])[0], 2.0 * 1.3 / 1.4)
    assert GaussianProcessRegressor().fit(X[:1], [2.0]).predict(X[:1]).shape == (1,)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert np.isfinite(GaussianProcessRegressor().fit(X, np.zeros(60)).predict(T)).all()


def test_equal_points_need_jitter_and_say_so():
    double = np.repeat(X[:20], 3, axis=0)
    with pytest.warns(JitterWarning):
        model = fixed(1.0 * Gaussian(3.0), noise=1e-20).fit(double, np.repeat(Y[:20], 3))
    assert model.solution_.jitter > 0.0
    std = model.predict(double, return_std=True)[1]
    assert np.all(std >= 0.0) and np.all(std < 1e-2)


def test_strings():
    words = ["abab", "abba", "bbbb", "aaaa", "baba", "abbb"]
    for gram in (None, Dense()):
        model = GaussianProcessRegressor(0.3 * Spectrum(2), gram=gram, mean="constant").fit(words, [1, 2, 3, 4, 1, 3])
        mean, std = model.predict(["abab", "bb"], return_std=True)
        assert abs(mean[0] - 1.0) < 0.5 and std[0] < std[1]


def test_precomputed():
    model = GaussianProcessRegressor("precomputed", normalize_y=False).fit(KERNEL(X), Y)
    direct = fixed(noise=float(model.noise_)).fit(X, Y)
    assert np.allclose(model.predict(KERNEL(T, X)), direct.predict(T), rtol=1e-6)


def test_decisions():
    model = fixed().fit(X, Y)
    mean, std = model.predict(T, return_std=True, include_noise=True)
    assert np.allclose(model.decide(T, Pinball(0.9)), mean + 1.2815515655446004 * std)
    latent = model.predict(T, return_std=True)[1]
    assert np.allclose(model.decide(T, Linex(2.0), include_noise=False), mean + latent**2)


def test_time_over_gives_the_best_so_far(monkeypatch):
    call = DenseEvidence.__call__

    def slow(self, *args, **options):
        import time

        time.sleep(0.06)
        return call(self, *args, **options)

    monkeypatch.setattr(DenseEvidence, "__call__", slow)
    with pytest.warns(ConvergenceWarning, match="max_time"):
        model = GaussianProcessRegressor(1.0 * Gaussian(1.0), 0.1, max_time=0.2, normalize_y=False).fit(X, Y)
    assert model.tuned_.status is Status.TIME and np.isfinite(model.predict(T)).all()
    assert model.log_marginal_likelihood_ >= fixed(1.0 * Gaussian(1.0)).fit(X, Y).log_marginal_likelihood_


def test_time_over_without_a_search_has_no_result():
    big = rng.normal(size=(4000, 3))
    model = fixed(max_time=1e-3)
    with pytest.raises(TimeBudgetError, match="max_time"):
        model.fit(big, big[:, 0])
    assert not hasattr(model, "expansion_")


def test_interruption_leaves_the_estimator_as_it_was(monkeypatch):
    model = fixed().fit(X, Y)
    before = model.predict(T)

    def interrupted(self, *args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(DenseEvidence, "__call__", interrupted)
    model.set_params(fixed=())
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:10], Y[:10])
    assert np.array_equal(model.predict(T), before)


def test_a_model_file_gives_the_same_numbers(tmp_path):
    for number, options in enumerate(
        (
            {"kernel": Matern(1.5, 1.0)},
            {"kernel": 1.0 * Linear(), "mean": "linear"},
            {"gram": Tiles(), "mean": Linear()},
        )
    ):
        model = GaussianProcessRegressor(**options).fit(X, Y)
        path = tmp_path / f"{number}.mercer"
        mercer.save(model, path)
        again = mercer.load(path)
        for one, other in zip(model.predict(T, return_cov=True), again.predict(T, return_cov=True), strict=True):
            assert np.array_equal(one, other)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"noise": 0.0}, "noise"),
        ({"noise": -1.0}, "noise"),
        ({"mean": "quadratic"}, "constant"),
        ({"mean": 3}, "constant"),
        ({"fixed": "noise"}, "tuple of names"),
        ({"restarts": -1}, "restarts"),
        ({"tol": 0.0}, "tol"),
        ({"bounds": [1.0]}, "bounds"),
        ({"random_state": "x"}, "random_state"),
        ({"kernel": Gaussian(-1.0)}, "length_scale"),
    ],
    ids=str,
)
def test_bad_parameters(options, text):
    with pytest.raises(ParameterError, match=text):
        GaussianProcessRegressor(**options).fit(X, Y)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"mean": Gaussian(1.0)}, "feature map"),
        ({"kernel": NegativeDistance()}, "order 1"),
        ({"kernel": KERNEL, "gram": Tiles(), "solver": Cholesky()}, "Leave out solver"),
    ],
    ids=str,
)
def test_what_it_cannot_do(options, text):
    with pytest.raises(CapabilityError, match=text):
        GaussianProcessRegressor(**options).fit(X, Y)


def test_mean_functions_must_differ():
    with pytest.raises(ParameterError, match="linearly independent"):
        fixed(mean=lambda X: np.ones((len(X), 2))).fit(X, Y)


def test_one_of_std_and_cov():
    with pytest.raises(ParameterError, match="one of them"):
        fixed().fit(X, Y).predict(T, return_std=True, return_cov=True)


def test_products_by_a_fast_gauss_transform():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(400, 2))
    y = np.sin(6 * X[:, 0]) + 0.1 * rng.normal(size=400)
    exact = GaussianProcessRegressor(Gaussian(0.1), noise=0.05, fixed="all").fit(X, y)
    fast = GaussianProcessRegressor(Gaussian(0.1), noise=0.05, fixed="all", gram=FastGauss(1e-8, method="hermite"))
    fast.fit(X, y)
    assert np.allclose(fast.predict(X[:50]), exact.predict(X[:50]), atol=1e-5)
    assert fast.gram_method_ == "hermite" and fast.gram_error_ <= 1e-8
    assert isinstance(fast.solver_, ConjugateGradient)


def test_defaults_on_raw_targets():
    raw = GaussianProcessRegressor().fit(X, 1e-6 * Y + 3.0)
    assert raw.score(X, 1e-6 * Y + 3.0) > 0.95 and np.isclose(raw.intercept_, np.mean(1e-6 * Y + 3.0))
    paths = raw.sample_y(T, 20_000, random_state=0)
    mean, std = raw.predict(T, return_std=True)
    assert np.allclose(paths.mean(axis=1), mean, rtol=0.0, atol=5.0 * std.max() / np.sqrt(20_000))
    plain = GaussianProcessRegressor().fit(X, Y)
    shift = -60 * np.log(1e-6)
    assert np.isclose(raw.log_marginal_likelihood_, plain.log_marginal_likelihood_ + shift, atol=1e-3)
    assert np.isclose(raw.tuned_.value, -raw.log_marginal_likelihood_)


def test_left_out_predictions_are_in_the_units_of_y():
    far = fixed(normalize_y=True, leave_one_out=True).fit(X, Y + 1e3)
    near = fixed(normalize_y=True, leave_one_out=True).fit(X, Y)
    assert np.allclose(far.loo_predictions_, near.loo_predictions_ + 1e3, rtol=1e-10)
    for mean in ("constant", "linear"):
        one, two = (GaussianProcessRegressor(KERNEL, 0.1, mean=mean).fit(X, Y + c) for c in (0.0, 1e3))
        assert np.allclose(one.predict(T) + 1e3, two.predict(T), atol=1e-4)
        assert np.allclose(one.mean_coef_[0] + 1e3, two.mean_coef_[0], atol=1e-3)


@pytest.mark.parametrize("gram", [None, Dense(), Tiles()], ids=str)
def test_a_saved_model_keeps_the_mean_of_y(tmp_path, gram):
    model = GaussianProcessRegressor(1.0 * Linear(), gram=gram).fit(X, Y + 1e3)
    mercer.save(model, tmp_path / "far.mercer")
    assert np.array_equal(mercer.load(tmp_path / "far.mercer").predict(T), model.predict(T))
    assert model.score(X, Y + 1e3) > 0.0


def test_conjugate_gradients_are_preconditioned_unless_told_not_to():
    usual, given, without = (
        fixed(gram=Tiles(), solver=solver).fit(X, Y)
        for solver in (None, ConjugateGradient(), ConjugateGradient(preconditioner=None))
    )
    assert given.log_marginal_likelihood_ == usual.log_marginal_likelihood_
    assert without.log_marginal_likelihood_ != usual.log_marginal_likelihood_  # its probes are drawn from another law
