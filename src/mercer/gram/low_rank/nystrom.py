"""Nystrom: K of low rank through a few landmarks among the samples.

Symbols: z_1, ..., z_r the landmarks; C (n, r) kernel values between samples and landmarks; W (r, r) those between
landmarks, W = U diag(lambda) U^T; R = U diag(lambda)^-1/2, so that F = C R has F F^T = C W^+ C^T.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.arrays import Floats, Index, Indices
from mercer.budget import UNLIMITED, Memory, Plan, Resources
from mercer.constraints import Fixed, InstanceOf, Integer, Interval, OneOf, Optional
from mercer.domains import Samples
from mercer.domains.samples import packed
from mercer.errors import ParameterError
from mercer.gram.expansion import Expansion, fits_single, product
from mercer.gram.gram import GramSpec
from mercer.gram.low_rank.factor import FactorGram, block, require_definite, warn_left
from mercer.gram.low_rank.factor_rows import ROWS, factor_plan, large_directions
from mercer.gram.low_rank.samplers import ERRORS, OFFERS, PROBES, SAMPLERS, enough, grown, landmarks
from mercer.kernels.comparison import Comparison
from mercer.kernels.kernel import Kernel, quick_tiles
from mercer.runtime.tiling import in_background, spans

__all__ = ["Nystrom"]
__public__ = __all__

_FLOOR = 1e-7  # of the trace: below it the ridge decides
_LOUD = 0.25  # noise over what it is noise of
_HEIGHT = 256  # rows of a quick tile, which is used while it is in cache
_PIECE = 2**16  # samples that are compared with the landmarks at once


class Nystrom(GramSpec):
    r"""The Gram matrix of low rank through landmarks, some of the samples: every function lives on these.

    .. math:: K \approx C W^{+} C^\top = F F^\top, \qquad C_{ij} = k(x_i, z_j), \quad W_{ij} = k(z_i, z_j)

    Seed: [KIKS] Eqs. (11)-(12); [STS] Section 6; [SS] Section 3.4.3, where estimation in the coordinates of F is the
    fixed-size LS-SVM.

    Parameters
    ----------
    rank : int
        r, the number of landmarks; all samples if there are fewer. With `tol`, the largest number.
    sampler : {"uniform", "entropy", "k-means++", "leverage", "rpcholesky", "greedy"}, default "uniform"
        How landmarks are found.

        * "uniform": drawn without replacement.
        * "entropy": drawn and then exchanged while the quadratic Renyi entropy of the landmarks grows, of a density of
          Gaussian windows in feature space, a third as wide as the distance between landmarks. It spreads them evenly
          over where there are samples, however few: good for smooth functions, and no better than "uniform" where most
          samples resemble no other, as under narrow kernels in many dimensions.
        * "k-means++": each drawn with its squared distance in feature space from those before.
        * "leverage": drawn by ridge leverage scores, estimated recursively on halves of the samples.
        * "rpcholesky": each drawn with what those before leave of k(x, x): randomly pivoted Cholesky.
        * "greedy": each where (nearly) most is left of k(x, x): pivoted Cholesky.

        All but "uniform" and "leverage" consider 11 r samples at most, drawn before.
    random_state : int or None, default 0
        Seed of the draw; None draws differently each time.
    tol : float or None, default None
        Take only as many landmarks as leave tr(K - F F^T) <= tol tr K: their number is doubled until they do, and of
        the last draw no more are kept than are needed. For more than 4096 samples the trace is estimated on 4096, and
        the estimate has to be two standard errors below. If the trace that is left is measured to be more, because of
        `rank` or by chance, a warning is issued.
    landmarks : tuple of int or None, default None
        The places of the landmarks among the samples; then `sampler` is not used, and at most `rank` of them are.
    precision : {"double", "mixed"}, default "double"
        "mixed" computes rows of C in float32 where they are summed, and sums in float64: more than twice as fast. The
        directions of W whose sums would be lost in the rounding, which is measured, are left out of F.

    Notes
    -----
    Offers products, rows and factors. Eigenvalues of W below r eps times the largest are left out, which is the
    pseudo-inverse: no jitter is needed, and with all samples as landmarks K is that of `Dense`. The factor is held if
    it is small, and otherwise computed again, a few rows at a time, whenever it is read: F^T W F is made of C^T W C.
    The fitted function is an `Expansion` on the landmarks. ``residual`` of the Gram is its distance from K. Cost O(n r
    d + n r^2), memory O(r^2) and perhaps n r.

    References
    ----------
    C. Musco, C. Musco, Recursive sampling for the Nystrom method (2017), for "leverage"; Y. Chen, E. N. Epperly,
    J. A. Tropp, R. J. Webber, Randomly pivoted Cholesky (2022).

    Examples
    --------
    >>> from mercer.domains import Vectors
    >>> from mercer.kernels import Gaussian
    >>> S = Vectors.pack([[0.0], [0.1], [2.0]])
    >>> K = Nystrom(2, sampler="entropy").build(Gaussian(1.0), S)
    >>> K.index, (K @ np.ones(3)).round(2)
    (array([0, 2]), array([2.13, 2.15, 1.3 ]))
    >>> round(K.residual_trace, 4)
    0.003
    """

    synonyms = ("column sampling", "landmarks")
    differentiable = True
    low_rank = True

    constraints = {
        "rank": Integer(1),
        "sampler": OneOf(*SAMPLERS),
        "random_state": Optional(Integer(0)),
        "tol": Optional(Fixed(Interval(0.0, 1.0))),
        "landmarks": Optional(InstanceOf(tuple)),
        "precision": OneOf("double", "mixed"),
    }

    def __init__(
        self,
        rank: int,
        sampler: str = "uniform",
        random_state: int | None = 0,
        tol: float | None = None,
        landmarks: tuple[int, ...] | None = None,
        precision: str = "double",
    ) -> None:
        self.rank = rank
        self.sampler = sampler
        self.random_state = random_state
        self.tol = tol
        self.landmarks = landmarks
        self.precision = precision

    def plan(self, kernel: Kernel, n: int, width: int = 1, memory: Memory = None) -> Plan:
        """Return the buffers of landmarks and of sums over rows; the factor itself is held only if it fits."""
        r = min(self.rank, n)
        build = {}
        if self.landmarks is None and self.sampler in ("rpcholesky", "greedy") and r < n:
            build["factor of the candidates"] = 8 * r * min(n, r * (1 + OFFERS))
        if self.tol is not None:
            build["factor of some samples"] = 8 * r * (min(n, PROBES) + r)
        base = {"landmarks": 32 * r * r + 16 * r * width}
        size = 4 if self.precision == "mixed" else 8
        return factor_plan(self, kernel, n, r, memory, base=base, build=build, itemsize=size)

    def build(self, kernel: Kernel, samples: Samples, resources: Resources = UNLIMITED) -> NystromGram:
        """Choose the landmarks and decompose their matrix; hold the factor if it fits."""
        samples = packed(samples, kernel.pack)
        self.check()
        kernel.check()
        require_definite(self, kernel)
        self.plan(kernel, len(samples), getattr(samples, "width", 1), resources.memory).require(resources.memory)
        samples = kernel.prepare(samples)
        index = self._landmarks(kernel, samples, resources)
        gram = on_landmarks(kernel, samples, index, self.precision, resources)
        warn_measured(self, gram, self.tol or 0.0)
        return gram

    def _landmarks(self, kernel: Kernel, samples: Samples, resources: Resources) -> Indices:
        if self.landmarks is not None:
            index = _places(self.landmarks, len(samples))[: self.rank]
            if self.tol is not None:
                index = enough(kernel, samples, index, self.tol, resources)[0]
        elif self.tol is not None:
            index = grown(kernel, samples, self.rank, self.sampler, self.random_state, self.tol, resources)
        else:
            rng = np.random.default_rng(self.random_state)
            index = landmarks(kernel, samples, self.rank, self.sampler, rng, resources)
        return np.sort(index)


def warn_measured(spec: Any, gram: FactorGram, tol: float) -> None:
    """Warn if a Gram is measured to leave more of the trace than was asked for, beyond the error of the measure."""
    if tol > 0.0 and gram.residual.trace > tol + ERRORS * gram.residual.spread:
        warn_left(spec, gram.residual.trace, tol)


def _places(given: tuple[int, ...], n: int) -> Indices:
    """Return given places, each once, or raise ParameterError."""
    index = np.asarray(given)
    if index.ndim != 1 or index.dtype.kind not in "iu" or not len(index) or index.min() < 0 or index.max() >= n:
        raise ParameterError(
            f"landmarks={given!r:.200} was given with {n} samples; a tuple of places from 0 to {n - 1} is accepted. "
            "Give the places of samples that were given to fit."
        )
    return index[np.sort(np.unique(index, return_index=True)[1])].astype(np.intp)


def on_landmarks(
    kernel: Kernel, samples: Samples, index: Indices, precision: str = "double", resources: Resources = UNLIMITED
) -> NystromGram:
    """Return the Gram of prepared samples on the landmarks at some places."""
    part = samples.take(index)
    chosen = part.landmarks()
    W = block(kernel, part, chosen)
    values, U = in_background(np.linalg.eigh, W, work=9.0 * len(W) ** 3)
    least = len(W) * np.finfo(np.float64).eps * max(float(values[-1]), 0.0)
    gram = NystromGram(kernel, samples, chosen, U, resources)
    gram.index = index
    if precision == "mixed" and fits_single(samples):
        gram.tile_dtype = np.dtype(np.float32)
        kept = values > least
        values, U = values[kept], U[:, kept]
        kept = gram.audible(values, U)
    else:
        kept = values > least
    gram.root = np.ascontiguousarray(U[:, kept] / np.sqrt(values[kept]))
    gram._directions = None
    gram.hold()
    return gram


class NystromGram(FactorGram):
    """A Gram matrix on landmarks, as an operator: F = C R."""

    def __init__(
        self, kernel: Kernel, samples: Samples, landmarks: Samples, root: Floats, resources: Resources = UNLIMITED
    ) -> None:
        super().__init__(kernel, samples, resources)
        self.landmarks, self.root = landmarks, root
        self.index: Indices | None = None  # places of the landmarks among the samples

    @property
    def rank(self) -> int:
        """Number of columns of F: of the landmarks, or fewer."""
        return self.root.shape[1]

    def _columns(self, T: Samples) -> Floats:
        return block(self.kernel, T, self.landmarks, self.tile_dtype)

    def _reader(self, span: slice) -> tuple[Callable[[slice], Floats], int]:
        quick = None
        if self._through is not None and self._kept is None:
            comparison = Comparison(self.kernel, self.samples.take(span), self.landmarks, self.tile_dtype)
            quick = quick_tiles(self.kernel, comparison) if span.stop > span.start else None
        if quick is None:
            return super()._reader(span)
        make, every, first = quick, slice(0, len(self.landmarks)), span.start
        return lambda rows: make(slice(rows.start - first, rows.stop - first), every), _HEIGHT

    def _rows(self, T: Samples) -> Floats:
        return self._columns(T) @ self.root

    def _times(self, w: Floats, index: Indices | None = None) -> Floats:
        """Return F w, of some rows of F: the function with the coefficients R w, without writing tiles of C."""
        if self._held is not None or self._kept is not None:
            return super()._times(w, index)
        return self._applied(self.samples if index is None else self.samples.take(index), self.root @ w)

    def _applied(self, T: Samples, coef: Floats) -> Floats:
        """Return C coef of prepared samples, in float64."""
        out = np.empty((len(T), *coef.shape[1:]))
        for rows in self._stretches(slice(0, len(T))) if T.is_streamed else spans(len(T), _PIECE):
            comparison = Comparison(self.kernel, T.take(rows), self.landmarks, np.float64)
            out[rows] = product(self.kernel, comparison, coef, self.resources)
        return out

    def audible(self, values: Floats, U: Floats) -> Any:
        r"""Return which directions of W are not lost when sums over rows of C are made in float32.

        The sums over some samples are made in float32 and in float64. Their difference, scaled to all samples and
        seen in the coordinates of F, is compared with the diagonal of F^T F and 1e-7 of the trace, below which a ridge
        hides it. A direction whose noise is above a quarter of that is left out.

        Parameters
        ----------
        values : (c,) array
            Eigenvalues of W, ascending, positive.
        U : (c, c) array
            Its eigenvectors.

        Returns
        -------
        kept : (c,) array of bool
        """
        n = len(self.samples)
        some = np.sort(np.random.default_rng(1).choice(n, min(n, ROWS), replace=False))
        T = self.samples.take(some)
        exact = block(self.kernel, T, self.landmarks)
        rough = self._columns(T)
        directions = large_directions(exact).astype(rough.dtype)
        rest = rough - (rough @ directions) @ directions.T
        wide = exact - (exact @ directions.astype(float)) @ directions.T.astype(float)
        error = (rest.T @ rest - wide.T @ wide).astype(np.float32)
        root = U / np.sqrt(values)
        own = n * (np.square(exact @ root).mean(axis=0) + _FLOOR * float(self.kernel.diag(T).mean()))
        R = (root / np.sqrt(own)).astype(np.float32)
        noise = np.square(R.T @ (error @ R)) * np.float32(n / len(some))
        return 2.0 * np.sqrt(np.triu(noise).sum(axis=1)) <= _LOUD

    def take(self, index: Index) -> NystromGram:
        """Return the Gram of some samples; the landmarks stay those of all."""
        small = super().take(index)
        small.index = None
        return small

    def _function(self, weights: Floats, intercept: Floats) -> Expansion:
        return Expansion(self.kernel, self.landmarks, self.root @ weights, intercept)
