"""Memory and time budgets: what fits, and what to say when it does not.

A plan names every large buffer before it is allocated. The budget is compared with the plan, and a refusal says what
was asked, what is available, and what the alternatives cost.
"""

from __future__ import annotations

import math
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any

from mercer.constraints import Constraint, is_real
from mercer.errors import MemoryBudgetError, ParameterError
from mercer.notebooks import array, table

Memory = int | float | str | None  # a budget: bytes, text such as "2GB", or what is free
SHARE = 0.7  # of what is free: the rest is for the interpreter, the page cache and other processes
_READING: ContextVar[list[int] | None] = ContextVar("reading", default=None)  # of the free memory, in a fit
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
_SPANS = {"": 1, "s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600}
_SPAN = re.compile(r"\s*([0-9]*\.?[0-9]+)\s*(s|sec|m|min|h|)\s*", re.IGNORECASE)
_SIZE = re.compile(r"\s*([0-9]*\.?[0-9]+(?:e[+-]?[0-9]+)?)\s*([kmgt]i?|)b?\s*", re.IGNORECASE)


def parse_bytes(size: int | float | str) -> int:
    """Return a size in bytes from a number or from text such as ``"2GB"`` or ``"512 MiB"``.

    Examples
    --------
    >>> parse_bytes("2GB"), parse_bytes("1.5 KiB"), parse_bytes(100)
    (2000000000, 1536, 100)
    """
    if isinstance(size, str):
        match = _SIZE.fullmatch(size)
        if match is None:
            raise ParameterError(
                f"memory={size!r} is not a size; a number of bytes or text is accepted. Write memory='2GB'."
            )
        amount = float(match[1]) * _UNITS[match[2].lower()]
    elif not is_real(size):
        raise ParameterError(
            f"memory={size!r} is not a size; a number of bytes or text is accepted. Write memory='2GB'."
        )
    else:
        amount = float(size) if abs(size) < 1e300 else float("inf")  # an integer may be beyond the largest float
    if not 0 < amount < float("inf"):
        raise ParameterError(f"memory={size!r} must be positive and finite; give for example memory='2GB'.")
    return int(amount)


def parse_seconds(span: float | str, name: str = "every") -> float:
    """Return a span of time in seconds from a number or from text such as ``"60s"`` or ``"5 min"``.

    Examples
    --------
    >>> parse_seconds("60s"), parse_seconds("1.5 min"), parse_seconds(10)
    (60.0, 90.0, 10.0)
    """
    amount = float("nan")
    if isinstance(span, str):
        match = _SPAN.fullmatch(span)
        if match is not None:
            amount = float(match[1]) * _SPANS[match[2].lower()]
    elif is_real(span):
        amount = float(span)
    if not 0 <= amount < float("inf"):
        raise ParameterError(
            f"{name}={span!r} is not a span of time; a number of seconds or text is accepted. Write {name}='60s'."
        )
    return amount


def format_bytes(size: float) -> str:
    """Return a size as a person writes it.

    Examples
    --------
    >>> format_bytes(720e9), format_bytes(1536)
    ('671 GiB', '1.5 KiB')
    """
    units = ["B", "KiB", "MiB", "GiB", "TiB"]
    while abs(size) >= 1024 and len(units) > 1:
        size /= 1024
        del units[0]
    return f"{size:.0f} {units[0]}" if size >= 9.95 or units[0] == "B" else f"{size:.2g} {units[0]}"


def _read(path: str) -> bytes:
    """Return a file of the system, which is one page at most; b"" if there is none. It is read at each fit."""
    try:
        file = os.open(path, os.O_RDONLY)
    except OSError:
        return b""
    try:
        return os.read(file, 4096)
    except OSError:
        return b""
    finally:
        os.close(file)


def _read_number(path: str) -> int | None:
    text = _read(path).strip()
    return int(text) if text.isdigit() else None


def free_memory() -> int:
    """Return the bytes this process may still take: the smaller of the machine's and the control group's."""
    _, found, rest = _read("/proc/meminfo").partition(b"MemAvailable:")
    available = int(rest.split(None, 1)[0]) * 1024 if found else None
    if available is None:  # not Linux: total physical memory is the best that the standard library knows
        try:
            available = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        except (AttributeError, ValueError, OSError):
            available = 4 * 2**30
    limit = _read_number("/sys/fs/cgroup/memory.max")
    used = None if limit is None else _read_number("/sys/fs/cgroup/memory.current")
    if limit is not None and used is not None:
        available = min(available, max(limit - used, 0))
    return available


@contextmanager
def one_reading() -> Iterator[None]:
    """Read the free memory once: inside, a budget of None is 70 % of what was free when it was first asked for.

    All plans of one fit are thus compared with one number, as when the budget is given.

    Examples
    --------
    >>> with one_reading():
    ...     budget(None) == budget(None)
    True
    """
    if _READING.get() is not None:  # inside another
        yield
        return
    token = _READING.set([])
    try:
        yield
    finally:
        _READING.reset(token)


def budget(memory: Memory) -> int:
    """Return the memory budget in bytes; None means 70 % of what is free now, or at the beginning of a fit."""
    if memory is not None:
        return parse_bytes(memory)
    reading = _READING.get()
    if reading is None:
        return int(SHARE * free_memory())
    if not reading:
        reading.append(int(SHARE * free_memory()))
    return reading[0]


@dataclass(frozen=True)
class Plan:
    """The large buffers of a computation, by name, in bytes, before they are allocated.

    Examples
    --------
    >>> plan = Plan("KernelRidge on 1000 rows", {"Gram matrix": 8_000_000})
    >>> plan.total
    8000000
    """

    what: str
    buffers: Mapping[str, int]
    options: tuple[str, ...] = field(default=())

    @property
    def total(self) -> int:
        """Sum of all buffers in bytes."""
        return sum(self.buffers.values())

    def __str__(self) -> str:
        lines = [f"{self.what}: {format_bytes(self.total)}"]
        return "\n".join(lines + [f"  {name}: {format_bytes(size)}" for name, size in self.buffers.items()])

    def _cells(self) -> tuple[str, list[tuple[str, str]]]:
        rows = [(name, format_bytes(size)) for name, size in self.buffers.items()]
        return f"{self.what}: {format_bytes(self.total)}", rows

    def _repr_html_(self) -> str:
        return table(*self._cells())

    def _repr_latex_(self) -> str:
        return array(*self._cells())

    def require(self, memory: Memory) -> Plan:
        """Return the plan if it fits the budget, otherwise raise MemoryBudgetError with the alternatives."""
        allowed = budget(memory)
        if self.total <= allowed:
            return self
        name, size = max(self.buffers.items(), key=lambda item: item[1])
        options = "; ".join((*self.options, f"memory= of at least {format_bytes(self.total)}"))
        raise MemoryBudgetError(
            f"{self.what} needs {format_bytes(size)} for the {name}"
            + (f" ({format_bytes(self.total)} in all)" if len(self.buffers) > 1 else "")
            + f", budget {format_bytes(allowed)}. Options: {options}."
        )


@dataclass(frozen=True)
class Clock:
    """A time budget that starts when it is made; ``max_time=None`` never ends.

    Examples
    --------
    >>> Clock.start(None).expired
    False
    """

    began: float
    max_time: float | None

    @classmethod
    def start(cls, max_time: float | None) -> Clock:
        """Start the clock now."""
        return cls(time.monotonic(), max_time)

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.began

    @property
    def expired(self) -> bool:
        """Whether the time is up."""
        return self.max_time is not None and self.seconds > self.max_time

    @property
    def deadline(self) -> float | None:
        """The moment of the monotonic clock at which the time is up."""
        return None if self.max_time is None else self.began + self.max_time


@dataclass(frozen=True)
class Resources:
    """What a computation may use, and what reports its progress.

    Attributes
    ----------
    memory : int, str or None
        Budget in bytes; None is 70 % of what is free.
    n_threads : int or None
        None uses every core.
    monitor : callable or None
        Called with the fraction done of the current stage; a true answer stops it.
    deadline : float or None
        Time of the monotonic clock after which nothing is waited for.
    """

    memory: Memory = None
    n_threads: int | None = None
    monitor: Callable[[float], bool] | None = None
    deadline: float | None = None

    def quiet(self) -> Resources:
        """Return the same for a step of a stage: its monitor may stop it, but gets no progress.

        Examples
        --------
        >>> calls = []
        >>> Resources(monitor=lambda fraction: calls.append(fraction)).quiet().monitor(0.9)
        False
        >>> calls
        [0.0]
        """
        monitor = self.monitor
        if monitor is None:
            return self
        return replace(self, monitor=lambda fraction: bool(monitor(0.0)))

    def largest_order(self, most: int) -> int:
        """Return how large a block of K may be, at most `most`: three of them take half of the budget, if one is given.

        Examples
        --------
        >>> Resources(memory=48_000_000).largest_order(3000), Resources().largest_order(3000)
        (1000, 3000)
        """
        if self.memory is None:
            return most
        return min(most, max(2, math.isqrt(parse_bytes(self.memory) // 48)))


UNLIMITED = Resources()  # the defaults: free memory, every core, no monitor


class Bytes(Constraint):
    """A size in memory: a number of bytes, or text such as "2GB". Not free.

    Examples
    --------
    >>> Bytes().accepts("512 MiB"), Bytes().accepts("much")
    (True, False)
    """

    @property
    def accepted(self) -> str:
        return "a positive number of bytes or text such as '2GB'"

    def accepts(self, value: Any) -> bool:
        try:
            return parse_bytes(value) >= 0
        except ParameterError:
            return False

    def advice(self, name: str, value: Any) -> str:
        return f"Write {name}='2GB'."
