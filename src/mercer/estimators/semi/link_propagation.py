"""Links between nodes: what is known of some pairs spreads to similar pairs.

Symbols: F (n, m) the values of all pairs of n row nodes and m column nodes, M the pairs that were seen, L_A and L_B the
Laplacians of the graphs of rows and of columns, s the smoothness, r the ridge.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.callback import with_callbacks
from sklearn.exceptions import ConvergenceWarning

from mercer.arrays import Floats
from mercer.constraints import AnyOf, Boolean, InstanceOf, Integer, OneOf, Optional, Positive
from mercer.domains.identity import distinct
from mercer.errors import DomainError, TargetError, warn_caller
from mercer.estimators.estimator import KernelEstimator
from mercer.estimators.fits import fitting
from mercer.estimators.neighbours import neighbours_of
from mercer.estimators.semi.sample_graphs import given_affinities, sample_laplacian
from mercer.numerics.laplacians import laplacian
from mercer.problems import Status
from mercer.solvers.linear.kronecker_sum import solve_kronecker_sum
from mercer.targets import PartialReal

__all__ = ["LinkPropagation"]
__public__ = __all__


class LinkPropagation(MultiOutputMixin, RegressorMixin, KernelEstimator):
    r"""Links between nodes from some that are known: pairs of similar nodes are linked alike.

    .. math:: \min_F \; \tfrac12 \sum_{(i, j) \text{ seen}} (y_{ij} - F_{ij})^2 + \tfrac{r}{2} \|F\|^2 +
        \tfrac{s}{2} \, \mathrm{vec}(F)^\top (L_A \otimes I + I \otimes L_B) \, \mathrm{vec}(F)

    The last term compares pairs that differ in one node: s times half the sum of squared differences of F between
    neighbouring rows and between neighbouring columns.

    Seed: [KIKS] Section 6.1.1, link prediction with the Kronecker sum of two Laplacians.

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        On the attributes of row nodes; it says which nodes are neighbours. None is the Gaussian at the median distance.
    smoothness : float, default 0.1
        s. Positive.
    ridge : float, default 0.01
        r, which draws values that nothing is known about to zero. Positive.
    columns : "rows", (m, m) sparse array, or None, default None
        The graph of column nodes: that of the rows, for links within one graph; affinities of other nodes, for links
        between two; None if columns are not alike in any way.
    gamma, degree, coef0 : optional
        Parameters of scikit-learn's named kernels.
    n_neighbors : int, default 10
        How many others each row node is tied to.
    weights : {"one", "half", "kernel"}, default "one"
        Weight of an edge, as in `LaplacianRidge`.
    normalized : bool, default False
        Whether Laplacians are :math:`I - D^{-1/2} A D^{-1/2}` instead of :math:`D - A`.
    graph : (n, n) sparse array, optional
        Affinities of row nodes, in place of neighbours.
    tol : float, default 1e-6
        Of conjugate gradients: the length of the residual over that of what is known.
    max_iter : int, default 1000
        The most steps.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`.

    Attributes
    ----------
    transduction_ : (n, m) array, or (n,) for one column
        F, the values of all pairs.
    samples_ : Samples
        The row nodes.
    column_laplacian_ : (m, m) sparse array
        L_B.
    n_iter_ : int
        Steps of conjugate gradients.
    kernel_ : Kernel

    Notes
    -----
    Y is NaN where nothing is known, or a sparse matrix whose stored entries are known. A new row node is tied to its
    neighbours among the known ones, and its links are those that then cost least. Cost of a step: products of both
    Laplacians with the table, linear in edges times nodes; memory 40 bytes a pair, beside Y.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import LinkPropagation
    >>> from mercer.kernels import Linear
    >>> X = np.array([[0.0], [0.1], [5.0], [5.1]])  # two groups of two
    >>> Y = np.full((4, 4), np.nan)
    >>> Y[0, 1], Y[0, 2], Y[2, 3] = 1.0, 0.0, 1.0
    >>> model = LinkPropagation(Linear(), smoothness=1.0, columns="rows", n_neighbors=1).fit(X, Y)
    >>> bool(model.transduction_[1, 0] > model.transduction_[1, 2])
    True
    """

    constraints = {
        "smoothness": Positive(),
        "ridge": Positive(),
        "columns": Optional(AnyOf(OneOf("rows"), InstanceOf(np.ndarray, sp.sparray, sp.spmatrix))),
        "n_neighbors": Integer(1),
        "weights": OneOf("one", "half", "kernel"),
        "normalized": Boolean(),
        "graph": Optional(InstanceOf(np.ndarray, sp.sparray, sp.spmatrix)),
        "tol": Positive(),
        "max_iter": Integer(1),
    }
    unknown_targets = True  # NaN

    def __init__(
        self,
        kernel: Any = None,
        *,
        smoothness: float = 0.1,
        ridge: float = 0.01,
        columns: Any = None,
        gamma: float | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        n_neighbors: int = 10,
        weights: str = "one",
        normalized: bool = False,
        graph: Any = None,
        tol: float = 1e-6,
        max_iter: int = 1000,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.smoothness = smoothness
        self.ridge = ridge
        self.columns = columns
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.normalized = normalized
        self.graph = graph
        self.tol = tol
        self.max_iter = max_iter
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    @with_callbacks
    def fit(self, X: Any, Y: Any) -> LinkPropagation:
        """Find the values of all pairs.

        Parameters
        ----------
        X : raw data or packed samples
            Attributes of the row nodes.
        Y : (n, m) array with NaN, sparse matrix, or (n,) array
            What is known of pairs of row and column nodes.

        Returns
        -------
        self
        """
        known = _of_sparse(Y) if sp.issparse(Y) else None
        with fitting(self, X, known if known is not None else Y, None, PartialReal(single=True)) as fit:
            run, kernel, _, S, values, w, used = fit
            table = values.reshape(len(S), -1)
            self.kernel_ = kernel.learn(S, None, w)
            with run.stage("graphs", 0.2):
                rows = sample_laplacian(self, self.kernel_, S, w, used, run.resources())
                rows = self._with_copies(rows, S)
                columns = self._column_laplacian(rows, table.shape[1])
            seen = ~np.isnan(table)
            with run.stage("solver", 1.0):
                found = solve_kronecker_sum(
                    (rows, columns),
                    seen,
                    np.where(seen, table, 0.0),
                    self.ridge,
                    self.smoothness,
                    tol=self.tol,
                    max_iter=self.max_iter,
                    monitor=run.solver_monitor(self.tol) if run.watched else None,
                )
            if found.status is not Status.CONVERGED:
                warn_caller(
                    f"Conjugate gradients stopped at {found.residual:.3g}. {found.status.value}", ConvergenceWarning
                )
            self.transduction_ = found.coef if values.ndim == 2 else found.coef[:, 0]
            self.n_iter_ = len(found.trace)
            self.samples_ = self.kernel_.prepare(S).landmarks()
            self.column_laplacian_ = columns
        return self

    def _with_copies(self, L: Any, S: Any) -> Any:
        """Return the Laplacian with equal nodes tied to the first of them: they have the same neighbours."""
        first, group = distinct(S)
        if len(first) == len(S) or self.graph is not None:
            return L
        copies = np.setdiff1d(np.arange(len(S)), first)
        others = first[group[copies]]
        ones = np.ones(len(copies))
        A = sp.csr_array((ones, (copies, others)), shape=L.shape)
        return sp.csr_array(L + laplacian(sp.csr_array(A + A.T), False))

    def _column_laplacian(self, rows: Any, m: int) -> Any:
        if self.columns is None:
            return sp.csr_array((m, m))
        L: Any = rows if isinstance(self.columns, str) else laplacian(given_affinities(self.columns), self.normalized)
        if L.shape[0] != m:
            raise TargetError(
                f"Y has {m} columns, and the graph of columns {L.shape[0]} nodes; each column must be a node. Give the "
                "affinities of all columns of Y."
            )
        return L

    def predict(self, X: Any) -> Floats:
        """Return the links of new row nodes with all column nodes, (k, m), or (k,) for one column.

        Parameters
        ----------
        X : raw data or packed samples
            Attributes of the new nodes.
        """
        T = self._pack_new(X)
        if self.graph is not None:
            raise DomainError(
                "graph was given, which has no place for new nodes; their neighbours are not known. Give attributes "
                "instead, or look at transduction_."
            )
        near = neighbours_of(self.kernel_, T, self.samples_, self.n_neighbors, self._resources())
        tie = near.values if self.weights == "kernel" else np.ones(near.values.shape)
        table = self.transduction_.reshape(len(self.samples_), -1)
        pulled = self.smoothness * np.einsum("ik,ikm->im", tie, table[near.index])
        degree = self.smoothness * tie.sum(axis=1) + self.ridge
        found = _of_columns(pulled, degree, self.smoothness * self.column_laplacian_)
        return found if self.transduction_.ndim == 2 else found[:, 0]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # numbers of nodes are means over neighbours; it is meant for links
        return tags


def _of_sparse(Y: Any) -> Floats:
    """Return a table with NaN where a sparse matrix stores nothing; entries of one place are added, as SciPy does."""
    table = np.full(Y.shape, np.nan)
    entries = sp.coo_array(Y, copy=True)
    entries.sum_duplicates()
    table[entries.row, entries.col] = entries.data
    return table


def _of_columns(pulled: Floats, degree: Floats, L: Any) -> Floats:
    """Solve (degree_i + L) f_i = pulled_i for each new node."""
    if L.nnz == 0:
        return pulled / degree[:, None]
    out = np.empty_like(pulled)
    for value in np.unique(degree):
        some = np.flatnonzero(degree == value)
        system = sp.csc_array(L + value * sp.eye_array(L.shape[0]))
        out[some] = spla.splu(system).solve(np.ascontiguousarray(pulled[some].T)).T
    return out
