"""Least squares support vector regression."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from mercer import KernelRidge, load, save
from mercer.errors import DomainError, ParameterError, TimeBudgetError
from mercer.estimators.squares.least_squares_svm import LSSVR, robust_weights, weighted_median
from mercer.gram import Dense, Features, Nystrom
from mercer.kernels import Gaussian, Linear, NegativeDistance, Spectrum

rng = np.random.default_rng(0)
X = rng.normal(size=(50, 2))
Y = np.sin(2 * X[:, 0]) + 0.2 * rng.normal(size=50) + 2.0
BOTH = np.stack([Y, X[:, 1] ** 2], axis=1)
T = rng.normal(size=(9, 2))


@pytest.mark.parametrize("kernel", [Gaussian(1.0), NegativeDistance()], ids=repr)
def test_the_system_of_the_seed(kernel):
    C, n = 3.0, 50
    w = rng.random(n) + 0.5
    A = np.block([[np.zeros((1, 1)), np.ones((1, n))], [np.ones((n, 1)), kernel(X) + np.diag(1.0 / (C * w))]])
    solved = np.linalg.solve(A, np.append(0.0, Y))
    model = LSSVR(kernel, C=C).fit(X, Y, sample_weight=w)
    assert np.allclose(model.dual_coef_, solved[1:]) and np.isclose(model.intercept_, solved[0])
    assert np.allclose(model.predict(T), kernel(T, X) @ solved[1:] + solved[0])
    errors = Y - model.predict(X)
    assert np.allclose(model.dual_coef_, C * w * errors, atol=1e-9)  # gamma e = alpha
    assert len(model.support_) == n


def test_it_is_ridge_regression_with_an_intercept():
    ridge = KernelRidge(Gaussian(1.0), alpha=0.25, fit_intercept=True).fit(X, Y)
    assert np.allclose(LSSVR(Gaussian(1.0), C=4.0).fit(X, Y).predict(T), ridge.predict(T))


@pytest.mark.parametrize("gram", [Dense(), Features(), Nystrom(50), Nystrom(7)], ids=repr)
@pytest.mark.parametrize("weights", [False, True])
def test_leaving_out_is_what_it_says(gram, weights):
    kernel = Linear() if isinstance(gram, Features) else Gaussian(1.0)
    w = rng.random(50) + 0.5 if weights else np.ones(50)
    model = LSSVR(kernel, C=5.0, gram=gram, leave_one_out=True).fit(X, BOTH, sample_weight=w)
    K = gram.build(kernel, kernel.pack(X)).to_dense()  # landmarks are those of all samples
    for i in range(50):
        rest = np.delete(np.arange(50), i)
        A = np.block([[np.zeros((1, 1)), np.ones((1, 49))], [np.ones((49, 1)), K[np.ix_(rest, rest)]]])
        A[1:, 1:] += np.diag(1.0 / (5.0 * w[rest]))
        solved = np.linalg.solve(A, np.concatenate([np.zeros((1, 2)), BOTH[rest]]))
        assert np.allclose(model.loo_predictions_[i], K[i, rest] @ solved[1:] + solved[0], rtol=1e-9, atol=1e-9)


def test_weights_are_copies_and_zero_leaves_out():
    w = rng.integers(0, 4, size=50)
    again = np.repeat(np.arange(50), w)
    options = {"C": 3.0, "posterior": True, "leave_one_out": True}
    a = LSSVR(Gaussian(1.0), **options).fit(X, Y, sample_weight=w)
    b = LSSVR(Gaussian(1.0), **options).fit(X[again], Y[again])
    for one, other in zip(a.predict(T, return_std=True), b.predict(T, return_std=True), strict=True):
        assert np.allclose(one, other, rtol=1e-8)
    assert np.isclose(a.log_evidence_, b.log_evidence_) and np.isclose(a.noise_variance_, b.noise_variance_)
    assert np.all(a.dual_coef_[w == 0] == 0) and np.allclose(a.loo_predictions_[w == 0], a.predict(X[w == 0]))
    assert not set(np.flatnonzero(w == 0)) & set(a.support_)


def test_several_targets_are_several_fits():
    model = LSSVR(Gaussian(1.0), C=2.0, posterior=True).fit(X, BOTH)
    mean, std = model.predict(T, return_std=True)
    evidence = 0.0
    for column in range(2):
        single = LSSVR(Gaussian(1.0), C=2.0, posterior=True).fit(X, BOTH[:, column])
        one, deviation = single.predict(T, return_std=True)
        assert np.allclose(mean[:, column], one) and np.allclose(std[:, column], deviation)
        evidence += single.log_evidence_
    assert np.isclose(model.log_evidence_, evidence)
    assert LSSVR().fit(X, Y[:, None]).predict(T).shape == (9, 1)


@pytest.mark.parametrize("gram", [Dense(), Nystrom(50)], ids=repr)
def test_the_posterior_is_that_of_a_gaussian_process_with_a_free_constant(gram):
    model = LSSVR(Gaussian(1.3), C=8.0, posterior=True, gram=gram).fit(X, Y)
    s2 = model.noise_variance_ * 8.0
    process = GaussianProcessRegressor(
        ConstantKernel(s2, "fixed") * RBF(1.3, "fixed") + ConstantKernel(1e6, "fixed"),
        alpha=model.noise_variance_,
        optimizer=None,
    ).fit(X, Y)
    mean, cov = process.predict(T, return_cov=True)
    ours, std = model.predict(T, return_std=True)
    assert np.allclose(ours, mean, atol=1e-4) and np.allclose(std, np.sqrt(np.diag(cov)), rtol=1e-3)
    ours, joint = model.predict(T, return_cov=True)
    assert np.allclose(joint, cov, atol=1e-3) and np.array_equal(np.sqrt(np.diag(joint)), std)


def test_standard_deviations_must_be_asked_for_before():
    model = LSSVR(Gaussian(1.0)).fit(X, Y)
    with pytest.raises(ParameterError, match="posterior=True"):
        model.predict(T, return_std=True)
    with pytest.raises(ParameterError, match="both"):
        model.predict(T, return_std=True, return_cov=True)


@pytest.mark.parametrize("kind", [True, "hampel", "huber", "logistic"])
def test_outliers_lose_their_weight(kind):
    x = np.linspace(-3, 3, 80)[:, None]
    clean = np.sinc(x[:, 0])
    y = clean + 0.05 * rng.normal(size=80)
    y[::8] += rng.choice([-1, 1], size=10) * 2.0
    plain = LSSVR(Gaussian(0.7), C=10.0).fit(x, y)
    model = LSSVR(Gaussian(0.7), C=10.0, robust=kind).fit(x, y)
    assert np.sqrt(np.mean((model.predict(x) - clean) ** 2)) < 0.4 * np.sqrt(np.mean((plain.predict(x) - clean) ** 2))
    assert model.weights_[::8].max() < 0.25 and np.median(np.delete(model.weights_, np.s_[::8])) > 0.7
    # the weights are those of the errors, and the function is that of the weights
    again = LSSVR(Gaussian(0.7), C=10.0).fit(x, y, sample_weight=model.weights_)
    assert np.allclose(again.predict(x), model.predict(x), atol=1e-6)
    errors = np.abs(y - model.predict(x))
    expected = robust_weights(errors / (1.483 * np.median(errors)), "hampel" if kind is True else kind)
    assert np.allclose(model.weights_, expected, atol=5e-3)


def test_robust_weights_with_sample_weights_and_landmarks():
    x = np.linspace(-3, 3, 40)[:, None]
    y = np.sinc(x[:, 0]) + 0.05 * rng.normal(size=40)
    y[::10] += 2.0
    w = rng.integers(1, 4, size=40)
    again = np.repeat(np.arange(40), w)
    a = LSSVR(Gaussian(0.7), C=10.0, robust="huber").fit(x, y, sample_weight=w)
    b = LSSVR(Gaussian(0.7), C=10.0, robust="huber").fit(x[again], y[again])
    assert np.allclose(a.weights_[again], b.weights_, atol=1e-6)
    c = LSSVR(Gaussian(0.7), C=10.0, robust="huber", gram=Nystrom(40)).fit(x, y, sample_weight=w)
    assert np.allclose(a.weights_, c.weights_, atol=1e-6) and a.weights_.min() < 0.2


def test_weights_that_do_not_settle_are_told(monkeypatch):
    monkeypatch.setattr("mercer.estimators.squares.least_squares_svm._ROUNDS", 1)
    y = Y.copy()
    y[::9] += 20.0
    with pytest.warns(ConvergenceWarning, match="rounds"):
        LSSVR(Gaussian(1.0), robust="huber").fit(X, y)


def test_the_weighted_median_is_that_of_copies():
    values, w = rng.normal(size=21), rng.integers(0, 4, size=21)
    for count in (20, 21):
        v, c = values[:count], w[:count]
        assert np.isclose(weighted_median(v[c > 0], c[c > 0].astype(float)), np.median(np.repeat(v, c)))


def test_pruning_gives_a_sparse_model():
    x = np.linspace(-3, 3, 150)[:, None]
    y = np.sinc(x[:, 0]) + 0.1 * rng.normal(size=150)
    whole = LSSVR(Gaussian(0.7), C=10.0).fit(x, y)
    model = LSSVR(Gaussian(0.7), C=10.0, prune=0.1, leave_one_out=True).fit(x, y)
    assert len(model.support_) < 110 and len(model.expansion_.samples) == len(model.support_)
    assert np.array_equal(np.flatnonzero(model.dual_coef_), model.support_)
    clean = np.sinc(x[:, 0])
    error = [np.sqrt(np.mean((m.predict(x) - clean) ** 2)) for m in (whole, model)]
    assert error[1] < 2.0 * error[0] and np.isfinite(model.loo_predictions_).all()
    alone = LSSVR(Gaussian(0.7), C=10.0).fit(x[model.support_], y[model.support_])
    assert np.allclose(alone.predict(x), model.predict(x))


def test_any_domain():
    texts = ["abab", "ab", "bab", "bbb", "abba", "baba", "aab"]
    model = LSSVR(Spectrum(2), C=None, posterior=True, leave_one_out=True).fit(texts, [len(t) for t in texts])
    mean, std = model.predict(["abb", "zzz"], return_std=True)
    assert mean.shape == std.shape == (2,) and np.isfinite(model.loo_predictions_).all()


def test_precomputed_similarities():
    K = Gaussian(1.0)(X)
    model = LSSVR("precomputed", C=None, posterior=True).fit(K, Y)
    direct = LSSVR(Gaussian(1.0), C=None, posterior=True).fit(X, Y)
    assert np.allclose(model.predict(Gaussian(1.0)(T, X)), direct.predict(T))


def test_a_failed_fit_leaves_the_former_one():
    model = LSSVR(Gaussian(2.0)).fit(X, Y)
    before = model.predict(T)
    with pytest.raises(DomainError):
        model.fit(X, Y, sample_weight=-np.ones(50))
    big = rng.normal(size=(4000, 5))
    with pytest.raises(TimeBudgetError):
        model.set_params(max_time=1e-3).fit(big, big[:, 0])
    assert np.array_equal(model.predict(T), before)


@pytest.mark.parametrize(
    "options", [{"selection": "evidence", "posterior": True}, {"gram": Nystrom(20), "posterior": True}, {"prune": 0.1}]
)
def test_it_can_be_stored(options, tmp_path):
    model = LSSVR(Gaussian(1.0), **options).fit(X, Y)
    save(model, tmp_path / "model.mercer")
    again = load(tmp_path / "model.mercer")
    assert np.array_equal(again.predict(T), model.predict(T))
    if model.posterior:
        assert np.array_equal(again.predict(T, return_std=True)[1], model.predict(T, return_std=True)[1])
        assert not hasattr(model.set_params(posterior=False).fit(X, Y), "posterior_")
