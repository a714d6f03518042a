r"""
Bags, and the instance that decided
===================================

A molecule has many shapes and smells if one of them fits; an image shows an elephant if one of its parts does. Labels
are known only for bags. A set kernel compares bags as wholes; mi-SVM and MI-SVM look for the instances that decide.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import MultiInstanceSVC
from mercer.kernels import Gaussian

rng = np.random.default_rng(0)
labels = np.arange(40) % 2
bags = [rng.normal(size=(rng.integers(3, 7), 2)) * 1.5 for _ in labels]
for bag, label in zip(bags, labels, strict=True):
    if label:
        bag[0] = rng.normal(size=2) * 0.3 + 3.5  # one instance of a positive bag is special

# %%
# **Three machines.** The background shows the values of instances; in each positive bag the instance with the largest
# value is ringed.

figure, axes = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
grid = np.stack(np.meshgrid(np.linspace(-5, 6, 80), np.linspace(-5, 6, 80)), axis=-1).reshape(-1, 2)
for ax, method in zip(axes, ("set", "instances", "witnesses"), strict=True):
    model = MultiInstanceSVC(Gaussian(1.0), C=10.0, method=method).fit(bags, labels)
    values = np.concatenate(model.instance_scores([point[None] for point in grid]))
    plane = {"levels": [-9, 0, 9], "colors": ["white", "tab:orange"], "alpha": 0.3}
    ax.contourf(*grid.T.reshape(2, 80, 80), values.reshape(80, 80), **plane)
    for bag, label, scores in zip(bags, labels, model.instance_scores(bags), strict=True):
        ax.scatter(*bag.T, s=8, color="tab:orange" if label else "tab:blue")
        if label:
            ax.scatter(*bag[np.argmax(scores)], s=60, facecolor="none", edgecolor="black")
    ax.set(xticks=[], yticks=[], title=f"method={method!r}: {100 * model.score(bags, labels):.0f} % of bags right")
plt.show()
