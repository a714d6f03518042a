r"""Covariances of what a chain counts: the second derivatives of its log-partition function.

Symbols: T positions, K states, p_t the marginals, A_t(a, b) = p(y_{t+1} = b | y_t = a), Q_t(a, b) = p_t(a) A_t(a, b);
M(t, s) = A_t ... A_{s-1} the probabilities of y_s given y_t; N_t(b, (c, d)) the expected number of steps from c to d
at or after t, given y_t = b.
"""

from __future__ import annotations

import numpy as np

from mercer.arrays import Floats
from mercer.networks.log_tables import log_sum

__all__ = ["chain_covariance"]


def chain_covariance(scores: Floats, transitions: Floats) -> Floats:
    r"""Return the covariance of the states at the positions and of the numbers of steps of a chain.

    .. math:: \nabla^2 \log \sum_y \exp\Bigl(\sum_t F_{t y_t} + \sum_{t > 1} W_{y_{t-1} y_t}\Bigr)

    Seed: [HSS] Section 4.1.1: second derivatives of the log-partition function are covariances of the statistics.

    Parameters
    ----------
    scores : (T, K) array
        F, finite.
    transitions : (K, K) array
        W, from row to column.

    Returns
    -------
    (T K + K^2, T K + K^2) array
        State a at position t is row t K + a, steps from a to b are row T K + a K + b.

    Notes
    -----
    Cost O(T^2 K^3 + T K^4).
    """
    T, K = scores.shape
    p, A = _conditionals(scores, transitions)
    out = np.zeros((T * K + K * K, T * K + K * K))
    states = out[: T * K, : T * K].reshape(T, K, T, K)
    beside = out[: T * K, T * K :].reshape(T, K, K * K)
    Q = p[:-1, :, None] * A
    later, steps = np.zeros((K, K * K)), np.zeros((K * K, K * K))  # N_{t + 1}, and ordered pairs of steps
    for t in range(T - 1, -1, -1):
        if t < T - 1:
            steps += (Q[t].reshape(K, K, 1) * later[None]).reshape(K * K, K * K)
            later = A[t] @ later
            later.reshape(K, K, K)[np.arange(K), np.arange(K)] += A[t]
        beside[t] += p[t][:, None] * later
        way = np.eye(K)
        for s in range(t, T):
            states[t, :, s] = p[t][:, None] * way
            states[s, :, t] = states[t, :, s].T
            if t:  # the step before t, and the state at s
                beside[s] += (Q[t - 1][:, :, None] * way[None]).reshape(K * K, K).T
            if s < T - 1:
                way = way @ A[s]
    out[T * K :, T * K :] = steps + steps.T
    total = Q.sum(axis=0).ravel()
    out[np.arange(T * K, len(out)), np.arange(T * K, len(out))] += total
    out[T * K :, : T * K] = out[: T * K, T * K :].T
    mean = np.concatenate([p.ravel(), total])
    return out - np.outer(mean, mean)


def _conditionals(scores: Floats, transitions: Floats) -> tuple[Floats, Floats]:
    """Return p, (T, K), and A, (T - 1, K, K), by backward and forward recursions."""
    T, K = scores.shape
    after, A, p = np.zeros(K), np.empty((max(T - 1, 0), K, K)), np.empty((T, K))
    for t in range(T - 2, -1, -1):
        ways = transitions + (scores[t + 1] + after)[None]
        after = log_sum(ways, (1,))
        A[t] = np.exp(ways - after[:, None])
    if T:
        first = scores[0] + after
        p[0] = np.exp(first - log_sum(first, (0,)))
    for t in range(T - 1):
        p[t + 1] = p[t] @ A[t]
    return p, A
