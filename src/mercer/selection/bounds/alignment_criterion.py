r"""How well a kernel agrees with the targets, before anything is fitted.

Symbols: K (n, n), Y (n, k) targets, T = Y Y^T, H = I - 1 1^T / n, <A, B> the sum of products of entries.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mercer.arrays import Floats, real_numbers
from mercer.domains import Samples
from mercer.errors import TargetError
from mercer.gram import Dense
from mercer.kernels import Kernel
from mercer.kernels.kernel import pullback

__all__ = ["AlignmentCriterion", "target_alignment", "target_alignment_slope"]
__public__ = ["AlignmentCriterion", "target_alignment"]


def target_alignment(K: Any, y: Any, *, centred: bool = False) -> float:
    r"""Kernel-target alignment: the cosine between a Gram matrix and the one that knows the targets.

    .. math:: A(K, y) = \frac{\langle K, y y^\top \rangle}{\|K\|_F \, \|y y^\top\|_F}

    Seed: [SS] Section 5; [HSS] footnote 1: for y = +-1 the numerator is the squared norm of
    :math:`w = \sum_i y_i \Phi(x_i)`. Centred, K is H K H and y is H y: a constant that is added to K changes nothing.

    Parameters
    ----------
    K : (n, n) array
        Gram matrix.
    y : (n,) or (n, k) array
        Targets: +1 and -1, numbers, or one column per class.
    centred : bool, default False

    Returns
    -------
    float
        From -1 to 1; from 0 for a positive semi-definite K.

    References
    ----------
    Cristianini, Shawe-Taylor, Elisseeff and Kandola (2002), On kernel-target alignment. Cortes, Mohri and Rostamizadeh
    (2012), Algorithms for learning kernels based on centered alignment.

    Examples
    --------
    >>> y = np.array([1.0, 1.0, -1.0])
    >>> target_alignment(np.outer(y, y), y)
    1.0
    >>> round(target_alignment(np.eye(3), y), 6)  # 3 / (sqrt(3) 3)
    0.57735
    """
    return _aligned(K, y, centred)[0]


def target_alignment_slope(K: Any, y: Any, *, centred: bool = False) -> tuple[float, Floats]:
    """The alignment, and its derivative in the entries of K, (n, n)."""
    value, numerator, size, T, C = _aligned(K, y, centred)
    D = T / numerator * value if numerator else T / size
    return value, D - value * C / size**2


def _aligned(K: Any, y: Any, centred: bool) -> tuple[float, float, float, Any, Any]:
    """Value, <K, T> over the norm of T, the norm of K, T over its norm, and K, each centred if asked."""
    K = real_numbers(K, "K")
    Y = real_numbers(y, "y", TargetError).reshape(len(K), -1)
    if centred:
        Y = Y - Y.mean(axis=0)
        K = K - K.mean(axis=0)
        K = K - K.mean(axis=1)[:, None]
    size, length = float(np.linalg.norm(K)), float(np.linalg.norm(Y.T @ Y))
    if not length or not size:
        raise TargetError(
            "All targets (or all entries of K) are zero" + (" about their mean" if centred else "") + "; the "
            "alignment with nothing is not defined. Give targets that differ."
        )
    numerator = float(np.vdot(Y, K @ Y)) / length
    return numerator / size, numerator, size, (Y @ Y.T) / length, K


class AlignmentCriterion:
    r"""Minus the alignment as a function of the kernel, with derivatives, for `tune`.

    Seed: [SS] Section 5; [HSS] footnote 1.

    Parameters
    ----------
    S : Samples
    y : (n,) or (n, k) array
    centred : bool, default True

    Examples
    --------
    >>> from mercer.domains import Vectors
    >>> from mercer.kernels import Gaussian
    >>> criterion = AlignmentCriterion(Vectors.pack([[0.0], [1.0], [4.0]]), np.array([1.0, 1.0, -1.0]))
    >>> value, slope, _ = criterion(Gaussian(1.0), {})
    >>> round(value, 4), slope.round(4)
    (-0.9498, array([-0.1532]))
    """

    def __init__(self, S: Samples, y: Any, centred: bool = True) -> None:
        self.S, self.y, self.centred = S, y, centred

    def __call__(self, kernel: Kernel, beside: Mapping[str, Floats]) -> tuple[float, Floats, dict[str, Floats]]:
        """Return the value, its derivatives in the free parameters of the kernel, and none beside it."""
        gram = Dense().build(kernel, self.S)
        value, D = target_alignment_slope(gram.array, self.y, centred=self.centred)
        return -value, -pullback(kernel, gram.samples, gram.samples, D), {}
