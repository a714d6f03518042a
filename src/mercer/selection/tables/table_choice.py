"""Kernels for the rows of a table: profile, scale of the numbers and a length for each column, by nested folds.

Six kernels with one length are compared first: Gaussian, Matern and exponential, on standardised numbers and on their
normal scores. The best two get a length for each column, held together weakly or strongly. Since many lengths can fit
the noise, all of these are judged by folds in which the lengths are learned anew. The mean of the best three is taken,
so that little depends on which of them happens to be first, with kernels of other kinds beside it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from mercer.arrays import Array, Floats, Indices
from mercer.kernels import Kernel
from mercer.selection.tables.column_lengths import (
    PROFILES,
    Lengths,
    Profile,
    Rows,
    held_together,
    left_out,
    same_length,
)
from mercer.selection.tables.table_encoder import TableEncoder

__all__ = ["AVERAGED", "FOLDS", "Candidate", "codes_of", "compare_lengths", "encoded_kernel", "fold_numbers"]

WEIGHTS = (3.0, 0.3)  # of the prior that holds lengths together: strong and weak
REFINED = 2  # of the kernels with one length that get more
FOLDS = 3
MOST_GROUPS = 150  # columns up to which each gets a length of its own
AVERAGED = 3
NOISE = 0.1  # the ridge that suits the kernel, and so the inverse of a cost of ten, at which machines are compared


class Candidate(NamedTuple):
    """A kernel that was tried: how numbers are scaled, its profile and lengths, and its squared error in the folds."""

    numbers: str
    profile: Profile
    lengths: Lengths
    weight: float | None
    error: float

    def described(self) -> str:
        """Return what it is in a few words."""
        scale = "standardised columns" if self.numbers == "standard" else "normal scores of the columns"
        lengths = "one length" if self.weight is None else "a length for each column"
        return f"{self.profile.name}, {lengths}, on {scale}"


def codes_of(y: Array, task: str) -> Floats:
    """Return what least squares predicts: numbers between -1 and 1, or a column for each class, of two only one.

    Examples
    --------
    >>> codes_of(np.array(["a", "b", "b", "b"]), "classification").ravel()
    array([-0.75,  0.25,  0.25,  0.25])
    """
    if task == "regression":
        values = np.asarray(y, dtype=float)[:, None]
        values = values - values.mean()
        return values / (float(np.abs(values).max()) or 1.0)
    classes, code = np.unique(y, return_inverse=True)
    Y = (code[:, None] == np.arange(len(classes))).astype(float)
    Y = Y[:, 1:] if len(classes) == 2 else Y
    return Y - Y.mean(axis=0)


def fold_numbers(y: Array, task: str, folds: int) -> Indices:
    """Return a fold for each row: drawn once and for all, with the classes spread over the folds."""
    order = np.random.default_rng(0).permutation(len(y))
    if task == "classification":
        order = order[np.argsort(np.unique(y, return_inverse=True)[1][order], kind="stable")]
    numbers = np.empty(len(y), dtype=np.intp)
    numbers[order] = np.arange(len(y)) % folds
    return numbers


def compare_lengths(
    tables: Mapping[str, Rows], pairs: Sequence[tuple[Indices, Indices]], watch: Callable[[float], Any]
) -> list[Candidate]:
    """Return what was tried, the best first.

    Parameters
    ----------
    tables : dict of str to Rows
        The rows as `TableEncoder` has them, by how it scales numbers, with targets from `codes_of`.
    pairs : sequence of pairs of index arrays
        Rows to learn from, and rows to predict.
    watch : callable
        Told the share that is done.
    """
    total, done = len(tables) * len(PROFILES) + REFINED * len(WEIGHTS), 0
    first: list[Candidate] = []
    for numbers, rows in tables.items():
        for profile in PROFILES:
            lengths = same_length(rows, profile)
            error = _error(rows, profile, pairs, lambda kept, lengths=lengths: lengths)
            first.append(Candidate(numbers, profile, lengths, None, error))
            done += 1
            watch(done / total)
    first.sort(key=lambda candidate: candidate.error)
    found = list(first)
    for start in first[:REFINED]:
        rows = tables[start.numbers]
        if not 1 < int(rows.groups.max()) + 1 <= MOST_GROUPS:
            continue
        for weight in WEIGHTS:
            learn = lambda kept, rows=rows, start=start, weight=weight: held_together(  # noqa: E731
                rows.take(kept), start.profile, weight, start.lengths
            )
            error = _error(rows, start.profile, pairs, learn)
            found.append(Candidate(start.numbers, start.profile, learn(slice(None)), weight, error))
            done += 1
            watch(min(done / total, 1.0))
    return sorted(found, key=lambda candidate: candidate.error)


def _error(
    rows: Rows, profile: Profile, pairs: Sequence[tuple[Indices, Indices]], learn: Callable[[Any], Lengths]
) -> float:
    """Return the mean squared error of rows that were left out when lengths were learned and functions fitted."""
    squares = total = 0.0
    for kept, out in pairs:
        guesses = left_out(rows, profile, learn(kept), kept, out)
        squares += float(rows.weight[out] @ np.sum((guesses - rows.Y[out]) ** 2, axis=1))
        total += float(rows.weight[out].sum()) * rows.Y.shape[1]
    return squares / total if total else float("inf")


def encoded_kernel(
    found: Sequence[Candidate],
    encoders: Mapping[str, TableEncoder],
    *,
    equal: bool = False,
    others: Sequence[tuple[float, Kernel]] = (),
) -> Kernel:
    """Return the mean of the kernels of candidates, on tables as the encoders read them.

    Each is in units of its noise, so that all of them ask for the same ridge, which is `NOISE`; without that, a kernel
    with a very large length would be little more than a constant beside the others.

    Parameters
    ----------
    found : sequence of Candidate
    encoders : dict of str to TableEncoder
        By how they scale numbers.
    equal : bool
        All count alike.
    others : sequence of pairs
        Kernels that stand beside this mean, each with the mean of k(x, x): all of them, and the mean itself, are scaled
        to the same k(x, x), and together to 1.
    """
    shares = np.array([1.0 if equal else NOISE / float(np.exp(one.lengths.log_noise)) for one in found]) / len(found)
    if others:
        shares /= shares.sum() * (len(others) + 1)
    parts = [(share, _kernel(one, encoders[one.numbers])) for share, one in zip(shares, found, strict=True)]
    parts += [(1.0 / (unit * (len(others) + 1)), kernel) for unit, kernel in others]
    return reduce(operator.add, (float(f"{share:.4g}") * kernel for share, kernel in parts))


def _kernel(candidate: Candidate, encoder: TableEncoder) -> Kernel:
    lengths = [float(f"{value:.4g}") for value in np.exp(candidate.lengths.log_lengths)]
    if candidate.weight is None:
        return candidate.profile.kernel(lengths[0]).of(encoder)
    return candidate.profile.kernel(tuple(lengths[group] for group in encoder.groups_)).of(encoder)
