"""
The margin of a support vector machine
======================================

A support vector machine looks for a function f that is at least 1 on one class and at most -1 on the other. The strip
between f = -1 and f = 1 is the margin; in feature space its width is 2 over the norm of f. Samples inside it or beyond
it cost C for each unit by which they miss. So C sets the price of an error against the width of the strip.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from mercer import SVC
from mercer.domains import Vectors
from mercer.gram import Dense
from mercer.kernels import Gaussian
from mercer.selection import svm_path

X, y = make_moons(120, noise=0.3, random_state=1)
X_test, y_test = make_moons(4000, noise=0.3, random_state=2)
kernel = Gaussian(0.7)

# %%
# One data set, three prices. The solid line is the decision boundary f = 0, the dashed lines are the edges of the
# margin. Rings are support vectors, the only samples that enter the function: a thin ring lies on an edge, a thick one
# within the margin or on the wrong side. The colour is tanh f.

across, up = np.meshgrid(np.linspace(-2.2, 3.2, 180), np.linspace(-1.8, 2.2, 160))
grid = np.column_stack([across.ravel(), up.ravel()])
figure, axes = plt.subplots(1, 3, figsize=(12, 3.8), sharex=True, sharey=True, layout="constrained")
for ax, C in zip(axes, (0.1, 1.0, 100.0), strict=True):
    model = SVC(kernel, C=C).fit(X, y)
    f = model.decision_function(grid).reshape(across.shape)
    ax.contourf(across, up, np.tanh(f), levels=np.linspace(-1, 1, 21), cmap="RdBu", alpha=0.4)
    ax.contour(across, up, f, levels=[-1, 0, 1], colors="0.2", linestyles=["--", "-", "--"], linewidths=[1, 2, 1])
    for label, colour in ((0, "#a02020"), (1, "#2050a0")):
        ax.plot(*X[y == label].T, "o", color=colour, markersize=4)
    alpha = np.abs(model.dual_coef_[0])
    ring = np.where(alpha < C, 0.7, 1.7)
    ax.scatter(*model.support_vectors_.T, s=60, facecolors="none", edgecolors="k", linewidths=ring)
    width = 2 / np.sqrt(model.dual_coef_[0] @ kernel(model.support_vectors_) @ model.dual_coef_[0])
    error = np.mean(model.predict(X_test) != y_test)
    ax.set_title(f"C = {C:g}: {len(alpha)} support vectors")
    print(
        f"C = {C:6g}  support vectors {len(alpha):3}, on an edge {np.sum(alpha < C):2}  width {width:6.3f}  "
        f"errors: training {np.mean(model.predict(X) != y):.3f}, new data {error:.3f}"
    )
plt.show()

# %%
# With a small C the strip is so wide that most samples lie in it, and f is nearly a difference of two densities. With
# a large C the boundary bends around single samples.
#
# **All prices at once.** Between certain values of C the solution is linear in C, so it can be followed exactly.
# ``svm_path`` returns these breakpoints; the machine at any C in between costs no further fit.

gram = Dense().build(kernel, Vectors.pack(X))
path = svm_path(gram, np.where(y == 1, 1, -1), C_min=0.03, C_max=1000.0)
costs = np.geomspace(path.C[0], path.C[-1], 200)
cross, within, new = kernel(X_test, X), [], []
for C in costs:
    beta, bias = path.at(C)
    within.append(np.mean((kernel(X) @ beta + bias > 0) != y))
    new.append(np.mean((cross @ beta + bias > 0) != y_test))
figure, (top, bottom) = plt.subplots(2, 1, figsize=(7, 5.6), sharex=True, layout="constrained")
top.semilogx(costs, within, label="training")
top.semilogx(costs, new, label="new data")
top.set_ylabel("share of errors")
top.legend()
bottom.stackplot(path.C, path.left, path.elbow, path.right, step="post", colors=["0.7", "C1", "0.92"])
for height, name in ((20, "inside the margin or beyond"), (93, "outside")):
    bottom.text(0.04 if height < 50 else 1.0, height, name)
bottom.annotate("on an edge", (60.0, 26), (25.0, 60), arrowprops={"arrowstyle": "-"})
bottom.set(xlabel="C", ylabel="samples", ylim=(0, len(y)))
print(f"{len(path)} breakpoints, largest violation of the optimality conditions {path.violation.max():.1e}")
print(f"fewest errors on new data at C = {costs[np.argmin(new)]:.3g}: {min(new):.3f}")

# %%
# The path and a fit at one C give the same function:

beta, bias = path.at(1.0)
model = SVC(kernel, C=1.0).fit(X, y)
print(f"largest difference {np.abs(model.decision_function(X_test) - (cross @ beta + bias)).max():.1e}")
plt.show()
