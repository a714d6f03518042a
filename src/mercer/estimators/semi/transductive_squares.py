"""Transductive least squares: ridge regression with local estimates, and labels that make the LS-SVM's residuals small.

Symbols: u the samples without a target, P the matrix that maps targets to coefficients, a = P y.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.callback import with_callbacks
from sklearn.utils import check_random_state

from mercer.arrays import Array, Floats, Indices
from mercer.constraints import Boolean, InstanceOf, Integer, Interval, Optional, Positive
from mercer.estimators.estimator import KernelEstimator
from mercer.estimators.factors import factor_of, function_of
from mercer.estimators.fits import fitting, frozen
from mercer.estimators.semi.laplacian import known_rows, mark
from mercer.estimators.semi.transductive_svm import counts_of, sides_of, top
from mercer.gram import Gram, GramSpec
from mercer.gram.gram import Cross, is_streamed, is_transform
from mercer.kernels import Kernel
from mercer.numerics.cholesky import safe_cholesky
from mercer.problems import LinearSystem, Status
from mercer.targets import PartialClasses, PartialReal

__all__ = ["TransductiveLSSVC", "TransductiveRidge"]
__public__ = __all__

_ROWS = 1024  # samples whose local estimates are made at once
_LABELS = 512  # of either kind among which the best exchange is looked for


class TransductiveRidge(MultiOutputMixin, RegressorMixin, KernelEstimator):
    r"""Ridge regression with few targets: the others are first guessed from their neighbours, and trusted a little.

    .. math:: \min_f \; \tfrac12 \sum_{i \text{ known}} w_i (y_i - f(x_i))^2 +
        \tfrac{\tau}{2} \sum_u w_u (\tilde y_u - f(x_u))^2 + \tfrac{\alpha}{2} \|f\|^2, \qquad
        \tilde y_u = \frac{\sum_i w_i \kappa(x_u, x_i) y_i}{\sum_i w_i \kappa(x_u, x_i)}

    The guesses are local means of the known targets by a kernel kappa of their own.

    Seed: [SS] Section 2.3.5, transductive inference; after Cortes and Mohri.

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        As in `KernelRidge`.
    alpha : float, default 1.0
        The ridge. Positive.
    trust : float, default 0.1
        tau, the weight of a guess over that of a target; 0 is `KernelRidge` on the samples that have a target.
    local : Kernel, optional
        kappa, whose values below zero count as zero; None is the kernel itself. Where nothing is near, the guess is the
        mean of all targets.
    gamma, degree, coef0 : optional
        Parameters of scikit-learn's named kernels.
    fit_intercept : bool, default False
        Whether a constant that is not penalised is added.
    gram : GramSpec, optional
        How K is held.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`.

    Attributes
    ----------
    transduction_ : (n,) or (n, k) array
        The fitted function at the training samples of positive weight.
    guesses_ : (u,) or (u, k) array
        Of those without a target, in their order.
    expansion_, intercept_, kernel_, solution_
        As in `KernelRidge`.

    Notes
    -----
    y is NaN where it is not known. A sample of weight w counts as w copies.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import TransductiveRidge
    >>> from mercer.kernels import Gaussian
    >>> X = np.array([[0.0], [0.1], [3.0], [3.1]])
    >>> model = TransductiveRidge(Gaussian(1.0), alpha=0.01).fit(X, [1.0, np.nan, -1.0, np.nan])
    >>> model.guesses_.round(2)
    array([ 0.97, -0.98])
    """

    unknown_targets = True  # NaN
    constraints = {
        "alpha": Positive(),
        "trust": Interval(0.0, np.inf, closed="left"),
        "local": Optional(InstanceOf(Kernel)),
        "fit_intercept": Boolean(),
    }
    products_suffice = True

    def __init__(
        self,
        kernel: Any = None,
        alpha: float = 1.0,
        *,
        trust: float = 0.1,
        local: Kernel | None = None,
        gamma: float | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        fit_intercept: bool = False,
        gram: GramSpec | None = None,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.alpha = alpha
        self.trust = trust
        self.local = local
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.gram = gram
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> TransductiveRidge:
        """Fit the function to targets and guesses.

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
        with fitting(self, X, y, sample_weight, PartialReal()) as (run, kernel, _, S, values, w, _used):
            rows = known_rows(~np.isnan(values))
            free = np.setdiff1d(np.arange(len(S)), rows)
            self.kernel_ = kernel.learn(S, None, w)
            self.guesses_ = self._guessed(S, values, w, rows, free)
            target, weight = values.copy(), w.copy()
            target[free], weight[free] = self.guesses_, self.trust * w[free]
            used = np.flatnonzero(weight)
            K = self._represent(self.kernel_, S if len(used) == len(S) else S.take(used), run)
            border = np.ones((len(used), 1)) if self.fit_intercept else None
            solution = self._solve(LinearSystem(K, self.alpha / weight[used], target[used], border), run)
            self.intercept_ = solution.multipliers[0] if self.fit_intercept else np.zeros(values.shape[1:])[()]
            self.expansion_ = K.expand(solution, self.intercept_)
            self.transduction_ = self.expansion_(S, self._resources())
        return self

    def _guessed(self, S: Any, values: Floats, w: Floats, rows: Indices, free: Indices) -> Floats:
        """Return local means of the known targets."""
        local = self.kernel_ if self.local is None else self.local.learn(S, None, w)
        near = local.prepare(S.take(rows))
        mean = (w[rows] @ values[rows]) / w[rows].sum()
        out = np.empty((len(free), *values.shape[1:]))
        for start in range(0, len(free), _ROWS):
            some = free[start : start + _ROWS]
            share = np.maximum(Cross(local, S.take(some), near).to_dense(), 0.0) * w[rows]
            total = share.sum(axis=1)
            share[total <= 0.0] = 0.0
            found = (share @ values[rows]).T / np.where(total > 0.0, total, 1.0)
            out[start : start + _ROWS] = np.where(total > 0.0, found, np.broadcast_to(mean, found.T.shape).T).T
        return out

    def predict(self, X: Any) -> Floats:
        """Return the fitted function at new data, shape (m,) or (m, k).

        Parameters
        ----------
        X : raw data or packed samples
        """
        values = self._evaluate(X)
        return self.target_.decode(values)


class TransductiveLSSVC(ClassifierMixin, KernelEstimator):
    r"""Transductive least squares classifier: the labels of given samples that a function fits best.

    .. math:: \min_{y_u = \pm 1} \min_{f, b} \; \tfrac{C}{2} \sum_{i \text{ labelled}} (y_i - f(x_i) - b)^2 +
        \tfrac{\tau C}{2} \sum_u (y_u - f(x_u) - b)^2 + \tfrac12 \|f\|^2 = \min_{y_u} \tfrac12 y^\top P y

    under a given number of labels of each class.

    Seed: [SS] Sections 2.2.2 and 2.3.5, transductive inference, with the LS-SVM of Section 3.

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        As in `LSSVC`.
    C : float, default 1.0
        Cost of half a squared error, as in `LSSVC`. Positive.
    trust : float, default 1.0
        tau, the weight of a sample without a label over that of one with a label. Positive.
    balance : float or (c,) array, optional
        The share of the second class among samples without a label, or the shares of all c classes, which add up to
        one; None are those among the labelled.
    gamma, degree, coef0 : optional
        Parameters of scikit-learn's named kernels.
    unlabelled : int, str, float or None, default -1
        What stands in y for a label that is not known; None for texts, where NaN counts as None too.
    n_init : int, default 1
        Starts: the first rounds the best real numbers, the others are random. That with the least objective is kept.
    random_state : int or RandomState, optional
        For random starts.
    gram : GramSpec, optional
        How K is held; a factor is needed, or K itself.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`.

    Attributes
    ----------
    classes_ : (c,) array
    transduction_ : (n,) array
        The class of every training sample; labelled ones keep theirs.
    objectives_ : (n_init,) or (n_init, c) array
        What each start reached.
    expansion_, intercept_, kernel_
        As in `LSSVC`.

    Notes
    -----
    The best exchange of two labels is made as long as one lowers the objective; of more than 512 labels of either kind
    those are looked at that the slope of the objective favours. More than two classes are separated each from the
    others. There are no sample weights: copies of a sample may get different labels.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import TransductiveLSSVC
    >>> from mercer.kernels import Linear
    >>> X = np.array([[0.0], [0.4], [0.8], [2.2], [2.6], [3.0]])
    >>> TransductiveLSSVC(Linear()).fit(X, [0, -1, -1, -1, -1, 1]).transduction_
    array([0, 0, 0, 1, 1, 1])
    """

    constraints = {
        "C": Positive(),
        "trust": Positive(),
        "balance": Optional(Interval(0.0, 1.0, vector=True)),
        "unlabelled": mark,
        "n_init": Integer(1),
    }

    def __init__(
        self,
        kernel: Any = None,
        C: float = 1.0,
        *,
        trust: float = 1.0,
        balance: Any = None,
        gamma: float | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        unlabelled: Any = -1,
        n_init: int = 1,
        random_state: Any = None,
        gram: GramSpec | None = None,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.trust = trust
        self.balance = balance
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.unlabelled = unlabelled
        self.n_init = n_init
        self.random_state = random_state
        self.gram = gram
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    def _can_use(self, spec: GramSpec) -> bool:
        return not (is_streamed(spec) or is_transform(spec))  # a factor is needed

    @with_callbacks
    def fit(self, X: Any, y: Any) -> TransductiveLSSVC:
        """Find the labels of the samples that have none, and the classifier.

        Parameters
        ----------
        X : raw data or packed samples
        y : (n,) array
            Class labels, and ``unlabelled`` where they are not known.

        Returns
        -------
        self
        """
        with fitting(self, X, y, None, PartialClasses(self.unlabelled)) as (run, kernel, _, S, codes, w, _used):
            known_rows(codes >= 0)
            count, free = len(self.classes_), np.flatnonzero(codes < 0)
            self.kernel_ = kernel.learn(S, None, w)
            K = self._represent(self.kernel_, S, run, until=0.3)
            F, back = factor_of(self, K)
            cost = self.C * np.where(codes < 0, self.trust, 1.0)
            P = _Mapping.of(F, cost)
            rng = check_random_state(self.random_state)
            sides, objectives = [], []
            with run.stage("labels", 1.0):
                for side, wanted in zip(sides_of(codes, count), counts_of(self.balance, codes, count), strict=True):
                    starts = self.n_init if len(free) else 1
                    found = [_labelled(P, side, free, wanted, rng if start else None) for start in range(starts)]
                    sides.append(min(found, key=lambda one: one[0])[1])
                    objectives.append([one[0] for one in found])
            self._finish(K, (F, back), P, codes, np.column_stack(sides))
            self.objectives_ = np.column_stack(objectives)
            self.objectives_ = self.objectives_[:, 0] if count == 2 else self.objectives_
        return self

    def _finish(self, K: Gram, factor: tuple[Any, Any], P: _Mapping, codes: Indices, sides: Floats) -> None:
        """Keep the function, and the classes of all samples."""
        F, back = factor
        weights, bias = F.T @ (P @ sides), P.intercepts(sides)
        labels, free = codes.copy(), codes < 0
        if sides.shape[1] == 1:
            labels[free] = (sides[free, 0] > 0).astype(np.intp)
            weights, bias = weights[:, 0], bias[0]
        else:
            labels[free] = np.argmax(F @ weights + bias, axis=1)[free]
        self.transduction_ = self.classes_[labels]
        self.intercept_ = frozen(np.asarray(bias))
        self.expansion_ = function_of(K, weights, back, bias, Status.CONVERGED)

    def decision_function(self, X: Any) -> Floats:
        """Return decision values: (m,) for two classes, positive for the second; else (m, c), the largest wins."""
        return self._evaluate(X)

    def predict(self, X: Any) -> Array:
        """Return the class of new data, shape (m,), by the function found with the transduction.

        Parameters
        ----------
        X : raw data or packed samples
        """
        values = self._evaluate(X)
        return self.classes_[(values > 0).astype(np.intp) if values.ndim == 1 else np.argmax(values, axis=1)]


@dataclass(frozen=True, eq=False)
class _Mapping:
    """P = D - Z' Z, which maps targets to coefficients whose sum is zero: D the costs, Z (r + 1, n)."""

    cost: Floats
    Z: Floats
    row: Floats  # maps targets to the intercept

    @classmethod
    def of(cls, F: Floats, cost: Floats) -> _Mapping:
        """Return P of K = F F^T: the inverse of K + 1 / cost, less what the intercept takes."""
        inside = safe_cholesky(F.T @ (cost[:, None] * F), 1.0)
        H = inside.half_solve(np.ascontiguousarray((cost[:, None] * F).T))
        ones = cost - H.T @ H.sum(axis=1)  # the inverse times ones
        total = float(ones.sum())
        return cls(cost, np.vstack([H, ones / np.sqrt(total)]), ones / total)

    def __matmul__(self, Y: Floats) -> Floats:
        return (self.cost * Y.T).T - self.Z.T @ (self.Z @ Y)

    def intercepts(self, Y: Floats) -> Floats:
        """Return the intercept of each column of targets."""
        return self.row @ Y

    def diagonal(self) -> Floats:
        """Return the diagonal."""
        return self.cost - np.einsum("ij,ij->j", self.Z, self.Z)


