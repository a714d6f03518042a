r"""
Random features: a kernel as an average of waves
================================================

By Bochner's theorem a stationary kernel is a mean of cosines, :math:`k(x, x') = E \cos \langle \omega, x - x' \rangle`,
over frequencies from its spectral measure. An average over a few of them is a kernel again, and one with finitely many
features: a million samples are then a matrix with a million rows and a thousand columns, which is read once, block by
block. The price is an error of known size: it falls with the square root of the number of features, whatever the number
of samples.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelRidge
from mercer.domains import Vectors
from mercer.gram import Dense, RandomFeatures
from mercer.kernels import Gaussian, Laplacian, Polynomial

# %%
# The Gaussian kernel on a line from 4, 32 and 256 waves: three draws of each. With few of them distant points seem
# similar by chance.

t = np.linspace(-6, 6, 241)[:, None]
figure, axes = plt.subplots(1, 3, figsize=(11, 2.8), sharey=True, layout="constrained")
for ax, count in zip(axes, (8, 64, 512), strict=True):
    for seed in range(3):
        K = RandomFeatures(count, random_state=seed).build(Gaussian(1.0), Vectors.pack(t))
        ax.plot(t, K.rows(np.array([120]))[0], linewidth=1)
    ax.plot(t, np.exp(-(t**2) / 2), "k--", linewidth=1)
    ax.set(title=f"{count} features", xlabel="x - x'")
plt.show()

# %%
# **The error against the number of features.** Independent frequencies have the Monte-Carlo rate, with a constant that
# can be computed: the variance of a wave is :math:`(1 + k(2t))/2 - k(t)^2`. Frequencies in orthogonal directions repel
# each other, and those of a low-discrepancy sequence fill the space evenly, which lowers the error at no extra cost.
# Directions from a Hadamard transform need no matrix at all: they are cheap where there are many columns. Cauchy
# frequencies, those of the Laplacian kernel, have no uniform directions; a polynomial kernel has a sketch instead of
# waves.

rng = np.random.default_rng(0)
X = rng.normal(size=(200, 4))
wide = rng.normal(size=(200, 30)) / np.sqrt(30)  # 5456 monomials of degree up to three
counts = 2 ** np.arange(4, 11)
figure, axes = plt.subplots(1, 3, figsize=(12, 3.8), sharey=True, layout="constrained")
cases = [
    (Gaussian(2.0), X, ("independent", "orthogonal", "quasi", "hadamard")),
    (Laplacian(4.0), X, ("independent", "quasi")),
    (Polynomial(3), wide, ("independent",)),
]
for ax, (kernel, data, methods) in zip(axes, cases, strict=True):
    K, S = kernel(data), Vectors.pack(data)
    for method in methods:
        errors = []
        for count in counts:
            grams = [RandomFeatures(int(count), method, seed).build(kernel, S) for seed in range(3)]
            gaps = [np.mean((gram.to_dense() - K) ** 2) for gram in grams]
            errors.append(np.sqrt(np.mean(gaps) / np.mean(K**2)))
        ax.loglog(counts[: len(errors)], errors, "o-", markersize=3, label=method)
    ax.loglog(counts, errors[0] * np.sqrt(counts[0] / counts), "--", color="0.6", label="slope -1/2")
    if isinstance(kernel, Gaussian):
        variance = np.mean((1.0 + kernel(2.0 * X)) / 2.0 - K**2)
        ax.loglog(counts, np.sqrt(2.0 * variance / counts / np.mean(K**2)), "k:", label="theory")
    ax.set(title=type(kernel).__name__, xlabel="features")
    ax.legend(fontsize=8)
axes[0].set_ylabel("relative error of K")
plt.show()

# %%
# The error need not be measured by hand: the Gram object compares some entries with those of the kernel.

K = Gaussian(2.0)(X)
gram = RandomFeatures(1000, "orthogonal").build(Gaussian(2.0), Vectors.pack(X))
real = np.linalg.norm(gram.to_dense() - K) / np.linalg.norm(K)
print(f"relative error of K: estimated {gram.residual.entries:.4f}, real {real:.4f}")

# %%
# **Learning with features.** Ridge regression on the features approaches that with the kernel; no n by n matrix is
# formed.

x = np.sort(rng.uniform(-8, 8, 400))[:, None]
y = np.sin(x[:, 0]) * np.exp(-np.abs(x[:, 0]) / 6) + 0.1 * rng.normal(size=400)
new = np.linspace(-8, 8, 300)[:, None]
figure, ax = plt.subplots(figsize=(9, 3.6), layout="constrained")
ax.plot(x, y, ".", color="0.75", markersize=3)
for count in (10, 30, 300):
    model = KernelRidge(Gaussian(1.0), alpha=0.1, gram=RandomFeatures(count)).fit(x, y)
    ax.plot(new, model.predict(new), linewidth=1.2, label=f"{count} features")
full = KernelRidge(Gaussian(1.0), alpha=0.1, gram=Dense()).fit(x, y)
ax.plot(new, full.predict(new), "k--", linewidth=1.2, label="the kernel itself")
ax.legend()
plt.show()
