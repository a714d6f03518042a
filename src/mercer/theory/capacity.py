r"""Capacities of classes of functions: how many ways they label samples, and how many samples they can shatter.

Symbols: N samples, a labelling is the row of signs that a function gives them, En = E ln of their number (VC entropy),
Gr the largest number over all samples (growth function), h the VC dimension.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln

from mercer.arguments import checked, real_array
from mercer.arrays import Floats
from mercer.constraints import Boolean, Integer
from mercer.errors import DomainError, ParameterError
from mercer.theory.bound import COUNT, SIZE

__all__ = [
    "Capacities",
    "ball_covering",
    "capacity_chain",
    "hyperplane_dimension",
    "hyperplane_labellings",
    "labellings",
    "sauer_bound",
    "vc_dimension",
    "vc_entropy",
]
__public__ = __all__

_LARGEST = 25  # samples whose subsets are tried


class Capacities(NamedTuple):
    """Upper bounds on the capacities of a class, each at least the one before.

    Attributes
    ----------
    growth : float
        ln of the growth function, at most, by the sum of binomials.
    dimension : float
        What the VC dimension alone says of it.

    Examples
    --------
    >>> Capacities(2.0, 3.0).growth
    2.0
    """

    growth: float
    dimension: float


def labellings(labels: Any) -> int:
    """Return in how many ways functions label a sample: the number of equivalence classes.

    Seed: [SS] Section 2.3.3.

    Parameters
    ----------
    labels : (k, n) array
        Signs or class labels that k functions give to n samples.

    Examples
    --------
    >>> labellings([[1, 1], [1, -1], [1, 1]])
    2
    """
    return len(np.unique(real_array(labels, "labels", 2), axis=0))


@checked(annealed=Boolean())
def vc_entropy(samples: Iterable[Any], *, annealed: bool = False) -> float:
    r"""Estimate the VC entropy of functions: the mean logarithm of the number of ways in which they label samples.

    .. math:: \operatorname{En}(p, N) = E \ln \mathcal{N}(z_1, \dots, z_N)

    Seed: [SS] Section 2.3.3, "VC Entropy".

    Parameters
    ----------
    samples : iterable of (k, n) arrays
        Labels that the functions give to new samples drawn from p.
    annealed : bool, default False
        Whether the logarithm of the mean number is returned, which is at least as large, and is what the proof of the
        bound [SS] Eq. (16) needs.

    Examples
    --------
    >>> round(vc_entropy([[[1, 1], [1, -1]], [[1, 1], [1, 1]]]), 4)  # ln(2) / 2
    0.3466
    """
    if not isinstance(samples, Iterable):
        raise DomainError(f"samples={samples!r:.100} was given; several tables of labels are accepted. Give a list.")
    counts = np.array([labellings(sample) for sample in samples], dtype=float)
    if not len(counts):
        raise DomainError("no samples were given; at least one table of labels is needed. Give some.")
    return float(np.log(counts.mean()) if annealed else np.log(counts).mean())


@checked(n=COUNT, dimension=Integer(0))
def sauer_bound(n: int, dimension: int) -> float:
    r"""Return the logarithm of the most labellings that a class of a VC dimension can have.

    .. math:: \ln \operatorname{Gr}(N) \le \ln \sum_{i=0}^{\min(h, N)} \binom{N}{i}

    Seed: [SS] Section 2.3.3, between the two sides of Eq. (15).

    Parameters
    ----------
    n : int
        N.
    dimension : int
        h.

    Examples
    --------
    >>> round(math.exp(sauer_bound(4, 2)))  # 1 + 4 + 6
    11
    """
    i = np.arange(min(dimension, n) + 1)
    return float(np.logaddexp.reduce(gammaln(n + 1) - gammaln(i + 1) - gammaln(n - i + 1)))


@checked(n=COUNT, dimension=COUNT)
def capacity_chain(n: int, dimension: int) -> Capacities:
    r"""Return the bounds on VC entropy and growth function that follow from the VC dimension.

    .. math:: \operatorname{En}(p, N) \le \ln \operatorname{Gr}(N) \le h \left( \ln \frac{N}{h} + 1 \right)

    Seed: [SS] Eq. (15), which needs N >= h; below, all 2^N labellings are possible and N ln 2 is returned.

    Parameters
    ----------
    n : int
        N.
    dimension : int
        h.

    Examples
    --------
    >>> chain = capacity_chain(100, 3)
    >>> round(chain.growth, 3), round(chain.dimension, 3)
    (12.024, 13.52)
    """
    growth = sauer_bound(n, dimension)
    whole = n * math.log(2.0)
    return Capacities(growth, dimension * (math.log(n / dimension) + 1.0) if n >= dimension else whole)


@checked(n=COUNT, width=Integer(0))
def hyperplane_labellings(n: int, width: int) -> float:
    r"""Return the logarithm of the number of ways in which hyperplanes divide n points in general position.

    .. math:: \operatorname{Gr}(N) = 2 \sum_{i=0}^{d} \binom{N-1}{i}

    Seed: [SS] Section 2.3.3, the growth function, for hyperplanes with a bias in d dimensions (Cover, 1965).

    Parameters
    ----------
    n : int
        N.
    width : int
        d; the VC dimension is d + 1.

    Examples
    --------
    >>> round(math.exp(hyperplane_labellings(4, 2)))  # all 16 but the two of XOR
    14
    """
    if n == 1:
        return math.log(2.0)
    return math.log(2.0) + sauer_bound(n - 1, width)


def vc_dimension(labels: Any) -> int:
    """Return the VC dimension of finitely many functions on a sample: how many of its members they can shatter.

    Seed: [SS] Section 2.3.3, "VC dimension".

    Parameters
    ----------
    labels : (k, n) array
        Of two kinds, that k functions give to n samples; n at most 25.

    Notes
    -----
    Subsets are tried one after the other, larger ones only where all their parts are shattered. For the VC dimension of
    the class itself the sample must be rich enough.

    Examples
    --------
    >>> steps = [[1 if i >= t else -1 for i in range(5)] for t in range(6)]
    >>> vc_dimension(steps), vc_dimension(steps + [[-v for v in row] for row in steps])
    (1, 2)
    """
    table = np.unique(real_array(labels, "labels", 2), axis=0)
    if len(np.unique(table)) > 2:
        raise DomainError(
            f"labels of {len(np.unique(table))} kinds were given; two are accepted. Give signs, 1 and -1."
        )
    if table.shape[1] > _LARGEST:
        raise ParameterError(
            f"labels of {table.shape[1]} samples were given; all subsets of at most {_LARGEST} are tried. Give fewer."
        )
    bits = table == table.max()
    shattered: set[tuple[int, ...]] = {()}
    for size in range(1, min(table.shape[1], int(math.log2(len(table)))) + 1):
        smaller, shattered = shattered, set()
        for part in itertools.combinations(range(table.shape[1]), size):
            parts = (part[:i] + part[i + 1 :] for i in range(size))
            if all(one in smaller for one in parts) and len(np.unique(bits[:, part], axis=0)) == 2**size:
                shattered.add(part)
        if not shattered:
            return size - 1
    return len(next(iter(shattered)))


@checked(radius=SIZE, norm=SIZE, n=COUNT)
def hyperplane_dimension(radius: float, norm: float, n: int) -> int:
    r"""Bound the VC dimension of hyperplanes with a margin: it does not depend on the number of features.

    .. math:: h \le \min([r^2 a^2], N) + 1

    Seed: [SS] Eq. (49).

    Parameters
    ----------
    radius : float
        r, of the smallest ball that holds the samples in feature space, as `mercer.enclosing_ball` finds.
    norm : float
        a, the largest norm of the weights; the margin is 1 / a.
    n : int
        Number of samples, or of features if that is smaller.

    Examples
    --------
    >>> hyperplane_dimension(1.0, 3.2, 100), hyperplane_dimension(1.0, 30.0, 100)
    (11, 101)
    """
    product = radius * norm
    return math.floor(min(product * product, n)) + 1


@checked(eps=SIZE, norm=SIZE)
def ball_covering(eigenvalues: Any, eps: float, norm: float = 1.0) -> tuple[float, float]:
    r"""Bound how many balls of radius eps cover the functions of norm B as a sample sees them, by logarithms.

    .. math:: \sum_{a_i > \epsilon} \ln \frac{a_i}{\epsilon} \;\le\; \ln \mathcal{N}(\epsilon) \;\le\;
        \sum_{a_i > \epsilon / \sqrt2} \ln \frac{3 \sqrt2 \, a_i}{\epsilon}, \qquad a_i = B \sqrt{\lambda_i / m}

    Distances are roots of mean squares over the sample; there the ball is an ellipsoid whose half-axes a_i come from
    the eigenvalues of K.

    Seed: [HSS] Section 3.2, covering numbers, which are named there; both sides compare volumes.

    Parameters
    ----------
    eigenvalues : (m,) array
        lambda_i, of the Gram matrix of m samples.
    eps : float
        Positive.
    norm : float, default 1.0
        B.

    Returns
    -------
    low, high : float

    Examples
    --------
    >>> low, high = ball_covering([100.0] * 4 + [0.0] * 96, 0.5)  # four half-axes of length one
    >>> round(low, 3), round(high, 3)
    (2.773, 8.553)
    """
    if eps == 0.0:
        raise ParameterError("eps=0.0 was given; it must be positive. Give a radius of balls, for example 0.1.")
    values = np.maximum(real_array(eigenvalues, "eigenvalues", 1), 0.0)  # below zero is rounding
    axes: Floats = norm * np.sqrt(values / len(values))
    scale = math.log(eps)
    low = (np.log(axes[axes > eps]) - scale).sum()
    high = (math.log(3.0 * math.sqrt(2.0)) + np.log(axes[axes > eps / math.sqrt(2.0)]) - scale).sum()
    return float(low), float(high)
