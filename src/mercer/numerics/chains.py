r"""Hidden chains: forward, backward and expected counts, over sequences of different lengths.

Symbols: K states, T observations of all sequences one after another, sequence i is ``offsets[i]:offsets[i + 1]``;
pi (K,) where a chain starts, A (K, K) its transitions, B (T, K) how likely each observation is in each state;
alpha_t(k) = P(z_t = k | x_1..x_t), beta_t(k) the same factor of the later observations, so that alpha beta = gamma;
c_t = p(x_t | x_1..x_{t-1}), whose product is the likelihood.

Everything is scaled: alpha sums to one at every step, and so nothing vanishes however long a sequence is. Rows of B may
be given up to a factor, whose logarithm is in `shift`. Where all states that can be reached have vanishing B, the step
is done again with logarithms.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from mercer.arrays import Codes, Floats, Indices
from mercer.runtime.compiled import compiled
from mercer.runtime.tiling import Scratch, run_tasks

__all__ = [
    "Chain",
    "Observed",
    "Posterior",
    "log_likelihoods",
    "pieces",
    "posteriors",
]

_ENTRIES = 2**15  # of (t, K) arrays of one piece of work: the five that it needs stay in cache


@dataclass(frozen=True, eq=False)
class Chain:
    """A Markov chain of hidden states.

    Parameters
    ----------
    start : (K,) array
    transitions : (K, K) array
        Rows sum to one.
    """

    start: Floats
    transitions: Floats


@dataclass(frozen=True, eq=False)
class Observed:
    """How likely some observations are in each state.

    Parameters
    ----------
    B : (T, K) array
        Likelihoods, each row up to a factor; ones for an observation that is missing. They are overwritten.
    logs : (T, K) or (0, K) array
        Their logarithms without that factor; none if rows of B never vanish by rounding.
    shift : (T,) array
        Logarithms of the factors.
    """

    B: Floats
    logs: Floats
    shift: Floats

    @classmethod
    def plain(cls, B: Floats) -> Observed:
        """Likelihoods as they are."""
        return cls(B, np.empty((0, B.shape[1])), np.zeros(len(B)))

    @classmethod
    def of_logs(cls, logs: Floats) -> Observed:
        """Likelihoods given by their logarithms, of any size."""
        shift = logs.max(axis=1)
        return cls(np.exp(logs - shift[:, None]), logs, shift)


Observe = Callable[[slice], Observed]  # positions -> how likely they are


@dataclass(frozen=True, eq=False)
class Posterior:
    """What is known of the hidden states of some sequences.

    Parameters
    ----------
    sequences, positions : slice
        Which sequences these are, and their observations among all.
    offsets : (m + 1,) array
        Where each sequence begins, from 0.
    log_likelihood : (m,) array
        -inf for a sequence that the model cannot give.
    gamma : (t, K) array
        P(z_t = k | x).
    """

    sequences: slice
    positions: slice
    offsets: Indices
    log_likelihood: Floats
    gamma: Floats
    chain: Chain
    _alpha: Floats
    _after: Floats  # B beta / c, zero where a sequence begins

    @property
    def firsts(self) -> tuple[Indices, Indices]:
        """Sequences that are not empty, and where they begin."""
        kept = np.flatnonzero(np.diff(self.offsets))
        return kept, self.offsets[kept]

    def transitions(self) -> Floats:
        """Return the expected numbers of transitions of each sequence, (m, K, K)."""
        states = self.gamma.shape[1]
        out = np.zeros((len(self.offsets) - 1, states, states))
        _count_pairs(self._alpha, self._after, self.offsets, out)
        out *= self.chain.transitions
        return out

    def total_transitions(self, weight: Floats | None = None) -> Floats:
        """Return their weighted sum, (K, K); `weight` has an entry for each observation."""
        if len(self._alpha) < 2:
            return np.zeros_like(self.chain.transitions)
        before = self._alpha[:-1] if weight is None else self._alpha[:-1] * weight[1:, None]
        return (before.T @ self._after[1:]) * self.chain.transitions

    def weighted(self, weight: Floats | None = None) -> Floats:
        """Return gamma times the weights of the observations."""
        return self.gamma if weight is None else self.gamma * weight[:, None]

    def symbols(self, codes: Codes, count: int) -> Floats:
        """Return how often each sequence is expected to show each symbol in each state, (m, K, count)."""
        out = np.zeros((len(self.offsets) - 1, count, self.gamma.shape[1]))
        _count_symbols(self.gamma, codes, self.offsets, out)
        return np.ascontiguousarray(out.transpose(0, 2, 1))

    def total_symbols(self, codes: Codes, count: int, weight: Floats | None = None) -> Floats:
        """Return their weighted sum, (K, count)."""
        out = np.zeros((1, count, self.gamma.shape[1]))
        whole = np.array([0, len(codes)], dtype=np.intp)
        _count_symbols(self.weighted(weight), codes, whole, out)
        return np.ascontiguousarray(out[0].T)


def pieces(offsets: Indices, states: int) -> list[slice]:
    """Cut sequences into runs of about equal work."""
    limit = max(1, _ENTRIES // states)
    ends = [0]
    n = len(offsets) - 1
    while ends[-1] < n:
        reach = int(np.searchsorted(offsets, offsets[ends[-1]] + limit, side="right")) - 1
        ends.append(min(n, max(reach, ends[-1] + 1)))
    return [slice(a, b) for a, b in pairwise(ends)]


def log_likelihoods(observe: Observe, offsets: Indices, chain: Chain) -> Floats:
    """Return log p(x) of each sequence, (n,).

    Parameters
    ----------
    observe : callable
        Takes a slice of positions and returns an `Observed`; it is called from several threads.
    offsets : (n + 1,) array
    chain : Chain

    Examples
    --------
    >>> fair = Chain(np.array([0.5, 0.5]), np.array([[0.9, 0.1], [0.1, 0.9]]))
    >>> B = np.array([[0.5, 0.5], [0.5, 0.5]])
    >>> np.exp(log_likelihoods(lambda at: Observed.plain(B[at].copy()), np.array([0, 2]), fair))
    array([0.25])
    """
    out, scratch = np.empty(len(offsets) - 1), Scratch()

    def work(part: slice) -> None:
        out[part] = _filtered(observe, offsets, chain, part, scratch)[0]

    run_tasks(pieces(offsets, len(chain.start)), work)
    return out


def posteriors(
    observe: Observe,
    offsets: Indices,
    chain: Chain,
    use: Callable[[int, Posterior], None],
    gamma: Floats | None = None,
) -> int:
    """Find what is known of the hidden states, piece by piece, and pass it on; return the number of pieces.

    Parameters
    ----------
    observe, offsets, chain
        As for `log_likelihoods`.
    use : callable
        Takes the number of a piece and its `Posterior`, whose arrays are those of the next piece when it returns; it
        is called from several threads, in any order. Pieces do not depend on the number of threads.
    gamma : (T, K) array, optional
        Filled with P(z_t = k | x) of all positions.
    """
    parts, scratch = pieces(offsets, len(chain.start)), Scratch()
    backwards = np.ascontiguousarray(chain.transitions.T)

    def work(piece: int) -> None:
        part = parts[piece]
        found, local, at, observed, alpha, scale = _filtered(observe, offsets, chain, part, scratch)
        beta, after = scratch.empty(alpha.shape, alpha.dtype), scratch.empty(alpha.shape, alpha.dtype)
        _backward(observed.B, local, backwards, alpha, scale, beta, after)
        both = np.multiply(alpha, beta, out=beta if gamma is None else gamma[at])
        use(piece, Posterior(part, at, local, found, both, chain, alpha, after))

    run_tasks(range(len(parts)), work)
    return len(parts)


def _filtered(
    observe: Observe, offsets: Indices, chain: Chain, part: slice, scratch: Scratch
) -> tuple[Floats, Indices, slice, Observed, Floats, Floats]:
    """Run forward over some sequences."""
    at = slice(int(offsets[part.start]), int(offsets[part.stop]))
    local = np.ascontiguousarray(offsets[part.start : part.stop + 1] - at.start, dtype=np.intp)
    observed = observe(at)
    scratch.reset()
    alpha = scratch.empty((at.stop - at.start, len(chain.start)), np.dtype(float))
    scale = np.empty(len(alpha))
    shift, given = observed.shift, (chain.start, chain.transitions)
    _forward(observed.B, observed.logs, shift, local, *given, alpha, scale)
    with np.errstate(divide="ignore"):
        logs = np.log(scale) + shift
    found, kept = np.zeros(len(local) - 1), np.flatnonzero(np.diff(local))
    if len(kept):
        found[kept] = np.add.reduceat(logs, local[kept])  # the sum of one does not depend on its neighbours
    return found, local, at, observed, alpha, scale


@compiled
def _add_product(v, M, out):
    """Add v' M to out, eight rows at a time: out is read and written once for all eight."""
    states, width = M.shape
    k = 0
    while k + 8 <= states:
        a, b, c, d = v[k], v[k + 1], v[k + 2], v[k + 3]
        e, f, g, h = v[k + 4], v[k + 5], v[k + 6], v[k + 7]
        if a != 0.0 or b != 0.0 or c != 0.0 or d != 0.0 or e != 0.0 or f != 0.0 or g != 0.0 or h != 0.0:
            for j in range(width):
                p = a * M[k, j] + b * M[k + 1, j] + (c * M[k + 2, j] + d * M[k + 3, j])
                q = e * M[k + 4, j] + f * M[k + 5, j] + (g * M[k + 6, j] + h * M[k + 7, j])
                out[j] += p + q
        k += 8
    while k < states:
        a = v[k]
        for j in range(width):
            out[j] += a * M[k, j]
        k += 1


