"""Weights with a prior, whose posterior is found together with that of the function."""

from __future__ import annotations

from mercer.constraints import Integer, Interval, Positive
from mercer.mixtures.mixing import Mixture

__all__ = ["HierarchicalBayes"]
__public__ = __all__


class HierarchicalBayes(Mixture):
    r"""A hierarchical Bayesian model: the weights have a prior, and a posterior.

    .. math:: f = \sum_t f_t + b, \qquad f_t \sim \mathcal{GP}(0, d_t k_t), \qquad 1 / d_t \sim \mathrm{Gamma}(a, r)

    Numbers are observed with normal noise of unknown precision, which has the same prior; for two classes, what is
    observed is the sign of f plus standard normal noise. The posterior is approximated by one in which function,
    weights and noise are independent, which has closed forms.

    Seed: [STS] Section 7, hierarchical Bayesian models (Girolami and Rogers, 2005).

    Parameters
    ----------
    shape, rate : float, default 1e-3
        a and r of the prior of 1 / d_t. Positive; both small say next to nothing, and switch kernels off that explain
        nothing.
    tol : float, default 1e-3
        Largest relative change of a weight, of those that are not next to nothing, at the end.
    max_iter : int, default 1000

    Notes
    -----
    There is no machine and no C: the noise is learned. Cost O(n^3 + m n^2) for each change of the weights.

    Examples
    --------
    >>> HierarchicalBayes(rate=0.1).tol
    0.001
    """

    constraints = {
        "shape": Positive(),
        "rate": Positive(),
        "tol": Interval(0.0, 1.0, closed="neither"),
        "max_iter": Integer(1),
    }

    def __init__(self, shape: float = 1e-3, rate: float = 1e-3, tol: float = 1e-3, max_iter: int = 1000) -> None:
        self.shape = shape
        self.rate = rate
        self.tol = tol
        self.max_iter = max_iter
