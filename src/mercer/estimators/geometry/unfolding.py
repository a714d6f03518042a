r"""Maps of manifolds as kernels: matrices whose principal components are the coordinates of Isomap, LLE and others.

Symbols: G shortest paths in the graph of neighbours, P = I - 1 1^T / n, W weights that rebuild a sample from its
neighbours, M a form that is zero on constants and nearly zero on coordinates of the manifold, lambda its largest
eigenvalue; K the kernel matrix that is returned, for ``KernelPCA("precomputed")``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from mercer.arguments import checked
from mercer.arrays import Floats
from mercer.budget import Bytes, Plan
from mercer.constraints import InstanceOf, Integer, Optional, Positive
from mercer.domains import Samples, Vectors
from mercer.errors import DomainError, ParameterError, warn_caller
from mercer.estimators.geometry.shortest_paths import shortest_paths
from mercer.estimators.graph_modes import flat_modes
from mercer.estimators.neighbours import Neighbours, find_neighbours
from mercer.kernels import Kernel, Linear
from mercer.kernels.vectors.pointwise import dense
from mercer.numerics.block_krylov import leading_eigenpairs
from mercer.numerics.laplacians import components
from mercer.runtime.tiling import serial_blas, spans

__all__ = [
    "KERNEL",
    "MEMORY",
    "hessian_kernel",
    "isomap_kernel",
    "locally_linear_kernel",
    "require_connected",
    "symmetric",
    "with_neighbours",
]
__public__ = ["hessian_kernel", "isomap_kernel", "locally_linear_kernel"]

_ENTRIES = 1 << 21  # of local Gram matrices at a time
_FEW = 500
_SIDE = 512  # of the squares in which a matrix is transposed
_GROUP = 32  # samples whose neighbours are compared by a kernel together
_EACH = 96  # bytes for a pair of neighbours of one sample: local matrices, the sparse form, and its factors


KERNEL = Optional(InstanceOf(Kernel))
MEMORY = Optional(Bytes())
_FACTOR = Optional(Integer(1))


@checked(n_neighbors=Integer(1), kernel=KERNEL, memory=MEMORY)
def isomap_kernel(
    X: Any, n_neighbors: int = 10, *, kernel: Kernel | None = None, memory: int | str | None = None
) -> Floats:
    r"""Isomap as a kernel: inner products from the lengths of shortest paths through neighbours.

    .. math:: K = -\tfrac12 P \, (G_{ij}^2) \, P

    Seed: [KIKS] Section 5.1 [54], [58].

    Parameters
    ----------
    X : raw data or packed samples
    n_neighbors : int, default 10
        Each sample is tied to this many nearest; the graph must be connected.
    kernel : Kernel, optional
        Its distances in feature space are used; None is the Euclidean distance.
    memory : int or str, optional
        Budget in bytes.

    Returns
    -------
    K : (n, n) array
        Symmetric, its rows sum to zero. It need not be positive semidefinite; components of negative eigenvalues are
        not part of the map: give `KernelPCA` its ``gram=Dense(indefinite="clip")``.

    Notes
    -----
    Its principal components are the coordinates of Isomap. Cost O(n^2 (k + log n)), two n x n arrays: for up to some
    ten thousand samples.

    Examples
    --------
    >>> angle = np.linspace(0.0, 3.0, 40)
    >>> K = isomap_kernel(np.column_stack([np.cos(angle), np.sin(angle)]), 2)
    >>> values, vectors = np.linalg.eigh(K)
    >>> bool(values[-1] > 0.999 * np.abs(values).sum())  # an arc is a line, bent
    True
    """
    near = with_neighbours(X, n_neighbors, kernel, memory, 2)[2]
    n, k = near.index.shape
    lengths = np.maximum(near.distances.ravel(), np.finfo(float).tiny)  # an edge of length zero is an edge
    graph = sp.csr_matrix((lengths, near.index.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
    require_connected(graph, k)
    G = shortest_paths(graph.maximum(graph.T))
    np.square(G, out=G)
    means = G.mean(axis=1)
    G -= means
    G -= (means - means.mean())[:, None]
    G *= -0.5
    return symmetric(G)  # last: subtractions in two orders differ in the last digit


@checked(n_neighbors=Integer(1), regularization=Positive(), kernel=KERNEL, factor=_FACTOR, memory=MEMORY)
def locally_linear_kernel(
    X: Any,
    n_neighbors: int = 10,
    *,
    regularization: float = 1e-3,
    kernel: Kernel | None = None,
    factor: int | None = None,
    memory: int | str | None = None,
) -> Floats:
    r"""Locally linear embedding as a kernel: samples are alike if the same neighbours rebuild them.

    .. math:: K = \lambda P - M, \qquad M = (I - W)^\top (I - W), \qquad
        \min_W \sum_i \Big\| \Phi(x_i) - \sum_j W_{ij} \Phi(x_j) \Big\|^2, \quad \sum_j W_{ij} = 1

    Seed: [KIKS] Section 5.1 [55], [58].

    Parameters
    ----------
    X : raw data or packed samples
    n_neighbors : int, default 10
        k, the neighbours that rebuild a sample.
    regularization : float, default 1e-3
        This part of the trace is added to the diagonal of each local Gram matrix. Positive, since more neighbours than
        dimensions leave the weights open.
    kernel : Kernel, optional
        Samples are rebuilt in its feature space; None is the space of the samples.
    factor : int, optional
        q. Instead of K return its best factor with this many columns, from the sparse M alone.
    memory : int or str, optional
        Budget in bytes.

    Returns
    -------
    K : (n, n) array, or F of shape (n, q) with a ``factor``
        Positive semidefinite, its rows sum to zero; its leading eigenvectors are the coordinates. F F^T is the
        matrix of rank q nearest to K, and the columns of F are what `KernelPCA` makes of K, largest first.

    Notes
    -----
    The leading eigenvalues lie close together: `KernelPCA` separates them by an inverse, for some thousand samples. A
    ``factor`` is found by a sparse factorisation of M, for some hundred thousand. Cost O(n k^3) beside the
    neighbours, and one n x n array, or memory O(n k^2) with a ``factor``.

    Examples
    --------
    >>> X = np.linspace(0.0, 1.0, 30)[:, None] * [3.0, 4.0]
    >>> values, vectors = np.linalg.eigh(locally_linear_kernel(X, 4))
    >>> abs(np.corrcoef(vectors[:, -1], X[:, 0])[0, 1]).round(3)
    np.float64(1.0)
    """
    kernel, S, near = with_neighbours(X, n_neighbors, kernel, memory, 2, factor)
    n, k = near.index.shape
    weights = np.empty((n, k))
    for rows, C in _local_grams(kernel, S, near, around_sample=True):
        trace = np.trace(C, axis1=1, axis2=2)
        C[:, np.arange(k), np.arange(k)] += regularization * np.where(trace > 0.0, trace, 1.0)[:, None]
        try:
            found = np.linalg.solve(C, np.ones((len(C), k, 1)))[:, :, 0]
        except np.linalg.LinAlgError:
            found = np.full((len(C), k), np.nan)
        if not np.isfinite(found).all():
            raise ParameterError(
                f"regularization={regularization!r} was given; weights of neighbours cannot be distinguished by it, or "
                "by distances so small. Use 1e-3, and scale X."
            )
        weights[rows] = found / found.sum(axis=1, keepdims=True)
    W = sp.csr_array((weights.ravel(), near.index.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
    B = sp.csr_array(sp.eye_array(n) - W)
    return _turned_over(sp.csr_array(B.T @ B), factor)


@checked(n_neighbors=Integer(1), n_components=Integer(1), kernel=KERNEL, factor=_FACTOR, memory=MEMORY)
def hessian_kernel(
    X: Any,
    n_neighbors: int = 10,
    n_components: int = 2,
    *,
    kernel: Kernel | None = None,
    factor: int | None = None,
    memory: int | str | None = None,
) -> Floats:
    r"""Hessian eigenmap as a kernel: functions are long in it if they bend little along the manifold.

    .. math:: K = \lambda P - M, \qquad f^\top M f \approx \int \|\operatorname{Hess} f\|_F^2

    Second derivatives are fitted on each set of neighbours in the coordinates of its principal components: M sums, over
    the sets, projections onto products of two coordinates, made orthogonal to constants and to the coordinates.

    Seed: [KIKS] Section 5.1 [57], [58].

    Parameters
    ----------
    X : raw data or packed samples
    n_neighbors : int, default 10
        k > r (r + 3) / 2.
    n_components : int, default 2
        r, the dimension of the manifold.
    kernel : Kernel, optional
        The manifold is in its feature space; None is the space of the samples.
    factor : int, optional
        q. Instead of K return its best factor with this many columns, from the sparse M alone.
    memory : int or str, optional
        Budget in bytes.

    Returns
    -------
    K : (n, n) array, or F of shape (n, q) with a ``factor``
        Positive semidefinite, its rows sum to zero; its r leading eigenvectors are the coordinates. F F^T is the
        matrix of rank q nearest to K, and the columns of F are what `KernelPCA` makes of K, largest first.

    Notes
    -----
    The leading eigenvalues lie close together: `KernelPCA` separates them by an inverse, for some thousand samples. A
    ``factor`` is found by a sparse factorisation of M, for some hundred thousand. Cost O(n k^3) beside the
    neighbours, and one n x n array, or memory O(n k^2) with a ``factor``.

    scikit-learn's ``method="hessian"`` takes all columns of a complete QR decomposition, so it sums projections onto
    everything that is neither constant nor linear, not onto products of coordinates alone: it is its own
    ``method="ltsa"``, the alignment of local tangent spaces. The two definitions are one where products of coordinates
    are all there is, with r (r + 3) / 2 + 1 neighbours; with more the planes differ, the more the surface bends.

    Examples
    --------
    >>> x, y = np.random.default_rng(0).uniform(size=(2, 200))
    >>> K = hessian_kernel(np.column_stack([np.cos(2 * x), np.sin(2 * x), y]), 12)
    >>> coordinates = np.linalg.eigh(K)[1][:, -2:]
    >>> rest = np.linalg.lstsq(np.column_stack([coordinates, np.ones(200)]), np.column_stack([x, y]), rcond=None)[1]
    >>> bool(rest.sum() < 0.01)
    True
    """
    r = n_components
    columns = 1 + r + r * (r + 1) // 2
    kernel, S, near = with_neighbours(X, n_neighbors, kernel, memory, 2, factor)
    n, k = near.index.shape
    if k < columns:
        raise ParameterError(
            f"n_neighbors={n_neighbors} was given for {n} samples and n_components={r}; second derivatives need more "
            f"than r (r + 3) / 2 = {columns - 1} neighbours. Raise n_neighbors."
        )
    i, j = np.triu_indices(r)
    blocks = np.empty((n, k, k))
    for rows, C in _local_grams(kernel, S, near, around_sample=False):
        means = C.mean(axis=1, keepdims=True)
        C = C - means - means.transpose(0, 2, 1) + means.mean(axis=2, keepdims=True)
        U = np.linalg.eigh(C)[1][:, :, ::-1][:, :, :r]
        Y = np.concatenate([np.ones((len(C), k, 1)), U, U[:, :, i] * U[:, :, j]], axis=2)
        Q = np.linalg.qr(Y)[0][:, :, r + 1 :]  # products of coordinates, without what is constant or linear
        blocks[rows] = Q @ Q.transpose(0, 2, 1)
    places = (np.repeat(near.index, k, axis=1).ravel(), np.tile(near.index, (1, k)).ravel())
    return _turned_over(sp.csr_array(sp.coo_array((blocks.ravel(), places), shape=(n, n))), factor)


# ------------------------------------------------------------------------------------------------- parts


def with_neighbours(
    X: Any, n_neighbors: int, kernel: Kernel | None, memory: int | str | None, arrays: int, factor: int | None = None
) -> tuple[Kernel, Samples, Neighbours]:
    """Pack the data, and find the neighbours."""
    kernel = Linear() if kernel is None else kernel.check()
    S = kernel.pack(X)
    n = len(S)
    if factor is None:
        plan = Plan(f"a kernel matrix of {n} samples", {"matrices": 8 * arrays * n * n}, ("factor=", "fewer samples"))
    else:
        Integer(1, max(n - 1, 1)).check("factor", factor, "a kernel matrix")
        k = min(int(n_neighbors), n)
        sizes = {"sparse matrices": _EACH * n * k * k, "bases": 160 * n * (5 * factor // 4 + 8)}
        plan = Plan(f"a factor of a kernel matrix of {n} samples", sizes, ("fewer n_neighbors",))
    plan.require(memory)
    kernel = kernel.learn(S, None, np.ones(len(S)))
    return kernel, S, find_neighbours(kernel, S, int(n_neighbors))


def require_connected(graph: Any, k: int) -> None:
    """Raise DomainError unless all samples are tied to each other."""
    parts, _ = components(graph)
    if parts > 1:
        raise DomainError(
            f"the graph of {k} neighbours falls into {parts} parts that nothing ties to each other; distances between "
            "them are not known. Raise n_neighbors, or give each part alone."
        )


def _local_grams(kernel: Kernel, S: Samples, near: Neighbours, around_sample: bool) -> Iterator[tuple[slice, Floats]]:
    """Give Gram matrices of the neighbours of some samples, (m, k, k), around the sample or around their first."""
    n, k = near.index.shape
    if type(kernel) is Linear and isinstance(S, Vectors):
        X = dense(S)
        for rows in spans(n, max(1, _ENTRIES // (k * max(k, X.shape[1])))):
            who = near.index[rows]
            centre = np.arange(n)[rows] if around_sample else who[:, 0]
            C = X[who] - X[centre][:, None, :]
            yield rows, C @ C.transpose(0, 2, 1)
        return
    for rows in spans(n, _GROUP):
        who, own = near.index[rows], np.arange(n)[rows]
        several = np.unique(np.concatenate([who.ravel(), own]))
        table = kernel(S.take(several))
        who, own = np.searchsorted(several, who), np.searchsorted(several, own)
        centre = own if around_sample else who[:, 0]
        to = table[who, centre[:, None]]
        C = table[who[:, :, None], who[:, None, :]] - to[:, :, None] - to[:, None, :]
        yield rows, C + table[centre, centre][:, None, None]


def _turned_over(M: Any, factor: int | None) -> Floats:
    """Return lambda P - M, with lambda the largest eigenvalue of M, or its best factor."""
    n = M.shape[0]
    if n <= _FEW:
        largest = float(np.linalg.eigvalsh(M.toarray())[-1])
    else:
        with serial_blas():  # blocks are narrow: to share them among threads costs more than it saves
            found = leading_eigenpairs(lambda V: np.asarray(M @ V), n, 1, tol=1e-8)
        largest = float(found.values[0] + found.residuals[0])
    if factor is not None:
        values, U, converged = flat_modes(M, factor, largest)
        if not converged:
            warn_caller(
                "The sparse eigenvalue problem had not settled after 100 products; the factor is the best it had "
                "found. Use another number of neighbours, or fewer columns.",
                ConvergenceWarning,
            )
        return U * np.sqrt(np.maximum(largest - values, 0.0))
    K = -M.toarray()
    K[np.diag_indices(n)] += largest
    K -= largest / n
    return symmetric(K)


def symmetric(K: Floats) -> Floats:
    """Replace a matrix by the mean of itself and its transpose, in place."""
    n = len(K)
    for a in range(0, n, _SIDE):
        for b in range(0, a + 1, _SIDE):
            lower, upper = K[a : a + _SIDE, b : b + _SIDE], K[b : b + _SIDE, a : a + _SIDE]
            mean = 0.5 * (lower + upper.T)
            lower[...], upper[...] = mean, mean.T
    return K
