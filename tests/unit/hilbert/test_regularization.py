"""Tikhonov's, Ivanov's and Morozov's forms, and the maps between them."""

import numpy as np
import pytest
from scipy.optimize import minimize

from mercer.errors import CapabilityError, ParameterError
from mercer.hilbert.regularization import RidgePath, best_on_path, ivanov, morozov, tikhonov
from mercer.hilbert.regularizers import NormPower, Radius
from mercer.kernels import Gaussian, Linear, NegativeDistance, Spectrum, ThinPlate
from mercer.losses import Absolute, Hinge, Huber, Linex, Logistic, Squared

random = np.random.default_rng(0)
N = 30
X = random.normal(size=(N, 2))
Y = np.sin(2 * X[:, 0]) + 0.3 * random.normal(size=N)
SIGN = np.where(Y > 0.0, 1.0, -1.0)
K = Gaussian(1.0)
W = random.uniform(0.5, 2.0, N)
CASES = {
    "squared": (None, Y),
    "linex": (Linex(0.5), Y),
    "huber": (Huber(0.3), Y),
    "absolute": (Absolute(), Y),
    "hinge": (Hinge(), SIGN),
    "logistic": (Logistic(), SIGN),
}


@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_the_three_forms_have_one_solution(name, constant):
    """With the length of one as radius, and the risk of one as goal, the others return it with its multiplier."""
    loss, y = CASES[name]
    options = {"loss": loss, "constant": constant, "sample_weight": W}
    first = tikhonov(K, X, y, 0.5, **options)
    S = K.pack(X)
    for other in (ivanov(K, X, y, first.norm, **options), morozov(K, X, y, first.risk, **options)):
        assert other.multiplier == pytest.approx(0.5, rel=2e-3) and other.active
        assert other.norm == pytest.approx(first.norm, rel=1e-3) and other.risk == pytest.approx(first.risk, rel=1e-3)
        np.testing.assert_allclose(other.function(S), first.function(S), atol=5e-3)
    # |f - f_lambda|^2 is at most twice the gap over lambda, for the last trial and for that on the other side.
    ball = ivanov(K, X, y, first.norm, **options)
    assert abs(ball.norm - first.norm) <= 2.0 * np.sqrt(2.0 * max(ball.gap, 1e-9) / ball.multiplier)
    assert morozov(K, X, y, first.risk, **options).risk == pytest.approx(first.risk, rel=1e-4)


@pytest.mark.parametrize("name", CASES)
def test_the_length_falls_and_the_risk_rises_with_the_penalty(name):
    loss, y = CASES[name]
    found = [tikhonov(K, X, y, penalty, loss=loss) for penalty in (1e-2, 1e-1, 1.0, 10.0)]
    assert np.all(np.diff([each.norm for each in found]) < 0.0)
    assert np.all(np.diff([each.risk for each in found]) > 0.0)


def test_a_ball_against_a_general_optimiser():
    few, y = X[:8], Y[:8]
    G = K(few)
    root = np.linalg.cholesky(G)  # f = root z, |f| = |z|
    for loss in (Squared(), Logistic()):
        target = y if isinstance(loss, Squared) else SIGN[:8]
        found = ivanov(K, few, target, 0.8, loss=loss)
        general = minimize(
            lambda z, loss=loss, target=target: loss.value(target, root @ z).sum(),
            np.zeros(8),
            jac=lambda z, loss=loss, target=target: root.T @ loss.gradient(target, root @ z),
            constraints={"type": "ineq", "fun": lambda z: 0.64 - z @ z, "jac": lambda z: -2.0 * z},
            options={"ftol": 1e-14, "maxiter": 500},
        )
        assert found.risk == pytest.approx(general.fun, rel=1e-6) and found.norm == pytest.approx(0.8)


def test_a_large_ball_is_not_active():
    exact = np.sqrt(Y @ np.linalg.solve(K(X), Y))  # length of the interpolant
    free = ivanov(K, X, Y, 1.01 * exact)
    assert free.multiplier == 0.0 and not free.active and free.norm == pytest.approx(exact, rel=1e-6)
    assert free.risk < 1e-12 and "not active" in str(free)
    tight = ivanov(K, X, Y, 0.9 * exact)
    assert tight.active and tight.norm == pytest.approx(0.9 * exact) and tight.multiplier > 0.0
    far = ivanov(Linear(), [[-1.0], [1.0]], [-1.0, 1.0], 5.0, loss=Hinge())  # the hard margin has length 1
    assert far.multiplier == 0.0 and not far.active and far.norm == pytest.approx(1.0, abs=1e-3)
    always = ivanov(Linear(), [[-1.0], [1.0]], [-1.0, 1.0], 5.0, loss=Logistic())  # separable: longer is better
    assert always.active and always.norm == pytest.approx(5.0)


def test_goals_out_of_reach_and_goals_that_are_none():
    with pytest.raises(ParameterError, match="no function of the space has a risk below"):
        morozov(Linear(), [[1.0], [1.0]], [1.0, 3.0], 0.5)  # the least is 1
    with pytest.raises(ParameterError, match="no function of the space has a risk below"):
        morozov(Linear(), [[1.0], [1.0]], [1.0, 3.0], 0.5, loss=Huber(1.0))
    nothing = morozov(K, X, Y, 10.0 * float(Y @ Y))
    assert nothing.multiplier == np.inf and nothing.norm == 0.0 and not nothing.active


