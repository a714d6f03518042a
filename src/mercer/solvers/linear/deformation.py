r"""Kernels that know where the samples lie: the norm of a function and a quadratic form of its values at samples.

Symbols: K the matrix of n samples, or several of them on the diagonal (one for each view), each divided by its weight;
Q (N, N) sparse, symmetric, positive semi-definite; S (N, l) the places of l samples, a column each; F with K = F F^T.

    ||f||~^2 = ||f||^2 + f(X)' Q f(X)   has the kernel   K~ = K - K (I + Q K)^-1 Q K = K (I + Q K)^-1.

Of K~ only the l columns of the samples with a label are needed: G = (I + Q K)^-1 S, and S' K~ S = S' K G. A function
with coefficients b on these columns has the coefficients G b in K. By a factor, S' K~ S = S' F (I + F' Q F)^-1 F' S.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from mercer.arrays import Floats, Indices
from mercer.budget import Plan
from mercer.errors import ConvergenceWarning, DomainError, warn_caller
from mercer.gram import Gram, HasFactor
from mercer.gram.gram import has_array
from mercer.numerics.cholesky import CholeskyFactor, safe_cholesky
from mercer.problems import Status
from mercer.runtime.tiling import in_background

__all__ = ["Deformation", "deform"]

_STRIP = 64  # columns of a factor that are multiplied by Q at a time
_TOL = 1e-10
_PASSES = 2000


@dataclass(frozen=True, eq=False)
class Deformation:
    """The deformed kernel on l samples.

    Attributes
    ----------
    matrix : (l, l) array or None
        S' K~ S.
    features : (l, r) array or None
        Rows whose dot products are S' K~ S, where the Grams have factors.
    lift : (N, l) array or None
        G, where there is no factor.
    """

    grams: Sequence[Gram]
    scales: Floats
    rows: Indices
    matrix: Floats | None = None
    features: Floats | None = None
    lift: Floats | None = None
    triangle: CholeskyFactor | None = None
    bounds: Indices | None = None

    def coefficients(self, beta: Floats) -> list[Floats]:
        """Return the coefficients of the function in each K as it was given, (n, ...), from those of the l samples."""
        assert self.lift is not None
        parts = np.split(self.lift @ beta, len(self.grams))
        return [part / scale for part, scale in zip(parts, self.scales, strict=True)]

    def weights(self, beta: Floats) -> list[Floats]:
        """Return the weights of the function in each factor as it was given, (r, ...), from coefficients."""
        assert self.features is not None and self.triangle is not None and self.bounds is not None
        # L'^-1 (L^-1 F' S b): the features are F L'^-1
        found = _transposed_half(self.triangle, self.features.T @ beta)
        parts = np.split(found, self.bounds)
        return [part / np.sqrt(scale) for part, scale in zip(parts, self.scales, strict=True)]


def deform(grams: Sequence[Gram], scales: Any, Q: Any, rows: Indices, monitor: Any = None) -> Deformation:
    """Return the deformed kernel on some samples.

    Parameters
    ----------
    grams : sequence of Gram
        Of the same n samples, one for each view.
    scales : (V,) array
        Each K is divided by its own.
    Q : (V n, V n) sparse array
    rows : (l,) array of int
        Samples among the n; a function there is the sum of those of all views.
    monitor : callable, optional
        Called between iterations of conjugate gradients; true ends them.

    Notes
    -----
    By factors O(n r^2 + r^3) in the memory of the factors; of stored matrices one factorisation, O(n^3); otherwise
    conjugate gradients in the inner product of K, which take products with K and Q alone.
    """
    scales, count = np.asarray(scales, dtype=float), len(grams)
    n = grams[0].shape[0]
    places = np.concatenate([rows + view * n for view in range(count)])
    columns = np.tile(np.arange(len(rows)), count)
    S = sp.csr_array((np.ones(len(places)), (places, columns)), shape=(count * n, len(rows)))
    Q = sp.csr_array(Q)
    if all(isinstance(gram, HasFactor) for gram in grams) and sum(map(_rank, grams)) <= count * n:
        return _by_factors(grams, scales, Q, rows)
    if Q.nnz == 0:
        lift: Any = S.toarray()
    elif all(has_array(gram) for gram in grams):
        lift = _by_elimination(grams, scales, Q, S)
    else:
        lift = _by_gradients(grams, scales, Q, S.toarray(), monitor)
    square = S.T @ _product(grams, scales, lift)
    return Deformation(grams, scales, rows, matrix=0.5 * (square + square.T), lift=lift)


def _rank(gram: Any) -> int:
    return gram.factor(slice(0, 1)).shape[1]


def _product(grams: Sequence[Gram], scales: Floats, V: Floats) -> Floats:
    """Return K V."""
    parts = np.split(V, len(grams))
    return np.concatenate([(gram @ part) / scale for gram, part, scale in zip(grams, parts, scales, strict=True)])


def _by_factors(grams: Sequence[Any], scales: Floats, Q: Any, rows: Indices) -> Deformation:
    n = grams[0].shape[0]
    factors = [gram.factor() for gram in grams]
    bounds = np.cumsum([F.shape[1] for F in factors])
    inside = np.zeros((bounds[-1], bounds[-1]))
    for j, right in enumerate(factors):
        begin = bounds[j] - right.shape[1]
        for start in range(0, right.shape[1], _STRIP):
            strip = np.ascontiguousarray(right[:, start : start + _STRIP])
            for i, left in enumerate(factors):
                block = Q[i * n : (i + 1) * n, j * n : (j + 1) * n] if len(factors) > 1 else Q
                found = left.T @ (block @ strip) / np.sqrt(scales[i] * scales[j])
                inside[bounds[i] - left.shape[1] : bounds[i], begin + start : begin + start + strip.shape[1]] = found
    inside = 0.5 * (inside + inside.T)
    triangle = safe_cholesky(inside, 1.0)
    features = np.hstack([F[rows] / np.sqrt(s) for F, s in zip(factors, scales, strict=True)])
    features = np.ascontiguousarray(triangle.half_solve(features.T).T)
    return Deformation(grams, scales, rows, features=features, triangle=triangle, bounds=bounds[:-1])


def _transposed_half(triangle: CholeskyFactor, V: Floats) -> Floats:
    """Return L'^-1 V: the upper triangle of the factor's array is L'."""
    return scipy.linalg.solve_triangular(triangle.array, V, lower=False, check_finite=False)


