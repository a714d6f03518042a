"""Grams over Grams: centred, shifted, weighted, repeated.

Symbols: K, K_1, ... Gram matrices; 1 the vector of ones; P = I - 1 1^T / n the centring projection.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.arrays import Floats, Index, Indices
from mercer.budget import Plan
from mercer.domains import Samples
from mercer.domains.samples import packed
from mercer.errors import CapabilityError, ParameterError
from mercer.gram.exact import same_rows
from mercer.gram.gram import Cross, Gram, HasFactor, HasRows
from mercer.runtime.tiling import run_tasks, spans

__all__ = ["Centered", "Repeated", "Shifted", "Weighted", "centred"]
__public__ = ["Centered", "Repeated", "Shifted", "Weighted"]

_PASS = 2**21  # numbers of a matrix that are changed at once


class _Over(Gram):
    """A Gram made of another one."""

    def __init__(self, gram: Gram) -> None:
        self.gram = gram
        self.kernel, self.samples, self.resources = gram.kernel, gram.samples, gram.resources

    def to_dense(self) -> Floats:
        """Return the matrix as a new array, if the memory budget allows it."""
        n = self.shape[0]
        Plan(f"{self!r}", {"Gram matrix": 8 * n * n}).require(self.resources.memory)
        return self._changed(self.gram.to_dense())

    def _changed(self, K: Floats) -> Floats:
        raise NotImplementedError

    def update(self, index: Indices, V: Floats, out: Floats, rows: Indices | None = None) -> None:
        """Add K[:, index] @ V to `out`."""
        product = self @ _scattered(V, index, self.shape[0])
        out += product if rows is None else product[rows]

    @property
    def dtype(self) -> np.dtype:
        """Of the Gram below."""
        return self.gram.dtype

    @property
    def entry_cost(self) -> float:
        """Of the Gram below."""
        return self.gram.entry_cost

    @property
    def entry_error(self) -> float:
        """Of the Gram below."""
        return self.gram.entry_error


def _scattered(V: Floats, index: Indices, n: int) -> Floats:
    """Return an array of n rows with the rows of V added at the places `index`."""
    V = np.asarray(V, dtype=float)
    if V.ndim == 1:
        return np.asarray(np.bincount(index, V, n), dtype=float)
    wide = np.zeros((n, *V.shape[1:]))
    np.add.at(wide, index, V)
    return wide


def _rows_of(gram: Gram, index: Indices, columns: Index) -> Floats:
    """Return rows of a Gram, if it has rows."""
    if not isinstance(gram, HasRows):
        raise CapabilityError(
            f"rows were asked of a Gram over {type(gram).__name__}, which offers only products; a Gram with rows "
            "is needed below. Use gram=Tiles() or Dense()."
        )
    return gram.rows(index, columns)


class Centered(_Over):
    r"""The Gram matrix of centred features: the mean of the images becomes the origin.

    .. math:: P K P, \qquad P = I - 1 1^\top / n

    Seed: [STS] Eq. (36); [SS] Eqs. (65)-(66), with the sign of (65) corrected.

    Parameters
    ----------
    gram : Gram
        Over the training samples; new samples are centred by the same mean.

    Examples
    --------
    >>> from mercer.domains import Vectors
    >>> from mercer.gram import Dense
    >>> from mercer.kernels import Linear
    >>> Centered(Dense().build(Linear(), Vectors.pack([[1.0], [3.0]]))).to_dense()
    array([[ 1., -1.],
           [-1.,  1.]])
    """

    def __init__(self, gram: Gram) -> None:
        super().__init__(gram)
        self.means = gram @ np.full(gram.shape[0], 1.0 / gram.shape[0])  # K 1 / n
        self.mean = float(np.mean(self.means))

    def __matmul__(self, V: Floats) -> Floats:
        """Return P K P V."""
        V = np.asarray(V, dtype=float)
        product = self.gram @ (V - V.mean(axis=0))
        return product - product.mean(axis=0)

    def diag(self) -> Floats:
        """Return the squared distances from the mean."""
        return self.gram.diag() - 2.0 * self.means + self.mean

    def rows(self, index: Indices, columns: Index = slice(None), out: Floats | None = None) -> Floats:
        """Return rows of P K P."""
        found = np.asarray(_rows_of(self.gram, index, columns), dtype=float)
        found += self.mean - self.means[index][:, None] - self.means[columns]
        if out is None:
            return found
        out[...] = found
        return out

    def factor(self, rows: slice = slice(None)) -> Floats:
        """Return rows of the centred factor."""
        return self._factored.factor(rows) - self._factor_mean

    def normal(self, weight: Floats, rhs: Floats) -> tuple[Floats, Floats]:
        """Return F^T W F and F^T W rhs for the centred factor."""
        gram, mean = self._factored, self._factor_mean
        n = self.shape[0]
        weight = np.broadcast_to(np.asarray(weight, dtype=float), (n,))
        rhs = np.asarray(rhs, dtype=float)
        square, both = gram.normal(weight, np.column_stack([rhs.reshape(n, -1), np.ones(n)]))
        moment, sums = both[:, :-1].reshape(len(both), *rhs.shape[1:]), both[:, -1]
        square = square - np.outer(sums, mean) - np.outer(mean, sums) + weight.sum() * np.outer(mean, mean)
        return square, moment - np.multiply.outer(mean, weight @ rhs)

    @property
    def _factored(self) -> HasFactor:
        if not isinstance(self.gram, HasFactor):
            raise CapabilityError(
                f"a factor of Centered needs a factor of {type(self.gram).__name__}, which has none. "
                "Use gram=Features() or another low-rank Gram."
            )
        return self.gram

    @property
    def _factor_mean(self) -> Floats:
        n, gram = self.shape[0], self._factored
        if hasattr(gram, "moment"):  # without the squares
            return gram.moment(np.full(n, 1.0 / n))  # pyright: ignore[reportAttributeAccessIssue]
        return gram.normal(np.full(n, 1.0 / n), np.ones(n))[1]

    def take(self, index: Index) -> Centered:
        """Return the Gram of some samples, centred by their own mean."""
        return Centered(self.gram.take(index))

    def cross(self, T: Samples) -> CenteredCross:
        """Return the operator between new samples and these, both centred by the training mean."""
        T = packed(T, self.kernel.pack)
        return CenteredCross(self.gram.cross(T), self.means, self.mean)

    def refined(self) -> Centered:
        """Return the same Gram with entries in float64."""
        return Centered(self.gram.refined())

    def _changed(self, K: Floats) -> Floats:
        return centred(K, self.means, self.resources.n_threads)


def centred(K: Floats, means: Floats | None = None, n_threads: int | None = None) -> Floats:
    """Centre a symmetric matrix in place: its rows and columns sum to zero.

    Parameters
    ----------
    K : (n, n) array
    means : (n,) array, optional
        Of its rows; computed if they are not known.
    n_threads : int, optional

    Examples
    --------
    >>> centred(np.array([[1.0, 0.0], [0.0, 1.0]]))
    array([[ 0.5, -0.5],
           [-0.5,  0.5]])
    """
    n = len(K)
    known = np.empty(n) if means is None else means

    def measure(rows: slice) -> None:
        known[rows] = K[rows].mean(axis=1)

    def shift(rows: slice) -> None:
        own = K[rows]
        own += known.mean() - known
        own -= known[rows, None]

    parts = spans(n, max(1, _PASS // max(1, n)))
    for work in (measure, shift) if means is None else (shift,):
        if len(parts) == 1:
            work(parts[0])
        else:
            run_tasks(parts, work, n_threads=n_threads)
    return K


class CenteredCross(Cross):
    """The matrix between new and training samples, centred by the training mean."""

    def __init__(self, cross: Cross, means: Floats, mean: float) -> None:
        self.inner, self.means, self.mean, self.shape = cross, means, mean, cross.shape

    def __matmul__(self, V: Floats) -> Floats:
        """Return the product with V."""
        V = np.asarray(V, dtype=float)
        n = self.shape[1]
        centred = V - V.mean(axis=0)
        product = self.inner @ centred
        # the mean image is subtracted from the new sample as well: a constant row <mean, sum of centred columns>
        return product - (self.means @ centred if n else 0.0)

    def to_dense(self) -> Floats:
        """Return the matrix as a new array."""
        K = self.inner.to_dense()
        K -= K.mean(axis=1)[:, None]
        K -= self.means
        K += self.mean
        return K


class Shifted(_Over):
    r"""A Gram matrix with something added to its diagonal.

    .. math:: K + \mathrm{diag}(s)

    Seed: [STS] Eq. (7), [KIKS] Eq. (7): the ridge.

    Parameters
    ----------
    gram : Gram
    shift : float or (n,) array

    Examples
    --------
    >>> from mercer.domains import Vectors
    >>> from mercer.gram import Dense
    >>> from mercer.kernels import Linear
    >>> Shifted(Dense().build(Linear(), Vectors.pack([[1.0], [3.0]])), 0.5).to_dense()
    array([[1.5, 3. ],
           [3. , 9.5]])
    """

    def __init__(self, gram: Gram, shift: float | Floats) -> None:
        super().__init__(gram)
        self.shift = np.broadcast_to(np.asarray(shift, dtype=float), (gram.shape[0],))

    def __matmul__(self, V: Floats) -> Floats:
        """Return K V + s V."""
        V = np.asarray(V, dtype=float)
        return self.gram @ V + (self.shift * V if V.ndim == 1 else self.shift[:, None] * V)

    def diag(self) -> Floats:
        """Return the shifted diagonal."""
        return self.gram.diag() + self.shift

    def rows(self, index: Indices, columns: Index = slice(None), out: Floats | None = None) -> Floats:
        """Return rows of the shifted matrix."""
        found = np.asarray(_rows_of(self.gram, index, columns), dtype=float)
        where = np.arange(self.shape[0])
        found += np.where(where[index][:, None] == where[columns], self.shift[index][:, None], 0.0)
        if out is None:
            return found
        out[...] = found
        return out

    def take(self, index: Index) -> Shifted:
        """Return the Gram of some samples with their shifts."""
        return Shifted(self.gram.take(index), self.shift[index])

    def refined(self) -> Shifted:
        """Return the same Gram with entries in float64."""
        return Shifted(self.gram.refined(), self.shift)

    def _changed(self, K: Floats) -> Floats:
        K[np.diag_indices_from(K)] += self.shift
        return K


class Weighted(Gram):
    r"""A conic combination of Gram matrices over the same samples.

    .. math:: \sum_t w_t K_t, \qquad w_t \ge 0

    Seed: [STS] Section 7; [HSS] Proposition 5 (i).

    Parameters
    ----------
    grams : sequence of Gram
    weights : (T,) array
        Not negative.

    Examples
    --------
    >>> from mercer.domains import Vectors
    >>> from mercer.gram import Dense
    >>> from mercer.kernels import Linear
    >>> K = Dense().build(Linear(), Vectors.pack([[1.0], [3.0]]))
    >>> Weighted([K, K], [1.0, 2.0]).to_dense()
    array([[ 3.,  9.],
           [ 9., 27.]])
    """

    def __init__(self, grams: Sequence[Gram], weights: Floats | Sequence[float]) -> None:
        self.grams, self.weights = tuple(grams), np.asarray(weights, dtype=float)
        if not self.grams or self.weights.shape != (len(self.grams),) or not np.all(self.weights >= 0):
            raise ParameterError(
                f"Weighted was given {len(self.grams)} Grams and weights {weights!r}; one weight >= 0 per Gram is "
                "accepted. Give as many weights as Grams."
            )
        if len({gram.shape for gram in self.grams}) > 1:
            raise ParameterError(
                f"Weighted was given Grams of shapes {[gram.shape for gram in self.grams]}; they must be equal. "
                "Build all of them on the same samples."
            )
        first = self.grams[0]
        self.kernel, self.samples, self.resources = first.kernel, first.samples, first.resources

    def __matmul__(self, V: Floats) -> Floats:
        """Return the weighted sum of the products."""
        return np.sum([w * (gram @ V) for w, gram in zip(self.weights, self.grams, strict=True)], axis=0)

    def diag(self) -> Floats:
        """Return the weighted sum of the diagonals."""
        return np.sum([w * gram.diag() for w, gram in zip(self.weights, self.grams, strict=True)], axis=0)

    def rows(self, index: Indices, columns: Index = slice(None), out: Floats | None = None) -> Floats:
        """Return the weighted sum of the rows."""
        parts = [w * _rows_of(gram, index, columns) for w, gram in zip(self.weights, self.grams, strict=True)]
        return np.sum(parts, axis=0, out=out)

    def update(self, index: Indices, V: Floats, out: Floats, rows: Indices | None = None) -> None:
        """Add K[:, index] @ V to `out`."""
        product = self @ _scattered(V, index, self.shape[0])
        out += product if rows is None else product[rows]

    @property
    def dtype(self) -> np.dtype:
        """The coarsest of the Grams."""
        return min((gram.dtype for gram in self.grams), key=lambda dtype: dtype.itemsize)

    @property
    def entry_cost(self) -> float:
        """Of all Grams together."""
        return sum(gram.entry_cost for gram in self.grams)

    @property
    def entry_error(self) -> float:
        """The largest of the Grams."""
        return max(gram.entry_error for gram in self.grams)

    def refined(self) -> Weighted:
        """Return the same Gram with entries in float64."""
        return Weighted([gram.refined() for gram in self.grams], self.weights)

    def take(self, index: Index) -> Weighted:
        """Return the combination on some samples."""
        return Weighted([gram.take(index) for gram in self.grams], self.weights)

    def cross(self, T: Samples) -> Cross:
        """Refuse: the kernels may read different data."""
        T = packed(T, self.kernel.pack)
        raise CapabilityError(
            "Weighted has no cross operator of its own; its Grams may read different data. "
            "Take cross of each Gram and add them with the weights."
        )

    def to_dense(self) -> Floats:
        """Return the matrix as a new array, if the memory budget allows it."""
        total = self.weights[0] * self.grams[0].to_dense()
        for w, gram in zip(self.weights[1:], self.grams[1:], strict=True):
            total += w * gram.to_dense()
        return total


class Repeated(_Over):
    r"""The Gram matrix of samples that are used more than once.

    .. math:: K_{\pi(i) \pi(j)}

    Seed: [HSS] Eq. (87): two variables per sample in regression.

    Parameters
    ----------
    gram : Gram
    index : (N,) array of int
        pi: the sample at each place; repetitions are allowed.

    Examples
    --------
    >>> from mercer.domains import Vectors
    >>> from mercer.gram import Dense
    >>> from mercer.kernels import Linear
    >>> Repeated(Dense().build(Linear(), Vectors.pack([[1.0], [3.0]])), [0, 0, 1]).diag()
    array([1., 1., 9.])
    """

    def __init__(self, gram: Gram, index: Indices | Sequence[int]) -> None:
        super().__init__(gram)
        self.index = self.repeats = np.asarray(index, dtype=np.intp)
        self._rows: Any = None

    @property
    def shape(self) -> tuple[int, int]:
        """(N, N)."""
        return len(self.index), len(self.index)

    def __matmul__(self, V: Floats) -> Floats:
        """Return the product: gather, multiply, scatter."""
        V = np.asarray(V, dtype=float)
        gathered = np.zeros((self.gram.shape[0], *V.shape[1:]))
        np.add.at(gathered, self.index, V)
        return (self.gram @ gathered)[self.index]

    def diag(self) -> Floats:
        """Return the diagonal with repetitions."""
        return self.gram.diag()[self.index]

    def refined(self) -> Repeated:
        """Return the same Gram with entries in float64."""
        fine = self.gram.refined()
        return self if fine is self.gram else Repeated(fine, self.index)

    def update(self, index: Indices, V: Floats, out: Floats, rows: Indices | None = None) -> None:
        """Add K[:, index] @ V to `out`: each sample once, however often it is repeated."""
        if not isinstance(self.gram, HasRows):
            super().update(index, V, out, rows)
            return
        n, places = self.gram.shape[0], self.index[index]
        present = np.zeros(n, dtype=bool)
        present[places] = True
        used = np.flatnonzero(present)
        if self._rows is None or not same_rows(rows, self._rows[0]):  # the same ones are requested many times
            chosen = self.index if rows is None else self.index[rows]
            self._rows = None if rows is None else rows.copy(), *np.unique(chosen, return_inverse=True)
        _, needed, back = self._rows
        total = np.zeros((len(needed), *np.shape(V)[1:]))
        self.gram.update(used, _scattered(V, places, n)[used], total, None if len(needed) == n else needed)
        out += total[back]

    def rows(self, index: Indices, columns: Index = slice(None), out: Floats | None = None) -> Floats:
        """Return rows with repetitions."""
        mine = self.index[index]
        found = _rows_of(self.gram, mine, mine if columns is index else self.index[columns])
        if out is None:
            return found
        out[...] = found
        return out

    def take(self, index: Index) -> Repeated:
        """Return the Gram of some of the places."""
        return Repeated(self.gram, self.index[index])

    def cross(self, T: Samples) -> Cross:
        """Return the operator between new samples and the repeated ones."""
        T = packed(T, self.kernel.pack)
        return Cross(self.kernel, T, self.samples.take(self.index), self.resources)

    def _changed(self, K: Floats) -> Floats:
        return K[np.ix_(self.index, self.index)]
