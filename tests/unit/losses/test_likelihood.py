"""Losses of likelihoods, against mpmath and finite differences."""

import functools

import mpmath as mp
import numpy as np
import pytest

from mercer.errors import ParameterError
from mercer.losses import Binomial, Gamma, HasMean, Logistic, Multinomial, Ordinal, Poisson
from mercer.testing import check_loss


def _sigma(f):
    return 1 / (1 + mp.exp(-f))


def _binomial(y, f, t):
    value = -y * mp.log(_sigma(f)) - (t - y) * mp.log(_sigma(-f))
    for part in (y, t - y):
        value += part * mp.log(part / t) if part > 0 else 0
    return value


def _ordinal(y, f, theta):
    upper = _sigma(mp.mpf(theta[int(y)]) - f) if y < len(theta) else mp.mpf(1)
    lower = _sigma(mp.mpf(theta[int(y) - 1]) - f) if y > 0 else mp.mpf(0)
    return -mp.log(upper - lower)


THETA = (-1.5, 0.25, 0.3)
EXACT = {
    "logistic": (Logistic(), (-1.0, 1.0), lambda y, f: mp.log(1 + mp.exp(-y * f))),
    "poisson": (
        Poisson(),
        (0.0, 1.0, 7.0),
        lambda y, f: mp.exp(f) - y * f + (y * mp.log(y) - y if y > 0 else 0),
    ),
    "gamma": (Gamma(), (0.5, 1.0, 40.0), lambda y, f: y * mp.exp(-f) - 1 - mp.log(y) + f),
    "binomial": (Binomial(5), (0.0, 2.0, 5.0), lambda y, f: _binomial(y, f, mp.mpf(5))),
    "share": (Binomial(), (0.0, 0.3, 1.0), lambda y, f: _binomial(y, f, mp.mpf(1))),
    "ordinal": (Ordinal(THETA), (0.0, 1.0, 2.0, 3.0), lambda y, f: _ordinal(y, f, THETA)),
}


@pytest.mark.parametrize("name", EXACT)
def test_laws_of_losses(name):
    loss, y, _ = EXACT[name]
    check_loss(loss, y=y)


@pytest.mark.parametrize("name", EXACT)
def test_all_digits_also_far_out(name, digits):
    loss, responses, exact = EXACT[name]
    digits(600 if name == "ordinal" else 60)  # the former subtracts probabilities that are 1 to 260 digits
    for y in responses:
        for f in (-600.0, -40.0, -1.5, -1e-5, 0.0, 1e-9, 0.7, 30.0, 600.0):
            point = mp.mpf(f)
            at_y = functools.partial(exact, mp.mpf(y))
            wanted = [at_y(point), mp.diff(at_y, point), mp.diff(at_y, point, 2)]
            found = [part(np.array([y]), np.array([f]))[0] for part in (loss.value, loss.gradient, loss.curvature)]
            scale = float(abs(mp.mpf(y)) + 1)
            for ours, theirs, slack in zip(found, wanted, (3e-16, 3e-16, 1e-25), strict=True):
                # a gradient is a difference of y and mu, known to the digits of these
                assert abs(ours - float(theirs)) <= 1e-13 * abs(float(theirs)) + slack * scale, (y, f, ours, theirs)


@pytest.mark.parametrize("name", EXACT)
def test_never_not_a_number(name):
    loss, responses, _ = EXACT[name]
    for y in responses:
        for f in (-1e300, -1e4, 1e4, 1e300):
            for part in (loss.value, loss.gradient, loss.curvature):
                assert not np.isnan(part(np.array([y]), np.array([f]))).any()


@pytest.mark.parametrize("loss", [Logistic(), Poisson(), Gamma(), Binomial(), Binomial(6)], ids=repr)
def test_links_and_means_are_inverse_and_the_loss_is_least_there(loss):
    assert isinstance(loss, HasMean)
    f = np.linspace(-3.0, 3.0, 7)
    np.testing.assert_allclose(loss.link(loss.mean(f)), f, atol=1e-12)
    if not isinstance(loss, Logistic):
        np.testing.assert_allclose(loss.gradient(loss.mean(f), f), 0.0, atol=1e-12)
        np.testing.assert_allclose(loss.value(loss.mean(f), f), 0.0, atol=1e-12)
        assert np.isfinite(loss.guess(loss.mean(f))).all()
    assert np.isfinite(loss.guess(np.ones(3))).all()


