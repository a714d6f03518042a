"""Elements of the space of a kernel, made of samples: the image of one, the mean of many.

Symbols: k the kernel, x a sample, Phi(x) = k(x, .) its image, w_i weights.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arguments import checked
from mercer.constraints import InstanceOf
from mercer.domains import Samples
from mercer.errors import DomainError
from mercer.gram import Expansion
from mercer.kernels import Kernel
from mercer.targets.target import sample_weights

__all__ = ["mean_element", "representer"]
__public__ = __all__


@checked(kernel=InstanceOf(Kernel))
def representer(kernel: Kernel, x: Any) -> Expansion:
    r"""Return the image of one sample: the element whose inner product with f is f(x).

    .. math:: k(x, \cdot), \qquad \langle f, k(x, \cdot) \rangle = f(x)

    Seed: [SS] Eqs. (93)-(98), the representer of evaluation at x; [HSS] Eqs. (13)-(17).

    Parameters
    ----------
    kernel : Kernel
    x : raw data or Samples
        A collection of one sample.

    Returns
    -------
    Expansion

    Examples
    --------
    >>> from mercer.hilbert import representer
    >>> from mercer.kernels import Polynomial
    >>> f, g = representer(Polynomial(2), [[1.0]]), representer(Polynomial(2), [[3.0]])
    >>> f.inner(g), f([[3.0]])
    (16.0, array([16.]))
    """
    S = _prepared(kernel, x)
    if len(S) != 1:
        raise DomainError(
            f"a collection of {len(S)} samples was given; the representer of one sample is made. Give a collection of "
            "one, as X[:1], or use mean_element for the mean of several."
        )
    return Expansion(kernel, S, np.ones(1), np.asarray(0.0))


@checked(kernel=InstanceOf(Kernel))
def mean_element(kernel: Kernel, X: Any, sample_weight: Any = None) -> Expansion:
    r"""Return the mean of the images of samples: the element whose inner product with f is the mean of f.

    .. math:: \mu = \frac{\sum_i w_i \, k(x_i, \cdot)}{\sum_i w_i}, \qquad
        \langle f, \mu \rangle = \frac{\sum_i w_i f(x_i)}{\sum_i w_i}

    The distance of the means of two samples is the maximum mean discrepancy between them.

    Seed: [HSS] Section 3.3 (means in feature space); [ST] "Simple classification".

    Parameters
    ----------
    kernel : Kernel
    X : raw data or Samples
    sample_weight : (n,) array-like, optional
        Not negative, not all zero. Weight w counts as w copies.

    Returns
    -------
    Expansion

    Examples
    --------
    >>> from mercer.hilbert import mean_element
    >>> from mercer.kernels import Linear
    >>> mean_element(Linear(), [[0.0], [2.0]]).distance(mean_element(Linear(), [[4.0], [6.0]]))
    4.0
    """
    S = _prepared(kernel, X)
    w = sample_weights(sample_weight, len(S))
    used = np.flatnonzero(w)
    return Expansion(kernel, S.take(used), w[used] / w.sum(), np.asarray(0.0))


def _prepared(kernel: Kernel, X: Any) -> Samples:
    return kernel.check().prepare(kernel.pack(X).owned())
