"""
Sets of minimum volume
======================

Where does the bulk of the data lie? The smallest set that holds a share mu of the probability is a level set of the
density: a quantile in several dimensions. ``OneClassSVM`` estimates such sets without estimating the density. With
nu = 1 - mu at most the share nu of the training samples is left outside.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import multivariate_normal

from mercer import OneClassSVM
from mercer.kernels import Gaussian

PARTS = [
    (0.6, multivariate_normal([0.0, 0.0], [[1.0, 0.6], [0.6, 0.8]])),
    (0.4, multivariate_normal([3.5, 2.5], [[0.3, 0.0], [0.0, 0.6]])),
]
rng = np.random.default_rng(0)


def observe(n):
    """Return n points of a mixture of two normal distributions."""
    counts = rng.multinomial(n, [share for share, _ in PARTS])
    return np.vstack([part.rvs(m, random_state=rng) for m, (_, part) in zip(counts, PARTS, strict=True)])


def density(points):
    """Density of the mixture."""
    return sum(share * part.pdf(points) for share, part in PARTS)


X, X_new = observe(500), observe(20_000)

# %%
# The boundaries for four shares, next to the true sets, which are known here because the sample is simulated.

kernel = Gaussian(1.5)
across, up = np.meshgrid(np.linspace(-4, 6, 240), np.linspace(-4, 6, 240))
grid = np.column_stack([across.ravel(), up.ravel()])
cell = (10 / 239) ** 2
heights = density(X_new)  # a level set of mass mu lies above the 1 - mu quantile of the density at random points
shown = (0.5, 0.75, 0.9, 0.98)
figure, axes = plt.subplots(1, 2, figsize=(10, 4.8), sharex=True, sharey=True, layout="constrained")
for place, mu in enumerate(shown):
    f = OneClassSVM(kernel, nu=1 - mu).fit(X).decision_function(grid).reshape(across.shape)
    axes[0].contour(across, up, f, levels=[0], colors=f"C{place}", linewidths=1.5)
    level = np.quantile(heights, 1 - mu)
    axes[1].contour(across, up, density(grid).reshape(across.shape), levels=[level], colors=f"C{place}")
    axes[1].plot([], [], color=f"C{place}", label=f"{mu:.0%}")
axes[0].set_title("one-class support vector machine, 500 samples")
axes[1].set_title("true sets of minimum volume")
axes[1].legend(loc="upper left")
for ax in axes:
    ax.plot(*X.T, ".", color="0.6", markersize=2, zorder=0)
plt.show()

# %%
# **Coverage against mu.** ``coverage_`` is the share of training samples inside, ``coverage(X)`` that of any others.
# The first cannot be below mu. The second is, slightly: the region fits the samples it was trained on. A region with
# the right coverage may still be too large, so areas are compared too, at equal coverage of new data.

mus = np.array([0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98])
rows = []
for mu in mus:
    model = OneClassSVM(kernel, nu=1 - mu).fit(X)
    fresh = model.coverage(X_new)
    area = cell * np.sum(model.predict(grid) > 0)
    smallest = cell * np.sum(density(grid) >= np.quantile(heights, 1 - fresh))
    rows.append((model.coverage_, fresh, area, smallest))
    print(
        f"mu = {mu:.2f}  inside: training {model.coverage_:.3f}, new {fresh:.3f}   area {area:6.2f}, "
        f"smallest with that coverage {smallest:6.2f}"
    )
training, fresh, area, smallest = np.array(rows).T
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
left.plot([0, 1], [0, 1], color="0.6", linewidth=1)
left.plot(mus, training, "o", label="training samples", markerfacecolor="none")
left.plot(mus, fresh, "s-", label="new samples")
left.set(xlabel="mu asked for", ylabel="share inside", aspect="equal")
left.legend()
right.plot(fresh, area, "s-", label="one-class SVM")
right.plot(fresh, smallest, "k:", label="smallest possible")
right.set(xlabel="share of new samples inside", ylabel="area")
right.legend()
plt.show()

# %%
# nu does not choose the width of the kernel. A long length scale gives one smooth region with room to spare, a short
# one wraps every sample; both keep the promise on the training samples, so only new data distinguish them.

for length_scale in (0.2, 0.5, 1.5, 5.0):
    model = OneClassSVM(Gaussian(length_scale), nu=0.1).fit(X)
    area = cell * np.sum(model.predict(grid) > 0)
    print(
        f"length scale {length_scale:3.1f}  inside: training {model.coverage_:.3f}, new {model.coverage(X_new):.3f}  "
        f"area {area:6.2f}  support vectors {len(model.support_)}"
    )
