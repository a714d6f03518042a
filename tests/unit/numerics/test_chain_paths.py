"""Best paths of hidden chains: against all paths; several at once and losses are tested where they are used."""

from itertools import pairwise

import numpy as np
import pytest

from mercer.numerics.chain_paths import best_paths
from tests.naive.models import expected, hidden_paths, joint
from tests.unit.numerics.test_chains import everything, made, plain


def test_the_best_path_is_the_best_of_all():
    chain, offsets, B = made(3)
    path, value = best_paths(plain(B), offsets, chain)
    for i, (a, b) in enumerate(pairwise(offsets)):
        every = {z: joint(z, B[a:b], chain.start, chain.transitions) for z in hidden_paths(b - a, 3)}
        best = max(every, key=every.__getitem__)
        assert tuple(path[a:b]) == best
        assert np.exp(value[i]) == pytest.approx(every[best])


def test_more_states_than_are_taken_at_once():
    chain, offsets, B = made(6)
    found = everything(B, offsets, chain)
    path, value = best_paths(plain(B), offsets, chain)
    a, b = offsets[0], offsets[1]
    gamma, _ = expected(B[a:b], chain.start, chain.transitions)
    np.testing.assert_allclose(found.gamma[a:b], gamma, rtol=1e-12)
    every = {z: joint(z, B[a:b], chain.start, chain.transitions) for z in hidden_paths(b - a, 6)}
    assert tuple(path[a:b]) == max(every, key=every.__getitem__)
    assert np.exp(value[0]) == pytest.approx(max(every.values()))
