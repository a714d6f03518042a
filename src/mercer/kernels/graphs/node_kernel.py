"""What kernels on the nodes of a graph have in common: functions of its Laplacian, by eigenvectors or by columns.

Symbols: W the (N, N) weights of the graph, D its degrees, L = D - W the Laplacian or, normalised,
L = 1 - D^(-1/2) W D^(-1/2); xi an eigenvalue of L.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
import scipy.sparse.csgraph as csgraph
import scipy.sparse.linalg as spla

from mercer import budget
from mercer.arrays import Floats, Indices
from mercer.constraints import Data
from mercer.domains import Samples
from mercer.domains.structures.nodes import Network, Nodes
from mercer.errors import CapabilityError, DomainError
from mercer.kernels.abilities import DifferentiatedByTiles
from mercer.kernels.comparison import View
from mercer.kernels.kernel import Kernel, Tiled, block_derivative
from mercer.kernels.protocols import Pullback
from mercer.numerics.eigen import eigh_in_place
from mercer.numerics.laplacians import apply_polynomial, bound_of, chebyshev, components, laplacian, stationary
from mercer.numerics.operands import row_products
from mercer.spec import free_names

__all__ = ["NodeKernel", "coupling", "factored", "largest_eigenvalue", "spectrum"]

_SHOWN = 12  # edges that are printed
_DENSE = 1500  # nodes up to which all eigenvectors are found; it takes seconds beyond


class NodeKernel(Tiled, DifferentiatedByTiles):
    r"""The base of kernels on the nodes of a graph that are functions of its Laplacian.

    .. math:: K = r(L) = \sum_m r(\xi_m)\, u_m u_m^\top

    Notes
    -----
    A subclass writes `response`, and `slope` if it has a free parameter. Constructors store the graph as it is given.
    """

    domain = Nodes
    formula: ClassVar[str] = r"[r(L)]_{ij}"
    cost: ClassVar[str] = "O(N^3) once or, by columns, O(M) for a node and each degree of a polynomial"
    continuous = True
    constraints = {
        "graph": Data(
            "a graph: of networkx, a square matrix of weights, a list of edges or a Network", "[(0, 1), (1, 2)]"
        )
    }
    graph: Any
    laplacian: str = "plain"
    method: str = "auto"

    @abstractmethod
    def response(self, xi: Floats) -> Floats:
        """Return r at eigenvalues."""

    def slope(self, xi: Floats) -> Floats:
        """Return the derivative of r in the free parameter at eigenvalues."""
        raise self._lacks("a derivative in its parameters")

    # the graph ------------------------------------------------------------------------------------

    @property
    def network(self) -> Network:
        """The graph, made once of what was given."""
        if isinstance(self.graph, Network):
            return self.graph
        held = vars(self).get("_made")
        if held is None or held[0] is not self.graph:
            held = vars(self)["_made"] = (self.graph, Network.of(self.graph))
        return held[1]

    def replace(self, **params: Any) -> Self:
        """Return a copy with some parameters changed; the graph is shared, with what was computed from it."""
        copy = super().replace(**params)
        if "_made" in vars(self):
            vars(copy)["_made"] = vars(self)["_made"]
        return copy

    def __sklearn_clone__(self) -> Self:
        return self.replace()

    def __repr__(self) -> str:
        plain = isinstance(self.graph, list | tuple) and len(self.graph) <= _SHOWN
        return (
            super().__repr__() if plain or isinstance(self.graph, Network) else repr(self.replace(graph=self.network))
        )

    def check(self) -> Self:
        """Raise ParameterError unless all parameters are acceptable; DomainError if the graph is not one."""
        super().check()
        _ = self.network
        return self

    def _learn(self, S: Samples, y: Any = None, weight: Floats | None = None) -> Kernel:
        """Return the kernel with its graph in the form in which models keep it."""
        return self.replace(graph=self.network)

    def pack(self, X: Any) -> Samples:
        """Turn numbers or names of nodes into Nodes."""
        return self.network.locate(X)

    def _prepare(self, A: Samples) -> Samples:
        """Find the eigenvectors, once per graph, where they are used."""
        assert isinstance(A, Nodes)
        self.network.require(A)
        if self._by_spectrum:
            self._spectrum()
        else:
            self._require()
        return A

    @property
    def _by_spectrum(self) -> bool:
        return self.method == "spectrum" or (self.method == "auto" and len(self.network) <= _DENSE)

    @property
    def _normalized(self) -> bool:
        return self.laplacian == "normalized"

    def _laplacian(self) -> Any:
        key = "laplacian", self._normalized
        return self.network.keep(key, lambda: laplacian(coupling(self.network), self._normalized))

    def _spectrum(self) -> tuple[Floats, Floats]:
        return spectrum(self.network, self._normalized)

    def _bound(self) -> float:
        key = "bound", self._normalized
        return self.network.keep(key, lambda: bound_of(self._laplacian(), self._normalized))

    def _require(self) -> None:
        """Refuse a parameter that does not fit the graph."""

    # numbers --------------------------------------------------------------------------------------

    @property
    def _key(self) -> Hashable:
        """A key that distinguishes this kernel in a comparison: the graph itself, and the other parameters."""
        rest = {name: value for name, value in self.get_params(deep=False).items() if name != "graph"}
        return type(self).__name__, id(self.network), repr(rest)

    def tile(self, view: View) -> Floats:
        """Return entries of r(L)."""
        return self._entries(view, "value")

    def _entries(self, view: View, what: str) -> Floats:
        out = view.empty()
        A, B = view.collections
        assert isinstance(A, Nodes) and isinstance(B, Nodes)
        key = view.path, self._key, what
        if self._by_spectrum:
            left, right = view.comparison.keep(key, lambda: self._sides(A, B, what))
            row_products(left[view.rows], right[view.columns], same=view.on_diagonal, out=out)
        else:
            K, i, j = view.comparison.keep(key, lambda: self._table(A, B, what))
            np.copyto(out, K[i[view.rows, None], j[view.columns]])
        return out

    def _sides(self, A: Nodes, B: Nodes, what: str) -> tuple[Floats, Floats]:
        """Return rows of eigenvectors for both sides, scaled so that their products are entries."""
        xi, U = self._spectrum()
        size = {"eigenvectors": 8 * len(xi) * (len(A) + len(B))}
        budget.Plan(f"{type(self).__name__} on {len(A)} x {len(B)} nodes", size).require(None)
        if what == "value":
            roots = np.sqrt(self.response(xi))
            left = U[A.index] * roots
            return left, left if B is A else U[B.index] * roots
        return U[A.index] * self.slope(xi), U[B.index]

    def _table(self, A: Nodes, B: Nodes, what: str) -> tuple[Floats, Indices, Indices]:
        """Return the entries of all pairs of distinct nodes, and where each sample is among these."""
        rows, i = np.unique(A.index, return_inverse=True)
        columns, j = (rows, i) if B is A else np.unique(B.index, return_inverse=True)
        size = {"entries": 8 * len(rows) * len(columns), "columns": 8 * 6 * 32 * len(self.network)}
        budget.Plan(f"{type(self).__name__} on {len(A)} x {len(B)} nodes", size).require(None)
        if len(rows) < len(columns):  # the matrix is symmetric: columns are computed for the smaller side
            return self.columns(rows, columns, what).T, i, j
        return self.columns(columns, rows, what), i, j

    def columns(self, nodes: Indices, rows: Indices, what: str = "value") -> Floats:
        """Return entries (rows, nodes) of r(L), or of its derivative, without any eigenvector."""
        bound = self._bound()
        coefficients = chebyshev(self.response if what == "value" else self.slope, bound)
        if coefficients is None:
            raise CapabilityError(
                f"{self!r} is not a polynomial of the Laplacian up to rounding; by columns, functions without corners "
                "and poles are accepted. Use method='spectrum', or a smoother function."
            )
        return apply_polynomial(self._laplacian(), bound, coefficients, nodes, rows)

    def _diag(self, A: Samples) -> Floats:
        """Return the entries of the nodes with themselves."""
        assert isinstance(A, Nodes)
        self.prepare(A)
        if self._by_spectrum:
            xi, U = self._spectrum()
            weights, found = self.response(xi), np.empty(len(A))
            for start in range(0, len(A), 256):
                some = slice(start, start + 256)
                found[some] = (U[A.index[some]] ** 2) @ weights
            return found
        nodes, place = np.unique(A.index, return_inverse=True)
        found = np.empty(len(nodes))
        for start in range(0, len(nodes), 256):
            some = nodes[start : start + 256]
            found[start : start + 256] = np.diagonal(self.columns(some, some))
        return found[place]

    def value_and_pullback(self, view: View) -> tuple[Floats, Pullback]:
        """Return the values of a tile and the pullback to the free parameter."""
        if not self._free:
            return block_derivative(view, self)
        value, slope = np.array(self.tile(view)), np.array(self._entries(view, "slope"))
        return value, lambda W: np.array([np.vdot(W, slope)])

    def _pullback(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return sum_ij W_ij dk(a_i, b_j)/dtheta for the free parameter, shape (1,)."""
        if not self._free and free_names(self):
            raise self._lacks("a derivative in its parameters")
        return super()._pullback(A, B, W) if self._free else np.zeros(0)

    _free: ClassVar[bool] = False


