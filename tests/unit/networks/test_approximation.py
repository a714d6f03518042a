"""Tables of probabilities: whether they are consistent."""

import numpy as np
import pytest

from mercer.errors import ParameterError
from mercer.networks import junction_tree, local_inconsistency
from tests.naive.networks import random_network


def test_marginals_of_a_distribution_are_consistent():
    network = random_network(0)
    tree = junction_tree(network)
    tables = tree.factor_marginals()
    assert local_inconsistency(network, tables) < 1e-14
    assert local_inconsistency(network, tables, list(tree.marginals().values())) < 1e-14
    tables[-1] = np.full_like(tables[-1], 1.0 / tables[-1].size)
    assert local_inconsistency(network, tables) > 1e-3
    tables[-1] = 2.0 * tables[-1]
    assert local_inconsistency(network, tables) > 0.9


def test_tables_must_fit():
    network = random_network(0)
    with pytest.raises(ParameterError, match="do not fit"):
        local_inconsistency(network, [])


@pytest.mark.parametrize("wrong", [None, "ab", np.nan, 1e200, "0.5"])
def test_tables_are_finite_numbers(wrong):
    network = random_network(0)
    tables = junction_tree(network).factor_marginals()
    with pytest.raises(ParameterError, match="factor_marginals"):
        local_inconsistency(network, wrong)
    if wrong is not None:
        tables[0] = np.full(tables[0].shape, wrong)
        with pytest.raises(ParameterError, match="factor_marginals"):
            local_inconsistency(network, tables)
    with pytest.raises(ParameterError, match="network must be"):
        local_inconsistency("network", tables)
