"""R-convolution: a kernel on objects made of kernels on their parts.

Symbols: R(x) the ways in which x is made of parts (x_1, ..., x_P), k_p the kernel on parts p; T the distinct tuples of
parts of a collection, C the matrix of how often each sample has each tuple, M the products of part kernels of tuples.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer import budget
from mercer.arrays import Floats, Indices
from mercer.constraints import Satisfies
from mercer.domains import Samples, Whole
from mercer.domains.decompositions import Decompositions
from mercer.domains.samples import is_hashable
from mercer.kernels.abilities import Differentiated, Featured
from mercer.kernels.comparison import View
from mercer.kernels.composite import KERNELS, offered, row_products
from mercer.kernels.counts import arrays_of
from mercer.kernels.kernel import Kernel, Tiled, feature_count, pullback
from mercer.kernels.monomials import require_few
from mercer.spec import derived, free_values

__all__ = ["Convolution"]
__public__ = __all__

_KEPT = 2**23  # entries of a matrix of all parts that is kept rather than made again for every tile
_CHUNK = 2**20  # entries of M at a time
_KEY = "tuples"


@dataclass(frozen=True, eq=False)
class _Tuples:
    """How often each sample has each distinct tuple; slices of a collection share the tuples."""

    counts: sp.csr_array  # (n, T) float64
    tuples: Indices  # (T, P)

    def __len__(self) -> int:
        return len(self.counts.indptr) - 1

    @property
    def nbytes(self) -> int:
        """Bytes of the counts and of the tuples."""
        return sum(a.nbytes for a in arrays_of(self.counts)) + self.tuples.nbytes

    def take(self, index: slice | Indices) -> _Tuples:
        """Counts of some of the samples."""
        return _Tuples(self.counts[index], self.tuples)

    def used(self) -> tuple[sp.csr_array, Indices]:
        """The tuples that occur, and how often."""
        columns, places = np.unique(self.counts.indices, return_inverse=True)
        matrix = sp.csr_array((self.counts.data, places, self.counts.indptr), shape=(len(self), len(columns)))
        return matrix, self.tuples[columns]


class Convolution(Tiled, Featured, Differentiated):
    r"""R-convolution: objects are similar if they can be taken apart into similar parts.

    .. math:: k(x, x') = \sum_{(x_1, \dots, x_P) \in R(x)} \; \sum_{(x'_1, \dots, x'_P) \in R(x')} \;
        \prod_{p=1}^P k_p(x_p, x'_p)

    Seed: [HSS] Eq. (37), "Convolutions and Structures"; [KIKS] Section 6.1.2.

    Parameters
    ----------
    decompose : callable
        R: takes one object and returns a list of tuples of P parts. A tuple that comes twice counts twice.
    kernels : tuple of Kernel
        k_1, ..., k_P, each on the domain of its parts.

    Notes
    -----
    Domain Decompositions: any objects that the function takes. An object that cannot be taken apart has the empty sum,
    0. Each object is taken apart once, and equal parts are packed and compared once. Features all products of features
    of parts, if all kernels have them; differentiable in the parameters of the kernels if all of them are. Positive
    definite of order 0 if all kernels are, since the sums are finite. Not bounded, as it grows with the number of
    tuples. Strictness and universality are not declared. Cost one value of each kernel for each pair of distinct parts
    and one product for each pair of distinct tuples. A kernel with a function of yours inside cannot be saved in a
    model file, unless your own class has the function in its code.

    Examples
    --------
    >>> from mercer.kernels import Match, Spectrum
    >>> def three(word):
    ...     return [(word[i : i + 3],) for i in range(len(word) - 2)]
    >>> Convolution(three, (Match(),))(["statistics", "computation"])  # is Spectrum(3)
    array([[8., 2.],
           [2., 9.]])
    >>> def halves(word):
    ...     return [(word[:i], word[i:]) for i in range(1, len(word))]
    >>> Convolution(halves, (Spectrum(1), Match()))(["ATG"], ["AATG", "G"])
    array([[5., 0.]])
    """

    synonyms = ("Haussler's kernel", "R-convolution")
    domain = Decompositions
    formula = r"\sum_{R(x)} \sum_{R(x')} \prod_p k_p(x_p, x'_p)"
    cost = "the kernels for pairs of distinct parts, and a product for each pair of tuples"
    constraints = {
        "decompose": Satisfies(
            "a function of one object that returns a list of tuples of its parts",
            lambda value: callable(value) and is_hashable(value),
            "lambda word: [(letter,) for letter in word]",
        ),
        "kernels": KERNELS,
    }

    def __init__(self, decompose: Callable[[Any], Iterable[Any]], kernels: tuple[Kernel, ...]) -> None:
        self.decompose = decompose
        self.kernels = kernels

    # data -------------------------------------------------------------------------------------------

    @derived
    def part(self) -> Hashable:
        """The objects taken apart: other kernels of a sum may read them whole, or take them apart otherwise."""
        return Whole(("parts", self.decompose, tuple(map(_shape, self.kernels))))

    def parts(self) -> Mapping[Hashable, Callable[[Any], Samples]]:
        """Return the objects, taken apart."""
        return {self.part: self.pack}

    def pack(self, X: Any) -> Samples:
        """Take the objects apart and pack their parts; packed Decompositions are returned as they are."""
        return Decompositions.pack(X, self.decompose, [kernel.pack for kernel in self.kernels])

    def _learn(self, S: Samples, y: Any = None, weight: Floats | None = None) -> Kernel:
        """Let each kernel learn from its parts, as often as they occur."""
        assert isinstance(S, Decompositions)
        if not S.parts:
            return self
        rows = S.index.take(slice(None))
        v = None if weight is None else np.repeat(np.asarray(weight, dtype=float), rows.lengths)
        learned = tuple(
            kernel.learn(part.take(rows.codes[:, p]), None, v)
            for p, (kernel, part) in enumerate(zip(self.kernels, S.parts, strict=True))
        )
        same = all(new is old for new, old in zip(learned, self.kernels, strict=True))
        return self if same else self.replace(kernels=learned)

    def _prepare(self, A: Samples) -> Samples:
        """Prepare the parts, and count the tuples of every sample."""
        assert isinstance(A, Decompositions)
        if A.parts:
            A = A.with_parts(tuple(k.prepare(part) for k, part in zip(self.kernels, A.parts, strict=True)))
        return A if _KEY in A.derived else A.with_derived(_KEY, _counted(A))

    # numbers ----------------------------------------------------------------------------------------

    def _grams(self, A: Decompositions, B: Decompositions) -> list[Floats] | None:
        """Return the matrices of all parts, or None if they are too large to be kept."""
        if any(len(a) * len(b) > _KEPT for a, b in zip(A.parts, B.parts, strict=False)):
            return None
        return [k.block(a, b) for k, a, b in zip(self.kernels, A.parts, B.parts, strict=True)]

    def _factors(
        self, grams: list[Floats] | None, A: Decompositions, B: Decompositions, left: Indices, right: Indices
    ) -> Iterable[Floats]:
        """Yield k_p between the parts of two lists of tuples, (len left, len right), kernel after kernel."""
        for p, kernel in enumerate(self.kernels):
            if grams is not None:
                yield grams[p][np.ix_(left[:, p], right[:, p])]
                continue
            (a, i), (b, j) = (np.unique(side[:, p], return_inverse=True) for side in (left, right))
            yield kernel.block(A.parts[p].take(a), B.parts[p].take(b))[np.ix_(i, j)]

    def _sum(self, grams: list[Floats] | None, A: Samples, B: Samples, rows: slice, columns: slice) -> Floats:
        """Return C_A M C_B^T for some rows and columns, some tuples of the left at a time."""
        assert isinstance(A, Decompositions) and isinstance(B, Decompositions)
        (left, first), (right, second) = (self._tuples(S).take(s).used() for S, s in ((A, rows), (B, columns)))
        out = np.zeros((rows.stop - rows.start, columns.stop - columns.start))
        if not len(first) or not len(second):
            return out
        by_tuple = sp.csc_array(left)
        step = max(1, _CHUNK // len(second))
        with np.errstate(over="ignore", invalid="ignore"):
            for start in range(0, len(first), step):
                stop = min(start + step, len(first))
                M: Any = None
                for factor in self._factors(grams, A, B, first[start:stop], second):
                    M = factor if M is None else M * factor
                out += by_tuple[:, start:stop] @ (right @ M.T).T
        return out

    def _tuples(self, A: Samples) -> _Tuples:
        return self.prepare(A).derived[_KEY]

    def tile(self, view: View) -> Floats:
        """Compare the parts and add over tuples."""
        A, B = view.collections
        assert isinstance(A, Decompositions) and isinstance(B, Decompositions)
        grams = view.comparison.keep(("parts", id(self), view.path), lambda: self._both(A, B))
        out = view.empty()
        np.copyto(out, self._sum(grams, A, B, view.rows, view.columns))
        return out

    def _both(self, A: Decompositions, B: Decompositions) -> list[Floats] | None:
        return self._grams(A, B) if A.parts and B.parts else None

    def _diag(self, A: Samples) -> Floats:
        """Compare each sample with itself."""
        A = self.prepare(A)
        assert isinstance(A, Decompositions)
        grams = self._both(A, A)
        ones = [slice(i, i + 1) for i in range(len(A))]
        return np.array([self._sum(grams, A, A, one, one)[0, 0] for one in ones])

    def _features(self, A: Samples, keys: Any = None) -> tuple[Any, Any]:
        """Return sums over tuples of products of features of parts, and the keys of the parts with their widths."""
        A = self.prepare(A)
        assert isinstance(A, Decompositions)
        if not A.parts:
            return sp.csr_array((len(A), 0 if keys is None else keys[1])), keys
        given = (None,) * len(self.kernels) if keys is None else keys[0]
        found = [k.features(part, key) for k, part, key in zip(self.kernels, A.parts, given, strict=True)]
        require_few(self, int(np.prod([float(matrix.shape[1]) for matrix, _ in found])))
        counted = self._tuples(A)
        matrix: Any = None
        for p, (F, _) in enumerate(found):
            rows = F[counted.tuples[:, p]]
            matrix = rows if matrix is None else row_products(matrix, rows)
        return counted.counts @ matrix, (tuple(key for _, key in found), matrix.shape[1])

    def _feature_count(self, A: Samples) -> int | None:
        """Return the product of the kernels' numbers of features of the parts."""
        assert isinstance(A, Decompositions)
        if not A.parts:
            return 0
        counts = [feature_count(k, part) for k, part in zip(self.kernels, A.parts, strict=True)]
        return None if None in counts else int(np.prod([float(count) for count in counts if count is not None]))

    def _pullback(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return the derivatives in the parameters of the kernels: weights go back to pairs of parts."""
        A, B = self.prepare(A), self.prepare(B)
        assert isinstance(A, Decompositions) and isinstance(B, Decompositions)
        if not A.parts or not B.parts:
            return np.zeros(len(free_values(self)))
        (left, first), (right, second) = self._tuples(A).used(), self._tuples(B).used()
        size = 8 * len(first) * len(second) * (len(self.kernels) + 2)
        budget.Plan(f"The derivative of {self!r}", {"products of tuples": size}).require(None)
        V = np.asarray(left.T @ np.asarray(W, dtype=float)) @ right
        factors = list(self._factors(None, A, B, first, second))
        found = []
        for p, kernel in enumerate(self.kernels):
            others = [factor for q, factor in enumerate(factors) if q != p]
            weight = np.prod([V, *others], axis=0)
            a, b = (_places(side[:, p], len(S.parts[p])) for side, S in ((first, A), (second, B)))
            found.append(pullback(kernel, A.parts[p], B.parts[p], np.asarray(a.T @ weight) @ b))
        return np.concatenate(found)

    @derived
    def order(self) -> int | None:
        """Positive definite if all kernels are; nothing is known otherwise."""
        return 0 if all(kernel.order == 0 for kernel in self.kernels) else None

    @property
    def capabilities(self) -> frozenset[str]:
        """Features and derivatives if all kernels have them."""
        return frozenset({"features", "pullback"}).intersection(*(offered(kernel) for kernel in self.kernels))


def _counted(A: Decompositions) -> _Tuples:
    """Return the distinct tuples of a collection, and how often each sample has each."""
    rows = A.index.take(slice(None))
    tuples, places = np.unique(rows.codes, axis=0, return_inverse=True)
    counts = sp.csr_array((np.ones(len(rows.codes)), places.ravel(), rows.offsets), shape=(len(A), len(tuples)))
    counts.sum_duplicates()
    return _Tuples(counts, tuples)


def _places(places: Indices, width: int) -> sp.csr_array:
    """Return the matrix with a one in each row at a place."""
    return sp.csr_array((np.ones(len(places)), places, np.arange(len(places) + 1)), shape=(len(places), width))


def _shape(kernel: Kernel) -> Hashable:
    """Return a key that distinguishes kernels that pack parts in different ways; learning does not change it."""
    return type(kernel).__name__, tuple(_shape(child) for _, child in kernel._children() if isinstance(child, Kernel))
