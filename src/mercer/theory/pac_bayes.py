r"""PAC-Bayes bounds: what is true of functions drawn at random around the fitted one.

Symbols: m samples, P a distribution over functions chosen before the data (the prior), Q any distribution chosen after
(the posterior), q the error of functions drawn from Q on the sample and p beyond it, kl the divergence of two coins.

The Gibbs classifier draws a new function from Q for each sample. The deterministic one takes the majority of Q; it
errs only where at least half of Q does, so its error is at most twice that of the Gibbs classifier. For a Gaussian Q
around w the majority is the sign of <w, phi(x)>: the machine itself.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.linalg
from scipy.special import ndtr

from mercer.arguments import checked, real_array, require_squares, require_symmetric
from mercer.arrays import Floats
from mercer.constraints import Boolean, Integer, Interval
from mercer.errors import DomainError, ParameterError
from mercer.theory.bound import COUNT, DELTA, SHARE, SIZE, Bound, Term

__all__ = [
    "binary_kl",
    "gibbs_error",
    "kl_inverse",
    "pac_bayes_bound",
    "process_divergence",
    "process_pac_bayes",
    "prior_pac_bayes",
    "svm_pac_bayes",
]
__public__ = __all__

_SCALES = np.exp(np.linspace(math.log(1e-2), math.log(1e4), 241))  # of the mean of Q; all of them hold at once
_PRIOR_SCALES = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0)  # of the mean of P; the bound pays for their number


@checked(q=SHARE, p=SHARE)
def binary_kl(q: float, p: float) -> float:
    r"""Return the divergence of a coin with probability q from one with p.

    .. math:: \operatorname{kl}(q \| p) = q \ln \frac qp + (1 - q) \ln \frac{1 - q}{1 - p}

    Seed: none of the five; as in Langford (2005).

    Parameters
    ----------
    q, p : float
        Between 0 and 1.

    Examples
    --------
    >>> round(binary_kl(0.0, 0.5), 6), binary_kl(0.25, 0.25)  # ln 2
    (0.693147, 0.0)
    """
    return max(float(_divergences(np.array([q]), np.array([p]))[0]), 0.0)


@checked(q=SHARE, most=SIZE)
def kl_inverse(q: float, most: float) -> float:
    r"""Return the largest p whose coin is within a divergence of that of q.

    .. math:: \max \{ p : \operatorname{kl}(q \| p) \le c \}

    Seed: none of the five; as in Langford (2005).

    Parameters
    ----------
    q : float
    most : float
        c.

    Examples
    --------
    >>> round(kl_inverse(0.0, 0.1), 6)  # 1 - exp(-0.1)
    0.095163
    """
    return float(_inverse(np.array([q]), np.array([most]))[0])


def _divergences(q: Floats, p: Floats) -> Floats:
    """Return kl of arrays of probabilities."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(q > 0.0, q * (np.log(q) - np.log(p)), 0.0) + np.where(
            q < 1.0, (1.0 - q) * (np.log1p(-q) - np.log1p(-p)), 0.0
        )


def _inverse(q: Floats, most: Floats) -> Floats:
    """Return the largest p for each q, by bisection: the upper end, since rounding must not make a bound smaller."""
    low, high = np.array(q, dtype=float), np.ones(len(q))
    for _ in range(60):
        middle = 0.5 * (low + high)
        beyond = _divergences(q, middle) > most
        high, low = np.where(beyond, middle, high), np.where(beyond, low, middle)
    return high


