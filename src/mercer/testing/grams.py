"""What every Gram must be: one matrix, however it is accessed."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.gram import Dense, GramSpec, HasEigen, HasFactor, HasRows
from mercer.kernels.kernel import Kernel
from mercer.problems import Solution, Status

__all__ = ["check_gram", "close"]
__public__ = ["check_gram"]


def close(got: Any, expected: Any, tol: float, what: str) -> None:
    """Raise AssertionError unless two arrays agree, relative to the largest number."""
    got, expected = np.asarray(got, dtype=float), np.asarray(expected, dtype=float)
    assert got.shape == expected.shape, f"{what}: shape {got.shape} instead of {expected.shape}"
    error = float(np.abs(got - expected).max(initial=0.0))
    size = max(float(np.abs(expected).max(initial=0.0)), 1e-300)
    assert error <= tol * size, f"{what}: off by {error:.3g}, of numbers up to {size:.3g}"


def check_gram(spec: GramSpec, kernel: Kernel, X: Any, *, exact: bool = True, tol: float = 1e-10) -> None:
    """Check that everything a Gram offers is one matrix, and (if exact) that it is the dense one.

    Parameters
    ----------
    spec : GramSpec
    kernel : Kernel
    X : raw data
    exact : bool, default True
        Whether the matrix must be that of `Dense`; otherwise it is compared with its own ``to_dense``.
    tol : float, default 1e-10
        Error allowed relative to the largest number.

    Examples
    --------
    >>> from mercer.gram import Tiles
    >>> from mercer.kernels import Gaussian
    >>> check_gram(Tiles(), Gaussian(1.0), [[0.0], [0.5], [2.0]])
    """
    S, rng = kernel.pack(X), np.random.default_rng(0)
    gram, n = spec.check().build(kernel, S), len(S)
    K = Dense().build(kernel, S).to_dense() if exact else np.asarray(gram.to_dense())
    assert gram.shape == (n, n), f"shape {gram.shape} for {n} samples"
    close(gram.to_dense(), K, tol, "to_dense")
    for shape in ((n,), (n, 1), (n, 3)):
        V = rng.normal(size=shape)
        assert (gram @ V).dtype == np.float64, "products are not float64"
        close(gram @ V, K @ V, tol, f"product with shape {shape}")
    close(gram.diag(), np.diagonal(K), tol, "diag")
    index = rng.permutation(n)[: max(1, n // 2)]
    close(gram.take(index) @ np.eye(len(index)), K[np.ix_(index, index)], tol, "take")
    if isinstance(gram, HasRows):
        _check_rows(gram, K, index, tol)
    if isinstance(gram, HasFactor):
        _check_factor(gram, K, tol)
    if isinstance(gram, HasEigen):
        values, vectors = gram.eigh()
        close((vectors * values) @ vectors.T, K, tol, "eigh")
    T, coef = S.take(index), rng.normal(size=(n, 2))
    cross = gram.cross(T)
    assert cross.shape == (len(index), n), f"cross has shape {cross.shape}"
    close(cross.to_dense(), K[index], tol, "cross.to_dense")
    close(cross @ coef, K[index] @ coef, tol, "cross")
    function = gram.expand(Solution(coef, Status.CONVERGED, 0.0), intercept=np.array([1.0, -2.0]))
    close(function(T), K[index] @ coef + [1.0, -2.0], tol, "expand")


def _check_rows(gram: Any, K: Floats, index: Any, tol: float) -> None:
    some, out = np.arange(len(K))[::2], np.empty((len(index), len(K)))
    close(gram.rows(index), K[index], tol, "rows")
    close(gram.rows(index, some), K[np.ix_(index, some)], tol, "rows and columns")
    gram.rows(index, out=out)
    close(out, K[index], tol, "rows into an array")
    for shape in ((len(index),), (len(index), 2)):
        V, total = np.random.default_rng(1).normal(size=shape), np.ones((len(K), *shape[1:]))
        gram.update(index, V, total)
        close(total, 1.0 + K[:, index] @ V, tol, f"update with shape {shape}")


def _check_factor(gram: Any, K: Floats, tol: float) -> None:
    F, n = gram.factor(), len(K)
    rng = np.random.default_rng(2)
    weight, rhs = rng.random(n) + 0.5, rng.normal(size=n)
    close(F @ F.T, K, tol, "factor")
    close(gram.factor(slice(1, n)), F[1:], tol, "rows of the factor")
    square, moment = gram.normal(weight, rhs)
    close(square, (F.T * weight) @ F, tol, "normal equations")
    close(moment, (F.T * weight) @ rhs, tol, "right-hand side of the normal equations")
