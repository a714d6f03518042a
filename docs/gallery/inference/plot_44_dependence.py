r"""
What dependence is good for
===========================

A kernel measure of dependence is zero only for independent variables, whatever their distributions. So it can be
minimised, to separate mixtures; maximised, to find what targets depend on; or watched over time, to see when a
distribution has changed.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import FastICA

from mercer import (
    DependenceSelector,
    KernelDimensionReduction,
    KernelICA,
    amari_error,
    change_point_test,
    krylov_scan,
    mean_matching,
    mmd_scan,
    series_windows,
)
from mercer.kernels import Gaussian

rng = np.random.default_rng(0)

# %%
# **Two sources, mixed.** Each has two humps of different height. The second panel is what is observed; after whitening
# only a rotation is missing. Kernel ICA finds the rotation with the least dependent components. FastICA looks for
# components that are far from normal by one nonlinearity, to which this pair of humps looks nearly normal. The Amari
# error is 0 for a perfect separation.

n = 250
S = np.where(rng.uniform(size=(n, 2)) < 0.25, -0.5, 0.5) + 0.15 * rng.normal(size=(n, 2))
S = (S - S.mean(axis=0)) / S.std(axis=0)
A = np.array([[1.0, 0.8], [0.4, 1.0]])
X = S @ A.T
kernel_ica = KernelICA().fit(X)
fast = FastICA(whiten="unit-variance", random_state=0).fit(X)
panels = {
    "sources": S,
    "mixtures": X,
    f"KernelICA: {amari_error(kernel_ica.components_, A):.3f}": kernel_ica.transform(X),
    f"FastICA: {amari_error(fast.components_, A):.3f}": fast.transform(X),
}
figure, axes = plt.subplots(1, 4, figsize=(13, 3.4), layout="constrained")
for ax, (title, points) in zip(axes, panels.items(), strict=True):
    ax.scatter(*points.T, s=4, color="tab:blue")
    ax.set(xticks=[], yticks=[], title=title)
plt.show()

# %%
# **The contrast, all around.** For two components a rotation is an angle. Each contrast has its minimum near the true
# one (dashed).

whitened = (X - kernel_ica.mean_) @ kernel_ica.whitening_.T
true = np.linalg.inv(A) @ np.linalg.pinv(kernel_ica.whitening_)  # rows: the sources in whitened coordinates
angles = np.linspace(0.0, np.pi / 2, 21)
figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
for name in ("kgv", "kcc", "hsic"):
    function = KernelICA(contrast=name, n_init=1).fit(X)._objective(whitened, np.ones(n))
    values = [function(np.array([[np.cos(a), np.sin(a)], [-np.sin(a), np.cos(a)]]))[0] for a in angles]
    ax.plot(angles, np.array(values) / max(values), label=name)
ax.axvline(np.arctan2(true[0, 1], true[0, 0]) % (np.pi / 2), color="k", ls="--", lw=1)
ax.set(xlabel="angle", ylabel="contrast, over its largest")
ax.legend()
plt.show()

# %%
# **What targets depend on.** y is a ring in two of eight columns, which no linear method sees. Backward selection by
# dependence keeps these two; dimension reduction finds the plane even after a rotation of the columns.

Z = rng.normal(size=(200, 8))
ring = np.hypot(Z[:, 2], Z[:, 5]) > 1.2
selector = DependenceSelector(n_features_to_select=2).fit(Z, ring)
turn = np.linalg.qr(rng.normal(size=(8, 8)))[0]
plane = KernelDimensionReduction(2).fit(Z @ turn, ring).transform(Z @ turn)
figure, axes = plt.subplots(1, 2, figsize=(8, 3.6), layout="constrained")
axes[0].bar(np.arange(8), 1.0 / selector.ranking_, color=np.where(selector.support_, "tab:orange", "tab:gray"))
axes[0].set(xlabel="column", ylabel="1 / rank", title="selection by dependence")
axes[1].scatter(*plane.T, c=ring, s=8, cmap="coolwarm")
axes[1].set(xticks=[], yticks=[], title="the plane that was found")
plt.show()

# %%
# **Change points.** Mean, variance and shape change in turn; a scan compares the samples just before and just after
# each moment. A test over all moments says whether there is a change at all. The frequency of a wave does not show in
# single values: there, stretches of the series are compared, by the angle between past and future.

x = np.concatenate(
    [
        rng.normal(size=150),
        rng.normal(1.5, 1.0, size=150),
        rng.normal(1.5, 0.3, size=150),
        1.5 + 0.3 * rng.choice([-1.0, 1.0], size=150) + 0.05 * rng.normal(size=150),
    ]
)
scan = mmd_scan(x, 50, Gaussian(0.15))
t = np.arange(300)
wave = np.sin(np.cumsum(np.where(t < 150, 0.2, 0.35))) + 0.1 * rng.normal(size=300)
turned = krylov_scan(series_windows(wave, 25), 25, rank=2)
figure, axes = plt.subplots(2, 2, figsize=(12, 4.6), layout="constrained", sharex="col")
axes[0, 0].plot(x, lw=0.8)
axes[1, 0].plot(scan.times, scan.scores, color="tab:red")
for peak in scan.peaks(3, distance=50):
    axes[0, 0].axvline(peak, color="tab:red", ls="--", lw=1)
axes[0, 0].set_title("three changes")
axes[1, 0].set(ylabel="squared discrepancy")
axes[0, 1].plot(wave, lw=0.8)
axes[1, 1].plot(turned.times + 24, turned.scores, color="tab:red")  # a stretch ends 24 values after it begins
axes[0, 1].set_title("a change of frequency")
axes[1, 1].set(ylabel="angle of subspaces")
plt.show()
found = change_point_test(x[:300], n_permutations=199)
print(f"the first half: p = {found.p_value:.3f}, a change at {found.time}")

# %%
# **Samples drawn with a bias.** The distribution of the targets given x is the same, but x was drawn mostly on the
# left, and what counts is on the right. Weights that match the means in feature space make a straight line fit there.

left, right = rng.normal(-0.3, 0.6, size=150), rng.normal(0.9, 0.4, size=300)
law = lambda x: x**3 - x  # noqa: E731
y = law(left) + 0.1 * rng.normal(size=150)
matched = mean_matching(left[:, None], right[:, None], Gaussian(0.4), upper=20.0)
grid = np.linspace(-2.0, 2.0, 50)
figure, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
ax.scatter(left, y, s=4 + 20 * matched.weights, color="tab:blue", alpha=0.6, label="samples, as large as their weights")
ax.plot(grid, law(grid), color="k", lw=1, label="the truth")
ax.plot(grid, np.polyval(np.polyfit(left, y, 1), grid), color="tab:gray", label="without weights")
ax.plot(grid, np.polyval(np.polyfit(left, y, 1, w=np.sqrt(matched.weights)), grid), color="tab:red", label="with them")
ax.hist(right, 30, density=True, alpha=0.2, color="tab:red", bottom=-2.0)
ax.set(ylim=(-2.0, 2.5), xlabel="x", title="what counts lies where the red columns are")
ax.legend(fontsize=8)
plt.show()
