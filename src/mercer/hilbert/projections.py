r"""Projections in feature space: how a sample is spread along a direction, and what is nearest in a subspace.

Symbols: v = sum_i a_i Phi(x_i) a direction in dual form, m the number of samples, K = k(S, S), j the vector of ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arguments import Callback, answer_of, checked, real_array, require_squares
from mercer.arrays import Floats
from mercer.budget import Bytes, Plan
from mercer.constraints import AnyOf, InstanceOf, Optional, Positive
from mercer.errors import CapabilityError, DomainError, ParameterError
from mercer.gram import Expansion
from mercer.gram.element import Element, plain
from mercer.runtime.tiling import in_background
from mercer.targets.target import sample_weights

__all__ = ["Moments", "Projection", "moments", "project", "projection_moments"]
__public__ = __all__


@dataclass(frozen=True, eq=False)
class Moments:
    """Mean and variance of a function over a sample, or of projections of the sample on a direction.

    Attributes
    ----------
    mean, variance : float or (k,) array
        The variance is that of the sample: divided by m, or by the sum of the weights.
    """

    mean: Any
    variance: Any

    @property
    def standard_deviation(self) -> Any:
        """The root of the variance."""
        return plain(np.sqrt(self.variance))


@dataclass(frozen=True, eq=False)
class Projection:
    """The nearest element of a subspace.

    Attributes
    ----------
    element : Element
        The projection, without the intercept of what was projected.
    residual : float or (k,) array
        The distance from what was projected to it.
    rank : int
        Dimension of the subspace.
    """

    element: Element
    residual: Any
    rank: int


def projection_moments(gram: Any, coef: Any, sample_weight: Any = None) -> Moments:
    r"""Return mean and variance of the projections of a sample on a direction given in dual form.

    .. math:: \mu_v = \frac1m \alpha' K j, \qquad
        \sigma_v^2 = \frac1m \alpha' K^2 \alpha - \frac1{m^2} (\alpha' K j)^2

    Seed: [ST] "Variance of projections". The seed takes v of unit length: give alpha / sqrt(alpha' K alpha). The second
    formula is a difference; here it is the mean of squared deviations, which equals it and is never negative.

    Parameters
    ----------
    gram : Gram or (m, m) array
        K of the sample; a Gram that is not dense is used by products.
    coef : (m,) or (m, k) array
        alpha, one column per direction.
    sample_weight : (m,) array-like, optional
        Weight w counts as w copies of the projection.

    Returns
    -------
    Moments

    Examples
    --------
    >>> from mercer.hilbert import projection_moments
    >>> K = np.outer([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])  # numbers on a line
    >>> found = projection_moments(K, [1.0, 0.0, 0.0])  # the direction 1
    >>> found.mean, round(found.variance, 12)
    (2.0, 0.666666666667)
    """
    a = real_array(coef, "coef")
    K = gram if hasattr(gram, "samples") else real_array(gram, "gram", 2)
    if len(K.shape) != 2 or K.shape[0] != K.shape[1] or a.ndim not in (1, 2) or len(a) != K.shape[0]:
        raise DomainError(
            f"a matrix of shape {K.shape} and coefficients of shape {a.shape} were given; the matrix must be square, "
            "with one row of coefficients per sample. Give K of all samples, and zero for samples without."
        )
    return _spread(np.asarray(K @ a), sample_weight)


@checked(f=AnyOf(InstanceOf(Element), Callback()))
def moments(f: Element, X: Any, sample_weight: Any = None) -> Moments:
    r"""Return mean and variance of a function over a sample.

    .. math:: \mu = \frac{\sum_i w_i f(x_i)}{\sum_i w_i}, \qquad
        \sigma^2 = \frac{\sum_i w_i (f(x_i) - \mu)^2}{\sum_i w_i}

    By the reproducing property these are the moments of the projections of Phi(x_i) on f, times the norm of f.

    Seed: [ST] "Variance of projections".

    Parameters
    ----------
    f : Element or another function of samples
        Such as the ``expansion_`` of a fitted machine.
    X : raw data or Samples
    sample_weight : (n,) array-like, optional

    Returns
    -------
    Moments

    Examples
    --------
    >>> from mercer.hilbert import representer
    >>> from mercer.hilbert import moments
    >>> from mercer.kernels import Linear
    >>> moments(representer(Linear(), [[2.0]]), [[1.0], [3.0]])
    Moments(mean=4.0, variance=4.0)
    """
    values = answer_of(f, X, who="f", takes="all the data at once", error=ParameterError)
    return _spread(real_array(values, "f(X)"), sample_weight)


def _spread(values: Floats, sample_weight: Any) -> Moments:
    w = sample_weights(sample_weight, len(values))
    w = w / w.sum()
    require_squares(values, "the function")
    mean = w @ values
    return Moments(plain(mean), plain(w @ (values - mean) ** 2))


@checked(f=InstanceOf(Element), rank_tol=Positive(), memory=Optional(Bytes()))
def project(f: Element, onto: Any, *, rank_tol: float = 1e-12, memory: int | str | None = None) -> Projection:
    r"""Return the element of a subspace that is nearest to f.

    .. math:: P f = \sum_{ij} (K^+)_{ij} \, f(x_j) \, k(x_i, \cdot)
        \quad\text{or}\quad P f = \frac{\langle f, g \rangle}{\langle g, g \rangle} \, g

    The first is on the span of the images of samples: of all functions that agree with f there, the one of
    smallest norm. The second is on the line of another element.

    Seed: [HSS] Theorem 11 (the part of f that samples see, and the part orthogonal to them).

    Parameters
    ----------
    f : Element
        Its intercept is left out.
    onto : raw data, Samples or Element
        Samples whose images span the subspace, or one element of the same kernel.
    rank_tol : float, default 1e-12
        Directions whose eigenvalue is below this share of the largest are not in the span: rounding has made them.
    memory : int or str, optional
        Budget for K, for example "2GB".

    Returns
    -------
    Projection

    Notes
    -----
    Cost O(n^3) for n samples, by the eigenvectors of K. Values of the projection at the samples are those of f, up to
    the directions left out.

    Examples
    --------
    >>> from mercer.hilbert import representer
    >>> from mercer.hilbert import project
    >>> from mercer.kernels import Linear
    >>> found = project(representer(Linear(), [[3.0, 4.0]]), [[2.0, 0.0]])
    >>> found.element([[1.0, 1.0]]).round(6), round(found.residual, 6)
    (array([3.]), 4.0)
    """
    return _on_element(f, onto) if isinstance(onto, Element) else _on_samples(f, onto, rank_tol, memory)


def _on_element(f: Element, g: Element) -> Projection:
    if g.outputs not in ((), f.outputs):
        raise DomainError(
            f"a function with outputs of shape {f.outputs} was projected on one with {g.outputs}; the second must have "
            "as many, or one. Take one output with .column(j)."
        )
    length = np.asarray(g.norm())
    share = np.asarray(f.inner(g)) / np.where(length > 0.0, length, 1.0) ** 2  # of nothing, the inner product is zero
    line = g.without_intercept() * share
    return Projection(line, (f - line).norm(), int(bool(length.all())))


def _on_samples(f: Element, X: Any, rank_tol: float, memory: int | str | None) -> Projection:
    kernel = f.kernel
    if kernel.order != 0:
        raise CapabilityError(
            f"a projection with {kernel!r:.200} of order {kernel.order} was asked for; the span of samples has an "
            "inner product if the kernel is positive definite. Use a positive definite kernel."
        )
    S = kernel.prepare(kernel.pack(X).owned())
    n = len(S)
    Plan(f"projection on {n} samples", {"K and its eigenvectors": 3 * 8 * n * n}).require(memory)
    K = np.asarray(kernel(S), dtype=float)
    values, vectors = in_background(np.linalg.eigh, K, work=10.0 * n**3)
    kept = values > max(rank_tol, n * np.finfo(float).eps) * max(float(values[-1]), 0.0)
    V = vectors[:, kept]
    seen = V.T @ f.without_intercept()(S)
    scales = values[kept] if seen.ndim == 1 else values[kept, None]
    element = Expansion(kernel, S, V @ (seen / scales), np.zeros(f.outputs))
    return Projection(element, (f - element).norm(), int(kept.sum()))
