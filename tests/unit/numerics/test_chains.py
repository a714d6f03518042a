"""Hidden chains: against sums over all hidden paths, however long, however unlikely."""

from itertools import pairwise

import numpy as np
import pytest

from mercer.numerics import chain_paths, chains
from mercer.numerics.chain_paths import best_paths
from mercer.numerics.chains import Chain, Observed, log_likelihoods, pieces, posteriors
from tests.naive.models import expected, likelihood

LENGTHS = (4, 0, 1, 5, 3)


@pytest.fixture
def case():
    return made(3)


def made(K):
    rng = np.random.default_rng(1)
    chain = Chain(rng.dirichlet(np.ones(K)), rng.dirichlet(np.ones(K), K))
    offsets = np.concatenate([[0], np.cumsum(LENGTHS)]).astype(np.intp)
    B = rng.random((offsets[-1], K))
    return chain, offsets, B


def plain(B):
    return lambda at: Observed.plain(B[at].copy())


def everything(B, offsets, chain):
    found = []
    posteriors(plain(B), offsets, chain, lambda piece, one: found.append(one))
    assert len(found) == 1
    return found[0]


def test_likelihoods_are_sums_over_hidden_paths(case):
    chain, offsets, B = case
    sums = [likelihood(B[a:b], *vars(chain).values()) for a, b in pairwise(offsets)]
    np.testing.assert_allclose(np.exp(log_likelihoods(plain(B), offsets, chain)), sums, rtol=1e-13)
    logs = log_likelihoods(lambda at: Observed.of_logs(np.log(B[at]) - 900.0), offsets, chain)
    np.testing.assert_allclose(logs, np.log(sums) - 900.0 * np.array(LENGTHS), rtol=1e-13)


def test_posteriors_are_shares_of_hidden_paths(case):
    chain, offsets, B = case
    found = everything(B, offsets, chain)
    counts = found.transitions()
    for i, (a, b) in enumerate(pairwise(offsets)):
        gamma, pairs = expected(B[a:b], chain.start, chain.transitions)
        np.testing.assert_allclose(found.gamma[a:b], gamma, rtol=1e-12)
        np.testing.assert_allclose(counts[i], pairs, rtol=1e-12, atol=1e-15)
    weight = np.array([2.0, 1.0, 0.5, 3.0, 0.0])
    each = np.repeat(weight, LENGTHS)
    np.testing.assert_allclose(found.total_transitions(each), np.tensordot(weight, counts, 1), rtol=1e-12)
    np.testing.assert_allclose(found.total_transitions(), counts.sum(axis=0), rtol=1e-12)
    np.testing.assert_array_equal(found.weighted(), found.gamma)
    np.testing.assert_array_equal(found.weighted(each), found.gamma * each[:, None])
    kept, first = found.firsts
    np.testing.assert_array_equal(kept, [0, 2, 3, 4])
    np.testing.assert_array_equal(first, [0, 4, 5, 10])


def test_symbols_are_counted_in_their_states(case):
    chain, offsets, B = case
    found = everything(B, offsets, chain)
    codes = np.arange(offsets[-1], dtype=np.int64) % 2
    codes[3] = -1
    counts = found.symbols(codes, 2)
    for i, (a, b) in enumerate(pairwise(offsets)):
        for letter in (0, 1):
            np.testing.assert_allclose(counts[i, :, letter], found.gamma[a:b][codes[a:b] == letter].sum(axis=0))
    weight = np.array([2.0, 1.0, 0.5, 3.0, 0.0])
    totals = found.total_symbols(codes, 2, np.repeat(weight, LENGTHS))
    np.testing.assert_allclose(totals, np.tensordot(weight, counts, 1), rtol=1e-12)


def test_pieces_cover_all_sequences_and_change_nothing(case, monkeypatch):
    chain, offsets, B = case
    whole = everything(B, offsets, chain)
    monkeypatch.setattr(chains, "_ENTRIES", 12)
    parts = pieces(offsets, 3)
    assert len(parts) > 2
    assert [i for part in parts for i in range(part.start, part.stop)] == list(range(len(LENGTHS)))
    gamma, logs = np.empty_like(whole.gamma), np.empty(len(LENGTHS))

    def use(piece, found):
        gamma[found.positions], logs[found.sequences] = found.gamma, found.log_likelihood

    assert posteriors(plain(B), offsets, chain, use) == len(parts)
    np.testing.assert_array_equal(gamma, whole.gamma)
    np.testing.assert_array_equal(logs, whole.log_likelihood)
    np.testing.assert_array_equal(best_paths(plain(B), offsets, chain)[0].shape, (offsets[-1],))


