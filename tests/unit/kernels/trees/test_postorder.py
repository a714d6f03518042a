import numpy as np

from mercer.domains.structures.trees import Trees
from mercer.kernels.trees.postorder import node_parents, subtree_sizes
from tests.unit.kernels.trees.test_common_trees import nodes_of, random_tree


def post_order(tree):
    return [node for child in tree[1:] for node in post_order(child)] + [tree]


def test_sizes_and_parents_of_random_trees():
    rng = np.random.default_rng(0)
    X = [random_tree(rng, int(rng.integers(1, 20))) for _ in range(40)]
    degrees = np.ascontiguousarray(Trees.pack(X).degrees)
    sizes = subtree_sizes(degrees)
    assert sizes.tolist() == [len(nodes_of(node)) for x in X for node in post_order(x)]
    expected, begin = [], 0
    for x in X:
        nodes = post_order(x)
        place = {id(node): begin + i for i, node in enumerate(nodes)}
        above = {id(child): place[id(node)] for node in nodes for child in node[1:]}
        expected += [above.get(id(node), -1) for node in nodes]
        begin += len(nodes)
    assert node_parents(sizes, degrees).tolist() == expected


def test_nothing_and_a_chain():
    assert len(subtree_sizes(np.empty(0, np.int32))) == 0
    chain = np.ones(100_000, np.int32)
    chain[0] = 0
    assert np.array_equal(subtree_sizes(chain), np.arange(1, 100_001))
    assert np.array_equal(node_parents(subtree_sizes(chain), chain), [*range(1, 100_000), -1])
