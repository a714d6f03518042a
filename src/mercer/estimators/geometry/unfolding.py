r"""Maps of manifolds as kernels: matrices whose principal components are the coordinates of Isomap, LLE and others.

Symbols: G shortest paths in the graph of neighbours, P = I - 1 1^T / n, W weights that rebuild a sample from its
neighbours, M a form that is zero on constants and nearly zero on coordinates of the manifold, lambda its largest
eigenvalue; K the kernel matrix that is returned, for ``KernelPCA("precomputed")``.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.csgraph as csgraph
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from mercer.arguments import Bytes, checked
from mercer.arrays import Floats, Indices
from mercer.budget import Plan
from mercer.constraints import InstanceOf, Integer, Optional, Positive
from mercer.domains import Samples, Vectors
from mercer.errors import CapabilityError, DegenerateWarning, DomainError, ParameterError, warn_caller
from mercer.estimators.graph_modes import flat_modes, smooth_modes
from mercer.estimators.neighbours import Neighbours, affinities, find_neighbours
from mercer.kernels import Kernel, Linear
from mercer.kernels.vectors.pointwise import dense
from mercer.numerics.block_krylov import leading_eigenpairs
from mercer.numerics.eigen import eigh_in_place
from mercer.numerics.laplacians import components
from mercer.runtime.interrupts import in_background
from mercer.runtime.tiling import serial_blas, spans

__all__ = ["hessian_kernel", "isomap_kernel", "locally_linear_kernel", "unfolding_kernel"]
__public__ = __all__

_ENTRIES = 1 << 21  # of local Gram matrices at a time
_FEW = 500
_SIDE = 512  # of the squares in which a matrix is transposed
_ROUNDS = 300  # steps that bring an unfolding of low rank to its edges
_GROUP = 32  # samples whose neighbours are compared by a kernel together
_EACH = 96  # bytes for a pair of neighbours of one sample: local matrices, the sparse form, and its factors
_EXACT = 50  # samples up to which the exact unfolding is found, in less than a minute
_RANK = 12  # smooth functions of which more samples are made
_FIRMER = 10.0, 100.0, 1000.0  # times the penalty, one after another, where the rank was not given
_KEPT = 1e-3  # of the mean square of distances: error up to which they are kept
_WIDER, _SHAKEN, _FIRST, _TURNS = (
    3,
    1e-2,
    1.0,
    8,
)  # columns of noise and their size; first penalty, and how often it grows
_PRESENT = 1e-6  # of the largest eigenvalue: dimensions that an unfolding uses


_KERNEL = Optional(InstanceOf(Kernel))
_MEMORY = Optional(Bytes())
_FACTOR = Optional(Integer(1))


@checked(n_neighbors=Integer(1), kernel=_KERNEL, memory=_MEMORY)
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
    near = _start(X, n_neighbors, kernel, memory, 2)[2]
    n, k = near.index.shape
    lengths = np.maximum(near.distances.ravel(), np.finfo(float).tiny)  # an edge of length zero is an edge
    graph = sp.csr_matrix((lengths, near.index.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
    _require_connected(graph, k)
    G = in_background(lambda: csgraph.shortest_path(graph, method="D", directed=False), work=200.0 * n * n * k)
    np.square(G, out=G)
    means = G.mean(axis=1)
    G -= means
    G -= (means - means.mean())[:, None]
    G *= -0.5
    return _symmetric(G)  # last: subtractions in two orders differ in the last digit


@checked(n_neighbors=Integer(1), regularization=Positive(), kernel=_KERNEL, factor=_FACTOR, memory=_MEMORY)
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
    The leading eigenvalues lie close together: give `KernelPCA` its ``eigen_solver="dense"``, for some thousand
    samples. A ``factor`` is found by a sparse factorisation of M, for some hundred thousand. Cost O(n k^3) beside the
    neighbours, and one n x n array, or memory O(n k^2) with a ``factor``.

    Examples
    --------
    >>> X = np.linspace(0.0, 1.0, 30)[:, None] * [3.0, 4.0]
    >>> values, vectors = np.linalg.eigh(locally_linear_kernel(X, 4))
    >>> abs(np.corrcoef(vectors[:, -1], X[:, 0])[0, 1]).round(3)
    np.float64(1.0)
    """
    kernel, S, near = _start(X, n_neighbors, kernel, memory, 2, factor)
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
                f"regularization={regularization!r} was given; weights of neighbours cannot be told apart by it, or by "
                "distances so small. Use 1e-3, and scale X."
            )
        weights[rows] = found / found.sum(axis=1, keepdims=True)
    W = sp.csr_array((weights.ravel(), near.index.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
    B = sp.csr_array(sp.eye_array(n) - W)
    return _turned_over(sp.csr_array(B.T @ B), factor)


@checked(n_neighbors=Integer(1), n_components=Integer(1), kernel=_KERNEL, factor=_FACTOR, memory=_MEMORY)
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
    The leading eigenvalues lie close together: give `KernelPCA` its ``eigen_solver="dense"``, for some thousand
    samples. A ``factor`` is found by a sparse factorisation of M, for some hundred thousand. Cost O(n k^3) beside the
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
    kernel, S, near = _start(X, n_neighbors, kernel, memory, 2, factor)
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


@checked(n_neighbors=Integer(1), rank=Optional(Integer(1)), penalty=Positive(), kernel=_KERNEL, memory=_MEMORY)
def unfolding_kernel(
    X: Any,
    n_neighbors: int = 4,
    *,
    rank: int | None = None,
    penalty: float = 100.0,
    kernel: Kernel | None = None,
    memory: int | str | None = None,
) -> Floats:
    r"""Maximum variance unfolding: the kernel of largest variance that keeps the distances between neighbours.

    .. math:: \max_{K \succeq 0} \operatorname{tr} K \quad \text{with} \quad 1^\top K 1 = 0, \quad
        K_{ii} + K_{jj} - 2 K_{ij} = \|\Phi(x_i) - \Phi(x_j)\|^2

    for all i, j that are neighbours, or neighbours of the same sample. With a rank distances are kept in the sense of
    least squares:

    .. math:: \max_{K \succeq 0} \operatorname{tr}(K) / t - \nu \operatorname{mean}_{ij}
        (K_{ii} + K_{jj} - 2 K_{ij} - d_{ij}^2)^2 / \bar d^4

    with t the variance of the samples as they are, and the mean of d^2 over the edges. First K = Q Y Q^T, with the
    smoothest functions on the graph in the columns of Q, which is a small semidefinite program in Y. All these
    functions are flat at the boundary, where distances come out too short; a search by gradients continues from there
    over all K = Z Z^T with as many columns as Y has dimensions.

    Seed: [KIKS] Section 5.1 [59].

    Parameters
    ----------
    X : raw data or packed samples
    n_neighbors : int, default 4
    rank : int, optional
        Columns of Q, 8 to 20 for thousands of samples. None solves the exact problem for up to 50 samples. For more it
        takes 12 and continues by gradients with penalties up to a thousand times as large, with a warning that says how
        far distances are kept: to some hundredths of their mean.
    penalty : float, default 100
        nu, used with a rank.
    kernel : Kernel, optional
        Its distances in feature space are kept; None is the Euclidean distance.
    memory : int or str, optional
        Budget in bytes.

    Returns
    -------
    K : (n, n) array
        Positive semidefinite, its rows sum to zero.

    Notes
    -----
    Where neighbours hold the samples so firmly that nearly nothing else keeps their distances, the program has no
    interior, and no interior-point method an answer; K is then found by steps from the samples' own Gram matrix, which
    keeps them all, and a warning says so.

    A semidefinite program, solved by the interior-point method of clarabel (``pip install mercer[qp]``). Cost grows
    with the sixth power of the rank, or of n. Whatever the rank, K is an n x n array: for up to some ten thousand
    samples.

    Examples
    --------
    >>> angle = np.linspace(0.0, 3.0, 12)
    >>> K = unfolding_kernel(np.column_stack([np.cos(angle), np.sin(angle)]), 2)
    >>> values = np.linalg.eigvalsh(K)
    >>> bool(values[-1] > 0.99 * values.sum())  # an arc, pulled straight but for the triangles of neighbours
    True
    """
    kernel, S, near = _start(X, n_neighbors, kernel, memory, 2)
    n, k = near.index.shape
    graph = affinities(near, "one")
    _require_connected(graph, k)
    i, j, squares = _kept_pairs(kernel, S, near)
    size = float(squares.mean()) or 1.0
    chosen = rank is None and n > _EXACT
    if chosen:
        rank = _RANK
    if rank is None or rank >= n - 1:
        Q = np.linalg.qr(np.column_stack([np.ones(n), np.eye(n)[:, : n - 1]]))[0][:, 1:]
    else:
        modes = smooth_modes(graph, rank).vectors
        Q = np.linalg.qr(modes - modes.mean(axis=0))[0]
    r = Q.shape[1]
    Plan(
        f"unfolding of {n} samples", {"semidefinite program": 4 * r**4 + 8 * len(i) * r * r}, ("a smaller rank",)
    ).require(memory)
    steps = Q[i] - Q[j]
    a, b = np.tril_indices(r)  # the upper triangle by columns
    scale = np.where(a == b, 1.0, np.sqrt(2.0))
    forms = steps[:, a] * steps[:, b] * scale
    variance = float(np.sum(_variance(kernel, S))) / size or 1.0
    y = in_background(_semidefinite, forms, squares / size, (a == b) / variance, r, penalty if r < n - 1 else None)
    Y = np.zeros((r, r))
    Y[a, b] = Y[b, a] = y / scale
    values = eigh_in_place(Y)
    used = values > _PRESENT * values[-1]
    Z = Q @ (Y[used].T * np.sqrt(values[used]))
    if r < n - 1:
        Z = _stretched(Z, i, j, squares / size, penalty, variance)
        if chosen:
            for firmer in _FIRMER:  # this penalty was not given, and distances are what must be kept
                Z = _stretched(Z, i, j, squares / size, firmer * penalty, variance)
            warn_caller(
                f"The exact unfolding is for up to {_EXACT} samples, and {n} were given: K was looked for from "
                f"{_RANK} smooth functions on the graph, as with rank={_RANK}, and by steps, and keeps distances to "
                f"{_off(Z, i, j, squares / size):.2g} of their mean. Give the rank, or fewer samples.",
                DegenerateWarning,
            )
    elif _off(Z, i, j, squares / size) > _KEPT or float(np.sum(Z * Z)) < (1.0 - _KEPT) * variance:
        # the samples themselves keep all distances; where few other ways do, the program has no inside to walk in
        own = _coordinates(kernel, S) / np.sqrt(size)
        Z = _stretched_exactly(own, i, j, squares / size, variance)
        warn_caller(
            f"{k} neighbours hold the {n} samples so firmly that the semidefinite program has no interior; K was "
            f"looked for by steps from the samples themselves, and has {float(np.sum(Z * Z)) / variance:.3g} times "
            "their variance. Fewer n_neighbors let them move.",
            DegenerateWarning,
        )
    return _symmetric(size * (Z @ Z.T))


# ------------------------------------------------------------------------------------------------- parts


def _start(
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


def _require_connected(graph: Any, k: int) -> None:
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
    return _symmetric(K)


def _symmetric(K: Floats) -> Floats:
    """Replace a matrix by the mean of itself and its transpose, in place."""
    n = len(K)
    for a in range(0, n, _SIDE):
        for b in range(0, a + 1, _SIDE):
            lower, upper = K[a : a + _SIDE, b : b + _SIDE], K[b : b + _SIDE, a : a + _SIDE]
            mean = 0.5 * (lower + upper.T)
            lower[...], upper[...] = mean, mean.T
    return K


def _kept_pairs(kernel: Kernel, S: Samples, near: Neighbours) -> tuple[Indices, Indices, Floats]:
    """Return pairs i < j whose distance is kept, and its square: neighbours, and neighbours of the same sample."""
    n, k = near.index.shape
    B = sp.csr_array((np.ones(n * k), near.index.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n)) + sp.eye_array(n)
    pairs = sp.triu(sp.csr_array(B.T @ B), k=1).tocoo()
    i, j = (np.asarray(c, dtype=np.intp) for c in pairs.coords)
    if type(kernel) is Linear and isinstance(S, Vectors):
        X = dense(S)
        return i, j, np.sum((X[i] - X[j]) ** 2, axis=1)
    K = kernel(S)
    return i, j, np.maximum(K[i, i] + K[j, j] - 2.0 * K[i, j], 0.0)


def _variance(kernel: Kernel, S: Samples) -> Floats:
    """Return squared distances of the images from their mean."""
    K = kernel(S)
    return np.maximum(np.diag(K) - 2.0 * K.mean(axis=1) + K.mean(), 0.0)


def _stretched(Z: Floats, i: Indices, j: Indices, squares: Floats, penalty: float, variance: float) -> Floats:
    """Return points from which no small step raises |Z|^2 / variance - penalty mean((|z_i - z_j|^2 - squares)^2)."""
    n, shape, weight = len(Z), Z.shape, penalty / len(i)
    ends, sign = np.concatenate([i, j]), np.arange(len(i))
    B = sp.csr_array((np.repeat([1.0, -1.0], len(i)), (np.tile(sign, 2), ends)), shape=(len(i), n))
    back = sp.csr_array(B.T)

    def loss(z: Floats) -> tuple[float, Floats]:
        Z = z.reshape(shape)
        steps = B @ Z
        gap = np.einsum("ij,ij->i", steps, steps) - squares
        slope = (4.0 * weight) * (back @ (gap[:, None] * steps)) - (2.0 / variance) * Z
        return weight * float(gap @ gap) - float(z @ z) / variance, slope.ravel()

    options = {"maxiter": _ROUNDS, "maxcor": 20, "ftol": 1e-7}
    found = minimize(loss, Z.ravel(), jac=True, method="L-BFGS-B", options=options)
    Z = found.x.reshape(shape)
    return Z - Z.mean(axis=0)


def _off(Z: Floats, i: Indices, j: Indices, squares: Floats) -> float:
    """Return the largest error of a squared distance, over the mean of those that are to be kept."""
    steps = Z[i] - Z[j]
    return float(np.max(np.abs(np.einsum("ij,ij->i", steps, steps) - squares)) / (squares.mean() or 1.0))


def _coordinates(kernel: Kernel, S: Samples) -> Floats:
    """Return points whose inner products are those of the centred images."""
    K = kernel(S)
    means = K.mean(axis=1)
    K = K - means - means[:, None] + means.mean()
    values = eigh_in_place(K)
    used = values > _PRESENT**2 * values[-1]
    return K[used].T * np.sqrt(values[used])


def _stretched_exactly(Z: Floats, i: Indices, j: Indices, squares: Floats, variance: float) -> Floats:
    """Return points of larger variance that keep all distances as the given ones do, by augmented Lagrangians.

    The points given are returned if nothing better keeps them. A few columns of noise are added: a factor that is wider
    than the solution has no local maxima but the best, as a rule.
    """
    n = len(Z)
    noise = np.random.default_rng(0).normal(size=(n, min(_WIDER, n))) * (_SHAKEN * np.sqrt(float(np.mean(Z * Z))))
    best, own = Z, float(np.sum(Z * Z))
    Z = np.hstack([Z, noise - noise.mean(axis=0)])
    shape, weight, multipliers = Z.shape, _FIRST, np.zeros(len(i))
    ends, sign = np.concatenate([i, j]), np.arange(len(i))
    B = sp.csr_array((np.repeat([1.0, -1.0], len(i)), (np.tile(sign, 2), ends)), shape=(len(i), n))
    back = sp.csr_array(B.T)

    def gaps(z: Floats) -> tuple[Floats, Floats]:
        steps = B @ z.reshape(shape)
        return steps, np.einsum("ij,ij->i", steps, steps) - squares

    def loss(z: Floats) -> tuple[float, Floats]:
        steps, gap = gaps(z)
        pull = multipliers + weight * gap
        slope = 2.0 * (back @ (pull[:, None] * steps)) - (2.0 / variance) * z.reshape(shape)
        value = float(multipliers @ gap) + 0.5 * weight * float(gap @ gap) - float(z @ z) / variance
        return value, slope.ravel()

    for _ in range(_TURNS):
        found = minimize(loss, Z.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": _ROUNDS, "maxcor": 20})
        Z = found.x.reshape(shape)
        gap = gaps(found.x)[1]
        multipliers = multipliers + weight * gap
        weight *= 4.0
        if _off(Z, i, j, squares) <= _KEPT and float(np.sum((Z - Z.mean(axis=0)) ** 2)) > own:
            best, own = Z - Z.mean(axis=0), float(np.sum((Z - Z.mean(axis=0)) ** 2))
    return best


def _semidefinite(forms: Floats, squares: Floats, gain: Floats, r: int, penalty: float | None) -> Floats:
    """Return y that maximises gain^T y over semidefinite matrices with forms @ y = squares, or nearly so."""
    try:
        clarabel: Any = importlib.import_module("clarabel")
    except ImportError as error:
        raise CapabilityError(
            "maximum variance unfolding was asked for without clarabel, whose semidefinite solver it needs. Install "
            "it: pip install mercer[qp]."
        ) from error
    N = len(gain)
    cone, none = -sp.eye_array(N), np.zeros(N)
    settings: Any = clarabel.DefaultSettings()
    settings.verbose = False
    if penalty is None:
        quadratic: Any = sp.csc_matrix((N, N))
        slope, A, b = -gain, sp.vstack([sp.csr_array(forms), cone]), np.append(squares, none)
        cones: list[Any] = [clarabel.ZeroConeT(len(squares)), clarabel.PSDTriangleConeT(r)]
    else:
        weight = 2.0 * penalty / len(squares)
        quadratic = sp.csc_matrix(np.triu(weight * (forms.T @ forms)))
        slope, A, b = -gain - weight * (squares @ forms), cone, none
        cones = [clarabel.PSDTriangleConeT(r)]
    solved = clarabel.DefaultSolver(quadratic, slope, sp.csc_matrix(A), b, cones, settings).solve()
    # of the exact program the caller looks at what came out
    if penalty is not None and str(solved.status) not in ("Solved", "AlmostSolved"):
        warn_caller(
            f"clarabel ended with status {solved.status}; the kernel is the best it had found. Use a smaller rank, or "
            "another number of neighbours.",
            ConvergenceWarning,
        )
    return np.asarray(solved.x)
