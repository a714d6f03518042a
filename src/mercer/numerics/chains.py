r"""Hidden chains: forward, backward, best paths and expected counts, over sequences of different lengths.

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
    "best_paths",
    "best_paths_of_losses",
    "best_scored_paths",
    "log_likelihoods",
    "pieces",
    "posteriors",
    "several_best_paths",
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


def best_paths(observe: Observe, offsets: Indices, chain: Chain) -> tuple[Indices, Floats]:
    """Return the most likely hidden states of all positions, (T,), and log p(x, z) of each sequence, (n,)."""
    with np.errstate(divide="ignore"):
        start, transitions = np.log(chain.start), np.log(chain.transitions)

    def scores(at: slice) -> tuple[Floats, Indices]:
        observed = observe(at)
        with np.errstate(divide="ignore"):
            return (observed.logs if len(observed.logs) else np.log(observed.B)), np.arange(len(observed.B))

    return best_scored_paths(scores, offsets, start, transitions)


def best_scored_paths(
    scores: Callable[[slice], tuple[Floats, Indices]], offsets: Indices, start: Floats, transitions: Floats
) -> tuple[Indices, Floats]:
    """Return the paths of the highest scores, (T,), and their scores, (n,); all scores may be any numbers, or -inf.

    Parameters
    ----------
    scores : callable
        Takes a slice of positions and returns a table with a score for each state, (rows, K), and the row of each
        position; positions that show the same symbol share a row.
    offsets : (n + 1,) array
    start, transitions : (K,) and (K, K) arrays
    """
    n, states = len(offsets) - 1, len(start)
    path, found = np.empty(offsets[-1] - offsets[0], dtype=np.intp), np.empty(n)
    backwards, scratch = np.ascontiguousarray(transitions.T), Scratch()

    def work(part: slice) -> None:
        at = slice(int(offsets[part.start]), int(offsets[part.stop]))
        local = np.ascontiguousarray(offsets[part.start : part.stop + 1] - at.start, dtype=np.intp)
        table, rows = scores(at)
        scratch.reset()
        value = scratch.empty((at.stop - at.start, states), np.dtype(float))
        inner = slice(at.start - offsets[0], at.stop - offsets[0])
        _raise(table, rows, local, start, transitions, value)
        _trace(value, local, backwards, path[inner], found[part])

    run_tasks(pieces(offsets, states), work)
    return path, found


def several_best_paths(
    logs: Floats, offsets: Indices, start: Floats, transitions: Floats, count: int
) -> tuple[Indices, Floats]:
    """Return the best paths of each sequence, (count, T), best first, and their scores, (n, count).

    Where a sequence has fewer paths with finite scores, the others have the score -inf and states -1.
    """
    paths = np.full((count, len(logs)), -1, dtype=np.intp)
    found = np.full((len(offsets) - 1, count), -np.inf)

    def work(i: int) -> None:
        at = slice(offsets[i], offsets[i + 1])
        _decode_several(np.ascontiguousarray(logs[at]), start, transitions, paths[:, at], found[i])

    run_tasks(range(len(offsets) - 1), work)
    return paths, found


def best_paths_of_losses(
    scores: Floats, start: Floats, transitions: Floats, steps: Indices
) -> tuple[Floats, Callable[[int], Indices]]:
    """Return the highest score of a path of each loss, and the function from a loss to its path.

    Parameters
    ----------
    scores : (T, K) array
        Of one sequence, which is not empty.
    start, transitions : (K,) and (K, K) arrays
    steps : (T, K) array of int
        The loss of each state at each position, in whole steps from 0; a path has the loss of its sum.

    Notes
    -----
    Cost O(T L K^2) with L the largest loss of a path, and the memory of T L K numbers.
    """
    value = np.empty((len(scores), int(steps.max(axis=1).sum()) + 1, scores.shape[1]))
    _raise_losses(scores, start, transitions, np.ascontiguousarray(transitions.T), steps, value)

    def path(loss: int) -> Indices:
        out = np.empty(len(scores), dtype=np.intp)
        _trace_loss(value, transitions, steps, loss, out)
        return out

    return value[-1].max(axis=1), path


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


@compiled
def _raise(table, rows, offsets, start, transitions, value):
    """Fill `value` with the highest score of a beginning that ends in each state; only maxima are taken."""
    states = start.size
    for i in range(offsets.size - 1):
        for t in range(offsets[i], offsets[i + 1]):
            score = table[rows[t]]
            if t == offsets[i]:
                for j in range(states):
                    value[t, j] = start[j] + score[j]
            else:
                _raise_to(value[t - 1], transitions, value[t])
                for j in range(states):
                    value[t, j] += score[j]


@compiled
def _raise_to(v, M, out):
    """Fill out with max_k (v_k + M_kj), eight rows at a time."""
    states, width = M.shape
    for j in range(width):
        out[j] = v[0] + M[0, j]
    k = 1
    while k + 8 <= states:
        a, b, c, d = v[k], v[k + 1], v[k + 2], v[k + 3]
        e, f, g, h = v[k + 4], v[k + 5], v[k + 6], v[k + 7]
        for j in range(width):
            p, q, r, s = a + M[k, j], b + M[k + 1, j], c + M[k + 2, j], d + M[k + 3, j]
            p = p if p > q else q
            r = r if r > s else s
            p = p if p > r else r
            q, r, s, u = e + M[k + 4, j], f + M[k + 5, j], g + M[k + 6, j], h + M[k + 7, j]
            q = q if q > r else r
            s = s if s > u else u
            q = q if q > s else s
            p = p if p > q else q
            q = out[j]
            out[j] = p if p > q else q
        k += 8
    while k < states:
        a = v[k]
        for j in range(width):
            p, q = a + M[k, j], out[j]
            out[j] = p if p > q else q
        k += 1


@compiled
def _trace(value, offsets, backwards, path, found):
    """Follow the best path of every sequence from its end: which state a maximum came from is asked for it alone."""
    for i in range(offsets.size - 1):
        begin, end = offsets[i], offsets[i + 1]
        found[i] = 0.0
        if end == begin:
            continue
        at = 0
        for j in range(1, value.shape[1]):
            if value[end - 1, j] > value[end - 1, at]:
                at = j
        found[i] = value[end - 1, at]
        for t in range(end - 1, begin, -1):
            path[t] = at
            at = _first_best(value[t - 1], backwards[at])
        path[begin] = at


@compiled
def _first_best(a, b):
    """Return where a + b is largest, the first place if there are several."""
    where = 0
    best = a[0] + b[0]
    for k in range(1, a.size):
        other = a[k] + b[k]
        if other > best:
            best, where = other, k
    return where


@compiled
def _decode_several(logs, start, transitions, paths, found):
    """Find the best paths of one sequence: each state keeps its best beginnings, in descending order."""
    length, states = logs.shape
    count = found.size
    if length == 0:
        found[0] = 0.0
        return
    now = np.full((states, count), -np.inf)
    before = np.full((states, count), -np.inf)
    back = np.full((length, states, count), -1, dtype=np.int64)
    place = np.zeros(states, dtype=np.int64)
    for j in range(states):
        now[j, 0] = start[j] + logs[0, j]
    for t in range(1, length):
        before[:] = now
        for j in range(states):
            place[:] = 0
            for r in range(count):
                best, who = -np.inf, -1
                for i in range(states):
                    if place[i] < count and before[i, place[i]] + transitions[i, j] > best:
                        best, who = before[i, place[i]] + transitions[i, j], i
                now[j, r] = best + logs[t, j]
                if who >= 0:
                    back[t, j, r] = who * count + place[who]
                    place[who] += 1
    place[:] = 0
    for r in range(count):
        best, who = -np.inf, -1
        for i in range(states):
            if place[i] < count and now[i, place[i]] > best:
                best, who = now[i, place[i]], i
        if who < 0:
            break
        found[r] = best
        state, rank = who, place[who]
        place[who] += 1
        for t in range(length - 1, -1, -1):
            paths[r, t] = state
            if t > 0:
                step = back[t, state, rank]
                state, rank = step // count, step % count


@compiled
def _raise_losses(scores, start, transitions, backwards, steps, value):
    """Fill value[t, l, j] with the highest score of a beginning of loss l that ends in state j."""
    length, states = scores.shape
    value[:] = -np.inf
    for j in range(states):
        value[0, steps[0, j], j] = start[j] + scores[0, j]
    reach = steps[0].max()  # no beginning has a larger loss
    for t in range(1, length):
        for before in range(reach + 1):
            for j in range(states):
                best = -np.inf
                for i in range(states):
                    best = max(best, value[t - 1, before, i] + backwards[j, i])
                value[t, before + steps[t, j], j] = best + scores[t, j]
        reach += steps[t].max()


@compiled
def _trace_loss(value, transitions, steps, loss, path):
    """Follow the best path of a loss from its end."""
    length, _, states = value.shape
    at = 0
    for j in range(1, states):
        if value[length - 1, loss, j] > value[length - 1, loss, at]:
            at = j
    path[length - 1] = at
    for t in range(length - 1, 0, -1):
        loss -= steps[t, at]
        where, best = 0, -np.inf
        for i in range(states):
            other = value[t - 1, loss, i] + transitions[i, at]
            if other > best:
                where, best = i, other
        at = where
        path[t - 1] = at
