"""Methods that are written for packed samples and may be given raw data: these are packed at the door."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from mercer.domains.samples import Samples

__all__ = ["open_doors", "packing"]


def packing(method: Callable[..., Any], count: int, pack: Callable[[Any, Any], Samples]) -> Callable[..., Any]:
    """Return a method whose first arguments may be raw data, too.

    Parameters
    ----------
    method : function
        Its first `count` arguments after self are packed samples.
    count : int
        1 or 2.
    pack : callable
        Makes packed samples of self and raw data.
    """

    @functools.wraps(method)
    def taking(self: Any, *given: Any, **named: Any) -> Any:
        if isinstance(given[0] if given else None, Samples) and (count == 1 or isinstance(given[1], Samples)):
            return method(self, *given, **named)
        ready: dict[int, Samples] = {}  # the same data are the same samples, which are compared as such
        for thing in given[:count]:
            if id(thing) not in ready:
                ready[id(thing)] = thing if isinstance(thing, Samples) else pack(self, thing)
        return method(self, *(ready[id(thing)] for thing in given[:count]), *given[count:], **named)

    return taking


def open_doors(cls: type, counts: Mapping[str, int], pack: Callable[[Any, Any], Samples]) -> None:
    """Let the methods that a class writes take raw data; `counts` tells how many of their arguments are samples."""
    for name, count in counts.items():
        method = vars(cls).get(name)
        if callable(method) and not isinstance(method, type):
            setattr(cls, name, packing(method, count, pack))
