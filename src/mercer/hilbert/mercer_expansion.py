r"""Mercer's expansion: a kernel as a sum over the eigenfunctions of its integral operator.

Symbols: nu a probability measure with points x_j and weights w_j; mu_i and e_i the eigenvalues and eigenfunctions of
(T f)(x) = int k(x, y) f(y) dnu(y); u_i the eigenvectors of the matrix sqrt(w_j w_l) k(x_j, x_l); r terms.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer.arguments import checked
from mercer.arrays import Floats, real_numbers
from mercer.budget import Bytes, Plan, Resources
from mercer.constraints import InstanceOf, Integer, Interval, Optional
from mercer.domains import Samples
from mercer.errors import CapabilityError, NotPositiveDefinite, ParameterError
from mercer.gram import Expansion, Features, Tiles
from mercer.hilbert.measures import Measure
from mercer.kernels import Kernel
from mercer.kernels.kernel import feature_count
from mercer.numerics.block_krylov import leading_eigenpairs
from mercer.numerics.eigen import eigh_in_place

__all__ = ["MercerExpansion", "mercer_expansion"]
__public__ = __all__

_FEW = 1000  # points up to which all eigenpairs together cost less than some of them by products
_SHARE = 8  # and beyond, if more than this share of them is needed
_LEAN = 4  # points per feature from which the features' own matrix is taken
_EPS = float(np.finfo(float).eps)


@dataclass(frozen=True, eq=False, repr=False)
class MercerExpansion:
    r"""A kernel as a sum over eigenfunctions, which are orthonormal under a measure.

    .. math:: k(x, x') = \sum_i \mu_i \, e_i(x) \, e_i(x'), \qquad \int e_i \, e_j \, d\nu = \delta_{ij}

    Seed: [SS] Eqs. (102)-(110); below Eq. (108) w_i = <f, sqrt(mu_i) e_i> sqrt(mu_i) is printed, one root too many:
    Eqs. (109)-(110) need w_i = <f, sqrt(mu_i) e_i>.

    Attributes
    ----------
    kernel : Kernel
    samples : Samples
        The n points of the measure, packed and prepared.
    weights : (n,) array
        Of the points; they sum to one.
    eigenvalues : (r,) array
        mu_i, descending and positive.
    coef : (n, r) array
        e_i(x) = sum_j coef_ji k(x, x_j).
    trace : float
        The integral of k(x, x), which is the sum of all eigenvalues.
    tail : float
        The sum of the eigenvalues left out: the mean of k(x, x) - sum_i mu_i e_i(x)^2 under the measure, which is the
        expected squared error in feature space of the map that ends after r terms. No other map with r coordinates
        has a smaller one.
    residual : float
        Largest length of (T - mu_i) e_i over mu_1, for the measure's points.

    Notes
    -----
    Made by `mercer_expansion`. Eigenfunctions are known up to their signs, those of equal eigenvalues up to a rotation.

    Examples
    --------
    >>> from mercer.hilbert import Uniform
    >>> from mercer.kernels import Brownian
    >>> expansion = mercer_expansion(Brownian(), Uniform(0.0, 1.0, count=200), rank=3)
    >>> expansion
    <MercerExpansion of Brownian(): 3 terms, 93.3 % of the trace>
    >>> (1.0 / expansion.eigenvalues / np.pi**2).round(2)  # (i - 1/2)^2
    array([0.25, 2.25, 6.25])
    >>> abs(expansion.eigenfunctions([[1.0]])).round(3)  # sqrt(2) sin((i - 1/2) pi x)
    array([[1.414, 1.414, 1.414]])
    """

    kernel: Kernel
    samples: Samples
    weights: Floats
    eigenvalues: Floats
    coef: Floats
    trace: float
    tail: float
    residual: float = 0.0

    @property
    def rank(self) -> int:
        """r, how many terms there are."""
        return len(self.eigenvalues)

    @property
    def share(self) -> float:
        """Part of the trace that the terms have; 1 if the kernel is zero."""
        return float(self.eigenvalues.sum() / self.trace) if self.trace > 0.0 else 1.0

    def eigenfunctions(self, X: Any) -> Floats:
        r"""Return the eigenfunctions anywhere, shape (m, r), by the equation that they solve.

        .. math:: e_i(x) = \frac{1}{\mu_i} \int k(x, y) \, e_i(y) \, d\nu(y)

        Seed: [SS] Eq. (105).
        """
        T = self.kernel.pack(X)
        return Expansion(self.kernel, self.samples, self.coef, np.zeros(self.rank))(T)

    def map(self, X: Any) -> Floats:
        r"""Return the feature map of the expansion, shape (m, r).

        .. math:: \phi(x) = \left(\sqrt{\mu_i} \, e_i(x)\right)_i, \qquad \phi(x)^\top \phi(x') \to k(x, x')

        Seed: [SS] Eq. (107).
        """
        return self.eigenfunctions(X) * np.sqrt(self.eigenvalues)

    def kernel_values(self, X: Any, Z: Any = None) -> Floats:
        """Return the sum of r terms instead of the kernel, shape (len X, len Z); Z is X if left out."""
        left = self.map(X)
        return left @ (left if Z is None else self.map(Z)).T

    def remainder(self, X: Any) -> Floats:
        """Return k(x, x) less the sum of r terms, shape (m,): the squared error of the map at x, never negative."""
        T = self.kernel.prepare(self.kernel.pack(X))
        return np.maximum(self.kernel.diag(T) - np.sum(self.map(T) ** 2, axis=1), 0.0)

    def coefficients(self, f: Any) -> Floats:
        r"""Return the coefficients of a function in the eigenfunctions, shape (r,), or (r, k) for k outputs.

        .. math:: f_i = \int f \, e_i \, d\nu, \qquad f = \sum_i f_i \, e_i

        Parameters
        ----------
        f : Expansion or other function of packed samples, or (n,) or (n, k) array
            An array holds its values at the points, ``self.samples``.
        """
        values = real_numbers(f(self.samples) if isinstance(f, Callable) else f, "f")
        if values.ndim not in (1, 2) or len(values) != len(self.samples):
            raise ParameterError(
                f"coefficients was given values of shape {values.shape} for {len(self.samples)} points; a number, or a "
                "row of numbers, per point is accepted. Give the function at the points `samples`."
            )
        c = self.coef.T @ values  # coef_ji is w_j e_i(x_j) / mu_i
        return c * (self.eigenvalues if c.ndim == 1 else self.eigenvalues[:, None])

    def norm(self, f: Any) -> Floats:
        r"""Return the norm in the kernel's space of the part of a function that the terms reach.

        .. math:: \|f\|^2 = \sum_i w_i^2 = \sum_i f_i^2 / \mu_i, \qquad w_i = \langle f, \sqrt{\mu_i} \, e_i \rangle

        Seed: [SS] Eqs. (108)-(110), with the misprint of w_i corrected.

        Parameters
        ----------
        f : as for `coefficients`

        Notes
        -----
        It grows with the number of terms, to the norm of f if f is in the space and beyond bounds if it is not. An
        intercept is part of the function here, and constants need not be in the space.
        """
        c = self.coefficients(f)
        return np.sqrt(np.sum(c * c / (self.eigenvalues if c.ndim == 1 else self.eigenvalues[:, None]), axis=0))

    def function(self, c: Any) -> Expansion:
        """Return sum_i c_i e_i as an element of the kernel's space, for c (r,) or (r, k)."""
        c = real_numbers(c, "c")
        return Expansion(self.kernel, self.samples, self.coef @ c, np.zeros(c.shape[1:]))

    def truncated(self, rank: int) -> MercerExpansion:
        """Return the expansion with its first terms only; what is left out is added to the tail."""
        Integer(0, self.rank).check("rank", rank, self)
        mu = self.eigenvalues
        tail = self.tail + float(mu[rank:].sum())
        return replace(self, eigenvalues=mu[:rank], coef=self.coef[:, :rank], tail=tail)

    def __repr__(self) -> str:
        plural = "" if self.rank == 1 else "s"
        return f"<MercerExpansion of {self.kernel!r}: {self.rank} term{plural}, {100 * self.share:.3g} % of the trace>"