# ------------------------------------------------------------------------------------------ what a graph gives


def coupling(network: Network) -> Any:
    """Return symmetric weights: those of the graph or, of a directed one, of its walk in the long run."""
    if not network.directed:
        return network.adjacency
    N = len(network)
    if network.teleport:
        budget.Plan(f"teleport on {N} nodes", {"transition probabilities": 40 * N**2}).require(None)
    elif csgraph.connected_components(network.adjacency, directed=True, connection="strong")[0] > 1:
        raise DomainError(
            f"The directed graph has {N} nodes, not all of which can be reached from every other; a random walk has to "
            "get everywhere. Let it jump now and then: give Network.of(graph, teleport=0.01), or give a graph without "
            "directions."
        )
    pi, P = stationary(network.adjacency, network.teleport)
    if sp.issparse(P):
        flow = sp.csr_array(sp.diags_array(N * pi) @ P)
        return sp.csr_array(0.5 * (flow + flow.T))
    flow = N * pi[:, None] * P
    return sp.csr_array(0.5 * (flow + flow.T))


def spectrum(network: Network, normalized: bool) -> tuple[Floats, Floats]:
    """Return the eigenvalues of the Laplacian and the rows of its eigenvectors by node, found once per graph."""

    def make() -> tuple[Floats, Floats]:
        N = len(network)
        budget.Plan(f"Eigenvectors of a graph of {N} nodes", {"matrices": 32 * N**2}, ("method='columns'",)).require(
            None
        )
        W = coupling(network)
        U = laplacian(W, normalized).toarray()
        xi = eigh_in_place(U)
        xi[: components(W)[0]] = 0.0  # as many as connected parts, which rounding would hide
        return np.maximum(xi, 0.0), np.ascontiguousarray(U.T)

    return network.keep(("spectrum", normalized), make)


def largest_eigenvalue(L: Any) -> float:
    """Return the largest eigenvalue of a sparse symmetric matrix."""
    if L.shape[0] <= 100:
        return float(np.linalg.eigvalsh(L.toarray())[-1])
    start = np.random.default_rng(0).standard_normal(L.shape[0])
    find: Any = spla.eigsh  # its tolerance is declared to be an integer
    return float(find(L, k=1, which="LA", v0=start, tol=1e-11, return_eigenvectors=False)[0])


def factored(matrix: Any) -> Any:
    """Factor a sparse symmetric positive definite matrix."""
    options = {"SymmetricMode": True}
    return spla.splu(sp.csc_array(matrix), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options)
