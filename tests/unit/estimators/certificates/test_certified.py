import math

import numpy as np
import pytest
from scipy.stats import binom, norm
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer
from mercer import (
    LSSVC,
    SVC,
    SVDD,
    SVR,
    GaussianProcessRegressor,
    KernelFisherDiscriminant,
    KernelMeanClassifier,
    KernelPCA,
    KernelRidge,
    OneClassSVM,
    RelativeMarginMachine,
)
from mercer.choosing import GACV, Alignment, KernelSearchCV
from mercer.errors import CapabilityError, ParameterError, TargetError
from mercer.gram import Nystrom
from mercer.kernels import Gaussian, Linear, NegativeDistance, Precomputed, Spectrum
from mercer.theory import kernel_ball_rademacher, margin_bound, regression_bound, svm_pac_bayes

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 2))
Y = np.where(X[:, 0] + 0.3 * RNG.normal(size=120) > 0, "right", "left")
Z = np.sin(X[:, 0]) + 0.1 * RNG.normal(size=120)
QUICK = {"cv": None, "prior": None}


def named(certificate, name):
    return next(bound for bound in certificate.bounds if bound.name == name)


def test_margin_bound_is_that_of_the_numbers_of_the_model():
    model = SVC(Gaussian(1.5), C=2.0).fit(X, Y)
    found = named(model.certificate(X, Y, **QUICK), "margin, learned")
    t = np.where(Y == "right", 1.0, -1.0) * model.decision_function(X)
    norm, offset = model.expansion_.norm(), abs(float(model.intercept_[0]))
    expected = margin_bound(t, norm, kernel_ball_rademacher(np.ones(120)), offset=offset, delta=0.025)
    assert found == pytest.approx(float(expected), rel=1e-12)


def test_pac_bayes_bound_is_that_of_the_best_constant_feature():
    model = SVC(Gaussian(1.5), C=2.0).fit(X, Y)
    found = named(model.certificate(X, Y, **QUICK), "PAC-Bayes, prior at zero")
    t = np.where(Y == "right", 1.0, -1.0) * model.decision_function(X)
    norm, b = model.expansion_.norm(), float(model.intercept_[0])
    tried = [
        svm_pac_bayes(t / math.hypot(norm, b / s) / math.sqrt(1.0 + s * s), 0.025, choices=5)
        for s in (0.01, 0.1, 1.0, 10.0, 100.0)
    ]
    assert found == pytest.approx(float(min(tried)), rel=1e-12)
    assert any("bias" in one for one in found.paid)


@pytest.mark.parametrize(
    "model",
    [KernelMeanClassifier(Gaussian(1.0)), LSSVC(Gaussian(1.0)), KernelFisherDiscriminant(Gaussian(1.0))],
    ids=lambda model: type(model).__name__,
)
def test_every_classifier_by_a_sign_has_three_bounds_and_the_printed_one(model):
    certificate = model.fit(X, Y).certificate(X, Y)
    names = [bound.name for bound in certificate.bounds]
    assert names == ["margin, learned", "PAC-Bayes, prior at zero", "PAC-Bayes, learned prior", "SVM, fixed margin"]
    assert all(np.isfinite(certificate.bounds))
    assert certificate.best.name != "SVM, fixed margin"
    assert "5-fold" in [one.name for one in certificate.estimates]


def test_left_out_errors_are_those_of_refits():
    part, labels = X[:25], Y[:25]
    model = SVC(Gaussian(1.5), C=2.0, tol=1e-6).fit(part, labels)
    found = next(one for one in model.certificate(part, labels).estimates if one.name == "leave-one-out")
    wrong = 0
    for i in range(25):
        rest = np.arange(25) != i
        wrong += (
            SVC(Gaussian(1.5), C=2.0, tol=1e-6).fit(part[rest], labels[rest]).predict(part[i : i + 1])[0] != labels[i]
        )
    assert found.value == pytest.approx(wrong / 25)


def test_machines_without_a_formula_leave_samples_out_by_fits_or_say_so():
    few = RelativeMarginMachine(Gaussian(1.5)).fit(X[:30], Y[:30]).certificate(X[:30], Y[:30], cv=2, prior=None)
    assert "leave-one-out" in [one.name for one in few.estimates]
    many = RelativeMarginMachine(Gaussian(1.5)).fit(X, Y).certificate(X, Y, cv=2, prior=None)
    assert any("No leave-one-out" in note for note in many.notes)


def test_held_out_errors_have_the_exact_interval():
    model = SVC(Gaussian(1.5)).fit(X[:60], Y[:60])
    found = model.certificate(X[:60], Y[:60], held_out=(X[60:], Y[60:]), **QUICK).estimates[-1]
    assert (found.name, found.exact, found.n) == ("hold-out", True, 60)
    assert found.value == pytest.approx(1.0 - model.score(X[60:], Y[60:]))


def test_kernels_learned_from_the_sample_are_told():
    assert SVC(Gaussian(1.0)).fit(X, Y).certificate(X, Y, **QUICK).holds
    for model in (SVC(), SVC("rbf"), SVC(Gaussian("median"))):
        certificate = model.fit(X, Y).certificate(X, Y, **QUICK)
        assert not certificate.holds
        assert "not certified" in certificate.verdict or certificate.is_vacuous