def test_the_path_of_the_squared_loss_is_ridge_regression():
    G, B = K(X), np.column_stack([np.ones(N), X])
    both = np.column_stack([Y, Y**2])
    path = RidgePath(G, both, W, B)
    for penalty in (0.1, 3.0):
        found = path.at(penalty)
        big = np.block([[G + np.diag(penalty / W), B], [B.T, np.zeros((3, 3))]])
        exact = np.linalg.solve(big, np.vstack([both, np.zeros((3, 2))]))
        np.testing.assert_allclose(found.solution.coef, exact[:N], atol=1e-8)
        np.testing.assert_allclose(found.solution.multipliers, exact[N:], atol=1e-8)
        values = G @ exact[:N] + B @ exact[N:]
        np.testing.assert_allclose(found.solution.state.values, values, atol=1e-8)
        assert found.risk == pytest.approx(0.5 * np.sum(W[:, None] * (both - values) ** 2))
        assert found.energy == pytest.approx(np.sum(exact[:N] * (G @ exact[:N])))
    singular = RidgePath(np.ones((2, 2)), np.array([1.0, 3.0]), np.ones(2)).at(0.0)
    assert singular.risk == pytest.approx(1.0) and singular.energy == pytest.approx(4.0)


@pytest.mark.parametrize("exponent", [0.5, 1.0, 1.5, 2.0, 4.0])
@pytest.mark.parametrize("target", [0.2, 3.0, 40.0])
def test_regularisers_in_one_dimension(target, exponent):
    """min (y - f)^2 / 2 + |f|^q / q over numbers f, by a grid."""
    path = RidgePath(np.eye(1), np.array([target]), np.ones(1))
    found, multiplier = best_on_path(path, NormPower(exponent), 1.0, 1.0)
    f = np.linspace(0.0, target, 400_001)
    best = f[np.argmin(0.5 * (target - f) ** 2 + f**exponent / exponent)]
    assert np.sqrt(found.energy) == pytest.approx(best, abs=2e-4)
    if found.energy > 0.0:
        assert multiplier == pytest.approx(np.sqrt(found.energy) ** (exponent - 2.0), rel=1e-3)
    else:
        assert multiplier == np.inf


def test_a_ball_as_a_regulariser():
    path = RidgePath(np.eye(1), np.array([3.0]), np.ones(1))
    found, multiplier = best_on_path(path, Radius(2.0), 1.0, 1.0)
    assert found.energy == pytest.approx(4.0) and multiplier == pytest.approx(0.5)


def test_strings_and_conditional_kernels():
    words, y = ["aab", "aba", "bbb", "bba"], [2.0, 1.0, -3.0, -1.0]
    assert ivanov(Spectrum(2), words, y, 1.0).norm == pytest.approx(1.0)
    assert ivanov(NegativeDistance(), X, Y, 1.0, constant=True).norm == pytest.approx(1.0)
    with pytest.raises(CapabilityError, match="KernelMachine"):
        tikhonov(NegativeDistance(), X, Y, 1.0)
    with pytest.raises(CapabilityError, match="KernelMachine"):
        tikhonov(ThinPlate(), X, Y, 1.0, constant=True)


def test_what_is_refused():
    for bad in (0.0, -1.0, np.inf, "1", True):
        with pytest.raises(ParameterError, match="must be a finite number > 0"):
            ivanov(K, X, Y, bad)
        with pytest.raises(ParameterError, match="must be a finite number > 0"):
            morozov(K, X, Y, bad)
        with pytest.raises(ParameterError, match="must be a finite number > 0"):
            tikhonov(K, X, Y, bad)
    with pytest.raises(ParameterError, match="one finite number"):
        tikhonov(K, X, Y[:-1], 1.0)
    with pytest.raises(ParameterError, match="positive weight"):
        tikhonov(K, X, Y, 1.0, sample_weight=np.zeros(N))
    with pytest.raises(ParameterError, match=r"up to 1.7e\+308.* overflow"):
        tikhonov(K, X, Y, 1.0, sample_weight=np.full(N, 1.7e308))


def test_a_limit_of_the_numbers_is_not_one_of_the_space():
    """A Gaussian on distinct points reaches every risk; double precision does not."""
    x = np.linspace(0.0, 6.0, 40)
    y = np.sin(x) + 0.1 * np.random.default_rng(0).normal(size=40)
    for loss, word in ((None, "eigenvalues of K"), (Huber(1.0), "penalty was lowered")):
        with pytest.raises(ParameterError, match=rf"in double precision the least risk.*{word}"):
            morozov(Gaussian(3.0), x[:, None], y, 1e-9, loss=loss)


def test_the_shortest_function_is_found_where_penalties_are_small():
    mpmath = pytest.importorskip("mpmath")
    x = np.linspace(0.0, 6.0, 12)
    y = np.sin(3.0 * x)
    found = morozov(Gaussian(2.0), x[:, None], y, 1e-3)
    assert found.active and found.risk == pytest.approx(1e-3, rel=1e-6)
    with mpmath.workdps(60):  # the same by bisection of the penalty, in exact enough numbers
        K = mpmath.matrix([[mpmath.exp(-((mpmath.mpf(a) - mpmath.mpf(b)) ** 2) / 8) for b in x] for a in x])
        target = mpmath.matrix(y.tolist())
        low, high = mpmath.mpf(10) ** -25, mpmath.mpf(10)
        for _ in range(120):
            middle = mpmath.sqrt(low * high)
            coef = mpmath.lu_solve(K + middle * mpmath.eye(12), target)
            risk = middle**2 * sum(c**2 for c in coef) / 2
            low, high = (low, middle) if risk > mpmath.mpf("1e-3") else (middle, high)
        norm = float(mpmath.sqrt((coef.T * K * coef)[0]))
    # rounding of K, 1e-16, beside a penalty: what that may change the length by
    assert found.norm == pytest.approx(norm, rel=1e-13 / float(middle) + 1e-6)