@checked(gibbs=SHARE, divergence=SIZE, n=COUNT, delta=DELTA, deterministic=Boolean())
def pac_bayes_bound(
    gibbs: float, divergence: float, n: int, delta: float = 0.05, *, deterministic: bool = False
) -> Bound:
    r"""Bound the error of functions drawn from Q by their error on the sample and the divergence of Q from P.

    .. math:: \operatorname{kl}(\hat e_Q \| e_Q) \le \frac{\mathrm{KL}(Q \| P) + \ln(2 \sqrt m / \delta)}{m}

    Seed: none of the five; Langford (2005), Maurer (2004).

    Parameters
    ----------
    gibbs : float
        Error of functions drawn from Q on the sample.
    divergence : float
        KL(Q | P).
    n : int
        m, samples that took no part in the choice of P.
    delta : float, default 0.05
    deterministic : bool, default False
        Whether the error of the majority of Q is bounded, by twice that of the Gibbs classifier.

    Notes
    -----
    It holds for all Q at once: Q may be chosen after looking at the data, at no further cost.

    Examples
    --------
    >>> float(round(pac_bayes_bound(0.05, 20.0, 1000), 4))
    0.1173
    """
    rest = _price(n, delta)
    value = kl_inverse(gibbs, (divergence + rest) / n)
    terms = [
        Term("Gibbs error", "mean over Q and the sample", float(gibbs)),
        Term("divergence", "KL(Q | P) / m", divergence / n),
        Term("confidence", "ln(2 sqrt(m) / delta) / m", rest / n),
    ]
    inverse = "max {p : kl(Gibbs error | p) <= divergence + confidence}"
    formula = f"2 x {inverse}" if deterministic else inverse
    what = "P(error)" if deterministic else "P(error) of the Gibbs classifier"
    factor = 2.0 if deterministic else 1.0
    return Bound(factor * value, "PAC-Bayes", what, terms, delta, formula=formula, unpaid=("the prior",))


@checked(scale=SIZE)
def gibbs_error(margins: Any, scale: float) -> float:
    r"""Return the error on the sample of hyperplanes drawn around one: normal, with covariance one and mean scale w.

    .. math:: \hat e_Q = \frac1m \sum_i \Phi(-\mu \, t_i), \qquad
        t_i = \frac{y_i \langle w, \phi(x_i) \rangle}{\|w\| \|\phi(x_i)\|}

    Seed: none of the five; Langford and Shawe-Taylor (2002).

    Parameters
    ----------
    margins : (m,) array
        t_i, cosines between -1 and 1.
    scale : float
        mu.

    Examples
    --------
    >>> gibbs_error([0.5, -0.5], 1.0), gibbs_error([1.0, 1.0], 0.0)
    (0.5, 0.5)
    """
    return float(ndtr(-scale * real_array(margins, "margins", 1)).mean())


def _price(n: int, delta: float) -> float:
    """Return ln(2 sqrt(m) / delta)."""
    return math.log(2.0 * math.sqrt(n) / delta)


def _shared(bound: Bound, count: int) -> tuple[Term, ...]:
    """Return the terms of a bound that is one of several, with its share of delta in words."""
    text = f"ln(2 sqrt(m) / (delta p)) / m, p = {1.0 / count:.3g}"
    return tuple(one._replace(formula=text) if count > 1 and one.name == "confidence" else one for one in bound.terms)


def _gibbs_errors(margins: Floats) -> Floats:
    """Return the error on the sample at all scales."""
    return np.array([float(ndtr(-scale * margins).mean()) for scale in _SCALES])


def _cosines(margins: Any) -> Floats:
    found = real_array(margins, "margins", 1)
    if np.abs(found).max() > 1.0 + 1e-6:
        raise DomainError(
            f"a margin of {np.abs(found).max():g} was given; they are cosines, y f(x) over the norms of f and of "
            "phi(x), which are at most 1. Divide by both norms."
        )
    return found


