r"""
Two moons with four labels
==========================

Four samples have a label, two hundred have none. A supervised machine sees only the four. Manifold regularisation adds
a graph of all samples: neighbours should have nearly the same value, so the boundary passes where there are no samples.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from mercer import SVC, LaplacianSVC, TransductiveSVC
from mercer.kernels import Gaussian

X, truth = make_moons(200, noise=0.07, random_state=0)
y = np.full(200, -1)  # -1 marks samples without a label
for side in (0, 1):
    y[np.flatnonzero(truth == side)[:2]] = side
known = y >= 0


def draw(ax, model, title):
    """Draw the decision values, all samples, and those with a label."""
    grid = np.stack(np.meshgrid(np.linspace(-1.6, 2.6, 90), np.linspace(-1.1, 1.6, 90)), axis=-1)
    values = model.decision_function(grid.reshape(-1, 2)).reshape(90, 90)
    sides = {"levels": [-0.5, 0.5, 1.5], "colors": ["tab:blue", "tab:orange"], "alpha": 0.2}
    ax.contourf(grid[..., 0], grid[..., 1], values > 0.0, **sides)
    ax.scatter(*X.T, s=6, color="grey")
    ax.scatter(*X[known].T, s=70, color=np.where(y[known] == 1, "tab:orange", "tab:blue"), edgecolor="black")
    right = np.mean(model.predict(X) == truth)
    ax.set(xticks=[], yticks=[], title=f"{title}\n{100 * right:.0f} % right")


# %%
# **With and without the others.** The third machine is transductive: it looks for the labels of the given samples that
# make the margin widest, with the class proportions of the labelled samples.

kernel = Gaussian(0.3)
models = {
    "SVC on four labels": SVC(kernel, C=100.0).fit(X[known], y[known]),
    "LaplacianSVC": LaplacianSVC(kernel, C=100.0, manifold=1.0, n_neighbors=8).fit(X, y),
    "TransductiveSVC": TransductiveSVC(kernel, C=10.0).fit(X, y),
}
figure, axes = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
for ax, (title, model) in zip(axes, models.items(), strict=True):
    draw(ax, model, title)
plt.show()

# %%
# **What left-out labels say about the weight of the graph**, with five of each class: the hinge loss of each label
# under the machine without it, in closed form and at the scale that suits the function; the sample stays in the graph.

more = y.copy()
for side in (0, 1):
    more[np.flatnonzero(truth == side)[:5]] = side
model = LaplacianSVC(kernel, C=100.0, manifold=[0.0, 0.1, 1.0, 10.0], n_neighbors=8).fit(X, more)
for weight, loss in zip(model.manifold, model.loo_errors_, strict=True):
    print(f"weight {weight:g}: left-out loss {loss:.3f}")
