r"""Label propagation: few labels spread along the edges of graphs.

Symbols: W weights of a graph, D its degrees, L its Laplacian; Y the (n, c) labels, a one in the column of the class and
zeros for samples without label; F the values that are found; beta_k the weights of several graphs, E_k the energies of
F.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin
from sklearn.callback import with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from mercer.arrays import Array, Floats, Indices
from mercer.budget import Plan
from mercer.constraints import AnyOf, Each, Integer, Interval, OneOf, Positive
from mercer.domains import Samples, Similarities
from mercer.domains.structures.nodes import Network
from mercer.errors import DomainError, ParameterError, TargetError, warn_caller
from mercer.estimators.estimator import KernelEstimator
from mercer.estimators.fits import Run, fitting
from mercer.estimators.neighbours import affinities, find_neighbours, neighbours_of, pack_or_graph
from mercer.estimators.semi.laplacian import mark
from mercer.estimators.semi.networks import (
    AnyGraph,
    Laplacian,
    Mixture,
    Networks,
    RobustWeights,
    as_networks,
    energies,
)
from mercer.gram import Features
from mercer.kernels import Kernel
from mercer.problems import Solution, Status, Trace
from mercer.solvers.linear.sparse_sweeps import reach, sweep_sparse
from mercer.solvers.linear.sparse_systems import SparseSolution, row_sums, solve_sparse
from mercer.targets import Multiclass
from mercer.targets.target import labels

__all__ = ["LabelPropagation"]
__public__ = __all__

_STRICT = 0.01  # times tol: the residual allowed for the linear system of hard labels, which magnifies it
_QUICK = 0.5  # alpha up to which sweeps are few
_SINGLE = 1e-6  # tol that sweeps reach in single precision
_ROUNDS = 100  # of weights of graphs
_LOOSE = 1.0  # times the change of the weights: the tolerance meanwhile
_STEADY = 1e-5  # change of the weights at which they have settled


class LabelPropagation(ClassifierMixin, KernelEstimator):
    r"""Label propagation: samples take the labels of those that they are tied to.

    With ``clamping="soft"`` (local and global consistency), for normalised Laplacians,

    .. math:: \min_F \; \frac{1 - \alpha}{\alpha} \|F - Y\|^2 + \mathrm{tr}(F^\top L F), \qquad
        F = (1 - \alpha) (I - \alpha D^{-1/2} W D^{-1/2})^{-1} Y

    with ``clamping="hard"`` the harmonic function: F = Y where there are labels, and elsewhere each value is the mean
    of its neighbours', :math:`L F = 0` for :math:`L = D - W`. On several graphs L is :math:`\sum_k \beta_k L_k`, with
    weights that solve

    .. math:: \min_F \; \dots + c \sum_k \log(\delta + E_k), \qquad E_k = \mathrm{tr}(F^\top L_k F), \;
        \beta_k = \frac{c}{\delta + E_k}

    so that a graph on which the labels vary wildly matters little.

    Seed: [KIKS] Section 6.2, the robust label propagation on multiple networks that it cites: learning from many sparse
    graphs in place of many kernels.

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        Whose nearest neighbours are tied, on any domain; None is the Gaussian at the median distance between samples.
        With "precomputed" a sparse X holds the affinities themselves.
    graph : graph, or several in a dict, tuple or list, optional
        X then holds nodes, numbers or names; nodes that are not in X have no label. In any form that
        `mercer.domains.structures.nodes.Network` takes. Several graphs have the same nodes.
    alpha : float, default 0.9
        The share of a value that comes from the neighbours, with soft clamping; the rest is the label's. In (0, 1).
    clamping : {"soft", "hard"}, default "soft"
        Whether given labels may change.
    n_neighbors : int, default 10
        Neighbours that a sample is tied to, without a graph.
    edges : {"one", "kernel"}, default "one"
        Weight of an edge between neighbours: 1, or the value of the kernel.
    graph_weights : "robust", "equal" or (k,) array, default "robust"
        beta, of several graphs: as above, all equal, or as given.
    spread : float, default 0.1
        delta over the mean energy of the graphs at equal weights: the smaller, the more the weights differ. Positive.
    unlabelled : object, default -1
        What stands in y for no label; None for None and NaN.
    tol : float, default 1e-6
        Accuracy of the values.
    max_iter : int, default 1000
        Largest number of products with the graphs for each linear system.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`.

    Attributes
    ----------
    classes_ : (c,) array
    label_distributions_ : (n, c) array
        Share of each class, a row per sample of X; rows sum to one.
    transduction_ : (n,) array
        The most likely class of each sample of X, those with labels included.
    node_distributions_ : (N, c) array
        The same for all nodes of the graph.
    reached_ : (N,) array of bool
        Whether a path leads from a label to a node; nodes that none reaches have the shares of the labels.
    graph_weights_ : (k,) array
        beta over its sum.
    energies_ : (k,) array
        E, of each graph.
    graph_names_ : tuple of str
    n_iter_ : int
        Products with the graphs.
    solution_ : Solution

    Notes
    -----
    All classes are found at once, by sweeps over the nodes, and where these are slow (alpha above 0.5 and nodes far
    from each other) by conjugate gradients from their result; both work in single precision and correct that in
    double. Cost O(c) per edge and iteration; some ten iterations for small alpha, or if few steps lead from any node to
    any other, and ``sqrt(1 / (1 - alpha))`` times as many at worst. A new sample gets the mean of its nearest training
    samples; one that equals a training sample gets its values. The weights of graphs descend a nonconvex objective,
    starting from equal ones.

    Examples
    --------
    >>> from mercer import LabelPropagation
    >>> line = [(0, 1), (1, 2), (2, 3), (3, 4)]
    >>> model = LabelPropagation(graph=line, clamping="hard").fit(range(5), [0, -1, -1, -1, 1])
    >>> model.label_distributions_[:, 1].round(2)
    array([0.  , 0.25, 0.5 , 0.75, 1.  ])
    """

    gram = Features()  # no Gram matrix is held
    constraints = {
        "graph": AnyGraph(),
        "alpha": Interval(0.0, 1.0, closed="neither"),
        "clamping": OneOf("soft", "hard"),
        "n_neighbors": Integer(1),
        "edges": OneOf("one", "kernel"),
        "graph_weights": AnyOf(OneOf("robust", "equal"), Each(Positive(), alone=False)),
        "spread": Positive(),
        "unlabelled": mark,
        "tol": Interval(0.0, 1.0, closed="neither"),
        "max_iter": Integer(1),
    }

    def __init__(
        self,
        kernel: Any = None,
        graph: Any = None,
        alpha: float = 0.9,
        *,
        clamping: str = "soft",
        n_neighbors: int = 10,
        edges: str = "one",
        graph_weights: Any = "robust",
        spread: float = 0.1,
        unlabelled: Any = -1,
        tol: float = 1e-6,
        max_iter: int = 1000,
        gamma: float | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.graph = graph
        self.alpha = alpha
        self.clamping = clamping
        self.n_neighbors = n_neighbors
        self.edges = edges
        self.graph_weights = graph_weights
        self.spread = spread
        self.unlabelled = unlabelled
        self.tol = tol
        self.max_iter = max_iter
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    # fit ----------------------------------------------------------------------------------------------

    @with_callbacks
    def fit(self, X: Any, y: Any) -> LabelPropagation:
        """Spread the labels.

        Parameters
        ----------
        X : raw data or packed samples; nodes with ``graph``; sparse affinities with ``kernel="precomputed"``
        y : (n,) array
            Class labels, and ``unlabelled`` where there is none.

        Returns
        -------
        self
        """
        with fitting(self, X, y, pack=self._nodes_or_samples) as (run, (kernel, found), _, S, _, _, _):
            self.target_, codes = self._read(y, len(S))
            self.classes_ = self.target_.classes
            networks, places = self._networks(kernel, found, S, run)
            Y = self._labels(codes, places, len(networks.graphs[0]))
            self._spread(networks, Y, run)
            self.label_distributions_ = self.node_distributions_[places]
            self.transduction_ = self.classes_[np.argmax(self.label_distributions_, axis=1)]
        return self

    def _nodes_or_samples(self, X: Any) -> tuple[Samples, tuple[Any, Any]]:
        """Pack nodes of the graphs that were given, sparse affinities, or samples of a kernel."""
        if self.graph is None:
            return pack_or_graph(self, X)
        networks = as_networks(self.graph)
        return networks.graphs[0].locate(X), (None, networks)

    def _networks(self, kernel: Any, found: Any, S: Any, run: Run) -> tuple[Networks, Indices]:
        """Return the graphs, and the node of each sample; keeps what prediction needs."""
        for name in ("network_", "samples_", "kernel_"):  # of a fit before, with other parameters
            vars(self).pop(name, None)
        if isinstance(found, Networks):
            first = found.graphs[0]
            self.network_ = Network(sp.csr_array(first.adjacency.shape), first.names)
            return found, S.index
        every = np.arange(len(S))
        self.kernel_ = kernel if found is not None else kernel.learn(S)
        if found is None:
            self.samples_ = S.landmarks()
            if len(S) == 1:
                found = sp.csr_array((1, 1))
            else:
                with run.stage("neighbours", 0.5):
                    near = find_neighbours(self.kernel_, S, self.n_neighbors, run.resources())
                found = affinities(near, self.edges)
        return Networks(("0",), (Network(found),)), every

    def _read(self, y: Any, n: int) -> tuple[Multiclass, Indices]:
        """Return the classes, and their numbers for each sample, -1 without label."""
        values = np.asarray(y, dtype=object) if self.unlabelled is None else labels(y)
        if values.ndim != 1 or len(values) != n:
            raise TargetError(
                f"Found input variables with inconsistent numbers of samples: X has {n}, y has shape {values.shape}; "
                "there must be one label per sample, or what stands for none. Give X and y of the same length."
            )
        none: Any = values == self.unlabelled
        if self.unlabelled is None:
            none = [v is None or v != v for v in values]
        none = np.broadcast_to(np.asarray(none, dtype=bool), values.shape)
        if none.all():
            raise TargetError(
                f"y has no label: all of it is unlabelled={self.unlabelled!r}. Give labels of two classes or more, or "
                "say by unlabelled= what stands for none."
            )
        labelled = values[~none]
        if none.any() and np.all(labelled == labelled[0]) and self._may_be_signs(labelled[0]):
            raise TargetError(
                "y has only -1 and 1, and -1 stands for no label, so one class remains. If -1 is a class, say what "
                "stands for no label by unlabelled=, for example unlabelled=0; or name the classes otherwise."
            )
        target, codes = Multiclass().read(labelled.tolist() if self.unlabelled is None else labelled)
        out = np.full(n, -1, dtype=np.intp)
        out[~none] = codes
        return target, out

    def _may_be_signs(self, label: Any) -> bool:
        return isinstance(self.unlabelled, int) and self.unlabelled == -1 and not isinstance(label, str) and label == 1

    def _labels(self, codes: Indices, places: Indices, n: int) -> Floats:
        """Return Y, (n, c); a node that is given several times has the mean of its labels."""
        Y = np.zeros((n, len(self.classes_)))
        known = np.flatnonzero(codes >= 0)
        np.add.at(Y, (places[known], codes[known]), 1.0)
        counts = np.bincount(places[known], minlength=n)
        several = np.flatnonzero(counts > 1)
        Y[several] /= counts[several, None]
        return Y

    def _spread(self, networks: Networks, Y: Floats, run: Run) -> None:
        """Find F, and the weights of the graphs."""
        labelled = row_sums(Y) > 0.0
        self.reached_ = _reached(networks, labelled)
        laplacians = networks.laplacians(plain=self.clamping == "hard")
        with run.stage("propagation", 1.0):
            F, beta, found, rows = self._weighted(laplacians, Y, labelled, run)
        share = Y[labelled].mean(axis=0)
        np.maximum(F, 0.0, out=F)
        total = row_sums(F)[:, None]
        far = ~(self.reached_ & (total[:, 0] > 0.0))  # values are positive wherever a path leads, up to rounding
        F[far], total[far] = share, 1.0
        self.node_distributions_ = np.divide(F, total, out=F)
        self.graph_names_, self.graph_weights_ = networks.names, beta / beta.sum()
        self.n_iter_ = sum(one.iterations for one in found)
        worst = max(found, key=lambda one: (one.status is not Status.CONVERGED, one.residual))
        self.solution_ = Solution(np.zeros(0), worst.status, worst.residual, trace=Trace.of(rows))
        if worst.status is not Status.CONVERGED:
            warn_caller(
                f"LabelPropagation stopped at residual {worst.residual:.3g}. {worst.status.value}", ConvergenceWarning
            )

    def _weighted(
        self, laplacians: list[Laplacian], Y: Floats, labelled: Array, run: Run
    ) -> tuple[Floats, Floats, list[SparseSolution], list[tuple[float, float, float]]]:
        """Solve for F, and for robust weights in turn with them: each round lowers the objective."""
        m, mixture = len(laplacians), Mixture(laplacians)
        beta = np.full(m, 1.0 / m)
        if not isinstance(self.graph_weights, str):
            beta = np.asarray(self.graph_weights, dtype=float)
            if beta.shape != (m,):
                raise ParameterError(
                    f"graph_weights of shape {beta.shape} were given for {m} graphs; one per graph is accepted. Give "
                    f"{m} of them, or graph_weights='robust'."
                )
            beta = beta / beta.sum()
        found = [self._solve_for(mixture, beta, Y, labelled, None, run)]
        E = self._energies(laplacians, found[-1].X, Y)
        rows = [(self._misfit(found[-1].X, Y) + float(beta @ E), found[-1].residual, 0.0)]
        if m > 1 and isinstance(self.graph_weights, str) and self.graph_weights == "robust":
            weigh, rows = RobustWeights.of(E, self.spread), []
            loose = 1.0  # tolerance for F relative to the final one: no tighter than the weights are known
            for _ in range(_ROUNDS):
                rows.append((self._misfit(found[-1].X, Y) + weigh.value(E), found[-1].residual, 0.0))
                before, beta = beta, weigh(E)
                change = float(np.abs(beta - before).max() / beta.max())
                settled = change <= _STEADY and loose == 1.0
                if settled or found[-1].status is not Status.CONVERGED:
                    break
                loose = max(1.0, _LOOSE * change / self.tol) if change > _STEADY else 1.0
                found.append(self._solve_for(mixture, beta, Y, labelled, found[-1].X, run, loose))
                E = energies(laplacians, found[-1].X)
        self.energies_ = E
        return found[-1].X, beta, found, rows

    def _energies(self, laplacians: list[Laplacian], F: Floats, Y: Floats) -> Floats:
        """Return the energies; of one graph with soft labels by the equation that F solves, L F = gamma (Y - F)."""
        if len(laplacians) > 1 or self.clamping == "hard":
            return energies(laplacians, F)
        gamma = (1.0 - self.alpha) / self.alpha
        return np.array([max(gamma * float(np.einsum("ij,ij->", F, Y - F)), 0.0)])

    def _misfit(self, F: Floats, Y: Floats) -> float:
        """Return the first term of the objective; hard labels have none."""
        return 0.0 if self.clamping == "hard" else (1.0 - self.alpha) / self.alpha * float(np.sum((F - Y) ** 2))

    def _solve_for(
        self, mixture: Mixture, beta: Floats, Y: Floats, labelled: Array, start: Floats | None, run: Run,
        loose: float = 1.0,
    ) -> SparseSolution:  # fmt: skip
        """Return F for given weights of the graphs."""
        left = 1.0 - self.alpha  # the share of an error in the slowest mode that a further step removes
        strict = self.tol * (_STRICT if self.clamping == "hard" else min(0.5 * np.sqrt(left), 5.0 * left))
        monitor = run.solver_monitor(strict) if run.watched else None
        solve = functools.partial(
            solve_sparse,
            tol=loose * strict,
            max_iter=self.max_iter,
            shares=True,
            n_threads=self.n_threads,
            monitor=monitor,
        )
        L = mixture(beta)
        if self.clamping == "soft":
            return self._solve_soft(L, Y, start, strict, monitor, solve)
        free = np.flatnonzero(self.reached_ & ~labelled)
        F = Y.copy()
        if not len(free):
            return SparseSolution(F, 0.0, 0, Status.CONVERGED)
        rows = L.ties[free]
        begin = None if start is None else start[free]
        inner = solve(L.diagonal[free], sp.csr_array(rows[:, free]), np.asarray(rows @ Y), start=begin)
        F[free] = inner.X
        return SparseSolution(F, inner.residual, inner.iterations, inner.status)

    def _solve_soft(
        self, L: Laplacian, Y: Floats, start: Floats | None, strict: float, monitor: Any, solve: Any
    ) -> SparseSolution:
        """Return F for soft labels: by sweeps, and where these are slow by conjugate gradients from their result."""
        gamma, scale = (1.0 - self.alpha) / self.alpha, L.scale
        own = np.full(len(Y), gamma) if scale is None else gamma / scale**2
        d, B = L.diagonal + own, Y * (gamma if scale is None else (gamma / scale)[:, None])
        if scale is not None and start is not None:  # what is solved for is F times the scale
            start = start * scale[:, None]
        quick = self.alpha <= _QUICK
        begin = start
        if start is None and (scale is None or self.tol < _SINGLE):
            begin = Y if scale is None else Y * scale[:, None]  # in the slowest mode, Y itself is right
        found = None
        if self.tol >= _SINGLE and (quick or scale is not None):
            found = sweep_sparse(
                d,
                L.ties,
                B,
                tol=self.tol if quick else strict,
                max_iter=min(self.max_iter, 100),
                start=begin,
                reached=self.reached_,
                sums=None if scale is None else own,
                quick=quick,
                monitor=monitor,
            )
        if found is None or found.status is Status.STALLED:
            swept = 0 if found is None else found.iterations
            found = solve(d, L.ties, B, start=begin if found is None else found.X)
            found = dataclasses.replace(found, iterations=found.iterations + swept)
        if scale is not None:
            np.divide(found.X, scale[:, None], out=found.X)
        return found

    # use ----------------------------------------------------------------------------------------------

    def predict_proba(self, X: Any) -> Floats:
        """Return the shares of the classes, shape (m, c): of nodes, or of new samples by those nearest to them."""
        check_is_fitted(self)
        if self.graph is not None:
            return self.node_distributions_[self.network_.locate(X).index]
        if not hasattr(self, "samples_"):
            return self._by_affinities(X)
        T = self._pack_new(X)
        near = neighbours_of(self.kernel_, T, self.samples_, self.n_neighbors, self._resources())
        weights = np.maximum(near.values, 0.0) if self.edges == "kernel" else np.ones(near.index.shape)
        same = near.distances <= 0.0
        hit = same.any(axis=1)
        weights[hit] = same[hit]
        values = np.einsum("ij,ijc->ic", weights, self.node_distributions_[near.index])
        return _shares(values, self.node_distributions_)

    def _by_affinities(self, X: Any) -> Floats:
        """Return the means of the training samples, weighted by affinities that are given, (m, n)."""
        A: Any = sp.csr_array(X, dtype=float)
        n = len(self.node_distributions_)
        if A.shape[1] != n or not np.isfinite(A.data).all() or (A.data < 0.0).any():
            raise DomainError(
                f"affinities of shape {A.shape} were given, or some are negative or not finite; new samples have {n} "
                "columns, one for each training sample. Give their affinities with these."
            )
        return _shares(np.asarray(A @ self.node_distributions_), self.node_distributions_)

    def predict(self, X: Any) -> Array:
        """Return the most likely class, shape (m,)."""
        shares = self.predict_proba(X)
        return self.classes_[np.argmax(shares, axis=1)]

    # entry points -------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.graph is not None and self.kernel is not None:
            raise ParameterError(
                f"kernel={self.kernel!r} and graph= were given to LabelPropagation; it accepts one of them: a graph, "
                "or a kernel whose neighbours make one. Leave one out."
            )

    def _check_order(self, kernel: Kernel) -> None:
        if kernel.order is not None:  # an affinity need not be definite
            super()._check_order(kernel)

    def _check_definite(self, S: Similarities) -> None:
        S.check_symmetric()

    def memory_plan(self, n_samples: int, n_features: int = 1, n_targets: int = 1) -> Plan:
        """Return the large buffers of a fit by name, in bytes, before anything is allocated."""
        k = self.n_neighbors
        buffers = {
            "packed samples": 8 * n_samples * n_features,
            "neighbours": 24 * n_samples * k,
            "graph": 12 * 6 * n_samples * k,
            "values of the classes": 8 * 8 * n_samples * max(n_targets, 2),
        }
        return Plan(f"{type(self).__name__} on {n_samples} samples", buffers)


def _reached(networks: Networks, labelled: Array) -> Array:
    """Return which nodes are in a connected part with a label."""
    if len(networks.graphs) == 1 and (found := reach(networks.graphs[0].adjacency, labelled)) is not None:
        return found
    part = networks.parts()
    return np.bincount(part, weights=labelled)[part] > 0.0


def _shares(values: Floats, known: Floats) -> Floats:
    """Return rows over their sums; one that is tied to nothing has the mean of the training samples."""
    total = values.sum(axis=1, keepdims=True)
    empty = ~(total[:, 0] > 0.0)
    values[empty], total[empty] = known.mean(axis=0), 1.0
    return values / total
