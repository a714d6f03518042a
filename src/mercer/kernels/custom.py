"""A user function as a kernel, checked wherever it is called.

Symbols: f the function, A and B two collections, a and b their samples.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.arguments import answer_of
from mercer.arrays import Floats
from mercer.constraints import Boolean, OneOf, Optional, Satisfies
from mercer.domains import Objects, Samples, Vectors
from mercer.domains.samples import kind_of, packed_pair
from mercer.errors import DomainError, IndefiniteWarning, warn_caller
from mercer.kernels.comparison import Comparison
from mercer.kernels.kernel import Kernel, mirror

__all__ = ["Custom"]
__public__ = __all__

_TAKES = "two collections and returns a matrix, or two samples and returns a number"
_CALL = threading.RLock()  # the function need not be thread-safe
_LOOSE = 1e-5  # of the largest value: how far equal numbers may differ in float32; others differ more
_PROBED = 32  # training samples on which the function is tried
_PAIRS = 64  # rows and columns of a tile whose pairs are Python calls
_ONCE = 64  # samples whose values with themselves are computed at a time


class Custom(Kernel):
    r"""A user function as a kernel: what it returns is checked, then used like any other kernel.

    .. math:: k(x, x') = f(x, x')

    Seed: [HSS] Eq. (2); that the function is a kernel is the user's promise.

    Parameters
    ----------
    function : callable
        Takes two collections and returns the (m, n) matrix of their similarities, as ``lambda A, B: A @ B.T``; or takes
        two samples and returns a number.
    pairs : bool, optional
        Whether the function takes two samples rather than two collections. None finds out by calling it.
    order : int or None, default 0
        What is known: 0 positive definite, 1 or 2 conditionally so, None neither.

    Notes
    -----
    Data: tables of numbers are given to the function as an array (or csr_array), anything else as the list it is. Every
    result must be of the right shape, real and finite, and symmetric on one collection. `learn`, which ``fit`` calls,
    also tries up to 32 training samples: whether a part of the matrix is the matrix of the parts, and whether there are
    negative eigenvalues, which give a warning. The function is called tile by tile, by one thread at a time. Features
    no; no parameters. A model with a function cannot be saved by `mercer.save`, which says so; write a kernel class
    instead. Cost that of the function; a Python call for each pair if it takes pairs.

    Examples
    --------
    >>> Custom(lambda A, B: A @ B.T)([[1.0, 2.0], [0.0, 1.0]])
    array([[5., 2.],
           [2., 1.]])
    >>> Custom(lambda s, t: float(len(s & t)))([{1, 2}, {2, 3}])
    array([[2., 1.],
           [1., 2.]])
    """

    domain = Vectors
    other_domains = (Objects,)
    formula = r"f(x, x')"
    cost = "that of the function"
    constraints = {
        "function": Satisfies(
            "a function of two collections, or of two samples",
            lambda value: callable(value) and not isinstance(value, type),
            "lambda A, B: A @ B.T",
        ),
        "pairs": Optional(Boolean()),
        "order": OneOf(0, 1, 2, None),
    }

    def __init__(self, function: Any, pairs: bool | None = None, order: int | None = 0) -> None:
        self.function = function
        self.pairs = pairs
        self.order = order

    def pack(self, X: Any) -> Samples:
        """Pack tables of numbers as Vectors, anything else as it is."""
        if isinstance(X, (Vectors, Objects)):
            return X
        if isinstance(X, (list, tuple)):
            return Vectors.pack(X) if _are_rows(X) else Objects.pack(X)
        numeric = not isinstance(X, np.ndarray) or X.dtype.kind in "fiubc"
        return Vectors.pack(X) if numeric else Objects.pack(X)

    def _learn(self, S: Samples, y: Any = None, weight: Floats | None = None) -> Kernel:
        """Return the kernel that knows what the function takes; try the function on some samples."""
        some = S.take(np.unique(np.linspace(0, len(S) - 1, min(len(S), _PROBED)).astype(np.intp)))
        pairs = self._takes_pairs(some) if self.pairs is None else self.pairs
        found = self if pairs is self.pairs else self.replace(pairs=pairs)
        K = found.block(some, some)
        part = len(some) // 3
        if part:
            _require_close(found._values(some[:part], some[part:]), K[:part, part:], found)
            if pairs:  # only half of them were computed
                _require_symmetric(K[:part, part:], found._values(some[part:], some[:part]).T, found)
        found._warn_of_negative(K)
        return found

    def _warn_of_negative(self, K: Floats) -> None:
        if self.order not in (0, 1):
            return
        C = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean() if self.order else K
        values = np.linalg.eigvalsh(C)
        if values[0] < -1e-8 * abs(values[-1]):
            warn_caller(
                f"{self!r} is not positive definite: of some training samples its eigenvalues go from {values[0]:.3g} "
                f"to {values[-1]:.3g}, so what is solved need not have a solution. Correct the function, say "
                "order=None, or say what is to be done about it, for example gram=Dense(indefinite='clip').",
                IndefiniteWarning,
            )

    def _takes_pairs(self, A: Samples) -> bool:
        """Find out what the function takes: on two collections of different lengths only a matrix has their shape."""
        left, right = A[:2], A[:3]
        try:
            _as_matrix(self._called(left, right), (len(left), len(right)), self)
        except DomainError as error:
            try:
                _as_matrix(self._paired(left[:1], right[:1]), (1, 1), self)
            except DomainError:
                raise error from error.__cause__
            return True
        return False

    def _called(self, A: Samples, B: Samples) -> Any:
        with _CALL:
            return answer_of(self.function, _raw(A), _raw(B), who=self, takes=_TAKES)

    def _paired(self, A: Samples, B: Samples) -> Any:
        """Return the numbers pair by pair; of one collection with itself, half of them are computed."""
        a, b, out = _samples(A), _samples(B), np.empty((len(A), len(B)), dtype=object)
        with _CALL:
            for i, x in enumerate(a):
                for j in range(i if B is A else 0, len(b)):
                    out[i, j] = _number(answer_of(self.function, x, b[j], who=self, takes=_TAKES))
                    if B is A and i != j:
                        out[j, i] = out[i, j]
        return out

    def _values(self, A: Samples, B: Samples) -> Floats:
        shape = len(A), len(B)
        if self.pairs is None:
            try:
                return _as_matrix(self._called(A, B), shape, self)
            except DomainError as error:
                try:
                    return _as_matrix(self._paired(A, B), shape, self)
                except DomainError:
                    raise error from error.__cause__
        return _as_matrix((self._paired if self.pairs else self._called)(A, B), shape, self)

    def block(self, A: Samples, B: Samples) -> Floats:
        """Return what the function returns, checked."""
        A, B = packed_pair(A, B, self._ready)
        out = self._values(A, B)
        if B is not A:
            return out
        _require_symmetric(out, out.T, self)
        return mirror(out)

    def _diag(self, A: Samples) -> Floats:
        """Return the values of samples with themselves, some samples at a time."""
        if not len(A):
            return np.empty(0)
        if self.pairs:
            return np.concatenate([self._values(A[i : i + 1], A[i : i + 1])[0] for i in range(len(A))])
        pieces = (A[i : i + _ONCE] for i in range(0, len(A), _ONCE))
        return np.concatenate([np.diagonal(self._values(piece, piece.twin())) for piece in pieces])

    def grain(self, comparison: Comparison) -> int | None:
        """Ask for small tiles where every pair is a call."""
        return None if self.pairs is False else _PAIRS


def _are_rows(X: Any) -> bool:
    """Return whether a list is one of rows of numbers."""
    first = X[0] if X else None
    if isinstance(first, (list, tuple)):
        return all(isinstance(value, (int, float, np.number)) for value in first)
    return isinstance(first, np.ndarray) and first.ndim == 1 and first.dtype.kind in "fiub"


def _raw(A: Samples) -> Any:
    return A.X if isinstance(A, Vectors) else A.data  # pyright: ignore[reportAttributeAccessIssue]


def _samples(A: Samples) -> list[Any]:
    """Return the samples one by one, as a user has them."""
    data = _raw(A)
    if sp.issparse(data):
        return [data[[i]] for i in range(data.shape[0])]
    return list(data.itertuples(index=False)) if hasattr(data, "itertuples") else list(data)


def _number(value: Any) -> Any:
    """Return one number out of an array of one; anything else as it is, to be refused."""
    return value.item() if isinstance(value, (np.ndarray, np.generic)) and value.size == 1 else value


def _as_matrix(values: Any, shape: tuple[int, int], owner: Kernel) -> Floats:
    """Return real, finite numbers of this shape, in an array of their own; DomainError for anything else."""
    values = values.toarray() if sp.issparse(values) else values
    try:
        array = np.asarray(values)
        array = array.astype(float) if array.dtype.kind in "Ofiub" and not np.ma.is_masked(values) else None
    except (TypeError, ValueError):
        array = None
    if array is None or array.shape != shape:
        found = (
            f"shape {np.shape(values)}"
            if array is not None
            else f"{kind_of(values)} that is not an array of real numbers"
        )
        raise DomainError(
            f"The function of {owner!r} returned {found} for {shape[0]} and {shape[1]} samples; it must return an "
            f"array of shape {shape}, or one number for two samples. Correct the function."
        )
    if not np.isfinite(array).all():
        raise DomainError(
            f"The function of {owner!r} returned {array[~np.isfinite(array)][0]}; finite numbers are needed. Correct "
            "the function, or scale the data."
        )
    return array


def _require_close(part: Floats, whole: Floats, owner: Kernel) -> None:
    if np.abs(part - whole).max(initial=0.0) > _LOOSE * np.abs(whole).max(initial=0.0):
        raise DomainError(
            f"The function of {owner!r} gives other numbers for some of the samples than for all of them; the "
            "similarity of two samples must not depend on the others. Correct the function, or transform the data."
        )


def _require_symmetric(K: Floats, turned: Floats, owner: Kernel) -> None:
    gap = np.abs(K - turned)
    if gap.max(initial=0.0) > _LOOSE * np.abs(K).max(initial=0.0):
        place = np.unravel_index(int(np.argmax(gap)), gap.shape)
        raise DomainError(
            f"The function of {owner!r} gives {K[place]:.6g} for two samples and {turned[place]:.6g} for the same two "
            "in the other order; a kernel is symmetric. Correct the function, for example to the mean of both."
        )
