r"""Kernel independent component analysis: the rotation that leaves components least dependent.

Symbols: X the samples, (n, d); Z the whitened ones, (n, q), of mean zero and covariance I; V a rotation, (q, q);
S = Z V^T the components; K_i the Gram matrix of component i and E_i its centred factor, (n, r_i), E_i E_i^T = K~_i;
w_i weights of the samples and N their sum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.linalg import eigh
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.callback import with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer.arguments import real_array
from mercer.arrays import Floats
from mercer.budget import Plan
from mercer.constraints import Integer, Interval, OneOf, Optional, Positive
from mercer.domains import Vectors
from mercer.errors import DomainError, ParameterError, warn_caller
from mercer.estimators.dependence.factor_gradients import MovingFactor, check_movable
from mercer.estimators.dependence.ica_starts import starts, turned_pairs
from mercer.estimators.estimator import KernelEstimator, pack_vectors, remember_columns
from mercer.estimators.fits import Run, fitting
from mercer.kernels import Gaussian, Kernel
from mercer.kernels.foreign import any_kernel
from mercer.kernels.kernel import AnyKernel
from mercer.kernels.vectors.pointwise import dense
from mercer.problems import Status
from mercer.runtime.tiling import serial_blas
from mercer.solvers.smooth.rotations import FrameMinimum, minimize_frame, projected, require_squares

__all__ = ["CONTRASTS", "KernelICA", "amari_error"]
__public__ = ["KernelICA", "amari_error"]

_KICKS = 5  # times at most that pairs are turned out of a minimum
_ALIKE = 1.1  # of the lowest contrast: minima that count as alike
_EDGES = 5, 0.01  # a contrast with edges has settled when this many steps have lowered it by less than this part
_FACTOR_TOL = 1e-7  # of what an incomplete factor leaves of the diagonal
_SETTLED = 1e-3  # a search that rounding ended with a gradient below this has arrived
_TINY = 1e-12  # of the largest: singular values below are rounding


def amari_error(W: Any, A: Any) -> float:
    r"""Return how far an unmixing matrix is from the inverse of a mixing matrix, order and scale apart: 0 to 1.

    .. math:: \frac{1}{2 d (d - 1)} \Big[ \sum_i \Big( \frac{\sum_j |p_{ij}|}{\max_j |p_{ij}|} - 1 \Big)
        + \sum_j \Big( \frac{\sum_i |p_{ij}|}{\max_i |p_{ij}|} - 1 \Big) \Big], \qquad P = W A

    Seed: [HSS] Section 3.3.3 (independent component analysis); the distance of Amari, Cichocki and Yang that its
    experiments are reported in, here over 2 d (d - 1).

    Parameters
    ----------
    W : (d, d) array
        What was found.
    A : (d, d) array
        What the sources were mixed by: X = S A^T.

    Examples
    --------
    >>> A = np.array([[2.0, 1.0], [1.0, 1.0]])
    >>> amari_error(np.linalg.inv(A)[::-1] * [[5.0], [-1.0]], A)  # other order, other scale
    0.0
    >>> amari_error([[1.0, 1.0], [1.0, -1.0]], np.eye(2))
    1.0
    """
    W, A = real_array(W, "W", 2), real_array(A, "A", 2)
    if W.shape != A.shape[::-1] or W.shape[0] != W.shape[1]:
        raise DomainError(
            f"matrices of shapes {W.shape} and {A.shape} were given; square matrices of the same size are accepted. "
            "Give components_ and the mixing matrix."
        )
    P = np.abs(W @ A)
    d = len(P)
    if d == 1:
        return 0.0
    rows, columns = P.max(axis=1), P.max(axis=0)
    if not (rows.all() and columns.all()):
        raise DomainError("The product of the matrices has a row or a column of zeros. Give regular matrices.")
    total = float(np.sum(P.sum(axis=1) / rows - 1.0) + np.sum(P.sum(axis=0) / columns - 1.0))
    return max(total, 0.0) / (2.0 * d * (d - 1))


# contrasts: factors E_i -> the value and, for each i, M_i E_i with M_i the derivative in K~_i ---------------------


def _hsic(factors: list[Floats], total: float, kappa: float) -> tuple[float, list[Floats]]:
    """Sum over pairs of tr(K~_i K~_j) / N^2."""
    value, products = 0.0, [np.zeros_like(E) for E in factors]
    for i, E in enumerate(factors):
        for j in range(i):
            inner = E.T @ factors[j]
            value += float(np.vdot(inner, inner))
            products[i] += factors[j] @ inner.T
            products[j] += E @ inner
    return value / total**2, [P / total**2 for P in products]


def _canonical(
    factors: list[Floats], total: float, kappa: float, rule: Callable[[Floats], tuple[float, Floats]]
) -> tuple[float, list[Floats]]:
    r"""A function of the matrix of regularised correlations between all components.

    With K~_i = U_i diag(s) U_i^T, c = N kappa / 2 and D_i = s / (s + c), its blocks are D_i U_i^T U_j D_j off the
    diagonal, and I on it. `rule` gives the value and the derivative in this matrix.
    """
    c = 0.5 * total * kappa
    parts = []
    for E in factors:
        values, vectors = eigh(E.T @ E)
        kept = values > _TINY * max(float(values[-1]), 0.0) if len(values) else np.zeros(0, bool)
        parts.append((E @ (vectors[:, kept] / np.sqrt(values[kept])), values[kept]))
    scaled = np.hstack([U * (s / (s + c)) for U, s in parts])
    ends = np.cumsum([0, *(len(s) for _, s in parts)])
    R = scaled.T @ scaled
    for a, b in pairwise(ends):
        R[a:b, a:b] = np.eye(b - a)
    value, slope = rule(R)
    products = []
    for (U, s), E, a, b in zip(parts, factors, ends[:-1], ends[1:], strict=True):
        own = slope[a:b].copy()
        own[:, a:b] = 0.0
        Q = scaled @ own.T  # (n, r_i)
        Q -= (U * (s / (s + c))) @ (U.T @ Q)
        left = U / (s + c)
        products.append(left @ (Q.T @ E) + Q @ (left.T @ E))  # dJ/dK~ = left Q^T + Q left^T
    return value, products


def _smallest(R: Floats) -> tuple[float, Floats]:
    """Minus half the logarithm of the smallest eigenvalue, and its derivative."""
    values, vectors = eigh(R, subset_by_index=(0, 0))
    least = max(float(values[0]), np.finfo(float).tiny)
    return -0.5 * float(np.log(least)), -0.5 / least * np.outer(vectors[:, 0], vectors[:, 0])


def _determinant(R: Floats) -> tuple[float, Floats]:
    """Minus half the logarithm of the determinant, and its derivative."""
    values, vectors = eigh(R)
    values = np.maximum(values, np.finfo(float).tiny)
    return -0.5 * float(np.sum(np.log(values))), -0.5 * (vectors / values) @ vectors.T


class _Settled:
    """Ends a search in a function with edges, whose gradient does not vanish, when the value falls no more."""

    def __init__(self, function: Callable[[Floats], tuple[float, Floats]], watch: Any) -> None:
        self._function, self._watch = function, watch
        self._lowest: float = np.inf
        self._values: list[float] = []

    def function(self, V: Floats) -> tuple[float, Floats]:
        found = self._function(V)
        self._lowest = min(self._lowest, found[0])
        return found

    def __call__(self, iteration: int, residual: float) -> bool | Status:
        self._values.append(self._lowest)
        steps, part = _EDGES
        if len(self._values) > steps and self._values[-1 - steps] - self._lowest <= part * abs(self._lowest):
            return Status.CONVERGED
        return self._watch(iteration, residual) if self._watch is not None else False


Contrast = Callable[[list[Floats], float, float], tuple[float, list[Floats]]]
CONTRASTS: dict[str, Contrast] = {
    "kgv": lambda factors, total, kappa: _canonical(factors, total, kappa, _determinant),
    "kcc": lambda factors, total, kappa: _canonical(factors, total, kappa, _smallest),
    "hsic": _hsic,
}


class KernelICA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelEstimator):
    r"""Kernel independent component analysis: mixtures taken apart into components that depend on each other least.

    .. math:: \min_{V \in SO(q)} J(K_1, \ldots, K_q), \qquad S = Z V^\top, \quad (K_i)_{ab} = k(s_{ai}, s_{bi})

    Seed: [HSS] Section 3.3.3, last paragraph: rotations S = V X such that S is independent, by the criteria of that
    section; [KIKS] Section 3.2 (incomplete Cholesky factors).

    Parameters
    ----------
    n_components : int, optional
        q; None is the number of directions in which the samples vary.
    kernel : Kernel, str, function or None, default None
        Compares values of one component, whose variance is 1; with a derivative in its inputs. None is
        ``Gaussian(1.0)`` for up to 1000 samples and ``Gaussian(0.5)`` for more.
    contrast : {"kgv", "kcc", "hsic"}, default "kgv"
        J. "kgv": minus half the logarithm of the determinant of the matrix of canonical correlations, the kernel
        generalised variance, which takes in all correlations. "kcc": of its smallest eigenvalue alone, 1 - kcc for two
        components. "hsic": the sum over pairs of tr(K~_i K~_j) / n^2.
    kappa : float, optional
        Ridge of the canonical correlations, as in `mercer.inference.kcc`; None is 0.02 for up to 1000 samples, and
        0.002 for more.
    n_init : int, default 3
        Searches, of which the best is kept: from what scikit-learn's `FastICA` finds by its contrasts "logcosh", "exp"
        and "cube", from the whitened samples' own axes, and from random rotations. Pairs of components are turned out
        of local minima. None ends above its start, so the contrast is at most that of FastICA. Among minima of "kgv"
        within a tenth of the lowest, which few samples cannot distinguish, the one that is lowest at half the kernel's
        width is kept. "kcc", whose minima have edges, is searched from where "kgv" ends, until five steps lower it by
        less than a hundredth.
    max_iter : int, default 200
        Steps of each search.
    tol : float, default 1e-4
        Tolerance of the gradient over the rotations, per radian, relative to the contrast.
    rank : int, default 100
        Columns of the incomplete factors at most; as a rule some 20 are enough.
    random_state : int, RandomState or None, default None
        Seed of the starts; None is 0.
    memory, max_time, n_threads : optional
        Budgets; see `KernelEstimator`.

    Attributes
    ----------
    components_ : (q, d) array
        What takes centred samples to components: S = (X - mean_) components_^T.
    mixing_ : (d, q) array
        Its pseudo-inverse.
    mean_ : (d,) array
    whitening_ : (q, d) array
        Z = (X - mean_) whitening_^T.
    rotation_ : (q, q) array
        V, of determinant 1: components_ = rotation_ whitening_.
    contrast_ : float
        J at the end.
    contrasts_ : (t,) array
        J at the end of the search from each start; of "kcc" there is one.
    residual_ : float
        Residual of the gradient, as for ``tol``.
    n_iter_ : int
        Steps of the best search, at least 1.
    kernel_ : Kernel

    Notes
    -----
    A sample of weight w counts as w copies. The order and the signs of components are open; they are put in order of
    how much of the samples' variance they carry, with the largest weight of each positive. Cost O(n q r^2 + n q^2 r)
    a step; memory O(n q r).

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> S, A = rng.uniform(-1, 1, size=(400, 2)), np.array([[2.0, 1.0], [1.0, 1.0]])
    >>> model = KernelICA().fit(S @ A.T)
    >>> bool(amari_error(model.components_, A) < 0.05)
    True
    """

    synonyms = ("blind source separation",)
    kernel_: Kernel
    constraints = {
        "n_components": Optional(Integer(1)),
        "kernel": AnyKernel(),
        "contrast": OneOf(*CONTRASTS),
        "kappa": Optional(Positive()),
        "n_init": Integer(1),
        "max_iter": Integer(1),
        "tol": Interval(0.0, 1.0, closed="left"),
        "rank": Integer(1),
    }

    def __init__(
        self,
        n_components: int | None = None,
        kernel: Any = None,
        *,
        contrast: str = "kgv",
        kappa: float | None = None,
        n_init: int = 3,
        max_iter: int = 200,
        tol: float = 1e-4,
        rank: int = 100,
        random_state: Any = None,
        memory: int | str | None = None,
        max_time: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.contrast = contrast
        self.kappa = kappa
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.rank = rank
        self.random_state = random_state
        self.memory = memory
        self.max_time = max_time
        self.n_threads = n_threads

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KernelICA:
        """Find the rotation.

        Parameters
        ----------
        X : (n, d) array, sparse matrix or packed vectors
        y : ignored
        sample_weight : (n,) array, optional
            Non-negative; a sample of weight w counts as w copies.

        Returns
        -------
        self
        """
        with fitting(self, X, y, sample_weight, pack=self._vectors) as (run, _, packed, S, _, w, _):
            self.memory_plan(len(S), packed.width).require(self.memory)
            if w.max() < np.finfo(float).tiny:
                raise DomainError(
                    f"sample_weight has values up to {w.max():.1g}, so small that their inverses overflow. Multiply "
                    "all weights by a large number."
                )
            Z = self._whiten(dense(S), w)
            kernel = self._resolved(float(w.sum()))
            check_movable(kernel, "KernelICA")
            self.kernel_ = kernel.learn(Vectors.pack(Z[:, :1]), None, w)
            best = self._minimise(Z, w, run)
            self._keep(best)
        return self

    def transform(self, X: Any) -> Floats:
        """Return the components of new data, shape (m, q).

        Parameters
        ----------
        X : (m, d) array, sparse matrix or packed vectors
        """
        return projected(dense(self._pack_new(X)), self.mean_, self.components_)

    def inverse_transform(self, S: Any) -> Floats:
        """Mix components again, shape (m, d).

        Parameters
        ----------
        S : (m, q) array
        """
        check_is_fitted(self)
        S = check_array(S, dtype="float64")
        if S.shape[1] != len(self.components_):
            raise DomainError(
                f"components of shape {S.shape} were given; there are {len(self.components_)}, so shape (m, "
                f"{len(self.components_)}) is accepted. Give what transform returns."
            )
        return S @ self.mixing_.T + self.mean_

    def memory_plan(self, n_samples: int, n_features: int = 1, n_targets: int = 1) -> Plan:
        """Return the large buffers of a fit by name, in bytes, before anything is allocated."""
        q = min(self.n_components or n_features, n_features)
        r = min(self.rank, n_samples)
        own = {"whitened samples": 24 * n_samples * n_features, "factors": 32 * n_samples * q * r}
        return Plan(f"KernelICA on {n_samples} samples", own, ("a lower rank", "fewer n_components"))

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    # steps --------------------------------------------------------------------------------------------

    def _vectors(self, X: Any) -> tuple[Vectors, Any]:
        """Pack the samples, and remember their columns; the kernel compares components, whatever the samples are."""
        packed = pack_vectors(X, self.kernel)
        remember_columns(self, X, packed, reset=True)
        return packed, self.kernel

    def _resolved(self, total: float) -> Kernel:
        self.kappa_ = self.kappa if self.kappa is not None else 0.02 if total <= 1000 else 0.002
        if self.kernel is not None:
            return any_kernel(self.kernel)
        return Gaussian(1.0 if total <= 1000 else 0.5)

    def _whiten(self, X: Floats, w: Floats) -> Floats:
        """Return samples of mean zero and covariance I; keeps how they were made."""
        total = float(w.sum())
        self.mean_ = np.average(X, axis=0, weights=w)
        centred = X - self.mean_
        require_squares(centred)
        _, s, Vt = np.linalg.svd(np.sqrt(w)[:, None] * centred, full_matrices=False)
        limit = int(np.sum(s > max(X.shape) * np.finfo(float).eps * max(float(s[0]), 1e-300))) if len(s) else 0
        if self.n_components is not None and self.n_components > limit:
            raise ParameterError(
                f"n_components={self.n_components} was given; the {len(X)} samples vary in {limit} directions. Use at "
                f"most {limit}, or None for all of them."
            )
        if limit == 0:
            raise DomainError(
                f"The {len(X)} samples do not vary: n_samples={len(X)} equal rows have no components. Give samples "
                "that differ."
            )
        q = self.n_components or limit
        Vt *= np.sign(Vt[np.arange(len(Vt)), np.argmax(np.abs(Vt), axis=1)])[:, None]
        self.whitening_ = Vt[:q] * (np.sqrt(total) / s[:q, None])
        return centred @ self.whitening_.T

    def _value(self, S: Floats, w: Floats, contrast: str) -> tuple[float, list[MovingFactor], list[Floats]]:
        """Return the contrast of components, their factors, and the derivatives in these times them."""
        factors = [MovingFactor(self.kernel_, S[:, [i]], w, self.rank, _FACTOR_TOL) for i in range(S.shape[1])]
        value, products = CONTRASTS[contrast]([f.array for f in factors], float(w.sum()), self.kappa_)
        return value, factors, products

    def _objective(self, Z: Floats, w: Floats, contrast: str | None = None) -> Callable[[Floats], tuple[float, Floats]]:
        """Return the contrast as a function of the rotation."""

        def function(V: Floats) -> tuple[float, Floats]:
            value, factors, products = self._value(Z @ V.T, w, contrast or self.contrast)
            slopes = [f.pullback(P) for f, P in zip(factors, products, strict=True)]
            return value, np.hstack(slopes).T @ Z

        return function

    def _minimise(self, Z: Floats, w: Floats, run: Run) -> FrameMinimum:
        """Search from several rotations; the best of what they find. "kcc" has edges, and begins where "kgv" ends."""
        rng = check_random_state(0 if self.random_state is None else self.random_state)
        begun = list(starts(Z, w, self.n_init if Z.shape[1] > 1 else 1, rng))
        smooth = "kgv" if self.contrast == "kcc" else self.contrast
        best = self._lowest(Z, w, begun, smooth, run, 0.6 if self.contrast == "kcc" else 1.0)
        if self.contrast == "kcc" and best.status not in (Status.TIME, Status.STOPPED):
            function = self._objective(Z, w)
            first = min([best.frame, *begun], key=lambda V: function(V)[0])
            best = self._lowest(Z, w, [first], "kcc", run, 1.0)
        if best.status is not Status.CONVERGED and not (best.status is Status.STALLED and best.residual <= _SETTLED):
            warn_caller(
                f"KernelICA stopped at residual {best.residual:.3g}; {self.tol:.1g} was wanted. {best.status.value}",
                ConvergenceWarning,
            )
        return best

    def _lowest(self, Z: Floats, w: Floats, begun: list[Floats], contrast: str, run: Run, until: float) -> FrameMinimum:
        """Search from several rotations, and on from where turns of pairs lead; a search that was cut ends it."""
        function, found = self._objective(Z, w, contrast), list[FrameMinimum]()

        def search(V: Floats, part: float) -> bool:
            with serial_blas(), run.stage("rotation", 0.02 + 0.96 * until * part):
                watch = run.solver_monitor(max(self.tol, 1e-12)) if run.watched else None
                ended = _Settled(function, watch) if contrast == "kcc" else None
                options: Any = {"tol": self.tol, "max_iter": self.max_iter, "monitor": ended or watch}
                found.append(minimize_frame(ended.function if ended else function, V, **options))
            return found[-1].status not in (Status.TIME, Status.STOPPED)

        going = all(search(V, 0.8 * (place + 1) / len(begun)) for place, V in enumerate(begun))
        self.contrasts_ = np.array([f.value for f in found])
        best = min(found, key=lambda f: f.value)
        for kick in range(_KICKS if Z.shape[1] > 1 else 0):
            V = turned_pairs(best.frame, Z, lambda S: self._value(S, w, contrast)[0]) if going else None
            if V is None:
                break
            going = search(V, 0.8 + 0.2 * (kick + 1) / _KICKS)
            if not found[-1].value < best.value - _SETTLED * abs(best.value):
                break
            best = found[-1]
        if not going:
            return replace(best, status=found[-1].status)
        # minima that few samples cannot distinguish are compared at half the width; none is above a start
        highest = min([_ALIKE * best.value, *(function(V)[0] for V in begun)])
        alike = [f for f in found if f.value <= highest] if contrast == "kgv" and len(found) > 1 else []
        return min(alike, key=lambda f: self._value(2.0 * Z @ f.frame.T, w, contrast)[0]) if alike else best

    def _keep(self, best: FrameMinimum) -> None:
        """Store the components, in an order and with signs that do not depend on the search."""
        V = best.frame
        W = V @ self.whitening_
        mixing = np.linalg.pinv(W)
        order = np.argsort(-np.sum(mixing**2, axis=0), kind="stable")
        V, W = V[order], W[order]
        signs = np.sign(W[np.arange(len(W)), np.argmax(np.abs(W), axis=1)])
        signs[signs == 0] = 1.0
        self.rotation_ = V * signs[:, None]
        self.components_ = W * signs[:, None]
        if np.linalg.det(self.rotation_) < 0.0:  # an axis of the whitened samples has no sign of its own: turn one
            self.rotation_[:, -1] *= -1.0
            self.whitening_[-1] *= -1.0
        self.mixing_ = np.linalg.pinv(self.components_)
        self.contrast_, self.residual_, self.n_iter_ = best.value, best.residual, max(best.iterations, 1)
