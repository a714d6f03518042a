"""IncompleteCholesky: the Gram matrix through the first columns of its pivoted Cholesky factor.

Symbols: L (n, r) the factor, p its pivots, T = L[p] lower triangular, C kernel values with the pivots: L = C T^-T.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from mercer.arrays import Floats
from mercer.budget import UNLIMITED, Memory, Plan, Resources
from mercer.constraints import Fixed, Integer, Interval, OneOf, Optional
from mercer.domains import Samples
from mercer.domains.samples import packed
from mercer.gram.expansion import fits_single
from mercer.gram.gram import GramSpec
from mercer.gram.low_rank.factor import Residual, block, require_definite, warn_left
from mercer.gram.low_rank.factor_rows import working
from mercer.gram.low_rank.nystrom import NystromGram
from mercer.gram.low_rank.samplers import pivots
from mercer.kernels.kernel import Kernel
from mercer.numerics.pivoting import CANDIDATES, PartialFactor, pivoted_cholesky
from mercer.runtime.tiling import Stopped

__all__ = ["IncompleteCholesky"]
__public__ = __all__


class IncompleteCholesky(GramSpec):
    r"""The Gram matrix of low rank by incomplete Cholesky: samples whose image the others express worst are its basis.

    .. math:: K \approx L L^\top, \qquad p_j = \arg\max_i \Big(k_{ii} - \sum_{l < j} L_{il}^2\Big), \qquad
        L_{ij} = \Big(k_{i p_j} - \sum_{l < j} L_{il} L_{p_j l}\Big) / L_{p_j j}

    Only the diagonal and the chosen columns of K are computed. The rows of L are the coordinates that partial
    Gram-Schmidt in feature space gives, in the basis of the same samples: the two are one algorithm.

    Seed: [KIKS] Section 3.2, with the indices of the printed recursion corrected; [STS] Section 6 (incomplete Cholesky
    and partial Gram-Schmidt); [ST] "Subspace methods".

    Parameters
    ----------
    rank : int, default 1000
        Largest number of columns of L.
    tol : float, default 1e-3
        Columns are added until tr(K - L L^T) <= tol tr K; 0 asks for the rank alone.
    pivoting : {"large", "largest", "drawn"}, default "large"
        "largest" is the formula above, one column at a time. "large" takes some hundred pivots at once, each at least
        half as large as the largest, which is many times faster and usually leaves no more of the trace. "drawn"
        draws them with what is left as their probability, which is equally fast and protects against outliers.
    random_state : int or None, default 0
        Seed of drawn pivots.
    precision : {"double", "mixed"}, default "double"
        "mixed" holds L in float32: half the memory and time, and entries are off by about 1e-6 of the largest. Not
        for "largest", which is in float64.

    Notes
    -----
    Offers products, rows and factors; L is held. With all samples as pivots K is that of `Dense`. The fitted function
    is an `Expansion` on the pivots. ``residual`` of the Gram has the trace that is left, over all samples. Cost
    O(n r d + n r^2), memory 8 n r bytes, also for a `Stream`, whose rows are not held but whose L is; `Nystrom` with
    ``sampler="rpcholesky"`` needs less, and for a stream nothing that grows with r n.

    Examples
    --------
    >>> from mercer.domains import Strings
    >>> from mercer.kernels import Spectrum
    >>> S = Strings.pack(["abab", "baba", "aaaa", "abab"])
    >>> K = IncompleteCholesky(rank=3).build(Spectrum(2), S)
    >>> K.rank, np.allclose(K.to_dense(), Spectrum(2)(S)), K.residual_trace
    (3, True, 0.0)
    """

    synonyms = ("incomplete Cholesky factorisation", "partial Gram-Schmidt orthogonalisation")
    differentiable = True
    low_rank = True

    constraints = {
        "rank": Integer(1),
        "tol": Fixed(Interval(0.0, 1.0, closed="left")),
        "pivoting": OneOf("large", "largest", "drawn"),
        "random_state": Optional(Integer(0)),
        "precision": OneOf("double", "mixed"),
    }

    def __init__(
        self,
        rank: int = 1000,
        tol: float = 1e-3,
        pivoting: str = "large",
        random_state: int | None = 0,
        precision: str = "double",
    ) -> None:
        self.rank = rank
        self.tol = tol
        self.pivoting = pivoting
        self.random_state = random_state
        self.precision = precision

    def plan(self, kernel: Kernel, n: int, width: int = 1, memory: Memory = None) -> Plan:
        """Return the factor, which is always held, the matrix of its pivots, and sums over rows."""
        r = min(self.rank, n)
        size = 4 if self.precision == "mixed" and self.pivoting != "largest" else 8
        work = working(kernel, n, r, itemsize=size)
        build = {"rows as they are found": 8 * n * r}
        if self.pivoting != "largest":
            build = {"candidates": 16 * min(CANDIDATES, n) ** 2}
        work = build if sum(build.values()) > sum(work.values()) else work
        buffers = {"factor": size * n * r, "pivots": 24 * r * r, **work}
        options = ("a smaller rank", f"gram=Nystrom({self.rank}, sampler='rpcholesky')")
        return Plan(f"{self!r} of {kernel!r} on {n} samples", buffers, options)

    def build(self, kernel: Kernel, samples: Samples, resources: Resources = UNLIMITED) -> NystromGram:
        """Compute the factor."""
        samples = packed(samples, kernel.pack)
        self.check()
        kernel.check()
        require_definite(self, kernel)
        self.plan(kernel, len(samples), getattr(samples, "width", 1), resources.memory).require(resources.memory)
        samples = kernel.prepare(samples)
        own = kernel.diag(samples)
        factor = self._factor(kernel, samples, own, resources)
        left = factor.left / max(float(own.sum()), np.finfo(float).tiny)
        if len(factor.pivots) == self.rank < len(samples):
            warn_left(self, left, self.tol)
        T = factor.array[factor.pivots].astype(float)
        root = solve_triangular(T, np.eye(len(T)), lower=True).T if len(T) else np.zeros((1, 0))
        landmarks = samples.take(factor.pivots if len(T) else np.arange(1)).landmarks()
        gram = NystromGram(kernel, samples, landmarks, np.ascontiguousarray(root), resources)
        gram.index, gram._held = factor.pivots, factor.array
        gram._residual = Residual(left, 0.0, gram.entries_error())
        return gram

    def _factor(self, kernel: Kernel, samples: Samples, own: Floats, resources: Resources) -> PartialFactor:
        rank = min(self.rank, len(samples))
        if self.pivoting != "largest":
            rng = np.random.default_rng(self.random_state) if self.pivoting == "drawn" else None
            single = self.precision == "mixed" and fits_single(samples)
            return pivots(kernel, samples, rank, self.tol, rng, resources, np.float32 if single else np.float64)
        count = [0]

        def row(i: int) -> Floats:
            count[0] += 1
            if resources.monitor is not None and resources.monitor(min(count[0] / rank, 1.0)):
                raise Stopped
            return block(kernel, samples.take(np.array([i])), samples)[0]

        return pivoted_cholesky(own, row, rank, 1e-15, self.tol)
