"""
Common subtrees
===============

Sentences, programs and documents are trees. Two trees are alike if many small trees occur in both. ``SubsetTree`` adds
up all of them, however many, in time that hardly exceeds that of reading the trees.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import cross_val_score

from mercer import SVC
from mercer.domains.structures.trees import Trees
from mercer.kernels.trees.common_trees import PartialTree, SubsetTree
from mercer.kernels.trees.tree_spectrum import Subtree, TreeSpectrum

# %%
# **What matches.** Two nodes match if they have the same label and children with the same labels. Where they do, a
# common subtree begins there: any part of the coloured pieces that keeps all children of a node or none. Grey nodes
# match nothing, or only what is part of a larger piece.

first = (
    "S",
    ("NP", ("D", "the"), ("N", "dog")),
    ("VP", ("V", "saw"), ("NP", ("D", "the"), ("A", "old"), ("N", "cat"))),
)
second = ("S", ("NP", ("D", "the"), ("N", "cat")), ("VP", ("V", "heard"), ("NP", ("D", "the"), ("N", "dog"))))


def nodes_of(tree, place=()):
    """All nodes as (place, node): a place is the way down from the root."""
    found = [(place, tree)]
    for i, child in enumerate(tree[1:] if isinstance(tree, tuple) else ()):
        found += nodes_of(child, (*place, i))
    return found


def label(node):
    return node[0] if isinstance(node, tuple) else node


def production(node):
    return (label(node), *map(label, node[1:])) if isinstance(node, tuple) else None


def common(v, w, decay):
    """C(v, w): the weighted number of common subtrees that begin at two nodes."""
    if production(v) is None or production(v) != production(w):
        return 0.0
    return decay * np.prod([1 + common(a, b, decay) for a, b in zip(v[1:], w[1:], strict=True)])


def pieces(x, y):
    """The largest common pieces, each a list of pairs of places; no node is in two of them."""
    pairs = [(common(v, w, 1.0), p, q, v, w) for p, v in nodes_of(x) for q, w in nodes_of(y)]
    used, found = (set(), set()), []
    for value, p, q, v, w in sorted(pairs, key=lambda pair: -pair[0]):
        if value and p not in used[0] and q not in used[1]:
            piece, waiting = [], [(p, q, v, w)]
            while waiting:
                p, q, v, w = waiting.pop()
                piece.append((p, q))
                used[0].add(p), used[1].add(q)
                if production(v) is not None and production(v) == production(w):
                    waiting += [((*p, i), (*q, i), a, b) for i, (a, b) in enumerate(zip(v[1:], w[1:], strict=True))]
            found.append(piece)
    return found


def draw(ax, tree, colours):
    """Leaves stand side by side, and each other node above the middle of its children."""
    where, leaves = {}, 0
    for place, node in reversed(nodes_of(tree)):
        children = [where[(*place, i)][0] for i in range(len(node) - 1)] if isinstance(node, tuple) else []
        where[place] = (np.mean(children) if children else -(leaves := leaves + 1), -len(place))
    for place, node in nodes_of(tree):
        x, height = where[place]
        if place:
            above = where[place[:-1]]
            ax.plot([above[0], x], [above[1], height], color="0.7", lw=1, zorder=0)
        box = dict(boxstyle="round,pad=0.25", fc=colours.get(place, "0.92"), ec="none")
        ax.text(x, height, label(node), ha="center", va="center", bbox=box, size=10)
    ax.set(xlim=(-leaves - 0.7, -0.3), ylim=(-5, 0.6))
    ax.axis("off")


found = pieces(first, second)
palette = plt.get_cmap("Set2").colors
sides = [{pair[side]: palette[i % 8] for i, piece in enumerate(found) for pair in piece} for side in (0, 1)]
figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
for ax, tree, colours in zip(axes, (first, second), sides, strict=True):
    draw(ax, tree, colours)
plt.show()

for decay in (1.0, 0.4):
    by_hand = sum(common(v, w, decay) for _, v in nodes_of(first) for _, w in nodes_of(second))
    print(
        f"decay {decay:g}: sum over nodes {by_hand:.4f}, SubsetTree {SubsetTree(decay)([first], [second]).item():.4f}"
    )

# %%
# **Decay.** A tree has very many large subtrees, so without decay it resembles only itself. Here are normalised
# similarities of a sentence with versions of it in which more and more words are replaced.

words = {"D": ["the", "a", "this"], "N": ["dog", "cat", "mouse", "bird"], "A": ["old", "small", "black"]}
words |= {"V": ["saw", "heard", "chased"]}


def replaced(tree, share, rng):
    if isinstance(tree, tuple) and len(tree) == 2 and not isinstance(tree[1], tuple):
        return (tree[0], str(rng.choice(words[tree[0]]))) if rng.random() < share else tree
    return (tree[0], *(replaced(child, share, rng) for child in tree[1:]))


shares = np.linspace(0.0, 1.0, 11)
rng = np.random.default_rng(0)
versions = [[replaced(first, share, rng) for _ in range(40)] for share in shares]
figure, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
for decay in (1.0, 0.6, 0.4, 0.1):
    kernel = SubsetTree(decay).normalized()
    ax.plot(shares, [kernel([first], some).mean() for some in versions], "o-", ms=3, label=f"decay = {decay:g}")
ax.plot(shares, [PartialTree().normalized()([first], some).mean() for some in versions], "k--", label="PartialTree()")
ax.set(xlabel="share of words replaced", ylabel="similarity to the original", ylim=(0, 1.02))
ax.legend()
plt.show()

# %%
# **Learning.** "The dog that saw the cat slept" and "the dog that the cat saw slept" have the same words: only the tree
# shows who saw whom. Here are 240 such sentences.


def sentence(subject):
    def noun():
        kind = [("A", str(rng.choice(words["A"])))] if rng.random() < 0.4 else []
        return ("NP", ("D", str(rng.choice(words["D"]))), *kind, ("N", str(rng.choice(words["N"]))))

    verb = ("VP", ("V", str(rng.choice(words["V"]))))
    clause = ("S", (*verb, noun())) if subject else ("S", noun(), verb)
    return ("S", (*noun(), ("SBAR", ("C", "that"), clause)), ("VP", ("V", "slept")))


y = np.arange(240) % 2
X = Trees.pack([sentence(bool(kind)) for kind in y])
bare = Trees.pack([("S", *(leaf for _, leaf in nodes_of(X.nested(i)) if isinstance(leaf, str))) for i in range(len(X))])
contenders = {
    "words alone": (TreeSpectrum(1), bare),
    "Subtree(0.5)": (Subtree(0.5), X),
    "TreeSpectrum(3)": (TreeSpectrum(3), X),
    "PartialTree()": (PartialTree(), X),
    "SubsetTree()": (SubsetTree(), X),
}
for name, (kernel, data) in contenders.items():
    scores = cross_val_score(SVC(kernel.normalized(), C=10.0), data, y, cv=5)
    print(f"{name:18} {scores.mean():.3f} +- {scores.std():.3f}")

# %%
# **Documents and programs.** XML, HTML, JSON and Python source become trees in one call. These six functions do three
# things, each with two sets of names; without names, functions that do the same thing are alike.

sources = [
    "def total(xs):\n    s = 0\n    for x in xs:\n        s += x\n    return s",
    "def add_up(values):\n    result = 0\n    for value in values:\n        result += value\n    return result",
    "def largest(xs):\n    return max(x for x in xs if x > 0)",
    "def top(values):\n    return max(v for v in values if v > 1)",
    "def read(path):\n    with open(path) as f:\n        return f.read()",
    "def load(name):\n    with open(name) as handle:\n        return handle.read()",
]
figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for ax, leaves in zip(axes, (True, False), strict=True):
    K = PartialTree().normalized()(Trees.from_ast(sources, leaves=leaves))
    image = ax.imshow(K, vmin=0, vmax=1, cmap="viridis")
    ax.set(title="with names" if leaves else "without names", xticks=range(6), yticks=range(6))
    ax.set_yticklabels([source[4 : source.index("(")] for source in sources])
figure.colorbar(image, ax=axes, shrink=0.8)
plt.show()
