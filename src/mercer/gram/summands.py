r"""A function with a kernel that is a sum, in parts: f = sum_t f_t, f_t = sum_i a_i k_t(x_i, .)."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.domains import Samples
from mercer.kernels import Kernel, Sum

__all__ = ["function_parts", "part_shares", "summands"]


def summands(kernel: Kernel) -> tuple[Kernel, ...]:
    """Return the terms of a sum of kernels, and of sums in it; of any other kernel itself.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear
    >>> summands(Linear() + (Gaussian(1.0) + Gaussian(2.0)))
    (Linear(), Gaussian(1.0), Gaussian(2.0))
    """
    if isinstance(kernel, Sum):
        return tuple(term for one in kernel.terms for term in summands(one))
    return (kernel,)


def function_parts(expansion: Any, T: Samples) -> dict[str, Floats]:
    """Return what each term of the kernel contributes to a function at some samples, without its intercept.

    Parameters
    ----------
    expansion : Expansion
    T : Samples
        Packed for its kernel.

    Returns
    -------
    dict
        From expressions of terms to arrays (m,) or (m, k), which add up to the function.
    """
    out: dict[str, Floats] = {}
    zero = np.zeros(np.shape(expansion.intercept))
    for term in summands(expansion.kernel):
        part = dataclasses.replace(expansion, kernel=term, intercept=zero)
        out[repr(term)] = out.get(repr(term), 0.0) + np.asarray(part(T), dtype=float)
    return out


def part_shares(parts: Mapping[str, Floats]) -> dict[str, float]:
    r"""Return which share of the variation of a sum each part explains, the largest first; they add up to 1.

    .. math:: \frac{\mathrm{cov}(f_t, f)}{\mathrm{var}(f)}, \qquad \sum_t \mathrm{cov}(f_t, f) = \mathrm{var}(f)

    A part that works against the others has a negative share; all are zero where the sum is constant.

    Examples
    --------
    >>> part_shares({"a": np.array([0.0, 1.0]), "b": np.array([0.0, 3.0])})
    {'b': 0.75, 'a': 0.25}
    """
    total = sum(parts.values(), np.zeros(()))
    total = total - total.mean(axis=0)
    size = float(np.sum(total * total))
    found = {name: float(np.sum(part * total)) / size if size > 0.0 else 0.0 for name, part in parts.items()}
    return dict(sorted(found.items(), key=lambda item: -item[1]))
