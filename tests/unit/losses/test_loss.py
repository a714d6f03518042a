import mpmath as mp
import numpy as np
import pytest

import mercer.losses
from mercer.losses import (
    Absolute,
    Binomial,
    BoxDual,
    EpsilonInsensitive,
    Gamma,
    HasBoxDual,
    Hinge,
    Huber,
    Linex,
    Logistic,
    Loss,
    Multinomial,
    Ordinal,
    Pinball,
    Poisson,
    Squared,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)
from mercer.spec import Spec

SIGNS, NUMBERS = (-1.0, 1.0), (-2.5, 0.0, 0.7, 3.0)
# loss, what may be observed, and slopes at which the conjugate is finite (ends of the domain included) or infinite
CONJUGATES = {
    "squared": (Squared(), NUMBERS, (-3.0, 0.0, 0.4, 5.0), ()),
    "absolute": (Absolute(), NUMBERS, (-1.0, -0.3, 0.0, 1.0), (-1.001, 1.1)),
    "huber": (Huber(0.7), NUMBERS, (-1.0, -0.3, 0.0, 1.0), (-1.001, 1.1)),
    "tube": (EpsilonInsensitive(0.3), NUMBERS, (-1.0, -0.3, 0.0, 1.0), (-1.001, 1.1)),
    "soft tube": (SquaredEpsilonInsensitive(0.3), NUMBERS, (-3.0, 0.0, 0.4, 5.0), ()),
    "pinball": (Pinball(0.2), NUMBERS, (-0.2, 0.0, 0.5, 0.8), (-0.21, 0.81)),
    "linex": (Linex(2.0), NUMBERS, (-30.0, -1.0, 1e-4, 1.9, 2.0), (2.001,)),
    "linex below": (Linex(-0.5), NUMBERS, (30.0, 1.0, 1e-4, -0.4, -0.5), (-0.51,)),
    "hinge +": (Hinge(), (1.0,), (-1.0, -0.4, 0.0), (0.01, -1.01)),
    "hinge -": (Hinge(), (-1.0,), (1.0, 0.4, 0.0), (-0.01, 1.01)),
    "squared hinge": (SquaredHinge(), (1.0,), (-7.0, -0.4, 0.0), (0.01,)),
    "logistic +": (Logistic(), (1.0,), (-1.0, -0.4, -1e-7, 0.0), (0.01, -1.01)),
    "logistic -": (Logistic(), (-1.0,), (1.0, 0.4, 1e-7, 0.0), (-0.01, 1.01)),
    "poisson": (Poisson(), (2.0, 5.0), (-2.0, -1.5, 1e-5, 0.0, 8.0), (-5.1,)),
    "poisson 0": (Poisson(), (0.0,), (0.0, 1e-3, 4.0), (-0.1,)),
    "gamma": (Gamma(), (0.3, 2.0), (-6.0, -1e-5, 0.0, 0.5, 1.0), (1.001,)),
    "binomial": (Binomial(4), (1.0, 3.0), (-1.0, -0.4, 0.0, 1.0), (-3.1, 3.1)),
    "share": (Binomial(), (0.0,), (0.0, 0.3, 1.0), (-0.1, 1.1)),
    "ordinal lowest": (Ordinal((-1.0, 0.5)), (0.0,), (0.0, 0.3, 1.0), (-0.01, 1.01)),
    "ordinal middle": (Ordinal((-1.0, 0.5)), (1.0,), (-1.0, -0.6, 0.0, 0.3, 1.0), (-1.01, 1.01)),
    "ordinal wide": (Ordinal((-400.0, 400.0)), (1.0,), (-0.999, -1e-3, 0.0, 0.7), (-1.01, 1.01)),
    "ordinal highest": (Ordinal((-1.0, 0.5)), (2.0,), (-1.0, -0.3, 0.0), (0.01, -1.01)),
}


def test_a_loss_is_three_formulas():
    assert issubclass(Loss, Spec)
    assert Loss.__abstractmethods__ == {"value", "gradient", "curvature"}
    with pytest.raises(TypeError, match="abstract"):
        Loss()


