"""Kernels that compare the subspaces of tensors: unfoldings of data tensors, cumulants of multichannel signals.

Symbols: V an orthonormal basis of a subspace, (r, D), by rows; P = V^T V the projector on it;
|P - Q|_F^2 = r + r' - 2 |V V'^T|_F^2 the squared projection distance of two subspaces.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from mercer import budget
from mercer.arrays import Floats
from mercer.constraints import Constraint, Integer, Optional, Positive
from mercer.domains import Samples
from mercer.domains.sequences import Sequences
from mercer.domains.tensors import Tensors
from mercer.errors import DomainError
from mercer.kernels.abilities import DifferentiatedByTiles
from mercer.kernels.comparison import Comparison, View
from mercer.kernels.kernel import Tiled
from mercer.kernels.protocols import Pullback
from mercer.numerics.operands import row_products
from mercer.runtime.tiling import blas_for

__all__ = ["Cumulant", "Grassmann"]
__public__ = __all__

_ENTRIES = 2**19  # of the matrix of products of basis vectors of a tile


class _Places(Constraint):
    """Distinct whole numbers from 0, in a tuple."""

    def __init__(self, example: str) -> None:
        self.example = example

    @property
    def accepted(self) -> str:
        return "a tuple of distinct integers >= 0"

    def accepts(self, value: Any) -> bool:
        if not isinstance(value, tuple) or not value:
            return False
        whole = all(isinstance(v, int | np.integer) and not isinstance(v, bool) and v >= 0 for v in value)
        return whole and len(set(value)) == len(value)

    def advice(self, name: str, value: Any) -> str:
        return f"Write {name}={self.example}."


class _Projections(Tiled, DifferentiatedByTiles):
    """A Gaussian of the projection distances of the subspaces that a sample has, one or several."""

    normalised = True
    bounded = True
    length_scale: float

    @abstractmethod
    def subspaces(self, A: Samples) -> list[Floats]:
        """Return orthonormal bases, one array (n, r, D) for each subspace of a sample; rows of zeros fill them up."""

    @property
    @abstractmethod
    def _key(self) -> str: ...

    def _prepare(self, A: Samples) -> Samples:
        """Find the subspaces, once per collection, whatever the length scale."""
        if f"{self._key}:0" in A.derived:
            return A
        for number, V in enumerate(self.subspaces(A)):
            A = A.with_derived(f"{self._key}:{number}", V)
        return A

    def grain(self, comparison: Comparison) -> int | None:
        """Ask for tiles whose products of basis vectors stay in cache."""
        ranks = [V.shape[1] for S in comparison.sides(()) for V in self._found(S)]
        return max(1, int(np.sqrt(_ENTRIES)) // max(ranks, default=1))

    def tile(self, view: View) -> Floats:
        """Apply the Gaussian to the distances."""
        out = self._scaled(view)
        out *= -0.5
        return np.exp(out, out=out)

    def _diag(self, A: Samples) -> Floats:
        """Return ones."""
        return np.ones(len(A))

    def value_and_pullback(self, view: View) -> tuple[Floats, Pullback]:
        """Return the values of a tile and the pullback to the length scale."""
        squares = self._scaled(view)
        value = np.exp(-0.5 * squares)
        slope = np.where(value > 0.0, value * np.minimum(squares, 1e300), 0.0) / float(self.length_scale)
        return value, lambda W: np.array([np.vdot(W, slope)])

    def _scaled(self, view: View) -> Floats:
        """Return squared distances in units of the length scale, whose square may be no number."""
        with np.errstate(over="ignore"):
            return self._distances(view) / float(self.length_scale) / float(self.length_scale)

    def _found(self, A: Samples) -> list[Floats]:
        prefix = f"{self._key}:"
        if not isinstance(A, self.domain):
            return []
        return [V for key, V in self.prepare(A).derived.items() if key.startswith(prefix)]

    def _distances(self, view: View) -> Floats:
        """Return the squared projection distances, summed over the subspaces."""
        A, B = view.collections
        left, right = view.comparison.keep((view.path, self._key), lambda: (self._found(A), self._found(B)))
        out = view.full(0.0)
        for U, V in zip(left, right, strict=True):
            if U.shape[2] != V.shape[2]:
                raise DomainError(
                    f"Subspaces of {U.shape[2]} and of {V.shape[2]} dimensions were compared by {self!r}; samples of "
                    "one shape have subspaces of one space. Give both collections the same shape or channels."
                )
            U, V = U[view.rows], V[view.columns]
            flat = row_products(U.reshape(-1, U.shape[2]), V.reshape(-1, V.shape[2]), same=view.on_diagonal)
            products = flat.reshape(*U.shape[:2], *V.shape[:2])
            out += _dimensions(U)[:, None] + _dimensions(V)
            out -= 2.0 * np.einsum("iajb,iajb->ij", products, products)
        np.maximum(out, 0.0, out=out)
        if B is A and view.rows == view.columns:
            np.fill_diagonal(out, 0.0)
        return out


class Grassmann(_Projections):
    r"""Kernel of tensors that compares the row spaces of their unfoldings.

    .. math:: k(\mathcal{X}, \mathcal{Y}) = \prod_{n} \exp\!\left(-\frac{1}{2 l^2}
        \|V_n V_n^\top - W_n W_n^\top\|_F^2\right), \qquad X_{(n)} = U_n S_n V_n^\top, \quad Y_{(n)} = T_n R_n W_n^\top

    where the unfolding :math:`X_{(n)}` has the axis n as its rows and all others as columns: the factors of the
    higher-order singular value decomposition. Tensors that are made of the same rank-one parts, with whatever weights,
    have the same row spaces.

    Seed: [SS] Section 6.4, "Tensors and Kernels", with the distance of Signoretto, De Lathauwer and Suykens (2011).

    Parameters
    ----------
    length_scale : float, default 1.0
        l > 0.
    rank : int, optional
        How many leading singular vectors span a row space; None takes all that belong to singular values above
        rounding. Few of them leave out noise.
    modes : tuple of int, optional
        The axes whose unfoldings are compared, from 0. None takes all.

    Notes
    -----
    Domain Tensors. No features; derivatives in the length scale. Positive definite of order 0, as a Gaussian of the
    Euclidean distance of projectors. Values do not depend on the scale of a tensor, nor on a mixing of the slices along
    an axis as far as that axis is concerned: not strict. Of a matrix, mode 0 has the row space, mode 1 the column
    space; where an unfolding has as many rows as columns and full rank, its row space is everything and carries no
    information, unless `rank` is given. The zero tensor has the subspace {0}. Where singular values are equal at the
    `rank` the subspace is arbitrary. Cost O(I^(N+1)) a tensor of N axes of length I; O(r^2 I^(N-1)) a pair for every
    mode.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.normal(size=(2, 4)), rng.normal(size=(2, 4))
    >>> one, other = (np.einsum("ri,rj,rk->ijk", v, v, v) for v in (a, b))  # two parts of rank one each
    >>> scaled = np.einsum("r,ri,rj,rk->ijk", [2.0, -1.0], a, a, a)
    >>> Grassmann(2.0)([one, scaled, other]).round(3)
    array([[1.   , 1.   , 0.256],
           [1.   , 1.   , 0.256],
           [0.256, 0.256, 1.   ]])
    """

    domain = Tensors
    formula = r"\prod_n \exp(-\|V_n V_n^\top - W_n W_n^\top\|_F^2 / (2 l^2))"
    cost = "O(r^2 D) a pair and mode, D the product of the other sides"
    constraints = {
        "length_scale": Positive(),
        "rank": Optional(Integer(1)),
        "modes": Optional(_Places("(0, 2)")),
    }

    def __init__(
        self, length_scale: float = 1.0, rank: int | None = None, modes: tuple[int, ...] | None = None
    ) -> None:
        self.length_scale = length_scale
        self.rank = rank
        self.modes = modes

    @property
    def _key(self) -> str:
        return f"grassmann:{self.rank}:{self.modes}"

    def subspaces(self, A: Samples) -> list[Floats]:
        """Return the leading right singular vectors of the unfoldings."""
        assert isinstance(A, Tensors)
        modes = range(len(A.sides)) if self.modes is None else [int(mode) for mode in self.modes]
        if max(modes) >= len(A.sides):
            raise DomainError(
                f"{self!r} was given tensors with {len(A.sides)} axes; modes are numbered from 0 to "
                f"{len(A.sides) - 1}. Give modes that the tensors have."
            )
        size = int(np.prod(A.sides))
        count = [min(side, size // side, int(self.rank or side)) for side in A.sides]
        numbers = sum(count[mode] * (size // A.sides[mode]) for mode in modes)
        budget.Plan(f"the subspaces of {self!r} on {len(A)} tensors", {"bases": 8 * numbers * len(A)}).require(None)
        return [_row_spaces(A.unfolding(mode), count[mode]) for mode in modes]


class Cumulant(_Projections):
    r"""Kernel of multichannel signals that compares the leading eigenspaces of their fourth-order cumulants.

    .. math:: k(x, y) = \exp\!\left(-\frac{1}{2 l^2} \|P_x - P_y\|_F^2\right), \quad
        C_{ijkl} = E[z_i z_j z_k z_l] - E[z_i z_j] E[z_k z_l] - E[z_i z_k] E[z_j z_l] - E[z_i z_l] E[z_j z_k]

    where z are the channels less their means, E is the mean over time, and P projects on the eigenvectors of the
    symmetric matrix :math:`C_{(ij)(kl)}` whose eigenvalues are largest in absolute value.

    Seed: [SS] Section 6.4, "Tensors and Kernels", and Section 7.2: the spectral information of fourth-order
    cross-cumulants, after Signoretto, Olivetti, De Lathauwer and Suykens (2012).

    Parameters
    ----------
    length_scale : float, default 1.0
        l > 0.
    rank : int, optional
        How many eigenvectors are compared; None takes as many as there are channels, with all lags.
    lags : tuple of int, default (0,)
        Channels are taken together at these delays, (0, 1) the present and the last value: cumulants across time.

    Notes
    -----
    Domain Sequences, of any lengths above the largest lag. No features; derivatives in the length scale. Positive
    definite of order 0, as a Gaussian of the Euclidean distance of projectors; not strict: values do not depend on the
    scale of a signal, nor on its order in time if there is no lag. If z = A s with independent sources s that are not
    normal, C is a sum over the sources of their kurtosis times :math:`a_r^{\otimes 4}`, and the eigenspace is spanned
    by :math:`a_r \otimes a_r`: it shows how sources are mixed, whatever they send. Normal signals have no cumulants
    except by chance. Few points give inaccurate cumulants. A constant signal has the subspace {0}. Cost O(T p^4 / 4) a
    signal of p channels and lags and T points, and O(r^2 p^2 / 2) a pair.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> A, B = np.array([[1.0, 0.5], [0.0, 1.0]]), np.array([[1.0, -0.5], [0.8, 1.0]])
    >>> x, y, z = (rng.laplace(size=(20_000, 2)) @ mixing for mixing in (A, A, B))
    >>> Cumulant(1.0)([x, y, z]).round(2)
    array([[1.  , 1.  , 0.37],
           [1.  , 1.  , 0.37],
           [0.37, 0.37, 1.  ]])
    """

    domain = Sequences
    formula = r"\exp(-\|P_x - P_y\|_F^2 / (2 l^2))"
    cost = "O(T p^4) a signal of p channels, O(r^2 p^2) a pair"
    constraints = {"length_scale": Positive(), "rank": Optional(Integer(1)), "lags": _Places("(0, 1)")}

    def __init__(self, length_scale: float = 1.0, rank: int | None = None, lags: tuple[int, ...] = (0,)) -> None:
        self.length_scale = length_scale
        self.rank = rank
        self.lags = lags

    @property
    def _key(self) -> str:
        return f"cumulant:{self.rank}:{self.lags}"

    def subspaces(self, A: Samples) -> list[Floats]:
        """Return the leading eigenvectors of the cumulants, as symmetric matrices in half their entries."""
        assert isinstance(A, Sequences)
        channels = A.width * len(self.lags)
        size = channels * (channels + 1) // 2
        count = min(int(self.rank or channels), size)
        longest = int(A.lengths.max(initial=0))
        buffers = {"bases": 8 * count * size * len(A), "moments": 8 * size * (longest + 4 * size)}
        budget.Plan(f"the cumulants of {self!r} on {len(A)} signals", buffers).require(None)
        short = np.flatnonzero(A.lengths <= max(self.lags))
        if len(short):
            raise DomainError(
                f"Sample {short[0]} has {A.lengths[short[0]]} points of time; {self!r} looks {max(self.lags)} back and "
                "needs more than that. Drop short signals, or give smaller lags."
            )
        V = np.zeros((len(A), count, size))
        with blas_for(size):
            for i in range(len(A)):
                found = _leading(*cumulants(_lagged(A.series(i), self.lags)), count)
                V[i, : len(found)] = found
        return [V]


def cumulants(Z: Floats) -> tuple[Floats, float]:
    """Return the fourth-order cumulants of the columns of a signal as a matrix, and the size of what it is made of.

    Parameters
    ----------
    Z : (T, p) array

    Returns
    -------
    C : (q, q) array
        q = p (p + 1) / 2 for the pairs i <= j, those with i < j times the root of two: norms and inner products are
        those of the p^2 by p^2 matrix. Of the signal divided by its largest value.
    size : float
        The trace of the fourth moments.
    """
    Z = Z - Z.mean(axis=0)
    largest = float(np.abs(Z).max(initial=0.0))
    Z = Z / largest if largest > 0.0 else Z
    i, j = np.triu_indices(Z.shape[1])
    weights = np.where(i == j, 1.0, np.sqrt(2.0))
    products = Z[:, i] * Z[:, j] * weights
    moments = products.T @ products / len(Z)
    R = Z.T @ Z / len(Z)
    mean = R[i, j] * weights
    pairs = R[np.ix_(i, i)] * R[np.ix_(j, j)] + R[np.ix_(i, j)] * R[np.ix_(j, i)]
    return moments - np.outer(mean, mean) - pairs * np.outer(weights, weights), float(np.trace(moments))


def _lagged(X: Floats, lags: tuple[int, ...]) -> Floats:
    """Return the channels at all lags side by side."""
    last = max(lags)
    return np.hstack([X[last - lag : len(X) - lag] for lag in lags])


def _leading(C: Floats, size: float, count: int) -> Floats:
    """Return eigenvectors of the largest absolute eigenvalues above rounding, by rows."""
    values, vectors = np.linalg.eigh(C)
    order = np.argsort(-np.abs(values), kind="stable")[:count]
    kept = order[np.abs(values[order]) > len(C) * np.finfo(float).eps * size]
    return vectors[:, kept].T


def _row_spaces(matrices: Floats, count: int) -> Floats:
    """Return the leading right singular vectors of matrices, (n, count, columns); zeros where the rank is smaller."""
    V = np.zeros((len(matrices), count, matrices.shape[2]))
    with blas_for(min(matrices.shape[1:])):
        for i, matrix in enumerate(matrices):
            _, values, right = np.linalg.svd(matrix, full_matrices=False)
            kept = min(count, int((values > max(matrix.shape) * np.finfo(float).eps * values[0]).sum()))
            V[i, :kept] = right[:kept]
    return V


def _dimensions(V: Floats) -> Floats:
    """Return the dimensions of subspaces."""
    return np.einsum("iad,iad->i", V, V)
