r"""Bayesian inference of least squares machines: their posterior, their evidence, and criteria for hyper-parameters.

Symbols: G = K + diag(1 / (C w)); P the block of the inverse of (G, 1; 1^T, 0) that maps y to a; N = sum w; s^2 the
scale of the prior, of which the function has the covariance s^2 K and the errors the variance s^2 / C; the bias has a
flat prior. In the notation of the literature mu = 1 / s^2, zeta = C / s^2, and C is the ratio gamma of the two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from mercer import free_parameters
from mercer.arrays import Array, Floats, Indices
from mercer.budget import UNLIMITED, Resources
from mercer.domains import Samples
from mercer.gram import Dense, Expansion, FeatureExpansion, Gram
from mercer.gram.gram import has_landmarks
from mercer.kernels import Kernel
from mercer.kernels.kernel import pullback
from mercer.numerics.cholesky import lapack
from mercer.problems import Solution, Status
from mercer.runtime.tiling import blas_for, in_background, spans
from mercer.selection.least_squares_path import least_squares_log_evidence
from mercer.solvers.linear.cholesky_solver import Factored
from mercer.solvers.linear.woodbury import NormalFactored

__all__ = ["LeastSquaresCriterion", "LeastSquaresPosterior", "Moderation", "log_evidence_of", "posterior_of"]
__public__ = ["LeastSquaresCriterion", "LeastSquaresPosterior", "Moderation"]

_TILE = 2**21  # numbers: the rows whose variances are computed at once


class LeastSquaresCriterion:
    r"""The selection criterion of least squares machines, as a function of kernel and C, with its derivatives.

    .. math:: -\log p(y \mid k, C) \qquad \text{or} \qquad \frac N2 \log \frac1N \sum_i w_i (a_i / P_{ii})^2
              + \frac{q + 1}{2} \log\Big(1 + \sum_j (\theta_j - \theta_j^0)^2\Big)

    The first is minus the log evidence, levels 2 and 3 of the Bayesian inference. The second is the left-out error,
    with a guard against choosing hyper-parameters that fit the left-out errors by chance: the logarithms theta of the
    q kernel parameters that move are normal about their start with a precision that is integrated out, so that they
    have the multivariate Cauchy prior.

    Seed: [SS] Section 5.2 (levels of inference), Section 5.1 (left-out errors [27], and their Bayesian regularisation
    [28], whose flat prior of the precision, which would reward parameters at their start without bound, is here the
    Gamma prior of shape and rate 1/2).

    Parameters
    ----------
    kind : {"evidence", "loo"}
    samples : Samples
        Packed.
    parts : sequence of (rows, Y)
        Machines that share kernel and C: places of their samples, and targets, (m, k).
    weight : (n,) array
        Weights of all samples; positive.
    start : Kernel, optional
        With a guard: the kernel at the start.
    moving : int
        q.

    Notes
    -----
    The derivatives are tr(P dG) - a^T dG a / s^2 and what follows from da = -P dG a, dP = -P dG P; those of K go
    through ``kernel.pullback``. Cost O(n^3) and a few n x n arrays per evaluation.
    """

    def __init__(
        self,
        kind: str,
        samples: Samples,
        parts: Sequence[tuple[Indices, Floats]],
        weight: Floats,
        *,
        start: Kernel | None = None,
        moving: int = 0,
        resources: Resources = UNLIMITED,
    ) -> None:
        self.kind, self.samples, self.parts, self.weight = kind, samples, parts, weight
        self.start, self.moving, self.resources = start, moving, resources

    def __call__(self, kernel: Kernel, beside: Mapping[str, Floats]) -> tuple[float, Floats, Mapping[str, Floats]]:
        """Return the value and its derivatives in the kernel's free parameters and in C."""
        with blas_for(len(self.samples)):
            return self._value(kernel, beside)

    def _value(self, kernel: Kernel, beside: Mapping[str, Floats]) -> tuple[float, Floats, Mapping[str, Floats]]:
        C = float(beside["C"])
        gram = Dense().build(kernel, self.samples, self.resources)
        n = len(self.samples)
        value, slope, total = 0.0, 0.0, 0.0
        derivative: Floats | None = None  # in the entries of K
        pieces = []
        for rows, Y in self.parts:
            every = len(rows) == n
            K = gram.release() if every and len(self.parts) == 1 else gram.rows(rows, rows)
            w = self.weight[rows]
            piece = _evidence(K, Y, w, C) if self.kind == "evidence" else _left_out(K, Y, w, C)
            pieces.append((rows, piece))
            value, total = value + piece.value, total + float(w.sum())
        factor = 1.0
        if self.kind == "loo":  # the logarithm of the sum over all machines
            press = max(value, np.finfo(np.float64).tiny)
            value, factor = 0.5 * total * np.log(press / total), 0.5 * total / press
        for rows, piece in pieces:
            slope += factor * piece.slope
            if len(rows) == n and derivative is None:
                derivative = piece.derivative
            else:
                derivative = np.zeros((n, n)) if derivative is None else derivative
                derivative[np.ix_(rows, rows)] += piece.derivative
        assert derivative is not None
        derivative *= factor
        raw = np.asarray(pullback(kernel, gram.samples, gram.samples, derivative), dtype=float)
        if self.start is not None and self.moving:
            more, gradient = self._guard(kernel)
            value, raw = value + more, raw + gradient
        return value, raw, {"C": np.asarray(slope)}

    def _guard(self, kernel: Kernel) -> tuple[float, Floats]:
        """Return the penalty, and its derivative in raw values."""
        assert self.start is not None
        away = free_parameters.unconstrain(kernel) - free_parameters.unconstrain(self.start)
        size, rate = 1.0 + float(away @ away), 0.5 * (self.moving + 1)
        return rate * np.log(size), (2.0 * rate / size) * away / free_parameters.chain(kernel, np.ones(len(away)))


