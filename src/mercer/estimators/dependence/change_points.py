r"""Change points: where what comes after no longer looks like what came before.

Symbols: x_1, x_2, ... samples in the order of time; before t come the last p of them, x_{t-p}, ..., x_{t-1}, and from t
on the next f; K a Gram matrix of samples near to each other in time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
from scipy.linalg import eigh_tridiagonal
from scipy.signal import find_peaks

from mercer.arguments import real_array
from mercer.arrays import Floats, Indices
from mercer.budget import Plan, Resources
from mercer.constraints import Integer, OneOf
from mercer.domains import Samples
from mercer.errors import DomainError, ParameterError
from mercer.inference.forms import entries, matrix, packed
from mercer.inference.options import Limits, part_of, require_matrices, resources_of, tell
from mercer.inference.tests import generator
from mercer.kernels import Kernel, Linear
from mercer.kernels.foreign import KernelLike
from mercer.solvers.sparse.design import power_of_two

__all__ = ["ChangeScores", "ChangeTest", "change_point_test", "krylov_scan", "mmd_scan", "series_windows"]
__public__ = __all__

_TINY = 1e-12
_STEP = 384  # times of a stretch at least: its Gram matrix fits the cache, unless windows are long


@dataclass(frozen=True, eq=False)
class ChangeScores:
    """Scores of change over time.

    Attributes
    ----------
    times : (s,) array of int
        t: the first sample after the change.
    scores : (s,) array
        The larger, the bigger the change.
    """

    times: Indices
    scores: Floats

    def peaks(self, count: int | None = None, *, distance: int = 1, threshold: float | None = None) -> Indices:
        """Return times of local maxima, the highest first.

        Parameters
        ----------
        count : int, optional
            The most to return.
        distance : int, default 1
            Least time between two of them; the higher one stays.
        threshold : float, optional
            Least score.

        Examples
        --------
        >>> ChangeScores(np.arange(5, 10), np.array([0.0, 3.0, 0.0, 1.0, 0.0])).peaks(1)
        array([6])
        """
        padded = np.concatenate([[-np.inf], self.scores, [-np.inf]])  # the first and the last may be peaks
        places = find_peaks(padded, distance=distance, height=threshold)[0] - 1
        places = places[np.argsort(-self.scores[places], kind="stable")]
        return self.times[places[:count]]


@dataclass(frozen=True, eq=False)
class ChangeTest:
    """Whether there is one change, and where.

    Attributes
    ----------
    statistic : float
        The largest scaled discrepancy.
    p_value : float
    time : int
        The first sample after the change, where the discrepancy is largest.
    scores : ChangeScores
    """

    statistic: float
    p_value: float
    time: int
    scores: ChangeScores


def series_windows(x: Any, width: int) -> Floats:
    """Return all stretches of a series as rows, shape (n - width + 1, width times the number of columns).

    Parameters
    ----------
    x : (n,) or (n, k) array
    width : int

    Examples
    --------
    >>> series_windows([1.0, 2.0, 3.0, 4.0], 2)
    array([[1., 2.],
           [2., 3.],
           [3., 4.]])
    """
    Integer(1).check("width", width, "series_windows")
    x = real_array(x, "x")
    x = x[:, None] if x.ndim == 1 else x
    if width > len(x):
        raise ParameterError(
            f"width={width} was given for a series of {len(x)} values. Use at most {len(x)}, as a rule far less."
        )
    view = np.lib.stride_tricks.sliding_window_view(x, width, axis=0)
    return np.ascontiguousarray(view.transpose(0, 2, 1)).reshape(len(view), -1)


def _neighbourhoods(
    kernel: Kernel, S: Samples, past: int, future: int, resources: Resources
) -> Iterator[tuple[int, Floats]]:
    """Yield (number of times, Gram matrix of the samples that they see), stretch by stretch."""
    step = max(past + future, _STEP)
    last = len(S) - future + 1
    quiet = Resources(resources.memory, resources.n_threads)
    for t in range(past, last, step):
        count = min(step, last - t)
        near = S[t - past : t + count - 1 + future]
        Plan("Gram matrix of a stretch of time", {"Gram matrix": 24 * len(near) ** 2}, ("shorter windows",)).require(
            resources.memory
        )
        yield count, entries(kernel, near, quiet)
        tell(resources, (t + count - past) / (last - past))


def _check(X: Any, kernel: Any, past: int, future: int) -> tuple[Kernel, Samples]:
    for name, value in (("past", past), ("future", future)):
        Integer(2).check(name, value, "a scan")
    kernel, S = packed(X, kernel)
    if len(S) < past + future:
        raise DomainError(
            f"n_samples={len(S)} samples were given; {past} before a change and {future} after it are needed. Give "
            "more samples, or make the windows shorter."
        )
    return kernel.learn(S), S


def mmd_scan(
    X: Any,
    window: int,
    kernel: KernelLike = None,
    *,
    future: int | None = None,
    estimator: str = "unbiased",
    **limits: Unpack[Limits],
) -> ChangeScores:
    r"""Squared mean discrepancy between the samples just before and just after each moment.

    .. math:: s_t = \mathrm{MMD}^2 \big( \{x_{t-p}, \ldots, x_{t-1}\}, \{x_t, \ldots, x_{t+f-1}\} \big)

    Seed: [KIKS] Section 7 (the two-sample test), slid over time.

    Parameters
    ----------
    X : raw data or packed samples
        In the order of time. For a series that is more than its values, give `series_windows`.
    window : int
        p, at least 2.
    kernel : Kernel, str, function or None
        None is the Gaussian at the median distance.
    future : int, optional
        f; None is p.
    estimator : {"unbiased", "biased"}, default "unbiased"
        As in `mercer.inference.mmd`.
    memory, n_threads, monitor : optional
        See `mercer.inference.options.Limits`.

    Returns
    -------
    ChangeScores

    Notes
    -----
    Cost O(n (p + f)) kernel values: sums over windows come from sums over all earlier rows and columns. Memory
    O((p + f)^2).

    Examples
    --------
    >>> x = np.repeat([0.0, 1.0], 10)
    >>> mmd_scan(x, 5).peaks(1)
    array([10])
    """
    OneOf("unbiased", "biased").check("estimator", estimator, "mmd_scan")
    f, resources = window if future is None else future, resources_of(limits, "mmd_scan")
    kernel, S = _check(X, kernel, window, f)
    p, out = window, []
    for count, K in _neighbourhoods(kernel, S, p, f, resources):
        # discrepancies of a centred K are the same, and sums are of the size of differences
        means = K.mean(axis=1)
        K -= means
        K -= (means - means.mean())[:, None]
        sums = np.zeros((len(K) + 1, len(K) + 1))
        np.cumsum(K, axis=0, out=sums[1:, 1:])
        np.cumsum(sums, axis=1, out=sums)
        trace = np.append(0.0, np.cumsum(np.diagonal(K)))
        a = np.arange(count)
        b, c = a + p, a + p + f
        before = sums[b, b] - sums[a, b] - sums[b, a] + sums[a, a]
        after = sums[c, c] - sums[b, c] - sums[c, b] + sums[b, b]
        cross = sums[b, c] - sums[a, c] - sums[b, b] + sums[a, b]
        if estimator == "biased":
            out.append(np.maximum(before / p**2 + after / f**2 - 2.0 * cross / (p * f), 0.0))
        else:
            before, after = before - (trace[b] - trace[a]), after - (trace[c] - trace[b])
            out.append(before / (p * (p - 1)) + after / (f * (f - 1)) - 2.0 * cross / (p * f))
    return ChangeScores(np.arange(p, len(S) - f + 1), np.concatenate(out))


def change_point_test(
    X: Any,
    kernel: KernelLike = None,
    *,
    margin: int = 5,
    n_permutations: int = 500,
    random_state: Any = None,
    **limits: Unpack[Limits],
) -> ChangeTest:
    r"""Test whether independent samples change their law at one unknown time.

    .. math:: \max_t \; \frac{t (n - t)}{n} \, \mathrm{MMD}^2 \big( \{x_1, \ldots, x_t\}, \{x_{t+1}, \ldots, x_n\} \big)

    Without a change every order of the samples is as likely as every other, so that random orders give the null
    distribution, exactly.

    Seed: [KIKS] Section 7 (the two-sample test).

    Parameters
    ----------
    X : raw data or packed samples
        Independent of each other, in the order of time.
    kernel : Kernel, str, function or None
        None is the Gaussian at the median distance.
    margin : int, default 5
        Fewest samples before and after.
    n_permutations : int, default 500
    random_state : int, Generator, RandomState or None, default None
        None is 0.
    memory, n_threads, monitor : optional
        See `mercer.inference.options.Limits`.

    Returns
    -------
    ChangeTest

    Notes
    -----
    The biased discrepancy is used. Cost O(n^2) for each permutation, memory O(n^2).

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=60) + np.repeat([0.0, 3.0], [25, 35])
    >>> found = change_point_test(x, n_permutations=99)
    >>> found.time, found.p_value
    (25, 0.01)
    """
    Integer(1).check("margin", margin, "change_point_test")
    Integer(1).check("n_permutations", n_permutations, "change_point_test")
    rng, resources = generator(0 if random_state is None else random_state), resources_of(limits, "change_point_test")
    kernel, S = packed(X, kernel)
    n = len(S)
    if n < 2 * margin or n < 2:
        raise DomainError(f"n_samples={n} samples were given; {max(2 * margin, 2)} are needed. Give more samples.")
    require_matrices("change_point_test", n, 3, resources, ("fewer samples", "mmd_scan"))
    K = matrix(kernel.learn(S), S, part_of(resources, 0.0, 0.1))
    times = np.arange(margin, n - margin + 1)
    observed = _splits(K)[times - 1]
    best = float(observed.max())
    reached = 0
    for done in range(n_permutations):
        order = rng.permutation(n)
        reached += float(_splits(K[np.ix_(order, order)])[times - 1].max()) >= best * (1.0 - _TINY)
        tell(resources, 0.1 + 0.9 * (done + 1) / n_permutations)
    scores = ChangeScores(times, observed)
    return ChangeTest(best, (1.0 + reached) / (1.0 + n_permutations), int(times[np.argmax(observed)]), scores)


def _splits(K: Floats) -> Floats:
    """Return t (n - t) / n times the biased discrepancy after t = 1, ..., n - 1 samples, for a centred K."""
    n = len(K)
    inner = np.cumsum(2.0 * np.tril(K, -1).sum(axis=1) + np.diagonal(K))[:-1]  # sums over the first t
    t = np.arange(1, n)
    return n * inner / (t * (n - t))


def krylov_scan(
    X: Any,
    window: int,
    kernel: KernelLike = None,
    *,
    future: int | None = None,
    rank: int = 3,
    steps: int | None = None,
    **limits: Unpack[Limits],
) -> ChangeScores:
    r"""How far the leading direction of the samples after a moment is from the subspace of those before.

    .. math:: s_t = 1 - \sum_{i \le r} \langle \mu, u_i \rangle^2 \approx 1 - \sum_{i \le r} (e_1^\top y_i)^2

    u_i are the leading principal directions of the samples before, mu that of the samples after. The direct way needs
    the u_i. The Lanczos process of the samples before that starts from mu needs ``steps`` products, and the
    eigenvectors y_i of a tridiagonal matrix of that size.

    Seed: [KIKS] Section 3.3 and reference [14] (Ide and Tsuda).

    Parameters
    ----------
    X : raw data or packed samples
        In the order of time; for a series `series_windows`, whose matrix of rows is its trajectory matrix.
    window : int
        p, at least 2.
    kernel : Kernel, str, function or None
        None is `Linear`, as in singular spectrum analysis.
    future : int, optional
        f; None is p.
    rank : int, default 3
        r.
    steps : int, optional
        Steps of the Lanczos process; None is 2 r for even r, and 2 r - 1 for odd r. With p + 1, one more than there are
        samples before, the score is that of the direct way.
    memory, n_threads, monitor : optional
        See `mercer.inference.options.Limits`.

    Returns
    -------
    ChangeScores
        Between 0 and 1.

    Notes
    -----
    Feature space is left uncentred, as the trajectory matrix is. Cost O((p + f)^3) at each time for mu, small.

    Examples
    --------
    >>> t = np.arange(120)
    >>> x = np.sin(np.where(t < 60, 0.3, 0.9) * t)
    >>> scores = krylov_scan(series_windows(x, 12), 12, rank=2)
    >>> bool(abs(scores.peaks(1)[0] - 50) < 12)
    True
    """
    Integer(1).check("rank", rank, "krylov_scan")
    if steps is not None:
        Integer(1).check("steps", steps, "krylov_scan")
        if steps < rank:
            raise ParameterError(f"steps={steps} was given with rank={rank}; at least as many are needed. Raise steps.")
    f, resources = window if future is None else future, resources_of(limits, "krylov_scan")
    kernel, S = _check(X, Linear() if kernel is None else kernel, window, f)
    k = steps if steps is not None else 2 * rank if rank % 2 == 0 else 2 * rank - 1
    out: list[float] = []
    for count, K in _neighbourhoods(kernel, S, window, f, resources):
        K = K / power_of_two(K)  # scores do not depend on the unit of K; squares of its entries must be numbers
        for a in range(count):
            near = K[a : a + window + f, a : a + window + f]
            out.append(_krylov_score(near, window, rank, k))
    return ChangeScores(np.arange(window, len(S) - f + 1), np.array(out))


def _krylov_score(K: Floats, p: int, rank: int, steps: int) -> float:
    """Return the score from the Gram matrix of the samples before and after.

    mu = sum_j b_j Phi(z_j) has length one. C = sum_i Phi(x_i) Phi(x_i)^T maps it to sum_i g_i Phi(x_i), g = K_xz b, so
    the process of C from mu runs in coefficients of (x, mu), with the inner product of their Gram matrix G.
    """
    values, vectors = np.linalg.eigh(K[p:, p:])
    if not values[-1] > 0.0:
        return 0.0
    b = vectors[:, -1] / np.sqrt(values[-1])
    g = K[:p, p:] @ b
    G = np.empty((p + 1, p + 1))
    G[:p, :p], G[:p, p], G[p, :p], G[p, p] = K[:p, :p], g, g, 1.0
    alpha, beta = _lanczos(G, min(steps, p + 1))
    values, Y = eigh_tridiagonal(alpha, beta)
    first = Y[0, values > _TINY * values[-1]][::-1][:rank]  # where the samples before are not, there is no direction
    return float(min(max(1.0 - float(first @ first), 0.0), 1.0))


def _lanczos(G: Floats, steps: int) -> tuple[Floats, Floats]:
    """Return the tridiagonal matrix of the operator that takes c to (G c without its last entry, 0), from the last."""
    n = len(G)
    q = np.zeros(n)
    q[-1] = 1.0
    basis, images = [q], [G @ q]
    alpha, beta = [], []
    scale = float(np.trace(G[:-1, :-1]))
    for step in range(steps):
        v = np.append(images[-1][:-1], 0.0)
        alpha.append(float(v @ images[-1]))
        for _ in range(2):  # twice is enough
            for old, image in zip(basis, images, strict=True):
                v = v - float(v @ image) * old
        image = G @ v
        length = float(np.sqrt(max(float(v @ image), 0.0)))
        if step == steps - 1 or length <= 1e-10 * max(scale, np.finfo(float).tiny):
            break
        beta.append(length)
        basis.append(np.asarray(v / length, dtype=np.float64))
        images.append(np.asarray(image / length, dtype=np.float64))
    return np.array(alpha), np.array(beta)