@checked(delta=DELTA, deterministic=Boolean(), choices=COUNT, outside=Integer(0))
def svm_pac_bayes(
    margins: Any, delta: float = 0.05, *, deterministic: bool = True, choices: int = 1, outside: int = 0
) -> Bound:
    r"""Bound the error probability of a support vector machine by PAC-Bayes, with a prior around zero.

    .. math:: \operatorname{kl}\Bigl( \frac1m \sum_i \Phi(-\mu t_i) \Bigm\| e \Bigr) \le
        \frac{\mu^2 / 2 + \ln(2 N \sqrt m / \delta)}{m}

    minimised over mu, which costs nothing.

    Seed: none of the five; Langford and Shawe-Taylor (2002). The kernel machine is that of [ST] "Final SVM bound".

    Parameters
    ----------
    margins : (m,) array
        Cosines y_i f(x_i) / (\|f\| \|phi(x_i)\|). A bias is one more feature of constant size s, fixed in advance: then
        \|f\|^2 is \|w\|^2 + b^2 / s^2, and \|phi(x)\|^2 is k(x, x) + s^2.
    delta : float, default 0.05
    deterministic : bool, default True
        Whether the machine itself is bounded, by twice the Gibbs classifier.
    choices : int, default 1
        N, the number of kernels among which one was chosen on the same data.
    outside : int, default 0
        Further samples that this machine does not decide, because they are of neither of its two classes: they count
        in m, but not as errors. The error bounded is then that a sample is of one of the two classes and on the wrong
        side; summed over the machines of all pairs of classes, these bounds bound the error of their vote.

    Notes
    -----
    Neither C nor the norm nor the margin need be paid for: the bound holds for all Q at once.

    Examples
    --------
    >>> bound = svm_pac_bayes(np.full(1000, 0.5))
    >>> float(round(bound, 3)), bound.is_vacuous
    (0.061, False)
    """
    t = _cosines(margins)
    m, level = len(t) + outside, delta / choices
    errors = len(t) / m * _gibbs_errors(t)
    place = int(np.argmin(_inverse(errors, (0.5 * _SCALES**2 + _price(m, level)) / m)))
    mu = float(_SCALES[place])
    bound = pac_bayes_bound(float(errors[place]), 0.5 * mu**2, m, level, deterministic=deterministic)
    paid = ["scale, margin and norm: it holds for all at once"]
    paid += [f"the choice between {choices} kernels"] if choices > 1 else []
    unpaid = ("the kernel" if choices == 1 else f"the {choices} kernels that were tried",)
    terms = (*_shared(bound, choices), Term("scale", "mu of the posterior; divergence = mu^2 / (2 m)", mu))
    name, formula = "PAC-Bayes, prior at zero", bound.formula
    return Bound(float(bound), name, bound.bounds, terms, delta, formula=formula, paid=paid, unpaid=unpaid)


@checked(cosine=Interval(-1.0, 1.0), delta=DELTA, deterministic=Boolean(), choices=COUNT)
def prior_pac_bayes(
    margins: Any, cosine: float, delta: float = 0.05, *, deterministic: bool = True, choices: int = 1
) -> Bound:
    r"""Bound the error probability of a support vector machine by PAC-Bayes, with a prior learned on other samples.

    .. math:: \mathrm{KL} = \tfrac12 \| \mu \hat w - \eta \hat w_0 \|^2 =
        \tfrac12 (\mu^2 + \eta^2 - 2 \mu \eta \langle \hat w, \hat w_0 \rangle)

    Seed: none of the five; Ambroladze, Parrado-Hernandez and Shawe-Taylor (2007).

    Parameters
    ----------
    margins : (m,) array
        Cosines as in `svm_pac_bayes`, at samples on which w_0 was not fitted; w may have been.
    cosine : float
        <w, w_0> over their norms, with the bias as a feature.
    delta, deterministic, choices
        As in `svm_pac_bayes`.

    Notes
    -----
    eta is one of eight values from 1 to 200, a choice that is paid for; mu costs nothing.

    Examples
    --------
    >>> margins = np.full(500, 0.2)
    >>> bound = prior_pac_bayes(margins, 0.99)
    >>> bool(bound < svm_pac_bayes(np.full(1000, 0.2)))
    True
    """
    t = _cosines(margins)
    level = delta / (choices * len(_PRIOR_SCALES))
    mu, eta = (grid.ravel() for grid in np.meshgrid(_SCALES, _PRIOR_SCALES))
    divergence = 0.5 * np.maximum(mu**2 + eta**2 - 2.0 * mu * eta * cosine, 0.0)
    errors = np.tile(_gibbs_errors(t), len(_PRIOR_SCALES))
    place = int(np.argmin(_inverse(errors, (divergence + _price(len(t), level)) / len(t))))
    found = pac_bayes_bound(float(errors[place]), float(divergence[place]), len(t), level, deterministic=deterministic)
    paid = ["scale, margin and norm: it holds for all at once", f"the best of {len(_PRIOR_SCALES)} scales of the prior"]
    paid += [f"the choice between {choices} kernels"] if choices > 1 else []
    unpaid = ("the kernel" if choices == 1 else f"the {choices} kernels that were tried",)
    terms = (
        *_shared(found, choices * len(_PRIOR_SCALES)),
        Term("scales", f"mu of the posterior; eta = {eta[place]:g} of the prior", float(mu[place])),
    )
    name, formula = "PAC-Bayes, learned prior", found.formula
    return Bound(float(found), name, found.bounds, terms, delta, formula=formula, paid=paid, unpaid=unpaid)


