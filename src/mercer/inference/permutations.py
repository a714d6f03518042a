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
from mercer.inference.permutation_sums import permuted_sums, random_labels, random_permutations
from mercer.runtime.tiling import run_tasks, spans

__all__ = ["parts_of", "permuted_hsic", "permuted_mmd"]

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