@compiled
def _dot(a, b):
    """Return <a, b> by four sums, which do not wait for each other."""
    p, q, r, s = 0.0, 0.0, 0.0, 0.0
    last = a.size - a.size % 4
    for k in range(0, last, 4):
        p += a[k] * b[k]
        q += a[k + 1] * b[k + 1]
        r += a[k + 2] * b[k + 2]
        s += a[k + 3] * b[k + 3]
    for k in range(last, a.size):
        p += a[k] * b[k]
    return (p + q) + (r + s)


@compiled
def _forward(B, logs, shift, offsets, start, transitions, alpha, scale):
    """Fill alpha and c; an impossible sequence has c = 0 where this becomes apparent."""
    states = start.size
    for i in range(offsets.size - 1):
        for t in range(offsets[i], offsets[i + 1]):
            first = t == offsets[i]
            for j in range(states):
                alpha[t, j] = start[j] if first else 0.0
            if not first:
                _add_product(alpha[t - 1], transitions, alpha[t])
            c = _dot(alpha[t], B[t])
            if c < 1e-250 and logs.shape[0] > 0:
                # all that can be reached is far less likely than the best state: measure from the best that can be
                top = -np.inf
                for j in range(states):
                    if alpha[t, j] > 0.0:
                        top = max(top, np.log(alpha[t, j]) + logs[t, j])
                if top > -np.inf:
                    shift[t] = top
                    for j in range(states):
                        B[t, j] = np.exp(min(logs[t, j] - top, 600.0))
                    c = _dot(alpha[t], B[t])
            scale[t] = c
            if c > 1e-300:
                part = 1.0 / c
                for j in range(states):
                    alpha[t, j] = alpha[t, j] * B[t, j] * part
            elif c > 0.0:  # its inverse may be out of range
                for j in range(states):
                    alpha[t, j] = alpha[t, j] * B[t, j] / c
            else:
                for j in range(states):
                    alpha[t, j] = 1.0 / states


