"""Parzen windows: a density as the mean of kernels at the samples.

Symbols: n samples with weights w_i, W their sum, c(l) the integral of the kernel over its first argument.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import DensityMixin
from sklearn.callback import with_callbacks

from mercer.arrays import Floats
from mercer.domains import Samples, Vectors
from mercer.errors import CapabilityError
from mercer.estimators.estimator import KernelEstimator
from mercer.estimators.fits import fitting
from mercer.gram import Expansion
from mercer.kernels import Gaussian, Kernel
from mercer.kernels.kernel import log_integral
from mercer.sparse_checks import without_unused

__all__ = ["ParzenDensity"]
__public__ = __all__


class ParzenDensity(DensityMixin, KernelEstimator):
    r"""Parzen windows: the density at a point is the mean similarity to the samples.

    .. math:: p(x) = \frac{1}{W} \sum_i w_i \, \frac{k(x, x_i)}{\int k(x', x_i) \, dx'}

    Seed: [HSS] Eq. (7); [ST] "Simple classification".

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        A window on vectors: nowhere negative, of finite integral, the same around every sample. These are `Gaussian`,
        `Matern`, `Exponential`, `Laplacian`, `RationalQuadratic` with alpha > d / 2, `Cauchy` in one column,
        `Wendland`, `Epanechnikov`, `BSpline`, `SpectralMixture` without waves, and their sums
        and positive multiples. None is the Gaussian with Scott's width: the root mean variance of the columns times
        W^(-1 / (d + 4)).
    gamma, degree, coef0 : optional
        Parameters of scikit-learn's named kernels.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`.

    Attributes
    ----------
    expansion_ : Expansion
        The mean similarity.
    log_integral_ : float
        Logarithm of the kernel's integral.

    Notes
    -----
    A sample of weight w counts as w copies. Nothing is optimised; all cost is in `score_samples`, O(mnd).
    Points so far away that all similarities are zero in floating point get the score of the smallest
    positive number, about -708 minus `log_integral_`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import ParzenDensity
    >>> from mercer.kernels import Gaussian
    >>> model = ParzenDensity(Gaussian(1.0)).fit([[0.0]])
    >>> np.exp(model.score_samples([[0.0]])).round(4)  # the normal density at its mean
    array([0.3989])
    """

    synonyms = ("kernel density estimate",)

    def __init__(
        self,
        kernel: Any = None,
        *,
        gamma: float | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> ParzenDensity:
        """Keep the samples and their weights.

        Parameters
        ----------
        X : raw data or packed samples
        y : ignored
        sample_weight : (n,) array, optional
            Non-negative; a sample of weight w counts as w copies.

        Returns
        -------
        self
        """
        with fitting(self, X, None, sample_weight) as (_, kernel, _, S, _, w, _):
            self.kernel_ = scott(S, w) if self.kernel is None else kernel.learn(S, None, w)
            self.log_integral_ = _log_integral(self.kernel_, S)
            S = self.kernel_.prepare(S).landmarks()
            self.expansion_ = Expansion(self.kernel_, S, w / w.sum(), np.asarray(0.0))
        return self

    def score_samples(self, X: Any) -> Floats:
        """Return the logarithm of the density at new data, shape (m,)."""
        log = np.log(np.maximum(self._evaluate(X), np.finfo(float).tiny))
        return log - (self.log_integral_ or 0.0)

    def score(self, X: Any, y: Any = None) -> float:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return the sum of `score_samples`: the log-likelihood of new data."""
        return float(np.sum(self.score_samples(X)))


def _log_integral(kernel: Kernel, S: Samples) -> float:
    found = log_integral(kernel, S.width) if isinstance(S, Vectors) else None
    if found is None or not np.isfinite(found):
        columns = f" on {S.width} columns" if isinstance(S, Vectors) else ""
        raise CapabilityError(
            f"ParzenDensity was given {kernel!r}{columns}, whose mean is not a density; kernels on vectors that are "
            "never negative and have a finite integral, the same around every sample, are accepted: Gaussian, "
            "Matern, Exponential, Laplacian, Wendland and others that its page names, and their sums. Use Gaussian(), "
            "or mercer.hilbert.mean_element(kernel, X) for the mean similarity itself."
        )
    return found


def scott(S: Samples, w: Floats) -> Kernel:
    """Return the Gaussian kernel of Scott's width for weighted vectors; width 1 if all are equal."""
    assert isinstance(S, Vectors)
    p = w / w.sum()
    unit = np.ldexp(1.0, np.frexp(S.largest)[1] - 1) if not 1e-100 < S.largest < 1e100 else 1.0  # squares stay in range
    X = without_unused(S.X).astype(float) / unit
    mean = np.asarray(p @ X).ravel()
    second = np.asarray(p @ (sp.csr_array(X).power(2) if sp.issparse(X) else X**2)).ravel()
    variance = float(np.sum(np.maximum(second - mean**2, 0.0))) / S.width
    if not variance > 1e-14 * float(np.sum(second)) / S.width:
        return Gaussian(1.0)
    return Gaussian(np.sqrt(variance) * unit * w.sum() ** (-1.0 / (S.width + 4)))
