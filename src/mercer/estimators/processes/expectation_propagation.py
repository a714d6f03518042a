r"""Expectation propagation for a Gaussian process with two classes and the probit link.

Symbols: K the prior covariance, tau_i and nu_i precision and shift of the Gaussian that stands for one copy of sample
i (its site), w_i how many copies there are, S^2 = diag(w tau), B = I + S K S, mu_i and sigma_i^2 the posterior's
marginals, b = K^-1 mu. A cavity is a marginal without one copy of its own site.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from mercer.arrays import Floats
from mercer.estimators.processes.laplace import excess, hazard
from mercer.estimators.processes.site_matrix import balanced_cholesky, balanced_inverse, solved, weigh
from mercer.numerics.cholesky import CholeskyFactor
from mercer.runtime.compiled import compiled
from mercer.runtime.tiling import serial_blas, spans

__all__ = ["ExpectationPropagation", "expectation_propagation", "propagation_weights"]

_ENOUGH = 1e-8  # change of a site, in the units of its marginal
_ROUGH = 1e-4  # change that still counts as settled, where rounding or the limit comes first
_LIMIT = 200
_WEAK = 1e-3  # a site with less than this of the prior's precision: its variance is found from the prior's
_ROUNDING = 1e-6  # change below which rounding may be all that is left
_FEW = 100  # samples up to which sweeps of one site after the other cost no more than those of all together
_SLOW, _GROWING = 0.5, 0.9  # how much the changes must shrink: with few samples, and with many
_WORK = 5e7  # entries of the covariance that are renewed in one call, some 50 ms


@dataclass(frozen=True, eq=False)
class ExpectationPropagation:
    """The Gaussian whose marginals agree with those that have one exact likelihood in place of its site.

    Attributes
    ----------
    coef : (n,) array
        b = K^-1 mu: the latent mean at x is sum_i b_i k(x, x_i).
    mean, variance : (n,) array
        Marginals of the posterior at the samples.
    precision, shift : (n,) array
        tau and nu.
    root : (n,) array
        S.
    factor : CholeskyFactor
        Factor of B; the latent variance at x is k(x, x) - |L^-1 S k|^2.
    evidence : float
        Approximate logarithm of the marginal likelihood.
    residual : float
        Largest change of a site in the last sweep, in the units of its marginal.
    sweeps : int
    """

    coef: Floats
    mean: Floats
    variance: Floats
    precision: Floats
    shift: Floats
    root: Floats
    factor: CholeskyFactor
    evidence: float
    residual: float
    sweeps: int

    @property
    def converged(self) -> bool:
        """Whether the sites have settled."""
        return self.residual <= _ROUGH


def expectation_propagation(
    K: Floats,
    y: Floats,
    weight: Floats,
    *,
    start: tuple[Floats, Floats] | None = None,
    out: Floats | None = None,
) -> ExpectationPropagation:
    r"""Find the sites, the posterior that they make, and its evidence.

    .. math:: q(f) \propto N(f | 0, K) \prod_i t_i(f_i)^{w_i}, \qquad
        \langle f_i, f_i^2 \rangle_q = \langle f_i, f_i^2 \rangle_{q \Phi(y_i f_i) / t_i}

    Seed: [HSS] Eq. (113), the predictive distribution for two classes, by another approximation of the integral over
    the latent function than (114).

    Parameters
    ----------
    K : (n, n) array
        Prior covariance; it is only read.
    y : (n,) array
        +1 and -1.
    weight : (n,) array
        Positive; a sample of weight w counts as w copies, each with its own site.
    start : pair of (n,) arrays, optional
        tau and nu to begin with.
    out : (n, n) array, optional
        Memory for the factor of B.

    Returns
    -------
    ExpectationPropagation

    Notes
    -----
    All sites are renewed together in sweeps of cost 2 n^3 / 3 as long as their changes shrink, with shorter steps if
    need be, else one after the other, each seeing the posterior that the last one left, in sweeps of cost 5 n^3 and
    two more n x n arrays.
    With weights below one a cavity may have no variance; such sites wait until theirs has one.

    Examples
    --------
    >>> found = expectation_propagation(np.array([[1.0]]), np.array([1.0]), np.ones(1))
    >>> round(float(np.exp(found.evidence)), 6)  # one sample is exact: the prior is symmetric
    0.5
    """
    n = len(y)
    tau, nu = (np.zeros(n), np.zeros(n)) if start is None else start
    diagonal = K.diagonal().copy()
    before, together, damping, sweeps = np.inf, True, 1.0, 0
    while True:
        root = np.sqrt(weight * tau)
        factor = balanced_cholesky(K, root, out)
        out = factor.array
        with serial_blas():
            b = weight * nu - root * solved(factor, root * (K @ (weight * nu)))
            mean = K @ b
        variance = _variances(K, diagonal, root, factor)
        fresh = sites_of(y, mean, variance, (tau, nu))
        change = np.maximum(np.abs(fresh[0] - tau) * variance, np.abs(fresh[1] - nu) * np.sqrt(variance))
        residual = float(np.max(change, initial=0.0))
        stuck = not together and 0.5 * before < residual < _ROUNDING
        if residual <= _ENOUGH or sweeps >= _LIMIT or stuck:
            break
        if sweeps > 1 and residual > (_SLOW if n <= _FEW else _GROWING) * before:
            together = together and n > _FEW and damping > 0.3
            damping *= 0.5
        if together:
            tau, nu = tau + damping * (fresh[0] - tau), nu + damping * (fresh[1] - nu)
        else:
            tau, nu = _one_by_one(K, (y, weight), (tau, nu), (mean, root), factor)
        sweeps, before = sweeps + 1, residual
    evidence = evidence_of(y, weight, (tau, nu), (mean, variance)) + 0.5 * float((weight * nu) @ mean)
    evidence -= 0.5 * factor.logdet()
    return ExpectationPropagation(b, mean, variance, tau, nu, root, factor, evidence, residual, sweeps)


def propagation_weights(found: ExpectationPropagation) -> Floats:
    r"""Return the derivative of the evidence in the entries of K, in the memory of the factor, which is then gone.

    .. math:: G = \tfrac12 \left(b b^\top - S B^{-1} S\right)

    Where the sites have settled the evidence does not change with them, so that K alone counts.

    Examples
    --------
    >>> K, y = np.array([[1.0, 0.5], [0.5, 1.0]]), np.array([1.0, -1.0])
    >>> evidence = lambda K: expectation_propagation(K, y, np.ones(2)).evidence
    >>> G = propagation_weights(expectation_propagation(K, y, np.ones(2)))
    >>> bool(np.isclose(np.sum(G * K), (evidence(K * (1 + 1e-6)) - evidence(K)) / 1e-6, rtol=1e-4))
    True
    """
    return weigh(balanced_inverse(found.factor), found.root, found.coef, np.zeros(len(found.coef)))


def _variances(K: Floats, diagonal: Floats, root: Floats, factor: CholeskyFactor) -> Floats:
    """Return the marginal variances of the posterior, by the formula that loses no digits for each."""
    precision = root * root
    out = np.empty(len(root))
    weak = np.flatnonzero(precision * diagonal < _WEAK)
    strong = np.flatnonzero(precision * diagonal >= _WEAK)
    if len(strong):
        out[strong] = (1.0 - factor.inverse_diagonal()[strong]) / precision[strong]
    for start in range(0, len(weak), 256):  # few columns of L^-1 S K at a time
        part = weak[start : start + 256]
        V = factor.half_solve(root[:, None] * K[:, part])
        out[part] = diagonal[part] - np.einsum("ij,ij->j", V, V)
    return np.clip(out, np.finfo(float).tiny, np.maximum(diagonal, np.finfo(float).tiny))


def _cavities(mean: Floats, variance: Floats, sites: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    """Return precision and shift of the marginals without one copy of their sites."""
    return 1.0 / variance - sites[0], mean / variance - sites[1]


def sites_of(y: Floats, mean: Floats, variance: Floats, sites: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    """Return the sites that give each marginal the moments of its cavity times the likelihood."""
    precision, shift = _cavities(mean, variance, sites)
    proper = precision > 0.0
    v = 1.0 / np.where(proper, precision, 1.0)
    m = v * shift
    scale = np.sqrt(1.0 + v)
    z = y * m / scale
    r, rest = hazard(z), excess(z)
    slope = y * r / scale
    curvature = r * rest / (1.0 + v)
    left = (1.0 + v * np.maximum(1.0 - r * rest, 0.0)) / (1.0 + v)  # 1 - v curvature, the variance that is left
    tau, nu = curvature / left, (slope + m * curvature) / left
    return np.where(proper, tau, sites[0]), np.where(proper, nu, sites[1])


def _one_by_one(
    K: Floats,
    data: tuple[Floats, Floats],
    sites: tuple[Floats, Floats],
    posterior: tuple[Floats, Floats],
    factor: CholeskyFactor,
) -> tuple[Floats, Floats]:
    """Return the sites after each was renewed in turn; the posterior follows by updates of rank one."""
    (y, weight), (tau, nu), (mean, root) = data, (sites[0].copy(), sites[1].copy()), (posterior[0].copy(), posterior[1])
    V = factor.half_solve(root[:, None] * K)
    covariance = V.T @ V
    np.subtract(K, covariance, out=covariance)
    for part in spans(len(y), max(1, int(_WORK / len(y) ** 2))):
        _renew(covariance, mean, tau, nu, y, weight, np.array([part.start, part.stop]))
    return tau, nu


@compiled
def hazard_tail(z):
    """Return the hazard at z, and its sum with z."""
    if z > -30.0:
        r = math.exp(-0.5 * z * z) / (math.sqrt(0.5 * math.pi) * math.erfc(-z / math.sqrt(2.0)))
        return r, z + r
    x = 1.0 / (z * z)
    rest = -(1.0 - x * (2.0 - x * (10.0 - x * (74.0 - 706.0 * x)))) / z
    return rest - z, rest


@compiled
def _renew(covariance, mean, tau, nu, y, weight, span):
    n = len(y)
    for i in range(span[0], span[1]):
        m, v, w = mean[i], covariance[i, i], weight[i]
        old_tau, old_nu = tau[i], nu[i]
        for _ in range(20):  # the copies of a sample see each other: they are renewed a few times
            precision = 1.0 / v - tau[i]
            if not precision > 0.0:
                break
            cavity = 1.0 / precision
            centre = cavity * (m / v - nu[i])
            scale = math.sqrt(1.0 + cavity)
            r, rest = hazard_tail(y[i] * centre / scale)
            curvature = r * rest / (1.0 + cavity)
            left = (1.0 + cavity * max(1.0 - r * rest, 0.0)) / (1.0 + cavity)
            step = min(1.0, 1.0 / w)
            d_tau = step * (curvature / left - tau[i])
            d_nu = step * ((y[i] * r / scale + centre * curvature) / left - nu[i])
            tau[i] += d_tau
            nu[i] += d_nu
            grown = 1.0 + w * d_tau * v
            m, v = m + (w * d_nu - w * d_tau * m) / grown * v, v / grown
            if w == 1.0 or abs(d_tau) * v + abs(d_nu) * math.sqrt(v) < 1e-12:
                break
        d_tau, d_nu = w * (tau[i] - old_tau), w * (nu[i] - old_nu)
        column = covariance[i].copy()
        grown = 1.0 + d_tau * column[i]
        shift, c = (d_nu - d_tau * mean[i]) / grown, d_tau / grown
        for j in range(n):
            mean[j] += shift * column[j]
            factor = c * column[j]
            for k in range(n):
                covariance[j, k] -= factor * column[k]


def evidence_of(y: Floats, weight: Floats, sites: tuple[Floats, Floats], marginals: tuple[Floats, Floats]) -> float:
    """Return the part of the log evidence that the normalisations of the sites make."""
    mean, variance = marginals
    precision, shift = _cavities(mean, variance, sites)
    precision = np.where(precision > 0.0, precision, np.nan)
    m, v = shift / precision, 1.0 / precision
    log_z = special.log_ndtr(y * m / np.sqrt(1.0 + v))
    ratio = 0.5 * (np.log(precision * variance) + mean * mean / variance - m * shift)  # of the sites alone
    return float(weight @ (log_z - ratio))
