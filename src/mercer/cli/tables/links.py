"""Links on the command line: a table whose rows are pairs of nodes, with a number for each pair or without."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold

import mercer.estimators  # whose names are imported when they are used
from mercer.arrays import Floats, Index, Indices
from mercer.cli.failures import UsageFault
from mercer.cli.score_lines import scores
from mercer.cli.tables.bags import names_in
from mercer.io.datasets import Dataset, rows_of
from mercer.io.limits import FileError, shown
from mercer.io.readers import read
from mercer.io.tables import Table

__all__ = ["Links", "fitted", "held_out_scores", "pair_columns", "posed", "values_of_pairs"]


@dataclass(frozen=True, eq=False, repr=False)
class Links(Dataset):
    """Pairs of nodes.

    Parameters
    ----------
    path, format, notes
        As in every Dataset.
    table : Table
        A row for each pair.
    columns : tuple of str
        The two columns with the names of nodes.
    rows, others : tuple of str
        The nodes of the first column, and of the second; the same where links are within one set of nodes.
    ends : (n, 2) array of int
        The places of the nodes of each pair.
    attributes : (m, d) array, optional
        Numbers of the nodes of the first column.
    """

    kind: ClassVar[str] = "links"
    table: Table
    columns: tuple[str, str]
    rows: tuple[str, ...]
    others: tuple[str, ...]
    ends: Indices
    attributes: Floats | None = None

    @classmethod
    def of(
        cls,
        table: Dataset,
        columns: Sequence[str],
        rows: Sequence[str] | None = None,
        others: Sequence[str] | None = None,
        *,
        within: bool = True,
    ) -> Links:
        """Read the pairs of a table: nodes that are known, or those that it names; within one set, or between two."""
        if not isinstance(table, Table):
            raise UsageFault(f"--links names columns, and {table.path} is a {table.format} file. Leave it out.")
        first, second = (names_in(table, column, "node") for column in columns)
        if rows is None:
            rows = tuple(dict.fromkeys(first + second if within else first))
        if others is None:
            others = rows if within else tuple(dict.fromkeys(second))
        pair = (columns[0], columns[1])
        ends = [_places(table, pair[0], first, rows), _places(table, pair[1], second, others)]
        return cls(
            table.path, table.format, table, pair, tuple(rows), tuple(others), np.column_stack(ends), notes=table.notes
        )

    @property
    def n(self) -> int:
        """Number of pairs."""
        return len(self.ends)

    @property
    def X(self) -> Indices:
        """The places of the nodes of each pair."""
        return self.ends

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of the table."""
        return self.table.names

    @property
    def targets(self) -> tuple[str, ...]:
        """The columns that name no nodes."""
        return tuple(name for name in self.names if name not in self.columns)

    @property
    def within(self) -> bool:
        """Whether both columns name nodes of one set, so that a pair has no direction."""
        return self.rows == self.others

    def take(self, index: Index) -> Self:
        """Return some pairs of the same nodes."""
        places = rows_of(index, self.n)
        return replace(self, table=self.table.take(places), ends=self.ends[places])

    def split_target(self, name: str | None = None) -> tuple[Links, NDArray[Any]]:
        """Return the pairs, and a column as their numbers."""
        rest, y = self.table.split_target(name)
        return replace(self, table=rest), y

    def known(self, values: Floats, some: Index | None = None) -> Any:
        """Return what is known as a sparse matrix, of all pairs or of some; a pair without direction counts in both.

        A pair may be listed twice with one number, and is refused with two.
        """
        index = np.arange(self.n) if some is None else rows_of(some, self.n)
        index = index[~np.isnan(values[index])]
        _, first, pair = np.unique(_undirected(self)[index], axis=0, return_index=True, return_inverse=True)
        same = index[first[pair.ravel()]]
        other = np.flatnonzero(values[index] != values[same])
        if len(other):
            row, before = int(index[other[0]]), int(same[other[0]])
            one, two = (shown(side[k]) for side, k in zip((self.rows, self.others), self.ends[row], strict=True))
            place: Any = self.table.where(row)
            raise FileError(
                self.path,
                f"The pair of {one} and {two} has the number {values[row]:g}, and {values[before]:g} in a row before; "
                + ("a pair has no direction and one number." if self.within else "a pair has one number."),
                "Correct it, or give their mean in one row.",
                **place,
            )
        kept = index[np.sort(first)]
        i, j = self.ends[kept].T
        if self.within:
            crossed = i != j
            i, j, kept = np.append(i, j[crossed]), np.append(j, i[crossed]), np.append(kept, kept[crossed])
        return sp.csr_array((values[kept], (i, j)), shape=(len(self.rows), len(self.others)))

    def _summary(self) -> str:
        nodes = f"{len(self.rows)} nodes" if self.within else f"{len(self.rows)} and {len(self.others)} nodes"
        return f", pairs of {nodes}"


