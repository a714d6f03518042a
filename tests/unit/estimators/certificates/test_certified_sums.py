import math

import numpy as np
import pytest
from scipy.stats import binom, norm
from sklearn.tree import DecisionTreeClassifier

from mercer import (
    AdaBoostClassifier,
    KernelBalls,
    KernelStumps,
    LPBoostClassifier,
    LPBoostRegressor,
    MultipleKernelClassifier,
    MultipleKernelDetector,
    MultipleKernelRegressor,
)
from mercer.errors import CapabilityError
from mercer.gram import Nystrom
from mercer.kernels import Gaussian, Linear
from mercer.theory import (
    boosting_bound,
    margin_bound,
    mcdiarmid_width,
    mkl_bound,
    rademacher_average,
    stump_correlation,
    svm_pac_bayes,
    union_rademacher,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 2))
Y = np.where(X[:, 0] + 0.3 * RNG.normal(size=80) > 0, "right", "left")
Z = np.sin(X[:, 0]) + 0.1 * RNG.normal(size=80)
SIGN = np.where(Y == "right", 1.0, -1.0)
KERNELS = [Gaussian(0.7), 2.0 * Gaussian(2.0), Gaussian(1.0).on([1])]
QUICK = {"cv": None, "prior": None}


def named(certificate, name):
    return next(bound for bound in certificate.bounds if bound.name == name)


def test_bounds_of_several_kernels_by_the_numbers_of_the_model():
    model = MultipleKernelClassifier(KERNELS, C=3.0).fit(X, Y)
    certificate = model.certificate(X, Y, **QUICK)
    sizes = model.weights_ * np.sqrt(model.squares_)  # f_t = d_t K_t beta has norm d_t (beta^T K_t beta)^(1/2)
    t, b = SIGN * model.decision_function(X), float(model.intercept_[0])
    R = union_rademacher([80.0, 160.0, 80.0], 80)
    expected = margin_bound(t, sizes.sum(), R, offset=abs(b), delta=0.025)
    assert named(certificate, "margin, learned") == pytest.approx(float(expected), rel=1e-9)
    size = np.linalg.norm(sizes)
    drawn = [
        svm_pac_bayes(t / math.hypot(size, b / s) / math.sqrt(4.0 + s * s), 0.025, choices=5)
        for s in (0.01, 0.1, 1.0, 10.0, 100.0)
    ]
    assert named(certificate, "PAC-Bayes, prior at zero") == pytest.approx(float(min(drawn)), rel=1e-9)
    total = sizes.sum()
    printed = mkl_bound(
        np.maximum(0.0, (1.0 - t) / total), [80.0, 160.0, 80.0], 1.0 / total, 0.05, radius=math.sqrt(2.0)
    )
    assert named(certificate, "many kernels, fixed margin") == pytest.approx(float(printed), rel=1e-9)
    assert "many kernels, fixed margin" in certificate.loose
    assert certificate.holds


@pytest.mark.parametrize("model", [AdaBoostClassifier(n_estimators=6), LPBoostClassifier(nu=0.3)])
def test_bounds_of_boosted_stumps_by_the_numbers_of_the_model(model):
    certificate = model.fit(X, Y).certificate(X, Y, **QUICK)
    t, total = SIGN * model.decision_function(X), np.abs(model.ensembles_[0].weights).sum()
    drawn = rademacher_average(stump_correlation(X), 80, 200, 0).value

    def complexity(delta):
        return drawn + mcdiarmid_width(np.full(80 * 200, 4.0 / (80 * 200)), 0.1 * delta)

    expected = margin_bound(t, total, complexity(0.05), delta=0.9 * 0.05)
    assert named(certificate, "margin, learned") == pytest.approx(float(expected), rel=1e-9)
    scale = float(getattr(model, "margin_", [1.0])[0])
    printed = boosting_bound(np.maximum(0.0, 1.0 - t / scale), total / scale, complexity(0.05), 0.05)
    assert named(certificate, "boosting, fixed sum") == pytest.approx(float(printed), rel=1e-9)
    assert certificate.holds and certificate.best.name == "margin, learned"


def test_balls_of_kernels_are_a_mixture():
    """The sum of votes of unit functions is at least the norm of their sum, which is what counts."""
    model = LPBoostClassifier(KernelBalls((Gaussian(0.7), Gaussian(2.0)), constant=False), nu=0.3).fit(X, Y)
    found = named(model.certificate(X, Y, **QUICK), "margin, learned")
    sizes = [float(f.column(0).norm()) for f in model.expansions_[0]]
    R = union_rademacher([80.0, 80.0, 80.0], 80)  # the third is that of constants
    expected = margin_bound(SIGN * model.decision_function(X), sum(sizes), R, delta=0.025)
    assert found == pytest.approx(float(expected), rel=1e-9)


