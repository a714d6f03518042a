r"""
Sums of Gaussians in linear time
================================

A product with the Gram matrix of a Gaussian kernel takes all pairs of samples, :math:`n^2` of them. A fast Gauss
transform takes about :math:`n`: distant samples are treated together, by a series expansion, and very distant ones are
ignored. It is an approximation, with an error that is bounded before anything is computed:

.. math:: \max_i |(\tilde K v)_i - (K v)_i| \le \mathrm{tol} \sum_j |v_j|
"""

import time

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelRidge
from mercer.domains import Vectors
from mercer.gram import FastGauss, Tiles
from mercer.kernels import Gaussian
from mercer.solvers import ConjugateGradient

rng = np.random.default_rng(0)


def seconds(gram, v):
    """Return the time of a product, the shorter of two runs."""
    taken = []
    for _ in range(2):
        began = time.perf_counter()
        gram @ v
        taken.append(time.perf_counter() - began)
    return min(taken)


# %%
# **How time grows.** Points in the plane. The direct product is compiled, in float32, on all cores; it grows
# with the square of the number of samples, the transform with the number itself.

kernel, sizes = Gaussian(0.3), [1000, 3000, 10_000, 30_000]
direct, fast = [], []
for n in sizes:
    S, v = Vectors.pack(rng.normal(size=(n, 2))), rng.normal(size=n)
    fast.append(seconds(FastGauss(1e-6, "hermite").build(kernel, S), v))
    if n <= 10_000:
        direct.append(seconds(Tiles(precision="mixed").build(kernel, S), v))

figure, ax = plt.subplots(figsize=(5, 3.5), layout="constrained")
ax.loglog(sizes[: len(direct)], direct, "o-", label="all pairs")
ax.loglog(sizes, fast, "o-", label="fast Gauss transform, 1e-6")
ax.set(xlabel="samples", ylabel="seconds of a product")
ax.legend()
plt.show()

# %%
# **The tolerance is kept.** Weights of one sign, whose errors do not cancel, and four tolerances. Each dot is the
# largest error of one of the three methods over all samples.

X, v = rng.normal(size=(3000, 2)), rng.random(3000)
S, tolerances = Vectors.pack(X), np.array([1e-2, 1e-4, 1e-6, 1e-8])
exact = Tiles().build(kernel, S) @ v
figure, ax = plt.subplots(figsize=(5, 3.5), layout="constrained")
for method in ("hermite", "taylor", "tree"):
    grams = [FastGauss(tol, method).build(kernel, S) for tol in tolerances]
    ax.loglog(tolerances, [np.max(np.abs(gram @ v - exact)) / v.sum() for gram in grams], "o-", label=method)
ax.loglog(tolerances, tolerances, "k:", label="the bound")
ax.set(xlabel="tolerance", ylabel="largest error over the sum of the weights")
ax.legend()
plt.show()

# %%
# **Which method when.** Boxes with Hermite series for kernels of medium width in few dimensions; clusters with Taylor
# series for wide kernels, in more dimensions too; trees for narrow ones, where few samples are near. Where nothing
# helps, all pairs are taken. The choice is made by counting operations on some of the samples, and can be inspected.

lengths = (0.01, 0.1, 1.0, 10.0)
print("length scale    " + "".join(f"{length:>10g}" for length in lengths))
for d in (1, 2, 3, 6):
    S = Vectors.pack(rng.normal(size=(10_000, d)))
    chosen = [FastGauss().build(Gaussian(length), S).method for length in lengths]
    print(f"{d} dimensions    " + "".join(f"{name:>10}" for name in chosen))

# %%
# **Ridge regression on 20 000 samples** by conjugate gradients: no matrix is ever formed, and predictions go through
# the transform as well.

X = rng.uniform(-3, 3, size=(20_000, 2))
y = np.sin(2 * X[:, 0]) * np.cos(X[:, 1]) + 0.3 * rng.normal(size=len(X))
began = time.perf_counter()
model = KernelRidge(Gaussian(0.5), alpha=10.0, gram=FastGauss(), solver=ConjugateGradient(tol=1e-3)).fit(X, y)
print(f"{len(model.solution_.trace) - 1} products in {time.perf_counter() - began:.1f} s")
grid = np.stack(np.meshgrid(np.linspace(-3, 3, 150), np.linspace(-3, 3, 150)), axis=-1)
figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
axes[0].scatter(*X[:5000].T, c=y[:5000], s=2, vmin=-1, vmax=1, cmap="RdBu")
axes[0].set(title="some of the samples")
axes[1].imshow(
    model.predict(grid.reshape(-1, 2)).reshape(150, 150),
    extent=(-3, 3, -3, 3),
    origin="lower",
    vmin=-1,
    vmax=1,
    cmap="RdBu",
)
axes[1].set(title="the function")
plt.show()
