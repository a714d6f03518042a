"""Joint dependence of several variables: the measure and its test.

Symbols: d variables, each observed n times, with Gram matrices K^1, ..., K^d, which are not centred: products of three
and more would not be the same; F^k factors with K^k = F^k F^k^T; p^k permutations, one for each variable.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np

from mercer.arrays import Floats, Indices
from mercer.budget import Resources
from mercer.constraints import Integer
from mercer.errors import CapabilityError
from mercer.gram import GramSpec
from mercer.inference.forms import FactorForm, Form, entries, is_dense, paired, represent
from mercer.inference.options import Limits, part_of, require_matrices, resources_of, tell
from mercer.inference.permutations import joint_sums, parts_of, random_permutations
from mercer.inference.result import Null, TestResult, concluded
from mercer.inference.tests import generator
from mercer.kernels import Kernel
from mercer.kernels.foreign import KernelLike
from mercer.runtime.tiling import run_tasks, spans

__all__ = ["dhsic", "dhsic_test"]
__public__ = __all__

_GRAM = 0.1  # of the progress: Gram matrices
_ROWS = 256  # of all Grams that are read side by side
_NUMBERS = 2**20  # of products of factors that are held at once

Held = Floats | Sequence[Form]  # all matrices, (d, n, n), or one form each


def dhsic(
    variables: Sequence[Any],
    kernels: Sequence[KernelLike] | None = None,
    *,
    gram: GramSpec | int | None = None,
    **limits: Unpack[Limits],
) -> float:
    r"""Joint dependence of several variables: squared distance of their joint law from the product of the single ones.

    .. math:: \frac{1}{n^2} \sum_{ij} \prod_k K^k_{ij} + \prod_k \frac{1}{n^2} \sum_{ij} K^k_{ij}
        - \frac{2}{n} \sum_i \prod_k \frac{1}{n} \sum_j K^k_{ij}

    Seed: [HSS] Section 3.3.3, for more than two variables, as independent component analysis needs.

    Parameters
    ----------
    variables : sequence of raw data or packed samples
        At least two, each n values observed together.
    kernels : sequence of Kernel, str, function or None, optional
        One for each variable.
    gram : GramSpec or int, optional
        How the matrices are held: None is `Dense`; `Nystrom`, `Features` and a number, the rank of an incomplete
        Cholesky factor, are O(n r^d), or O(d n^2 r) where that is less: ranks of 10 to 30 serve large samples. `Tiles`
        stores none of them.
    memory, n_threads, monitor : optional
        See `Limits`.

    Notes
    -----
    For two variables it is the biased `hsic`. Variables that are independent two by two may be dependent jointly.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> signs = [[1.0], [1.0], [-1.0], [-1.0]], [[1.0], [-1.0], [1.0], [-1.0]], [[1.0], [-1.0], [-1.0], [1.0]]
    >>> dhsic(signs[:2], (Linear(), Linear())), dhsic(signs, (Linear(),) * 3)
    (0.0, 1.0)
    """
    resources = resources_of(limits, "dhsic")
    _, held = _held(variables, kernels, gram, resources, "dhsic")
    return _observed(held, Resources(n_threads=resources.n_threads))


def dhsic_test(
    variables: Sequence[Any],
    kernels: Sequence[KernelLike] | None = None,
    n_permutations: int = 1000,
    random_state: Any = None,
    *,
    gram: GramSpec | int | None = None,
    **limits: Unpack[Limits],
) -> TestResult:
    r"""Joint independence test: whether several variables are independent of one another, all together.

    .. math:: t = \Big\| \mu_{x^1 \cdots x^d} - \mu_{x^1} \otimes \cdots \otimes \mu_{x^d} \Big\|^2

    Seed: [HSS] Section 3.3.3, for more than two variables.

    Parameters
    ----------
    variables : sequence of raw data or packed samples
        At least two, each n values observed together.
    kernels : sequence of Kernel, str, function or None, optional
        One for each variable.
    n_permutations : int, default 1000
    random_state : int, Generator or None
    gram : GramSpec or int, optional
        As in `dhsic`; its cost is that of each permutation. `Tiles` computes all matrices anew for each.
    memory, n_threads, monitor : optional
        See `Limits`.

    Returns
    -------
    TestResult

    Notes
    -----
    All variables but the first are permuted on their own; the level is exact. Cost O(d n^2) a permutation, memory
    O(d n^2).

    Examples
    --------
    >>> from mercer.inference import hsic_test
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.choice([-1.0, 1.0], size=(2, 100))
    >>> z = x * y  # independent of x, and of y, but not of both
    >>> hsic_test(x, z, random_state=0).p_value > 0.05, dhsic_test((x, y, z), random_state=0).p_value < 0.01
    (True, True)
    """
    Integer(1).check("n_permutations", n_permutations, "dhsic_test")
    rng, resources = generator(random_state), resources_of(limits, "dhsic_test")
    learned, held = _held(variables, kernels, gram, part_of(resources, 0.0, _GRAM), "dhsic_test")
    draws = permuted_dhsic(held, n_permutations, rng, part_of(resources, _GRAM, 1.0))
    value = _observed(held, Resources(n_threads=resources.n_threads))
    return concluded(value, Null.of_draws("permutation", draws), learned)


def _held(
    variables: Sequence[Any],
    kernels: Sequence[KernelLike] | None,
    gram: GramSpec | int | None,
    resources: Resources,
    name: str,
) -> tuple[tuple[Kernel, ...], Held]:
    """Return learned kernels and the Gram matrices of all variables."""
    learned, parts = paired(variables, kernels)
    d, n = len(parts), len(parts[0])
    for kernel in learned:
        if kernel.order != 0:  # products of matrices that are not centred
            raise CapabilityError(
                f"{kernel!r} is not positive definite, as joint dependence needs. Use a positive definite kernel, for "
                "example Gaussian()."
            )
    shares = [part_of(resources, k / d, (k + 1) / d) for k in range(d)]
    if not is_dense(gram):
        return learned, [represent(learned[k], parts[k], gram, shares[k], centre=False) for k in range(d)]
    require_matrices(name, n, d + 1, resources)
    K = np.empty((d, n, n))
    for k in range(d):
        K[k] = entries(learned[k], parts[k], shares[k])
    return learned, K


def permuted_dhsic(held: Held, count: int, rng: np.random.Generator, resources: Resources) -> Floats:
    """Return joint criteria with every variable but the first permuted on its own, (count,)."""
    means = _means(held)
    d, n = means.shape
    draws = np.empty(count)
    for part in parts_of(count, d * n):
        size = part.stop - part.start
        still = np.broadcast_to(np.arange(n), (size, n))
        moved = [still, *(random_permutations(rng, size, n) for _ in range(1, d))]
        permutations = np.stack(moved, axis=1, dtype=moved[1].dtype, casting="unsafe")
        progress = part_of(resources, part.start / count, part.stop / count)
        draws[part] = _criteria(held, means, permutations, progress)
    return draws


def _observed(held: Held, resources: Resources) -> float:
    """Return the joint criterion of the variables as they were observed."""
    means = _means(held)
    d, n = means.shape
    kind: Any = np.uint16 if n <= 2**16 else np.uint32  # as of permutations that are drawn: compiled once
    still = np.tile(np.arange(n, dtype=kind), (1, d, 1))
    return float(_criteria(held, means, still, resources)[0])


def _means(held: Held) -> Floats:
    """Return the means of the rows of all matrices, (d, n)."""
    if isinstance(held, np.ndarray):
        return held.mean(axis=2)
    return np.stack([form.times(np.full((form.n, 1), 1.0 / form.n))[:, 0] for form in held])


def _criteria(held: Held, means: Floats, permutations: Indices, resources: Resources) -> Floats:
    """Return the joint criterion for each set of permutations, (count, d, n)."""
    d, n = means.shape
    middle = np.prod([means[k][permutations[:, k]] for k in range(d)], axis=0).mean(axis=1)
    if isinstance(held, np.ndarray):
        sums = joint_sums(held, permutations, resources.n_threads, resources.monitor)
    else:
        sums = _form_sums(held, permutations, resources)
    return sums / n**2 + np.prod(means.mean(axis=1)) - 2.0 * middle


def _form_sums(held: Sequence[Form], permutations: Indices, resources: Resources) -> Floats:
    """Sum over i, j of the product of permuted entries, without a matrix of order n."""
    factors = [form.factor for form in held if isinstance(form, FactorForm)]
    n, ranks = held[0].n, [F.shape[1] for F in factors]
    out = np.empty(len(permutations))
    if len(factors) == len(held) and math.prod(ranks) <= n * sum(ranks):

        def work(b: int) -> None:
            out[b] = _factor_sum([F[p] for F, p in zip(factors, permutations[b], strict=True)])

        run_tasks(range(len(out)), work, n_threads=resources.n_threads, monitor=resources.monitor)
        return out
    for b, p in enumerate(permutations):
        out[b] = 0.0
        for part in spans(n, _ROWS):
            out[b] += np.prod([form.rows(q[part], q) for form, q in zip(held, p, strict=True)], axis=0).sum()
            tell(resources, (b + part.stop / n) / len(out))
    return out


def _factor_sum(factors: Sequence[Floats]) -> float:
    """Return the squared length of the sum over i of the tensor products of the factors' rows i."""
    half = len(factors) // 2
    left, right = factors[:half], factors[half:]
    total = 0.0
    for part in spans(len(left[0]), max(1, _NUMBERS // math.prod(F.shape[1] for F in right))):
        total = total + _beside(left, part).T @ _beside(right, part)
    return float(np.sum(np.square(total)))


def _beside(factors: Sequence[Floats], part: slice) -> Floats:
    """Return tensor products of rows, one after the other."""
    out = factors[0][part]
    for F in factors[1:]:
        out = (out[:, :, None] * F[part][:, None, :]).reshape(len(out), -1)
    return out
