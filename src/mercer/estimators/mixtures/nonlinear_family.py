"""Families that are not linear in the kernels they are made of: products and powers up to an order."""

from __future__ import annotations

import itertools
from typing import Any

from mercer.arguments import checked
from mercer.constraints import Integer
from mercer.errors import ParameterError
from mercer.estimators.mixtures.kernel_family import Kernels, family_of
from mercer.kernels import Kernel

__all__ = ["nonlinear_family"]
__public__ = __all__

_MOST = 10_000  # products


@checked(kernels=Kernels(), order=Integer(1))
def nonlinear_family(kernels: Any, order: int = 2) -> dict[str, Kernel]:
    r"""Return the products and powers of kernels up to an order, as a family to learn weights for.

    .. math:: \prod_t k_t^{e_t}, \qquad 1 \le \sum_t e_t \le r

    A weighted sum of these is a polynomial of the kernels with coefficients that are not negative, and a kernel again.

    Seed: [STS] Section 7, nonlinear combinations of kernels (Li and Sun, 2010).

    Parameters
    ----------
    kernels : list or dict of Kernel
        k_1, ..., k_m. A product with a kernel that is normalised keeps its scale.
    order : int, default 2
        r, at least 1.

    Returns
    -------
    dict of str to Kernel
        (m + r over r) - 1 kernels, named by their factors.

    Examples
    --------
    >>> from mercer import nonlinear_family
    >>> from mercer.kernels import Gaussian, Linear
    >>> list(nonlinear_family({"near": Gaussian(1.0), "line": Linear()}))
    ['near', 'line', 'near^2', 'near * line', 'line^2']
    """
    family = family_of(kernels)
    if family is None:
        raise ParameterError("kernels=None was given; kernels to multiply are needed. Give a list of kernels.")
    found: dict[str, Kernel] = {}
    for degree in range(1, order + 1):
        for chosen in itertools.combinations_with_replacement(range(len(family)), degree):
            if len(found) >= _MOST:
                raise ParameterError(
                    f"{len(family)} kernels with order={order} were given, which are more than {_MOST} products; fewer "
                    "are accepted. Give a smaller order."
                )
            powers = {t: chosen.count(t) for t in dict.fromkeys(chosen)}
            factors = [family.kernels[t] ** e if e > 1 else family.kernels[t] for t, e in powers.items()]
            name = " * ".join(family.names[t] if e == 1 else f"{family.names[t]}^{e}" for t, e in powers.items())
            kernel = factors[0]
            for factor in factors[1:]:
                kernel = kernel * factor
            found[name] = kernel
    return found
