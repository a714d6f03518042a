"""What a parameter may be, and the vector of those that an optimiser may move.

A class declares once, in ``constraints``, what each of its parameters may be. From the declaration follow
the error messages, and for real-valued parameters the free vector: its raw values, and the unconstrained
coordinates theta in which an optimiser may take any step (the log of a positive number, the logit of one
between two ends).

The order of free parameters is the constructor's, depth first, children in place, one per entry of a vector.
"""

from __future__ import annotations

import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Callable
from numbers import Real
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from mercer.advice import either, nearest, number_advice, short
from mercer.errors import ParameterError
from mercer.spec import Spec

__all__ = [
    "Constraint",
    "Fixed",
    "Positive",
    "Interval",
    "Integer",
    "OneOf",
    "Boolean",
    "InstanceOf",
    "Several",
    "AnyOf",
    "Optional",
    "Each",
    "Array",
    "Satisfies",
    "Data",
    "is_real",
]

S = TypeVar("S", bound=Spec)
Doubles: TypeAlias = NDArray[np.float64]

# exp(700) is finite and exp(-700) is a normal number: any step of an optimiser leads to an acceptable value.
_LARGEST_LOG = 700.0
_LARGEST_INTEGER = 2**62  # the integers of arrays and compiled code


class Constraint(ABC):
    """What one parameter may be.

    Attributes
    ----------
    free : bool
        Whether an optimiser may move such a parameter.
    """

    free: bool = False

    @property
    @abstractmethod
    def accepted(self) -> str:
        """The acceptable values, in words."""

    @abstractmethod
    def accepts(self, value: Any) -> bool:
        """Whether value is acceptable."""

    @abstractmethod
    def advice(self, name: str, value: Any) -> str:
        """What to do about a value that is not acceptable, in a sentence."""

    def mover(self, value: Any) -> Interval | None:
        """The interval within which an optimiser may move this value; None if it may not."""
        return None

    def check(self, name: str, value: Any, owner: object) -> None:
        """Raise ParameterError unless value is acceptable.

        Parameters
        ----------
        name : str
            The parameter.
        value : object
            What was given for it.
        owner : object, class or str
            Whose parameter it is.
        """
        if not self.accepts(value):
            whose = owner if isinstance(owner, (str, type)) else type(owner)
            raise ParameterError(
                f"{whose if isinstance(whose, str) else whose.__name__} was given {name}={short(value)}; "
                f"{name} must be {self.accepted}. {self.advice(name, value)}"
            )

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.accepted}>"


