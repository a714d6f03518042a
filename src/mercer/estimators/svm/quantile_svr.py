"""Quantile regression by support vectors.

Symbols: tau a quantile, xi = y - f(x) - b residuals, w_i sample weights, b the bias.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.constraints import Each, Interval, OneOf
from mercer.estimators.estimator import sample_weights
from mercer.estimators.svm.svr import COST, SupportVectorRegressor, program_of
from mercer.gram import Gram, GramSpec
from mercer.losses import Pinball
from mercer.problems import BoxQP
from mercer.solvers import Solver

__all__ = ["QuantileSVR"]
__public__ = __all__


class QuantileSVR(SupportVectorRegressor):
    r"""Quantile regression: functions below which given shares of the observations lie.

    .. math:: \min_{f, b} \; C \sum_i w_i \psi_\tau(y_i - f(x_i) - b) + \tfrac12 \|f\|^2, \qquad
        \psi_\tau(\xi) = \max(\tau \xi, (\tau - 1) \xi)

    Seed: [HSS] Section 3.1.3, where the second case of the loss is printed with 1 - tau.

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        As in `SVR`.
    C : float, "spread" or None, default None
        Cost of the loss. Positive and finite; ``QuantileSVR(quantiles=0.5, C=2 * c)`` is ``SVR(epsilon=0, C=c)``.
        "spread" is 6 standard deviations of y; None is "spread" with the default kernel, and 1.0 if a kernel is given.
    quantiles : float or sequence of floats, default 0.5
        tau, between 0 and 1, both excluded; of several, each has its function.
    crossing : {"allow", "forbid"}, default "allow"
        Functions fitted one by one may cross where samples are few. "forbid" sorts the values at each point, so that
        they are in the order of the quantiles everywhere.
    gamma, degree, coef0 : optional
        As in `SVR`.
    tol, max_iter, shrinking, cache_size : optional
        As in `SVR`.
    gram, solver, memory, max_time, n_threads : optional
        As in `SVR`.

    Attributes
    ----------
    C_ : float
    support_, support_vectors_, n_support_, dual_coef_, intercept_, expansion_, n_iter_, solution_
        As in `SVR`, with a row or an entry per quantile; the functions before sorting.

    Notes
    -----
    At most tau of the training weight lies below the function and at most 1 - tau above it; on it lie the free support
    vectors. A sample of weight w counts as w copies. Sorting is the monotone rearrangement of Chernozhukov,
    Fernandez-Val and Galichon (2010): at every point, not at the training samples alone, the functions do not cross,
    and the pinball losses of an observation, added over the quantiles, can only fall. What is sorted is no longer one
    expansion in the kernel for each quantile. Constraints at the training samples (Takeuchi, Le, Sears and Smola, 2006)
    would keep that, and promise nothing between them.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import QuantileSVR
    >>> from mercer.kernels import Linear
    >>> y = np.arange(11.0)
    >>> model = QuantileSVR(Linear(), quantiles=(0.25, 0.5, 0.75)).fit(np.zeros((11, 1)), y)
    >>> model.predict([[0.0]]).round(6)
    array([[2., 5., 8.]])
    """

    several_outputs = False
    measured = {"C": (1.0, 6.0)}
    constraints = {
        "C": COST,
        "quantiles": Each(Interval(0.0, 1.0, closed="neither")),
        "crossing": OneOf("allow", "forbid"),
    }

    def __init__(
        self,
        kernel: Any = None,
        C: float | str | None = None,
        *,
        quantiles: Any = 0.5,
        crossing: str = "allow",
        gamma: float | str | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        tol: float = 1e-3,
        max_iter: int | None = None,
        shrinking: bool = True,
        cache_size: float = 512,
        gram: GramSpec | None = None,
        solver: Solver | None = None,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.quantiles = quantiles
        self.crossing = crossing
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.tol = tol
        self.max_iter = max_iter
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.gram = gram
        self.solver = solver
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    def _is_one(self) -> bool:
        return np.ndim(self.quantiles) == 0

    def _program(self, K: Gram, y: Floats, weight: Floats, *sizes: float) -> BoxQP:
        C, quantile = sizes
        return program_of(K, Pinball(quantile).box_dual(y, C * weight))

    def _programs(self, K: Gram, y: Floats, weight: Floats) -> list[BoxQP]:
        quantiles = np.ravel(self.quantiles)
        (C,), unit = self._sizes(y, weight)
        self._units = [unit] * len(quantiles)
        self._keep_sizes([[C]])
        return [self._program(K, y / unit, weight, C / unit, float(tau)) for tau in quantiles]

    def predict(self, X: Any) -> Floats:
        """Return the quantiles at new data, shape (m,), or (m, q) for several, in the order they were given.

        Parameters
        ----------
        X : raw data or packed samples
        """
        values = super().predict(X)
        if self.crossing == "allow" or values.ndim == 1:
            return values
        out = np.empty_like(values)
        out[:, np.argsort(self.quantiles, kind="stable")] = np.sort(values, axis=1)
        return out

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of the pinball loss that is explained, compared with constant quantiles.

        One for a perfect prediction, zero for the quantiles of ``y`` itself; the losses of several quantiles are added.

        Parameters
        ----------
        X : raw data or packed samples
        y : (m,) array
        sample_weight : (m,) array, optional
        """
        values = self.predict(X)
        values = values.reshape(len(values), -1)
        y = self.target_.encode(y)
        w = sample_weights(sample_weight, len(y))
        order = np.argsort(y, kind="stable")
        share = np.cumsum(w[order]) / w.sum()
        lost = least = 0.0
        for tau, column in zip(np.ravel(self.quantiles), values.T, strict=True):
            constant = y[order[min(np.searchsorted(share, tau), len(y) - 1)]]
            loss = Pinball(float(tau))
            lost += float(w @ loss.value(y, column))
            least += float(w @ loss.value(y, np.full(len(y), constant)))
        if least == 0.0:
            return 1.0 if lost == 0.0 else 0.0
        return 1.0 - lost / least