def test_what_the_package_offers():
    offered = {"Loss", "BoxDual", "HasBoxDual", "HasMean", "Squared", "Huber", "Hinge", "Logistic", "Linex"}
    assert offered <= set(mercer.losses.__all__)
    assert all(hasattr(mercer.losses, name) for name in mercer.losses.__all__)
    assert Squared() == Squared()


def test_a_box_dual_is_a_capability():
    assert isinstance(Squared(), HasBoxDual)
    assert not issubclass(Loss, HasBoxDual)
    dual = BoxDual(*[[0.0]] * 3)
    assert dual.index is None
    assert dual.ridge == 0.0


@pytest.mark.parametrize("name", CONJUGATES)
def test_conjugates_are_suprema(name):
    """The formula of each loss against the search that the base class offers to any."""
    loss, observed, slopes, outside = CONJUGATES[name]
    assert type(loss).conjugate is not Loss.conjugate
    y, u = (part.ravel() for part in np.meshgrid(observed, slopes))
    np.testing.assert_allclose(loss.conjugate(y, u), Loss.conjugate(loss, y, u), rtol=1e-9, atol=1e-9)
    for slope in outside:
        found = loss.conjugate(np.array(observed), np.full(len(observed), slope))
        assert np.isinf(found).any() and (found > 0.0)[np.isinf(found)].all()
        np.testing.assert_allclose(found, Loss.conjugate(loss, np.array(observed), slope), rtol=1e-9, atol=1e-9)


def test_the_search_finds_suprema_of_any_loss():
    class Quartic(Loss):
        def value(self, y, f):
            return (y - f) ** 4 / 4

        def gradient(self, y, f):
            return -((y - f) ** 3)

        def curvature(self, y, f):
            return 3 * (y - f) ** 2

    u = np.array([[-8.0, 0.0], [1e-3, 1e9]])
    found = Quartic().conjugate(np.full((2, 2), 2.0), u)
    np.testing.assert_allclose(found, 2.0 * u + 0.75 * np.abs(u) ** (4 / 3), rtol=1e-9, atol=1e-12)


def test_conjugates_of_likelihoods_have_all_digits(digits):
    digits(60)

    def exact(q):
        return q * mp.log(q) if q > 0 else mp.mpf(0)

    for u in (-0.999999, -0.3, -1e-3, -1e-9, 1e-12, 1e-4, 0.9, 40.0, 1e6):
        s = mp.mpf(u)
        cases = [(Linex(1.0), 0.0, exact(1 - s) + s if u <= 1 else None), (Gamma(), 1.0, exact(1 - s) + s)]
        if u > -1:
            cases.append((Poisson(), 1.0, exact(1 + s) - s))
        for loss, y, wanted in cases if u <= 1 else cases[2:]:
            found = loss.conjugate(np.array([y]), np.array([u]))[0]
            assert found == pytest.approx(float(wanted), rel=1e-13), (loss, u)


def test_the_conjugate_of_the_softmax_is_the_entropy():
    random = np.random.default_rng(0)
    y = np.eye(3)[[0, 2, 1, 1]]
    f = random.normal(size=(4, 3))
    loss = Multinomial()
    slope = loss.gradient(y, f)
    both = loss.value(y, f).sum(axis=1) + loss.conjugate(y, slope).sum(axis=1)
    np.testing.assert_allclose(both, (slope * f).sum(axis=1), atol=1e-12)
    for _ in range(50):  # never below
        u = random.dirichlet(np.ones(3), size=4) - y
        g = 3.0 * random.normal(size=(4, 3))
        both = loss.value(y, g).sum(axis=1) + loss.conjugate(y, u).sum(axis=1) - (u * g).sum(axis=1)
        assert (both >= -1e-12).all()
    assert np.isinf(loss.conjugate(y, slope + 0.01)).all() and np.isinf(loss.conjugate(y, 3.0 * slope)).any()


def test_which_losses_newtons_method_may_be_used_on():
    smooth = {type(case[0]).__name__ for case in CONJUGATES.values() if case[0].smooth}
    assert smooth == {"Squared", "Linex", "Logistic", "Poisson", "Gamma", "Binomial", "Ordinal"}
    assert Multinomial().smooth and not Loss.smooth