def test_guesses_are_finite_at_zero_counts():
    assert np.isfinite(Poisson().guess(np.zeros(3))).all()
    assert np.isfinite(Binomial(4).guess(np.array([0.0, 4.0]))).all()


def test_logistic_is_binomial_and_ordinal_with_one_threshold():
    y, f = np.array([-1.0, 1.0, 1.0]), np.array([0.3, -2.0, 5.0])
    for other, code in ((Binomial(), (y + 1) / 2), (Ordinal((0.0,)), (y + 1) / 2)):
        np.testing.assert_allclose(Logistic().value(y, f), other.value(code, f), rtol=1e-13)
        np.testing.assert_allclose(Logistic().gradient(y, f), other.gradient(code, f), rtol=1e-13)
        np.testing.assert_allclose(Logistic().curvature(y, f), other.curvature(code, f), rtol=1e-13)


def test_multinomial_by_differences():
    rng = np.random.default_rng(0)
    f, y, V = 3 * rng.normal(size=(6, 4)), np.eye(4)[[0, 1, 2, 3, 0, 1]], rng.normal(size=(6, 4))
    loss, h = Multinomial(), 1e-6
    slope, bent = np.zeros_like(f), np.zeros_like(f)
    for c in range(4):
        e = h * np.eye(4)[c]
        slope[:, c] = (loss.value(y, f + e) - loss.value(y, f - e)).sum(axis=1) / (2 * h)
        second = (loss.gradient(y, f + e) - loss.gradient(y, f - e)) / (2 * h)
        bent += V[:, [c]] * second
        np.testing.assert_allclose(loss.curvature(y, f)[:, c], second[:, c], atol=1e-8)
    np.testing.assert_allclose(loss.gradient(y, f), slope, atol=1e-8)
    np.testing.assert_allclose(loss.hessian_product(y, f, V), bent, atol=1e-8)
    np.testing.assert_allclose(loss.mean(f).sum(axis=1), 1.0)
    np.testing.assert_allclose(np.exp(loss.log_mean(f)), loss.mean(f), rtol=1e-12)
    np.testing.assert_allclose(loss.mean(loss.link(loss.mean(f))), loss.mean(f))


def test_multinomial_of_two_classes_is_logistic_and_does_not_overflow():
    f = np.array([-3.0, 0.5, 800.0])
    both = np.stack([np.zeros(3), f], axis=1)
    y = np.eye(2)[[0, 1, 0]]
    np.testing.assert_allclose(Multinomial().value(y, both).sum(axis=1), Logistic().value(2 * y[:, 1] - 1, f))
    assert np.isfinite(Multinomial().value(y, 1e300 * np.sign(both))).all()


def test_derivatives_in_the_thresholds():
    rng = np.random.default_rng(1)
    loss = Ordinal(THETA)
    y, f, w = rng.integers(0, 4, 12).astype(float), rng.normal(size=12), rng.random(12)
    first, mixed, second = loss.parameter_terms(y, f, w)
    h = 1e-6
    for j in range(3):
        e = h * np.eye(3)[j]
        more, less = loss.with_parameters(loss.parameters + e), loss.with_parameters(loss.parameters - e)
        np.testing.assert_allclose(first[j], np.sum(w * (more.value(y, f) - less.value(y, f))) / (2 * h), atol=1e-7)
        np.testing.assert_allclose(mixed[:, j], w * (more.gradient(y, f) - less.gradient(y, f)) / (2 * h), atol=1e-8)
        ends = [part.parameter_terms(y, f, w)[0] for part in (more, less)]
        np.testing.assert_allclose(second[j], (ends[0] - ends[1]) / (2 * h), rtol=1e-5, atol=1e-6)


def test_thresholds_out_of_order_are_infinitely_bad_and_refused():
    assert Ordinal((1.0, 0.0)).value(np.array([1.0]), np.array([0.0]))[0] == np.inf
    for thresholds in ((1.0, 0.0), (), (0.0, np.nan), ((0.0,),)):
        with pytest.raises(ParameterError, match="increase"):
            Ordinal(thresholds).check()


def test_probabilities_sum_to_one():
    P = Ordinal(THETA).probabilities(np.array([-50.0, 0.0, 2.0, 50.0]))
    np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=1e-14)
    assert P.shape == (4, 4) and (P > 0).all()
