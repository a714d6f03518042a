import numpy as np
import pytest

from mercer.errors import ParameterError
from mercer.losses import EpsilonInsensitive, Squared
from mercer.losses.insensitive import SquaredEpsilonInsensitive
from mercer.testing import check_loss

rng = np.random.default_rng(0)
Y, F = rng.normal(size=50), rng.normal(size=50)


def test_laws():
    check_loss(SquaredEpsilonInsensitive(0.3))


def test_half_the_square_of_the_tube():
    np.testing.assert_allclose(
        SquaredEpsilonInsensitive(0.4).value(Y, F), 0.5 * EpsilonInsensitive(0.4).value(Y, F) ** 2
    )


def test_without_a_tube_it_is_the_squared_loss():
    loss = SquaredEpsilonInsensitive(0.0)
    np.testing.assert_allclose(loss.value(Y, F), Squared().value(Y, F))
    np.testing.assert_allclose(loss.gradient(Y, F), Squared().gradient(Y, F))


def test_the_dual_gives_the_loss_back():
    loss, weight = SquaredEpsilonInsensitive(0.3), rng.uniform(0.5, 2.0, size=50)
    dual = loss.box_dual(Y, weight)
    grid = np.linspace(-20.0, 20.0, 40001)
    for i in range(5):
        plus, minus = np.clip(grid, 0.0, None), np.clip(grid, None, 0.0)
        cost = dual.linear[i] * plus + dual.linear[i + 50] * minus + 0.5 * dual.ridge[i] * (plus**2 + minus**2)
        assert np.max(-F[i] * grid - cost) == pytest.approx(weight[i] * loss.value(Y, F)[i], abs=1e-5)


def test_a_weight_of_zero_holds_the_variable():
    dual = SquaredEpsilonInsensitive(0.3).box_dual(Y[:2], np.array([0.0, 1.0]))
    assert dual.lower[0] == dual.upper[0] == 0.0 and np.isinf(dual.upper[1])


def test_a_negative_tube_is_an_error():
    with pytest.raises(ParameterError, match="epsilon"):
        SquaredEpsilonInsensitive(-1.0).check()
