"""
Pairs: who goes with whom
=========================

Does this molecule bind to that protein, will this reader like that book, do these two people know each other? Then a
sample is a pair, and q objects make q times q samples. Their Gram matrix has q to the fourth power entries, yet it is a
Kronecker product of two small matrices, and everything we need follows from these.
"""

import time

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
from sklearn.metrics import roc_auc_score

from mercer import KernelRidge
from mercer.domains import Pairs, Vectors
from mercer.domains.structures.nodes import Nodes
from mercer.gram import Kronecker
from mercer.kernels import Diffusion, Gaussian, PairProduct, PairSum
from mercer.selection.grid_path import grid_path

rng = np.random.default_rng(0)

# %%
# **One kernel, two matrices.** Pairs are alike if both of their objects are, ``PairProduct``, or if they share one
# object and the others are alike, ``PairSum``. On all pairs of six objects the first has the matrix K (x) K, the second
# K (x) 1 + 1 (x) K, most of which is zero.

line = Vectors.pack(np.linspace(0.0, 3.0, 6)[:, None])
pairs = Pairs.grid(line)
figure, axes = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
for ax, K, title in zip(
    axes,
    (Gaussian(0.8)(line), PairProduct(Gaussian(0.8))(pairs), PairSum(Gaussian(0.8))(pairs)),
    ("K, six objects", "PairProduct, 36 pairs", "PairSum, 36 pairs"),
    strict=True,
):
    figure.colorbar(ax.imshow(K, cmap="magma_r", vmin=0.0), ax=ax, fraction=0.045)
    ax.set_title(title)
    ax.set(xticks=[], yticks=[])
plt.show()

# %%
# **A table with noise.** Rows and columns are two kinds of objects with one property each; the entry depends on both.
# Ridge regression on all 6000 pairs takes two eigendecompositions, of 100 and of 60 rows. Every further ridge is nearly
# free, and so is the error on left-out pairs, which is used to choose it.

u, v = np.sort(rng.uniform(-2, 2, 100)), np.sort(rng.uniform(-2, 2, 60))
truth = np.sin(2.0 * u)[:, None] * np.cos(1.5 * v) + 0.5 * np.outer(u, v) * np.exp(-0.5 * u * u)[:, None]
seen = truth + 0.5 * rng.standard_normal(truth.shape)
grid = Pairs.grid(Vectors.pack(u[:, None]), Vectors.pack(v[:, None]))
kernel = Gaussian(0.7).tensor(Gaussian(0.7))

alphas = np.logspace(-3, 2, 30)
left_out = grid_path(Kronecker().build(kernel, grid), seen.ravel(), alphas)
errors = np.sqrt(np.mean((left_out - seen.ravel()) ** 2, axis=1))
best = alphas[errors.argmin()]
model = KernelRidge(kernel, alpha=best, gram=Kronecker()).fit(grid, seen.ravel())
print(f"ridge {best:.2g} by {model.solver_}, residual {model.solution_.residual:.1e}")

figure, axes = plt.subplots(1, 4, figsize=(13, 3.4), layout="constrained")
fitted = model.predict(grid).reshape(truth.shape)
for ax, table, title in zip(axes, (truth, seen, fitted), ("truth", "seen", "fitted"), strict=False):
    ax.imshow(table, cmap="coolwarm", vmin=-2, vmax=2, aspect="auto")
    ax.set_title(title)
    ax.set(xticks=[], yticks=[])
axes[3].semilogx(alphas, errors)
axes[3].axvline(best, color="0.6", ls=":")
axes[3].set(xlabel="ridge", title="error of pairs left out")
plt.show()

# %%
# **How it grows.** The same fit on all pairs of q objects, up to 160 000 pairs. Their matrix would take 200 GB.

sizes, seconds = np.array([25, 50, 100, 200, 400]), []
for q in sizes:
    S = Vectors.pack(rng.standard_normal((q, 3)))
    y = rng.standard_normal(q * q)
    began = time.perf_counter()
    KernelRidge(PairProduct(Gaussian(1.0)), gram=Kronecker()).fit(Pairs.grid(S), y)
    seconds.append(time.perf_counter() - began)
figure, ax = plt.subplots(figsize=(5, 3.2), layout="constrained")
ax.loglog(sizes**2, seconds, "o-")
ax.set(xlabel="pairs", ylabel="seconds", title="ridge regression on all pairs")
plt.show()

# %%
# **Hidden links.** A graph of four communities, a fifth of whose links is hidden. The diffusion kernel of the remaining
# graph says how near nodes are; from it, kernels on pairs predict the missing links. ``symmetric=True``: a link has no
# direction. The usual scores count common neighbours, or multiply degrees.

whole = nx.planted_partition_graph(4, 30, 0.25, 0.01, seed=1)
edges = np.array(whole.edges)
hidden = rng.permutation(len(edges)) < len(edges) // 5
known = nx.empty_graph(120)
known.add_edges_from(edges[~hidden])
W = nx.to_numpy_array(known)
strangers = np.argwhere(np.triu(1 - nx.to_numpy_array(whole), 1) > 0)
strangers = strangers[rng.permutation(len(strangers))]
asked = np.concatenate([edges[hidden], strangers[: hidden.sum()]])
are_linked = np.repeat([1, 0], hidden.sum())

nodes = Nodes.pack(np.arange(120))
told = np.concatenate([edges[~hidden], strangers[hidden.sum() :][: 4 * len(edges)]])
scores = {
    "degrees multiplied": W.sum(axis=0)[asked[:, 0]] * W.sum(axis=0)[asked[:, 1]],
    "common neighbours": (W @ W)[asked[:, 0], asked[:, 1]],
}
for name, of in (("PairSum", PairSum), ("PairProduct", PairProduct)):
    machine = KernelRidge(of(Diffusion(known, 0.2), symmetric=True), alpha=0.1, gram=Kronecker())
    machine.fit(Pairs(nodes, nodes, told), np.isin(np.arange(len(told)), np.arange((~hidden).sum())).astype(float))
    scores[f"{name} of diffusion"] = machine.predict(Pairs(nodes, nodes, asked))
for name, score in scores.items():
    print(f"{name:24} area under the curve {roc_auc_score(are_linked, score):.3f}")

table = machine.predict(Pairs.grid(nodes)).reshape(120, 120)
figure, axes = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
axes[0].spy(W, markersize=2, color="0.3")
axes[0].set_title("links that are known")
axes[1].imshow(table, cmap="magma_r", vmin=0.0)
axes[1].plot(*edges[hidden].T[::-1], ".", color="tab:cyan", ms=3)
axes[1].set_title("score of all pairs; dots are hidden links")
for ax in axes:
    ax.set(xticks=[], yticks=[])
plt.show()
