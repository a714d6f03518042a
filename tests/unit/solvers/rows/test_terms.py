import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from mercer.errors import CapabilityError
from mercer.losses import Absolute, EpsilonInsensitive, Hinge, Huber, Loss, Pinball, Squared, SquaredHinge
from mercer.losses.insensitive import SquaredEpsilonInsensitive
from mercer.solvers.rows import terms as module
from mercer.solvers.rows.terms import Terms

LOSSES = [
    Hinge(), SquaredHinge(), EpsilonInsensitive(0.3), EpsilonInsensitive(0.0), SquaredEpsilonInsensitive(0.3),
    Huber(0.5), Pinball(0.2), Absolute(), Squared(),
]  # fmt: skip
losses = pytest.mark.parametrize("loss", LOSSES, ids=repr)
N = 40


def data(loss, seed=0):
    rng = np.random.default_rng(seed)
    y = np.sign(rng.normal(size=N)) if isinstance(loss, (Hinge, SquaredHinge)) else rng.normal(size=N)
    c = rng.uniform(0.1, 3.0, size=N)
    return y, c, 1.5 * rng.normal(size=N), rng.normal(size=N)


@losses
def test_the_loss_comes_back_from_its_dual(loss):
    y, c, f, _ = data(loss)
    terms = Terms.of(loss, y, c, np.ones(N))
    assert terms.risk(f) == pytest.approx(float(c @ loss.value(y, f)), rel=1e-12)
    np.testing.assert_allclose(-terms.best(f), c * loss.gradient(y, f), atol=1e-12)


@losses
def test_fenchel_young(loss):
    y, c, f, g = data(loss)
    terms = Terms.of(loss, y, c, np.ones(N))
    assert terms.risk(f) + terms.dual(terms.best(f)) == pytest.approx(-float(f @ terms.best(f)), abs=1e-10)
    assert terms.risk(f) + terms.dual(terms.best(g)) >= -float(f @ terms.best(g)) - 1e-10


@losses
@pytest.mark.parametrize("seed", range(5))
def test_the_line_search_is_exact(loss, seed):
    y, c, f, step = data(loss, seed)
    terms = Terms.of(loss, y, c, np.ones(N))
    for slope, bend in ((-2.0, 0.7), (-100.0, 3.0), (5.0, 0.1)):

        def along(k, slope=slope, bend=bend):
            return terms.risk(f + k * step) + slope * k + 0.5 * bend * k * k

        k = terms.line(f, step, slope, bend)
        found = minimize_scalar(along, bounds=(0.0, 200.0), method="bounded", options={"xatol": 1e-11})
        assert k >= 0.0 and along(k) <= min(found.fun, along(0.0)) + 1e-6
        assert along(k) <= min(along(k + 1e-6), along(max(0.0, k - 1e-6))) + 1e-10


def test_a_line_that_starts_on_kinks():
    terms = Terms.of(Hinge(), np.array([1.0, -1.0]), np.ones(2), np.ones(2))
    on = np.array([1.0, -1.0])
    assert terms.line(on, np.array([1.0, -1.0]), -0.5, 1.0) == pytest.approx(0.5)
    assert terms.line(on, np.array([-1.0, 1.0]), -0.5, 1.0) == 0.0
    assert terms.line(on, np.array([-1.0, 1.0]), -3.0, 1.0) == pytest.approx(1.0)
    assert terms.line(on, np.zeros(2), -3.0, 2.0) == pytest.approx(1.5)


@losses
def test_violation_is_zero_only_at_the_maximum(loss):
    y, c, f, _ = data(loss)
    terms = Terms.of(loss, y, c, np.ones(N))
    beta = terms.best(f)
    assert terms.violation(f, beta) <= 1e-12
    moved = np.clip(beta + 0.05, terms.table[:, 2], terms.table[:, 3])
    if not np.allclose(moved, beta):
        assert terms.violation(f, moved) > 1e-3


def test_a_proximal_step_adds_a_ridge_around_a_point():
    y, c, f, beta = data(EpsilonInsensitive(0.2))
    terms = Terms.of(EpsilonInsensitive(0.2), y, c, np.ones(N))
    near, at = terms.shifted(beta, 0.5), terms.best(f)
    expected = terms.dual(at) + 0.25 * float(np.sum((at - beta) ** 2)) - 0.25 * float(beta @ beta)
    assert near.dual(at) == pytest.approx(expected)
    assert near.smooth and not terms.smooth


@losses
def test_curved_where_the_slope_changes(loss):
    y, c, f, _ = data(loss)
    terms = Terms.of(loss, y, c, np.ones(N))
    moved = np.abs(terms.best(f + 1e-7) - terms.best(f)) > 1e-9
    if terms.smooth:
        np.testing.assert_array_equal(terms.inner(f), moved)
    else:
        assert not terms.inner(f)[terms.table[:, 4] == 0.0].any()


def test_scale():
    assert Terms.of(Hinge(), np.array([1.0, -1.0]), np.ones(2), np.ones(2)).scale == 1.0
    assert Terms.of(Squared(), np.array([105.0, 101.0]), np.ones(2), np.ones(2)).scale == 2.0
    assert Terms.of(Squared(), np.full(3, -4.0), np.ones(3), np.ones(3)).scale == 4.0
    assert Terms.of(Squared(), np.zeros(3), np.ones(3), np.ones(3)).scale == 1.0


def test_weights_of_zero_cost_nothing():
    for loss in LOSSES:
        terms = Terms.of(loss, np.ones(2), np.zeros(2), np.ones(2))
        assert terms.risk(np.array([-5.0, 7.0])) == 0.0 and terms.smooth
        assert not terms.best(np.array([-5.0, 7.0])).any()
        assert terms.line(np.zeros(2), np.ones(2), -1.0, 2.0) == 0.5


def test_a_loss_without_a_box():
    class Cosh(Loss):
        def value(self, y, f):
            return np.cosh(f - y)

        def gradient(self, y, f):
            return np.sinh(f - y)

        def curvature(self, y, f):
            return np.cosh(f - y)

    with pytest.raises(CapabilityError, match=r"box_dual.*BundleMethod"):
        Terms.of(Cosh(), np.ones(2), np.ones(2), np.ones(2))


@losses
def test_python_originals(loss, monkeypatch):
    y, c, f, step = data(loss)
    terms = Terms.of(loss, y, c, np.ones(N))
    beta = terms.best(f)
    expected = terms.risk(f), terms.dual(beta), terms.violation(f + 0.1, beta), terms.line(f, step, -2.0, 0.7)
    for name in ("_beta_of", "_respond", "_risk", "_dual", "_violation", "_events", "_sweep"):
        monkeypatch.setattr(module, name, getattr(module, name).py_func)
    np.testing.assert_allclose(terms.best(f), beta)
    again = terms.risk(f), terms.dual(beta), terms.violation(f + 0.1, beta), terms.line(f, step, -2.0, 0.7)
    np.testing.assert_allclose(again, expected, rtol=1e-10)