def test_candidates_are_paid_for():
    model = SVC(Gaussian(1.0)).fit(X, Y)
    plain, tuned = (model.certificate(X, Y, candidates=n, **QUICK) for n in (1, 100))
    for name in ("margin, learned", "PAC-Bayes, prior at zero"):
        assert named(plain, name) < named(tuned, name)
        assert any("100 kernels" in one for one in named(tuned, name).paid)


def test_settings_of_a_search_are_counted_without_costs():
    grid = {"kernel": [Gaussian(0.5), Gaussian(1.0), Gaussian(2.0)], "C": [0.1, 1.0, 10.0]}
    search = GridSearchCV(SVC(), grid, cv=2).fit(X, Y)
    model = search.best_estimator_
    assert (
        model.certificate(X, Y, candidates=search, **QUICK).best == model.certificate(X, Y, candidates=3, **QUICK).best
    )


def test_several_classes_are_a_sum_over_pairs():
    three = np.digitize(X[:, 0], [-0.5, 0.5])
    machines = (SVC, LSSVC, KernelMeanClassifier, KernelFisherDiscriminant)
    for model in (machine(Gaussian(1.5)) for machine in machines):
        certificate = model.fit(X, three).certificate(X, three, **QUICK)
        assert [bound.name for bound in certificate.bounds] == ["margin, learned", "PAC-Bayes, prior at zero"]
        assert any("3 problems of two classes" in note for note in certificate.notes)
        assert min(certificate.bounds) > certificate.estimates[0].value
        assert sum(bound.delta for bound in certificate.bounds) == pytest.approx(certificate.delta)


def test_pac_bayes_of_several_classes_adds_pairs():
    three = np.digitize(X[:, 0], [-0.5, 0.5])
    model = SVC(Gaussian(1.5)).fit(X, three)
    found = model.certificate(X, three, **QUICK).bounds[1]
    total, values, K = 0.0, model._deciding()(model.kernel_.pack(X)), Gaussian(1.5)(X)
    for column, (index, sign) in enumerate(model.reduction_.problems(three)):
        part = model._deciding().column(column)
        cosines = []
        for s in (0.01, 0.1, 1.0, 10.0, 100.0):
            size = np.sqrt(part.norm() ** 2 + (part.intercept / s) ** 2)
            lengths = np.sqrt(np.diagonal(K)[index] + s * s)
            cosines.append(sign * values[index, column] / (size * lengths))
        total += min(svm_pac_bayes(t, 0.05 / 6, choices=5, outside=len(X) - len(index)) for t in cosines)
    assert float(found) == pytest.approx(total, rel=1e-9)


def test_detectors_bound_the_share_outside():
    for model in (OneClassSVM(Gaussian(1.0), nu=0.1), SVDD(Gaussian(1.0), C=0.1)):
        certificate = model.fit(X).certificate(X, cv=None, held_out=X)
        assert certificate.quantity == "P(outside)"
        assert certificate.best > certificate.estimates[0].value
        assert certificate.estimates[-1].exact


def test_a_ball_of_a_kernel_with_other_diagonals_is_a_function_of_one_more_feature():
    """f = r^2 - |phi - c|^2 for the linear kernel: its norm in (2c, -1) and lengths |x|^2 + |x|^4."""
    model = SVDD(Linear(), C=0.1).fit(X)
    found = named(model.certificate(X, **QUICK), "margin, learned")
    centre = model.dual_coef_[0] @ X[model.support_] / model.dual_coef_.sum()
    d = (X**2).sum(axis=1)
    norm = math.hypot(2.0 * np.linalg.norm(centre), 1.0)
    offset = abs(float(np.ravel(model.expansion_.intercept)[0]))
    expected = margin_bound(
        model.decision_function(X), norm, kernel_ball_rademacher(d + d**2), offset=offset, delta=0.025
    )
    assert found == pytest.approx(float(expected), rel=1e-9)


def test_regression_bounds_the_mean_error_within_a_range():
    for model in (KernelRidge(Gaussian(1.0)), SVR(Gaussian(1.0))):
        certificate = model.fit(X, Z).certificate(X, Z, target_range=(-2.0, 2.0), held_out=(X, Z))
        assert certificate.holds
        assert certificate.best > certificate.estimates[0].value
        assert certificate.best.trivial == 4.0
    assert not model.certificate(X, Z, **QUICK).holds  # the range was taken from the sample
    with pytest.raises(ParameterError, match="target_range"):
        model.certificate(X, Z, target_range=(0.0, 0.1))


