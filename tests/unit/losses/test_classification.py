import numpy as np
import pytest

from mercer.losses import HasBoxDual, Hinge, Loss, SquaredHinge
from mercer.testing import check_loss
from tests.unit.losses.duals import check_duality, check_fenchel_young

LOSSES = [Hinge(), SquaredHinge()]
MARGIN = np.array([-2.0, 0.0, 0.5, 1.0, 3.0])


@pytest.mark.parametrize("side", [-1.0, 1.0])
@pytest.mark.parametrize(
    "loss, value, slope",
    [
        (Hinge(), [3.0, 1.0, 0.5, 0.0, 0.0], [-1.0, -1.0, -1.0, 0.0, 0.0]),
        (SquaredHinge(), [4.5, 0.5, 0.125, 0.0, 0.0], [-3.0, -1.0, -0.5, 0.0, 0.0]),
    ],
    ids=["Hinge", "SquaredHinge"],
)
def test_values_by_hand(loss, value, slope, side):
    y = np.full_like(MARGIN, side)
    np.testing.assert_allclose(loss.value(y, side * MARGIN), value)
    np.testing.assert_allclose(loss.gradient(y, side * MARGIN), side * np.array(slope))


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_laws_of_losses(loss):
    check_loss(loss, y=(-1.0, 1.0))
    assert isinstance(loss, Loss)
    assert isinstance(loss, HasBoxDual)
    y, f = np.tile([1.0, -1.0], 50), np.linspace(-3.0, 3.0, 100)
    errors = (y * f <= 0.0).astype(float)
    assert np.all(loss.value(y, f) >= errors * (1.0 if isinstance(loss, Hinge) else 0.5))


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_curvature_is_finite_at_the_kink(loss):
    curvature = loss.curvature(np.ones(3), np.array([1.0, 1.0 + 1e-300, -1e300]))
    assert np.all((curvature > 0.0) & (curvature <= 1e10))


def test_boxes_by_hand():
    y, c = np.array([1.0, -1.0, 1.0, -1.0]), np.array([2.0, 3.0, 0.0, np.inf])
    dual = Hinge().box_dual(y, c)
    np.testing.assert_array_equal(dual.linear, -y)
    np.testing.assert_array_equal(dual.lower, [0.0, -3.0, 0.0, -np.inf])
    np.testing.assert_array_equal(dual.upper, [2.0, 0.0, 0.0, 0.0])
    assert dual.index is None
    assert dual.ridge == 0.0
    dual = SquaredHinge().box_dual(y, c)
    np.testing.assert_array_equal(dual.lower, [0.0, -np.inf, 0.0, -np.inf])
    np.testing.assert_array_equal(dual.upper, [np.inf, 0.0, 0.0, 0.0])
    np.testing.assert_allclose(dual.ridge, [0.5, 1.0 / 3.0, 0.0, 0.0])  # an infinite weight is a hard margin


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_fenchel_young(loss):
    random = np.random.default_rng(0)
    check_fenchel_young(loss, random.choice([-1.0, 1.0], size=40), random.random(40) + 0.1, random)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("seed", range(3))
def test_primal_optimum_is_dual_optimum(loss, seed):
    random = np.random.default_rng(seed)
    X = random.normal(size=(16, 2))
    y = np.where(X[:, 0] + 0.7 * random.normal(size=16) > 0.0, 1.0, -1.0)
    check_duality(loss, y, 3.0 * random.random(16) + 0.2, X)
