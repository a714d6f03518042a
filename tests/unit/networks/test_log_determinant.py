"""The log-determinant relaxation: an upper bound, of any network."""

import numpy as np
import pytest

from mercer.errors import CapabilityError
from mercer.networks import MarkovNetwork, junction_tree, log_determinant, log_determinant_bound, mean_field
from tests.naive.networks import random_network, random_tree


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("strength", [0.3, 2.0])
def test_mean_field_exact_and_log_determinant_are_in_order(seed, strength):
    network = random_network(seed, count=5, edges=6, strength=strength)
    exact = junction_tree(network).log_partition
    above = log_determinant_bound(network)
    assert above.converged
    assert mean_field(network).log_partition <= exact <= above.log_partition
    assert above.bound == "upper"
    assert above.inconsistency() < 1e-6  # of an interior point method


def test_the_value_is_that_of_its_tables():
    network = random_tree(1, count=4)
    found = log_determinant_bound(network)
    n = len(network.sizes)
    mean = np.array([p @ np.arange(len(p)) for p in found.tables])
    score = sum((p * f.scores).sum() for p, f in zip(found.factor_tables, network.factors, strict=True))
    # where two variables share no factor the best second moment is free: the determinant is at most this one's maximum
    second = np.diag([p @ np.arange(len(p)) ** 2 for p in found.tables])
    for p, f in zip(found.factor_tables, network.factors, strict=True):
        if len(f.scope) == 2:
            u, v = f.scope
            second[u, v] = second[v, u] = np.arange(p.shape[0]) @ p @ np.arange(p.shape[1])
    noisy = np.diag(second) - mean**2 + 1.0 / 12.0
    value = score + 0.5 * np.log(noisy).sum() + 0.5 * n * np.log(2.0 * np.pi * np.e)
    assert found.log_partition <= value + 1e-6  # Hadamard: a determinant is at most the product of its diagonal


def test_one_variable_in_closed_form():
    network = MarkovNetwork.from_factors([(("a",), [0.0, 0.0])])
    wanted = 0.5 * np.log(2.0 * np.pi * np.e * (0.25 + 1.0 / 12.0))
    assert log_determinant_bound(network).log_partition == pytest.approx(wanted, abs=1e-6)


def test_forbidden_states():
    equal = np.where(np.eye(2) > 0.0, 0.0, -np.inf)
    network = MarkovNetwork.from_factors([((0, 1), equal), ((1, 2), np.eye(2))])
    found = log_determinant_bound(network)
    assert junction_tree(network).log_partition <= found.log_partition
    np.testing.assert_allclose(found.factor_tables[0][~np.isfinite(equal)], 0.0, atol=1e-6)


def test_without_the_solver_there_is_advice(monkeypatch):
    monkeypatch.setattr(log_determinant.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(CapabilityError, match="clarabel"):
        log_determinant_bound(random_tree(0))
