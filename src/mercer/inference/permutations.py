"""Statistics under random permutations: the null distribution that is exact at every sample size.

If two samples have the same law, which of the joined values are called X is a matter of chance; if two variables are
independent, so is which y is observed with which x. The statistic's rank among those of random permutations is
uniform then, up to ties. For mean discrepancies all permutations are one matrix product; for HSIC each is a sum over
gathered entries, which are computed anew for each where no matrix is stored.
"""

from __future__ import annotations

import numpy as np

from mercer.arrays import Floats, Indices
from mercer.budget import UNLIMITED, Resources
from mercer.inference.dependence_measures import hsic_values, mmd_values
from mercer.inference.forms import DenseForm, FactorForm, Form
from mercer.inference.options import part_of, tell
from mercer.runtime.compiled import compiled
from mercer.runtime.tiling import Monitor, run_tasks, spans

__all__ = [
    "joint_sums",
    "parts_of",
    "permuted_hsic",
    "permuted_mmd",
    "permuted_sums",
    "random_labels",
    "random_permutations",
]

_NUMBERS = 2**22  # of indicators or of permuted places at once
_ROWS = 256  # of two Grams that are read side by side
_WORK = 100_000_000  # multiplications of a task: some 10 milliseconds


def parts_of(count: int, n: int) -> list[slice]:
    """Split the permutations into parts that are held at once."""
    return spans(count, max(1, _NUMBERS // n))


def permuted_mmd(
    form: Form,
    m: int,
    count: int,
    rng: np.random.Generator,
    estimator: str = "unbiased",
    resources: Resources = UNLIMITED,
) -> Floats:
    """Return squared mean discrepancies of random splits of the joined samples, (count,)."""
    draws = np.empty(count)
    for part in parts_of(count, form.n):
        draws[part] = mmd_values(form, random_labels(rng, part.stop - part.start, m, form.n), m, estimator)
        tell(resources, part.stop / count)
    return draws


def permuted_hsic(
    first: Form,
    second: Form,
    count: int,
    rng: np.random.Generator,
    estimator: str = "biased",
    resources: Resources = UNLIMITED,
) -> Floats:
    """Return independence criteria with the second variable permuted at random, (count,)."""
    draws = np.empty(count)
    own, other = first.diagonal(), second.diagonal()
    for part in parts_of(count, first.n):
        permutations = random_permutations(rng, part.stop - part.start, first.n)
        totals = _sums(first, second, permutations, part_of(resources, part.start / count, part.stop / count))
        diagonals = other if estimator == "biased" else other[permutations]
        draws[part] = hsic_values(totals, own, diagonals, estimator)
    return draws


def _sums(first: Form, second: Form, permutations: Indices, resources: Resources) -> Floats:
    """Return the trace of K~ times permuted L~ for each permutation."""
    if isinstance(first, DenseForm) and isinstance(second, DenseForm):
        return permuted_sums(first.array, second.array, permutations, resources.n_threads, resources.monitor)
    if isinstance(first, FactorForm) and isinstance(second, FactorForm):
        return _factor_sums(first.factor, second.factor, permutations, resources)
    out = np.zeros(len(permutations))
    for part in spans(first.n, _ROWS):
        own = first.rows(part)  # once for all permutations; the others differ for each of them
        for b, p in enumerate(permutations):
            out[b] += np.vdot(own, second.rows(p[part], p))
            tell(resources, (part.start + (part.stop - part.start) * (b + 1) / len(permutations)) / first.n)
    return out


def _factor_sums(F: Floats, G: Floats, permutations: Indices, resources: Resources) -> Floats:
    """Return the squared norm of F^T G[p] for each permutation."""
    out = np.empty(len(permutations))
    turned = np.ascontiguousarray(F.T)

    def work(group: slice) -> None:
        for b in range(group.start, group.stop):
            out[b] = np.sum((turned @ G[permutations[b]]) ** 2)

    groups = spans(len(permutations), max(1, _WORK // max(1, F.size * G.shape[1])))
    run_tasks(groups, work, n_threads=resources.n_threads, monitor=resources.monitor)
    return out


_GATHERED = 20_000_000  # gathered entries of a task: some 20 milliseconds
_GROUP = 25  # permutations that share a row of L


def random_permutations(rng: np.random.Generator, count: int, n: int) -> Indices:
    """Draw permutations of 0, ..., n - 1, (count, n), of unsigned integers as short as possible.

    Examples
    --------
    >>> random_permutations(np.random.default_rng(0), 2, 3).shape
    (2, 3)
    """
    kind = np.uint16 if n <= 2**16 else np.uint32  # half the bytes to read are a third of the time
    return rng.permuted(np.broadcast_to(np.arange(n, dtype=kind), (count, n)), axis=1)


def random_labels(rng: np.random.Generator, count: int, m: int, n: int) -> Floats:
    """Draw indicators of m of n samples, (count, n).

    Examples
    --------
    >>> random_labels(np.random.default_rng(0), 4, 2, 5).sum(axis=1)
    array([2., 2., 2., 2.])
    """
    few = min(m, n - m)
    mark = float(few == m)
    labels = np.full((count, n), 1.0 - mark)
    _choose(rng.random((count, few)), labels, mark)
    return labels


def permuted_sums(
    K: Floats, L: Floats, permutations: Indices, n_threads: int | None = None, monitor: Monitor | None = None
) -> Floats:
    """Sum over i, j of K[i, j] L[p[i], p[j]] for each permutation p.

    Parameters
    ----------
    K, L : (n, n) arrays of float64
        Symmetric, C-contiguous.
    permutations : (count, n) array of unsigned integers
    n_threads : int, optional
        None uses every core; the numbers do not depend on it.
    monitor : callable, optional
        Called with the fraction done.

    Returns
    -------
    sums : (count,) array

    Examples
    --------
    >>> K = np.array([[1.0, 2.0], [2.0, 3.0]])
    >>> permuted_sums(K, K, np.array([[0, 1], [1, 0]], dtype=np.uint16))
    array([18., 14.])
    """
    out = np.empty(len(permutations))
    groups = spans(len(permutations), min(_GROUP, max(1, _GATHERED // max(1, len(K) ** 2 // 2))))
    run_tasks(groups, lambda g: _pair_sums(K, L, permutations[g], out[g]), n_threads=n_threads, monitor=monitor)
    return out


def joint_sums(
    K: Floats, permutations: Indices, n_threads: int | None = None, monitor: Monitor | None = None
) -> Floats:
    """Sum over i, j of the product over k of K[k][p_k[i], p_k[j]] for each set of permutations.

    Parameters
    ----------
    K : (d, n, n) array of float64
        d symmetric matrices.
    permutations : (count, d, n) array of unsigned integers
    n_threads, monitor : optional
        As in `permuted_sums`.

    Returns
    -------
    sums : (count,) array

    Examples
    --------
    >>> K = np.array([[[1.0, 2.0], [2.0, 3.0]]] * 3)
    >>> joint_sums(K, np.array([[[0, 1]] * 3], dtype=np.uint16))
    array([44.])
    """
    out = np.empty(len(permutations))
    d, n = K.shape[:2]
    groups = spans(len(permutations), max(1, _GATHERED // max(1, d * n * n // 2)))
    run_tasks(groups, lambda g: _product_sums(K, permutations[g], out[g]), n_threads=n_threads, monitor=monitor)
    return out


# Four sums side by side hide the latency of additions; gathers as vectors, which a compiler left free makes of this,
# are slower than single loads. Unsigned indices need no check for counting from the end.
@compiled
def _pair_sums(K: Floats, L: Floats, permutations: Indices, out: Floats) -> None:
    out[:] = 0.0
    places = np.empty_like(permutations)
    for b in range(permutations.shape[0]):
        for i in range(K.shape[0]):
            places[b, np.intp(permutations[b, i])] = i
    for u in range(K.shape[0]):
        other = L[u]
        for b in range(permutations.shape[0]):
            i = np.intp(places[b, u])
            row, p = K[i, i + 1 :], permutations[b, i + 1 :]
            s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
            whole = len(row) - len(row) % 4
            for j in range(0, whole, 4):
                s0 += row[j] * other[p[j]]
                s1 += row[j + 1] * other[p[j + 1]]
                s2 += row[j + 2] * other[p[j + 2]]
                s3 += row[j + 3] * other[p[j + 3]]
            for j in range(whole, len(row)):
                s0 += row[j] * other[p[j]]
            out[b] += K[i, i] * other[u] + 2.0 * ((s0 + s1) + (s2 + s3))


# A sum of n^2 terms may be taken in any order.
@compiled(fastmath=("contract", "reassoc"))
def _product_sums(K: Floats, permutations: Indices, out: Floats) -> None:
    d, n = K.shape[0], K.shape[1]
    products = np.empty(n)
    for b in range(permutations.shape[0]):
        beside, along = 0.0, 0.0
        for i in range(n):
            for j in range(i, n):
                products[j] = 1.0
            for k in range(d):
                p = permutations[b, k]
                row = K[k, np.intp(p[i])]
                for j in range(i, n):
                    products[j] *= row[p[j]]
            along += products[i]
            for j in range(i + 1, n):
                beside += products[j]
        out[b] = along + 2.0 * beside


# The first few of a shuffle that ends there; it may begin with any order, such as the one that the row before left.
@compiled
def _choose(numbers: Floats, labels: Floats, mark: float) -> None:
    n = labels.shape[1]
    order = np.arange(n)
    for b in range(labels.shape[0]):
        for i in range(numbers.shape[1]):
            j = i + np.intp(numbers[b, i] * (n - i))
            chosen = order[j]
            order[j] = order[i]
            order[i] = chosen
            labels[b, chosen] = mark
