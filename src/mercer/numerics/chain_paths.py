"""Best paths of hidden chains: the best, several, and the best of each loss, over sequences of different lengths.

Symbols as in `mercer.numerics.chains`; scores are logarithms, or any other numbers that add up along a path.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mercer.arrays import Floats, Indices
from mercer.numerics.chains import Chain, Observe, pieces
from mercer.runtime.compiled import compiled
from mercer.runtime.tiling import Scratch, run_tasks

__all__ = ["best_paths", "best_paths_of_losses", "best_scored_paths", "several_best_paths"]


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
        The loss of each state at each position, in whole steps from 0; the loss of a path is their sum.

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
    """Follow the best path of every sequence from its end, recomputing the predecessor of each state on it."""
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