# Gaussian processes -------------------------------------------------------------------------------------------


def process_divergence(mean: Any, covariance: Any, K: Any) -> float:
    r"""Return the divergence of a Gaussian process posterior from its prior, as seen by the training samples.

    .. math:: \mathrm{KL} = \tfrac12 \left( \ln\det K - \ln\det \Sigma + \operatorname{tr}(K^{-1} \Sigma) +
        \mu^\top K^{-1} \mu - m \right)

    Seed: none of the five; Seeger (2002). Posterior and prior agree given the values at the training samples, so that
    this is the divergence of the whole processes.

    Parameters
    ----------
    mean : (m,) array
        mu, of the latent function at the training samples.
    covariance : (m, m) array
        Sigma.
    K : (m, m) array
        Covariance of the prior.

    Examples
    --------
    >>> process_divergence([1.0], [[1.0]], [[1.0]])
    0.5
    """
    mu, S, prior = real_array(mean, "mean", 1), real_array(covariance, "covariance", 2), real_array(K, "K", 2)
    require_squares(mu, "mean")
    if S.shape != (len(mu), len(mu)) or prior.shape != S.shape:
        raise ParameterError(
            f"a mean of {len(mu)} values, a covariance of shape {S.shape} and K of shape {prior.shape} were given; "
            "both matrices are square, of the length of the mean. Give all at the training samples."
        )
    require_symmetric(prior, "K")
    require_symmetric(S, "covariance")
    try:
        L, M = np.linalg.cholesky(prior), np.linalg.cholesky(S)
    except np.linalg.LinAlgError:
        raise DomainError(
            "K or the covariance is not positive definite in floating-point numbers; both must be. Leave out equal "
            "samples, or use `process_pac_bayes` with the divergence by another formula."
        ) from None
    A = scipy.linalg.solve_triangular(L, M, lower=True)
    v = scipy.linalg.solve_triangular(L, mu, lower=True)
    logs = 2.0 * float(np.log(np.diag(L)).sum() - np.log(np.diag(M)).sum())
    with np.errstate(over="ignore"):
        return max(0.5 * (logs + float(np.sum(A**2)) + float(np.sum(v**2)) - len(mu)), 0.0)


@checked(divergence=SIZE, delta=DELTA, deterministic=Boolean(), choices=COUNT)
def process_pac_bayes(
    margins: Any, divergence: float, delta: float = 0.05, *, deterministic: bool = True, choices: int = 1
) -> Bound:
    r"""Bound the error probability of a Gaussian process classifier by PAC-Bayes: its posterior is Q, its prior P.

    .. math:: \hat e_Q = \frac1m \sum_i \Phi\left( - \frac{y_i \mu(x_i)}{\sigma(x_i)} \right)

    Seed: none of the five; Seeger (2002).

    Parameters
    ----------
    margins : (m,) array
        y_i mu(x_i) / sigma(x_i): mean over standard deviation of the latent function.
    divergence : float
        As `process_divergence`, or the formula of the approximation that was used.
    delta : float, default 0.05
    deterministic : bool, default True
        Whether the classifier by the sign of the mean is bounded, by twice the Gibbs classifier.
    choices : int, default 1
        N, the number of priors among which one was chosen on the same data.

    Examples
    --------
    >>> float(round(process_pac_bayes(np.full(1000, 3.0), 30.0), 3))
    0.085
    """
    t = real_array(margins, "margins", 1)
    bound = pac_bayes_bound(gibbs_error(t, 1.0), divergence, len(t), delta / choices, deterministic=deterministic)
    unpaid = ("kernel and its parameters" if choices == 1 else f"the {choices} kernels that were tried",)
    paid = ("approximation and posterior: it holds for all at once",)
    name = "PAC-Bayes, Gaussian process"
    terms = _shared(bound, choices)
    return Bound(float(bound), name, bound.bounds, terms, delta, formula=bound.formula, paid=paid, unpaid=unpaid)