@dataclass(frozen=True, eq=False)
class _Piece:
    value: float
    derivative: Floats  # in the entries of K, (m, m)
    slope: float  # in C


def _solved(K: Floats, Y: Floats, w: Floats, C: float) -> tuple[Floats, Floats, float]:
    """Return a, P and the log determinant of the block of G orthogonal to ones; K is overwritten."""
    n = len(w)
    K = np.require(K, dtype=np.float64, requirements=["C", "W", "O"])
    state = Factored.of(K, 1.0 / (C * w), np.ones((n, 1)))
    a, _, _ = state.columns(Y)
    logdet = state.logdet()
    border = state.border
    assert border is not None
    P = np.zeros((n, n))
    P[1:, 1:] = _inverse(state)
    border.turn(P)  # Q is one reflection, so that Q P Q^T = Q^T P Q
    return a, P, logdet


def _inverse(state: Factored) -> Floats:
    """Return the inverse of the matrix that was factored, by both triangles."""
    A = np.array(state.factor.array)
    if not len(A):
        return A
    in_background(lapack("dpotri"), "L", len(A), A, len(A), np.zeros(1, np.intc), work=2.0 * len(A) ** 3 / 3)
    upper = np.triu(A)
    return upper + np.triu(A, 1).T


def _evidence(K: Floats, Y: Floats, w: Floats, C: float) -> _Piece:
    a, P, logdet = _solved(K, Y, w, C)
    n, N = len(w), float(w.sum())
    k = Y.shape[1]
    quadratic = np.maximum(np.einsum("ik,ik->k", Y, a), np.finfo(np.float64).tiny)
    scaled = a * np.sqrt((N - 1.0) / quadratic) if N > 1.0 else a
    value = -float(np.sum(least_squares_log_evidence(quadratic, logdet + _weights_term(w), C, n, N)))
    P *= 0.5 * k
    P -= 0.5 * scaled @ scaled.T
    slope = -float(np.sum(np.diagonal(P) / w)) / C**2 - 0.5 * k * (N - n) / C
    return _Piece(value, P, slope)


def _left_out(K: Floats, Y: Floats, w: Floats, C: float) -> _Piece:
    a, P, _ = _solved(K, Y, w, C)
    p = np.diagonal(P).copy()
    errors = a / p[:, None]
    u = 2.0 * w[:, None] * errors / p[:, None]
    v = 2.0 * w * np.einsum("ik,ik->i", errors, errors) / p
    one_sided = (P @ u) @ a.T
    derivative = (P * v) @ P - 0.5 * (one_sided + one_sided.T)
    slope = -float(np.sum(np.diagonal(derivative) / w)) / C**2
    return _Piece(float(np.sum(w[:, None] * errors**2)), derivative, slope)


