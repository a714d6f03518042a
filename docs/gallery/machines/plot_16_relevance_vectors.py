"""
Relevance vectors
=================

A support vector machine keeps every sample that is on or beyond its margin, so the number of kernels grows with the
sample. A relevance vector machine gives each kernel a weight with a precision of its own and lets the evidence decide:
most precisions become infinite, and few kernels remain. It also estimates the noise, and gives error bars.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import SVC, SVR, RelevanceVectorClassifier, RelevanceVectorRegressor
from mercer.kernels import Gaussian

rng = np.random.default_rng(0)

# %%
# **Regression.** A hundred noisy observations of the sinc function. The support vector machine is given the noise, as
# the width of its tube, and its C is a common choice; the relevance vector machine is given nothing. Circles are the
# samples that each keeps, the band is two standard deviations of a new observation.

x = np.linspace(-10, 10, 100)
y = np.sinc(x / np.pi) + rng.normal(0, 0.1, 100)
t = np.linspace(-12, 12, 400)
truth = np.sinc(t / np.pi)
rvm = RelevanceVectorRegressor(Gaussian(2.0)).fit(x[:, None], y)
svm = SVR(Gaussian(2.0), C=1.0, epsilon=0.1).fit(x[:, None], y)
mean, std = rvm.predict(t[:, None], return_std=True)

figure, axes = plt.subplots(1, 2, figsize=(9.5, 3.8), sharey=True, layout="constrained")
axes[0].fill_between(t, mean - 2 * std, mean + 2 * std, color="C0", alpha=0.2, linewidth=0)
for ax, name, values, kept in (
    (axes[0], "RelevanceVectorRegressor", mean, rvm.relevance_),
    (axes[1], "SVR", svm.predict(t[:, None]), svm.support_),
):
    ax.plot(t, truth, "k:", linewidth=1)
    ax.plot(t, values, color="C0")
    ax.plot(x, y, ".", color="0.6", markersize=4)
    ax.plot(x[kept], y[kept], "o", color="C3", markerfacecolor="none")
    ax.set(title=f"{name}: {len(kept)} of {len(x)} samples", xlabel="x")
    error = np.sqrt(np.mean((values - truth)[np.abs(t) < 10] ** 2))
    print(f"{name}: {len(kept)} samples, error {error:.3f}")
print(f"standard deviation of the noise: found {np.sqrt(rvm.noise_):.3f}, true 0.1")
plt.show()

# %%
# **More data, not more vectors.** The function does not become more complicated because it is observed more often. The
# number of support vectors grows in proportion to the sample.

sizes = [50, 100, 200, 400, 800, 1600]
kept = np.empty((2, len(sizes)), dtype=int)
for place, n in enumerate(sizes):
    X = rng.uniform(-10, 10, (n, 1))
    target = np.sinc(X[:, 0] / np.pi) + rng.normal(0, 0.1, n)
    kept[0, place] = len(RelevanceVectorRegressor(Gaussian(2.0)).fit(X, target).relevance_)
    kept[1, place] = len(SVR(Gaussian(2.0), C=1.0, epsilon=0.1).fit(X, target).support_)
figure, ax = plt.subplots(figsize=(5.5, 3.6), layout="constrained")
ax.loglog(sizes, kept[1], "o-", color="C1", label="support vectors")
ax.loglog(sizes, kept[0], "o-", color="C0", label="relevance vectors")
ax.set(xlabel="samples", ylabel="kernels in the model")
ax.legend()
for n, few, many in zip(sizes, *kept, strict=True):
    print(f"{n:5d} samples: {few:2d} relevance vectors, {many:3d} support vectors")
plt.show()

# %%
# **Classification.** Two classes, each a mixture of two normal distributions that overlap, in the manner of Ripley's
# synthetic data; the best possible classifier has an error of about 8 %. Relevance vectors are typical samples of the
# classes, support vectors are those near the boundary. The shades are probabilities.

centres = np.array([[[-0.7, 0.3], [0.3, 0.3]], [[-0.3, 0.7], [0.4, 0.7]]])


def draw(n):
    """Return n points and their classes."""
    label, part = rng.integers(0, 2, n), rng.integers(0, 2, n)
    return centres[label, part] + rng.normal(0, np.sqrt(0.03), (n, 2)), label


X, label = draw(250)
X_new, label_new = draw(5000)
rvm = RelevanceVectorClassifier(Gaussian(0.5)).fit(X, label)
svm = SVC(Gaussian(0.5), C=1.0).fit(X, label)
a, b = np.meshgrid(np.linspace(-1.3, 1.1, 120), np.linspace(-0.3, 1.3, 100))
grid = np.column_stack([a.ravel(), b.ravel()])

figure, axes = plt.subplots(1, 2, figsize=(9.5, 4), sharey=True, layout="constrained")
chance = rvm.predict_proba(grid)[:, 1].reshape(a.shape)
axes[0].contourf(a, b, chance, levels=np.linspace(0, 1, 11), cmap="RdBu", alpha=0.5)
for ax, name, model, chosen in (
    (axes[0], "RelevanceVectorClassifier", rvm, rvm.relevance_),
    (axes[1], "SVC", svm, svm.support_),
):
    ax.contour(a, b, model.decision_function(grid).reshape(a.shape), levels=[0.0], colors="k")
    ax.scatter(*X.T, c=label, cmap="RdBu", s=12, edgecolors="0.4", linewidths=0.3)
    ax.plot(*X[chosen].T, "o", color="k", markerfacecolor="none", markersize=9)
    ax.set(title=f"{name}: {len(chosen)} of {len(X)} samples")
    print(f"{name}: {len(chosen)} samples, error on new ones {1 - model.score(X_new, label_new):.3f}")
plt.show()

# %%
# **Are the probabilities right?** Among new samples with a given predicted probability, about that share should belong
# to the second class.

p = rvm.predict_proba(X_new)[:, 1]
edges = np.linspace(0, 1, 11)
bins = np.digitize(p, edges[1:-1])
said = [p[bins == k].mean() for k in range(10)]
seen = [label_new[bins == k].mean() for k in range(10)]
figure, ax = plt.subplots(figsize=(4, 3.8), layout="constrained")
ax.plot([0, 1], [0, 1], "k:", linewidth=1)
ax.plot(said, seen, "o-", color="C0")
ax.set(xlabel="probability given", ylabel="share observed", aspect="equal")
print(f"largest difference over ten bins: {np.max(np.abs(np.subtract(said, seen))):.3f}")
plt.show()
