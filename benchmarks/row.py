"""What a benchmark is made of: data of a size, contenders, and the bar that each ratio has to reach."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np


class Data(Protocol):
    """What the contenders of a row are given, as a description that can be printed and made again."""

    def make(self) -> Any: ...


@dataclass(frozen=True)
class Points:
    """Standard normal rows with a smooth target."""

    n: int
    d: int
    dtype: str = "float64"

    def make(self) -> Table:
        rng = np.random.default_rng(0)
        X = rng.standard_normal((self.n, self.d)).astype(self.dtype)
        y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(self.n)
        return Table(X, y.astype(self.dtype), rng.standard_normal(self.n).astype(self.dtype))

    def __str__(self) -> str:
        return f"n = {self.n}, d = {self.d}, {self.dtype}"


@dataclass(frozen=True, eq=False)
class Table:
    """Rows, a target, and a vector to multiply with."""

    X: np.ndarray
    y: np.ndarray
    v: np.ndarray


@dataclass(frozen=True)
class Words:
    """Random strings."""

    count: int
    length: int
    alphabet: str = "ACGT"

    def make(self) -> list[str]:
        rng = np.random.default_rng(0)
        letters = rng.choice(list(self.alphabet), size=(self.count, self.length))
        return ["".join(row) for row in letters]

    def __str__(self) -> str:
        return f"{self.count} strings of {self.length} letters out of {len(self.alphabet)}"


@dataclass(frozen=True)
class Bar:
    """What a ratio has to reach: mercer at least so many times as fast, or at most so many times the cost."""

    limit: float
    faster: bool

    def ratio(self, ours: float, theirs: float) -> float:
        return theirs / ours if self.faster else ours / theirs

    def met(self, ours: float, theirs: float) -> bool:
        ratio = self.ratio(ours, theirs)
        return ratio >= self.limit if self.faster else ratio <= self.limit

    def __str__(self) -> str:
        return f"{'>=' if self.faster else '<='} {self.limit:g}"


def times_faster(limit: float) -> Bar:
    """Peer's seconds over mercer's: at least the limit."""
    return Bar(limit, faster=True)


def times_the_cost(limit: float) -> Bar:
    """Mercer's seconds (or bytes) over the peer's: at most the limit."""
    return Bar(limit, faster=False)


@dataclass(frozen=True)
class Peer:
    """Somebody else's way to the same result.

    `call` takes the data and returns a fresh result, as a user would get it. `same` is false where the result
    is meant to differ (a part of the work alone); `package` is the import it needs. `agrees` is the largest
    difference of results with which the bar counts as met. `repeats` says how often the call would have to be made for
    the work of mercer's: its seconds are multiplied by it.
    """

    name: str
    call: Callable[[Any], Any]
    bar: Bar | None = None
    same: bool = True
    package: str | None = None
    agrees: float | None = None
    repeats: int = 1


@dataclass(frozen=True)
class Timing:
    """Seconds of mercer and of its peers, side by side in one process.

    `dearest` is a bar against the slowest of the peers; `outcome` turns a result into the array that is
    compared; `fewest` are the rounds that a slow row has at least; `seconds` is a limit for mercer itself.
    """

    name: str
    title: str
    size: Data
    quick: Data
    ours: Callable[[Any], Any]
    peers: tuple[Peer, ...] = ()
    dearest: Bar | None = None
    outcome: Callable[[Any, Any], np.ndarray] = lambda result, data: np.asarray(result)
    fewest: int = 3
    seconds: float | None = None


@dataclass(frozen=True)
class Memory:
    """Peak of what is allocated, in units of `unit(data)` bytes; the result itself is not counted if so said.

    Besides what Python and NumPy count, the remarks tell how far the resident memory of a fresh process grew:
    libraries below NumPy allocate unseen.
    """

    name: str
    title: str
    size: Data
    quick: Data
    ours: Callable[[Any], Any]
    unit: Callable[[Any], int]
    unit_name: str
    bar: Bar | None = None
    peers: tuple[Peer, ...] = ()
    besides_result: bool = True


Row = Timing | Memory
