"""Maximum variance unfolding: the kernel of largest variance that keeps the distances of neighbours.

Symbols: Z coordinates of the samples, in the functions that are smooth on the graph of neighbours or by themselves;
i, j pairs of neighbours with squares of distances that are kept; K the kernel matrix that is returned, for
``KernelPCA("precomputed")``.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from mercer.arguments import checked
from mercer.arrays import Floats, Indices
from mercer.budget import Plan
from mercer.constraints import Integer, Optional, Positive
from mercer.domains import Samples, Vectors
from mercer.errors import CapabilityError, DegenerateWarning, warn_caller
from mercer.estimators.geometry.unfolding import KERNEL, MEMORY, require_connected, symmetric, with_neighbours
from mercer.estimators.graph_modes import smooth_modes
from mercer.estimators.neighbours import Neighbours, affinities
from mercer.kernels import Kernel, Linear
from mercer.kernels.vectors.pointwise import dense
from mercer.numerics.cone_solver import solve_cones
from mercer.numerics.eigen import eigh_in_place
from mercer.runtime.tiling import in_background

__all__ = ["unfolding_kernel"]
__public__ = __all__

_ROUNDS = 300  # steps that bring an unfolding of low rank to its edges
_EXACT = 50  # samples up to which the exact unfolding is found, in less than a minute
_RANK = 12  # smooth functions of which more samples are made
_FIRMER = 10.0, 100.0, 1000.0  # times the penalty, one after another, where the rank was not given
_KEPT = 1e-3  # of the mean square of distances: error up to which they are kept
_WIDER = 3  # columns of noise
_SHAKEN = 1e-2  # their size
_FIRST = 1.0  # penalty
_TURNS = 8  # how often it grows
_PRESENT = 1e-6  # of the largest eigenvalue: dimensions that an unfolding uses


@checked(n_neighbors=Integer(1), rank=Optional(Integer(1)), penalty=Positive(), kernel=KERNEL, memory=MEMORY)
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
    kernel, S, near = with_neighbours(X, n_neighbors, kernel, memory, 2)
    n, k = near.index.shape
    graph = affinities(near, "one")
    require_connected(graph, k)
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
    return symmetric(size * (Z @ Z.T))


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
    n, best, own = len(Z), Z, float(np.sum(Z * Z))  # no columns at all, if the samples are all the same
    noise = np.random.default_rng(0).normal(size=(n, min(_WIDER, n))) * (_SHAKEN * np.sqrt(own / max(Z.size, 1)))
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
    solved = solve_cones(clarabel, quadratic, slope, sp.csc_matrix(A), b, cones, settings)
    # of the exact program the caller looks at what came out
    if penalty is not None and str(solved.status) not in ("Solved", "AlmostSolved"):
        warn_caller(
            f"clarabel ended with status {solved.status}; the kernel is the best it had found. Use a smaller rank, or "
            "another number of neighbours.",
            ConvergenceWarning,
        )
    return np.asarray(solved.x)