@checked(
    kernel=InstanceOf(Kernel), measure=InstanceOf(Measure), memory=Optional(Bytes()), n_threads=Optional(Integer(1))
)
def mercer_expansion(
    kernel: Kernel,
    measure: Measure,
    rank: int | None = None,
    *,
    tol: float = 1e-12,
    memory: int | str | None = None,
    n_threads: int | None = None,
) -> MercerExpansion:
    r"""Expand a kernel in the eigenfunctions of its integral operator under a measure.

    .. math:: \int k(x, y) \, e_i(y) \, d\nu(y) = \mu_i \, e_i(x)

    The integral is a sum over the measure's points (Nystrom's method): exact for a sample, by quadrature otherwise.

    Seed: [SS] Eqs. (102)-(107); [KIKS] Eq. (12) for a sample.

    Parameters
    ----------
    kernel : Kernel
        Positive definite, on any domain; what it learns from data, it learns from the measure's points.
    measure : Measure
        `Sampled`, `Uniform`, `Normal`, `Circle` or a product of them.
    rank : int, optional
        How many terms at most; None takes all that are above `tol`.
    tol : float, default 1e-12
        Eigenvalues below this part of the largest are left out: their eigenfunctions are rounding. At least n eps.
    memory : int or str, optional
        Budget, as ``"2GB"``; None is 70 % of what is free.
    n_threads : int, optional
        None uses every core.

    Returns
    -------
    MercerExpansion

    Notes
    -----
    With n points all eigenpairs together cost 5 n^3 operations and 24 n^2 bytes. A kernel with D features, at most
    n / 4, has D of them, which are found from a D x D matrix in O(n D^2) operations. Otherwise, if n is above 1000 and
    at most n / 8 are asked for by `rank`, the leading ones are found by products with a matrix that is never stored
    (`leading_eigenpairs`, to residuals of 1e-10), in some 100 n rank bytes. A ConvergenceWarning is issued if 100
    products were not enough.

    Examples
    --------
    >>> from mercer.hilbert import Normal, Sampled
    >>> from mercer.kernels import Gaussian, Spectrum
    >>> expansion = mercer_expansion(Gaussian(1.0), Normal(0.0, 1.0), rank=4)
    >>> expansion.eigenvalues.round(4)  # each 0.382 of the one before
    array([0.618 , 0.2361, 0.0902, 0.0344])
    >>> words = mercer_expansion(Spectrum(1), Sampled(["ab", "abb", "ba"]))
    >>> words.rank
    2
    >>> words.kernel_values(["aab"], ["ab"]).round(6)
    array([[3.]])
    """
    _check(kernel, measure, rank, tol)
    resources = Resources(memory=memory, n_threads=n_threads)
    S, weights = measure.nodes(kernel)
    kernel = kernel.learn(S, None, weights)
    S, n, root = kernel.prepare(S), len(S), np.sqrt(weights)
    trace = float(weights @ kernel.diag(S))
    count = feature_count(kernel, S)
    if count and _LEAN * count <= n:
        values, vectors, residual = _by_features(kernel, S, root, resources)
    elif rank is None or n <= _FEW or _SHARE * rank > n:
        values, vectors, residual = _whole(kernel, S, root, resources)
    else:
        values, vectors, residual = _by_products(kernel, S, root, rank, resources)
    total = float(np.maximum(values, 0.0).sum()) if len(values) in (n, count) else trace
    kept = values > max(tol, n * _EPS) * max(float(values[0]), 0.0)
    kept[n if rank is None else rank :] = False
    mu, U = values[kept].copy(), _signed(vectors[kept])
    coef = np.ascontiguousarray((U / mu[:, None] * root).T)
    return MercerExpansion(kernel, S, weights, mu, coef, trace, max(total - float(mu.sum()), 0.0), residual)


