r"""Conditional independence: whether X says anything about Y that Z does not.

Symbols: K~ centred Gram matrices of (x, z), y and z; R = lambda (K~_z + lambda I)^-1 the residual maker of ridge
regression on z; A = R K~_xz R, B = R K~_y R Gram matrices of residuals; o the product entry by entry.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np

from mercer.arrays import Floats
from mercer.budget import Resources
from mercer.constraints import Integer, OneOf, Optional, Positive
from mercer.domains import Samples
from mercer.errors import CapabilityError
from mercer.gram import GramSpec
from mercer.gram.algebra import centred
from mercer.inference.entrywise import Entrywise, trace_of
from mercer.inference.forms import (
    FactorForm,
    eigenpairs,
    entries,
    factor_of,
    inner,
    is_dense,
    paired,
    product,
    represent,
)
from mercer.inference.nulls import spectral_draws
from mercer.inference.options import Limits, part_of, require_matrices, resources_of, tell
from mercer.inference.result import Null, TestResult, concluded
from mercer.inference.tests import generator
from mercer.kernels import Kernel
from mercer.kernels.foreign import KernelLike
from mercer.numerics.eigen import eigh_in_place
from mercer.numerics.pivoting import pivoted_cholesky
from mercer.runtime.tiling import blas_for, spans

__all__ = ["conditional_independence_test"]
__public__ = __all__

_LEAST_RANK = 100  # of the factor of (x, z)
_NUMBERS = 2**20  # of weights at once
_RIDGES = np.logspace(-7.0, 0.0, 29)  # relative to the largest eigenvalue of K~_z


def conditional_independence_test(
    X: Any,
    Y: Any,
    Z: Any,
    kernels: Sequence[KernelLike] | None = None,
    n_draws: int = 5000,
    random_state: Any = None,
    *,
    null: str = "spectral",
    ridge: float | None = None,
    gram: GramSpec | int | None = None,
    **limits: Unpack[Limits],
) -> TestResult:
    r"""Conditional independence test: whether X and Y are independent once Z is known.

    .. math:: t = \operatorname{tr}(A B) / n^2, \qquad A = R \tilde K_{(x, z)} R, \quad B = R \tilde K_y R, \quad
        R = \lambda (\tilde K_z + \lambda I)^{-1}

    Seed: [KIKS] Section 7, the independence test; [HSS] Section 3.3.3.

    Parameters
    ----------
    X, Y, Z : raw data or packed samples
        n values of three variables, observed together; of any domains.
    kernels : three of Kernel, str, function or None, optional
        None is the Gaussian at the median distance. (x, z) are compared by the product of theirs.
    n_draws : int, default 5000
        Of "spectral".
    random_state : int, Generator or None
    null : {"spectral", "gamma"}, default "spectral"
        Sums of chi-squared numbers weighted by the eigenvalues of A o B, or the gamma distribution of their moments.
    ridge : float, optional
        lambda, of the regressions on Z. None takes for each of the two that of least generalised cross-validation
        error.
    gram : GramSpec or int, optional
        None is `Dense`. `Nystrom`, `Features` and a number, the rank of an incomplete Cholesky factor, take O(n r^2),
        and as much for each draw of "spectral"; "gamma" takes O(n^2 r), some rows at a time. The product kernel of
        (x, z) gets an incomplete Cholesky factor of the larger rank of both, or of 100 if that is larger. `Tiles`
        does not work: regressions need a factor.
    memory, n_threads, monitor : optional
        See `Limits`.

    Returns
    -------
    TestResult

    Notes
    -----
    The level holds in the limit only, as far as regressions on Z remove what Z explains: no test can do better without
    assumptions. Many coordinates of Z need many samples. Cost O(n^3) without `gram`.

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
    Integer(1).check("n_draws", n_draws, name)
    Optional(Positive()).check("ridge", ridge, name)
    rng, resources = generator(random_state), resources_of(limits, name)
    learned, parts = paired((X, Y, Z), kernels)
    for kernel in (learned[0], learned[2]):  # whose matrices are multiplied
        if kernel.order != 0:
            raise CapabilityError(
                f"{kernel!r} is not positive definite, as kernels of X and Z must be here. Use Gaussian(), for example."
            )
    n = len(parts[0])
    if not is_dense(gram):
        H = _factor_residuals(learned, parts, gram, ridge, part_of(resources, 0.0, 0.5))
        distribution = _null(H, null, n_draws, rng, part_of(resources, 0.5, 1.0))
        return concluded(trace_of(H.first, H.second) / n**2, distribution, learned)
    require_matrices(name, n, 5, resources)  # with what LAPACK works in
    K, L, M = (
        entries(k, S, part_of(resources, i / 20, (i + 1) / 20))
        for i, (k, S) in enumerate(zip(learned, parts, strict=True))
    )
    K *= M
    for G in (K, L, M):
        centred(G, n_threads=resources.n_threads)
    with blas_for(n):
        H = _residuals(K, L, M, ridge, part_of(resources, 0.15, 0.7))
    value = float(H.sum()) / n**2
    if null == "gamma":
        distribution = Null.gamma(float(np.trace(H)) / n**2, 2.0 * inner(H, H) / n**4)
    else:
        with blas_for(n):
            eigenvalues = np.maximum(eigh_in_place(H)[::-1], 0.0)
        draws = spectral_draws(eigenvalues, n_draws, rng, part_of(resources, 0.9, 1.0))
        distribution = Null.of_draws("spectral", draws / n**2)
    return concluded(value, distribution, learned)


