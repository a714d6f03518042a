"""Expected features: distributions compared by the means of their images in feature space.

Symbols: p = sum_j w_j N(m_j, S_j) a distribution; for a Gaussian kernel L = diag(l^2), for a polynomial one c and s the
offset and the scale. Sums over components are taken as sums over the members of sets are.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.constraints import Fixed, InstanceOf, Interval, Optional, Satisfies
from mercer.domains import WHOLE, Samples, Vectors
from mercer.domains.distributions import Distributions
from mercer.errors import CapabilityError, DomainError, ParameterError
from mercer.kernels.abilities import Featured
from mercer.kernels.algebra.sums import Constant, Sum
from mercer.kernels.comparison import Comparison, View
from mercer.kernels.composite import Scaled
from mercer.kernels.kernel import Kernel, Tiled, term_grain
from mercer.kernels.sets.mean_map import Members
from mercer.kernels.vectors.dot import Linear, Polynomial
from mercer.kernels.vectors.pointwise import Gaussian
from mercer.numerics.operands import row_products
from mercer.runtime.compiled import compiled
from mercer.runtime.tiling import tile_side
from mercer.spec import derived

__all__ = ["ExpectedFeatures"]
__public__ = __all__

_NANOSECONDS = 2e7  # of a tile
_BLOCK = 32  # columns whose variances are multiplied before a logarithm is taken


class ExpectedFeatures(Tiled, Featured):
    r"""Expected-feature kernel: distributions are as similar as independent draws from them are on average.

    .. math:: k(p, p') = \langle E_{x \sim p} \Phi(x), E_{x' \sim p'} \Phi(x') \rangle
        = E_{x \sim p} E_{x' \sim p'} k_1(x, x')

    Seed: [HSS] Section 2.2.5, "Kernels on Sets and Subspaces", distributions, and images with missing pixels.

    Parameters
    ----------
    kernel : Kernel
        On vectors. For distributions that are finite samples any will do; for Gaussians one whose expectation has a
        closed form: Gaussian, Linear, Polynomial of degree 1 or 2, Constant, and sums and multiples of these.
    mean : (d,) array, optional
        What missing entries are on average. By default it is learned from the entries that are present, in `fit`.
    covariance : (d,) or (d, d) array, optional
        How missing entries vary. With variances, an entry is missing from a Gaussian of its column; with covariances it
        is conditioned on the entries that are present. By default the variances are learned.

    Notes
    -----
    Domain Distributions: samples, Gaussians, mixtures, and vectors with missing entries, which become Gaussians. For
    N(m, S) and N(m', S') the Gaussian kernel gives

    .. math:: |I + L^{-1} (S + S')|^{-1/2} \exp\!\left(-(m - m')^\top (L + S + S')^{-1} (m - m') / 2\right)

    and the polynomial one of degree 2 (s m.m' + c)^2 + s^2 (tr S S' + m^T S' m + m'^T S m'). Positive definite of order
    0 if the kernel is, by its features; not strict, since a mixture has the mixture of the images. Two distributions
    have one image by a Gaussian kernel only if they are the same. Bounded as the kernel. Features for Linear and
    Polynomial; derivatives are not offered. Cost for each pair of components that of the kernel for points, O(d) with
    variances, O(d^3) with covariances, and O(d^2) if all on one side are points.

    Examples
    --------
    >>> k = ExpectedFeatures(Gaussian(1.0))
    >>> k([([0.0], [0.0]), ([0.0], [1.5])]).round(3)  # 1, 1 / sqrt(1 + 1.5), 1 / sqrt(1 + 3)
    array([[1.   , 0.632],
           [0.632, 0.5  ]])
    >>> k = ExpectedFeatures(Linear(), mean=(0.0, 5.0), covariance=(1.0, 1.0))
    >>> k([[1.0, 2.0]], [[1.0, float("nan")]])  # 1 + 2 * 5
    array([[11.]])
    """

    domain = Distributions
    formula = r"E_{x \sim p} E_{x' \sim p'} k_1(x, x')"
    cost = "for each pair of components O(d) with variances, O(d^3) with covariances"
    constraints = {
        "kernel": InstanceOf(Kernel),
        "mean": Optional(Fixed(Interval(-np.inf, np.inf, vector=True))),
        "covariance": Satisfies(
            "None, variances (d,) that are not negative, or a positive semi-definite matrix (d, d)",
            lambda value: value is None or _is_covariance(value),
        ),
    }

    def __init__(self, kernel: Kernel, mean: Any = None, covariance: Any = None) -> None:
        self.kernel = kernel
        self.mean = mean
        self.covariance = covariance

    def check(self) -> Any:
        """Raise ParameterError unless the kernel compares vectors."""
        super().check()
        if self.kernel.domain is not Vectors or tuple(self.kernel.parts()) not in ((), (WHOLE,)):
            raise ParameterError(
                f"ExpectedFeatures was given {self.kernel!r}; a kernel on whole vectors is accepted. Use for example "
                "Gaussian(1.0); for sets of other objects there is MeanMap."
            )
        return self

    # data -------------------------------------------------------------------------------------------

    def _learn(self, S: Samples, y: Any = None, weight: Floats | None = None) -> ExpectedFeatures:
        """Learn mean and variance of each column from what is not missing, and let the kernel learn from the means."""
        assert isinstance(S, Distributions)
        learned: Any = self
        if S.has_missing and (self.mean is None or self.covariance is None):
            v = np.ones(len(S)) if weight is None else np.asarray(weight, dtype=float)
            mean, variance = _moments(S, np.repeat(v, S.sizes) * S.weights, self.mean)
            learned = self.replace(mean=mean, covariance=variance if self.covariance is None else self.covariance)
        points = Vectors(learned._filled(S).means)
        v = None if weight is None else np.repeat(np.asarray(weight, dtype=float), S.sizes)
        kernel = self.kernel.learn(points, None, v)
        return learned if kernel is self.kernel else learned.replace(kernel=kernel)

    @property
    def _key(self) -> str:
        return f"filled:{self.replace(kernel=None)!r}"

    def _prepare(self, A: Samples) -> Samples:
        """Fill what is missing, once per collection."""
        assert isinstance(A, Distributions)
        if not A.has_missing or self._key in A.derived:
            return A
        return A.with_derived(self._key, self._filled(A))

    def _filled(self, A: Distributions) -> Distributions:
        """Return the distributions without missing entries."""
        if not A.has_missing:
            return A
        if self._key in A.derived:
            return A.derived[self._key]
        if self.mean is None or self.covariance is None:
            raise ParameterError(
                f"{self!r} is not fitted: what missing entries may be is learned from training samples. Use it in an "
                "estimator, call learn(samples), or give mean and covariance."
            )
        mean, covariance = np.atleast_1d(np.asarray(self.mean, dtype=float)), np.asarray(self.covariance, dtype=float)
        if len(covariance) != A.width or len(mean) not in (1, A.width):
            raise DomainError(
                f"A mean of {len(mean)} and a covariance of {len(covariance)} columns were given for distributions on "
                f"{A.width}; they must be as many. Give one number for each column."
            )
        return A.filled(np.broadcast_to(mean, (A.width,)), covariance)

    def grain(self, comparison: Comparison) -> int | None:
        """Ask for tiles of some 20 milliseconds."""
        A, B = comparison.A, comparison.B
        if not isinstance(A, Distributions) or not isinstance(B, Distributions):
            return term_grain(self, comparison)
        extent = max(self._filled(S).extent for S in (A, B))
        each = (4.0, 2.0 * A.width, float(A.width) ** 3)[extent]
        pairs = max(1.0, float(A.sizes.mean()) * float(B.sizes.mean()))
        return max(1, int(np.sqrt(_NANOSECONDS / (each * pairs))))

    # numbers ----------------------------------------------------------------------------------------

    def _compared(self, A: Samples, B: Samples) -> tuple[Members, list[tuple[float, _Leaf]] | None]:
        """Return components side by side, and the closed forms of the terms; None if there are only points."""
        assert isinstance(A, Distributions) and isinstance(B, Distributions)
        A.require_like(B)
        left = self._filled(A)
        right = left if B is A else self._filled(B)
        points = Vectors(left.means)
        inner = Comparison(self.kernel, points, points if B is A else Vectors(right.means), np.float64)
        members = Members(inner, (A.offsets, B.offsets), (A.weights, B.weights))
        extent = max(left.extent, right.extent)
        if extent == 0:
            return members, None
        sides = left.with_extent(extent), right.with_extent(extent)
        return members, [(scale, _leaf(term, *sides)) for scale, term in _terms(self.kernel)]

    def _add(self, compared: Any, rows: slice, columns: slice, out: Floats) -> None:
        members, leaves = compared
        for r, c in members.pieces(rows, columns, tile_side(8)):
            if leaves is None:
                tile = members.inner.at(r, c).value(self.kernel)
            else:
                tile = np.sum([scale * leaf.block(r, c) for scale, leaf in leaves], axis=0)
            members.add(tile, (r, c), (rows.start, columns.start), out)

    def tile(self, view: View) -> Floats:
        """Compare components by closed forms, and add."""
        A, B = view.collections
        compared = view.comparison.keep(("components", id(self), view.path), lambda: self._compared(A, B))
        out = view.full(0.0)
        with np.errstate(over="ignore", invalid="ignore"):
            self._add(compared, view.rows, view.columns, out)
        return out

    def _diag(self, A: Samples) -> Floats:
        """Compare the components of each distribution with themselves."""
        A = self.prepare(A)
        compared, found = self._compared(A, A), np.zeros((len(A), 1, 1))
        for i in range(len(A)):
            self._add(compared, slice(i, i + 1), slice(i, i + 1), found[i])
        return found[:, 0, 0]

    def _features(self, A: Samples, keys: Any = None) -> tuple[Floats, Any]:
        """Return means, or means and second moments, such that their dot products are the values."""
        assert isinstance(A, Distributions)
        B = self._filled(A)
        mean = _summed(B, B.means)
        if isinstance(self.kernel, Linear):
            return mean, keys
        assert isinstance(self.kernel, Polynomial)
        c, s = float(self.kernel.offset), float(self.kernel.scale)
        if int(self.kernel.degree) == 1:
            return np.hstack((np.full((len(A), 1), np.sqrt(c)), np.sqrt(s) * mean)), keys
        i, j = np.triu_indices(A.width)
        products = B.means[:, i] * B.means[:, j]
        if B.extent == 1:
            products[:, i == j] += B.covariances
        elif B.extent == 2:
            products += B.covariances[:, i, j]
        second = s * np.where(i == j, 1.0, np.sqrt(2.0)) * _summed(B, products)
        return np.hstack((np.full((len(A), 1), c), np.sqrt(2.0 * s * c) * mean, second)), keys

    def _feature_count(self, A: Samples) -> int | None:
        """Return the number of moments, if the kernel is a polynomial."""
        assert isinstance(A, Distributions)
        d = A.width
        if isinstance(self.kernel, Linear):
            return d
        if not isinstance(self.kernel, Polynomial):
            return None
        return 1 + d if int(self.kernel.degree) == 1 else 1 + d + d * (d + 1) // 2

    # what is known of the mathematics ---------------------------------------------------------------

    @property
    def capabilities(self) -> frozenset[str]:
        """Features, if the kernel is a polynomial of degree 1 or 2."""
        polynomial = type(self.kernel) is Polynomial and self.kernel.degree in (1, 2)
        return frozenset({"features"} if polynomial or type(self.kernel) is Linear else ())

    @derived
    def order(self) -> int | None:
        """That of the kernel, if it is 0, or 1: weights of components then add to zero."""
        return self.kernel.order if self.kernel.order in (0, 1) else None

    @derived
    def bounded(self) -> bool:
        """That of the kernel."""
        return self.kernel.bounded


# ---------------------------------------------------------------------- closed forms


class _Leaf:
    """The expectation of one term between two collections of components."""

    def block(self, rows: slice, columns: slice) -> Floats:
        """Return the expectations of the components in two slices."""
        raise NotImplementedError


class _Bias(_Leaf):
    def __init__(self, value: float) -> None:
        self.value = value

    def block(self, rows: slice, columns: slice) -> Floats:
        return np.full((rows.stop - rows.start, columns.stop - columns.start), self.value)


class _Moments(_Leaf):
    """(s m.m' + c)^p for p = 1, 2, and for p = 2 what covariances add."""

    def __init__(self, A: Distributions, B: Distributions, form: tuple[int, float, float]) -> None:
        self.sides, self.form = (A, B), form

    def block(self, rows: slice, columns: slice) -> Floats:
        (A, B), (degree, c, s) = self.sides, self.form
        m, z = A.means[rows], B.means[columns]
        base = s * row_products(m, z, same=B is A and rows == columns) + c
        if degree == 1:
            return base
        V, W = (side.covariances[part] for side, part in ((A, rows), (B, columns)))
        if A.extent == 1:
            squares, others = m * m, z * z
        else:
            squares, others = ((x[:, :, None] * x[:, None, :]).reshape(len(x), -1) for x in (m, z))
            V, W = V.reshape(len(V), -1), W.reshape(len(W), -1)
        return base**2 + s**2 * ((V + squares) @ W.T + V @ others.T)


class _Normal(_Leaf):
    """The Gaussian kernel; means and covariances are in units of the length scales."""

    def __init__(self, A: Distributions, B: Distributions, length_scale: Any) -> None:
        if isinstance(length_scale, str):
            Gaussian(length_scale).base()  # which says that it has to be learned
        scale = np.asarray(length_scale, dtype=float)
        if scale.ndim and len(scale) != A.width:
            raise DomainError(
                f"{len(scale)} length scales were given for distributions on {A.width} columns; one length scale, or "
                "one per column, is accepted. Give a single number or as many as there are columns."
            )
        scale = np.broadcast_to(scale, (A.width,))
        units = scale**2 if A.extent == 1 else np.outer(scale, scale)
        self.extent = A.extent
        self.sides = [
            (np.ascontiguousarray(S.means / scale), np.ascontiguousarray(S.covariances / units)) for S in (A, B)
        ]
        self.points = [self.extent == 2 and not S.any() for _, S in self.sides]
        self.factors = _whitening(self.sides[self.points.index(True) - 1][1]) if any(self.points) else None

    def block(self, rows: slice, columns: slice) -> Floats:
        (m, V), (z, W) = ((mean[part], S[part]) for (mean, S), part in zip(self.sides, (rows, columns), strict=True))
        if self.factors is not None:  # T is that of one side, and is factorised once for all points of the other
            if self.points[1]:
                return _beside_points(m, z, *(held[rows] for held in self.factors))
            return _beside_points(z, m, *(held[columns] for held in self.factors)).T
        out = np.empty((len(m), len(z)))
        if self.extent == 1:
            _with_variances(m, V, z, W, out)
        else:
            _with_covariances(m, V, z, W, np.empty((m.shape[1], m.shape[1])), np.empty(m.shape[1]), out)
        return out


def _whitening(S: Floats) -> tuple[Floats, Floats]:
    """Return R^-1 and log |T| of T = I + S = R R^T, for many matrices."""
    R = np.linalg.cholesky(np.eye(S.shape[1]) + S)
    return np.linalg.inv(R), 2.0 * np.log(np.einsum("nii->ni", R)).sum(axis=1)


def _beside_points(means: Floats, points: Floats, inverses: Floats, logs: Floats) -> Floats:
    """Return |T|^(-1/2) exp(-|R^-1 (m - z)|^2 / 2) for Gaussians and points."""
    out = np.empty((len(means), len(points)))
    for i, (mean, inverse) in enumerate(zip(means, inverses, strict=True)):
        d = (points - mean) @ inverse.T
        np.einsum("jc,jc->j", d, d, out=out[i])
    return np.exp(-0.5 * (out + logs[:, None]))


# The order of sums and products over columns does not matter beyond rounding; infinities and NaN are not assumed away.
@compiled(fastmath={"reassoc", "contract"})
def _with_variances(means, variances, others, theirs, out):
    """Fill out with prod_c t_c^(-1/2) exp(-d_c^2 / (2 t_c)), t = 1 + v + v', d = m - m'."""
    width = means.shape[1]
    for i in range(means.shape[0]):
        for j in range(others.shape[0]):
            exponent = 0.0
            for start in range(0, width, _BLOCK):
                stop = min(start + _BLOCK, width)
                product = 1.0
                for c in range(start, stop):
                    t = 1.0 + variances[i, c] + theirs[j, c]
                    difference = means[i, c] - others[j, c]
                    exponent += difference * difference / t
                    product *= t
                if product < 1e300:
                    exponent += np.log(product)
                else:
                    for c in range(start, stop):
                        exponent += np.log(1.0 + variances[i, c] + theirs[j, c])
            out[i, j] = np.exp(-0.5 * exponent)


@compiled
def _with_covariances(means, covariances, others, theirs, R, x, out):
    """Fill out with |T|^(-1/2) exp(-d^T T^-1 d / 2), T = I + S + S' = R R^T, d = m - m'."""
    width = means.shape[1]
    for i in range(means.shape[0]):
        for j in range(others.shape[0]):
            exponent = 0.0
            for a in range(width):
                for b in range(a + 1):
                    total = covariances[i, a, b] + theirs[j, a, b]
                    if a == b:
                        total += 1.0
                    for c in range(b):
                        total -= R[a, c] * R[b, c]
                    if a == b:
                        R[a, a] = np.sqrt(max(total, 1.0))  # rounding apart, T is not less than I
                    else:
                        R[a, b] = total / R[b, b]
                x[a] = means[i, a] - others[j, a]
                for c in range(a):
                    x[a] -= R[a, c] * x[c]
                x[a] /= R[a, a]
                exponent += x[a] * x[a] + 2.0 * np.log(R[a, a])
            out[i, j] = np.exp(-0.5 * exponent)


def _terms(kernel: Kernel, scale: float = 1.0) -> Iterable[tuple[float, Kernel]]:
    """Yield the terms of a sum with their factors."""
    if isinstance(kernel, Sum):
        for term in kernel.terms:
            yield from _terms(term, scale)
    elif isinstance(kernel, Scaled):
        yield from _terms(kernel.kernel, scale * float(kernel.scale))
    else:
        yield scale, kernel


def _leaf(kernel: Kernel, A: Distributions, B: Distributions) -> _Leaf:
    """Return the closed form of a kernel; CapabilityError if there is none."""
    if type(kernel) is Gaussian:
        return _Normal(A, B, kernel.length_scale)
    if type(kernel) is Linear:
        return _Moments(A, B, (1, 0.0, 1.0))
    if type(kernel) is Polynomial and kernel.degree in (1, 2):
        return _Moments(A, B, (int(kernel.degree), float(kernel.offset), float(kernel.scale)))
    if type(kernel) is Constant:
        return _Bias(float(kernel.value))
    raise CapabilityError(
        f"{kernel!r} has no closed form of its expectation over Gaussians; Gaussian, Linear, Polynomial of degree 1 or "
        "2, Constant, sums and multiples of them have one. Use one of these, or draw samples from the distributions."
    )


def _summed(A: Distributions, values: Floats) -> Floats:
    """Return the weighted sums over the components of each distribution."""
    return np.add.reduceat(A.weights[:, None] * values, A.offsets[:-1], axis=0)


def _moments(S: Distributions, v: Floats, given: Any) -> tuple[Floats, Floats]:
    """Return means (unless given) and variances of the columns over all entries that are present."""
    present = ~S.missing & (v[:, None] > 0.0)
    mass = (v[:, None] * present).sum(axis=0)
    if not mass.all():
        raise DomainError(
            f"Column {int(np.flatnonzero(mass == 0.0)[0])} is missing in all samples, so that nothing can be learned "
            "of it; every column needs an entry. Leave the column out, or give mean and covariance."
        )
    X = np.where(present, S.means, 0.0)
    mean = (
        (v[:, None] * X).sum(axis=0) / mass if given is None else np.broadcast_to(np.asarray(given, float), mass.shape)
    )
    within = np.einsum("nii->ni", S.covariances) if S.extent == 2 else S.covariances if S.extent else np.zeros_like(X)
    spread = np.where(present, (X - mean) ** 2 + within, 0.0)
    return np.array(mean), (v[:, None] * spread).sum(axis=0) / mass


def _is_covariance(given: Any) -> bool:
    try:
        C = np.asarray(given, dtype=float)
    except (TypeError, ValueError, OverflowError):
        return False
    if C.ndim == 1:
        return bool((np.isfinite(C) & (C >= 0.0)).all()) and len(C) > 0
    if C.ndim != 2 or C.shape[0] != C.shape[1] or not C.size or not np.isfinite(C).all():
        return False
    size = np.abs(C).max()
    return bool(np.abs(C - C.T).max() <= 1e-8 * size) and bool(np.linalg.eigvalsh(C)[0] >= -1e-10 * size)
