"""Markov networks: from factors and from graphs, scores, evidence, and what is refused."""

import networkx as nx
import numpy as np
import pytest

from mercer.errors import ParameterError
from mercer.networks import MarkovNetwork
from tests.naive.networks import probabilities, random_network, score


def test_the_order_of_the_variables_of_a_factor_does_not_matter():
    table = np.arange(6.0).reshape(2, 3)
    one = MarkovNetwork.from_factors([(("a", "b"), table)])
    other = MarkovNetwork.from_factors([(("b", "a"), table.T)], states={"a": 2, "b": 3})
    for a in range(2):
        for b in range(3):
            assert one.score({"a": a, "b": b}) == other.score({"a": a, "b": b}) == table[a, b]


def test_scores_are_sums_of_factors():
    network = random_network(0)
    every = network.all_states()
    np.testing.assert_allclose(network.score(every), [score(network, x) for x in every], rtol=1e-13)
    assert len(every) == network.joint_states


def test_a_graph_has_scores_at_nodes_and_edges():
    graph = nx.Graph()
    graph.add_node("b", scores=[0.0, 1.0, 2.0])
    graph.add_node("a")
    graph.add_edge("a", "b", scores=np.arange(6.0).reshape(3, 2))  # b comes first among the nodes
    graph.add_edge("c", "a", scores=0.5)
    network = MarkovNetwork.from_graph(graph)
    assert network.variables == ("b", "a", "c")
    assert network.sizes == (3, 2, 2)
    assert network.score({"a": 1, "b": 2, "c": 1}) == 2.0 + 5.0 + 0.5
    assert network.neighbours == (frozenset({1}), frozenset({0, 2}), frozenset({1}))


def test_evidence_is_a_slice_of_the_joint_distribution():
    network = random_network(1)
    inner = network.given({"v0": 1, "v3": 0})
    joint, _ = probabilities(network)
    total = sum(np.exp(score(network, x)) for x in joint if x[0] == 1 and x[3] == 0)
    assert probabilities(inner)[1] == pytest.approx(np.log(total), rel=1e-13)
    assert inner.variables == ("v1", "v2", "v4", "v5")


def test_scores_of_single_variables_are_added():
    network = random_network(2)
    more = network.add_scores({"v5": np.arange(network.sizes[5])})
    x = network.all_states()[-1]
    assert more.score(x) == pytest.approx(network.score(x) + x[5])


@pytest.mark.parametrize(
    ("factors", "message"),
    [
        ([], "no factor and no variable"),
        ([3], "factors are pairs"),
        ([(("a", "a"), np.zeros((2, 2)))], "each variable once"),
        ([(("a", "b"), np.zeros(2))], "one axis"),
        ([(("a",), [0.0, np.nan])], "NaN"),
        ([(("a",), [0.0, np.inf])], "inf"),
        ([(("a",), ["x", "y"])], "real numbers"),
        ([(("a",), [0.0, 1.0]), (("a",), [0.0, 1.0, 2.0])], "which has 2 elsewhere"),
        ([(("a",), [])], "one axis"),
    ],
)
def test_bad_factors_are_refused(factors, message):
    with pytest.raises(ParameterError, match=message):
        MarkovNetwork.from_factors(factors)


def test_bad_states_are_refused():
    network = MarkovNetwork.from_factors([(("a", "b"), np.zeros((2, 2)))])
    for states, message in [
        ({"a": 0}, "no state of 'b'"),
        ({"a": 0, "b": 0, "c": 1}, "is not a variable"),
        ([0, 2], "no variable has"),
        ([0.5, 0], "no variable has"),
        ([0, 0, 0], "shape"),
    ]:
        with pytest.raises(ParameterError, match=message):
            network.score(states)
    with pytest.raises(ParameterError, match="its states are 0 to 1"):
        network.given({"a": 2})
    with pytest.raises(ParameterError, match="all variables were given"):
        network.given({"a": 0, "b": 0})
    with pytest.raises(ParameterError, match="one score per state"):
        network.add_scores({"a": [0.0]})
    with pytest.raises(ParameterError, match="fit the factors"):
        network.replace_scores([])
    with pytest.raises(ParameterError, match="networkx"):
        MarkovNetwork.from_graph([1])
    with pytest.raises(ParameterError, match="at least 1"):
        MarkovNetwork.from_factors([], {"a": 0})
