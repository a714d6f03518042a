"""Mean field: always below the truth, and exact where blocks are."""

import numpy as np
import pytest

from mercer.errors import ConvergenceWarning, ParameterError
from mercer.networks import MarkovNetwork, junction_tree, mean_field
from tests.naive.networks import random_network


@pytest.mark.parametrize("seed", range(4))
def test_larger_blocks_give_better_lower_bounds_up_to_the_truth(seed):
    network = random_network(seed)
    exact = junction_tree(network).log_partition
    names = network.variables
    naive = mean_field(network)
    assert naive.log_partition < exact
    assert naive.bound == "lower"
    assert naive.inconsistency() < 1e-12
    halves = mean_field(network, [names[:3], names[3:]])
    assert halves.log_partition < exact
    assert halves.inconsistency() < 1e-12
    whole = mean_field(network, [names])
    assert whole.log_partition == pytest.approx(exact, rel=1e-12)


def test_the_bound_is_that_of_its_own_tables():
    network = random_network(1)
    found = mean_field(network)
    value = sum((p * f.scores).sum() for p, f in zip(found.factor_marginals(), network.factors, strict=True))
    value -= sum((p * np.log(p)).sum() for p in found.tables)
    assert value == pytest.approx(found.log_partition, rel=1e-12)
    # a stationary point: the field of every variable is that of its neighbours
    v, size = 2, network.sizes[2]
    field = np.zeros(size)
    for f in network.factors:
        if v in f.scope:
            table = f.scores
            for axis, u in enumerate(f.scope):
                if u != v:
                    table = table * found.tables[u].reshape([-1 if a == axis else 1 for a in range(table.ndim)])
            field += table.sum(axis=tuple(a for a, u in enumerate(f.scope) if u != v))
    p = np.exp(field - field.max())
    np.testing.assert_allclose(found.tables[v], p / p.sum(), atol=1e-4)


def test_independent_variables_are_exact():
    network = MarkovNetwork.from_factors([((i,), np.arange(3.0) * i) for i in range(3)])
    assert mean_field(network).log_partition == pytest.approx(junction_tree(network).log_partition, rel=1e-14)


def test_what_is_impossible_must_be_within_a_block():
    equal = np.where(np.eye(2) > 0.0, 0.0, -np.inf)
    network = MarkovNetwork.from_factors([((0, 1), equal), ((1, 2), np.eye(2))])
    with pytest.raises(ParameterError, match="into one block"):
        mean_field(network)
    assert mean_field(network, [(0, 1), (2,)]).log_partition < junction_tree(network).log_partition


def test_blocks_must_be_a_partition_and_an_early_end_is_reported():
    network = random_network(0)
    for blocks in ([network.variables[:3]], [network.variables, network.variables[:1]]):
        with pytest.raises(ParameterError, match="exactly one block"):
            mean_field(network, blocks)
    with pytest.warns(ConvergenceWarning, match="holds all the same"):
        mean_field(network, max_iter=1)


def test_blocks_are_lists_of_names():
    network = random_network(0)
    for blocks in (3, [1.5], [[["a"]]]):
        with pytest.raises(ParameterError, match=r"blocks=|is not a variable"):
            mean_field(network, blocks)
