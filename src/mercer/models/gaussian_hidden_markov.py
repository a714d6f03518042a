"""Hidden Markov models of time series: each hidden state emits points near its mean."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from mercer.arrays import Floats
from mercer.constraints import Fixed, Integer, Interval, OneOf
from mercer.domains import Samples
from mercer.domains.sequences import Sequences
from mercer.errors import DomainError
from mercer.models.hidden_markov import Hidden, drawn_lengths, drawn_states, normed
from mercer.models.model import numbers
from mercer.numerics.chains import Observe, Observed, Posterior
from mercer.numerics.ragged import Ragged

__all__ = ["GaussianHiddenMarkovModel"]
__public__ = __all__

_FLOOR = 1e-4  # least variance of a state, relative to that of all points: else it falls on a single point


class GaussianHiddenMarkovModel(Hidden):
    r"""Hidden Markov model of time series: a chain of states, each of which emits normal points.

    .. math:: p(x) = \sum_z \pi(z_1) \prod_{t=2}^T A(z_t \mid z_{t-1}) \prod_{t=1}^T \prod_{c=1}^d
              N(x_{tc} \mid \mu_{z_t c}, \sigma_{z_t c}^2)

    The length of a series is not modelled.

    Seed: [SS] Section 6.4 (varying length, missing data); [ST] "Fisher kernels".

    Parameters
    ----------
    states : int, default 4
        The number K of hidden states.
    start, transitions, means, deviations : (K,), (K, K), (K, d) and (K, d) arrays, optional
        pi, A, mu and sigma. All are given, or all are learned.
    parameters : {"natural", "probability"}, default "natural"
        Whether the scores of pi and A are derivatives in logits or in probabilities. The others are in mu and sigma.
    pseudocount : float, default 0.1
        Added to the expected counts of the chain.
    max_iter : int, default 200
        Largest number of steps of expectation maximisation.
    tol : float, default 1e-5
        Learning stops when the log-likelihood of a point rises by less than this.
    random_state : int, default 0
        Seed of the initial values.

    Notes
    -----
    Domain Sequences, of any lengths; values that are missing (NaN) are left out of the product. Series of a single
    point make a mixture of normals with diagonal covariances for vectors with missing entries. `from_hmmlearn` takes a
    fitted GaussianHMM of hmmlearn with diagonal or spherical covariances. The Fisher information has no closed form; it
    is estimated from series drawn from the model. Cost O(T (K^2 + K d)).

    Examples
    --------
    >>> model = GaussianHiddenMarkovModel(
    ...     2,
    ...     start=(0.5, 0.5),
    ...     transitions=((0.9, 0.1), (0.1, 0.9)),
    ...     means=((0.0,), (3.0,)),
    ...     deviations=((1.0,), (1.0,)),
    ... )
    >>> S = model.pack([[0.1, 0.2, 2.9, 3.3], [0.0, np.nan, 0.2]])
    >>> model.decode(S)[0]
    array([0, 0, 1, 1, 0, 0, 0])
    >>> model.log_likelihood(S).round(3)
    array([-6.917, -2.742])
    """

    domain = Sequences
    constraints = {
        "states": Integer(1, 10_000),
        "parameters": OneOf("natural", "probability"),
        "pseudocount": Fixed(Interval(0.0, np.inf, closed="left")),
        "max_iter": Integer(1),
        "tol": Fixed(Interval(0.0, np.inf, closed="left")),
        "random_state": Integer(0),
    }

    def __init__(
        self,
        states: int = 4,
        *,
        start: Any = None,
        transitions: Any = None,
        means: Any = None,
        deviations: Any = None,
        parameters: str = "natural",
        pseudocount: float = 0.1,
        max_iter: int = 200,
        tol: float = 1e-5,
        random_state: int = 0,
    ) -> None:
        self.states = states
        self.start = start
        self.transitions = transitions
        self.means = means
        self.deviations = deviations
        self.parameters = parameters
        self.pseudocount = pseudocount
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    @classmethod
    def from_hmmlearn(cls, model: Any) -> Self:
        """Return the model of a fitted GaussianHMM of hmmlearn."""
        means = np.asarray(model.means_, dtype=float)
        covars = np.asarray(model.covars_, dtype=float)
        if len(covars) == means.size:  # spherical ones come once for each channel
            covars = covars[:: means.shape[1]]
        variances = np.diagonal(covars, axis1=-2, axis2=-1) if covars.ndim == 3 else covars.reshape(len(means), -1)
        if covars.ndim == 3 and np.abs(covars).sum() > np.abs(variances).sum() * (1.0 + 1e-12):
            raise DomainError(
                "A GaussianHMM with full covariances was given; diagonal and spherical ones are accepted. Fit it with "
                'covariance_type="diag".'
            )
        return cls(
            len(means),
            start=np.asarray(model.startprob_, dtype=float),
            transitions=np.asarray(model.transmat_, dtype=float),
            means=means,
            deviations=np.sqrt(np.broadcast_to(variances, means.shape)),
        )

    def check(self) -> Self:
        """Raise ParameterError unless the parameters fit together."""
        super().check()
        if self.fitted:
            means = numbers("means", self.means, (int(self.states), -1), self)
            sigma = numbers("deviations", self.deviations, means.shape, self)
            if not (sigma > 0.0).all():
                numbers("deviations", np.full_like(sigma, np.nan), means.shape, self)
        return self

    def pack(self, X: Any) -> Samples:
        """Turn series into Sequences; values may be missing (None, NaN)."""
        return Sequences.pack(X, missing=True)

    @property
    def size(self) -> int:
        """K + K^2 + 2 K d."""
        K = int(self.states)
        return K + K * K + 2 * self._means.size

    @property
    def _means(self) -> Floats:
        return np.ascontiguousarray(self.require_fitted().means, dtype=float)

    @property
    def _deviations(self) -> Floats:
        return np.ascontiguousarray(self.require_fitted().deviations, dtype=float)

    def _data(self, S: Sequences) -> Any:
        """Return the values with zeros for what is missing, and which are present: None if all are."""
        if S.width != self._means.shape[1]:
            raise DomainError(
                f"Series of {S.width} channels were given to a model of {self._means.shape[1]}; it knows the channels "
                "it was learned from. Give the same channels."
            )
        if not S.has_missing:
            return S.values, None
        there = ~np.isnan(S.values)
        return np.where(there, S.values, 0.0), there.astype(float)

    def _observe(self, data: Any) -> Observe:
        X, there = data
        mu, precision = self._means, self._deviations**-2.0
        # -(x - mu)^2 / (2 s^2) - log s - log(2 pi) / 2 for each channel, about a centre where nothing cancels
        centre = mu.mean(axis=0)
        m = mu - centre
        constant = -0.5 * (m * m * precision - np.log(precision) + np.log(2.0 * np.pi))

        def observe(at: slice) -> Observed:
            Y = X[at] - centre
            if there is None:
                logs = constant.sum(axis=1) - 0.5 * (Y * Y) @ precision.T + Y @ (m * precision).T
            else:
                seen = there[at]
                Y = Y * seen
                logs = seen @ constant.T - 0.5 * (Y * Y) @ precision.T + Y @ (m * precision).T
            return Observed.of_logs(np.ascontiguousarray(logs))

        return observe

    def _begin(self, S: Sequences, w: Floats, rng: np.random.Generator) -> Self:
        K, each = int(self.states), np.repeat(w, S.lengths)[:, None]
        there = ~np.isnan(S.values)
        weight = each * there
        total = np.maximum(weight.sum(axis=0), np.finfo(float).tiny)
        X = np.where(there, S.values, 0.0)
        mean = (weight * X).sum(axis=0) / total
        spread = np.sqrt((weight * (X - mean) ** 2).sum(axis=0) / total)
        spread = np.where(spread > 0.0, spread, 1.0)
        # initial values depend on moments alone: a sample of weight w equals w samples
        means = mean + spread * rng.normal(size=(K, S.width))
        for _ in range(10):  # a few steps of weighted k-means bring the means to where the points are
            means = _nearest_means(X - mean, there, weight, means - mean, spread) + mean
        return self.replace(
            start=np.full(K, 1.0 / K),
            transitions=normed(rng.gamma(1.0, size=(K, K)) + K * np.eye(K)),
            means=means,
            deviations=np.tile(spread, (K, 1)),
        )

    def _shown(self, data: Any, found: Posterior, w: Floats | None) -> tuple[Floats, ...]:
        """Return sums of weights, of points and of squares, about the centre of the present means."""
        gamma = found.weighted(w)
        X = data[0][found.positions]
        Y = X - self._means.mean(axis=0)
        if data[1] is None:
            count = np.tile(gamma.sum(axis=0)[:, None], (1, X.shape[1]))
        else:
            Y = Y * data[1][found.positions]
            count = gamma.T @ data[1][found.positions]
        return count, gamma.T @ Y, gamma.T @ (Y * Y)

    def _improved(self, start: Floats, transitions: Floats, shown: tuple[Floats, ...]) -> Self:
        count, first, second = shown
        centre = self._means.mean(axis=0)
        there = count > 1e-12 * count.sum(axis=0)
        safe = np.where(there, count, 1.0)
        shift = first / safe
        everything = np.maximum(count.sum(axis=0), np.finfo(float).tiny)
        whole = second.sum(axis=0) / everything - (first.sum(axis=0) / everything) ** 2
        variance = np.maximum(second / safe - shift * shift, _FLOOR * np.maximum(whole, np.finfo(float).tiny))
        return self.replace(
            start=start,
            transitions=transitions,
            means=np.where(there, centre + shift, self._means),
            deviations=np.where(there, np.sqrt(variance), self._deviations),
        )

    def _shown_scores(self, data: Any, found: Posterior) -> Floats:
        mu, sigma = self._means, self._deviations
        X = data[0][found.positions]
        seen = None if data[1] is None else data[1][found.positions]
        bounds, m = found.offsets, len(found.offsets) - 1
        out = np.empty((m, 2, *mu.shape))
        for k in range(len(mu)):
            z = (X - mu[k]) / sigma[k]
            pull, stretch = z / sigma[k], (z * z - 1.0) / sigma[k]
            if seen is not None:
                pull, stretch = pull * seen, stretch * seen
            weight = found.gamma[:, k : k + 1]
            out[:, 0, k] = np.add.reduceat(weight * pull, bounds[:-1])  # series are not empty
            out[:, 1, k] = np.add.reduceat(weight * stretch, bounds[:-1])
        return out.reshape(m, -1)

    def sample(self, rng: np.random.Generator, count: int, like: Samples | None = None) -> Samples:
        """Draw series whose lengths are those of series of `like`, drawn at random (10 without)."""
        lengths = drawn_lengths(rng, count, like)
        z = drawn_states(rng, lengths, self.chain)
        values = self._means[z] + self._deviations[z] * rng.normal(size=(len(z), self._means.shape[1]))
        return Sequences(Ragged.from_lengths(values, lengths))


def _nearest_means(X: Floats, there: Any, weight: Floats, means: Floats, spread: Floats) -> Floats:
    """Return the weighted means of the points that are nearest to each mean, which stays if there is none."""
    Y, m = np.where(there, X, 0.0) / spread, means / spread
    distance = there @ (m * m).T - 2.0 * Y @ m.T
    nearest = np.argmin(distance, axis=1)
    out = means.copy()
    for k in range(len(means)):
        here = nearest == k
        count = weight[here].sum(axis=0)
        got = count > 0.0
        out[k, got] = (weight[here] * np.where(there[here], X[here], 0.0)).sum(axis=0)[got] / count[got]
    return out
