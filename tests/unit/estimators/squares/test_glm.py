"""Kernel generalised linear models."""

import pickle
import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.linear_model import GammaRegressor, LinearRegression, LogisticRegression, PoissonRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer.errors import CapabilityError, ParameterError, TargetError
from mercer.estimators.squares.glm import KernelGLM
from mercer.gram import Dense, Tiles
from mercer.kernels import Brownian, Gaussian, Linear, LinearSpline, Spectrum, ThinPlate
from mercer.losses import Absolute, Poisson
from mercer.problems import Status

rng = np.random.default_rng(0)
N = 120
X = rng.uniform(0, 2, size=(N, 3))
T = rng.uniform(0, 2, size=(30, 3))
ETA = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1]
Y = {
    "poisson": rng.poisson(np.exp(ETA)).astype(float),
    "gamma": rng.gamma(3.0, np.exp(ETA) / 3.0),
    "gaussian": ETA + 0.1 * rng.normal(size=N),
    "binomial": rng.binomial(1, expit(ETA)).astype(float),
    "ordinal": np.digitize(ETA + 0.3 * rng.logistic(size=N), [0.3, 1.0, 1.6]),
}
COUNTS = rng.integers(0, 4, N)


@pytest.mark.slow  # the default is looked at in tests/contract
@parametrize_with_checks([KernelGLM(family=name) for name in ("gamma", "ordinal")])
def test_scikit_learn_contract(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


@pytest.mark.parametrize("gram", [None, Dense(), Tiles()], ids=repr)
@pytest.mark.parametrize("reference", [PoissonRegressor, GammaRegressor])
def test_a_linear_kernel_is_scikit_learns_glm(reference, gram):
    family = "poisson" if reference is PoissonRegressor else "gamma"
    y = Y[family]
    for weight in (None, COUNTS.astype(float)):
        total = N if weight is None else weight.sum()
        for intercept in (True, False):
            theirs = reference(alpha=0.7 / total, tol=1e-10, fit_intercept=intercept, solver="newton-cholesky")
            theirs.fit(X, y, sample_weight=weight)
            ours = KernelGLM("linear", family, 0.7, fit_intercept=intercept, gram=gram, tol=1e-9)
            ours.fit(X, y, sample_weight=weight)
            np.testing.assert_allclose(ours.predict(T), theirs.predict(T), rtol=1e-6)
            assert np.isclose(ours.score(X, y, weight), theirs.score(X, y, weight), atol=1e-7)


def test_the_gaussian_family_is_ridge_regression():
    ours = KernelGLM(Gaussian(1.0), "gaussian", 0.3, tol=1e-10).fit(X, Y["gaussian"])
    theirs = mercer.KernelRidge(Gaussian(1.0), alpha=0.3, fit_intercept=True).fit(X, Y["gaussian"])
    np.testing.assert_allclose(ours.predict(T), theirs.predict(T), atol=1e-8)
    assert np.isclose(ours.score(X, Y["gaussian"]), theirs.score(X, Y["gaussian"]))


def test_shares_counts_and_classes_are_one_binomial_model():
    trials = rng.integers(1, 6, N)
    successes = rng.binomial(trials, expit(ETA))
    model = KernelGLM("linear", "binomial", 0.5, tol=1e-10)
    pairs = clone(model).fit(X, np.column_stack([successes, trials - successes]))
    shares = clone(model).fit(X, successes / trials, sample_weight=trials)
    long = np.concatenate([np.repeat([1.0, 0.0], [s, t - s]) for s, t in zip(successes, trials, strict=True)])
    classes = LogisticRegression(C=2.0, tol=1e-10, max_iter=10_000).fit(np.repeat(X, trials, axis=0), long)
    np.testing.assert_allclose(pairs.predict(T), shares.predict(T), atol=1e-9)
    np.testing.assert_allclose(pairs.predict(T), classes.predict_proba(T)[:, 1], atol=1e-6)
    assert np.isclose(
        pairs.score(X, np.column_stack([successes, trials - successes])),
        shares.score(X, successes / trials, sample_weight=trials),
    )


@pytest.mark.parametrize("family", Y)
def test_a_weight_is_a_number_of_copies(family):
    model = KernelGLM(Gaussian(1.0), family, 0.2, tol=1e-9, basis=Linear().on([1]))
    short = clone(model).fit(X, Y[family], sample_weight=COUNTS)
    long = clone(model).fit(np.repeat(X, COUNTS, axis=0), np.repeat(Y[family], COUNTS))
    np.testing.assert_allclose(short.linear_predictor(T), long.linear_predictor(T), atol=1e-7)
    np.testing.assert_allclose(short.components(T), long.components(T), atol=1e-7)
    assert (short.dual_coef_[COUNTS == 0] == 0.0).all()
    assert np.isclose(
        short.score(X, Y[family], COUNTS), long.score(np.repeat(X, COUNTS, axis=0), np.repeat(Y[family], COUNTS))
    )


@pytest.mark.parametrize("gram", [Dense(), Tiles()], ids=repr)
@pytest.mark.parametrize("alpha", [0.3, 2.0])
def test_ordinal_thresholds_against_scipy(alpha, gram):
    codes, K = Y["ordinal"], Gaussian(1.0)(X)
    values, vectors = np.linalg.eigh(K)
    root = vectors[:, values > 1e-9] * np.sqrt(values[values > 1e-9])

    def objective(z):
        inner = z[-3] + np.cumsum([0.0, np.exp(z[-2]), np.exp(z[-1])])
        theta = np.concatenate([[-np.inf], inner, [np.inf]])
        f = root @ z[:-3]
        p = expit(theta[codes + 1] - f) - expit(theta[codes] - f)
        return -np.sum(np.log(np.maximum(p, 1e-300))) + 0.5 * alpha * z[:-3] @ z[:-3]

    options = {"maxfun": 10**6, "ftol": 1e-13}
    found = minimize(objective, np.zeros(root.shape[1] + 3), method="L-BFGS-B", options=options)
    model = KernelGLM(Gaussian(1.0), "ordinal", alpha, gram=gram, tol=1e-9).fit(X, codes)
    assert model.solution_.status is Status.CONVERGED and (np.diff(model.thresholds_) > 0).all()
    ours = -np.sum(np.log(model.predict_proba(X)[np.arange(N), codes]))
    ours += 0.5 * alpha * model.dual_coef_ @ K @ model.dual_coef_
    assert ours <= found.fun + 1e-9 and np.isclose(ours, found.fun, atol=1e-4)


def test_ordinal_responses():
    grades = np.array(["none", "low", "middle", "high"])[Y["ordinal"]]
    order = ["none", "low", "middle", "high"]
    model = KernelGLM(Gaussian(1.0), "ordinal", 0.1, order=order).fit(X, grades)
    assert model.classes_.tolist() == order and is_classifier(model) and is_regressor(KernelGLM())
    P = model.predict_proba(T)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.predict(T), model.classes_[P.argmax(axis=1)])
    assert 0.1 < model.score(X, grades) < 1.0
    turned = KernelGLM(Gaussian(1.0), "ordinal", 0.1, order=order[::-1]).fit(X, grades)
    np.testing.assert_allclose(turned.predict_proba(T)[:, ::-1], P, atol=1e-5)  # the order has no direction
    assert not hasattr(KernelGLM(), "predict_proba")


