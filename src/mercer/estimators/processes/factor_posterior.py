r"""Gaussian process classification in the coordinates of a factor of K, where no array has two sides of n samples.

Symbols: K = F F^T the prior covariance, of rank r, F (n, r) with rows phi_i; f = F v the latent function, v ~ N(0, I),
or one v per class, the columns of V; w_i weights; W the second derivatives of minus the log-likelihood, or the
precisions of sites; A = I + F^T W F = L L^T, whose inverse is the posterior covariance of v; tau_i and nu_i precision
and shift of a site.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
from scipy import special

from mercer.arrays import Floats, Indices
from mercer.budget import Plan, Resources
from mercer.domains import Samples
from mercer.errors import CapabilityError
from mercer.estimators.processes.expectation_propagation import evidence_of, hazard_tail, sites_of
from mercer.estimators.processes.laplace import LINKS
from mercer.estimators.processes.posterior import CoordinatePosterior
from mercer.gram import GramSpec, Nystrom
from mercer.gram.gram import is_low_rank
from mercer.gram.low_rank.factor import FactorGram
from mercer.gram.low_rank.features import FeatureGram
from mercer.kernels import Kernel
from mercer.kernels.kernel import overflow_error
from mercer.numerics.cholesky import CholeskyFactor, safe_cholesky
from mercer.runtime.compiled import compiled
from mercer.runtime.tiling import blas_for, spans
from mercer.spec import bounds, chain, constrained, free_names, unconstrain

__all__ = ["FactorWay", "LatentFactor", "Likelihood", "Propagated", "Softmax", "TwoClasses"]

_CLOSE = 1e-8  # Newton decrement at which the mode is found
_BETWEEN = 1e-6  # the same during a search: the error of the evidence is its square
_NEAR = 1e-4  # from here on Newton steps need no search, and rounding may hide progress
_ENOUGH = 1e-8  # change of a site, in the units of its marginal
_ROUNDING = 1e-6  # change below which rounding may be all that is left
_GROWING = 0.9  # how much the changes of sites must shrink
_LIMIT = 200  # of Newton steps, and of sweeps
_ROWS = 4096  # rows of the factor at a time
_WORK = 5e7  # entries of the covariance that are renewed in one call, some 50 ms
_LARGEST = 5000  # order of A with which it is factored in seconds, in 200 MB
_STEP = 5e-3  # of differences of the evidence, in coordinates of the kernel's parameters

Factored = FactorGram | FeatureGram


@dataclass(frozen=True, eq=False)
class LatentFactor:
    """The Gaussian that stands for the posterior of v, or of all classes' v together.

    Attributes
    ----------
    weights : (r, k) array
        Means: that of the latent function at x is phi(x)^T v.
    factor : CholeskyFactor
        Factor of A, of order k r, one class after the other.
    state : object
        Where the search for a similar one may begin: it does not depend on the coordinates.
    evidence : float
        Approximate logarithm of the marginal likelihood.
    residual : float
        How far from the mode in posterior standard deviations, or the largest change of a site.
    """

    weights: Floats
    factor: CholeskyFactor
    state: Any
    evidence: float
    residual: float


class Likelihood:
    r"""A log-likelihood of latent functions, whose mode Newton's method finds in the coordinates of a factor.

    .. math:: \max_V \; \log p(y \mid F V) - \tfrac12 \|V\|^2, \qquad
        \log q(y) = \log p(y \mid F \hat V) - \tfrac12 \|\hat V\|^2 - \tfrac12 \log |A|

    Seed: [HSS] Eqs. (113)-(115), with K of low rank as in [KIKS] Section 3.2.

    Notes
    -----
    A subclass gives `count`, how many functions there are, and `value`, `slope`, `bent` and `curvature`.
    Cost O(n r^2) and O(r^3) for each of some five to ten steps.
    """

    count: int
    weight: Floats

    def value(self, f: Floats) -> float:
        """Return the log-likelihood of functions at the samples, (n, k)."""
        raise NotImplementedError

    def slope(self, f: Floats) -> Floats:
        """Return its derivatives, (n, k)."""
        raise NotImplementedError

    def bent(self, f: Floats) -> Floats:
        """Return W f, (n, k)."""
        raise NotImplementedError

    def curvature(self, gram: Factored, f: Floats) -> Floats:
        """Return F^T W F, of order k r."""
        raise NotImplementedError

    def found(self, gram: Factored, start: Floats | None = None, tol: float = _CLOSE) -> LatentFactor:
        """Return the posterior at its mode, sought from where the functions are expected, (n, k)."""
        V, f = np.zeros((rank_of(gram), self.count)), np.zeros((len(self.weight), self.count))
        value, before, steps = self.value(f), np.inf, 0
        if start is not None:  # one Newton step from any f, of which no V need be known
            trial = _solved(self._factor(gram, start), _moment(gram, self.bent(start) + self.slope(start)))
            reached = _times(gram, trial)
            there = self.value(reached) - 0.5 * float(np.vdot(trial, trial))
            if there > value:
                V, f, value = trial, reached, there
        while True:
            factor = self._factor(gram, f)
            g = _moment(gram, self.slope(f)) - V
            delta = _solved(factor, g)
            decrement = math.sqrt(max(float(np.vdot(g, delta)), 0.0))
            stuck = decrement < _NEAR and decrement > 0.5 * before
            if decrement <= tol or steps >= _LIMIT or stuck:
                break
            t, value = self._search((V, f), (delta, move := _times(gram, delta)), value, decrement)
            if t == 0.0:
                break
            V, f = V + t * delta, f + t * move
            steps, before = steps + 1, decrement
        evidence = self.value(f) - 0.5 * float(np.vdot(V, V)) - 0.5 * factor.logdet()
        return LatentFactor(V, factor, f, evidence, decrement)

    def _factor(self, gram: Factored, f: Floats) -> CholeskyFactor:
        return safe_cholesky(self.curvature(gram, f), 1.0)

    def _search(
        self, at: tuple[Floats, Floats], step: tuple[Floats, Floats], value: float, decrement: float
    ) -> tuple[float, float]:
        """Halve a step until the objective rises enough; return its length (0 if it never does) and the objective."""
        (V, f), (delta, move) = at, step
        t = 1.0
        while t > 1e-10:
            trial = V + t * delta
            reached = self.value(f + t * move) - 0.5 * float(np.vdot(trial, trial))
            if reached >= value + 1e-4 * t * decrement**2 or decrement < _NEAR:
                return t, reached
            t *= 0.5
        return 0.0, value


class TwoClasses(Likelihood):
    """Two classes by one function.

    Parameters
    ----------
    y : (n,) array
        +1 and -1.
    weight : (n,) array
        Positive.
    link : {"logistic", "probit"}
    """

    count = 1

    def __init__(self, y: Floats, weight: Floats, link: str) -> None:
        self.y, self.weight, self.link = y, weight, LINKS[link]

    def value(self, f: Floats) -> float:
        """Return the log-likelihood."""
        return float(self.weight @ self.link(self.y, f[:, 0])[0])

    def slope(self, f: Floats) -> Floats:
        """Return its derivatives."""
        return (self.weight * self.link(self.y, f[:, 0])[1])[:, None]

    def bent(self, f: Floats) -> Floats:
        """Return W f."""
        return (self.weight * self.link(self.y, f[:, 0])[2])[:, None] * f

    def curvature(self, gram: Factored, f: Floats) -> Floats:
        """Return F^T W F."""
        return _square(gram, self.weight * self.link(self.y, f[:, 0])[2])


class Softmax(Likelihood):
    """Several classes by one function each, whose softmax are the probabilities.

    Parameters
    ----------
    codes : (n,) array of int
        Class of each sample, 0 to c - 1.
    weight : (n,) array
        Positive.
    count : int
        c.
    """

    def __init__(self, codes: Indices, weight: Floats, count: int) -> None:
        self.codes, self.weight, self.count = codes, weight, count

    def value(self, f: Floats) -> float:
        """Return the log-likelihood."""
        own = f[np.arange(len(f)), self.codes]
        return float(self.weight @ (own - np.asarray(special.logsumexp(f, axis=1))))

    def slope(self, f: Floats) -> Floats:
        """Return its derivatives."""
        out = -special.softmax(f, axis=1)
        out[np.arange(len(f)), self.codes] += 1.0
        out *= self.weight[:, None]
        return out

    def bent(self, f: Floats) -> Floats:
        """Return W f."""
        P = special.softmax(f, axis=1)
        return self.weight[:, None] * P * (f - np.einsum("ic,ic->i", P, f)[:, None])

    def curvature(self, gram: Factored, f: Floats) -> Floats:
        """Return F^T W F, the blocks of all pairs of classes from one pass over the rows of F."""
        r, P = rank_of(gram), special.softmax(f, axis=1)
        H = np.zeros((self.count * r, self.count * r))
        for rows in spans(len(f), _ROWS):
            F = gram.factor(rows)
            for c in range(self.count):
                for d in range(c + 1):
                    share = self.weight[rows] * P[rows, c] * ((c == d) - P[rows, d])
                    H[c * r : (c + 1) * r, d * r : (d + 1) * r] += F.T @ (share[:, None] * F)
        for c in range(self.count):
            for d in range(c):
                H[d * r : (d + 1) * r, c * r : (c + 1) * r] = H[c * r : (c + 1) * r, d * r : (d + 1) * r].T
        return H


class Propagated:
    r"""Two classes with the probit link, by expectation propagation in the coordinates of a factor.

    .. math:: q(v) \propto N(v | 0, I) \prod_i t_i(\phi_i^\top v)^{w_i}, \qquad
        \sigma_i^2 = \phi_i^\top A^{-1} \phi_i, \quad W = \operatorname{diag}(w \tau)

    Seed: [HSS] Eq. (113), as `mercer.estimators.processes.expectation_propagation`, with K of low rank.

    Parameters
    ----------
    y : (n,) array
        +1 and -1.
    weight : (n,) array
        Positive; a sample of weight w has w sites.

    Notes
    -----
    All sites are renewed together as long as their changes shrink, with shorter steps if need be, else one after the
    other. Either way a sweep costs O(n r^2).
    """

    count = 1

    def __init__(self, y: Floats, weight: Floats) -> None:
        self.y, self.weight = y, weight

    def found(self, gram: Factored, start: Any = None, tol: float = _ENOUGH) -> LatentFactor:
        """Return the posterior whose sites have settled, sought from some sites (tau, nu)."""
        y, weight, n = self.y, self.weight, len(self.y)
        tau, nu = (np.zeros(n), np.zeros(n)) if start is None else start
        before, together, damping, sweeps = np.inf, True, 1.0, 0
        while True:
            factor = safe_cholesky(_square(gram, weight * tau), 1.0)
            v = factor.solve(_moment(gram, weight * nu))
            mean, variance = _times(gram, v), _variances(gram, factor)
            fresh = sites_of(y, mean, variance, (tau, nu))
            change = np.maximum(np.abs(fresh[0] - tau) * variance, np.abs(fresh[1] - nu) * np.sqrt(variance))
            residual = float(np.max(change, initial=0.0))
            stuck = not together and 0.5 * before < residual < _ROUNDING
            if residual <= tol or sweeps >= _LIMIT or stuck:
                break
            if sweeps > 1 and residual > _GROWING * before:
                together = together and damping > 0.3
                damping *= 0.5
            if together:
                tau, nu = tau + damping * (fresh[0] - tau), nu + damping * (fresh[1] - nu)
            else:
                tau, nu = self._one_by_one(gram, (tau, nu), v, factor)
            sweeps, before = sweeps + 1, residual
        evidence = evidence_of(y, weight, (tau, nu), (mean, variance)) + 0.5 * float((weight * nu) @ mean)
        return LatentFactor(v[:, None], factor, (tau, nu), evidence - 0.5 * factor.logdet(), residual)

    def _one_by_one(
        self, gram: Factored, before: tuple[Floats, Floats], v: Floats, factor: CholeskyFactor
    ) -> tuple[Floats, Floats]:
        """Return the sites after each was renewed in turn; the posterior follows by updates of rank one."""
        (tau, nu), mean = (before[0].copy(), before[1].copy()), v.copy()
        covariance = factor.solve(np.eye(len(v)))
        for rows in spans(len(tau), _ROWS):
            F = np.ascontiguousarray(gram.factor(rows))
            sites = tau[rows], nu[rows], self.y[rows], self.weight[rows]
            for part in spans(len(F), max(1, int(_WORK / max(len(v), 1) ** 2))):
                _renew(F[part], covariance, mean, *(values[part] for values in sites))
        return tau, nu


@compiled
def _renew(F, covariance, mean, tau, nu, y, weight):
    r = len(mean)
    s = np.empty(r)
    for i in range(len(y)):
        m = v = 0.0
        for j in range(r):
            total = 0.0
            for k in range(r):
                total += covariance[j, k] * F[i, k]
            s[j] = total
            m += F[i, j] * mean[j]
            v += F[i, j] * total
        if not v > 1e-300:  # a function that vanishes here knows nothing of the sample
            continue
        w, before, first = weight[i], m, v
        old_tau, old_nu = tau[i], nu[i]
        for _ in range(20):  # the copies of a sample see each other: they are renewed a few times
            precision = 1.0 / v - tau[i]
            if not precision > 0.0:
                break
            cavity = 1.0 / precision
            centre = cavity * (m / v - nu[i])
            scale = math.sqrt(1.0 + cavity)
            hazard, rest = hazard_tail(y[i] * centre / scale)
            curvature = hazard * rest / (1.0 + cavity)
            left = (1.0 + cavity * max(1.0 - hazard * rest, 0.0)) / (1.0 + cavity)
            step = min(1.0, 1.0 / w)
            d_tau = step * (curvature / left - tau[i])
            d_nu = step * ((y[i] * hazard / scale + centre * curvature) / left - nu[i])
            tau[i] += d_tau
            nu[i] += d_nu
            grown = 1.0 + w * d_tau * v
            m, v = m + (w * d_nu - w * d_tau * m) / grown * v, v / grown
            if w == 1.0 or abs(d_tau) * v + abs(d_nu) * math.sqrt(v) < 1e-12:
                break
        d_tau, d_nu = w * (tau[i] - old_tau), w * (nu[i] - old_nu)
        grown = 1.0 + d_tau * first
        shift, c = (d_nu - d_tau * before) / grown, d_tau / grown
        for j in range(r):
            mean[j] += shift * s[j]
            for k in range(r):
                covariance[j, k] -= c * s[j] * s[k]


class FactorWay:
    """The evidence of classes under kernels whose factors have one and the same landmarks, or draws.

    Parameters
    ----------
    gram : FactorGram or FeatureGram
        Under the kernel where a search starts.
    spec : GramSpec
        What it was built by.
    parts : sequence of Likelihood or Propagated
        Problems that share a kernel; their evidences are added.
    held : sequence of str
        Names of parameters in which no derivatives are needed.
    resources : Resources

    Attributes
    ----------
    spec : GramSpec
        With the landmarks that were chosen at the start, once they are pinned.
    gram : FactorGram or FeatureGram
        Under the kernel that was looked at last, if there is one.

    Notes
    -----
    Derivatives in the kernel's parameters are differences of the evidence of fourth order, four evaluations for each:
    a factor may be made of any kernel, of features that are drawn too, and none of their derivatives are known.
    """

    enough = 1e-4  # residual with which the approximation has settled

    def __init__(
        self, gram: Factored, spec: GramSpec, parts: Sequence[Likelihood | Propagated], held: Sequence[str],
        resources: Resources,
    ) -> None:  # fmt: skip
        self.gram: Factored | None = gram
        self.samples: Samples = gram.samples
        self.spec, self.parts, self.held, self.resources = spec, parts, held, resources
        self.kernel: Kernel = gram.kernel
        self.starts: list[Any] = [None] * len(parts)
        self.evaluations = 0
        rank, count = rank_of(gram), parts[0].count
        self.order = count * rank
        _require_moderate(rank, count)
        Plan(
            f"the posterior in {rank} coordinates of {spec!r}",
            {"posterior covariances": 8 * (len(parts) + 3) * self.order**2},
            ("a Gram of smaller rank", *(("multi_class='ovr'",) if count > 1 else ())),
        ).require(resources.memory)

    def pin(self) -> None:
        """Give every kernel from now on the landmarks, or draws, of the first."""
        assert self.gram is not None
        self.spec, self.gram = _pinned(self.spec, self.gram), None

    def build(self, kernel: Kernel) -> Factored:
        """Return the Gram under a kernel; that of the last one is let go before."""
        if self.gram is None or kernel != self.kernel:
            self.gram = None
            gram: Any = self.spec.build(kernel, self.samples, self.resources)
            self.gram, self.kernel = gram, kernel
        assert self.gram is not None
        return self.gram

    def _found(self, kernel: Kernel, tol: float) -> tuple[list[LatentFactor], float]:
        with blas_for(self.order):
            gram = self.build(kernel)
            if not np.isfinite(_times(gram, np.ones(rank_of(gram)))).all():
                raise overflow_error(kernel)
            found = [part.found(gram, start, tol) for part, start in zip(self.parts, self.starts, strict=True)]
        return found, float(sum(part.evidence for part in found))

    def evidence(self, kernel: Kernel) -> tuple[float, Floats]:
        """Return the log evidence and its derivatives in the kernel's free parameters; zero for those that are held."""
        found, value = self._found(kernel, _BETWEEN)
        self.starts = [part.state for part in found]
        self.evaluations += 1
        theta, moves = unconstrain(kernel), self._moves(kernel)
        unit, slopes = chain(kernel, np.ones(len(theta))), np.zeros(len(theta))
        for place in np.flatnonzero(moves & (unit != 0.0)):
            low, high = bounds(kernel)[place]
            free = not (math.isfinite(low) or math.isfinite(high))
            h = _STEP * (max(1.0, abs(theta[place])) if free else 1.0)  # other coordinates are logarithms
            for step, share in ((1, 8.0), (-1, -8.0), (2, -1.0), (-2, 1.0)):
                beside = theta.copy()
                beside[place] += step * h
                there = self._found(constrained(kernel, beside), _BETWEEN)[1]
                slopes[place] += share * there / (12.0 * h)
            slopes[place] /= unit[place]
        return value, slopes

    def _moves(self, kernel: Kernel) -> Any:
        names = free_names(kernel)
        return np.array([name not in self.held and name.partition("[")[0] not in self.held for name in names], bool)

    def condition(self, kernel: Kernel) -> tuple[Any, CoordinatePosterior, float, float]:
        """Return the function of the posterior means, the posterior, log evidence and residual."""
        found, value = self._found(kernel, _CLOSE)
        gram, r = self.build(kernel), rank_of(self.build(kernel))
        weights = np.concatenate([part.weights for part in found], axis=1)
        function = _function(gram, weights[:, 0] if weights.shape[1] == 1 else weights)
        joint = self.parts[0].count > 1
        roots = [part.factor.half_solve(np.eye(r * self.parts[0].count)) for part in found]
        if joint:
            root = np.ascontiguousarray(roots[0].reshape(-1, self.parts[0].count, r).transpose(1, 0, 2))
        else:
            root = np.stack(roots)
        posterior = CoordinatePosterior(_function(gram, np.eye(r)), root, joint)
        return function, posterior, value, max(part.residual for part in found)


