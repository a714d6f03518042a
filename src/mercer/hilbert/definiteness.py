r"""Whether a matrix is a Gram matrix: all quotients c^T K c / c^T c not negative, or a vector that shows otherwise.

Symbols: K a symmetric matrix of order n, lambda its eigenvalues, c vectors of length one, B functions at the samples
to which c must be orthogonal (none for positive definite, constants for conditionally positive definite of order 1,
polynomials of degree below q for order q), P the projection on those c.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from scipy.linalg import eigh_tridiagonal

from mercer.arguments import SEED, checked, real_array
from mercer.arrays import Floats, real_numbers
from mercer.budget import Plan
from mercer.constraints import InstanceOf, Integer
from mercer.domains import Samples, Vectors
from mercer.errors import DomainError, ParameterError
from mercer.gram import Gram, HasRows
from mercer.gram.repair import ENTRY, rounding
from mercer.numerics.eigen import eigh_in_place

__all__ = ["Definiteness", "definiteness", "polynomials"]
__public__ = __all__

_DENSE = 2000  # order of a matrix up to which all eigenvalues are computed
_STEPS = 100  # of the Lanczos process
_ROWS = 16  # looked at for the largest entry
_CONVERGED = 1e-9  # residual over the largest eigenvalue at which the process ends
_ASYMMETRY = 1e-8  # allowed, over the largest entry


@dataclass(frozen=True, eq=False)
class Definiteness:
    """What was found about the sign of a matrix.

    Parameters
    ----------
    positive : bool
        Whether no vector was found whose quotient is below minus the bound.
    smallest, largest : float
        The ends of the spectrum, on the vectors allowed. Of many samples `smallest` is the least quotient found.
    n_negative : int
        Eigenvalues below minus the bound, the negative squares of the form; of many samples there are at least as many.
    vector : (n,) array
        The vector c of length one with c^T K c = `smallest`. If `positive` is false, it is the proof.
    bound : float
        What rounding alone explains.
    order : int
        0 if all vectors were allowed; 1, 2, ... if those orthogonal to polynomials of degree below.
    complete : bool
        Whether all eigenvalues were computed. If not, a violation is still proved by its vector, but that there is none
        is only likely.
    residual : float
        Length of K c - `smallest` c, projected: an eigenvalue is that near.

    Notes
    -----
    It is true where `positive` is.
    """

    positive: bool
    smallest: float
    largest: float
    n_negative: int
    vector: Floats
    bound: float
    order: int
    complete: bool
    residual: float

    def __bool__(self) -> bool:
        return self.positive

    def __str__(self) -> str:
        n = len(self.vector)
        kind = "positive definite" if not self.order else f"conditionally positive definite of order {self.order}"
        ends = f"quotients from {self.smallest:.3g} to {self.largest:.3g}, rounding {self.bound:.2g}"
        if not self.positive:
            least = "" if self.complete else "at least "
            return f"not {kind} on {n} samples: {least}{self.n_negative} negative eigenvalues; {ends}"
        if self.complete:
            return f"{kind} on {n} samples: {ends}"
        return f"no violation found that it is {kind} on {n} samples: {ends}, residual {self.residual:.2g}"


@checked(order=Integer(0), random_state=SEED)
def definiteness(K: Any, order: int = 0, *, basis: Floats | None = None, random_state: int = 0) -> Definiteness:
    r"""Return whether a matrix is (conditionally) positive definite, with the vector that shows it is not.

    .. math:: \min_c \frac{c^\top K c}{c^\top c} \quad \text{s.t.} \quad B^\top c = 0

    Seed: [HSS] Definitions 2 and 3, Eqs. (9), (20); [STS] Definition 2, Theorem 3; [SS] Section 6.1; [ST] "Kernel
    functions".

    Parameters
    ----------
    K : (n, n) array or Gram
        Symmetric.
    order : int, default 0
        0: positive definite. 1: for vectors of sum zero. 2, 3, ...: for vectors orthogonal to polynomials of degree
        below the order in the samples, which are those of a Gram over vectors, or given as `basis`.
    basis : (n, s) array, optional
        B, instead of the polynomials.
    random_state : int, default 0
        Of the first vector for large matrices.

    Returns
    -------
    Definiteness

    Notes
    -----
    Up to 2000 samples all eigenvalues are computed. Beyond, or for a Gram that is not stored and larger, the smallest
    one is sought by at most 100 products with K and nothing n x n is stored; the search ends as soon as a quotient
    proves a violation. The bound is n (e + n eps) max abs(K_ij), with e the relative error of an entry: that of the
    Gram, or 1e-12 (of float32, 64 units of its rounding).

    Examples
    --------
    >>> from mercer.hilbert import definiteness
    >>> found = definiteness([[1.0, 2.0], [2.0, 1.0]])
    >>> found.positive, found.n_negative, round(found.smallest, 6)
    (False, 1, -1.0)
    >>> c = found.vector
    >>> round(float(c @ np.array([[1.0, 2.0], [2.0, 1.0]]) @ c), 6)
    -1.0
    >>> from mercer.kernels import NegativeDistance
    >>> K = NegativeDistance()([[0.0], [1.0], [3.0]])
    >>> bool(definiteness(K)), bool(definiteness(K, order=1))
    (False, True)
    """
    operator, entry_error = _operator(K)
    n = operator.shape[0]
    if n == 0:
        return Definiteness(True, 0.0, 0.0, 0, np.empty(0), 0.0, order, True, 0.0)
    B = _orthonormal(_constraint(K, order, basis, n))
    if n <= _DENSE:
        A = operator.to_dense() if isinstance(operator, Gram) else np.array(operator)
        bound = rounding(n, float(np.abs(A).max()), entry_error)
        return _by_eigenvalues(A, B, order, bound)
    rng = np.random.default_rng(random_state)
    bound = rounding(n, _largest_entry(operator, rng), entry_error)
    return _by_lanczos(operator, B, order, bound, rng)


def _operator(K: Any) -> tuple[Any, float]:
    """Return a Gram or a symmetric float64 array, and the error of its entries over the largest."""
    if isinstance(K, Gram):
        return K, max(ENTRY, K.entry_error)
    A = np.asarray(K)
    if A.dtype.kind not in "fiub" or np.ma.is_masked(K):
        real_numbers(K, "K", DomainError)
    if A.ndim != 2 or A.shape[0] != A.shape[1] or A.dtype.kind not in "fiub" or not np.isfinite(A).all():
        raise DomainError(
            f"an array of shape {A.shape} and type {A.dtype} was given; a square matrix of finite real numbers is "
            "accepted. Give kernel(X), or the Gram itself."
        )
    single = A.dtype.kind == "f" and A.dtype.itemsize < 8
    error = 64.0 * float(np.finfo(A.dtype).eps) if single else ENTRY
    A = A.astype(np.float64)
    gap = float(np.abs(A - A.T).max(initial=0.0))
    if gap > max(_ASYMMETRY, error) * float(np.abs(A).max(initial=0.0)):
        raise DomainError(
            f"a matrix was given whose entries differ from those across its diagonal by {gap:.3g}; definiteness is a "
            "matter of symmetric matrices. Give (K + K.T) / 2, which has the same quotients."
        )
    return 0.5 * (A + A.T), error


def _largest_entry(K: Any, rng: np.random.Generator) -> float:
    """Return the largest size of an entry; of a Gram that is not stored, on the diagonal and in some rows."""
    if not isinstance(K, Gram):
        return float(np.abs(K).max())
    largest = float(np.abs(K.diag()).max())
    if isinstance(K, HasRows):
        largest = max(largest, float(np.abs(K.rows(rng.integers(0, K.shape[0], _ROWS))).max()))
    return largest


def _constraint(K: Any, order: int, basis: Floats | None, n: int) -> Floats:
    if basis is not None:
        B = real_array(basis, "basis", (1, 2))
        if B.ndim != 2 or len(B) != n:
            raise ParameterError(
                f"basis of shape {B.shape} was given for a matrix of order {n}; one row per sample and one column per "
                f"function is accepted. Give an array of shape ({n}, s)."
            )
        return B
    if order > 1:
        samples = getattr(K, "samples", None)
        if samples is None:
            raise ParameterError(
                f"order={order} was given with a matrix, which does not hold the samples of the polynomials; order 0 "
                "and 1 need none. Give a Gram over vectors, or basis=."
            )
        return polynomials(samples, order)
    return np.ones((n, order))


@checked(S=InstanceOf(Samples), order=Integer(0))
def polynomials(S: Samples, order: int) -> Floats:
    """Return all monomials of total degree below the order at vectors, scaled; for other samples the constants.

    Examples
    --------
    >>> polynomials(Vectors.pack([[1.0], [2.0]]), 2)
    array([[1. , 0.5],
           [1. , 1. ]])
    """
    if not isinstance(S, Vectors):
        return np.ones((len(S), min(order, 1)))
    X = S.dense()
    X = np.asarray(X, dtype=float) / max(1.0, float(np.abs(X).max(initial=0.0)))
    columns = range(X.shape[1])
    chosen = [c for degree in range(order) for c in combinations_with_replacement(columns, degree)]
    return np.stack([np.prod(X[:, list(c)], axis=1) for c in chosen], axis=1) if chosen else np.ones((len(X), 0))


def _orthonormal(B: Floats) -> Floats:
    """Return an orthonormal basis of the columns, (n, s); none if there are as many as samples or more."""
    if B.shape[1] == 0:
        return B
    U, singular, _ = np.linalg.svd(B, full_matrices=False)
    return U[:, singular > 1e-12 * singular[0]]


def _by_eigenvalues(K: Floats, B: Floats, order: int, bound: float) -> Definiteness:
    n, s = B.shape
    if s >= n:  # no vector is left
        return Definiteness(True, 0.0, 0.0, 0, np.zeros(n), bound, order, True, 0.0)
    Q = np.linalg.qr(B, mode="complete")[0][:, s:] if s else None
    rows = np.ascontiguousarray(K if Q is None else Q.T @ K @ Q)
    values = eigh_in_place(rows)
    c = rows[0].copy() if Q is None else Q @ rows[0]
    count = int(np.searchsorted(values, -bound))
    smallest, largest = float(values[0]), float(values[-1])
    return Definiteness(count == 0, smallest, largest, count, c, bound, order, True, 0.0)


def _by_lanczos(K: Any, B: Floats, order: int, bound: float, rng: np.random.Generator) -> Definiteness:
    """Look for the smallest eigenvalue of P K P by the Lanczos process, orthogonalised in full."""
    n = K.shape[0]
    steps = min(_STEPS, n - B.shape[1])
    memory = K.resources.memory if isinstance(K, Gram) else None
    Plan(f"the smallest eigenvalue of {n} samples", {"Lanczos vectors": 8 * n * (steps + 1)}).require(memory)
    V = np.empty((steps + 1, n))
    v = rng.normal(size=n)
    v -= B @ (B.T @ v)
    V[0] = v / np.linalg.norm(v)
    alpha, beta = np.zeros(steps), np.zeros(steps)
    used, values, vectors = 0, np.zeros(1), np.ones((1, 1))
    for j in range(steps):
        w = np.asarray(K @ V[j], dtype=np.float64)
        w -= B @ (B.T @ w)
        alpha[j] = V[j] @ w
        for _ in range(2):  # twice is enough
            w -= V[: j + 1].T @ (V[: j + 1] @ w)
        beta[j] = np.linalg.norm(w)
        used = j + 1
        last = used == steps or beta[j] <= 1e-14 * np.abs(alpha).max()
        if last or used % 10 == 0:
            values, vectors = eigh_tridiagonal(alpha[:used], beta[: used - 1])
            residual = beta[j] * abs(vectors[-1, 0])
            proved = values[0] < -2.0 * bound  # it is the quotient of a vector
            if last or proved or residual <= _CONVERGED * np.abs(values).max():
                break
        V[j + 1] = w / beta[j]
    c = V[:used].T @ vectors[:, 0]
    c -= B @ (B.T @ c)
    c /= np.linalg.norm(c)
    image = np.asarray(K @ c, dtype=np.float64)
    image -= B @ (B.T @ image)
    quotient = float(c @ image)
    residual = float(np.linalg.norm(image - quotient * c))
    count = max(int(np.searchsorted(values, -bound)), int(quotient < -bound))
    positive = not quotient < -bound
    return Definiteness(
        positive, quotient, float(values[-1]), 0 if positive else count, c, bound, order, False, residual
    )  # fmt: skip
