"""
What two views share
====================

Two measurements of the same thing have something in common, and much that is specific to each. Canonical correlation
analysis finds functions of each that agree. With a kernel the functions may be curved, and then the norm must be
bounded: without it any two tables agree perfectly.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import CCA, KernelCCA
from mercer.kernels import Gaussian
from mercer.plots import CorrelationDisplay

rng = np.random.default_rng(0)


def pairs(n):
    """A hidden angle, seen by one view as a point on a circle and by the other as a point on a spiral."""
    angle = rng.uniform(0, 2 * np.pi, n)
    circle = np.c_[np.cos(angle), np.sin(angle)] + 0.15 * rng.normal(size=(n, 2))
    spiral = (1 + angle / 2)[:, None] * np.c_[np.cos(2 * angle), np.sin(2 * angle)] + 0.15 * rng.normal(size=(n, 2))
    return circle, spiral, angle


X, Y, angle = pairs(200)
X_new, Y_new, angle_new = pairs(200)
figure, axes = plt.subplots(1, 2, figsize=(8, 3.6), layout="constrained")
for ax, view, name in zip(axes, (X, Y), ("first view", "second view"), strict=True):
    ax.scatter(*view.T, c=angle, cmap="twilight", s=8)
    ax.set(title=name, aspect="equal")

# %%
# **Straight lines are not enough.** The colour is the hidden angle, which no method is shown. The best linear functions
# of the two views are hardly correlated; functions in the space of a Gaussian kernel are, even on new pairs.

linear = CCA(n_components=2).fit(X, Y)
curved = KernelCCA(Gaussian(1.0), n_components=2, tau=0.01).fit(X, Y)
figure, axes = plt.subplots(1, 2, figsize=(8, 3.6), layout="constrained")
for ax, model in zip(axes, (linear, curved), strict=True):
    display = CorrelationDisplay.of(model, X_new, Y_new).plot_scores(0, ax, c=angle_new)
    ax.collections[0].set_cmap("twilight")
    ax.set_title(f"{type(model).__name__}, {ax.get_title()}")

# %%
# **The norm must be penalised.** Here the second view is shuffled, so there is nothing to find. Without the norm,
# ``tau=0``, the training correlations are one for true and for shuffled pairs alike. As tau grows, the true pairs keep
# their correlation and the shuffled ones lose it.

shuffled = Y[rng.permutation(len(Y))]
taus = np.array([0.0, 1e-4, 1e-3, 1e-2, 1e-1, 1.0])
curves = {"true pairs, training": [], "true pairs, new": [], "shuffled pairs, training": []}
for tau in taus:
    model = KernelCCA(Gaussian(0.5), n_components=1, tau=tau).fit(X, Y)
    curves["true pairs, training"].append(model.canonical_correlations_[0])
    curves["true pairs, new"].append(model.score(X_new, Y_new))
    model = KernelCCA(Gaussian(0.5), n_components=1, tau=tau).fit(X, shuffled)
    curves["shuffled pairs, training"].append(model.canonical_correlations_[0])
figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
for name, values in curves.items():
    ax.plot(range(len(taus)), values, marker="o", label=name)
ax.set_xticks(range(len(taus)), [f"{tau:g}" for tau in taus])
ax.set(xlabel="tau", ylabel="first correlation")
ax.legend()

# %%
# **Choosing tau.** Leaving out one pair at a time costs hardly more than one fit, since every problem without a pair
# differs from the full one by one product. The choice needs no new pairs.

chosen = KernelCCA(Gaussian(0.5), n_components=4, tau="loo", taus=(0.001, 0.01, 0.1, 1.0)).fit(X, Y)
print("tau:", chosen.tau_, " correlations of left-out pairs:", chosen.criterion_values_.round(3))
CorrelationDisplay.from_estimator(chosen, X_new, Y_new)

# %%
# **Looking for the partner.** The scores are a common language of both views: for a point of the circle, the points of
# the spiral with the most similar scores are likely to come from the same angle.

share = chosen.retrieval_score(X_new, Y_new, top=10)
print(f"partner among the 10 most similar of 200: {share:.0%} (by chance 5%)")
plt.show()
