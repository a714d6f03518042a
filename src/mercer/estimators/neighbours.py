r"""Graphs of nearest neighbours in the feature space of a kernel.

Symbols: d(x, x')^2 = k(x, x) + k(x', x') - 2 k(x, x') squared distances between images, A affinities.

For the linear kernel and for those that fall with the Euclidean distance, neighbours are the Euclidean ones, and
scikit-learn's trees find them; for any other kernel on any domain rows of K are looked at, some at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.neighbors import KDTree, NearestNeighbors

from mercer.arrays import Floats, Indices
from mercer.budget import UNLIMITED, Resources
from mercer.domains import Samples, Similarities, Vectors
from mercer.domains.vectors import require_sound
from mercer.errors import DomainError
from mercer.estimators.estimator import KernelEstimator, remember_columns
from mercer.estimators.fits import Run
from mercer.gram import Dense, Gram, Tiles
from mercer.gram.exact import DenseGram
from mercer.gram.gram import Cross
from mercer.kernels import Cauchy, Exponential, Gaussian, Kernel, Linear, Matern, Precomputed, RationalQuadratic
from mercer.kernels.kernel import overflow_error
from mercer.runtime.tiling import Stopped, run_tasks, spans, thread_count
from mercer.sparse_checks import without_unused

__all__ = ["Neighbours", "affinities", "find_neighbours", "given_graph", "graph_samples", "held_gram", "neighbours_of"]

_QUERIES = 2048  # samples whose neighbours are looked for between two looks at the clock
_NARROW = 15  # columns up to which trees find neighbours
_ENTRIES = 1 << 22  # of K at a time
_EQUAL = 16.0  # roundings of k(x, x) + k(x', x') by which the squared distance of a sample from itself may be off
_FALLING = (Gaussian, Matern, Exponential, RationalQuadratic, Cauchy)


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The nearest neighbours of each sample, itself excluded.

    Attributes
    ----------
    index : (n, k) array
        Nearest first.
    distances : (n, k) array
        Between images in feature space.
    values : (n, k) array
        k(x_i, x_j).
    """

    index: Indices
    distances: Floats
    values: Floats


def find_neighbours(
    kernel: Kernel, S: Samples, count: int, resources: Resources = UNLIMITED, *, index_alone: bool = False
) -> Neighbours:
    """Find the nearest neighbours of each sample in the feature space of a kernel.

    Parameters
    ----------
    kernel : Kernel
        With all its parameters known.
    S : Samples
        At least two.
    count : int
        k; at most n - 1 are found.
    resources : Resources, optional
        Threads, and a monitor that receives the progress.
    index_alone : bool, default False
        Whether only `index` will be looked at; then kernel values need not be computed, and ones may stand for them.

    Returns
    -------
    Neighbours

    Notes
    -----
    Samples at the same distance are taken in an order that is the same in each run. Cost O(n log n) for few columns,
    O(n^2) otherwise; memory O(n k).

    Examples
    --------
    >>> near = find_neighbours(Linear(), Vectors.pack([[0.0], [1.0], [3.0]]), 1)
    >>> near.index.ravel(), near.distances.ravel()
    (array([1, 0, 1]), array([1., 1., 2.]))
    """
    n = len(S)
    if n < 2:
        raise DomainError(f"n_samples={n} was given; neighbours need at least 2 samples. Give more samples.")
    count = min(count, n - 1)
    found = _euclidean(kernel, S)
    if found is None:
        return _by_rows(kernel, S, count, resources)
    columns, unit = found
    index, distances = _by_trees(columns, count, resources)
    distances /= unit
    with np.errstate(over="ignore"):
        if not np.isfinite(np.square(distances.max(initial=0.0))):
            raise overflow_error(kernel)
    if type(kernel) is Linear:
        values = np.empty_like(distances)
        squares = np.asarray(S.squared_norms, dtype=float)  # pyright: ignore[reportAttributeAccessIssue]
        values[:] = 0.5 * (squares[:, None] + squares[index] - distances**2)
        return Neighbours(index, distances, values)
    if index_alone:
        return Neighbours(index, distances, np.ones_like(distances))
    standard: Any = clone(kernel)
    standard.set_params(length_scale=1.0)
    values = standard(np.zeros((1, 1)), distances.reshape(-1, 1)).reshape(distances.shape)
    return Neighbours(index, np.sqrt(np.maximum(2.0 - 2.0 * values, 0.0)), values)