def _check(kernel: Kernel, measure: Measure, rank: int | None, tol: float) -> None:
    if not isinstance(kernel, Kernel) or not isinstance(measure, Measure):
        wrong = measure if isinstance(kernel, Kernel) else kernel
        raise ParameterError(
            f"mercer_expansion was given {wrong!r:.60}; a kernel and a measure are accepted. "
            "Write for example mercer_expansion(Gaussian(1.0), Sampled(X))."
        )
    if rank is not None:
        Integer(1).check("rank", rank, "mercer_expansion")
    Interval(0.0, 1.0, closed="left").check("tol", tol, "mercer_expansion")
    if kernel.check().order != 0:
        raise CapabilityError(
            f"mercer_expansion was given {kernel!r}, which is not positive definite; Mercer's theorem is about kernels "
            "whose eigenvalues are not negative. Use a positive definite kernel."
        )


def _whole(kernel: Kernel, S: Samples, root: Floats, resources: Resources) -> tuple[Floats, Floats, float]:
    """Return all eigenvalues, descending, the eigenvectors in rows, and a bound on residuals, by LAPACK."""
    n = len(S)
    what = f"all eigenfunctions of {kernel!r} on {n} points"
    Plan(what, {"matrix": 8 * n * n, "work space": 16 * n * n}, ("rank= of fewer terms",)).require(resources.memory)
    G = Tiles().build(kernel, S, resources).to_dense()
    G *= root[:, None]
    G *= root
    values = eigh_in_place(G)[::-1]
    _require_definite(kernel, values)
    return values, G[::-1], n * _EPS


