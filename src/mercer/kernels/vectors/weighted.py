"""Dot products with weights: of coordinates, of sites in a sequence, of basis functions.

Symbols: B, Omega, Sigma positive semi-definite matrices, w the diagonal of Omega, phi a map to D basis
functions.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Floats
from mercer.constraints import Array, Fixed, Integer, Interval, Optional, Positive, Satisfies
from mercer.domains import Frames, Samples, Vectors, Whole
from mercer.errors import DomainError, ParameterError
from mercer.kernels.abilities import Differentiated, DifferentiatedInInputs, Featured
from mercer.kernels.algebra.maps import Same
from mercer.kernels.comparison import View
from mercer.kernels.kernel import Tiled
from mercer.kernels.monomials import monomial_count, monomials, require_few
from mercer.kernels.user_calls import rows_of
from mercer.kernels.vectors import profiles
from mercer.spec import derived

__all__ = ["Basis", "LocalityImproved", "Mahalanobis"]
__public__ = __all__

_ROUNDING = 1e-10  # relative: below this, asymmetry and negative eigenvalues are taken for rounding


class Mahalanobis(Tiled, Featured, Differentiated, DifferentiatedInInputs):
    r"""Dot product under a matrix: directions count as much as the matrix says.

    .. math:: k(x, x') = x^\top B \, x', \qquad B \succeq 0

    Seed: [STS] Theorem 7; [ST] "Kernel constructions".

    Parameters
    ----------
    matrix : (d, d) array, or tuple of d tuples
        B, symmetric and positive semi-definite; checked, and refused with its most negative eigenvalue.
        The distance in feature space is the Mahalanobis distance of the covariance B^-1.

    Notes
    -----
    Domain Vectors, dense or sparse. Features: R x with B = R' R, as many as the rank of B. No free parameter;
    differentiable in the inputs. Positive definite, since it is the dot product of these features; not
    strictly so and not universal, since they are finitely many; unbounded. Cost O(mnd + nd^2).

    Examples
    --------
    >>> Mahalanobis(((2.0, 0.0), (0.0, 1.0)))([[1.0, 2.0], [3.0, 4.0]])
    array([[ 6., 14.],
           [14., 34.]])
    """

    example = (((1.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0), (0.0, 0.0, 0.0, 1.0)),)
    formula = r"x^\top B \, x'"
    cost = "O(mnd + nd^2), one matrix product"
    domain = Vectors
    constraints = {"matrix": Array(2)}

    def __init__(self, matrix: Any) -> None:
        self.matrix = matrix

    def check(self) -> Any:
        """Raise ParameterError unless the matrix is symmetric and positive semi-definite."""
        super().check()
        check_semidefinite(self.matrix, "matrix", self)
        return self

    def _prepare(self, A: Samples) -> Samples:
        """Raise DomainError unless there are as many columns as the matrix has."""
        assert isinstance(A, Vectors)
        width = np.shape(self.matrix)[0]
        if A.width != width:
            raise DomainError(
                f"X has {A.width} columns, but {type(self).__name__} has a matrix of {width} rows; they must "
                "be as many. Give the matrix of these columns, or select the columns by .on(columns)."
            )
        return A

    def tile(self, view: View) -> Floats:
        """Multiply one side by the matrix once, then by the other side."""
        A, B = view.collections
        assert isinstance(A, Vectors) and isinstance(B, Vectors)
        with np.errstate(over="ignore", invalid="ignore"):
            left = view.comparison.keep(("matrix", id(self), view.path), lambda: A.X @ _array(self.matrix))
            return product_tile(view, left, B)

    def _diag(self, A: Samples) -> Floats:
        """Return x' B x."""
        assert isinstance(A, Vectors)
        with np.errstate(over="ignore", invalid="ignore"):
            return _row_dots(A.X @ _array(self.matrix), A.X)

    def _features(self, A: Samples, keys: Any = None) -> tuple[Any, Any]:
        """Return R x with B = R' R."""
        assert isinstance(A, Vectors)
        return np.asarray(A.X @ semidefinite_root(self.matrix)).astype(A.X.dtype, copy=False), None

    def _feature_count(self, A: Samples) -> int | None:
        """Return the rank of the matrix."""
        return semidefinite_root(self.matrix).shape[1]

    def _pullback(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return nothing: there is no free parameter."""
        return np.empty(0)

    def _pullback_inputs(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return sum_j W_ij B b_j."""
        assert isinstance(B, Vectors)
        return np.asarray(W @ B.X) @ _array(self.matrix)


class LocalityImproved(Tiled, Featured, Differentiated, DifferentiatedInInputs):
    r"""Locality-improved kernel for sequences: positions near a site count most.

    .. math:: k(x, x') = (x^\top \Omega \, x' + c)^p, \qquad
        \Omega_{jj} = \exp\!\left(-\frac{(\pi(j) - s)^2}{2 l^2}\right), \quad \pi(j) = \lfloor j / a \rfloor

    Seed: [HSS] "Locality Improved Kernels", which replaces <x, x'> by x' Omega x' with a diagonal Omega that
    is largest at the site s; it prints x' Omega x, one argument twice, and leaves the shape of the weights
    open: here a bell curve.

    Parameters
    ----------
    site : float
        s, the position that is to be classified, counted from 0. Not a free parameter.
    length_scale : float, default 1.0
        l > 0: positions this far from the site have weight exp(-1/2).
    letters : int, default 1
        a, columns per position: 4 for DNA coded by indicators, 1 for one number per position.
    degree : int, default 1
        p >= 1: interactions of this many positions.
    offset : float, default 0.0
        c >= 0, as in `Polynomial`.

    Notes
    -----
    Domain Vectors, dense or sparse, the columns in the order of positions. Features: those of the polynomial
    kernel on weighted columns. Differentiable in length scale, offset and inputs. Positive definite, since it
    is the polynomial kernel on sqrt(Omega) x; not strictly so and not universal (finitely many features);
    unbounded. The Gaussian kernel with the same weights is ``Gaussian(length_scale=1 / sqrt(weights))``. Cost
    O(mnd).

    Examples
    --------
    >>> k = LocalityImproved(site=1, length_scale=0.5)
    >>> k([[1.0, 1.0, 1.0], [0.0, 1.0, 0.0]]).round(3)
    array([[1.271, 1.   ],
           [1.   , 1.   ]])
    """

    formula = r"(x^\top \Omega \, x' + c)^p,\ \Omega_{jj} = \exp(-(\pi(j) - s)^2 / (2 l^2))"
    cost = "O(mnd), one matrix product"
    domain = Vectors
    constraints = {
        "site": Fixed(Interval(-np.inf, np.inf)),
        "length_scale": Positive(),
        "letters": Integer(1),
        "degree": Integer(1),
        "offset": Interval(0.0, np.inf, closed="left"),
    }

    def __init__(
        self, site: float, length_scale: float = 1.0, letters: int = 1, degree: int = 1, offset: float = 0.0
    ) -> None:
        self.site = site
        self.length_scale = length_scale
        self.letters = letters
        self.degree = degree
        self.offset = offset

    def _prepare(self, A: Samples) -> Samples:
        """Raise DomainError unless the columns are whole positions."""
        assert isinstance(A, Vectors)
        if A.width % self.letters:
            raise DomainError(
                f"X has {A.width} columns, which {self!r} cannot divide into positions of {self.letters} "
                "letters; the number of columns must be a multiple of letters. Give letters the columns per "
                "position."
            )
        return A

    def weights(self, width: int) -> Floats:
        """Return the diagonal of Omega for d columns."""
        return np.exp(-0.5 * self._offsets(width) ** 2)

    def _offsets(self, width: int) -> Floats:
        """Return (position - site) / l, cut far beyond where the weight vanishes, to be squared safely."""
        positions = np.arange(width) // self.letters
        with np.errstate(over="ignore", divide="ignore"):
            return np.clip((positions - float(self.site)) / float(self.length_scale), -100.0, 100.0)

    def tile(self, view: View) -> Floats:
        """Multiply the weighted side by the other, then take the power."""
        A, B = view.collections
        assert isinstance(A, Vectors) and isinstance(B, Vectors)
        with np.errstate(over="ignore", invalid="ignore"):
            left = view.comparison.keep(("weights", id(self), view.path), lambda: self._weighted(A))
            tile = product_tile(view, left, B)
        profiles.power(tile, int(self.degree), 1.0, float(self.offset))
        return tile

    def _weighted(self, A: Vectors, root: bool = False) -> Any:
        w = self.weights(A.width)
        return scaled_columns(A.X, np.sqrt(w) if root else w)

    def _diag(self, A: Samples) -> Floats:
        """Return (x' Omega x + c)^p."""
        assert isinstance(A, Vectors)
        with np.errstate(over="ignore", invalid="ignore"):
            values = _row_dots(self._weighted(A), A.X)
        profiles.power(values, int(self.degree), 1.0, float(self.offset))
        return values

    def _features(self, A: Samples, keys: Any = None) -> tuple[Any, Any]:
        """Return the weighted monomials of degree p in (sqrt(w) x, sqrt(c))."""
        assert isinstance(A, Vectors)
        require_few(self, self.feature_count(A) or 0)
        Y = self._weighted(A, root=True)
        if self.offset > 0:
            column = np.full((len(A), 1), np.sqrt(self.offset), A.X.dtype)
            Y = sp.hstack([Y, sp.csr_array(column)], format="csr") if A.is_sparse else np.hstack([Y, column])
        return monomials(Y, int(self.degree)), None

    def _feature_count(self, A: Samples) -> int | None:
        """Return the number of monomials."""
        assert isinstance(A, Vectors)
        return monomial_count(A.width + (self.offset > 0), int(self.degree))

    def _slope(self, A: Vectors, B: Vectors, W: Floats) -> Floats:
        """Return W times the derivative of the power in the weighted dot product."""
        t = np.ascontiguousarray(_dense_product(self._weighted(A), B.X))
        profiles.power(t, int(self.degree) - 1, 1.0, float(self.offset))
        return W * (self.degree * t)

    def _pullback(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return the derivatives in length scale and offset."""
        assert isinstance(A, Vectors) and isinstance(B, Vectors)
        G = self._slope(A, B, W)
        moment = self._offsets(A.width) ** 2 * self.weights(A.width) / self.length_scale
        columns = _column_dots(A.X, np.asarray(G @ B.X))
        return np.array([float(columns @ moment), float(G.sum())])

    def _pullback_inputs(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return sum_j W_ij p (...)^(p-1) Omega b_j."""
        assert isinstance(A, Vectors) and isinstance(B, Vectors)
        return np.asarray(self._slope(A, B, W) @ B.X, dtype=float) * self.weights(A.width)


def _are_functions(value: Any) -> bool:
    given = value if isinstance(value, (tuple, list)) else (value,)
    return bool(given) and all(map(callable, given))


class Basis(Tiled, Featured, Differentiated):
    r"""Kernel of finitely many basis functions with a prior covariance of their weights.

    .. math:: k(x, x') = \phi(x)^\top \Sigma_p \, \phi(x')

    Seed: [STS] Eq. (84); [SS] Eq. (87): the covariance of f(x) = w . phi(x) with w ~ N(0, Sigma_p).

    Parameters
    ----------
    functions : callable or tuple of callables
        One function that takes all raw data at once and returns (n, D) numbers, or D functions that each
        return (n,) numbers.
    covariance : (D, D) array, (D,) array of variances, or None
        Sigma_p, symmetric and positive semi-definite; None is the identity.

    Notes
    -----
    Any domain: the functions receive the raw data, once per collection. Features: phi(x) times a root of
    Sigma_p. No free parameter. Positive definite, since it is the dot product of these features; not strictly
    so and not universal, since they are finitely many; unbounded. Cost O(mnD) by one matrix product.

    Examples
    --------
    >>> k = Basis(lambda X: np.column_stack([np.ones(len(X)), np.asarray(X)[:, 0]]), (4.0, 1.0))
    >>> k([[0.0], [3.0]])
    array([[ 4.,  4.],
           [ 4., 13.]])
    """

    formula = r"\phi(x)^\top \Sigma_p \, \phi(x')"
    cost = "O(mnD), one matrix product, and the functions once per sample"
    feature_limit = 0
    constraints = {
        "functions": Satisfies(
            "a function of all the data, or a tuple of functions", _are_functions, "lambda X: X[:, :2]"
        ),
        "covariance": Optional(Array(1, 2)),
    }

    def __init__(self, functions: Any, covariance: Any = None) -> None:
        self.functions = functions
        self.covariance = covariance

    def check(self) -> Any:
        """Raise ParameterError unless there are functions and the covariance is positive semi-definite."""
        super().check()
        if self.covariance is not None:
            check_semidefinite(self._matrix(), "covariance", self)
        return self

    def _matrix(self) -> Floats:
        sigma = _array(self.covariance)
        return np.diag(sigma) if sigma.ndim == 1 else sigma

    @derived
    def domain(self) -> type[Samples]:
        """A table with the values of the basis functions."""
        return Frames

    @derived
    def part(self) -> Hashable:
        """A key that is the same for the same functions."""
        return Whole(Same(self.functions))

    def parts(self) -> Mapping[Hashable, Callable[[Any], Samples]]:
        """Return the values of the basis functions as columns."""
        return {self.part: self._evaluate}

    def pack(self, X: Any) -> Samples:
        """Evaluate the functions once per sample."""
        return Frames.pack(X, self.parts())  # pyright: ignore[reportArgumentType]

    def _evaluate(self, data: Any) -> Vectors:
        if isinstance(self.functions, (tuple, list)):
            values: Any = np.hstack([rows_of(f, data, self, single=True) for f in self.functions])
        else:
            values = rows_of(self.functions, data, self)
        packed = Vectors.pack(values)
        width = packed.width if self.covariance is None else len(_array(self.covariance))
        if packed.width != width:
            raise DomainError(
                f"the functions of Basis returned values of shape {values.shape}; one row per sample and "
                f"{width} columns, as the covariance has, are needed. Correct the functions or the "
                "covariance."
            )
        return packed

    def _values(self, A: Samples) -> Vectors:
        part = A.part(self.part) if isinstance(A, Frames) else A  # pyright: ignore[reportArgumentType]
        assert isinstance(part, Vectors)
        return part

    def _weighted(self, A: Samples) -> Any:
        X = self._values(A).X
        return X if self.covariance is None else X @ self._matrix()

    def tile(self, view: View) -> Floats:
        """Multiply one side by the covariance once, then by the other side."""
        A, B = view.collections
        with np.errstate(over="ignore", invalid="ignore"):
            left = view.comparison.keep(("covariance", id(self), view.path), lambda: self._weighted(A))
            return product_tile(view, left, self._values(B))

    def _diag(self, A: Samples) -> Floats:
        """Return phi(x)' Sigma phi(x)."""
        with np.errstate(over="ignore", invalid="ignore"):
            return _row_dots(self._weighted(A), self._values(A).X)

    def _features(self, A: Samples, keys: Any = None) -> tuple[Any, Any]:
        """Return the basis functions times a root of the covariance."""
        X = self._values(A).X
        return (X if self.covariance is None else np.asarray(X @ semidefinite_root(self._matrix()))), None

    def _feature_count(self, A: Samples) -> int | None:
        """Return the number of basis functions, or the rank of their covariance."""
        return self._values(A).width if self.covariance is None else semidefinite_root(self._matrix()).shape[1]

    def _pullback(self, A: Samples, B: Samples, W: Floats) -> Floats:
        """Return nothing: there is no free parameter."""
        return np.empty(0)


def _array(matrix: Any) -> Floats:
    return np.asarray(matrix, dtype=float)


def check_semidefinite(matrix: Any, name: str, owner: object) -> None:
    """Raise ParameterError unless a matrix is square, finite, symmetric and positive semi-definite."""
    whose = type(owner).__name__
    try:
        B = _array(matrix)
    except (TypeError, ValueError, OverflowError):
        B = np.empty(0)
    if B.ndim != 2 or len(set(B.shape)) != 1 or not B.size or not np.isfinite(B).all():
        raise ParameterError(
            f"{whose} was given a {name} of shape {np.shape(B)}; {name} must be a square matrix of finite "
            "numbers. Give an array, or a tuple of rows."
        )
    size = np.abs(B).max()
    if np.abs(B - B.T).max() > _ROUNDING * size:
        raise ParameterError(
            f"{whose} was given a {name} that differs from its transpose by {np.abs(B - B.T).max():.3g}; "
            f"{name} must be symmetric. Use (B + B.T) / 2."
        )
    try:  # a third of the cost of eigenvalues, which are needed for the message alone
        np.linalg.cholesky(B + _ROUNDING * max(size, np.finfo(float).tiny) * np.eye(len(B)))
    except np.linalg.LinAlgError:
        raise ParameterError(
            f"{whose} was given a {name} with the eigenvalue {np.linalg.eigvalsh(B)[0]:.3g}; {name} must be "
            "positive semi-definite. Set negative eigenvalues to zero, or estimate the matrix as a "
            "covariance."
        ) from None


def semidefinite_root(matrix: Any) -> Floats:
    """Return R (d, r) with R R' = B for a positive semi-definite B of rank r (to rounding)."""
    values, vectors = np.linalg.eigh(_array(matrix))
    kept = values > values.max(initial=0.0) * len(values) * np.finfo(float).eps
    return vectors[:, kept] * np.sqrt(values[kept])


def scaled_columns(X: Any, w: Floats) -> Any:
    """Return X with its columns multiplied by w, in the dtype of X."""
    w = w.astype(X.dtype)
    if not sp.issparse(X):
        return X * w
    return sp.csr_array((X.data * w[X.indices], X.indices, X.indptr), shape=X.shape)


def product_tile(view: View, left: Any, B: Vectors) -> Floats:
    """Return the tile of dot products of the rows of a matrix and of vectors."""
    tile = view.empty()
    tile[...] = _dense_product(left[view.rows], B.X[view.columns])
    return tile


def _dense_product(left: Any, right: Any) -> Floats:
    if sp.issparse(right) and not sp.issparse(left):
        return np.asarray((right @ left.T).T)
    product = left @ right.T
    return product.toarray() if sp.issparse(product) else np.asarray(product)


def _row_dots(left: Any, right: Any) -> Floats:
    """Return the dot products of the rows of two matrices, one by one, in float64."""
    if sp.issparse(left) or sp.issparse(right):
        return np.asarray(sp.csr_array(left).multiply(sp.csr_array(right)).sum(axis=1), dtype=float).ravel()
    return np.einsum("ij,ij->i", left, right, dtype=float)


def _column_dots(left: Any, right: Floats) -> Floats:
    """Return the dot products of the columns of two matrices, one by one."""
    if sp.issparse(left):
        return np.asarray(left.multiply(right).sum(axis=0), dtype=float).ravel()
    return np.einsum("ij,ij->j", left, right, dtype=float)
