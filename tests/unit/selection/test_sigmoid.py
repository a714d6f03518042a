import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.metrics import roc_auc_score

from mercer.errors import ParameterError
from mercer.selection import Sigmoid, couple, fit_sigmoid, normalize

rng = np.random.default_rng(0)
F = np.concatenate([rng.normal(-0.7, 1.0, size=120), rng.normal(0.9, 1.2, size=80)])
Y = np.repeat([-1, 1], [120, 80])


def risk(values, y, weight, prior=1.0):
    up, down = weight[y > 0].sum(), weight[y <= 0].sum()
    t = np.where(y > 0, (up + prior) / (up + 2.0 * prior), prior / (down + 2.0 * prior))
    return lambda x: weight @ (np.logaddexp(0.0, x[0] * values + x[1]) - t * (x[0] * values + x[1]))


@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e8])
@pytest.mark.parametrize("prior", [1.0, 0.1])
def test_fit_is_the_minimum(scale, prior):
    weight = np.random.default_rng(1).uniform(0.1, 5.0, size=len(F))
    found = fit_sigmoid(scale * F, Y, weight, prior)
    expected = minimize(risk(F, Y, weight, prior), [1.0, 0.0], method="BFGS", options={"gtol": 1e-9}).x
    np.testing.assert_allclose([found.slope * scale, found.offset], expected, rtol=1e-5)


def test_a_weight_is_a_number_of_copies():
    weight = np.random.default_rng(1).integers(0, 4, size=len(F))
    one = fit_sigmoid(F, Y, weight.astype(float))
    other = fit_sigmoid(np.repeat(F, weight), np.repeat(Y, weight))
    assert one.slope == pytest.approx(other.slope, rel=1e-8)
    assert one.offset == pytest.approx(other.offset, rel=1e-8)


def test_the_other_class_is_the_mirror_image():
    one, other = fit_sigmoid(F, Y), fit_sigmoid(-F, -Y)
    assert (one.slope, one.offset) == pytest.approx((other.slope, -other.offset))


def test_separable_values_do_not_lead_to_certainty():
    sigmoid = fit_sigmoid(np.array([-2.0, -1.0, 1.0, 2.0]), np.array([-1, -1, 1, 1]))
    p = sigmoid(np.array([-2.0, 2.0]))
    assert 0.1 < p[0] < 0.5 < p[1] < 0.9
    assert np.isfinite(sigmoid.slope)


@pytest.mark.parametrize(
    "values", [-F, np.zeros(200), np.full(200, 3.0)], ids=["against the classes", "zero", "all the same"]
)
def test_useless_values_give_the_proportion_in_their_order(values):
    sigmoid = fit_sigmoid(values, Y)
    assert sigmoid.slope > 0.0
    p = sigmoid(values)
    np.testing.assert_allclose(p, 0.4, atol=0.01)
    assert roc_auc_score(Y, p) == roc_auc_score(Y, values)


def test_one_class_only():
    sigmoid = fit_sigmoid(np.array([0.5, 1.0]), np.array([1, 1]))
    assert sigmoid(np.array([0.7]))[0] == pytest.approx(0.75, abs=0.01)


@pytest.mark.parametrize("slope", [0.01, 1.0, 3.0])
def test_the_area_under_the_curve_is_that_of_the_values(slope):
    f = np.random.default_rng(2).uniform(-50.0, 50.0, size=4000)
    y = np.random.default_rng(3).random(4000) < expit(f / 10.0)
    p = Sigmoid(slope, 0.3)(f)
    assert np.all(np.diff(p[np.argsort(f)]) > 0.0)
    assert roc_auc_score(y, p) == roc_auc_score(y, f)
    assert roc_auc_score(y, 1.0 - (1.0 - p)) == roc_auc_score(y, f)  # from the other column
    assert np.all((p > 0.0) & (p < 1.0))


def test_the_tails():
    eta = np.linspace(-60.0, 60.0, 200001)
    p = Sigmoid(1.0, 0.0)(eta)
    assert np.all(np.diff(p) > 0.0)
    near = np.abs(eta) < 13.0
    np.testing.assert_array_equal(p[near], expit(eta[near]))
    np.testing.assert_allclose(p + p[::-1], 1.0, rtol=1e-14)
    np.testing.assert_allclose(p, expit(eta), atol=1e-6)
    assert np.all(np.isfinite(Sigmoid(1.0, 0.0)(np.array([-1e308, 1e308]))))
    turn = np.log((1.0 - 1e-6) / 1e-6)
    around = Sigmoid(1.0, 0.0)(turn + np.linspace(-1e-7, 1e-7, 41))
    assert np.all(np.diff(around) >= 0.0)


def test_shapes():
    assert Sigmoid(1.0, 0.0)(np.zeros((3, 2))).shape == (3, 2)
    assert Sigmoid(1.0, 0.0) == Sigmoid(1.0, 0.0)


def pairs(p):
    i, j = np.triu_indices(p.shape[1], 1)
    return p[:, i] / (p[:, i] + p[:, j])


@pytest.mark.parametrize("c", [2, 3, 5, 10])
def test_pairs_that_agree_are_coupled_exactly(c):
    p = np.random.default_rng(c).dirichlet(np.ones(c), size=50)
    np.testing.assert_allclose(couple(pairs(p)), p, atol=1e-9)


def test_coupling_is_the_minimum(monkeypatch):
    monkeypatch.setattr("mercer.selection.sigmoid._BYTES", 8 * 16 * 3)  # several blocks
    c = 4
    P = np.random.default_rng(0).uniform(0.02, 0.98, size=(8, 6))
    found = couple(P)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    i, j = np.triu_indices(c, 1)
    for r, p in zip(P, found, strict=True):
        expected = minimize(
            lambda x, r=r: 2.0 * np.sum(((1.0 - r) * x[i] - r * x[j]) ** 2),
            np.full(c, 1.0 / c),
            bounds=[(0.0, 1.0)] * c,
            constraints={"type": "eq", "fun": lambda x: x.sum() - 1.0},
            options={"ftol": 1e-14},
        ).x
        np.testing.assert_allclose(p, expected, atol=1e-5)


def test_certain_pairs():
    p = couple(Sigmoid(10.0, 0.0)(np.array([[50.0, 50.0, -50.0], [50.0, -50.0, 50.0]])))
    np.testing.assert_allclose(p[0], [1.0, 0.0, 0.0], atol=1e-5)
    np.testing.assert_allclose(p[1], 1.0 / 3.0)  # each is beaten once
    assert np.isfinite(couple(np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 0.0]]))).all()


def test_no_samples():
    assert couple(np.empty((0, 3))).shape == (0, 3)


@pytest.mark.parametrize("shape", [(4, 2), (4, 0), (3,)])
def test_columns_that_are_no_pairs(shape):
    with pytest.raises(ParameterError, match="one column per pair"):
        couple(np.zeros(shape))


def test_normalize():
    P = np.array([[0.2, 0.2], [0.0, 0.0]])
    np.testing.assert_array_equal(normalize(P), 0.5)
    assert P[1, 0] == 0.0
