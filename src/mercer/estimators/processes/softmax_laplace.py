r"""Laplace's approximation of a Gaussian process with several classes: one latent function each, joined by softmax.

Symbols: n samples, c classes, F the latent functions at the samples (n, c), K the prior covariance of each of them,
A = K^-1 F, P the softmax of F, w_i weights, D_c = diag(w P_c), E_c = (K + D_c^-1)^-1, M = sum_c E_c = L L^T,
V_c = L^-1 E_c. The (cn, cn) matrix W of second derivatives is never made: (K + W^-1)^-1 has blocks
E_c - E_c M^-1 E_c on its diagonal and -E_c M^-1 E_d beside it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from mercer.arrays import Floats, Indices
from mercer.estimators.processes.laplace import is_fast
from mercer.estimators.processes.site_matrix import balanced_cholesky, balanced_inverse, sandwich, solved
from mercer.numerics.cholesky import CholeskyFactor, lapack, safe_cholesky
from mercer.runtime.tiling import in_background, spans, transpose_into

__all__ = ["SoftmaxLaplace", "softmax_laplace", "softmax_weights"]

_CLOSE = 1e-9  # Newton decrement at which the mode is found
_NEAR = 1e-4  # from here on Newton steps need no search, and rounding may hide progress
_LIMIT = 200


@dataclass(frozen=True, eq=False)
class SoftmaxLaplace:
    """The Gaussian at the mode of the posterior of all latent functions.

    Attributes
    ----------
    coef : (n, c) array
        A: the latent means at x are sum_i A_ic k(x, x_i).
    latent : (n, c) array
        F, the mode.
    inner : (c, n, n) array
        E_c.
    coupling : CholeskyFactor
        Factor of M.
    shares : (n, c) array
        w P, the diagonals of D_c.
    evidence : float
        Approximate logarithm of the marginal likelihood.
    residual : float
        Newton decrement: how far from the mode, in posterior standard deviations.
    steps, factors : int
        Newton steps, and how often E and M were computed.
    """

    coef: Floats
    latent: Floats
    inner: Floats
    coupling: CholeskyFactor
    shares: Floats
    evidence: float
    residual: float
    steps: int
    factors: int

    @property
    def converged(self) -> bool:
        """Whether the mode was found up to rounding."""
        return self.residual <= _NEAR


def softmax_laplace(
    K: Floats,
    codes: Indices,
    weight: Floats,
    count: int,
    *,
    start: Floats | None = None,
    out: tuple[Floats, Floats] | None = None,
) -> SoftmaxLaplace:
    r"""Find the mode of all latent functions and the approximate evidence.

    .. math:: \max_F \; \sum_i w_i \Bigl(F_{i y_i} - \log \sum_c e^{F_{ic}}\Bigr)
        - \tfrac12 \sum_c F_c^\top K^{-1} F_c

    Seed: [HSS] Eqs. (113)-(115); (115) is here with its one half and minus the log partition, and the covariance of
    pairs (x, y) is k(x, x') for equal classes, 0 for others.

    Parameters
    ----------
    K : (n, n) array
        Prior covariance of each latent function; it is only read.
    codes : (n,) array of int
        Class of each sample, 0 to c - 1.
    weight : (n,) array
        Positive; a sample of weight w counts as w copies.
    count : int
        c.
    start : (n, c) array, optional
        Where the mode is expected: F of a similar problem. The first Newton step starts there.
    out : arrays of shapes (c, n, n) and (n, n), optional
        Memory for E and M.

    Returns
    -------
    SoftmaxLaplace

    Notes
    -----
    Cost (c + 1/3) n^3 for each time that E and M are computed; they serve again as long as the steps shrink fast.
    Memory (c + 1) n^2 numbers beside K.

    Examples
    --------
    >>> found = softmax_laplace(np.eye(3), np.array([0, 1, 2]), np.ones(3), 3)
    >>> found.latent[0].round(4)
    array([ 0.4897, -0.2448, -0.2448])
    """
    n = len(K)
    chosen = np.zeros((n, count))
    chosen[np.arange(n), codes] = 1.0
    buffers = (np.empty((count, n, n)), np.empty((n, n))) if out is None else out
    A, F = np.zeros((n, count)), np.zeros((n, count))
    value = _objective(chosen, weight, A, F)
    joined, fresh, before, logdet = None, True, np.inf, 0.0
    steps = factors = 0
    if start is not None:
        P = special.softmax(start, axis=1)
        joined, logdet = _joined(K, weight, P, buffers)
        b = weight[:, None] * (P * (start - np.einsum("ic,ic->i", P, start)[:, None]) + chosen - P)
        trial, factors = _newton(K, buffers[0], joined, b), 1
        reached = _objective(chosen, weight, trial, K @ trial)
        if reached > value:
            A, F, value, fresh = trial, K @ trial, reached, False
        else:
            joined = None
    while True:
        P = special.softmax(F, axis=1)
        if joined is None:
            joined, logdet = _joined(K, weight, P, buffers)
            fresh, factors = True, factors + 1
        r = weight[:, None] * (chosen - P) - A
        delta = _newton(K, buffers[0], joined, r)
        move = K @ delta
        decrement = float(np.sqrt(max(np.vdot(r, move), 0.0)))
        stuck = decrement < _NEAR and decrement > 0.5 * before
        if decrement <= _CLOSE or steps >= _LIMIT or (fresh and stuck):
            break
        if not fresh and not is_fast(before, decrement, n):
            joined = None
            continue
        t, value = _search(chosen, weight, (A, F), (delta, move), value, decrement)
        if t == 0.0:
            if fresh:
                break
            joined = None
            continue
        A, F = A + t * delta, F + t * move
        steps, fresh, before = steps + 1, False, decrement
    if not fresh:
        (joined, logdet), factors = _joined(K, weight, P, buffers), factors + 1
    evidence = _objective(chosen, weight, A, F) - 0.5 * logdet
    return SoftmaxLaplace(A, F, buffers[0], joined, weight[:, None] * P, evidence, decrement, steps, factors)


def softmax_weights(K: Floats, found: SoftmaxLaplace) -> Floats:
    r"""Return the derivative of the evidence in the entries of K, in K's memory; E and M are overwritten too.

    .. math:: G = \tfrac12 \sum_c \left(a_c a_c^\top + u_c a_c^\top + a_c u_c^\top - E_c + V_c^\top V_c\right), \qquad
        u = (I + W K)^{-1} s, \quad
        s_{ic} = -\tfrac12 \operatorname{tr} \Sigma^{(i)} \, \partial W^{(i)} / \partial F_{ic}

    with the (c, c) blocks Sigma^(i) and W^(i) of the posterior covariance and of W that belong to sample i.

    Parameters
    ----------
    K : (n, n) array
        That of `softmax_laplace`.
    found : SoftmaxLaplace
        What `softmax_laplace` returned.

    Returns
    -------
    (n, n) array
        G, symmetric.
    """
    T, L, shares = found.inner, found.coupling.array, found.shares
    n = len(shares)
    own = np.ascontiguousarray(T.diagonal(axis1=1, axis2=2).T)  # of E, (n, c)
    info = np.zeros(1, np.intc)
    for E in T:  # T_c = V_c^T takes the place of E_c: what are rows here are columns to LAPACK
        in_background(lapack("dtrsm"), "L", "L", "N", "N", n, n, 1.0, L, n, E, n, work=float(n) ** 3)
    in_background(lapack("dtrtri"), "L", "N", n, L, n, info, work=n**3 / 3)  # its upper triangle is now L^-T
    s = _pull(T, L, shares, own)
    x = K @ s
    v = np.stack([V.T @ column for V, column in zip(T, x.T, strict=True)], axis=1)  # V_c x_c, so that E_c x_c = L v_c
    back = T @ v.sum(axis=1)  # (c, n): E_c M^-1 sum_d E_d x_d
    u = s - _times_factor(L, v) + back.T
    for k, V in enumerate(T):  # half the sum of V_c^T V_c, into the upper triangle of K's memory
        in_background(lapack("dsyrk"), "L", "T", n, n, 0.5, V, n, float(k > 0), K, n, work=float(n) ** 3)
    return _collected(K, found.coupling, found.coef + u, u)


def _pull(T: Floats, L: Floats, shares: Floats, own: Floats) -> Floats:
    """Return s, (n, c): how the evidence changes with the latent functions while K is held."""
    n, c = shares.shape
    D = np.maximum(shares, np.finfo(float).tiny)
    P = D / D.sum(axis=1, keepdims=True)
    root = np.sqrt(D)
    blocks = np.zeros((n, c, c))  # of D^1/2 Sigma D^1/2: scaled so that nothing is lost where a class is unlikely
    blocks[:, range(c), range(c)] = 1.0 - own / D
    for rows in spans(n, 64):
        upper = np.triu(L[rows], rows.start)
        scale = root[rows].T[:, :, None]
        Q = (scale * upper - T[:, rows] / scale).transpose(1, 0, 2)
        blocks[rows] += Q @ Q.transpose(0, 2, 1)
    rho = np.sqrt(P)
    diagonal = np.einsum("icc->ic", blocks)
    product = rho * np.einsum("icd,id->ic", blocks, rho)
    total = diagonal.sum(axis=1, keepdims=True) - 2.0 * product.sum(axis=1, keepdims=True)
    return -0.5 * (diagonal - 2.0 * product - P * total)


def _times_factor(inverse: Floats, v: Floats) -> Floats:
    """Return L v for v (n, k) from L^-1, whose transpose is the upper triangle given."""
    n, X = len(v), np.array(v.T, order="C")
    if X.size:
        lapack("dtrsm")("L", "L", "N", "N", n, len(X), 1.0, inverse, n, X, n)
    return X.T


def _collected(G: Floats, coupling: CholeskyFactor, plus: Floats, minus: Floats) -> Floats:
    """Add (p p^T - q q^T - M) / 2 to the upper triangle of G, and mirror it."""
    M = coupling.array  # below its diagonal
    for rows in spans(len(G), 64):
        rest = slice(rows.stop, len(G))
        corner = np.tril(M[rows, rows], -1)
        corner += corner.T + np.diag(coupling.diagonal[rows])
        inner = np.triu(G[rows, rows], 1)
        G[rows, rows] = inner + inner.T + np.diag(G[rows, rows].diagonal()) - 0.5 * corner
        G[rows, rest] -= 0.5 * M[rest, rows].T
        tail = slice(rows.start, len(G))
        G[rows, tail] += 0.5 * (plus[rows] @ plus[tail].T - minus[rows] @ minus[tail].T)
        transpose_into(G[rows, rest], G[rest, rows])
    return G


def _joined(K: Floats, weight: Floats, P: Floats, out: tuple[Floats, Floats]) -> tuple[CholeskyFactor, float]:
    """Compute E and the factor of M in their memory; return the factor and log |I + W K|."""
    inner, M = out
    logdet = -float(np.log(weight).sum())
    for E, column in zip(inner, P.T, strict=True):
        root = np.sqrt(weight * column)
        factor = balanced_cholesky(K, root, E)
        logdet += factor.logdet()
        sandwich(balanced_inverse(factor), root)
    np.sum(inner, axis=0, out=M)
    factor = safe_cholesky(M)
    return factor, logdet + factor.logdet()


def _newton(K: Floats, inner: Floats, joined: CholeskyFactor, r: Floats) -> Floats:
    """Solve (I + W K) delta = r."""
    x = K @ r
    Ex = np.stack([E @ column for E, column in zip(inner, x.T, strict=True)], axis=1)
    return r - Ex + (inner @ solved(joined, Ex.sum(axis=1))).T


def _objective(chosen: Floats, weight: Floats, A: Floats, F: Floats) -> float:
    """Return the log-likelihood minus half the squared norms."""
    log = np.einsum("ic,ic->i", chosen, F) - special.logsumexp(F, axis=1)
    return float(weight @ log) - 0.5 * float(np.vdot(A, F))


def _search(
    chosen: Floats,
    weight: Floats,
    at: tuple[Floats, Floats],
    step: tuple[Floats, Floats],
    value: float,
    decrement: float,
) -> tuple[float, float]:
    """Halve a step until the objective rises enough; return its length (0 if it never does) and the objective."""
    (A, F), (delta, move) = at, step
    t = 1.0
    while t > 1e-10:
        reached = _objective(chosen, weight, A + t * delta, F + t * move)
        if reached >= value + 1e-4 * t * decrement**2 or decrement < _NEAR:
            return t, reached
        t *= 0.5
    return 0.0, value
