"""
Time series: alignments and paths
=================================

Two recordings of the same movement are never equally fast. How alike are they? The global alignment kernel pairs their
points in order, in all possible ways, and adds up; the signature kernel asks in which order the channels move.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import cross_val_score

from mercer import SVC
from mercer.kernels import Gaussian
from mercer.kernels.series.global_alignment import GlobalAlignmentSeries
from mercer.kernels.series.signature import Signature

rng = np.random.default_rng(0)


def bump(at, width, length):
    return np.exp(-(((np.linspace(0.0, 1.0, length) - at) / width) ** 2))


# %%
# **The soft alignment.** The second series is the first one with its pauses made longer and shorter. Every alignment is
# a path through the grid of pairs of points, from the first pair to the last; its weight depends on how similar the
# paired points are. Drawn below: the probability that two points are paired, if alignments are sampled in proportion to
# their weight. With a small length scale the best alignment dominates, with a large one none stands out. The value k is
# that of the whole series: the longer they are, the larger the length scale has to be for k to be useful.

x = bump(0.25, 0.06, 60) - bump(0.45, 0.06, 60) + 0.6 * bump(0.8, 0.05, 60)
y = bump(0.15, 0.05, 75) - bump(0.55, 0.08, 75) + 0.6 * bump(0.7, 0.05, 75) + 0.03 * rng.normal(size=75)
figure = plt.figure(figsize=(10, 6.4), layout="constrained")
grid = figure.add_gridspec(2, 3, height_ratios=(2, 3))
for place, length_scale in enumerate((0.05, 0.3, 2.0)):
    kernel = GlobalAlignmentSeries(length_scale)
    chance = kernel.alignment(x, y)
    top = figure.add_subplot(grid[0, place])
    top.plot(x + 1.5, color="C0")
    top.plot(y - 1.5, color="C1")
    for i, j in np.argwhere(chance > 0.2)[::2]:
        top.plot((i, j), (x[i] + 1.5, y[j] - 1.5), color="0.6", lw=1.2 * chance[i, j])
    top.set_title(f"length scale {length_scale:g}: k = {kernel([x], [y])[0, 0]:.3g}")
    top.axis("off")
    below = figure.add_subplot(grid[1, place])
    below.imshow(np.sqrt(chance), origin="lower", cmap="magma_r", vmin=0.0, vmax=1.0)
    below.set(xlabel="points of the second series", ylabel="points of the first" if place == 0 else "")
plt.show()

# %%
# **A band** forbids pairing points that are far apart in time, and saves time: for long series only a strip of the grid
# is computed. Its edge is not sharp. Pairs count less the farther apart they are, and the kernel stays positive
# definite. A wide band is as good as none.

figure, axes = plt.subplots(1, 3, figsize=(10, 3.4), layout="constrained", sharey=True)
for ax, band in zip(axes, (18, 30, None), strict=True):
    ax.imshow(np.sqrt(GlobalAlignmentSeries(0.3, band).alignment(x, y)), origin="lower", cmap="magma_r", vmin=0, vmax=1)
    ax.set_title("no band" if band is None else f"band {band}")
plt.show()

# %%
# **The order of channels.** A path in the plane: first to the right and then up, or first up and then to the right. The
# total displacement is the same, the signed area between the path and its chord is not. It is an iterated integral of
# order two, the first thing that the signature kernel knows beyond the displacement. Speed does not matter to it.

turn = np.linspace(0.0, np.pi / 2, 12)
right_first = np.column_stack((np.sin(turn), 1.0 - np.cos(turn)))
up_first = right_first[:, ::-1]
slower = right_first[np.repeat(np.arange(12), rng.integers(1, 4, size=12))]
wiggling = right_first + 0.03 * rng.normal(size=(12, 2))
paths = {"right first": right_first, "up first": up_first, "slower": slower, "wiggling": wiggling}
K = Signature(length_scale=0.5).normalized()(list(paths.values()))
figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
for (name, path), style in zip(paths.items(), ("-", "-", "o", "--"), strict=True):
    axes[0].plot(*path.T, style, label=name)
axes[0].set_aspect("equal")
axes[0].legend()
axes[1].imshow(K, vmin=0.0, vmax=1.0, cmap="Blues")
for i, j in np.ndindex(K.shape):
    axes[1].text(j, i, f"{K[i, j]:.2f}", ha="center", va="center", color="w" if K[i, j] > 0.6 else "k")
axes[1].set_xticks(range(4), paths, rotation=20)
axes[1].set_yticks(range(4), paths)
plt.show()

# %%
# **More and more orders.** Integrals up to order P, one P after another, approach the kernel of all orders, which is
# found without any of them: as the solution of a partial differential equation.

exact = Signature()([right_first], [up_first])[0, 0]
for depth in (1, 2, 3, 4, 6, 8):
    print(f"order {depth}: {Signature(depth)([right_first], [up_first])[0, 0] - exact:+.1e} from {exact:.6f}")

# %%
# **Learning.** Two movements that differ in the order of their parts, at random speeds and of different lengths. Means
# and deviations do not see a difference; alignments and signatures (with the time as a channel) do.


def movement(label):
    length = int(rng.integers(30, 50))
    first, second = np.sort(rng.uniform(0.15, 0.85, size=2))
    parts = bump(first, 0.06, length), bump(second, 0.06, length)
    return np.column_stack(parts if label else parts[::-1]) + 0.3 * rng.normal(size=(length, 2))


labels = np.arange(80) % 2
series = [movement(label) for label in labels]
summaries = np.array([np.concatenate((s.mean(axis=0), s.std(axis=0))) for s in series])
with_time = [np.column_stack((np.linspace(0.0, 1.0, len(s)), np.cumsum(s, axis=0) / len(s))) for s in series]
align: GlobalAlignmentSeries = GlobalAlignmentSeries("median")
align = align.learn(align.pack(series))
matrices = {
    "means and deviations": Gaussian(0.2)(summaries),
    "GlobalAlignmentSeries": align(series),
    "Signature(3), running means": Signature(3, length_scale=0.2).normalized()(with_time),
}
for name, matrix in matrices.items():
    scores = cross_val_score(SVC("precomputed", C=10.0), matrix, labels, cv=5)
    print(f"{name:28}{scores.mean():.3f}")
