"""
What two molecules have in common
=================================

A molecule is a graph: atoms are nodes with labels, bonds are edges. ``WeisfeilerLehman`` compares two of them by the
surroundings of their atoms. In each iteration an atom gets a new label, made of its own and those of its neighbours; so
after h iterations a label describes everything within h bonds. The kernel counts the pairs of atoms that have the same
label, over all iterations.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer.domains.structures.graphs import Graphs
from mercer.kernels.graphs.graph_histograms import VertexHistogram
from mercer.kernels.graphs.shortest_path import ShortestPath
from mercer.kernels.graphs.weisfeiler_lehman import WeisfeilerLehman, refined

turn = np.exp(1j * np.pi * (np.arange(6) / 3 + 0.5))
RING = [(i, (i + 1) % 6) for i in range(6)]


def molecule(labels, edges, places):
    """Return a graph and where its atoms are drawn; six atoms of a ring come first."""
    points = np.concatenate([turn, places])
    return {"labels": ["C"] * 6 + list(labels), "edges": RING + edges}, np.column_stack([points.real, points.imag])


MOLECULES = {
    "cresol": molecule("OC", [(0, 6), (3, 7)], [2 * turn[0], 2 * turn[3]]),
    "salicylic acid": molecule(
        "OCOO",
        [(1, 6), (0, 7), (7, 8), (7, 9)],
        [2 * turn[1], 2 * turn[0], 2 * turn[0] + turn[1], 2 * turn[0] + turn[5]],
    ),
}

# %%
# Labels that occur in both molecules have a colour, all others are white. Before the first iteration all carbons are
# alike. After one, atoms are distinguished by their neighbours: a ring atom that bears an oxygen, one that bears a
# carbon, plain ring atoms, oxygens. After two, the place in the ring matters as well.

graphs, places = zip(*MOLECULES.values(), strict=True)
S = Graphs.pack(list(graphs))
colours = S.labels.astype(np.int64)
figure, axes = plt.subplots(2, 3, figsize=(9.5, 6.6), layout="constrained")
for iteration in range(3):
    if iteration:
        colours, _ = refined(S, colours)
    parts = np.split(colours, S.offsets[1:-1])
    common = sorted(set(parts[0].tolist()) & set(parts[1].tolist()))
    for ax, i, name in zip(axes[:, iteration], range(2), MOLECULES, strict=True):
        for u, v in S.edges(i):
            ax.plot(*places[i][[u, v]].T, color="0.6", zorder=1)
        for (x, y), symbol, colour in zip(places[i], S.node_labels(i), parts[i], strict=True):
            fill = f"C{common.index(colour)}" if colour in common else "white"
            ax.scatter(x, y, s=320, color=fill, edgecolor="black", zorder=2)
            ax.text(x, y, symbol, ha="center", va="center", zorder=3)
        pairs = sum(int((parts[0] == colour).sum() * (parts[1] == colour).sum()) for colour in common)
        ax.set_title(f"{name}, iteration {iteration}" if i == 0 else f"{name}: {pairs} pairs in common")
        ax.margins(0.15)
        ax.set_aspect("equal")
        ax.axis("off")
plt.show()

# %%
# The kernel adds the pairs of all iterations.

print(WeisfeilerLehman(2)(S))

# %%
# Which graphs are alike depends on what is compared. Four rings of eight atoms with two oxygens at different distances
# have the same labels, so a histogram of labels finds no difference. Shortest paths distinguish every distance from
# every other; refined labels also find that oxygens three bonds apart are more like those four bonds apart than like
# neighbours, since an atom between neighbours has different surroundings.

rings = []
for distance in range(1, 5):
    labels = ["C"] * 8
    labels[0] = labels[distance] = "O"
    rings.append({"labels": labels, "edges": [(i, (i + 1) % 8) for i in range(8)]})
figure, axes = plt.subplots(1, 3, figsize=(9.5, 3.3), layout="constrained")
for ax, kernel in zip(axes, (VertexHistogram(), WeisfeilerLehman(2), ShortestPath()), strict=True):
    K = kernel.normalized()(rings)
    ax.imshow(K, vmin=0.5, vmax=1.0, cmap="Blues")
    for i in range(4):
        for j in range(4):
            ax.text(j, i, f"{K[i, j]:.2f}", ha="center", va="center", color="white" if K[i, j] > 0.8 else "black")
    ax.set_xticks(range(4), range(1, 5))
    ax.set_yticks(range(4), range(1, 5))
    ax.set_xlabel("bonds between the oxygens")
    ax.set_title(type(kernel).__name__)
plt.show()
