"""Relevance vector machines."""

import time

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from mercer.errors import ParameterError, TargetError
from mercer.estimators.sparse.relevance import RelevanceVectorClassifier, RelevanceVectorRegressor
from mercer.gram import Dense, Nystrom, Tiles
from mercer.kernels import Gaussian, Linear, NegativeDistance, Sigmoid, Spectrum
from tests.clock import allowed

rng = np.random.default_rng(0)
X = np.linspace(-10.0, 10.0, 100)[:, None]
F = np.sinc(X[:, 0] / np.pi)
Y = F + 0.1 * rng.normal(size=100)
POINTS = rng.normal(size=(90, 2))
CLASSES = np.where(POINTS[:, 0] + 0.3 * rng.normal(size=90) > 0, "b", "a")
THREE = np.array(["a", "b", "c"])[np.digitize(POINTS[:, 0] + 0.1 * rng.normal(size=90), [-0.5, 0.5])]
TEXTS, VALUES = ["abab", "abba", "xyxy", "xxyy", "baba", "yxyx"] * 3, np.array([1.0, 1.1, -1.0, -1.2, 0.9, -0.9] * 3)


@pytest.mark.parametrize("algorithm", ["fast", "plain"])
def test_noisy_sinc(algorithm):
    model = RelevanceVectorRegressor(Gaussian(2.0), algorithm=algorithm).fit(X, Y)
    assert len(model.relevance_) < 12
    assert np.sqrt(np.mean((model.predict(X) - F) ** 2)) < 0.06 and 0.006 < model.noise_ < 0.014
    assert np.array_equal(model.relevance_vectors_, X[model.relevance_])
    assert len(model.dual_coef_) == len(model.relevance_) <= len(model.alpha_) == len(model.sigma_)
    assert model.n_iter_ >= 1 and model.solution_.state is None


def test_prediction_and_its_variance_by_the_formula():
    model = RelevanceVectorRegressor(Gaussian(2.0)).fit(X, Y + 1.0)
    T = np.linspace(-12.0, 12.0, 31)[:, None]
    Phi, train = Gaussian(2.0)(T, X[model.relevance_]), Gaussian(2.0)(X, X[model.relevance_])
    if len(model.alpha_) > len(model.relevance_):
        Phi, train = np.column_stack([Phi, np.ones(31)]), np.column_stack([train, np.ones(100)])
    Sigma = np.linalg.inv(np.diag(model.alpha_) + train.T @ train / model.noise_)
    mean, std = model.predict(T, return_std=True)
    assert np.allclose(model.sigma_, Sigma, rtol=1e-7)
    centre = np.mean(Y + 1.0)
    assert np.allclose(mean, centre + Phi @ Sigma @ train.T @ (Y + 1.0 - centre) / model.noise_, rtol=1e-7)
    assert np.allclose(std, np.sqrt(model.noise_ + np.einsum("ij,jk,ik->i", Phi, Sigma, Phi)), rtol=1e-9)
    assert np.array_equal(mean, model.predict(T))


def test_the_evidence_is_the_density_of_the_targets():
    model = RelevanceVectorRegressor(Gaussian(2.0), fit_intercept=False, noise=0.02).fit(X, Y)
    Phi = Gaussian(2.0)(X, X[model.relevance_])
    C = 0.02 * np.eye(100) + (Phi / model.alpha_) @ Phi.T
    value = -0.5 * (np.linalg.slogdet(2 * np.pi * C)[1] + Y @ np.linalg.solve(C, Y))
    assert model.noise_ == 0.02 and np.isclose(model.log_marginal_likelihood_, value, rtol=1e-9)
    bigger = RelevanceVectorRegressor(Gaussian(2.0), fit_intercept=False, noise=0.02 * 25.0).fit(X, 5.0 * Y)
    assert np.isclose(bigger.log_marginal_likelihood_, value - 100 * np.log(5.0), rtol=1e-7)
    assert np.allclose(bigger.predict(X), 5.0 * model.predict(X), atol=1e-5)


def test_weights_of_numbers_are_repetitions():
    """Of copies the search may take any, and end at another of its optima: the model found is compared."""
    w = rng.integers(0, 4, 90)
    y = np.sin(POINTS[:, 0]) + 0.1 * rng.normal(size=90)
    model = RelevanceVectorRegressor(Gaussian(1.0)).fit(POINTS, y, sample_weight=w)
    again, t = POINTS.repeat(w, axis=0), y.repeat(w) - y.repeat(w).mean()
    Phi = np.column_stack([Gaussian(1.0)(again, POINTS[model.relevance_]), np.ones(len(again))])
    Phi = Phi[:, : len(model.alpha_)]
    C = model.noise_ * np.eye(len(again)) + (Phi / model.alpha_) @ Phi.T
    value = -0.5 * (np.linalg.slogdet(2 * np.pi * C)[1] + t @ np.linalg.solve(C, t))
    assert np.isclose(model.log_marginal_likelihood_, value, rtol=1e-7)
    weights = np.linalg.solve(np.diag(model.alpha_) + Phi.T @ Phi / model.noise_, Phi.T @ t / model.noise_)
    assert np.allclose(model.predict(again) - y.repeat(w).mean(), Phi @ weights, atol=1e-6)
    assert np.all(w[model.relevance_] > 0)


