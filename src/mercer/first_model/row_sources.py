"""The rows to learn from, as tables or as packed samples, and the kernels that may suit them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from mercer.arrays import Array, Indices
from mercer.domains import Samples
from mercer.first_model.given_rows import Given, folds
from mercer.kernels import Kernel
from mercer.selection.automatic import some_rows
from mercer.selection.tables import first_tables
from mercer.selection.tables.first_tables import Learned

__all__ = ["Found", "SampleRows", "Source", "TableRows"]

Watch = Callable[[float], Any]
LISTED = 6  # members up to which a list of numbers or names is shown whole


@dataclass(frozen=True)
class Found:
    """Kernels to choose from, and what is said about how they were found.

    Attributes
    ----------
    kernels : tuple of Kernel
    labels : tuple of str
    steps : list of str
        What was done.
    learned : Learned or None
        Lengths of columns.
    usual : int or None
        The place of the kernel that is taken unless another is better beyond doubt; None if they are all alike.
    """

    kernels: tuple[Kernel, ...]
    labels: tuple[str, ...]
    steps: list[str] = field(default_factory=list)
    learned: Learned | None = None
    usual: int | None = None


class Source(Protocol):
    """Rows to learn from."""

    def __len__(self) -> int:
        """How many rows there are."""
        ...

    def take(self, rows: Indices) -> Source:
        """Return some of the rows."""
        ...

    def data(self, kernel: Kernel) -> Any:
        """Return the rows as a kernel takes them."""
        ...

    def find(self, y: Array, task: str, given: Given, watch: Watch) -> Found:
        """Return the kernels to choose from."""
        ...

    def again(self, found: Found, place: int) -> Kernel:
        """Return a kernel that was found on a part of these rows, with what it learns from rows learned from all."""
        ...


@dataclass(frozen=True, eq=False)
class SampleRows:
    """Samples as each of some kernels packs them, which are known beforehand."""

    packed: tuple[Samples, ...]
    kernels: tuple[Kernel, ...]

    @classmethod
    def of(cls, kernels: tuple[Kernel, ...], X: Any) -> SampleRows:
        """Return the samples of raw data; kernels of one domain share them."""
        found: dict[Any, Samples] = {}
        for kernel in kernels:
            if kernel.domain not in found:
                found[kernel.domain] = kernel.pack(X)
        return cls(tuple(found[kernel.domain] for kernel in kernels), kernels)

    def __len__(self) -> int:
        return len(self.packed[0])

    def take(self, rows: Indices) -> SampleRows:
        """Return some of the samples."""
        some = {id(S): S.take(rows) for S in self.packed}
        return SampleRows(tuple(some[id(S)] for S in self.packed), self.kernels)

    def data(self, kernel: Kernel) -> Samples:
        """Return the samples of a kernel."""
        return self.packed[self.kernels.index(kernel)]

    def find(self, y: Array, task: str, given: Given, watch: Watch) -> Found:
        """Return the kernels."""
        return Found(self.kernels, tuple(_shortened(repr(kernel)) for kernel in self.kernels))

    def again(self, found: Found, place: int) -> Kernel:
        """Return the kernel as it was: `fit` learns what is to be learned."""
        return found.kernels[place]


def _shortened(text: str) -> str:
    """Return the text of a kernel with three members of its long lists, such as lengths of a hundred columns."""

    def ends(found: re.Match[str]) -> str:
        members = found[2].split(", ")
        if len(members) <= LISTED:
            return found[0]
        return f"{found[1]}{members[0]}, {members[1]}, ..., {members[-1]}{found[3]}"

    return re.sub(r"([(\[])([^()\[\]]*)([)\]])", ends, text)


@dataclass(frozen=True, eq=False)
class TableRows:
    """Columns that vary, whose lengths are learned."""

    columns: Mapping[Any, Any]
    kinds: Mapping[Any, str]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def take(self, rows: Indices) -> TableRows:
        """Return some of the rows."""
        return TableRows(first_tables.rows_of_columns(self.columns, rows), self.kinds)

    def data(self, kernel: Kernel) -> Samples:
        """Return the rows packed."""
        return kernel.pack(dict(self.columns))

    def find(self, y: Array, task: str, given: Given, watch: Watch) -> Found:
        """Learn lengths of the columns, on some of the rows."""
        rows = some_rows(len(y), first_tables.rows_for_lengths(len(y)))
        some = given.take(rows)
        pairs = folds(y[rows], task, some, first_tables.FOLDS)
        learned = first_tables.learn_lengths(self.columns, self.kinds, y, task, rows, pairs, some.weight, watch)
        named = learned.kernels(self.columns, self.kinds)
        usual = None if "text" in self.kinds.values() else 0
        return Found(tuple(named.values()), tuple(named), [learned.described()], learned, usual)

    def again(self, found: Found, place: int) -> Kernel:
        """Return the kernel with scales and categories of all rows."""
        assert found.learned is not None
        return found.learned.kernels(self.columns, self.kinds)[found.labels[place]]
