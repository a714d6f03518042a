"""RandomFeatures: K through a random map to finitely many features, for any number of samples."""

from __future__ import annotations

import numpy as np

from mercer.arrays import Floats
from mercer.budget import UNLIMITED, Memory, Plan, Resources
from mercer.constraints import Integer, OneOf, Optional
from mercer.domains import Samples
from mercer.domains.samples import packed
from mercer.gram.expansion import FeatureExpansion, fits_single
from mercer.gram.gram import GramSpec
from mercer.gram.low_rank.factor import FactorGram, require_definite
from mercer.gram.low_rank.factor_rows import factor_plan
from mercer.gram.low_rank.feature_maps import METHODS, FeatureMap, Mapped, draw_map
from mercer.kernels.kernel import Kernel

__all__ = ["RandomFeatures"]
__public__ = __all__


class RandomFeatures(GramSpec):
    r"""The Gram matrix through random features: right on average, with an error of one over the root of their number.

    .. math:: K \approx F F^\top, \qquad
        k(x, x') = k(0) \, E \cos\langle \omega, x - x' \rangle
        \approx \frac{k(0)}{q} \sum_{i=1}^{q} \big(\cos\langle \omega_i, x \rangle \cos\langle \omega_i, x' \rangle
        + \sin\langle \omega_i, x \rangle \sin\langle \omega_i, x' \rangle\big)

    Seed: [HSS] Theorem 8, Eqs. (32)-(33) (Bochner: a stationary kernel is a mean over frequencies); [STS] Eq.
    (5), the primal form, in these features.

    Parameters
    ----------
    count : int
        D, the largest number of features: q = D / 2 frequencies, with a cosine and a sine each.
    method : {"independent", "orthogonal", "quasi", "hadamard"}, default "independent"
        How frequencies are drawn. "orthogonal": with the same lengths, in blocks of orthogonal directions, which is
        better for the Gaussian kernel where the samples are near. "quasi": from a scrambled Sobol sequence, which is
        much better in few columns. "hadamard": in directions that are never written down, by fast Walsh-Hadamard
        transforms: O(log d) operations a feature instead of O(d), for hundreds of columns and more. The second and
        the fourth are for kernels of the Euclidean distance.
    random_state : int or None, default 0
        Seed of the draw; None draws differently each time.
    precision : {"double", "mixed"}, default "double"
        "mixed" computes features in float32, and sums in float64.

    Notes
    -----
    For every kernel that lists ``frequencies`` in its capabilities (Gaussian, Laplacian, Matern, rational quadratic,
    periodic, spectral mixtures, ...), and their products. Polynomial kernels have a TensorSketch: count sketches of the
    p factors, multiplied by fast Fourier transforms. Terms of a sum have features of their own, as many as their size
    asks for; a kernel, or a term, that has no more features than that keeps them, without error. Those that have more,
    such as string kernels, are folded by a count sketch, and so are products of different kinds.

    Offers products, rows and factors; the factor is held if it fits a quarter of the memory budget, and otherwise
    computed again, a few rows at a time. ``residual`` of the Gram has the error of a sample of entries of K, which is
    of the order of 1 / sqrt(count) whatever n is. Cost O(n D d) for the features and O(n D^2) for the normal equations;
    memory O(D^2 + D d).

    References
    ----------
    A. Rahimi and B. Recht (2007); F. Yu and others, Orthogonal random features (2016); Q. Le, T. Sarlos and A. Smola,
    Fastfood (2013); J. Yang and others, Quasi-Monte Carlo feature maps (2014); N. Pham and R. Pagh (2013).

    Examples
    --------
    >>> from mercer.domains import Vectors
    >>> from mercer.kernels import Gaussian
    >>> S = Vectors.pack(np.linspace(0.0, 3.0, 50)[:, None])
    >>> K = RandomFeatures(2000).build(Gaussian(1.0), S)
    >>> K.rank, bool(K.residual.entries < 0.05)
    (2000, True)
    """

    synonyms = ("random Fourier features", "random kitchen sinks", "TensorSketch")
    low_rank = True

    constraints = {
        "count": Integer(2),
        "method": OneOf(*METHODS),
        "random_state": Optional(Integer(0)),
        "precision": OneOf("double", "mixed"),
    }

    def __init__(
        self, count: int, method: str = "independent", random_state: int | None = 0, precision: str = "double"
    ) -> None:
        self.count = count
        self.method = method
        self.random_state = random_state
        self.precision = precision

    def plan(self, kernel: Kernel, n: int, width: int = 1, memory: Memory = None) -> Plan:
        """Return the buffers of the map and of sums over rows; the factor itself is held only if it fits."""
        D, size = self.count, 4 if self.precision == "mixed" else 8
        base = {"frequencies": 8 * D * width}
        plan = factor_plan(self, kernel, n, D, memory, base=base, product=False, itemsize=size)
        return Plan(plan.what, plan.buffers, ("a smaller count",))

    def build(self, kernel: Kernel, samples: Samples, resources: Resources = UNLIMITED) -> RandomFeatureGram:
        """Draw the map; hold the factor if it fits."""
        samples = packed(samples, kernel.pack)
        self.check()
        kernel.check()
        require_definite(self, kernel)
        self.plan(kernel, len(samples), getattr(samples, "width", 1), resources.memory).require(resources.memory)
        samples = kernel.prepare(samples)
        drawn = draw_map(kernel, samples, self.count, np.random.default_rng(self.random_state), self.method)
        single = self.precision == "mixed" and fits_single(samples)
        gram = RandomFeatureGram(kernel, samples, drawn, "mixed" if single else "double", resources)
        gram.hold()
        return gram


class RandomFeatureGram(FactorGram):
    """A Gram matrix of random features, as an operator.

    Attributes
    ----------
    map : FeatureMap
        From prepared samples to features.
    residual : Residual
        Its ``entries`` is the relative error of entries of K, estimated among some samples.
    """

    def __init__(
        self, kernel: Kernel, samples: Samples, map: FeatureMap, precision: str, resources: Resources = UNLIMITED
    ) -> None:
        super().__init__(kernel, samples, resources)
        self.map, self.precision = map, precision
        self.tile_dtype = np.dtype(np.float32 if precision == "mixed" else np.float64)

    @property
    def rank(self) -> int:
        """Number of features."""
        return self.map.count

    def factor(self, rows: slice = slice(None)) -> Floats:
        """Return rows of F, in float64."""
        return np.asarray(super().factor(rows), dtype=float)

    def _rows(self, T: Samples) -> Floats:
        return self.map(T, self.tile_dtype)

    def _function(self, weights: Floats, intercept: Floats) -> FeatureExpansion:
        return FeatureExpansion(Mapped(self.kernel, self.map, self.precision), None, weights, intercept)