@pytest.mark.parametrize("kind", ["classes", "three"])
def test_weights_are_repetitions(kind):
    w = rng.integers(0, 4, 90)
    y = {"classes": CLASSES, "three": THREE}[kind]
    one = RelevanceVectorClassifier(Gaussian(1.0)).fit(POINTS, y, sample_weight=w)
    two = RelevanceVectorClassifier(Gaussian(1.0)).fit(POINTS.repeat(w, axis=0), y.repeat(w))
    assert np.allclose(one.predict_proba(POINTS), two.predict_proba(POINTS), atol=1e-6)
    assert np.allclose(one.log_marginal_likelihood_, two.log_marginal_likelihood_, rtol=1e-7)
    assert np.all(w[one.relevance_] > 0)


@pytest.mark.parametrize("algorithm", ["fast", "plain"])
def test_any_kernel_on_any_domain_without_a_warning(algorithm, recwarn):
    for kernel in (Sigmoid(scale=0.1), NegativeDistance(), "linear", "rbf"):
        assert np.isfinite(RelevanceVectorRegressor(kernel, algorithm=algorithm).fit(X, Y).predict(X)).all()
    texts = RelevanceVectorRegressor(Spectrum(2), algorithm=algorithm).fit(TEXTS, VALUES)
    assert np.allclose(texts.predict(["abab", "xyxy"]), [1.0, -1.0], atol=0.3)
    assert len(texts.relevance_vectors_) == len(texts.relevance_)
    classes = RelevanceVectorClassifier(Spectrum(2), algorithm=algorithm).fit(TEXTS, VALUES > 0)
    assert classes.predict(["aba", "yxy"]).tolist() == [True, False]
    K = Gaussian(2.0)(X)
    stored = RelevanceVectorRegressor("precomputed", algorithm=algorithm).fit(K, Y)
    direct = RelevanceVectorRegressor(Gaussian(2.0), algorithm=algorithm).fit(X, Y)
    assert np.allclose(stored.predict(K[:5], return_std=True), direct.predict(X[:5], return_std=True), rtol=1e-6)
    assert not [w for w in recwarn if "definite" in str(w.message)]


def test_columns_on_demand():
    one, two = (RelevanceVectorRegressor(Gaussian(2.0), gram=g).fit(X, Y) for g in (Dense(), Tiles()))
    assert np.array_equal(one.relevance_, two.relevance_) and np.allclose(one.predict(X), two.predict(X), atol=1e-8)


def test_a_gram_of_low_rank_predicts_by_its_own_basis_functions():
    gram = Nystrom(6, random_state=0)
    model = RelevanceVectorRegressor(Gaussian(2.0), gram=gram, fit_intercept=False).fit(X, Y)
    low = gram.build(Gaussian(2.0), Gaussian(2.0).pack(X))
    T = np.linspace(-12.0, 12.0, 31)[:, None]
    Phi = low.cross(Gaussian(2.0).pack(T)).to_dense()[:, model.relevance_]
    mean, std = model.predict(T, return_std=True)
    assert np.allclose(mean, Phi @ model.dual_coef_, atol=1e-9)
    assert np.allclose(std**2, model.noise_ + np.einsum("ij,jk,ik->i", Phi, model.sigma_, Phi), rtol=1e-7)
    assert np.allclose(model.predict(X), low.to_dense()[:, model.relevance_] @ model.dual_coef_, atol=1e-9)
    classes = RelevanceVectorClassifier(Gaussian(2.0), gram=gram).fit(POINTS, THREE)
    assert classes.score(POINTS, THREE) > 0.8 and classes.predict_proba(POINTS).shape == (90, 3)


def test_weights_of_columns_for_the_linear_kernel():
    Z = rng.normal(size=(50, 3))
    model = RelevanceVectorRegressor(Linear()).fit(Z, Z @ [1.0, -2.0, 0.0] + 0.01 * rng.normal(size=50))
    assert np.allclose(model.coef_, [1.0, -2.0, 0.0], atol=0.05)
    with pytest.raises(AttributeError):
        RelevanceVectorRegressor(Gaussian(1.0)).fit(Z, Z[:, 0]).coef_  # noqa: B018


@pytest.mark.parametrize("algorithm", ["fast", "plain"])
def test_two_classes(algorithm):
    model = RelevanceVectorClassifier(Gaussian(1.5), algorithm=algorithm).fit(POINTS, CLASSES)
    P = model.predict_proba(POINTS)
    assert model.score(POINTS, CLASSES) > 0.85 and len(model.relevance_) <= 10
    assert np.array_equal(model.predict(POINTS), model.classes_[P.argmax(axis=1)]) and np.allclose(P.sum(axis=1), 1.0)
    assert model.dual_coef_.shape == (1, len(model.relevance_)) and model.sigma_.ndim == 3
    mean = Gaussian(1.5)(POINTS, POINTS[model.relevance_]) @ model.dual_coef_[0] + model.intercept_[0]
    phi = np.column_stack([Gaussian(1.5)(POINTS, POINTS[model.relevance_]), np.ones(90)])
    variance = np.einsum("ij,jk,ik->i", phi, model.sigma_[0], phi)
    moderated = mean / np.sqrt(1 + np.pi * variance / 8)
    assert np.allclose(model.decision_function(POINTS), moderated, rtol=1e-8)
    assert np.allclose(P[:, 1], 1 / (1 + np.exp(-moderated))) and np.allclose(
        np.exp(model.predict_log_proba(POINTS)), P
    )


