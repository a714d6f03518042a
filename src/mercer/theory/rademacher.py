r"""Rademacher averages: how well the functions of a class can follow random signs.

Symbols: m samples z_i, sigma_i = +-1 independent signs, F a class of functions, H one that is closed under negation.
The convention is that of [ST], with the factor 2 / m inside:

    R_m(F) = E sup_f (2 / m) sum_i sigma_i f(z_i);

[HSS] has 1 / n inside and writes the 2 where it is used, so that its averages are half of these.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mercer.arguments import SEED, Callback, answer_of, checked, real_array, require_squares, require_symmetric
from mercer.arrays import Floats, real_numbers
from mercer.constraints import Boolean, Integer
from mercer.domains import Vectors
from mercer.errors import DomainError, ParameterError
from mercer.theory.bound import COUNT, DELTA, NUMBER, SIZE, WIDTH, Bound, Term

__all__ = [
    "Average",
    "ball_correlation",
    "contracted_rademacher",
    "empirical_rademacher_bound",
    "finite_rademacher",
    "gaussian_average",
    "hull_correlation",
    "hull_rademacher",
    "kernel_ball_rademacher",
    "linear_rademacher",
    "offset_rademacher",
    "rademacher_average",
    "rademacher_bound",
    "stump_correlation",
    "union_correlation",
    "union_rademacher",
]
__public__ = __all__

_ROUNDING = 1e-10  # per sample: how far below zero an eigenvalue may lie, relative to the largest entry
_BLOCK = 256  # sets of signs at a time


class Average(NamedTuple):
    """A mean over random draws.

    Attributes
    ----------
    value : float
    error : float
        Its standard error.
    draws : int

    Examples
    --------
    >>> Average(0.5, 0.01, 100).value
    0.5
    """

    value: float
    error: float
    draws: int


# the theorems -------------------------------------------------------------------------------------------------


@checked(risk=NUMBER, complexity=SIZE, n=COUNT, delta=DELTA, width=WIDTH)
def rademacher_bound(risk: float, complexity: float, n: int, delta: float = 0.05, *, width: float = 1.0) -> Bound:
    r"""Bound the expectation of every function of a class by its mean and the expected Rademacher complexity.

    .. math:: E[f(z)] \le \hat E[f(z)] + R_m(F) + \sqrt{\frac{\ln(1/\delta)}{2m}}

    Seed: [ST] "Main Rademacher theorem"; [HSS] Eq. (91) with its 2 R_n, for functions with values in [0, B].

    Parameters
    ----------
    risk : float
        The mean over the sample.
    complexity : float
        R_m(F), with the factor 2 / m.
    n : int
        m.
    delta : float, default 0.05
    width : float, default 1.0
        Length of an interval that contains the values of all functions.

    Examples
    --------
    >>> float(round(rademacher_bound(0.1, 0.2, 200, 0.05), 4))
    0.3865
    """
    rest = width * math.sqrt(math.log(1.0 / delta) / (2.0 * n))
    terms = [
        Term("mean on the sample", "mean of f", float(risk)),
        Term("complexity", "R_m(F)", float(complexity)),
        Term("confidence", "sqrt(ln(1 / delta) / (2 m))", rest),
    ]
    return Bound.of_terms("Rademacher", "E f", terms, delta, unpaid=("the class",), trivial=width)


@checked(risk=NUMBER, complexity=SIZE, n=COUNT, delta=DELTA, width=WIDTH)
def empirical_rademacher_bound(
    risk: float, complexity: float, n: int, delta: float = 0.05, *, width: float = 1.0
) -> Bound:
    r"""Bound the expectation of every function of a class by what is seen on the sample alone.

    .. math:: E[f(z)] \le \hat E[f(z)] + \hat R_m(F) + 3 \sqrt{\frac{\ln(2/\delta)}{2m}}

    Seed: [ST] "Empirical Rademacher theorem".

    Parameters
    ----------
    risk, n, delta, width
        As in `rademacher_bound`.
    complexity : float
        The empirical complexity, with the factor 2 / m, for instance `kernel_ball_rademacher`.

    Examples
    --------
    >>> float(round(empirical_rademacher_bound(0.1, 0.2, 200, 0.05), 4))
    0.5881
    """
    terms = [
        Term("mean on the sample", "mean of f", float(risk)),
        Term("complexity", "R^_m(F)", float(complexity)),
        confidence(n, delta, width),
    ]
    return Bound.of_terms("empirical Rademacher", "E f", terms, delta, unpaid=("the class",), trivial=width)


def confidence(n: int, delta: float, width: float = 1.0, formula: str = "3 sqrt(ln(2 / delta) / (2 m))") -> Term:
    """Return the last term of the empirical theorem."""
    return Term("confidence", formula, 3.0 * width * math.sqrt(math.log(2.0 / delta) / (2.0 * n)))


# closed forms -------------------------------------------------------------------------------------------------


@checked(norm=SIZE)
def kernel_ball_rademacher(diagonal: Any, norm: float = 1.0) -> float:
    r"""Bound the empirical Rademacher complexity of the ball of functions of norm B in the space of a kernel.

    .. math:: \hat R_m(F_B) \le \frac{2B}{m} \sqrt{\sum_i k(x_i, x_i)} = \frac{2B}{m} \sqrt{\operatorname{tr} K}

    Seed: [ST] "Rademacher complexity of FB"; [HSS] Eq. (92), which bounds the expectation by n^-1/2 r, r^2 = E k(x, x).

    Parameters
    ----------
    diagonal : (m,) array
        k(x_i, x_i).
    norm : float, default 1.0
        B.

    Notes
    -----
    By the Khintchine-Kahane inequality the average itself (`rademacher_average` of `ball_correlation`) is at least
    this bound divided by sqrt(2); where K is diagonal the two are equal.

    Examples
    --------
    >>> kernel_ball_rademacher(np.ones(100))  # a Gaussian kernel: 2 / sqrt(m)
    0.2
    """
    found = real_array(diagonal, "diagonal", 1)
    if (found < 0.0).any():
        raise DomainError(
            f"k(x, x) = {found.min():g} was given; those of a positive definite kernel are not negative. Give the "
            "diagonal of a positive definite kernel."
        )
    return 2.0 * norm / len(found) * math.sqrt(float(found.sum()))


@checked(count=COUNT, n=COUNT, radius=SIZE)
def finite_rademacher(count: int, n: int, radius: float = 1.0) -> float:
    r"""Bound the empirical Rademacher complexity of finitely many functions: it grows with the root of a logarithm.

    .. math:: \hat R_m(\{f_1, \dots, f_N\}) \le 2 r \sqrt{\frac{2 \ln N}{m}}

    Seed: none of the five; Massart's lemma, by which [HSS] Section 3.2.2 bounds the offset.

    Parameters
    ----------
    count : int
        N.
    n : int
        m.
    radius : float, default 1.0
        r, the largest root mean square of any function over the sample.

    Examples
    --------
    >>> round(finite_rademacher(2, 100), 4)  # the offset of [HSS]: 2 sqrt(2 ln 2 / m)
    0.2355
    """
    return 2.0 * radius * math.sqrt(2.0 * math.log(count) / n)


@checked(n=COUNT)
def union_rademacher(traces: Any, n: int) -> float:
    r"""Bound the Rademacher complexity of the union of the unit balls of N kernels, for the sample at hand.

    .. math:: \hat R_m \Bigl( \bigcup_t F_t \Bigr) \le \frac2m \max_t \sqrt{\operatorname{tr} K_t}
        \, \bigl(1 + \sqrt{2 \ln N}\bigr)

    Seed: none of the five has this form; [ST] "Bounding MKL" has `mkl_rademacher`, which holds with high probability.
    The length of :math:`\sum_i \sigma_i \phi_t(x_i)` has mean :math:`\sqrt{\operatorname{tr} K_t}` at most and changes
    by :math:`2 \sqrt{k_t(x_i, x_i)}` with a sign, so that the largest of N is sub-Gaussian about it.

    Parameters
    ----------
    traces : (N,) array
        tr K_t.
    n : int
        m.

    Examples
    --------
    >>> round(union_rademacher([100.0], 100), 4), round(union_rademacher([100.0] * 10, 100), 4)
    (0.2, 0.6292)
    """
    sizes = real_array(traces, "traces", 1)
    if not len(sizes) or (sizes < 0.0).any():
        raise DomainError(
            f"traces has {len(sizes)} values, the smallest {sizes.min(initial=np.inf):g}; the trace of each K_t, zero "
            "or more, is needed. Give at least one."
        )
    return 2.0 / n * math.sqrt(float(sizes.max())) * (1.0 + math.sqrt(2.0 * math.log(len(sizes))))


@checked(bound=SIZE, n=COUNT)
def offset_rademacher(bound: float, n: int) -> float:
    r"""Bound the Rademacher complexity of constants up to B in absolute value: what a bias term costs.

    .. math:: R_m(\{b : |b| \le B\}) \le 2 B \sqrt{\frac{2 \ln 2}{m}}

    Seed: [HSS] Section 3.2.2, where it is half of this since the 2 is written outside.

    Parameters
    ----------
    bound : float
        B.
    n : int

    Notes
    -----
    The sum is linear in b, so only the two ends of the interval matter: it is a class of two functions.

    Examples
    --------
    >>> round(offset_rademacher(1.0, 100), 4)
    0.2355
    """
    return finite_rademacher(2, n, bound)


@checked(complexity=SIZE, lipschitz=SIZE, absolute=Boolean())
def contracted_rademacher(complexity: float, lipschitz: float = 1.0, *, absolute: bool = False) -> float:
    r"""Bound the Rademacher complexity of a class after a Lipschitz function: it grows at most by the steepest slope.

    .. math:: R_m(\psi \circ F) \le L \, R_m(F)

    Seed: [HSS] Section 3.2.2; [ST] "Empirical loss and slack variables", which has 2 L.

    Parameters
    ----------
    complexity : float
        R_m(F).
    lipschitz : float, default 1.0
        L.
    absolute : bool, default False
        Whether the averages are of absolute values, as in [ST]; the factor is then 2 L.

    Examples
    --------
    >>> contracted_rademacher(0.1, 4.0), contracted_rademacher(0.1, 4.0, absolute=True)
    (0.4, 0.8)
    """
    return (2.0 if absolute else 1.0) * lipschitz * complexity


@checked(complexity=SIZE, bound=SIZE)
def hull_rademacher(complexity: float, bound: float = 1.0) -> float:
    r"""Bound the empirical Rademacher complexity of sums of functions of H with weights that sum to B at most.

    .. math:: \hat R_m(\operatorname{conv}_B(H)) \le B \, \hat R_m(H)

    Seed: [ST] "Rademacher complexity of convex hulls".

    Parameters
    ----------
    complexity : float
        The complexity of H, which is closed under negation.
    bound : float, default 1.0
        B.

    Examples
    --------
    >>> hull_rademacher(0.25, 2.0)
    0.5
    """
    return bound * complexity


@checked(n=COUNT, norm=SIZE, radius=SIZE, offset=SIZE, lipschitz=SIZE)
def linear_rademacher(n: int, norm: float, radius: float, offset: float = 0.0, lipschitz: float = 1.0) -> float:
    r"""Bound the Rademacher complexity of a loss of linear functions with a bias: contraction, ball and offset.

    .. math:: R_m \le \frac{2L}{\sqrt m} \left( W r + B \sqrt{2 \ln 2} \right)

    Seed: [HSS] Section 3.2.2, where it is half of this since the 2 is written outside; complexities of sums of classes
    add at most.

    Parameters
    ----------
    n : int
    norm : float
        W, the largest norm of the weights.
    radius : float
        r, the root of the mean of k(x, x).
    offset : float, default 0.0
        B, the largest absolute value of the bias.
    lipschitz : float, default 1.0
        L, of the loss.

    Examples
    --------
    >>> round(linear_rademacher(100, 1.0, 1.0, offset=1.0), 4)
    0.4355
    """
    return lipschitz * (2.0 * norm * radius / math.sqrt(n) + offset_rademacher(offset, n))


# by Monte Carlo -----------------------------------------------------------------------------------------------

Correlation = Callable[[Floats], Floats]


@checked(best=Callback(), n=COUNT, draws=Integer(2), random_state=SEED)
def rademacher_average(best: Correlation, n: int, draws: int = 1000, random_state: Any = None) -> Average:
    r"""Estimate the empirical Rademacher complexity of any class that can say how well it follows given signs.

    .. math:: \hat R_m(F) = E_\sigma \sup_{f \in F} \frac2m \sum_i \sigma_i f(z_i)

    Seed: [ST] "Empirical Rademacher theorem".

    Parameters
    ----------
    best : function
        Takes an array (n, r) of r sets of signs and returns r numbers, sup_f sum_i sigma_i f(z_i) for each; see
        `ball_correlation`, `stump_correlation`, `union_correlation`, `hull_correlation`.
    n : int
        m.
    draws : int, default 1000
        Number of sets of signs.
    random_state : int or generator, optional

    Returns
    -------
    average : Average
        Mean, standard error and the number of draws.

    Examples
    --------
    >>> average = rademacher_average(ball_correlation(np.eye(100)), 100, 50, 0)
    >>> round(average.value, 12), round(average.error, 12)
    (0.2, 0.0)
    """
    rng = np.random.default_rng(random_state)
    return _average(best, n, draws, lambda shape: rng.choice(np.array([-1.0, 1.0]), size=shape))


@checked(best=Callback(), n=COUNT, draws=Integer(2), random_state=SEED)
def gaussian_average(best: Correlation, n: int, draws: int = 1000, random_state: Any = None) -> Average:
    r"""Estimate the Gaussian average of a class: the same as the Rademacher average, with normal numbers for signs.

    .. math:: \hat G_m(F) = E_g \sup_{f \in F} \frac2m \sum_i g_i f(z_i), \qquad
        \hat R_m(F) \le \sqrt{\pi / 2} \, \hat G_m(F)

    Seed: [HSS] Section 3.2.

    Parameters
    ----------
    best, n, draws, random_state
        As in `rademacher_average`.

    Examples
    --------
    >>> average = gaussian_average(ball_correlation(np.eye(100)), 100, 1000, 0)
    >>> abs(average.value - 0.2) < 0.01
    True
    """
    rng = np.random.default_rng(random_state)
    return _average(best, n, draws, lambda shape: rng.normal(size=shape))


def _average(best: Correlation, n: int, draws: int, draw: Callable[[tuple[int, int]], Floats]) -> Average:
    found = []
    for start in range(0, draws, _BLOCK):
        count = min(_BLOCK, draws - start)
        found.append(2.0 / n * _answers(best, draw((n, count))))
    values = np.concatenate(found)
    return Average(float(values.mean()), float(values.std(ddof=1) / math.sqrt(draws)), draws)


def _answers(best: Correlation, signs: Floats) -> Floats:
    """Return what a function returns for signs, checked to be one finite number per column."""
    given = answer_of(
        best, signs, who="best", takes="an array (n, r) of signs, and returns r numbers", error=ParameterError
    )
    values = real_numbers(given, "the result of best")
    if values.shape != signs.shape[1:] or not np.isfinite(values).all():
        raise ParameterError(
            f"best returned an array of shape {values.shape} for signs of shape {signs.shape}, or numbers that are not "
            f"finite; one number for each column is accepted, {signs.shape[1:]}. Give a function that returns the "
            "largest sum for every column of the signs."
        )
    return values


@checked(norm=SIZE)
def ball_correlation(K: Any, norm: float = 1.0) -> Correlation:
    r"""Return how well the ball of a kernel follows signs: B sqrt(sigma' K sigma).

    .. math:: \sup_{\|w\| \le B} \Bigl\langle w, \sum_i \sigma_i \phi(x_i) \Bigr\rangle = B \sqrt{\sigma^\top K \sigma}

    Seed: [ST] "Rademacher complexity of FB"; [HSS] before Eq. (92).

    Parameters
    ----------
    K : (n, n) array
        Gram matrix of the sample.
    norm : float, default 1.0
        B.

    Returns
    -------
    best : function
        For `rademacher_average`.

    Examples
    --------
    >>> best = ball_correlation(np.eye(4), 2.0)
    >>> best(np.ones((4, 1)))
    array([4.])
    """
    matrix = real_array(K, "K", 2)
    if matrix.shape[0] != matrix.shape[1]:
        raise DomainError(
            f"K has shape {matrix.shape}; a Gram matrix is square. Give K of the samples with themselves."
        )
    require_symmetric(matrix, "K")
    require_squares(matrix, "K")
    _require_definite(matrix)

    def best(signs: Floats) -> Floats:
        _require_signs(signs, len(matrix))
        return norm * np.sqrt(np.maximum(np.einsum("ij,ij->j", signs, matrix @ signs), 0.0))

    return best


def _require_definite(matrix: Floats) -> None:
    largest = float(np.abs(matrix).max())
    try:
        if largest > 0.0:
            np.linalg.cholesky(matrix / largest + _ROUNDING * len(matrix) * np.eye(len(matrix)))
    except np.linalg.LinAlgError:
        raise DomainError(
            "K is not positive definite, as the Gram matrix of a kernel is; other matrices have no ball. Use a "
            "positive definite kernel, such as Gaussian()."
        ) from None


def _require_signs(signs: Floats, n: int) -> None:
    if len(signs) != n:
        raise ParameterError(f"signs of {len(signs)} samples were given to a class on {n}; give n={n}. Give one each.")


def stump_correlation(X: Any) -> Correlation:
    r"""Return how well decision stumps follow signs: functions that are 1 on one side of a threshold, -1 beyond it.

    .. math:: \sup_{j, \theta, \pm} \pm \sum_i \sigma_i \operatorname{sgn}(x_{ij} - \theta)

    Seed: [ST] "Application to Boosting", of which stumps are the usual weak learners.

    Parameters
    ----------
    X : (n, d) array

    Examples
    --------
    >>> best = stump_correlation([[0.0], [1.0], [2.0]])
    >>> best(np.array([[-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]]))
    array([3., 1.])
    """
    packed = Vectors.pack(X).X
    table = packed if isinstance(packed, np.ndarray) else packed.toarray()
    columns = []
    for values in table.T:
        order = np.argsort(values, kind="stable")
        ends = np.append(np.diff(values[order]) > 0.0, True)  # a threshold does not separate equal values
        columns.append((order, np.flatnonzero(ends)))

    def best(signs: Floats) -> Floats:
        _require_signs(signs, len(table))
        total = signs.sum(axis=0)
        found = np.abs(total)  # a threshold below all
        for order, ends in columns:
            below = np.cumsum(signs[order], axis=0)[ends]
            found = np.maximum(found, np.abs(total - 2.0 * below).max(axis=0))
        return found

    return best


def union_correlation(*parts: Correlation) -> Correlation:
    """Return how well the union of several classes follows signs: as well as the best of them.

    Seed: [ST] "Multiple kernel learning", the union of the balls of several kernels.

    Parameters
    ----------
    *parts : functions
        As `ball_correlation` returns.

    Examples
    --------
    >>> best = union_correlation(ball_correlation(np.eye(4)), ball_correlation(4.0 * np.eye(4)))
    >>> best(np.ones((4, 1)))
    array([4.])
    """
    if not parts or not all(callable(part) for part in parts):
        raise ParameterError(
            f"union_correlation was given {parts!r:.200}; at least one function of signs is accepted, as "
            "ball_correlation returns. Give union_correlation(ball_correlation(K1), ball_correlation(K2))."
        )
    return lambda signs: np.max([_answers(part, signs) for part in parts], axis=0)


@checked(best=Callback(), bound=SIZE)
def hull_correlation(best: Correlation, bound: float = 1.0) -> Correlation:
    r"""Return how well sums of functions of a class, with weights that sum to B at most, follow signs.

    .. math:: \sup_{a \ge 0, \sum a \le B} \sum_j a_j \sum_i \sigma_i h_j(z_i) =
        B \max\Bigl( \sup_{h \in H} \sum_i \sigma_i h(z_i), 0 \Bigr)

    Seed: [ST] "Rademacher complexity of convex hulls".

    Parameters
    ----------
    best : function
        The same for H, as `stump_correlation` returns.
    bound : float, default 1.0
        B.

    Examples
    --------
    >>> best = hull_correlation(stump_correlation([[0.0], [1.0]]), 3.0)
    >>> best(np.array([[1.0], [-1.0]]))
    array([6.])
    """
    return lambda signs: bound * np.maximum(_answers(best, signs), 0.0)
