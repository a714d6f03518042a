import itertools

import numpy as np
import pytest

from mercer.domains.structures.trees import Trees
from mercer.errors import DomainError, ParameterError
from mercer.free_parameters import free_names
from mercer.kernels.trees import common_trees as module
from mercer.kernels.trees.common_trees import CorootedSubtree, PartialTree, SubsetTree
from mercer.testing import check_kernel


def random_tree(rng, nodes, labels="abc"):
    """A tree of at most so many nodes, as nested tuples."""
    label = str(rng.choice(list(labels)))
    children, left = [], nodes - 1
    while left > 0 and rng.random() < 0.8:
        size = int(rng.integers(1, left + 1))
        children.append(random_tree(rng, size, labels))
        left -= size
    return (label, *children)


def nodes_of(tree):
    return [tree, *(node for child in tree[1:] for node in nodes_of(child))] if tree else []


def normal(tree):
    """Nested tuples with leaves as tuples, too."""
    return tree if not tree else (tree[0], *(normal(c if isinstance(c, tuple) else (c,)) for c in tree[1:]))


def subset(v, w, decay, alike):
    """C of the definition, by recursion."""

    def production(node):
        return node[0], tuple(None if alike and len(child) == 1 else child[0] for child in node[1:])

    if len(v) == 1 or len(w) == 1 or production(v) != production(w):
        return 0
    value = decay
    for a, b in zip(v[1:], w[1:], strict=True):
        value *= 1 + subset(a, b, decay, alike)
    return value


def partial(v, w, decay, mu, alike):
    """C of the definition: all pairs of equally many children."""

    def label(node):
        return None if alike and len(node) == 1 else node[0]

    if label(v) != label(w):
        return 0.0
    value = decay**2
    C = [[partial(a, b, decay, mu, alike) for b in w[1:]] for a in v[1:]]
    for m in range(1, min(len(v), len(w))):
        for i in itertools.combinations(range(len(v) - 1), m):
            for j in itertools.combinations(range(len(w) - 1), m):
                gaps = i[-1] - i[0] + 1 - m + j[-1] - j[0] + 1 - m
                value += decay**gaps * np.prod([C[a][b] for a, b in zip(i, j, strict=True)])
    return mu * value


def fragments(tree):
    """All subtrees at the root with all or none of the children of a node: the features of the co-rooted kernel."""
    if len(tree) == 1:
        return []
    parts = [[(child[0],), *fragments(child)] for child in tree[1:]]
    return [(tree[0], *chosen) for chosen in itertools.product(*parts)]


def some(seed, count=12, nodes=12, labels="ab"):
    rng = np.random.default_rng(seed)
    return [*(random_tree(rng, int(rng.integers(1, nodes)), labels) for _ in range(count)), (), ("a",)]


@pytest.mark.parametrize("alike", [False, True])
@pytest.mark.parametrize("decay", [1.0, 0.4, 2.5])
def test_definitions(decay, alike):
    leaves = "alike" if alike else "labelled"
    for seed in range(4):
        X = some(seed)
        Y = some(seed + 10, labels="bcd")
        for A, B in ((X, X), (X, Y)):
            both = [[(nodes_of(x), nodes_of(y)) for y in B] for x in A]
            expected = [[sum(subset(v, w, decay, alike) for v in a for w in b) for a, b in row] for row in both]
            np.testing.assert_allclose(SubsetTree(decay, leaves)(A, B), expected, rtol=1e-13)
            roots = [[subset(x, y, decay, alike) if x and y else 0 for y in B] for x in A]
            np.testing.assert_allclose(CorootedSubtree(decay, leaves)(A, B), roots, rtol=1e-13)
            expected = [[sum(partial(v, w, decay, 0.7, alike) for v in a for w in b) for a, b in row] for row in both]
            np.testing.assert_allclose(PartialTree(decay, 0.7, leaves)(A, B), expected, rtol=1e-12)


def test_features_are_the_common_fragments():
    X = some(3, nodes=9)
    counts = [{} for _ in X]
    for place, x in enumerate(X):
        for node in nodes_of(x):
            for fragment in fragments(node):
                counts[place][fragment] = counts[place].get(fragment, 0) + 1
    expected = [[sum(n * b.get(t, 0) for t, n in a.items()) for b in counts] for a in counts]
    np.testing.assert_array_equal(SubsetTree(1.0)(X), expected)  # whole numbers, exact
    roots = [fragments(x) if x else [] for x in X]
    np.testing.assert_array_equal(CorootedSubtree()(X), [[len(set(a) & set(b)) for b in roots] for a in roots])


def test_counted_leaves_add_a_bag_of_words():
    X = some(5)
    words = [[node[0] for node in nodes_of(x) if len(node) == 1] for x in X]
    common = np.array([[sum(a == b for a in p for b in q) for q in words] for p in words])
    got = SubsetTree(0.4, leaves="counted")(X, X[:5])
    np.testing.assert_allclose(got, SubsetTree(0.4)(X, X[:5]) + 0.4 * common[:, :5], rtol=1e-13)


