"""Outputs that are labels of the sites of a network, such as the pixels of an image: exact by a junction tree."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, Self

import numpy as np

from mercer.arguments import checked
from mercer.arrays import Array, Floats, Indices
from mercer.constraints import InstanceOf, Integer, Interval, OneOf, Optional
from mercer.errors import DomainError, ParameterError, TargetError
from mercer.estimators.structured.label_sequences import label_codes, label_rows
from mercer.estimators.structured.output_space import OutputSpace, Sums, square_cost
from mercer.networks import JunctionTree, MarkovNetwork, junction_tree
from mercer.networks.linear_relaxation import PairScores, Relaxed, is_forest, relax

__all__ = ["NetworkLabels", "grid_edges"]
__public__ = __all__

_MOST = 2**16  # outputs that are listed
_LONGEST = 10_000  # side of a grid


@checked(height=Integer(1, _LONGEST), width=Integer(1, _LONGEST))
def grid_edges(height: int, width: int) -> Indices:
    """Return the edges of a grid whose sites are numbered row by row, (E, 3): two sites, and 0 in rows, 1 in columns.

    Examples
    --------
    >>> grid_edges(2, 2)
    array([[0, 1, 0],
           [2, 3, 0],
           [0, 2, 1],
           [1, 3, 1]])
    """
    places = np.arange(height * width).reshape(height, width)
    across = np.column_stack([places[:, :-1].ravel(), places[:, 1:].ravel(), np.zeros(height * (width - 1), dtype=int)])
    down = np.column_stack([places[:-1].ravel(), places[1:].ravel(), np.ones((height - 1) * width, dtype=int)])
    return np.concatenate([across, down]).astype(np.intp)


class NetworkLabels(OutputSpace):
    r"""One label for each site of a network; labels of sites that an edge joins depend on each other.

    .. math:: f(x, y) = \sum_s f_{y_s}(x_s) + \sum_{(s, t)} W^{c(s, t)}_{y_s y_t}

    with a matrix W for each kind c of edges. The best labels, their probabilities and the labels that violate most are
    exact, by a junction tree, whose cost is exponential in the network's treewidth: grids may be long, but not wide.
    Where they are wide, ``inference="relaxed"`` finds good labels by a linear relaxation, which also bounds how much
    better the best ones may be (`mercer.networks.linear_relaxation`).

    Seed: [HSS] Section 4.2, Proposition 22 and Corollary 24: kernels that decompose over the cliques of a network.

    Parameters
    ----------
    edges : (E, 2) or (E, 3) array, optional
        Sites that are joined, and optionally the kind of the edge, from 0; see `grid_edges`. A sample with fewer sites
        has the edges among those it has. None if every sample brings its own.
    pair_scale : float, default 1.0
        Of the kernel of pairs of labels; 0 for labels that do not depend on each other.
    cost : (K, K) array, optional
        The cost of predicting b where a is true, at each site, in the order of sorted labels; None is 1.
    kinds : int, optional
        Number of kinds of edges; None is as many as `edges` have, or 1 if samples bring them.
    inference : {"exact", "relaxed"}, default "exact"
        How labels are searched. Probabilities and several best outputs are always exact; so are networks without
        cycles.
    classes : array, optional
        Learned: the labels.

    Notes
    -----
    X is a list of samples, each a list of what the kernel compares, one for each site; y a list of labels in the same
    order. Without `edges`, X is a list of pairs (objects, edges): samples may have different networks and sizes,
    and all share the functions and the matrices W.

    Examples
    --------
    >>> space = NetworkLabels(grid_edges(2, 2)).learn([[0, 1, 0, 1]])
    >>> F, w = np.array([[1.0, 0.0], [0.0, 0.1], [1.0, 0.0], [0.2, 0.0]]), np.zeros(8)
    >>> space.best(F, w)
    array([0, 1, 0, 0])
    """

    has_sites = True
    constraints = {
        "edges": Optional(InstanceOf(np.ndarray, list, tuple)),
        "pair_scale": Interval(0.0, np.inf, closed="left"),
        "cost": Optional(InstanceOf(np.ndarray, list, tuple)),
        "kinds": Optional(Integer(1)),
        "inference": OneOf("exact", "relaxed"),
        "classes": Optional(InstanceOf(np.ndarray, list, tuple)),
    }
    example = (((0, 1), (1, 2), (2, 0)),)

    def __init__(
        self,
        edges: Any = None,
        pair_scale: float = 1.0,
        cost: Any = None,
        kinds: int | None = None,
        inference: str = "exact",
        classes: Any = None,
    ) -> None:
        self.edges = edges
        self.pair_scale = pair_scale
        self.cost = cost
        self.kinds = kinds
        self.inference = inference
        self.classes = classes

    @property
    def own_networks(self) -> bool:
        """Whether every sample brings its own network."""
        return self.edges is None

    @property
    def width(self) -> int:
        """Number of labels."""
        return len(self.classes)

    @property
    def _edges(self) -> Indices:
        """The edges with their kinds, (E, 3)."""
        try:
            table: Any = np.asarray(() if self.edges is None else self.edges)
        except ValueError:
            table = np.empty(0, dtype=object)
        if table.dtype != object and not table.size:
            return np.empty((0, 3), dtype=np.intp)
        good = table.ndim == 2 and table.shape[1] in (2, 3) and table.dtype.kind in "iu" and (table >= 0).all()
        if not good or (table[:, 0] == table[:, 1]).any():
            raise ParameterError(
                f"edges of shape {table.shape} were given; rows of two different sites, from 0, and optionally "
                "a kind are accepted. Give [[0, 1], [1, 2], ...], or grid_edges(height, width)."
            )
        kinds = table[:, 2] if table.shape[1] == 3 else np.zeros(len(table), dtype=int)
        if self.kinds is not None and kinds.max() >= self.kinds:
            raise ParameterError(
                f"an edge of kind {kinds.max()} was given where there are {self.kinds} kinds, from 0. Give "
                f"NetworkLabels(kinds={kinds.max() + 1})."
            )
        return np.column_stack([table[:, :2], kinds]).astype(np.intp)

    @property
    def _kinds(self) -> int:
        if self.kinds is not None:
            return int(self.kinds)
        return 1 if self.edges is None else int(self._edges[:, 2].max(initial=-1)) + 1

    def on(self, network: Any, sites: int) -> Self:
        found = self.replace(edges=network if network is not None else (), kinds=self._kinds)
        edges = found._edges
        if edges[:, :2].max(initial=-1) >= sites:
            raise DomainError(
                f"a sample of {sites} sites has an edge to site {edges[:, :2].max()}; sites are numbered from 0 to "
                f"{sites - 1}. Correct its edges."
            )
        return found.replace(edges=edges)

    @property
    def extras(self) -> int:
        """One weight for each kind of edges and pair of labels."""
        return self.width**2 * self._kinds

    @property
    def _costs(self) -> Floats:
        return 1.0 - np.eye(self.width) if self.cost is None else np.asarray(self.cost, dtype=float)

    def learn(self, y: Any) -> Self:
        self._edges  # noqa: B018  # or an error
        rows = label_rows(y)
        classes = np.unique(np.concatenate(rows)) if any(map(len, rows)) else np.empty(0)
        if not len(classes):
            raise TargetError("y has no label at all; labels of sites are accepted, not all empty. Give labels.")
        if self.cost is not None:
            square_cost(self.cost, len(classes))
        return self.replace(classes=classes)

    def encode(self, y: Any) -> Array:
        return label_codes(y, np.asarray(self.classes))

    def decode(self, outputs: Sequence[Any]) -> Any:
        return [np.asarray(self.classes)[np.asarray(output, dtype=np.intp)] for output in outputs]

    def _among(self, sites: int) -> Indices:
        edges = self._edges
        return edges[(edges[:, :2] < sites).all(axis=1)]

    def features(self, output: Any, sites: int) -> tuple[Floats, Floats]:
        psi, K = np.zeros((sites, self.width)), self.width
        psi[np.arange(sites), output] = 1.0
        a, b, kind = self._among(sites).T
        g = np.bincount(kind * K * K + output[a] * K + output[b], minlength=self.extras).astype(float)
        return psi, np.sqrt(self.pair_scale) * g

    def loss(self, truth: Any, output: Any) -> float:
        return float(self._costs[truth, output].sum())

    def _tree(self, F: Floats, w: Floats) -> JunctionTree:
        """Return the network of a sample, compiled: its tree is that of all samples of this size."""
        K = self.width
        edges = self._among(len(F))
        W = np.sqrt(self.pair_scale) * w.reshape(-1, K, K)
        tree = _compiled(len(F), K, edges.tobytes())
        tables = [W[kind] if a < b else W[kind].T for a, b, kind in edges]
        return tree.with_network(tree.network.replace_scores([*F, *tables]))

    @property
    def is_exact(self) -> bool:
        """Whether searches find the best labels."""
        return self.inference == "exact"

    def _relaxed(self, F: Floats, w: Floats, truth: Any) -> Relaxed | None:
        """Return the relaxation of the best labels with their loss; None where the search is exact."""
        edges, K = self._among(len(F)), self.width
        if self.is_exact or _without_cycles(len(F), edges.tobytes()):
            return None
        W = np.sqrt(self.pair_scale) * w.reshape(-1, K, K)
        single = np.array(F if truth is None else F + self._costs[truth])
        return relax(PairScores(single, np.full(len(F), K), np.ascontiguousarray(edges[:, :2]), W[edges[:, 2]]))

    def slack_bound(self, F: Floats, w: Floats, truth: Any, rescaling: str = "margin") -> float:
        found = self._relaxed(F, w, truth) if rescaling == "margin" else None
        if found is None:
            return super().slack_bound(F, w, truth, rescaling)
        return max(0.0, found.bound - self.score(F, w, truth))

    def augmented(self, F: Floats, w: Floats, truth: Any) -> Any:
        if (relaxed := self._relaxed(F, w, truth)) is not None:
            return relaxed.states
        tree = self._tree(F, w)
        if truth is None:
            found, _ = tree.best()
        else:
            found, _ = tree.loss_augmented_best(truth, dict.fromkeys(range(len(F)), self._costs))
        return np.array([found[s] for s in range(len(F))], dtype=np.intp)

    def two_best(self, F: Floats, w: Floats) -> list[Any]:
        return self.k_best(F, w, 2)

    def k_best(self, F: Floats, w: Floats, k: int) -> list[Any]:
        """Return the k best outputs of a sample, or all if there are fewer."""
        found = self._tree(F, w).k_best(k)
        return [np.array([states[s] for s in range(len(F))], dtype=np.intp) for states, _ in found]

    def sums(self, F: Floats, w: Floats) -> Sums:
        tree, m, K = self._tree(F, w), len(F), self.width
        marginals = tree.factor_marginals()
        g = np.zeros((self.extras // (K * K), K, K))
        for (a, b, kind), table in zip(self._among(m), marginals[m:], strict=True):
            g[kind] += table if a < b else table.T
        psi = np.array(marginals[:m]).reshape(m, K)
        return Sums(float(tree.log_partition), psi, np.sqrt(self.pair_scale) * g.ravel())

    def marginals_of_all(self, F: Floats, offsets: Indices, w: Floats) -> Floats:
        """Return the probability of each label at each site, (N, K)."""
        return self.sums_of_all(F, offsets, w, np.ones(len(offsets) - 1))[1]

    def outputs(self, sites: int) -> Iterator[Array]:
        if self.width**sites > _MOST:
            return super().outputs(sites)
        return (np.array(y, dtype=np.intp) for y in product(range(self.width), repeat=sites))

    def agreement(self, truth: Any, output: Any) -> tuple[float, float]:
        return float(np.sum(truth == output)), float(len(truth))


@functools.lru_cache(maxsize=1024)
def _compiled(sites: int, labels: int, edges: bytes) -> JunctionTree:
    """Return the junction tree of a network whose scores are zero."""
    factors: list[Any] = [((s,), np.zeros(labels)) for s in range(sites)]
    for a, b, _ in np.frombuffer(edges, dtype=np.intp).reshape(-1, 3).tolist():
        factors.append(((a, b), np.zeros((labels, labels))))
    return junction_tree(MarkovNetwork.from_factors(factors, dict.fromkeys(range(sites), labels)))


@functools.lru_cache(maxsize=1024)
def _without_cycles(sites: int, edges: bytes) -> bool:
    return is_forest(sites, np.frombuffer(edges, dtype=np.intp).reshape(-1, 3)[:, :2].tolist())
