"""Markov chains of symbols: each depends on the few before it.

Symbols: A letters of the alphabet, q the order, u a context (the last q letters, with a sign for the beginning of the
string among them), P_ua the probability of letter a after u, n_ua how often a string has it there, n_u = sum_a n_ua.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from mercer import budget
from mercer.arrays import Floats
from mercer.constraints import Array, Fixed, Integer, Interval, OneOf, Optional
from mercer.domains import Samples, Strings
from mercer.domains.samples import packed
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
from mercer.runtime.compiled import compiled

__all__ = ["MarkovChain"]
__public__ = __all__


class MarkovChain(Model):
    r"""Markov chain of a given order: the next symbol depends on the last few.

    .. math:: p(s) = \prod_{t=1}^{|s|} P(s_t \mid s_{t-q} \dots s_{t-1})

    The contexts of the first symbols contain a sign for the beginning. The length of a string is not modelled.

    Seed: [ST] "Fisher kernels": models "closely related to string kernels" (the scores count substrings of q + 1
    symbols); [SS] Section 6.4 on missing data and varying length.

    Parameters
    ----------
    order : int, default 1
        The number q of symbols that the next one depends on. At least 0.
    alphabet : {"dna", "rna", "protein"}, str or tuple, optional
        The A symbols. By default those of the training strings.
    transitions : ((A + 1)^q, A) array, optional
        P, learned by default. Row u is the number in base A + 1 of the context, whose digits are the places of its
        symbols in the alphabet, and A for the beginning: for q = 1 the last row is how strings begin.
    missing : hashable, optional
        The symbol of a missing observation. Symbols that the alphabet does not have are taken
        for missing as well: the model sums over what they might be. Data without any symbol of it are refused.
    parameters : {"natural", "probability"}, default "natural"
        Whether scores are derivatives in logits, g = n_ua - P_ua n_u, or in probabilities (whose rows are divided by
        their sum), g = n_ua / P_ua - n_u. The invariant Fisher kernel is the same.
    pseudocount : float, default 0.1
        Added to every count when P is learned. 0 for maximum likelihood.

    Notes
    -----
    Domain Strings; the empty string has likelihood 1 and scores 0. Learned from counts (with missing symbols: expected
    counts, by iteration); the Fisher information is known in closed form, given the lengths. Cost O(N) for N symbols,
    O(N A^{q+1}) for strings with missing ones.

    Examples
    --------
    >>> chain = MarkovChain(pseudocount=0.0)
    >>> chain = chain.learn(chain.pack(["abab", "aab"]))
    >>> chain.alphabet, np.asarray(chain.transitions).round(2)
    (('a', 'b'), array([[0.25, 0.75],
           [1.  , 0.  ],
           [1.  , 0.  ]]))
    >>> np.exp(chain.log_likelihood(chain.pack(["ab", "aba", "b"])))
    array([0.75, 0.75, 0.  ])
    """

    domain = Strings
    constraints = {
        "order": Integer(0, 8),
        "alphabet": ALPHABET,
        "transitions": Optional(Array(2, low=0.0)),
        "missing": MISSING_SYMBOL,
        "parameters": OneOf("natural", "probability"),
        "pseudocount": Fixed(Interval(0.0, np.inf, closed="left")),
    }

    def __init__(
        self,
        order: int = 1,
        *,
        alphabet: Any = None,
        transitions: Any = None,
        missing: Any = None,
        parameters: str = "natural",
        pseudocount: float = 0.1,
    ) -> None:
        self.order = order
        self.alphabet = alphabet
        self.transitions = transitions
        self.missing = missing
        self.parameters = parameters
        self.pseudocount = pseudocount

    def check(self) -> Self:
        """Raise ParameterError unless the transitions are distributions over the alphabet."""
        super().check()
        known = self.alphabet is not None or self.fitted
        letters = check_alphabet(self.alphabet, self.missing, self) if known else 0
        if self.fitted:
            stochastic("transitions", self.transitions, self._shape(letters), self)
        return self

    def _shape(self, letters: int) -> tuple[int, int]:
        return (letters + 1) ** int(self.order), letters

    def pack(self, X: Any) -> Strings:
        """Turn texts or sequences of symbols into Strings, which have symbols of the alphabet."""
        return packed_strings(X, self.alphabet, self.missing)

    @property
    def fitted(self) -> bool:
        """Whether the transitions are known."""
        return self.transitions is not None

    @property
    def size(self) -> int:
        """The number of entries of P."""
        contexts, letters = self._shape(len(letters_of(self.require_fitted().alphabet)[0]))
        return contexts * letters

    @property
    def _matrix(self) -> Floats:
        return np.array(self.require_fitted().transitions, dtype=float, order="C")

    def learn(self, S: Samples, weight: Floats | None = None) -> Self:
        """Count what follows what."""
        S = packed(S, self.pack)
        if self.fitted:
            return self
        assert isinstance(S, Strings)
        w = weights_of(weight, len(S))
        alphabet = learned_alphabet(S, w, self.missing) if self.alphabet is None else self.alphabet
        packed_strings(S, alphabet, self.missing)
        shape = self._shape(len(letters_of(alphabet)[0]))
        budget.Plan(f"{self!r} with {shape[1]} symbols", {"transitions": 24 * shape[0] * shape[1]}).require(None)
        codes = coded(S, alphabet)
        model = self.replace(alphabet=alphabet, transitions=np.full(shape, 1.0 / shape[1]))
        steps = 1 if (codes >= 0).all() else 100  # with nothing missing, counts do not depend on P
        for _ in range(steps):
            before = model._matrix
            total = self._counted(codes, S.offsets, w, before, 1)[0][0] + float(self.pseudocount)
            row = total.sum(axis=1, keepdims=True)
            P = np.where(row > 0.0, total / np.where(row > 0.0, row, 1.0), 1.0 / shape[1])
            model = model.replace(transitions=P)
            if np.abs(P - before).max() < 1e-10:
                break
        return model

    def _counts(self, S: Samples) -> Floats:
        """Return the (expected) counts of each string, (n, contexts, A)."""
        assert isinstance(S, Strings)
        P = self._matrix
        size = 8 * len(S) * P.size
        budget.Plan(f"the scores of {self!r} on {len(S)} strings", {"scores": size}).require(None)
        return self._counted(coded(S, self.alphabet), S.offsets, np.ones(len(S)), P, len(S))[0]

    def _counted(self, codes: Any, offsets: Any, w: Floats, P: Floats, rows: int) -> tuple[Floats, Floats]:
        """Return counts, (rows, contexts, A), of each string or of all together, and the log-likelihoods."""
        counts, found = np.zeros((rows, *P.shape)), np.zeros(len(w))
        _count_each(codes, offsets, w, P, counts, found, _room(codes, offsets, P))
        return counts, found

    def log_likelihood(self, S: Samples) -> Floats:
        """Return log p(s) of each string, summed over what is missing."""
        S = packed(S, self.pack)
        assert isinstance(S, Strings)
        P = self._matrix
        found, codes = np.empty(len(S)), coded(S, self.alphabet)
        _find_each(codes, S.offsets, P, found, _room(codes, S.offsets, P))
        return found

    def scores(self, S: Samples) -> Floats:
        """Return the derivatives in the entries of P, or in their logits, (n, (A + 1)^q A)."""
        S = packed(S, self.pack)
        counts = self._counts(S)
        P = self._matrix
        counts -= P * counts.sum(axis=2, keepdims=True)
        if self.parameters == "probability":
            counts /= np.where(P > 0.0, P, 1.0)
        return counts.reshape(len(S), P.size)

    def whitening(self, S: Samples | None = None, weight: Floats | None = None) -> Floats | None:
        r"""Return the diagonal root of an inverse of the information, (p,).

        Of independent steps, I = diag_u N_u (diag(P_u) - P_u P_u^T) in logits, where N_u is the expected number of
        visits to u; an inverse on the scores, which sum to zero for each u, is diag(1 / (N_u P_ua)).
        """
        if S is None:
            return None
        assert isinstance(S, Strings)
        P = self._matrix
        spread = self._visits(S, weights_of(weight, len(S)))[:, None] * P
        if self.parameters == "probability":
            spread = np.where(P > 0.0, spread / np.where(P > 0.0, P, 1.0) ** 2, 0.0)
        return np.where(spread > 0.0, 1.0 / np.sqrt(np.where(spread > 0.0, spread, 1.0)), 0.0).ravel()

    def _visits(self, S: Strings, w: Floats) -> Floats:
        """Return how often each context is expected in a string, averaged over the lengths of the strings."""
        P = self._matrix
        longest = int(S.lengths.max(initial=0))
        reached = np.zeros(longest + 1)  # share of the strings that have a symbol at t
        np.add.at(reached, S.lengths, w / w.sum())
        reached = 1.0 - np.cumsum(reached)
        at, visits = np.zeros(len(P)), np.zeros(len(P))
        at[-1] = 1.0
        for t in range(longest):
            visits += reached[t] * at
            new = np.zeros(len(P))
            _advance(at, P, new)
            at = new
        return visits

    def sample(self, rng: np.random.Generator, count: int, like: Samples | None = None) -> Samples:
        """Draw strings whose lengths are those of strings of `like`, drawn at random (10 without)."""
        lengths = np.full(count, 10) if like is None else rng.choice(like.lengths, count)  # pyright: ignore[reportAttributeAccessIssue]
        codes = np.empty(int(lengths.sum()), dtype=np.int64)
        cumulated = np.cumsum(self._matrix, axis=1)
        _draw(rng.random(len(codes)), np.asarray(lengths, dtype=np.int64), cumulated, codes)
        return strings_of(codes, lengths, self.alphabet)


def _room(codes: Any, offsets: Any, P: Floats) -> Floats:
    """Return room for the forward recursion over a string with missing symbols; little if there is none."""
    longest = int(np.diff(offsets).max(initial=0)) if (codes < 0).any() else 0
    return np.empty((longest + 1, len(P)))


@compiled
def _count_string(codes, first, stop, P, total, factor, alpha):
    """Add the expected counts of one string, times a factor, to `total`; return its log-likelihood.

    Rows of `alpha`, which has room for all contexts at all positions, are needed where symbols are missing.
    """
    contexts, letters = P.shape
    base = letters + 1
    whole = True
    for t in range(first, stop):
        if codes[t] < 0:
            whole = False
    context, found = contexts - 1, 0.0
    if whole:
        for t in range(first, stop):
            found += np.log(P[context, codes[t]])
            if factor != 0.0:
                total[context, codes[t]] += factor
            context = (context * base + codes[t]) % contexts
        return found
    for t in range(stop - first + 1):
        for u in range(contexts):
            alpha[t, u] = 0.0
    alpha[0, context] = 1.0
    for t in range(stop - first):  # forward: where the string may be, given the symbols so far
        code, c = codes[first + t], 0.0
        for u in range(contexts):
            if alpha[t, u] > 0.0:
                for a in range(letters):
                    if code < 0 or code == a:
                        step = alpha[t, u] * P[u, a]
                        alpha[t + 1, (u * base + a) % contexts] += step
                        c += step
        if c == 0.0:
            return -np.inf
        for u in range(contexts):
            alpha[t + 1, u] /= c
        found += np.log(c)
    if factor == 0.0:
        return found
    after = np.ones(contexts)
    before = np.empty(contexts)
    for t in range(stop - first - 1, -1, -1):  # backward: counts, given all symbols
        code, c = codes[first + t], 0.0
        for u in range(contexts):
            before[u] = 0.0
            for a in range(letters):
                if alpha[t, u] > 0.0 and (code < 0 or code == a):
                    before[u] += P[u, a] * after[(u * base + a) % contexts]
            c += alpha[t, u] * before[u]
        for u in range(contexts):
            for a in range(letters):
                if alpha[t, u] > 0.0 and (code < 0 or code == a):
                    total[u, a] += factor * alpha[t, u] * P[u, a] * after[(u * base + a) % contexts] / c
        for u in range(contexts):
            after[u] = before[u] / c
    return found


@compiled
def _count_each(codes, offsets, weight, P, counts, found, alpha):
    """Count in every string of some weight: each has its own counts, or all have the same."""
    for i in range(offsets.size - 1):
        if weight[i] != 0.0:
            own = i if counts.shape[0] > 1 else 0
            found[i] = _count_string(codes, offsets[i], offsets[i + 1], P, counts[own], weight[i], alpha)


@compiled
def _find_each(codes, offsets, P, found, alpha):
    """Find the likelihood of every string, without counts."""
    for i in range(offsets.size - 1):
        found[i] = _count_string(codes, offsets[i], offsets[i + 1], P, P, 0.0, alpha)


@compiled
def _advance(at, P, new):
    contexts, letters = P.shape
    for u in range(contexts):
        if at[u] > 0.0:
            for a in range(letters):
                new[(u * (letters + 1) + a) % contexts] += at[u] * P[u, a]


@compiled
def _draw(uniform, lengths, cumulated, codes):
    contexts, letters = cumulated.shape
    place = 0
    for i in range(lengths.size):
        context = contexts - 1
        for _ in range(lengths[i]):
            a = 0
            while a < letters - 1 and cumulated[context, a] <= uniform[place]:
                a += 1
            codes[place] = a
            context = (context * (letters + 1) + a) % contexts
            place += 1