def _by_elimination(grams: Sequence[Any], scales: Floats, Q: Any, S: Any) -> Floats:
    n, count = grams[0].shape[0], len(grams)
    size = n * count
    options = ("gram=Nystrom(500)", "gram=Tiles()")
    Plan(f"elimination on {size} values", {"system": 8 * size * size}, options).require(grams[0].resources.memory)
    system = np.empty((size, size), order="F")
    for j, (gram, scale) in enumerate(zip(grams, scales, strict=True)):
        rows = slice(j * n, (j + 1) * n)
        block = Q[:, rows]
        K = gram.array
        for start in range(0, n, 512):
            columns = slice(rows.start + start, min(rows.start + start + 512, rows.stop))
            system[:, columns] = block @ (np.ascontiguousarray(K[:, start : start + 512]) / scale)
    system[np.diag_indices_from(system)] += 1.0
    rhs = np.asfortranarray(S.toarray())
    work = 2.0 / 3.0 * float(size) ** 3

    def eliminate() -> Floats:
        solve: Any = scipy.linalg.get_lapack_funcs("gesv", (system, rhs))
        *_, found, info = solve(system, rhs, overwrite_a=True, overwrite_b=True)
        if info > 0:
            raise DomainError(
                "The values of the kernel are so large that the samples cannot be told apart beside them: the deformed "
                "kernel is singular in floating-point numbers. Scale the data (for example with StandardScaler), or "
                "normalise the kernel."
            )
        return found

    return np.ascontiguousarray(in_background(eliminate, work=work))


def _by_gradients(grams: Sequence[Gram], scales: Floats, Q: Any, E: Floats, monitor: Any) -> Floats:
    """Solve (I + Q K) G = E by conjugate gradients: in the inner product of K the matrix is symmetric."""
    G, R = np.zeros(E.shape), E.copy()
    KR = _product(grams, scales, R)
    P, KP = R.copy(), KR.copy()
    squares = np.einsum("ij,ij->j", R, KR)
    first, worst = np.maximum(squares, np.finfo(float).tiny), 1.0
    for iteration in range(_PASSES):
        worst = float(np.sqrt(np.max(np.maximum(squares, 0.0) / first)))
        if worst <= _TOL:
            return G
        if monitor is not None and monitor(iteration, worst):
            break
        BP = P + Q @ KP
        curvature = np.einsum("ij,ij->j", KP, BP)
        step = np.divide(squares, curvature, out=np.zeros_like(squares), where=curvature > 0.0)
        G += step * P
        R -= step * BP
        KR = _product(grams, scales, R)
        before, squares = squares, np.einsum("ij,ij->j", R, KR)
        ratio = np.divide(squares, before, out=np.zeros_like(squares), where=before > 0.0)
        P, KP = R + ratio * P, KR + ratio * KP
    warn_caller(
        f"conjugate gradients on the deformed kernel stopped at {worst:.3g}. {Status.MAX_ITER.value}",
        ConvergenceWarning,
    )
    return G
