r"""Kernel mean matching: weights that give a sample the mean of another, against sample-selection bias.

Symbols: x_i the n samples at hand, with weights w_i and N their sum; z_j the m samples of the population that counts,
with weights v_j and M their sum; b_i the weights sought, u = w b; K the Gram matrix of x, and
kappa_i = N / M sum_j v_j k(x_i, z_j).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer.arguments import checked
from mercer.arrays import Floats
from mercer.constraints import InstanceOf, Interval, Optional
from mercer.errors import CapabilityError, DomainError, ParameterError, warn_caller
from mercer.estimators.estimator import weighted
from mercer.gram import Auto, Gram, GramSpec
from mercer.gram.expansion import Expansion
from mercer.inference.forms import packed
from mercer.inference.options import Limits, resources_of
from mercer.kernels import Kernel
from mercer.kernels.foreign import KernelLike
from mercer.problems import BoxQP, Solution, Status
from mercer.solvers import SMO, Solver

__all__ = ["MeanMatching", "mean_matching"]
__public__ = __all__

_ROUNDS = 60  # of the search for the sum
_NEAR = 1e-10  # of N: how well the sum is found


@dataclass(frozen=True, eq=False)
class MeanMatching:
    """Weights, and how near they bring two samples.

    Attributes
    ----------
    weights : (n,) array
        b; give them as ``sample_weight``. Zero where the sample's own weight is.
    before, after : float
        Distance in feature space between the mean of the population and that of the samples, without and with
        weights; after is over the sum that the weights have.
    effective_size : float
        (sum b)^2 / sum b^2: as many samples of equal weight would have a mean of the same variance.
    kernel : Kernel
        What None, or a kernel that is learned, was resolved to.
    solution : Solution
        Solution of the quadratic program.
    """

    weights: Floats
    before: float
    after: float
    effective_size: float
    kernel: Kernel
    solution: Solution


@checked(gram=Optional(InstanceOf(GramSpec)), solver=Optional(InstanceOf(Solver)))
def mean_matching(
    X: Any,
    Z: Any,
    kernel: KernelLike = None,
    *,
    upper: float = 1000.0,
    epsilon: float = 0.0,
    weights: tuple[Any, Any] = (None, None),
    gram: GramSpec | None = None,
    solver: Solver | None = None,
    **limits: Unpack[Limits],
) -> MeanMatching:
    r"""Weights under which samples drawn with a bias have the mean image of the population that counts.

    .. math:: \min_b \; \Big\| \frac1n \sum_i b_i \Phi(x_i) - \frac1m \sum_j \Phi(z_j) \Big\|^2 \quad \text{s.t.} \quad
        0 \le b_i \le B, \quad \Big| \sum_i b_i - n \Big| \le n \epsilon

    Where targets depend on x alike in both, learning with these weights from x is learning for z; neither density is
    ever estimated.

    Seed: [KIKS] Section 7, reference [93] (Huang et al.).

    Parameters
    ----------
    X, Z : raw data or packed samples
        The samples at hand, and samples of the population; of the same domain.
    kernel : Kernel, str, function or None
        None is the Gaussian at the median distance of all samples. A kernel that is conditionally positive definite
        of order 1 is accepted if ``epsilon`` is 0: of ``NegativeDistance()`` the weights bring the energy distance to
        its minimum.
    upper : float, default 1000.0
        B, at least 1. The smaller, the less a few samples may count.
    epsilon : float, default 0.0
        How far the weights' mean may be from 1. Non-negative.
    weights : tuple of two arrays, (n,) and (m,), or None
        Weights of X and of Z: a sample of weight w counts as w copies.
    gram : GramSpec, optional
        How K is held; it must have rows, as `Dense` and `Tiles` have. None is `Auto`.
    solver : Solver, optional
        Solver of the quadratic program; None is `SMO`, to a violation of 1e-6 of the mean of kappa.
    **limits
        ``memory``, ``n_threads``, ``monitor``; see `mercer.inference.Limits`.

    Returns
    -------
    MeanMatching

    Notes
    -----
    With ``epsilon`` above zero the sum is found first: the program's value is convex in it, and its multiplier is the
    slope. Where K is singular, as for equal samples, many weights are as good; their sum over equal samples is
    determined. Cost that of an SVM on n samples, and n m kernel values.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> mean_matching([[0.0], [1.0]], [[0.0], [1.0], [1.0]], Gaussian(1.0)).weights.round(3)
    array([0.667, 1.333])
    """
    Interval(1.0, np.inf, closed="left").check("upper", upper, "mean_matching")
    Interval(0.0, np.inf, closed="left").check("epsilon", epsilon, "mean_matching")
    if not isinstance(weights, (tuple, list)) or len(weights) != 2:
        raise ParameterError(
            f"weights={weights!r:.100} was given; a pair is accepted, weights of X and weights of Z, either of them "
            "None. Write for example weights=(w, None)."
        )
    kernel, A = packed(X, kernel)
    _, T = packed(Z, kernel)
    if not len(A) or not len(T):
        raise DomainError(f"{len(A)} and {len(T)} samples were given; at least one of each is needed. Give samples.")
    if kernel.order == 1 and epsilon > 0.0:
        raise CapabilityError(
            f"{kernel!r} is conditionally positive definite: means of different total weight cannot be compared by it. "
            "Use epsilon=0, or a positive definite kernel."
        )
    S, _, w, used = weighted(A, np.zeros(len(A)), weights[0])
    T, _, v, _ = weighted(T, np.zeros(len(T)), weights[1])
    kernel = kernel.learn(S.concat(T), None, np.append(w, v))
    resources = resources_of(limits, "mean_matching")
    K = (gram or Auto()).build(kernel, S, resources)
    mean = Expansion(kernel, T, v / v.sum(), np.asarray(0.0))
    kappa = float(w.sum()) * np.asarray(mean(S, resources), dtype=float)
    if solver is None:
        solver = SMO(tol=1e-6 * max(float(np.mean(np.abs(kappa))), np.finfo(float).tiny))
    solution = _solve(K, kappa, w, upper, epsilon, solver)
    if solution.status is not Status.CONVERGED:
        warn_caller(
            f"{type(solver).__name__} stopped at residual {solution.residual:.3g}. {solution.status.value}",
            ConvergenceWarning,
        )
    u = np.clip(solution.coef, 0.0, upper * w)
    found = np.zeros(len(A))
    found[used] = u / w
    square = float((v / v.sum()) @ np.asarray(mean(T, resources)))
    before, after = (_distance(K, part / part.sum(), kappa / w.sum(), square) for part in (w, u))
    size = float(u.sum() ** 2 / np.sum(u * u / w))
    return MeanMatching(found, before, after, size, kernel, solution)


def _distance(K: Gram, share: Floats, kappa: Floats, square: float) -> float:
    """Return the distance of a weighted mean from the population's."""
    return float(np.sqrt(max(float(share @ (K @ share)) - 2.0 * float(share @ kappa) + square, 0.0)))