def _weights_term(w: Floats) -> float:
    """Return log |G| + log 1^T G^-1 1 + sum log w without the determinant of the block orthogonal to ones."""
    return float(np.log(len(w)) + np.sum(np.log(w)))


def log_evidence_of(state: Any, quadratic: Floats, w: Floats, C: float) -> Floats:
    """Return the log evidence of each output from a solved system.

    Parameters
    ----------
    state : Factored or NormalFactored
        State of the solution.
    quadratic : (k,) array
        y^T a.
    w : (n,) array
        Sample weights.
    C : float
    """
    logdet = state.logdet() if isinstance(state, Factored) else _normal_logdet(state)
    return least_squares_log_evidence(quadratic, logdet + _weights_term(w), C, len(w), float(w.sum()))


def _normal_logdet(state: NormalFactored) -> float:
    """Return log |G| + log q^T G^-1 q for the normalised border q, from the factor of the normal equations."""
    unit = len(state.factor.array) * np.log(state.unit)
    return state.factor.logdet() - unit + float(np.sum(np.log(state.shift)))


@dataclass(frozen=True, eq=False)
class LeastSquaresPosterior:
    r"""The posterior of the function of a least squares machine, bias included: level 1 of the Bayesian inference.

    .. math:: \mathrm{var}\, f(x) = s^2 \big(k(x, x) - h^\top P h - 2 q^\top h + \rho\big), \qquad h_i = k(x, x_i)

    with the inverse of (G, 1; 1^T, 0) = (P, q; q^T, -rho). In the primal form the variance is the squared length of
    :math:`L^{-1} (F(x), 1)` for the factor L of the normal equations; what landmarks do not see of a sample,
    :math:`k(x, x) - \|F(x)\|^2`, is not known at all and is added.

    Seed: [SS] Section 5.2, level 1.

    Parameters
    ----------
    root : Expansion or FeatureExpansion
        The function x -> (L^-1 Q2^T h, q^T h), or in the primal form x -> L^-1 (F(x), 1), with landmarks followed by
        F(x).
    offset : float
        rho.
    primal : bool
    beyond : int
        Length of F(x), with landmarks; otherwise 0.

    Notes
    -----
    Cost O(n^2) for each new sample, or O(r^2).
    """

    root: Expansion | FeatureExpansion
    offset: float
    primal: bool
    beyond: int = 0

    def variance(self, T: Samples, resources: Resources = UNLIMITED) -> Floats:
        """Return the variance of the function over s^2 at new samples, (m,), never negative."""
        out = np.empty(len(T))
        width = self._width()
        for rows in spans(len(T), max(_TILE // max(width, 1), 16)):
            part = T.take(rows)
            V, kernel = self.root(part, resources), self.root.kernel
            if self.primal:
                V, F = np.split(V, [V.shape[1] - self.beyond], axis=1)
                out[rows] = np.einsum("ij,ij->i", V, V)
                if self.beyond:
                    seen = np.einsum("ij,ij->i", F, F)
                    out[rows] += np.maximum(kernel.diag(kernel.prepare(part)) - seen, 0.0)
            else:
                B, own = V[:, :-1], kernel.diag(kernel.prepare(part)) + self.offset
                out[rows] = own - np.einsum("ij,ij->i", B, B) - 2.0 * V[:, -1]
        return np.maximum(out, 0.0)

    def covariance(self, T: Samples, resources: Resources = UNLIMITED) -> Floats:
        """Return the covariances of the function over s^2 at new samples, (m, m); its diagonal is `variance`."""
        V = self.root(T, resources)
        if self.primal:
            V, F = np.split(V, [V.shape[1] - self.beyond], axis=1)
            out = V @ V.T + (self.root.kernel(T) - F @ F.T if self.beyond else 0.0)
        else:
            B, mixed = V[:, :-1], V[:, -1]
            out = self.root.kernel(T) - B @ B.T - mixed - mixed[:, None] + self.offset
        np.fill_diagonal(out, self.variance(T, resources))
        return out

    def _width(self) -> int:
        coef = self.root.coef if isinstance(self.root, Expansion) else self.root.weights
        return coef.shape[1]


def posterior_of(gram: Gram, state: Any, total: float) -> LeastSquaresPosterior:
    """Return the posterior of a solved system.

    Parameters
    ----------
    gram : Gram
        Gram of the training samples; its numbers may have been given away.
    state : Factored or NormalFactored
        State of the solution.
    total : float
        1^T G 1.
    """
    inverse = _inverse_root(state)  # L^-T
    if isinstance(state, NormalFactored):
        n, r = len(state.shift), len(inverse) - 1
        assert state.border is not None
        inverse = np.sqrt(state.unit) * inverse
        weights, constant = inverse[:r], float(state.border.thin()[0, 0]) * inverse[r]
        beyond = r if has_landmarks(gram) else 0
        weights, constant = np.hstack([weights, np.eye(r, beyond)]), np.append(constant, np.zeros(beyond))
        root = gram.expand(Solution(np.zeros(n), Status.CONVERGED, 0.0, weights=weights), constant)
        return LeastSquaresPosterior(root, 0.0, primal=True, beyond=beyond)
    n, border = len(gram.samples), state.border
    c = 1.0 / float(border.thin().sum())
    z = -c * state.factor.solve(np.ascontiguousarray(state.above.T))[:, 0]
    q = border.back(np.concatenate([[c], z])[:, None])[:, 0]
    offset = c * (c * total / n + float(state.above[0] @ z))
    columns = border.back(np.concatenate([np.zeros((1, n - 1)), inverse]))
    root = Expansion(gram.kernel, gram.samples.landmarks(), np.column_stack([columns, q]), np.zeros(n))
    return LeastSquaresPosterior(root, offset, primal=False)


def _inverse_root(state: Any) -> Floats:
    """Return L^-T, upper triangular."""
    A = np.array(state.factor.array)
    if len(A):
        call = (len(A), A, len(A), np.zeros(1, np.intc))
        in_background(lapack("dtrtri"), "L", "N", *call, work=len(A) ** 3 / 3)
    return np.triu(A)


@dataclass(frozen=True)
class Moderation:
    r"""Probability of a class from decision value and posterior variance: where little is known, it nears the prior.

    .. math:: \log \frac{p_+(x)}{p_-(x)} = \log \frac{\pi_+}{\pi_-} + \frac{(m_+ - m_-)(f(x) - (m_+ + m_-) / 2)}
              {\tau^2 + \mathrm{var}\, f(x)}

    The decision values of a class are normal about the class mean, with a common variance tau^2 where the function is
    known, and its posterior variance is added.

    Seed: [SS] Section 5.2 (class probabilities of the LS-SVM, [120], [134]).

    Parameters
    ----------
    means : tuple of two floats
        ``m_-`` and ``m_+``, of left-out decision values.
    variance : float
        tau^2.
    log_odds : float
        Log odds of the classes.
    scale : float
        s^2, that multiplies `LeastSquaresPosterior.variance`.

    Examples
    --------
    >>> moderation = Moderation((-1.0, 1.0), 1.0, 0.0, scale=1.0)
    >>> moderation(np.array([1.0, 1.0]), np.array([0.0, 9.0])).round(3)
    array([0.881, 0.55 ])
    """

    means: tuple[float, float]
    variance: float
    log_odds: float
    scale: float

    def __call__(self, f: Floats, variance: Floats) -> Floats:
        """Return the probability of the positive class from decision values and variances over s^2, (m,) each."""
        low, high = self.means
        gap = max(high - low, 0.0)
        spread = np.maximum(self.variance + self.scale * variance, np.finfo(np.float64).tiny)
        return expit(self.log_odds + gap * (f - 0.5 * (low + high)) / spread)

    @classmethod
    def of(cls, left_out: Floats, sign: Array, weight: Floats, variance: Floats, scale: float) -> Moderation:
        """Learn it from left-out decision values of samples, their sides, weights and left-out variances over s^2."""
        positive = sign > 0
        known = np.isfinite(left_out)
        up, down = positive & known, ~positive & known
        if not up.any() or not down.any():  # a class of one sample says nothing without it
            means = (-1.0, 1.0)
        else:
            means = (
                float(np.average(left_out[down], weights=weight[down])),
                float(np.average(left_out[up], weights=weight[up])),
            )
        away = np.where(known, left_out - np.where(positive, means[1], means[0]), 0.0)
        total = float(weight[known].sum()) or 1.0
        within = float(weight @ away**2) / total
        unknown = scale * float(weight[known] @ variance[known]) / total
        log_odds = float(np.log(weight[positive].sum()) - np.log(weight[~positive].sum()))
        return cls(means, max(within - unknown, 0.1 * within), log_odds, scale)
