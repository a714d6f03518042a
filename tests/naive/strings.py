"""The spectrum kernel pair by pair, in Python integers."""

from collections import Counter


def kmers(s, length):
    return Counter(tuple(s[i : i + length]) for i in range(len(s) - length + 1))


def spectrum(s, t, length):
    mine, theirs = kmers(s, length), kmers(t, length)
    return sum(count * theirs[u] for u, count in mine.items())


def match(x, z):
    return 1.0 if x == z else 0.0


def substrings(s, t, weight):
    """All common substrings, with a weight for each length."""
    return sum(weight(p) * spectrum(s, t, p) for p in range(1, min(len(s), len(t)) + 1))
