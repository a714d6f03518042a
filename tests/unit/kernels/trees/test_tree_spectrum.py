import time
from collections import Counter

import numpy as np
import pytest

from mercer import SVC
from mercer.domains.structures.trees import Trees
from mercer.errors import DomainError, ModelError, ParameterError
from mercer.gram import Features
from mercer.kernels.trees.tree_spectrum import Grams, Subtree, Subtrees, TreeSpectrum
from mercer.testing import check_kernel
from tests.clock import allowed
from tests.unit.kernels.trees.test_common_trees import nodes_of, random_tree, some


def plain(tree, alike):
    """A tree with leaves that may be alike."""
    if len(tree) == 1:
        return (None,) if alike else tree
    return (tree[0], *(plain(child, alike) for child in tree[1:]))


def subtrees(tree, alike):
    return Counter(plain(node, alike) for node in nodes_of(tree))


def paths(tree, q, bent, alike):
    """All paths of q nodes, by looking at all pairs of ends."""
    nodes, parent, order = [], [], []

    def visit(node, above):
        place = len(nodes)
        nodes.append(None if alike and len(node) == 1 else node[0])
        parent.append(above)
        order.append(place)
        for child in node[1:]:
            visit(child, place)

    if tree:
        visit(tree, -1)

    def chain(v):
        out = [v]
        while parent[out[-1]] >= 0:
            out.append(parent[out[-1]])
        return out

    found = Counter()
    for u in range(len(nodes)):
        for w in range(u, len(nodes)):  # nodes are in pre-order: what is to the left or above comes first
            up, down = chain(u), chain(w)
            top = next(v for v in up if v in down)
            left, right = up[: up.index(top)], down[: down.index(top)][::-1]
            if len(left) + 1 + len(right) == q and (bent or not left):
                found[(len(left), *(nodes[v] for v in (*left, top, *right)))] += 1
    return found


def products(counts, others, weight=lambda key: 1.0):
    return [[sum(weight(key) * n * b[key] for key, n in a.items()) for b in others] for a in counts]


@pytest.mark.parametrize("alike", [False, True])
@pytest.mark.parametrize("decay", [1.0, 0.5])
def test_complete_subtrees(decay, alike):
    kernel = Subtree(decay, "alike" if alike else "labelled")
    for seed in range(4):
        X, Y = some(seed), some(seed + 10, labels="bcd")
        counts, others = ([subtrees(x, alike) for x in Z] for Z in (X, Y))
        for b, Z in ((counts, X), (others, Y)):
            expected = products(counts, b, lambda t: decay ** len(nodes_of(t)))
            np.testing.assert_allclose(kernel(X, Z), expected, rtol=1e-14)
        np.testing.assert_allclose(kernel.diag(Trees.pack(X)), np.diag(kernel(X)), rtol=1e-14)


@pytest.mark.parametrize("alike", [False, True])
@pytest.mark.parametrize("bent", [False, True])
@pytest.mark.parametrize("q", [1, 2, 3, 4, 5])
def test_paths(q, bent, alike):
    kernel = TreeSpectrum(q, bent, "alike" if alike else "labelled")
    for seed in range(4):
        X, Y = some(seed), some(seed + 10, labels="bcd")
        counts, others = ([paths(x, q, bent, alike) for x in Z] for Z in (X, Y))
        np.testing.assert_array_equal(kernel(X), products(counts, counts))
        np.testing.assert_array_equal(kernel(X, Y), products(counts, others))
        matrix, keys = kernel.features(Trees.pack(X))
        named = {keys.path(i): i for i in range(len(keys))}
        assert len(named) == len(keys) == kernel.feature_count(Trees.pack(X))
        for row, found in zip(matrix.toarray(), counts, strict=True):
            assert {key: row[i] for key, i in named.items() if row[i]} == found


def test_subtrees_by_name():
    X = some(3)
    matrix, keys = Subtree().features(Trees.pack(X))
    for row, x in zip(matrix.toarray(), X, strict=True):
        found = {plain_tuple(keys.nested(i)): n for i, n in enumerate(row) if n}
        assert found == subtrees(x, False)


def plain_tuple(tree):
    return (tree[0], *(plain_tuple(c if isinstance(c, tuple) else (c,)) for c in tree[1:]))


