"""Tests of two samples and of independence, with p-values.

Symbols: m and n sizes of two samples; n values of variables that were observed together; B draws of the null.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np

from mercer.budget import Resources
from mercer.constraints import AnyOf, InstanceOf, Integer, OneOf, Optional
from mercer.errors import ParameterError
from mercer.gram import GramSpec
from mercer.inference.blocks import BLOCKS, block_null, block_size_of, check_blocks, hsic_blocks, mmd_blocks
from mercer.inference.dependence_measures import ESTIMATORS, hsic_of, mmd_values
from mercer.inference.entrywise import Entrywise, trace_of
from mercer.inference.forms import Form, is_dense, pair, paired, pooled, represent
from mercer.inference.nulls import (
    WildBootstrap,
    eigenvalues_of,
    hsic_gamma,
    largest_products,
    mmd_gamma,
    spectral_draws,
    waves_of,
    wild_draws,
    wild_weights,
)
from mercer.inference.options import Limits, part_of, require_matrices, resources_of, tell
from mercer.inference.permutations import permuted_hsic, permuted_mmd
from mercer.inference.result import Null, TestResult, concluded
from mercer.kernels.foreign import KernelLike
from mercer.runtime.tiling import spans

__all__ = ["generator", "hsic_test", "mmd_test"]
__public__ = ["hsic_test", "mmd_test"]

NULLS = ("permutation", "gamma", "spectral", "wild")
_NULL = Optional(AnyOf(OneOf(*NULLS), InstanceOf(WildBootstrap)))
_COUNT = Integer(1)
_NUMBERS = 2**20
_GRAM = 0.1  # of the progress: Gram matrices


def generator(random_state: Any) -> np.random.Generator:
    """Return the random generator for a seed, a Generator or None.

    Examples
    --------
    >>> generator(0).random() == generator(0).random()
    True
    """
    if isinstance(random_state, np.random.RandomState):
        random_state = random_state.randint(2**31)
    if isinstance(random_state, bool) or not (
        random_state is None
        or isinstance(random_state, np.random.Generator)
        or (isinstance(random_state, (int, np.integer)) and random_state >= 0)
    ):
        raise ParameterError(
            f"random_state={random_state!r} was given; None, a whole number that is not negative, or a Generator is "
            "accepted. Write random_state=0."
        )
    return np.random.default_rng(random_state)


def _settled(null: Any, estimator: str | None, name: str) -> tuple[Any, str]:
    """Return the null and the estimator, each inferred from the other if it was left out."""
    _NULL.check("null", null, name)
    Optional(OneOf(*ESTIMATORS)).check("estimator", estimator, name)
    if null == "wild":
        null = WildBootstrap()
    if isinstance(null, WildBootstrap):
        null.check()
    if estimator in BLOCKS:
        if null is not None:
            raise ParameterError(
                f"null={null!r} was given with estimator={estimator!r}, whose blocks give its normal null themselves. "
                "Leave null out, or use estimator='biased'."
            )
        return None, estimator
    null = null or "permutation"
    if null != "permutation" and estimator == "unbiased":
        raise ParameterError(
            f"null={null!r} was given with estimator='unbiased'; it is the distribution of the biased statistic. Use "
            "estimator='biased', or null='permutation'."
        )
    if estimator is None:
        estimator = "unbiased" if null == "permutation" else "biased"
    return null, estimator


def mmd_test(
    X: Any,
    Y: Any,
    kernel: KernelLike = None,
    n_permutations: int = 1000,
    random_state: Any = None,
    *,
    null: str | WildBootstrap | None = None,
    estimator: str | None = None,
    block_size: int | None = None,
    gram: GramSpec | int | None = None,
    **limits: Unpack[Limits],
) -> TestResult:
    r"""Two-sample test: whether X and Y come from the same distribution.

    .. math:: t = \widehat{\| \mu_X - \mu_Y \|^2}, \qquad p = \frac{1 + \#\{t_b \ge t\}}{1 + B}

    Seed: [KIKS] Section 7.

    Parameters
    ----------
    X, Y : raw data or packed samples
        m and n samples of the same domain.
    kernel : Kernel, str, function or None
        None is the Gaussian at the median distance of all samples. What a kernel learns, it learns from both samples
        joined, so that permutations stay exact.
    n_permutations : int, default 1000
        B, also of draws by "spectral" and "wild".
    random_state : int, Generator or None
    null : {"permutation", "gamma", "spectral", "wild"} or WildBootstrap, optional
        "permutation", the default, is exact for independent samples of any size. "gamma" fits two moments, which are
        those of all permutations, and "spectral" is the limit for many samples: both of "biased". "wild" is for
        samples that follow one another in time: it finds over how many steps they depend, and refuses series that are
        too short for that; see `WildBootstrap`.
    estimator : {"unbiased", "biased", "block", "linear"}, optional
        As in `mmd`. None is "unbiased" for permutations and "biased" for other nulls. "block" and "linear" have normal
        nulls of their own, and time that grows with n alone.
    block_size : int, optional
        Of "block", as in `mmd`: larger ones have more power, and at least some ten blocks are needed for the null to be
        normal.
    gram : GramSpec or int, optional
        How K is held; any Gram works. None is `Dense`; a number is the rank of an incomplete Cholesky factor.
    memory, n_threads, monitor : optional
        See `Limits`.

    Returns
    -------
    TestResult
        ``statistic``, ``p_value``, ``null``, ``kernels``.

    Notes
    -----
    All permutations together are matrix products with indicators: (m + n)^2 B multiplications, at the speed of BLAS.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(60, 2)), rng.normal(1.0, 1.0, size=(50, 2))
    >>> mmd_test(X, Y, random_state=0).p_value
    0.000999000999000999
    >>> from mercer.kernels import Spectrum
    >>> mmd_test(["ab", "abab", "ba"] * 5, ["aab", "ba", "baab"] * 5, Spectrum(2), random_state=0).p_value < 0.05
    True
    """
    null, estimator = _settled(null, estimator, "mmd_test")
    check_blocks(estimator, block_size, gram)
    _COUNT.check("n_permutations", n_permutations, "mmd_test")
    rng, resources = generator(random_state), resources_of(limits, "mmd_test")
    kernel, S, m = pooled(X, Y, kernel)
    if estimator in BLOCKS:
        b = block_size_of(estimator, block_size, min(m, len(S) - m), 2)
        value, distribution = block_null(mmd_blocks(kernel, S[:m], S[m:], b, resources))
        return concluded(value, distribution, (kernel,))
    if null == "spectral" and is_dense(gram):
        require_matrices("mmd_test with null='spectral'", len(S), 2, resources)
    form = represent(kernel, S, gram, part_of(resources, 0.0, _GRAM))
    labels = (np.arange(form.n) < m).astype(float)[None]
    value = float(mmd_values(form, labels, m, estimator)[0])
    if null == "permutation":
        draws = permuted_mmd(form, m, n_permutations, rng, estimator, part_of(resources, _GRAM, 1.0))
        return concluded(value, Null.of_draws("permutation", draws), (kernel,))
    return concluded(value, _mmd_null(form, m, null, n_permutations, rng, part_of(resources, _GRAM, 1.0)), (kernel,))


def _mmd_null(form: Form, m: int, null: Any, count: int, rng: np.random.Generator, resources: Resources) -> Null:
    n = form.n - m
    if null == "gamma":
        if form.n < 4:
            raise _few(form.n)
        return mmd_gamma(form, m, trace_of(form, form))
    if null == "spectral":
        draws = spectral_draws(eigenvalues_of(form), count, rng, resources)
        return Null.of_draws("spectral", (1.0 / m + 1.0 / n) * draws)
    draws, waves = np.empty(count), waves_of(null, form, (m, n))
    for part in spans(count, max(1, _NUMBERS // form.n)):
        Z = np.hstack(wild_weights(rng, part.stop - part.start, (m, n), waves))
        Z /= np.repeat([m, -n], [m, n])
        draws[part] = form.forms(Z)
        tell(resources, part.stop / count)
    return Null.of_draws("wild bootstrap", draws)


def _few(n: int) -> ParameterError:
    return ParameterError(
        f"null='gamma' was given for {n} samples; its moments need at least 4. Give more samples, or use "
        "null='permutation'."
    )


def hsic_test(
    X: Any,
    Y: Any,
    kernels: Sequence[KernelLike] | None = None,
    n_permutations: int = 1000,
    random_state: Any = None,
    *,
    null: str | WildBootstrap | None = None,
    estimator: str | None = None,
    block_size: int | None = None,
    gram: GramSpec | int | None = None,
    **limits: Unpack[Limits],
) -> TestResult:
    r"""Independence test: whether Y says anything about X.

    .. math:: t = \operatorname{tr}(\tilde K \tilde L) / n^2, \qquad p = \frac{1 + \#\{t_b \ge t\}}{1 + B}

    Seed: [KIKS] Section 7; [HSS] Section 3.3.3, Eq. (99).

    Parameters
    ----------
    X, Y : raw data or packed samples
        n values of two variables, observed together; of any two domains.
    kernels : pair of Kernel, str, function or None, optional
        None is the Gaussian at the median distance. For labels use `Match`.
    n_permutations, random_state, null, estimator, block_size
        As in `mmd_test`; here permutations are of Y against X.
    gram : GramSpec or int, optional
        None is `Dense`. `Nystrom`, `Features` and a number, the rank of an incomplete Cholesky factor, take O(n r^2)
        for each permutation. `Tiles` stores nothing and computes n^2 values of Y's kernel for each.
    memory, n_threads, monitor : optional
        See `Limits`.

    Returns
    -------
    TestResult

    Notes
    -----
    A permutation takes n^2 / 2 gathered products, without copies, on all cores.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-1.0, 1.0, 100)
    >>> y = x**2 + 0.1 * rng.normal(size=100)  # not correlated, but not independent
    >>> hsic_test(x, y, random_state=0).p_value
    0.000999000999000999
    >>> from mercer.kernels import Gaussian, Match
    >>> labels = np.where(x > 0.0, "right", "left")
    >>> hsic_test(x, labels, (Gaussian(1.0), Match()), null="gamma").p_value < 1e-6
    True
    """
    null, estimator = _settled(null, estimator, "hsic_test")
    check_blocks(estimator, block_size, gram)
    _COUNT.check("n_permutations", n_permutations, "hsic_test")
    rng, resources = generator(random_state), resources_of(limits, "hsic_test")
    learned, (A, B) = paired((X, Y), kernels)
    if estimator in BLOCKS:
        b = block_size_of(estimator, block_size, len(A), 4)
        value, distribution = block_null(hsic_blocks((learned[0], learned[1]), A, B, b, resources))
        return concluded(value, distribution, learned)
    if null not in ("permutation", "gamma") and is_dense(gram):
        require_matrices(f"hsic_test with null={null!r}", len(A), 3, resources)
    first, second = pair(learned, (A, B), gram, part_of(resources, 0.0, _GRAM), "hsic_test")
    value = hsic_of(first, second, estimator)
    rest = part_of(resources, _GRAM, 1.0)
    if null == "permutation":
        draws = permuted_hsic(first, second, n_permutations, rng, estimator, rest)
        return concluded(value, Null.of_draws("permutation", draws), learned)
    return concluded(value, _hsic_null(first, second, null, n_permutations, rng, rest), learned)


def _hsic_null(
    first: Form, second: Form, null: Any, count: int, rng: np.random.Generator, resources: Resources
) -> Null:
    if null == "gamma":
        return hsic_gamma(first, second, (trace_of(first, first), trace_of(second, second)))
    if null == "spectral":
        products = largest_products(eigenvalues_of(first), eigenvalues_of(second))
        return Null.of_draws("spectral", spectral_draws(products, count, rng, resources) / first.n)
    # weights on pairs of samples: W^T (K~ o L~) W / n^2
    H = Entrywise(first, second)
    return Null.of_draws("wild bootstrap", wild_draws(H, count, rng, waves_of(null, H, (H.n,)), resources))