def test_probabilities_are_calibrated():
    places = rng.normal(size=(6000, 2))
    truth = 1 / (1 + np.exp(-3.0 * np.sin(2.0 * places[:, 0])))
    t = (rng.uniform(size=6000) < truth).astype(int)
    model = RelevanceVectorClassifier(Gaussian(1.0)).fit(places[:600], t[:600])
    p = model.predict_proba(places[600:])[:, 1]
    for low in np.arange(0.1, 0.9, 0.2):
        chosen = (p >= low) & (p < low + 0.2)
        assert abs(t[600:][chosen].mean() - p[chosen].mean()) < 0.08


def test_several_classes():
    model = RelevanceVectorClassifier(Gaussian(1.0)).fit(POINTS, THREE)
    r = len(model.relevance_)
    assert model.score(POINTS, THREE) > 0.8
    assert model.dual_coef_.shape == (3, r) and model.alpha_.shape == (3, r + 1) and len(model.roots_) == 3
    assert np.array_equal(np.isinf(model.alpha_[:, :r]), model.dual_coef_ == 0.0)
    single = RelevanceVectorClassifier(Gaussian(1.0)).fit(POINTS, THREE == "b")
    assert np.allclose(model.decision_function(POINTS)[:, 1], single.decision_function(POINTS), atol=1e-8)
    assert model.log_marginal_likelihood_.shape == (3,)


def test_balanced_classes_are_weights():
    one = RelevanceVectorClassifier(Gaussian(1.0), class_weight="balanced").fit(POINTS, CLASSES)
    share = {c: 90 / (2 * np.sum(c == CLASSES)) for c in "ab"}
    two = RelevanceVectorClassifier(Gaussian(1.0)).fit(POINTS, CLASSES, sample_weight=[share[c] for c in CLASSES])
    assert np.allclose(one.predict_proba(POINTS), two.predict_proba(POINTS), atol=1e-9)


@pytest.mark.parametrize("algorithm", ["fast", "plain"])
def test_degenerate_targets_and_samples(algorithm):
    def make(**params):
        return RelevanceVectorRegressor(algorithm=algorithm, **params)

    assert np.allclose(make().fit(X, np.full(100, 3.0)).predict(X), 3.0, atol=1e-3)
    nothing = make(fit_intercept=False).fit(X, np.zeros(100))
    assert len(nothing.relevance_) == 0 and np.all(nothing.predict(X) == 0.0)
    assert np.all(nothing.predict(X, return_std=True)[1] > 0.0)
    assert np.isfinite(make().fit(X[:1], Y[:1]).predict(X[:2], return_std=True)).all()
    same = make().fit(np.ones((20, 1)), Y[:20])
    assert np.allclose(same.predict([[1.0]]), Y[:20].mean(), atol=0.05)
    with pytest.raises(TargetError, match="squares"):
        make().fit(X, 1e200 * Y)


@pytest.mark.timing
def test_no_convergence_and_no_time_are_told():
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        RelevanceVectorRegressor(Gaussian(2.0), max_iter=1).fit(X, Y)
    Z = rng.uniform(size=(1500, 5))
    began = time.perf_counter()
    with pytest.warns(ConvergenceWarning, match="max_time"):
        model = RelevanceVectorRegressor(Gaussian(0.3), max_time=0.5).fit(Z, np.sin(9.0 * Z).sum(axis=1))
    assert time.perf_counter() - began < allowed(10.0) and np.isfinite(model.predict(Z[:5])).all()


def test_an_interrupted_fit_leaves_the_model_as_it_was(monkeypatch):
    model = RelevanceVectorRegressor(Gaussian(2.0)).fit(X, Y)
    before = model.predict(X)
    monkeypatch.setattr("mercer.solvers.sparse.incremental_evidence.finish", _interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, -Y)
    assert np.array_equal(model.predict(X), before)


def _interrupt(*args):
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    "params", [{"algorithm": "quick"}, {"tol": 0.0}, {"max_iter": 0}, {"noise": -1.0}, {"fit_intercept": 2}], ids=str
)
def test_bad_parameters(params):
    with pytest.raises(ParameterError):
        RelevanceVectorRegressor(**params).fit(X, Y)


def test_plans_name_the_buffers():
    fast, plain = (RelevanceVectorRegressor(algorithm=a).memory_plan(1000, 3) for a in ("fast", "plain"))
    assert "working set" in fast.buffers and plain.buffers["normal matrix"] == 24_000_000
