"""Reduced sets: a function made of many kernels, approximated by a few.

Symbols: f = sum_i alpha_i k(x_i, .) the function, n kernels; g = sum_p beta_p k(z_p, .) its reduced set, m kernels.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer.arguments import checked
from mercer.arrays import Floats, Indices
from mercer.budget import UNLIMITED, Plan, Resources
from mercer.constraints import AnyOf, InstanceOf, Integer, Interval, OneOf, Optional, Positive
from mercer.domains import Vectors
from mercer.errors import CapabilityError, ParameterError, TimeBudgetError, warn_caller
from mercer.gram import Element, Expansion, Tiles
from mercer.hilbert.reduced_construction import Function, construct
from mercer.hilbert.reduced_decisions import Agreement
from mercer.hilbert.reduced_selection import Selection, Watch
from mercer.kernels.kernel import offers
from mercer.kernels.protocols import InputDifferentiable
from mercer.problems import Status
from mercer.runtime.tiling import Stopped

__all__ = ["ReducedSet", "reduced_set"]
__public__ = __all__

_ROUNDING = 1e-7  # of ||f||: differences of squares resolve no smaller distances
_ACCEPTED = {
    "size": Optional(Integer(1)),
    "tol": Optional(Interval(0.0, 1.0, closed="left")),
    "method": OneOf("construction", "selection"),
    "margin": AnyOf(Positive(), OneOf(math.inf)),
    "max_time": Optional(Positive()),
}


@dataclass(frozen=True, eq=False)
class ReducedSet:
    """A function g of few kernels in place of a function f of many, and the distance between them.

    Attributes
    ----------
    expansion : Expansion
        g, with the intercept of f unless a sample was given to refit it.
    error : float
        ||f - g|| in the space of the kernel; of several outputs the root of the sum of squares. Without a change of the
        intercept no value differs by more: |f(x) - g(x)| <= ||f - g|| sqrt(k(x, x)).
    norm : float
        ||f||.
    sizes, errors : (s,) arrays
        The distance by the number of kernels on the way, from none.
    selected : (m,) array of int or None
        Places of the kernels among those of f; None where points were constructed.
    disagreement : float or None
        Share of the sample's decision values whose sign differs between f and g; None without a sample.
    status : Status
        CONVERGED if the size or the tolerance asked for was reached.
    seconds : float
        Time taken.
    """

    expansion: Expansion
    error: float
    norm: float
    sizes: Indices
    errors: Floats
    selected: Indices | None
    disagreement: float | None
    status: Status
    seconds: float

    @property
    def relative_error(self) -> float:
        """||f - g|| / ||f||, 0 for the function zero."""
        return self.error / self.norm if self.norm > 0.0 else 0.0

    def __len__(self) -> int:
        return len(self.expansion.samples)

    def __repr__(self) -> str:
        how = "constructed" if self.selected is None else "selected"
        signs = "" if self.disagreement is None else f", {self.disagreement:.2%} of signs differ"
        return f"<ReducedSet: {len(self)} kernels {how}, ||f - g|| = {self.relative_error:.3g} ||f||{signs}>"


@checked(f=InstanceOf(Element), resources=InstanceOf(Resources))
def reduced_set(
    f: Expansion,
    size: int | None = None,
    tol: float | None = None,
    *,
    method: str = "construction",
    sample: Any = None,
    margin: float = 1.0,
    max_time: float | None = None,
    resources: Resources = UNLIMITED,
) -> ReducedSet:
    r"""Approximate a function of many kernels by one of few, which is that much faster to evaluate.

    .. math:: \min_{z, \beta} \|f - g\|^2, \qquad f = \sum_{i=1}^n \alpha_i k(x_i, \cdot), \quad
        g = \sum_{p=1}^m \beta_p k(z_p, \cdot)

    Seed: [HSS] Section 2.3.2, Eqs. (54)-(56); with a sample, Section 3.2.1: a function with a large margin can be
    approximated by one of few kernels that errs nearly as rarely.

    Parameters
    ----------
    f : Expansion
        One output or several, as the decision functions of several classes: the points are shared. Its kernel must be
        positive definite.
    size : int, optional
        The most kernels to use.
    tol : float, optional
        Stops as soon as ||f - g|| <= tol ||f||. One of size and tol, or both, must be given.
    method : {"construction", "selection"}, default "construction"
        "selection" takes kernels of f, one after another, each the one that brings g nearest to f: for any kernel on
        any domain. "construction" searches for points: for vectors, and kernels that can be differentiated in their
        inputs. It is never farther from f than a selection of equal size, and takes longer.
    sample : raw data or packed samples, optional
        If given, coefficients, intercept and (by construction) points are then changed so that the *decisions* of f on
        this sample are kept, rather than f itself.
    margin : float, default 1.0
        For a sample: where |f| is at least the margin, any value of g of the same sign and beyond the margin is as
        good as that of f. ``inf`` keeps the values themselves, as for regression.
    max_time : float, optional
        In seconds; what is found until then is returned, with a warning.
    resources : Resources, optional
        Memory, threads, and a monitor that is called with the fraction done; a true answer stops.

    Returns
    -------
    ReducedSet

    Warns
    -----
    ConvergenceWarning
        If the time ran out, or rounding keeps the tolerance out of reach.

    Notes
    -----
    The coefficients of given points are known in closed form, beta = K_zz^-1 f(z). Selection costs n^2 kernel values
    once, and per kernel n values and O(n m); memory O(n m). Construction costs about m n kernel values and as many
    derivatives per step of L-BFGS. Nothing is random. Distances below 1e-8 ||f|| are rounding. The intercept and the
    multiple of k(x, x) are those of f.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.domains import Vectors
    >>> from mercer.gram import Expansion
    >>> from mercer.hilbert import reduced_set
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0.0, 1.0, 100)[:, None]
    >>> f = Expansion(Gaussian(1.0), Vectors.pack(X), np.ones(100), np.array(0.0))
    >>> g = reduced_set(f, size=3)
    >>> len(g), g.relative_error < 1e-3
    (3, True)
    >>> reduced_set(f, tol=1e-3, method="selection").sizes[-1] <= 5
    np.True_
    """
    _check(f, {"size": size, "tol": tol, "method": method, "margin": margin, "max_time": max_time})
    watch = Watch(max_time, resources.monitor)
    inner = dataclasses.replace(resources, monitor=None if max_time is None else watch.interrupts)
    coef = np.asarray(f.coef, dtype=float).reshape(len(f.samples), -1)
    gram = Tiles().build(f.kernel, f.samples, inner)
    most = len(coef) if size is None else min(size, len(coef))
    _plan(f, most if size is not None else 0).require(resources.memory)
    try:
        values = gram @ coef
    except Stopped:
        raise _too_early(max_time, watch) from None
    chosen = Selection(gram, coef, values, memory=resources.memory)
    chosen.reserve(most if size is not None else 0)
    status = chosen.run(most, tol or 0.0, watch)
    if status in (Status.TIME, Status.STOPPED) and not chosen.pivots:
        raise _too_early(max_time, watch)
    index, beta = chosen.solution()
    errors = chosen.errors()
    sizes, norm = np.arange(len(errors), dtype=np.intp), float(errors[0])
    Z, selected = f.samples.take(index).landmarks(), index
    exact = tol is None and errors[-1] <= _ROUNDING * norm
    if tol is None and status is Status.STALLED:
        status = Status.CONVERGED  # fewer kernels than were allowed span all of them, to working precision
    if method == "construction" and not exact and len(index):
        built = construct(Function(gram, coef, values), chosen, tol or 0.0, watch)
        Z, beta, selected = Vectors(built.points, getattr(f.samples, "names", None)), built.coef, None
        sizes, errors = built.sizes, built.errors
        status = built.status if status is Status.CONVERGED else status
    Z = f.kernel.prepare(Z)
    g = dataclasses.replace(f, samples=Z, coef=beta.reshape(len(Z), *np.shape(f.coef)[1:]))
    error, disagreement = float(errors[-1]), None
    if sample is not None and len(Z):
        T = f.kernel.prepare(f.kernel.pack(sample))
        agreement = Agreement(f, Function(gram, coef, values), T, margin, resources)
        g, reason = agreement.refit(g, watch, points=method == "construction")
        error, disagreement = agreement.distance(g), agreement.disagreement(g)
        status = reason if status is Status.CONVERGED else status
    if status is not Status.CONVERGED:
        warn_caller(
            f"reduced_set stopped with {len(Z)} kernels at ||f - g|| = {error / (norm or 1.0):.3g} ||f||. "
            f"{status.value}",
            ConvergenceWarning,
        )
    return ReducedSet(g, error, norm, sizes, errors, selected, disagreement, status, watch.clock.seconds)


def _check(f: Any, given: dict[str, Any]) -> None:
    """Raise unless the function can be reduced as requested."""
    if not isinstance(f, Expansion):
        raise CapabilityError(
            f"reduced_set was given {type(f).__name__}; it reduces an Expansion, a sum of kernels. Give the expansion_ "
            "of a fitted machine; one that is linear in features (FeatureExpansion) has no kernels to save."
        )
    for name, value in given.items():
        _ACCEPTED[name].check(name, value, "reduced_set")
    if given["size"] is None and given["tol"] is None:
        raise ParameterError(
            "reduced_set was given neither size nor tol; one of them must say when to stop. Give size=, the most "
            "kernels, or tol=, the relative distance."
        )
    if f.kernel.order != 0:
        raise CapabilityError(
            f"reduced_set was given an expansion in {f.kernel!r}, which is not positive definite; there is no norm to "
            "measure the distance by. Use a positive definite kernel, for example Gaussian()."
        )
    if given["method"] == "construction" and not (
        isinstance(f.samples, Vectors) and offers(f.kernel, InputDifferentiable)
    ):
        raise CapabilityError(
            f"reduced_set(method='construction') was given {f.kernel!r} on {type(f.samples).__name__}; it needs "
            "vectors and a kernel that is differentiable in them (pullback_inputs). Use method='selection'."
        )


def _too_early(max_time: float | None, watch: Watch) -> TimeBudgetError:
    """Return the error for a run that ended before there was a kernel."""
    return TimeBudgetError(
        f"reduced_set ended after {watch.clock.seconds:.2g} s (max_time={max_time}), before the first kernel was "
        "chosen; f is evaluated at all of its samples first. Raise max_time, or let the monitor go on."
    )


def _plan(f: Expansion, size: int) -> Plan:
    """Return the large buffers of a reduction to `size` kernels, as far as they are known."""
    n, outputs = len(f.samples), int(np.prod(np.shape(f.coef)[1:]))
    buffers = {"orthonormal basis": 8 * size * n, "values": 32 * n * outputs}
    return Plan(f"a reduced set of {size} of {n} kernels", buffers, ("a smaller size",))