def _require_moderate(rank: int, count: int) -> None:
    """Raise CapabilityError if the matrix of all classes together is too large."""
    if count > 1 and count * rank > _LARGEST:
        raise CapabilityError(
            f"A Gram of rank {rank} was given for {count} classes in one joint model, whose Newton matrix is of order "
            f"{count * rank}; up to {_LARGEST} are accepted. Use multi_class='ovr', or a rank of at most "
            f"{_LARGEST // count}."
        )


def _pinned(spec: GramSpec, gram: Factored) -> GramSpec:
    """Return the specification by which each kernel has the same landmarks or draws, in full precision.

    The evidence is then a smooth function of the kernel, of which differences can be taken.
    """
    index = getattr(gram, "index", None)
    if index is not None and len(index):
        return Nystrom(len(index), landmarks=tuple(index.tolist()))
    if hasattr(spec, "count"):  # of features that are drawn
        seed: Any = spec.get_params(deep=False)["random_state"]
        seed = int(np.random.default_rng().integers(2**31)) if seed is None else seed
        return spec.replace(random_state=seed, precision="double")
    return spec


def rank_of(gram: Factored) -> int:
    """Return r, the number of columns of a factor."""
    return cast(FeatureGram, gram).matrix.shape[1] if not is_low_rank(gram) else gram.rank


