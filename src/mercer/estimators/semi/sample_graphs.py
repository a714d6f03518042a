"""The graph of all training samples, with and without a label, and its Laplacian."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Floats, Indices
from mercer.budget import Resources
from mercer.domains import Samples
from mercer.domains.identity import distinct
from mercer.errors import DomainError
from mercer.estimators.neighbours import affinities, find_neighbours
from mercer.kernels import Kernel
from mercer.numerics.laplacians import laplacian

__all__ = ["given_affinities", "sample_laplacian"]


def sample_laplacian(
    estimator: Any, kernel: Kernel, S: Samples, weight: Floats, used: Indices, resources: Resources
) -> sp.csr_array:
    """Return the (n, n) Laplacian of the graph of the samples.

    Equal samples are one node, since a function has one value there, and the weight of an edge is multiplied by those
    of its ends: a sample of weight w is the same as w copies.

    Parameters
    ----------
    estimator : object
        With ``graph``, ``n_neighbors``, ``weights`` and ``normalized``.
    kernel : Kernel
        Whose nearest samples are neighbours.
    S : Samples
    weight : (n,) array
    used : (n,) array of int
        Their places among all that were given, which the nodes of a given graph are.
    resources : Resources
    """
    n = len(S)
    if estimator.graph is not None:
        A: Any = given_affinities(estimator.graph)
        if A.shape[0] <= used.max(initial=-1):
            raise DomainError(
                f"graph has {A.shape[0]} nodes, and X more samples; each sample must be a node. Give the affinities of "
                "all samples of X, in their order."
            )
        A = A[used][:, used]
        scale = sp.diags_array(weight)
        return laplacian(sp.csr_array(scale @ A @ scale), estimator.normalized)
    first, group = distinct(S)
    if len(first) < 2:
        return sp.csr_array((n, n))
    near = find_neighbours(kernel, S.take(first) if len(first) < n else S, estimator.n_neighbors, resources)
    scale = sp.diags_array(np.bincount(group, weights=weight))
    L = laplacian(sp.csr_array(scale @ affinities(near, estimator.weights) @ scale), estimator.normalized).tocoo()
    row, column = L.coords
    return sp.csr_array((L.data, (first[row], first[column])), shape=(n, n))


def given_affinities(graph: Any) -> sp.csr_array:
    """Return the affinities of a graph that was given, checked."""
    if np.ndim(graph) != 2:
        raise DomainError(
            f"graph is an array of {np.ndim(graph)} dimensions; a square matrix of affinities is accepted. Give those "
            "of all samples of X."
        )
    A: Any = sp.csr_array(graph, dtype=float)
    sound = A.shape[0] == A.shape[1] and np.isfinite(A.data).all() and not (A.data < 0.0).any()
    if not sound or abs(A - A.T).max() > 1e-8 * abs(A).max():
        raise DomainError(
            f"graph is a matrix of shape {A.shape}, or has negative, infinite or unsymmetric entries; a square "
            "symmetric matrix of finite affinities that are not negative is accepted. Give those of all samples of X."
        )
    return A
