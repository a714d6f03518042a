"""
Nodes of a graph
================

Sometimes the samples are the nodes of one graph: members of a club, papers that cite each other, stations of a network.
All that is known is who is connected to whom. Kernels on nodes are functions of the Laplacian of the graph: nodes are
alike if there are many short paths between them.
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

from mercer import SVC, GaussianProcessRegressor
from mercer.kernels.graphs.laplacian_kernels import (
    CommuteTime,
    Diffusion,
    PStepWalk,
    RegularizedLaplacian,
    spectral_bisection,
)

# %%
# **Diffusion.** Put one unit of heat on a node and wait. What has arrived at another node after a time t is the
# diffusion kernel of the two. Heat spreads along the streets of this town; the river in the middle has two bridges,
# and heat has to take them.

town = nx.grid_2d_graph(21, 12)
town.remove_edges_from([((10, y), (11, y)) for y in range(12) if y not in (3, 9)])
places = np.array(list(town))
centre = (8, 6)


def draw(ax, values, title):
    for u, v in town.edges:
        ax.plot(*np.array([u, v]).T, color="0.8", lw=1, zorder=0)
    shown = ax.scatter(*places.T, c=values, cmap="magma_r", s=45, vmin=0.0)
    ax.scatter(*centre, marker="o", s=110, facecolor="none", edgecolor="tab:blue", lw=2)
    ax.set_title(title)
    ax.axis("off")
    return shown


figure, axes = plt.subplots(2, 2, figsize=(10, 6.5), layout="constrained")
for ax, time in zip(axes.flat, (0.5, 2.0, 8.0, 32.0), strict=True):
    heat = Diffusion(town, time)([centre], list(town))[0]
    figure.colorbar(draw(ax, heat, f"Diffusion, t = {time:g}"), ax=ax, fraction=0.03)
plt.show()

# %%
# **Other functions of the Laplacian.** The regularised Laplacian sums over all times; the walk of p steps reaches no
# farther than p streets; commute times may be negative for nodes on opposite sides. All of them know about the bridges.

figure, axes = plt.subplots(1, 3, figsize=(12, 3), layout="constrained")
for ax, kernel, name in zip(
    axes,
    (RegularizedLaplacian(town, 0.05), PStepWalk(town, 4), CommuteTime(town)),
    ("RegularizedLaplacian, shift 0.05", "PStepWalk, 4 steps", "CommuteTime"),
    strict=True,
):
    values = kernel.normalized()([centre], list(town))[0]
    figure.colorbar(draw(ax, values, name), ax=ax, fraction=0.03)
plt.show()

# %%
# **Cutting a graph in two.** The eigenvector of the second smallest eigenvalue of the Laplacian changes as little as
# possible along edges; where its sign changes, the graph is cut. In a karate club of the seventies the instructor
# (node 0) and the president (node 33) fell out, and the members went with one or the other. The cut knows only who met
# whom outside the club.

club = nx.karate_club_graph()
went = np.array([data["club"] != "Mr. Hi" for _, data in club.nodes(data=True)]).astype(int)
ties = nx.empty_graph(34)
ties.add_edges_from(club.edges)
cut = spectral_bisection(ties)
where = nx.spring_layout(ties, seed=4)
xy = np.array([where[i] for i in ties])

figure, ax = plt.subplots(figsize=(8, 5), layout="constrained")
for u, v in ties.edges:
    ax.plot(*xy[[u, v]].T, color="0.8", lw=1, zorder=0)
for side, marker in ((0, "o"), (1, "s")):
    rows = went == side
    shown = ax.scatter(*xy[rows].T, c=cut.vector[rows], cmap="coolwarm", marker=marker, s=170, vmin=-0.3, vmax=0.3)
for i in ties:
    ax.text(*xy[i], str(i), ha="center", va="center", size=8)
figure.colorbar(shown, label="second eigenvector")
ax.set_title("circles went with the instructor, squares with the president")
ax.axis("off")
plt.show()

print(f"{int((cut.sides != went).sum())} of 34 members are on the other side of the cut than they went to")

# %%
# **Learning from two.** A support vector machine knows where the instructor and the president went, and predicts the
# others from the ties.

machine = SVC(Diffusion(ties, 0.5), C=100.0).fit([0, 33], went[[0, 33]])
print(f"{int((machine.predict(list(ties)) != went).sum())} of 34 are predicted wrongly")

# %%
# **How far does it spread?** The time is a parameter like any other: a Gaussian process finds it by maximising the
# evidence. Here values were measured, with noise, at every third place of the town.

rng = np.random.default_rng(0)
nodes = list(town)
truth = np.linalg.cholesky(Diffusion(town, 6.0).normalized()(nodes) + 1e-10 * np.eye(len(nodes))) @ rng.standard_normal(
    len(nodes)
)
seen = nodes[::3]
y = truth[::3] + 0.05 * rng.standard_normal(len(seen))
process = GaussianProcessRegressor(10.0 * Diffusion(town, 1.0), noise=0.01).fit(seen, y)
error = np.sqrt(np.mean((process.predict(nodes) - truth) ** 2))
print(process.kernel_)
print(f"error {error:.2f}, values between {truth.min():.1f} and {truth.max():.1f}")
