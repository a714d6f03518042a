"""
One idea, four kinds of data
============================

A kernel compares two things. A machine learns from the table of all comparisons, whatever the things are: here points
in the plane, words, molecules, and a curve with error bars. Only the kernel changes from panel to panel.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import SVC, GaussianProcessRegressor
from mercer.kernels import Gaussian, Spectrum, WeisfeilerLehman
from mercer.plots import EmbeddingDisplay

chance = np.random.default_rng(0)
figure, axes = plt.subplots(1, 4, figsize=(13, 3.3), layout="constrained")

# Points: a support vector machine with a Gaussian kernel.

angle, side = chance.uniform(0, np.pi, 160), np.repeat([1.0, -1.0], 80)
X = np.c_[side * np.cos(angle) + (side < 0), side * np.sin(angle) + 0.5 * (side < 0)]
X += 0.12 * chance.normal(size=X.shape)
machine = SVC(Gaussian(0.6), C=10.0).fit(X, side)
grid = np.meshgrid(np.linspace(-1.6, 2.6, 90), np.linspace(-1.1, 1.6, 90))
value = machine.decision_function(np.c_[grid[0].ravel(), grid[1].ravel()]).reshape(grid[0].shape)
axes[0].contourf(*grid, value, levels=np.linspace(-3.5, 3.5, 15), cmap="PuOr", alpha=0.75, extend="both")
axes[0].contour(*grid, value, levels=[-1, 0, 1], colors="k", linewidths=[0.6, 1.4, 0.6], linestyles=["--", "-", "--"])
axes[0].scatter(*X.T, c=side, cmap="PuOr", edgecolor="k", linewidth=0.4, s=18)
axes[0].set(title="points: a support vector machine", xticks=[], yticks=[])

# Graphs: random trees, and the same with more edges that close rings, compared by the neighbourhoods of nodes.


def graph(nodes, rings):
    """Return a random tree with some more edges; the label of a node is the number of its edges."""
    edges = [(int(chance.integers(i)), i) for i in range(1, nodes)]
    edges += [tuple(int(i) for i in chance.choice(nodes, 2, replace=False)) for _ in range(rings)]
    edges = sorted({(min(edge), max(edge)) for edge in edges})
    return {"labels": np.bincount(np.ravel(edges), minlength=nodes).tolist(), "edges": edges}


graphs = [graph(14, rings=0) for _ in range(12)] + [graph(14, rings=8) for _ in range(12)]
K = WeisfeilerLehman(2).normalized()(graphs)
axes[2].imshow(K, cmap="magma", vmin=0.0)
axes[2].set(xticks=[5.5, 17.5], xticklabels=["trees", "with rings"], yticks=[], title="graphs: the Gram matrix")

# A curve: a Gaussian process knows where it does not know.

t = np.sort(chance.uniform(0, 10, 22))
t = t[(t < 4.2) | (t > 6.4)]
seen = np.sin(t) + 0.1 * chance.normal(size=len(t))
process = GaussianProcessRegressor(Gaussian(1.0), noise=0.01).fit(t[:, None], seen)
s = np.linspace(-0.5, 10.5, 200)
mean, std = process.predict(s[:, None], return_std=True)
axes[3].fill_between(s, mean - 2 * std, mean + 2 * std, color="C0", alpha=0.2, linewidth=0)
axes[3].plot(s, mean, color="C0")
axes[3].plot(t, seen, "k.", markersize=5)
axes[3].set(xticks=[], yticks=[], title="a curve: a Gaussian process")

# Words: their principal components, by the letters and pairs of letters that they share. Names go where there is room.

words = ["house", "garden", "trousers", "couch", "talo", "talvi", "ikkuna", "puutarha"]
words += ["casa", "strada", "cucina", "acqua"]
EmbeddingDisplay.from_kernel((Spectrum(1) + Spectrum(2)).normalized(), words, ax=axes[1])
axes[1].set(xticks=[], yticks=[], xlabel="", ylabel="", title="words: common letters")
plt.show()
