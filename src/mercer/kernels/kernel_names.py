"""scikit-learn's names for kernels, so that trying mercer takes little more than another import."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from mercer import kernels  # whose names are imported when they are used
from mercer.constraints import Interval, Positive
from mercer.errors import ParameterError
from mercer.kernels import Gaussian, Kernel

__all__ = ["GAMMA", "WORDS", "kernel_from_word"]

_SCALE = Interval(0.0, math.inf, closed="left")
_ACCEPTED = {"rbf": Positive(), "laplacian": Positive(), "chi2": Positive()}  # what they divide by, or vanish without
GAMMA = {"chi2": 1.0}
"""What gamma=None is for a name, whatever the data; for the others it depends on them."""

# each takes (gamma, degree, coef0) with scikit-learn's meaning
WORDS: dict[str, Callable[[float, int, float], Kernel]] = {
    "linear": lambda gamma, degree, coef0: kernels.Linear(),
    "rbf": lambda gamma, degree, coef0: Gaussian.from_gamma(gamma),
    "poly": lambda gamma, degree, coef0: kernels.Polynomial(degree, offset=coef0, scale=gamma),
    "polynomial": lambda gamma, degree, coef0: kernels.Polynomial(degree, offset=coef0, scale=gamma),
    "sigmoid": lambda gamma, degree, coef0: kernels.Sigmoid(scale=gamma, offset=coef0),
    "laplacian": lambda gamma, degree, coef0: kernels.Laplacian(1.0 / gamma),
    "cosine": lambda gamma, degree, coef0: kernels.Linear().normalized(),
    "chi2": lambda gamma, degree, coef0: kernels.ChiSquared(gamma),
    # minus the chi-squared distance, -sum (x - z)^2 / (x + z): conditionally positive definite
    "additive_chi2": lambda gamma, degree, coef0: kernels.FeatureDistance(kernels.AdditiveChiSquared(), 2.0),
    "precomputed": lambda gamma, degree, coef0: kernels.Precomputed(),
}


def kernel_from_word(word: str, width: int, gamma: Any = None, degree: Any = None, coef0: Any = None) -> Kernel:
    """Return the kernel that scikit-learn means by a name, for data of `width` columns.

    Parameters
    ----------
    word : str
    width : int
        ``gamma=None`` is 1 / width, as in scikit-learn's KernelRidge; for "chi2" it is 1.
    gamma, degree, coef0 : optional
        scikit-learn's parameters; None is its default.

    Examples
    --------
    >>> kernel_from_word("poly", 4)
    Polynomial(3, scale=0.25)
    """
    if word not in WORDS:
        raise ParameterError(
            f"kernel={word!r} is not the name of a kernel; the names are {', '.join(sorted(WORDS))}. "
            "Use one of them, or an object of mercer.kernels such as Gaussian(1.0)."
        )
    gamma = GAMMA.get(word, 1.0 / max(width, 1)) if gamma is None else gamma
    _ACCEPTED.get(word, _SCALE).check("gamma", gamma, word)
    return WORDS[word](gamma, 3 if degree is None else degree, 1.0 if coef0 is None else coef0).check()
