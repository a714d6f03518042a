r"""Vapnik-Chervonenkis bounds: risk, sample size, capacity and confidence.

Symbols: N samples, R_emp the empirical risk, En, Gr and h the capacities of `mercer.theory.capacity`, eta the
probability of failure.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import hypergeom

from mercer.arguments import checked, real_array
from mercer.arrays import Floats
from mercer.constraints import Boolean, Integer
from mercer.errors import ParameterError
from mercer.theory.bound import COUNT, DELTA, SHARE, SIZE, Bound, Term
from mercer.theory.capacity import capacity_chain, hyperplane_dimension

__all__ = [
    "Structure",
    "capacity_bound",
    "luckiness_bound",
    "structural_risk",
    "symmetrized_tail",
    "symmetrized_width",
    "transductive_bound",
    "vc_bound",
    "vc_criterion",
]
__public__ = __all__


@checked(risk=SHARE, n=COUNT, capacity=SIZE, eta=DELTA, printed=Boolean())
def capacity_bound(risk: float, n: int, capacity: float, eta: float = 0.05, *, printed: bool = False) -> Bound:
    r"""Bound the risk of all functions of a class at once by a logarithm of the number of labellings of 2N samples.

    .. math:: R \le R_{\text{emp}}^N + \sqrt{\frac{\operatorname{En}(p, 2N) - \ln(\eta / 4)}{N}} + \frac1N

    Seed: [SS] Eqs. (16) and (17), printed with ln(eta) and without the last term.

    Parameters
    ----------
    risk : float
        R_emp, the share of errors.
    n : int
        N.
    capacity : float
        Capacity on 2N samples: the annealed VC entropy, or ln of the growth function (`vc_entropy`, `sauer_bound`).
    eta : float, default 0.05
    printed : bool, default False
        Whether to compute the formula exactly as printed. It is smaller, and not what Vapnik proves: his theorem has
        eta / 4 and 1 / N, and the logarithm of the mean instead of the mean of the logarithm.

    Examples
    --------
    >>> float(round(capacity_bound(0.1, 1000, 20.0, 0.05, printed=True), 4))  # 0.1 + sqrt((20 + ln 20) / 1000)
    0.2516
    >>> float(round(capacity_bound(0.1, 1000, 20.0, 0.05), 4))
    0.2571
    """
    inside = (capacity - math.log(eta if printed else eta / 4.0)) / n
    eta_text = "eta" if printed else "eta / 4"
    terms = [
        Term("training error", "R_emp", float(risk)),
        Term("capacity", f"sqrt((C(2N) - ln({eta_text})) / N)", math.sqrt(inside)),
    ]
    if not printed:
        terms.append(Term("discreteness", "1 / N", 1.0 / n))
    return Bound.of_terms("capacity", "P(error)", terms, eta, unpaid=("the class",))


@checked(risk=SHARE, n=COUNT, dimension=COUNT, eta=DELTA, printed=Boolean())
def vc_bound(risk: float, n: int, dimension: int, eta: float = 0.05, *, printed: bool = False) -> Bound:
    r"""Bound the risk of all functions of a class at once by its VC dimension.

    .. math:: R \le R_{\text{emp}}^N + \sqrt{\frac{h (\ln(2N / h) + 1) - \ln(\eta / 4)}{N}} + \frac1N

    Seed: [SS] Eq. (18), printed with ln(eta) and without the last term.

    Parameters
    ----------
    risk, n, eta, printed
        As in `capacity_bound`.
    dimension : int
        h.

    Examples
    --------
    >>> float(round(vc_bound(0.1, 1000, 3, 0.05, printed=True), 4))
    0.2597
    """
    return capacity_bound(risk, n, capacity_chain(2 * n, dimension).dimension, eta, printed=printed)


class Structure(NamedTuple):
    """What structural risk minimisation found.

    Attributes
    ----------
    chosen : int
        The set of functions with the smallest bound.
    bounds : (L,) array
        The bound of each set.

    Examples
    --------
    >>> Structure(1, np.array([0.5, 0.4])).chosen
    1
    """

    chosen: int
    bounds: Floats


@checked(n=COUNT, eta=DELTA, printed=Boolean())
def structural_risk(risks: Any, dimensions: Any, n: int, eta: float = 0.05, *, printed: bool = False) -> Structure:
    r"""Choose among nested sets of functions the one whose bound on the risk is smallest.

    .. math:: S_1 \subset S_2 \subset \dots \subset S_L, \qquad
        \min_l \; R_{\text{emp}}^N(\hat f_l) + \text{capacity}(h_l, N, \eta / L)

    Seed: [SS] Eqs. (20), (22)-(24); the sets may be balls in the space of a kernel, Eq. (22).

    Parameters
    ----------
    risks : (L,) array
        Smallest empirical risk in each set.
    dimensions : (L,) array of int
        Capacities h_1 <= h_2 <= ...
    n : int
    eta : float, default 0.05
        For all bounds together: each gets eta / L, so the smallest may be chosen on the same data.
    printed : bool, default False
        As in `vc_bound`, and with eta for each set.

    Examples
    --------
    >>> structural_risk([0.4, 0.1, 0.09], [2, 5, 200], 5000).chosen
    1
    """
    found, sizes = real_array(risks, "risks", 1), np.asarray(real_array(dimensions, "dimensions", 1))
    if len(found) != len(sizes) or (np.diff(sizes) < 0).any():
        raise ParameterError(
            f"{len(found)} risks and dimensions {sizes.tolist()!r:.200} were given; there must be one of each set, the "
            "dimensions in growing order. Sort the sets by their capacity."
        )
    level = eta if printed else eta / len(found)
    bounds = np.array(
        [float(vc_bound(float(r), n, int(h), level, printed=printed)) for r, h in zip(found, sizes, strict=True)]
    )
    return Structure(int(np.argmin(bounds)), bounds)


@checked(radius=SIZE, n=COUNT, eta=DELTA, printed=Boolean())
def vc_criterion(
    risks: Any, norms: Any, radius: float, n: int, eta: float = 0.05, *, printed: bool = True
) -> Structure:
    r"""Choose between support vector machines by the VC bound of hyperplanes with their margins.

    .. math:: h_l \le \min([r^2 \|w_l\|^2], N) + 1

    Seed: [SS] Sections 3.1.5, 5, Eqs. (18), (49).

    Parameters
    ----------
    risks : (L,) array
        Training errors of machines, for instance along a path of C.
    norms : (L,) array
        Norms of their weights, in growing order.
    radius : float
        r, of the smallest ball around the samples in feature space: `mercer.enclosing_ball`.
    n : int
    eta : float, default 0.05
    printed : bool, default True
        As in `structural_risk`. It is a criterion, to compare machines: dimension and margin are read off the sample,
        so the number is no bound either way.

    Examples
    --------
    >>> vc_criterion([0.3, 0.1, 0.0], [0.5, 2.0, 40.0], 1.0, 500).chosen
    1
    """
    sizes = [hyperplane_dimension(radius, float(norm), n) for norm in real_array(norms, "norms", 1)]
    return structural_risk(risks, sizes, n, eta, printed=printed)


@checked(n=COUNT, eps=SIZE, capacity=SIZE)
def symmetrized_tail(n: int, eps: float, capacity: float) -> float:
    r"""Bound the probability that some function's risk and empirical risk differ by eps, through two samples.

    .. math:: P\Bigl\{ \sup |R - R_{\text{emp}}^N| \ge \epsilon \Bigr\}
        \le 2 P\Bigl\{ \sup |R_{\text{emp}_1}^N - R_{\text{emp}_2}^N| \ge \tfrac{\epsilon}{2} \Bigr\}
        \le 4 e^{C} e^{-N \epsilon^2 / 8}

    Seed: [SS] Eq. (19), which needs N eps^2 >= 2; for less, 1 is returned. The second step exchanges members of the two
    samples at random.

    Parameters
    ----------
    n : int
        N, of each sample.
    eps : float
    capacity : float
        C, ln of the number of labellings of 2N samples.

    Examples
    --------
    >>> round(symmetrized_tail(10_000, 0.2, 5.0) / (4 * math.exp(5.0 - 50.0)), 12)
    1.0
    """
    if n * eps * eps < 2.0:
        return 1.0
    return min(1.0, 4.0 * math.exp(min(capacity - n * eps * eps / 8.0, 0.0)))


@checked(n=COUNT, delta=DELTA, capacity=SIZE)
def symmetrized_width(n: int, capacity: float, delta: float = 0.05) -> float:
    r"""Bound how far apart risk and empirical risk of any function are, with probability 1 - delta.

    .. math:: \epsilon = \sqrt{\frac{8 (C + \ln(4 / \delta))}{N}}

    Seed: [SS] Eq. (19), solved for the distance.

    Parameters
    ----------
    n, capacity
        As in `symmetrized_tail`.
    delta : float, default 0.05

    Examples
    --------
    >>> round(symmetrized_tail(1000, symmetrized_width(1000, 5.0), 5.0), 12)
    0.05
    """
    return math.sqrt(8.0 * (capacity + math.log(4.0 / delta)) / n)


@checked(errors=Integer(0), n=COUNT, new=COUNT, capacity=SIZE, delta=DELTA)
def transductive_bound(errors: int, n: int, new: int, capacity: float = 0.0, delta: float = 0.05) -> Bound:
    r"""Bound the share of errors on given test samples, for a random split into training and test samples.

    .. math:: \max \Bigl\{ \tfrac{k - e}{u} : P\{ \mathrm{Hyp}(N + u, k, N) \le e \} \ge \delta e^{-C} \Bigr\}

    If k of all N + u samples are errors, the number of errors in a random subset of N is hypergeometric.

    Seed: [SS] Eq. (19) and Section 2.3.5, bounds for transduction.

    Parameters
    ----------
    errors : int
        e, on the training samples.
    n : int
        N.
    new : int
        u, test samples whose inputs are known.
    capacity : float, default 0.0
        C, ln of the number of labellings of all N + u samples to choose from; 0 for a function fixed beforehand.
    delta : float, default 0.05

    Examples
    --------
    >>> float(transductive_bound(0, 100, 100))
    0.04
    """
    if errors > n:
        raise ParameterError(f"errors={errors} of n={n} were given; there are at most n. Give the number of mistakes.")
    level = math.log(delta) - capacity
    total = np.arange(errors, errors + new + 1)
    possible = hypergeom.logcdf(errors, n + new, total, n) >= level
    worst = int(total[possible].max()) - errors if possible.any() else 0
    terms = [
        Term("training error", "e / N", errors / n),
        Term("rest", "the most that the hypergeometric law allows, less that", worst / new - errors / n),
    ]
    unpaid = ("the labellings",)
    return Bound(worst / new, "transductive", "share of errors on the test samples", terms, delta, unpaid=unpaid)


@checked(n=COUNT, margin=SIZE, radius=SIZE, delta=DELTA)
def luckiness_bound(n: int, margin: float, radius: float, delta: float = 0.05) -> Bound:
    r"""Bound the error probability of a hyperplane that has no error on the sample, by the margin that luck gave it.

    .. math:: P(\text{error}) \le \frac2m \left( k \log_2 \frac{8em}{k} \log_2(32 m) + \log_2 \frac{8m}{\delta} \right),
        \qquad k = \lfloor 577 R^2 / \gamma^2 \rfloor

    Seed: [HSS] Section 3.2.1, luckiness, which is named there: Shawe-Taylor, Bartlett, Williamson and Anthony, 1998.

    Parameters
    ----------
    n : int
        m.
    margin : float
        gamma, the smallest distance of a sample from the hyperplane. It may depend on the sample.
    radius : float
        R, of a ball around the origin that contains all samples, future ones included.
    delta : float, default 0.05

    Notes
    -----
    The first bound for a margin that depends on the sample, of historical interest: its constants are so large that it
    is informative only for millions of samples.

    Examples
    --------
    >>> luckiness_bound(1000, 0.5, 1.0).is_vacuous
    True
    >>> float(round(luckiness_bound(10**8, 1.0, 1.0), 4))
    0.008
    """
    ratio = radius / margin if margin > 0.0 else math.inf
    k = math.floor(577.0 * ratio**2) if ratio < n else n
    if not 1 <= k <= n:  # more functions than samples can tell apart, or a margin wider than the ball
        k = min(max(k, 1), n)
    terms = [
        Term(
            "dimension",
            "2 k log2(8 e m / k) log2(32 m) / m",
            2.0 * k * math.log2(8.0 * math.e * n / k) * math.log2(32.0 * n) / n,
        ),
        Term("confidence", "2 log2(8 m / delta) / m", 2.0 * math.log2(8.0 * n / delta) / n),
    ]
    unpaid = ("the kernel", "R, which must hold for samples to come")
    paid = ("the margin",)
    return Bound.of_terms("luckiness", "P(error), if no sample is wrong", terms, delta, paid=paid, unpaid=unpaid)
