"""Manifold regularisation, against the optimality conditions and brute-force leaving out."""

import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn.datasets import make_moons

from mercer import SVC, KernelRidge, LabelPropagation, LaplacianRidge, LaplacianSVC, TransductiveSVC, load, save
from mercer.errors import DomainError, ParameterError, TargetError
from mercer.estimators.semi.laplacian import _least_hinge
from mercer.gram import Dense, Nystrom, Tiles
from mercer.kernels import Gaussian, Linear, Spectrum
from mercer.selection.sigmoid import fit_sigmoid

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 2))
T = RNG.normal(size=(6, 2))
KNOWN = np.sort(RNG.choice(40, 12, replace=False))
Y = np.full(40, np.nan)
Y[KNOWN] = np.sin(2.0 * X[KNOWN, 0])
LABELS = np.full(40, -1)
LABELS[KNOWN] = (Y[KNOWN] > 0.0).astype(int)
OPTIONS = {"n_neighbors": 4}


def laplacian():
    near = np.argsort(((X[:, None] - X) ** 2).sum(-1), axis=1)[:, 1:5]
    A = np.zeros((40, 40))
    A[np.arange(40)[:, None], near] = 1.0
    A = np.maximum(A, A.T)
    return np.diag(A.sum(1)) - A


@pytest.mark.parametrize("spec", [Dense(), Tiles(), Nystrom(40, random_state=0)], ids=repr)
@pytest.mark.parametrize("intercept", [False, True])
def test_ridge_is_stationary(spec, intercept):
    """The gradient of the objective in f vanishes: W (f - y) + alpha a + m L K a = 0 in the span of K."""
    k, alpha, m = Gaussian(1.0), 0.3, 0.5
    model = LaplacianRidge(k, alpha, m, gram=spec, fit_intercept=intercept, **OPTIONS).fit(X, Y)
    K, J = k(X), np.zeros(40)
    J[KNOWN] = 1.0
    y = np.where(np.isnan(Y), 0.0, Y)
    system = alpha * np.eye(40) + (np.diag(J) + m * laplacian()) @ K
    if intercept:
        whole = np.block([[system, J[:, None]], [(J @ K)[None], np.array([[J.sum()]])]])
        found = np.linalg.solve(whole, np.append(J * y, J @ y))
        a, b = found[:-1], found[-1]
    else:
        a, b = np.linalg.solve(system, J * y), 0.0
    assert np.allclose(model.predict(T), k(T, X) @ a + b, atol=1e-6)
    assert np.allclose(model.transduction_, K @ a + b, atol=1e-6)


def test_leaving_out_a_target_is_fitting_without_it():
    model = LaplacianRidge(Gaussian(1.0), 0.3, 0.5, fit_intercept=True, **OPTIONS).fit(X, Y)
    for place, i in enumerate(KNOWN[:4]):
        without = Y.copy()
        without[i] = np.nan
        again = LaplacianRidge(model.kernel_, 0.3, 0.5, fit_intercept=True, **OPTIONS).fit(X, without)
        assert np.isclose(again.transduction_[i], model.loo_predictions_[place], atol=1e-8)


def test_the_weight_is_chosen_by_left_out_targets():
    grid = [0.0, 0.1, 10.0]
    model = LaplacianRidge(Gaussian(1.0), 0.1, grid, **OPTIONS).fit(X, Y)
    each = [LaplacianRidge(Gaussian(1.0), 0.1, m, **OPTIONS).fit(X, Y) for m in grid]
    errors = [np.mean((Y[KNOWN] - one.loo_predictions_) ** 2) for one in each]
    assert np.allclose(model.loo_errors_, errors) and model.manifold_ == grid[int(np.argmin(errors))]
    best = each[int(np.argmin(errors))]
    assert np.allclose(model.predict(T), best.predict(T))


