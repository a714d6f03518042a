r"""
Where loopy propagation fails, and the junction tree does not
=============================================================

Sixteen variables on a grid, each with two states; neighbours attract or repel each other. Messages between neighbours
are exact on trees. On a grid they go round in circles, and count evidence twice: with weak couplings that hardly
matters, with strong ones they are wrong, or never settle. The junction tree sums over all states, in tables that are as
wide as the grid.
"""

import warnings

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

from mercer.networks import MarkovNetwork, junction_tree, log_determinant_bound, loopy_propagation, mean_field

SIDE = 4
rng = np.random.default_rng(3)
grid = nx.grid_2d_graph(SIDE, SIDE)
signs = {edge: rng.choice([-1.0, 1.0]) for edge in grid.edges}
fields = {node: rng.normal(scale=0.3, size=2) for node in grid}


def network(strength):
    graph = nx.Graph()
    for node in grid:
        graph.add_node(node, scores=fields[node])
    for (u, v), sign in signs.items():
        graph.add_edge(u, v, scores=strength * sign)
    return MarkovNetwork.from_graph(graph)


# %%
# Marginals
# ---------
# For each strength of the couplings: the largest error of a marginal, with and without damping. A cross marks runs that
# did not converge.

strengths = np.linspace(0.0, 5.0, 6)
errors = {0.0: [], 0.5: []}
settled = {0.0: [], 0.5: []}
for strength in strengths:
    one = network(strength)
    exact = junction_tree(one).marginals()
    for damping in errors:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = loopy_propagation(one, schedule="parallel", damping=damping, max_iter=100, tol=1e-6)
        errors[damping].append(max(abs(found.marginals()[v][1] - exact[v][1]) for v in one.variables))
        settled[damping].append(found.converged)

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for damping, marker in ((0.0, "C3"), (0.5, "C0")):
    left.plot(strengths, errors[damping], marker, label=f"damping {damping}")
    lost = ~np.array(settled[damping])
    left.plot(strengths[lost], np.array(errors[damping])[lost], "x", color=marker)
left.axhline(0.0, color="0.6", label="junction tree")
left.set(xlabel="strength of the couplings", ylabel="largest error of a marginal", title="Loopy propagation")
left.legend()

# %%
# Bounds
# ------
# The estimate of the log-partition function by propagation is not a bound. Mean field is a lower bound, tighter for
# larger blocks that are treated exactly (here the rows); the log-determinant relaxation is an upper bound.

rows = [[(i, j) for j in range(SIDE)] for i in range(SIDE)]
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    gaps = {
        "log-determinant": [log_determinant_bound(network(s)).log_partition for s in strengths],
        "loopy propagation": [
            loopy_propagation(network(s), damping=0.5, max_iter=100).log_partition for s in strengths
        ],
        "mean field, rows": [mean_field(network(s), rows, tol=1e-6).log_partition for s in strengths],
        "mean field": [mean_field(network(s), tol=1e-6).log_partition for s in strengths],
    }
truth = np.array([junction_tree(network(s)).log_partition for s in strengths])
for name, values in gaps.items():
    right.plot(strengths, np.array(values) - truth, label=name)
right.axhline(0.0, color="0.6")
right.set(xlabel="strength of the couplings", ylabel="minus the exact value", title="Log-partition function")
right.legend()
plt.show()

# %%
# The tree of the grid has a treewidth of four, that of a grid of 30 by 30 more than thirty: then its tables do not fit
# in memory, `junction_tree` says so, and only the approximations are left.

print(junction_tree(network(1.0)).treewidth)
