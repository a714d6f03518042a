r"""Kernels that see a difference: chosen on part of the samples, or many at once with one exact level.

Symbols: t a statistic, sigma its standard deviation where the hypothesis is false; power grows with t / sigma, since
for many samples the test rejects if t exceeds a threshold that falls as 1 / n while sigma falls as 1 / sqrt(n).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Unpack

import numpy as np

from mercer.arrays import Floats
from mercer.constraints import Integer, Interval, OneOf
from mercer.errors import DomainError, ParameterError
from mercer.gram import GramSpec
from mercer.inference.dependence_measures import hsic_of, mmd_values
from mercer.inference.entrywise import Entrywise, trace_of
from mercer.inference.forms import packed, pair, paired, pooled, represent
from mercer.inference.options import Limits, limits_of, part_of, resources_of, tell
from mercer.inference.permutations import permuted_hsic, permuted_mmd
from mercer.inference.relative import hsic_deviation, mmd_deviation
from mercer.inference.result import Null, TestResult, found_by
from mercer.inference.tests import generator, hsic_test, mmd_test
from mercer.kernels import Gaussian
from mercer.kernels.foreign import KernelLike
from mercer.notebooks import array, table

__all__ = ["AggregatedResult", "aggregated_test", "held_out_test", "hsic_power", "mmd_power"]
__public__ = __all__

_FACTORS = 2.0 ** np.arange(-3.0, 4.0)  # of the median distance
_STATISTIC = OneOf("mmd", "hsic")


def _ratio(value: float, deviation: float, second: float) -> float:
    """Return t over the root of its variance, of first and of second order; a kernel that sees nothing has none."""
    variance = deviation**2 + second
    return value / math.sqrt(variance) if variance > 0.0 else 0.0


def mmd_power(
    X: Any,
    Y: Any,
    kernel: KernelLike = None,
    *,
    gram: GramSpec | int | None = None,
    **limits: Unpack[Limits],
) -> float:
    r"""Return how many standard deviations the squared mean discrepancy is from zero: the larger, the more power.

    .. math:: \widehat{\| \mu_X - \mu_Y \|^2} \big/ \hat\sigma

    The variance has two parts: that of the influence of each sample, and that which is left where both samples are
    alike; without the second a kernel too narrow to see anything looks strong.

    Seed: [KIKS] Section 7, the two-sample test.

    Parameters
    ----------
    X, Y, kernel, gram, memory, n_threads, monitor
        As in `mmd`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(100, 1)), rng.normal(0.5, size=(100, 1))
    >>> mmd_power(X, Y, Gaussian(1.0)) > mmd_power(X, Y, Gaussian(0.01))
    True
    """
    resources = resources_of(limits, "mmd_power")
    kernel, S, m = pooled(X, Y, kernel)
    form = represent(kernel, S, gram, resources)
    return _ratio(*mmd_deviation(form, m), second_order(trace_of(form, form), m, form.n))


def second_order(squares: float, m: int, N: int) -> float:
    """Return the variance of the discrepancy if both samples are alike, where the influence of each sample vanishes.

    `squares` is the sum of squared entries of K~.
    """
    return 2.0 * (1.0 / m + 1.0 / (N - m)) ** 2 * squares / N**2


def hsic_power(
    X: Any,
    Y: Any,
    kernels: Sequence[KernelLike] | None = None,
    *,
    gram: GramSpec | int | None = None,
    **limits: Unpack[Limits],
) -> float:
    r"""Return how many standard deviations the independence criterion is from its mean under independence.

    Seed: [HSS] Section 3.3.3.

    Parameters
    ----------
    X, Y, kernels, gram, memory, n_threads, monitor
        As in `hsic`.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=100)
    >>> hsic_power(x, x) > hsic_power(x, x[::-1])
    True
    """
    resources = resources_of(limits, "hsic_power")
    learned, parts = paired((X, Y), kernels)
    first, second = pair(learned, parts, gram, resources, "hsic_power")
    n = first.n
    value, deviation = hsic_deviation(Entrywise(first, second).sums())
    value -= float(first.diagonal().sum() * second.diagonal().sum()) / ((n - 1) * n**2)  # its mean over permutations
    return _ratio(value, deviation, 2.0 * trace_of(first, first) * trace_of(second, second) / n**6)


# choice on held-out samples -------------------------------------------------------------------------------


def _given(kernels: Any, statistic: str) -> list[Any] | None:
    """Return the kernels to choose from, or pairs of them, as they were given."""
    if kernels is None:
        return None
    found = list(kernels) if isinstance(kernels, Sequence) and not isinstance(kernels, str) else []
    pairs = [isinstance(one, Sequence) and not isinstance(one, str) and len(one) == 2 for one in found]
    if not found or (not all(pairs) if statistic == "hsic" else any(pairs)):
        raise ParameterError(
            f"kernels={kernels!r} was given; a sequence of kernels to choose from is accepted, and of pairs of kernels "
            "with statistic='hsic'. Write kernels=[Gaussian(0.5), Gaussian(2.0)], or leave it out."
        )
    return found


def _candidates(X: Any, Y: Any, given: list[Any] | None, statistic: str) -> list[Any]:
    """Return the kernels to choose from, or pairs of them; by default Gaussians around the median distance."""
    if given is not None:
        return given
    if statistic == "mmd":
        median, _, _ = pooled(X, Y, None)
        return [Gaussian(float(factor * median.length_scale)) for factor in _FACTORS]  # pyright: ignore
    (first, second), _ = paired((X, Y), None)
    return [
        (Gaussian(float(f * first.length_scale)), Gaussian(float(f * second.length_scale)))  # pyright: ignore
        for f in _FACTORS
    ]


def held_out_test(
    X: Any,
    Y: Any,
    kernels: Sequence[Any] | None = None,
    n_permutations: int = 1000,
    random_state: Any = None,
    *,
    statistic: str = "mmd",
    share: float = 0.5,
    gram: GramSpec | int | None = None,
    **limits: Unpack[Limits],
) -> TestResult:
    r"""Test with the kernel that promises most power on other samples: choose on some, test on the rest.

    Seed: [KIKS] Section 7.

    Parameters
    ----------
    X, Y : raw data or packed samples
        Two samples for "mmd", two variables observed together for "hsic".
    kernels : sequence of Kernel (pairs of them for "hsic"), optional
        None are Gaussians of 1/8, 1/4, ..., 8 times the median distance.
    n_permutations : int, default 1000
    random_state : int, Generator or None
        Of the split and of the permutations.
    statistic : {"mmd", "hsic"}, default "mmd"
    share : float, default 0.5
        Part of the samples that the kernel is chosen on.
    gram : GramSpec or int, optional
        How matrices are held, as in `mmd_test` and `hsic_test`, for both the choice and the test.
    memory, n_threads, monitor : optional
        See `Limits`.

    Returns
    -------
    TestResult
        Of the samples held out, by permutations: the level is exact, as the choice has not seen them.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(200, 1)), rng.normal(size=(200, 1)) + 0.3 * rng.choice([-1, 1], size=(200, 1))
    >>> held_out_test(X, Y, random_state=0).kernels[0].length_scale > 0.0
    True
    """
    _STATISTIC.check("statistic", statistic, "held_out_test")
    Interval(0.0, 1.0, closed="neither").check("share", share, "held_out_test")
    rng, resources = generator(random_state), resources_of(limits, "held_out_test")
    given = _given(kernels, statistic)
    some = (None, None) if given is None else given[0] if statistic == "hsic" else (given[0], given[0])
    A, B = packed(X, some[0])[1], packed(Y, some[1])[1]
    if statistic == "hsic" and len(A) != len(B):
        paired((A, B), some)  # raises
    parts = []
    order = rng.permutation(len(A))
    for S in (A, B):
        order = rng.permutation(len(S)) if statistic == "mmd" else order
        cut = round(share * len(S))
        if min(cut, len(S) - cut) < 4:
            raise DomainError(
                f"{len(S)} samples were given and share={share} of them are set aside; at least 4 are needed on each "
                "side. Give more samples, or use aggregated_test."
            )
        parts.append((S.take(order[:cut]), S.take(order[cut:])))
    (chosen_x, held_x), (chosen_y, held_y) = parts
    candidates = _candidates(chosen_x, chosen_y, given, statistic)
    criterion = mmd_power if statistic == "mmd" else hsic_power
    scores = []
    for done, candidate in enumerate(candidates, 1):
        quiet = limits_of(replace(resources, monitor=None))
        scores.append(criterion(chosen_x, chosen_y, candidate, gram=gram, **quiet))
        tell(resources, 0.2 * done / len(candidates))
    best = candidates[int(np.argmax(scores))]
    run = mmd_test if statistic == "mmd" else hsic_test
    return run(held_x, held_y, best, n_permutations, rng, gram=gram, **limits_of(part_of(resources, 0.2, 1.0)))


# many kernels at once ---------------------------------------------------------------------------------------


class AggregatedResult(NamedTuple):
    """What a test with several kernels found.

    Attributes
    ----------
    statistic : float
        Minus the logarithm of the least of ``p_values``.
    p_value : float
        Of the statistic: adjusted for having looked at several kernels.
    null : Null
        The distribution of the statistic.
    kernels : tuple
        All that were used, learned.
    p_values : (k,) array
        Of single kernels, not adjusted.
    """

    statistic: float
    p_value: float
    null: Null
    kernels: tuple[Any, ...]
    p_values: Floats

    def _repr_html_(self) -> str:
        return table("Test with several kernels", found_by(self))

    def _repr_latex_(self) -> str:
        return array("Test with several kernels", found_by(self))


def aggregated_test(
    X: Any,
    Y: Any,
    kernels: Sequence[Any] | None = None,
    n_permutations: int = 1000,
    random_state: Any = None,
    *,
    statistic: str = "mmd",
    gram: GramSpec | int | None = None,
    **limits: Unpack[Limits],
) -> AggregatedResult:
    r"""Test with several kernels at once, at one exact level: it rejects if one of them sees enough.

    .. math:: T = -\log \min_k p_k, \qquad p = \frac{1 + \#\{b : T_b \ge T\}}{1 + B}

    Seed: [KIKS] Section 7.

    Parameters
    ----------
    X, Y, kernels, n_permutations, random_state, statistic, gram, memory, n_threads, monitor
        As in `held_out_test`; here every sample is used for the test.

    Returns
    -------
    AggregatedResult

    Notes
    -----
    The same permutations serve all kernels. Each statistic is replaced by its rank among the B + 1 of its kernel, the
    observed one included, and the least rank is compared with those that the permutations have: these B + 1 are
    exchangeable, whatever the kernels have in common, so that no correction for their number is needed.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(80, 1)), rng.normal(0.8, size=(80, 1))
    >>> result = aggregated_test(X, Y, random_state=0)
    >>> result.p_value < 0.05, len(result.p_values)
    (True, 7)
    """
    _STATISTIC.check("statistic", statistic, "aggregated_test")
    Integer(1).check("n_permutations", n_permutations, "aggregated_test")
    seed, resources = int(generator(random_state).integers(2**63)), resources_of(limits, "aggregated_test")
    values, learned = [], []
    candidates = _candidates(X, Y, _given(kernels, statistic), statistic)
    for done, candidate in enumerate(candidates):
        rng = np.random.default_rng(seed)  # the same permutations for each kernel
        share = part_of(resources, done / len(candidates), (done + 1) / len(candidates))
        early, late = part_of(share, 0.0, 0.1), part_of(share, 0.1, 1.0)
        if statistic == "mmd":
            kernel, S, m = pooled(X, Y, candidate)
            form = represent(kernel, S, gram, early)
            own = mmd_values(form, (np.arange(form.n) < m).astype(float)[None], m, "unbiased")
            draws = permuted_mmd(form, m, n_permutations, rng, "unbiased", late)
        else:
            kernel, parts = paired((X, Y), candidate)
            first, second = pair(kernel, parts, gram, early, "aggregated_test")
            own = np.array([hsic_of(first, second, "unbiased")])
            draws = permuted_hsic(first, second, n_permutations, rng, "unbiased", late)
        values.append(np.concatenate([own, draws]))
        learned.append(kernel)
    ranks = np.array([_upper_ranks(column) for column in values])
    least = ranks.min(axis=0)
    count = n_permutations + 1
    own, *draws = -np.log(least / count)
    null = Null.of_draws("permutation", np.array(draws))
    return AggregatedResult(float(own), null.p_value(float(own)), null, tuple(learned), ranks[:, 0] / count)


def _upper_ranks(values: Floats) -> Floats:
    """Return how many values are at least as large as each, up to rounding."""
    tie = 1e-9 * max(float(np.std(values)), 1e-300)
    ordered = np.sort(values)
    return len(values) - np.searchsorted(ordered, values - tie, side="left").astype(float)
