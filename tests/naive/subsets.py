"""Kernels over subsets of coordinates by brute force: every subset is visited."""

import math
from itertools import chain, combinations


def anova(x, z, degree, base=lambda a, b: a * b):
    u = [base(a, b) for a, b in zip(x, z, strict=True)]
    return float(sum(math.prod(subset) for subset in combinations(u, degree)))


def all_subsets(x, z):
    u = [a * b for a, b in zip(x, z, strict=True)]
    every = chain.from_iterable(combinations(u, size) for size in range(len(u) + 1))
    return float(sum(math.prod(subset) for subset in every))
