"""
Gram matrices of low rank
=========================

A few columns of the Gram matrix of a smooth kernel say nearly everything about it. Which columns, and how many? What is
left of the trace, tr(K - F F') / tr K, shows how good the choice was, and costs next to nothing: the diagonal of K and
the factor F are enough. Every method below works on every kind of data, since it needs only kernel values.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import make_pipeline

from mercer import KernelRidge
from mercer.domains import Vectors
from mercer.estimators.geometry.kernel_features import KernelFeatures
from mercer.gram import Dense, IncompleteCholesky, Nystrom, SparseGreedy
from mercer.kernels import Gaussian, Spectrum

rng = np.random.default_rng(0)

# %%
# **Where landmarks go.** Most samples are in one small cluster, and a few are spread out. A uniform draw looks where
# the samples are; the other methods look where something is left to explain.

X = np.concatenate([0.15 * rng.normal(size=(750, 2)), rng.uniform(-3, 3, size=(250, 2))])
S, kernel = Vectors.pack(X), Gaussian(0.6)
names = ["uniform", "k-means++", "leverage", "rpcholesky", "greedy", "entropy"]
figure, axes = plt.subplots(2, 3, figsize=(9, 6), layout="constrained", sharex=True, sharey=True)
for ax, name in zip(axes.flat, names, strict=True):
    gram = Nystrom(40, name).build(kernel, S)
    ax.plot(*X.T, ".", color="0.8", markersize=2)
    ax.plot(*X[gram.index].T, "o", markersize=4)
    ax.set(title=f"{name}: {100 * gram.residual_trace:.1f} % of the trace left", aspect="equal")

# %%
# **How many are needed.** The remainder falls with the rank; no choice can beat the eigenvalues of K. Random pivots and
# sparse greedy choices come close.

ranks = [5, 10, 20, 40, 80, 160]
ways = {name: lambda r, name=name: Nystrom(r, name) for name in ("uniform", "k-means++", "rpcholesky")}
ways |= {
    "incomplete Cholesky": lambda r: IncompleteCholesky(r, tol=0.0),
    "sparse greedy": lambda r: SparseGreedy(r, tol=0.0),
}
figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
for name, spec in ways.items():
    ax.loglog(ranks, [spec(r).build(kernel, S).residual_trace for r in ranks], "o-", label=name)
values = np.linalg.eigvalsh(kernel(X))[::-1]
ax.loglog(ranks, [1.0 - values[:r].sum() / values.sum() for r in ranks], "k--", label="best possible")
ax.set(xlabel="rank", ylabel="share of the trace that is left")
ax.legend()

# %%
# **To a tolerance.** The rank need not be known: the factor grows until no more than a given share of the trace is
# left. Ridge regression with it gives the same result as with the whole matrix.

y = np.sin(2.0 * X[:, 0]) * np.cos(X[:, 1]) + 0.1 * rng.normal(size=len(X))
grid = rng.uniform(-3, 3, size=(500, 2))
exact = KernelRidge(kernel, alpha=0.1, gram=Dense()).fit(X, y).predict(grid)
for tol in (1e-1, 1e-2, 1e-3, 1e-4):
    model = KernelRidge(kernel, alpha=0.1, gram=IncompleteCholesky(1000, tol=tol)).fit(X, y)
    off = np.sqrt(np.mean((model.predict(grid) - exact) ** 2))
    print(f"tol {tol:g}: {len(model.expansion_.samples):4d} landmarks, {off:.4f} from the exact predictions")

# %%
# **Strings in a pipeline.** The rows of F are features: a linear classifier on them is a kernel machine.

words = ["".join(word) for word in rng.choice(list("ACGT"), size=(600, 30))]
label = np.array([word.count("AC") + word.count("CA") > 3 for word in words])
pipe = make_pipeline(KernelFeatures(Spectrum(3), IncompleteCholesky(60, tol=0.0)), RidgeClassifier())
pipe.fit(words[:400], label[:400])
print(f"accuracy on new strings {pipe.score(words[400:], label[400:]):.2f}, 60 features")
plt.show()
