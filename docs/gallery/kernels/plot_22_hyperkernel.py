"""
A kernel learned from labels
============================

A kernel is a function of two points, so it can itself be an element of a Hilbert space: that of a hyperkernel, a kernel
between pairs of points. There, a representer theorem holds as well: a kernel can be fitted to data. Here it is fitted
to the question whether two points belong to the same class.
"""

import itertools

import matplotlib.pyplot as plt
import numpy as np

from mercer import SVC
from mercer.hilbert import learned_kernel
from mercer.kernels import Gaussian, Hyperkernel


def board(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, size=(n, 2))
    return X, np.where(np.sin(3 * X[:, 0]) * np.sin(3 * X[:, 1]) > 0, 1, -1)


X, y = board(250, 0)
new, truth = board(1000, 1)

# %%
# The base kernel is much too wide for the squares of this board. The hyperkernel
# :math:`\underline{k}((u, u'), (v, v')) = (1 - \lambda) / (1 - \lambda k(u, u') k(v, v'))` spans functions of a pair
# that are power series in the base kernel. Coefficients are constrained to be non-negative, so that the result is a
# kernel, and powers of a Gaussian kernel are narrower Gaussian kernels.

base = Gaussian(1.5)
found = learned_kernel(Hyperkernel(base, decay=0.95), X, y)
kernel = found.kernel.normalized()
print(f"{len(found.kernel.coefficients)} powers, norm {found.norm:.2f}, error {found.error:.4f}")

r = np.linspace(0.0, 3.0, 300)
line = np.column_stack([r, np.zeros_like(r)])
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
left.plot(r, base(line[:1], line)[0], label="base")
left.plot(r, found.kernel(line[:1], line)[0], label="learned")
near = np.linalg.norm(X[:, None] - X, axis=-1)[np.triu_indices(len(X), 1)]
same = (y[:, None] == y)[np.triu_indices(len(X), 1)]
edges = np.linspace(0.0, 3.0, 16)
share = [same[(near >= a) & (near < b)].mean() for a, b in itertools.pairwise(edges)]
left.plot((edges[:-1] + edges[1:]) / 2, share, "k.", label="pairs of one class")
left.set(xlabel="distance", ylabel="similarity", title="a function of pairs")
left.legend()
a = found.kernel.coefficients
right.semilogy(np.arange(1, len(a)), a[1:])
right.set(xlabel="power n of the base kernel", title="coefficients of its power series, none negative")
plt.show()

# %%
# The learned kernel can be used wherever any kernel can.

scores = {"base": base, "learned": kernel}
grid = np.stack(np.meshgrid(np.linspace(-3, 3, 60), np.linspace(-3, 3, 60)), axis=-1).reshape(-1, 2)
figure, axes = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
for ax, (name, k) in zip(axes, scores.items(), strict=True):
    machine = SVC(k, C=10.0).fit(X, y)
    values = machine.decision_function(grid).reshape(60, 60)
    ax.contourf(np.linspace(-3, 3, 60), np.linspace(-3, 3, 60), values > 0, alpha=0.3)
    ax.scatter(*X.T, c=y, s=8)
    ax.set_title(f"{name}: {machine.score(new, truth):.1%} of new points right")
    ax.set_aspect("equal")
plt.show()
