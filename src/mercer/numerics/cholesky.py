"""Cholesky factors in place, and the only place where jitter exists.

Symbols: ``G`` the symmetric matrix to factor, (n, n), shift included; ``L`` its lower factor, G = L L^T.

LAPACK reads and writes one triangle. The factor is stored there, in the memory of the matrix, and the other
triangle keeps the entries of G: from it and a copy of the diagonal G is rebuilt when more jitter is needed,
and multiplied by when a residual is asked for. So one n x n array serves the matrix, its factor and the
check.

SciPy's ``scipy.linalg.lapack`` holds the interpreter's lock while it computes, so that Ctrl-C waits; the same
routines, reached through the addresses that SciPy publishes for Cython, do not. They are called by `lapack`.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Bools, Floats
from mercer.errors import JitterWarning, NotPositiveDefinite, ParameterError
from mercer.runtime.tiling import in_background, spans

__all__ = [
    "CholeskyFactor",
    "leading",
    "require_finite",
    "restore_symmetry",
    "safe_cholesky",
    "symmetric_product",
    "writeable_rows",
    "lapack",
]

_MODULES: list[Any] = [importlib.import_module(f"scipy.linalg.cython_{name}") for name in ("lapack", "blas")]
_KINDS = (("char", ctypes.c_char), ("int", ctypes.c_int), ("_s", ctypes.c_float), ("_d", ctypes.c_double))

_JITTERS = (0.0, *(10.0**power for power in range(-12, -5)))  # relative to the mean diagonal
_BLOCK = 64  # rows at a time where a copy of a block is needed
_COLUMNS = 256  # of the inverse at a time
_ENOUGH = 1e-12  # relative residual below which no refinement is tried


@dataclass(frozen=True, eq=False)
class CholeskyFactor:
    """Factor L of a symmetric positive definite matrix G = L L^T, in the memory of G.

    Attributes
    ----------
    array : (n, n) array, float64
        Its upper triangle, diagonal included, is L^T; below the diagonal are the entries of G.
    diagonal : (n,) array
        Diagonal of G, without jitter.
    jitter : float
        What had to be added to the diagonal of G: L L^T = G + jitter I. As a rule 0.0.

    Examples
    --------
    >>> factor = safe_cholesky(np.array([[4.0, 2.0], [2.0, 5.0]]))
    >>> factor.solve(np.array([2.0, 5.0]))
    array([0., 1.])
    """

    array: Floats
    diagonal: Floats
    jitter: float

    def solve(self, rhs: Floats) -> Floats:
        """Solution X of (G + jitter I) X = rhs, (n,) or (n, k)."""
        n, X = len(self.array), _columns(rhs)
        if X.size:
            call = (n, X.size // n, self.array, leading(self.array), X, n, np.zeros(1, np.intc))
            in_background(lapack("dpotrs"), "L", *call, work=_solve_work(n, X.size))
        return np.ascontiguousarray(X.T)

    def half_solve(self, rhs: Floats) -> Floats:
        """Solution X of L X = rhs, (n,) or (n, k): X^T X is rhs^T (G + jitter I)^-1 rhs."""
        n, X = len(self.array), _columns(rhs)
        if X.size:
            call = (n, X.size // n, self.array, leading(self.array), X, n, np.zeros(1, np.intc))
            in_background(lapack("dtrtrs"), "L", "N", "N", *call, work=_solve_work(n, X.size) / 2)
        return np.ascontiguousarray(X.T)

    def refined(self, rhs: Floats) -> tuple[Floats, Floats]:
        """Solution X of G X = rhs, and what is left of it, rhs - G X; both as rhs, (n,) or (n, k).

        Where much is left, because of jitter or a bad condition, one step of iterative refinement follows; it
        is kept for those columns in which less is left afterwards.
        """
        X = self.solve(rhs)
        left = rhs - self.product(X)
        before = _lengths(left)
        if np.any(before > _ENOUGH * _lengths(rhs)):
            trial = X + self.solve(left)
            left_then = rhs - self.product(trial)
            better = _lengths(left_then) < before
            X, left = np.where(better, trial, X), np.where(better, left_then, left)
        return X, left

    def logdet(self) -> float:
        """Logarithm of the determinant of G + jitter I."""
        return 2.0 * float(np.sum(np.log(self.array.diagonal())))

    def inverse_diagonal(self) -> Floats:
        """Diagonal of (G + jitter I)^-1, (n,): the squared lengths of the columns of L^-1.

        The columns are found a few at a time, in n^3 / 3 operations like the whole inverse of L, so that the
        factor stays usable and the additional memory is a few columns.
        """
        A, n = self.array, len(self.array)
        out = np.empty(n)
        buffer = np.empty(_COLUMNS * n)
        for block in spans(n, _COLUMNS):
            first, count = block.start, block.stop - block.start
            rest = n - first
            columns = buffer[: count * rest].reshape(count, rest)  # L^-1 is zero above the first row
            columns[:] = 0.0
            np.fill_diagonal(columns, 1.0)
            call = (rest, count, 1.0, A[first:, first:], leading(A), columns, rest)
            in_background(lapack("dtrsm"), "L", "L", "N", "N", *call, work=count * rest**2)
            out[block] = np.einsum("ij,ij->i", columns, columns)
        return out

    def release_inverse(self) -> Floats:
        """(G + jitter I)^-1, (n, n), both triangles, in the memory of the factor, which is lost."""
        A, n = self.array, len(self.array)
        if n:
            in_background(lapack("dpotri"), "L", n, A, leading(A), np.zeros(1, np.intc), work=2.0 * n**3 / 3.0)
        diagonal = A.diagonal().copy()
        restore_symmetry(A.T)
        np.einsum("ii->i", A)[:] = diagonal
        return A

    def product(self, X: Floats) -> Floats:
        """G X for X (n,) or (n, k), without jitter, from the triangle that still holds G."""
        return symmetric_product(self.array, self.diagonal, X)


def safe_cholesky(K: Floats, shift: float | Floats = 0.0, *, overwrite: bool = True) -> CholeskyFactor:
    """Cholesky factor of K + diag(shift), in the memory of K, with jitter only where nothing else helps.

    The matrix is tried as it is. If rounding has made it indefinite, 1e-12 times the mean diagonal of K is
    added to its diagonal, then ten times as much, up to 1e-6; the amount is part of the factor and reported by a
    JitterWarning.

    Parameters
    ----------
    K : (n, n) array, float64
        Symmetric, both triangles filled, its rows (or its columns) contiguous; a square view into a larger
        array will do. Other precisions are the caller's to convert, because that costs an n x n array.
    shift : float or (n,) array, default 0.0
        Added to the diagonal of K, as the ridge of a regression is.
    overwrite : bool, default True
        Whether the factor may take the memory of K; if not, K is copied.

    Returns
    -------
    factor : CholeskyFactor
        It owns the memory of K from now on.

    Raises
    ------
    NotPositiveDefinite
        If the jitter allowed is not enough, or an entry is not finite; K is then as it was before.

    Notes
    -----
    Cost n^3 / 3 operations per try; additional memory O(n). After Ctrl-C the contents of K are undefined.

    Examples
    --------
    >>> factor = safe_cholesky(np.array([[1.0, 1.0], [1.0, 1.0]]), shift=3.0)
    >>> np.triu(factor.array)
    array([[2.        , 0.5       ],
           [0.        , 1.93649167]])
    """
    A = writeable_rows(K) if overwrite else np.array(K, dtype=np.float64, order="C")
    require_finite(A, shift)
    inside = np.einsum("ii->i", A)  # a view: writing to it writes to the diagonal of A
    given = inside.copy()
    diagonal = given + shift
    scale = _mean(np.abs(given))
    minor = 0
    for relative in _JITTERS if scale > 0.0 else _JITTERS[:1]:
        jitter = relative * scale
        inside[:] = diagonal + jitter
        minor = _factor(A)
        if minor == 0:
            if jitter > 0.0:
                _warn_of_jitter(len(A), relative, jitter)
            return CholeskyFactor(A, diagonal, jitter)
        restore_symmetry(A)
    inside[:] = given
    raise NotPositiveDefinite(
        f"A matrix of order {len(A)} is not positive definite: its leading minor of order {minor} is not "
        f"positive, even with {_JITTERS[-1] * scale:.2g} added to the diagonal. A positive definite kernel, "
        "or a shift that outweighs its negative eigenvalues, is needed. Raise the shift (alpha, noise), or "
        "make the kernel positive definite."
    )


def symmetric_product(A: Floats, diagonal: Floats, X: Floats) -> Floats:
    """G X for X (n,) or (n, k), from the diagonal of G and its entries below that of A; no others are read."""
    out = (diagonal * X.T).T
    for block in spans(len(A), _BLOCK):
        corner = np.where(_below_diagonal(block.stop - block.start), A[block, block], 0.0)
        left = A[block, : block.start]
        out[block] += corner @ X[block] + corner.T @ X[block] + left @ X[: block.start]
        out[: block.start] += left.T @ X[block]
    return out


@functools.lru_cache(maxsize=8)
def _below_diagonal(n: int) -> Bools:
    return np.tri(n, k=-1, dtype=bool)


def require_finite(A: Floats, shift: float | Floats = 0.0) -> None:
    """Raise NotPositiveDefinite unless all entries of a matrix and of its shift are finite."""
    if not np.isfinite(shift).all():
        raise NotPositiveDefinite(
            "A shift of the diagonal is not finite; finite numbers are needed. Look at "
            "the ridge (alpha, noise) and at the sample weights it is divided by."
        )
    with np.errstate(over="ignore", invalid="ignore"):  # a sum may overflow where every term is finite
        for rows in spans(len(A), _BLOCK):
            if not np.isfinite(A[rows].sum()) and not np.all(good := np.isfinite(A[rows])):
                i, j = np.argwhere(~good)[0]
                raise NotPositiveDefinite(
                    f"A matrix of order {len(A)} has the entry {A[rows][i, j]} in row {rows.start + i}, "
                    f"column {j}; finite entries are needed. Rescale the samples so that the kernel does not "
                    "overflow, or correct the matrix if it was computed elsewhere."
                )


def _factor(A: Floats) -> int:
    """Factor in place; 0, or the order of the leading minor that is not positive."""
    n, info = len(A), np.zeros(1, np.intc)
    if n:
        in_background(lapack("dpotrf"), "L", n, A, leading(A), info, work=n**3 / 3)
    return int(info[0])


def restore_symmetry(A: Floats) -> None:
    """Write the lower triangle, which LAPACK left alone, over the upper one."""
    for rows in spans(len(A), _BLOCK):
        corner = np.tril(A[rows, rows], -1)
        A[rows, rows] = corner + corner.T
        A[: rows.start, rows] = A[rows, : rows.start].T


def writeable_rows(K: Floats) -> Floats:
    """K itself, or its transpose, with contiguous rows."""
    square = isinstance(K, np.ndarray) and K.ndim == 2 and K.shape[0] == K.shape[1] and K.dtype == np.float64
    if square and K.flags.writeable:
        for A in (K, K.T):  # the same matrix
            if len(A) < 2 or (A.strides[1] == A.itemsize and A.strides[0] >= len(A) * A.itemsize):
                return A
    raise ParameterError(
        f"safe_cholesky was given {getattr(K, 'dtype', type(K).__name__)} of shape {np.shape(K)} to "
        "overwrite; it overwrites square, writeable float64 arrays with contiguous rows. Convert the "
        "matrix, or let it be copied by overwrite=False."
    )


def _warn_of_jitter(n: int, relative: float, jitter: float) -> None:
    warnings.warn(
        f"A matrix of order {n} is not positive definite to working precision; {jitter:.2g} ({relative:.0e} "
        "of its mean diagonal) was added to its diagonal. Raise the shift (alpha, noise), or drop repeated "
        "samples.",
        JitterWarning,
        stacklevel=3,
    )


def _columns(rhs: Floats) -> Floats:
    """A copy of (n,) or (n, k) numbers whose memory is as Fortran expects it: (n,) or (k, n)."""
    return np.array(np.transpose(rhs), dtype=np.float64, order="C")


def _lengths(X: Floats) -> Floats:
    """Euclidean lengths of columns, (k,), or of the only one, ()."""
    return np.sqrt(np.einsum("i...,i...->...", X, X))


def leading(A: Floats) -> int:
    """Distance of two rows in memory, in numbers."""
    return max(A.strides[0] // A.itemsize, 1) if len(A) > 1 else 1


def _mean(values: Floats) -> float:
    """Mean of non-negative numbers; it does not overflow."""
    largest = float(np.max(values, initial=0.0))
    return largest * float(np.mean(values / largest)) if largest > 0.0 else 0.0


def _solve_work(n: int, size: int) -> float:
    """Operations of two triangular solves, where few columns are as slow as eight: memory is the limit."""
    return 2.0 * n * max(size, 8 * n)


@functools.cache
def lapack(name: str) -> Callable[..., None]:
    """Routine of LAPACK or BLAS by its Fortran name, which gives up the interpreter's lock.

    Parameters
    ----------
    name : str
        Such as ``"dpotrf"``.

    Returns
    -------
    routine : callable
        It takes the Fortran arguments in their order: one-letter text, int, float, and arrays (of float64,
        float32 or C int, matrices by columns) that are read and written in place. An array may be a view into
        a larger one, its leading dimension giving the distance between columns. It returns nothing.

    Examples
    --------
    >>> A, info = np.array([[4.0, 2.0], [2.0, 5.0]]), np.zeros(1, np.intc)
    >>> lapack("dpotrf")("L", 2, A, 2, info)  # Fortran's lower triangle is the upper one of C
    >>> np.triu(A)
    array([[2., 1.],
           [0., 2.]])
    """
    capsule = next((found for module in _MODULES if (found := module.__pyx_capi__.get(name))), None)
    if capsule is None:
        raise KeyError(f"neither LAPACK nor BLAS has a routine {name!r}")
    signature = _capsule_name(capsule)
    kinds = [_kind_of(argument) for argument in signature.decode().split("(", 1)[1].rstrip(")").split(",")]
    address = _capsule_pointer(capsule, signature)
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(kinds))(address)

    dtypes = [np.dtype(kind) for kind in kinds]

    def routine(*args: Any) -> None:
        if len(args) != len(kinds):
            raise TypeError(f"{name} takes {len(kinds)} arguments, {len(args)} were given")
        held = [_argument(value, kind, dtype) for value, kind, dtype in zip(args, kinds, dtypes, strict=True)]
        function(*[pointer for pointer, _ in held])

    routine.__name__ = name
    return routine


def _kind_of(declaration: str) -> type:
    """Type of C that a declaration such as ``__pyx_t_5scipy_6linalg_13cython_lapack_d *`` points to."""
    base = declaration.replace("*", "").strip()
    for ending, kind in _KINDS:
        if base.endswith(ending):
            return kind
    raise TypeError(f"an argument of type {base!r} is not among those that can be passed: char, int, float, double")


def _argument(value: Any, kind: type, dtype: np.dtype) -> tuple[int, Any]:
    """Address of a value, and what has to live as long as the address is used."""
    if isinstance(value, np.ndarray):
        if value.dtype != dtype:
            raise TypeError(f"an array of {value.dtype} was given where {dtype} is expected")
        return value.__array_interface__["data"][0], value  # in a third of the time of value.ctypes.data
    cell = kind(value.encode()) if kind is ctypes.c_char else kind(value)
    return ctypes.addressof(cell), cell


def _capsule_name(capsule: Any) -> bytes:
    function = ctypes.pythonapi.PyCapsule_GetName
    function.restype, function.argtypes = ctypes.c_char_p, [ctypes.py_object]
    return function(capsule)


def _capsule_pointer(capsule: Any, name: bytes) -> int:
    function = ctypes.pythonapi.PyCapsule_GetPointer
    function.restype, function.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return function(capsule, name)
