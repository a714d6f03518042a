"""check_loss accepts every loss and notices each wrong formula."""

import numpy as np
import pytest

from mercer import catalogue
from mercer.losses import Squared
from mercer.testing import check_loss
from mercer.testing.members import member
from tests.declared import declared

NUMBERS, SIGNS = (-1.5, 0.0, 0.3, 2.0), (-1.0, 1.0)
# What is observed; of others any number, unless their unit test says so under their name in ``OBSERVED``.
OBSERVED = {"Hinge": SIGNS, "SquaredHinge": SIGNS, "Logistic": SIGNS}
OBSERVED |= {"Poisson": (0.0, 1.0, 2.0), "Gamma": (0.5, 1.0, 2.0), "Binomial": (0.0, 1.0)}
OF_SEVERAL_NUMBERS = {"Multinomial", "Ordinal"}  # a prediction is more than one
LOSSES = [row.cls for row in catalogue.losses() if row.name not in OF_SEVERAL_NUMBERS]


@pytest.mark.parametrize("cls", LOSSES, ids=lambda cls: cls.__name__)
def test_the_losses_of_mercer(cls):
    check_loss(member(cls), y=OBSERVED.get(cls.__name__) or declared(cls, "OBSERVED") or NUMBERS)


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
