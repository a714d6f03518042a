"""Suffix trees against searching by definition."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.kernels.strings import suffix_arrays, suffix_tree
from mercer.kernels.strings.suffix_tree import SuffixTree

TEXTS = st.lists(st.text("abc", max_size=9), min_size=1, max_size=5)


def coded(texts):
    codes = np.array([ord(c) - ord("a") for text in texts for c in text], np.int32)
    return codes, np.concatenate([[0], np.cumsum([len(text) for text in texts])]).astype(np.intp)


def prefix(a, b):
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def paths(tree):
    """The string of each node, as codes."""
    return [tuple(tree.text[s : s + d] - 1) for s, d in zip(tree.start, tree.depth, strict=True)]


@given(TEXTS, st.sampled_from([None, 1, 2, 3]))
def test_nodes_are_where_substrings_branch(texts, longest):
    codes, offsets = coded(texts)
    tree = SuffixTree.of(codes, offsets, longest)
    names = paths(tree)
    suffixes = [(j, text[i:]) for j, text in enumerate(texts) for i in range(len(text))]
    cut = [text[:longest] for _, text in suffixes]
    branching = Counter()
    for a in range(len(cut)):
        for b in range(a):
            branching[cut[a][: prefix(cut[a], cut[b])]] += 1
    branching[""] += 1
    expected = {tuple(ord(c) - ord("a") for c in text) for text in branching}
    assert set(names[: tree.inner]) == expected and len(expected) == tree.inner
    assert tree.depth[tree.inner - 1] == 0
    for node in range(len(tree.depth)):
        above = tree.parent[node]
        assert names[node][: tree.depth[above]] == names[above]
        assert above > node or node >= tree.inner - 1
    ends = [names[node] for node in tree.leaves]
    assert ends == [tuple(ord(c) - ord("a") for c in text) for text in cut]
    for node in range(tree.inner - 1):
        goal = names[tree.links[node]]
        assert goal[: tree.depth[node] - 1] == names[node][1:] and len(goal) >= tree.depth[node] - 1


@given(TEXTS, st.lists(st.text("abcd", max_size=9), min_size=1, max_size=3), st.sampled_from([None, 1, 3]))
def test_matches_are_the_longest(texts, others, longest):
    codes, offsets = coded(texts)
    tree = SuffixTree.of(codes, offsets, longest)
    new, bounds = coded(others)
    new[new == 3] = -1
    nodes, lengths = tree.match(new, bounds)
    known = {text[i:j] for text in texts for i in range(len(text)) for j in range(i, len(text) + 1)}
    names, place = paths(tree), 0
    for text in others:
        for i in range(len(text)):
            best = max(m for m in range(len(text) - i + 1) if m == 0 or text[i : i + m] in known)
            best = best if longest is None else min(best, longest)
            assert lengths[place] == best
            assert tree.depth[tree.parent[nodes[place]]] < best <= tree.depth[nodes[place]] or best == 0
            assert names[nodes[place]][:best] == tuple(new[bounds[0] + place : place + best])
            place += 1


@given(TEXTS)
def test_counts_are_occurrences(texts):
    codes, offsets = coded(texts)
    tree = SuffixTree.of(codes, offsets)
    indices, data, indptr = tree.counts(tree.leaves, offsets)
    names = paths(tree)
    for j, text in enumerate(texts):
        row = slice(indptr[j], indptr[j + 1])
        assert np.all(np.diff(indices[row]) > 0)
        found = {names[v]: c for v, c in zip(indices[row], data[row], strict=True)}
        own = tuple(ord(c) - ord("a") for c in text)
        for name, count in found.items():
            assert count == sum(own[i : i + len(name)] == name for i in range(len(own)))
        assert all(name in found for name in names if name and any(own[i : i + len(name)] == name for i in range(9)))


def test_empty_collections():
    tree = SuffixTree.of(np.empty(0, np.int32), np.array([0, 0, 0]))
    assert tree.inner == 1 and len(tree.leaves) == 0
    nodes, lengths = tree.match(np.array([0, 1]), np.array([0, 2]))
    assert nodes.tolist() == [0, 0] and lengths.tolist() == [0, 0]
    assert tree.counts(tree.leaves, tree.offsets)[2].tolist() == [0, 0, 0]


def test_one_letter_is_linear():
    """A tree as deep as the text: climbing every suffix to the root would be quadratic."""
    n = 200_000
    tree = SuffixTree.of(np.zeros(n, np.int32), np.array([0, n]))
    _, data, _ = tree.counts(tree.leaves, tree.offsets)
    assert tree.inner == n and data.sum() == n * (n + 1) // 2
    _, lengths = tree.match(np.zeros(n, np.int32), np.array([0, n]))
    np.testing.assert_array_equal(lengths, np.arange(n, 0, -1))


def test_compiled_loops_are_plain_python_too():
    texts = ["abracadabra", "cab", ""]
    codes, offsets = np.array([ord(c) - 97 for c in "".join(texts)], np.int32), np.array([0, 11, 14, 14])
    names = ("_classify", "_induce", "_name", "_kasai", "_link_intervals", "_child", "_find_links", "_match", "_find")
    names = (*names, "_gather", "_scatter", "_place_by")
    expected = SuffixTree.of(codes, offsets)
    matches = expected.match(codes, offsets)
    counts = expected.counts(*matches[:1], offsets, matches[1], np.arange(20.0))
    with pytest.MonkeyPatch.context() as patch:
        for name in names:
            module = suffix_arrays if hasattr(suffix_arrays, name) else suffix_tree
            patch.setattr(module, name, getattr(module, name).py_func)
        tree = SuffixTree.of(codes, offsets)
        found = tree.match(codes, offsets)
        for a, b in zip(counts, tree.counts(found[0], offsets, found[1], np.arange(20.0)), strict=True):
            np.testing.assert_array_equal(a, b)
    for name in ("depth", "parent", "start", "leaves", "links"):
        np.testing.assert_array_equal(getattr(tree, name), getattr(expected, name))
