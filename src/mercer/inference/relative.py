r"""Relative tests: which of two samples, or of two variables, is nearer.

Symbols: h the influence of a sample on a statistic, its derivative in the weight of that sample; the statistic's
variance is the sum over independent samples of Var(h) / n in the limit. Statistics of both candidates share the data
that they are compared with, so that the variance is that of the difference, not the sum of both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np

from mercer.arrays import Floats
from mercer.errors import DomainError
from mercer.gram import GramSpec
from mercer.inference.entrywise import Entrywise
from mercer.inference.forms import Form, is_dense, packed, paired, represent
from mercer.inference.options import Limits, part_of, require_matrices, resources_of
from mercer.inference.result import Null, TestResult, concluded
from mercer.kernels.foreign import KernelLike

__all__ = ["relative_hsic_test", "relative_mmd_test"]
__public__ = __all__


def relative_mmd_test(
    X: Any,
    Y: Any,
    Z: Any,
    kernel: KernelLike = None,
    *,
    gram: GramSpec | int | None = None,
    **limits: Unpack[Limits],
) -> TestResult:
    r"""Relative two-sample test: whether Z is nearer to X than Y is.

    .. math:: t = \widehat{\|\mu_X - \mu_Y\|^2} - \widehat{\|\mu_X - \mu_Z\|^2}

    Seed: [KIKS] Section 7, two-sample tests.

    Parameters
    ----------
    X : raw data or packed samples
        The reference.
    Y, Z : raw data or packed samples
        Two candidates, for example draws from two models of X.
    kernel : Kernel, str, function or None
        None is the Gaussian at the median distance of all samples.
    gram : GramSpec or int, optional
        How K is held; any Gram works, since only products with three indicators are needed. None is `Dense`; a
        number is the rank of an incomplete Cholesky factor.
    memory, n_threads, monitor : optional
        See `Limits`.

    Returns
    -------
    TestResult
        The hypothesis is that Y is at least as near as Z; a small p-value says that Z is nearer.

    Notes
    -----
    Both discrepancies are unbiased; their difference is normal in the limit, unless both candidates have exactly the
    distribution of X. Exchanging Y and Z turns p into 1 - p. Cost O(N^2).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, Y, Z = rng.normal(size=(200, 1)), rng.normal(1.0, size=(200, 1)), rng.normal(0.3, size=(200, 1))
    >>> relative_mmd_test(X, Y, Z).p_value < 0.01
    True
    """
    resources = resources_of(limits, "relative_mmd_test")
    kernel, A = packed(X, kernel)
    parts = [A, *(packed(other, kernel)[1] for other in (Y, Z))]
    sizes = [len(part) for part in parts]
    if min(sizes) < 2:
        raise DomainError(f"The samples have {sizes} members; at least 2 are needed. Give more samples.")
    S = A.concat(parts[1]).concat(parts[2])
    kernel = kernel.learn(S)
    form = represent(kernel, S, gram, resources)
    (near_y, own_y, to_y), (near_z, own_z, to_z) = _gaps(form, sizes)
    influences = (own_y - own_z, to_y, to_z)
    variance = sum(float(np.var(h, ddof=1)) / len(h) for h in influences)
    return concluded(near_y - near_z, Null("normal", 0.0, math.sqrt(variance)), (kernel,))


def _gaps(form: Form, sizes: Sequence[int]) -> list[tuple[float, Floats, Floats]]:
    """Return the unbiased squared discrepancies of the first sample from each other one, and influences of both."""
    ends = np.cumsum(sizes)
    parts = [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]
    sums = form.times(np.repeat(np.eye(len(sizes)), sizes, axis=0))  # of the entries of each row, over each sample
    diagonal = form.diagonal()
    own = [(sums[p, k] - diagonal[p]) / (sizes[k] - 1) for k, p in enumerate(parts)]
    found = []
    for k in range(1, len(sizes)):
        there, back = sums[parts[0], k] / sizes[k], sums[parts[k], 0] / sizes[0]
        value = float(own[0].mean() + own[k].mean() - 2.0 * there.mean())
        found.append((value, 2.0 * (own[0] - there), 2.0 * (own[k] - back)))
    return found


def mmd_deviation(form: Form, m: int) -> tuple[float, float]:
    """Return the unbiased squared discrepancy of the first m samples from the others and its standard deviation."""
    value, first, second = _gaps(form, (m, form.n - m))[0]
    return value, math.sqrt(float(np.var(first)) / len(first) + float(np.var(second)) / len(second))


def hsic_deviation(sums: Floats) -> tuple[float, float]:
    """Return the biased criterion and its standard deviation, of the sums of the rows of K~ o L~.

    The influence of a sample is twice the mean of its row of K~ o L~, less the criterion; what its weight changes of
    the centring has mean zero.
    """
    means = sums / len(sums)
    return float(means.mean()), 2.0 * float(np.std(means)) / math.sqrt(len(means))


def relative_hsic_test(
    X: Any,
    Y: Any,
    Z: Any,
    kernels: Sequence[KernelLike] | None = None,
    *,
    gram: GramSpec | int | None = None,
    **limits: Unpack[Limits],
) -> TestResult:
    r"""Relative dependence test: whether X depends more on Y than on Z.

    .. math:: t = \mathrm{HSIC}(X, Y) - \mathrm{HSIC}(X, Z)

    Seed: [HSS] Section 3.3.3; [KIKS] Section 7.

    Parameters
    ----------
    X, Y, Z : raw data or packed samples
        n values of three variables, observed together.
    kernels : three of Kernel, str, function or None, optional
        Kernels of Y and Z should be alike, for their criteria to be comparable.
    gram : GramSpec or int, optional
        As in `hsic`.
    memory, n_threads, monitor : optional
        See `Limits`.

    Returns
    -------
    TestResult
        The hypothesis is that X depends on Z at least as much; a small p-value says that it depends more on Y.

    Notes
    -----
    Criteria are biased; the difference is normal in the limit unless X depends on neither. Cost O(n^2).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=300)
    >>> y, z = x + 0.3 * rng.normal(size=300), x + 2.0 * rng.normal(size=300)
    >>> relative_hsic_test(x, y, z).p_value < 0.001
    True
    """
    resources = resources_of(limits, "relative_hsic_test")
    learned, parts = paired((X, Y, Z), kernels)
    if is_dense(gram):
        require_matrices("relative_hsic_test", len(parts[0]), 3, resources)
    x, y, z = (
        represent(k, S, gram, part_of(resources, i / 3, (i + 1) / 3))
        for i, (k, S) in enumerate(zip(learned, parts, strict=True))
    )
    value, deviation = hsic_deviation(Entrywise(x, y).sums() - Entrywise(x, z).sums())
    return concluded(value, Null("normal", 0.0, deviation), learned)
