"""Bags on the command line: rows of a table with the same name in one column are the instances of one sample."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Array, Index, Indices
from mercer.cli.failures import UsageFault
from mercer.domains import Samples, Sets
from mercer.io.datasets import Dataset, rows_of
from mercer.io.limits import FileError, shown
from mercer.io.tables import Table
from mercer.kernels import Kernel
from mercer.numerics.ragged import Ragged

__all__ = ["Bags", "layout", "names_in", "of_instances", "require_machine_of_bags"]


@dataclass(frozen=True, eq=False, repr=False)
class Bags(Dataset):
    """Bags of the rows of a table, in the order in which their names first appear.

    Parameters
    ----------
    path, format, notes
        As in every Dataset.
    table : Table
        The instances without the column of names, one bag after another.
    offsets : (n + 1,) array of int
        Bag i has the rows ``offsets[i]`` to ``offsets[i + 1]``.
    bags : tuple of str
        Their names.
    column : str
        The column that holds them.
    """

    kind: ClassVar[str] = "bags"
    table: Table
    offsets: Indices
    bags: tuple[str, ...]
    column: str

    @classmethod
    def of(cls, table: Dataset, column: str) -> Bags:
        """Group the rows of a table by the values of a column."""
        if not isinstance(table, Table):
            raise UsageFault(f"--bags names a column, and {table.path} is a {table.format} file. Leave it out.")
        return cls.laid_out(table.drop(column), column, *layout(table, column))

    @classmethod
    def laid_out(cls, rows: Table, column: str, order: Indices, offsets: Indices, names: tuple[str, ...]) -> Bags:
        """Put rows, which lack the column of names, into the order that `layout` found."""
        return cls(rows.path, rows.format, rows.take(order), offsets, names, column, notes=rows.notes)

    @property
    def n(self) -> int:
        """Number of bags."""
        return len(self.bags)

    @property
    def X(self) -> list[dict[str, Any]]:
        """The columns of each bag."""
        return [self.table.take(slice(a, b)).columns for a, b in zip(self.offsets, self.offsets[1:], strict=False)]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of instances."""
        return self.table.names

    @property
    def ids(self) -> tuple[str, ...]:
        """Names of the bags."""
        return self.bags

    @property
    def targets(self) -> tuple[str, ...]:
        """Any column that is the same in all rows of a bag may be the target."""
        return self.table.names

    @property
    def sizes(self) -> Indices:
        """(n,) numbers of instances."""
        return np.diff(self.offsets)

    def take(self, index: Index) -> Self:
        """Return some bags."""
        rows = rows_of(index, self.n)
        places = Ragged(np.arange(self.table.n, dtype=np.intp), self.offsets).take(rows)
        table = self.table.take(places.codes)
        return replace(self, table=table, offsets=places.offsets, bags=tuple(self.bags[i] for i in rows))

    def split_target(self, name: str | None = None) -> tuple[Bags, NDArray[Any]]:
        """Return the bags without a column, and the value of each bag in it, which all its rows have."""
        rest, values = self.table.split_target(name)
        return replace(self, table=rest), self.one_each(values, str(name))

    def one_each(self, values: Array, name: str) -> Array:
        """Return one value for each bag; rows of a bag that differ are refused."""
        first = values[self.offsets[:-1]]
        same = np.repeat(first, self.sizes)
        other = np.flatnonzero((values != same) & ~((values != values) & (same != same)))  # NaN is the same as NaN
        if len(other):
            row = int(other[0])
            place: Any = self.table.where(row)
            bag = int(np.searchsorted(self.offsets, row, side="right")) - 1
            raise FileError(
                self.path,
                f"The rows of bag {shown(self.bags[bag])} have {shown(str(_text(first[bag])))} and "
                f"{shown(str(_text(values[row])))} in the column {shown(name)}; a bag has one value for all its rows.",
                "Correct it, or name another column with --bags.",
                **place,
            )
        return first

    def sets(self, members: Samples) -> Sets:
        """Return the bags as samples, of packed instances."""
        return Sets(members, self.offsets, np.ones(len(members)))

    def describe(self) -> dict[str, Any]:
        """Return what is known about the bags, and about the columns of their instances."""
        known = {"bags": self.column, "instances": self.table.n}
        sizes = {"smallest": int(self.sizes.min()), "largest": int(self.sizes.max())}
        return {**super().describe(), **known, **sizes, "columns": self.table.describe()["columns"]}

    def _summary(self) -> str:
        low, high = int(self.sizes.min()), int(self.sizes.max())
        return f", {self.table.n} instances, {low} to {high} in a bag{self.table._summary()}"


def layout(table: Table, column: str) -> tuple[Indices, Indices, tuple[str, ...]]:
    """Return rows with those of a bag one after another, where bags begin and the last ends, and their names."""
    names = names_in(table, column, "bag")
    _, first, owner = np.unique(names, return_index=True, return_inverse=True)
    order = np.argsort(first[owner], kind="stable")
    starts = np.flatnonzero(np.append(True, np.diff(owner[order]) != 0))
    return order, np.append(starts, len(order)).astype(np.intp), tuple(names[k] for k in order[starts])


def names_in(table: Table, column: str, what: str) -> list[str]:
    """Return the names that a column holds; none may be missing."""
    names = table.split_target(column, unknown=True)[1]
    lost = [row for row, name in enumerate(names) if name is None or name != name]
    if lost:
        raise table.error(lost[0], column, f"The {what} of this row is missing; each row has one.", "Name it.")
    return list(map(_text, names))


def of_instances(kernel: Any) -> Any:
    """Return the kernel on instances of a kernel on bags; any other is one itself.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, MeanMap
    >>> of_instances(MeanMap(Gaussian(1.0)))
    Gaussian(1.0)
    """
    return getattr(kernel, "kernel", kernel) if _compares_bags(kernel) else kernel


def require_machine_of_bags(estimator: Any, kernel: Any, column: str) -> None:
    """Raise unless an estimator takes bags: by itself, or by a kernel that compares them."""
    if estimator is not None and (getattr(estimator, "of_bags", False) or _compares_bags(kernel)):
        return
    given = "No --estimator" if estimator is None else type(estimator).__name__
    raise UsageFault(
        f"{given} was given with --bags {column}; a machine that takes bags is needed. Write for example --estimator "
        "\"MultiInstanceSVC(Gaussian(1.0), method='instances')\", or a kernel that compares bags, as in --estimator "
        '"SVC(MeanMap(Gaussian(1.0)))".'
    )


def _compares_bags(kernel: Any) -> bool:
    return isinstance(kernel, Kernel) and kernel.domain is Sets


def _text(value: Any) -> str:
    """Return a name as the file spells it: whole numbers without a point."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
