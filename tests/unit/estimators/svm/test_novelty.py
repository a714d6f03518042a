"""Novelty detection: the one-class machine, the ball around most samples, and around all."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn import svm
from sklearn.exceptions import ConvergenceWarning

from mercer.domains import Similarities
from mercer.errors import CapabilityError, DomainError, ParameterError
from mercer.estimators.dependence.density import ParzenDensity
from mercer.estimators.svm.novelty import SVDD, OneClassSVM, enclosing_ball
from mercer.gram import Features, Tiles
from mercer.kernels import Gaussian, Linear, NegativeDistance, Spectrum
from mercer.problems import Status
from mercer.solvers import InteriorPoint

MACHINES = [OneClassSVM, SVDD]


def table(name="random", n=60):
    """Samples, of which some make trouble."""
    X = np.random.default_rng(0).normal(size=(n, 2)) + np.array([3.0, 1.0])
    if name == "duplicates":
        X[n // 2 :] = X[: n // 2]
    elif name == "equal rows":
        X[:] = 1.0
    return X


def objective(model, X, w):
    """What is minimised, at the fitted region."""
    values = model.decision_function(X)
    if isinstance(model, OneClassSVM):
        norm = model.dual_coef_[0] @ model.score_samples(X)[model.support_]
        return 0.5 * norm - model.nu * w.sum() * model.offset_ + w @ np.maximum(0.0, -values)
    return model.radius_**2 + w @ np.maximum(0.0, -values) / (model.nu * w.sum())


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("data", ["random", "duplicates", "equal rows"])
@pytest.mark.parametrize("kernel", [Gaussian(1.0), Linear(), NegativeDistance()], ids=lambda k: type(k).__name__)
@pytest.mark.parametrize("nu", [1e-3, 0.3, 0.95])
def test_is_the_minimum_of_its_quadratic_program(machine, data, kernel, nu):
    if machine is OneClassSVM and kernel.order:
        with pytest.raises(CapabilityError, match="order 1"):
            machine(kernel).fit(table(data))
        return
    X = table(data)
    w = np.random.default_rng(1).choice([0.5, 1.0, 2.0], size=len(X))
    ours = machine(kernel, nu=nu).fit(X, sample_weight=w)
    theirs = machine(kernel, nu=nu, solver=InteriorPoint()).fit(X, sample_weight=w)
    assert ours.solution_.status is Status.CONVERGED
    assert np.isclose(objective(ours, X, w), objective(theirs, X, w), rtol=1e-7, atol=1e-7)
    f, g = (m.score_samples(X) for m in (ours, theirs))  # unique; the offset need not be
    np.testing.assert_allclose(f, g, atol=1e-6)
    dual = -ours.solution_.trace.objective[-1] * (2.0 if machine is SVDD else 1.0)
    assert np.isclose(objective(ours, X, w), dual, rtol=1e-7, atol=1e-8)
    assert 1.0 - ours.coverage_ <= nu + 1e-9 <= w[ours.support_].sum() / w.sum() + 2e-9


@pytest.mark.parity
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
@pytest.mark.parametrize("nu", [0.07, 0.33, 0.71])
def test_is_libsvm(kernel, nu):
    X = table()
    mine = OneClassSVM(kernel, nu).fit(X)
    reference = svm.OneClassSVM(kernel=kernel, nu=nu, tol=1e-10).fit(X)
    size = np.abs(reference.score_samples(X)).max()  # it holds K in float32
    np.testing.assert_allclose(mine.decision_function(X), reference.decision_function(X), atol=1e-6 * size)
    np.testing.assert_allclose(mine.score_samples(X), reference.score_samples(X), atol=1e-6 * size)
    np.testing.assert_allclose(mine.offset_, reference.offset_, atol=1e-6 * size)
    assert mine.dual_coef_.shape == (1, len(mine.support_)) and np.isclose(mine.dual_coef_.sum(), nu * len(X))
    assert np.array_equal(mine.intercept_, [-mine.offset_]) and mine.fit_status_ == 0
    np.testing.assert_array_equal(mine.support_vectors_, X[mine.support_])
    if kernel == "linear":
        np.testing.assert_allclose(mine.coef_, reference.coef_, rtol=1e-5)


@pytest.mark.parametrize("machine", MACHINES)
def test_weights_are_repetitions(machine):
    X = table()
    weight = np.random.default_rng(0).integers(0, 4, size=60)
    repeated = np.repeat(np.arange(60), weight)
    once = machine(nu=0.3).fit(X, sample_weight=weight)
    often = machine(nu=0.3).fit(X[repeated])
    np.testing.assert_allclose(once.decision_function(X), often.decision_function(X), atol=1e-6)
    assert np.isclose(once.coverage_, often.coverage_)
    assert not np.isin(once.support_, np.flatnonzero(weight == 0)).any()


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("nu", [0.05, 0.2, 0.5, 0.9])
def test_nu_bounds_the_share_outside(machine, nu):
    X = table(n=500)
    model = machine(nu=nu).fit(X)
    outside = np.mean(model.predict(X) == -1)
    assert outside <= nu <= len(model.support_) / 500
    assert np.isclose(model.coverage_, 1.0 - outside)
    fresh = np.random.default_rng(1).normal(size=(4000, 2)) + np.array([3.0, 1.0])
    boundary = len(model.support_) / 500 - outside
    chance = 5.0 * np.sqrt(nu * (1.0 - nu) * (1 / 500 + 1 / 4000))  # five standard deviations of the two shares
    assert np.isclose(model.coverage(fresh), 1.0 - nu, atol=boundary + chance)
    inside = model.predict(fresh) > 0
    weight = np.random.default_rng(2).uniform(size=4000)
    assert np.isclose(model.coverage(fresh, weight), weight[inside].sum() / weight.sum())


def test_at_nu_one_it_is_parzen_windows():
    X, T = table(), table(n=100)[60:]
    model = OneClassSVM(Gaussian(0.7), nu=1.0).fit(X)
    density = ParzenDensity(Gaussian(0.7)).fit(X)
    np.testing.assert_allclose(model.dual_coef_, np.ones((1, 60)))
    np.testing.assert_allclose(
        model.score_samples(T), 60 * np.exp(density.score_samples(T) + density.log_integral_), rtol=1e-10
    )


@pytest.mark.parametrize("nu", [0.1, 0.4, 0.8])
def test_ball_and_half_space_agree_where_self_similarity_is_constant(nu):
    X, T = table(), table(n=200)[60:]
    half_space, ball = OneClassSVM(Gaussian(1.0), nu).fit(X), SVDD(Gaussian(1.0), 1.0 / (nu * 60)).fit(X)
    np.testing.assert_allclose(
        ball.decision_function(T), 2.0 / (60 * nu) * half_space.decision_function(T), rtol=1e-6, atol=1e-8
    )
    assert np.array_equal(ball.predict(T), half_space.predict(T))


def test_the_ball_is_where_it_should_be():
    X = table()
    model = SVDD(Linear(), nu=0.2).fit(X)
    center = model.coef_
    assert center.shape == (1, 2)
    distance = np.sum((X - center) ** 2, axis=1)
    np.testing.assert_allclose(model.decision_function(X), model.radius_**2 - distance, atol=1e-9)
    np.testing.assert_allclose(model.score_samples(X), -distance, atol=1e-9)
    assert np.isclose(model.offset_, -(model.radius_**2))


def test_kernels_may_be_shifted():
    X = table()
    K, g = Gaussian(1.0)(X), X[:, 1]
    moved = K + g[:, None] + g[None, :] + 3.0
    plain, shifted = SVDD("precomputed", nu=0.2).fit(K), SVDD("precomputed", nu=0.2).fit(moved)
    np.testing.assert_allclose(plain.decision_function(K), shifted.decision_function(moved), atol=1e-6)
    new = Similarities.pack(K[:5], diagonal=np.ones(5))
    np.testing.assert_allclose(plain.decision_function(new), plain.decision_function(K)[:5])
    with pytest.raises(DomainError, match="diagonal"):
        plain.decision_function(K[:5])


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
@pytest.mark.parametrize("machine", MACHINES)
def test_the_unit_of_the_samples_does_not_matter(machine, scale):
    X = table()
    plain = machine(Linear(), nu=0.3).fit(X)
    scaled = machine(Linear(), nu=0.3).fit(scale * X)
    np.testing.assert_allclose(scaled.score_samples(scale * X) / scale**2, plain.score_samples(X), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("machine", MACHINES)
def test_any_domain(machine):
    words = ["abcab", "bcabc", "cabca", "abcabc"]
    model = machine(Spectrum(2), nu=0.5).fit(words)
    assert model.decision_function(["xyxyz"])[0] < model.decision_function(["abcbc"])[0]
    assert len(model.support_vectors_) == len(model.support_)
    X = np.where(np.abs(table()) < 0.5, 0.0, table())
    dense, sparse = (machine(Gaussian(1.0), nu=0.2).fit(A) for A in (X, sp.csr_array(X)))
    np.testing.assert_allclose(dense.decision_function(X), sparse.decision_function(sp.csr_array(X)), atol=1e-9)


@pytest.mark.parametrize("machine", MACHINES)
def test_tiles_find_the_same(machine):
    X = table(n=2100)
    small = machine(nu=0.1, gram=Tiles()).fit(X)
    large = machine(nu=0.1).fit(X)
    assert large.gram_ == Tiles(precision="mixed")
    np.testing.assert_allclose(small.predict(X), large.predict(X))
    np.testing.assert_allclose(small.decision_function(X), large.decision_function(X), atol=1e-6)


@pytest.mark.parametrize("kernel", [Linear(), Gaussian(1.0), NegativeDistance()], ids=lambda k: type(k).__name__)
def test_the_smallest_ball(kernel):
    X = table()
    ball = enclosing_ball(kernel, X)
    K = kernel(X)
    square = np.diagonal(K) - 2.0 * K @ ball.coef + ball.coef @ K @ ball.coef
    assert np.isclose(square.max(), ball.radius**2, rtol=1e-9) and np.isclose(ball.coef.sum(), 1.0)
    assert ball.coef.min() >= 0.0 and np.isclose(ball.coef @ square, square.max(), rtol=1e-9)  # weak duality meets
    assert ball.solution.status is Status.CONVERGED
    if isinstance(kernel, Linear):
        best = minimize(lambda c: np.max(np.sum((X - c) ** 2, axis=1)), X.mean(axis=0), method="Nelder-Mead")
        assert np.isclose(best.fun, ball.radius**2, rtol=1e-4)
        np.testing.assert_allclose(SVDD(kernel, 1.0).fit(X).radius_, ball.radius, rtol=1e-9)


def test_balls_of_one_point_and_of_points_on_top_of_each_other():
    assert enclosing_ball(Gaussian(1.0), [[2.0, 1.0]]).radius < 1e-5
    assert enclosing_ball(Gaussian(1.0), np.ones((5, 2))).radius < 1e-5


def test_costs_that_are_too_low_are_refused():
    X = table()
    with pytest.raises(ParameterError, match=r"C >= 0.01667"):
        SVDD(C=0.01).fit(X)
    SVDD(C=1.0 / 60.0).fit(X)
    assert SVDD(C=math.inf).fit(X).coverage_ == 1.0
    for wrong in ({"C": 0.0}, {"nu": 0.0}, {"nu": 1.5}):
        with pytest.raises(ParameterError):
            SVDD(**wrong).fit(X)
    with pytest.raises(ParameterError, match="nu"):
        OneClassSVM(nu=0.0).fit(X)
    with pytest.raises(CapabilityError, match="linear in features"):
        SVDD(Linear(), gram=Features()).fit(X)


@pytest.mark.parametrize("machine", MACHINES)
def test_limits_are_told(machine):
    with pytest.warns(ConvergenceWarning, match="iterations"):
        model = machine(max_iter=2).fit(table(n=200))
    assert model.fit_status_ == 1 and model.n_iter_ == 2
