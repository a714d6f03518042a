"""Sets of labels by ranking: labels of a sample score above its threshold, and all others below."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.callback import with_callbacks

from mercer.arrays import Array, Floats
from mercer.constraints import Integer, Positive
from mercer.errors import TargetError
from mercer.estimators.estimator import KernelEstimator
from mercer.estimators.fits import fitting
from mercer.estimators.structured.descents import descended
from mercer.estimators.structured.label_sets import read_indicators
from mercer.estimators.structured.pair_sums import PairSums
from mercer.gram import GramSpec
from mercer.problems import Solution, Status
from mercer.targets import Multiclass, Target

__all__ = ["LabelTable", "MultilabelSVC"]
__public__ = ["MultilabelSVC"]


@dataclass(frozen=True, eq=False)
class LabelTable(Target):
    """Sets of labels as zeros and ones, (n, labels); one class label per sample is a set of one.

    Parameters
    ----------
    classes : (L,) array, optional
        Learned: the labels, or the numbers of the columns.
    single : bool, default False
        Learned: whether each sample has one label.
    """

    classes: Array = field(default_factory=lambda: np.zeros(0))
    single: bool = False

    def learn(self, y: Any) -> Self:
        if not hasattr(y, "toarray") and _columns(y) == 1:
            return replace(self, classes=Multiclass().learn(y).classes, single=True)
        return replace(self, classes=np.arange(read_indicators(y).shape[1]), single=False)

    def encode(self, y: Any) -> Floats:
        if self.single:
            return Multiclass(self.classes).indicator(y)
        table = read_indicators(y)
        if table.shape[1] != len(self.classes):
            raise TargetError(
                f"y has {table.shape[1]} columns; {len(self.classes)} labels were learned. Give a column for each of "
                "them."
            )
        return table.astype(float)

    def decode(self, f: Floats) -> Array:
        """Return labels from scores above the threshold: of one label per sample, the highest."""
        return self.classes[np.argmax(f, axis=1)] if self.single else (f > 0.0).astype(np.intp)


class MultilabelSVC(ClassifierMixin, KernelEstimator):
    r"""Support vector machine for sets of labels: labels are ranked, and a learned threshold cuts the ranking.

    .. math:: \min_f \; \tfrac12 \sum_{l=0}^{L} \|f_l\|^2 + C \sum_i s_i \sum_{u \succ_i v}
        \bigl(1 - f_u(x_i) + f_v(x_i)\bigr)_+^2, \qquad s_i = \frac{1}{\max(|y_i|, L - |y_i|)}

    The threshold f_0 is ranked with the labels: below those of the sample, and above all others, so that it depends on
    the sample, and samples with all labels or none count as well. A label is predicted where f_l > f_0.

    Seed: [HSS] Section 3.1.4 (multilabel, after Elisseeff and Weston): f(x, u) > f(x, v) for u in y and v not in y;
    with squared slacks, which makes the objective smooth, and with the threshold as one more label (after Fuernkranz
    et al.) instead of a regression that follows.

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        None is the Gaussian at the median distance.
    C : float, default 1.0
        What a pair's squared slack costs.
    tol : float, default 1e-4
        L-BFGS stops when the norm of the gradient in the space, relative to that at zero, is below this.
    max_iter : int, default 1000
        Largest number of iterations of L-BFGS.
    gamma, degree, coef0 : optional
        Parameters of scikit-learn's named kernels.
    gram : GramSpec, optional
        How K is held; only products with it are needed. None chooses by `Auto`.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`. When time runs out, the function so far is kept, with a warning.

    Attributes
    ----------
    classes_ : (L,) array
        The labels, or the numbers of the columns of y.
    expansion_ : Expansion or FeatureExpansion
        f_1 - f_0, ..., f_L - f_0; of two classes, one for each sample, f_2 - f_1.
    objective_, gap_ : float
        The objective, and how far it is above the minimum at most.
    n_iter_ : int

    Notes
    -----
    There is no bias; add a constant to the kernel for one. The pairs are never listed: an iteration takes
    O(n L log L) and one product with K. A sample of weight w counts as w copies.

    Examples
    --------
    >>> from mercer import MultilabelSVC
    >>> from mercer.kernels import Linear
    >>> X, y = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [-1.0, -1.0]], [[1, 0], [0, 1], [1, 1], [0, 0]]
    >>> MultilabelSVC(Linear(), C=10.0).fit(X, y).predict([[2.0, 0.1], [1.5, 1.5]])
    array([[1, 0],
           [1, 1]])
    """

    products_suffice = True
    synonyms = ("label ranking", "Rank-SVM for labels")
    constraints = {"C": Positive(), "tol": Positive(), "max_iter": Integer(1)}

    def __init__(
        self,
        kernel: Any = None,
        C: float = 1.0,
        *,
        tol: float = 1e-4,
        max_iter: int = 1000,
        gamma: float | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        gram: GramSpec | None = None,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.tol = tol
        self.max_iter = max_iter
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.gram = gram
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> MultilabelSVC:
        """Fit the machine.

        Parameters
        ----------
        X : raw data or packed samples
        y : (n, L) array or sparse matrix of zeros and ones
            Which labels a sample has; or (n,) class labels, one for each sample.
        sample_weight : (n,) array, optional
            Non-negative; a sample of weight w counts as w copies.

        Returns
        -------
        self
        """
        with fitting(self, X, y, sample_weight, LabelTable()) as (run, kernel, _, S, Y, w, _):
            self.kernel_ = kernel.learn(S)
            K = self._represent(self.kernel_, S, run, until=0.2)
            pairs = ranked_with_threshold(Y, float(self.C) * w)

            def risk(F: Floats, _: Floats) -> tuple[float, Floats, Floats]:
                value, slope = pairs.risk(F.ravel())
                return value, slope.reshape(F.shape), np.empty(0)

            found = descended(self, K, risk, Y.shape[1] + 1, run)
            B = found.function.B
            above = B[:, 1] - B[:, 0] if self._two_classes() else B[:, :-1] - B[:, -1:]
            self.expansion_ = K.expand(Solution(above, Status.CONVERGED, 0.0))
        return self

    def decision_function(self, X: Any) -> Floats:
        """Return f_l - f_0 of each label, (m, L): in the order of the ranking, and positive for what is predicted.

        Of two classes, one for each sample, it is f_2 - f_1, (m,).

        Parameters
        ----------
        X : raw data or packed samples
        """
        return self._evaluate(X)

    def _two_classes(self) -> bool:
        """Whether each sample has one of two labels, which one function tells apart."""
        return self.target_.single and len(self.target_.classes) == 2

    def predict(self, X: Any) -> Array:
        """Return the labels in the form of y.

        Parameters
        ----------
        X : raw data or packed samples
        """
        f = self._evaluate(X)
        return self.classes_[(f > 0.0).astype(np.intp)] if self._two_classes() else self.target_.decode(f)


def _columns(y: Any) -> int:
    """Return how many columns y has; for anything but a table, a number that its reader checks again."""
    try:
        shape = np.asarray(y).shape
    except ValueError:  # rows of different lengths
        return 0
    return 1 if len(shape) < 2 else shape[1]


def ranked_with_threshold(Y: Floats, cost: Floats) -> PairSums:
    """Return the sums over pairs of labels of each sample, with its threshold between those it has and the others."""
    n, L = Y.shape
    relevance = np.column_stack([Y, np.full(n, 0.5)])
    had = Y.sum(axis=1)
    groups = np.repeat(np.arange(n), L + 1)
    return PairSums(relevance.ravel(), groups, np.ones(n * (L + 1)), cost / np.maximum(had, L - had))