def _residuals(K: Floats, L: Floats, M: Floats, ridge: float | None, resources: Resources) -> Floats:
    """Return A o B, the product of Gram matrices of residuals after regression on what M compares; K becomes it."""
    values = np.maximum(eigh_in_place(M), 0.0)
    U = M  # rows are eigenvectors
    tell(resources, 0.5)
    for done, G in enumerate((K, L)):
        G[:] = product(product(U, G), U.T)
        # the constant vector, of eigenvalue zero, is no residual: centred matrices have nothing of it
        kept = _kept(values, np.diagonal(G), ridge)
        G *= kept
        G *= kept[:, None]
        G[:] = product(product(U.T, G), U)
        tell(resources, 0.75 + 0.25 * done)
    K *= L
    return K


def _kept(values: Floats, powers: Floats, ridge: float | None, rest: float = 0.0, n: int | None = None) -> Floats:
    """Return what ridge regression leaves of each eigenvector: lambda / (value + lambda).

    Where only some of the n eigenvectors are given, `rest` is the power of the others, which are left as they are.
    """
    if ridge is not None:
        return ridge / (values + ridge)
    scale = float(np.max(values, initial=0.0)) or 1.0
    n = len(values) if n is None else n
    kept = _RIDGES[:, None] * scale / (values + _RIDGES[:, None] * scale)
    errors = (kept**2 @ powers + rest) / ((kept.sum(axis=1) + n - len(values)) / n) ** 2
    return kept[int(np.argmin(errors))]


# factors --------------------------------------------------------------------------------------------------


def _factor_residuals(
    kernels: Sequence[Kernel], parts: Sequence[Samples], gram: Any, ridge: float | None, resources: Resources
) -> Entrywise:
    """Return A o B, by factors of residuals."""
    X, Y, Z = (
        factor_of(represent(k, S, gram, part_of(resources, i / 4, (i + 1) / 4), centre=i == 1))
        for i, (k, S) in enumerate(zip(kernels, parts, strict=True))
    )
    n = len(X)
    both = _joined(X, Z)
    values, vectors = eigenpairs(FactorForm(Z - Z.mean(axis=0)))
    found = []
    for F in (both - both.mean(axis=0), Y):
        turned = product(vectors, F)
        powers = np.einsum("ir,ir->i", turned, turned)
        kept = _kept(values, powers, ridge, max(float(np.sum(F**2) - powers.sum()), 0.0), n)
        found.append(FactorForm(F - product(vectors.T, (1.0 - kept)[:, None] * turned), resources))
    return Entrywise(found[0], found[1])


def _joined(F: Floats, G: Floats) -> Floats:
    """Return an incomplete Cholesky factor of (F F^T) o (G G^T), whose exact one has all products of their columns."""
    first, second = FactorForm(F), FactorForm(G)
    rank = min(len(F), F.shape[1] * G.shape[1], max(F.shape[1], G.shape[1], _LEAST_RANK))
    return pivoted_cholesky(first.diagonal() * second.diagonal(), lambda i: (F @ F[i]) * (G @ G[i]), rank).array


def _null(H: Entrywise, null: str, count: int, rng: np.random.Generator, resources: Resources) -> Null:
    """Return the null distribution: w^T H w of normal weights w is the sum that eigenvalues of H would give."""
    n = H.n
    if null == "gamma":
        return Null.gamma(float(H.first.diagonal() @ H.second.diagonal()) / n**2, 2.0 * H.squares() / n**4)
    draws = np.empty(count)
    for part in spans(count, max(1, _NUMBERS // n)):
        draws[part] = H.forms(rng.standard_normal((part.stop - part.start, n))) / n**2
        tell(resources, part.stop / count)
    return Null.of_draws("spectral", draws)
