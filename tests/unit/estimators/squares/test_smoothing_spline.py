"""Smoothing splines against SciPy's, and against kernels with polynomials that are not penalised."""

import time

import numpy as np
import pytest
from scipy.interpolate import RBFInterpolator, make_smoothing_spline

from mercer.errors import CapabilityError, DegenerateWarning, DomainError, ParameterError
from mercer.estimators.squares.smoothing_spline import Polynomials, SmoothingSpline
from mercer.kernels import Gaussian, LinearSpline, NegativeDistance, Spectrum, ThinPlate
from tests.clock import allowed

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0, 10, 80))
y = np.sin(x) + 0.2 * rng.normal(size=80)
X = x[:, None]
NEW = np.linspace(0.5, 9.5, 50)
PLANE = rng.uniform(size=(60, 2))
Z = np.sin(4 * PLANE[:, 0]) * PLANE[:, 1] + 0.05 * rng.normal(size=60)


@pytest.mark.parametrize("alpha", [1e-3, 0.1, 10.0, 1e4])
def test_the_cubic_spline_is_that_of_scipy(alpha):
    w = rng.uniform(0.5, 2.0, 80)
    ours = SmoothingSpline(alpha=alpha).fit(X, y, sample_weight=w)
    theirs = make_smoothing_spline(x, y, w, lam=alpha)
    np.testing.assert_allclose(ours.predict(NEW[:, None]), theirs(NEW), rtol=1e-7, atol=1e-8)


def test_the_chosen_alpha_is_that_of_scipy():
    ours, theirs = SmoothingSpline(criterion="gcv").fit(X, y), make_smoothing_spline(x, y)
    np.testing.assert_allclose(ours.predict(X), theirs(x), atol=1e-5)


@pytest.mark.parametrize("alpha", [0.1, 10.0])
def test_the_cubic_spline_is_a_kernel_with_lines_that_are_not_penalised(alpha):
    """The kernel of linear splines is 1 + x z plus the integral of (x - u)_+ (z - u)_+."""
    w = rng.uniform(0.5, 2.0, 80)
    line = SmoothingSpline(alpha=alpha).fit(X, y, sample_weight=w)
    kernel = SmoothingSpline(LinearSpline(), alpha=alpha).fit(X, y, sample_weight=w)
    np.testing.assert_allclose(line.predict(NEW[:, None]), kernel.predict(NEW[:, None]), atol=1e-6)
    assert line.dof_ == pytest.approx(kernel.dof_, rel=1e-6)
    assert line.best_score_ == pytest.approx(kernel.best_score_, rel=1e-5)
    assert line.kernel_ is None and kernel.kernel_ == LinearSpline()