def kashima(v, w):
    """The recursion of Kashima and Koyanagi for labelled ordered trees."""
    if v[0] != w[0]:
        return 0
    S = np.ones((len(v), len(w)))
    for i in range(1, len(v)):
        for j in range(1, len(w)):
            S[i, j] = S[i - 1, j] + S[i, j - 1] - S[i - 1, j - 1] + S[i - 1, j - 1] * kashima(v[i], w[j])
    return S[-1, -1]


def test_partial_trees_without_decay_are_the_kernel_of_labelled_ordered_trees():
    X = some(7)
    expected = [[sum(kashima(v, w) for v in nodes_of(x) for w in nodes_of(y)) for y in X] for x in X]
    np.testing.assert_array_equal(PartialTree(1.0, 1.0)(X), expected)


def test_counts_are_those_of_whole_numbers():
    """A full binary tree of depth h has c(h) = (1 + c(h - 1))^2 subtrees at its root."""
    tree, c, total = "a", 0, 0
    for h in range(6):
        tree, c = ("a", tree, tree), (1 + c) ** 2
        total = 2 * total + c
        assert CorootedSubtree()([tree])[0, 0] == pytest.approx(c, rel=1e-13) and h < 6
    assert c < 2**53 and CorootedSubtree()([tree])[0, 0] == c
    same = SubsetTree(1.0)([tree], [("a", "a", "a")])[0, 0]
    assert same == 2**6 - 1  # each node with children has the one production


@pytest.mark.parametrize("kernel", [SubsetTree(), SubsetTree(0.7, "counted"), CorootedSubtree(), PartialTree()])
def test_laws(kernel):
    check_kernel(kernel, [tuple(x) for x in some(1, count=6)[:-2]] + [("a",)])


@pytest.mark.parametrize(
    "kernel", [SubsetTree(0.6), SubsetTree(0.6, "counted"), CorootedSubtree(0.8), PartialTree(0.6, 0.7)]
)
def test_derivatives(kernel):
    X, rng = some(2), np.random.default_rng(0)
    A = kernel.prepare(kernel.pack(X))
    B = kernel.prepare(kernel.pack(some(4)))
    for other in (A, B):
        W = rng.standard_normal((len(A), len(other)))
        got = kernel.pullback(A, other, W)
        for place, name in enumerate(free_names(kernel)):
            step = 1e-6
            up, down = (kernel.replace(**{name: getattr(kernel, name) + s}).block(A, other) for s in (step, -step))
            assert got[place] == pytest.approx(np.vdot(W, (up - down) / (2 * step)), rel=1e-6)


def test_a_value_does_not_depend_on_the_call():
    X, Y = some(8), some(9, labels="xyab")
    for kernel in (SubsetTree(), CorootedSubtree(), PartialTree()):
        K = kernel(X, Y)
        for i in (0, 5):
            np.testing.assert_array_equal(kernel([X[i]], [Y[3]])[0, 0], K[i, 3])
        S = kernel.prepare(Trees.pack(X))
        np.testing.assert_array_equal(kernel(S[2:7], Y), K[2:7])
        np.testing.assert_array_equal(kernel(S[[5, 1]]), kernel([X[5], X[1]]))
        np.testing.assert_array_equal(kernel.diag(S), np.diag(kernel(X)))


def test_deep_and_wide_trees():
    deep = "x"
    for _ in range(3000):
        deep = ("a", deep)
    wide = ("r", *(("a", "x") for _ in range(1500)))
    # C of the nodes at heights h, h' is lambda + lambda C(h - 1, h' - 1), for equal heights down to the leaf's parent
    for kernel, value in ((SubsetTree(0.5), None), (PartialTree(0.5, 0.5), None), (CorootedSubtree(0.5), 1.0)):
        K = kernel([deep, wide])
        assert np.isfinite(K).all() and K[0, 0] > 0.0
        if value is not None:
            assert K[0, 0] == pytest.approx(value)
    assert SubsetTree(0.5)([wide], [("q", ("a", "x"))])[0, 0] == 0.5 * 1500


def test_overflow_and_parameters_are_refused():
    tree = "a"
    for _ in range(12):
        tree = ("a", tree, tree)
    with pytest.raises(DomainError, match="too large"):
        SubsetTree(2.0)([tree])
    for kernel in (SubsetTree(-1.0), SubsetTree(leaves="no"), PartialTree(mu=0.0), CorootedSubtree(leaves="counted")):
        with pytest.raises(ParameterError):
            kernel(["(a b)"])


def test_two_trees_that_do_not_fit_into_memory_are_refused(monkeypatch):
    wide = ("r", *(("a", "x") for _ in range(100)))
    monkeypatch.setattr(module.budget, "budget", lambda memory: 8 * 2048)
    with pytest.raises(MemoryError):
        SubsetTree()([wide], [wide, wide])