def test_two_grades_are_two_classes():
    y = Y["ordinal"] > 1
    ordinal = KernelGLM("linear", "ordinal", 0.5, tol=1e-10).fit(X, y)
    theirs = LogisticRegression(C=2.0, tol=1e-10, max_iter=10_000).fit(X, y)
    np.testing.assert_allclose(ordinal.predict_proba(T), theirs.predict_proba(T), atol=1e-6)


def test_the_basis_is_not_penalised():
    y = 3.0 * X[:, 1] - 2.0 + np.sin(3 * X[:, 0])
    model = KernelGLM(Gaussian(0.5).on([0]), "gaussian", 1e9, basis=Linear().on([1, 2])).fit(X, y)
    plain = LinearRegression().fit(X[:, 1:], y)
    np.testing.assert_allclose(model.predict(T), plain.predict(T[:, 1:]), atol=1e-6)
    np.testing.assert_allclose(model.basis_coef_, plain.coef_, atol=1e-6)
    assert np.isclose(model.intercept_, plain.intercept_, atol=1e-6)
    poisson = KernelGLM(Gaussian(0.5), "poisson", 1e9, basis=Linear()).fit(X, Y["poisson"])
    theirs = PoissonRegressor(alpha=0.0, tol=1e-10, solver="newton-cholesky").fit(X, Y["poisson"])
    np.testing.assert_allclose(poisson.predict(T), theirs.predict(T), rtol=1e-5)


def test_thin_plates_with_their_null_space():
    surface = X[:, :2]
    model = KernelGLM(ThinPlate(), "poisson", 0.1, basis=Linear(), tol=1e-8).fit(surface, Y["poisson"])
    assert model.solution_.status is Status.CONVERGED and model.score(surface, Y["poisson"]) > 0.3
    np.testing.assert_allclose(np.column_stack([np.ones(N), surface]).T @ model.dual_coef_, 0.0, atol=1e-5)
    with pytest.raises(CapabilityError, match="order"):
        KernelGLM(ThinPlate()).fit(surface, Y["poisson"])


