r"""Few labels and several views: functions of all views that agree where there are samples, with a label or without.

Symbols: V views, f_v the function of view v, f their mean, L_v the Laplacian of a graph of neighbours in view v. The
norm of all functions, their disagreement and the graphs are one deformed kernel, see
`mercer.solvers.linear.deformation`, with Q made of the blocks m L_v + (V - 1) d W on the diagonal and -d W beside it.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.callback import with_callbacks

from mercer.arrays import Floats, Indices
from mercer.budget import budget
from mercer.constraints import Boolean, Integer, Interval, OneOf, Positive
from mercer.domains import Samples
from mercer.domains.identity import distinct
from mercer.estimators.fits import Run, fitting, frozen
from mercer.estimators.semi.laplacian import LaplacianSVC, known_rows, mark, small_gram
from mercer.estimators.semi.sample_graphs import sample_laplacian
from mercer.estimators.views.view_kernels import SeveralViews, seen_by
from mercer.gram import Gram, GramSpec
from mercer.problems import LinearSystem, Solution, Status
from mercer.selection import leave_one_out
from mercer.solvers.linear.deformation import Deformation, deform
from mercer.targets import PartialClasses, PartialReal
from mercer.targets.target import class_weights

__all__ = ["CoRegularizedRidge", "MultiViewLaplacianSVC"]
__public__ = __all__

_NOT_NEGATIVE = Interval(0.0, np.inf, closed="left")


class _Agreeing(SeveralViews):
    """What both machines share: the deformed kernel of all views."""

    agreement: float
    manifold: Any
    n_neighbors: int
    weights: str
    normalized: bool
    graph: Any = None
    constraints = {
        "agreement": _NOT_NEGATIVE,
        "manifold": _NOT_NEGATIVE,
        "n_neighbors": Integer(1),
        "weights": OneOf("one", "half", "kernel"),
        "normalized": Boolean(),
    }

    def _grams(self, S: Samples, run: Run) -> list[Gram]:
        step = 0.4 / len(self.kernels_)
        return [self._represent(k, seen_by(k, S), run, until=step * (v + 1)) for v, k in enumerate(self.kernels_)]

    def _form(self, S: Samples, w: Floats, used: Indices, run: Run) -> Any:
        """Return Q, sparse."""
        n, V = len(S), len(self.kernels_)
        first, group = distinct(S)
        mass = np.zeros(n)
        mass[first] = np.bincount(group, weights=w)  # copies of a sample are one of more weight
        W = self.agreement * sp.diags_array(mass)
        blocks: list[list[Any]] = [[-W for _ in range(V)] for _ in range(V)]
        with run.stage("graphs", 0.5):
            for v, kernel in enumerate(self.kernels_):
                blocks[v][v] = (V - 1) * W
                if self.manifold:
                    L = sample_laplacian(self, kernel, seen_by(kernel, S), w, used, run.resources())
                    blocks[v][v] = blocks[v][v] + self.manifold * L
        return sp.csr_array(sp.block_array(blocks))

    def _deformed(self, grams: list[Gram], Q: Any, rows: Indices, run: Run) -> Deformation:
        """Return the kernel of the mean of the views at some samples."""
        V = len(grams)
        with run.stage("deformed kernel", 0.7):
            found = deform(grams, np.ones(V), Q, rows, run.solver_monitor(1e-10) if run.watched else None)
        if found.features is not None:
            return dataclasses.replace(found, features=found.features / V)
        assert found.matrix is not None and found.lift is not None
        return dataclasses.replace(found, matrix=found.matrix / V**2, lift=found.lift / V)

    def _keep_views(self, deformed: Deformation, grams: list[Gram], beta: Floats, intercept: Any) -> Floats:
        """Keep the function of each view, and return the values of their mean at all samples."""
        total: Any = 0.0
        functions = []
        if deformed.features is not None:
            for K, weights in zip(grams, deformed.weights(beta), strict=True):
                functions.append(K.expand(Solution(beta, Status.CONVERGED, 0.0, weights=weights), intercept))
                total = total + K.factor() @ weights  # pyright: ignore[reportAttributeAccessIssue]
        else:
            for K, coef in zip(grams, deformed.coefficients(beta), strict=True):
                functions.append(K.expand(Solution(coef, Status.CONVERGED, 0.0), intercept))
                total = total + K @ coef
        self.expansions_ = tuple(functions)
        return total / len(grams) + intercept


class CoRegularizedRidge(MultiOutputMixin, RegressorMixin, _Agreeing):
    r"""Ridge regression on several views that must agree on samples without a target.

    .. math:: \min_{f_v} \; \tfrac12 \sum_{i \text{ known}} w_i (y_i - f(x_i))^2 + \tfrac{\alpha}{2} \sum_v \Bigl(
        \|f_v\|^2 + m f_v^\top L_v f_v + d \sum_{u < v} \sum_i w_i (f_u(x_i) - f_v(x_i))^2 \Bigr), \quad
        f = \tfrac1V \sum_v f_v

    Seed: [STS] Section 3, co-regularisation and multi-view point cloud kernels; after Sindhwani and Rosenberg.

    Parameters
    ----------
    kernel : Kernel or tuple of Kernel, optional
        One for each view, on the columns it names by ``.on``, or one for both. None is `Linear` and `Gaussian` at the
        median distance, both on all columns.
    alpha : float, default 1.0
        The ridge. Positive.
    agreement : float, default 1.0
        d, the weight of disagreement.
    manifold : float, default 0.0
        m, the weight of differences between neighbours in each view.
    n_neighbors, weights, normalized : optional
        As in `LaplacianRidge`.
    fit_intercept : bool, default False
        Whether a constant that is not penalised is added.
    gram : GramSpec, optional
        How the matrices of all views are held.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`.

    Attributes
    ----------
    expansions_ : tuple of Expansion or FeatureExpansion
        The functions of all views; predictions are their mean.
    kernels_ : tuple of Kernel
    intercept_ : float or (k,) array
    transduction_ : (n,) or (n, k) array
        Predictions for the training samples of positive weight.
    loo_predictions_ : (l,) or (l, k) array
        Of each sample with a target, in their order, the prediction without its target, in closed form.

    Notes
    -----
    y is NaN where it is not known. X is a table, packed `Frames`, or a list of arrays (in fit and predict). A sample of
    weight w counts as w copies.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import CoRegularizedRidge
    >>> from mercer.kernels import Linear
    >>> X = np.array([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]])
    >>> model = CoRegularizedRidge((Linear().on([0]), Linear().on([1])), alpha=1e-6).fit(X, [1.0, np.nan, 3.0])
    >>> model.view_values([[2.0, 4.0]]).round(1)
    array([[2., 2.]])
    """

    unknown_targets = True  # NaN
    constraints = {"alpha": Positive(), "fit_intercept": Boolean()}

    def __init__(
        self,
        kernel: Any = None,
        alpha: float = 1.0,
        agreement: float = 1.0,
        *,
        manifold: float = 0.0,
        n_neighbors: int = 10,
        weights: str = "one",
        normalized: bool = False,
        fit_intercept: bool = False,
        gram: GramSpec | None = None,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.alpha = alpha
        self.agreement = agreement
        self.manifold = manifold
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.normalized = normalized
        self.fit_intercept = fit_intercept
        self.gram = gram
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> CoRegularizedRidge:
        """Fit the functions of all views.

        Parameters
        ----------
        X : table, packed samples, or a list of views
        y : (n,) or (n, k) array
            Real targets; NaN where they are not known.
        sample_weight : (n,) array, optional
            Non-negative; a sample of weight w counts as w copies.

        Returns
        -------
        self
        """
        pack = self._pack_views
        with fitting(self, X, y, sample_weight, PartialReal(), pack=pack) as (run, kernels, _, S, values, w, used):
            rows = known_rows(~np.isnan(values))
            self.kernels_ = self._learned(kernels, S, w)
            grams = self._grams(S, run)
            deformed = self._deformed(grams, self._form(S, w, used, run), rows, run)
            gram = small_gram(deformed, grams[0], budget(self.memory))
            border = np.ones((len(rows), 1)) if self.fit_intercept else None
            target = values[rows]
            solution = self._solve(LinearSystem(gram, self.alpha / w[rows], target, border), run)
            self.loo_predictions_ = target
            if len(rows) > 1:
                self.loo_predictions_ = leave_one_out(target, solution.coef, solution.state.inverse_diagonal())
            self.intercept_ = solution.multipliers[0] if self.fit_intercept else np.zeros(values.shape[1:])[()]
            self.transduction_ = self._keep_views(deformed, grams, solution.coef, self.intercept_)
            self.intercept_ = frozen(self.intercept_)
        return self

    def predict(self, X: Any) -> Floats:
        """Return the mean of the functions of all views at new data, shape (m,) or (m, k).

        Parameters
        ----------
        X : table, packed samples, or a list of views
        """
        values = self._mean_of_views(X)
        return self.target_.decode(values)


class MultiViewLaplacianSVC(_Agreeing, LaplacianSVC):
    r"""Support vector classifier with few labels on several views that agree, each smooth on a graph of neighbours.

    .. math:: \min_{f_v, b} \; C \sum_{i \text{ labelled}} w_i \max(0, 1 - y_i (f(x_i) + b)) + \tfrac12 \sum_v \Bigl(
        \|f_v\|^2 + m f_v^\top L_v f_v + d \sum_{u < v} \sum_i w_i (f_u(x_i) - f_v(x_i))^2 \Bigr), \quad
        f = \tfrac1V \sum_v f_v

    Seed: [STS] Section 3, multi-view Laplacian support vector machines; after Sun.

    Parameters
    ----------
    kernel : Kernel or tuple of Kernel, optional
        As in `CoRegularizedRidge`.
    C : float, default 1.0
        Cost of an error of size one.
    agreement : float, default 1.0
        d, the weight of disagreement.
    manifold : float, default 0.1
        m, the weight of differences between neighbours in each view; 0 is the co-regularised support vector machine.
    unlabelled : int, str, float or None, default -1
        What stands in y for a label that is not known; None for texts, where NaN counts as None too.
    n_neighbors, weights, normalized : optional
        As in `LaplacianRidge`.
    loss, multi_class, class_weight, tol, max_iter : optional
        As in `SVC`.
    probability : bool, default False
        As in `LaplacianSVC`.
    gram : GramSpec, optional
        How the matrices of all views are held.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`.

    Attributes
    ----------
    classes_ : (c,) array
    expansions_ : tuple of Expansion or FeatureExpansion
        The functions of all views, with the intercept; decision values are their mean.
    kernels_ : tuple of Kernel
    transduction_ : (n,) array
        The class of every training sample of positive weight.
    label_distributions_ : (n, c) array
        The probability of each class for them, with ``probability=True``.
    intercept_, n_iter_, solution_
        As in `SVC`.

    Notes
    -----
    X is a table, packed `Frames`, or a list of arrays (in fit and predict). A sample of weight w counts as w copies.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import MultiViewLaplacianSVC
    >>> from mercer.kernels import Gaussian
    >>> X = np.array([[0.0, 0.1], [0.2, 0.0], [1.9, 2.0], [2.0, 2.1]])
    >>> kernels = Gaussian(1.0).on([0]), Gaussian(1.0).on([1])
    >>> MultiViewLaplacianSVC(kernels, n_neighbors=1).fit(X, [0, -1, -1, 1]).transduction_
    array([0, 0, 1, 1])
    """

    constraints = {"unlabelled": mark, "manifold": _NOT_NEGATIVE}

    def __init__(
        self,
        kernel: Any = None,
        C: float = 1.0,
        agreement: float = 1.0,
        manifold: float = 0.1,
        *,
        unlabelled: Any = -1,
        n_neighbors: int = 10,
        weights: str = "one",
        normalized: bool = False,
        loss: str = "hinge",
        multi_class: Any = "ovo",
        class_weight: Any = None,
        probability: bool = False,
        tol: float = 1e-3,
        max_iter: int | None = None,
        gram: GramSpec | None = None,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.agreement = agreement
        self.manifold = manifold
        self.unlabelled = unlabelled
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.normalized = normalized
        self.loss = loss
        self.multi_class = multi_class
        self.class_weight = class_weight
        self.probability = probability
        self.tol = tol
        self.max_iter = max_iter
        self.gram = gram
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> MultiViewLaplacianSVC:
        """Fit the functions of all views.

        Parameters
        ----------
        X : table, packed samples, or a list of views
        y : (n,) array
            Class labels, and ``unlabelled`` where they are not known.
        sample_weight : (n,) array, optional
            Non-negative; a sample of weight w counts as w copies.

        Returns
        -------
        self
        """
        target, pack = PartialClasses(self.unlabelled), self._pack_views
        with fitting(self, X, y, sample_weight, target, pack=pack) as (run, kernels, _, S, codes, w, used):
            rows = known_rows(codes >= 0)
            labelled = codes[rows]
            self.class_weight_ = class_weights(self.class_weight, self.classes_, labelled, w[rows])
            self.kernels_ = self._learned(kernels, S, w)
            grams = self._grams(S, run)
            deformed = self._deformed(grams, self._form(S, w, used, run), rows, run)
            weights = w[rows] * self.class_weight_[labelled], w[rows]
            coef, intercept = self._fit_parts(
                small_gram(deformed, grams[0], budget(self.memory)), labelled, weights, run
            )
            self._weights = None
            values = self._keep_views(deformed, grams, coef, intercept)
            self._describe_samples(values, vars(self).pop("sigmoids_", None))
            self.intercept_ = frozen(np.atleast_1d(np.asarray(intercept, dtype=float)))
        return self

    def _is_indefinite(self) -> bool:
        return any(kernel.order is None for kernel in self.kernels_)

    def _evaluate(self, X: Any) -> Floats:
        return self._mean_of_views(X)

    def _quick_values(self, X: Any) -> Floats:
        return self._evaluate(X)
