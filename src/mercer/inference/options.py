"""What a measure or a test may use, and what reports its progress: options that all of them have.

They are declared once, as keywords of one type, and become the `Resources` that Grams and compiled loops use.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypedDict

from mercer.budget import Plan, Resources, parse_bytes
from mercer.constraints import Integer, Optional
from mercer.errors import ParameterError, TimeBudgetError

__all__ = ["FEWER", "Limits", "limits_of", "part_of", "require_matrices", "resources_of", "tell"]
__public__ = ["Limits"]

_OPTIONS = ("gram=Nystrom(500)", "gram=500 (the rank of an incomplete Cholesky factor)", "fewer samples")
FEWER = ("fewer samples",)  # options where no Gram can be chosen


class Limits(TypedDict, total=False):
    """Keywords of every measure and test.

    Attributes
    ----------
    memory : int, str or None
        Budget, as ``"2GB"``; None is 70 % of what is free. What does not fit is refused before it is computed.
    n_threads : int or None
        None uses every core. Results do not depend on it.
    monitor : callable or None
        Called with the fraction done, a few times a second; a true answer stops the call with TimeBudgetError.
    """

    memory: int | float | str | None
    n_threads: int | None
    monitor: Callable[[float], Any] | None


def resources_of(limits: Limits, name: str) -> Resources:
    """Return what a named call may use; a monitor that asks to stop raises TimeBudgetError.

    Examples
    --------
    >>> resources_of({"n_threads": 2}, "mmd_test").n_threads
    2
    """
    unknown = sorted(set(limits) - Limits.__optional_keys__)
    if unknown:
        raise TypeError(
            f"{name}() got an unexpected keyword argument {unknown[0]!r}; memory=, n_threads= and monitor= are "
            "accepted beside those that help() names. Leave it out, or correct its spelling."
        )
    memory, monitor = limits.get("memory"), limits.get("monitor")
    if memory is not None:
        parse_bytes(memory)
    Optional(Integer(1)).check("n_threads", limits.get("n_threads"), name)
    if monitor is None:
        return Resources(memory, limits.get("n_threads"))
    if not callable(monitor):
        raise ParameterError(
            f"monitor={monitor!r} was given to {name}; a function of the fraction done is accepted. Write "
            "monitor=print, for example."
        )

    def watch(fraction: float) -> bool:
        if monitor(fraction) and fraction < 1.0:
            raise TimeBudgetError(
                f"{name} was stopped by its monitor when {fraction:.0%} was done, which gives no result. Let it "
                "finish, or take fewer permutations or samples."
            )
        return False

    return Resources(memory, limits.get("n_threads"), watch)


def limits_of(resources: Resources) -> Limits:
    """Return the keywords for these resources.

    Examples
    --------
    >>> limits_of(Resources(n_threads=2))
    {'memory': None, 'n_threads': 2, 'monitor': None}
    """
    return {"memory": resources.memory, "n_threads": resources.n_threads, "monitor": resources.monitor}


def part_of(resources: Resources, low: float, high: float) -> Resources:
    """Return the resources of a part of the work, whose progress counts from `low` to `high`.

    Examples
    --------
    >>> half = part_of(Resources(monitor=print), 0.0, 0.5)
    >>> tell(half, 0.5)
    0.25
    """
    monitor = resources.monitor
    if monitor is None:
        return resources
    return replace(resources, monitor=lambda done: monitor(low + (high - low) * done))


def tell(resources: Resources, fraction: float) -> None:
    """Report progress, if there is a monitor."""
    if resources.monitor is not None:
        resources.monitor(fraction)


def require_matrices(name: str, n: int, count: int, resources: Resources, options: tuple[str, ...] = _OPTIONS) -> None:
    """Raise MemoryBudgetError, which names the options, if this many matrices of order n do not fit.

    Examples
    --------
    >>> require_matrices("hsic_test", 1000, 2, Resources(memory="20MB"))
    """
    matrices = "Gram matrix" if count == 1 else f"{count} matrices of its order"
    Plan(f"{name} on {n} samples", {matrices: 8 * n * n * count}, options).require(resources.memory)
