"""Statistics under random permutations: the null distribution that is exact at every sample size.

If two samples have the same law, which of the joined values are called X is a matter of chance; if two variables are
independent, so is which y is observed with which x. The statistic's rank among those of random permutations is
uniform then, up to ties. For mean discrepancies all permutations are one matrix product; for HSIC each is a sum over
gathered entries.
"""

from __future__ import annotations

import numpy as np

from mercer.arrays import Floats, Indices
from mercer.errors import CapabilityError
from mercer.inference.forms import DenseForm, FactorForm, Form
from mercer.inference.measures import hsic_values, mmd_values
from mercer.numerics.permutation_sums import joint_sums, permuted_sums, random_permutations
from mercer.numerics.tiling import run_tasks, spans

__all__ = ["permuted_dhsic", "permuted_hsic", "permuted_mmd", "random_labels"]

_NUMBERS = 2**20  # of indicators at once
_WORK = 100_000_000  # multiplications of a task: some 10 milliseconds


def random_labels(rng: np.random.Generator, count: int, m: int, n: int) -> Floats:
    """Draw indicators of m of n samples, (count, n).

    Examples
    --------
    >>> random_labels(np.random.default_rng(0), 4, 2, 5).sum(axis=1)
    array([2., 2., 2., 2.])
    """
    labels = np.broadcast_to((np.arange(n) < m).astype(float), (count, n))
    return rng.permuted(labels, axis=1)


def permuted_mmd(form: Form, m: int, count: int, rng: np.random.Generator, estimator: str = "unbiased") -> Floats:
    """Return squared mean discrepancies of random splits of the joined samples, (count,)."""
    parts = spans(count, max(1, _NUMBERS // form.n))
    draws = [mmd_values(form, random_labels(rng, p.stop - p.start, m, form.n), m, estimator) for p in parts]
    return np.concatenate(draws)


def permuted_hsic(first: Form, second: Form, count: int, rng: np.random.Generator, estimator: str = "biased") -> Floats:
    """Return independence criteria with the second variable permuted at random, (count,)."""
    permutations = random_permutations(rng, count, first.n)
    if isinstance(first, DenseForm) and isinstance(second, DenseForm):
        totals = permuted_sums(first.array, second.array, permutations)
    elif isinstance(first, FactorForm) and isinstance(second, FactorForm):
        totals = _factor_sums(first.factor, second.factor, permutations)
    else:
        raise CapabilityError(
            "Permutations were asked for on a Gram that is not stored; matrices in memory or factors are permuted. "
            "Use gram=Dense(), gram=Nystrom(200) or a rank, gram=200."
        )
    if estimator == "biased":
        return hsic_values(totals, first.diagonal(), second.diagonal(), estimator)
    diagonals = second.diagonal()[permutations]
    return hsic_values(totals, first.diagonal(), diagonals, estimator)


def _factor_sums(F: Floats, G: Floats, permutations: Indices) -> Floats:
    """Return the squared norm of F^T G[p] for each permutation."""
    out = np.empty(len(permutations))
    turned = np.ascontiguousarray(F.T)

    def work(group: slice) -> None:
        for b in range(group.start, group.stop):
            out[b] = np.sum((turned @ G[permutations[b]]) ** 2)

    run_tasks(spans(len(permutations), max(1, _WORK // max(1, F.size * G.shape[1]))), work)
    return out


def permuted_dhsic(K: Floats, count: int, rng: np.random.Generator) -> Floats:
    """Return joint criteria with every variable but the first permuted on its own, (count,); K is (d, n, n)."""
    d, n = K.shape[:2]
    permutations: Indices = np.empty((count, d, n), dtype=np.uint32)  # pyright: ignore[reportAssignmentType]
    permutations[:, 0] = np.arange(n)
    for k in range(1, d):
        permutations[:, k] = random_permutations(rng, count, n)
    means = K.mean(axis=2)
    middle = np.ones((count, n))
    for k in range(d):
        middle *= means[k][permutations[:, k]]
    return joint_sums(K, permutations) / n**2 + np.prod(means.mean(axis=1)) - 2.0 * middle.mean(axis=1)