@compiled
def _backward(B, offsets, backwards, alpha, scale, beta, after):
    """Fill beta and B beta / c; `backwards` has the transitions by columns."""
    states = backwards.shape[0]
    for i in range(offsets.size - 1):
        for t in range(offsets[i + 1] - 1, offsets[i] - 1, -1):
            last = t == offsets[i + 1] - 1
            for k in range(states):
                beta[t, k] = 1.0 if last else 0.0
            if not last:
                _add_product(after[t + 1], backwards, beta[t])
            c = scale[t] if scale[t] > 0.0 else np.inf
            for k in range(states):
                # what is never reached may be followed by something out of range, which is not needed
                b = beta[t, k] if alpha[t, k] != 0.0 else 0.0
                beta[t, k] = b
                after[t, k] = B[t, k] * b
            if c > 1e-300:
                part = 1.0 / c
                for k in range(states):
                    after[t, k] *= part
            else:
                for k in range(states):
                    after[t, k] /= c
        if offsets[i + 1] > offsets[i]:
            for k in range(states):
                after[offsets[i], k] = 0.0


@compiled
def _count_pairs(alpha, after, offsets, out):
    states = alpha.shape[1]
    for i in range(offsets.size - 1):
        for t in range(offsets[i] + 1, offsets[i + 1]):
            for k in range(states):
                before = alpha[t - 1, k]
                if before != 0.0:
                    for j in range(states):
                        out[i, k, j] += before * after[t, j]


@compiled
def _count_symbols(gamma, codes, offsets, out):
    for i in range(offsets.size - 1):
        for t in range(offsets[i], offsets[i + 1]):
            if codes[t] >= 0:
                for k in range(gamma.shape[1]):
                    out[i, codes[t], k] += gamma[t, k]