def _by_features(kernel: Kernel, S: Samples, root: Floats, resources: Resources) -> tuple[Floats, Floats, float]:
    """Return as many eigenpairs as there are features: those of sqrt(W) F F' sqrt(W) from F' W F, primal from dual."""
    gram = Features().build(kernel, S, resources)
    values, v = np.linalg.eigh(gram.normal(root**2, np.zeros(len(S)))[0])
    values, v = values[::-1], v[:, ::-1]
    kept = values > len(S) * _EPS * max(float(values[0]), 0.0)
    vectors = np.zeros((len(values), len(S)))
    vectors[kept] = (np.asarray(gram.matrix @ v[:, kept]) / np.sqrt(values[kept])).T * root
    return values, vectors, len(S) * _EPS


def _by_products(
    kernel: Kernel, S: Samples, root: Floats, rank: int, resources: Resources
) -> tuple[Floats, Floats, float]:
    """Return the leading eigenvalues, the eigenvectors in rows, and their residual, by products with tiles."""
    n, width = len(S), 5 * rank // 4 + 8
    what = f"{rank} eigenfunctions of {kernel!r} on {n} points"
    Plan(what, {"bases": 80 * n * width}, ("rank= of fewer terms",)).require(resources.memory)
    gram = Tiles().build(kernel, S, resources)
    found = leading_eigenpairs(lambda V: root[:, None] * (gram @ (root[:, None] * V)), n, rank)
    residual = float(found.residuals.max(initial=0.0)) / max(float(found.values[0]), np.finfo(float).tiny)
    if not found.converged:
        warnings.warn(
            f"The eigenfunctions of {kernel!r} were found to a residual of {residual:.1e} in {found.iterations} "
            "products; 1e-10 was wanted. The last ones are the least exact: ask for more than are used.",
            ConvergenceWarning,
            stacklevel=3,
        )
    return found.values, found.vectors.T, residual


def _require_definite(kernel: Kernel, values: Floats) -> None:
    if values[-1] < -64.0 * len(values) * _EPS * max(float(values[0]), 0.0):
        raise NotPositiveDefinite(
            f"{kernel!r} has the eigenvalue {values[-1]:.3g} on the points of the measure, beside {values[0]:.3g}; "
            "Mercer's expansion has none below zero. Use a positive definite kernel, or correct the matrix."
        )


def _signed(U: Floats) -> Floats:
    """Return eigenvectors, in rows, with the sign that makes the first of their largest entries positive."""
    size = np.abs(U)
    place = np.argmax(size > (1.0 - 1e-6) * size.max(axis=1, keepdims=True, initial=0.0), axis=1)
    return U * np.where(U[np.arange(len(U)), place] < 0.0, -1.0, 1.0)[:, None]