def posed(estimator: Any, table: Dataset, columns: Sequence[str], nodes: Path | None) -> Links:
    """Return the pairs, with the attributes of the nodes of the first column if there is a table of these."""
    if not isinstance(estimator, mercer.estimators.LinkPropagation):
        given = "No --estimator" if estimator is None else type(estimator).__name__
        raise UsageFault(
            f"{given} was given with --links, from which LinkPropagation learns. Write for example --estimator "
            "\"LinkPropagation(columns='rows')\"."
        )
    within = isinstance(estimator.columns, str)
    if nodes is not None:
        names, X = _described(nodes)
        return replace(Links.of(table, columns, names, within=within), attributes=X)
    if within:
        return Links.of(table, columns)
    raise UsageFault(
        "--links was given with nodes of two kinds and without --nodes, so that nothing says which of them are alike. "
        "Give a table of the nodes of the first column, or LinkPropagation(columns='rows') if both columns name nodes "
        "of one kind."
    )


def fitted(model: Any, links: Links, known: Any) -> Any:
    """Fit to what is known; nodes without attributes are alike if a link with a positive number joins them."""
    if links.attributes is not None:
        return model.fit(links.attributes, known)
    A = sp.csr_array((np.maximum(known.data, 0.0), known.indices, known.indptr), shape=known.shape)
    A.setdiag(0.0)
    A.eliminate_zeros()
    model.set_params(graph=A)
    return model.fit(np.arange(len(links.rows), dtype=float)[:, None], known)


def held_out_scores(
    estimator: Any, links: Links, y: Floats, folds: int, progress: Callable[[float], Any]
) -> dict[str, float]:
    """Return how well the numbers of pairs are found that were left out, a fold at a time."""
    guesses = np.full(len(y), np.nan)
    seen = np.flatnonzero(~np.isnan(y))
    _, owner = np.unique(_undirected(links), axis=0, return_inverse=True)  # a pair that is listed twice stays together
    splitter = GroupKFold(folds, shuffle=True, random_state=0)
    for place, (train, test) in enumerate(splitter.split(seen, groups=owner.ravel()[seen])):
        model: Any = clone(estimator)
        fitted(model, links, links.known(y, seen[train]))
        guesses[seen[test]] = values_of_pairs(model, links)[seen[test]]
        progress((place + 1) / folds)
    found = scores("regression", y[seen], guesses[seen])
    if set(np.unique(y[seen])) == {0.0, 1.0}:
        found = {"roc_auc": float(roc_auc_score(y[seen], guesses[seen])), **found}
    return found


def values_of_pairs(model: Any, links: Links) -> Floats:
    """Return what a fitted model says of pairs."""
    i, j = links.ends.T
    return model.transduction_.reshape(len(links.rows), -1)[i, j]


def pair_columns(links: Links) -> dict[str, Sequence[str]]:
    """Return the names of the nodes of each pair."""
    sides = (links.rows, links.others)
    return {name: [sides[s][k] for k in links.ends[:, s]] for s, name in enumerate(links.columns)}


def _undirected(links: Links) -> Indices:
    return np.sort(links.ends, axis=1) if links.within else links.ends


def _places(table: Table, column: str, names: Sequence[str], nodes: Sequence[str]) -> Indices:
    place = {name: k for k, name in enumerate(nodes)}
    lost = [row for row, name in enumerate(names) if name not in place]
    if lost:
        problem = f"{shown(names[lost[0]])} is none of the {len(nodes)} nodes that are known"
        more = f" ({len(lost)} rows in all)" if len(lost) > 1 else ""
        raise table.error(lost[0], column, f"{problem}{more}.", "Correct the name, or fit again with this node.")
    return np.array([place[name] for name in names], dtype=np.intp)


def _described(path: Path) -> tuple[tuple[str, ...], Floats]:
    """Return the nodes of a table, by its first column that names rows or else its first, and their numbers."""
    table = read(path)
    if not isinstance(table, Table):
        raise FileError(path, f"This is a {table.format} file; nodes are a table.", "Give a CSV file.", line=1)
    column = (*table.of_kind("identifier"), *table.names)[0]
    names = tuple(names_in(table, column, "node"))
    first = dict(zip(reversed(names), range(len(names) - 1, -1, -1), strict=True))
    twice = next((row for row, name in enumerate(names) if first[name] < row), None)
    if twice is not None:
        raise table.error(twice, column, f"The node {shown(names[twice])} is there twice.", "Remove one.")
    used = [name for name in table.of_kind("number", "boolean") if name != column]
    if not used:
        raise FileError(path, "There is no column of numbers that vary.", "Describe nodes by numbers.", line=1)
    whole = table.complete(used)
    if not whole.all():
        row = int(np.flatnonzero(~whole)[0])
        place: Any = table.where(row)
        raise FileError(path, "A number is missing.", "Fill it in, or remove the node.", **place)
    return names, np.column_stack([np.asarray(table.columns[name], dtype=float) for name in used])
