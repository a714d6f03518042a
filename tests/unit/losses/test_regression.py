import numpy as np
import pytest

from mercer.errors import ParameterError
from mercer.losses import Absolute, EpsilonInsensitive, HasBoxDual, Huber, Loss, Pinball, Squared
from tests.unit.losses.duals import check_duality, check_fenchel_young

XI = np.array([-3.0, -1.0, -0.5, 0.0, 0.5, 1.0, 3.0])  # residuals y - f


@pytest.mark.parametrize(
    "loss, value, gradient",
    [
        (Squared(), [4.5, 0.5, 0.125, 0.0, 0.125, 0.5, 4.5], [3.0, 1.0, 0.5, 0.0, -0.5, -1.0, -3.0]),
        (Absolute(), [3.0, 1.0, 0.5, 0.0, 0.5, 1.0, 3.0], [1.0, 1.0, 1.0, 0.0, -1.0, -1.0, -1.0]),
        (Huber(1.0), [2.5, 0.5, 0.125, 0.0, 0.125, 0.5, 2.5], [1.0, 1.0, 0.5, 0.0, -0.5, -1.0, -1.0]),
        (Huber(2.0), [2.0, 0.25, 0.0625, 0.0, 0.0625, 0.25, 2.0], [1.0, 0.5, 0.25, 0.0, -0.25, -0.5, -1.0]),
        (
            EpsilonInsensitive(0.75),
            [2.25, 0.25, 0.0, 0.0, 0.0, 0.25, 2.25],
            [1.0, 1.0, 0.0, 0.0, 0.0, -1.0, -1.0],
        ),
        (
            Pinball(0.25),
            [2.25, 0.75, 0.375, 0.0, 0.125, 0.25, 0.75],
            [0.75, 0.75, 0.75, 0.0, -0.25, -0.25, -0.25],
        ),
    ],
    ids=repr,
)
def test_values_by_hand(loss, value, gradient):
    y = np.full_like(XI, 2.0)
    np.testing.assert_allclose(loss.value(y, y - XI), value, atol=1e-15)
    np.testing.assert_allclose(loss.gradient(y, y - XI), gradient, atol=1e-15)


def test_pinball_is_not_the_misprint():
    # Printed is (1 - tau) xi for xi < 0, a negative cost.
    assert Pinball(0.9).value(np.array([0.0]), np.array([1.0]))[0] == pytest.approx(0.1)


def test_curvatures_by_hand():
    y = np.array([4.0, -4.0, 0.5])
    zero = np.zeros(3)
    np.testing.assert_allclose(Squared().curvature(y, zero), 1.0)
    np.testing.assert_allclose(Absolute().curvature(y, zero), [0.25, 0.25, 2.0])
    np.testing.assert_allclose(Huber(1.0).curvature(y, zero), [0.25, 0.25, 1.0])
    np.testing.assert_allclose(Huber(8.0).curvature(y, zero), 0.125)
    np.testing.assert_allclose(Pinball(0.1).curvature(y, zero), [0.125, 0.125, 1.0])
    np.testing.assert_allclose(EpsilonInsensitive(1.0).curvature(y, zero), [0.25, 0.25, 1.0])
    np.testing.assert_allclose(EpsilonInsensitive(3.0).curvature(y, zero), [0.5, 0.5, 0.2])


LOSSES = [Squared(), Absolute(), Huber(0.5), EpsilonInsensitive(0.2), Pinball(0.3)]


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_shapes_types_and_inputs(loss):
    y, f = np.arange(6.0).reshape(3, 2), np.ones((3, 2))
    before = y.copy(), f.copy()
    for method in (loss.value, loss.gradient, loss.curvature):
        table = method(y, f)
        assert table.shape == (3, 2)
        assert table.dtype == np.float64
        np.testing.assert_array_equal(method(y[:, 0], f[:, 0]), table[:, 0])
        assert method(y.astype(np.float32), f.astype(np.float32)).dtype == np.float64
        assert method([1, 2], [0, 5]).dtype == np.float64
    np.testing.assert_array_equal(y, before[0])
    np.testing.assert_array_equal(f, before[1])


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_curvature_is_positive_and_finite_even_at_a_kink(loss):
    xi = np.array([0.0, 0.2, -0.2, 1e-300, 1e300])
    curvature = loss.curvature(xi, np.zeros(5))
    assert np.all(curvature > 0.0)
    assert np.all(np.isfinite(curvature))
    assert np.all(curvature <= 1e10)


