"""Text kernels pair by pair, from the definitions, with dicts."""

import math
from collections import Counter
from itertools import combinations


def tf(words, frequency="count"):
    counts = Counter(words)
    if frequency == "binary":
        return dict.fromkeys(counts, 1)
    return {t: 1 + math.log(c) for t, c in counts.items()} if frequency == "log" else dict(counts)


def dot(a, b):
    return sum(value * b.get(t, 0) for t, value in a.items())


def idf(corpus, smooth=False, weight=None):
    weight = weight or [1] * len(corpus)
    m, df = sum(weight), Counter()
    for words, v in zip(corpus, weight, strict=True):
        for t in set(words):
            df[t] += v
    return {t: math.log((1 + m) / (1 + n)) + 1 if smooth else math.log(m / n) for t, n in df.items() if n}


def weighed(words, weights, frequency="count"):
    return {t: weights.get(t, 0.0) * value for t, value in tf(words, frequency).items()}


def meant(phi, meanings):
    """phi' S, where words without a meaning mean themselves."""
    out = Counter()
    for t, value in phi.items():
        for meaning, factor in meanings.get(t, {t: 1.0}).items():
            out[meaning] += value * factor
    return out


def pairs(words, window=None, ordered=False, ends=".!?"):
    sentences = [[]]
    for word in words:
        if word in set(ends):
            sentences.append([])
        else:
            sentences[-1].append(word)
    counts = Counter()
    for sentence in sentences:
        for (i, t), (j, u) in combinations(enumerate(sentence), 2):
            if window is None or j - i <= window:
                counts[(t, u) if ordered else tuple(sorted((t, u)))] += 1
    return counts
