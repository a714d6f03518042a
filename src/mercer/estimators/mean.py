"""The simplest classifier of all: the nearest class mean in feature space.

Symbols: mu_c the mean of the images of class c, M the (n, c) matrix of weights with mu_c = sum_i M_ic Phi(x_i).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.callback import with_callbacks

from mercer.arrays import Array, Floats
from mercer.errors import TargetError
from mercer.estimators.certificates.certified import Certified
from mercer.estimators.estimator import KernelEstimator, scattered
from mercer.estimators.fits import fitting
from mercer.gram import GramSpec
from mercer.problems import Solution, Status
from mercer.targets import Multiclass

__all__ = ["KernelMeanClassifier"]
__public__ = __all__


class KernelMeanClassifier(Certified, ClassifierMixin, KernelEstimator):
    r"""Nearest class mean: a sample belongs to the class whose mean image is closest.

    .. math:: f_c(x) = \langle \Phi(x), \mu_c \rangle - \tfrac12 \|\mu_c\|^2, \qquad
        \mu_c = \frac{1}{n_c} \sum_{i: y_i = c} \Phi(x_i)

    Seed: [HSS] Eqs. (4)-(7); [ST] "Simple classification". With a kernel that is a density it is the
    Parzen windows classifier.

    Parameters
    ----------
    kernel : Kernel, str or None, default None
        None is the Gaussian at the median distance between training samples. Conditionally positive
        definite kernels of order 1 are accepted: only distances matter.
    gamma, degree, coef0 : optional
        Parameters of scikit-learn's named kernels.
    gram : GramSpec, optional
        How K is held; None chooses by `Auto`.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`.

    Attributes
    ----------
    classes_ : (c,) array
    expansion_ : Expansion or FeatureExpansion
        f, one column per class, or the difference of the two for two classes.
    dual_coef_ : (n, c) array
        M (for two classes the difference of its columns, shape (n,)).
    intercept_ : (c,) array or float
        -|mu_c|^2 / 2, or b of [HSS] (4) for two classes.

    Notes
    -----
    A sample of weight w counts as w copies. Nothing is optimised: cost one product with K.

    Examples
    --------
    >>> from mercer import KernelMeanClassifier
    >>> from mercer.kernels import Gaussian
    >>> model = KernelMeanClassifier(Gaussian(1.0)).fit([[0.0], [1.0], [4.0], [5.0]], ["a", "a", "b", "b"])
    >>> model.predict([[0.4], [4.4]])
    array(['a', 'b'], dtype='<U1')
    """

    synonyms = ("nearest centroid in feature space", "Parzen windows classifier")
    highest_order = 1

    def __init__(
        self,
        kernel: Any = None,
        *,
        gamma: float | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        gram: GramSpec | None = None,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.gram = gram
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelMeanClassifier:
        """Compute the class means.

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
        with fitting(self, X, y, sample_weight, Multiclass()) as (run, kernel, packed, S, labels, w, used):
            M = class_means(labels, w, self.target_)
            self.kernel_ = kernel.learn(S, labels, w)
            K = self._represent(self.kernel_, S, run, until=0.3)
            with run.stage("product with K", 1.0):
                intercept = -0.5 * np.einsum("ic,ic->c", M, K @ M)
            if len(self.classes_) == 2:
                M, intercept = M[:, 1] - M[:, 0], intercept[1] - intercept[0]
            self.expansion_ = K.expand(Solution(M, Status.CONVERGED, 0.0), intercept)
            self.dual_coef_ = scattered(M, used, len(packed))
            self.intercept_ = intercept
        return self

    def decision_function(self, X: Any) -> Floats:
        """Return f_c(x), shape (m, c); for two classes their difference, shape (m,), positive for the second."""
        return self._evaluate(X)

    def predict(self, X: Any) -> Array:
        """Return the class with the nearest mean, shape (m,)."""
        values = self.decision_function(X)
        if values.ndim == 1:
            return self.classes_[(values > 0).astype(int)]
        return self.target_.decode(values)


def class_means(labels: Array, w: Floats, target: Multiclass) -> Floats:
    """Return M of shape (n, c), whose columns hold the weights of each class's mean."""
    M = (labels[:, None] == np.arange(len(target.classes))) * w[:, None]
    mass = M.sum(axis=0)
    if not mass.all():
        lost = target.classes[np.flatnonzero(mass == 0)[0]]
        raise TargetError(
            f"class {lost!r} has no sample of positive weight; each class needs at least one. "
            "Leave its samples out of X and y, or give one of them a weight."
        )
    return M / mass
