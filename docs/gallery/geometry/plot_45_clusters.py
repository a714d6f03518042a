r"""
Clusters in feature space
=========================

k-means assigns samples to the nearest mean, so its clusters are convex. In the feature space of a kernel they are
convex as well, but seen from the samples they may have any shape. And once similarities are the edge weights of a
graph, dividing the samples means cutting the graph where each part loses little: the normalised cut, which is k-means
with other weights, and whose relaxation is an eigenproblem.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs, make_moons

from mercer import KernelKMeans, SpectralClustering, normalized_cut
from mercer.gram import Nystrom
from mercer.kernels import Gaussian, Linear, Spectrum

rng = np.random.default_rng(0)
COLOURS = np.array(["tab:blue", "tab:orange", "tab:green", "tab:red"])


def regions(ax, model, X, title):
    """Draw the cluster that a model assigns to each point, and the samples in their clusters."""
    low, high = X.min(axis=0) - 0.4, X.max(axis=0) + 0.4
    grid = np.stack(np.meshgrid(*(np.linspace(a, b, 90) for a, b in zip(low, high, strict=True))), axis=-1)
    where = model.predict(grid.reshape(-1, 2)).reshape(90, 90)
    levels = np.arange(model.n_clusters + 1) - 0.5
    ax.contourf(grid[..., 0], grid[..., 1], where, levels, colors=list(COLOURS[: model.n_clusters]), alpha=0.15)
    ax.scatter(*X.T, color=COLOURS[model.labels_], s=8)
    ax.set(xticks=[], yticks=[], title=title)


# %%
# **Three ways to divide two moons.** With the linear kernel it is k-means, and a straight line. With a Gaussian kernel
# the border bends, but the algorithm easily gets stuck: this is the best of ten starts. Spectral clustering solves the
# relaxed problem without any start. Background colours show `predict` on new samples.

X, sides = make_moons(300, noise=0.06, random_state=0)
models = {
    "k-means: the linear kernel": KernelKMeans(Linear(), 2),
    "kernel k-means": KernelKMeans(Gaussian(0.2), 2),
    "spectral clustering": SpectralClustering(Gaussian(0.2), 2),
}
figure, axes = plt.subplots(1, 3, figsize=(12, 3.4), layout="constrained")
A = Gaussian(0.2)(X)
for ax, (title, model) in zip(axes, models.items(), strict=True):
    model.fit(X)
    regions(ax, model, X, f"{title}\nnormalised cut {normalized_cut(A, model.labels_):.3f}")
plt.show()

# %%
# **What the eigenvector sees.** Spectral clustering with k clusters places samples in k - 1 dimensions, here on a line;
# k-means divides that line. The function behind it can be evaluated anywhere, as that of weighted kernel principal
# components. No partition has a smaller cut than the relaxation says.

model = models["spectral clustering"]
grid = np.stack(np.meshgrid(np.linspace(-1.5, 2.5, 90), np.linspace(-1.0, 1.5, 90)), axis=-1)
values = model.transform(grid.reshape(-1, 2)).reshape(90, 90)
figure, axes = plt.subplots(1, 2, figsize=(11, 3.6), layout="constrained")
shown = axes[0].contourf(grid[..., 0], grid[..., 1], values, 21, cmap="RdBu_r")
axes[0].scatter(*X.T, color="k", s=4)
axes[0].set(xticks=[], yticks=[], title="the coordinate, as a function")
figure.colorbar(shown, ax=axes[0])
for side in (0, 1):
    axes[1].hist(model.embedding_[sides == side, 0], 30, alpha=0.6, label=f"moon {side + 1}")
axes[1].set(xlabel="coordinate", title="and at the samples")
axes[1].legend()
plt.show()
print(f"relaxed cut {model.relaxed_cut_:.4f} <= cut {model.cut_:.4f}; eigenvalue {model.eigenvalues_[0]:.4f}")

# %%
# **How many clusters?** The eigenvalues show it: those of clusters that hardly touch are close to one. The matrix of
# affinities in the order of the labels shows the blocks, and kernel k-means, which starts from the labels of spectral
# clustering and minimises the cut itself, can only lower it.

X, _ = make_blobs(300, centers=4, cluster_std=2.2, random_state=8)
kernel = Gaussian(1.5)
eigenvalues = SpectralClustering(kernel, 9).fit(X).eigenvalues_
model = SpectralClustering(kernel, 4).fit(X)
refined = KernelKMeans(kernel, 4, objective="cut", init=model.labels_).fit(X)
figure, axes = plt.subplots(1, 3, figsize=(12, 3.4), layout="constrained")
axes[0].plot(np.arange(1, 10), np.append(1.0, eigenvalues), "o-")
axes[0].axvline(4.5, color="0.6", ls="--")
axes[0].set(xlabel="number", title="eigenvalues of the affinities")
order = np.argsort(model.labels_, kind="stable")
axes[1].imshow(kernel(X[order]), cmap="magma_r")
axes[1].set(xticks=[], yticks=[], title="affinities, samples by cluster")
regions(axes[2], model, X, f"cut {model.cut_:.4f}, refined {refined.cut_:.4f}")
plt.show()

# %%
# **Any domain.** Words of two invented languages: syllables differ, and the spectrum kernel counts them. The
# clusters are found from the strings alone, and new words are assigned to them.

tongues = (["ba", "na", "lo", "mi"], ["kri", "sto", "vek", "tur"])
words = ["".join(rng.choice(tongues[i % 2], size=4)) for i in range(60)]
model = KernelKMeans(Spectrum(2).normalized(), 2).fit(words)
for t in range(2):
    print(f"cluster {t}:", ", ".join(np.array(words)[model.labels_ == t][:5]))
print("new words:", dict(zip(["banalo", "veksto"], model.predict(["banalo", "veksto"]).tolist(), strict=True)))

# %%
# **Many samples.** With landmarks an image is a row of numbers, and mini-batches look at a few hundred at a time.

X, y = make_blobs(20_000, centers=4, cluster_std=0.8, random_state=8)
model = KernelKMeans(Gaussian(2.0), 4, gram=Nystrom(50), batch_size=500).fit(X)
figure, ax = plt.subplots(figsize=(5, 3.6), layout="constrained")
regions(ax, model, X, f"20 000 samples, {model.n_iter_} epochs")
plt.show()
