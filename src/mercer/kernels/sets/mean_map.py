"""Kernels on sets made of a kernel on their members: mean map, and extremes of the columns.

Symbols: X = {x_1, ..., x_|X|} a set, k the kernel on members, w_j the weight of a member in its set.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Floats, Indices
from mercer.constraints import Boolean, InstanceOf
from mercer.domains import WHOLE, Samples, Vectors, Whole
from mercer.domains.sets import Sets
from mercer.errors import DomainError
from mercer.kernels.abilities import DifferentiatedByTiles, Featured
from mercer.kernels.comparison import Comparison, View
from mercer.kernels.composite import offered
from mercer.kernels.kernel import Kernel, Tiled, compiled_expansion, derivative, feature_count, grain_of, term_grain
from mercer.kernels.protocols import Pullback
from mercer.runtime.compiled import compiled
from mercer.runtime.tiling import spans, tile_side
from mercer.spec import derived, free_names

__all__ = ["MeanMap", "MinMax"]
__public__ = __all__

_PAIRS = 2_000_000  # of members in a tile: some 20 milliseconds
_FEW = 128  # members on each side for which a tile is worth its call
_RUN = 64  # members whose sets are compared with themselves at once
_EXTREMES = "extremes"


class _OfMembers(Tiled, DifferentiatedByTiles):
    """A kernel on sets that compares something of their members by another kernel."""

    kernel: Kernel
    domain = Sets

    @derived
    def part(self) -> Hashable:
        """The sets; where members are not plain vectors, a label distinguishes how other terms of a sum read them."""
        inner = tuple(self.kernel.parts())
        if inner == (WHOLE,) and self.kernel.domain is Vectors:
            return WHOLE
        return Whole(("sets", self.kernel.domain.__name__, inner))

    def parts(self) -> Mapping[Hashable, Callable[[Any], Samples]]:
        """Return the sets, with members packed by the kernel inside."""
        return {self.part: self.pack}

    def pack(self, X: Any) -> Samples:
        """Turn collections of members into Sets; the kernel inside says how members are packed."""
        S = Sets.pack(X, self.kernel.pack)
        if not isinstance(S.members, self.kernel.domain):
            raise DomainError(
                f"Sets of {type(S.members).__name__} were given to {self!r}, whose kernel compares "
                f"{self.kernel.domain.__name__}; members must be of that domain. Give the raw sets, or another kernel."
            )
        return S

    @property
    def capabilities(self) -> frozenset[str]:
        """Features and derivatives if the kernel inside has them."""
        return offered(self.kernel) & {"features", "pullback"}


class Members:
    """Two collections of sets side by side: their members in a comparison, and what each contributes to its set.

    Parameters
    ----------
    inner : Comparison
        Of the members.
    offsets : two (n + 1,) arrays
        Where each set begins among the members.
    weights : two (total,) arrays
    """

    def __init__(self, inner: Comparison, offsets: tuple[Indices, Indices], weights: tuple[Floats, Floats]) -> None:
        self.inner, self.offsets, self.weights = inner, offsets, weights
        self.owners = tuple(np.repeat(np.arange(len(o) - 1, dtype=np.intp), np.diff(o)) for o in offsets)

    def pieces(self, rows: slice, columns: slice, side: int) -> Iterable[tuple[slice, slice]]:
        """Yield slices of members of the sets in two slices, short enough for a tile."""
        (r, c) = (
            [slice(offsets[s.start] + one.start, offsets[s.start] + one.stop) for one in spans(length, side)]
            for offsets, s in zip(self.offsets, (rows, columns), strict=True)
            for length in (int(offsets[s.stop] - offsets[s.start]),)
        )
        return ((left, right) for left in r for right in c)

    def add(self, tile: Floats, pieces: tuple[slice, slice], start: tuple[int, int], out: Floats) -> None:
        """Add the values of pairs of members, times their weights, to those of their sets, given the first sets.

        Parameters
        ----------
        tile : array
            Values of the members in two slices.
        pieces : two slices
        start : two int
            The sets of the first row and column of `out`.
        out : array
        """
        r, c = pieces
        left, right = (self.owners[0][r], self.weights[0][r]), (self.owners[1][c], self.weights[1][c])
        _add_sums(np.ascontiguousarray(tile, dtype=np.float64), left, right, start, out)


class MeanMap(_OfMembers, Featured):
    r"""Mean map: two sets are as similar as their members are on average.

    .. math:: k(X, X') = \frac{1}{|X| |X'|} \sum_{x \in X} \sum_{x' \in X'} k_1(x, x')
        = \Big\langle \frac{1}{|X|} \sum_x \Phi(x), \frac{1}{|X'|} \sum_{x'} \Phi(x') \Big\rangle

    Seed: [HSS] Section 2.2.5, "Kernels on Sets and Subspaces", the average of the elements in feature space.

    Parameters
    ----------
    kernel : Kernel
        On the members, which may be of any domain.
    average : bool, default True
        Whether the sum over members is divided by their number (by the sum of their weights, if sets have weights).
        Without, large sets count more; it is the sum over all pairs.

    Notes
    -----
    Domain Sets. The empty set is the zero of the feature space: its similarity to every set is 0. Features those of the
    kernel, added over members, if it has them; differentiable in its parameters if it is. Positive definite of order 0
    if the kernel is, by its features; averages by a kernel conditionally positive definite of order 1 are so too, and
    the squared distance of images by ``NegativeDistance()`` is the energy distance (empty sets are then refused). Not
    strict, as a set and two copies of it together have one mean; on sets without repetitions a strict kernel
    distinguishes all. Bounded if averages of a bounded kernel are taken. Cost |X| |X'| values of the kernel; memory
    that of a tile. Powers of the kernel inside, ``MeanMap(kernel**p)``, let the most similar pairs count more.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear, Spectrum
    >>> MeanMap(Linear())([[[0.0], [2.0]], [[3.0]]])  # means 1 and 3
    array([[1., 3.],
           [3., 9.]])
    >>> MeanMap(Spectrum(1))([["cat", "hat"], ["at"], []])
    array([[2.5, 2. , 0. ],
           [2. , 2. , 0. ],
           [0. , 0. , 0. ]])
    """

    formula = r"\frac{1}{|X| |X'|} \sum_{x, x'} k_1(x, x')"
    cost = "|X| |X'| values of the kernel on members"
    constraints = {"kernel": InstanceOf(Kernel), "average": Boolean()}

    def __init__(self, kernel: Kernel, average: bool = True) -> None:
        self.kernel = kernel
        self.average = average

    # data -------------------------------------------------------------------------------------------

    def pack(self, X: Any) -> Samples:
        """Turn collections of members into Sets; the kernel inside says how members are packed."""
        S = super().pack(X)
        assert isinstance(S, Sets)
        if self.kernel.order != 0 and not S.sizes.all():
            raise DomainError(
                f"Set {int(np.flatnonzero(S.sizes == 0)[0])} is empty, and {self.kernel!r} is not positive definite; "
                "by such a kernel only sets with members are compared. Leave the set out, or use another kernel."
            )
        return S

    def _learn(self, S: Samples, y: Any = None, weight: Floats | None = None) -> MeanMap:
        """Let the kernel inside learn from the members."""
        assert isinstance(S, Sets)
        v = None if weight is None else S.spread(np.asarray(weight, dtype=float))
        learned = self.kernel.learn(S.members, None, v)
        return self if learned is self.kernel else self.replace(kernel=learned)

    def _prepare(self, A: Samples) -> Samples:
        """Let the kernel inside prepare the members."""
        assert isinstance(A, Sets)
        return A.with_members(self.kernel.prepare(A.members))

    def grain(self, comparison: Comparison) -> int | None:
        """Ask for tiles with a few million pairs of members."""
        A, B = comparison.A, comparison.B
        if not isinstance(A, Sets) or not isinstance(B, Sets):
            return term_grain(self, comparison)
        mean = np.sqrt(max(1.0, float(A.sizes.mean()) * float(B.sizes.mean())))
        inner = grain_of(self.kernel, Comparison(self.kernel, A.members, B.members))
        few = max(_FEW, np.sqrt(float(len(A.members)) * len(B.members)) / 4.0)  # some tiles for each thread
        members = min(np.sqrt(_PAIRS), few, np.inf if inner is None else inner)
        return max(1, int(members / mean))

    # numbers ----------------------------------------------------------------------------------------

    def _weights(self, A: Sets) -> Floats:
        return A.weights / A.spread(A.totals() @ np.ones(len(A.weights))) if self.average else A.weights

    def _members(self, A: Samples, B: Samples) -> Members:
        assert isinstance(A, Sets) and isinstance(B, Sets)
        compare = Comparison if B is A else Comparison.across
        inner = compare(self.kernel, A.members, B.members, np.float64)
        return Members(inner, (A.offsets, B.offsets), (self._weights(A), self._weights(B)))

    def _add(self, members: Members, rows: slice, columns: slice, out: Floats) -> None:
        """Add the weighted values of pairs of members to those of their sets; if these are one, of half of them."""
        inner = members.inner
        half = np.zeros_like(out) if inner.symmetric and rows == columns else None
        for r, c in members.pieces(rows, columns, grain_of(self.kernel, inner) or tile_side(8)):
            if half is not None and c.start < r.start:
                continue
            to = out if half is None or c.start == r.start else half
            members.add(inner.at(r, c).value(self.kernel), (r, c), (rows.start, columns.start), to)
        if half is not None:
            out += half
            out += half.T

    def tile(self, view: View) -> Floats:
        """Compare the members of the sets of a tile, and add."""
        members = view.comparison.keep(("members", id(self), view.path), lambda: self._members(*view.collections))
        out = view.full(0.0)
        self._add(members, view.rows, view.columns, out)
        return out

    def _diag(self, A: Samples) -> Floats:
        """Compare the members of each set with themselves; of small sets, some at a time."""
        A = self.prepare(A)
        assert isinstance(A, Sets)
        members, found = self._members(A, A), np.zeros(len(A))
        start = 0
        while start < len(A):
            stop = max(start + 1, int(np.searchsorted(A.offsets, A.offsets[start] + _RUN, side="right")) - 1)
            run = slice(start, min(stop, start + _RUN))
            out = np.zeros((run.stop - run.start,) * 2)
            self._add(members, run, run, out)
            found[run] = np.diagonal(out)
            start = run.stop
        return found

    def _features(self, A: Samples, keys: Any = None) -> tuple[Any, Any]:
        """Return the features of the kernel inside, added over members, and its keys with their number."""
        A = self.prepare(A)
        assert isinstance(A, Sets)
        if not len(A.members):
            return sp.csr_array((len(A), 0 if keys is None else keys[1])), keys
        matrix, found = self.kernel.features(A.members, None if keys is None else keys[0])
        return A.totals(self._weights(A)) @ matrix, (found, matrix.shape[1])

    def _feature_count(self, A: Samples) -> int | None:
        """Return the number of features of the members."""
        assert isinstance(A, Sets)
        return feature_count(self.kernel, A.members) if len(A.members) else 0

    def value_and_pullback(self, view: View) -> tuple[Floats, Pullback]:
        """Return the values of a tile and the pullback: the weight of a pair of sets goes to pairs of members."""

        def back(W: Floats) -> Floats:
            members = view.comparison.keep(("members", id(self), view.path), lambda: self._members(*view.collections))
            inner, found = members.inner, []
            for r, c in members.pieces(view.rows, view.columns, grain_of(self.kernel, inner) or tile_side(8)):
                i, j = members.owners[0][r] - view.rows.start, members.owners[1][c] - view.columns.start
                V = W[np.ix_(i, j)] * members.weights[0][r, None] * members.weights[1][c]
                found.append(derivative(inner.at(r, c), self.kernel)[1](V))
            return np.sum(found, axis=0) if found else np.zeros(len(free_names(self)))

        return self.tile(view), back

    def compile(self, samples: Samples, coef: Floats) -> Callable[[Samples], Floats] | None:
        """Return f as the mean over members of a function that the kernel inside makes of all members, if it can."""
        assert isinstance(samples, Sets)
        function = compiled_expansion(self.kernel, samples.members, samples.totals(self._weights(samples)).T @ coef)
        if function is None:
            return None

        def mean(A: Samples) -> Floats:
            A = self.prepare(A)
            assert isinstance(A, Sets)
            return np.asarray(A.totals(self._weights(A)) @ function(A.members))

        return mean

    # what is known of the mathematics ---------------------------------------------------------------

    @derived
    def order(self) -> int | None:
        """That of the kernel inside, if it is 0, or 1 and means are compared: weights of members then add to zero."""
        return self.kernel.order if self.kernel.order == 0 or (self.kernel.order == 1 and self.average) else None

    @derived
    def bounded(self) -> bool:
        """Whether averages of a bounded kernel are taken."""
        return self.average and self.kernel.bounded


@compiled
def _add_sums(tile, left, right, start, out):
    """Add w_i w_j t_ij to the entry of the sets that members i and j belong to."""
    owners, weights = left
    others, theirs = right
    for i in range(tile.shape[0]):
        row = out[owners[i] - start[0]]
        j = 0
        while j < tile.shape[1]:
            owner = others[j]
            total = 0.0
            while j < tile.shape[1] and others[j] == owner:
                total += theirs[j] * tile[i, j]
                j += 1
            row[owner - start[1]] += weights[i] * total


class MinMax(_OfMembers, Featured):
    r"""Minimax kernel: sets of vectors are compared by the least and the largest value of each column.

    .. math:: k(X, X') = k_1(s(X), s(X')), \qquad
        s(X) = \big(\min_{x \in X} x_1, \dots, \min_{x \in X} x_d, \max_{x \in X} x_1, \dots, \max_{x \in X} x_d\big)

    Seed: [HSS] Section 2.2.5, "Kernels on Sets and Subspaces", names the work on multi-instance kernels from which it
    comes.

    Parameters
    ----------
    kernel : Kernel
        On vectors of 2 d columns.

    Notes
    -----
    Domain Sets of vectors; weights of members do not matter. The empty set has no extremes and is refused. Features and
    derivatives those of the kernel on the extremes. Positive definite of order 0 if the kernel is, as a kernel on the
    images of a map; not strict, since different sets have the same extremes. Bounded and normalised as the kernel. Cost
    O(N d) for N members, then that of the kernel on vectors: it is much cheaper than a mean map, and reacts to single
    outlying members, where a mean map reflects what most members are like.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> MinMax(Linear())([[[0.0], [2.0], [1.0]], [[3.0]]])  # (0, 2) and (3, 3)
    array([[ 4.,  6.],
           [ 6., 18.]])
    """

    formula = r"k_1(s(X), s(X')), s(X) = (\min x_1, \dots, \max x_d)"
    cost = "O(Nd) for N members, then that of the kernel on vectors"
    constraints = {"kernel": InstanceOf(Kernel)}

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    def pack(self, X: Any) -> Samples:
        """Turn arrays of vectors into Sets of which none is empty."""
        S = Sets.pack(X)
        require_vectors(self, S)
        if not S.sizes.all():
            raise DomainError(
                f"Set {int(np.flatnonzero(S.sizes == 0)[0])} is empty, so that it has no least and largest values; "
                "MinMax compares sets with members. Leave the set out, or use MeanMap, for which it is zero."
            )
        return S

    @derived
    def part(self) -> Hashable:
        """The sets of vectors."""
        return WHOLE

    def check(self) -> Any:
        """Raise DomainError unless the kernel compares vectors."""
        super().check()
        if self.kernel.domain is not Vectors:
            raise DomainError(
                f"MinMax was given {self.kernel!r}, which compares {self.kernel.domain.__name__}; a kernel on vectors "
                "is accepted. Use for example Gaussian(1.0), or MeanMap for members of other kinds."
            )
        return self

    def _learn(self, S: Samples, y: Any = None, weight: Floats | None = None) -> MinMax:
        """Let the kernel inside learn from the extremes."""
        learned = self.kernel.learn(self._extremes(S), y, weight)
        return self if learned is self.kernel else self.replace(kernel=learned)

    def _prepare(self, A: Samples) -> Samples:
        """Find the extremes, once per collection, and let the kernel inside prepare them."""
        found = self._extremes(A)
        made = self.kernel.prepare(found)
        return A if made is A.derived.get(_EXTREMES) else A.with_derived(_EXTREMES, made)

    def _extremes(self, A: Samples) -> Samples:
        if _EXTREMES in A.derived:
            return A.derived[_EXTREMES]
        assert isinstance(A, Sets) and isinstance(A.members, Vectors)
        X: Any = A.members.X
        if sp.issparse(X):
            pieces = [X[a:b] for a, b in zip(A.offsets[:-1], A.offsets[1:], strict=True)]
            both = [np.vstack([getattr(p, name)(axis=0).toarray() for p in pieces]) for name in ("min", "max")]
        else:
            both = [ufunc.reduceat(X, A.offsets[:-1], axis=0) for ufunc in (np.minimum, np.maximum)]
        return Vectors(np.ascontiguousarray(np.hstack(both), dtype=np.float64))

    def _sides(self, A: Samples, B: Samples) -> tuple[Samples, Samples]:
        left = self.prepare(A).derived[_EXTREMES]
        return left, left if B is A else self.prepare(B).derived[_EXTREMES]

    def _inner(self, view: View) -> View:
        """Return the same tile of extremes."""
        make = partial(self._compared, *view.collections)
        return view.comparison.keep(("extremes", id(self), view.path), make).at(view.rows, view.columns)

    def _compared(self, A: Samples, B: Samples) -> Comparison:
        compare = Comparison if B is A else Comparison.across
        return compare(self.kernel, *self._sides(A, B), np.float64)

    def tile(self, view: View) -> Floats:
        """Compare the extremes."""
        out = view.empty()
        np.copyto(out, self._inner(view).value(self.kernel))
        return out

    def _diag(self, A: Samples) -> Floats:
        """Return the diagonal of the kernel inside."""
        return self.kernel.diag(self._sides(A, A)[0])

    def _features(self, A: Samples, keys: Any = None) -> tuple[Any, Any]:
        """Return the features of the extremes."""
        return self.kernel.features(self._sides(A, A)[0], keys)

    def _feature_count(self, A: Samples) -> int | None:
        """Return their number."""
        return feature_count(self.kernel, self._sides(A, A)[0])

    def value_and_pullback(self, view: View) -> tuple[Floats, Pullback]:
        """Return the values of a tile and the pullback of the kernel inside."""
        return derivative(self._inner(view), self.kernel)

    @derived
    def order(self) -> int | None:
        """That of the kernel inside up to 1; polynomials of vectors are not those of sets."""
        return self.kernel.order if self.kernel.order in (0, 1) else None

    @derived
    def normalised(self) -> bool:
        """That of the kernel inside."""
        return self.kernel.normalised

    @derived
    def bounded(self) -> bool:
        """That of the kernel inside."""
        return self.kernel.bounded


def require_vectors(kernel: Kernel, S: Sets) -> None:
    if not isinstance(S.members, Vectors):
        raise DomainError(
            f"Sets of {type(S.members).__name__} were given to {type(kernel).__name__}, which compares sets of "
            "vectors. Give arrays of shape (m, d), or use MeanMap with a kernel on such members."
        )