class Interval(Constraint):
    """A finite number between two ends.

    Parameters
    ----------
    low, high : float
        The ends; an infinite end is never itself accepted, whatever ``closed`` says.
    closed : {"both", "left", "right", "neither"}, default "both"
        Which ends are accepted.
    vector : bool, default False
        Whether a tuple, list or one-dimensional array of such numbers will do as well.
    table : bool, default False
        Whether rows of them, of equal length, will do as well: tuples in a tuple, or a two-dimensional array.
    words : tuple of str, default ()
        Words for a number found later, such as "median"; a parameter given by a word is not free.

    Notes
    -----
    Theta is log(x - low) with one finite end below, -log(high - x) with one above, their sum with two, and
    x itself with none. A value on a closed end, where theta would be infinite, is held there: its theta is
    large but finite and its derivative vanishes.

    Examples
    --------
    >>> Interval(0.0, 1.0, closed="left").accepts(1.0)
    False
    """

    free = True

    def __init__(
        self,
        low: float,
        high: float,
        closed: Literal["both", "left", "right", "neither"] = "both",
        vector: bool = False,
        words: tuple[str, ...] = (),
        table: bool = False,
    ) -> None:
        if not low < high or closed not in ("both", "left", "right", "neither"):
            raise ValueError(f"Interval needs low < high and a known word for closed: {low}, {high}, {closed!r}")
        self.low, self.high, self.closed = float(low), float(high), closed
        self.vector, self.words, self.table = vector, words, table
        self._ends = (math.isfinite(low), math.isfinite(high))
        self._least = self.low if self._ends[0] and closed in ("both", "left") else math.nextafter(low, math.inf)
        self._most = self.high if self._ends[1] and closed in ("both", "right") else math.nextafter(high, -math.inf)

    @property
    def accepted(self) -> str:
        low = f"{'>=' if self._least == self.low else '>'} {self.low:g}" if self._ends[0] else ""
        high = f"{'<=' if self._most == self.high else '<'} {self.high:g}" if self._ends[1] else ""
        ends = " and ".join(filter(None, (low, high)))
        kinds = ("a finite number", "a tuple of finite numbers") if self.vector else ("a finite number",)
        return either([*(f"{kind} {ends}".rstrip() for kind in kinds), *map(repr, self.words)])

    def accepts(self, value: Any) -> bool:
        if type(value) is float:  # the usual case
            return self._least <= value <= self._most
        if isinstance(value, str):
            return value in self.words
        x = _numbers(value, self.vector, self.table)
        return x is not None and bool(np.all((x >= self._least) & (x <= self._most)))  # NaN fails both

    def advice(self, name: str, value: Any) -> str:
        general = number_advice(name, value, self.words, self.vector)
        return general or f"Try {name}={float(self.constrain(np.zeros(1))[0])!r}."

    def mover(self, value: Any) -> Interval | None:
        return None if _numbers(value, self.vector, self.table) is None else self

    def unconstrain(self, x: Doubles) -> Doubles:
        """Theta of raw values."""
        with np.errstate(divide="ignore"):  # on a closed end
            match self._ends:
                case (True, True):
                    theta = np.log(x - self.low) - np.log(self.high - x)
                case (True, False):
                    theta = np.log(x - self.low)
                case (False, True):
                    theta = -np.log(self.high - x)
                case _:
                    return x
        return np.clip(theta, -_LARGEST_LOG, _LARGEST_LOG)

    def constrain(self, theta: Doubles) -> Doubles:
        """Raw values of theta; acceptable whatever theta is."""
        t = np.clip(theta, -_LARGEST_LOG, _LARGEST_LOG)
        match self._ends:
            case (True, True):  # from the nearer end, so that no digits are lost close to either
                part = (self.high - self.low) / (1.0 + np.exp(np.abs(t)))
                x = np.where(t < 0.0, self.low + part, self.high - part)
            case (True, False):
                x = self.low + np.exp(t)
            case (False, True):
                x = self.high - np.exp(-t)
            case _:
                return np.clip(theta, self._least, self._most)
        # The last theta is the end itself; before it, rounding may have reached an open end.
        x = np.where(self._ends[0] & (t == -_LARGEST_LOG), self._least, x)
        x = np.where(self._ends[1] & (t == _LARGEST_LOG), self._most, x)
        return np.clip(x, self._least, self._most)

    def slope(self, x: Doubles) -> Doubles:
        """Derivative of raw values x in theta."""
        match self._ends:
            case (True, True):
                return (x - self.low) * (self.high - x) / (self.high - self.low)
            case (True, False):
                return x - self.low
            case (False, True):
                return self.high - x
            case _:
                return np.ones_like(x)


class Positive(Interval):
    """A finite number greater than zero; theta is its logarithm.

    Parameters
    ----------
    vector, words, table
        As for Interval.

    Examples
    --------
    >>> Positive(vector=True).accepts((1.0, 0.5))
    True
    >>> Positive().accepts(True)
    False
    """

    def __init__(self, vector: bool = False, words: tuple[str, ...] = (), table: bool = False) -> None:
        super().__init__(0.0, math.inf, closed="neither", vector=vector, words=words, table=table)


class Fixed(Constraint):
    """What another constraint accepts, but never moved by an optimiser.

    Parameters
    ----------
    constraint : Constraint
        What the parameter may be.

    Examples
    --------
    >>> Fixed(Positive()).accepts(2.5), Fixed(Positive()).free
    (True, False)
    """

    def __init__(self, constraint: Constraint) -> None:
        self.constraint = constraint

    @property
    def accepted(self) -> str:
        return self.constraint.accepted

    def accepts(self, value: Any) -> bool:
        return self.constraint.accepts(value)

    def advice(self, name: str, value: Any) -> str:
        return self.constraint.advice(name, value)


class Integer(Constraint):
    """A whole number, from ``low`` to ``high`` where they are given. Not free."""

    def __init__(self, low: int | None = None, high: int | None = None) -> None:
        self.low, self.high = low, high

    @property
    def accepted(self) -> str:
        low = "" if self.low is None else f">= {self.low}"
        high = "" if self.high is None else f"<= {self.high}"
        return f"an integer {' and '.join(filter(None, (low, high)))}".rstrip()

    def accepts(self, value: Any) -> bool:
        if not isinstance(value, numbers.Integral) or not is_real(value):
            return False
        if abs(int(value)) > _LARGEST_INTEGER:
            return False
        return (self.low is None or int(value) >= self.low) and (self.high is None or int(value) <= self.high)

    def advice(self, name: str, value: Any) -> str:
        if isinstance(value, (float, np.floating)) and float(value).is_integer():
            return f"Write {name}={int(value)}, without a decimal point."
        if isinstance(value, numbers.Integral) and is_real(value) and abs(int(value)) > _LARGEST_INTEGER:
            return "Give a number below 2**62."
        end = self.low if self.low is not None else self.high
        return number_advice(name, value) or f"Try {name}={1 if end is None else end}."


