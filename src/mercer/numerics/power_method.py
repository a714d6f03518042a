r"""Powers of a matrix: the oldest way to its largest eigenvalues, with one vector or with many.

Symbols: ``G`` symmetric, (n, n), known by its products; ``Q`` orthonormal columns, (n, b); ``theta`` eigenvalues of
Q^T G Q; ``q`` how often G was applied.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.numerics.block_krylov import Eigenpairs, times

__all__ = ["power_method", "subspace_iteration"]
__public__ = __all__

Monitor = Callable[[int, float], object]


def power_method(
    product: Any,
    n: int,
    *,
    tol: float = 1e-8,
    max_iter: int = 1000,
    random_state: int | None = 0,
    monitor: Monitor | None = None,
) -> Eigenpairs:
    r"""Find the eigenvalue of largest size by multiplying a vector again and again.

    .. math:: v \leftarrow G v / \|G v\|, \qquad \theta = v^\top G v

    Seed: [KIKS] Section 3.1.

    Parameters
    ----------
    product : callable or Gram
        V -> G V, for V (n, 1), or what has ``@``.
    n : int
        Order of the matrix.
    tol : float, default 1e-8
        Tolerance of the residual, relative to the eigenvalue; the eigenvalue itself is then good to the square of it if
        the next one is far.
    max_iter : int, default 1000
        Products at most.
    random_state : int or None, default 0
        Seed of the start.
    monitor : callable, optional
        ``monitor(iteration, residual)``; a true answer ends it.

    Returns
    -------
    Eigenpairs
        Of one pair.

    Notes
    -----
    The error falls by the ratio of the second to the first eigenvalue with each product, and not at all between
    eigenvalues of equal size and opposite sign. `leading_eigenpairs` and `extremal_eigenpairs` need fewer products.
    Memory three vectors.

    Examples
    --------
    >>> power_method(np.diag([3.0, -1.0]), 2).values.round(8)
    array([3.])
    >>> from mercer.domains import Vectors
    >>> from mercer.gram import Tiles
    >>> from mercer.kernels import Gaussian
    >>> K = Tiles().build(Gaussian(1.0), Vectors.pack([[0.0], [1.0], [2.0]]))
    >>> power_method(K, 3).values.round(4)
    array([1.9281])
    """
    return subspace_iteration(
        product, n, 1, spare=0, max_iter=max_iter, tol=tol, random_state=random_state, monitor=monitor
    )


def subspace_iteration(
    product: Any,
    n: int,
    rank: int,
    *,
    spare: int = 10,
    max_iter: int = 4,
    tol: float = 0.0,
    random_state: int | None = 0,
    monitor: Monitor | None = None,
) -> Eigenpairs:
    r"""Find eigenvalues of largest size by a few powers of G on a random subspace.

    .. math:: Q \leftarrow \mathrm{orth}(G Q), \qquad G \approx Q (Q^\top G Q) Q^\top

    Seed: [KIKS] Section 3.1 (truncated spectral decomposition; the random start is Halko, Martinsson and Tropp's).

    Parameters
    ----------
    product : callable or Gram
        V -> G V, for V (n, b), or what has ``@``.
    n, rank : int
        Order of the matrix, and how many eigenpairs are wanted.
    spare : int, default 10
        Columns beyond those wanted.
    max_iter : int, default 4
        Products at most, one of them to know the residuals.
    tol : float, default 0.0
        Residual relative to the largest eigenvalue at which to end; 0 takes all products.
    random_state : int or None, default 0
        Seed of the start.
    monitor : callable, optional
        ``monitor(iteration, residual)``; a true answer ends it.

    Returns
    -------
    Eigenpairs
        By size, descending. ``converged`` says whether the residuals reached `tol`, which few products need not do;
        the residuals say how good the pairs are.

    Notes
    -----
    In expectation the error of the approximation is within a factor of 1 + O(sqrt(n / b)), taken to the power 1 / (2 q
    + 1), of the first eigenvalue that is left out. Columns are made orthonormal after every product, without which the
    small ones drown in rounding. `leading_eigenpairs` keeps what it saw before, needs fewer products for the same
    residual, and four times the memory: 2 n b numbers here.

    Examples
    --------
    >>> subspace_iteration(np.diag(0.5 ** np.arange(50.0)), 50, 3).values.round(6)
    array([1.  , 0.5 , 0.25])
    """
    product = times(product)
    b = min(n, rank + spare)
    Q = np.linalg.qr(np.random.default_rng(random_state).normal(size=(n, b)))[0]
    iterations = 0
    while True:
        image = np.asarray(product(Q), dtype=np.float64)
        iterations += 1
        T = Q.T @ image
        theta, s = np.linalg.eigh(0.5 * (T + T.T))
        order = np.argsort(-np.abs(theta), kind="stable")
        theta, s = theta[order], s[:, order]
        rest = image @ s[:, :rank] - Q @ (s[:, :rank] * theta[:rank])
        residuals = np.linalg.norm(rest, axis=0)
        top = max(float(np.abs(theta[0])), np.finfo(float).tiny)
        worst = float(residuals.max(initial=0.0)) / top
        stopped = monitor is not None and bool(monitor(iterations, worst))
        if worst <= tol or stopped or iterations >= max_iter or not np.any(image):
            vectors = np.ascontiguousarray(Q @ s[:, :rank])
            return Eigenpairs(theta[:rank], vectors, residuals, iterations, worst <= max(tol, 64.0 * n * 2.0**-53))
        Q = np.linalg.qr(image)[0]
