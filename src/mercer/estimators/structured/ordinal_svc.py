"""Ordered classes: one function, and thresholds between the classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.callback import with_callbacks

from mercer.arrays import Array, Floats, Indices
from mercer.constraints import InstanceOf, Integer, Optional, Positive
from mercer.estimators.estimator import KernelEstimator
from mercer.estimators.fits import fitting
from mercer.estimators.structured.descents import descended
from mercer.gram import GramSpec
from mercer.problems import Solution, Status
from mercer.targets import Ordinal

__all__ = ["OrdinalSVC"]
__public__ = __all__


class OrdinalSVC(ClassifierMixin, KernelEstimator):
    r"""Support vector machine for classes in an order, such as grades: thresholds cut one function.

    .. math:: \min_{f,\, b} \; \tfrac12 \|f\|^2 + C \sum_i \sum_{k=1}^{c-1}
        \bigl(1 - s_{ik} (f(x_i) - b_k)\bigr)_+^2, \qquad s_{ik} = \begin{cases} 1 & y_i > k \\ -1 & y_i \le k
        \end{cases}

    Every sample is compared with every threshold, so that a prediction costs more the further off it is,
    and the thresholds are in order at the optimum: the derivative in b_k falls with k. They are not penalised.

    Seed: [HSS] Section 3.1.4 (ordinal regression).

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        None is the Gaussian at the median distance.
    C : float, default 1.0
        What a squared slack costs.
    order : sequence of labels, optional
        From the lowest to the highest; None is the order of numbers, or of the alphabet.
    tol, max_iter : default 1e-8 and 1000
        When L-BFGS ends, as for `RankSVM`.
    gamma, degree, coef0 : optional
        Parameters of scikit-learn's named kernels.
    gram : GramSpec, optional
        How K is held; only products with it are needed. None chooses by `Auto`.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`. When time runs out, the function so far is kept, with a warning.

    Attributes
    ----------
    classes_ : (c,) array
        From the lowest to the highest.
    thresholds_ : (c - 1,) array
        b, in ascending order.
    expansion_ : Expansion or FeatureExpansion
        f.
    objective_, gap_ : float
        The objective, and how far it is above the minimum at most.
    n_iter_ : int

    Notes
    -----
    For each f the best thresholds are found exactly, one by one; the derivative in f is that at fixed thresholds. A
    sample of weight w counts as w copies.

    Examples
    --------
    >>> from mercer import OrdinalSVC
    >>> from mercer.kernels import Linear
    >>> X = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]]
    >>> model = OrdinalSVC(Linear(), C=10.0, order=("low", "middle", "high"))
    >>> model.fit(X, ["low", "low", "middle", "middle", "high", "high"]).predict([[0.2], [2.6], [9.0]])
    array(['low', 'middle', 'high'], dtype='<U6')
    """

    products_suffice = True
    synonyms = ("ordinal regression", "support vector ordinal regression")
    constraints = {
        "C": Positive(),
        "order": Optional(InstanceOf(np.ndarray, list, tuple)),
        "tol": Positive(),
        "max_iter": Integer(1),
    }

    def __init__(
        self,
        kernel: Any = None,
        C: float = 1.0,
        *,
        order: Any = None,
        tol: float = 1e-8,
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
        self.order = order
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
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> OrdinalSVC:
        """Fit the machine.

        Parameters
        ----------
        X : raw data or packed samples
        y : (n,) array
            Class labels.
        sample_weight : (n,) array, optional
            Non-negative; a sample of weight w counts as w copies.

        Returns
        -------
        self
        """
        target = Ordinal(order=self.order)
        with fitting(self, X, y, sample_weight, target) as (run, kernel, _, S, places, w, _):
            codes = places.astype(np.intp)
            self.kernel_ = kernel.learn(S, codes, w)
            K = self._represent(self.kernel_, S, run, until=0.2)
            count, C = len(self.classes_), float(self.C) * w

            def risk(F: Floats, _: Floats) -> tuple[float, Floats, Floats]:
                value, slope = _risk(F[:, 0], codes, C, best_thresholds(F[:, 0], codes, C, count))
                return value, slope[:, None], np.empty(0)

            found = descended(self, K, risk, 1, run)
            self.thresholds_ = best_thresholds(found.function.F[:, 0], codes, C, count)
            self.expansion_ = K.expand(Solution(found.function.B[:, 0], Status.CONVERGED, 0.0))
        return self

    def predict(self, X: Any) -> Array:
        """Return the class between whose thresholds f lies, (m,).

        Parameters
        ----------
        X : raw data or packed samples
        """
        values = self._evaluate(X)
        return self.classes_[np.searchsorted(self.thresholds_, values, side="left")]


def _signs(codes: Indices, count: int) -> Floats:
    """Return s, (n, c - 1): whether a class is above a threshold."""
    return np.where(codes[:, None] > np.arange(count - 1), 1.0, -1.0)


def _risk(f: Floats, codes: Indices, C: Floats, b: Floats) -> tuple[float, Floats]:
    """Return the sum of squared slacks, and its derivatives in f."""
    s = _signs(codes, len(b) + 1)
    slack = np.maximum(1.0 - s * (f[:, None] - b), 0.0)
    return float(C @ (slack**2).sum(axis=1)), -2.0 * C * (s * slack).sum(axis=1)


def best_thresholds(f: Floats, codes: Indices, C: Floats, count: int) -> Floats:
    """Return the thresholds with the least sum of squared slacks, (c - 1,).

    The derivative in a threshold is increasing and piecewise linear, with bends at f + 1 and f - 1: the two bends
    around its zero are found by bisection among all of them, and the zero between these by a line. Where it is zero
    along an interval, the middle of the interval is taken.
    """
    s = _signs(codes, count)
    bends = np.sort(np.concatenate([f - 1.0, f + 1.0]))
    out = np.empty(count - 1)
    for k in range(count - 1):

        def slope(b: float, sign: Floats = s[:, k]) -> float:
            return float((C * sign * np.maximum(1.0 - sign * (f - b), 0.0)).sum())

        ends = [_zero(bends, slope, strict) for strict in (False, True)]
        out[k] = 0.5 * (ends[0] + ends[1])
    return np.maximum.accumulate(out)  # in order up to rounding


def _zero(bends: Floats, slope: Any, strict: bool) -> float:
    """Return the first (or last) zero of an increasing function that is linear between bends."""
    low, high = 0, len(bends) - 1
    small = 1e-14 * (1.0 + abs(slope(bends[0])) + abs(slope(bends[-1])))
    while high - low > 1:
        middle = (low + high) // 2
        value = slope(bends[middle])
        if value > small or (not strict and value >= -small):
            high = middle
        else:
            low = middle
    a, b = slope(bends[low]), slope(bends[high])
    if b - a <= small:
        return float(bends[high] if strict else bends[low])
    share = min(max(-a / (b - a), 0.0), 1.0)
    return float(bends[low] + share * (bends[high] - bends[low]))