@pytest.mark.parametrize("spec", [None, Nystrom(40, random_state=0)], ids=repr)
def test_without_the_graph_it_is_the_supervised_machine(spec):
    k = Gaussian(1.0)
    ridge = LaplacianRidge(k, 0.3, 0.0, gram=spec).fit(X, Y).predict(T)
    assert np.allclose(ridge, KernelRidge(k, 0.3).fit(X[KNOWN], Y[KNOWN]).predict(T), atol=1e-7)
    svc = LaplacianSVC(k, 2.0, 0.0, tol=1e-8, gram=spec).fit(X, LABELS)
    plain = SVC(k, 2.0, tol=1e-8).fit(X[KNOWN], LABELS[KNOWN])
    assert np.allclose(svc.decision_function(T), plain.decision_function(T), atol=1e-6)
    assert np.array_equal(svc.support_, KNOWN[plain.support_])


def test_svc_is_that_of_the_deformed_kernel():
    k, m = Gaussian(1.0), 0.5
    K = k(X)
    deformed = K - K @ np.linalg.solve(np.eye(40) + m * laplacian() @ K, m * laplacian() @ K)
    plain = SVC("precomputed", 2.0, tol=1e-8).fit(deformed[np.ix_(KNOWN, KNOWN)], LABELS[KNOWN])
    for spec in (Dense(), Tiles(), Nystrom(40, random_state=0)):
        model = LaplacianSVC(k, 2.0, m, tol=1e-8, gram=spec, **OPTIONS).fit(X, LABELS)
        values = plain.decision_function(deformed[:, KNOWN])
        assert np.allclose(model.decision_function(X), values, atol=1e-5)
        assert np.array_equal(model.transduction_, (values > 0).astype(int))


def test_left_out_labels_choose_the_weight_of_the_classifier():
    options = {**OPTIONS, "tol": 1e-8, "loss": "squared_hinge"}  # whose bias is always determined
    model = LaplacianSVC(Gaussian(1.0), 2.0, [0.0, 1.0], **options).fit(X, LABELS)
    losses = []
    for m in (0.0, 1.0):
        margins = np.empty(len(KNOWN))
        for place, i in enumerate(KNOWN):
            y = LABELS.copy()
            y[i] = -1
            f = LaplacianSVC(Gaussian(1.0), 2.0, m, **options).fit(X, y).decision_function(X[[i]])[0]
            margins[place] = (2 * LABELS[i] - 1) * f
        costs = np.append(0.0, np.full(len(KNOWN), 1.0 / len(KNOWN)))  # the scale, then the slacks
        rows = np.column_stack([-margins, -np.eye(len(KNOWN))])
        losses.append(linprog(costs, rows, -np.ones(len(KNOWN))).fun)
    assert np.allclose(model.loo_errors_, losses, atol=1e-4)
    assert model.manifold_ == (0.0, 1.0)[int(np.argmin(losses))]


@pytest.mark.parametrize("sides", [(-1.0, 1.0), (1e-300, 1.0), (-2.0, -1.0)])
def test_the_least_hinge_loss_over_scales(sides):
    margins, w = RNG.uniform(*sides, size=9), RNG.uniform(0.5, 2.0, size=9)
    scales = np.append(0.0, 1.0 / np.abs(margins))
    with np.errstate(over="ignore"):
        expected = min(w @ np.maximum(0.0, 1.0 - s * margins) for s in scales)
    assert np.isclose(_least_hinge(margins, w), expected, rtol=1e-12, atol=1e-12)


def test_probabilities_are_a_sigmoid_of_left_out_labels():
    options = {**OPTIONS, "tol": 1e-8, "loss": "squared_hinge"}  # whose bias is always determined
    model = LaplacianSVC(Gaussian(1.0), 2.0, [0.0, 1.0], probability=True, **options).fit(X, LABELS)
    values = np.empty(len(KNOWN))
    for place, i in enumerate(KNOWN):
        y = LABELS.copy()
        y[i] = -1
        values[place] = LaplacianSVC(Gaussian(1.0), 2.0, model.manifold_, **options).fit(X, y).decision_function(X)[i]
    p = fit_sigmoid(values, LABELS[KNOWN])(model.decision_function(X))
    assert np.allclose(model.label_distributions_, np.column_stack([1.0 - p, p]), atol=1e-4)
    assert np.allclose(model.predict_proba(X), model.label_distributions_, atol=1e-8)
    assert not hasattr(model.set_params(probability=False).fit(X, LABELS), "label_distributions_")


