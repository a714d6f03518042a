"""Kernels as users of scikit-learn give them: its names, its kernel objects, translated, and functions, checked."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from mercer import kernels  # whose names are imported when they are used
from mercer.constraints import Interval, Positive
from mercer.errors import CapabilityError, ParameterError
from mercer.kernels import Constant, Gaussian, Kernel
from mercer.kernels.kernel import SCIKIT_LEARN, is_foreign, is_scikit_learn

__all__ = [
    "GAMMA",
    "KernelLike",
    "Translated",
    "WORDS",
    "any_kernel",
    "as_kernel",
    "check_searched",
    "kernel_from_word",
    "translated",
]

KernelLike: TypeAlias = Kernel | str | Callable[..., Any] | None
"""A kernel in whatever way it may be given: an object, a name of scikit-learn, a function or kernel object of it."""

_BOUNDS = (1e-5, 1e5)  # of scikit-learn's hyper-parameters, unless others are given
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


class Translated(NamedTuple):
    """A scikit-learn kernel, translated to one of mercer's.

    Attributes
    ----------
    kernel : Kernel or None
        None if there was nothing but noise.
    noise : float
        The level of white noise that was added to it: a variance, not a kernel.
    """

    kernel: Kernel | None
    noise: float


def as_kernel(given: Any, width: int = 1) -> Any:
    """Return the kernel that a function or an object of scikit-learn stands for; anything else as it is.

    Parameters
    ----------
    given : object
    width : int, default 1
        Number of columns of the data.

    Raises
    ------
    CapabilityError
        There is white noise in it, which is no kernel; `translated` separates it.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF, ConstantKernel
    >>> as_kernel(ConstantKernel(2.0) * RBF(0.5))
    2.0 * Gaussian(0.5)
    """
    if not is_foreign(given):
        return given
    if not is_scikit_learn(given):
        return kernels.Custom(given).check()
    kernel, noise = translated(given, width)
    if noise or kernel is None:
        raise CapabilityError(
            f"kernel={given!r} was given, which has white noise; noise is not a kernel, and there is no place for it "
            "here. Leave out WhiteKernel: in a ridge it is a part of alpha, in GaussianProcessRegressor of noise."
        )
    return kernel


def any_kernel(given: Any, width: int = 1) -> Any:
    """Return the kernel that is given in whatever way `AnyKernel` accepts: None as it is, a name by its defaults.

    Parameters
    ----------
    given : Kernel, str, function, kernel object of scikit-learn or None
    width : int, default 1
        Number of columns of the data.

    Examples
    --------
    >>> any_kernel("rbf", 2)
    Gaussian(1.0)
    """
    return kernel_from_word(given, width) if isinstance(given, str) else as_kernel(given, width)


def translated(given: Any, width: int = 1) -> Translated:
    """Return a scikit-learn kernel object as a kernel of mercer, with white noise apart.

    Parameters
    ----------
    given : Kernel of sklearn.gaussian_process.kernels
    width : int, default 1
        Number of columns of the data.

    Notes
    -----
    What has no counterpart that is positive definite (`ExpSineSquared` of several columns, powers that are no integers)
    and kernels of users are called as functions, by `Custom`.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import DotProduct, WhiteKernel
    >>> translated(DotProduct(2.0) + WhiteKernel(0.1))
    Translated(kernel=Linear() + Constant(4.0), noise=0.1)
    """
    name = type(given).__name__ if type(given).__module__ == SCIKIT_LEARN else ""
    if name == "WhiteKernel":
        return Translated(None, float(given.noise_level))
    if name == "Sum":
        left, right = translated(given.k1, width), translated(given.k2, width)
        terms = [side.kernel for side in (left, right) if side.kernel is not None]
        return Translated(
            terms[0] + terms[1] if len(terms) == 2 else terms[0] if terms else None, left.noise + right.noise
        )
    if name == "Product" and (noisy := _scaled_noise(given, width)) is not None:
        return noisy
    if name == "CompoundKernel":
        raise ParameterError(
            f"kernel={given!r} was given, several kernels side by side; one kernel is accepted. Give one of them, or "
            "one to each of several estimators."
        )
    return Translated(_alone(name, given, width).check(), 0.0)


def _scaled_noise(given: Any, width: int) -> Translated | None:
    """Return a constant times something with noise; None if there is no noise in the product."""
    for scale, other in ((given.k1, given.k2), (given.k2, given.k1)):
        if type(scale).__name__ == "ConstantKernel":
            kernel, noise = translated(other, width)
            if noise or kernel is None:
                c = float(scale.constant_value)
                return Translated(None if kernel is None else c * kernel, c * noise)
    return None


def _alone(name: str, given: Any, width: int) -> Kernel:
    """Return the counterpart of one kernel without noise."""
    match name:
        case "RBF":
            return Gaussian(_scale(given.length_scale))
        case "Matern":
            scale = _scale(given.length_scale)
            return Gaussian(scale) if np.isinf(given.nu) else kernels.Matern(float(given.nu), length_scale=scale)
        case "RationalQuadratic":
            return kernels.RationalQuadratic(
                _one("alpha", given.alpha), length_scale=_one("length_scale", given.length_scale)
            )
        case "ExpSineSquared" if width == 1:
            return kernels.Periodic(_one("periodicity", given.periodicity), _one("length_scale", given.length_scale))
        case "DotProduct":
            linear = kernels.Linear()
            return linear + float(given.sigma_0) ** 2 if given.sigma_0 else linear
        case "ConstantKernel":
            return Constant(float(given.constant_value))
        case "Product":
            return _multiplied(as_kernel(given.k1, width), as_kernel(given.k2, width))
        case "Exponentiation" if float(given.exponent).is_integer() and given.exponent >= 1:
            return as_kernel(given.kernel, width) ** int(given.exponent)
        case "PairwiseKernel" if isinstance(given.metric, str):
            more = {k: v for k, v in (given.pairwise_kernels_kwargs or {}).items() if k in ("degree", "coef0")}
            return kernel_from_word(given.metric, width, float(given.gamma), **more)
    # with a copy on the right: of one collection with itself some kernels of scikit-learn say something else
    return kernels.Custom(_Call(given), False, order=None if name in ("ExpSineSquared", "Exponentiation") else 0)


def _multiplied(left: Kernel, right: Kernel) -> Kernel:
    """Return a product, a constant in it as a number."""
    for scale, other in ((left, right), (right, left)):
        if isinstance(scale, Constant) and not isinstance(other, Constant):
            return float(scale.value) * other
    return left * right


def _scale(length_scale: Any) -> Any:
    """Return one length, or one for each column; of one entry scikit-learn makes a number."""
    lengths = np.atleast_1d(np.squeeze(np.asarray(length_scale, dtype=float)))
    return float(lengths[0]) if lengths.size == 1 else tuple(lengths.tolist())


def _one(name: str, value: Any) -> float:
    """Return a parameter that scikit-learn's kernel takes as one number only."""
    if np.size(value) != 1:
        raise ParameterError(
            f"{name}={value!r} was given to a kernel of scikit-learn that has one number there. Use mercer's kernel, "
            "which takes one for each column."
        )
    return float(np.squeeze(value))


class _Call:
    """A kernel of scikit-learn as a function of two collections."""

    def __init__(self, kernel: Any) -> None:
        self.kernel = kernel

    def __call__(self, A: Any, B: Any) -> Any:
        return self.kernel(A, B)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Call) and other.kernel == self.kernel

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __repr__(self) -> str:
        return f"<{self.kernel!r}>"


def check_searched(estimator: Any) -> None:
    """Raise unless all that a kernel object of scikit-learn says about the search is what the estimator does anyway.

    Parameters
    ----------
    estimator : one that searches hyper-parameters, with ``kernel`` and ``fixed``
    """
    if not is_scikit_learn(estimator.kernel) or estimator.fixed == "all":
        return
    for parameter in estimator.kernel.hyperparameters:
        if parameter.fixed or not np.allclose(np.atleast_2d(parameter.bounds), _BOUNDS):
            kernel = translated(estimator.kernel).kernel
            raise ParameterError(
                f"kernel={estimator.kernel!r} was given with bounds of its own for {parameter.name}; the search is "
                f"set by the estimator. Write kernel={kernel!r}, and fixed= or bounds= with names of its get_params()."
            )


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
