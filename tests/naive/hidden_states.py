"""Hidden Markov models and pairs of strings: sums over all hidden paths and alignments, and recursions in logarithms.

Strings are over "abc", in which "?" is a missing symbol.
"""

from __future__ import annotations

from itertools import combinations, pairwise, product

import numpy as np


def rows(rng, *shape):
    table = rng.gamma(0.5, size=shape) + 1e-3
    return table / table.sum(axis=-1, keepdims=True)


def chain(states, letters=3, seed=0):
    rng = np.random.default_rng(seed)
    return rows(rng, states), rows(rng, states, states), rows(rng, states, letters)


def paired(states, letters=3, seed=0):
    """Symmetric positive definite distributions of pairs."""
    rng = np.random.default_rng(seed)
    start, transition, _ = chain(states, letters, seed)
    hidden, given = rows(rng, states, letters), rows(rng, states, letters, letters)
    return start, transition, np.einsum("ac,acs,act->ast", hidden, given, given)


def path_probability(h, start, transition):
    return start[h[0]] * np.prod([transition[b, a] for b, a in pairwise(h)]) if h else 1.0


def emitted(emission, a, symbol):
    return 1.0 if symbol == "?" else emission[a]["abc".index(symbol)]


def naive_paths(s, t, model):
    start, transition, emission = model
    if len(s) != len(t):
        return 0.0
    total = 0.0
    for h in product(range(len(start)), repeat=len(s)):
        given = [emitted(emission, a, x) * emitted(emission, a, y) for a, x, y in zip(h, s, t, strict=True)]
        total += path_probability(h, start, transition) * np.prod(given)
    return total


def naive_pairs(s, t, model, insertion, extension, stop, background=None):
    start, transition, emission = model
    joint = emission if emission.ndim == 3 else np.einsum("as,at->ast", emission, emission)
    background = joint.sum(axis=2).mean(axis=0) if background is None else background

    def pair(a, x, y):
        left, right = (slice(None) if z == "?" else "abc".index(z) for z in (x, y))
        return joint[a, left, right].sum()

    def inserted(piece):
        if not piece:
            return 1.0 - insertion
        symbols = np.prod([1.0 if x == "?" else background["abc".index(x)] for x in piece])
        return insertion * extension ** (len(piece) - 1) * (1.0 - extension) * symbols

    def gaps(s, places):
        ends = [-1, *places, len(s)]
        return np.prod([inserted(s[a + 1 : b]) for a, b in pairwise(ends)])

    total = 0.0
    for n in range(min(len(s), len(t)) + 1):
        for h in product(range(len(start)), repeat=n):
            chance = stop * (1.0 - stop) ** n * path_probability(h, start, transition)
            for i in combinations(range(len(s)), n):
                for j in combinations(range(len(t)), n):
                    given = [pair(a, s[x], t[y]) for a, x, y in zip(h, i, j, strict=True)]
                    total += chance * np.prod(given) * gaps(s, i) * gaps(t, j)
    return total


def table(function, X, Y, *parameters):
    return np.array([[function(s, t, *parameters) for t in Y] for s in X])


def log_paths(s, t, model):
    start, transition, emission = (np.log(part) for part in model)
    at = start
    for place, (x, y) in enumerate(zip(s, t, strict=True)):
        if place:
            at = np.logaddexp.reduce(at[:, None] + transition, axis=0)
        at = at + emission[:, "abc".index(x)] + emission[:, "abc".index(y)]
    return np.logaddexp.reduce(at)


def log_pairs(s, t, model, insertion, extension, stop):
    """The recursion of the docstring in logarithms, entry by entry."""
    start, transition, emission = model
    q = np.log(emission.sum(axis=2).mean(axis=0))
    steps = np.log((1 - stop) * np.vstack([transition, start]))  # from all states and from the beginning
    o, c, no, nc = np.log(insertion), np.log(extension), np.log1p(-insertion), np.log1p(-extension)
    shape = (len(s) + 1, len(t) + 1, len(start) + 1)
    M, X, U, Y, F = (np.full(shape, -np.inf) for _ in range(5))
    s, t = (["abc".index(x) for x in word] for word in (s, t))
    M[0, 0, -1] = 0.0
    for i in range(shape[0]):
        for j in range(shape[1]):
            if i and j:
                across = np.logaddexp.reduce(F[i - 1, j - 1][:, None] + steps, axis=0)
                M[i, j, :-1] = np.log(emission[:, s[i - 1], t[j - 1]]) + across
            if i:
                X[i, j] = q[s[i - 1]] + np.logaddexp(o + M[i - 1, j], c + X[i - 1, j])
            U[i, j] = np.logaddexp(no + M[i, j], nc + X[i, j])
            if j:
                Y[i, j] = q[t[j - 1]] + np.logaddexp(o + U[i, j - 1], c + Y[i, j - 1])
            F[i, j] = np.logaddexp(no + U[i, j], nc + Y[i, j])
    return np.log(stop) + np.logaddexp.reduce(F[-1, -1])


def normalised(log, X, Y, *parameters):
    own = [[log(s, s, *parameters) for s in side] for side in (X, Y)]
    return np.array(
        [[np.exp(log(s, t, *parameters) - (a + b) / 2) for t, b in zip(Y, own[1], strict=True)]
         for s, a in zip(X, own[0], strict=True)]
    )  # fmt: skip


def strings(*lengths, seed=0):
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(list("abc"), length)) for length in lengths]