def test_order_one_is_the_negative_distance_with_a_constant():
    """J is the integral of the squared slope, of which -|x - z| / 2 is the kernel."""
    line = SmoothingSpline(alpha=0.6, order=1).fit(X, y)
    kernel = SmoothingSpline(NegativeDistance(), alpha=1.2, order=1).fit(X, y)
    np.testing.assert_allclose(line.predict(NEW[:, None]), kernel.predict(NEW[:, None]), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("criterion", ["gcv", "loo"])
@pytest.mark.parametrize("kernel", [None, LinearSpline()], ids=repr)
def test_the_choice_is_a_minimum_of_the_criterion(criterion, kernel):
    model = SmoothingSpline(kernel, criterion=criterion).fit(X, y)
    for factor in (0.8, 1.25):
        near = SmoothingSpline(kernel, alpha=factor * model.alpha_, criterion=criterion).fit(X, y)
        assert near.best_score_ < model.best_score_


def test_the_criteria_are_those_of_refits():
    model = SmoothingSpline(alpha=0.3, criterion="loo").fit(X, y)
    errors = []
    for i in range(80):
        rest = np.delete(np.arange(80), i)
        errors.append(y[i] - SmoothingSpline(alpha=0.3).fit(X[rest], y[rest]).predict(X[i : i + 1])[0])
    assert model.best_score_ == pytest.approx(-np.mean(np.square(errors)), rel=1e-8)
    gcv = SmoothingSpline(alpha=0.3, criterion="gcv").fit(X, y)
    hat = np.stack([SmoothingSpline(alpha=0.3).fit(X, e).predict(X) for e in np.eye(80)], axis=1)
    assert gcv.dof_ == pytest.approx(np.trace(hat))
    assert gcv.best_score_ == pytest.approx(-80 * np.sum((y - hat @ y) ** 2) / (80 - np.trace(hat)) ** 2)


@pytest.mark.parametrize("criterion", ["gcv", "loo"])
def test_weights_are_repetitions_in_the_choice_too(criterion):
    w = rng.integers(0, 4, size=80)
    again = np.repeat(np.arange(80), w)
    shuffled = rng.permutation(again)
    a = SmoothingSpline(criterion=criterion).fit(X, y, sample_weight=w)
    b = SmoothingSpline(criterion=criterion).fit(X[shuffled], y[shuffled])
    np.testing.assert_allclose(a.predict(NEW[:, None]), b.predict(NEW[:, None]), atol=1e-6)
    assert a.best_score_ == pytest.approx(b.best_score_, rel=1e-6) and a.dof_ == pytest.approx(b.dof_, rel=1e-4)
    flat = rng.integers(0, 3, size=60)
    again = np.repeat(np.arange(60), flat)
    a = SmoothingSpline(alpha=0.01, criterion=criterion).fit(PLANE, Z, sample_weight=flat)
    b = SmoothingSpline(alpha=0.01, criterion=criterion).fit(PLANE[again], Z[again])
    np.testing.assert_allclose(a.predict(PLANE), b.predict(PLANE), atol=1e-7)
    assert a.best_score_ == pytest.approx(b.best_score_, rel=1e-6)


@pytest.mark.parametrize("alpha", [1e-4, 0.1])
def test_thin_plates_are_those_of_scipy(alpha):
    ours = SmoothingSpline(alpha=alpha).fit(PLANE, Z)
    theirs = RBFInterpolator(PLANE, Z, smoothing=alpha, kernel="thin_plate_spline", degree=1)
    new = rng.uniform(-0.5, 1.5, size=(20, 2))
    np.testing.assert_allclose(ours.predict(new), theirs(new), rtol=1e-6, atol=1e-8)
    assert ours.kernel_ == ThinPlate()
    chosen = SmoothingSpline().fit(PLANE, Z)
    assert 5 < chosen.dof_ < 50 and chosen.score(PLANE, Z) > 0.9


@pytest.mark.parametrize("order", [1, 2, 3])
def test_polynomials_are_reproduced_and_continue_outside(order):
    poly = np.polynomial.Polynomial([1.0, -0.5, 0.1][:order])
    model = SmoothingSpline(alpha=5.0, order=order).fit(X, poly(x))
    new = np.array([-5.0, 3.0, 20.0])
    np.testing.assert_allclose(model.predict(new[:, None]), poly(new), rtol=1e-8)
    kernel = SmoothingSpline(Gaussian(1.0), alpha=5.0, order=order).fit(X, poly(x))
    np.testing.assert_allclose(kernel.predict(new[:, None]), poly(new), rtol=1e-7)
    assert model.dof_ > order


def test_functions_of_the_user_are_not_penalised():
    jump = (x > 5.0).astype(float)
    functions = (lambda A: np.ones(len(A)), lambda A: (A[:, 0] > 5.0).astype(float))
    model = SmoothingSpline(Gaussian(2.0), alpha=0.1, basis=functions).fit(X, 3.0 * jump + 1.0)
    np.testing.assert_allclose(model.predict(X), 3.0 * jump + 1.0, atol=1e-9)
    one = SmoothingSpline(Gaussian(2.0), alpha=0.1, basis=lambda A: np.column_stack([f(A) for f in functions]))
    np.testing.assert_allclose(one.fit(X, y).predict(X), model.fit(X, y).predict(X), rtol=1e-10)
    texts = ["abab", "bbaa", "aaaa", "abba", "baba"]
    strings = SmoothingSpline(Spectrum(2), alpha=1.0, basis=lambda S: np.ones((len(S), 1))).fit(texts, np.arange(5.0))
    assert strings.predict(texts).shape == (5,)


def test_several_outputs():
    both = np.stack([y, y**2], axis=1)
    model = SmoothingSpline(alpha=0.3).fit(X, both)
    for column in range(2):
        single = SmoothingSpline(alpha=0.3).fit(X, both[:, column])
        np.testing.assert_allclose(model.predict(X)[:, column], single.predict(X), rtol=1e-9)
    assert SmoothingSpline().fit(X, both).predict(X).shape == (80, 2)


@pytest.mark.timing
def test_a_hundred_thousand_places():
    n = 100_000
    places = rng.uniform(0, 10, n)
    SmoothingSpline(alpha=1.0).fit(X, y)  # compiled
    began = time.perf_counter()
    model = SmoothingSpline(alpha=2.0).fit(places[:, None], np.sin(places) + 0.1 * rng.normal(size=n))
    found = model.predict(places[:, None])
    assert time.perf_counter() - began < allowed(10.0)
    assert np.sqrt(np.mean((found - np.sin(places)) ** 2)) < 0.003 and 20 < model.dof_ < 40


def test_monomials():
    table = rng.normal(size=(20, 3))
    assert Polynomials.below(1, table)(table).shape == (20, 1)
    assert Polynomials.below(2, table)(table).shape == (20, 4)
    values = Polynomials.below(3, table)(table)
    assert values.shape == (20, 10) and np.linalg.matrix_rank(values) == 10


def test_too_few_places_and_functions():
    with pytest.raises(DomainError, match="order 2 needs 2"):
        SmoothingSpline().fit(np.ones((5, 1)), np.arange(5.0))
    with pytest.warns(DegenerateWarning, match="determine 2"):
        model = SmoothingSpline(alpha=1.0).fit([[0.0, 0.0], [1.0, 0.0]], [1.0, 2.0])
    np.testing.assert_allclose(model.predict([[0.0, 0.0], [1.0, 0.0]]), [1.0, 2.0], atol=1e-9)


@pytest.mark.parametrize(
    "params",
    [
        {"alpha": 0.0},
        {"alpha": "some"},
        {"order": 0},
        {"order": 7},
        {"criterion": "aic"},
        {"kernel": "rbf"},
        {"kernel": Gaussian(-1.0)},
        {"basis": lambda A: A},
        {"kernel": Gaussian(), "basis": 3},
    ],
    ids=lambda params: " ".join(params) + " " + type(next(iter(params.values()))).__name__,
)
def test_bad_parameters(params):
    with pytest.raises(ParameterError):
        SmoothingSpline(**params).fit(X, y)


def test_what_a_kernel_needs():
    with pytest.raises(CapabilityError, match="order 2"):
        SmoothingSpline(ThinPlate(), order=1).fit(PLANE, Z)
    with pytest.raises(ParameterError, match="order=3 for 2 columns"):
        SmoothingSpline(order=3).fit(PLANE, Z)
    with pytest.raises(CapabilityError, match="basis="):
        SmoothingSpline(Spectrum(2)).fit(["abab", "bbaa"], [1.0, 2.0])