def _labelled(P: _Mapping, side: Floats, free: Indices, wanted: int, rng: Any) -> tuple[float, Floats]:
    """Return the objective and the labels of one start, exchanged until no exchange helps."""
    y = side.copy()
    if len(free):
        scores = _relaxed(P, y, free) if rng is None else rng.standard_normal(len(free))
        y[free] = np.where(top(scores, wanted), 1.0, -1.0)
    slope, diagonal = P @ y, P.diagonal()
    while True:
        up, down = free[y[free] > 0], free[y[free] < 0]
        if not (len(up) and len(down)):
            break
        up = up[np.argsort(diagonal[up] - slope[up], kind="stable")[:_LABELS]]
        down = down[np.argsort(diagonal[down] + slope[down], kind="stable")[:_LABELS]]
        cross = -P.Z[:, up].T @ P.Z[:, down]
        gain = (slope[down] - slope[up][:, None]) + (diagonal[up][:, None] + diagonal[down] - 2.0 * cross)
        best = int(np.argmin(gain))
        if gain.ravel()[best] >= -1e-10 * np.abs(diagonal).max():
            break
        i, j = up[best // len(down)], down[best % len(down)]
        y[i], y[j] = -1.0, 1.0
        slope = P @ y
    return 0.5 * float(y @ (P @ y)), y


def _relaxed(P: _Mapping, y: Floats, free: Indices) -> Floats:
    """Return the real numbers that make the objective least in place of the unknown labels."""
    D, Z = 1.0 / P.cost[free], P.Z[:, free]
    rhs = -(P @ y)[free]
    inside = np.eye(len(Z)) - (Z * D) @ Z.T
    return D * rhs + D * (Z.T @ np.linalg.lstsq(inside, Z @ (D * rhs), rcond=1e-10)[0])
