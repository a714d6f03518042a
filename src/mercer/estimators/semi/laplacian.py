r"""Manifold regularisation: functions that change little between neighbours, whether these have a label or not.

Symbols: L the Laplacian of a graph of all n samples, m its weight (``manifold``), K~ the kernel of the norm
||f||^2 + m f' L f (see `mercer.solvers.linear.deformation`), of which only the l samples with a label are needed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.callback import with_callbacks

from mercer.arrays import Array, Floats, Indices
from mercer.budget import budget
from mercer.constraints import AnyOf, Boolean, Each, InstanceOf, Integer, Interval, OneOf, Optional, Positive
from mercer.domains import Vectors
from mercer.errors import TargetError
from mercer.estimators.classifier import Part
from mercer.estimators.estimator import KernelEstimator, scattered
from mercer.estimators.fits import Run, fitting
from mercer.estimators.semi.sample_graphs import sample_laplacian
from mercer.estimators.svm.svc import SVC
from mercer.gram import Gram, GramSpec
from mercer.gram.exact import DenseGram
from mercer.gram.low_rank.features import FeatureGram
from mercer.kernels import Linear
from mercer.problems import LinearSystem, Solution, Status
from mercer.selection import leave_one_out
from mercer.solvers.linear.deformation import Deformation, deform
from mercer.spec import derived
from mercer.targets import PartialClasses, PartialReal
from mercer.targets.target import class_weights

__all__ = ["LaplacianRidge", "LaplacianSVC", "lifted", "mark", "small_gram"]
__public__ = ["LaplacianRidge", "LaplacianSVC"]

_STORED = 2048  # labelled samples up to which the matrix of a factor is multiplied out
_ALIKE = 1e-9  # losses of left-out labels that do not differ, but for rounding
_GRAPH = {
    "manifold": AnyOf(Interval(0.0, np.inf, closed="left"), Each(Interval(0.0, np.inf, closed="left"))),
    "n_neighbors": Integer(1),
    "weights": OneOf("one", "half", "kernel"),
    "normalized": Boolean(),
    "graph": Optional(InstanceOf(np.ndarray, sp.sparray, sp.spmatrix)),
}


class _Mark(InstanceOf):
    """What stands for an unknown label. NaN would mark no sample, since it is equal to nothing."""

    def accepts(self, value: Any) -> bool:
        return super().accepts(value) and value == value

    def advice(self, name: str, value: Any) -> str:
        if isinstance(value, (float, np.floating)):
            return f"Give {name}=None, with which NaN counts as no label, too."
        return super().advice(name, value)


mark = Optional(_Mark(int, float, str, bytes, np.generic))  # of samples without a label


class LaplacianRidge(MultiOutputMixin, RegressorMixin, KernelEstimator):
    r"""Ridge regression with few targets: neighbours have nearly the same value, with a target or without one.

    .. math:: \min_f \; \tfrac12 \sum_{i \text{ known}} w_i (y_i - f(x_i))^2 + \tfrac{\alpha}{2} \|f\|^2 +
        \tfrac{m}{2} \sum_{i,j} L_{ij} f(x_i) f(x_j)

    The last term is half of m times the sum of :math:`A_{ij} (f(x_i) - f(x_j))^2` over the edges of a graph of all
    samples.

    Seed: [SS] Section 2.2.1, semi-supervised inductive learning; after Belkin, Niyogi and Sindhwani.

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        As in `KernelRidge`.
    alpha : float, default 1.0
        The ridge. Positive.
    manifold : float or sequence of them, default 0.1
        m, the weight of differences between neighbours; 0 is `KernelRidge` on the samples that have a target. Of
        several the one with the least squared error of left-out targets is taken; none has to be set aside.
    gamma, degree, coef0 : optional
        Parameters of scikit-learn's named kernels.
    n_neighbors : int, default 10
        How many others each sample is tied to: the nearest in the feature space of the kernel.
    weights : {"one", "half", "kernel"}, default "one"
        Weight of an edge: 1; 1/2 unless both are neighbours of each other; or k(x_i, x_j).
    normalized : bool, default False
        Whether L is :math:`I - D^{-1/2} A D^{-1/2}` instead of :math:`D - A`.
    graph : (n, n) sparse array, optional
        Affinities of the samples of X, in place of neighbours.
    fit_intercept : bool, default False
        Whether a constant that is not penalised is added.
    gram : GramSpec, optional
        How K is held; with a Gram of low rank nothing has n x n entries.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`.

    Attributes
    ----------
    expansion_ : Expansion or FeatureExpansion
        The fitted function, on all samples.
    intercept_ : float or (k,) array
    transduction_ : (n,) or (n, k) array
        Its values at the training samples.
    manifold_ : float
        The weight that was taken.
    loo_predictions_ : (l,) or (l, k) array
        Of each sample with a target, in their order, the prediction without its target, in closed form.
    loo_errors_ : (c,) array
        Mean squared errors of these, for each weight that was given.

    Notes
    -----
    y is NaN where it is not known. A sample of weight w counts as w copies, in the graph too. Cost: neighbours, then
    O(n^3) for a stored K, O(n r^2) for a Gram of rank r, products with K otherwise.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import LaplacianRidge
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0.0, 1.0, 40)[:, None]
    >>> y = np.full(40, np.nan)
    >>> y[[0, 39]] = 0.0, 1.0
    >>> model = LaplacianRidge(Gaussian(0.1), alpha=1e-3, manifold=1.0, n_neighbors=2).fit(X, y)
    >>> bool(0.3 < model.predict([[0.5]])[0] < 0.7)  # far from both targets
    True
    """

    unknown_targets = True  # NaN
    constraints = {"alpha": Positive(), "fit_intercept": Boolean(), **_GRAPH}
    products_suffice = True

    @derived
    def highest_order(self) -> int:
        """The deformed kernel needs a positive definite one."""
        return 0

    def __init__(
        self,
        kernel: Any = None,
        alpha: float = 1.0,
        manifold: Any = 0.1,
        *,
        gamma: float | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        n_neighbors: int = 10,
        weights: str = "one",
        normalized: bool = False,
        graph: Any = None,
        fit_intercept: bool = False,
        gram: GramSpec | None = None,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.alpha = alpha
        self.manifold = manifold
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.normalized = normalized
        self.graph = graph
        self.fit_intercept = fit_intercept
        self.gram = gram
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LaplacianRidge:
        """Fit the function to training data.

        Parameters
        ----------
        X : raw data or packed samples
        y : (n,) or (n, k) array
            Real targets; NaN where they are not known.
        sample_weight : (n,) array, optional
            Non-negative; a sample of weight w counts as w copies.

        Returns
        -------
        self
        """
        with fitting(self, X, y, sample_weight, PartialReal()) as (run, kernel, packed, S, values, w, used):
            rows = known_rows(~np.isnan(values))
            self.kernel_ = kernel.learn(S, None, w)
            K = self._represent(self.kernel_, S, run, until=0.4)
            L = self._laplacian(S, w, used, run)
            found = [self._at(K, L, float(m), (values[rows], w[rows], rows), run) for m in np.atleast_1d(self.manifold)]
            self.loo_errors_ = np.array([errors for errors, *_ in found])
            best = int(np.argmin(self.loo_errors_))
            self.manifold_ = float(np.atleast_1d(self.manifold)[best])
            _, self.loo_predictions_, deformed, solution = found[best]
            self.intercept_ = solution.multipliers[0] if self.fit_intercept else np.zeros(values.shape[1:])[()]
            self.expansion_, at_samples = lifted(deformed, [K], solution.coef, self.intercept_)
            self.transduction_ = scattered(at_samples, used, len(packed))
            if len(used) < len(packed):
                rest = np.setdiff1d(np.arange(len(packed)), used)
                self.transduction_[rest] = self.expansion_(packed.take(rest))
        return self

    def _laplacian(self, S: Any, w: Floats, used: Indices, run: Run) -> Any:
        with run.stage("graph", 0.5):
            return sample_laplacian(self, self.kernel_, S, w, used, run.resources())

    def _at(self, K: Gram, L: Any, m: float, known: tuple[Floats, Floats, Indices], run: Run) -> tuple[Any, ...]:
        """Solve for one weight of the graph; returns the error, predictions without each target, and the solution."""
        y, w, rows = known
        with run.stage("deformed kernel", 0.9):
            deformed = deform([K], [1.0], (m / self.alpha) * L, rows, _monitor(run))
        gram = small_gram(deformed, K, budget(self.memory))
        border = np.ones((len(rows), 1)) if self.fit_intercept else None
        solution = self._solve(LinearSystem(gram, self.alpha / w, y, border), run, until=0.9)
        left_out = y
        if len(rows) > 1:
            left_out = leave_one_out(y, solution.coef, solution.state.inverse_diagonal())
        squares = (w @ np.square(y - left_out)) / w.sum()
        return float(np.mean(squares)), left_out, deformed, solution

    def predict(self, X: Any) -> Floats:
        """Return the fitted function at new data, shape (m,) or (m, k).

        Parameters
        ----------
        X : raw data or packed samples
        """
        values = self._evaluate(X)
        return self.target_.decode(values)


class LaplacianSVC(SVC):
    r"""Support vector classifier with few labels: the boundary goes where there are no samples.

    .. math:: \min_{f, b} \; C \sum_{i \text{ labelled}} w_i \max(0, 1 - y_i (f(x_i) + b)) + \tfrac12 \|f\|^2 +
        \tfrac{m}{2} \sum_{i,j} L_{ij} f(x_i) f(x_j)

    Seed: [SS] Section 2.2.1, semi-supervised inductive learning; after Belkin, Niyogi and Sindhwani.

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        As in `SVC`, but positive definite.
    C : float, default 1.0
        Cost of an error of size one.
    manifold : float or sequence of them, default 0.1
        m, the weight of differences between neighbours; 0 is `SVC` on the labelled samples. Of several the one with
        the least hinge loss of left-out labels is taken, up to the scale of the function, and of equal ones the
        largest; no label has to be set aside.
    gamma, degree, coef0 : optional
        As in `SVC`.
    unlabelled : int, str, float or None, default -1
        What stands in y for a label that is not known; None for texts, where NaN counts as None too.
    n_neighbors, weights, normalized, graph : optional
        As in `LaplacianRidge`.
    loss, multi_class, class_weight : optional
        As in `SVC`.
    probability : bool, default False
        Whether there are probabilities: a sigmoid on the decision values of labelled samples by machines that know
        them without their labels, in closed form. Each class then needs two labels.
    tol, max_iter : optional
        As in `SVC`.
    gram : GramSpec, optional
        How K is held; with a Gram of low rank nothing has n x n entries.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`.

    Attributes
    ----------
    classes_ : (c,) array
    transduction_ : (n,) array
        The class of every training sample, by the fitted function.
    label_distributions_ : (n, c) array
        The probability of each class for every training sample, with ``probability=True``.
    manifold_ : float
        The weight that was taken.
    loo_errors_ : (c,) array
        Mean hinge loss of left-out labels for each weight, if several were given, each function times the number that
        makes it least.
    support_ : (q,) array of int
        Places of the labelled samples that are support vectors.
    n_support_, dual_coef_, intercept_, expansion_, n_iter_, solution_
        As in `SVC`; coefficients are those of the deformed kernel at the support vectors, and the expansion is over
        all samples.

    Notes
    -----
    A sample of weight w counts as w copies, in the graph too. Cost as that of `LaplacianRidge`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import LaplacianSVC
    >>> from mercer.kernels import Gaussian
    >>> X = np.concatenate([np.linspace(0.0, 1.0, 20), np.linspace(1.5, 3.0, 30)])[:, None]
    >>> y = np.full(50, -1)
    >>> y[[0, 49]] = 0, 1
    >>> model = LaplacianSVC(Gaussian(0.3), C=10.0, manifold=1.0, n_neighbors=3).fit(X, y)
    >>> model.predict([[1.0], [1.5]])  # both are nearer to the middle of the labels than to either
    array([0, 1])
    """

    constraints = {**_GRAPH, "unlabelled": mark}
    decision_function_shape = "ovr"
    break_ties = False
    shrinking = True
    cache_size = 512
    highest_order = 0
    dual_coef_: Any

    def __init__(
        self,
        kernel: Any = None,
        C: float = 1.0,
        manifold: Any = 0.1,
        *,
        gamma: float | str | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        unlabelled: Any = -1,
        n_neighbors: int = 10,
        weights: str = "one",
        normalized: bool = False,
        graph: Any = None,
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
        self.manifold = manifold
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.unlabelled = unlabelled
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.normalized = normalized
        self.graph = graph
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
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LaplacianSVC:
        """Fit the classifier.

        Parameters
        ----------
        X : raw data or packed samples
        y : (n,) array
            Class labels, and ``unlabelled`` where they are not known.
        sample_weight : (n,) array, optional
            Non-negative; a sample of weight w counts as w copies.

        Returns
        -------
        self
        """
        target = PartialClasses(self.unlabelled)
        with fitting(self, X, y, sample_weight, target) as (run, kernel, packed, S, codes, w, used):
            rows = known_rows(codes >= 0)
            labelled = codes[rows]
            self.class_weight_ = class_weights(self.class_weight, self.classes_, labelled, w[rows])
            self.kernel_ = self._learned_kernel(kernel, S, None, w)
            K = self._represent(self.kernel_, S, run, until=0.3)
            with run.stage("graph", 0.4):
                L = sample_laplacian(self, self.kernel_, S, w, used, run.resources())
            weights = w[rows] * self.class_weight_[labelled], w[rows]
            found = [self._at(K, L, float(m), (labelled, weights, rows), run) for m in np.atleast_1d(self.manifold)]
            self.loo_errors_ = np.array([error for error, *_ in found])
            best, given = 0, np.atleast_1d(self.manifold)
            if len(found) > 1:  # few labels may all be right with any weight: the graph then has its say
                best = int(np.argmax(np.where(self.loo_errors_ <= self.loo_errors_.min() + _ALIKE, given, -1.0)))
            self.manifold_ = float(given[best])
            _, deformed, coef, self.intercept_, self.n_iter_, sigmoids = found[best]
            self.expansion_, at_samples = lifted(deformed, [K], coef, self.intercept_)
            self._keep(coef, labelled, used[rows], S.take(rows))
            if len(used) < len(packed):
                at_samples = self._evaluate(packed)
            self._describe_samples(at_samples, sigmoids)
        return self

    def _at(self, K: Gram, L: Any, m: float, known: tuple[Any, ...], run: Run) -> tuple[Any, ...]:
        """Solve for one weight of the graph; returns the left-out loss, the kernel, coefficients and intercepts."""
        codes, weights, rows = known
        with run.stage("deformed kernel", 0.6):
            deformed = deform([K], [1.0], m * L, rows, _monitor(run))
        coef, intercept = self._fit_parts(small_gram(deformed, K, budget(self.memory)), codes, weights, run)
        self._weights = None
        sigmoids = vars(self).pop("sigmoids_", None)
        return vars(self).pop("_left_out_loss", np.nan), deformed, coef, intercept, self.n_iter_, sigmoids

    def _describe_samples(self, values: Floats, sigmoids: Any) -> None:
        """Keep what the function says of the training samples, at which it has these values."""
        self.transduction_ = self._classes_of(values)
        vars(self).pop("label_distributions_", None)  # of a fit before
        if self.probability:
            self.sigmoids_ = sigmoids
            self.label_distributions_ = self._probabilities(values)

    def _describe(self, parts: list[Part]) -> None:
        """Keep the mean hinge loss of left-out labels, if weights are compared.

        The larger the weight of the graph, the smaller the function, which is not an error of a classifier: each has
        the scale that suits it best.
        """
        several = np.ndim(self.manifold) > 0 and len(self.manifold) > 1
        if not (several or self.probability):
            return
        for part in parts:
            if min(np.sum(part.sign > 0), np.sum(part.sign < 0)) < 2:
                given, instead = "manifold has several weights", "one weight, as manifold=0.1"
                if not several:
                    given, instead = "probability=True was given", "probability=False"
                raise TargetError(
                    f"A class has one labelled sample, and {given}; each class then needs two labels, one of which is "
                    f"left out. Give {instead}, or another label."
                )
        if not several:
            return
        losses = [_least_hinge(part.sign * self._left_out(part), part.weight) for part in parts]
        self._left_out_loss = float(np.sum(losses) / np.sum([part.weight.sum() for part in parts]))

    def _left_out_predictions(self, X: Any, y: Any) -> None:
        """Nothing: samples without a label are not asked for theirs."""

    def _is_primal(self, K: Gram) -> bool:
        return False

    def _classes_of(self, values: Floats) -> Array:
        if values.ndim == 1:
            return self.classes_[(values > 0).astype(np.intp)]
        return self.classes_[self.reduction_.decode(values)]

    def _keep(self, coef: Floats, codes: Indices, used: Indices, S: Any) -> None:
        """Keep which labelled samples are support vectors, under the names that scikit-learn gives them."""
        self.intercept_ = np.atleast_1d(np.asarray(self.intercept_, dtype=float))
        self._store_support(coef, used, S, codes)
        chosen = self._chosen
        self.n_support_ = np.bincount(codes[chosen], minlength=len(self.classes_)).astype(np.int32)
        self.dual_coef_ = self.reduction_.dual_coef(coef[chosen], codes[chosen])
        self.fit_status_ = int(self.solution_.status is not Status.CONVERGED)
        del self._chosen


# what machines of few labels share ---------------------------------------------------------------------


def known_rows(known: Any) -> Indices:
    """Return the samples that have a target; TargetError if none of positive weight has."""
    rows = np.flatnonzero(known if np.ndim(known) == 1 else np.all(known, axis=1))
    if not len(rows):
        raise TargetError(
            "No sample of positive weight has a target; at least one must. Give one of them a weight, or a target."
        )
    return rows


def _least_hinge(margins: Floats, weight: Floats) -> float:
    """Return min over s >= 0 of sum_i w_i max(0, 1 - s m_i): a convex function, straight between s = 1 / m_i."""
    order = np.argsort(-margins)
    m, w = margins[order], weight[order]
    behind, sums = w.sum() - np.cumsum(w), w @ m - np.cumsum(w * m)  # of those with a smaller margin
    right = m > 0.0
    with np.errstate(over="ignore"):
        return float(np.min(behind[right] - sums[right] / m[right], initial=w.sum()))


def small_gram(deformed: Deformation, K: Gram, allowed: int) -> Gram:
    """Return the deformed kernel on the labelled samples as a Gram."""
    features, resources = deformed.features, K.resources
    samples = K.samples.take(deformed.rows)
    if features is None:
        assert deformed.matrix is not None
        return DenseGram(K.kernel, samples, deformed.matrix, resources)
    l = len(features)
    if l <= min(_STORED, 2 * features.shape[1]) and 8 * l * l <= allowed // 8:
        return DenseGram(K.kernel, samples, features @ features.T, resources)
    return FeatureGram(Linear(), Vectors(features), features, None, resources)


def lifted(deformed: Deformation, grams: list[Gram], beta: Floats, intercept: Any) -> tuple[Any, Floats]:
    """Return the function of one view with these coefficients, and its values at all samples."""
    K = grams[0]
    if deformed.features is not None:
        weights = deformed.weights(beta)[0]
        solution = Solution(beta, Status.CONVERGED, 0.0, weights=weights)
        return K.expand(solution, intercept), K.factor() @ weights + intercept  # pyright: ignore
    coef = deformed.coefficients(beta)[0]
    return K.expand(Solution(coef, Status.CONVERGED, 0.0), intercept), K @ coef + intercept


def _monitor(run: Run) -> Any:
    return run.solver_monitor(1e-10) if run.watched else None
