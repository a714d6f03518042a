r"""What is done about a Gram matrix that has negative eigenvalues: refuse it, or repair it and say so.

Symbols: K = U diag(lambda) U^T the matrix, N the eigenvectors of negative eigenvalues, (n, r), t = 1 for "clip" and 2
for "flip"; c coefficients. A kernel that is conditionally positive definite of order 1 is judged, and repaired, on
vectors of sum zero: lambda and N are then those of P K P with P = I - 1 1^T / n.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mercer.arrays import Floats
from mercer.budget import Plan
from mercer.errors import CapabilityError, NotPositiveDefinite
from mercer.numerics.cholesky import lapack
from mercer.numerics.eigen import eigh_in_place
from mercer.runtime.tiling import in_background

__all__ = ["Mend", "POLICIES", "Repair", "mended", "negative_part", "repair_plan", "rounding"]
__public__ = ["Repair"]

POLICIES = ("reject", "clip", "flip", "shift")
ENTRY = 1e-12  # error of an entry of K over the largest one, where nothing better is known


@dataclass(frozen=True)
class Repair:
    r"""What was done to a Gram matrix that was not positive definite.

    Seed: [HSS] Section 2.2.4 (kernels with a limited number of negative squares).

    Parameters
    ----------
    policy : {"clip", "flip", "shift"}
    n_samples : int
        The order of the matrix.
    n_negative : int
        Number of eigenvalues below zero, by more than rounding: the negative squares of the form c^T K c.
    most_negative, largest : float
        The ends of the spectrum, as they were.
    change : float
        Length of the change over the length of K (Frobenius).
    order : int, default 0
        0 if all vectors were considered, 1 if only those of sum zero.

    Examples
    --------
    >>> print(Repair("clip", 3, 1, -0.5, 2.0, 0.1))
    clip: 1 of 3 eigenvalues was negative (the least -0.5, the largest 2); the matrix was changed by 10 %
    """

    policy: str
    n_samples: int
    n_negative: int
    most_negative: float
    largest: float
    change: float
    order: int = 0

    def __str__(self) -> str:
        was = "was" if self.n_negative == 1 else "were"
        where = " on vectors of sum zero" if self.order else ""
        return (
            f"{self.policy}: {self.n_negative} of {self.n_samples} eigenvalues {was} negative{where} (the least "
            f"{self.most_negative:.3g}, the largest {self.largest:.3g}); the matrix was changed by "
            f"{100.0 * self.change:.3g} %"
        )


@dataclass(frozen=True, eq=False)
class Mend:
    r"""A repair, with what extends it beyond the training samples.

    At the training samples the repaired matrix is K (I - t N N^T) up to a constant row, hence the function of
    coefficients c is, anywhere, that of the kernel itself with coefficients c - t N N^T c:

    .. math:: \tilde K c = K (c - t N N^\top c) + t \, 1 \, m^\top N^\top c, \qquad m = N^\top K 1 / n

    m is zero for a positive definite kernel's policy and belongs to the intercept for one of order 1.

    Parameters
    ----------
    repair : Repair
    vectors : (n, r) array
        N; no columns for "shift", whose multiple of the identity says nothing about new samples.
    means : (r,) array
        m.
    """

    repair: Repair
    vectors: Floats
    means: Floats

    @property
    def factor(self) -> float:
        """The number t."""
        return {"clip": 1.0, "flip": 2.0}.get(self.repair.policy, 0.0)

    def coefficients(self, c: Floats) -> tuple[Floats, Floats]:
        """Coefficients of the kernel itself, (n,) or (n, k), and what is added to the intercept."""
        seen = self.vectors.T @ c
        return c - self.factor * (self.vectors @ seen), self.factor * (self.means @ seen)


def rounding(n: int, largest: float, entry_error: float = ENTRY) -> float:
    r"""How far an eigenvalue of a computed matrix may be off.

    .. math:: n \, (e + n \epsilon) \, \max |K_{ij}|

    Entries that are off by e of the largest one move no eigenvalue by more than n e of it, since the length of the
    error is at most that; the second term is what finding eigenvalues adds.

    Examples
    --------
    >>> round(rounding(100, 2.0) * 1e10, 2)
    2.04
    """
    return n * (entry_error + n * float(np.finfo(np.float64).eps)) * largest


def repair_plan(plan: Plan, n: int) -> Plan:
    """Return a plan with the buffers that computing eigenvalues needs besides K."""
    more = {"eigenvectors": 8 * n * n, "work space of the eigenvectors": 16 * n * n}
    return Plan(plan.what, {**plan.buffers, **more}, ("gram=Dense(), without a policy", *plan.options))


def negative_part(K: Floats, order: int = 0, bound: float = 0.0) -> tuple[Floats, Floats, float, float]:
    """Negative eigenvalues of a symmetric matrix, or of P K P, with their vectors.

    Parameters
    ----------
    K : (n, n) array
        It is left as it is.
    order : {0, 1}, default 0
        1 is for P K P.
    bound : float, default 0.0
        Eigenvalues count as negative below minus this.

    Returns
    -------
    values : (r,) array
        Ascending.
    vectors : (n, r) array
    smallest, largest : float
        Of all eigenvalues; if there are no negative ones, this is known without them and they are NaN.
    """
    if _is_definite(K, order, bound):
        return np.empty(0), np.empty((len(K), 0)), np.nan, np.nan
    rows = _copy(K, order)
    values = eigh_in_place(rows)
    count = int(np.searchsorted(values, -bound))
    return values[:count], rows[:count].T.copy(), float(values[0]), float(values[-1])


def _copy(K: Floats, order: int) -> Floats:
    A = np.array(K, dtype=np.float64, order="C")
    if order:
        A -= A.mean(axis=0)
        A -= A.mean(axis=1)[:, None]
        A += A.T.copy()  # rounding must not break symmetry
        A *= 0.5
    return A


def _is_definite(K: Floats, order: int, bound: float) -> bool:
    """Check by a Cholesky factor, at a fraction of the cost of eigenvalues, that none is below minus the bound."""
    n, info = len(K), np.zeros(1, np.intc)
    if n == 0:
        return True
    A = _copy(K, order)
    A[np.diag_indices(n)] += bound
    if order:  # 1 is an eigenvector of P K P, of eigenvalue 0
        A += np.abs(np.diagonal(A)).mean() / n
    in_background(lapack("dpotrf"), "L", n, A, n, info, work=n**3 / 3.0)
    return info[0] == 0


def mended(K: Floats, policy: str, order: int = 0, entry_error: float = ENTRY) -> Mend | None:
    """Repair a symmetric matrix in place by a policy; None if there is nothing to repair.

    Parameters
    ----------
    K : (n, n) array
        Overwritten if there is something to repair, otherwise unchanged to the bit.
    policy : {"reject", "clip", "flip", "shift"}
        Raise an error; set negative eigenvalues to zero; reverse their sign; add minus the least one to all.
    order : {0, 1}, default 0
        1 judges and repairs on vectors of sum zero only.
    entry_error : float, default 1e-12
        Error of an entry over the largest one; negative eigenvalues within `rounding` are left.

    Examples
    --------
    >>> K = np.array([[1.0, 2.0], [2.0, 1.0]])  # eigenvalues -1 and 3
    >>> mended(K, "clip").repair.n_negative
    1
    >>> K.round(6)
    array([[1.5, 1.5],
           [1.5, 1.5]])
    """
    if order > 1:
        raise CapabilityError(
            f"indefinite={policy!r} was given with a kernel that is conditionally positive definite of order {order}; "
            "matrices of order 0 and 1 can be repaired. Leave indefinite=None, or use another kernel."
        )
    n = len(K)
    bound = rounding(n, float(np.abs(K).max(initial=0.0)), entry_error)
    values, N, smallest, largest = negative_part(K, order, bound)
    if not len(values):
        return None
    if policy == "reject":
        raise NotPositiveDefinite(_refusal(n, N[:, 0], smallest, largest, bound, order))
    length = float(np.linalg.norm(K))
    found = Repair(policy, n, len(values), smallest, largest, 0.0, order)
    means = (N.T @ K.mean(axis=1)) if order else np.zeros(len(values))
    if policy == "shift":
        K[np.diag_indices(n)] -= smallest
        return Mend(replace(found, change=-smallest * n**0.5 / length), N[:, :0], means[:0])
    mend = Mend(found, N, means)
    scaled = N * np.sqrt(-mend.factor * values)
    K += scaled @ scaled.T
    change = mend.factor * float(np.linalg.norm(values)) / length
    return replace(mend, repair=replace(found, change=change))


def _refusal(n: int, c: Floats, smallest: float, largest: float, bound: float, order: int) -> str:
    most = np.argsort(-np.abs(c), kind="stable")[:5]
    places = ", ".join(f"{c[i]:.3g} at sample {i}" for i in most)
    where = "of sum zero and length one" if order else "of length one"
    return (
        f"The Gram matrix of {n} samples is not positive definite: a vector c {where} gives c^T K c = {smallest:.3g} "
        f"(rounding explains {bound:.2g}; the largest value is {largest:.3g}). The largest entries of c are {places}. "
        "indefinite='reject' accepts none below zero. Use indefinite='clip', 'flip' or 'shift', or another kernel."
    )
