"""Methods written for packed samples that also accept raw data, which are packed on entry."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mercer.domains.samples import Samples

__all__ = ["packed", "packed_pair"]


def packed(X: Any, pack: Callable[[Any], Samples]) -> Samples:
    """Return samples as they are, and raw data packed."""
    return X if isinstance(X, Samples) else pack(X)


def packed_pair(A: Any, B: Any, pack: Callable[[Any], Samples]) -> tuple[Samples, Samples]:
    """Return two collections packed; the same data are the same samples, which are compared as such."""
    left = packed(A, pack)
    return left, left if B is A else packed(B, pack)
