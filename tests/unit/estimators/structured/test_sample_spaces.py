"""What is answered for all samples at once is what their own spaces answer one by one."""

import itertools

import numpy as np
import pytest

from mercer import LabelSequences, NetworkLabels
from mercer.estimators.structured.sample_spaces import SampleSpaces

RNG = np.random.default_rng(0)
Y = [[0, 1, 1], [1, 0], [2, 0, 1, 1]]
OFFSETS = np.array([0, 3, 5, 9])
NETWORKS = [[[0, 1], [2, 1]], [[1, 0]], [[0, 3], [3, 1], [1, 0]]]


@pytest.mark.parametrize("networks", [None, NETWORKS], ids=["one", "own"])
def test_all_samples_at_once(networks):
    space, codes = (LabelSequences() if networks is None else NetworkLabels()).read(Y)
    spaces = SampleSpaces(space, networks, OFFSETS)
    F, w, cost = RNG.normal(size=(9, 3)), RNG.normal(size=9), np.array([1.0, 2.0, 0.5])
    parts = [F[a:b] for a, b in itertools.pairwise(OFFSETS)]
    best, (logs, psi, g) = spaces.best_of_all(F, OFFSETS, w), spaces.sums_of_all(F, OFFSETS, w, cost)
    sums = [spaces[i].sums(part, w) for i, part in enumerate(parts)]
    for i, part in enumerate(parts):
        np.testing.assert_array_equal(best[i], spaces[i].best(part, w))
        assert logs[i] == pytest.approx(sums[i].log_partition)
    np.testing.assert_allclose(psi, np.concatenate([one.psi for one in sums]), atol=1e-12)
    np.testing.assert_allclose(spaces.marginals_of_all(F, OFFSETS, w), psi, atol=1e-12)
    np.testing.assert_allclose(g, sum(c * one.g for c, one in zip(cost, sums, strict=True)), atol=1e-12)
    for rescaling in ("margin", "slack"):
        found, ask = spaces.violations(F, OFFSETS, w, codes, cost, rescaling), spaces.oracle(rescaling)
        worst = [ask(part, w, (i, codes[i])) for i, part in enumerate(parts)]
        slacks = [c.loss - np.vdot(c.psi, part) - c.g @ w for c, part in zip(worst, parts, strict=True)]
        np.testing.assert_allclose(found.slacks, slacks, atol=1e-12)
        np.testing.assert_allclose(
            found.psi, np.concatenate([c * one.psi for c, one in zip(cost, worst, strict=True)]), atol=1e-12
        )
        np.testing.assert_allclose(found.g, sum(c * one.g for c, one in zip(cost, worst, strict=True)), atol=1e-12)
        assert found.loss == pytest.approx(sum(c * one.loss for c, one in zip(cost, worst, strict=True)))


def test_structures_that_are_the_same_for_all():
    with pytest.raises(NotImplementedError, match="same structure"):
        SampleSpaces(LabelSequences(), NETWORKS, OFFSETS)
