import pytest

import mercer.losses
from mercer.losses import BoxDual, HasBoxDual, Loss, Squared
from mercer.spec import Spec


def test_a_loss_is_three_formulas():
    assert issubclass(Loss, Spec)
    assert Loss.__abstractmethods__ == {"value", "gradient", "curvature"}
    with pytest.raises(TypeError, match="abstract"):
        Loss()


def test_what_the_package_offers():
    interfaces = ["Loss", "BoxDual", "HasBoxDual"]
    regression = ["Squared", "Absolute", "Huber", "EpsilonInsensitive", "Pinball", "SquaredEpsilonInsensitive"]
    likelihood = ["HasMean", "Logistic", "Multinomial", "Poisson", "Gamma", "Binomial", "Ordinal"]
    offered = {*interfaces, *regression, "Hinge", "SquaredHinge", *likelihood, "Linex"}
    assert set(mercer.losses.__all__) == offered and len(mercer.losses.__all__) == len(offered)
    assert all(hasattr(mercer.losses, name) for name in mercer.losses.__all__)
    assert Squared() == Squared()


def test_a_box_dual_is_a_capability():
    assert isinstance(Squared(), HasBoxDual)
    assert not issubclass(Loss, HasBoxDual)
    dual = BoxDual(*[[0.0]] * 3)
    assert dual.index is None
    assert dual.ridge == 0.0
