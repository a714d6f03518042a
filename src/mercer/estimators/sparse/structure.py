r"""Structure learning: which variables depend on which, given all others, and which of them have changed.

Symbols: S the covariance matrix, Theta the precision matrix, x_i | x_-i a variable given all others.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.callback import with_callbacks
from sklearn.exceptions import ConvergenceWarning

from mercer.arrays import Bools, Floats
from mercer.budget import Plan
from mercer.constraints import Boolean, Integer, Interval, OneOf, Positive
from mercer.domains import Vectors
from mercer.errors import DomainError, warn_caller
from mercer.estimators.estimator import KernelEstimator
from mercer.estimators.fits import Run, fitting
from mercer.estimators.sparse.graphical import graphical_lasso, neighbourhood
from mercer.gram import Features
from mercer.kernels import Linear
from mercer.kernels.kernel import overflow_error
from mercer.problems import Status
from mercer.runtime.tiling import Stopped, run_tasks
from mercer.solvers.sparse.design import design_of

__all__ = ["GraphicalStructure"]
__public__ = __all__


class GraphicalStructure(KernelEstimator):
    r"""Graph of the variables: an edge where two depend on one another given all others.

    .. math:: \min_b \; \tfrac{1}{2W} \sum_i w_i \, \Big(x_{ij} - \sum_{l \ne j} b_l x_{il}\Big)^2 + \alpha \|b\|_1
        \quad \text{or} \quad
        \min_\Theta \; -\log\det\Theta + \mathrm{tr}(S\Theta) + \alpha \sum_{i \ne j} |\Theta_{ij}|

    Columns are centred. Both forms see the covariance matrix S, divided by the sum W of the weights, alone: alpha is in
    its unit, and is that of scikit-learn's GraphicalLasso; that of `Lasso` is W times as large.

    Seed: [KIKS] Section 4.1.3, references [35]-[37].

    Parameters
    ----------
    alpha : float, default 0.1
        Weight of the penalty, in the unit of a covariance. Positive.
    method : {"graphical_lasso", "neighbourhood"}, default "graphical_lasso"
        The penalised likelihood, or a lasso for each variable.
    rule : {"or", "and"}, default "or"
        For "neighbourhood": an edge where either variable uses the other, or where both do.
    standardize : bool, default False
        Whether the columns are scaled to variance 1 first; alpha is then in the unit of a correlation.
    tol : float, default 1e-10
        Duality gap of the graphical lasso.
    max_iter : int, default 1000
        Sweeps over the variables.
    warm_start : bool, default False
        Whether a fit starts from the coefficients of the one before, as for a sequence of alphas.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`. The lassos of "neighbourhood" are solved in several threads.

    Attributes
    ----------
    edges_ : (e, 2) array
        Pairs of variables, the smaller number first.
    precision_ : (d, d) array
        Theta, in the unit of the data, positive definite; zero where there is no edge. Of "neighbourhood", the mean of
        what the two lassos of a pair say; its entries off the diagonal are made smaller together if it would not be
        positive definite otherwise.
    covariance_ : (d, d) array
        Inverse of ``precision_``.
    partial_correlations_ : (d, d) array
        :math:`-\Theta_{ij} / \sqrt{\Theta_{ii} \Theta_{jj}}`, with 1 on the diagonal.
    coef_ : (d, d) array
        Column j has the coefficients of variable j in the others.
    location_ : (d,) array
        Means of the columns.
    residual_ : float
        Duality gap of the graphical lasso; of "neighbourhood" the largest violation of the optimality conditions.
    n_iter_ : int

    Notes
    -----
    A sample of weight w counts as w copies. Cost O(n d^2) for the covariance and O(d^3) a sweep.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import GraphicalStructure
    >>> rng = np.random.default_rng(0)
    >>> first = rng.normal(size=500)
    >>> second = first + 0.5 * rng.normal(size=500)
    >>> X = np.column_stack([first, second, second + 0.5 * rng.normal(size=500)])  # a chain: 0 - 1 - 2
    >>> GraphicalStructure(alpha=0.1, method="neighbourhood", rule="and").fit(X).edges_
    array([[0, 1],
           [1, 2]])
    """

    kernel = Linear()
    gram = Features()
    constraints = {
        "alpha": Positive(),
        "method": OneOf("graphical_lasso", "neighbourhood"),
        "rule": OneOf("or", "and"),
        "standardize": Boolean(),
        "tol": Interval(0.0, 1.0, closed="neither"),
        "max_iter": Integer(1),
        "warm_start": Boolean(),
    }

    def __init__(
        self,
        alpha: float = 0.1,
        *,
        method: str = "graphical_lasso",
        rule: str = "or",
        standardize: bool = False,
        tol: float = 1e-10,
        max_iter: int = 1000,
        warm_start: bool = False,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.alpha = alpha
        self.method = method
        self.rule = rule
        self.standardize = standardize
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> GraphicalStructure:
        """Learn the graph from samples.

        Parameters
        ----------
        X : (n, d) array-like, sparse matrix, data frame or packed samples
        y : ignored
        sample_weight : (n,) array, optional
            Non-negative; a sample of weight w counts as w copies.

        Returns
        -------
        self
        """
        with fitting(self, X, y, sample_weight) as (run, _, _, S, _, w, _):
            self.memory_plan(len(S), getattr(S, "width", 1)).require(self.memory)
            C, self.location_ = _covariance(S, w)
            scale = np.sqrt(np.diag(C)) if self.standardize else np.ones(len(C))
            start = self._start(scale)
            C = C / np.multiply.outer(scale, scale)
            learn = self._likelihood if self.method == "graphical_lasso" else self._lassos
            Theta, B = learn(C, start, run)
            self._keep(Theta / np.multiply.outer(scale, scale), B * np.divide.outer(1.0 / scale, 1.0 / scale))
            self.kernel_, self.gram_ = self.kernel, self.gram
        return self

    def score_samples(self, X: Any) -> Floats:
        """Return the logarithm of the density of each sample, shape (m,)."""
        D = self._deviations(X)
        _, logdet = np.linalg.slogdet(self.precision_)
        with np.errstate(over="ignore", invalid="ignore"):
            distance = np.einsum("ij,ij->i", D @ self.precision_, D)
        if not np.isfinite(distance).all():
            raise DomainError(
                "Input X is so far from the training samples that the logarithm of its density is too large for "
                "floating-point numbers; distances must have finite squares. Scale the data, or leave such samples out."
            )
        return 0.5 * (logdet - D.shape[1] * np.log(2.0 * np.pi) - distance)

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean of `score_samples`."""
        return float(np.mean(self.score_samples(X)))

    def variable_scores(self, X: Any) -> Floats:
        r"""Return how unlikely each variable of each sample is, given the others, shape (m, d).

        .. math:: -\log p(x_i \mid x_{-i}) = \tfrac12 \log(2\pi / \Theta_{ii})
            + \tfrac{1}{2 \Theta_{ii}} \Big(\sum_j \Theta_{ij} (x_j - \mu_j)\Big)^2
        """
        pull = self._deviations(X) @ self.precision_
        own = np.diag(self.precision_)
        return 0.5 * (np.log(2.0 * np.pi / own) + pull * pull / own)

    def anomaly_score(self, X: Any, sample_weight: Any = None) -> Floats:
        r"""Return for each variable how much its dependence on the others differs in other data, shape (d,).

        .. math:: a_i = \max(d_i^{AB}, d_i^{BA}), \qquad d_i^{AB} = \int p_A(x_{-i}) \,
            \mathrm{KL}\big(p_A(x_i \mid x_{-i}) \,\|\, p_B(x_i \mid x_{-i})\big) \, dx_{-i}

        A is the graph fitted, B one fitted to X with the same parameters; both distributions are centred.

        Parameters
        ----------
        X : (m, d) data
        sample_weight : (m,) array, optional
        """
        self._deviations(X)  # checks
        other: Any = clone(self)
        other.set_params(warm_start=False).fit(X, sample_weight=sample_weight)
        forth = conditional_divergence(self.covariance_, self.precision_, other.precision_)
        back = conditional_divergence(other.covariance_, other.precision_, self.precision_)
        return np.maximum(forth, back)

    # steps --------------------------------------------------------------------------------------------

    def _start(self, scale: Floats) -> Floats | None:
        """Return the coefficients to start from, scaled as the problem is; None for zero."""
        known = getattr(self, "coef_", None) if self.warm_start else None
        if known is None or len(known) != len(scale):
            return None
        return known * np.divide.outer(scale, scale)

    def _likelihood(self, C: Floats, start: Floats | None, run: Run) -> tuple[Floats, Floats]:
        """Solve the graphical lasso: precision and coefficients."""
        with run.stage("graphical lasso", 0.95):
            monitor = run.solver_monitor(self.tol) if run.watched else None
            found = graphical_lasso(C, self.alpha, start, tol=self.tol, max_iter=self.max_iter, monitor=monitor)
        if found.status is not Status.CONVERGED:
            warn_caller(
                f"The graphical lasso stopped at a duality gap of {found.residual:.3g}. {found.status.value}",
                ConvergenceWarning,
            )
        self.residual_, self.n_iter_ = found.residual, len(found.trace)
        return found.coef, found.state[1]

    def _lassos(self, C: Floats, start: Floats | None, run: Run) -> tuple[Floats, Floats]:
        """Solve a lasso for each variable: a precision matrix on the graph, and coefficients."""
        d = len(C)
        B = np.zeros((d, d))

        def work(j: int) -> None:
            B[:, j] = neighbourhood(C, j, self.alpha, None if start is None else start[:, j], self.max_iter)

        status = Status.MAX_ITER
        with run.stage("lassos", 0.95):
            try:
                run_tasks(range(d), work, n_threads=self.n_threads, monitor=run.monitor if run.watched else None)
            except Stopped:  # variables that were not reached have no neighbours of their own
                status = Status.STOPPED if run.asked_to_stop else Status.TIME
        rest = C - C @ B
        each = np.where(B != 0.0, np.abs(rest - self.alpha * np.sign(B)), np.abs(rest) - self.alpha)
        np.fill_diagonal(each, 0.0)
        self.residual_, self.n_iter_ = float(max(np.max(each, initial=0.0), 0.0)), 1
        if self.residual_ > 1e-6 * max(self.alpha, float(np.max(np.diag(C)))):
            warn_caller(f"A lasso stopped at a violation of {self.residual_:.3g}. {status.value}", ConvergenceWarning)
        return _symmetric_precision(C, B, self.rule), B

    def _keep(self, Theta: Floats, B: Floats) -> None:
        """Store the graph."""
        self.precision_, self.coef_ = Theta, B
        self.covariance_ = np.linalg.inv(Theta)
        self.covariance_ = 0.5 * (self.covariance_ + self.covariance_.T)
        root = np.sqrt(np.diag(Theta))
        self.partial_correlations_ = -Theta / np.multiply.outer(root, root)
        np.fill_diagonal(self.partial_correlations_, 1.0)
        edge: Bools = np.triu(Theta != 0.0, 1)
        self.edges_ = np.argwhere(edge)

    def _deviations(self, X: Any) -> Floats:
        """Return new samples minus the means."""
        T = self._pack_new(X)
        assert isinstance(T, Vectors)
        rows = T.X.toarray() if T.is_sparse else T.X  # pyright: ignore[reportAttributeAccessIssue]
        return np.asarray(rows, dtype=np.float64) - self.location_

    def memory_plan(self, n_samples: int, n_features: int = 1, n_targets: int = 1) -> Plan:
        """Return the large buffers of a fit by name, in bytes, before anything is allocated."""
        buffers = {"centred samples": 16 * n_samples * n_features, "covariances": 64 * n_features * n_features}
        return Plan(f"GraphicalStructure on {n_samples} samples", buffers, ("fewer columns",))


def _covariance(S: Any, w: Floats) -> tuple[Floats, Floats]:
    """Return covariance matrix and means of the columns; each must vary."""
    with np.errstate(over="ignore", invalid="ignore"):
        design = design_of(S.X, w)
        every = np.arange(design.shape[1])
        C = design.normal(every, every) / w.sum()
    if not np.isfinite(C).all():
        raise overflow_error(Linear())
    C = 0.5 * (C + C.T)
    still = np.flatnonzero(np.diag(C) <= 1e-14 * design.means**2)
    if len(S) < 2 or len(still):
        where = f"column {still[0]} does not vary" if len(S) > 1 and len(still) else "a single sample was given"
        raise DomainError(
            f"n_samples = {len(S)} samples of positive weight were given, and {where}; the covariances of columns that "
            "vary are needed, from two samples at least. Leave constant columns out."
        )
    return C, design.means


def _symmetric_precision(C: Floats, B: Floats, rule: str) -> Floats:
    """Return a positive definite matrix with the graph of the lassos."""
    own = np.diag(C)
    rest = np.maximum(own - 2.0 * np.einsum("ij,ij->j", C, B) + np.einsum("ij,ij->j", B, C @ B), 1e-12 * own)
    used = B != 0.0
    edge = used & used.T if rule == "and" else used | used.T
    raw = -B / rest
    root = np.sqrt(rest)
    E = np.where(edge, 0.5 * (raw + raw.T), 0.0) * np.multiply.outer(root, root)  # Theta scaled to a diagonal of ones
    np.fill_diagonal(E, 0.0)
    smallest = float(np.linalg.eigvalsh(E)[0])
    if smallest < -0.99:
        E *= 0.99 / -smallest
    np.fill_diagonal(E, 1.0)
    return E / np.multiply.outer(root, root)


def conditional_divergence(covariance: Floats, precision: Floats, other: Floats) -> Floats:
    r"""Return the expected divergence of each variable given the others from one Gaussian to another, shape (d,).

    .. math:: \tfrac12 \Big( \frac{(\Theta^B \Sigma^A \Theta^B)_{ii}}{\Theta^B_{ii}} - 1
        + \log \frac{\Theta^A_{ii}}{\Theta^B_{ii}} \Big)

    Seed: [KIKS] Section 4.1.3, reference [37].

    Parameters
    ----------
    covariance, precision : (d, d) arrays
        Covariance and precision of the first Gaussian, over which the expectation is taken.
    other : (d, d) array
        Precision of the second.

    Examples
    --------
    >>> conditional_divergence(np.eye(2), np.eye(2), np.eye(2))
    array([0., 0.])
    """
    a, b = np.diag(precision), np.diag(other)
    spread = np.einsum("ij,ij->i", other @ covariance, other) / b
    return np.maximum(0.5 * (spread - 1.0 + np.log(a / b)), 0.0)
