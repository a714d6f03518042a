"""Sparse regression with few targets: neighbours may differ a little at no cost, and only larger differences count.

Symbols: e = (i, j) an edge of the graph of all samples, A_e its weight, m the weight of differences, T the matrix whose
rows are the samples with a target and the differences of edges; K = F F^T.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import RegressorMixin
from sklearn.callback import with_callbacks

from mercer.arrays import Floats
from mercer.constraints import Boolean, InstanceOf, Integer, Interval, OneOf, Optional, Positive
from mercer.domains import Vectors
from mercer.estimators.estimator import KernelEstimator
from mercer.estimators.factors import factor_of, function_of
from mercer.estimators.fits import fitting
from mercer.estimators.semi.laplacian import known_rows
from mercer.estimators.semi.sample_graphs import sample_laplacian
from mercer.gram import Gram, GramSpec, Repeated
from mercer.gram.gram import is_streamed, is_transform
from mercer.gram.low_rank.features import FeatureGram
from mercer.kernels import Linear
from mercer.losses import Absolute, EpsilonInsensitive, Squared
from mercer.problems import BoxQP, Status
from mercer.solvers import Adatron, Solver
from mercer.targets import PartialReal

__all__ = ["SparseLaplacianRegressor"]
__public__ = __all__


class SparseLaplacianRegressor(RegressorMixin, KernelEstimator):
    r"""Regression with few targets in which only some pairs of neighbours count: those that differ too much.

    .. math:: \min_f \; \tfrac12 \sum_{i \text{ known}} w_i (y_i - f(x_i))^2 + \tfrac{\alpha}{2} \|f\|^2 +
        m \sum_{e = (i, j)} A_e \max(0, |f(x_i) - f(x_j)| - \epsilon)

    The conjugate function of the last term is a box, so that the dual is the quadratic program of support vector
    machines, with a variable for each edge; those of edges within epsilon are zero.

    Seed: [STS] Section 3, sparse semi-supervised learning by conjugate functions; after Sun and Shawe-Taylor.

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        As in `KernelRidge`.
    alpha : float, default 1.0
        The ridge. Positive.
    manifold : float, default 0.1
        m, the weight of differences between neighbours; 0 is `KernelRidge` on the samples that have a target.
    epsilon : float, default 0.1
        The difference between neighbours that costs nothing, in the unit of y.
    gamma, degree, coef0 : optional
        Parameters of scikit-learn's named kernels.
    n_neighbors, weights, normalized, graph : optional
        As in `LaplacianRidge`; ``normalized`` divides the weight of an edge by the roots of the degrees of its ends.
    tol : float, default 1e-4
        Largest violation of the optimality conditions, in the unit of y.
    gram : GramSpec, optional
        How K is held; a factor is needed, or K itself.
    solver : Solver, optional
        None is `Adatron`.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`.

    Attributes
    ----------
    expansion_ : Expansion or FeatureExpansion
        The fitted function.
    transduction_ : (n,) array
        Its values at the training samples of positive weight.
    active_ : int
        Edges that count.
    n_edges_ : int
        All edges.
    kernel_, solution_
        As in `KernelRidge`.

    Notes
    -----
    y is NaN where it is not known. A sample of weight w counts as w copies, in the graph too. Memory: a row of r
    numbers for each edge.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SparseLaplacianRegressor
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0.0, 1.0, 20)[:, None]
    >>> y = np.full(20, np.nan)
    >>> y[[0, 19]] = 0.0, 1.0
    >>> model = SparseLaplacianRegressor(Gaussian(0.2), 0.01, n_neighbors=2).fit(X, y)
    >>> model.active_ < model.n_edges_
    True
    """

    unknown_targets = True  # NaN
    constraints = {
        "alpha": Positive(),
        "manifold": Interval(0.0, np.inf, closed="left"),
        "epsilon": Interval(0.0, np.inf, closed="left"),
        "n_neighbors": Integer(1),
        "weights": OneOf("one", "half", "kernel"),
        "normalized": Boolean(),
        "graph": Optional(InstanceOf(np.ndarray, sp.sparray, sp.spmatrix)),
        "tol": Positive(),
    }

    def __init__(
        self,
        kernel: Any = None,
        alpha: float = 1.0,
        manifold: float = 0.1,
        epsilon: float = 0.1,
        *,
        gamma: float | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        n_neighbors: int = 10,
        weights: str = "one",
        normalized: bool = False,
        graph: Any = None,
        tol: float = 1e-4,
        gram: GramSpec | None = None,
        solver: Solver | None = None,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.alpha = alpha
        self.manifold = manifold
        self.epsilon = epsilon
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.normalized = normalized
        self.graph = graph
        self.tol = tol
        self.gram = gram
        self.solver = solver
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SparseLaplacianRegressor:
        """Fit the function.

        Parameters
        ----------
        X : raw data or packed samples
        y : (n,) array
            Real targets; NaN where they are not known.
        sample_weight : (n,) array, optional
            Non-negative; a sample of weight w counts as w copies.

        Returns
        -------
        self
        """
        target = PartialReal(several=False)
        with fitting(self, X, y, sample_weight, target) as (run, kernel, _, S, values, w, used):
            rows = known_rows(~np.isnan(values))
            self.kernel_ = kernel.learn(S, None, w)
            K = self._represent(self.kernel_, S, run, until=0.3)
            with run.stage("graph", 0.4):
                L = sample_laplacian(self, self.kernel_, S, w, used, run.resources())
            i, j, strength = _edges(L if self.manifold else sp.csr_array(L.shape))
            F, back = factor_of(self, K)
            forms = np.concatenate([F[rows], F[i] - F[j]])
            gram = FeatureGram(Linear(), Vectors(forms), forms, None, run.resources())
            program = self._program(gram, values[rows], w[rows], strength)
            solution = self._solve(program, run)
            beta = np.bincount(program.gram.repeats, weights=solution.coef, minlength=len(forms))
            self.n_edges_, self.active_ = len(i), int(np.count_nonzero(beta[len(rows) :]))
            weights = forms.T @ beta
            self.expansion_ = function_of(K, weights, back, 0.0, Status.CONVERGED)
            self.transduction_ = F @ weights
        return self

    def _program(self, gram: Gram, y: Floats, w: Floats, strength: Floats) -> BoxQP:
        """Return the dual: of squared errors of targets, and of differences that stick out of epsilon."""
        known = Squared().box_dual(y, w / self.alpha)
        loss = EpsilonInsensitive(self.epsilon) if self.epsilon > 0.0 else Absolute()
        rest = loss.box_dual(np.zeros(len(strength)), self.manifold * strength / self.alpha)
        count = np.arange(len(y))
        inside = np.arange(len(strength)) if rest.index is None else rest.index
        ridges = [np.broadcast_to(np.asarray(part.ridge, dtype=float), part.linear.shape) for part in (known, rest)]
        return BoxQP(
            Repeated(gram, np.concatenate([count, len(y) + inside])),
            np.concatenate([known.linear, rest.linear]),
            np.concatenate([known.lower, rest.lower]),
            np.concatenate([known.upper, rest.upper]),
            total=np.zeros(0),
            ridge=np.concatenate(ridges),
        )

    def _default_solver(self, gram: Gram) -> Solver:
        return Adatron(self.tol)

    def _can_use(self, spec: GramSpec) -> bool:
        return not (is_streamed(spec) or is_transform(spec))  # a factor is needed

    def predict(self, X: Any) -> Floats:
        """Return the fitted function at new data, shape (m,).

        Parameters
        ----------
        X : raw data or packed samples
        """
        return self._evaluate(X)


def _edges(L: Any) -> tuple[Any, Any, Floats]:
    """Return both ends and the weight of each edge of a Laplacian."""
    upper: Any = sp.coo_array(sp.triu(L, 1))
    i, j = upper.coords
    kept = upper.data < 0.0
    return i[kept], j[kept], -upper.data[kept]
