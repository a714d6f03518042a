r"""
Maps of manifolds
=================

Samples with many columns often lie near a surface with few. A graph that joins each sample to its neighbours captures
that surface: Laplacian eigenmaps place samples where neighbours lie together, Isomap keeps the lengths of paths through
the graph, maximum variance unfolding pulls everything apart as far as neighbours allow. All of them are kernels, or
eigenvectors of one; what is left is kernel principal component analysis.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from mercer import (
    DiffusionMap,
    KernelLPP,
    LaplacianEigenmap,
    LocalityPreservingProjection,
    ReferencePointMap,
    hessian_kernel,
    isomap_kernel,
    locally_linear_kernel,
    unfolding_kernel,
)
from mercer.kernels import Gaussian

# %%
# **A roll of paper, flattened.** 300 samples on a rolled-up sheet; the colour is the place along the roll. Isomap,
# locally linear embedding, Hessian eigenmaps and unfolding are matrices, to be passed to `KernelPCA` with the kernel
# "precomputed". The number is how well the two true coordinates of the sheet are predicted linearly from the two on the
# map (R squared): some maps keep lengths, others only neighbourhoods.

rng = np.random.default_rng(0)
along, across = rng.uniform(4.0, 9.0, size=300), rng.uniform(0.0, 10.0, size=300)
X = np.column_stack([along * np.cos(along), across, along * np.sin(along)])
arc = np.arcsinh(along) + along * np.hypot(1.0, along)  # the length of a spiral r = t
sheet = np.column_stack([arc / arc.std(), across / across.std()])


def flatness(Z):
    """Return the share of the sheet's variance that is linear in Z."""
    Z = np.column_stack([Z, np.ones(len(Z))])
    rest = sheet - Z @ np.linalg.lstsq(Z, sheet, rcond=None)[0]
    return 1.0 - rest.var() / sheet.var()


def components(K):
    """Return the two leading components of a centred kernel matrix, as KernelPCA("precomputed") finds them."""
    values, vectors = np.linalg.eigh(K)
    return vectors[:, -2:] * np.sqrt(values[-2:])


maps = {
    "Laplacian eigenmap": LaplacianEigenmap().fit_transform(X),
    "Isomap": components(isomap_kernel(X)),
    "locally linear": components(locally_linear_kernel(X, 12)),
    "Hessian": components(hessian_kernel(X, 12)),
    "unfolding": components(unfolding_kernel(X, 5, rank=8)),
    "diffusion map": DiffusionMap(Gaussian(1.0), alpha=1.0).fit_transform(X),
    "reference point": ReferencePointMap(Gaussian(3.0), scales=(1.003, 1.02)).fit(X).embedding_,
}
figure = plt.figure(figsize=(13, 6.0), layout="constrained")
ax = figure.add_subplot(2, 4, 1, projection="3d")
ax.scatter(*X.T, c=along, s=6, cmap="viridis")
ax.view_init(8, -75)
ax.set_title("the roll")
for place, (name, Z) in enumerate(maps.items(), 2):
    ax = figure.add_subplot(2, 4, place)
    ax.scatter(*Z.T, c=along, s=6, cmap="viridis")
    ax.set(xticks=[], yticks=[], title=f"{name}: {flatness(Z):.3f}")
plt.show()

# %%
# **Functions for new samples.** Most of those maps place only the samples they were given. Locality preserving
# projections ask the same of functions: linear ones, or those of a kernel, which can be evaluated anywhere; a diffusion
# map is extended by one more step of its random walk. Fitted to 300 handwritten digits, they place 300 others
# (crosses).

digits, labels = load_digits(n_class=5, return_X_y=True)
train, test = slice(0, 300), slice(300, 600)
models = {
    "locality preserving projection": LocalityPreservingProjection(),
    "kernel LPP": KernelLPP(Gaussian(30.0), regularization=1e-4),
    "diffusion map": DiffusionMap(Gaussian(10.0), alpha=1.0),
}
figure, axes = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    model.fit(digits[train])
    for part, marker in ((train, "o"), (test, "x")):
        Z = model.transform(digits[part])
        ax.scatter(*Z.T, c=labels[part], s=10, marker=marker, cmap="tab10", vmax=9, linewidths=0.8)
    ax.set(xticks=[], yticks=[], title=name)
plt.show()

# %%
# **Time in a random walk.** The coordinates of a diffusion map are eigenvectors of a random walk, each times a power of
# its eigenvalue: the longer the walk, the fewer coordinates are left, and the coarser the differences they show.

figure, axes = plt.subplots(1, 3, figsize=(12, 3.2), layout="constrained")
for ax, time in zip(axes, (1, 4, 16), strict=True):
    Z = DiffusionMap(Gaussian(10.0), 3, alpha=1.0, time=time).fit_transform(digits[train])
    ax.scatter(Z[:, 0], Z[:, 1], c=labels[train], s=6, cmap="tab10", vmax=9)
    ax.set(title=f"{time} step{'s' if time > 1 else ''}", xlabel="first", ylabel="second")
    ax.ticklabel_format(scilimits=(-2, 2))
plt.show()
