r"""Errors of samples left out, estimated from one fit of a support vector machine.

Symbols: beta the signed coefficients, f = K beta + b, xi_i = max(0, 1 - y_i f(x_i)) the slacks, F the free support
vectors, S_p the span of support vector p: its distance from the affine span of the free ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Bools, Floats, Indices, real_numbers
from mercer.numerics.cholesky import safe_cholesky
from mercer.selection.bounds.radius_margin import smallest_ball
from mercer.solvers.box.masked import settle

__all__ = ["generalized_approximate_cv", "span_bound", "span_rule"]
__public__ = __all__

_SLACK = 1e-6  # by which the theorem's inequality may be missed by machines that are solved to a tolerance
_EXACT = 1e-9  # violation to which a span is found
_BLUR = 1e-9  # of the largest diagonal entry: what is in the span of the others to this accuracy does not matter


def generalized_approximate_cv(diagonal: Any, beta: Any, margins: Any) -> float:
    r"""Generalised approximate cross-validation of a support vector machine: the hinge loss of samples left out.

    .. math:: \frac1n \Bigl( \sum_i \xi_i + 2 \sum_{y_i f(x_i) < -1} |\beta_i| K_{ii}
              + \sum_{-1 \le y_i f(x_i) \le 1} |\beta_i| K_{ii} \Bigr)

    Seed: [SS] Section 5.

    Parameters
    ----------
    diagonal : (n,) array
        K_ii.
    beta : (n,) array
        Coefficients of f = K beta + b.
    margins : (n,) array
        y_i f(x_i).

    References
    ----------
    Wahba, Lin and Zhang (2000), Generalized approximate cross validation for support vector machines, whose alpha_i
    over 2 n lambda is abs(beta_i).

    Examples
    --------
    >>> generalized_approximate_cv([1.0, 1.0], [0.5, -0.5], [1.0, -2.0])  # (0 + 3 + 2 * 0.5 + 0.5) / 2
    2.25
    """
    d, a = real_numbers(diagonal, "diagonal"), np.abs(real_numbers(beta, "beta"))
    m = real_numbers(margins, "margins")
    slack = np.maximum(0.0, 1.0 - m)
    times = np.where(m < -1.0, 2.0, np.where(m <= 1.0 + 1e-9, 1.0, 0.0))  # free ones are at one but for rounding
    return float(np.mean(slack + times * a * d))


def span_rule(K: Any, beta: Any, lower: Any, upper: Any, values: Any) -> Floats:
    r"""Decision values of samples left out, if all other support vectors keep their roles: the approximate span rule.

    .. math:: f_{-p}(x_p) = f(x_p) - \beta_p S_p^2, \qquad
        S_p^2 = 1 / (\tilde K^{-1})_{pp} \; (p \in F), \quad S_p^2 = K_{pp} - v_p^\top \tilde K^{-1} v_p
        \; (p \text{ at its bound})

    with :math:`\tilde K` the matrix of F with a border of ones and v_p the column of p with a one.

    Seed: [SS] Section 5, the approximate span.

    Parameters
    ----------
    K : (n, n) array
        Gram matrix.
    beta, lower, upper : (n,) arrays
        Signed coefficients and their box.
    values : (n,) array
        f at the samples.

    Returns
    -------
    (n,) array
        Samples that are no support vectors keep their value.

    Notes
    -----
    Exact where no other sample changes its role; `leave_one_out_decisions` also finds those that do. Without a free
    support vector, the distance is from the mean of all support vectors. Cost one factorisation of order \|F\|.

    References
    ----------
    Vapnik and Chapelle (2000), Bounds on error expectation for support vector machines.

    Examples
    --------
    >>> x = np.array([-2.0, -1.0, 1.0, 3.0])
    >>> beta, box = np.array([0.0, -0.5, 0.5, 0.0]), np.array([0.0, 0.0, 10.0, 10.0])
    >>> span_rule(np.outer(x, x), beta, box - 10.0, box, x).round(6)  # two support vectors: the other one alone
    array([-2.,  1., -1.,  3.])
    """
    K, beta = real_numbers(K, "K"), real_numbers(beta, "beta")
    lower, upper = real_numbers(lower, "lower"), real_numbers(upper, "upper")
    out = real_numbers(values, "values").copy()
    support = np.flatnonzero(beta)
    free = support[(beta[support] > lower[support]) & (beta[support] < upper[support])]
    bound = np.setdiff1d(support, free)
    if not len(free):
        out[support] -= beta[support] * _from_mean(K, support, support)
        return out
    A = K[np.ix_(free, free)].copy()
    size = float(np.abs(np.diagonal(A)).max()) or 1.0
    A[np.diag_indices_from(A)] += _BLUR * size
    A += size  # a constant moves no affine distance, and makes conditionally definite blocks definite
    factor = safe_cholesky(A)
    one = factor.solve(np.ones(len(free)))
    total = float(one.sum())
    diagonal = np.diagonal(factor.solve(np.eye(len(free)))) - one**2 / total
    if len(free) > 1:
        out[free] -= beta[free] / diagonal
    else:  # no other free one is left to span anything: the distance from the mean of the support vectors
        out[free] -= beta[free] * _from_mean(K, free, support)
    if len(bound):
        V = K[np.ix_(free, bound)] + size
        squares = np.diagonal(K)[bound] + size - np.einsum("ij,ij->j", V, factor.solve(V))
        squares += np.square(1.0 - one @ V) / total
        out[bound] -= beta[bound] * np.maximum(squares, 0.0)
    return out


def _from_mean(K: Floats, rows: Indices, support: Indices) -> Floats:
    """Squared distances of some samples from the mean of the support vectors."""
    mean = K[np.ix_(rows, support)].mean(axis=1)
    squares = np.diagonal(K)[rows] - 2.0 * mean + K[np.ix_(support, support)].mean()
    return np.maximum(squares, 0.0)


def span_bound(K: Any, sign: Any, beta: Any, C: float) -> Bools:
    r"""Say which samples a support vector machine without them may get wrong: no other one is, by the span theorem.

    .. math:: \alpha_p S_p \max(D, 1 / \sqrt C) \ge 1 \quad\text{for all errors } p \in F, \qquad
        S_p^2 = \min_\lambda \Bigl\| \phi(x_p) - \sum_{i \in F \setminus p} \lambda_i \phi(x_i) \Bigr\|^2, \quad
        \sum_i \lambda_i = 1, \; 0 \le \alpha_i + y_i y_p \alpha_p \lambda_i \le C

    All support vectors at their bound may be wrong, and no sample that is no support vector. The share of these samples
    is a bound on the leave-one-out error, where `span_rule` is an estimate of it.

    Seed: [SS] Section 5, the span bound.

    Parameters
    ----------
    K : (n, n) array
        Gram matrix, positive definite.
    sign : (n,) array
        +1 and -1.
    beta : (n,) array
        Signed coefficients y_i alpha_i of the machine with a bias.
    C : float
        The cost of an error, positive.

    Returns
    -------
    (n,) array of bool

    Notes
    -----
    D is the diameter of the smallest ball around the samples. Of one free support vector there is no span: it counts as
    a possible error. Cost one quadratic problem of the free support vectors for each of them.

    References
    ----------
    Vapnik and Chapelle (2000), Bounds on error expectation for support vector machines, Theorem 2.

    Examples
    --------
    >>> x = np.array([-3.0, -1.0, 1.0, 3.0])
    >>> span_bound(np.outer(x, x), np.sign(x), np.array([0.0, -0.5, 0.5, 0.0]), 10.0)  # the two inner ones carry it
    array([False,  True,  True, False])
    """
    K, y, b = real_numbers(K, "K"), real_numbers(sign, "sign"), real_numbers(beta, "beta")
    a = np.abs(b)
    near = _BLUR * C
    free = np.flatnonzero((a > near) & (a < C - near))
    wrong = a >= C - near
    reach = max(2.0 * float(np.sqrt(smallest_ball(K).radius2)), 1.0 / float(np.sqrt(C)))
    for p in free:
        rest = free[free != p]
        wrong[p] = not len(rest) or a[p] * np.sqrt(_span(K, y, a, C, int(p), rest)) * reach >= 1.0 - _SLACK
    return wrong


def _span(K: Floats, y: Floats, a: Floats, C: float, p: int, rest: Indices) -> float:
    """Return S_p^2 over the free support vectors besides p, within what their coefficients allow."""
    same = y[rest] == y[p]
    low = np.where(same, -a[rest], a[rest] - C) / a[p]
    high = np.where(same, C - a[rest], a[rest]) / a[p]
    room = float(high.sum())
    if not room >= 1.0:  # only rounding leaves none
        return float("inf")
    weight = high / room
    A = np.ascontiguousarray(K[np.ix_(rest, rest)])
    scale = float(np.abs(np.diagonal(A)).max()) or 1.0
    A = A / scale
    column = K[rest, p] / scale
    settle(A, A @ weight - column, weight, (low, high), _EXACT)
    return max(0.0, scale * float(weight @ A @ weight - 2.0 * weight @ column) + float(K[p, p]))
