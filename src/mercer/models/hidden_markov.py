"""Hidden Markov models: a chain of unobserved states, each emitting a symbol or a point.

Symbols: K states, pi (K,) where the chain starts, A (K, K) its transitions, E (K, letters) what the states emit;
gamma_t(k) = P(z_t = k | x), xi_t(k, j) = P(z_{t-1} = k, z_t = j | x), found by forward and backward recursion.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple, Self

import numpy as np

from mercer import budget, errors
from mercer.arrays import Floats, Indices
from mercer.constraints import Array, Fixed, Integer, Interval, OneOf, Optional
from mercer.domains import Samples, Strings
from mercer.domains.samples import packed
from mercer.errors import DomainError, ParameterError, warn_caller
from mercer.models.alphabet import (
    ALPHABET,
    MISSING_SYMBOL,
    check_alphabet,
    coded,
    learned_alphabet,
    letters_of,
    packed_strings,
    strings_of,
)
from mercer.models.model import Model, stochastic, weights_of
from mercer.numerics.chain_paths import best_paths, best_scored_paths
from mercer.numerics.chains import Chain, Observe, Observed, Posterior, log_likelihoods, posteriors
from mercer.runtime.compiled import compiled

__all__ = ["Hidden", "HiddenMarkovModel"]
__public__ = ["HiddenMarkovModel"]


class Totals(NamedTuple):
    """Expected counts of a collection: first states, transitions, what the states emit."""

    start: Floats
    transitions: Floats
    shown: tuple[Floats, ...]


class Hidden(Model):
    """A model with a hidden Markov chain, whatever its states emit."""

    constraints = {
        "states": Integer(1, 10_000),
        "start": Optional(Array(1, low=0.0)),
        "transitions": Optional(Array(2, low=0.0)),
        "parameters": OneOf("natural", "probability"),
        "pseudocount": Fixed(Interval(0.0, np.inf, closed="left")),
        "max_iter": Integer(1),
        "tol": Fixed(Interval(0.0, np.inf, closed="left")),
        "random_state": Integer(0),
    }
    states: int
    start: Any
    transitions: Any
    parameters: str
    pseudocount: float
    max_iter: int
    tol: float
    random_state: int

    # what a subclass defines of its observations ---------------------------------------------------------

    @abstractmethod
    def _data(self, S: Any) -> Any:
        """Return the observations of all sequences, one after another, as the model numbers them."""

    @abstractmethod
    def _observe(self, data: Any) -> Observe:
        """Return the function that computes how likely observations are in each state."""

    @abstractmethod
    def _begin(self, S: Any, w: Floats, rng: np.random.Generator) -> Self:
        """Return the model with parameters to begin with."""

    @abstractmethod
    def _shown(self, data: Any, found: Posterior, w: Floats | None) -> tuple[Floats, ...]:
        """Return the weighted totals of what the states of some sequences emit."""

    @abstractmethod
    def _improved(self, start: Floats, transitions: Floats, shown: tuple[Floats, ...]) -> Self:
        """Return the model with the parameters of maximum likelihood, given expected totals."""

    @abstractmethod
    def _shown_scores(self, data: Any, found: Posterior) -> Floats:
        """Return the scores of some sequences in the parameters of what the states emit, (m, q)."""

    # the chain ----------------------------------------------------------------------------------------

    def check(self) -> Self:
        """Raise ParameterError unless pi and the rows of A are distributions over the states."""
        super().check()
        if self.fitted:
            stochastic("start", self.start, (int(self.states),), self)
            stochastic("transitions", self.transitions, (int(self.states), int(self.states)), self)
        elif self.transitions is not None:
            raise ParameterError(
                f"{type(self).__name__} was given transitions without start; all parameters or none are accepted. "
                "Give both, or leave all out to learn them."
            )
        return self

    @property
    def fitted(self) -> bool:
        """Whether the parameters are known."""
        return self.start is not None

    @property
    def chain(self) -> Chain:
        """The hidden chain, as arrays."""
        self.require_fitted()
        start = np.array(self.start, dtype=float)
        return Chain(start, np.array(self.transitions, dtype=float, order="C"))

    def log_likelihood(self, S: Any) -> Floats:
        """Return log p(x) of each sequence, summed over all hidden paths and over what is missing."""
        S = packed(S, self.pack)
        return log_likelihoods(self._observe(self._data(S)), S.offsets, self.chain)

    def decode(self, S: Any) -> tuple[Indices, Floats]:
        """Return the most likely hidden states, (T,) for all sequences one after another, and log p(x, z), (n,)."""
        S = packed(S, self.pack)
        return best_paths(self._observe(self._data(S)), S.offsets, self.chain)

    def posterior(self, S: Any) -> Floats:
        """Return P(z_t = k | x), (T, K), for all sequences one after another."""
        out = np.empty((int(S.offsets[-1]), int(self.states)))

        posteriors(self._observe(self._data(S)), S.offsets, self.chain, lambda piece, found: None, out)
        return out

    def scores(self, S: Any) -> Floats:
        """Return the derivatives of log p(x), (n, p): in pi, A row by row, then in what the states emit."""
        S = packed(S, self.pack)
        chain, n, K = self.chain, len(S), int(self.states)
        budget.Plan(f"the scores of {self!r} on {n} sequences", {"scores": 8 * n * self.size}).require(None)
        out = np.zeros((n, self.size))
        impossible: list[int] = []
        data = self._data(S)

        def use(piece: int, found: Posterior) -> None:
            rows = out[found.sequences]
            impossible.extend(found.sequences.start + np.flatnonzero(np.isneginf(found.log_likelihood)))
            kept, first = found.firsts
            rows[kept, :K] = self._centred(found.gamma[first], chain.start)
            rows[:, K : K + K * K] = self._centred(found.transitions(), chain.transitions).reshape(len(rows), K * K)
            rows[:, K + K * K :] = self._shown_scores(data, found)

        posteriors(self._observe(data), S.offsets, chain, use)
        if impossible:
            raise DomainError(
                f"Sample {min(impossible)} has probability 0 under {self!r}, where it has no scores; samples that the "
                "model may show are needed. Learn the model with a pseudocount, or give it no zeros."
            )
        return out

    def _centred(self, counts: Floats, theta: Floats) -> Floats:
        """Return derivatives in the logits of distributions, or in their probabilities, from expected counts."""
        found = counts - theta * counts.sum(axis=-1, keepdims=True)
        return found if self.parameters == "natural" else found / np.where(theta > 0.0, theta, 1.0)

    # learning -----------------------------------------------------------------------------------------

    def learn(self, S: Any, weight: Floats | None = None) -> Self:
        """Learn all parameters by expectation maximisation (Baum and Welch)."""
        S = packed(S, self.pack)
        if self.fitted:
            return self
        w = weights_of(weight, len(S))
        if not (w > 0.0).all():
            S, w = S.take(w > 0.0), w[w > 0.0]
        model = self._begin(S, w, np.random.default_rng(self.random_state))
        data, count = model._data(S), max(float(w @ S.lengths), 1.0)
        value, gain = -np.inf, np.inf
        for _ in range(int(self.max_iter)):
            new, totals = model._expected(data, S.offsets, w)
            value, gain = new, (new - value) / count
            if gain < float(self.tol):
                return model
            model = model._maximised(totals)
        warn_caller(
            f"{type(self).__name__} stopped after max_iter={self.max_iter} steps, in the last of which the "
            f"log-likelihood of an observation rose by {gain:.3g}; tol={self.tol:g}. Raise max_iter, or tol.",
            errors.ConvergenceWarning,
        )
        return model

    def _expected(self, data: Any, offsets: Indices, w: Floats) -> tuple[float, Totals]:
        """Return the penalised log-likelihood and the expected counts."""
        parts: dict[int, Any] = {}
        plain = bool((w == 1.0).all())

        def use(piece: int, found: Posterior) -> None:
            of = w[found.sequences]
            each = None if plain else np.repeat(of, np.diff(found.offsets))
            kept, first = found.firsts
            totals = Totals(
                of[kept] @ found.gamma[first], found.total_transitions(each), self._shown(data, found, each)
            )
            parts[piece] = float(of @ found.log_likelihood), totals

        count = posteriors(self._observe(data), offsets, self.chain, use)
        value, totals = parts[0]
        for piece in range(1, count):  # in a fixed order, whichever thread was first
            more, other = parts[piece]
            value += more
            shown = tuple(a + b for a, b in zip(totals.shown, other.shown, strict=True))
            totals = Totals(totals.start + other.start, totals.transitions + other.transitions, shown)
        return value + self._log_prior(), totals

    def _log_prior(self) -> float:
        """Return the logarithm of the Dirichlet densities whose pseudocounts are added, up to a constant."""
        c = float(self.pseudocount)
        return c * sum(float(np.log(theta).sum()) for theta in self._distributions()) if c else 0.0

    def _distributions(self) -> tuple[Floats, ...]:
        return self.chain.start, self.chain.transitions

    def _maximised(self, totals: Totals) -> Self:
        c = float(self.pseudocount)
        return self._improved(normed(totals.start + c), normed(totals.transitions + c), totals.shown)


class HiddenMarkovModel(Hidden):
    r"""Hidden Markov model of strings: a chain of hidden states, each of which emits a symbol.

    .. math:: p(s) = \sum_{z} \pi(z_1) E(s_1 \mid z_1) \prod_{t=2}^{|s|} A(z_t \mid z_{t-1}) E(s_t \mid z_t)

    The length of a string is not modelled.

    Seed: [ST] "Probabilistic model kernels" and "Fisher kernels"; [SS] Section 6.4 (remote homology of proteins,
    varying length, missing data).

    Parameters
    ----------
    states : int, default 4
        The number K of hidden states.
    alphabet : {"dna", "rna", "protein"}, str or tuple, optional
        The symbols. By default those of the training strings.
    start, transitions, emissions : (K,), (K, K) and (K, number of symbols) arrays, optional
        pi, A and E, rows of which sum to one. All are given, or all are learned.
    missing : hashable, optional
        The symbol of a missing observation. Symbols that the alphabet does not have are taken
        for missing as well: the model sums over what they might be. Data without any symbol of it are refused.
    parameters : {"natural", "probability"}, default "natural"
        Whether scores are derivatives in logits or in probabilities (whose rows are divided by their sum). The
        invariant Fisher kernel is the same.
    pseudocount : float, default 0.1
        Added to all expected counts. 0 for maximum likelihood, which may give zeros.
    max_iter : int, default 200
        Largest number of steps of expectation maximisation.
    tol : float, default 1e-5
        Learning stops when the log-likelihood of an observation rises by less than this.
    random_state : int, default 0
        Seed of the initial values.

    Notes
    -----
    Domain Strings; the empty string has likelihood 1 and scores 0. `from_hmmlearn` takes a fitted CategoricalHMM of
    hmmlearn. The Fisher information has no closed form; it is estimated from strings drawn from the model. Cost O(N
    K^2) for N symbols, for a step of learning as for likelihoods and scores.

    Examples
    --------
    >>> coin = HiddenMarkovModel(
    ...     2, alphabet="HT", start=(0.5, 0.5), transitions=((0.9, 0.1), (0.1, 0.9)), emissions=((0.9, 0.1), (0.5, 0.5))
    ... )
    >>> S = coin.pack(["HHHHHHHH", "HTTHTHTT"])
    >>> coin.log_likelihood(S).round(3)
    array([-1.947, -6.614])
    >>> coin.decode(S)[0]
    array([0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1])
    """

    domain = Strings
    constraints = {
        "alphabet": ALPHABET,
        "emissions": Optional(Array(2, low=0.0)),
        "missing": MISSING_SYMBOL,
    }

    def __init__(
        self,
        states: int = 4,
        *,
        alphabet: Any = None,
        start: Any = None,
        transitions: Any = None,
        emissions: Any = None,
        missing: Any = None,
        parameters: str = "natural",
        pseudocount: float = 0.1,
        max_iter: int = 200,
        tol: float = 1e-5,
        random_state: int = 0,
    ) -> None:
        self.states = states
        self.alphabet = alphabet
        self.start = start
        self.transitions = transitions
        self.emissions = emissions
        self.missing = missing
        self.parameters = parameters
        self.pseudocount = pseudocount
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    @classmethod
    def from_hmmlearn(cls, model: Any, alphabet: Any = None) -> Self:
        """Return the model of a fitted CategoricalHMM of hmmlearn; its symbols are 0, 1, ... unless given."""
        emissions = np.asarray(model.emissionprob_, dtype=float)
        known = tuple(range(emissions.shape[1])) if alphabet is None else alphabet
        return cls(
            len(emissions),
            alphabet=known,
            start=np.asarray(model.startprob_, dtype=float),
            transitions=np.asarray(model.transmat_, dtype=float),
            emissions=emissions,
        )

    def check(self) -> Self:
        """Raise ParameterError unless the parameters are distributions that fit together."""
        known = self.alphabet is not None or self.fitted
        letters = check_alphabet(self.alphabet, self.missing, self) if known else 0
        super().check()
        if self.fitted:
            stochastic("emissions", self.emissions, (int(self.states), letters), self)
        return self

    @property
    def size(self) -> int:
        """K + K^2 + K times the number of symbols."""
        K = int(self.states)
        return K + K * K + K * self._emissions.shape[1]

    def pack(self, X: Any) -> Strings:
        """Turn texts or sequences of symbols into Strings, which have symbols of the alphabet."""
        return packed_strings(X, self.alphabet, self.missing)

    @property
    def _emissions(self) -> Floats:
        return np.ascontiguousarray(self.require_fitted().emissions, dtype=float)

    def _distributions(self) -> tuple[Floats, ...]:
        return *super()._distributions(), self._emissions

    def _data(self, S: Strings) -> Any:
        return coded(S, self.require_fitted().alphabet)

    def _observe(self, data: Any) -> Observe:
        rows = self._rows
        return lambda at: Observed.plain(rows[data[at]])

    @property
    def _rows(self) -> Floats:
        """How likely each symbol is in each state; the last row is what is missing, equally likely in every state."""
        return np.vstack([self._emissions.T, np.ones((1, int(self.states)))])

    def decode(self, S: Any) -> tuple[Indices, Floats]:
        S, chain = packed(S, self.pack), self.chain
        codes = np.asarray(self._data(S), dtype=np.intp)
        with np.errstate(divide="ignore"):
            table, start, transitions = np.log(self._rows), np.log(chain.start), np.log(chain.transitions)
        return best_scored_paths(lambda at: (table, codes[at]), S.offsets, start, transitions)

    def _begin(self, S: Strings, w: Floats, rng: np.random.Generator) -> Self:
        alphabet = learned_alphabet(S, w, self.missing) if self.alphabet is None else self.alphabet
        codes, K = coded(packed_strings(S, alphabet, self.missing), alphabet), int(self.states)
        seen, letters = codes >= 0, len(letters_of(alphabet)[0])
        share = np.bincount(codes[seen], np.repeat(w, S.lengths)[seen], letters) + 1e-3
        # different states for different symbols, likely to stay: what is rare in data is not found from a uniform start
        emissions = normed(share * rng.gamma(1.0, size=(K, letters)) + 1e-3 * share)
        transitions = normed(rng.gamma(1.0, size=(K, K)) + np.eye(K))
        return self.replace(alphabet=alphabet, start=np.full(K, 1.0 / K), transitions=transitions, emissions=emissions)

    def _shown(self, data: Any, found: Posterior, w: Floats | None) -> tuple[Floats, ...]:
        return (found.total_symbols(data[found.positions], self._emissions.shape[1], w),)

    def _improved(self, start: Floats, transitions: Floats, shown: tuple[Floats, ...]) -> Self:
        emissions = normed(shown[0] + float(self.pseudocount))
        return self.replace(start=start, transitions=transitions, emissions=emissions)

    def _shown_scores(self, data: Any, found: Posterior) -> Floats:
        counts = found.symbols(data[found.positions], self._emissions.shape[1])
        return self._centred(counts, self._emissions).reshape(len(counts), -1)

    def sample(self, rng: np.random.Generator, count: int, like: Samples | None = None) -> Samples:
        """Draw strings whose lengths are those of strings of `like`, drawn at random (10 without)."""
        lengths = drawn_lengths(rng, count, like)
        z = drawn_states(rng, lengths, self.chain)
        emissions = np.cumsum(self._emissions, axis=1)
        codes = np.empty(len(z), dtype=np.int64)
        for k in range(int(self.states)):
            here = z == k
            codes[here] = np.searchsorted(emissions[k], rng.random(int(here.sum())), side="right")
        return strings_of(np.minimum(codes, emissions.shape[1] - 1), lengths, self.alphabet)


def normed(counts: Floats) -> Floats:
    """Return distributions from counts along the last axis; uniform where nothing was counted."""
    total = counts.sum(axis=-1, keepdims=True)
    return np.where(total > 0.0, counts / np.where(total > 0.0, total, 1.0), 1.0 / counts.shape[-1])


def drawn_lengths(rng: np.random.Generator, count: int, like: Any) -> Indices:
    """Draw lengths from those of some samples."""
    return np.full(count, 10, dtype=np.intp) if like is None else rng.choice(like.lengths, count).astype(np.intp)


def drawn_states(rng: np.random.Generator, lengths: Indices, chain: Chain) -> Indices:
    """Draw hidden paths, one after another."""
    out = np.empty(int(lengths.sum()), dtype=np.intp)
    _walk(rng.random(len(out)), lengths, np.cumsum(chain.start), np.cumsum(chain.transitions, axis=1), out)
    return out


@compiled
def _walk(uniform, lengths, start, transitions, out):
    place, last = 0, start.size - 1
    for i in range(lengths.size):
        for t in range(lengths[i]):
            k = 0
            while k < last and (start[k] if t == 0 else transitions[out[place - 1], k]) <= uniform[place]:
                k += 1
            out[place] = k
            place += 1
