"""The least squares support vector classifier."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_blobs
from sklearn.metrics import log_loss

from mercer import load, save
from mercer.errors import ParameterError, TargetError
from mercer.estimators.squares.least_squares_classifier import LSSVC
from mercer.estimators.squares.least_squares_svm import LSSVR
from mercer.gram import Dense, Nystrom, Tiles
from mercer.kernels import Gaussian, Linear, NegativeDistance, Spectrum

rng = np.random.default_rng(0)
X = rng.normal(size=(45, 2))
LABELS = np.array(["one", "two"])[(np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=45) > 0).astype(int)]
SIGN = np.where(LABELS == "two", 1.0, -1.0)
THREE = np.digitize(X[:, 0] + 0.2 * rng.normal(size=45), [-0.6, 0.6])
T = rng.normal(size=(9, 2))


@pytest.mark.parametrize("kernel", [Gaussian(1.0), NegativeDistance()], ids=repr)
def test_the_system_of_the_seed(kernel):
    gamma, n = 3.0, 45
    omega = SIGN[:, None] * SIGN * kernel(X)  # (57)
    A = np.block([[np.zeros((1, 1)), SIGN[None]], [SIGN[:, None], omega + np.eye(n) / gamma]])
    solved = np.linalg.solve(A, np.append(0.0, np.ones(n)))
    model = LSSVC(kernel, C=gamma).fit(X, LABELS)
    assert np.allclose(model.dual_coef_, solved[1:] * SIGN) and np.isclose(model.intercept_, solved[0])
    assert np.allclose(model.decision_function(T), kernel(T, X) @ (solved[1:] * SIGN) + solved[0])
    assert np.array_equal(model.predict(T) == "two", model.decision_function(T) > 0)


@pytest.mark.parametrize("scheme", ["ovr", "ovo", "minimal", "dense", "sparse", "exhaustive"])
@pytest.mark.parametrize("gram", [Dense(), Nystrom(45), Tiles()], ids=repr)
def test_several_classes_are_problems_of_two(scheme, gram):
    model = LSSVC(Gaussian(1.0), C=4.0, multi_class=scheme, gram=gram).fit(X, THREE)
    code = model.reduction_.code
    values = np.empty((9, code.shape[1]))
    for column, sides in enumerate(code.T):
        part = np.flatnonzero(sides[THREE])
        single = LSSVR(Gaussian(1.0), C=4.0).fit(X[part], sides[THREE][part])
        values[:, column] = single.predict(T)
    assert np.allclose(model.reduction_.confidences(values), model.decision_function(T), atol=1e-5)
    assert model.decision_function(T).shape == (9, 3)
    assert np.array_equal(model.predict(T), np.argmax(model.decision_function(T), axis=1))


def test_the_fewest_problems():
    y = np.arange(45) % 5
    code = LSSVC(multi_class="minimal").fit(X, y).reduction_.code
    assert code.shape == (5, 3) and len(np.unique(code, axis=0)) == 5
    assert LSSVC(multi_class="minimal").fit(X, LABELS).decision_function(T).shape == (9,)


def test_a_code_of_ones_own():
    code = np.array([[1, 1], [1, -1], [-1, 0]])
    model = LSSVC(Gaussian(1.0), multi_class=code).fit(X, THREE)
    assert np.array_equal(model.reduction_.code, code) and model.score(X, THREE) > 0.7
    with pytest.raises(ParameterError, match="both signs"):
        LSSVC(multi_class=np.ones((3, 2))).fit(X, THREE)


@pytest.mark.parametrize(("y", "scheme"), [(LABELS, "ovr"), (THREE, "ovr"), (THREE, "ovo")])
def test_leaving_out_is_what_it_says(y, scheme):
    w = rng.random(45) + 0.5
    options = {"kernel": Gaussian(1.0), "C": 5.0, "multi_class": scheme}
    model = LSSVC(leave_one_out=True, **options).fit(X, y, sample_weight=w)
    for i in range(45):
        rest = np.delete(np.arange(45), i)
        other = LSSVC(**options).fit(X[rest], y[rest], sample_weight=w[rest])
        assert np.allclose(model.loo_decision_[i], other.decision_function(X[i : i + 1])[0], rtol=1e-9, atol=1e-9)
        assert model.loo_predictions_[i] == other.predict(X[i : i + 1])[0]


def test_weights_are_copies():
    w = rng.integers(0, 4, size=45)
    again = np.repeat(np.arange(45), w)
    for y in (LABELS, THREE):
        a = LSSVC(Gaussian(1.0), probability=True, leave_one_out=True).fit(X, y, sample_weight=w)
        b = LSSVC(Gaussian(1.0), probability=True).fit(X[again], y[again])
        assert np.allclose(a.decision_function(T), b.decision_function(T)) and np.isclose(
            a.log_evidence_, b.log_evidence_
        )
        assert np.allclose(a.loo_decision_[w == 0], a.decision_function(X[w == 0]))


def test_weights_of_classes():
    a = LSSVC(Gaussian(1.0), class_weight={"two": 3.0}).fit(X, LABELS)
    b = LSSVC(Gaussian(1.0)).fit(X, LABELS, sample_weight=np.where(LABELS == "two", 3.0, 1.0))
    assert np.allclose(a.decision_function(T), b.decision_function(T))
    balanced = LSSVC(Gaussian(1.0), class_weight="balanced").fit(X, LABELS)
    assert np.isclose((balanced.class_weight_ * [np.sum(SIGN < 0), np.sum(SIGN > 0)]).std(), 0.0)


def test_probabilities_are_those_of_normal_classes():
    rng = np.random.default_rng(1)
    y = np.where(rng.random(600) < 0.3, 1, 0)
    data = rng.normal(size=(600, 2)) + np.outer(2.0 * y, [1.0, 0.5])
    model = LSSVC(Linear(), C=1.0, probability=True).fit(data, y)
    test = rng.normal(size=(4000, 2)) + np.outer(2.0 * (rng.random(4000) < 0.3), [1.0, 0.5])
    exact = np.log(0.3 / 0.7) + 2.0 * (test @ [1.0, 0.5] - 1.25)
    p = model.predict_proba(test)
    assert np.allclose(p.sum(axis=1), 1.0)
    assert np.abs(p[:, 1] - 1.0 / (1.0 + np.exp(-exact))).mean() < 0.03
    assert np.allclose(np.exp(model.predict_log_proba(test)), p)


@pytest.mark.parametrize("scheme", ["ovr", "ovo", "minimal"])
def test_probabilities_of_several_classes_are_useful(scheme):
    data, y = load_iris(return_X_y=True)
    train = np.arange(150) % 2 == 0
    model = LSSVC(C=None, probability=True, multi_class=scheme).fit(data[train], y[train])
    p = model.predict_proba(data[~train])
    assert np.allclose(p.sum(axis=1), 1.0) and (p >= 0).all()
    assert log_loss(y[~train], p) < 0.25 and np.mean(p.argmax(axis=1) == y[~train]) > 0.93


@pytest.mark.parametrize("gram", [Dense(), Nystrom(20)], ids=repr)
def test_far_away_nothing_is_known(gram):
    model = LSSVC(Gaussian(1.0), C=10.0, probability=True, gram=gram).fit(X, LABELS)
    near, far = model.predict_proba([[0.8, 0.0], [100.0, 100.0]])[:, 1]
    bold = model.moderations_[0](model.decision_function([[100.0, 100.0]]), np.zeros(1))[0]
    share = np.mean(SIGN > 0)
    assert abs(far - share) < abs(bold - share) + 1e-12 and near > 0.8 and abs(far - share) < 0.15


def test_probabilities_must_be_asked_for_before():
    assert not hasattr(LSSVC().fit(X, LABELS), "predict_proba")
    with pytest.raises(AttributeError, match="predict_proba"):
        LSSVC().fit(X, LABELS).predict_proba(T)


def test_pruning():
    data, y = make_blobs(200, centers=3, cluster_std=1.5, random_state=0)
    model = LSSVC(Gaussian(2.0), prune=0.1, leave_one_out=True).fit(data, y)
    assert len(model.support_) < 100 and model.score(data, y) > LSSVC(Gaussian(2.0)).fit(data, y).score(data, y) - 0.05
    assert len(model.expansion_.samples) == len(model.support_) and model.loo_decision_.shape == (200, 3)
    with pytest.raises(ParameterError, match="ovr"):
        LSSVC(prune=0.1, multi_class="ovo").fit(data, y)


def test_strings_and_a_class_without_weight():
    texts = ["abab", "aab", "ab", "cdcd", "cdd", "ccd"]
    y = [0, 0, 0, 1, 1, 1]
    model = LSSVC(Spectrum(2), C=None, probability=True).fit(texts, y)
    assert model.predict(["abb", "ccdd"]).tolist() == [0, 1] and model.predict_proba(["abb", "zz"]).shape == (2, 2)
    with pytest.raises(TargetError, match="no sample of positive weight"):
        LSSVC(Spectrum(2)).fit(texts, y, sample_weight=[1, 1, 1, 0, 0, 0])


def test_ties_go_to_the_first_class():
    assert LSSVC(Linear(), gram=Dense()).fit([[0.0], [0.0]], ["a", "b"]).predict([[0.5]]).tolist() == ["a"]


def test_the_fixed_size_machine_on_many_samples():
    rng = np.random.default_rng(1)
    data = rng.normal(size=(20000, 3))
    y = (np.sin(2 * data[:, 0]) + data[:, 1] > 0).astype(int)
    model = LSSVC(Gaussian(1.0), C=100.0, gram=Nystrom(100, sampler="entropy"), memory="40MB").fit(
        data[:18000], y[:18000]
    )
    assert model.score(data[18000:], y[18000:]) > 0.97 and len(model.expansion_.samples) == 100


@pytest.mark.parametrize("options", [{}, {"multi_class": "ovo"}, {"gram": Nystrom(30)}], ids=str)
def test_it_can_be_stored(options, tmp_path):
    model = LSSVC(Gaussian(1.0), probability=True, leave_one_out=True, **options).fit(X, THREE)
    save(model, tmp_path / "model.mercer")
    again = load(tmp_path / "model.mercer")
    assert np.array_equal(again.predict_proba(T), model.predict_proba(T))
