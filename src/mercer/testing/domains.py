"""What every domain must do: pack, slice and join without losing a sample."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from sklearn.base import clone

from mercer.domains import Samples

__all__ = ["check_domain"]
__public__ = __all__


def check_domain(domain: type[Samples], X: Any) -> None:
    """Check a domain on raw data: packing, slices, joining, copies.

    Parameters
    ----------
    domain : type of Samples
    X : raw data
        As its ``pack`` takes them.

    Examples
    --------
    >>> from mercer.domains import Vectors
    >>> check_domain(Vectors, [[0.0], [0.5], [2.0]])
    """
    S = domain.pack(X)
    n, name = len(S), domain.__name__
    assert isinstance(S, domain) and domain.pack(S) is S, f"{name}.pack does not return packed samples as they are"
    assert copy.deepcopy(S) is S and clone(S, safe=False) is S, f"copies of {name} are not the collection itself"
    assert S.shape[0] == n and S.nbytes >= 0, f"{name} have another shape than their length"
    marked = S.with_derived("place", np.arange(n))
    for index in (slice(0, n, 2), np.arange(n)[::-1], np.arange(n) % 2 == 0, np.array([0, 0])):
        expected = np.arange(n)[index]
        assert np.array_equal(marked[index].derived["place"], expected), f"{name}[{index!r}] takes other samples"
        assert len(marked.take(index)) == len(expected), f"{name}.take({index!r}) has another length"
    assert sum(len(tile) for tile in S.tiles(2)) == n, f"tiles of {name} lose samples"
    half = n // 2
    assert len(S[:half].concat(S[half:])) == n, f"joined {name} lose samples"
