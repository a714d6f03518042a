"""
Sets, distributions, subspaces, systems
=======================================

Sometimes a sample is not one row of a table but many: the conformations of a molecule, the patches of a picture, the
measurements of a patient. Kernels on sets compare such bags as wholes; the bags may have different sizes. The same idea
carries over to distributions, to the subspaces that vectors span, and to systems that produce series.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.svm import SVC as VectorSVC

from mercer import SVC
from mercer.kernels import Gaussian
from mercer.kernels.series.dynamical import DynamicalSystem
from mercer.kernels.sets.expected_features import ExpectedFeatures
from mercer.kernels.sets.mean_map import MeanMap
from mercer.kernels.sets.pyramid_match import PyramidMatch
from mercer.kernels.sets.subspaces import PrincipalAngles

rng = np.random.default_rng(0)

# %%
# **All pairs, or the best partners.** The mean map sums over all pairs of members of two bags; here a line is thick if
# the pair adds much. The pyramid match pairs members up, one with one: those that share a fine cell first, then those
# that share a coarser one, which count half, a quarter, and so on.

red = np.array([[0.3, 0.4], [1.2, 2.6], [2.7, 0.9], [3.3, 3.4]])
blue = np.array([[0.6, 0.3], [1.6, 2.3], [3.2, 0.2], [0.4, 3.6]])
kernel = Gaussian(0.6)
pyramid = PyramidMatch(3, width=1.0)

figure, axes = plt.subplots(1, 4, figsize=(13, 3.5), layout="constrained")
for i, j in np.ndindex(4, 4):
    axes[0].plot(*np.array([red[i], blue[j]]).T, color="0.4", lw=5 * kernel([red[i]], [blue[j]])[0, 0])
axes[0].set_title(f"MeanMap: {MeanMap(kernel)([red], [blue])[0, 0]:.3f}")
taken = np.zeros((2, 4), dtype=bool)
for level, ax in enumerate(axes[1:]):
    side = 2**level
    for place in range(0, 5, side):
        ax.axhline(place, color="0.8", lw=1)
        ax.axvline(place, color="0.8", lw=1)
    for i, j in np.ndindex(4, 4):
        if not taken[0, i] and not taken[1, j] and np.array_equal(red[i] // side, blue[j] // side):
            taken[0, i] = taken[1, j] = True
            ax.plot(*np.array([red[i], blue[j]]).T, color="tab:green", lw=3)
    ax.set_title(f"new pairs in cells of side {side}: each 1/{side}")
for ax in axes:
    ax.scatter(*red.T, color="tab:red", s=60, zorder=2)
    ax.scatter(*blue.T, color="tab:blue", s=60, zorder=2)
    ax.set(xlim=(0, 4), ylim=(0, 4), xticks=[], yticks=[], aspect="equal")
plt.show()
print("pyramid match:", pyramid([red], [blue])[0, 0])

# %%
# **One member decides.** Bags of points; a bag is positive if one of its members lies in the small circle. Nobody says
# which one. The mean of a bag says little, but the function learned on bags can be evaluated on a bag with one member:
# it has found the circle.


def bags(count):
    found, labels = [], []
    for i in range(count):
        bag = rng.uniform(-3.0, 3.0, size=(rng.integers(3, 9), 2))
        near = np.linalg.norm(bag - [1.2, 0.8], axis=1) < 0.7
        bag = bag[~near]
        if i % 2:
            bag = np.vstack((bag, [1.2, 0.8] + 0.25 * rng.normal(size=2)))
        found.append(bag)
        labels.append(i % 2)
    return found, np.array(labels)


(train, y), (test, t) = bags(200), bags(200)
model = SVC(MeanMap(Gaussian(0.5)), C=1000.0).fit(train, y)
means, others = (np.array([bag.mean(axis=0) if len(bag) else np.zeros(2) for bag in side]) for side in (train, test))
simple = VectorSVC(C=10.0).fit(means, y)
print(f"bags right: mean map {model.score(test, t):.2f}, means of bags {simple.score(others, t):.2f}")

grid = np.stack(np.meshgrid(np.linspace(-3, 3, 61), np.linspace(-3, 3, 61)), axis=-1)
values = model.decision_function(grid.reshape(-1, 1, 2)).reshape(61, 61)
figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
for bag, label in zip(train[:16], y[:16], strict=True):
    axes[0].plot(*bag[np.argsort(bag[:, 0])].T, "o-", ms=4, lw=0.6, color=("0.6", "tab:red")[label])
axes[0].set_title("sixteen bags, each joined by a line")
shown = axes[1].contourf(grid[..., 0], grid[..., 1], values, 20, cmap="RdBu_r")
figure.colorbar(shown, ax=axes[1])
axes[1].set_title("the function on bags with one member")
for ax in axes:
    ax.add_patch(plt.Circle((1.2, 0.8), 0.7, fill=False, color="k"))
    ax.set(xlim=(-3, 3), ylim=(-3, 3), aspect="equal")
plt.show()

# %%
# **Missing pixels are distributions.** A picture with missing pixels represents all pictures that it could be: a
# Gaussian in the space of pictures. The mean and covariance of its pixels are known from complete pictures.

X, y = load_digits(n_class=4, return_X_y=True)
X = X / 16.0
whole, known, new, t = X[:300], y[:300], X[300:500], y[300:500]
mean, covariance = whole.mean(axis=0), np.cov(whole.T) + 1e-4 * np.eye(64)
shares, found = (0.0, 0.25, 0.5, 0.75, 0.9), {"means in the holes": [], "a Gaussian in the holes": []}
conditioned = ExpectedFeatures(Gaussian(2.0), mean=mean, covariance=covariance)
machines = SVC(Gaussian(2.0), C=10.0).fit(whole, known), SVC(conditioned.normalized(), C=10.0).fit(whole, known)
for share in shares:
    holes = np.where(rng.random(new.shape) < share, np.nan, new)
    found["means in the holes"].append(machines[0].score(np.where(np.isnan(holes), mean, holes), t))
    found["a Gaussian in the holes"].append(machines[1].score(holes, t))

picture = np.where(rng.random(64) < 0.5, np.nan, new[7])
likely = conditioned.prepare(conditioned.pack([picture]))
(key,) = likely.derived
middle, spread, _ = likely.derived[key].component(0)
figure, axes = plt.subplots(1, 4, figsize=(13, 3.2), layout="constrained")
for ax, image, title in zip(
    axes,
    (picture, middle[0], np.sqrt(np.diag(spread[0]))),
    ("half of the pixels", "their mean, given the others", "how much they may differ"),
    strict=False,
):
    ax.imshow(image.reshape(8, 8), cmap="gray_r", vmin=0.0, vmax=None if "differ" in title else 1.0)
    ax.set_title(title)
    ax.axis("off")
for name, right in found.items():
    axes[3].plot(shares, right, "o-", label=name)
axes[3].set(xlabel="share of pixels missing", title="digits recognised", ylim=(0, 1.02))
axes[3].legend(fontsize="small")
plt.show()

# %%
# **Angles between subspaces, and between systems.** Sets of vectors span subspaces; principal angles do not depend on
# which vectors of the subspace were seen. The same determinant compares dynamical systems: here waves of three
# frequencies, with noise, each with its own phase and amplitude.

planes = [np.linalg.qr(rng.normal(size=(8, 2)))[0].T for _ in range(3)]
spans = [rng.normal(size=(5, 2)) @ planes[i // 6] + 0.02 * rng.normal(size=(5, 8)) for i in range(18)]
time = np.arange(60.0)
waves = [
    rng.uniform(1.0, 3.0) * np.cos((0.2, 0.35, 0.6)[i // 6] * time + rng.uniform(0, 6)) + 0.05 * rng.normal(size=60)
    for i in range(18)
]
figure, axes = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
axes[0].plot(time, np.array(waves)[[0, 1, 6, 12]].T)
axes[0].set_title("two waves of one frequency, and two others")
pictures = (PrincipalAngles(2)(spans), DynamicalSystem(2, kind="determinant")(waves))
for ax, K, title in zip(axes[1:], pictures, ("PrincipalAngles of sets", "DynamicalSystem of waves"), strict=True):
    figure.colorbar(ax.imshow(K, cmap="magma_r", vmin=0, vmax=1), ax=ax)
    ax.set_title(title)
plt.show()
