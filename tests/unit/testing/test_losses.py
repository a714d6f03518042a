"""check_loss accepts every loss and notices each wrong formula."""

import inspect

import numpy as np
import pytest

import mercer.losses
from mercer.losses import Squared
from mercer.testing import check_loss

LOSSES = [
    getattr(mercer.losses, name)
    for name in mercer.losses.__all__
    if inspect.isclass(getattr(mercer.losses, name)) and not inspect.isabstract(getattr(mercer.losses, name))
]
REGRESSION = [cls for cls in LOSSES if cls.__module__.endswith("regression")]


@pytest.mark.parametrize("cls", REGRESSION, ids=lambda cls: cls.__name__)
def test_the_losses_of_regression(cls):
    check_loss(cls(), y=(-1.5, 0.0, 0.3, 2.0))


class Negative(Squared):
    def value(self, y, f):
        return super().value(y, f) - 1.0


class WrongSlope(Squared):
    def gradient(self, y, f):
        return -super().gradient(y, f)


class Dented(Squared):
    def value(self, y, f):
        return np.log1p(super().value(y, f))

    def gradient(self, y, f):
        return super().gradient(y, f) / (1.0 + super().value(y, f))


class Flat(Squared):
    def curvature(self, y, f):
        return 0.5 * super().curvature(y, f)


class Concave(Squared):
    def curvature(self, y, f):
        return -super().curvature(y, f)


class Summed(Squared):
    def value(self, y, f):
        return np.sum(super().value(y, f))


class Total(Squared):
    def gradient(self, y, f):
        return super().gradient(y, f) * len(np.asarray(f))


class WrongConjugate(Squared):
    def conjugate(self, y, u):
        return super().conjugate(y, u) + 0.1


class SmallConjugate(Squared):
    def conjugate(self, y, u):
        return np.where(u == 0.0, -0.5, super().conjugate(y, u))


@pytest.mark.parametrize(
    ("cls", "told"),
    [
        (WrongConjugate, "do not meet"),
        (SmallConjugate, "do not meet|too small"),
        (Negative, "negative"),
        (WrongSlope, "not the derivative"),
        (Dented, "not convex"),
        (Flat, "neither majorises"),
        (Concave, "curvature is negative"),
        (Summed, "shape"),
        (Total, "elementwise|not the derivative"),
    ],
)
def test_what_is_wrong_is_told(cls, told):
    with pytest.raises(AssertionError, match=told):
        check_loss(cls())


def test_a_loss_may_be_declared_not_convex():
    class Honest(Dented):
        def curvature(self, y, f):
            return np.ones_like(f)

    check_loss(Honest(), convex=False)
