"""Markov networks by their definition: a sum over every joint state."""

import itertools

import numpy as np

from mercer.networks import MarkovNetwork


def states(network):
    return list(itertools.product(*(range(size) for size in network.sizes)))


def score(network, x):
    return sum(factor.scores[tuple(x[v] for v in factor.scope)] for factor in network.factors)


def probabilities(network):
    """Every joint state with its probability, and the logarithm of the sum of the exponentials of their scores."""
    every = states(network)
    values = np.array([score(network, x) for x in every])
    g = np.log(np.exp(values - values.max()).sum()) + values.max()
    return dict(zip(every, np.exp(values - g), strict=True)), g


def marginal(network, scope):
    table = np.zeros([network.sizes[v] for v in scope])
    for x, p in probabilities(network)[0].items():
        table[tuple(x[v] for v in scope)] += p
    return table


def entropy(network):
    return -sum(p * np.log(p) for p in probabilities(network)[0].values() if p > 0.0)


def random_network(seed, count=6, edges=8, triples=1, most=3, strength=1.0):
    """A network with factors of one, two and three variables; isolated variables are possible."""
    rng = np.random.default_rng(seed)
    sizes = {f"v{i}": int(rng.integers(1 if i == 1 else 2, most + 1)) for i in range(count)}
    names = list(sizes)
    scopes = [(name,) for name in names[:-1]]
    scopes += [tuple(rng.choice(names, 2, replace=False)) for _ in range(edges)]
    scopes += [tuple(rng.choice(names, 3, replace=False)) for _ in range(triples)]
    factors = [(scope, strength * rng.normal(size=[sizes[v] for v in scope])) for scope in scopes]
    return MarkovNetwork.from_factors(factors, sizes)


def random_tree(seed, count=7, most=3):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, most + 1, count)
    factors = [((i,), rng.normal(size=sizes[i])) for i in range(count)]
    for i in range(1, count):
        j = int(rng.integers(i))
        factors.append(((i, j), rng.normal(size=(sizes[i], sizes[j]))))
    return MarkovNetwork.from_factors(factors)
