"""The free parameters of a Spec: the real numbers in it that a search may move, as one vector.

theta are their unconstrained coordinates: any vector of reals gives acceptable values.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from mercer.constraints import Doubles, Interval
from mercer.errors import ParameterError
from mercer.spec import Spec, constraints_of

__all__ = ["bounds", "chain", "constrained", "free_names", "free_values", "unconstrain", "with_free"]

S = TypeVar("S", bound=Spec)


class _Free(NamedTuple):
    """A free parameter somewhere in a tree of Specs: its name from the root, its value, where it may move."""

    name: str
    value: Any
    interval: Interval

    @property
    def entries(self) -> Doubles:
        return np.asarray(self.value, dtype=np.float64).reshape(-1)

    def holding(self, entries: Doubles) -> Any:
        """Entries in the same container as the present value."""
        if isinstance(self.value, np.ndarray):
            return entries.copy().reshape(self.value.shape)
        if isinstance(self.value, (tuple, list)):
            first = self.value[0]
            if isinstance(first, (tuple, list)):
                return type(self.value)(type(first)(row) for row in entries.reshape(len(self.value), -1).tolist())
            return type(self.value)(entries.tolist())
        return float(entries[0])


def free_names(spec: Spec) -> tuple[str, ...]:
    """Names of the p free parameters as in ``get_params``; entries of a vector are ``length_scale[2]``."""
    names: list[str] = []
    for free in _walk(spec):
        one = isinstance(free.value, numbers.Real)
        names += [free.name] if one else [f"{free.name}[{i}]" for i in range(len(free.entries))]
    return tuple(names)


def free_values(spec: Spec) -> Doubles:
    """Raw values of the free parameters, (p,)."""
    return _joined([free.entries for free in _walk(spec)])


def with_free(spec: S, values: ArrayLike) -> S:
    """A new Spec with these raw values, (p,), of the free parameters."""
    return _rebuilt(spec, _pieces(spec, values))


def unconstrain(spec: Spec) -> Doubles:
    """Unconstrained coordinates theta of the free parameters, (p,)."""
    return _joined([free.interval.unconstrain(free.entries) for free in _walk(spec)])


def constrained(spec: S, theta: ArrayLike) -> S:
    """A new Spec with these unconstrained coordinates, (p,); it is acceptable whatever theta is."""
    return _rebuilt(spec, [(free, free.interval.constrain(part)) for free, part in _pieces(spec, theta)])


def chain(spec: Spec, gradient: ArrayLike) -> Doubles:
    """Derivative in theta, (p,), from the derivative in the raw values, (p,), at the values of this Spec."""
    return _joined([part * free.interval.slope(free.entries) for free, part in _pieces(spec, gradient)])


def bounds(spec: Spec) -> list[tuple[float, float]]:
    """The p pairs of ends of the raw values as declared; an end that is open is not itself acceptable."""
    return [(free.interval.low, free.interval.high) for free in _walk(spec) for _ in free.entries]


def _walk(spec: Spec, prefix: str = "") -> Iterator[_Free]:
    declared = constraints_of(type(spec))
    for key, value in spec._parts():
        constraint = declared.get(key)
        interval = constraint.mover(value) if constraint is not None else None
        if interval is not None:
            yield _Free(prefix + key, value, interval)
        elif isinstance(value, Spec):
            yield from _walk(value, f"{prefix}{key}__")


def _pieces(spec: Spec, vector: ArrayLike) -> list[tuple[_Free, Doubles]]:
    """The free parameters, each with its part of a vector."""
    frees = list(_walk(spec))
    ends = np.cumsum([free.entries.size for free in frees], dtype=np.intp)
    whole = np.asarray(vector, dtype=np.float64)
    if whole.shape != ((ends[-1],) if frees else (0,)):
        raise ParameterError(
            f"An array of shape {whole.shape} was given for the free parameters of {type(spec).__name__}; "
            f"they are {len(free_names(spec))}. Give one number for each of free_names(spec)."
        )
    return list(zip(frees, np.split(whole, ends[:-1]), strict=True)) if frees else []


def _rebuilt(spec: S, pieces: list[tuple[_Free, Doubles]]) -> S:
    return spec.replace(**{free.name: free.holding(part) for free, part in pieces})


def _joined(parts: list[Doubles]) -> Doubles:
    return np.concatenate(parts) if parts else np.empty(0)