def neighbours_of(kernel: Kernel, T: Samples, S: Samples, count: int, resources: Resources = UNLIMITED) -> Neighbours:
    """Find those samples of S that are nearest to each of T, by looking at all of S.

    Parameters
    ----------
    kernel : Kernel
        With all its parameters known.
    T, S : Samples
    count : int
        k; at most len(S) are found.
    resources : Resources, optional
        Threads and memory.

    Examples
    --------
    >>> near = neighbours_of(Linear(), Vectors.pack([[1.2]]), Vectors.pack([[0.0], [1.0], [3.0]]), 2)
    >>> near.index
    array([[1, 0]])
    """
    T, S, count = kernel.prepare(T), kernel.prepare(S), min(count, len(S))
    own, diagonal = kernel.diag(T), kernel.diag(S)
    index, distances, values = (np.empty((len(T), count), dtype=kind) for kind in (np.intp, float, float))
    quiet = Resources(resources.memory, resources.n_threads)
    for rows in spans(len(T), max(1, _ENTRIES // len(S))):
        K = Cross(kernel, T[rows], S, quiet).to_dense()
        sizes = own[rows, None] + diagonal
        squares = sizes - 2.0 * K
        squares[squares <= _EQUAL * _precision(T, K) * sizes] = 0.0  # rounding: the same sample
        index[rows], far = _nearest(squares, count)
        distances[rows] = np.sqrt(np.maximum(far, 0.0))
        values[rows] = np.take_along_axis(K, index[rows], axis=1)
        _tell(resources, rows.stop, len(T))
    return Neighbours(index, distances, values)


def _precision(T: Samples, K: Floats) -> float:
    """Return the relative rounding of the coarser one of samples and kernel values."""
    held = [part.dtype for part in getattr(T, "arrays", ()) if part.dtype.kind == "f"]
    return max(float(np.finfo(dtype).eps) for dtype in (K.dtype, *held))


def affinities(near: Neighbours, weights: str) -> sp.csr_array:
    """Return the symmetric graph in which a sample is tied to its neighbours and to those whose neighbour it is.

    Parameters
    ----------
    near : Neighbours
    weights : {"one", "half", "kernel"}
        Weight of an edge: 1; 1/2 if one of the two is a neighbour of the other, and 1 if both are; or k(x_i, x_j).

    Examples
    --------
    >>> near = find_neighbours(Linear(), Vectors.pack([[0.0], [1.0], [3.0]]), 1)
    >>> affinities(near, "one").toarray()
    array([[0., 1., 0.],
           [1., 0., 1.],
           [0., 1., 0.]])
    """
    n, k = near.index.shape
    values = near.values.ravel() if weights == "kernel" else np.ones(n * k)
    if values.min(initial=0.0) < 0.0:
        raise DomainError(
            f"k(x_i, x_j) = {values.min():.3g} was found as the weight of an edge; weights must not be negative. Use a "
            "kernel without negative values, as Gaussian(), or weights='one'."
        )
    A = sp.csr_array((values, near.index.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
    A = sp.csr_array(0.5 * (A + A.T) if weights == "half" else A.maximum(A.T.tocsr()))
    lonely = np.flatnonzero(~(np.asarray(A.sum(axis=1)).ravel() > 0.0))
    if len(lonely):
        raise DomainError(
            f"sample {lonely[0]} is tied to its neighbours by weights of zero: nothing is similar to it, as to "
            "an empty text; each sample must be tied to another. Use a wider kernel or weights='one', or leave the "
            "sample out."
        )
    return A


def given_graph(kernel: Any, X: Any) -> sp.csr_array | None:
    """Return sparse affinities that a user gives as "precomputed", checked; None if X is something else.

    Parameters
    ----------
    kernel : Kernel, str or None
        Kernel of an estimator.
    X : what its `fit` was given
    """
    if not (
        sp.issparse(X) and (isinstance(kernel, Precomputed) or (isinstance(kernel, str) and kernel == "precomputed"))
    ):
        return None
    require_sound(X)
    A: Any = sp.csr_array(X, dtype=float)
    if A.shape[0] != A.shape[1] or not np.isfinite(A.data).all() or (A.data < 0.0).any():
        raise DomainError(
            f"sparse affinities of shape {A.shape} were given, or some are negative or not finite; a square matrix of "
            "finite numbers that are not negative is accepted. Give the affinities of all samples with each other."
        )
    if abs(A - A.T).max() > 1e-8 * abs(A).max():
        raise DomainError(
            "sparse affinities were given that are not symmetric; ties have no direction. Use (A + A.T) / 2."
        )
    A.eliminate_zeros()
    return A


def graph_samples(estimator: Any, graph: Any) -> Similarities:
    """Return the samples of sparse affinities, which are places in the matrix; the estimator remembers how many."""
    every = np.arange(graph.shape[0], dtype=np.intp)
    S = Similarities(None, every, every, len(every), np.asarray(graph.diagonal(), dtype=float))
    remember_columns(estimator, graph, S, reset=True)
    return S


def pack_or_graph(estimator: Any, X: Any) -> tuple[Samples, tuple[Kernel, Any]]:
    """Return packed samples, and their kernel with the graph that stands for them if sparse affinities were given."""
    graph = given_graph(estimator.kernel, X)
    if graph is not None:
        return graph_samples(estimator, graph), (Precomputed(), graph)
    packed, kernel = estimator._pack(X)
    return packed, (kernel, None)


def _euclidean(kernel: Kernel, S: Samples) -> tuple[Any, float] | None:
    """Return the columns in whose Euclidean distance neighbours of a kernel are to be found, and the unit of length.

    None if there are none.
    """
    if not isinstance(S, Vectors):
        return None
    if type(kernel) is Linear:
        return S.X, 1.0
    if type(kernel) not in _FALLING:
        return None
    scale = np.asarray(kernel.length_scale, dtype=float)  # pyright: ignore[reportAttributeAccessIssue]
    if scale.ndim == 0:
        return S.X, float(scale)
    if scale.shape != (S.width,):
        kernel(S[:1])  # says so
    unit = float(scale.min())
    return None if S.is_sparse else (np.asarray(S.X, dtype=float) / (scale / unit), unit)


def _by_trees(X: Any, count: int, resources: Resources) -> tuple[Indices, Floats]:
    X = without_unused(X)
    n = X.shape[0]
    largest = float(abs(X).max()) if X.shape[1] else 0.0
    size = 2.0 ** np.frexp(largest)[1] if largest > 1e100 or 0.0 < largest < 1e-100 else 1.0  # squares would overflow
    X = X / size if size != 1.0 else X
    index, distances = np.empty((n, count), dtype=np.intp), np.empty((n, count))
    if not sp.issparse(X) and 0 < X.shape[1] <= _NARROW and 2 * count < n:  # where scikit-learn takes a tree
        X = np.ascontiguousarray(X, dtype=float)
        tree = KDTree(X, leaf_size=30)

        def work(part: slice) -> None:
            rows = np.arange(part.start, part.stop)
            far, who = tree.query(X[part], count + 1)
            others = _others(who, rows)
            index[part], distances[part] = who[others].reshape(-1, count), far[others].reshape(-1, count)

        run_tasks(spans(n, _QUERIES), work, n_threads=resources.n_threads, monitor=resources.monitor)
        return index, distances * size
    search = NearestNeighbors(n_neighbors=count, n_jobs=thread_count(resources.n_threads)).fit(X)
    for start in range(0, n, _QUERIES):
        rows = np.arange(start, min(start + _QUERIES, n))
        far, who = search.kneighbors(X[rows], count + 1)
        others = _others(who, rows)
        index[rows], distances[rows] = who[others].reshape(-1, count), far[others].reshape(-1, count)
        _tell(resources, rows[-1] + 1, n)
    return index, distances * size


def _by_rows(kernel: Kernel, S: Samples, count: int, resources: Resources) -> Neighbours:
    n = len(S)
    gram = Tiles().build(kernel, S, Resources(resources.memory, resources.n_threads))
    diagonal = np.asarray(gram.diag(), dtype=float)
    index = np.empty((n, count), dtype=np.intp)
    distances, values = np.empty((n, count)), np.empty((n, count))
    step = max(1, min(n, _ENTRIES // n))
    for start in range(0, n, step):
        rows = np.arange(start, min(start + step, n))
        K = np.asarray(gram.rows(rows), dtype=float)  # pyright: ignore[reportAttributeAccessIssue]
        squares = diagonal[rows, None] + diagonal - 2.0 * K
        squares[np.arange(len(rows)), rows] = np.inf
        index[rows], far = _nearest(squares, count)
        distances[rows] = np.sqrt(np.maximum(far, 0.0))
        values[rows] = np.take_along_axis(K, index[rows], axis=1)
        _tell(resources, rows[-1] + 1, n)
    return Neighbours(index, distances, values)


def _nearest(squares: Floats, count: int) -> tuple[Indices, Floats]:
    """Return the places of the smallest numbers of each row, ascending and the first of equal ones first, and these."""
    some = np.sort(np.argpartition(squares, count - 1, axis=1)[:, :count], axis=1)
    far = np.take_along_axis(squares, some, axis=1)
    order = np.argsort(far, axis=1, kind="stable")
    return np.take_along_axis(some, order, axis=1), np.take_along_axis(far, order, axis=1)


def _others(who: Indices, rows: Indices) -> Any:
    """Return which of the neighbours to keep: all but the sample itself, or the last where copies hide it."""
    own = who == rows[:, None]
    own[~own.any(axis=1), -1] = True
    return ~own


def _tell(resources: Resources, done: int, n: int) -> None:
    if resources.monitor is not None and resources.monitor(done / n):
        raise Stopped


def held_gram(estimator: KernelEstimator, kernel: Kernel, S: Samples, run: Run, until: float) -> Gram:
    """Build a Gram; a matrix that the user gives is used in place, since products write nothing into it."""
    if isinstance(kernel, Precomputed) and isinstance(S, Similarities) and getattr(estimator, "gram", None) is None:
        matrix, every = S.matrix, np.arange(len(S))
        own = S.position is not None and np.array_equal(S.rows, every) and np.array_equal(S.position, every)
        if own and matrix is not None and matrix.shape == (len(S), len(S)) and matrix.dtype == np.float64:
            estimator.gram_ = Dense()
            return DenseGram(kernel, S, matrix, run.resources())
    return estimator._represent(kernel, S, run, until)
