"""Exact inference, against sums and maxima over every joint state."""

import numpy as np
import pytest

from mercer.errors import DomainError, MemoryBudgetError, ParameterError
from mercer.networks import MarkovNetwork, junction_tree
from tests.naive.networks import entropy, marginal, probabilities, random_network, score, states

CASES = [(seed, heuristic) for seed in range(4) for heuristic in ("min_fill", "min_width")]


@pytest.mark.parametrize(("seed", "heuristic"), CASES)
def test_sums_over_all_joint_states(seed, heuristic):
    network = random_network(seed)
    tree = junction_tree(network, heuristic)
    _, g = probabilities(network)
    assert tree.log_partition == pytest.approx(g, rel=1e-13)
    for v, p in enumerate(tree.marginals().values()):
        np.testing.assert_allclose(p, marginal(network, (v,)), rtol=1e-12)
    for p, factor in zip(tree.factor_marginals(), network.factors, strict=True):
        np.testing.assert_allclose(p, marginal(network, factor.scope), rtol=1e-12)
    for p, clique in zip(tree.clique_marginals(), tree.tree.cliques, strict=True):
        np.testing.assert_allclose(p, marginal(network, clique), rtol=1e-11)
    assert tree.entropy() == pytest.approx(entropy(network), rel=1e-12)
    assert tree.entropy() == pytest.approx(tree.log_partition - tree.expected_score(), rel=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_maxima_over_all_joint_states(seed):
    network = random_network(seed)
    tree = junction_tree(network)
    every = sorted(states(network), key=lambda x: -score(network, x))
    found = tree.k_best(6)
    assert [tuple(x.values()) for x, _ in found] == every[:6]
    np.testing.assert_allclose([v for _, v in found], [score(network, x) for x in every[:6]], rtol=1e-12)
    best, value = tree.best()
    assert (tuple(best.values()), value) == (every[0], pytest.approx(score(network, every[0])))
    everything = tree.k_best(network.joint_states + 5)
    assert len(everything) == network.joint_states == len({tuple(x.values()) for x, _ in everything})


def test_the_best_with_a_loss():
    network = random_network(5)
    tree, truth = junction_tree(network), states(network)[7]
    x, value = tree.loss_augmented_best(truth)
    wanted = max(states(network), key=lambda y: score(network, y) + sum(a != b for a, b in zip(truth, y, strict=True)))
    assert tuple(x.values()) == wanted
    assert value == pytest.approx(score(network, wanted) + sum(a != b for a, b in zip(truth, wanted, strict=True)))
    cost = np.random.default_rng(0).random((network.sizes[2],) * 2) * 9.0
    x, value = tree.loss_augmented_best(truth, {"v2": cost})
    wanted = max(states(network), key=lambda y: score(network, y) + cost[truth[2], y[2]])
    assert tuple(x.values()) == wanted
    with pytest.raises(ParameterError, match="square"):
        tree.loss_augmented_best(truth, {"v2": [[1.0]]})


def test_expected_statistics_are_the_gradient_of_the_log_partition_function():
    network = random_network(6)
    tree, step = junction_tree(network), 1e-5
    rng = np.random.default_rng(0)
    direction = [rng.normal(size=f.scores.shape) for f in network.factors]

    def g(t):
        moved = network.replace_scores([f.scores + t * d for f, d in zip(network.factors, direction, strict=True)])
        return tree.with_network(moved).log_partition

    slope = sum((p * d).sum() for p, d in zip(tree.expected_statistics(), direction, strict=True))
    assert (g(step) - g(-step)) / (2.0 * step) == pytest.approx(slope, abs=1e-7)


def test_samples_have_the_marginals():
    network = random_network(7)
    tree, count = junction_tree(network), 20_000
    drawn = tree.sample(count, random_state=0)
    for factor, p in zip(network.factors, tree.factor_marginals(), strict=True):
        seen = np.zeros_like(p)
        np.add.at(seen, tuple(drawn[:, v] for v in factor.scope), 1.0 / count)
        assert np.abs(seen - p).max() < 6.0 * 0.5 / np.sqrt(count)  # six standard deviations at most
    np.testing.assert_array_equal(drawn, tree.sample(count, random_state=0))


def test_forbidden_states_have_probability_zero():
    network = random_network(8)
    hard = MarkovNetwork.from_factors(
        [
            *(([network.variables[v] for v in f.scope], f.scores) for f in network.factors),
            (("v0", "v2"), np.where(np.eye(network.sizes[0], network.sizes[2]) > 0.0, 0.0, -np.inf)),
        ],
        dict(zip(network.variables, network.sizes, strict=True)),
    )
    tree = junction_tree(hard)
    assert tree.log_partition == pytest.approx(probabilities(hard)[1])
    for p, factor in zip(tree.factor_marginals(), hard.factors, strict=True):
        np.testing.assert_allclose(p, marginal(hard, factor.scope), rtol=1e-12)
    assert all(x[0] == x[2] for x in tree.sample(50, random_state=1))
    assert tree.entropy() == pytest.approx(tree.log_partition - tree.expected_score())
    impossible = junction_tree(hard.add_scores({"v0": np.full(network.sizes[0], -np.inf)}))
    assert impossible.log_partition == -np.inf
    with pytest.raises(DomainError, match="no joint state"):
        impossible.marginals()
    assert impossible.k_best(2) == []


def test_large_scores_do_not_overflow():
    network = random_network(3, strength=500.0)
    tree = junction_tree(network)
    assert tree.log_partition == pytest.approx(probabilities(network)[1], rel=1e-13)
    assert np.isfinite(tree.entropy())


def test_a_long_chain_and_separate_parts():
    factors = [((i, i + 1), np.log([[0.9, 0.1], [0.2, 0.8]])) for i in range(400)] + [(("apart",), [0.0, 1.0])]
    tree = junction_tree(MarkovNetwork.from_factors(factors))
    assert tree.treewidth == 1
    power = np.linalg.matrix_power(np.array([[0.9, 0.1], [0.2, 0.8]]), 400).sum()
    assert tree.log_partition == pytest.approx(np.log(power) + np.log(1.0 + np.e), rel=1e-12)


def test_what_does_not_fit_is_refused_with_the_treewidth():
    names = range(40)
    full = MarkovNetwork.from_factors([((i, j), np.zeros((2, 2))) for i in names for j in range(i)])
    with pytest.raises(MemoryBudgetError, match="treewidth 39"):
        junction_tree(full, memory="1GB")
    with pytest.raises(ParameterError, match="min_fill"):
        junction_tree(full, "best")
    with pytest.raises(ParameterError, match="at least 1"):
        junction_tree(random_network(0)).k_best(0)