def test_detectors_and_regression():
    region = MultipleKernelDetector(KERNELS, nu=0.2).fit(X).certificate(X, cv=None, held_out=X)
    assert region.quantity == "P(outside)" and region.best > region.estimates[0].value
    for model in (MultipleKernelRegressor(KERNELS), LPBoostRegressor(C=0.1)):
        found = model.fit(X, Z).certificate(X, Z, target_range=(-2.0, 2.0), **QUICK)
        assert found.holds and found.best > found.estimates[0].value and found.best.trivial == 4.0
        assert found.best.delta == 0.05


def test_several_classes_are_a_sum_over_pairs():
    three = np.digitize(X[:, 0], [-0.5, 0.5])
    for model in (MultipleKernelClassifier(KERNELS), AdaBoostClassifier(n_estimators=5)):
        found = model.fit(X, three).certificate(X, three, **QUICK)
        assert any("3 problems" in note for note in found.notes)
        assert min(found.bounds) > found.estimates[0].value
        assert sum(bound.delta for bound in found.bounds) == pytest.approx(0.05)


def test_choices_cost_something_and_what_is_learned_is_told():
    model = MultipleKernelClassifier(KERNELS).fit(X, Y)
    one, many = (model.certificate(X, Y, candidates=n, **QUICK) for n in (1, 50))
    assert all(a < b for a, b in zip(one.bounds[:2], many.bounds[:2], strict=True))
    for other in (
        MultipleKernelClassifier(),
        MultipleKernelClassifier(KERNELS, normalization="trace"),
        MultipleKernelClassifier([Gaussian("median"), Gaussian(1.0)]),
        LPBoostClassifier(KernelBalls(), nu=0.3),
    ):
        assert not other.fit(X, Y).certificate(X, Y, **QUICK).holds
    assert MultipleKernelClassifier(KERNELS[:2], normalization="cosine").fit(X, Y).certificate(X, Y, **QUICK).holds


def test_low_rank_is_near_the_exact_one():
    low = MultipleKernelClassifier(KERNELS[:2], gram=Nystrom(70, random_state=0)).fit(X, Y).certificate(X, Y, **QUICK)
    exact = MultipleKernelClassifier(KERNELS[:2]).fit(X, Y).certificate(X, Y, **QUICK)
    assert low.bounds[1] == pytest.approx(float(exact.bounds[1]), rel=0.05)


@pytest.mark.parametrize("learner", [KernelStumps(Gaussian(1.0)), DecisionTreeClassifier(max_depth=1)])
def test_weak_learners_without_a_class_are_refused(learner):
    model = AdaBoostClassifier(learner, n_estimators=2).fit(X, Y)
    with pytest.raises(CapabilityError, match="fixed before"):
        model.certificate(X, Y)


def test_folds_and_left_out_samples_are_beside_the_bounds():
    found = MultipleKernelClassifier(KERNELS).fit(X[:20], Y[:20]).certificate(X[:20], Y[:20], cv=2)
    assert [one.name for one in found.estimates] == ["training", "leave-one-out", "2-fold"]


def test_certificates_hold_where_the_truth_is_known():
    """Linear machines between two normal classes; more failures than the quantile happen once in a million."""
    rng = np.random.default_rng(2)
    draws, m, delta, centre = 6, 100, 0.02, np.array([1.5, 0.0])
    failures = 0
    for _ in range(draws):
        y = rng.choice([-1, 1], m)
        S = y[:, None] * centre + rng.normal(size=(m, 2))
        model = MultipleKernelClassifier([Linear().on([0]), Linear().on([1])]).fit(S, y)
        w, b = model.decision_function(np.eye(2)), float(model.decision_function(np.zeros((1, 2)))[0])
        w = w - b
        size = np.linalg.norm(w)
        truth = 0.5 * (norm.cdf(-(w @ centre + b) / size) + norm.cdf(-(w @ centre - b) / size))
        failures += truth > model.certificate(S, y, delta=delta, **QUICK).best
    assert failures <= binom.isf(1e-6, draws, delta)


def test_certificates_of_boosting_hold_where_the_truth_is_known():
    """Stumps on a line with a tenth of the labels turned; as above, and the bound says something each time."""
    rng = np.random.default_rng(3)
    draws, m, delta, failures = 6, 400, 0.02, 0
    points = (np.arange(1000.0) + 0.5) / 1000
    for _ in range(draws):
        x = rng.random((m, 1))
        y = np.where((x[:, 0] > 0.5) != (rng.random(m) < 0.1), 1, -1)
        model = LPBoostClassifier(nu=0.5).fit(x, y)
        agree = np.mean((model.predict(points[:, None]) > 0) == (points > 0.5))
        bound = model.certificate(x, y, delta=delta, **QUICK).best
        assert bound < 0.8  # 0.1, a stump's 3 / sqrt(m) and 3 sqrt(ln(2 / (delta p)) / (2 m)), with room for chance
        failures += 0.1 * agree + 0.9 * (1.0 - agree) > bound
    assert failures <= binom.isf(1e-6, draws, delta)
