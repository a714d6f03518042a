"""Envelopes against a grid, and the duality gap against the dual written out."""

import numpy as np
import pytest

from mercer.losses import (
    Absolute,
    EpsilonInsensitive,
    Hinge,
    Huber,
    Logistic,
    Loss,
    Pinball,
    Squared,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)
from mercer.solvers.smooth.fenchel import Envelope, fenchel_gap

LOSSES = [
    Absolute(),
    EpsilonInsensitive(0.3),
    Huber(0.4),
    Pinball(0.2),
    Squared(),
    SquaredEpsilonInsensitive(0.3),
    Hinge(),
    SquaredHinge(),
    Logistic(),
]
random = np.random.default_rng(0)
Y = np.where(random.random(12) > 0.5, 1.0, -1.0)
F = 1.5 * random.normal(size=12)
U = -0.2 * Y


class Plain(Loss):
    """A loss whose box dual is not told."""

    def __init__(self, loss):
        self.loss = loss

    def value(self, y, f):
        return self.loss.value(y, f)

    def gradient(self, y, f):
        return self.loss.gradient(y, f)

    def curvature(self, y, f):
        return self.loss.curvature(y, f)


@pytest.mark.parametrize("searched", [False, True])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_envelopes_are_minima(loss, searched):
    strength = 2.5
    envelope = Envelope(Plain(loss) if searched else loss, Y, strength, U)
    z = np.linspace(-8.0, 8.0, 160_001)[:, None]
    table = loss.value(Y[None], z) + U * (F - z) + 0.5 * strength * (F - z) ** 2
    np.testing.assert_allclose(envelope.value(Y, F), table.min(axis=0), atol=1e-7)
    h = 1e-6
    slope = (envelope.value(Y, F + h) - envelope.value(Y, F - h)) / (2 * h)
    np.testing.assert_allclose(envelope.gradient(Y, F), slope, atol=1e-5)
    bend = (envelope.gradient(Y, F + h) - envelope.gradient(Y, F - h)) / (2 * h)
    np.testing.assert_allclose(envelope.curvature(Y, F), bend, atol=1e-4)
    assert np.isfinite(loss.conjugate(Y, envelope.gradient(Y, F))).all()


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_envelopes_are_below_and_touch_with_the_right_slope(loss):
    assert np.all(Envelope(loss, Y, 3.0, U).value(Y, F) <= loss.value(Y, F) + 1e-12)
    slope = loss.gradient(Y, F)
    touching = Envelope(loss, Y, 3.0, slope)
    np.testing.assert_allclose(touching.value(Y, F), loss.value(Y, F), atol=1e-9)
    np.testing.assert_allclose(touching.gradient(Y, F), slope, atol=1e-7)


def test_a_least_curvature_and_several_outputs():
    y, f = Y.reshape(6, 2), F.reshape(6, 2)
    for loss in (EpsilonInsensitive(0.3), Plain(EpsilonInsensitive(0.3))):
        envelope = Envelope(loss, y, 2.0, np.zeros_like(y), least=0.1)
        assert envelope.curvature(y, f).shape == (6, 2) and envelope.curvature(y, f).min() >= 0.2 - 1e-9
        flat = Envelope(loss, Y, 2.0, np.zeros_like(Y))
        np.testing.assert_allclose(envelope.value(y, f).ravel(), flat.value(Y, F))
        np.testing.assert_allclose(envelope.gradient(y, f).ravel(), flat.gradient(Y, F))


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_the_gap_is_primal_minus_dual(loss):
    A = random.normal(size=(12, 5))
    K, weight, penalty = A @ A.T, random.uniform(0.5, 2.0, 12), 0.7
    slope = 0.5 * loss.gradient(Y, 0.3 * F)  # slopes that the loss can have: half of some are
    a = -weight * slope / penalty
    f = K @ a
    found = fenchel_gap(loss, Y, weight, f, slope)
    primal = weight @ loss.value(Y, f) + 0.5 * penalty * a @ K @ a
    dual = -weight @ loss.conjugate(Y, slope) - 0.5 * penalty * a @ K @ a
    assert found.risk == pytest.approx(weight @ loss.value(Y, f))
    assert found.gap == pytest.approx(primal - dual, rel=1e-9, abs=1e-9) and primal >= dual - 1e-12
    assert fenchel_gap(loss, Y, weight, f, slope, rest=0.25).gap == pytest.approx(found.gap + 0.25)
