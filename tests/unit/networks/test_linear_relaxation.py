"""The linear relaxation of the best joint state: above all joint states, equal on trees, below no linear program."""

import numpy as np
import pytest

from mercer.errors import CapabilityError
from mercer.networks import MarkovNetwork, linear_relaxation
from mercer.networks.linear_relaxation import _bound, _choose, _improve, _pair_scores, _sweep, is_forest, relax
from tests.naive.networks import random_network, random_tree

AGREE = np.eye(2)
ODD = [(("a", "b"), -AGREE), (("b", "c"), -AGREE), (("a", "c"), -AGREE)]


def best(network):
    return network.score(network.all_states()).max()


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("method", ["messages", "simplex"])
def test_it_is_above_all_joint_states(seed, method):
    network = random_network(seed, triples=0, count=6, edges=9, strength=2.0)
    found, wanted = linear_relaxation(network, method=method), best(network)
    close = 1e-12 * (1.0 + abs(wanted))
    assert found.value == pytest.approx(network.score(found.states), rel=1e-12)
    assert found.value <= wanted + close
    assert found.bound >= wanted - close
    if found.exact:
        assert found.value >= wanted - 1e-6 * (1.0 + abs(found.bound))  # what tol allows


@pytest.mark.parametrize("seed", range(4))
def test_messages_end_at_or_above_the_linear_program(seed):
    network = random_network(seed, triples=0, count=6, edges=10, strength=2.0)
    close = 1e-6 * (1.0 + abs(best(network)))  # of HiGHS
    assert linear_relaxation(network).bound >= linear_relaxation(network, method="simplex").bound - close


@pytest.mark.parametrize("seed", range(3))
def test_trees_are_exact(seed):
    network = random_tree(seed, count=6)
    found = linear_relaxation(network)
    assert found.exact
    assert found.bound == found.value == pytest.approx(best(network), rel=1e-12)
    lp = relax(_pair_scores(network), "simplex")  # the relaxation itself has no gap on a tree
    assert lp.bound == pytest.approx(best(network), rel=1e-7)


def test_an_odd_ring_has_a_gap():
    found = linear_relaxation(MarkovNetwork.from_factors(ODD), method="simplex")
    assert (found.value, found.exact) == (-1.0, False)
    assert found.bound == pytest.approx(0.0, abs=1e-7)  # half of each state, which no joint state is
    assert linear_relaxation(MarkovNetwork.from_factors(ODD)).bound >= -1e-12


def test_forbidden_states_stay_forbidden():
    ban = np.array([[-np.inf, 0.0], [0.0, 0.0]])
    factors = [(("a", "b"), ban), (("b", "c"), ban), (("c", "a"), ban), (("a",), [3.0, 0.0]), (("b",), [2.0, 0.0])]
    for method in ("messages", "simplex"):
        found = linear_relaxation(MarkovNetwork.from_factors(factors), method=method)
        assert found.value <= 3.0 <= found.bound + 1e-12
        assert np.isfinite(found.value)


def test_large_factors_are_refused():
    with pytest.raises(CapabilityError, match="3 variables"):
        linear_relaxation(MarkovNetwork.from_factors([(("a", "b", "c"), np.zeros((2, 2, 2)))]))


def test_forests():
    assert is_forest(4, [(0, 1), (1, 0), (2, 3)])
    assert not is_forest(3, [(0, 1), (1, 2), (2, 0)])


def test_a_sweep_never_raises_the_bound_compiled_or_in_python():
    scores = _pair_scores(random_network(3, triples=0, count=5, edges=8, strength=2.0))
    bounds = []
    for sweep, bound, choose, improve in (
        (_sweep, _bound, _choose, _improve),
        (_sweep.py_func, _bound.py_func, _choose.py_func, _improve.py_func),
    ):
        messages, beliefs = np.zeros((len(scores.edges), 2, scores.single.shape[1])), scores.single.copy()
        row = [bound(*scores, messages, beliefs)]
        for _ in range(4):
            sweep(*scores, messages, beliefs)
            row.append(bound(*scores, messages, beliefs))
        ends = np.argsort(scores.edges.ravel(), kind="stable")
        first = np.searchsorted(scores.edges.ravel()[ends], np.arange(len(scores.sizes) + 1))
        states = np.empty(len(scores.sizes), dtype=np.intp)
        choose(*scores, messages, beliefs, ends, first, states)
        row.append(improve(*scores, ends, first, states))
        bounds.append(row)
        assert (np.diff(row[:-1]) <= 1e-12 * np.abs(row[:-2])).all()
    np.testing.assert_allclose(bounds[0], bounds[1], rtol=1e-13)
