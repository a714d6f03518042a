r"""
A reduced set fifty times smaller
=================================

The representer theorem writes a fitted machine as a sum of kernels at training samples. It says nothing about how many
are needed: a support vector machine on noisy data keeps a share of all samples, and each prediction evaluates every one
of them. A *reduced set* is a sum of a few kernels that is close to the machine's function in the space of the kernel.
The distance there is more than a figure of merit, since it bounds the error at every point:
:math:`|f(x) - g(x)| \le \|f - g\| \sqrt{k(x, x)}`.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits, make_moons

from mercer import SVC
from mercer.hilbert import reduced_machine, reduced_set
from mercer.kernels import Gaussian

# %%
# **Two moons with noise.** A fifth of the samples become support vectors, those in the overlap and on the margin. A
# fiftieth of that number is enough if the points need not be samples: the points of a reduced set are moved along the
# derivative of the distance, always with the best coefficients for where they are. Dots are kernels; on the right,
# larger dots have larger coefficients.

X, y = make_moons(5000, noise=0.3, random_state=0)
T, t = make_moons(5000, noise=0.3, random_state=1)
moons = SVC(Gaussian(0.5)).fit(X, y)
n = len(moons.expansion_.samples)
small = reduced_machine(moons, size=n // 50)

a, b = np.meshgrid(np.linspace(-1.9, 2.9, 150), np.linspace(-1.5, 2.0, 110))
grid = np.column_stack([a.ravel(), b.ravel()])
figure, axes = plt.subplots(1, 2, figsize=(9.5, 3.6), sharex=True, sharey=True, layout="constrained")
for ax, machine in zip(axes, (moons, small), strict=True):
    f = machine.expansion_
    values = machine.decision_function(grid).reshape(a.shape)
    ax.contourf(a, b, values, levels=np.linspace(-3, 3, 13), cmap="RdBu", alpha=0.5, extend="both")
    ax.contour(
        a, b, values, levels=[-1.0, 0.0, 1.0], colors="k", linestyles=["--", "-", "--"], linewidths=[0.8, 1.6, 0.8]
    )
    size = 60 * np.sqrt(np.abs(f.coef) / np.abs(f.coef).max()) if machine is small else 6
    ax.scatter(*f.samples.X.T, c=np.sign(f.coef), cmap="RdBu", s=size, edgecolors="k", linewidths=0.4)
    right = machine.score(T, t)
    ax.set(title=f"{len(f.samples)} kernels, {right:.1%} right", xlim=(-1.9, 2.9), ylim=(-1.5, 2.0))
    print(f"{len(f.samples):4d} kernels: {right:.4f} of new samples right")
print(f"same decision on {np.mean(small.predict(T) == moons.predict(T)):.2%} of new samples")
plt.show()

# %%
# **Selection and construction.** The simpler way takes kernels of the machine itself, one after another, each time the
# one that brings the sum closest to the function. It needs no derivatives, so it works for strings and graphs as well.
# The result includes the error at each number of kernels.

chosen = reduced_set(moons.expansion_, size=120, method="selection")
built = reduced_set(moons.expansion_, size=40)
figure, ax = plt.subplots(figsize=(5.5, 3.6), layout="constrained")
ax.semilogy(chosen.sizes, chosen.errors / chosen.norm, color="C0", label="selection")
ax.semilogy(built.sizes, built.errors / built.norm, "o-", color="C3", label="construction")
ax.set(xlabel="kernels", ylabel=r"$\|f - g\| \; / \; \|f\|$")
ax.legend()
print(chosen)
print(built)
plt.show()

# %%
# **Digits that nobody wrote.** Ten classes of images, separated by 45 machines, one for each pair; all share the
# points of the reduced set. Nothing assigns these ten points to classes, and still they become prototypes:
# most digits have one that a reader would recognise.

digits = load_digits()
X, y, T, t = digits.data[::2] / 16, digits.target[::2], digits.data[1::2] / 16, digits.target[1::2]
model = SVC(Gaussian(1.5), C=10.0).fit(X, y)
small = reduced_machine(model, size=10, sample=X)
figure, axes = plt.subplots(1, 10, figsize=(9.5, 1.3), layout="constrained")
for ax, point in zip(axes, small.expansion_.samples.X, strict=True):
    ax.imshow(point.reshape(8, 8), cmap="gray_r", vmin=0.0, vmax=1.0)
    ax.set(xticks=[], yticks=[])
print(f"{len(model.expansion_.samples)} kernels: {model.score(T, t):.3f} of new digits right")
print(f"{len(small.expansion_.samples)} kernels: {small.score(T, t):.3f}")
plt.show()

# %%
# **Keep the decisions, not the function.** A classifier with a large margin may change a good deal before any decision
# does. Given a sample, a reduced set spends its few kernels where decisions are near, and ignores values far beyond the
# margin. With few kernels this is the better use of them; it increases the distance, which is not the aim.

sizes = [5, 10, 20, 40]
ways = {
    "selection": dict(method="selection"),
    "selection, decisions kept": dict(method="selection", sample=X),
    "construction": dict(method="construction"),
    "construction, decisions kept": dict(method="construction", sample=X),
}
figure, ax = plt.subplots(figsize=(5.5, 3.8), layout="constrained")
for color, (name, options) in enumerate(ways.items()):
    errors = [1 - reduced_machine(model, size, **options).score(T, t) for size in sizes]
    ax.loglog(sizes, errors, "o--" if "kept" in name else "o-", color=f"C{color // 2 * 3}", label=name)
    print(f"{name:30s}", " ".join(f"{error:.3f}" for error in errors))
ax.axhline(1 - model.score(T, t), color="k", linestyle=":", linewidth=1)
ax.set(xlabel="kernels", ylabel="share of new digits wrong")
ax.set_xticks(sizes, sizes)
ax.minorticks_off()
ax.legend()
plt.show()

# %%
# **What it is for.** Prediction time is proportional to the number of kernels, apart from the fixed cost of reading the
# data and of the call.

many = np.random.default_rng(0).uniform(-2, 3, (100_000, 2))


def seconds(function):
    """Return the time of an evaluation at many points, the shortest of three runs."""
    times = []
    for _ in range(3):
        began = time.perf_counter()
        function(moons.kernel_.pack(many))
        times.append(time.perf_counter() - began)
    return min(times)


functions = [reduced_set(moons.expansion_, m, method="selection").expansion for m in (10, 20, 50, 100, 150)]
functions.append(moons.expansion_)
counts = [len(f.samples) for f in functions]
taken = [seconds(f) for f in functions]
figure, ax = plt.subplots(figsize=(5.5, 3.6), layout="constrained")
ax.loglog(counts, taken, "o-", color="C0")
ax.loglog(counts, taken[-1] * np.array(counts) / counts[-1], "k:", linewidth=1)
ax.set(xlabel="kernels", ylabel=f"seconds for {len(many)} points")
print(f"{counts[-1]} kernels take {taken[-1] / taken[0]:.0f} times as long as {counts[0]}")
plt.show()
