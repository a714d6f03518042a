"""Kernels between the nodes of one graph, which are functions of its Laplacian, and the cut by its second eigenvector.

Symbols: W the (N, N) weights of the graph, D its degrees, L = D - W the Laplacian or, normalised,
L = 1 - D^(-1/2) W D^(-1/2); xi an eigenvalue of L.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from mercer.arguments import answer_of
from mercer.arrays import Floats, Indices
from mercer.constraints import Fixed, Integer, OneOf, Positive, Satisfies
from mercer.domains import Samples
from mercer.domains.structures.nodes import Network
from mercer.errors import ParameterError
from mercer.kernels.graphs.node_kernel import NodeKernel, coupling, factored, largest_eigenvalue
from mercer.kernels.user_calls import real_values
from mercer.numerics.laplacians import components, solve_columns
from mercer.numerics.laplacians import laplacian as laplacian_of

__all__ = [
    "Bisection",
    "CommuteTime",
    "Diffusion",
    "LaplacianFunction",
    "PStepWalk",
    "RegularizedLaplacian",
    "spectral_bisection",
]
__public__ = [
    "CommuteTime",
    "Diffusion",
    "LaplacianFunction",
    "PStepWalk",
    "RegularizedLaplacian",
    "spectral_bisection",
]

_ROUNDING = 1e-10
_LAPLACIAN = OneOf("plain", "normalized")
_METHOD = OneOf("auto", "spectrum", "columns")

_RING = [(i, (i + step) % 12) for step in (1, 3) for i in range(12)]  # with chords: edges of an example


class LaplacianFunction(NodeKernel):
    r"""Function of the Laplacian: a kernel between nodes by any decreasing function of its eigenvalues.

    .. math:: K = r(L), \quad L = D - W \text{ or } 1 - D^{-1/2} W D^{-1/2}

    Seed: [HSS] Section 2.2.5, K = r(L) after Smola and Kondor.

    Parameters
    ----------
    graph : graph
        In any form that `mercer.domains.structures.nodes.Network.of` takes: networkx, adjacency, list of edges.
    function : callable
        r: takes an array of eigenvalues and returns as many numbers, none negative, that do not increase.
    laplacian : {"plain", "normalized"}, default "plain"
        Which L; the eigenvalues of the normalised Laplacian are at most 2.
    method : {"auto", "spectrum", "columns"}, default "auto"
        "spectrum" finds all eigenvectors; "columns" applies r as a polynomial of L to the nodes that are needed.
        "auto" takes the first up to 1500 nodes.

    Notes
    -----
    Domain Nodes. r is checked at the eigenvalues, or between 0 and a bound on them. Features no; no free parameter.
    Positive definite of order 0, as no r(xi) is negative; the smoother a function on the graph (the smaller the
    eigenvalues that it is made of), the smaller its norm. Strict if r is positive, which is not known. Cost O(N^3) once
    for the eigenvectors and O(N) for a pair; by columns O(M) for a node and each degree of the polynomial.

    For a directed graph, W is that of the random walk on it in the long run, N (Pi P + P' Pi) / 2, with P its
    transition probabilities and Pi the stationary ones (Zhou, Huang and Schoelkopf 2005).

    Examples
    --------
    >>> path = [(0, 1), (1, 2)]
    >>> LaplacianFunction(path, lambda xi: 1.0 / (1.0 + xi))([0, 1, 2]).round(3)
    array([[0.625, 0.25 , 0.125],
           [0.25 , 0.5  , 0.25 ],
           [0.125, 0.25 , 0.625]])
    """

    example = (_RING, lambda eigenvalues: np.exp(-eigenvalues))
    formula = r"[r(L)]_{ij}"
    constraints = {
        "function": Satisfies("a function of an array of eigenvalues", callable, "lambda xi: numpy.exp(-xi)"),
        "laplacian": _LAPLACIAN,
        "method": _METHOD,
    }

    def __init__(
        self, graph: Any, function: Callable[[Floats], Floats], laplacian: str = "plain", method: str = "auto"
    ) -> None:
        self.graph = graph
        self.function = function
        self.laplacian = laplacian
        self.method = method

    def response(self, xi: Floats) -> Floats:
        """Return the function at eigenvalues; refuse values that are negative or increase."""
        order = np.argsort(xi, kind="stable")
        values = real_values(answer_of(self.function, xi[order], who=self, takes="an array of eigenvalues"), self)
        good = values.shape == xi.shape and bool(np.isfinite(values).all())
        slack = _ROUNDING * float(np.abs(values).max(initial=0.0)) if good else 0.0
        if not good or (values < -slack).any() or (np.diff(values) > slack).any():
            fault = "are not as many finite numbers" if not good else "increase or are negative"
            raise ParameterError(
                f"The values of {self!r} at eigenvalues from {xi.min():.3g} to {xi.max():.3g} {fault}; r has to be a "
                "decreasing function that is not negative, or smooth functions on the graph would not be preferred. "
                "Give another function."
            )
        back = np.empty_like(values)
        back[order] = np.maximum(values, 0.0)
        return back


class Diffusion(NodeKernel):
    r"""Diffusion kernel: how much of what starts at one node has reached another after some time.

    .. math:: K = \exp(-t L)

    Seed: [KIKS] Eq. (21), where the diagonalisation is misprinted: it is U^-1 exp(-t D) U; [HSS] Eq. (42).

    Parameters
    ----------
    graph : graph
        In any form that `mercer.domains.structures.nodes.Network.of` takes: networkx, adjacency, list of edges.
    time : float, default 1.0
        t > 0: how far it spreads.
    laplacian : {"plain", "normalized"}, default "plain"
        Which L; with the normalised one, nodes with many edges spread no faster than others.
    method : {"auto", "spectrum", "columns"}, default "auto"
        As for `LaplacianFunction`; "columns" is the exponential as a polynomial of L.

    Notes
    -----
    Domain Nodes. Differentiable in `time`; features no. Strictly positive definite, as all eigenvalues exp(-t xi) are
    positive; hence universal on the finite set of nodes; bounded by 1. Semigroup: K_s K_t = K_{s + t}. With the plain
    Laplacian, rows sum to 1. Directed graphs and cost as for `LaplacianFunction`.

    Examples
    --------
    >>> path = [(0, 1), (1, 2)]
    >>> Diffusion(path, 1.0)([0, 1, 2]).round(3)
    array([[0.526, 0.317, 0.158],
           [0.317, 0.367, 0.317],
           [0.158, 0.317, 0.526]])
    >>> Diffusion([("Ann", "Bob"), ("Bob", "Cid")], 0.1)(["Ann"], ["Bob", "Cid"]).round(4)
    array([[0.0864, 0.0044]])
    """

    synonyms = ("diffusion kernel", "heat kernel on a graph")
    example = (_RING,)
    formula = r"[\exp(-t L)]_{ij}"
    constraints = {"time": Positive(), "laplacian": _LAPLACIAN, "method": _METHOD}
    strict = True
    universal = True
    bounded = True
    _free = True

    def __init__(self, graph: Any, time: float = 1.0, laplacian: str = "plain", method: str = "auto") -> None:
        self.graph = graph
        self.time = time
        self.laplacian = laplacian
        self.method = method

    def response(self, xi: Floats) -> Floats:
        """Return exp(-t xi)."""
        return np.exp(-float(self.time) * xi)

    def slope(self, xi: Floats) -> Floats:
        """Return -xi exp(-t xi)."""
        return -xi * self.response(xi)


class RegularizedLaplacian(NodeKernel):
    r"""Regularised Laplacian kernel: the inverse of the Laplacian plus a constant.

    .. math:: K = (L + \lambda 1)^{-1}

    Seed: [HSS] Eq. (43).

    Parameters
    ----------
    graph : graph
        In any form that `mercer.domains.structures.nodes.Network.of` takes: networkx, adjacency, list of edges.
    shift : float, default 1.0
        lambda > 0: the smaller, the farther similarity reaches.
    laplacian : {"plain", "normalized"}, default "plain"
        Which L.
    method : {"auto", "spectrum", "columns"}, default "auto"
        As for `LaplacianFunction`; "columns" solves sparse linear equations.

    Notes
    -----
    Domain Nodes. Its norm |f|^2 = f' L f + lambda |f|^2 says how much f differs along edges. Differentiable in `shift`;
    features no. Strictly positive definite, hence universal on the finite set of nodes; bounded by 1 / lambda. With the
    plain Laplacian, rows sum to 1 / lambda. Directed graphs as for `LaplacianFunction`; cost O(N^3) once, by columns a
    sparse factorisation and O(its entries) for a node.

    Examples
    --------
    >>> RegularizedLaplacian([(0, 1), (1, 2)], 1.0)([0, 1, 2]).round(3)
    array([[0.625, 0.25 , 0.125],
           [0.25 , 0.5  , 0.25 ],
           [0.125, 0.25 , 0.625]])
    """

    example = (_RING,)
    formula = r"[(L + \lambda 1)^{-1}]_{ij}"
    cost = "O(N^3) once or, by columns, a sparse factorisation and O(its entries) for a node"
    constraints = {"shift": Positive(), "laplacian": _LAPLACIAN, "method": _METHOD}
    strict = True
    universal = True
    _free = True

    def __init__(self, graph: Any, shift: float = 1.0, laplacian: str = "plain", method: str = "auto") -> None:
        self.graph = graph
        self.shift = shift
        self.laplacian = laplacian
        self.method = method

    def response(self, xi: Floats) -> Floats:
        """Return 1 / (xi + lambda)."""
        return 1.0 / (xi + float(self.shift))

    def slope(self, xi: Floats) -> Floats:
        """Return -1 / (xi + lambda)^2."""
        return -((xi + float(self.shift)) ** -2.0)

    def columns(self, nodes: Indices, rows: Indices, what: str = "value") -> Floats:
        """Return entries (rows, nodes) of the inverse, or of its derivative, by sparse solves."""
        L = self._laplacian()
        factor = factored(L + float(self.shift) * sp.eye_array(L.shape[0]))
        if what == "value":
            return solve_columns(factor.solve, L.shape[0], nodes, rows)
        return solve_columns(lambda unit: -factor.solve(factor.solve(unit)), L.shape[0], nodes, rows)


class PStepWalk(NodeKernel):
    r"""p-step random walk kernel: a power of a constant less the Laplacian.

    .. math:: K = (\lambda 1 - L)^p

    Seed: [HSS] Eq. (44).

    Parameters
    ----------
    graph : graph
        In any form that `mercer.domains.structures.nodes.Network.of` takes: networkx, adjacency, list of edges.
    steps : int
        p >= 1. Nodes more than p edges apart have k = 0.
    shift : float, default 2.0
        lambda, at least the largest eigenvalue of L. 2 will do for every normalised Laplacian.
    laplacian : {"plain", "normalized"}, default "normalized"
        Which L; with the normalised one, 1 - L is similar to the transition matrix of the walk.
    method : {"auto", "spectrum", "columns"}, default "auto"
        As for `LaplacianFunction`; "columns" multiplies p times.

    Notes
    -----
    Domain Nodes. A lambda below the largest eigenvalue is refused: the function would not decrease, and for odd p K
    would not be positive definite. No free parameter, since lambda has an end that depends on the graph; features no.
    Positive definite of order 0, not known to be strict (it is for lambda above the largest eigenvalue). Directed
    graphs as for `LaplacianFunction`; cost O(N^3) once, by columns O(p M) for a node.

    Examples
    --------
    >>> PStepWalk([(0, 1), (1, 2)], 1)([0, 1, 2]).round(3)
    array([[1.   , 0.707, 0.   ],
           [0.707, 1.   , 0.707],
           [0.   , 0.707, 1.   ]])
    """

    synonyms = ("p-step random walk kernel",)
    example = (_RING, 2)
    formula = r"[(\lambda 1 - L)^p]_{ij}"
    cost = "O(N^3) once or, by columns, O(p M) for a node"
    constraints = {"steps": Integer(1), "shift": Fixed(Positive()), "laplacian": _LAPLACIAN, "method": _METHOD}

    def __init__(
        self, graph: Any, steps: int, shift: float = 2.0, laplacian: str = "normalized", method: str = "auto"
    ) -> None:
        self.graph = graph
        self.steps = steps
        self.shift = shift
        self.laplacian = laplacian
        self.method = method

    def _require(self) -> None:
        largest = self._bound()
        if self.shift < largest:
            largest = self.network.keep(("largest", self._normalized), lambda: largest_eigenvalue(self._laplacian()))
        if self.shift < largest * (1.0 - _ROUNDING):
            raise ParameterError(
                f"PStepWalk was given shift={float(self.shift):g}; it has to be at least the largest eigenvalue of the "
                f"Laplacian, here {largest:.6g}. Raise it, or use laplacian='normalized' with shift=2."
            )

    def _prepare(self, A: Samples) -> Samples:
        """Compare the shift with the largest eigenvalue."""
        A = super()._prepare(A)
        self._require()
        return A

    def response(self, xi: Floats) -> Floats:
        """Return (lambda - xi)^p."""
        with np.errstate(over="ignore"):  # values that are not finite are refused with advice
            return np.maximum(float(self.shift) - xi, 0.0) ** int(self.steps)

    def columns(self, nodes: Indices, rows: Indices, what: str = "value") -> Floats:
        """Return entries (rows, nodes) of the power, by p products."""
        L = self._laplacian()
        step = sp.csr_array(float(self.shift) * sp.eye_array(L.shape[0]) - L)

        def walk(unit: Floats) -> Floats:
            for _ in range(int(self.steps)):
                unit = step @ unit
            return unit

        return solve_columns(walk, L.shape[0], nodes, rows)


class CommuteTime(NodeKernel):
    r"""Commute time kernel: the pseudoinverse of the Laplacian.

    .. math:: K = L^+, \quad \|\Phi(i) - \Phi(j)\|^2 = \frac{C(i, j)}{\sum_{uv} W_{uv}}

    where C(i, j) is the mean number of steps that a random walk from i takes to j and back.

    Seed: [HSS] Section 2.2.5, r(L) with r(xi) = 1 / xi, the limit of Eq. (43) for lambda to 0.

    Parameters
    ----------
    graph : graph
        In any form that `mercer.domains.structures.nodes.Network.of` takes: networkx, adjacency, list of edges.
    method : {"auto", "spectrum", "columns"}, default "auto"
        As for `LaplacianFunction`; "columns" solves sparse linear equations.

    Notes
    -----
    Domain Nodes. Squared distances are the effective resistances of the graph as a network of conductors of
    conductances W. Features no; no free parameter. Positive definite of order 0; not strict: rows sum to 0 over each
    connected part, and nodes of different parts have k = 0. Directed graphs as for `LaplacianFunction`; cost O(N^3)
    once, by columns a sparse factorisation and O(its entries) for a node.

    Examples
    --------
    >>> k = CommuteTime([(0, 1), (1, 2)])
    >>> k([0, 1, 2]).round(3)
    array([[ 0.556, -0.111, -0.444],
           [-0.111,  0.222, -0.111],
           [-0.444, -0.111,  0.556]])
    >>> k.distance([0, 1, 2]).round(3) ** 2  # resistances of conductors in a row
    array([[0.      , 1.      , 1.999396],
           [1.      , 0.      , 1.      ],
           [1.999396, 1.      , 0.      ]])
    """

    example = (_RING,)
    formula = r"[L^+]_{ij}"
    cost = "O(N^3) once or, by columns, a sparse factorisation and O(its entries) for a node"
    constraints = {"method": _METHOD}

    def __init__(self, graph: Any, method: str = "auto") -> None:
        self.graph = graph
        self.method = method

    def response(self, xi: Floats) -> Floats:
        """Return 1 / xi, and 0 where xi is 0."""
        return np.divide(1.0, xi, out=np.zeros_like(xi), where=xi > 0.0)

    def columns(self, nodes: Indices, rows: Indices, what: str = "value") -> Floats:
        """Return entries (rows, nodes) of the pseudoinverse, by sparse solves with a node of each part held at zero."""
        L = self._laplacian()
        count, part = components(L)
        sizes = np.bincount(part, minlength=count)
        _, held = np.unique(part, return_index=True)
        rest = np.setdiff1d(np.arange(L.shape[0]), held)
        factor = factored(L[rest][:, rest]) if len(rest) else None
        member = sp.csr_array((np.ones(len(part)), (part, np.arange(len(part)))), shape=(count, len(part)))

        def centred(columns: Floats) -> Floats:
            return columns - ((member @ columns) / sizes[:, None])[part]

        def solve(unit: Floats) -> Floats:
            found = np.zeros_like(unit)
            if factor is not None:
                found[rest] = factor.solve(centred(unit)[rest])
            return centred(found)

        return solve_columns(solve, L.shape[0], nodes, rows)


class Bisection(NamedTuple):
    """A graph cut in two: the side of each node (0 or 1), the vector whose signs they are, and its eigenvalue."""

    sides: Indices
    vector: Floats
    connectivity: float


def spectral_bisection(graph: Any, laplacian: str = "plain") -> Bisection:
    r"""Cut a graph in two by the signs of the eigenvector of the second smallest eigenvalue of its Laplacian.

    .. math:: \min_f \sum_{ij} W_{ij} (f_i - f_j)^2 \text{ for } \|f\| = 1,\ f \perp 1

    Seed: [HSS] Section 2.2.5, after Fiedler; the vector that is there called the second largest is that of the second
    smallest eigenvalue of L, for which a smooth r is second largest.

    Parameters
    ----------
    graph : graph
        In any form that `mercer.domains.structures.nodes.Network.of` takes: networkx, adjacency, list of edges.
    laplacian : {"plain", "normalized"}, default "plain"
        Which L; the normalised one balances the sums of degrees of the sides rather than their sizes.

    Returns
    -------
    sides : (N,) array of 0 and 1
        Node 0 is on side 0.
    vector : (N,) array
        The eigenvector, negative on side 0; its size shows how clearly a node belongs to its side.
    connectivity : float
        The eigenvalue: 0 for a graph that is not connected, whose largest part is then one side.

    Examples
    --------
    >>> two_triangles = [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (2, 3)]
    >>> spectral_bisection(two_triangles).sides
    array([0, 0, 0, 1, 1, 1])
    """
    _LAPLACIAN.check("laplacian", laplacian, "spectral_bisection")
    normalized = laplacian == "normalized"
    network = Network.of(graph)
    W, N = coupling(network), len(network)
    L = laplacian_of(W, normalized)
    count, part = components(W)
    if N == 1:
        return Bisection(np.zeros(1, dtype=np.intp), np.zeros(1), 0.0)
    if count > 1:
        inside = part == np.bincount(part).argmax()
        vector, value = np.where(inside, 1.0 / inside.sum(), -1.0 / (~inside).sum()), 0.0
        vector /= np.linalg.norm(vector)
    elif N <= 200:
        values, vectors = np.linalg.eigh(L.toarray())
        vector, value = vectors[:, 1], float(values[1])
    else:
        # a little below zero, so that the matrix can be factored; the nearest eigenvalues are the smallest
        sigma = -1e-4 * float(L.diagonal().mean())
        start = np.random.default_rng(0).standard_normal(N)
        inverse = spla.LinearOperator((N, N), matvec=factored(L - sigma * sp.eye_array(N)).solve, dtype=np.float64)  # pyright: ignore[reportCallIssue]
        values, vectors = spla.eigsh(L, k=2, sigma=sigma, which="LM", v0=start, OPinv=inverse)
        vector, value = vectors[:, np.argmax(values)], float(values.max())
    if normalized and count == 1:
        vector = vector / np.sqrt(np.maximum(np.asarray(W.sum(axis=1)).ravel(), np.finfo(float).tiny))
        vector /= np.linalg.norm(vector)
    vector = np.ascontiguousarray(-vector if vector[0] > 0.0 else vector)
    return Bisection((vector > 0.0).astype(np.intp), vector, max(value, 0.0))
