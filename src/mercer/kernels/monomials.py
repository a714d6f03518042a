"""All monomials of one degree in the columns of a matrix: the feature map of a power of the dot product.

Symbols: y a row of d numbers, p the degree, a = (a_1, ..., a_d) whole numbers with sum p,
y^a = y_1^a_1 ... y_d^a_d, and the weight of a the multinomial coefficient p! / (a_1! ... a_d!). Then
<y, y'>^p = sum_a weight(a) y^a y'^a. Monomials are in lexicographic order of their sorted factors.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Floats, Indices
from mercer.errors import CapabilityError
from mercer.runtime.compiled import compiled

__all__ = ["MOST_FEATURES", "monomial_count", "monomials", "require_few"]

MOST_FEATURES = 10**7


def monomial_count(width: int, degree: int) -> int:
    """Return C(d + p - 1, p), the number of monomials of one degree."""
    return math.comb(width + degree - 1, degree)


def require_few(kernel: Any, count: int) -> None:
    """Raise CapabilityError if a feature map is too wide to be written out."""
    if count > MOST_FEATURES:
        raise CapabilityError(
            f"{kernel!r} has {count:.3g} features on these samples; at most {MOST_FEATURES:.0e} are written "
            "out. Use the kernel itself (gram=Dense() or Tiles()), or fewer columns or a lower degree."
        )


def monomials(Y: Any, degree: int) -> Any:
    """Return the weighted monomials sqrt(weight(a)) y^a of one degree: their dot products are <y, y'>^p.

    Parameters
    ----------
    Y : (n, d) array or csr_array
    degree : int
        p >= 0.

    Returns
    -------
    (n, C(d + p - 1, p)) array or csr_array, as Y

    Examples
    --------
    >>> F = monomials(np.array([[1.0, 2.0]]), 2)
    >>> F.round(3)
    array([[1.   , 2.828, 4.   ]])
    >>> (F @ F.T).round(12)
    array([[25.]])
    """
    if degree == 0:
        ones = np.ones((Y.shape[0], 1), Y.dtype)
        return sp.csr_array(ones) if sp.issparse(Y) else ones
    with np.errstate(over="ignore", invalid="ignore"):
        return _sparse_monomials(Y, degree) if sp.issparse(Y) else _dense_monomials(Y, degree)


def _starts(width: int, degree: int) -> Indices:
    """Return, for each column, how many monomials of a degree have an earlier leading (smallest) column."""
    total = monomial_count(width, degree)
    return np.array([total - monomial_count(width - j, degree) for j in range(width)], dtype=np.intp)


def _dense_monomials(Y: Floats, degree: int) -> Floats:
    n, d = Y.shape
    level, starts = Y, np.arange(d)
    runs, weights = np.ones(d), np.ones(d)  # how often the leading column occurs; the multinomial coefficient
    for p in range(2, degree + 1):
        new_starts = _starts(d, p)
        width = monomial_count(d, p)
        out, new_runs, new_weights = np.empty((n, width), Y.dtype), np.ones(width), np.empty(width)
        ends = np.append(new_starts[1:], width)
        for j in range(d):
            place, tail = slice(new_starts[j], ends[j]), slice(starts[j], None)
            np.multiply(Y[:, j : j + 1], level[:, tail], out=out[:, place])
            same = (starts[j + 1] if j + 1 < d else level.shape[1]) - starts[j]
            new_runs[new_starts[j] : new_starts[j] + same] = runs[starts[j] : starts[j] + same] + 1
            new_weights[place] = weights[tail] * p / new_runs[place]
        level, starts, runs, weights = out, new_starts, new_runs, new_weights
    return level * np.sqrt(weights).astype(Y.dtype)


def _sparse_monomials(Y: Any, degree: int) -> Any:
    n, d = Y.shape
    filled = np.diff(Y.indptr)
    sizes = np.array([monomial_count(int(z), degree) if z else 0 for z in np.unique(filled)], dtype=np.int64)
    lengths = sizes[np.searchsorted(np.unique(filled), filled)]
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    data, indices = np.empty(indptr[-1], Y.dtype), np.empty(indptr[-1], np.int64)
    starts = np.array([_starts(d, p) for p in range(1, degree + 1)]).reshape(degree, d)
    _expand_rows((Y.data, Y.indices, Y.indptr), starts, (data, indices, indptr))
    return sp.csr_array((data, indices, indptr), shape=(n, monomial_count(d, degree)))


@compiled
def _expand_row(values, columns, starts, out, places):
    """Write the weighted monomials of one sparse row and their columns; level by level as for dense rows."""
    degree, z, size = starts.shape[0], values.size, out.size
    runs, weights = np.ones(size), np.ones(size)
    leads = np.empty(size, np.intp)
    first = np.empty(z + 1, np.intp)  # where the monomials led by each filled column begin
    for j in range(z):
        out[j], places[j], leads[j], first[j] = values[j], columns[j], j, j
    count = z
    first[z] = z
    for p in range(2, degree + 1):
        old, old_places, old_leads = out[:count].copy(), places[:count].copy(), leads[:count].copy()
        old_runs, old_weights, old_first = runs[:count].copy(), weights[:count].copy(), first.copy()
        count = 0
        for j in range(z):
            first[j] = count
            shift = starts[p - 1, columns[j]] - starts[p - 2, columns[j]]
            for k in range(old_first[j], old.size):
                run = old_runs[k] + 1.0 if old_leads[k] == j else 1.0
                out[count] = values[j] * old[k]
                places[count] = old_places[k] + shift
                leads[count], runs[count] = j, run
                weights[count] = old_weights[k] * p / run
                count += 1
        first[z] = count
    for k in range(count):
        out[k] *= np.sqrt(weights[k])


@compiled
def _expand_rows(source, starts, target):
    values, columns, begins = source
    data, indices, indptr = target
    for i in range(begins.size - 1):
        mine, place = slice(begins[i], begins[i + 1]), slice(indptr[i], indptr[i + 1])
        if begins[i + 1] > begins[i]:
            _expand_row(values[mine], columns[mine], starts, data[place], indices[place])
