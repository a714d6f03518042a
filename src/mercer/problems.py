"""Problems as mathematics; what a solver returns is named here too, and defined with the Grams that expand it.

A problem is a plain record: an estimator writes it, a solver reads it, and neither knows the other. ``gram``
is whatever multiplies vectors as the Gram matrix K does.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer.arrays import Floats, Indices
from mercer.gram.gram import Solution, Status, Trace

__all__ = [
    "BoxQP",
    "ConvexRisk",
    "LinearRisk",
    "SparseRisk",
    "LinearSystem",
    "MulticlassQP",
    "SmoothRisk",
    "Solution",
    "Status",
    "Trace",
]
__saved__ = ["BoxQP", "ConvexRisk", "LinearRisk", "LinearSystem", "MulticlassQP", "SmoothRisk", "SparseRisk"]


@dataclass(frozen=True, eq=False)
class LinearSystem:
    r"""Regularised interpolation: a symmetric linear system in K, with or without a border.

    .. math:: \begin{pmatrix} K + \mathrm{diag}(s) & B \\ B^\top & 0 \end{pmatrix}
              \begin{pmatrix} a \\ m \end{pmatrix} = \begin{pmatrix} y \\ 0 \end{pmatrix}

    Its solution minimises the sum of :math:`(y_i - f(x_i))^2 / s_i` plus :math:`a^\top K a` over functions
    :math:`f = \sum_i a_i k(x_i, \cdot) + b(\cdot)^\top m` whose second part is not penalised.

    Seed: [KIKS] Eq. (7) without a border; [SS] the system of the LS-SVM with a border of ones.

    Parameters
    ----------
    gram : Gram
        Operator K, (n, n).
    shift : float or (n,) array
        s, added to the diagonal: the ridge alpha, alpha over the sample weights, or a noise variance.
    rhs : (n,) or (n, k) array
        y, one column per output.
    border : (n, s) array, optional
        B, the values of the unpenalised functions at the samples: ones for a bias, polynomials for splines
        and for conditionally positive definite kernels, the mean functions of a Gaussian process. K need be
        positive definite only where B^T a = 0. Its columns must be linearly independent.

    Examples
    --------
    >>> system = LinearSystem(gram=np.eye(2), shift=1.0, rhs=np.ones(2))
    >>> system.shift
    1.0
    """

    gram: Any
    shift: float | Floats
    rhs: Floats
    border: Floats | None = None


@dataclass(frozen=True, eq=False)
class BoxQP:
    r"""The quadratic program of the whole support vector family, in signed variables.

    .. math:: \min_\beta \; \tfrac12 \beta^\top (K + \mathrm{diag}(r)) \beta + p^\top \beta \quad
              \text{s.t.} \quad \ell \le \beta \le u, \quad \sum_{i \in g} \beta_i = t_g

    A classifier has :math:`\beta_i = y_i \alpha_i`, so no sign matrix appears; the fitted function is
    :math:`f = \sum_i \beta_i k(x_i, \cdot) + b`, and the bias follows from the multipliers
    :math:`\rho_g` of the sums, :math:`K\beta + r\beta + p = \rho_g` where a variable is inside its box.

    Seed: [HSS] Eqs. (79), (81), (84), (87); [STS] Eqs. (68)-(69), (71).

    Parameters
    ----------
    gram : Gram
        Operator K, (n, n).
    linear : (n,) array
        p.
    lower, upper : (n,) arrays
        The box; an end may be infinite.
    group : (n,) array of int, optional
        Which sum each variable belongs to, from 0; None is one group, or none at all if ``total`` is empty.
    total : (g,) array
        t, one per group; empty for no constraint, as for machines without a bias.
    ridge : float or (n,) array, default 0.0
        r; it belongs to the problem but not to the function.

    Examples
    --------
    >>> problem = BoxQP(np.eye(2), -np.array([1.0, -1.0]), np.array([0.0, -1.0]), np.array([1.0, 0.0]))
    >>> problem.total
    array([0.])
    """

    gram: Any
    linear: Floats
    lower: Floats
    upper: Floats
    group: Indices | None = None
    total: Floats = field(default_factory=functools.partial(np.zeros, 1))
    ridge: float | Floats = 0.0


@dataclass(frozen=True, eq=False)
class LinearRisk:
    r"""Regularised risk of a linear function, in its weights.

    .. math:: \min_{w, v} \; \sum_i c_i \, \psi(y_i, \langle w, x_i \rangle + s v) + \tfrac12 (\|w\|^2 + v^2)

    The bias is s v, the weight of a constant column of value s: the larger s, the less it is penalised.

    Seed: [KIKS] Eqs. (17), (18), with c_i = C w_i in place of C / l.

    Parameters
    ----------
    X : (n, d) array or CSR matrix, float64 or float32
        The samples.
    y : (n,) array
        What was observed; -1 and +1 for two classes.
    loss : Loss
        psi.
    weight : (n,) array
        c.
    constant : float, default 0.0
        s; 0 is a function without a bias.

    Examples
    --------
    >>> from mercer.losses import Hinge
    >>> LinearRisk(np.eye(2), np.array([1.0, -1.0]), Hinge(), weight=np.ones(2)).constant
    0.0
    """

    X: Any
    y: Floats
    loss: Any
    weight: Floats
    constant: float = 0.0

    @property
    def gram(self) -> Any:
        """The samples: K is the matrix of their dot products."""
        return self.X


@dataclass(frozen=True, eq=False)
class SparseRisk:
    r"""Squared hinge losses of a linear function, and the sum of the sizes of its weights.

    .. math:: \min_{w, v} \; \sum_i c_i \max(0, 1 - y_i (\langle w, x_i \rangle + s v))^2 + \|w\|_1 + |v|

    The losses have no 1/2, as in LIBLINEAR. The bias is s v, the weight of a constant column of value s.

    Parameters
    ----------
    X : (n, d) array or CSR matrix, float64 or float32
        The samples.
    y : (n,) array
        -1 and +1.
    weight : (n,) array
        c.
    constant : float, default 0.0
        s; 0 is a function without a bias.

    Examples
    --------
    >>> SparseRisk(np.eye(2), np.array([1.0, -1.0]), weight=np.ones(2)).constant
    0.0
    """

    X: Any
    y: Floats
    weight: Floats
    constant: float = 0.0

    @property
    def gram(self) -> Any:
        """The samples."""
        return self.X


@dataclass(frozen=True, eq=False)
class MulticlassQP:
    r"""The quadratic program of all classes together, without a bias.

    .. math:: \min_B \; \tfrac12 \sum_c B_{\cdot c}^\top K B_{\cdot c} - \sum_i B_{i y_i} \quad
              \text{s.t.} \quad \sum_c B_{ic} = 0, \quad B_{i y_i} \le u_i, \quad B_{ic} \le 0 \;\, (c \ne y_i)

    It is the dual of

    .. math:: \min_f \; \tfrac12 \sum_c \|f_c\|^2 + \sum_i u_i \max_c (f_c(x_i) - f_{y_i}(x_i) + 1 - \delta_{c y_i})

    with one function per class, :math:`f_c = \sum_i B_{ic} k(x_i, \cdot)`.

    Seed: [HSS] Sections 3.1.4 and 4.1.5, Eqs. (88), (111).

    Parameters
    ----------
    gram : Gram
        Operator K, (n, n).
    codes : (n,) array of int
        y, from 0.
    upper : (n,) array
        u = C w; may be infinite.
    n_classes : int
        c.

    Examples
    --------
    >>> MulticlassQP(np.eye(2), np.array([0, 1]), np.ones(2), n_classes=2).upper
    array([1., 1.])
    """

    gram: Any
    codes: Indices
    upper: Floats
    n_classes: int


@dataclass(frozen=True, eq=False)
class ConvexRisk:
    r"""Regularised risk of any convex loss: what the representer theorem makes of a problem in a function space.

    .. math:: \min_{a, m} \; \sum_i w_i \, \psi(y_i, f_i) + \tfrac{\lambda}{2} \, a^\top K a,
              \qquad f = K a + B m

    At the minimum :math:`-\lambda a_i / w_i` is a slope of the loss at :math:`f_i`, and :math:`B^\top a = 0`. The dual
    is

    .. math:: \max_a \; -\sum_i w_i \, \psi^*(y_i, -\lambda a_i / w_i) - \tfrac{\lambda}{2} \, a^\top K a
              \quad \text{s.t.} \quad B^\top a = 0

    Seed: [HSS] Theorem 11, Eqs. (49)-(53), with Omega(s) = lambda s / 2; Sections 2.3.3 and 4.1.3 for the functions
    that are not penalised, [SS] Eq. (48).

    Parameters
    ----------
    gram : Gram
        Operator K, (n, n).
    loss : Loss
        psi, convex; it may have kinks.
    y : (n,) or (n, k) array
        What was observed, as the loss expects it; the function has as many outputs as y has columns.
    weight : (n,) array
        w.
    penalty : float
        lambda, of the squared length of the function. Positive.
    border : (n, s) array, optional
        B, the values of the functions that are not penalised, as in `LinearSystem`.

    Examples
    --------
    >>> from mercer.losses import Absolute
    >>> ConvexRisk(np.eye(2), Absolute(), np.array([1.0, -1.0]), weight=np.ones(2), penalty=0.5).penalty
    0.5
    """

    gram: Any
    loss: Any
    y: Floats
    weight: Floats
    penalty: float
    border: Floats | None = None


@dataclass(frozen=True, eq=False)
class SmoothRisk(ConvexRisk):
    r"""Regularised risk of a smooth loss, as penalised likelihood: no longer quadratic, but convex.

    At the minimum :math:`\lambda a_i = -w_i \, \partial \psi(y_i, f_i)` and :math:`B^\top a = 0`. A loss that has
    parameters of its own, such as the thresholds of an ordinal model, is minimised over them too.

    Seed: [HSS] Eq. (104), Section 3.2.3.

    Parameters
    ----------
    gram, y, weight, penalty, border
        As in `ConvexRisk`.
    loss : Loss
        psi, with a second derivative; usually minus the logarithm of a likelihood.

    Examples
    --------
    >>> from mercer.losses import Logistic
    >>> SmoothRisk(np.eye(2), Logistic(), np.array([1.0, -1.0]), weight=np.ones(2), penalty=0.5).penalty
    0.5
    """