def _solve(K: Gram, kappa: Floats, w: Floats, upper: float, epsilon: float, solver: Solver) -> Solution:
    """Solve the program; with room for the sum, for the best sum."""
    total = float(w.sum())
    low, high = total * max(1.0 - epsilon, 0.0), total * min(1.0 + epsilon, upper)

    def at(t: float, start: Floats | None) -> tuple[float, Solution]:
        guess = None if start is None or not start.any() else start
        problem = BoxQP(K, -kappa, np.zeros(len(w)), upper * w, total=np.array([t]))
        if guess is not None:
            guess = np.clip(guess * (t / guess.sum()), 0.0, upper * w)
            guess = guess if abs(guess.sum() - t) <= 1e-12 * total else None
        found = solver.solve(problem, start=guess)
        return float(found.multipliers[0]), found

    if epsilon == 0.0:
        return at(total, None)[1]
    slope_high, above = at(high, None)
    if slope_high <= 0.0:  # more would be better still
        return above
    slope_low, below = at(low, above.coef) if low > 0.0 else (-float(kappa.max()), above)
    if slope_low >= 0.0:
        return below
    found = above
    for _ in range(_ROUNDS):
        guess = low - slope_low * (high - low) / (slope_high - slope_low)
        t = min(max(guess, low + 0.01 * (high - low)), high - 0.01 * (high - low))
        slope, found = at(t, found.coef)
        if slope > 0.0:
            high, slope_high = t, slope
        else:
            low, slope_low = t, slope
        if abs(slope) <= found.residual or high - low <= _NEAR * total:
            break
    return found