class OneOf(Constraint):
    """One of a few values, usually words. Not free."""

    def __init__(self, *values: Any) -> None:
        self.values = values

    @property
    def accepted(self) -> str:
        return either([repr(value) for value in self.values])

    def accepts(self, value: Any) -> bool:
        for known in self.values:
            if value is known:
                return True
        # Arrays compare entry by entry, and True == 1: neither is meant.
        plain = isinstance(value, (str, numbers.Number, np.bool_))
        return plain and any(_is_boolean(value) == _is_boolean(known) and bool(value == known) for known in self.values)

    def advice(self, name: str, value: Any) -> str:
        return nearest(value, self.values) or f"Give {name} one of these values."


class Boolean(OneOf):
    """True or False. Not free."""

    def __init__(self) -> None:
        super().__init__(True, False)


class InstanceOf(Constraint):
    """An object of one of some classes. Not free (its own parameters may be)."""

    def __init__(self, *types: type) -> None:
        self.types = types

    @property
    def accepted(self) -> str:
        return either([f"{'an' if cls.__name__[0] in 'AEIOUaeiou' else 'a'} {cls.__name__}" for cls in self.types])

    def accepts(self, value: Any) -> bool:
        return isinstance(value, self.types)

    def advice(self, name: str, value: Any) -> str:
        if isinstance(value, type):
            return f"Write {name}={value.__name__}(...): an object, not its class."
        return f"Give {name} such an object; this is {'None' if value is None else f'of type {type(value).__name__}'}."


class Several(InstanceOf):
    """A list, tuple or similar that is not empty. Not free."""

    @property
    def accepted(self) -> str:
        return f"{super().accepted} that is not empty"

    def accepts(self, value: Any) -> bool:
        return super().accepts(value) and len(value) > 0


class AnyOf(Constraint):
    """What any of several constraints accepts; free where the first that accepts the value is.

    Examples
    --------
    >>> AnyOf(Positive(), OneOf(float("inf"))).accepts(float("inf"))
    True
    """

    def __init__(self, *constraints: Constraint) -> None:
        self.constraints = constraints
        self.free = any(constraint.free for constraint in constraints)

    @property
    def accepted(self) -> str:
        return either([constraint.accepted for constraint in self.constraints])

    def accepts(self, value: Any) -> bool:
        for constraint in self.constraints:  # noqa: SIM110  (any() with a generator takes three times as long)
            if constraint.accepts(value):
                return True
        return False

    def advice(self, name: str, value: Any) -> str:
        return self.constraints[0].advice(name, value)

    def mover(self, value: Any) -> Interval | None:
        return next((c.mover(value) for c in self.constraints if c.accepts(value)), None)


class Optional(AnyOf):
    """None, or what a constraint accepts."""

    def __init__(self, constraint: Constraint) -> None:
        super().__init__(constraint, OneOf(None))

    def accepts(self, value: Any) -> bool:
        return value is None or self.constraints[0].accepts(value)


class Each(Constraint):
    """What a constraint accepts, or several of it in a list, tuple or similar. Not free.

    Parameters
    ----------
    constraint : Constraint
        What each of them may be.
    alone : bool, default True
        Whether one will do without a list around it.

    Examples
    --------
    >>> Each(Positive()).accepts((0.1, 1.0)), Each(Positive()).accepts(0.1), Each(Positive(), alone=False).accepts(0.1)
    (True, True, False)
    """

    def __init__(self, constraint: Constraint, alone: bool = True) -> None:
        self.constraint, self.alone = constraint, alone

    @property
    def accepted(self) -> str:
        one = self.constraint.accepted
        return f"{one}; or several of it in a tuple" if self.alone else f"a tuple that is not empty, each {one}"

    def accepts(self, value: Any) -> bool:
        if self.alone and self.constraint.accepts(value):
            return True
        entries = _entries(value)
        return bool(entries) and all(map(self.constraint.accepts, entries))

    def advice(self, name: str, value: Any) -> str:
        wrong = (one for one in _entries(value) or (value,) if not self.constraint.accepts(one))
        return self.constraint.advice(name, next(wrong, value))