def test_huge_residuals():
    y = np.array([1e300])
    assert Huber(1e-3).value(y, -y)[0] == 2e300
    assert Huber(1e200).value(np.array([1e200]), np.zeros(1))[0] == pytest.approx(0.5e200)
    assert EpsilonInsensitive(1.0).value(y, -y)[0] == 2e300


@pytest.mark.parametrize(
    "loss, name",
    [
        (Huber(0.0), "threshold"),
        (Huber(-1.0), "threshold"),
        (EpsilonInsensitive(-0.1), "epsilon"),
        (EpsilonInsensitive(np.inf), "epsilon"),
        (Pinball(0.0), "quantile"),
        (Pinball(1.0), "quantile"),
        (Pinball(np.nan), "quantile"),
    ],
)
def test_parameters_are_checked(loss, name):
    with pytest.raises(ParameterError, match=name):
        loss.check()


def test_good_parameters_pass():
    for loss in [*LOSSES, EpsilonInsensitive(0.0)]:
        assert loss.check() is loss
        assert isinstance(loss, Loss)


def test_boxes_by_hand():
    y, c = np.array([1.0, -2.0, 5.0]), np.array([2.0, 4.0, 0.0])
    for loss, lower, upper, ridge in [
        (Squared(), [-np.inf, -np.inf, 0.0], [np.inf, np.inf, 0.0], [0.5, 0.25, 0.0]),
        (Absolute(), -c, c, 0.0),
        (Huber(3.0), -c, c, [1.5, 0.75, 0.0]),
        (Pinball(0.75), -c / 4, 3 * c / 4, 0.0),
    ]:
        dual = loss.box_dual(y, c)
        assert dual.index is None
        np.testing.assert_array_equal(dual.linear, -y)
        np.testing.assert_allclose(dual.lower, lower)
        np.testing.assert_allclose(dual.upper, upper)
        np.testing.assert_allclose(dual.ridge, ridge)


def test_a_tube_has_two_variables_per_sample():
    y, c = np.array([1.0, -2.0]), np.array([2.0, 4.0])
    dual = EpsilonInsensitive(0.5).box_dual(y, c)
    np.testing.assert_allclose(dual.linear, [-0.5, 2.5, -1.5, 1.5])
    np.testing.assert_allclose(dual.lower, [0.0, 0.0, -2.0, -4.0])
    np.testing.assert_allclose(dual.upper, [2.0, 4.0, 0.0, 0.0])
    np.testing.assert_array_equal(dual.index, [0, 1, 0, 1])
    assert dual.ridge == 0.0


DUALS = [*LOSSES, Huber(2.0), EpsilonInsensitive(0.0), Pinball(0.9)]


@pytest.mark.parametrize("loss", DUALS, ids=repr)
def test_fenchel_young(loss):
    random = np.random.default_rng(0)
    assert isinstance(loss, HasBoxDual)
    check_fenchel_young(loss, random.normal(size=40), random.random(40) + 0.1, random)


@pytest.mark.parametrize("loss", DUALS, ids=repr)
@pytest.mark.parametrize("seed", range(3))
def test_primal_optimum_is_dual_optimum(loss, seed):
    random = np.random.default_rng(seed)
    X = random.normal(size=(16, 2))
    check_duality(loss, X[:, 0] + random.normal(size=16), 3.0 * random.random(16) + 0.2, X)
