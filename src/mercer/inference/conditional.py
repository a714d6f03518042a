r"""Conditional independence: whether X tells anything about Y that Z does not.

Symbols: K~ centred Gram matrices of (x, z), y and z; R = lambda (K~_z + lambda I)^-1 the residual maker of ridge
regression on z; A = R K~_xz R, B = R K~_y R Gram matrices of residuals; o the product entry by entry.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.constraints import OneOf, Optional, Positive
from mercer.errors import CapabilityError
from mercer.inference.forms import centred, paired
from mercer.inference.nulls import spectral_draws
from mercer.inference.result import Null, TestResult, concluded
from mercer.inference.tests import generator
from mercer.kernels import Kernel
from mercer.numerics.eigen import eigh_in_place

__all__ = ["conditional_independence_test"]

_RIDGES = np.logspace(-7.0, 0.0, 29)  # relative to the largest eigenvalue of K~_z


def conditional_independence_test(
    X: Any,
    Y: Any,
    Z: Any,
    kernels: Sequence[Kernel | str | None] | None = None,
    n_draws: int = 5000,
    random_state: Any = None,
    *,
    null: str = "spectral",
    ridge: float | None = None,
) -> TestResult:
    r"""Conditional independence test: whether X and Y are independent once Z is known.

    .. math:: t = \operatorname{tr}(A B) / n^2, \qquad A = R \tilde K_{(x, z)} R, \quad B = R \tilde K_y R, \quad
        R = \lambda (\tilde K_z + \lambda I)^{-1}

    Seed: [KIKS] Section 7, the independence test; [HSS] Section 3.3.3. Ledger: U-INDEP.

    Parameters
    ----------
    X, Y, Z : raw data or packed samples
        n values of three variables, observed together; of any domains.
    kernels : three of Kernel, "precomputed" or None, optional
        None is the Gaussian at the median distance. (x, z) are compared by the product of theirs.
    n_draws : int, default 5000
        Of "spectral".
    random_state : int, Generator or None
    null : {"spectral", "gamma"}, default "spectral"
        Sums of chi-squared numbers weighted by the eigenvalues of A o B, or the gamma distribution of their moments.
    ridge : float, optional
        lambda, of the regressions on Z. None takes for each of the two that of least generalised cross-validation
        error.

    Returns
    -------
    TestResult

    Notes
    -----
    The level holds in the limit only, as far as regressions on Z remove what Z explains: no test can do better without
    assumptions. Many coordinates of Z ask for many samples. Cost O(n^3).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=150)
    >>> x, y = z + 0.5 * rng.normal(size=150), np.sin(z) + 0.5 * rng.normal(size=150)
    >>> test = conditional_independence_test
    >>> test(x, y, z, random_state=0).p_value > 0.05, test(x, y + 0.8 * x, z, random_state=0).p_value < 0.01
    (True, True)
    """
    name = "conditional_independence_test"
    OneOf("spectral", "gamma").check("null", null, name)
    Optional(Positive()).check("ridge", ridge, name)
    rng = generator(random_state)
    learned, parts = paired((X, Y, Z), kernels)
    for kernel in (learned[0], learned[2]):  # whose matrices are multiplied
        if kernel.order != 0:
            raise CapabilityError(
                f"{kernel!r} is not positive definite, as kernels of X and Z must be here. Use Gaussian(), for example."
            )
    K, L, M = (np.array(k(S), dtype=float) for k, S in zip(learned, parts, strict=True))
    K *= M
    H = _residuals(centred(K), centred(L), centred(M), ridge)
    n = len(H)
    value = float(H.sum()) / n**2
    if null == "gamma":
        distribution = Null.gamma(float(np.trace(H)) / n**2, 2.0 * float(np.vdot(H, H)) / n**4)
    else:
        eigenvalues = np.maximum(eigh_in_place(H), 0.0)
        distribution = Null.of_draws("spectral", spectral_draws(eigenvalues, n_draws, rng) / n**2)
    return concluded(value, distribution, learned)


def _residuals(K: Floats, L: Floats, M: Floats, ridge: float | None) -> Floats:
    """Return A o B, the product of Gram matrices of residuals after regression on what M compares."""
    values = np.maximum(eigh_in_place(M), 0.0)
    U = M  # rows are eigenvectors
    residuals = []
    for G in (K, L):
        turned = U @ G @ U.T
        # the constant vector, of eigenvalue zero, is no residual: centred matrices have nothing of it
        kept = _kept(values, np.diagonal(turned), ridge)
        turned *= kept
        turned *= kept[:, None]
        residuals.append(U.T @ turned @ U)
    return residuals[0] * residuals[1]


def _kept(values: Floats, powers: Floats, ridge: float | None) -> Floats:
    """Return what ridge regression leaves of each eigenvector: lambda / (value + lambda)."""
    if ridge is not None:
        return ridge / (values + ridge)
    scale = float(values[-1]) or 1.0
    kept = _RIDGES[:, None] * scale / (values + _RIDGES[:, None] * scale)
    errors = (kept**2 @ powers) / kept.mean(axis=1) ** 2
    return kept[int(np.argmin(errors))]