def test_a_long_sequence_does_not_vanish():
    chain = Chain(np.array([0.5, 0.5]), np.array([[0.5, 0.5], [0.5, 0.5]]))
    B = np.full((5000, 2), 1e-3)
    B[:, 1] = 3e-3
    offsets = np.array([0, 5000])
    assert log_likelihoods(plain(B), offsets, chain)[0] == pytest.approx(5000 * np.log(2e-3), rel=1e-12)
    np.testing.assert_allclose(everything(B, offsets, chain).gamma, np.tile([0.25, 0.75], (5000, 1)), rtol=1e-9)


def test_unlikely_points_of_states_that_can_be_reached_are_measured_by_logarithms():
    # the chain cannot leave state 0, where the second point is exp(-2000) times as likely as in state 1
    chain = Chain(np.array([1.0, 0.0]), np.eye(2))
    logs = np.array([[-1.0, -1.0], [-2000.0, 0.0], [-3.0, 5.0]])
    offsets = np.array([0, 3])
    found = log_likelihoods(lambda at: Observed.of_logs(logs[at]), offsets, chain)
    assert found[0] == pytest.approx(-2004.0, rel=1e-14)
    got = []
    posteriors(lambda at: Observed.of_logs(logs[at]), offsets, chain, lambda piece, one: got.append(one))
    np.testing.assert_allclose(got[0].gamma, np.tile([1.0, 0.0], (3, 1)), atol=1e-12)
    np.testing.assert_allclose(got[0].transitions()[0], [[2.0, 0.0], [0.0, 0.0]], atol=1e-12)


def test_what_cannot_be_has_likelihood_zero():
    chain = Chain(np.array([1.0, 0.0]), np.eye(2))
    B = np.array([[1.0, 1.0], [0.0, 1.0], [1.0, 1.0]])
    assert log_likelihoods(plain(B), np.array([0, 3]), chain)[0] == -np.inf
    assert best_paths(plain(B), np.array([0, 3]), chain)[1][0] == -np.inf


def test_compiled_and_python_agree(case):
    chain, offsets, B = case
    alpha, scale = np.empty_like(B), np.empty(len(B))
    nothing, shift = np.empty((0, 3)), np.zeros(len(B))
    chains._forward.py_func(B, nothing, shift, offsets, chain.start, chain.transitions, alpha, scale)
    beta, after = np.empty_like(B), np.empty_like(B)
    chains._backward.py_func(B, offsets, chain.transitions.T.copy(), alpha, scale, beta, after)
    found = everything(B, offsets, chain)
    np.testing.assert_allclose(alpha * beta, found.gamma, rtol=1e-14)
    pairs = np.zeros((len(LENGTHS), 3, 3))
    chains._count_pairs.py_func(alpha, after, offsets, pairs)
    np.testing.assert_allclose(pairs * chain.transitions, found.transitions(), rtol=1e-13)
    symbols = np.zeros((len(LENGTHS), 1, 3))
    chains._count_symbols.py_func(found.gamma, np.zeros(len(B), np.int64), offsets, symbols)
    np.testing.assert_allclose(symbols[:, 0].sum(axis=1), LENGTHS)
    values, path, best = np.empty(B.shape), np.empty(len(B), np.intp), np.empty(len(LENGTHS))
    logs = np.log(chain.transitions)
    chain_paths._raise.py_func(np.log(B), np.arange(len(B)), offsets, np.log(chain.start), logs, values)
    chain_paths._trace.py_func(values, offsets, logs.T.copy(), path, best)
    assert chain_paths._first_best.py_func(np.array([0.0, 2.0, 1.0, 2.0]), np.zeros(4)) == 1
    np.testing.assert_array_equal(path, best_paths(plain(B), offsets, chain)[0])


def test_products_and_maxima_of_several_rows_at_once():
    rng = np.random.default_rng(2)
    for states in (1, 4, 5, 10, 19):
        v, M, out = rng.random(states), rng.random((states, states)), rng.random(states)
        wanted = out + v @ M
        for function in (chains._add_product, chains._add_product.py_func):
            found = out.copy()
            function(v, M, found)
            np.testing.assert_allclose(found, wanted, rtol=1e-14)
        for function in (chain_paths._raise_to, chain_paths._raise_to.py_func):
            function(v, M, found)
            np.testing.assert_array_equal(found, (v[:, None] + M).max(axis=0))
