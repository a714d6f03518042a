"""Chains, against all paths, and against the junction tree of the same network."""

import itertools
from itertools import pairwise

import numpy as np
import pytest

from mercer.errors import DomainError, ParameterError
from mercer.networks import Chains, MarkovNetwork, junction_tree
from mercer.networks import label_chains as chains

LENGTHS = (3, 0, 1, 4)


def case(states=3, scale=1.0, seed=0):
    rng = np.random.default_rng(seed)
    scores = [scale * rng.normal(size=(t, states)) for t in LENGTHS]
    return Chains.from_sequences(scores, scale * rng.normal(size=(states, states)), scale * rng.normal(size=states))


def paths_of(one, a, b):
    """All paths of a sequence with their scores, best first."""
    F, W, s = one.scores[a:b], one.transitions, one.start
    every = {}
    for y in itertools.product(range(len(s)), repeat=b - a):
        every[y] = sum(F[t, k] for t, k in enumerate(y)) + sum(W[k, j] for k, j in pairwise(y)) + (s[y[0]] if y else 0)
    return dict(sorted(every.items(), key=lambda item: -item[1]))


@pytest.mark.parametrize("scale", [1.0, 200.0])  # the second leaves the range of exponentials
def test_sums_over_all_paths(scale):
    one = case(scale=scale)
    found = one.sums()
    total = np.zeros((3, 3))
    for i, (a, b) in enumerate(pairwise(one.offsets)):
        every = paths_of(one, a, b)
        values = np.array(list(every.values()))
        g = np.log(np.exp(values - values.max()).sum()) + values.max()
        assert found.log_partition[i] == pytest.approx(g, rel=1e-12, abs=1e-12)
        gamma = np.zeros((b - a, 3))
        for y, value in every.items():
            for t, k in enumerate(y):
                gamma[t, k] += np.exp(value - g)
            for k, j in pairwise(y):
                total[k, j] += np.exp(value - g)
        np.testing.assert_allclose(found.marginals[a:b], gamma, rtol=1e-9, atol=1e-13)
        p = np.exp(values - g)
        assert one.entropy()[i] == pytest.approx(
            -(p * np.log(np.where(p > 0, p, 1.0))).sum(), rel=1e-9, abs=1e-9 * scale
        )
    np.testing.assert_allclose(found.transitions, total, rtol=1e-9, atol=1e-13)


def test_both_ways_of_summing_agree():
    one = case()
    fast, slow = one.sums(), one._sums_of_logs()
    np.testing.assert_allclose(fast.log_partition, slow.log_partition, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(fast.marginals, slow.marginals, rtol=1e-12)
    np.testing.assert_allclose(fast.transitions, slow.transitions, rtol=1e-12)
    marginals, total = np.empty((3, 3)), np.zeros((3, 3))
    value = chains._sum_paths.py_func(one.scores[:3], one.start, one.transitions, marginals, total)
    assert value == pytest.approx(fast.log_partition[0])
    np.testing.assert_allclose(marginals, fast.marginals[:3], rtol=1e-12)


@pytest.mark.parametrize("states", [3, 6])
def test_the_best_paths(states):
    one = case(states)
    path, value = one.best()
    several, values = one.k_best(5)
    for i, (a, b) in enumerate(pairwise(one.offsets)):
        every = paths_of(one, a, b)
        wanted = list(every)[:5]
        assert tuple(path[a:b]) == wanted[0]
        assert value[i] == pytest.approx(every[wanted[0]])
        assert [tuple(p) for p in several[: len(wanted), a:b]] == wanted
        np.testing.assert_allclose(values[i, : len(wanted)], [every[y] for y in wanted], rtol=1e-12)
        assert np.all(values[i, len(wanted) :] == -np.inf)


def test_the_best_paths_with_a_loss():
    one = case()
    truth = np.array([0, 1, 2, 0, 1, 1, 2, 0])
    for cost in (None, np.arange(9.0).reshape(3, 3)):
        table = 1.0 - np.eye(3) if cost is None else cost
        path, value = one.loss_augmented_best(truth, cost)
        for i, (a, b) in enumerate(pairwise(one.offsets)):
            every = {
                y: v + sum(table[truth[a + t], k] for t, k in enumerate(y)) for y, v in paths_of(one, a, b).items()
            }
            assert tuple(path[a:b]) == max(every, key=every.__getitem__)
            assert value[i] == pytest.approx(max(every.values()))
    with pytest.raises(ParameterError, match="one integer from 0 to 2"):
        one.loss_augmented_best(truth + 1)


def test_a_chain_is_a_network():
    one = case()
    a, b = one.offsets[3], one.offsets[4]
    factors = [((t,), one.scores[a + t]) for t in range(b - a)] + [((0,), one.start)]
    factors += [((t, t + 1), one.transitions) for t in range(b - a - 1)]
    tree = junction_tree(MarkovNetwork.from_factors(factors))
    found = one.sums()
    assert tree.log_partition == pytest.approx(found.log_partition[3], rel=1e-12)
    np.testing.assert_allclose(list(tree.marginals().values()), found.marginals[a:b], rtol=1e-12)


def test_forbidden_labels_and_transitions():
    forbid = np.where(np.eye(2) > 0.0, 0.0, -np.inf)
    scores = [[[0.0, -np.inf], [0.0, 3.0], [1.0, 1.0]]]
    one = Chains.from_sequences(scores, forbid)
    np.testing.assert_allclose(one.sums().marginals, [[1.0, 0.0]] * 3)
    assert one.sums().log_partition[0] == pytest.approx(1.0)
    assert list(one.best()[0]) == [0, 0, 0]
    _, values = one.k_best(2)
    assert values[0, 1] == -np.inf
    for bad in ([[[0.0, -np.inf], [-np.inf, 3.0]]], [[[-np.inf, -np.inf]]]):
        with pytest.raises(DomainError, match="no path"):
            Chains.from_sequences(bad, forbid).sums()


@pytest.mark.parametrize(
    ("sequences", "transitions", "start", "message"),
    [
        ([[[0.0, 1.0]]], np.zeros((2, 3)), None, "square"),
        ([[[0.0, 1.0, 2.0]]], np.zeros((2, 2)), None, "one column per"),
        ([[[0.0, np.nan]]], np.zeros((2, 2)), None, "NaN"),
        ([[[0.0, 1.0]]], np.zeros((2, 2)), [0.0], "one per label"),
        ([["a"]], np.zeros((2, 2)), None, "real numbers"),
    ],
)
def test_bad_scores_are_refused(sequences, transitions, start, message):
    with pytest.raises(ParameterError, match=message):
        Chains.from_sequences(sequences, transitions, start)
    with pytest.raises(ParameterError, match="at least 1"):
        case().k_best(0)