def _function(gram: Factored, weights: Floats) -> Any:
    """Return the function x -> phi(x)^T weights."""
    return gram.expand(SimpleNamespace(weights=weights), 0.0)


def _square(gram: Factored, weight: Floats) -> Floats:
    """Return F^T diag(weight) F."""
    return np.ascontiguousarray(gram.normal(weight, np.zeros((len(weight), 0)))[0])


def _moment(gram: Factored, U: Floats) -> Floats:
    """Return F^T U."""
    if is_low_rank(gram):
        return gram.moment(U)
    return np.asarray(cast(FeatureGram, gram).matrix.T @ U, dtype=float)


def _times(gram: Factored, V: Floats) -> Floats:
    """Return F V."""
    if is_low_rank(gram):
        return gram.times(V)
    return np.asarray(cast(FeatureGram, gram).matrix @ V, dtype=float)


def _solved(factor: CholeskyFactor, G: Floats) -> Floats:
    """Return A^-1 G for G (r, k), the functions one after another."""
    return factor.solve(G.T.ravel()).reshape(G.shape[1], -1).T


def _variances(gram: Factored, factor: CholeskyFactor) -> Floats:
    """Return |L^-1 phi_i|^2, (n,): squared lengths, of which nothing is lost by subtraction."""
    out = np.empty(len(gram.samples))
    for rows in spans(len(out), _ROWS):
        Z = factor.half_solve(gram.factor(rows).T)
        out[rows] = np.einsum("ij,ij->j", Z, Z)
    return np.maximum(out, np.finfo(float).tiny)