@pytest.mark.parametrize("gram", [None, Tiles()], ids=repr)
@pytest.mark.parametrize(
    "kernel",
    [
        LinearSpline().on([0]) + LinearSpline().on([1]) + LinearSpline().on([0]) * LinearSpline().on([1]),
        Linear().on([0]) + 2.0 * Linear().on([1]),  # finite features, the primal form
        Gaussian(1.0),
    ],
    ids=repr,
)
def test_components_sum_to_the_predictor(kernel, gram):
    model = KernelGLM(kernel, "poisson", 0.3, gram=gram, basis=Linear().on([2])).fit(X, Y["poisson"])
    parts = model.components(T)
    np.testing.assert_allclose(parts.sum(axis=1), model.linear_predictor(T), atol=1e-9)
    np.testing.assert_allclose(np.exp(parts.sum(axis=1)), model.predict(T))
    np.testing.assert_allclose(model.components(X)[:, :-1].mean(axis=0), 0.0, atol=1e-9)
    if parts.shape[1] > 2:  # a main effect depends on its column alone
        moved = T.copy()
        moved[:, 1] = 1.0
        np.testing.assert_allclose(model.components(moved)[:, 0], parts[:, 0], atol=1e-12)
        assert np.abs(model.components(moved)[:, 1] - parts[:, 1]).max() > 1e-3


def test_additive_truth_is_found():
    kernel = Brownian().on([0]) + Brownian().on([1]) + Brownian().on([2])
    many = rng.uniform(0, 2, size=(600, 3))
    y = rng.poisson(np.exp(1.0 + np.sin(2 * many[:, 0]) + 0.5 * many[:, 1]))
    parts = KernelGLM(kernel, "poisson", 5.0).fit(many, y).components(many)
    truth = np.sin(2 * many[:, 0])
    assert np.corrcoef(parts[:, 0], truth)[0, 1] > 0.97
    assert np.corrcoef(parts[:, 1], many[:, 1])[0, 1] > 0.97
    assert parts[:, 2].std() < 0.3 * parts[:, 1].std()


def test_strings_and_a_loss_of_ones_own():
    words = ["aaab", "aabb", "abbb", "bbbb", "baba"] * 4
    counts = np.array([w.count("a") for w in words], dtype=float)
    model = KernelGLM(Spectrum(1), Poisson(), 0.01).fit(words, counts)
    assert model.score(words, counts) > 0.7 and (model.predict(["aaaa"]) > 2.0).all()


@pytest.mark.parametrize(
    ("family", "bad", "text"),
    [("poisson", -1.0, "not negative"), ("gamma", 0.0, "positive"), ("binomial", 2.0, "between 0 and 1")],
)
def test_impossible_responses(family, bad, text):
    y = Y["binomial"] * 0.5 + 0.1
    y[5] = bad
    with pytest.raises(TargetError, match=text):
        KernelGLM(family=family).fit(X, y)


def test_bad_parameters():
    for params, error in (
        ({"family": "cauchy"}, ParameterError),
        ({"family": Absolute()}, CapabilityError),
        ({"alpha": 0.0}, ParameterError),
        ({"basis": Gaussian(1.0)}, CapabilityError),
        ({"basis": "linear"}, ParameterError),
        ({"tol": 2.0}, ParameterError),
    ):
        with pytest.raises(error):
            KernelGLM(**params).fit(X, Y["poisson"])
    with pytest.raises(TargetError, match="no sample of positive weight"):
        KernelGLM(family="ordinal").fit(X, Y["ordinal"], sample_weight=(Y["ordinal"] > 0).astype(float))
    with pytest.raises(TargetError, match="inconsistent"):
        KernelGLM().fit(X, Y["poisson"][:-1])


def test_scores_at_the_ends():
    flat = KernelGLM(alpha=1e9).fit(X, Y["poisson"])
    assert abs(flat.score(X, Y["poisson"])) < 1e-6
    constant = KernelGLM(family="gaussian").fit(X, np.full(N, 7.0))  # nothing is left to be explained
    assert constant.solution_.status is Status.CONVERGED and np.allclose(constant.predict(T), 7.0)


class Saved(KernelGLM):
    """What a model file holds must be data."""


def test_files_and_pickles_give_the_same_model(tmp_path):
    for family in ("poisson", "ordinal"):
        model = Saved(Gaussian(1.0), family, basis=Linear().on([0])).fit(X, Y[family])
        mercer.save(model, tmp_path / "model.mercer", force=True)
        for again in (mercer.load(tmp_path / "model.mercer", classes=[Saved]), pickle.loads(pickle.dumps(model))):
            assert (again.predict(T) == model.predict(T)).all()
            assert (again.components(T) == model.components(T)).all()
