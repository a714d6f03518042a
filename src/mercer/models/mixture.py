r"""Mixtures of normal densities, learned by expectation maximisation.

Symbols: K components with weights pi_k, means mu_k and lower factors L_k of their covariances; r_k(x) = P(k | x) the
responsibilities, z_k = L_k^{-1} (x - mu_k).
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.linalg import solve_triangular

from mercer import budget, errors
from mercer.arrays import Floats
from mercer.constraints import Array, Fixed, Integer, Interval, OneOf, Optional
from mercer.domains import Samples, Vectors
from mercer.domains.samples import packed
from mercer.errors import ParameterError, warn_caller
from mercer.models.model import Model, numbers, stochastic, weights_of
from mercer.models.normal import check_factor, dense, factor_size, gaussian_scores, log_constant, rows_for, standardised
from mercer.runtime.tiling import run_tasks, spans

__all__ = ["GaussianMixture"]
__public__ = __all__

_ROWS = 2048  # vectors at a time: they stay in cache while every component reads them
_LEAST = 1e-10  # share of all vectors below which a component stays where it is


class GaussianMixture(Model):
    r"""Mixture of normal densities.

    .. math:: p(x) = \sum_{k=1}^K \pi_k \, N(x \mid \mu_k, L_k L_k^\top)

    Scores are derivatives in the logits of pi (or in pi), then for each component in mu_k and in L_k.

    Seed: [STS] Definitions 5 and 6 for any smooth density; [SS] Section 6.4, generative models.

    Parameters
    ----------
    components : int, default 2
        The number K.
    weights, means : (K,) and (K, d) arrays, optional
        pi and mu. All parameters are given, or all are learned.
    deviations : (K, d) or (K, d, d) array, optional
        Standard deviations (covariance="diagonal"), or lower factors L_k.
    covariance : {"full", "diagonal"}, default "full"
        Whether the L_k have entries below the diagonal.
    parameters : {"natural", "probability"}, default "natural"
        Whether the scores of pi are derivatives in logits or in probabilities.
    ridge : float, default 1e-6
        Added to the variances of a component, relative to those of all vectors: otherwise it may collapse to a single
        point.
    restarts : int, default 3
        How many times learning is started; the best is kept.
    max_iter : int, default 200
        Largest number of steps of expectation maximisation.
    tol : float, default 1e-5
        Learning stops when the log-likelihood of a vector rises by less than this.
    random_state : int, default 0
        Seed of the initial values.

    Notes
    -----
    Domain Vectors. `from_sklearn` takes a fitted GaussianMixture of scikit-learn. For vectors with missing entries see
    `GaussianHiddenMarkovModel`. The Fisher information has no closed form; it is estimated from vectors drawn from
    the model. Cost O(n K d^2) for a step of learning as for scores, O(n K d) with diagonal covariances.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.normal(-3.0, 1.0, (200, 1)), rng.normal(3.0, 0.5, (100, 1))])
    >>> mixture = GaussianMixture(2)
    >>> mixture = mixture.learn(mixture.pack(X))
    >>> order = np.argsort(mixture.means[:, 0])
    >>> mixture.weights[order].round(2), mixture.means[order].round(1)
    (array([0.67, 0.33]), array([[-3. ],
           [ 2.9]]))
    """

    domain = Vectors
    constraints = {
        "components": Integer(1),
        "weights": Optional(Array(1, low=0.0)),
        "means": Optional(Array(2)),
        "deviations": Optional(Array(2, 3)),
        "covariance": OneOf("full", "diagonal"),
        "parameters": OneOf("natural", "probability"),
        "ridge": Fixed(Interval(0.0, np.inf, closed="left")),
        "restarts": Integer(1),
        "max_iter": Integer(1),
        "tol": Fixed(Interval(0.0, np.inf, closed="left")),
        "random_state": Integer(0),
    }

    def __init__(
        self,
        components: int = 2,
        *,
        weights: Any = None,
        means: Any = None,
        deviations: Any = None,
        covariance: str = "full",
        parameters: str = "natural",
        ridge: float = 1e-6,
        restarts: int = 3,
        max_iter: int = 200,
        tol: float = 1e-5,
        random_state: int = 0,
    ) -> None:
        self.components = components
        self.weights = weights
        self.means = means
        self.deviations = deviations
        self.covariance = covariance
        self.parameters = parameters
        self.ridge = ridge
        self.restarts = restarts
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    @classmethod
    def from_sklearn(cls, mixture: Any) -> Self:
        """Return the model of a fitted GaussianMixture of scikit-learn, of any covariance type."""
        means, kind = np.asarray(mixture.means_, dtype=float), mixture.covariance_type
        given, (K, d) = np.asarray(mixture.covariances_, dtype=float), means.shape
        if kind in ("diag", "spherical"):
            factors = np.sqrt(np.broadcast_to(given if kind == "diag" else given[:, None], (K, d)))
        else:
            factors = np.linalg.cholesky(np.broadcast_to(given, (K, d, d)))
        return cls(
            K,
            weights=np.asarray(mixture.weights_, dtype=float),
            means=means,
            deviations=np.array(factors),
            covariance="diagonal" if factors.ndim == 2 else "full",
        )

    def check(self) -> Self:
        """Raise ParameterError unless the parameters fit together."""
        super().check()
        given = [value is not None for value in (self.weights, self.means, self.deviations)]
        if any(given) and not all(given):
            raise ParameterError(
                "GaussianMixture was given some of weights, means and deviations; all or none are accepted. Give all, "
                "or leave all out to learn them."
            )
        if self.fitted:
            K = int(self.components)
            stochastic("weights", self.weights, (K,), self)
            d = numbers("means", self.means, (K, -1), self).shape[1]
            shape = (K, d) if self.covariance == "diagonal" else (K, d, d)
            for factor in numbers("deviations", self.deviations, shape, self):
                check_factor(factor, d, self)
        return self

    @property
    def fitted(self) -> bool:
        """Whether the parameters are known."""
        return self.weights is not None

    @property
    def _parameters(self) -> tuple[Floats, Floats, Floats]:
        self.require_fitted()
        return (
            np.asarray(self.weights, dtype=float),
            np.asarray(self.means, dtype=float),
            np.asarray(self.deviations, dtype=float),
        )

    @property
    def size(self) -> int:
        """K (1 + d + the entries of L)."""
        _, means, factors = self._parameters
        return len(means) * (1 + means.shape[1] + factor_size(factors[0]))

    def _log_joint(self, X: Floats) -> tuple[Floats, list[Floats]]:
        """Return log(pi_k p_k(x)), (n, K), and the z_k."""
        weights, means, factors = self._parameters
        z = [standardised(X, mean, factor) for mean, factor in zip(means, factors, strict=True)]
        logs = np.empty((len(X), len(weights)))
        with np.errstate(divide="ignore"):
            for k, factor in enumerate(factors):
                logs[:, k] = np.log(weights[k]) + log_constant(factor) - 0.5 * np.einsum("ij,ij->i", z[k], z[k])
        return logs, z

    def log_likelihood(self, S: Samples) -> Floats:
        """Return log p(x) of each vector, (n,)."""
        S = packed(S, self.pack)
        X = rows_for(S, self._parameters[1].shape[1])
        out = np.empty(len(X))
        for rows in spans(len(X), _ROWS):
            out[rows] = _log_sum(self._log_joint(X[rows])[0])
        return out

    def responsibilities(self, S: Samples) -> Floats:
        """Return P(k | x), (n, K)."""
        X = rows_for(S, self._parameters[1].shape[1])
        logs, _ = self._log_joint(X)
        return np.exp(logs - _log_sum(logs)[:, None])

    def scores(self, S: Samples) -> Floats:
        """Return the derivatives in pi or its logits, then for each component in mu_k and in L_k, (n, p)."""
        S = packed(S, self.pack)
        weights, means, factors = self._parameters
        X, K = rows_for(S, means.shape[1]), len(weights)
        budget.Plan(f"the scores of {self!r} on {len(S)} vectors", {"scores": 8 * len(X) * self.size}).require(None)
        out, width = np.empty((len(X), self.size)), (self.size - K) // K

        def work(rows: slice) -> None:
            logs, z = self._log_joint(X[rows])
            r = np.exp(logs - _log_sum(logs)[:, None])
            counts = r - weights
            natural = self.parameters == "natural"
            out[rows, :K] = counts if natural else counts / np.where(weights > 0.0, weights, 1.0)
            for k in range(K):
                part = slice(K + k * width, K + (k + 1) * width)
                out[rows, part] = r[:, k : k + 1] * gaussian_scores(z[k], factors[k])

        run_tasks(spans(len(X), _ROWS), work)
        return out

    def sample(self, rng: np.random.Generator, count: int, like: Samples | None = None) -> Samples:
        """Draw vectors."""
        weights, means, factors = self._parameters
        k = np.minimum(np.searchsorted(np.cumsum(weights), rng.random(count), side="right"), len(weights) - 1)
        z = rng.normal(size=(count, means.shape[1]))
        spread = factors[k] * z if factors.ndim == 2 else np.einsum("nij,nj->ni", factors[k], z)
        return Vectors.pack(means[k] + spread)

    # learning -----------------------------------------------------------------------------------------

    def learn(self, S: Samples, weight: Floats | None = None) -> Self:
        """Learn all parameters by expectation maximisation."""
        S = packed(S, self.pack)
        if self.fitted:
            return self
        w = weights_of(weight, len(S))
        X = dense(S)
        if not (w > 0.0).all():
            X, w = X[w > 0.0], w[w > 0.0]
        share = w / w.sum()
        mean = share @ X
        X = X - mean
        variance = share @ (X * X)
        typical = float(variance.max(initial=0.0))
        variance = np.where(variance > 0.0, variance, typical if typical > 0.0 else 1.0)
        seeds = np.random.SeedSequence(int(self.random_state)).spawn(int(self.restarts))
        runs = [self._climbed(X, share, variance, np.random.default_rng(seed)) for seed in seeds]
        _, gain, model = max(runs, key=lambda run: run[0])
        if gain >= float(self.tol):
            warn_caller(
                f"GaussianMixture stopped after max_iter={self.max_iter} steps, in the last of which the "
                f"log-likelihood of a vector rose by {gain:.3g}; tol={self.tol:g}. Raise max_iter, or tol.",
                errors.ConvergenceWarning,
            )
        return model.replace(means=model.means + mean)

    def _climbed(
        self, X: Floats, share: Floats, variance: Floats, rng: np.random.Generator
    ) -> tuple[float, float, Self]:
        """Return the log-likelihood of a vector, its last increase, and the model, for centred vectors."""
        model = self._begun(X, share, variance, rng)
        value, gain = -np.inf, np.inf
        for _ in range(int(self.max_iter)):
            new, moments = model._expected(X, share)
            value, gain = new, new - value
            if gain < float(self.tol):
                break
            model = model._improved(moments, variance)
        return value, gain, model

    def _begun(self, X: Floats, share: Floats, variance: Floats, rng: np.random.Generator) -> Self:
        """Start with means found by k-means from points drawn from the normal density of all vectors.

        It depends on weighted sums alone: a vector of weight w equals w vectors.
        """
        K, d = int(self.components), X.shape[1]
        scale = np.sqrt(variance)
        Y = X / scale
        values, vectors = np.linalg.eigh((Y * share[:, None]).T @ Y)
        means = (rng.normal(size=(K, d)) * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
        for _ in range(20):
            nearest = np.argmin(0.5 * (means * means).sum(axis=1) - Y @ means.T, axis=1)
            mass = np.bincount(nearest, share, K)
            sums = np.stack([np.bincount(nearest, share * Y[:, j], K) for j in range(d)], axis=1)
            new = np.where(mass[:, None] > 0.0, sums / np.where(mass > 0.0, mass, 1.0)[:, None], means)
            if np.array_equal(new, means):
                break
            means = new
        spread = scale * K ** (-1.0 / d)
        factors = np.tile(spread, (K, 1)) if self.covariance == "diagonal" else np.tile(np.diag(spread), (K, 1, 1))
        return self.replace(weights=np.full(K, 1.0 / K), means=means * scale, deviations=factors)

    def _expected(self, X: Floats, share: Floats) -> tuple[float, list[Floats]]:
        """Return the log-likelihood of a vector, and sums of r, of r (x - mu) and of r (x - mu)(x - mu)'."""
        weights, means, factors = self._parameters
        diagonal = factors.ndim == 2
        constants = np.log(np.maximum(weights, np.finfo(float).tiny)) + [log_constant(factor) for factor in factors]
        if diagonal:
            inverses = 1.0 / factors
        else:
            inverses = np.stack([solve_triangular(factor, np.eye(X.shape[1]), lower=True).T for factor in factors])
        parts = spans(len(X), _ROWS)
        found: list[Any] = [None] * len(parts)

        def work(piece: int) -> None:
            rows = parts[piece]
            logs, away = np.empty((rows.stop - rows.start, len(weights))), []
            for k, mean in enumerate(means):
                Y = X[rows] - mean
                z = Y * inverses[k] if diagonal else Y @ inverses[k]
                logs[:, k] = constants[k] - 0.5 * np.einsum("ij,ij->i", z, z)
                away.append(Y)
            total = _log_sum(logs)
            r = np.exp(logs - total[:, None]) * share[rows, None]
            first = np.stack([r[:, k] @ Y for k, Y in enumerate(away)])
            if diagonal:
                second = np.stack([r[:, k] @ (Y * Y) for k, Y in enumerate(away)])
            else:
                second = np.stack([(Y * r[:, k : k + 1]).T @ Y for k, Y in enumerate(away)])
            found[piece] = share[rows] @ total, r.sum(axis=0), first, second

        run_tasks(range(len(parts)), work)
        # in a fixed order, whichever thread was first
        value, *moments = (np.sum([part[m] for part in found], axis=0) for m in range(4))
        return float(value), moments

    def _improved(self, moments: list[Floats], variance: Floats) -> Self:
        """Return the parameters of maximum likelihood, given responsibilities."""
        _, means, factors = self._parameters
        mass, first, second = moments
        here = mass > _LEAST
        safe = np.where(here, mass, 1.0)
        shift = first / safe[:, None]
        least = float(self.ridge) * variance
        new = factors.copy()
        for k in np.flatnonzero(here):
            if factors.ndim == 2:
                new[k] = np.sqrt(np.maximum(second[k] / safe[k] - shift[k] ** 2, 0.0) + least)
            else:
                spread = second[k] / safe[k] - np.multiply.outer(shift[k], shift[k])
                new[k] = _lower(spread, least)
        return self.replace(
            weights=np.where(here, mass, _LEAST) / np.where(here, mass, _LEAST).sum(),
            means=np.where(here[:, None], means + shift, means),
            deviations=new,
        )


def _log_sum(logs: Floats) -> Floats:
    """Return log sum_k exp(logs_k) of each row."""
    top = logs.max(axis=1)
    return top + np.log(np.exp(logs - top[:, None]).sum(axis=1))


def _lower(covariance: Floats, least: Floats) -> Floats:
    """Return the lower factor of a covariance to which the least variances are added."""
    raised = covariance + np.diag(least)
    try:
        return np.linalg.cholesky(raised)
    except np.linalg.LinAlgError:  # rounding, where a mean has moved far: negative variances are zero
        scale = np.sqrt(least + np.finfo(float).tiny)
        values, vectors = np.linalg.eigh(covariance / np.multiply.outer(scale, scale))
        root = vectors * np.sqrt(np.maximum(values, 0.0) + 1.0)
        return scale[:, None] * np.linalg.cholesky(root @ root.T)
