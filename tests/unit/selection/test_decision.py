"""Decisions, against brute force."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize_scalar
from scipy.stats import norm

from mercer.errors import DomainError, ParameterError
from mercer.losses import Absolute, EpsilonInsensitive, Huber, Linex, Loss, Pinball, Squared
from mercer.selection.decision import decide, expected_loss

mean, std = np.array([-1.0, 0.3, 4.0]), np.array([0.2, 1.0, 2.5])


def cost(loss, y, f):
    return float(loss.value(np.array([y]), np.array([f]))[0] if isinstance(loss, Loss) else loss(np.array(y), f))


def brute(mu, s, loss):
    """Integrate and minimise with SciPy."""

    def risk(f):
        pieces = sorted({mu - 9 * s, min(max(f, mu - 9 * s), mu + 9 * s), mu + 9 * s})
        return sum(
            quad(lambda y: cost(loss, y, f) * norm.pdf(y, mu, s), low, high, limit=200)[0]
            for low, high in pairwise(pieces)
        )

    return minimize_scalar(risk, bounds=(mu - 6 * s, mu + 6 * s), method="bounded", options={"xatol": 1e-6}).x


@pytest.mark.parametrize(
    "loss", [Squared(), Absolute(), Huber(0.7), EpsilonInsensitive(0.3), Pinball(0.8), Pinball(0.05), Linex(0.9)]
)
def test_closed_forms_are_the_minimum(loss):
    found = decide(mean, std, loss)
    for f, mu, s in zip(found, mean, std, strict=True):
        assert abs(f - brute(mu, s, loss)) < 2e-3 * s


def newsvendor(y, f):
    return np.where(y > f, 4.0 * (y - f), f - y)


def quartic(y, f):
    return (y - f) ** 4 + np.where(y < f, 3.0 * (y - f) ** 2, 0.0)


def late(y, f):
    """A fixed price once y exceeds f, beside the length of f."""
    return 5.0 * (y > f) + 0.5 * np.abs(f - y)


@pytest.mark.parametrize("loss", [newsvendor, quartic, late])
def test_any_loss_by_quadrature(loss):
    found = decide(mean, std, loss)
    for f, mu, s in zip(found, mean, std, strict=True):
        assert abs(f - brute(mu, s, loss)) < 2e-3 * s


def test_quadrature_finds_the_closed_forms():
    for loss in (Pinball(0.9), Pinball(0.001), Linex(1.0), Linex(-2.0)):
        numeric = decide(mean, std, lambda y, f, loss=loss: loss.value(y, f))
        assert np.allclose(numeric, decide(mean, std, loss), atol=1e-5)


def test_a_decision_far_out_is_found():
    found = decide([0.0], [1.0], lambda y, f: np.abs(y + 30.0 - f))
    assert np.allclose(found, 30.0, atol=0.02)  # its kink is not where the sum is cut


def test_expected_loss():
    f = mean + 0.3
    assert np.allclose(expected_loss(mean, std, f, Squared()), 0.5 * (std**2 + 0.09), rtol=1e-10)
    assert np.allclose(expected_loss(mean, std, mean, Absolute()), std * np.sqrt(2 / np.pi), rtol=1e-10)
    linex = np.exp(-0.3 + 0.5 * std**2) + 0.3 - 1.0
    assert np.allclose(expected_loss(mean, std, f, Linex(1.0)), linex, rtol=1e-8)
    assert expected_loss([1.0], [0.0], [3.0], Absolute()) == 2.0


def test_shapes_and_certainty():
    table = decide(np.zeros((2, 3)), np.ones((2, 3)), newsvendor)
    assert table.shape == (2, 3) and np.allclose(table, norm.ppf(0.8), atol=1e-6)
    assert decide([2.0], [0.0], newsvendor).tolist() == [2.0]
    assert decide(np.zeros(0), np.zeros(0), newsvendor).shape == (0,)
    many = decide(np.zeros(1000), np.linspace(0.0, 1.0, 1000), newsvendor)
    assert np.allclose(many, np.linspace(0.0, 1.0, 1000) * norm.ppf(0.8), atol=1e-6)


def test_bad_input():
    with pytest.raises(DomainError, match="negative"):
        decide([0.0], [-1.0], Squared())
    with pytest.raises(DomainError, match="finite"):
        decide([np.nan], [1.0], Squared())
    with pytest.raises(ParameterError):
        decide([0.0], [1.0], Pinball(2.0))
