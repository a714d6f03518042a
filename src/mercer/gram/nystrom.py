"""Nystrom: K of low rank through a few landmarks among the samples.

Symbols: z_1, ..., z_r the landmarks; C (n, r) kernel values between samples and landmarks; W (r, r) those between
landmarks, W = U diag(lambda) U^T; R = U diag(lambda)^-1/2, so that F = C R has F F^T = C W^+ C^T.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.arrays import Floats, Index, Indices
from mercer.budget import Plan, Resources, budget
from mercer.constraints import Integer, OneOf, Optional
from mercer.domains import Samples
from mercer.errors import CapabilityError
from mercer.gram.expansion import Expansion
from mercer.gram.gram import Cross, Gram, GramSpec
from mercer.kernels.comparison import Comparison
from mercer.kernels.kernel import Kernel, fill
from mercer.numerics.background import in_background
from mercer.numerics.tiling import run_tasks, spans

__all__ = ["Nystrom"]

_NOTHING = Resources()
_ROWS = 1024  # rows of the factor that a thread computes at once
_SUMS = 2**23  # numbers in the partial sums over rows of the factor
_SHARE = 0.25  # of the memory budget that the whole factor may take
_CANDIDATES = 256  # samples that are offered for an exchange at once
_OFFERS = 10  # candidates per landmark, at most


class Nystrom(GramSpec):
    r"""The Gram matrix of low rank through landmarks, some of the samples: every function lives on these.

    .. math:: K \approx C W^{+} C^\top = F F^\top, \qquad C_{ij} = k(x_i, z_j), \quad W_{ij} = k(z_i, z_j)

    Seed: [KIKS] Eqs. (11)-(12); [STS] Section 6; [SS] Section 3.4.3, where estimation in the coordinates of F is the
    fixed-size LS-SVM. Ledger: A-NYS, A-FIXEDSIZE.

    Parameters
    ----------
    rank : int
        r, how many landmarks there are; all samples if there are fewer.
    sampler : {"uniform", "entropy"}, default "uniform"
        How landmarks are found: drawn without replacement; or drawn and then exchanged while the quadratic Renyi
        entropy of the landmarks grows, -log of the mean of W, which spreads them over the samples. For the second the
        kernel should fall with distance, as the Gaussian does.
    random_state : int or None, default 0
        Of the draw; None is another one each time.

    Notes
    -----
    Offers products, rows and factors. Eigenvalues of W below r eps times the largest are left out, which is the
    pseudo-inverse: no jitter is needed, and with all samples as landmarks K is that of `Dense`. The factor is held if
    it fits a quarter of the memory budget, and otherwise computed again, rows by rows, whenever it is read. The fitted
    function is an `Expansion` on the landmarks. Cost O(n r d + n r^2), memory O(r^2) and perhaps n r.

    Examples
    --------
    >>> from mercer.domains import Vectors
    >>> from mercer.kernels import Gaussian
    >>> S = Vectors.pack([[0.0], [0.1], [2.0]])
    >>> K = Nystrom(2, sampler="entropy").build(Gaussian(1.0), S)
    >>> K.index, (K @ np.ones(3)).round(2)
    (array([0, 2]), array([2.13, 2.15, 1.3 ]))
    """

    constraints = {
        "rank": Integer(1),
        "sampler": OneOf("uniform", "entropy"),
        "random_state": Optional(Integer(0)),
    }

    def __init__(self, rank: int, sampler: str = "uniform", random_state: int | None = 0) -> None:
        self.rank = rank
        self.sampler = sampler
        self.random_state = random_state

    def plan(self, kernel: Kernel, n: int, width: int = 1) -> Plan:
        """Return the buffers without which there is no factor; the factor itself is held only if it fits."""
        r = min(self.rank, n)
        buffers = {"landmarks": 32 * r * r, "rows of the factor": 64 * min(_ROWS, n) * r, "operands": 8 * r * width}
        return Plan(f"{self!r} of {kernel!r} on {n} samples", buffers, ("a smaller rank",))

    def build(self, kernel: Kernel, samples: Samples, resources: Resources = _NOTHING) -> NystromGram:
        """Choose the landmarks and decompose their matrix; hold the factor if it fits."""
        self.check()
        kernel.check()
        if kernel.order:
            raise CapabilityError(
                f"Nystrom() was given {kernel!r}, which is conditionally positive definite; it needs a positive "
                "definite kernel, whose matrix has a root. Use gram=Dense() or gram=Tiles()."
            )
        self.plan(kernel, len(samples), getattr(samples, "width", 1)).require(resources.memory)
        samples = kernel.prepare(samples)
        index = self._landmarks(kernel, samples)
        landmarks = samples.take(index).landmarks()
        gram = NystromGram(kernel, samples, landmarks, _root(_block(kernel, landmarks, landmarks)), resources)
        gram.index = index
        gram.hold()
        return gram

    def _landmarks(self, kernel: Kernel, samples: Samples) -> Indices:
        n = len(samples)
        if self.rank >= n:
            return np.arange(n, dtype=np.intp)
        order = np.random.default_rng(self.random_state).permutation(n)
        chosen, rest = order[: self.rank], order[self.rank : self.rank * (1 + _OFFERS)]
        if self.sampler == "entropy":
            chosen = exchanged(lambda a, b: _block(kernel, samples.take(a), samples.take(b)), chosen, rest)
        return np.sort(chosen)


class NystromGram(Gram):
    """A Gram matrix on landmarks, as an operator."""

    def __init__(
        self, kernel: Kernel, samples: Samples, landmarks: Samples, root: Floats, resources: Resources = _NOTHING
    ) -> None:
        self.kernel, self.samples, self.resources = kernel, samples, resources
        self.landmarks, self.root = landmarks, root
        self.index: Indices | None = None  # places of the landmarks among the samples
        self._held: Floats | None = None

    def hold(self) -> None:
        """Compute the whole factor, if it fits."""
        n, r = len(self.samples), self.root.shape[1]
        if 8 * n * r <= _SHARE * budget(self.resources.memory):
            self._held = self._features(self.samples, self.resources.monitor)

    def features(self, T: Samples) -> Floats:
        """Return the factor's rows of new samples, (m, r): k(t, z) R."""
        return self._features(self.kernel.prepare(T))

    def _features(self, T: Samples, monitor: Any = None) -> Floats:
        out = np.empty((len(T), self.root.shape[1]))

        def work(rows: slice) -> None:
            np.matmul(_block(self.kernel, T.take(rows), self.landmarks), self.root, out=out[rows])

        run_tasks(spans(len(T), _ROWS), work, n_threads=self.resources.n_threads, monitor=monitor)
        return out

    def factor(self, rows: slice = slice(None)) -> Floats:
        """Return rows of F."""
        return self._features(self.samples.take(rows)) if self._held is None else self._held[rows]

    def _part(self, rows: slice, index: Indices | None) -> Floats:
        """Return consecutive rows of F, or of the rows of F at some places, without further threads."""
        chosen = rows if index is None else index[rows]
        if self._held is not None:
            return self._held[chosen]
        return _block(self.kernel, self.samples.take(chosen), self.landmarks) @ self.root

    def _count(self, index: Indices | None) -> int:
        return len(self.samples) if index is None else len(index)

    def _summed(
        self, shapes: list[tuple[int, ...]], add: Callable[..., None], index: Indices | None = None
    ) -> list[Floats]:
        """Return sums over rows of F, which `add` adds to given arrays; the order of the sum is always the same."""
        n, size = self._count(index), sum(int(np.prod(shape)) for shape in shapes)
        ranges = spans(n, max(_ROWS, -(-n // min(max(_SUMS // max(size, 1), 2), 64)))) or [slice(0, 0)]
        sums: list[list[Floats]] = [[np.zeros(shape) for shape in shapes] for _ in ranges]
        stop = threading.Event()

        def work(place: int) -> None:
            first, last = ranges[place].start, ranges[place].stop
            for start in range(first, last, _ROWS):
                if stop.is_set():
                    return
                rows = slice(start, min(start + _ROWS, last))
                add(rows, self._part(rows, index), *sums[place])

        run_tasks(range(len(ranges)), work, n_threads=self.resources.n_threads, stop=stop)
        total = sums[0]
        for more in sums[1:]:
            for one, other in zip(total, more, strict=True):
                one += other
        return total

    def normal(self, weight: Floats, rhs: Floats) -> tuple[Floats, Floats]:
        """Return F^T W F and F^T W rhs, streamed over blocks of rows in a fixed order."""
        n, r = len(self.samples), self.root.shape[1]
        weight = np.broadcast_to(np.asarray(weight, dtype=float), (n,))
        rhs = np.asarray(rhs, dtype=float)

        def add(rows: slice, F: Floats, square: Floats, moment: Floats) -> None:
            scaled = F * weight[rows, None]
            square += F.T @ scaled
            moment += scaled.T @ rhs[rows]

        square, moment = self._summed([(r, r), (r, *rhs.shape[1:])], add)
        return square, moment

    def _moment(self, V: Floats, index: Indices | None = None) -> Floats:
        """Return F^T V, of some rows of F."""
        V = np.asarray(V, dtype=float)

        def add(rows: slice, F: Floats, total: Floats) -> None:
            total += F.T @ V[rows]

        return self._summed([(self.root.shape[1], *V.shape[1:])], add, index)[0]

    def _times(self, w: Floats, index: Indices | None = None) -> Floats:
        """Return F w, of some rows of F."""
        out = np.empty((self._count(index), *w.shape[1:]))

        def work(rows: slice) -> None:
            out[rows] = self._part(rows, index) @ w

        run_tasks(spans(len(out), _ROWS), work, n_threads=self.resources.n_threads)
        return out

    def __matmul__(self, V: Floats) -> Floats:
        """Return F (F^T V)."""
        return self._times(self._moment(V))

    def diag(self) -> Floats:
        """Return the squared lengths of the rows of F."""
        out = np.empty(len(self.samples))
        for rows in spans(len(out), 8 * _ROWS):
            F = self.factor(rows)
            out[rows] = np.einsum("ij,ij->i", F, F)
        return out

    def rows(self, index: Indices, columns: Index = slice(None), out: Floats | None = None) -> Floats:
        """Return K[index][:, columns]."""
        index = np.asarray(index)
        left = self._part(slice(0, len(index)), index)
        every = isinstance(columns, slice) and columns == slice(None)
        found = self._times(left.T, None if every else np.arange(len(self.samples))[columns]).T
        if out is None:
            return np.ascontiguousarray(found)
        out[...] = found
        return out

    @property
    def entry_cost(self) -> float:
        """Two operations a coordinate, and as many again for each landmark where the factor is not held."""
        r = self.root.shape[1]
        return 2.0 * r if self._held is not None else 2.0 * r * (1 + len(self.landmarks))

    def update(self, index: Indices, V: Floats, out: Floats, rows: Indices | None = None) -> None:
        """Add K[:, index] @ V to `out`."""
        out += self._times(self._moment(V, np.asarray(index)), None if rows is None else np.asarray(rows))

    def take(self, index: Index) -> NystromGram:
        """Return the Gram of some samples; the landmarks stay those of all."""
        small = NystromGram(self.kernel, self.samples.take(index), self.landmarks, self.root, self.resources)
        small._held = None if self._held is None else self._held[index]
        return small

    def to_dense(self) -> Floats:
        """Return K as a new (n, n) array, if the memory budget allows it."""
        n = len(self.samples)
        Plan(f"{self!r}", {"Gram matrix": 8 * n * n, "factor": 8 * n * self.root.shape[1]}).require(
            self.resources.memory
        )
        F = self.factor()
        return F @ F.T

    def cross(self, T: Samples) -> NystromCross:
        """Return the operator between new samples and these, under the same approximation."""
        return NystromCross(self, T)

    def expand(self, solution: Any, intercept: Any = 0.0) -> Expansion:
        """Return the function as an expansion on the landmarks; its weights come from the solver, or are F^T coef."""
        weights = solution.weights
        if weights is None:
            weights = self._moment(solution.coef)
        return Expansion(self.kernel, self.landmarks, self.root @ weights, np.asarray(intercept, dtype=float))


class NystromCross(Cross):
    """The (m, n) matrix between new samples and training samples in the coordinates of the landmarks."""

    def __init__(self, gram: NystromGram, T: Samples) -> None:
        self.gram, self.T = gram, T
        self.shape = len(T), len(gram.samples)

    def __matmul__(self, V: Floats) -> Floats:
        """Return the product with V of shape (n,) or (n, k)."""
        moment = self.gram._moment(V)
        out = np.empty((len(self.T), *moment.shape[1:]))
        for rows in spans(len(self.T), 8 * _ROWS):
            out[rows] = self.gram.features(self.T.take(rows)) @ moment
        return out

    def to_dense(self) -> Floats:
        """Return the matrix as a new array, if the memory budget allows it."""
        m, n = self.shape
        Plan(f"{self.gram!r}, {m} x {n}", {"matrix": 8 * m * n}).require(self.gram.resources.memory)
        return self.gram._times(self.gram.features(self.T).T).T.copy()


def exchanged(block: Callable[[Indices, Indices], Floats], chosen: Indices, offered: Indices) -> Indices:
    r"""Exchange members of a subset for others while its quadratic Renyi entropy grows.

    .. math:: H = -\log \frac{1}{r^2} \sum_{i, j} k(z_i, z_j)

    Each sample offered takes the place of the member whose loss lowers the sum most, if it becomes lower.

    Seed: [SS] Section 3.4.3 (fixed-size LS-SVM, [120], [36]). Ledger: A-FIXEDSIZE.

    Parameters
    ----------
    block : callable
        ``block(a, b)`` returns kernel values between samples at two lists of places.
    chosen : (r,) array of int
        The subset at the start.
    offered : (q,) array of int
        Samples outside of it, in the order in which they are tried.

    Returns
    -------
    chosen : (r,) array of int

    Notes
    -----
    Cost O(q r) kernel values, and as many operations.

    Examples
    --------
    >>> x = np.array([0.0, 0.1, 5.0])
    >>> exchanged(lambda a, b: np.exp(-((x[a][:, None] - x[b]) ** 2)), np.array([0, 1]), np.array([2]))
    array([0, 2])
    """
    chosen = np.array(chosen)
    W = np.array(block(chosen, chosen), dtype=float)
    sums, own = W.sum(axis=1), np.diagonal(W).copy()
    for rows in spans(len(offered), _CANDIDATES):
        some = offered[rows]
        against, among = np.array(block(some, chosen), dtype=float), np.asarray(block(some, some), dtype=float)
        for place, sample in enumerate(some):
            k, kk = against[place], float(among[place, place])
            # the sum without i and with the sample, less the sum now: 2 (k.1 - k_i) + k(s, s) - 2 sums_i + k(i, i)
            change = 2.0 * (k.sum() - k) + kk - 2.0 * sums + own
            worst = int(np.argmin(change))
            if change[worst] >= 0.0:
                continue
            column, new = W[worst].copy(), k.copy()
            new[worst] = kk
            W[worst], W[:, worst] = new, new
            sums += new - column
            sums[worst], own[worst], chosen[worst] = new.sum(), kk, sample
            against[:, worst] = among[:, place]
    return chosen


def _block(kernel: Kernel, A: Samples, B: Samples) -> Floats:
    """Return kernel values of prepared samples in float64, tile by tile, without further threads."""
    out = np.empty((len(A), len(B)))
    fill(kernel, Comparison(kernel, A, B, np.float64), out, n_threads=1)
    return out


def _root(W: Floats) -> Floats:
    """Return R (r, q) with R R^T the pseudo-inverse of W, without the directions that rounding made."""
    values, U = in_background(np.linalg.eigh, W, work=9.0 * len(W) ** 3)
    kept = values > len(W) * np.finfo(np.float64).eps * max(float(values[-1]), 0.0)
    return U[:, kept] / np.sqrt(values[kept])
