import pytest

import mercer.losses
from mercer.losses import Loss, Squared
from mercer.spec import Spec


def test_a_loss_is_three_formulas():
    assert issubclass(Loss, Spec)
    assert Loss.__abstractmethods__ == {"value", "gradient", "curvature"}
    with pytest.raises(TypeError, match="abstract"):
        Loss()


def test_what_the_package_offers():
    assert mercer.losses.__all__ == ["Loss", "Squared", "Absolute", "Huber", "EpsilonInsensitive", "Pinball"]
    assert all(hasattr(mercer.losses, name) for name in mercer.losses.__all__)
    assert Squared() == Squared()