@pytest.mark.parametrize("mean", [None, "constant"])
def test_a_process_is_certified_by_its_mean(mean):
    """The posterior mean is ridge regression: f = sum_i a_i k(x_i, .) + b, with the norm (a' K a)^(1/2)."""
    model = GaussianProcessRegressor(Gaussian(1.5), noise=0.01, mean=mean, fixed="all").fit(X, Z)
    found = model.certificate(X, Z, target_range=(-2.0, 2.0), **QUICK)
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(-1) / (2.0 * 1.5**2))
    A = np.linalg.inv(K + 0.01 * np.eye(120))
    b = 0.0 if mean is None else (A @ Z).sum() / A.sum()
    a = A @ (Z - b)
    losses = np.abs(Z - np.clip(K @ a + b, -2.0, 2.0))
    expected = regression_bound(losses, math.sqrt(a @ K @ a), 2.0 / math.sqrt(120.0), width=4.0, offset=abs(b))
    assert found.holds and found.best == pytest.approx(float(expected), rel=1e-6)
    searched = GaussianProcessRegressor(Gaussian(1.5)).fit(X, Z)
    assert not searched.certificate(X, Z, target_range=(-2.0, 2.0), **QUICK).holds  # the evidence chose the kernel


def test_other_grams_and_domains():
    low = SVC(Gaussian(1.5), gram=Nystrom(20, random_state=0)).fit(X, Y).certificate(X, Y, cv=None)
    exact = SVC(Gaussian(1.5)).fit(X, Y).certificate(X, Y, **QUICK)
    assert named(low, "margin, learned") == pytest.approx(float(named(exact, "margin, learned")), rel=0.3)
    K = Gaussian(1.5)(X)
    given = SVC(Precomputed()).fit(K, Y).certificate(K, Y, cv=2)
    assert named(given, "margin, learned") == pytest.approx(float(named(exact, "margin, learned")), rel=1e-2)
    words = ["abab", "baba", "cdcd", "dcdc"] * 5
    labels = [0, 0, 1, 1] * 5
    strings = SVC(Spectrum(2)).fit(words, labels).certificate(words, labels, cv=2)
    assert strings.estimates[0].value == 0.0


def test_what_is_not_covered_says_so():
    with pytest.raises(CapabilityError, match="positive definite"):
        SVC(NegativeDistance()).fit(X, Y).certificate(X, Y)
    assert not hasattr(KernelPCA(), "certificate")
    with pytest.raises(CapabilityError, match="mean functions"):
        GaussianProcessRegressor(Gaussian(1.0), mean="linear", fixed="all").fit(X, Z).certificate(X, Z)
    model = SVC(Gaussian(1.0)).fit(X, Y)
    with pytest.raises(TargetError, match="not among the classes"):
        model.certificate(X, np.where(Y == "left", "up", "down"))
    with pytest.raises(ParameterError, match="delta"):
        model.certificate(X, Y, delta=0.0)


def test_certificates_hold_where_the_truth_is_known():
    """Linear machines between two normal classes; more failures than the quantile happen once in a million."""
    rng = np.random.default_rng(2)
    draws, m, delta, centre = 8, 120, 0.02, np.array([1.5, 0.0])
    failures = 0
    for _ in range(draws):
        y = rng.choice([-1, 1], m)
        S = y[:, None] * centre + rng.normal(size=(m, 2))
        model = SVC(Linear(), C=1.0).fit(S, y)
        w, b = model.coef_[0], float(model.intercept_[0])
        size = np.linalg.norm(w)
        truth = 0.5 * (norm.cdf(-(w @ centre + b) / size) + norm.cdf(-(w @ centre - b) / size))
        failures += truth > model.certificate(S, y, delta=delta, cv=None).best
    assert failures <= binom.isf(1e-6, draws, delta)


def test_a_search_leaves_a_note_of_what_has_to_be_paid_for():
    """Costs are free, widths are counted; between bounds there was no list of kernels before the sample."""
    grid = {"C": [0.1, 1.0, 10.0], "kernel__length_scale": [0.5, 1.0, 2.0]}
    searched = KernelSearchCV(SVC(Gaussian(1.0)), grid, cv=2).fit(X, Y).best_estimator_
    found = mercer.search(SVC(Gaussian(1.0)), X, Y, grid, criterion=GACV()).best_estimator
    for model in (searched, found):
        noted, asked = model.certificate(X, Y, **QUICK), model.certificate(X, Y, candidates=3, **QUICK)
        assert noted.bounds == asked.bounds and noted.holds
        assert any("3 kernels" in one for one in named(noted, "margin, learned").paid)
    step = KernelSearchCV(make_pipeline(StandardScaler(), SVC(Gaussian(1.0))), {"svc__C": [1.0, 2.0]}, cv=2)
    assert step.fit(X, Y).best_estimator_[-1].candidates_ == 1
    bounds = {"kernel__length_scale": (0.5, 2.0)}
    between = mercer.search(SVC(Gaussian(1.0)), X, Y, bounds, criterion=Alignment()).best_estimator
    certificate = between.certificate(X, Y, **QUICK)
    assert not certificate.holds and "not in a list" in certificate.assumptions[1].note
    assert between.certificate(X, Y, candidates=100, **QUICK).holds  # the user knows better
    assert between.fit(X, Y).certificate(X, Y, **QUICK).holds  # another fit is another story
    assert not mercer.automatic(X, Y).certificate(X, Y, **QUICK).holds
