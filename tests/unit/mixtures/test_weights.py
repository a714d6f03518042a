"""The three formulas of each set of weights, against a search over the set."""

import numpy as np
import pytest
from scipy.optimize import minimize

from mercer.errors import ParameterError
from mercer.mixtures import Average, ElasticNet, Given, LpBall, Simplex

SETS = [
    Simplex(),
    LpBall(1.0),
    LpBall(1.3),
    LpBall(2.0),
    LpBall(5.0),
    ElasticNet(0.0),
    ElasticNet(0.4),
    ElasticNet(1.0),
]
rng = np.random.default_rng(0)
SQUARES = [rng.uniform(0.2, 3.0, size=5), np.array([1.0, 1.0, 2.0]), np.array([4.0])]


def size(weights, d):
    """At most one inside the set."""
    if isinstance(weights, ElasticNet):
        return weights.theta * d.sum() + (1.0 - weights.theta) * (d @ d)
    return float(np.sum(d ** getattr(weights, "p", 1.0)))


def searched(weights, value, count):
    """The least of a function over the set, by a general method from several starts."""
    best = np.inf
    for seed in range(3):
        start = np.random.default_rng(seed).uniform(0.5, 1.0, size=count)
        found = minimize(
            value,
            start / size(weights, start) / count,
            method="SLSQP",
            bounds=[(1e-9, None)] * count,
            constraints={"type": "ineq", "fun": lambda d: 1.0 - size(weights, d)},
            options={"maxiter": 500, "ftol": 1e-13},
        )
        if size(weights, found.x) <= 1.0 + 1e-7:
            best = min(best, found.fun)
    return best


@pytest.mark.parametrize("weights", SETS, ids=repr)
@pytest.mark.parametrize("s", SQUARES, ids=len)
def test_the_bound_is_the_largest_value(weights, s):
    d = weights.best(s)
    assert d.min() >= 0.0 and size(weights, d) <= 1.0 + 1e-12
    assert np.isclose(d @ s, weights.bound(s), rtol=1e-12)
    # SLSQP ends within about the square root of its tolerance of a corner of the set
    assert np.isclose(-searched(weights, lambda d: -(d @ s), len(s)), weights.bound(s), rtol=1e-5)


@pytest.mark.parametrize("weights", SETS, ids=repr)
@pytest.mark.parametrize("s", SQUARES, ids=len)
def test_shared_weights_are_the_best_for_parts_of_a_function(weights, s):
    d = weights.shared(np.sqrt(s))
    assert d.min() > 0.0 and np.isclose(size(weights, d), 1.0, rtol=1e-12)
    assert np.isclose(searched(weights, lambda d: np.sum(s / d), len(s)), np.sum(s / d), rtol=1e-6)


@pytest.mark.parametrize("weights", SETS, ids=repr)
def test_parts_of_no_length_have_no_weight(weights):
    assert (weights.shared(np.array([1.0, 0.0, 2.0])) > 0.0).tolist() == [True, False, True]


@pytest.mark.parametrize("weights", [*SETS, Average()], ids=repr)
def test_nothing_at_all_has_weights_too(weights):
    for d in (weights.shared(np.zeros(3)), weights.best(np.zeros(3)), weights.start(3)):
        assert np.isfinite(d).all() and d.sum() > 0.0


def test_scales_do_not_matter():
    s = np.array([1.0, 2.0, 3.0])
    for weights in SETS:
        for factor in (1e-200, 1e200):
            assert np.allclose(weights.best(factor * s), weights.best(s), rtol=1e-9)
            assert np.isclose(weights.bound(factor * s) / factor, weights.bound(s), rtol=1e-9)


def test_the_ends_of_the_families_coincide():
    s = np.array([1.0, 2.0, 3.0])
    assert np.allclose(ElasticNet(0.0).best(s), LpBall(2.0).best(s), rtol=1e-12)
    assert np.allclose(ElasticNet(0.0).shared(s), LpBall(2.0).shared(s), rtol=1e-12)
    assert np.allclose(ElasticNet(1.0).shared(s), Simplex().shared(s))
    assert np.allclose(LpBall(1.0).shared(s), Simplex().shared(s))
    assert np.allclose(LpBall(1e6).shared(s), 1.0, rtol=1e-5)  # n^(2 / (p + 1)) and m^(-1 / p) are one up to 1e-5


def test_given_weights_are_one_for_each_kernel():
    assert Given((1.0, 3.0)).bound(np.array([2.0, 1.0])) == 5.0
    with pytest.raises(ParameterError, match="Give 3 weights"):
        Given((1.0, 3.0)).start(3)
    with pytest.raises(ParameterError, match="not all zero"):
        Given((0.0, 0.0)).start(2)