@pytest.mark.parametrize("kernel", [Subtree(), Subtree(0.5, "alike"), TreeSpectrum(2), TreeSpectrum(3, bent=False)])
def test_laws(kernel):
    check_kernel(kernel, some(1, count=6)[:-2])


@pytest.mark.parametrize("kernel", [Subtree(0.7), TreeSpectrum(3), TreeSpectrum(4, leaves="alike")])
def test_features_of_new_trees(kernel):
    X, Y = some(1), some(2, labels="bcx")
    F, keys = kernel.features(Trees.pack(X))
    G, same = kernel.features(Trees.pack(Y), keys)
    assert same is keys
    np.testing.assert_allclose((F @ G.T).toarray(), kernel(X, Y), rtol=1e-13, atol=1e-300)
    S = kernel.prepare(Trees.pack(X))
    np.testing.assert_allclose((kernel.features(S[3:6])[0] @ F.T).toarray(), kernel(X)[3:6], rtol=1e-13)


def test_derivative_in_the_decay():
    kernel, rng = Subtree(0.6), np.random.default_rng(0)
    A, B = Trees.pack(some(1)), Trees.pack(some(2))
    for other in (A, B):
        W = rng.standard_normal((len(A), len(other)))
        up, down = (Subtree(0.6 + step).block(A, other) for step in (1e-6, -1e-6))
        assert kernel.pullback(A, other, W)[0] == pytest.approx(np.vdot(W, (up - down) / 2e-6), rel=1e-6)


def test_learning_in_linear_time_agrees():
    rng = np.random.default_rng(0)
    X = [random_tree(rng, 14, "ab" if i % 2 else "abc") for i in range(60)]
    y = np.arange(60) % 2
    for kernel in (Subtree(0.5), TreeSpectrum(2)):
        a, b = (SVC(kernel, gram=gram, tol=1e-8).fit(X, y) for gram in (None, Features()))
        np.testing.assert_allclose(a.decision_function(X), b.decision_function(X), atol=1e-4)


@pytest.mark.timing
def test_subtrees_are_counted_in_linear_time():
    rng = np.random.default_rng(0)
    trees = [random_tree(rng, 60, "abcdef") for _ in range(4000)]
    S = Trees.pack(trees)
    Subtree().features(S[:10])
    taken = []
    for part in (S[:400], S):
        began = time.perf_counter()
        Subtree().features(part)
        taken.append((time.perf_counter() - began) / part.sizes.sum())
    assert taken[1] < allowed(5) * taken[0]


def test_deep_and_wide_trees():
    deep = "x"
    for _ in range(100_000):
        deep = ("a", deep)
    wide = ("r", *("ab" * 500))
    assert Subtree()([deep, wide])[0, 0] == 100_001.0
    assert len(Subtree().features(Trees.pack([deep]))[1].nested(2)) == 2
    K = TreeSpectrum(3)([deep, wide])
    assert K[0, 0] == 99_998.0**2 + 1.0
    pairs = [500 * 499 / 2, 500 * 501 / 2, 500 * 499 / 2, 500 * 499 / 2]  # aa, ab, ba, bb in "abab..."
    assert K[1, 1] == sum(n**2 for n in pairs)


def test_refusals():
    with pytest.raises(DomainError, match="too large"):
        Subtree(1e300)(["(a b)"])
    with pytest.raises(DomainError, match="too large"):
        Subtree(1e300).features(Trees.pack(["(a b)"]))
    for kernel in (Subtree(0.0), Subtree(leaves="counted"), TreeSpectrum(0), TreeSpectrum(2, bent=2)):
        with pytest.raises(ParameterError):
            kernel(["(a b)"])


def test_damaged_keys_are_refused():
    keys = Subtree().features(Trees.pack(some(1)))[1]
    keys.check()
    for name, value in (("children", keys.children + 1000), ("labels", keys.labels + 50), ("starts", keys.starts[1:])):
        with pytest.raises(ModelError):
            Subtrees(**{**vars(keys), name: value}).check()
    grams = TreeSpectrum(2).features(Trees.pack(some(1)))[1]
    grams.check()
    for table in (grams.table + 50, grams.table[0], grams.table.astype(float)):
        with pytest.raises(ModelError):
            Grams(table, grams.vocabulary).check()
