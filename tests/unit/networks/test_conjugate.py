"""The conjugate of the log-partition function: negative entropy on the marginal polytope, inf outside."""

import math

import numpy as np
import pytest

from mercer.errors import ConvergenceWarning, MemoryBudgetError
from mercer.networks import MarkovNetwork, conjugate, junction_tree, loopy_propagation, polytope_distance
from tests.naive.networks import random_network

DIFFER = np.array([[0.0, 0.5], [0.5, 0.0]])


def triangle():
    return MarkovNetwork.from_factors([((a, b), np.zeros((2, 2))) for a, b in ("ab", "bc", "ac")])


@pytest.mark.parametrize("seed", range(3))
def test_the_conjugate_is_the_negative_entropy_and_gives_the_network_back(seed):
    network = random_network(seed, count=5, edges=5)
    exact = junction_tree(network)
    found = conjugate(network, exact.factor_marginals())
    assert found.residual <= 1e-10
    assert found.value == pytest.approx(-exact.entropy(), abs=1e-8)
    x = network.all_states()
    a, b = found.network.score(x), network.score(x)
    np.testing.assert_allclose(a - a[0], b - b[0], atol=1e-6)  # the same distribution


def test_fenchel_young():
    network = random_network(3, count=5, edges=5)
    exact = junction_tree(network)
    other = junction_tree(random_network(3, count=5, edges=5).replace_scores([0.3 * f.scores for f in network.factors]))
    theta = [f.scores for f in network.factors]
    for mu, equal in ((exact.factor_marginals(), True), (other.factor_marginals(), False)):
        gap = exact.log_partition + conjugate(network, mu).value
        gap -= sum((m * t).sum() for m, t in zip(mu, theta, strict=True))
        assert gap == pytest.approx(0.0, abs=1e-8) if equal else gap > 1e-3


def test_marginals_with_zeros_are_limits():
    one = np.array([[0.0, 0.0], [0.0, 1.0]])
    assert conjugate(triangle(), [one] * 3).value == pytest.approx(0.0, abs=1e-12)


def test_no_distribution_has_these_marginals():
    # locally consistent, yet three variables of two states cannot all differ
    assert conjugate(triangle(), [DIFFER] * 3).value == math.inf
    assert polytope_distance(triangle(), [DIFFER] * 3) == pytest.approx(1.0 / 6.0)
    inconsistent = [np.array([[0.7, 0.1], [0.1, 0.1]]), DIFFER, DIFFER]
    assert conjugate(triangle(), inconsistent).value == math.inf
    near = 0.99 * DIFFER + 0.01 * 0.25
    with pytest.warns(ConvergenceWarning, match="polytope_distance"):
        assert conjugate(triangle(), [near] * 3, max_iter=20).residual > 1e-3


def test_the_polytope():
    network = random_network(4, count=5, edges=5)
    assert polytope_distance(network, junction_tree(network).factor_marginals()) < 1e-9
    with pytest.raises(MemoryBudgetError, match="joint states"):
        polytope_distance(network, junction_tree(network).factor_marginals(), memory=100)


def test_loopy_beliefs_may_lie_outside():
    strong = triangle().replace_scores([-3.0 * np.eye(2)] * 3)
    found = loopy_propagation(strong, damping=0.5)
    assert found.inconsistency() < 1e-8
    assert polytope_distance(strong, found.factor_marginals()) > 0.05