def test_probabilities_of_samples_without_weight_and_of_classes_with_one_label():
    y = np.where(LABELS < 0, -1, np.arange(40) % 3)
    model = LaplacianSVC(Gaussian(1.0), probability=True, **OPTIONS).fit(X, y, np.arange(40) > 0)
    assert model.label_distributions_.shape == (40, 3)
    assert np.allclose(model.label_distributions_, model.predict_proba(X), atol=1e-8)
    assert np.allclose(model.label_distributions_.sum(axis=1), 1.0)
    y = np.full(40, -1)
    y[:4] = 0, 0, 0, 1
    with pytest.raises(TargetError, match="probability=True was given"):
        LaplacianSVC(Gaussian(1.0), probability=True, **OPTIONS).fit(X, y)


def test_two_moons_with_four_labels():
    M, truth = make_moons(200, noise=0.05, random_state=0)
    y = np.full(200, -1)
    for c in (0, 1):
        y[np.flatnonzero(truth == c)[:2]] = c
    model = LaplacianSVC(Gaussian(0.3), C=100.0, manifold=1.0, n_neighbors=8).fit(M, y)
    assert (
        np.mean(model.transduction_ == truth)
        > 0.98
        > np.mean(SVC(Gaussian(0.3)).fit(M[y >= 0], y[y >= 0]).predict(M) == truth)
    )


def test_texts_several_classes_and_the_model_file(tmp_path):
    words = ["aaab", "aaba", "abaa", "bbba", "bbab", "babb", "cccb", "ccbc", "cbcc"]
    y = ["a", None, None, "b", None, None, "c", None, None]
    model = LaplacianSVC(Spectrum(2), C=10.0, n_neighbors=2, unlabelled=None).fit(words, y)
    assert model.transduction_.tolist() == list("aaabbbccc")
    save(model, tmp_path / "m.mercer")
    again = load(tmp_path / "m.mercer")
    assert np.array_equal(again.decision_function(words), model.decision_function(words))


def test_weights_are_repetition_in_the_graph_too():
    w = RNG.integers(1, 4, size=40)
    index = np.repeat(np.arange(40), w)
    for make, y in ((LaplacianRidge, Y), (LaplacianSVC, LABELS)):
        a = make(Gaussian(1.0), n_neighbors=4).fit(X, y, sample_weight=w).expansion_(T)
        b = make(Gaussian(1.0), n_neighbors=4).fit(X[index], y[index]).expansion_(T)
        assert np.allclose(a, b, atol=2e-3 if make is LaplacianSVC else 1e-7)  # tol of the solver


def test_bad_input():
    with pytest.raises(TargetError, match="All 40 samples"):
        LaplacianSVC().fit(X, np.full(40, -1))
    with pytest.raises(TargetError, match="one labelled sample"):
        LaplacianSVC(manifold=[0.1, 1.0]).fit(X[:4], [0, 1, -1, -1])
    with pytest.raises(TargetError, match="No sample of positive weight"):
        LaplacianRidge(Linear()).fit(X[:3], [1.0, np.nan, np.nan], sample_weight=[0.0, 1.0, 1.0])


@pytest.mark.parametrize("make", [LaplacianSVC, TransductiveSVC, LabelPropagation])
def test_nan_is_equal_to_nothing_and_marks_nothing(make):
    with pytest.raises(ParameterError, match="unlabelled=None"):
        make(unlabelled=np.nan).fit(X, LABELS)


@pytest.mark.parametrize("make", [LaplacianRidge, LaplacianSVC])
def test_a_graph_is_a_matrix(make):
    with pytest.raises(ParameterError, match="graph"):
        make(graph={"a": 1}).fit(X, LABELS)
    with pytest.raises(DomainError, match="1 dimensions"):
        make(graph=np.ones(40)).fit(X, LABELS)
