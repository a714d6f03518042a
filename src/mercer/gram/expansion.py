"""The fitted function as an element of the feature space: all that `predict` needs.

Symbols: s_i the samples kept, c_i their coefficients, b the intercept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.budget import Resources
from mercer.domains import Samples
from mercer.gram.products import product
from mercer.kernels.comparison import Comparison
from mercer.kernels.kernel import Kernel

__all__ = ["Expansion", "FeatureExpansion"]

_NOTHING = Resources()


@dataclass(frozen=True, eq=False)
class Expansion:
    r"""A function made of kernels at some samples: what the representer theorem promises.

    .. math:: f(x) = \sum_i c_i \, k(x, s_i) + \delta \, k(x, x) + b

    Seed: [HSS] Theorem 11, Eq. (50).

    Parameters
    ----------
    kernel : Kernel
    samples : Samples
        The packed, prepared samples with coefficients.
    coef : (n,) or (n, k) array
        One column per output.
    intercept : float or (k,) array
    diagonal : float, default 0.0
        Multiple of k(x, x), for distances in feature space.

    Examples
    --------
    >>> from mercer.domains import Vectors
    >>> from mercer.kernels import Linear
    >>> f = Expansion(Linear(), Vectors.pack([[1.0], [2.0]]), np.array([1.0, 1.0]), np.array(0.5))
    >>> f(Vectors.pack([[10.0]]))
    array([30.5])
    """

    kernel: Kernel
    samples: Samples
    coef: Floats
    intercept: Floats
    diagonal: float = 0.0

    def __call__(self, T: Samples, resources: Resources = _NOTHING, dtype: Any = np.float64) -> Floats:
        """Return f at packed samples, shape (m,) or (m, k), tile by tile; sums are in float64, tiles in `dtype`."""
        T = self.kernel.prepare(T)
        comparison = Comparison(self.kernel, T, self.samples, dtype)
        values = product(self.kernel, comparison, self.coef, resources)
        if self.diagonal:
            own = self.diagonal * self.kernel.diag(T)
            values += own if values.ndim == 1 else own[:, None]
        return values + self.intercept


@dataclass(frozen=True, eq=False)
class FeatureExpansion:
    r"""A function that is linear in a finite feature map.

    .. math:: f(x) = \langle w, \Phi(x) \rangle + b

    Seed: [STS] Eqs. (5)-(8), the primal form; [SS] Eq. (6).

    Parameters
    ----------
    kernel : Kernel
        Has `features`.
    keys : object
        What identifies the features of the training samples.
    weights : (D,) or (D, k) array
    intercept : float or (k,) array

    Examples
    --------
    >>> from mercer.domains import Vectors
    >>> from mercer.kernels import Linear
    >>> f = FeatureExpansion(Linear(), None, np.array([2.0]), np.array(1.0))
    >>> f(Vectors.pack([[10.0]]))
    array([21.])
    """

    kernel: Kernel
    keys: Any
    weights: Floats
    intercept: Floats

    def __call__(self, T: Samples, resources: Resources = _NOTHING) -> Floats:
        """Return f at packed samples, shape (m,) or (m, k), in float64."""
        with np.errstate(over="ignore", invalid="ignore"):  # estimators refuse what is not finite
            values = [np.asarray(self.kernel.features(piece, self.keys)[0] @ self.weights) for piece in T.tiles(4096)]
        shape = self.weights.shape[1:]
        return (np.concatenate(values) if values else np.empty((0, *shape))) + self.intercept
