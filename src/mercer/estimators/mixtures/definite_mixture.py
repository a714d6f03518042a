"""Weights of any sign, for samples that are all known: labelled and unlabelled ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arguments import checked
from mercer.arrays import Array, Floats
from mercer.budget import Resources
from mercer.constraints import OneOf, Optional, Positive
from mercer.errors import ConvergenceWarning, ParameterError, TargetError, warn_caller
from mercer.estimators.mixtures.kernel_family import NORMALIZATIONS, Kernels, build, family_of
from mercer.gram import Dense
from mercer.losses import Hinge, SquaredHinge
from mercer.solvers.mixtures.definite_program import definite_program
from mercer.solvers.mixtures.mixture_problem import Program
from mercer.targets import Multiclass
from mercer.targets.target import sample_weights

__all__ = ["Transduction", "definite_mixture"]
__public__ = __all__

_TOL = 1e-7  # of the semidefinite program
_GAP = 1e-2  # relative, from which on a warning says so
_LOSSES = {"hinge": Hinge(), "squared_hinge": SquaredHinge()}


@dataclass(frozen=True, eq=False)
class Transduction:
    """What was learned about samples that were all there from the beginning.

    Attributes
    ----------
    names : tuple of str
        The m kernels.
    weights : (m,) array
        Of any sign.
    matrix : (N, N) array
        The weighted sum over all samples, labelled ones first; it is positive definite on these and need not be on
        others.
    decision : (q,) array
        Decision values of the unlabelled samples.
    labels : (q,) array
        Their classes.
    training_decision : (n,) array
        Decision values of the labelled samples.
    objective : float
    gap : float
        Between the machine's risk and the bound of the semidefinite program, relative.
    smallest : float
        Least eigenvalue of the matrix: zero up to the tolerance, or positive.
    """

    names: tuple[str, ...]
    weights: Floats
    matrix: Floats
    decision: Floats
    labels: Array
    training_decision: Floats
    objective: float
    gap: float
    smallest: float


@checked(
    kernels=Kernels(), C=Positive(), machine=OneOf(*_LOSSES), normalization=Optional(OneOf(*NORMALIZATIONS)),
    trace=Positive(),
)  # fmt: skip
def definite_mixture(
    kernels: Any,
    X: Any,
    y: Any,
    unlabelled: Any,
    *,
    C: float = 1.0,
    machine: str = "hinge",
    normalization: str | None = "trace",
    trace: float = 1.0,
    sample_weight: Any = None,
) -> Transduction:
    r"""Learn weights of any sign, so that the sum of the kernels is positive definite on all samples that are given.

    .. math:: \min_{d} \min_{f, b} \; C \sum_i w_i \, \psi(y_i, f(x_i) + b) + \tfrac12 \|f\|_{K_d}^2 \quad \text{s.t.}
              \quad K_d = \sum_t d_t K_t \succeq 0, \quad \mathrm{tr} K_d \le N c

    A negative weight subtracts what a kernel sees. The sum is a kernel on the samples given, labelled and unlabelled,
    and nowhere else: there is no function for others, and nothing to predict with later.

    Seed: [STS] Section 7, Eq. (88).

    Parameters
    ----------
    kernels : list or dict of Kernel
    X : raw data
        Labelled samples.
    y : (n,) array
        Two classes.
    unlabelled : raw data
        Samples to label.
    C : float, default 1.0
        Cost of an error of size one. Positive.
    machine : {"hinge", "squared_hinge"}, default "hinge"
    normalization : {None, "trace", "variance", "cosine"}, default "trace"
        As in `MultipleKernelClassifier`, learned from all samples given.
    trace : float, default 1.0
        c, the largest mean of the diagonal of the sum. Positive.
    sample_weight : (n,) array, optional
        A sample of weight w counts as w copies.

    Returns
    -------
    Transduction

    Notes
    -----
    Solved by the interior point method of clarabel (``pip install mercer[qp]``), for up to 120 samples in all. Weights
    that are not negative are found for many more by `MultipleKernelClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import definite_mixture
    >>> from mercer.kernels import Gaussian, Linear
    >>> X = np.random.default_rng(0).normal(size=(30, 2))
    >>> found = definite_mixture([Linear(), Gaussian(1.0)], X[:20], X[:20, 0] > 0, X[20:])
    >>> found.labels.shape, bool(found.smallest > -1e-6)
    ((10,), True)
    """
    family = family_of(kernels)
    if family is None:
        raise ParameterError("kernels=None was given; kernels to mix are needed. Give a list of kernels.")
    target, codes = Multiclass().read(y)
    if len(target.classes) != 2:
        raise TargetError(f"y has {len(target.classes)} classes; two are accepted. Give two classes.")
    labelled, others = family.kernel.pack(X), family.kernel.pack(unlabelled)
    n = len(labelled)
    if len(codes) != n:
        raise TargetError(
            f"X has {n} samples and y has {len(codes)}; one class per sample is needed. Give y of the length of X."
        )
    w = sample_weights(sample_weight, n)
    if not (w > 0.0).all():
        raise ParameterError("sample_weight has zeros; positive weights are accepted. Leave those samples out.")
    S = labelled.concat(others)
    ones = np.ones(len(S))
    family = (family.normalized() if normalization == "cosine" else family).learned(S, None, ones)
    by = normalization or "cosine"  # cosines have their scale: unequal scales are what signs are for, and not warned of
    built = build(family, S, ones, by, Dense(), Resources())
    matrices = [np.asarray(gram.array) for gram in built.grams]
    sign = np.where(codes == 1, 1.0, -1.0)
    dual = _LOSSES[machine].box_dual(sign, C * w)
    found = definite_program(matrices, Program(dual.linear, dual.lower, dual.upper, ridge=dual.ridge), trace, _TOL)
    if not found.gap <= _GAP:
        warn_caller(
            f"definite_mixture stopped at a relative gap of {found.gap:.3g}: the weights are not the best, since costs "
            f"or kernel values are too far apart for the semidefinite program. Use a smaller C than {C:g}, or "
            "normalization='trace'.",
            ConvergenceWarning,
        )
    K = np.asarray(sum(d * matrix for d, matrix in zip(found.weights, matrices, strict=True)))
    values = K[:, :n] @ found.machine.coef - float(found.machine.multipliers[0])
    labels = target.classes[(values[n:] > 0).astype(np.intp)]
    return Transduction(
        family.names, found.weights, K, values[n:], labels, values[:n], found.objective, found.gap, found.smallest
    )
