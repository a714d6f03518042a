"""What is known of a kernel, and why: definite, strict, universal, characteristic.

Nothing here is declared: it follows from a kernel's power series in the dot product, from the support of its Fourier
transform, from the number of its features, and from what sums, products, exponentials and maps keep.

Symbols: a_n coefficients of a power series, I the degrees n with a_n > 0, mu the spectral measure, c coefficients
with c' K c = 0, Phi the feature map.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

import numpy as np

from mercer.arguments import checked
from mercer.constraints import InstanceOf, Integer, Optional
from mercer.domains import Vectors
from mercer.errors import MercerError
from mercer.hilbert.claims import Claim, Facts, facts, too_wide
from mercer.kernels.composite import Composite
from mercer.kernels.kernel import Kernel, offers
from mercer.kernels.power_series import Degrees
from mercer.kernels.protocols import HasSeries

__all__ = ["Claim", "Properties", "properties"]
__public__ = ["Properties", "properties"]

_SHIFT = 1.5  # how far points are moved to see whether a kernel is stationary


@dataclass(frozen=True)
class Properties:
    """What is known of a kernel: a `Claim` for each property.

    Attributes
    ----------
    kernel : Kernel
    definite : Claim
        Positive definite: no Gram matrix has a negative eigenvalue.
    strict : Claim
        Strictly positive definite: Gram matrices of different objects are regular. For a conditionally positive
        definite kernel of order q: regular on the coefficients that its order asks for.
    universal : Claim
        On every compact set, every continuous function is a uniform limit of functions of its RKHS.
    characteristic : Claim
        Different distributions have different means in feature space.
    bounded, stationary : Claim
    """

    kernel: Kernel
    definite: Claim
    strict: Claim
    universal: Claim
    characteristic: Claim
    bounded: Claim
    stationary: Claim

    def __str__(self) -> str:
        lines = [repr(self.kernel)]
        for name in ("definite", "strict", "universal", "characteristic", "bounded", "stationary"):
            text = textwrap.wrap(str(getattr(self, name)), 96)
            lines += [f"  {name:<15}{text[0]}", *(f"{'':<17}{line}" for line in text[1:])]
        return "\n".join(lines)


@checked(kernel=InstanceOf(Kernel), width=Optional(Integer(1)))
def properties(kernel: Kernel, width: int | None = None) -> Properties:
    r"""Derive what a kernel is, each statement with its reason.

    Parameters
    ----------
    kernel : Kernel
    width : int, optional
        Number of columns of the data, where it matters: a kernel on some columns is strict on tables that have no
        others, and a finite feature map has a number of features.

    Returns
    -------
    Properties

    Notes
    -----
    A kernel :math:`\psi(\langle x, z \rangle) = \sum_n a_n \langle x, z \rangle^n` with a_n >= 0 is strictly positive
    definite on R^d, for any d >= 1, if and only if a_0 > 0 and infinitely many even and infinitely many odd a_n are
    positive (Pinkus); it is universal if and only if moreover the sums of 1 / n over these even and odd degrees
    diverge (the theorem of Muentz on each line through the origin). That all a_n are positive is sufficient
    (Steinwart), not necessary. The degrees of the series that kernels here can be composed to are finite sets and
    arithmetic progressions, for which both conditions agree.

    A stationary kernel with spectral measure mu is strict, and universal on compact sets, if the support of mu
    contains an open set (the Fourier transform of a measure on a compact set is analytic); it is characteristic on
    all of R^d if and only if the support is all of R^d. If mu sits on a lattice the kernel is periodic.

    A kernel whose answer cannot be derived has ``holds`` None; one of your own is taken at its word where its class
    sets `strict` or `universal`.

    Seed: [HSS] Sections 2.2.1 and 2.2.3, Propositions 5, 7 and 9, Theorem 8; [SS] Section 6.4.

    Examples
    --------
    >>> from mercer.hilbert import properties
    >>> from mercer.kernels import Gaussian, Linear
    >>> properties(Gaussian(1.0)).strict.holds
    True
    >>> found = properties((Linear() ** 2).exp())
    >>> found.universal.holds, found.strict.points
    (False, 2)
    >>> print(found.strict)
    no: the power series has the degrees 0, 2, 4, ...: x and -x have the same image [HSS Sec. 2.2.3, Pinkus]
    >>> properties(Linear() ** 2 + Linear(), width=2).strict.points
    6
    """
    kernel.check()
    known = facts(kernel, width)
    return Properties(
        kernel,
        too_wide(kernel, width) or _definite(kernel, known),
        known.strict,
        known.universal,
        known.characteristic,
        _bounded(kernel),
        _stationary(kernel, width),
    )


def _definite(kernel: Kernel, known: Facts) -> Claim:
    if kernel.order is None:
        if isinstance(kernel, Composite):
            return Claim(None, "one of its terms is not positive definite, and nothing is known of the whole")
        return Claim(False, "it is known to be indefinite, or its class does not vouch for it", "HSS Sec. 2.2.4")
    if kernel.order > 0:
        what = "sum to zero" if kernel.order == 1 else f"vanish on polynomials of degree below {kernel.order}"
        return Claim(False, f"only on coefficients that {what}: order {kernel.order}", "HSS Eq. (20)")
    return Claim(True, known.definite[0], known.definite[1])


def _bounded(kernel: Kernel) -> Claim:
    if kernel.order == 0 and kernel.normalised:
        return Claim(True, "k(x, x) = 1, so |k(x, z)| <= 1 by the inequality of Cauchy and Schwarz", "HSS Prop. 4")
    if kernel.order == 0 and kernel.stationary:
        return Claim(True, "it is stationary, so |k(x, z)| <= k(0)", "HSS Prop. 4")
    if kernel.bounded:
        return Claim(True, "its values have a bound by their formula")
    if offers(kernel, HasSeries) and kernel.series().degrees != Degrees.of([0]):
        return Claim(False, "k(r x, r x) grows with r: a power of <x, z> occurs")
    return Claim(None, "no bound is known")


def _stationary(kernel: Kernel, width: int | None) -> Claim:
    if kernel.stationary:
        return Claim(True, "it depends on x - z alone", "HSS Sec. 2.2.4")
    if kernel.domain is not Vectors:
        return Claim(None, "its objects cannot be moved")
    X = np.array([[0.25], [1.0]]) * np.ones(width or 1)
    try:
        here, there = kernel(X), kernel(X + _SHIFT)
    except MercerError:
        return Claim(None, "it is not known to depend on x - z alone")
    if np.allclose(here, there, rtol=1e-6):
        return Claim(None, "it is not known to depend on x - z alone")
    i, j = np.unravel_index(np.argmax(np.abs(here - there)), (2, 2))
    return Claim(False, f"k goes from {here[i, j]:.3g} to {there[i, j]:.3g} where both points move by {_SHIFT}")
