"""Belief propagation: exact on trees, a stationary point of Bethe's free energy elsewhere."""

import numpy as np
import pytest

from mercer.errors import ConvergenceWarning, ParameterError
from mercer.networks import MarkovNetwork, bethe_free_energy, junction_tree, loopy_propagation
from tests.naive.networks import random_network, random_tree


@pytest.mark.parametrize("schedule", ["sequential", "parallel", "residual"])
@pytest.mark.parametrize("damping", [0.0, 0.3])
def test_trees_are_exact(schedule, damping):
    network = random_tree(0)
    tree = junction_tree(network)
    found = loopy_propagation(network, schedule=schedule, damping=damping, tol=1e-14)
    assert found.converged
    assert found.log_partition == pytest.approx(tree.log_partition, abs=1e-12)
    for a, b in zip(found.marginals().values(), tree.marginals().values(), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)
    for a, b in zip(found.factor_marginals(), tree.factor_marginals(), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)


def test_converged_beliefs_are_consistent_whatever_the_schedule():
    network = random_network(1, strength=0.5)
    found = [loopy_propagation(network, schedule=s) for s in ("sequential", "parallel", "residual")]
    assert all(one.inconsistency() < 1e-8 for one in found)
    np.testing.assert_allclose([one.log_partition for one in found], found[0].log_partition, atol=1e-8)
    assert found[0].bound == "none"


def test_beliefs_are_the_gradient_of_the_bethe_approximation():
    network = random_network(2, strength=0.5)
    found, step = loopy_propagation(network, tol=1e-13), 1e-4
    rng = np.random.default_rng(0)
    direction = [rng.normal(size=f.scores.shape) for f in network.factors]

    def value(t):
        moved = network.replace_scores([f.scores + t * d for f, d in zip(network.factors, direction, strict=True)])
        return loopy_propagation(moved, tol=1e-13).log_partition

    slope = sum((p * d).sum() for p, d in zip(found.factor_marginals(), direction, strict=True))
    assert (value(step) - value(-step)) / (2 * step) == pytest.approx(slope, abs=1e-6)


def test_the_gradient_of_the_free_energy():
    network = random_network(3)
    rng = np.random.default_rng(0)
    tables = [rng.random(f.scores.shape) + 0.1 for f in network.factors]
    singles = [rng.random(size) + 0.1 for size in network.sizes]
    energy, step = bethe_free_energy(network, tables, singles), 1e-6
    of_tables = [rng.normal(size=t.shape) for t in tables]
    of_singles = [rng.normal(size=t.shape) for t in singles]

    def value(t):
        moved = [a + t * d for a, d in zip(tables, of_tables, strict=True)]
        return bethe_free_energy(network, moved, [a + t * d for a, d in zip(singles, of_singles, strict=True)]).value

    slope = sum((g * d).sum() for g, d in zip(energy.factor_gradient, of_tables, strict=True))
    slope += sum((g * d).sum() for g, d in zip(energy.gradient, of_singles, strict=True))
    assert (value(step) - value(-step)) / (2 * step) == pytest.approx(slope, rel=1e-6, abs=1e-6)


def test_for_pairs_the_entropy_is_that_of_variables_minus_mutual_information():
    network = MarkovNetwork.from_factors([((i, (i + 1) % 3), np.zeros((2, 2))) for i in range(3)])
    p = np.array([[0.4, 0.1], [0.2, 0.3]])
    sym = 0.5 * (p + p.T)
    b = sym.sum(axis=0)
    H = -(b * np.log(b)).sum()
    mutual = (sym * np.log(sym / np.outer(b, b))).sum()
    assert -bethe_free_energy(network, [sym] * 3, [b] * 3).value == pytest.approx(3.0 * H - 3.0 * mutual)


def test_messages_that_oscillate_are_reported_and_damping_helps():
    # frustrated and strong: every pair wants to differ, which a complete graph does not allow
    network = MarkovNetwork.from_factors(
        [((i, j), -4.0 * np.eye(2)) for i in range(5) for j in range(i)] + [((0,), [0.0, 0.3])]
    )
    with pytest.warns(ConvergenceWarning, match="damping"):
        rough = loopy_propagation(network, schedule="parallel", max_iter=60)
    assert not rough.converged
    assert loopy_propagation(network, schedule="parallel", damping=0.7, max_iter=2000).converged


def test_forbidden_states_and_variables_without_factors():
    equal = np.where(np.eye(2) > 0.0, 0.0, -np.inf)
    network = MarkovNetwork.from_factors([((0, 1), equal), ((1, 2), equal), ((0,), [0.0, 1.0])], {3: 5})
    found = loopy_propagation(network)
    assert found.log_partition == pytest.approx(np.log(1.0 + np.e) + np.log(5.0))
    np.testing.assert_allclose(found.marginals()[2], [1.0 / (1.0 + np.e), np.e / (1.0 + np.e)])


def test_bad_options_are_refused():
    network = random_tree(0)
    with pytest.raises(ParameterError, match="schedule"):
        loopy_propagation(network, schedule="none")
    with pytest.raises(ParameterError, match="damping"):
        loopy_propagation(network, damping=1.0)
    with pytest.raises(ParameterError, match="marginals do not fit"):
        bethe_free_energy(network, [f.scores * 0.0 for f in network.factors], [])