_SHAPES = ("a scalar", "a vector", "a matrix", "a stack of matrices")


class Array(Constraint):
    """Finite numbers along one or more axes: an array, or tuples in tuples. Not free.

    Parameters
    ----------
    *axes : int
        How many axes are accepted.
    low : float, default -inf
        The smallest number that is accepted.

    Examples
    --------
    >>> Array(1, 2, low=0.0).accepted
    'a vector or a matrix of finite numbers >= 0'
    >>> Array(2).accepts(((1.0, 0.0), (0.0, 1.0))), Array(2).accepts((1.0, 0.0))
    (True, False)
    """

    def __init__(self, *axes: int, low: float = -math.inf) -> None:
        self.axes, self.low = axes, low

    @property
    def accepted(self) -> str:
        low = f" >= {self.low:g}" if math.isfinite(self.low) else ""
        return f"{either([_SHAPES[count] for count in self.axes])} of finite numbers{low}"

    def accepts(self, value: Any) -> bool:
        try:
            found = np.asarray(value)
            numbers = found.astype(float) if found.dtype.kind in "fiuO" else np.empty(0)
        except (TypeError, ValueError, OverflowError):
            return False
        sound = found.ndim in self.axes and numbers.size > 0
        return sound and bool((np.isfinite(numbers) & (numbers >= self.low)).all())

    def advice(self, name: str, value: Any) -> str:
        if not isinstance(value, np.ndarray):
            return f"Give {name} as an array, or as a tuple of numbers or of rows."
        if value.ndim not in self.axes or not value.size:
            return f"Reshape it, or give another: this one has the shape {value.shape}."
        return f"Look at how {name} was computed."


class Satisfies(Constraint):
    """Whatever passes a test; for values that no other constraint describes. Not free.

    Parameters
    ----------
    accepted : str
        The acceptable values, in words.
    test : callable
        Whether a value is acceptable.
    example : str, default ""
        An acceptable value as code, for the advice.

    Examples
    --------
    >>> Satisfies("a function", callable).accepts(print)
    True
    """

    def __init__(self, accepted: str, test: Callable[[Any], bool], example: str = "") -> None:
        self._accepted, self.test, self.example = accepted, test, example

    @property
    def accepted(self) -> str:
        return self._accepted

    def accepts(self, value: Any) -> bool:
        return bool(self.test(value))

    def advice(self, name: str, value: Any) -> str:
        if self.example:
            return f"Write for example {name}={self.example}."
        return f"Leave out {name} for the default."


class Data(Satisfies):
    """Data, or another object that is looked at when it is used; neither None nor a number. Not free.

    Examples
    --------
    >>> Data().accepts([[0.0], [1.0]]), Data().accepts(None)
    (True, False)
    """

    def __init__(self, accepted: str = "raw data or packed samples", example: str = "[[0.0], [1.0]]") -> None:
        super().__init__(accepted, lambda value: value is not None and not is_real(value), example)


def _numbers(value: Any, vector: bool, table: bool = False) -> Doubles | None:
    """A number as an array of one, a vector or table of numbers as an array of its entries; None if it is neither."""
    if table and isinstance(value, np.ndarray) and value.ndim == 2:
        value = value.reshape(-1)
    elif table and type(value) in (tuple, list) and value and all(type(row) in (tuple, list) for row in value):
        value = [x for row in value for x in row] if len({len(row) for row in value}) == 1 else None
    if vector and isinstance(value, np.ndarray):
        real = value.ndim == 1 and value.size > 0 and value.dtype.kind in "fiu"
        return value.astype(np.float64) if real else None
    entries = value if vector and type(value) in (tuple, list) else (value,)
    if not entries or not all(map(is_real, entries)):
        return None
    try:
        return np.array([float(x) for x in entries])
    except OverflowError:  # an integer beyond the largest float
        return None


def _entries(value: Any) -> list[Any]:
    """The members of a sequence; none if it is not a sequence."""
    if isinstance(value, (str, bytes)) or not hasattr(value, "__iter__") or np.ndim(value) == 0:
        return []
    return list(value)


def _is_boolean(value: object) -> bool:
    return isinstance(value, (bool, np.bool_))


def is_real(value: object) -> bool:
    """Return whether a value is a real number: no truth value, and no duration, which NumPy counts among the integers.

    Examples
    --------
    >>> is_real(1), is_real(True), is_real(np.timedelta64(1, "s"))
    (True, False, False)
    """
    return isinstance(value, Real) and not isinstance(value, (bool, np.timedelta64))
